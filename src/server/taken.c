/* Which commands waited in the saved state? A command has no mark for this. But a command keeps its memory from the
 * time when it is posted until it is taken, and waiting commands are taken in the order in which schedule_peek() gives
 * them. So the addresses of the saved commands are noted in this order, and compared in this order. Some saved commands
 * are never reported, because no system of this world listens to them: these are passed over when their step is past.
 * The memory of such a command cannot be used again for another command of the same step: when a step is taken, all its
 * commands exist. */
#include "server/taken.h"

#include "run/services.h"
#include "topic/message.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>

struct waiting { /* a command of the saved state */
	uint64_t step;
	const void *topic, *message; /* addresses, for comparison only; NULL: none */
};

struct waiting_list {
	VEC(struct waiting) all; /* in the order in which they are taken */
	uint32_t next;           /* the commands before this one have been taken, or passed over */
};

struct taken {
	struct waiting_list lists[SDF_WORLDS_MAX];
};

static void note_waiting(struct schedule *schedule, struct waiting_list *list)
{
	const struct command *command;
	for (uint32_t i = 0; (command = schedule_peek(schedule, i)); i++)
		vec_push(&list->all, (struct waiting){command->step, command->topic, command->message});
}

void taken_create(struct troupe_server *server)
{
	if (!server->def.on_taken)
		return;
	server->taken = mem_alloc(sizeof *server->taken);
	for (uint32_t i = 0; i < server->world_count; i++)
		note_waiting(&server->worlds[i].primary.schedule, &server->taken->lists[i]);
}

static bool is_saved(struct waiting_list *list, uint64_t step, const struct command *command)
{
	while (list->next < list->all.count && list->all.at[list->next].step < step)
		list->next++;
	for (uint32_t i = list->next; i < list->all.count && list->all.at[i].step == step; i++) {
		const struct waiting *waiting = &list->all.at[i];
		if ((waiting->topic && waiting->topic == command->topic) ||
			(waiting->message && waiting->message == command->message)) {
			list->next = i + 1;
			return true;
		}
	}
	return false;
}

/* Whether the command, although it failed, may have created some of its models. */
static bool may_do_a_part(const struct command *command)
{
	return command->service && command->service->type == &gz__msgs__entity_factory__v__descriptor;
}

void taken_tell(struct server_world *world, uint64_t step, const struct command *command, troupe_status status)
{
	struct troupe_server *server = world->server;
	struct text text = {0};
	if (!server->taken)
		return;
	if (command->message)
		message_add_text(&text, command->message, MESSAGE_LINE);
	else
		text_add(&text, "%s", command->text ? command->text : "");
	struct troupe_taken taken = {.world = world->index,
		.step = step,
		.topic = command->topic,
		.text = text.at,
		.refused = status && !may_do_a_part(command),
		.saved = is_saved(&server->taken->lists[world->index], step, command),
		.copy = (uintptr_t)command->broadcast};
	server->def.on_taken(server->def.ctx, &taken);
	text_fini(&text);
}

void taken_destroy(struct taken *taken)
{
	for (uint32_t i = 0; taken && i < SDF_WORLDS_MAX; i++)
		vec_free(&taken->lists[i].all);
	free(taken);
}
