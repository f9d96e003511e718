/* A vehicle of PX4: its controls drive joints and motors, and its sensors are published. The gateway `px4`
 * (src/gateway/px4) carries both to PX4's SITL; any program can take its place.
 *
 * /px4/PORT/controls: troupe.msgs.VehicleControls. PORT is <mavlink_tcp_port>. Of a channel:
 *
 *     armed:  target = (control + input_offset) input_scaling + zero_position_armed;  else  zero_position_disarmed
 *
 * It goes to <joint_name>, if there is one, and to the motors (MulticopterMotorModel): the target of the channel with
 * index i, from 0, is their i-th speed, from the step after the one that the controls came with. Nothing is driven
 * before the first controls.
 *
 * /px4/PORT/state: troupe.msgs.VehicleState in each step: what the sensors measure at the link of the IMU. Their noise
 * is that of the sensors' own plug-ins in the model; a sensor without one measures exactly. White noise of density D in
 * steps of dt has the deviation D / sqrt(dt); a bias walks as
 *
 *     b(n+1) = exp(-dt/T) b(n) + N(0, d),  d^2 = -(R^2 T / 2) (exp(-2 dt / T) - 1)
 *
 * and that of the place by R sqrt(dt) dt N(0, 1), back to 0 in 60 s. With the GPS's plug-in the place comes 0.12 s
 * after it was measured, with the time of that; with the magnetometer's, the field is that of the earth at the place
 * and not <magnetic_field>. Parameters, defaults and formulas are those of PX4's plug-ins for Gazebo
 * (github.com/PX4/PX4-SITL_gazebo-classic).
 *
 * /px4/PORT/rc: troupe.msgs.VehicleRc, the channels of a remote control, which are in each state from then on; without
 * channels its signal is lost. */
#include "builtin/parts.h"

#include <stdio.h>
#include <string.h>

enum {
	PX4_CONTROLS = 16,
	PX4_CHANNELS_MAX = 16,
	PX4_PORT = 4560,
	PX4_VECTOR = 3,
	PX4_PLACE = 6, /* latitude, longitude, altitude, velocity east, north, up */
	PX4_AXES = 9,  /* gyro, accelerometer and magnetometer */
	PX4_GAUSS_PER_TESLA = 10000,
	PX4_SEQUENCE_WALK = 100, /* random sequences of biases; those of white noise begin at 0 */
	PX4_SEQUENCE_PLACE = 200,
	PX4_SEQUENCE_AIR = 300,
	PX4_SEQUENCE_START = 400,
	PX4_RC_MAX = 18,
	PX4_RC_US_MAX = 3000,
	PX4_DELAYED_MAX = 8, /* places that wait: the GPS's rate is at most 50 Hz */
};

enum px4_input { PX4_CONTROL, PX4_RC };

static const double px4_place_delay_s = 0.12;

struct px4_channel {
	uint32_t input;
	bool drives; /* a joint */
	double offset, scaling, disarmed, armed;
	struct builtin_servo servo;
};

struct px4_noise { /* of one axis */
	double density, walk, correlation_s, start;
};

struct px4_config {
	struct px4_channel channels[PX4_CHANNELS_MAX];
	uint32_t channel_count, link, motors, state;
	struct px4_noise axes[PX4_AXES];
	double pressure_deviation, pressure_drift, magnetic_rate, pressure_rate, place_rate;
	struct {
		double walk, density, velocity_density;
	} across, up;                 /* of the place */
	bool delays, has_earth_field; /* the place comes late; the magnetometer measures the earth's field */
	struct troupe_vec3 wind;
	const char *range; /* topic; NULL: none */
	const struct troupe_field *control, *armed, *speed, *header, *key, *value, *rc_channel, *rc_rssi;
	struct px4_fields {
		const struct troupe_field *acceleration[PX4_VECTOR], *rates[PX4_VECTOR], *magnetic[PX4_VECTOR],
			*true_acceleration[PX4_VECTOR], *true_rates[PX4_VECTOR], *attitude[4], *place[6],
			*true_place[6], *magnetic_sample, *pressure, *dynamic, *temperature, *pressure_sample,
			*place_sample, *airspeed, *place_time, *rc, *rssi;
	} field;
};

struct px4_words {
	uint64_t is_driven, is_armed, is_new; /* new: the motors have not been told */
	double controls[PX4_CONTROLS];
	uint64_t begun;
	double acceleration[PX4_VECTOR], bias[PX4_AXES], place_bias[PX4_VECTOR];
	struct builtin_pid_words pids[PX4_CHANNELS_MAX];
	uint64_t rc_count, rc_rssi, rc[PX4_RC_MAX];
	uint64_t place_count; /* samples until now; the n-th is at n mod PX4_DELAYED_MAX */
	struct px4_delayed {
		double time_s, numbers[PX4_PLACE];
	} places[PX4_DELAYED_MAX];
};

