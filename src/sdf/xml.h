/* XML text -> a tree of struct sdf_element. The only file that uses libxml2.
 *
 * Tolerant where Gazebo's parser is tolerant (see xml.c); all other text that is not well-formed is refused with
 * file:line. Never reads another file, and never expands an entity that the document declares. */
#ifndef SDF_XML_H
#define SDF_XML_H

#include "sdf/sdf.h"

#include <string.h>

/* The tree lives in arena; file must live as long as the tree. */
troupe_status xml_parse(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *error);
/* The same for files of which little is needed: damaged text gives the elements that can be read, and *ret_damage
 * (which may be NULL) says where the first damage is; its status is TROUPE_OK if there is none. An error: there are no
 * elements, or a limit is exceeded; *ret_damage is then the error. */
troupe_status xml_parse_tolerant(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *ret_damage);

static inline bool xml_is(const struct sdf_element *element, const char *name)
{
	return !strcmp(element->name, name);
}

/* Adds text with the characters that XML reserves escaped, and those that a person must not see as they are
 * (base/shown.h); control characters that XML cannot hold become '?'. */
void xml_add_escaped(struct text *out, const char *text);
/* The same for the value of an attribute, in which a line feed or tab would be read as a blank. */
void xml_add_attribute(struct text *out, const char *value);

#endif
