/* Tells when the model has touched a target for some time without a break: a Boolean on /NAMESPACE/touched, once. A
 * target is a collision whose name "MODEL::LINK::COLLISION" contains the text of <target>. /NAMESPACE/enable begins
 * anew, or ends it. As in Gazebo, but for one thing: any collision of the model counts, and not only those that a
 * contact sensor names. */
#include "builtin/parts.h"

#include <string.h>

struct touch_plugin_words {
	uint64_t enabled, touching;
	double since_s; /* the time at which the touch began */
};

struct touch_plugin_config {
	const char *target;
	double time_s;
	bool enabled;
	uint32_t touched;
	const struct troupe_field *asked, *data;
};

static const struct troupe_parameter touch_plugin_parameters[] = {
	BUILTIN_TEXT("target", "a part of the names of the collisions that are targets; needed"),
	BUILTIN_BETWEEN("time", 0, BUILTIN_NUMBER_MAX, "s, how long the touch must last; needed"),
	BUILTIN_TEXT("namespace", "of the topics /NAMESPACE/touched and /NAMESPACE/enable; needed"),
	BUILTIN_BOOL("enabled", "from the beginning; default false"),
	BUILTIN_END,
};

static const struct troupe_words touch_plugin_word_names[] = {
	{"enabled", TROUPE_WORD_INTEGER},
	{"touching", TROUPE_WORD_INTEGER},
	{"touching since", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_INTEGER},
};

static bool touch_plugin_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const needed[] = {"target", "time", "namespace"};
	const struct troupe_host *host = self->host;
	struct touch_plugin_config *config = self->config = host->alloc(self, sizeof *config);
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!*host->text(plugin, needed[i], ""))
			return host->leave_out(self, plugin, "the plugin has no <%s>", needed[i]);
	const char *space = host->text(plugin, "namespace", "");
	config->target = host->text(plugin, "target", "");
	config->time_s = host->number(self, plugin, "time", 0);
	config->enabled = host->boolean(self, plugin, "enabled", false);
	config->asked = config->data = host->field(self, "gz.msgs.Boolean", "data");
	const struct troupe_output touched = {.name = host->print(self, "%s/touched", space),
		.type = "gz.msgs.Boolean",
		.gives = TROUPE_GIVES_PUBLISHED};
	return config->data && host->give(self, plugin, &touched, &config->touched) &&
	       host->serve(self, plugin, host->print(self, "%s/enable", space), "gz.msgs.Boolean", "gz.msgs.Empty", 0);
}

static void touch_plugin_init(const struct troupe_system *self, void *words)
{
	((struct touch_plugin_words *)words)->enabled = ((const struct touch_plugin_config *)self->config)->enabled;
}

static void touch_plugin_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct touch_plugin_config *config = self->config;
	(void)input;
	*(struct touch_plugin_words *)words =
		(struct touch_plugin_words){.enabled = self->host->get(message, config->asked, 0) != 0};
}

static bool touch_plugin(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct touch_plugin_config *config = self->config;
	struct troupe_touch touch;
	for (uint32_t i = 0; self->host->touch(step, self->model, i, &touch); i++)
		if (strstr(touch.collisions[0], config->target) || strstr(touch.collisions[1], config->target))
			return true;
	return false;
}

static void touch_plugin_tell(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct touch_plugin_config *config = self->config;
	struct troupe_message *message = self->host->message(step, "gz.msgs.Boolean");
	self->host->put(message, config->data, true);
	self->host->publish(self, step, config->touched, message);
}

static void touch_plugin_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct touch_plugin_config *config = self->config;
	struct touch_plugin_words *w = words;
	if (!w->enabled)
		return;
	if (!touch_plugin(self, step)) {
		w->touching = 0;
		return;
	}
	if (!w->touching) {
		w->touching = 1;
		w->since_s = step->time_s;
	}
	if (step->time_s - w->since_s <= config->time_s)
		return;
	touch_plugin_tell(self, step);
	w->enabled = w->touching = 0;
}

const struct troupe_kind builtin_touch_plugin = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_READS_CONTACTS,
	.names = BUILTIN_NAMES("TouchPlugin"),
	.parameters = touch_plugin_parameters,
	.words = touch_plugin_word_names,
	.configure = touch_plugin_configure,
	.init = touch_plugin_init,
	.command = touch_plugin_command,
	.update = touch_plugin_update,
};
