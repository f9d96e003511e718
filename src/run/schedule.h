/* Commands bound to steps: those known from the start, and those that other threads add while it runs.
 *
 *               add   post  due      X needs outside exclusion
 *   add          X     -     X       add: before the run, or by the primary
 *   post         -     -     -       post: any thread; lock-free; wait-free for the primary
 *   due          X     -     X       due: the primary, between steps
 */
#ifndef RUN_SCHEDULE_H
#define RUN_SCHEDULE_H

#include "system/system.h"

#include <stdatomic.h>

enum { SCHEDULE_COMMANDS_MAX = 1 << 22 };

enum command_kind { COMMAND_SYSTEM, COMMAND_WORLD_CONTROL };

struct command {
	uint64_t step; /* taken at the start of this step, or of the next one if that is past */
	enum command_kind kind;
	struct system_address to; /* COMMAND_SYSTEM */
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
};

/* Makes a command out of a topic and a message in text form. TROUPE_ECOMMAND says what is wrong with them. */
troupe_status command_parse(const struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, struct command *ret_command, struct troupe_error *error);

troupe_status schedule_add(struct schedule *schedule, const struct command *command, struct troupe_error *error);
void schedule_post(struct schedule *schedule, const struct command *command);
/* The next command due at or before `step`; NULL when there are no more. */
const struct command *schedule_due(struct schedule *schedule, uint64_t step);
/* Whether anything is still to come. */
bool schedule_pending(const struct schedule *schedule);
void schedule_fini(struct schedule *schedule);

#endif
