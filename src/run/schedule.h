/* Commands bound to steps: those known from the start, and those that other threads add while it runs.
 *
 *               add   post  due      X needs outside exclusion
 *   add          X     -     X       add: before the run, or by the primary
 *   post         -     -     -       post: any thread; lock-free; wait-free for the primary
 *   due          X     -     X       due: the primary, between steps
 *
 * A command is for the world, at one of its services, or for whoever listens to a topic when its step comes: models
 * come and go. What a topic carries must be known when the command is given, unless a model may still be created that
 * hears it: then its text waits. */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "system/system.h"

#include <stdatomic.h>

enum { SCHEDULE_COMMANDS_MAX = 1 << 22 };

enum command_kind {
	COMMAND_SYSTEM, /* for the listeners to its topic */
	COMMAND_TEXT,   /* the same, nobody listened when it was given: not parsed yet */
	/* of the world; the services are Gazebo's, each also as NAME/blocking */
	COMMAND_CONTROL,
	COMMAND_CREATE,
	COMMAND_CREATE_MULTIPLE,
	COMMAND_REMOVE,
	COMMAND_SET_POSE,
	COMMAND_SET_POSE_VECTOR,
	COMMAND_SET_PHYSICS,
	COMMAND_SET_PERFORMER,
};

struct command {
	uint64_t step; /* taken at the start of this step, or of the next one if that is past */
	enum command_kind kind;
	char *topic; /* owned, like the message's texts */
	char *text;  /* owned; COMMAND_TEXT */
	const struct message_schema *schema;
	struct message message;
};

struct posted {
	struct posted *next;
	struct command command;
};

struct schedule {                     /* zeroed is empty */
	VEC(struct command) commands; /* by step; equal steps in the order given */
	uint32_t done;
	_Atomic(struct posted *) posted; /* newest first. Writers: any thread; emptied by the primary. */
	_Atomic bool may_create;         /* some command creates models: topics may appear */
};

/* Makes a command out of a topic and a message in text form. Any thread. TROUPE_ECOMMAND says what is wrong with them.
 * may_create: see struct schedule; read, and set by a command that creates. */
troupe_status command_parse(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, _Atomic bool *may_create, struct command *ret_command, struct troupe_error *error);
/* Parses a COMMAND_TEXT now that its step has come. */
troupe_status command_parse_late(struct systems *systems, struct command *command, struct troupe_error *error);
void command_fini(struct command *command);

/* The command becomes the schedule's, also on failure. */
troupe_status schedule_add(struct schedule *schedule, const struct command *command, struct troupe_error *error);
void schedule_post(struct schedule *schedule, const struct command *command);
/* The next command due at or before `step`, which is the caller's from now on; false when there are no more. */
bool schedule_due(struct schedule *schedule, uint64_t step, struct command *ret_command);
/* Whether anything is still to come. */
bool schedule_pending(const struct schedule *schedule);
void schedule_fini(struct schedule *schedule);

#endif
