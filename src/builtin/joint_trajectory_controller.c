/* Follows trajectories of joints. A JointTrajectory has points, each with the time from the start at which it ends, and
 * for each joint that it names a position, a velocity and an effort; what a point does not give stays as it was. At
 * time t the target is the first point that ends after t, at last the last one: between points nothing is interpolated,
 * and a point that begins and ends between two steps is never the target.
 * The force on a joint is
 *
 *     PID of (position - target) + PID of (velocity - target) + effort
 *
 * Three parameters are not Gazebo's, but do what controllers of ROS do. With <interpolate> the target moves from point
 * to point, from where the joint is when the trajectory starts: on a line, or on a cubic curve where the points give
 * velocities. With <use_velocity_commands> a joint gets the velocity of its target and <velocity_gain> times the error,
 * instead of a force; a joint without <initial_position> is then free until a trajectory names it.
 *
 * Gains are given joint by joint, in the order of <joint_name>, or of the model's joints with one axis. It is active
 * from the first step, with the target <initial_position>. Names, defaults and targets are those of Gazebo's
 * JointTrajectoryController. Here the points are state, so their number has a limit. */
#include "builtin/joint_trajectory_goal.h"

#include <stdio.h>
#include <string.h>

enum { JOINTS_MAX = JOINT_TRAJECTORY_JOINTS_MAX, POINT_WORDS = 3072 }; /* words for points */
enum { JOINT_TRAJECTORY_POSITION, JOINT_TRAJECTORY_VELOCITY, JOINT_TRAJECTORY_EFFORT, JOINT_TRAJECTORY_KINDS };

struct joint_trajectory_config {
	uint32_t count; /* of joints */
	uint32_t joints[JOINTS_MAX];
	const char *names[JOINTS_MAX];
	struct builtin_pid position[JOINTS_MAX], velocity[JOINTS_MAX];
	double initial[JOINTS_MAX];
	bool held[JOINTS_MAX]; /* <initial_position> is given */
	bool header_starts, by_velocity, interpolates;
	double gain; /* 1/s; see builtin_velocity_to() */
	uint32_t points_max;
	const struct troupe_field *joint_names, *points, *values[JOINT_TRAJECTORY_KINDS], *after_s, *after_ns, *stamp_s,
		*stamp_ns;
	const struct troupe_field *progress;
	struct joint_trajectory_goals goals;
};

struct joint_words {
	double target[JOINT_TRAJECTORY_KINDS];
	struct builtin_pid_words position, velocity;
};

/* The words: this, then the joints, then the points, then, if the parameters that are not Gazebo's are used, a struct
 * joint_course for each joint, then, if goals are taken, those of joint_trajectory_goal.h. A point: its end in s after
 * the start, then for each joint target of each kind; NAN: not given. */
struct joint_trajectory_words {
	uint64_t count;   /* of points; 0: no trajectory */
	uint64_t present; /* the point that is the target */
	uint64_t begun;   /* the start is known */
	uint64_t changed; /* in the last step a point became the target */
	double start_s;
};

struct joint_course {
	double begin;   /* position when the trajectory starts */
	uint64_t named; /* by a trajectory */
};

#define GAIN(name, what) BUILTIN_NUMBER("position_" name, what), BUILTIN_NUMBER("velocity_" name, what)

static const struct troupe_parameter joint_trajectory_parameters[] = {
	BUILTIN_TEXT("topic", "of the JointTrajectory; default: /model/NAME/joint_trajectory"),
	BUILTIN_BOOL("use_header_start_time", "a trajectory starts at the time in its header; default false"),
	BUILTIN_TEXT("joint_name", "a joint; default: all of the model with one axis"),
	BUILTIN_NUMBER("initial_position", "rad or m, of each joint; default 0"),
	GAIN("p_gain", "of each joint; default 0"),
	GAIN("i_gain", "of each joint; default 0"),
	GAIN("d_gain", "of each joint; default 0"),
	GAIN("i_min", "limits of the integral's part; default 0"),
	GAIN("i_max", "below i_min there are no limits; default -1"),
	GAIN("cmd_min", "limits of the output; default 0"),
	GAIN("cmd_max", "below cmd_min there are no limits; default -1"),
	GAIN("cmd_offset", "is added to the output; default 0"),
	BUILTIN_BOOL("interpolate", "the target moves between points; default false (not Gazebo's)"),
	BUILTIN_BOOL("use_velocity_commands", "by velocities, not forces; default false (not Gazebo's)"),
	BUILTIN_VELOCITY_GAIN,
	JOINT_TRAJECTORY_GOAL_PARAMETERS,
	BUILTIN_END,
};

