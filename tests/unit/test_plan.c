/* Calls the plan with random changes of a world, step after step. The plan looks only at changes; after each step its
 * answers are compared with answers derived from the definitions and the whole world.
 */
#include "run/plan.h"

#include "base/hash.h"
#include "scene/state.h"
#include "sdf_help.h"

#include <criterion/criterion.h>
#include <stdio.h>

TestSuite(plan, .timeout = 240);

/* Models in the order of the file. */
enum {
	LEVELS = 4,
	PERFORMERS = 5, /* the last of them is static */
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
	struct plan plan;
	uint32_t most;
	const struct assign_policy *policy;
	bool chaos;

	/* what must be, by the definitions */
	bool active[MODELS], loaded[LEVELS];
	bool in[MODELS][LEVELS], near[MODELS][LEVELS];
	bool touching[MODELS][MODELS];  /* a < b, as the next two */
	uint64_t until[MODELS][MODELS]; /* 0: no contact counts */
	uint64_t still[MODELS];
	uint32_t owner[MODELS], level_owner[LEVELS], first[MODELS];
	bool ghost[MODELS][SECONDARIES_MAX + 1];
	bool gone[MODELS], unknown_cost[MODELS];
	uint32_t placed[MODELS]; /* plan.statics before */
	bool must_place[MODELS]; /* another number is expected */
	bool woken, reset, begun;
	uint64_t moves, loads, meetings, hash;
	uint64_t key; /* names the loaded levels and the models that outlived their level */

	/* that something came about at all */
	uint32_t contacts_ended, strays, wakes, components, pinned;
};

/* --- chance ------------------------------------------------------------------------------------------------------- */

static uint32_t below(struct world *world, uint32_t limit)
{
	world->seed = hash_mix(world->seed, 1);
	return (uint32_t)((world->seed >> 11) % limit);
}

static double between(struct world *world, double low, double high)
{
	return low + (high - low) * below(world, 100000) / 100000;
}

static struct vec3 anywhere(struct world *world)
{
	return (struct vec3){between(world, -6, 32), between(world, -4, 4), between(world, 0, 2)};
}

/* --- set-up ------------------------------------------------------------------------------------------------------- */

static void add_model(struct text *out, struct world *world, const char *kind, uint32_t i, bool is_static)
{
	struct vec3 at = anywhere(world);
	text_add(out,
		"<model name='%s%u'><static>%d</static><pose>%g %g %g 0 0 0</pose><link name='l'><collision name='c'>"
		"<geometry><box><size>1 1 1</size></box></geometry></collision></link></model>",
		kind, i, is_static, at.x, at.y, at.z);
}

static void write_world(struct text *out, struct world *world)
{
	text_add(out, "<sdf version='1.9'><world name='w'><plugin name='gz::sim' filename='x'>");
	for (uint32_t i = 0; i < PERFORMERS; i++)
		text_add(out,
			"<performer name='p%u'><ref>p%u</ref><geometry><box><size>1 2 1</size></box></geometry>"
			"</performer>",
			i, i);
	for (uint32_t l = 0; l < LEVELS; l++) {
		text_add(out,
			"<level name='l%u'><pose>%d 0 0 0 0 0</pose><geometry><box><size>6 6 6</size></box></geometry>"
			"<buffer>1</buffer><ref>f0</ref>",
			l, l == 3 ? 19 : 8 * (int)l); /* the last two overlap; all name f0, so it belongs to none */
		for (uint32_t c = l; c < CARGO; c += LEVELS)
			text_add(out, "<ref>c%u</ref>", c);
		text_add(out, l < STATICS ? "<ref>s%u</ref></level>" : "</level>", l);
	}
	text_add(out, "</plugin>");
	for (uint32_t i = 0; i < PERFORMERS; i++)
		add_model(out, world, "p", i, i + 1 == PERFORMERS);
	for (uint32_t i = 0; i < FREE; i++)
		add_model(out, world, "f", i, false);
	for (uint32_t i = 0; i < CARGO; i++)
		add_model(out, world, "c", i, false);
	for (uint32_t i = 0; i < STATICS; i++)
		add_model(out, world, "s", i, true);
	static const char *const joined[][2] = {{"f1", "f2"}, {"c0", "f3"}, {"c4", "c8"}, {"world", "f4"}};
	for (uint32_t i = 0; i < ARRAY_LEN(joined); i++)
		text_add(out, "<joint name='j%u' type='ball'><parent>%s%s</parent><child>%s::l</child></joint>", i,
			joined[i][0], i < 3 ? "::l" : "", joined[i][1]);
	text_add(out, "</world></sdf>");
}

