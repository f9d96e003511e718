/* Forces and torques on links from the start, until they are cleared: each <persistent> is a request to the service
 * wrench/persistent in the first step. The topics of Gazebo's ApplyLinkWrench, /world/W/wrench,
 * /world/W/wrench/persistent and /world/W/wrench/clear, are there without it, and only under these names. */
#include "builtin/parts.h"

#include <string.h>

enum { TYPE_MODEL = 2, TYPE_LINK = 3 }; /* gz.msgs.Entity */

struct apply_link_wrench_start {
	const char *name;
	double type;
	struct troupe_vec3 force, torque;
};

struct apply_link_wrench_config {
	uint32_t count;
	struct apply_link_wrench_start *starts;
	const struct troupe_field *name, *type, *force[3], *torque[3];
};

static const struct troupe_words apply_link_wrench_words_of[] = {
	{"begun", TROUPE_WORD_INTEGER}, {NULL, TROUPE_WORD_INTEGER}};

static const struct troupe_parameter apply_link_wrench_parameters[] = {
	BUILTIN_PARTS("persistent",
		"<entity_name>, <entity_type> (link or model), <force> (N), <torque> (N m); in the world's axes"),
	BUILTIN_UNUSED("topic", "the topic is /world/W/wrench"),
	BUILTIN_UNUSED("topic_persistent", "the topic is /world/W/wrench/persistent"),
	BUILTIN_UNUSED("topic_clear", "the topic is /world/W/wrench/clear"),
	BUILTIN_BOOL("verbose", "has no effect"),
	BUILTIN_END,
};

static bool apply_link_wrench_read_start(
	struct troupe_system *self, const struct troupe_element *wrench, struct apply_link_wrench_start *ret_start)
{
	const struct troupe_host *host = self->host;
	const char *type = host->text(wrench, "entity_type", "link");
	bool is_link = !strcmp(type, "link") || !strcmp(type, "LINK");
	struct troupe_vec3 zero = {0, 0, 0};
	if (!is_link && strcmp(type, "model") != 0 && strcmp(type, "MODEL") != 0)
		return host->refuse(self, wrench, "<entity_type> is '%.80s': expected link or model", type);
	*ret_start = (struct apply_link_wrench_start){host->text(wrench, "entity_name", ""),
		is_link ? TYPE_LINK : TYPE_MODEL, host->vector(self, wrench, "force", zero),
		host->vector(self, wrench, "torque", zero)};
	return *ret_start->name ||
	       host->refuse(self, wrench, "<persistent> has no <entity_name>: expected a model or link");
}

static bool apply_link_wrench_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct apply_link_wrench_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *e = NULL;
	uint32_t count = 0;
	while ((e = host->child(plugin, "persistent", e)))
		count++;
	config->starts = host->alloc(self, (count + 1) * sizeof *config->starts);
	while ((e = host->child(plugin, "persistent", e)))
		if (!apply_link_wrench_read_start(self, e, &config->starts[config->count++]))
			return false;
	config->name = host->field(self, "gz.msgs.EntityWrench", "entity.name");
	config->type = host->field(self, "gz.msgs.EntityWrench", "entity.type");
	for (int i = 0; i < 3; i++) {
		config->force[i] =
			host->field(self, "gz.msgs.EntityWrench", host->print(self, "wrench.force.%c", "xyz"[i]));
		config->torque[i] =
			host->field(self, "gz.msgs.EntityWrench", host->print(self, "wrench.torque.%c", "xyz"[i]));
	}
	return config->name && config->type;
}

static void apply_link_wrench_ask(
	const struct troupe_system *self, const struct troupe_step *step, const struct apply_link_wrench_start *start)
{
	const struct troupe_host *host = self->host;
	const struct apply_link_wrench_config *config = self->config;
	const double force[] = {start->force.x, start->force.y, start->force.z};
	const double torque[] = {start->torque.x, start->torque.y, start->torque.z};
	struct troupe_message *message = host->message(step, "gz.msgs.EntityWrench");
	host->put_text(message, config->name, start->name);
	host->put(message, config->type, start->type);
	for (int i = 0; i < 3; i++) {
		host->put(message, config->force[i], force[i]);
		host->put(message, config->torque[i], torque[i]);
	}
	host->request(self, step, "wrench/persistent", message);
}

static void apply_link_wrench_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct apply_link_wrench_config *config = self->config;
	uint64_t *begun = words;
	for (uint32_t i = 0; !*begun && i < config->count; i++)
		apply_link_wrench_ask(self, step, &config->starts[i]);
	*begun = 1;
}

static bool apply_link_wrench_waits(const struct troupe_system *self, const void *words)
{
	const uint64_t *begun = words;
	(void)self;
	return *begun;
}

const struct troupe_kind builtin_apply_link_wrench = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("ApplyLinkWrench"),
	.parameters = apply_link_wrench_parameters,
	.words = apply_link_wrench_words_of,
	.configure = apply_link_wrench_configure,
	.update = apply_link_wrench_update,
	.waits = apply_link_wrench_waits,
};
