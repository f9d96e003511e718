/* Lists the models, or the worlds, in folders: for programs that let a person choose one. */
#ifndef SDF_CATALOG_H
#define SDF_CATALOG_H

#include "base/arena.h"
#include "sdf/sdf.h"

enum {
	SDF_CATALOG_MAX = 4096,           /* in the list */
	SDF_CATALOG_NAMES_MAX = 20000,    /* that are looked at in one folder */
	SDF_CATALOG_HEAD_BYTES = 1 << 16, /* of a file that are read */
	SDF_CATALOG_MS = 500,             /* after which no more is looked at */
};

struct sdf_catalog_request {
	const char *const *folders; /* NULL-terminated; one that cannot be read has nothing */
	/* Folders that are looked at before the others: each is a path, also as file:// or model://, to a folder of the
	 * list above, or to one that lies in it; relative paths begin in one of these. */
	const char *const *sources;
	uint32_t source_count;
	bool skip_wrong; /* sources that are wrong count for nothing */
	bool worlds;     /* false: models, lights and actors */
};

struct sdf_catalog_entry {
	const char *uri; /* of a model "model://...", for an <include> with the same folders; of a world "file://..." */
	const char *name;        /* as the file has it, or that of the file */
	const char *description; /* of a world: the first sentence of the comment at its beginning; "": none */
};

struct sdf_catalog {
	VEC(struct sdf_catalog_entry) entries; /* by folder, then by name */
	bool cut;                              /* a limit above was reached: there may be more */
	struct arena arena;                    /* owns the texts */
};

/* A model is a folder with a model.config or a model.sdf, or an SDF or URDF file; a world is an SDF file. What a file
 * holds is told by its first elements; the rest of it is not read, so the file may still have errors. TROUPE_ECOMMAND:
 * a source is wrong. On success the caller frees the list with sdf_catalog_fini(). */
troupe_status sdf_catalog_read(
	const struct sdf_catalog_request *request, struct sdf_catalog *ret_catalog, struct troupe_error *error);
/* The worlds in the folders in which sdf_find_file() searches, in its order. */
void sdf_catalog_worlds(const struct sdf_options *options, struct sdf_catalog *ret_catalog);
void sdf_catalog_fini(struct sdf_catalog *catalog);

#endif
