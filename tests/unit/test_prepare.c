/* The preparer of commands (run/prepare.h): which command is prepared when, and by which thread. The file of a command
 * is read when it is prepared, and the kernel tells in which order files are opened. */
#include "../random.h"
#include "run/prepare.h"

#include "run/schedule.h"
#include "topic/message.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(prepare, .timeout = 60);

enum { COMMANDS = PREPARE_COMMANDS_MAX + 40, FILES = COMMANDS + 1, A_WHILE_MS = 20, NAME_BYTES = 32, WAIT_MS = 30000 };

struct fixture {
	char folder[NAME_BYTES];
	int events;
	struct files files;
	struct files_places places;
	struct edit_options options;
	struct preparer *preparer;
	struct command commands[FILES];
	uint32_t given;
	uint32_t opened[FILES]; /* files, in order */
	uint32_t opened_count;
};

static char *path_of(const struct fixture *f, uint32_t file)
{
	return mem_printf("%s/%u.sdf", f->folder, file);
}

static void begin(struct fixture *f)
{
	static const char *const nowhere[] = {NULL};
	*f = (struct fixture){.folder = "/tmp/test_prepare.XXXXXX"};
	cr_assert(mkdtemp(f->folder));
	for (uint32_t i = 0; i < FILES; i++) {
		char *path = path_of(f, i);
		FILE *file = fopen(path, "w");
		cr_assert_not_null(file);
		fprintf(file, "<sdf version='1.9'><model name='m%u'><link name='l'/></model></sdf>", i);
		cr_assert(!fclose(file));
		free(path);
	}
	f->events = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	cr_assert(inotify_add_watch(f->events, f->folder, IN_OPEN) >= 0);
	f->options = (struct edit_options){
		.path = "/none/w.sdf", .resource_paths = nowhere, .files = &f->files, .places = &f->places};
	files_allow(&f->places, "/usr");
	f->preparer = preparer_create(&f->options);
}

static void end(struct fixture *f)
{
	for (uint32_t i = 0; i < f->given; i++) {
		prepared_release(f->commands[i].prepared);
		message_free(f->commands[i].message);
	}
	preparer_destroy(f->preparer);
	files_fini(&f->files);
	files_places_fini(&f->places);
	(void)close(f->events);
	for (uint32_t i = 0; i < FILES; i++) {
		char *path = path_of(f, i);
		(void)unlink(path);
		free(path);
	}
	cr_assert(!rmdir(f->folder));
}

/* Notes which files were opened so far, each once. */
static void look(struct fixture *f)
{
	_Alignas(struct inotify_event) char bytes[4096];
	ssize_t count;
	while ((count = read(f->events, bytes, sizeof bytes)) > 0)
		for (const char *at = bytes; at < bytes + count;) {
			const struct inotify_event *event = (const void *)at;
			uint32_t file = event->len ? (uint32_t)strtoul(event->name, NULL, 10) : UINT32_MAX, i = 0;
			cr_assert_not(event->mask & IN_Q_OVERFLOW);
			at += sizeof *event + event->len;
			while (i < f->opened_count && f->opened[i] != file)
				i++;
			if (file < FILES && i == f->opened_count)
				f->opened[f->opened_count++] = file;
		}
}

static void wait_until_opened(struct fixture *f, uint32_t count)
{
	for (look(f); f->opened_count < count; look(f)) {
		struct pollfd poll_fd = {.fd = f->events, .events = POLLIN};
		cr_assert_eq(poll(&poll_fd, 1, WAIT_MS), 1, "%u files, not %u, were opened", f->opened_count, count);
	}
}

/* What was opened stays as it is, also when the preparer has rested and goes on: within a while, in which more could be
 * opened. */
static void assert_opened(struct fixture *f, uint32_t count)
{
	wait_until_opened(f, count);
	for (int i = 0; i < 3; i++) {
		preparer_rest(f->preparer, true);
		preparer_rest(f->preparer, false);
	}
	(void)poll(&(struct pollfd){.fd = f->events, .events = POLLIN}, 1, A_WHILE_MS);
	look(f);
	cr_assert_eq(f->opened_count, count, "%u files, not %u, were opened", f->opened_count, count);
}

/* The command: its file, its step, and more fields of its message. */
static struct command *make_command(struct fixture *f, uint32_t file, uint64_t step, const char *more)
{
	struct command *command = &f->commands[f->given++];
	struct troupe_error error;
	char *text = mem_printf("sdf_filename: '%s/%u.sdf' %s", f->folder, file, more);
	*command = (struct command){.step = step};
	cr_assert_eq(message_of_text(type_find("gz.msgs.EntityFactory"), text, &message_limits_usual, &command->message,
			     &error),
		TROUPE_OK, "%s", error.text);
	free(text);
	return command;
}

static void give(struct fixture *f, uint32_t file, uint64_t step, bool soon)
{
	preparer_give(f->preparer, make_command(f, file, step, ""), soon);
}

/* Commands for random steps, several for most of them, as many as are prepared ahead and 40 more; the first ones in the
 * order of steps, and those of one step in the order in which they were given. */
