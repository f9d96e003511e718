/* What users' files contain and a strict parser refuses: "--" in comments (command lines pasted there), prefixes that
 * nobody declared, "a::b" as a name, a blank before "<?xml", and even a missing first "<". libxml2's recover mode keeps
 * every element of such files, but it also swallows files that are truly broken; so recover, and then refuse every
 * error that is not on the short list of harmless ones.
 *
 * Hostile input: entity declarations are dropped before they can be used (a reference to one is then an undeclared
 * entity, which is refused), the network and external subsets are off, depth is limited twice. */
#include "sdf/xml.h"

#include "base/map.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/tree.h>

struct source {
	struct arena *arena;
	const char *file;
	uint32_t lines_skipped;
	struct map names; /* element and attribute names repeat: each is stored once */
	VEC(const char *) name_texts;
	struct text scratch;
	struct troupe_error *error;
	troupe_status status;
};

/* Members of the document's enumeration of errors, by what they are about. */
static bool harmless(int code)
{
	return code == XML_ERR_HYPHEN_IN_COMMENT || code == XML_ERR_RESERVED_XML_NAME ||
	       code == XML_NS_ERR_UNDEFINED_NAMESPACE || code == XML_NS_ERR_QNAME;
}

static void on_error(void *user, xmlErrorPtr xml_error)
{
	xmlParserCtxtPtr ctxt = user;
	struct source *source = ctxt->_private;
	if (source->status || xml_error->level == XML_ERR_WARNING || harmless(xml_error->code))
		return;
	char why[200];
	const char *message = xml_error->message ? xml_error->message : "cannot be read";
	size_t length = strcspn(message, "\n");
	length = MIN(length, sizeof why - 1);
	memcpy(why, message, length);
	why[length] = '\0';
	source->status = fail(source->error, TROUPE_EWORLD, "%s:%u: %s: expected well-formed XML", source->file,
		(unsigned)xml_error->line + source->lines_skipped, why);
}

static void ignore_entity(void *user, const xmlChar *name, int type, const xmlChar *public_id,
	const xmlChar *system_id, xmlChar *content)
{
	(void)user, (void)name, (void)type, (void)public_id, (void)system_id, (void)content;
}

static const char *intern(struct source *source, const xmlChar *prefix, const xmlChar *name)
{
	struct text *scratch = &source->scratch;
	scratch->count = 0;
	if (prefix) {
		text_add_bytes(scratch, (const char *)prefix, strlen((const char *)prefix));
		text_add_bytes(scratch, ":", 1);
	}
	text_add_bytes(scratch, (const char *)name, strlen((const char *)name));
	uint32_t index;
	if (map_find(&source->names, scratch->at, &index))
		return source->name_texts.at[index];
	const char *copy = arena_strdup(source->arena, scratch->at);
	map_add(&source->names, copy, source->name_texts.count);
	vec_push(&source->name_texts, copy);
	return copy;
}

static const char *trimmed(struct source *source, const char *at, size_t count)
{
	while (count && isspace((unsigned char)*at))
		at++, count--;
	while (count && isspace((unsigned char)at[count - 1]))
		count--;
	if (!count)
		return "";
	char *copy = arena_alloc(source->arena, count + 1);
	return memcpy(copy, at, count);
}

static bool is_text(const xmlNode *node)
{
	return (node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE) && node->content;
}

static bool is_blank(const xmlChar *text)
{
	while (isspace(*text))
		text++;
	return !*text;
}

/* One text node is the rule; comments and CDATA cut a text into several. */
static const char *text_of(struct source *source, const xmlNode *node)
{
	const xmlNode *only = NULL;
	bool several = false;
	for (const xmlNode *child = node->children; child; child = child->next)
		if (is_text(child) && !is_blank(child->content)) {
			several = several || only;
			only = child;
		}
	if (!only)
		return "";
	if (!several)
		return trimmed(source, (const char *)only->content, strlen((const char *)only->content));
	source->scratch.count = 0;
	for (const xmlNode *child = node->children; child; child = child->next)
		if (is_text(child))
			text_add_bytes(&source->scratch, (const char *)child->content,
				strlen((const char *)child->content));
	return trimmed(source, source->scratch.at, source->scratch.count);
}

static const char *attribute_text(struct source *source, const xmlAttr *attribute)
{
	const xmlNode *value = attribute->children;
	if (!value)
		return "";
	if (!value->next && value->type == XML_TEXT_NODE)
		return arena_strdup(source->arena, value->content ? (const char *)value->content : "");
	xmlChar *joined = xmlNodeListGetString(attribute->doc, attribute->children, 1);
	const char *copy = arena_strdup(source->arena, joined ? (const char *)joined : "");
	xmlFree(joined);
	return copy;
}

