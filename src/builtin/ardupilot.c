/* A vehicle of ArduPilot: servo outputs drive its joints, and its state is published as ArduPilot wants it. The gateway
 * `ardupilot` (src/gateway/ardupilot) carries both to ArduPilot's SITL; any program can take its place.
 *
 * /ardupilot/PORT/servos: gz.msgs.Actuators, the pulse width of each channel in us as `position`. PORT is
 * <fdm_port_in>: by it ArduPilot knows the vehicle. /ardupilot/PORT/state: gz.msgs.Odometry in each step: the airplane
 * (x forward, y right, z down) in the frame that <gazeboXYZToNED> says (x north, y east, z down), and the velocity of
 * its origin in that frame; both of the link with the IMU. The header says what else the vehicle has: "imu", the name
 * of the IMU; "wind", of the world, in the same frame, m/s; "range 1" to "range 6", topics of rangefinders.
 *
 * Of a channel:  command = multiplier (clamp((us - servo_min) / (servo_max - servo_min), 0, 1) + offset). Nothing is
 * driven before the first servo outputs have come. Parameters, defaults and formulas are those of ArduPilot's plug-in
 * for Gazebo (github.com/ArduPilot/ardupilot_gazebo). */
#include "builtin/parts.h"

#include <stdio.h>
#include <string.h>

enum {
	ARDUPILOT_CHANNELS_MAX = 32,
	ARDUPILOT_CONTROLS_MAX = 255,
	ARDUPILOT_RANGES_MAX = 6,
	ARDUPILOT_PORT = 9002,
	ARDUPILOT_STATE_FIELDS = 10,
};

struct ardupilot_control {
	struct builtin_servo servo;
	bool drives; /* the joint; else the command goes to the output */
	uint32_t channel, output;
	double multiplier, offset, least_us, most_us, slowdown;
};

struct ardupilot_config {
	struct ardupilot_control *controls;
	uint32_t control_count, channel_count, link, output;
	struct troupe_quat to_ned; /* of vectors of the world */
	struct troupe_vec3 ned_origin;
	struct troupe_pose airplane; /* in the frame of the link */
	const char *imu, *wind, *ranges[ARDUPILOT_RANGES_MAX];
	const struct troupe_field *servos, *header, *key, *value, *data, *state[ARDUPILOT_STATE_FIELDS];
};

struct ardupilot_control_words {
	double command;
	struct builtin_pid_words pid;
};

struct ardupilot_words {
	uint64_t is_driven; /* servo outputs have come */
	struct ardupilot_control_words controls[];
};

