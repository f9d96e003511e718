/* What the options of `troupe run` ask of the library. Pure. */
#ifndef CLI_RUN_DEFINITION_H
#define CLI_RUN_DEFINITION_H

#include "cli/run_settings.h"

#include <troupe/server.h>

/* Without callbacks. Texts are those of the settings. */
struct troupe_server_def run_definition_server(const struct run_settings *settings);
/* sockets: to the secondaries that were started, with --transport tcp. */
struct troupe_network run_definition_network(const struct run_settings *settings, const int *sockets);

#endif
