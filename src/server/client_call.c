/* What a client says: messages on topics that the server takes, and requests. A request that only asks is answered from
 * a capture of the next step boundary; any other request is a command, bound to a step as all commands are.
 *
 * A command that creates models, or takes up a saved state, reads files before it is bound. For clients that never wait
 * this is done in the background. */
#include "run/services.h"
#include "server/background.h"
#include "server/barrier.h"
#include "server/client.h"
#include "topic/message.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Checks the name and, of what is no command, the type. type: NULL for the row's. The caller frees the row. */
static troupe_status client_call_find_row(struct troupe_client *client, enum topic_kind kind, const char *name,
	const char *type, struct topic_row *ret_row, struct troupe_error *error)
{
	struct topic_row row;
	const char *what = kind == TOPIC_SERVICE ? "service" : "topic";
	if (!topic_copy(clients_table(client->server->clients), kind, name, client->as, &row))
		return fail(error, TROUPE_ECOMMAND, "%s '%.150s': there is none of this name", what, name);
	if (type && row.ops && type_find(type) != type_find(row.type)) {
		(void)fail(
			error, TROUPE_ECOMMAND, "%s '%.150s': type '%.80s': expected %s", what, name, type, row.type);
		topic_row_fini(&row);
		return TROUPE_ECOMMAND;
	}
	*ret_row = row;
	return TROUPE_OK;
}

/* The topic or service as a command names it: TOPIC@CLIENT of a robot client. The caller frees it. */
static char *client_call_topic(const struct troupe_client *client, const char *topic)
{
	return client->as ? mem_printf("%s@%s", topic, client->as) : mem_strdup(topic);
}

static void client_call_count_command(struct troupe_client *client)
{
	atomic_fetch_add_explicit(&client->commands, 1, memory_order_relaxed);
}

/* Keeps a message for the client's barrier. It is checked here, on the thread of the client. */
static troupe_status client_call_collect(struct troupe_client *client, const struct troupe_when *when,
	const struct topic_row *row, const char *type, const void *bytes, size_t count, struct command_call *call,
	uint64_t *ret_step, struct troupe_error *error)
{
	ProtobufCMessage *message;
	struct troupe_error why;
	if (!type_find(type))
		return fail(error, TROUPE_ECOMMAND, "'%.150s': type '%.80s': expected %s", row->name, type, row->type);
	troupe_status status = message_of_bytes(type_find(type), bytes, count, &message_limits_usual, &message, &why);
	if (status)
		return fail(error, status, "'%.150s': %s", row->name, why.text);
	message_free(message);
	char *topic = client_call_topic(client, row->name);
	status = barrier_collect(client, when, topic, type, bytes, count, call, ret_step, error);
	free(topic);
	return status;
}

/* --- in the background -------------------------------------------------------------------------------------------- */

struct client_call_request {      /* a command that a client waits for */
	struct command_call call; /* first: a request is its call */
	struct troupe_client *client;
	struct client_reply *reply;
};

struct call_job {                            /* a command that is yet to be given */
	struct background_job job;           /* first: a call_job is its job */
	struct troupe_client *client;        /* one reference */
	struct client_call_request *request; /* NULL: a message on a topic */
	struct troupe_when when;
	bool has_when;
	const char *topic, *type;
	const void *bytes;
	size_t count;
	char copies[]; /* of the three */
};

static void client_call_job_free(struct call_job *job)
{
	client_release(job->client);
	free(job);
}

static void client_call_job_run(struct background_job *job, bool dropped)
{
	struct call_job *this = (struct call_job *)job;
	struct troupe_client *client = this->client;
	struct troupe_server *server = client->server;
	struct troupe_error error;
	troupe_status status = dropped ? fail(&error, TROUPE_EPEER, "the run ends")
			       : this->request
				       ? server_command(server, this->topic, this->type, this->bytes, this->count,
						 &this->request->call, &error)
				       : troupe_command_bytes(server, this->has_when ? &this->when : NULL, this->topic,
						 this->type, this->bytes, this->count, NULL, &error);
	if (!status) {
		server_wake(server);
	} else if (this->request) {
		this->request->call.done(
			&this->request->call, troupe_server_progress(server).steps, status, error.text);
	} else if (!dropped) {
		struct text text = {0};
		text_add(&text, "a message of a client: %s", error.text);
		server_warn(server, text.at);
		text_fini(&text);
	}
	client_call_job_free(this);
}

/* Whether the command is to be given in the background: it reads files, or the client's commands before it are there
 * still, and commands of one client keep their order. */
static bool client_call_is_job(struct troupe_client *client, const struct topic_row *row)
{
	struct troupe_server *server = client->server;
	if (!client->def.never_waits)
		return false;
	const char *name = topic_in_world(row->name, server->worlds[row->world].scene->name);
	const struct command_service *service = name ? services_find(name) : NULL;
	return (service && (service->creates || service->replaces)) || background_has(server->background, client);
}

