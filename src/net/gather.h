/* How the processes of a run with a remote transport find each other: the primary gathers its secondaries, and a
 * secondary joins its primary. Each back end has its own way. In all of them the peers introduce themselves
 * (net/hello.h), net/peers.h admits or refuses them, and the primary gives the world to each secondary (net/bundle.h).
 * The run starts when all have rebuilt it. Then link() gives what the end of the transport is made of.
 *
 * Thread: one for each object, except where a slot says otherwise. */
#ifndef NET_GATHER_H
#define NET_GATHER_H

#include "net/follow.h"
#include "net/hello.h"
#include "net/transport.h"

#include <troupe/network.h>

/* The description that a process gives of itself. */
struct gather_self {
	const struct troupe_network *network; /* checked; used by the creation only */
	struct fingerprint fingerprint;       /* of its floating-point arithmetic */
	struct follow_term term;              /* primary; term 0: a run begins */
};

/* The members that a primary gathers. Lent until the next gathering_run(). */
struct gather_members {
	/* Secondaries that are no robot clients: so many. With `again`: at most so many; and `expected` is how many are
	 * expected beside the secondaries whose connections were kept. */
	uint32_t secondaries, expected;
	uint32_t clients;
	const char *const *names;                           /* [clients] */
	const unsigned char (*tickets)[HELLO_TICKET_BYTES]; /* [clients]: of their welcomes (net/hello.h) */
	uint32_t more; /* further clients that may be let in: gather_host.knocked() is called for each */
	uint16_t port; /* where clients get their topics; 0: none */
	/* With `again`: of these processes, [least_of_count], so many at least take part; 0: any one. */
	uint32_t least, least_of_count;
	const unsigned char (*least_of)[HELLO_ID_BYTES];
	const char *standby; /* where a standby is to be found when the primary is lost; NULL: there is none */
	bool again;          /* the run has begun, and goes on with these members: see struct peers_options */
	bool goes_on;        /* the run would go on without a member that is lost */
	bool more_come;      /* further secondaries may come: gather_host.knocked() is called for each */
};

/* The world that a primary gives. */
struct gather_world {
	const char *bytes; /* lent until gather() returns */
	size_t count;
	uint64_t state_hash;                  /* of the state in it */
	uint64_t first_step;                  /* number of the first step to come */
	const struct gather_members *members; /* NULL: as many as the network's definition says, no clients */
};

/* The functions by which gathering and joining tell or ask their owner. It outlives the object. */
struct gather_host {
	/* A line for people. Gathering: any thread, until the object is destroyed. */
	void (*on_note)(void *ctx, const char *text);
	/* Whether the owner was told to stop. Asked about twenty times a second. */
	bool (*stopped)(void *ctx);
	/* Gathering, may be NULL. Called about twenty times a second. */
	void (*on_watch)(void *ctx);
	/* Gathering, may be NULL if none may be let in later. A secondary that is not awaited has come: a robot client
	 * of this name, or "", with the id of its process. NULL: it is told to come again, because it may be let in;
	 * else why not, for its user (the text is constant). Any thread. */
	const char *(*knocked)(void *ctx, const char *client, const unsigned char id[HELLO_ID_BYTES]);
	/* Gathering, may be NULL: then there are no standbys. Whether a standby may follow now; if not, why, and it is
	 * told to come again (the text is constant). Then it has come: the owner takes the feed. One thread. */
	const char *(*may_follow)(void *ctx);
	void (*followed)(void *ctx, struct feed *feed);
	/* Joining, may be NULL. A primary has admitted this process. host: the primary's, as text; NULL: not known.
	 * port: where a robot client gets its topics; 0: nowhere. ticket: its right to act there (net/hello.h). */
	void (*on_welcome)(void *ctx, const char *host, uint16_t port, const unsigned char ticket[HELLO_TICKET_BYTES]);
	/* Joining. The world has come. The owner takes bytes (free()), and begins to load it on another thread. number:
	 * of this secondary, from 1. */
	void (*on_world)(void *ctx, uint32_t number, char *bytes, size_t count);
	/* Joining, after on_world(). Whether the world is loaded; if so, *ret_hash is the hash of its state. Asked
	 * after each wake(). A status is a failure: the peers are told error->text. */
	troupe_status (*loaded)(void *ctx, bool *ret_loaded, uint64_t *ret_hash, struct troupe_error *error);
	void *ctx;
};

/* Processes that a launcher started together (<troupe/network.h>). A back end has it as the first member of its own. */
struct troupe_job {
	const struct gather_ops *ops;
	uint32_t number; /* of this process; 0: the primary */
	uint32_t size;
};

/* The primary's side, before the start; afterwards it refuses late peers, until it is destroyed. */
struct gathering;
/* A secondary's side, before the start. */
struct joining;

/* A status fails with TROUPE_EINVAL or TROUPE_EIO for wrong settings, TROUPE_ELIMIT for what the machine lacks,
 * TROUPE_EPEER or TROUPE_EPROTOCOL for what peers do; error names the peer and the reason. All slots are filled, except
 * job_join and job_leave in a back end without jobs, and joining_renew where members do not change. */
