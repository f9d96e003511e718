/* The definitions, without regard to cost: each function looks at the whole world in every step. */
#include "plan_world.h"

#include "../random.h"
#include "sdf_help.h"

/* --- chance ------------------------------------------------------------------------------------------------------- */

uint32_t world_below(struct world *world, uint32_t limit)
{
	return random_below(&world->seed, limit);
}

double world_between(struct world *world, double low, double high)
{
	return low + (high - low) * world_below(world, 100000) / 100000;
}

struct vec3 world_anywhere(struct world *world)
{
	return (struct vec3){world_between(world, -6, 32), world_between(world, -4, 4), world_between(world, 0, 2)};
}

/* --- set-up ------------------------------------------------------------------------------------------------------- */

static void add_model(struct text *out, struct world *world, const char *kind, uint32_t i, bool is_static)
{
	struct vec3 at = world_anywhere(world);
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
			l, l == 3 ? 19 : 8 * (int)l); /* the last two levels overlap; f0 belongs to none, as all levels
							 name it */
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

void world_share(struct shared *shared, struct scene *scene, struct state *state)
{
	*shared = (struct shared){.scene = scene, .state = state};
	shared->boxes = mem_alloc_lines(scene->room.models * sizeof *shared->boxes);
	touch_init(&shared->touch, scene);
	tracker_init(&shared->tracker, scene);
	cost_fit(&shared->costs, scene->room.models);
}

void world_unshare(struct shared *shared)
{
	free(shared->boxes);
	cost_fini(&shared->costs);
	touch_fini(&shared->touch);
	tracker_fini(&shared->tracker);
}

void world_make(struct world *world, uint64_t seed)
{
	*world = (struct world){.seed = seed + 1};
	world->most = 1 + world_below(world, SECONDARIES_MAX);
	world->policy = &assign_policies[world_below(world, 2)];
	world->chaos = !world_below(world, 4);
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
	cr_assert_eq(scene->models[FREE_FIRST].level, SCENE_NONE, "a model that several levels name belongs to none");
	cr_assert_eq(scene->models[STATIC_FIRST].level, SCENE_NONE, "a static model belongs to no level");
	uint32_t *none = mem_alloc(scene->room.models * sizeof *none);
	struct state *state = state_create(scene, none);
	free(none);
	state_set_initial(state);
	world_share(&world->shared, scene, state);
	for (uint32_t m = 0; m < MODELS; m++)
		world->shared.boxes[m].box = world_box(world, m);
	for (uint32_t m = 0; m < STATIC_FIRST; m++)
		world->active[m] = m < CARGO_FIRST;
}

void world_destroy(struct world *world)
{
	struct scene *scene = world->shared.scene;
	state_destroy(world->shared.state);
	world_unshare(&world->shared);
	scene_destroy(scene);
	sdf_free(world->sdf);
}

/* --- the world ---------------------------------------------------------------------------------------------------- */

struct scene_model *world_model(const struct world *world, uint32_t m)
{
	return &world->shared.scene->models[m];
}

/* A static model has no word that counts still steps. */
uint64_t world_still(const struct world *world, uint32_t m)
{
	return world_model(world, m)->body_count ? *state_still(world->shared.state, m, false) : 0;
}

bool world_moves_freely(const struct world *world, uint32_t m)
{
	const struct scene_model *model = world_model(world, m);
	return !model->absent && (model->performer || (!model->is_static && model->level == SCENE_NONE));
}

struct aabb world_box(const struct world *world, uint32_t m)
{
	return state_model_box(world->shared.state, m, false);
}

bool world_reaches(struct aabb a, struct aabb b)
{
	struct aabb padded = aabb_grow(a, TOUCH_PAD);
	return aabb_overlap(&padded, &b);
}

bool world_joined(const struct world *world, uint32_t a, uint32_t b)
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

void world_put(struct world *world, uint32_t m, struct vec3 p)
{
	if (world_model(world, m)->is_static)
		scene_place_static(world->shared.scene, m, (struct pose){p, {1, 0, 0, 0}});
	else
		state_bodies(world->shared.state, m, false)->p = p;
	state_touched(world->shared.state, m);
}

/* --- effects of a change, by definition --------------------------------------------------------------------------- */

void world_must_wake(struct world *world, uint32_t m)
{
	world->woken |= world->active[m] && world->still[m];
	world->wakes += world->active[m] && world->still[m];
	world->still[m] = 0;
}

