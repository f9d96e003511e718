/* Which performers are in and near which level, and which boxes touch, are those of an exhaustive comparison in every
 * step, however seldom the tracker looks. */
#include "../random.h"
#include "level/touch.h"
#include "level/tracker.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(level, .timeout = 60);

/* --- tracker ---------------------------------------------------------------------------------------------------- */

enum { LEVELS = 30, PERFORMERS = 3 };

static struct scene_model models[PERFORMERS];
static struct scene_level levels[LEVELS];
static struct scene scene;

static void make_levels(uint64_t seed)
{
	for (uint32_t m = 0; m < PERFORMERS; m++)
		models[m] = (struct scene_model){.performer = true, .volume = {2, 1, 1}};
	for (uint32_t l = 0; l < LEVELS; l++) {
		levels[l].box = aabb_around(
			(struct vec3){random_unit(&seed) * 60, random_unit(&seed) * 20, random_unit(&seed) * 6 - 3},
			(struct vec3){random_unit(&seed) * 12, 2 + random_unit(&seed) * 8, 1 + random_unit(&seed) * 4});
		levels[l].outer = aabb_grow(levels[l].box, l % 3 ? random_unit(&seed) * 3 : 0);
	}
	scene = (struct scene){.models = models, .model_count = PERFORMERS, .levels = levels, .level_count = LEVELS};
}

static bool holds(const bvh_values *values, uint32_t level)
{
	for (uint32_t i = 0; i < values->count; i++)
		if (values->at[i] == level)
			return true;
	return false;
}

/* The counts of each level, and the list of performers around it, follow from the sets of the performers. */
static void check_counts(const struct tracker *tracker)
{
	for (uint32_t l = 0; l < LEVELS; l++) {
		uint32_t in = 0, near = 0, around = 0;
		for (uint32_t p = 0; p < tracker->performers.count; p++) {
			const struct tracked *performer = &tracker->performers.at[p];
			in += holds(&performer->in, l);
			near += holds(&performer->near, l);
			if (!holds(&performer->near, l) || holds(&performer->in, l))
				continue;
			cr_assert_lt(around, tracker->around[l].count);
			cr_assert_eq(tracker->around[l].at[around++], performer->model);
		}
		cr_assert_eq(tracker->in_count[l], in);
		cr_assert_eq(tracker->near_count[l], near);
		cr_assert_eq(tracker->around[l].count, around);
	}
	for (uint32_t m = 0; m < PERFORMERS; m++) {
		uint32_t p = tracker->performer_of[m];
		cr_assert(p == SCENE_NONE || tracker->performers.at[p].model == m);
	}
}

/* Performers come and go, and now and then the tracker is emptied. */
static void disturb(struct tracker *tracker, uint64_t *dice)
{
	uint32_t m = (uint32_t)(random_unit(dice) * PERFORMERS);
	if (random_unit(dice) < 0.2) {
		tracker_reset(tracker);
		for (uint32_t p = 0; p < tracker->performers.count; p++)
			cr_assert(tracker_must_look(&tracker->performers.at[p], (struct vec3){0, 0, 0}) &&
				  tracker_must_look(&tracker->performers.at[p], (struct vec3){30, 10, 1}) &&
				  !tracker->performers.at[p].entered);
	} else if (tracker->performer_of[m] != SCENE_NONE) {
		tracker_remove(tracker, m);
		cr_assert_eq(tracker->performer_of[m], SCENE_NONE);
	} else {
		tracker_add(tracker, m);
		cr_assert(tracker_must_look(&tracker->performers.at[tracker->performer_of[m]], (struct vec3){0, 0, 0}));
	}
}