static const struct troupe_parameter px4_parameters[] = {
	BUILTIN_BETWEEN("mavlink_tcp_port", 1, 65535, "TCP port of the vehicle, default 4560"),
	BUILTIN_PARTS("control_channels", "what the channels drive"),
	BUILTIN_TEXT("robotNamespace", "has no effect"),
	BUILTIN_TEXT("imuSubTopic", "has no effect: the IMU is at <linkName> of its plug-in"),
	BUILTIN_TEXT("gpsSubTopic", "has no effect"),
	BUILTIN_TEXT("magSubTopic", "has no effect"),
	BUILTIN_TEXT("baroSubTopic", "has no effect"),
	BUILTIN_TEXT("lidarSubTopic", "the topic of a lidar that looks down, of its LaserScan"),
	BUILTIN_TEXT("motorSpeedCommandPubTopic", "has no effect: the motors of the model are told"),
	BUILTIN_TEXT("mavlink_addr", "has no effect: see --serve px4=ADDRESS"),
	BUILTIN_TEXT("mavlink_hostname", "the same"),
	BUILTIN_NUMBER("mavlink_udp_port", "has no effect"),
	BUILTIN_TEXT("qgc_addr", "has no effect"),
	BUILTIN_NUMBER("qgc_udp_port", "has no effect"),
	BUILTIN_TEXT("sdk_addr", "has no effect"),
	BUILTIN_NUMBER("sdk_udp_port", "has no effect"),
	BUILTIN_BOOL("use_tcp", "has no effect: it is TCP"),
	BUILTIN_BOOL("enable_lockstep", "has no effect: PX4 says in each message whether it is in lockstep"),
	BUILTIN_TEXT("serialDevice", "has no effect"),
	BUILTIN_NUMBER("baudRate", "has no effect"),
	BUILTIN_BOOL("hil_state_level", "has no effect"),
	BUILTIN_BOOL("send_odometry", "has no effect"),
	BUILTIN_BOOL("send_vision_estimation", "has no effect"),
	BUILTIN_BOOL("vehicle_is_tailsitter", "has no effect"),
	BUILTIN_UNUSED("serialEnabled", "PX4 is reached by TCP"),
	BUILTIN_UNUSED("hil_mode", "PX4 is reached by TCP"),
	BUILTIN_END,
};

/* --- channels ----------------------------------------------------------------------------------------------------- */

static bool px4_read_type(struct troupe_system *self, const struct troupe_element *at, struct px4_channel *channel)
{
	const char *type = self->host->text(at, "joint_control_type", "velocity");
	channel->servo.by_force = strcmp(type, "position_kinematic") != 0;
	channel->servo.drive = !strcmp(type, "velocity") ? BUILTIN_SERVO_VELOCITY : BUILTIN_SERVO_POSITION;
	return !strcmp(type, "velocity") || !strcmp(type, "position") || !strcmp(type, "position_kinematic") ||
	       self->host->refuse(self, at,
		       "<joint_control_type> is '%.40s': expected velocity, position or position_kinematic", type);
}

static void px4_read_pid(struct troupe_system *self, const struct troupe_element *at, struct builtin_pid *pid)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *given = host->child(at, "joint_control_pid", NULL);
	*pid = (struct builtin_pid){0.1, 0, 0, 0, 0, 1, -1, 0};
	if (!given)
		return;
	pid->p = host->number(self, given, "p", pid->p);
	pid->i = host->number(self, given, "i", pid->i);
	pid->d = host->number(self, given, "d", pid->d);
	pid->i_max = host->number(self, given, "iMax", pid->i_max);
	pid->i_min = host->number(self, given, "iMin", pid->i_min);
	pid->cmd_max = host->number(self, given, "cmdMax", pid->cmd_max);
	pid->cmd_min = host->number(self, given, "cmdMin", pid->cmd_min);
}

/* PX4's own models name joints of other vehicles. */
static void px4_find_joint(struct troupe_system *self, const struct troupe_element *at, struct px4_channel *channel)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *given = host->child(at, "joint_name", NULL);
	if (!given)
		return;
	channel->servo.joint = host->find_joint(self, host->text_of(given), false);
	channel->drives = channel->servo.joint != TROUPE_NOTHING;
	if (!channel->drives)
		host->warn(self, given, "the model has no joint '%.100s' that can be driven: the channel drives none",
			host->text_of(given));
}

static bool px4_read_channel(
	struct troupe_system *self, const struct troupe_element *at, uint32_t order, struct px4_channel *channel)
{
	const struct troupe_host *host = self->host;
	double input = host->number(self, at, "input_index", order);
	if (!(input >= 0 && input < PX4_CONTROLS) || input != floor(input))
		return host->refuse(self, at, "<input_index> is %g: expected 0 to %d", input, PX4_CONTROLS - 1);
	channel->input = (uint32_t)input;
	channel->offset = host->number(self, at, "input_offset", 0);
	channel->scaling = host->number(self, at, "input_scaling", 1);
	channel->disarmed = host->number(self, at, "zero_position_disarmed", 0);
	channel->armed = host->number(self, at, "zero_position_armed", 0);
	px4_read_pid(self, at, &channel->servo.pid);
	px4_find_joint(self, at, channel);
	return px4_read_type(self, at, channel);
}

