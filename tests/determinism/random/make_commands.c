/* Commands of the generator. Steps are drawn so that several commands often fall on one step, and places are those of
 * models, so that models come where others are or were. A command that is refused is part of the test: the refusal must
 * have the same words wherever the model is simulated. Only topics that have a listener, or may get one, are used,
 * because a commands file with any other topic is refused as a whole. */
#include "make_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct part *make_command(
	struct maker *maker, uint64_t step, enum command_kind kind, double value, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	struct part *part =
		part_add(maker->arena, maker->scenario->commands, PART_COMMAND, "\n", "%" PRIu64 " %s", step, text);
	part->step = step;
	part->world = maker->world;
	part->command = kind;
	part->value = value;
	return part;
}

/* --- who ---------------------------------------------------------------------------------------------------------- */

static const struct made *any_model(struct maker *maker)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < maker->models.count; i++)
		count += maker->models.at[i].world == maker->world;
	if (!count)
		return NULL;
	for (uint32_t i = 0, at = dice_below(&maker->dice, count);; i++)
		if (maker->models.at[i].world == maker->world && !at--)
			return &maker->models.at[i];
}

static const char *pose_text(struct maker *maker, struct vec3 at)
{
	struct dice *dice = &maker->dice;
	const char *turn = "";
	if (dice_chance(dice, 40))
		turn = arena_printf(maker->arena, " orientation {w: %.3g x: %.3g y: %.3g z: %.3g}",
			dice_between(dice, 0.1, 1), dice_between(dice, -1, 1), dice_between(dice, -1, 1),
			dice_between(dice, -1, 1));
	return arena_printf(maker->arena, "position {x: %.4g y: %.4g z: %.4g}%s", at.x, at.y, at.z, turn);
}

/* --- to plug-ins -------------------------------------------------------------------------------------------------- */

static void give_message(struct maker *maker, uint64_t step, const struct topic *topic)
{
	struct part *command =
		make_command(maker, step, topic->lasts ? COMMAND_LASTING : COMMAND_GIVE, 0, "%s ", topic->name);
	for (const char *at = topic->message; *at; at += *at == '$') {
		int count = (int)strcspn(at, "$");
		part_add(maker->arena, command, PART_NEEDED, NULL, "%.*s", count, at);
		at += count;
		if (*at)
			part_add(maker->arena, command, PART_NEEDED, NULL, "%.3g",
				dice_between(&maker->dice, topic->low, topic->high));
	}
}

static void give(struct maker *maker, uint64_t step, const struct topic *topic)
{
	struct dice *dice = &maker->dice;
	double most = maker->speed_max;
	switch (topic->kind) {
	case TOPIC_TWIST:
		make_command(maker, step, COMMAND_GIVE, 0, "%s linear: {x: %.3g y: %.3g z: %.3g} angular: {z: %.3g}",
			topic->name, dice_between(dice, -most, most), dice_between(dice, -most, most),
			dice_chance(dice, 85) ? 0 : dice_between(dice, -1, 1),
			dice_chance(dice, 60) ? 0 : dice_between(dice, -3, 3));
		break;
	case TOPIC_ENABLE:
		make_command(maker, step, COMMAND_GIVE, 0, "%s data: %s", topic->name,
			dice_chance(dice, 50) ? "true" : "false");
		break;
	case TOPIC_VELOCITY:
		make_command(maker, step, COMMAND_GIVE, 0, "%s data: %g", topic->name,
			DICE_OF(dice, 0, 0.5, -0.5, 4, -4, 10));
		break;
	case TOPIC_POSITION:
		make_command(
			maker, step, COMMAND_GIVE, 0, "%s data: %g", topic->name, DICE_OF(dice, 0, 0.2, -1, 3.5, -7));
		break;
	case TOPIC_FORCE:
		make_command(maker, step, COMMAND_GIVE, 0, "%s data: %g", topic->name,
			DICE_OF(dice, 0, 1, -1, 20, -20, 100));
		break;
	case TOPIC_MESSAGE:
		give_message(maker, step, topic);
		break;
	}
}

