/* What is sent at a barrier ends with HIL_SENSOR, by which PX4's time goes on; controls with that time answer it. Older
 * ones are late answers, from the time when PX4 booted. What came behind an answer is read at the next barrier, so that
 * it does not matter when it came. */
#include "gateway/px4/px4_vehicle.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/math.h"
#include "base/text.h"
#include "gateway/px4/mavlink.h"
#include "topic/message.h"
#include "topic/sensor.pb-c.h"
#include "topic/troupe.pb-c.h"

#include <troupe/world.h>

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PX4_VEHICLE_PERIOD_NS = 4000000,
	PX4_VEHICLE_IN_BYTES = 16384,
	PX4_VEHICLE_OUT_BYTES_MAX = 1 << 20,  /* that PX4 has not read */
	PX4_VEHICLE_TURN_BYTES_MAX = 1 << 16, /* that are read at once, before the run has its turn */
	PX4_VEHICLE_SECOND_US = 1000000,
	PX4_VEHICLE_RC_US = 20000,      /* between two messages of the remote control */
	PX4_VEHICLE_SET_INTERVAL = 511, /* MAV_CMD_SET_MESSAGE_INTERVAL */
	PX4_VEHICLE_ACCEPTED = 0,
	PX4_VEHICLE_UNSUPPORTED = 3,
};

enum px4_vehicle_pace { PX4_VEHICLE_BOOTS, PX4_VEHICLE_LOCKSTEP, PX4_VEHICLE_FREE };

struct px4_vehicle {
	struct autopilot_client base;
	char *state_topic, *controls_topic, *range_topic; /* range: NULL: there is none */
	int listener, file;                               /* file: the connection; -1: there is none */
	unsigned char in[PX4_VEHICLE_IN_BYTES];
	size_t in_count;
	struct text bytes; /* to be sent */
	struct mavlink_out out;
	uint32_t refused; /* pieces of rubbish */
	bool second_told;
	enum px4_vehicle_pace pace;
	uint64_t sent_us, turn_ns; /* simulated time of the last HIL_SENSOR; real time of the barrier's end */
	bool has_sent, is_answered;
	struct mavlink_controls controls;
	/* when they are due, or the number of the last sample */
	uint64_t greet_us, truth_us, truth_every_us, rc_us;
	bool truth_is_off;
	uint32_t magnetic_sample, pressure_sample, place_sample;
	double range_m, range_least_m, range_most_m;
	bool has_range;
};

/* --- the connection ----------------------------------------------------------------------------------------------- */

static void px4_vehicle_close(struct px4_vehicle *vehicle)
{
	if (vehicle->file >= 0)
		close(vehicle->file);
	vehicle->file = -1;
	vehicle->in_count = 0;
	vehicle->bytes.count = 0;
	vehicle->refused = 0;
	vehicle->pace = PX4_VEHICLE_BOOTS;
	vehicle->has_sent = vehicle->is_answered = vehicle->has_range = vehicle->truth_is_off = false;
	vehicle->greet_us = vehicle->truth_us = vehicle->truth_every_us = vehicle->rc_us = 0;
	vehicle->magnetic_sample = vehicle->pressure_sample = vehicle->place_sample = 0;
}

/* False: the connection is lost. */
static bool px4_vehicle_flush(struct px4_vehicle *vehicle)
{
	while (vehicle->bytes.count) {
		ssize_t count = AGAIN(
			send(vehicle->file, vehicle->bytes.at, vehicle->bytes.count, MSG_DONTWAIT | MSG_NOSIGNAL));
		if (count < 0)
			return (errno == EAGAIN || errno == EWOULDBLOCK) &&
			       vehicle->bytes.count <= PX4_VEHICLE_OUT_BYTES_MAX;
		vehicle->bytes.count -= (size_t)count;
		memmove(vehicle->bytes.at, vehicle->bytes.at + count, vehicle->bytes.count);
	}
	return true;
}

enum px4_vehicle_read { PX4_VEHICLE_NONE, PX4_VEHICLE_SOME, PX4_VEHICLE_LOST };

