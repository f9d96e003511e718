/* The parser reads each byte of the text a bounded number of times, for any nesting or repetition. Strings are
 * collected in one scratch buffer, and are copied out once, when their message is complete. An item has a parser of
 * its own, which shares the text and the scratch buffer with the parser of the whole message. */
#include "system/message_more.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES_MAX = 64, DEPTH_MAX = 4, ANY_DEPTH_MAX = 16 };

static const double value_max = MESSAGE_DOUBLE_MAX;

struct numbered { /* one number of a list */
	uint32_t slot;
	double value;
};

struct parse {
	const struct message_schema *schema;
	const char *text, *at;
	struct message message;
	struct text *texts; /* scratch; other parsers own the bytes before texts_begin */
	size_t texts_begin;
	uint32_t string_at[MESSAGE_SLOTS_MAX]; /* offsets from texts_begin, which holds a 0 byte; 0: no text */
	VEC(struct message) items;
	VEC(struct numbered) numbers; /* numbers of all slots, in the order of the text */
	/* The path to the message being read, with a dot behind each name: "linear." */
	char path[NAME_BYTES_MAX];
	size_t path_bytes[DEPTH_MAX]; /* its length at each depth */
	char closer[DEPTH_MAX];       /* the character that ends the message at each depth; '\0': the end of the text */
	uint32_t depth;
	struct troupe_error *error;
};

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

static size_t word_length(const char *at)
{
	size_t length = 0;
	while (is_word(at[length]))
		length++;
	return length;
}

