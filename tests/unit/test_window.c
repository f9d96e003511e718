/* Windows: what is guessed before one and proven after it (level/touch.h), compared with exhaustive search, and how
 * long one is (run/window.h). */
#include "../random.h"
#include "level/touch.h"
#include "run/window.h"
#include "run/wire_window.h"

#include "base/hash.h"

#include <criterion/criterion.h>

#include <math.h>

TestSuite(window, .timeout = 60);

/* --- guess and proof ---------------------------------------------------------------------------------------------- */

enum { COUNT = 60, STEPS = 12, WINDOWS = 3000 };

static struct aabb_line boxes[COUNT];
static struct touch_sweep sweeps[COUNT];
static struct aabb path[STEPS][COUNT]; /* the boxes after each step of a window */
static struct vec3 speeds[COUNT];
static struct scene_model boxed[COUNT];
static struct scene_body bodies[COUNT];
static struct scene_geom geoms[COUNT];
static double reaches[COUNT];

/* Less to one side than to the other. */
static struct aabb reach_of(const void *ctx, uint32_t model, const struct aabb *box)
{
	const double by = ctx ? 0 : reaches[model];
	return (struct aabb){{box->lo.x - by, box->lo.y - by, box->lo.z - by},
		{box->hi.x + 0.9 * by, box->hi.y + by, box->hi.z + by}};
}

/* Whether two models come so near in a state after the first that a step from it would pair them. */
static bool meet_on_the_way(uint32_t a, uint32_t b)
{
	for (int s = 0; s < STEPS; s++) {
		struct aabb padded = aabb_grow(path[s][a], TOUCH_PAD);
		if (aabb_overlap(&padded, &path[s][b]))
			return true;
	}
	return false;
}

static bool is_listed(const struct touch *touch, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < touch->near.count; i++)
		if (touch->near.at[i].a == a && touch->near.at[i].b == b)
			return true;
	return false;
}

static bool is_unloaded(const struct touch *touch, uint32_t m)
{
	return touch->models[m].unloaded;
}

struct tally {
	uint32_t proven, refuted, in_vain,
		far; /* in_vain: though no two came too near; far: a box left what was known */
};

static void walk(struct touch *touch, uint64_t *seed, uint64_t mark, uint32_t *moved, uint32_t *ret_count)
{
	const double pace = mark % 5 ? 0.02 : 0.4; /* in some windows models go far beyond what is known around them */
	*ret_count = 0;
	for (uint32_t m = 0; m < COUNT; m++) {
		bool moves = !is_unloaded(touch, m) && random_unit(seed) < 0.6;
		struct aabb box = boxes[m].box;
		sweeps[m].box = AABB_NONE;
		for (int s = 0; s < STEPS; s++) {
			struct vec3 by = vec3_scale(speeds[m], moves ? pace * random_unit(seed) : 0);
			box = (struct aabb){vec3_add(box.lo, by), vec3_add(box.hi, by)};
			path[s][m] = box;
			sweeps[m].box = aabb_join(sweeps[m].box, box);
		}
		if (!moves)
			continue;
		sweeps[m].mark = mark;
		moved[(*ret_count)++] = m;
	}
}

/* The models go where they went, in the steps that count, and turn back at the walls of their room. */
static void arrive(struct touch *touch, const uint32_t *moved, uint32_t count, int steps)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t m = moved[i];
		boxes[m].box = path[steps - 1][m];
		const struct aabb *box = &boxes[m].box;
		speeds[m].x = box->lo.x < 0 ? fabs(speeds[m].x) : box->hi.x > 16 ? -fabs(speeds[m].x) : speeds[m].x;
		speeds[m].y = box->lo.y < 0 ? fabs(speeds[m].y) : box->hi.y > 16 ? -fabs(speeds[m].y) : speeds[m].y;
		speeds[m].z = box->lo.z < 0 ? fabs(speeds[m].z) : box->hi.z > 3 ? -fabs(speeds[m].z) : speeds[m].z;
		touch_moved(touch, m);
		if (touch_leaves(touch, m, box))
			touch_move(touch, m, box);
	}
}

