/* Stands in for the node where the build has no ZeroMQ. Programs compile in the same way; at run time one line says
 * which library is missing. No handle can exist, so no function that takes one can be called. */
#include "gateway/gz/node.h"

#include <stdlib.h>

bool node_is_available(void)
{
	return false;
}

troupe_status node_create(const struct node_options *options, struct node **ret_node, struct troupe_error *error)
{
	(void)options;
	(void)ret_node;
	return fail(error, TROUPE_EINVAL,
		"this build has no gz-transport: ZeroMQ (libzmq3-dev) was missing, or configure was given "
		"--without-gz");
}

/* --- what needs a node -------------------------------------------------------------------------------------------- */

static void node_none_impossible(const void *handle) __attribute__((noreturn));
static void node_none_impossible(const void *handle)
{
	(void)handle;
	abort();
}

void node_destroy(struct node *node)
{
	if (node)
		node_none_impossible(node);
}

const char *node_partition(const struct node *node)
{
	node_none_impossible(node);
}

bool node_is_local(const struct node *node)
{
	node_none_impossible(node);
}

void node_describe(const struct node *node, struct text *out)
{
	(void)out;
	node_none_impossible(node);
}

troupe_status node_advertise(struct node *node, const char *topic, const char *type, uint32_t rate_hz, void *ctx,
	struct node_publisher **ret_publisher, struct troupe_error *error)
{
	(void)topic, (void)type, (void)rate_hz, (void)ctx, (void)ret_publisher, (void)error;
	node_none_impossible(node);
}

void node_unadvertise(struct node_publisher *publisher)
{
	node_none_impossible(publisher);
}

uint32_t node_subscribers(const struct node_publisher *publisher)
{
	node_none_impossible(publisher);
}

enum node_sent node_queue(struct node_publisher *publisher, const void *bytes, size_t count)
{
	(void)bytes, (void)count;
	node_none_impossible(publisher);
}

void node_flush(struct node *node)
{
	node_none_impossible(node);
}

enum node_sent node_publish(struct node_publisher *publisher, const void *bytes, size_t count)
{
	(void)bytes, (void)count;
	node_none_impossible(publisher);
}

troupe_status node_subscribe(struct node *node, const char *topic, uint32_t queue, void *ctx,
	struct node_subscription **ret_subscription, struct troupe_error *error)
{
	(void)topic, (void)queue, (void)ctx, (void)ret_subscription, (void)error;
	node_none_impossible(node);
}

void node_unsubscribe(struct node_subscription *subscription)
{
	node_none_impossible(subscription);
}

uint64_t node_lost(const struct node_subscription *subscription)
{
	node_none_impossible(subscription);
}

troupe_status node_offer(struct node *node, const char *service, const char *request_type, const char *reply_type,
	void *ctx, struct node_service **ret_service, struct troupe_error *error)
{
	(void)service, (void)request_type, (void)reply_type, (void)ctx, (void)ret_service, (void)error;
	node_none_impossible(node);
}

void node_take_directly(struct node_service *service, node_request_fn take)
{
	(void)take;
	node_none_impossible(service);
}

void node_withdraw(struct node_service *service)
{
	node_none_impossible(service);
}

bool node_reply(struct node *node, uint64_t request, bool good, const void *bytes, size_t count)
{
	(void)request, (void)good, (void)bytes, (void)count;
	node_none_impossible(node);
}

troupe_status node_call(struct node *node, const char *service, const char *request_type, const char *reply_type,
	const void *bytes, size_t count, int timeout_ms, void *ctx, uint64_t *ret_call, struct troupe_error *error)
{
	(void)service, (void)request_type, (void)reply_type, (void)bytes, (void)count;
	(void)timeout_ms, (void)ctx, (void)ret_call, (void)error;
	node_none_impossible(node);
}

bool node_next(struct node *node, int timeout_ms, struct node_event *ret_event)
{
	(void)timeout_ms, (void)ret_event;
	node_none_impossible(node);
}

void node_event_fini(struct node_event *event)
{
	node_none_impossible(event);
}

int node_fd(const struct node *node)
{
	node_none_impossible(node);
}

void node_list(struct node *node, struct node_records *ret_records)
{
	(void)ret_records;
	node_none_impossible(node);
}

void node_records_fini(struct node_records *records)
{
	node_none_impossible(records);
}

void node_get_counts(struct node *node, struct node_counts *ret_counts)
{
	(void)ret_counts;
	node_none_impossible(node);
}
