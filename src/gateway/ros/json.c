/* One walk over the lines of a definition serves both directions: a line gives a field's kind, its name and how many
 * there are, and the message is read or written at that place. Definitions are short, so their lines are read anew for
 * each part; lists of numbers, which are long, are one field. */
#include "gateway/ros/json.h"

#include "base/json_out.h"
#include "gateway/ros/cdr.h"
#include "gateway/ros/definitions.h"
#include "gateway/ros/fields.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

bool ros_json_knows(const char *type)
{
	return definitions_find(type, strlen(type));
}

/* --- to JSON ------------------------------------------------------------------------------------------------------ */

static void json_add_real(struct json_out *out, const char *key, double value)
{
	if (isfinite(value))
		json_out_double(out, key, value);
	else
		text_add(json_out_value(out, key), "null");
}

static void json_print_part(struct cdr_in *in, const char *definition, const char *key, struct json_out *out);

static void json_print_value(struct cdr_in *in, const struct ros_field *field, const char *key, struct json_out *out)
{
	switch (field->kind) {
	case ROS_BOOL:
		json_out_bool(out, key, cdr_get(in, 1));
		break;
	case ROS_UNSIGNED:
		json_out_uint(out, key, cdr_get(in, field->size));
		break;
	case ROS_SIGNED: {
		unsigned unused = 64 - 8 * (unsigned)field->size;
		json_out_int(out, key, (int64_t)(cdr_get(in, field->size) << unused) >> unused);
		break;
	}
	case ROS_REAL:
		json_add_real(out, key, field->size == 4 ? (double)cdr_get_f32(in) : cdr_get_f64(in));
		break;
	case ROS_STRING:
		json_out_string(out, key, cdr_get_string(in));
		break;
	case ROS_PART:
		json_print_part(in, field->part, key, out);
		break;
	}
}

static bool json_is_bytes(const struct ros_field *field)
{
	return field->kind == ROS_UNSIGNED && field->size == 1 && field->array != ROS_SINGLE;
}

static void json_print_list(struct cdr_in *in, const struct ros_field *field, const char *key, struct json_out *out)
{
	uint32_t count = field->array == ROS_LIST ? cdr_get_count(in, field->size) : (uint32_t)field->array;
	if (json_is_bytes(field)) {
		if (in->bad || in->end - in->at < count) {
			in->bad = true;
			return;
		}
		json_out_base64(out, key, in->bytes + in->at, count);
		in->at += count;
		return;
	}
	json_out_array(out, key);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		json_print_value(in, field, NULL, out);
	json_out_end(out);
}

static void json_print_part(struct cdr_in *in, const char *definition, const char *key, struct json_out *out)
{
	struct ros_field field;
	char name[128];
	json_out_object(out, key);
	while (!in->bad && fields_next(&definition, &field)) {
		(void)snprintf(name, sizeof name, "%.*s", (int)field.name_count, field.name);
		if (field.array == ROS_SINGLE)
			json_print_value(in, &field, name, out);
		else
			json_print_list(in, &field, name, out);
	}
	json_out_end(out);
}

troupe_status ros_json_of_cdr(
	const char *type, const void *cdr, size_t count, struct text *json, struct troupe_error *error)
{
	const char *definition = definitions_find(type, strlen(type));
	struct cdr_in in = cdr_open(cdr, count);
	struct json_out out = {.text = json};
	size_t before = json->count;
	if (!definition)
		return fail(error, TROUPE_ECOMMAND, "type '%.80s': there is no such type here", type);
	if (!in.bad)
		json_print_part(&in, definition, NULL, &out);
	if (!in.bad)
		return TROUPE_OK;
	json->count = before;
	return fail(error, TROUPE_ECOMMAND, "not a message of %s in CDR", type);
}

/* --- from JSON ---------------------------------------------------------------------------------------------------- */

enum { JSON_FOUND_BYTES = 40, PATH_BYTES = 200 };

struct json_reader {
	struct cdr_out out;
	struct text path; /* of the value that is read: "poses[3].position.x" */
	struct troupe_error *error;
};

static troupe_status json_unexpected(const struct json_reader *r, const json_t *value, const char *expected)
{
	char *found = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	troupe_status status = fail(r->error, TROUPE_ECOMMAND, "%.*s%s%.*s%s: expected %s", PATH_BYTES,
		r->path.count ? r->path.at : "message", ": ", JSON_FOUND_BYTES, found ? found : "nothing",
		found && strlen(found) > JSON_FOUND_BYTES ? "..." : "", expected);
	free(found);
	return status;
}

