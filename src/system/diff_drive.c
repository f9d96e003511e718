/* Drives the left and right wheels by a Twist: linear.x is forward, angular.z is to the left. A command is limited in
 * jerk, then in acceleration, then in velocity, relative to the last two steps, as in Gazebo. Odometry is dead
 * reckoning from the first wheel of each side; it is published at <odom_publish_frequency>. */
#include "system/builtin.h"

#include "base/math.h"
#include "topic/convert.h"

#include <math.h>
#include <string.h>

enum topic { TOPIC_VELOCITY, TOPIC_ENABLE };

struct limits {
	double velocity_min, velocity_max, acceleration_min, acceleration_max, jerk_min, jerk_max;
};

struct config {
	struct builtin_joints left, right;
	double separation, radius;
	struct limits linear, angular;
	struct pose
		axle; /* centre between the first wheel of each side, x ahead, y to the left; in the model's frame */
};

struct speed {
	double linear, angular;
};

struct drive_words {
	struct speed target;       /* the present command */
	struct speed last, before; /* speeds commanded in the last step and in the one before it */
	uint64_t disabled;
	double x, y, yaw; /* odometry relative to the initial pose; yaw counts full turns */
	struct speed measured;
};

enum { DRIVE_WORDS = 12 };
_Static_assert(sizeof(struct drive_words) == DRIVE_WORDS * 8, "words without padding");

static const struct limits unlimited = {-INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY};

/* The older names set linear and angular limits; the newer names are read after them and override them. */
static troupe_status read_limits(const struct sdf_element *plugin, struct config *config, struct troupe_error *error)
{
	const double most = BUILTIN_NUMBER_MAX;
	struct limits both = unlimited, *l = &config->linear, *a = &config->angular;
	const struct builtin_number older[] = {
		{"min_velocity", &both.velocity_min, -most, most},
		{"max_velocity", &both.velocity_max, -most, most},
		{"min_acceleration", &both.acceleration_min, -most, 0},
		{"max_acceleration", &both.acceleration_max, 0, most},
		{"min_jerk", &both.jerk_min, -most, 0},
		{"max_jerk", &both.jerk_max, 0, most},
	};
	const struct builtin_number newer[] = {
		{"min_linear_velocity", &l->velocity_min, -most, most},
		{"max_linear_velocity", &l->velocity_max, -most, most},
		{"min_linear_acceleration", &l->acceleration_min, -most, 0},
		{"max_linear_acceleration", &l->acceleration_max, 0, most},
		{"min_linear_jerk", &l->jerk_min, -most, 0},
		{"max_linear_jerk", &l->jerk_max, 0, most},
		{"min_angular_velocity", &a->velocity_min, -most, most},
		{"max_angular_velocity", &a->velocity_max, -most, most},
		{"min_angular_acceleration", &a->acceleration_min, -most, 0},
		{"max_angular_acceleration", &a->acceleration_max, 0, most},
		{"min_angular_jerk", &a->jerk_min, -most, 0},
		{"max_angular_jerk", &a->jerk_max, 0, most},
	};
	troupe_status status = builtin_read_numbers(plugin, older, ARRAY_LEN(older), error);
	if (status)
		return status;
	*l = *a = both;
	return builtin_read_numbers(plugin, newer, ARRAY_LEN(newer), error);
}

static troupe_status check_limits(
	const struct sdf_element *plugin, const struct limits *limits, const char *what, struct troupe_error *error)
{
	if (limits->velocity_min <= limits->velocity_max)
		return TROUPE_OK;
	return fail(error, TROUPE_EWORLD,
		"%s:%u: the least %s velocity, %g, is above the greatest: expected at most %g", plugin->file,
		plugin->line, what, limits->velocity_min, limits->velocity_max);
}

