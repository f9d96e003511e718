#include "system/message.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES_MAX = 64, DEPTH_MAX = 4 };

static const double value_max = 1e9;

static const struct message_field twist_fields[] = {
	{"linear.x", MESSAGE_DOUBLE},
	{"linear.y", MESSAGE_DOUBLE},
	{"linear.z", MESSAGE_DOUBLE},
	{"angular.x", MESSAGE_DOUBLE},
	{"angular.y", MESSAGE_DOUBLE},
	{"angular.z", MESSAGE_DOUBLE},
};
static const struct message_field double_fields[] = {{"data", MESSAGE_DOUBLE}};
static const struct message_field bool_fields[] = {{"data", MESSAGE_BOOL}};
static const struct message_field world_control_fields[] = {
	{"pause", MESSAGE_BOOL},
	{"step", MESSAGE_BOOL},
	{"multi_step", MESSAGE_UINT},
	{"reset.all", MESSAGE_BOOL},
	{"reset.time_only", MESSAGE_BOOL},
	{"reset.model_only", MESSAGE_BOOL},
	{"seed", MESSAGE_UINT},
};

const struct message_schema message_twist = {"gz.msgs.Twist", twist_fields, ARRAY_LEN(twist_fields)};
const struct message_schema message_double = {"gz.msgs.Double", double_fields, ARRAY_LEN(double_fields)};
const struct message_schema message_bool = {"gz.msgs.Boolean", bool_fields, ARRAY_LEN(bool_fields)};
const struct message_schema message_world_control = {
	"gz.msgs.WorldControl", world_control_fields, ARRAY_LEN(world_control_fields)};

struct parse {
	const struct message_schema *schema;
	const char *text, *at;
	struct message message;
	/* The path to the message being read, with a dot behind each name: "linear." */
	char path[NAME_BYTES_MAX];
	size_t path_bytes[DEPTH_MAX]; /* its length at each depth */
	char closer[DEPTH_MAX];       /* what ends the message at each depth */
	uint32_t depth;
	struct troupe_error *error;
};

static unsigned column_of(const struct parse *p, const char *at)
{
	return (unsigned)(at - p->text) + 1;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '.' || c == '+' || c == '-';
}

static void skip_blanks(struct parse *p)
{
	for (;; p->at++) {
		if (*p->at == '#')
			p->at += strcspn(p->at, "\n");
		if (!*p->at || !strchr(" \t\r\n\v\f", *p->at))
			return;
	}
}

/* The word or the one character at `at`, for messages. */
static void quote(const char *at, char ret_quoted[NAME_BYTES_MAX])
{
	size_t length = 0;
	while (is_word(at[length]))
		length++;
	if (!*at)
		strcpy(ret_quoted, "the end");
	else if (!length)
		snprintf(ret_quoted, NAME_BYTES_MAX, "'%c'", (unsigned char)*at < 0x80 ? *at : '?');
	else
		snprintf(ret_quoted, NAME_BYTES_MAX, "'%.*s%s'", (int)MIN(length, (size_t)40), at,
			length > 40 ? "..." : "");
}

static troupe_status unexpected(const struct parse *p, const char *expected)
{
	char found[NAME_BYTES_MAX];
	quote(p->at, found);
	return fail(
		p->error, TROUPE_ECOMMAND, "column %u: expected %s, found %s", column_of(p, p->at), expected, found);
}

/* --- fields --------------------------------------------------------------------------------------------------------
 */

static size_t path_bytes(const struct parse *p)
{
	return p->path_bytes[p->depth];
}

/* The part of a field's path that is a name of the message being read; 0: the field lies elsewhere. */
static size_t name_in_message(const struct parse *p, const struct message_field *field)
{
	size_t skip = path_bytes(p);
	return strncmp(field->path, p->path, skip) ? 0 : strcspn(field->path + skip, ".");
}

static troupe_status unknown_field(const struct parse *p)
{
	struct text names = {0};
	const char *last = "";
	size_t skip = path_bytes(p);
	for (uint32_t i = 0; i < p->schema->field_count; i++) {
		const char *name = p->schema->fields[i].path + skip;
		size_t length = name_in_message(p, &p->schema->fields[i]);
		if (!length || (strlen(last) >= length && !strncmp(last, name, length)))
			continue;
		text_add(&names, "%s%.*s", names.count ? ", " : "", (int)length, name);
		last = name;
	}
	char found[NAME_BYTES_MAX];
	quote(p->at, found);
	troupe_status status = fail(p->error, TROUPE_ECOMMAND,
		"column %u: %s has no field %s%s%.*s: expected one of %s", column_of(p, p->at), p->schema->type, found,
		skip ? " in " : "", (int)(skip ? skip - 1 : 0), p->path, names.at);
	text_fini(&names);
	return status;
}

/* Finds the field that the name at p->at means: its slot, or any slot below it when it is a message. */
static troupe_status find_field(const struct parse *p, size_t length, uint32_t *ret_slot, bool *ret_is_message)
{
	for (uint32_t i = 0; i < p->schema->field_count; i++) {
		const char *name = p->schema->fields[i].path + path_bytes(p);
		if (name_in_message(p, &p->schema->fields[i]) != length || strncmp(name, p->at, length))
			continue;
		*ret_slot = i;
		*ret_is_message = name[length] == '.';
		return TROUPE_OK;
	}
	return unknown_field(p);
}

/* --- values --------------------------------------------------------------------------------------------------------
 */