/* Declarations of prefixes count as attributes, so that an element can be printed again. */
static void add_attributes(struct source *source, const xmlNode *node, struct sdf_element *element)
{
	uint32_t count = 0;
	for (const xmlNs *ns = node->nsDef; ns; ns = ns->next)
		count++;
	for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next)
		count++;
	if (!count)
		return;
	struct sdf_attribute *out = arena_array(source->arena, struct sdf_attribute, count);
	element->attributes = out;
	element->attribute_count = count;
	for (const xmlNs *ns = node->nsDef; ns; ns = ns->next) {
		out->name = ns->prefix ? intern(source, (const xmlChar *)"xmlns", ns->prefix) :
					 intern(source, NULL, (const xmlChar *)"xmlns");
		out->value = arena_strdup(source->arena, ns->href ? (const char *)ns->href : "");
		out++;
	}
	for (const xmlAttr *attribute = node->properties; attribute; attribute = attribute->next) {
		out->name = intern(source, attribute->ns ? attribute->ns->prefix : NULL, attribute->name);
		out->value = attribute_text(source, attribute);
		out++;
	}
}

static struct sdf_element *convert(struct source *source, const xmlNode *node, unsigned depth)
{
	struct sdf_element *element = arena_new(source->arena, struct sdf_element), *last = NULL;
	long line = xmlGetLineNo(node);
	element->name = intern(source, node->ns ? node->ns->prefix : NULL, node->name);
	element->file = source->file;
	element->line = (uint32_t)(line > 0 && line < INT_MAX ? line : 0) + source->lines_skipped;
	element->text = text_of(source, node);
	add_attributes(source, node, element);
	if (depth >= SDF_DEPTH_MAX && !source->status)
		source->status = fail(source->error, TROUPE_ELIMIT, "%s:%u: <%s> is nested too deeply: expected at most %d levels",
			source->file, element->line, element->name, SDF_DEPTH_MAX);
	for (const xmlNode *node_child = node->children; node_child && !source->status; node_child = node_child->next) {
		if (node_child->type != XML_ELEMENT_NODE)
			continue;
		struct sdf_element *child = convert(source, node_child, depth + 1);
		*(last ? &last->next : &element->child) = child;
		last = child;
	}
	return element;
}

/* Where libxml2 shall start: after a declaration that it would not accept (behind blanks, or without its "<"). */
static size_t skip_odd_start(const char *text, size_t bytes, uint32_t *ret_lines)
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

static xmlDocPtr read_document(struct source *source, const char *text, size_t bytes)
{
	xmlParserCtxtPtr ctxt = xmlNewParserCtxt();
	if (!ctxt)
		return NULL;
	ctxt->_private = source;
	ctxt->sax->serror = on_error;
	ctxt->sax->entityDecl = ignore_entity;
	xmlDocPtr doc = xmlCtxtReadMemory(ctxt, text, (int)bytes, NULL, NULL,
		XML_PARSE_RECOVER | XML_PARSE_NONET | XML_PARSE_BIG_LINES | XML_PARSE_COMPACT);
	xmlFreeParserCtxt(ctxt);
	return doc;
}

troupe_status xml_parse(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *error)
{
	_Static_assert(SDF_FILE_BYTES_MAX < INT_MAX, "libxml2 counts bytes in an int");
	if (bytes > SDF_FILE_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "%s: larger than %d bytes", file, SDF_FILE_BYTES_MAX);
	struct source source = {.arena = arena, .file = file, .error = error};
	size_t skip = skip_odd_start(text, bytes, &source.lines_skipped);
	xmlDocPtr doc = read_document(&source, text + skip, bytes - skip);
	const xmlNode *node = doc ? xmlDocGetRootElement(doc) : NULL;
	const struct sdf_element *root = NULL;
	if (node && !source.status)
		root = convert(&source, node, 0);
	else if (!source.status)
		source.status = fail(error, TROUPE_EWORLD, "%s:1: no element: expected an <sdf> element", file);
	xmlFreeDoc(doc);
	map_fini(&source.names);
	vec_free(&source.name_texts);
	text_fini(&source.scratch);
	if (!source.status)
		*ret_root = root;
	return source.status;
}

void xml_add_escaped(struct text *out, const char *text)
{
	for (const unsigned char *c = (const unsigned char *)text; *c; c++)
		switch (*c) {
		case '&': text_add_bytes(out, "&amp;", 5); break;
		case '<': text_add_bytes(out, "&lt;", 4); break;
		case '>': text_add_bytes(out, "&gt;", 4); break;
		case '"': text_add_bytes(out, "&quot;", 6); break;
		default: text_add_bytes(out, *c < 0x20 && *c != '\n' && *c != '\t' ? "?" : (const char *)c, 1);
		}
}
