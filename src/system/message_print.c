/* Messages in the text form that message_parse() reads. The fields of one part are printed together, in the order of
 * the schema. */
#include "system/message_more.h"

#include <string.h>

void message_add_string(struct text *out, const char *string)
{
	text_add(out, "\"");
	for (const unsigned char *c = (const unsigned char *)string; *c; c++)
		if (*c == '"' || *c == '\\')
			text_add(out, "\\%c", *c);
		else if (*c < 0x20 || *c == 0x7f)
			text_add(out, "\\%03o", *c);
		else
			text_add_bytes(out, (const char *)c, 1);
	text_add(out, "\"");
}

static void add_numbers(struct text *out, const double *numbers, uint32_t count)
{
	text_add(out, "[");
	for (uint32_t i = 0; i < count; i++) {
		text_add(out, i ? ", " : "");
		text_add_double(out, numbers[i]);
	}
	text_add(out, "]");
}

static void add_value(
	struct text *out, const struct message_schema *schema, const struct message *message, uint32_t slot)
{
	switch (schema->fields[slot].kind) {
	case MESSAGE_STRING:
		message_add_string(out, message_string(message, slot));
		break;
	case MESSAGE_NUMBERS:
		add_numbers(out, message_numbers(message, slot), (uint32_t)message->value[slot]);
		break;
	case MESSAGE_BOOL:
		text_add(out, message->value[slot] != 0 ? "true" : "false");
		break;
	case MESSAGE_UINT:
	case MESSAGE_ENUM:
		text_add(out, "%.0f", message->value[slot]);
		break;
	default:
		text_add_double(out, message->value[slot]);
		break;
	}
}

/* The number of bytes of whole parts ("pose.position.") that two paths have in common at their beginning. */
static size_t common_parts(const char *a, const char *b)
{
	size_t parts = 0;
	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '.')
			parts = i + 1;
	return parts;
}

static void close_parts(struct text *out, const char *path, size_t from)
{
	for (const char *dot = path + from; (dot = strchr(dot, '.')); dot++)
		text_add(out, "}");
}

static void print_part(const struct message_schema *schema, const struct message *message, struct text *out)
{
	const char *open = "";
	for (uint32_t i = 0; i < schema->field_count; i++) {
		if (!message_given(message, i))
			continue;
		const char *path = schema->fields[i].path;
		size_t same = common_parts(open, path);
		close_parts(out, open, same);
		text_add(out, *open ? " " : "");
		for (const char *dot, *at = path + same; (dot = strchr(at, '.')); at = dot + 1)
			text_add(out, "%.*s {", (int)(dot - at), at);
		const char *leaf = strrchr(path, '.');
		text_add(out, "%s: ", leaf ? leaf + 1 : path);
		add_value(out, schema, message, i);
		open = path;
	}
	close_parts(out, open, 0);
}

void message_print(const struct message_schema *schema, const struct message *message, struct text *out)
{
	const char *name = "";
	print_part(schema, message, out);
	for (uint32_t i = 0; i < schema->other_count; i++)
		if (schema->others[i].kind == MESSAGE_ITEM)
			name = schema->others[i].path;
	for (uint32_t i = 0; i < message_item_count(message); i++) {
		text_add(out, "%s%s {", i || message->given ? " " : "", name);
		print_part(schema->item, message_item(message, i), out);
		text_add(out, "}");
	}
}
