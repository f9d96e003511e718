/* Worlds of models that sleep until a later step of a window moves them: a plate is hit by a model that has moved
 * before, so that the two are known to meet, and at about this time a third model, which was at rest when the window
 * began or is very fast, comes to where the plate lay. When it comes there too late, the plate has gone. Nothing has
 * weight, so that what comes to rest sleeps, and what is hit goes on. */
#include "make_internal.h"

#include <inttypes.h>

enum { HIT_APART_M = 60, HIT_SCENES = 3 };
#define HIT_PAD 0.0105 /* m: a little more than the distance at which two models are a pair */

/* The directions of a scene: that in which the plate is hit, and two across it. */
struct hit_axes {
	struct vec3 along, beside, up;
};

struct hit_scene {
	struct maker *maker;
	struct part *world;
	struct hit_axes axes;
	struct vec3 at, half; /* of the plate: its centre, and half its extents, in the axes */
	double step_s;
	uint64_t hit_step; /* in whose state k the hitter reaches the plate */
};

static struct vec3 hit_vector(const struct hit_axes *axes, double along, double beside, double up)
{
	return vec3_add(
		vec3_scale(axes->along, along), vec3_add(vec3_scale(axes->beside, beside), vec3_scale(axes->up, up)));
}

static struct hit_axes hit_some_axes(struct dice *dice)
{
	const struct vec3 all[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	uint32_t first = dice_below(dice, 3), second = (first + 1 + dice_below(dice, 2)) % 3;
	return (struct hit_axes){vec3_scale(all[first], DICE_OF(dice, 1, -1)),
		vec3_scale(all[second], DICE_OF(dice, 1, -1)),
		vec3_scale(all[3 - first - second], DICE_OF(dice, 1, -1))};
}

/* A box or a ball whose centre is at this place of the scene; v: its velocity from the start; NULL: it has no plug-in.
 */
static const char *hit_add(const struct hit_scene *scene, const char *stem, struct vec3 place, struct vec3 half,
	double mass, const struct vec3 *v)
{
	struct maker *maker = scene->maker;
	const char *name = make_name(maker, stem);
	const struct vec3 at = vec3_add(scene->at, hit_vector(&scene->axes, place.x, place.y, place.z));
	const struct vec3 size = hit_vector(&scene->axes, 2 * half.x, 2 * half.y, 2 * half.z);
	struct part *model =
		part_add(maker->arena, scene->world, PART_OPTIONAL, "</model>\n", "<model name='%s'>", name);
	part_add(maker->arena, model, PART_NEEDED, NULL, "<pose>%.9g %.9g %.9g 0 0 0</pose>", at.x, at.y, at.z);
	part_add(maker->arena, model, PART_NEEDED, NULL,
		"<link name='l0'><gravity>false</gravity><inertial><mass>%g</mass><inertia><ixx>%g</ixx><iyy>%g</iyy>"
		"<izz>%g</izz></inertia></inertial><collision name='c'><geometry>",
		mass, mass, mass, mass);
	if (half.x == half.y && half.y == half.z && dice_chance(&maker->dice, 50))
		part_add(maker->arena, model, PART_NEEDED, NULL, "<sphere><radius>%.6g</radius></sphere>", half.x);
	else
		part_add(maker->arena, model, PART_NEEDED, NULL, "<box><size>%.6g %.6g %.6g</size></box>", fabs(size.x),
			fabs(size.y), fabs(size.z));
	part_add(maker->arena, model, PART_NEEDED, NULL, "%s", "</geometry></collision></link>");
	if (v)
		part_add(maker->arena, model, PART_NEEDED, NULL,
			"<plugin name='gz::sim::systems::VelocityControl' filename='x'><initial_linear>%.9g %.9g %.9g"
			"</initial_linear></plugin>",
			v->x, v->y, v->z);
	vec_push(&maker->models, (struct made){.name = name, .world = maker->world, .at = at, .first_link = "l0"});
	return name;
}

/* It rests behind the plate, and overlaps it when it has taken `steps` steps of such a way. */
static const char *hit_add_behind(
	const struct hit_scene *scene, const char *stem, double side, double mass, uint32_t steps, double way)
{
	struct dice *dice = &scene->maker->dice;
	const double edge = dice_between(dice, 0.05, 0.1);
	const double gap = MAX(way * (steps - dice_between(dice, 0.1, 0.9)), HIT_PAD);
	const struct vec3 rest = {0, 0, 0};
	return hit_add(scene, stem, (struct vec3){-scene->half.x - edge - gap, side * scene->half.y / 2, 0},
		(struct vec3){edge, edge, edge}, mass, &rest);
}

static void hit_send(const struct hit_scene *scene, uint64_t step, const char *name, double way)
{
	const struct vec3 v = hit_vector(&scene->axes, way / scene->step_s, 0, 0);
	make_command(scene->maker, step, COMMAND_GIVE, 0, "/model/%s/cmd_vel linear: {x: %.9g y: %.9g z: %.9g}", name,
		v.x, v.y, v.z);
}

/* It is on its way when the window begins. */
static void hit_add_hitter(const struct hit_scene *scene)
{
	struct dice *dice = &scene->maker->dice;
	const uint32_t steps = dice_from(dice, 5, 14);
	const double way = dice_between(dice, 0.02, 0.1);
	hit_send(scene, scene->hit_step - steps,
		hit_add_behind(scene, "hitter", -1, DICE_OF(dice, 2, 5, 20), steps, way), way);
}

/* It is sent a few steps before the hit, and is slower than the plate will be. */
static const char *hit_add_sent(const struct hit_scene *scene)
{
	struct dice *dice = &scene->maker->dice;
	const uint32_t steps = dice_from(dice, 1, 5), early = dice_below(dice, 4);
	const double way = (HIT_PAD + dice_between(dice, 0, 0.003)) / (steps - dice_between(dice, 0.1, 0.6));
	const char *name = hit_add_behind(scene, "sent", 1, DICE_OF(dice, 0.2, 1, 100), steps, way);
	hit_send(scene, scene->hit_step - steps - early, name, way);
	return name;
}

/* It comes from far above to the end of the plate that leaves its place first. */
static const char *hit_add_thrown(const struct hit_scene *scene)
{
	struct dice *dice = &scene->maker->dice;
	const double way = dice_between(dice, 0.05, 0.15), edge = dice_between(dice, 0.05, 0.1);
	const double steps = (double)scene->hit_step - dice_between(dice, 0, 2);
	const struct vec3 v = hit_vector(&scene->axes, 0, 0, -way / scene->step_s);
	return hit_add(scene, "thrown",
		(struct vec3){-scene->half.x - edge + dice_between(dice, 0.001, 0.03), scene->half.y / 2,
			scene->half.z + edge + way * steps},
		(struct vec3){edge, edge, edge}, DICE_OF(dice, 0.2, 1, 100), &v);
}

static void hit_join(const struct hit_scene *scene, const char *parent, const char *child)
{
	part_add(scene->maker->arena, scene->world, PART_OPTIONAL, NULL,
		"<joint name='%s' type='fixed'><parent>%s::l0</parent><child>%s::l0</child></joint>\n",
		make_name(scene->maker, "tie"), parent, child);
}

/* The plate, which sleeps; sometimes with another one before it, which touches it or is joined to it from afar. */
static const char *hit_add_plate(const struct hit_scene *scene)
{
	struct dice *dice = &scene->maker->dice;
	const double mass = DICE_OF(dice, 0.1, 0.5, 1);
	const char *plate = hit_add(scene, "plate", (struct vec3){0, 0, 0}, scene->half, mass, NULL);
	const double before = DICE_OF(dice, -0.0005, 0.005, 0.3, 2);
	if (dice_chance(dice, 40)) {
		const char *other = hit_add(
			scene, "plate", (struct vec3){2 * scene->half.x + before, 0, 0}, scene->half, mass, NULL);
		if (before > 0.1 || dice_chance(dice, 30))
			hit_join(scene, plate, other);
	}
	return plate;
}

/* What else may come to a model that sleeps, or to one that is on its way. */
static void hit_add_deed(const struct hit_scene *scene, const char *plate, const char *third)
{
	struct maker *maker = scene->maker;
	struct dice *dice = &maker->dice;
	const uint64_t step = scene->hit_step - 8 + dice_below(dice, 16);
	const struct vec3 push =
		hit_vector(&scene->axes, dice_between(dice, -200, 200), dice_between(dice, -50, 50), 0);
	const char *name = dice_chance(dice, 70) ? plate : third;
	switch (dice_below(dice, 5)) {
	case 0:
		make_command(maker, step, COMMAND_EDIT, 0,
			"/world/w0/wrench entity {name: \"%s\"} wrench {force {x: %.3g y: %.3g z: %.3g}}", name, push.x,
			push.y, push.z);
		break;
	case 1:
		make_command(maker, step, COMMAND_EDIT, 0,
			"/world/w0/wrench/persistent entity {name: \"%s\"} wrench {force {x: %.3g y: %.3g z: %.3g}}",
			name, push.x / 20, push.y / 20, push.z / 20);
		break;
	case 2:
		make_command(maker, step, COMMAND_EDIT, 0, "/world/w0/remove name: \"%s\" type: MODEL", name);
		break;
	case 3:
		make_command(maker, step, COMMAND_EDIT, 0, "/world/w0/reset_model name: \"%s\"", name);
		break;
	default:
		make_command(maker, step, COMMAND_EDIT, 0,
			"/world/w0/set_pose name: \"%s\" position {x: %.6g y: %.6g z: %.6g}", name,
			scene->at.x + 0.1 * push.x / 200, scene->at.y + 0.1 * push.y / 200,
			scene->at.z + 0.1 * push.z / 200);
		break;
	}
}

void make_hits(struct maker *maker, struct part *world)
{
	struct dice *dice = &maker->dice;
	const double step_s = maker->scenario->step_s[0];
	const uint32_t sleeps = (uint32_t)(0.5 / step_s) + 20, late = (uint32_t)maker->scenario->steps - sleeps - 20;
	for (uint32_t i = dice_from(dice, 1, HIT_SCENES); i > 0; i--) {
		struct hit_scene scene = {.maker = maker,
			.world = world,
			.axes = hit_some_axes(dice),
			.at = {HIT_APART_M * (double)i, 0, 0},
			.half = {dice_between(dice, 0.1, 0.4), dice_between(dice, 0.3, 0.6),
				dice_between(dice, 0.02, 0.1)},
			.step_s = step_s,
			.hit_step = sleeps + dice_below(dice, late)};
		const char *plate = hit_add_plate(&scene);
		hit_add_hitter(&scene);
		const char *third = dice_chance(dice, 70) ? hit_add_sent(&scene) : hit_add_thrown(&scene);
		if (dice_chance(dice, 25))
			hit_add_deed(&scene, plate, third);
	}
}
