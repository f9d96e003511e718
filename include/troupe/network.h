/* Networked mode: the secondaries of a world are other processes, on this machine or on others. It gives the same
 * bits as threads. A server whose definition has a network is the primary; a troupe_secondary needs no definition of
 * a server.
 *
 * If a peer is lost, leaves, or sends data that is not valid, the run ends for all peers: troupe_server_run() and
 * troupe_secondary_run() return TROUPE_EPEER or TROUPE_EPROTOCOL, with the peer, the reason, and the last step that
 * all peers acknowledged. The server's state is then the state after that step. It can be saved, and the run can be
 * resumed from it.
 *
 * With on_loss TROUPE_ON_LOSS_CONTINUE the run goes on from that state with the secondaries that are left, and others
 * may come in: the bits are those of a run without a loss, and each step, command and message counts once. */
#ifndef TROUPE_NETWORK_H
#define TROUPE_NETWORK_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TROUPE_NETWORK_THREADS_MAX = 256 };

/* What a primary does when a secondary that is no robot client is lost. */
enum troupe_on_loss {
	TROUPE_ON_LOSS_STOP,     /* the run ends */
	TROUPE_ON_LOSS_CONTINUE, /* it goes on with the others; if none is left, it waits for one, at most wait_s */
};

/* What becomes of the models of a robot client that has left or was lost. */
enum troupe_client_lost {
	TROUPE_CLIENT_LOST_REMOVE, /* they are removed from the world, by commands that are recorded */
	TROUPE_CLIENT_LOST_KEEP,   /* other secondaries simulate them */
	TROUPE_CLIENT_LOST_END,    /* the run ends, as when any other secondary is lost */
};

/* On what a robot client may act, and all that the plug-ins of its models ask for. */
enum troupe_client_rights {
	TROUPE_CLIENT_RIGHTS_SAVED, /* as in the state that is resumed; else its own models only */
	TROUPE_CLIENT_RIGHTS_OWN,   /* the models that were created through it */
	TROUPE_CLIENT_RIGHTS_WORLD, /* also models that were not created through any client, and plug-ins of the world
				     */
	TROUPE_CLIENT_RIGHTS_ALL,   /* everything, with all services */
};

struct troupe_takeover;

struct troupe_network {
	const char *transport; /* how steps travel, by name (troupe_transports()); NULL: the usual one, "tcp" */
	uint32_t secondaries;  /* primary: starts with exactly this number; 1 .. TROUPE_SECONDARIES_MAX */
	const char *address;   /* secondary: HOST[:PORT] of the primary; NULL: found by multicast */
	const char *listen;    /* primary: [HOST][:PORT], "*" for all interfaces; NULL: all with a key, else loopback */
	const char *partition; /* only peers with the same partition meet; NULL: the default one */
	const char *interface; /* for multicast: a name or an IPv4 address; NULL: all interfaces that can */
	uint32_t stale_ms;     /* primary: a peer that is silent this long is lost; 0: 1000. A secondary uses its
				* primary's value */
	double wait_s;         /* time limit for all secondaries to join; 0: none */
	const char *key_file;  /* NULL: the file of `troupe keygen` if it exists, else no key */
	bool insecure;         /* allow other machines without a key */
	/* Robot clients: secondaries with a name. Models that are created through a client belong to it. The run ends
	 * when a secondary is lost, but it goes on when a client is lost. */
	const char *client; /* secondary: its name as a client (a letter, then letters, digits, _); NULL: it is none */
	const char *const
		*clients;     /* primary: waits for the clients of these names, too; NULL ends the list; or NULL */
	uint32_t clients_max; /* primary: so many clients may take part at one time; at least the announced ones */
	enum troupe_client_lost client_lost;
	enum troupe_client_rights client_rights;
	/* Stream sockets that are connected already (troupe_network_pair()); address, listen, partition, interface
	 * and key are then not used. A primary has one socket for each secondary, a secondary has one socket. The
	 * server or the secondary owns the sockets from its creation on, even if the creation fails. NULL: none. */
	const int *sockets;
	/* Primary; not with a transport of kind TROUPE_TRANSPORT_JOB, whose processes are fixed. */
	enum troupe_on_loss on_loss;
	/* So many secondaries may take part at one time: further ones join while the world runs. 0, or less than
	 * `secondaries`: no others join. */
	uint32_t secondaries_max;
	/* Of a standby (standby.h): the server resumes its state, and goes on with the run in the place of the primary
	 * that was lost. `secondaries` is that of troupe_standby_was(), and a part of them is enough. NULL: none. */
	const struct troupe_takeover *takeover;
	/* Primary: where the run is to end, which a standby is told (troupe_standby_was()); as in struct troupe_limits.
	 */
	uint64_t iterations;
	double until_s;
	uint32_t spares; /* with CONTINUE: so many more may wait until one is lost; they come again until then */
	/* For a transport of kind TROUPE_TRANSPORT_JOB: the processes that the launcher started. Such a transport uses
	 * of the other fields only secondaries, stale_ms and wait_s. The server or the secondary borrows the job. */
	struct troupe_job *job;
};

