/* Nine kinds of message with a handful of fields do not pay for generated code that allocates: this reads them where
 * they lie, in bounded time, and keeps nothing. A protobuf reader must accept fields in any order, repeated ones (the
 * last counts), and unknown ones; so does this. What is refused is refused as a whole: a datagram that is cut off, a
 * text that is no valid name, a kind of message that lacks what it is about. */
#include "gateway/gz/beacon.h"

#include <string.h>

/* --- protobuf ----------------------------------------------------------------------------------------------------- */

enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

struct reader {
	const unsigned char *at, *end;
	bool bad;
};

static uint64_t take_varint(struct reader *in)
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

struct field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;           /* WIRE_VARINT */
	struct beacon_text bytes; /* WIRE_BYTES */
};

static bool skip_fixed(struct reader *in, size_t count)
{
	if ((size_t)(in->end - in->at) < count)
		return false;
	in->at += count;
	return true;
}

static bool take_bytes(struct reader *in, struct beacon_text *ret_bytes)
{
	uint64_t count = take_varint(in);
	if (in->bad || count > (uint64_t)(in->end - in->at))
		return false;
	*ret_bytes = (struct beacon_text){(const char *)in->at, (size_t)count};
	in->at += count;
	return true;
}

/* False at the end, or when `bad` is set. */
static bool take_field(struct reader *in, struct field *ret)
{
	if (in->bad || in->at == in->end)
		return false;
	uint64_t tag = take_varint(in);
	*ret = (struct field){.number = (uint32_t)(tag >> 3), .type = (enum wire_type)(tag & 7)};
	bool good = !in->bad && tag >> 3 && tag >> 3 <= UINT32_MAX >> 3;
	switch (good ? ret->type : 7) {
	case WIRE_VARINT:
		ret->value = take_varint(in);
		good = !in->bad;
		break;
	case WIRE_64:
		good = skip_fixed(in, 8);
		break;
	case WIRE_32:
		good = skip_fixed(in, 4);
		break;
	case WIRE_BYTES:
		good = take_bytes(in, &ret->bytes);
		break;
	default:
		good = false;
	}
	in->bad = !good;
	return good;
}

static struct reader reader_of(struct beacon_text bytes)
{
	const unsigned char *at = (const unsigned char *)bytes.at;
	return (struct reader){at, at + bytes.count, false};
}

/* A field of the expected type. */
static bool is_text(const struct field *field, uint32_t number)
{
	return field->number == number && field->type == WIRE_BYTES;
}

static bool is_number(const struct field *field, uint32_t number)
{
	return field->number == number && field->type == WIRE_VARINT;
}

/* --- decoding ----------------------------------------------------------------------------------------------------- */

static bool read_flags(struct beacon *beacon, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	while (take_field(&in, &field)) {
		if (is_number(&field, 1))
			beacon->relay = field.value;
		else if (is_number(&field, 2))
			beacon->no_relay = field.value;
	}
	return !in.bad;
}

static bool read_subscriber(struct beacon_text *topic, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	while (take_field(&in, &field))
		if (is_text(&field, 1))
			*topic = field.bytes;
	return !in.bad;
}

static bool read_topic_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	beacon->is_service = false; /* of a oneof the last member counts */
	beacon->socket = beacon->request_type = beacon->reply_type = (struct beacon_text){0};
	while (take_field(&in, &field)) {
		if (is_text(&field, 1))
			beacon->control = field.bytes;
		else if (is_text(&field, 2))
			beacon->type = field.bytes;
		else if (is_number(&field, 3))
			beacon->throttled = field.value;
		else if (is_number(&field, 4))
			beacon->rate_hz = field.value;
	}
	return !in.bad;
}

static bool read_service_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	beacon->is_service = true;
	beacon->control = beacon->type = (struct beacon_text){0};
	beacon->throttled = false;
	beacon->rate_hz = 0;
	while (take_field(&in, &field)) {
		if (is_text(&field, 1))
			beacon->socket = field.bytes;
		else if (is_text(&field, 2))
			beacon->request_type = field.bytes;
		else if (is_text(&field, 3))
			beacon->reply_type = field.bytes;
	}
	return !in.bad;
}

static bool read_publisher(struct beacon *beacon, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	bool has_kind = false, good = true;
	while (good && take_field(&in, &field)) {
		if (is_text(&field, 1))
			beacon->topic = field.bytes;
		else if (is_text(&field, 2))
			beacon->address = field.bytes;
		else if (is_text(&field, 3))
			beacon->owner = field.bytes;
		else if (is_text(&field, 4))
			beacon->node = field.bytes;
		else if (is_number(&field, 5))
			beacon->scope = (enum beacon_scope)MIN(field.value, BEACON_ALL);
		else if (is_text(&field, 6))
			has_kind = good = read_topic_publisher(beacon, field.bytes);
		else if (is_text(&field, 7))
			has_kind = good = read_service_publisher(beacon, field.bytes);
	}
	beacon->has_publisher = has_kind;
	return good && !in.bad;
}

/* Leaves what belongs to this kind of message. */
static void keep_own(struct beacon *beacon, struct beacon_text subscribed)
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

static bool read_all(struct beacon *beacon, struct beacon_text bytes)
{
	struct reader in = reader_of(bytes);
	struct field field;
	struct beacon_text subscribed = {0};
	bool good = true;
	while (good && take_field(&in, &field)) {
		if (is_number(&field, 2))
			beacon->version = (uint32_t)MIN(field.value, UINT32_MAX);
		else if (is_text(&field, 3))
			beacon->process = field.bytes;
		else if (is_number(&field, 4))
			beacon->kind = (enum beacon_kind)MIN(field.value, 100);
		else if (is_text(&field, 5))
			good = read_flags(beacon, field.bytes);
		else if (is_text(&field, 6))
			good = read_subscriber(&subscribed, field.bytes);
		else if (is_text(&field, 7))
			good = read_publisher(beacon, field.bytes);
	}
	keep_own(beacon, subscribed);
	return good && !in.bad;
}

