/* Messages between robots: CommsEndpoint, and the brokers PerfectComms, RFComms and AcousticComms. A Dataframe on
 * /broker/msgs comes out on the topic of each endpoint whose address is its dst_address. The way takes three steps: the
 * broker keeps it in its words and hands it over in the next step, on the topic <bind_service>/delivered; the endpoints
 * for which it is keep it, and publish one message in each step.
 *
 * RFComms loses messages, with the formulas of Gazebo's: at the distance r the received power is, in dBm,
 * tx_power - (l0 + 10 fading_exponent log10(r)), and varies with the variance sigma; of n bytes all arrive with the
 * probability (1 - erfc(sqrt(power / noise)))^n, both in W. An endpoint sends and receives at most `capacity` bits in
 * each whole second of simulated time; in Gazebo that is the second before the message.
 *
 * With AcousticComms a message arrives when sound has come from where the sender was to where the receiver is, if that
 * is not beyond max_range; a receiver hears nothing else for collision_time_per_byte times the bytes of a message. */
#include "builtin/parts.h"

#include <string.h>

enum {
	COMMS_BYTES_MAX = 1500, /* of a message */
	ENDPOINT_WORDS = 512,   /* of messages that wait at an endpoint, */
	BROKER_WORDS = 2048,    /* at a broker */
	RADIOS_MAX = 64,
	ON_MESSAGE = 0,
	ON_BIND = 1,
};

/* A queue is words: how many of the others are used, and then, for each message, the number of its bytes and the bytes
 * in as many words as they need. */

struct common { /* the first member of each config */
	uint32_t queue_words;
	const struct troupe_field *src, *dst;
};

static uint64_t comms_words_for(uint64_t bytes)
{
	return 1 + (bytes + 7) / 8;
}

static bool comms_read_common(struct troupe_system *self, struct common *common, uint32_t queue_words)
{
	static const char type[] = "gz.msgs.Dataframe";
	common->queue_words = queue_words;
	self->host->add_words(self, "words of waiting messages", TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, "waiting messages", TROUPE_WORD_INTEGER, queue_words);
	common->src = self->host->field(self, type, "src_address");
	common->dst = self->host->field(self, type, "dst_address");
	return common->src && common->dst;
}

static void comms_keep(const struct troupe_system *self, uint64_t *queue, const struct troupe_message *message)
{
	const struct common *common = self->config;
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

/* Takes the first message out; NULL: none waits. */
static struct troupe_message *comms_next(
	const struct troupe_system *self, const struct troupe_step *step, uint64_t *queue, uint64_t *ret_bytes)
{
	const struct common *common = self->config;
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

static bool comms_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	static const char text[] = "the message is too long: expected at most 1500 bytes in protobuf's encoding";
	unsigned char bytes[1];
	if (input == ON_BIND || self->host->pack(message, bytes, 0) <= COMMS_BYTES_MAX)
		return true;
	memcpy(why, text, sizeof text);
	return false;
}

/* The names in <broker>. */
static const char *comms_broker_name(
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
	struct common common;
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
	       host->take(self, plugin, comms_delivered_name(self, plugin), "gz.msgs.Dataframe", ON_MESSAGE,
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

struct broker {
	struct common common;
	uint32_t delivered;
};

#define BROKER_PARAMETERS                                                                                              \
	BUILTIN_PARTS("broker", "<messages_topic>, default /broker/msgs; <bind_service>, default /broker/bind; "       \
				"<unbind_service> has no effect")

static const struct troupe_parameter comms_perfect_parameters[] = {
	BROKER_PARAMETERS,
	BUILTIN_END,
};

static bool comms_read_broker(struct troupe_system *self, const struct troupe_element *plugin, struct broker *broker)
{
	const struct troupe_host *host = self->host;
	const char *messages = comms_broker_name(self, plugin, "messages_topic", "/broker/msgs");
	const struct troupe_output delivered = {.name = comms_delivered_name(self, plugin),
		.type = "gz.msgs.Dataframe",
		.gives = TROUPE_GIVES_PUBLISHED};
	comms_check_broker(self, plugin);
	return comms_read_common(self, &broker->common, BROKER_WORDS) &&
	       host->take(self, plugin, messages, "gz.msgs.Dataframe", ON_MESSAGE, TROUPE_NOTHING) &&
	       host->give(self, plugin, &delivered, &broker->delivered);
}

static bool comms_perfect_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	return comms_read_broker(self, plugin, self->config = self->host->alloc(self, sizeof(struct broker)));
}

static void comms_perfect_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	(void)input;
	comms_keep(self, words, message);
}

static void comms_perfect_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct broker *broker = self->config;
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

/* --- where endpoints are ------------------------------------------------------------------------------------------ */

struct radio {
	uint64_t address, model; /* hashes of the texts */
	uint64_t second;         /* of simulated time, which these are of: */
	uint64_t sent, received; /* bytes */
};

struct radios { /* words */
	uint64_t count;
	struct radio at[RADIOS_MAX];
};

static void comms_add_radios(struct troupe_system *self)
{
	self->host->add_words(self, "radios", TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, "radio", TROUPE_WORD_INTEGER, RADIOS_MAX * sizeof(struct radio) / 8);
}

/* FNV-1a. */
static uint64_t comms_hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037u;
	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 1099511628211u;
	return hash;
}

