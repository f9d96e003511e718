/* A run may take hours, and most of its files are opened at its end. So everything that can be known about a file
 * name is checked before the run. base/outfile tries all that can be tried without changing a file. Names are
 * compared, because each file is replaced as a whole: if two options wrote one file, only the last would remain. */
#include "cli/outputs.h"

#include "base/outfile.h"

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

static bool is_written(const struct outputs_item *item)
{
	return item->kind >= OUTPUT_OWN;
}

static bool is_state(const struct outputs_item *item)
{
	return item->kind == OUTPUT_STATE_READ || item->kind >= OUTPUT_STATE;
}

static troupe_status check_written(const struct outputs_item *item, struct troupe_error *error)
{
	const char *mark = item->kind == OUTPUT_STATES ? strstr(item->path, "%s") : NULL;
	if (mark && strchr(mark, '/'))
		return fail(error, TROUPE_EIO,
			"%s: cannot write: %%s in the name of a folder: expected %%s only in the name of the file",
			item->path);
	char *path = mark ? outputs_name(item->path, 0) : mem_strdup(item->path);
	struct troupe_error why;
	troupe_status status = (item->kind == OUTPUT_STREAM ? outfile_check_stream : outfile_check)(path, &why);
	/* the name as given */
	const char *text =
		status && !strncmp(why.text, path, strlen(path)) ? why.text + strlen(path) : ": cannot write";
	if (status)
		(void)fail(error, status, "%s%s (%s)", item->path, text, item->option);
	free(path);
	return status;
}

/* Whether two outputs would overwrite each other. A name that contains the step is a new name for each state. */
static bool collide(const struct outputs_item *a, const struct outputs_item *b)
{
	bool patterns = (a->kind == OUTPUT_STATES && strstr(a->path, "%s")) ||
			(b->kind == OUTPUT_STATES && strstr(b->path, "%s"));
	if (patterns || (!is_written(a) && !is_written(b)) || (is_state(a) && is_state(b)))
		return false;
	/* a world that does not exist at this path may be found in another folder */
	bool there = is_written(a) && is_written(b);
	return (there || (!access(a->path, F_OK) && !access(b->path, F_OK))) && outfile_same(a->path, b->path);
}

troupe_status outputs_check(const struct outputs *outputs, struct troupe_error *error)
{
	for (uint32_t i = 0; i < outputs->all.count; i++) {
		const struct outputs_item *item = &outputs->all.at[i];
		troupe_status status = is_written(item) ? check_written(item, error) : TROUPE_OK;
		for (uint32_t k = 0; k < i && !status; k++)
			if (collide(item, &outputs->all.at[k]))
				status = fail(error, TROUPE_EIO,
					"%s: cannot write: it is the file of %s and of %s: expected different files",
					item->path, outputs->all.at[k].option, item->option);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

void outputs_fini(struct outputs *outputs)
{
	vec_free(&outputs->all);
}
