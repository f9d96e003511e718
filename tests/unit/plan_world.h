/* A random world for the tests of the plan and of its parts (run/plan.h), and what must be true of it by the
 * definitions, found anew from the whole world in every step. A test changes the world, tells the part that it tests
 * and the struct of expectations, and compares. */
#ifndef TESTS_UNIT_PLAN_WORLD_H
#define TESTS_UNIT_PLAN_WORLD_H

#include "run/plan.h"

/* Models in the order of the file. */
enum {
	LEVELS = 4,
	PERFORMERS = 5, /* the last performer is static */
	FREE = 6,
	CARGO = 9,
	STATICS = 3,
	FREE_FIRST = PERFORMERS,
	CARGO_FIRST = FREE_FIRST + FREE,
	STATIC_FIRST = CARGO_FIRST + CARGO,
	MODELS = STATIC_FIRST + STATICS,
	SECONDARIES_MAX = 4,
	STILL = 7 /* any number of still steps */
};

struct world {
	uint64_t seed, k;
	struct sdf *sdf;
	struct shared shared;
	uint32_t most;
	const struct assign_policy *policy;
	bool chaos;

	/* the parts of the plan that are compared; they belong to the test */
	struct loading *loading;
	struct pairs *pairs;
	struct placement *placement;

	/* the expected answers, by the definitions */
	bool active[MODELS], loaded[LEVELS];
	bool in[MODELS][LEVELS], near[MODELS][LEVELS];
	bool touching[MODELS][MODELS];  /* index a < b; also in the next table */
	uint64_t until[MODELS][MODELS]; /* 0: the pair does not count */
	uint64_t still[MODELS];
	uint32_t owner[MODELS], level_owner[LEVELS], first[MODELS];
	bool ghost[MODELS][SECONDARIES_MAX + 1];
	bool gone[MODELS], reached[MODELS];
	bool woken;
	uint64_t moves, loads, meetings, shares;
	uint64_t key; /* differs for other loaded levels and for other models that outlived their level */

	/* how often each event took place: a run without any would prove nothing */
	uint32_t pairs_ended, strays, reaches, wakes, components, pinned;
};

/* At first movers are active; no model counts as still; nothing is loaded, paired or assigned. */
void world_make(struct world *world, uint64_t seed);
void world_destroy(struct world *world);
/* Makes the part of struct shared that a plan needs. */
void world_share(struct shared *shared, struct scene *scene, struct state *state);
void world_unshare(struct shared *shared);

uint32_t world_below(struct world *world, uint32_t limit);
double world_between(struct world *world, double low, double high);
struct vec3 world_anywhere(struct world *world);

struct scene_model *world_model(const struct world *world, uint32_t m);
uint64_t world_still(const struct world *world, uint32_t m);
bool world_moves_freely(const struct world *world, uint32_t m);
struct aabb world_box(const struct world *world, uint32_t m);
bool world_reaches(struct aabb a, struct aabb b);
bool world_joined(const struct world *world, uint32_t a, uint32_t b);
/* Writes the pose; shared.boxes stays as it is. */
void world_put(struct world *world, uint32_t m, struct vec3 p);

/* The effects that a change must have. */
void world_must_wake(struct world *world, uint32_t m);
void world_must_wake_in(struct world *world, struct aabb box);
void world_must_leave(struct world *world, uint32_t m);
void world_forget_pairs(struct world *world, uint32_t m);

/* The expected answers in step k. The calls come in this order. */
void world_must_be_near(struct world *world);
void world_must_be_loaded(struct world *world);
void world_must_outlive(struct world *world);
void world_must_touch(struct world *world);

/* Compare the answers of the parts with the expected ones. */
void world_check_loading(const struct world *world);
void world_check_hash(const struct world *world, uint64_t hash);
void world_check_still(struct world *world);
void world_check_pairs(const struct world *world);
/* Also applies the changes one by one, as secondaries do: the other comparisons need the result. */
void world_check_changes(struct world *world);
void world_check_components(struct world *world);
void world_check_ghosts(const struct world *world);
void world_check_parts(const struct world *world);

#endif
