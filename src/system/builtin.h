/* What the built-in systems share: finding what a plug-in names, topics, numbers, PID. Each system is one file and one
 * of the ops below; its parameters, defaults and topics are Gazebo's.
 *
 * Their words are structs of 8-byte members laid over the model's system words. */
#ifndef SYSTEM_BUILTIN_H
#define SYSTEM_BUILTIN_H

#include "system/system.h"

#define BUILTIN_NUMBER_MAX 1e9   /* of any parameter, and of a force in N or N m */
#define BUILTIN_VELOCITY_MAX 1e4 /* m/s or rad/s; well below where the physics gives a model up as diverged */

extern const struct system_ops diff_drive_ops, velocity_control_ops, joint_position_controller_ops,
	joint_controller_ops, apply_joint_force_ops;

/* The names that a plug-in goes by. */
#define BUILTIN_NAMES(stem)                                                                                            \
	((const char *const[]){"gz::sim::systems::" stem, "ignition::gazebo::systems::" stem, "troupe::" stem, NULL})

/* NaN, as a damaged state may hold it, is as near to 0 as can be: it never gets further. */
static inline double builtin_clamp(double value, double low, double high)
{
	if (isnan(value))
		value = 0;
	return value < low ? low : value > high ? high : value;
}

/* The model that holds the plug-in: the system's own, or one nested in it. */
const struct sdf_model *builtin_owner(const struct system *system, const struct sdf_element *plugin);

/* TROUPE_EWORLD for a plug-in in a static model, which it could not move. */
troupe_status builtin_require_moving(
	const struct system *system, const struct sdf_element *plugin, struct troupe_error *error);

/* Joints of the scene that have an axis to drive. */
struct builtin_joints {
	const uint32_t *at;
	const char *first_name; /* as written; topics carry it */
	uint32_t count;         /* at least 1 */
};

/* All children of that name, each the name of a joint of the plug-in's model ("joint", "nested::joint"). None, one that
 * names nothing or cannot be driven: TROUPE_EWORLD. */
troupe_status builtin_find_joints(const struct system *system, const struct sdf_element *plugin, const char *child,
	struct arena *arena, struct builtin_joints *ret_joints, struct troupe_error *error);
/* Axis 0 in state k: rad or m. scene_axis_rate() tells its rate. */
double builtin_joint_position(const struct system_step *step, uint32_t joint);
/* Axis 0 of all of them, in rad/s or m/s, within BUILTIN_VELOCITY_MAX. */
void builtin_drive(const struct builtin_joints *joints, double velocity, const struct control *control);
/* A force on axis 0 of all of them, in N or N m, on top of what others ask for. */
void builtin_push(const struct builtin_joints *joints, double force, const struct control *control);

/* A link, named by the element's text. */
troupe_status builtin_find_link(const struct system *system, const struct sdf_element *plugin,
	const struct sdf_element *name, struct arena *arena, uint32_t *ret_link, struct troupe_error *error);

/* Adds the topic that the child called `child` names, else "/model/NAME/" and the usual rest. */
troupe_status builtin_add_topic(struct system *system, const struct sdf_element *plugin, const char *child,
	const char *usual, const struct message_schema *schema, uint32_t tag, struct arena *arena,
	struct troupe_error *error);

/* Where a joint system finds its number in a message: the data of a Double or, with <use_actuator_msg>, the number
 * <actuator_number>, from 0, of a list of Actuators. */
struct builtin_input {
	bool of_actuators;
	uint32_t slot, number; /* of Actuators */
};

/* Reads it; slot: of Actuators. Actuators without their number: TROUPE_EINVAL. */
troupe_status builtin_read_input(
	const struct sdf_element *plugin, uint32_t slot, struct builtin_input *ret_input, struct troupe_error *error);
/* Whether the number is in the message; TROUPE_ECOMMAND with the joint's name otherwise. */
troupe_status builtin_check_input(const struct builtin_input *input, const char *joint, const struct message *message,
	struct troupe_error *error);
/* The number; `otherwise` when the message does not have it. */
double builtin_input_of(const struct builtin_input *input, const struct message *message, double otherwise);

/* A joint system's topic, with tag 0: <topic>, else "/model/NAME/" and <sub_topic>, else /actuators for a system that
 * takes Actuators and /model/NAME/joint/JOINT/ and the usual rest for one that takes a Double. */
troupe_status builtin_add_joint_topic(struct system *system, const struct sdf_element *plugin, const char *joint,
	const char *usual, const struct builtin_input *input, struct arena *arena, struct troupe_error *error);

/* A numeric parameter: into *value, which holds the default. */
struct builtin_number {
	const char *name;
	double *value;
	double low, high;
};

troupe_status builtin_read_numbers(const struct sdf_element *plugin, const struct builtin_number *numbers, size_t count,
	struct troupe_error *error);

struct builtin_pid {
	double p, i, d;
	double i_max, i_min;     /* of the integral's part of the output; none when i_max < i_min */
	double cmd_max, cmd_min; /* of the output; none when cmd_max < cmd_min */
	double cmd_offset;
};

struct builtin_pid_words {
	double integral, last_error;
};

/* p_gain, i_gain, ... over the defaults in *pid. */
troupe_status builtin_read_pid(const struct sdf_element *plugin, struct builtin_pid *pid, struct troupe_error *error);
/* error: what is, less what is wanted. */
double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt);

#endif
