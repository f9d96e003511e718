/* Commands are due by step or time, then in the order of posting, whoever posts and in whatever order; they are packed
 * and adopted with the state; their number and memory are limited, and a million of them take no longer than they must.
 * */
#include "../random.h"
#include "run/primary_internal.h"
#include "run/schedule.h"
#include "run/services.h"
#include "server/internal.h"
#include "topic/convert.h"

#include <troupe/command.h>

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(schedule, .timeout = 60);

static struct command numbered(uint64_t step, uint32_t number)
{
	struct command command = {.step = step};
	command.message = &message_of_double(number)->base;
	return command;
}

static void post(struct schedule *schedule, uint64_t step, uint32_t number)
{
	struct command command = numbered(step, number);
	cr_assert_eq(schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, NULL, NULL), TROUPE_OK);
}

/* The number of the next due command; -1: none. */
static int next(struct schedule *schedule, uint64_t step)
{
	struct command command;
	if (!schedule_due(schedule, step, &command))
		return -1;
	int number = (int)((const Gz__Msgs__Double *)command.message)->data;
	command_fini(&command);
	return number;
}

Test(schedule, commands_are_due_by_step_then_in_the_order_of_posting)
{
	struct schedule schedule = {0};
	cr_assert(!schedule_pending(&schedule));
	post(&schedule, 5, 0);
	post(&schedule, 3, 1);
	post(&schedule, 5, 2);
	post(&schedule, 3, 3);
	cr_assert(schedule_pending(&schedule));
	cr_assert_eq(next(&schedule, 2), -1);
	cr_assert_eq(next(&schedule, 3), 1);
	post(&schedule, 3, 4); /* also while other commands of this step are being taken */
	post(&schedule, 1, 5); /* for a step that is past */
	cr_assert_eq(next(&schedule, 3), 5);
	cr_assert_eq(next(&schedule, 3), 3);
	cr_assert_eq(next(&schedule, 3), 4);
	cr_assert_eq(next(&schedule, 4), -1);
	cr_assert_eq(next(&schedule, 9), 0);
	cr_assert_eq(next(&schedule, 9), 2);
	cr_assert(!schedule_pending(&schedule));
	cr_assert_eq(schedule.count, 0);
	cr_assert_eq(schedule.bytes, 0);
	schedule_fini(&schedule);
}

static uint64_t post_live(struct schedule *schedule, uint64_t step)
{
	struct command command = numbered(step, 0);
	uint64_t taken;
	cr_assert_eq(schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, &taken, NULL), TROUPE_OK);
	return taken;
}

/* Where a window has fewer steps than it might have had, commands are taken earlier again, but never before older ones.
 */
Test(schedule, a_live_command_is_not_taken_before_an_older_one)
{
	struct schedule schedule = {0}, other = {0};
	schedule_open(&schedule, 20);
	cr_assert_eq(post_live(&schedule, 0), 20);
	schedule_open(&schedule, 14);
	cr_assert_eq(post_live(&schedule, 0), 20, "not before the first");
	cr_assert_eq(post_live(&schedule, 3), 20, "one that is late is live, too");
	cr_assert_eq(post_live(&schedule, 15), 15, "one that asks for a step gets it");
	cr_assert_eq(post_live(&schedule, 30), 30);
	cr_assert_eq(post_live(&schedule, 0), 20, "and is no reason to wait");
	schedule_open(&schedule, 25);
	cr_assert_eq(post_live(&schedule, 0), 25);
	cr_assert_eq(schedule_adopt(&schedule, &other, 25, 5, NULL), TROUPE_OK);
	schedule_open(&schedule, 6);
	cr_assert_eq(post_live(&schedule, 0), 6, "steps have other numbers");
	schedule_fini(&schedule);
	schedule_fini(&other);
}

Test(schedule, any_order_of_posting_comes_out_sorted_and_stable)
{
	enum { COUNT = 5000, STEPS = 97 };
	struct schedule schedule = {0};
	uint32_t last[STEPS] = {0}, taken = 0;
	uint64_t random = 1;
	for (uint32_t i = 0; i < COUNT; i++) {
		post(&schedule, random_below64(&random, STEPS), i + 1);
		if (i == COUNT / 2) /* some commands are taken in between */
			for (int number; (number = next(&schedule, 9)) >= 0; taken++)
				;
	}
	for (uint64_t step = 0; step < STEPS; step++)
		for (int number; (number = next(&schedule, step)) >= 0; taken++) {
			cr_assert_gt(
				(uint32_t)number, last[step], "step %d: %d after %u", (int)step, number, last[step]);
			last[step] = (uint32_t)number;
		}
	cr_assert_eq(taken, COUNT);
	schedule_fini(&schedule);
}