/* The value of the child of that name with the number `index`. */
static double joint_trajectory_number(struct troupe_system *self, const struct troupe_element *plugin, const char *name,
	uint32_t index, double otherwise)
{
	const struct troupe_element *e = NULL;
	for (uint32_t i = 0; i <= index; i++)
		if (!(e = self->host->child(plugin, name, e)))
			return otherwise;
	return builtin_number_of(self->host->text_of(e));
}

static struct builtin_pid joint_trajectory_read_pid(
	struct troupe_system *self, const struct troupe_element *plugin, const char *of, uint32_t joint)
{
	struct builtin_pid pid = {0, 0, 0, -1, 0, -1, 0, 0};
	const struct {
		const char *name;
		double *value;
	} rows[] = {
		{"p_gain", &pid.p},
		{"i_gain", &pid.i},
		{"d_gain", &pid.d},
		{"i_min", &pid.i_min},
		{"i_max", &pid.i_max},
		{"cmd_min", &pid.cmd_min},
		{"cmd_max", &pid.cmd_max},
		{"cmd_offset", &pid.cmd_offset},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		*rows[i].value = joint_trajectory_number(
			self, plugin, self->host->print(self, "%s_%s", of, rows[i].name), joint, *rows[i].value);
	return pid;
}

static bool joint_trajectory_add(struct troupe_system *self, const struct troupe_element *plugin,
	struct joint_trajectory_config *config, uint32_t joint, const char *name)
{
	if (config->count == JOINTS_MAX)
		return self->host->leave_out(
			self, plugin, "the plugin has more than %d joints: expected fewer", (int)JOINTS_MAX);
	for (uint32_t i = 0; i < config->count; i++)
		if (config->joints[i] == joint)
			return self->host->refuse(
				self, plugin, "joint '%s' is named twice: expected each joint once", name);
	config->names[config->count] = self->host->print(self, "%s", name);
	config->joints[config->count++] = joint;
	return true;
}

/* The joints that <joint_name> names, or all joints of the model with one axis. */
static bool joint_trajectory_find(
	struct troupe_system *self, const struct troupe_element *plugin, struct joint_trajectory_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e = NULL;
	while ((e = host->child(plugin, "joint_name", e))) {
		uint32_t joint = host->joint(self, e, host->text_of(e));
		if (joint == TROUPE_NOTHING || !joint_trajectory_add(self, e, config, joint, host->text_of(e)))
			return false;
	}
	uint32_t count, first = host->joints(self, &count);
	for (uint32_t i = first; i < first + count && !host->child(plugin, "joint_name", NULL); i++) {
		const char *name = builtin_own_joint(self, i);
		if (name && host->joint_axes(self, i) == 1 && !joint_trajectory_add(self, plugin, config, i, name))
			return false;
	}
	return config->count || host->leave_out(self, plugin, "the model has no joint with one axis: expected one");
}

static bool joint_trajectory_find_fields(struct troupe_system *self, struct joint_trajectory_config *config)
{
	static const char point[] = "gz.msgs.JointTrajectoryPoint", trajectory[] = "gz.msgs.JointTrajectory";
	const struct troupe_host *host = self->host;
	config->joint_names = host->field(self, trajectory, "joint_names");
	config->points = host->field(self, trajectory, "points");
	config->stamp_s = host->field(self, trajectory, "header.stamp.sec");
	config->stamp_ns = host->field(self, trajectory, "header.stamp.nsec");
	config->values[JOINT_TRAJECTORY_POSITION] = host->field(self, point, "positions");
	config->values[JOINT_TRAJECTORY_VELOCITY] = host->field(self, point, "velocities");
	config->values[JOINT_TRAJECTORY_EFFORT] = host->field(self, point, "effort");
	config->after_s = host->field(self, point, "time_from_start.sec");
	config->after_ns = host->field(self, point, "time_from_start.nsec");
	config->progress = host->field(self, "gz.msgs.Float", "data");
	return config->progress;
}

static uint32_t joint_trajectory_words_of_point(const struct joint_trajectory_config *config)
{
	return 1 + JOINT_TRAJECTORY_KINDS * config->count;
}

static bool joint_trajectory_has_courses(const struct joint_trajectory_config *config)
{
	return config->by_velocity || config->interpolates;
}

static void joint_trajectory_add_words(struct troupe_system *self, const struct joint_trajectory_config *config)
{
	static const char *const of_joint[] = {"target position", "target velocity", "target effort",
		"position's integral", "last position error", "velocity's integral", "last velocity error"};
	static const char *const counts[] = {"points", "present point", "begun", "changed"};
	const struct troupe_host *host = self->host;
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		host->add_words(self, counts[i], TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "start", TROUPE_WORD_DOUBLE, 1);
	for (uint32_t j = 0; j < config->count; j++)
		for (size_t i = 0; i < sizeof of_joint / sizeof *of_joint; i++)
			host->add_words(self, host->print(self, "%s: %s", config->names[j], of_joint[i]),
				TROUPE_WORD_DOUBLE, 1);
	host->add_words(self, "points: number", TROUPE_WORD_DOUBLE,
		config->points_max * joint_trajectory_words_of_point(config));
	for (uint32_t j = 0; j < config->count && joint_trajectory_has_courses(config); j++) {
		host->add_words(self, host->print(self, "%s: begin", config->names[j]), TROUPE_WORD_DOUBLE, 1);
		host->add_words(self, host->print(self, "%s: named", config->names[j]), TROUPE_WORD_INTEGER, 1);
	}
	if (config->goals.offered)
		joint_trajectory_goal_add_words(self, &config->goals);
}
_Static_assert(
	sizeof(struct joint_trajectory_words) == 5 * 8 && sizeof(struct joint_words) == 7 * 8, "each word has a name");

static bool joint_trajectory_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct joint_trajectory_config *config = self->config = host->alloc(self, sizeof *config);
	if (!host->must_move(self) || !joint_trajectory_find_fields(self, config) ||
		!joint_trajectory_find(self, plugin, config))
		return false;
	config->header_starts = host->boolean(self, plugin, "use_header_start_time", false);
	config->by_velocity = host->boolean(self, plugin, "use_velocity_commands", false);
	config->interpolates = host->boolean(self, plugin, "interpolate", false);
	config->gain = host->number(self, plugin, "velocity_gain", 0);
	config->points_max = POINT_WORDS / joint_trajectory_words_of_point(config);
	for (uint32_t i = 0; i < config->count; i++) {
		config->initial[i] = joint_trajectory_number(self, plugin, "initial_position", i, 0);
		config->held[i] = !isnan(joint_trajectory_number(self, plugin, "initial_position", i, (double)NAN));
		config->position[i] = joint_trajectory_read_pid(self, plugin, "position", i);
		config->velocity[i] = joint_trajectory_read_pid(self, plugin, "velocity", i);
	}
	const char *topic = builtin_topic(self, plugin, "topic", "joint_trajectory", NULL);
	config->goals.count = config->count;
	config->goals.names = config->names;
	config->goals.points_max = config->points_max;
	if (!joint_trajectory_goal_configure(self, plugin, &config->goals, topic))
		return false;
	joint_trajectory_add_words(self, config);
	struct troupe_output output = {.gives = TROUPE_GIVES_REPORT, .type = "gz.msgs.Float"};
	return builtin_take(self, plugin, "topic", "joint_trajectory", "gz.msgs.JointTrajectory", 0) &&
	       builtin_give(self, plugin, NULL, host->print(self, "%s_progress", topic), &output, NULL);
}

