/* Programs of Gazebo find a run without any option, but only on this machine. If there is no multicast (in a container
 * without a network, for example), the run goes on without gz-transport: no option asked for it. The viewer's page
 * and Foxglove are served when an option asks for them. */
#include "cli/gateways.h"

#include "base/host_port.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/signals.h"

#include <troupe/foxglove.h>
#include <troupe/ros2.h>
#include <troupe/rosbridge.h>
#include <troupe/server.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VIEW_PORT = 8686, OPENING_GRACE_MS = 500 };

struct gateways {
	struct troupe_gz *gz;
	struct troupe_view *view;
	struct troupe_watch *watch;
	struct troupe_foxglove *foxglove;
	struct troupe_ros2 *ros2;
	struct troupe_rosbridge *rosbridge;
	void (*say)(void *ctx, bool loud, const char *text);
	void *ctx;
};

static const char commands_open[] =
	": programs on other hosts see everything and can command everything, and nothing is encrypted";

/* Says in one line where a gateway is: "Foxglove: ws://127.0.0.1:8765". danger: the end of the line, or "". */
static void tell(
	const struct gateways *gateways, bool loud, const char *gateway, const char *address, const char *danger)
{
	struct text text = {0};
	text_add(&text, "%s%s%s", gateway, address, danger);
	gateways->say(gateways->ctx, loud, text.at);
	text_fini(&text);
}

/* The address at which robot clients are served: any free port of the HOST at which secondaries are. The caller frees
 * it; NULL: no HOST. */
static char *address_for_clients(const char *listen)
{
	struct host_port parts;
	if (!listen || !host_port_read(listen, &parts) || !*parts.host)
		return NULL;
	return mem_printf(strchr(parts.host, ':') ? "[%s]:0" : "%s:0", parts.host);
}

static troupe_status start_watch(struct gateways *gateways, const struct gateways_settings *settings,
	struct troupe_server *server, struct troupe_error *error)
{
	char line[128];
	struct troupe_error why;
	struct troupe_watch_def def = settings->watch;
	if (!def.listen && !settings->clients)
		return TROUPE_OK;
	char *address = def.listen ? NULL : address_for_clients(settings->clients_listen);
	def.listen = address ? address : def.listen;
	troupe_status status = troupe_watch_start(server, &def, &gateways->watch, &why);
	free(address);
	if (status)
		return fail(error, status, "--watch-listen: %s", why.text);
	troupe_watch_describe(gateways->watch, line, sizeof line);
	bool open = settings->watch.insecure && !troupe_watch_is_local(gateways->watch);
	tell(gateways, open, settings->watch.listen ? "viewers join at " : "robot clients are served at ", line,
		open ? ": programs on other hosts see everything, and nothing is encrypted" : "");
	return TROUPE_OK;
}

/* server or run is NULL. */
static troupe_status start_gz(struct gateways *gateways, const struct gateways_settings *settings,
	struct troupe_server *server, const struct troupe_view_run *run, struct troupe_error *error)
{
	const char *never = getenv("TROUPE_NO_GZ");
	struct troupe_gz_def def = {.address = settings->gz_address};
	char line[256];
	struct troupe_error why;
	if (settings->no_gz || (!settings->gz_address && ((never && *never) || !troupe_gz_available())))
		return TROUPE_OK;
	troupe_status status = server ? troupe_gz_start(server, &def, &gateways->gz, &why)
				      : troupe_gz_connect(run, &def, &gateways->gz, &why);
	if (!status) {
		troupe_gz_describe(gateways->gz, line, sizeof line);
		tell(gateways, settings->gz_address, "gz-transport: ", line, settings->gz_address ? commands_open : "");
		return TROUPE_OK;
	}
	if (settings->gz_address)
		return fail(error, status, "--gz-address: %s", why.text);
	tell(gateways, true, "no gz-transport: ", why.text, " (--no-gz leaves it out)");
	return TROUPE_OK;
}

