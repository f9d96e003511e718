/* What is read is filled into structs of protobuf-c in an arena, with strings that point into the CDR, and written as
 * protobuf's bytes; the server checks the numbers, as those of any message. */
#include "gateway/ros/paired.h"

#include "base/arena.h"
#include "gateway/ros/definitions.h"
#include "gateway/ros/fields.h"
#include "gateway/ros/parts.h"
#include "topic/message.h"

#include <assert.h>

static const char paired_header[] = "std_msgs/Header", paired_time[] = "builtin_interfaces/Time";

/* NULL: the message has no field of the name. */
static const ProtobufCFieldDescriptor *paired_find(message_type type, const struct ros_field *field)
{
	static const char nanosec[] = "nanosec", nsec[] = "nsec";
	bool is_nanosec = field->name_count == strlen(nanosec) && !memcmp(field->name, nanosec, strlen(nanosec));
	const char *name = is_nanosec ? nsec : field->name;
	size_t count = is_nanosec ? strlen(nsec) : field->name_count;
	for (unsigned f = 0; f < type->n_fields; f++)
		if (!strncmp(type->fields[f].name, name, count) && !type->fields[f].name[count])
			return &type->fields[f];
	return NULL;
}

/* --- to CDR ------------------------------------------------------------------------------------------------------- */

static void paired_write_message(
	struct cdr_out *out, const char *definition, message_type type, const ProtobufCMessage *message);

static uint64_t paired_bits(const ProtobufCFieldDescriptor *pair, const void *place)
{
	uint64_t whole = 0;
	uint32_t half = 0;
	if (place && type_field_bytes(pair) == sizeof whole)
		memcpy(&whole, place, sizeof whole);
	else if (place)
		memcpy(&half, place, sizeof half);
	return whole | half;
}

static void paired_write_part(
	struct cdr_out *out, const struct ros_field *field, const ProtobufCFieldDescriptor *pair, const void *place);

/* place: of the value in its message or list; NULL: it is not given. */
static void paired_write_value(
	struct cdr_out *out, const struct ros_field *field, const ProtobufCFieldDescriptor *pair, const void *place)
{
	switch (field->kind) {
	case ROS_BOOL:
		cdr_u8(out, paired_bits(pair, place) != 0);
		break;
	case ROS_UNSIGNED:
	case ROS_SIGNED:
	case ROS_REAL: /* a float or double, as the message has it */
		cdr_store(cdr_room(out, field->size, 1), paired_bits(pair, place), field->size);
		break;
	case ROS_STRING:
		cdr_string(out, place ? *(char *const *)place : "");
		break;
	case ROS_PART:
		paired_write_part(out, field, pair, place);
		break;
	}
}

static void paired_write_part(
	struct cdr_out *out, const struct ros_field *field, const ProtobufCFieldDescriptor *pair, const void *place)
{
	if (pair->type == PROTOBUF_C_TYPE_MESSAGE) {
		const ProtobufCMessage *part = place ? *(const ProtobufCMessage *const *)place : NULL;
		if (fields_has_type(field, paired_header))
			part_header(out, (const void *)part, NULL);
		else
			paired_write_message(out, field->part, type_of_field(pair), part);
		return;
	}
	const char *line = field->part;
	struct ros_field only;
	if (fields_next(&line, &only))
		paired_write_value(out, &only, pair, place);
}

static void paired_write_list(struct cdr_out *out, const struct ros_field *field, const ProtobufCFieldDescriptor *pair,
	const ProtobufCMessage *message)
{
	const char *base = (const char *)message, *items = base ? *(const char *const *)(base + pair->offset) : NULL;
	size_t count = base ? *(const size_t *)(const void *)(base + pair->quantifier_offset) : 0;
	cdr_count(out, count);
	if (pair->type == PROTOBUF_C_TYPE_DOUBLE) {
		cdr_f64s(out, (const double *)(const void *)items, count);
		return;
	}
	for (size_t i = 0; i < count; i++)
		paired_write_value(out, field, pair, items + i * type_field_bytes(pair));
}

static void paired_write_field(
	struct cdr_out *out, const struct ros_field *field, message_type type, const ProtobufCMessage *message)
{
	const ProtobufCFieldDescriptor *pair = paired_find(type, field);
	if (pair && field->array != ROS_SINGLE) {
		paired_write_list(out, field, pair, message);
	} else if (pair) {
		paired_write_value(out, field, pair, message ? (const char *)message + pair->offset : NULL);
	} else if (fields_has_type(field, paired_time)) {
		const ProtobufCFieldDescriptor *own = protobuf_c_message_descriptor_get_field_by_name(type, "header");
		const char *base = (const char *)message;
		const Gz__Msgs__Header *header =
			base ? *(const Gz__Msgs__Header *const *)(const void *)(base + own->offset) : NULL;
		part_time(out, header ? header->stamp : NULL);
	} else {
		assert(field->kind == ROS_PART);
		paired_write_message(out, field->part, type, message);
	}
}

