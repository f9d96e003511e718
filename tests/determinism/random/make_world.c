/* Worlds of the generator: how many models of which kind, where, in which levels, and which of them are performers.
 * Random models are crowded into a few metres and a few places, so that they meet, and speeds are chosen so that
 * performers cross several levels within the run. */
#include "make_internal.h"

#include <string.h>

const char *make_name(struct maker *maker, const char *stem)
{
	return arena_printf(maker->arena, "%s%u", stem, maker->named++);
}

struct vec3 make_place(struct maker *maker)
{
	struct dice *dice = &maker->dice;
	double r = maker->region_m;
	if (dice_chance(dice, 50))
		return maker->places[dice_below(dice, PLACES)];
	return (struct vec3){dice_between(dice, -r, r), dice_between(dice, -r, r), dice_between(dice, 0.1, 1.5)};
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

struct part *make_level(
	struct maker *maker, struct part *levels, const char *name, struct vec3 at, struct vec3 size, double buffer_m)
{
	struct part *level = part_add(maker->arena, levels, PART_OPTIONAL, "</level>\n", "<level name='%s'>", name);
	part_add(maker->arena, level, PART_NEEDED, NULL,
		"<pose>%.4g %.4g %.4g 0 0 0</pose><geometry><box><size>%.4g %.4g %.4g</size></box></geometry>", at.x,
		at.y, at.z, size.x, size.y, size.z);
	make_value(maker, level, "buffer", "%g", buffer_m);
	return level;
}

void make_performer(struct maker *maker, struct part *levels, const char *model, struct vec3 size)
{
	part_add(maker->arena, levels, PART_OPTIONAL, "</performer>\n",
		"<performer name='p_%s'><ref>%s</ref><geometry><box><size>%.3g %.3g %.3g</size></box></geometry>",
		model, model, size.x, size.y, size.z);
	vec_push(&maker->scenario->performers, model);
}

/* More often than not a level names a model inside it, seldom another one. */
static void add_refs(struct maker *maker, struct part *level, struct vec3 at, struct vec3 size)
{
	struct aabb box = aabb_around(at, vec3_add(size, (struct vec3){0.5, 0.5, 0.5}));
	for (uint32_t i = 0; i < maker->models.count; i++) {
		const struct made *made = &maker->models.at[i];
		struct aabb point = {made->at, made->at};
		uint32_t percent = aabb_overlap(&box, &point) ? 60 : 12;
		if (made->world == maker->world && dice_chance(&maker->dice, made->is_actor ? 8 : percent))
			part_add(maker->arena, level, PART_OPTIONAL, NULL, "<ref>%s</ref>", made->name);
	}
}

/* A place near a random model. */
static struct vec3 level_place(struct maker *maker)
{
	struct dice *dice = &maker->dice;
	const struct made *made = &maker->models.at[dice_below(dice, maker->models.count)];
	double off = dice_between(dice, -0.5, 0.5);
	return (struct vec3){made->at.x + off, made->at.y - off, 1};
}

/* Each level is beside the one before it, inside it, across it, or anywhere. */
static void add_levels(struct maker *maker, struct part *levels, uint32_t count)
{
	struct dice *dice = &maker->dice;
	double r = maker->region_m;
	struct vec3 at = {0, 0, 1}, size = {0, 0, 0};
	for (uint32_t i = 0; i < count && maker->models.count; i++) {
		struct vec3 before = size;
		size = (struct vec3){dice_between(dice, 0.5, r), dice_between(dice, 0.5, r), dice_between(dice, 1, 6)};
		switch (i ? dice_below(dice, 5) : 3) {
		case 0:
			at.x += (before.x + size.x) / 2; /* their sides touch */
			break;
		case 1:
			size = vec3_scale(before, 0.5); /* one inside the other */
			break;
		case 2:
			at.y += before.y / 2; /* across */
			break;
		default:
			at = level_place(maker);
			break;
		}
		struct part *level = make_level(maker, levels, arena_printf(maker->arena, "level%u", i), at, size,
			DICE_OF(dice, 0, 0, 0.1, 0.5, 1));
		if (dice_chance(dice, 4))
			make_value(maker, level, "secondary", "%u", dice_from(dice, 1, 3));
		add_refs(maker, level, at, size);
		vec_push(&maker->level_places, at);
	}
}

static void add_performers(struct maker *maker, struct part *levels, uint32_t percent)
{
	struct dice *dice = &maker->dice;
	for (uint32_t i = 0; i < maker->models.count; i++) {
		const struct made *made = &maker->models.at[i];
		uint32_t odds = made->is_static ? percent / 10 : made->topics.count ? percent + 20 : percent;
		if (made->world != maker->world || made->tours || !dice_chance(dice, odds))
			continue;
		double edge = DICE_OF(dice, 0.1, 0.5, 1, 2, 4);
		make_performer(maker, levels, made->name, (struct vec3){edge, edge, DICE_OF(dice, 0.1, 1, 2)});
	}
}

/* --- models ------------------------------------------------------------------------------------------------------- */

struct mix { /* of one kind of scenario: the greatest number of models of each kind */
	uint32_t solids, mechanisms, gears, carts, statics, actors, levels, world_joints, tourists;
	uint32_t plane, performers; /* percent */
	uint32_t driven;            /* in a world with systems of all kinds */
};

static const struct mix mixes[KIND_END] = {
	[KIND_MIXED] = {3, 2, 1, 1, 3, 1, 3, 2, 1, 60, 20, 2},
	[KIND_LEVELS] = {5, 1, 0, 1, 4, 1, 5, 3, 2, 60, 8, 2},
	[KIND_JOINTS] = {2, 3, 2, 0, 1, 0, 1, 3, 1, 50, 30, 2},
	[KIND_PILE] = {2, 1, 0, 0, 1, 0, 2, 1, 1, 90, 30, 2},
	[KIND_EDITS] = {3, 2, 1, 1, 3, 1, 2, 1, 1, 60, 25, 2},
	[KIND_SLEEP] = {4, 1, 0, 1, 3, 0, 2, 1, 1, 80, 30, 2},
	[KIND_RESET] = {4, 2, 1, 1, 2, 1, 3, 1, 1, 70, 20, 2},
	[KIND_SYSTEMS] = {3, 1, 0, 1, 2, 0, 2, 1, 1, 70, 25, 5},
};

static void add_models(struct maker *maker, struct part *world, enum model_kind kind, uint32_t most, const char *stem)
{
	for (uint32_t i = dice_from(&maker->dice, most / 2, most); i > 0; i--) {
		struct vec3 at = make_place(maker);
		if (kind == MODEL_CART || kind == MODEL_DRIVEN)
			at.z = 0.2;
		make_model(maker, world, kind, make_name(maker, stem), &at);
	}
}

/* Boxes on one another: nine of them need more than 96 rows. */
static void add_stack(struct maker *maker, struct part *world)
{
	struct dice *dice = &maker->dice;
	double edge = dice_between(dice, 0.2, 0.5), x = dice_between(dice, -1, 1);
	for (uint32_t i = 0, count = dice_from(dice, 6, 13); i < count; i++) {
		const char *name = make_name(maker, "box");
		struct part *model =
			part_add(maker->arena, world, PART_OPTIONAL, "</model>\n", "<model name='%s'>", name);
		part_add(maker->arena, model, PART_NEEDED, NULL, "<pose>%.4g 0 %.4g 0 0 %.3g</pose>", x,
			(i + 0.5) * edge, dice_chance(dice, 30) ? dice_between(dice, -1, 1) : 0);
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<link name='l0'><inertial auto='true'><density>%g</density></inertial><collision name='c'>"
			"<geometry><box><size>%.3g %.3g %.3g</size></box></geometry></collision></link>",
			DICE_OF(dice, 50, 200, 600), edge, edge, edge);
		vec_push(&maker->models, (struct made){.name = name,
						 .world = maker->world,
						 .at = {x, 0, (i + 0.5) * edge},
						 .first_link = "l0"});
	}
}

