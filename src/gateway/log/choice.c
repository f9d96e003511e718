/* One pattern language for the log, which chooses entities before the run, and the plot, which chooses entities of
 * the finished log. Items separated by commas were preferred to regular expressions: model names contain many
 * characters that are special in a regular expression, and a shell does not interpret * when nothing matches, unlike
 * |. A comma in a name is written as ?. */
#include "gateway/log/choice.h"

#include "base/match.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const char *const choice_kinds[] = {
	"model", "link", "joint", "contact", "odometry", "secondary", "effort", "sensor", NULL};
static const char *const choice_usual[] = {"model", "joint", "odometry", NULL};

static bool choice_is_among(const char *const *words, const char *word)
{
	for (; *words; words++)
		if (!strcmp(*words, word))
			return true;
	return false;
}

/* The colon that ends the kind; NULL: the item has no kind. */
static char *choice_kind_end(char *item)
{
	char *colon = strchr(item, ':');
	return colon && colon[1] != ':' ? colon : NULL;
}

static troupe_status choice_bad_kind(const char *option, const char *kind, struct troupe_error *error)
{
	struct text names = {0};
	for (uint32_t i = 0; choice_kinds[i]; i++)
		text_add(&names, "%s%s", i ? (choice_kinds[i + 1] ? ", " : " or ") : "", choice_kinds[i]);
	troupe_status status =
		fail(error, TROUPE_EINVAL, "%s: '%.100s': no such kind: expected %s", option, kind, names.at);
	text_fini(&names);
	return status;
}

static troupe_status choice_read_item(
	struct choice *choice, const char *option, char *item, bool strict, struct troupe_error *error)
{
	struct choice_item read = {.glob = item};
	char *colon = choice_kind_end(item);
	if (!*item)
		return fail(error, TROUPE_EINVAL, "%s: an empty item: expected KIND, KIND:MODEL, MODEL or MODEL/NAME",
			option);
	if (choice->items.count == CHOICE_ITEMS_MAX)
		return fail(error, TROUPE_EINVAL, "%s: more than %d items", option, CHOICE_ITEMS_MAX);
	if (colon) {
		*colon = '\0';
		read.kind = item;
		read.glob = colon + 1;
		if (strict && strcmp(item, "*") != 0 && !choice_is_among(choice_kinds, item))
			return choice_bad_kind(option, item, error);
		if (!*read.glob)
			read.glob = "*";
	} else if (choice_is_among(choice_kinds, item)) {
		read.kind = item;
		read.glob = "*";
	}
	read.whole = strchr(read.glob, '/');
	vec_push(&choice->items, read);
	return TROUPE_OK;
}

troupe_status choice_read(
	struct choice *choice, const char *option, const char *text, bool strict, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	if (strlen(text) > CHOICE_BYTES_MAX)
		return fail(error, TROUPE_EINVAL, "%s: longer than %d bytes", option, CHOICE_BYTES_MAX);
	choice->text = mem_strdup(text);
	for (char *at = choice->text; at && !status;) {
		char *comma = strchr(at, ',');
		if (comma)
			*comma = '\0';
		status = choice_read_item(choice, option, at, strict, error);
		at = comma ? comma + 1 : NULL;
	}
	return status;
}

void choice_drop(struct choice *choice, uint32_t i)
{
	uint32_t after = choice->items.count - i - 1;
	memmove(&choice->items.at[i], &choice->items.at[i] + 1, after * sizeof choice->items.at[0]);
	choice->items.count--;
}

static bool choice_kind_fits(const struct choice_item *item, const char *kind)
{
	if (!item->kind)
		return choice_is_among(choice_usual, kind);
	return !strcmp(item->kind, "*") || !strcmp(item->kind, kind);
}

static bool choice_glob_fits(const struct choice_item *item, const char *model, const char *name)
{
	if (!item->whole)
		return match_glob(item->glob, model);
	if (!name || !*name)
		return false;
	struct text both = {0};
	text_add(&both, "%s/%s", model, name);
	bool fits = match_glob(item->glob, both.at);
	text_fini(&both);
	return fits;
}

bool choice_has(const struct choice *choice, const char *kind, const char *model, const char *name)
{
	for (uint32_t i = 0; i < choice->items.count; i++)
		if (choice_kind_fits(&choice->items.at[i], kind) && choice_glob_fits(&choice->items.at[i], model, name))
			return true;
	return false;
}

bool choice_may_have(const struct choice *choice, const char *kind)
{
	for (uint32_t i = 0; i < choice->items.count; i++)
		if (choice_kind_fits(&choice->items.at[i], kind))
			return true;
	return false;
}

void choice_fini(struct choice *choice)
{
	vec_free(&choice->items);
	free(choice->text);
	*choice = (struct choice){0};
}
