/* The brokers for which it matters where robots are: RFComms and AcousticComms.
 *
 * RFComms loses messages, with the formulas of Gazebo's: at the distance r the received power is, in dBm,
 * tx_power - (l0 + 10 fading_exponent log10(r)), and varies with the variance sigma; of n bytes all arrive with the
 * probability (1 - erfc(sqrt(power / noise)))^n, both in W. An endpoint sends and receives at most `capacity` bits in
 * each whole second of simulated time; in Gazebo that is the second before the message.
 *
 * With AcousticComms a message arrives when sound has come from where the sender was to where the receiver is, if that
 * is not beyond max_range; a receiver hears nothing else for collision_time_per_byte times the bytes of a message. */
#include "builtin/comms.h"

#include <string.h>

enum { RADIOS_MAX = 64 };
#define LN_10 2.302585092994046

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

static void comms_radio_add_radios(struct troupe_system *self)
{
	self->host->add_words(self, "radios", TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, "radio", TROUPE_WORD_INTEGER, RADIOS_MAX * sizeof(struct radio) / 8);
}

/* FNV-1a. */
static uint64_t comms_radio_hash_of(const char *text)
{
	uint64_t hash = 14695981039346656037u;
	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 1099511628211u;
	return hash;
}

static struct radio *comms_radio_find_radio(struct radios *radios, uint64_t address)
{
	for (uint64_t i = 0; i < radios->count && i < RADIOS_MAX; i++)
		if (radios->at[i].address == address)
			return &radios->at[i];
	return NULL;
}

/* data: the field of a StringMsg_V: address, model, topic. */
static void comms_radio_bind_radio(const struct troupe_system *self, const struct troupe_field *data,
	const struct troupe_message *message, struct radios *radios)
{
	uint64_t address = comms_radio_hash_of(self->host->get_text(message, data, 0));
	struct radio *radio = comms_radio_find_radio(radios, address);
	if (!radio && radios->count >= RADIOS_MAX) {
		self->host->log_line(self, "more than %d endpoints: one is left out", RADIOS_MAX);
		return;
	}
	radio = radio ? radio : &radios->at[radios->count++];
	*radio = (struct radio){
		.address = address, .model = comms_radio_hash_of(self->host->get_text(message, data, 1))};
}

/* The radio of the address, with the counts of the present second, and its place. */
static struct radio *comms_radio_locate(const struct troupe_system *self, const struct troupe_step *step,
	struct radios *radios, const char *address, struct troupe_vec3 *ret_place)
{
	struct radio *radio = comms_radio_find_radio(radios, comms_radio_hash_of(address));
	uint32_t models = self->host->models(step);
	uint64_t second = (uint64_t)(step->time_s + 1e-9);
	for (uint32_t i = 0; radio && i < models; i++) {
		const char *name = self->host->model_name(step, i);
		if (!name || comms_radio_hash_of(name) != radio->model)
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
	uint64_t queue[1 + COMMS_BROKER_WORDS];
};

struct rf {
	struct comms_broker broker;
	double range_max, exponent, l0, sigma, capacity, power, noise;
	const struct troupe_field *bind, *data, *key, *value;
};

static const struct troupe_parameter comms_radio_rf_parameters[] = {
	BUILTIN_PARTS("range_config",
		"max_range (m, default 50; 0 or less: none), fading_exponent (2.5), l0 (dB of loss "
		"at 1 m, 40), sigma (variance of the power in dB^2, 10)"),
	BUILTIN_PARTS("radio_config", "capacity (bit/s, default 54000000), tx_power (dBm, 27), noise_floor (dBm, -90), "
				      "modulation (QPSK, the only one)"),
	COMMS_BROKER_PARAMETERS,
	BUILTIN_END,
};

static bool comms_radio_read_radio(struct troupe_system *self, const struct troupe_element *plugin, struct rf *rf)
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

static bool comms_radio_rf_configure(struct troupe_system *self, const struct troupe_element *plugin)
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
	comms_radio_add_radios(self);
	return rf->bind && rf->data && rf->key && rf->value && comms_radio_read_radio(self, plugin, rf) &&
	       comms_read_broker(self, plugin, &rf->broker) &&
	       host->take(self, plugin, comms_broker_name(self, plugin, "bind_service", "/broker/bind"),
		       "gz.msgs.StringMsg_V", COMMS_ON_BIND, TROUPE_NOTHING);
}

