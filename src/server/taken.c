/* A program that writes the taken commands down gets them as text, each as it can be given again. */
#include "server/taken.h"

#include "run/services.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

/* Whether the command, although it failed, may have created some of its models. */
static bool may_do_a_part(const struct command *command)
{
	return command->service && command->service->type == &gz__msgs__entity_factory__v__descriptor;
}

/* A state that is resumed is named, but not written: the file of commands would have lines without end. */
static void add_message(struct text *out, const struct command *command)
{
	if (!command->service || !command->service->replaces) {
		message_add_text(out, command->message, MESSAGE_LINE);
		return;
	}
	Troupe__Msgs__Resume named = *(const Troupe__Msgs__Resume *)(const void *)command->message;
	named.state = (ProtobufCBinaryData){0, NULL};
	named.error = message_string("");
	message_add_text(out, &named.base, MESSAGE_LINE);
}

void taken_tell(struct server_world *world, uint64_t step, const struct command *command, troupe_status status)
{
	struct troupe_server *server = world->server;
	struct text text = {0};
	if (!server->def.on_taken)
		return;
	if (command->message)
		add_message(&text, command);
	else
		text_add(&text, "%s", command->text ? command->text : "");
	struct troupe_taken taken = {.world = world->index,
		.step = step,
		.topic = command->topic,
		.text = text.at,
		.refused = status && !may_do_a_part(command),
		.saved = command->saved,
		.copy = (uintptr_t)command->broadcast};
	server->def.on_taken(server->def.ctx, &taken);
	text_fini(&text);
}