/* A joint between two models, or between a model and the world; a model may be static, a performer, or in a level that
 * is not loaded. */
static void add_world_joints(struct maker *maker, struct part *world, uint32_t first, uint32_t most)
{
	struct dice *dice = &maker->dice;
	uint32_t models = maker->models.count - first;
	for (uint32_t i = models ? dice_below(dice, most + 1) : 0; i > 0; i--) {
		const struct made *child = &maker->models.at[first + dice_below(dice, models)];
		const struct made *parent = &maker->models.at[first + dice_below(dice, models)];
		if (child->is_static || child->is_actor || parent->is_actor)
			continue;
		if (parent == child || dice_chance(dice, 15))
			parent = NULL;
		make_world_joint(maker, world, make_name(maker, "wj"), parent, child, NULL);
	}
}

/* Ties between models of any levels, and belts. The models of the file have been made. */
static void make_world_add_links(struct maker *maker, uint32_t first)
{
	struct dice *dice = &maker->link_dice;
	uint32_t models = maker->models.count - first;
	bool often = maker->scenario->kind == KIND_LEVELS || maker->scenario->has_systems;
	for (uint32_t i = models && dice_chance(dice, often ? 60 : 15) ? dice_from(dice, 1, 3) : 0; i > 0; i--) {
		struct made *parent = &maker->models.at[first + dice_below(dice, models)];
		const struct made *child = &maker->models.at[first + dice_below(dice, models)];
		if (parent != child && parent->part && !parent->is_static && !parent->is_actor && !child->is_actor)
			make_tie(maker, parent, child);
	}
	bool belts = dice_chance(dice, often ? 50 : 10);
	for (uint32_t i = first; belts && i < maker->models.count; i++)
		if (maker->models.at[i].is_static && maker->models.at[i].part && dice_chance(dice, 50))
			make_conveyor(maker, &maker->models.at[i]);
}

