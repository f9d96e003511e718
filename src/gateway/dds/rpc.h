/* Services in DDS, as ROS 2's middleware rmw_cyclonedds_cpp has them: a service /NAME is a reader of requests,
 * rq/NAMERequest, and a writer of replies, rr/NAMEReply, of the types PKG::srv::dds_::TYPE_Request_ and _Response_.
 * Both begin with 16 bytes, a number of the client and one of its request, which the reply repeats: all clients hear
 * all replies, and each knows its own by them. Both ends have the same "serviceid" in their user data, those of a
 * client the same "clientid". A reply waits until the client's reader of replies is known, for a request may come
 * before; what was for a client that is gone is dropped.
 *
 * ROS 2's other middlewares (rmw_fastrtps_cpp) have those numbers beside the message, where DDS has its own headers,
 * and their clients have no "clientid". What they send is refused, because it could be taken for another request.
 *
 * One thread at a time. */
#ifndef GATEWAY_DDS_RPC_H
#define GATEWAY_DDS_RPC_H

#include "gateway/dds/graph.h"

struct rpc; /* the services of a node */
struct rpc_service;

enum {
	RPC_WAITING_MAX = 256,
	RPC_WAITING_BYTES_MAX = 16 << 20
}; /* replies that wait for readers; then the oldest goes */

struct rpc_caller {      /* of a request */
	uint64_t writer; /* see glue's take() */
	uint64_t client;
	uint64_t sequence;
};

/* A request as CDR with its header, without the 16 bytes. It is lent for the call. */
typedef void rpc_hear_fn(void *ctx, const struct rpc_caller *caller, const void *cdr, size_t count);
/* What came to a service is no request of such a client, so there is no answer. */
typedef void rpc_refuse_fn(void *ctx, const char *service, size_t count);

/* Both are used until rpc_destroy(). */
struct rpc *rpc_create(const struct glue *glue, struct glue_node *node, rpc_refuse_fn *refuse, void *ctx);
void rpc_destroy(struct rpc *rpc);
/* name: "/get_entities"; request, response: "simulation_interfaces/srv/GetEntities_Request". NULL, with one line in
 * why[GLUE_WHY_BYTES]: there can be none. rpc_close() or rpc_destroy() closes it. */
struct rpc_service *rpc_open(struct rpc *rpc, const char *name, const char *request, const char *response,
	rpc_hear_fn *hear, void *ctx, char *why);
/* What waits for its readers is dropped. NULL is fine. */
void rpc_close(struct rpc_service *service);
/* Hears what requests have come, and sends what has waited for readers. Returns how many requests were heard. */
uint32_t rpc_turn(struct rpc *rpc);
/* The response as CDR with its header. */
void rpc_reply(struct rpc_service *service, const struct rpc_caller *caller, const void *cdr, size_t count);
/* Whether the client is there no more. */
bool rpc_is_gone(const struct rpc_service *service, const struct rpc_caller *caller);
/* The ends of all services; ret_ends NULL: how many there are. */
uint32_t rpc_ends(const struct rpc *rpc, struct graph_end *ret_ends);

#endif
