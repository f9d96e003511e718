/* `troupe print`: prints a world as the loader understood it, with poses resolved and includes expanded. The printed
 * SDF loads to the same world, so it shows how a world file is interpreted. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/xacro.h"

#include <stddef.h>
#include <stdio.h>

struct cli_print_settings {
	const char *world;
	struct option_list resource_paths;
	struct xacro_settings xacro;
	bool flat;
};

#define CLI_PRINT_AT(member) offsetof(struct cli_print_settings, member)
static const struct option_spec cli_print_specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = CLI_PRINT_AT(world)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_FLAG, .name = "flat", .offset = CLI_PRINT_AT(flat),
		.help = "print one line for each entity instead, sorted, with its pose in the world"},
	OPTIONS_RESOURCE_PATH(CLI_PRINT_AT(resource_paths), "worlds, "),
	XACRO_OPTIONS(CLI_PRINT_AT(xacro.expand), CLI_PRINT_AT(xacro.arguments), NULL),
	OPTIONS_HELP,
};
#undef CLI_PRINT_AT

static const struct options_command cli_print_command = {
	.name = "print",
	.usage = "troupe print [OPTIONS] WORLD.sdf",
	.about = "Prints a world as troupe understands it: SDF 1.9 with resolved poses and expanded includes; "
		 "plug-ins are kept. (The version is another one if the names or the version of the file need "
		 "it.) The printed SDF loads to the same world.",
	.after = "WORLD.sdf is a file or the name of a world, as for run.\n"
		 "\n"
		 "Exit status\n"
		 "  0  the world is printed\n"
		 "  1  the world cannot be read, or standard output cannot be written\n"
		 "  2  wrong usage\n",
	.specs = cli_print_specs,
	.spec_count = ARRAY_LEN(cli_print_specs),
};

int cli_print(int argc, char **argv)
{
	struct cli_print_settings settings = {0};
	struct arena arena = {0};
	struct sdf *sdf = NULL;
	const char *world, *expanded;
	int status = CLI_DONE;
	if (options_parse(&cli_print_command, argc, argv, &settings, &arena, NULL, &status) &&
		xacro_expand(&settings.xacro, "print", settings.world, settings.resource_paths.at, &arena, &world,
			&expanded, &status) &&
		cli_load("print", world, expanded, settings.resource_paths.at, &sdf, &status)) {
		struct text text = {0};
		struct troupe_error error;
		(settings.flat ? sdf_print_flat : sdf_print)(sdf, &text);
		if (text.at && cli_write(text.at, text.count, &error)) {
			cli_complain("print", "%s", error.text);
			status = CLI_BAD_INPUT;
		}
		text_fini(&text);
	}
	sdf_free(sdf);
	arena_fini(&arena);
	return status;
}
