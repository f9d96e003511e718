/* A saved state: the files that the worlds were loaded from, how the worlds are simulated, and the parts of each
 * world that do not follow from these. It is complete, has a checksum, and is read by a troupe of the same VERSION.
 *
 *   "troupe state\n\0\0\0"   16 bytes
 *   version, checksum         64 bits each (../base/pack.h); the checksum is over all bytes that follow
 *   writer                    a string: version of the program, " fingerprint ", HEX16 of troupe_fingerprint()
 *   seed, flags, path of the world's file, search folders, libraries of plug-ins, files (../run/origin.h)
 *   number of worlds
 *   for each world: its name, its primary_pack() as bytes */
#include "server/internal.h"

#include "base/hash.h"
#include "base/infile.h"
#include "base/pack.h"
#include "run/origin.h"
#include "run/replica.h"
#include "server/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 16 };
#define FILE_BYTES_MAX ((size_t)4 << 30)

static const char save_magic[16] = "troupe state\n";

static bool save_lists(const char *const *folders, const char *name)
{
	for (; folders && *folders; folders++)
		if (!strcmp(*folders, name))
			return true;
	return false;
}

/* The search folders, because the names of files depend on them. In a resumed run the folders of the saved state are
 * among the first. */
static void save_list_folders(const struct troupe_server_def *def, struct origin *origin)
{
	const struct sdf_options environment = {.use_environment = true};
	struct arena arena = {0};
	for (const char *const *at = def->resource_paths; at && *at; at++)
		vec_push(&origin->folders, mem_strdup(*at));
	for (const char *const *at = sdf_folders(&environment, &arena); *at; at++)
		if (!save_lists(def->resource_paths, *at))
			vec_push(&origin->folders, mem_strdup(*at));
	arena_fini(&arena);
}

static void save_pack_origin(
	const struct troupe_server *server, const struct files *named, bool apart, struct text *out)
{
	struct origin origin = {.seed = server->def.seed,
		.ignore_levels = server->def.ignore_levels,
		.load_all = server->def.load_all,
		.sleepless = server->def.sleepless,
		.by_ode = server->def.by_ode,
		.sense_all = server->def.sense_all,
		.path = mem_strdup(server->def.world_path)};
	save_list_folders(&server->def, &origin);
	plugins_list_marks(server->plugins, &origin.plugins);
	origin.files = server->files; /* lent */
	origin.apart = apart;
	origin_pack(&origin, named, out);
	origin.files = (struct files){0};
	origin_fini(&origin);
}

/* The fingerprint is part of the version string, so that versions with and without a fingerprint can read each
 * other's files. */
static const char save_fingerprint_mark[] = " fingerprint ";

static void save_pack_saver(struct text *out)
{
	struct text saver = {0};
	text_add(&saver, "%s%s%016" PRIx64, troupe_version(), save_fingerprint_mark, troupe_fingerprint());
	pack_string(out, saver.at);
	text_fini(&saver);
}

troupe_status server_pack(struct troupe_server *server, struct text *out, struct troupe_error *error)
{
	return server_pack_with(server, NULL, out, error);
}

/* apart: files that are set apart go without their bytes. */
static troupe_status save_pack(struct troupe_server *server, struct schedule *waiting, bool apart, struct text *out,
	struct troupe_error *error)
{
	struct text body = {0}, world = {0};
	save_pack_saver(&body);
	struct files named = {.before = &server->files}; /* named by waiting commands */
	for (uint32_t i = 0; i < server->world_count; i++)
		schedule_collect(waiting ? &waiting[i] : primary_schedule(server->worlds[i].primary), &named);
	troupe_status status = apart ? TROUPE_OK : files_recall(&named, error);
	save_pack_origin(server, &named, apart, &body);
	files_fini(&named);
	pack_u64(&body, server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++) {
		world.count = 0;
		struct primary *primary = server->worlds[i].primary;
		primary_pack_with(primary, waiting ? &waiting[i] : primary_schedule(primary), &world);
		pack_string(&body, server->worlds[i].scene->name);
		pack_bytes(&body, world.at, world.count);
	}
	static const char head[SAVE_HEAD_BYTES];
	size_t begin = out->count;
	text_add_bytes(out, head, sizeof head);
	text_add_bytes(out, body.at, body.count);
	server_seal(out->at + begin, out->count - begin);
	text_fini(&world);
	text_fini(&body);
	return status;
}

troupe_status server_pack_with(
	struct troupe_server *server, struct schedule *waiting, struct text *out, struct troupe_error *error)
{
	return save_pack(server, waiting, false, out, error);
}