static const struct troupe_parameter ardupilot_parameters[] = {
	BUILTIN_TEXT("fdm_addr", "has no effect: see --serve ardupilot=ADDRESS"),
	BUILTIN_BETWEEN("fdm_port_in", 1, 65535, "UDP port of the vehicle, default 9002"),
	BUILTIN_NUMBER("fdm_port_out", "has no effect: ArduPilot's address is known from its packets"),
	BUILTIN_NUMBER("connectionTimeoutMaxCount", "has no effect"),
	BUILTIN_BOOL("lock_step", "has no effect: each step waits for ArduPilot once it is there"),
	BUILTIN_BOOL("have_32_channels", "has no effect: packets say how many channels they have"),
	{"modelXYZToAirplaneXForwardZDown", TROUPE_POSE, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX,
		"the airplane's frame in the model's, default 0 0 0 pi 0 0"},
	{"gazeboXYZToNED", TROUPE_POSE, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX,
		"the frame of ArduPilot's world in ours, default 0 0 0 pi 0 0; x east, y north: 0 0 0 pi 0 pi/2"},
	BUILTIN_TEXT("imuName", "LINK::SENSOR; default imu_sensor"),
	BUILTIN_TEXT("anemometer", "has no effect: the wind of the world is used"),
	BUILTIN_PARTS("sensor", "a rangefinder: <index>, from 1 to 6, and <topic> of its LaserScan"),
	BUILTIN_PARTS("control", "what a channel drives"),
	BUILTIN_PARTS("rotor", "the same, an older name"),
	BUILTIN_END,
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

static bool ardupilot_read_type(
	struct troupe_system *self, const struct troupe_element *at, struct ardupilot_control *control)
{
	static const char *const types[] = {[BUILTIN_SERVO_VELOCITY] = "VELOCITY",
		[BUILTIN_SERVO_POSITION] = "POSITION",
		[BUILTIN_SERVO_EFFORT] = "EFFORT"};
	const char *type = self->host->text(at, "type", "VELOCITY");
	control->drives = strcmp(type, "COMMAND") != 0;
	for (uint32_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(type, types[i])) {
			control->servo.drive = (enum builtin_servo_drive)i;
			return true;
		}
	if (!control->drives)
		return true;
	return self->host->refuse(self, at, "<type> is '%.40s': expected VELOCITY, POSITION, EFFORT or COMMAND", type);
}

static bool ardupilot_read_channel(
	struct troupe_system *self, const struct troupe_element *at, uint32_t order, struct ardupilot_control *control)
{
	const struct troupe_host *host = self->host;
	const char *given = host->attribute(at, "channel");
	given = given ? given : host->attribute(at, "id");
	double channel = given ? builtin_number_of(given) : order;
	if (!(channel >= 0 && channel < ARDUPILOT_CHANNELS_MAX) || channel != floor(channel))
		return host->refuse(self, at, "channel is '%.40s': expected 0 to %d", given ? given : "",
			ARDUPILOT_CHANNELS_MAX - 1);
	control->channel = (uint32_t)channel;
	return true;
}

static bool ardupilot_read_numbers(
	struct troupe_system *self, const struct troupe_element *at, struct ardupilot_control *control)
{
	const struct troupe_host *host = self->host;
	const char *turns = host->text(at, "turningDirection", "1");
	double usual = !strcmp(turns, "cw") ? -1 : !strcmp(turns, "ccw") ? 1 : builtin_number_of(turns);
	control->multiplier = host->number(self, at, "multiplier", usual);
	control->offset = host->number(self, at, "offset", 0);
	control->least_us = host->number(self, at, "servo_min", 1000);
	control->most_us = host->number(self, at, "servo_max", 2000);
	control->slowdown = host->number(self, at, "rotorVelocitySlowdownSim", 1);
	control->servo.by_force = host->boolean(self, at, "useForce", true);
	control->servo.pid = (struct builtin_pid){0.1, 0, 0, 0, 0, 1, -1, 0};
	builtin_read_pid(self, at, "vel_", &control->servo.pid);
	builtin_read_pid(self, at, "", &control->servo.pid);
	if (control->slowdown == 0)
		control->slowdown = 1;
	return control->least_us != control->most_us ||
	       host->refuse(self, at, "<servo_min> and <servo_max> are both %g us", control->least_us);
}

/* Channels whose command goes to a topic: other systems listen to it. */
static bool ardupilot_give_command(struct troupe_system *self, const struct troupe_element *at, const char *joint,
	struct ardupilot_control *control)
{
	const struct troupe_host *host = self->host;
	const char *usual = host->print(
		self, "/world/%s/model/%s/joint/%s/cmd", host->world_name(self), host->owner_name(self), joint);
	return builtin_give(self, at, "cmd_topic", usual,
		&(struct troupe_output){.type = "gz.msgs.Double", .gives = TROUPE_GIVES_REPORT}, &control->output);
}

static bool ardupilot_read_control(
	struct troupe_system *self, const struct troupe_element *at, uint32_t order, struct ardupilot_control *control)
{
	struct builtin_joints joints;
	control->output = TROUPE_NOTHING;
	if (!ardupilot_read_type(self, at, control) || !ardupilot_read_channel(self, at, order, control) ||
		!ardupilot_read_numbers(self, at, control) || !builtin_find_joints(self, at, "jointName", &joints))
		return false;
	control->servo.joint = joints.at[0];
	return control->drives || ardupilot_give_command(self, at, joints.first_name, control);
}

static const struct troupe_element *ardupilot_next_control(
	const struct troupe_host *host, const struct troupe_element *plugin, const struct troupe_element *after)
{
	do
		after = host->child(plugin, NULL, after);
	while (after && strcmp(host->name_of(after), "control") != 0 && strcmp(host->name_of(after), "rotor") != 0);
	return after;
}

static bool ardupilot_read_controls(
	struct troupe_system *self, const struct troupe_element *plugin, struct ardupilot_config *config)
{
	const struct troupe_host *host = self->host;
	uint32_t count = 0;
	for (const struct troupe_element *at = NULL; (at = ardupilot_next_control(host, plugin, at));)
		count++;
	if (count > ARDUPILOT_CONTROLS_MAX)
		return host->refuse(self, plugin, "%u controls: expected at most %d", count, ARDUPILOT_CONTROLS_MAX);
	config->controls = host->alloc(self, (count + 1) * sizeof *config->controls);
	const struct troupe_element *at = NULL;
	for (uint32_t i = 0; i < count; i++) {
		at = ardupilot_next_control(host, plugin, at);
		if (!ardupilot_read_control(self, at, i, &config->controls[i]))
			return false;
		if (config->controls[i].channel >= config->channel_count)
			config->channel_count = config->controls[i].channel + 1;
	}
	config->control_count = count;
	host->add_words(self, "is driven", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "command, integral and last error of each control", TROUPE_WORD_DOUBLE, 3 * count);
	return true;
}

static bool ardupilot_read_ranges(
	struct troupe_system *self, const struct troupe_element *plugin, struct ardupilot_config *config)
{
	const struct troupe_host *host = self->host;
	for (const struct troupe_element *at = NULL; (at = host->child(plugin, "sensor", at));) {
		double index = host->number(self, at, "index", 0);
		const char *topic = host->text(at, "topic", "");
		if (!(index >= 1 && index <= ARDUPILOT_RANGES_MAX) || index != floor(index) || !*topic)
			return host->refuse(self, at,
				"a rangefinder has index %g and topic '%.80s': expected 1 to %d, "
				"and a topic",
				index, topic, ARDUPILOT_RANGES_MAX);
		config->ranges[(int)index - 1] = host->print(self, "%s%s", *topic == '/' ? "" : "/", topic);
	}
	return true;
}

/* The link that has the IMU, "nested::link::sensor"; of a name without a link, the link that carries the model. */
static uint32_t ardupilot_link_of(struct troupe_system *self, const char *imu)
{
	const struct troupe_host *host = self->host;
	const char *last = NULL;
	for (const char *at = imu; (at = strstr(at, "::")); at += 2)
		last = at;
	uint32_t link =
		last ? host->find_link(self, host->print(self, "%.*s", (int)(last - imu), imu)) : TROUPE_NOTHING;
	return link == TROUPE_NOTHING ? host->frame_link(self) : link;
}

static struct troupe_pose ardupilot_read_pose(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name)
{
	static const struct troupe_pose over = {.qx = 1}; /* by pi about x */
	return self->host->child(plugin, name, NULL) ? self->host->pose(self, plugin, name) : over;
}

static void ardupilot_read_frames(
	struct troupe_system *self, const struct troupe_element *plugin, struct ardupilot_config *config)
{
	const struct troupe_host *host = self->host;
	struct troupe_pose ned = troupe_pose_inverse(ardupilot_read_pose(self, plugin, "gazeboXYZToNED"));
	struct troupe_vec3 wind = host->wind(self);
	config->to_ned = troupe_pose_turn(ned);
	config->ned_origin = troupe_pose_place(ned);
	config->airplane = ardupilot_read_pose(self, plugin, "modelXYZToAirplaneXForwardZDown");
	config->imu = host->print(self, "%s", host->text(plugin, "imuName", "imu_sensor"));
	config->link = ardupilot_link_of(self, config->imu);
	if (wind.x == 0 && wind.y == 0 && wind.z == 0)
		return;
	wind = troupe_quat_rotate(config->to_ned, wind);
	config->wind = host->print(self, "%.9g %.9g %.9g", wind.x, wind.y, wind.z);
}

static bool ardupilot_find_fields(struct troupe_system *self, struct ardupilot_config *config)
{
	static const char *const names[ARDUPILOT_STATE_FIELDS] = {"pose.position.x", "pose.position.y",
		"pose.position.z", "pose.orientation.w", "pose.orientation.x", "pose.orientation.y",
		"pose.orientation.z", "twist.linear.x", "twist.linear.y", "twist.linear.z"};
	const struct troupe_host *host = self->host;
	for (int i = 0; i < ARDUPILOT_STATE_FIELDS; i++)
		config->state[i] = host->field(self, "gz.msgs.Odometry", names[i]);
	config->servos = host->field(self, "gz.msgs.Actuators", "position");
	config->header = host->field(self, "gz.msgs.Odometry", "header.data");
	config->key = host->field(self, "gz.msgs.Header.Map", "key");
	config->value = host->field(self, "gz.msgs.Header.Map", "value");
	config->data = host->field(self, "gz.msgs.Double", "data");
	return config->servos && config->header && config->key && config->value && config->data && config->state[0];
}

static bool ardupilot_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct ardupilot_config *config = self->config = host->alloc(self, sizeof *config);
	double port = host->number(self, plugin, "fdm_port_in", ARDUPILOT_PORT);
	if (port != floor(port))
		return host->refuse(self, plugin, "<fdm_port_in> is %g: expected a port", port);
	if (!host->must_move(self) || !ardupilot_find_fields(self, config) ||
		!ardupilot_read_controls(self, plugin, config) || !ardupilot_read_ranges(self, plugin, config))
		return false;
	ardupilot_read_frames(self, plugin, config);
	const struct troupe_output output = {.name = host->print(self, "/ardupilot/%.0f/state", port),
		.type = "gz.msgs.Odometry",
		.gives = TROUPE_GIVES_REPORT};
	return host->take(self, plugin, host->print(self, "/ardupilot/%.0f/servos", port), "gz.msgs.Actuators", 0,
		       TROUPE_NOTHING) &&
	       host->give(self, plugin, &output, &config->output);
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

static bool ardupilot_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct ardupilot_config *config = self->config;
	uint32_t count = self->host->count(message, config->servos);
	(void)input;
	if (count >= config->channel_count)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "position has %u channels: expected %u", count, config->channel_count);
	return false;
}