Test(prepare, in_the_order_of_steps_within_the_limit)
{
	static struct fixture f;
	static uint64_t steps[FILES] = {[COMMANDS] = 2000};
	uint64_t seed = 7;
	begin(&f);
	preparer_rest(f.preparer, true);
	for (uint32_t i = 0; i < COMMANDS; i++)
		give(&f, i, steps[i] = 1000 + random_below(&seed, COMMANDS / 3), false);
	look(&f);
	cr_assert_eq(f.opened_count, 0, "it does not rest");
	preparer_rest(f.preparer, false);
	assert_opened(&f, PREPARE_COMMANDS_MAX);
	give(&f, COMMANDS, 2000, true); /* soon, but too many wait */
	assert_opened(&f, PREPARE_COMMANDS_MAX);
	for (uint32_t i = 0; i < 3; i++) {
		prepared_release(f.commands[f.opened[i]].prepared);
		f.commands[f.opened[i]].prepared = NULL;
	}
	assert_opened(&f, PREPARE_COMMANDS_MAX + 3);
	(void)prepared_wait(f.commands[f.opened[5]].prepared);
	assert_opened(&f, PREPARE_COMMANDS_MAX + 3);
	preparer_finish(f.preparer);
	assert_opened(&f, FILES);
	for (uint32_t i = 1; i < FILES; i++) {
		uint32_t before = f.opened[i - 1], now = f.opened[i];
		cr_assert(steps[before] < steps[now] || (steps[before] == steps[now] && before < now),
			"%u of step %lu before %u of step %lu", before, (unsigned long)steps[before], now,
			(unsigned long)steps[now]);
	}
	end(&f);
}

/* A turn that waits is not held up by the limit; what comes before its command is prepared, too. */
Test(prepare, a_turn_waits_for_its_command_only)
{
	static struct fixture f;
	begin(&f);
	for (uint32_t i = 0; i < COMMANDS; i++)
		give(&f, i, 10000 - i, false); /* the last one given is the first one due */
	wait_until_opened(&f, PREPARE_COMMANDS_MAX);
	struct edit_source *const *sources = prepared_wait(f.commands[9].prepared);
	look(&f);
	cr_assert_geq(f.opened_count, COMMANDS - 9);
	cr_assert_not_null(sources[0]);
	struct files used = {0};
	prepared_collect(f.commands[9].prepared, &used);
	cr_assert_eq(used.all.count, 1);
	char *path = path_of(&f, 9);
	cr_expect_str_eq(used.all.at[0].path, path);
	free(path);
	files_fini(&used);
	end(&f);
}

/* In the call that gives it; also while the preparer rests. Of commands that were given up nothing is read. */
Test(prepare, what_is_due_soon_is_prepared_at_once)
{
	static struct fixture f;
	begin(&f);
	preparer_rest(f.preparer, true);
	give(&f, 3, 1, true);
	give(&f, 5, 1, false);
	give(&f, 4, 2, false);
	give(&f, 6, 3, false);
	look(&f);
	cr_assert(f.opened_count == 1 && f.opened[0] == 3);
	prepared_release(f.commands[2].prepared);
	f.commands[2].prepared = NULL;
	struct files used = {0};
	prepared_collect(f.commands[1].prepared, &used); /* it is not ready: its file is read now, too */
	preparer_collect(f.preparer, make_command(&f, 8, 1, ""), &used);
	cr_expect_eq(used.all.count, 2);
	files_fini(&used);
	preparer_rest(f.preparer, false);
	preparer_finish(f.preparer);
	look(&f);
	cr_assert_eq(f.opened_count, 4);
	cr_expect(f.opened[1] == 5 && f.opened[2] == 8 && f.opened[3] == 6);
	end(&f);
}

static bool has_read(const struct command *command)
{
	struct files used = {0};
	uint32_t count = 0;
	prepared_collect(command->prepared, &used);
	for (uint32_t i = 0; i < used.all.count; i++)
		count += used.all.at[i].bytes != NULL;
	files_fini(&used);
	return count > 0;
}

/* A file that a command names may be anywhere, but not if a robot client or a system has given it. What waited in a
 * saved state, and everything once the preparer is closed, reads no file at all. */
Test(prepare, who_may_read_which_files)
{
	static struct fixture f;
	static const char owned[] = "header {data {key: 'client' value: 'c'}}";
	static char name[] = "c";
	struct command *last[5];
	begin(&f);
	last[0] = make_command(&f, 0, 1, "");
	last[1] = make_command(&f, 1, 1, "");
	last[1]->told = true;
	last[2] = make_command(&f, 2, 1, "");
	last[2]->client = name;
	last[3] = make_command(&f, 3, 1, owned);
	last[4] = make_command(&f, 4, 1, "");
	last[4]->saved = true;
	for (uint32_t i = 0; i < ARRAY_LEN(last); i++) {
		preparer_give(f.preparer, last[i], true);
		cr_expect_eq(has_read(last[i]), i == 0, "%u", i);
	}
	preparer_close(f.preparer);
	give(&f, 5, 1, true);
	cr_expect_not(has_read(&f.commands[5]));
	look(&f);
	for (uint32_t i = 0; i < f.opened_count; i++)
		cr_expect(f.opened[i] != 4 && f.opened[i] != 5, "a kept one is opened");
	end(&f);
}

/* Each item of a list has its own model; items without one have none. */
Test(prepare, several_models_of_one_command)
{
	static struct fixture f;
	struct troupe_error error;
	begin(&f);
	struct command *command = &f.commands[f.given++];
	char *text = mem_printf(
		"data {sdf_filename: '%s/7.sdf'} data {} data {sdf_filename: '%s/2.sdf'}", f.folder, f.folder);
	*command = (struct command){.step = 1};
	cr_assert_eq(message_of_text(type_find("gz.msgs.EntityFactory_V"), text, &message_limits_usual,
			     &command->message, &error),
		TROUPE_OK, "%s", error.text);
	free(text);
	preparer_give(f.preparer, command, true);
	struct edit_source *const *sources = prepared_wait(command->prepared);
	look(&f);
	cr_assert(f.opened_count == 2 && f.opened[0] == 7 && f.opened[1] == 2);
	cr_assert(sources[0] && sources[2] && !sources[1]);
	struct files used = {0};
	prepared_collect(command->prepared, &used);
	cr_expect_eq(used.all.count, 2);
	files_fini(&used);
	end(&f);
}
