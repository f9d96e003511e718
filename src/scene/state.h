/* The explicit state: everything that the future of every model depends on, in one place, as 64-bit words that can be
 * stored, sent, hashed and restored. State k is a function of world, seed, commands and k; it does not depend on the
 * runner that computed it.
 *
 * A model's words, in this order:
 *   bodies    a struct body_state for each body, in body order
 *   joints    a struct joint_state for each of the model's own joints, then for each joint of the world whose child
 *             is a body of the model
 *   couplings a word for each coupling of these joints (scene_joint_couplings()): its force in the previous step, in N
 *             or N m, where the physics begins its search for the next one
 *   anchors   a struct body_anchor for each body, in body order: its pose when it became still (physics: sleeping)
 *   still     one word, if the model has bodies: the number of steps for which it has been still
 *   systems   the words of its systems (commands in force, odometry, integrals), each system at its own offset
 * Behind them come its impulses, if it is in a pile (physics/soft.c); their number changes from step to step. They are
 * those with which the last step ended and the next one begins: STATE_IMPULSE_WORDS words for each point at which the
 * model touches one with a higher number or a static one, and for each six rows of its joints.
 * There are copies of each model's words. `now` is state k, and any runner may read it during step k. `next` is
 * written during step k, only by the runner that simulates the model. state_advance() makes next the new now. A model
 * that no runner stepped keeps its words. In a window of several steps `now` and `next` move on with the model, which
 * its runner alone may look at then; state k is kept, and is `now` again when the window ends (state_close_window()).
 *
 * Thread: as above for now and next. All other members belong to the primary, between steps. */
#ifndef SCENE_STATE_H
#define SCENE_STATE_H

#include "scene/scene.h"

/* Whether every run overwrites `next` before each step: in debug builds and under sanitizers. */
#if defined TROUPE_DEBUG || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { STATE_POISONED = 1 };
#else
enum { STATE_POISONED = 0 };
#endif

struct body_state {
	struct vec3 p; /* centre of mass, world */
	struct quat q; /* as the physics stored it, not normalised again */
	struct vec3 v; /* of the centre of mass, m/s */
	struct vec3 w; /* rad/s, world axes */
};

struct body_anchor {
	struct vec3 p;
	struct quat q;
};

struct joint_state {
	double position[2]; /* rad (with full turns) or m, relative to the pose in the file */
};

enum {
	STATE_IMPULSE_WORDS = 4,
	STATE_IMPULSES_MAX = 1u << 14, /* of a model */
};

/* The copies of a model's words. Two do for single steps. In a window of several steps one of them stays state k while
 * the other and a third take turns; the third is lent for a window, so that models that are stepped one after another
 * use the same few cache lines for it. Between windows `now` and `next` are among the first two. */
enum { STATE_KEPT_COPIES = 2, STATE_COPIES = 3 };

struct state_impulses {
	uint32_t count[STATE_COPIES], room[STATE_COPIES]; /* words, in each copy */
	uint64_t *at[STATE_COPIES];
};

/* A word of state 0 that is not that of a model whose bodies are at their reference poses and whose other words are 0.
 */
struct state_initial_word {
	uint32_t word;   /* relative to the model's first word */
	uint64_t change; /* exclusive or of both */
};
struct state_initial {
	struct state_initial_word *at;
	uint32_t count;
};

struct state_model {
	uint64_t *at[STATE_COPIES]; /* first word of each copy; of the third only while it is lent */
	uint32_t offset;            /* first word, relative to that of the kept copies */
	uint32_t words;             /* number of words */
	uint32_t system_first;      /* first word of the systems, relative to the model's first word */
	uint32_t touches;           /* how often now was written in place, so far */
	uint64_t changed_at;        /* the primary's: the last moving step that wrote the model */
	uint8_t copy, next;         /* indices of the copies that are `now` and `next` */
	uint8_t base;               /* between steps: copy; within a window: the copy that is state k */
	bool hashed;                /* hash is the hash of now */
	uint64_t hash;
};

