/* Users' files contain text that a strict parser refuses: "--" in comments (pasted command lines), prefixes without a
 * declaration, "a::b" as a name, a blank before "<?xml", and even a missing first "<". libxml2's recover mode keeps
 * every element of such files, but it also accepts files that are really broken. So the text is parsed in recover
 * mode, and every error that is not on a short list of harmless errors is refused.
 *
 * The tree is built from the parser's events: a document of libxml2 would need as much memory again, and its line
 * numbers end at 65535. Elements that are equal, with the same lines, children and later siblings, are stored once: the
 * thousandth robot of a generated world has hardly more than its name and its pose to itself.
 *
 * Hostile input: entity declarations are refused (so no entity can expand), the network and external subsets are off,
 * depth is limited. */
#include "sdf/xml.h"

#include "base/map.h"
#include "base/share.h"
#include "base/shown.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>

enum {
	ATTRIBUTES_MAX = 1000, /* of one element */
	SHORT_BYTES_MAX = 100, /* texts up to this length are stored once, those of many robots being the same */
};

struct level { /* an element whose end has not been read; its memory is kept for the next one of this depth */
	struct sdf_element element;
	VEC(struct sdf_element) children; /* without their next siblings */
	struct text text;
};

struct xml_source {
	struct arena *arena;
	const char *file;
	xmlParserCtxtPtr ctxt;
	uint32_t lines_skipped;
	struct map known; /* names, short texts and values repeat: each is stored once */
	VEC(const char *) texts;
	struct share stored; /* elements and lists of attributes */
	struct text scratch;
	struct level levels[SDF_DEPTH_MAX];
	uint32_t depth;
	const struct sdf_element *root;
	struct troupe_error *error;
	troupe_status status;
	bool tolerant; /* goes on after each error of the parser; the first is in damage */
	struct troupe_error damage;
};

static bool xml_harmless(int code)
{
	return code == XML_ERR_HYPHEN_IN_COMMENT || code == XML_ERR_RESERVED_XML_NAME ||
	       code == XML_NS_ERR_UNDEFINED_NAMESPACE || code == XML_NS_ERR_QNAME;
}

static uint32_t xml_line_of(const struct xml_source *source)
{
	const xmlParserInput *input = source->ctxt->input;
	return (uint32_t)(input && input->line > 0 ? input->line : 1) + source->lines_skipped;
}

/* Stores the first problem; later ones are ignored. */
static void xml_stop(
	struct xml_source *source, troupe_status status, uint32_t line, const char *what, const char *expected)
{
	if (source->status)
		return;
	source->status =
		fail(source->error, status, "%s:%u: %.200s: expected %s", source->file, (unsigned)line, what, expected);
	xmlStopParser(source->ctxt);
}

static void xml_on_error(void *user, xmlErrorPtr xml_error)
{
	struct xml_source *source = user;
	if (xml_error->code == XML_ERR_NO_MEMORY)
		mem_run_out(0);
	if (source->status || xml_error->level == XML_ERR_WARNING || xml_harmless(xml_error->code))
		return;
	char why[200];
	const char *message = xml_error->message ? xml_error->message : "cannot be read";
	size_t length = strcspn(message, "\n");
	length = MIN(length, sizeof why - 1);
	memcpy(why, message, length);
	why[length] = '\0';
	uint32_t line = (uint32_t)(xml_error->line > 0 ? xml_error->line : 1) + source->lines_skipped;
	if (!source->tolerant)
		xml_stop(source, TROUPE_EWORLD, line, why, "well-formed XML");
	else if (!source->damage.status)
		(void)fail(&source->damage, TROUPE_EWORLD, "%s:%u: %.200s: expected well-formed XML", source->file,
			(unsigned)line, why);
}

static void xml_on_entity_declaration(
	void *user, const xmlChar *name, int type, const xmlChar *public_id, const xmlChar *system_id, xmlChar *content)
{
	(void)name, (void)type, (void)public_id, (void)system_id, (void)content;
	xml_stop(user, TROUPE_EWORLD, xml_line_of(user), "an entity is declared", "none");
}

