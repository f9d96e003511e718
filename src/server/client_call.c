/* What a client says: messages on topics that the server takes, and requests. A request that only asks is answered from
 * a frame of the next step boundary; any other request is a command, bound to a step as all commands are. */
#include "server/barrier.h"
#include "server/client.h"
#include "topic/message.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Checks the name and, of what is no command, the type. type: NULL for the row's. The caller frees the row. */
static troupe_status find_row(struct troupe_client *client, enum topic_kind kind, const char *name, const char *type,
	struct topic_row *ret_row, struct troupe_error *error)
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

/* A copy of a message of a robot client, with the client's name in its header (owner_of_message()). The parts of a
 * message that come twice are one, so the name can be put behind it. */
static void sign(
	const struct troupe_client *client, const char *type, const void *bytes, size_t count, struct text *out)
{
	const ProtobufCMessageDescriptor *found = type_find(type);
	const ProtobufCFieldDescriptor *field =
		found ? protobuf_c_message_descriptor_get_field_by_name(found, "header") : NULL;
	Gz__Msgs__Header__Map entry = GZ__MSGS__HEADER__MAP__INIT, *entries[] = {&entry};
	Gz__Msgs__Header header = GZ__MSGS__HEADER__INIT;
	char *values[] = {client->as};
	struct text part = {0};
	text_add_bytes(out, bytes ? bytes : "", count);
	if (!field || field->descriptor != &gz__msgs__header__descriptor)
		return;
	entry.key = message_string("client");
	entry.value = values;
	entry.n_value = 1;
	header.data = entries;
	header.n_data = 1;
	message_add_bytes(&part, &header.base);
	_Static_assert(OWNER_NAME_MAX + 16 < 0x80, "the length of the header has one byte");
	const char head[] = {(char)(field->id << 3 | 2), (char)part.count};
	assert(field->id < 16);
	text_add_bytes(out, head, sizeof head);
	text_add_bytes(out, part.at, part.count);
	text_fini(&part);
}

static void count_command(struct troupe_client *client)
{
	atomic_fetch_add_explicit(&client->commands, 1, memory_order_relaxed);
}

/* Keeps a message for the client's barrier. It is checked here, on the thread of the client. */
static troupe_status collect(struct troupe_client *client, const struct troupe_when *when, const struct topic_row *row,
	const char *type, const void *bytes, size_t count, struct command_call *call, uint64_t *ret_step,
	struct troupe_error *error)
{
	ProtobufCMessage *message;
	struct troupe_error why;
	if (!type_find(type))
		return fail(error, TROUPE_ECOMMAND, "'%.150s': type '%.80s': expected %s", row->name, type, row->type);
	troupe_status status = message_of_bytes(type_find(type), bytes, count, &message_limits_usual, &message, &why);
	if (status)
		return fail(error, status, "'%.150s': %s", row->name, why.text);
	message_free(message);
	return barrier_collect(client, when, row->name, type, bytes, count, call, ret_step, error);
}

static troupe_status give_message(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct text signed_bytes = {0};
	if (!client->as)
		return troupe_command_bytes(client->server, when, topic, type, bytes, count, ret_step, error);
	sign(client, type, bytes, count, &signed_bytes);
	troupe_status status = troupe_command_bytes(
		client->server, when, topic, type, signed_bytes.at, signed_bytes.count, ret_step, error);
	text_fini(&signed_bytes);
	return status;
}

troupe_status troupe_client_publish(struct troupe_client *client, const struct troupe_when *when, const char *topic,
	const char *type, const void *bytes, size_t count, uint64_t *ret_step, struct troupe_error *error)
{
	struct topic_row row;
	troupe_status status = find_row(client, TOPIC_TAKEN, topic, type, &row, error);
	if (status)
		return status;
	const char *sent = type ? type : row.type;
	if (barrier_collects(client))
		status = collect(client, when, &row, sent, bytes, count, NULL, ret_step, error);
	else
		status = give_message(client, when, topic, sent, bytes, count, ret_step, error);
	if (!status) {
		count_command(client);
		server_wake(client->server);
	}
	topic_row_fini(&row);
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

static troupe_status give_command(struct troupe_client *client, struct reply *reply, const char *type,
	const void *bytes, size_t count, struct troupe_error *error)
{
	struct request *request = mem_alloc(sizeof *request);
	*request = (struct request){{on_done}, client_hold(client), reply};
	struct text signed_bytes = {0};
	if (client->as) {
		sign(client, type, bytes, count, &signed_bytes);
		bytes = signed_bytes.at;
		count = signed_bytes.count;
	}
	troupe_status status =
		barrier_collects(client)
			? collect(client, NULL, &reply->row, type, bytes, count, &request->call, NULL, error)
			: server_command(client->server, reply->row.name, type, bytes, count, &request->call, error);
	text_fini(&signed_bytes);
	if (!status) {
		count_command(client);
		return TROUPE_OK;
	}
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
			status = give_command(client, reply, type ? type : row.type, bytes, count, error);
		if (status)
			reply_destroy(reply);
	}
	if (status)
		atomic_fetch_sub(&client->calls, 1);
	else
		server_wake(client->server);
	return status;
}
