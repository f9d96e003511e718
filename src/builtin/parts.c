/* Built-in systems use Gazebo's plug-in parameters, topics and defaults, so that worlds made for Gazebo work here. What
 * they have in common is here once. */
#include "builtin/parts.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *builtin_own_joint(const struct troupe_system *self, uint32_t joint)
{
	const char *name = self->host->joint_name(self, joint), *next;
	while (self->host->find_joint(self, name, true) != joint) {
		next = strstr(name, "::");
		if (!next)
			return NULL;
		name = next + 2;
	}
	return name;
}

bool builtin_find_joints(struct troupe_system *self, const struct troupe_element *plugin, const char *child,
	struct builtin_joints *ret_joints)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *name;
	uint32_t count = 0;
	if (!host->must_move(self))
		return false;
	for (name = host->child(plugin, child, NULL); name; name = host->child(plugin, child, name))
		count++;
	if (!count)
		return host->leave_out(self, plugin, "the plugin has no <%s>: expected the name of a joint", child);
	uint32_t *joints = host->alloc(self, count * sizeof *joints);
	*ret_joints = (struct builtin_joints){joints, host->text(plugin, child, ""), count};
	name = NULL;
	for (uint32_t i = 0; i < count; i++) {
		name = host->child(plugin, child, name);
		joints[i] = host->joint(self, name, host->text_of(name));
		if (joints[i] == TROUPE_NOTHING)
			return false;
	}
	return true;
}

bool builtin_find_link(
	struct troupe_system *self, const struct troupe_element *plugin, const char *child, uint32_t *ret_link)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *name = host->child(plugin, child, NULL);
	if (!name)
		return host->leave_out(self, plugin, "the plugin has no <%s>: expected the name of a link", child);
	*ret_link = host->link(self, name, host->text_of(name));
	return *ret_link != TROUPE_NOTHING;
}

/* The child, if it exists and has a text; else NULL. */
static const struct troupe_element *builtin_parts_said(
	const struct troupe_system *self, const struct troupe_element *plugin, const char *child)
{
	const struct troupe_element *given = child ? self->host->child(plugin, child, NULL) : NULL;
	return given && *self->host->text_of(given) ? given : NULL;
}

bool builtin_is_named(const struct troupe_host *host, const struct troupe_element *plugin, const char *end)
{
	const char *name = host->attribute(plugin, "name");
	size_t length = name ? strlen(name) : 0, tail = strlen(end);
	return length > tail && !strcmp(name + length - tail, end);
}

bool builtin_find_fields(struct troupe_system *self, const struct builtin_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!(*fields[i].ret_field = self->host->field(self, fields[i].type, fields[i].path)))
			return false;
	return true;
}

const char *builtin_topic(struct troupe_system *self, const struct troupe_element *plugin, const char *child,
	const char *usual, const struct troupe_element **ret_at)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *given = builtin_parts_said(self, plugin, child);
	if (ret_at)
		*ret_at = given ? given : plugin;
	return given ? host->text_of(given) : host->print(self, "model/%s/%s", host->owner_name(self), usual);
}

bool builtin_take(struct troupe_system *self, const struct troupe_element *plugin, const char *child, const char *usual,
	const char *type, uint32_t input)
{
	const struct troupe_element *at;
	const char *topic = builtin_topic(self, plugin, child, usual, &at);
	return self->host->take(self, at, topic, type, input, TROUPE_NOTHING);
}

bool builtin_give(struct troupe_system *self, const struct troupe_element *plugin, const char *child, const char *usual,
	const struct troupe_output *output, uint32_t *ret_output)
{
	const struct troupe_element *given = builtin_parts_said(self, plugin, child);
	struct troupe_output named = *output;
	named.name = given ? self->host->text_of(given) : usual;
	return self->host->give(self, given ? given : plugin, &named, ret_output);
}

/* --- messages for one joint --------------------------------------------------------------------------------------- */

