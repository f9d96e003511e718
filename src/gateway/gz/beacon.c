/* Nine kinds of message with a handful of fields do not pay for generated code that allocates: this reads them where
 * they lie, in bounded time, and keeps nothing. A protobuf reader must accept fields in any order, repeated ones (the
 * last counts), and unknown ones; so does this. What is refused is refused as a whole: a datagram that is cut off, a
 * text that is no valid name, a kind of message that lacks what it is about. */
#include "gateway/gz/beacon.h"

#include <string.h>

/* --- protobuf ----------------------------------------------------------------------------------------------------- */

enum wire_type { BEACON_WIRE_VARINT = 0, BEACON_WIRE_64 = 1, WIRE_BYTES = 2, BEACON_WIRE_32 = 5 };

struct beacon_reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t beacon_take_varint(struct beacon_reader *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
		unsigned char byte = *in->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	in->bad = true;
	return 0;
}

struct beacon_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;           /* BEACON_WIRE_VARINT */
	struct beacon_text bytes; /* WIRE_BYTES */
};

static bool beacon_skip_fixed(struct beacon_reader *in, size_t count)
{
	if ((size_t)(in->end - in->at) < count)
		return false;
	in->at += count;
	return true;
}

static bool beacon_take_bytes(struct beacon_reader *in, struct beacon_text *ret_bytes)
{
	uint64_t count = beacon_take_varint(in);
	if (in->bad || count > (uint64_t)(in->end - in->at))
		return false;
	*ret_bytes = (struct beacon_text){(const char *)in->at, (size_t)count};
	in->at += count;
	return true;
}

/* False at the end, or when `bad` is set. */
static bool beacon_take_field(struct beacon_reader *in, struct beacon_field *ret)
{
	if (in->bad || in->at == in->end)
		return false;
	uint64_t tag = beacon_take_varint(in);
	*ret = (struct beacon_field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
	bool good = !in->bad && tag >> 3 && tag >> 3 <= UINT32_MAX >> 3;
	switch (good ? ret->type : 7) {
	case BEACON_WIRE_VARINT:
		ret->value = beacon_take_varint(in);
		good = !in->bad;
		break;
	case BEACON_WIRE_64:
		good = beacon_skip_fixed(in, 8);
		break;
	case BEACON_WIRE_32:
		good = beacon_skip_fixed(in, 4);
		break;
	case WIRE_BYTES:
		good = beacon_take_bytes(in, &ret->bytes);
		break;
	default:
		good = false;
	}
	in->bad = !good;
	return good;
}

static struct beacon_reader beacon_reader_of(struct beacon_text bytes)
{
	const unsigned char *at = (const unsigned char *)bytes.at;
	return (struct beacon_reader){at, at + bytes.count, false};
}

/* A field of the expected type. */
static bool beacon_is_text(const struct beacon_field *field, uint32_t number)
{
	return field->number == number && field->type == WIRE_BYTES;
}

static bool beacon_is_number(const struct beacon_field *field, uint32_t number)
{
	return field->number == number && field->type == BEACON_WIRE_VARINT;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static bool beacon_read_flags(struct beacon *beacon, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	while (beacon_take_field(&in, &field)) {
		if (beacon_is_number(&field, 1))
			beacon->relay = field.value;
		else if (beacon_is_number(&field, 2))
			beacon->no_relay = field.value;
	}
	return !in.bad;
}

static bool beacon_read_subscriber(struct beacon_text *topic, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	while (beacon_take_field(&in, &field))
		if (beacon_is_text(&field, 1))
			*topic = field.bytes;
	return !in.bad;
}

static bool beacon_read_topic_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	beacon->is_service = false; /* of a oneof the last member counts */
	beacon->socket = beacon->request_type = beacon->reply_type = (struct beacon_text){0};
	while (beacon_take_field(&in, &field)) {
		if (beacon_is_text(&field, 1))
			beacon->control = field.bytes;
		else if (beacon_is_text(&field, 2))
			beacon->type = field.bytes;
		else if (beacon_is_number(&field, 3))
			beacon->throttled = field.value;
		else if (beacon_is_number(&field, 4))
			beacon->rate_hz = field.value;
	}
	return !in.bad;
}

static bool beacon_read_service_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	beacon->is_service = true;
	beacon->control = beacon->type = (struct beacon_text){0};
	beacon->throttled = false;
	beacon->rate_hz = 0;
	while (beacon_take_field(&in, &field)) {
		if (beacon_is_text(&field, 1))
			beacon->socket = field.bytes;
		else if (beacon_is_text(&field, 2))
			beacon->request_type = field.bytes;
		else if (beacon_is_text(&field, 3))
			beacon->reply_type = field.bytes;
	}
	return !in.bad;
}