static void add_content(struct maker *maker, struct part *world, struct part *levels)
{
	const struct mix *mix = &mixes[maker->scenario->kind];
	struct dice *dice = &maker->dice;
	uint32_t first = maker->models.count;
	if (dice_chance(dice, mix->plane)) {
		struct vec3 at = {0, 0, 0};
		make_model(maker, world, MODEL_PLANE, make_name(maker, "plane"), &at);
	}
	add_models(maker, world, MODEL_STATIC, mix->statics, "s");
	add_models(maker, world, MODEL_SOLID, mix->solids, "m");
	add_models(maker, world, MODEL_MECHANISM, mix->mechanisms, "k");
	add_models(maker, world, MODEL_GEARS, mix->gears, "g");
	add_models(maker, world, MODEL_CART, mix->carts, "cart");
	if (maker->scenario->kind == KIND_PILE || dice_chance(dice, 3))
		add_stack(maker, world);
	for (uint32_t i = mix->actors; i > 0; i--)
		if (dice_chance(dice, 50))
			make_actor(maker, world, make_name(maker, "a"), make_place(maker));
	if (maker->scenario->has_systems) {
		add_models(maker, world, MODEL_DRIVEN, mix->driven, "v");
		if (dice_chance(dice, 30))
			make_walker(maker, world, make_name(maker, "f"), make_place(maker));
		make_world_systems(maker, world);
	}
	add_world_joints(maker, world, first, mix->world_joints);
	make_world_add_links(maker, first);
	for (uint32_t i = dice_from(dice, mix->tourists / 2, mix->tourists); i > 0; i--) {
		const char *name = make_name(maker, "tour");
		double edge = DICE_OF(dice, 0.1, 0.5, 1, 2);
		make_tourist(maker, world, name, make_place(maker));
		make_performer(maker, levels, name, (struct vec3){edge, edge, edge});
	}
	if (dice_chance(dice, 4))
		make_value(maker, levels, "secondaries", "%u", dice_below(dice, 4));
	add_performers(maker, levels, mix->performers);
	if (dice_chance(dice, 85))
		add_levels(maker, levels, dice_from(dice, mix->levels / 2, mix->levels));
}

