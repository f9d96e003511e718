/* `troupe check`: reports everything that is wrong with a world, not only the first error. Each stage (SDF, scene,
 * systems) goes on after an error as far as it can. A stage that had an error is the last stage, because its result
 * is not complete. The loaders are those of `run`, so `check` and `run` agree on which worlds are valid. */
#include "base/map.h"
#include "base/probe.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/signals.h"
#include "cli/xacro.h"
#include "program/program.h"
#include "scene/scene.h"
#include "sensor/sensor.h"
#include "system/ignored.h"
#include "system/system.h"

#include <troupe/plugin_check.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STUCK_S = 10 };

struct check_settings {
	const char *world, *world_text; /* text: NULL: the world is in its file */
	struct option_list resource_paths, plugin_paths;
	struct xacro_settings xacro;
	const char *plugin, *commands;
	int64_t steps;
	bool strict;
};

#define CHECK_AT(member) offsetof(struct check_settings, member)
static const struct option_spec check_specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = CHECK_AT(world)},
	{OPTION_HEADING, .help = "Options"},
	OPTIONS_PATHS(CHECK_AT(resource_paths), CHECK_AT(plugin_paths), "worlds, "),
	{OPTION_TEXT, .name = "plugin", .argument = "FILE", .offset = CHECK_AT(plugin),
		.help = "check this library of plug-ins: list what it has, simulate the world with its plug-ins in "
			"three "
			"ways, and compare the states after each step"},
	{OPTION_WHOLE, .name = "steps", .argument = "N", .offset = CHECK_AT(steps), .lo = 1, .hi = 1e9,
		.needs = "plugin", .help = "steps to simulate with --plugin (default: 1000)"},
	{OPTION_TEXT, .name = "commands", .argument = "FILE", .offset = CHECK_AT(commands), .needs = "plugin",
		.help = "with --plugin: commands of this file, as of run, for plug-ins that take messages"},
	XACRO_OPTIONS(CHECK_AT(xacro.expand), CHECK_AT(xacro.arguments), NULL),
	{OPTION_FLAG, .name = "strict", .offset = CHECK_AT(strict),
		.help = "treat a warning as an error (exit status 1), and each ignored part that run warns of, too"},
	OPTIONS_HELP,
};
#undef CHECK_AT

static const struct options_command check_command = {
	.name = "check",
	.usage = "troupe check [OPTIONS] WORLD.sdf",
	.about = "Loads a world as run does, but continues after an error where possible. Prints all errors, "
		 "all warnings, and all parts of the world that troupe ignores (names and counts) on standard "
		 "error, and one line that counts what the world holds on standard output.",
	.after = "WORLD.sdf is a file or the name of a world, as for run.\n"
		 "\n"
		 "Exit status\n"
		 "  0  the world can be run\n"
		 "  1  the world cannot be run; or, with --strict, there are warnings; or the\n"
		 "     plug-in of --plugin cannot be loaded, or breaks a rule\n"
		 "  2  wrong usage\n",
	.specs = check_specs,
	.spec_count = ARRAY_LEN(check_specs),
};

struct totals {
	uint32_t errors, warnings;
	uint32_t worlds, dynamic_models, static_models, links, joints, bodies, collisions, levels, performers;
	uint32_t plugins, systems, programs;
	const char *path; /* of the file */
	struct map told;  /* errors, in the arena */
	struct arena *arena;
};

static void check_find(struct totals *totals, enum sdf_severity severity, const char *text)
{
	cli_finding(severity, text);
	*(severity == SDF_ERROR ? &totals->errors : &totals->warnings) += 1;
}

/* Some plug-ins of the world are made for each model: what is wrong with one is told once. */
static void check_on_error(void *ctx, const char *text)
{
	struct totals *totals = ctx;
	if (map_add(&totals->told, arena_strdup(totals->arena, text), 0))
		check_find(totals, SDF_ERROR, text);
}

static void check_count_scene(struct totals *totals, const struct scene *scene)
{
	for (uint32_t i = 0; i < scene->model_count; i++) {
		totals->performers += scene->models[i].performer;
		*(scene->models[i].is_static ? &totals->static_models : &totals->dynamic_models) += 1;
	}
	totals->links += scene->sdf->links.count;
	totals->joints += scene->sdf->joints.count;
	totals->bodies += scene->body_count;
	totals->collisions += scene->sdf->collisions.count;
	totals->levels += scene->level_count;
	for (uint32_t i = 0; i < scene->sdf->plugins.count; i++)
		totals->plugins +=
			scene->sdf->plugins.at[i].model != SDF_NONE && !program_is(&scene->sdf->plugins.at[i]);
	totals->plugins += scene->sdf->actor_plugins.count;
	for (uint32_t i = 0; i < scene->warnings.count; i++)
		check_find(totals, SDF_WARNING, scene->warnings.at[i]);
}

