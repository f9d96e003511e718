/* Networked mode on the command line. Three sources may ask for it: options, the configuration file, and the
 * environment variables of Gazebo's first distributed simulation. network_choose() and network_settle() make one set
 * of settings from them, and refuse options that contradict each other.
 *
 * The secondaries of `--transport tcp` are processes of this same program. They must not outlive the primary: so the
 * kernel kills them when the primary dies, and the primary kills them when they do not end by themselves. */
#include "cli/network.h"

#include "base/eventcount.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/signals.h"

#include <troupe/server.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLI_NETWORK_END_MS = 500, END_LOOK_US = 5000, CLI_NETWORK_LEAVE_MS = 900 };

/* --- what is asked for -------------------------------------------------------------------------------------------- */

/* Finds a variable that the documents of Gazebo's first distributed simulation name. Returns its value and its full
 * name; NULL: no such variable is set. */
static const char *cli_network_find_variable(const char *what, char ret_name[64])
{
	static const char *const prefixes[] = {"IGN_GAZEBO_NETWORK_", "GZ_SIM_NETWORK_"};
	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		(void)snprintf(ret_name, 64, "%s%s", prefixes[i], what);
		const char *value = getenv(ret_name);
		if (value && *value)
			return value;
	}
	return NULL;
}

/* ret_name: as for cli_network_find_variable(); "" when no variable is set. */
static const char *cli_network_from_environment(const char *what, const char *option, char ret_name[64])
{
	const char *value = cli_network_find_variable(what, ret_name);
	if (value)
		cli_complain("run", "%s in the environment is deprecated: expected %s %s", ret_name, option, value);
	else
		*ret_name = '\0';
	return value;
}

static void cli_network_ignore_variable(const char *what, const char *why)
{
	char name[64];
	if (cli_network_find_variable(what, name))
		cli_complain("run", "%s in the environment is ignored: %s", name, why);
}

static const char *cli_network_list_transports(struct arena *arena, bool with_jobs)
{
	uint32_t count;
	const struct troupe_transport *all = troupe_transports(&count);
	const char *names = "";
	for (uint32_t i = 0; i < count; i++)
		if (with_jobs || all[i].kind != TROUPE_TRANSPORT_JOB)
			names = arena_printf(arena, "%s%s%s", names, *names ? " " : "", all[i].name);
	return names;
}

const char *network_transports(struct arena *arena)
{
	return cli_network_list_transports(arena, true);
}

const char *network_transports_here(struct arena *arena)
{
	return cli_network_list_transports(arena, false);
}

static bool cli_network_is_of_kind(const char *transport, enum troupe_transport_kind kind)
{
	uint32_t count;
	const struct troupe_transport *all = troupe_transports(&count);
	for (uint32_t i = 0; transport && i < count; i++)
		if (!strcmp(all[i].name, transport))
			return all[i].kind == kind;
	return false;
}

bool network_is_children(const char *transport)
{
	return cli_network_is_of_kind(transport, TROUPE_TRANSPORT_PROCESSES);
}

static bool cli_network_refuse(const char *format, ...) TROUPE_PRINTF(1, 2);
static bool cli_network_refuse(const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	va_start(args, format);
	fail_v(&text, TROUPE_EINVAL, format, args);
	va_end(args);
	cli_complain("run", "%s; see troupe run --help", text.text);
	return false;
}

