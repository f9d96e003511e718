/* What a step of each model costs, as a table that a spreadsheet reads and bench/levels takes as its input: after every
 * def.costs_every steps, a line for each model and level that is loaded,
 *
 *   world,step,component,secondary,pin,kind,ns,name
 *
 * world from 0; components are those of the assignment (DESIGN 4), numbered anew in each step; secondary and pin from
 * 1, 0: none; kind: performer, cargo (a dynamic model that a level brought) or level; ns: of a step, smoothed, 0 at
 * rest. Thread: whoever has the primaries' part. */
#ifndef SERVER_COSTS_H
#define SERVER_COSTS_H

#include "server/internal.h"

/* Looks whether def.costs_path, if there is one, can be written: TROUPE_EIO. The file is not touched yet. */
troupe_status costs_create(struct troupe_server *server, struct troupe_error *error);
/* Before the first step: opens the file. Nothing when it has begun. What fails from now on ends the table, not the run:
 * def.on_warning tells why, and so does costs_end(). */
void costs_begin(struct troupe_server *server);
/* All worlds have taken so many steps. */
void costs_merged(struct troupe_server *server, uint64_t steps);
/* Closes the file. TROUPE_EIO when not all could be written, at any time. */
troupe_status costs_end(struct troupe_server *server, struct troupe_error *error);
/* NULL is fine. */
void costs_destroy(struct costs *costs);

#endif