/* However seldom the tracker looks, its sets are those of an exhaustive comparison in every step. */
Test(level, tracker_agrees_with_exhaustive_search)
{
	for (uint64_t seed = 1; seed < 6; seed++) {
		make_levels(seed);
		struct tracker tracker;
		tracker_init(&tracker, &scene);
		struct vec3 at[PERFORMERS] = {{0, 0, 0}, {30, 10, 0}, {60, 20, 0}};
		uint32_t looks = 0, changes = 0;
		uint64_t walk = seed * 99;
		for (int step = 0; step < 20000; step++) {
			if (step % 1000 == 999)
				disturb(&tracker, &walk);
			for (uint32_t m = 0; m < PERFORMERS; m++) {
				uint32_t p = tracker.performer_of[m];
				at[m].x += (random_unit(&walk) - 0.5) * 0.05 + 0.003 * (m == 0 ? 1 : -1);
				at[m].y += (random_unit(&walk) - 0.5) * 0.05;
				at[m].z += (random_unit(&walk) - 0.5) * 0.2 - 0.001 * at[m].z;
				if (p == SCENE_NONE)
					continue;
				if (tracker_must_look(&tracker.performers.at[p], at[m])) {
					looks++;
					changes += tracker_look(&tracker, p, at[m]);
				}
				struct aabb volume = aabb_around(at[m], models[m].volume);
				for (uint32_t l = 0; l < LEVELS; l++) {
					cr_assert_eq(holds(&tracker.performers.at[p].in, l),
						aabb_overlap(&volume, &levels[l].box));
					cr_assert_eq(holds(&tracker.performers.at[p].near, l),
						aabb_overlap(&volume, &levels[l].outer));
				}
			}
			if (step % 100 == 0)
				check_counts(&tracker);
		}
		cr_assert(changes > 10, "only %u changes: the walk crosses too little", changes);
		cr_assert(looks < 20000, "%u looks in 60000: the boxes save too little", looks);
		tracker_fini(&tracker);
	}
}

static bool is_near_as_looked(const struct tracker *tracker, uint32_t m, struct vec3 origin)
{
	const struct tracked *performer = &tracker->performers.at[tracker->performer_of[m]];
	struct aabb volume = aabb_around(origin, models[m].volume);
	bool same = true;
	for (uint32_t l = 0; l < LEVELS; l++)
		same = same && holds(&performer->near, l) == aabb_overlap(&volume, &levels[l].outer);
	return same;
}

static double somewhere(double lo, double hi, uint64_t *dice)
{
	double part = random_unit(dice);
	return part < 0.2 ? lo : part > 0.8 ? hi : lo + (hi - lo) * part;
}

/* All levels matter here. */
Test(level, what_holds_while_the_origin_was_within_a_box)
{
	uint32_t held = 0, broken = 0, calm = 0, at_border = 0;
	for (uint64_t seed = 1; seed < 6; seed++) {
		make_levels(seed);
		struct tracker tracker;
		tracker_init(&tracker, &scene);
		tracker.minds_all = true;
		uint64_t dice = seed * 77;
		for (int round = 0; round < 4000; round++) {
			uint32_t m = (uint32_t)(random_unit(&dice) * PERFORMERS);
			const struct scene_level *level = &levels[(uint32_t)(random_unit(&dice) * LEVELS)];
			struct vec3 at = {somewhere(level->outer.lo.x, level->outer.hi.x, &dice),
				somewhere(level->outer.lo.y, level->outer.hi.y, &dice), 0};
			if (random_unit(&dice) < 0.5) /* just at a border: there each box of no size holds */
				at.x = level->outer.hi.x + models[m].volume.x / 2;
			(void)tracker_look(&tracker, tracker.performer_of[m], at);
			struct aabb there = {at, at};
			cr_assert(tracker_holds(&tracker, tracker.performer_of[m], &there));
			at_border += !aabb_within(&there, &tracker.performers.at[tracker.performer_of[m]].calm);
			double size = 0.5 * random_unit(&dice);
			there.lo = vec3_sub(at, (struct vec3){size * random_unit(&dice), size * random_unit(&dice), 0});
			there.hi = vec3_add(at, (struct vec3){size * random_unit(&dice), size * random_unit(&dice), 0});
			if (random_unit(&dice) < 0.3) { /* it has moved on since it was looked at */
				struct vec3 by = {2 * random_unit(&dice) - 1, 2 * random_unit(&dice) - 1, 0};
				there = (struct aabb){vec3_add(there.lo, by), vec3_add(there.hi, by)};
			}
			bool holds_there = tracker_holds(&tracker, tracker.performer_of[m], &there), all = true;
			for (int i = 0; i < 30; i++)
				all = all && is_near_as_looked(&tracker, m,
						     (struct vec3){somewhere(there.lo.x, there.hi.x, &dice),
							     somewhere(there.lo.y, there.hi.y, &dice), 0});
			cr_assert(all || !holds_there, "seed %d, round %d: it does not hold", (int)seed, round);
			bool within = aabb_within(&there, &tracker.performers.at[tracker.performer_of[m]].calm);
			cr_assert(all || !within, "seed %d, round %d: not calm", (int)seed, round);
			held += holds_there;
			calm += within;
			broken += !all;
		}
		tracker_fini(&tracker);
	}
	cr_assert(held > 3000 && broken > 3000 && calm > 1000 && at_border > 3000,
		"%u hold, %u do not, %u calm, %u at a border", held, broken, calm, at_border);
}

