/* What the files of this folder share. */
#ifndef SERVER_INTERNAL_H
#define SERVER_INTERNAL_H

#include "run/crew.h"
#include "server/observe.h"

#include <troupe/server.h>

struct server_counts { /* at the last snapshot, to tell how busy each secondary has been since */
	uint64_t at_ns;
	uint64_t *busy_ns; /* [secondaries] */
};

struct troupe_server {
	struct troupe_server_def def;
	struct sdf *sdf;
	struct scene *scene;
	struct systems *systems;
	struct shared shared;
	struct primary primary;
	struct crew *crew;
	struct observe *observe;
	uint32_t threads;     /* secondaries that are threads; 0: a single runner */
	uint32_t secondaries; /* the same, but at least 1 */
	struct server_counts counts;
	bool ready; /* primary and shared are to be cleaned up */
};

bool server_shows(const struct troupe_server *server, uint32_t model);

/* What to call a secondary outside: the single runner is 0. */
static inline uint32_t server_number(const struct troupe_server *server, uint32_t secondary)
{
	return server->threads ? secondary : 0;
}

#endif
