/* A vehicle is known by its topic: it comes with it, and goes with it. The list of vehicles is changed by the gateway's
 * thread alone; others that read it take the guard. */
#include "gateway/autopilot/fleet.h"

#include "base/base.h"
#include "gateway/hub/settings.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FLEET_LOOK_MS = 100, FLEET_VEHICLES_MAX = 256, FLEET_POLLED_MAX = FLEET_FILES_MAX * FLEET_VEHICLES_MAX + 1 };

struct fleet {
	const struct fleet_kind *kind;
	struct hub *hub;
	struct address address; /* without a port */
	pthread_t thread;
	bool started;
	int woken; /* event file */
	_Atomic bool stop;
	pthread_mutex_t *guard;  /* of the list, which the gateway's thread changes */
	_Atomic uint64_t joined; /* how often so far */
	VEC(struct autopilot_client *) vehicles;
};

static void fleet_wake(void *ctx)
{
	const struct fleet *fleet = ctx;
	uint64_t one = 1;
	(void)!write(fleet->woken, &one, sizeof one);
}

static void fleet_say(void *ctx, const char *text)
{
	const struct fleet *fleet = ctx;
	hub_say(fleet->hub, "%s", text);
}

/* --- vehicles ----------------------------------------------------------------------------------------------------- */

/* The port that a topic of the run is for; 0: it is another topic. */
static uint32_t fleet_port_of(const struct fleet *fleet, troupe_topic_kind kind, const char *name)
{
	unsigned port;
	int count = 0;
	size_t prefix = strlen(fleet->kind->topic);
	if (kind != TROUPE_TOPIC_PUBLISHED || strncmp(name, fleet->kind->topic, prefix) != 0)
		return 0;
	name += prefix;
	return sscanf(name, "%5u/state%n", &port, &count) == 1 && count && !name[count] && port <= UINT16_MAX ? port
													      : 0;
}

/* Both would take what the autopilot sends, and only the first is told of. */
static void fleet_check_port(
	const struct fleet *fleet, const struct troupe_topics *topics, const struct troupe_topic *first)
{
	for (uint32_t i = 0; i < topics->count; i++)
		if (&topics->at[i] != first && topics->at[i].kind == first->kind &&
			!strcmp(topics->at[i].name, first->name))
			hub_say(fleet->hub, "%s: port %u is that of '%s' and '%s': expected %s of its own for each",
				fleet->kind->title, fleet_port_of(fleet, first->kind, first->name), first->model,
				topics->at[i].model, fleet->kind->element);
}

static void fleet_open(struct fleet *fleet, const struct mirror_row *row, uint32_t port)
{
	struct troupe_error error;
	struct autopilot_client *vehicle;
	const struct troupe_topics *topics = hub_topics(fleet->hub);
	const struct troupe_topic *topic = hub_find(topics, row->kind, row->name);
	struct autopilot_client_def def = {.server = fleet->hub->place.server,
		.title = fleet->kind->title,
		.model = topic && topic->model ? topic->model : "",
		.number = port,
		.address = fleet->address,
		.say = fleet_say,
		.wake = fleet_wake,
		.ctx = fleet};
	address_set_port(&def.address, (uint16_t)port);
	if (topic)
		fleet_check_port(fleet, topics, topic);
	if (fleet->vehicles.count == FLEET_VEHICLES_MAX) {
		hub_say(fleet->hub, "%s of '%s': there are %d vehicles: expected at most as many", def.title, def.model,
			(int)FLEET_VEHICLES_MAX);
	} else if (fleet->kind->create(&def, &vehicle, &error)) {
		hub_say(fleet->hub, "%s", error.text);
	} else {
		pthread_mutex_lock(fleet->guard);
		vec_push(&fleet->vehicles, vehicle);
		pthread_mutex_unlock(fleet->guard);
	}
	hub_release(fleet->hub, topics);
}

void fleet_topic_came(void *ctx, struct mirror_row *row)
{
	struct fleet *fleet = ctx;
	uint32_t port = fleet_port_of(fleet, row->kind, row->name);
	if (port)
		fleet_open(fleet, row, port);
}

