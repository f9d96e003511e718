/* A primary that gathers its secondaries over TCP, as its files share it: gather.c makes the members of a run and gives
 * them the world; gather_door.c is where peers come in; gather_notes.c has the lines for people.
 *
 * Thread: one works on it until the start. Afterwards the thread of gather_door.c has the session, until
 * gather_door_stop(). */
#ifndef NET_TCP_GATHER_INTERNAL_H
#define NET_TCP_GATHER_INTERNAL_H

#include "net/bundle.h"
#include "net/gather.h"
#include "net/end.h"
#include "net/tcp/log_limit.h"
#include "net/tcp/session.h"

#include <pthread.h>
#include <stdatomic.h>

struct gathering {
	const struct gather_host *host;
	struct hello hello;
	struct gather_members members;
	uint32_t secondaries, stale_ms;
	uint64_t wait_ns, hello_ns; /* as in struct peers_options */
	struct session session;
	struct troupe_error unheard; /* why there is no multicast discovery */
	bool keyed;
	_Atomic uint32_t awaited;
	struct log_limit log_limit;         /* of messages about connections */
	struct log_limit log_limit_members; /* about admissions */
	struct log_limit log_limit_foreign; /* about senders of announcements */
	bool *met, *join_shown;             /* [secondaries + 1] by number: one has joined; its last join was shown */
	/* the world that is sent */
	const struct gather_world *world;
	struct bundle described;
	VEC(uint64_t) sent; /* by connection: bytes sent, plus one; 0: not requested */
	bool started, ended;
	/* the run */
	struct transport_link link;
	struct channel **channels;  /* [secondaries] */
	const char **names;         /* [secondaries] */
	VEC(struct channel *) kept; /* for the next gathering, where their peers join again; owned */
	uint32_t kept_plain;        /* of these, of secondaries that are no clients */
	pthread_t acceptor;
	bool has_acceptor;
	int quit;
};

/* --- gather_door.c ------------------------------------------------------------------------------------------------ */

/* Listens where the network's definition says, and looks for multicast, whose absence is only noted: secondaries can
 * still be given the address. But an interface that was named must exist. */
troupe_status gather_door_open(
	struct gathering *gathering, const struct troupe_network *def, struct troupe_error *error);
/* more: 1 if a secondary may come though none is awaited. */
void gather_door_announce(struct gathering *gathering, enum announcement_kind kind, uint32_t more);
bool gather_door_is_to_announce(const struct gathering *gathering);
/* After the start: begins to answer those that come late, on a thread of its own. Without a listener: nothing. */
troupe_status gather_door_open_for_late(struct gathering *gathering, struct troupe_error *error);
/* Ends that thread, if it runs; the listener stays open. */
void gather_door_stop(struct gathering *gathering);

/* --- gather_notes.c ----------------------------------------------------------------------------------------------- */

/* A line for people. Secondaries that were started by the owner need none. */
void gather_notes_say(const struct gathering *gathering, const char *format, ...) TROUPE_PRINTF(2, 3);
/* "secondary" or "secondaries". */
const char *gather_notes_word(uint32_t secondaries);
/* Where secondaries can join. */
void gather_notes_waiting(const struct gathering *gathering);
/* Connections that were refused, with the reasons. */
void gather_notes_refusals(struct gathering *gathering);
/* Reads the announcements of secondaries: one that cannot join, and why. */
void gather_notes_announcements(struct gathering *gathering);
/* A member has come, or was lost. */
void gather_notes_joined(struct gathering *gathering, const struct peers_action *action);
void gather_notes_lost(const struct gathering *gathering, const struct peers_action *action);

#endif
