#include "system/message.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(message, .timeout = 10);

static const struct good {
	const struct message_schema *schema;
	const char *text;
	uint32_t given;
	double value[7];
} good[] = {
	{&message_twist, "", 0, {0}},
	{&message_twist, " \t\n ", 0, {0}},
	{&message_twist, "linear: {x: 4.0} angular {z: -0.5}", 0x21, {4, 0, 0, 0, 0, -0.5}},
	{&message_twist, "linear: {x: 4.0}, angular: {z: -0.5}", 0x21, {4, 0, 0, 0, 0, -0.5}},
	{&message_twist, "linear{x:1;y:2;z:3;};angular{x:4,y:5,z:6,},", 0x3f, {1, 2, 3, 4, 5, 6}},
	{&message_twist, "linear < x: 1 y: 2 > angular: <z:3>", 0x23, {1, 2, 0, 0, 0, 3}},
	{&message_twist, "linear\n{\n\tx\n:\n1\n}\n", 0x01, {1}},
	{&message_twist, "# forward\nlinear { x: 1 # m/s }\n}#", 0x01, {1}},
	{&message_twist, "linear {}", 0, {0}},
	{&message_twist, "linear {x: 1} linear {y: 2}", 0x03, {1, 2}},
	{&message_twist, "linear {x: 1 x: 2}", 0x01, {2}},
	{&message_twist, "linear {x: 0}", 0x01, {0}},
	{&message_twist, "linear {x: 1e9 y: -1e9 z: .5} angular {x: 2. y: 1.5f z: 25E-2}", 0x3f,
		{1e9, -1e9, 0.5, 2, 1.5, 0.25}},
	{&message_twist, "linear {x: 1e-999}", 0x01, {0}},
	{&message_double, "data: -3.25", 1, {-3.25}},
	{&message_double, "data:7;", 1, {7}},
	{&message_bool, "data: true", 1, {1}},
	{&message_bool, "data: f", 1, {0}},
	{&message_bool, "data: 1", 1, {1}},
	{&message_world_control, "pause: true", 1, {1}},
	{&message_world_control, "multi_step: 4294967295, pause: True", 5, {1, 0, 4294967295.0}},
	{&message_world_control, "reset { all: true } seed: 0", 0x48, {0, 0, 0, 1, 0, 0, 0}},
	{&message_world_control, "step: true reset: {time_only: t, model_only: False}", 0x32, {0, 1, 0, 0, 1, 0, 0}},
};

Test(message, every_syntax_is_read)
{
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct troupe_error error = {0};
		struct message message;
		memset(&message, 0x55, sizeof message);
		cr_assert_eq(message_parse(good[i].schema, good[i].text, &message, &error), TROUPE_OK, "%s: %s",
			good[i].text, error.text);
		cr_assert_eq(message.given, good[i].given, "%s: given %x", good[i].text, message.given);
		for (uint32_t slot = 0; slot < MESSAGE_SLOTS_MAX; slot++)
			cr_assert_eq(message.value[slot], slot < 7 ? good[i].value[slot] : 0, "%s: slot %u is %g",
				good[i].text, slot, message.value[slot]);
	}
}

#define NUMBER "a number between -1e9 and 1e9"
#define COUNT "a whole number from 0 to 4294967295"