/* Now and then a model is unloaded; one that is reached is here from then on. */
static void load(struct touch *touch, uint64_t *seed)
{
	if (random_unit(seed) < 0.1)
		touch_unload(touch, (uint32_t)(random_unit(seed) * COUNT), NULL);
	for ((void)touch_find(touch, boxes); touch->reached.count; (void)touch_find(touch, boxes))
		for (uint32_t i = 0; i < touch->reached.count; i++)
			touch_add(touch, touch->reached.at[i], &boxes[touch->reached.at[i]].box);
}

static void check_window(struct touch *touch, uint64_t *seed, uint64_t mark, struct tally *tally)
{
	uint32_t moved[COUNT], count, at = 0;
	bool blind = mark % 3 == 0, met = false, left = false;
	for (uint32_t m = 0; m < COUNT; m++)
		reaches[m] = random_unit(seed) < 0.02 ? 0 : 0.15 + 0.1 * random_unit(seed);
	load(touch, seed);
	(void)touch_find_near(touch, boxes, reach_of, blind ? touch : NULL);
	for (uint32_t i = 1; i < touch->near.count; i++)
		cr_assert(touch->near.at[i - 1].a < touch->near.at[i].a ||
				  (touch->near.at[i - 1].a == touch->near.at[i].a &&
					  touch->near.at[i - 1].b < touch->near.at[i].b),
			"window %d: out of order", (int)mark);
	for (uint32_t i = 0; i < touch->pairs.count; i++)
		cr_assert(is_listed(touch, touch->pairs.at[i].a, touch->pairs.at[i].b),
			"window %d: pair %u, %u is not listed", (int)mark, touch->pairs.at[i].a, touch->pairs.at[i].b);
	for (uint32_t a = 0; a < COUNT && !blind; a++)
		for (uint32_t b = a + 1; b < COUNT; b++) {
			struct aabb one = reach_of(NULL, a, &boxes[a].box), other = reach_of(NULL, b, &boxes[b].box);
			one = aabb_grow(one, TOUCH_PAD);
			bool near = !is_unloaded(touch, a) && !is_unloaded(touch, b) && aabb_overlap(&one, &other);
			near = near && indices_has(&touch->models[a].neighbours, b); /* others are left to the proof */
			cr_assert(!near || is_listed(touch, a, b), "window %d: %u and %u may meet", (int)mark, a, b);
		}
	for (; at < touch->near.count; at++)
		cr_assert(!is_unloaded(touch, touch->near.at[at].a) && !is_unloaded(touch, touch->near.at[at].b));
	walk(touch, seed, mark, moved, &count);
	for (uint32_t i = 0; i < count; i++)
		left |= touch_leaves(touch, moved[i], &sweeps[moved[i]].box);
	bool proven = touch_prove(touch, sweeps, boxes, mark, moved, count);
	for (uint32_t a = 0; a < COUNT; a++)
		for (uint32_t b = a + 1; b < COUNT; b++) {
			if ((is_unloaded(touch, a) && is_unloaded(touch, b)) || is_listed(touch, a, b) ||
				!meet_on_the_way(a, b) || (sweeps[a].mark != mark && sweeps[b].mark != mark))
				continue;
			met = true;
			cr_assert(!proven, "window %d: %u and %u met, and it is proven that none did", (int)mark, a, b);
		}
	tally->proven += proven;
	tally->refuted += met;
	tally->in_vain += !proven && !met;
	tally->far += left && proven;
	arrive(touch, moved, count, proven ? STEPS : 1);
}