bool network_choose(struct network_settings *settings, enum network_mode *ret_mode)
{
	bool children = network_is_children(settings->transport);
	bool ranks = cli_network_is_of_kind(settings->transport, TROUPE_TRANSPORT_JOB);
	if (!settings->role && !children && !ranks)
		settings->role = cli_network_from_environment("ROLE", "--network-role", settings->role_variable);
	const char *role = settings->role ? settings->role : "none";
	bool primary = !strcasecmp(role, "primary"), client = !strcasecmp(role, "client");
	bool secondary = client || !strcasecmp(role, "secondary"), standby = !strcasecmp(role, "standby");
	const char *chosen = primary ? "primary" : client ? "client" : standby ? "standby" : "secondary";
	if (!primary && !secondary && !standby && strcasecmp(role, "none") != 0)
		return cli_network_refuse(
			"--network-role: '%.40s': expected primary, secondary, client, standby or none", role);
	if ((children || ranks) && standby)
		return cli_network_refuse(
			"--transport %s and --network-role standby: expected only one of them: the processes of "
			"this transport are fixed",
			settings->transport);
	if (children && (primary || secondary))
		return cli_network_refuse(
			"--transport tcp and --network-role %s: expected only one of them: tcp starts its "
			"secondaries on this machine, and this role %s",
			chosen, primary ? "waits for secondaries" : "is that of a secondary");
	if (ranks && (primary || secondary))
		return cli_network_refuse(
			"--transport %s and --network-role %s: expected only one of them: the rank of a process "
			"is its role",
			settings->transport, chosen);
	settings->taken_back = settings->role && !primary && !secondary && !standby;
	*ret_mode = children    ? NETWORK_CHILDREN
		    : ranks     ? NETWORK_RANKS
		    : primary   ? NETWORK_PRIMARY
		    : client    ? NETWORK_CLIENT
		    : secondary ? NETWORK_SECONDARY
		    : standby   ? NETWORK_STANDBY
				: NETWORK_NONE;
	return true;
}

/* Warns of a variable that is set but has no effect. No warning if --network-role none was given. */
static void cli_network_tell_of_ignored(const struct network_settings *settings, enum network_mode mode)
{
	if (settings->taken_back)
		return;
	if (mode == NETWORK_NONE)
		cli_network_ignore_variable("SECONDARIES", "without a network role the world runs in one process");
	if (mode != NETWORK_CHILDREN)
		return;
	cli_network_ignore_variable("ROLE", "with --transport tcp, which starts its secondaries on this machine");
	cli_network_ignore_variable("SECONDARIES", "with --transport tcp, where --secondaries gives the number");
}

static bool cli_network_settle_children(struct network_settings *settings, int64_t secondaries)
{
	if (!secondaries)
		return cli_network_refuse("--transport tcp with --secondaries 0: expected at least 1");
	settings->secondaries = children_count(secondaries);
	return true;
}

static bool cli_network_settle_primary(struct network_settings *settings, int64_t secondaries)
{
	const char *value = NULL;
	char name[64];
	if (!settings->secondaries && secondaries < 0)
		value = cli_network_from_environment("SECONDARIES", "--network-secondaries", name);
	if (value && (!parse_int64(value, &settings->secondaries) || settings->secondaries < 1 ||
			     settings->secondaries > TROUPE_SECONDARIES_MAX))
		return cli_network_refuse(
			"number of secondaries '%.40s' in the environment: expected a whole number from 1 to %d", value,
			TROUPE_SECONDARIES_MAX);
	if (settings->secondaries && secondaries >= 0 && settings->secondaries != secondaries)
		return cli_network_refuse(
			"--secondaries %lld and --network-secondaries %lld: expected the same number, or only "
			"one of them",
			(long long)secondaries, (long long)settings->secondaries);
	settings->secondaries = MAX(settings->secondaries, secondaries);
	return settings->secondaries > 0 ||
	       cli_network_refuse("--network-role primary without --network-secondaries: expected the "
				  "number of secondaries to wait for");
}

/* The variables that separate Gazebo's simulations on one network also separate ours, if there is no option. */
static void cli_network_settle_partition(struct network_settings *settings)
{
	static const char *const names[] = {"GZ_PARTITION", "IGN_PARTITION"};
	for (size_t i = 0; i < ARRAY_LEN(names) && !settings->partition; i++) {
		const char *value = getenv(names[i]);
		if (!value || !*value)
			continue;
		cli_complain("run", "%s in the environment counts as --network-partition %s", names[i], value);
		settings->partition = value;
	}
}

/* Clears the network options that mean nothing in this mode and that the configuration file may have set. On the
 * command line such options are refused. */
static void cli_network_set_aside(struct network_settings *settings)
{
	settings->address = settings->listen = settings->partition = settings->interface = settings->key_file = NULL;
	settings->insecure = false;
	settings->wait_s = 0;
	settings->name = settings->client_lost = settings->client_rights = NULL;
	settings->clients = (struct option_list){0};
	settings->clients_max = 0;
}

bool network_awaits_clients(const struct network_settings *settings)
{
	return settings->clients.count || settings->clients_max;
}

