/* Reads a configuration file of troupe: a tree of elements below one root. The caller checks the elements. */
#ifndef SDF_CONFIG_H
#define SDF_CONFIG_H

#include "sdf/sdf.h"

enum { SDF_CONFIG_BYTES_MAX = 1 << 20 };

/* *ret_root is the root element; the tree and its names live in arena. TROUPE_EIO, TROUPE_ELIMIT; TROUPE_EWORLD, with
 * file:line: not well-formed, a root that is not root_name, a root with attributes or with text of its own. */
troupe_status sdf_read_elements(const char *path, const char *root_name, struct arena *arena,
	const struct sdf_element **ret_root, struct troupe_error *error);

#endif
