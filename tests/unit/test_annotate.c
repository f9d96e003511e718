/* Data sets of several cameras (cli/annotate.h): which boxes, segments and projection belong to which picture, and what
 * of them is written. In each test the second camera counts as much as the first. */
#include "cli/annotate.h"

#include "base/infile.h"
#include "topic/message.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

TestSuite(annotate, .timeout = 30);

static const char flat[] = "gz.msgs.AnnotatedAxisAligned2DBox_V", solid[] = "gz.msgs.AnnotatedOriented3DBox_V",
		  image[] = "gz.msgs.Image", info[] = "gz.msgs.CameraInfo";

enum { WIDTH = 4, HEIGHT = 2, PIXEL_BYTES = 3 * WIDTH * HEIGHT, FILE_BYTES = 1 << 26 };

static const char *const written[] = {"instances.json", "panoptic.json", "label_2/000000.txt", "label_2/000001.txt",
	"calib/000000.txt", "calib/000001.txt", "instance_2/000000.png", "instance_2/000001.png"};
static const char *const made[] = {"image_2", "label_2", "calib", "instance_2", ""};

struct fixture {
	char folder[40];
	struct annotate annotate;
};

static void begin(struct fixture *f, enum dataset_format format)
{
	struct troupe_error error;
	strcpy(f->folder, "/tmp/test_annotate.XXXXXX");
	cr_assert(mkdtemp(f->folder));
	cr_assert_eq(annotate_begin(&f->annotate, f->folder, format, &error), TROUPE_OK, "%s", error.text);
}

static void end(struct fixture *f)
{
	annotate_end(&f->annotate);
	for (size_t i = 0; i < ARRAY_LEN(written) + ARRAY_LEN(made); i++) {
		const char *name = i < ARRAY_LEN(written) ? written[i] : made[i - ARRAY_LEN(written)];
		char *path = mem_printf("%s/%s", f->folder, name);
		(void)remove(path);
		free(path);
	}
	cr_assert(access(f->folder, F_OK), "%s is not empty", f->folder);
}

/* What a file of the data set contains; free() it. */
static char *contents(const struct fixture *f, const char *name)
{
	char *path = mem_printf("%s/%s", f->folder, name);
	struct troupe_error error;
	char *text;
	size_t bytes;
	cr_assert_eq(infile_read(path, FILE_BYTES, &text, &bytes, &error), TROUPE_OK, "%s", error.text);
	free(path);
	return text;
}

static void assert_contains(const struct fixture *f, const char *name, const char *part)
{
	char *text = contents(f, name);
	cr_assert(strstr(text, part), "%s has no %s: ...%s", name, part,
		text + (strlen(text) > 1000 ? strlen(text) - 1000 : 0));
	free(text);
}

static void take(struct fixture *f, const char *topic, const char *type, int64_t time_ns, const char *text)
{
	ProtobufCMessage *message;
	struct troupe_error error;
	struct text bytes = {0};
	cr_assert_eq(message_of_text(type_find(type), text, &message_limits_usual, &message, &error), TROUPE_OK, "%s",
		error.text);
	message_add_bytes(&bytes, message);
	const struct troupe_message given = {
		.topic = topic, .type = type, .bytes = bytes.at, .count = bytes.count, .time_ns = time_ns};
	cr_assert_eq(annotate_take(&f->annotate, &given, &error), TROUPE_OK, "%s", error.text);
	message_free(message);
	text_fini(&bytes);
}

static void picture(struct fixture *f, const char *topic, int64_t time_us, const uint8_t *bytes, const char *usual,
	const char *expected)
{
	static const uint8_t black[PIXEL_BYTES];
	const struct annotate_picture given = {.topic = topic,
		.time_us = time_us,
		.width = WIDTH,
		.height = HEIGHT,
		.bytes = bytes ? bytes : black,
		.count = PIXEL_BYTES,
		.usual = usual};
	char *name = annotate_picture(&f->annotate, &given);
	cr_assert_str_eq(name, expected);
	free(name);
}

