/* A gateway (gateway.h) to ROS 2: a node, /troupe, whose topics nodes of ROS 2 subscribe and publish to, through DDS
 * (by Cyclone DDS). It works with each middleware of ROS 2 that uses DDS; nothing of ROS 2 is needed to build or to
 * run. Services and an action are offered, too, for nodes with the middleware rmw_cyclonedds_cpp. src/ROS2.md has the
 * names of topics and services, their types and qualities of service, and how to use them. */
#ifndef TROUPE_ROS2_H
#define TROUPE_ROS2_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_ros2;

enum { TROUPE_ROS2_DOMAIN_MAX = 232 };

struct troupe_ros2_def { /* zeroed: domain 0, programs of this machine only */
	uint32_t domain; /* as ROS_DOMAIN_ID */
	/* The IPv4 address of an interface of this machine: programs that reach it can see and command everything, and
	 * nothing is encrypted. NULL: programs of this machine only. */
	const char *address;
	/* The model whose topics have names without its namespace, too: /cmd_vel beside /cart/cmd_vel. NULL: the first
	 * model that has topics while no other model has any. */
	const char *robot;
	bool humble; /* for nodes of ROS 2 Humble, whose list of nodes has another form than that of later releases */
	/* Says in a line what is wrong, once for each cause. On a thread of the gateway. May be NULL. */
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
};

/* Whether this build has it (Cyclone DDS). */
TROUPE_API bool troupe_ros2_available(void);
/* Starts a thread that serves until troupe_ros2_end(), which must come before troupe_server_destroy(). In one process
 * there is one such gateway in each domain. TROUPE_EINVAL: a setting is not valid, or this build has no DDS;
 * TROUPE_EIO: the library cannot be loaded, or the domain cannot be joined. */
TROUPE_API troupe_status troupe_ros2_start(struct troupe_server *server, const struct troupe_ros2_def *def,
	struct troupe_ros2 **ret_ros2, struct troupe_error *error);
/* The same for a robot client, in its own process: as troupe_gz_connect() in gateway.h. All names begin with /CLIENT,
 * except /clock, /tf and /tf_static, and so does that of the node. */
struct troupe_view_run;
TROUPE_API troupe_status troupe_ros2_connect(const struct troupe_view_run *run, const struct troupe_ros2_def *def,
	struct troupe_ros2 **ret_ros2, struct troupe_error *error);
/* Programs whose services have not been answered get an answer. why: the error with which the run has failed, which it
 * then has; NULL: it has ended without one. ros2 may be NULL. */
TROUPE_API void troupe_ros2_end(struct troupe_ros2 *ros2, const struct troupe_error *why);

struct troupe_ros2_counts {
	uint32_t topics;          /* that are offered now, both ways */
	uint64_t published;       /* messages that were written, once for each name */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
	uint64_t taken, refused;  /* messages that came, and requests: how many were valid, and how many were not */
	uint64_t commands;        /* how many of `taken` were commands to the simulation */
};
/* Any thread. */
TROUPE_API struct troupe_ros2_counts troupe_ros2_counts(const struct troupe_ros2 *ros2);
/* One line for people: "domain 0, node /troupe, this machine only". */
TROUPE_API void troupe_ros2_describe(const struct troupe_ros2 *ros2, char *ret_text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
