/* Messages between robots: CommsEndpoint, and the broker PerfectComms, which loses none. A Dataframe on /broker/msgs
 * comes out on the topic of each endpoint whose address is its dst_address. The way takes three steps: the broker
 * keeps it in its words and hands it over in the next step, on the topic <bind_service>/delivered; the endpoints for
 * which it is keep it, and publish one message in each step. */
#include "builtin/comms.h"
#include "builtin/parts.h"

#include <string.h>

enum {
	COMMS_BYTES_MAX = 1500, /* of a message */
	ENDPOINT_WORDS = 512,   /* of messages that wait at an endpoint */
};

static uint64_t comms_words_for(uint64_t bytes)
{
	return 1 + (bytes + 7) / 8;
}

static bool comms_read_common(struct troupe_system *self, struct comms_common *common, uint32_t queue_words)
{
	static const char type[] = "gz.msgs.Dataframe";
	common->queue_words = queue_words;
	self->host->add_words(self, "words of waiting messages", TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, "waiting messages", TROUPE_WORD_INTEGER, queue_words);
	common->src = self->host->field(self, type, "src_address");
	common->dst = self->host->field(self, type, "dst_address");
	return common->src && common->dst;
}

void comms_keep(const struct troupe_system *self, uint64_t *queue, const struct troupe_message *message)
{
	const struct comms_common *common = self->config;
	unsigned char bytes[COMMS_BYTES_MAX];
	uint64_t count = self->host->pack(message, bytes, sizeof bytes);
	if (count > COMMS_BYTES_MAX || queue[0] > common->queue_words ||
		queue[0] + comms_words_for(count) > common->queue_words) {
		self->host->log_line(self, "too many messages wait: one is lost");
		return;
	}
	queue[1 + queue[0]] = count;
	memcpy(&queue[2 + queue[0]], bytes, count);
	queue[0] += comms_words_for(count);
}

struct troupe_message *comms_next(
	const struct troupe_system *self, const struct troupe_step *step, uint64_t *queue, uint64_t *ret_bytes)
{
	const struct comms_common *common = self->config;
	struct troupe_message *message = NULL;
	uint64_t count = queue[1], words = comms_words_for(count);
	if (queue[0] && queue[0] <= common->queue_words && count <= COMMS_BYTES_MAX && words <= queue[0]) {
		message = self->host->unpack(step, "gz.msgs.Dataframe", &queue[2], count);
		queue[0] -= words;
		memmove(queue + 1, queue + 1 + words, queue[0] * 8);
		memset(queue + 1 + queue[0], 0, words * 8);
	} else {
		queue[0] = 0; /* empty, or a damaged state */
	}
	*ret_bytes = count;
	return message;
}

bool comms_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	static const char text[] = "the message is too long: expected at most 1500 bytes in protobuf's encoding";
	unsigned char bytes[1];
	if (input == COMMS_ON_BIND || self->host->pack(message, bytes, 0) <= COMMS_BYTES_MAX)
		return true;
	memcpy(why, text, sizeof text);
	return false;
}

const char *comms_broker_name(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, const char *usual)
{
	const struct troupe_element *broker = self->host->child(plugin, "broker", NULL);
	return broker ? self->host->text(broker, name, usual) : usual;
}

/* In Gazebo endpoints and programs call this service to take a binding back. */
static void comms_check_broker(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_element *broker = self->host->child(plugin, "broker", NULL);
	const struct troupe_element *unbind = broker ? self->host->child(broker, "unbind_service", NULL) : NULL;
	if (unbind)
		self->host->warn(self, unbind,
			"<unbind_service> has no effect: an endpoint is bound as long as its model exists");
}

static const char *comms_delivered_name(struct troupe_system *self, const struct troupe_element *plugin)
{
	return self->host->print(self, "%s/delivered", comms_broker_name(self, plugin, "bind_service", "/broker/bind"));
}

/* --- CommsEndpoint ------------------------------------------------------------------------------------------------ */

struct endpoint_words {
	uint64_t bound;
	uint64_t queue[1 + ENDPOINT_WORDS];
};

struct endpoint {
	struct comms_common common;
	const char *address, *topic, *model;
	uint32_t received, bind;
	const struct troupe_field *data;
};

static const struct troupe_parameter comms_endpoint_parameters[] = {
	BUILTIN_TEXT("address", "of this endpoint; needed"),
	BUILTIN_TEXT("topic", "on which messages for the address come out; needed"),
	BUILTIN_PARTS(
		"broker", "<bind_service>, default /broker/bind: as the broker has it; <unbind_service> has no effect"),
	BUILTIN_END,
};