void world_must_wake_in(struct world *world, struct aabb box)
{
	for (uint32_t m = 0; m < MODELS; m++)
		if (world->active[m] && world_reaches(box, world_box(world, m)))
			world_must_wake(world, m);
}

void world_must_leave(struct world *world, uint32_t m)
{
	if (!world->active[m])
		return;
	world->active[m] = false;
	if (world_model(world, m)->is_static)
		return;
	world_must_wake_in(world, world_box(world, m));
	for (uint32_t other = 0; other < MODELS; other++)
		if (world_joined(world, m, other))
			world_must_wake(world, other);
}

void world_forget_pairs(struct world *world, uint32_t m)
{
	for (uint32_t other = 0; other < MODELS; other++)
		world->until[MIN(m, other)][MAX(m, other)] = 0;
	world->first[m] = ASSIGN_NONE;
}

/* --- expected answers --------------------------------------------------------------------------------------------- */

void world_must_be_near(struct world *world)
{
	const struct scene *scene = world->shared.scene;
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t l = 0; l < LEVELS; l++) {
			const struct scene_model *model = world_model(world, m);
			struct aabb volume =
				aabb_around(state_model_pose(world->shared.state, m, false).p, model->volume);
			bool counts = model->performer && !model->absent;
			world->in[m][l] = counts && aabb_overlap(&volume, &scene->levels[l].box);
			world->near[m][l] = counts && aabb_overlap(&volume, &scene->levels[l].outer);
		}
}

void world_must_be_loaded(struct world *world)
{
	for (uint32_t l = 0; l < LEVELS; l++) {
		bool loaded = false;
		for (uint32_t m = 0; m < MODELS; m++)
			loaded |= world->near[m][l];
		bool begins = loaded && !world->loaded[l];
		world->loads += begins;
		world->loaded[l] = loaded;
		for (uint32_t m = 0; begins && m < STATIC_FIRST; m++) {
			const struct scene_model *model = world_model(world, m);
			if (model->is_static || model->level != l)
				continue;
			world->active[m] = !model->absent;
			world_must_wake(world, m);
		}
	}
}

