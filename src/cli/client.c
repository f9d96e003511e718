/* The primary says where it serves clients only when it admits this process, and connecting takes a while, in which the
 * secondary must go on: so the gateways are started on a thread of their own. They stay when the run gets other
 * members, because their connection to the primary is not that of the steps. */
#include "cli/client.h"

#include "cli/cli.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct client {
	const struct network_settings *network;
	const struct gateways_settings *settings;
	int64_t verbosity;
	struct network_hooks hooks;
	char *address, *ticket;
	pthread_t thread;
	bool started;
	/* the thread's; read when it has ended */
	struct gateways *gateways;
	bool failed;
};

static void cli_client_say(void *ctx, bool loud, const char *text)
{
	const struct client *client = ctx;
	if (client->verbosity >= (loud ? 1 : 3))
		cli_complain("run", "%s", text);
}

static void *cli_client_start(void *arg)
{
	struct client *client = arg;
	struct troupe_error error;
	const struct troupe_view_run run = {.address = client->address,
		.key_file = client->network->key_file,
		.insecure = client->network->insecure,
		.client = client->network->name,
		.ticket = client->ticket};
	troupe_status status =
		gateways_connect(client->settings, &run, cli_client_say, client, &client->gateways, &error);
	client->failed = status;
	if (!status)
		return NULL;
	cli_complain("run", "%s", error.text);
	troupe_secondary_stop(client->hooks.secondary);
	return NULL;
}

static void cli_client_on_welcome(void *ctx, const char *address)
{
	struct client *client = ctx;
	if (client->started)
		return;
	if (!address) {
		cli_complain("run", "the primary serves no topics to robot clients");
		return;
	}
	client->address = mem_strdup(address);
	client->ticket = mem_strdup(troupe_secondary_ticket(client->hooks.secondary));
	int failed = pthread_create(&client->thread, NULL, cli_client_start, client);
	mem_check_thread(failed);
	client->started = !failed;
}

int client_run(const struct network_settings *network, const struct gateways_settings *gateways,
	const char *const *plugin_paths, const char *break_rule, int64_t verbosity)
{
	struct client client = {.network = network, .settings = gateways, .verbosity = verbosity};
	client.hooks = (struct network_hooks){.on_welcome = cli_client_on_welcome, .ctx = &client};
	int status = network_be_secondary(network, plugin_paths, break_rule, verbosity, &client.hooks);
	if (client.started)
		pthread_join(client.thread, NULL);
	gateways_end(client.gateways, client.hooks.why.status ? &client.hooks.why : NULL);
	free(client.address);
	free(client.ticket);
	return client.failed ? CLI_BAD_INPUT : status;
}
