#include "system/message.h"

#include "base/text.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(message, .timeout = 60);

static const struct good {
	const struct message_schema *schema;
	const char *text;
	uint32_t given;
	double value[9];
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
	{&message_world_control, "header {stamp {sec: -3}} run_to_sim_time {header {} sec: 4 nsec: 500000000} pause: f",
		0x181, {0, 0, 0, 0, 0, 0, 0, 4, 5e8}},
	{&message_world_control, "reset {header {stamp {nsec: -7}}} run_to_sim_time {}", 0, {0}},
	{&message_world_control, "step: true reset: {time_only: t, model_only: False}", 0x32, {0, 1, 0, 0, 1, 0, 0}},
	{&message_physics, "max_step_size: 0.002 real_time_factor: 0 gravity {z: -1.6}", 0x13, {0.002, 0, 0, 0, -1.6}},
	{&message_physics,
		"header {stamp {sec: -5 nsec: 7} data {key: \"k\" value: \"a\" value: 'b'} data {}} type: DART "
		"solver_type: "
		"\"x\" 'y' iters: -3 sor: 1 gravity {header {stamp {sec: 1}} x: 1} enable_physics: t "
		"real_time_update_rate: "
		"9",
		0x24, {0, 0, 1, 0, 0, 9}},
	{&message_physics, "header: {a <b: [1, [], {c: 'x' \"}\"}] # }\n> d [{}]}", 0, {0}},
	{&message_entity, "type: MODEL id: 7", 5, {7, 0, 2}},
	{&message_entity, "type: 9", 4, {0, 0, 9}},
	{&message_entity, "header {} type: NONE", 4, {0}},
	{&message_pose, "position {x: 1 y: 2 z: 3} orientation: {w: 1}", 0x11c, {0, 0, 1, 2, 3, 0, 0, 0, 1}},
	{&message_pose_v, "", 0, {0}},
	{&message_pose_v, "pose: []", 0, {0}},
	{&message_set_performer, "size {x: 1, y: 2, z: 3} remove: true", 0x1e, {0, 1, 2, 3, 1}},
	{&message_set_velocity, "id: 3 linear {x: 1 z: -2} angular: {y: 0.5}", 0x56, {0, 3, 1, 0, -2, 0, 0.5}},
	{&message_set_velocity, "header {} linear {}", 0, {0}},
	{&message_set_joint, "id: 3 axis: 1 position: -7.5 velocity: 0", 0x3a, {0, 3, 0, 1, -7.5, 0}},
	{&message_entity_wrench, "entity {id: 3 type: LINK} wrench {header {} force {y: 2} torque {z: -1}}", 0x115,
		{3, 0, 3, 0, 2, 0, 0, 0, -1}},
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
		cr_assert_null(message.more, "%s: there are neither texts nor items", good[i].text);
		for (uint32_t slot = 0; slot < MESSAGE_SLOTS_MAX; slot++)
			cr_assert_eq(message.value[slot], slot < 9 ? good[i].value[slot] : 0, "%s: slot %u is %g",
				good[i].text, slot, message.value[slot]);
	}
}

