/* Membership of a networked run, for the primary or for a secondary: a pure state machine. No I/O, no clock, no thread:
 * frames and times are arguments, and the things to do come out as actions, in order. So it is the same over TCP and in
 * a simulated network. Not thread-safe: if several threads drive it, one lock must guard it, including peers_next().
 *
 *   primary:    gathers exactly N secondaries, waits until all are ready, then runs. A secondary that is one too many,
 *               differs or comes later is refused with the reason. Before the start, a secondary that leaves is
 *               forgotten, and another may come. After the start the set is fixed: a secondary that leaves ends the run
 *               for all, unless options.goes_on: then the others are told to join again, on their connections
 *               (STOP_REGROUP), and another object of this primary, with options.again, gathers them anew.
 *   secondary:  has one primary at a time. Before the start it may join another primary when it loses the first or is
 *               refused.
 *
 * A connection is joined once its channel is up. It has an id until its CLOSE comes out or peers_drop() is called. Its
 * first frame is HELLO. Each type of frame has its function:
 *
 *   HELLO WELCOME REFUSE HEARTBEAT STOP READY START    peers_receive(), with the payload
 *   WORLD WORLD_WANT WORLD_DATA                        peers_heard(); the caller handles the payload
 *   STEP ACK                                           peers_step() and peers_ack(); likewise
 *
 * At the end every side knows kind, who, why and the last step that all had acknowledged, and all peers that are not
 * lost have been told. Nothing is allocated in a warm step. */
#ifndef NET_PEERS_H
#define NET_PEERS_H

#include "net/frame.h"
#include "net/hello.h"

enum {
	PEERS_UNKNOWN_MAX = 16, /* connections beyond `secondaries`, at once, for unknown peers */
	PEERS_NONE = INT32_MAX, /* no connection */
};

enum peers_phase {
	PEERS_GATHERING, /* primary: not all have joined; secondary: not admitted yet */
	PEERS_LOADING,   /* all have joined, not all are ready; secondary: admitted */
	PEERS_RUNNING,
	PEERS_OVER,
};

/* Only a process that hangs is late by so much; others may be late because the machine is busy. */
#define PEERS_GIVEN_HELLO_NS UINT64_C(300000000000)

struct peers_options {
	struct hello self;    /* its role decides which side this is */
	uint32_t secondaries; /* primary: exactly so many, 1..TROUPE_SECONDARIES_MAX */
	/* Primary: when a secondary is lost during the run, the others are told to join again (STOP_REGROUP) instead of
	 * the reason. */
	bool goes_on;
	/* Primary: the last `clients` of the secondaries are robot clients, each with its name. For the loss of one of
	 * these, goes_on is set in any case. */
	uint32_t clients;
	const char *const *client_names; /* [clients]; NULL: no peer is admitted. Outlives peers */
	/* [clients]: of their welcomes; NULL: 0. Outlives peers */
	const unsigned char (*client_tickets)[HELLO_TICKET_BYTES];
	uint32_t more_clients; /* primary: so many further clients may be let in: they are told to come again */
	bool more_plain;       /* primary: the same for secondaries that are no clients, any number of them */
	/* Primary: the run goes on with the secondaries that come, at most so many. They are admitted together:
	 * when all clients and `expected` others have come; or after settle_ns, if all clients have come and no
	 * connection that was kept (peers_keep()) still owes its hello, even if fewer others have come, but one at
	 * least. If a client is missing after clients_ns, the secondaries that have come are told to join again. After
	 * the admission a loss has the effect that it has during the run. wait_ns is for one to come when none has. */
	bool again;
	uint32_t expected;
	/* With again: of these processes, [least_of_count], so many must have come before any is admitted. At most
	 * `expected`; 0: any one. Each of them has a place until all are admitted, which no other process takes.
	 * Outlives peers. */
	uint32_t least, least_of_count;
	const unsigned char (*least_of)[HELLO_ID_BYTES];
	uint64_t settle_ns, clients_ns;
	uint16_t port;         /* primary: of struct welcome */
	const char *standby;   /* the same; NULL: "". Outlives peers */
	uint64_t first_step;   /* primary: number of the first step */
	uint64_t state_hash;   /* primary: of the first state; each secondary must compute the same */
	uint64_t stale_ns;     /* a peer silent for so long is lost; 0: one second. Secondary: its primary's */
	uint64_t heartbeat_ns; /* 0: a fifth of stale_ns */
	/* From joining to the hello, and from the hello to its answer; 0: two seconds. A socket that was given leads to
	 * a process that was started together with this one, whose end closes the socket: PEERS_GIVEN_HELLO_NS. */
	uint64_t hello_ns;
	uint64_t kept_ns; /* primary: the same for a connection that was kept, whose peer may be in a step */
	uint64_t step_ns; /* primary: limit for the acks of a step; 0: no limit */
	uint64_t wait_ns; /* limit for all to join (secondary: to be admitted); 0: no limit */
	bool seeks;       /* secondary: a refusal is not the end, as there may be other primaries */
};

