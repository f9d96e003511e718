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

/* Opens def.costs_path, if there is one. TROUPE_EIO. What fails later ends the table, not the run. */
troupe_status costs_create(struct troupe_server *server, struct troupe_error *error);
/* All worlds have taken so many steps. */
void costs_merged(struct troupe_server *server, uint64_t steps);
void costs_destroy(struct troupe_server *server);

#endif
