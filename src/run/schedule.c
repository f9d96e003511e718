/* Any thread posts a command at any time, but a command must be taken at exactly the step that its poster got.
 *
 * Posting threads push onto a lock-free list; the primary empties the list into a heap of its own, ordered by (step,
 * order of posting), and timed commands into its timetable. Before the primary takes the commands of step k, it sets
 * `open_step` to k+1 and waits until no thread is between reading `open_step` and pushing. So no command is pushed for
 * a step whose commands were taken. */
#include "run/schedule.h"

#include "base/clock.h"
#include "base/eventcount.h"
#include "run/services.h"
#include "topic/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the queue ---------------------------------------------------------------------------------------------------- */

static bool schedule_before(const struct queued_command *a, const struct queued_command *b)
{
	return a->step != b->step ? a->step < b->step : a->order < b->order;
}

/* Commands of a state that was taken up come first in their step, because their place must not depend on when the state
 * was taken up: the run may be repeated with all other commands posted at the start. */
static void schedule_push(struct schedule *schedule, struct posted *posted)
{
	const uint64_t behind = posted->command.adopted ? 0 : UINT64_C(1) << 63;
	struct queued_command new = {posted->command.step, behind | schedule->order++, posted};
	vec_push(&schedule->heap, new);
	uint32_t at = schedule->heap.count - 1;
	for (; at && schedule_before(&new, &schedule->heap.at[(at - 1) / 2]); at = (at - 1) / 2)
		schedule->heap.at[at] = schedule->heap.at[(at - 1) / 2];
	schedule->heap.at[at] = new;
}

/* Removes the least entry; the last entry then sinks to its place from the top. */
static struct posted *schedule_pop(struct schedule *schedule)
{
	struct posted *least = schedule->heap.at[0].posted;
	uint32_t count = --schedule->heap.count, at = 0;
	struct queued_command last = schedule->heap.at[count];
	for (uint32_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && schedule_before(&schedule->heap.at[child + 1], &schedule->heap.at[child]))
			child++;
		if (schedule_before(&last, &schedule->heap.at[child]))
			break;
		schedule->heap.at[at] = schedule->heap.at[child];
	}
	schedule->heap.at[at] = last;
	return least;
}

static uint64_t schedule_bytes_of(const struct command *command)
{
	return sizeof(struct posted) + sizeof(struct queued_command) +
	       (command->topic ? strlen(command->topic) + 1 : 0) + (command->text ? strlen(command->text) + 1 : 0) +
	       (command->message ? message_memory(command->message) : 0);
}

static void schedule_uncount(struct schedule *schedule, uint64_t count, uint64_t bytes)
{
	atomic_fetch_sub_explicit(&schedule->bytes, bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&schedule->count, count, memory_order_relaxed);
}

/* Adds first and subtracts when it was too much: two threads at the limit may both be refused, but never both be let
 * in. */
static troupe_status schedule_count_in(
	struct schedule *schedule, uint64_t more, uint64_t bytes, struct troupe_error *error)
{
	uint64_t count = atomic_fetch_add_explicit(&schedule->count, more, memory_order_relaxed) + more;
	uint64_t all = atomic_fetch_add_explicit(&schedule->bytes, bytes, memory_order_relaxed) + bytes;
	if (count <= SCHEDULE_COMMANDS_MAX && all <= SCHEDULE_BYTES_MAX)
		return TROUPE_OK;
	schedule_uncount(schedule, more, bytes);
	return count > SCHEDULE_COMMANDS_MAX
		       ? fail(error, TROUPE_ELIMIT, "%d commands wait for their steps: expected no more",
				 SCHEDULE_COMMANDS_MAX)
		       : fail(error, TROUPE_ELIMIT,
				 "the commands that wait for their steps take %" PRIu64
				 " bytes: expected at most %" PRIu64,
				 all, SCHEDULE_BYTES_MAX);
}

static void schedule_push_posted(struct schedule *schedule, struct posted *posted)
{
	posted->next = atomic_load(&schedule->posted);
	while (!atomic_compare_exchange_weak(&schedule->posted, &posted->next, posted))
		;
}

/* Before the command is bound to its step: if that step comes meanwhile, the command is late. Of a timed command only
 * the order in which it is prepared depends on its step: as if each step took a millisecond. */
