/* The server's own client, behind the functions that a gateway uses. */
#include "gateway/bus.h"

#include "base/base.h"
#include "gateway/relay/remote.h"

#include <assert.h>
#include <stdlib.h>

struct local {
	struct bus base; /* first: a bus is its local */
	struct troupe_server *server;
	struct troupe_client *client;
};

static struct local *bus_local_of(struct bus *bus)
{
	return (struct local *)bus;
}

static troupe_status bus_subscribe(struct bus *bus, const char *topic, double rate_hz, struct troupe_error *error)
{
	return troupe_client_subscribe(bus_local_of(bus)->client, topic, rate_hz, error);
}

static void bus_unsubscribe(struct bus *bus, const char *topic)
{
	troupe_client_unsubscribe(bus_local_of(bus)->client, topic);
}

static troupe_status bus_publish(struct bus *bus, const char *topic, const char *type, const void *bytes, size_t count,
	struct troupe_error *error)
{
	return troupe_client_publish(bus_local_of(bus)->client, NULL, topic, type, bytes, count, NULL, error);
}

static troupe_status bus_call(struct bus *bus, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	return troupe_client_call(bus_local_of(bus)->client, service, type, bytes, count, tag, error);
}

static bool bus_take(struct bus *bus, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	return troupe_client_take(bus_local_of(bus)->client, timeout_ns, ret_message);
}

static uint64_t bus_lost(const struct bus *bus)
{
	return troupe_client_lost(((const struct local *)bus)->client);
}

static const struct troupe_topics *bus_topics(struct bus *bus)
{
	return troupe_topics_list(bus_local_of(bus)->server);
}

static void bus_release(struct bus *bus, const struct troupe_topics *list)
{
	(void)bus;
	troupe_topics_release(list);
}

static uint64_t bus_epoch(const struct bus *bus)
{
	return troupe_topics_epoch(((const struct local *)bus)->server);
}

static uint32_t bus_world_count(const struct bus *bus)
{
	return troupe_server_world_count(((const struct local *)bus)->server);
}

static const char *bus_world_name(const struct bus *bus, uint32_t world)
{
	return troupe_server_world_name(((const struct local *)bus)->server, world);
}

static uint64_t bus_commands(const struct bus *bus)
{
	return troupe_client_commands(((const struct local *)bus)->client);
}

static void bus_library_destroy(struct bus *bus)
{
	troupe_client_destroy(bus_local_of(bus)->client);
	free(bus);
}

static const struct bus_ops bus_library_ops = {
	.subscribe = bus_subscribe,
	.unsubscribe = bus_unsubscribe,
	.publish = bus_publish,
	.call = bus_call,
	.take = bus_take,
	.lost = bus_lost,
	.topics = bus_topics,
	.release = bus_release,
	.epoch = bus_epoch,
	.world_count = bus_world_count,
	.world_name = bus_world_name,
	.commands = bus_commands,
	.destroy = bus_library_destroy,
};

static troupe_status bus_open_local(const struct bus_place *place, uint32_t depth, bus_ready on_ready, void *ctx,
	struct bus **ret_bus, struct troupe_error *error)
{
	const struct troupe_client_def def = {.depth = depth, .on_ready = on_ready, .ctx = ctx, .never_waits = true};
	struct local *local = mem_alloc(sizeof *local);
	*local = (struct local){.base.ops = &bus_library_ops, .server = place->server};
	troupe_status status = troupe_client_create(place->server, &def, &local->client, error);
	if (status)
		free(local);
	else
		*ret_bus = &local->base;
	return status;
}

bool bus_only_watches(const struct bus *bus)
{
	return bus->ops->commands(bus) == UINT64_MAX;
}

static bool bus_is_whole(const struct bus_ops *has)
{
	return has->subscribe && has->unsubscribe && has->publish && has->call && has->take && has->lost &&
	       has->topics && has->release && has->epoch && has->world_count && has->world_name && has->commands &&
	       has->destroy;
}

troupe_status bus_open(const struct bus_place *place, uint32_t depth, bus_ready on_ready, void *ctx,
	struct bus **ret_bus, struct troupe_error *error)
{
	const struct remote_options options = {.depth = depth, .on_ready = on_ready, .ctx = ctx};
	troupe_status status = place->server ? bus_open_local(place, depth, on_ready, ctx, ret_bus, error)
					     : remote_connect_run(place->run, &options, ret_bus, error);
	assert(status || bus_is_whole((*ret_bus)->ops));
	return status;
}

void bus_destroy(struct bus *bus)
{
	if (bus)
		bus->ops->destroy(bus);
}