static struct radio *comms_find_radio(struct radios *radios, uint64_t address)
{
	for (uint64_t i = 0; i < radios->count && i < RADIOS_MAX; i++)
		if (radios->at[i].address == address)
			return &radios->at[i];
	return NULL;
}

/* data: the field of a StringMsg_V: address, model, topic. */
static void comms_bind_radio(const struct troupe_system *self, const struct troupe_field *data,
	const struct troupe_message *message, struct radios *radios)
{
	uint64_t address = comms_hash_of(self->host->get_text(message, data, 0));
	struct radio *radio = comms_find_radio(radios, address);
	if (!radio && radios->count >= RADIOS_MAX) {
		self->host->log_line(self, "more than %d endpoints: one is left out", RADIOS_MAX);
		return;
	}
	radio = radio ? radio : &radios->at[radios->count++];
	*radio = (struct radio){.address = address, .model = comms_hash_of(self->host->get_text(message, data, 1))};
}

/* The radio of the address, with the counts of the present second, and its place. */
static struct radio *comms_locate(const struct troupe_system *self, const struct troupe_step *step,
	struct radios *radios, const char *address, struct troupe_vec3 *ret_place)
{
	struct radio *radio = comms_find_radio(radios, comms_hash_of(address));
	uint32_t models = self->host->models(step);
	uint64_t second = (uint64_t)(step->time_s + 1e-9);
	for (uint32_t i = 0; radio && i < models; i++) {
		const char *name = self->host->model_name(step, i);
		if (!name || comms_hash_of(name) != radio->model)
			continue;
		if (radio->second != second)
			radio->sent = radio->received = 0;
		radio->second = second;
		*ret_place = troupe_pose_place(self->host->model_pose(step, i, TROUPE_NOW));
		return radio;
	}
	return NULL;
}

/* --- RFComms ------------------------------------------------------------------------------------------------------ */

struct rf_words {
	uint64_t draws;
	struct radios radios;
	uint64_t queue[1 + BROKER_WORDS];
};

struct rf {
	struct broker broker;
	double range_max, exponent, l0, sigma, capacity, power, noise;
	const struct troupe_field *bind, *data, *key, *value;
};

static const struct troupe_parameter comms_rf_parameters[] = {
	BUILTIN_PARTS("range_config",
		"max_range (m, default 50; 0 or less: none), fading_exponent (2.5), l0 (dB of loss "
		"at 1 m, 40), sigma (variance of the power in dB^2, 10)"),
	BUILTIN_PARTS("radio_config", "capacity (bit/s, default 54000000), tx_power (dBm, 27), noise_floor (dBm, -90), "
				      "modulation (QPSK, the only one)"),
	BROKER_PARAMETERS,
	BUILTIN_END,
};