static size_t name_length(const char *at)
{
	size_t length = 0;
	while (is_letter(at[length]) || (length && is_digit(at[length])))
		length++;
	return length;
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

static void skip_separator(struct parse *p)
{
	skip_blanks(p);
	if (*p->at == ',' || *p->at == ';')
		p->at++;
}

/* --- what is wrong ------------------------------------------------------------------------------------------------ */

static troupe_status refuse(const struct parse *p, const char *at, const char *format, ...) TROUPE_PRINTF(3, 4);

static troupe_status refuse(const struct parse *p, const char *at, const char *format, ...)
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
static void quote(const char *at, char ret_quoted[NAME_BYTES_MAX])
{
	size_t length = word_length(at);
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
	return refuse(p, p->at, "expected %s, found %s", expected, found);
}

static troupe_status expected_enum(const struct parse *p)
{
	struct text names = {0};
	text_add(&names, "one of ");
	for (const char *const *name = p->schema->enum_names; *name; name++)
		text_add(&names, "%s, ", *name);
	text_add(&names, "or its number");
	troupe_status status = unexpected(p, names.at);
	text_fini(&names);
	return status;
}

static troupe_status expected_value(const struct parse *p, enum message_kind kind)
{
	switch (kind) {
	case MESSAGE_DOUBLE:
	case MESSAGE_NUMBERS:
		return unexpected(p, "a number between -1e9 and 1e9");
	case MESSAGE_BOOL:
		return unexpected(p, "true or false");
	case MESSAGE_UINT:
		return unexpected(p, "a whole number from 0 to 4294967295");
	case MESSAGE_ENUM:
		return expected_enum(p);
	case MESSAGE_STRING:
		return unexpected(p, "a text in quotes");
	default:
		return unexpected(p, "a value");
	}
}

/* --- fields ------------------------------------------------------------------------------------------------------- */

struct found {
	uint32_t index; /* index in message_schema.fields, then .others */
	enum message_kind kind;
	bool is_message; /* index is that of any one field below the message */
};

static uint32_t fields_of(const struct message_schema *schema)
{
	return schema->field_count + schema->other_count;
}

static const struct message_field *field_of(const struct message_schema *schema, uint32_t i)
{
	return i < schema->field_count ? &schema->fields[i] : &schema->others[i - schema->field_count];
}

static size_t path_bytes(const struct parse *p)
{
	return p->path_bytes[p->depth];
}

/* The part of a field's path that is a name in the message being read. Returns its length; 0: the field is not in
 * this message. */
static size_t name_in_message(const struct parse *p, uint32_t i, const char **ret_name)
{
	const char *path = field_of(p->schema, i)->path;
	size_t skip = path_bytes(p);
	if (strncmp(path, p->path, skip))
		return 0;
	*ret_name = path + skip;
	return strcspn(*ret_name, ".");
}

/* Finds the first field that a name in the message being read means. */
static bool look_up(const struct parse *p, const char *name, size_t length, struct found *ret_found)
{
	for (uint32_t i = 0; i < fields_of(p->schema); i++) {
		const char *other = NULL;
		if (name_in_message(p, i, &other) != length || strncmp(other, name, length))
			continue;
		*ret_found = (struct found){i, field_of(p->schema, i)->kind, other[length] == '.'};
		return true;
	}
	if (!p->schema->headers || length != 6 || strncmp(name, "header", 6))
		return false;
	*ret_found = (struct found){fields_of(p->schema), MESSAGE_ANY, false};
	return true;
}

static troupe_status unknown_field(const struct parse *p)
{
	struct text names = {0};
	struct found first;
	const char *name;
	for (uint32_t i = 0; i < fields_of(p->schema); i++) {
		size_t length = name_in_message(p, i, &name);
		if (length && look_up(p, name, length, &first) && first.index == i)
			text_add(&names, "%s%.*s", names.count ? ", " : "", (int)length, name);
	}
	char found[NAME_BYTES_MAX];
	quote(p->at, found);
	size_t skip = path_bytes(p);
	troupe_status status = refuse(p, p->at, "%s has no field %s%s%.*s: expected one of %s", p->schema->type, found,
		skip ? " in " : "", (int)(skip ? skip - 1 : 0), p->path, names.at);
	text_fini(&names);
	return status;
}

/* --- numbers and words -------------------------------------------------------------------------------------------- */

/* Decimal only: strtod() would also accept hexadecimal numbers and the words inf and nan. A final f is allowed, as in
 * protobuf. */
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

/* A leading zero means octal in protobuf, so it is refused and not read as decimal. */
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

static bool read_enum(const char *const *names, const char *word, double *ret_value)
{
	double number = -1;
	bool is_number = read_uint(word, &number);
	for (uint32_t i = 0; names[i]; i++)
		if (is_number ? number == i : !strcmp(word, names[i])) {
			*ret_value = i;
			return true;
		}
	return false;
}

static bool read_word(const struct parse *p, enum message_kind kind, char *word, double *ret_value)
{
	switch (kind) {
	case MESSAGE_DOUBLE:
		return read_double(word, ret_value);
	case MESSAGE_BOOL:
		return read_bool(word, ret_value);
	case MESSAGE_UINT:
		return read_uint(word, ret_value);
	default:
		return read_enum(p->schema->enum_names, word, ret_value);
	}
}

static troupe_status parse_word(struct parse *p, enum message_kind kind, double *ret_value)
{
	char word[NAME_BYTES_MAX];
	size_t length = word_length(p->at);
	if (!length || length >= sizeof word)
		return expected_value(p, kind);
	memcpy(word, p->at, length);
	word[length] = '\0';
	if (!read_word(p, kind, word, ret_value))
		return expected_value(p, kind);
	p->at += length;
	return TROUPE_OK;
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

static bool is_quote(char c)
{
	return c == '"' || c == '\'';
}

/* Reads up to `max` digits of the base. Returns their number. */
static size_t read_digits(const char *at, size_t max, unsigned base, unsigned *ret_value)
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

/* p->at stands on the backslash. */
static troupe_status parse_escape(struct parse *p)
{
	static const char letters[] = "abfnrtv\\'\"?", meanings[] = "\a\b\f\n\r\t\v\\'\"?";
	const char *at = p->at + 1, *letter = *at ? strchr(letters, *at) : NULL;
	unsigned value = 0;
	size_t length = 1;
	if (letter)
		value = (unsigned char)meanings[letter - letters];
	else if (*at == 'x')
		length = 1 + read_digits(at + 1, 2, 16, &value);
	else
		length = read_digits(at, 3, 8, &value);
	if (value == 0 || value > 255)
		return refuse(p, p->at,
			"expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? "
			"\\ooo \\xHH, and no zero byte");
	char byte = (char)value;
	text_add_bytes(p->texts, &byte, 1);
	p->at = at + length;
	return TROUPE_OK;
}

/* Parses the string between one pair of quotes. */
static troupe_status parse_quoted(struct parse *p)
{
	const char *open = p->at++;
	const char stop[] = {*open, '\\', '\0'};
	for (;;) {
		size_t plain = strcspn(p->at, stop);
		text_add_bytes(p->texts, p->at, plain);
		p->at += plain;
		if (*p->at == *open)
			break;
		if (!*p->at)
			return refuse(p, open, "a text that does not end: expected %c after it", *open);
		troupe_status status = parse_escape(p);
		if (status)
			return status;
	}
	p->at++;
	return TROUPE_OK;
}

/* The number of bytes of the character at `at`; 0 if it is not valid UTF-8. The text is terminated. */
static size_t character_length(const unsigned char *at)
{
	if (at[0] < 0x80)
		return 1;
	size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	bool too_long = at[0] < 0xc2 || (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xf0 && at[1] < 0x90);
	bool surrogate = at[0] == 0xed && at[1] >= 0xa0;
	bool beyond = at[0] > 0xf4 || (at[0] == 0xf4 && at[1] >= 0x90);
	return too_long || surrogate || beyond ? 0 : length;
}

static bool is_utf8(const char *text)
{
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t length = character_length(at);
		if (!length)
			return false;
		at += length;
	}
	return true;
}

/* slot SLOT_NONE: the text is checked and dropped. */
enum { SLOT_NONE = MESSAGE_SLOTS_MAX };

static troupe_status parse_string(struct parse *p, uint32_t slot)
{
	const char *begin = p->at;
	size_t at = p->texts->count;
	while (is_quote(*p->at)) {
		troupe_status status = parse_quoted(p);
		if (status)
			return status;
		skip_blanks(p);
	}
	if (p->at == begin)
		return expected_value(p, MESSAGE_STRING);
	if (!is_utf8(p->texts->at + at))
		return refuse(p, begin, "a text that is not UTF-8: expected one that is");
	if (slot == SLOT_NONE) {
		p->texts->count = at;
		return TROUPE_OK;
	}
	text_add_bytes(p->texts, "", 1);
	p->string_at[slot] = (uint32_t)(at - p->texts_begin);
	return TROUPE_OK;
}

/* --- values that are dropped -------------------------------------------------------------------------------------- */

static troupe_status drop_value(struct parse *p, int depth);

/* Parses and drops the fields of a message, up to its closer. */
static troupe_status drop_fields(struct parse *p, char closer, int depth)
{
	for (;;) {
		skip_blanks(p);
		if (*p->at == closer)
			break;
		size_t length = name_length(p->at);
		if (!length)
			return unexpected(p, "a field's name or the end of the message");
		p->at += length;
		skip_blanks(p);
		if (*p->at == ':')
			p->at++;
		else if (*p->at != '{' && *p->at != '<' && *p->at != '[')
			return unexpected(p, "':'");
		skip_blanks(p);
		troupe_status status = drop_value(p, depth);
		if (status)
			return status;
		skip_separator(p);
	}
	p->at++;
	return TROUPE_OK;
}

static troupe_status drop_list(struct parse *p, int depth)
{
	for (skip_blanks(p);; skip_blanks(p)) {
		troupe_status status = drop_value(p, depth);
		if (status)
			return status;
		skip_blanks(p);
		if (*p->at != ',' && *p->at != ']')
			return unexpected(p, "',' or ']'");
		if (*p->at++ == ']')
			return TROUPE_OK;
	}
}

/* Moves past the [ of a list, and past its end if it is empty. */
static bool list_is_empty(struct parse *p)
{
	p->at++;
	skip_blanks(p);
	if (*p->at != ']')
		return false;
	p->at++;
	return true;
}

static troupe_status drop_value(struct parse *p, int depth)
{
	char open = *p->at;
	if (is_quote(open))
		return parse_string(p, SLOT_NONE);
	if (open != '{' && open != '<' && open != '[') {
		size_t length = word_length(p->at);
		p->at += length;
		return length ? TROUPE_OK : expected_value(p, MESSAGE_ANY);
	}
	if (depth == ANY_DEPTH_MAX)
		return refuse(p, p->at, "nested too deeply: expected at most %d levels", ANY_DEPTH_MAX);
	if (open == '[')
		return list_is_empty(p) ? TROUPE_OK : drop_list(p, depth + 1);
	p->at++;
	return drop_fields(p, open == '{' ? '}' : '>', depth + 1);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static troupe_status parse_fields(struct parse *p);

static void drop_parts(struct parse *p)
{
	for (uint32_t i = 0; i < p->items.count; i++)
		message_fini(&p->items.at[i]);
	vec_free(&p->items);
	vec_free(&p->numbers);
}

/* Stores the numbers of each slot one after the other; the slot's value is their count. */
static void take_numbers(struct parse *p, struct message_more *more)
{
	uint32_t at = 0;
	more->number_count = p->numbers.count;
	more->numbers = p->numbers.count ? mem_alloc(p->numbers.count * sizeof *more->numbers) : NULL;
	for (uint32_t slot = 0; slot < p->schema->field_count; slot++) {
		more->number_at[slot] = at;
		for (uint32_t i = 0; i < p->numbers.count && p->schema->fields[slot].kind == MESSAGE_NUMBERS; i++)
			if (p->numbers.at[i].slot == slot)
				more->numbers[at++] = p->numbers.at[i].value;
	}
	vec_free(&p->numbers);
}

/* Makes the complete message, which takes all strings, numbers and items from the parser. */
static struct message take_message(struct parse *p)
{
	struct message message = p->message;
	size_t count = p->texts->count - p->texts_begin;
	if (count <= 1 && !p->items.count && !p->numbers.count)
		return message;
	struct message_more *more = mem_alloc(sizeof *more + count);
	memcpy(more->bytes, p->texts->at + p->texts_begin, count);
	memcpy(more->string_at, p->string_at, sizeof more->string_at);
	more->byte_count = (uint32_t)count;
	more->item_count = p->items.count;
	if (p->items.count)
		more->items = mem_realloc(p->items.at, p->items.count * sizeof *p->items.at);
	take_numbers(p, more);
	message.more = more;
	return message;
}

/* Parses up to `closer`, which ends the message; the caller moves past it. */
static troupe_status parse_message(
	struct parse *p, const struct message_schema *schema, char closer, struct message *ret_message)
{
	struct parse message = {.schema = schema, .text = p->text, .at = p->at, .texts = p->texts, .error = p->error};
	message.texts_begin = p->texts->count;
	message.closer[0] = closer;
	text_add_bytes(p->texts, "", 1);
	troupe_status status = parse_fields(&message);
	if (status)
		drop_parts(&message);
	else
		*ret_message = take_message(&message);
	p->texts->count = message.texts_begin;
	p->at = message.at;
	return status;
}

static troupe_status parse_item(struct parse *p)
{
	struct message item;
	if (*p->at != '{' && *p->at != '<')
		return unexpected(p, "'{'");
	if (p->items.count == MESSAGE_ITEMS_MAX)
		return refuse(p, p->at, "one more than %d: expected at most so many", MESSAGE_ITEMS_MAX);
	char closer = *p->at++ == '{' ? '}' : '>';
	troupe_status status = parse_message(p, p->schema->item, closer, &item);
	if (status)
		return status;
	vec_push(&p->items, item);
	p->at++;
	return TROUPE_OK;
}

/* Parses one item, or a list of items. */
static troupe_status parse_items(struct parse *p)
{
	if (*p->at != '[')
		return parse_item(p);
	if (list_is_empty(p))
		return TROUPE_OK;
	for (;; skip_blanks(p)) {
		troupe_status status = parse_item(p);
		if (status)
			return status;
		skip_blanks(p);
		if (*p->at != ',' && *p->at != ']')
			return unexpected(p, "',' or ']'");
		if (*p->at++ == ']')
			return TROUPE_OK;
	}
}

static troupe_status parse_number(struct parse *p, uint32_t slot)
{
	struct numbered number = {.slot = slot};
	if (p->numbers.count == MESSAGE_ITEMS_MAX)
		return refuse(p, p->at, "one more number than %d: expected at most so many", MESSAGE_ITEMS_MAX);
	troupe_status status = parse_word(p, MESSAGE_DOUBLE, &number.value);
	if (status)
		return status;
	vec_push(&p->numbers, number);
	p->message.value[slot]++;
	return TROUPE_OK;
}

/* Parses one number, or a list of numbers, and adds them to earlier ones. */
static troupe_status parse_numbers(struct parse *p, uint32_t slot)
{
	p->message.given |= 1u << slot;
	if (*p->at != '[')
		return parse_number(p, slot);
	if (list_is_empty(p))
		return TROUPE_OK;
	for (;; skip_blanks(p)) {
		troupe_status status = parse_number(p, slot);
		if (status)
			return status;
		skip_blanks(p);
		if (*p->at != ',' && *p->at != ']')
			return unexpected(p, "',' or ']'");
		if (*p->at++ == ']')
			return TROUPE_OK;
	}
}

static troupe_status open_message(struct parse *p, const char *name, size_t length)
{
	if (*p->at != '{' && *p->at != '<')
		return unexpected(p, "'{'");
	size_t before = path_bytes(p);
	if (p->depth + 1 == DEPTH_MAX || before + length + 2 > sizeof p->path)
		return refuse(p, p->at, "nested too deeply: expected at most %d levels", DEPTH_MAX);
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

static troupe_status parse_value(struct parse *p, const struct found *field)
{
	double value = 0;
	bool has_slot = field->index < p->schema->field_count;
	troupe_status status;
	switch (field->kind) {
	case MESSAGE_ITEM:
		return parse_items(p);
	case MESSAGE_ANY:
		return drop_value(p, 0);
	case MESSAGE_NUMBERS:
		return parse_numbers(p, field->index);
	case MESSAGE_STRING:
		status = parse_string(p, has_slot ? field->index : SLOT_NONE);
		break;
	default:
		status = parse_word(p, field->kind, &value);
	}
	if (status || !has_slot)
		return status;
	p->message.value[field->index] = value;
	p->message.given |= 1u << field->index;
	return TROUPE_OK;
}

static troupe_status parse_field(struct parse *p)
{
	const char *name = p->at;
	struct found field;
	size_t length = name_length(name);
	if (!length)
		return unexpected(
			p, p->closer[p->depth] ? "a field's name or the end of the message" : "a field's name");
	if (!look_up(p, name, length, &field))
		return unknown_field(p);
	p->at += length;
	skip_blanks(p);
	bool colon = *p->at == ':', may_open = field.is_message || field.kind >= MESSAGE_ITEM;
	bool opens = *p->at == '{' || *p->at == '<' || (*p->at == '[' && !field.is_message);
	if (!colon && !may_open)
		return unexpected(p, "':'");
	if (!colon && !opens)
		return unexpected(p, "'{'");
	p->at += colon;
	skip_blanks(p);
	if (field.is_message)
		return open_message(p, name, length);
	troupe_status status = parse_value(p, &field);
	if (!status)
		skip_separator(p);
	return status;
}

/* Parses fields up to the end of the whole message; p->at stays at the end. */
static troupe_status parse_fields(struct parse *p)
{
	for (;;) {
		skip_blanks(p);
		if (*p->at == p->closer[p->depth]) {
			if (!p->depth)
				return TROUPE_OK;
			close_message(p);
			skip_separator(p);
			continue;
		}
		if (!*p->at)
			return unexpected(p, p->closer[p->depth] == '}' ? "'}'" : "'>'");
		troupe_status status = parse_field(p);
		if (status)
			return status;
	}
}

troupe_status message_parse(
	const struct message_schema *schema, const char *text, struct message *ret_message, struct troupe_error *error)
{
	size_t bytes_max = schema->bytes_max ? schema->bytes_max : MESSAGE_BYTES_MAX;
	if (strnlen(text, bytes_max + 1) > bytes_max)
		return fail(error, TROUPE_ECOMMAND, "column %zu: expected at most %zu bytes, found more", bytes_max + 1,
			bytes_max);
	struct text texts = {0};
	struct parse whole = {.text = text, .at = text, .texts = &texts, .error = error};
	troupe_status status = parse_message(&whole, schema, '\0', ret_message);
	text_fini(&texts);
	return status;
}
