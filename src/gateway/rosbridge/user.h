/* A connected client: what it has subscribed to and advertised, and the operations that it sends. All on the thread of
 * the web server. */
#ifndef GATEWAY_ROSBRIDGE_USER_H
#define GATEWAY_ROSBRIDGE_USER_H

#include "gateway/lockstep/callers.h"
#include "gateway/ros/simulation.h"
#include "gateway/rosbridge/board.h"
#include "gateway/source.h"
#include "gateway/web/outbox.h"

#include <troupe/rosbridge.h>

#include <pthread.h>
#include <stdatomic.h>

enum {
	USER_HEAR_MAX = 4 << 20,       /* bytes of an operation: its JSON takes far more memory than its text */
	USER_SUBSCRIPTIONS_MAX = 4096, /* also of the ids of one topic */
	USER_OUTLETS_MAX = 1024,       /* topics that a client advertises */
	USER_NAME_MAX = 512,           /* bytes of a name, a type and an id */
	HEARING_QUEUE_MAX = 1000,      /* messages that wait for their time: queue_length */
	HEARING_QUEUE_BYTES_MAX = 8 << 20,
	USER_QUEUE_BYTES_MAX = 64 << 20, /* of all messages of a client that wait for their time */
};

/* From the level with most messages to the level with none. */
enum user_level { USER_INFO, USER_WARNING, USER_ERROR, USER_NONE };

struct call { /* of a service of the server, or of barrier clients, whose reply is awaited */
	uint64_t tag;
	struct user *user;  /* NULL: gone */
	char *service, *id; /* as the client has them; id: JSON or NULL */
	char *reply_type;
};

struct asked { /* a call of a service of simulation.h, or the goal of an action, that is not answered yet */
	struct troupe_rosbridge *gateway;
	struct asked *before, *after;
	struct user *user; /* NULL: gone */
	char *name, *id;   /* as the client has them; id: JSON or NULL */
	bool is_goal;
};

struct reply { /* to a call of a service of barrier clients */
	uint64_t tag;
	char *bytes;
	size_t count;
};
struct replies {
	VEC(struct reply) all;
};

struct troupe_rosbridge {
	struct source *source;
	char *clock;             /* the topic */
	struct web *_Atomic web; /* set once it runs */
	struct board board;
	struct user *users;
	VEC(struct call) calls;
	struct simulation *simulation;
	struct callers *callers; /* barrier clients; NULL: the run is another process */
	pthread_mutex_t guard;
	struct replies replies; /* under the guard: the thread of the step replies */
	struct asked *asked;
	uint64_t tags;                      /* given so far */
	uint64_t connections;               /* so far */
	uint64_t time_ns;                   /* simulated time that is known */
	bool ticking;                       /* the clock is subscribed to for the time */
	const struct troupe_error *failure; /* of the run; NULL: none. Set before the web server is stopped */
	_Atomic uint64_t published, taken, refused, lost;
	_Atomic uint32_t clients;
};

struct demand { /* one of a client's subscriptions to one topic */
	char *id;
	uint64_t throttle_ns; /* at least so much real time between two messages */
	uint32_t queue_length;
};

/* All subscriptions of a user to a topic: it gets each message once, as the most demanding of them wants it. */
struct hearing {
	struct user *user;
	char *topic; /* as the client has written it */
	char *name;  /* with its slash */
	char *type;  /* that the client expects; NULL: any */
	VEC(struct demand) demands;
	uint64_t sent_ns; /* real time; 0: never */
	VEC(char *) queue;
	size_t queue_bytes;
	bool told_type; /* that the topic has another type */
};

struct outlet {            /* a topic that a client has advertised */
	char *name, *type; /* type NULL: any */
};

struct user {
	struct troupe_rosbridge *gateway;
	struct web_peer *peer;
	uint64_t connection; /* its number, not 0 */
	struct user *before, *after;
	struct outbox outbox;
	VEC(struct hearing *) hearings;
	VEC(struct outlet) outlets;
	size_t queue_bytes;    /* of all hearings */
	enum user_level level; /* the least that is said */
	uint64_t lost_told;    /* of outbox.lost */
	uint64_t lost_told_ns; /* real time */
};

/* For a web_service of which the context is a struct troupe_rosbridge. */
void *user_open(void *ctx, struct web_peer *peer);
void user_hear(void *conn, bool binary, const void *bytes, size_t count);
void user_room(void *conn);
void user_close(void *conn);

/* Gives a message, as JSON, to a subscription: now, later or never, as it wants. */
void hearing_give(struct hearing *hearing, const char *type, const struct text *json);
/* Sends the messages whose time has come, and tells how many were lost. */
void user_turn(struct user *user);

/* Sends an operation. A client that does not read even these is closed. */
void user_say(struct user *user, const struct text *json);
/* id: of the operation, as JSON; NULL: it has none. */
void user_complain(struct user *user, enum user_level level, const char *id, const char *format, ...)
	TROUPE_PRINTF(4, 5);
/* Answers the call of a service. values: JSON; NULL: it has failed, because of why. */
void user_answer(struct user *user, const char *service, const char *id, const struct text *values, const char *why);

/* Whether the client has advertised the name, with its slash. */
bool user_advertises(struct user *user, const char *name);
/* Frees it. */
void user_drop_asked(struct asked *asked);

/* gateway.c: takes over what has changed in the server's table. */
void rosbridge_look(struct troupe_rosbridge *gateway);

#endif
