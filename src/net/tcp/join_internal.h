/* A secondary that joins its primary over TCP, as its files share it: join.c is given the world and starts, and joins
 * again; join_search.c finds a primary and connects. One thread, but for `woken`. */
#ifndef NET_TCP_JOIN_INTERNAL_H
#define NET_TCP_JOIN_INTERNAL_H

#include "net/bundle.h"
#include "net/end.h"
#include "net/tcp/candidates.h"
#include "net/tcp/join.h"
#include "net/tcp/log_limit.h"
#include "net/tcp/session.h"

enum { JOIN_ATTEMPTS_MAX = 4 };

struct join_attempt {
	struct channel *channel; /* not open yet; NULL: there is no attempt */
	struct candidate to;
};

struct joining {
	const struct gather_host *host;
	struct hello hello;
	struct key key;
	bool keyed;
	struct candidates candidates;
	bool addressed;                   /* the one candidate is a given address */
	bool seeks;                       /* other primaries may still be found */
	bool again;                       /* the run goes on with other members, so a refusal is no end */
	bool orphaned;                    /* its primary was lost without a word */
	struct address primary;           /* the last that admitted it; raw_bytes 0: a connection was given */
	char standby[HELLO_TEXT_MAX + 1]; /* that the last primary named; "": none */
	struct join_attempt attempts[JOIN_ATTEMPTS_MAX];
	uint64_t attempt_ns;                           /* start of the last attempt */
	struct candidate joined;                       /* the candidate of the session's present or last connection */
	struct text sought;                            /* where it searches, for messages */
	struct log_limit log_limit, log_limit_foreign; /* messages about own failures; about announcements */
	struct session session;
	struct troupe_error last; /* the last error of an attempt */
	int woken;                /* event file */
	/* the world that is received */
	struct bundle described;
	struct text world;
	bool wanted, given; /* asked for; passed to the owner */
	uint64_t hash;      /* of the state that the owner rebuilt */
	bool admitted, ready_sent, started, ended;
	uint32_t number;
	/* the run */
	struct transport_link link;
	bool over[1];     /* of the link */
	const char *name; /* of the primary */
};

/* Shows why it has not joined; each reason once. */
void join_note_failure(struct joining *s, const char *why);
/* Whether the loss of the present primary is not the end. */
bool join_may_find_another(const struct joining *s);

/* --- join_search.c ------------------------------------------------------------------------------------------------ */

/* One turn, for a bounded time: announces itself and hears announcements while no primary has admitted it, tries to
 * connect while there is no connection, and works on the connections. */
void join_search(struct joining *s);
bool join_search_has_connection(const struct joining *s);

#endif