static void post_timed(struct schedule *schedule, double at_s, uint32_t number)
{
	struct command command = numbered(0, number);
	command.timed = true;
	command.at_s = at_s;
	cr_assert_eq(schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, NULL, NULL), TROUPE_OK);
}

/* The numbers of the commands of a step that begins at this time. */
static const char *fed(struct schedule *schedule, uint64_t step, double now_s)
{
	static char line[200];
	size_t used = 0;
	line[0] = '\0';
	(void)schedule_feed(schedule, step, now_s, now_s, 1e-9);
	for (int number; (number = next(schedule, step)) >= 0;)
		used += (size_t)snprintf(line + used, sizeof line - used, "%d ", number);
	return line;
}

Test(schedule, timed_commands_are_due_at_their_times_and_again_after_a_rewind)
{
	struct schedule schedule = {0};
	post_timed(&schedule, 0.2, 1);
	post_timed(&schedule, 0, 2);
	post_timed(&schedule, 0.1, 3);
	post_timed(&schedule, 0.2, 4);
	post(&schedule, 7, 5);
	cr_assert_eq(schedule_waiting(&schedule), 5);
	for (int round = 0; round < 2; round++) {
		cr_assert_str_eq(fed(&schedule, 5, 0), "2 ");
		cr_assert_str_eq(fed(&schedule, 6, 0.05), "");
		/* after those of the step; a command whose time was skipped is taken late */
		cr_assert_str_eq(fed(&schedule, 7, 0.15), round ? "3 " : "5 3 ");
		cr_assert_str_eq(fed(&schedule, 8, 0.2 - 1e-12), "1 4 "); /* times of steps are rounded */
		cr_assert_str_eq(fed(&schedule, 9, 9), "");
		cr_assert_eq(schedule_waiting(&schedule), 0);
		schedule_rewind(&schedule);
		cr_assert_eq(schedule_waiting(&schedule), 4);
	}
	schedule_drop_timed(&schedule);
	cr_assert_eq(schedule.count, 0);
	cr_assert_eq(schedule.bytes, 0);
	schedule_fini(&schedule);
}

Test(schedule, a_timed_command_whose_time_is_past_waits_for_a_rewind)
{
	struct schedule schedule = {0};
	post_timed(&schedule, 1, 1);
	cr_assert_str_eq(fed(&schedule, 0, 1), "1 ");
	post_timed(&schedule, 1, 2); /* the step from 1 s on has not been taken yet */
	post_timed(&schedule, 0.5, 3);
	post_timed(&schedule, 2, 4);
	cr_assert_str_eq(fed(&schedule, 1, 1), "2 ");
	cr_assert_eq(schedule_waiting(&schedule), 1);
	cr_assert_str_eq(fed(&schedule, 2, 3), "4 ");
	schedule_rewind(&schedule);
	cr_assert_str_eq(fed(&schedule, 3, 3), "3 1 2 4 ");
	schedule_fini(&schedule);
}

