/* The runners of one or several worlds. Each world has a primary and its secondaries; a transport joins them. A
 * secondary is a thread of this process, or is elsewhere. Worlds run in lockstep: no world gets step k+1 before all
 * worlds have merged step k. With no secondary threads there is a single runner, which does the primary's and the
 * secondary's part on the caller's thread. */
#ifndef RUN_RUNNERS_H
#define RUN_RUNNERS_H

#include "net/transport.h"
#include "base/eventcount.h"
#include "run/primary.h"
#include "run/secondary.h"
#include "run/tune.h"

struct runners;

struct runners_world { /* primary and shared outlive the runners */
	struct primary *primary;
	struct shared *shared;
	uint32_t threads; /* 0 for a single runner; else primary->options.secondaries */
	uint32_t helpers; /* of a single runner: further threads for large readings; started when there is one */
	uint32_t first;   /* how many of these work at first; then tuned (a single world only). 0: all, not tuned */
	/* For a remote transport only: see transport_options. They outlive the runners. */
	const struct transport_codec *codec;
	struct transport_link *link;
};

struct runners_callbacks {
	void (*on_watch)(void *ctx); /* about ten times a second while running, on the caller's thread; may be NULL */
	/* Called between steps, on the thread that does the primaries' part. Each may be NULL. */
	void (*on_acked)(void *ctx);                  /* before the acks are merged */
	void (*on_merged)(void *ctx, uint64_t steps); /* after; steps: taken so far */
	/* Before the first step of runners_run(), and again and again while all worlds are paused and no step is taken.
	 */
	void (*on_idle)(void *ctx);
	/* Before each step is decided, after on_idle. It may wait, and may end primaries with primary_fail(). */
	void (*on_turn)(void *ctx);
	/* Advanced by any thread: ends the pause between two calls of on_idle. Outlives the runners; NULL: none. */
	struct eventcount *woken;
	void *ctx;
};

/* Either all worlds have threads or none has. With a remote transport the secondaries are elsewhere, so that no thread
 * is started. */
troupe_status runners_create(const struct runners_world *worlds, uint32_t world_count, const struct transport_ops *ops,
	const struct runners_callbacks *callbacks, struct runners **ret_runners, struct troupe_error *error);
/* Runs until all primaries have ended; the first failure ends all, and its status is returned. May be called again
 * after primaries that ended well were given another limit. */
troupe_status runners_run(struct runners *runners, struct troupe_error *error);
void runners_destroy(struct runners *runners);

enum runners_seized { RUNNERS_SEIZED, RUNNERS_IDLE, RUNNERS_STUCK };

/* For another thread than the one in runners_run(), when that does not return because a step does not end. Waits for at
 * most ms until no thread does the primaries' part, or is in update() of a system, and all secondaries have changed
 * what they change of state k. Then no thread ever does the primaries' part again, the primaries have state k with its
 * commands obeyed, as after a step that was given up or failed, and the caller may do what is done between steps. The
 * runners must not be destroyed then, and the process must end. RUNNERS_IDLE: no thread is in runners_run().
 * RUNNERS_STUCK: it is the primaries' part that does not end. Nothing has changed then, except that no further step
 * begins. */
enum runners_seized runners_seize(struct runners *runners, uint32_t ms);
/* Appends what the runners do now: "the physics (secondary 2)". Any thread, while the runners exist. */
void runners_describe(const struct runners *runners, struct text *out);

/* For runners with a remote transport: as the slots of the transport, for all worlds. */
bool runners_regroups(struct runners *runners, uint32_t *ret_lost);
/* The first secondary after this one (0: of all) that asked to leave; 0: none. */
uint32_t runners_leaver_after(struct runners *runners, uint32_t secondary);
void runners_stop(struct runners *runners, enum stop_kind kind, const char *why);
struct transport_counts runners_counts(const struct runners *runners);

/* How many secondaries pay; NULL: these runners do not tune their number. Call it only while the runners do not run. */
const struct tune *runners_tune(const struct runners *runners);
/* Real time so far in which no secondary simulated: merging and deciding, hand-over, work for observers. Sleep is not
 * counted. */
uint64_t runners_serial_ns(const struct runners *runners);
struct secondary_slices runners_slices(const struct runners *runners, uint32_t world, uint32_t secondary);
struct physics_stats runners_physics_stats(const struct runners *runners, uint32_t world, uint32_t secondary);

#endif