/* --- the viewer and Foxglove -------------------------------------------------------------------------------------- */

/* Takes an address apart. *ret_port: the usual port before the call. The caller frees *ret_host; NULL: no host. */
static troupe_status parse_address(
	const char *option, const char *address, char **ret_host, uint16_t *ret_port, struct troupe_error *error)
{
	struct host_port parts;
	if (!host_port_read(address, &parts))
		return fail(error, TROUPE_EINVAL,
			"%s: '%.80s': expected " HOST_PORT_FORMS ", for example %u or 192.168.1.5:%u", option, address,
			*ret_port, *ret_port);
	*ret_host = *parts.host ? mem_strdup(parts.host) : NULL;
	*ret_port = parts.has_port ? parts.port : *ret_port;
	return TROUPE_OK;
}

static void say_refused(void *ctx, const char *text)
{
	const struct gateways *gateways = ctx;
	gateways->say(gateways->ctx, false, text);
}

/* The object that is shown: one of these, the others are NULL. */
struct shown {
	struct troupe_server *server;
	const struct troupe_server_def *recording;
	const struct troupe_view_run *run;
};

static troupe_status start_view(struct gateways *gateways, const struct gateways_settings *settings,
	const struct shown *shown, struct troupe_error *error)
{
	struct troupe_view_def def = {.port = VIEW_PORT,
		.token = settings->view_token,
		.needs_token = settings->token,
		.port_or_any = !settings->view_address,
		.cert_path = settings->view_cert,
		.key_path = settings->view_key,
		.say = say_refused,
		.ctx = gateways};
	char *host = NULL, address[512];
	troupe_status status = TROUPE_OK;
	struct troupe_error why;
	if (settings->view_address)
		status = parse_address("--view-address", settings->view_address, &host, &def.port, error);
	if (status)
		return status;
	def.address = host;
	if (shown->server)
		status = troupe_view_start(shown->server, &def, &gateways->view, &why);
	else if (shown->recording)
		status = troupe_view_open(shown->recording, &def, &gateways->view, &why);
	else
		status = troupe_view_connect(shown->run, &def, &gateways->view, &why);
	free(host);
	if (status)
		return fail(error, status, "%s%s", shown->server ? "--view: " : "", why.text);
	troupe_view_address(gateways->view, address, sizeof address);
	tell(gateways, true, "view: ", address, "");
	return TROUPE_OK;
}

static void say_refused_loudly(void *ctx, const char *text)
{
	const struct gateways *gateways = ctx;
	gateways->say(gateways->ctx, true, text);
}

static troupe_status start_foxglove(struct gateways *gateways, const struct gateways_settings *settings,
	const struct shown *shown, struct troupe_error *error)
{
	struct troupe_foxglove_def def = {.port = TROUPE_FOXGLOVE_PORT,
		.token = settings->foxglove_token,
		.needs_token = settings->token,
		.insecure = settings->foxglove_insecure,
		.cert_path = settings->foxglove_cert,
		.key_path = settings->foxglove_key,
		.origin = settings->foxglove_origin,
		.say = say_refused_loudly,
		.say_ctx = gateways};
	char *host = NULL, address[512];
	struct troupe_error why;
	if (!settings->foxglove)
		return TROUPE_OK;
	troupe_status status = parse_address("--foxglove", settings->foxglove, &host, &def.port, error);
	if (status)
		return status;
	def.address = host;
	if (shown->server)
		status = troupe_foxglove_start(shown->server, &def, &gateways->foxglove, &why);
	else if (shown->run)
		status = troupe_foxglove_connect(shown->run, &def, &gateways->foxglove, &why);
	else
		status = troupe_foxglove_open(shown->recording, &def, &gateways->foxglove, &why);
	free(host);
	if (status)
		return fail(error, status, "%s%s", shown->server || status == TROUPE_EINVAL ? "--foxglove: " : "",
			why.text);
	troupe_foxglove_address(gateways->foxglove, address, sizeof address);
	tell(gateways, true, "Foxglove: ", address, "");
	return TROUPE_OK;
}