static void set_up_shared(struct shared *shared, struct scene *scene, struct state *state)
{
	*shared = (struct shared){.scene = scene, .state = state};
	shared->boxes = mem_alloc_lines(scene->room.models * sizeof *shared->boxes);
	touch_init(&shared->touch, scene);
	tracker_init(&shared->tracker, scene);
	cost_fit(&shared->costs, scene->room.models);
}

static void tear_down_shared(struct shared *shared)
{
	free(shared->boxes);
	cost_fini(&shared->costs);
	touch_fini(&shared->touch);
	tracker_fini(&shared->tracker);
}

static void set_up_plan(struct world *world, struct plan *plan, struct shared *shared)
{
	plan_init(plan, shared, world->most, world->policy);
	plan->dispatch.chaos = world->chaos;
	plan->dispatch.chaos_seed = 5;
}

static void make(struct world *world, uint64_t seed)
{
	*world = (struct world){.seed = seed + 1};
	world->most = 1 + below(world, SECONDARIES_MAX);
	world->policy = &assign_policies[below(world, 2)];
	world->chaos = !below(world, 4);
	struct text text = {0};
	write_world(&text, world);
	world->sdf = sdf_help_good(text.at, NULL);
	text_fini(&text);
	struct scene *scene;
	struct troupe_error error = {0};
	const struct scene_options options = {0};
	cr_assert_eq(scene_create(&world->sdf->worlds.at[0], &options, &scene, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(scene->model_count, MODELS);
	cr_assert_eq(scene->world_joints.count, 4);
	cr_assert_eq(scene->models[FREE_FIRST].level, SCENE_NONE, "what several levels name is no level's");
	cr_assert_eq(scene->models[STATIC_FIRST].level, SCENE_NONE, "nor is a static model");
	uint32_t *none = mem_alloc(scene->room.models * sizeof *none);
	struct state *state = state_create(scene, none);
	free(none);
	state_set_initial(state);
	set_up_shared(&world->shared, scene, state);
	set_up_plan(world, &world->plan, &world->shared);
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		world->active[m] = m < CARGO_FIRST;
	for (uint32_t m = 0; m < MODELS; m++)
		world->placed[m] = world->plan.loading.statics[m];
}

static void destroy(struct world *world)
{
	struct scene *scene = world->shared.scene;
	plan_fini(&world->plan);
	state_destroy(world->shared.state);
	tear_down_shared(&world->shared);
	scene_destroy(scene);
	sdf_free(world->sdf);
}

/* --- effects of a change, by definition --------------------------------------------------------------------------- */

static struct scene_model *model_of(const struct world *world, uint32_t m)
{
	return &world->shared.scene->models[m];
}

/* A static model has no such word. */
static uint64_t still_of(const struct world *world, uint32_t m)
{
	return model_of(world, m)->body_count ? *state_still(world->shared.state, m, false) : 0;
}

static bool moves_freely(const struct world *world, uint32_t m)
{
	const struct scene_model *model = model_of(world, m);
	return !model->absent && (model->performer || (!model->is_static && model->level == SCENE_NONE));
}

static struct aabb box_of(const struct world *world, uint32_t m)
{
	return state_model_box(world->shared.state, m, false);
}

static bool reaches(struct aabb a, struct aabb b)
{
	struct aabb padded = aabb_grow(a, TOUCH_PAD);
	return aabb_overlap(&padded, &b);
}

static bool joined(const struct world *world, uint32_t a, uint32_t b)
{
	const struct scene *scene = world->shared.scene;
	for (uint32_t i = 0; i < scene->world_joints.count; i++) {
		const struct scene_joint *joint = &scene->joints[scene->world_joints.at[i]];
		if (joint->parent == SCENE_NONE || joint->child == SCENE_NONE)
			continue;
		uint32_t p = scene->bodies[joint->parent].model, c = scene->bodies[joint->child].model;
		if ((p == a && c == b) || (p == b && c == a))
			return true;
	}
	return false;
}

static void must_wake(struct world *world, uint32_t m)
{
	world->woken |= world->active[m] && world->still[m];
	world->wakes += world->active[m] && world->still[m];
	world->still[m] = 0;
}

static void must_wake_in(struct world *world, struct aabb box)
{
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->active[m] && reaches(box, box_of(world, m)))
			must_wake(world, m);
}

static void must_leave(struct world *world, uint32_t m)
{
	if (!world->active[m])
		return;
	world->active[m] = false;
	if (model_of(world, m)->is_static)
		return;
	must_wake_in(world, box_of(world, m));
	for (uint32_t other = 0; other < MODELS; other++)
		if (joined(world, m, other))
			must_wake(world, other);
}

static void forget_contacts(struct world *world, uint32_t m)
{
	for (uint32_t other = 0; other < MODELS; other++)
		world->until[MIN(m, other)][MAX(m, other)] = 0;
	world->first[m] = ASSIGN_NONE;
}

/* --- random changes ----------------------------------------------------------------------------------------------- */

static void put(struct world *world, uint32_t m, struct vec3 p)
{
	if (model_of(world, m)->is_static)
		scene_place_static(world->shared.scene, m, (struct pose){p, {1, 0, 0, 0}});
	else
		state_bodies(world->shared.state, m, false)->p = p;
	state_touched(world->shared.state, m);
}

static void removed(struct world *world, uint32_t m)
{
	scene_set_absent(world->shared.scene, m, true);
	plan_remove(&world->plan, m);
	must_leave(world, m);
	must_wake_in(world, box_of(world, m));
	forget_contacts(world, m);
	world->gone[m] = true;
}

static void returns(struct world *world, uint32_t m)
{
	struct scene_model *model = model_of(world, m);
	if (below(world, 2))
		put(world, m, anywhere(world));
	scene_set_absent(world->shared.scene, m, false);
	plan_add(&world->plan, m);
	world->active[m] = moves_freely(world, m) || (model->level != SCENE_NONE && world->loaded[model->level]);
	if (model->is_static)
		must_wake_in(world, box_of(world, m));
	world->must_place[m] = model->is_static;
	world->unknown_cost[m] = true;
}

static void placed(struct world *world, uint32_t m)
{
	struct vec3 to = anywhere(world), by = {between(world, -0.2, 0.2), between(world, -0.2, 0.2), 0};
	uint32_t how = below(world, 4);
	if (how < 2) /* so little that its neighbours stay known */
		to = vec3_add(state_model_pose(world->shared.state, m, false).p, by);
	else if (how == 2) /* beside another model */
		to = vec3_add(state_model_pose(world->shared.state, below(world, MODELS), false).p, vec3_scale(by, 5));
	must_wake_in(world, box_of(world, m));
	put(world, m, to);
	plan_placed(&world->plan, m);
	must_wake_in(world, box_of(world, m));
	must_wake(world, m);
	world->woken = world->gone[m] = true;
	world->must_place[m] |= model_of(world, m)->is_static;
}

static void performs(struct world *world, uint32_t m, bool performer)
{
	struct scene_model *model = model_of(world, m);
	model->performer = performer;
	model->level = performer ? SCENE_NONE : model->home_level;
	model->volume = (struct vec3){between(world, 0, 3), between(world, 0, 1), between(world, 0, 2)};
	if (!below(world, 6))
		model->pin = below(world, world->most + 2); /* 0 and one too many: no pin */
	plan_performer(&world->plan, m);
	if (model->is_static && !performer)
		must_leave(world, m);
	else if (performer || model->level == SCENE_NONE)
		world->active[m] = true;
}

static void pushed(struct world *world, uint32_t m)
{
	plan_pushed(&world->plan, m);
	must_wake(world, m);
	world->woken = true;
}

static void wake_all(struct world *world)
{
	plan_wake_all(&world->plan);
	for (uint32_t m = 0; m < MODELS; m++)
		if (!model_of(world, m)->absent)
			must_wake(world, m);
}

static void resets(struct world *world)
{
	state_reset(world->shared.state);
	plan_reset(&world->plan);
	world->reset = true;
	for (uint32_t m = 0; m < MODELS; m++) {
		world->active[m] = moves_freely(world, m);
		world->still[m] = still_of(world, m);
	}
	memset(world->loaded, 0, sizeof world->loaded);
	memset(world->until, 0, sizeof world->until);
}

/* The plan of a resumed run: it unpacks the saved part and derives the rest, and wakes no model. */
static void resumes(struct world *world)
{
	static struct shared shared;
	struct plan plan;
	struct text text = {0};
	uint32_t pins[MODELS];
	plan_pack(&world->plan, &text);
	plan_pack_pins(&world->plan, &text);
	for (uint32_t m = 0; m < MODELS; m++) {
		pins[m] = model_of(world, m)->pin;
		model_of(world, m)->pin = model_of(world, m)->home_pin;
	}
	set_up_shared(&shared, world->shared.scene, world->shared.state);
	set_up_plan(world, &plan, &shared);
	struct unpack in = {text.at, text.at + text.count, false};
	cr_assert(plan_unpack(&plan, &in) && plan_unpack_pins(&plan, &in) && in.at == in.end);
	cr_assert_eq(plan_hash(&plan), plan_hash(&world->plan));
	cr_assert_eq(plan.loading.loads, world->plan.loading.loads);
	for (uint32_t m = 0; m < MODELS; m++) {
		cr_assert_eq(model_of(world, m)->pin, pins[m], "the pin of %s", model_of(world, m)->name);
		world->placed[m] = plan.loading.statics[m];
		world->still[m] = world->active[m] ? world->still[m] : still_of(world, m);
		world->first[m] = world->owner[m] = ASSIGN_NONE;
	}
	plan_fini(&world->plan);
	tear_down_shared(&world->shared);
	world->shared = shared;
	world->plan = plan;
	world->plan.shared = world->plan.loading.shared = world->plan.pairs.shared = &world->shared;
	world->plan.dispatch.shared = &world->shared;
	memset(world->until, 0, sizeof world->until);
	memset(world->level_owner, 0, sizeof world->level_owner);
	memset(world->ghost, 0, sizeof world->ghost);
	world->moves = world->meetings = 0;
	world->begun = false;
	text_fini(&text);
}

static void happens(struct world *world)
{
	uint32_t m = below(world, MODELS), what = below(world, 40);
	struct scene_model *model = model_of(world, m);
	if (what == 0 && !below(world, 6))
		resets(world);
	else if (what == 1)
		wake_all(world);
	else if (what == 2)
		dispatch_use(&world->plan.dispatch, 1 + below(world, world->most));
	else if (model->absent && !world->gone[m]) /* its place is kept until the step is over */
		returns(world, m);
	else if (model->absent)
		return;
	else if (what < 9)
		removed(world, m);
	else if (what < 20)
		performs(world, m, what < 12 || !model->performer);
	else if (what < 24 && !model->is_static)
		pushed(world, m);
	else if (!model->is_static || !model->performer)
		placed(world, m);
}

/* Moves active models a little, as a step would, and lets some count as still. */
static void move(struct world *world)
{
	struct shared *shared = &world->shared;
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		if (!world->active[m] || model_of(world, m)->is_static || below(world, 3))
			continue;
		struct vec3 by = {between(world, -0.15, 0.15), between(world, -0.15, 0.15), 0};
		put(world, m, vec3_add(state_bodies(shared->state, m, false)->p, by));
		shared->boxes[m].box = box_of(world, m);
		touch_moved(&shared->touch, m);
		uint32_t performer = shared->tracker.performer_of[m];
		if (touch_strayed(&shared->touch, m, &shared->boxes[m].box) ||
			(performer != SCENE_NONE && tracker_must_look(&shared->tracker.performers.at[performer],
							    state_model_pose(shared->state, m, false).p)))
			plan_strayed(&world->plan, m);
	}
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		if (world->active[m] && !model_of(world, m)->is_static && !below(world, 4))
			world->still[m] = *state_still(shared->state, m, false) = STILL;
}