void server_pack_apart(struct troupe_server *server, struct text *out)
{
	(void)save_pack(server, NULL, true, out, NULL);
}

static troupe_status save_read_kept(struct unread *unread, struct files *named, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	const char *path, *bytes;
	size_t count;
	uint32_t at = 0;
	while (!status && (path = unread_kept_file(unread, &at)))
		status = files_read(named, path, MESH_FILE_BYTES_MAX, &bytes, &count, error);
	return status;
}

/* A replica has no connection while it loads. It needs the bytes then of meshes whose models were changed. */
troupe_status server_pack_replica(struct troupe_server *server, struct text *out, struct troupe_error *error)
{
	struct unread *unread = server->worlds[0].scene->unread;
	struct files named = {.before = &server->files};
	troupe_status status = unread ? save_read_kept(unread, &named, error) : files_recall(&named, error);
	save_pack_origin(server, &named, unread, out);
	files_fini(&named);
	replica_pack(server->worlds[0].primary, out);
	return status;
}

void server_seal(char *state, size_t count)
{
	struct text head = {0};
	assert(count >= SAVE_HEAD_BYTES);
	text_add_bytes(&head, save_magic, sizeof save_magic);
	pack_u64(&head, VERSION);
	pack_u64(&head, hash_bytes(VERSION, state + SAVE_HEAD_BYTES, count - SAVE_HEAD_BYTES));
	assert(head.count == SAVE_HEAD_BYTES);
	memcpy(state, head.at, head.count);
	text_fini(&head);
}

bool server_is_state(const char *bytes, size_t count)
{
	return count >= sizeof save_magic && !memcmp(bytes, save_magic, sizeof save_magic);
}

troupe_status troupe_server_save(struct troupe_server *server, const char *path, struct troupe_error *error)
{
	struct text out = {0};
	struct outfile_options options = server_options(server);
	troupe_status status = server_pack(server, &out, error);
	if (!status)
		status = outfile_replace(path, out.at, out.count, &options, error);
	text_fini(&out);
	return status;
}

troupe_status troupe_server_pack(
	struct troupe_server *server, void **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct text out = {0};
	troupe_status status = server_pack(server, &out, error);
	if (status) {
		text_fini(&out);
		return status;
	}
	*ret_bytes = out.at;
	*ret_count = out.count;
	return TROUPE_OK;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static troupe_status save_check_head(const char *path, const char *bytes, size_t count, struct troupe_error *error)
{
	struct unpack head = {bytes + sizeof save_magic, bytes + SAVE_HEAD_BYTES, false};
	if (count < SAVE_HEAD_BYTES || !server_is_state(bytes, count))
		return fail(error, TROUPE_EWORLD, "%s: not a state saved by troupe%s", path,
			count >= RECORD_MAGIC_BYTES && !memcmp(bytes, record_magic, RECORD_MAGIC_BYTES)
				? ": it is a recording, which troupe replay takes"
				: "");
	uint64_t version = unpack_u64(&head);
	if (version != VERSION)
		return fail(error, TROUPE_EWORLD, "%s: version %llu: expected %d; another version of troupe saved it",
			path, (unsigned long long)version, VERSION);
	if (unpack_u64(&head) != hash_bytes(VERSION, bytes + SAVE_HEAD_BYTES, count - SAVE_HEAD_BYTES))
		return fail(error, TROUPE_EWORLD, "%s: damaged: its checksum does not fit", path);
	return TROUPE_OK;
}

/* Folders that are given now come before the saved ones. ODE, and no sleep, may be asked for from here on. */
static void save_take_origin(struct troupe_server *server, struct origin *origin)
{
	struct troupe_server_def *def = &server->def;
	def->seed = origin->seed;
	def->ignore_levels = origin->ignore_levels;
	def->load_all = origin->load_all;
	def->sleepless |= origin->sleepless;
	def->by_ode |= origin->by_ode;
	def->sense_all |= origin->sense_all;
	def->world_path = server->saved_path = origin->path;
	for (const char *const *at = def->resource_paths; at && *at; at++)
		vec_push(&server->folders, mem_strdup(*at));
	for (uint32_t i = 0; i < origin->folders.count; i++)
		vec_push(&server->folders, origin->folders.at[i]);
	vec_push(&server->folders, NULL);
	def->resource_paths = (const char *const *)server->folders.at;
	server->files = origin->files;
	server->files.source = server->source;
	origin_expect(origin, server->plugins, def->resume_path);
	plugin_marks_fini(&origin->plugins);
	vec_free(&origin->folders);
}

/* If the fingerprint differs, later bits may differ; the state itself is as it was saved. */
static void save_unpack_saver(struct troupe_server *server, struct unpack *in)
{
	char *saver = unpack_string(in), here[17];
	const char *mark = strstr(saver, save_fingerprint_mark);
	(void)snprintf(here, sizeof here, "%016" PRIx64, troupe_fingerprint());
	if (mark && strcmp(mark + strlen(save_fingerprint_mark), here) != 0) {
		struct troupe_error line; /* the file may contain any bytes */
		(void)fail(&line, TROUPE_EWORLD,
			"%s: made under the floating-point fingerprint %.20s, and this machine has %s: bits may differ "
			"from here on",
			server->def.resume_path, mark + strlen(save_fingerprint_mark), here);
		server_warn(server, line.text);
	}
	free(saver);
}

/* --- for a world that runs ---------------------------------------------------------------------------------------- */

static const struct files_entry *save_find_file(const struct files *files, const char *path)
{
	for (uint32_t i = 0; i < files->all.count; i++)
		if (!strcmp(files->all.at[i].path, path))
			return &files->all.at[i];
	return NULL;
}

static size_t save_folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash + 1 - path) : 0;
}

