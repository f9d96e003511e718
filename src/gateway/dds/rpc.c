/* A reader and a writer keep so many messages that a burst of many clients within a turn is not lost (GLUE_CALLS). */
#include "gateway/dds/rpc.h"

#include "base/base.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/type_hash.h"

#include <stdlib.h>

enum { HEADER_BYTES = 16, TAKES_MAX = GLUE_CALLS_MAX / GLUE_TAKE_MAX + 1, NODE_BYTES = 12 };

struct rpc_service {
	struct rpc *rpc;
	char *name;
	struct glue_end *requests, *replies;
	rpc_hear_fn *hear;
	void *ctx;
	uint32_t heard;
	uint32_t changes; /* of the peers of `requests`, when it was looked for requests last */
};

struct rpc_waiting {
	struct rpc_service *service;
	struct rpc_caller caller;
	struct text message;
	uint32_t changes; /* rpc_changes_of() when it was found to have no reader */
};

struct rpc {
	const struct glue *glue;
	struct glue_node *node;
	rpc_refuse_fn *refuse;
	void *ctx;
	VEC(struct rpc_service *) services;
	VEC(struct rpc_waiting) waiting; /* the oldest first */
	size_t waiting_bytes;
	uint32_t opened; /* so many services were */
};

struct rpc *rpc_create(const struct glue *glue, struct glue_node *node, rpc_refuse_fn *refuse, void *ctx)
{
	struct rpc *rpc = mem_alloc(sizeof *rpc);
	*rpc = (struct rpc){.glue = glue, .node = node, .refuse = refuse, .ctx = ctx};
	return rpc;
}

static void rpc_drop_waiting(struct rpc *rpc, uint32_t at)
{
	rpc->waiting_bytes -= rpc->waiting.at[at].message.count;
	text_fini(&rpc->waiting.at[at].message);
	rpc->waiting.count--;
	for (uint32_t i = at; i < rpc->waiting.count; i++)
		rpc->waiting.at[i] = rpc->waiting.at[i + 1];
}

static void rpc_close_service(struct rpc_service *service)
{
	if (service->requests)
		service->rpc->glue->close_end(service->requests);
	if (service->replies)
		service->rpc->glue->close_end(service->replies);
	free(service->name);
	free(service);
}

void rpc_destroy(struct rpc *rpc)
{
	if (!rpc)
		return;
	while (rpc->waiting.count)
		rpc_drop_waiting(rpc, rpc->waiting.count - 1);
	for (uint32_t i = 0; i < rpc->services.count; i++)
		rpc_close_service(rpc->services.at[i]);
	vec_free(&rpc->waiting);
	vec_free(&rpc->services);
	free(rpc);
}

void rpc_close(struct rpc_service *service)
{
	if (!service)
		return;
	struct rpc *rpc = service->rpc;
	uint32_t at = 0;
	for (uint32_t i = rpc->waiting.count; i-- > 0;)
		if (rpc->waiting.at[i].service == service)
			rpc_drop_waiting(rpc, i);
	while (rpc->services.at[at] != service)
		at++;
	rpc->services.at[at] = rpc->services.at[--rpc->services.count];
	rpc_close_service(service);
}

/* --- ends --------------------------------------------------------------------------------------------------------- */

/* The id is that of the node, and a number of the service in it. rmw_cyclonedds writes ids like this; nodes compare
 * them only, so that their length, which differs between releases, does not matter. */
static void rpc_add_user_data(const struct rpc *rpc, const char *type, struct text *out)
{
	unsigned char guid[GLUE_GUID_BYTES];
	rpc->glue->node_guid(rpc->node, guid);
	cdr_store(guid + NODE_BYTES, rpc->opened, GLUE_GUID_BYTES - NODE_BYTES);
	text_add(out, "serviceid=");
	for (int i = 0; i < GLUE_GUID_BYTES; i++)
		text_add(out, "%s%x", i ? "." : "", guid[i]);
	text_add(out, ";typehash=");
	type_hash_add(type, out);
	text_add(out, ";");
}

static bool rpc_open_end(struct rpc_service *service, bool writes, const char *type, char *why)
{
	const struct rpc *rpc = service->rpc;
	struct text user_data = {0};
	char *topic = mem_printf("%s%s%s", writes ? "rr" : "rq", service->name, writes ? "Reply" : "Request");
	char *type_name = graph_type(type);
	rpc_add_user_data(rpc, type, &user_data);
	bool opened = writes ? rpc->glue->write_end(
				       rpc->node, topic, type_name, GLUE_CALLS, user_data.at, &service->replies, why)
			     : rpc->glue->read_end(
				       rpc->node, topic, type_name, GLUE_CALLS, user_data.at, &service->requests, why);
	text_fini(&user_data);
	free(type_name);
	free(topic);
	return opened;
}

/* The writer first: a client that sees the reader may send a request. */
struct rpc_service *rpc_open(struct rpc *rpc, const char *name, const char *request, const char *response,
	rpc_hear_fn *hear, void *ctx, char *why)
{
	struct rpc_service *service = mem_alloc(sizeof *service);
	*service = (struct rpc_service){.rpc = rpc, .name = mem_strdup(name), .hear = hear, .ctx = ctx};
	rpc->opened++;
	if (!rpc_open_end(service, true, response, why) || !rpc_open_end(service, false, request, why)) {
		rpc_close_service(service);
		return NULL;
	}
	vec_push(&rpc->services, service);
	return service;
}

