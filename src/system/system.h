/* Systems: code that drives models. Each <plugin> of a model whose name is known becomes a system. Its parameters are
 * constant. Its memory is words of the model's state, so it is moved, reset and resumed with the model.
 *
 * A step of a model's systems, on the runner that simulates the model:
 *   command()      for each command due, in the order given; changes the words of state k
 *   pre_update()   changes words of state k+1 (copied from state k), reads bodies and joints of state k, writes control
 *   physics
 *   post_update()  changes words of state k+1, reads bodies and joints of state k+1
 * A paused step calls command() only. A system must not keep data outside its words if results depend on the data,
 * must not read the clock, and must not read another model's state. */
#ifndef SYSTEM_SYSTEM_H
#define SYSTEM_SYSTEM_H

#include "base/text.h"
#include "scene/control.h"
#include "scene/state.h"
#include "topic/message.h"

#include <pthread.h>

enum { SYSTEM_TOPICS_MAX = 32, SYSTEM_WORDS_MAX = 4096 };

struct system_topic {
	const char *name; /* "/model/vehicle_blue/cmd_vel" */
	message_type type;
	uint32_t tag;      /* a number that the system chooses */
	const char *joint; /* the joint of the model that it drives, the first of several; NULL: none */
};

enum system_output_kind {
	SYSTEM_OUTPUT_ODOMETRY, /* gz.msgs.Odometry: what reckon() of the system says */
	SYSTEM_OUTPUT_TF,       /* gz.msgs.Pose_V with the same pose */
	SYSTEM_OUTPUT_JOINTS,   /* gz.msgs.Model with the state of joints */
	SYSTEM_OUTPUT_POSES,    /* gz.msgs.Pose_V of the model and its links */
	SYSTEM_OUTPUT_POSE,     /* the same poses, as one gz.msgs.Pose each */
};

enum system_output_of { /* bits: the poses that are published */
	SYSTEM_OUTPUT_OF_MODEL = 1,
	SYSTEM_OUTPUT_OF_LINKS = 2,
};

/* A topic that is published for a system. The server makes the messages from the state at a step boundary; systems do
 * nothing for it, so that a topic without subscribers costs nothing. */
struct system_output {
	const char *name;
	enum system_output_kind kind;
	double rate_hz;                  /* simulated; 0: in each step */
	const char *frame, *child_frame; /* frame_id and child_frame_id in the header; NULL: none */
	uint32_t of;                     /* of poses: bits SYSTEM_OUTPUT_OF_... */
	const char *only;                /* of joints: the names of those that are published, each in '\n'; NULL: all */
};

struct system {
	const struct system_ops *ops;
	const struct scene *scene;
	uint32_t model;
	uint32_t word_first, words; /* place in the model's system words; configure() sets words */
	void *config;               /* owned by the system; from the arena given to configure() */
	VEC(struct system_topic) topics;
	VEC(struct system_output) outputs;
};

struct system_step {
	const struct state *state;
	const struct control *control;
	uint64_t number; /* k */
	double time_s;   /* simulated time of state k */
	double dt;
};

/* The result of dead reckoning: the pose of a frame that is fixed to the model, relative to the pose of that frame in
 * the initial state. */
struct system_reckoning {
	struct pose frame;      /* in the model's */
	double x, y, yaw;       /* m, rad; full turns are counted */
	double linear, angular; /* m/s ahead, rad/s to the left, in the last step */
};

struct system_ops {
	const char *const *names; /* names of the plug-in in world files, NULL-terminated; Gazebo's names included */
	/* Reads the parameters; sets words, config and topics. TROUPE_EWORLD with file:line: a bad parameter.
	 * TROUPE_EINVAL: a parameter does not fit the model (for example a joint that does not exist); then the
	 * plug-in is left out with a warning, as Gazebo does. */
	troupe_status (*configure)(struct system *system, const struct sdf_element *plugin, struct arena *arena,
		struct troupe_error *error);
	/* Optional: sets the words of state 0, if they are not all zero. */
	void (*init)(const struct system *system, uint64_t *words);
	/* Optional: whether it can take a message that the type of the topic allows; TROUPE_ECOMMAND has the reason
	 * if not. */
	troupe_status (*check)(
		const struct system *system, uint32_t tag, const ProtobufCMessage *message, struct troupe_error *error);
	/* Optional; required for a system with topics. A message that check() refuses must change nothing. */
	void (*command)(const struct system *system, uint32_t tag, const ProtobufCMessage *message, uint64_t *words);
	/* Optional. */
	void (*pre_update)(const struct system *system, const struct system_step *step, uint64_t *words);
	/* Optional. state k+1 is the `next` copy. */
	void (*post_update)(const struct system *system, const struct system_step *step, uint64_t *words);
	/* Optional: dead reckoning. */
	void (*reckon)(const struct system *system, const uint64_t *words, struct system_reckoning *ret_reckoning);
};

