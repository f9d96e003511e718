/* The public calls of troupe/gateway.h: they find the gateway of a name, and leave the rest to its operations. */
#include "gateway/hub/hub.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/settings.h"
#include "gateway/lockstep/callers.h"
#include "gateway/play.h"
#include "gateway/relay/remote.h"

#include "base/base.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct hub_kind *const hub_gateway_kinds[] = {
	&kind_gz, &kind_ros2, &kind_rosbridge, &kind_ws, &kind_view, &kind_foxglove, &kind_ardupilot, &kind_px4};

struct troupe_gateway {
	struct hub hub;
};

static bool hub_gateway_is_whole(const struct hub_kind *kind)
{
	return kind->about.name && kind->about.title && kind->settings && kind->is_available && kind->start &&
	       kind->topic_came && kind->topic_gone && kind->topics_changed && kind->message && kind->reply &&
	       kind->refused && kind->moved && kind->end && kind->stop && kind->destroy && kind->describe &&
	       kind->count;
}

static const struct hub_kind *hub_gateway_find(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(hub_gateway_kinds); i++)
		if (!strcmp(hub_gateway_kinds[i]->about.name, name)) {
			assert(hub_gateway_is_whole(hub_gateway_kinds[i]));
			return hub_gateway_kinds[i];
		}
	return NULL;
}

bool troupe_gateway_is_available(const char *name)
{
	const struct hub_kind *kind = hub_gateway_find(name);
	return kind && kind->is_available();
}

const struct troupe_gateway_about *troupe_gateway_find(const char *name)
{
	const struct hub_kind *kind = hub_gateway_find(name);
	return kind ? &kind->about : NULL;
}

static troupe_status hub_gateway_refuse_name(const char *name, struct troupe_error *error)
{
	struct text list = {0};
	for (size_t i = 0; i < ARRAY_LEN(hub_gateway_kinds); i++)
		text_add(&list, "%s%s", i ? ", " : "", hub_gateway_kinds[i]->about.name);
	troupe_status status =
		fail(error, TROUPE_EINVAL, "there is no gateway '%.40s': expected one of %s", name, list.at);
	text_fini(&list);
	return status;
}

static troupe_status hub_gateway_check(
	const struct hub_kind *kind, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	if (!kind)
		return hub_gateway_refuse_name(def->name ? def->name : "", error);
	if (!!def->server + !!def->run + !!def->recording != 1)
		return fail(error, TROUPE_EINVAL, "%s: expected one of server, run and recording", kind->about.name);
	if (def->recording && !kind->shows_recordings)
		return fail(
			error, TROUPE_EINVAL, "%s shows no recordings: expected view or foxglove", kind->about.name);
	return settings_check(def, kind->settings, error);
}

troupe_status troupe_gateway_start(
	const struct troupe_gateway_def *def, struct troupe_gateway **ret_gateway, struct troupe_error *error)
{
	const struct hub_kind *kind = hub_gateway_find(def->name);
	troupe_status status = hub_gateway_check(kind, def, error);
	if (status)
		return status;
	struct troupe_gateway *gateway = mem_alloc_lines(sizeof *gateway);
	gateway->hub.kind = kind;
	gateway->hub.say = def->say;
	gateway->hub.say_ctx = def->ctx;
	pthread_mutex_init(&gateway->hub.guard, NULL);
	status = kind->start(&gateway->hub, def, error);
	if (status)
		troupe_gateway_end(gateway, error);
	else
		*ret_gateway = gateway;
	return status;
}

static troupe_status hub_gateway_await_end(struct hub *hub, struct troupe_error *error)
{
	static const struct timespec nap = {.tv_nsec = 20000000};
	while (!atomic_load(&hub->is_stopped) && !atomic_load(&hub->is_over))
		(void)nanosleep(&nap, NULL);
	if (!atomic_load(&hub->is_over))
		return TROUPE_OK;
	return fail(error, hub->over_why.status, "%s", hub->over_why.text);
}

troupe_status troupe_gateway_play(struct troupe_gateway *gateway, struct troupe_error *error)
{
	struct hub *hub = &gateway->hub;
	if (hub->play)
		play_run(hub->play);
	else if (!hub->place.server)
		return hub_gateway_await_end(hub, error);
	return TROUPE_OK;
}

void troupe_gateway_stop(struct troupe_gateway *gateway)
{
	atomic_store(&gateway->hub.is_stopped, true);
	if (gateway->hub.play)
		play_stop(gateway->hub.play);
}

void troupe_gateway_end(struct troupe_gateway *gateway, const struct troupe_error *why)
{
	if (!gateway)
		return;
	struct hub *hub = &gateway->hub;
	hub->failure = why;
	if (hub->gateway)
		hub->kind->stop(hub->gateway);
	hub_fini(hub);
	pthread_mutex_destroy(&hub->guard);
	free(gateway);
}

void troupe_gateway_describe(const struct troupe_gateway *gateway, char *ret_text, size_t bytes)
{
	struct text text = {0};
	gateway->hub.kind->describe(gateway->hub.gateway, &text);
	(void)snprintf(ret_text, bytes, "%s", text.count ? text.at : "");
	text_fini(&text);
}

struct troupe_gateway_counts troupe_gateway_counts(const struct troupe_gateway *gateway)
{
	const struct hub *hub = &gateway->hub;
	bool commands = !hub->play && !bus_only_watches(hub->bus);
	struct troupe_gateway_counts counts = {.clients = atomic_load(&hub->clients),
		.published = atomic_load_explicit(&hub->published, memory_order_relaxed),
		.lost = atomic_load_explicit(&hub->lost, memory_order_relaxed),
		.boundaries_lost = hub->play ? 0 : hub->bus->ops->lost(hub->bus),
		.taken = atomic_load_explicit(&hub->taken, memory_order_relaxed),
		.refused = atomic_load_explicit(&hub->refused, memory_order_relaxed),
		.commands = commands ? hub->bus->ops->commands(hub->bus) : 0,
		.joined = hub->callers ? callers_joined(hub->callers) : 0};
	hub->kind->count(hub->gateway, &counts);
	return counts;
}
