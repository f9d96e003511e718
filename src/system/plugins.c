/* What a library exports is not trusted to be whole: it is read in a child process first (plugin_check.h). It is then
 * loaded with all rights of this process, because that is what a plug-in is for: who may put files into the
 * folders for plug-ins, or names another one, decides which code runs.
 *
 * A library that was built with an older header has smaller structs. They are copied into full ones, in which the
 * members that the library does not know are NULL. */
#include "system/plugins.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/infile.h"
#include "base/near.h"
#include "base/probe.h"
#include "system/plugin_check.h"
#include "system/system.h"

#include <dlfcn.h>
#include <fenv.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct plugins_entry { /* of one filename; its address is constant */
	struct plugin_library library;
	char *filename, *path; /* path: NULL: not found */
	void *handle;
	const struct troupe_kind **kinds;
	struct troupe_error why; /* status: it cannot be used; without a place */
	bool looked, used;
	char *whose; /* NULL: no hash is expected */
	uint64_t expected;
	struct arena arena; /* of copied kinds */
};

struct plugins {
	VEC(char *) folders;
	VEC(struct plugins_entry *) entries;
	struct map by_filename;
	const struct plugin_library *preferred; /* NULL: none */
	pthread_mutex_t lock;
};

static void plugins_add_folders(struct plugins *plugins, const char *list)
{
	for (const char *at = list; at && *at;) {
		size_t length = strcspn(at, ":");
		if (length)
			vec_push(&plugins->folders, mem_printf("%.*s", (int)length, at));
		at += length + (at[length] == ':');
	}
}

struct plugins *plugins_create(const char *const *folders)
{
	struct plugins *plugins = mem_alloc(sizeof *plugins);
	for (; folders && *folders; folders++)
		plugins_add_folders(plugins, *folders);
	plugins_add_folders(plugins, getenv("TROUPE_PLUGIN_PATH"));
	plugins_add_folders(plugins, TROUPE_MODULES "/plugins");
	pthread_mutex_init(&plugins->lock, NULL);
	return plugins;
}

static void plugins_close_entry(struct plugins_entry *entry)
{
	if (entry->handle)
		(void)dlclose(entry->handle);
	free(entry->kinds);
	free(entry->filename);
	free(entry->path);
	free(entry->whose);
	arena_fini(&entry->arena);
	free(entry);
}

void plugins_destroy(struct plugins *plugins)
{
	if (!plugins)
		return;
	for (uint32_t i = 0; i < plugins->entries.count; i++)
		plugins_close_entry(plugins->entries.at[i]);
	for (uint32_t i = 0; i < plugins->folders.count; i++)
		free(plugins->folders.at[i]);
	vec_free(&plugins->entries);
	vec_free(&plugins->folders);
	map_fini(&plugins->by_filename);
	pthread_mutex_destroy(&plugins->lock);
	free(plugins);
}

bool plugins_are_loaded(struct plugins *plugins)
{
	bool loaded = false;
	pthread_mutex_lock(&plugins->lock);
	for (uint32_t i = 0; i < plugins->entries.count && !loaded; i++)
		loaded = plugins->entries.at[i]->handle;
	pthread_mutex_unlock(&plugins->lock);
	return loaded;
}

/* --- finding ------------------------------------------------------------------------------------------------------ */

static bool plugins_is_file(const char *path)
{
	struct stat info;
	return !stat(path, &info) && S_ISREG(info.st_mode);
}

static char *plugins_find_in(const char *folder, const char *filename)
{
	char *candidates[] = {mem_printf("%s/%s", folder, filename), mem_printf("%s/%s.so", folder, filename),
		mem_printf("%s/lib%s.so", folder, filename)};
	char *found = NULL;
	for (size_t i = 0; i < ARRAY_LEN(candidates); i++)
		if (!found && plugins_is_file(candidates[i]))
			found = candidates[i];
		else
			free(candidates[i]);
	return found;
}

