#include "cli/cli.h"
#include "cli/options.h"
#include "scene/scene.h"
#include "system/system.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct settings {
	const char *world;
	struct option_list resource_paths;
};

#define AT(member) offsetof(struct settings, member)
static const struct option_spec specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = AT(world)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_LIST, .name = "resource-path", .argument = "DIR", .offset = AT(resource_paths),
		.help = "look there for model:// and relative names; may be repeated"},
	{OPTION_HELP, 'h', "help", .help = "print this help"},
};
#undef AT

static const struct options_command command = {
	.name = "check",
	.usage = "troupe check [OPTIONS] WORLD.sdf",
	.about = "Load a world the way run does. Prints every error and warning on standard error, then one line on "
		 "standard output that says what the world holds.",
	.after = "Exit status\n  0 the world can be run; 1 it cannot; 2 wrong usage\n",
	.specs = specs,
	.spec_count = ARRAY_LEN(specs),
};

struct totals {
	uint32_t errors, warnings;
	uint32_t worlds, dynamic_models, static_models, links, joints, bodies, collisions, levels, performers;
	uint32_t plugins, systems;
};

static void find(struct totals *totals, enum sdf_severity severity, const char *text)
{
	cli_finding(severity, text);
	*(severity == SDF_ERROR ? &totals->errors : &totals->warnings) += 1;
}

static void count_scene(struct totals *totals, const struct scene *scene, const struct systems *systems)
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
		totals->plugins += scene->sdf->plugins.at[i].model != SDF_NONE;
	totals->systems += systems->count;
	for (uint32_t i = 0; i < scene->warnings.count; i++)
		find(totals, SDF_WARNING, scene->warnings.at[i]);
	for (uint32_t i = 0; i < systems->warnings.count; i++)
		find(totals, SDF_WARNING, systems->warnings.at[i]);
}

static void check_world(struct totals *totals, const struct sdf_world *world)
{
	struct scene *scene = NULL;
	struct systems *systems = NULL;
	struct troupe_error error;
	troupe_status status = scene_create(world, &(struct scene_options){0}, &scene, &error);
	if (!status)
		status = systems_create(scene, &systems, &error);
	if (status)
		find(totals, SDF_ERROR, error.text);
	else
		count_scene(totals, scene, systems);
	totals->worlds++;
	systems_destroy(systems);
	scene_destroy(scene);
}

static void count_messages(struct totals *totals, const struct sdf *sdf)
{
	for (uint32_t i = 0; i < sdf->messages.count; i++)
		cli_finding(sdf->messages.at[i].severity, sdf->messages.at[i].text);
	totals->errors += sdf->error_count;
	totals->warnings += sdf->warning_count;
	if (sdf->error_count + sdf->warning_count > sdf->messages.count)
		fprintf(stderr, "and %u more\n", sdf->error_count + sdf->warning_count - sdf->messages.count);
}

static void check_file(struct totals *totals, const struct settings *settings)
{
	struct sdf_options options = {.resource_paths = settings->resource_paths.at, .use_environment = true};
	struct sdf *sdf = NULL;
	struct troupe_error error;
	troupe_status status = sdf_load_file(settings->world, &options, &sdf, &error);
	if (sdf)
		count_messages(totals, sdf);
	if (status && !totals->errors)
		find(totals, SDF_ERROR, error.text);
	for (uint32_t i = 0; !status && i < sdf->worlds.count; i++)
		check_world(totals, &sdf->worlds.at[i]);
	if (!status && !sdf->worlds.count) {
		struct text text = {0};
		text_add(&text, "%s: no <world> in it", settings->world);
		find(totals, SDF_ERROR, text.at);
		text_fini(&text);
	}
	sdf_free(sdf);
}

static void print_totals(const struct totals *t, const char *path)
{
	if (t->errors) {
		printf("%s: cannot be run: errors: %u, warnings: %u\n", path, t->errors, t->warnings);
		return;
	}
	printf("%s: can be run: worlds: %u, models: %u (static: %u, dynamic: %u), links: %u, joints: %u, bodies: %u, "
	       "collisions: %u, levels: %u, performers: %u, model plug-ins: %u (known: %u, ignored: %u), "
	       "warnings: %u\n",
		path, t->worlds, t->static_models + t->dynamic_models, t->static_models, t->dynamic_models, t->links,
		t->joints, t->bodies, t->collisions, t->levels, t->performers, t->plugins, t->systems,
		t->plugins - MIN(t->plugins, t->systems), t->warnings);
}

int cli_check(int argc, char **argv)
{
	struct settings settings = {0};
	struct arena arena = {0};
	struct totals totals = {0};
	int status = CLI_DONE;
	if (options_parse(&command, argc, argv, &settings, &arena, &status)) {
		check_file(&totals, &settings);
		print_totals(&totals, settings.world);
		status = totals.errors ? CLI_BAD_INPUT : CLI_DONE;
	}
	arena_fini(&arena);
	return status;
}