/* ROS_DOMAIN_ID is what all programs of ROS 2 read. */
static troupe_status find_domain(int64_t given, uint32_t *ret_domain, struct troupe_error *error)
{
	const char *said = getenv("ROS_DOMAIN_ID");
	int64_t domain = MAX(given, 0);
	if (given < 0 && said && *said && (!text_int64(said, &domain) || domain < 0 || domain > TROUPE_ROS2_DOMAIN_MAX))
		return fail(error, TROUPE_EINVAL, "ROS_DOMAIN_ID: '%.40s': expected 0 .. %d", said,
			(int)TROUPE_ROS2_DOMAIN_MAX);
	*ret_domain = (uint32_t)domain;
	return TROUPE_OK;
}

/* A model may be created later, so a name that no model has is not refused. server may be NULL. */
static void check_robot(
	struct gateways *gateways, const char *option, const struct troupe_server *server, const char *robot)
{
	char line[400];
	for (uint32_t world = 0; robot && server && world < troupe_server_world_count(server); world++)
		if (troupe_find_model(server, world, robot).at)
			return;
	if (!robot || !server)
		return;
	(void)snprintf(line, sizeof line,
		"no model '%.150s' is in the world: until there is, no topic has a name without its namespace", robot);
	tell(gateways, true, option, line, "");
}

/* server or run is NULL. */
static troupe_status start_ros2(struct gateways *gateways, const struct gateways_settings *settings,
	struct troupe_server *server, const struct troupe_view_run *run, struct troupe_error *error)
{
	struct troupe_ros2_def def = {.address = settings->ros2_address,
		.robot = settings->ros2_robot,
		.humble = settings->ros2_distro && !strcmp(settings->ros2_distro, "humble"),
		.say = say_refused_loudly,
		.say_ctx = gateways};
	char line[128];
	struct troupe_error why;
	if (!settings->ros2)
		return TROUPE_OK;
	troupe_status status = find_domain(settings->ros2_domain, &def.domain, error);
	if (status)
		return status;
	status = server ? troupe_ros2_start(server, &def, &gateways->ros2, &why)
			: troupe_ros2_connect(run, &def, &gateways->ros2, &why);
	if (status)
		return fail(error, status, "--ros2: %s", why.text);
	troupe_ros2_describe(gateways->ros2, line, sizeof line);
	tell(gateways, true, "ROS 2: ", line, settings->ros2_address ? commands_open : "");
	check_robot(gateways, "--ros2-robot: ", server, def.robot);
	return TROUPE_OK;
}

/* server or run is NULL. */
static troupe_status start_rosbridge(struct gateways *gateways, const struct gateways_settings *settings,
	struct troupe_server *server, const struct troupe_view_run *run, struct troupe_error *error)
{
	struct troupe_rosbridge_def def = {.port = TROUPE_ROSBRIDGE_PORT,
		.token = settings->rosbridge_token,
		.needs_token = settings->token,
		.insecure = settings->rosbridge_insecure,
		.cert_path = settings->rosbridge_cert,
		.key_path = settings->rosbridge_key,
		.origin = settings->rosbridge_origin,
		.robot = settings->rosbridge_robot,
		.say = say_refused_loudly,
		.say_ctx = gateways};
	char *host = NULL, address[512];
	struct troupe_error why;
	if (!settings->rosbridge)
		return TROUPE_OK;
	troupe_status status = parse_address("--rosbridge", settings->rosbridge, &host, &def.port, error);
	if (status)
		return status;
	def.address = host;
	status = server ? troupe_rosbridge_start(server, &def, &gateways->rosbridge, &why)
			: troupe_rosbridge_connect(run, &def, &gateways->rosbridge, &why);
	free(host);
	if (status)
		return fail(error, status, "--rosbridge: %s", why.text);
	troupe_rosbridge_address(gateways->rosbridge, address, sizeof address);
	tell(gateways, true, "rosbridge: ", address, "");
	check_robot(gateways, "--rosbridge-robot: ", server, def.robot);
	return TROUPE_OK;
}

