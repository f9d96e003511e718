/* Changes of the world while it runs: models are created, removed and placed elsewhere, models become performers, and
 * the time step and gravity change. Names and meaning are Gazebo's (its UserCommands and LevelManager). Each call
 * does everything or, on failure, nothing, and says why.
 *
 * Every change is a function of the world, the commands and the step; so is the place in the scene that a new model
 * gets. A removed model is gone from the state at once. Runners release it during the step, and its place is given up
 * after the step.
 *
 * The plan is not known here: a command leaves its effects in a list, and the primary takes them into its plan before
 * the next command. So the same module serves a replica, which makes the changes but has no plan.
 *
 * Thread: the primary's, between steps, after plan_begin() and before plan_step(). Allocates. Errors: TROUPE_ECOMMAND
 * (no entity of that name, or the change is not possible for it), TROUPE_EWORLD (bad SDF, with file:line),
 * TROUPE_ELIMIT. */
#ifndef RUN_EDIT_H
#define RUN_EDIT_H

#include "base/pack.h"
#include "run/owners.h"
#include "run/step.h"
#include "run/wrenches.h"
#include "topic/convert.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

enum { EDIT_NOTE_BYTES = 512 };

struct edit_options {
	const char *path; /* of the world file: relative file names start in its folder */
	const char *const *resource_paths;
	/* Searched before the file system; NULL: none. Must not change while a thread may be in edit_prepare(). */
	struct files *files;
	struct importer *importer;    /* reads meshes and images; NULL: a new one for each created model */
	struct plugins *plugins;      /* the libraries of plug-ins; NULL: none */
	struct edit_visuals *visuals; /* of the file; NULL: they were read with it */
	/* The file and the world in it, for copies of its models; constant. NULL: this process obeys no commands. */
	const struct sdf *sdf;
	const struct sdf_world *world;
	const struct files_places *places; /* where files of the world may be read; NULL: anywhere */
};

/* Which files a command that creates models may read. */
enum edit_reading {
	EDIT_READS_NAMED,  /* also a file that it names itself, wherever that is, and what is beside it */
	EDIT_READS_PLACES, /* those of options->places */
	EDIT_READS_KEPT,   /* only those of options->files: it is repeated */
};

/* The meshes of the visuals of a world that was loaded without them (SDF_VISUALS_IF_SEEN), which are read when a model
 * that sees is created. NULL: the file has sensors that see. The sdf, which is changed then, must outlive it. */
struct edit_visuals *edit_visuals_create(struct sdf *sdf, uint32_t world);
void edit_visuals_destroy(struct edit_visuals *visuals); /* NULL is fine */

/* The changes of the scene, for copies of the scene on other machines. */
enum edit_op_kind {
	EDIT_GIVE_UP, /* the place is free */
	EDIT_LEAVE,   /* the model is absent */
	EDIT_RETURN,  /* an absent model is present again */
	EDIT_CREATE,
	EDIT_PLACE, /* a static model has a new pose */
	EDIT_GRAVITY,
	EDIT_EARTH,       /* the world has another place on the globe */
	EDIT_LIGHT,       /* a light was added or changed, or became absent, or is again as in the file */
	EDIT_COLLISION,   /* a collision was switched on or off */
	EDIT_ATTACHMENTS, /* attachments were made or ended */
	EDIT_RENEW,       /* all of the world is as in a packed state: see edit_renewed(); the first in the log */
	EDIT_OPS,
};

struct edit_op {
	enum edit_op_kind kind;
	uint32_t model; /* of EDIT_LIGHT: the light; of EDIT_COLLISION: the geom */
};

/* The effects of a command that the plan takes into account. */
enum edit_effect_kind {
	EDIT_ADDED,     /* a model was created */
	EDIT_REMOVED,   /* a model became absent */
	EDIT_RESTORED,  /* a model of the file is present, as the file has it */
	EDIT_PLACED,    /* a model has another pose */
	EDIT_RESHAPED,  /* collisions of a model were switched on or off */
	EDIT_PUSHED,    /* a model has another velocity */
	EDIT_ATTACHED,  /* a model was attached to another one, or is not any more */
	EDIT_PERFORMER, /* a model has another role or volume */
	EDIT_WOKE_ALL,  /* all models must be stepped */
};

struct edit_effect {
	enum edit_effect_kind kind;
	uint32_t model;
};

