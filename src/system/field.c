/* Messages as plug-ins see them: a place is looked up once, by its path, when the plug-in is configured, and then costs
 * a few loads. Parts that a plug-in adds to a message lie in an arena that is open on the thread during the call. */
#include "system/setup.h"

#include "topic/scene.pb-c.h"

#include <math.h>
#include <string.h>

static _Thread_local struct arena *field_open_arena;

void field_open(struct arena *arena)
{
	field_open_arena = arena;
}

/* Finds the field of that name in the first `length` bytes. */
static const ProtobufCFieldDescriptor *field_find(message_type type, const char *name, size_t length)
{
	for (unsigned i = 0; type && i < type->n_fields; i++)
		if (!strncmp(type->fields[i].name, name, length) && !type->fields[i].name[length])
			return &type->fields[i];
	return NULL;
}

static bool field_is_list(const ProtobufCFieldDescriptor *field)
{
	return field->label == PROTOBUF_C_LABEL_REPEATED;
}

const struct troupe_field *setup_field(struct troupe_system *self, const char *type, const char *path)
{
	const struct system *system = system_of(self);
	if (!system->setup)
		return NULL;
	struct setup *setup = system->setup;
	struct troupe_field field = {.type = type_find(type)};
	message_type at = field.type;
	for (const char *name = path; at; name = strchr(name, '.') + 1) {
		size_t length = strcspn(name, ".");
		const ProtobufCFieldDescriptor *found = field_find(at, name, length);
		if (found && !name[length]) {
			field.last = found;
			return share_keep(setup->share, setup->arena, &field, sizeof field);
		}
		bool goes_on = found && found->type == PROTOBUF_C_TYPE_MESSAGE && !field_is_list(found) &&
			       field.depth < FIELD_DEPTH_MAX;
		if (!goes_on)
			break;
		field.part[field.depth++] = found;
		at = type_of_field(found);
	}
	setup_refuse(self, NULL, "type '%s' has no field '%s'", type, path);
	return NULL;
}

static void *field_member(const ProtobufCMessage *message, unsigned offset)
{
	return (char *)(uintptr_t)message + offset;
}

/* The message that has the last field; NULL: a part on the way is not given, or the type is another. */
static ProtobufCMessage *field_reach(const struct troupe_message *message, const struct troupe_field *field)
{
	ProtobufCMessage *at = (ProtobufCMessage *)(uintptr_t)message;
	if (!at || at->descriptor != field->type)
		return NULL;
	for (uint32_t i = 0; i < field->depth && at; i++) {
		const ProtobufCFieldDescriptor *part = field->part[i];
		bool given = !type_field_in_oneof(part) ||
			     *(const uint32_t *)field_member(at, part->quantifier_offset) == part->id;
		at = given ? *(ProtobufCMessage **)field_member(at, part->offset) : NULL;
	}
	return at;
}

uint32_t field_count(const struct troupe_message *message, const struct troupe_field *field)
{
	const ProtobufCMessage *at = field_reach(message, field);
	if (!at)
		return 0;
	return field_is_list(field->last)
		       ? (uint32_t) * (const size_t *)field_member(at, field->last->quantifier_offset)
		       : 1;
}

/* The bytes of a value; NULL: there is none. */
static const void *field_value_at(
	const struct troupe_message *message, const struct troupe_field *field, uint32_t index)
{
	const ProtobufCMessage *at = field_reach(message, field);
	const ProtobufCFieldDescriptor *last = field->last;
	if (!at)
		return NULL;
	const void *place = field_member(at, last->offset);
	if (field_is_list(last))
		return index < *(const size_t *)field_member(at, last->quantifier_offset)
			       ? *(char *const *)place + index * type_field_bytes(last)
			       : NULL;
	if (type_field_in_oneof(last) && *(const uint32_t *)field_member(at, last->quantifier_offset) != last->id)
		return NULL;
	return index ? NULL : place;
}

double field_get(const struct troupe_message *message, const struct troupe_field *field, uint32_t index)
{
	const void *value = field_value_at(message, field, index);
	if (!value)
		return 0;
	switch (field->last->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		return *(const double *)value;
	case PROTOBUF_C_TYPE_FLOAT:
		return (double)*(const float *)value;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_ENUM:
		return *(const int32_t *)value;
	case PROTOBUF_C_TYPE_BOOL:
		return *(const protobuf_c_boolean *)value != 0;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		return *(const uint32_t *)value;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return (double)*(const int64_t *)value;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return (double)*(const uint64_t *)value;
	default:
		return 0;
	}
}

const char *field_get_text(const struct troupe_message *message, const struct troupe_field *field, uint32_t index)
{
	const void *value = field_value_at(message, field, index);
	const char *text = value && field->last->type == PROTOBUF_C_TYPE_STRING ? *(const char *const *)value : NULL;
	return text ? text : "";
}

