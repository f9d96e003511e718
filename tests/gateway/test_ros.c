/* Messages of Gazebo as CDR of ROS 2 (gateway/ros/ros.h): each message of tests/data/ros/cases has the bytes that stand
 * there, and comes back from them if programs may give it; damaged bytes are refused, and read within bounds.
 * tests/web/test_ros.sh has the same bytes read by another project's decoder, by way of the schemas that
 *
 *   test_ros --print FILE     prints: for each message of the file "TYPE TOPIC TEXT", "name NAME", "schema JSON" and
 *                             "cdr HEX" */
#include "base/infile.h"
#include "../fault/check.h"
#include "gateway/ros/humble.h"
#include "gateway/ros/json.h"
#include "gateway/ros/ros.h"
#include "gateway/ros/stage.h"
#include "topic/troupe.pb-c.h"
#include "topic/message.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct message_limits limits = {.bytes_max = 1 << 20, .items_max = 10000};

struct one {
	char type[128], topic[128];
	const char *text;
	const struct ros_type *ros;
	struct text bytes, cdr;
};

static bool make(struct one *one, const char *line)
{
	struct troupe_error error = {0};
	ProtobufCMessage *message;
	int used = 0;
	*one = (struct one){0};
	if (sscanf(line, "%127s %127s %n", one->type, one->topic, &used) != 2)
		return false;
	one->text = line + used;
	one->ros = ros_type_find(one->type, *one->topic == '/' ? one->topic : NULL);
	if (!type_find(one->type) || message_of_text(type_find(one->type), one->text, &limits, &message, &error)) {
		check(false, "%s: %s", line, error.text);
		return false;
	}
	message_add_bytes(&one->bytes, message);
	message_free(message);
	if (one->ros &&
		ros_of_bytes(one->ros, one->bytes.count ? one->bytes.at : "", one->bytes.count, &one->cdr, &error))
		check(false, "%s: %s", line, error.text);
	return one->ros && one->cdr.count;
}

static void drop(struct one *one)
{
	text_fini(&one->bytes);
	text_fini(&one->cdr);
}

static void add_hex(const struct text *bytes, struct text *out)
{
	for (size_t i = 0; i < bytes->count; i++)
		text_add(out, "%02x", (unsigned char)bytes->at[i]);
}

static void print(const char *line)
{
	struct one one;
	struct text out = {0}, schema = {0};
	if (make(&one, line)) {
		ros_add_schema(one.ros, &schema);
		text_add(&out, "%s\nname %s\nschema ", line, one.ros->name);
		text_add_json(&out, schema.at ? schema.at : "");
		text_add(&out, "\ncdr ");
		add_hex(&one.cdr, &out);
		puts(out.at);
	}
	text_fini(&out);
	text_fini(&schema);
	drop(&one);
}

/* What comes back from CDR has the message's bytes: the messages of the file that may be given have no header. */
static void check_back(const struct one *one)
{
	struct text back = {0};
	struct troupe_error error = {0};
	if (ros_to_bytes(one->ros, one->cdr.at, one->cdr.count, &back, &error))
		check(false, "%s %s: not read back: %s", one->type, one->text, error.text);
	else
		check(back.count == one->bytes.count && (!back.count || !memcmp(back.at, one->bytes.at, back.count)),
			"%s %s: other bytes come back", one->type, one->text);
	for (size_t count = 0; count < one->cdr.count; count++) {
		char *cut = malloc(count + 1); /* of its own, so that a sanitizer sees a read behind its end */
		if (!cut)
			abort();
		memcpy(cut, one->cdr.at, count);
		cut = realloc(cut, count ? count : 1);
		back.count = 0;
		bool empty = !strcmp(one->type, "gz.msgs.Empty") && count >= 4;
		check(empty || ros_to_bytes(one->ros, cut, count, &back, &error), "%s: %zu bytes of it are taken",
			one->type, count);
		free(cut);
	}
	text_fini(&back);
}

static void check_case(const char *line, const char *hex)
{
	struct one one;
	if (make(&one, line)) {
		struct text found = {0};
		add_hex(&one.cdr, &found);
		check(!strcmp(found.at, hex), "%s: expected %s, found %s", line, hex, found.at);
		text_fini(&found);
		if (ros_is_taken(one.ros))
			check_back(&one);
	} else {
		check(false, "%s: no CDR", line);
	}
	drop(&one);
}

