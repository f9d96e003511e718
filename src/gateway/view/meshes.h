/* Meshes and images for pages. To read one may take seconds, so a thread of its own asks the server for them, one after
 * the other, and keeps the meshes that were asked for lately. Images become files of the web server (images.h). */
#ifndef GATEWAY_VIEW_MESHES_H
#define GATEWAY_VIEW_MESHES_H

#include "gateway/bus.h"
#include "base/text.h"
#include "gateway/view/images.h"

enum {
	MESHES_KIND = 3,                  /* first byte of a mesh's frame */
	MESHES_KEPT_BYTES_MAX = 64 << 20, /* of the meshes that are kept */
	MESHES_WAITING_MAX = 4096,
};

struct meshes;

struct meshes_result {
	struct meshes_result *next; /* private */
	uint64_t page, id;          /* as given */
	bool good, is_path;
	struct text bytes; /* the frame of PROTOCOL.md; is_path: the path of an image; not good: the error */
};

/* images: where the images go; they must outlive the meshes. on_done: called on the thread when a result can be taken;
 * it must be quick. */
troupe_status meshes_create(const struct bus_place *place, struct images *images, void (*on_done)(void *ctx), void *ctx,
	struct meshes **ret_meshes, struct troupe_error *error);
/* NULL is fine. Waits until a file that is being read is read. */
void meshes_destroy(struct meshes *meshes);

struct meshes_question {
	uint64_t page, id;
	const char *world; /* "/world/w" */
	bool image;        /* bytes are a gz.msgs.StringMsg, the path of a map; otherwise a gz.msgs.Geometry */
	const void *bytes;
	size_t count;
};

/* One thread, any. TROUPE_ELIMIT: too many wait. */
troupe_status meshes_ask(struct meshes *meshes, const struct meshes_question *question, struct troupe_error *error);
/* The same thread. NULL: there is none yet. */
struct meshes_result *meshes_take(struct meshes *meshes);
void meshes_result_free(struct meshes_result *result);

#endif