static void ardupilot_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct ardupilot_config *config = self->config;
	struct ardupilot_words *w = words;
	(void)input;
	w->is_driven = 1;
	for (uint32_t i = 0; i < config->control_count; i++) {
		const struct ardupilot_control *control = &config->controls[i];
		double us = self->host->get(message, config->servos, control->channel);
		double part = (us - control->least_us) / (control->most_us - control->least_us);
		w->controls[i].command = control->multiplier * (builtin_clamp(part, 0, 1) + control->offset);
	}
}

static void ardupilot_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct ardupilot_config *config = self->config;
	struct ardupilot_words *w = words;
	for (uint32_t i = 0; i < config->control_count && w->is_driven; i++) {
		const struct ardupilot_control *control = &config->controls[i];
		struct ardupilot_control_words *of = &w->controls[i];
		bool slows = control->servo.drive == BUILTIN_SERVO_VELOCITY;
		if (control->drives)
			builtin_drive_servo(self, step, &control->servo, &of->pid,
				slows ? of->command / control->slowdown : of->command);
	}
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

static void ardupilot_put_row(
	const struct troupe_system *self, struct troupe_message *message, const char *key, const char *value)
{
	const struct ardupilot_config *config = self->config;
	if (!value)
		return;
	struct troupe_message *row = self->host->put_part(message, config->header);
	self->host->put_text(row, config->key, key);
	self->host->put_text(row, config->value, value);
}

