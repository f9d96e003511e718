/* Moves the model of a person as a crowd decides: RmfCrowd publishes on the topic RMF_CROWD_NUMBERS numbers for each
 * person, and this system takes those of its <entry>. The model keeps its velocity until the next message. */
#include "builtin/rmf_parts.h"

#include <stdio.h>

struct rmf_person_config {
	const struct troupe_field *numbers;
	uint32_t entry;
};

struct rmf_person_words {
	double x, y, turn;
};

static const struct troupe_words rmf_person_words_of[] = {
	{"velocity x", TROUPE_WORD_DOUBLE},
	{"velocity y", TROUPE_WORD_DOUBLE},
	{"turn", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};

static const struct troupe_parameter rmf_person_parameters[] = {
	BUILTIN_TEXT("topic", "of the crowd; needed"),
	BUILTIN_BETWEEN("entry", 0, 1e6, "its place in the messages, default 0"),
	BUILTIN_END,
};

static bool rmf_person_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_person_config *config = self->config = host->alloc(self, sizeof *config);
	const char *topic = host->text(plugin, "topic", NULL);
	config->entry = (uint32_t)host->number(self, plugin, "entry", 0);
	config->numbers = host->field(self, "gz.msgs.Double_V", "data");
	if (!topic)
		return host->leave_out(self, plugin, "the plugin has no <topic>");
	return config->numbers && host->must_move(self) &&
	       host->take(self, plugin, topic, "gz.msgs.Double_V", 0, TROUPE_NOTHING);
}

static bool rmf_person_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct rmf_person_config *config = self->config;
	uint32_t count = self->host->count(message, config->numbers), needed = RMF_CROWD_NUMBERS * (config->entry + 1);
	(void)input;
	if (count >= needed)
		return true;
	(void)snprintf(
		why, TROUPE_WHY_BYTES, "%u numbers: expected at least %u, for entry %u", count, needed, config->entry);
	return false;
}

static void rmf_person_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rmf_person_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct rmf_person_words *w = words;
	uint32_t first = RMF_CROWD_NUMBERS * config->entry;
	(void)input;
	if (host->count(message, config->numbers) < first + RMF_CROWD_NUMBERS)
		return;
	w->x = builtin_clamp(host->get(message, config->numbers, first), -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
	w->y = builtin_clamp(
		host->get(message, config->numbers, first + 1), -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
	w->turn = builtin_clamp(
		host->get(message, config->numbers, first + 2), -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
}

static void rmf_person_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_person_words *w = words;
	self->host->model_drive(step, self->model,
		(struct troupe_twist){troupe_vec3_make(w->x, w->y, 0), troupe_vec3_make(0, 0, w->turn)});
}

const struct troupe_kind builtin_rmf_person = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_RESTS,
	.names = (const char *const[]){"troupe::RmfPerson", NULL},
	.parameters = rmf_person_parameters,
	.words = rmf_person_words_of,
	.configure = rmf_person_configure,
	.check = rmf_person_check,
	.command = rmf_person_command,
	.pre_update = rmf_person_pre_update,
};