#define NUMBER "a number between -1e9 and 1e9"
#define COUNT "a whole number from 0 to 4294967295"
#define TEXT "a text in quotes"
#define ESCAPES "the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and no zero byte"

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
		"reset, seed, run_to_sim_time"},
	{&message_world_control, "run_to_sim_time {sec: -1}", "column 23: expected " COUNT ", found '-1'"},
	{&message_world_control, "run_to_sim_time {usec: 1}",
		"column 18: gz.msgs.WorldControl has no field 'usec' in run_to_sim_time: expected one of sec, nsec"},
	{&message_twist, "linear {\n\tx: 1\n\ty: u\n}", "column 5 of line 3: expected " NUMBER ", found 'u'"},
	{&message_twist, "header {}", "column 1: gz.msgs.Twist has no field 'header': expected one of linear, angular"},
	{&message_actuators, "position: true", "column 11: expected " NUMBER ", found 'true'"},
	{&message_actuators, "position: [1, x]", "column 15: expected " NUMBER ", found 'x'"},
	{&message_actuators, "position: [1, 2", "column 16: expected ',' or ']', found the end"},
	{&message_actuators, "position: [1 2]", "column 14: expected ',' or ']', found '2'"},
	{&message_actuators, "position: [1,]", "column 14: expected " NUMBER ", found ']'"},
	{&message_actuators, "position [1]", "column 10: expected ':', found '['"},
	{&message_actuators, "position: {x: 1}", "column 11: expected " NUMBER ", found '{'"},
	{&message_actuators, "effort: 1",
		"column 1: gz.msgs.Actuators has no field 'effort': expected one of position, velocity, normalized"},
	{&message_string_msg, "data: a", "column 7: expected " TEXT ", found 'a'"},
	{&message_string_msg, "data \"a\"", "column 6: expected ':', found '\"'"},
	{&message_string_msg, "data: {}", "column 7: expected " TEXT ", found '{'"},
	{&message_string_msg, "data: [\"a\"]", "column 7: expected " TEXT ", found '['"},
	{&message_string_msg, "data: \"a", "column 7: a text that does not end: expected \" after it"},
	{&message_string_msg, "data: 'a' \n 'b\"", "column 2 of line 2: a text that does not end: expected ' after it"},
	{&message_string_msg, "data: \"a\\", "column 9: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\q\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\x\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\x00\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\0\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\400\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\\8\"", "column 8: expected one of " ESCAPES},
	{&message_string_msg, "data: \"\xc3\"", "column 7: a text that is not UTF-8: expected one that is"},
	{&message_string_msg, "data: \"\\xed\\xa0\\x80\"", "column 7: a text that is not UTF-8: expected one that is"},
	{&message_string_msg, "data: \"\xc0\xaf\"", "column 7: a text that is not UTF-8: expected one that is"},
	{&message_string_msg, "data: \"\xf4\x90\x80\x80\"", "column 7: a text that is not UTF-8: expected one that is"},
	{&message_string_msg, "size {x: 1}", "column 1: gz.msgs.StringMsg has no field 'size': expected one of data"},
	{&message_set_performer, "data: \"m\" size: 1", "column 17: expected '{', found '1'"},
	{&message_entity, "type: ROBOT",
		"column 7: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, WORLD, "
		"or its number, found 'ROBOT'"},
	{&message_entity, "type: 10",
		"column 7: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, WORLD, "
		"or its number, found '10'"},
	{&message_entity, "type: \"MODEL\"",
		"column 7: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, WORLD, "
		"or its number, found '\"'"},
	{&message_entity, "id: 4294967296", "column 5: expected " COUNT ", found '4294967296'"},
	{&message_entity, "header: {a 1}", "column 12: expected ':', found '1'"},
	{&message_entity, "header: {a: }", "column 13: expected a value, found '}'"},
	{&message_entity, "header: {a: [1 2]}", "column 16: expected ',' or ']', found '2'"},
	{&message_entity, "header: {a: [1,]}", "column 16: expected a value, found ']'"},
	{&message_entity, "header: {a: [", "column 14: expected a value, found the end"},
	{&message_entity, "header: {a: 'x}", "column 13: a text that does not end: expected ' after it"},
	{&message_entity, "header: {", "column 10: expected a field's name or the end of the message, found the end"},
	{&message_entity, "header", "column 7: expected '{', found the end"},
	{&message_entity, "header: {a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{}}}}}}}}}}}}}}}}}",
		"column 41: nested too deeply: expected at most 16 levels"},
	{&message_entity_factory, "pose {yaw: 1}",
		"column 7: gz.msgs.EntityFactory has no field 'yaw' in pose: expected one of position, orientation, "
		"name, id"},
	{&message_entity_factory, "spherical_coordinates {}",
		"column 1: gz.msgs.EntityFactory has no field 'spherical_coordinates': expected one of sdf, "
		"sdf_filename, clone_name, name, allow_renaming, relative_to, pose"},
	{&message_entity_factory_v, "data {name: \"a\"} data {nam: \"b\"}",
		"column 24: gz.msgs.EntityFactory has no field 'nam': expected one of sdf, sdf_filename, clone_name, "
		"name, allow_renaming, relative_to, pose"},
	{&message_entity_factory_v, "name: \"a\"",
		"column 1: gz.msgs.EntityFactory_V has no field 'name': expected one of data"},
	{&message_pose_v, "pose", "column 5: expected '{', found the end"},
	{&message_pose_v, "pose: 1", "column 7: expected '{', found '1'"},
	{&message_pose_v, "pose {name: \"a\"", "column 16: expected '}', found the end"},
	{&message_pose_v, "pose: [{name: \"a\"} {}]", "column 20: expected ',' or ']', found '{'"},
	{&message_pose_v, "pose: [{name: \"a\"},]", "column 20: expected '{', found ']'"},
	{&message_pose_v, "pose: [{name: \"a\"}, [{}]]", "column 21: expected '{', found '['"},
	{&message_pose_v, "pose {pose {}}",
		"column 7: gz.msgs.Pose has no field 'pose': expected one of name, id, position, orientation"},
	{&message_pose, "position [{x: 1}]", "column 10: expected '{', found '['"},
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