/* --- expected answers --------------------------------------------------------------------------------------------- */

static void must_be_near(struct world *world)
{
	const struct scene *scene = world->shared.scene;
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t l = 0; l < LEVELS; l++) {
			const struct scene_model *model = model_of(world, m);
			struct aabb volume =
				aabb_around(state_model_pose(world->shared.state, m, false).p, model->volume);
			bool counts = model->performer && !model->absent;
			world->in[m][l] = counts && aabb_overlap(&volume, &scene->levels[l].box);
			world->near[m][l] = counts && aabb_overlap(&volume, &scene->levels[l].outer);
		}
}

static void must_be_loaded(struct world *world)
{
	for (uint32_t l = 0; l < LEVELS; l++) {
		bool loaded = false;
		for (uint32_t m = 0; m < MODELS; m++)
			loaded |= world->near[m][l];
		bool begins = loaded && !world->loaded[l];
		world->loads += begins;
		world->loaded[l] = loaded;
		for (uint32_t m = 0; begins && m < STATIC_FIRST; m++) {
			const struct scene_model *model = model_of(world, m);
			if (model->is_static || model->level != l)
				continue;
			world->active[m] = !model->absent;
			must_wake(world, m);
		}
	}
}

/* Of a level that is not loaded. */
static bool must_stay(const struct world *world, uint32_t m)
{
	struct aabb box = box_of(world, m);
	for (uint32_t other = 0; other < MODELS; other++) {
		const struct scene_model *model = model_of(world, other);
		struct aabb reach = box_of(world, other);
		if (moves_freely(world, other) && aabb_overlap(&box, &reach) && (model->performer || !model->is_static))
			return true;
		reach = aabb_around(state_model_pose(world->shared.state, other, false).p, model->volume);
		if (model->performer && !model->absent && aabb_overlap(&box, &reach))
			return true;
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		if (world->loaded[l] && aabb_overlap(&box, &world->shared.scene->levels[l].box))
			return true;
	return false;
}

static bool outlives_its_level(const struct world *world, uint32_t m)
{
	const struct scene_model *model = model_of(world, m);
	return !model->performer && model->level != SCENE_NONE && !world->loaded[model->level];
}

static void must_outlive(struct world *world)
{
	world->key = 0;
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		if (!world->active[m] || !outlives_its_level(world, m))
			continue;
		if (must_stay(world, m)) {
			world->strays++;
			world->key |= UINT64_C(1) << m;
			continue;
		}
		must_leave(world, m);
		world->gone[m] = true;
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		world->key |= (uint64_t)world->loaded[l] << (MODELS + l);
}

static void must_touch(struct world *world)
{
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++) {
			bool bodies = !model_of(world, a)->is_static && !model_of(world, b)->is_static;
			bool here = world->active[a] && world->active[b] && bodies;
			uint64_t *until = &world->until[a][b];
			world->touching[a][b] =
				here && (reaches(box_of(world, a), box_of(world, b)) || joined(world, a, b));
			if (world->touching[a][b]) {
				world->meetings += !*until && world->first[a] && world->first[b] &&
						   world->first[a] != world->first[b];
				*until = UINT64_MAX;
				continue;
			}
			if (*until == UINT64_MAX)
				*until = world->k + PAIRS_KEEP_STEPS;
			if (*until && (*until <= world->k || !here)) {
				world->contacts_ended += here;
				*until = 0;
			}
		}
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

static void check_existence(struct world *world)
{
	const struct plan *plan = &world->plan;
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert_eq(plan->loading.loaded[l], world->loaded[l], "step %d: level %u", (int)world->k, l);
	cr_assert_eq(plan->loading.loads, world->loads);
	for (uint32_t m = 0; m < MODELS; m++) {
		const char *name = model_of(world, m)->name;
		cr_assert_eq(plan->loading.active[m], world->active[m], "step %d: %s is %d", (int)world->k, name,
			plan->loading.active[m]);
		uint64_t still = still_of(world, m);
		cr_assert(!world->active[m] || still == world->still[m], "step %d: %s has been still for %d",
			(int)world->k, name, (int)still);
		world->still[m] = still;
	}
	cr_assert(plan->pairs.woken || !world->woken, "step %d", (int)world->k);
	uint64_t hash = plan_hash(plan), key = world->key;
	static uint64_t keys[4096], hashes[4096];
	static uint32_t count;
	for (uint32_t i = 0; i < count; i++)
		cr_assert_eq(keys[i] == key, hashes[i] == hash, "step %d", (int)world->k);
	bool known = false;
	for (uint32_t i = 0; i < count; i++)
		known |= keys[i] == key;
	if (!known && count < ARRAY_LEN(keys)) {
		keys[count] = key;
		hashes[count++] = hash;
	}
}

static void check_statics(struct world *world)
{
	const struct plan *plan = &world->plan;
	bool changed = !world->begun;
	for (uint32_t m = 0; m < MODELS; m++) {
		bool exists = model_of(world, m)->is_static && !model_of(world, m)->absent;
		cr_assert_eq(
			plan->loading.statics[m] != 0, exists, "step %d: %s", (int)world->k, model_of(world, m)->name);
		bool same = plan->loading.statics[m] == world->placed[m];
		cr_assert(!exists || !same || !world->must_place[m], "step %d: %s was placed", (int)world->k,
			model_of(world, m)->name);
		cr_assert(same || world->must_place[m] || !exists);
		changed |= !same || (model_of(world, m)->is_static && world->gone[m]); /* also if it came just before */
		world->placed[m] = plan->loading.statics[m];
	}
	cr_assert_eq(plan->statics_changed, changed, "step %d", (int)world->k);
	world->begun = true;
}

static void check_gone(const struct world *world)
{
	bool gone[MODELS] = {false};
	for (uint32_t i = 0; i < world->plan.gone.count; i++)
		gone[world->plan.gone.at[i]] = true;
	for (uint32_t m = 0; m < MODELS && !world->reset; m++)
		cr_assert_eq(gone[m], world->gone[m], "step %d: %s", (int)world->k, model_of(world, m)->name);
}

static void check_contacts(const struct world *world)
{
	const struct plan *plan = &world->plan;
	uint32_t touching = 0, counting = 0;
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++) {
			if (world->touching[a][b]) {
				struct touch_pair pair = world->shared.touch.pairs.at[touching++];
				cr_assert(pair.a == a && pair.b == b, "step %d: %u and %u", (int)world->k, a, b);
			}
			if (!world->until[a][b])
				continue;
			cr_assert_lt(counting, plan->pairs.recent.count, "step %d: %u and %u", (int)world->k, a, b);
			struct recent_pair contact = plan->pairs.recent.at[counting++];
			cr_assert(contact.a == a && contact.b == b && contact.until == world->until[a][b],
				"step %d: %u and %u until %lld, expected %u and %u until %lld", (int)world->k,
				contact.a, contact.b, (long long)contact.until, a, b, (long long)world->until[a][b]);
		}
	cr_assert_eq(plan->pairs.recent.count, counting, "step %d", (int)world->k);
	cr_assert_eq(world->shared.touch.pairs.count, touching, "step %d", (int)world->k);
	cr_assert_eq(plan->dispatch.meetings, world->meetings, "step %d", (int)world->k);
}