static void check_count_systems(struct totals *totals, const struct systems *systems)
{
	totals->systems += systems->count;
	for (uint32_t i = 0; i < systems->warnings.count; i++)
		check_find(totals, SDF_WARNING, systems->warnings.at[i]);
}

/* Each stage goes on after an error as far as it can; a stage that failed is the last one. */
static void check_world(struct totals *totals, struct plugins *plugins, const struct sdf_world *world)
{
	struct scene *scene = NULL;
	struct systems *systems = NULL;
	struct troupe_error error;
	uint32_t before = totals->errors;
	struct scene_options options = {.on_error = check_on_error, .ctx = totals};
	troupe_status status = scene_create(world, &options, &scene, &error);
	if (!status) {
		check_count_scene(totals, scene);
		status = systems_create_telling(scene, plugins, check_on_error, totals, &systems, &error);
	}
	if (!status)
		check_count_systems(totals, systems);
	else if (totals->errors == before)
		check_find(totals, SDF_ERROR, error.text);
	totals->worlds++;
	systems_destroy(systems);
	scene_destroy(scene);
}

/* Whether their files exist is not checked here, because they may be started on another machine. */
static void check_programs(struct totals *totals, const struct sdf *sdf)
{
	struct program_list list;
	if (programs_read(sdf, check_on_error, totals, &list, NULL))
		return;
	totals->programs = list.count;
	programs_fini(&list);
}

static void check_count_messages(struct totals *totals, const struct sdf *sdf)
{
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		cli_finding(sdf->messages.at[i].severity, sdf->messages.at[i].text);
	totals->errors += sdf->error_count;
	totals->warnings += sdf->warning_count;
	if (sdf->error_count + sdf->warning_count > sdf->messages.count)
		fprintf(stderr, "and %u more\n", sdf->error_count + sdf->warning_count - sdf->messages.count);
}

/* --- what is ignored ---------------------------------------------------------------------------------------------- */

static void check_list_kind(const struct ignored *ignored)
{
	struct text line = {0};
	text_add(&line, "%s (first at %.300s:%u)%s", ignored->what, ignored->first->file, ignored->first->line,
		ignored->note);
	cli_ignored(line.at);
	text_fini(&line);
}

/* One line for each sensor that measures nothing. */
static void check_list_sensors(const struct sdf_world *world)
{
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		const struct sdf_sensor *sensor = &world->sensors.at[i];
		bool of_link = sensor->link != SDF_NONE;
		if (sensor_is_simulated(sensor))
			continue;
		struct text line = {0};
		text_add(&line, "sensor \"%.200s::%.100s\" of type %.100s (%.300s:%u)",
			of_link ? world->links.at[sensor->link].scoped : world->joints.at[sensor->joint].scoped,
			sensor->name, sensor->type, sensor->element->file, sensor->line);
		cli_ignored(line.at);
		text_fini(&line);
	}
}