static bool px4_read_channels(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct px4_config *config = self->config;
	const struct troupe_element *list = host->child(plugin, "control_channels", NULL), *at = NULL;
	while (list && (at = host->child(list, "channel", at))) {
		if (config->channel_count == PX4_CHANNELS_MAX)
			return host->refuse(self, at, "more than %d channels", PX4_CHANNELS_MAX);
		if (!px4_read_channel(self, at, config->channel_count, &config->channels[config->channel_count]))
			return false;
		config->channel_count++;
	}
	return true;
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

/* The plug-ins of the sensors, which the vehicle's own plug-in reads. */
static const struct troupe_parameter px4_sensor_parameters[] = {
	BUILTIN_TEXT("linkName", "of the IMU, default imu_link"),
	BUILTIN_NUMBER("gyroscopeNoiseDensity", "rad/s/sqrt(Hz), default 3.394e-4"),
	BUILTIN_NUMBER("gyroscopeRandomWalk", "rad/s2/sqrt(Hz), default 3.879e-5"),
	BUILTIN_BETWEEN("gyroscopeBiasCorrelationTime", 1e-3, BUILTIN_NUMBER_MAX, "s, default 1000"),
	BUILTIN_NUMBER("gyroscopeTurnOnBiasSigma", "rad/s, default 8.73e-3"),
	BUILTIN_NUMBER("accelerometerNoiseDensity", "m/s2/sqrt(Hz), default 4e-3"),
	BUILTIN_NUMBER("accelerometerRandomWalk", "m/s3/sqrt(Hz), default 6e-3"),
	BUILTIN_BETWEEN("accelerometerBiasCorrelationTime", 1e-3, BUILTIN_NUMBER_MAX, "s, default 300"),
	BUILTIN_NUMBER("accelerometerTurnOnBiasSigma", "m/s2, default 0.196"),
	BUILTIN_NUMBER("noiseDensity", "of the magnetometer, gauss/sqrt(Hz), default 4e-4"),
	BUILTIN_NUMBER("randomWalk", "gauss sqrt(Hz), default 6.4e-6"),
	BUILTIN_BETWEEN("biasCorrelationTime", 1e-3, BUILTIN_NUMBER_MAX, "s, default 600"),
	BUILTIN_BETWEEN(
		"pubRate", 1e-3, BUILTIN_NUMBER_MAX, "Hz, of magnetometer (default 100) and barometer (default 50)"),
	BUILTIN_NUMBER("baroDriftPaPerSec", "Pa/s, default 0"),
	BUILTIN_BETWEEN("update_rate", 1e-3, 50, "of the GPS, Hz, default 5"),
	BUILTIN_BOOL("gpsNoise", "default false"),
	BUILTIN_NUMBER("gpsXYRandomWalk", "m/s/sqrt(Hz), default 2"),
	BUILTIN_NUMBER("gpsZRandomWalk", "m/s/sqrt(Hz), default 4"),
	BUILTIN_NUMBER("gpsXYNoiseDensity", "m/sqrt(Hz), default 2e-4"),
	BUILTIN_NUMBER("gpsZNoiseDensity", "m/sqrt(Hz), default 4e-4"),
	BUILTIN_NUMBER("gpsVXYNoiseDensity", "m/s/sqrt(Hz), default 0.2"),
	BUILTIN_NUMBER("gpsVZNoiseDensity", "m/s/sqrt(Hz), default 0.4"),
	BUILTIN_TEXT("robotNamespace", "has no effect"),
	BUILTIN_TEXT("imuTopic", "has no effect"),
	BUILTIN_TEXT("magTopic", "has no effect"),
	BUILTIN_TEXT("baroTopic", "has no effect"),
	BUILTIN_TEXT("gpsTopic", "has no effect"),
	BUILTIN_TEXT("homeLatitude", "has no effect: see <spherical_coordinates>"),
	BUILTIN_TEXT("homeLongitude", "has no effect"),
	BUILTIN_TEXT("homeAltitude", "has no effect"),
	BUILTIN_TEXT("rotorVelocitySlowdownSim", "has no effect"),
	BUILTIN_END,
};

static bool px4_is_file(const struct troupe_host *host, const struct troupe_element *plugin, const char *file)
{
	const char *filename = host->attribute(plugin, "filename");
	return filename && strstr(filename, file);
}

static const struct troupe_element *px4_sensor_of(struct troupe_system *self, const char *file)
{
	const struct troupe_element *at = NULL;
	while ((at = self->host->sibling(self, at)))
		if (px4_is_file(self->host, at, file))
			return at;
	return NULL;
}

struct px4_noise_names {
	const char *density, *walk, *correlation, *start;
	struct px4_noise usual;
};

static void px4_read_noise(struct troupe_system *self, const struct troupe_element *plugin,
	const struct px4_noise_names *names, double unit, struct px4_noise noise[PX4_VECTOR])
{
	const struct troupe_host *host = self->host;
	struct px4_noise read = {host->number(self, plugin, names->density, names->usual.density) * unit,
		host->number(self, plugin, names->walk, names->usual.walk) * unit,
		host->number(self, plugin, names->correlation, names->usual.correlation_s),
		names->start ? host->number(self, plugin, names->start, names->usual.start) * unit : 0};
	for (int i = 0; i < PX4_VECTOR; i++)
		noise[i] = read;
}

static void px4_read_motion(struct troupe_system *self)
{
	static const struct px4_noise_names gyro = {"gyroscopeNoiseDensity", "gyroscopeRandomWalk",
		"gyroscopeBiasCorrelationTime", "gyroscopeTurnOnBiasSigma", {3.394e-4, 3.879e-5, 1000, 8.73e-3}};
	static const struct px4_noise_names accelerometer = {"accelerometerNoiseDensity", "accelerometerRandomWalk",
		"accelerometerBiasCorrelationTime", "accelerometerTurnOnBiasSigma", {4e-3, 6e-3, 300, 0.196}};
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *imu = px4_sensor_of(self, "gazebo_imu_plugin");
	const char *link = imu ? host->text(imu, "linkName", "imu_link") : "imu_link";
	const char *slash = strrchr(link, '/');
	config->link = host->find_link(self, slash ? slash + 1 : link);
	if (config->link == TROUPE_NOTHING)
		config->link = host->frame_link(self);
	if (!imu)
		return;
	px4_read_noise(self, imu, &gyro, 1, config->axes);
	px4_read_noise(self, imu, &accelerometer, 1, config->axes + PX4_VECTOR);
}

static void px4_read_surroundings(struct troupe_system *self)
{
	static const struct px4_noise_names magnetometer = {
		"noiseDensity", "randomWalk", "biasCorrelationTime", NULL, {4e-4, 6.4e-6, 600, 0}};
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *magnetic = px4_sensor_of(self, "gazebo_magnetometer_plugin");
	const struct troupe_element *air = px4_sensor_of(self, "gazebo_barometer_plugin");
	config->magnetic_rate = 100;
	config->pressure_rate = 50;
	config->wind = host->wind(self);
	config->has_earth_field = magnetic != NULL;
	if (magnetic) {
		px4_read_noise(self, magnetic, &magnetometer, 1.0 / PX4_GAUSS_PER_TESLA, config->axes + 2 * PX4_VECTOR);
		config->magnetic_rate = host->number(self, magnetic, "pubRate", config->magnetic_rate);
	}
	if (!air)
		return;
	config->pressure_rate = host->number(self, air, "pubRate", config->pressure_rate);
	config->pressure_drift = host->number(self, air, "baroDriftPaPerSec", 0);
	config->pressure_deviation = 1; /* Pa, as the plug-in has it */
}

static void px4_read_place(struct troupe_system *self)
{
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *gps = px4_sensor_of(self, "gazebo_gps_plugin");
	config->delays = gps != NULL;
	config->place_rate = gps ? host->number(self, gps, "update_rate", 5) : 5;
	if (!gps || !host->boolean(self, gps, "gpsNoise", false))
		return;
	config->across.walk = host->number(self, gps, "gpsXYRandomWalk", 2);
	config->up.walk = host->number(self, gps, "gpsZRandomWalk", 4);
	config->across.density = host->number(self, gps, "gpsXYNoiseDensity", 2e-4);
	config->up.density = host->number(self, gps, "gpsZNoiseDensity", 4e-4);
	config->across.velocity_density = host->number(self, gps, "gpsVXYNoiseDensity", 0.2);
	config->up.velocity_density = host->number(self, gps, "gpsVZNoiseDensity", 0.4);
}

/* The vehicle's plug-in has read it. */
static bool px4_sensor_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	(void)self, (void)plugin;
	return true;
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static bool px4_find_vector(struct troupe_system *self, const char *name, const char *const *parts, uint32_t count,
	const struct troupe_field **fields)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *path = self->host->print(self, "%s%s", name, parts[i]);
		if (!(fields[i] = self->host->field(self, "troupe.msgs.VehicleState", path)))
			return false;
	}
	return true;
}