enum troupe_client_lost network_client_lost(const struct network_settings *settings)
{
	const char *given = settings->client_lost ? settings->client_lost : "remove";
	return !strcmp(given, "keep")  ? TROUPE_CLIENT_LOST_KEEP
	       : !strcmp(given, "end") ? TROUPE_CLIENT_LOST_END
				       : TROUPE_CLIENT_LOST_REMOVE;
}

enum troupe_on_loss network_on_loss(const struct network_settings *settings)
{
	bool goes_on = settings->on_loss && !strcmp(settings->on_loss, "continue");
	return goes_on ? TROUPE_ON_LOSS_CONTINUE : TROUPE_ON_LOSS_STOP;
}

enum troupe_client_rights network_client_rights(const struct network_settings *settings)
{
	const char *given = settings->client_rights;
	return !given                    ? TROUPE_CLIENT_RIGHTS_SAVED
	       : !strcmp(given, "all")   ? TROUPE_CLIENT_RIGHTS_ALL
	       : !strcmp(given, "world") ? TROUPE_CLIENT_RIGHTS_WORLD
					 : TROUPE_CLIENT_RIGHTS_OWN;
}

bool network_settle(struct network_settings *settings, enum network_mode mode, int64_t secondaries)
{
	if (settings->taken_back)
		cli_network_set_aside(settings);
	cli_network_tell_of_ignored(settings, mode);
	bool finds_others = mode == NETWORK_PRIMARY || mode == NETWORK_CLIENT || mode == NETWORK_STANDBY ||
			    (mode == NETWORK_SECONDARY && settings->socket < 0);
	if (finds_others)
		cli_network_settle_partition(settings);
	if (settings->distributed && mode == NETWORK_NONE && !settings->taken_back)
		cli_complain("run", "--distributed without --network-role: the world runs in one process; for several "
				    "machines, give --network-role primary and --network-secondaries N here, and "
				    "--network-role secondary on the others");
	if (mode == NETWORK_CHILDREN)
		return cli_network_settle_children(settings, secondaries);
	if (mode == NETWORK_CLIENT && !settings->name)
		return cli_network_refuse("--network-role client without --name: expected the name of the client");
	if (mode == NETWORK_CLIENT && !troupe_client_name_is_valid(settings->name))
		return cli_network_refuse(
			"--name: '%.80s': expected a letter, then letters, digits and _, at most 63 in all",
			settings->name);
	if (mode == NETWORK_CLIENT && !settings->address)
		return cli_network_refuse(
			"--network-role client without --network-address: expected HOST[:PORT] of the primary");
	if (mode == NETWORK_SECONDARY && settings->standby && !settings->address)
		return cli_network_refuse(
			"--network-standby without --network-address: expected HOST[:PORT] of the primary");
	if (mode == NETWORK_SECONDARY && settings->listen && !settings->standby)
		return cli_network_refuse("--network-listen: not with --network-role secondary: it is for the primary");
	if (mode == NETWORK_STANDBY && !settings->address)
		return cli_network_refuse(
			"--network-role standby without --network-address: expected HOST[:PORT] of the primary");
	return mode != NETWORK_PRIMARY || cli_network_settle_primary(settings, secondaries);
}

/* --- ranks -------------------------------------------------------------------------------------------------------- */

static bool cli_network_settle_ranks(struct network_settings *settings, int64_t secondaries)
{
	settings->secondaries = troupe_job_size(settings->job) - 1;
	if (secondaries < 0 || secondaries == settings->secondaries)
		return true;
	return cli_network_refuse(
		"--secondaries %lld with %u ranks: expected %lld, one for each rank but the primary's, or no "
		"--secondaries",
		(long long)secondaries, troupe_job_size(settings->job), (long long)settings->secondaries);
}

/* Only the first process prints the reason why not all processes can join. A launcher tells each process its rank. */
static bool cli_network_is_first(void)
{
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);
		if (value)
			return !strcmp(value, "0");
	}
	return true;
}