/* A number that is whole, and that a field of so many bytes can have. */
static bool json_whole_of(const json_t *value, const struct ros_field *field, int64_t *ret_whole)
{
	double real = json_number_value(value);
	bool is_whole = json_is_integer(value) || (json_is_real(value) && real == floor(real) && fabs(real) < 9e15);
	int64_t whole = json_is_integer(value) ? json_integer_value(value) : is_whole ? (int64_t)real : 0;
	unsigned bits = 8 * (unsigned)field->size;
	if (!is_whole || (field->kind == ROS_UNSIGNED && whole < 0))
		return false;
	*ret_whole = whole;
	if (bits == 64)
		return true;
	int64_t hi = field->kind == ROS_UNSIGNED ? (INT64_C(1) << bits) - 1 : (INT64_C(1) << (bits - 1)) - 1;
	return whole <= hi && whole >= (field->kind == ROS_UNSIGNED ? 0 : -hi - 1);
}

static void json_put_number(struct cdr_out *out, uint64_t bits, size_t size)
{
	cdr_store(cdr_room(out, size, 1), bits, size);
}

static troupe_status json_read_whole(struct json_reader *r, const struct ros_field *field, const json_t *value)
{
	char expected[64];
	int64_t whole;
	if (json_whole_of(value, field, &whole)) {
		json_put_number(&r->out, (uint64_t)whole, field->size);
		return TROUPE_OK;
	}
	(void)snprintf(expected, sizeof expected, "a whole number as %.*s has it", (int)field->type_count, field->type);
	return json_unexpected(r, value, expected);
}

static void json_put_real(struct cdr_out *out, double value, size_t size)
{
	if (size == 4)
		cdr_f32(out, (float)value);
	else
		cdr_f64(out, value);
}

static troupe_status json_read_part(struct json_reader *r, const char *definition, const json_t *value);

static troupe_status json_read_value(struct json_reader *r, const struct ros_field *field, const json_t *value)
{
	switch (field->kind) {
	case ROS_BOOL:
		if (!json_is_boolean(value))
			return json_unexpected(r, value, "true or false");
		cdr_u8(&r->out, json_is_true(value));
		return TROUPE_OK;
	case ROS_UNSIGNED:
	case ROS_SIGNED:
		return json_read_whole(r, field, value);
	case ROS_REAL:
		if (!json_is_number(value) && !json_is_null(value))
			return json_unexpected(r, value, "a number");
		json_put_real(&r->out, json_is_null(value) ? (double)NAN : json_number_value(value), field->size);
		return TROUPE_OK;
	case ROS_STRING:
		if (!json_is_string(value))
			return json_unexpected(r, value, "a string");
		cdr_string(&r->out, json_string_value(value));
		return TROUPE_OK;
	default:
		return json_read_part(r, field->part, value);
	}
}

/* -1: no digit. */
static int json_digit_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes of base64, to be freed; NULL: it is none. */
static unsigned char *json_bytes_of(const char *base64, size_t length, size_t *ret_count)
{
	size_t padding = 0;
	while (padding < 2 && padding < length && base64[length - 1 - padding] == '=')
		padding++;
	unsigned char *bytes = mem_alloc(length / 4 * 3 + 3);
	uint32_t three = 0;
	bool bad = length % 4;
	for (size_t i = 0; i < length && !bad; i++) {
		int digit = i < length - padding ? json_digit_of(base64[i]) : 0;
		bad = digit < 0;
		three = three << 6 | (uint32_t)MAX(digit, 0);
		if (i % 4 == 3)
			for (size_t b = 0; b < 3; b++)
				bytes[i / 4 * 3 + b] = (unsigned char)(three >> (16 - 8 * b));
	}
	if (bad) {
		free(bytes);
		return NULL;
	}
	*ret_count = length / 4 * 3 - padding;
	return bytes;
}

static troupe_status json_read_bytes(struct json_reader *r, const struct ros_field *field, const json_t *value)
{
	size_t count = 0;
	unsigned char *bytes = json_bytes_of(json_string_value(value), json_string_length(value), &count);
	if (!bytes || (field->array != ROS_LIST && count != (size_t)field->array)) {
		free(bytes);
		return json_unexpected(r, value, "bytes in base64, or a list of numbers");
	}
	if (field->array == ROS_LIST)
		cdr_count(&r->out, count);
	if (count)
		memcpy(cdr_room(&r->out, 1, count), bytes, count);
	free(bytes);
	return TROUPE_OK;
}

static troupe_status json_read_list(struct json_reader *r, const struct ros_field *field, const json_t *value)
{
	size_t count = json_array_size(value), before = r->path.count;
	char expected[64];
	troupe_status status = TROUPE_OK;
	if (json_is_bytes(field) && json_is_string(value))
		return json_read_bytes(r, field, value);
	(void)snprintf(expected, sizeof expected, field->array == ROS_LIST ? "a list" : "a list of %d", field->array);
	if (!json_is_array(value) || (field->array != ROS_LIST && count != (size_t)field->array))
		return json_unexpected(r, value, expected);
	if (field->array == ROS_LIST)
		cdr_count(&r->out, count);
	for (size_t i = 0; i < count && !status; i++) {
		if (field->kind == ROS_PART)
			text_add(&r->path, "[%zu]", i);
		status = json_read_value(r, field, json_array_get(value, i));
		r->path.count = before;
	}
	return status;
}

