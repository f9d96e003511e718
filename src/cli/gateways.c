/* Programs of Gazebo find a run without any option, but only on this machine. If there is no multicast (in a container
 * without a network, for example), the run goes on without gz-transport: no option asked for it. The viewer's page
 * and Foxglove are served when an option asks for them. */
#include "cli/gateways.h"

#include "base/host_port.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/serve.h"
#include "cli/signals.h"

#include <troupe/server.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OPENING_GRACE_MS = 500, GATEWAYS_PANELS_MAX = 4, GATEWAYS_MARKS_MAX = 16 };

struct gateways {
	struct troupe_watch *watch;
	struct troupe_gateway *all[GATEWAYS_MAX];
	struct serve asked[GATEWAYS_MAX];
	uint32_t count;
	struct arena arena; /* texts of `asked` */
	void (*say)(void *ctx, bool loud, const char *text);
	void *ctx;
};

static const char gateways_commands_open[] =
	": programs on other hosts see everything and can command everything, and nothing is encrypted";

/* Says in one line where a gateway is: "Foxglove: ws://127.0.0.1:8765". danger: the end of the line, or "". */
static void gateways_tell(
	const struct gateways *gateways, bool loud, const char *gateway, const char *address, const char *danger)
{
	struct text text = {0};
	text_add(&text, "%s%s%s", gateway, address, danger);
	gateways->say(gateways->ctx, loud, text.at);
	text_fini(&text);
}

/* The address at which robot clients are served: any free port of the HOST at which secondaries are; NULL: no HOST. */
static const char *gateways_address_for_clients(const char *listen, char ret_text[HOST_PORT_TEXT_BYTES])
{
	struct host_port parts;
	if (!listen || !host_port_read(listen, &parts) || !*parts.host)
		return NULL;
	host_port_text(parts.host, 0, ret_text, HOST_PORT_TEXT_BYTES);
	return ret_text;
}

static troupe_status gateways_start_watch(struct gateways *gateways, const struct gateways_settings *settings,
	struct troupe_server *server, struct troupe_error *error)
{
	char line[128], address[HOST_PORT_TEXT_BYTES];
	struct troupe_error why;
	struct troupe_watch_def def = settings->watch;
	if (!def.listen && !settings->clients)
		return TROUPE_OK;
	if (!def.listen)
		def.listen = gateways_address_for_clients(settings->clients_listen, address);
	troupe_status status = troupe_watch_start(server, &def, &gateways->watch, &why);
	if (status)
		return fail(error, status, "--watch-listen: %s", why.text);
	troupe_watch_describe(gateways->watch, line, sizeof line);
	bool open = settings->watch.insecure && !troupe_watch_is_local(gateways->watch);
	gateways_tell(gateways, open, settings->watch.listen ? "viewers join at " : "robot clients are served at ",
		line, open ? ": programs on other hosts see everything, and nothing is encrypted" : "");
	return TROUPE_OK;
}

/* --- what is asked for -------------------------------------------------------------------------------------------- */

static struct serve *gateways_ask(struct gateways *gateways, const char *option, const char *name, const char *address)
{
	struct serve *asked = &gateways->asked[gateways->count++];
	*asked = (struct serve){.option = option, .name = name, .address = address};
	return asked;
}

/* "--foxglove-cert" and its kin. */
static void gateways_add_common(
	struct serve *asked, const char *cert, const char *key, const char *token, bool needs_token)
{
	serve_add(asked, "cert", cert);
	serve_add(asked, "key", key);
	serve_add(asked, "token", token);
	serve_add_flag(asked, "require-token", needs_token);
}

static void gateways_ask_view(struct gateways *gateways, const struct gateways_settings *settings)
{
	struct serve *asked = gateways_ask(gateways, "--view", "view", settings->view_address);
	gateways_add_common(asked, settings->view_cert, settings->view_key, settings->view_token, settings->token);
	serve_add_flag(asked, "any-port", !settings->view_address);
	for (uint32_t i = 0; i < settings->view_panels.count && i <= GATEWAYS_PANELS_MAX; i++)
		serve_add(asked, "panel", settings->view_panels.at[i]);
	for (uint32_t i = 0; i < settings->view_marks.count && i <= GATEWAYS_MARKS_MAX; i++)
		serve_add(asked, "mark", settings->view_marks.at[i]);
}