struct edit {
	struct shared *shared;
	struct edit_options options;
	double step_s; /* simulated time of each step from now on */
	bool world_changed;
	VEC(uint32_t) leaving; /* created models that were removed in the step before */
	indices edited;        /* models that differ from the file in what is not in the state words */
	struct text renewed;   /* what edit_pack() wrote of the state that EDIT_RENEW stands for */
	uint64_t created, removed;
	/* Grows when models or lights come or go, when models change their role, when a static model is placed, and
	 * when a saved state is taken up. A place that is given up has had no model before. */
	uint64_t epoch;
	struct owners owners;    /* the robot clients, and what they own */
	uint32_t creates_for;    /* the client whose request is being obeyed, by its place in owners plus 1; 0: none */
	VEC(struct edit_op) log; /* what was done since the primary last emptied the log, in order */
	VEC(struct edit_effect) effects; /* since the primary last emptied the list, in order; empty in a replica */

	/* private */
	struct edit_source **sources; /* [room] the sources of created models */
	uint32_t room;
	uint64_t last_id;    /* the last id in the state that is being unpacked */
	uint32_t places_max; /* limit on the numbers of places in it */
};

void edit_init(struct edit *edit, struct shared *shared, const struct edit_options *options);
void edit_fini(struct edit *edit);

/* Call it first in a step. */
void edit_begin(struct edit *edit);
/* Gives up the places of created models that were removed, when no secondary has them any more: after each step, and
 * before edit_pack(). */
void edit_give_up_places(struct edit *edit);

/* The model of an EntityFactory, as it is before it has a place in the world. */
struct edit_source;
/* Loads and compiles what can be without the world: reads files. Does not fail: edit_create() reports the errors at
 * the step of the command. NULL: the message has no model that could be loaded. Any thread. The caller owns the
 * result. */
struct edit_source *edit_prepare(
	const struct edit_options *options, enum edit_reading reading, const Gz__Msgs__EntityFactory *factory);
void edit_unprepare(struct edit_source *source); /* NULL is fine */
/* Adds the files that were read, and those that were not there. */
void edit_prepared_files(const struct edit_source *source, struct files *files);
/* Bytes of memory that it uses, roughly. */
size_t edit_prepared_bytes(const struct edit_source *source);

/* Finds a model by its id if id > 0, else by its name. */
troupe_status edit_find_by_id(
	const struct edit *edit, uint64_t id, const char *name, uint32_t *ret_model, struct troupe_error *error);

/* note: one line, what was done. */
/* source: what edit_prepare() made of the message. The caller keeps it, but can create only one model from it. Reads no
 * file and parses no XML, except for a copy (clone_name) of a model that was created: that is made of the text and
 * files of the model, which only the step knows. A model that gets another name than its own, or a pose relative to
 * another model, is compiled again, from the elements, meshes and hulls in memory. */
