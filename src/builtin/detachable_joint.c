/* Joins a link of the model rigidly to a link of another model, from the first step on, until any message comes on
 * <detach_topic>; a message on <attach_topic> joins them again, in the poses that they have then. "attached" or
 * "detached" is published on <output_topic> when it changes. The other model may be created later: it is joined then.
 * When it is removed, or unloaded with its level, the joint ends. As Gazebo's DetachableJoint, but the two do not touch
 * one another while they are joined. */
#include "builtin/parts.h"

#include <string.h>

enum detachable_joint_input { INPUT_DETACH, INPUT_ATTACH };
enum { WANTS_NOTHING, WANTS_ATTACHED, WANTS_DETACHED };

struct detachable_joint_config {
	uint32_t link, own; /* own: the other link, if it is of the same model */
	const char *model, *other;
	bool quiet, begins;
	uint32_t state; /* output */
	const struct troupe_field *data;
};

struct detachable_joint_words {
	uint64_t wants, attached;
	uint64_t missed; /* steps in which the other link did not exist, up to 2: the second one says so. In the first
			  * step no level has been loaded yet. */
};

static const struct troupe_words detachable_joint_words_of[] = {
	{"wants", TROUPE_WORD_INTEGER},
	{"attached", TROUPE_WORD_INTEGER},
	{"missed", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_INTEGER},
};

static const struct troupe_parameter detachable_joint_parameters[] = {
	BUILTIN_TEXT("parent_link", "of the model; needed"),
	BUILTIN_TEXT("child_model", "the other model, or __model__: this one; needed"),
	BUILTIN_TEXT("child_link", "of the other model; needed"),
	BUILTIN_TEXT("topic", "an older name of detach_topic"),
	BUILTIN_TEXT("detach_topic", "of Empty; default: /model/NAME/detachable_joint/detach"),
	BUILTIN_TEXT("attach_topic", "of Empty; default: /model/NAME/detachable_joint/attach"),
	BUILTIN_BOOL("initial_attach", "joins the models at the beginning; default true"),
	BUILTIN_TEXT("output_topic", "of StringMsg; default: /model/CHILD_MODEL/detachable_joint/state"),
	BUILTIN_BOOL("suppress_child_warning", "says nothing when the other link does not exist; default false"),
	BUILTIN_END,
};

/* The other link, if it is one of this model, or of a model in it; known at once, so it need not be looked for. */
static uint32_t detachable_joint_find_own(struct troupe_system *self, const struct detachable_joint_config *config)
{
	const struct troupe_host *host = self->host;
	if (!strcmp(config->model, "__model__"))
		return host->find_link(self, config->other);
	return host->find_link(self, host->print(self, "%s::%s", config->model, config->other));
}

static bool detachable_joint_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const needed[] = {"child_model", "child_link"};
	const struct troupe_host *host = self->host;
	struct detachable_joint_config *config = self->config = host->alloc(self, sizeof *config);
	for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
		if (!*host->text(plugin, needed[i], ""))
			return host->leave_out(self, plugin, "the plugin has no <%s>", needed[i]);
	if (!builtin_find_link(self, plugin, "parent_link", &config->link))
		return false;
	config->model = host->text(plugin, "child_model", "");
	config->other = host->text(plugin, "child_link", "");
	config->quiet = host->boolean(self, plugin, "suppress_child_warning", false);
	config->begins = host->boolean(self, plugin, "initial_attach", true);
	config->own = detachable_joint_find_own(self, config);
	config->data = host->field(self, "gz.msgs.StringMsg", "data");
	bool old = !host->child(plugin, "detach_topic", NULL) && host->child(plugin, "topic", NULL);
	const struct troupe_output state = {.type = "gz.msgs.StringMsg", .gives = TROUPE_GIVES_PUBLISHED};
	const char *usual = host->print(self, "model/%s/detachable_joint/state", config->model);
	return builtin_take(self, plugin, old ? "topic" : "detach_topic", "detachable_joint/detach", "gz.msgs.Empty",
		       INPUT_DETACH) &&
	       builtin_take(self, plugin, "attach_topic", "detachable_joint/attach", "gz.msgs.Empty", INPUT_ATTACH) &&
	       builtin_give(self, plugin, "output_topic", usual, &state, &config->state);
}

static void detachable_joint_init(const struct troupe_system *self, void *words)
{
	if (((const struct detachable_joint_config *)self->config)->begins)
		((struct detachable_joint_words *)words)->wants = WANTS_ATTACHED;
}

static void detachable_joint_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	(void)self;
	(void)message;
	((struct detachable_joint_words *)words)->wants = input == INPUT_ATTACH ? WANTS_ATTACHED : WANTS_DETACHED;
}

static void detachable_joint_tell(const struct troupe_system *self, const struct troupe_step *step,
	struct detachable_joint_words *w, bool attached)
{
	const struct detachable_joint_config *config = self->config;
	struct troupe_message *message = self->host->message(step, "gz.msgs.StringMsg");
	w->attached = attached;
	self->host->put_text(message, config->data, attached ? "attached" : "detached");
	self->host->publish(self, step, config->state, message);
}

/* TROUPE_NOTHING: it does not exist now. */
static uint32_t detachable_joint_find_other(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct detachable_joint_config *config = self->config;
	if (config->own != TROUPE_NOTHING)
		return config->own;
	uint32_t model = self->host->find_model(step, config->model);
	return model == TROUPE_NOTHING ? TROUPE_NOTHING : self->host->find_link_of(step, model, config->other);
}

static void detachable_joint_attach(const struct troupe_system *self, const struct troupe_step *step, uint32_t other,
	struct detachable_joint_words *w)
{
	const struct detachable_joint_config *config = self->config;
	if (self->host->attach(self, step, config->link, other)) {
		w->wants = WANTS_NOTHING;
		w->missed = 0;
		detachable_joint_tell(self, step, w, true);
		return;
	}
	if (w->missed == 1 && !config->quiet && other == TROUPE_NOTHING)
		self->host->log_line(self, "model '%.80s' has no link '%.80s' now: it is attached when it has",
			config->model, config->other);
	w->missed += w->missed < 2;
}

static void detachable_joint_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	struct detachable_joint_words *w = words;
	uint32_t other = detachable_joint_find_other(self, step);
	bool joined = host->attached(self, step);
	if (joined && (w->wants == WANTS_DETACHED || other == TROUPE_NOTHING)) {
		host->detach(self, step);
		joined = false;
	}
	if (w->attached && !joined)
		detachable_joint_tell(self, step, w, false);
	if (w->wants == WANTS_ATTACHED && !joined)
		detachable_joint_attach(self, step, other, w);
	else
		w->wants = WANTS_NOTHING;
}

/* What it wants is done. A joint ends otherwise only when its other model goes, and then update() is called in the next
 * step (run/horizon.c). */
static bool detachable_joint_waits(const struct troupe_system *self, const void *words)
{
	(void)self;
	return ((const struct detachable_joint_words *)words)->wants == WANTS_NOTHING;
}

const struct troupe_kind builtin_detachable_joint = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("DetachableJoint"),
	.parameters = detachable_joint_parameters,
	.words = detachable_joint_words_of,
	.configure = detachable_joint_configure,
	.init = detachable_joint_init,
	.command = detachable_joint_command,
	.update = detachable_joint_update,
	.waits = detachable_joint_waits,
};