/* A third of the guesses expects that nothing moves. */
Test(window, what_is_proven_holds)
{
	struct scene scene = {.models = boxed, .model_count = COUNT, .bodies = bodies, .geoms = geoms};
	struct touch touch;
	struct tally tally = {0};
	uint64_t seed = 11;
	for (uint32_t m = 0; m < COUNT; m++) {
		boxed[m] = (struct scene_model){.geom_first = m, .geom_count = 1};
		bodies[m].model = m;
		geoms[m].off = false;
		sweeps[m].mark = 0;
	}
	touch_init(&touch, &scene);
	for (uint32_t m = 0; m < COUNT; m++) {
		struct vec3 at = {random_unit(&seed) * 16, random_unit(&seed) * 16, random_unit(&seed) * 3};
		boxes[m].box = aabb_around(at, (struct vec3){0.5, 0.5, 0.5});
		speeds[m] = (struct vec3){random_unit(&seed) - 0.5, random_unit(&seed) - 0.5, random_unit(&seed) - 0.5};
		(m % 10 == 0 ? touch_unload : touch_add)(&touch, m, &boxes[m].box);
	}
	for (uint64_t mark = 1; mark <= WINDOWS; mark++)
		check_window(&touch, &seed, mark, &tally);
	cr_assert(tally.proven > WINDOWS / 4 && tally.refuted > WINDOWS / 20 && tally.far > 20,
		"%u proven, %u refuted, %u with models that went far", tally.proven, tally.refuted, tally.far);
	cr_assert_lt(tally.in_vain, WINDOWS / 5, "%u were refuted in vain", tally.in_vain);
	touch_fini(&touch);
}

/* Each of the two is far from where the other one began. */
Test(window, two_that_meet_halfway_are_found)
{
	struct scene scene = {.models = boxed, .model_count = 2, .bodies = bodies, .geoms = geoms};
	struct touch touch;
	const uint32_t moved[] = {0, 1};
	for (uint32_t m = 0; m < 2; m++)
		boxed[m] = (struct scene_model){.geom_first = m, .geom_count = 1};
	touch_init(&touch, &scene);
	for (uint32_t m = 0; m < 2; m++) {
		boxes[m].box = aabb_around((struct vec3){10 * m, 0, 0}, (struct vec3){0.5, 0.5, 0.5});
		touch_add(&touch, m, &boxes[m].box);
		sweeps[m].mark = 1;
		sweeps[m].box =
			aabb_join(boxes[m].box, aabb_around((struct vec3){5, 0, 0}, (struct vec3){0.5, 0.5, 0.5}));
	}
	(void)touch_find(&touch, boxes);
	cr_assert_not(touch_prove(&touch, sweeps, boxes, 1, moved, 2));
	touch_fini(&touch);
}

/* --- how long ------------------------------------------------------------------------------------------------------
 */

static uint32_t take(struct window *window, uint64_t k, uint64_t horizon, double step_s)
{
	uint32_t steps = (uint32_t)MIN((uint64_t)window_most(window, k, step_s), horizon);
	window_begin(window, steps);
	return steps;
}

Test(window, grows_to_what_a_live_command_may_wait)
{
	struct window window;
	uint32_t last = 0;
	window_init(&window, &(struct window_options){0});
	for (uint64_t k = 0; k < 200; k += last) {
		uint32_t steps = take(&window, k, UINT64_MAX, 0.001);
		cr_assert(steps >= last && steps <= 20, "%u after %u", steps, last);
		last = steps;
		window_proven(&window, 1, 1);
	}
	cr_assert_eq(last, 20);
	cr_assert_eq(take(&window, 200, UINT64_MAX, 0.01), 2);
	cr_assert_eq(take(&window, 200, UINT64_MAX, 0.05), 1, "a step that is longer than that is taken alone");
	for (int i = 0; i < 9; i++, window_proven(&window, 1, 1))
		last = take(&window, 200, UINT64_MAX, 1e-5);
	cr_assert_eq(last, WINDOW_FOUND_MAX);
	window.options.alone = true;
	for (int i = 0; i < 20; i++, window_proven(&window, 100, 94))
		last = take(&window, 200, UINT64_MAX, 0.002);
	cr_assert_eq(last, 125, "0.25 s where nobody waits");
}

/* As many windows as `count`, in which an exchange takes so long, and a step 1 if windows have at most `fair` steps. */
static uint32_t take_some(struct window *window, int count, double exchange, uint32_t fair)
{
	uint32_t last = 0, steps = 0;
	for (int i = 0; i < count; i++) {
		last = steps;
		steps = take(window, 0, UINT64_MAX, 1e-5);
		cr_assert(!last || steps == last || steps == 2 * last || 2 * steps == last, "%u after %u", steps, last);
		double busy = steps <= fair ? steps : 1.7 * steps;
		window_proven(window, busy + exchange, busy);
	}
	return steps;
}