static void gateways_ask_foxglove(struct gateways *gateways, const struct gateways_settings *settings)
{
	struct serve *asked = gateways_ask(gateways, "--foxglove", "foxglove", settings->foxglove);
	gateways_add_common(
		asked, settings->foxglove_cert, settings->foxglove_key, settings->foxglove_token, settings->token);
	serve_add(asked, "origin", settings->foxglove_origin);
	serve_add_flag(asked, "insecure", settings->foxglove_insecure);
}

static void gateways_ask_rosbridge(struct gateways *gateways, const struct gateways_settings *settings)
{
	struct serve *asked = gateways_ask(gateways, "--rosbridge", "rosbridge", settings->rosbridge);
	gateways_add_common(
		asked, settings->rosbridge_cert, settings->rosbridge_key, settings->rosbridge_token, settings->token);
	serve_add(asked, "origin", settings->rosbridge_origin);
	serve_add(asked, "robot", settings->rosbridge_robot);
	serve_add_flag(asked, "insecure", settings->rosbridge_insecure);
}

static void gateways_ask_ros2(struct gateways *gateways, const struct gateways_settings *settings)
{
	struct serve *asked = gateways_ask(gateways, "--ros2", "ros2", settings->ros2_address);
	if (settings->ros2_domain >= 0)
		serve_add(asked, "domain", arena_printf(&gateways->arena, "%lld", (long long)settings->ros2_domain));
	serve_add(asked, "robot", settings->ros2_robot);
	serve_add(asked, "distro", settings->ros2_distro);
}

static bool gateways_is_served(const struct gateways *gateways, const char *name)
{
	for (uint32_t i = 0; i < gateways->count; i++)
		if (!strcmp(gateways->asked[i].name, name))
			return true;
	return false;
}

/* The gateways of --serve. */
static troupe_status gateways_ask_served(
	struct gateways *gateways, const struct gateways_settings *settings, struct troupe_error *error)
{
	for (uint32_t i = 0; i < settings->serve.count; i++) {
		struct serve served;
		troupe_status status = serve_parse(settings->serve.at[i], &gateways->arena, &served, error);
		if (status)
			return status;
		if (gateways_is_served(gateways, served.name))
			return fail(error, TROUPE_EINVAL, "--serve %.40s: it is asked for twice: expected once",
				served.name);
		if (gateways->count == GATEWAYS_MAX)
			return fail(error, TROUPE_ELIMIT, "--serve: expected at most %d gateways", (int)GATEWAYS_MAX);
		const struct troupe_gateway_about *about = troupe_gateway_find(served.name);
		serve_add_flag(&served, "require-token", settings->token && about && about->has_token);
		gateways->asked[gateways->count++] = served;
	}
	return TROUPE_OK;
}

/* gz-transport is served without an option, too, if this build has it. */
static bool gateways_wants_gz(const struct gateways_settings *settings)
{
	const char *never = getenv("TROUPE_NO_GZ");
	if (settings->no_gz)
		return false;
	return settings->gz_address || (!(never && *never) && troupe_gateway_is_available("gz"));
}

