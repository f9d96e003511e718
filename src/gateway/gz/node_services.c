/* Services: requests of other processes and the replies to them, and calls of our own.
 *
 * A reply goes to an address in the request, where the client has a socket of its own. The socket that serves must
 * connect there first, and ZeroMQ says EHOSTUNREACH until the two have shaken hands. gz-transport sleeps for 100 ms;
 * here the reply waits in a list and is tried again each RETRY_NS, for at most REPLY_NS, while everything else goes on.
 * A connection is kept for a while, because a client that calls once often calls again; a dead one would be tried for
 * ever by ZeroMQ, so it is ended. */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS (1 * NODE_MS)
#define REPLY_NS (2000 * NODE_MS)
#define RECONNECT_NS (500 * NODE_MS) /* a connection that does not answer for so long is made anew */
#define SEEK_NS (300 * NODE_MS)
#define IDLE_NS (10000 * NODE_MS)
enum { TAKEN_MAX = 256, REPLIES_MAX = 4096 };

/* --- requests ----------------------------------------------------------------------------------------------------- */

static struct part node_services_part_of(const char *text)
{
	return (struct part){text, strlen(text)};
}

static void node_services_address_reply(struct request *to, const struct parts_request *request)
{
	parts_copy(request->address, to->address, sizeof to->address);
	parts_copy(request->id, to->id, sizeof to->id);
	parts_copy(request->node, to->node, sizeof to->node);
	parts_copy(request->request, to->uuid, sizeof to->uuid);
	to->service = mem_printf("%.*s", (int)request->service.count, request->service.at);
}

/* NULL: too many wait. */
static struct request *node_services_keep_request(struct node *node, const struct parts_request *request)
{
	for (uint32_t i = 0; i < NODE_REQUESTS_MAX; i++) {
		uint64_t number = ++node->request_number;
		struct request *slot = &node->requests[number % NODE_REQUESTS_MAX];
		if (!number || slot->number)
			continue;
		slot->number = number;
		node_services_address_reply(slot, request);
		return slot;
	}
	return NULL;
}

static void node_services_refuse(struct node *node, const struct parts_request *request)
{
	node->counts.requests_refused++;
	if (request->one_way)
		return;
	struct reply *reply = mem_alloc(sizeof *reply);
	node_services_address_reply(&reply->to, request);
	services_send_reply(node, reply);
}

static bool node_services_has_types(const struct node_service *service, const struct parts_request *request)
{
	char type[NAMES_TYPE_MAX + 1], reply_type[NAMES_TYPE_MAX + 1];
	parts_copy(request->type, type, sizeof type);
	parts_copy(request->reply_type, reply_type, sizeof reply_type);
	return names_same_type(service->request_type, type) && names_same_type(service->reply_type, reply_type);
}

static bool node_services_tell_request(
	struct node *node, struct node_service *service, const struct parts_request *request, uint64_t number)
{
	char type[NAMES_TYPE_MAX + 1], reply_type[NAMES_TYPE_MAX + 1];
	return events_put(&node->events, &service->source,
		&(struct event_parts){.kind = NODE_REQUEST,
			.ctx = service->ctx,
			.topic = node_services_part_of(strrchr(service->full, '@') + 1),
			.type = topics_event_type(request->type, type),
			.reply_type = topics_event_type(request->reply_type, reply_type),
			.bytes = request->bytes,
			.number = number,
			.one_way = request->one_way});
}

static void node_services_take_request(struct node *node, const struct parts_request *request)
{
	char full[NAMES_FULL_MAX + 1];
	uint32_t index;
	parts_copy(request->service, full, sizeof full);
	struct node_service *service = map_find(&node->service_index, full, &index) ? node->offers.at[index] : NULL;
	node->counts.requests++;
	if (!request->one_way && node->local && !multicast_is_own(node->topics, request->endpoint.address)) {
		node->counts.requests_refused++; /* unanswered: the node does not connect there */
		return;
	}
	bool good = service && node_services_has_types(service, request);
	struct request *slot = good && !request->one_way ? node_services_keep_request(node, request) : NULL;
	if (!good || (!request->one_way && !slot)) {
		node_services_refuse(node, request);
		return;
	}
	if (slot && service->take && service->take(service->ctx, slot->number, request->bytes.at, request->bytes.count))
		return;
	if (node_services_tell_request(node, service, request, slot ? slot->number : 0))
		return;
	if (slot) {
		free(slot->service);
		*slot = (struct request){0};
	}
	node_services_refuse(node, request);
}

