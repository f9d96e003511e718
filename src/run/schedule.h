/* Commands bound to steps, or to simulated time. Any thread posts them, before the run or during it.
 *
 *               post  due      X needs outside exclusion
 *   post         -     -       post: any thread; lock-free; wait-free for the primary. A command that creates models
 *                              is prepared first (run/prepare.h), which may take long.
 *   due          -     X       due: the primary, between steps
 *
 * A command costs O(log n) of the n commands that wait, in whatever order they come.
 *
 * A command that is bound to simulated time waits in a timetable (run/timetable.h) and stays there. When its time has
 * come, and the world is not paused, schedule_feed() adds a copy to the commands of the step. From there on the copy is
 * a command like the others: recorded at its step, and obeyed after those that were bound to the step.
 *
 * A command is for a service of the world, or for the systems that listen to its topic when its step comes: models
 * come and go. The type that a topic carries must be known when the command is posted. The exception: when a model
 * may still be created that listens to the topic, the command waits as text. */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "base/pack.h"
#include "run/prepare.h"
#include "run/timetable.h"
#include "system/system.h"

#include <stdatomic.h>

/* Limits on all commands that wait, whether the primary has seen them or not. */
enum {
	SCHEDULE_COMMANDS_MAX = 1 << 22,
	COMMAND_TEXT_BYTES_MAX = 4096, /* of a message whose type is not known yet */
};
#define SCHEDULE_BYTES_MAX (UINT64_C(1) << 30)
#define COMMAND_TIME_MAX_S 1e12 /* of a timed command */

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

struct command_service;

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

typedef VEC(struct broadcast *) broadcast_list;

struct posted {
	struct posted *next;
	uint64_t bytes; /* bytes counted for it in schedule.bytes */
	struct command command;
};

struct queued_command {
	uint64_t step, order; /* order: commands of one step are taken in the order of posting, adopted ones first */
	struct posted *posted;
};

struct schedule {                        /* zeroed is empty */
	VEC(struct queued_command) heap; /* the primary's: the least (step, order) first */
	uint64_t order;                  /* order of the next command */
	_Atomic(struct posted *) posted; /* newest first. Writers: any thread; emptied by the primary. */
	struct timetable timetable;      /* the primary's: the timed commands */
	_Atomic uint64_t count, bytes;   /* of all commands here. Writers: posting threads, up; the primary, down. */
	_Atomic uint64_t passed;         /* of these, timed ones that wait for a reset. Writer: the primary. */
	_Atomic bool may_create;         /* some command creates models: topics may appear */
	/* The first step whose commands the primary has not taken yet. A posting thread counts itself in `posting`
	 * from before it reads this until its command is in the list. The primary raises this, then waits until
	 * `posting` is 0. So a command is taken at the step that its poster got. */
	_Atomic uint64_t open_step;
	_Atomic uint32_t posting;
	struct preparer *preparer; /* of commands that create models; NULL: they are not prepared. Set before a post. */
};

/* Gives the outcome to the command's caller, if there is one and it has not got it before. */
void command_answer(struct command *command, uint64_t step, troupe_status status, const char *text);
/* Whether the caller gets the outcome only when the steps that the command asks for are taken. */
bool command_blocks(const struct command *command);

/* Makes a command out of a topic and a message in text form. Any thread. TROUPE_ECOMMAND says what is wrong with
 * topic or text. may_create: see struct schedule; read, and set by a command that creates models. */
troupe_status command_parse(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, _Atomic bool *may_create, struct command *ret_command, struct troupe_error *error);
/* The same with a message as bytes of the type with this name. A service also takes its service_sent_type(). A client
 * of Gazebo does not send a field that has its default, and means the default: so a WorldControl without pause is taken
 * as pause: false, and a coordinate of gravity that is not sent as 0. */
