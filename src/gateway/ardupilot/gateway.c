/* ArduPilot's SITL, unchanged: `sim_vehicle.py -f JSON:127.0.0.1` for each vehicle of the run, a model with an
 * ArduPilotPlugin (src/builtin/ardupilot.c). One thread waits for vehicles to be joined by their ArduPilot; those that
 * are joined are served by the thread of the step. */
#include "base/base.h"
#include "gateway/ardupilot/vehicle.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/settings.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ARDUPILOT_LOOK_MS = 100, ARDUPILOT_VEHICLES_MAX = 256 };

struct ardupilot {
	struct hub *hub;
	struct in_addr address;
	pthread_t thread;
	bool started;
	int woken; /* event file */
	_Atomic bool stop;
	pthread_mutex_t *guard;  /* of the list, which the gateway's thread changes */
	_Atomic uint64_t joined; /* how often so far */
	VEC(struct vehicle *) vehicles;
};

static void ardupilot_gateway_wake(void *ctx)
{
	const struct ardupilot *gateway = ctx;
	uint64_t one = 1;
	(void)!write(gateway->woken, &one, sizeof one);
}

static void ardupilot_gateway_say(void *ctx, const char *text)
{
	const struct ardupilot *gateway = ctx;
	hub_say(gateway->hub, "%s", text);
}

/* --- vehicles ----------------------------------------------------------------------------------------------------- */

/* The port that a topic of the run is for: "/ardupilot/9002/state"; 0: it is another topic. */
static uint32_t ardupilot_gateway_port_of(troupe_topic_kind kind, const char *name)
{
	unsigned port;
	int count = 0;
	if (kind != TROUPE_TOPIC_PUBLISHED || sscanf(name, "/ardupilot/%5u/state%n", &port, &count) != 1 || !count ||
		name[count] || port > UINT16_MAX)
		return 0;
	return port;
}

/* Both would take the servo outputs for it, and only the first is told of. */
static void ardupilot_gateway_check_port(
	struct ardupilot *gateway, const struct troupe_topics *topics, const struct troupe_topic *first)
{
	for (uint32_t i = 0; i < topics->count; i++)
		if (&topics->at[i] != first && topics->at[i].kind == first->kind &&
			!strcmp(topics->at[i].name, first->name))
			hub_say(gateway->hub,
				"ArduPilot: port %u is that of '%s' and '%s': expected an <fdm_port_in> of its own for "
				"each",
				ardupilot_gateway_port_of(first->kind, first->name), first->model, topics->at[i].model);
}

static void ardupilot_gateway_open(struct ardupilot *gateway, const struct mirror_row *row, uint32_t port)
{
	struct troupe_error error;
	struct vehicle *vehicle;
	const struct troupe_topics *topics = hub_topics(gateway->hub);
	const struct troupe_topic *topic = hub_find(topics, row->kind, row->name);
	const struct vehicle_def def = {.server = gateway->hub->place.server,
		.model = topic && topic->model ? topic->model : "",
		.number = port,
		.address = gateway->address,
		.say = ardupilot_gateway_say,
		.wake = ardupilot_gateway_wake,
		.ctx = gateway};
	if (topic)
		ardupilot_gateway_check_port(gateway, topics, topic);
	if (gateway->vehicles.count == ARDUPILOT_VEHICLES_MAX) {
		hub_say(gateway->hub, "ArduPilot of '%s': there are %d vehicles: expected at most as many", def.model,
			(int)ARDUPILOT_VEHICLES_MAX);
	} else if (vehicle_create(&def, &vehicle, &error)) {
		hub_say(gateway->hub, "%s", error.text);
	} else {
		pthread_mutex_lock(gateway->guard);
		vec_push(&gateway->vehicles, vehicle);
		pthread_mutex_unlock(gateway->guard);
	}
	hub_release(gateway->hub, topics);
}

static void ardupilot_gateway_topic_came(void *ctx, struct mirror_row *row)
{
	struct ardupilot *gateway = ctx;
	uint32_t port = ardupilot_gateway_port_of(row->kind, row->name);
	if (port)
		ardupilot_gateway_open(gateway, row, port);
}