static xmlEntityPtr xml_on_entity(void *user, const xmlChar *name)
{
	(void)user;
	return xmlGetPredefinedEntity(name);
}

/* The one copy of a text. */
static const char *xml_keep(struct xml_source *source, const char *text, size_t count)
{
	uint32_t index;
	if (map_find(&source->known, text, &index))
		return source->texts.at[index];
	const char *copy = arena_text(source->arena, text, count);
	map_add(&source->known, copy, source->texts.count);
	vec_push(&source->texts, copy);
	return copy;
}

static const char *xml_intern(struct xml_source *source, const xmlChar *prefix, const xmlChar *name)
{
	struct text *scratch = &source->scratch;
	scratch->count = 0;
	if (prefix) {
		text_add_bytes(scratch, (const char *)prefix, strlen((const char *)prefix));
		text_add_bytes(scratch, ":", 1);
	}
	text_add_bytes(scratch, (const char *)name, strlen((const char *)name));
	return xml_keep(source, scratch->at, scratch->count);
}

static const char *xml_copy_text(struct xml_source *source, const char *at, size_t count)
{
	struct text *scratch = &source->scratch;
	if (!count)
		return "";
	if (count > SHORT_BYTES_MAX)
		return arena_text(source->arena, at, count);
	scratch->count = 0;
	text_add_bytes(scratch, at, count);
	return xml_keep(source, scratch->at, count);
}

static const char *xml_trimmed(struct xml_source *source, const char *at, size_t count)
{
	while (count && isspace((unsigned char)*at))
		at++, count--;
	while (count && isspace((unsigned char)at[count - 1]))
		count--;
	return xml_copy_text(source, at, count);
}

/* Declarations of prefixes count as attributes, so that an element can be printed again. libxml2 gives them in pairs
 * (prefix, URI), and attributes in fives (name, prefix, URI, begin and end of the value). */
static void xml_add_attributes(struct xml_source *source, struct sdf_element *element, int ns_count, const xmlChar **ns,
	int attribute_count, const xmlChar **attributes)
{
	struct sdf_attribute list[ATTRIBUTES_MAX], *out = list;
	element->attribute_count = (uint32_t)(ns_count + attribute_count);
	if (!element->attribute_count)
		return;
	for (; ns_count > 0; ns_count--, ns += 2, out++) {
		const xmlChar *xmlns = (const xmlChar *)"xmlns";
		out->name = ns[0] ? xml_intern(source, xmlns, ns[0]) : xml_intern(source, NULL, xmlns);
		out->value = xml_copy_text(
			source, ns[1] ? (const char *)ns[1] : "", ns[1] ? strlen((const char *)ns[1]) : 0);
	}
	for (; attribute_count > 0; attribute_count--, attributes += 5, out++) {
		out->name = xml_intern(source, attributes[1], attributes[0]);
		out->value =
			xml_copy_text(source, (const char *)attributes[3], (size_t)(attributes[4] - attributes[3]));
	}
	/* equal texts have one address */
	element->attributes = share_keep(&source->stored, source->arena, list, element->attribute_count * sizeof *list);
}

/* The one copy of an element. Short texts, attributes and elements in it are stored once, too, and are equal if their
 * addresses are. */
static const struct sdf_element *xml_store(struct xml_source *source, const struct sdf_element *element)
{
	_Static_assert(sizeof *element == 6 * sizeof(void *) + 2 * sizeof(uint32_t), "it has no gaps");
	return share_keep(&source->stored, source->arena, element, sizeof *element);
}

/* The innermost element ends. */
static void xml_close(struct xml_source *source, const char *text)
{
	struct level *level = &source->levels[--source->depth];
	level->element.text = text;
	for (uint32_t i = level->children.count; i-- > 0;) {
		level->children.at[i].next = level->element.child;
		level->element.child = xml_store(source, &level->children.at[i]);
	}
	if (source->depth)
		vec_push(&(level - 1)->children, level->element);
	else if (!source->root)
		source->root = xml_store(source, &level->element);
}