static bool give_something(struct maker *maker, uint64_t step)
{
	const struct made *made = any_model(maker);
	if (!made || !made->topics.count || (made->is_created && made->from_step > step))
		return false;
	give(maker, step, &made->topics.at[dice_below(&maker->dice, made->topics.count)]);
	return true;
}

/* --- to the world ------------------------------------------------------------------------------------------------- */

/* A new model under a new name, or under the name of a model that may exist or have been removed. */
static struct part *create_text(struct maker *maker, uint64_t step, struct part *around, bool *ret_from_file)
{
	struct dice *dice = &maker->dice;
	static const enum model_kind kinds[] = {MODEL_SOLID, MODEL_SOLID, MODEL_SOLID, MODEL_STATIC, MODEL_STATIC,
		MODEL_MECHANISM, MODEL_GEARS, MODEL_CART};
	enum model_kind kind = kinds[dice_below(dice, (uint32_t)ARRAY_LEN(kinds))];
	if (maker->scenario->has_systems && dice_chance(dice, 40))
		kind = MODEL_DRIVEN;
	const struct made *other = dice_chance(dice, 30) ? any_model(maker) : NULL;
	const char *name = other ? other->name : make_name(maker, "n");
	struct vec3 at = make_place(maker);
	bool in_message = dice_chance(dice, 70);
	if (dice_chance(dice, 60))
		part_add(maker->arena, around, PART_NEEDED, NULL, "name: \"%s\" ", name);
	if (in_message)
		part_add(maker->arena, around, PART_OPTIONAL, NULL, "pose {%s} ", pose_text(maker, at));
	if (other && dice_chance(dice, 30))
		part_add(maker->arena, around, PART_OPTIONAL, NULL, "relative_to: \"%s\" ", any_model(maker)->name);
	if (dice_chance(dice, 40))
		part_add(maker->arena, around, PART_OPTIONAL, NULL, "%s", "allow_renaming: true ");
	struct part *text;
	*ret_from_file = dice_chance(dice, 15);
	if (*ret_from_file) {
		const char *file = arena_printf(maker->arena, "model%u.sdf", maker->scenario->files.count);
		text = part_add(maker->arena, NULL, PART_NEEDED, "</sdf>\n", "%s", "<sdf version='1.11'>");
		part_add(maker->arena, around, PART_NEEDED, NULL, "sdf_filename: \"%s\" ", file);
		vec_push(&maker->scenario->files, (struct scenario_file){.name = file, .part = text});
	} else {
		text = part_add(maker->arena, around, PART_NEEDED, "</sdf>\" ", "sdf: \"%s", "<sdf version='1.11'>");
	}
	uint32_t made = dice_chance(dice, 4) ? make_actor(maker, text, name, at)
					     : make_model(maker, text, kind, name, in_message ? NULL : &at);
	text->children.at[0]->kind = PART_NEEDED; /* without the model there would be nothing to create */
	maker->models.at[made].is_created = true;
	maker->models.at[made].from_step = step;
	return text;
}

static void create(struct maker *maker, uint64_t step)
{
	bool from_file;
	struct part *command = make_command(maker, step, COMMAND_CREATES, 0, "/world/w%u/create ", maker->world);
	create_text(maker, step, command, &from_file);
}

static void create_multiple(struct maker *maker, uint64_t step)
{
	bool from_file;
	struct part *command =
		make_command(maker, step, COMMAND_CREATES, 0, "/world/w%u/create_multiple ", maker->world);
	for (uint32_t i = dice_from(&maker->dice, 1, 3); i > 0; i--)
		create_text(maker, step, part_add(maker->arena, command, PART_OPTIONAL, "} ", "data {"), &from_file);
}

static void remove_model(struct maker *maker, uint64_t step, const struct made *made)
{
	make_command(
		maker, step, COMMAND_EDIT, 0, "/world/w%u/remove name: \"%s\" type: MODEL", maker->world, made->name);
}

static void set_pose(struct maker *maker, uint64_t step, const struct made *made)
{
	make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/set_pose name: \"%s\" %s", maker->world, made->name,
		pose_text(maker, make_place(maker)));
}

