/* Code that built-in systems share: lists of joints, topics with Gazebo's names, numbers of a message, PID control.
 * Each kind is one file. Its parameters, defaults and topics are those of Gazebo.
 *
 * The words of a system are a struct of 8-byte members. */
#ifndef BUILTIN_PARTS_H
#define BUILTIN_PARTS_H

#include <troupe/plugin.h>

#define BUILTIN_NUMBER_MAX 1e9   /* limit of any parameter, and of a force in N or N m */
#define BUILTIN_VELOCITY_MAX 1e4 /* m/s or rad/s; far below the limit at which a model has diverged */

extern const struct troupe_kind builtin_diff_drive, builtin_velocity_control, builtin_joint_position_controller,
	builtin_joint_controller, builtin_apply_joint_force, builtin_joint_state_publisher, builtin_pose_publisher,
	builtin_odometry_publisher, builtin_ackermann_steering, builtin_mecanum_drive,
	builtin_joint_trajectory_controller, builtin_trajectory_follower, builtin_drive_to_pose_controller,
	builtin_controller_manager;

extern const struct troupe_kind builtin_lift_drag, builtin_buoyancy, builtin_thruster, builtin_hydrodynamics,
	builtin_wind_effects, builtin_multicopter_motor_model, builtin_apply_link_wrench, builtin_buoyancy_engine,
	builtin_multicopter_velocity_control, builtin_advanced_lift_drag;

extern const struct troupe_kind builtin_ardupilot, builtin_px4, builtin_px4_sensor, builtin_detachable_joint,
	builtin_wheel_slip, builtin_track_controller, builtin_tracked_vehicle, builtin_follow_actor;

extern const struct troupe_kind builtin_rmf_component, builtin_rmf_dispenser, builtin_rmf_door, builtin_rmf_ingestor,
	builtin_rmf_lift, builtin_rmf_slotcar, builtin_rmf_readonly, builtin_rmf_crowd, builtin_rmf_person;

extern const struct troupe_kind builtin_comms_endpoint, builtin_perfect_comms, builtin_rf_comms, builtin_acoustic_comms;

extern const struct troupe_kind builtin_breadcrumbs, builtin_kinetic_energy_monitor, builtin_linear_battery,
	builtin_performer_detector, builtin_touch_plugin, builtin_triggered_publisher;

/* The names by which a world file may name a plug-in. */
#define BUILTIN_NAMES(stem)                                                                                            \
	((const char *const[]){"gz::sim::systems::" stem, "ignition::gazebo::systems::" stem, "troupe::" stem, NULL})

/* Whether the <plugin> has a name that ends so: "::Thruster". */
bool builtin_is_named(const struct troupe_host *host, const struct troupe_element *plugin, const char *end);

/* Fields of messages that a plug-in reads or fills, each with the whole name of its type. */
struct builtin_field {
	const struct troupe_field **ret_field;
	const char *type, *path;
};
/* Finds all fields; false: one does not exist, and the host has said which. */
bool builtin_find_fields(struct troupe_system *self, const struct builtin_field *fields, size_t count);

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
/* Has an effect in Gazebo, but none here. why: for the warning. */
#define BUILTIN_UNUSED(name, why)                                                                                      \
	{                                                                                                              \
		name, TROUPE_UNUSED, 0, 0, why                                                                         \
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
	uint32_t count;         /* at least 1, where a file names them */
};

/* Finds the joints that the children called `child` name. The plug-in is left out if there is no child, or if a joint
 * does not exist or cannot be driven. */
bool builtin_find_joints(struct troupe_system *self, const struct troupe_element *plugin, const char *child,
	struct builtin_joints *ret_joints);
/* The joint's name in the model that the <plugin> stands in: "arm", "nested::arm". NULL: it is not of that model, but
 * of another in the same top-level model. */
const char *builtin_own_joint(const struct troupe_system *self, uint32_t joint);
/* Finds the link that the child called `child` names. The plug-in is left out if there is no such child or link. */
bool builtin_find_link(
	struct troupe_system *self, const struct troupe_element *plugin, const char *child, uint32_t *ret_link);
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

/* The topic on which MulticopterVelocityControl gives the speeds of the motors of its model. */
static inline const char *builtin_motor_topic(struct troupe_system *self)
{
	return self->host->print(self, "/model/%s/command/motor_speed", self->host->owner_name(self));
}

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
 * given. If neither is given, it is /actuators for a system that takes Actuators, and /model/NAME/joint/JOINT/ and
 * `usual` for one that takes a Double. */
