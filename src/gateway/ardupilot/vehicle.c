/* The answer to servo outputs is the state after the step that was taken with them. So what comes first at a barrier is
 * the state, then the wait for the next outputs; only the outputs with which ArduPilot has joined are taken without
 * one. An answer that was lost is asked for again, with the same outputs. */
#include "gateway/ardupilot/vehicle.h"

#include "base/arena.h"
#include "base/parse.h"
#include "base/text.h"
#include "gateway/ardupilot/sitl.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/sensor.pb-c.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define VEHICLE_G 9.80665 /* m/s2: what an IMU at rest measures */

struct vehicle {
	struct autopilot_client base;
	char *state_topic, *servos_topic;
	int file;
	struct address peer;
	bool has_frame, has_servos; /* servos: not yet given to the run */
	struct sitl_servos servos;
	uint32_t refused; /* packets */
	/* What the run has said last. */
	struct sitl_state state;
	bool has_state, has_imu;
	uint32_t imu_count;            /* IMUs of the model */
	char *imu;                     /* "/sensor/NAME/", in the topic of the IMU that counts; NULL: not known yet */
	char *ranges[SITL_RANGES_MAX]; /* topics */
	struct text line;              /* as sent last */
};

/* --- the port ----------------------------------------------------------------------------------------------------- */

static void vehicle_send(struct vehicle *vehicle)
{
	if (vehicle->line.count)
		(void)AGAIN(sendto(vehicle->file, vehicle->line.at, vehicle->line.count, MSG_DONTWAIT | MSG_NOSIGNAL,
			(const struct sockaddr *)(const void *)vehicle->peer.raw, vehicle->peer.raw_bytes));
}

/* Takes packets until one has new servo outputs. Of what is no such packet, the first is told. */
static bool vehicle_take_servos(struct vehicle *vehicle)
{
	unsigned char bytes[SITL_SERVOS_BYTES_MAX + 1];
	struct address from;
	struct sitl_servos servos;
	struct troupe_error error;
	for (;;) {
		socklen_t room = sizeof from.raw;
		ssize_t count = AGAIN(recvfrom(
			vehicle->file, bytes, sizeof bytes, MSG_DONTWAIT, (struct sockaddr *)(void *)from.raw, &room));
		if (count < 0)
			return false;
		from.raw_bytes = (uint32_t)room;
		if (sitl_read_servos(bytes, (size_t)count, &servos, &error)) {
			if (!vehicle->refused++)
				autopilot_client_say(&vehicle->base, "%s", error.text);
			continue;
		}
		vehicle->peer = from;
		if (vehicle->has_frame && servos.frame == vehicle->servos.frame) {
			vehicle_send(vehicle); /* the answer was lost */
			continue;
		}
		vehicle->servos = servos;
		return vehicle->has_frame = vehicle->has_servos = true;
	}
}

/* --- what the run says -------------------------------------------------------------------------------------------- */

static struct troupe_vec3 vehicle_vector(const Gz__Msgs__Vector3d *v)
{
	return v ? troupe_vec3_make(v->x, v->y, v->z) : troupe_vec3_make(0, 0, 0);
}

/* "iris::imu_link::imu_sensor": the part after the last "::" is the name of the sensor. */
static void vehicle_name_imu(struct vehicle *vehicle, const char *name)
{
	for (const char *at = name; (at = strstr(at, "::"));)
		name = at += 2;
	vehicle->imu = mem_printf("/sensor/%s/", name);
	if (!vehicle->imu_count)
		autopilot_client_say(&vehicle->base,
			"it has no IMU: expected a sensor '%s' of type imu; it is told that nothing turns "
			"and nothing accelerates",
			name);
}

static void vehicle_add_range(struct vehicle *vehicle, int at, const char *topic)
{
	struct troupe_error error;
	if (vehicle->ranges[at])
		return;
	vehicle->ranges[at] = mem_strdup(topic);
	if (troupe_client_subscribe(vehicle->base.client, topic, 0, &error))
		autopilot_client_say(&vehicle->base, "rangefinder %d: %s", at + 1, error.text);
}

static void vehicle_take_wind(struct vehicle *vehicle, const char *text)
{
	double wind[3];
	vehicle->state.has_wind = parse_doubles(text, wind, ARRAY_LEN(wind)) == (int)ARRAY_LEN(wind);
	if (vehicle->state.has_wind)
		vehicle->state.wind = troupe_vec3_make(wind[0], wind[1], wind[2]);
}

static void vehicle_take_fact(struct vehicle *vehicle, const char *key, const char *value)
{
	int at;
	if (!strcmp(key, "imu") && !vehicle->imu)
		vehicle_name_imu(vehicle, value);
	else if (!strcmp(key, "wind"))
		vehicle_take_wind(vehicle, value);
	else if (sscanf(key, "range %d", &at) == 1 && at >= 1 && at <= SITL_RANGES_MAX)
		vehicle_add_range(vehicle, at - 1, value);
}