static void set_poses(struct maker *maker, uint64_t step)
{
	struct part *command = make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/set_pose_vector ", maker->world);
	for (uint32_t i = dice_from(&maker->dice, 1, 3); i > 0; i--)
		part_add(maker->arena, command, PART_OPTIONAL, NULL, "pose {name: \"%s\" %s} ", any_model(maker)->name,
			pose_text(maker, make_place(maker)));
}

static void set_performer(struct maker *maker, uint64_t step, const struct made *made)
{
	struct dice *dice = &maker->dice;
	const char *rest = dice_chance(dice, 40)
				   ? "remove: true"
				   : arena_printf(maker->arena, "size {x: %g y: %g z: %g}", DICE_OF(dice, 0.1, 1, 4),
					     DICE_OF(dice, 0.1, 1, 4), DICE_OF(dice, 0.1, 1));
	make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/level/set_performer data: \"%s\" %s", maker->world,
		made->name, dice_chance(dice, 20) ? "" : rest);
}

static void reset_model(struct maker *maker, uint64_t step, const struct made *made)
{
	make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/reset_model name: \"%s\"", maker->world, made->name);
}

/* Slow enough that no model passes through a floor. */
static void set_velocity(struct maker *maker, uint64_t step, const struct made *made)
{
	struct dice *dice = &maker->dice;
	const char *pose = dice_chance(dice, 30)
				   ? arena_printf(maker->arena, "pose {%s}", pose_text(maker, make_place(maker)))
				   : "";
	make_command(maker, step, COMMAND_EDIT, 0,
		"/world/w%u/set_velocity name: \"%s\" linear {x: %.3g y: %.3g} %s %s", maker->world, made->name,
		dice_between(dice, -2, 2), dice_between(dice, -2, 2), dice_chance(dice, 50) ? "" : "angular {z: 3}",
		pose);
}

static void set_joint(struct maker *maker, uint64_t step, const struct made *made)
{
	struct dice *dice = &maker->dice;
	const char *joint = DICE_WORD(dice, "j0", "j1", "j1", "j2", "j3");
	const char *axis = dice_chance(dice, 20) ? "axis: 1" : "";
	const char *position = arena_printf(maker->arena, "position: %.3g", dice_between(dice, -1.5, 1.5));
	const char *velocity = arena_printf(maker->arena, "velocity: %.3g", dice_between(dice, -3, 3));
	make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/set_joint name: \"%s\" joint: \"%s\" %s %s %s",
		maker->world, made->name, joint, axis, dice_chance(dice, 60) ? position : "",
		dice_chance(dice, 60) ? velocity : "");
}

static void wrench(struct maker *maker, uint64_t step, const struct made *made)
{
	struct dice *dice = &maker->dice;
	make_command(maker, step, COMMAND_EDIT, 0,
		"/world/w%u/wrench entity {name: \"%s\"} wrench {force {x: %.3g y: %.3g} torque {z: %.3g}}",
		maker->world, made->name, dice_between(dice, -200, 200), dice_between(dice, -200, 200),
		dice_between(dice, -5, 5));
}

/* Weak enough that no model leaves the world in the rest of the run. */
static void lasting_wrench(struct maker *maker, uint64_t step, const struct made *made)
{
	struct dice *dice = &maker->dice;
	if (dice_chance(dice, 40))
		make_command(
			maker, step, COMMAND_EDIT, 0, "/world/w%u/wrench/clear name: \"%s\"", maker->world, made->name);
	else
		make_command(maker, step, COMMAND_EDIT, 0,
			"/world/w%u/wrench/persistent entity {name: \"%s\"} "
			"wrench {force {x: %.3g y: %.3g} force_offset {x: %.3g} torque {z: %.3g}}",
			maker->world, made->name, dice_between(dice, -1, 1), dice_between(dice, -1, 1),
			dice_between(dice, -0.5, 0.5), dice_between(dice, -0.1, 0.1));
}

static void switch_collisions(struct maker *maker, uint64_t step, const struct made *made)
{
	make_command(maker, step, COMMAND_EDIT, 0, "/world/w%u/%s_collision name: \"%s\"", maker->world,
		dice_chance(&maker->dice, 40) ? "enable" : "disable", made->name);
}

