/* A plug-in of Gazebo with a wrong parameter often has a default in its place. Here everything is checked, and an
 * element that is not known is refused: otherwise a misspelt <restart> would be noticed only when the program fails. */
#include "program/program.h"

#include <troupe/barrier.h>

#include <ctype.h>
#include <string.h>

struct program_reading {
	struct troupe_program *at; /* [TROUPE_PROGRAMS_MAX] */
	uint32_t count;
	struct arena *arena;
};

bool program_is(const struct sdf_plugin *plugin)
{
	return !strcmp(plugin->name, PROGRAM_PLUGIN);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static bool program_is_taken(const struct program_reading *reading, const char *name)
{
	for (uint32_t i = 0; i < reading->count; i++)
		if (!strcmp(reading->at[i].name, name))
			return true;
	return false;
}

/* Characters that a name cannot have become '_'; the "::" of a nested model becomes '.'. */
static void program_clean(char *name)
{
	char *to = name;
	for (const char *from = name; *from; from++) {
		bool nested = from[0] == ':' && from[1] == ':';
		*to++ = nested ? '.' : isalnum((unsigned char)*from) || strchr("_-.", *from) ? *from : '_';
		from += nested;
	}
	*to = '\0';
}

/* "MODEL.NAME" or "NAME", cut so that `room` more bytes fit. */
static char *program_full_name(const struct program_reading *reading, const char *model, const char *name, int room)
{
	int all = TROUPE_BARRIER_NAME_MAX - room, of_name = (int)MIN(strlen(name), (size_t)all / 2);
	char *full = model ? arena_printf(reading->arena, "%.*s.%.*s", all - of_name - 1, model, of_name, name)
			   : arena_printf(reading->arena, "%.*s", all, name);
	program_clean(full);
	return full;
}

static const char *program_default_name(
	const struct program_reading *reading, const char *model, const char *executable)
{
	const char *slash = strrchr(executable, '/'), *last = slash ? slash + 1 : executable;
	enum { NUMBER_ROOM = 4 };
	char *name = program_full_name(reading, model, last, NUMBER_ROOM);
	const char *numbered = name;
	for (uint32_t i = 2; program_is_taken(reading, numbered); i++)
		numbered = arena_printf(reading->arena, "%s-%u", name, i);
	return numbered;
}

static troupe_status program_read_name(struct program_reading *reading, const struct sdf_element *plugin,
	struct troupe_program *program, struct troupe_error *error)
{
	const struct sdf_element *element = sdf_child(plugin, "name", NULL);
	if (!element) {
		program->name = program_default_name(reading, program->model, program->executable);
		return TROUPE_OK;
	}
	size_t length = strlen(element->text);
	if (!length || length > TROUPE_BARRIER_NAME_MAX / 2)
		return fail(error, TROUPE_EWORLD, "%s:%u: <name> of a program: '%.80s': expected 1 to %d characters",
			element->file, element->line, element->text, TROUPE_BARRIER_NAME_MAX / 2);
	for (const char *at = element->text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("_-.", *at))
			return fail(error, TROUPE_EWORLD,
				"%s:%u: <name> of a program: '%.80s': expected letters, digits, '_', '-' and '.' only",
				element->file, element->line, element->text);
	program->name = program_full_name(reading, program->model, element->text, 0);
	if (program_is_taken(reading, program->name))
		return fail(error, TROUPE_EWORLD, "%s:%u: a second program '%s': expected different names",
			element->file, element->line, program->name);
	return TROUPE_OK;
}

/* --- parameters --------------------------------------------------------------------------------------------------- */

static troupe_status program_check_child(
	const struct sdf_element *plugin, const struct sdf_element *child, struct troupe_error *error)
{
	static const char *const known[] = {"executable", "arg", "name", "restart"};
	bool found = false, is_arg = !strcmp(child->name, "arg");
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		found |= !strcmp(child->name, known[i]);
	if (!found)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: <%.80s> in the plug-in " PROGRAM_PLUGIN ": expected executable, arg, name or restart",
			child->file, child->line, child->name);
	if (!is_arg && sdf_child(plugin, child->name, NULL) != child)
		return fail(error, TROUPE_EWORLD, "%s:%u: a second <%s> of a program: expected one", child->file,
			child->line, child->name);
	if (child->child)
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s> of a program has elements in it: expected only text",
			child->file, child->line, child->name);
	if (strlen(child->text) > PROGRAM_TEXT_MAX)
		return fail(error, TROUPE_EWORLD, "%s:%u: <%s> of a program: '%.40s...': expected at most %d bytes",
			child->file, child->line, child->name, child->text, PROGRAM_TEXT_MAX);
	return TROUPE_OK;
}