static void check_list_ignored(struct totals *totals, struct plugins *plugins, const struct sdf *sdf)
{
	struct ignored_list list = {0};
	ignored_find(sdf, sensor_is_simulated, plugins, &list);
	for (uint32_t i = 0; i < list.all.count; i++) {
		totals->warnings += !list.all.at[i].aside;
		if (list.all.at[i].kind != IGNORED_SENSORS)
			check_list_kind(&list.all.at[i]);
	}
	for (uint32_t i = 0; i < sdf->worlds.count; i++)
		check_list_sensors(&sdf->worlds.at[i]);
	ignored_fini(&list);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static void check_file(struct totals *totals, const struct check_settings *settings, struct arena *arena)
{
	struct files_places places = {0};
	struct files files = {.places = &places};
	struct sdf_options options = {.resource_paths = settings->resource_paths.at,
		.use_environment = true,
		.files = &files,
		.find = !settings->world_text,
		.visuals = SDF_VISUALS_IF_SEEN}; /* as a run */
	struct plugins *plugins = plugins_create(settings->plugin_paths.at);
	struct sdf *sdf = NULL;
	struct troupe_error error;
	sdf_allow(settings->world, &options, &places);
	if (settings->world_text)
		files_add(&files, settings->world, settings->world_text, strlen(settings->world_text));
	troupe_status status = sdf_load_file(settings->world, &options, &sdf, &error);
	if (sdf)
		check_count_messages(totals, sdf);
	if (status && !totals->errors)
		check_find(totals, SDF_ERROR, error.text);
	if (!status && systems_check_worlds(sdf, &error))
		check_find(totals, SDF_ERROR, error.text);
	for (uint32_t i = 0; !status && i < sdf->worlds.count; i++)
		check_world(totals, plugins, &sdf->worlds.at[i]);
	if (!status)
		check_programs(totals, sdf);
	if (!status && !sdf->worlds.count) {
		struct text text = {0};
		text_add(&text, "%s: no <world> in it", settings->world);
		check_find(totals, SDF_ERROR, text.at);
		text_fini(&text);
	}
	if (sdf) {
		check_list_ignored(totals, plugins, sdf);
		totals->path = arena_strdup(arena, sdf->path);
	}
	plugins_destroy(plugins);
	sdf_free(sdf);
	files_fini(&files);
	files_places_fini(&places);
}

static void check_print_totals(const struct totals *t)
{
	const char *path = t->path;
	if (t->errors) {
		printf("%s: cannot be run: errors: %u, warnings: %u\n", path, t->errors, t->warnings);
		return;
	}
	printf("%s: can be run: worlds: %u, models: %u (static: %u, dynamic: %u), links: %u, joints: %u, bodies: %u, "
	       "collisions: %u, levels: %u, performers: %u, model plug-ins: %u (known: %u, ignored: %u), ",
		path, t->worlds, t->static_models + t->dynamic_models, t->static_models, t->dynamic_models, t->links,
		t->joints, t->bodies, t->collisions, t->levels, t->performers, t->plugins, t->systems,
		t->plugins - MIN(t->plugins, t->systems));
	if (t->programs)
		printf("programs: %u, ", t->programs);
	printf("warnings: %u\n", t->warnings);
}

static void check_on_line(void *ctx, bool wrong, const char *text)
{
	(void)ctx;
	if (wrong)
		cli_finding(SDF_ERROR, text);
	else
		printf("%s\n", text);
}

static troupe_status check_give_commands(void *ctx, struct troupe_server *server, struct troupe_error *error)
{
	return commands_queue(ctx, server, error);
}

static int check_plugin_here(void *ctx)
{
	const struct check_settings *settings = ctx;
	struct command_lines commands = {0};
	/* one that never returns would keep the check from its verdict for ever; the first way of the check has one
	 * thread */
	signals_limit_plugins("check", STUCK_S);
	struct troupe_plugin_check def = {.plugin = settings->plugin,
		.world_path = settings->world,
		.world_text = settings->world_text,
		.resource_paths = settings->resource_paths.at,
		.plugin_paths = settings->plugin_paths.at,
		.steps = (uint64_t)settings->steps,
		.on_line = check_on_line,
		.ctx = &commands,
		.prepare = settings->commands ? check_give_commands : NULL};
	struct troupe_error error;
	uint32_t wrong = 0;
	troupe_status status = settings->commands ? commands_read(settings->commands, &commands, &error) : TROUPE_OK;
	if (!status)
		status = troupe_plugin_check(&def, &wrong, &error);
	commands_fini(&commands);
	if (status)
		cli_complain("check", "%s", error.text);
	else
		printf("%s: %s\n", settings->plugin,
			wrong ? "it breaks a rule of troupe/plugin.h" : "keeps to the rules");
	(void)fflush(NULL);
	return status ? cli_exit_status(status) : wrong ? CLI_BAD_INPUT : CLI_DONE;
}

/* In a child process, because _exit() in a plug-in ends a process without a word, as if the check were done. */
static int check_plugin(struct check_settings *settings)
{
	struct troupe_error error;
	int result = CLI_DONE;
	(void)fflush(NULL);
	troupe_status status = probe_run_whole(check_plugin_here, settings, &result, &error);
	if (!status)
		return result;
	cli_complain("check", "%s: %s", settings->plugin, error.text);
	return CLI_BAD_INPUT;
}

int cli_check(int argc, char **argv)
{
	struct check_settings settings = {.steps = 1000};
	struct arena arena = {0};
	struct totals totals;
	int status = CLI_DONE;
	if (options_parse(&check_command, argc, argv, &settings, &arena, NULL, &status) &&
		xacro_expand(&settings.xacro, "check", settings.world, settings.resource_paths.at, &arena,
			&settings.world, &settings.world_text, &status)) {
		if (settings.plugin) {
			status = check_plugin(&settings);
			arena_fini(&arena);
			return status;
		}
		totals = (struct totals){.path = settings.world, .arena = &arena};
		check_file(&totals, &settings, &arena);
		map_fini(&totals.told);
		check_print_totals(&totals);
		status = totals.errors || (settings.strict && totals.warnings) ? CLI_BAD_INPUT : CLI_DONE;
	}
	arena_fini(&arena);
	return status;
}
