/* Runs a world as `troupe run` does; run_role.c is the command. */
#ifndef CLI_RUN_H
#define CLI_RUN_H

#include "base/arena.h"
#include "cli/run_settings.h"

struct troupe_standby;

/* Runs the world of the settings to its end, and then the runs that clients ask for. arena: that of the texts of the
 * settings, to which places of gateways are added. standby: the one that has taken over, whose state is resumed; it is
 * freed here; NULL: none has. Prints what goes wrong, and returns the exit status. Thread: the one of main(). */
int run_worlds(const struct run_settings *settings, struct arena *arena, struct troupe_standby *standby);

#endif
