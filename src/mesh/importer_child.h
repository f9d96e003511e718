/* The child of an importer, and what both say to each other: each message begins with a head, behind which as many
 * bytes come as it says. The parent asks, with the path and the bytes of a file; the child may want further files, and
 * then answers. */
#ifndef MESH_IMPORTER_CHILD_H
#define MESH_IMPORTER_CHILD_H

#include "base/base.h"

enum importer_what {
	ASK_MESH,
	ASK_IMAGE,
	ASK_TEXELS,
	ASK_CUBE,
	GIVE_FILE,      /* status says whether it is there */
	WANT_FILE,      /* its path follows */
	ANSWER,         /* in the form of mesh/answer.h */
	ANSWER_REFUSED, /* status says why; its text follows */
};

struct importer_head {
	uint32_t what, status;
	uint32_t path_bytes, zero; /* for ASK_...: length of the path, which comes before the file */
	uint64_t bytes;
};

/* The life of the child, in a process of its own (base/sandbox.h), until the parent has ended. ctx: NULL. */
void importer_serve(int stream, void *ctx);

#endif