uint32_t rpc_ends(const struct rpc *rpc, struct graph_end *ret_ends)
{
	for (uint32_t i = 0; i < rpc->services.count && ret_ends; i++) {
		const struct rpc_service *service = rpc->services.at[i];
		ret_ends[2 * i].kind = TROUPE_TOPIC_TAKEN;
		rpc->glue->end_guid(service->requests, ret_ends[2 * i].guid);
		ret_ends[2 * i + 1].kind = TROUPE_TOPIC_PUBLISHED;
		rpc->glue->end_guid(service->replies, ret_ends[2 * i + 1].guid);
	}
	return 2 * rpc->services.count;
}

/* --- clients ------------------------------------------------------------------------------------------------------ */

/* How often a peer of the end has come or gone. */
static uint32_t rpc_changes_of_end(const struct rpc *rpc, const struct glue_end *end)
{
	uint32_t came, now = rpc->glue->peers(end, &came);
	return 2 * came - now;
}

static uint32_t rpc_changes_of(const struct rpc_service *service)
{
	return rpc_changes_of_end(service->rpc, service->requests) + rpc_changes_of_end(service->rpc, service->replies);
}

static enum glue_client rpc_client_of(const struct rpc_service *service, const struct rpc_caller *caller)
{
	return service->rpc->glue->client_of(service->requests, service->replies, caller->writer);
}

bool rpc_is_gone(const struct rpc_service *service, const struct rpc_caller *caller)
{
	return rpc_client_of(service, caller) == GLUE_GONE;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void rpc_hear(void *ctx, uint64_t writer, const void *bytes, size_t count)
{
	struct rpc_service *service = ctx;
	struct rpc *rpc = service->rpc;
	struct cdr_in in = cdr_open(bytes, count);
	struct rpc_caller caller = {.writer = writer, .client = cdr_get(&in, 8), .sequence = cdr_get(&in, 8)};
	struct text cdr = {0};
	if (in.bad || rpc_client_of(service, &caller) == GLUE_NAMELESS) {
		rpc->refuse(rpc->ctx, service->name, count);
		return;
	}
	/* without these bytes everything is where it was, counted in steps of 8, so alignment stays */
	text_add_bytes(&cdr, bytes, CDR_HEADER_BYTES);
	text_add_bytes(
		&cdr, (const char *)bytes + CDR_HEADER_BYTES + HEADER_BYTES, count - CDR_HEADER_BYTES - HEADER_BYTES);
	service->heard++;
	service->hear(service->ctx, &caller, cdr.at, cdr.count);
	text_fini(&cdr);
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

/* Takes over the message. */
static void rpc_keep_waiting(
	struct rpc_service *service, const struct rpc_caller *caller, const struct text *message, uint32_t changes)
{
	struct rpc *rpc = service->rpc;
	while (rpc->waiting.count &&
		(rpc->waiting.count >= RPC_WAITING_MAX || rpc->waiting_bytes + message->count > RPC_WAITING_BYTES_MAX))
		rpc_drop_waiting(rpc, 0);
	rpc->waiting_bytes += message->count;
	vec_push(&rpc->waiting, (struct rpc_waiting){service, *caller, *message, changes});
}

void rpc_reply(struct rpc_service *service, const struct rpc_caller *caller, const void *cdr, size_t count)
{
	struct text message = {0};
	struct cdr_out out = cdr_begin(&message);
	cdr_u64(&out, caller->client);
	cdr_u64(&out, caller->sequence);
	text_add_bytes(&message, (const char *)cdr + CDR_HEADER_BYTES, count - CDR_HEADER_BYTES);
	uint32_t changes = rpc_changes_of(service); /* before it is looked whether the reader is there */
	enum glue_client client = rpc_client_of(service, caller);
	if (client == GLUE_COMING) {
		rpc_keep_waiting(service, caller, &message, changes);
		return;
	}
	if (client == GLUE_THERE)
		(void)service->rpc->glue->write(service->replies, message.at, message.count);
	text_fini(&message);
}

static void rpc_send_waiting(struct rpc *rpc)
{
	for (uint32_t i = 0; i < rpc->waiting.count; i++) {
		struct rpc_waiting *waiting = &rpc->waiting.at[i];
		uint32_t changes = rpc_changes_of(waiting->service);
		if (changes == waiting->changes)
			continue;
		waiting->changes = changes;
		enum glue_client client = rpc_client_of(waiting->service, &waiting->caller);
		if (client == GLUE_COMING)
			continue;
		if (client == GLUE_THERE)
			(void)rpc->glue->write(waiting->service->replies, waiting->message.at, waiting->message.count);
		rpc_drop_waiting(rpc, i--);
	}
}

/* Without clients there are none, except from one that has just gone. */
static bool rpc_may_have_requests(struct rpc_service *service)
{
	uint32_t came, changes = rpc_changes_of_end(service->rpc, service->requests), before = service->changes;
	service->changes = changes;
	return changes != before || service->rpc->glue->peers(service->requests, &came);
}

uint32_t rpc_turn(struct rpc *rpc)
{
	uint32_t heard = 0;
	rpc_send_waiting(rpc);
	for (uint32_t i = 0; i < rpc->services.count; i++) {
		struct rpc_service *service = rpc->services.at[i];
		int takes = 0;
		service->heard = 0;
		if (!rpc_may_have_requests(service))
			continue;
		while (takes++ < TAKES_MAX && rpc->glue->take(service->requests, rpc_hear, service) == GLUE_TAKE_MAX)
			;
		heard += service->heard;
	}
	return heard;
}
