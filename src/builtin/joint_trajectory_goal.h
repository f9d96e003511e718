/* Goals of a controller of trajectories, as ROS 2's action control_msgs/FollowJointTrajectory has them: a goal is a
 * trajectory with tolerances, and has one end: it succeeds, is cancelled, or is aborted because a joint has left its
 * tolerance. What counts is that of ros2_controllers' JointTrajectoryController: before the end of the trajectory the
 * path tolerances; from then on the goal has succeeded as soon as all joints are within their goal tolerances, and is
 * aborted when they are not in the goal time. Joints are compared with the target of the same state, in each step.
 *
 * With <follow_joint_trajectory>true (not Gazebo's) the controller takes troupe.msgs.TrajectoryGoal on
 * .../follow_joint_trajectory, also as a service, and gives troupe.msgs.TrajectoryState on
 * .../follow_joint_trajectory/state; both names stand in place of the last part of its topic. It can be deactivated by
 * the manager of its model (controller_manager.h): then it holds its joints where they are, and refuses goals. */
#ifndef BUILTIN_JOINT_TRAJECTORY_GOAL_H
#define BUILTIN_JOINT_TRAJECTORY_GOAL_H

#include "builtin/controller_manager.h"

enum { JOINT_TRAJECTORY_JOINTS_MAX = 64 };
enum { JOINT_TRAJECTORY_INPUT_TOPIC, JOINT_TRAJECTORY_INPUT_GOAL, JOINT_TRAJECTORY_INPUT_SWITCH };

enum joint_trajectory_end {
	JOINT_TRAJECTORY_NO_GOAL,
	JOINT_TRAJECTORY_EXECUTING,
	JOINT_TRAJECTORY_SUCCEEDED,
	JOINT_TRAJECTORY_LEFT_PATH,
	JOINT_TRAJECTORY_LEFT_GOAL,
	JOINT_TRAJECTORY_CANCELLED,
	JOINT_TRAJECTORY_REPLACED,    /* by another goal */
	JOINT_TRAJECTORY_OVERRIDDEN,  /* by a trajectory on the topic */
	JOINT_TRAJECTORY_DEACTIVATED, /* the controller */
	JOINT_TRAJECTORY_REFUSED,     /* it was not active */
	JOINT_TRAJECTORY_ENDS,
};

struct joint_tolerance { /* 0: none */
	double position, velocity;
};

struct joint_trajectory_goal_fields;

struct joint_trajectory_goals { /* of a controller; config */
	bool offered;
	uint32_t count; /* of joints */
	const char *const *names;
	const char *controller;          /* "": it cannot be switched */
	struct controllers *controllers; /* of its robot; NULL: it has no manager */
	bool partial;                    /* a goal need not name all joints */
	struct joint_tolerance path[JOINT_TRAJECTORY_JOINTS_MAX], goal[JOINT_TRAJECTORY_JOINTS_MAX];
	double goal_time; /* s; 0: for ever */
	uint32_t points_max, output;
	struct joint_trajectory_goal_fields *fields;
};

struct joint_trajectory_outcome {
	uint64_t id, end;         /* of a goal; enum joint_trajectory_end */
	uint64_t joint, velocity; /* that has left its tolerance; whether by its velocity */
	double error, limit;
};

/* Words; behind it a struct joint_goal_tolerances for each joint. */
struct joint_trajectory_goal_words {
	uint64_t state; /* enum controller_state */
	uint64_t holds; /* the next step holds the joints where they are */
	struct joint_trajectory_outcome now, before;
	double goal_time;
};

struct joint_goal_tolerances {
	struct joint_tolerance path, goal;
};

#define JOINT_TRAJECTORY_GOAL_PARAMETERS                                                                               \
	BUILTIN_BOOL("follow_joint_trajectory", "takes goals; default false (not Gazebo's)"),                          \
		BUILTIN_TEXT("controller_name", "by which it is switched; default: it is not (not Gazebo's)"),         \
		BUILTIN_BOOL(                                                                                          \
			"allow_partial_joints_goal", "a goal may leave out joints; default false (not Gazebo's)"),     \
		BUILTIN_BETWEEN("path_tolerance", 0, BUILTIN_NUMBER_MAX,                                               \
			"rad or m, of each joint; default 0: none (not Gazebo's)"),                                    \
		BUILTIN_BETWEEN("goal_tolerance", 0, BUILTIN_NUMBER_MAX,                                               \
			"rad or m, of each joint; default 0: none (not Gazebo's)"),                                    \
		BUILTIN_BETWEEN("stopped_velocity_tolerance", 0, BUILTIN_NUMBER_MAX,                                   \
			"rad/s or m/s, at the goal; 0: none; default 0.01 (not Gazebo's)"),                            \
		BUILTIN_BETWEEN("goal_time_tolerance", 0, BUILTIN_NUMBER_MAX,                                          \
			"s after the end; default 0: there is no limit (not Gazebo's)")

/* In configure(). count, names, points_max are set. topic: of the trajectories. The numbers of joints are given in the
 * order of the joints. */
bool joint_trajectory_goal_configure(struct troupe_system *self, const struct troupe_element *plugin,
	struct joint_trajectory_goals *goals, const char *topic);
/* After it: adds the words. */
void joint_trajectory_goal_add_words(struct troupe_system *self, const struct joint_trajectory_goals *goals);
/* In check(), for both inputs. */
bool joint_trajectory_goal_check(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	uint32_t input, const struct troupe_message *message, char why[TROUPE_WHY_BYTES]);
/* In command(). Whether the trajectory is to be followed: a gz.msgs.JointTrajectory, and when it starts, in s; 0: at
 * once. */
bool joint_trajectory_goal_take(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const struct troupe_message *message, void *words, const struct troupe_message **ret_trajectory,
	double *ret_start_s);
void joint_trajectory_goal_switch(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const struct troupe_message *message, void *words);
/* A trajectory comes on the topic. False: the controller is not active, so it does not count. */
bool joint_trajectory_goal_override(void *words);

struct joint_trajectory_course_now { /* of each joint: its target, and its state */
	double position[JOINT_TRAJECTORY_JOINTS_MAX], velocity[JOINT_TRAJECTORY_JOINTS_MAX];
	double at[JOINT_TRAJECTORY_JOINTS_MAX], moves[JOINT_TRAJECTORY_JOINTS_MAX];
};

/* In pre_update(): whether a command has ended the trajectory, so that the joints are to be held; true once. */
bool joint_trajectory_goal_holds(void *words);
/* After it. left_s: until the end of the trajectory; 0 or less: it is over. Whether the joints are to be held. */
bool joint_trajectory_goal_watch(const struct joint_trajectory_goals *goals, void *words,
	const struct joint_trajectory_course_now *now, double left_s);
void joint_trajectory_goal_report(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const void *words, const struct joint_trajectory_course_now *now, struct troupe_message *message);

#endif