bool builtin_take_joint(struct troupe_system *self, const struct troupe_element *plugin,
	const struct builtin_joints *joints, const char *usual, const struct builtin_input *input);

/* Rows of the table of parameters. */
#define BUILTIN_ACTUATORS                                                                                              \
	BUILTIN_BOOL("use_actuator_msg", "messages are Actuators; default false"),                                     \
		BUILTIN_BETWEEN("actuator_number", 0, 99999, "which of the Actuators, from 0")

/* The number that a text of a TROUPE_NUMBER is, whatever the locale of the process. */
double builtin_number_of(const char *text);
/* False: the text is not that many numbers, each finite and at most BUILTIN_NUMBER_MAX. */
bool builtin_numbers_of(const char *text, double *ret_values, uint32_t count);

/* --- drives --- */

/* Limits of a velocity, of its rate (acceleration) and of the rate of that rate (jerk). */
struct builtin_limits {
	double velocity_min, velocity_max, acceleration_min, acceleration_max, jerk_min, jerk_max;
};

/* Rows of the table of parameters: the limits of one velocity, whose names have `of` before "velocity" and so on. */
#define BUILTIN_LIMITS(of, unit)                                                                                       \
	BUILTIN_NUMBER("min_" of "velocity", unit "/s"), BUILTIN_NUMBER("max_" of "velocity", unit "/s"),              \
		BUILTIN_BETWEEN("min_" of "acceleration", -BUILTIN_NUMBER_MAX, 0, unit "/s2"),                         \
		BUILTIN_BETWEEN("max_" of "acceleration", 0, BUILTIN_NUMBER_MAX, unit "/s2"),                          \
		BUILTIN_BETWEEN("min_" of "jerk", -BUILTIN_NUMBER_MAX, 0, unit "/s3"),                                 \
		BUILTIN_BETWEEN("max_" of "jerk", 0, BUILTIN_NUMBER_MAX, unit "/s3")
#define BUILTIN_LIMITS_OF_DRIVE                                                                                        \
	BUILTIN_LIMITS("", "m or rad"), BUILTIN_LIMITS("linear_", "m"), BUILTIN_LIMITS("angular_", "rad")
/* Reads the limits of one velocity; *limits holds the defaults before. False: the least is above the greatest. */
bool builtin_read_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const char *of, struct builtin_limits *limits);
/* Reads the limits of a drive. Names without linear or angular are for both; the others override them. */
bool builtin_read_drive_limits(struct troupe_system *self, const struct troupe_element *plugin,
	struct builtin_limits *ret_linear, struct builtin_limits *ret_angular);
/* No limits. */
struct builtin_limits builtin_unlimited(void);
/* The value, limited in jerk, then in acceleration, then in velocity, as in Gazebo; last, before: the values of the
 * last step and of the one before it. */
double builtin_limit(double value, const struct builtin_limits *limits, double last, double before, double dt);

/* Words of a drive that a Twist commands: linear is forward, in m/s; angular is to the left, in rad/s. */
struct builtin_speed {
	double linear, angular;
};
struct builtin_speeds {
	struct builtin_speed target;       /* the present command */
	struct builtin_speed last, before; /* after limits, in the last step and in the one before it */
};
#define BUILTIN_SPEEDS_WORDS                                                                                           \
	{"target linear", TROUPE_WORD_DOUBLE}, {"target angular", TROUPE_WORD_DOUBLE},                                 \
		{"last linear", TROUPE_WORD_DOUBLE}, {"last angular", TROUPE_WORD_DOUBLE},                             \
		{"linear before", TROUPE_WORD_DOUBLE},                                                                 \
	{                                                                                                              \
		"angular before", TROUPE_WORD_DOUBLE                                                                   \
	}
/* Limits the target, remembers the result as `last`, and returns it. */
struct builtin_speed builtin_limit_speeds(struct builtin_speeds *speeds, const struct builtin_limits *linear,
	const struct builtin_limits *angular, double dt);

/* Rows of the table of parameters. */
#define BUILTIN_ODOMETRY                                                                                               \
	BUILTIN_BETWEEN("odom_publish_frequency", 0, BUILTIN_NUMBER_MAX, "Hz, default 50; 0: in each step"),           \
		BUILTIN_TEXT("odom_topic", "default: /model/NAME/odometry"),                                           \
		BUILTIN_TEXT("tf_topic", "default: /model/NAME/tf"), BUILTIN_TEXT("frame_id", "default: NAME/odom"),   \
		BUILTIN_TEXT("child_frame_id", "default: NAME/LINK"), BUILTIN_PUBLISHED
