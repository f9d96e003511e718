/* Programs that command many robots in each step give numbers, which need no parsing. The descriptors give the meaning
 * of the numbers: the fields are walked in their order until the numbers are used up. For a whole Twist, which such
 * programs give most often, a walk would cost as much as the rest of the command. */
#include "topic/build.h"
#include "topic/convert.h"

#include <math.h>

struct filler {
	struct build build;
	const double *at, *end;
	struct troupe_error *error;
};

static bool numbers_is_header(const ProtobufCFieldDescriptor *field)
{
	return field->descriptor == &gz__msgs__header__descriptor;
}

/* Counts the numbers that a message can take, up to `max`. */
static uint32_t numbers_count_fields(message_type type, uint32_t max, uint32_t depth)
{
	uint32_t count = 0;
	for (unsigned f = 0; f < type->n_fields && count < max && depth < MESSAGE_DEPTH_MAX; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		bool is_part = field->type == PROTOBUF_C_TYPE_MESSAGE && field->label != PROTOBUF_C_LABEL_REPEATED;
		if (!numbers_is_header(field))
			count += is_part ? numbers_count_fields(type_of_field(field), max - count, depth + 1) : 1;
	}
	return count;
}

static troupe_status numbers_refuse(
	const struct filler *filler, const ProtobufCFieldDescriptor *field, const char *expected)
{
	struct text path = {0};
	build_print_path(&filler->build, field, &path);
	troupe_status status = fail(filler->error, TROUPE_ECOMMAND, "%s of %s is %g: expected %s", path.at,
		filler->build.type->name, *filler->at, expected);
	text_fini(&path);
	return status;
}

static bool numbers_store(const struct build *build, const ProtobufCFieldDescriptor *field, void *place, double number)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		return build_store_number(build, field, place, number);
	case PROTOBUF_C_TYPE_BOOL:
		*(protobuf_c_boolean *)place = number == 1;
		return number == 0 || number == 1;
	default:
		return number == floor(number) && fabs(number) < 0x1p63 &&
		       build_store_integer(field, place, number < 0, (uint64_t)fabs(number));
	}
}

static troupe_status numbers_fill_value(
	struct filler *filler, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field)
{
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return numbers_refuse(filler, field, "a list");
	if (field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES)
		return numbers_refuse(filler, field, "text");
	if (numbers_store(&filler->build, field, build_place(&filler->build, message, field), *filler->at)) {
		filler->at++;
		return TROUPE_OK;
	}
	struct text expected = {0};
	build_add_expected(&filler->build, field, &expected);
	troupe_status status = numbers_refuse(filler, field, expected.at);
	text_fini(&expected);
	return status;
}

static troupe_status numbers_fill(struct filler *filler, ProtobufCMessage *message)
{
	message_type type = message->descriptor;
	troupe_status status = TROUPE_OK;
	for (unsigned f = 0; f < type->n_fields && filler->at < filler->end && !status; f++) {
		const ProtobufCFieldDescriptor *field = &type->fields[f];
		if (numbers_is_header(field))
			continue;
		if (field->type != PROTOBUF_C_TYPE_MESSAGE || field->label == PROTOBUF_C_LABEL_REPEATED) {
			status = numbers_fill_value(filler, message, field);
		} else if (build_enter(&filler->build, field)) {
			void *place = build_place(&filler->build, message, field);
			status = numbers_fill(filler, build_part(&filler->build, place, field));
			if (!status)
				build_leave(&filler->build);
		}
	}
	return status;
}

static bool numbers_all_fit(const double *numbers, uint32_t count, const struct message_limits *limits)
{
	bool fit = true;
	for (uint32_t i = 0; i < count; i++)
		fit &= limits->number_max > 0 && fabs(numbers[i]) <= limits->number_max;
	return fit;
}

troupe_status message_of_numbers(message_type type, const double *numbers, uint32_t count,
	const struct message_limits *limits, ProtobufCMessage **ret_message, struct troupe_error *error)
{
	if (type == &gz__msgs__twist__descriptor && count == 6 && numbers_all_fit(numbers, count, limits)) {
		struct vec3 linear = {numbers[0], numbers[1], numbers[2]},
			    angular = {numbers[3], numbers[4], numbers[5]};
		*ret_message = &message_of_twist(linear, angular)->base;
		return TROUPE_OK;
	}
	struct filler filler;
	build_init(&filler.build, type, limits);
	filler.at = numbers;
	filler.end = numbers + count;
	filler.error = error;
	ProtobufCMessage *message = build_message(&filler.build, type);
	troupe_status status = numbers_fill(&filler, message);
	if (!status && filler.at < filler.end)
		status = fail(error, TROUPE_ECOMMAND, "%u numbers: expected at most %u of %s", count,
			numbers_count_fields(type, count, 0), type->name);
	if (!status)
		*ret_message = message_copy(message);
	build_fini(&filler.build);
	return status;
}