/* Copies all but the request, which it takes over if all is well. */
static troupe_status client_call_put_job(
	struct troupe_client *client, const struct call_job *given, struct troupe_error *error)
{
	size_t topic = strlen(given->topic) + 1, type = strlen(given->type) + 1;
	size_t bytes = sizeof(struct call_job) + topic + type + given->count;
	struct call_job *job = mem_alloc(bytes);
	*job = *given;
	job->job = (struct background_job){.client = client, .bytes = bytes, .run = client_call_job_run};
	job->client = client_hold(client);
	job->topic = memcpy(job->copies, given->topic, topic);
	job->type = memcpy(job->copies + topic, given->type, type);
	job->bytes = job->copies + topic + type;
	if (given->count)
		memcpy(job->copies + topic + type, given->bytes, given->count);
	troupe_status status = background_add(client->server->background, &job->job, error);
	if (status)
		client_call_job_free(job);
	return status;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static troupe_status client_call_give_message(struct troupe_client *client, const struct troupe_when *when,
	const struct topic_row *row, const char *type, const void *bytes, size_t count, uint64_t *ret_step,
	struct troupe_error *error)
{
	char *named = client_call_topic(client, row->name);
	troupe_status status;
	if (client_call_is_job(client, row)) {
		struct call_job job = {.topic = named, .type = type, .bytes = bytes, .count = count};
		job.has_when = when;
		if (when)
			job.when = *when;
		if (ret_step)
			*ret_step = when ? when->step : 0;
		status = client_call_put_job(client, &job, error);
	} else {
		status = troupe_command_bytes(client->server, when, named, type, bytes, count, ret_step, error);
	}
	free(named);
	return status;
}

troupe_status troupe_client_publish(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct topic_row row;
	troupe_status status = client_call_find_row(client, TOPIC_TAKEN, topic, type, &row, error);
	if (status)
		return status;
	const char *sent = type ? type : row.type;
	if (barrier_collects(client))
		status = client_call_collect(client, when, &row, sent, bytes, count, NULL, ret_step, error);
	else
		status = client_call_give_message(client, when, &row, sent, bytes, count, ret_step, error);
	if (!status) {
		client_call_count_command(client);
		server_wake(client->server);
	}
	topic_row_fini(&row);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void client_call_on_done(struct command_call *call, uint64_t step, troupe_status status, const char *text)
{
	struct client_call_request *request = (struct client_call_request *)call;
	struct client_reply *reply = request->reply;
	reply->step = step;
	reply->status = status;
	(void)fail(&reply->what, status, "%s", text);
	client_reply(request->client, reply);
	client_release(request->client);
	free(request);
}

static troupe_status client_call_give_command(struct troupe_client *client, struct client_reply *reply,
	const char *type, const void *bytes, size_t count, struct troupe_error *error)
{
	struct client_call_request *request = mem_alloc(sizeof *request);
	*request = (struct client_call_request){{client_call_on_done}, client_hold(client), reply};
	char *service = client_call_topic(client, reply->row.name);
	troupe_status status;
	if (barrier_collects(client)) {
		status =
			client_call_collect(client, NULL, &reply->row, type, bytes, count, &request->call, NULL, error);
	} else if (client_call_is_job(client, &reply->row)) {
		const struct call_job job = {
			.request = request, .topic = service, .type = type, .bytes = bytes, .count = count};
		status = client_call_put_job(client, &job, error);
	} else {
		status = server_command(client->server, service, type, bytes, count, &request->call, error);
	}
	free(service);
	if (!status) {
		client_call_count_command(client);
		return TROUPE_OK;
	}
	client_release(client);
	free(request);
	return status;
}

static void client_call_ask(struct troupe_client *client, struct client_reply *reply, const void *bytes, size_t count)
{
	text_add_bytes(&reply->request, bytes, count);
	clients_ask(client->server->clients, client_hold(client), reply);
}

troupe_status troupe_client_call(struct troupe_client *client, const char *service, const char *type, const void *bytes,
	size_t count, uint64_t tag, struct troupe_error *error)
{
	struct topic_row row;
	troupe_status status = client_call_find_row(client, TOPIC_SERVICE, service, type, &row, error);
	if (status)
		return status;
	if (atomic_fetch_add(&client->calls, 1) >= TROUPE_CLIENT_CALLS_MAX) {
		status = fail(error, TROUPE_ELIMIT, "service '%.150s': %d calls wait: expected no more", service,
			TROUPE_CLIENT_CALLS_MAX);
		topic_row_fini(&row);
	} else {
		struct client_reply *reply = mem_alloc(sizeof *reply);
		*reply = (struct client_reply){.tag = tag, .row = row};
		if (row.ops)
			client_call_ask(client, reply, bytes, count);
		else
			status = client_call_give_command(client, reply, type ? type : row.type, bytes, count, error);
		if (status)
			reply_destroy(reply);
	}
	if (status)
		atomic_fetch_sub(&client->calls, 1);
	else
		server_wake(client->server);
	return status;
}