static struct joint_words *joint_trajectory_of(void *words)
{
	return (struct joint_words *)((struct joint_trajectory_words *)words + 1);
}

static double *joint_trajectory_point_of(const struct joint_trajectory_config *config, void *words, uint64_t index)
{
	return (double *)(joint_trajectory_of(words) + config->count) + index * joint_trajectory_words_of_point(config);
}

static struct joint_course *joint_trajectory_courses(const struct joint_trajectory_config *config, void *words)
{
	return (struct joint_course *)(void *)joint_trajectory_point_of(config, words, config->points_max);
}

static void *joint_trajectory_goal_words_of(const struct joint_trajectory_config *config, void *words)
{
	return joint_trajectory_courses(config, words) + (joint_trajectory_has_courses(config) ? config->count : 0);
}

static void joint_trajectory_init(const struct troupe_system *self, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	for (uint32_t i = 0; i < config->count; i++)
		joint_trajectory_of(words)[i].target[JOINT_TRAJECTORY_POSITION] = config->initial[i];
}

/* The place of the joint in the message; UINT32_MAX: the message does not name it. */
static uint32_t joint_trajectory_place_of(
	const struct troupe_system *self, const struct troupe_message *message, const char *name)
{
	const struct joint_trajectory_config *config = self->config;
	uint32_t count = self->host->count(message, config->joint_names);
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(self->host->get_text(message, config->joint_names, i), name))
			return i;
	return UINT32_MAX;
}

