/* Worlds whose outcome is known: no model sinks below a floor, and models that a joint ties do not touch. Most of their
 * parts are needed parts: without a model's place or its joint the rule would not hold. */
#include "make_internal.h"

#include <inttypes.h>

/* --- nothing sinks ------------------------------------------------------------------------------------------------ */

enum { CELLS = 7, TILES = 5 }; /* along an edge; cells are 1 m apart */
#define TILE_M 4.0

static void add_slab(struct maker *maker, struct part *world, const char *name, struct vec3 at, struct vec3 size)
{
	part_add(maker->arena, world, PART_NEEDED, NULL,
		"<model name='%s'><static>true</static><pose>%g %g %g 0 0 0</pose><link name='l'><collision name='c'>"
		"<geometry><box><size>%g %g %g</size></box></geometry></collision></link></model>\n",
		name, at.x, at.y, at.z - size.z / 2, size.x, size.y, size.z);
}

/* Tiles, each with a level of its own, which is loaded only while a performer is near. */
static void add_tiles(struct maker *maker, struct part *world, struct part *levels)
{
	struct dice *dice = &maker->dice;
	double thick = DICE_OF(dice, 0.2, 0.5, 1), height = DICE_OF(dice, 1, 3);
	for (int i = 0; i < TILES * TILES; i++) {
		struct vec3 at = {(i % TILES - TILES / 2) * TILE_M, (i / TILES - TILES / 2) * TILE_M, 0};
		const char *name = arena_printf(maker->arena, "tile%d", i);
		add_slab(maker, world, name, at, (struct vec3){TILE_M, TILE_M, thick});
		at.z = height / 2;
		struct part *level = make_level(maker, levels, arena_printf(maker->arena, "level%d", i), at,
			(struct vec3){TILE_M, TILE_M, height}, DICE_OF(dice, 0, 0, 0.5));
		part_add(maker->arena, level, PART_NEEDED, NULL, "<ref>%s</ref>", name);
	}
}

static void add_floor(struct maker *maker, struct part *world, struct part *levels)
{
	struct dice *dice = &maker->dice;
	const double edge = TILE_M * TILES;
	switch (dice_below(dice, 7)) {
	case 0:
		part_add(maker->arena, world, PART_NEEDED, NULL, "%s",
			"<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry><plane>"
			"<normal>0 0 1</normal></plane></geometry></collision></link></model>\n");
		break;
	case 1:
		add_slab(maker, world, "floor", (struct vec3){0, 0, 0}, (struct vec3){edge, edge, 1});
		break;
	case 2: /* flat.png is white: its height is that of the size */
		part_add(maker->arena, world, PART_NEEDED, NULL,
			"<model name='floor'><static>true</static><link name='l'><collision "
			"name='c'><geometry><heightmap>"
			"<uri>%s</uri><size>%g %g 1</size><pos>0 0 -1</pos></heightmap></geometry></collision></link>"
			"</model>\n",
			make_image_named(maker, "flat.png"), edge, edge);
		break;
	case 3:
		part_add(maker->arena, world, PART_NEEDED, NULL,
			"<model name='floor'><static>true</static><pose>0 0 -0.5 0 0 0</pose><link name='l'>"
			"<collision name='c'><geometry><polyline><point>%g %g</point><point>%g %g</point><point>%g %g"
			"</point><point>%g %g</point><height>0.5</height></polyline></geometry></collision></link>"
			"</model>\n",
			edge / 2, -edge / 2, edge / 2, edge / 2, -edge / 2, edge / 2, -edge / 2, -edge / 2);
		break;
	default:
		add_tiles(maker, world, levels);
		break;
	}
}

/* A round or flat shape at the model's origin; *ret_half_m: the extent below its centre. */
static const char *body_text(struct maker *maker, double *ret_half_m)
{
	struct dice *dice = &maker->dice;
	double half = dice_between(dice, 0.1, 0.25);
	*ret_half_m = half;
	switch (dice_below(dice, 7)) {
	case 0:
		return arena_printf(maker->arena, "<sphere><radius>%.3g</radius></sphere>", half);
	case 1:
		return arena_printf(maker->arena, "<cylinder><radius>%.3g</radius><length>%.3g</length></cylinder>",
			half, 2 * half);
	case 2:
		*ret_half_m = 1.5 * half;
		return arena_printf(
			maker->arena, "<capsule><radius>%.3g</radius><length>%.3g</length></capsule>", half, half);
	case 3:
		return arena_printf(
			maker->arena, "<ellipsoid><radii>%.3g %.3g %.3g</radii></ellipsoid>", half, 1.2 * half, half);
	case 4:
		return arena_printf(
			maker->arena, "<cone><radius>%.3g</radius><length>%.3g</length></cone>", half, 2 * half);
	default:
		return arena_printf(maker->arena, "<box><size>%.3g %.3g %.3g</size></box>", 2 * half,
			2 * half * DICE_OF(dice, 1, 0.7, 1.5), 2 * half);
	}
}

