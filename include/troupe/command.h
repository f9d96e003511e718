/* Commands to a running world: as text on a topic or service, or as numbers for commands that are given often.
 *
 * Each command is bound to a step or, with troupe_command_timed(), to simulated time. It takes effect at the beginning
 * of that step, and commands of one step take effect in the order in which they were given. So the same commands at the
 * same steps give the same bits. A recording has all commands, also commands that were given as numbers.
 *
 * Any thread may call these functions, also while the server runs, and also inside def.on_step, but not inside other
 * callbacks. Errors: TROUPE_ECOMMAND (no such topic, a bad message or number, an empty handle, a handle of no world
 * of this server, a step in the past); TROUPE_ELIMIT (four million commands wait already, or they use a GiB of
 * memory). A command that is refused is not queued. Whether a queued command can be obeyed is known only when its
 * step comes. If it cannot (the handle is stale, no system drives the model or joint), def.on_reply is called.
 *
 * A command that creates models and is due within 100 steps is prepared by the calling thread: the call parses the SDF
 * and reads meshes, and only then is the command bound to its step. So the call may take long, but the step does not.
 * Commands for later steps are prepared by another thread before their step. Errors of the SDF are given to
 * def.on_reply when the step comes. Files that the SDF names must stay until then. */
#ifndef TROUPE_COMMAND_H
#define TROUPE_COMMAND_H

#include <troupe/world.h>

#ifdef __cplusplus
extern "C" {
#endif

enum troupe_late {
	TROUPE_LATE_NEXT,   /* a step in the past means the next step */
	TROUPE_LATE_REFUSE, /* a step in the past is an error */
};

struct troupe_when {   /* NULL or zeroed: at the next step */
	uint64_t step; /* the command takes effect at the beginning of this step */
	enum troupe_late late;
};

/* A command in gz topic's text form. A topic without a listener is an error, unless a command that creates models was
 * given before: then the topic is checked when the step comes, and def.on_reply is called if it has no listener then.
 * def.on_reply also gets the result of commands to services of the world (/world/NAME/create and so on). A server
 * with several worlds gives a topic that names no world to all its worlds or, if one world refuses it, to none.
 * ret_step, here and below: the step that the command was accepted for, in all worlds; may be NULL. */
TROUPE_API troupe_status troupe_command_text(struct troupe_server *server, const struct troupe_when *when,
	const char *topic, const char *text, uint64_t *ret_step, struct troupe_error *error);

/* A command that is bound to simulated time instead of a step: it is taken in the first step that moves from time_s
 * after the start of the world (def.initial_time_s) or later. So a pause delays it with the world, and a reset of time
 * lets it be taken again. Of one step, such commands come last, in the order of their times. If its time is past, it
 * waits for a reset. It is recorded at each step at which it is taken, and is a part of saved states; a state that the
 * world takes up while it runs brings its own in place of those that were given. A topic that names no world is for all
 * worlds in which it has a listener, each at its own time. */
TROUPE_API troupe_status troupe_command_timed(
	struct troupe_server *server, double time_s, const char *topic, const char *text, struct troupe_error *error);

/* As troupe_command_text(), with the message as bytes, in protobuf's encoding, and the name of its type: gz.msgs.Twist,
 * which is also ignition.msgs.Twist. A client of Gazebo leaves out the fields that have their default, and means the
 * default: so a WorldControl without pause lets the world run, and a coordinate of gravity that is not sent is 0. */
TROUPE_API troupe_status troupe_command_bytes(struct troupe_server *server, const struct troupe_when *when,
	const char *topic, const char *type, const void *bytes, size_t count, uint64_t *ret_step,
	struct troupe_error *error);

/* The same with the message as numbers: its fields in the order of their numbers; the fields of a part stand in the
 * place of the part. Headers do not count, and texts and lists cannot be given. Fields that are left out at the end are
 * not given. gz.msgs.Twist: linear x y z, angular x y z; gz.msgs.Double and Boolean: data. */
TROUPE_API troupe_status troupe_command_numbers(struct troupe_server *server, const struct troupe_when *when,
	const char *topic, const double *numbers, uint32_t count, uint64_t *ret_step, struct troupe_error *error);

/* A twist for the system that drives the model (DiffDrive, VelocityControl). It goes to the topic of the model's
 * first system that takes a twist; other models may listen to the same topic. */
TROUPE_API troupe_status troupe_command_twist(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error);
/* A number for the system that drives the joint: rad/s or m/s for a JointController, rad or m for a
 * JointPositionController, N m or N for ApplyJointForce. It goes to the topic of the first of these systems. */
TROUPE_API troupe_status troupe_command_joint(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, double number, uint64_t *ret_step, struct troupe_error *error);
/* Force and torque on a link during one step, in the world's axes, at the centre of mass of the link's body. */
TROUPE_API troupe_status troupe_command_wrench(struct troupe_server *server, const struct troupe_when *when,
	troupe_link link, const struct troupe_wrench *wrench, uint64_t *ret_step, struct troupe_error *error);
/* Places the model at a pose; its velocities do not change. */
TROUPE_API troupe_status troupe_command_pose(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_pose *pose, uint64_t *ret_step, struct troupe_error *error);
/* Sets the velocity of the model's frame; from then on the model moves as one rigid whole. */
TROUPE_API troupe_status troupe_command_velocity(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error);
/* Sets the position and the velocity of an axis of a joint. The bodies that hang on the joint's child move with it.
 * NAN for one of the two numbers: it does not change. */
TROUPE_API troupe_status troupe_command_joint_state(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, uint32_t axis, double position, double velocity, uint64_t *ret_step,
	struct troupe_error *error);

/* Many at once: troupe_command_twist(), _joint() and _wrench() for each of `count` handles, in their order. The first
 * command that is refused ends the call, with its index in the error ("item 3: ..."); the commands before it are given.
 * Commands of one call are for the same step, while the server does not run and inside def.on_step. */
TROUPE_API troupe_status troupe_command_twists(struct troupe_server *server, const struct troupe_when *when,
	const troupe_model *models, uint32_t count, const struct troupe_twist *twists, struct troupe_error *error);
TROUPE_API troupe_status troupe_command_joints(struct troupe_server *server, const struct troupe_when *when,
	const troupe_joint *joints, uint32_t count, const double *numbers, struct troupe_error *error);
TROUPE_API troupe_status troupe_command_wrenches(struct troupe_server *server, const struct troupe_when *when,
	const troupe_link *links, uint32_t count, const struct troupe_wrench *wrenches, struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