/* The text from which image_transport's plug-ins know how to decode a picture. */
static void check_compressed(void)
{
	static const struct {
		const char *message, *format;
	} rows[] = {{"\x10\x03\x1a\x04jpeg\x22\x02xy", "rgb8; jpeg compressed bgr8"},
		{"\x10\x08\x1a\x03png\x22\x02xy", "bgr8; png compressed bgr8"},
		{"\x10\x01\x1a\x04jpeg\x22\x02xy", "mono8; jpeg compressed "},
		{"\x10\x0d\x1a\x03png\x22\x02xy", "32FC1; compressedDepth png"}};
	const struct ros_type *type = ros_type_find("troupe.msgs.CompressedImage", NULL);
	check(type && !strcmp(type->name, "sensor_msgs/msg/CompressedImage"), "the type of compressed pictures");
	for (size_t i = 0; i < ARRAY_LEN(rows) && type; i++) {
		struct text out = {0};
		struct troupe_error error;
		size_t length = strlen(rows[i].format) + 1;
		troupe_status status = ros_of_bytes(type, rows[i].message, strlen(rows[i].message), &out, &error);
		/* at the end: the length, the text, the length of the data on a multiple of 4, the data */
		size_t at = out.count - 6 - (length + 3) / 4 * 4;
		check(!status && out.count > at && !memcmp(out.at + at, rows[i].format, length) &&
				!memcmp(out.at + out.count - 6, "\2\0\0\0xy", 6),
			"a compressed picture, %s", rows[i].format);
		text_fini(&out);
	}
}

static void check_refusals(void)
{
	struct text out = {0};
	struct troupe_error error = {0};
	const struct ros_type *image = ros_type_find("gz.msgs.Image", NULL),
			      *text = ros_type_find("gz.msgs.StringMsg", NULL);
	check(!ros_type_find("gz.msgs.WorldStatistics", NULL) && !ros_type_find("gz.msgs.Nothing", NULL),
		"types without a counterpart");
	check(ros_of_bytes(image, "\x30\x02", 2, &out, &error) == TROUPE_OK && out.count, "a picture of one format");
	out.count = 0;
	check(ros_of_bytes(image, "\x30\x07", 2, &out, &error) == TROUPE_EINVAL &&
			strstr(error.text, "pixel_format_type 7"),
		"a picture whose format ROS 2 does not have");
	check(ros_of_bytes(image, "\x0a\x7f", 2, &out, &error) == TROUPE_ECOMMAND && !out.count, "damaged bytes");
	check(ros_to_bytes(text, "\0\1\0\0\3\0\0\0a\0b", 11, &out, &error) == TROUPE_ECOMMAND,
		"a string with a zero in it");
	check(ros_to_bytes(text, "\0\1\0\0\2\0\0\0\xff", 10, &out, &error) == TROUPE_ECOMMAND,
		"a string that is no UTF-8");
	check(ros_to_bytes(text, "\0\1\0\0\xff\xff\xff\xff\0", 9, &out, &error) == TROUPE_ECOMMAND,
		"a length too large");
	check(ros_to_bytes(text, "\0\6\0\0\2\0\0\0a", 10, &out, &error) == TROUPE_ECOMMAND, "another form of CDR");
	check(ros_to_bytes(text, "\0\0\0\0\0\0\0\2a", 10, &out, &error) == TROUPE_OK && out.count == 3,
		"the other byte order");
	text_fini(&out);
}

