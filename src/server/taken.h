/* Calls def.on_taken for each command that is taken. */
#ifndef SERVER_TAKEN_H
#define SERVER_TAKEN_H

#include "server/internal.h"

struct taken;

/* Call it when the worlds are set up and resumed, and before any other command is given. Does nothing without
 * def.on_taken. */
void taken_create(struct troupe_server *server);
/* Call it on the thread that does the primaries' work, when the command has been obeyed or refused. */
void taken_tell(struct server_world *world, uint64_t step, const struct command *command, troupe_status status);
/* NULL is fine. */
void taken_destroy(struct taken *taken);

#endif
