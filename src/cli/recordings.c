/* The world is loaded once more for this, before the run: the path of a recording must be known when the server is
 * made, and the library does not choose files.
 *
 * A world chooses only the folder. The names of the files in it are fixed, and <overwrite> replaces these files alone,
 * where Gazebo removes the whole folder: so the worst that a world can do with --recordings is to make a folder, or to
 * replace an older recording.
 *
 * Gazebo's <record_topic> is a regular expression, a topic of --mcap is a pattern as in a shell. Nearly all that people
 * write is a name, or a name with ".*"; the rest is refused, and not guessed at. */
#include "cli/recordings.h"

#include "base/parse.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_MAX = 9999, RECORDING_PATH_MAX = 3000 };

struct recordings_reading {
	struct arena *arena;
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};

static void recordings_warn(const struct recordings_reading *reading, const struct sdf_element *at, const char *format,
	...) TROUPE_PRINTF(3, 4);
static void recordings_warn(
	const struct recordings_reading *reading, const struct sdf_element *at, const char *format, ...)
{
	struct troupe_error text, line;
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text.text, sizeof text.text, format, args);
	va_end(args);
	(void)fail(&line, TROUPE_EWORLD, "%.200s:%u: %s", at->file, at->line, text.text);
	reading->warn(reading->ctx, line.text);
}

/* Also "gz::sim::systems::LogRecord" and the older "ignition::gazebo::systems::LogRecord". */
static bool recordings_is_system(const struct sdf_plugin *plugin, const char *name)
{
	const char *at = strstr(plugin->name, "systems::");
	return at && !strcmp(at + strlen("systems::"), name);
}

/* The child of one of two names; the first has priority. */
static const struct sdf_element *recordings_child_of(
	const struct sdf_element *plugin, const char *name, const char *older)
{
	const struct sdf_element *child = sdf_child(plugin, name, NULL);
	return child ? child : sdf_child(plugin, older, NULL);
}

static bool recordings_is_true(const struct recordings_reading *reading, const struct sdf_element *element)
{
	if (!element)
		return false;
	bool yes = !strcmp(element->text, "true") || !strcmp(element->text, "1");
	if (!yes && strcmp(element->text, "false") != 0 && strcmp(element->text, "0") != 0)
		recordings_warn(reading, element, "<%.40s>: '%.80s': expected true or false: false is used",
			element->name, element->text);
	return yes;
}

static const char *recordings_path_of(const struct recordings_reading *reading, const struct sdf_element *element)
{
	if (!element || !*element->text)
		return NULL;
	if (strlen(element->text) > RECORDING_PATH_MAX) {
		recordings_warn(reading, element, "<%.40s>: '%.80s...': expected at most %d bytes: it is not used",
			element->name, element->text, RECORDING_PATH_MAX);
		return NULL;
	}
	char *path = arena_strdup(reading->arena, element->text);
	for (size_t end = strlen(path); end > 1 && path[end - 1] == '/'; end--)
		path[end - 1] = '\0';
	return path;
}

/* --- recording ---------------------------------------------------------------------------------------------------- */

/* The pattern of a shell for a regular expression; NULL: there is none, or it is not simple enough to be sure. */
static const char *recordings_pattern_of(struct arena *arena, const char *expression)
{
	char *pattern = arena_strdup(arena, expression), *to = pattern;
	const char *from = expression + (*expression == '^');
	for (; *from; from++) {
		if (*from == '$' && !from[1])
			break;
		if (*from == '\\' && from[1] && strchr("./-_", from[1]))
			*to++ = *++from;
		else if (*from == '.' && from[1] == '*')
			*to++ = *++from;
		else if (*from == '.')
			*to++ = '?';
		else if (strchr("\\*+?()[]{}|^$@", *from))
			return NULL;
		else
			*to++ = *from;
	}
	*to = '\0';
	return *pattern ? pattern : NULL;
}