bool network_join(struct network_settings *settings, int64_t secondaries, int *ret_exit)
{
	struct troupe_error error;
	troupe_status status = troupe_job_join(settings->transport, &settings->job, &error);
	*ret_exit = status == TROUPE_EINVAL ? CLI_BAD_USAGE : cli_exit_status(status);
	if (status)
		return cli_network_is_first() && cli_network_refuse("%s", error.text);
	*ret_exit = CLI_BAD_USAGE;
	return troupe_job_number(settings->job) || cli_network_settle_ranks(settings, secondaries);
}

/* If a secondary failed, it leaves the end of all processes to the primary. */
void network_leave(struct network_settings *settings, int exit_status)
{
	troupe_job_leave(settings->job, exit_status == CLI_DONE);
	settings->job = NULL;
}

/* --- being a secondary -------------------------------------------------------------------------------------------- */

static void cli_network_stop_secondary(void *ctx)
{
	troupe_secondary_stop(ctx);
}

/* A secondary has nothing to save, and its peers detect that it has left. */
static void cli_network_leave(void *ctx)
{
	(void)ctx;
	_exit(CLI_DONE);
}

struct cli_network_part { /* what this process is, for the callbacks */
	int64_t verbosity;
	struct network_hooks *hooks;
};

static void cli_network_on_note(void *ctx, const char *text)
{
	const struct cli_network_part *part = ctx;
	if (part->verbosity >= 1)
		cli_complain("run", "%s", text);
}

static void cli_network_on_welcome(void *ctx, const char *address)
{
	const struct cli_network_part *part = ctx;
	if (part->hooks)
		part->hooks->on_welcome(part->hooks->ctx, address);
}

int network_exit_status(troupe_status status)
{
	return status == TROUPE_EINVAL ? CLI_BAD_INPUT : cli_exit_status(status);
}

static bool cli_network_is_socket(int64_t file)
{
	struct stat about;
	return file >= 0 && file <= INT32_MAX && !fstat((int)file, &about) && S_ISSOCK(about.st_mode);
}

int network_be_secondary(const struct network_settings *settings, const char *const *plugin_paths,
	const char *break_rule, int64_t verbosity, struct network_hooks *hooks)
{
	struct cli_network_part part = {verbosity, hooks};
	int file = (int)settings->socket;
	bool started_here = settings->socket >= 0;
	struct troupe_network network = {.transport = settings->job ? settings->transport : NULL,
		.job = settings->job,
		.address = settings->address,
		.client = settings->name,
		.partition = settings->partition,
		.interface = settings->interface,
		.key_file = settings->key_file,
		.insecure = settings->insecure,
		.wait_s = settings->wait_s,
		.sockets = started_here ? &file : NULL};
	struct troupe_secondary_def def = {.network = &network,
		.plugin_paths = plugin_paths,
		.break_rule = break_rule,
		.threads =
			settings->threads || !settings->job ? (uint32_t)settings->threads : 1, /* a rank has one core */
		.on_note = cli_network_on_note,
		.on_welcome = cli_network_on_welcome,
		.ctx = &part};
	struct troupe_secondary *secondary = NULL;
	struct troupe_error error;
	if (started_here && !cli_network_is_socket(settings->socket)) {
		cli_complain("run", "--network-socket: '%lld': expected the number of an open socket",
			(long long)settings->socket);
		return CLI_BAD_USAGE;
	}
	if (settings->job)
		signals_leave_all();
	else if (started_here)
		signals_leave_terminal();
	signals_disarm_watchdog();
	signals_arm_watchdog(CLI_NETWORK_LEAVE_MS, cli_network_leave, NULL);
	troupe_status status = troupe_secondary_create(&def, &secondary, &error);
	if (!status) {
		if (hooks)
			hooks->secondary = secondary;
		signals_tell(cli_network_stop_secondary, secondary);
		status = troupe_secondary_run(secondary, &error);
		signals_tell(NULL, NULL);
	}
	bool told_by_primary = settings->job && verbosity < 3; /* the primary's error line is enough */
	if (status && hooks)
		hooks->why = error;
	if (status && (!started_here || verbosity >= 1) && !told_by_primary)
		cli_complain("run", "%s", error.text);
	troupe_secondary_destroy(secondary);
	signals_disarm_watchdog();
	return network_exit_status(status);
}

/* --- secondaries that are started here ---------------------------------------------------------------------------- */