static void vehicle_take_state(struct vehicle *vehicle, const Gz__Msgs__Odometry *odometry)
{
	const Gz__Msgs__Quaternion *q = odometry->pose ? odometry->pose->orientation : NULL;
	for (size_t i = 0; odometry->header && i < odometry->header->n_data; i++)
		if (odometry->header->data[i]->n_value)
			vehicle_take_fact(vehicle, odometry->header->data[i]->key, odometry->header->data[i]->value[0]);
	vehicle->state.position = vehicle_vector(odometry->pose ? odometry->pose->position : NULL);
	vehicle->state.velocity = vehicle_vector(odometry->twist ? odometry->twist->linear : NULL);
	if (q)
		vehicle->state.attitude = (struct troupe_quat){q->w, q->x, q->y, q->z};
	vehicle->has_state = true;
}

static void vehicle_take_imu(struct vehicle *vehicle, const char *topic, const Gz__Msgs__IMU *imu)
{
	if (vehicle->imu_count > 1 && (!vehicle->imu || !strstr(topic, vehicle->imu)))
		return;
	vehicle->state.gyro = vehicle_vector(imu->angular_velocity);
	vehicle->state.accel = vehicle_vector(imu->linear_acceleration);
	vehicle->has_imu = true;
}

/* A beam that meets nothing is beyond the range, as ArduPilot expects it. */
static void vehicle_take_scan(struct vehicle *vehicle, const char *topic, const Gz__Msgs__LaserScan *scan)
{
	double least = 2 * scan->range_max;
	for (size_t i = 0; i < scan->n_ranges; i++)
		if (isfinite(scan->ranges[i]))
			least = fmin(least, scan->ranges[i]);
	for (int i = 0; i < SITL_RANGES_MAX; i++)
		if (vehicle->ranges[i] && !strcmp(vehicle->ranges[i], topic))
			vehicle->state.ranges[i] = least;
}

static void vehicle_take_message(struct vehicle *vehicle, const struct troupe_message *message)
{
	static const struct message_limits no_limits = {SIZE_MAX, UINT32_MAX, 0, true};
	struct arena arena = {0};
	ProtobufCMessage *made;
	message_type type = type_find(message->type);
	if (message->is_reply || !type ||
		message_of_bytes_in(&arena, type, message->bytes, message->count, &no_limits, &made, NULL))
		return;
	if (!strcmp(message->topic, vehicle->state_topic))
		vehicle_take_state(vehicle, (const Gz__Msgs__Odometry *)made);
	else if (!strcmp(message->type, "gz.msgs.IMU"))
		vehicle_take_imu(vehicle, message->topic, (const Gz__Msgs__IMU *)made);
	else if (!strcmp(message->type, "gz.msgs.LaserScan"))
		vehicle_take_scan(vehicle, message->topic, (const Gz__Msgs__LaserScan *)made);
	arena_fini(&arena);
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

/* An IMU measures from the step on that follows the first subscription: until then the vehicle is told to be at rest.
 */
static void vehicle_answer(struct vehicle *vehicle, const struct troupe_barrier *barrier)
{
	if (!vehicle->has_state)
		return;
	vehicle->state.time_ns = barrier->time_ns;
	if (!vehicle->has_imu)
		vehicle->state.accel = troupe_quat_rotate(
			troupe_quat_inverse(vehicle->state.attitude), troupe_vec3_make(0, 0, -VEHICLE_G));
	vehicle->line.count = 0;
	sitl_add_state(&vehicle->line, &vehicle->state);
	vehicle_send(vehicle);
}

static void vehicle_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct vehicle *vehicle = ctx;
	struct troupe_message message;
	while (troupe_client_take(vehicle->base.client, 0, &message))
		vehicle_take_message(vehicle, &message);
	if (!vehicle->has_servos) /* those with which it came are still to be taken */
		vehicle_answer(vehicle, barrier);
}

static troupe_status vehicle_give_servos(struct vehicle *vehicle, struct troupe_error *error)
{
	double us[SITL_CHANNELS_MAX];
	struct text bytes = {0};
	Gz__Msgs__Actuators actuators = GZ__MSGS__ACTUATORS__INIT;
	for (uint32_t i = 0; i < vehicle->servos.channel_count; i++)
		us[i] = vehicle->servos.us[i];
	actuators.n_position = vehicle->servos.channel_count;
	actuators.position = us;
	message_add_bytes(&bytes, &actuators.base);
	troupe_status status = troupe_client_publish(vehicle->base.client, NULL, vehicle->servos_topic,
		"gz.msgs.Actuators", bytes.at, bytes.count, NULL, error);
	text_fini(&bytes);
	return status;
}

