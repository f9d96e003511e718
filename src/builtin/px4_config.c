/* The vehicle's own plug-in reads those of its sensors, too: each says how noisy its sensor is. */
#include "builtin/px4_config.h"

#include <string.h>

enum { PX4_PORT = 4560, PX4_GAUSS_PER_TESLA = 10000 };

/* --- channels ----------------------------------------------------------------------------------------------------- */

static bool px4_config_read_type(
	struct troupe_system *self, const struct troupe_element *at, struct px4_channel *channel)
{
	const char *type = self->host->text(at, "joint_control_type", "velocity");
	channel->servo.by_force = strcmp(type, "position_kinematic") != 0;
	channel->servo.drive = !strcmp(type, "velocity") ? BUILTIN_SERVO_VELOCITY : BUILTIN_SERVO_POSITION;
	return !strcmp(type, "velocity") || !strcmp(type, "position") || !strcmp(type, "position_kinematic") ||
	       self->host->refuse(self, at,
		       "<joint_control_type> is '%.40s': expected velocity, position or position_kinematic", type);
}

static void px4_config_read_pid(struct troupe_system *self, const struct troupe_element *at, struct builtin_pid *pid)
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
static void px4_config_find_joint(
	struct troupe_system *self, const struct troupe_element *at, struct px4_channel *channel)
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

static bool px4_config_read_channel(
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
	px4_config_read_pid(self, at, &channel->servo.pid);
	px4_config_find_joint(self, at, channel);
	return px4_config_read_type(self, at, channel);
}