/* Where the performers are looked at, and a box in which each of them moves then. */
struct moves {
	struct vec3 at[PERFORMERS];
	struct aabb there[PERFORMERS];
};

/* Near the borders of one level, so that some performers come and go while others hold it. */
static struct moves make_moves(struct tracker *tracker, uint64_t *dice)
{
	struct moves moves;
	const struct scene_level *level = &levels[(uint32_t)(random_unit(dice) * LEVELS)];
	for (uint32_t m = 0; m < PERFORMERS; m++) {
		double size = random_unit(dice) < 0.3 ? 0 : random_unit(dice);
		moves.at[m] = (struct vec3){somewhere(level->outer.lo.x, level->outer.hi.x, dice),
			somewhere(level->outer.lo.y, level->outer.hi.y, dice), 0};
		if (random_unit(dice) < 0.4)
			moves.at[m].x = level->outer.hi.x + models[m].volume.x / 2 + (random_unit(dice) - 0.5) * size;
		moves.there[m].lo = vec3_sub(moves.at[m], (struct vec3){size * random_unit(dice), 0, 0});
		moves.there[m].hi = vec3_add(moves.at[m], (struct vec3){size * random_unit(dice), 0, 0});
		(void)tracker_look(tracker, tracker->performer_of[m], moves.at[m]);
	}
	return moves;
}

static bool is_loaded_as_looked(const struct tracker *tracker, const struct vec3 *at)
{
	bool same = true;
	for (uint32_t l = 0; l < LEVELS; l++) {
		bool loaded = false;
		for (uint32_t m = 0; m < PERFORMERS; m++) {
			struct aabb volume = aabb_around(at[m], models[m].volume);
			loaded |= aabb_overlap(&volume, &levels[l].outer);
		}
		same &= loaded == (tracker->near_count[l] > 0);
	}
	return same;
}

Test(level, a_proof_holds_wherever_the_performers_were)
{
	uint32_t proven = 0, broken = 0, crossed = 0;
	for (uint64_t seed = 1; seed < 6; seed++) {
		struct tracker tracker;
		make_levels(seed);
		tracker_init(&tracker, &scene);
		tracker.minds_all = true;
		uint64_t dice = seed * 55;
		for (int round = 0; round < 4000; round++) {
			struct moves moves = make_moves(&tracker, &dice);
			bool proof = true, all = true, none_crosses = true;
			for (uint32_t m = 0; m < PERFORMERS && proof; m++)
				proof = tracker_proof_add(&tracker, tracker.performer_of[m], &moves.there[m]);
			proof = tracker_proof_end(&tracker) && proof;
			for (uint32_t m = 0; m < PERFORMERS; m++)
				none_crosses &= tracker_holds(&tracker, tracker.performer_of[m], &moves.there[m]);
			for (int i = 0; i < 30; i++) {
				struct vec3 at[PERFORMERS];
				for (uint32_t m = 0; m < PERFORMERS; m++) {
					const struct aabb *there = &moves.there[m];
					at[m] = (struct vec3){
						somewhere(there->lo.x, there->hi.x, &dice), moves.at[m].y, 0};
				}
				all = all && is_loaded_as_looked(&tracker, at);
			}
			cr_assert(all || !proof, "seed %d, round %d: it is no proof", (int)seed, round);
			cr_assert(proof || !none_crosses, "seed %d, round %d: no performer crosses", (int)seed, round);
			proven += proof;
			broken += !all;
			crossed += proof && !none_crosses;
		}
		tracker_fini(&tracker);
	}
	cr_assert(proven > 3000 && broken > 1000 && crossed > 300, "%u proven, %u broken, %u although some cross",
		proven, broken, crossed);
}

