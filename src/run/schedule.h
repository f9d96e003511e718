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
 * a command like the others: recorded at its step, and obeyed after those that were bound to the step. */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "base/pack.h"
#include "run/world_command.h"
#include "run/prepare.h"
#include "run/timetable.h"

#include <stdatomic.h>

/* Limits on all commands that wait, whether the primary has seen them or not. */
enum { SCHEDULE_COMMANDS_MAX = 1 << 22 };
#define SCHEDULE_BYTES_MAX (UINT64_C(1) << 30)

typedef VEC(struct broadcast *) broadcast_list;

struct posted {
	struct posted *next;
	bool is_live;   /* it got a step because it asked for none, or for a past one */
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
	/* The last step that a live command got. A later one gets no earlier step, although `open_step` is lowered when
	 * a window has fewer steps than it might have had, or is refuted. */
	_Atomic uint64_t live_step;
	struct preparer *preparer; /* of commands that create models; NULL: they are not prepared. Set before a post. */
};

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
