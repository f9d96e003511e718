/* tests/data/sdf: small files, each with what it means, worked out by hand from the specification, in a comment:
 *   expect: the beginning of a line of sdf_print_flat(), numbers to 1e-6
 *   warn:   a warning contains this
 *   refuse: it is refused, and an error contains this */
#include "base/infile.h"
#include "base/parse.h"
#include "sdf_help.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

TestSuite(sdf_versions, .timeout = 60);

#define FOLDER SOURCE_DIR "/tests/data/sdf"

static bool same_word(const char *expected, size_t expected_count, const char *got, size_t got_count)
{
	char a[200], b[200];
	double x, y;
	snprintf(a, sizeof a, "%.*s", (int)expected_count, expected);
	snprintf(b, sizeof b, "%.*s", (int)got_count, got);
	if (!strcmp(a, b))
		return true;
	return parse_double(a, &x) && parse_double(b, &y) && fabs(x - y) < 1e-6;
}

/* Word by word, as far as `expected` goes. */
static bool begins_with(const char *line, const char *expected)
{
	for (;;) {
		expected += strspn(expected, " ");
		line += strspn(line, " ");
		size_t count = strcspn(expected, " "), got = strcspn(line, " \n");
		if (!count)
			return true;
		if (!same_word(expected, count, line, got))
			return false;
		expected += count;
		line += got;
	}
}

static bool has_line(const char *flat, const char *expected)
{
	for (const char *line = flat; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
		if (begins_with(line, expected))
			return true;
	return false;
}

/* The next "     KEY: text" of the comment; a copy of the text. */
static char *next_note(const char **at, const char *key)
{
	*at = strstr(*at, key);
	if (!*at)
		return NULL;
	*at += strlen(key);
	size_t count = strcspn(*at, "\n");
	const char *end = strstr(*at, " -->");
	if (end && (size_t)(end - *at) < count)
		count = (size_t)(end - *at);
	return mem_printf("%.*s", (int)count, *at);
}

static unsigned check_notes(const char *path, const char *text, const struct sdf *sdf, const char *flat)
{
	unsigned notes = 0;
	const char *at = text;
	for (char *note; (note = next_note(&at, "     expect: ")); notes++, free(note))
		cr_assert(has_line(flat, note), "%s: no line \"%s\" in\n%s", path, note, flat);
	at = text;
	for (char *note; (note = next_note(&at, "     warn: ")); notes++, free(note))
		cr_assert(sdf_help_says(sdf, SDF_WARNING, note), "%s: no warning \"%s\"", path, note);
	at = text;
	for (char *note; (note = next_note(&at, "     refuse: ")); notes++, free(note))
		cr_assert(sdf_help_says(sdf, SDF_ERROR, note), "%s: no error \"%s\", but \"%s\"", path, note,
			sdf->messages.count ? sdf->messages.at[0].text : "");
	return notes;
}

/* What is printed means the same, wherever it is read: nothing in it refers to other files' folders. */
static void check_again(const char *path, const struct sdf *sdf, const char *flat)
{
	struct text out = {0}, again = {0};
	sdf_print(sdf, &out);
	struct sdf *second = sdf_help_good(out.at, NULL);
	sdf_print_flat(second, &again);
	cr_assert_str_eq(again.at, flat, "%s: printed, it means something else:\n%s", path, out.at);
	text_fini(&out), text_fini(&again);
	sdf_free(second);
}

static void check_file(const char *path)
{
	struct troupe_error error = {0};
	struct text flat = {0};
	struct sdf *sdf = NULL;
	char *text;
	size_t bytes;
	cr_assert_eq(infile_read(path, 1 << 20, &text, &bytes, &error), TROUPE_OK, "%s", error.text);
	bool bad = strstr(text, "     refuse: ");
	troupe_status status = sdf_load_file(path, NULL, &sdf, &error);
	cr_assert_eq(status, bad ? TROUPE_EWORLD : TROUPE_OK, "%s: %s", path, error.text);
	if (!status) {
		sdf_print_flat(sdf, &flat);
		check_again(path, sdf, flat.at);
	}
	cr_assert_gt(check_notes(path, text, sdf, flat.at ? flat.at : ""), 0, "%s expects nothing", path);
	text_fini(&flat);
	sdf_free(sdf);
	free(text);
}

Test(sdf_versions, files_mean_what_the_specification_says)
{
	DIR *dir = opendir(FOLDER);
	unsigned count = 0;
	cr_assert_not_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (strstr(entry->d_name, ".sdf")) {
			char path[1000];
			snprintf(path, sizeof path, "%s/%s", FOLDER, entry->d_name);
			check_file(path);
			count++;
		}
	closedir(dir);
	printf("%u files\n", count);
	cr_assert_geq(count, 60);
}