Test(level, the_next_change_is_when_the_first_performer_comes_or_the_last_one_leaves)
{
	make_levels(1);
	levels[0].box = (struct aabb){{10, -1, -1}, {12, 1, 1}};
	levels[0].outer = aabb_grow(levels[0].box, 1); /* x from 9 to 13; a performer's volume is 2 m long */
	scene.level_count = 1;
	struct tracker tracker;
	tracker_init(&tracker, &scene);
	tracker.minds_all = true;
	const struct vec3 ahead = {2, 0, 0}, back = {-2, 0, 0}, aside = {0, 2, 0};
	for (uint32_t m = 0; m < PERFORMERS; m++)
		(void)tracker_look(&tracker, m, (struct vec3){0, 0, 0});
	cr_assert_float_eq(tracker_next_change_s(&tracker, 0, (struct vec3){0, 0, 0}, ahead, 10), 4, 1e-9);
	cr_assert_eq(tracker_next_change_s(&tracker, 0, (struct vec3){0, 0, 0}, ahead, 3), INFINITY);
	cr_assert_eq(tracker_next_change_s(&tracker, 0, (struct vec3){0, 0, 0}, back, 10), INFINITY);
	cr_assert_eq(tracker_next_change_s(&tracker, 0, (struct vec3){0, 0, 0}, aside, 10), INFINITY);
	cr_assert(tracker_look(&tracker, 0, (struct vec3){11, 0, 0}));
	cr_assert_float_eq(tracker_next_change_s(&tracker, 0, (struct vec3){11, 0, 0}, ahead, 10), 1.5, 1e-9);
	cr_assert_float_eq(tracker_next_change_s(&tracker, 0, (struct vec3){11, 0, 0}, aside, 10), 1.25, 1e-9);
	cr_assert_eq(tracker_next_change_s(&tracker, 0, (struct vec3){11, 0, 0}, (struct vec3){0, 0, 0}, 10), INFINITY);
	cr_assert_eq(tracker_next_change_s(&tracker, 1, (struct vec3){0, 0, 0}, ahead, 10), INFINITY, "one is there");
	cr_assert(tracker_look(&tracker, 1, (struct vec3){11, 0, 0}));
	cr_assert_eq(tracker_next_change_s(&tracker, 0, (struct vec3){11, 0, 0}, ahead, 10), INFINITY, "one stays");
	tracker_fini(&tracker);
}

Test(level, touching_counts_and_entering_is_told)
{
	make_levels(1);
	levels[0].box = (struct aabb){{10, -1, -1}, {12, 1, 1}};
	levels[0].outer = aabb_grow(levels[0].box, 1);
	scene.level_count = 1;
	struct tracker tracker;
	tracker_init(&tracker, &scene);
	cr_assert(!tracker_look(&tracker, 0, (struct vec3){7.5, 0, 0}));
	cr_assert_eq(tracker.near_count[0], 0);
	cr_assert(tracker_look(&tracker, 0, (struct vec3){8, 0, 0}));
	cr_assert_eq(tracker.near_count[0], 1);
	cr_assert_eq(tracker.in_count[0], 0);
	cr_assert(!tracker.performers.at[0].entered);
	cr_assert(tracker_look(&tracker, 0, (struct vec3){9, 0, 0}));
	cr_assert_eq(tracker.in_count[0], 1);
	cr_assert(tracker.performers.at[0].entered);
	cr_assert(tracker_look(&tracker, 0, (struct vec3){13.5, 0, 0}));
	cr_assert_eq(tracker.in_count[0], 0);
	cr_assert_eq(tracker.near_count[0], 1);
	cr_assert(!tracker.performers.at[0].entered);
	tracker_reset(&tracker);
	cr_assert_eq(tracker.near_count[0], 0);
	tracker_fini(&tracker);
}

/* --- touch ------------------------------------------------------------------------------------------------------ */

/* Turns a speed back at the walls of the room in which the boxes are. */
static void turn_back(struct vec3 *speed, const struct aabb *box)
{
	speed->x = box->lo.x < 0 ? fabs(speed->x) : box->hi.x > 6 ? -fabs(speed->x) : speed->x;
	speed->y = box->lo.y < 0 ? fabs(speed->y) : box->hi.y > 6 ? -fabs(speed->y) : speed->y;
	speed->z = box->lo.z < 0 ? fabs(speed->z) : box->hi.z > 3 ? -fabs(speed->z) : speed->z;
}

static bool ties(const struct scene *crowd, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < crowd->world_joints.count; i++) {
		const struct scene_joint *joint = &crowd->joints[crowd->world_joints.at[i]];
		if ((joint->parent == a && joint->child == b) || (joint->parent == b && joint->child == a))
			return true;
	}
	for (uint32_t i = 0; i < crowd->attachments.count; i++) {
		const uint32_t *tied = crowd->attachments.at[i].bodies;
		if ((tied[0] == a && tied[1] == b) || (tied[0] == b && tied[1] == a))
			return true;
	}
	return false;
}

