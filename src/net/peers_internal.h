/* What peers.c and peers_hear.c share. */
#ifndef NET_PEERS_INTERNAL_H
#define NET_PEERS_INTERNAL_H

#include "net/peers.h"

#define MS UINT64_C(1000000)
enum { PEERS_ADDRESS_BYTES = 96, PEERS_NAME_BYTES = HELLO_WHO_MAX + 1 };

enum stage {
	FREE,
	STRANGER, /* its hello is awaited */
	MEMBER,   /* its hello matches */
};

struct peer {
	enum stage stage;
	bool ready;         /* has rebuilt the state; a secondary's primary: has been told that we have */
	bool busy;          /* says so */
	bool acked;         /* the step that is out */
	uint32_t secondary; /* its number, when it is a primary's member */
	uint64_t joined_ns, heard_ns;
	unsigned char id[HELLO_ID_BYTES];
	char address[PEERS_ADDRESS_BYTES];
	char name[PEERS_NAME_BYTES];
};

struct queued {
	struct peers_action action;
	size_t begin; /* where its bytes are */
};

struct peers {
	struct peers_options options;
	enum peers_phase phase;
	struct peer *all; /* [room] by id */
	uint32_t room;
	uint32_t *members; /* [secondaries + 1] id by number; 0: a secondary's primary */
	uint32_t present, ready;
	uint32_t own, own_of; /* secondary: its number, of how many; 0: not let in */
	uint64_t gathering_ns, beat_ns;
	uint64_t deadline_ns; /* not later than when peers_tick() has something to do */
	bool began;
	bool busy;
	bool step_is_out;      /* primary: not acknowledged by all; secondary: not by itself */
	uint64_t next_step;    /* all below it were acknowledged by all, as far as is known here */
	uint64_t expected;     /* secondary: the step that comes next */
	uint64_t published_ns; /* when the step came out, or somebody was busy last */
	uint32_t acks;
	struct stop end;
	VEC(struct queued) queue;
	uint32_t taken;
	struct text bytes; /* of the actions in the queue */
};

static inline bool is_primary(const struct peers *peers)
{
	return peers->options.self.role == HELLO_PRIMARY;
}

/* Puts an action into the queue; its bytes are what was added to peers->bytes from begin on. */
void peers_push(struct peers *peers, struct peers_action action, size_t begin);
void peers_push_send(struct peers *peers, uint32_t id, enum frame_type type, size_t begin);
void peers_push_close(struct peers *peers, uint32_t id);
void peers_send_number(struct peers *peers, uint32_t id, enum frame_type type, uint64_t number);
void peers_push_turned_away(struct peers *peers, uint32_t id, const char *why);
void peers_send_refuse(struct peers *peers, uint32_t id, const char *why);

/* Copies a text, cut to fit. */
void peers_copy_words(char *to, size_t room, const char *from);
/* Ends the run, once: tells all members and closes all connections, but for one that has been dealt with. */
void peers_end_all(struct peers *peers, enum stop_kind kind, const char *who, const char *why, uint32_t but);

enum farewell {
	FAREWELL_NONE,  /* it is gone */
	FAREWELL_CLOSE, /* it knows, and is to be closed */
	FAREWELL_WORDS, /* it is to be told why, and closed */
};
/* Somebody is lost: the end of a run, nothing more than that before the start. */
void peers_lose(struct peers *peers, uint32_t id, enum stop_kind kind, const char *why, enum farewell farewell,
	uint64_t now_ns);
/* Takes it out of the table, whatever it is. */
void peers_forget(struct peers *peers, uint32_t id, uint64_t now_ns);
/* Something is due then. */
void peers_wake_at(struct peers *peers, uint64_t when_ns);
/* Whether a frame of this type may come from this one now. */
bool peers_is_due(const struct peers *peers, const struct peer *peer, enum frame_type type);

#endif