Test(window, beyond_what_balances_it_grows_while_exchanges_cost_and_steps_gain)
{
	struct window window;
	window_init(&window, &(struct window_options){.alone = true});
	cr_assert_eq(take_some(&window, 100, 2, 64), 64, "an exchange costs little");
	cr_assert_eq(take_some(&window, 20, 30, 1000), 256, "it costs much");
	cr_assert_eq(take_some(&window, 100, 2, 1000), 256, "and little: nothing is worse than before");
	cr_assert_eq(take_some(&window, 30, 2, 64), 64, "longer windows are worse");
	for (int i = 0; i < 20; i++)
		cr_assert_eq(take_some(&window, 1, i % WINDOW_IN_TURN ? 30 : 0, 64), 64, "some late ones");
	uint32_t longer = 0;
	for (int i = 0; i < 400; i++)
		longer += take_some(&window, 1, 30, 64) > 64;
	cr_assert(longer > 0 && longer < 100, "%u of 400: tried now and then", longer);
	cr_assert_eq(take_some(&window, 200, 200, 1000), 256, "the world has become another");
}

Test(window, refuted_ones_come_again_with_fewer_steps_until_one_is_left)
{
	struct window window;
	uint32_t steps;
	window_init(&window, &(struct window_options){.steps = 40});
	cr_assert_eq(take(&window, 0, UINT64_MAX, 0.001), 40);
	window_refuted(&window, 17);
	cr_assert_eq(take(&window, 0, UINT64_MAX, 0.001), 17, "the steps that were well come again");
	for (steps = 17; steps > 1;) {
		window_refuted(&window, steps);
		uint32_t next = take(&window, 0, UINT64_MAX, 0.001);
		cr_assert_lt(next, steps);
		steps = next;
	}
	window_proven(&window, 1, 1);
	cr_assert_eq(take(&window, 1, UINT64_MAX, 0.001), 40);
	cr_assert_eq(take(&window, 1, 3, 0.001), 3, "never beyond the horizon");
	cr_assert_eq(window.counts.windows, 1);
	cr_assert_gt(window.counts.repeated_steps, 40);
}

Test(window, one_step_is_a_window_of_its_own_if_asked_for)
{
	struct window window;
	window_init(&window, &(struct window_options){.steps = 1});
	for (uint64_t k = 0; k < 50; k++) {
		cr_assert_eq(take(&window, k, UINT64_MAX, 0.001), 1);
		window_proven(&window, 1, 1);
	}
}

Test(window, random_ones_have_all_lengths_and_bad_guesses)
{
	struct window window;
	uint32_t seen = 0, blind = 0;
	window_init(&window, &(struct window_options){.random = true, .seed = 3});
	for (uint64_t k = 0; k < 1000; k++) {
		seen |= 1u << take(&window, k, UINT64_MAX, 0.001);
		blind += window_is_blind(&window, k);
		window_proven(&window, 1, 1);
	}
	cr_assert_eq(seen, (1u << 25) - 2, "lengths %x", seen);
	cr_assert(blind > 150 && blind < 350, "%u of 1000", blind);
	window_init(&window, &(struct window_options){.seed = 3});
	for (uint64_t k = 0; k < 1000; k++)
		cr_assert_not(window_is_blind(&window, k), "no guess is bad on purpose but in tests");
}

/* --- as bytes ----------------------------------------------------------------------------------------------------- */

enum { TOLD = 40 };

static void make_told(struct step *step, struct ack *ack, struct touch_sweep *sent, uint64_t *seed)
{
	*step = (struct step){.window = 9, .mark = 5, .origins = STEP_ORIGINS_ALL, .hashes = true};
	*ack = (struct ack){.good = 9};
	for (uint32_t m = 0; m < TOLD; m++) {
		struct vec3 at = {
			random_unit(seed) * 2e5 - 1e5, random_unit(seed) - 0.5, (random_unit(seed) - 0.5) * 1e-7};
		sent[m] = (struct touch_sweep){.box = aabb_around(at, (struct vec3){random_unit(seed), 1e-9, 3}),
			.mark = 5,
			.last = (uint16_t)(1 + m % 9),
			.origin = {at, at},
			.before = at};
		vec_push(&ack->changed, m);
	}
	for (uint32_t s = 0; s < step->window; s++)
		vec_push(&ack->hashes, hash_mix(s, 1));
}