static bool px4_find_fields(struct troupe_system *self, struct px4_config *config)
{
	static const char *const xyz[] = {".x", ".y", ".z"}, *const wxyz[] = {".w", ".x", ".y", ".z"};
	static const char *const place[] = {
		".latitude_deg", ".longitude_deg", ".altitude", ".velocity_east", ".velocity_north", ".velocity_up"};
	struct px4_fields *field = &config->field;
	static const char *const whole[] = {""};
	return px4_find_vector(self, "acceleration", xyz, 3, field->acceleration) &&
	       px4_find_vector(self, "angular_velocity", xyz, 3, field->rates) &&
	       px4_find_vector(self, "magnetic_field", xyz, 3, field->magnetic) &&
	       px4_find_vector(self, "true_acceleration", xyz, 3, field->true_acceleration) &&
	       px4_find_vector(self, "true_angular_velocity", xyz, 3, field->true_rates) &&
	       px4_find_vector(self, "attitude", wxyz, 4, field->attitude) &&
	       px4_find_vector(self, "place", place, 6, field->place) &&
	       px4_find_vector(self, "true_place", place, 6, field->true_place) &&
	       px4_find_vector(self, "magnetic_field_sample", whole, 1, &field->magnetic_sample) &&
	       px4_find_vector(self, "pressure", whole, 1, &field->pressure) &&
	       px4_find_vector(self, "dynamic_pressure", whole, 1, &field->dynamic) &&
	       px4_find_vector(self, "temperature", whole, 1, &field->temperature) &&
	       px4_find_vector(self, "pressure_sample", whole, 1, &field->pressure_sample) &&
	       px4_find_vector(self, "place_sample", whole, 1, &field->place_sample) &&
	       px4_find_vector(self, "place_time", whole, 1, &field->place_time) &&
	       px4_find_vector(self, "rc", whole, 1, &field->rc) &&
	       px4_find_vector(self, "rc_rssi", whole, 1, &field->rssi) &&
	       px4_find_vector(self, "airspeed", whole, 1, &field->airspeed);
}