static troupe_status read_numbers(const struct sdf_element *plugin, struct config *config, struct troupe_error *error)
{
	const struct builtin_number sizes[] = {
		{"wheel_separation", &config->separation, 1e-6, 1e6},
		{"wheel_radius", &config->radius, 1e-6, 1e6},
	};
	troupe_status status = builtin_read_numbers(plugin, sizes, ARRAY_LEN(sizes), error);
	if (!status)
		status = read_limits(plugin, config, error);
	if (!status)
		status = check_limits(plugin, &config->linear, "linear", error);
	if (!status)
		status = check_limits(plugin, &config->angular, "angular", error);
	return status;
}

static troupe_status read_wheels(const struct system *system, const struct sdf_element *plugin, struct arena *arena,
	struct config *config, struct troupe_error *error)
{
	troupe_status status = builtin_find_joints(system, plugin, "left_joint", arena, &config->left, error);
	if (!status)
		status = builtin_find_joints(system, plugin, "right_joint", arena, &config->right, error);
	if (!status && config->left.at[0] == config->right.at[0])
		return fail(error, TROUPE_EWORLD, "%s:%u: joint '%s' is a left and a right joint: expected two joints",
			plugin->file, plugin->line, config->left.first_name);
	return status;
}

/* The frame of the odometry; it does not depend on the model's origin. */
static struct pose axle_of(const struct system *system, const struct config *config)
{
	const struct scene *scene = system->scene;
	const struct scene_model *model = &scene->models[system->model];
	struct pose model_frame =
		pose_mul(scene->bodies[model->body_first + model->frame_body].reference, model->in_body);
	struct pose to_model = pose_inverse(model_frame);
	struct vec3 left = pose_point(to_model, scene->joints[config->left.at[0]].anchor);
	struct vec3 right = pose_point(to_model, scene->joints[config->right.at[0]].anchor);
	struct vec3 across = vec3_sub(left, right);
	return (struct pose){
		vec3_scale(vec3_add(left, right), 0.5), quat_from_rpy(0, 0, math_atan2(-across.x, across.y))};
}

static const char *text_or(const struct sdf_element *plugin, const char *child, const char *usual)
{
	const char *text = sdf_child_text(plugin, child);
	return text && *text ? text : usual;
}

/* Topics, frames and rate as Gazebo names them. */
static troupe_status add_outputs(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	const char *model = builtin_owner(system, plugin)->name;
	const struct scene_body *body = &system->scene->bodies[system->scene->models[system->model].body_first +
							       system->scene->models[system->model].frame_body];
	const char *link = strrchr(body->name, ':');
	struct system_output output = {.kind = SYSTEM_OUTPUT_ODOMETRY, .rate_hz = 50};
	troupe_status status =
		sdf_child_double(plugin, "odom_publish_frequency", 0, BUILTIN_NUMBER_MAX, &output.rate_hz, error);
	if (status)
		return status;
	output.frame = arena_strdup(arena, text_or(plugin, "frame_id", arena_printf(arena, "%s/odom", model)));
	output.child_frame = arena_strdup(arena,
		text_or(plugin, "child_frame_id", arena_printf(arena, "%s/%s", model, link ? link + 1 : body->name)));
	status = builtin_add_output(
		system, plugin, "odom_topic", arena_printf(arena, "model/%s/odometry", model), &output, arena, error);
	output.kind = SYSTEM_OUTPUT_TF;
	return status ? status
		      : builtin_add_output(system, plugin, "tf_topic", arena_printf(arena, "model/%s/tf", model),
				&output, arena, error);
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct config *config = system->config = arena_new(arena, struct config);
	*config = (struct config){.separation = 1.0, .radius = 0.2};
	system->words = DRIVE_WORDS;
	troupe_status status = read_wheels(system, plugin, arena, config, error);
	if (!status)
		status = read_numbers(plugin, config, error);
	if (!status)
		config->axle = axle_of(system, config);
	if (!status)
		status = builtin_add_topic(
			system, plugin, "topic", "cmd_vel", &gz__msgs__twist__descriptor, TOPIC_VELOCITY, arena, error);
	if (!status)
		status = builtin_add_topic(
			system, plugin, NULL, "enable", &gz__msgs__boolean__descriptor, TOPIC_ENABLE, arena, error);
	return status ? status : add_outputs(system, plugin, arena, error);
}