troupe_status edit_create(struct edit *edit, const Gz__Msgs__EntityFactory *factory, struct edit_source *source,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* sources: by item. Creates those that it can, even when others fail. */
troupe_status edit_create_multiple(struct edit *edit, const Gz__Msgs__EntityFactoryV *factories,
	struct edit_source *const *sources, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* A model, an actor or a light of the world. */
troupe_status edit_remove(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* Velocities stay as they are; here and below. */
troupe_status edit_set_pose(
	struct edit *edit, const Gz__Msgs__Pose *pose, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
troupe_status edit_set_poses(
	struct edit *edit, const Gz__Msgs__PoseV *poses, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* A velocity (linear or angular) that is not given stays. With a pose, which comes first: all or nothing. */
troupe_status edit_set_velocity(struct edit *edit, const Troupe__Msgs__SetVelocity *velocity,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* Components of gravity that are not given stay. The caller applies the real-time factor. */
troupe_status edit_set_physics(
	struct edit *edit, const Gz__Msgs__Physics *physics, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* The place of the world's origin on the globe, which a reset does not undo; or, if the message names an entity, a new
 * pose of that model. */
troupe_status edit_set_spherical_coordinates(struct edit *edit, const Gz__Msgs__SphericalCoordinates *place,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* An edge that is not given stays, or is Gazebo's 2 m. */
troupe_status edit_set_performer(struct edit *edit, const Troupe__Msgs__SetPerformer *performer,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Changes a light of the world or of a link, or adds one to the world: a name that the world does not have. A value
 * that is not given stays; for a light that is added it is SDF's default. The pose of a light of a link is relative to
 * the link. */
struct Troupe__Msgs__SetLight;
troupe_status edit_light_config(struct edit *edit, const struct Troupe__Msgs__SetLight *message,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* The collisions of a model, of a link (model::link) or one collision (model::link::collision) meet nothing until they
 * are enabled again. Collisions that are so already are no error. */
troupe_status edit_disable_collision(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
troupe_status edit_enable_collision(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Attachments the link to the other one, rigidly, as they stand in state k; for a system of a model. Both are of models
 * that are not absent. ECOMMAND: they are one body, or neither moves. */
troupe_status edit_attach(
	struct edit *edit, uint32_t owner, uint32_t system, uint32_t link, uint32_t other, struct troupe_error *error);
/* Ends all attachments that the system has made. True: there were some. */
bool edit_detach(struct edit *edit, uint32_t owner, uint32_t system);

/* Restores one model as its file or its creation had it, as a reset of the world would restore it;
 * other models stay as they are. *ret_model: the model; the caller drops the commands to it from this step. */
troupe_status edit_reset_model(struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);

troupe_status edit_set_joint(
	struct edit *edit, const Troupe__Msgs__SetJoint *joint, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Changes nothing. *ret_wrench: the wrench and the body that it acts on. */
troupe_status edit_wrench(const struct edit *edit, const Gz__Msgs__EntityWrench *wrench, struct due_wrench *ret_wrench,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* The same for a wrench that lasts. */
troupe_status edit_lasting_wrench(const struct edit *edit, const Gz__Msgs__EntityWrench *wrench,
	struct lasting_wrench *ret_wrench, char note[EDIT_NOTE_BYTES], struct troupe_error *error);
/* Finds the link or the model on which a wrench acts; a model: *ret_link is SCENE_NONE. */
troupe_status edit_find_pushed(const struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model,
	uint32_t *ret_link, struct troupe_error *error);

/* Restores the models of the file as the file has them; created models are removed, and the ids of models to come begin
 * as at the start. The caller then resets the state, and the plan after the effects. Time step and gravity stay. */
void edit_reset(struct edit *edit);

/* Packs the world as it is: places, changes, and the state of all models. Not between a removal and the next
 * edit_give_up_places(). */
void edit_pack(const struct edit *edit, struct text *out);
/* Unpacks into a world that is as its file has it. The caller then sets up plan and tracker anew. On failure
 * (TROUPE_EWORLD) the world must not be used before edit_renew(). */
troupe_status edit_unpack(struct edit *edit, struct unpack *in, struct troupe_error *error);

/* Makes the world as its file has it, for edit_unpack(), after any changes and after a failed edit_unpack(). Places of
 * created models are free at once, so no secondary may simulate any model. The words of the state are not restored. */
void edit_renew(struct edit *edit);
/* After edit_renew() and edit_unpack() of these bytes: notes it for copies of the world, instead of all that was noted
 * before. */
void edit_renewed(struct edit *edit, const char *packed, size_t count);
/* Whether the log begins with EDIT_RENEW. */
static inline bool edit_is_renewed(const struct edit *edit)
{
	return edit->log.count && edit->log.at[0].kind == EDIT_RENEW;
}

/* --- the same world elsewhere: edit_follow.c ---------------------------------------------------------------------- */

/* The place of the world on the globe, as it was packed. */
struct edit_earth {
	bool set; /* false: that of the file */
	struct sdf_earth earth;
};

/* A change of the scene as it was received. */
struct edit_change {
	enum edit_op_kind kind;
	uint32_t model; /* of EDIT_LIGHT: the light; of EDIT_COLLISION: the geom */
	/* EDIT_CREATE: id and places; the source; bytes that the change was packed in */
	struct scene_places at;
	struct edit_source *source;
	size_t bytes;
	struct pose pose;         /* EDIT_PLACE */
	struct vec3 gravity;      /* EDIT_GRAVITY */
	struct edit_earth earth;  /* EDIT_EARTH */
	struct edit_light *light; /* EDIT_LIGHT; owned */
	bool off;                 /* EDIT_COLLISION */
	struct edit_attachments *attachments; /* EDIT_ATTACHMENTS; owned */
	struct unpack renewed;    /* EDIT_RENEW; lent by the bytes that were unpacked */
};

typedef VEC(struct edit_change) edit_changes;

/* Packs the log, and the data needed to do the same elsewhere; before the next edit_begin(). */
void edit_pack_log(const struct edit *edit, struct text *out);
/* Appends the changes of a packed log, which must stay until they are followed. Does not look at the world:
 * TROUPE_EPROTOCOL, the log is cut off or a number out of range. Free the changes with edit_changes_clear(), also after
 * a failure. */
troupe_status edit_unpack_log(struct unpack *in, edit_changes *changes, struct troupe_error *error);
void edit_changes_clear(edit_changes *changes);
/* Makes the changes. Scene, systems and layout of the state are then those of the original. TROUPE_EPROTOCOL says what
 * is wrong with a change; the world must not be used then. */
troupe_status edit_follow(struct edit *edit, edit_changes *changes, struct troupe_error *error);

/* Whether physics can take a model's words that came from outside. next: those of state k+1. */
bool edit_words_sane(const struct state *state, uint32_t model, bool next);

/* Part of the state hash: changes that are not in the state words. 0 while nothing was changed. */
uint64_t edit_hash(const struct edit *edit);

#endif
