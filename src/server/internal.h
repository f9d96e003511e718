/* What the files of this folder share. */
#ifndef SERVER_INTERNAL_H
#define SERVER_INTERNAL_H

#include "base/outfile.h"
#include "run/crew.h"
#include "server/observe.h"

#include <troupe/command.h>
#include <troupe/report.h>
#include <troupe/server.h>

#include <pthread.h>

struct server_counts { /* at the last snapshot, to tell how busy each secondary has been since */
	uint64_t at_ns;
	uint64_t *busy_ns; /* [secondaries] */
};

/* One world of the file, with its own primary and secondaries. */
struct server_world {
	struct troupe_server *server;
	uint32_t index;
	struct scene *scene;
	struct systems *systems;
	struct shared shared;
	struct primary primary;
	struct observe *observe;
	pthread_mutex_t view_lock;
	const struct troupe_scene *view; /* view.h; NULL: none yet. Written under view_lock. */
	uint32_t threads;                /* secondaries that are threads; 0: a single runner */
	uint32_t secondaries;            /* the same, but at least 1 */
	struct server_counts counts;
	bool ready; /* primary and shared are to be cleaned up */
};

struct troupe_server {
	struct troupe_server_def def;
	struct sdf *sdf;
	struct files files;        /* that the worlds were loaded from */
	struct importer *importer; /* of meshes and images, also of models that are created while it runs */
	char *saved;               /* the file that is being resumed; NULL: none, or it is done */
	size_t saved_count;
	char *saved_path;            /* of the world, in it */
	VEC(char *) folders;         /* in which files were looked for when it was saved; NULL after the last */
	struct unpack rest;          /* of saved */
	struct server_world *worlds; /* [world_count], in the order of the file */
	uint32_t world_count;
	struct crew *crew;
	struct recorder *recorder; /* record.h; NULL: nothing is recorded */
	struct network *network;   /* network.h; NULL: the secondaries are threads here */
	bool copy;                 /* of a primary's, in a secondary's process: nothing runs by itself */
	struct costs *costs;       /* costs.h; NULL: not wanted */
	const struct assign_policy *policy;
	/* Held by whoever makes snapshots while it does not run, and to begin and to end a run. */
	pthread_mutex_t lock;
	bool running;        /* under the lock */
	_Atomic bool unseen; /* the state is later than the newest snapshot; false while it runs */
	/* By the thread that writes a file, and by the caller between runs. */
	uint64_t stop_seen_ns; /* when a writer first saw that it is to stop; 0: it is not */
	bool was_stopped;      /* the last run ended because of that */
};

void server_warn(const struct troupe_server *server, const char *text);

/* How long what the server writes may wait, or take: ctx is the server. After troupe_server_stop() nobody waits for the
 * reader of a pipe, and while the run is not over a file that is being replaced is given up after half a second. */
enum outfile_haste server_haste(void *ctx);
static inline struct outfile_options server_options(struct troupe_server *server)
{
	return (struct outfile_options){.haste = server_haste, .ctx = server};
}

/* What troupe_server_create() does. saved: NULL, or a saved state, which becomes the server's, to resume instead of the
 * file def->resume_path, which names it in messages. */
troupe_status server_create(const struct troupe_server_def *def, char *saved, size_t saved_count,
	struct troupe_server **ret_server, struct troupe_error *error);
/* The same, of a state that came from a primary: set up, without runners. */
troupe_status server_create_copy(const struct troupe_server_def *def, char *saved, size_t saved_count,
	struct troupe_server **ret_server, struct troupe_error *error);
/* There will be no server of it: sockets that would have been the server's are closed. NULL is fine, and what is no
 * definition. */
void server_refuse(const struct troupe_server_def *def);
/* Goes on until each world has taken steps[world] steps, which it may have. */
troupe_status server_run_to(struct troupe_server *server, const uint64_t *steps, struct troupe_error *error);

/* save.c. What troupe_server_save() writes. */
void server_pack(struct troupe_server *server, struct text *out);
/* Writes the head of a state (magic, version, checksum of the rest) over its first SAVE_HEAD_BYTES. server_pack() has
 * done it; tests that change a state do it again. */
enum { SAVE_HEAD_BYTES = 32 };
void server_seal(char *state, size_t count);
/* Opens def.resume_path, unless `saved` is there: what the worlds are loaded from and how. */
troupe_status server_open_save(struct troupe_server *server, struct troupe_error *error);
/* Puts worlds that have been set up, and not begun, into the state of it. */
troupe_status server_resume(struct troupe_server *server, struct troupe_error *error);

/* pins.c. Def.pins into the scenes. */
troupe_status server_pin(struct troupe_server *server, struct troupe_error *error);

/* world.c. A zeroed world is ready for world_fini(), whatever world_init() said. */
troupe_status world_init(
	struct server_world *world, struct troupe_server *server, uint32_t index, struct troupe_error *error);
void world_set_up(struct server_world *world, uint32_t threads, enum physics_break rule);
void world_fini(struct server_world *world);
/* What there is to share out. */
uint32_t world_movers(const struct server_world *world);
/* A snapshot; between steps, before the coming turn: state is that of the last merged step. */
void world_publish(struct server_world *world, bool running);
/* The same without publishing it; valid until the next call. */
const struct troupe_snapshot *world_look(struct server_world *world);
/* The scene as it is now, made anew if it has changed; the world's. The same times. */
const struct troupe_scene *world_view(struct server_world *world);

/* What to call a secondary outside: the single runner is 0. */
static inline uint32_t world_number(const struct server_world *world, uint32_t secondary)
{
	return world->threads ? secondary : 0;
}

#endif