static bool comms_read_radio(struct troupe_system *self, const struct troupe_element *plugin, struct rf *rf)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *range = host->child(plugin, "range_config", NULL);
	const struct troupe_element *radio = host->child(plugin, "radio_config", NULL);
	if (range) {
		rf->range_max = host->number(self, range, "max_range", rf->range_max);
		rf->exponent = host->number(self, range, "fading_exponent", rf->exponent);
		rf->l0 = host->number(self, range, "l0", rf->l0);
		rf->sigma = host->number(self, range, "sigma", rf->sigma);
	}
	if (!radio)
		return true;
	rf->capacity = host->number(self, radio, "capacity", rf->capacity);
	rf->power = host->number(self, radio, "tx_power", rf->power);
	rf->noise = host->number(self, radio, "noise_floor", rf->noise);
	if (strcmp(host->text(radio, "modulation", "QPSK"), "QPSK") != 0)
		return host->refuse(
			self, radio, "<modulation> is '%.80s': expected QPSK", host->text(radio, "modulation", ""));
	return true;
}

static bool comms_rf_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rf *rf = self->config = host->alloc(self, sizeof *rf);
	rf->range_max = 50, rf->exponent = 2.5, rf->l0 = 40, rf->sigma = 10;
	rf->capacity = 54e6, rf->power = 27, rf->noise = -90;
	rf->bind = host->field(self, "gz.msgs.StringMsg_V", "data");
	rf->data = host->field(self, "gz.msgs.Dataframe", "header.data");
	rf->key = host->field(self, "gz.msgs.Header.Map", "key");
	rf->value = host->field(self, "gz.msgs.Header.Map", "value");
	host->add_words(self, "random numbers", TROUPE_WORD_INTEGER, 1);
	comms_add_radios(self);
	return rf->bind && rf->data && rf->key && rf->value && comms_read_radio(self, plugin, rf) &&
	       comms_read_broker(self, plugin, &rf->broker) &&
	       host->take(self, plugin, comms_broker_name(self, plugin, "bind_service", "/broker/bind"),
		       "gz.msgs.StringMsg_V", ON_BIND, TROUPE_NOTHING);
}

static void comms_rf_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rf *rf = self->config;
	struct rf_words *w = words;
	if (input == ON_MESSAGE)
		comms_keep(self, w->queue, message);
	else
		comms_bind_radio(self, rf->bind, message, &w->radios);
}

/* 1 - erfc(x), x >= 0: the series 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)), which has positive
 * terms only; from 6 on it is 1 to the last bit. */
static double comms_erf_of(const struct troupe_host *host, double x)
{
	double term = x, sum = x;
	if (!(x < 6))
		return 1;
	for (int n = 1; n < 200; n++) {
		term *= 2 * x * x / (2 * n + 1);
		sum += term;
	}
	double value = 1.1283791670955126 * host->exp(-x * x) * sum;
	return value < 1 ? value : 1;
}

#define LN_10 2.302585092994046

/* Whether the bytes arrive, and the received power in dBm. */
static bool comms_arrives(
	const struct troupe_system *self, struct rf_words *w, double range, double bytes, double *ret_power)
{
	const struct troupe_host *host = self->host;
	const struct rf *rf = self->config;
	uint64_t draw = w->draws++;
	if (rf->range_max > 0 && range > rf->range_max)
		return false;
	double loss = range > 1e-9 ? rf->l0 + 10 * rf->exponent * host->log(range) / LN_10 : 0;
	double power = rf->power - loss;
	if (rf->sigma > 0)
		power += sqrt(rf->sigma) * host->random_normal(self, 0, draw);
	*ret_power = power;
	double ratio = host->exp(builtin_clamp((power - rf->noise) / 10 * LN_10, -700, 700));
	double bit = comms_erf_of(host, sqrt(ratio));
	double all = bit > 0 ? host->exp(bytes * host->log(bit)) : 0;
	return host->random(self, 1, draw) < all;
}

/* "-61.250000" */
static void comms_print_power(double power, char room[32])
{
	uint64_t millionths = (uint64_t)(fabs(builtin_clamp(power, -1e6, 1e6)) * 1e6 + 0.5);
	char *at = room + 31;
	*at = '\0';
	for (int i = 0; i < 7 || millionths; i++, millionths /= 10) {
		if (i == 6)
			*--at = '.';
		*--at = (char)('0' + millionths % 10);
	}
	if (power < 0)
		*--at = '-';
	memmove(room, at, strlen(at) + 1);
}

