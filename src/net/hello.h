/* The hello, in which a peer describes itself; the other small payloads with which peers join and leave; and
 * announcements, the datagrams with which peers find each other. Codecs only: pure, no I/O. Every decoder accepts any
 * bytes: it either fails with EPROTOCOL and a text, or returns fields that are all within their limits and texts
 * without control characters. PROTOCOL.md has the layout byte by byte. */
#ifndef NET_HELLO_H
#define NET_HELLO_H

#include "base/fingerprint.h"
#include "base/text.h"

enum {
	HELLO_PROTOCOL = 18, /* raised by each change that an older peer would misunderstand */
	HELLO_ID_BYTES = 16,
	HELLO_TICKET_BYTES = 16,
	HELLO_RUN_BYTES = 16,
	HELLO_TEXT_MAX = 127,  /* bytes of name, build, partition, client, without the terminator */
	HELLO_WORDS_MAX = 511, /* of a reason */
	HELLO_WHO_MAX = 255,   /* of the peer that the reason is about: name and address */
	HELLO_STALE_MS_MAX = 3600000,
	ANNOUNCEMENT_BYTES_MAX = 768, /* of a whole datagram, authentication included */
	ANNOUNCEMENT_MAC_BYTES = 32,
	ANNOUNCEMENT_ECHOES_MAX = 32,
};

/* Viewers and standbys send no announcements. A standby follows a primary, and takes its place when it is lost. */
enum hello_role { HELLO_PRIMARY = 1, HELLO_SECONDARY = 2, HELLO_VIEWER = 3, HELLO_STANDBY = 4 };

struct hello {
	uint32_t protocol; /* HELLO_PROTOCOL */
	enum hello_role role;
	unsigned char id[HELLO_ID_BYTES];   /* of this process: random */
	struct fingerprint fingerprint;     /* computed, of its floating-point arithmetic */
	uint64_t world;                     /* hash of the world; 0: accepts any world */
	uint32_t secondaries;               /* primary: how many it wants; else 0 */
	char build[HELLO_TEXT_MAX + 1];     /* version, and all else that must be the same */
	char partition[HELLO_TEXT_MAX + 1]; /* "": the default one */
	char name[HELLO_TEXT_MAX + 1];      /* for people: host name and process number */
	/* Secondary, viewer: the robot client that it is, or whose topics it serves; "": none. */
	char client[HELLO_TEXT_MAX + 1];
	/* Viewer that serves the topics of a client: what the primary told this client in its welcome. A name alone
	 * gives no rights. */
	unsigned char ticket[HELLO_TICKET_BYTES];
	/* The run and its primary's term. The first primary of a run draws `run`, and has term 1; a standby that takes
	 * its place has the next term. Secondary: of the primary that it had last; zeros: it had none. */
	unsigned char run[HELLO_RUN_BYTES];
	uint64_t term;
	/* Standby: where it is to be found when it has taken over, HOST:PORT, or :PORT on its own host; else "". */
	char listen[HELLO_TEXT_MAX + 1];
};

void hello_encode(const struct hello *hello, struct text *out);
/* Of a hello of another protocol, only the protocol and the name are decoded, so that a refusal can name the
 * difference; the other fields are zero. */
troupe_status hello_decode(const void *bytes, size_t count, struct hello *ret_hello, struct troupe_error *error);
/* In a time that does not depend on where they differ. False: the right one is 0, and so no ticket. */
bool hello_ticket_is(const unsigned char given[HELLO_TICKET_BYTES], const unsigned char right[HELLO_TICKET_BYTES]);
/* "primary", "secondary", "viewer" or "standby". */
const char *hello_role_name(enum hello_role role);
/* Whether the two can be of one run, as primary and secondary or as primary and standby. EPROTOCOL names the first
 * mismatch of protocol, partition, build, fingerprint, world, role; or the primary's term is not the latest that the
 * two know. */
troupe_status hello_match(const struct hello *ours, const struct hello *theirs, struct troupe_error *error);

struct welcome {
	uint32_t secondary;   /* its number, from 1 */
	uint32_t secondaries; /* of how many */
	uint32_t stale_ms;    /* the primary's; both sides use it */
	uint16_t port;        /* of the primary's host, where robot clients get their topics; 0: none */
	unsigned char ticket[HELLO_TICKET_BYTES]; /* random: this client's right to act there; else 0 */
	char standby[HELLO_TEXT_MAX + 1]; /* where to go when the primary is lost, as listen above; "": nowhere */
};