static troupe_status gateways_ask_all(
	struct gateways *gateways, const struct gateways_settings *settings, struct troupe_error *error)
{
	if (settings->ros2)
		gateways_ask_ros2(gateways, settings);
	if (settings->rosbridge)
		gateways_ask_rosbridge(gateways, settings);
	if (settings->view || settings->view_address || settings->view_panels.count)
		gateways_ask_view(gateways, settings);
	if (settings->foxglove)
		gateways_ask_foxglove(gateways, settings);
	troupe_status status = gateways_ask_served(gateways, settings, error);
	if (!status && settings->no_gz && gateways_is_served(gateways, "gz"))
		status = fail(error, TROUPE_EINVAL, "--no-gz: --serve gz asks for it: expected one of them");
	if (!status && gateways_wants_gz(settings) && !gateways_is_served(gateways, "gz") &&
		gateways->count < GATEWAYS_MAX)
		(void)gateways_ask(gateways, settings->gz_address ? "--gz-address" : "", "gz", settings->gz_address);
	return status;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* The object that is shown: one of these, the others are NULL. */
struct shown {
	struct troupe_server *server;
	const struct troupe_server_def *recording;
	const struct troupe_view_run *run;
};

static void gateways_say_loudly(void *ctx, const char *text)
{
	const struct gateways *gateways = ctx;
	gateways->say(gateways->ctx, true, text);
}

static void gateways_say_quietly(void *ctx, const char *text)
{
	const struct gateways *gateways = ctx;
	gateways->say(gateways->ctx, false, text);
}

/* A model may be created later, so a name that no model has is not refused. */
static void gateways_check_robot(
	const struct gateways *gateways, const struct serve *asked, const struct troupe_server *server)
{
	const char *robot = serve_value(asked, "robot");
	struct text line = {0};
	for (uint32_t world = 0; robot && server && world < troupe_server_world_count(server); world++)
		if (troupe_find_model(server, world, robot).at)
			return;
	if (!robot || !server)
		return;
	text_add(&line,
		"%s-robot: no model '%.150s' is in the world: until there is, no topic has a name without its "
		"namespace",
		strcmp(asked->option, "--serve") ? asked->option : asked->name, robot);
	gateways->say(gateways->ctx, true, line.at);
	text_fini(&line);
}

static void gateways_tell_where(const struct gateways *gateways, uint32_t at)
{
	const struct serve *asked = &gateways->asked[at];
	const struct troupe_gateway_about *about = troupe_gateway_find(asked->name);
	bool open = asked->address && about->address_opens;
	char where[512], before[80];
	troupe_gateway_describe(gateways->all[at], where, sizeof where);
	(void)snprintf(before, sizeof before, "%s: ", about->title);
	gateways_tell(gateways, *asked->option, before, where, open ? gateways_commands_open : "");
}

/* The subject of a message: the option, where one asks for the gateway. */
static troupe_status gateways_name_option(const struct serve *asked, const struct shown *shown, troupe_status status,
	const struct troupe_error *why, struct troupe_error *error)
{
	bool by_serve = !strcmp(asked->option, "--serve");
	bool is_own = !strncmp(why->text, "ROS_DOMAIN_ID", strlen("ROS_DOMAIN_ID")); /* the subject is in it */
	bool is_address =
		asked->address && status == TROUPE_EINVAL && strstr(why->text, "': expected " HOST_PORT_FORMS);
	if (is_own || (!shown->server && status != TROUPE_EINVAL))
		return fail(error, status, "%s", why->text);
	if (!strcmp(asked->name, "view") && !by_serve && !shown->server && !is_address)
		return fail(error, status, "%s", why->text);
	return fail(error, status, "%s%s%s%s: %s", asked->option, by_serve ? " " : "", by_serve ? asked->name : "",
		is_address && !strcmp(asked->option, "--view") ? "-address" : "", why->text);
}

static troupe_status gateways_start_one(
	struct gateways *gateways, uint32_t at, const struct shown *shown, struct troupe_error *error)
{
	const struct serve *asked = &gateways->asked[at];
	struct troupe_error why;
	const struct troupe_gateway_def def = {.name = asked->name,
		.address = asked->address,
		.settings = asked->settings,
		.setting_count = asked->setting_count,
		.server = shown->server,
		.run = shown->run,
		.recording = shown->recording,
		.say = strcmp(asked->name, "view") ? gateways_say_loudly : gateways_say_quietly,
		.ctx = gateways};
	troupe_status status = troupe_gateway_start(&def, &gateways->all[at], &why);
	if (status && *asked->option)
		return gateways_name_option(asked, shown, status, &why, error);
	if (status) {
		gateways_tell(gateways, true, "no gz-transport: ", why.text, " (--no-gz leaves it out)");
		return TROUPE_OK;
	}
	gateways_tell_where(gateways, at);
	gateways_check_robot(gateways, asked, shown->server);
	return TROUPE_OK;
}

static troupe_status gateways_start_all(
	struct gateways *gateways, const struct shown *shown, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < gateways->count && !status; i++)
		status = gateways_start_one(gateways, i, shown, error);
	return status;
}

static struct gateways *gateways_make(
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways)
{
	struct gateways *gateways = *ret_gateways = mem_alloc(sizeof *gateways);
	*gateways = (struct gateways){.say = say, .ctx = ctx};
	return gateways;
}