/* What has passed, and what is past, is so in the packed state, too. */
Test(schedule, timed_commands_are_packed)
{
	struct schedule schedule = {0}, back = {0};
	struct text bytes = {0};
	struct troupe_error error;
	broadcast_list broadcasts = {0};
	for (uint32_t i = 0; i < 6; i++) {
		struct command command = {.timed = true, .at_s = i, .topic = strdup("/t"), .text = strdup("data: 0")};
		command.text[6] = (char)('0' + i);
		cr_assert_eq(schedule_post(&schedule, &command, SCHEDULE_LATE_NEXT, NULL, NULL), TROUPE_OK);
	}
	struct command taken;
	for (int i = 0; i < 3; i++) {
		(void)schedule_feed(&schedule, 3, i, i, 1e-9);
		cr_assert(schedule_due(&schedule, 3, &taken));
		command_fini(&taken);
	}
	schedule_pack(&schedule, &bytes);
	struct unpack in = {bytes.at, bytes.at + bytes.count, false};
	cr_assert_eq(schedule_unpack(&back, "w", &broadcasts, &in, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(in.at, in.end);
	cr_assert_eq(schedule_waiting(&back), 3);
	(void)schedule_feed(&back, 9, 4, 4, 1e-9);
	for (int i = 3; i < 5; i++) {
		cr_assert(schedule_due(&back, 9, &taken));
		cr_assert(taken.saved && !taken.timed && taken.text[6] == '0' + i, "%s", taken.text);
		command_fini(&taken);
	}
	cr_assert(!schedule_due(&back, 9, &taken));
	/* cut anywhere, it is damaged, and nothing leaks */
	for (size_t count = 0; count < bytes.count; count++) {
		struct schedule cut = {0};
		in = (struct unpack){bytes.at, bytes.at + count, false};
		cr_assert_neq(schedule_unpack(&cut, "w", &broadcasts, &in, &error), TROUPE_OK, "%zu bytes", count);
		schedule_fini(&cut);
	}
	text_fini(&bytes);
	schedule_fini(&schedule);
	schedule_fini(&back);
}

/* Timed commands of the state replace those that were given. */
Test(schedule, timed_commands_are_adopted_with_their_time)
{
	struct schedule schedule = {0}, other = {0};
	post_timed(&schedule, 1, 1);
	post_timed(&schedule, 2, 2);
	cr_assert_str_eq(fed(&schedule, 5, 1), "1 ");
	post_timed(&other, 1, 3);
	post_timed(&other, 3, 4);
	cr_assert_str_eq(fed(&other, 1, 1), "3 ");
	cr_assert_eq(schedule_adopt(&schedule, &other, 3, 9, NULL), TROUPE_OK);
	cr_assert_eq(other.count, 0);
	cr_assert_eq(schedule_waiting(&schedule), 1);
	cr_assert_str_eq(fed(&schedule, 9, 2), "");
	cr_assert_str_eq(fed(&schedule, 10, 3), "4 ");
	schedule_rewind(&schedule);
	cr_assert_str_eq(fed(&schedule, 11, 9), "3 4 ");
	schedule_fini(&schedule);
	schedule_fini(&other);
}

/* A million in descending order are sorted once, and one step a time costs no pass over all. */
Test(schedule, many_timed_commands_take_no_longer, .timeout = 60)
{
	enum { COUNT = 1000000 };
	struct schedule schedule = {0};
	for (uint32_t i = 0; i < COUNT; i++)
		post_timed(&schedule, COUNT - i, i);
	for (uint32_t i = 1; i <= COUNT; i++) {
		(void)schedule_feed(&schedule, i, i, i, 1e-9);
		cr_assert_eq(next(&schedule, i), (int)(COUNT - i));
	}
	schedule_fini(&schedule);
}

/* The time of a million commands in descending order once was quadratic: minutes. */
Test(schedule, descending_order_takes_no_longer, .timeout = 60)
{
	enum { COUNT = 1000000 };
	struct schedule schedule = {0};
	for (uint32_t i = 0; i < COUNT; i++)
		post(&schedule, COUNT - i, i);
	for (uint32_t i = 0; i < COUNT; i++)
		cr_assert_eq(next(&schedule, COUNT), (int)(COUNT - 1 - i));
	schedule_fini(&schedule);
}

Test(schedule, too_many_are_refused)
{
	struct schedule schedule = {.count = SCHEDULE_COMMANDS_MAX - 1};
	struct troupe_error error;
	struct command one = numbered(0, 1), more = numbered(0, 2);
	more.topic = strdup("/x");
	cr_assert_eq(schedule_post(&schedule, &one, SCHEDULE_LATE_NEXT, NULL, &error), TROUPE_OK);
	cr_assert_eq(schedule_post(&schedule, &more, SCHEDULE_LATE_NEXT, NULL, &error), TROUPE_ELIMIT);
	cr_assert(strstr(error.text, "4194304 commands"), "%s", error.text);
	cr_assert_eq(next(&schedule, 0), 1); /* this makes room for another one */
	cr_assert_eq(next(&schedule, 0), -1);
	post(&schedule, 0, 3);
	cr_assert_eq(next(&schedule, 0), 3);
	schedule_fini(&schedule);
}

/* Texts, topics and the memory of a message count until the command is taken. */
Test(schedule, too_much_memory_is_refused)
{
	enum { BYTES = 8 << 20 };
	struct schedule schedule = {0};
	struct troupe_error error;
	char *text = malloc(BYTES + 1);
	uint32_t posted = 0;
	troupe_status status = TROUPE_OK;
	memset(text, 'x', BYTES);
	text[BYTES] = '\0';
	Gz__Msgs__StringMsg message = GZ__MSGS__STRING_MSG__INIT;
	message.data = text;
	while (!status) {
		struct command command = {.service = services_find("create"), .message = message_copy(&message.base)};
		status = schedule_post(&schedule, &command, SCHEDULE_LATE_NEXT, NULL, &error);
		posted += !status;
		cr_assert_leq(posted, SCHEDULE_BYTES_MAX / BYTES);
	}
	cr_assert_eq(status, TROUPE_ELIMIT);
	cr_assert(strstr(error.text, "bytes: expected at most 1073741824"), "%s", error.text);
	cr_assert_geq(posted, SCHEDULE_BYTES_MAX / BYTES - 2);
	struct command taken;
	for (; schedule_due(&schedule, 0, &taken); posted--)
		command_fini(&taken);
	cr_assert_eq(posted, 0);
	cr_assert_eq(schedule.bytes, 0);
	schedule_fini(&schedule);
	free(text);
}

enum { THREADS = 4, EACH = 20000 };

struct poster {
	struct schedule *schedule;
	uint32_t number;
	pthread_t thread;
};

static void *post_many(void *ctx)
{
	const struct poster *poster = ctx;
	for (uint32_t i = 0; i < EACH; i++)
		post(poster->schedule, i % 7, poster->number * EACH + i);
	return NULL;
}

/* The commands that one thread gives for a step stay in their order, and none is lost. */
Test(schedule, threads_post_while_the_primary_takes)
{
	struct schedule schedule = {0};
	struct poster posters[THREADS];
	uint32_t taken = 0;
	for (uint32_t t = 0; t < THREADS; t++) {
		posters[t] = (struct poster){&schedule, t, 0};
		pthread_create(&posters[t].thread, NULL, post_many, &posters[t]);
	}
	int last[THREADS][7];
	memset(last, 0xff, sizeof last);
	while (taken < THREADS * EACH) {
		int number = next(&schedule, 6);
		if (number < 0)
			continue;
		taken++;
		int thread = number / EACH, i = number % EACH;
		cr_assert_gt(i, last[thread][i % 7]);
		last[thread][i % 7] = i;
	}
	for (uint32_t t = 0; t < THREADS; t++)
		pthread_join(posters[t].thread, NULL);
	cr_assert_eq(schedule.count, 0);
	schedule_fini(&schedule);
}

#define WORLD(name)                                                                                                    \
	"<world name='" name "'><model name='a'><link name='l'/><plugin name='gz::sim::systems::VelocityControl' "     \
	"filename='x'/></model></world>"

/* One of three worlds is far ahead. A command for all worlds that must not come late is taken by no world. One that may
 * come late is taken by each at one step, the first that no world has begun, and that step is returned. */
Test(schedule, a_command_for_all_worlds_is_taken_by_all_or_none)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error = {0};
	def.world_path = "w.sdf";
	def.world_text = "<sdf version='1.9'>" WORLD("one") WORLD("two") WORLD("three") "</sdf>";
	cr_assert_eq(troupe_server_create(&def, &server, &error), TROUPE_OK, "%s", error.text);
	for (uint32_t ahead = 0; ahead < 3; ahead++) {
		struct troupe_when when = {.step = 8, .late = TROUPE_LATE_REFUSE};
		uint64_t step = 4711;
		atomic_store(&server->worlds[ahead].primary->schedule.open_step, 100);
		cr_assert_eq(troupe_command_text(server, &when, "/model/a/cmd_vel", "linear: {x: 1}", &step, &error),
			TROUPE_ECOMMAND);
		cr_assert_not_null(strstr(error.text, "step 8 is past: expected 100 or later"), "%s", error.text);
		cr_assert_eq(step, 4711);
		for (uint32_t i = 0; i < 3; i++) {
			struct schedule *schedule = &server->worlds[i].primary->schedule;
			cr_assert(!schedule_pending(schedule), "world %u has it", i);
			cr_assert(schedule->count == 0 && schedule->bytes == 0 && schedule->posting == 0);
		}
		when.late = TROUPE_LATE_NEXT;
		cr_assert_eq(troupe_command_text(server, &when, "/model/a/cmd_vel", "linear: {x: 1}", &step, &error),
			TROUPE_OK, "%s", error.text);
		cr_assert_eq(step, 100);
		for (uint32_t i = 0; i < 3; i++) {
			struct command command;
			cr_assert(schedule_due(&server->worlds[i].primary->schedule, 100, &command));
			cr_assert_eq(command.step, 100);
			command_fini(&command);
		}
		atomic_store(&server->worlds[ahead].primary->schedule.open_step, 0);
	}
	troupe_server_destroy(server);
}
