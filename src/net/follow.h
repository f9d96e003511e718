/* Following a primary, so that another process, the standby, can take its place when it is lost.
 *
 * The primary has a feed for its standby, which carries recordings (server/record.h), one after the other: each begins
 * with the state of the world at a commit, and then has the commands that were taken, and hashes. The standby keeps the
 * last recording that is whole up to some commit. It takes over when it has lost the primary and, beside itself, so
 * many secondaries have lost it, too, that no majority is left to the primary (follow_least()). Then the run goes on
 * from that commit, with the next term; a primary of an earlier term is refused (net/hello.h).
 *
 * FOLLOW frames: kind (u64), then as enum follow_kind says; numbers are 64 bits. The standby answers each FOLLOW_RUN
 * with a HEARTBEAT that has its number as the step, and sends the same number in all later ones. */
#ifndef NET_FOLLOW_H
#define NET_FOLLOW_H

#include "net/hello.h"

struct gather_self;

enum follow_kind {
	FOLLOW_BEGIN = 1, /* nothing: a recording begins with the next bytes */
	FOLLOW_BYTES,     /* the next bytes of the recording */
	FOLLOW_COMMIT,    /* step: the recording is whole up to this state */
	FOLLOW_RUN,       /* a number, the fields of struct follow_run but processes, the stale time in ms, processes */
	FOLLOW_FILES,     /* before the first recording: nothing, where a list of files begins, and then its next
			     bytes: each a path and the file (pack_string(), pack_bytes()). States leave these out. */
	FOLLOW_KINDS,
};

/* What the run is, beside its state. */
struct follow_run {
	uint32_t secondaries;                             /* that are no robot clients */
	const unsigned char (*processes)[HELLO_ID_BYTES]; /* [secondaries]: of their hellos; lent */
	bool goes_on;                                     /* when one of them is lost */
	uint64_t iterations;                              /* limits, as in struct troupe_limits */
	double until_s;
};

/* A run under one primary; that of a standby that has taken over says how to go on: at least `least` of was.processes
 * must join it. */
struct follow_term {
	unsigned char run[HELLO_RUN_BYTES]; /* random */
	uint64_t term;                      /* from 1 */
	uint32_t least;                     /* secondaries to go on with; 0: the run begins */
	struct follow_run was;              /* of a run that goes on, as the primary told it last */
	uint64_t lost_ns;                   /* the same: when its loss was noticed (base/clock.h) */
};

/* Beside the standby, of so many secondaries: a majority of the secondaries and the standby, which the primary then
 * does not have. */
static inline uint32_t follow_least(uint32_t secondaries)
{
	return (secondaries + 1) / 2;
}

/* Whether a primary that has lost its standby and `lost` of so many secondaries must end, because the standby may have
 * taken over with them. */
static inline bool follow_may_be_replaced(uint32_t secondaries, uint32_t lost)
{
	return lost && lost >= follow_least(secondaries);
}

/* --- the primary's side ------------------------------------------------------------------------------------------- */

/* One standby. Made where it knocks (net/gather.h), with a thread of its own. */
struct feed;

struct feed_host {
	void (*lost)(void *ctx, const char *why); /* once, on the thread of the feed */
	void *ctx;
};

/* --- the standby's side ------------------------------------------------------------------------------------------- */

struct following;

struct follow_host {
	void (*on_note)(void *ctx, const char *text); /* a line for people */
	bool (*stopped)(void *ctx);                   /* asked about twenty times a second */
	/* What came from the primary, but FOLLOW_RUN: valid during the call. */
	void (*on_follow)(void *ctx, enum follow_kind kind, const char *bytes, size_t count);
	void *ctx;
};

/* Thread: as said; else one for each object. */
struct follow_ops {
	/* Begins; the standby is at `where` (struct welcome). lost() may come from now on. */
	void (*feed_start)(struct feed *feed, const struct feed_host *host);
	/* Where the standby is to be found; valid as long as the feed. */
	const char *(*feed_where)(const struct feed *feed);
	/* Any thread; does not block. A standby that takes nothing for long is lost. */
	void (*feed_send)(struct feed *feed, enum follow_kind kind, const void *bytes, size_t count);
	/* Bytes that wait to be sent. Any thread. */
	size_t (*feed_waiting)(struct feed *feed);
	/* Tells what the run is, and waits until the standby has answered. False: it is lost. */
	bool (*feed_confirm)(struct feed *feed, const struct follow_run *run);
	/* Tells the standby that the run is over (NULL: nothing), and destroys the feed. Takes at most a second. */
	void (*feed_end)(struct feed *feed, const struct stop *stop);

	/* TROUPE_EINVAL, TROUPE_EIO: an error in the settings: address is the primary's, and listen the own one. */
	troupe_status (*following_create)(const struct gather_self *self, const struct follow_host *host,
		struct following **ret_following, struct troupe_error *error);
	/* Blocks until the run is over (*ret_term has term 0), or until it is to be taken over: then the address is
	 * free for a gathering. TROUPE_EPEER, TROUPE_EPROTOCOL: the primary refuses this process; or it was lost, and
	 * it may not be replaced, because too few secondaries came: then *ret_term has lost_ns. */
	troupe_status (*following_run)(
		struct following *following, struct follow_term *ret_term, struct troupe_error *error);
	/* Any thread, also in a signal handler: asks the host again. */
	void (*following_wake)(struct following *following);
	void (*following_destroy)(struct following *following);
};

#endif