static void comms_radio_rf_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rf *rf = self->config;
	struct rf_words *w = words;
	if (input == COMMS_ON_MESSAGE)
		comms_keep(self, w->queue, message);
	else
		comms_radio_bind_radio(self, rf->bind, message, &w->radios);
}

/* 1 - erfc(x), x >= 0: the series 2 / sqrt(pi) exp(-x^2) sum of 2^n x^(2n+1) / (1 3 5 ... (2n+1)), which has positive
 * terms only; from 6 on it is 1 to the last bit. */
static double comms_radio_erf_of(const struct troupe_host *host, double x)
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

/* Whether the bytes arrive, and the received power in dBm. */
static bool comms_radio_arrives(
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
	double bit = comms_radio_erf_of(host, sqrt(ratio));
	double all = bit > 0 ? host->exp(bytes * host->log(bit)) : 0;
	return host->random(self, 1, draw) < all;
}

/* "-61.250000" */
static void comms_radio_print_power(double power, char room[32])
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

static void comms_radio_transmit(const struct troupe_system *self, const struct troupe_step *step, struct rf_words *w,
	struct troupe_message *message, uint64_t bytes)
{
	const struct troupe_host *host = self->host;
	const struct rf *rf = self->config;
	struct troupe_vec3 from, to;
	double power;
	char text[32];
	struct radio *sender =
		comms_radio_locate(self, step, &w->radios, host->get_text(message, rf->broker.common.src, 0), &from);
	struct radio *receiver =
		comms_radio_locate(self, step, &w->radios, host->get_text(message, rf->broker.common.dst, 0), &to);
	if (!sender || !receiver || (double)(sender->sent + bytes) * 8 > rf->capacity)
		return;
	sender->sent += bytes;
	if (!comms_radio_arrives(self, w, troupe_vec3_length(troupe_vec3_sub(to, from)), (double)bytes, &power) ||
		(double)(receiver->received + bytes) * 8 > rf->capacity)
		return;
	receiver->received += bytes;
	struct troupe_message *data = host->put_part(message, rf->data);
	comms_radio_print_power(power, text);
	host->put_text(data, rf->key, "rssi");
	host->put_text(data, rf->value, text);
	host->publish(self, step, rf->broker.delivered, message);
}

static void comms_radio_rf_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct rf_words *w = words;
	struct troupe_message *message;
	uint64_t bytes;
	if (w->radios.count > RADIOS_MAX) /* a damaged state */
		w->radios.count = 0;
	while ((message = comms_next(self, step, w->queue, &bytes)))
		comms_radio_transmit(self, step, w, message, bytes);
}

static bool comms_radio_rf_waits(const struct troupe_system *self, const void *words)
{
	const struct rf_words *w = words;
	(void)self;
	return !w->queue[0] && w->radios.count <= RADIOS_MAX;
}

const struct troupe_kind builtin_rf_comms = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_FOR_CLIENTS,
	.names = BUILTIN_NAMES("RFComms"),
	.parameters = comms_radio_rf_parameters,
	.configure = comms_radio_rf_configure,
	.check = comms_check,
	.command = comms_radio_rf_command,
	.update = comms_radio_rf_update,
	.waits = comms_radio_rf_waits,
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
	uint64_t queue[1 + COMMS_BROKER_WORDS];
};

struct acoustic {
	struct comms_broker broker;
	double range_max, speed, busy_per_byte_s;
	const struct troupe_field *bind;
};

