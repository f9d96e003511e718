/* The list of all types is made from the headers that protobuf-c made, and the descriptors of the files by the compiler
 * of the .proto files itself (local.am): so a type that is added to a .proto file is known here without another line.
 *
 * The descriptors of files are read here as protobuf bytes, without a general reader: of each file only its name, its
 * imports and the names of its types are needed to choose the files that a type needs. */
#include "topic/type.h"

#include <string.h>

#include "topic/all_headers.inc"

static message_type const type_all[] = {
#include "topic/all_types.inc"
};

static const unsigned char type_all_files[] = {
#include "topic/all_files.inc"
};

enum { TYPE_FILES_MAX = 32 };

uint32_t type_count(void)
{
	return ARRAY_LEN(type_all);
}

message_type type_at(uint32_t i)
{
	return type_all[i];
}

static message_type type_find_exactly(const char *name)
{
	for (uint32_t i = 0; i < type_count(); i++)
		if (!strcmp(type_all[i]->name, name))
			return type_all[i];
	return NULL;
}

message_type type_find(const char *name)
{
	static const char gz[] = "gz.msgs.", ignition[] = "ignition.msgs.";
	char full[128];
	name += *name == '.';
	message_type type = type_find_exactly(name);
	if (!strncmp(name, ignition, strlen(ignition)))
		name += strlen(ignition);
	if (type || strlen(name) + sizeof gz > sizeof full)
		return type;
	strcpy(full, gz);
	strcat(full, name);
	return type_find_exactly(full);
}

size_t type_field_bytes(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	default:
		return 4;
	}
}

/* --- descriptors of files ----------------------------------------------------------------------------------------- */

struct type_bytes {
	const unsigned char *at, *end;
};

static uint64_t type_read_varint(struct type_bytes *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0; in->at < in->end; shift += 7) {
		value |= (uint64_t)(*in->at & 0x7f) << shift;
		if (!(*in->at++ & 0x80))
			break;
	}
	return value;
}

/* Finds the next field with a length, whose number is *ret_number; other fields are skipped. False: no more fields. The
 * bytes are those that the compiler wrote: they have only varints and fields with a length. */
static bool type_next_field(struct type_bytes *in, uint32_t *ret_number, struct type_bytes *ret_value)
{
	while (in->at < in->end) {
		uint64_t tag = type_read_varint(in), value = type_read_varint(in);
		if ((tag & 7) != 2)
			continue;
		*ret_number = (uint32_t)(tag >> 3);
		*ret_value = (struct type_bytes){in->at, in->at + value};
		in->at += value;
		return true;
	}
	return false;
}

/* The text may be shorter than that. */
static bool type_same(struct type_bytes a, const char *text, size_t count)
{
	return (size_t)(a.end - a.at) == count && !strncmp((const char *)a.at, text, count);
}

enum { FILE_NAME = 1, FILE_PACKAGE = 2, FILE_IMPORT = 3, FILE_TYPE = 4, TYPE_NAME = 1 };

/* Whether the file defines the type, or the type that the type is nested in. */
static bool type_defines(struct type_bytes file, message_type type)
{
	struct type_bytes value, part, package = {0};
	uint32_t number;
	while (type_next_field(&file, &number, &value)) {
		if (number == FILE_PACKAGE)
			package = value;
		while (number == FILE_TYPE && type_next_field(&value, &number, &part)) {
			size_t prefix = (size_t)(package.end - package.at), count = (size_t)(part.end - part.at);
			if (number == TYPE_NAME && type_same(package, type->name, prefix) &&
				type_same(part, type->name + prefix + 1, count) &&
				(!type->name[prefix + 1 + count] || type->name[prefix + 1 + count] == '.'))
				return true;
			number = FILE_TYPE;
		}
	}
	return false;
}

/* Marks the files that the file imports. They come before it. */
static void type_mark_imports(const struct type_bytes *files, uint32_t file, bool *needed)
{
	struct type_bytes in = files[file], import, other = {0};
	uint32_t number, name;
	while (type_next_field(&in, &number, &import))
		for (uint32_t i = 0; number == FILE_IMPORT && i < file; i++) {
			struct type_bytes head = files[i];
			while (type_next_field(&head, &name, &other) && name != FILE_NAME)
				;
			needed[i] |= type_same(other, (const char *)import.at, (size_t)(import.end - import.at));
		}
}

void type_add_file_set(message_type type, struct text *out)
{
	struct type_bytes in = {type_all_files, type_all_files + sizeof type_all_files}, files[TYPE_FILES_MAX];
	const unsigned char *begins[TYPE_FILES_MAX + 1] = {type_all_files};
	bool needed[TYPE_FILES_MAX] = {false};
	uint32_t count = 0, number;
	while (count < TYPE_FILES_MAX && type_next_field(&in, &number, &files[count]))
		begins[++count] = in.at;
	for (uint32_t i = count; i-- > 0;) {
		needed[i] |= type_defines(files[i], type);
		if (needed[i])
			type_mark_imports(files, i, needed);
	}
	for (uint32_t i = 0; i < count; i++)
		if (needed[i])
			text_add_bytes(out, (const char *)begins[i], (size_t)(begins[i + 1] - begins[i]));
}
