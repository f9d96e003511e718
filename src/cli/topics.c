/* `troupe topics`: prints the topics and services that a run of the world would have. The world is loaded, but no step
 * is taken. */
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/xacro.h"

#include "base/json_out.h"
#include "base/shown.h"

#include <troupe/client.h>
#include <troupe/server.h>

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cli_topics_settings {
	const char *world;
	struct option_list resource_paths, plugin_paths;
	struct xacro_settings xacro;
	bool json;
};

#define CLI_TOPICS_AT(member) offsetof(struct cli_topics_settings, member)
static const struct option_spec cli_topics_specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = CLI_TOPICS_AT(world)},
	{OPTION_HEADING, .help = "Options"},
	{OPTION_FLAG, .name = "json", .offset = CLI_TOPICS_AT(json), .help = "print a JSON array of objects instead"},
	OPTIONS_PATHS(CLI_TOPICS_AT(resource_paths), CLI_TOPICS_AT(plugin_paths), "worlds, "),
	XACRO_OPTIONS(CLI_TOPICS_AT(xacro.expand), CLI_TOPICS_AT(xacro.arguments), NULL),
	OPTIONS_HELP,
};
#undef CLI_TOPICS_AT

static const struct options_command cli_topics_command = {
	.name = "topics",
	.usage = "troupe topics [OPTIONS] WORLD.sdf",
	.about = "Prints the topics and services that a run of the world has at its start, one in a line: what it is "
		 "(out: published by the run; in: taken by the run; service), its name, its type (of a service: "
		 "request and reply), how many messages per simulated second are published at most, and what serves "
		 "it. Models that are created later bring their own.",
	.after = "WORLD.sdf is a file or the name of a world, as for run.\n"
		 "\n"
		 "Exit status\n"
		 "  0  the topics are printed\n"
		 "  1  the world cannot be read, or standard output cannot be written\n"
		 "  2  wrong usage\n",
	.specs = cli_topics_specs,
	.spec_count = ARRAY_LEN(cli_topics_specs),
};

static const char *cli_topics_word_of(troupe_topic_kind kind)
{
	return kind == TROUPE_TOPIC_PUBLISHED ? "out" : kind == TROUPE_TOPIC_TAKEN ? "in" : "service";
}

/* The topic as one line; width: of the names. Names of models are parts of names of topics. */
static void cli_topics_add_line(const struct troupe_topic *topic, size_t width, struct text *out)
{
	char rate[40] = "";
	size_t begin;
	if (topic->rate_hz > 0)
		(void)snprintf(rate, sizeof rate, "  %g Hz", topic->rate_hz);
	text_add(out, "%-8s ", cli_topics_word_of(topic->kind));
	begin = out->count;
	shown_add(out, topic->name);
	text_add(out, "%*s  %s%s%s%s  (", (int)(width - MIN(width, out->count - begin)), "", topic->type,
		topic->reply_type ? " -> " : "", topic->reply_type ? topic->reply_type : "", rate);
	shown_add(out, topic->owner);
	text_add(out, ")\n");
}

static troupe_status cli_topics_print_lines(const struct troupe_topics *topics, struct troupe_error *error)
{
	struct text out = {0};
	size_t width = 0;
	for (uint32_t i = 0; i < topics->count; i++)
		width = MAX(width, strlen(topics->at[i].name));
	for (uint32_t i = 0; i < topics->count; i++)
		cli_topics_add_line(&topics->at[i], width, &out);
	troupe_status status = cli_write(out.at, out.count, error);
	text_fini(&out);
	return status;
}

static void cli_topics_add_json(const struct troupe_topic *topic, struct json_out *out)
{
	json_out_object(out, NULL);
	json_out_string(out, "kind", cli_topics_word_of(topic->kind));
	json_out_string(out, "name", topic->name);
	json_out_string(out, "type", topic->type);
	if (topic->reply_type)
		json_out_string(out, "reply_type", topic->reply_type);
	if (topic->rate_hz > 0)
		json_out_double(out, "rate_hz", topic->rate_hz);
	json_out_string(out, "owner", topic->owner);
	json_out_end(out);
}

static troupe_status cli_topics_print_json(const struct troupe_topics *topics, struct troupe_error *error)
{
	struct text text = {0};
	struct json_out out = {.text = &text, .spaced = true};
	json_out_array(&out, NULL);
	json_out_lines(&out);
	for (uint32_t i = 0; i < topics->count; i++)
		cli_topics_add_json(&topics->at[i], &out);
	json_out_end(&out);
	text_add(&text, "\n");
	troupe_status status = cli_write(text.at, text.count, error);
	text_fini(&text);
	return status;
}

static int cli_topics_print(const struct cli_topics_settings *settings, const char *world, const char *expanded)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = world;
	def.world_text = expanded;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = 0;
	troupe_status status = troupe_server_create(&def, &server, &error);
	if (status) {
		cli_complain("topics", "%s", error.text);
		return cli_exit_status(status);
	}
	const struct troupe_topics *topics = troupe_topics_list(server);
	status = (settings->json ? cli_topics_print_json : cli_topics_print_lines)(topics, &error);
	troupe_topics_release(topics);
	troupe_server_destroy(server);
	if (status)
		cli_complain("topics", "%s", error.text);
	return cli_exit_status(status);
}

int cli_topics(int argc, char **argv)
{
	struct cli_topics_settings settings = {0};
	struct arena arena = {0};
	const char *world, *expanded;
	int status = CLI_DONE;
	if (options_parse(&cli_topics_command, argc, argv, &settings, &arena, NULL, &status) &&
		xacro_expand(&settings.xacro, "topics", settings.world, settings.resource_paths.at, &arena, &world,
			&expanded, &status))
		status = cli_topics_print(&settings, world, expanded);
	arena_fini(&arena);
	return status;
}
