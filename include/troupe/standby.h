/* A standby follows the primary of a networked run, and takes its place when it is lost: then the run goes on from the
 * last commit that the standby has, with the same bits, the same secondaries and the commands that wait. The primary
 * tells its secondaries where the standby is; those that lose the primary come to it.
 *
 * The standby takes over only when a majority of it and the secondaries has lost the primary (all secondaries, if the
 * run ends when one is lost). A primary that loses its standby and so many secondaries at once ends. So two primaries
 * never go on with one run; and a secondary refuses a primary that was replaced.
 *
 * A process creates a standby, runs it, and if it is to take over, creates a server with
 *
 *     def.resume_bytes = troupe_standby_state(standby, &def.resume_count);
 *     network.takeover = troupe_standby_takeover(standby);
 *     network.secondaries = troupe_standby_was(standby).secondaries;
 *
 * and runs it, with the limits that the primary had (troupe_standby_was()) or others. Outputs of this server begin with
 * that commit. */
#ifndef TROUPE_STANDBY_H
#define TROUPE_STANDBY_H

#include <troupe/network.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_standby;

struct troupe_standby_def {
	/* As that of the primary; address: the primary's, listen: where this process is to be found afterwards. wait_s:
	 * for the primary to let it in; and when the primary is lost, for the secondaries to come (0: 30 s). Not used
	 * after the creation. */
	const struct troupe_network *network;
	const char *const *plugin_paths, *const *resource_paths; /* as in troupe_server_def */
	void (*on_note)(void *ctx, const char *text);            /* messages for people; may be NULL */
	/* As in troupe_server_def: of the last second before that commit, which the primary may not have written. */
	uint64_t hash_every;
	void (*on_hash)(void *ctx, uint64_t step, uint64_t hash);
	void *ctx;
};

/* The run, as the primary had it last. */
struct troupe_followed_run {
	uint32_t secondaries; /* that are no robot clients */
	enum troupe_on_loss on_loss;
	uint64_t iterations; /* as in struct troupe_limits */
	double until_s;
};

/* TROUPE_EINVAL, TROUPE_EIO: an error in the network's settings. */
TROUPE_API troupe_status troupe_standby_create(
	const struct troupe_standby_def *def, struct troupe_standby **ret_standby, struct troupe_error *error);
/* NULL is fine. After the server that takes over has been created. */
TROUPE_API void troupe_standby_destroy(struct troupe_standby *standby);
/* Blocks until the run is over, the standby is stopped, or it is to take over. TROUPE_EPEER: the primary ended the run
 * because of an error; or it was lost and may not be replaced. TROUPE_EPROTOCOL: the primary refuses this process.
 * Other errors: this process could not go on with the run, which it tries once while it follows. TROUPE_EWORLD: the
 * state comes out otherwise here. May be called once. */
TROUPE_API troupe_status troupe_standby_run(struct troupe_standby *standby, struct troupe_error *error);
/* After troupe_standby_run(): NULL: it is not to take over. Valid until troupe_standby_destroy(), as the state is. */
TROUPE_API const struct troupe_takeover *troupe_standby_takeover(const struct troupe_standby *standby);
/* The state to go on from, also when the primary was lost and too few secondaries came; *ret_count 0: there is none. */
TROUPE_API const void *troupe_standby_state(const struct troupe_standby *standby, size_t *ret_count);
TROUPE_API struct troupe_followed_run troupe_standby_was(const struct troupe_standby *standby);
/* Any thread; may be called from a signal handler. */
TROUPE_API void troupe_standby_stop(struct troupe_standby *standby);

#ifdef __cplusplus
}
#endif
#endif