static const char *expected_of(enum message_kind kind)
{
	switch (kind) {
	case MESSAGE_DOUBLE:
		return "a number between -1e9 and 1e9";
	case MESSAGE_BOOL:
		return "true or false";
	default:
		return "a whole number from 0 to 4294967295";
	}
}

/* Decimal only: strtod would also take hexadecimal and the words inf and nan. An f at the end is protobuf's. */
static bool read_double(char *word, double *ret_value)
{
	size_t length = strlen(word);
	if (length > 1 && (word[length - 1] == 'f' || word[length - 1] == 'F'))
		word[length - 1] = '\0';
	return word[0] != '+' && strspn(word, "0123456789.eE+-") == strlen(word) && text_double(word, ret_value) &&
	       fabs(*ret_value) <= value_max;
}

static bool read_bool(const char *word, double *ret_value)
{
	static const char *const words[2][4] = {{"false", "False", "f", "0"}, {"true", "True", "t", "1"}};
	for (int value = 0; value < 2; value++)
		for (size_t i = 0; i < ARRAY_LEN(words[value]); i++)
			if (!strcmp(word, words[value][i])) {
				*ret_value = value;
				return true;
			}
	return false;
}

/* A leading zero would mean octal to protobuf: refused rather than read as something else. */
static bool read_uint(const char *word, double *ret_value)
{
	uint64_t value;
	if (strspn(word, "0123456789") != strlen(word) || (word[0] == '0' && word[1]))
		return false;
	if (!text_uint64(word, &value) || value > UINT32_MAX)
		return false;
	*ret_value = (double)value;
	return true;
}

static bool read_value(enum message_kind kind, char *word, double *ret_value)
{
	switch (kind) {
	case MESSAGE_DOUBLE:
		return read_double(word, ret_value);
	case MESSAGE_BOOL:
		return read_bool(word, ret_value);
	default:
		return read_uint(word, ret_value);
	}
}

static troupe_status parse_value(struct parse *p, uint32_t slot)
{
	enum message_kind kind = p->schema->fields[slot].kind;
	char word[NAME_BYTES_MAX];
	size_t length = 0;
	while (is_word(p->at[length]))
		length++;
	if (!length || length >= sizeof word)
		return unexpected(p, expected_of(kind));
	memcpy(word, p->at, length);
	word[length] = '\0';
	if (!read_value(kind, word, &p->message.value[slot]))
		return unexpected(p, expected_of(kind));
	p->message.given |= 1u << slot;
	p->at += length;
	return TROUPE_OK;
}

/* --- messages ------------------------------------------------------------------------------------------------------
 */

static troupe_status open_message(struct parse *p, const char *name, size_t length)
{
	if (*p->at != '{' && *p->at != '<')
		return unexpected(p, "'{'");
	size_t before = path_bytes(p);
	if (p->depth + 1 == DEPTH_MAX || before + length + 2 > sizeof p->path)
		return fail(p->error, TROUPE_ECOMMAND, "column %u: nested too deeply: expected at most %d levels",
			column_of(p, p->at), DEPTH_MAX);
	memcpy(p->path + before, name, length);
	memcpy(p->path + before + length, ".", 2);
	p->depth++;
	p->path_bytes[p->depth] = before + length + 1;
	p->closer[p->depth] = *p->at == '{' ? '}' : '>';
	p->at++;
	return TROUPE_OK;
}

static void close_message(struct parse *p)
{
	p->depth--;
	p->path[path_bytes(p)] = '\0';
	p->at++;
}

static void skip_separator(struct parse *p)
{
	skip_blanks(p);
	if (*p->at == ',' || *p->at == ';')
		p->at++;
}

static troupe_status parse_field(struct parse *p)
{
	const char *name = p->at;
	size_t length = 0;
	uint32_t slot = 0;
	bool is_message = false;
	while (is_letter(name[length]) || (length && is_digit(name[length])))
		length++;
	if (!length)
		return unexpected(p, p->depth ? "a field's name or the end of the message" : "a field's name");
	troupe_status status = find_field(p, length, &slot, &is_message);
	if (status)
		return status;
	p->at += length;
	skip_blanks(p);
	bool colon = *p->at == ':';
	if (!colon && !is_message)
		return unexpected(p, "':'");
	p->at += colon;
	skip_blanks(p);
	if (is_message)
		return open_message(p, name, length);
	status = parse_value(p, slot);
	if (!status)
		skip_separator(p);
	return status;
}

static troupe_status parse_fields(struct parse *p)
{
	for (;;) {
		skip_blanks(p);
		if (p->depth && *p->at == p->closer[p->depth]) {
			close_message(p);
			skip_separator(p);
			continue;
		}
		if (!*p->at)
			break;
		troupe_status status = parse_field(p);
		if (status)
			return status;
	}
	if (p->depth)
		return unexpected(p, p->closer[p->depth] == '}' ? "'}'" : "'>'");
	return TROUPE_OK;
}

troupe_status message_parse(
	const struct message_schema *schema, const char *text, struct message *ret_message, struct troupe_error *error)
{
	if (strnlen(text, MESSAGE_BYTES_MAX + 1) > MESSAGE_BYTES_MAX)
		return fail(error, TROUPE_ECOMMAND, "column %d: expected at most %d bytes, found more",
			MESSAGE_BYTES_MAX + 1, MESSAGE_BYTES_MAX);
	struct parse parse = {.schema = schema, .text = text, .at = text, .error = error};
	troupe_status status = parse_fields(&parse);
	if (!status)
		*ret_message = parse.message;
	return status;
}
