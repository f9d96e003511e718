/* The three forms of messages: which texts and bytes are read, which are refused and with which message, and that each
 * form gives back the message that another form made, for random messages of every type. */
#include "../topic/random_message.h"
#include "base/text.h"
#include "topic/convert.h"
#include "topic/message.h"
#include "topic/world.pb-c.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <jansson.h>

TestSuite(types, .timeout = 60);

static const struct message_limits any_number = {.bytes_max = 16 << 20, .items_max = 100000};

static ProtobufCMessage *must_read(const char *type, const char *text)
{
	struct troupe_error error = {0};
	ProtobufCMessage *message = NULL;
	cr_assert_eq(message_of_text(type_find(type), text, &message_limits_usual, &message, &error), TROUPE_OK,
		"%.200s: %s", text, error.text);
	return message;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

Test(types, are_found_by_any_of_their_names)
{
	static const char *const names[] = {
		"gz.msgs.Twist", ".gz.msgs.Twist", "ignition.msgs.Twist", ".ignition.msgs.Twist", "Twist"};
	static const char *const none[] = {"", ".", "gz.msgs.", "gz.msgs.Twis", "gz.msgs.Twist ", "gz.msgs.twist",
		"troupe.msgs.Twist", "ignition.msgs.gz.msgs.Twist", "msgs.Twist", "gz.Twist", "SetJoint"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		cr_assert_eq(type_find(names[i]), &gz__msgs__twist__descriptor, "%s", names[i]);
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		cr_assert_null(type_find(none[i]), "'%s'", none[i]);
	cr_assert_not_null(type_find("troupe.msgs.SetJoint"));
	char *lengthy = mem_printf("%0500d", 1);
	cr_assert_null(type_find(lengthy));
	free(lengthy);
	cr_assert_gt(type_count(), 100);
	for (uint32_t i = 0; i < type_count(); i++)
		cr_assert_eq(type_find(type_at(i)->name), type_at(i), "%s", type_at(i)->name);
}

/* --- text --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type, *text, *print;
} good[] = {
	{"Twist", "", ""},
	{"Twist", " \t\n ", ""},
	{"Twist", "linear: {x: 4.0} angular {z: -0.5}", "linear {x: 4} angular {z: -0.5}"},
	{"Twist", "linear: {x: 4.0}, angular: {z: -0.5}", "linear {x: 4} angular {z: -0.5}"},
	{"Twist", "linear{x:1;y:2;z:3;};angular{x:4,y:5,z:6,},", "linear {x: 1 y: 2 z: 3} angular {x: 4 y: 5 z: 6}"},
	{"Twist", "linear < x: 1 y: 2 > angular: <z:3>", "linear {x: 1 y: 2} angular {z: 3}"},
	{"Twist", "linear\n{\n\tx\n:\n1\n}\n", "linear {x: 1}"},
	{"Twist", "# forward\nlinear { x: 1 # m/s }\n}#", "linear {x: 1}"},
	{"Twist", "linear {}", "linear {}"},
	{"Twist", "linear {x: 1} linear {y: 2}", "linear {x: 1 y: 2}"},
	{"Twist", "linear {x: 1 x: 2}", "linear {x: 2}"},
	{"Twist", "linear {x: 0}", "linear {}"},
	{"Twist", "linear {x: 1e9 y: -1e9 z: .5} angular {x: 2. y: 1.5f z: 25E-2}",
		"linear {x: 1000000000 y: -1000000000 z: 0.5} angular {x: 2 y: 1.5 z: 0.25}"},
	{"Twist", "linear {x: 1e-999}", "linear {}"},
	{"Double", "data: -3.25", "data: -3.25"},
	{"Double", "data:7;", "data: 7"},
	{"Double", "data: 2.5F", "data: 2.5"},
	{"Boolean", "data: true", "data: true"},
	{"Boolean", "data: f", ""},
	{"Boolean", "data: 1", "data: true"},
	{"WorldControl", "pause: true", "pause: true"},
	{"WorldControl", "multi_step: 4294967295, pause: True", "pause: true multi_step: 4294967295"},
	{"WorldControl", "reset { all: true } seed: 0", "reset {all: true}"},
	{"WorldControl", "reset {header {stamp {nsec: -7}}} run_to_sim_time {}",
		"reset {header {stamp {nsec: -7}}} run_to_sim_time {}"},
	{"WorldControl", "step: true reset: {time_only: t, model_only: False}", "step: true reset {time_only: true}"},
	{"Physics", "max_step_size: 0.002 real_time_factor: 0 gravity {z: -1.6}",
		"gravity {z: -1.6} real_time_factor: 0 max_step_size: 0.002"},
	{"Physics",
		"header {stamp {sec: -5 nsec: 7} data {key: \"k\" value: \"a\" value: 'b'} data {}} type: DART "
		"solver_type: \"x\" 'y' iters: -3 sor: 1 gravity {header {stamp {sec: 1}} x: 1} enable_physics: t "
		"real_time_update_rate: 9",
		"header {stamp {sec: -5 nsec: 7} data {key: \"k\" value: [\"a\", \"b\"]} data {}} type: DART "
		"solver_type: \"xy\" iters: -3 sor: 1 gravity {header {stamp {sec: 1}} x: 1} enable_physics: true "
		"real_time_update_rate: 9"},
	{"Entity", "type: MODEL id: 7", "id: 7 type: MODEL"},
	{"Entity", "type: 9", "type: WORLD"},
	{"Entity", "header {} type: NONE", "header {}"},
	{"Pose", "position {x: 1 y: 2 z: 3} orientation: {w: 1}", "position {x: 1 y: 2 z: 3} orientation {w: 1}"},
	{"Pose_V", "", ""},
	{"Pose_V", "pose: []", ""},
	{"troupe.msgs.SetPerformer", "size {x: 1, y: 2, z: 3} remove: true", "size {x: 1 y: 2 z: 3} remove: true"},
	{"troupe.msgs.SetLight", "name: 'l' type: SPOT intensity: 0", "name: \"l\" type: SPOT intensity: 0"},
	{"troupe.msgs.SetVelocity", "id: 3 linear {x: 1 z: -2} angular: {y: 0.5}",
		"id: 3 linear {x: 1 z: -2} angular {y: 0.5}"},
	{"troupe.msgs.SetVelocity", "header {} linear {}", "header {} linear {}"},
	{"troupe.msgs.SetVelocity", "angular {} pose {position {x: 1}}", "angular {} pose {position {x: 1}}"},
	{"troupe.msgs.SetJoint", "id: 3 axis: 1 position: -7.5 velocity: 0",
		"id: 3 axis: 1 position: -7.5 velocity: 0"},
	{"EntityWrench", "entity {id: 3 type: LINK} wrench {header {} force {y: 2} torque {z: -1}}",
		"entity {id: 3 type: LINK} wrench {header {} force {y: 2} torque {z: -1}}"},
	{"WorldControl", "run_to_sim_time {sec: -1}", "run_to_sim_time {sec: -1}"},
	{"Twist", "header {}", "header {}"},
	{"Entity", "id: 4294967296", "id: 4294967296"},
	{"EntityFactory", "spherical_coordinates {}", "spherical_coordinates {}"},
	{"EntityFactory", "sdf: \"a\" sdf: 'b'", "sdf: \"b\""},
	{"EntityFactory", "sdf: \"\"", "sdf: \"\""},
	{"WorldControl", "pause: false", "pause: false"},
	{"Time", "sec: -9223372036854775808 nsec: -2147483648", "sec: -9223372036854775808 nsec: -2147483648"},
	{"Light", "range: 0.1 intensity: 16777217 type: SPOT", "type: SPOT range: 0.1 intensity: 16777216"},
	{"Bytes", "data: \"\\000\\377a\\xfe\" 'b'", "data: \"\\000\\377a\\376b\""},
	{"Double_V", "data: 1 data: [2, 3] data: []", "data: [1, 2, 3]"},
	{"StringMsg_V", "data: [\"a\", 'b' \"c\"] data: \"\"", "data: [\"a\", \"bc\", \"\"]"},
	{"PointCloudPacked", "field [{name: 'x' datatype: FLOAT32}, {datatype: 7}]",
		"field {name: \"x\" datatype: FLOAT32} field {datatype: FLOAT64}"},
	{"Image", "pixel_format_type: RGB_INT8", "pixel_format_type: RGB_INT8"},
	{"Twist", "header {stamp {sec: 3}} linear {header {} x: -0.0}", "header {stamp {sec: 3}} linear {header {}}"},
	{"Geometry", "type: SPHERE, sphere {radius: 1;}", "type: SPHERE sphere {radius: 1}"},
};

Test(types, every_syntax_is_read)
{
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct text print = {0};
		ProtobufCMessage *message = must_read(good[i].type, good[i].text);
		message_add_text(&print, message, MESSAGE_LINE);
		cr_assert_str_eq(print.at, good[i].print, "%s: printed as %s", good[i].text, print.at);
		message_free(message);
		text_fini(&print);
	}
}

static const struct {
	const char *type, *text, *error;
} bad[] = {
	{"WorldControl", "header {stamp {sec: -3}} run_to_sim_time {header {} sec: 4 nsec: 500000000} pause: f",
		"column 43: gz.msgs.WorldControl has no field 'header' in run_to_sim_time: expected one of sec, nsec"},
	{"Physics", "header: {a <b: [1, [], {c: 'x' \"}\"}] # }\n> d [{}]}",
		"column 10: gz.msgs.Physics has no field 'a' in header: expected one of stamp, data"},
	{"Twist", "linear: {x: nan}", "column 13: linear.x: expected a number between -1e9 and 1e9, found 'nan'"},
	{"Twist", "linear: {x: -inf}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '-inf'"},
	{"Twist", "linear: {x: infinity}",
		"column 13: linear.x: expected a number between -1e9 and 1e9, found 'infinity'"},
	{"Twist", "linear: {x: 1e999}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '1e999'"},
	{"Twist", "linear: {x: 1.0000001e9}",
		"column 13: linear.x: expected a number between -1e9 and 1e9, found '1.0000001e9'"},
	{"Twist", "linear: {x: 0x10}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '0x10'"},
	{"Twist", "linear: {x: 1.2.3}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '1.2.3'"},
	{"Twist", "linear: {x: 1e}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '1e'"},
	{"Twist", "linear: {x: +1}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '+1'"},
	{"Twist", "linear: {x: --1}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '--1'"},
	{"Twist", "linear: {x: f}", "column 13: linear.x: expected a number between -1e9 and 1e9, found 'f'"},
	{"Twist", "linear: {x: \"1\"}", "column 13: linear.x: expected a number between -1e9 and 1e9, found '\"'"},
	{"Twist", "linear: {x: }", "column 13: linear.x: expected a number between -1e9 and 1e9, found '}'"},
	{"Twist", "linear: {x:", "column 12: linear.x: expected a number between -1e9 and 1e9, found the end"},
	{"Twist", "linear: {x", "column 11: expected ':', found the end"},
	{"Twist", "linear: {x 1}", "column 12: expected ':', found '1'"},
	{"Twist", "linear: {x: 1", "column 14: expected '}', found the end"},
	{"Twist", "linear: <x: 1", "column 14: expected '>', found the end"},
	{"Twist", "linear: {x: 1>", "column 14: expected a field's name or the end of the message, found '>'"},
	{"Twist", "linear: 4", "column 9: linear: expected '{', found '4'"},
	{"Twist", "linear.x: 4", "column 7: expected '{', found '.x'"},
	{"Twist", "linear", "column 7: expected '{', found the end"},
	{"Twist", "}", "column 1: expected a field's name, found '}'"},
	{"Twist", "{linear: {x: 1}}", "column 1: expected a field's name, found '{'"},
	{"Twist", "linear {,x: 1}", "column 9: expected a field's name or the end of the message, found ','"},
	{"Twist", "linear {x: 1,,}", "column 14: expected a field's name or the end of the message, found ','"},
	{"Twist", "linear {} 7", "column 11: expected a field's name, found '7'"},
	{"Twist", "lin {x: 1}", "column 1: gz.msgs.Twist has no field 'lin': expected one of linear, angular"},
	{"Twist", "linear {w: 1}", "column 9: gz.msgs.Twist has no field 'w' in linear: expected one of x, y, z"},
	{"Twist", "linear {linear {x: 1}}",
		"column 9: gz.msgs.Twist has no field 'linear' in linear: expected one of x, y, z"},
	{"Twist", "linear {x {y {z {}}}}", "column 11: expected ':', found '{'"},
	{"Twist", "linear {x: {}}", "column 12: linear.x: expected a number between -1e9 and 1e9, found '{'"},
	{"Twist", "linear {x: [1]}", "column 12: linear.x: expected a number between -1e9 and 1e9, found '['"},
	{"Twist", "linear {x: 0000000000000000000000000000000000000000000000000000000000000000000001}",
		"column 12: linear.x: expected a number between -1e9 and 1e9, found "
		"'0000000000000000000000000000000000000000...'"},
	{"Twist", "\x01", "column 1: expected a field's name, found '\\x01'"},
	{"Twist", "\xc3\xa9: 1", "column 1: expected a field's name, found '?'"},
	{"Double", "data: true", "column 7: data: expected a number between -1e9 and 1e9, found 'true'"},
	{"Double", "value: 1", "column 1: gz.msgs.Double has no field 'value': expected one of data"},
	{"Double", "data {1}", "column 6: expected ':', found '{'"},
	{"Boolean", "data: yes", "column 7: data: expected true or false, found 'yes'"},
	{"Boolean", "data: 2", "column 7: data: expected true or false, found '2'"},
	{"WorldControl", "multi_step: -1",
		"column 13: multi_step: expected a whole number from 0 to 4294967295, found '-1'"},
	{"WorldControl", "multi_step: 4294967296",
		"column 13: multi_step: expected a whole number from 0 to 4294967295, found '4294967296'"},
	{"WorldControl", "multi_step: 99999999999999999999",
		"column 13: multi_step: expected a whole number from 0 to 4294967295, found '99999999999999999999'"},
	{"WorldControl", "multi_step: 1.5",
		"column 13: multi_step: expected a whole number from 0 to 4294967295, found '1.5'"},
	{"WorldControl", "multi_step: 010",
		"column 13: multi_step: expected a whole number from 0 to 4294967295, found '010'"},
	{"WorldControl", "reset {al: true}",
		"column 8: gz.msgs.WorldControl has no field 'al' in reset: expected one of all, time_only, "
		"model_only"},
	{"WorldControl", "sim_time: 1",
		"column 1: gz.msgs.WorldControl has no field 'sim_time': expected one of pause, step, multi_step, "
		"reset, seed, run_to_sim_time"},
	{"WorldControl", "run_to_sim_time {usec: 1}",
		"column 18: gz.msgs.WorldControl has no field 'usec' in run_to_sim_time: expected one of sec, nsec"},
	{"Twist", "linear {\n\tx: 1\n\ty: u\n}",
		"column 5 of line 3: linear.y: expected a number between -1e9 and 1e9, found 'u'"},
	{"Actuators", "position: true", "column 11: position: expected a number between -1e9 and 1e9, found 'true'"},
	{"Actuators", "position: [1, x]", "column 15: position: expected a number between -1e9 and 1e9, found 'x'"},
	{"Actuators", "position: [1, 2", "column 16: expected ',' or ']', found the end"},
	{"Actuators", "position: [1 2]", "column 14: expected ',' or ']', found '2'"},
	{"Actuators", "position: [1,]", "column 14: position: expected a number between -1e9 and 1e9, found ']'"},
	{"Actuators", "position [1]", "column 10: expected ':', found '['"},
	{"Actuators", "position: {x: 1}", "column 11: position: expected a number between -1e9 and 1e9, found '{'"},
	{"Actuators", "effort: 1",
		"column 1: gz.msgs.Actuators has no field 'effort': expected one of position, velocity, normalized"},
	{"StringMsg", "data: a", "column 7: data: expected a text in quotes, found 'a'"},
	{"StringMsg", "data \"a\"", "column 6: expected ':', found '\"'"},
	{"StringMsg", "data: {}", "column 7: data: expected a text in quotes, found '{'"},
	{"StringMsg", "data: [\"a\"]", "column 7: data: expected a text in quotes, found '['"},
	{"StringMsg", "data: \"a", "column 7: a text that does not end: expected \" after it"},
	{"StringMsg", "data: 'a' \n 'b\"", "column 2 of line 2: a text that does not end: expected ' after it"},
	{"StringMsg", "data: \"a\\",
		"column 9: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\q\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\x\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\x00\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\0\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\400\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\\8\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH, and "
		"no zero byte"},
	{"StringMsg", "data: \"\xc3\"", "column 7: a text that is not UTF-8: expected one that is"},
	{"StringMsg", "data: \"\\xed\\xa0\\x80\"", "column 7: a text that is not UTF-8: expected one that is"},
	{"StringMsg", "data: \"\xc0\xaf\"", "column 7: a text that is not UTF-8: expected one that is"},
	{"StringMsg", "data: \"\xf4\x90\x80\x80\"", "column 7: a text that is not UTF-8: expected one that is"},
	{"StringMsg", "size {x: 1}", "column 1: gz.msgs.StringMsg has no field 'size': expected one of data"},
	{"troupe.msgs.SetPerformer", "data: \"m\" size: 1", "column 17: size: expected '{', found '1'"},
	{"Entity", "type: ROBOT",
		"column 7: type: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, "
		"WORLD, or its number, found 'ROBOT'"},
	{"Entity", "type: 10",
		"column 7: type: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, "
		"WORLD, or its number, found '10'"},
	{"Entity", "type: \"MODEL\"",
		"column 7: type: expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, "
		"WORLD, or its number, found '\"'"},
	{"Entity", "header: {a 1}",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {a: }",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {a: [1 2]}",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {a: [1,]}",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {a: [",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {a: 'x}",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"Entity", "header: {", "column 10: expected '}', found the end"},
	{"Entity", "header", "column 7: expected '{', found the end"},
	{"Entity", "header: {a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{a{}}}}}}}}}}}}}}}}}",
		"column 10: gz.msgs.Entity has no field 'a' in header: expected one of stamp, data"},
	{"EntityFactory", "pose {yaw: 1}",
		"column 7: gz.msgs.EntityFactory has no field 'yaw' in pose: expected one of name, id, position, "
		"orientation"},
	{"EntityFactory_V", "data {name: \"a\"} data {nam: \"b\"}",
		"column 24: gz.msgs.EntityFactory_V has no field 'nam' in data: expected one of sdf, sdf_filename, "
		"model, light, clone_name, pose, name, allow_renaming, relative_to, spherical_coordinates"},
	{"EntityFactory_V", "name: \"a\"",
		"column 1: gz.msgs.EntityFactory_V has no field 'name': expected one of data"},
	{"Pose_V", "pose", "column 5: expected '{', found the end"},
	{"Pose_V", "pose: 1", "column 7: pose: expected '{', found '1'"},
	{"Pose_V", "pose {name: \"a\"", "column 16: expected '}', found the end"},
	{"Pose_V", "pose: [{name: \"a\"} {}]", "column 20: expected ',' or ']', found '{'"},
	{"Pose_V", "pose: [{name: \"a\"},]", "column 20: pose: expected '{', found ']'"},
	{"Pose_V", "pose: [{name: \"a\"}, [{}]]", "column 21: pose: expected '{', found '['"},
	{"Pose_V", "pose {pose {}}",
		"column 7: gz.msgs.Pose_V has no field 'pose' in pose: expected one of name, id, position, "
		"orientation"},
	{"Pose", "position [{x: 1}]", "column 10: expected '{', found '['"},
	{"EntityFactory", "sdf: \"<sdf/>\" sdf_filename: \"x\"",
		"column 15: sdf_filename beside sdf: expected only one of the two"},
	{"Entity", "id: 18446744073709551616",
		"column 5: id: expected a whole number from 0 to 18446744073709551615, found '18446744073709551616'"},
	{"Entity", "id: -1", "column 5: id: expected a whole number from 0 to 18446744073709551615, found '-1'"},
	{"Time", "nsec: 2147483648",
		"column 7: nsec: expected a whole number from -2147483648 to 2147483647, found '2147483648'"},
	{"Light", "range: 1e39", "column 8: range: expected a number between -1e9 and 1e9, found '1e39'"},
	{"Bytes", "data: \"\\q\"",
		"column 8: expected one of the escapes \\a \\b \\f \\n \\r \\t \\v \\\\ \\' \\\" \\? \\ooo \\xHH"},
	{"Empty", "x: 1", "column 1: gz.msgs.Empty has no field 'x': expected one of unused"},
};

Test(types, what_is_wrong_is_named_with_its_place)
{
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct troupe_error error = {0};
		ProtobufCMessage *message = NULL;
		troupe_status status =
			message_of_text(type_find(bad[i].type), bad[i].text, &message_limits_usual, &message, &error);
		cr_assert_eq(status, TROUPE_ECOMMAND, "%s: accepted", bad[i].text);
		cr_assert_str_eq(
			error.text, bad[i].error, "%s:\n got %s\nwant %s", bad[i].text, error.text, bad[i].error);
		cr_assert_null(message);
	}
}

/* Every prefix of a good text, and every text with one byte changed, is either read or refused with a column. */
Test(types, cut_and_changed_texts_are_survived)
{
	static const char whole[] = "linear: {x: 4.0, y: 1e3} angular <z: -0.5; > # end";
	for (size_t length = 0; length < sizeof whole; length++)
		for (int byte = 0; byte < 256; byte++) {
			struct troupe_error error = {0};
			ProtobufCMessage *message = NULL;
			char *text = strndup(whole, length);
			if (length)
				text[length - 1] = (char)byte;
			if (message_of_text(
				    &gz__msgs__twist__descriptor, text, &message_limits_usual, &message, &error))
				cr_assert(!strncmp(error.text, "column ", 7), "'%s': %s", text, error.text);
			message_free(message);
			free(text);
		}
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

Test(types, strings_are_read_with_their_escapes)
{
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		ProtobufCMessage *message = must_read("StringMsg", texts[i].text);
		const Gz__Msgs__StringMsg *string = (const Gz__Msgs__StringMsg *)message;
		cr_assert_str_eq(string->data, texts[i].data, "%s: read as '%s'", texts[i].text, string->data);
		message_free(message);
	}
}

Test(types, a_oneof_tells_what_was_given)
{
	static const struct {
		const char *text;
		bool given, pause;
	} controls[] = {{"", false, false}, {"step: true", false, false}, {"pause: false", true, false},
		{"pause: true", true, true}, {"pause: true pause: false", true, false}};
	for (size_t i = 0; i < ARRAY_LEN(controls); i++) {
		ProtobufCMessage *message = must_read("WorldControl", controls[i].text), *again = NULL;
		struct text bytes = {0};
		message_add_bytes(&bytes, message);
		cr_assert_eq(message_of_bytes(
				     message->descriptor, bytes.at, bytes.count, &message_limits_usual, &again, NULL),
			TROUPE_OK);
		for (int k = 0; k < 2; k++) {
			const Gz__Msgs__WorldControl *control = (const void *)(k ? again : message);
			cr_assert_eq(control->pause_given_case != 0, controls[i].given, "%s", controls[i].text);
			cr_assert_eq(control->pause, controls[i].pause, "%s", controls[i].text);
		}
		message_free(message);
		message_free(again);
		text_fini(&bytes);
	}
}

/* A text of the greatest length and a message with the greatest number of items are read; one byte or one item more is
 * refused. The time limit shows that the time is linear: each byte of the long text is an escape or a quote, and each
 * item has a string of its own. */
Test(types, long_messages_are_read_in_time_and_limited)
{
	struct troupe_error error;
	ProtobufCMessage *message;
	struct text text = {0};
	size_t bytes_max = message_limits_usual.bytes_max;
	text_add(&text, "data: ");
	while (text.count < bytes_max - 8)
		text_add_bytes(&text, "'\\x41' ", 7);
	while (text.count < bytes_max)
		text_add_bytes(&text, " ", 1);
	message = must_read("StringMsg", text.at);
	cr_assert_eq(strlen(((Gz__Msgs__StringMsg *)message)->data), (bytes_max - 6) / 7);
	message_free(message);
	text_add_bytes(&text, " ", 1);
	cr_assert_eq(message_of_text(type_find("StringMsg"), text.at, &message_limits_usual, &message, &error),
		TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "column 16777217: expected at most 16777216 bytes, found more");
	text_fini(&text);

	for (uint32_t i = 0; i < message_limits_usual.items_max; i++)
		text_add(&text, "pose {name: 'm%u' position {x: %u}}\n", i, i);
	message = must_read("Pose_V", text.at);
	cr_assert_eq(((Gz__Msgs__PoseV *)message)->n_pose, 100000);
	cr_assert_str_eq(((Gz__Msgs__PoseV *)message)->pose[99999]->name, "m99999");
	message_free(message);
	text_add(&text, "pose {}");
	cr_assert_eq(message_of_text(type_find("Pose_V"), text.at, &message_limits_usual, &message, &error),
		TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text,
		"column 6 of line 100001: more than 100000 elements of lists: expected at most so many", "%s",
		error.text);
	text_fini(&text);
}

static void nest(struct text *out, unsigned levels, const char *open, const char *close)
{
	for (unsigned i = 0; i < levels; i++)
		text_add(out, "%s", open);
	for (unsigned i = 0; i < levels; i++)
		text_add(out, "%s", close);
}

Test(types, depth_is_limited)
{
	for (unsigned levels = MESSAGE_DEPTH_MAX; levels <= MESSAGE_DEPTH_MAX + 1; levels++) {
		struct text text = {0}, json = {0}, bytes = {0};
		struct troupe_error errors[3] = {0};
		ProtobufCMessage *messages[3] = {0};
		message_type type = type_find("Model");
		nest(&text, levels, "model {", "}");
		text_add(&json, "{");
		nest(&json, levels, "\"model\":[{", "}]");
		text_add(&json, "}");
		for (unsigned i = 0; i < levels;
			i++) { /* from the innermost level outwards; each is shorter than 128 bytes */
			struct text outer = {0};
			char head[2] = {12 << 3 | 2, (char)bytes.count};
			text_add_bytes(&outer, head, 2);
			text_add_bytes(&outer, bytes.count ? bytes.at : "", bytes.count);
			text_fini(&bytes);
			bytes = outer;
		}
		troupe_status status[] = {message_of_text(type, text.at, &any_number, &messages[0], &errors[0]),
			message_of_bytes(type, bytes.at, bytes.count, &any_number, &messages[1], &errors[1]),
			message_of_json(type, json.at, json.count, &any_number, &messages[2], &errors[2])};
		for (int k = 0; k < 3; k++) {
			bool deep = levels > MESSAGE_DEPTH_MAX;
			cr_assert_eq(status[k], deep ? TROUPE_ECOMMAND : TROUPE_OK, "form %d: %s", k, errors[k].text);
			cr_assert(!deep || strstr(errors[k].text, "nested too deeply: expected at most 32 levels"),
				"%s", errors[k].text);
			cr_assert(deep || message_equal(messages[k], messages[0]));
		}
		for (int k = 0; k < 3; k++)
			message_free(messages[k]);
		text_fini(&text);
		text_fini(&json);
		text_fini(&bytes);
	}
}

/* A short text that needs much memory: each element is a message of some hundred bytes, which has parts. */
Test(types, memory_is_limited)
{
	struct message_limits limits = {.bytes_max = SIZE_MAX - 1, .items_max = UINT32_MAX};
	struct text text = {0};
	struct troupe_error error;
	ProtobufCMessage *message = NULL;
	text_add(&text, "model: [{}");
	while (text.count < 6000000)
		text_add_bytes(&text, ",{}", 3);
	text_add(&text, "]");
	cr_assert_eq(message_of_text(type_find("Model"), text.at, &limits, &message, &error), TROUPE_ECOMMAND);
	cr_assert(strstr(error.text, "more than 256 MiB of memory"), "%s", error.text);
	text_fini(&text);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type, *bytes;
	size_t count;
	const char *print; /* the text, or the error in brackets */
} wires[] = {
	{"Double", "", 0, ""},
	{"Double", "\x11\0\0\0\0\0\0\xf0\x3f", 9, "data: 1"},
	{"Double", "\x11\0\0\0\0\0\0\xf0\x3f\x11\0\0\0\0\0\0\0\x40", 18, "data: 2"},
	{"Double", "\x11\0\0\0\0\0\0\0\x80", 9, ""}, /* -0 is 0 */
	{"Double", "\x11\0\0\0\0\0\0\xf0\x7f", 9, "[byte 1: data: inf: expected a number between -1e9 and 1e9]"},
	{"Double", "\x11\0\0\0\0\0\0\xf0", 8, "[byte 1: data: the bytes end: expected more of them]"},
	{"Double", "\x10\x05", 2, ""},                                       /* a varint: skipped */
	{"Double", "\x9a\x03\x02hi\x11\0\0\0\0\0\0\xf0\x3f", 14, "data: 1"}, /* field 51: unknown */
	{"Double", "\x9b\x03\x08\x01\x9c\x03", 6, ""},                       /* a group */
	{"Double", "\x9b\x03\x08\x01", 4, "[byte 0: a field that does not end: expected a whole one]"},
	{"Double", "\x9b\x03\x08\x01\x94\x03", 6, "[byte 0: a field that does not end: expected a whole one]"},
	{"Double", "\x9c\x03", 2, "[byte 0: a field that does not end: expected a whole one]"},
	{"Double", "\x9e\x03", 2, "[byte 0: a field that does not end: expected a whole one]"},
	{"Double", "\x01", 1, "[byte 0: no field begins here: expected the number of a field]"},
	{"Double", "\x80", 1, "[byte 0: no field begins here: expected the number of a field]"},
	{"Boolean", "\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11, "data: true"},
	{"Boolean", "\x10\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12,
		"[byte 1: data: the bytes end: expected more of them]"},
	{"Int32", "\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "data: -1"},
	{"Int32", "\x10\xff\xff\xff\xff\x0f", 6, "data: -1"},
	{"LogPlaybackControl", "\x18\x03", 2, "multi_step: -2"}, /* sint32 */
	{"Double_V", "\x0a\x10\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 18, "data: [1, 2]"},
	{"Double_V", "\x09\0\0\0\0\0\0\xf0\x3f\x09\0\0\0\0\0\0\0\x40", 18, "data: [1, 2]"},
	{"Double_V", "\x0a\x0c\0\0\0\0\0\0\xf0\x3f\0\0\0\0", 14,
		"[byte 10: data: the bytes end: expected more of them]"},
	{"Double_V", "\x0a\x7f\0\0", 4, "[byte 1: data: the bytes end: expected more of them]"},
	{"StringMsg", "\x12\x02hi", 4, "data: \"hi\""},
	{"StringMsg", "\x12\x02h\0", 4,
		"[byte 2: data: a text that is not UTF-8, or has a zero byte: expected one that is]"},
	{"StringMsg", "\x12\x01\xc3", 3,
		"[byte 2: data: a text that is not UTF-8, or has a zero byte: expected one that is]"},
	{"StringMsg", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11,
		"[byte 1: data: the bytes end: expected more of them]"},
	{"Twist", "\x12\x09\x11\0\0\0\0\0\0\xf0\x3f\x12\x09\x19\0\0\0\0\0\0\0\x40", 22,
		"linear {x: 1 y: 2}"}, /* merged */
	{"Twist", "\x12\x09\x11\0\0\0\0\0\0\xf8\x7f", 11,
		"[byte 3: linear.x: nan: expected a number between -1e9 and 1e9]"},
	{"Entity", "\x20\x63", 2, "type: 99"}, /* a number that a newer version may name */
	{"EntityFactory", "\x12\x01X\x1a\x01Y", 6, "sdf_filename: \"Y\""},
	{"EntityFactory", "\x12\x00", 2, "sdf: \"\""},
	{"WorldControl", "\x10\x00", 2, "pause: false"},
};

Test(types, bytes_are_read_or_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(wires); i++) {
		struct troupe_error error = {0};
		struct text print = {0};
		ProtobufCMessage *message = NULL;
		if (message_of_bytes(type_find(wires[i].type), wires[i].bytes, wires[i].count, &message_limits_usual,
			    &message, &error))
			text_add(&print, "[%s]", error.text);
		else
			message_add_text(&print, message, MESSAGE_LINE);
		cr_assert_str_eq(print.at, wires[i].print, "%zu: %s, want %s", i, print.at, wires[i].print);
		message_free(message);
		text_fini(&print);
	}
	struct message_limits few = {.bytes_max = 100, .items_max = 2};
	static const char lengthy[101];
	struct troupe_error error;
	ProtobufCMessage *message = NULL;
	cr_assert_eq(message_of_bytes(type_find("Int32_V"), "\x12\x03\x01\x02\x03", 5, &few, &message, &error),
		TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "byte 4: data: more than 2 elements of lists: expected at most so many");
	cr_assert_eq(message_of_bytes(type_find("Int32_V"), lengthy, sizeof lengthy, &few, &message, &error),
		TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "101 bytes: expected at most 100");
}

/* --- JSON --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type, *json;
	const char *print; /* the text form, or the error in brackets */
} jsons[] = {
	{"Twist", "{}", ""},
	{"Twist", "{\"linear\":{\"x\":4.5,\"y\":-1},\"angular\":{\"z\":\"-0.5\"}}",
		"linear {x: 4.5 y: -1} angular {z: -0.5}"},
	{"Twist", " { \"linear\" : { \"x\" : 1e2 } , \"header\": null }\n", "linear {x: 100}"},
	{"Twist", "{\"linear\":{\"x\":\"NaN\"}}", "[linear.x: \"NaN\": expected a number between -1e9 and 1e9]"},
	{"Twist", "{\"linear\":{\"x\":true}}", "[linear.x: true: expected a number between -1e9 and 1e9]"},
	{"Twist", "{\"linear\":{\"x\":\"\"}}", "[linear.x: \"\": expected a number between -1e9 and 1e9]"},
	{"Twist", "{\"linear\":[1,2,3]}", "[linear: [1,2,3]: expected an object]"},
	{"Twist", "{\"linear\":\"0123456789012345678901234567890123456789012345678901234567890123456789\"}",
		"[linear: \"0123456789012345678901234567890123456789012...: expected an object]"},
	{"Twist", "{\"lin\":{}}", "[gz.msgs.Twist has no field 'lin': expected one of header, linear, angular]"},
	{"Twist", "{\"linear\":{\"w\":1}}",
		"[linear: gz.msgs.Vector3d has no field 'w': expected one of header, x, y, z]"},
	{"Twist", "{\"linear\":{\"x\":1}",
		"[line 1, column 17: '}' expected near end of file: expected a JSON object]"},
	{"Twist", "[]", "[a JSON array: expected an object]"},
	{"Twist", "{\"linear\":{},\"linear\":{}}",
		"[line 1, column 21: duplicate object key near '\"linear\"': expected a JSON object]"},
	{"WorldControl", "{\"multiStep\":5,\"pause\":false,\"reset\":{\"time_only\":true}}",
		"pause: false multi_step: 5 reset {time_only: true}"},
	{"WorldControl", "{\"multiStep\":5,\"multi_step\":6}",
		"[multi_step: given twice, or beside another one of which only one may be given: expected one]"},
	{"WorldControl", "{\"multiStep\":5.0}", "multi_step: 5"},
	{"WorldControl", "{\"multiStep\":\"5\"}", "multi_step: 5"},
	{"WorldControl", "{\"multiStep\":5.5}", "[multi_step: 5.5: expected a whole number from 0 to 4294967295]"},
	{"WorldControl", "{\"multiStep\":-1}", "[multi_step: -1: expected a whole number from 0 to 4294967295]"},
	{"Time", "{\"sec\":\"-9223372036854775808\",\"nsec\":-7}", "sec: -9223372036854775808 nsec: -7"},
	{"Time", "{\"sec\":-9223372036854775808}", "sec: -9223372036854775808"},
	{"Time", "{\"sec\":\"9223372036854775808\"}",
		"[sec: \"9223372036854775808\": expected a whole number from -9223372036854775808 to "
		"9223372036854775807]"},
	{"Entity", "{\"id\":\"18446744073709551615\",\"type\":\"MODEL\",\"name\":\"a\\u00e9\"}",
		"id: 18446744073709551615 name: \"a\xc3\xa9\" type: MODEL"},
	{"Entity", "{\"type\":2}", "type: MODEL"},
	{"Entity", "{\"type\":\"ROBOT\"}",
		"[type: \"ROBOT\": expected one of NONE, LIGHT, MODEL, LINK, VISUAL, COLLISION, SENSOR, JOINT, ACTOR, "
		"WORLD, or its number]"},
	{"Bytes", "{\"data\":\"AP8=\"}", "data: \"\\000\\377\""},
	{"Bytes", "{\"data\":\"-_8\"}", "data: \"\\373\\377\""},
	{"Bytes", "{\"data\":\"YWJj\"}", "data: \"abc\""},
	{"Bytes", "{\"data\":\"A\"}", "[data: \"A\": expected a text in quotes]"},
	{"Bytes", "{\"data\":\"A*\"}", "[data: \"A*\": expected a text in quotes]"},
	{"Double_V", "{\"data\":[1,2.5,\"3\"]}", "data: [1, 2.5, 3]"},
	{"Double_V", "{\"data\":1}", "[data: no list: expected [...]]"},
	{"EntityFactory", "{\"sdf\":\"a\",\"sdfFilename\":\"b\"}",
		"[sdf_filename: given twice, or beside another one of which only one may be given: expected one]"},
	{"JointWrench", "{\"body1Name\":\"a\",\"body_2_name\":\"b\"}", "body_1_name: \"a\" body_2_name: \"b\""},
	{"StringMsg", "{\"data\":\"\\u0000\"}",
		"[line 1, column 16: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"\\u0000\"': expected a JSON "
		"object]"},
};

Test(types, json_is_read_or_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(jsons); i++) {
		struct troupe_error error = {0};
		struct text print = {0};
		ProtobufCMessage *message = NULL;
		if (message_of_json(type_find(jsons[i].type), jsons[i].json, strlen(jsons[i].json),
			    &message_limits_usual, &message, &error))
			text_add(&print, "[%s]", error.text);
		else
			message_add_text(&print, message, MESSAGE_LINE);
		cr_assert_str_eq(
			print.at, jsons[i].print, "%s:\n got %s\nwant %s", jsons[i].json, print.at, jsons[i].print);
		message_free(message);
		text_fini(&print);
	}
}

Test(types, json_is_written_as_protobuf_does)
{
	static const struct {
		const char *type, *text, *json;
	} some[] = {
		{"Empty", "", "{}"},
		{"JointWrench", "body_1_name: 'a\"\\n' body_1_id: 7", "{\"body1Name\":\"a\\\"\\u000a\",\"body1Id\":7}"},
		{"Time", "sec: -3 nsec: 5", "{\"sec\":\"-3\",\"nsec\":5}"},
		{"Bytes", "data: 'a'", "{\"data\":\"YQ==\"}"},
		{"Bytes", "data: 'ab'", "{\"data\":\"YWI=\"}"},
		{"Bytes", "data: '\\xff\\xfe\\xfd'", "{\"data\":\"//79\"}"},
		{"Float_V", "data: [0.1, inf, -inf, nan]", "{\"data\":[0.1,\"Infinity\",\"-Infinity\",\"NaN\"]}"},
		{"Entity", "type: LIGHT id: 1", "{\"id\":\"1\",\"type\":\"LIGHT\"}"},
		{"WorldControl", "pause: false reset {all: true}", "{\"pause\":false,\"reset\":{\"all\":true}}"},
		{"Pose_V", "pose {} pose {name: 'b'}", "{\"pose\":[{},{\"name\":\"b\"}]}"},
	};
	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		struct troupe_error error = {0};
		struct text json = {0};
		ProtobufCMessage *message = NULL;
		cr_assert_eq(message_of_text(type_find(some[i].type), some[i].text, &any_number, &message, &error),
			TROUPE_OK, "%s", error.text);
		message_add_json(&json, message);
		cr_assert_str_eq(json.at, some[i].json, "%s", json.at);
		message_free(message);
		text_fini(&json);
	}
}

/* --- all forms ---------------------------------------------------------------------------------------------------- */

Test(types, lines_are_indented)
{
	ProtobufCMessage *message = must_read("Pose_V", "pose {name: 'a' position {x: 1}} pose {}");
	struct text print = {0};
	message_add_text(&print, message, MESSAGE_LINES);
	cr_assert_str_eq(
		print.at, "pose {\n  name: \"a\"\n  position {\n    x: 1\n  }\n}\npose {\n}\n", "%s", print.at);
	text_fini(&print);
	message_free(message);
}

static ProtobufCMessage *by_form(const ProtobufCMessage *message, int form)
{
	struct text text = {0};
	struct troupe_error error = {0};
	ProtobufCMessage *again = NULL;
	message_type type = message->descriptor;
	if (form < 2) {
		message_add_text(&text, message, form ? MESSAGE_LINES : MESSAGE_LINE);
		cr_assert_eq(message_of_text(type, text.at, &any_number, &again, &error), TROUPE_OK, "%s: %s: %s",
			type->name, text.at, error.text);
	} else if (form == 2) {
		message_add_json(&text, message);
		cr_assert_eq(message_of_json(type, text.at, text.count, &any_number, &again, &error), TROUPE_OK,
			"%s: %s: %s", type->name, text.at, error.text);
	} else if (form == 3) {
		message_add_bytes(&text, message);
		cr_assert_eq(message_of_bytes(type, text.at, text.count, &any_number, &again, &error), TROUPE_OK,
			"%s: %s", type->name, error.text);
	} else {
		again = message_copy(message);
	}
	text_fini(&text);
	return again;
}

Test(types, every_form_gives_the_message_again)
{
	size_t bytes = 0;
	for (uint32_t i = 0; i < type_count(); i++)
		for (uint64_t seed = 1; seed <= 8; seed++) {
			struct random_source source = {.state = seed * 1000 + i, .any_number = true};
			ProtobufCMessage *message = random_message(&source, type_at(i), 4);
			for (int form = 0; form < 5; form++) {
				ProtobufCMessage *again = by_form(message, form);
				cr_assert(message_equal(message, again), "%s, seed %" PRIu64 ", form %d",
					type_at(i)->name, seed, form);
				bytes += message_memory(again);
				message_free(again);
			}
			arena_fini(&source.arena);
		}
	cr_assert_gt(bytes, 1 << 20, "%zu bytes: the messages are nearly empty", bytes);
}

/* The message that protobuf-c's own reader makes of the bytes. */
Test(types, bytes_are_read_as_protobuf_c_reads_them)
{
	for (uint32_t i = 0; i < type_count(); i++) {
		struct random_source source = {.state = 77 + i};
		struct text bytes = {0};
		message_add_bytes(&bytes, random_message(&source, type_at(i), 4));
		ProtobufCMessage *theirs = protobuf_c_message_unpack(
			type_at(i), NULL, bytes.count, bytes.count ? (const uint8_t *)bytes.at : (const uint8_t *)"");
		ProtobufCMessage *ours = NULL;
		cr_assert_eq(message_of_bytes(type_at(i), bytes.at, bytes.count, &any_number, &ours, NULL), TROUPE_OK);
		cr_assert(theirs && message_equal(ours, theirs), "%s", type_at(i)->name);
		protobuf_c_message_free_unpacked(theirs, NULL);
		message_free(ours);
		text_fini(&bytes);
		arena_fini(&source.arena);
	}
}

Test(types, a_message_that_is_kept_is_one_block)
{
	ProtobufCMessage *message = must_read("Twist", "linear {x: 1}");
	cr_assert_eq(message_memory(message), 16 + sizeof(Gz__Msgs__Twist) + sizeof(Gz__Msgs__Vector3d));
	const Gz__Msgs__Twist *twist = (const Gz__Msgs__Twist *)message;
	cr_assert_eq((const char *)twist->linear, (const char *)message + sizeof *twist);
	cr_assert_null(twist->angular);
	message_free(message);
	message = must_read("StringMsg", "data: ''");
	cr_assert_eq(
		((Gz__Msgs__StringMsg *)message)->data, protobuf_c_empty_string, "the string points to freed memory");
	message_free(message);
	message = message_create(type_find("StringMsg"));
	cr_assert_str_eq(((Gz__Msgs__StringMsg *)message)->data, "");
	message_free(message);
	message_free(NULL);
}

Test(types, a_message_that_a_caller_filled_is_checked)
{
	Gz__Msgs__Twist twist = GZ__MSGS__TWIST__INIT;
	Gz__Msgs__Vector3d linear = GZ__MSGS__VECTOR3D__INIT;
	Gz__Msgs__StringMsg string = GZ__MSGS__STRING_MSG__INIT;
	Gz__Msgs__DoubleV list = GZ__MSGS__DOUBLE__V__INIT;
	struct troupe_error error;
	struct message_limits few = {.items_max = 1, .number_max = 1};
	double numbers[] = {1, 2};
	char bad_text[] = "\xff";
	twist.linear = &linear;
	cr_assert_eq(message_check(&twist.base, &message_limits_usual, &error), TROUPE_OK);
	linear.y = NAN;
	cr_assert_eq(message_check(&twist.base, &message_limits_usual, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "linear.y: nan: expected a number between -1e9 and 1e9");
	cr_assert_eq(message_check(&twist.base, &any_number, &error), TROUPE_OK);
	string.data = bad_text;
	cr_assert_eq(message_check(&string.base, &any_number, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "data: a text that is not UTF-8: expected one that is");
	list.n_data = 2;
	list.data = numbers;
	cr_assert_eq(message_check(&list.base, &few, &error), TROUPE_ECOMMAND);
	cr_assert_str_eq(error.text, "data: more than 1 elements of lists: expected at most so many");
	list.n_data = 1;
	cr_assert_eq(message_check(&list.base, &few, &error), TROUPE_OK);
}

/* --- numbers, vectors and poses ----------------------------------------------------------------------------------- */

static const struct {
	const char *type;
	double numbers[8];
	uint32_t count;
	const char *print; /* the text, or the error in brackets */
} numbers[] = {
	{"Twist", {0}, 0, ""},
	{"Twist", {4}, 1, "linear {x: 4}"},
	{"Twist", {0, 0, 0}, 3, "linear {}"},
	{"Twist", {1, 2, 3, 4, 5, -6}, 6, "linear {x: 1 y: 2 z: 3} angular {x: 4 y: 5 z: -6}"},
	{"Twist", {1, 2, 3, 4, 5, 6, 7}, 7, "[7 numbers: expected at most 6 of gz.msgs.Twist]"},
	{"Twist", {1, NAN}, 2, "[linear.y of gz.msgs.Twist is nan: expected a number between -1e9 and 1e9]"},
	{"Double", {-0.0}, 1, ""},
	{"Double", {7}, 1, "data: 7"},
	{"Boolean", {1}, 1, "data: true"},
	{"Boolean", {2}, 1, "[data of gz.msgs.Boolean is 2: expected true or false]"},
	{"WorldControl", {0}, 1, "pause: false"},
	{"WorldControl", {1, 0, 5}, 3, "pause: true multi_step: 5"},
	{"WorldControl", {1, 0, 5.5}, 3,
		"[multi_step of gz.msgs.WorldControl is 5.5: expected a whole number from 0 to 4294967295]"},
	{"WorldControl", {1, 0, -1}, 3,
		"[multi_step of gz.msgs.WorldControl is -1: expected a whole number from 0 to 4294967295]"},
	{"WorldControl", {1, 0, 0, 1, 0, 0, 3, -2}, 8,
		"pause: true reset {all: true} seed: 3 run_to_sim_time {sec: -2}"},
	{"StringMsg", {1}, 1, "[data of gz.msgs.StringMsg is 1: expected text]"},
	{"Double_V", {1}, 1, "[data of gz.msgs.Double_V is 1: expected a list]"},
	{"Empty", {1, 1}, 2, "[2 numbers: expected at most 1 of gz.msgs.Empty]"},
};

Test(types, numbers_are_the_fields_in_their_order)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct troupe_error error = {0};
		struct text print = {0};
		ProtobufCMessage *message = NULL;
		if (message_of_numbers(type_find(numbers[i].type), numbers[i].numbers, numbers[i].count,
			    &message_limits_usual, &message, &error))
			text_add(&print, "[%s]", error.text);
		else
			message_add_text(&print, message, MESSAGE_LINE);
		cr_assert_str_eq(print.at, numbers[i].print, "%zu: %s, want %s", i, print.at, numbers[i].print);
		message_free(message);
		text_fini(&print);
	}
	double many[70000] = {0}; /* more values than any type takes: a type that contains itself ends, too */
	for (uint32_t i = 0; i < type_count(); i++) {
		ProtobufCMessage *message = NULL;
		cr_assert_eq(
			message_of_numbers(type_at(i), many, ARRAY_LEN(many), &message_limits_usual, &message, NULL),
			TROUPE_ECOMMAND, "%s", type_at(i)->name);
	}
}

static const struct {
	const char *text;
	struct quat q;
	bool bad;
} orientations[] = {
	{"", {1, 0, 0, 0}, false},
	{"orientation {w: -2}", {-1, 0, 0, 0}, false},
	{"orientation {x: 3 w: 4}", {0.8, 0.6, 0, 0}, false},
	{"orientation {y: 1e9}", {0, 0, 1, 0}, false},
	{"orientation {z: 1e-5}", {0, 0, 0, 1}, false},
	{"orientation {}", {0, 0, 0, 0}, true},
	{"orientation {x: 0 y: 0 z: 0 w: 0}", {0, 0, 0, 0}, true},
	{"orientation {w: 1e-7}", {0, 0, 0, 0}, true},
	{"orientation {w: 1e-300}", {0, 0, 0, 0}, true},
};

Test(types, orientations_are_normalised_or_refused)
{
	for (size_t i = 0; i < ARRAY_LEN(orientations); i++) {
		struct troupe_error error = {0};
		ProtobufCMessage *message = must_read("Pose", orientations[i].text);
		struct pose pose = {{7, 7, 7}, {7, 7, 7, 7}};
		troupe_status status = message_pose((const Gz__Msgs__Pose *)message, &pose, &error);
		cr_assert_eq(status, orientations[i].bad ? TROUPE_ECOMMAND : TROUPE_OK, "%s", orientations[i].text);
		struct quat q = orientations[i].q;
		if (orientations[i].bad)
			cr_assert(pose.p.x == 7 && !strncmp(error.text, "orientation", 11), "%s", error.text);
		else
			cr_assert(fabs(pose.q.w - q.w) + fabs(pose.q.x - q.x) + fabs(pose.q.y - q.y) +
						  fabs(pose.q.z - q.z) <
					  1e-15,
				"%s: %g %g %g %g", orientations[i].text, pose.q.w, pose.q.x, pose.q.y, pose.q.z);
		message_free(message);
	}
	struct pose pose;
	Gz__Msgs__Pose message = GZ__MSGS__POSE__INIT;
	Gz__Msgs__Vector3d position = GZ__MSGS__VECTOR3D__INIT;
	Gz__Msgs__Quaternion orientation = GZ__MSGS__QUATERNION__INIT;
	message.position = &position;
	position.x = NAN;
	cr_assert_eq(message_pose(&message, &pose, NULL), TROUPE_ECOMMAND);
	position.x = 0;
	message.orientation = &orientation;
	orientation.w = INFINITY;
	cr_assert_eq(message_pose(&message, &pose, NULL), TROUPE_ECOMMAND);
	orientation.w = NAN;
	cr_assert_eq(message_pose(&message, &pose, NULL), TROUPE_ECOMMAND);
	cr_assert_eq(message_pose(NULL, &pose, NULL), TROUPE_OK);
	cr_assert(pose.q.w == 1 && pose.p.x == 0);
}

Test(types, twists_and_numbers_are_messages_as_others)
{
	Gz__Msgs__Twist *twist = message_of_twist((struct vec3){1, -0.0, 3}, (struct vec3){0, 5, 0});
	ProtobufCMessage *read = must_read("Twist", "linear {x: 1 z: 3} angular {y: 5}");
	cr_assert(message_equal(&twist->base, read));
	cr_assert(!signbit(twist->linear->y));
	cr_assert_eq(message_vec3(twist->angular).y, 5);
	cr_assert_eq(message_vec3(NULL).y, 0);
	message_free(read);
	message_free(&twist->base);
	Gz__Msgs__Double *number = message_of_double(-0.0);
	cr_assert(!signbit(number->data));
	message_free(&number->base);
}

/* --- schemas ------------------------------------------------------------------------------------------------------ */

Test(types, json_schemas_define_what_they_refer_to)
{
	for (uint32_t i = 0; i < type_count(); i++) {
		struct text schema = {0};
		type_add_json_schema(type_at(i), &schema);
		json_t *whole = json_loads(schema.at, JSON_REJECT_DUPLICATES, NULL);
		cr_assert_not_null(whole, "%s: %s", type_at(i)->name, schema.at);
		json_t *types = json_object_get(whole, "$defs");
		cr_assert_not_null(json_object_get(types, type_at(i)->name));
		for (const char *at = schema.at; (at = strstr(at, "#/$defs/"));) {
			char name[128];
			at += 8;
			snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\""), at);
			cr_assert_not_null(json_object_get(types, name), "%s: no %s", type_at(i)->name, name);
		}
		json_decref(whole);
		text_fini(&schema);
	}
	struct text schema = {0};
	type_add_json_schema(type_find("Time"), &schema);
	cr_assert_str_eq(schema.at,
		"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"title\":\"gz.msgs.Time\",\"$ref\":\"#/"
		"$defs/"
		"gz.msgs.Time\",\"$defs\":{\"gz.msgs.Time\":{\"type\":\"object\",\"properties\":{\"sec\":{\"type\":"
		"\"string\",\"pattern\":\"^-?[0-9]+$\"},\"nsec\":{\"type\":\"integer\"}},\"additionalProperties\":"
		"false}}}",
		"%s", schema.at);
	text_fini(&schema);
}