static void command(const struct system *system, uint32_t tag, const ProtobufCMessage *message, uint64_t *words)
{
	struct drive_words *w = (void *)words;
	(void)system;
	if (tag == TOPIC_ENABLE) {
		w->disabled = !((const Gz__Msgs__Boolean *)message)->data;
		if (w->disabled)
			w->target = (struct speed){0, 0};
	} else if (!w->disabled) {
		const Gz__Msgs__Twist *twist = (const void *)message;
		w->target = (struct speed){message_vec3(twist->linear).x, message_vec3(twist->angular).z};
	}
}

/* Changes `value` only if it is out of bounds, so that a value within bounds keeps its bits. */
static double limit(double value, const struct limits *limits, double last, double before, double dt)
{
	double was = (last - before) / dt, jerk = ((value - last) / dt - was) / dt;
	if (jerk < limits->jerk_min || jerk > limits->jerk_max)
		value = last + (was + builtin_clamp(jerk, limits->jerk_min, limits->jerk_max) * dt) * dt;
	double acceleration = (value - last) / dt;
	if (acceleration < limits->acceleration_min || acceleration > limits->acceleration_max)
		value = last + builtin_clamp(acceleration, limits->acceleration_min, limits->acceleration_max) * dt;
	return builtin_clamp(value, limits->velocity_min, limits->velocity_max);
}

static void pre_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	const struct config *config = system->config;
	struct drive_words *w = (void *)words;
	struct speed now = {
		limit(w->target.linear, &config->linear, w->last.linear, w->before.linear, step->dt),
		limit(w->target.angular, &config->angular, w->last.angular, w->before.angular, step->dt),
	};
	w->before = w->last;
	w->last = now;
	double turn = now.angular * config->separation / 2;
	builtin_drive(&config->left, (now.linear - turn) / config->radius, step->control);
	builtin_drive(&config->right, (now.linear + turn) / config->radius, step->control);
}

/* The distance that the first wheel of a side rolled in the step. */
static double rolled(const struct builtin_joints *wheels, double radius, const struct state *state)
{
	const struct joint_state *now = state_joint(state, wheels->at[0], false);
	const struct joint_state *next = state_joint(state, wheels->at[0], true);
	return (next->position[0] - now->position[0]) * radius;
}

/* The chord of an arc of length 1, which has the direction in the middle of the arc: sin(turn / 2) / (turn / 2), by its
 * series where that is exact to the last place. */
static double chord_of(double turn)
{
	double half = turn / 2, square = half * half;
	if (square < 0.01)
		return 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)));
	return math_sin(half) / half;
}

static void post_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	const struct config *config = system->config;
	struct drive_words *w = (void *)words;
	double left = rolled(&config->left, config->radius, step->state);
	double right = rolled(&config->right, config->radius, step->state);
	double ahead = (left + right) / 2, turn = (right - left) / config->separation;
	double chord = ahead * chord_of(turn), sine, cosine;
	math_sincos(w->yaw + turn / 2, &sine, &cosine);
	w->x += chord * cosine;
	w->y += chord * sine;
	w->yaw += turn;
	w->measured = (struct speed){ahead / step->dt, turn / step->dt};
}

static void reckon(const struct system *system, const uint64_t *words, struct system_reckoning *ret_reckoning)
{
	const struct drive_words *w = (const void *)words;
	*ret_reckoning = (struct system_reckoning){((const struct config *)system->config)->axle, w->x, w->y, w->yaw,
		w->measured.linear, w->measured.angular};
}

const struct system_ops diff_drive_ops = {
	.names = BUILTIN_NAMES("DiffDrive"),
	.configure = configure,
	.command = command,
	.pre_update = pre_update,
	.post_update = post_update,
	.reckon = reckon,
};