static struct vec3 cell(uint32_t number)
{
	return (struct vec3){(double)(number % CELLS) - CELLS / 2, (double)(number / CELLS % CELLS) - CELLS / 2, 0};
}

/* The text of a model that must stay on the floor; it may be driven sideways, too slowly to leave the floor. */
static struct part *add_crate(
	struct maker *maker, struct part *parent, const char *name, const struct vec3 *at, double lift_m, double speed)
{
	struct dice *dice = &maker->dice;
	double half;
	const char *body = body_text(maker, &half);
	struct part *model = part_add(maker->arena, parent, PART_OPTIONAL, "</model>\n", "<model name='%s'>", name);
	if (at)
		part_add(maker->arena, model, PART_NEEDED, NULL, "<pose>%.4g %.4g %.4g 0 0 %.3g</pose>", at->x, at->y,
			half + lift_m, dice_chance(dice, 50) ? 0 : dice_between(dice, -3, 3));
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='l0'><inertial auto='true'><density>%g</density></inertial><collision name='c'><geometry>%s"
		"</geometry>%s</collision></link>",
		DICE_OF(dice, 50, 300, 1000), body,
		DICE_WORD(
			dice, "", "", "<surface><friction><ode><mu>0.1</mu><mu2>0.1</mu2></ode></friction></surface>"));
	if (speed > 0)
		part_add(maker->arena, model, PART_OPTIONAL, NULL,
			"<plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>%.3g %.3g 0"
			"</initial_linear></plugin>",
			dice_between(dice, -speed, speed), dice_between(dice, -speed, speed));
	return model;
}

static void command_crates(struct maker *maker, uint32_t crates, uint32_t *cells, double speed)
{
	struct dice *dice = &maker->dice;
	for (uint32_t i = dice_below(dice, 10); i > 0; i--) {
		uint64_t step = dice_below(dice, (uint32_t)maker->scenario->steps);
		struct made *made = &maker->models.at[dice_below(dice, crates)];
		struct vec3 at = cell((*cells)++);
		switch (dice_below(dice, 7)) {
		case 0:
		case 1:
			if (made->topics.count)
				make_command(maker, step, COMMAND_GIVE, 0, "%s linear: {x: %.3g y: %.3g}",
					made->topics.at[0].name, dice_between(dice, -speed, speed),
					dice_between(dice, -speed, speed));
			break;
		case 2:
			make_command(maker, step, COMMAND_EDIT, 0,
				"/world/w0/set_pose name: \"%s\" position {x: %g y: %g z: 0.5}", made->name, at.x,
				at.y);
			break;
		case 3:
			make_command(maker, step, COMMAND_EDIT, 0, "/world/w0/level/set_performer data: \"%s\"%s",
				made->name, dice_chance(dice, 50) ? " remove: true" : "");
			break;
		case 4: {
			const char *name = make_name(maker, "stay");
			struct part *command = make_command(maker, step, COMMAND_CREATES, 0,
				"/world/w0/create pose {position {x: %g y: %g z: 0.6}} sdf: \"<sdf version='1.11'>",
				at.x, at.y);
			command->after = "</sdf>\"\n";
			add_crate(maker, command, name, NULL, 0, 0)->kind = PART_NEEDED;
			break;
		}
		case 5:
			make_command(maker, step, COMMAND_EDIT, 0, "/world/w0/%s name: \"%s\"",
				DICE_WORD(dice, "remove", "reset_model"), made->name);
			break;
		default:
			make_command(maker, step, COMMAND_RESET_ALL, 0, "%s", "/world/w0/control reset: {all: true}");
			break;
		}
	}
}