static void ardupilot_gateway_topic_gone(void *ctx, struct mirror_row *row)
{
	struct ardupilot *gateway = ctx;
	uint32_t port = ardupilot_gateway_port_of(row->kind, row->name);
	for (uint32_t i = 0; port && i < gateway->vehicles.count; i++)
		if (vehicle_number(gateway->vehicles.at[i]) == port) {
			struct vehicle *vehicle = gateway->vehicles.at[i];
			pthread_mutex_lock(gateway->guard);
			gateway->vehicles.at[i] = gateway->vehicles.at[--gateway->vehicles.count];
			pthread_mutex_unlock(gateway->guard);
			vehicle_destroy(vehicle);
			return;
		}
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void ardupilot_gateway_await(struct ardupilot *gateway, int timeout_ms)
{
	struct pollfd files[ARDUPILOT_VEHICLES_MAX + 1] = {{.fd = gateway->woken, .events = POLLIN}};
	struct vehicle *of[ARDUPILOT_VEHICLES_MAX + 1];
	uint32_t count = 1, joined = 0;
	uint64_t rung;
	for (uint32_t i = 0; i < gateway->vehicles.count; i++) {
		struct vehicle *vehicle = gateway->vehicles.at[i];
		if (vehicle_is_joined(vehicle)) {
			joined++;
			continue;
		}
		of[count] = vehicle;
		files[count++] = (struct pollfd){.fd = vehicle_file(vehicle), .events = POLLIN};
	}
	atomic_store(&gateway->hub->clients, joined);
	(void)poll(files, count, timeout_ms);
	if (files[0].revents)
		(void)!read(gateway->woken, &rung, sizeof rung);
	for (uint32_t i = 1; i < count; i++)
		if (files[i].revents && vehicle_hear(of[i]))
			atomic_fetch_add(&gateway->joined, 1);
}

static void *ardupilot_gateway_work(void *ctx)
{
	struct ardupilot *gateway = ctx;
	bool more = false;
	while (!atomic_load(&gateway->stop)) {
		hub_look(gateway->hub);
		more = hub_turn(gateway->hub);
		ardupilot_gateway_await(gateway, more ? 0 : ARDUPILOT_LOOK_MS);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* ArduPilot's packets have no token, so that other hosts are served only if that is said. */
static troupe_status ardupilot_gateway_read_address(
	struct ardupilot *gateway, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	const char *given = def->address ? def->address : "127.0.0.1";
	if (!inet_aton(given, &gateway->address))
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected an IPv4 address of this machine; the ports are "
			"those of the vehicles",
			given);
	if (ntohl(gateway->address.s_addr) >> 24 != IN_LOOPBACKNET && !settings_flag(def, "insecure"))
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': any program that reaches it could fly the vehicles: expected insecure=true",
			given);
	return TROUPE_OK;
}

static troupe_status ardupilot_gateway_start(
	struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	struct ardupilot *gateway = hub->gateway = mem_alloc(sizeof *gateway);
	gateway->hub = hub;
	gateway->guard = mem_alloc(sizeof *gateway->guard);
	pthread_mutex_init(gateway->guard, NULL);
	gateway->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (gateway->woken < 0)
		return fail(error, TROUPE_EIO, "no event file: %s", strerror(errno));
	if (!def->server)
		return fail(error, TROUPE_EINVAL,
			"a run of another process cannot wait for ArduPilot: expected the run itself");
	troupe_status status = ardupilot_gateway_read_address(gateway, def, error);
	if (!status)
		status = hub_open(
			hub, def, &(struct hub_options){.wake = ardupilot_gateway_wake, .ctx = gateway}, error);
	if (status)
		return status;
	hub_look(hub);
	int failed = pthread_create(&gateway->thread, NULL, ardupilot_gateway_work, gateway);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed));
	gateway->started = true;
	return TROUPE_OK;
}

static void ardupilot_gateway_stop(void *ctx)
{
	struct ardupilot *gateway = ctx;
	if (gateway->started) {
		atomic_store(&gateway->stop, true);
		ardupilot_gateway_wake(gateway);
		pthread_join(gateway->thread, NULL);
	}
	hub_finish(gateway->hub);
}

static void ardupilot_gateway_destroy(void *ctx)
{
	struct ardupilot *gateway = ctx;
	for (uint32_t i = 0; i < gateway->vehicles.count; i++)
		vehicle_destroy(gateway->vehicles.at[i]);
	vec_free(&gateway->vehicles);
	if (gateway->woken >= 0)
		close(gateway->woken);
	pthread_mutex_destroy(gateway->guard);
	free(gateway->guard);
	free(gateway);
}

static void ardupilot_gateway_message(void *gateway, const struct troupe_message *message)
{
	(void)gateway, (void)message; /* vehicles have clients of their own */
}

static void ardupilot_gateway_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	(void)gateway, (void)client, (void)request, (void)reply; /* it calls nothing */
}

static void ardupilot_gateway_describe(const void *ctx, struct text *out)
{
	const struct ardupilot *gateway = ctx;
	char host[INET_ADDRSTRLEN];
	(void)inet_ntop(AF_INET, &gateway->address, host, sizeof host);
	text_add(out, "UDP on %s:", host);
	pthread_mutex_lock(gateway->guard);
	for (uint32_t i = 0; i < gateway->vehicles.count; i++)
		text_add(out, "%s %s at port %u", i ? "," : "", vehicle_model(gateway->vehicles.at[i]),
			vehicle_number(gateway->vehicles.at[i]));
	if (!gateway->vehicles.count)
		text_add(out, " no model has an ArduPilotPlugin yet");
	pthread_mutex_unlock(gateway->guard);
}

static void ardupilot_gateway_count(const void *ctx, struct troupe_gateway_counts *counts)
{
	const struct ardupilot *gateway = ctx;
	counts->joined += atomic_load(&gateway->joined);
}

static bool ardupilot_gateway_is_available(void)
{
	return true;
}

const struct hub_kind kind_ardupilot = {
	.about = {.name = "ardupilot", .title = "ArduPilot", .can_be_joined = true},
	.settings = (const char *const[]){"insecure", NULL},
	.is_available = ardupilot_gateway_is_available,
	.start = ardupilot_gateway_start,
	.topic_came = ardupilot_gateway_topic_came,
	.topic_gone = ardupilot_gateway_topic_gone,
	.topics_changed = hub_ignore_topics,
	.message = ardupilot_gateway_message,
	.reply = ardupilot_gateway_reply,
	.refused = hub_ignore_refused,
	.moved = hub_ignore_moved,
	.end = hub_ignore_end,
	.stop = ardupilot_gateway_stop,
	.destroy = ardupilot_gateway_destroy,
	.describe = ardupilot_gateway_describe,
	.count = ardupilot_gateway_count,
};