static bool px4_config_read_channels(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct px4_config *config = self->config;
	const struct troupe_element *list = host->child(plugin, "control_channels", NULL), *at = NULL;
	while (list && (at = host->child(list, "channel", at))) {
		if (config->channel_count == PX4_CHANNELS_MAX)
			return host->refuse(self, at, "more than %d channels", PX4_CHANNELS_MAX);
		if (!px4_config_read_channel(self, at, config->channel_count, &config->channels[config->channel_count]))
			return false;
		config->channel_count++;
	}
	return true;
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

/* The plug-ins of the sensors, which the vehicle's own plug-in reads. */
static const struct troupe_parameter px4_config_sensor_parameters[] = {
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

static bool px4_config_is_file(const struct troupe_host *host, const struct troupe_element *plugin, const char *file)
{
	const char *filename = host->attribute(plugin, "filename");
	return filename && strstr(filename, file);
}

static const struct troupe_element *px4_config_sensor_of(struct troupe_system *self, const char *file)
{
	const struct troupe_element *at = NULL;
	while ((at = self->host->sibling(self, at)))
		if (px4_config_is_file(self->host, at, file))
			return at;
	return NULL;
}

struct px4_noise_names {
	const char *density, *walk, *correlation, *start;
	struct px4_noise usual;
};

static void px4_config_read_noise(struct troupe_system *self, const struct troupe_element *plugin,
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

static void px4_config_read_motion(struct troupe_system *self)
{
	static const struct px4_noise_names gyro = {"gyroscopeNoiseDensity", "gyroscopeRandomWalk",
		"gyroscopeBiasCorrelationTime", "gyroscopeTurnOnBiasSigma", {3.394e-4, 3.879e-5, 1000, 8.73e-3}};
	static const struct px4_noise_names accelerometer = {"accelerometerNoiseDensity", "accelerometerRandomWalk",
		"accelerometerBiasCorrelationTime", "accelerometerTurnOnBiasSigma", {4e-3, 6e-3, 300, 0.196}};
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *imu = px4_config_sensor_of(self, "gazebo_imu_plugin");
	const char *link = imu ? host->text(imu, "linkName", "imu_link") : "imu_link";
	const char *slash = strrchr(link, '/');
	config->link = host->find_link(self, slash ? slash + 1 : link);
	if (config->link == TROUPE_NOTHING)
		config->link = host->frame_link(self);
	if (!imu)
		return;
	px4_config_read_noise(self, imu, &gyro, 1, config->axes);
	px4_config_read_noise(self, imu, &accelerometer, 1, config->axes + PX4_VECTOR);
}

static void px4_config_read_surroundings(struct troupe_system *self)
{
	static const struct px4_noise_names magnetometer = {
		"noiseDensity", "randomWalk", "biasCorrelationTime", NULL, {4e-4, 6.4e-6, 600, 0}};
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *magnetic = px4_config_sensor_of(self, "gazebo_magnetometer_plugin");
	const struct troupe_element *air = px4_config_sensor_of(self, "gazebo_barometer_plugin");
	config->magnetic_rate = 100;
	config->pressure_rate = 50;
	config->wind = host->wind(self);
	config->has_earth_field = magnetic != NULL;
	if (magnetic) {
		px4_config_read_noise(
			self, magnetic, &magnetometer, 1.0 / PX4_GAUSS_PER_TESLA, config->axes + 2 * PX4_VECTOR);
		config->magnetic_rate = host->number(self, magnetic, "pubRate", config->magnetic_rate);
	}
	if (!air)
		return;
	config->pressure_rate = host->number(self, air, "pubRate", config->pressure_rate);
	config->pressure_drift = host->number(self, air, "baroDriftPaPerSec", 0);
	config->pressure_deviation = 1; /* Pa, as the plug-in has it */
}

static void px4_config_read_place(struct troupe_system *self)
{
	struct px4_config *config = self->config;
	const struct troupe_host *host = self->host;
	const struct troupe_element *gps = px4_config_sensor_of(self, "gazebo_gps_plugin");
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
static bool px4_config_sensor_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	(void)self, (void)plugin;
	return true;
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static bool px4_config_find_vector(struct troupe_system *self, const char *name, const char *const *parts,
	uint32_t count, const struct troupe_field **fields)
{
	for (uint32_t i = 0; i < count; i++) {
		const char *path = self->host->print(self, "%s%s", name, parts[i]);
		if (!(fields[i] = self->host->field(self, "troupe.msgs.VehicleState", path)))
			return false;
	}
	return true;
}

static bool px4_config_find_fields(struct troupe_system *self, struct px4_config *config)
{
	static const char *const xyz[] = {".x", ".y", ".z"}, *const wxyz[] = {".w", ".x", ".y", ".z"};
	static const char *const place[] = {
		".latitude_deg", ".longitude_deg", ".altitude", ".velocity_east", ".velocity_north", ".velocity_up"};
	struct px4_fields *field = &config->field;
	static const char *const whole[] = {""};
	return px4_config_find_vector(self, "acceleration", xyz, 3, field->acceleration) &&
	       px4_config_find_vector(self, "angular_velocity", xyz, 3, field->rates) &&
	       px4_config_find_vector(self, "magnetic_field", xyz, 3, field->magnetic) &&
	       px4_config_find_vector(self, "true_acceleration", xyz, 3, field->true_acceleration) &&
	       px4_config_find_vector(self, "true_angular_velocity", xyz, 3, field->true_rates) &&
	       px4_config_find_vector(self, "attitude", wxyz, 4, field->attitude) &&
	       px4_config_find_vector(self, "place", place, 6, field->place) &&
	       px4_config_find_vector(self, "true_place", place, 6, field->true_place) &&
	       px4_config_find_vector(self, "magnetic_field_sample", whole, 1, &field->magnetic_sample) &&
	       px4_config_find_vector(self, "pressure", whole, 1, &field->pressure) &&
	       px4_config_find_vector(self, "dynamic_pressure", whole, 1, &field->dynamic) &&
	       px4_config_find_vector(self, "temperature", whole, 1, &field->temperature) &&
	       px4_config_find_vector(self, "pressure_sample", whole, 1, &field->pressure_sample) &&
	       px4_config_find_vector(self, "place_sample", whole, 1, &field->place_sample) &&
	       px4_config_find_vector(self, "place_time", whole, 1, &field->place_time) &&
	       px4_config_find_vector(self, "rc", whole, 1, &field->rc) &&
	       px4_config_find_vector(self, "rc_rssi", whole, 1, &field->rssi) &&
	       px4_config_find_vector(self, "airspeed", whole, 1, &field->airspeed);
}

static bool px4_config_open_topics(struct troupe_system *self, const struct troupe_element *plugin, double port)
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
	       config->rc_channel && config->rc_rssi && px4_config_find_fields(self, config) &&
	       host->take(self, plugin, host->print(self, "/px4/%.0f/controls", port), "troupe.msgs.VehicleControls",
		       PX4_CONTROL, TROUPE_NOTHING) &&
	       host->take(self, plugin, host->print(self, "/px4/%.0f/rc", port), "troupe.msgs.VehicleRc", PX4_RC,
		       TROUPE_NOTHING) &&
	       host->give(self, plugin, &state, &config->state) && host->give(self, plugin, &motors, &config->motors);
}

static void px4_config_name_words(struct troupe_system *self)
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

bool px4_config_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	self->config = host->alloc(self, sizeof(struct px4_config));
	double port = host->number(self, plugin, "mavlink_tcp_port", PX4_PORT);
	if (port != floor(port))
		return host->refuse(self, plugin, "<mavlink_tcp_port> is %g: expected a port", port);
	if (!host->must_move(self) || !px4_config_read_channels(self, plugin))
		return false;
	px4_config_read_motion(self);
	px4_config_read_surroundings(self);
	px4_config_read_place(self);
	px4_config_name_words(self);
	return px4_config_open_topics(self, plugin, port);
}

const struct troupe_kind builtin_px4_sensor = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::Px4Sensor", "libgazebo_imu_plugin.so",
		"libgazebo_magnetometer_plugin.so", "libgazebo_barometer_plugin.so", "libgazebo_gps_plugin.so",
		"libgazebo_groundtruth_plugin.so", "libgazebo_multirotor_base_plugin.so", NULL},
	.parameters = px4_config_sensor_parameters,
	.configure = px4_config_sensor_configure,
};
