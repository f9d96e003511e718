/* Calls def.on_taken for each command that is taken. */
#ifndef SERVER_COMMAND_NOTICE_H
#define SERVER_COMMAND_NOTICE_H

#include "server/internal.h"

/* Call it on the thread that does the primaries' work, when the command has been obeyed or refused. Does nothing
 * without def.on_taken. */
void command_notice_send(
	struct server_world *world, uint64_t step, const struct command *command, troupe_status status);

#endif
