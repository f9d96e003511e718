/* Names of fields in JSON; for the files of this folder that read and write JSON. */
#ifndef TOPIC_JSON_NAME_H
#define TOPIC_JSON_NAME_H

#include "topic/type.h"

enum { JSON_NAME_BYTES = 64 };

/* body_1_name becomes body1Name. */
static inline const char *json_name(const ProtobufCFieldDescriptor *field, char ret_name[JSON_NAME_BYTES])
{
	size_t count = 0;
	bool upper = false;
	for (const char *c = field->name; *c && count < JSON_NAME_BYTES - 1; c++) {
		if (*c == '_') {
			upper = true;
			continue;
		}
		ret_name[count++] = (char)(upper && *c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
		upper = false;
	}
	ret_name[count] = '\0';
	return ret_name;
}

#endif
