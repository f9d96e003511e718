/* What a client says: messages on topics that the server takes, and requests. A request that only asks is answered from
 * a frame of the next step boundary; any other request is a command, bound to a step as all commands are. */
#include "server/barrier.h"
#include "server/client.h"
#include "topic/message.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Checks the name and the type. type: NULL for the row's. The caller frees the row. */
static troupe_status find_row(struct troupe_client *client, enum topic_kind kind, const char *name, const char *type,
	struct topic_row *ret_row, struct troupe_error *error)
{
	struct topic_row row;
	const char *what = kind == TOPIC_SERVICE ? "service" : "topic";
	if (!topic_copy(clients_table(client->server->clients), kind, name, &row))
		return fail(error, TROUPE_ECOMMAND, "%s '%.150s': there is none of this name", what, name);
	if (type && type_find(type) != type_find(row.type)) {
		(void)fail(
			error, TROUPE_ECOMMAND, "%s '%.150s': type '%.80s': expected %s", what, name, type, row.type);
		topic_row_fini(&row);
		return TROUPE_ECOMMAND;
	}
	*ret_row = row;
	return TROUPE_OK;
}

/* The message as text. */
static troupe_status read_message(
	const struct topic_row *row, const void *bytes, size_t count, struct text *ret_text, struct troupe_error *error)
{
	ProtobufCMessage *message;
	struct troupe_error why;
	troupe_status status =
		message_of_bytes(type_find(row->type), bytes, count, &message_limits_usual, &message, &why);
	if (status)
		return fail(error, status, "'%.150s': %s", row->name, why.text);
	text_add(ret_text, "%s", "");
	message_add_text(ret_text, message, MESSAGE_LINE);
	message_free(message);
	return TROUPE_OK;
}

troupe_status troupe_client_publish(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct topic_row row;
	struct text text = {0};
	troupe_status status = find_row(client, TOPIC_TAKEN, topic, type, &row, error);
	if (status)
		return status;
	status = read_message(&row, bytes, count, &text, error);
	if (!status && barrier_collects(client))
		status = barrier_collect(client, when, topic, text.at, NULL, ret_step, error);
	else if (!status)
		status = troupe_command_text(client->server, when, topic, text.at, ret_step, error);
	if (!status)
		server_wake(client->server);
	topic_row_fini(&row);
	text_fini(&text);
	return status;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

struct request {                  /* a command that a client waits for */
	struct command_call call; /* first: a request is its call */
	struct troupe_client *client;
	struct reply *reply;
};

static void on_done(struct command_call *call, uint64_t step, troupe_status status, const char *text)
{
	struct request *request = (struct request *)call;
	struct reply *reply = request->reply;
	reply->step = step;
	reply->status = status;
	(void)fail(&reply->what, status, "%s", text);
	client_reply(request->client, reply);
	client_release(request->client);
	free(request);
}

static troupe_status give_command(
	struct troupe_client *client, struct reply *reply, const void *bytes, size_t count, struct troupe_error *error)
{
	struct text text = {0};
	troupe_status status = read_message(&reply->row, bytes, count, &text, error);
	if (status)
		return status;
	struct request *request = mem_alloc(sizeof *request);
	*request = (struct request){{on_done}, client_hold(client), reply};
	status = barrier_collects(client)
			 ? barrier_collect(client, NULL, reply->row.name, text.at, &request->call, NULL, error)
			 : server_command(client->server, reply->row.name, text.at, &request->call, error);
	text_fini(&text);
	if (!status)
		return TROUPE_OK;
	client_release(client);
	free(request);
	return status;
}

static void ask(struct troupe_client *client, struct reply *reply, const void *bytes, size_t count)
{
	text_add_bytes(&reply->request, bytes, count);
	clients_ask(client->server->clients, client_hold(client), reply);
}

troupe_status troupe_client_call(struct troupe_client *client, const char *service, const char *type, const void *bytes,
	size_t count, uint64_t tag, struct troupe_error *error)
{
	struct topic_row row;
	troupe_status status = find_row(client, TOPIC_SERVICE, service, type, &row, error);
	if (status)
		return status;
	if (atomic_fetch_add(&client->calls, 1) >= TROUPE_CLIENT_CALLS_MAX) {
		status = fail(error, TROUPE_ELIMIT, "service '%.150s': %d calls wait: expected no more", service,
			TROUPE_CLIENT_CALLS_MAX);
		topic_row_fini(&row);
	} else {
		struct reply *reply = mem_alloc(sizeof *reply);
		*reply = (struct reply){.tag = tag, .row = row};
		if (row.ops)
			ask(client, reply, bytes, count);
		else
			status = give_command(client, reply, bytes, count, error);
		if (status)
			reply_destroy(reply);
	}
	if (status)
		atomic_fetch_sub(&client->calls, 1);
	else
		server_wake(client->server);
	return status;
}
