/* What edit.c (obeys), edit_create.c (loads and adds models) and edit_save.c (packs and unpacks) share. */
#ifndef RUN_EDIT_INTERNAL_H
#define RUN_EDIT_INTERNAL_H

#include "run/edit.h"

#define EDIT_GRAVITY_MAX 1e6 /* m/s^2 */

/* m/s and rad/s that a command may ask for: as for what systems ask for, well below where the physics gives a model up
 * as diverged. */
#define EDIT_SPEED_MAX 1e4

/* What a created model was made from: enough to make it again. All of it is owned. */
struct edit_source {
	char *text, *path, *name; /* path: for messages and relative names. name: "" for the text's own */
	bool placed;
	struct pose pose; /* when placed */
	struct files files;
	struct sdf *sdf; /* loaded from it; NULL: not yet, or it is the scene's by now */
};

void edit_source_destroy(struct edit_source *source);
/* Into source->sdf, by way of `files`: from there alone if they are closed. */
troupe_status edit_source_load(
	const struct edit *edit, struct edit_source *source, struct files *files, struct troupe_error *error);
/* What the model or actor that was loaded is called; NULL: it is neither. */
const char *edit_source_entity(const struct edit_source *source);

/* Adds the loaded model to scene, systems and state, under its name, which must be free. It does not touch the plan or
 * any other model, so that it also serves saved states and replicas, where the other models' words are given. at: NULL
 * for any places. The source becomes edit's; on failure it stays the caller's, to be destroyed. */
troupe_status edit_add(struct edit *edit, struct edit_source *source, const struct scene_places *at,
	uint32_t *ret_model, char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Nobody has the place any more. */
void edit_give_up(struct edit *edit, uint32_t model);
static inline void edit_note(struct edit *edit, enum edit_op_kind kind, uint32_t model)
{
	edit->epoch += kind != EDIT_GRAVITY && kind != EDIT_LIGHT;
	vec_push(&edit->log, (struct edit_op){kind, model});
}

/* A created model: where it and its parts are, and what it was made from. */
void edit_pack_created(const struct edit *edit, uint32_t model, struct text *out);
/* The reverse, into the places that it had. */
troupe_status edit_unpack_created(
	struct edit *edit, uint32_t model, uint64_t id, struct unpack *in, struct troupe_error *error);
/* Places that a model may be said to have by `bytes` bytes of whatever is being unpacked. */
uint32_t edit_places_max(const struct scene *scene, size_t bytes);
void edit_pack_pose(struct text *out, const struct pose *pose);
struct pose edit_unpack_pose(struct unpack *in);

troupe_status edit_find(const struct edit *edit, const char *name, uint32_t *ret_model, struct troupe_error *error);
/* A model by its id, when there is one in the message (id > 0), else by its name. */
troupe_status edit_find_by_id(
	const struct edit *edit, double id, const char *name, uint32_t *ret_model, struct troupe_error *error);
/* Whether the model is one that moves; done: what is to be done to it, for messages. */
troupe_status edit_check_moves(const struct edit *edit, uint32_t model, const char *done, struct troupe_error *error);
/* Whether forces move the body. */
troupe_status edit_check_body(const struct scene *scene, uint32_t body, struct troupe_error *error);
void edit_say(char note[EDIT_NOTE_BYTES], const char *format, ...) TROUPE_PRINTF(2, 3);

#endif
