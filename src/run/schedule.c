#include "run/schedule.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_world_control(const char *world, const char *topic)
{
	size_t length = strlen(world);
	return !strncmp(topic, "/world/", 7) && !strncmp(topic + 7, world, length) &&
	       !strcmp(topic + 7 + length, "/control");
}

static troupe_status unknown_topic(
	const struct systems *systems, const char *world, const char *topic, struct troupe_error *error)
{
	char known[256];
	size_t used = (size_t)snprintf(known, sizeof known, "/world/%s/control", world);
	uint32_t shown = 0;
	for (; shown < systems->topics.count && shown < 4 && used < sizeof known; shown++) {
		const struct system_address *at = &systems->topics.at[shown];
		used += (size_t)snprintf(known + used, sizeof known - used, ", %s",
			systems->all.at[at->system].topics.at[at->topic].name);
	}
	return fail(error, TROUPE_ECOMMAND, "nobody listens to topic '%s': expected %s%s", topic, known,
		shown < systems->topics.count ? ", ..." : "");
}

troupe_status command_parse(const struct systems *systems, const char *world, uint64_t step, const char *topic,
	const char *text, struct command *ret_command, struct troupe_error *error)
{
	struct command command = {.step = step};
	const struct message_schema *schema = &message_world_control;
	if (is_world_control(world, topic)) {
		command.kind = COMMAND_WORLD_CONTROL;
	} else {
		const struct system_address *to = systems_find_topic(systems, topic);
		if (!to)
			return unknown_topic(systems, world, topic, error);
		command.kind = COMMAND_SYSTEM;
		command.to = *to;
		schema = systems->all.at[to->system].topics.at[to->topic].schema;
	}
	troupe_status status = message_parse(schema, text, &command.message, error);
	if (!status)
		*ret_command = command;
	return status;
}

troupe_status schedule_add(struct schedule *schedule, const struct command *command, struct troupe_error *error)
{
	if (schedule->commands.count >= SCHEDULE_COMMANDS_MAX) {
		if (!schedule->done)
			return fail(error, TROUPE_ELIMIT, "more than %d commands", SCHEDULE_COMMANDS_MAX);
		schedule->commands.count -= schedule->done;
		memmove(schedule->commands.at, schedule->commands.at + schedule->done,
			schedule->commands.count * sizeof *schedule->commands.at);
		schedule->done = 0;
	}
	vec_push(&schedule->commands, *command);
	uint32_t i = schedule->commands.count - 1;
	for (; i > schedule->done && schedule->commands.at[i - 1].step > command->step; i--)
		schedule->commands.at[i] = schedule->commands.at[i - 1];
	schedule->commands.at[i] = *command;
	return TROUPE_OK;
}

void schedule_post(struct schedule *schedule, const struct command *command)
{
	struct posted *posted = mem_alloc(sizeof *posted);
	posted->command = *command;
	posted->next = atomic_load(&schedule->posted);
	while (!atomic_compare_exchange_weak(&schedule->posted, &posted->next, posted))
		;
}

/* Posted commands come off newest first; turned round they are in the order of posting. */
static void take_posted(struct schedule *schedule)
{
	struct posted *newest = atomic_exchange(&schedule->posted, NULL), *oldest = NULL;
	while (newest) {
		struct posted *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest) {
		struct posted *next = oldest->next;
		(void)schedule_add(
			schedule, &oldest->command, NULL); /* one too many is dropped: the limit is the law */
		free(oldest);
		oldest = next;
	}
}

const struct command *schedule_due(struct schedule *schedule, uint64_t step)
{
	if (atomic_load_explicit(&schedule->posted, memory_order_relaxed))
		take_posted(schedule);
	if (schedule->done == schedule->commands.count || schedule->commands.at[schedule->done].step > step)
		return NULL;
	return &schedule->commands.at[schedule->done++];
}

bool schedule_pending(const struct schedule *schedule)
{
	return schedule->done < schedule->commands.count || atomic_load(&schedule->posted) != NULL;
}

void schedule_fini(struct schedule *schedule)
{
	take_posted(schedule);
	vec_free(&schedule->commands);
}
