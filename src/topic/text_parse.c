/* The parser reads each byte of the text a bounded number of times, for any nesting or repetition, and writes values
 * straight into the structs, found by the names in their descriptors. A string is collected in one scratch buffer,
 * because it may consist of several pieces with escapes. */
#include "base/parse.h"
#include "topic/build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_PARSE_NAME_BYTES_MAX = 64 };

struct text_parse {
	struct build build;
	const char *text, *at;
	struct text scratch;
	struct troupe_error *error;
};

static bool text_parse_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool text_parse_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool text_parse_is_word(char c)
{
	return text_parse_is_letter(c) || text_parse_is_digit(c) || c == '.' || c == '+' || c == '-';
}

static size_t text_parse_word_length(const char *at)
{
	size_t length = 0;
	while (text_parse_is_word(at[length]))
		length++;
	return length;
}

static size_t text_parse_name_length(const char *at)
{
	size_t length = 0;
	while (text_parse_is_letter(at[length]) || (length && text_parse_is_digit(at[length])))
		length++;
	return length;
}

static void text_parse_skip_blanks(struct text_parse *p)
{
	for (;; p->at++) {
		if (*p->at == '#')
			p->at += strcspn(p->at, "\n");
		if (!*p->at || !strchr(" \t\r\n\v\f", *p->at))
			return;
	}
}

static void text_parse_skip_separator(struct text_parse *p)
{
	text_parse_skip_blanks(p);
	if (*p->at == ',' || *p->at == ';')
		p->at++;
}

/* --- what is wrong ------------------------------------------------------------------------------------------------ */

static troupe_status text_parse_refuse(const struct text_parse *p, const char *at, const char *format, ...)
	TROUPE_PRINTF(3, 4);

static troupe_status text_parse_refuse(const struct text_parse *p, const char *at, const char *format, ...)
{
	struct troupe_error what;
	va_list args;
	va_start(args, format);
	fail_v(&what, TROUPE_ECOMMAND, format, args);
	va_end(args);
	unsigned lines = 1;
	const char *line = p->text;
	for (const char *c = p->text; c < at; c++)
		if (*c == '\n') {
			lines++;
			line = c + 1;
		}
	unsigned column = (unsigned)(at - line) + 1;
	if (lines == 1)
		return fail(p->error, TROUPE_ECOMMAND, "column %u: %s", column, what.text);
	return fail(p->error, TROUPE_ECOMMAND, "column %u of line %u: %s", column, lines, what.text);
}

/* The word or the one character at `at`, for messages. */
static void text_parse_quote(const char *at, char ret_quoted[TEXT_PARSE_NAME_BYTES_MAX])
{
	size_t length = text_parse_word_length(at);
	if (!*at)
		strcpy(ret_quoted, "the end");
	else if (!length)
		snprintf(ret_quoted, TEXT_PARSE_NAME_BYTES_MAX, "'%c'", (unsigned char)*at < 0x80 ? *at : '?');
	else
		snprintf(ret_quoted, TEXT_PARSE_NAME_BYTES_MAX, "'%.*s%s'", (int)MIN(length, (size_t)40), at,
			length > 40 ? "..." : "");
}

static troupe_status text_parse_unexpected(const struct text_parse *p, const char *expected)
{
	char found[TEXT_PARSE_NAME_BYTES_MAX];
	text_parse_quote(p->at, found);
	return text_parse_refuse(p, p->at, "expected %s, found %s", expected, found);
}

static troupe_status text_parse_unexpected_value(const struct text_parse *p, const ProtobufCFieldDescriptor *field)
{
	struct text expected = {0};
	char found[TEXT_PARSE_NAME_BYTES_MAX];
	build_print_path(&p->build, field, &expected);
	text_add(&expected, ": expected ");
	build_add_expected(&p->build, field, &expected);
	text_parse_quote(p->at, found);
	troupe_status status = text_parse_refuse(p, p->at, "%s, found %s", expected.at, found);
	text_fini(&expected);
	return status;
}