enum troupe_transport_kind {
	TROUPE_TRANSPORT_THREADS,   /* secondaries are threads of this process: no troupe_network */
	TROUPE_TRANSPORT_PROCESSES, /* processes that find each other, or are given sockets */
	TROUPE_TRANSPORT_JOB,       /* processes that a launcher starts together */
};

struct troupe_transport {
	const char *name;
	const char *summary; /* a few words */
	enum troupe_transport_kind kind;
};

/* All transports, also one that this build lacks: it gives an error when it is used. */
TROUPE_API const struct troupe_transport *troupe_transports(uint32_t *ret_count);

/* The processes of a run that a launcher such as mpirun started together. All processes join; number 0 is the primary,
 * and number i is secondary i. Call it once in a process, before any other use of this transport. It may wait for the
 * other processes. TROUPE_EINVAL: no such transport; TROUPE_EPEER: the processes cannot reach each other, or there is
 * only one. */
struct troupe_job;
TROUPE_API troupe_status troupe_job_join(
	const char *transport, struct troupe_job **ret_job, struct troupe_error *error);
TROUPE_API uint32_t troupe_job_number(const struct troupe_job *job);
TROUPE_API uint32_t troupe_job_size(const struct troupe_job *job);
/* Call it when the server or secondary is destroyed, or was never made. well: this process has ended without an error;
 * then the call waits for the same call of all other processes. Otherwise the launcher ends the job when this process
 * ends; a secondary waits for this, for at most a minute, so that the primary has time to save the state. job may be
 * NULL. */
TROUPE_API void troupe_job_leave(struct troupe_job *job, bool well);

/* Whether a robot client can have this name: a letter, then letters, digits and _, at most 63 in all. */
TROUPE_API bool troupe_client_name_is_valid(const char *name);

/* Two ends of a connection on this machine; no other process can join it. The sockets are closed when a program is
 * executed. */
TROUPE_API troupe_status troupe_network_pair(int ret_sockets[2], struct troupe_error *error);
struct troupe_secondary;

struct troupe_secondary_def {
	const struct troupe_network *network; /* not used after the creation */
	const char *const *plugin_paths;      /* as in troupe_server_def; must live as long as the secondary */
	const char *break_rule;               /* as in troupe_server_def; for tests */
	uint32_t threads; /* threads that step the models: 1 .. TROUPE_NETWORK_THREADS_MAX; 0: one for each core */
	/* Messages for people: where the primary is, how many secondaries there are. May be NULL. Called on the
	 * thread of troupe_secondary_run(). */
	void (*on_note)(void *ctx, const char *text);
	/* The primary has admitted this process, for the first time or again. address: where the primary serves
	 * gateways of robot clients, "10.0.0.3:41231"; NULL: it does not. May be NULL. The same thread; must be quick.
	 */
	void (*on_welcome)(void *ctx, const char *address);
	void *ctx;
};

TROUPE_API troupe_status troupe_secondary_create(
	const struct troupe_secondary_def *def, struct troupe_secondary **ret_secondary, struct troupe_error *error);
/* NULL is fine. Not while it runs. A load or a step that does not end within half a second is left running, with all
 * its memory: only for a process that is about to end. */
TROUPE_API void troupe_secondary_destroy(struct troupe_secondary *secondary);
/* Finds the primary, receives the world, and simulates its part until the run is done. When the run goes on with other
 * members, joins it again, and gets the world as it is then. TROUPE_OK: the run is done, or the secondary was stopped.
 * May be called once. */
TROUPE_API troupe_status troupe_secondary_run(struct troupe_secondary *secondary, struct troupe_error *error);
/* In on_welcome(): the ticket with which gateways of this robot client connect (struct troupe_view_run); valid until
 * on_welcome() returns. */
TROUPE_API const char *troupe_secondary_ticket(const struct troupe_secondary *secondary);
/* Leaves: between two steps, if the run goes on without this secondary; otherwise the other peers are told, and end.
 * Any thread; may be called from a signal handler. */
TROUPE_API void troupe_secondary_stop(struct troupe_secondary *secondary);

#ifdef __cplusplus
}
#endif
#endif