/* Whether a performer's volume or a loaded level's box holds a model of a level that is not loaded. */
static bool world_is_held_by_box(const struct world *world, uint32_t m)
{
	struct aabb box = world_box(world, m);
	for (uint32_t other = 0; other < MODELS; other++) {
		const struct scene_model *model = world_model(world, other);
		struct aabb reach = world_box(world, other),
			    volume = aabb_around(state_model_pose(world->shared.state, other, false).p, model->volume);
		if (model->performer && !model->absent && (aabb_overlap(&box, &reach) || aabb_overlap(&box, &volume)))
			return true;
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		if (world->loaded[l] && aabb_overlap(&box, &world->shared.scene->levels[l].box))
			return true;
	return false;
}

static bool outlives_its_level(const struct world *world, uint32_t m)
{
	const struct scene_model *model = world_model(world, m);
	return !model->performer && model->level != SCENE_NONE && !world->loaded[model->level];
}

static bool world_may_touch(const struct world *world, uint32_t a, uint32_t b)
{
	bool bodies = !world_model(world, a)->is_static && !world_model(world, b)->is_static;
	return bodies &&
	       (world_reaches(world_box(world, MIN(a, b)), world_box(world, MAX(a, b))) || world_joined(world, a, b));
}

/* Adds to the set the models that may touch a model of the set, and so on. */
static void world_close(const struct world *world, bool set[MODELS])
{
	for (bool grows = true; grows;) {
		grows = false;
		for (uint32_t a = 0; a < MODELS; a++)
			for (uint32_t b = 0; b < MODELS && set[a]; b++) {
				if (set[b] || a == b || world_model(world, b)->absent || !world_may_touch(world, a, b))
					continue;
				set[b] = grows = true;
			}
	}
}

/* Models of unloaded levels come, because a model that exists reaches them; or go, because nothing holds them. */
void world_must_outlive(struct world *world)
{
	bool reached[MODELS], held[MODELS];
	world->key = 0;
	memcpy(reached, world->active, sizeof reached);
	world_close(world, reached);
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		world->reached[m] = reached[m] && !world->active[m];
		if (!world->reached[m])
			continue;
		world->active[m] = true;
		world->reaches++;
		world_must_wake(world, m);
	}
	for (uint32_t m = 0; m < MODELS; m++)
		held[m] = world->active[m] && (!outlives_its_level(world, m) || world_is_held_by_box(world, m));
	world_close(world, held);
	for (uint32_t m = 0; m < STATIC_FIRST; m++) {
		if (!world->active[m] || !outlives_its_level(world, m))
			continue;
		if (held[m]) {
			world->strays++;
			world->key |= UINT64_C(1) << m;
			continue;
		}
		world_must_leave(world, m);
		world->gone[m] = true;
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		world->key |= (uint64_t)world->loaded[l] << (MODELS + l);
}

void world_must_touch(struct world *world)
{
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++) {
			bool bodies = !world_model(world, a)->is_static && !world_model(world, b)->is_static;
			bool here = world->active[a] && world->active[b] && bodies;
			uint64_t *until = &world->until[a][b];
			world->touching[a][b] = here && (world_reaches(world_box(world, a), world_box(world, b)) ||
								world_joined(world, a, b));
			if (world->touching[a][b]) {
				world->meetings += !*until && world->first[a] && world->first[b] &&
						   world->first[a] != world->first[b];
				*until = UINT64_MAX;
				continue;
			}
			if (*until == UINT64_MAX)
				*until = world->k + PAIRS_KEEP_STEPS;
			if (*until && (*until <= world->k || !here)) {
				world->pairs_ended += here;
				*until = 0;
			}
		}
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

void world_check_loading(const struct world *world)
{
	const struct loading *loading = world->loading;
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert_eq(loading->loaded[l], world->loaded[l], "step %d: level %u", (int)world->k, l);
	cr_assert_eq(loading->loads, world->loads);
	for (uint32_t m = 0; m < MODELS; m++) {
		const struct scene_model *model = world_model(world, m);
		cr_assert_eq(loading->active[m], world->active[m], "step %d: %s is %d", (int)world->k, model->name,
			loading->active[m]);
		cr_assert_eq(
			loading->is_mover[m], world_moves_freely(world, m), "step %d: %s", (int)world->k, model->name);
		cr_assert_eq(loading->statics[m] != 0, model->is_static && !model->absent, "step %d: %s", (int)world->k,
			model->name);
	}
}

/* The hash differs when loaded levels or strays differ, and only then. */
void world_check_hash(const struct world *world, uint64_t hash)
{
	static uint64_t keys[4096], hashes[4096];
	static uint32_t count;
	bool known = false;
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(keys[i] == world->key, hashes[i] == hash, "step %d", (int)world->k);
		known |= keys[i] == world->key;
	}
	if (known || count == ARRAY_LEN(keys))
		return;
	keys[count] = world->key;
	hashes[count++] = hash;
}

void world_check_still(struct world *world)
{
	for (uint32_t m = 0; m < MODELS; m++) {
		uint64_t still = world_still(world, m);
		cr_assert(!world->active[m] || still == world->still[m], "step %d: %s has been still for %d",
			(int)world->k, world_model(world, m)->name, (int)still);
		world->still[m] = still;
	}
}

void world_check_pairs(const struct world *world)
{
	const struct pairs *pairs = world->pairs;
	uint32_t touching = 0, counting = 0;
	for (uint32_t a = 0; a < MODELS; a++)
		for (uint32_t b = a + 1; b < MODELS; b++) {
			if (world->touching[a][b]) {
				struct touch_pair pair = world->shared.touch.pairs.at[touching++];
				cr_assert(pair.a == a && pair.b == b, "step %d: %u and %u", (int)world->k, a, b);
			}
			if (!world->until[a][b])
				continue;
			cr_assert_lt(counting, pairs->recent.count, "step %d: %u and %u", (int)world->k, a, b);
			struct recent_pair pair = pairs->recent.at[counting++];
			cr_assert(pair.a == a && pair.b == b && pair.until == world->until[a][b],
				"step %d: %u and %u until %lld, expected %u and %u until %lld", (int)world->k, pair.a,
				pair.b, (long long)pair.until, a, b, (long long)world->until[a][b]);
		}
	cr_assert_eq(pairs->recent.count, counting, "step %d", (int)world->k);
	cr_assert_eq(world->shared.touch.pairs.count, touching, "step %d", (int)world->k);
}