void fleet_topic_gone(void *ctx, struct mirror_row *row)
{
	struct fleet *fleet = ctx;
	uint32_t port = fleet_port_of(fleet, row->kind, row->name);
	for (uint32_t i = 0; port && i < fleet->vehicles.count; i++)
		if (fleet->vehicles.at[i]->def.number == port) {
			struct autopilot_client *vehicle = fleet->vehicles.at[i];
			pthread_mutex_lock(fleet->guard);
			fleet->vehicles.at[i] = fleet->vehicles.at[--fleet->vehicles.count];
			pthread_mutex_unlock(fleet->guard);
			fleet->kind->destroy(vehicle);
			return;
		}
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void fleet_await(struct fleet *fleet, int timeout_ms)
{
	struct pollfd files[FLEET_POLLED_MAX] = {{.fd = fleet->woken, .events = POLLIN}};
	struct autopilot_client *of[FLEET_POLLED_MAX];
	uint32_t count = 1, joined = 0;
	uint64_t rung;
	for (uint32_t i = 0; i < fleet->vehicles.count; i++) {
		int now[FLEET_FILES_MAX];
		fleet->kind->files(fleet->vehicles.at[i], now);
		joined += autopilot_client_is_joined(fleet->vehicles.at[i]);
		for (int f = 0; f < FLEET_FILES_MAX; f++) {
			of[count] = fleet->vehicles.at[i];
			files[count] = (struct pollfd){.fd = now[f], .events = POLLIN};
			count += now[f] >= 0;
		}
	}
	atomic_store(&fleet->hub->clients, joined);
	(void)poll(files, count, timeout_ms);
	if (files[0].revents)
		(void)!read(fleet->woken, &rung, sizeof rung);
	for (uint32_t i = 1; i < count; i++)
		if (files[i].revents && fleet->kind->hear(of[i]))
			atomic_fetch_add(&fleet->joined, 1);
}

static void *fleet_work(void *ctx)
{
	struct fleet *fleet = ctx;
	while (!atomic_load(&fleet->stop)) {
		hub_look(fleet->hub);
		fleet_await(fleet, hub_turn(fleet->hub) ? 0 : FLEET_LOOK_MS);
	}
	return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* The autopilots' messages have no token, so that other hosts are served only if that is said. */
static troupe_status fleet_read_address(
	struct fleet *fleet, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	if (address_parse_local(def->address, 0, &fleet->address, NULL))
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected an IPv4 or IPv6 address of this machine; the ports are those of the "
			"vehicles",
			def->address);
	if (!address_is_loopback(&fleet->address) && !settings_flag(def, "insecure"))
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': any program that reaches it could fly the vehicles: expected insecure=true",
			def->address);
	return TROUPE_OK;
}

troupe_status fleet_start(const struct fleet_kind *kind, struct hub *hub, const struct troupe_gateway_def *def,
	struct troupe_error *error)
{
	struct fleet *fleet = hub->gateway = mem_alloc(sizeof *fleet);
	fleet->kind = kind;
	fleet->hub = hub;
	fleet->guard = mem_alloc(sizeof *fleet->guard);
	pthread_mutex_init(fleet->guard, NULL);
	fleet->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (fleet->woken < 0)
		return fail(error, TROUPE_EIO, "no event file: %s", strerror(errno));
	if (!def->server)
		return fail(error, TROUPE_EINVAL,
			"a run of another process cannot wait for %s: expected the run itself", kind->title);
	troupe_status status = fleet_read_address(fleet, def, error);
	if (!status)
		status = hub_open(hub, def, &(struct hub_options){.wake = fleet_wake, .ctx = fleet}, error);
	if (status)
		return status;
	hub_look(hub);
	int failed = pthread_create(&fleet->thread, NULL, fleet_work, fleet);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "cannot start a thread: %s", strerror(failed));
	fleet->started = true;
	return TROUPE_OK;
}

void fleet_stop(void *ctx)
{
	struct fleet *fleet = ctx;
	if (fleet->started) {
		atomic_store(&fleet->stop, true);
		fleet_wake(fleet);
		pthread_join(fleet->thread, NULL);
	}
	hub_finish(fleet->hub);
}

void fleet_destroy(void *ctx)
{
	struct fleet *fleet = ctx;
	for (uint32_t i = 0; i < fleet->vehicles.count; i++)
		fleet->kind->destroy(fleet->vehicles.at[i]);
	vec_free(&fleet->vehicles);
	if (fleet->woken >= 0)
		close(fleet->woken);
	pthread_mutex_destroy(fleet->guard);
	free(fleet->guard);
	free(fleet);
}

void fleet_message(void *fleet, const struct troupe_message *message)
{
	(void)fleet, (void)message; /* vehicles have clients of their own */
}

void fleet_reply(void *fleet, void *client, void *request, const struct hub_reply *reply)
{
	(void)fleet, (void)client, (void)request, (void)reply; /* it calls nothing */
}

void fleet_describe(const void *ctx, struct text *out)
{
	const struct fleet *fleet = ctx;
	char host[ADDRESS_TEXT_BYTES];
	address_host_text(&fleet->address, host);
	text_add(out, "%s on %s:", fleet->kind->transport, host);
	pthread_mutex_lock(fleet->guard);
	for (uint32_t i = 0; i < fleet->vehicles.count; i++)
		text_add(out, "%s %s at port %u", i ? "," : "", fleet->vehicles.at[i]->model,
			fleet->vehicles.at[i]->def.number);
	if (!fleet->vehicles.count)
		text_add(out, " no model has %s yet", fleet->kind->plugin);
	pthread_mutex_unlock(fleet->guard);
}

void fleet_count(const void *ctx, struct troupe_gateway_counts *counts)
{
	const struct fleet *fleet = ctx;
	counts->joined += atomic_load(&fleet->joined);
}

bool fleet_is_available(void)
{
	return true;
}
