/* Debian has libyaml, but files of parameters use so little of YAML that a library would be the larger part. What is
 * not understood is refused, so that no parameter is read as something else than ROS reads.
 *
 * A map or a list in blocks ends at the first line that is indented less; so each level is a function that reads lines
 * as long as they have its own indentation. Brackets know no indentation. */
#include "sdf/yaml.h"

#include <stdlib.h>
#include <string.h>

struct yaml {
	struct arena *arena;
	const char *file, *at; /* the rest of the text */
	uint32_t line, depth;
	struct troupe_error *error;
	troupe_status status;
};

static void yaml_refuse(struct yaml *yaml, troupe_status status, const char *what)
{
	if (!yaml->status)
		yaml->status = fail(yaml->error, status, "%.200s:%u: %s", yaml->file, yaml->line, what);
}

/* --- the tree ----------------------------------------------------------------------------------------------------- */

static struct sdf_element *yaml_new(struct yaml *yaml, const char *name)
{
	struct sdf_element *element = arena_new(yaml->arena, struct sdf_element);
	*element = (struct sdf_element){.name = name, .text = "", .file = yaml->file, .line = yaml->line};
	return element;
}

/* Adds a child behind *last, which becomes the child. */
static void yaml_add(struct sdf_element *parent, struct sdf_element **last, struct sdf_element *child)
{
	if (*last)
		(*last)->next = child;
	else
		parent->child = child;
	*last = child;
}

/* --- blanks and lines --------------------------------------------------------------------------------------------- */

static bool yaml_is_end(char c)
{
	return !c || c == '\n' || c == '\r';
}

static bool yaml_is_item(const char *at)
{
	return *at == '-' && (at[1] == ' ' || at[1] == '\t' || yaml_is_end(at[1]));
}

/* Skips blanks and a comment, which needs a blank before it unless it begins the line. */
static void yaml_skip_blanks(struct yaml *yaml, bool fresh)
{
	const char *from = yaml->at;
	yaml->at += strspn(yaml->at, " \t");
	if (*yaml->at == '#' && (fresh || yaml->at > from))
		yaml->at += strcspn(yaml->at, "\r\n");
	yaml->at += *yaml->at == '\r';
}

/* To the first character of the next line that has any; returns its indentation, or -1 at the end of the text. */
static int yaml_next_line(struct yaml *yaml)
{
	while (*yaml->at) {
		const char *begin = yaml->at;
		yaml->at += strspn(yaml->at, " ");
		int indent = (int)MIN(yaml->at - begin, 10000);
		if (*yaml->at == '\t')
			yaml_refuse(yaml, TROUPE_EWORLD, "a tab as indentation: expected blanks");
		yaml_skip_blanks(yaml, true);
		bool is_mark = !indent && (!strncmp(begin, "---", 3) || !strncmp(begin, "...", 3)) &&
			       (yaml_is_end(begin[3]) || begin[3] == ' ');
		if (is_mark && *begin == '-' && yaml->depth)
			yaml_refuse(yaml, TROUPE_EWORLD, "a second document: expected one");
		if (is_mark)
			yaml->at += strcspn(yaml->at, "\r\n");
		if (!yaml_is_end(*yaml->at)) {
			yaml->at = begin + indent;
			return indent;
		}
		yaml->line += *yaml->at == '\n';
		yaml->at += *yaml->at != '\0';
	}
	return -1;
}

/* The indentation of the next line, which stays unread. */
static int yaml_peek(struct yaml *yaml)
{
	struct yaml ahead = *yaml;
	int indent = yaml_next_line(&ahead);
	yaml->status = ahead.status;
	if (indent >= 0) {
		yaml->at = ahead.at - indent;
		yaml->line = ahead.line;
	} else {
		yaml->at = ahead.at;
	}
	return indent;
}

/* --- scalars ------------------------------------------------------------------------------------------------------ */