static void recordings_read_topics(
	const struct recordings_reading *reading, const struct sdf_element *plugin, struct recordings *recordings)
{
	for (const struct sdf_element *topic = NULL; (topic = sdf_child(plugin, "record_topic", topic));) {
		const char *pattern = recordings_pattern_of(reading->arena, topic->text);
		if (!pattern)
			recordings_warn(reading, topic,
				"<record_topic>: '%.80s': expected a topic, perhaps with \".*\": it is not recorded; "
				"--mcap FILE --topic PATTERN records others",
				topic->text);
		else if (recordings->topics.count == OPTION_LIST_MAX)
			recordings_warn(reading, topic,
				"one more <record_topic>: expected at most %d: it is not recorded", OPTION_LIST_MAX);
		else
			recordings->topics.at[recordings->topics.count++] = pattern;
	}
}

/* <record_period> is in seconds of simulated time. */
static uint64_t recordings_read_period(
	const struct recordings_reading *reading, const struct sdf_element *plugin, const struct sdf_world *world)
{
	const struct sdf_element *element = sdf_child(plugin, "record_period", NULL);
	double period_s;
	if (!element)
		return 0;
	if (!parse_double(element->text, &period_s) || !(period_s >= 0) || period_s > 1e9) {
		recordings_warn(reading, element, "<record_period>: '%.80s': expected 0 to 1e+09 s: it is not used",
			element->text);
		return 0;
	}
	double steps = period_s / world->physics.max_step_size + 0.5;
	return steps < 1 ? 1 : steps < 1e15 ? (uint64_t)steps : (uint64_t)1e15;
}

static void recordings_read_record(const struct recordings_reading *reading, const struct sdf_world *world,
	const struct sdf_element *plugin, struct recordings *recordings)
{
	const struct sdf_element *compress = sdf_child(plugin, "compress", NULL);
	const char *path = recordings_path_of(reading, recordings_child_of(plugin, "record_path", "path"));
	char *usual = arena_printf(reading->arena, "troupe-%s-recording", world->name);
	for (char *at = usual; *at; at++)
		if (*at == '/')
			*at = '_';
	recordings->folder = path ? path : usual;
	recordings->overwrite = recordings_is_true(reading, recordings_child_of(plugin, "overwrite", "log_overwrite"));
	recordings->place = arena_printf(reading->arena, "%s:%u", plugin->file, plugin->line);
	recordings->every = recordings_read_period(reading, plugin, world);
	(void)recordings_is_true(
		reading, sdf_child(plugin, "record_resources", NULL)); /* a recording always has them */
	if (recordings_is_true(reading, compress))
		recordings_warn(reading, compress,
			"<compress>: the recording is not compressed: it is complete while it is written");
	recordings_read_topics(reading, plugin, recordings);
}

/* --- playing ------------------------------------------------------------------------------------------------------ */

static bool recordings_is_gazebos(const char *path)
{
	const char *dot = strrchr(path, '.');
	return dot && !strcmp(dot, ".tlog");
}

/* The file of the recording; on failure says why it is none. */
static const char *recordings_find_playback(struct arena *arena, const char *path, struct troupe_error *error)
{
	struct stat about;
	if (stat(path, &about)) {
		(void)fail(error, TROUPE_EIO, "'%.200s': %s", path, strerror(errno));
		return NULL;
	}
	const char *file = path;
	if (S_ISDIR(about.st_mode)) {
		file = arena_printf(arena, "%s/" RECORDING_FILE, path);
		if (!access(file, F_OK))
			return file;
		file = arena_printf(arena, "%s/state.tlog", path);
		if (access(file, F_OK)) {
			(void)fail(error, TROUPE_EIO, "'%.200s': no " RECORDING_FILE " in this folder", path);
			return NULL;
		}
	}
	if (!recordings_is_gazebos(file))
		return file;
	(void)fail(error, TROUPE_EWORLD,
		"'%.200s': a log of Gazebo, which has another format: expected a recording of troupe", file);
	return NULL;
}

