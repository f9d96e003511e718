/* A configuration file of ours: the elements below one root, for callers that know what they may be. */
#ifndef SDF_CONFIG_H
#define SDF_CONFIG_H

#include "sdf/sdf.h"

enum { SDF_CONFIG_BYTES_MAX = 1 << 20 };

/* *ret_root is the root element; it and its names hang on arena. TROUPE_EIO, TROUPE_ELIMIT; TROUPE_EWORLD, with
 * file:line: not well-formed, another root than root_name, or text between the elements. */
troupe_status sdf_read_elements(const char *path, const char *root_name, struct arena *arena,
	const struct sdf_element **ret_root, struct troupe_error *error);

#endif