static void xml_on_start(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int ns_count,
	const xmlChar **ns, int attribute_count, int defaulted_count, const xmlChar **attributes)
{
	struct xml_source *source = user;
	(void)uri, (void)defaulted_count;
	if (source->status)
		return;
	if (source->depth == SDF_DEPTH_MAX) {
		xml_stop(source, TROUPE_ELIMIT, xml_line_of(source), "elements are nested too deeply",
			"at most 64 levels");
		return;
	}
	struct level *level = &source->levels[source->depth++];
	level->element = (struct sdf_element){.name = xml_intern(source, prefix, name),
		.file = source->file,
		.line = xml_line_of(source),
		.text = ""};
	level->children.count = 0;
	level->text.count = 0;
	xml_add_attributes(source, &level->element, ns_count, ns, attribute_count, attributes);
}

static void xml_on_end(void *user, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
	struct xml_source *source = user;
	(void)name, (void)prefix, (void)uri;
	if (source->status || !source->depth)
		return;
	const struct text *text = &source->levels[source->depth - 1].text;
	xml_close(source, xml_trimmed(source, text->at, text->count));
}

/* Most text is blanks between elements, which are dropped. */
static void xml_on_text(void *user, const xmlChar *text, int length)
{
	struct xml_source *source = user;
	if (source->status || !source->depth)
		return;
	struct text *out = &source->levels[source->depth - 1].text;
	while (!out->count && length > 0 && isspace(*text))
		text++, length--;
	if (length > 0)
		text_add_bytes(out, (const char *)text, (size_t)length);
}

/* The offset at which libxml2 starts: after a declaration that it would refuse (after blanks, or without its "<"). */
static size_t xml_skip_odd_start(const char *text, size_t bytes, uint32_t *ret_lines)
{
	size_t at = 0;
	while (at < bytes && isspace((unsigned char)text[at]))
		at++;
	bool odd = bytes - at >= 4 && !memcmp(text + at, "?xml", 4);
	odd = odd || (at && bytes - at >= 5 && !memcmp(text + at, "<?xml", 5));
	if (odd) {
		while (at + 1 < bytes && memcmp(text + at, "?>", 2))
			at++;
		at = at + 1 < bytes ? at + 2 : bytes;
	}
	for (size_t i = 0; i < at; i++)
		*ret_lines += text[i] == '\n';
	return at;
}

/* What begins at '<' and is no tag. */
static const char *const xml_spans[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}, {"<!", ">"}};

static size_t xml_span_kind(const char *text, const char *end)
{
	size_t kind = 0;
	while (kind < ARRAY_LEN(xml_spans) && ((size_t)(end - text) < strlen(xml_spans[kind][0]) ||
						      memcmp(text, xml_spans[kind][0], strlen(xml_spans[kind][0]))))
		kind++;
	return kind;
}

static bool xml_is_span(const char *text, const char *end)
{
	return xml_span_kind(text, end) < ARRAY_LEN(xml_spans);
}

/* Where the end of a span begins; the end of the text if it has none. */
static const char *xml_end_of_span(const char *text, const char *end)
{
	const char *close = xml_spans[xml_span_kind(text, end)][1];
	const char *found = memmem(text + 2, (size_t)(end - text) - 2, close, strlen(close));
	return found ? found : end;
}

/* Whether the '&' at the beginning of the text begins a reference: &name; &#1; &#x1; */
static bool xml_is_reference(const char *text, const char *end)
{
	const char *at = text + 1, *begin = at;
	while (at < end && (isalnum((unsigned char)*at) || strchr("#_.:-", *at)))
		at++;
	return at > begin && at < end && *at == ';';
}

/* Gazebo's parser takes a '&' that begins no reference as it is ("Doors & walls", addresses with several parameters).
 * Such a '&' becomes "&amp;" in *out, which stays empty if there is none. Returns the first one. */
