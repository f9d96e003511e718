/* The length of a frame is checked before any of it is kept or waited for, so that a client cannot make the run wait
 * for four gigabytes. The rest is checked by topic/message.h, by the descriptors of the types. */
#include "gateway/lockstep/packet.h"

#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

const struct message_limits packet_limits = {.bytes_max = PACKET_BYTES_MAX, .items_max = PACKET_ITEMS_MAX};

enum packet_read packet_next(const char *bytes, size_t count, size_t *used,
	Troupe__Msgs__LockstepFromClient **ret_packet, struct troupe_error *error)
{
	const unsigned char *head = (const unsigned char *)bytes + *used;
	size_t rest = count - *used;
	ProtobufCMessage *message;
	struct troupe_error why;
	if (rest < PACKET_HEAD_BYTES)
		return PACKET_NONE;
	size_t length = head[0] | (size_t)head[1] << 8 | (size_t)head[2] << 16 | (size_t)head[3] << 24;
	if (length > PACKET_BYTES_MAX) {
		(void)fail(
			error, TROUPE_EPROTOCOL, "a frame of %zu bytes: expected at most %d", length, PACKET_BYTES_MAX);
		return PACKET_BAD;
	}
	if (rest - PACKET_HEAD_BYTES < length)
		return PACKET_NONE;
	*used += PACKET_HEAD_BYTES + length;
	if (message_of_bytes(&troupe__msgs__lockstep_from_client__descriptor, bytes + *used - length, length,
		    &packet_limits, &message, &why)) {
		(void)fail(error, TROUPE_EPROTOCOL, "a frame that is not valid: %s", why.text);
		return PACKET_BAD;
	}
	Troupe__Msgs__LockstepFromClient *packet = (Troupe__Msgs__LockstepFromClient *)message;
	if (packet->what_case == TROUPE__MSGS__LOCKSTEP_FROM_CLIENT__WHAT__NOT_SET) {
		message_free(message);
		(void)fail(error, TROUPE_EPROTOCOL, "an empty frame: expected join, done or leave");
		return PACKET_BAD;
	}
	*ret_packet = packet;
	return PACKET_READ;
}

static void packet_add(struct text *out, const Troupe__Msgs__LockstepToClient *packet)
{
	size_t begin = out->count;
	text_add_bytes(out, "\0\0\0\0", PACKET_HEAD_BYTES);
	message_add_bytes(out, &packet->base);
	size_t length = out->count - begin - PACKET_HEAD_BYTES;
	for (int i = 0; i < PACKET_HEAD_BYTES; i++)
		out->at[begin + (size_t)i] = (char)(length >> 8 * i & 0xff);
}

/* The same text without const, because the structs of messages require it. The code that packs the message only reads
 * it. */
static char *packet_lend(const char *text)
{
	char *lent;
	memcpy(&lent, &text, sizeof lent);
	return lent;
}

void packet_add_welcome(struct text *out, const char *world, double step_s)
{
	Troupe__Msgs__LockstepToClient packet = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__INIT;
	Troupe__Msgs__LockstepWelcome welcome = TROUPE__MSGS__LOCKSTEP_WELCOME__INIT;
	welcome.version = PACKET_VERSION;
	welcome.world = packet_lend(world);
	welcome.step_s = step_s;
	packet.what_case = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_WELCOME;
	packet.welcome = &welcome;
	packet_add(out, &packet);
}

void packet_add_refused(struct text *out, const char *why)
{
	Troupe__Msgs__LockstepToClient packet = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__INIT;
	Troupe__Msgs__LockstepRefused refused = TROUPE__MSGS__LOCKSTEP_REFUSED__INIT;
	refused.text = packet_lend(why);
	packet.what_case = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_REFUSED;
	packet.refused = &refused;
	packet_add(out, &packet);
}