static bool beacon_read_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	bool has_kind = false, good = true;
	while (good && beacon_take_field(&in, &field)) {
		if (beacon_is_text(&field, 1))
			beacon->topic = field.bytes;
		else if (beacon_is_text(&field, 2))
			beacon->address = field.bytes;
		else if (beacon_is_text(&field, 3))
			beacon->owner = field.bytes;
		else if (beacon_is_text(&field, 4))
			beacon->node = field.bytes;
		else if (beacon_is_number(&field, 5))
			beacon->scope = (enum beacon_scope)MIN(field.value, BEACON_ALL);
		else if (beacon_is_text(&field, 6))
			has_kind = good = beacon_read_topic_publisher(beacon, field.bytes);
		else if (beacon_is_text(&field, 7))
			has_kind = good = beacon_read_service_publisher(beacon, field.bytes);
	}
	beacon->has_publisher = has_kind;
	return good && !in.bad;
}

/* Leaves what belongs to this kind of message. */
static void beacon_keep_own(struct beacon *beacon, struct beacon_text subscribed)
{
	struct beacon bare = {.version = beacon->version,
		.kind = beacon->kind,
		.relay = beacon->relay,
		.no_relay = beacon->no_relay,
		.process = beacon->process};
	if (beacon->kind == BEACON_SUBSCRIBE)
		bare.topic = subscribed;
	if (beacon->kind == BEACON_SUBSCRIBE || beacon->kind == BEACON_HEARTBEAT || beacon->kind == BEACON_BYE)
		*beacon = bare;
}

static bool beacon_read_all(struct beacon *beacon, struct beacon_text bytes)
{
	struct beacon_reader in = beacon_reader_of(bytes);
	struct beacon_field field;
	struct beacon_text subscribed = {0};
	bool good = true;
	while (good && beacon_take_field(&in, &field)) {
		if (beacon_is_number(&field, 2))
			beacon->version = (uint32_t)MIN(field.value, UINT32_MAX);
		else if (beacon_is_text(&field, 3))
			beacon->process = field.bytes;
		else if (beacon_is_number(&field, 4))
			beacon->kind = (enum beacon_kind)MIN(field.value, 100);
		else if (beacon_is_text(&field, 5))
			good = beacon_read_flags(beacon, field.bytes);
		else if (beacon_is_text(&field, 6))
			good = beacon_read_subscriber(&subscribed, field.bytes);
		else if (beacon_is_text(&field, 7))
			good = beacon_read_publisher(beacon, field.bytes);
	}
	beacon_keep_own(beacon, subscribed);
	return good && !in.bad;
}

/* "@PARTITION@TOPIC", of any partition. */
static bool beacon_is_full_name(struct beacon_text text)
{
	const char *second = text.count > 1 && *text.at == '@' ? memchr(text.at + 1, '@', text.count - 1) : NULL;
	if (!second)
		return false;
	size_t partition = (size_t)(second - text.at) - 1;
	return names_is_partition(text.at + 1, partition) && names_is_topic(second + 1, text.count - partition - 2);
}

static bool beacon_is_id_or_absent(struct beacon_text text)
{
	return !text.count || names_is_id(text.at, text.count);
}

static bool beacon_is_type_or_absent(struct beacon_text text)
{
	return !text.count || names_is_type(text.at, text.count);
}

static bool beacon_is_sane_publisher(const struct beacon *beacon)
{
	struct names_endpoint endpoint;
	return beacon->has_publisher && beacon_is_full_name(beacon->topic) &&
	       names_is_id(beacon->owner.at, beacon->owner.count) && beacon_is_id_or_absent(beacon->node) &&
	       beacon_is_id_or_absent(beacon->control) && beacon_is_id_or_absent(beacon->socket) &&
	       beacon_is_type_or_absent(beacon->type) && beacon_is_type_or_absent(beacon->request_type) &&
	       beacon_is_type_or_absent(beacon->reply_type) &&
	       (beacon->kind != BEACON_ADVERTISE ||
		       names_endpoint_parse(beacon->address.at, beacon->address.count, &endpoint));
}

static bool beacon_is_sane(const struct beacon *beacon)
{
	if (!names_is_id(beacon->process.at, beacon->process.count))
		return false;
	switch (beacon->kind) {
	case BEACON_HEARTBEAT:
	case BEACON_BYE:
		return true;
	case BEACON_SUBSCRIBE:
		return beacon_is_full_name(beacon->topic);
	case BEACON_ADVERTISE:
	case BEACON_UNADVERTISE:
	case BEACON_NEW_CONNECTION:
	case BEACON_END_CONNECTION:
		return beacon_is_sane_publisher(beacon);
	}
	return false;
}