static bool plugins_is_in(const char *path, const char *folder)
{
	char *file = realpath(path, NULL), *real = realpath(folder, NULL);
	size_t length = real ? strlen(real) : 0;
	bool in =
		file && real && !strncmp(file, real, length) && file[length] == '/' && !strchr(file + length + 1, '/');
	free(file);
	free(real);
	return in;
}

static void plugins_find_absolute(const struct plugins *plugins, struct plugins_entry *entry)
{
	bool allowed = false;
	if (!plugins_is_file(entry->filename))
		return;
	for (uint32_t i = 0; i < plugins->folders.count; i++)
		allowed |= plugins_is_in(entry->filename, plugins->folders.at[i]);
	entry->path = mem_strdup(entry->filename);
	if (!allowed)
		(void)fail(&entry->why, TROUPE_EWORLD,
			"it is not in a folder for plug-ins: expected --plugin-path with its folder");
}

static void plugins_find_file(const struct plugins *plugins, struct plugins_entry *entry)
{
	const char *slash = strchr(entry->filename, '/');
	if (slash == entry->filename)
		plugins_find_absolute(plugins, entry);
	else if (*entry->filename && !slash)
		for (uint32_t i = 0; i < plugins->folders.count && !entry->path; i++)
			entry->path = plugins_find_in(plugins->folders.at[i], entry->filename);
}

/* What stands for a library: "push", "push.so" and "libpush.so" are the same. */
static void plugins_offer_folder(const char *folder, struct arena *arena, struct near *near)
{
	static const char ending[] = ".so";
	struct files disk = {0};
	const char *const *names;
	uint32_t count = files_list(&disk, folder, arena, &names);
	for (uint32_t i = 0; i < count; i++) {
		size_t length = strlen(names[i]), tail = sizeof ending - 1;
		if (length > tail && !strcmp(names[i] + length - tail, ending))
			near_offer(near, names[i]);
	}
	files_fini(&disk);
}

void plugins_explain(struct plugins *plugins, const char *filename, struct text *out)
{
	enum { SHOWN = 3 };
	struct arena arena = {0};
	struct near near = near_to(filename);
	uint32_t count = plugins ? plugins->folders.count : 0;
	if (!count || !*filename || (strchr(filename, '/') && *filename != '/'))
		return;
	text_add(out, "its library \"%.80s\" is not found", filename);
	for (uint32_t i = 0; *filename != '/' && i < count; i++) {
		if (i < SHOWN)
			text_add(out, "%s%.100s", !i ? " in " : i + 1 == count ? " or " : ", ", plugins->folders.at[i]);
		plugins_offer_folder(plugins->folders.at[i], &arena, &near);
	}
	if (count > SHOWN && *filename != '/')
		text_add(out, " or %u other folder%s", (unsigned)(count - SHOWN), count - SHOWN == 1 ? "" : "s");
	text_add(out, ": expected a library that is there%s", near_best(&near) ? near_such_as(&near) : "");
	arena_fini(&arena);
}

/* --- what a library exports --------------------------------------------------------------------------------------- */

const struct troupe_kind *plugin_kind(const struct troupe_kind *const *kinds, const char *name)
{
	for (; *kinds; kinds++)
		for (const char *const *alias = (*kinds)->names; *alias; alias++)
			if (!strcmp(*alias, name))
				return *kinds;
	return NULL;
}

void plugin_list_kinds(const struct troupe_kind *const *kinds, struct text *out)
{
	for (uint32_t i = 0; kinds[i]; i++)
		text_add(out, "%s%s", i ? ", " : "", kinds[i]->names[0]);
}

/* dlopen() searches for a name without a slash in the folders of the system, and not in this folder. */
static void *plugins_open_library(const char *path, int flags)
{
	char *here = strchr(path, '/') ? NULL : mem_printf("./%s", path);
	void *handle = dlopen(here ? here : path, flags);
	free(here);
	return handle;
}