/* Every prefix of a valid text, and every one-byte change of it, is either accepted or refused with a column. */
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

static struct message must_parse(const struct message_schema *schema, const char *text)
{
	struct troupe_error error = {0};
	struct message message = {0};
	cr_assert_eq(message_parse(schema, text, &message, &error), TROUPE_OK, "%.200s: %s", text, error.text);
	return message;
}

static const struct {
	const char *text, *data;
} texts[] = {
	{"", ""},
	{"data: \"\"", ""},
	{"data: ''", ""},
	{"data: \"vehicle blue\"", "vehicle blue"},
	{"data:'a\"b'", "a\"b"},
	{"data: \"a'b\"", "a'b"},
	{"data: \"<a b=\\\"c\\\"/>\"", "<a b=\"c\"/>"},
	{"data: \"\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?\"", "\a\b\f\n\r\t\v\\'\"?"},
	{"data: \"\\x41\\x4a\\x4B\\101\\1011\\7z\\x9z\"", "AJKAA1\7z\tz"},
	{"data: \"\\x0414\\x414\"", "\00414A4"}, /* two digits at most */
	{"data: \"\\303\\xa9 \xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x96\"",
		"\xc3\xa9 \xc3\xa9 \xe2\x82\xac \xf0\x9f\xa4\x96"},
	{"data: \"one \" 'two' # and\n\t\"\" \"three\"", "one twothree"},
	{"data: \"over\ntwo lines\"", "over\ntwo lines"},
	{"data: \"# { no comment\"", "# { no comment"},
	{"data: \"first\"; data: 'last',", "last"},
};

Test(message, texts_are_read_with_their_escapes)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct message message = must_parse(&message_string_msg, texts[i].text);
		cr_assert_eq(message.given, i > 0, "%s", texts[i].text);
		cr_assert_eq(message.value[0], 0);
		cr_assert_str_eq(message_string(&message, MESSAGE_STRING_DATA), texts[i].data, "%s: read as '%s'",
			texts[i].text, message_string(&message, MESSAGE_STRING_DATA));
		message_fini(&message);
		cr_assert_null(message.more);
	}
}

Test(message, an_entity_factory_keeps_its_texts_apart)
{
	struct message message = must_parse(&message_entity_factory,
		"header {stamp {sec: 3}} name: \"n\" sdf: \"<sdf/>\" allow_renaming: true relative_to: 'base' "
		"pose {name: \"dropped\" id: 5 position {z: 2} orientation {z: 2}}");
	cr_assert_str_eq(message_string(&message, MESSAGE_FACTORY_SDF), "<sdf/>");
	cr_assert_str_eq(message_string(&message, MESSAGE_FACTORY_SDF_FILENAME), "");
	cr_assert_str_eq(message_string(&message, MESSAGE_FACTORY_NAME), "n");
	cr_assert_str_eq(message_string(&message, MESSAGE_FACTORY_RELATIVE_TO), "base");
	cr_assert(message.value[MESSAGE_FACTORY_ALLOW_RENAMING] == 1);
	cr_assert(message_given(&message, MESSAGE_FACTORY_SDF));
	cr_assert(!message_given(&message, MESSAGE_FACTORY_CLONE_NAME));
	cr_assert_eq(message_item_count(&message), 0);
	struct pose pose;
	cr_assert_eq(message_pose_of(&message, MESSAGE_FACTORY_POSE, &pose, NULL), TROUPE_OK);
	cr_assert(pose.p.x == 0 && pose.p.z == 2 && pose.q.z == 1 && pose.q.w == 0);
	cr_assert_geq(message_more_bytes(&message), 6 + 1 + 4);
	message_fini(&message);
}