/* Ends a step; so many pictures are in the data set then. */
static void step(struct fixture *f, uint64_t images)
{
	struct troupe_error error;
	cr_assert_eq(annotate_step(&f->annotate, &error), TROUPE_OK, "%s", error.text);
	if (f->annotate.set.format == DATASET_COCO)
		cr_assert_eq(f->annotate.set.images, images, "%" PRIu64 " pictures, not %" PRIu64,
			f->annotate.set.images, images);
}

static struct troupe_topic published(const char *name, const char *type, const char *owner)
{
	return (struct troupe_topic){.name = name, .kind = TROUPE_TOPIC_PUBLISHED, .type = type, .owner = owner};
}

static void follow(struct fixture *f, const struct troupe_topic *topics, uint32_t count)
{
	annotate_follow(&f->annotate, &(struct troupe_topics){.count = count, .at = topics});
}

static const char one_box[] = "header{stamp{sec:1 nsec:2500000}} annotated_box{label:7 box{min_corner{x:1 y:0} "
			      "max_corner{x:3 y:1}} header{data{key:'visible' value:'0.75'} data{key:'instance' "
			      "value:'5'} data{key:'truncated' value:'0.25'}}}";
/* The first has numbers of an entry in place of a box, the second no pose. */
static const char two_solids[] =
	"annotated_box{label:8 header{data{key:'box' value:'0 1 2 3'} data{key:'instance' value:'6'}} box{center{x:1 "
	"y:2 z:3} "
	"orientation{w:0.1 x:0.7 y:0.5 z:0.5} boxSize{x:4 y:5 z:6}}} annotated_box{label:9 header{data{key:'instance' "
	"value:'2' value:'3'}} box{center{x:1}}}";
/* Half a box, and numbers that a model cannot have. */
static const char odd_boxes[] = "header{stamp{nsec:7999}} annotated_box{label:1 box{max_corner{x:2 y:1}} "
				"header{data{key:'box' value:'1 2 3 4'} "
				"data{key:'instance' value:'4294967296'}}} annotated_box{label:2 box{min_corner{x:2 "
				"y:1}} header{data{key:'instance' "
				"value:'-1'}}} annotated_box{label:3 header{data{key:'instance' value:'4294967295'}}}";

static void follow_two(struct fixture *f)
{
	const struct troupe_topic topics[] = {published("/a/eye", flat, "A"), published("/a/eye_image", image, "A"),
		published("/ab/eye", solid, "B"), published("/ab/eye_image", image, "B")};
	follow(f, topics, ARRAY_LEN(topics));
	cr_assert_eq(f->annotate.cameras.count, 2);
}

Test(annotate, boxes_belong_to_the_picture_of_their_topic_and_time)
{
	struct fixture f;
	begin(&f, DATASET_COCO);
	follow_two(&f);
	take(&f, "/a/eye", flat, 0, one_box);
	picture(&f, "/a/eye_image", 1000000, NULL, "early.png", "early.png");
	step(&f, 0);
	picture(&f, "/other_image", 1002500, NULL, "other.png", "other.png");
	step(&f, 0);
	picture(&f, "/a/eye_image", 1002500, NULL, "first.png", "first.png");
	step(&f, 1);
	step(&f, 1);
	take(&f, "/ab/eye", solid, 2500000, two_solids);
	picture(&f, "/ab/eye_image", 2501, NULL, "second.png", "second.png");
	step(&f, 1);
	picture(&f, "/ab/eye_image", 2500, NULL, "second.png", "second.png");
	step(&f, 2);
	picture(&f, "/ab/eye_image", 2500, NULL, "third.png", "third.png"); /* without boxes of its own */
	step(&f, 2);
	assert_contains(&f, "instances.json", "\"id\":1,\"file_name\":\"first.png\",\"width\":4,\"height\":2");
	assert_contains(&f, "instances.json", "\"id\":2,\"file_name\":\"second.png\",\"width\":4,\"height\":2");
	end(&f);
}

