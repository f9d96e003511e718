/* Files of parameters of ROS: the part of YAML 1.2 that they are written in -> a tree of struct sdf_element.
 *
 * Understood: maps and lists, by indentation and in brackets, also over several lines; plain and quoted scalars;
 * comments. Refused with file:line: anchors, aliases, tags, block scalars, tabs as indentation, a second document. */
#ifndef SDF_YAML_H
#define SDF_YAML_H

#include "sdf/sdf.h"

/* *ret_root has a child for each entry: of a map with the key as its name, of a list with the name "item". A scalar is
 * the text of its element. The text ends with a zero byte, text[bytes]. The tree lives in arena; file must live as long
 * as the tree. TROUPE_EWORLD: the text is no such YAML, or has another zero byte; TROUPE_ELIMIT: it is deeper than
 * SDF_DEPTH_MAX. */
troupe_status yaml_parse(struct arena *arena, const char *text, size_t bytes, const char *file,
	const struct sdf_element **ret_root, struct troupe_error *error);

#endif