troupe_status command_of_bytes(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *type, const void *bytes, size_t count, _Atomic bool *may_create, struct command *ret_command,
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
troupe_status command_of_numbers(struct systems *systems, const char *world, uint64_t step, const char *topic,
	const double *numbers, uint32_t count, struct command *ret_command, struct troupe_error *error);
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

enum schedule_late { SCHEDULE_LATE_NEXT, SCHEDULE_LATE_REFUSE }; /* for a command whose step is past */

/* The schedule takes the command over. On failure it is freed: TROUPE_ELIMIT, too many commands wait or they use too
 * much memory; TROUPE_ECOMMAND, its step is past. *ret_step: the step at which it will be taken; may be NULL. */
troupe_status schedule_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	uint64_t *ret_step, struct troupe_error *error);
/* The same in two calls, for a command that several schedules take, or none. Between the calls posted->command.step
 * is the step at which it will be taken, and the primary cannot begin that step: so the caller must not wait there. The
 * caller may raise the step. keep: false withdraws the command and frees it. */
troupe_status schedule_begin_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	struct posted **ret_posted, struct troupe_error *error);
void schedule_end_post(struct schedule *schedule, struct posted *posted, bool keep);
/* Simulated time is now_s after the start of the world, and the world takes step `step` from there: the timed commands
 * that are due, within slack_s, become commands of this step. False: there are none. from_s: commands for a time before
 * this that were posted since the last call were too late: now_s, or the time at which a window of several steps had
 * begun its second step. The primary's, between steps. */
bool schedule_feed(struct schedule *schedule, uint64_t step, double from_s, double now_s, double slack_s);
/* Until when nothing is due, of all that was posted so far: the first step of a command, UINT64_MAX if none waits for
 * its step; after schedule_feed() the time of the next timed command, by the same clock, INFINITY if there is none. The
 * primary's, between steps. */
uint64_t schedule_next_step(struct schedule *schedule);
double schedule_next_time(struct schedule *schedule);
/* Simulated time was reset: all timed commands are due again. The primary's, between steps. */
void schedule_rewind(struct schedule *schedule);
/* Prepares a command that creates models, and is not posted but obeyed at once. */
void schedule_prepare(struct schedule *schedule, struct command *command);
/* Commands posted from now on are for `step` or later. The primary calls it before it takes the commands of the step
 * before. */
void schedule_open(struct schedule *schedule, uint64_t step);
/* The next command due at or before `step`; the caller then owns it. False when there are no more. */
bool schedule_due(struct schedule *schedule, uint64_t step, struct command *ret_command);
/* The command that schedule_due() would give; it stays in the schedule. NULL: there is none. */
struct command *schedule_next(struct schedule *schedule, uint64_t step);
/* Whether any command waits. */
bool schedule_pending(const struct schedule *schedule);
/* How many commands wait for their step or time. Any thread. */
uint64_t schedule_waiting(const struct schedule *schedule);
/* The commands that wait for their steps, in order; NULL after the last. Ask from i = 0 up. Not while another thread
 * posts. */
const struct command *schedule_peek(struct schedule *schedule, uint32_t i);
/* Adds the files that the commands name. Only commands that create models name files. */
void schedule_collect(struct schedule *schedule, struct files *files);
/* Packs all commands. The schedule stays as it is. */
void schedule_pack(struct schedule *schedule, struct text *out);
/* Adds the packed commands. broadcasts: one for each command that worlds unpacked before share with this one, by
 * number; adds those of this world. */
troupe_status schedule_unpack(struct schedule *schedule, const char *world, broadcast_list *broadcasts,
	struct unpack *in, struct troupe_error *error);
/* The world has taken up another state, in which the commands of `other` waited: drops the adopted commands, and adopts
 * those of `other`, which has none afterwards. Commands that were given to a run stay, also when the run was saved and
 * resumed since; but the timed ones are replaced by those of `other`, because the time is its. A command of its
 * step `from`, or of an earlier one, is taken at step `to`; later ones as many steps later as before. Steps from `to`
 * on must not have begun. TROUPE_ELIMIT: too many commands would wait; then nothing is taken over. */
troupe_status schedule_adopt(
	struct schedule *schedule, struct schedule *other, uint64_t from, uint64_t to, struct troupe_error *error);
/* Forgets the timed commands. */
void schedule_drop_timed(struct schedule *schedule);
void schedule_fini(struct schedule *schedule);

#endif