static const char *xml_escape_bare(const char *text, const char *end, struct text *out)
{
	const char *first = NULL;
	const char *from = text, *mark = memchr(text, '&', (size_t)(end - text));
	while (mark) {
		const char *tag = memchr(text, '<', (size_t)(mark - text));
		if (tag) {
			text = xml_is_span(tag, end) ? xml_end_of_span(tag, end) : tag + 1;
		} else {
			text = mark + 1;
			if (!xml_is_reference(mark, end)) {
				first = first ? first : mark;
				text_add_bytes(out, from, (size_t)(text - from));
				text_add_bytes(out, "amp;", 4);
				from = text;
			}
		}
		if (mark < text)
			mark = memchr(text, '&', (size_t)(end - text));
	}
	if (first)
		text_add_bytes(out, from, (size_t)(end - from));
	return first;
}

static uint32_t xml_line_at(const char *text, const char *at)
{
	uint32_t line = 1;
	for (; text < at; text++)
		line += *text == '\n';
	return line;
}

/* libxml2 compares each attribute of a tag with all others before it reports any, so a tag with a million attributes
 * would take an hour. In text that is not well-formed the count may be wrong, but such text is refused in any case. */
static size_t xml_most_attributes(const char *text, const char *end)
{
	size_t most = 0, count;
	while (text < end && (text = memchr(text, '<', (size_t)(end - text)))) {
		if (xml_is_span(text, end)) {
			text = xml_end_of_span(text, end);
			continue;
		}
		count = 0;
		for (char quote = 0; text < end && (quote || *text != '>'); text++) {
			count += !quote && *text == '=';
			if (quote ? *text == quote : *text == '"' || *text == '\'')
				quote = quote ? '\0' : *text;
		}
		most = MAX(most, count);
	}
	return most;
}

/* Bytes of a character, in encodings in which a zero byte may be part of a character; found by the same rule as in
 * libxml2. */
static size_t xml_unit_bytes(const char *text, size_t bytes)
{
	static const struct {
		char bytes[4];
		size_t count, unit;
	} starts[] = {{"\0\0\0<", 4, 4}, {"<\0\0\0", 4, 4}, {"\0<\0?", 4, 2}, {"<\0?\0", 4, 2}, {"\xfe\xff", 2, 2},
		{"\xff\xfe", 2, 2}};
	for (size_t i = 0; i < ARRAY_LEN(starts); i++)
		if (bytes >= starts[i].count && !memcmp(text, starts[i].bytes, starts[i].count))
			return starts[i].unit;
	return 1;
}

/* libxml2 takes a zero as the end of the text. Returns the line of the first zero; 0: there is none. */
static uint32_t xml_line_of_zero(const char *text, size_t bytes)
{
	static const char zero[4] = {0};
	size_t unit = xml_unit_bytes(text, bytes);
	uint32_t line = 1;
	if (unit == 1 && !memchr(text, '\0', bytes))
		return 0;
	for (size_t at = 0; at + unit <= bytes; at += unit) {
		if (!memcmp(text + at, zero, unit))
			return line;
		line += text[at] == '\n' || text[at + unit - 1] == '\n';
	}
	return 0;
}

static void xml_read_document(struct xml_source *source, const char *text, size_t bytes)
{
	xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC,
		.serror = xml_on_error,
		.startElementNs = xml_on_start,
		.endElementNs = xml_on_end,
		.characters = xml_on_text,
		.ignorableWhitespace = xml_on_text,
		.cdataBlock = xml_on_text,
		.entityDecl = xml_on_entity_declaration,
		.getEntity = xml_on_entity};
	source->ctxt = xmlNewParserCtxt();
	if (!source->ctxt)
		mem_run_out(0);
	*source->ctxt->sax = handler;
	source->ctxt->userData = source;
	/* NOENT means: "&amp;" and similar references are replaced, also in attributes */
	xmlDocPtr doc = xmlCtxtReadMemory(
		source->ctxt, text, (int)bytes, NULL, NULL, XML_PARSE_RECOVER | XML_PARSE_NONET | XML_PARSE_NOENT);
	xmlFreeDoc(doc);
	while (source->depth) /* of damaged text */
		xml_close(source, "");
	if (!source->root && !source->status)
		source->status =
			fail(source->error, TROUPE_EWORLD, "%s:1: no element: expected an <sdf> element", source->file);
	xmlFreeParserCtxt(source->ctxt);
}