const struct troupe_message *field_get_part(
	const struct troupe_message *message, const struct troupe_field *field, uint32_t index)
{
	const void *value = field_value_at(message, field, index);
	return value && field->last->type == PROTOBUF_C_TYPE_MESSAGE ? *(const struct troupe_message *const *)value
								     : NULL;
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static ProtobufCMessage *field_new_message(message_type type)
{
	ProtobufCMessage *message = arena_alloc(field_open_arena, type->sizeof_message);
	protobuf_c_message_init(type, message);
	return message;
}

/* The message that has the last field; parts on the way are made. */
static ProtobufCMessage *field_make_way(struct troupe_message *message, const struct troupe_field *field)
{
	ProtobufCMessage *at = (ProtobufCMessage *)message;
	if (!at || !field_open_arena || at->descriptor != field->type)
		return NULL;
	for (uint32_t i = 0; i < field->depth; i++) {
		const ProtobufCFieldDescriptor *part = field->part[i];
		ProtobufCMessage **next = field_member(at, part->offset);
		uint32_t *chosen = type_field_in_oneof(part) ? field_member(at, part->quantifier_offset) : NULL;
		if (!*next || (chosen && *chosen != part->id))
			*next = field_new_message(type_of_field(part));
		if (chosen)
			*chosen = part->id;
		at = *next;
	}
	return at;
}

/* Where the value is to be written. */
static void *field_place_for(struct troupe_message *message, const struct troupe_field *field)
{
	ProtobufCMessage *at = field_make_way(message, field);
	const ProtobufCFieldDescriptor *last = field->last;
	if (!at)
		return NULL;
	if (!field_is_list(last)) {
		if (type_field_in_oneof(last))
			*(uint32_t *)field_member(at, last->quantifier_offset) = last->id;
		return field_member(at, last->offset);
	}
	size_t *count = field_member(at, last->quantifier_offset), bytes = type_field_bytes(last);
	char **list = field_member(at, last->offset);
	if (!(*count & (*count - 1))) { /* it is full: its room is a power of two */
		char *more = arena_alloc(field_open_arena, (*count ? 2 * *count : 1) * bytes);
		if (*count)
			memcpy(more, *list, *count * bytes);
		*list = more;
	}
	return *list + (*count)++ * bytes;
}

/* Casting a number that the type cannot have is undefined in C: it is cut first. */
static double field_cut(double value, double low, double high)
{
	return isnan(value) ? 0 : value < low ? low : value > high ? high : value;
}

void field_put(struct troupe_message *message, const struct troupe_field *field, double value)
{
	ProtobufCType type = field->last->type;
	if (type == PROTOBUF_C_TYPE_STRING || type == PROTOBUF_C_TYPE_BYTES || type == PROTOBUF_C_TYPE_MESSAGE)
		return;
	void *place = field_place_for(message, field);
	if (!place)
		return;
	switch (type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		*(double *)place = value;
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		*(float *)place = (float)value;
		break;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_ENUM:
		*(int32_t *)place = (int32_t)field_cut(value, INT32_MIN, INT32_MAX);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)place = value != 0;
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		*(uint32_t *)place = (uint32_t)field_cut(value, 0, UINT32_MAX);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		*(int64_t *)place = (int64_t)field_cut(value, -0x1p62, 0x1p62);
		break;
	default:
		*(uint64_t *)place = (uint64_t)field_cut(value, 0, 0x1p63);
	}
}

void field_put_text(struct troupe_message *message, const struct troupe_field *field, const char *value)
{
	char **place = field->last->type == PROTOBUF_C_TYPE_STRING ? field_place_for(message, field) : NULL;
	if (place)
		*place = arena_strdup(field_open_arena, value);
}

struct troupe_message *field_put_part(struct troupe_message *message, const struct troupe_field *field)
{
	ProtobufCMessage **place =
		field->last->type == PROTOBUF_C_TYPE_MESSAGE ? field_place_for(message, field) : NULL;
	if (!place)
		return NULL;
	if (field_is_list(field->last) || !*place)
		*place = field_new_message(type_of_field(field->last));
	return (struct troupe_message *)*place;
}

ProtobufCMessage *field_message(message_type type, double time_s)
{
	ProtobufCMessage *message = field_new_message(type);
	const ProtobufCFieldDescriptor *field = field_find(type, "header", strlen("header"));
	if (!field || field->descriptor != &gz__msgs__header__descriptor)
		return message;
	int64_t time_ns = llround(field_cut(time_s, 0, 9e9) * 1e9);
	Gz__Msgs__Header *header = arena_new(field_open_arena, Gz__Msgs__Header);
	gz__msgs__header__init(header);
	header->stamp = arena_new(field_open_arena, Gz__Msgs__Time);
	gz__msgs__time__init(header->stamp);
	header->stamp->sec = time_ns / 1000000000;
	header->stamp->nsec = (int32_t)(time_ns % 1000000000);
	*(Gz__Msgs__Header **)field_member(message, field->offset) = header;
	return message;
}

/* --- comparing ---------------------------------------------------------------------------------------------------- */

static bool field_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b, double tolerance);

static bool field_same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	return a->len == b->len && (!a->len || !memcmp(a->data, b->data, a->len));
}

static bool field_same_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

