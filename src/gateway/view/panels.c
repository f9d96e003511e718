/* The folder is read through base/files.h with the folder as its only place, so a link that leads out of it is refused,
 * as is what is no plain file. Names that begin with a dot are left out: folders of version control, and what editors
 * leave behind. */
#include "gateway/view/panels.h"

#include "base/files.h"
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

/* The frame may run scripts, and has no origin; it may load its own files, and show images that it makes. */
static const char panels_policy[] =
	"sandbox allow-scripts; default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' "
	"'unsafe-inline'; img-src 'self' data: blob:; media-src 'self'; font-src 'self'; connect-src 'self'; "
	"base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

struct panels_one {
	char *name, *path; /* path: of its index.html */
	struct files files;
	struct files_places places;
};

struct panels {
	char secret[WEB_TOKEN_MAX + 1];
	struct arena arena;
	uint32_t count;
	struct panels_one all[PANELS_MAX];
	VEC(struct web_file) files;
	struct map by_path;
};

struct panels_reading { /* of one folder */
	struct panels *panels;
	struct panels_one *one;
	const char *folder;
	uint32_t index, files;
	size_t bytes;
};

static const char *panels_type(const char *name)
{
	static const struct {
		const char *end, *type;
	} types[] = {{".html", "text/html; charset=utf-8"}, {".js", "text/javascript; charset=utf-8"},
		{".mjs", "text/javascript; charset=utf-8"}, {".css", "text/css; charset=utf-8"},
		{".json", "application/json"}, {".svg", "image/svg+xml"}, {".png", "image/png"}, {".jpg", "image/jpeg"},
		{".jpeg", "image/jpeg"}, {".webp", "image/webp"}, {".woff2", "font/woff2"},
		{".wasm", "application/wasm"}, {".txt", "text/plain; charset=utf-8"}};
	const char *dot = strrchr(name, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(types); i++)
		if (!strcmp(dot, types[i].end))
			return types[i].type;
	return "application/octet-stream";
}

/* below: the path in the folder of the panel. */
static troupe_status panels_add_file(struct panels_reading *reading, const char *below, struct troupe_error *error)
{
	struct panels *panels = reading->panels;
	const char *bytes, *at = arena_printf(&panels->arena, "%s/%s", reading->folder, below);
	size_t count;
	struct troupe_error why;
	troupe_status status = files_read(&reading->one->files, at, PANELS_FILE_BYTES_MAX, &bytes, &count, &why);
	if (status)
		return fail(error, status, "panel: %s", why.text);
	reading->bytes += count;
	if (++reading->files > PANELS_FILES_MAX || reading->bytes > PANELS_BYTES_MAX)
		return fail(error, TROUPE_ELIMIT, "panel '%.200s': expected at most %d files and %d MiB",
			reading->folder, PANELS_FILES_MAX, PANELS_BYTES_MAX >> 20);
	const char *path = arena_printf(&panels->arena, "/panel/%s/%u/%s", panels->secret, reading->index, below);
	map_add(&panels->by_path, path, panels->files.count);
	vec_push(&panels->files, (struct web_file){.path = path,
					 .type = panels_type(below),
					 .bytes = bytes,
					 .count = count,
					 .framed = true,
					 .policy = panels_policy});
	return TROUPE_OK;
}

/* below: "" or "FOLDER/". */
static troupe_status panels_read_folder(
	struct panels_reading *reading, const char *below, int depth, struct troupe_error *error)
{
	struct panels *panels = reading->panels;
	const char *const *names, *folder = arena_printf(&panels->arena, "%s/%s", reading->folder, below);
	uint32_t count = files_list(&reading->one->files, folder, &panels->arena, &names);
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < count && !status; i++) {
		const char *at = arena_printf(&panels->arena, "%s%s", below, names[i]);
		const char *whole = arena_printf(&panels->arena, "%s/%s", reading->folder, at);
		if (*names[i] == '.')
			continue;
		switch (files_look(&reading->one->files, whole)) {
		case FILES_FILE:
			status = panels_add_file(reading, at, error);
			break;
		case FILES_FOLDER:
			status = depth == PANELS_DEPTH_MAX
					 ? fail(error, TROUPE_ELIMIT,
						   "panel '%.200s': expected at most %d folders in "
						   "one another",
						   reading->folder, PANELS_DEPTH_MAX)
					 : panels_read_folder(
						   reading, arena_printf(&panels->arena, "%s/", at), depth + 1, error);
			break;
		default:
			status = fail(error, TROUPE_EINVAL,
				"panel: '%.200s': expected a plain file that no link leads out of the folder", whole);
		}
	}
	return status;
}

static troupe_status panels_add(struct panels *panels, const char *folder, struct troupe_error *error)
{
	if (panels->count == PANELS_MAX)
		return fail(error, TROUPE_ELIMIT, "panel '%.200s': expected at most %d panels", folder, PANELS_MAX);
	struct panels_one *one = &panels->all[panels->count];
	struct panels_reading reading = {panels, one, arena_strdup(&panels->arena, folder), panels->count, 0, 0};
	size_t length = strlen(reading.folder);
	while (length > 1 && reading.folder[length - 1] == '/')
		reading.folder = arena_printf(&panels->arena, "%.*s", (int)--length, folder);
	const char *slash = strrchr(reading.folder, '/');
	one->name = arena_strdup(&panels->arena, slash && slash[1] ? slash + 1 : reading.folder);
	one->path = arena_printf(&panels->arena, "panel/%s/%u/index.html", panels->secret, panels->count);
	files_allow(&one->places, reading.folder);
	one->files.places = &one->places;
	panels->count++;
	troupe_status status = panels_read_folder(&reading, "", 1, error);
	struct web_file found;
	if (!status && !panels_file(panels, arena_printf(&panels->arena, "/%s", one->path), &found))
		status = fail(error, TROUPE_EINVAL, "panel '%.200s': expected a folder of files, with index.html",
			reading.folder);
	return status;
}

troupe_status panels_create(
	const struct troupe_gateway_def *def, struct panels **ret_panels, struct troupe_error *error)
{
	struct panels *panels = mem_alloc(sizeof *panels);
	*panels = (struct panels){0};
	troupe_status status = web_make_token(panels->secret, error);
	for (uint32_t i = 0; i < def->setting_count && !status; i++)
		if (!strcmp(def->settings[i].key, "panel"))
			status = panels_add(panels, def->settings[i].value, error);
	if (status)
		panels_destroy(panels);
	else
		*ret_panels = panels;
	return status;
}

void panels_destroy(struct panels *panels)
{
	if (!panels)
		return;
	for (uint32_t i = 0; i < panels->count; i++) {
		files_fini(&panels->all[i].files);
		files_places_fini(&panels->all[i].places);
	}
	vec_free(&panels->files);
	map_fini(&panels->by_path);
	arena_fini(&panels->arena);
	free(panels);
}

uint32_t panels_count(const struct panels *panels)
{
	return panels->count;
}

const char *panels_name(const struct panels *panels, uint32_t index)
{
	return panels->all[index].name;
}

const char *panels_path(const struct panels *panels, uint32_t index)
{
	return panels->all[index].path;
}

bool panels_file(const struct panels *panels, const char *path, struct web_file *ret_file)
{
	uint32_t index;
	if (!map_find(&panels->by_path, path, &index))
		return false;
	*ret_file = panels->files.at[index];
	return true;
}
