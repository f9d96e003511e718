/* Three servers of one world take their steps in turn. The library is loaded once in the process: so what a plug-in
 * keeps in a static variable is seen by all three, and is not what each of them expects. */
#include "server/internal.h"

#include "server/record.h"
#include "system/plugins.h"

#include <troupe/plugin_check.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EACH_STEP = 100, THEN_EVERY = 10, RUNNERS = 3 };

struct check {
	const struct troupe_plugin_check *def;
	struct troupe_server *plain, *moved, *resumed; /* NULL: has ended */
	uint32_t wrong;
};

static void check_plugin_say(struct check *check, bool wrong, const char *format, ...) TROUPE_PRINTF(3, 4);
static void check_plugin_say(struct check *check, bool wrong, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	check->wrong += wrong;
	if (check->def->on_line)
		check->def->on_line(check->def->ctx, wrong, line.text);
}

/* --- what the library has ----------------------------------------------------------------------------------------- */

static void check_plugin_describe_parameter(struct check *check, const struct troupe_parameter *p)
{
	static const char *const kinds[] = {"number", "true or false", "text", "three numbers", "pose", "elements",
		"no effect"};
	if (p->kind == TROUPE_NUMBER || p->kind == TROUPE_VECTOR)
		check_plugin_say(check, false, "  <%s>: %s from %g to %g: %.200s", p->name, kinds[p->kind], p->low,
			p->high, p->what ? p->what : "");
	else
		check_plugin_say(check, false, "  <%s>: %s: %.200s", p->name, kinds[p->kind], p->what ? p->what : "");
}

static void check_plugin_describe_kind(struct check *check, const struct troupe_kind *kind)
{
	static const struct {
		uint32_t flag;
		const char *text;
	} places[] = {{TROUPE_IN_MODEL, "models"}, {TROUPE_IN_ACTOR, "actors"}, {TROUPE_IN_WORLD, "the world"},
		{TROUPE_FOR_EACH_MODEL, "the world for each model"}};
	struct text where = {0};
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (kind->flags & places[i].flag)
			text_add(&where, "%s%s", where.count ? ", " : "", places[i].text);
	check_plugin_say(check, false, "kind %s, in %s", kind->names[0], where.at);
	text_fini(&where);
	for (const struct troupe_parameter *p = kind->parameters; p && p->name; p++)
		check_plugin_describe_parameter(check, p);
	for (const struct troupe_words *w = kind->words; w && w->name; w++)
		check_plugin_say(check, false, "  word %s: %s", w->name,
			w->kind == TROUPE_WORD_DOUBLE ? "number" : "whole number");
}

static troupe_status check_plugin_describe(struct check *check, struct troupe_error *error)
{
	struct plugins *plugins = plugins_create(NULL);
	const struct plugin_library *library;
	troupe_status status = plugins_open(plugins, check->def->plugin, &library, error);
	if (!status)
		check_plugin_say(check, false, "%.300s: plug-in %.100s %.100s, hash %016" PRIx64, library->path,
			library->plugin->name ? library->plugin->name : "",
			library->plugin->version ? library->plugin->version : "", library->hash);
	for (uint32_t i = 0; !status && library->kinds[i]; i++)
		check_plugin_describe_kind(check, library->kinds[i]);
	plugins_destroy(plugins);
	return status;
}

/* --- the servers -------------------------------------------------------------------------------------------------- */

static struct troupe_server_def check_plugin_definition(const struct check *check)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = check->def->world_path;
	def.world_text = check->def->world_text;
	def.resource_paths = check->def->resource_paths;
	def.plugin_paths = check->def->plugin_paths;
	def.plugin_file = check->def->plugin;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.sense_all = true;
	return def;
}

static uint32_t check_plugin_count_in(const struct system_set *set, const char *path)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < set->count; i++)
		count += set->at[i].library && !strcmp(set->at[i].library->path, path);
	return count;
}

static uint32_t check_plugin_count_systems(const struct check *check)
{
	uint32_t count = 0;
	for (uint32_t w = 0; w < check->plain->world_count; w++) {
		const struct systems *systems = check->plain->worlds[w].systems;
		count += check_plugin_count_in(&systems->world, check->def->plugin);
		for (uint32_t m = 0; m < systems->scene->model_count; m++)
			count += check_plugin_count_in(&systems->sets[m], check->def->plugin);
	}
	return count;
}

static troupe_status check_plugin_create(const struct check *check, const struct troupe_server_def *def,
	struct troupe_server **server, struct troupe_error *error)
{
	troupe_status status = troupe_server_create(def, server, error);
	if (!status && check->def->prepare)
		status = check->def->prepare(check->def->ctx, *server, error);
	return status;
}

static troupe_status check_plugin_begin(struct check *check, struct troupe_error *error)
{
	struct troupe_server_def def = check_plugin_definition(check);
	troupe_status status = check_plugin_create(check, &def, &check->resumed, error);
	def.rehearse = true;
	if (!status)
		status = check_plugin_create(check, &def, &check->plain, error);
	def.rehearse = false;
	def.secondaries = RUNNERS;
	def.chaos = true;
	def.chaos_moves = RUNNERS;
	return status ? status : check_plugin_create(check, &def, &check->moved, error);
}