static bool px4_open_topics(struct troupe_system *self, const struct troupe_element *plugin, double port)
{
	const struct troupe_host *host = self->host;
	struct px4_config *config = self->config;
	config->control = host->field(self, "troupe.msgs.VehicleControls", "control");
	config->armed = host->field(self, "troupe.msgs.VehicleControls", "armed");
	config->speed = host->field(self, "gz.msgs.Actuators", "velocity");
	config->header = host->field(self, "troupe.msgs.VehicleState", "header.data");
	config->key = host->field(self, "gz.msgs.Header.Map", "key");
	config->value = host->field(self, "gz.msgs.Header.Map", "value");
	config->rc_channel = host->field(self, "troupe.msgs.VehicleRc", "channel");
	config->rc_rssi = host->field(self, "troupe.msgs.VehicleRc", "rssi");
	const char *range = host->text(plugin, "lidarSubTopic", "");
	if (*range)
		config->range = host->print(self, "%s%s", *range == '/' ? "" : "/", range);
	const struct troupe_output state = {.name = host->print(self, "/px4/%.0f/state", port),
		.type = "troupe.msgs.VehicleState",
		.gives = TROUPE_GIVES_REPORT};
	const struct troupe_output motors = {
		.name = builtin_motor_topic(self), .type = "gz.msgs.Actuators", .gives = TROUPE_GIVES_PUBLISHED};
	return config->control && config->armed && config->speed && config->header && config->key && config->value &&
	       config->rc_channel && config->rc_rssi && px4_find_fields(self, config) &&
	       host->take(self, plugin, host->print(self, "/px4/%.0f/controls", port), "troupe.msgs.VehicleControls",
		       PX4_CONTROL, TROUPE_NOTHING) &&
	       host->take(self, plugin, host->print(self, "/px4/%.0f/rc", port), "troupe.msgs.VehicleRc", PX4_RC,
		       TROUPE_NOTHING) &&
	       host->give(self, plugin, &state, &config->state) && host->give(self, plugin, &motors, &config->motors);
}

static void px4_name_words(struct troupe_system *self)
{
	const struct troupe_host *host = self->host;
	host->add_words(self, "is driven, is armed, motors are to be told", TROUPE_WORD_INTEGER, 3);
	host->add_words(self, "controls", TROUPE_WORD_DOUBLE, PX4_CONTROLS);
	host->add_words(self, "sensors have begun", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "acceleration", TROUPE_WORD_DOUBLE, PX4_VECTOR);
	host->add_words(self, "bias of gyro, accelerometer and magnetometer", TROUPE_WORD_DOUBLE, PX4_AXES);
	host->add_words(self, "bias of the place", TROUPE_WORD_DOUBLE, PX4_VECTOR);
	host->add_words(self, "integral and last error of each channel", TROUPE_WORD_DOUBLE, 2 * PX4_CHANNELS_MAX);
	host->add_words(self, "remote control", TROUPE_WORD_INTEGER, 2 + PX4_RC_MAX);
	host->add_words(self, "places measured", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "places that wait", TROUPE_WORD_DOUBLE, PX4_DELAYED_MAX * (1 + PX4_PLACE));
}

static bool px4_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	self->config = host->alloc(self, sizeof(struct px4_config));
	double port = host->number(self, plugin, "mavlink_tcp_port", PX4_PORT);
	if (port != floor(port))
		return host->refuse(self, plugin, "<mavlink_tcp_port> is %g: expected a port", port);
	if (!host->must_move(self) || !px4_read_channels(self, plugin))
		return false;
	px4_read_motion(self);
	px4_read_surroundings(self);
	px4_read_place(self);
	px4_name_words(self);
	return px4_open_topics(self, plugin, port);
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

static bool px4_check_rc(
	const struct troupe_system *self, const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct px4_config *config = self->config;
	uint32_t count = self->host->count(message, config->rc_channel);
	bool good = count <= PX4_RC_MAX && self->host->get(message, config->rc_rssi, 0) <= UINT8_MAX;
	if (!good)
		(void)snprintf(why, TROUPE_WHY_BYTES, "expected at most %d channels, and an rssi of at most %d",
			PX4_RC_MAX, UINT8_MAX);
	for (uint32_t i = 0; good && i < count; i++) {
		double us = self->host->get(message, config->rc_channel, i);
		good = us <= PX4_RC_US_MAX;
		if (!good)
			(void)snprintf(why, TROUPE_WHY_BYTES, "channel %u is %.0f us: expected at most %d", i + 1, us,
				PX4_RC_US_MAX);
	}
	return good;
}

static bool px4_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct px4_config *config = self->config;
	if (input == PX4_RC)
		return px4_check_rc(self, message, why);
	uint32_t count = self->host->count(message, config->control);
	if (count == PX4_CONTROLS)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "control has %u values: expected %d", count, PX4_CONTROLS);
	return false;
}