static troupe_status program_read_executable(
	const struct sdf_element *plugin, struct troupe_program *program, struct troupe_error *error)
{
	const struct sdf_element *element = sdf_child(plugin, "executable", NULL);
	if (!element)
		return fail(error, TROUPE_EWORLD, "%s:%u: a program without <executable>: expected one", plugin->file,
			plugin->line);
	size_t length = strlen(element->text);
	if (!length || element->text[length - 1] == '/')
		return fail(error, TROUPE_EWORLD, "%s:%u: <executable> of a program: '%.80s': expected a file",
			element->file, element->line, element->text);
	program->executable = element->text;
	program->line = element->line;
	return TROUPE_OK;
}

static troupe_status program_read_args(struct program_reading *reading, const struct sdf_element *plugin,
	struct troupe_program *program, struct troupe_error *error)
{
	const char **args = arena_array(reading->arena, const char *, TROUPE_PROGRAM_ARGS_MAX + 1);
	uint32_t count = 0;
	for (const struct sdf_element *arg = NULL; (arg = sdf_child(plugin, "arg", arg));) {
		if (count == TROUPE_PROGRAM_ARGS_MAX)
			return fail(error, TROUPE_EWORLD, "%s:%u: one more <arg> of a program: expected at most %d",
				arg->file, arg->line, TROUPE_PROGRAM_ARGS_MAX);
		args[count++] = arena_strdup(reading->arena, arg->text);
	}
	program->args = args;
	return TROUPE_OK;
}

static troupe_status program_read_restart(
	const struct sdf_element *plugin, struct troupe_program *program, struct troupe_error *error)
{
	const struct sdf_element *element = sdf_child(plugin, "restart", NULL);
	program->restarts = element && !strcmp(element->text, "on-failure");
	if (element && !program->restarts && strcmp(element->text, "never") != 0)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: <restart> of a program: '%.80s': expected never or on-failure", element->file,
			element->line, element->text);
	return TROUPE_OK;
}

static const char *program_model_of(const struct sdf_world *world, const struct sdf_plugin *plugin)
{
	uint32_t model = plugin->link == SDF_NONE ? plugin->model : world->links.at[plugin->link].model;
	return model == SDF_NONE ? NULL : world->models.at[model].scoped;
}

static troupe_status program_read_one(struct program_reading *reading, const struct sdf_world *world,
	const struct sdf_plugin *plugin, struct troupe_error *error)
{
	const struct sdf_element *element = plugin->element;
	const char *model = program_model_of(world, plugin);
	struct troupe_program program = {.world = arena_strdup(reading->arena, world->name),
		.model = model ? arena_strdup(reading->arena, model) : NULL,
		.file = arena_strdup(reading->arena, element->file)};
	troupe_status status = TROUPE_OK;
	for (const struct sdf_element *child = element->child; child && !status; child = child->next)
		status = program_check_child(element, child, error);
	if (!status)
		status = program_read_executable(element, &program, error);
	if (!status)
		status = program_read_args(reading, element, &program, error);
	if (!status)
		status = program_read_restart(element, &program, error);
	if (!status && reading->count == TROUPE_PROGRAMS_MAX)
		status = fail(error, TROUPE_EWORLD, "%s:%u: one more program: expected at most %d in a file",
			element->file, element->line, TROUPE_PROGRAMS_MAX);
	if (!status)
		status = program_read_name(reading, element, &program, error);
	if (status)
		return status;
	program.executable = arena_strdup(reading->arena, program.executable);
	reading->at[reading->count++] = program;
	return TROUPE_OK;
}

troupe_status programs_read(const struct sdf *sdf, void (*on_error)(void *ctx, const char *text), void *ctx,
	struct program_list *ret_list, struct troupe_error *error)
{
	struct program_list list = {0};
	struct program_reading reading = {.arena = &list.arena};
	troupe_status first = TROUPE_OK;
	for (uint32_t w = 0; w < sdf->worlds.count; w++) {
		const struct sdf_world *world = &sdf->worlds.at[w];
		for (uint32_t i = 0; i < world->plugins.count && (!first || on_error); i++) {
			struct troupe_error why;
			if (!program_is(&world->plugins.at[i]))
				continue;
			if (!reading.at)
				reading.at = arena_array(&list.arena, struct troupe_program, TROUPE_PROGRAMS_MAX);
			troupe_status status = program_read_one(&reading, world, &world->plugins.at[i], &why);
			if (status && on_error)
				on_error(ctx, why.text);
			if (status && !first)
				first = fail(error, status, "%s", why.text);
		}
	}
	list.at = reading.at;
	list.count = reading.count;
	if (first)
		programs_fini(&list);
	else
		*ret_list = list;
	return first;
}

void programs_fini(struct program_list *list)
{
	arena_fini(&list->arena);
	*list = (struct program_list){0};
}
