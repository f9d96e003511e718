/* The explicit state: all that the future of every model depends on, in one place, as 64-bit words that can be stored,
 * sent, hashed and put back. State k is a function of world, seed, commands and k; who computed it leaves no trace.
 *
 * A model's words, in this order:
 *   bodies   struct body_state each, in body order
 *   joints   struct joint_state each: the model's own, then the world's joints that it is the child of
 *   couplings a word for each of these joints' couplings (scene_joint_couplings()): the force of the step before, in N
 *            or N m, at which the search for the next one begins (physics)
 *   anchors  struct body_anchor each, in body order: where it was when it began to be still (physics: sleeping)
 *   still    one word, of a model with bodies: for how many steps it has been still
 *   systems  whatever its systems keep (commands in force, odometry, integrals), each from its own offset
 * Two copies of each: `now` is state k and read by anyone during step k; `next` is written during step k by the runner
 * that simulates the model, and by nobody else. state_advance() makes next the new now; a model that no runner stepped
 * simply keeps its words.
 *
 * Thread: see above; everything else is the primary's, between steps. */
#ifndef SCENE_STATE_H
#define SCENE_STATE_H

#include "scene/scene.h"

/* Whether `next` is overwritten before each step in every run: in debug builds, and where memory is watched. */
#if defined TROUPE_DEBUG || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { STATE_POISONED = 1 };
#else
enum { STATE_POISONED = 0 };
#endif

struct body_state {
	struct vec3 p; /* centre of mass, world */
	struct quat q; /* as the physics stored it: not normalised again on the way */
	struct vec3 v; /* of the centre of mass, m/s */
	struct vec3 w; /* rad/s, world axes */
};

struct body_anchor {
	struct vec3 p;
	struct quat q;
};

struct joint_state {
	double position[2]; /* rad (turns counted) or m, from the pose in the file */
};

struct state_model {
	uint32_t offset;       /* first word in each copy */
	uint32_t words;        /* all of it */
	uint32_t system_first; /* first word of the systems, from the model's first */
	uint64_t moved_at;     /* the primary's: moving step that last wrote it */
	uint32_t copy;         /* which copy is now: 0 or 1 */
	bool hashed;           /* hash is that of now */
	uint64_t hash;
};

struct state {
	const struct scene *scene;
	struct state_model *models; /* [room.models] */
	uint32_t *joint_offset;     /* [room.joints] first word, from its model's first */
	uint32_t *joint_coupling;   /* [room.joints] the same of its first coupling */
	uint64_t *words[2];
	uint64_t *initial; /* state 0, for resets */
	/* The primary's: models whose `now` it wrote in place since it last emptied this; some more than once. Who
	 * holds copies of the words elsewhere must be told. */
	VEC(uint32_t) written;

	/* private */
	struct scene_room room;
	struct ranges
		lines; /* a model's words start on their own cache line: neighbours are written by other runners */
	uint32_t line_room;
};

/* system_words[model]: how many words its systems want. They start as zero. */
struct state *state_create(const struct scene *scene, const uint32_t *system_words);
void state_destroy(struct state *state);

/* A model that was added to the scene: its bodies where it says, all else zero. Pointers into the state are not valid
 * any more. */
void state_add(struct state *state, uint32_t model, uint32_t system_words);
void state_remove(struct state *state, uint32_t model);

static inline uint64_t *state_words(const struct state *state, uint32_t model, bool next)
{
	const struct state_model *m = &state->models[model];
	return state->words[m->copy ^ (next ? 1u : 0u)] + m->offset;
}

static inline struct body_state *state_bodies(const struct state *state, uint32_t model, bool next)
{
	return (struct body_state *)(void *)state_words(state, model, next);
}

static inline struct body_state *state_body(const struct state *state, uint32_t body, bool next)
{
	uint32_t model = state->scene->bodies[body].model;
	return &state_bodies(state, model, next)[body - state->scene->models[model].body_first];
}

static inline struct joint_state *state_joint(const struct state *state, uint32_t joint, bool next)
{
	uint64_t *words = state_words(state, state->scene->joints[joint].model, next);
	return (struct joint_state *)(void *)(words + state->joint_offset[joint]);
}

/* The model's own joints, in order. */
static inline struct joint_state *state_own_joints(const struct state *state, uint32_t model, bool next)
{
	return (struct joint_state *)(void *)(state_bodies(state, model, next) +
					      state->scene->models[model].body_count);
}

static inline uint64_t *state_systems(const struct state *state, uint32_t model, bool next)
{
	return state_words(state, model, next) + state->models[model].system_first;
}

static inline uint64_t *state_still(const struct state *state, uint32_t model, bool next)
{
	return state_words(state, model, next) + state->models[model].system_first - 1;
}

static inline struct body_anchor *state_anchors(const struct state *state, uint32_t model, bool next)
{
	return (struct body_anchor *)(void *)state_still(state, model, next) - state->scene->models[model].body_count;
}

/* Overwrites `next` of the model with numbers that no step makes, so that a word which a step forgets to write shows.
 */
void state_poison_next(const struct state *state, uint32_t model);

/* In `next`, couplings and the world's joints of which the model is the child get what they are in `now`: a joint of
 * the world is stepped only while both its models exist on one runner. */
static inline void state_keep_world_joints(const struct state *state, uint32_t model)
{
	uint32_t joints = state->scene->models[model].joint_count;
	const uint64_t *now = (const uint64_t *)(const void *)(state_own_joints(state, model, false) + joints);
	uint64_t *next = (uint64_t *)(void *)(state_own_joints(state, model, true) + joints);
	const void *end = state_anchors(state, model, true);
	while ((const void *)next < end)
		*next++ = *now++;
}

/* next becomes now. */
static inline void state_advance(struct state *state, uint32_t model)
{
	state->models[model].copy ^= 1;
	state->models[model].hashed = false;
}

/* now was written in place (a command, a reset). */
static inline void state_touched(struct state *state, uint32_t model)
{
	state->models[model].hashed = false;
}

/* The same by the primary, for a model that a runner may hold a copy of. */
static inline void state_wrote(struct state *state, uint32_t model)
{
	state_touched(state, model);
	vec_push(&state->written, model);
}

/* Remembers now as what state_reset() goes back to; called once, after the systems have filled in their words. */
void state_set_initial(struct state *state);
/* The same for a model that was added: what state_reset_model() goes back to. */
void state_set_initial_of(struct state *state, uint32_t model);
/* All models that are not absent. */
void state_reset(struct state *state);
void state_reset_model(struct state *state, uint32_t model);

/* The sum, mod 2^64, of one hash per model that can change and is not absent, over its id and its words of now. Models
 * that did not change since the last call are not hashed again. */
uint64_t state_hash(struct state *state);

/* The model's own frame in the world. */
struct pose state_model_pose(const struct state *state, uint32_t model, bool next);
/* The same in the state that a reset goes back to. */
struct pose state_model_home(const struct state *state, uint32_t model);
/* The box of all its geoms; of a model without, its origin. */
struct aabb state_model_box(const struct state *state, uint32_t model, bool next);
struct pose state_link_pose(const struct state *state, uint32_t link, bool next);

static inline struct pose body_pose(const struct body_state *body)
{
	return (struct pose){body->p, body->q};
}

#endif
