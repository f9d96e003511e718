/* Publishes messages when a message comes that matches: the inputs and outputs are topics, the messages are given as
 * protobuf's text. The outputs come in the step after that of the input, or <delay_ms> of simulated time later;
 * services of the world are asked in the same step. As in Gazebo, all <match> of an input must hold, an empty one is
 * left out, and a plug-in that has empty ones only does nothing. The input may be a topic that the run itself
 * publishes: odometry, poses, sensors (server/subscribers.h). */
#include "builtin/parts.h"

#include <string.h>

enum { MATCHES_MAX = 16, OUTPUTS_MAX = 24, WAITING_MAX = 64 };

struct triggered_words {
	uint64_t fresh;               /* messages that matched since the last triggered_update() */
	uint64_t waiting;             /* how many entries of due_ns are used */
	uint64_t due_ns[WAITING_MAX]; /* simulated time, ascending */
};

struct match {
	const struct troupe_field *field; /* NULL: the whole message */
	const struct troupe_message *wanted;
	double tolerance;
	bool negative;
};

struct triggered_output {
	const struct troupe_message *message;
	const char *service; /* of the world; NULL: a topic */
	uint32_t output;
};

struct triggered_config {
	uint64_t delay_ns;
	uint32_t match_count, output_count;
	struct match matches[MATCHES_MAX];
	struct triggered_output outputs[OUTPUTS_MAX];
};

static const struct troupe_parameter triggered_parameters[] = {
	BUILTIN_PARTS("input", "type, topic, and each <match field tol logic_type>"),
	BUILTIN_PARTS("output", "type and topic, and the message as text; one or more"),
	BUILTIN_BETWEEN("delay_ms", 0, 1e9, "ms of simulated time; default 0"),
	BUILTIN_PARTS("service", "name, reqType, reqMsg: a request to the world"),
	BUILTIN_END,
};

static const char *triggered_attribute(
	const struct troupe_system *self, const struct troupe_element *element, const char *name)
{
	const char *text = self->host->attribute(element, name);
	return text ? text : "";
}

#define TOLERANCE 1e-8 /* without the attribute: the last digits of a computed number differ from those of a text */

/* The attribute "tol"; a text that is no number is refused. */
static bool triggered_read_tolerance(
	struct troupe_system *self, const struct troupe_element *element, double *ret_tolerance)
{
	const char *text = self->host->attribute(element, "tol");
	*ret_tolerance = TOLERANCE;
	if (!text)
		return true;
	const struct troupe_message *number = self->host->read_message(self, element, "gz.msgs.Double", "data", text);
	const struct troupe_field *data = self->host->field(self, "gz.msgs.Double", "data");
	if (number)
		*ret_tolerance = self->host->get(number, data, 0);
	return number && *ret_tolerance >= 0;
}

static bool triggered_add_match(struct troupe_system *self, const struct troupe_element *element, const char *type)
{
	const struct troupe_host *host = self->host;
	struct triggered_config *config = self->config;
	const char *path = host->attribute(element, "field"), *logic = triggered_attribute(self, element, "logic_type");
	if (config->match_count == MATCHES_MAX)
		return host->refuse(self, element, "more than %d <match>", MATCHES_MAX);
	struct match *match = &config->matches[config->match_count++];
	match->negative = !strcmp(logic, "negative");
	if (*logic && !match->negative && strcmp(logic, "positive") != 0)
		return host->refuse(
			self, element, "logic_type is '%.80s': expected \"positive\" or \"negative\"", logic);
	if (!triggered_read_tolerance(self, element, &match->tolerance))
		return host->refuse(self, element, "tol is '%.80s': expected a number of 0 or more",
			triggered_attribute(self, element, "tol"));
	if (path && !(match->field = host->field(self, type, path)))
		return false;
	match->wanted = host->read_message(self, element, type, path, host->text_of(element));
	return match->wanted;
}

static bool triggered_add_input(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *input = host->child(plugin, "input", NULL), *match = NULL;
	if (!input || !*triggered_attribute(self, input, "type") || !*triggered_attribute(self, input, "topic"))
		return host->leave_out(self, input ? input : plugin, "expected an <input> with a type and a topic");
	const char *type = triggered_attribute(self, input, "type");
	uint32_t empty = 0;
	while ((match = host->child(input, "match", match))) {
		if (!*host->text_of(match)) {
			host->warn(self, match, "<match> is empty: it is left out");
			empty++;
		} else if (!triggered_add_match(self, match, type)) {
			return false;
		}
	}
	if (empty && !((struct triggered_config *)self->config)->match_count)
		return host->leave_out(self, input, "no <match> says for which messages: expected none or a message");
	return host->take(self, input, triggered_attribute(self, input, "topic"), type, 0, TROUPE_NOTHING);
}