/* Every message may have a header, so a list of the fields leaves it out. */
static troupe_status text_parse_unknown_field(const struct text_parse *p, message_type type)
{
	struct text names = {0}, path = {0};
	for (unsigned i = 0; i < type->n_fields; i++)
		if (strcmp(type->fields[i].name, "header") != 0)
			text_add(&names, "%s%s", names.count ? ", " : "", type->fields[i].name);
	build_print_path(&p->build, NULL, &path);
	char found[TEXT_PARSE_NAME_BYTES_MAX];
	text_parse_quote(p->at, found);
	troupe_status status = text_parse_refuse(p, p->at, "%s has no field %s%s%s: expected %s%s", p->build.type->name,
		found, path.count ? " in " : "", path.count ? path.at : "", names.count ? "one of " : "none",
		names.count ? names.at : "");
	text_fini(&names);
	text_fini(&path);
	return status;
}

static troupe_status text_parse_too_much(const struct text_parse *p)
{
	char full[64];
	return text_parse_refuse(p, p->at, "%s: expected at most so many", build_full(&p->build, full));
}

/* --- numbers and words -------------------------------------------------------------------------------------------- */

/* Decimal only: strtod() would also accept hexadecimal numbers. A final f is allowed, as in protobuf; so are inf and
 * nan, where any number is. */
static bool text_parse_read_double(const struct text_parse *p, char *word, double *ret_value)
{
	size_t length = strlen(word);
	static const char *const names[] = {"inf", "nan", "infinity"};
	for (size_t i = 0; i < ARRAY_LEN(names) && p->build.limits->number_max == 0; i++)
		if (!strcmp(word + (*word == '-'), names[i])) {
			*ret_value = i == 1 ? NAN : *word == '-' ? -INFINITY : INFINITY;
			return true;
		}
	if (length > 1 && (word[length - 1] == 'f' || word[length - 1] == 'F'))
		word[length - 1] = '\0';
	return word[0] != '+' && strspn(word, "0123456789.eE+-") == strlen(word) && parse_double(word, ret_value);
}

static bool text_parse_read_bool(const char *word, protobuf_c_boolean *ret_value)
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

/* A leading zero means octal in protobuf, so it is refused and not read as decimal. */
static bool text_parse_read_integer(const char *word, bool *ret_negative, uint64_t *ret_magnitude)
{
	*ret_negative = *word == '-';
	word += *ret_negative;
	if (strspn(word, "0123456789") != strlen(word) || (word[0] == '0' && word[1]))
		return false;
	return parse_uint64(word, ret_magnitude);
}

static bool text_parse_read_enum(const ProtobufCEnumDescriptor *values, const char *word, int *ret_value)
{
	bool negative;
	uint64_t magnitude;
	const ProtobufCEnumValue *value;
	if (!text_parse_read_integer(word, &negative, &magnitude))
		value = protobuf_c_enum_descriptor_get_value_by_name(values, word);
	else if (negative || magnitude > INT32_MAX)
		value = NULL;
	else
		value = protobuf_c_enum_descriptor_get_value(values, (int)magnitude);
	if (value)
		*ret_value = value->value;
	return value;
}

static bool text_parse_read_word(
	const struct text_parse *p, const ProtobufCFieldDescriptor *field, char *word, void *place)
{
	double number;
	bool negative;
	uint64_t magnitude;
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		return text_parse_read_double(p, word, &number) && build_store_number(&p->build, field, place, number);
	case PROTOBUF_C_TYPE_BOOL:
		return text_parse_read_bool(word, place);
	case PROTOBUF_C_TYPE_ENUM:
		return text_parse_read_enum(type_enum_of_field(field), word, place);
	default:
		return text_parse_read_integer(word, &negative, &magnitude) &&
		       build_store_integer(field, place, negative, magnitude);
	}
}

static troupe_status text_parse_word(struct text_parse *p, const ProtobufCFieldDescriptor *field, void *place)
{
	char word[TEXT_PARSE_NAME_BYTES_MAX];
	size_t length = text_parse_word_length(p->at);
	if (!length || length >= sizeof word)
		return text_parse_unexpected_value(p, field);
	memcpy(word, p->at, length);
	word[length] = '\0';
	if (!text_parse_read_word(p, field, word, place))
		return text_parse_unexpected_value(p, field);
	p->at += length;
	return TROUPE_OK;
}

