/* Shared by edit.c (obeys), edit_create.c (loads and adds models), edit_save.c (packs and unpacks) and the other edit
 * files. */
#ifndef RUN_EDIT_INTERNAL_H
#define RUN_EDIT_INTERNAL_H

#include "run/edit.h"

#define EDIT_GRAVITY_MAX 1e6 /* m/s^2 */

/* m/s and rad/s: limit on velocities that a command may ask for. Systems have the same limit. It is well below the
 * speed at which the physics gives a model up as diverged. */
#define EDIT_SPEED_MAX 1e4

/* The source of a created model: enough to create it again; and until it has its place, what was made of it. Owns all
 * that it points to. */
struct edit_source {
	char *text, *path, *name; /* path: for messages and relative file names. name: "" for the name in the text */
	bool placed;
	struct pose pose; /* when placed */
	struct files files;
	struct files_places places; /* of the files, if they are not those of the options */
	plugin_marks plugins;       /* of its plug-ins, when it has been added or was packed */
	/* after edit_source_load(); NULL: not loaded yet, or handed to the scene */
	struct sdf *sdf;
	struct scene_parts *parts;    /* NULL also when it cannot be simulated: `error` says why */
	char *ignored;                /* "; ignored: ...", what is ignored of the SDF; "": nothing */
	struct troupe_error error;    /* why it could not be loaded or compiled */
	uint32_t users;               /* beside the first; see edit_source_destroy() */
	struct edit_visuals *visuals; /* prepared with it; NULL: none */
};

/* Frees the source when it has no other users. */
void edit_source_destroy(struct edit_source *source);
/* Loads and compiles the text. Files are looked up in `files` first; when `files` is closed, only there. Fails only
 * when the text cannot be loaded. Any thread. */
troupe_status edit_source_load(const struct edit_options *options, struct edit_source *source, struct files *files,
	struct troupe_error *error);
/* The name of the loaded model or actor; NULL: it is neither. */
const char *edit_source_entity(const struct edit_source *source);

/* Adds the loaded model to scene, systems and state, under its name, which must be free. It does not touch the plan
 * or any other model. So it also serves saved states and copies, where the words of the other models are given. at:
 * NULL for any places. The edit takes the source; on failure the source stays the caller's, to be destroyed. */