uint32_t children_count(int64_t secondaries)
{
	return secondaries >= 0 ? (uint32_t)secondaries : eventcount_cores();
}

/* In the new process, between fork() and exec(). */
static void cli_network_become_secondary(int file, int parent, char *const *words)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(CLI_PEER_LOST);
	(void)signal(SIGINT, SIG_IGN); /* handled by the primary, which tells its secondaries */
	(void)signal(SIGHUP, SIG_IGN);
	(void)fcntl(file, F_SETFD, 0);
	(void)execv("/proc/self/exe", words);
	_exit(CLI_BROKEN);
}

static char *cli_network_joined(const char *const *folders)
{
	struct text list = {0};
	for (; folders && *folders; folders++)
		text_add(&list, "%s%s", list.count ? ":" : "", *folders);
	return list.at ? list.at : mem_strdup("");
}

static troupe_status cli_network_start_one(struct children *children, uint32_t index, uint32_t threads,
	const char *const *plugin_paths, const char *break_rule, struct troupe_error *error)
{
	int ends[2], parent = getpid();
	char file[16], number[16];
	troupe_status status = troupe_network_pair(ends, error);
	if (status)
		return status;
	(void)snprintf(file, sizeof file, "%d", ends[1]);
	(void)snprintf(number, sizeof number, "%u", threads);
	char words[][24] = {"troupe", "run", "--network-role", "secondary", "--network-socket", "--network-threads",
		"-v0", "--break", "--plugin-path"};
	char *rule = mem_strdup(break_rule ? break_rule : "");
	char *folders = cli_network_joined(plugin_paths);
	char *arguments[] = {words[0], words[1], words[2], words[3], words[4], file, words[5], number, words[6], NULL,
		NULL, NULL, NULL, NULL};
	char **more = arguments + 9;
	if (break_rule) {
		*more++ = words[7];
		*more++ = rule;
	}
	if (*folders) {
		*more++ = words[8];
		*more++ = folders;
	}
	fflush(NULL);
	int pid = fork();
	if (!pid)
		cli_network_become_secondary(ends[1], parent, arguments);
	int code = errno;
	free(rule);
	free(folders);
	(void)close(ends[1]);
	children->sockets[index] = ends[0];
	children->pids[index] = MAX(pid, 0);
	return pid < 0 ? fail(error, TROUPE_ELIMIT, "cannot start secondary %u: %s", index + 1, strerror(code))
		       : TROUPE_OK;
}

troupe_status children_start(struct children *children, uint32_t count, uint32_t threads,
	const char *const *plugin_paths, const char *break_rule, struct troupe_error *error)
{
	if (!threads)
		threads = MIN(MAX((eventcount_cores() - 1) / count, 1u), (uint32_t)TROUPE_NETWORK_THREADS_MAX);
	*children = (struct children){.count = count};
	children->pids = mem_alloc(count * sizeof *children->pids);
	children->sockets = mem_alloc(count * sizeof *children->sockets);
	for (uint32_t i = 0; i < count; i++)
		children->sockets[i] = -1;
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < count && !status; i++)
		status = cli_network_start_one(children, i, threads, plugin_paths, break_rule, error);
	return status;
}

static uint32_t cli_network_reap(struct children *children)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < children->count; i++) {
		if (children->pids[i] && waitpid(children->pids[i], NULL, WNOHANG) != 0)
			children->pids[i] = 0;
		left += children->pids[i] != 0;
	}
	return left;
}

static void cli_network_reap_for_a_while(struct children *children)
{
	for (uint32_t waited_us = 0; cli_network_reap(children) && waited_us < CLI_NETWORK_END_MS * 1000u;
		waited_us += END_LOOK_US)
		(void)usleep(END_LOOK_US);
}

void children_end(struct children *children)
{
	for (uint32_t i = 0; i < children->count; i++)
		if (children->sockets[i] >= 0)
			(void)close(children->sockets[i]);
	cli_network_reap_for_a_while(children);
	for (uint32_t i = 0; i < children->count; i++)
		if (children->pids[i])
			(void)kill(children->pids[i], SIGKILL);
	cli_network_reap_for_a_while(children); /* a process that cannot be killed now is left to init */
	free(children->pids);
	free(children->sockets);
	*children = (struct children){0};
}
