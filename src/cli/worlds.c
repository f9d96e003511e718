/* `troupe worlds`: lists the worlds that a name can mean, in the order in which they are searched. */
#include "cli/cli.h"
#include "cli/options.h"

#include "base/json_out.h"
#include "sdf/catalog.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct worlds_settings {
	struct option_list resource_paths;
	bool json;
};

#define WORLDS_AT(member) offsetof(struct worlds_settings, member)
static const struct option_spec worlds_specs[] = {
	{OPTION_HEADING, .help = "Options"},
	{OPTION_FLAG, .name = "json", .offset = WORLDS_AT(json), .help = "print a JSON array of objects instead"},
	{OPTION_LIST, .name = "resource-path", .argument = "DIR", .offset = WORLDS_AT(resource_paths),
		.help = "list this folder, too, before the others; may be repeated"},
	OPTIONS_HELP,
};
#undef WORLDS_AT

static const struct options_command worlds_command = {
	.name = "worlds",
	.usage = "troupe worlds [OPTIONS]",
	.about = "Lists the worlds that troupe run can find by name, one in a line: its name, and what it is. They lie "
		 "in the folders of --resource-path, in those of the environment, and among troupe's own.",
	.after = "Exit status\n"
		 "  0  there are worlds\n"
		 "  1  there are none, or standard output cannot be written\n"
		 "  2  wrong usage\n",
	.specs = worlds_specs,
	.spec_count = ARRAY_LEN(worlds_specs),
};

/* The name by which run finds the file. */
static const char *worlds_name(struct arena *arena, const struct sdf_catalog_entry *entry)
{
	const char *slash = strrchr(entry->uri, '/'), *name = slash ? slash + 1 : entry->uri, *dot = strrchr(name, '.');
	bool ending = dot && !strcmp(dot, ".sdf");
	return arena_printf(arena, "%.*s", ending ? (int)(dot - name) : (int)strlen(name), name);
}

static void worlds_add(struct text *out, const struct sdf_catalog_entry *entry, const char *name, size_t width)
{
	const char *line = *entry->description ? entry->description : entry->uri + strlen("file://");
	struct troupe_error clean; /* names from files may contain control characters */
	(void)fail(&clean, TROUPE_EWORLD, "%-*s  %s", (int)width, name, line);
	text_add(out, "%s\n", clean.text);
}

static void worlds_add_json(struct json_out *out, const struct sdf_catalog_entry *entry, const char *name)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", name);
	json_out_string(out, "file", entry->uri + strlen("file://"));
	json_out_string(out, "description", entry->description);
	json_out_end(out);
}

static void worlds_add_all(struct text *text, const struct sdf_catalog *catalog, struct arena *arena)
{
	size_t width = 0;
	for (uint32_t i = 0; i < catalog->entries.count; i++)
		width = MAX(width, strlen(worlds_name(arena, &catalog->entries.at[i])));
	for (uint32_t i = 0; i < catalog->entries.count; i++) {
		const struct sdf_catalog_entry *entry = &catalog->entries.at[i];
		worlds_add(text, entry, worlds_name(arena, entry), MIN(width, 40u));
	}
}

static void worlds_add_all_json(struct text *text, const struct sdf_catalog *catalog, struct arena *arena)
{
	struct json_out out = {.text = text, .spaced = true};
	json_out_array(&out, NULL);
	json_out_lines(&out);
	for (uint32_t i = 0; i < catalog->entries.count; i++) {
		const struct sdf_catalog_entry *entry = &catalog->entries.at[i];
		worlds_add_json(&out, entry, worlds_name(arena, entry));
	}
	json_out_end(&out);
	text_add(text, "\n");
}

static int worlds_print(const struct sdf_catalog *catalog, const struct worlds_settings *settings, struct arena *arena)
{
	struct text out = {0};
	struct troupe_error error;
	if (settings->json)
		worlds_add_all_json(&out, catalog, arena);
	else
		worlds_add_all(&out, catalog, arena);
	troupe_status status = cli_write(out.at, out.count, &error);
	text_fini(&out);
	if (status)
		cli_complain("worlds", "%s", error.text);
	else if (!catalog->entries.count)
		cli_complain("worlds", "there are no worlds in the folders that are searched");
	return status || !catalog->entries.count ? CLI_BAD_INPUT : CLI_DONE;
}

int cli_worlds(int argc, char **argv)
{
	struct worlds_settings settings = {0};
	struct arena arena = {0};
	struct sdf_catalog catalog;
	int status = CLI_DONE;
	if (options_parse(&worlds_command, argc, argv, &settings, &arena, NULL, &status)) {
		const struct sdf_options options = {
			.resource_paths = settings.resource_paths.at, .use_environment = true};
		sdf_catalog_worlds(&options, &catalog);
		status = worlds_print(&catalog, &settings, &arena);
		sdf_catalog_fini(&catalog);
	}
	arena_fini(&arena);
	return status;
}
