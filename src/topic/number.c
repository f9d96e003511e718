/* A float is printed as a float: if it were printed as a double, 0.1f would have 17 digits. */
#include "topic/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void number_add_float(struct text *out, float value)
{
	for (int precision = 6; precision <= 9 && isfinite(value); precision++) {
		char digits[32];
		/* the decimal point is that of the process's locale, in both directions */
		snprintf(digits, sizeof digits, "%.*g", precision, (double)value);
		if (strtof(digits, NULL) == value) {
			text_add_double(out, strtod(digits, NULL));
			return;
		}
	}
	text_add_double(out, (double)value);
}

void number_add(struct text *out, const ProtobufCFieldDescriptor *field, const void *value)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
		text_add_double(out, *(const double *)value);
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		number_add_float(out, *(const float *)value);
		break;
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		text_add(out, "%" PRIu32, *(const uint32_t *)value);
		break;
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		text_add(out, "%" PRIu64, *(const uint64_t *)value);
		break;
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		text_add(out, "%" PRId64, *(const int64_t *)value);
		break;
	default:
		text_add(out, "%" PRId32, *(const int32_t *)value);
		break;
	}
}