static troupe_status recordings_read_playback(const struct recordings_reading *reading,
	const struct sdf_element *plugin, struct recordings *recordings, struct troupe_error *error)
{
	struct troupe_error why;
	const struct sdf_element *element = recordings_child_of(plugin, "playback_path", "path");
	const char *path = recordings_path_of(reading, element);
	if (!path) {
		recordings_warn(reading, plugin, "LogPlayback without <playback_path>: the world is run");
		return TROUPE_OK;
	}
	recordings->place = arena_printf(reading->arena, "%s:%u", plugin->file, plugin->line);
	recordings->playback = recordings_find_playback(reading->arena, path, &why);
	if (recordings->playback)
		return TROUPE_OK;
	return fail(
		error, why.status, "%.200s:%u: <%.40s>: %.300s", element->file, element->line, element->name, why.text);
}

/* --- both --------------------------------------------------------------------------------------------------------- */

static troupe_status recordings_read_all(const struct recordings_reading *reading, const struct sdf *sdf,
	struct recordings *recordings, struct troupe_error *error)
{
	const struct sdf_element *record = NULL;
	troupe_status status = TROUPE_OK;
	for (uint32_t w = 0; w < sdf->worlds.count; w++) {
		const struct sdf_world *world = &sdf->worlds.at[w];
		for (uint32_t i = 0; i < world->plugins.count && !status; i++) {
			const struct sdf_plugin *plugin = &world->plugins.at[i];
			if (recordings_is_system(plugin, "LogPlayback") && !recordings->playback)
				status = recordings_read_playback(reading, plugin->element, recordings, error);
			else if (recordings_is_system(plugin, "LogRecord") && record)
				recordings_warn(reading, plugin->element,
					"a second LogRecord: the first one records all worlds");
			else if (recordings_is_system(plugin, "LogRecord"))
				recordings_read_record(reading, world, record = plugin->element, recordings);
		}
	}
	if (recordings->playback && record) {
		recordings_warn(
			reading, record, "LogRecord beside LogPlayback: a recording that is played is not recorded");
		recordings->folder = NULL;
	}
	return status;
}

bool recordings_read(const char *world, const char *text, const char *const *resource_paths,
	void (*warner)(void *ctx, const char *text), void *ctx, struct arena *arena, struct recordings *ret_recordings,
	int *ret_exit)
{
	const struct recordings_reading reading = {arena, warner, ctx};
	struct troupe_error error;
	struct recordings recordings = {0};
	struct sdf *sdf = NULL;
	bool good = cli_load("run", world, text, resource_paths, &sdf, ret_exit);
	if (good && recordings_read_all(&reading, sdf, &recordings, &error)) {
		cli_complain("run", "%s", error.text);
		*ret_exit = cli_exit_status(error.status);
		good = false;
	}
	sdf_free(sdf);
	if (good)
		*ret_recordings = recordings;
	return good;
}

static bool recordings_make_folder(const char *path, bool overwrite)
{
	struct stat about;
	if (!mkdir(path, 0777))
		return true;
	if (errno != EEXIST || !overwrite)
		return false;
	if (!stat(path, &about) && S_ISDIR(about.st_mode))
		return true;
	errno = ENOTDIR;
	return false;
}

/* The folders above it; an error shows when the folder itself is made. */
static void recordings_make_parents(struct arena *arena, const char *path)
{
	char *part = arena_strdup(arena, path);
	for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		(void)mkdir(part, 0777);
	}
}

troupe_status recordings_open(struct recordings *recordings, struct arena *arena, struct troupe_error *error)
{
	const char *path = recordings->folder;
	recordings_make_parents(arena, path);
	bool made = recordings_make_folder(path, recordings->overwrite);
	for (int number = 1; !made && errno == EEXIST && number <= NUMBER_MAX; number++) {
		path = arena_printf(arena, "%s(%d)", recordings->folder, number);
		made = recordings_make_folder(path, false);
	}
	if (!made)
		return fail(error, TROUPE_EIO,
			"%.200s: <record_path> of LogRecord: '%.200s': cannot make the folder: %s", recordings->place,
			path, strerror(errno));
	recordings->folder = path;
	recordings->record = arena_printf(arena, "%s/" RECORDING_FILE, path);
	recordings->mcap = recordings->topics.count ? arena_printf(arena, "%s/" RECORDING_TOPICS, path) : NULL;
	return TROUPE_OK;
}

void recordings_close(const struct recordings *recordings)
{
	if (recordings->record)
		(void)rmdir(recordings->folder);
}