void packet_add_ended(struct text *out, bool failed, const char *why)
{
	Troupe__Msgs__LockstepToClient packet = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__INIT;
	Troupe__Msgs__LockstepEnded ended = TROUPE__MSGS__LOCKSTEP_ENDED__INIT;
	ended.failed = failed;
	ended.text = packet_lend(why);
	packet.what_case = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_ENDED;
	packet.ended = &ended;
	packet_add(out, &packet);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static size_t packet_keep(struct packet_step *step, const char *text)
{
	size_t at = step->kept.count;
	text_add_bytes(&step->kept, text ? text : "", (text ? strlen(text) : 0) + 1);
	return at;
}

static void packet_keep_item(struct packet_step *step, struct packet_item item, const char *topic, const char *type,
	const char *text, const void *bytes)
{
	item.topic = packet_keep(step, topic);
	item.type = packet_keep(step, type);
	item.text = packet_keep(step, text);
	item.data = step->kept.count;
	if (item.count)
		text_add_bytes(&step->kept, bytes, item.count);
	vec_push(&step->items, item);
}

/* False: the message has no text form. */
static bool packet_add_text_form(const struct troupe_message *message, struct text *out)
{
	ProtobufCMessage *parsed;
	message_type type = message->type ? type_find(message->type) : NULL;
	if (!type || message_of_bytes(type, message->bytes, message->count, &packet_limits, &parsed, NULL))
		return false;
	message_add_text(out, parsed, MESSAGE_LINE);
	message_free(parsed);
	return true;
}

void packet_step_take(struct packet_step *step, const struct troupe_message *message)
{
	struct text form = {0};
	struct packet_item item = {.count = message->count,
		.call = message->is_reply,
		.refused = message->is_reply && message->status,
		.as_text = step->text_form && packet_add_text_form(message, &form),
		.tag = message->tag,
		.step = message->step,
		.time_ns = message->time_ns};
	if (item.as_text)
		item.count = form.count + 1;
	packet_keep_item(step, item, message->topic, message->type, message->is_reply ? message->text : NULL,
		item.as_text ? form.at : message->bytes);
	text_fini(&form);
}

void packet_step_refuse(struct packet_step *step, const char *topic, bool call, uint64_t tag, const char *why)
{
	packet_keep_item(step, (struct packet_item){.call = call, .tag = tag, .refused = true}, topic, NULL, why, NULL);
}

static void packet_fill(struct packet_step *step)
{
	MEM_FIT(step->room, step->room_count, step->items.count);
	MEM_FIT(step->list, step->room_count, step->items.count);
	step->room_count = MAX(step->room_count, step->items.count);
	for (uint32_t i = 0; i < step->items.count; i++) {
		const struct packet_item *item = &step->items.at[i];
		Troupe__Msgs__LockstepMessage *message = step->list[i] = &step->room[i];
		troupe__msgs__lockstep_message__init(message);
		message->topic = step->kept.at + item->topic;
		message->type = step->kept.at + item->type;
		message->text = step->kept.at + item->text;
		if (item->as_text) {
			message->content = step->kept.at + item->data;
		} else {
			message->data.data = (uint8_t *)step->kept.at + item->data;
			message->data.len = item->count;
		}
		message->call = item->call;
		message->refused = item->refused;
		message->tag = item->tag;
		message->step = item->step;
		message->time_ns = item->time_ns;
	}
}

void packet_step_end(struct packet_step *step, uint64_t number, int64_t time_ns, struct text *out)
{
	Troupe__Msgs__LockstepToClient packet = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__INIT;
	Troupe__Msgs__LockstepStep message = TROUPE__MSGS__LOCKSTEP_STEP__INIT;
	packet_fill(step);
	message.step = number;
	message.time_ns = time_ns;
	message.n_message = step->items.count;
	message.message = step->list;
	packet.what_case = TROUPE__MSGS__LOCKSTEP_TO_CLIENT__WHAT_STEP;
	packet.step = &message;
	packet_add(out, &packet);
	step->items.count = 0;
	step->kept.count = 0;
}

void packet_step_fini(struct packet_step *step)
{
	text_fini(&step->kept);
	vec_free(&step->items);
	free(step->room);
	free(step->list);
}
