/* Feeds damaged text, JSON and bytes to the readers of messages.
 *
 *   fuzz_types                some thousand rounds over messages of its own
 *   fuzz_types SEED ROUNDS    so many rounds for each type
 *
 * The first byte of an input is the form, the second the type. Whatever comes in: what is read is within the limits, is
 * written in each form, and is read again from each form as the same message; protobuf-c reads the same from its bytes;
 * and an error is one line. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "../random.h"
#include "../topic/random_message.h"
#include "seeds.h"

#include <stdio.h>

static const struct message_limits limits = {.bytes_max = 1 << 20, .items_max = 1000};
static const struct message_limits commands = {.bytes_max = 1 << 20, .items_max = 1000, .number_max = 1e9};

enum form { TEXT, JSON, BYTES, FORMS };

/* The two readers of bytes give the same. */
static troupe_status read_bytes(message_type type, const char *bytes, size_t count, const struct message_limits *within,
	ProtobufCMessage **ret_message, struct troupe_error *error)
{
	struct arena arena = {0};
	ProtobufCMessage *in_arena;
	troupe_status status = message_of_bytes(type, bytes, count, within, ret_message, error);
	bool same = message_of_bytes_in(&arena, type, bytes, count, within, &in_arena, NULL) == status &&
		    (status ? !arena.last : message_equal(in_arena, *ret_message));
	must(same, "another message in an arena", (const uint8_t *)bytes, count);
	arena_fini(&arena);
	return status;
}

static troupe_status read_form(enum form form, message_type type, const char *bytes, size_t count,
	const struct message_limits *within, ProtobufCMessage **ret_message, struct troupe_error *error)
{
	if (form == TEXT)
		return message_of_text(type, bytes, within, ret_message, error);
	if (form == JSON)
		return message_of_json(type, bytes, count, within, ret_message, error);
	return read_bytes(type, bytes, count, within, ret_message, error);
}

static void write_form(enum form form, const ProtobufCMessage *message, struct text *out)
{
	if (form == TEXT)
		message_add_text(out, message, message->descriptor->n_fields % 2 ? MESSAGE_LINE : MESSAGE_LINES);
	else if (form == JSON)
		message_add_json(out, message);
	else
		message_add_bytes(out, message);
}

/* An enum's number without a name is read from bytes and JSON only. */
static bool has_unnamed(const ProtobufCMessage *message)
{
	for (unsigned f = 0; f < message->descriptor->n_fields; f++) {
		const ProtobufCFieldDescriptor *field = &message->descriptor->fields[f];
		size_t count = message_field_count(message, field);
		for (size_t i = 0; i < count; i++) {
			const void *value = message_field_at(message, field, i);
			if (field->type == PROTOBUF_C_TYPE_ENUM &&
				!protobuf_c_enum_descriptor_get_value(type_enum_of_field(field), *(const int *)value))
				return true;
			if (field->type == PROTOBUF_C_TYPE_MESSAGE && has_unnamed(*(ProtobufCMessage *const *)value))
				return true;
		}
	}
	return false;
}

static void check_message(const ProtobufCMessage *message, const uint8_t *bytes, size_t count)
{
	struct troupe_error error;
	bool unnamed = has_unnamed(message);
	must(!message_check(message, &limits, &error), "a message beyond its limits", bytes, count);
	for (enum form form = TEXT; form < FORMS; form++) {
		struct text text = {0};
		ProtobufCMessage *again;
		write_form(form, message, &text);
		if (form == TEXT && unnamed) {
			text_fini(&text);
			continue;
		}
		if (text.count <= limits.bytes_max) {
			must(!read_form(form, message->descriptor, text.at, text.count, &limits, &again, &error),
				"what was written is refused", bytes, count);
			must(message_equal(message, again), "what was written is another message", bytes, count);
			message_free(again);
		}
		if (form == BYTES) {
			const uint8_t *packed = text.count ? (const uint8_t *)text.at : (const uint8_t *)"";
			again = protobuf_c_message_unpack(message->descriptor, NULL, text.count, packed);
			must(again && message_equal(message, again), "protobuf-c reads another message", bytes, count);
			protobuf_c_message_free_unpacked(again, NULL);
		}
		text_fini(&text);
	}
}

static void check_error(const struct troupe_error *error, const uint8_t *bytes, size_t count)
{
	must(error->status == TROUPE_ECOMMAND && *error->text && !strchr(error->text, '\n'),
		"an error that is not one line", bytes, count);
	must(strstr(error->text, "expected"), "an error that does not say what was expected", bytes, count);
}