bool builtin_read_input(struct troupe_system *self, const struct troupe_element *plugin, const char *list,
	struct builtin_input *ret_input)
{
	const struct troupe_host *host = self->host;
	bool of_actuators = list && host->boolean(self, plugin, "use_actuator_msg", false);
	double number = host->number(self, plugin, "actuator_number", 0);
	if (of_actuators && !builtin_parts_said(self, plugin, "actuator_number"))
		return host->leave_out(self, plugin,
			"<use_actuator_msg> without <actuator_number>: expected the actuator's number, from 0");
	if (number != floor(number))
		return host->refuse(self, plugin, "<actuator_number> is %g: expected a whole number", number);
	*ret_input = (struct builtin_input){of_actuators ? host->field(self, "gz.msgs.Actuators", list)
							 : host->field(self, "gz.msgs.Double", "data"),
		of_actuators ? list : NULL, (uint32_t)number};
	return ret_input->field;
}

bool builtin_check_input(const struct troupe_system *self, const struct builtin_input *input, const char *joint,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	uint32_t count = input->list ? self->host->count(message, input->field) : UINT32_MAX;
	if (input->number < count)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES,
		"joint '%.100s' is actuator %u, from 0, of %s: expected more than %u numbers", joint, input->number,
		input->list, count);
	return false;
}

double builtin_input_of(const struct troupe_system *self, const struct builtin_input *input,
	const struct troupe_message *message, double otherwise)
{
	if (!input->list)
		return self->host->get(message, input->field, 0);
	if (input->number >= self->host->count(message, input->field))
		return otherwise;
	return self->host->get(message, input->field, input->number);
}

bool builtin_take_joint(struct troupe_system *self, const struct troupe_element *plugin,
	const struct builtin_joints *joints, const char *usual, const struct builtin_input *input)
{
	const struct troupe_host *host = self->host;
	const char *type = input->list ? "gz.msgs.Actuators" : "gz.msgs.Double";
	const struct troupe_element *sub = builtin_parts_said(self, plugin, "sub_topic"), *at;
	if (input->list && !sub && !builtin_parts_said(self, plugin, "topic"))
		return host->take(self, plugin, "actuators", type, 0, TROUPE_NOTHING);
	const char *rest = sub ? host->text_of(sub) : host->print(self, "joint/%s/%s", joints->first_name, usual);
	const char *topic = builtin_topic(self, plugin, "topic", rest, &at);
	return host->take(self, at, topic, type, 0, joints->at[0]);
}

/* strtod() with a point between digits, whatever the locale of the process. */
static double builtin_parts_read_number(const char *text, char **ret_end)
{
	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0), before = uselocale(plain);
	double number = strtod(text, ret_end);
	uselocale(before);
	freelocale(plain);
	return number;
}

double builtin_number_of(const char *text)
{
	return builtin_parts_read_number(text, NULL);
}

bool builtin_numbers_of(const char *text, double *ret_values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		char *end;
		double value = builtin_parts_read_number(text, &end);
		if (end == text || !(fabs(value) <= BUILTIN_NUMBER_MAX))
			return false;
		ret_values[i] = value;
		text = end;
	}
	return !text[strspn(text, " \t\r\n")];
}

/* --- drives ------------------------------------------------------------------------------------------------------- */

struct builtin_limits builtin_unlimited(void)
{
	return (struct builtin_limits){-HUGE_VAL, HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL, HUGE_VAL};
}

static void builtin_parts_read_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const char *of, struct builtin_limits *limits)
{
	const struct {
		const char *least, *name;
		double *value;
	} rows[] = {
		{"min", "velocity", &limits->velocity_min},
		{"max", "velocity", &limits->velocity_max},
		{"min", "acceleration", &limits->acceleration_min},
		{"max", "acceleration", &limits->acceleration_max},
		{"min", "jerk", &limits->jerk_min},
		{"max", "jerk", &limits->jerk_max},
	};
	const struct troupe_host *host = self->host;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		*rows[i].value = host->number(
			self, plugin, host->print(self, "%s_%s%s", rows[i].least, of, rows[i].name), *rows[i].value);
}

bool builtin_read_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const char *of, struct builtin_limits *limits)
{
	const char *what = strcmp(of, "linear_") == 0 ? "linear " : strcmp(of, "angular_") == 0 ? "angular " : "";
	builtin_parts_read_limits(self, plugin, of, limits);
	return limits->velocity_min <= limits->velocity_max ||
	       self->host->refuse(self, plugin, "the least %svelocity, %g, is above the greatest: expected at most %g",
		       what, limits->velocity_min, limits->velocity_max);
}