/* --- showing ------------------------------------------------------------------------------------------------------ */

static troupe_status gateways_open_shown(const struct gateways_settings *settings, const struct troupe_server_def *def,
	const struct troupe_view_run *run, void (*say)(void *ctx, bool loud, const char *text), void *ctx,
	struct gateways **ret_gateways, struct troupe_error *error)
{
	const struct shown shown = {.recording = run ? NULL : def, .run = run};
	struct gateways *gateways = gateways_make(say, ctx, ret_gateways);
	troupe_status status = gateways_ask_served(gateways, settings, error);
	if (!status && settings->foxglove)
		gateways_ask_foxglove(gateways, settings);
	else if (!status && !gateways->count)
		gateways_ask_view(gateways, settings);
	if (!status && gateways->count > 1)
		status = fail(error, TROUPE_EINVAL, "--serve: expected one gateway that shows the recording");
	return status ? status : gateways_start_all(gateways, &shown, error);
}

static void gateways_stop_playing(void *ctx)
{
	struct gateways *gateways = ctx;
	troupe_gateway_stop(gateways->all[0]);
}

static troupe_status gateways_play(struct gateways *gateways, struct troupe_error *error)
{
	signals_tell(gateways_stop_playing, gateways);
	troupe_status status = troupe_gateway_play(gateways->all[0], error);
	signals_tell(NULL, NULL);
	return status;
}

struct showing { /* a command that shows something */
	const char *command;
	int64_t verbosity;
};