Test(annotate, each_box_has_what_its_message_says)
{
	struct fixture f;
	begin(&f, DATASET_COCO);
	follow_two(&f);
	take(&f, "/ab/eye", solid, 1000, "annotated_box{label:1} annotated_box{label:2} annotated_box{label:3}");
	take(&f, "/ab/eye", solid, 1002500000, two_solids); /* in place of the three */
	take(&f, "/a/eye", flat, 0, one_box);
	picture(&f, "/ab/eye_image", 1002500, NULL, "b.png", "b.png");
	picture(&f, "/a/eye_image", 1002500, NULL, "a.png", "a.png");
	step(&f, 2);
	assert_contains(&f, "instances.json",
		"{\"id\":1,\"image_id\":1,\"category_id\":7,\"bbox\":[1,0,3,2],\"area\":6,\"iscrowd\":0,"
		"\"segmentation\":[],\"instance\":5,\"visible\":0.75,\"truncated\":0.25}");
	/* half a turn about x: y and z of the renderer are opposite */
	assert_contains(&f, "instances.json",
		"{\"id\":2,\"image_id\":2,\"category_id\":8,\"bbox\":[0,1,3,3],\"area\":9,\"iscrowd\":0,"
		"\"segmentation\":[],\"instance\":6,\"visible\":1,\"truncated\":0,\"center\":[1,-2,-3],\"size\":[4,5,6]"
		","
		"\"rotation\":[-0.7,0.1,-0.5,0.5]}");
	assert_contains(&f, "instances.json",
		"{\"id\":3,\"image_id\":2,\"category_id\":9,\"bbox\":[0,0,1,1],\"area\":1,\"iscrowd\":0,"
		"\"segmentation\":[],\"instance\":0,\"visible\":1,\"truncated\":0}");
	take(&f, "/a/eye", flat, 0, odd_boxes);
	picture(&f, "/a/eye_image", 7, NULL, "odd.png", "odd.png");
	step(&f, 3);
	assert_contains(&f, "instances.json",
		"\"category_id\":1,\"bbox\":[1,2,3,3],\"area\":9,\"iscrowd\":0,\"segmentation\":[],\"instance\":0,");
	assert_contains(&f, "instances.json",
		"\"category_id\":2,\"bbox\":[0,0,1,1],\"area\":1,\"iscrowd\":0,\"segmentation\":[],\"instance\":0,");
	assert_contains(&f, "instances.json",
		"\"category_id\":3,\"bbox\":[0,0,1,1],\"area\":1,\"iscrowd\":0,\"segmentation\":[],\"instance\":"
		"4294967295,");
	char *text = contents(&f, "instances.json");
	cr_assert_not(strstr(text, "{\"id\":7,\"image_id\""), "more annotations than boxes");
	free(text);
	end(&f);
}

Test(annotate, a_projection_is_that_of_the_camera_beside)
{
	struct fixture f;
	begin(&f, DATASET_KITTI);
	follow_two(&f);
	take(&f, "/a/camera_info", info, 0, "projection{p:[9,9,9,9,9,9,9,9,9,9,9,9]}");
	take(&f, "/ab/camera_info", info, 0, "projection{p:[9,9,9,9,9,9,9,9,9,9,9,9]}");
	take(&f, "/ab/camera_info", info, 0, "projection{p:[21,22,23,24,25,26,27,28,29,30,31,32]}");
	take(&f, "/a/camera_info", info, 0, "projection{p:[1,2,3,4,5,6,7,8,9,10,11,12]}");
	take(&f, "/a/camera_info", info, 0, "projection{p:[1,2,3]}"); /* no projection */
	take(&f, "/a/camera_info", info, 0, "");
	take(&f, "/a/eye", flat, 0, one_box);
	picture(&f, "/ab/eye_image", 1002500, NULL, "b.png", "image_2/000000.png");
	picture(&f, "/a/eye_image", 1002500, NULL, "a.png", "image_2/000001.png");
	step(&f, 2);
	take(&f, "/ab/eye", solid, 1002500000, two_solids);
	step(&f, 2);
	assert_contains(&f, "calib/000000.txt", "P0: 21 22 23 24 25 26 27 28 29 30 31 32\nP1: 21 ");
	assert_contains(&f, "calib/000001.txt", "P3: 1 2 3 4 5 6 7 8 9 10 11 12\n");
	assert_contains(&f, "label_2/000001.txt", "7 0.25 1 -10 1 0 3 1 -1 -1 -1 -1000 -1000 -1000 -10\n");
	assert_contains(&f, "label_2/000000.txt", "8 0 0 ");
	end(&f);
}