/* The changes, applied one by one as secondaries apply them, lead from the previous assignment to the present one. */
static void check_changes(struct world *world)
{
	uint32_t before[MODELS], moves = 0;
	memcpy(before, world->owner, sizeof before);
	for (uint32_t i = 0; i < world->plan.dispatch.changes.count; i++) {
		struct change change = world->plan.dispatch.changes.at[i];
		cr_assert(change.runner >= 1 && change.runner <= world->most);
		uint32_t *models = &world->owner[change.id % MODELS], *levels = &world->level_owner[change.id % LEVELS];
		switch (change.kind) {
		case CHANGE_RELEASE:
			cr_assert_eq(*models, change.runner, "step %d: model %u", (int)world->k, change.id);
			*models = ASSIGN_NONE;
			break;
		case CHANGE_TAKE:
			cr_assert_eq(*models, ASSIGN_NONE, "step %d: model %u", (int)world->k, change.id);
			*models = change.runner;
			break;
		case CHANGE_UNLOAD:
			cr_assert_eq(*levels, change.runner, "step %d: level %u", (int)world->k, change.id);
			*levels = ASSIGN_NONE;
			break;
		case CHANGE_LOAD:
			cr_assert_eq(*levels, ASSIGN_NONE, "step %d: level %u", (int)world->k, change.id);
			*levels = change.runner;
			break;
		case CHANGE_GHOST_ON:
		case CHANGE_GHOST_OFF:
			cr_assert_neq(world->ghost[change.id][change.runner], change.kind == CHANGE_GHOST_ON);
			world->ghost[change.id][change.runner] = change.kind == CHANGE_GHOST_ON;
		}
	}
	for (uint32_t m = 0; m < MODELS; m++) {
		uint32_t owner = world->owner[m];
		cr_assert_eq(world->plan.dispatch.roster.now.model[m], owner, "step %d: model %u", (int)world->k, m);
		cr_assert(world->active[m] ? owner >= 1 && owner <= world->plan.dispatch.secondaries
					   : owner == ASSIGN_NONE,
			"step %d: %s is on %u", (int)world->k, model_of(world, m)->name, owner);
		bool counts = moves_freely(world, m) || outlives_its_level(world, m);
		moves += counts && before[m] && owner && before[m] != owner;
		world->first[m] = world->first[m] ? world->first[m] : owner;
		cr_assert_eq(world->plan.dispatch.first[m], world->first[m], "step %d: model %u", (int)world->k, m);
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert_eq(
			world->level_owner[l] != ASSIGN_NONE, world->loaded[l], "step %d: level %u", (int)world->k, l);
	world->moves += moves;
	cr_assert_eq(world->plan.dispatch.moves, world->moves, "step %d", (int)world->k);
	for (uint32_t i = 0; i < world->plan.dispatch.events.count; i++)
		moves -= world->plan.dispatch.events.at[i].kind == DISPATCH_MOVE;
	cr_assert_eq(moves, 0, "step %d: each is told of", (int)world->k);
}

/* Independent of assign/components, which the plan uses. */
static uint32_t root_of(uint32_t *parent, uint32_t node)
{
	while (parent[node] != node)
		node = parent[node];
	return node;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b)
{
	uint32_t low = root_of(parent, a), high = root_of(parent, b);
	parent[MAX(low, high)] = MIN(low, high);
}

/* Models first, then levels. */
static void find_components(const struct world *world, uint32_t parent[MODELS + LEVELS])
{
	for (uint32_t i = 0; i < MODELS + LEVELS; i++)
		parent[i] = i;
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t l = 0; l < LEVELS; l++)
			if (world->in[m][l] || (world->active[m] && world->loaded[l] && model_of(world, m)->level == l))
				join(parent, m, MODELS + l);
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++)
			if (world->until[a][b])
				join(parent, a, b);
}