static void comms_transmit(const struct troupe_system *self, const struct troupe_step *step, struct rf_words *w,
	struct troupe_message *message, uint64_t bytes)
{
	const struct troupe_host *host = self->host;
	const struct rf *rf = self->config;
	struct troupe_vec3 from, to;
	double power;
	char text[32];
	struct radio *sender =
		comms_locate(self, step, &w->radios, host->get_text(message, rf->broker.common.src, 0), &from);
	struct radio *receiver =
		comms_locate(self, step, &w->radios, host->get_text(message, rf->broker.common.dst, 0), &to);
	if (!sender || !receiver || (double)(sender->sent + bytes) * 8 > rf->capacity)
		return;
	sender->sent += bytes;
	if (!comms_arrives(self, w, troupe_vec3_length(troupe_vec3_sub(to, from)), (double)bytes, &power) ||
		(double)(receiver->received + bytes) * 8 > rf->capacity)
		return;
	receiver->received += bytes;
	struct troupe_message *data = host->put_part(message, rf->data);
	comms_print_power(power, text);
	host->put_text(data, rf->key, "rssi");
	host->put_text(data, rf->value, text);
	host->publish(self, step, rf->broker.delivered, message);
}

static void comms_rf_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct rf_words *w = words;
	struct troupe_message *message;
	uint64_t bytes;
	if (w->radios.count > RADIOS_MAX) /* a damaged state */
		w->radios.count = 0;
	while ((message = comms_next(self, step, w->queue, &bytes)))
		comms_transmit(self, step, w, message, bytes);
}

static bool comms_rf_waits(const struct troupe_system *self, const void *words)
{
	const struct rf_words *w = words;
	(void)self;
	return !w->queue[0] && w->radios.count <= RADIOS_MAX;
}

const struct troupe_kind builtin_rf_comms = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_FOR_CLIENTS,
	.names = BUILTIN_NAMES("RFComms"),
	.parameters = comms_rf_parameters,
	.configure = comms_rf_configure,
	.check = comms_check,
	.command = comms_rf_command,
	.update = comms_rf_update,
	.waits = comms_rf_waits,
};

/* --- AcousticComms ------------------------------------------------------------------------------------------------ */

enum { FLIGHTS_MAX = 128 };

/* When and where a waiting message was sent. There is one for each message, in the order of the queue. */
struct flight {
	uint64_t begun;
	double x, y, z, sent_s;
};

struct acoustic_words {
	struct radios radios;
	double busy_until_s[RADIOS_MAX]; /* of each radio, as a receiver */
	uint64_t flying;
	struct flight flights[FLIGHTS_MAX];
	uint64_t queue[1 + BROKER_WORDS];
};

struct acoustic {
	struct broker broker;
	double range_max, speed, busy_per_byte_s;
	const struct troupe_field *bind;
};

static const struct troupe_parameter comms_acoustic_parameters[] = {
	BUILTIN_BETWEEN("max_range", 0, BUILTIN_NUMBER_MAX, "m, default 1000"),
	BUILTIN_BETWEEN("speed_of_sound", 1e-6, BUILTIN_NUMBER_MAX, "m/s, default 343"),
	BUILTIN_BETWEEN("collision_time_per_byte", 0, BUILTIN_NUMBER_MAX,
		"s for each byte, in which the receiver hears no other message; default 0"),
	BUILTIN_UNUSED("propagation_model", "no message is lost by noise"),
	BROKER_PARAMETERS,
	BUILTIN_END,
};

