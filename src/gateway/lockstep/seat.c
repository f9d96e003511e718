/* A message in text form has no type of its own: it is that of its topic, which the server's table has. A seat keeps a
 * copy of the table, and looks for a new one only when the table has changed. */
#include "gateway/lockstep/seat.h"

#include "topic/message.h"
#include "topic/table.h"

#include <troupe/server.h>

#include <stdlib.h>
#include <string.h>

enum { SEAT_DEPTH = 1024 };

/* --- joining ------------------------------------------------------------------------------------------------------ */

static troupe_status seat_subscribe_first(
	struct seat *seat, const Troupe__Msgs__LockstepJoin *join, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < join->n_subscribe && !status; i++)
		status = troupe_client_subscribe(
			seat->client, join->subscribe[i]->topic, join->subscribe[i]->rate_hz, error);
	return status;
}

troupe_status seat_join(struct seat *seat, struct troupe_server *server, const Troupe__Msgs__LockstepJoin *asked,
	const struct troupe_barrier_ops *ops, void *ctx, struct troupe_error *error)
{
	struct troupe_client_def def = {.depth = SEAT_DEPTH, .never_waits = true};
	struct troupe_join join = {.name = asked->name,
		.world = *asked->world ? asked->world : NULL,
		.period_ns = asked->period_ns,
		.deadline_ns = asked->deadline_ns,
		.failure = (troupe_failure)asked->failure,
		.ops = ops,
		.ctx = ctx};
	if (asked->version != PACKET_VERSION)
		return fail(error, TROUPE_EPROTOCOL, "version %u of the protocol: expected %d", asked->version,
			PACKET_VERSION);
	seat->server = server;
	seat->step.text_form = asked->text_form;
	troupe_status status = troupe_client_create(server, &def, &seat->client, error);
	if (!status)
		status = seat_subscribe_first(seat, asked, error);
	return status ? status : troupe_client_join(seat->client, &join, error);
}

void seat_add_welcome(const struct seat *seat, const Troupe__Msgs__LockstepJoin *asked, struct text *out)
{
	uint32_t i = 0;
	while (*asked->world && i + 1 < troupe_server_world_count(seat->server) &&
		!topic_is_of_world(asked->world, troupe_server_world_name(seat->server, i)))
		i++;
	packet_add_welcome(out, troupe_server_world_name(seat->server, i), troupe_server_step_s(seat->server, i));
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

void seat_add_step(struct seat *seat, const struct troupe_barrier *barrier, struct text *out)
{
	struct troupe_message message;
	while (troupe_client_take(seat->client, 0, &message))
		packet_step_take(&seat->step, &message);
	packet_step_end(&seat->step, barrier->step, barrier->time_ns, out);
}

static const struct troupe_topic *seat_find_topic(struct seat *seat, const char *name, bool call)
{
	troupe_topic_kind kind = call ? TROUPE_TOPIC_SERVICE : TROUPE_TOPIC_TAKEN;
	if (!seat->topics || seat->topics->epoch != troupe_topics_epoch(seat->server)) {
		troupe_topics_release(seat->topics);
		seat->topics = troupe_topics_list(seat->server);
	}
	uint32_t low = 0, high = seat->topics->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(seat->topics->at[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < seat->topics->count && !strcmp(seat->topics->at[low].name, name); low++)
		if (seat->topics->at[low].kind == kind)
			return &seat->topics->at[low];
	return NULL;
}

static void seat_take_bytes(struct seat *seat, const Troupe__Msgs__LockstepMessage *message, const char *type,
	const void *bytes, size_t count)
{
	struct troupe_error why;
	struct troupe_when when = {.step = message->step};
	troupe_status status =
		message->call
			? troupe_client_call(seat->client, message->topic, type, bytes, count, message->tag, &why)
			: troupe_client_publish(seat->client, &when, message->topic, type, bytes, count, NULL, &why);
	if (status)
		packet_step_refuse(&seat->step, message->topic, message->call, message->tag, why.text);
}

static void seat_take_content(struct seat *seat, const Troupe__Msgs__LockstepMessage *message)
{
	const struct troupe_topic *topic = seat_find_topic(seat, message->topic, message->call);
	const char *name = *message->type ? message->type : topic ? topic->type : NULL;
	message_type type = name ? type_find(name) : NULL;
	ProtobufCMessage *parsed;
	struct troupe_error why;
	struct text bytes = {0};
	if (!type) { /* the server says what is wrong with it */
		seat_take_bytes(seat, message, name, "", 0);
		return;
	}
	if (message_of_text(type, message->content, &message_limits_usual, &parsed, &why)) {
		packet_step_refuse(&seat->step, message->topic, message->call, message->tag, why.text);
		return;
	}
	message_add_bytes(&bytes, parsed);
	message_free(parsed);
	seat_take_bytes(seat, message, type->name, bytes.at, bytes.count);
	text_fini(&bytes);
}

static void seat_take_message(struct seat *seat, const Troupe__Msgs__LockstepMessage *message)
{
	if (*message->content)
		seat_take_content(seat, message);
	else
		seat_take_bytes(
			seat, message, *message->type ? message->type : NULL, message->data.data, message->data.len);
}

static void seat_subscribe(struct seat *seat, size_t count, Troupe__Msgs__LockstepSubscription **list)
{
	struct troupe_error why;
	for (size_t i = 0; i < count; i++)
		if (troupe_client_subscribe(seat->client, list[i]->topic, list[i]->rate_hz, &why))
			packet_step_refuse(&seat->step, list[i]->topic, false, 0, why.text);
}

troupe_answer seat_take_done(struct seat *seat, const Troupe__Msgs__LockstepDone *done,
	const struct troupe_barrier *barrier, struct troupe_error *error)
{
	if (done->step != barrier->step) {
		(void)fail(error, TROUPE_EPROTOCOL, "it is done with step %llu: expected step %llu",
			(unsigned long long)done->step, (unsigned long long)barrier->step);
		return TROUPE_ANSWER_FAILED;
	}
	for (size_t i = 0; i < done->n_message; i++)
		seat_take_message(seat, done->message[i]);
	for (size_t i = 0; i < done->n_unsubscribe; i++)
		troupe_client_unsubscribe(seat->client, done->unsubscribe[i]);
	seat_subscribe(seat, done->n_subscribe, done->subscribe);
	return TROUPE_ANSWER_DONE;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void seat_leave(struct seat *seat)
{
	if (seat->client)
		troupe_client_leave(seat->client);
}

void seat_fini(struct seat *seat)
{
	troupe_client_destroy(seat->client);
	troupe_topics_release(seat->topics);
	packet_step_fini(&seat->step);
}
