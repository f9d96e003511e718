/* A propeller in water: it pushes its link along the axis of its joint, and it turns.
 *
 *     thrust = fluid_density thrust_coefficient propeller_diameter^4 |omega| omega
 *
 * omega in rad/s (T. I. Fossen, Guidance and Control of Ocean Vehicles, p. 246). A command is a thrust, or a speed of
 * the propeller with <use_angvel_cmd>; the other of the two follows from the formula. Without <thrust_coefficient> it
 * is alpha_1 + alpha_2 (1 - wake_fraction) v / (omega propeller_diameter), with the speed v of the link. The propeller
 * turns at once with <velocity_control>, else by a torque on it from a PID. It neither pushes nor turns while a battery
 * of the model is empty, which releases the joint; the battery of the model that <battery_name> names has the
 * <power_load> in addition to its own. Parameters and topics are those of Gazebo's Thruster. */
#include "builtin/parts.h"

#include <string.h>

enum { THRUST_MAX = 1000 }; /* N, unless the world says more */
enum thruster_input { INPUT_COMMAND, INPUT_DEADBAND };
enum thruster_flags { DEADBAND = 1, RELEASED = 2 }; /* the second: in the last step */

struct thruster_config {
	uint32_t joint, link, output;
	const struct troupe_field *number, *flag;
	bool by_speed, by_velocity, coefficient_given, deadband_given;
	double coefficient, diameter, density, least, most, wake, alpha_1, alpha_2, deadband;
	struct builtin_pid pid;
};

struct thruster_words {
	double thrust, speed;     /* commanded: N, rad/s */
	double coefficient, flow; /* flow: m/s of the link in the last step */
	uint64_t flags;
	struct builtin_pid_words pid;
	double turned; /* what the feedback topic shows: rad/s or N */
};

