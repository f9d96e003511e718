/* A run may take hours, and most of its files are opened at its end. So everything that can be known about a file
 * name is checked before the run. base/outfile tries all that can be tried without changing a file. Names are
 * compared, because each file is replaced as a whole: if two options wrote one file, only the last would remain. */
#include "cli/outputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void outputs_add(struct outputs *outputs, enum output_kind kind, const char *option, const char *path)
{
	if (path)
		vec_push(&outputs->all, (struct outputs_item){kind, option, path});
}

char *outputs_name(const char *pattern, uint64_t step)
{
	const char *mark = strstr(pattern, "%s");
	if (!mark)
		return mem_strdup(pattern);
	return mem_printf("%.*s%" PRIu64 "%s", (int)(mark - pattern), pattern, step, mark + 2);
}

static bool outputs_is_written(const struct outputs_item *item)
{
	return item->kind >= OUTPUT_OWN;
}

static bool outputs_is_state(const struct outputs_item *item)
{
	return item->kind == OUTPUT_STATE_READ || item->kind >= OUTPUT_STATE;
}

/* The path of the file, or of one of them; the caller frees it. */
static char *outputs_path(const struct outputs_item *item)
{
	return item->kind == OUTPUT_STATES ? outputs_name(item->path, 0) : mem_strdup(item->path);
}

/* The error of base/outfile about the path, with the name as given, and the option. */
static troupe_status outputs_fail(
	const struct outputs_item *item, const char *path, const struct troupe_error *why, struct troupe_error *error)
{
	const char *text = !strncmp(why->text, path, strlen(path)) ? why->text + strlen(path) : ": cannot write";
	return fail(error, why->status, "%s%s (%s)", item->path, text, item->option);
}

static bool outputs_ends_with(const char *path, const char *ending)
{
	size_t length = strlen(path), wanted = strlen(ending);
	return length > wanted && !strcmp(path + length - wanted, ending);
}

/* A name that ends like that of another kind of file is a mistake: its reader would not understand the file. Any other
 * ending is the user's affair. */
static troupe_status outputs_check_ending(const struct outputs_item *item, struct troupe_error *error)
{
	static const struct {
		const char *option, *ending, *kind;
	} kinds[] = {{"--mcap", ".mcap", "an MCAP file"}, {"--output", ".mcap", "an MCAP file"},
		{"--record", ".rec", "a recording"}, {"--log", ".csv", "a table (CSV)"},
		{"--costs", ".csv", "a table (CSV)"}, {"--out", ".svg", "a chart (SVG)"}};
	static const char *const others[] = {".mcap", ".rec", ".csv", ".svg", ".png", ".jpg", ".pdf", ".sdf", ".world",
		".urdf", ".json", ".commands", ".bag", ".db3"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (size_t k = 0; k < ARRAY_LEN(others) && !strcmp(item->option, kinds[i].option); k++)
			if (outputs_ends_with(item->path, others[k]) && strcmp(others[k], kinds[i].ending) != 0)
				return fail(error, TROUPE_EIO,
					"%s: cannot write: %s makes %s: expected a name that ends in %s", item->path,
					item->option, kinds[i].kind, kinds[i].ending);
	return TROUPE_OK;
}

static troupe_status outputs_check_written(const struct outputs_item *item, struct troupe_error *error)
{
	const char *mark = item->kind == OUTPUT_STATES ? strstr(item->path, "%s") : NULL;
	if (mark && strchr(mark, '/'))
		return fail(error, TROUPE_EIO,
			"%s: cannot write: %%s in the name of a folder: expected %%s only in the name of the file",
			item->path);
	char *path = outputs_path(item);
	struct troupe_error why;
	troupe_status status = (item->kind == OUTPUT_STREAM ? outfile_check_stream : outfile_check)(path, &why);
	if (status)
		(void)outputs_fail(item, path, &why, error);
	free(path);
	return status;
}

/* Whether two outputs would overwrite each other. A name that contains the step is a new name for each state. */
static bool outputs_collide(const struct outputs_item *a, const struct outputs_item *b)
{
	bool patterns = (a->kind == OUTPUT_STATES && strstr(a->path, "%s")) ||
			(b->kind == OUTPUT_STATES && strstr(b->path, "%s"));
	if (patterns || (!outputs_is_written(a) && !outputs_is_written(b)) ||
		(outputs_is_state(a) && outputs_is_state(b)))
		return false;
	/* a world that does not exist at this path may be found in another folder */
	bool there = outputs_is_written(a) && outputs_is_written(b);
	return (there || (!access(a->path, F_OK) && !access(b->path, F_OK))) && outfile_same(a->path, b->path);
}

troupe_status outputs_check(const struct outputs *outputs, struct troupe_error *error)
{
	for (uint32_t i = 0; i < outputs->all.count; i++) {
		const struct outputs_item *item = &outputs->all.at[i];
		troupe_status status = outputs_is_written(item) ? outputs_check_written(item, error) : TROUPE_OK;
		for (uint32_t k = 0; k < i && !status; k++)
			if (outputs_collide(item, &outputs->all.at[k]))
				status = fail(error, TROUPE_EIO,
					"%s: cannot write: it is the file of %s and of %s: expected different files",
					item->path, outputs->all.at[k].option, item->option);
		if (!status && outputs_is_written(item))
			status = outputs_check_ending(item, error);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

/* States of one name replace one another: one claim is for all of them. */
static bool outputs_is_claimed(const struct outputs *outputs, uint32_t index, const char *path)
{
	bool claimed = false;
	for (uint32_t i = 0; i < index && !claimed; i++) {
		const struct outputs_item *item = &outputs->all.at[i];
		char *other = outputs_path(item);
		claimed = outputs_is_written(item) && outfile_same(path, other);
		free(other);
	}
	return claimed;
}

troupe_status outputs_claim(struct outputs *outputs, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < outputs->all.count && !status; i++) {
		const struct outputs_item *item = &outputs->all.at[i];
		struct outfile_claim claim = {0};
		struct troupe_error why;
		char *path = outputs_path(item);
		if (outputs_is_written(item) && !outputs_is_claimed(outputs, i, path)) {
			status = outfile_claim(&claim, path, &why);
			if (status)
				(void)outputs_fail(item, path, &why, error);
			vec_push(&outputs->claims, claim);
		}
		free(path);
	}
	return status;
}

void outputs_fini(struct outputs *outputs)
{
	for (uint32_t i = 0; i < outputs->claims.count; i++)
		outfile_release(&outputs->claims.at[i]);
	vec_free(&outputs->claims);
	vec_free(&outputs->all);
}