/* --- worlds ------------------------------------------------------------------------------------------------------- */

static void add_physics(struct maker *maker, struct part *world)
{
	struct dice *dice = &maker->dice;
	part_add(maker->arena, world, PART_NEEDED, NULL,
		"<physics name='p' type='ode'><max_step_size>%g</max_step_size>",
		maker->scenario->step_s[maker->world]);
	if (dice_chance(dice, 20)) {
		struct part *ode = make_element(maker, world, PART_OPTIONAL, "ode");
		struct part *solver = make_element(maker, ode, PART_OPTIONAL, "solver");
		make_value(maker, solver, "type", "%s", DICE_WORD(dice, "world", "quick"));
		make_value(maker, solver, "iters", "%g", DICE_OF(dice, 10, 30, 80));
		if (dice_chance(dice, 30))
			make_value(maker, ode, "constraints", "<cfm>%g</cfm><erp>%g</erp>", DICE_OF(dice, 0, 1e-5),
				DICE_OF(dice, 0.2, 0.8));
	}
	part_add(maker->arena, world, PART_NEEDED, NULL, "%s", "</physics>\n");
	if (dice_chance(dice, 15))
		make_value(maker, world, "gravity", "%s", DICE_WORD(dice, "0 0 0", "0 0 -1", "2 0 -9.8", "0 0 9.8"));
	else if (dice_chance(dice, 1)) /* all models that fall diverge in one step */
		make_value(maker, world, "gravity", "0 0 -1000000");
}

static void add_world(struct maker *maker, struct part *sdf)
{
	struct part *world =
		part_add(maker->arena, sdf, PART_NEEDED, "</world>\n", "<world name='w%u'>\n", maker->world);
	struct part *levels =
		part_add(maker->arena, NULL, PART_OPTIONAL, "</plugin>\n", "<plugin name='gz::sim' filename='x'>\n");
	if (maker->scenario->kind == KIND_TIED)
		part_add(maker->arena, world, PART_NEEDED, NULL, "%s", "<gravity>0 0 0</gravity>\n");
	if (scenario_has_own_layout(maker->scenario))
		part_add(maker->arena, world, PART_NEEDED, NULL,
			"<physics name='p' type='ode'><max_step_size>%g</max_step_size></physics>\n",
			maker->scenario->step_s[maker->world]);
	else
		add_physics(maker, world);
	for (uint32_t i = 0; i < PLACES; i++) {
		double r = maker->region_m;
		maker->places[i] = (struct vec3){dice_between(&maker->dice, -r, r), dice_between(&maker->dice, -r, r),
			dice_between(&maker->dice, 0.1, 1.5)};
	}
	if (maker->scenario->kind == KIND_FLOOR)
		make_floor(maker, world, levels);
	else if (maker->scenario->kind == KIND_TIED)
		make_tied(maker, world, levels);
	else if (maker->scenario->kind == KIND_HIT)
		make_hits(maker, world);
	else
		add_content(maker, world, levels);
	make_sight_lights(maker, world);
	vec_push(&world->children, levels);
}

/* Falling asleep takes half a second, and a contact counts for 500 steps: some runs are as long. */
static void choose_length(struct maker *maker)
{
	struct scenario *scenario = maker->scenario;
	struct dice *dice = &maker->dice;
	scenario->steps = dice_from(dice, 30, 250);
	double step_s = DICE_OF(dice, 0.0003, 0.001, 0.001, 0.002, 0.004, 0.004);
	if (scenario->kind == KIND_SLEEP || scenario->kind == KIND_FLOOR || dice_chance(dice, 10)) {
		step_s = DICE_OF(dice, 0.004, 0.005, 0.01, 0.02);
		scenario->steps = dice_from(dice, 100, 400);
	} else if (dice_chance(dice, 6)) {
		scenario->steps = dice_from(dice, 550, 1200);
	}
	if (scenario->kind == KIND_FLOOR)
		step_s = DICE_OF(dice, 0.001, 0.002, 0.004);
	if (scenario->kind == KIND_HIT) {
		step_s = DICE_OF(dice, 0.001, 0.002, 0.004, 0.005);
		scenario->steps = (uint64_t)(0.5 / step_s) + dice_from(dice, 60, 150);
	}
	scenario->step_s[0] = step_s;
	scenario->step_s[1] = dice_chance(dice, 50) ? step_s : 0.001;
	maker->region_m = dice_between(dice, 1.5, 5);
	double duration_s = (double)scenario->steps * step_s;
	maker->speed_max = MIN(maker->region_m * DICE_OF(dice, 0.5, 3, 10) / duration_s, 25.0);
}

