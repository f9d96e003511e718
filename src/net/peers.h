/* Who takes part in a networked run, on either side of it: a pure state machine. No I/O, no clock, no thread: frames
 * and times are arguments, and what is to be done comes out as actions, in order. So it is the same over TCP and in a
 * simulated network. Not thread-safe: one lock around it and around peers_next() where several threads drive it.
 *
 *   primary:    gathers exactly N secondaries, then waits until all are ready, then runs; who is too many, differs or
 *               comes later is refused with the reason. Before the start a secondary that goes is forgotten, and
 *               another may come. After it the set is fixed: whoever goes ends the run for all.
 *   secondary:  has one primary at a time; before the start it may be joined to another when one is lost, or refused
 * it.
 *
 * A connection is joined once its channel is up, has an id until its CLOSE comes out or peers_drop() was called, and
 * sends HELLO, which peers_receive() gets, like every frame of those marked below:
 *
 *   HELLO WELCOME REFUSE HEARTBEAT STOP READY START    peers_receive(), whole
 *   WORLD WORLD_WANT WORLD_DATA                        peers_heard(), and the caller sees to what is in them
 *   STEP ACK                                           peers_step() and peers_ack(), likewise
 *
 * When it is over, every side knows kind, who, why and the last step that all had acknowledged, and all but those that
 * are lost have been told. Nothing is allocated in a warm step. */
#ifndef NET_PEERS_H
#define NET_PEERS_H

#include "net/frame.h"
#include "net/hello.h"

enum {
	PEERS_STRANGERS_MAX = 16, /* connections without a place, at once, beyond secondaries */
	PEERS_NONE = INT32_MAX,   /* no connection */
};

enum peers_phase {
	PEERS_GATHERING, /* primary: not all are there; secondary: not let in yet */
	PEERS_LOADING,   /* all are there, not all are ready; secondary: let in */
	PEERS_RUNNING,
	PEERS_OVER,
};

struct peers_options {
	struct hello self;     /* its role is the role */
	uint32_t secondaries;  /* primary: exactly so many, 1..HELLO_SECONDARIES_MAX */
	uint64_t first_step;   /* primary: number of the first step */
	uint64_t state_hash;   /* primary: of the state in which it begins; what each secondary must come to */
	uint64_t stale_ns;     /* silent for so long is lost; 0: one second. A secondary keeps its primary's */
	uint64_t heartbeat_ns; /* 0: a fifth of stale_ns */
	uint64_t hello_ns;     /* from joining to the hello; 0: two seconds */
	uint64_t step_ns;      /* primary: a step is to be acknowledged within; 0: no limit */
	uint64_t wait_ns;      /* until all are there (secondary: until it is let in), or it is over; 0: no limit */
	bool seeks; /* secondary: there may be other primaries, so that one which refuses it is not the end */
};

enum peers_action_kind {
	PEERS_SEND,     /* a frame */
	PEERS_CLOSE,    /* close once what was sent has gone out, or has had its time; the id is no more */
	PEERS_ADMITTED, /* primary: has this number now, send it the world; secondary: we have it */
	PEERS_LOST, /* before the start: the connection of this number is gone (its CLOSE comes, too); text says why */
	PEERS_REFUSED, /* secondary that seeks: this primary did not let us in (its CLOSE comes, too); text says why */
	PEERS_TURNED_AWAY, /* primary: somebody came who is not let in, or sends rubbish; text says who and why */
	PEERS_STARTED,     /* all are ready */
	PEERS_ENDED,       /* see peers_end(). The last but for SEND and CLOSE */
};

struct peers_action {
	enum peers_action_kind kind;
	uint32_t id;          /* connection */
	uint32_t secondary;   /* ADMITTED, LOST: number, from 1; 0: a primary */
	enum frame_type type; /* SEND */
	const char *bytes;    /* SEND: payload; LOST, REFUSED, TURNED_AWAY: text. Until the next call of any kind */
	size_t count;
};

struct peers;

struct peers *peers_create(const struct peers_options *options, uint64_t now_ns);
void peers_destroy(struct peers *peers);

/* The next action, each once; call until false after whatever was told to peers. */
bool peers_next(struct peers *peers, struct peers_action *ret_action);
/* When peers_tick() must be called next; UINT64_MAX: need not be. After what has arrived was given to peers, so that a
 * process that was itself asleep takes nobody for silent who has written meanwhile. */
uint64_t peers_deadline_ns(const struct peers *peers);
void peers_tick(struct peers *peers, uint64_t now_ns);
/* This process was itself asleep, and perhaps all others with it: it tells them at once that it lives, and counts their
 * silence, and how long a step takes, from now on. */
void peers_woke(struct peers *peers, uint64_t now_ns);