/* The changes, applied one by one as secondaries apply them, lead from the previous assignment to the present one. */
void world_check_changes(struct world *world)
{
	uint32_t before[MODELS], moves = 0;
	memcpy(before, world->owner, sizeof before);
	for (uint32_t i = 0; i < world->placement->changes.count; i++) {
		struct change change = world->placement->changes.at[i];
		cr_assert(change.secondary >= 1 && change.secondary <= world->most);
		uint32_t *models = &world->owner[change.id % MODELS], *levels = &world->level_owner[change.id % LEVELS];
		switch (change.kind) {
		case CHANGE_RELEASE:
			cr_assert_eq(*models, change.secondary, "step %d: model %u", (int)world->k, change.id);
			*models = ASSIGN_NONE;
			break;
		case CHANGE_TAKE:
			cr_assert_eq(*models, ASSIGN_NONE, "step %d: model %u", (int)world->k, change.id);
			*models = change.secondary;
			break;
		case CHANGE_UNLOAD:
			cr_assert_eq(*levels, change.secondary, "step %d: level %u", (int)world->k, change.id);
			*levels = ASSIGN_NONE;
			break;
		case CHANGE_LOAD:
			cr_assert_eq(*levels, ASSIGN_NONE, "step %d: level %u", (int)world->k, change.id);
			*levels = change.secondary;
			break;
		case CHANGE_GHOST_ON:
		case CHANGE_GHOST_OFF:
			cr_assert_neq(world->ghost[change.id][change.secondary], change.kind == CHANGE_GHOST_ON);
			world->ghost[change.id][change.secondary] = change.kind == CHANGE_GHOST_ON;
		}
	}
	for (uint32_t m = 0; m < MODELS; m++) {
		uint32_t owner = world->owner[m];
		cr_assert_eq(world->placement->ownership.now.model[m], owner, "step %d: model %u", (int)world->k, m);
		cr_assert(
			world->active[m] ? owner >= 1 && owner <= world->placement->secondaries : owner == ASSIGN_NONE,
			"step %d: %s is on %u", (int)world->k, world_model(world, m)->name, owner);
		bool counts = world_moves_freely(world, m) || outlives_its_level(world, m);
		moves += counts && before[m] && owner && before[m] != owner;
		world->first[m] = world->first[m] ? world->first[m] : owner;
		cr_assert_eq(world->placement->first[m], world->first[m], "step %d: model %u", (int)world->k, m);
	}
	for (uint32_t l = 0; l < LEVELS; l++)
		cr_assert_eq(
			world->level_owner[l] != ASSIGN_NONE, world->loaded[l], "step %d: level %u", (int)world->k, l);
	/* where another number of secondaries shares the work out, nothing has moved */
	bool shared = world->shares != world->placement->shares;
	world->shares = world->placement->shares;
	world->moves += shared ? 0 : moves;
	cr_assert_eq(world->placement->moves, world->moves, "step %d", (int)world->k);
	for (uint32_t i = 0; i < world->placement->events.count; i++)
		moves -= world->placement->events.at[i].kind == (shared ? PLACEMENT_SHARE : PLACEMENT_MOVE);
	cr_assert_eq(moves, 0, "step %d: each is told of", (int)world->k);
}

/* Independent of assign/components, which is the plan's way to find components. */
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
			if (world->in[m][l] ||
				(world->active[m] && world->loaded[l] && world_model(world, m)->level == l))
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
	uint32_t pin = world_model(world, node)->pin;
	return pin <= world->placement->secondaries ? pin : ASSIGN_NONE;
}

void world_check_components(struct world *world)
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
			pin[root] = pin_of(world, i); /* of the lowest node that has a pin */
	}
	for (uint32_t i = 0; i < MODELS && !world->chaos; i++)
		if (world->active[i] && pin[root_of(parent, i)]) {
			world->pinned++;
			cr_assert_eq(world->owner[i], pin[root_of(parent, i)], "step %d: %s is pinned", (int)world->k,
				world_model(world, i)->name);
		}
}

void world_check_ghosts(const struct world *world)
{
	for (uint32_t m = 0; m < MODELS; m++)
		for (uint32_t s = 1; s <= world->most; s++) {
			bool ghost = false;
			for (uint32_t l = 0; l < LEVELS; l++)
				ghost |= world->near[m][l] && !world->in[m][l] && world->level_owner[l] == s;
			cr_assert_eq(world->ghost[m][s], ghost && world->owner[m] != s, "step %d: %s on %u",
				(int)world->k, world_model(world, m)->name, s);
		}
}

void world_check_parts(const struct world *world)
{
	uint32_t dealt = 0;
	for (uint32_t s = 1; s <= world->most; s++) {
		const struct step_part *part = &world->placement->parts[s - 1];
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