static bool joint_trajectory_names_any(const struct troupe_system *self, const struct troupe_message *message)
{
	const struct joint_trajectory_config *config = self->config;
	uint32_t i = 0;
	while (i < config->count && joint_trajectory_place_of(self, message, config->names[i]) == UINT32_MAX)
		i++;
	return i < config->count;
}

static bool joint_trajectory_check(const struct troupe_system *self, uint32_t input,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct joint_trajectory_config *config = self->config;
	if (input != JOINT_TRAJECTORY_INPUT_TOPIC)
		return joint_trajectory_goal_check(self, &config->goals, input, message, why);
	uint32_t points = self->host->count(message, config->points);
	if (!self->host->count(message, config->joint_names))
		(void)snprintf(why, TROUPE_WHY_BYTES, "the trajectory has no joint_names: expected one or more");
	else if (!joint_trajectory_names_any(self, message))
		(void)snprintf(why, TROUPE_WHY_BYTES,
			"the trajectory names no joint of this controller: expected '%.80s'%s", config->names[0],
			config->count > 1 ? " or another of its joints" : "");
	else if (!points)
		(void)snprintf(why, TROUPE_WHY_BYTES, "the trajectory has no points: expected one or more");
	else if (points > config->points_max)
		(void)snprintf(why, TROUPE_WHY_BYTES, "the trajectory has %u points: expected at most %u", points,
			config->points_max);
	else
		return true;
	return false;
}

/* start_s: when it begins; 0: at once. */
static void joint_trajectory_take(
	const struct troupe_system *self, const struct troupe_message *message, double start_s, void *words)
{
	const struct troupe_host *host = self->host;
	const struct joint_trajectory_config *config = self->config;
	struct joint_trajectory_words *w = words;
	memset(joint_trajectory_point_of(config, words, 0), 0,
		config->points_max * joint_trajectory_words_of_point(config) * sizeof(double));
	*w = (struct joint_trajectory_words){
		.count = host->count(message, config->points), .begun = start_s != 0, .start_s = start_s};
	w->present = UINT64_MAX;
	for (uint32_t j = 0; j < config->count && joint_trajectory_has_courses(config); j++)
		if (joint_trajectory_place_of(self, message, config->names[j]) != UINT32_MAX)
			joint_trajectory_courses(config, words)[j].named = 1;
	for (uint32_t p = 0; p < w->count; p++) {
		const struct troupe_message *point = host->get_part(message, config->points, p);
		double *to = joint_trajectory_point_of(config, words, p);
		to[0] = host->get(point, config->after_s, 0) + host->get(point, config->after_ns, 0) * 1e-9;
		for (uint32_t j = 0; j < config->count; j++) {
			uint32_t place = joint_trajectory_place_of(self, message, config->names[j]);
			for (int k = 0; k < JOINT_TRAJECTORY_KINDS; k++)
				to[1 + j * JOINT_TRAJECTORY_KINDS + (uint32_t)k] =
					place < host->count(point, config->values[k])
						? host->get(point, config->values[k], place)
						: (double)NAN;
		}
	}
}