/* Loads the library and checks it. *ret_handle: to be closed, also after an error; NULL: it is not loaded. */
static troupe_status plugins_load(
	const char *path, void **ret_handle, const struct troupe_plugin **ret_plugin, struct troupe_error *error)
{
	fenv_t before;
	fegetenv(&before);
	*ret_handle = plugins_open_library(path, RTLD_NOW | RTLD_LOCAL);
	fesetenv(&before); /* the linker's -ffast-math makes small numbers 0 on the thread that loads the library */
	if (!*ret_handle) {
		const char *why = dlerror();
		return fail(error, TROUPE_EWORLD, "it cannot be loaded: %s", why ? why : "no reason given");
	}
	*ret_plugin = dlsym(*ret_handle, PLUGIN_SYMBOL);
	if (!*ret_plugin)
		return fail(error, TROUPE_EWORLD,
			"it has no symbol '" PLUGIN_SYMBOL "': expected a plug-in of troupe (troupe/plugin.h)");
	return plugin_check(*ret_plugin, error);
}

/* The answer is empty if all is well. */
static void plugins_try_in_child(void *ctx, struct text *answer)
{
	const struct plugins_entry *entry = ctx;
	const struct troupe_plugin *plugin;
	struct troupe_error why;
	void *handle;
	if (plugins_load(entry->path, &handle, &plugin, &why))
		text_add(answer, "%s", why.text);
}

