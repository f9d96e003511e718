/* What the services of gateway/ros/simulation.h share: a job is one request on its way. It asks the server, waits until
 * all replies are there, does what job->next says, and so on until it has answered. */
#ifndef GATEWAY_ROS_SIMULATION_JOB_H
#define GATEWAY_ROS_SIMULATION_JOB_H

#include "base/json_out.h"
#include "gateway/ros/simulation.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <jansson.h>

enum job_result { /* simulation_interfaces/msg/Result */
	JOB_UNSUPPORTED = 0,
	JOB_OK = 1,
	JOB_NOT_FOUND = 2,
	JOB_INCORRECT_STATE = 3,
	JOB_FAILED = 4,
};

enum job_bounds { JOB_BOUNDS_EMPTY = 0, JOB_BOUNDS_BOX = 1, JOB_BOUNDS_CONVEX = 2, JOB_BOUNDS_SPHERE = 3 };
enum { JOB_NO_FEATURE = -1, JOB_BATCH = 200 /* commands that wait at the same time */ };

struct job;
typedef void job_fn(struct job *job);

enum job_need {
	JOB_ALONE,  /* works also in a run without a world */
	JOB_MODELS, /* job->models is there when it begins; without a world it is refused */
	JOB_ANY,    /* job->models is there when it begins, also in a run without a world */
};

struct job_row {
	const char *name; /* "get_entities" */
	const char *type; /* "simulation_interfaces/srv/GetEntities" */
	int feature;      /* of SimulatorFeatures that it stands for, or JOB_NO_FEATURE */
	enum job_need need;
	job_fn *begin;
};

extern const struct job_row job_run_rows[], job_world_rows[], job_entity_rows[], job_place_rows[],
	job_resource_rows[]; /* which end with a row without a name */
struct job_part_row {        /* of a part of the world */
	struct job_row row;
	/* Adds what the response says when there is an error: it has no result. */
	void (*refuse)(struct json_out *out, const char *why);
	job_fn *cancel; /* of an action, which is to end before its end; it says itself whether it accepts a goal */
};
extern const struct job_part_row job_follow_row, job_manager_rows[]; /* simulation_control.c */

struct job_part {   /* a service or an action of a part of the world: of a controller */
	char *name; /* "/arm/joint_trajectory_controller/follow_joint_trajectory" */
	const struct job_part_row *row;
	char *topic; /* of the server, before "/state" and so on */
	bool seen;   /* in the last table */
};

struct job_sent { /* a call of the server */
	uint64_t tag;
	bool done;
	troupe_status status;
	char *text;              /* the effect, or the error */
	ProtobufCMessage *reply; /* NULL: refused, or job->models has it */
};

struct job_spawn {       /* an entity to create */
	unsigned result; /* as of SpawnResult */
	char *message, *name;
	uint64_t id;
	uint32_t sent; /* index in job->sent */
};

struct job_world {
	char *name;          /* as topics have it */
	struct job *stepper; /* that takes steps; NULL: none */
	bool has_next;       /* the server takes requests for another run */
	/* The simulation was stopped (SetSimulationState), and still is while it is paused at this time. */
	bool was_stopped;
	int64_t stopped_ns;
};

struct job_item { /* a command about a model */
	const char *service;
	uint64_t id;
};

struct job {
	struct simulation *simulation;
	struct job *after;
	const struct job_row *row;
	struct job_world *world;
	const struct job_part *part; /* NULL: of the world */
	json_t *args;                /* every field of the request */
	struct simulation_asker asker;
	job_fn *next;
	Troupe__Msgs__Models *models; /* of the last question for them */
	int64_t time_ns;              /* simulated time of `models` */
	bool wants_models, is_answered, is_cancelled, has_boxes;
	struct text response;      /* from job_open() to job_send() */
	struct json_out out;       /* into it */
	unsigned result;           /* in it */
	VEC(struct job_sent) sent; /* since job_forget_sent() */
	uint32_t waiting;          /* of those: without a reply */
	/* for the services */
	VEC(struct job_item) items;
	VEC(struct job_spawn) spawns;
	uint32_t at;          /* of the items: given */
	uint64_t total, done; /* steps */
	int64_t began_ns;
	char failure[200]; /* the first one; "": none */
	/* messages of a topic: job_watch() */
	char *watched; /* NULL: none is wanted */
	void (*hear)(struct job *job, const struct troupe_message *message);
	uint64_t from_step; /* of the first that counts */
	bool is_accepted;
	uint64_t goal;       /* its id */
	int64_t feedback_ns; /* time of the last */
};

/* service: after "/world/NAME/", or from a slash on as it is. A call that is refused at once is done, with its status.
 * Returns its index in job->sent. */
uint32_t job_ask(struct job *job, const char *service, const ProtobufCMessage *message);
/* Asks for job->models anew. */
void job_ask_models(struct job *job, bool boxes);
void job_forget_sent(struct job *job);
/* Has job->hear called for messages of the topic, at most so many in a second of simulated time, at first for the one
 * that is given at once; until the job has answered. While it waits for messages alone, job->next is not called. */
void job_watch(struct job *job, const char *topic, double rate_hz,
	void (*hear)(struct job *job, const struct troupe_message *message));
/* The goal is accepted; once. */
void job_accept(struct job *job);
/* The first that was refused; NULL: none was. */
const struct job_sent *job_refused(const struct job *job);

/* A response that has only a result; its other fields have their defaults. */
void job_answer(struct job *job, unsigned result, const char *format, ...) TROUPE_PRINTF(3, 4);
/* Begins a response with its result. The caller adds other members to what is returned, and then calls job_send(). */
struct json_out *job_respond(struct job *job, unsigned result, const char *message);
/* The same for a response without a result. */
struct json_out *job_open(struct job *job);
void job_send(struct job *job);
/* Sends the response of job_open() as the end of an action. */
void job_send_end(struct job *job, enum simulation_end end);
/* The member "result". */
void job_add_result(struct json_out *out, unsigned result, const char *message);

/* Answers: that all requests to the server were obeyed, or why the first one was refused. */
void job_finish(struct job *job);

/* simulation_world.c: whether another world can be loaded: asks, and job->next finds in job->sent.at[0] if so; false:
 * never in this run, and nothing is asked. */
bool job_ask_loading(struct job *job);
/* simulation_spawn.c: whether the file has the name of one that is neither SDF nor URDF. */
bool job_has_other_format(const char *uri);

struct job_tags { /* of a TagsFilter */
	const char *wanted[SIMULATION_TAGS_MAX];
	uint32_t count;
	bool all; /* must be there; false: any of them */
};

/* filter: a TagsFilter, which must outlive *ret_tags. False: it is answered; name: for the message. */
bool job_read_tags(struct job *job, const char *name, const json_t *filter, struct job_tags *ret_tags);
/* Whether something with these tags passes. */
bool job_has_tags(const struct job_tags *tags, char *const *has, size_t count);

static inline const json_t *job_arg(const struct job *job, const char *name)
{
	return json_object_get(job->args, name);
}

/* "" if it has no such text. */
static inline const char *job_text(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));
	return text ? text : "";
}

static inline int64_t job_whole(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

#endif