static void joint_trajectory_take_topic(
	const struct troupe_system *self, const struct troupe_message *message, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	double stamp =
		self->host->get(message, config->stamp_s, 0) + self->host->get(message, config->stamp_ns, 0) * 1e-9;
	bool starts = config->header_starts && self->host->count(message, config->stamp_s);
	if (config->goals.offered && !joint_trajectory_goal_override(joint_trajectory_goal_words_of(config, words)))
		return;
	joint_trajectory_take(self, message, starts ? stamp : 0, words);
	((struct joint_trajectory_words *)words)->begun = starts;
}

static void joint_trajectory_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	const struct troupe_message *trajectory = NULL;
	char why[TROUPE_WHY_BYTES];
	double start_s = 0;
	void *goal = config->goals.offered ? joint_trajectory_goal_words_of(config, words) : NULL;
	if (!joint_trajectory_check(self, input, message, why))
		return;
	if (input == JOINT_TRAJECTORY_INPUT_TOPIC)
		joint_trajectory_take_topic(self, message, words);
	else if (config->goals.controllers && input == JOINT_TRAJECTORY_INPUT_SWITCH)
		joint_trajectory_goal_switch(self, &config->goals, message, goal);
	else if (goal && input == JOINT_TRAJECTORY_INPUT_GOAL &&
		 joint_trajectory_goal_take(self, &config->goals, message, goal, &trajectory, &start_s))
		joint_trajectory_take(self, trajectory, start_s, words);
}

/* The last value of a kind that a point before this one gives a joint; `otherwise`: none does. */
static double joint_trajectory_before(const struct joint_trajectory_config *config, void *words, uint64_t point,
	uint32_t joint, uint32_t kind, double otherwise)
{
	while (point-- > 0) {
		double value =
			joint_trajectory_point_of(config, words, point)[1 + joint * JOINT_TRAJECTORY_KINDS + kind];
		if (!isnan(value))
			return value;
	}
	return otherwise;
}

/* Moves the target of a joint towards the present point, from the point before it: on a line, or by Hermite's cubic
 * with the velocities at both ends. */
static void joint_trajectory_move(
	const struct joint_trajectory_config *config, double time_s, void *words, uint32_t joint)
{
	const struct joint_trajectory_words *w = words;
	const double *to = joint_trajectory_point_of(config, words, w->present) + 1 + joint * JOINT_TRAJECTORY_KINDS;
	double from_s = w->present ? joint_trajectory_point_of(config, words, w->present - 1)[0] : 0;
	double span_s = joint_trajectory_point_of(config, words, w->present)[0] - from_s;
	double *target = joint_trajectory_of(words)[joint].target;
	double begin = joint_trajectory_before(config, words, w->present, joint, JOINT_TRAJECTORY_POSITION,
		joint_trajectory_courses(config, words)[joint].begin);
	double speed = joint_trajectory_before(
		config, words, w->present, joint, JOINT_TRAJECTORY_VELOCITY, w->present ? (double)NAN : 0);
	double way = to[JOINT_TRAJECTORY_POSITION] - begin,
	       s = span_s > 0 ? builtin_clamp((time_s - from_s) / span_s, 0, 1) : 1;
	if (isnan(way))
		return;
	bool bent = !isnan(to[JOINT_TRAJECTORY_VELOCITY]) && !isnan(speed), moves = s > 0 && s < 1;
	double out = bent ? speed * span_s : way, in = bent ? to[JOINT_TRAJECTORY_VELOCITY] * span_s : way;
	/* with out = in = way this is the line */
	target[JOINT_TRAJECTORY_POSITION] =
		s < 1 ? begin + s * (out + s * (3 * way - 2 * out - in + s * (out + in - 2 * way)))
		      : to[JOINT_TRAJECTORY_POSITION];
	target[JOINT_TRAJECTORY_VELOCITY] =
		moves ? (out + s * (2 * (3 * way - 2 * out - in) + s * 3 * (out + in - 2 * way))) / span_s : 0;
}