/* A box whose bottom is level. right, down, ahead: the middle of its lower side, as the camera sees it; turn: about the
 * axis that points down, from the direction to the right. The message has x to the right, y up and z backwards. */
static void add_solid(struct text *out, uint32_t label, const double at[3], double turn, const double size[3])
{
	const double half = sqrt(0.5), c = half * cos(turn / 2), s = half * sin(turn / 2);
	text_add(out,
		"annotated_box{label:%u box{center{x:%.17g y:%.17g z:%.17g} orientation{w:%.17g x:%.17g y:%.17g "
		"z:%.17g} "
		"boxSize{x:%.17g y:%.17g z:%.17g}} header{data{key:'box' value:'%u 1 5 7'} data{key:'visible' "
		"value:'%g'} data{key:'truncated' "
		"value:'0.125'}}}",
		label, at[0], -at[1] + size[2] / 2, -at[2], c, -c, -s, -s, size[0], size[1], size[2], label,
		label == 3   ? 0.9
		: label == 4 ? 0.5
			     : 0.25);
}

/* Each line has the height, width and length of the box, the middle of its lower side, its turn, and before them the
 * turn less the direction in which it is seen, all from -pi to pi. */
Test(annotate, lines_of_boxes_in_space)
{
	static const double at[3][3] = {{3, 1.5, 4}, {-5, 0.25, 5}, {5, -2, -5}}, turns[] = {0.25, 3, -2.5},
			    sizes[3][3] = {{4, 2, 1.5}, {1, 0.5, 2}, {3, 6, 9}};
	static const char expected[] = "3 0.13 0 -0.39 3 1 5 7 1.5 2 4 3 1.5 4 0.25\n"
				       "4 0.13 1 -2.5 4 1 5 7 2 0.5 1 -5 0.25 5 3\n"
				       "5 0.13 2 1.43 5 1 5 7 9 6 3 5 -2 -5 -2.5\n";
	struct text message = {0};
	struct fixture f;
	begin(&f, DATASET_KITTI);
	follow_two(&f);
	for (uint32_t i = 0; i < 3; i++)
		add_solid(&message, 3 + i, at[i], turns[i], sizes[i]);
	take(&f, "/a/camera_info", info, 0, "projection{p:[1,2,3,4,5,6,7,8,9,10,11,12]}");
	take(&f, "/ab/camera_info", info, 0, "projection{p:[1,2,3,4,5,6,7,8,9,10,11,12]}");
	take(&f, "/a/eye", flat, 0, one_box);
	picture(&f, "/a/eye_image", 1002500, NULL, "a.png", "image_2/000000.png");
	take(&f, "/ab/eye", solid, 1002500000, message.at);
	picture(&f, "/ab/eye_image", 1002500, NULL, "b.png", "image_2/000001.png");
	step(&f, 2);
	char *found = contents(&f, "label_2/000001.txt");
	cr_assert_str_eq(found, expected, "%s", found);
	free(found);
	text_fini(&message);
	end(&f);
}

