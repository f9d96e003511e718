/* The services of the ROS 2 package simulation_interfaces 2.1.0, its action SimulateSteps, and a few of troupe's own
 * that it lacks (troupe_interfaces): whichever protocol carries them, a request as JSON becomes questions and commands
 * to the server, as any client gives them (troupe/client.h), and their replies become the response as JSON. Everything
 * that changes the world is a command that is bound to a step, so a recording repeats it. src/doc/reference/ros2.md has
 * what each service does, or why it is refused. JSON is that of gateway/ros/json.h, which also makes CDR of it.
 *
 * Robots with controllers of ros2_control have the services of their controller_manager (controller_manager_msgs), and
 * those that follow trajectories the action of control_msgs, under the names of the robot: they come and go with it.
 *
 * A run with one world has its services as "/get_entities"; of several worlds each has its own, as
 * "/WORLD/get_entities".
 *
 * One thread at a time. Pure: the owner carries questions and commands to the server, and replies back. */
#ifndef GATEWAY_ROS_SIMULATION_H
#define GATEWAY_ROS_SIMULATION_H

#include "base/text.h"

#include <troupe/client.h>

struct json_t; /* of jansson */
struct simulation;

enum {
	SIMULATION_CALLS_MAX = 256,  /* that wait at the same time */
	SIMULATION_SPAWNS_MAX = 256, /* entities of one request */
	SIMULATION_NAME_MAX = 200,   /* bytes of a name */
	SIMULATION_FILTER_MAX = 200, /* bytes of a regular expression */
	SIMULATION_TAGS_MAX = 64,    /* of a filter */
};

/* The tags of all calls that it makes have this bit; tags of other calls must not have it. */
#define SIMULATION_TAG (UINT64_C(1) << 63)

struct simulation_def {
	/* Calls a service of the server as troupe_client_call() does; the reply is given to simulation_take(). */
	troupe_status (*call)(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
		uint64_t tag, struct troupe_error *error);
	void *ctx;
	/* Subscribes to a topic, which gives a message at once, also if it was subscribed to before: its messages are
	 * given to simulation_hear(). NULL: there are no controllers. */
	void (*subscribe)(void *ctx, const char *topic, double rate_hz);
	void (*unsubscribe)(void *ctx, const char *topic);
	const char *client; /* the robot client whose process this is, or NULL */
};

/* topics: of the server, for the names of its worlds. */
struct simulation *simulation_create(const struct simulation_def *def, const struct troupe_topics *topics);
/* The topics have changed. Requests to what is gone are answered. */
void simulation_look(struct simulation *simulation, const struct troupe_topics *topics);
/* Answers all requests that wait: the run is over, because of `why`. */
void simulation_end(struct simulation *simulation, const char *why);
/* Nobody is answered any more. NULL is fine. */
void simulation_destroy(struct simulation *simulation);

/* name: "/get_entities"; type: "simulation_interfaces/srv/GetEntities", for an action "simulation_interfaces/action/
 * SimulateSteps". Types of requests, responses, goals, results and feedback are those names with _Request, _Response,
 * _Goal, _Result or _Feedback. */
void simulation_each_service(
	const struct simulation *simulation, void (*fn)(void *ctx, const char *name, const char *type), void *ctx);
void simulation_each_action(
	const struct simulation *simulation, void (*fn)(void *ctx, const char *name, const char *type), void *ctx);
bool simulation_has_service(const struct simulation *simulation, const char *name);
bool simulation_has_action(const struct simulation *simulation, const char *name);

enum simulation_end {           /* action_msgs */
	SIMULATION_REFUSED = 0, /* the goal was not accepted */
	SIMULATION_SUCCEEDED = 4,
	SIMULATION_CANCELED = 5,
	SIMULATION_ABORTED = 6,
};

struct simulation_asker {
	/* Called once for each request, perhaps before simulation_call() returns. values: the response as one object;
	 * it has a result code and a message for people in every case. end: of an action. */
	void (*answer)(void *ctx, enum simulation_end end, const struct text *values);
	/* Called after each step of an action. NULL: not wanted. */
	void (*feedback)(void *ctx, const struct text *values);
	void *ctx;
	/* Called once for each goal that is accepted, before its feedback and its answer. NULL: not wanted. */
	void (*accepted)(void *ctx);
};

/* Calls a service, or begins an action: it has one of this name. args: an object with the fields of the request, of
 * which each may be left out, or NULL: none. They are copied. */
void simulation_call(struct simulation *simulation, const char *name, const struct json_t *args,
	const struct simulation_asker *asker);
/* The same for a request as CDR with its header (the goal of an action). Bytes that are no such request are answered,
 * too, with an error. */
void simulation_call_cdr(struct simulation *simulation, const char *name, const void *cdr, size_t count,
	const struct simulation_asker *asker);
/* Ends the action of this asker after the present step; its answer then comes. No such action: nothing. */
void simulation_cancel(struct simulation *simulation, const void *asker_ctx);
/* A reply of the server whose tag has SIMULATION_TAG. */
void simulation_take(struct simulation *simulation, const struct troupe_message *reply);
/* A message of a topic, also of one to which it has not subscribed. */
void simulation_hear(struct simulation *simulation, const struct troupe_message *message);
/* Why a goal was refused, from the values of an answer; "" if they do not say it. The caller frees it. */
char *simulation_why(const struct text *values);

#endif