void schedule_prepare(struct schedule *schedule, struct command *command)
{
	uint64_t soon = atomic_load(&schedule->open_step) + PREPARE_SOON_STEPS;
	if (!schedule->preparer || !command_creates(command) || command->prepared)
		return;
	if (command->timed)
		command->step = (uint64_t)(command->at_s * 1000);
	preparer_give(schedule->preparer, command, !command->timed && command->step < soon);
}

/* The step of a live command. A step that is further ahead than the longest window was given before steps got other
 * numbers. */
static uint64_t schedule_live_step(struct schedule *schedule, uint64_t open)
{
	uint64_t last = atomic_load(&schedule->live_step);
	return last > open && last - open <= TROUPE_WINDOW_MAX ? last : open;
}

troupe_status schedule_begin_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	struct posted **ret_posted, struct troupe_error *error)
{
	uint64_t bytes = schedule_bytes_of(command), wanted = command->step;
	struct posted *posted = mem_alloc(sizeof *posted);
	*posted = (struct posted){.bytes = bytes, .command = *command};
	troupe_status status = schedule_count_in(schedule, 1, bytes, error);
	if (status) {
		command_fini(&posted->command);
		free(posted);
		return status;
	}
	schedule_prepare(schedule, &posted->command);
	atomic_fetch_add(&schedule->posting, 1);
	uint64_t open = atomic_load(&schedule->open_step);
	posted->is_live = wanted < open;
	posted->command.step = posted->is_live ? schedule_live_step(schedule, open) : wanted;
	if (wanted >= open || late == SCHEDULE_LATE_NEXT) {
		*ret_posted = posted;
		return TROUPE_OK;
	}
	schedule_end_post(schedule, posted, false);
	return fail(error, TROUPE_ECOMMAND, "step %" PRIu64 " is past: expected %" PRIu64 " or later", wanted, open);
}

static void schedule_note_live(struct schedule *schedule, uint64_t step)
{
	uint64_t last = atomic_load(&schedule->live_step);
	while (last < step && !atomic_compare_exchange_weak(&schedule->live_step, &last, step))
		;
}

void schedule_end_post(struct schedule *schedule, struct posted *posted, bool keep)
{
	if (keep) {
		if (posted->is_live)
			schedule_note_live(schedule, posted->command.step);
		schedule_push_posted(schedule, posted);
	}
	atomic_fetch_sub(&schedule->posting, 1);
	if (keep)
		return;
	schedule_uncount(schedule, 1, posted->bytes);
	command_fini(&posted->command);
	free(posted);
}

troupe_status schedule_post(struct schedule *schedule, const struct command *command, enum schedule_late late,
	uint64_t *ret_step, struct troupe_error *error)
{
	struct posted *posted;
	troupe_status status = schedule_begin_post(schedule, command, late, &posted, error);
	if (status)
		return status;
	if (ret_step)
		*ret_step = posted->command.step;
	schedule_end_post(schedule, posted, true);
	return TROUPE_OK;
}

/* Waits until no thread is posting. A posting thread is between two atomic operations, so the wait is short unless
 * the system has suspended that thread. */
void schedule_open(struct schedule *schedule, uint64_t step)
{
	enum { LOOKS = 1000, NAP_NS = 20000 };
	atomic_store(&schedule->open_step, step);
	for (uint32_t i = 0; atomic_load(&schedule->posting); i++)
		if (i < LOOKS)
			eventcount_relax();
		else
			clock_sleep_until_ns(clock_now_ns() + NAP_NS);
}