Test(annotate, segments_belong_to_a_picture_of_the_same_sensor)
{
	static const uint8_t two[PIXEL_BYTES] = {[0] = 1, [2] = 7, [3 * 5] = 2, [3 * 5 + 2] = 8};
	static const uint8_t three[PIXEL_BYTES] = {[3] = 3, [5] = 9};
	const struct troupe_topic topics[] = {published("/c", image, "D"), published("/c/segments", image, "C"),
		published("/c", info, "C"), published("/c_image", image, "C"),
		published("/d/boundingbox_image", image, "E"), published("/d/segments", image, "E"),
		published("/segments", image, "E"), published("/e", image, "F"), published("/e/segments", flat, "F"),
		(struct troupe_topic){.name = "/c/image",
			.kind = TROUPE_TOPIC_SERVICE,
			.type = image,
			.reply_type = image,
			.owner = "C"}};
	struct fixture f;
	begin(&f, DATASET_COCO);
	follow(&f, topics, ARRAY_LEN(topics));
	follow(&f, topics, ARRAY_LEN(topics)); /* no camera is found twice */
	cr_assert_eq(f.annotate.cameras.count, 3);
	picture(&f, "/c", 5, NULL, "no.png", "no.png");
	picture(&f, "/d/boundingbox_image", 5, NULL, "d.png", "d.png");
	picture(&f, "/c_image", 5, NULL, "c.png", "c.png");
	picture(&f, "/d/segments", 4, two, "old.png", "old.png");
	step(&f, 0);
	picture(&f, "/c/segments", 5, two, "two.png", "two.png");
	step(&f, 1);
	picture(&f, "/d/segments", 5, three, "three.png", "three.png");
	step(&f, 2);
	assert_contains(&f, "instances.json", "\"id\":1,\"file_name\":\"c.png\"");
	assert_contains(&f, "instances.json", "\"id\":2,\"file_name\":\"d.png\"");
	assert_contains(&f, "panoptic.json",
		"{\"image_id\":1,\"file_name\":\"two.png\",\"segments_info\":[{\"id\":458753,\"category_id\":7,");
	assert_contains(&f, "panoptic.json",
		"{\"image_id\":2,\"file_name\":\"three.png\",\"segments_info\":[{\"id\":589827,\"category_id\":9,");
	end(&f);
}

Test(annotate, more_cameras_than_the_limit_are_left_out)
{
	enum { MORE = ANNOTATE_CAMERAS_MAX + 3 };
	struct fixture f;
	char(*names)[16] = mem_alloc(MORE * sizeof *names);
	struct troupe_topic *topics = mem_alloc(MORE * sizeof *topics);
	begin(&f, DATASET_COCO);
	for (uint32_t i = 0; i < MORE; i++) {
		(void)snprintf(names[i], sizeof names[i], "/%u/eye", i);
		topics[i] = published(names[i], flat, "A");
		take(&f, names[i], info, 0, "projection{p:[1,2,3,4,5,6,7,8,9,10,11,12]}");
	}
	follow(&f, topics, MORE);
	cr_assert_eq(f.annotate.cameras.count, (uint32_t)ANNOTATE_CAMERAS_MAX);
	cr_assert_eq(f.annotate.infos.count, (uint32_t)ANNOTATE_CAMERAS_MAX);
	picture(&f, "/4098/eye_image", 5, NULL, "no.png", "no.png");
	end(&f);
	free(topics);
	free(names);
}

Test(annotate, only_what_a_data_set_needs_is_wanted)
{
	struct fixture f;
	begin(&f, DATASET_KITTI);
	const struct troupe_topic topics[] = {published("/a", flat, "A"), published("/a", solid, "A"),
		published("/a", info, "A"), published("/a", image, "A"),
		(struct troupe_topic){.name = "/a", .kind = TROUPE_TOPIC_SERVICE, .type = flat, .owner = "A"}};
	for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
		cr_assert_eq(annotate_wants(&f.annotate, &topics[i]), i < 3, "%zu", i);
		cr_assert_not(annotate_wants(&(struct annotate){0}, &topics[i]));
	}
	end(&f);
}