static void plugins_try_first(struct plugins_entry *entry)
{
	struct text answer = {0};
	struct troupe_error how;
	void *loaded = plugins_open_library(entry->path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	if (loaded) { /* another server of this process has it: it has been tried */
		(void)dlclose(loaded);
		return;
	}
	troupe_status status = probe_run(plugins_try_in_child, entry, PLUGIN_LOAD_MS, &answer, &how);
	if (status)
		(void)fail(&entry->why, TROUPE_EWORLD, "while it is loaded, %s", how.text);
	else if (answer.count)
		(void)fail(&entry->why, TROUPE_EWORLD, "%s", answer.at);
	text_fini(&answer);
}

static const struct troupe_kind *plugins_complete(struct plugins_entry *entry, const struct troupe_kind *kind)
{
	if (kind->size >= sizeof *kind)
		return kind;
	struct troupe_kind *copy = arena_new(&entry->arena, struct troupe_kind);
	memcpy(copy, kind, kind->size);
	return copy;
}

static void plugins_take_kinds(struct plugins_entry *entry)
{
	uint32_t count = 0;
	while (entry->library.plugin->kinds[count])
		count++;
	entry->kinds = mem_alloc((count + 1) * sizeof *entry->kinds);
	for (uint32_t i = 0; i < count; i++)
		entry->kinds[i] = plugins_complete(entry, entry->library.plugin->kinds[i]);
	entry->library.kinds = entry->kinds;
}

static void plugins_hash_file(struct plugins_entry *entry)
{
	char *bytes;
	size_t count;
	struct troupe_error why;
	if (infile_read_plain(entry->path, NULL, PLUGIN_FILE_BYTES_MAX, &bytes, &count, &why)) {
		(void)fail(&entry->why, TROUPE_EWORLD, "%s", why.text);
		return;
	}
	uint64_t hash = hash_bytes(1, bytes, count);
	entry->library.hash = hash ? hash : 1;
	free(bytes);
}

static void plugins_open_file(struct plugins_entry *entry)
{
	plugins_hash_file(entry);
	if (!entry->why.status)
		plugins_try_first(entry);
	if (!entry->why.status)
		(void)plugins_load(entry->path, &entry->handle, &entry->library.plugin, &entry->why);
	if (entry->why.status)
		return;
	entry->library.filename = entry->filename;
	entry->library.path = entry->path;
	plugins_take_kinds(entry);
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

static struct plugins_entry *plugins_entry_of(struct plugins *plugins, const char *filename)
{
	uint32_t index = plugins->entries.count;
	if (map_find(&plugins->by_filename, filename, &index))
		return plugins->entries.at[index];
	struct plugins_entry *entry = mem_alloc(sizeof *entry);
	entry->filename = mem_strdup(filename);
	(void)map_add(&plugins->by_filename, entry->filename, index);
	vec_push(&plugins->entries, entry);
	return entry;
}

/* Whether the file is there, and which hash it has. A library that will not be used is not loaded. */
static void plugins_look(struct plugins *plugins, struct plugins_entry *entry, const char *kind)
{
	if (entry->looked || (entry->whose && !entry->expected))
		return;
	entry->looked = true;
	if (plugins->entries.count > PLUGINS_MAX)
		(void)fail(&entry->why, TROUPE_EWORLD, "a run may have %d plug-ins: expected no more", PLUGINS_MAX);
	else if (kind && plugins->preferred && plugin_kind(plugins->preferred->kinds, kind))
		entry->path = mem_strdup(plugins->preferred->path);
	else
		plugins_find_file(plugins, entry);
	if (entry->path && !entry->why.status)
		plugins_open_file(entry);
}

/* Compares what is here with what is expected. */
static troupe_status plugins_compare(
	const struct plugins_entry *entry, uint64_t hash, const char *whose, struct troupe_error *error)
{
	if (!entry->path)
		return hash ? fail(error, TROUPE_EWORLD,
				      "not found here; expected hash %016" PRIx64
				      ", which %.150s has; see --plugin-path",
				      hash, whose)
			    : TROUPE_OK;
	if (!hash)
		return fail(error, TROUPE_EWORLD, "%.150s has none, and this machine has %.200s", whose, entry->path);
	if (entry->library.hash && entry->library.hash != hash)
		return fail(error, TROUPE_EWORLD,
			"%.150s has hash %016" PRIx64 ", this machine %016" PRIx64 " (%.200s)", whose, hash,
			entry->library.hash, entry->path);
	return TROUPE_OK;
}

static troupe_status plugins_judge(
	const struct plugins_entry *entry, const struct plugin_library **ret_library, struct troupe_error *error)
{
	*ret_library = NULL;
	if (entry->whose && !entry->expected)
		return TROUPE_OK;
	troupe_status status = entry->whose ? plugins_compare(entry, entry->expected, entry->whose, error) : TROUPE_OK;
	if (!status && entry->why.status)
		status = fail(error, TROUPE_EWORLD, "%s", entry->why.text);
	if (!status && entry->handle)
		*ret_library = &entry->library;
	return status;
}

troupe_status plugins_find(struct plugins *plugins, const struct sdf_plugin *plugin,
	const struct plugin_library **ret_library, struct troupe_error *error)
{
	const struct sdf_element *at = plugin->element;
	struct troupe_error why;
	*ret_library = NULL;
	if (!plugins || !*plugin->filename)
		return TROUPE_OK;
	pthread_mutex_lock(&plugins->lock);
	struct plugins_entry *entry = plugins_entry_of(plugins, plugin->filename);
	plugins_look(plugins, entry, plugin->name);
	troupe_status status = plugins_judge(entry, ret_library, &why);
	pthread_mutex_unlock(&plugins->lock);
	return status ? fail(error, status, "%s:%u: plugin '%.100s': %s", at->file, at->line, plugin->filename,
				why.text)
		      : TROUPE_OK;
}

void plugins_use(struct plugins *plugins, const char *filename)
{
	uint32_t index;
	if (!plugins || !*filename)
		return;
	pthread_mutex_lock(&plugins->lock);
	if (map_find(&plugins->by_filename, filename, &index))
		plugins->entries.at[index]->used = true;
	pthread_mutex_unlock(&plugins->lock);
}

troupe_status plugins_open(struct plugins *plugins, const char *path, const struct plugin_library **ret_library,
	struct troupe_error *error)
{
	struct troupe_error why;
	pthread_mutex_lock(&plugins->lock);
	struct plugins_entry *entry = plugins_entry_of(plugins, path);
	entry->looked = true;
	entry->path = entry->path ? entry->path : mem_strdup(path);
	if (!entry->handle && !entry->why.status)
		plugins_open_file(entry);
	troupe_status status = plugins_judge(entry, ret_library, &why);
	pthread_mutex_unlock(&plugins->lock);
	return status ? fail(error, status, "%s: %s", path, why.text) : TROUPE_OK;
}

troupe_status plugins_prefer(struct plugins *plugins, const char *path, struct troupe_error *error)
{
	return plugins_open(plugins, path, &plugins->preferred, error);
}

/* --- which libraries a run has ------------------------------------------------------------------------------------ */

void plugins_expect(struct plugins *plugins, const char *filename, uint64_t hash, const char *whose)
{
	pthread_mutex_lock(&plugins->lock);
	struct plugins_entry *entry = plugins_entry_of(plugins, filename);
	free(entry->whose);
	entry->whose = mem_strdup(whose);
	entry->expected = hash;
	entry->used = true;
	pthread_mutex_unlock(&plugins->lock);
}

troupe_status plugins_match(
	struct plugins *plugins, const char *filename, uint64_t hash, const char *whose, struct troupe_error *error)
{
	struct troupe_error why;
	pthread_mutex_lock(&plugins->lock);
	struct plugins_entry *entry = plugins_entry_of(plugins, filename);
	plugins_look(plugins, entry, NULL);
	troupe_status status = plugins_compare(entry, hash, whose, &why);
	pthread_mutex_unlock(&plugins->lock);
	return status ? fail(error, status, "plugin '%.100s': %s", filename, why.text) : TROUPE_OK;
}

static uint64_t plugins_hash_of(const struct plugins_entry *entry)
{
	return entry->looked ? entry->library.hash : entry->expected;
}

bool plugins_mark(struct plugins *plugins, const char *filename, uint64_t *ret_hash)
{
	uint32_t index;
	bool used = false;
	if (!plugins)
		return false;
	pthread_mutex_lock(&plugins->lock);
	if (map_find(&plugins->by_filename, filename, &index)) {
		used = plugins->entries.at[index]->used;
		*ret_hash = plugins_hash_of(plugins->entries.at[index]);
	}
	pthread_mutex_unlock(&plugins->lock);
	return used;
}

static int plugins_by_filename(const void *a, const void *b)
{
	return strcmp(((const struct plugin_mark *)a)->filename, ((const struct plugin_mark *)b)->filename);
}

void plugins_list_marks(struct plugins *plugins, plugin_marks *marks)
{
	uint32_t first = marks->count;
	pthread_mutex_lock(&plugins->lock);
	for (uint32_t i = 0; i < plugins->entries.count; i++) {
		const struct plugins_entry *entry = plugins->entries.at[i];
		if (entry->used)
			vec_push(marks, (struct plugin_mark){mem_strdup(entry->filename), plugins_hash_of(entry)});
	}
	pthread_mutex_unlock(&plugins->lock);
	if (marks->count > first)
		qsort(marks->at + first, marks->count - first, sizeof *marks->at, plugins_by_filename);
}

void plugin_marks_pack(const plugin_marks *marks, struct text *out)
{
	pack_u64(out, marks->count);
	for (uint32_t i = 0; i < marks->count; i++) {
		pack_string(out, marks->at[i].filename);
		pack_u64(out, marks->at[i].hash);
	}
}

void plugin_marks_unpack(plugin_marks *marks, struct unpack *in)
{
	uint32_t count = unpack_count(in, PLUGINS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct plugin_mark mark = {.filename = unpack_string(in)};
		mark.hash = unpack_u64(in);
		vec_push(marks, mark);
	}
}

void plugin_marks_fini(plugin_marks *marks)
{
	for (uint32_t i = 0; i < marks->count; i++)
		free(marks->at[i].filename);
	vec_free(marks);
}