static const struct troupe_words thruster_words_of[] = {
	{"thrust", TROUPE_WORD_DOUBLE},
	{"propeller speed", TROUPE_WORD_DOUBLE},
	{"thrust coefficient", TROUPE_WORD_DOUBLE},
	{"speed of the link", TROUPE_WORD_DOUBLE},
	{"deadband is on (1), joint is released (2)", TROUPE_WORD_INTEGER},
	{"integral", TROUPE_WORD_DOUBLE},
	{"last error", TROUPE_WORD_DOUBLE},
	{"feedback", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct thruster_words) == (sizeof thruster_words_of / sizeof *thruster_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter thruster_parameters[] = {
	BUILTIN_TEXT("joint_name", "the propeller's joint"),
	BUILTIN_TEXT("namespace", "in the names of topics; default: the model's name"),
	BUILTIN_TEXT("topic",
		"of the command: /NAMESPACE/TOPIC; default: /model/NAMESPACE/joint/JOINT/cmd_thrust or cmd_vel"),
	BUILTIN_BOOL("use_angvel_cmd", "the command is a speed in rad/s; default false: a thrust in N"),
	BUILTIN_NUMBER("thrust_coefficient", "default: from alpha_1 and alpha_2"),
	BUILTIN_BETWEEN("propeller_diameter", 1e-3, 1e3, "m, default 0.02"),
	BUILTIN_BETWEEN("fluid_density", 1e-6, BUILTIN_NUMBER_MAX, "kg/m3, default 1000"),
	BUILTIN_NUMBER("wake_fraction", "default 0.2"),
	BUILTIN_NUMBER("alpha_1", "default 1"),
	BUILTIN_NUMBER("alpha_2", "default 0"),
	BUILTIN_NUMBER("max_thrust_cmd", "greatest command, default 1000"),
	BUILTIN_NUMBER("min_thrust_cmd", "least command, default -1000"),
	BUILTIN_BETWEEN("deadband", 0, BUILTIN_NUMBER_MAX, "N, no smaller thrust; default: none"),
	BUILTIN_BOOL("velocity_control", "the joint turns at the speed; default false: by the PID"),
	BUILTIN_NUMBER("p_gain", "of the PID, default 0.1"),
	BUILTIN_NUMBER("i_gain", "default 0"),
	BUILTIN_NUMBER("d_gain", "default 0"),
	BUILTIN_NUMBER("power_load", "W, from the battery that <battery_name> names"),
	BUILTIN_TEXT("battery_name", "a LinearBatteryPlugin of the model"),
	BUILTIN_END,
};

static double thruster_fourth_power(double d)
{
	return d * d * d * d;
}

/* The speed at which the propeller has this thrust. */
static double thruster_speed_of(const struct thruster_config *config, double coefficient, double thrust)
{
	double square = thrust / (config->density * coefficient * thruster_fourth_power(config->diameter));
	double speed = square ? copysign(sqrt(fabs(square)), square) : 0;
	return builtin_clamp(speed, -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
}

static double thruster_thrust_of(const struct thruster_config *config, double coefficient, double speed)
{
	return config->density * coefficient * thruster_fourth_power(config->diameter) * fabs(speed) * speed;
}

/* As in Gazebo, bounds that exclude one another are none. */
static void thruster_read_bounds(
	struct troupe_system *self, const struct troupe_element *plugin, struct thruster_config *config)
{
	const struct troupe_host *host = self->host;
	config->most = host->number(self, plugin, "max_thrust_cmd", THRUST_MAX);
	config->least = host->number(self, plugin, "min_thrust_cmd", -THRUST_MAX);
	if (config->least <= config->most)
		return;
	host->warn(self, plugin,
		"<min_thrust_cmd> is %g: expected at most <max_thrust_cmd>, %g: commands are limited to %d N instead",
		config->least, config->most, THRUST_MAX);
	config->most = THRUST_MAX;
	config->least = -THRUST_MAX;
}

static bool thruster_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct thruster_config *config)
{
	const struct {
		const char *name;
		double *value, usual;
	} numbers[] = {
		{"thrust_coefficient", &config->coefficient, 1},
		{"propeller_diameter", &config->diameter, 0.02},
		{"fluid_density", &config->density, 1000},
		{"wake_fraction", &config->wake, 0.2},
		{"alpha_1", &config->alpha_1, 1},
		{"alpha_2", &config->alpha_2, 0},
		{"deadband", &config->deadband, 0},
		{"p_gain", &config->pid.p, 0.1},
		{"i_gain", &config->pid.i, 0},
		{"d_gain", &config->pid.d, 0},
	};
	const struct troupe_host *host = self->host;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = host->number(self, plugin, numbers[i].name, numbers[i].usual);
	config->coefficient_given = host->child(plugin, "thrust_coefficient", NULL);
	config->deadband_given = host->child(plugin, "deadband", NULL);
	if (config->coefficient_given && !config->coefficient)
		return host->refuse(self, plugin, "<thrust_coefficient> is 0: expected a number above or below 0");
	thruster_read_bounds(self, plugin, config);
	return true;
}

/* Gazebo adds the load to whichever battery of the world has the name; here a battery is state of its model. */
static void thruster_check_battery(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *name = host->text(plugin, "battery_name", "");
	const struct troupe_element *e = NULL;
	if (!host->number(self, plugin, "power_load", 0))
		return;
	while ((e = host->sibling(self, e)))
		if (builtin_is_named(host, e, "::LinearBatteryPlugin") &&
			!strcmp(host->text(e, "battery_name", ""), name))
			return;
	host->warn(self, plugin, "<power_load> has no effect: there is no LinearBatteryPlugin '%.80s' in model '%.80s'",
		name, host->owner_name(self));
}

/* The names of topics begin with this text. */
static const char *thruster_stem_of(struct troupe_system *self, const struct troupe_element *plugin, const char *joint)
{
	const struct troupe_host *host = self->host;
	const char *space = host->text(plugin, "namespace", host->owner_name(self));
	const char *topic = host->text(plugin, "topic", "");
	return *topic ? host->print(self, "%s/%s", space, topic) : host->print(self, "model/%s/joint/%s", space, joint);
}

static bool thruster_take(
	struct troupe_system *self, const struct troupe_element *plugin, struct thruster_config *config)
{
	const struct troupe_host *host = self->host;
	const char *stem = thruster_stem_of(self, plugin, host->text(plugin, "joint_name", ""));
	const char *usual = config->by_speed ? "cmd_vel" : "cmd_thrust";
	const char *command = *host->text(plugin, "topic", "") ? stem : host->print(self, "%s/%s", stem, usual);
	struct troupe_output output = {
		.name = host->print(self, "%s/%s", stem, config->by_speed ? "force" : "ang_vel"),
		.type = "gz.msgs.Double",
		.gives = TROUPE_GIVES_REPORT,
	};
	return host->take(self, plugin, command, "gz.msgs.Double", INPUT_COMMAND, config->joint) &&
	       host->take(self, plugin, host->print(self, "%s/enable_deadband", stem), "gz.msgs.Boolean",
		       INPUT_DEADBAND, TROUPE_NOTHING) &&
	       host->give(self, plugin, &output, &config->output);
}

static bool thruster_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct thruster_config *config = self->config = host->alloc(self, sizeof *config);
	struct builtin_joints joints;
	config->number = host->field(self, "gz.msgs.Double", "data");
	config->flag = host->field(self, "gz.msgs.Boolean", "data");
	config->by_speed = host->boolean(self, plugin, "use_angvel_cmd", false);
	config->by_velocity = host->boolean(self, plugin, "velocity_control", false);
	if (!builtin_find_joints(self, plugin, "joint_name", &joints) || !thruster_read_numbers(self, plugin, config))
		return false;
	config->joint = joints.at[0];
	config->link = host->joint_child(self, config->joint);
	config->pid.i_max = 1;
	config->pid.i_min = -1;
	config->pid.cmd_max = fabs(thruster_speed_of(config, config->coefficient, config->most));
	config->pid.cmd_min = -fabs(thruster_speed_of(config, config->coefficient, config->least));
	if (config->link == TROUPE_NOTHING)
		return host->leave_out(self, plugin, "the joint moves no link");
	thruster_check_battery(self, plugin);
	return thruster_take(self, plugin, config);
}

static void thruster_init(const struct troupe_system *self, void *words)
{
	const struct thruster_config *config = self->config;
	struct thruster_words *w = words;
	w->coefficient = config->coefficient;
	w->flags = config->deadband_given ? DEADBAND : 0;
}

static void thruster_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct thruster_config *config = self->config;
	struct thruster_words *w = words;
	if (input == INPUT_DEADBAND) {
		bool on = self->host->get(message, config->flag, 0) != 0;
		w->flags = on ? w->flags | DEADBAND : w->flags & ~(uint64_t)DEADBAND;
		return;
	}
	double number = builtin_clamp(self->host->get(message, config->number, 0), config->least, config->most);
	w->speed = config->by_speed ? number : thruster_speed_of(config, w->coefficient, number);
	w->thrust = config->by_speed ? thruster_thrust_of(config, w->coefficient, number) : number;
}

