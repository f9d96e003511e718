/* What built-in systems share: lists of joints, topics with Gazebo's names, numbers of a message, PID control. Each
 * kind is one file. Its parameters, defaults and topics are those of Gazebo.
 *
 * The words of a system are a struct of 8-byte members. */
#ifndef BUILTIN_PARTS_H
#define BUILTIN_PARTS_H

#include <troupe/plugin.h>

#define BUILTIN_NUMBER_MAX 1e9   /* limit of any parameter, and of a force in N or N m */
#define BUILTIN_VELOCITY_MAX 1e4 /* m/s or rad/s; far below the limit at which a model has diverged */

extern const struct troupe_kind builtin_diff_drive, builtin_velocity_control, builtin_joint_position_controller,
	builtin_joint_controller, builtin_apply_joint_force, builtin_joint_state_publisher, builtin_pose_publisher;

/* The names by which a world file may name a plug-in. */
#define BUILTIN_NAMES(stem)                                                                                            \
	((const char *const[]){"gz::sim::systems::" stem, "ignition::gazebo::systems::" stem, "troupe::" stem, NULL})

/* Rows of tables of parameters. */
#define BUILTIN_NUMBER(name, what)                                                                                     \
	{                                                                                                              \
		name, TROUPE_NUMBER, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX, what                                     \
	}
#define BUILTIN_BETWEEN(name, low, high, what)                                                                         \
	{                                                                                                              \
		name, TROUPE_NUMBER, low, high, what                                                                   \
	}
#define BUILTIN_VECTOR(name, what)                                                                                     \
	{                                                                                                              \
		name, TROUPE_VECTOR, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX, what                                     \
	}
#define BUILTIN_BOOL(name, what)                                                                                       \
	{                                                                                                              \
		name, TROUPE_BOOL, 0, 0, what                                                                          \
	}
#define BUILTIN_TEXT(name, what)                                                                                       \
	{                                                                                                              \
		name, TROUPE_TEXT, 0, 0, what                                                                          \
	}
#define BUILTIN_PARTS(name, what)                                                                                      \
	{                                                                                                              \
		name, TROUPE_PARTS, 0, 0, what                                                                         \
	}
#define BUILTIN_END                                                                                                    \
	{                                                                                                              \
		NULL, TROUPE_PARTS, 0, 0, NULL                                                                         \
	}

/* NaN, which a damaged state may contain, becomes 0 before it is clamped: so NaN is never passed on. */
static inline double builtin_clamp(double value, double low, double high)
{
	if (isnan(value))
		value = 0;
	return value < low ? low : value > high ? high : value;
}

/* Joints that have an axis to drive. */
struct builtin_joints {
	const uint32_t *at;
	const char *first_name; /* as written in the file; used in topics */
	uint32_t count;         /* at least 1 */
};

/* Finds the joints that the children called `child` name. The plug-in is left out if there is no child, or if a joint
 * does not exist or cannot be driven. */
bool builtin_find_joints(struct troupe_system *self, const struct troupe_element *plugin, const char *child,
	struct builtin_joints *ret_joints);
/* Drives axis 0 of all joints at a velocity in rad/s or m/s. */
static inline void builtin_drive(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_joints *joints, double velocity)
{
	for (uint32_t i = 0; i < joints->count; i++)
		self->host->joint_drive(step, joints->at[i], velocity);
}
/* Adds a force on axis 0 of all joints, in N or N m, to those of other systems. */
static inline void builtin_push(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_joints *joints, double force)
{
	for (uint32_t i = 0; i < joints->count; i++)
		self->host->joint_force(step, joints->at[i], force);
}

/* The name that a topic has: what the child called `child` says, else "model/NAME/" followed by `usual`. child: NULL is
 * fine. *ret_at, NULL is fine: the element that has the name. */
const char *builtin_topic(struct troupe_system *self, const struct troupe_element *plugin, const char *child,
	const char *usual, const struct troupe_element **ret_at);
/* Takes messages of that type on that topic. */
bool builtin_take(struct troupe_system *self, const struct troupe_element *plugin, const char *child, const char *usual,
	const char *type, uint32_t input);
/* Publishes a topic; `usual`: its whole name. output: the rest of it. */
bool builtin_give(struct troupe_system *self, const struct troupe_element *plugin, const char *child, const char *usual,
	const struct troupe_output *output, uint32_t *ret_output);

/* The place of a joint system's number in a message: the data of a Double or, with <use_actuator_msg>, the number at
 * index <actuator_number> (from 0) in a list of Actuators. */
struct builtin_input {
	const struct troupe_field *field;
	const char *list; /* of Actuators; NULL: a Double */
	uint32_t number;
};

/* Reads the settings from the plug-in. list: the name of the field of Actuators; NULL: Actuators are not taken. */
bool builtin_read_input(struct troupe_system *self, const struct troupe_element *plugin, const char *list,
	struct builtin_input *ret_input);
/* Checks that the message has the number; the reason names the joint if not. */
bool builtin_check_input(const struct troupe_system *self, const struct builtin_input *input, const char *joint,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES]);
/* The number, or `otherwise` if the message does not have it. */
double builtin_input_of(const struct troupe_system *self, const struct builtin_input *input,
	const struct troupe_message *message, double otherwise);

/* Takes the topic of a joint system, with input 0. It is <topic>, if given; else "/model/NAME/" and <sub_topic>, if
 * given. Else it is /actuators for a system that takes Actuators, and /model/NAME/joint/JOINT/ and `usual` for one
 * that takes a Double. */
bool builtin_take_joint(struct troupe_system *self, const struct troupe_element *plugin,
	const struct builtin_joints *joints, const char *usual, const struct builtin_input *input);

/* Rows of the table of parameters. */
#define BUILTIN_ACTUATORS                                                                                              \
	BUILTIN_BOOL("use_actuator_msg", "messages are Actuators; default false"),                                     \
		BUILTIN_BETWEEN("actuator_number", 0, 99999, "which of the Actuators, from 0")

struct builtin_pid {
	double p, i, d;
	double i_max, i_min;     /* limits of the integral's part of the output; none when i_max < i_min */
	double cmd_max, cmd_min; /* limits of the output; none when cmd_max < cmd_min */
	double cmd_offset;
};

struct builtin_pid_words {
	double integral, last_error;
};

/* Rows of the table of parameters. */
#define BUILTIN_PID                                                                                                    \
	BUILTIN_NUMBER("p_gain", "gain of the error"), BUILTIN_NUMBER("i_gain", "gain of its integral"),               \
		BUILTIN_NUMBER("d_gain", "gain of its rate"),                                                          \
		BUILTIN_NUMBER("i_max", "limits of the integral's part of the output"),                                \
		BUILTIN_NUMBER("i_min", "below i_max, else there are no limits"),                                      \
		BUILTIN_NUMBER("cmd_max", "limits of the output"),                                                     \
		BUILTIN_NUMBER("cmd_min", "below cmd_max, else there are no limits"),                                  \
		BUILTIN_NUMBER("cmd_offset", "is added to the output")
/* Reads p_gain, i_gain, ...; *pid holds the defaults before. */
void builtin_read_pid(struct troupe_system *self, const struct troupe_element *plugin, struct builtin_pid *pid);
/* error: the actual value minus the desired value. Returns the output. */
double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt);

#endif