bool builtin_read_drive_limits(struct troupe_system *self, const struct troupe_element *plugin,
	struct builtin_limits *ret_linear, struct builtin_limits *ret_angular)
{
	struct builtin_limits both = builtin_unlimited();
	builtin_parts_read_limits(self, plugin, "", &both);
	*ret_linear = *ret_angular = both;
	return builtin_read_limits(self, plugin, "linear_", ret_linear) &&
	       builtin_read_limits(self, plugin, "angular_", ret_angular);
}

/* Changes `value` only if it is out of bounds, so that a value within bounds keeps its bits. */
double builtin_limit(double value, const struct builtin_limits *limits, double last, double before, double dt)
{
	double was = (last - before) / dt, jerk = ((value - last) / dt - was) / dt;
	if (jerk < limits->jerk_min || jerk > limits->jerk_max)
		value = last + (was + builtin_clamp(jerk, limits->jerk_min, limits->jerk_max) * dt) * dt;
	double acceleration = (value - last) / dt;
	if (acceleration < limits->acceleration_min || acceleration > limits->acceleration_max)
		value = last + builtin_clamp(acceleration, limits->acceleration_min, limits->acceleration_max) * dt;
	return builtin_clamp(value, limits->velocity_min, limits->velocity_max);
}

struct builtin_speed builtin_limit_speeds(struct builtin_speeds *speeds, const struct builtin_limits *linear,
	const struct builtin_limits *angular, double dt)
{
	struct builtin_speed now = {
		builtin_limit(speeds->target.linear, linear, speeds->last.linear, speeds->before.linear, dt),
		builtin_limit(speeds->target.angular, angular, speeds->last.angular, speeds->before.angular, dt),
	};
	speeds->before = speeds->last;
	speeds->last = now;
	return now;
}

bool builtin_give_odometry(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *model = host->owner_name(self);
	const char *body = host->link_name(self, host->frame_link(self)), *link = strrchr(body, ':');
	struct troupe_output output = {
		.gives = TROUPE_GIVES_ODOMETRY,
		.rate_hz = host->number(self, plugin, "odom_publish_frequency", 50),
		.frame = host->text(plugin, "frame_id", host->print(self, "%s/odom", model)),
		.child_frame =
			host->text(plugin, "child_frame_id", host->print(self, "%s/%s", model, link ? link + 1 : body)),
	};
	if (host->boolean(self, plugin, "publish_odometry", true) &&
		!builtin_give(self, plugin, "odom_topic", host->print(self, "model/%s/odometry", model), &output, NULL))
		return false;
	output.gives = TROUPE_GIVES_TF;
	return !host->boolean(self, plugin, "publish_tf", true) ||
	       builtin_give(self, plugin, "tf_topic", host->print(self, "model/%s/tf", model), &output, NULL);
}

/* By its series where that is exact to the last place. */
double builtin_chord(const struct troupe_host *host, double turn)
{
	double half = turn / 2, square = half * half;
	if (square < 0.01)
		return 1 - square / 6 * (1 - square / 20 * (1 - square / 42 * (1 - square / 72)));
	return host->sin(half) / half;
}

void builtin_reckon(const struct troupe_host *host, struct builtin_reckoned *reckoned, double ahead, double turn)
{
	double chord = ahead * builtin_chord(host, turn), sine, cosine;
	host->sincos(reckoned->yaw + turn / 2, &sine, &cosine);
	reckoned->x += chord * cosine;
	reckoned->y += chord * sine;
	reckoned->yaw += turn;
}

struct troupe_pose builtin_axle(
	const struct troupe_system *self, uint32_t left_joint, uint32_t right_joint, double back)
{
	const struct troupe_host *host = self->host;
	struct troupe_vec3 left = host->joint_in_model(self, left_joint);
	struct troupe_vec3 right = host->joint_in_model(self, right_joint);
	struct troupe_vec3 across = troupe_vec3_sub(left, right);
	double half = host->atan2(-across.x, across.y) / 2;
	struct troupe_quat q = {host->cos(half), 0, 0, host->sin(half)};
	struct troupe_pose between = troupe_pose_make(troupe_vec3_scale(troupe_vec3_add(left, right), 0.5), q);
	if (back == 0)
		return between;
	return troupe_pose_make(troupe_pose_point(between, troupe_vec3_make(-back, 0, 0)), q);
}

