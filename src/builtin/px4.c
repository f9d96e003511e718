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
#include "builtin/px4_config.h"

#include <stdio.h>
#include <string.h>

enum {
	PX4_SEQUENCE_WALK = 100, /* random sequences of biases; those of white noise begin at 0 */
	PX4_SEQUENCE_PLACE = 200,
	PX4_SEQUENCE_AIR = 300,
	PX4_SEQUENCE_START = 400,
	PX4_RC_US_MAX = 3000,
};

static const double px4_place_delay_s = 0.12;

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
	.configure = px4_config_configure,
	.check = px4_check,
	.command = px4_command,
	.update = px4_update,
	.pre_update = px4_pre_update,
	.post_update = px4_post_update,
	.report = px4_report,
};