static const struct troupe_parameter comms_radio_acoustic_parameters[] = {
	BUILTIN_BETWEEN("max_range", 0, BUILTIN_NUMBER_MAX, "m, default 1000"),
	BUILTIN_BETWEEN("speed_of_sound", 1e-6, BUILTIN_NUMBER_MAX, "m/s, default 343"),
	BUILTIN_BETWEEN("collision_time_per_byte", 0, BUILTIN_NUMBER_MAX,
		"s for each byte, in which the receiver hears no other message; default 0"),
	BUILTIN_UNUSED("propagation_model", "no message is lost by noise"),
	COMMS_BROKER_PARAMETERS,
	BUILTIN_END,
};

static bool comms_radio_acoustic_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct acoustic *acoustic = self->config = host->alloc(self, sizeof *acoustic);
	acoustic->range_max = host->number(self, plugin, "max_range", 1000);
	acoustic->speed = host->number(self, plugin, "speed_of_sound", 343);
	acoustic->busy_per_byte_s = host->number(self, plugin, "collision_time_per_byte", 0);
	acoustic->bind = host->field(self, "gz.msgs.StringMsg_V", "data");
	comms_radio_add_radios(self);
	host->add_words(self, "receiver busy until", TROUPE_WORD_DOUBLE, RADIOS_MAX);
	host->add_words(self, "messages on their way", TROUPE_WORD_INTEGER, 1);
	host->add_words(self, "sent at", TROUPE_WORD_INTEGER, FLIGHTS_MAX * sizeof(struct flight) / 8);
	return acoustic->bind && comms_read_broker(self, plugin, &acoustic->broker) &&
	       host->take(self, plugin, comms_broker_name(self, plugin, "bind_service", "/broker/bind"),
		       "gz.msgs.StringMsg_V", COMMS_ON_BIND, TROUPE_NOTHING);
}

static void comms_radio_acoustic_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct acoustic *acoustic = self->config;
	struct acoustic_words *w = words;
	uint64_t used = w->queue[0];
	if (input == COMMS_ON_BIND) {
		comms_radio_bind_radio(self, acoustic->bind, message, &w->radios);
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
static bool comms_radio_flies(const struct troupe_system *self, const struct troupe_step *step,
	struct acoustic_words *w, struct flight *flight, struct troupe_message *message, uint64_t bytes)
{
	const struct troupe_host *host = self->host;
	const struct acoustic *acoustic = self->config;
	struct troupe_vec3 from, to;
	const struct radio *sender = comms_radio_locate(
		self, step, &w->radios, host->get_text(message, acoustic->broker.common.src, 0), &from);
	const struct radio *receiver = comms_radio_locate(
		self, step, &w->radios, host->get_text(message, acoustic->broker.common.dst, 0), &to);
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

static void comms_radio_acoustic_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct acoustic_words *w = words;
	uint64_t bytes, count = w->flying > FLIGHTS_MAX ? 0 : w->flying;
	if (w->radios.count > RADIOS_MAX) /* a damaged state */
		w->radios.count = 0;
	w->flying = 0;
	for (uint64_t i = 0; i < count; i++) {
		struct flight flight = w->flights[i];
		struct troupe_message *message = comms_next(self, step, w->queue, &bytes);
		if (!message || !comms_radio_flies(self, step, w, &flight, message, bytes))
			continue;
		comms_keep(self, w->queue, message); /* where it was taken out there is room */
		w->flights[w->flying++] = flight;
	}
	memset(&w->flights[w->flying], 0, (FLIGHTS_MAX - w->flying) * sizeof *w->flights);
}

static bool comms_radio_acoustic_waits(const struct troupe_system *self, const void *words)
{
	const struct acoustic_words *w = words;
	(void)self;
	return !w->queue[0] && !w->flying && w->radios.count <= RADIOS_MAX;
}

const struct troupe_kind builtin_acoustic_comms = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_FOR_CLIENTS,
	.names = BUILTIN_NAMES("AcousticComms"),
	.parameters = comms_radio_acoustic_parameters,
	.configure = comms_radio_acoustic_configure,
	.check = comms_check,
	.command = comms_radio_acoustic_command,
	.update = comms_radio_acoustic_update,
	.waits = comms_radio_acoustic_waits,
};