/* --- strings ------------------------------------------------------------------------------------------------------ */

static bool text_parse_is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Reads up to `max` digits of the base. Returns their number. */
static size_t text_parse_read_digits(const char *at, size_t max, unsigned base, unsigned *ret_value)
{
	static const char digits[] = "0123456789abcdef";
	size_t count = 0;
	for (*ret_value = 0; count < max && at[count]; count++) {
		char c = at[count];
		const char *digit = strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
		if (!digit || (unsigned)(digit - digits) >= base)
			break;
		*ret_value = *ret_value * base + (unsigned)(digit - digits);
	}
	return count;
}

/* p->at stands on the backslash. Only bytes may contain a zero byte. */
static troupe_status text_parse_escape(struct text_parse *p, bool is_text)
{
	static const char letters[] = "abfnrtv\\'\"?", meanings[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *at = p->at + 1, *letter = *at ? strchr(letters, *at) : NULL;
	unsigned value = 256;
	size_t length = 1, digits;
	if (letter) {
		value = (unsigned char)meanings[letter - letters];
	} else if (*at == 'x') {
		digits = text_parse_read_digits(at + 1, 2, 16, &value);
		length = 1 + digits;
		value = digits ? value : 256;
	} else {
		length = text_parse_read_digits(at, 3, 8, &value);
		value = length ? value : 256;
	}
	if (value > 255 || (is_text && !value))
		return text_parse_refuse(p, p->at,
			"expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? "
			"\\ooo \\xHH%s",
			is_text ? ", and no zero byte" : "");
	char byte = (char)value;
	text_add_bytes(&p->scratch, &byte, 1);
	p->at = at + length;
	return TROUPE_OK;
}

/* Parses the string between one pair of quotes. */
static troupe_status text_parse_quoted(struct text_parse *p, bool is_text)
{
	const char *open = p->at++;
	const char stop[] = {*open, '\\', '\0'};
	for (;;) {
		size_t plain = strcspn(p->at, stop);
		text_add_bytes(&p->scratch, p->at, plain);
		p->at += plain;
		if (*p->at == *open)
			break;
		if (!*p->at)
			return text_parse_refuse(p, open, "a text that does not end: expected %c after it", *open);
		troupe_status status = text_parse_escape(p, is_text);
		if (status)
			return status;
	}
	p->at++;
	return TROUPE_OK;
}

static troupe_status text_parse_string(struct text_parse *p, const ProtobufCFieldDescriptor *field, void *place)
{
	const char *begin = p->at;
	p->scratch.count = 0;
	while (text_parse_is_quote(*p->at)) {
		troupe_status status = text_parse_quoted(p, field->type == PROTOBUF_C_TYPE_STRING);
		if (status)
			return status;
		text_parse_skip_blanks(p);
	}
	if (p->at == begin)
		return text_parse_unexpected_value(p, field);
	const char *bytes = p->scratch.count ? p->scratch.at : "";
	if (!build_store_string(&p->build, field, place, bytes, p->scratch.count))
		return text_parse_refuse(p, begin, "a text that is not UTF-8: expected one that is");
	return TROUPE_OK;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static troupe_status text_parse_fields(struct text_parse *p, ProtobufCMessage *message, char closer);

static troupe_status text_parse_part(struct text_parse *p, const ProtobufCFieldDescriptor *field, void *place)
{
	ProtobufCMessage *part = build_part(&p->build, place, field);
	if (!part)
		return text_parse_too_much(p);
	if (!build_enter(&p->build, field))
		return text_parse_refuse(p, p->at, "nested too deeply: expected at most %d levels", MESSAGE_DEPTH_MAX);
	char closer = *p->at++ == '{' ? '}' : '>';
	troupe_status status = text_parse_fields(p, part, closer);
	if (status)
		return status;
	p->at++;
	build_leave(&p->build);
	return TROUPE_OK;
}

static troupe_status text_parse_value(
	struct text_parse *p, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	bool is_part = field->type == PROTOBUF_C_TYPE_MESSAGE;
	if (is_part && *p->at != '{' && *p->at != '<')
		return text_parse_unexpected_value(p, field);
	void *place = build_place(&p->build, message, field);
	if (!place)
		return text_parse_too_much(p);
	if (is_part)
		return text_parse_part(p, field, place);
	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES)
		return text_parse_string(p, field, place);
	return text_parse_word(p, field, place);
}

/* p->at stands on the [. */
static troupe_status text_parse_list(
	struct text_parse *p, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	p->at++;
	text_parse_skip_blanks(p);
	if (*p->at == ']') {
		p->at++;
		return TROUPE_OK;
	}
	for (;; text_parse_skip_blanks(p)) {
		troupe_status status = text_parse_value(p, message, field);
		if (status)
			return status;
		text_parse_skip_blanks(p);
		if (*p->at != ',' && *p->at != ']')
			return text_parse_unexpected(p, "',' or ']'");
		if (*p->at++ == ']')
			return TROUPE_OK;
	}
}

static const ProtobufCFieldDescriptor *text_parse_find_field(message_type type, const char *name, size_t length)
{
	char word[TEXT_PARSE_NAME_BYTES_MAX];
	if (length >= sizeof word)
		return NULL;
	memcpy(word, name, length);
	word[length] = '\0';
	return protobuf_c_message_descriptor_get_field_by_name(type, word);
}

/* Of the members of a oneof only one can be given: the name of another one that has been given, or NULL. */
static const char *text_parse_rival_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	if (!type_field_in_oneof(field))
		return NULL;
	uint32_t given = *(const uint32_t *)((const char *)message + field->quantifier_offset);
	if (!given || given == field->id)
		return NULL;
	return protobuf_c_message_descriptor_get_field(message->descriptor, given)->name;
}