static enum px4_vehicle_read px4_vehicle_read(struct px4_vehicle *vehicle)
{
	ssize_t count = AGAIN(recv(
		vehicle->file, vehicle->in + vehicle->in_count, sizeof vehicle->in - vehicle->in_count, MSG_DONTWAIT));
	if (count < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? PX4_VEHICLE_NONE : PX4_VEHICLE_LOST;
	vehicle->in_count += (size_t)count;
	return count ? PX4_VEHICLE_SOME : PX4_VEHICLE_LOST;
}

/* The next message that PX4 has sent. False: more bytes are needed. Of what is no message, the first is told. */
static bool px4_vehicle_next(struct px4_vehicle *vehicle, struct mavlink_frame *ret_frame)
{
	size_t used, before = 0;
	enum mavlink_found found;
	do {
		found = mavlink_find(vehicle->in + before, vehicle->in_count - before, &used, ret_frame);
		before += used;
		if (found == MAVLINK_RUBBISH && !vehicle->refused++)
			autopilot_client_say(&vehicle->base,
				"%zu bytes that are no MAVLink message, or have a wrong checksum: expected MAVLink 2",
				used);
	} while (found == MAVLINK_OTHER || found == MAVLINK_RUBBISH);
	vehicle->in_count -= before;
	memmove(vehicle->in, vehicle->in + before, vehicle->in_count);
	return found == MAVLINK_FRAME;
}

/* --- what PX4 says ------------------------------------------------------------------------------------------------ */

static void px4_vehicle_take_controls(struct px4_vehicle *vehicle, const struct mavlink_frame *frame)
{
	struct mavlink_controls controls = mavlink_controls_of(frame);
	vehicle->pace = controls.lockstep ? PX4_VEHICLE_LOCKSTEP : PX4_VEHICLE_FREE;
	if (controls.lockstep && controls.time_us < vehicle->sent_us)
		return; /* a late answer */
	vehicle->controls = controls;
	vehicle->is_answered = true;
}

/* Only the interval of HIL_STATE_QUATERNION, which PX4 asks for, can be set. */
static void px4_vehicle_take_command(struct px4_vehicle *vehicle, const struct mavlink_frame *frame)
{
	struct mavlink_command command = mavlink_command_of(frame);
	double every_us = command.parameters[1];
	bool can = command.command == PX4_VEHICLE_SET_INTERVAL &&
		   command.parameters[0] == MAVLINK_HIL_STATE_QUATERNION && every_us >= -1 && every_us < 1e12;
	if (can) {
		vehicle->truth_is_off = every_us < 0;
		vehicle->truth_every_us = every_us > 0 ? (uint64_t)every_us : 0;
		vehicle->truth_us = 0;
	}
	mavlink_add_ack(&vehicle->out, command.command, can ? PX4_VEHICLE_ACCEPTED : PX4_VEHICLE_UNSUPPORTED);
}

static void px4_vehicle_take(struct px4_vehicle *vehicle, const struct mavlink_frame *frame)
{
	if (frame->message == MAVLINK_HIL_ACTUATOR_CONTROLS)
		px4_vehicle_take_controls(vehicle, frame);
	else if (frame->message == MAVLINK_COMMAND_LONG)
		px4_vehicle_take_command(vehicle, frame);
}

/* --- what the run says -------------------------------------------------------------------------------------------- */

static void px4_vehicle_vector(const Gz__Msgs__Vector3d *v, double scale, double ret[3])
{
	ret[0] = v ? scale * v->x : 0;
	ret[1] = v ? scale * v->y : 0;
	ret[2] = v ? scale * v->z : 0;
}

static struct mavlink_place px4_vehicle_place(uint64_t time_us, const Gz__Msgs__NavSat *at)
{
	struct mavlink_place place = {.time_us = time_us};
	if (at)
		place = (struct mavlink_place){time_us, at->latitude_deg, at->longitude_deg, at->altitude,
			{at->velocity_north, at->velocity_east, -at->velocity_up}};
	return place;
}

/* The altitude at which standard air has this pressure (U.S. Standard Atmosphere 1976). */
static double px4_vehicle_altitude(double pressure_Pa)
{
	static const double height_m = 44330.76923, power = 0.1902632;
	return pressure_Pa > 0 ? height_m * (1 - math_exp(power * math_log(pressure_Pa / 101325))) : 0;
}

/* Whether there is a new sample, by its number. */
static bool px4_vehicle_is_new(uint32_t *last, uint32_t sample)
{
	bool is_new = *last != sample;
	*last = sample;
	return is_new;
}

static void px4_vehicle_add_sensor(
	struct px4_vehicle *vehicle, uint64_t time_us, const Troupe__Msgs__VehicleState *state)
{
	static const double gauss = 1e4, hectopascal = 1e-2, freezing_K = 273.15;
	struct mavlink_sensor sensor = {.time_us = time_us,
		.updated = MAVLINK_SENSOR_MOTION,
		.pressure = state->pressure * hectopascal,
		.dynamic = state->dynamic_pressure * hectopascal,
		.altitude = px4_vehicle_altitude(state->pressure),
		.temperature = state->temperature - freezing_K};
	px4_vehicle_vector(state->acceleration, 1, sensor.acceleration);
	px4_vehicle_vector(state->angular_velocity, 1, sensor.rates);
	px4_vehicle_vector(state->magnetic_field, gauss, sensor.magnetic);
	if (px4_vehicle_is_new(&vehicle->magnetic_sample, state->magnetic_field_sample))
		sensor.updated |= MAVLINK_SENSOR_MAGNETIC;
	if (px4_vehicle_is_new(&vehicle->pressure_sample, state->pressure_sample))
		sensor.updated |= MAVLINK_SENSOR_AIR;
	mavlink_add_sensor(&vehicle->out, &sensor);
}

static void px4_vehicle_add_truth(
	struct px4_vehicle *vehicle, uint64_t time_us, const Troupe__Msgs__VehicleState *state)
{
	struct mavlink_truth truth = {
		.place = px4_vehicle_place(time_us, state->true_place), .airspeed = state->airspeed};
	const Gz__Msgs__Quaternion *q = state->attitude;
	if (vehicle->truth_is_off || time_us < vehicle->truth_us)
		return;
	vehicle->truth_us = time_us + vehicle->truth_every_us;
	truth.attitude[0] = q ? q->w : 1;
	truth.attitude[1] = q ? q->x : 0;
	truth.attitude[2] = q ? q->y : 0;
	truth.attitude[3] = q ? q->z : 0;
	px4_vehicle_vector(state->true_angular_velocity, 1, truth.rates);
	px4_vehicle_vector(state->true_acceleration, 1, truth.acceleration);
	mavlink_add_truth(&vehicle->out, &truth);
}

static void px4_vehicle_add_rc(struct px4_vehicle *vehicle, uint64_t time_us, const Troupe__Msgs__VehicleState *state)
{
	if (!state->n_rc || state->n_rc > MAVLINK_RC_MAX || time_us < vehicle->rc_us)
		return;
	vehicle->rc_us = time_us + PX4_VEHICLE_RC_US;
	mavlink_add_rc(&vehicle->out, time_us, state->rc, state->n_rc, state->rc_rssi);
}

static void px4_vehicle_add_state(
	struct px4_vehicle *vehicle, uint64_t time_us, const Troupe__Msgs__VehicleState *state)
{
	if (time_us >= vehicle->greet_us) {
		mavlink_add_heartbeat(&vehicle->out);
		mavlink_add_system_time(&vehicle->out, time_us);
		vehicle->greet_us = time_us + PX4_VEHICLE_SECOND_US;
	}
	if (px4_vehicle_is_new(&vehicle->place_sample, state->place_sample)) {
		uint64_t measured_us = (uint64_t)(fmin(fmax(state->place_time, 0), 1e12) * 1e6 + 0.5);
		struct mavlink_place place = px4_vehicle_place(measured_us, state->place);
		mavlink_add_gps(&vehicle->out, &place);
	}
	px4_vehicle_add_rc(vehicle, time_us, state);
	px4_vehicle_add_truth(vehicle, time_us, state);
	if (vehicle->has_range)
		mavlink_add_distance(
			&vehicle->out, time_us, vehicle->range_least_m, vehicle->range_most_m, vehicle->range_m);
	px4_vehicle_add_sensor(vehicle, time_us, state);
	vehicle->has_range = false;
	vehicle->has_sent = true;
	vehicle->sent_us = time_us;
}

/* The state names the rangefinder in its header. */
static void px4_vehicle_open_range(struct px4_vehicle *vehicle, const Gz__Msgs__Header *header)
{
	struct troupe_error error;
	for (size_t i = 0; header && !vehicle->range_topic && i < header->n_data; i++) {
		if (strcmp(header->data[i]->key, "range") != 0 || !header->data[i]->n_value)
			continue;
		vehicle->range_topic = mem_strdup(header->data[i]->value[0]);
		if (troupe_client_subscribe(vehicle->base.client, vehicle->range_topic, 0, &error))
			autopilot_client_say(&vehicle->base, "rangefinder: %s", error.text);
	}
}

/* A beam that meets nothing is beyond the range. */
static void px4_vehicle_take_scan(struct px4_vehicle *vehicle, const Gz__Msgs__LaserScan *scan)
{
	double least = scan->range_max + 1;
	for (size_t i = 0; i < scan->n_ranges; i++)
		if (isfinite(scan->ranges[i]))
			least = fmin(least, scan->ranges[i]);
	vehicle->range_m = least;
	vehicle->range_least_m = scan->range_min;
	vehicle->range_most_m = scan->range_max;
	vehicle->has_range = true;
}

/* state: the last one; it lies in the arena. */
static void px4_vehicle_take_message(struct px4_vehicle *vehicle, const struct troupe_message *message,
	struct arena *arena, const Troupe__Msgs__VehicleState **state)
{
	static const struct message_limits no_limits = {SIZE_MAX, UINT32_MAX, 0, true};
	ProtobufCMessage *made;
	struct arena of_scan = {0};
	bool is_state = !message->is_reply && !strcmp(message->topic, vehicle->state_topic);
	message_type type = message->is_reply ? NULL : type_find(message->type);
	if (is_state)
		arena_fini(arena);
	if (!type || message_of_bytes_in(is_state ? arena : &of_scan, type, message->bytes, message->count, &no_limits,
			     &made, NULL))
		return;
	if (is_state) {
		*state = (const Troupe__Msgs__VehicleState *)made;
		px4_vehicle_open_range(vehicle, (*state)->header);
	} else if (!strcmp(message->type, "gz.msgs.LaserScan")) {
		px4_vehicle_take_scan(vehicle, (const Gz__Msgs__LaserScan *)made);
	}
	arena_fini(&of_scan);
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

static void px4_vehicle_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct px4_vehicle *vehicle = ctx;
	struct troupe_message message;
	struct arena arena = {0};
	const Troupe__Msgs__VehicleState *state = NULL;
	while (troupe_client_take(vehicle->base.client, 0, &message))
		px4_vehicle_take_message(vehicle, &message, &arena, &state);
	vehicle->has_sent = vehicle->is_answered = false;
	if (state)
		px4_vehicle_add_state(vehicle, (uint64_t)barrier->time_ns / 1000, state);
	(void)px4_vehicle_flush(vehicle); /* a lost connection is seen when the answer is waited for */
	arena_fini(&arena);
}

/* Reads until an answer has come. False: the connection is lost. */
static bool px4_vehicle_listen(struct px4_vehicle *vehicle)
{
	struct mavlink_frame frame;
	for (size_t read = 0; !vehicle->is_answered;) {
		if (px4_vehicle_next(vehicle, &frame)) {
			px4_vehicle_take(vehicle, &frame);
			continue;
		}
		size_t before = vehicle->in_count;
		enum px4_vehicle_read got =
			read < PX4_VEHICLE_TURN_BYTES_MAX ? px4_vehicle_read(vehicle) : PX4_VEHICLE_NONE;
		if (got != PX4_VEHICLE_SOME)
			return got == PX4_VEHICLE_NONE;
		read += vehicle->in_count - before;
	}
	return true;
}

static troupe_status px4_vehicle_give(struct px4_vehicle *vehicle, struct troupe_error *error)
{
	double values[MAVLINK_CONTROLS];
	struct text bytes = {0};
	Troupe__Msgs__VehicleControls controls = TROUPE__MSGS__VEHICLE_CONTROLS__INIT;
	for (int i = 0; i < MAVLINK_CONTROLS; i++)
		values[i] = vehicle->controls.values[i];
	controls.n_control = MAVLINK_CONTROLS;
	controls.control = values;
	controls.armed = vehicle->controls.armed;
	message_add_bytes(&bytes, &controls.base);
	troupe_status status = troupe_client_publish(vehicle->base.client, NULL, vehicle->controls_topic,
		"troupe.msgs.VehicleControls", bytes.at, bytes.count, NULL, error);
	text_fini(&bytes);
	return status;
}

/* Real time until the run goes on without an answer; 0: it does now. */
static uint64_t px4_vehicle_patience_ns(const struct px4_vehicle *vehicle)
{
	uint64_t end_ns = vehicle->turn_ns + PX4_VEHICLE_PERIOD_NS, now_ns = clock_now_ns();
	if (!vehicle->has_sent)
		return 0;
	if (vehicle->pace == PX4_VEHICLE_LOCKSTEP)
		return UINT64_MAX;
	return now_ns < end_ns ? end_ns - now_ns : 0;
}

static void px4_vehicle_wait(const struct px4_vehicle *vehicle, uint64_t wait_ns)
{
	struct pollfd file = {vehicle->file, (short)(POLLIN | (vehicle->bytes.count ? POLLOUT : 0)), 0};
	uint64_t patience_ns = px4_vehicle_patience_ns(vehicle);
	(void)poll(&file, 1, (int)((patience_ns < wait_ns ? patience_ns : wait_ns) / 1000000) + 1);
}

static troupe_answer px4_vehicle_poll(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct px4_vehicle *vehicle = ctx;
	(void)barrier;
	for (int turn = 0; turn < 2; turn++) {
		if (!px4_vehicle_flush(vehicle) || !px4_vehicle_listen(vehicle))
			return TROUPE_ANSWER_LEFT;
		if (vehicle->is_answered || !px4_vehicle_patience_ns(vehicle)) {
			vehicle->turn_ns = clock_now_ns();
			return vehicle->is_answered && px4_vehicle_give(vehicle, error) ? TROUPE_ANSWER_FAILED
											: TROUPE_ANSWER_DONE;
		}
		if (wait_ns && !turn)
			px4_vehicle_wait(vehicle, wait_ns);
	}
	return TROUPE_ANSWER_NONE;
}

static void px4_vehicle_out(void *ctx, const struct troupe_error *why)
{
	struct px4_vehicle *vehicle = ctx;
	(void)why; /* the run warns */
	px4_vehicle_close(vehicle);
	autopilot_client_out(&vehicle->base);
}

static const struct troupe_barrier_ops px4_vehicle_ops = {
	.begin = px4_vehicle_begin, .poll = px4_vehicle_poll, .out = px4_vehicle_out};

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* One program at a time: while it is joined, it stays; else the last one that has come counts. */
static void px4_vehicle_accept(struct px4_vehicle *vehicle)
{
	struct address from;
	char where[ADDRESS_TEXT_BYTES];
	int file = address_accept(vehicle->listener, &from);
	if (file < 0)
		return;
	if (!autopilot_client_is_joined(&vehicle->base)) {
		px4_vehicle_close(vehicle);
		vehicle->file = file;
		return;
	}
	address_text(&from, where);
	if (!vehicle->second_told)
		autopilot_client_say(&vehicle->base, "%s is turned away: a program has joined already", where);
	vehicle->second_told = true;
	close(file);
}

/* Every 4 ms, unless that is no multiple of the step: then in each step. */
static uint64_t px4_vehicle_period_ns(const struct px4_vehicle *vehicle)
{
	uint64_t step_ns = (uint64_t)(troupe_server_step_s(vehicle->base.def.server, 0) * 1e9 + 0.5);
	return step_ns && PX4_VEHICLE_PERIOD_NS % step_ns == 0 ? (uint64_t)PX4_VEHICLE_PERIOD_NS : 0;
}

static void px4_vehicle_where(const struct px4_vehicle *vehicle, char ret_text[ADDRESS_TEXT_BYTES])
{
	struct address peer = {0};
	socklen_t room = sizeof peer.raw;
	if (!getpeername(vehicle->file, (struct sockaddr *)(void *)peer.raw, &room))
		peer.raw_bytes = (uint32_t)room;
	address_text(&peer, ret_text);
}

bool px4_vehicle_hear(struct autopilot_client *base)
{
	struct px4_vehicle *vehicle = (struct px4_vehicle *)base;
	struct mavlink_frame frame;
	struct troupe_error error;
	char where[ADDRESS_TEXT_BYTES];
	px4_vehicle_accept(vehicle);
	if (autopilot_client_is_joined(base) || vehicle->file < 0)
		return false;
	if (px4_vehicle_read(vehicle) == PX4_VEHICLE_LOST) {
		px4_vehicle_close(vehicle);
		return false;
	}
	if (!px4_vehicle_next(vehicle, &frame))
		return false;
	px4_vehicle_where(vehicle, where);
	if (frame.message == MAVLINK_HIL_ACTUATOR_CONTROLS)
		vehicle->pace = PX4_VEHICLE_LOCKSTEP;
	else
		px4_vehicle_take(vehicle, &frame);
	if (autopilot_client_open(base, &error) ||
		troupe_client_subscribe(base->client, vehicle->state_topic, 0, &error))
		autopilot_client_refuse(base, where, &error);
	else if (autopilot_client_join(base, &px4_vehicle_ops, vehicle, px4_vehicle_period_ns(vehicle), where))
		return true;
	px4_vehicle_close(vehicle);
	return false;
}

void px4_vehicle_files(const struct autopilot_client *base, int ret_files[FLEET_FILES_MAX])
{
	const struct px4_vehicle *vehicle = (const struct px4_vehicle *)base;
	ret_files[0] = vehicle->listener;
	ret_files[1] = autopilot_client_is_joined(base) ? -1 : vehicle->file;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

troupe_status px4_vehicle_create(
	const struct autopilot_client_def *def, struct autopilot_client **ret_vehicle, struct troupe_error *error)
{
	struct px4_vehicle *vehicle = mem_alloc(sizeof *vehicle);
	autopilot_client_init(&vehicle->base, def, "px4");
	vehicle->out.text = &vehicle->bytes;
	vehicle->file = -1;
	vehicle->state_topic = mem_printf("/px4/%u/state", def->number);
	vehicle->controls_topic = mem_printf("/px4/%u/controls", def->number);
	vehicle->listener = address_listen(&vehicle->base.def.address, 8);
	if (vehicle->listener < 0) {
		troupe_status status = fail(error, TROUPE_EIO, "PX4 of '%s': TCP port %u: %s", vehicle->base.model,
			def->number, strerror(errno));
		px4_vehicle_destroy(&vehicle->base);
		return status;
	}
	*ret_vehicle = &vehicle->base;
	return TROUPE_OK;
}

void px4_vehicle_destroy(struct autopilot_client *base)
{
	struct px4_vehicle *vehicle = (struct px4_vehicle *)base;
	if (!vehicle)
		return;
	autopilot_client_fini(base);
	px4_vehicle_close(vehicle);
	if (vehicle->listener >= 0)
		close(vehicle->listener);
	text_fini(&vehicle->bytes);
	free(vehicle->range_topic);
	free(vehicle->controls_topic);
	free(vehicle->state_topic);
	free(vehicle);
}
