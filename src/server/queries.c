/* Lists to which any thread adds, newest first; the step's thread takes each as a whole. */
#include "server/queries.h"

#include "server/background.h"
#include "server/client.h"
#include "server/next_request.h"
#include "topic/message.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct answer_job {
	struct background_job job; /* first: an answer_job is its job */
	struct client_reply *reply;
};

struct query { /* a query that waits for a step boundary */
	struct query *next;
	struct troupe_client *client; /* one reference */
	struct client_reply *reply;
};

struct query_outcome { /* what came of a query */
	struct query_outcome *next;
	uint32_t world;
	uint64_t step;
	troupe_status status;
	char *text, service[];
};

struct queries {
	struct troupe_server *server;
	struct capture_pool *const *pools;
	_Atomic(struct query *) asked;
	_Atomic(struct query_outcome *) outcome;
};

struct queries *queries_create(struct troupe_server *server, struct capture_pool *const *pools)
{
	struct queries *queries = mem_alloc(sizeof *queries);
	queries->server = server;
	queries->pools = pools;
	return queries;
}

static void queries_free_query(struct query *query)
{
	client_release(query->client);
	free(query);
}

static void queries_drop_outcomes(struct query_outcome *outcome)
{
	while (outcome) {
		struct query_outcome *next = outcome->next;
		free(outcome);
		outcome = next;
	}
}

void queries_destroy(struct queries *queries)
{
	for (struct query *q = atomic_load(&queries->asked); q;) {
		struct query *next = q->next;
		client_reply(q->client, q->reply); /* it is closed, so this frees the reply */
		queries_free_query(q);
		q = next;
	}
	queries_drop_outcomes(atomic_load(&queries->outcome));
	free(queries);
}

/* --- any thread --------------------------------------------------------------------------------------------------- */

void queries_ask(struct queries *queries, struct troupe_client *client, struct client_reply *reply)
{
	struct query *query = mem_alloc(sizeof *query);
	*query = (struct query){atomic_load_explicit(&queries->asked, memory_order_relaxed), client, reply};
	while (!atomic_compare_exchange_weak_explicit(/* release: pairs with the exchange in queries_answer() */
		&queries->asked, &query->next, query, memory_order_release, memory_order_relaxed))
		;
}

void queries_note(struct queries *queries, const struct client_reply *reply)
{
	const char *service = reply->row.name, *text = reply->status ? reply->what.text : "";
	size_t service_bytes = strlen(service) + 1, text_bytes = strlen(text) + 1;
	struct query_outcome *outcome = mem_alloc(sizeof *outcome + service_bytes + text_bytes);
	*outcome = (struct query_outcome){atomic_load_explicit(&queries->outcome, memory_order_relaxed),
		reply->row.world, reply->step, reply->status, outcome->service + service_bytes};
	memcpy(outcome->service, service, service_bytes);
	memcpy(outcome->text, text, text_bytes);
	while (!atomic_compare_exchange_weak_explicit(/* release: pairs with the exchange in queries_tell_outcomes() */
		&queries->outcome, &outcome->next, outcome, memory_order_release, memory_order_relaxed))
		;
}

/* --- the step's thread -------------------------------------------------------------------------------------------- */

static void queries_tell_outcomes(struct queries *queries)
{
	struct query_outcome *oldest =
		LIST_REVERSED(atomic_exchange_explicit(&queries->outcome, NULL, memory_order_acquire), next);
	for (const struct query_outcome *at = oldest; at; at = at->next)
		world_tell_reply(
			&queries->server->worlds[at->world], at->step, at->service, at->status, at->text, true);
	queries_drop_outcomes(oldest);
}

/* Requests are valid bytes as far as their sender says; a message that cannot be read is refused. */
static void queries_act(struct server_world *world, struct client_reply *reply)
{
	const struct query_ops *ops = reply->row.ops;
	ProtobufCMessage *request;
	char note[EDIT_NOTE_BYTES] = "";
	reply->status = message_of_bytes(type_find(reply->row.type), reply->request.at, reply->request.count,
		&message_limits_usual, &request, &reply->what);
	if (!reply->status) {
		reply->status = ops->act(world, request, note, &reply->what);
		message_free(request);
	}
	if (!reply->status)
		(void)snprintf(reply->what.text, sizeof reply->what.text, "%s", note);
	world_tell_reply(world, reply->step, reply->row.name, reply->status, reply->what.text, true);
}

static void queries_answer_job_run(struct background_job *job, bool dropped)
{
	struct answer_job *this = (struct answer_job *)job;
	struct troupe_client *client = job->client;
	struct client_reply *reply = this->reply;
	struct troupe_server *server = client->server;
	if (dropped)
		reply->status = fail(&reply->what, TROUPE_EPEER, "the run ends");
	else
		client_answer(client, reply, &reply->answer);
	reply->is_answered = true;
	capture_release(reply->capture);
	reply->capture = NULL;
	client_reply(client, reply);
	client_release(client);
	free(this);
	if (!dropped)
		next_request_complete(server);
}

/* False: the client is to answer itself. */
static bool queries_answer_aside(struct queries *queries, struct troupe_client *client, struct client_reply *reply)
{
	struct answer_job *job = mem_alloc(sizeof *job);
	*job = (struct answer_job){
		{.client = client_hold(client), .bytes = reply->request.count, .run = queries_answer_job_run}, reply};
	if (!background_add(queries->server->background, &job->job, NULL))
		return true;
	client_release(client);
	free(job);
	return false;
}

static void queries_answer(struct queries *queries)
{
	struct query *oldest =
		LIST_REVERSED(atomic_exchange_explicit(&queries->asked, NULL, memory_order_acquire), next);
	while (oldest) {
		struct query *next = oldest->next;
		struct client_reply *reply = oldest->reply;
		const struct query_ops *ops = reply->row.ops;
		struct server_world *world = &queries->server->worlds[reply->row.world];
		reply->step = primary_steps(world->primary);
		reply->time_ns = llround(primary_time_s(world->primary) * 1e9);
		if (ops->act)
			queries_act(world, reply);
		else
			reply->capture = capture_make(queries->pools[reply->row.world], world, ops->parts);
		if (!ops->act && !reply->capture)
			reply->status = fail(&reply->what, TROUPE_ELIMIT, "too many messages wait to be taken");
		if (!reply->capture || !ops->is_slow || !oldest->client->def.never_waits ||
			!queries_answer_aside(queries, oldest->client, reply))
			client_reply(oldest->client, reply);
		queries_free_query(oldest);
		oldest = next;
	}
}

void queries_serve(struct queries *queries)
{
	if (atomic_load_explicit(&queries->asked, memory_order_relaxed))
		queries_answer(queries);
	if (atomic_load_explicit(&queries->outcome, memory_order_relaxed))
		queries_tell_outcomes(queries);
}