/* Attachments come and go while boxes move; now and then there are none, one to the world, and one twice. */
static void attach_anew(struct touch *touch, struct scene *crowd, uint32_t model_count, uint64_t *seed)
{
	uint32_t count = (uint32_t)(random_unit(seed) * 6);
	crowd->attachments.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct scene_attachment tie = {.bodies = {(uint32_t)(random_unit(seed) * model_count),
						       (uint32_t)(random_unit(seed) * model_count)}};
		if (i == 3)
			tie.bodies[0] = SCENE_NONE;
		if (i == 4)
			tie = crowd->attachments.at[1];
		vec_push(&crowd->attachments, tie);
	}
	touch_rejoin(touch);
}

enum { COUNT = 60, JOINTS = 8 };

static struct aabb_line boxes[COUNT];
static struct scene_geom geoms[COUNT];

static bool exists(const struct touch *touch, uint32_t m)
{
	return touch->models[m].here || touch->models[m].unloaded;
}

static bool touches(uint32_t a, uint32_t b)
{
	struct aabb padded = aabb_grow(boxes[MIN(a, b)].box, TOUCH_PAD);
	return a != b && !geoms[a].off && !geoms[b].off && aabb_overlap(&padded, &boxes[MAX(a, b)].box);
}

static void check_partners(const struct touch *touch, const struct scene *crowd)
{
	bvh_values found = {0};
	for (uint32_t a = 0; a < COUNT; a++) {
		touch_partners(touch, boxes, a, &found);
		for (uint32_t b = 0; b < COUNT; b++)
			cr_assert_eq(holds(&found, b),
				a != b && exists(touch, b) &&
					((exists(touch, a) && touches(a, b)) || ties(crowd, a, b)),
				"models %u and %u", a, b);
	}
	vec_free(&found);
}

/* Whether the pairs are others than those before, as touch_find() says. */
static bool find_pairs(struct touch *touch)
{
	static struct touch_pair before[COUNT * COUNT];
	const size_t count = touch->pairs.count;
	for (size_t i = 0; i < count; i++)
		before[i] = touch->pairs.at[i];
	bool changed = touch_find(touch, boxes);
	cr_assert_eq(changed,
		touch->pairs.count != count || (count && memcmp(before, touch->pairs.at, count * sizeof *before) != 0));
	return changed;
}

/* Unloaded models that one which is here touches come back, until there are none. */
static bool find_all(struct touch *touch, const struct scene *crowd)
{
	bool changed = find_pairs(touch);
	for (; touch->reached.count; changed |= find_pairs(touch)) {
		for (uint32_t i = 0; i < touch->reached.count; i++) {
			uint32_t model = touch->reached.at[i], by = 0;
			for (uint32_t m = 0; m < COUNT; m++)
				by += touch->models[m].here && (touches(m, model) || ties(crowd, m, model));
			cr_assert(by, "nothing reaches model %u", model);
		}
		for (uint32_t i = 0; i < touch->reached.count; i++)
			touch_add(touch, touch->reached.at[i], &boxes[touch->reached.at[i]].box);
	}
	for (uint32_t a = 0; a < COUNT; a++)
		for (uint32_t b = 0; b < COUNT; b++)
			cr_assert(!touch->models[a].here || !touch->models[b].unloaded ||
					  !(touches(a, b) || ties(crowd, a, b)),
				"model %u is unloaded, and model %u touches it", b, a);
	return changed;
}