/* The words of the schema of a value, in order, and that of "type". */
static const char *words_of_kind(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_MESSAGE:
		return "$ref";
	case PROTOBUF_C_TYPE_STRING:
		return "type=string";
	case PROTOBUF_C_TYPE_BYTES:
		return "type=string contentEncoding";
	case PROTOBUF_C_TYPE_BOOL:
		return "type=boolean";
	case PROTOBUF_C_TYPE_ENUM:
		return "enum";
	case PROTOBUF_C_TYPE_DOUBLE:
	case PROTOBUF_C_TYPE_FLOAT:
		return "anyOf";
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_FIXED64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return "type=string pattern";
	default:
		return "type=integer";
	}
}

static void check_schema_of(const ProtobufCFieldDescriptor *field, json_t *schema)
{
	struct text words = {0};
	const char *key;
	json_t *value;
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		cr_assert_str_eq(json_string_value(json_object_get(schema, "type")), "array", "%s", field->name);
		cr_assert_eq(json_object_size(schema), 2, "%s", field->name);
		schema = json_object_get(schema, "items");
	}
	json_object_foreach(schema, key, value)
	{
		bool is_type = !strcmp(key, "type");
		text_add(&words, "%s%s%s%s", words.count ? " " : "", key, is_type ? "=" : "",
			is_type ? json_string_value(value) : "");
	}
	cr_assert_str_eq(words.at, words_of_kind(field), "%s", field->name);
	text_fini(&words);
}

