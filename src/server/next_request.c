/* Another run in the place of this one. A run belongs to one world and one seed, so the server does not change: the
 * program that has made it prepares another one (def.on_next), and this one ends. The world is read and made on the
 * thread of the client that asks, or in the background, so no step waits, and a world that is bad leaves this run as it
 * is. Files are searched for as a <uri> in this world is. */
#include "server/next_request.h"

#include "base/infile.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum next_state { NEXT_FREE, NEXT_BUSY, NEXT_GIVEN };

/* Relative file names begin in the folder of this world. */
static char *next_request_path_beside(const struct troupe_server *server, const char *name)
{
	const char *world = server->def.world_path, *slash = strrchr(world, '/');
	return mem_printf("%.*s%s", slash ? (int)(slash + 1 - world) : 0, world, name);
}

/* Without the scheme, if it means a file of this machine. */
static const char *next_request_name_of(const char *uri)
{
	static const char *const schemes[] = {"file://", "model://", "package://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (!strncmp(uri, schemes[i], strlen(schemes[i])))
			return uri + strlen(schemes[i]);
	return uri;
}

/* The caller frees it, also after an error. A pipe could keep the client's thread for ever. */
static troupe_status next_request_find(
	const struct troupe_server *server, const char *uri, char **ret_path, struct troupe_error *error)
{
	struct sdf_options options = {.resource_paths = server->def.resource_paths, .use_environment = true};
	const char *name = next_request_name_of(uri);
	int file = -1;
	char *beside = *name == '/' ? mem_strdup(name) : next_request_path_beside(server, name);
	*ret_path = sdf_find_file(beside, ".sdf", &options);
	if (!*ret_path)
		*ret_path = sdf_find_file(name, ".sdf", &options);
	free(beside);
	if (*ret_path && infile_open_plain(*ret_path, &file, NULL))
		return fail(error, TROUPE_EIO, "uri '%.200s': no regular file: expected one with a world", uri);
	if (file >= 0)
		(void)close(file);
	return *ret_path ? TROUPE_OK
			 : fail(error, TROUPE_EIO,
				   "uri '%.200s' is not found: expected a file beside that of this world or in a "
				   "resource path, or the name of a world",
				   uri);
}

static troupe_status next_request_give(
	struct troupe_server *server, const Troupe__Msgs__NextRun *asked, char **ret_world, struct troupe_error *error)
{
	static const char nothing[] = "<sdf version='1.9'><world name='no_world'/></sdf>";
	struct troupe_next next = {.asks = asked->asks,
		.unload = asked->unload,
		.seed_given = asked->seed_given,
		.seed = asked->seed,
		.strict = asked->strict,
		.all_assets = asked->all_assets};
	char *path = NULL;
	troupe_status status = TROUPE_OK;
	if (asked->unload) {
		next.text = nothing;
		path = next_request_path_beside(server, "(no world)");
	} else if (*asked->file) {
		status = next_request_find(server, asked->file, &path, error);
	} else if (*asked->text) {
		next.text = asked->text;
		path = next_request_path_beside(server, "(load_world)");
	}
	next.path = path;
	if (!status)
		status = server->def.on_next(server->def.ctx, &next, ret_world, error);
	free(path);
	return status;
}

static troupe_status next_request_make(
	struct troupe_server *server, const Troupe__Msgs__NextRun *asked, char **ret_world, struct troupe_error *error)
{
	int state = NEXT_FREE;
	if (!atomic_compare_exchange_strong(&server->next, &state, NEXT_BUSY))
		return fail(error, TROUPE_EINVAL, "%s: expected one request at a time",
			state == NEXT_BUSY ? "a world is being loaded already"
					   : "this run ends, because a world is loaded");
	troupe_status status = next_request_give(server, asked, ret_world, error);
	atomic_store(&server->next, !status && !asked->asks ? NEXT_GIVEN : NEXT_FREE);
	return status;
}

/* The run ends after the step that is under way. */
void next_request_complete(struct troupe_server *server)
{
	if (atomic_load(&server->next) == NEXT_GIVEN)
		troupe_server_stop(server);
}

static troupe_status next_request_answer(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	Gz__Msgs__StringMsg reply = GZ__MSGS__STRING_MSG__INIT;
	ProtobufCMessage *asked;
	char *world = NULL;
	(void)row;
	troupe_status status = message_of_bytes(
		&troupe__msgs__next_run__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	status = next_request_make(capture->server, (const void *)asked, &world, error);
	message_free(asked);
	reply.data = message_string(world ? world : "");
	if (!status)
		message_add_bytes(out, &reply.base);
	free(world);
	return status;
}

const struct query_ops next_request_ops = {.answer = next_request_answer, .ends_run = true, .is_slow = true};