/* The part of the path below the folder of the world; "./" is the folder of a world without one. NULL: it is elsewhere.
 */
static const char *save_below(const char *world, const char *path)
{
	size_t folder = save_folder_length(world);
	if (!folder)
		return *path == '/' ? NULL : path + (strncmp(path, "./", 2) ? 0 : 2);
	return strncmp(path, world, folder) ? NULL : path + folder;
}

/* The same file of this run, in which the world may have been found under another name of its folder. */
static const struct files_entry *save_find_here(const struct troupe_server *server, const char *world, const char *path)
{
	const char *part = save_below(world, path);
	for (uint32_t i = 0; part && i < server->files.all.count; i++) {
		const char *here = save_below(server->def.world_path, server->files.all.at[i].path);
		if (here && !strcmp(here, part))
			return &server->files.all.at[i];
	}
	return save_find_file(&server->files, path);
}

/* The world must be the same, to the byte, and must be simulated in the same way. */
static troupe_status save_check_origin(
	const struct troupe_server *server, const struct origin *origin, const char *path, struct troupe_error *error)
{
	const struct troupe_server_def *def = &server->def;
	const char *name = origin->path + save_folder_length(origin->path);
	if (strcmp(name, def->world_path + save_folder_length(def->world_path)) != 0)
		return fail(error, TROUPE_EWORLD, "%s: a state of the world in %.150s: expected one of %.150s", path,
			origin->path, def->world_path);
	for (uint32_t i = 0; i < origin->files.all.count; i++) {
		const struct files_entry *file = &origin->files.all.at[i],
					 *here = save_find_here(server, origin->path, file->path);
		if (!here && file->absent) /* a command that waited looked for it in vain, and does not look again */
			continue;
		if (!here)
			return fail(error, TROUPE_EWORLD,
				"%s: it has the file %.150s for commands that waited: expected a state without such "
				"commands (troupe run --resume takes it)",
				path, file->path);
		if (!files_same(file, here))
			return fail(error, TROUPE_EWORLD, "%s: a state of another world: %.150s has changed since",
				path, file->path);
	}
	for (uint32_t i = 0; i < origin->plugins.count; i++) {
		const struct plugin_mark *mark = &origin->plugins.at[i];
		troupe_status status = plugins_match(server->plugins, mark->filename, mark->hash, path, error);
		if (status)
			return status;
	}
	if (origin->seed != def->seed)
		return fail(error, TROUPE_EWORLD, "%s: a state of a run with seed %" PRIu64 ": expected %" PRIu64, path,
			origin->seed, def->seed);
	if (origin->ignore_levels != def->ignore_levels || origin->sleepless != def->sleepless ||
		origin->by_ode != def->by_ode)
		return fail(error, TROUPE_EWORLD,
			"%s: a state of a run with other options: expected the same --no-levels, --no-sleep and "
			"--solver",
			path);
	return TROUPE_OK;
}

static troupe_status save_check_saver(const char *path, struct unpack *in, struct troupe_error *error)
{
	char *saver = unpack_string(in), here[17];
	const char *mark = strstr(saver, save_fingerprint_mark);
	(void)snprintf(here, sizeof here, "%016" PRIx64, troupe_fingerprint());
	troupe_status status = TROUPE_OK;
	if (mark && strcmp(mark + strlen(save_fingerprint_mark), here) != 0)
		status = fail(error, TROUPE_EWORLD,
			"%s: made under the floating-point fingerprint %.20s: expected that of this run, %s", path,
			mark + strlen(save_fingerprint_mark), here);
	free(saver);
	return status;
}

