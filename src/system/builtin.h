/* Functions that the built-in systems share: joints and links of a plug-in, topics, numbers, PID control. Each system
 * is one file and has one of the ops below. Its parameters, defaults and topics are those of Gazebo.
 *
 * The words of a system are a struct of 8-byte members, stored in the system words of its model. */
#ifndef SYSTEM_BUILTIN_H
#define SYSTEM_BUILTIN_H

#include "system/system.h"

#define BUILTIN_NUMBER_MAX 1e9   /* limit of any parameter, and of a force in N or N m */
#define BUILTIN_VELOCITY_MAX 1e4 /* m/s or rad/s; far below the limit at which a model has diverged */

extern const struct system_ops diff_drive_ops, velocity_control_ops, joint_position_controller_ops,
	joint_controller_ops, apply_joint_force_ops, joint_state_publisher_ops, pose_publisher_ops;

/* The names by which a world file may name a plug-in. */
#define BUILTIN_NAMES(stem)                                                                                            \
	((const char *const[]){"gz::sim::systems::" stem, "ignition::gazebo::systems::" stem, "troupe::" stem, NULL})

/* NaN, which a damaged state may contain, becomes 0 before it is clamped: so NaN is never passed on. */
static inline double builtin_clamp(double value, double low, double high)
{
	if (isnan(value))
		value = 0;
	return value < low ? low : value > high ? high : value;
}

/* The model that contains the plug-in: the model of the system, or one nested in it. */
const struct sdf_model *builtin_owner(const struct system *system, const struct sdf_element *plugin);

/* TROUPE_EINVAL if the plug-in is in a static model, which it could not move. */
troupe_status builtin_require_moving(
	const struct system *system, const struct sdf_element *plugin, struct troupe_error *error);

/* Joints of the scene that have an axis to drive. */
struct builtin_joints {
	const uint32_t *at;
	const char *first_name; /* as written in the file; used in topics */
	uint32_t count;         /* at least 1 */
};

/* Finds the joints that the children called `child` name; names are relative to the plug-in's model ("joint",
 * "nested::joint"). TROUPE_EINVAL if there is no child, or if a joint does not exist or cannot be driven. */
troupe_status builtin_find_joints(const struct system *system, const struct sdf_element *plugin, const char *child,
	struct arena *arena, struct builtin_joints *ret_joints, struct troupe_error *error);
/* Position of axis 0 in state k, in rad or m. scene_axis_rate() has its rate. */
double builtin_joint_position(const struct system_step *step, uint32_t joint);
/* Drives axis 0 of all joints at a velocity in rad/s or m/s, limited to BUILTIN_VELOCITY_MAX. */
void builtin_drive(const struct builtin_joints *joints, double velocity, const struct control *control);
/* Adds a force on axis 0 of all joints, in N or N m, to those of other systems. */
void builtin_push(const struct builtin_joints *joints, double force, const struct control *control);

/* Finds the link that the element's text names. */
troupe_status builtin_find_link(const struct system *system, const struct sdf_element *plugin,
	const struct sdf_element *name, struct arena *arena, uint32_t *ret_link, struct troupe_error *error);

/* Adds the topic that the child called `child` names. Without that child: "/model/NAME/" followed by `usual`. */
troupe_status builtin_add_topic(struct system *system, const struct sdf_element *plugin, const char *child,
	const char *usual, message_type type, uint32_t tag, struct arena *arena, struct troupe_error *error);

/* Adds a topic that is published for the system; it has the name that the child called `child` gives, or, without that
 * child, `usual`. output: the rest of it. */
troupe_status builtin_add_output(struct system *system, const struct sdf_element *plugin, const char *child,
	const char *usual, const struct system_output *output, struct arena *arena, struct troupe_error *error);

/* The place of a joint system's number in a message: the data of a Double or, with <use_actuator_msg>, the number at
 * index <actuator_number> (from 0) in a list of Actuators. */
struct builtin_input {
	const ProtobufCFieldDescriptor *list; /* of Actuators; NULL: a Double */
	uint32_t number;
};

/* Reads the settings from the plug-in. list: the name of the field of Actuators. TROUPE_EINVAL if <actuator_number> is
 * missing. */
troupe_status builtin_read_input(const struct sdf_element *plugin, const char *list, struct builtin_input *ret_input,
	struct troupe_error *error);
/* Checks that the message has the number; TROUPE_ECOMMAND with the joint's name if not. */
troupe_status builtin_check_input(const struct builtin_input *input, const char *joint, const ProtobufCMessage *message,
	struct troupe_error *error);
/* The number, or `otherwise` if the message does not have it. */
double builtin_input_of(const struct builtin_input *input, const ProtobufCMessage *message, double otherwise);

/* Adds the topic of a joint system, with tag 0. It is <topic>, if given; else "/model/NAME/" and <sub_topic>, if
 * given. Else it is /actuators for a system that takes Actuators, and /model/NAME/joint/JOINT/ and `usual` for one
 * that takes a Double. */
troupe_status builtin_add_joint_topic(struct system *system, const struct sdf_element *plugin, const char *joint,
	const char *usual, const struct builtin_input *input, struct arena *arena, struct troupe_error *error);

/* A numeric parameter: it is stored in *value, which holds the default before. */
struct builtin_number {
	const char *name;
	double *value;
	double low, high;
};

troupe_status builtin_read_numbers(const struct sdf_element *plugin, const struct builtin_number *numbers, size_t count,
	struct troupe_error *error);

struct builtin_pid {
	double p, i, d;
	double i_max, i_min;     /* limits of the integral's part of the output; none when i_max < i_min */
	double cmd_max, cmd_min; /* limits of the output; none when cmd_max < cmd_min */
	double cmd_offset;
};

struct builtin_pid_words {
	double integral, last_error;
};

/* Reads p_gain, i_gain, ...; *pid holds the defaults before. */
troupe_status builtin_read_pid(const struct sdf_element *plugin, struct builtin_pid *pid, struct troupe_error *error);
/* error: the actual value minus the desired value. Returns the output. */
double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt);

#endif