static void gateways_on_warning(void *ctx, const char *text)
{
	const struct showing *showing = ctx;
	if (showing->verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void gateways_on_line(void *ctx, bool loud, const char *text)
{
	const struct showing *showing = ctx;
	if (showing->verbosity >= (loud ? 1 : 3))
		cli_complain(showing->command, "%s", text);
}

/* Called in a signal handler in the middle of opening: nothing is shown yet. */
static void gateways_leave_opening(void *ctx)
{
	(void)ctx;
	_exit(CLI_DONE);
}

int gateways_show(const char *command, const struct gateways_settings *settings, struct troupe_server_def *def,
	const struct troupe_view_run *run, int64_t verbosity)
{
	struct showing showing = {command, verbosity};
	struct gateways *gateways = NULL;
	struct troupe_error error;
	if (def) {
		def->on_warning = gateways_on_warning;
		def->ctx = &showing;
	}
	signals_catch();
	signals_arm_watchdog(OPENING_GRACE_MS, gateways_leave_opening, NULL);
	troupe_status status = gateways_open_shown(settings, def, run, gateways_on_line, &showing, &gateways, &error);
	signals_disarm_watchdog();
	bool misused = status == TROUPE_EINVAL;
	if (!status)
		status = gateways_play(gateways, &error);
	if (status)
		cli_complain(command, "%s", error.text);
	signals_release();
	gateways_end(gateways, status ? &error : NULL);
	return misused ? CLI_BAD_USAGE : cli_exit_status(status);
}

troupe_status gateways_start(const struct gateways_settings *settings, struct troupe_server *server,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error)
{
	struct gateways *gateways = gateways_make(say, ctx, ret_gateways);
	troupe_status status = gateways_ask_all(gateways, settings, error);
	if (!status)
		status = gateways_start_watch(gateways, settings, server, error);
	return status ? status : gateways_start_all(gateways, &(struct shown){.server = server}, error);
}

troupe_status gateways_connect(const struct gateways_settings *settings, const struct troupe_view_run *run,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error)
{
	struct gateways *gateways = gateways_make(say, ctx, ret_gateways);
	troupe_status status = gateways_ask_all(gateways, settings, error);
	return status ? status : gateways_start_all(gateways, &(struct shown){.run = run}, error);
}

static void gateways_describe(const struct gateways *gateways, const char *name, char *ret_text, size_t bytes)
{
	for (uint32_t i = 0; i < gateways->count; i++)
		if (gateways->all[i] && !strcmp(gateways->asked[i].name, name))
			troupe_gateway_describe(gateways->all[i], ret_text, bytes);
}

struct gateways_addresses gateways_addresses(const struct gateways *gateways)
{
	struct gateways_addresses all = {0};
	gateways_describe(gateways, "view", all.view, sizeof all.view);
	gateways_describe(gateways, "foxglove", all.foxglove, sizeof all.foxglove);
	gateways_describe(gateways, "rosbridge", all.rosbridge, sizeof all.rosbridge);
	gateways_describe(gateways, "gz", all.gz, sizeof all.gz);
	gateways_describe(gateways, "ros2", all.ros2, sizeof all.ros2);
	if (gateways->watch)
		troupe_watch_describe(gateways->watch, all.watch, sizeof all.watch);
	return all;
}

/* The host that was given, with the port of an address that is bound: "HOST:PORT", up to `end`. */
static const char *gateways_keep_port(const char *host, const char *bound, const char *end, struct arena *arena)
{
	char text[HOST_PORT_TEXT_BYTES];
	const char *port = end;
	while (port > bound && port[-1] != ':')
		port--;
	host_port_text(host, (uint16_t)strtoul(port, NULL, 10), text, sizeof text);
	return arena_strdup(arena, text);
}

/* given: an address, or NULL; where: "ws://HOST:PORT/?token=...", or "": the gateway is off. */
static void gateways_keep_place(const char **given, const char **token, const char *where, struct arena *arena)
{
	static const char before_token[] = "?token=";
	const char *host = strstr(where, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
	const char *mark = strstr(where, before_token);
	struct host_port named = {.port = 0};
	if (!slash)
		return;
	if (*given)
		(void)host_port_read(*given, &named);
	*given = gateways_keep_port(named.host, host + 3, slash, arena);
	if (mark)
		*token = arena_strdup(arena, mark + sizeof before_token - 1);
}

/* The same for one of --serve. */
static const char *gateways_keep_served(const struct gateways *gateways, const char *text, struct arena *arena)
{
	struct serve served;
	char where[512] = "";
	const char *token = NULL;
	if (serve_parse(text, arena, &served, NULL))
		return text;
	gateways_describe(gateways, served.name, where, sizeof where);
	gateways_keep_place(&served.address, &token, where, arena);
	return strstr(where, "://") ? serve_text(&served, served.address, token, arena) : text;
}

void gateways_keep_places(const struct gateways *gateways, struct gateways_settings *settings, struct arena *arena)
{
	const struct gateways_addresses all = gateways_addresses(gateways);
	const char *end = all.watch + strlen(all.watch);
	struct host_port listen;
	for (uint32_t i = 0; i < settings->serve.count; i++)
		settings->serve.at[i] = gateways_keep_served(gateways, settings->serve.at[i], arena);
	if (settings->view || settings->view_address)
		gateways_keep_place(&settings->view_address, &settings->view_token, all.view, arena);
	if (settings->foxglove)
		gateways_keep_place(&settings->foxglove, &settings->foxglove_token, all.foxglove, arena);
	if (settings->rosbridge)
		gateways_keep_place(&settings->rosbridge, &settings->rosbridge_token, all.rosbridge, arena);
	if (end > all.watch && settings->watch.listen && host_port_read(settings->watch.listen, &listen) &&
		listen.has_port && !listen.port)
		settings->watch.listen = gateways_keep_port(listen.host, all.watch, end, arena);
}

bool gateways_can_be_joined(const struct gateways *gateways)
{
	for (uint32_t i = 0; gateways && i < gateways->count; i++)
		if (gateways->all[i] && troupe_gateway_find(gateways->asked[i].name)->can_be_joined)
			return true;
	return false;
}

bool gateways_commanded(const struct gateways *gateways)
{
	for (uint32_t i = 0; gateways && i < gateways->count; i++) {
		if (!gateways->all[i])
			continue;
		const struct troupe_gateway_counts counts = troupe_gateway_counts(gateways->all[i]);
		if (counts.commands || counts.joined)
			return true;
	}
	return gateways && gateways->watch && troupe_watch_commands(gateways->watch);
}

void gateways_end(struct gateways *gateways, const struct troupe_error *why)
{
	if (!gateways)
		return;
	for (uint32_t i = gateways->count; i-- > 0;)
		troupe_gateway_end(gateways->all[i], why);
	troupe_watch_end(gateways->watch, why);
	arena_fini(&gateways->arena);
	free(gateways);
}
