/* A command: what a topic and a message mean in a world, before its step comes (run/schedule.h).
 *
 * A command is for a service of the world, or for the systems that listen to its topic when its step comes: models
 * come and go. The type that a topic carries must be known when the command is posted. The exception: when a model
 * may still be created that listens to the topic, the command waits as text. */
#ifndef RUN_WORLD_COMMAND_H
#define RUN_WORLD_COMMAND_H

#include "base/pack.h"
#include "system/system.h"

#include <stdatomic.h>

enum { COMMAND_TEXT_BYTES_MAX = 4096 }; /* of a message whose type is not known yet */
#define COMMAND_TIME_MAX_S 1e12         /* of a timed command */

/* The target of a command that was given by handle; it is looked up when the step of the command comes. */
enum command_target_kind {
	TARGET_NONE,        /* none: the command has a topic */
	TARGET_TWIST,       /* the system that drives a model: gz.msgs.Twist */
	TARGET_JOINT,       /* the system that drives a joint: gz.msgs.Double */
	TARGET_JOINT_STATE, /* an axis of a joint: position, velocity */
	TARGET_WRENCH,      /* a link: force x y z, torque x y z */
};

struct command_target {
	enum command_target_kind kind;
	uint32_t at, born; /* place in the scene, and the low half of its model's id */
	uint32_t axis;
};

/* Shared by the copies of one command that was given to several worlds. The command is refused only when no system
 * listens to it in any of the worlds. The world that takes its copy last, which is the last world of the file, then
 * refuses it. */
struct broadcast {
	_Atomic uint32_t copies; /* copies in memory; the last one frees this struct */
	_Atomic uint32_t open;   /* copies whose step has not come yet */
	_Atomic bool accepted;   /* a system listened in some world */
};

/* Gets the outcome of a command. */
struct command_call {
	/* Called once: between steps, on the thread of the primary, when the effects of the command are in the state,
	 * or when it is refused; or when the schedule is freed and the command was not taken (TROUPE_EPEER). Not called
	 * when posting fails. step: the state has that number. text: the effect, or the error; valid during the
	 * call. It must be quick. */
	void (*done)(struct command_call *call, uint64_t step, troupe_status status, const char *text);
};

struct command_service; /* run/services.h */
struct prepared;        /* run/prepare.h */

struct command {
	uint64_t step; /* taken at the start of this step */
	bool timed;    /* bound to simulated time, at_s after the start of the world */
	double at_s;
	const struct command_service *service; /* run/services.h; NULL: for the systems that listen to its topic */
	char *topic;                           /* owned; NULL while the command has only a target */
	char *client; /* owned; the robot client that it acts for, with no more rights than the client; NULL: none */
	/* Of run/owners.h: the robot client that it acts for. The primary finds it by `client`, or by the header of the
	 * message; of a command that a system asks for it is the owner of the system's model. 0: none. */
	uint32_t owner;
	ProtobufCMessage *message; /* owned; NULL while there is a text */
	char *text;                /* owned; the message as posted, while its type is not known; NULL: it was parsed */
	struct command_target target;
	struct broadcast *broadcast; /* NULL: the command was given to this world alone, or it is timed */
	bool optional;               /* timed, and given to several worlds: no listener in this one is no error */
	struct prepared *prepared;   /* of a command that creates models, from the time when it is posted; owned */
	bool saved;                  /* it waited in a saved state from which the run began, or which it has taken up */
	bool adopted;                /* it waited in a saved state that this run, or the run that was saved, took up */
	bool told;                   /* the primary has told of it, although it is not taken yet */
	struct command_call *call;   /* NULL: no code waits for the outcome */
};

/* Whether the command creates models. */
bool command_creates(const struct command *command);
/* Gives the outcome to the command's caller, if there is one and it has not got it before. */
void command_answer(struct command *command, uint64_t step, troupe_status status, const char *text);
/* Whether the caller gets the outcome only when the steps that the command asks for are taken. */
bool command_blocks(const struct command *command);

/* Makes a command out of a topic and a message in text form. Any thread. TROUPE_ECOMMAND says what is wrong with
 * topic or text. may_create: see struct schedule; read, and set by a command that creates models. */
troupe_status command_parse(struct systems *systems, const char *world, const char *topic, const char *text,
	_Atomic bool *may_create, struct command *ret_command, struct troupe_error *error);
/* The same with a message as bytes of the type with this name. A service also takes its service_sent_type(). A client
 * of Gazebo does not send a field that has its default, and means the default: so a WorldControl without pause is taken
 * as pause: false, and a coordinate of gravity that is not sent as 0. */
troupe_status command_of_bytes(struct systems *systems, const char *world, const char *topic, const char *type,
	const void *bytes, size_t count, _Atomic bool *may_create, struct command *ret_command,
	struct troupe_error *error);
/* A light that a client of Gazebo sends: all its numbers count as given. */
struct Troupe__Msgs__SetLight;
void command_mean_light(struct Troupe__Msgs__SetLight *light);
/* Parses a text when its step has come; of other commands for systems, checks the type of the topic again. */
troupe_status command_parse_late(struct systems *systems, struct command *command, struct troupe_error *error);
/* For `copies` copies; command_fini() of each copy releases it. */
struct broadcast *broadcast_create(uint32_t copies);
/* Call it once, when the step of the command has come. True: no system listens in this world, and that is no error
 * here. */
bool command_passes(struct systems *systems, const struct command *command);
void command_fini(struct command *command);

/* The same out of `count` numbers: see message_of_numbers(). */
troupe_status command_of_numbers(struct systems *systems, const char *world, const char *topic, const double *numbers,
	uint32_t count, struct command *ret_command, struct troupe_error *error);
/* Turns a command that was given by handle into a command with a topic. The primary's, between steps. On failure
 * (TROUPE_ECOMMAND: the target is gone, or no system drives it) the command has a topic, too, for the report. */
troupe_status command_find_target(
	const struct systems *systems, const struct scene *scene, struct command *command, struct troupe_error *error);
/* The client, the topic and the message as bytes, for a recording, and back. command_unpack() checks the type of a
 * service; a command for systems is checked when its step comes, by command_parse_late(). TROUPE_ECOMMAND; in->bad:
 * damaged. */
void command_pack(const struct command *command, struct text *out);
troupe_status command_unpack(struct unpack *in, const char *world, uint64_t step, _Atomic bool *may_create,
	struct command *ret_command, struct troupe_error *error);
/* The same for a command that has a target and no topic: the handle is packed, and looked up only when the step comes,
 * because its model may go until then, or come back with a reset. */
void command_pack_target(const struct command *command, struct text *out);
void command_unpack_target(struct unpack *in, uint64_t step, struct command *ret_command);

#endif