static const struct {
	const char *text;
	uint32_t given, counts[3];
	double numbers[6]; /* slot by slot */
} lists[] = {
	{"", 0, {0}, {0}},
	{"position: []", 1, {0}, {0}},
	{"position: 1.5", 1, {1}, {1.5}},
	{"position: [1, -2.5, 3e2]", 1, {3}, {1, -2.5, 300}},
	{"position: 1 position: 2; position: [3], velocity: 4", 3, {3, 1}, {1, 2, 3, 4}},
	{"velocity: 4 position: 1 normalized: [5,6] velocity: [7] position: 2", 7, {2, 2, 2}, {1, 2, 4, 7, 5, 6}},
	{"header {stamp {sec: 1}} velocity: [ # wheels\n 1 ,\n2 ]", 2, {0, 2}, {1, 2}},
};

Test(message, numbers_come_in_lists)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		struct message message = must_parse(&message_actuators, lists[i].text);
		uint32_t at = 0;
		cr_assert_eq(message.given, lists[i].given, "%s: given %x", lists[i].text, message.given);
		for (uint32_t slot = 0; slot < 3; slot++) {
			cr_assert_eq(message.value[slot], lists[i].counts[slot], "%s: %g", lists[i].text,
				message.value[slot]);
			for (uint32_t n = 0; n < lists[i].counts[slot]; n++, at++)
				cr_assert_eq(
					message_numbers(&message, slot)[n], lists[i].numbers[at], "%s", lists[i].text);
		}
		cr_assert_eq(message_more_bytes(&message) > 0, at > 0);
		struct text bytes = {0};
		struct message again;
		message_pack(&message_actuators, &message, &bytes);
		struct unpack in = {bytes.at, bytes.at + bytes.count, false};
		cr_assert(message_unpack(&message_actuators, &in, &again) && in.at == in.end, "%s", lists[i].text);
		cr_assert_eq(again.given, message.given, "%s", lists[i].text);
		for (uint32_t slot = 0; slot < 3; slot++) {
			cr_assert_eq(again.value[slot], message.value[slot], "%s", lists[i].text);
			for (uint32_t n = 0; n < lists[i].counts[slot]; n++)
				cr_assert_eq(message_numbers(&again, slot)[n], message_numbers(&message, slot)[n],
					"%s: packed", lists[i].text);
		}
		message_fini(&again);
		text_fini(&bytes);
		message_fini(&message);
		cr_assert_null(message.more);
	}
}

static const char *const poses[] = {
	"pose {name: \"a\" position {x: 1}} pose {} pose: <id: 3 name: 'c'>",
	"pose: [{name: \"a\", position {x: 1}}, {}, <id: 3 name: 'c'>]",
	"header {} pose: {name: \"a\" position {x: 1}}, pose [{}], pose: [] pose [ {id: 3 name: 'c'} ];",
};

Test(message, items_come_in_the_order_of_the_text)
{
	for (size_t i = 0; i < ARRAY_LEN(poses); i++) {
		struct message whole = must_parse(&message_pose_v, poses[i]);
		cr_assert_eq(message_item_count(&whole), 3, "%s", poses[i]);
		const struct message *a = message_item(&whole, 0), *b = message_item(&whole, 1),
				     *c = message_item(&whole, 2);
		cr_assert_str_eq(message_string(a, MESSAGE_POSE_NAME), "a");
		cr_assert(a->value[MESSAGE_POSE_POSE] == 1);
		cr_assert_eq(b->given, 0);
		cr_assert_str_eq(message_string(b, MESSAGE_POSE_NAME), "");
		cr_assert_str_eq(message_string(c, MESSAGE_POSE_NAME), "c");
		cr_assert(c->value[MESSAGE_POSE_ID] == 3);
		message_fini(&whole);
	}
	struct message whole = must_parse(&message_entity_factory_v,
		"data: {sdf: \"<a/>\" pose {position {x: 1}}} data: {name: \"b\" pose {orientation {w: 1}}}");
	cr_assert_eq(message_item_count(&whole), 2);
	cr_assert_str_eq(message_string(message_item(&whole, 0), MESSAGE_FACTORY_SDF), "<a/>");
	cr_assert_str_eq(message_string(message_item(&whole, 0), MESSAGE_FACTORY_NAME), "");
	cr_assert_str_eq(message_string(message_item(&whole, 1), MESSAGE_FACTORY_NAME), "b");
	message_fini(&whole);
}