/* "@PARTITION@TOPIC", of any partition. */
static bool is_full_name(struct beacon_text text)
{
	const char *second = text.count > 1 && *text.at == '@' ? memchr(text.at + 1, '@', text.count - 1) : NULL;
	if (!second)
		return false;
	size_t partition = (size_t)(second - text.at) - 1;
	return names_is_partition(text.at + 1, partition) && names_is_topic(second + 1, text.count - partition - 2);
}

static bool is_id_or_absent(struct beacon_text text)
{
	return !text.count || names_is_id(text.at, text.count);
}

static bool is_type_or_absent(struct beacon_text text)
{
	return !text.count || names_is_type(text.at, text.count);
}

static bool is_sane_publisher(const struct beacon *beacon)
{
	struct names_endpoint endpoint;
	return beacon->has_publisher && is_full_name(beacon->topic) &&
	       names_is_id(beacon->owner.at, beacon->owner.count) && is_id_or_absent(beacon->node) &&
	       is_id_or_absent(beacon->control) && is_id_or_absent(beacon->socket) && is_type_or_absent(beacon->type) &&
	       is_type_or_absent(beacon->request_type) && is_type_or_absent(beacon->reply_type) &&
	       (beacon->kind != BEACON_ADVERTISE ||
		       names_endpoint_parse(beacon->address.at, beacon->address.count, &endpoint));
}

static bool is_sane(const struct beacon *beacon)
{
	if (!names_is_id(beacon->process.at, beacon->process.count))
		return false;
	switch (beacon->kind) {
	case BEACON_HEARTBEAT:
	case BEACON_BYE:
		return true;
	case BEACON_SUBSCRIBE:
		return is_full_name(beacon->topic);
	case BEACON_ADVERTISE:
	case BEACON_UNADVERTISE:
	case BEACON_NEW_CONNECTION:
	case BEACON_END_CONNECTION:
		return is_sane_publisher(beacon);
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
		!read_all(&beacon, (struct beacon_text){bytes + sizeof length, length}) || !is_sane(&beacon))
		return false;
	*ret_beacon = beacon;
	return true;
}

/* --- encoding ----------------------------------------------------------------------------------------------------- */

static void put_varint(struct text *out, uint64_t value)
{
	char bytes[10];
	size_t count = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[count++] = (char)(value | 0x80);
	bytes[count++] = (char)value;
	text_add_bytes(out, bytes, count);
}

/* Zero is the default of proto3 and is not written. */
static void put_number(struct text *out, uint32_t number, uint64_t value)
{
	if (!value)
		return;
	put_varint(out, number << 3 | WIRE_VARINT);
	put_varint(out, value);
}

static void put_bytes(struct text *out, uint32_t number, struct beacon_text bytes)
{
	put_varint(out, number << 3 | WIRE_BYTES);
	put_varint(out, bytes.count);
	text_add_bytes(out, bytes.at ? bytes.at : "", bytes.count);
}

static void put_text(struct text *out, uint32_t number, struct beacon_text bytes)
{
	if (bytes.count)
		put_bytes(out, number, bytes);
}

static void put_publisher(struct text *out, const struct beacon *beacon)
{
	struct text inner = {0}, publisher = {0};
	text_add_bytes(&inner, "", 0);
	if (beacon->is_service) {
		put_text(&inner, 1, beacon->socket);
		put_text(&inner, 2, beacon->request_type);
		put_text(&inner, 3, beacon->reply_type);
	} else {
		put_text(&inner, 1, beacon->control);
		put_text(&inner, 2, beacon->type);
		put_number(&inner, 3, beacon->throttled);
		put_number(&inner, 4, beacon->rate_hz);
	}
	put_text(&publisher, 1, beacon->topic);
	put_text(&publisher, 2, beacon->address);
	put_text(&publisher, 3, beacon->owner);
	put_text(&publisher, 4, beacon->node);
	put_number(&publisher, 5, beacon->scope);
	put_bytes(&publisher, beacon->is_service ? 7 : 6, (struct beacon_text){inner.at, inner.count});
	put_bytes(out, 7, (struct beacon_text){publisher.at, publisher.count});
	text_fini(&inner);
	text_fini(&publisher);
}

static void put_body(struct text *out, const struct beacon *beacon)
{
	struct text inner = {0};
	put_number(out, 2, beacon->version);
	put_text(out, 3, beacon->process);
	put_number(out, 4, beacon->kind);
	if (beacon->relay || beacon->no_relay) {
		put_number(&inner, 1, beacon->relay);
		put_number(&inner, 2, beacon->no_relay);
		put_bytes(out, 5, (struct beacon_text){inner.at, inner.count});
	}
	if (beacon->kind == BEACON_SUBSCRIBE) {
		inner.count = 0;
		put_text(&inner, 1, beacon->topic);
		put_bytes(out, 6, (struct beacon_text){inner.at, inner.count});
	} else if (beacon->has_publisher) {
		put_publisher(out, beacon);
	}
	text_fini(&inner);
}

bool beacon_encode(const struct beacon *beacon, struct text *out)
{
	struct text body = {0};
	uint16_t length;
	put_body(&body, beacon);
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