static void check_touching(bool at_once, bool joined)
{
	static struct scene_model boxed[COUNT];
	static struct scene_body bodies[COUNT];
	static struct scene_joint joints[JOINTS];
	struct vec3 speed[COUNT];
	uint32_t all[COUNT];
	for (uint32_t m = 0; m < COUNT; m++)
		boxed[m].geom_first = m, boxed[m].geom_count = 1, bodies[m].model = m, geoms[m].off = false;
	struct scene crowd = {
		.models = boxed, .model_count = COUNT, .bodies = bodies, .joints = joints, .geoms = geoms};
	for (uint32_t j = 0; j < JOINTS && joined; j++) { /* some joints twice, some to the world, in either order */
		joints[j].parent = j == 6 ? SCENE_NONE : j % 2 ? 3 * j : 50 - j;
		joints[j].child = j == 7 ? SCENE_NONE : j % 2 ? 40 - j : 2 * j;
		if (j == 5)
			joints[j] = joints[3];
		vec_push(&crowd.world_joints, j);
	}
	struct touch touch;
	touch_init(&touch, &crowd);
	uint64_t seed = 5;
	uint32_t moves = 0, changes = 0, switches = 0, unloads = 0;
	for (uint32_t m = 0; m < COUNT; m++) {
		boxes[m].box = aabb_around(
			(struct vec3){random_unit(&seed) * 6, random_unit(&seed) * 6, random_unit(&seed) * 3},
			(struct vec3){0.6, 0.6, 0.6});
		speed[m] = (struct vec3){random_unit(&seed) - 0.5, random_unit(&seed) - 0.5, random_unit(&seed) - 0.5};
		all[m] = m;
		if (!at_once)
			touch_add(&touch, m, &boxes[m].box);
	}
	if (at_once)
		touch_add_all(&touch, all, COUNT, boxes);
	for (int step = 0; step < 4000; step++) {
		if (joined && step % 40 == 39)
			attach_anew(&touch, &crowd, COUNT, &seed);
		for (uint32_t m = 0; m < COUNT; m++) {
			if (random_unit(&seed) <
				(step % 3 ? 0.5 : 0.98)) /* in most steps most models stay, in some nearly all */
				continue;
			if (touch.models[m].unloaded) { /* it stays where it is */
				if (step % 11 == 0)
					touch_add(&touch, m, &boxes[m].box);
				continue;
			}
			struct vec3 by = vec3_scale(speed[m], 0.05 * random_unit(&seed));
			turn_back(&speed[m], &boxes[m].box);
			boxes[m].box = (struct aabb){vec3_add(boxes[m].box.lo, by), vec3_add(boxes[m].box.hi, by)};
			if (!touch.models[m].here) {
				if (step % 7 == 0)
					touch_add(&touch, m, &boxes[m].box);
			} else if (step % 500 == (int)m) {
				touch_remove(&touch, m);
			} else if (step % 300 == (int)m + 100) {
				touch_unload(&touch, m, &boxes[m].box);
				unloads++;
			} else if (step % 700 == (int)m || step % 900 == (int)m) {
				geoms[m].off = !geoms[m].off;
				touch_move(&touch, m, &boxes[m].box);
				switches++;
			} else if (touch_leaves(&touch, m, &boxes[m].box)) {
				touch_move(&touch, m, &boxes[m].box);
				moves++;
			} else {
				touch_moved(&touch, m);
			}
		}
		changes += find_all(&touch, &crowd);
		if (step % 20 == 0)
			check_partners(&touch, &crowd);
		if (step % 1000 == 500) { /* more models may come, again and again */
			crowd.room.models = COUNT + (uint32_t)step;
			touch_fit(&touch);
		}
		uint32_t at = 0;
		for (uint32_t a = 0; a < COUNT; a++)
			for (uint32_t b = a + 1; b < COUNT; b++) {
				if (!touch.models[a].here || !touch.models[b].here ||
					!(touches(a, b) || ties(&crowd, a, b))) {
					cr_assert(step % 20 || !touch_is_pair(&touch, (struct touch_pair){a, b}));
					continue;
				}
				cr_assert(step % 20 || touch_is_pair(&touch, (struct touch_pair){a, b}));
				cr_assert(at < touch.pairs.count && touch.pairs.at[at].a == a &&
						  touch.pairs.at[at].b == b,
					"step %d: pair (%u, %u) is missing or out of order", step, a, b);
				at++;
			}
		cr_assert_eq(at, touch.pairs.count);
	}
	cr_assert(changes > 100 && moves < 4000 * COUNT / 5 && switches > 100 && unloads > 50,
		"%u changes, %u moves, %u switches, %u unloads", changes, moves, switches, unloads);
	touch_fini(&touch);
	vec_free(&crowd.world_joints);
	vec_free(&crowd.attachments);
}

Test(level, touch_agrees_with_exhaustive_search)
{
	check_touching(false, false);
}

Test(level, what_comes_at_once_touches_as_what_comes_one_by_one)
{
	check_touching(true, false);
}

Test(level, what_joints_and_attachments_tie_counts_as_touching)
{
	check_touching(false, true);
	check_touching(true, true);
}