static void light(struct maker *maker, uint64_t step)
{
	struct dice *dice = &maker->dice;
	const char *name = DICE_WORD(dice, "sun", "lamp", "torch");
	if (dice_chance(dice, 30))
		make_command(
			maker, step, COMMAND_EDIT, 0, "/world/w%u/remove name: \"%s\" type: LIGHT", maker->world, name);
	else
		make_command(maker, step, COMMAND_EDIT, 0,
			"/world/w%u/light_config name: \"%s\" intensity: %.3g pose {position {z: %.3g}}", maker->world,
			name, dice_between(dice, 0, 5), dice_between(dice, 0, 9));
}

static void set_physics(struct maker *maker, uint64_t step)
{
	struct dice *dice = &maker->dice;
	double step_s = DICE_OF(dice, 0.0003, 0.0007, 0.001, 0.002, 0.004);
	if (dice_chance(dice, 60))
		make_command(maker, step, COMMAND_STEP_SIZE, step_s, "/world/w%u/set_physics max_step_size: %g",
			maker->world, step_s);
	else
		make_command(maker, step, COMMAND_GRAVITY, 0, "/world/w%u/set_physics gravity {z: %g}", maker->world,
			DICE_OF(dice, 0, -1, -9.8, 3));
}

static void reset_world(struct maker *maker, uint64_t step)
{
	static const struct {
		const char *what;
		enum command_kind kind;
	} ways[] = {{"all", COMMAND_RESET_ALL}, {"all", COMMAND_RESET_ALL}, {"time_only", COMMAND_RESET_TIME},
		{"model_only", COMMAND_RESET_MODELS}};
	uint32_t way = dice_below(&maker->dice, (uint32_t)ARRAY_LEN(ways));
	make_command(
		maker, step, ways[way].kind, 0, "/world/w%u/control reset: {%s: true}", maker->world, ways[way].what);
}

/* The world goes on some steps later; otherwise the rest of the run would show nothing. */
static void pause_and_go_on(struct maker *maker, uint64_t step)
{
	struct dice *dice = &maker->dice;
	uint64_t again = step + dice_from(dice, 1, 20);
	uint32_t steps = dice_from(dice, 1, 15);
	make_command(maker, step, COMMAND_PAUSE, 1, "/world/w%u/control pause: true", maker->world);
	if (dice_chance(dice, 60)) {
		make_command(
			maker, again, COMMAND_MULTI, steps, "/world/w%u/control multi_step: %u", maker->world, steps);
		again += steps + dice_below(dice, 10);
	}
	make_command(maker, again, COMMAND_PAUSE, 0, "/world/w%u/control pause: false", maker->world);
}

static void multi_step(struct maker *maker, uint64_t step)
{
	uint32_t steps = dice_from(&maker->dice, 1, 15);
	make_command(maker, step, COMMAND_MULTI, steps, "/world/w%u/control multi_step: %u", maker->world, steps);
	make_command(maker, step + steps + dice_below(&maker->dice, 5), COMMAND_PAUSE, 0,
		"/world/w%u/control pause: false", maker->world);
}

/* Moves the model from place to place, each within the time until the next: in a straight line unless another model is
 * in the way. */
static void tour(struct maker *maker, const struct made *made, uint64_t from_step, uint64_t to_step)
{
	struct dice *dice = &maker->dice;
	uint64_t stops = dice_from(dice, 2, 10), length = MAX((to_step - from_step) / stops, (uint64_t)1);
	double duration_s = (double)length * maker->scenario->step_s[maker->world];
	struct vec3 at = made->at;
	for (uint64_t step = from_step; step + length <= to_step; step += length) {
		struct vec3 to = make_place(maker);
		if (dice_chance(dice, 50) && maker->level_places.count)
			to = maker->level_places.at[dice_below(dice, maker->level_places.count)];
		else if (dice_chance(dice, 50))
			to = vec3_scale(to, 3); /* away from all levels */
		struct vec3 v = vec3_scale(vec3_sub(to, at), 1 / duration_s);
		double fast = vec3_length(v) / 100;
		if (fast > 1)
			v = vec3_scale(v, 1 / fast);
		if (dice_chance(dice, 15))
			make_command(maker, step, COMMAND_EDIT, 0,
				"/world/w%u/set_pose name: \"%s\" position {x: %.4g y: %.4g z: %.4g}", maker->world,
				made->name, to.x, to.y, to.z);
		else
			make_command(maker, step, COMMAND_GIVE, 0, "%s linear: {x: %.4g y: %.4g z: %.4g}",
				made->topics.at[0].name, v.x, v.y, v.z);
		at = to;
	}
}