static void json_put_preset(struct json_reader *r, const struct ros_field *field)
{
	const char *at = field->preset + strspn(field->preset, " ");
	if (field->array == ROS_LIST)
		cdr_count(&r->out, 0);
	for (int i = 0; i < (field->array == ROS_SINGLE ? 1 : field->array); i++)
		if (field->kind == ROS_STRING)
			cdr_string(&r->out, "");
		else if (field->kind == ROS_PART)
			(void)json_read_part(r, field->part, NULL);
		else if (field->kind == ROS_REAL)
			json_put_real(&r->out, atof(at), field->size);
		else
			json_put_number(&r->out, !strncmp(at, "true", 4) ? 1 : (uint64_t)atoll(at), field->size);
}

static troupe_status json_read_field(struct json_reader *r, const struct ros_field *field, const json_t *value)
{
	size_t before = r->path.count;
	if (!value) {
		json_put_preset(r, field);
		return TROUPE_OK;
	}
	text_add(&r->path, "%s%.*s", before ? "." : "", (int)field->name_count, field->name);
	troupe_status status =
		field->array == ROS_SINGLE ? json_read_value(r, field, value) : json_read_list(r, field, value);
	r->path.count = before;
	r->path.at[before] = '\0';
	return status;
}

static troupe_status json_refuse_member(struct json_reader *r, const char *definition, const json_t *value)
{
	const char *key;
	json_t *member;
	json_object_foreach((json_t *)(uintptr_t)value, key, member)
	{
		const char *line = definition;
		struct text names = {0};
		struct ros_field field;
		bool found = false;
		while (!found && fields_next(&line, &field)) {
			found = strlen(key) == field.name_count && !strncmp(key, field.name, field.name_count);
			text_add(&names, "%s%.*s", names.count ? ", " : ": expected one of ", (int)field.name_count,
				field.name);
		}
		if (!found)
			(void)fail(r->error, TROUPE_ECOMMAND, "%.*s%s%.40s: there is no such field%s", PATH_BYTES,
				r->path.count ? r->path.at : "", r->path.count ? "." : "", key,
				names.count ? names.at : ": the message has none");
		text_fini(&names);
		if (!found)
			return TROUPE_ECOMMAND;
	}
	return TROUPE_OK;
}

/* value NULL: a part with all fields at their defaults. */
static troupe_status json_read_part(struct json_reader *r, const char *definition, const json_t *value)
{
	const char *line = definition;
	troupe_status status = TROUPE_OK;
	size_t found = 0;
	char name[128];
	struct ros_field field;
	if (value && !json_is_object(value))
		return json_unexpected(r, value, "an object");
	while (!status && fields_next(&line, &field)) {
		(void)snprintf(name, sizeof name, "%.*s", (int)field.name_count, field.name);
		const json_t *member = value ? json_object_get(value, name) : NULL;
		found += member != NULL;
		status = json_read_field(r, &field, member);
	}
	return !status && found < json_object_size(value) ? json_refuse_member(r, definition, value) : status;
}

troupe_status ros_json_to_cdr(const char *type, const struct json_t *json, struct text *cdr, struct troupe_error *error)
{
	const char *definition = definitions_find(type, strlen(type));
	size_t before = cdr->count;
	if (!definition)
		return fail(error, TROUPE_ECOMMAND, "type '%.80s': there is no such type here", type);
	struct json_reader reader = {.out = cdr_begin(cdr), .error = error};
	troupe_status status = json_read_part(&reader, definition, json);
	if (status)
		cdr->count = before;
	text_fini(&reader.path);
	return status;
}

static bool json_has_field(const char *definition, const char *key, struct ros_field *ret_field)
{
	while (fields_next(&definition, ret_field))
		if (strlen(key) == ret_field->name_count && !strncmp(key, ret_field->name, ret_field->name_count))
			return true;
	return false;
}

/* value: an object, or a list of them. */
static void json_prune(const char *definition, json_t *value)
{
	const char *key;
	json_t *member;
	void *after;
	size_t i;
	struct ros_field field;
	json_array_foreach(value, i, member) json_prune(definition, member);
	json_object_foreach_safe(value, after, key, member)
	{
		if (!json_has_field(definition, key, &field))
			(void)json_object_del(value, key);
		else if (field.kind == ROS_PART)
			json_prune(field.part, member);
	}
}

void ros_json_prune(const char *type, json_t *json)
{
	const char *definition = definitions_find(type, strlen(type));
	if (definition)
		json_prune(definition, json);
}