enum peers_action_kind {
	PEERS_SEND,     /* a frame */
	PEERS_CLOSE,    /* close once the sent frames have gone out, or a timeout passed; the id is free */
	PEERS_ADMITTED, /* primary: it has this number now, send it the world; secondary: we have it */
	PEERS_LOST,     /* before the start: the connection of this number is lost (its CLOSE comes, too); text: why */
	PEERS_REFUSED,  /* secondary that seeks: this primary refused us (its CLOSE comes, too); text: why */
	PEERS_TURNED_AWAY, /* primary: an unknown peer was refused, or sent invalid data; text: who and why */
	PEERS_KNOCKED,     /* primary: one that is not awaited was told to come again: the HELLO_ID_BYTES of its id,
			    * then as a text the client's name, "" for a secondary that is none */
	PEERS_LEAVES,      /* primary: during the run this secondary asked to leave (PEERS_LEAVES comes once) */
	PEERS_STARTED,     /* all are ready */
	PEERS_ENDED,       /* see peers_end(). Only SEND and CLOSE come after it */
};

struct peers_action {
	enum peers_action_kind kind;
	uint32_t id;          /* connection */
	uint32_t secondary;   /* ADMITTED, LOST: number, from 1; 0: a primary */
	enum frame_type type; /* SEND */
	bool again;           /* REFUSED: it may let us in later */
	const char *bytes;    /* SEND: payload; LOST, REFUSED, TURNED_AWAY: text. Until the next call of any kind */
	size_t count;
};

struct peers;

struct peers *peers_create(const struct peers_options *options, uint64_t now_ns);
void peers_destroy(struct peers *peers);

/* The next action, each once. After every call that passes something to peers, call this until it returns false. */
bool peers_next(struct peers *peers, struct peers_action *ret_action);
/* When peers_tick() must be called next; UINT64_MAX: need not be. Pass all frames that have arrived before the tick:
 * otherwise, after this process was suspended, a peer that has written counts as silent. */
uint64_t peers_deadline_ns(const struct peers *peers);
void peers_tick(struct peers *peers, uint64_t now_ns);
/* This process was suspended, and perhaps all others were too. Sends heartbeats at once, and restarts the silence of
 * all peers and the step deadline at now_ns. */
void peers_woke(struct peers *peers, uint64_t now_ns);

/* --- connections ------------------------------------------------------------------------------------------------- */

/* A connection is up. address: its name until its hello is known; copied. Returns its id, the lowest that is free.
 * PEERS_NONE: close the connection, because there are too many, or this secondary has its primary, or the run is over.
 */
uint32_t peers_join(struct peers *peers, const char *address, uint64_t now_ns);
void peers_receive(
	struct peers *peers, uint32_t id, enum frame_type type, const void *bytes, size_t count, uint64_t now_ns);
/* The same for a connection of the run before, after STOP_REGROUP. Primary: what comes on it before its hello belongs
 * to that run, and shows only that the peer lives; the hello may take options.kept_ns, but the peer must not be silent.
 */
uint32_t peers_keep(struct peers *peers, const char *address, uint64_t now_ns);
/* A frame of the world came. False: this peer may not send it now; handled as by peers_break(). */
bool peers_heard(struct peers *peers, uint32_t id, enum frame_type type, uint64_t now_ns);
/* Part of a large frame came: the peer lives. */
void peers_alive(struct peers *peers, uint32_t id, uint64_t now_ns);
/* The connection broke off, or was closed. No CLOSE comes. why: EPEER's text. */
void peers_drop(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);
/* The peer sent invalid data. CLOSE comes. */
void peers_break(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);
/* Frames for the peer cannot be sent, although it may live. CLOSE comes. */
void peers_abandon(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);

/* --- the run ----------------------------------------------------------------------------------------------------- */

/* Secondary: the state is rebuilt, and has this hash. */
void peers_ready(struct peers *peers, uint64_t state_hash);
/* Starts at the first step, when admission was done elsewhere: all have joined and are ready, with these names and with
 * the ids 0, 1 and so on; a secondary's only peer is its primary. own: a secondary's number, from 1, of own_of. */
void peers_begin(struct peers *peers, const char *const *names, uint32_t own, uint32_t own_of, uint64_t now_ns);
/* Primary: sets peers_options.step_ns for the steps to come. */
void peers_allow(struct peers *peers, uint64_t step_ns);
/* Primary: publishes the next step, or the previous one again, once all have acknowledged the previous one. False: the
 * run is over. */
bool peers_publish(struct peers *peers, uint64_t number, uint64_t now_ns);
/* From now on a peer that is silent for stale_ns is lost, if that is sooner than before. */
void peers_hurry(struct peers *peers, uint64_t stale_ns);
/* A valid STEP came from id. False: we are not a secondary, it may not come now, or it is not the next step; handled as
 * by peers_break(). */
bool peers_step(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns);
/* After one of these two: the step is the first of a window, with `more` further steps that are acknowledged together
 * with it. Secondary: its number is `number`, that of the next step or of the one before, which is repeated then; the
 * number in peers_step() was only expected. */
void peers_widen(struct peers *peers, uint64_t number, uint32_t more);
/* Secondary: acknowledges the step that came. The caller sends the ACK. False: the run is over. */
bool peers_acknowledge(struct peers *peers);
/* A valid ACK came from id. False: we are not the primary, it may not come now, it is of another step, or it is
 * repeated; handled as by peers_break(). */