/* Posted commands come off newest first; reversing the list restores the order of posting. */
static void schedule_take_posted(struct schedule *schedule)
{
	struct posted *newest = atomic_exchange(&schedule->posted, NULL), *oldest = NULL;
	while (newest) {
		struct posted *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	for (; oldest; oldest = oldest->next)
		if (oldest->command.timed)
			timetable_add(&schedule->timetable, oldest, oldest->command.at_s, true, false);
		else
			schedule_push(schedule, oldest);
}

uint64_t schedule_next_step(struct schedule *schedule)
{
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	return schedule->heap.count ? schedule->heap.at[0].step : UINT64_MAX;
}

struct command *schedule_next(struct schedule *schedule, uint64_t step)
{
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	bool due = schedule->heap.count && schedule->heap.at[0].step <= step;
	return due ? &schedule->heap.at[0].posted->command : NULL;
}

bool schedule_due(struct schedule *schedule, uint64_t step, struct command *ret_command)
{
	if (!schedule_next(schedule, step))
		return false;
	struct posted *due = schedule_pop(schedule);
	*ret_command = due->command;
	schedule_uncount(schedule, 1, due->bytes);
	free(due);
	return true;
}

bool schedule_pending(const struct schedule *schedule)
{
	return schedule->heap.count || atomic_load(&schedule->posted) != NULL;
}

uint64_t schedule_waiting(const struct schedule *schedule)
{
	uint64_t passed = atomic_load_explicit(&schedule->passed, memory_order_relaxed);
	uint64_t count = atomic_load_explicit(&schedule->count, memory_order_relaxed);
	return count - MIN(passed, count);
}

/* --- timed commands ----------------------------------------------------------------------------------------------- */

static void schedule_count_passed(struct schedule *schedule)
{
	atomic_store_explicit(&schedule->passed, schedule->timetable.passed, memory_order_relaxed);
}

/* The prepared models go with the copy, and have its message: so the copy gets the message that was there. */
static void schedule_push_copy(struct schedule *schedule, struct posted *from, uint64_t step)
{
	struct posted *copy = mem_alloc(sizeof *copy);
	struct command *command = &from->command;
	*copy = (struct posted){.bytes = from->bytes, .command = *command};
	copy->command.timed = false;
	copy->command.step = step;
	command->topic = command->topic ? mem_strdup(command->topic) : NULL;
	command->text = command->text ? mem_strdup(command->text) : NULL;
	command->message = command->message ? message_copy(command->message) : NULL;
	command->prepared = NULL;
	atomic_fetch_add_explicit(&schedule->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&schedule->bytes, copy->bytes, memory_order_relaxed);
	schedule_push(schedule, copy);
}

bool schedule_feed(struct schedule *schedule, uint64_t step, double from_s, double now_s, double slack_s)
{
	struct posted *due;
	bool fed = false;
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		schedule_take_posted(schedule);
	timetable_settle(&schedule->timetable, from_s - slack_s);
	for (; (due = timetable_due(&schedule->timetable, now_s + slack_s)); fed = true)
		schedule_push_copy(schedule, due, step);
	schedule_count_passed(schedule);
	return fed;
}

double schedule_next_time(struct schedule *schedule)
{
	const struct timetable_entry *next = timetable_peek(&schedule->timetable, schedule->timetable.passed);
	return next ? next->time_s : (double)INFINITY;
}

static void schedule_prepare_timed(struct schedule *schedule)
{
	const struct timetable_entry *entry;
	for (uint32_t i = schedule->timetable.passed; (entry = timetable_peek(&schedule->timetable, i)); i++)
		schedule_prepare(schedule, &entry->posted->command);
}

void schedule_rewind(struct schedule *schedule)
{
	schedule_take_posted(schedule);
	timetable_rewind(&schedule->timetable);
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
}

void schedule_drop_timed(struct schedule *schedule)
{
	const struct timetable_entry *entry;
	schedule_take_posted(schedule);
	for (uint32_t i = 0; (entry = timetable_peek(&schedule->timetable, i)); i++) {
		schedule_uncount(schedule, 1, entry->posted->bytes);
		command_fini(&entry->posted->command);
		free(entry->posted);
	}
	timetable_fini(&schedule->timetable);
	schedule_count_passed(schedule);
}

void schedule_fini(struct schedule *schedule)
{
	schedule_drop_timed(schedule);
	for (uint32_t i = 0; i < schedule->heap.count; i++) {
		struct command *command = &schedule->heap.at[i].posted->command;
		command_answer(command, command->step, TROUPE_EPEER, "the run ended before this command was taken");
		command_fini(command);
		free(schedule->heap.at[i].posted);
	}
	vec_free(&schedule->heap);
}

static int schedule_compare_queued(const void *a, const void *b)
{
	return schedule_before(a, b) ? -1 : schedule_before(b, a);
}

/* The commands that wait for their steps, in order; NULL after the last. Ask from i = 0 up. Not while another thread
 * posts. */
static const struct command *schedule_peek(struct schedule *schedule, uint32_t i)
{
	if (!i) {
		schedule_take_posted(schedule);
		if (schedule->heap.count) /* a sorted array is also a heap */
			qsort(schedule->heap.at, schedule->heap.count, sizeof *schedule->heap.at,
				schedule_compare_queued);
	}
	return i < schedule->heap.count ? &schedule->heap.at[i].posted->command : NULL;
}

void schedule_collect(struct schedule *schedule, struct files *files)
{
	const struct command *command;
	const struct timetable_entry *entry;
	for (uint32_t i = 0; (command = schedule_peek(schedule, i)); i++)
		if (command->prepared)
			prepared_collect(command->prepared, files);
	for (uint32_t i = 0; schedule->preparer && (entry = timetable_peek(&schedule->timetable, i)); i++) {
		command = &entry->posted->command;
		if (command->prepared)
			prepared_collect(command->prepared, files);
		else if (command_creates(command))
			preparer_collect(schedule->preparer, command, files);
	}
}

enum {
	PACKED_END,
	PACKED_OWN,
	PACKED_SHARED,
	PACKED_TARGET,      /* kind, packed before each command; this one was given by handle */
	PACKED_ADOPTED = 4, /* added to the kind */
};

static uint32_t schedule_packed_kind(const struct command *command)
{
	uint32_t kind = command->target.kind ? PACKED_TARGET : command->broadcast ? PACKED_SHARED : PACKED_OWN;
	return kind + (command->adopted ? PACKED_ADOPTED : 0);
}

static void schedule_pack_one(const struct command *command, struct text *out)
{
	pack_u64(out, schedule_packed_kind(command));
	pack_u64(out, command->step);
	if (command->target.kind)
		command_pack_target(command, out);
	else
		command_pack(command, out);
}

enum { TIMED_FRESH = 1, TIMED_PASSED = 2, TIMED_OPTIONAL = 4 };

void schedule_pack(struct schedule *schedule, struct text *out)
{
	const struct command *command;
	const struct timetable_entry *entry;
	pack_u64(out, atomic_load(&schedule->may_create));
	for (uint32_t i = 0; (command = schedule_peek(schedule, i)); i++)
		schedule_pack_one(command, out);
	pack_u64(out, PACKED_END);
	for (uint32_t i = 0; (entry = timetable_peek(&schedule->timetable, i)); i++) {
		schedule_pack_one(&entry->posted->command, out);
		pack_double(out, entry->time_s);
		pack_u64(out, (entry->fresh ? TIMED_FRESH : 0u) | (entry->passed ? TIMED_PASSED : 0u) |
				      (entry->posted->command.optional ? TIMED_OPTIONAL : 0u));
	}
	pack_u64(out, PACKED_END);
}

/* Shared commands are in the same order in all worlds, so the number of a broadcast identifies it. */
static struct broadcast *schedule_next_broadcast(broadcast_list *broadcasts, uint32_t *at)
{
	if (*at == broadcasts->count)
		vec_push(broadcasts, broadcast_create(0));
	struct broadcast *broadcast = broadcasts->at[(*at)++];
	atomic_fetch_add(&broadcast->copies, 1);
	atomic_fetch_add(&broadcast->open, 1);
	return broadcast;
}

/* kind: of the next command; its number follows in `in`. On failure *ret_command is not set. */
static troupe_status schedule_unpack_one(struct schedule *schedule, const char *world, uint32_t kind, struct unpack *in,
	struct command *ret_command, struct troupe_error *error)
{
	bool adopted = kind >= PACKED_ADOPTED;
	in->bad |= kind == PACKED_ADOPTED;
	uint64_t step = unpack_u64(in);
	troupe_status status = TROUPE_OK;
	if (kind % PACKED_ADOPTED == PACKED_TARGET)
		command_unpack_target(in, step, ret_command);
	else
		status = command_unpack(in, world, step, &schedule->may_create, ret_command, error);
	if (status || in->bad)
		return status;
	ret_command->saved = true;
	ret_command->adopted = adopted;
	return TROUPE_OK;
}

static troupe_status schedule_unpack_timed(
	struct schedule *schedule, const char *world, struct unpack *in, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	uint32_t kind;
	while (!status && (kind = unpack_count(in, PACKED_TARGET)) != PACKED_END) {
		struct command command;
		status = schedule_unpack_one(schedule, world, kind, in, &command, error);
		if (status || in->bad)
			continue;
		command.timed = true;
		command.at_s = unpack_double(in);
		uint32_t flags = unpack_count(in, TIMED_FRESH | TIMED_PASSED | TIMED_OPTIONAL);
		command.optional = flags & TIMED_OPTIONAL;
		uint64_t bytes = schedule_bytes_of(&command);
		in->bad |= !(command.at_s >= 0 && command.at_s <= COMMAND_TIME_MAX_S);
		status = in->bad ? TROUPE_OK : schedule_count_in(schedule, 1, bytes, error);
		if (status || in->bad) {
			command_fini(&command);
			continue;
		}
		struct posted *posted = mem_alloc(sizeof *posted);
		*posted = (struct posted){.bytes = bytes, .command = command};
		timetable_add(&schedule->timetable, posted, command.at_s, flags & TIMED_FRESH, flags & TIMED_PASSED);
	}
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
	return status;
}

troupe_status schedule_unpack(struct schedule *schedule, const char *world, broadcast_list *broadcasts,
	struct unpack *in, struct troupe_error *error)
{
	bool may_create = unpack_count(in, 1);
	troupe_status status = TROUPE_OK;
	uint32_t kind, shared = 0;
	atomic_store(&schedule->may_create, true); /* some may be for models that do not exist yet, or are gone */
	while (!status && (kind = unpack_count(in, PACKED_TARGET + PACKED_ADOPTED)) != PACKED_END) {
		struct command command;
		status = schedule_unpack_one(schedule, world, kind, in, &command, error);
		if (status || in->bad)
			continue;
		bool is_shared = kind % PACKED_ADOPTED == PACKED_SHARED;
		command.broadcast = is_shared ? schedule_next_broadcast(broadcasts, &shared) : NULL;
		status = schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, NULL, error);
	}
	if (!status && !in->bad)
		status = schedule_unpack_timed(schedule, world, in, error);
	atomic_store(&schedule->may_create, may_create);
	return in->bad ? fail(error, TROUPE_EWORLD, "damaged: a command") : status;
}

