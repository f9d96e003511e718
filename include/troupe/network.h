/* Networked mode: the secondaries of a world are other processes, on this machine or others. The same world, the same
 * bits. A server whose definition has a network is its primary; a troupe_secondary needs nothing but this.
 *
 * When anybody is lost, leaves, or sends what is not valid, the run ends for all: TROUPE_EPEER or TROUPE_EPROTOCOL from
 * troupe_server_run() and troupe_secondary_run(), with who, why, and the last step that all acknowledged. The server's
 * state is then that of the step after it, and can be saved and gone on from. */
#ifndef TROUPE_NETWORK_H
#define TROUPE_NETWORK_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_network {
	uint32_t secondaries;  /* primary: starts with exactly so many; 1 .. TROUPE_SECONDARIES_MAX */
	const char *address;   /* secondary: HOST[:PORT] of the primary; NULL: found by multicast */
	const char *listen;    /* primary: [HOST][:PORT], "*" for all interfaces; NULL: all with a key, else loopback */
	const char *partition; /* only who has the same meets; NULL: the default one */
	const char *interface; /* for multicast: a name or an IPv4 address; NULL: all that can */
	uint32_t stale_ms;    /* primary: who is silent for so long is lost; 0: 1000. A secondary keeps its primary's */
	double wait_s;        /* for all to be there; 0: for ever */
	const char *key_file; /* NULL: that of `troupe keygen` if there is one, else no key */
	bool insecure;        /* without a key, others than this machine */
	/* Stream sockets that are connected already (troupe_network_pair()), instead of all of address, listen,
	 * partition, interface and key: of a primary one for each secondary, of a secondary one. The server's or the
	 * secondary's from its creation on, also when that fails. NULL: none. */
	const int *sockets;
};

/* Two ends of a connection on this machine that nobody else can take part in. Closed in programs that are executed. */
TROUPE_API troupe_status troupe_network_pair(int ret_sockets[2], struct troupe_error *error);
struct troupe_secondary;

struct troupe_secondary_def {
	const struct troupe_network *network; /* used during the creation only */
	const char *break_rule;               /* as a server's; for tests */
	/* What happens, for people: where the primary is, how many secondaries there are. May be NULL; on the thread of
	 * troupe_secondary_run(). */
	void (*on_note)(void *ctx, const char *text);
	void *ctx;
};

TROUPE_API troupe_status troupe_secondary_create(
	const struct troupe_secondary_def *def, struct troupe_secondary **ret_secondary, struct troupe_error *error);
/* NULL is fine. Not while it runs. Loading, or a step, that does not end within half a second is left at work, with all
 * that it has: for a process that ends. */
TROUPE_API void troupe_secondary_destroy(struct troupe_secondary *secondary);
/* Finds the primary, is given the world, and simulates what it is told to, until the run is done: TROUPE_OK; also when
 * it was stopped. Once. */
TROUPE_API troupe_status troupe_secondary_run(struct troupe_secondary *secondary, struct troupe_error *error);
/* Leaves: the others are told, and end. Any thread; may be called from a signal handler. */
TROUPE_API void troupe_secondary_stop(struct troupe_secondary *secondary);

#ifdef __cplusplus
}
#endif
#endif