/* The bytes of the world of this name; NULL: it is not there. */
static const char *save_find_world(struct unpack *in, const char *world, size_t *ret_count)
{
	uint32_t count = unpack_count(in, SDF_WORLDS_MAX);
	const char *found = NULL;
	for (uint32_t i = 0; i < count && !in->bad && !found; i++) {
		char *name = unpack_string(in);
		const char *bytes = unpack_bytes(in, ret_count);
		if (!in->bad && !strcmp(name, world))
			found = bytes;
		free(name);
	}
	return found;
}

static troupe_status save_read_world(const struct server_world *world, const char *path, struct unpack *in,
	char **ret_bytes, size_t *ret_count, struct troupe_error *error)
{
	struct origin origin = {0};
	troupe_status status = save_check_saver(path, in, error);
	if (!status && !origin_unpack(&origin, in))
		status = fail(error, TROUPE_EWORLD, "%s: damaged: its beginning", path);
	if (!status)
		status = save_check_origin(world->server, &origin, path, error);
	origin_fini(&origin);
	if (status)
		return status;
	const char *bytes = save_find_world(in, world->scene->name, ret_count);
	if (!bytes)
		return fail(error, TROUPE_EWORLD, "%s: damaged: it has no world '%.100s'", path, world->scene->name);
	*ret_bytes = mem_alloc(*ret_count + 1);
	memcpy(*ret_bytes, bytes, *ret_count);
	return TROUPE_OK;
}

troupe_status server_read_state(const struct server_world *world, const char *path, char **ret_bytes, size_t *ret_count,
	struct troupe_error *error)
{
	char *file = NULL;
	size_t count = 0;
	troupe_status status = infile_read_plain(path, save_magic, FILE_BYTES_MAX, &file, &count, error);
	if (!status)
		status = save_check_head(path, file, count, error);
	struct unpack in = {file + (status ? 0 : SAVE_HEAD_BYTES), file + count, false};
	if (!status)
		status = save_read_world(world, path, &in, ret_bytes, ret_count, error);
	free(file);
	return status;
}

/* --- resuming ----------------------------------------------------------------------------------------------------- */

troupe_status server_open_save(struct troupe_server *server, struct troupe_error *error)
{
	const char *path = server->def.resume_path;
	size_t *count = &server->saved_count;
	troupe_status status = TROUPE_OK;
	if (!server->saved)
		status = infile_read_of(path, save_magic, FILE_BYTES_MAX, &server->saved, count, error);
	if (!status)
		status = save_check_head(path, server->saved, *count, error);
	if (status)
		return status;
	struct unpack *in = &server->rest;
	*in = (struct unpack){server->saved + SAVE_HEAD_BYTES, server->saved + *count, false};
	save_unpack_saver(server, in);
	struct origin origin = {0};
	bool whole = origin_unpack(&origin, in);
	save_take_origin(server, &origin);
	return whole ? TROUPE_OK : fail(error, TROUPE_EWORLD, "%s: damaged: its beginning", path);
}

static troupe_status save_resume_worlds(
	struct troupe_server *server, broadcast_list *broadcasts, struct troupe_error *error)
{
	struct unpack *in = &server->rest;
	struct troupe_error why;
	const char *path = server->def.resume_path;
	if (unpack_count(in, SDF_WORLDS_MAX) != server->world_count)
		return fail(error, TROUPE_EWORLD, "%s: damaged: the number of worlds", path);
	for (uint32_t i = 0; i < server->world_count; i++) {
		struct server_world *world = &server->worlds[i];
		char *name = unpack_string(in);
		bool same = !strcmp(name, world->scene->name);
		size_t count;
		const char *bytes = unpack_bytes(in, &count);
		free(name);
		if (in->bad || !same)
			return fail(error, TROUPE_EWORLD, "%s: damaged: world %u", path, i + 1);
		struct unpack part = {bytes, bytes + count, false};
		if (primary_unpack(world->primary, &part, broadcasts, &why))
			return fail(error, why.status, "%s: world '%s': %s", path, world->scene->name, why.text);
	}
	return TROUPE_OK;
}

troupe_status server_resume(struct troupe_server *server, struct troupe_error *error)
{
	broadcast_list broadcasts = {0};
	troupe_status status = save_resume_worlds(server, &broadcasts, error);
	vec_free(&broadcasts);
	if (status)
		return status;
	free(server->saved);
	server->saved = NULL;
	return TROUPE_OK;
}