static struct triggered_output *triggered_next_output(struct troupe_system *self, const struct troupe_element *element)
{
	struct triggered_config *config = self->config;
	if (config->output_count < OUTPUTS_MAX)
		return &config->outputs[config->output_count++];
	self->host->refuse(self, element, "more than %d <output> and <service>", OUTPUTS_MAX);
	return NULL;
}

static bool triggered_add_output(struct troupe_system *self, const struct troupe_element *element)
{
	const struct troupe_host *host = self->host;
	const char *type = triggered_attribute(self, element, "type"),
		   *topic = triggered_attribute(self, element, "topic");
	struct triggered_output *output = triggered_next_output(self, element);
	if (!output)
		return false;
	if (!*type || !*topic)
		return host->leave_out(self, element, "expected an <output> with a type and a topic");
	const struct troupe_output def = {.name = topic, .type = type, .gives = TROUPE_GIVES_PUBLISHED};
	output->message = host->read_message(self, element, type, NULL, host->text_of(element));
	return output->message && host->give(self, element, &def, &output->output);
}

/* "/world/WORLD/set_pose" is the service "set_pose". */
static bool triggered_add_service(struct troupe_system *self, const struct troupe_element *element)
{
	const struct troupe_host *host = self->host;
	const char *name = triggered_attribute(self, element, "name"),
		   *type = triggered_attribute(self, element, "reqType");
	const char *prefix = host->print(self, "/world/%s/", host->world_name(self));
	struct triggered_output *output = triggered_next_output(self, element);
	if (!output)
		return false;
	if (!*name || !*type)
		return host->leave_out(self, element, "expected a <service> with a name and a reqType");
	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return host->leave_out(self, element, "service '%.100s': expected %s...", name, prefix);
	output->service = name + strlen(prefix);
	output->message = host->read_message(self, element, type, NULL, triggered_attribute(self, element, "reqMsg"));
	return output->message;
}

static bool triggered_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct triggered_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *element = NULL;
	config->delay_ns = (uint64_t)(host->number(self, plugin, "delay_ms", 0) * 1e6);
	host->add_words(self, "matches", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "waiting", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "due in ns", TROUPE_WORD_INTEGER, WAITING_MAX);
	if (!triggered_add_input(self, plugin))
		return false;
	while ((element = host->child(plugin, "output", element)))
		if (!triggered_add_output(self, element))
			return false;
	while ((element = host->child(plugin, "service", element)))
		if (!triggered_add_service(self, element))
			return false;
	if (!config->output_count)
		return host->leave_out(self, plugin, "the plugin has no <output> and no <service>");
	return true;
}

static void triggered_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct triggered_config *config = self->config;
	(void)input;
	for (uint32_t i = 0; i < config->match_count; i++) {
		const struct match *match = &config->matches[i];
		if (self->host->matches(message, match->wanted, match->field, match->tolerance) == match->negative)
			return;
	}
	((struct triggered_words *)words)->fresh++;
}

static void triggered_fire(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct triggered_config *config = self->config;
	for (uint32_t i = 0; i < config->output_count; i++) {
		const struct triggered_output *output = &config->outputs[i];
		if (output->service)
			self->host->request(self, step, output->service, output->message);
		else
			self->host->publish(self, step, output->output, output->message);
	}
}

static void triggered_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct triggered_config *config = self->config;
	struct triggered_words *w = words;
	uint64_t now_ns = (uint64_t)(step->time_s * 1e9 + 0.5), done = 0;
	if (w->waiting > WAITING_MAX) /* a damaged state */
		w->waiting = 0;
	for (; w->fresh && w->waiting < WAITING_MAX; w->fresh--)
		w->due_ns[w->waiting++] = now_ns + config->delay_ns;
	if (w->fresh)
		self->host->log_line(self, "more than %d outputs wait: the others are left out", WAITING_MAX);
	w->fresh = 0;
	for (; done < w->waiting && w->due_ns[done] <= now_ns; done++)
		triggered_fire(self, step);
	if (!done)
		return;
	w->waiting -= done;
	memmove(w->due_ns, w->due_ns + done, w->waiting * sizeof *w->due_ns);
	memset(w->due_ns + w->waiting, 0, done * sizeof *w->due_ns);
}

static bool triggered_waits(const struct troupe_system *self, const void *words)
{
	const struct triggered_words *w = words;
	(void)self;
	return !w->fresh && !w->waiting;
}

const struct troupe_kind builtin_triggered_publisher = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_IN_WORLD | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("TriggeredPublisher"),
	.parameters = triggered_parameters,
	.configure = triggered_configure,
	.command = triggered_command,
	.update = triggered_update,
	.waits = triggered_waits,
};