static bool comms_acoustic_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct acoustic *acoustic = self->config = host->alloc(self, sizeof *acoustic);
	acoustic->range_max = host->number(self, plugin, "max_range", 1000);
	acoustic->speed = host->number(self, plugin, "speed_of_sound", 343);
	acoustic->busy_per_byte_s = host->number(self, plugin, "collision_time_per_byte", 0);
	acoustic->bind = host->field(self, "gz.msgs.StringMsg_V", "data");
	comms_add_radios(self);
	host->add_words(self, "receiver busy until", TROUPE_WORD_DOUBLE, RADIOS_MAX);
	host->add_words(self, "messages on their way", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "sent at", TROUPE_WORD_INTEGER, FLIGHTS_MAX * sizeof(struct flight) / 8);
	return acoustic->bind && comms_read_broker(self, plugin, &acoustic->broker) &&
	       host->take(self, plugin, comms_broker_name(self, plugin, "bind_service", "/broker/bind"),
		       "gz.msgs.StringMsg_V", ON_BIND, TROUPE_NOTHING);
}

static void comms_acoustic_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct acoustic *acoustic = self->config;
	struct acoustic_words *w = words;
	uint64_t used = w->queue[0];
	if (input == ON_BIND) {
		comms_bind_radio(self, acoustic->bind, message, &w->radios);
		return;
	}
	if (w->flying >= FLIGHTS_MAX) {
		self->host->log_line(self, "more than %d messages are on their way: one is lost", FLIGHTS_MAX);
		return;
	}
	comms_keep(self, w->queue, message);
	if (w->queue[0] != used)
		w->flights[w->flying++] = (struct flight){0};
}

/* True: the message stays on its way. Sound comes from where the sender was, and meets the receiver where it is. */
static bool comms_flies(const struct troupe_system *self, const struct troupe_step *step, struct acoustic_words *w,
	struct flight *flight, struct troupe_message *message, uint64_t bytes)
{
	const struct troupe_host *host = self->host;
	const struct acoustic *acoustic = self->config;
	struct troupe_vec3 from, to;
	const struct radio *sender =
		comms_locate(self, step, &w->radios, host->get_text(message, acoustic->broker.common.src, 0), &from);
	const struct radio *receiver =
		comms_locate(self, step, &w->radios, host->get_text(message, acoustic->broker.common.dst, 0), &to);
	if (!sender || !receiver)
		return false;
	if (!flight->begun)
		*flight = (struct flight){1, from.x, from.y, from.z, step->time_s};
	double gone = (step->time_s - flight->sent_s) * acoustic->speed;
	double way = troupe_vec3_length(troupe_vec3_sub(to, troupe_vec3_make(flight->x, flight->y, flight->z)));
	if (gone < way)
		return gone <= acoustic->range_max;
	double *busy = &w->busy_until_s[receiver - w->radios.at];
	if (way > acoustic->range_max || step->time_s < *busy)
		return false;
	*busy = step->time_s + (double)bytes * acoustic->busy_per_byte_s;
	host->publish(self, step, acoustic->broker.delivered, message);
	return false;
}

static void comms_acoustic_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct acoustic_words *w = words;
	uint64_t bytes, count = w->flying > FLIGHTS_MAX ? 0 : w->flying;
	if (w->radios.count > RADIOS_MAX) /* a damaged state */
		w->radios.count = 0;
	w->flying = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct flight flight = w->flights[i];
		struct troupe_message *message = comms_next(self, step, w->queue, &bytes);
		if (!message || !comms_flies(self, step, w, &flight, message, bytes))
			continue;
		comms_keep(self, w->queue, message); /* where it was taken out there is room */
		w->flights[w->flying++] = flight;
	}
	memset(&w->flights[w->flying], 0, (FLIGHTS_MAX - w->flying) * sizeof *w->flights);
}

static bool comms_acoustic_waits(const struct troupe_system *self, const void *words)
{
	const struct acoustic_words *w = words;
	(void)self;
	return !w->queue[0] && !w->flying && w->radios.count <= RADIOS_MAX;
}

const struct troupe_kind builtin_acoustic_comms = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_FOR_CLIENTS,
	.names = BUILTIN_NAMES("AcousticComms"),
	.parameters = comms_acoustic_parameters,
	.configure = comms_acoustic_configure,
	.check = comms_check,
	.command = comms_acoustic_command,
	.update = comms_acoustic_update,
	.waits = comms_acoustic_waits,
};
