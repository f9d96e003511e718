/* A motor with a rotor: thrust along the z axis of its link, and the torque of
 * the air on the parent of its joint.
 *
 *     thrust = motorConstant omega^2,  torque = -momentConstant thrust about
 * the same axis drag = -|omega| rotorDragCoefficient v_across,  rolling torque
 * = -|omega| rollingMomentCoefficient v_across
 *
 * omega in rad/s; v_across: the link's velocity relative to the air, without
 * the part along the joint's axis (P. Martin and E. Salaun, The True Role of
 * Accelerometer Feedback in Quadrotor Control, 2010). Element <motorNumber> of
 * the Actuators' velocities is the wanted speed; the motor follows it as a
 * first-order lag with timeConstantUp or timeConstantDown. The joint turns
 * slower than the motor by rotorVelocitySlowdownSim. Parameters and defaults
 * are those of Gazebo's MulticopterMotorModel. */
#include "builtin/parts.h"

#include <stdio.h>
#include <string.h>

struct motor_model_config {
	uint32_t joint, link, parent, number;
	double sign; /* of the turn: 1: counter-clockwise */
	double most, force, moment, drag, rolling, slowdown, up, down;
	struct troupe_vec3 wind;
	const struct troupe_field *velocity;
};

struct motor_model_words {
	double wanted, speed; /* rad/s of the motor */
};

static const struct troupe_words motor_model_words_of[] = {
	{"wanted speed", TROUPE_WORD_DOUBLE}, {"speed", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static const struct troupe_parameter motor_model_parameters[] = {
	BUILTIN_TEXT("jointName", "the rotor's joint"),
	BUILTIN_TEXT("linkName", "the rotor's link"),
	BUILTIN_TEXT("robotNamespace", "in the name of the topic; default: the model's name"),
	BUILTIN_TEXT("commandSubTopic", "of the Actuators: /NAMESPACE/TOPIC, beside /model/NAME/command/motor_speed"),
	BUILTIN_BETWEEN("motorNumber", 0, 99999, "which of the velocities, from 0"),
	BUILTIN_BETWEEN("actuator_number", 0, 99999, "the same"),
	BUILTIN_TEXT("turningDirection", "cw or ccw, default cw"),
	BUILTIN_TEXT("motorType", "velocity; other types are left out"),
	BUILTIN_BETWEEN("maxRotVelocity", 0, BUILTIN_NUMBER_MAX, "rad/s, default 838"),
	BUILTIN_NUMBER("motorConstant", "N s2/rad2, default 8.54858e-06"),
	BUILTIN_NUMBER("momentConstant", "m, default 0.016"),
	BUILTIN_NUMBER("rotorDragCoefficient", "default 1e-4"),
	BUILTIN_NUMBER("rollingMomentCoefficient", "default 1e-6"),
	BUILTIN_BETWEEN("rotorVelocitySlowdownSim", 1e-6, 1e6, "default 10"),
	BUILTIN_BETWEEN("timeConstantUp", 1e-6, BUILTIN_NUMBER_MAX, "s, default 1/80"),
	BUILTIN_BETWEEN("timeConstantDown", 1e-6, BUILTIN_NUMBER_MAX, "s, default 1/40"),
	BUILTIN_TEXT("motorSpeedPubTopic", "has no effect"),
	BUILTIN_END,
};

static bool motor_model_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct motor_model_config *config)
{
	const struct troupe_host *host = self->host;
	double number = host->number(self, plugin, "motorNumber", host->number(self, plugin, "actuator_number", 0));
	const struct {
		const char *name;
		double *value, usual;
	} numbers[] = {
		{"maxRotVelocity", &config->most, 838},
		{"motorConstant", &config->force, 8.54858e-06},
		{"momentConstant", &config->moment, 0.016},
		{"rotorDragCoefficient", &config->drag, 1e-4},
		{"rollingMomentCoefficient", &config->rolling, 1e-6},
		{"rotorVelocitySlowdownSim", &config->slowdown, 10},
		{"timeConstantUp", &config->up, 1.0 / 80},
		{"timeConstantDown", &config->down, 1.0 / 40},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = host->number(self, plugin, numbers[i].name, numbers[i].usual);
	config->number = (uint32_t)number;
	return number == floor(number) ||
	       host->refuse(self, plugin, "<motorNumber> is %g: expected a whole number", number);
}

static bool motor_model_read_texts(
	struct troupe_system *self, const struct troupe_element *plugin, struct motor_model_config *config)
{
	const struct troupe_host *host = self->host;
	const char *turns = host->text(plugin, "turningDirection", "cw");
	const char *type = host->text(plugin, "motorType", "velocity");
	config->sign = strcmp(turns, "ccw") ? -1 : 1;
	if (strcmp(turns, "ccw") != 0 && strcmp(turns, "cw") != 0)
		return host->refuse(self, plugin, "<turningDirection> is '%.80s': expected cw or ccw", turns);
	return !strcmp(type, "velocity") ||
	       host->leave_out(self, plugin, "<motorType> is '%.80s': expected velocity", type);
}

static bool motor_model_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct motor_model_config *config = self->config = host->alloc(self, sizeof *config);
	struct builtin_joints joints;
	if (!builtin_find_joints(self, plugin, "jointName", &joints) ||
		!builtin_find_link(self, plugin, "linkName", &config->link) ||
		!motor_model_read_numbers(self, plugin, config) || !motor_model_read_texts(self, plugin, config))
		return false;
	config->joint = joints.at[0];
	config->parent = host->joint_parent(self, config->joint);
	config->wind = host->wind(self);
	config->velocity = host->field(self, "gz.msgs.Actuators", "velocity");
	const char *space = host->text(plugin, "robotNamespace", host->owner_name(self));
	const char *own = host->print(self, "%s/%s", space, host->text(plugin, "commandSubTopic", ""));
	const char *usual = builtin_motor_topic(self);
	if (strcmp(own + (*own == '/'), usual + 1) != 0 &&
		!host->take(self, plugin, usual, "gz.msgs.Actuators", 0, config->joint))
		return false;
	return host->take(self, plugin, own, "gz.msgs.Actuators", 0, config->joint);
}

static bool motor_model_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct motor_model_config *config = self->config;
	uint32_t count = self->host->count(message, config->velocity);
	(void)input;
	if (config->number < count)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "motor %u, from 0, of velocity: expected more than %u numbers",
		config->number, count);
	return false;
}