void welcome_encode(const struct welcome *welcome, struct text *out);
troupe_status welcome_decode(const void *bytes, size_t count, struct welcome *ret, struct troupe_error *error);

struct heartbeat {
	bool busy;     /* loading a world or a level: the step deadline waits */
	bool leaves;   /* secondary: asks to leave between two steps */
	uint64_t step; /* the step that it expects or works on */
};

void heartbeat_encode(const struct heartbeat *heartbeat, struct text *out);
troupe_status heartbeat_decode(const void *bytes, size_t count, struct heartbeat *ret, struct troupe_error *error);

/* Why a run has ended. */
enum stop_kind {
	STOP_DONE = 1,    /* it has reached its end */
	STOP_LEFT = 2,    /* a peer left, and said so */
	STOP_LOST = 3,    /* a peer went silent, broke off, or did not answer a step in time */
	STOP_BROKEN = 4,  /* a peer sent invalid data */
	STOP_FAILED = 5,  /* the simulation itself failed: a model that diverged, a state that differs */
	STOP_MISSING = 6, /* it never began: not all secondaries came in time */
	STOP_REFUSED = 7, /* this peer was not admitted; sent as REFUSE */
	STOP_REGROUP = 8, /* the run goes on with other members: those that are to take part join again */
	STOP_AGAIN = 9,   /* the run goes on without this peer, which was lost, and may come again as a new one */
};

struct stop {
	enum stop_kind kind;
	uint64_t next_step; /* all acknowledged all steps below it; the state of that number is complete */
	char who[HELLO_WHO_MAX + 1];
	char why[HELLO_WORDS_MAX + 1];
};

void stop_encode(const struct stop *stop, struct text *out);
troupe_status stop_decode(const void *bytes, size_t count, struct stop *ret, struct troupe_error *error);

/* REFUSE. again: the run is going to let this peer in, so it is to come again at once. ret_again may be NULL. */
void refuse_encode(const char *why, bool again, struct text *out);
troupe_status refuse_decode(const void *bytes, size_t count, char ret_why[HELLO_WORDS_MAX + 1], bool *ret_again,
	struct troupe_error *error);

/* READY and START: one number. */
void number_encode(uint64_t number, struct text *out);
troupe_status number_decode(const void *bytes, size_t count, uint64_t *ret, struct troupe_error *error);

enum announcement_kind {
	ANNOUNCE_HERE = 1,    /* a primary that gathers secondaries, or a secondary that looks for a primary */
	ANNOUNCE_LEAVING = 2, /* a peer that leaves */
	ANNOUNCE_FIXED = 3,   /* a primary whose run has begun */
};

struct announcement {
	enum announcement_kind kind;
	enum hello_role role;
	uint64_t nonce; /* the sender's current nonce: random, a new one every 500 ms (net/tcp/nonces.h) */
	uint32_t echo_count;
	uint64_t echoes[ANNOUNCEMENT_ECHOES_MAX]; /* numbers that the sender has heard from the other role */
	unsigned char id[HELLO_ID_BYTES];
	uint16_t port;        /* primary: its listening port, at the address that the datagram came from; else 0 */
	uint32_t secondaries; /* primary: how many it wants */
	uint32_t present;     /* primary: how many it has */
	char partition[HELLO_TEXT_MAX + 1];
	char name[HELLO_TEXT_MAX + 1];
};

/* Without authentication; at most ANNOUNCEMENT_BYTES_MAX - ANNOUNCEMENT_MAC_BYTES bytes. */
void announcement_encode(const struct announcement *announcement, struct text *out);
troupe_status announcement_decode(
	const void *bytes, size_t count, struct announcement *ret, struct troupe_error *error);
/* The cheap first check, of the fixed fields at the beginning of a datagram: whether it claims to be an announcement of
 * that role. *ret_echoes: whether it echoes one of these numbers. True does not mean that the datagram is valid. */
bool announcement_glance(const void *bytes, size_t count, enum hello_role role, const uint64_t *numbers,
	uint32_t number_count, bool *ret_echoes);

#endif
