/* A line is "TYPE NAME", "TYPE[] NAME", "TYPE[9] NAME" or "TYPE NAME DEFAULT"; one with "=" is a constant. */
#include "gateway/ros/fields.h"

#include "gateway/ros/definitions.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_TYPES_MAX = 64, FIELDS_NAME_BYTES = 128, FIELDS_PART_ID = 1 };

static const struct {
	const char *name;
	enum ros_kind kind;
	size_t size;
	int type_id;
} fields_primitives[] = {{"bool", ROS_BOOL, 1, 15}, {"byte", ROS_UNSIGNED, 1, 16}, {"char", ROS_UNSIGNED, 1, 13},
	{"uint8", ROS_UNSIGNED, 1, 3}, {"int8", ROS_SIGNED, 1, 2}, {"uint16", ROS_UNSIGNED, 2, 5},
	{"int16", ROS_SIGNED, 2, 4}, {"uint32", ROS_UNSIGNED, 4, 7}, {"int32", ROS_SIGNED, 4, 6},
	{"uint64", ROS_UNSIGNED, 8, 9}, {"int64", ROS_SIGNED, 8, 8}, {"float32", ROS_REAL, 4, 10},
	{"float64", ROS_REAL, 8, 11}, {"string", ROS_STRING, 1, 17}};

bool fields_has_type(const struct ros_field *field, const char *type)
{
	return *type == *field->type && !strncmp(type, field->type, field->type_count) && !type[field->type_count];
}

static void fields_find_type(struct ros_field *field)
{
	field->part = NULL;
	for (size_t i = 0; i < ARRAY_LEN(fields_primitives); i++)
		if (fields_has_type(field, fields_primitives[i].name)) {
			field->kind = fields_primitives[i].kind;
			field->size = fields_primitives[i].size;
			field->type_id = fields_primitives[i].type_id;
			return;
		}
	field->kind = ROS_PART;
	field->size = 1;
	field->type_id = FIELDS_PART_ID;
	field->part = definitions_find(field->type, field->type_count);
	assert(field->part); /* tests/fuzz/fuzz_ros reads messages of all types */
}

bool fields_next(const char **line, struct ros_field *ret_field)
{
	while (**line) {
		const char *at = *line, *end = at + strcspn(at, "\n");
		*line = end + (*end == '\n');
		if (memchr(at, '=', (size_t)(end - at)))
			continue;
		struct ros_field field = {.type = at, .type_count = strcspn(at, " ["), .array = ROS_SINGLE};
		at += field.type_count;
		if (*at == '[') {
			field.array = atoi(at + 1);
			at += strcspn(at, " ");
		}
		field.name = at + strspn(at, " ");
		field.name_count = strcspn(field.name, " \n");
		field.preset = field.name + field.name_count;
		fields_find_type(&field);
		*ret_field = field;
		return true;
	}
	return false;
}

size_t fields_least_bytes(const struct ros_field *field)
{
	enum { LENGTH_BYTES = 4 };
	const char *line = field->part;
	struct ros_field inner;
	size_t bytes = 0;
	if (field->kind == ROS_STRING)
		return LENGTH_BYTES + 1;
	if (field->kind != ROS_PART)
		return field->size;
	while (fields_next(&line, &inner))
		bytes += inner.array == ROS_LIST ? LENGTH_BYTES
						 : fields_least_bytes(&inner) * (size_t)MAX(inner.array, 1);
	return MAX(bytes, 1);
}

static void fields_copy(const char *at, size_t count, char ret_name[FIELDS_NAME_BYTES])
{
	count = MIN(count, (size_t)FIELDS_NAME_BYTES - 1);
	memcpy(ret_name, at, count);
	ret_name[count] = '\0';
}

bool fields_each(const char *type,
	void (*fn)(void *ctx, const char *type, const char *name, const char *field_type, int array), void *ctx)
{
	char names[FIELDS_TYPES_MAX][FIELDS_NAME_BYTES];
	size_t count = 1;
	if (!definitions_find(type, strlen(type)) || strlen(type) >= sizeof names[0])
		return false;
	fields_copy(type, strlen(type), names[0]);
	for (size_t i = 0; i < count; i++) {
		const char *line = definitions_find(names[i], strlen(names[i]));
		struct ros_field field;
		bool any = false;
		while (fields_next(&line, &field)) {
			char name[FIELDS_NAME_BYTES], part[FIELDS_NAME_BYTES];
			any = true;
			fields_copy(field.name, field.name_count, name);
			fields_copy(field.type, field.type_count, part);
			fn(ctx, names[i], name, part, field.array);
			size_t known = 0;
			while (known < count && strcmp(names[known], part) != 0)
				known++;
			if (field.kind == ROS_PART && known == count && count < FIELDS_TYPES_MAX)
				memcpy(names[count++], part, sizeof part);
		}
		if (!any)
			fn(ctx, names[i], NULL, NULL, ROS_SINGLE);
	}
	return true;
}

bool fields_each_constant(const char *type, void (*fn)(void *ctx, const char *name, const char *value), void *ctx)
{
	const char *definition = definitions_find(type, strlen(type));
	if (!definition)
		return false;
	for (const char *line = definition, *end; *line; line = end + (*end == '\n')) {
		const char *at = line + strcspn(line, " ");
		end = line + strcspn(line, "\n");
		const char *equal = memchr(line, '=', (size_t)(end - line));
		char name[FIELDS_NAME_BYTES], value[FIELDS_NAME_BYTES];
		if (!equal)
			continue;
		fields_copy(at + 1, (size_t)(equal - at - 1), name);
		fields_copy(equal + 1, (size_t)(end - equal - 1), value);
		fn(ctx, name, value);
	}
	return true;
}