static void ardupilot_put_rows(const struct troupe_system *self, struct troupe_message *message)
{
	static const char *const keys[ARDUPILOT_RANGES_MAX] = {
		"range 1", "range 2", "range 3", "range 4", "range 5", "range 6"};
	const struct ardupilot_config *config = self->config;
	ardupilot_put_row(self, message, "imu", config->imu);
	ardupilot_put_row(self, message, "wind", config->wind);
	for (int i = 0; i < ARDUPILOT_RANGES_MAX; i++)
		ardupilot_put_row(self, message, keys[i], config->ranges[i]);
}

static void ardupilot_put_state(
	const struct troupe_system *self, const struct troupe_step *step, struct troupe_message *message)
{
	const struct ardupilot_config *config = self->config;
	struct troupe_pose in_world =
		troupe_pose_mul(self->host->link_pose(step, config->link, TROUPE_NOW), config->airplane);
	struct troupe_vec3 velocity =
		troupe_quat_rotate(config->to_ned, self->host->link_twist(step, config->link, TROUPE_NOW).linear);
	struct troupe_pose at = troupe_pose_mul(troupe_pose_make(config->ned_origin, config->to_ned), in_world);
	const double values[ARDUPILOT_STATE_FIELDS] = {
		at.x, at.y, at.z, at.qw, at.qx, at.qy, at.qz, velocity.x, velocity.y, velocity.z};
	for (int i = 0; i < ARDUPILOT_STATE_FIELDS; i++)
		self->host->put(message, config->state[i], values[i]);
}

static bool ardupilot_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct ardupilot_config *config = self->config;
	const struct ardupilot_words *w = words;
	if (output == config->output) {
		ardupilot_put_rows(self, message);
		ardupilot_put_state(self, step, message);
		return true;
	}
	for (uint32_t i = 0; i < config->control_count; i++)
		if (config->controls[i].output == output)
			self->host->put(message, config->data, w->controls[i].command);
	return w->is_driven;
}

const struct troupe_kind builtin_ardupilot = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"gz::sim::systems::ArduPilotPlugin", "ArduPilotPlugin",
		"ignition::gazebo::systems::ArduPilotPlugin", "troupe::ArduPilotPlugin", NULL},
	.parameters = ardupilot_parameters,
	.configure = ardupilot_configure,
	.check = ardupilot_check,
	.command = ardupilot_command,
	.pre_update = ardupilot_pre_update,
	.report = ardupilot_report,
};