/* An error names the field by its way through the message. */
static void check_json_errors(void)
{
	static const char type[] = "tf2_msgs/msg/TFMessage";
	static const struct {
		const char *json, *way;
	} cases[] = {{"{\"transforms\":5}", "transforms: "}, {"{\"transforms\":[{},7]}", "transforms[1]: "},
		{"{\"transforms\":[{},{\"header\":{\"frame_id\":5}}]}", "transforms[1].header.frame_id: "},
		{"{\"transforms\":[{\"transform\":{\"rotation\":{\"w\":\"x\"}}}]}",
			"transforms[0].transform.rotation.w: "},
		{"{\"transforms\":[{},{},{\"no\":1}]}",
			"transforms[2].no: there is no such field: expected one of header, child_frame_id, transform"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct text out = {0};
		struct troupe_error error = {.text = ""};
		json_t *json = json_loads(cases[i].json, 0, NULL);
		check(ros_json_to_cdr(type, json, &out, &error) &&
				!strncmp(error.text, cases[i].way, strlen(cases[i].way)),
			"%s: '%s'", cases[i].json, error.text);
		json_decref(json);
		text_fini(&out);
	}
}

/* Types that Humble has in another form, and others, which stay as they are. */
static void check_humble(void)
{
	char *older = humble_form("controller_manager_msgs/ListControllers_Response"),
	     *same = humble_form("std_msgs/msg/String");
	check(!strcmp(older, "controller_manager_msgs/ListControllers_Response@humble"), "of Humble: %s", older);
	check(!strcmp(same, "std_msgs/msg/String"), "the same in Humble: %s", same);
	free(older);
	free(same);
}

static void add_bytes(const char *type, const char *text, struct text *out)
{
	ProtobufCMessage *message;
	struct troupe_error error = {0};
	out->count = 0;
	if (message_of_text(type_find(type), text, &limits, &message, &error)) {
		check(false, "%s: %s", text, error.text);
		return;
	}
	message_add_bytes(out, message);
	message_free(message);
}

static void check_has(const struct text *out, const char *part)
{
	check(strstr(out->at, part), "%s is not in %s", part, out->at);
}

static void check_shapes(struct stage *stage)
{
	struct text bytes = {0}, out = {0};
	struct troupe_error error;
	add_bytes("gz.msgs.Scene",
		"header {stamp {sec: 3 nsec: 5}} name: \"w\" model {name: \"a\\\"b\" id: 2 pose {position {x: 7}} link "
		"{name: \"l\" id: 20 visual {pose {position {z: 1}} geometry {type: CAPSULE capsule {radius: 0.5 "
		"length: 2}} material {diffuse {r: 1 g: 0.5}} transparency: 0.25} collision {geometry {box {size {x: "
		"9}}}}} link {name: \"empty\" id: 21}} model {name: \"floor\" id: 1 is_static: true pose {position {x: "
		"3}} link {name: \"l\" pose {position {y: 4}} collision {geometry {type: PLANE plane {normal {x: 1} "
		"size {x: 10 y: 20}}}}}}",
		&bytes);
	check(!stage_take_scene(stage, bytes.at, bytes.count, &out, &error), "a scene: %s", error.text);
	check_has(
		&out, "{\"deletions\":[{\"timestamp\":{\"sec\":3,\"nsec\":5},\"type\":1,\"id\":\"\"}],\"entities\":[{");
	check_has(&out, "\"frame_id\":\"a\\\"b::l\",\"id\":\"a\\\"b::l\"");
	check_has(&out, "\"cubes\":[],\"spheres\":[{\"pose\":{\"position\":{\"x\":0,\"y\":0,\"z\":0},");
	check_has(&out, "\"z\":2},\"orientation\"");
	check_has(&out, "\"color\":{\"r\":1,\"g\":0.5,\"b\":0,\"a\":0.75},\"bottom_scale\":1,\"top_scale\":1}");
	check_has(&out, "\"frame_id\":\"w\",\"id\":\"floor::l\"");
	check_has(&out, "{\"position\":{\"x\":3,\"y\":4,\"z\":0}");
	check_has(&out, "\"size\":{\"x\":10,\"y\":20,\"z\":0.001}");
	check(!strstr(out.at, "empty"), "a link without shapes is no entity");
	out.count = 0;
	check(stage_take_scene(stage, "\x0a\x7f", 2, &out, &error) == TROUPE_ECOMMAND && !out.count, "a damaged scene");
	text_fini(&bytes);
	text_fini(&out);
}

/* The axis z of a plane's box is the plane's normal, also where that leans, points down, or has not the length 1. */
static void check_planes(void)
{
	static const char *const orientations[] = {"\"orientation\":{\"x\":0,\"y\":0.31622776601",
		"\"orientation\":{\"x\":-0.94868329805", "\"orientation\":{\"x\":1,\"y\":0,\"z\":0,\"w\":0}",
		"\"z\":0,\"w\":0.94868329805", "\"y\":0,\"z\":0,\"w\":0.31622776601"};
	struct stage *stage = stage_create("w", NULL, NULL);
	struct text bytes = {0}, out = {0};
	struct troupe_error error;
	add_bytes("gz.msgs.Scene",
		"model {name: \"m\" id: 1 link {name: \"l\" id: 2 collision {geometry {type: PLANE plane {normal {x: "
		"0.6 z: "
		"0.8} size {x: 1 y: 2}}}} collision {geometry {type: PLANE plane {normal {y: 3 z: -4} size {x: 3 y: "
		"4}}}} "
		"collision {geometry {type: PLANE plane {normal {z: -2} size {x: 5}}}} collision {geometry {type: "
		"PLANE plane "
		"{}}}}}",
		&bytes);
	check(!stage_take_scene(stage, bytes.at, bytes.count, &out, &error), "a scene: %s", error.text);
	for (size_t i = 0; i < sizeof orientations / sizeof *orientations; i++)
		check_has(&out, orientations[i]);
	check_has(&out, "\"size\":{\"x\":5,\"y\":1,\"z\":0.001}");
	check_has(&out, "\"size\":{\"x\":1,\"y\":1,\"z\":0.001}");
	text_fini(&bytes);
	text_fini(&out);
	stage_destroy(stage);
}

/* CDR of a TFMessage is compared with that of the same transforms from a list of poses with frames. */
static void check_frames(struct stage *stage)
{
	struct text bytes = {0}, out = {0};
	struct troupe_error error;
	add_bytes("gz.msgs.Pose_V",
		"header {stamp {sec: 4}} pose {name: \"l\" id: 20 position {x: 1}} pose {name: \"other\" id: 99} pose "
		"{id: 2}",
		&bytes);
	check(!stage_take_poses(stage, bytes.at, bytes.count, &out, &error), "poses: %s", error.text);
	check(!memcmp(out.at, "\0\1\0\0\2\0\0\0\4\0\0\0", 12), "two transforms, of the known frames");
	check(out.count > 100 && memmem(out.at, out.count, "\7\0\0\0a\"b::l", 10), "the frame of a link");
	text_fini(&bytes);
	text_fini(&out);
}

/* The frames of sensors are sent with those of models, also where no model moves; and nothing before the scene. CDR is
 * compared with that of the same transforms from a list of poses with frames. */
static void check_sensors(void)
{
	struct stage *stage = stage_create("w", NULL, NULL);
	struct text scene = {0}, poses = {0}, out = {0}, expected = {0};
	struct troupe_error error;
	add_bytes("gz.msgs.Pose_V", "header {stamp {sec: 5}} pose {id: 2 position {x: 9} orientation {w: 1}}", &poses);
	check(!stage_take_poses(stage, poses.at, poses.count, &out, &error) && !out.count, "frames before the scene");
	add_bytes("gz.msgs.Scene",
		"model {name: \"m\" id: 2 link {name: \"l\" id: 20 sensor {name: \"imu\" type: \"imu\" pose {position "
		"{x: 1} orientation {w: 1}}} sensor {name: \"eye\" type: \"depth_camera\" pose {position {x: 2} "
		"orientation {w: 1}}}}} model {name: \"s\" id: 3 is_static: true pose {position {y: 1} orientation {w: "
		"1}} link {name: \"l\" id: 30 pose {position {y: 2} orientation {w: 1}} sensor {name: \"see\" type: "
		"\"logical_camera\" pose {position {y: 4} orientation {w: 1}}}}}",
		&scene);
	check(!stage_take_scene(stage, scene.at, scene.count, &out, &error), "a scene: %s", error.text);
	out.count = 0;
	check(!stage_take_poses(stage, poses.at, poses.count, &out, &error), "poses: %s", error.text);
	check(memmem(out.at, out.count, "m::l", 5) && memmem(out.at, out.count, "m/l/eye/optical", 16) &&
			!memmem(out.at, out.count, "see/optical", 11),
		"the frames of sensors");
	add_bytes("gz.msgs.Pose_V",
		"header {stamp {sec: 5}} pose {name: \"m\" header {data {key: \"frame_id\" value: \"w\"}} position {x: "
		"9} orientation {w: 1}} pose {name: \"m::l::eye::optical\" header {data {key: \"frame_id\" value: "
		"\"m/l/eye\"}} orientation {x: -0.5 y: 0.5 z: -0.5 w: 0.5}} pose {name: \"s::l::see\" header {data "
		"{key: \"frame_id\" value: \"w\"}} position {y: 7} orientation {w: 1}}",
		&expected);
	struct text whole = {0};
	check(!ros_of_bytes(ros_type_find("gz.msgs.Pose_V", "/tf"), expected.at, expected.count, &whole, &error), "%s",
		error.text);
	/* the last two transforms are the last of the stage's, too */
	const char *last = memmem(whole.at, whole.count, "m/l/eye", 8);
	size_t count = (size_t)(whole.at + whole.count - last);
	check(out.count > count && !memcmp(out.at + out.count - count, last, count), "the places of sensors");
	check(!memcmp(out.at + 4, "\5\0\0\0", 4),
		"five transforms: a model, two sensors, a picture, one in the world: %d", out.at[4]);
	text_fini(&scene);
	text_fini(&poses);
	text_fini(&out);
	text_fini(&expected);
	text_fini(&whole);
	stage_destroy(stage);
}

/* Names that the world gives: a frame has one parent, so that a name that is there already is left out. */
static void check_named(void)
{
	struct stage *stage = stage_create("w", NULL, NULL);
	struct text scene = {0}, poses = {0}, out = {0};
	struct troupe_error error;
	add_bytes("gz.msgs.Scene",
		"model {name: \"m\" id: 2 link {name: \"l\" id: 20 sensor {name: \"a\" type: \"imu\" header {data "
		"{key: \"frame_id\" value: \"named\"}}} sensor {name: \"b\" type: \"imu\" header {data {key: "
		"\"frame_id\" value: \"named\"}}} sensor {name: \"c\" type: \"imu\" header {data {key: \"frame_id\" "
		"value: \"w\"}}} sensor {name: \"d\" type: \"imu\" header {data {key: \"frame_id\" value: \"m\"}}} "
		"sensor {name: \"e\" type: \"imu\" header {data {key: \"frame_id\" value: \"m::l::a\"}}}}}",
		&scene);
	add_bytes("gz.msgs.Pose_V", "pose {id: 2 orientation {w: 1}} pose {id: 20 orientation {w: 1}}", &poses);
	check(!stage_take_scene(stage, scene.at, scene.count, &out, &error), "a scene: %s", error.text);
	out.count = 0;
	check(!stage_take_poses(stage, poses.at, poses.count, &out, &error), "poses: %s", error.text);
	enum { MODEL_AND_LINK = 2, SENSORS = 5, NAMED = 1 };
	check(out.at[4] == MODEL_AND_LINK + SENSORS + NAMED, "%d transforms", out.at[4]);
	check(memmem(out.at, out.count, "\6\0\0\0named", 10), "the frame that the world names");
	text_fini(&scene);
	text_fini(&poses);
	text_fini(&out);
	stage_destroy(stage);
}

/* A grid of as many triangles as the mesh's scale says; a file that is missing. */
static troupe_status make_mesh(
	void *ctx, const Gz__Msgs__Geometry *geometry, struct text *out, struct troupe_error *error)
{
	uint32_t count = (uint32_t)geometry->mesh->scale->x;
	uint32_t *corners = mem_alloc(3 * (size_t)count * sizeof *corners);
	float points[] = {0, 0, 0, 0.5f, 0, 0, 0, 0.25f, 0};
	Troupe__Msgs__Mesh mesh = TROUPE__MSGS__MESH__INIT;
	++*(int *)ctx;
	for (uint32_t i = 0; i < 3 * count; i++)
		corners[i] = i % 3;
	mesh.n_point = ARRAY_LEN(points);
	mesh.point = points;
	mesh.n_corner = 3 * (size_t)count;
	mesh.corner = corners;
	if (!strcmp(geometry->mesh->filename, "wild"))
		corners[1] = 3; /* no such point */
	bool missing = !strcmp(geometry->mesh->filename, "missing");
	if (!missing)
		message_add_bytes(out, &mesh.base);
	free(corners);
	return missing ? fail(error, TROUPE_EWORLD, "no file") : TROUPE_OK;
}

static void add_mesh_visual(struct text *out, const char *file, uint32_t triangles)
{
	text_add(out, "visual {geometry {type: MESH mesh {filename: \"%s\" scale {x: %u}}}} ", file, triangles);
}

static uint32_t count_of(const char *text, const char *part)
{
	uint32_t count = 0;
	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* Meshes are triangles, each is asked for once, and limits leave out whole ones: those that come later. */
static void check_meshes(void)
{
	int asked = 0;
	struct stage *stage = stage_create("w", make_mesh, &asked);
	struct text scene = {0}, bytes = {0}, out = {0};
	struct troupe_error error;
	text_add(&scene, "model {name: \"m\" id: 1 link {name: \"l\" id: 2 ");
	add_mesh_visual(&scene, "small", 1);
	add_mesh_visual(&scene, "missing", 1);
	add_mesh_visual(&scene, "wild", 1);
	add_mesh_visual(&scene, "huge", STAGE_SHAPE_TRIANGLES_MAX + 1);
	for (uint32_t i = 0; i <= STAGE_TRIANGLES_MAX / STAGE_SHAPE_TRIANGLES_MAX; i++)
		add_mesh_visual(&scene, "large", STAGE_SHAPE_TRIANGLES_MAX);
	add_mesh_visual(&scene, "small", 1);
	text_add(&scene, "}}");
	add_bytes("gz.msgs.Scene", scene.at, &bytes);
	for (int round = 0; round < 2; round++) {
		out.count = 0;
		check(!stage_take_scene(stage, bytes.at, bytes.count, &out, &error), "a scene: %s", error.text);
		check(asked == 5, "%d meshes were asked for", asked);
		check_has(&out, "\"points\":[{\"x\":0,\"y\":0,\"z\":0},{\"x\":0.5,\"y\":0,\"z\":0},{\"x\":0,\"y\":0.25,"
				"\"z\":0}],\"colors\":[],\"indices\":[0,1,2]}");
		uint32_t lists = count_of(out.at, "\"points\""), small = count_of(out.at, "\"indices\":[0,1,2]}");
		/* one fewer of the large ones fits, for a small one comes before them; and the last small one does */
		check(lists == 2 + STAGE_TRIANGLES_MAX / STAGE_SHAPE_TRIANGLES_MAX - 1 && small == 2,
			"%u lists of triangles, %u small ones", lists, small);
	}
	text_fini(&scene);
	text_fini(&bytes);
	text_fini(&out);
	stage_destroy(stage);
}

/* Visuals of all kinds, each at the same place of a link that is shifted in a model that is shifted and turned by a
 * quarter about z, and each turned by a quarter about x: at 1 6 8, turned by both. */
static void check_turned_shapes(void)
{
	static const struct {
		const char *list, *geometry;
		double size[3];
	} shapes[] = {
		{"cubes", "box {size {x: 1 y: 2 z: 3}}", {1, 2, 3}},
		{"spheres", "sphere {radius: 0.5}", {1, 1, 1}},
		{"spheres", "ellipsoid {radii {x: 1 y: 2 z: 3}}", {2, 4, 6}},
		{"cylinders", "cylinder {radius: 0.25 length: 2}", {0.5, 0.5, 2}},
		{"cylinders", "cone {radius: 0.75 length: 3}", {1.5, 1.5, 3}},
		{"triangles", "mesh {filename: 'small' scale {x: 1}}", {0, 0, 0}},
	};
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		int asked = 0;
		struct stage *stage = stage_create("w", make_mesh, &asked);
		struct text bytes = {0}, out = {0};
		struct troupe_error error = {.text = ""};
		char *scene = mem_printf("model {name: 'm' id: 1 is_static: true pose {position {x: 1 y: 2 z: 3} "
					 "orientation {w: %.17g z: "
					 "%.17g}} link {name: 'l' id: 2 pose {position {x: 4}} visual {pose {position "
					 "{z: 5} orientation {w: "
					 "%.17g x: %.17g}} geometry {%s}}}}",
			sqrt(0.5), sqrt(0.5), sqrt(0.5), sqrt(0.5), shapes[i].geometry);
		add_bytes("gz.msgs.Scene", scene, &bytes);
		check(!stage_take_scene(stage, bytes.at, bytes.count, &out, &error), "a scene: %s", error.text);
		json_t *json = json_loadb(out.at, out.count, 0, NULL);
		const json_t *entity = json_array_get(json_object_get(json, "entities"), 0);
		const json_t *shape = json_array_get(json_object_get(entity, shapes[i].list), 0);
		double x = 0, y = 0, z = 0, qw = 0, qx = 0, qy = 0, qz = 0, size[3] = {0, 0, 0};
		check(!json_unpack((json_t *)(uintptr_t)shape, "{s:{s:{s:F,s:F,s:F},s:{s:F,s:F,s:F,s:F}}}", "pose",
			      "position", "x", &x, "y", &y, "z", &z, "orientation", "w", &qw, "x", &qx, "y", &qy, "z",
			      &qz),
			"%s: %.*s", shapes[i].geometry, (int)out.count, out.at);
		check(fabs(x - 1) + fabs(y - 6) + fabs(z - 8) < 1e-6, "%s: at %g %g %g", shapes[i].geometry, x, y, z);
		check(fabs(qw - 0.5) + fabs(qx - 0.5) + fabs(qy - 0.5) + fabs(qz - 0.5) < 1e-6,
			"%s: turned by %g %g %g %g", shapes[i].geometry, qw, qx, qy, qz);
		(void)json_unpack((json_t *)(uintptr_t)shape, "{s:{s:F,s:F,s:F}}", "size", "x", &size[0], "y", &size[1],
			"z", &size[2]);
		check(!memcmp(size, shapes[i].size, sizeof size), "%s: %g %g %g", shapes[i].geometry, size[0], size[1],
			size[2]);
		json_decref(json);
		free(scene);
		text_fini(&bytes);
		text_fini(&out);
		stage_destroy(stage);
	}
}

/* The frames of links and sensors that never move in their models: as many as the message says. */
static void check_fixed_frames(void)
{
	static const char scene[] =
		"model {name: 'm' link {name: 'a' sensor {name: 'eye' type: 'camera' pose {position {z: 2}}}} link "
		"{name: 'b' header {data {key: 'fixed_to' value: 'a'}} pose {position {x: 1}}} link {name: 'c' pose "
		"{position {y: 3}}} joint {name: 'j' type: FIXED parent: 'a' child: 'c'} joint {name: 'k' parent: 'a' "
		"child: 'c'}} model {name: 's' is_static: true link {name: 'a' sensor {name: 'eye' type: 'camera'}}}";
	static const char *const frames[][2] = {{"m/a", "m/a/eye"}, {"m/a", "m/b"}, {"m/a", "m/c"}};
	struct text bytes = {0}, cdr = {0}, json = {0};
	struct troupe_error error = {.text = ""};
	add_bytes("gz.msgs.Scene", scene, &bytes);
	check(!ros_of_bytes(ros_fixed_frames(), bytes.at, bytes.count, &cdr, &error), "%s", error.text);
	check(!ros_json_of_cdr(ros_fixed_frames()->name, cdr.at, cdr.count, &json, &error), "%s", error.text);
	json_t *message = json_loadb(json.at, json.count, 0, NULL), *list = json_object_get(message, "transforms");
	check(json_array_size(list) == ARRAY_LEN(frames) + 1, "%s", json.at);
	for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
		bool found = false;
		for (size_t k = 0; k < json_array_size(list); k++) {
			const json_t *one = json_array_get(list, k);
			const char *from =
				json_string_value(json_object_get(json_object_get(one, "header"), "frame_id"));
			const char *to = json_string_value(json_object_get(one, "child_frame_id"));
			found |= from && to && !strcmp(from, frames[i][0]) && !strcmp(to, frames[i][1]);
		}
		check(found, "%s in %s: %s", frames[i][1], frames[i][0], json.at);
	}
	json_decref(message);
	text_fini(&bytes);
	text_fini(&cdr);
	text_fini(&json);
}

