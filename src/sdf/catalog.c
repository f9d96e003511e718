/* A client of another author may ask for the list. So only the folders are looked at that files are searched in anyway:
 * a source must lie in one of them, also after links and ".." are followed. Names are sorted, as folders have no order.
 * Files are opened without waiting, for a pipe may have the name of a file. */
#include "sdf/catalog.h"

#include "base/clock.h"
#include "base/data.h"
#include "base/map.h"
#include "base/shown.h"
#include "base/text.h"
#include "sdf/xml.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CATALOG_SENTENCE_BYTES = 160 }; /* of a description that are shown */

struct catalog_reading {
	const struct sdf_catalog_request *request;
	struct sdf_catalog *catalog;
	struct map uris; /* of the entries: what is found first counts, as for an <include> */
	uint64_t end_ns;
};

/* --- the beginning of a file -------------------------------------------------------------------------------------- */

/* NULL: it is no file that can be read. The caller frees it. */
static char *catalog_read_head(const char *path)
{
	struct stat info;
	int file = AGAIN(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	if (file < 0)
		return NULL;
	bool plain = !fstat(file, &info) && S_ISREG(info.st_mode);
	char *head = mem_alloc(SDF_CATALOG_HEAD_BYTES + 1);
	ssize_t count = plain ? AGAIN(read(file, head, SDF_CATALOG_HEAD_BYTES)) : -1;
	close(file);
	if (count > 0)
		return head;
	free(head);
	return NULL;
}

struct tag {
	const char *name, *end; /* end: its '>' */
	size_t length;          /* of the name */
};

static bool catalog_is_tag(const struct tag *tag, const char *name)
{
	return tag->length == strlen(name) && !strncmp(tag->name, name, tag->length);
}

/* After the end of what begins with `<?` or `<!`. NULL: it does not end here. */
static const char *catalog_skip(const char *at)
{
	const char *ending = at[1] == '?' ? "?>" : !strncmp(at, "<!--", 4) ? "-->" : ">";
	const char *end = strstr(at, ending);
	return end ? end + strlen(ending) : NULL;
}

/* The next tag that begins an element. */
static bool catalog_next_tag(const char **at, struct tag *ret_tag)
{
	const char *from = *at;
	while (from && (from = strchr(from, '<')) && (from[1] == '?' || from[1] == '!'))
		from = catalog_skip(from);
	if (!from || from[1] == '/')
		return false;
	*ret_tag = (struct tag){from + 1, from + 1, strcspn(from + 1, " \t\r\n/>")};
	char quote = 0;
	for (; *ret_tag->end && (quote || *ret_tag->end != '>'); ret_tag->end++)
		if (quote ? *ret_tag->end == quote : *ret_tag->end == '"' || *ret_tag->end == '\'')
			quote = quote ? 0 : *ret_tag->end;
	*at = ret_tag->end;
	return *ret_tag->end;
}

/* The value of the attribute `name` as it is written; NULL: there is none. */
static const char *catalog_name_of(const struct tag *tag, struct arena *arena)
{
	static const char name[] = "name";
	for (const char *at = tag->name; (at = strstr(at, name)) && at < tag->end; at += sizeof name - 1) {
		const char *value = at + sizeof name - 1;
		value += strspn(value, " \t\r\n");
		if (*value++ != '=' || !strchr(" \t\r\n", at[-1]))
			continue;
		value += strspn(value, " \t\r\n");
		const char *end = *value == '"' || *value == '\'' ? strchr(value + 1, *value) : NULL;
		return end && end < tag->end ? arena_printf(arena, "%.*s", (int)(end - value - 1), value + 1) : NULL;
	}
	return NULL;
}

/* The first sentence of the comment before the first element, in one line; "": there is none. */
static const char *catalog_first_sentence(struct arena *arena, const char *head)
{
	const char *at = strchr(head, '<');
	struct text line = {0};
	while (at && at[1] == '?')
		at = (at = catalog_skip(at)) ? strchr(at, '<') : NULL;
	const char *end = at && !strncmp(at, "<!--", 4) ? strstr(at, "-->") : NULL;
	if (!end)
		return "";
	for (at += 4; at < end && line.count < CATALOG_SENTENCE_BYTES; at++) {
		bool blank = strchr(" \t\r\n", *at);
		if (*at == '.' && strchr(" \t\r\n-", at[1]))
			break;
		if (!blank || (line.count && line.at[line.count - 1] != ' '))
			text_add_bytes(&line, blank ? " " : at, 1);
	}
	while (line.count && line.at[line.count - 1] == ' ')
		line.count--;
	bool good = line.count && shown_is_utf8(line.at, line.count);
	const char *sentence = good ? arena_printf(arena, "%.*s", (int)line.count, line.at) : "";
	text_fini(&line);
	return sentence;
}

/* Whether the file holds what is asked for. *ret_name: NULL if it has none. ret_description may be NULL. */
static bool catalog_has(
	const struct catalog_reading *reading, const char *path, const char **ret_name, const char **ret_description)
{
	static const char *const entities[] = {"model", "actor", "light"};
	char *head = catalog_read_head(path);
	const char *at = head;
	struct tag root, first;
	bool found = false;
	if (head && catalog_next_tag(&at, &root)) {
		first = root;
		if (catalog_is_tag(&root, "robot"))
			found = !reading->request->worlds;
		else if (catalog_is_tag(&root, "sdf") && catalog_next_tag(&at, &first))
			for (size_t i = 0; i < ARRAY_LEN(entities) && !found; i++)
				found = catalog_is_tag(&first, reading->request->worlds ? "world" : entities[i]);
		*ret_name = found ? catalog_name_of(&first, &reading->catalog->arena) : NULL;
		if (found && ret_description)
			*ret_description = catalog_first_sentence(&reading->catalog->arena, head);
	}
	free(head);
	return found;
}

/* --- folders ------------------------------------------------------------------------------------------------------ */

static bool catalog_is_over(struct catalog_reading *reading)
{
	if (reading->catalog->entries.count == SDF_CATALOG_MAX || clock_now_ns() > reading->end_ns)
		reading->catalog->cut = true;
	return reading->catalog->cut;
}

static void catalog_add(struct catalog_reading *reading, const char *uri, const char *name, const char *description)
{
	struct sdf_catalog *catalog = reading->catalog;
	if (map_add(&reading->uris, uri, catalog->entries.count))
		vec_push(&catalog->entries, (struct sdf_catalog_entry){uri, name, description});
}

static const char *catalog_child_text(const struct sdf_element *root, const char *name)
{
	const char *text = sdf_child_text(root, name);
	return text ? text : "";
}

/* A model's folder says in model.config what it is. False: the folder is no model. */
static bool catalog_read_model(
	struct catalog_reading *reading, const char *folder, const char **ret_name, const char **ret_description)
{
	struct arena *arena = &reading->catalog->arena;
	const char *config = arena_printf(arena, "%s/model.config", folder);
	const struct sdf_element *root;
	char *head = catalog_read_head(config);
	bool is_model = head && !xml_parse(arena, head, strlen(head), config, &root, NULL);
	free(head);
	if (!is_model)
		return catalog_has(reading, arena_printf(arena, "%s/model.sdf", folder), ret_name, NULL);
	const char *name = catalog_child_text(root, "name");
	*ret_name = *name ? name : NULL;
	*ret_description = catalog_child_text(root, "description");
	return true;
}

static bool catalog_ends_with(const char *name, const char *ending)
{
	size_t length = strlen(name), wanted = strlen(ending);
	return length > wanted && !strcmp(name + length - wanted, ending);
}

/* below: the path of the folder in its search folder, "" or with a slash at its end. */
static void catalog_look_at(struct catalog_reading *reading, const char *folder, const char *below, const char *name)
{
	struct arena *arena = &reading->catalog->arena;
	const char *path = arena_printf(arena, "%s/%s", folder, name), *title = NULL, *description = "";
	bool worlds = reading->request->worlds, found;
	struct stat info;
	if (*name == '.' || !shown_is_utf8(path, strlen(path)) || stat(path, &info))
		return;
	if (S_ISDIR(info.st_mode))
		found = !worlds && catalog_read_model(reading, path, &title, &description);
	else
		found = (catalog_ends_with(name, ".sdf") || catalog_ends_with(name, worlds ? ".world" : ".urdf")) &&
			catalog_has(reading, path, &title, worlds ? &description : NULL);
	if (found)
		catalog_add(reading,
			worlds ? arena_printf(arena, "file://%s", path)
			       : arena_printf(arena, "model://%s%s", below, name),
			title && shown_is_utf8(title, strlen(title)) ? title : name, description);
}

static int catalog_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void catalog_look_into(struct catalog_reading *reading, const char *folder, const char *below)
{
	VEC(char *) names = {0};
	DIR *all = opendir(folder);
	for (struct dirent *entry; all && (entry = readdir(all)) && !catalog_is_over(reading);) {
		vec_push(&names, mem_strdup(entry->d_name));
		reading->catalog->cut |= names.count == SDF_CATALOG_NAMES_MAX;
	}
	if (all)
		closedir(all);
	if (names.count)
		qsort(names.at, names.count, sizeof *names.at, catalog_by_name);
	for (uint32_t i = 0; i < names.count; i++) {
		if (!catalog_is_over(reading))
			catalog_look_at(reading, folder, below, names.at[i]);
		free(names.at[i]);
	}
	vec_free(&names);
}

/* --- sources ------------------------------------------------------------------------------------------------------ */

static const char *catalog_path_of(const char *source)
{
	static const char *const schemes[] = {"file://", "model://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (!strncmp(source, schemes[i], strlen(schemes[i])))
			return source + strlen(schemes[i]);
	return source;
}

/* Looks into the source if it is the folder, or lies in it. */
static bool catalog_look_in_folder(struct catalog_reading *reading, const char *folder, const char *path)
{
	char real[PATH_MAX], real_folder[PATH_MAX];
	struct arena *arena = &reading->catalog->arena;
	const char *whole = *path == '/' ? path : arena_printf(arena, "%s/%s", folder, path);
	size_t length = realpath(folder, real_folder) ? strlen(real_folder) : 0;
	struct stat info;
	if (!length || !realpath(whole, real) || strncmp(real, real_folder, length) != 0 ||
		(real[length] && real[length] != '/' && length > 1) || stat(real, &info) || !S_ISDIR(info.st_mode))
		return false;
	const char *rest = real + length;
	rest += *rest == '/';
	catalog_look_into(reading, real, *rest ? arena_printf(arena, "%s/", rest) : "");
	return true;
}

static troupe_status catalog_look_at_source(
	struct catalog_reading *reading, const char *source, struct troupe_error *error)
{
	const char *path = catalog_path_of(source);
	bool found = false;
	for (const char *const *at = reading->request->folders; *at && !found && !strstr(path, "://"); at++)
		found = catalog_look_in_folder(reading, *at, path);
	if (found || reading->request->skip_wrong)
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND,
		"source '%.200s': expected a folder that is, or lies in, a search folder of the run", source);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

static void catalog_look_into_all(struct catalog_reading *reading)
{
	char real[PATH_MAX];
	for (const char *const *at = reading->request->folders; *at; at++)
		if (realpath(*at, real))
			catalog_look_into(reading, real, "");
}

troupe_status sdf_catalog_read(
	const struct sdf_catalog_request *request, struct sdf_catalog *ret_catalog, struct troupe_error *error)
{
	struct sdf_catalog catalog = {0};
	struct catalog_reading reading = {
		.request = request, .catalog = &catalog, .end_ns = clock_now_ns() + SDF_CATALOG_MS * UINT64_C(1000000)};
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < request->source_count && !status; i++)
		status = catalog_look_at_source(&reading, request->sources[i], error);
	if (!status)
		catalog_look_into_all(&reading);
	map_fini(&reading.uris);
	if (status)
		sdf_catalog_fini(&catalog);
	else
		*ret_catalog = catalog;
	return status;
}

void sdf_catalog_worlds(const struct sdf_options *options, struct sdf_catalog *ret_catalog)
{
	VEC(const char *) folders = {0};
	struct arena arena = {0};
	char *folder;
	for (const char *const *at = sdf_folders(options, &arena); *at; at++)
		vec_push(&folders, *at);
	for (uint32_t i = 0; (folder = data_folder("worlds", i)); i++) {
		vec_push(&folders, arena_strdup(&arena, folder));
		free(folder);
	}
	vec_push(&folders, NULL);
	const struct sdf_catalog_request request = {.folders = folders.at, .worlds = true};
	if (sdf_catalog_read(&request, ret_catalog, NULL)) /* without sources nothing can be wrong */
		*ret_catalog = (struct sdf_catalog){.cut = false};
	vec_free(&folders);
	arena_fini(&arena);
}

void sdf_catalog_fini(struct sdf_catalog *catalog)
{
	vec_free(&catalog->entries);
	arena_fini(&catalog->arena);
}