static const struct bad {
	const struct message_schema *schema;
	const char *text, *error;
} bad[] = {
	{&message_twist, "linear: {x: nan}", "column 13: expected " NUMBER ", found 'nan'"},
	{&message_twist, "linear: {x: -inf}", "column 13: expected " NUMBER ", found '-inf'"},
	{&message_twist, "linear: {x: infinity}", "column 13: expected " NUMBER ", found 'infinity'"},
	{&message_twist, "linear: {x: 1e999}", "column 13: expected " NUMBER ", found '1e999'"},
	{&message_twist, "linear: {x: 1.0000001e9}", "column 13: expected " NUMBER ", found '1.0000001e9'"},
	{&message_twist, "linear: {x: 0x10}", "column 13: expected " NUMBER ", found '0x10'"},
	{&message_twist, "linear: {x: 1.2.3}", "column 13: expected " NUMBER ", found '1.2.3'"},
	{&message_twist, "linear: {x: 1e}", "column 13: expected " NUMBER ", found '1e'"},
	{&message_twist, "linear: {x: +1}", "column 13: expected " NUMBER ", found '+1'"},
	{&message_twist, "linear: {x: --1}", "column 13: expected " NUMBER ", found '--1'"},
	{&message_twist, "linear: {x: f}", "column 13: expected " NUMBER ", found 'f'"},
	{&message_twist, "linear: {x: \"1\"}", "column 13: expected " NUMBER ", found '\"'"},
	{&message_twist, "linear: {x: }", "column 13: expected " NUMBER ", found '}'"},
	{&message_twist, "linear: {x:", "column 12: expected " NUMBER ", found the end"},
	{&message_twist, "linear: {x", "column 11: expected ':', found the end"},
	{&message_twist, "linear: {x 1}", "column 12: expected ':', found '1'"},
	{&message_twist, "linear: {x: 1", "column 14: expected '}', found the end"},
	{&message_twist, "linear: <x: 1", "column 14: expected '>', found the end"},
	{&message_twist, "linear: {x: 1>", "column 14: expected a field's name or the end of the message, found '>'"},
	{&message_twist, "linear: 4", "column 9: expected '{', found '4'"},
	{&message_twist, "linear.x: 4", "column 7: expected '{', found '.x'"},
	{&message_twist, "linear", "column 7: expected '{', found the end"},
	{&message_twist, "}", "column 1: expected a field's name, found '}'"},
	{&message_twist, "{linear: {x: 1}}", "column 1: expected a field's name, found '{'"},
	{&message_twist, "linear {,x: 1}", "column 9: expected a field's name or the end of the message, found ','"},
	{&message_twist, "linear {x: 1,,}", "column 14: expected a field's name or the end of the message, found ','"},
	{&message_twist, "linear {} 7", "column 11: expected a field's name, found '7'"},
	{&message_twist, "lin {x: 1}", "column 1: gz.msgs.Twist has no field 'lin': expected one of linear, angular"},
	{&message_twist, "linear {w: 1}",
		"column 9: gz.msgs.Twist has no field 'w' in linear: expected one of x, y, z"},
	{&message_twist, "linear {linear {x: 1}}",
		"column 9: gz.msgs.Twist has no field 'linear' in linear: expected one of x, y, z"},
	{&message_twist, "linear {x {y {z {}}}}", "column 11: expected ':', found '{'"},
	{&message_twist, "linear {x: {}}", "column 12: expected " NUMBER ", found '{'"},
	{&message_twist, "linear {x: [1]}", "column 12: expected " NUMBER ", found '['"},
	{&message_twist, "linear {x: 0000000000000000000000000000000000000000000000000000000000000000000001}",
		"column 12: expected " NUMBER ", found '0000000000000000000000000000000000000000...'"},
	{&message_twist, "\x01", "column 1: expected a field's name, found '?'"},
	{&message_twist, "\xc3\xa9: 1", "column 1: expected a field's name, found '?'"},
	{&message_double, "data: true", "column 7: expected " NUMBER ", found 'true'"},
	{&message_double, "value: 1", "column 1: gz.msgs.Double has no field 'value': expected one of data"},
	{&message_double, "data {1}", "column 6: expected ':', found '{'"},
	{&message_bool, "data: yes", "column 7: expected true or false, found 'yes'"},
	{&message_bool, "data: 2", "column 7: expected true or false, found '2'"},
	{&message_world_control, "multi_step: -1", "column 13: expected " COUNT ", found '-1'"},
	{&message_world_control, "multi_step: 4294967296", "column 13: expected " COUNT ", found '4294967296'"},
	{&message_world_control, "multi_step: 99999999999999999999",
		"column 13: expected " COUNT ", found '99999999999999999999'"},
	{&message_world_control, "multi_step: 1.5", "column 13: expected " COUNT ", found '1.5'"},
	{&message_world_control, "multi_step: 010", "column 13: expected " COUNT ", found '010'"},
	{&message_world_control, "reset {al: true}",
		"column 8: gz.msgs.WorldControl has no field 'al' in reset: expected one of all, time_only, "
		"model_only"},
	{&message_world_control, "sim_time: 1",
		"column 1: gz.msgs.WorldControl has no field 'sim_time': expected one of pause, step, multi_step, "
		"reset, "
		"seed"},
};

Test(message, what_is_wrong_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct troupe_error error = {0};
		struct message message, before;
		memset(&message, 0x55, sizeof message);
		before = message;
		troupe_status status = message_parse(bad[i].schema, bad[i].text, &message, &error);
		cr_assert_eq(status, TROUPE_ECOMMAND, "%s: accepted", bad[i].text);
		cr_assert_str_eq(
			error.text, bad[i].error, "%s:\n got %s\nwant %s", bad[i].text, error.text, bad[i].error);
		cr_assert(!memcmp(&message, &before, sizeof message), "%s: the message was written", bad[i].text);
	}
}

Test(message, length_is_limited)
{
	char text[MESSAGE_BYTES_MAX + 2];
	struct message message;
	struct troupe_error error;
	memset(text, ' ', sizeof text);
	memcpy(text, "data: 5", 7);
	text[MESSAGE_BYTES_MAX] = '\0';
	cr_assert_eq(message_parse(&message_double, text, &message, &error), TROUPE_OK);
	text[MESSAGE_BYTES_MAX] = ' ';
	text[MESSAGE_BYTES_MAX + 1] = '\0';
	cr_assert_eq(message_parse(&message_double, text, &message, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "column 4097: expected at most 4096 bytes, found more");
}

/* Every prefix of a good text, and every one-byte change of it, is either read or refused with a column. */
Test(message, cut_and_changed_texts_are_survived)
{
	static const char whole[] = "linear: {x: 4.0, y: 1e3} angular <z: -0.5; > # end";
	struct message message;
	for (size_t length = 0; length < sizeof whole; length++)
		for (int byte = 0; byte < 256; byte++) {
			struct troupe_error error = {0};
			char *text = strndup(whole, length);
			if (length)
				text[length - 1] = (char)byte;
			if (message_parse(&message_twist, text, &message, &error))
				cr_assert(!strncmp(error.text, "column ", 7), "'%s': %s", text, error.text);
			free(text);
		}
}
