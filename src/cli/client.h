/* `troupe run --network-role client`: a secondary with a name, and gateways for the models that are created through it.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include "cli/gateways.h"
#include "cli/network.h"

/* Runs this process as a robot client. verbosity: that of the command line. Returns the exit status. */
int client_run(const struct network_settings *network, const struct gateways_settings *gateways,
	const char *const *plugin_paths, const char *break_rule, int64_t verbosity);

#endif
