/* A table of the costs of a step: a file for spreadsheets and for bench/levels. After every def.costs_every steps it
 * gets one line for each model and each loaded level:
 *
 *   world,step,component,secondary,pin,kind,ns,name
 *
 * world: from 0. component: a component of the assignment (assign/components.h); the numbers are assigned anew in each
 * step. secondary and pin: from 1; 0: none. kind: performer, cargo (a dynamic model that a level loaded) or level. ns:
 * the smoothed cost of a step; 0 asleep. Thread: the thread that does the primary's work. */
#ifndef SERVER_COSTS_H
#define SERVER_COSTS_H

#include "server/internal.h"

/* Checks that def.costs_path, if it is given, can be written; TROUPE_EIO otherwise. Does not change the file. */
troupe_status costs_create(struct troupe_server *server, struct troupe_error *error);
/* Opens the file; call it before the first step. Does nothing if the table has already begun. A later error ends the
 * table but not the run: def.on_warning is called with the reason, and costs_end() returns it. */
void costs_begin(struct troupe_server *server);
/* Call it when all worlds have taken `steps` steps. */
void costs_merged(struct troupe_server *server, uint64_t steps);
/* Closes the file. TROUPE_EIO if a part of the table could not be written, now or earlier. */
troupe_status costs_end(struct troupe_server *server, struct troupe_error *error);
/* costs may be NULL. */
void costs_destroy(struct costs *costs);

#endif