void services_receive(struct node *node)
{
	struct parts parts;
	struct parts_request request;
	for (int i = 0; i < TAKEN_MAX; i++) {
		if (!parts_receive(&parts, node->listeners[LISTENER_SERVE].socket))
			return;
		if (parts_read_request(parts.at, parts.count, &request))
			node_services_take_request(node, &request);
		else
			node->counts.requests_refused++;
		parts_fini(&parts);
	}
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static void node_services_free_reply(struct reply *reply)
{
	free(reply->to.service);
	free(reply);
}

/* A connection for something that was refused with EHOSTUNREACH: a first one, or a new one for one that is dead, unless
 * a message may be half read (node_loop.c says why). */
static void node_services_connect_for(
	struct node *node, struct links *links, void *socket, const char *address, uint64_t now_ns)
{
	struct link *link = links_find(links, address);
	if (link && now_ns > link->connected_ns + RECONNECT_NS && !node->looked) {
		links_disconnect(links, socket, address);
		link = NULL;
	}
	if (!link)
		(void)links_connect(links, socket, address, now_ns);
}

/* Whether it is done with: sent, or never to be. */
static bool node_services_try_reply(struct node *node, struct reply *reply, uint64_t now_ns)
{
	void *socket = node->listeners[LISTENER_SERVE].socket;
	const struct part parts[] = {node_services_part_of(reply->to.id), node_services_part_of(reply->to.service),
		node_services_part_of(reply->to.node), node_services_part_of(reply->to.uuid),
		{reply->bytes, reply->count}, node_services_part_of(reply->good ? "1" : "0")};
	struct link *link = links_find(&node->clients, reply->to.address);
	node->used |= 1u << (WAIT_LISTENERS + LISTENER_SERVE);
	if (link)
		link->used_ns = now_ns;
	if (parts_send(socket, parts, ARRAY_LEN(parts)))
		return true;
	int code = zmq_errno();
	if ((code != EHOSTUNREACH && code != EAGAIN) || now_ns > reply->since_ns + REPLY_NS) {
		node->counts.replies_dropped++;
		return true;
	}
	if (code == EHOSTUNREACH)
		node_services_connect_for(node, &node->clients, socket, reply->to.address, now_ns);
	return false;
}

static uint32_t node_services_count_replies(const struct node *node)
{
	uint32_t count = 0;
	const struct reply *reply;
	TAILQ_FOREACH(reply, &node->replies, next)
	count++;
	return count;
}

void services_send_reply(struct node *node, struct reply *reply)
{
	reply->since_ns = clock_now_ns();
	if (node_services_try_reply(node, reply, reply->since_ns)) {
		node_services_free_reply(reply);
	} else if (node_services_count_replies(node) >= REPLIES_MAX) {
		node->counts.replies_dropped++;
		node_services_free_reply(reply);
	} else {
		TAILQ_INSERT_TAIL(&node->replies, reply, next);
	}
}

static void node_services_retry_replies(struct node *node, uint64_t now_ns)
{
	struct reply *reply = TAILQ_FIRST(&node->replies);
	while (reply) {
		struct reply *next = TAILQ_NEXT(reply, next);
		if (node_services_try_reply(node, reply, now_ns)) {
			TAILQ_REMOVE(&node->replies, reply, next);
			node_services_free_reply(reply);
		}
		reply = next;
	}
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

void services_free_call(struct call *call)
{
	free(call->service);
	free(call->request_type);
	free(call->reply_type);
	free(call);
}

static void node_services_end_call(struct node *node, struct call *call, enum node_outcome outcome, struct part bytes)
{
	events_put(&node->events, NULL,
		&(struct event_parts){.kind = NODE_REPLY,
			.ctx = call->ctx,
			.bytes = bytes,
			.number = call->number,
			.outcome = outcome});
	TAILQ_REMOVE(&node->calls, call, next);
	node->call_count--;
	services_free_call(call);
}

static const struct directory_record *node_services_find(const struct node *node, const struct call *call)
{
	for (uint32_t i = 0; i < directory_count(node->directory); i++) {
		const struct directory_record *record = directory_at(node->directory, i);
		if (record->is_service && !strcmp(record->full, call->service) &&
			names_same_type(record->request_type, call->request_type) &&
			names_same_type(record->reply_type, call->reply_type))
			return record;
	}
	return NULL;
}

/* The types are sent as the service has them: its prefix may be another than the caller's. */
static void node_services_send_call(
	struct node *node, struct call *call, const struct directory_record *record, uint64_t now_ns)
{
	const struct part parts[] = {node_services_part_of(record->socket), node_services_part_of(call->service),
		node_services_part_of(node->listeners[LISTENER_ANSWERS].endpoint),
		node_services_part_of(node->answer_id), node_services_part_of(node->id),
		node_services_part_of(call->uuid), {call->bytes, call->count},
		node_services_part_of(record->request_type), node_services_part_of(record->reply_type)};
	struct link *link = links_find(&node->servers, record->address);
	if (link)
		link->used_ns = now_ns;
	if (parts_send(node->request, parts, ARRAY_LEN(parts)))
		call->sent = true;
	else if (zmq_errno() == EHOSTUNREACH)
		node_services_connect_for(node, &node->servers, node->request, record->address, now_ns);
	if (call->sent && names_is_empty_type(call->reply_type))
		node_services_end_call(node, call, NODE_REPLIED, (struct part){"", 0});
}

static void node_services_advance_call(struct node *node, struct call *call, uint64_t now_ns)
{
	const struct directory_record *record = call->sent ? NULL : node_services_find(node, call);
	if (now_ns >= call->deadline_ns) {
		node_services_end_call(node, call, call->found ? NODE_TIMED_OUT : NODE_NOT_FOUND, (struct part){"", 0});
	} else if (record) {
		call->found = true;
		node_services_send_call(node, call, record, now_ns);
	} else if (!call->sent && now_ns >= call->asked_ns + SEEK_NS) {
		call->asked_ns = now_ns;
		beacons_seek(node, call->service, true);
	}
}

void services_call(struct node *node, struct call *call)
{
	node->call_count++;
	TAILQ_INSERT_TAIL(&node->calls, call, next);
	node_services_advance_call(node, call, clock_now_ns());
}

static void node_services_take_answer(struct node *node, const struct parts_reply *reply)
{
	struct call *call;
	TAILQ_FOREACH(call, &node->calls, next)
	if (call->sent && reply->request.count == strlen(call->uuid) &&
		!memcmp(reply->request.at, call->uuid, reply->request.count)) {
		node_services_end_call(node, call, reply->good ? NODE_REPLIED : NODE_REFUSED, reply->bytes);
		return;
	}
}

void services_receive_answers(struct node *node)
{
	struct parts parts;
	struct parts_reply reply;
	for (int i = 0; i < TAKEN_MAX; i++) {
		if (!parts_receive(&parts, node->listeners[LISTENER_ANSWERS].socket))
			return;
		if (parts_read_reply(parts.at, parts.count, &reply))
			node_services_take_answer(node, &reply);
		parts_fini(&parts);
	}
}

/* --- times -------------------------------------------------------------------------------------------------------- */

void services_tick(struct node *node, uint64_t now_ns)
{
	node_services_retry_replies(node, now_ns);
	for (struct call *call = TAILQ_FIRST(&node->calls), *next; call; call = next) {
		next = TAILQ_NEXT(call, next);
		node_services_advance_call(node, call, now_ns);
	}
	links_expire(&node->clients, node->listeners[LISTENER_SERVE].socket, now_ns, IDLE_NS);
	links_expire(&node->servers, node->request, now_ns, IDLE_NS);
}

/* A client to which no connection is open yet gets its last reply, too: "the run has ended", for example. */
void services_linger(struct node *node)
{
	uint64_t now_ns = clock_now_ns(), end_ns = now_ns + (uint64_t)node->linger_ms * NODE_MS;
	for (node_services_retry_replies(node, now_ns); !TAILQ_EMPTY(&node->replies) && now_ns < end_ns;
		now_ns = clock_now_ns()) {
		clock_sleep_until_ns(now_ns + RETRY_NS);
		node_services_retry_replies(node, now_ns + RETRY_NS);
	}
}

/* A call that waits for its service's record needs no retry but for the question: the record's coming wakes. */
uint64_t services_due_ns(const struct node *node, uint64_t now_ns)
{
	uint64_t due_ns = TAILQ_EMPTY(&node->replies) ? UINT64_MAX : now_ns + RETRY_NS;
	const struct call *call;
	TAILQ_FOREACH(call, &node->calls, next)
	{
		uint64_t next_ns = call->found ? now_ns + RETRY_NS : call->asked_ns + SEEK_NS;
		due_ns = MIN(due_ns, call->sent ? call->deadline_ns : MIN(next_ns, call->deadline_ns));
	}
	return due_ns;
}

/* Nothing is told any more: the caller is gone. */
void services_free(struct node *node)
{
	struct reply *reply;
	struct call *call;
	while ((reply = TAILQ_FIRST(&node->replies))) {
		TAILQ_REMOVE(&node->replies, reply, next);
		node_services_free_reply(reply);
	}
	while ((call = TAILQ_FIRST(&node->calls))) {
		TAILQ_REMOVE(&node->calls, call, next);
		services_free_call(call);
	}
	for (uint32_t i = 0; i < NODE_REQUESTS_MAX; i++)
		free(node->requests[i].service);
}
