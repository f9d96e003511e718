/* A message in text form has no type of its own: it is that of its topic, which the server's table has. A member keeps
 * a copy of the table, and looks for a new one only when the table has changed. */
#include "gateway/lockstep/lockstep_member.h"

#include "topic/message.h"
#include "topic/table.h"

#include <troupe/server.h>

#include <stdlib.h>
#include <string.h>

enum { LOCKSTEP_MEMBER_DEPTH = 1024 };

/* --- joining ------------------------------------------------------------------------------------------------------ */

static troupe_status lockstep_member_subscribe_first(
	struct lockstep_member *member, const Troupe__Msgs__LockstepJoin *join, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < join->n_subscribe && !status; i++)
		status = troupe_client_subscribe(
			member->client, join->subscribe[i]->topic, join->subscribe[i]->rate_hz, error);
	return status;
}

troupe_status lockstep_member_join(struct lockstep_member *member, struct troupe_server *server,
	const Troupe__Msgs__LockstepJoin *asked, const struct troupe_barrier_ops *ops, void *ctx,
	struct troupe_error *error)
{
	struct troupe_client_def def = {.depth = LOCKSTEP_MEMBER_DEPTH, .never_waits = true};
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
	member->server = server;
	member->step.text_form = asked->text_form;
	troupe_status status = troupe_client_create(server, &def, &member->client, error);
	if (!status)
		status = lockstep_member_subscribe_first(member, asked, error);
	return status ? status : troupe_client_join(member->client, &join, error);
}

void lockstep_member_add_welcome(
	const struct lockstep_member *member, const Troupe__Msgs__LockstepJoin *asked, struct text *out)
{
	uint32_t i = 0;
	while (*asked->world && i + 1 < troupe_server_world_count(member->server) &&
		!topic_is_of_world(asked->world, troupe_server_world_name(member->server, i)))
		i++;
	packet_add_welcome(out, troupe_server_world_name(member->server, i), troupe_server_step_s(member->server, i));
}

/* --- a barrier ---------------------------------------------------------------------------------------------------- */

void lockstep_member_add_step(struct lockstep_member *member, const struct troupe_barrier *barrier, struct text *out)
{
	struct troupe_message message;
	while (troupe_client_take(member->client, 0, &message))
		packet_step_take(&member->step, &message);
	packet_step_end(&member->step, barrier->step, barrier->time_ns, out);
}

static const struct troupe_topic *lockstep_member_find_topic(
	struct lockstep_member *member, const char *name, bool call)
{
	troupe_topic_kind kind = call ? TROUPE_TOPIC_SERVICE : TROUPE_TOPIC_TAKEN;
	if (!member->topics || member->topics->epoch != troupe_topics_epoch(member->server)) {
		troupe_topics_release(member->topics);
		member->topics = troupe_topics_list(member->server);
	}
	uint32_t low = 0, high = member->topics->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(member->topics->at[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < member->topics->count && !strcmp(member->topics->at[low].name, name); low++)
		if (member->topics->at[low].kind == kind)
			return &member->topics->at[low];
	return NULL;
}

static void lockstep_member_take_bytes(struct lockstep_member *member, const Troupe__Msgs__LockstepMessage *message,
	const char *type, const void *bytes, size_t count)
{
	struct troupe_error why;
	struct troupe_when when = {.step = message->step};
	troupe_status status =
		message->call
			? troupe_client_call(member->client, message->topic, type, bytes, count, message->tag, &why)
			: troupe_client_publish(member->client, &when, message->topic, type, bytes, count, NULL, &why);
	if (status)
		packet_step_refuse(&member->step, message->topic, message->call, message->tag, why.text);
}

static void lockstep_member_take_content(struct lockstep_member *member, const Troupe__Msgs__LockstepMessage *message)
{
	const struct troupe_topic *topic = lockstep_member_find_topic(member, message->topic, message->call);
	const char *name = *message->type ? message->type : topic ? topic->type : NULL;
	message_type type = name ? type_find(name) : NULL;
	ProtobufCMessage *parsed;
	struct troupe_error why;
	struct text bytes = {0};
	if (!type) { /* the server says what is wrong with it */
		lockstep_member_take_bytes(member, message, name, "", 0);
		return;
	}
	if (message_of_text(type, message->content, &message_limits_usual, &parsed, &why)) {
		packet_step_refuse(&member->step, message->topic, message->call, message->tag, why.text);
		return;
	}
	message_add_bytes(&bytes, parsed);
	message_free(parsed);
	lockstep_member_take_bytes(member, message, type->name, bytes.at, bytes.count);
	text_fini(&bytes);
}

static void lockstep_member_take_message(struct lockstep_member *member, const Troupe__Msgs__LockstepMessage *message)
{
	if (*message->content)
		lockstep_member_take_content(member, message);
	else
		lockstep_member_take_bytes(
			member, message, *message->type ? message->type : NULL, message->data.data, message->data.len);
}

static void lockstep_member_subscribe(
	struct lockstep_member *member, size_t count, Troupe__Msgs__LockstepSubscription **list)
{
	struct troupe_error why;
	for (size_t i = 0; i < count; i++)
		if (troupe_client_subscribe(member->client, list[i]->topic, list[i]->rate_hz, &why))
			packet_step_refuse(&member->step, list[i]->topic, false, 0, why.text);
}

troupe_answer lockstep_member_take_done(struct lockstep_member *member, const Troupe__Msgs__LockstepDone *done,
	const struct troupe_barrier *barrier, struct troupe_error *error)
{
	if (done->step != barrier->step) {
		(void)fail(error, TROUPE_EPROTOCOL, "it is done with step %llu: expected step %llu",
			(unsigned long long)done->step, (unsigned long long)barrier->step);
		return TROUPE_ANSWER_FAILED;
	}
	for (size_t i = 0; i < done->n_message; i++)
		lockstep_member_take_message(member, done->message[i]);
	for (size_t i = 0; i < done->n_unsubscribe; i++)
		troupe_client_unsubscribe(member->client, done->unsubscribe[i]);
	lockstep_member_subscribe(member, done->n_subscribe, done->subscribe);
	return TROUPE_ANSWER_DONE;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

void lockstep_member_leave(struct lockstep_member *member)
{
	if (member->client)
		troupe_client_leave(member->client);
}

void lockstep_member_fini(struct lockstep_member *member)
{
	troupe_client_destroy(member->client);
	troupe_topics_release(member->topics);
	packet_step_fini(&member->step);
}