static void px4_take_rc(const struct troupe_system *self, const struct troupe_message *message, struct px4_words *w)
{
	const struct px4_config *config = self->config;
	memset(w->rc, 0, sizeof w->rc);
	w->rc_count = self->host->count(message, config->rc_channel);
	w->rc_rssi = (uint64_t)self->host->get(message, config->rc_rssi, 0);
	for (uint32_t i = 0; i < w->rc_count && i < PX4_RC_MAX; i++)
		w->rc[i] = (uint64_t)self->host->get(message, config->rc_channel, i);
}

static void px4_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct px4_config *config = self->config;
	struct px4_words *w = words;
	if (input == PX4_RC) {
		px4_take_rc(self, message, w);
		return;
	}
	w->is_driven = w->is_new = 1;
	w->is_armed = self->host->get(message, config->armed, 0) != 0;
	for (uint32_t i = 0; i < PX4_CONTROLS; i++)
		w->controls[i] = builtin_clamp(self->host->get(message, config->control, i), -10, 10);
}

static double px4_target(const struct px4_channel *channel, const struct px4_words *w)
{
	return w->is_armed ? (w->controls[channel->input] + channel->offset) * channel->scaling + channel->armed
			   : channel->disarmed;
}

static void px4_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct px4_config *config = self->config;
	struct px4_words *w = words;
	if (!w->is_new || !config->channel_count)
		return;
	struct troupe_message *message = self->host->message(step, "gz.msgs.Actuators");
	for (uint32_t i = 0; i < config->channel_count; i++)
		self->host->put(message, config->speed, px4_target(&config->channels[i], w));
	self->host->publish(self, step, config->motors, message);
	w->is_new = 0;
}

static void px4_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct px4_config *config = self->config;
	struct px4_words *w = words;
	for (uint32_t i = 0; i < config->channel_count && w->is_driven; i++)
		if (config->channels[i].drives)
			builtin_drive_servo(self, step, &config->channels[i].servo, &w->pids[i],
				px4_target(&config->channels[i], w));
}

/* --- measuring ---------------------------------------------------------------------------------------------------- */

static void px4_walk(const struct troupe_system *self, const struct troupe_step *step, struct px4_words *w)
{
	const struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	uint64_t index = troupe_random_index(step);
	for (uint32_t i = 0; i < PX4_AXES; i++) {
		const struct px4_noise *noise = &config->axes[i];
		if (noise->correlation_s <= 0)
			continue;
		if (!w->begun)
			w->bias[i] = noise->start * host->random_normal(self, PX4_SEQUENCE_START + i, 0);
		double keeps = host->exp(-step->dt / noise->correlation_s);
		double spread = noise->walk * sqrt(noise->correlation_s / 2 * (1 - keeps * keeps));
		w->bias[i] = keeps * w->bias[i] + spread * host->random_normal(self, PX4_SEQUENCE_WALK + i, index);
	}
	for (uint32_t i = 0; i < PX4_VECTOR; i++) {
		double walk = i < 2 ? config->across.walk : config->up.walk;
		if (walk > 0)
			w->place_bias[i] +=
				step->dt *
				(walk * sqrt(step->dt) * host->random_normal(self, PX4_SEQUENCE_PLACE + i, index) -
					w->place_bias[i] / 60);
	}
	w->begun = 1;
}

/* --- the state ---------------------------------------------------------------------------------------------------- */

struct px4_view { /* of a vehicle, in a report */
	const struct troupe_system *self;
	const struct troupe_step *step;
	const struct px4_words *w;
	struct troupe_message *message;
	struct troupe_pose pose; /* of the link */
	struct troupe_twist twist;
	struct troupe_site site;
	struct troupe_vec3 field; /* the magnetic one */
};

static double px4_white(const struct px4_view *view, uint32_t sequence, double density)
{
	return density > 0
		       ? density / sqrt(view->step->dt) *
				 view->self->host->random_normal(view->self, sequence, troupe_random_index(view->step))
		       : 0;
}

/* x forward, y left, z up become x forward, y right, z down. first: of the axes with noise; PX4_AXES: none. */
static void px4_put_vector(const struct px4_view *view, const struct troupe_field *const fields[PX4_VECTOR],
	struct troupe_vec3 v, uint32_t first)
{
	const struct px4_config *config = view->self->config;
	const double signs[PX4_VECTOR] = {1, -1, -1};
	double values[PX4_VECTOR] = {v.x, v.y, v.z};
	for (uint32_t i = 0; i < PX4_VECTOR; i++) {
		if (first < PX4_AXES)
			values[i] +=
				view->w->bias[first + i] + px4_white(view, first + i, config->axes[first + i].density);
		view->self->host->put(view->message, fields[i], signs[i] * values[i]);
	}
}

/* The number of samples until now, of a sensor with this rate. */
static double px4_samples(const struct px4_view *view, double rate_hz)
{
	return floor(view->step->time_s * rate_hz + 1e-6) + 1;
}