static void tours(struct maker *maker, uint64_t from_step, uint64_t to_step)
{
	for (uint32_t i = 0; i < maker->models.count; i++)
		if (maker->models.at[i].tours && maker->models.at[i].world == maker->world)
			tour(maker, &maker->models.at[i], from_step, to_step);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

enum deed { /* in the order of struct odds */
	DEED_GIVE,
	DEED_CREATE,
	DEED_CREATE_MULTIPLE,
	DEED_REMOVE,
	DEED_SET_POSE,
	DEED_SET_POSES,
	DEED_SET_PERFORMER,
	DEED_RESET_MODEL,
	DEED_SET_PHYSICS,
	DEED_RESET_WORLD,
	DEED_PAUSE,
	DEED_MULTI_STEP,
	DEED_SET_VELOCITY,
	DEED_SET_JOINT,
	DEED_WRENCH,
	DEED_LASTING_WRENCH,
	DEED_SWITCH,
	DEED_LIGHT,
	DEED_END,
};

static const uint32_t all_odds[DEED_END] = {35, 10, 3, 8, 14, 3, 7, 5, 3, 4, 4, 1, 4, 6, 5, 6, 6, 3};
/* Commands that have the same effect when they are given again after a reset. */
static const uint32_t again_odds[DEED_END] = {50, 6, 2, 8, 20, 5, 10, 7, 0, 0, 0, 0, 5, 5, 5, 5, 5, 3};
static const uint32_t driving_odds[DEED_END] = {90, 0, 0, 1, 4, 0, 0, 3, 1, 1, 0, 0, 2, 2, 2, 2, 2, 1};
/* Without a new step size or gravity: a reset does not undo these. */
static const uint32_t noise_odds[DEED_END] = {30, 14, 3, 12, 16, 4, 8, 6, 0, 3, 0, 0, 5, 5, 5, 5, 5, 3};

static void do_one(struct maker *maker, const uint32_t *odds, uint64_t step)
{
	uint32_t sum = 0, deed = 0;
	for (uint32_t i = 0; i < DEED_END; i++)
		sum += odds[i];
	uint32_t number = dice_below(&maker->dice, sum);
	for (; number >= odds[deed]; deed++)
		number -= odds[deed];
	const struct made *made = any_model(maker);
	bool has_subject = deed != DEED_REMOVE && deed != DEED_SET_POSE && deed != DEED_SET_POSES &&
			   deed != DEED_SET_PERFORMER && deed != DEED_RESET_MODEL && deed < DEED_SET_VELOCITY;
	if (!made && !has_subject)
		return;
	switch ((enum deed)deed) {
	case DEED_GIVE:
		for (int i = 0; i < 4; i++)
			if (give_something(maker, step))
				break;
		break;
	case DEED_CREATE:
		create(maker, step);
		break;
	case DEED_CREATE_MULTIPLE:
		create_multiple(maker, step);
		break;
	case DEED_REMOVE:
		remove_model(maker, step, made);
		break;
	case DEED_SET_POSE:
		set_pose(maker, step, made);
		break;
	case DEED_SET_POSES:
		set_poses(maker, step);
		break;
	case DEED_SET_PERFORMER:
		set_performer(maker, step, made);
		break;
	case DEED_RESET_MODEL:
		reset_model(maker, step, made);
		break;
	case DEED_SET_PHYSICS:
		set_physics(maker, step);
		break;
	case DEED_RESET_WORLD:
		reset_world(maker, step);
		break;
	case DEED_PAUSE:
		pause_and_go_on(maker, step);
		break;
	case DEED_MULTI_STEP:
		multi_step(maker, step);
		break;
	case DEED_SET_VELOCITY:
		set_velocity(maker, step, made);
		break;
	case DEED_SET_JOINT:
		set_joint(maker, step, made);
		break;
	case DEED_WRENCH:
		wrench(maker, step, made);
		break;
	case DEED_LASTING_WRENCH:
		lasting_wrench(maker, step, made);
		break;
	case DEED_SWITCH:
		switch_collisions(maker, step, made);
		break;
	case DEED_LIGHT:
		light(maker, step);
		break;
	case DEED_END:
		break;
	}
}

/* Every second command falls on the step of the command before it. */
static void some_commands(
	struct maker *maker, const uint32_t *odds, uint32_t count, uint64_t from_step, uint64_t to_step)
{
	uint64_t step = from_step;
	for (uint32_t i = 0; i < count; i++) {
		if (dice_chance(&maker->dice, 60))
			step = dice_chance(&maker->dice, 8)
				       ? from_step
				       : from_step + dice_below(&maker->dice, (uint32_t)(to_step - from_step));
		do_one(maker, odds, step);
	}
}

/* The commands from the first step to `length` are given once more, from `step` on. */
static void give_again(struct maker *maker, uint32_t count, uint64_t step)
{
	part_list *all = &maker->scenario->commands->children;
	for (uint32_t i = 0; i < count; i++) {
		const struct part *from = all->at[i];
		struct part *again = make_command(
			maker, from->step + step, from->command, from->value, "%s", strchr(from->before, ' ') + 1);
		for (uint32_t c = 0; c < from->children.count; c++)
			part_add(maker->arena, again, from->children.at[c]->kind, from->children.at[c]->after, "%s",
				from->children.at[c]->before);
	}
}

/* A segment of commands, then any commands except a new step size, then a reset and the segment again; sometimes
 * twice. */
static void reset_and_repeat(struct maker *maker)
{
	struct scenario *scenario = maker->scenario;
	uint64_t length = dice_from(&maker->dice, 10, 60), at = length;
	part_list *all = &scenario->commands->children;
	some_commands(maker, again_odds, dice_below(&maker->dice, 12), 0, length);
	tours(maker, 0, length);
	part_sort_commands(scenario->commands);
	uint32_t segment = all->count;
	for (uint32_t rounds = dice_from(&maker->dice, 1, 2); rounds > 0; rounds--) {
		uint64_t to = at + dice_from(&maker->dice, 1, 60);
		some_commands(maker, noise_odds, dice_below(&maker->dice, 15), at, to);
		make_command(maker, to, COMMAND_RESET_ALL, 0, "/world/w%u/control reset: {all: true}", maker->world);
		give_again(maker, segment, to);
		at = to + length;
	}
	scenario->steps = at + dice_below(&maker->dice, 10);
}

/* All that falls diverges within some steps. */
static void make_fail(struct maker *maker)
{
	uint32_t steps = (uint32_t)maker->scenario->steps;
	make_command(maker, steps / 3 + dice_below(&maker->link_dice, steps / 3 + 1), COMMAND_GRAVITY, 0,
		"/world/w%u/set_physics gravity {z: -1e6}", maker->world);
}

void make_commands(struct maker *maker)
{
	struct dice *dice = &maker->dice;
	struct scenario *scenario = maker->scenario;
	for (maker->world = 0; maker->world < scenario->world_count; maker->world++) {
		if (scenario->paused)
			make_command(maker, dice_below(dice, 20), COMMAND_PAUSE, 0, "/world/w%u/control pause: false",
				maker->world);
		if (scenario_has_own_layout(scenario))
			continue; /* these kinds make their own commands */
		if (scenario->kind == KIND_RESET) {
			reset_and_repeat(maker);
			continue;
		}
		if (dice_chance(&maker->link_dice, 4))
			make_fail(maker);
		bool drives = scenario->kind == KIND_JOINTS && dice_chance(dice, 70);
		tours(maker, 0, scenario->steps);
		uint32_t count = scenario->kind == KIND_EDITS ? dice_from(dice, 10, 45) : dice_below(dice, 25);
		some_commands(
			maker, drives ? driving_odds : all_odds, dice_chance(dice, 8) ? 0 : count, 0, scenario->steps);
	}
}
