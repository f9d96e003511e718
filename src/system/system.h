/* Systems: what the <plugin> elements of a world become. Each is of a kind (troupe/plugin.h), which a plug-in brings:
 * troupe's own (src/builtin) or a shared library. Its parameters are constant. Its memory is words: those of a model's
 * system are in the model's state, so they are moved, reset and resumed with it; those of a world's system are in the
 * state of the world (scene/state.h).
 *
 * troupe/plugin.h says what is called in a step, and on which thread. A paused step calls command() only. */
#ifndef SYSTEM_SYSTEM_H
#define SYSTEM_SYSTEM_H

#include "base/text.h"
#include "scene/control.h"
#include "scene/state.h"
#include "system/plugins.h"
#include "topic/message.h"

#include <troupe/plugin.h>

#include <pthread.h>

enum { SYSTEM_TOPICS_MAX = 32, SYSTEM_WORDS_MAX = 4096 };

struct system_topic {
	const char *name; /* "/model/vehicle_blue/cmd_vel" */
	message_type type;
	uint32_t tag;       /* a number that the system chooses */
	uint32_t joint;     /* the joint of the model that it drives, the first of several; SCENE_NONE: none */
	message_type reply; /* the name is also that of a service, with this reply; NULL: it is not */
	bool any;           /* messages of each type are taken; the type is that of a topic without other listeners */
};

/* A topic that is published for a system. What does not depend on the system's code is made by the server from the
 * state at a step boundary, so that a topic without subscribers costs nothing. */
struct system_output {
	struct troupe_output def; /* its texts are the system's */
	message_type type;        /* of TROUPE_GIVES_REPORT and TROUPE_GIVES_PUBLISHED */
};

struct system_words { /* a name, and how many words it has */
	const char *name;
	enum troupe_word_kind kind;
	uint32_t count;
};

struct system {
	struct troupe_system self; /* what the plug-in sees; first, so that one is the other */
	const struct systems *all;
	const struct scene *scene;
	const struct plugin_library *library; /* NULL: troupe's own */
	const struct sdf_plugin *plugin;      /* of a world, also of a TROUPE_FOR_EACH_MODEL; NULL: made by troupe */
	uint32_t index;                       /* among those of its model, or of the world */
	uint32_t word_first, words;           /* place in the system words of its model, or in the words of the world */
	VEC(struct system_words) names;
	VEC(struct system_topic) topics;
	VEC(struct system_output) outputs;
	struct setup *setup; /* while it is being configured */
};

static inline const struct system *system_of(const struct troupe_system *self)
{
	return (const struct system *)(const void *)self;
}

/* What update() and report() may do beyond reading states: the primary's part of the host. */
struct system_acts {
	void (*publish)(void *ctx, const struct system *system, uint32_t output, const ProtobufCMessage *message);
	void (*request)(void *ctx, const struct system *system, const char *service, const ProtobufCMessage *message);
	/* Whether the system's model may be attached to this link. */
	bool (*may_attach)(void *ctx, const struct system *system, uint32_t other);
	void (*attach)(void *ctx, const struct system *system, uint32_t link, uint32_t other);
	void (*detach)(void *ctx, const struct system *system);
	bool (*touch)(void *ctx, uint32_t model, uint32_t i, struct troupe_touch *ret_touch);
	uint32_t (*find_sensor)(void *ctx, uint32_t model, const char *name);
	const double *(*reading)(void *ctx, uint32_t model, uint32_t sensor, uint32_t *ret_count, double *ret_time_s);
	bool (*is_there)(void *ctx, uint32_t model); /* part of the world, and loaded */
	void *ctx;
};

/* The first system from a library that broke a rule: it wrote beyond its words, or left a number in them that is none.
 * Zeroed: none did. */
struct system_fault {
	struct troupe_error error; /* TROUPE_EDIVERGED: the plug-in, its model, the word, the function */
	uint32_t model;            /* SCENE_NONE: the world's */
};

struct system_step {
	struct troupe_step step; /* first, so that one is the other */
	const struct state *state;
	const struct control *control;
	const struct system_acts *acts; /* NULL on a runner */
	struct system_fault *fault;     /* of the systems that are called */
	uint32_t model;                 /* the only one that may be controlled, and on a runner read; set by
					 * systems_pre_update(). SCENE_NONE: of report() */
	struct arena *arena;            /* of the messages that are made in a call; NULL: none may be made */
	bool has_next;                  /* the state after the step is there; set by systems_post_update() */
};

struct system_listener {
	uint32_t model, system, topic; /* system: index among its model's systems; model: SCENE_NONE: the world's */
};

struct system_listeners { /* of one topic */
	char *name;       /* NULL: free */
	message_type type;
	bool any;                              /* each of them takes messages of each type */
	VEC(struct system_listener) listeners; /* in the order of their registration */
};

struct system_set { /* of one model, or of the world */
	struct system *at;
	uint32_t count;
	uint32_t words;      /* of state */
	bool updates;        /* some system has update() */
	struct arena *arena; /* memory that the systems own; NULL: in the world's arena */
};

