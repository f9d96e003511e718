/* The server's own client, behind the functions that a gateway uses. */
#include "gateway/source.h"

#include "base/base.h"
#include "gateway/watch/remote.h"

#include <assert.h>
#include <stdlib.h>

struct local {
	struct source base; /* first: a source is its local */
	struct troupe_server *server;
	struct troupe_client *client;
};

static struct local *source_local_of(struct source *source)
{
	return (struct local *)source;
}

static troupe_status source_subscribe(
	struct source *source, const char *topic, double rate_hz, struct troupe_error *error)
{
	return troupe_client_subscribe(source_local_of(source)->client, topic, rate_hz, error);
}

static void source_unsubscribe(struct source *source, const char *topic)
{
	troupe_client_unsubscribe(source_local_of(source)->client, topic);
}

static troupe_status source_publish(struct source *source, const char *topic, const char *type, const void *bytes,
	size_t count, struct troupe_error *error)
{
	return troupe_client_publish(source_local_of(source)->client, NULL, topic, type, bytes, count, NULL, error);
}

static troupe_status source_call(struct source *source, const char *service, const char *type, const void *bytes,
	size_t count, uint64_t tag, struct troupe_error *error)
{
	return troupe_client_call(source_local_of(source)->client, service, type, bytes, count, tag, error);
}

static bool source_take(struct source *source, uint64_t timeout_ns, struct troupe_message *ret_message)
{
	return troupe_client_take(source_local_of(source)->client, timeout_ns, ret_message);
}

static uint64_t source_lost(const struct source *source)
{
	return troupe_client_lost(((const struct local *)source)->client);
}

static const struct troupe_topics *source_topics(struct source *source)
{
	return troupe_topics_list(source_local_of(source)->server);
}

static void source_release(struct source *source, const struct troupe_topics *list)
{
	(void)source;
	troupe_topics_release(list);
}

static uint64_t source_epoch(const struct source *source)
{
	return troupe_topics_epoch(((const struct local *)source)->server);
}

static uint32_t source_world_count(const struct source *source)
{
	return troupe_server_world_count(((const struct local *)source)->server);
}

static const char *source_world_name(const struct source *source, uint32_t world)
{
	return troupe_server_world_name(((const struct local *)source)->server, world);
}

static uint64_t source_commands(const struct source *source)
{
	return troupe_client_commands(((const struct local *)source)->client);
}

static void source_library_destroy(struct source *source)
{
	troupe_client_destroy(source_local_of(source)->client);
	free(source);
}

static const struct source_ops source_library_ops = {
	.subscribe = source_subscribe,
	.unsubscribe = source_unsubscribe,
	.publish = source_publish,
	.call = source_call,
	.take = source_take,
	.lost = source_lost,
	.topics = source_topics,
	.release = source_release,
	.epoch = source_epoch,
	.world_count = source_world_count,
	.world_name = source_world_name,
	.commands = source_commands,
	.destroy = source_library_destroy,
};

static troupe_status source_open_local(const struct source_place *place, uint32_t depth, source_ready on_ready,
	void *ctx, struct source **ret_source, struct troupe_error *error)
{
	const struct troupe_client_def def = {.depth = depth, .on_ready = on_ready, .ctx = ctx, .never_waits = true};
	struct local *local = mem_alloc(sizeof *local);
	*local = (struct local){.base.ops = &source_library_ops, .server = place->server};
	troupe_status status = troupe_client_create(place->server, &def, &local->client, error);
	if (status)
		free(local);
	else
		*ret_source = &local->base;
	return status;
}

bool source_only_watches(const struct source *source)
{
	return source->ops->commands(source) == UINT64_MAX;
}

static bool source_is_whole(const struct source_ops *has)
{
	return has->subscribe && has->unsubscribe && has->publish && has->call && has->take && has->lost &&
	       has->topics && has->release && has->epoch && has->world_count && has->world_name && has->commands &&
	       has->destroy;
}

troupe_status source_open(const struct source_place *place, uint32_t depth, source_ready on_ready, void *ctx,
	struct source **ret_source, struct troupe_error *error)
{
	const struct remote_options options = {.depth = depth, .on_ready = on_ready, .ctx = ctx};
	troupe_status status = place->server ? source_open_local(place, depth, on_ready, ctx, ret_source, error)
					     : remote_connect_run(place->run, &options, ret_source, error);
	assert(status || source_is_whole((*ret_source)->ops));
	return status;
}

void source_destroy(struct source *source)
{
	if (source)
		source->ops->destroy(source);
}