enum { KIND_ROUND = 22 }; /* the sum of the counts below */

/* Worlds of systems are made on request only, so that the other seeds keep their kinds; but a part of them has systems.
 * Of KIND_ROUND seeds in a row each kind has its number: so a small sample has all kinds. */
static enum scenario_kind kind_of(uint64_t seed)
{
	static const uint32_t counts[KIND_END] = {
		[KIND_MIXED] = 5,
		[KIND_LEVELS] = 3,
		[KIND_JOINTS] = 3,
		[KIND_PILE] = 1,
		[KIND_EDITS] = 3,
		[KIND_SLEEP] = 1,
		[KIND_RESET] = 2,
		[KIND_FLOOR] = 1,
		[KIND_TIED] = 1,
		[KIND_HIT] = 2,
	};
	/* in steps of seven, so that even five seeds in a row are of several kinds */
	uint32_t number = (uint32_t)(seed % KIND_ROUND) * 7 % KIND_ROUND, kind = 0;
	for (; kind + 1 < KIND_END && number >= counts[kind]; kind++)
		number -= counts[kind];
	return (enum scenario_kind)kind;
}

void make_scenario(struct scenario *scenario, uint64_t seed, enum scenario_kind kind)
{
	struct maker maker = {.scenario = scenario,
		.arena = &scenario->arena,
		.dice = {hash_mix(seed, 1), 0},
		.sensor_dice = {hash_mix(seed, 2), 0},
		.system_dice = {hash_mix(seed, 3), 0},
		.link_dice = {hash_mix(seed, 4), 0},
		.sight_dice = {hash_mix(seed, 5), 0}};
	*scenario = (struct scenario){.seed = seed, .kind = kind == KIND_END ? kind_of(seed) : kind};
	scenario->senses = dice_chance(&maker.sensor_dice, 40);
	bool own_layout = scenario_has_own_layout(scenario);
	scenario->has_systems = scenario->actors =
		!own_layout && (dice_chance(&maker.system_dice, 25) || scenario->kind == KIND_SYSTEMS);
	choose_length(&maker);
	maker.in_a_herd = dice_chance(&maker.dice, 20) ? 80 : 4;
	scenario->world_count = !own_layout && scenario->kind != KIND_RESET && dice_chance(&maker.dice, 4) ? 2 : 1;
	scenario->sleepless = !own_layout && dice_chance(&maker.dice, 6);
	scenario->paused = scenario->kind != KIND_RESET && dice_chance(&maker.dice, 3);
	scenario->initial_time_s = dice_chance(&maker.dice, 5) ? 12.3 : 0;
	scenario->world = part_add(maker.arena, NULL, PART_NEEDED, "</sdf>\n", "%s",
		"<?xml version='1.0'?>\n<sdf version='1.11' xmlns:gz='http://gazebosim.org/schema' "
		"xmlns:troupe='https://troupe.invalid'>");
	scenario->commands = part_add(maker.arena, NULL, PART_NEEDED, NULL, "%s", "");
	for (maker.world = 0; maker.world < scenario->world_count; maker.world++)
		add_world(&maker, scenario->world);
	make_commands(&maker);
	part_sort_commands(scenario->commands);
	for (uint32_t i = 0; i < maker.models.count; i++)
		vec_free(&maker.models.at[i].topics);
	vec_free(&maker.models);
	vec_free(&maker.level_places);
}