/* The same; not Gazebo's: the usual odometry of ROS may be another system's. */
#define BUILTIN_PUBLISHED                                                                                              \
	BUILTIN_BOOL("publish_odometry", "false: no odometry is published; default true"),                             \
		BUILTIN_BOOL("publish_tf", "false: no transform is published; default true")
/* Publishes what reckon() gives; topics, frames and rate as Gazebo names them. */
bool builtin_give_odometry(struct troupe_system *self, const struct troupe_element *plugin);
/* Words of odometry: the pose relative to the initial one; yaw counts full turns. */
struct builtin_reckoned {
	double x, y, yaw;
};
#define BUILTIN_RECKONED_WORDS                                                                                         \
	{"odometry x", TROUPE_WORD_DOUBLE}, {"odometry y", TROUPE_WORD_DOUBLE},                                        \
	{                                                                                                              \
		"odometry yaw", TROUPE_WORD_DOUBLE                                                                     \
	}
/* Goes on along an arc of length `ahead`, in m, that turns by `turn`, in rad. */
void builtin_reckon(const struct troupe_host *host, struct builtin_reckoned *reckoned, double ahead, double turn);
/* The chord of an arc of length 1, which has the direction in the middle of the arc: sin(turn / 2) / (turn / 2). */
double builtin_chord(const struct troupe_host *host, double turn);
/* A frame that does not depend on the model's origin: its origin between the two joints, or `back` m behind it, y
 * towards the left one, z up. */
struct troupe_pose builtin_axle(
	const struct troupe_system *self, uint32_t left_joint, uint32_t right_joint, double back);

/* --- PID --- */

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
/* Reads p_gain, i_gain, ... after the prefix `before`; *pid holds the defaults before. */
void builtin_read_pid(
	struct troupe_system *self, const struct troupe_element *plugin, const char *before, struct builtin_pid *pid);
/* error: the actual value minus the desired value. Returns the output. */
double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt);

/* A row of the table of parameters, of those that hold a position by velocities. Not Gazebo's. */
#define BUILTIN_VELOCITY_GAIN                                                                                          \
	BUILTIN_BETWEEN("velocity_gain", 0, BUILTIN_NUMBER_MAX,                                                        \
		"1/s: the velocity for an error of 1; default 0: the velocity that removes the error in a step")
/* The velocity that removes a distance with this gain, but in no less than a step. */
double builtin_velocity_to(double distance, double gain, double dt);

/* --- servos ------------------------------------------------------------------------------------------------------- */

/* What an autopilot's channel drives: axis 0 of a joint. */
struct builtin_servo {
	enum builtin_servo_drive { BUILTIN_SERVO_VELOCITY, BUILTIN_SERVO_POSITION, BUILTIN_SERVO_EFFORT } drive;
	bool by_force; /* velocity and position are controlled by the PID; else the joint follows as it can */
	uint32_t joint;
	struct builtin_pid pid;
};
/* In pre_update(). target: rad/s or m/s, rad or m, N or N m. */
void builtin_drive_servo(const struct troupe_system *self, const struct troupe_step *step,
	const struct builtin_servo *servo, struct builtin_pid_words *words, double target);

/* --- controllers of joints ---------------------------------------------------------------------------------------- */

/* Brings the first of some joints to the position or velocity that messages give. It is the first member of a
 * config. */
struct builtin_control {
	struct builtin_joints joints;
	struct builtin_input input;
	struct builtin_pid pid;
	double begin; /* the target of state 0 */
};

/* All words of such a system. */
struct builtin_control_words {
	double target;
	struct builtin_pid_words pid;
};
extern const struct troupe_words builtin_control_words[];

/* Reads <joint_name>, the child called `begin` (default 0) and the PID; *control holds the defaults of this before. */
bool builtin_read_control(struct troupe_system *self, const struct troupe_element *plugin, const char *begin,
	struct builtin_control *control);
/* Takes the topic. list, usual: see builtin_read_input() and builtin_take_joint(). */
bool builtin_take_control(struct troupe_system *self, const struct troupe_element *plugin, const char *list,
	const char *usual, struct builtin_control *control);
/* Functions of the kind. */
void builtin_control_init(const struct troupe_system *self, void *words);
bool builtin_control_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES]);
void builtin_control_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words);

#endif