bool peers_ack(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns);
/* Primary: whether a step is not acknowledged by all; whether the ack of this connection is still to come. */
bool peers_waits(const struct peers *peers);
bool peers_owes(const struct peers *peers, uint32_t id);
/* This side loads a world or a level, or has finished. Heartbeats say so, and the step deadline waits on both sides. A
 * heartbeat is sent at once. */
void peers_busy(struct peers *peers, bool busy, uint64_t now_ns);
/* Secondary: asks to leave. If the run goes on without it, the primary lets it leave between two steps, so that no step
 * is repeated; otherwise this ends the run for all. Either way STOP_LEFT comes. */
void peers_leave(struct peers *peers, uint64_t now_ns);
/* This side ends the run with STOP_REGROUP, for a primary, STOP_DONE, STOP_LEFT (the announced leave) or STOP_FAILED;
 * all peers are told. When a primary fails between two steps, the last acknowledged step is taken for the one that
 * failed, when its acks were merged, and does not count. A primary should not fail at any other time between steps; if
 * it did, a step that counts would be taken back. */
void peers_stop(struct peers *peers, enum stop_kind kind, const char *why);

/* --- what is known ----------------------------------------------------------------------------------------------- */

enum peers_phase peers_phase(const struct peers *peers);
/* How the run ended; NULL: it is not over. All sides have the same next_step, except a secondary that was not told (its
 * primary vanished, or the secondary itself ended the run): it knows only the steps that it has received, so its
 * next_step may be one less. */
const struct stop *peers_end(const struct peers *peers);
/* Whether the run goes on with other members. *ret_lost: primary: the secondary that was lost, or 0; secondary: 1 if it
 * is the one that was lost, and may come again on another connection, else 0. */
bool peers_regroups(const struct peers *peers, uint32_t *ret_lost);
/* Secondary: whether the run ended here because the primary was lost, without a word from it. */
bool peers_is_orphan(const struct peers *peers);
/* After STOP_REGROUP: primary: the client that did not come back; NULL: that was not why. */
const char *peers_missing(const struct peers *peers);
/* After that: whether the peer of this connection is to join again on it. */
bool peers_stays(const struct peers *peers, uint32_t id);
/* Primary: whether this secondary, from 1, asked to leave. */
bool peers_is_leaving(const struct peers *peers, uint32_t secondary);
/* Primary, with options.again: whether the secondary, from 1, has come on a connection that was not kept. */
bool peers_is_new(const struct peers *peers, uint32_t secondary);
/* Primary: the process of a secondary that takes part, from 1: HELLO_ID_BYTES of its hello. */
const unsigned char *peers_process(const struct peers *peers, uint32_t secondary);
/* Primary, with options.again: how many secondaries of the run before are here, or may still join, on their
 * connections. */
uint32_t peers_known(const struct peers *peers);
/* Secondary, after STOP_REGROUP: says that it lives, though it is still in a step. */
void peers_linger(struct peers *peers);
/* Secondary: what its primary said in its hello and its welcome. The run's id, HELLO_RUN_BYTES of them; the term; where
 * to go when the primary is lost. */
const unsigned char *peers_run(const struct peers *peers);
uint64_t peers_term(const struct peers *peers);
const char *peers_standby(const struct peers *peers);
/* Primary: how many secondaries, with clients, take part; with options.again once they are admitted. */
uint32_t peers_secondaries(const struct peers *peers);
/* Secondary, once admitted: the port and the ticket of struct welcome. */
uint16_t peers_port(const struct peers *peers);
const unsigned char *peers_ticket(const struct peers *peers);
/* OK for STOP_DONE, EPROTOCOL for STOP_BROKEN and STOP_REFUSED, EPEER otherwise; the error is one line with kind, who,
 * why and step. */
troupe_status peers_end_status(const struct peers *peers, struct troupe_error *error);
/* The number of the first step. Secondary: once the run has started. */
uint64_t peers_first_step(const struct peers *peers);
/* The stale time. Secondary: that of its primary, once admitted. */
uint64_t peers_stale_ns(const struct peers *peers);
/* Primary: the number of admitted secondaries, ready or not. Secondary: 1 or 0. */
uint32_t peers_present(const struct peers *peers);
/* Primary: the connection of a secondary (from 1), or PEERS_NONE. Secondary: the connection of its primary (0), or
 * PEERS_NONE. */
uint32_t peers_id_of(const struct peers *peers, uint32_t secondary);
/* The secondary number of a connection, from 1; 0: the primary, or no number yet. */
uint32_t peers_secondary_of(const struct peers *peers, uint32_t id);
/* As given to peers_join(). */
const char *peers_address(const struct peers *peers, uint32_t id);
/* "secondary 2 (robots:4711 at 10.0.0.3:55012)". */
const char *peers_name(const struct peers *peers, uint32_t id);
/* Secondary: its own number and of how many, once admitted. */
uint32_t peers_own_number(const struct peers *peers, uint32_t *ret_secondaries);

#endif