static uint32_t pin_of(const struct world *world, uint32_t node)
{
	if (node >= MODELS || !world->active[node])
		return ASSIGN_NONE;
	uint32_t pin = model_of(world, node)->pin;
	return pin <= world->plan.dispatch.secondaries ? pin : ASSIGN_NONE;
}

static void check_components(struct world *world)
{
	uint32_t parent[MODELS + LEVELS], pin[MODELS + LEVELS] = {0};
	find_components(world, parent);
	for (uint32_t i = 0; i < MODELS + LEVELS; i++) {
		uint32_t root = root_of(parent, i);
		bool here = i < MODELS ? world->active[i] : world->loaded[i - MODELS];
		if (!here)
			continue;
		uint32_t owner = i < MODELS ? world->owner[i] : world->level_owner[i - MODELS];
		uint32_t whole = root < MODELS ? world->owner[root] : world->level_owner[root - MODELS];
		cr_assert_eq(owner, whole, "step %d: node %u is with %u", (int)world->k, i, root);
		world->components += root != i;
		if (!pin[root])
			pin[root] = pin_of(world, i); /* of the lowest node that has one */
	}
	for (uint32_t i = 0; i < MODELS && !world->chaos; i++)
		if (world->active[i] && pin[root_of(parent, i)]) {
			world->pinned++;
			cr_assert_eq(world->owner[i], pin[root_of(parent, i)], "step %d: %s is pinned", (int)world->k,
				model_of(world, i)->name);
		}
}