static troupe_status xml_parse_text(
	struct xml_source *source, const char *text, size_t bytes, const struct sdf_element **ret_root)
{
	_Static_assert(SDF_FILE_BYTES_MAX < INT_MAX, "libxml2 counts bytes in an int");
	const char *file = source->file;
	if (bytes > SDF_FILE_BYTES_MAX)
		return fail(source->error, TROUPE_ELIMIT, "%s: larger than %d bytes", file, SDF_FILE_BYTES_MAX);
	uint32_t line = xml_line_of_zero(text, bytes);
	if (line)
		return fail(source->error, TROUPE_EWORLD, "%s:%u: a zero byte: expected text", file, line);
	if (xml_most_attributes(text, text + bytes) > ATTRIBUTES_MAX)
		return fail(source->error, TROUPE_ELIMIT,
			"%s:1: an element has too many attributes: expected at most %d", file, ATTRIBUTES_MAX);
	struct text escaped = {0};
	const char *bare = xml_unit_bytes(text, bytes) == 1 ? xml_escape_bare(text, text + bytes, &escaped) : NULL;
	if (bare)
		(void)fail(&source->damage, TROUPE_EWORLD, "%s:%u: a '&' that begins no reference: expected '&amp;'",
			file, (unsigned)xml_line_at(text, bare));
	if (escaped.count > SDF_FILE_BYTES_MAX)
		source->status =
			fail(source->error, TROUPE_ELIMIT, "%s: larger than %d bytes", file, SDF_FILE_BYTES_MAX);
	text = escaped.count ? escaped.at : text;
	bytes = escaped.count ? escaped.count : bytes;
	size_t skip = xml_skip_odd_start(text, bytes, &source->lines_skipped);
	if (!source->status)
		xml_read_document(source, text + skip, bytes - skip);
	text_fini(&escaped);
	map_fini(&source->known);
	vec_free(&source->texts);
	share_fini(&source->stored);
	text_fini(&source->scratch);
	for (size_t i = 0; i < ARRAY_LEN(source->levels); i++) {
		text_fini(&source->levels[i].text);
		vec_free(&source->levels[i].children);
	}
	if (!source->status)
		*ret_root = source->root;
	return source->status;
}

troupe_status xml_parse(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *error)
{
	struct xml_source source = {.arena = arena, .file = file, .error = error};
	return xml_parse_text(&source, text, bytes, ret_root);
}

troupe_status xml_parse_tolerant(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *ret_damage)
{
	struct troupe_error error = {0};
	struct xml_source source = {.arena = arena, .file = file, .error = &error, .tolerant = true};
	troupe_status status = xml_parse_text(&source, text, bytes, ret_root);
	if (ret_damage)
		*ret_damage = status ? error : source.damage;
	return status;
}

void xml_add_escaped(struct text *out, const char *text)
{
	for (size_t count = strlen(text); count;) {
		struct shown_character c = shown_at(text, count);
		const char *entity = c.code == '&'   ? "&amp;"
				     : c.code == '<' ? "&lt;"
				     : c.code == '>' ? "&gt;"
				     : c.code == '"' ? "&quot;"
						     : NULL;
		bool is_blank = c.code == '\n' || c.code == '\t';
		if (!c.valid || (c.code < 0x20 && !is_blank && c.code != '\r'))
			text_add(out, "?");
		else if (entity)
			text_add(out, "%s", entity);
		else if (c.hidden && !is_blank)
			text_add(out, "&#x%x;", (unsigned)c.code);
		else
			text_add_bytes(out, text, c.bytes);
		text += c.bytes;
		count -= c.bytes;
	}
}

void xml_add_attribute(struct text *out, const char *value)
{
	for (const char *end; *value; value = end) {
		end = value + strcspn(value, "\n\t");
		char *part = mem_printf("%.*s", (int)(end - value), value);
		xml_add_escaped(out, part);
		free(part);
		if (*end)
			text_add(out, "&#%d;", *end++);
	}
}
