/* The names under which a node of ROS 2 offers the topics of a server. Pure.
 *
 * Each model is a namespace: /model/M/cmd_vel is /M/cmd_vel, /model/M/odometry is /M/odom, /world/W/model/M/joint_state
 * is /M/joint_states, and a model N within M has /M/N. A sensor S of M that publishes KIND (scan, image, camera_info,
 * imu, ...) has /M/KIND if no other sensor of M publishes the same KIND, and otherwise /M/S/KIND. Topics that the world
 * names itself keep their names. Transforms of odometry (/model/M/tf, or /model/M/pose if there is no such) are /tf for
 * all models, and /tf_static has the frames that never move (ros_fixed_frames()).
 *
 * Each model that publishes has these frames as /M/tf and /M/tf_static, too, without its name before theirs: programs
 * for one robot that are started in its namespace read only these. A transform of odometry whose topic the world names,
 * X/tf, is there, too, and as X/tf, with X/tf_static beside it.
 *
 * Twists are taken as geometry_msgs/msg/Twist and as TwistStamped under one name. A model whose joints take commands
 * has /M/robot_joint_command, for all of them (joint_command.h), and gives its joint states as /M/robot_joint_states,
 * too: the usual names of ros2_control's topic-based hardware.
 *
 * One model, the robot, has all of its topics without the namespace as well: /cmd_vel, /odom, /scan.
 *
 * In the process of a robot client (network.h), whose topics begin with /CLIENT, so do all names except /tf, /tf_static
 * and /clock; the clock is given as /CLIENT/clock, too.
 *
 * Left out: topics of the world itself but for /clock, and types without a counterpart. Characters that ROS 2 does not
 * take become "_", a part of digits only behind the name of the model falls away, and a part that begins with a digit
 * gets "n" before it.
 *
 * Models whose names become the same so have namespaces of their own all the same: the one that came first
 * (topic/twins.h) has the plain name, each other one has "_" and a hash of its name behind it, /cart_1_5b0c3d7e. So has
 * any other topic whose name is in use. Each is a function of the topics that there are, so it is the same for all that
 * show names of ROS 2. */
#ifndef GATEWAY_ROS_NAMES_H
#define GATEWAY_ROS_NAMES_H

#include "base/arena.h"
#include "base/map.h"
#include "gateway/ros/joint_command.h"
#include "gateway/ros/ros.h"

#include <troupe/client.h>

enum {
	NAMES_BYTES_MAX = 240, /* of a name; a longer one is left out */
	NAMES_SAID_MAX = 8,
	NAMES_DEPTH = 10, /* of NAMES_LATEST: so many messages are kept, as ROS 2 has it */
};

enum names_keep {
	NAMES_LATEST, /* the last messages count */
	NAMES_STATIC, /* the last message holds until the next one: a later subscriber must get it, too */
};

struct ros_offer {
	const char *name; /* "/cart/odom" */
	const char *type; /* "nav_msgs/msg/Odometry" */
	troupe_topic_kind kind;
	enum names_keep keep;
	const struct ros_type *ros; /* NULL: commands to joints */
	const char *topic;          /* the server's; NULL: commands to joints */
	const char *robot;          /* of commands to joints: for names_joint_topic() */
	const char *frames_of; /* of frames: the robot for ros_of_bytes_for(); NULL: all frames, with their names */
	uint32_t same_topic;   /* published: the index of the next offer of its topic; UINT32_MAX: none */
};

struct names_hashed {     /* a name with a hash, because the plain one is in use */
	const char *of;   /* "model 'cart.1'", "topic '/front.scan'" */
	const char *name; /* "/cart_1_5b0c3d7e" */
};

struct ros_names {
	struct arena arena;
	VEC(struct names_hashed) hashed;
	VEC(struct ros_offer) offers; /* several topics may be published under one name: /tf */
	struct map of_topic;          /* the server's published topic -> its first offer; see same_topic */
	struct map taken;             /* topics of the server that take messages */
	const char *client;           /* of the robot client whose process this is, or "" */
	const char *robot;            /* the namespace that is left out in second names, or NULL */
};

/* client: the robot client whose process this is, or NULL. robot: the model whose topics have names without its
 * namespace, too; NULL: the only model that has topics of its own, if there is one. ret_names is freed with
 * names_fini(); nothing of the arguments is kept. */
void names_make(const struct troupe_topics *topics, const char *client, const char *robot, struct ros_names *ret_names);
void names_fini(struct ros_names *names);
/* The same for a gateway that goes on when the topics change: before: the names until now (zeroed: there were none),
 * which stay, to be freed by the caller. *robot: as above; if it is NULL, it becomes a copy of what was found. Says,
 * for people, which names have a hash that had none before: a line for each, up to NAMES_SAID_MAX, and one for the
 * others.
 */
void names_update(const struct ros_names *before, const struct troupe_topics *topics, const char *client, char **robot,
	void (*say)(void *ctx, const char *line), void *ctx, struct ros_names *ret_names);
/* The index of the first offer of a topic that the server publishes; UINT32_MAX: there is none. */
static inline uint32_t names_first_of_topic(const struct ros_names *names, const char *topic)
{
	uint32_t at = UINT32_MAX;
	(void)map_find(&names->of_topic, topic, &at);
	return at;
}
/* Appends a message of the offer's topic as CDR; nothing, if the offer is of other messages, or has none of it: a topic
 * may have messages of several types, and frames of several robots. Errors as of ros_of_bytes(). */
troupe_status names_convert(const struct ros_offer *offer, const struct troupe_message *message, struct text *out,
	struct troupe_error *error);
/* A message that is converted for one offer after the other, once for all that get the same bytes. */
struct names_conversion {
	const struct troupe_message *message; /* the caller's */
	const struct ros_offer *offer;        /* the last one that it was made for; the caller's: NULL at first */
	struct text cdr; /* empty: the offer has none of the message, or there was an error. The caller frees it. */
	troupe_status status;
	struct troupe_error error;
};
/* Makes cdr and status those of the offer. Whether it converted anew. */
bool names_conversion_for(struct names_conversion *conversion, const struct ros_offer *offer);
/* The name as ROS 2 takes it, "/my_world/get_entities" for "/my world/get_entities"; NULL: it does not. */
char *names_clean(struct arena *arena, const char *name);
/* The topic of the server that takes such commands for the joint, as the caller's to free; NULL: it takes none. */
char *names_joint_topic(
	const struct ros_names *names, const char *robot, const char *joint, enum joint_quantity quantity);

#endif
