/* The run that follows a run in the same process (def.on_next): whether there can be one, and what speaks against its
 * world. Pure. */
#ifndef CLI_NEXT_RUN_H
#define CLI_NEXT_RUN_H

#include "cli/complaints.h"
#include "cli/run_settings.h"

#include <troupe/server.h>

/* Why a run with these settings keeps its world and its seed, in one line; NULL: it does not. The text is in the arena.
 */
const char *next_run_obstacle(const struct run_settings *settings, uint32_t world_count, struct arena *arena);

/* complaints: what loading the world has said. TROUPE_EWORLD: it is not what is asked for; TROUPE_EIO: a file is
 * missing. */
troupe_status next_run_check(const struct run_settings *settings, const struct complaints *complaints,
	const struct troupe_server *server, const struct troupe_next *asked, struct troupe_error *error);

#endif