/* Commands are due at `to` at the latest in the order in which they were due. */
static uint64_t schedule_shifted(uint64_t step, uint64_t from, uint64_t to)
{
	uint64_t later = step > from ? step - from : 0;
	return later < UINT64_MAX - to ? to + later : UINT64_MAX;
}

static void schedule_drop_adopted(struct schedule *schedule)
{
	uint32_t kept = 0;
	schedule_take_posted(schedule);
	for (uint32_t i = 0; i < schedule->heap.count; i++) {
		struct queued_command queued = schedule->heap.at[i];
		if (!queued.posted->command.adopted) {
			schedule->heap.at[kept++] = queued;
			continue;
		}
		schedule_uncount(schedule, 1, queued.posted->bytes);
		command_fini(&queued.posted->command);
		free(queued.posted);
	}
	schedule->heap.count = kept;
	if (kept) /* a sorted array is also a heap */
		qsort(schedule->heap.at, kept, sizeof *schedule->heap.at, schedule_compare_queued);
}

troupe_status schedule_adopt(
	struct schedule *schedule, struct schedule *other, uint64_t from, uint64_t to, struct troupe_error *error)
{
	schedule_take_posted(other);
	uint64_t count = other->heap.count + other->timetable.all.count, bytes = atomic_load(&other->bytes);
	troupe_status status = schedule_count_in(schedule, count, bytes, error);
	if (status)
		return status;
	schedule_drop_adopted(schedule);
	schedule_drop_timed(schedule);
	atomic_store(&schedule->live_step, 0); /* steps may have other numbers from now on */
	schedule->timetable = other->timetable;
	other->timetable = (struct timetable){0};
	while (other->heap.count) {
		struct posted *posted = schedule_pop(other);
		posted->command.adopted = true;
		posted->command.step = schedule_shifted(posted->command.step, from, to);
		if (command_creates(&posted->command)) {
			atomic_store(&schedule->may_create, true);
			if (schedule->preparer)
				preparer_give(schedule->preparer, &posted->command, false);
		}
		schedule_push(schedule, posted);
	}
	schedule_uncount(other, count, bytes);
	schedule_prepare_timed(schedule);
	schedule_count_passed(schedule);
	schedule_count_passed(other);
	return TROUPE_OK;
}
