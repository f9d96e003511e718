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

void node_destroy(struct node *node)
{
	if (node)
		abort();
}

/* The parameters of such a function have no use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define NODE_NONE(type, name, ...)                                                                                     \
	type name(__VA_ARGS__)                                                                                         \
	{                                                                                                              \
		abort();                                                                                               \
	}

NODE_NONE(const char *, node_partition, const struct node *node)
NODE_NONE(bool, node_is_local, const struct node *node)
NODE_NONE(void, node_describe, const struct node *node, struct text *out)
NODE_NONE(troupe_status, node_advertise, struct node *node, const char *topic, const char *type, uint32_t rate_hz,
	void *ctx, struct node_publisher **ret_publisher, struct troupe_error *error)
NODE_NONE(void, node_unadvertise, struct node_publisher *publisher)
NODE_NONE(uint32_t, node_subscribers, const struct node_publisher *publisher)
NODE_NONE(enum node_sent, node_queue, struct node_publisher *publisher, const void *bytes, size_t count)
NODE_NONE(void, node_flush, struct node *node)
NODE_NONE(enum node_sent, node_publish, struct node_publisher *publisher, const void *bytes, size_t count)
NODE_NONE(troupe_status, node_subscribe, struct node *node, const char *topic, uint32_t queue, void *ctx,
	struct node_subscription **ret_subscription, struct troupe_error *error)
NODE_NONE(void, node_unsubscribe, struct node_subscription *subscription)
NODE_NONE(uint64_t, node_lost, const struct node_subscription *subscription)
NODE_NONE(troupe_status, node_offer, struct node *node, const char *service, const char *request_type,
	const char *reply_type, void *ctx, struct node_service **ret_service, struct troupe_error *error)
NODE_NONE(void, node_take_directly, struct node_service *service, node_request_fn take)
NODE_NONE(void, node_withdraw, struct node_service *service)
NODE_NONE(bool, node_reply, struct node *node, uint64_t request, bool good, const void *bytes, size_t count)
NODE_NONE(troupe_status, node_call, struct node *node, const char *service, const char *request_type,
	const char *reply_type, const void *bytes, size_t count, int timeout_ms, void *ctx, uint64_t *ret_call,
	struct troupe_error *error)
NODE_NONE(bool, node_next, struct node *node, int timeout_ms, struct node_event *ret_event)
NODE_NONE(void, node_event_fini, struct node_event *event)
NODE_NONE(int, node_fd, const struct node *node)
NODE_NONE(void, node_list, struct node *node, struct node_records *ret_records)
NODE_NONE(void, node_records_fini, struct node_records *records)
NODE_NONE(void, node_get_counts, struct node *node, struct node_counts *ret_counts)