static troupe_status open_shown(const struct gateways_settings *settings, const struct troupe_server_def *def,
	const struct troupe_view_run *run, void (*say)(void *ctx, bool loud, const char *text), void *ctx,
	struct gateways **ret_gateways, struct troupe_error *error)
{
	const struct shown shown = {.recording = run ? NULL : def, .run = run};
	struct gateways *gateways = mem_alloc(sizeof *gateways);
	*gateways = (struct gateways){.say = say, .ctx = ctx};
	*ret_gateways = gateways;
	return settings->foxglove ? start_foxglove(gateways, settings, &shown, error)
				  : start_view(gateways, settings, &shown, error);
}

static void stop_playing(void *ctx)
{
	struct gateways *gateways = ctx;
	if (gateways->view)
		troupe_view_stop(gateways->view);
	else
		troupe_foxglove_stop(gateways->foxglove);
}

static troupe_status play(struct gateways *gateways, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	signals_tell(stop_playing, gateways);
	if (gateways->view)
		status = troupe_view_play(gateways->view, error);
	else
		troupe_foxglove_play(gateways->foxglove);
	signals_tell(NULL, NULL);
	return status;
}

struct showing { /* a command that shows something */
	const char *command;
	int64_t verbosity;
};

static void on_warning(void *ctx, const char *text)
{
	const struct showing *showing = ctx;
	if (showing->verbosity >= 1)
		cli_finding(SDF_WARNING, text);
}

static void on_line(void *ctx, bool loud, const char *text)
{
	const struct showing *showing = ctx;
	if (showing->verbosity >= (loud ? 1 : 3))
		cli_complain(showing->command, "%s", text);
}

/* Called in a signal handler in the middle of opening: nothing is shown yet. */
static void leave_opening(void *ctx)
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
		def->on_warning = on_warning;
		def->ctx = &showing;
	}
	signals_catch();
	signals_watch(OPENING_GRACE_MS, leave_opening, NULL);
	troupe_status status = open_shown(settings, def, run, on_line, &showing, &gateways, &error);
	signals_unwatch();
	bool misused = status == TROUPE_EINVAL;
	if (!status)
		status = play(gateways, &error);
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
	struct gateways *gateways = mem_alloc(sizeof *gateways);
	*gateways = (struct gateways){.say = say, .ctx = ctx};
	*ret_gateways = gateways;
	troupe_status status = start_gz(gateways, settings, server, NULL, error);
	if (!status)
		status = start_watch(gateways, settings, server, error);
	if (!status)
		status = start_ros2(gateways, settings, server, NULL, error);
	if (!status)
		status = start_rosbridge(gateways, settings, server, NULL, error);
	if (!status && (settings->view || settings->view_address))
		status = start_view(gateways, settings, &(struct shown){.server = server}, error);
	return status ? status : start_foxglove(gateways, settings, &(struct shown){.server = server}, error);
}

troupe_status gateways_connect(const struct gateways_settings *settings, const struct troupe_view_run *run,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error)
{
	const struct shown shown = {.run = run};
	struct gateways *gateways = mem_alloc(sizeof *gateways);
	*gateways = (struct gateways){.say = say, .ctx = ctx};
	*ret_gateways = gateways;
	troupe_status status = start_gz(gateways, settings, NULL, run, error);
	if (!status)
		status = start_ros2(gateways, settings, NULL, run, error);
	if (!status)
		status = start_rosbridge(gateways, settings, NULL, run, error);
	if (!status && (settings->view || settings->view_address))
		status = start_view(gateways, settings, &shown, error);
	return status ? status : start_foxglove(gateways, settings, &shown, error);
}