/* Without a speed there is no coefficient of it: the last one holds, so that
 * the propeller begins to turn. */
static void thruster_follow_flow(const struct thruster_config *config, struct thruster_words *w)
{
	if (!config->coefficient_given && fabs(w->speed) > 1e-9) {
		double advance = (1 - config->wake) * w->flow / (w->speed * config->diameter);
		w->coefficient = config->alpha_1 + config->alpha_2 * advance;
	}
	w->speed = thruster_speed_of(config, w->coefficient, w->thrust);
}

/* The torque on the propeller, in N m about its axis. An error below 0.1 rad/s
 * is none. */
static double thruster_torque_of(
	const struct thruster_config *config, struct thruster_words *w, double error, double dt)
{
	return fabs(error) > 0.1 ? builtin_pid_update(&config->pid, &w->pid, error, dt) : 0;
}

static void thruster_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct thruster_config *config = self->config;
	struct thruster_words *w = words;
	if (w->flags & RELEASED)
		return;
	thruster_follow_flow(config, w);
	bool too_small = w->flags & DEADBAND && fabs(w->thrust) < config->deadband;
	double thrust = too_small ? 0 : w->thrust, speed = too_small ? 0 : w->speed, torque = 0;
	struct troupe_vec3 axis = host->joint_axis(step, config->joint, 0, TROUPE_NOW).direction;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	double turns = config->by_velocity ? speed : troupe_vec3_dot(twist.angular, axis);
	if (config->by_velocity)
		host->joint_drive(step, config->joint, speed);
	else
		torque = thruster_torque_of(config, w, turns - speed, step->dt);
	host->link_force(step, config->link, troupe_vec3_make(0, 0, 0),
		(struct troupe_wrench){troupe_vec3_scale(axis, thrust), troupe_vec3_scale(axis, torque)});
	w->turned = config->by_speed ? thrust : turns;
	w->flow = troupe_vec3_length(twist.linear);
}

static void thruster_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct thruster_config *config = self->config;
	struct thruster_words *w = words;
	bool released = self->host->joint_released(step, config->joint);
	w->flags = released ? w->flags | RELEASED : w->flags & ~(uint64_t)RELEASED;
}

static bool thruster_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	(void)step;
	(void)output;
	self->host->put(message, ((const struct thruster_config *)self->config)->number,
		((const struct thruster_words *)words)->turned);
	return true;
}

const struct troupe_kind builtin_thruster = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("Thruster"),
	.parameters = thruster_parameters,
	.words = thruster_words_of,
	.configure = thruster_configure,
	.init = thruster_init,
	.command = thruster_command,
	.pre_update = thruster_pre_update,
	.post_update = thruster_post_update,
	.report = thruster_report,
};