static const struct {
	const char *text;
	struct quat q;
	bool bad;
} orientations[] = {
	{"", {1, 0, 0, 0}, false},
	{"orientation {}", {1, 0, 0, 0}, false},
	{"orientation {w: -2}", {-1, 0, 0, 0}, false},
	{"orientation {x: 3 w: 4}", {0.8, 0.6, 0, 0}, false},
	{"orientation {y: 1e9}", {0, 0, 1, 0}, false},
	{"orientation {z: 1e-5}", {0, 0, 0, 1}, false},
	{"orientation {x: 0 y: 0 z: 0 w: 0}", {0, 0, 0, 0}, true},
	{"orientation {w: 0}", {0, 0, 0, 0}, true},
	{"orientation {w: 1e-7}", {0, 0, 0, 0}, true},
	{"orientation {w: 1e-300}", {0, 0, 0, 0}, true},
};

Test(message, orientations_are_normalised_or_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(orientations); i++) {
		struct troupe_error error = {0};
		struct message message = must_parse(&message_pose, orientations[i].text);
		struct pose pose = {{7, 7, 7}, {7, 7, 7, 7}};
		troupe_status status = message_pose_of(&message, MESSAGE_POSE_POSE, &pose, &error);
		cr_assert_eq(status, orientations[i].bad ? TROUPE_ECOMMAND : TROUPE_OK, "%s", orientations[i].text);
		struct quat q = orientations[i].q;
		if (orientations[i].bad)
			cr_assert(pose.p.x == 7 && !strncmp(error.text, "orientation", 11), "%s", error.text);
		else
			cr_assert(fabs(pose.q.w - q.w) + fabs(pose.q.x - q.x) + fabs(pose.q.y - q.y) +
						  fabs(pose.q.z - q.z) <
					  1e-15,
				"%s: %g %g %g %g", orientations[i].text, pose.q.w, pose.q.x, pose.q.y, pose.q.z);
	}
	struct message message = {.value[MESSAGE_POSE_POSE + 4] = INFINITY, .given = ~0u};
	struct pose pose;
	cr_assert_eq(message_pose_of(&message, MESSAGE_POSE_POSE, &pose, NULL), TROUPE_ECOMMAND);
	message.value[MESSAGE_POSE_POSE + 4] = NAN;
	cr_assert_eq(message_pose_of(&message, MESSAGE_POSE_POSE, &pose, NULL), TROUPE_ECOMMAND);
	message = (struct message){.value[MESSAGE_POSE_POSE] = NAN};
	cr_assert_eq(message_pose_of(&message, MESSAGE_POSE_POSE, &pose, NULL), TROUPE_ECOMMAND);
}

/* As long and as many as there may be; one more of either is refused. The time limit says that it is linear: each byte
 * of the long text is an escape or a quote, and each item has a text of its own. */
Test(message, long_messages_are_read_in_time_and_limited)
{
	struct troupe_error error;
	struct message message;
	struct text text = {0};
	text_add(&text, "sdf: ");
	while (text.count < MESSAGE_LONG_BYTES_MAX - 8)
		text_add_bytes(&text, "'\\x41' ", 7);
	while (text.count < MESSAGE_LONG_BYTES_MAX)
		text_add_bytes(&text, " ", 1);
	message = must_parse(&message_entity_factory, text.at);
	cr_assert_eq(strlen(message_string(&message, MESSAGE_FACTORY_SDF)), (MESSAGE_LONG_BYTES_MAX - 5) / 7);
	message_fini(&message);
	text_add_bytes(&text, " ", 1);
	cr_assert_eq(message_parse(&message_entity_factory, text.at, &message, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "column 16777217: expected at most 16777216 bytes, found more");
	text_fini(&text);

	for (int i = 0; i < MESSAGE_ITEMS_MAX; i++)
		text_add(&text, "pose {name: 'm%d' position {x: %d}}\n", i, i);
	message = must_parse(&message_pose_v, text.at);
	cr_assert_eq(message_item_count(&message), MESSAGE_ITEMS_MAX);
	cr_assert_str_eq(message_string(message_item(&message, 99999), MESSAGE_POSE_NAME), "m99999");
	message_fini(&message);
	text_add(&text, "pose {}");
	cr_assert_eq(message_parse(&message_pose_v, text.at, &message, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "column 6 of line 100001: one more than 100000: expected at most so many", "%s",
		error.text);
	text_fini(&text);
}
