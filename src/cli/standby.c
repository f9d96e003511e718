/* A standby that is told to end has nothing to save before it takes over; afterwards run.c runs it as a primary. One
 * that may not take over saves the state that it has. */
#include "cli/standby.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/saves.h"
#include "cli/signals.h"

#include <troupe/server.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STANDBY_LEAVE_MS = 900, STANDBY_END_MS = 10000, STANDBY_LOOK_MS = 20, STANDBY_WORDS_MAX = 24 };

static void cli_standby_stop(void *ctx)
{
	troupe_standby_stop(ctx);
}

/* While the primary is there, it has the state. */
static void cli_standby_leave(void *ctx)
{
	(void)ctx;
	_exit(CLI_DONE);
}

static void cli_standby_note(void *ctx, const char *text)
{
	const struct run_settings *settings = ctx;
	if (settings->verbosity >= 1)
		cli_complain("run", "%s", text);
}

static void cli_standby_hash(void *ctx, uint64_t step, uint64_t hash)
{
	(void)ctx;
	(void)printf("hash %" PRIu64 " %016" PRIx64 "\n", step, hash);
}

static void cli_standby_become_primary(struct run_settings *settings, const struct troupe_standby *standby)
{
	struct troupe_followed_run was = troupe_standby_was(standby);
	struct network_settings *network = &settings->network;
	settings->mode = NETWORK_PRIMARY;
	network->secondaries = was.secondaries;
	if (!network->on_loss && was.on_loss == TROUPE_ON_LOSS_CONTINUE)
		network->on_loss = "continue";
	if (!settings->iterations && settings->until_s <= 0) {
		settings->iterations = (int64_t)MIN(was.iterations, (uint64_t)INT64_MAX);
		settings->until_s = was.until_s;
	}
}

/* Nothing goes on from this state by itself: it is saved, as when a primary ends too early. */
void standby_save(const struct run_settings *settings, const char *state, size_t bytes)
{
	const char *given = settings->network.save_on_stop;
	struct troupe_server_def def = troupe_server_def_default();
	struct complaints complaints = {.verbosity = settings->verbosity};
	struct saves saves = {.complaints = &complaints};
	struct troupe_server *server = NULL;
	struct troupe_error error;
	def.resume_path = "the state of the primary";
	def.resume_bytes = state;
	def.resume_count = bytes;
	def.plugin_paths = settings->plugin_paths.at;
	def.resource_paths = settings->resource_paths.at;
	troupe_status status = troupe_server_create(&def, &server, &error);
	char *pattern = status ? NULL : given ? mem_strdup(given) : saves_default(server);
	status = status ? status : saves_on_stop(&saves, server, pattern, &error);
	if (status)
		cli_complain("run", "%s", error.text);
	free(pattern);
	troupe_server_destroy(server);
}

int standby_follow(struct run_settings *settings, struct troupe_standby **ret_standby)
{
	const struct network_settings *network = &settings->network;
	struct troupe_network own = {.address = network->address,
		.listen = network->listen,
		.partition = network->partition,
		.key_file = network->key_file,
		.insecure = network->insecure,
		.wait_s = network->wait_s};
	struct troupe_standby_def def = {.network = &own,
		.plugin_paths = settings->plugin_paths.at,
		.resource_paths = settings->resource_paths.at,
		.on_note = cli_standby_note,
		.hash_every = (uint64_t)settings->hash_every,
		.on_hash = settings->hash_every ? cli_standby_hash : NULL,
		.ctx = settings};
	struct troupe_standby *standby = NULL;
	struct troupe_error error;
	signals_disarm_watchdog();
	signals_arm_watchdog(STANDBY_LEAVE_MS, cli_standby_leave, NULL);
	troupe_status status = troupe_standby_create(&def, &standby, &error);
	if (!status) {
		signals_tell(cli_standby_stop, standby);
		status = troupe_standby_run(standby, &error);
		signals_tell(NULL, NULL);
	}
	if (status)
		cli_complain("run", "%s", error.text);
	*ret_standby = NULL;
	(void)fflush(stdout);
	signals_disarm_watchdog();
	if (!status && troupe_standby_takeover(standby)) {
		cli_standby_become_primary(settings, standby);
		*ret_standby = standby;
		return CLI_DONE;
	}
	size_t bytes = 0;
	const char *state = standby ? troupe_standby_state(standby, &bytes) : NULL;
	if (bytes)
		standby_save(settings, state, bytes);
	troupe_standby_destroy(standby);
	return network_exit_status(status);
}

/* --- beside a secondary ------------------------------------------------------------------------------------------- */

/* In the new process, between fork() and exec(). */
static void cli_standby_become(int parent, char *const *words)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(CLI_PEER_LOST);
	(void)execv("/proc/self/exe", words);
	_exit(CLI_BROKEN);
}

static void cli_standby_add(const char **words, uint32_t *count, const char *option, const char *value)
{
	if (!value)
		return;
	words[(*count)++] = option;
	words[(*count)++] = value;
}

int standby_start_beside(const struct network_settings *settings, int64_t verbosity)
{
	const char *words[STANDBY_WORDS_MAX] = {"troupe", "run", "--network-role", "standby"};
	char level[24], wait_s[40], *copies[STANDBY_WORDS_MAX] = {NULL};
	uint32_t count = 4;
	int parent = getpid();
	(void)snprintf(level, sizeof level, "%" PRId64, verbosity);
	(void)snprintf(wait_s, sizeof wait_s, "%.9g", settings->wait_s);
	cli_standby_add(words, &count, "--network-address", settings->address);
	cli_standby_add(words, &count, "--network-listen", settings->listen);
	cli_standby_add(words, &count, "--network-partition", settings->partition);
	cli_standby_add(words, &count, "--network-key-file", settings->key_file);
	cli_standby_add(words, &count, "--network-wait", settings->wait_s > 0 ? wait_s : NULL);
	cli_standby_add(words, &count, "--verbose", level);
	if (settings->insecure)
		words[count++] = "--network-insecure";
	for (uint32_t i = 0; i < count; i++)
		copies[i] = mem_strdup(words[i]);
	fflush(NULL);
	int process = fork();
	if (!process)
		cli_standby_become(parent, copies);
	if (process < 0)
		cli_complain("run", "--network-standby: cannot start a process: %s", strerror(errno));
	for (uint32_t i = 0; i < count; i++)
		free(copies[i]);
	return MAX(process, 0);
}

int standby_end_beside(int process, int exit_status)
{
	int how = 0, ended = 0;
	if (exit_status || signals_asked())
		(void)kill(process, SIGTERM);
	for (int waited_ms = 0; !ended && waited_ms < STANDBY_END_MS; waited_ms += STANDBY_LOOK_MS) {
		ended = waitpid(process, &how, WNOHANG);
		if (!ended)
			(void)usleep(STANDBY_LOOK_MS * 1000);
	}
	if (!ended) {
		(void)kill(process, SIGTERM);
		(void)waitpid(process, &how, 0);
	}
	int its = WIFEXITED(how) ? WEXITSTATUS(how) : CLI_BROKEN;
	return exit_status ? exit_status : its;
}