struct state {
	const struct scene *scene;
	struct state_model *models;      /* [room.models] */
	struct state_impulses *impulses; /* [room.models] */
	uint32_t *joint_offset;          /* [room.joints] first word, relative to its model's first word */
	uint32_t *joint_coupling;        /* [room.joints] the same for the joint's first coupling */
	uint64_t *words[STATE_KEPT_COPIES];
	struct state_initial *initial; /* [room.models] state 0, for resets */
	struct {
		uint64_t *words, *initial; /* NULL: none */
		uint32_t count;
	} world; /* the words of the systems of the world itself, which the primary alone reads and writes */
	/* The primary's: models whose `now` it wrote in place since it last emptied this list; a model may be in it
	 * more than once. Replicas that have these words must be told. */
	VEC(uint32_t) written;

	/* private */
	struct scene_room room;
	struct ranges lines; /* a model's words start on their own cache line: other runners write its neighbours */
	uint32_t line_room;
};

/* system_words[model]: number of words for its systems. They start as zero. */
struct state *state_create(const struct scene *scene, const uint32_t *system_words);
/* Gives the systems of the world itself this many words, which start as zero. Called once, at the beginning. */
void state_add_world(struct state *state, uint32_t words);
void state_destroy(struct state *state);

/* Adds the words of a model that was added to the scene: its bodies at their reference poses, all other words zero.
 * Pointers into the state become invalid. */
void state_add(struct state *state, uint32_t model, uint32_t system_words);
void state_remove(struct state *state, uint32_t model);

/* The index of the copy that is `now`, or `next`. */
static inline uint32_t state_copy(const struct state *state, uint32_t model, bool next)
{
	return next ? state->models[model].next : state->models[model].copy;
}