Test(types, json_schemas_say_of_each_field_what_it_is)
{
	for (uint32_t i = 0; i < type_count(); i++) {
		struct text schema = {0};
		message_type type = type_at(i);
		type_add_json_schema(type, &schema);
		json_t *whole = json_loads(schema.at, 0, NULL);
		json_t *about = json_object_get(json_object_get(whole, "$defs"), type->name);
		json_t *fields = json_object_get(about, "properties");
		cr_assert_eq(json_object_size(fields), type->n_fields, "%s", type->name);
		void *place = json_object_iter(fields);
		for (unsigned f = 0; f < type->n_fields; f++, place = json_object_iter_next(fields, place))
			check_schema_of(&type->fields[f], json_object_iter_value(place));
		json_decref(whole);
		text_fini(&schema);
	}
}

/* A set has whole files, each after the files that it imports, and no others: checked by the bytes of their names. */
Test(types, file_sets_have_the_files_that_a_type_needs)
{
	static const struct {
		const char *type, *files[9];
	} some[] = {
		{"Time", {"topic/plain.proto"}},
		{"Discovery.Publisher", {"topic/plain.proto", "topic/transport.proto"}},
		{"Twist", {"topic/plain.proto", "topic/motion.proto"}},
		{"troupe.msgs.SetJoint",
			{"topic/plain.proto", "topic/motion.proto", "topic/device.proto", "topic/scene.proto",
				"topic/world.proto", "topic/sensor.proto", "topic/troupe.proto"}},
	};
	for (size_t i = 0; i < ARRAY_LEN(some); i++) {
		struct text set = {0};
		size_t at = 0, count = 0;
		cr_assert_not_null(type_find(some[i].type), "%s", some[i].type);
		type_add_file_set(type_find(some[i].type), &set);
		for (; at < set.count; count++) {
			size_t bytes = 0;
			const char *name = some[i].files[count];
			cr_assert_eq(set.at[at++], 0x0a);
			for (unsigned shift = 0;; shift += 7) {
				bytes |= (size_t)(set.at[at] & 0x7f) << shift;
				if (!(set.at[at++] & 0x80))
					break;
			}
			cr_assert_not_null(name, "%s: too many files", some[i].type);
			cr_assert(set.at[at] == 0x0a && !memcmp(set.at + at + 2, name, strlen(name)), "%s: not %s",
				some[i].type, name);
			at += bytes;
		}
		cr_assert_eq(at, set.count);
		cr_assert_null(some[i].files[count], "%s: %zu files", some[i].type, count);
		text_fini(&set);
	}
}