static troupe_answer vehicle_poll(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	struct vehicle *vehicle = ctx;
	(void)barrier;
	if (!vehicle->has_servos && !vehicle_take_servos(vehicle) && wait_ns) {
		(void)poll(&(struct pollfd){vehicle->file, POLLIN, 0}, 1, (int)(wait_ns / 1000000) + 1);
		(void)vehicle_take_servos(vehicle);
	}
	if (!vehicle->has_servos)
		return TROUPE_ANSWER_NONE;
	vehicle->has_servos = false;
	return vehicle_give_servos(vehicle, error) ? TROUPE_ANSWER_FAILED : TROUPE_ANSWER_DONE;
}

static void vehicle_out(void *ctx, const struct troupe_error *why)
{
	struct vehicle *vehicle = ctx;
	(void)why; /* the run warns */
	vehicle->has_servos = vehicle->has_frame = false;
	autopilot_client_out(&vehicle->base);
}

static const struct troupe_barrier_ops vehicle_ops = {.begin = vehicle_begin, .poll = vehicle_poll, .out = vehicle_out};

/* --- joining ------------------------------------------------------------------------------------------------------ */

/* The state, and all IMUs of the model: which of them counts is said by the first state. */
static troupe_status vehicle_subscribe(struct vehicle *vehicle, struct troupe_error *error)
{
	troupe_status status = troupe_client_subscribe(vehicle->base.client, vehicle->state_topic, 0, error);
	const struct troupe_topics *topics = troupe_topics_list(vehicle->base.def.server);
	vehicle->imu_count = 0;
	for (uint32_t i = 0; i < topics->count && !status; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		if (topic->kind != TROUPE_TOPIC_PUBLISHED || strcmp(topic->type, "gz.msgs.IMU") != 0 || !topic->model ||
			strcmp(topic->model, vehicle->base.model) != 0)
			continue;
		vehicle->imu_count++;
		status = troupe_client_subscribe(vehicle->base.client, topic->name, 0, error);
	}
	troupe_topics_release(topics);
	return status;
}

bool vehicle_hear(struct autopilot_client *base)
{
	struct vehicle *vehicle = (struct vehicle *)base;
	struct troupe_error error;
	char where[ADDRESS_TEXT_BYTES];
	if (!vehicle_take_servos(vehicle))
		return false;
	address_text(&vehicle->peer, where);
	if (autopilot_client_open(base, &error) || vehicle_subscribe(vehicle, &error))
		autopilot_client_refuse(base, where, &error);
	else if (autopilot_client_join(base, &vehicle_ops, vehicle, 0, where))
		return true;
	vehicle->has_frame = vehicle->has_servos = false;
	return false;
}

void vehicle_files(const struct autopilot_client *base, int ret_files[FLEET_FILES_MAX])
{
	ret_files[0] = autopilot_client_is_joined(base) ? -1 : ((const struct vehicle *)base)->file;
	ret_files[1] = -1;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status vehicle_open(struct vehicle *vehicle, struct troupe_error *error)
{
	const struct address *at = &vehicle->base.def.address;
	const struct sockaddr *bound = (const struct sockaddr *)(const void *)at->raw;
	vehicle->file = socket(bound->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (vehicle->file < 0 || bind(vehicle->file, bound, at->raw_bytes))
		return fail(error, TROUPE_EIO, "ArduPilot of '%s': UDP port %u: %s", vehicle->base.model,
			vehicle->base.def.number, strerror(errno));
	return TROUPE_OK;
}

troupe_status vehicle_create(
	const struct autopilot_client_def *def, struct autopilot_client **ret_vehicle, struct troupe_error *error)
{
	struct vehicle *vehicle = mem_alloc(sizeof *vehicle);
	autopilot_client_init(&vehicle->base, def, "ardupilot");
	vehicle->state_topic = mem_printf("/ardupilot/%u/state", def->number);
	vehicle->servos_topic = mem_printf("/ardupilot/%u/servos", def->number);
	vehicle->state.attitude.w = 1;
	for (int i = 0; i < SITL_RANGES_MAX; i++)
		vehicle->state.ranges[i] = NAN;
	troupe_status status = vehicle_open(vehicle, error);
	if (status)
		vehicle_destroy(&vehicle->base);
	else
		*ret_vehicle = &vehicle->base;
	return status;
}

void vehicle_destroy(struct autopilot_client *base)
{
	struct vehicle *vehicle = (struct vehicle *)base;
	if (!vehicle)
		return;
	autopilot_client_fini(base);
	if (vehicle->file >= 0)
		close(vehicle->file);
	for (int i = 0; i < SITL_RANGES_MAX; i++)
		free(vehicle->ranges[i]);
	free(vehicle->imu);
	text_fini(&vehicle->line);
	free(vehicle->servos_topic);
	free(vehicle->state_topic);
	free(vehicle);
}