/* The transforms of a message as lines "PARENT CHILD X Y Z"; robot: whose they are, NULL: all. */
static char *list_transforms(const struct ros_type *type, const char *robot, const char *text)
{
	struct text bytes = {0}, cdr = {0}, json = {0}, lines = {0};
	struct troupe_error error = {.text = ""};
	add_bytes(type->gz->name, text, &bytes);
	check(!ros_of_bytes_for(type, robot, bytes.at, bytes.count, &cdr, &error), "%s", error.text);
	text_add(&lines, "%s", "");
	check(!cdr.count || !ros_json_of_cdr(type->name, cdr.at, cdr.count, &json, &error), "%s", error.text);
	json_t *message = cdr.count ? json_loadb(json.at, json.count, 0, NULL) : NULL;
	const json_t *one, *list = json_object_get(message, "transforms");
	size_t i;
	json_array_foreach(list, i, one)
	{
		const json_t *at = json_object_get(json_object_get(one, "transform"), "translation");
		text_add(&lines, "%s %s %g %g %g\n",
			json_string_value(json_object_get(json_object_get(one, "header"), "frame_id")),
			json_string_value(json_object_get(one, "child_frame_id")),
			json_number_value(json_object_get(at, "x")), json_number_value(json_object_get(at, "y")),
			json_number_value(json_object_get(at, "z")));
	}
	json_decref(message);
	text_fini(&bytes);
	text_fini(&cdr);
	text_fini(&json);
	return lines.at;
}

