/* Commands to a running world: as text on a topic or service, or as numbers for what is commanded often.
 *
 * Each is bound to a step and taken at its beginning, in the order given, so that the same commands at the same steps
 * give the same bits. A recording has them all, those that were given as numbers too.
 *
 * Any thread, also while the server runs, and inside def.on_step; not inside other callbacks. Errors: TROUPE_ECOMMAND
 * (no such topic, a bad message or number, no handle, a handle of no world of this server, a step that is past),
 * TROUPE_ELIMIT: four million commands wait already, or a GiB of memory is behind them; the command is then not queued.
 * Whether a queued command can be obeyed turns out when its step comes. If not (the handle is stale, nothing drives the
 * model or joint), def.on_reply tells. */
#ifndef TROUPE_COMMAND_H
#define TROUPE_COMMAND_H

#include <troupe/world.h>

#ifdef __cplusplus
extern "C" {
#endif

enum troupe_late {
	TROUPE_LATE_NEXT,   /* a step that is past means the next one */
	TROUPE_LATE_REFUSE, /* it is an error */
};

struct troupe_when {   /* NULL or zeroed: at the next step */
	uint64_t step; /* at whose beginning it is taken */
	enum troupe_late late;
};

/* A command in gz topic's text form. Once a command was given that creates models, a topic that nobody listens to yet
 * is no error: it is looked at when the step comes, and def.on_reply says so if nobody listens then. What comes of
 * commands to services of the world, /world/NAME/create and so on, is told there as well. Of several worlds, a topic
 * that names none is given to all of them or, when one refuses it, to none. ret_step, here and below: the step that the
 * command was accepted for (of several worlds the last one's); may be NULL. */
TROUPE_API troupe_status troupe_command_text(struct troupe_server *server, const struct troupe_when *when,
	const char *topic, const char *text, uint64_t *ret_step, struct troupe_error *error);

/* The same with the message as numbers: those of its schema in their order, at most 16; what is left out is not given.
 * Of gz.msgs.Twist: linear x y z, angular x y z; of gz.msgs.Double and Boolean: data. */
TROUPE_API troupe_status troupe_command_numbers(struct troupe_server *server, const struct troupe_when *when,
	const char *topic, const double *numbers, uint32_t count, uint64_t *ret_step, struct troupe_error *error);

/* A twist for what drives the model (DiffDrive, VelocityControl): on the topic of its first system that takes one,
 * which other models may listen to as well. */
TROUPE_API troupe_status troupe_command_twist(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error);
/* A number for what drives the joint: rad/s or m/s for a JointController, rad or m for a JointPositionController, N m
 * or N for ApplyJointForce; on the topic of the first of them. */
TROUPE_API troupe_status troupe_command_joint(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, double number, uint64_t *ret_step, struct troupe_error *error);
/* Force and torque on a link during one step, in the world's axes, at its body's centre of mass. */
TROUPE_API troupe_status troupe_command_wrench(struct troupe_server *server, const struct troupe_when *when,
	troupe_link link, const struct troupe_wrench *wrench, uint64_t *ret_step, struct troupe_error *error);
/* The model is put there; its velocities stay as they are. */
TROUPE_API troupe_status troupe_command_pose(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_pose *pose, uint64_t *ret_step, struct troupe_error *error);
/* The model moves as one rigid whole from now on: the velocity of its frame. */
TROUPE_API troupe_status troupe_command_velocity(struct troupe_server *server, const struct troupe_when *when,
	troupe_model model, const struct troupe_twist *twist, uint64_t *ret_step, struct troupe_error *error);
/* An axis of a joint of the model is put at a position and moves at a velocity: what hangs on the joint's child goes
 * with it. NAN for one of the two: it stays as it is. */
TROUPE_API troupe_status troupe_command_joint_state(struct troupe_server *server, const struct troupe_when *when,
	troupe_joint joint, uint32_t axis, double position, double velocity, uint64_t *ret_step,
	struct troupe_error *error);

#ifdef __cplusplus
}
#endif
#endif
