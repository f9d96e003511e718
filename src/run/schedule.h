/* Commands bound to steps, which any thread posts before the run or while it goes on.
 *
 *               post  due      X needs outside exclusion
 *   post         -     -       post: any thread; lock-free; wait-free for the primary
 *   due          -     X       due: the primary, between steps
 *
 * A command costs O(log n) of those that wait, in whatever order they come.
 *
 * A command is for the world, at one of its services, or for whoever listens to a topic when its step comes: models
 * come and go. What a topic carries must be known when the command is given, unless a model may still be created that
 * hears it: then its text waits. */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "base/pack.h"
#include "system/system.h"

#include <stdatomic.h>

/* Of all that wait, whether the primary has seen them or not. */
enum { SCHEDULE_COMMANDS_MAX = 1 << 22 };
#define SCHEDULE_BYTES_MAX (UINT64_C(1) << 30)

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
	COMMAND_RESET_MODEL,  /* not Gazebo's */
	COMMAND_SET_VELOCITY, /* not Gazebo's */
	COMMAND_SET_JOINT,    /* not Gazebo's */
	COMMAND_WRENCH,
};

/* Whom a command given by handle is for: what that means is looked up when its step comes. */
enum command_target_kind {
	TARGET_NONE,        /* the topic says */
	TARGET_TWIST,       /* a model's drive: gz.msgs.Twist */
	TARGET_JOINT,       /* what drives a joint: gz.msgs.Double */
	TARGET_JOINT_STATE, /* an axis of a joint: position, velocity */
	TARGET_WRENCH,      /* a link: force x y z, torque x y z */
};

struct command_target {
	enum command_target_kind kind;
	uint32_t at, born; /* place in the scene, and the low half of its model's id */
	uint32_t axis;
};

/* One command that was given to several worlds, a copy to each. It is refused only when nobody hears it in any of them:
 * by the world that takes its copy last, which is the last world of the file. */
struct hearing {
	_Atomic uint32_t copies; /* in memory; the last one frees this */
	_Atomic uint32_t open;   /* copies whose step has not come */
	_Atomic bool heard;      /* in some world */
};

struct command {
	uint64_t step; /* taken at the start of this step */
	enum command_kind kind;
	char *topic; /* owned, like the message's texts; NULL while the target says whom it is for */
	char *text;  /* owned; as it was given; NULL: as numbers, see command_text() */
	const struct message_schema *schema;
	struct message message;
	struct command_target target;
	struct hearing *hearing; /* NULL: the command was given to this world alone */
};

typedef VEC(struct hearing *) hearing_list;

struct posted {
	struct posted *next;
	uint64_t bytes; /* that it counts for */
	struct command command;
};

struct queued {
	uint64_t step, order; /* order: equal steps are taken in that of posting */
	struct posted *posted;
};

struct schedule {                        /* zeroed is empty */
	VEC(struct queued) heap;         /* the primary's: the least (step, order) first */
	uint64_t order;                  /* the next one's */
	_Atomic(struct posted *) posted; /* newest first. Writers: any thread; emptied by the primary. */
	_Atomic uint64_t count, bytes;   /* of all that wait. Writers: who posts, up; the primary, down. */
	_Atomic bool may_create;         /* some command creates models: topics may appear */
	/* The first step whose commands the primary has not taken yet. Who posts counts himself while he reads it and
	 * until his command is in the list; the primary, which moves it on, then waits until nobody is counted: so a
	 * command is taken at the step that its poster was told. */
	_Atomic uint64_t open_step;
	_Atomic uint32_t posting;
};

/* Makes a command out of a topic and a message in text form. Any thread. TROUPE_ECOMMAND says what is wrong with them.
 * may_create: see struct schedule; read, and set by a command that creates. */
troupe_status command_parse(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, _Atomic bool *may_create, struct command *ret_command, struct troupe_error *error);
/* Parses a COMMAND_TEXT now that its step has come. */
troupe_status command_parse_late(struct systems *systems, struct command *command, struct troupe_error *error);
/* For so many copies, each of which lets go of it by command_fini(). */
struct hearing *hearing_create(uint32_t copies);
/* To be asked once, when the step of the command has come. True: nobody hears it in this world, and that is no error
 * here. */
bool command_passes(struct systems *systems, const struct command *command);
void command_fini(struct command *command);

/* The same out of numbers: those of the message in their order, `count` of them. */
troupe_status command_of_numbers(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const double *numbers, uint32_t count, struct command *ret_command, struct troupe_error *error);
/* Makes a command that was given by handle one for a topic. The primary's, between steps. On
 * failure (TROUPE_ECOMMAND: there is no such thing any more, or nothing drives it) the command has a topic all the
 * same, to be told of. */
troupe_status command_find_target(
	const struct systems *systems, const struct scene *scene, struct command *command, struct troupe_error *error);
/* The message in text form: as it was given, else made into `scratch`. */
const char *command_text(const struct command *command, struct text *scratch);

enum schedule_late { SCHEDULE_LATE_NEXT, SCHEDULE_LATE_REFUSE }; /* a command for a step that is past */

/* The command becomes the schedule's; on failure (TROUPE_ELIMIT: too many wait, or too much memory is behind them;
 * TROUPE_ECOMMAND: its step is past) it is freed. *ret_step: the step that it was accepted for; may be NULL. */
troupe_status schedule_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	uint64_t *ret_step, struct troupe_error *error);
/* The same in two calls, for a command that is taken by several schedules or by none. Between them posted->command.step
 * is the step that it is accepted for, and the primary cannot begin that step: so nothing that waits may stand there.
 * keep: false withdraws it, and frees it. */
troupe_status schedule_begin_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	struct posted **ret_posted, struct troupe_error *error);
void schedule_end_post(struct schedule *schedule, struct posted *posted, bool keep);
/* What is posted from now on is for `step` or later. The primary's; before it asks what is due at the step before. */
void schedule_open(struct schedule *schedule, uint64_t step);
/* The next command due at or before `step`, which is the caller's from now on; false when there are no more. */
bool schedule_due(struct schedule *schedule, uint64_t step, struct command *ret_command);
/* Whether anything is still to come. */
bool schedule_pending(const struct schedule *schedule);
/* How many are. Any thread. */
uint64_t schedule_waiting(const struct schedule *schedule);
/* The commands that are still to come, in order; NULL after the last. To be asked for from i = 0 on. Not while anybody
 * posts. */
const struct command *schedule_peek(struct schedule *schedule, uint32_t i);
/* All of them. The schedule stays as it is. */
void schedule_pack(struct schedule *schedule, struct text *out);
/* Adds those. systems: as they were when packed. hearings: of the commands that the worlds unpacked before share with
 * this one, by number; what this one shares is added. */
troupe_status schedule_unpack(struct schedule *schedule, struct systems *systems, const char *world,
	hearing_list *hearings, struct unpack *in, struct troupe_error *error);
void schedule_fini(struct schedule *schedule);

#endif