static void check_ghosts(const struct world *world)
{
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t s = 1; s <= world->most; s++) {
			bool ghost = false;
			for (uint32_t l = 0; l < LEVELS; l++)
				ghost |= world->near[m][l] && !world->in[m][l] && world->level_owner[l] == s;
			cr_assert_eq(world->ghost[m][s], ghost && world->owner[m] != s, "step %d: %s on %u",
				(int)world->k, model_of(world, m)->name, s);
		}
}

static void check_parts(const struct world *world)
{
	uint32_t dealt = 0;
	for (uint32_t s = 1; s <= world->most; s++) {
		const struct step_part *part = &world->plan.dispatch.parts[s - 1];
		for (uint32_t i = 0; i < part->pair_count; i++) {
			uint32_t a = part->pairs[i].a, b = part->pairs[i].b;
			cr_assert(world->touching[a][b] && world->owner[a] == s && world->owner[b] == s, "step %d",
				(int)world->k);
			cr_assert(!i || part->pairs[i - 1].a < a ||
				  (part->pairs[i - 1].a == a && part->pairs[i - 1].b < b));
		}
		dealt += part->pair_count;
	}
	cr_assert_eq(dealt, world->shared.touch.pairs.count, "step %d", (int)world->k);
}

static void one_step(struct world *world)
{
	struct plan *plan = &world->plan;
	world->woken = world->reset = false;
	memset(world->gone, 0, sizeof world->gone);
	memset(world->must_place, 0, sizeof world->must_place);
	memset(world->unknown_cost, 0, sizeof world->unknown_cost);
	for (uint32_t m = 0; m < MODELS; m++)
		world->shared.costs.ns[m] = 1000 + m;
	plan_begin(plan);
	for (uint32_t i = below(world, 6) ? 0 : 1 + below(world, 3); i > 0; i--)
		happens(world);
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert_eq(world->shared.costs.ns[m], world->unknown_cost[m] ? COST_UNKNOWN : 1000 + m);
	bool simulated[MODELS];
	for (uint32_t m = 0; m < MODELS; m++)
		simulated[m] = !model_of(world, m)->absent && plan_simulates(plan, m);
	must_be_near(world);
	must_be_loaded(world);
	must_outlive(world);
	must_touch(world);
	plan_step(plan, world->k);
	check_existence(world);
	check_statics(world);
	check_gone(world);
	check_contacts(world);
	check_changes(world);
	check_components(world);
	check_ghosts(world);
	check_parts(world);
	for (uint32_t m = 0; m < MODELS; m++)
		cr_assert_eq(simulated[m], world->active[m], "step %d: %s", (int)world->k, model_of(world, m)->name);
	move(world);
	if (!below(world, 1500))
		resumes(world);
	world->k++;
}

Test(plan, is_what_follows_from_the_definitions)
{
	enum { SEEDS = 20, STEPS = 4000 };
	uint32_t ended = 0, strays = 0, wakes = 0, components = 0, pinned = 0;
	uint64_t moves = 0, meetings = 0;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		static struct world world;
		make(&world, seed);
		while (world.k < STEPS)
			one_step(&world);
		ended += world.contacts_ended;
		strays += world.strays;
		wakes += world.wakes;
		components += world.components;
		pinned += world.pinned;
		moves += world.plan.dispatch.moves;
		meetings += world.plan.dispatch.meetings;
		destroy(&world);
	}
	cr_assert(ended > 10 && strays > 500 && wakes > 500 && components > 1000 && pinned > 1000 && moves > 500 &&
			  meetings > 50,
		"%u contacts ended, %u strays, %u wakes, %u in components, %u pinned, %d moves, %d meetings", ended,
		strays, wakes, components, pinned, (int)moves, (int)meetings);
}
