/* Files of images that pages ask for by HTTP, at a path made of their hash, so that a browser asks once for equal ones
 * and may keep them. They stay until the end: a page may ask for one at any time.
 *
 * Thread: any; a lock is held for as long as a search takes. */
#ifndef GATEWAY_VIEW_IMAGES_H
#define GATEWAY_VIEW_IMAGES_H

#include "gateway/web/web.h"

enum {
	IMAGES_BYTES_MAX = 256 << 20, /* of all images */
	IMAGES_COUNT_MAX = 65536,
	IMAGES_PATH_BYTES = 40, /* of a path, with its end */
};

struct images;

struct images *images_create(void);
void images_destroy(struct images *images); /* NULL is fine */

/* Copies the bytes, unless they are there. type: "image/png" or "image/jpeg". ret_path: relative to the page,
 * "images/0123456789abcdef". False: there is no room, or the type is another one. */
bool images_put(
	struct images *images, const char *type, const void *bytes, size_t count, char ret_path[IMAGES_PATH_BYTES]);
/* path: with "/" at its begin. The bytes are valid until images_destroy(). */
bool images_find(struct images *images, const char *path, struct web_file *ret_file);

#endif