static void px4_put_motion(const struct px4_view *view)
{
	const struct px4_fields *field = &((const struct px4_config *)view->self->config)->field;
	struct troupe_quat back = troupe_quat_inverse(troupe_pose_turn(view->pose));
	struct troupe_vec3 rates = troupe_quat_rotate(back, view->twist.angular);
	const double *felt = view->w->acceleration;
	struct troupe_vec3 acceleration = troupe_vec3_make(felt[0], felt[1], felt[2]);
	if (!view->w->begun) /* state 0: at rest */
		acceleration = troupe_quat_rotate(back, troupe_vec3_scale(view->self->host->gravity(view->self), -1));
	px4_put_vector(view, field->rates, rates, 0);
	px4_put_vector(view, field->acceleration, acceleration, PX4_VECTOR);
	px4_put_vector(view, field->magnetic, troupe_quat_rotate(back, view->field), 2 * PX4_VECTOR);
	px4_put_vector(view, field->true_rates, rates, PX4_AXES);
	px4_put_vector(view, field->true_acceleration, acceleration, PX4_AXES);
}

static void px4_put_air(const struct px4_view *view)
{
	const struct px4_config *config = view->self->config;
	const struct px4_fields *field = &config->field;
	const struct troupe_host *host = view->self->host;
	struct troupe_vec3 blows = troupe_vec3_sub(view->twist.linear, config->wind);
	double speed = troupe_quat_rotate(troupe_quat_inverse(troupe_pose_turn(view->pose)), blows).x;
	double noise = config->pressure_deviation > 0
			       ? config->pressure_deviation * host->random_normal(view->self, PX4_SEQUENCE_AIR,
								      troupe_random_index(view->step))
			       : 0;
	host->put(view->message, field->pressure,
		view->site.pressure_Pa + noise + config->pressure_drift * view->step->time_s);
	host->put(view->message, field->dynamic, view->site.density_kg_m3 / 2 * speed * fabs(speed));
	host->put(view->message, field->temperature, view->site.temperature_K);
	host->put(view->message, field->airspeed, speed);
	host->put(view->message, field->pressure_sample, px4_samples(view, config->pressure_rate));
	host->put(view->message, field->magnetic_sample, px4_samples(view, config->magnetic_rate));
}

static void px4_put_numbers(const struct px4_view *view, const struct troupe_field *const fields[PX4_PLACE],
	const double numbers[PX4_PLACE])
{
	for (int i = 0; i < PX4_PLACE; i++)
		view->self->host->put(view->message, fields[i], numbers[i]);
}

static void px4_place_numbers(const struct troupe_site *site, const double velocity[PX4_VECTOR], double ret[PX4_PLACE])
{
	ret[0] = site->latitude_deg;
	ret[1] = site->longitude_deg;
	ret[2] = site->altitude_m;
	for (int i = 0; i < PX4_VECTOR; i++)
		ret[PX4_VECTOR + i] = velocity[i];
}

/* What the GPS measures, and what is true. */
static void px4_measure_place(const struct px4_view *view, double ret_seen[PX4_PLACE], double ret_true[PX4_PLACE])
{
	const struct px4_config *config = view->self->config;
	const struct troupe_host *host = view->self->host;
	struct troupe_vec3 velocity = troupe_quat_rotate(troupe_quat_inverse(view->site.axes), view->twist.linear);
	double off[PX4_VECTOR], speeds[PX4_VECTOR] = {velocity.x, velocity.y, velocity.z};
	px4_place_numbers(&view->site, speeds, ret_true);
	for (uint32_t i = 0; i < PX4_VECTOR; i++) {
		off[i] = view->w->place_bias[i] + px4_white(view, PX4_SEQUENCE_PLACE + 10 + i,
							  i < 2 ? config->across.density : config->up.density);
		speeds[i] += px4_white(view, PX4_SEQUENCE_PLACE + 20 + i,
			i < 2 ? config->across.velocity_density : config->up.velocity_density);
	}
	struct troupe_vec3 beside = troupe_quat_rotate(view->site.axes, troupe_vec3_make(off[0], off[1], off[2]));
	struct troupe_site seen = host->site(view->self, troupe_vec3_add(troupe_pose_place(view->pose), beside));
	px4_place_numbers(&seen, speeds, ret_seen);
}

/* The last place that was measured long enough ago; NULL: none was. ret_sample: its number, from 1. */
static const struct px4_delayed *px4_late_place(const struct px4_view *view, uint64_t *ret_sample)
{
	const struct px4_words *w = view->w;
	for (uint64_t i = w->place_count; i > 0 && i + PX4_DELAYED_MAX > w->place_count; i--) {
		const struct px4_delayed *place = &w->places[i % PX4_DELAYED_MAX];
		*ret_sample = i;
		if (place->time_s <= view->step->time_s - px4_place_delay_s + 1e-9)
			return place;
	}
	*ret_sample = 0;
	return NULL;
}

