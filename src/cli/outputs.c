/* A run may take hours, and its files are opened when they are written, most of them at its end. So all that can be
 * known of a name is asked for before: by base/outfile, which tries as much as can be tried without a change, and,
 * since each file is replaced as a whole, by comparing names: what two options write would be the last one's alone. */
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
			"%s: cannot write: a %%s in the name of a folder: expected it in that of "
			"the file",
			item->path);
	char *path = mark ? outputs_name(item->path, 0) : mem_strdup(item->path);
	struct troupe_error why;
	troupe_status status = (item->kind == OUTPUT_STREAM ? outfile_check_stream : outfile_check)(path, &why);
	/* the name as it was given */
	const char *text =
		status && !strncmp(why.text, path, strlen(path)) ? why.text + strlen(path) : ": cannot write";
	if (status)
		(void)fail(error, status, "%s%s (%s)", item->path, text, item->option);
	free(path);
	return status;
}

/* Which of two would be lost. A name that a step belongs in is another one each time. */
static bool collide(const struct outputs_item *a, const struct outputs_item *b)
{
	bool patterns = (a->kind == OUTPUT_STATES && strstr(a->path, "%s")) ||
			(b->kind == OUTPUT_STATES && strstr(b->path, "%s"));
	if (patterns || (!is_written(a) && !is_written(b)) || (is_state(a) && is_state(b)))
		return false;
	/* a world that is not there may be found elsewhere */
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
					"%s: cannot write: it is the file of %s as well as of %s: "
					"expected different ones",
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