static bool comms_endpoint_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct endpoint *endpoint = self->config = host->alloc(self, sizeof *endpoint);
	endpoint->address = host->text(plugin, "address", "");
	endpoint->topic = host->text(plugin, "topic", "");
	endpoint->model = host->print(self, "%s", host->owner_name(self));
	comms_check_broker(self, plugin);
	if (!*endpoint->address || !*endpoint->topic)
		return host->leave_out(
			self, plugin, "the plugin has no <%s>", *endpoint->address ? "topic" : "address");
	const struct troupe_output received = {
		.name = endpoint->topic, .type = "gz.msgs.Dataframe", .gives = TROUPE_GIVES_PUBLISHED};
	const struct troupe_output bind = {.name = comms_broker_name(self, plugin, "bind_service", "/broker/bind"),
		.type = "gz.msgs.StringMsg_V",
		.gives = TROUPE_GIVES_PUBLISHED};
	host->add_words(self, "bound", TROUPE_WORD_INTEGER, 1);
	return comms_read_common(self, &endpoint->common, ENDPOINT_WORDS) &&
	       (endpoint->data = host->field(self, "gz.msgs.StringMsg_V", "data")) &&
	       host->give(self, plugin, &received, &endpoint->received) &&
	       host->give(self, plugin, &bind, &endpoint->bind) &&
	       host->take(self, plugin, comms_delivered_name(self, plugin), "gz.msgs.Dataframe", COMMS_ON_MESSAGE,
		       TROUPE_NOTHING);
}

static void comms_endpoint_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct endpoint *endpoint = self->config;
	(void)input;
	if (!strcmp(self->host->get_text(message, endpoint->common.dst, 0), endpoint->address))
		comms_keep(self, ((struct endpoint_words *)words)->queue, message);
}

/* As in Gazebo: address, model, topic. */
static void comms_bind(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct troupe_host *host = self->host;
	const struct endpoint *endpoint = self->config;
	struct troupe_message *message = host->message(step, "gz.msgs.StringMsg_V");
	host->put_text(message, endpoint->data, endpoint->address);
	host->put_text(message, endpoint->data, endpoint->model);
	host->put_text(message, endpoint->data, endpoint->topic);
	host->publish(self, step, endpoint->bind, message);
}

static void comms_endpoint_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct endpoint *endpoint = self->config;
	struct endpoint_words *w = words;
	uint64_t bytes;
	if (!w->bound)
		comms_bind(self, step);
	w->bound = 1;
	struct troupe_message *message = comms_next(self, step, w->queue, &bytes);
	if (message)
		self->host->publish(self, step, endpoint->received, message);
}

static bool comms_endpoint_waits(const struct troupe_system *self, const void *words)
{
	const struct endpoint_words *w = words;
	(void)self;
	return w->bound && !w->queue[0];
}

const struct troupe_kind builtin_comms_endpoint = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("CommsEndpoint"),
	.parameters = comms_endpoint_parameters,
	.configure = comms_endpoint_configure,
	.check = comms_check,
	.command = comms_endpoint_command,
	.update = comms_endpoint_update,
	.waits = comms_endpoint_waits,
};

/* --- PerfectComms ------------------------------------------------------------------------------------------------- */

static const struct troupe_parameter comms_perfect_parameters[] = {
	COMMS_BROKER_PARAMETERS,
	BUILTIN_END,
};

bool comms_read_broker(struct troupe_system *self, const struct troupe_element *plugin, struct comms_broker *broker)
{
	const struct troupe_host *host = self->host;
	const char *messages = comms_broker_name(self, plugin, "messages_topic", "/broker/msgs");
	const struct troupe_output delivered = {.name = comms_delivered_name(self, plugin),
		.type = "gz.msgs.Dataframe",
		.gives = TROUPE_GIVES_PUBLISHED};
	comms_check_broker(self, plugin);
	return comms_read_common(self, &broker->common, COMMS_BROKER_WORDS) &&
	       host->take(self, plugin, messages, "gz.msgs.Dataframe", COMMS_ON_MESSAGE, TROUPE_NOTHING) &&
	       host->give(self, plugin, &delivered, &broker->delivered);
}

static bool comms_perfect_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	return comms_read_broker(self, plugin, self->config = self->host->alloc(self, sizeof(struct comms_broker)));
}

static void comms_perfect_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	(void)input;
	comms_keep(self, words, message);
}

static void comms_perfect_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct comms_broker *broker = self->config;
	struct troupe_message *message;
	uint64_t bytes;
	while ((message = comms_next(self, step, words, &bytes)))
		self->host->publish(self, step, broker->delivered, message);
}

static bool comms_perfect_waits(const struct troupe_system *self, const void *words)
{
	const uint64_t *queue = words;
	(void)self;
	return !queue[0];
}

const struct troupe_kind builtin_perfect_comms = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_FOR_CLIENTS,
	.names = BUILTIN_NAMES("PerfectComms"),
	.parameters = comms_perfect_parameters,
	.configure = comms_perfect_configure,
	.check = comms_check,
	.command = comms_perfect_command,
	.update = comms_perfect_update,
	.waits = comms_perfect_waits,
};

/* --- RFComms ------------------------------------------------------------------------------------------------------ */