/* A trajectory starts from the last target, or from where the joint is if it had none. */
static void joint_trajectory_start(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	for (uint32_t j = 0; j < config->count; j++)
		joint_trajectory_courses(config, words)[j].begin =
			config->by_velocity && config->held[j]
				? joint_trajectory_of(words)[j].target[JOINT_TRAJECTORY_POSITION]
				: self->host->joint_position(step, config->joints[j], 0, TROUPE_NOW);
}

/* Until a point ends. Times are whole nanoseconds, so less than half of one is the rounding of a difference: a point
 * that ends at a step has ended, whenever the trajectory started. */
static double joint_trajectory_left_s(
	const struct joint_trajectory_config *config, const struct troupe_step *step, void *words, uint64_t point)
{
	const struct joint_trajectory_words *w = words;
	double left_s = joint_trajectory_point_of(config, words, point)[0] - (step->time_s - w->start_s);
	return fabs(left_s) < 0.5e-9 ? 0 : left_s;
}

/* Finds the point that is the target now. */
static void joint_trajectory_follow(
	const struct joint_trajectory_config *config, const struct troupe_step *step, void *words)
{
	struct joint_trajectory_words *w = words;
	w->changed = 0;
	if (!w->count || w->count > config->points_max)
		return;
	if (!w->begun) {
		w->begun = 1;
		w->start_s = step->time_s;
	}
	uint64_t now = w->present < w->count ? w->present : 0;
	while (now + 1 < w->count && !(joint_trajectory_left_s(config, step, words, now) > 0))
		now++;
	if (now == w->present)
		return;
	w->present = now;
	w->changed = 1;
	const double *from = joint_trajectory_point_of(config, words, now) + 1;
	for (uint32_t j = 0; j < config->count; j++)
		for (uint32_t k = 0; k < JOINT_TRAJECTORY_KINDS; k++)
			if (!isnan(from[j * JOINT_TRAJECTORY_KINDS + k]))
				joint_trajectory_of(words)[j].target[k] = from[j * JOINT_TRAJECTORY_KINDS + k];
}

/* Between points. */
static void joint_trajectory_interpolate(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	const struct joint_trajectory_words *w = words;
	if (!w->count || w->count > config->points_max || w->present >= w->count)
		return;
	for (uint32_t j = 0; j < config->count; j++)
		joint_trajectory_move(config, step->time_s - w->start_s, words, j);
}

static void joint_trajectory_drive(
	const struct troupe_system *self, const struct troupe_step *step, void *words, uint32_t joint)
{
	const struct joint_trajectory_config *config = self->config;
	const double *target = joint_trajectory_of(words)[joint].target;
	double position = self->host->joint_position(step, config->joints[joint], 0, TROUPE_NOW);
	double velocity = builtin_velocity_to(target[JOINT_TRAJECTORY_POSITION] - position, config->gain, step->dt);
	if (config->held[joint] || joint_trajectory_courses(config, words)[joint].named)
		self->host->joint_drive(step, config->joints[joint],
			velocity + (config->interpolates ? target[JOINT_TRAJECTORY_VELOCITY] : 0));
}

/* --- goals -------------------------------------------------------------------------------------------------------- */

/* The trajectory ends, with the joints where they are. */
static void joint_trajectory_hold(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	struct joint_trajectory_words *w = words;
	w->count = w->present = w->changed = 0;
	for (uint32_t j = 0; j < config->count; j++) {
		double *target = joint_trajectory_of(words)[j].target;
		target[JOINT_TRAJECTORY_POSITION] = self->host->joint_position(step, config->joints[j], 0, TROUPE_NOW);
		target[JOINT_TRAJECTORY_VELOCITY] = target[JOINT_TRAJECTORY_EFFORT] = 0;
	}
}