static void px4_put_place(const struct px4_view *view)
{
	const struct px4_config *config = view->self->config;
	const struct troupe_host *host = view->self->host;
	double seen[PX4_PLACE], true_place[PX4_PLACE], time_s = view->step->time_s;
	uint64_t sample = (uint64_t)px4_samples(view, config->place_rate);
	px4_measure_place(view, seen, true_place);
	if (config->delays) {
		const struct px4_delayed *late = px4_late_place(view, &sample);
		if (late)
			memcpy(seen, late->numbers, sizeof seen);
		time_s = late ? late->time_s : 0;
	}
	px4_put_numbers(view, config->field.true_place, true_place);
	px4_put_numbers(view, config->field.place, seen);
	host->put(view->message, config->field.place_time, time_s);
	host->put(view->message, config->field.place_sample, (double)sample);
}

static void px4_put_rc(const struct px4_view *view)
{
	const struct px4_fields *field = &((const struct px4_config *)view->self->config)->field;
	for (uint64_t i = 0; i < view->w->rc_count && i < PX4_RC_MAX; i++)
		view->self->host->put(view->message, field->rc, (double)view->w->rc[i]);
	view->self->host->put(view->message, field->rssi, (double)view->w->rc_rssi);
}

/* Of x forward, y right, z down in north, east, down: of the link in east, north, up, with both axes turned. */
static void px4_put_attitude(const struct px4_view *view)
{
	static const double half = 0.70710678118654752440;
	const struct px4_fields *field = &((const struct px4_config *)view->self->config)->field;
	const struct troupe_quat to_ned = {0, half, half, 0}, to_left = {0, 1, 0, 0};
	struct troupe_quat in_enu = troupe_quat_mul(troupe_quat_inverse(view->site.axes), troupe_pose_turn(view->pose));
	struct troupe_quat q = troupe_quat_mul(troupe_quat_mul(to_ned, in_enu), to_left);
	double sign = q.w < 0 ? -1 : 1;
	const double values[] = {q.w * sign, q.x * sign, q.y * sign, q.z * sign};
	for (int i = 0; i < 4; i++)
		view->self->host->put(view->message, field->attitude[i], values[i]);
}

/* --- measuring in a step --------------------------------------------------------------------------------------------
 */

/* The place of the next state, if a sample is due there. */
static void px4_sample_place(const struct troupe_system *self, const struct troupe_step *step, struct px4_words *w)
{
	const struct px4_config *config = self->config;
	double truth[PX4_PLACE], next_s = step->time_s + step->dt;
	double due = floor(next_s * config->place_rate + 1e-6), last = floor(step->time_s * config->place_rate + 1e-6);
	if (!config->delays || due <= last)
		return;
	struct px4_view view = {.self = self,
		.step = step,
		.w = w,
		.pose = self->host->link_pose(step, config->link, TROUPE_NEXT),
		.twist = self->host->link_twist(step, config->link, TROUPE_NEXT)};
	view.site = self->host->site(self, troupe_pose_place(view.pose));
	struct px4_delayed *place = &w->places[++w->place_count % PX4_DELAYED_MAX];
	place->time_s = next_s;
	px4_measure_place(&view, place->numbers, truth);
}

static void px4_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct px4_words *w = words;
	struct troupe_vec3 before = host->link_twist(step, config->link, TROUPE_NOW).linear;
	struct troupe_vec3 after = host->link_twist(step, config->link, TROUPE_NEXT).linear;
	struct troupe_vec3 felt =
		troupe_vec3_sub(troupe_vec3_scale(troupe_vec3_sub(after, before), 1 / step->dt), host->gravity(self));
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NEXT));
	felt = troupe_quat_rotate(troupe_quat_inverse(turn), felt);
	w->acceleration[0] = felt.x;
	w->acceleration[1] = felt.y;
	w->acceleration[2] = felt.z;
	px4_walk(self, step, w);
	px4_sample_place(self, step, w);
}

static bool px4_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct px4_view view = {.self = self,
		.step = step,
		.w = words,
		.message = message,
		.pose = host->link_pose(step, config->link, TROUPE_NOW),
		.twist = host->link_twist(step, config->link, TROUPE_NOW)};
	(void)output;
	if (config->range) {
		struct troupe_message *row = host->put_part(message, config->header);
		host->put_text(row, config->key, "range");
		host->put_text(row, config->value, config->range);
	}
	view.site = host->site(self, troupe_pose_place(view.pose));
	view.field = config->has_earth_field ? host->earth_field(self, troupe_pose_place(view.pose))
					     : view.site.magnetic_field;
	px4_put_motion(&view);
	px4_put_air(&view);
	px4_put_place(&view);
	px4_put_attitude(&view);
	px4_put_rc(&view);
	return true;
}

const struct troupe_kind builtin_px4 = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::Px4Vehicle", "libgazebo_mavlink_interface.so", NULL},
	.parameters = px4_parameters,
	.configure = px4_configure,
	.check = px4_check,
	.command = px4_command,
	.update = px4_update,
	.pre_update = px4_pre_update,
	.post_update = px4_post_update,
	.report = px4_report,
};

const struct troupe_kind builtin_px4_sensor = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::Px4Sensor", "libgazebo_imu_plugin.so",
		"libgazebo_magnetometer_plugin.so", "libgazebo_barometer_plugin.so", "libgazebo_gps_plugin.so",
		"libgazebo_groundtruth_plugin.so", "libgazebo_multirotor_base_plugin.so", NULL},
	.parameters = px4_sensor_parameters,
	.configure = px4_sensor_configure,
};