/* Numbers that are found in place lie in the message. `at` and `size`: a message of the type, or something else. */
static void check_numbers(message_type type, const char *at, size_t size, const uint8_t *bytes, size_t count)
{
	for (unsigned f = 0; f < type->n_fields; f++) {
		struct message_numbers found;
		struct troupe_error error = {0};
		const char *first;
		if (message_find_numbers(type, at, size, type->fields[f].name, &found, &error)) {
			check_error(&error, bytes, count);
			continue;
		}
		first = found.at;
		must(!found.count || (first > at && first < at + size && found.count <= (size_t)(at + size - first)),
			"numbers outside of their message", bytes, count);
	}
}

static unsigned one(const uint8_t *bytes, size_t count)
{
	if (count < 2)
		return 0;
	enum form form = bytes[0] % FORMS;
	message_type type = type_at(bytes[1] % type_count());
	struct troupe_error error = {0};
	ProtobufCMessage *message;
	struct text text = {0};
	text_add_bytes(&text, (const char *)bytes + 2, count - 2);
	text_add_bytes(&text, "", 1);
	if (form == BYTES)
		check_numbers(type, text.at, count - 2, bytes, count);
	unsigned good = !read_form(form, type, text.at, count - 2, &limits, &message, &error);
	if (good) {
		check_message(message, bytes, count);
		message_free(message);
	} else {
		check_error(&error, bytes, count);
	}
	if (!read_form(form, type, text.at, count - 2, &commands, &message, &error)) {
		must(good && !message_check(message, &commands, &error), "a number beyond its limit", bytes, count);
		message_free(message);
	}
	text_fini(&text);
	return good;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	(void)one(bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

static const char *const nasty[] = {"{", "}", "[", "]", ":", "\"", "'", "\\", "\\x", "\\u0000", "#", ",", "nan", "-0",
	"1e400", "1e-400", "18446744073709551616", "-9223372036854775809", "null", "true", "\xff", "\xc3",
	"\x80\x80\x80\x80", "\x7f", "\x0b", "\x0c", "{}{}{}{}", "[[[[[[[[", "header {stamp {sec: 1}}", "pause: false",
	"\"a\": "};

static uint64_t state;

static void damage(struct text *text)
{
	size_t at = 2 + random_below64(&state, text->count - 1),
	       cut = random_below64(&state, 3) ? 0 : random_below64(&state, 12);
	const char *word = nasty[random_below64(&state, ARRAY_LEN(nasty))];
	struct text out = {0};
	at = MIN(at, text->count);
	cut = MIN(cut, text->count - at);
	text_add_bytes(&out, text->at, at);
	switch (random_below64(&state, 4)) {
	case 0:
		text_add_bytes(&out, text->at + at, MIN((size_t)20, text->count - at));
		break;
	case 1:
		text_add_bytes(&out, (char[]){(char)random_below64(&state, 256)}, 1);
		break;
	default:
		text_add_bytes(&out, word, strlen(word));
		break;
	}
	text_add_bytes(&out, text->at + at + cut, text->count - at - cut);
	text_fini(text);
	*text = out;
}

/* The input for a random message of a type in a form. */
static struct text make_input(uint32_t type, enum form form, uint64_t seed)
{
	struct random_source source = {.state = hash_mix(seed, type), .any_number = seed % 2};
	struct text input = {0};
	text_add_bytes(&input, (char[]){(char)form, (char)type}, 2);
	write_form(form, random_message(&source, type_at(type), 3), &input);
	arena_fini(&source.arena);
	return input;
}

int main(int argc, char **argv)
{
	const char *seeds = seeds_wanted(argc, argv);
	size_t rounds = argc > 2 && !seeds ? strtoul(argv[2], NULL, 10) : 150, good = 0, tried = 0;
	state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	for (uint32_t type = 0; type < type_count(); type++)
		for (enum form form = TEXT; form < FORMS; form++) {
			struct text input = make_input(type, form, state + type);
			if (seeds)
				seeds_write(seeds, "types", type * FORMS + form, input.at, input.count);
			else
				must(one((const uint8_t *)input.at, input.count), "a sound message is refused",
					(const uint8_t *)input.at, input.count);
			for (size_t i = 0; !seeds && i < rounds; i++) {
				struct text copy = {0};
				text_add_bytes(&copy, input.at, input.count);
				for (size_t n = 1 + random_below64(&state, 4); n > 0; n--)
					damage(&copy);
				good += one((const uint8_t *)copy.at, copy.count);
				tried++;
				text_fini(&copy);
			}
			text_fini(&input);
		}
	if (seeds)
		return 0;
	printf("%zu of %zu damaged messages read\n", good, tried);
	must(good > tried / 50 && good < tried, "hardly any damaged message was read, or each", NULL, 0);
	printf("1 passed, 0 failed\n");
	return 0;
}

#endif