static void check_plugin_finish(struct troupe_server **server)
{
	troupe_server_destroy(*server);
	*server = NULL;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* One step; false: the server has ended, and why was said. */
static bool check_plugin_step(struct check *check, struct troupe_server **server, const char *how)
{
	struct troupe_error why;
	if (!*server || !troupe_server_step(*server, 1, &why))
		return *server;
	check_plugin_say(check, true, "%s: %s", how, why.text);
	check_plugin_finish(server);
	return false;
}

static void check_plugin_report_set(
	const struct check *check, const struct system_set *set, const struct system_step *step)
{
	struct text out = {0};
	for (uint32_t i = 0; i < set->count; i++) {
		const struct system *system = &set->at[i];
		if (!system->library || strcmp(system->library->path, check->def->plugin) != 0)
			continue;
		for (uint32_t o = 0; o < system->outputs.count; o++)
			if (system->outputs.at[o].def.gives == TROUPE_GIVES_REPORT)
				(void)systems_report(system, o, step, &out);
	}
	text_fini(&out);
}

/* No client has subscribed, so nothing else calls check_plugin_report(). False: a message differs. */
static bool check_plugin_report(struct check *check, const char *how, uint64_t k)
{
	for (uint32_t w = 0; w < check->plain->world_count; w++) {
		struct server_world *world = &check->plain->worlds[w];
		const struct scene *scene = world->scene;
		struct system_step step = primary_view(world->primary);
		check_plugin_report_set(check, &world->systems->world, &step);
		for (uint32_t m = 0; m < scene->model_count; m++)
			if (scene->models[m].id && !scene->models[m].absent)
				check_plugin_report_set(check, &world->systems->sets[m], &step);
		if (world->systems->fault->error.status) {
			check_plugin_say(
				check, true, "%s: step %" PRIu64 ": %s", how, k, world->systems->fault->error.text);
			return false;
		}
	}
	return true;
}

static void check_plugin_compare(struct check *check, struct troupe_server **server, const char *how, uint64_t k)
{
	struct text text = {0};
	bool differs = false;
	for (uint32_t w = 0; *server && w < check->plain->world_count && !differs; w++) {
		text.count = 0;
		differs = record_compare_worlds(&check->plain->worlds[w], &(*server)->worlds[w], &text);
	}
	if (differs) {
		check_plugin_say(check, true,
			"%.200s: %s: state %" PRIu64 ": %.300s: it has state outside of its words, or depends on the "
			"order of models",
			check->def->plugin, how, k, text.at);
		check_plugin_finish(server);
	}
	text_fini(&text);
}

static bool check_plugin_resumes_at(uint64_t k)
{
	return k <= EACH_STEP || k % THEN_EVERY == 0;
}

static void check_plugin_resume(struct check *check, const char *how)
{
	struct troupe_server_def def = check_plugin_definition(check);
	struct troupe_error why;
	void *bytes;
	size_t count;
	if (!check->resumed)
		return;
	troupe_status status = troupe_server_pack(check->resumed, &bytes, &count, &why);
	check_plugin_finish(&check->resumed);
	def.world_path = def.world_text = NULL;
	def.resume_bytes = bytes;
	def.resume_count = count;
	if (!status)
		status = troupe_server_create(&def, &check->resumed, &why);
	if (status)
		check_plugin_say(check, true, "%s: %s", how, why.text);
	free(bytes);
}

static void check_plugin_run(struct check *check)
{
	static const char plain[] = "called twice", moved[] = "moved between runners", resumed[] = "saved and resumed";
	uint64_t k = 0;
	while (k < check->def->steps && (check->plain || !k)) {
		if (!check_plugin_step(check, &check->plain, plain) || !check_plugin_report(check, plain, k))
			return;
		k++;
		(void)check_plugin_step(check, &check->moved, moved);
		(void)check_plugin_step(check, &check->resumed, resumed);
		check_plugin_compare(check, &check->moved, moved, k);
		check_plugin_compare(check, &check->resumed, resumed, k);
		if (check_plugin_resumes_at(k))
			check_plugin_resume(check, resumed);
	}
	check_plugin_say(check, false, "%" PRIu64 " steps in which each function was called twice: the same", k);
	if (check->moved)
		check_plugin_say(check, false,
			"%" PRIu64 " steps on %d runners, with models moved at every step: the same", k, RUNNERS);
	if (check->resumed)
		check_plugin_say(check, false,
			"%" PRIu64 " steps, saved and resumed at each of the first %d and then at every %d: the same",
			k, EACH_STEP, THEN_EVERY);
}

troupe_status troupe_plugin_check(
	const struct troupe_plugin_check *def, uint32_t *ret_wrong, struct troupe_error *error)
{
	struct check check = {.def = def};
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	if (!def->plugin || !def->world_path || !def->steps)
		return fail(error, TROUPE_EINVAL, "a check of a plug-in needs its file, a world, and 1 step or more");
	troupe_status status = check_plugin_describe(&check, error);
	if (!status)
		status = check_plugin_begin(&check, error);
	if (!status && !check_plugin_count_systems(&check))
		status = fail(error, TROUPE_EWORLD,
			"%.200s: no <plugin> of it is of a kind of %.200s: expected one that has effect",
			def->world_path, def->plugin);
	if (!status)
		check_plugin_run(&check);
	check_plugin_finish(&check.plain);
	check_plugin_finish(&check.moved);
	check_plugin_finish(&check.resumed);
	if (!status)
		*ret_wrong = check.wrong;
	return status;
}