static void motor_model_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct motor_model_config *config = self->config;
	(void)input;
	if (config->number < self->host->count(message, config->velocity))
		((struct motor_model_words *)words)->wanted = builtin_clamp(
			self->host->get(message, config->velocity, config->number), -BUILTIN_NUMBER_MAX, config->most);
}

/* Forces of the air on a rotor that turns with omega. */
static void motor_model_push(const struct troupe_system *self, const struct troupe_step *step, double omega)
{
	const struct troupe_host *host = self->host;
	const struct motor_model_config *config = self->config;
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_vec3 up = troupe_quat_rotate(turn, troupe_vec3_make(0, 0, 1)), zero = {0, 0, 0};
	struct troupe_vec3 axis = host->joint_axis(step, config->joint, 0, TROUPE_NOW).direction;
	struct troupe_vec3 air = troupe_vec3_sub(host->link_twist(step, config->link, TROUPE_NOW).linear, config->wind);
	struct troupe_vec3 across = troupe_vec3_sub(air, troupe_vec3_scale(axis, troupe_vec3_dot(air, axis)));
	double thrust = config->sign * config->force * omega * fabs(omega);
	struct troupe_vec3 force =
		troupe_vec3_add(troupe_vec3_scale(up, thrust), troupe_vec3_scale(across, -fabs(omega) * config->drag));
	struct troupe_vec3 torque = troupe_vec3_add(troupe_vec3_scale(up, -config->sign * thrust * config->moment),
		troupe_vec3_scale(across, -fabs(omega) * config->rolling));
	host->link_force(step, config->link,
		troupe_pose_point(troupe_pose_inverse(host->link_pose(step, config->link, TROUPE_NOW)),
			host->centre(step, config->link, TROUPE_NOW)),
		(struct troupe_wrench){force, zero});
	if (config->parent != TROUPE_NOTHING)
		host->link_force(step, config->parent, zero, (struct troupe_wrench){zero, torque});
}

static void motor_model_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct motor_model_config *config = self->config;
	struct motor_model_words *w = words;
	motor_model_push(self, step, host->joint_velocity(step, config->joint, 0, TROUPE_NOW) * config->slowdown);
	double rest = host->exp(-step->dt / (w->wanted > w->speed ? config->up : config->down));
	w->speed = rest * w->speed + (1 - rest) * w->wanted;
	host->joint_drive(step, config->joint, config->sign * w->speed / config->slowdown);
}

const struct troupe_kind builtin_multicopter_motor_model = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"gz::sim::systems::MulticopterMotorModel",
		"ignition::gazebo::systems::MulticopterMotorModel", "troupe::MulticopterMotorModel",
		"libgazebo_motor_model.so", NULL},
	.parameters = motor_model_parameters,
	.words = motor_model_words_of,
	.configure = motor_model_configure,
	.check = motor_model_check,
	.command = motor_model_command,
	.pre_update = motor_model_pre_update,
};
