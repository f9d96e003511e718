/* Panels of the user: folders of static files that the page shows in frames of their own (PROTOCOL.md, "Panels"). They
 * are read once, at the start: then nothing that a browser asks for is a path of the disk.
 *
 * A frame has no origin, and so neither the page's cookie nor its Origin: its files lie below a random path, which the
 * page is told and which is asked for in place of a token.
 *
 * Thread: one; panels_file() any, afterwards. */
#ifndef GATEWAY_VIEW_PANELS_H
#define GATEWAY_VIEW_PANELS_H

#include "gateway/web/web.h"

#include <troupe/gateway.h>

enum {
	PANELS_MAX = 4,
	PANELS_FILES_MAX = 256, /* of a panel */
	PANELS_FILE_BYTES_MAX = 8 << 20,
	PANELS_BYTES_MAX = 32 << 20, /* of a panel */
	PANELS_DEPTH_MAX = 4,        /* folders in a panel */
};

struct panels;

/* Reads the folders that the settings `panel` name. TROUPE_EINVAL: one has no index.html; TROUPE_ELIMIT; TROUPE_EIO. */
troupe_status panels_create(
	const struct troupe_gateway_def *def, struct panels **ret_panels, struct troupe_error *error);
void panels_destroy(struct panels *panels); /* NULL is fine */

uint32_t panels_count(const struct panels *panels);
const char *panels_name(const struct panels *panels, uint32_t index); /* of its folder */
/* Of its index.html, relative to the page. */
const char *panels_path(const struct panels *panels, uint32_t index);
/* path: with "/" at its begin. The bytes are valid until panels_destroy(). */
bool panels_file(const struct panels *panels, const char *path, struct web_file *ret_file);

#endif