static inline uint64_t *state_words(const struct state *state, uint32_t model, bool next)
{
	const struct state_model *m = &state->models[model];
	return m->at[next ? m->next : m->copy];
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

/* The words of its impulses; *ret_count of them. */
static inline const uint64_t *state_impulses(const struct state *state, uint32_t model, bool next, uint32_t *ret_count)
{
	const struct state_impulses *own = &state->impulses[model];
	uint32_t copy = state_copy(state, model, next);
	*ret_count = own->count[copy];
	return own->at[copy];
}

/* The words of state k with those of its impulses behind them. */
static inline uint32_t state_count_all(const struct state *state, uint32_t model)
{
	return state->models[model].words + state->impulses[model].count[state->models[model].copy];
}

static inline uint64_t state_word_of_all(const struct state *state, uint32_t model, uint32_t word)
{
	uint32_t words = state->models[model].words, count;
	return word < words ? state_words(state, model, false)[word]
			    : state_impulses(state, model, false, &count)[word - words];
}

/* Makes room for so many words of state k in all; the caller writes them. False: a model like this cannot have so
 * many. */
bool state_resize_all(const struct state *state, uint32_t model, uint32_t count);

/* Makes their number `count` words, with room for them; the caller writes them. */
uint64_t *state_resize_impulses(const struct state *state, uint32_t model, bool next, uint32_t count);

static inline void state_clear_impulses(const struct state *state, uint32_t model, bool next)
{
	uint32_t *count = &state->impulses[model].count[state_copy(state, model, next)];
	if (*count) /* others may read the line */
		*count = 0;
}

/* Copies the impulses from `now` to `next`. */
void state_keep_impulses(const struct state *state, uint32_t model);

/* Overwrites `next` of the model with numbers that no step computes. So a word that a step forgets to write becomes
 * visible. */
void state_poison_next(const struct state *state, uint32_t model);

/* Copies, from `now` to `next`, the couplings of the model and the joints of the world whose child is in it: a joint
 * of the world is stepped only while both its models exist on one runner. */
static inline void state_keep_world_joints(const struct state *state, uint32_t model)
{
	uint32_t joints = state->scene->models[model].joint_count;
	const uint64_t *now = (const uint64_t *)(const void *)(state_own_joints(state, model, false) + joints);
	uint64_t *next = (uint64_t *)(void *)(state_own_joints(state, model, true) + joints);
	const void *end = state_anchors(state, model, true);
	while ((const void *)next < end)
		*next++ = *now++;
}

/* Makes next the new now. */
static inline void state_advance(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	uint8_t old = m->copy;
	m->copy = m->base = m->next;
	m->next = old;
	m->hashed = false;
}

/* Within a window, by the runner that simulates the model: the same, but state k is kept. The third copy must be lent
 * before the next state is written. */
static inline void state_go_on(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	m->copy = m->next;
	m->next = (uint8_t)(STATE_COPIES - m->base - m->copy);
}

/* Room for third copies, which one thread lends. */
struct state_spare {
	uint64_t *at;
	uint32_t words;
};
struct state_spares { /* zeroed is empty */
	VEC(struct state_spare) pieces;
	uint32_t piece, used; /* words of this piece */
};
/* What was lent is free again. */
static inline void state_spares_clear(struct state_spares *spares)
{
	spares->piece = spares->used = 0;
}
void state_spares_fini(struct state_spares *spares);
/* Lends a third copy to the model, from its first state_go_on() in a window, at the latest, to state_settle(). */
void state_lend(struct state *state, uint32_t model, struct state_spares *spares);
/* If `now` is the third copy, it moves to the kept one that is not state k. The third copy may be lent to others. */
void state_settle(struct state *state, uint32_t model);

/* At the end of a window: state k is `now` again, and the last state is `next`. For models that went on in it. */
static inline void state_close_window(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	if (m->copy == m->base)
		return;
	state_settle(state, model);
	m->next = m->copy;
	m->copy = m->base;
}

/* A window is given up: state k is `now` again. */
static inline void state_leave_window(struct state *state, uint32_t model)
{
	struct state_model *m = &state->models[model];
	if (m->copy == m->base)
		return;
	m->copy = m->base;
	m->next = 1 - m->base;
}

/* Must be called when now was written in place (a command, a reset). */
static inline void state_touched(struct state *state, uint32_t model)
{
	state->models[model].hashed = false;
	state->models[model].touches++;
}

/* The same, called by the primary, for a model of which a replica may have the words. */
static inline void state_wrote(struct state *state, uint32_t model)
{
	state_touched(state, model);
	vec_push(&state->written, model);
}

/* Stores now as the state that state_reset() restores. Called once, after the systems have filled in their words. */
void state_set_initial(struct state *state);
/* The same for one model that was added; state_reset_model() restores it. */
void state_set_initial_of(struct state *state, uint32_t model);
/* Resets all models that are not absent, and the words of the world's systems. */
void state_reset(struct state *state);
void state_reset_model(struct state *state, uint32_t model);

/* The sum, mod 2^64, of one hash for each model that can change and is not absent, and of the hash of the words of the
 * world's systems, if there are any. A model's hash covers its id and its words of now. A model that did not change
 * since the last call is not hashed again. */
uint64_t state_hash(struct state *state);
/* The part of one model, anew. Any thread that may read the model. */
uint64_t state_hash_of(const struct state *state, uint32_t model);
/* The same without the words of the world's systems. */
uint64_t state_hash_models(struct state *state);

/* The pose of the model's frame in the world. */
struct pose state_model_pose(const struct state *state, uint32_t model, bool next);
/* The same with these bodies of the model. */
struct pose state_frame_of(const struct scene_model *m, const struct body_state *bodies);
/* The same in the initial state, which a reset restores. */
struct pose state_model_home(const struct state *state, uint32_t model);
/* The box of all geoms of the model that are not off; its origin, if there are none. */
struct aabb state_model_box(const struct state *state, uint32_t model, bool next);
struct pose state_link_pose(const struct state *state, uint32_t link, bool next);

static inline struct pose body_pose(const struct body_state *body)
{
	return (struct pose){body->p, body->q};
}

#endif