/* Models that must stay above z = 0 are called stay0, stay1, ... */
void make_floor(struct maker *maker, struct part *world, struct part *levels)
{
	struct dice *dice = &maker->dice;
	uint32_t crates = dice_from(dice, 2, 6), cells = dice_below(dice, CELLS * CELLS);
	double speed = 2 / ((double)maker->scenario->steps * maker->scenario->step_s[0]);
	add_floor(maker, world, levels);
	for (uint32_t i = 0; i < crates; i++) {
		struct made made = {.name = make_name(maker, "stay"), .world = 0, .first_link = "l0"};
		bool driven = dice_chance(dice, 60);
		struct vec3 at = cell(cells++);
		add_crate(maker, world, made.name, &at, dice_between(dice, 0, 0.2), driven ? MIN(speed, 4.0) : 0);
		if (driven)
			vec_push(&made.topics,
				(struct topic){.name = arena_printf(maker->arena, "/model/%s/cmd_vel", made.name),
					.kind = TOPIC_TWIST});
		vec_push(&maker->models, made);
		if (dice_chance(dice, 40)) {
			double edge = DICE_OF(dice, 0.2, 1, 3);
			make_performer(maker, levels, made.name, (struct vec3){edge, edge, 1});
		}
	}
	command_crates(maker, crates, &cells, MIN(speed, 4.0));
}

/* --- what is tied does not touch ---------------------------------------------------------------------------------- */

/* Two overlapping models and the joint between them, far from all other models. */
static void add_pair(struct maker *maker, struct part *world, struct part *levels, uint32_t index)
{
	struct dice *dice = &maker->dice;
	struct vec3 at = {index * 6.0, 0, 1};
	const char *names[2];
	struct part *pair = part_add(maker->arena, world, PART_OPTIONAL, "\n", "%s", "");
	for (int i = 0; i < 2; i++) {
		double half;
		names[i] = make_name(maker, "tied");
		part_add(maker->arena, pair, PART_NEEDED, NULL,
			"<model name='%s'><pose>%g %g %g 0 0 0</pose><link name='l0'><collision name='c'><geometry>%s"
			"</geometry></collision></link></model>",
			names[i], at.x + 0.1 * i, at.y, at.z + (i ? DICE_OF(dice, 0, 0.05, 0.1) : 0),
			body_text(maker, &half));
		vec_push(&maker->models, (struct made){.name = names[i], .world = 0, .first_link = "l0"});
	}
	part_add(maker->arena, pair, PART_NEEDED, NULL,
		"<joint name='joint%u' type='%s'><parent>%s::l0</parent><child>%s::l0</child></joint>", index,
		DICE_WORD(dice, "revolute", "prismatic", "ball", "universal", "revolute2", "screw", "fixed",
			"continuous"),
		names[0], names[1]);
	if (dice_chance(dice, 50))
		return;
	struct part *level = make_level(maker, levels, arena_printf(maker->arena, "level%u", index), at,
		(struct vec3){2, 2, 2}, DICE_OF(dice, 0, 0.5));
	for (int i = 0; i < 2; i++)
		if (dice_chance(dice, 60))
			part_add(maker->arena, level, PART_OPTIONAL, NULL, "<ref>%s</ref>", names[i]);
}

/* A performer without a shape, which loads and unloads the levels to which it is sent. */
static void add_visitor(struct maker *maker, struct part *world, struct part *levels, uint32_t pairs)
{
	struct dice *dice = &maker->dice;
	part_add(maker->arena, world, PART_OPTIONAL, NULL, "%s",
		"<model name='visitor'><pose>0 0 3 0 0 0</pose><link name='l'/></model>\n");
	make_performer(maker, levels, "visitor", (struct vec3){0.5, 0.5, 0.5});
	for (uint32_t i = dice_below(dice, 8); i > 0; i--)
		make_command(maker, dice_below(dice, (uint32_t)maker->scenario->steps), COMMAND_EDIT, 0,
			"/world/w0/set_pose name: \"visitor\" position {x: %u z: %g}", 6 * dice_below(dice, pairs),
			DICE_OF(dice, 1, 3, 50));
}

/* Models of pairs are called tied0, tied1, ...; no other model has a shape, and there is no gravity. */
void make_tied(struct maker *maker, struct part *world, struct part *levels)
{
	struct dice *dice = &maker->dice;
	uint32_t pairs = dice_from(dice, 1, 4);
	for (uint32_t i = 0; i < pairs; i++)
		add_pair(maker, world, levels, i);
	add_visitor(maker, world, levels, pairs);
	for (uint32_t i = dice_below(dice, 4); i > 0; i--) {
		uint64_t step = dice_below(dice, (uint32_t)maker->scenario->steps);
		if (dice_chance(dice, 40))
			make_command(maker, step, COMMAND_RESET_ALL, 0, "%s", "/world/w0/control reset: {all: true}");
		else
			make_command(maker, step, COMMAND_EDIT, 0, "/world/w0/level/set_performer data: \"%s\"",
				maker->models.at[dice_below(dice, 2 * pairs)].name);
	}
}
