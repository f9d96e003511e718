/* A program that writes the taken commands down gets them as text, each as it can be given again. */
#include "server/command_notice.h"

#include "run/services.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>

/* A state that is resumed is named, but not written: the file of commands would have lines without end. */
static void command_notice_add_message(struct text *out, const struct command *command)
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

void command_notice_send(struct server_world *world, uint64_t step, const struct command *command, troupe_status status)
{
	struct troupe_server *server = world->server;
	struct text text = {0};
	if (!server->def.on_taken)
		return;
	if (command->message)
		command_notice_add_message(&text, command);
	else
		text_add(&text, "%s", command->text ? command->text : "");
	char *topic = command->client ? mem_printf("%s@%s", command->topic, command->client) : NULL;
	struct troupe_taken taken = {.world = world->index,
		.step = step,
		.topic = topic ? topic : command->topic,
		.text = text.at,
		.refused = status && !(command->service && command->service->partial),
		.saved = command->saved,
		.copy = (uintptr_t)command->broadcast};
	server->def.on_taken(server->def.ctx, &taken);
	free(topic);
	text_fini(&text);
}