troupe_status edit_add(struct edit *edit, struct edit_source *source, const struct scene_places *at,
	uint32_t *ret_model, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Frees the place of a model, and what belongs to it. */
void edit_give_up(struct edit *edit, uint32_t model);
static inline void edit_note(struct edit *edit, enum edit_op_kind kind, uint32_t model)
{
	edit->epoch += kind != EDIT_GIVE_UP && kind != EDIT_GRAVITY && kind != EDIT_EARTH && kind != EDIT_COLLISION &&
		       kind != EDIT_ATTACHMENTS;
	vec_push(&edit->log, (struct edit_op){kind, model});
}

static inline void edit_effect(struct edit *edit, enum edit_effect_kind kind, uint32_t model)
{
	vec_push(&edit->effects, (struct edit_effect){kind, model});
}

/* Packs a created model: its place, the places of its parts, and its source. */
void edit_pack_created(const struct edit *edit, uint32_t model, struct text *out);
/* The same in two parts, without a look at the world. The caller owns the source; in->bad: it is not complete. */
void edit_unpack_places(struct unpack *in, struct scene_places *places);
struct edit_source *edit_unpack_source(struct unpack *in);
/* Creates a model again in the places that it had. Takes the source, also on failure. */
troupe_status edit_create_at(struct edit *edit, const struct scene_places *at, uint32_t places_max,
	struct edit_source *source, struct troupe_error *error);
/* Limit on the number of a place, for a scene and `bytes` bytes that are being unpacked. */
uint32_t edit_places_max(const struct scene *scene, size_t bytes);
void edit_pack_pose(struct text *out, const struct pose *pose);
struct pose edit_unpack_pose(struct unpack *in);

/* Before a model is changed in any way: reads its meshes that were left unread (scene_settle()). */
void edit_settle(struct edit *edit, uint32_t model);
troupe_status edit_find(const struct edit *edit, const char *name, uint32_t *ret_model, struct troupe_error *error);
/* edit_light.c: lights. Whether the entity is a light: without a type a name means a model before it means
 * a light. */
bool edit_means_light(const struct edit *edit, const Gz__Msgs__Entity *entity);
/* Adds a light of an SDF that was loaded. pose: in the world; NULL: its own. */
troupe_status edit_add_light(struct edit *edit, const struct sdf_light *from, const struct pose *pose, bool may_rename,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* Adds a light of the world that a message describes, also when a link carries one of the name. */
troupe_status edit_add_light_of_message(struct edit *edit, const struct Troupe__Msgs__SetLight *message,
	bool may_rename, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
troupe_status edit_remove_light(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* Restores the role that the file, or its creation, gave the model; not its pose. */
void edit_restore_role(struct scene_model *model);
void edit_reset_lights(struct edit *edit);                    /* to those of the file */
void edit_reset_lights_of(struct edit *edit, uint32_t model); /* those of its links */
uint64_t edit_hash_lights(const struct scene *scene);
/* What differs from the file. */
void edit_pack_light(const struct scene *scene, uint32_t place, struct text *out);
/* A light as it was packed. */
struct edit_light {
	char *name; /* of a light of the world that was added; owned. NULL: of the file, or of a link */
	bool absent, changed, of_link;
	uint32_t model, light; /* of a light of a link: as in struct scene_light */
	struct pose pose;      /* if changed */
	struct sdf_shine shine;
};
/* Does not look at the world. The caller destroys the result, also when in->bad. */
struct edit_light *edit_unpack_light(struct unpack *in);
void edit_light_destroy(struct edit_light *light); /* NULL is fine */
/* False: it does not fit the place. */
bool edit_put_light(struct scene *scene, uint32_t place, const struct edit_light *light);

/* edit_visuals.c. Reads the meshes; options->visuals is not NULL. Any thread. */
void edit_visuals_prepare(const struct edit_options *options);
/* From now on the visuals have their meshes, unless they have them already. If they were not prepared, they are read
 * from these files; the files that were read are added. Nothing if options->visuals is NULL. */
void edit_visuals_put(const struct edit_options *options, struct files *files);
/* Adds the files that were read, while the visuals do not have their meshes. NULL: none. */
void edit_visuals_add_files(struct edit_visuals *visuals, struct files *files);
void edit_visuals_pack(const struct edit_visuals *visuals, struct text *out);
bool edit_visuals_unpack(const struct edit_options *options, struct unpack *in);

/* edit_earth.c. Refuses a place that is out of range. */
troupe_status edit_check_globe(const Gz__Msgs__SphericalCoordinates *place, struct troupe_error *error);
/* As Gazebo does it: the place replaces the position, and the heading turns the model about the vertical. */
struct pose edit_pose_on_globe(
	const struct scene *scene, const Gz__Msgs__SphericalCoordinates *place, struct pose pose);
uint64_t edit_hash_earth(const struct scene *scene); /* 0: that of the file */
void edit_pack_earth(const struct scene *scene, struct text *out);
struct edit_earth edit_unpack_earth(struct unpack *in);
void edit_put_earth(struct scene *scene, const struct edit_earth *earth);

/* edit_attach.c: ends all attachments of a model and of its systems; all attachments of the world. */
void edit_detach_model(struct edit *edit, uint32_t model);
void edit_detach_all(struct edit *edit);
/* The name of a model to which this one is attached, or "the world"; NULL: none. */
const char *edit_attached_to(const struct scene *scene, uint32_t model);
uint64_t edit_hash_attachments(const struct scene *scene);
void edit_pack_attachments(const struct scene *scene, struct text *out);
struct edit_attachments { /* as they were packed */
	VEC(struct scene_attachment) list;
};
/* Does not look at the world. The caller destroys the result, also when in->bad. */
struct edit_attachments *edit_unpack_attachments(struct unpack *in);
void edit_attachments_destroy(struct edit_attachments *attachments); /* NULL is fine */
/* In place of all attachments. False: they do not fit the world. */
bool edit_put_attachments(struct edit *edit, const struct edit_attachments *attachments);

/* edit.c: finds the model, and reads the pose, which must be one that edit_place() can give it. */
troupe_status edit_check_pose(const struct edit *edit, const Gz__Msgs__Pose *message, uint32_t *ret_model,
	struct pose *ret_pose, struct troupe_error *error);
/* Moves the bodies of a model so that its frame has the pose. */
void edit_move_bodies(const struct scene_model *m, struct body_state *bodies, struct pose pose);

/* True: some were off. The caller tells the plan. */
bool edit_enable_all_collisions(struct edit *edit, uint32_t model);
/* Refuses a model that cannot move. done: a participle for the message, as in "pushed". */
troupe_status edit_check_moves(const struct edit *edit, uint32_t model, const char *done, struct troupe_error *error);
void edit_say(char note[EDIT_NOTE_BYTES], const char *format, ...) TROUPE_PRINTF(2, 3);

#endif
