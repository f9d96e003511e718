/* The table of a run's connections, and what the files of peers share: peers.c begins and ends a run, peers_hear.c
 * takes frames, peers_time.c has deadlines and heartbeats, peers_known.c answers questions. One thread. */
#ifndef NET_PEERS_INTERNAL_H
#define NET_PEERS_INTERNAL_H

#include "net/peers.h"

#define MS UINT64_C(1000000)
enum { PEERS_ADDRESS_BYTES = 96, PEERS_NAME_BYTES = HELLO_WHO_MAX + 1 };

enum peer_stage {
	FREE,
	STRANGER, /* its hello is awaited */
	MEMBER,   /* its hello matches */
};

struct peer {
	enum peer_stage stage;
	bool ready;          /* has rebuilt the state; a secondary's primary: was told that we have */
	bool busy;           /* its last heartbeat said so */
	bool acked;          /* has acknowledged the current step */
	bool kept;           /* primary: its connection is of the run before, and its hello has not come */
	bool known;          /* primary: its connection is of the run before */
	bool leaving;        /* primary: it asked to leave; secondary: we did */
	struct hello *hello; /* primary: it has come, and is to be admitted with others; owned */
	uint32_t secondary;  /* its number, in a primary's table */
	uint64_t joined_ns, heard_ns;
	unsigned char id[HELLO_ID_BYTES];
	char address[PEERS_ADDRESS_BYTES];
	char name[PEERS_NAME_BYTES];
};

struct queued {
	struct peers_action action;
	size_t begin; /* offset of its bytes */
};

struct peers {
	struct peers_options options;
	enum peers_phase phase;
	struct peer *all; /* [room] by id */
	uint32_t room;
	uint32_t *members; /* [secondaries + 1] id by number; 0: a secondary's primary */
	uint32_t present, ready;
	uint32_t own, own_of; /* secondary: its number, of how many; 0: not admitted */
	uint64_t gathering_ns, beat_ns;
	uint64_t deadline_ns; /* not later than the next time at which peers_tick() must act */
	bool began;
	bool busy;
	bool step_is_out;      /* primary: not acknowledged by all; secondary: not by us */
	uint64_t next_step;    /* all have acknowledged all steps below it, as far as known here */
	uint64_t expected;     /* secondary: the step that comes next */
	uint64_t published;    /* primary: the step that was published last */
	uint32_t more;         /* further steps of the window that is out, or was last */
	uint64_t published_ns; /* time of publishing the step, or of the last busy heartbeat */
	uint32_t acks;
	struct stop end;
	uint32_t lost;                            /* primary: that because of which the run regroups; 0: none */
	const char *missing;                      /* primary: the client that did not come back; NULL: none */
	uint32_t kept;                            /* primary: connections that still owe their hello */
	uint16_t port;                            /* secondary: of struct welcome */
	unsigned char ticket[HELLO_TICKET_BYTES]; /* the same */
	char standby[HELLO_TEXT_MAX + 1];         /* the same */
	unsigned char run[HELLO_RUN_BYTES];       /* secondary: of its primary's hello */
	uint64_t term;                            /* the same */
	bool orphan;                              /* secondary: its primary was lost without a word */
	VEC(struct queued) queue;
	uint32_t taken;
	struct text bytes; /* of the actions in the queue */
};

static inline bool is_primary(const struct peers *peers)
{
	return peers->options.self.role == HELLO_PRIMARY;
}

/* Queues an action. Its bytes are those appended to peers->bytes from begin on. */
void peers_push(struct peers *peers, struct peers_action action, size_t begin);
void peers_push_send(struct peers *peers, uint32_t id, enum frame_type type, size_t begin);
void peers_push_close(struct peers *peers, uint32_t id);
void peers_send_number(struct peers *peers, uint32_t id, enum frame_type type, uint64_t number);
void peers_push_turned_away(struct peers *peers, uint32_t id, const char *why);
void peers_send_refuse(struct peers *peers, uint32_t id, const char *why, bool again);

/* Copies a text, cut to fit. */
void peers_copy_words(char *to, size_t room, const char *from);
/* Ends the run, once: tells all members and closes all connections, except connection `but`, which the caller has
 * handled. */
void peers_end_all(struct peers *peers, enum stop_kind kind, const char *who, const char *why, uint32_t but);

enum farewell {
	FAREWELL_NONE,  /* the connection is gone */
	FAREWELL_CLOSE, /* it knows the reason; close it */
	FAREWELL_WORDS, /* tell it the reason, then close it */
};
/* A peer is lost. While the run goes on, the loss of a member ends it; before the start, the peer is only forgotten. */
void peers_lose(struct peers *peers, uint32_t id, enum stop_kind kind, const char *why, enum farewell farewell,
	uint64_t now_ns);
/* Whether the run goes on without this one. */
bool peers_goes_on_without(const struct peers *peers, const struct peer *peer);
/* Primary, with options.again: admits the secondaries that have come, when it is time. */
void peers_settle(struct peers *peers, uint64_t now_ns);
/* Whether a span has passed. If not, peers_tick() will be due when it has. */
bool peers_passed(struct peers *peers, uint64_t since_ns, uint64_t span_ns, uint64_t now_ns);
/* Primary, with options.again: how many have come and wait to be admitted: clients, or others. */
uint32_t peers_count_waiting(const struct peers *peers, bool clients);
/* Whether it has a connection that is a member. */
bool peers_is_here(const struct peers *peers, uint32_t id);
/* Removes the connection from the table, in any stage. */
void peers_forget(struct peers *peers, uint32_t id, uint64_t now_ns);
/* Makes peers_tick() due at that time, if it is not due earlier. */
void peers_wake_at(struct peers *peers, uint64_t when_ns);
/* Whether this peer may send a frame of this type now. */
bool peers_is_due(const struct peers *peers, const struct peer *peer, enum frame_type type);

#endif