static bool field_same_value(const ProtobufCFieldDescriptor *field, const void *a, const void *b, double tolerance)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		return fabs(*(const double *)a - *(const double *)b) <= tolerance;
	case PROTOBUF_C_TYPE_FLOAT:
		return fabs((double)*(const float *)a - (double)*(const float *)b) <= tolerance;
	case PROTOBUF_C_TYPE_STRING:
		return field_same_text(*(const char *const *)a, *(const char *const *)b);
	case PROTOBUF_C_TYPE_BYTES:
		return field_same_bytes(a, b);
	case PROTOBUF_C_TYPE_MESSAGE:
		return field_same_message(*(ProtobufCMessage *const *)a, *(ProtobufCMessage *const *)b, tolerance);
	default:
		return !memcmp(a, b, type_field_bytes(field));
	}
}

/* The number of values: of a part that is not a list 1, for a part that is not given has its defaults. */
static size_t field_values_of(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	return field_is_list(field) || type_field_in_oneof(field) ? message_field_count(message, field) : 1;
}

static bool field_same(
	const ProtobufCMessage *a, const ProtobufCMessage *b, const ProtobufCFieldDescriptor *field, double tolerance)
{
	size_t count = field_values_of(a, field);
	if (count != field_values_of(b, field))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!field_same_value(field, message_field_at(a, field, i), message_field_at(b, field, i), tolerance))
			return false;
	return true;
}

/* NULL is a part that is not given. It is equal only to another part that is not given. */
static bool field_same_message(const ProtobufCMessage *a, const ProtobufCMessage *b, double tolerance)
{
	if (!a || !b)
		return a == b;
	for (unsigned f = 0; f < a->descriptor->n_fields; f++)
		if (!field_same(a, b, &a->descriptor->fields[f], tolerance))
			return false;
	return true;
}

/* A header that is not wanted does not count: messages of systems have the time in it. */
static bool field_same_but_header(const ProtobufCMessage *a, const ProtobufCMessage *wanted, double tolerance)
{
	for (unsigned f = 0; f < a->descriptor->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &a->descriptor->fields[f];
		bool any = field->descriptor == &gz__msgs__header__descriptor && !field_is_list(field) &&
			   !message_field_count(wanted, field);
		if (!any && !field_same(a, wanted, field, tolerance))
			return false;
	}
	return true;
}

static bool field_has_each(const ProtobufCMessage *a, const ProtobufCMessage *wanted,
	const ProtobufCFieldDescriptor *field, double tolerance)
{
	size_t count = message_field_count(a, field);
	for (size_t w = 0; w < message_field_count(wanted, field); w++) {
		size_t i = 0;
		while (i < count && !field_same_value(field, message_field_at(a, field, i),
					    message_field_at(wanted, field, w), tolerance))
			i++;
		if (i == count)
			return false;
	}
	return true;
}

bool field_matches(const struct troupe_message *message, const struct troupe_message *wanted,
	const struct troupe_field *field, double tolerance)
{
	const ProtobufCMessage *a = (const ProtobufCMessage *)message, *b = (const ProtobufCMessage *)wanted;
	if (!a || !b || a->descriptor != b->descriptor)
		return false;
	if (!field)
		return field_same_but_header(a, b, tolerance);
	a = field_reach(message, field);
	b = field_reach(wanted, field);
	if (!a || !b) { /* a part on the way is not given: it has its defaults */
		const ProtobufCMessage *given = a ? a : b;
		return !given || !message_field_count(given, field->last);
	}
	return field_is_list(field->last) ? field_has_each(a, b, field->last, tolerance)
					  : field_same(a, b, field->last, tolerance);
}

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* The text of a message whose field `path` has this value. */
static void field_wrap(const struct troupe_field *field, const char *value, struct text *out)
{
	bool braces = field->last->type == PROTOBUF_C_TYPE_MESSAGE && *value != '{';
	for (uint32_t i = 0; i < field->depth; i++)
		text_add(out, "%s { ", field->part[i]->name);
	text_add(out, "%s: %s%s%s", field->last->name, braces ? "{ " : "", value, braces ? "\n}" : "\n");
	for (uint32_t i = 0; i < field->depth; i++)
		text_add(out, " }");
}

const struct troupe_message *setup_read_message(struct troupe_system *self, const struct troupe_element *at,
	const char *type, const char *path, const char *text)
{
	message_type found = type_find(type);
	const struct troupe_field *field = path && found ? setup_field(self, type, path) : NULL;
	struct text whole = {0};
	struct troupe_error why;
	ProtobufCMessage *message = NULL, *copy = NULL;
	if (!system_of(self)->setup)
		return NULL;
	if (!found)
		setup_refuse(self, at, "type '%.100s' is not known: expected one of gz.msgs or troupe.msgs", type);
	if (!found || (path && !field))
		return NULL;
	if (field)
		field_wrap(field, text, &whole);
	if (message_of_text(found, field ? whole.at : text, &message_limits_usual, &message, &why)) {
		setup_refuse(self, at, "%s '%.100s': %s", found->name, field ? whole.at : text, why.text);
	} else {
		copy = message_copy_in(system_of(self)->setup->arena, message);
		message_free(message);
	}
	text_fini(&whole);
	return (const struct troupe_message *)(const void *)copy;
}