/* A type without fields has one byte in ROS 2. */
static void paired_write_message(
	struct cdr_out *out, const char *definition, message_type type, const ProtobufCMessage *message)
{
	struct ros_field field;
	if (!*definition)
		cdr_u8(out, 0);
	while (fields_next(&definition, &field))
		paired_write_field(out, &field, type, message);
}

void paired_write(struct cdr_out *out, const char *ros, const ProtobufCMessage *message)
{
	paired_write_message(out, definitions_find(ros, strlen(ros)), message->descriptor, message);
}

/* --- from CDR ----------------------------------------------------------------------------------------------------- */

static void paired_read_fields(
	struct cdr_in *in, struct arena *arena, const char *definition, ProtobufCMessage *message);

static void paired_read_whole(
	struct cdr_in *in, const struct ros_field *field, const ProtobufCFieldDescriptor *pair, void *place)
{
	uint64_t bits = cdr_get(in, field->size);
	unsigned unused = 64 - 8 * (unsigned)field->size;
	if (field->kind == ROS_SIGNED)
		bits = (uint64_t)((int64_t)(bits << unused) >> unused);
	if (pair->type == PROTOBUF_C_TYPE_ENUM &&
		!protobuf_c_enum_descriptor_get_value(type_enum_of_field(pair), (int)bits))
		in->bad = true;
	if (type_field_bytes(pair) == sizeof bits)
		memcpy(place, &bits, sizeof bits);
	else
		memcpy(place, &(uint32_t){(uint32_t)bits}, sizeof(uint32_t));
}

static void paired_read_value(struct cdr_in *in, struct arena *arena, const struct ros_field *field,
	const ProtobufCFieldDescriptor *pair, void *place)
{
	const char *line = field->part;
	struct ros_field only;
	switch (field->kind) {
	case ROS_BOOL:
		*(protobuf_c_boolean *)place = cdr_get(in, 1) != 0;
		break;
	case ROS_UNSIGNED:
	case ROS_SIGNED:
	case ROS_REAL: /* a float or double, as the message has it */
		paired_read_whole(in, field, pair, place);
		break;
	case ROS_STRING:
		*(char **)place = message_string(cdr_get_string(in));
		break;
	case ROS_PART:
		if (pair->type == PROTOBUF_C_TYPE_MESSAGE) {
			message_type type = type_of_field(pair);
			ProtobufCMessage *part = *(ProtobufCMessage **)place = arena_alloc(arena, type->sizeof_message);
			protobuf_c_message_init(type, part);
			paired_read_fields(in, arena, field->part, part);
		} else if (fields_next(&line, &only)) {
			paired_read_value(in, arena, &only, pair, place);
		}
		break;
	}
}

static void paired_read_list(struct cdr_in *in, struct arena *arena, const struct ros_field *field,
	const ProtobufCFieldDescriptor *pair, ProtobufCMessage *message)
{
	char *base = (char *)message;
	size_t count = cdr_get_count(in, fields_least_bytes(field)), size = type_field_bytes(pair);
	char *items = arena_alloc(arena, count * size);
	*(size_t *)(void *)(base + pair->quantifier_offset) = count;
	*(char **)(void *)(base + pair->offset) = items;
	for (size_t i = 0; i < count && !in->bad; i++)
		paired_read_value(in, arena, field, pair, items + i * size);
}

static void paired_skip_time(struct cdr_in *in)
{
	(void)cdr_get(in, 4);
	(void)cdr_get(in, 4);
}

/* Once `bad` is set, items of lists may be missing. */
static void paired_read_fields(
	struct cdr_in *in, struct arena *arena, const char *definition, ProtobufCMessage *message)
{
	struct ros_field field;
	while (!in->bad && fields_next(&definition, &field)) {
		const ProtobufCFieldDescriptor *pair = paired_find(message->descriptor, &field);
		if (fields_has_type(&field, paired_header)) {
			paired_skip_time(in);
			(void)cdr_get_string(in);
		} else if (pair && field.array != ROS_SINGLE) {
			paired_read_list(in, arena, &field, pair, message);
		} else if (pair) {
			paired_read_value(in, arena, &field, pair, (char *)message + pair->offset);
		} else if (fields_has_type(&field, paired_time)) {
			paired_skip_time(in);
		} else {
			assert(field.kind == ROS_PART);
			paired_read_fields(in, arena, field.part, message);
		}
	}
}

void paired_read(struct cdr_in *in, const char *ros, message_type type, struct text *bytes)
{
	struct arena arena = {0};
	ProtobufCMessage *message = arena_alloc(&arena, type->sizeof_message);
	protobuf_c_message_init(type, message);
	paired_read_fields(in, &arena, definitions_find(ros, strlen(ros)), message);
	if (!in->bad)
		message_add_bytes(bytes, message);
	arena_fini(&arena);
}