/* --- connections ------------------------------------------------------------------------------------------------- */

/* A connection is up. address: what it is called until it has said its name; copied. Returns its id, the lowest that is
 * free; PEERS_NONE: too many are there already, or this secondary has its primary, or it is over: close it. */
uint32_t peers_join(struct peers *peers, const char *address, uint64_t now_ns);
void peers_receive(
	struct peers *peers, uint32_t id, enum frame_type type, const void *bytes, size_t count, uint64_t now_ns);
/* A frame of the world came. False: not from this one, not now; it has been dealt with as by peers_break(). */
bool peers_heard(struct peers *peers, uint32_t id, enum frame_type type, uint64_t now_ns);
/* Part of a large frame came: it lives. */
void peers_alive(struct peers *peers, uint32_t id, uint64_t now_ns);
/* The connection broke off, or was closed. No CLOSE comes. why: EPEER's text. */
void peers_drop(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);
/* It sent what is not valid. CLOSE comes. */
void peers_break(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);
/* It may well live, but there is no going on with it: what is for it cannot be sent. CLOSE comes. */
void peers_abandon(struct peers *peers, uint32_t id, const char *why, uint64_t now_ns);

/* --- the run ----------------------------------------------------------------------------------------------------- */

/* Secondary: has rebuilt the state, and this hash came out. */
void peers_ready(struct peers *peers, uint64_t state_hash);
/* Instead of all that comes before the first step, where that is over already: all are there and ready, with these
 * names and with the ids 0, 1 and so on; a secondary's only one is its primary. own: a secondary's number, from 1, of
 * own_of. */
void peers_begin(struct peers *peers, const char *const *names, uint32_t own, uint32_t own_of, uint64_t now_ns);
/* Primary: peers_options.step_ns of the steps to come. */
void peers_allow(struct peers *peers, uint64_t step_ns);
/* Primary: publishes a step, the next, once the one before was acknowledged by all. False: it is over. */
bool peers_publish(struct peers *peers, uint64_t number, uint64_t now_ns);
/* STEP came from id, and is valid. False: not to us, not now, not the next: as peers_break(). */
bool peers_step(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns);
/* Secondary: sends its ack of the step that came. False: it is over. */
bool peers_acknowledge(struct peers *peers);
/* ACK came from id, and is valid. False: not to us, not now, not for this step, not again: as peers_break(). */
bool peers_ack(struct peers *peers, uint32_t id, uint64_t number, uint64_t now_ns);
/* Primary: whether a step is out, and whether the ack of this one is still to come. */
bool peers_waits(const struct peers *peers);
bool peers_owes(const struct peers *peers, uint32_t id);
/* Loading, a world or a level: its heartbeats say so, and the step deadline waits, here and there. Sent at once. */
void peers_busy(struct peers *peers, bool busy, uint64_t now_ns);
/* This side ends it: STOP_DONE, STOP_LEFT (the announced leave) or STOP_FAILED; all are told. When a primary's run
 * fails between two steps, the one that all acknowledged last is taken for the one that failed, when its acks were put
 * together, and does not count: what else a primary does between steps is not expected to fail, and would take back one
 * that counts. */
void peers_stop(struct peers *peers, enum stop_kind kind, const char *why);

/* --- what is known ----------------------------------------------------------------------------------------------- */

enum peers_phase peers_phase(const struct peers *peers);
/* Once it is over. All say the same next_step, but that a secondary which nobody could or did tell (its primary
 * vanished, or it ended the run itself) knows only up to the step that it has: there it may be one less. */
const struct stop *peers_end(const struct peers *peers);
/* OK for STOP_DONE, EPROTOCOL for STOP_BROKEN and STOP_REFUSED, EPEER otherwise, with the one line that says it all. */
troupe_status peers_end_status(const struct peers *peers, struct troupe_error *error);
/* A secondary's: its primary's, once it is let in. */
uint64_t peers_stale_ns(const struct peers *peers);
/* Secondaries that are in, whether ready or not (primary); 1 or 0 (secondary). */
uint32_t peers_present(const struct peers *peers);
/* Primary: the connection of a secondary (from 1); PEERS_NONE. Secondary: of 0, the primary. */
uint32_t peers_id_of(const struct peers *peers, uint32_t secondary);
/* The number of a connection, from 1; 0: the primary, or none yet. */
uint32_t peers_secondary_of(const struct peers *peers, uint32_t id);
/* "secondary 2 (robots:4711 at 10.0.0.3:55012)". */
const char *peers_name(const struct peers *peers, uint32_t id);
/* Secondary: its own number and of how many, once admitted. */
uint32_t peers_own_number(const struct peers *peers, uint32_t *ret_secondaries);

#endif