/* All systems of a world. The primary adds and removes models between steps. systems_topic_type() and
 * systems_near_topics() may be called from any thread at any time. All other parts are read by runners during
 * steps. */
struct systems {
	struct scene *scene;        /* only the making of a system changes it: setup_link_add_mass() */
	struct system_fault *fault; /* of init(), report() and update() */
	bool rehearse;              /* systems of libraries are called twice, to compare what they do */
	struct plugins *plugins;    /* NULL: no libraries */
	uint64_t seed;              /* of the run, for random numbers; set before the first step */
	struct system_set *sets;    /* [room] by model */
	struct system_set world;    /* those of the world itself */
	uint32_t room, count;       /* count: of systems */
	VEC(uint32_t) of_world;     /* plug-ins of the world itself, among all plug-ins of scene->sdf */
	uint32_t updating;          /* how many sets have update(), that of the world included */
	uint32_t reading;           /* how many systems are TROUPE_READS_CONTACTS */
	struct map topic_by_name;   /* value: index in topics */
	VEC(struct system_listeners) topics;
	VEC(uint32_t) free_topics;
	VEC(const char *) warnings;                  /* file:line: plug-ins that do not fit their models */
	void (*on_log)(void *ctx, const char *text); /* a line of a system; NULL: they are dropped. Any thread. */
	void *ctx;
	struct arena arena;
	pthread_mutex_t lock; /* guards topics: held for a change, and by readers on other threads */
};

/* Whether each world of the file has topics of its own, which begin with its name. */
troupe_status systems_check_worlds(const struct sdf *sdf, struct troupe_error *error);

/* plugins: where libraries come from, and longer in use than the systems; NULL: nowhere. */
troupe_status systems_create(
	struct scene *scene, struct plugins *plugins, struct systems **ret_systems, struct troupe_error *error);
/* The same, but goes on after an error and calls on_error for each plug-in's error. */
troupe_status systems_create_telling(struct scene *scene, struct plugins *plugins,
	void (*on_error)(void *ctx, const char *text), void *ctx, struct systems **ret_systems,
	struct troupe_error *error);
/* Whether the plug-in should have an effect here but has none: a model's plug-in that is no system, or a world's
 * plug-in that does not define levels. Plug-ins of Gazebo that need no counterpart here, such as Physics, are not
 * ignored, nor are those whose library cannot be used: these are errors. */
bool systems_ignore(struct plugins *plugins, const struct sdf_plugin *plugin);
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

/* model: SCENE_NONE: the world's. */
static inline const struct system_set *systems_of(const struct systems *systems, uint32_t model)
{
	return model == SCENE_NONE ? &systems->world : &systems->sets[model];
}

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
/* Any thread: writes the topics whose names are nearest to `like`, as "a, b, ...", for error messages. */
void systems_near_topics(struct systems *systems, const char *like, char *ret_text, size_t bytes);

/* Whether the listener can take the message; TROUPE_ECOMMAND has the reason if not. */
troupe_status systems_check(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct troupe_error *error);
void systems_command(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct state *state, struct system_fault *fault);
/* Whether each system of the model that is called in steps has TROUPE_RESTS. */
bool systems_rest(const struct systems *systems, uint32_t model);
void systems_pre_update(const struct systems *systems, uint32_t model, const struct system_step *step);
void systems_post_update(const struct systems *systems, uint32_t model, const struct system_step *step);
/* The simulated time in ns before which update() of no system of the model, or, SCENE_NONE, of the world, does anything
 * unless a message comes for it; UINT64_MAX: never; not after now_ns, the present one: one may do something now. */
uint64_t systems_wait_until(const struct systems *systems, uint32_t model, const struct state *state, uint64_t now_ns);
/* Calls update() of the systems of the model, or, SCENE_NONE, of the world. True: words of state k have changed. */
bool systems_update(const struct systems *systems, uint32_t model, const struct system_step *step);
/* Appends the message of an output TROUPE_GIVES_REPORT as bytes. False: the system has nothing to say. Thread: the
 * primary's, between steps. */
bool systems_report(const struct system *system, uint32_t output, const struct system_step *step, struct text *out);

/* The name of a word, counted from the first word of the model's systems; "" if it has none. */
void systems_name_word(const struct systems *systems, uint32_t model, uint32_t word, struct text *out,
	enum troupe_word_kind *ret_kind);

/* Odometry and drift of a model in state k, by the first of its systems that does dead reckoning. False: no system
 * does, or its words are from a damaged state. Thread: the primary's, between steps. */
struct system_drift {
	double position_m; /* in the plane in which the odometry reckons */
	double yaw_rad;    /* -pi .. pi, positive: the model has turned further to the left */
	double height_m;   /* above this plane */
	double tilt_rad;   /* 0 .. pi: between the model's upright axis and that of its initial pose */
};
/* drift: the difference between where the model is and where its odometry puts it. It is 0 for a robot whose wheels do
 * not slip; it is large for one that was pushed, lifted or turned over. */
bool systems_reckon(const struct systems *systems, const struct state *state, uint32_t model,
	struct troupe_reckoning *ret_reckoning, struct system_drift *ret_drift);

#endif
