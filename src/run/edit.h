/* Changes of the world while it runs: models are created, removed and put elsewhere, become performers, and time and
 * gravity change. Names and meaning are Gazebo's (its UserCommands and LevelManager); each call does all or, on
 * failure, nothing, and says why.
 *
 * All of it is a function of the world, the commands and the step: which place in the scene a new model gets, too. A
 * model that was removed is gone from the state at once; runners let go of it during the step, and its place is given
 * up at the start of the next.
 *
 * Thread: the primary's, between steps, after plan_begin() and before plan_step(). Allocates. Errors: TROUPE_ECOMMAND
 * (nothing of that name, not possible for it), TROUPE_EWORLD (bad SDF, with file:line), TROUPE_ELIMIT. */
#ifndef RUN_EDIT_H
#define RUN_EDIT_H

#include "base/pack.h"
#include "run/plan.h"

enum { EDIT_NOTE_BYTES = 512 };

struct edit_options {
	const char *path; /* of the world: relative file names begin in its folder */
	const char *const *resource_paths;
	struct files *files;       /* that are looked through before the file system is; NULL: none */
	struct importer *importer; /* reads meshes and images; NULL: one for each model that is created */
};

/* What was done to the scene, for who has a copy of it. */
enum edit_op_kind {
	EDIT_GIVE_UP, /* nobody has the place any more */
	EDIT_LEAVE,   /* the model is absent */
	EDIT_RETURN,  /* it is there again */
	EDIT_CREATE,
	EDIT_PLACE, /* a static model was put elsewhere */
	EDIT_GRAVITY,
	EDIT_LIGHT, /* a light of the world has gone, or is there again */
	EDIT_OPS,
};

struct edit_op {
	enum edit_op_kind kind;
	uint32_t model; /* of EDIT_LIGHT: the light */
};

struct edit {
	struct shared *shared;
	struct plan *plan; /* NULL: of a copy, see edit_follow() */
	struct edit_options options;
	double step_s; /* of simulated time, from now on */
	bool world_changed;
	VEC(uint32_t) leaving; /* created models that were removed in the step before */
	indices edited;        /* models that are not as in the file, but for what is in the state */
	uint64_t created, removed;
	uint64_t epoch; /* grows with each change of what models there are, and which of them are performers */
	VEC(struct edit_op) log; /* since the primary last emptied it, in order */

	/* private */
	struct edit_source **sources; /* [room] what created models were made from */
	uint32_t room;
	uint64_t last_id;    /* of the state that is being unpacked */
	uint32_t places_max; /* that its created models and their parts may be at */
};

void edit_init(struct edit *edit, struct shared *shared, struct plan *plan, const struct edit_options *options);
void edit_fini(struct edit *edit);

/* The first thing in a step: places that nobody has any more are given up. */
void edit_begin(struct edit *edit);

/* message: of the schema that the comment names. note: what was done, one line. */
troupe_status edit_create(struct edit *edit, const struct message *factory, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_entity_factory */
troupe_status edit_create_multiple(struct edit *edit, const struct message *factories, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_entity_factory_v; what can be created is, also when some cannot */
troupe_status edit_remove(struct edit *edit, const struct message *entity, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_entity; a model, an actor or a light of the world */
troupe_status edit_set_pose(struct edit *edit, const struct message *pose, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_pose; velocities stay as they are */
troupe_status edit_set_poses(struct edit *edit, const struct message *poses, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_pose_v */
troupe_status edit_set_velocity(struct edit *edit, const struct message *velocity, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_set_velocity; of two vectors, the one that is not given stays */
troupe_status edit_set_physics(struct edit *edit, const struct message *physics, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_physics; the real-time factor is the caller's to see to */
troupe_status edit_set_performer(struct edit *edit, const struct message *performer, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_set_performer; an edge that is not given stays, or is Gazebo's 2 m */

/* message_entity: the model as its file or its creation had it, as a reset of the world would have it; what the others
 * do to it is another thing. *ret_model: whose commands of this step are undone. */
troupe_status edit_reset_model(struct edit *edit, const struct message *entity, uint32_t *ret_model,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);

troupe_status edit_set_joint(struct edit *edit, const struct message *joint, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error); /* message_set_joint */

/* message_entity_wrench: changes nothing. *ret_wrench: what acts on which body. TROUPE_ECOMMAND also for a model that
 * nobody will simulate in the coming step. */
troupe_status edit_wrench(const struct edit *edit, const struct message *wrench, struct due_wrench *ret_wrench,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error);

/* Back to the models of the file as they stand there: the caller then resets state and plan. Time step and gravity
 * stay. */
void edit_reset(struct edit *edit);

/* Reads into `files` what a message_entity_factory names, so that it can be created without the file system. */
void edit_collect(const struct edit *edit, const struct message *factory, struct files *files);

/* The world as it is: places, changes, and the state of all models. Not between a removal and the next edit_begin(). */
void edit_pack(const struct edit *edit, struct text *out);
/* The reverse, on a world as its file has it. Plan and tracker are to be set up anew after it. On failure
 * (TROUPE_EWORLD) the world is worth nothing. */
troupe_status edit_unpack(struct edit *edit, struct unpack *in, struct troupe_error *error);

/* --- copies of a world, elsewhere: edit_copy.c ------------------------------------------------------------------- */

/* The log, and what it takes to do the same to a copy; before the next edit_begin(). */
void edit_pack_log(const struct edit *edit, struct text *out);
/* Does the same to a copy: an edit without plan, of which the scene, the systems and the layout of the state then are
 * as those of the original. What is wrong with it, TROUPE_EPROTOCOL; the copy is worth nothing then. */
troupe_status edit_follow(struct edit *edit, struct unpack *in, struct troupe_error *error);

/* Whether a model's words that came from outside are such as physics can take. */
bool edit_words_sane(const struct state *state, uint32_t model, bool next);

/* Part of the state hash: what is not in the state words. 0 while nothing was changed. */
uint64_t edit_hash(const struct edit *edit);

#endif
