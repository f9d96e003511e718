/* The runners of one world: a primary and its secondaries, each secondary a thread, joined by a transport. With no
 * secondary there is a single runner, which does both parts on the caller's thread. */
#ifndef RUN_CREW_H
#define RUN_CREW_H

#include "net/transport.h"
#include "run/primary.h"
#include "run/secondary.h"

struct crew;

struct crew_watch {
	void (*on_watch)(void *ctx); /* about ten times a second while running, on the caller's thread; may be NULL */
	/* Between steps, on whichever thread has the primary's part, before the next step goes out; may be NULL. */
	void (*on_step)(void *ctx);
	void *ctx;
};

/* threads: 0 for a single runner; else primary->options.secondaries. primary and shared outlive the crew. */
troupe_status crew_create(struct primary *primary, struct shared *shared, uint32_t threads,
	const struct transport_ops *ops, const struct crew_watch *watch, struct crew **ret_crew,
	struct troupe_error *error);
/* Runs until the primary ends; returns its status. May be called again after a primary that ended well was given
 * another limit. */
troupe_status crew_run(struct crew *crew, struct troupe_error *error);
void crew_destroy(struct crew *crew);

struct physics_stats crew_physics_stats(const struct crew *crew, uint32_t secondary);

#endif