struct gateways_addresses gateways_addresses(const struct gateways *gateways)
{
	struct gateways_addresses all = {0};
	if (gateways->view)
		troupe_view_address(gateways->view, all.view, sizeof all.view);
	if (gateways->foxglove)
		troupe_foxglove_address(gateways->foxglove, all.foxglove, sizeof all.foxglove);
	if (gateways->rosbridge)
		troupe_rosbridge_address(gateways->rosbridge, all.rosbridge, sizeof all.rosbridge);
	if (gateways->watch)
		troupe_watch_describe(gateways->watch, all.watch, sizeof all.watch);
	if (gateways->gz)
		troupe_gz_describe(gateways->gz, all.gz, sizeof all.gz);
	if (gateways->ros2)
		troupe_ros2_describe(gateways->ros2, all.ros2, sizeof all.ros2);
	return all;
}

/* given: an address, or NULL; address: "ws://HOST:PORT/?token=...", or "": the gateway is off. */
static void keep_place(const char **given, const char **token, const char *address, struct arena *arena)
{
	static const char before_token[] = "?token=";
	const char *host = strstr(address, "://"), *slash = host ? strchr(host + 3, '/') : NULL, *colon = slash;
	const char *mark = strstr(address, before_token);
	struct host_port named = {.port = 0};
	while (colon && colon > host + 3 && *colon != ':')
		colon--;
	if (!slash || *colon != ':')
		return;
	if (*given)
		(void)host_port_read(*given, &named);
	*given = arena_printf(arena, strchr(named.host, ':') ? "[%s]:%.*s" : "%s:%.*s", named.host,
		(int)(slash - colon - 1), colon + 1);
	if (mark)
		*token = arena_strdup(arena, mark + sizeof before_token - 1);
}

void gateways_keep_places(const struct gateways *gateways, struct gateways_settings *settings, struct arena *arena)
{
	const struct gateways_addresses all = gateways_addresses(gateways);
	const char *bound = strrchr(all.watch, ':');
	struct host_port listen;
	keep_place(&settings->view_address, &settings->view_token, all.view, arena);
	keep_place(&settings->foxglove, &settings->foxglove_token, all.foxglove, arena);
	keep_place(&settings->rosbridge, &settings->rosbridge_token, all.rosbridge, arena);
	if (bound && settings->watch.listen && host_port_read(settings->watch.listen, &listen) && listen.has_port &&
		!listen.port)
		settings->watch.listen =
			arena_printf(arena, strchr(listen.host, ':') ? "[%s]%s" : "%s%s", listen.host, bound);
}

bool gateways_can_be_joined(const struct gateways *gateways)
{
	return gateways && (gateways->gz || gateways->rosbridge);
}

bool gateways_commanded(const struct gateways *gateways)
{
	if (!gateways)
		return false;
	if (gateways->view && troupe_view_counts(gateways->view).commands)
		return true;
	if (gateways->foxglove && troupe_foxglove_counts(gateways->foxglove).commands)
		return true;
	if (gateways->rosbridge) {
		struct troupe_rosbridge_counts counts = troupe_rosbridge_counts(gateways->rosbridge);
		if (counts.commands || counts.joined)
			return true;
	}
	if (gateways->ros2 && troupe_ros2_counts(gateways->ros2).commands)
		return true;
	if (gateways->watch && troupe_watch_commands(gateways->watch))
		return true;
	if (!gateways->gz)
		return false;
	struct troupe_gz_counts counts = troupe_gz_counts(gateways->gz);
	return counts.commands || counts.joined;
}

void gateways_end(struct gateways *gateways, const struct troupe_error *why)
{
	if (!gateways)
		return;
	troupe_view_end(gateways->view, why);
	troupe_foxglove_end(gateways->foxglove, why);
	troupe_rosbridge_end(gateways->rosbridge, why);
	troupe_ros2_end(gateways->ros2, why);
	troupe_gz_end(gateways->gz, why);
	troupe_watch_end(gateways->watch, why);
	free(gateways);
}