/* The difference between where a model is and where its odometry puts it. It is 0 for a robot whose wheels do not slip;
 * it is large for one that was pushed, lifted or turned over. */
struct system_drift {
	double position_m; /* in the plane in which the odometry reckons */
	double yaw_rad;    /* -pi .. pi, positive: the model has turned further to the left */
	double tilt_rad;   /* 0 .. pi: between the model's upright axis and that of its initial pose */
};

struct system_listener {
	uint32_t model, system, topic; /* system: index among its model's systems */
};

struct system_listeners { /* of one topic */
	char *name;       /* NULL: free */
	message_type type;
	VEC(struct system_listener) listeners; /* in the order of their registration */
};

struct system_set { /* of one model */
	struct system *at;
	uint32_t count;
	uint32_t words;      /* of state */
	struct arena *arena; /* memory that the systems own; NULL: in the world's arena */
};

/* All systems of a world. The primary adds and removes models between steps. systems_topic_type() and
 * systems_list_topics() may be called from any thread at any time. All other parts are read by runners during
 * steps. */
struct systems {
	const struct scene *scene;
	struct system_set *sets;  /* [room] by model */
	uint32_t room, count;     /* count: of systems */
	struct map topic_by_name; /* value: index in topics */
	VEC(struct system_listeners) topics;
	VEC(uint32_t) free_topics;
	VEC(const char *) warnings; /* file:line: plug-ins that do not fit their models */
	struct arena arena;
	pthread_mutex_t lock; /* guards topics: held for a change, and by readers on other threads */
};

troupe_status systems_create(const struct scene *scene, struct systems **ret_systems, struct troupe_error *error);
/* The same, but goes on after an error and calls on_error for each plug-in's error. */
troupe_status systems_create_telling(const struct scene *scene, void (*on_error)(void *ctx, const char *text),
	void *ctx, struct systems **ret_systems, struct troupe_error *error);
/* Whether the plug-in should have an effect here but has none: a model's plug-in that is no system, or a world's
 * plug-in that does not define levels. Plug-ins of Gazebo that need no counterpart here, such as Physics, are not
 * ignored. */
bool systems_ignore(const struct sdf_plugin *plugin);
void systems_destroy(struct systems *systems);
/* Creates the systems of a model that was added to the scene. Plug-ins that do not fit it are left out; *ret_warning
 * is the first warning about that, else NULL. On failure nothing has changed. */
troupe_status systems_add(
	struct systems *systems, uint32_t model, const char **ret_warning, struct troupe_error *error);
/* Removes a model's systems from the topics: they get no commands. The systems stay until systems_remove(). */
void systems_unsubscribe(struct systems *systems, uint32_t model);
/* Adds them to the topics again. */
void systems_subscribe(struct systems *systems, uint32_t model);
void systems_remove(struct systems *systems, uint32_t model);

static inline uint32_t systems_count(const struct systems *systems, uint32_t model)
{
	return systems->sets[model].count;
}

/* State 0 of a world, with the words of its systems filled in. */
struct state *systems_create_state(const struct systems *systems);
/* Fills in the words of one model's systems. */
void systems_init_model(const struct systems *systems, struct state *state, uint32_t model);
/* The listeners of a topic; NULL: none. All listeners of one topic take the same type of messages. */
const struct system_listeners *systems_find_listeners(const struct systems *systems, const char *topic);
/* Any thread: the message type of a topic; NULL: it has no listeners now. */
message_type systems_topic_type(struct systems *systems, const char *topic);
/* Any thread: writes up to `count` topics as "a, b, ...", for error messages. */
void systems_list_topics(struct systems *systems, uint32_t count, char *ret_text, size_t bytes);

/* Whether the listener can take the message; TROUPE_ECOMMAND has the reason if not. */
troupe_status systems_check(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct troupe_error *error);
void systems_command(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct state *state);
void systems_pre_update(const struct systems *systems, uint32_t model, const struct system_step *step);
void systems_post_update(const struct systems *systems, uint32_t model, const struct system_step *step);

/* Odometry and drift of a model in state k, by the first of its systems that does dead reckoning. False: no system
 * does, or its words are from a damaged state. Thread: the primary's, between steps. */
bool systems_reckon(const struct systems *systems, const struct state *state, uint32_t model,
	struct system_reckoning *ret_reckoning, struct system_drift *ret_drift);

/* The built-in systems, NULL-terminated. The list is written by hand: no constructors register systems. */
extern const struct system_ops *const system_builtin[];

#endif