static int ros_by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* In any order. */
static void expect_lines(const char *what, const char *text, const char *expected)
{
	enum { LINES = 64 };
	char *copies[2] = {mem_strdup(text), mem_strdup(expected)}, *lines[2][LINES];
	size_t counts[2] = {0, 0};
	for (int i = 0; i < 2; i++) {
		char *rest = NULL;
		for (char *line = strtok_r(copies[i], "\n", &rest); line && counts[i] < LINES;
			line = strtok_r(NULL, "\n", &rest))
			lines[i][counts[i]++] = line;
		qsort(lines[i], counts[i], sizeof *lines[i], ros_by_text);
	}
	bool same = counts[0] == counts[1];
	for (size_t i = 0; same && i < counts[0]; i++)
		same = !strcmp(lines[0][i], lines[1][i]);
	check(same, "%s:\n%sexpected:\n%s", what, text, expected);
	free(copies[0]);
	free(copies[1]);
}

/* The frames of one robot have names without the robot's, and those that are in its messages are there, too. The frame
 * of its odometry is the root, whatever link it is, or none. */
static void check_robot_frames(void)
{
#define LINK(name, more) "link {name: '" name "' " more "} "
#define VALUE(key, name, pose) "data {key: '" key "' value: '" name "' value: '" pose "'} "
#define FIXED "data {key: 'fixed_to' value: 'a'}"
	static const struct {
		const char *what, *robot, *scene, *expected;
	} cases[] = {
		{"links that fixed joints hold, a frame, a sensor", "m",
			"model {name: 'm' " LINK("a", "header {" VALUE("odometry_frame", "m/a", "0 0 0 0 0 0 1") "}")
				LINK("b", "pose {position {x: 1}} header {" FIXED VALUE("frame", "f",
						  "0 0 0.5 0 0 0 1") "} sensor {name: 's' type: 'imu'}") "}",
			"a b 1 0 0\nb f 0 0 0.5\nb b/s 0 0 0\nb/s m/b/s 0 0 0\na base_footprint 0 0 0\na base_link 0 0 "
			"0\n"},
		{"the same of all robots", NULL,
			"model {name: 'm' " LINK("a", "header {" VALUE("odometry_frame", "m/a", "0 0 0 0 0 0 1") "}")
				LINK("b", "pose {position {x: 1}} header {" FIXED VALUE("frame", "f",
						  "0.25 -3 0.5 0 0 0 1") "} sensor {name: 's' type: 'imu'}") "}",
			"m/a m/b 1 0 0\nm/b m/f 0.25 -3 0.5\nm/b m/b/s 0 0 0\n"},
		{"odometry of a link that is not the first", "m",
			"model {name: 'm' " LINK(
				"a", "header {" VALUE("odometry_frame", "m/base_link", "1 0 0 0 0 0 1") "}")
				LINK("base_link", "pose {position {x: 1}} header {" FIXED "}")
					LINK("c", "pose {position {y: 1}} header {" FIXED "}") "}",
			"base_link a -1 0 0\na c 0 1 0\nbase_link base_footprint 0 0 0\n"},
		{"odometry of no link", "m",
			"model {name: 'm' " LINK("a", "pose {position {z: 0.1}} header {" VALUE("odometry_frame",
							      "m/base_footprint", "0 0 -0.1 0 0 0 1") "}") "}",
			"base_footprint a 0 0 0.1\nbase_footprint base_link 0 0 0\n"},
		{"odometry of no link, of all robots", NULL,
			"model {name: 'm' " LINK("a", "header {" VALUE("odometry_frame", "base_footprint",
							      "0 0 -0.1 0 0 0 1") "}") "} model {name: 'n' " LINK("a",
				"header {" VALUE("odometry_frame", "base_footprint", "0 0 0 0 0 0 1") "}") "}",
			"base_footprint m/a 0 0 0.1\nbase_footprint n/a 0 0 0\n"},
		{"frames of sensors that the world names", "m",
			"model {name: 'm' " LINK("a",
				"sensor {name: 's' type: 'imu' pose {position {x: 1}} header {data {key: "
				"'frame_id' value: 'laser'}}} sensor {name: 't' type: 'imu' pose {position {x: "
				"2}} header {data {key: 'frame_id' value: 'm/range'}}}") "}",
			"a a/s 1 0 0\na laser 1 0 0\na/s m/a/s 0 0 0\na a/t 2 0 0\na range 2 0 0\nrange m/range 0 0 0\n"
			"a/t m/a/t 0 0 0\n"},
		{"a name that topics have cleaned", "my_robot",
			"model {name: 'my @robot' " LINK("a", "") LINK("b", "header {" FIXED "}") "}", "a b 0 0 0\n"},
		{"a model within a model", "o/i",
			"model {name: 'o' " LINK("a", "") LINK("b", "header {" FIXED "}") LINK("i::c", "") LINK("i::d",
				"header {data {key: 'fixed_to' value: 'i::c'}}") "} model {name: 'i' " LINK("a", "")
				LINK("b", "header {" FIXED "}") "}",
			"c d 0 0 0\n"},
		{"another robot", "n", "model {name: 'm' " LINK("a", "") LINK("b", "header {" FIXED "}") "}", ""},
		{"damaged places, and joints that make a ring", "m",
			"model {name: 'm' " LINK("a", "header {" VALUE("frame", "f", "0 0 x") VALUE(
							      "odometry_frame", "m/g", "0 0 nan 0 0 0 1") "}") LINK("b",
				"header {" VALUE("odometry_frame", "m/b",
					"0 0 0 0 0 0 1") "}") "joint {name: 'j' type: FIXED parent: 'a' child: 'b'} "
							      "joint {name: 'k' type: FIXED parent: 'b' child: 'a'}}",
			"a b 0 0 0\nb a 0 0 0\nb base_footprint 0 0 0\nb base_link 0 0 0\n"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *found = list_transforms(ros_fixed_frames(), cases[i].robot, cases[i].scene);
		expect_lines(cases[i].what, found, cases[i].expected);
		free(found);
	}
}

/* Transforms of one robot: the frames that its odometry names are there under both names, each once. */
static void check_robot_tf(void)
{
	static const char odometry[] = "pose {name: 'm::odom' position {x: 5} header {data {key: 'frame_id' value: "
				       "'m/odom'} data {key: 'child_frame_id' value: 'm/base'}}}";
	static const char poses[] = "pose {name: 'm' position {x: 1} header {data {key: 'frame_id' value: 'w'}}} pose "
				    "{name: 'm::a' position {x: 2} header {data {key: 'frame_id' value: 'm'}}} pose "
				    "{name: 'm::b' position {x: 3} header {data {key: 'frame_id' value: 'm'}}}";
	static const char given[] = "pose {name: 'base_link' header {data {key: 'frame_id' value: 'odom'}}}";
	const struct ros_type *tf = ros_type_find("gz.msgs.Pose_V", "/tf");
	char *found = list_transforms(tf, "m", odometry);
	expect_lines("odometry", found, "odom base 5 0 0\nodom m/odom 0 0 0\nbase m/base 0 0 0\n");
	free(found);
	found = list_transforms(tf, "m", poses);
	expect_lines("poses", found, "w m 1 0 0\nm a 2 0 0\nm b 3 0 0\na m/a 0 0 0\nb m/b 0 0 0\n");
	free(found);
	found = list_transforms(tf, "m", given);
	expect_lines("names that the world gives", found, "odom base_link 0 0 0\n");
	free(found);
}

static bool is_message(const char *line)
{
	return !strncmp(line, "gz.", 3) || !strncmp(line, "troupe.", 7);
}

int main(int argc, char **argv)
{
	const char *source = getenv("SOURCE_DIR");
	char *path = mem_printf("%s%s",
		argc > 2 ? argv[2]
		: source ? source
			 : ".",
		argc > 2 ? "" : "/tests/data/ros/cases");
	struct troupe_error error;
	char *text, *rest = NULL;
	size_t count;
	if (infile_read(path, 1 << 20, &text, &count, &error)) {
		printf("%s\n", error.text);
		return 1;
	}
	char *last = NULL;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (is_message(line) && argc > 2)
			print(line);
		else if (!strncmp(line, "cdr ", 4) && argc <= 2 && last)
			check_case(last, line + 4);
		last = is_message(line) ? line : NULL;
	}
	if (argc <= 2) {
		check_compressed();
		check_refusals();
		check_json_errors();
		check_turned_shapes();
		check_humble();
		check_fixed_frames();
		check_robot_frames();
		check_robot_tf();
		struct stage *stage = stage_create("w", NULL, NULL);
		check_shapes(stage);
		check_frames(stage);
		stage_destroy(stage);
		check_planes();
		check_sensors();
		check_named();
		check_meshes();
		printf("%d passed, %d failed\n", passed, failed);
	}
	free(path);
	free(text);
	return failed > 0;
}
