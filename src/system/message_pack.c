/* Messages as bytes: which slots were given, their values, then the strings, numbers and items of messages that have
 * some. */
#include "system/message_more.h"

#include <stdlib.h>
#include <string.h>

static uint32_t slots_of(const struct message_schema *schema, uint32_t given, enum message_kind kind)
{
	uint32_t slots = 0;
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (schema->fields[i].kind == kind && (given >> i & 1))
			slots |= 1u << i;
	return slots;
}

static void pack_numbers(const struct message *message, uint32_t slot, struct text *out)
{
	uint32_t count = (uint32_t)message->value[slot];
	const double *numbers = message_numbers(message, slot);
	pack_var(out, count);
	for (uint32_t i = 0; i < count; i++)
		pack_double(out, numbers[i]);
}

static void pack_part(const struct message_schema *schema, const struct message *message, struct text *out)
{
	pack_var(out, message->given);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (!message_given(message, i))
			continue;
		if (schema->fields[i].kind == MESSAGE_STRING)
			pack_string(out, message_string(message, i));
		else if (schema->fields[i].kind == MESSAGE_NUMBERS)
			pack_numbers(message, i, out);
		else
			pack_double(out, message->value[i]);
	}
}

void message_pack(const struct message_schema *schema, const struct message *message, struct text *out)
{
	pack_part(schema, message, out);
	if (!schema->item)
		return;
	pack_var(out, message_item_count(message));
	for (uint32_t i = 0; i < message_item_count(message); i++)
		pack_part(schema->item, message_item(message, i), out);
}

struct parts { /* parts of a message that is being read, stored later behind its pointer */
	struct text texts;
	uint32_t string_at[MESSAGE_SLOTS_MAX], number_at[MESSAGE_SLOTS_MAX];
	VEC(double) numbers;
};

static void unpack_text(struct parts *parts, uint32_t slot, struct unpack *in)
{
	size_t count;
	const char *bytes = unpack_bytes(in, &count);
	in->bad = in->bad || (count && memchr(bytes, '\0', count)) || count > MESSAGE_LONG_BYTES_MAX;
	parts->string_at[slot] = (uint32_t)parts->texts.count;
	if (!in->bad)
		text_add_bytes(&parts->texts, bytes, count);
	text_add_bytes(&parts->texts, "", 1);
}

static void unpack_numbers(struct parts *parts, uint32_t slot, struct unpack *in, double *ret_count)
{
	uint32_t count = unpack_var_count(in, MIN((size_t)MESSAGE_ITEMS_MAX, (size_t)(in->end - in->at) / 8));
	parts->number_at[slot] = parts->numbers.count;
	for (uint32_t i = 0; i < count && !in->bad; i++)
		vec_push(&parts->numbers, unpack_double(in));
	*ret_count = count;
}

/* Strings and numbers are collected first, because their size is not known before. */
static bool unpack_part(const struct message_schema *schema, struct unpack *in, struct message *ret_message)
{
	struct message message = {.given = unpack_var_count(in, (1u << schema->field_count) - 1)};
	uint32_t strings = slots_of(schema, message.given, MESSAGE_STRING);
	struct parts parts = {0};
	text_add_bytes(&parts.texts, "", 1);
	for (uint32_t i = 0; i < schema->field_count && !in->bad; i++) {
		if (!message_given(&message, i))
			continue;
		if (schema->fields[i].kind == MESSAGE_STRING)
			unpack_text(&parts, i, in);
		else if (schema->fields[i].kind == MESSAGE_NUMBERS)
			unpack_numbers(&parts, i, in, &message.value[i]);
		else
			message.value[i] = unpack_double(in);
	}
	if ((strings || parts.numbers.count) && !in->bad) {
		message.more = mem_alloc(sizeof *message.more + parts.texts.count);
		memcpy(message.more->bytes, parts.texts.at, parts.texts.count);
		memcpy(message.more->string_at, parts.string_at, sizeof parts.string_at);
		memcpy(message.more->number_at, parts.number_at, sizeof parts.number_at);
		message.more->byte_count = (uint32_t)parts.texts.count;
		message.more->number_count = parts.numbers.count;
		message.more->numbers = parts.numbers.at;
		parts.numbers.at = NULL;
	}
	vec_free(&parts.numbers);
	text_fini(&parts.texts);
	*ret_message = message;
	return !in->bad;
}

bool message_unpack(const struct message_schema *schema, struct unpack *in, struct message *ret_message)
{
	struct message message;
	if (!unpack_part(schema, in, &message))
		return false;
	/* an item has at least one byte, which bounds the count */
	uint32_t count =
		schema->item ? unpack_var_count(in, MIN((size_t)MESSAGE_ITEMS_MAX, (size_t)(in->end - in->at))) : 0;
	if (count && !message.more)
		message.more = mem_alloc(sizeof *message.more + 1);
	if (count)
		message.more->items = mem_alloc(count * sizeof *message.more->items);
	for (uint32_t i = 0; i < count && unpack_part(schema->item, in, &message.more->items[i]); i++)
		message.more->item_count = i + 1;
	if (in->bad) {
		message_fini(&message);
		return false;
	}
	*ret_message = message;
	return true;
}
