/* One end of a run's connections, as the files of the transport share it: end.c carries frames, has the monitor, and
 * makes and ends the transport; end_primary.c publishes steps and takes acks; end_secondary.c takes steps and asks for
 * files. The carrier, and all fields behind `held`, belong to the thread that holds the end (end_hold()): the caller of
 * a function here holds it, except where a comment says otherwise. */
#ifndef NET_END_INTERNAL_H
#define NET_END_INTERNAL_H

#include "net/end.h"
#include "net/peers.h"

#include <pthread.h>
#include <stdatomic.h>

struct end_line {                     /* index: id in peers, and line of the carrier */
	uint64_t received;            /* in bytes: part of a large frame shows that the peer lives */
	struct transport_message ack; /* primary: the ack that came */
	char *wants;                  /* primary: path of the file that it asks for; NULL: none */
};

struct transport {
	struct transport_options options;
	const struct transport_link *link;
	const struct carrier_ops *ops;
	struct carrier *carrier;
	struct transport_link *given; /* the caller's, if it is to get the carrier back */
	_Atomic bool held;            /* guards the carrier and all below; set by the thread that holds them */
	struct peers *peers;
	struct end_line *lines;
	uint32_t line_count;
	uint32_t wanting;    /* primary: lines that want a file */
	bool out;            /* primary: a step was published, and its outcome not taken up */
	uint64_t next;       /* number of the step to come, if the last one is not repeated */
	uint64_t taken;      /* number of the step that is out, or was last; UINT64_MAX: none was */
	uint64_t sent_ns;    /* time of publishing the step */
	uint32_t more;       /* primary: further steps of the window that was published last */
	uint64_t longest_ns; /* longest time of a step so far; in a window, of each on average */
	bool loads;          /* the published step may load something */
	bool ended;          /* this side ended the run: later events are no loss */
	bool alarmed;
	bool asked;              /* a secondary asks to leave, and the owner was not told yet */
	struct troupe_error why; /* the reason, when lost */
	_Atomic bool lost, done, closed;
	uint64_t seen_ns; /* time of the monitor's last check */
	/* fields of a secondary's end */
	struct text step; /* the step that came */
	bool step_waits, owes_ack;
	pthread_mutex_t fetching;  /* held by the thread that asks for a file */
	struct text file;          /* what came: the bytes, or why there are none */
	enum frame_type file_came; /* FRAME_FILE_WANT: it is awaited; 0: none is */
	int quit;                  /* event file: ends the monitor */
	bool spins;
	pthread_t io, monitor;
	bool has_io, has_monitor;
};

struct end_waiting {
	uint64_t since_ns; /* 0: a frame has just come */
	uint32_t polls;
};

/* Waits until no other thread holds the end, which is for a short time; the caller holds it then, until it lets go. */
void end_hold(struct transport *transport);
void end_let_go(struct transport *transport);
/* Wakes the thread that waits for the carrier. Whether the end is held does not matter. */
void end_wake(struct transport *transport);
static inline bool end_is_primary(const struct transport *transport)
{
	return !transport->link->secondary;
}
/* Does what peers asks for: after each call of peers that may ask for something. */
void end_act(struct transport *transport);
/* Whether the run is over for peers. */
bool end_is_over(const struct transport *transport);
/* Calls options.alarm once, if the run is lost. The caller does not hold the end. */
void end_alarm_once(struct transport *transport);
/* Whether the owner is to be told that a secondary asks to leave; once for each time. */
bool end_take_asked(struct transport *transport);
/* Whether the step follows the last one, or is the first of a window that comes again. */
bool end_is_due(const struct transport *transport, uint64_t number);
/* Sends and receives what can be without waiting. Whether a frame came. */
bool end_work_all(struct transport *transport);
/* A frame that must arrive could not be sent, because of `error`. */
void end_fail_to_send(struct transport *transport, uint32_t id, const struct troupe_error *error);
/* Polls, or sleeps until the carrier is ready. waiting: begins as {0}, and again after a frame. The caller does not
 * hold the end. */
void end_rest(struct transport *transport, struct end_waiting *waiting);

/* --- end_primary.c ------------------------------------------------------------------------------------------------ */

/* The thread that waits for acks and gives files; ctx: the transport. Does not hold the end. */
void *end_primary_run_io(void *ctx);
/* A frame has come from secondary `id`, at `now`: an ack, or the path of a file. */
void end_primary_take_ack(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now);
void end_primary_take_want(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now);

/* --- end_secondary.c ---------------------------------------------------------------------------------------------- */

/* A frame has come from the primary, at `now`: a step, or a file (type: FRAME_FILE_DATA or FRAME_FILE_NONE). */
void end_secondary_take_step(struct transport *transport, uint32_t id, const char *bytes, size_t count, uint64_t now);
void end_secondary_take_file(
	struct transport *transport, uint32_t id, enum frame_type type, const char *bytes, size_t count, uint64_t now);

#endif
