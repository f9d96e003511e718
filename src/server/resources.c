/* Models that clients can create, and worlds that another run can have. The folders are read on the thread of the
 * client that asks, for half a second at most (sdf/catalog.h), so no step waits. Clients learn of files in the folders
 * of the run only: beside the world's file, in the resource paths, in those of the environment, and among the worlds of
 * troupe. */
#include "server/resources.h"

#include "base/data.h"
#include "sdf/catalog.h"
#include "server/encode.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <stdlib.h>
#include <string.h>

typedef Troupe__Msgs__Resources__Resource resource_t;

enum { SOURCES_MAX = 256 };

struct folders {
	VEC(const char *) all;
	struct arena arena;
};

/* The folder of the world, those in which files are searched for, and those of troupe's own worlds. Ends with NULL. */
static void resources_find_folders(const struct troupe_server_def *def, bool worlds, struct folders *folders)
{
	const struct sdf_options options = {.resource_paths = def->resource_paths, .use_environment = true};
	const char *slash = strrchr(def->world_path, '/');
	char *data;
	vec_push(&folders->all,
		slash == def->world_path ? "/"
		: !slash                 ? "."
			 : arena_printf(&folders->arena, "%.*s", (int)(slash - def->world_path), def->world_path));
	for (const char *const *at = sdf_folders(&options, &folders->arena); *at; at++)
		vec_push(&folders->all, *at);
	for (uint32_t i = 0; worlds && (data = data_folder("worlds", i)); i++) {
		vec_push(&folders->all, arena_strdup(&folders->arena, data));
		free(data);
	}
	vec_push(&folders->all, NULL);
}

static void resources_encode(const struct sdf_catalog *catalog, struct text *out)
{
	struct arena arena = {0};
	Troupe__Msgs__Resources message = TROUPE__MSGS__RESOURCES__INIT;
	message.cut = catalog->cut;
	message.resource = arena_array(&arena, resource_t *, catalog->entries.count);
	for (uint32_t i = 0; i < catalog->entries.count; i++) {
		resource_t *resource = ENCODE_NEW(&arena, resource_t, troupe__msgs__resources__resource__init);
		resource->uri = encode_text(catalog->entries.at[i].uri);
		resource->name = encode_text(catalog->entries.at[i].name);
		resource->description = encode_text(catalog->entries.at[i].description);
		message.resource[message.n_resource++] = resource;
	}
	(void)encode_end(&message.base, &arena, out);
}

static troupe_status resources_find(const struct troupe_server_def *def, const Troupe__Msgs__FindResources *asked,
	struct text *out, struct troupe_error *error)
{
	struct folders folders = {0};
	struct sdf_catalog catalog;
	if (asked->n_source > SOURCES_MAX)
		return fail(error, TROUPE_ELIMIT, "%zu sources: expected at most %d", asked->n_source, SOURCES_MAX);
	resources_find_folders(def, asked->worlds, &folders);
	struct sdf_catalog_request request = {.folders = folders.all.at,
		.sources = (const char *const *)asked->source,
		.source_count = (uint32_t)asked->n_source,
		.skip_wrong = asked->skip_wrong,
		.worlds = asked->worlds};
	troupe_status status = sdf_catalog_read(&request, &catalog, error);
	if (!status) {
		resources_encode(&catalog, out);
		sdf_catalog_fini(&catalog);
	}
	vec_free(&folders.all);
	arena_fini(&folders.arena);
	return status;
}

static troupe_status resources_answer(const struct capture *capture, const struct topic_row *row, const void *request,
	size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *asked;
	(void)row;
	troupe_status status = message_of_bytes(
		&troupe__msgs__find_resources__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	status = resources_find(&capture->server->def, (const void *)asked, out, error);
	message_free(asked);
	return status;
}

const struct query_ops ask_resources = {.answer = resources_answer, .is_slow = true};
