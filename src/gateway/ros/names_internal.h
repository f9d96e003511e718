/* Names while they are made, as the files of names.h share them: names.c offers topics, names_spaces.c finds out what
 * models there are, and what their namespaces are called. Texts are in names->arena. */
#ifndef GATEWAY_ROS_NAMES_INTERNAL_H
#define GATEWAY_ROS_NAMES_INTERNAL_H

#include "gateway/ros/names.h"

enum { NAMES_HASHES = 4 }; /* are tried, until one is not in use */

/* A name taken apart; each part is "" if there is none. */
struct ros_names_parts {
	char *space;         /* "cart", or "outer/inner" */
	char *link, *sensor; /* of a sensor */
	char *rest;          /* "cmd_vel", "scan/points" */
};

struct names_space {          /* of a model */
	const char *of;       /* "cart-1", "outer/inner" */
	const char *name;     /* "cart_1"; NULL: none yet */
	bool is_twin, hashed; /* as in troupe_topic; hashed: the name, or that of the model around it, has a hash */
};

struct names_robot {
	const char *name;
	bool has_tf; /* publishes transforms, so that its poses are not needed for them */
};

struct names_static {
	const char *name, *robot;
};

struct ros_names_making {
	struct ros_names *names;
	const struct troupe_topics *topics;
	VEC(struct names_space) spaces;
	struct map space_at;   /* index in spaces */
	struct map space_used; /* names of spaces */
	struct map kinds;      /* "SPACE|REST" -> how many sensors publish it */
	struct map shared;     /* "SPACE|LINK|SENSOR" of sensors that publish what another one does, too */
	struct map frames;     /* spaces that publish /model/SPACE/tf */
	struct map given;      /* names that are in use, with their kind and type */
	struct map joints;     /* spaces whose joints take commands */
	/* Models that publish, and models within them, by name as topics have it, in the order of the topics. */
	VEC(struct names_robot) robots;
	struct map robot_at;              /* index in robots */
	VEC(struct names_static) statics; /* where the fixed frames of a robot are given */
	struct map static_at;             /* index in statics */
};

/* The topic's name without its slash and the name of the robot client. */
const char *names_inner(const struct ros_names_making *making, const char *topic);
/* False: the name has not the form of a topic of a model. */
bool names_take_apart(const struct ros_names_making *making, const char *topic, struct ros_names_parts *ret_parts);
bool names_has(const struct map *map, const char *name);
/* The key of making->shared. */
char *names_sensor_key(struct arena *arena, const struct ros_names_parts *parts);

/* --- names_spaces.c, in the order of the calls -------------------------------------------------------------------- */

/* Fills in making->spaces: the models that have topics, or to which topics belong. */
void names_spaces_make(struct ros_names_making *making);
/* Fills in making->kinds, shared, frames and joints. Returns the only model that has topics of its own; NULL: there is
 * none, or several. */
const char *names_spaces_look(struct ros_names_making *making);
/* Fills in making->robots and statics. */
void names_spaces_find_robots(struct ros_names_making *making);
/* The namespace of the robot, which is given by its name or by its namespace. NULL: none. */
const char *names_spaces_find_robot(const struct ros_names_making *making, const char *robot);
/* The namespace of a model, without its slash; of one that is not known, its name. */
const char *names_spaces_of(const struct ros_names_making *making, const char *of);
/* The model of the topic, or the one within a model; NULL: it is of none. */
const char *names_spaces_robot_of(const struct ros_names_making *making, const struct troupe_topic *topic);
/* Whether the topic at this index has the transforms of one robot, under a name that the world or a plug-in gives
 * them. */
bool names_spaces_is_tf(const struct ros_names_making *making, uint32_t at);
/* The plain name with a hash of `of` behind it; NULL: too long. */
char *names_spaces_hashed(struct arena *arena, const char *plain, const char *of, uint64_t salt);

#endif