struct gather_ops {
	bool changes_members; /* secondaries may come, and may be lost, while the world runs */
	/* The slots of troupe_job_join() and troupe_job_leave(). */
	troupe_status (*job_join)(struct troupe_job **ret_job, struct troupe_error *error);
	void (*job_leave)(struct troupe_job *job, bool well);

	/* Closes what the settings pass on, if no object will be made of them. network may be NULL. */
	void (*refuse)(const struct troupe_network *network);

	/* Makes this process visible to secondaries. Does not block. Takes what the settings pass on, also on failure.
	 * host: lent until destruction. */
	troupe_status (*gathering_create)(const struct gather_self *self, const struct gather_host *host,
		struct gathering **ret_gathering, struct troupe_error *error);
	/* Blocks until all secondaries have joined and have rebuilt the world, with this state. Once; where members may
	 * change (changes_members), again after the transport of the call before is destroyed. When it fails, the
	 * peers that had joined have been told. TROUPE_EPEER when the owner was told to stop. */
	troupe_status (*gathering_run)(
		struct gathering *gathering, const struct gather_world *world, struct troupe_error *error);
	/* After a gathering_run() that failed: a client that did not come back, so that the caller gathers again
	 * without it; NULL: that is not why. */
	const char *(*gathering_missing)(const struct gathering *gathering);
	/* After a gathering_run() that failed: whether another one was lost meanwhile, so that the caller gathers
	 * again. */
	bool (*gathering_regroups)(const struct gathering *gathering);
	/* After gathering_run(): how many secondaries take part, with the clients. *ret_new: how many secondaries that
	 * are no clients have not taken part before; they have the greatest numbers before the clients. */
	uint32_t (*gathering_members)(const struct gathering *gathering, uint32_t *ret_new);
	/* During gathering_run() with `again`, in a function of the host: how many secondaries of the run before are
	 * here, or may still join. */
	uint32_t (*gathering_known)(const struct gathering *gathering);
	/* After gathering_run(): the process of a secondary, from 1: HELLO_ID_BYTES of its hello. */
	const unsigned char *(*gathering_process)(const struct gathering *gathering, uint32_t secondary);
	/* The number of secondaries that have not joined yet. Any thread. */
	uint32_t (*gathering_awaited)(const struct gathering *gathering);
	/* After gathering_run(). The link belongs to the gathering, and outlives its transport. */
	troupe_status (*gathering_link)(
		struct gathering *gathering, struct transport_link **ret_link, struct troupe_error *error);
	/* Tells the peers that the run is over, when there is no transport, because none could be made. */
	void (*gathering_stop)(struct gathering *gathering, enum stop_kind kind, const char *why);
	/* After the transport is destroyed. May take a fraction of a second. NULL is fine. */
	void (*gathering_destroy)(struct gathering *gathering);

	/* As gathering_create(). */
	troupe_status (*joining_create)(const struct gather_self *self, const struct gather_host *host,
		struct joining **ret_joining, struct troupe_error *error);
	/* Finds a primary, joins it, and blocks until the run starts. Once. When it fails, the primary has been told.
	 */
	troupe_status (*joining_run)(struct joining *joining, struct troupe_error *error);
	/* After a joining_run() that failed: whether the run goes on with other members, so that this process is to
	 * join again. */
	bool (*joining_regroups)(const struct joining *joining);
	/* After a joining_run() that failed: whether that was because the primary was lost without a word. */
	bool (*joining_orphaned)(const struct joining *joining);
	/* Where the primary said that a standby is to be found when it is lost; "": nowhere. */
	const char *(*joining_standby)(const struct joining *joining);
	/* After a run that was lost with its primary: joining_run() may be called again, and joins the standby, when it
	 * has taken over. wait_s: as in struct troupe_network. TROUPE_EPEER: there is none. */
	troupe_status (*joining_seek_standby)(struct joining *joining, double wait_s, struct troupe_error *error);
	/* After joining_regroups(), and after the transport's destruction: joining_run() may be called again, and joins
	 * the same primary, on the same connection if it lives. wait_s: as in struct troupe_network. Not where members
	 * cannot change. */
	troupe_status (*joining_renew)(struct joining *joining, double wait_s, struct troupe_error *error);
	/* Any thread, also a signal handler. joining_run() asks the host again. */
	void (*joining_wake)(struct joining *joining);
	/* As gathering_link(). *ret_secondaries: how many take part. */
	troupe_status (*joining_link)(struct joining *joining, struct transport_link **ret_link,
		uint32_t *ret_secondaries, struct troupe_error *error);
	void (*joining_destroy)(struct joining *joining);
};

/* Fills in the hello of this process. TROUPE_EINVAL: a partition that is too long. */
troupe_status gather_hello(
	const struct gather_self *self, enum hello_role role, struct hello *ret_hello, struct troupe_error *error);
/* Passes a line for people on to the host. */
void gather_note(const struct gather_host *host, const char *format, ...) TROUPE_PRINTF(2, 3);

#endif