static struct joint_trajectory_course_now joint_trajectory_now(
	const struct troupe_system *self, const struct troupe_step *step, const struct joint_words *joints)
{
	const struct joint_trajectory_config *config = self->config;
	struct joint_trajectory_course_now now;
	for (uint32_t j = 0; j < config->count; j++) {
		now.position[j] = joints[j].target[JOINT_TRAJECTORY_POSITION];
		now.velocity[j] = joints[j].target[JOINT_TRAJECTORY_VELOCITY];
		now.at[j] = self->host->joint_position(step, config->joints[j], 0, TROUPE_NOW);
		now.moves[j] = self->host->joint_velocity(step, config->joints[j], 0, TROUPE_NOW);
	}
	return now;
}

static void joint_trajectory_watch(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_trajectory_config *config = self->config;
	const struct joint_trajectory_words *w = words;
	if (!w->count || w->count > config->points_max)
		return;
	const struct joint_trajectory_course_now now = joint_trajectory_now(self, step, joint_trajectory_of(words));
	double left_s = joint_trajectory_left_s(config, step, words, w->count - 1);
	if (joint_trajectory_goal_watch(&config->goals, joint_trajectory_goal_words_of(config, words), &now, left_s))
		joint_trajectory_hold(self, step, words);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void joint_trajectory_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct joint_trajectory_config *config = self->config;
	if (config->goals.offered && joint_trajectory_goal_holds(joint_trajectory_goal_words_of(config, words)))
		joint_trajectory_hold(self, step, words);
	if (config->interpolates && ((const struct joint_trajectory_words *)words)->present == UINT64_MAX)
		joint_trajectory_start(self, step, words);
	joint_trajectory_follow(config, step, words);
	if (config->interpolates)
		joint_trajectory_interpolate(self, step, words);
	if (config->goals.offered)
		joint_trajectory_watch(self, step, words);
	for (uint32_t i = 0; i < config->count; i++) {
		struct joint_words *joint = &joint_trajectory_of(words)[i];
		if (config->by_velocity) {
			joint_trajectory_drive(self, step, words, i);
			continue;
		}
		double position = host->joint_position(step, config->joints[i], 0, TROUPE_NOW);
		double velocity = host->joint_velocity(step, config->joints[i], 0, TROUPE_NOW);
		double force = builtin_pid_update(&config->position[i], &joint->position,
			position - joint->target[JOINT_TRAJECTORY_POSITION], step->dt);
		force += builtin_pid_update(&config->velocity[i], &joint->velocity,
			velocity - joint->target[JOINT_TRAJECTORY_VELOCITY], step->dt);
		host->joint_force(step, config->joints[i], force + joint->target[JOINT_TRAJECTORY_EFFORT]);
	}
}

/* How much of the time of the trajectory the present point has, when it became the target. */
static bool joint_trajectory_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct joint_trajectory_config *config = self->config;
	const struct joint_trajectory_words *w = words;
	if (config->goals.offered && output == config->goals.output) {
		const struct joint_words *joints = (const struct joint_words *)(w + 1);
		const struct joint_trajectory_course_now now = joint_trajectory_now(self, step, joints);
		const double *points = (const double *)(joints + config->count);
		const void *courses = points + config->points_max * joint_trajectory_words_of_point(config);
		const void *goal = (const struct joint_course *)courses +
				   (joint_trajectory_has_courses(config) ? config->count : 0);
		joint_trajectory_goal_report(self, &config->goals, goal, &now, message);
		return true;
	}
	if (!w->changed || !w->count || w->count > config->points_max || w->present >= w->count)
		return false;
	const double *points = (const double *)((const struct joint_words *)(w + 1) + config->count);
	double end = points[(w->count - 1) * joint_trajectory_words_of_point(config)];
	double now = points[w->present * joint_trajectory_words_of_point(config)];
	self->host->put(message, config->progress, end > 0 ? now / end : 1);
	return true;
}

const struct troupe_kind builtin_joint_trajectory_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("JointTrajectoryController"),
	.parameters = joint_trajectory_parameters,
	.configure = joint_trajectory_configure,
	.init = joint_trajectory_init,
	.check = joint_trajectory_check,
	.command = joint_trajectory_command,
	.pre_update = joint_trajectory_pre_update,
	.report = joint_trajectory_report,
};