static troupe_status hear(const struct text *bytes, size_t count, const struct step *step, struct ack *ack,
	struct touch_sweep *got, bool *ret_bad)
{
	struct unpack in = {bytes->at, bytes->at + count, false};
	struct troupe_error error;
	troupe_status status = wire_get_sweeps(&in, step, ack, got, &error);
	*ret_bad = in.bad || in.at != in.end;
	return status;
}

Test(window, sweeps_arrive_no_smaller_and_what_bits_depend_on_arrives_as_it_is)
{
	static struct touch_sweep sent[TOLD], got[TOLD];
	struct step step;
	struct ack ack, heard = {0};
	struct text bytes = {0};
	uint64_t seed = 4;
	bool bad;
	make_told(&step, &ack, sent, &seed);
	wire_put_sweeps(&bytes, &step, &ack, sent);
	heard.changed = ack.changed;
	cr_assert(!hear(&bytes, bytes.count, &step, &heard, got, &bad) && !bad);
	cr_assert_eq(heard.good, 9);
	for (uint32_t m = 0; m < TOLD; m++) {
		struct aabb wide = aabb_grow(sent[m].box, 0.02);
		cr_assert(aabb_within(&sent[m].box, &got[m].box), "model %u: a smaller box", m);
		cr_assert(aabb_within(&got[m].box, &wide), "model %u: a far larger box", m);
		cr_assert(aabb_within(&sent[m].origin, &got[m].origin) &&
			  !memcmp(&got[m].before, &sent[m].before, sizeof got[m].before) &&
			  got[m].last == sent[m].last && got[m].mark == 5);
	}
	cr_assert(!memcmp(heard.hashes.at, ack.hashes.at, 9 * sizeof *ack.hashes.at));
	for (size_t count = 0; count < bytes.count; count++)
		cr_assert(hear(&bytes, count, &step, &heard, got, &bad) || bad, "cut off at %d", (int)count);
	bytes.at[0] = 8;
	cr_assert_eq(
		hear(&bytes, bytes.count, &step, &heard, got, &bad), TROUPE_EPROTOCOL, "models moved, and it failed");
	bytes.at[0] = 10;
	cr_assert(hear(&bytes, bytes.count, &step, &heard, got, &bad) || bad, "more good steps than there are");
	vec_free(&ack.changed);
	vec_free(&ack.hashes);
	vec_free(&heard.hashes);
	text_fini(&bytes);
}

Test(window, what_a_window_is_about_arrives_and_nothing_else_is_taken)
{
	const struct physics_pair near[] = {{1, 4}, {1, 9}, {3, 4}, {70000, 70001}};
	const struct step_part part = {.near = near, .near_count = 4};
	struct step step = {
		.window = 33, .origins = STEP_ORIGINS_ALL, .hashes = true, .even_since_s = 0.1, .even_steps = 7};
	struct replica_step got;
	struct troupe_error error;
	struct text bytes = {0};
	memset(&got, 0, sizeof got);
	wire_put_window(&bytes, &step, &part);
	struct unpack in = {bytes.at, bytes.at + bytes.count, false};
	cr_assert(!wire_get_window(&in, &got, &error) && !in.bad && in.at == in.end);
	cr_assert(got.window == 33 && got.origins == STEP_ORIGINS_ALL && got.hashes && got.even_since_s == 0.1 &&
		  got.even_steps == 7 && got.near.count == 4 && !memcmp(got.near.at, near, sizeof near));
	got.observe = OBSERVE_CONTACTS; /* notes are taken in windows, too */
	for (int what = 0; what < 3; what++) {
		got.near.count = 0;
		got.paused = what == 1;
		if (what == 2)
			bytes.at[0] = 1; /* a window of one step */
		in = (struct unpack){bytes.at, bytes.at + bytes.count, false};
		cr_assert_eq(wire_get_window(&in, &got, &error), what ? TROUPE_EPROTOCOL : TROUPE_OK);
	}
	replica_step_fini(&got);
	text_fini(&bytes);
}
