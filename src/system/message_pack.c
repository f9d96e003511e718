/* Messages as bytes: which slots were given, their values, then texts and items of the few that have some. */
#include "system/message_more.h"

#include <stdlib.h>
#include <string.h>

static uint32_t strings_of(const struct message_schema *schema, uint32_t given)
{
	uint32_t strings = 0;
	for (uint32_t i = 0; i < schema->field_count; i++)
		if (schema->fields[i].kind == MESSAGE_STRING && (given >> i & 1))
			strings |= 1u << i;
	return strings;
}

static void pack_part(const struct message_schema *schema, const struct message *message, struct text *out)
{
	pack_var(out, message->given);
	uint32_t strings = strings_of(schema, message->given);
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (!message_given(message, i))
			continue;
		if (strings >> i & 1)
			pack_string(out, message_string(message, i));
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

/* Texts are gathered first: what hangs on the message is one piece of memory. */
static bool unpack_part(const struct message_schema *schema, struct unpack *in, struct message *ret_message)
{
	struct message message = {.given = unpack_var_count(in, (1u << schema->field_count) - 1)};
	uint32_t at[MESSAGE_SLOTS_MAX] = {0}, strings = strings_of(schema, message.given);
	struct text texts = {0};
	text_add_bytes(&texts, "", 1);
	for (uint32_t i = 0; i < schema->field_count && !in->bad; i++) {
		if (!message_given(&message, i))
			continue;
		if (!(strings >> i & 1)) {
			message.value[i] = unpack_double(in);
			continue;
		}
		size_t count;
		const char *bytes = unpack_bytes(in, &count);
		in->bad = in->bad || (count && memchr(bytes, '\0', count)) || count > MESSAGE_LONG_BYTES_MAX;
		at[i] = (uint32_t)texts.count;
		if (!in->bad)
			text_add_bytes(&texts, bytes, count);
		text_add_bytes(&texts, "", 1);
	}
	if (strings && !in->bad) {
		message.more = mem_alloc(sizeof *message.more + texts.count);
		memcpy(message.more->bytes, texts.at, texts.count);
		memcpy(message.more->string_at, at, sizeof at);
		message.more->byte_count = (uint32_t)texts.count;
	}
	text_fini(&texts);
	*ret_message = message;
	return !in->bad;
}

bool message_unpack(const struct message_schema *schema, struct unpack *in, struct message *ret_message)
{
	struct message message;
	if (!unpack_part(schema, in, &message))
		return false;
	/* an item is at least a byte */
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