/* As UTF-8. */
static void yaml_add_character(struct text *out, uint32_t code)
{
	const uint32_t bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const uint8_t first[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
	for (uint32_t i = 0; i < bytes; i++) {
		uint32_t bits = code >> 6 * (bytes - 1 - i);
		char c = (char)(uint8_t)(i ? 0x80 | (bits & 0x3f) : first[bytes] | bits);
		text_add_bytes(out, &c, 1);
	}
}

/* So many hexadecimal digits; 0: there are fewer, or no character has this number. */
static uint32_t yaml_hexadecimal(const char *at, uint32_t digits)
{
	char text[9] = {0};
	if (strspn(at, "0123456789abcdefABCDEF") < digits)
		return 0;
	memcpy(text, at, digits);
	unsigned long code = strtoul(text, NULL, 16);
	return code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : (uint32_t)code;
}

/* What stands behind a backslash: a character by its letter or number, or the end of a line, which the text goes on
 * behind. */
static void yaml_escape(struct yaml *yaml, struct text *out)
{
	static const char letters[] = "abtnvfre \"/\\N_LP", kinds[] = "xuU";
	static const uint32_t codes[] = {7, 8, 9, 10, 11, 12, 13, 27, ' ', '"', '/', '\\', 0x85, 0xa0, 0x2028, 0x2029},
			      digits[] = {2, 4, 8};
	const char *letter = strchr(letters, *yaml->at), *kind = strchr(kinds, *yaml->at);
	if (*yaml->at == '\n' || (*yaml->at == '\r' && yaml->at[1] == '\n')) {
		yaml->line++;
		yaml->at += *yaml->at == '\r';
		yaml->at += 1 + strspn(yaml->at + 1, " \t");
		return;
	}
	uint32_t code = letter ? codes[letter - letters]
			: kind ? yaml_hexadecimal(yaml->at + 1, digits[kind - kinds])
			       : 0;
	if (!code)
		yaml_refuse(yaml, TROUPE_EWORLD, "an escape in quotes: expected one of YAML, and no zero byte");
	yaml->at += code && kind ? 1 + digits[kind - kinds] : 1;
	yaml_add_character(out, code ? code : '?');
}

static const char *yaml_quoted(struct yaml *yaml)
{
	char quote = *yaml->at++;
	struct text out = {0};
	while (*yaml->at && !(*yaml->at == quote && !(quote == '\'' && yaml->at[1] == quote))) {
		bool escaped = quote == '"' ? *yaml->at == '\\' : *yaml->at == quote;
		yaml->at += escaped && yaml->at[1];
		if (escaped && quote == '"' && yaml->at[-1] == '\\') {
			yaml_escape(yaml, &out);
			continue;
		}
		yaml->line += *yaml->at == '\n';
		text_add_bytes(&out, yaml->at, 1);
		yaml->at++;
	}
	if (!*yaml->at)
		yaml_refuse(yaml, TROUPE_EWORLD, "a quote that does not end: expected another one");
	yaml->at += *yaml->at != '\0';
	const char *text = arena_strdup(yaml->arena, out.at ? out.at : "");
	text_fini(&out);
	return text;
}

/* A plain scalar: to a comment or the end of the line, and in brackets to the next comma or bracket; `key`: to ": ". */
static const char *yaml_plain(struct yaml *yaml, bool inside)
{
	const char *begin = yaml->at, *end = yaml->at;
	while (!yaml_is_end(*yaml->at)) {
		char c = *yaml->at, next = yaml->at[1];
		if (c == ':' && (next == ' ' || next == '\t' || yaml_is_end(next) || (inside && strchr(",]}", next))))
			break;
		if (c == '#' && yaml->at > begin && strchr(" \t", yaml->at[-1]))
			break;
		if (inside && strchr(",[]{}", c))
			break;
		yaml->at++;
		end = c == ' ' || c == '\t' ? end : yaml->at;
	}
	yaml->at = end; /* a comment needs the blanks before it */
	return arena_printf(yaml->arena, "%.*s", (int)(end - begin), begin);
}

static const char *yaml_scalar(struct yaml *yaml, bool inside)
{
	if (*yaml->at == '"' || *yaml->at == '\'')
		return yaml_quoted(yaml);
	if ((*yaml->at && strchr("&*!|>%@`", *yaml->at)) || yaml_is_item(yaml->at))
		yaml_refuse(yaml, TROUPE_EWORLD,
			"an anchor, alias, tag, block of text or list in a line: expected plain or quoted words");
	return yaml_plain(yaml, inside);
}

/* --- brackets ----------------------------------------------------------------------------------------------------- */

/* Blanks, comments and ends of lines between the parts of brackets. */
static void yaml_skip_inside(struct yaml *yaml)
{
	for (;;) {
		yaml_skip_blanks(yaml, false);
		if (*yaml->at != '\n')
			return;
		yaml->line++;
		yaml->at++;
	}
}

static void yaml_brackets(struct yaml *yaml, struct sdf_element *into);

static void yaml_inside(struct yaml *yaml, struct sdf_element *into)
{
	yaml_skip_inside(yaml);
	if (*yaml->at == '[' || *yaml->at == '{')
		yaml_brackets(yaml, into);
	else
		into->text = yaml_scalar(yaml, true);
	yaml_skip_inside(yaml);
}

static void yaml_brackets(struct yaml *yaml, struct sdf_element *into)
{
	bool is_map = *yaml->at == '{';
	char close = is_map ? '}' : ']';
	struct sdf_element *last = NULL;
	if (++yaml->depth > SDF_DEPTH_MAX)
		yaml_refuse(yaml, TROUPE_ELIMIT, "too many levels: expected at most 64");
	yaml->at++;
	for (yaml_skip_inside(yaml); !yaml->status && *yaml->at != close; yaml_skip_inside(yaml)) {
		struct sdf_element *child = yaml_new(yaml, is_map ? yaml_scalar(yaml, true) : "item");
		if (is_map) {
			yaml_skip_inside(yaml);
			if (*yaml->at != ':') {
				yaml_refuse(
					yaml, TROUPE_EWORLD, "a key in braces without a colon: expected KEY: VALUE");
				break;
			}
			yaml->at++;
		}
		yaml_inside(yaml, child);
		yaml_add(into, &last, child);
		if (*yaml->at == ',')
			yaml->at++;
		else if (*yaml->at != close)
			yaml_refuse(yaml, TROUPE_EWORLD, "brackets that do not end: expected a comma or a bracket");
	}
	yaml->at += *yaml->at == close;
	yaml->depth--;
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */

static void yaml_block(struct yaml *yaml, struct sdf_element *into, int indent);

static void yaml_end_line(struct yaml *yaml)
{
	yaml_skip_blanks(yaml, false);
	if (!yaml_is_end(*yaml->at))
		yaml_refuse(yaml, TROUPE_EWORLD, "more behind a value: expected the end of the line");
	yaml->line += *yaml->at == '\n';
	yaml->at += *yaml->at != '\0';
}

/* The value behind a key, or behind the dash of an item, of a line with this indentation. The items of a list may stand
 * as far to the left as their key. */
static void yaml_value(struct yaml *yaml, struct sdf_element *into, int indent, bool of_key)
{
	yaml_skip_blanks(yaml, false);
	if (*yaml->at == '[' || *yaml->at == '{') {
		yaml_brackets(yaml, into);
		yaml_end_line(yaml);
	} else if (!yaml_is_end(*yaml->at)) {
		into->text = yaml_scalar(yaml, false);
		yaml_end_line(yaml);
	} else {
		yaml_end_line(yaml);
		int next = yaml_peek(yaml);
		if (next > indent || (of_key && next == indent && yaml_is_item(yaml->at + next)))
			yaml_block(yaml, into, next);
	}
}

/* Whether what follows on the line is KEY: or KEY: VALUE. */
static bool yaml_is_pair(const struct yaml *yaml)
{
	struct yaml ahead = *yaml;
	ahead.error = NULL;
	if (strchr("[{", *ahead.at))
		return false;
	(void)yaml_scalar(&ahead, false);
	ahead.at += strspn(ahead.at, " \t");
	return !ahead.status && *ahead.at == ':';
}

static void yaml_pair(struct yaml *yaml, struct sdf_element *into, struct sdf_element **last, int indent)
{
	struct sdf_element *child = yaml_new(yaml, yaml_scalar(yaml, false));
	yaml->at += strspn(yaml->at, " \t");
	if (*yaml->at != ':') {
		yaml_refuse(yaml, TROUPE_EWORLD, "a line without a colon: expected KEY: VALUE");
		return;
	}
	yaml->at++;
	yaml_value(yaml, child, indent, true);
	yaml_add(into, last, child);
}

/* An item, which may be a map whose first pair stands behind the dash. */
static void yaml_item(struct yaml *yaml, struct sdf_element *into, struct sdf_element **last, int indent)
{
	struct sdf_element *child = yaml_new(yaml, "item"), *inner = NULL;
	const char *dash = yaml->at++;
	yaml->at += strspn(yaml->at, " ");
	int inside = indent + (int)(yaml->at - dash);
	yaml_add(into, last, child);
	if (yaml_is_end(*yaml->at) || *yaml->at == '#' || !yaml_is_pair(yaml)) {
		yaml_value(yaml, child, indent, false);
		return;
	}
	yaml_pair(yaml, child, &inner, inside);
	while (!yaml->status && yaml_peek(yaml) == inside) {
		yaml->at += inside;
		yaml_pair(yaml, child, &inner, inside);
	}
}

static void yaml_block(struct yaml *yaml, struct sdf_element *into, int indent)
{
	struct sdf_element *last = NULL;
	bool is_list = false, begun = false;
	if (++yaml->depth > SDF_DEPTH_MAX)
		yaml_refuse(yaml, TROUPE_ELIMIT, "too many levels: expected at most 64");
	while (!yaml->status && yaml_peek(yaml) == indent && !yaml->status) {
		bool is_item = yaml_is_item(yaml->at + indent);
		if (begun && is_item != is_list)
			break; /* a list beside its own key has ended */
		begun = true;
		is_list = is_item;
		yaml->at += indent;
		if (is_item)
			yaml_item(yaml, into, &last, indent);
		else
			yaml_pair(yaml, into, &last, indent);
	}
	if (!yaml->status && yaml_peek(yaml) > indent)
		yaml_refuse(yaml, TROUPE_EWORLD, "a line that is indented more than the one before: expected the same");
	yaml->depth--;
}

troupe_status yaml_parse(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *error)
{
	struct yaml yaml = {.arena = arena, .file = file, .at = text, .line = 1, .error = error};
	struct sdf_element *root = yaml_new(&yaml, "yaml");
	if (strlen(text) != bytes)
		return fail(error, TROUPE_EWORLD, "%.200s: a zero byte: expected text", file);
	int indent = yaml_peek(&yaml);
	if (indent >= 0)
		yaml_block(&yaml, root, indent);
	if (!yaml.status && yaml_peek(&yaml) >= 0)
		yaml_refuse(&yaml, TROUPE_EWORLD, "a line that is indented less than the first one: expected the same");
	if (!yaml.status)
		*ret_root = root;
	return yaml.status;
}