bool beacon_decode(const char *bytes, size_t count, struct beacon *ret_beacon)
{
	uint16_t length;
	struct beacon beacon = {0};
	if (count < sizeof length || count > BEACON_BYTES_MAX)
		return false;
	memcpy(&length, bytes, sizeof length);
	if (length + sizeof length != count ||
		!beacon_read_all(&beacon, (struct beacon_text){bytes + sizeof length, length}) ||
		!beacon_is_sane(&beacon))
		return false;
	*ret_beacon = beacon;
	return true;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

static void beacon_put_varint(struct text *out, uint64_t value)
{
	char bytes[10];
	size_t count = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (char)(value | 0x80);
	bytes[count++] = (char)value;
	text_add_bytes(out, bytes, count);
}

/* Zero is the default of proto3 and is not written. */
static void beacon_put_number(struct text *out, uint32_t number, uint64_t value)
{
	if (!value)
		return;
	beacon_put_varint(out, number << 3 | BEACON_WIRE_VARINT);
	beacon_put_varint(out, value);
}

static void beacon_put_bytes(struct text *out, uint32_t number, struct beacon_text bytes)
{
	beacon_put_varint(out, number << 3 | WIRE_BYTES);
	beacon_put_varint(out, bytes.count);
	text_add_bytes(out, bytes.at ? bytes.at : "", bytes.count);
}

static void beacon_put_text(struct text *out, uint32_t number, struct beacon_text bytes)
{
	if (bytes.count)
		beacon_put_bytes(out, number, bytes);
}

static void beacon_put_publisher(struct text *out, const struct beacon *beacon)
{
	struct text inner = {0}, publisher = {0};
	text_add_bytes(&inner, "", 0);
	if (beacon->is_service) {
		beacon_put_text(&inner, 1, beacon->socket);
		beacon_put_text(&inner, 2, beacon->request_type);
		beacon_put_text(&inner, 3, beacon->reply_type);
	} else {
		beacon_put_text(&inner, 1, beacon->control);
		beacon_put_text(&inner, 2, beacon->type);
		beacon_put_number(&inner, 3, beacon->throttled);
		beacon_put_number(&inner, 4, beacon->rate_hz);
	}
	beacon_put_text(&publisher, 1, beacon->topic);
	beacon_put_text(&publisher, 2, beacon->address);
	beacon_put_text(&publisher, 3, beacon->owner);
	beacon_put_text(&publisher, 4, beacon->node);
	beacon_put_number(&publisher, 5, beacon->scope);
	beacon_put_bytes(&publisher, beacon->is_service ? 7 : 6, (struct beacon_text){inner.at, inner.count});
	beacon_put_bytes(out, 7, (struct beacon_text){publisher.at, publisher.count});
	text_fini(&inner);
	text_fini(&publisher);
}

static void beacon_put_body(struct text *out, const struct beacon *beacon)
{
	struct text inner = {0};
	beacon_put_number(out, 2, beacon->version);
	beacon_put_text(out, 3, beacon->process);
	beacon_put_number(out, 4, beacon->kind);
	if (beacon->relay || beacon->no_relay) {
		beacon_put_number(&inner, 1, beacon->relay);
		beacon_put_number(&inner, 2, beacon->no_relay);
		beacon_put_bytes(out, 5, (struct beacon_text){inner.at, inner.count});
	}
	if (beacon->kind == BEACON_SUBSCRIBE) {
		inner.count = 0;
		beacon_put_text(&inner, 1, beacon->topic);
		beacon_put_bytes(out, 6, (struct beacon_text){inner.at, inner.count});
	} else if (beacon->has_publisher) {
		beacon_put_publisher(out, beacon);
	}
	text_fini(&inner);
}

bool beacon_encode(const struct beacon *beacon, struct text *out)
{
	struct text body = {0};
	uint16_t length;
	beacon_put_body(&body, beacon);
	bool fits = body.count + sizeof length <= BEACON_BYTES_MAX;
	if (fits) {
		length = (uint16_t)body.count;
		text_add_bytes(out, (const char *)&length, sizeof length);
		text_add_bytes(out, body.at, body.count);
	}
	text_fini(&body);
	return fits;
}

struct beacon_text beacon_text_of(const char *text)
{
	return (struct beacon_text){text, strlen(text)};
}

bool beacon_text_is(struct beacon_text text, const char *other)
{
	return text.count == strlen(other) && !memcmp(text.at ? text.at : "", other, text.count);
}