static troupe_status text_parse_field(struct text_parse *p, ProtobufCMessage *message, char closer)
{
	const char *name = p->at;
	size_t length = text_parse_name_length(name);
	if (!length)
		return text_parse_unexpected(p, closer ? "a field's name or the end of the message" : "a field's name");
	const ProtobufCFieldDescriptor *field = text_parse_find_field(message->descriptor, name, length);
	if (!field)
		return text_parse_unknown_field(p, message->descriptor);
	const char *rival = text_parse_rival_of(message, field);
	if (rival)
		return text_parse_refuse(p, p->at, "%s beside %s: expected only one of the two", field->name, rival);
	p->at += length;
	text_parse_skip_blanks(p);
	bool colon = *p->at == ':', may_open = field->type == PROTOBUF_C_TYPE_MESSAGE;
	bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
	bool opens = *p->at == '{' || *p->at == '<' || (*p->at == '[' && is_list);
	if (!colon && !(may_open && opens))
		return text_parse_unexpected(p, may_open ? "'{'" : "':'");
	p->at += colon;
	text_parse_skip_blanks(p);
	troupe_status status =
		is_list && *p->at == '[' ? text_parse_list(p, message, field) : text_parse_value(p, message, field);
	if (!status)
		text_parse_skip_separator(p);
	return status;
}

/* Parses up to `closer`, on which p->at then stands. */
static troupe_status text_parse_fields(struct text_parse *p, ProtobufCMessage *message, char closer)
{
	for (;;) {
		text_parse_skip_blanks(p);
		if (*p->at == closer)
			return TROUPE_OK;
		if (!*p->at)
			return text_parse_unexpected(p, closer == '}' ? "'}'" : "'>'");
		troupe_status status = text_parse_field(p, message, closer);
		if (status)
			return status;
	}
}

troupe_status message_of_text(message_type type, const char *text, const struct message_limits *limits,
	ProtobufCMessage **ret_message, struct troupe_error *error)
{
	if (strnlen(text, limits->bytes_max + 1) > limits->bytes_max)
		return fail(error, TROUPE_ECOMMAND, "column %zu: expected at most %zu bytes, found more",
			limits->bytes_max + 1, limits->bytes_max);
	struct text_parse p;
	build_init(&p.build, type, limits);
	p.text = p.at = text;
	p.scratch = (struct text){0};
	p.error = error;
	ProtobufCMessage *message = build_message(&p.build, type);
	troupe_status status = text_parse_fields(&p, message, '\0');
	if (!status)
		*ret_message = message_copy(message);
	build_fini(&p.build);
	text_fini(&p.scratch);
	return status;
}