/* --- PID ---------------------------------------------------------------------------------------------------------- */

void builtin_read_pid(
	struct troupe_system *self, const struct troupe_element *plugin, const char *before, struct builtin_pid *pid)
{
	const struct {
		const char *name;
		double *value;
	} numbers[] = {
		{"p_gain", &pid->p},
		{"i_gain", &pid->i},
		{"d_gain", &pid->d},
		{"i_max", &pid->i_max},
		{"i_min", &pid->i_min},
		{"cmd_max", &pid->cmd_max},
		{"cmd_min", &pid->cmd_min},
		{"cmd_offset", &pid->cmd_offset},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = self->host->number(
			self, plugin, self->host->print(self, "%s%s", before, numbers[i].name), *numbers[i].value);
}

double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt)
{
	const double most = BUILTIN_NUMBER_MAX;
	double rate = (error - words->last_error) / dt;
	words->last_error = error;
	/* the integral includes the gain, so its limits have the unit of the output; it is bounded even without
	 * limits */
	words->integral = builtin_clamp(words->integral + pid->i * error * dt, -most, most);
	if (pid->i_max >= pid->i_min)
		words->integral = builtin_clamp(words->integral, pid->i_min, pid->i_max);
	double out = pid->cmd_offset - pid->p * error - words->integral - pid->d * rate;
	if (pid->cmd_max >= pid->cmd_min)
		out = builtin_clamp(out, pid->cmd_min, pid->cmd_max);
	return builtin_clamp(out, -most, most);
}

double builtin_velocity_to(double distance, double gain, double dt)
{
	return gain > 0 && gain * dt < 1 ? gain * distance : distance / dt;
}

/* --- servos ------------------------------------------------------------------------------------------------------- */

void builtin_drive_servo(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_servo *servo, struct builtin_pid_words *words, double target)
{
	const struct troupe_host *host = self->host;
	double is = servo->drive == BUILTIN_SERVO_POSITION ? host->joint_position(step, servo->joint, 0, TROUPE_NOW)
							   : host->joint_velocity(step, servo->joint, 0, TROUPE_NOW);
	if (servo->drive == BUILTIN_SERVO_EFFORT)
		host->joint_force(step, servo->joint, target);
	else if (servo->by_force)
		host->joint_force(step, servo->joint, builtin_pid_update(&servo->pid, words, is - target, step->dt));
	else if (servo->drive == BUILTIN_SERVO_VELOCITY)
		host->joint_drive(step, servo->joint, target);
	else
		host->joint_drive(step, servo->joint, builtin_velocity_to(target - is, 0, step->dt));
}

/* --- controllers of joints ---------------------------------------------------------------------------------------- */

const struct troupe_words builtin_control_words[] = {{"target", TROUPE_WORD_DOUBLE}, {"integral", TROUPE_WORD_DOUBLE},
	{"last error", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

bool builtin_read_control(struct troupe_system *self, const struct troupe_element *plugin, const char *begin,
	struct builtin_control *control)
{
	if (!builtin_find_joints(self, plugin, "joint_name", &control->joints))
		return false;
	control->begin = self->host->number(self, plugin, begin, 0);
	builtin_read_pid(self, plugin, "", &control->pid);
	return true;
}

bool builtin_take_control(struct troupe_system *self, const struct troupe_element *plugin, const char *list,
	const char *usual, struct builtin_control *control)
{
	return builtin_read_input(self, plugin, list, &control->input) &&
	       builtin_take_joint(self, plugin, &control->joints, usual, &control->input);
}

void builtin_control_init(const struct troupe_system *self, void *words)
{
	((struct builtin_control_words *)words)->target = ((const struct builtin_control *)self->config)->begin;
}

bool builtin_control_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct builtin_control *control = self->config;
	(void)input;
	return builtin_check_input(self, &control->input, control->joints.first_name, message, why);
}

void builtin_control_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct builtin_control *control = self->config;
	struct builtin_control_words *w = words;
	(void)input;
	w->target = builtin_input_of(self, &control->input, message, w->target);
}
