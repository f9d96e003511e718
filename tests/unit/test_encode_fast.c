/* Messages that are written as bytes without structs have the bytes that protobuf-c writes: random numbers, zeros of
 * both signs, nan, times before 0, names from none to longer than a length of one byte. */
#include "../random.h"
#include "server/encode.h"
#include "server/encode_fast.h"
#include "topic/message.h"
#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(often, .timeout = 60);

enum { ROUNDS = 20000, POSES = 4, NAME_MAX_BYTES = 20000 };

static uint64_t dice;

static double number(void)
{
	static const double some[] = {0, -0.0, 1, -1, 0.5, NAN, INFINITY, 5e-324};
	return random_below64(&dice, 3) ? (double)random_below64(&dice, 1u << 30) / 1e4 - 5e4
					: some[random_below64(&dice, ARRAY_LEN(some))];
}

static int64_t time_ns(void)
{
	static const int64_t some[] = {0, 1, 999999999, 1000000000, -1, -1000000001, INT64_MAX, INT64_MIN};
	return random_below64(&dice, 3) ? (int64_t)random_below64(&dice, UINT64_C(1) << 50)
					: some[random_below64(&dice, ARRAY_LEN(some))];
}

/* Lengths about the places where lengths of parts need one more byte. */
static const char *name(void)
{
	static char names[8][NAME_MAX_BYTES + 1];
	static unsigned next;
	char *out = names[next++ % 8];
	size_t count = random_below64(&dice, 4)   ? random_below64(&dice, 20)
		       : random_below64(&dice, 8) ? random_below64(&dice, 160)
						  : random_below64(&dice, NAME_MAX_BYTES);
	memset(out, 'a' + (int)random_below64(&dice, 26), count);
	out[count] = '\0';
	return out;
}

static struct troupe_pose random_pose(void)
{
	return (struct troupe_pose){.x = number(),
		.y = number(),
		.z = number(),
		.qx = number(),
		.qy = number(),
		.qz = number(),
		.qw = number()};
}

static void expect(struct text *written, const ProtobufCMessage *message)
{
	struct text expected = {0};
	message_add_bytes(&expected, message);
	cr_assert_eq(written->count, expected.count, "%zu bytes, expected %zu", written->count, expected.count);
	cr_assert_arr_eq(written->at, expected.at, expected.count);
	cr_assert_eq(written->at[written->count], '\0');
	text_fini(&expected);
	text_fini(written);
}

/* --- the same messages as structs --------------------------------------------------------------------------------- */

struct header {
	Gz__Msgs__Header header;
	Gz__Msgs__Time stamp;
	Gz__Msgs__Header__Map maps[2], *list[2];
	char *values[2];
};

static Gz__Msgs__Time time_of(int64_t ns)
{
	Gz__Msgs__Time time = GZ__MSGS__TIME__INIT;
	time.sec = ns / 1000000000;
	time.nsec = (int32_t)(ns % 1000000000);
	return time;
}

static void add_pair(struct header *header, const char *key, const char *value)
{
	size_t i = header->header.n_data;
	if (!value)
		return;
	header->header.n_data++;
	gz__msgs__header__map__init(&header->maps[i]);
	header->values[i] = message_string(value);
	header->maps[i].key = message_string(key);
	header->maps[i].value = &header->values[i];
	header->maps[i].n_value = 1;
	header->list[i] = &header->maps[i];
}

static Gz__Msgs__Header *fill_header(struct header *header, int64_t ns, const char *frame, const char *child)
{
	gz__msgs__header__init(&header->header);
	header->stamp = time_of(ns);
	header->header.stamp = &header->stamp;
	header->header.data = header->list;
	add_pair(header, "frame_id", frame);
	add_pair(header, "child_frame_id", child);
	return &header->header;
}

struct posed {
	Gz__Msgs__Pose pose;
	Gz__Msgs__Vector3d position;
	Gz__Msgs__Quaternion orientation;
};

static Gz__Msgs__Pose *fill_pose(struct posed *out, const struct troupe_pose *from, const char *name, uint32_t id)
{
	gz__msgs__pose__init(&out->pose);
	gz__msgs__vector3d__init(&out->position);
	gz__msgs__quaternion__init(&out->orientation);
	out->position.x = from->x;
	out->position.y = from->y;
	out->position.z = from->z;
	out->orientation.x = from->qx;
	out->orientation.y = from->qy;
	out->orientation.z = from->qz;
	out->orientation.w = from->qw;
	out->pose.position = &out->position;
	out->pose.orientation = &out->orientation;
	out->pose.id = id;
	if (name)
		out->pose.name = message_string(name);
	return &out->pose;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

Test(often, clock)
{
	for (dice = 1; dice <= ROUNDS; dice++) {
		uint64_t seed = dice;
		int64_t sim = time_ns(), real = time_ns(), day = time_ns();
		struct text written = {0};
		struct header header;
		Gz__Msgs__Clock message = GZ__MSGS__CLOCK__INIT;
		Gz__Msgs__Time of_sim = time_of(sim), of_real = time_of(real), of_day = time_of(day);
		message.header = fill_header(&header, sim, NULL, NULL);
		message.sim = &of_sim;
		message.real = &of_real;
		message.system = &of_day;
		encode_fast_clock(&written, sim, real, day);
		expect(&written, &message.base);
		dice = seed;
	}
}

Test(often, odometry)
{
	for (dice = 1; dice <= ROUNDS; dice++) {
		uint64_t seed = dice;
		int64_t ns = time_ns();
		const char *frame = random_below64(&dice, 4) ? name() : NULL,
			   *child = random_below64(&dice, 4) ? name() : NULL;
		struct troupe_pose at = random_pose();
		double linear = number(), angular = number();
		struct text written = {0};
		struct header header;
		struct posed pose;
		Gz__Msgs__Odometry message = GZ__MSGS__ODOMETRY__INIT;
		Gz__Msgs__Twist twist = GZ__MSGS__TWIST__INIT;
		Gz__Msgs__Vector3d along = GZ__MSGS__VECTOR3D__INIT, about = GZ__MSGS__VECTOR3D__INIT;
		message.header = fill_header(&header, ns, frame, child);
		message.pose = fill_pose(&pose, &at, NULL, 0);
		along.x = linear;
		about.z = angular;
		twist.linear = &along;
		twist.angular = &about;
		message.twist = &twist;
		encode_fast_odometry(&written, ns, frame, child, &at, linear, angular);
		expect(&written, &message.base);
		dice = seed;
	}
}

Test(often, tf)
{
	for (dice = 1; dice <= ROUNDS; dice++) {
		uint64_t seed = dice;
		int64_t ns = time_ns();
		const char *frame = random_below64(&dice, 4) ? name() : NULL,
			   *child = random_below64(&dice, 4) ? name() : NULL;
		struct troupe_pose at = random_pose();
		struct text written = {0};
		struct header header, of_pose;
		struct posed pose;
		Gz__Msgs__Pose *list[1];
		Gz__Msgs__PoseV message = GZ__MSGS__POSE__V__INIT;
		message.header = fill_header(&header, ns, NULL, NULL);
		list[0] = fill_pose(&pose, &at, NULL, 0);
		list[0]->header = fill_header(&of_pose, ns, frame, child);
		message.pose = list;
		message.n_pose = 1;
		encode_fast_tf(&written, ns, frame, child, &at);
		expect(&written, &message.base);
		dice = seed;
	}
}

Test(often, poses)
{
	for (dice = 1; dice <= ROUNDS; dice++) {
		uint64_t seed = dice;
		int64_t ns = time_ns();
		struct text written = {0};
		struct header header;
		struct posed poses[POSES];
		Gz__Msgs__Pose *list[POSES];
		Gz__Msgs__PoseV message = GZ__MSGS__POSE__V__INIT;
		message.header = fill_header(&header, ns, NULL, NULL);
		message.n_pose = random_below64(&dice, POSES + 1);
		message.pose = list;
		encode_fast_poses(&written, ns);
		for (size_t i = 0; i < message.n_pose; i++) {
			struct troupe_pose at = random_pose();
			const char *of = name();
			uint32_t id = random_below64(&dice, 2) ? (uint32_t)random_below64(&dice, 300)
							       : (uint32_t)random_below64(&dice, UINT64_C(1) << 32);
			list[i] = fill_pose(&poses[i], &at, of, id);
			encode_fast_pose(&written, &at, of, id);
		}
		expect(&written, &message.base);
		dice = seed;
	}
}

enum { MODELS = 3, LINKS = 5 };

/* Numbers of pictures are single: so are those of the expected message. */
static void add_floats(const struct troupe_pose *pose, float *out)
{
	const double numbers[] = {pose->x, pose->y, pose->z, pose->qx, pose->qy, pose->qz, pose->qw};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		out[i] = (float)numbers[i];
}

Test(often, view)
{
	for (dice = 1; dice <= ROUNDS; dice++) {
		uint64_t seed = dice;
		int64_t ns = time_ns();
		double rtf = number();
		struct troupe_scene_model models[MODELS] = {0};
		struct troupe_scene_link links[LINKS] = {0};
		struct troupe_scene scene = {.models = models,
			.links = links,
			.epoch = random_below64(&dice, 3) ? random_below64(&dice, 1u << 20) : 0};
		uint64_t step = random_below64(&dice, 3) ? random_below64(&dice, UINT64_C(1) << 40) : 0;
		uint32_t ids[MODELS], status[MODELS], link_ids[LINKS];
		float poses[LINKS][7];
		const struct encode_picture picture = {(uint32_t)random_below64(&dice, MODELS + 1),
			(uint32_t)random_below64(&dice, LINKS + 1), status, poses};
		struct text written = {0};
		struct header header;
		Troupe__Msgs__View message = TROUPE__MSGS__VIEW__INIT;
		for (uint32_t i = 0; i < picture.model_count; i++) {
			ids[i] = (uint32_t)(models[i].id = random_below64(&dice, UINT64_C(1) << 32));
			uint32_t secondary = (uint32_t)random_below64(&dice, 9);
			bool asleep = random_below64(&dice, 2), loaded = random_below64(&dice, 2);
			status[i] = encode_status(secondary, asleep, loaded);
			cr_assert_eq(status[i], secondary + (asleep ? 1u << 31 : 0) + (loaded ? 0 : 1u << 30));
		}
		for (uint32_t i = 0; i < picture.link_count; i++) {
			links[i].handle.at = (uint32_t)random_below64(&dice, 1000);
			link_ids[i] = ENCODE_LINK_ID | links[i].handle.at;
			struct troupe_pose pose = random_pose();
			add_floats(&pose, poses[i]);
		}
		message.header = fill_header(&header, ns, NULL, NULL);
		message.step = step;
		message.scene = scene.epoch;
		message.real_time_factor = rtf;
		message.n_model = message.n_status = picture.model_count;
		message.model = ids;
		message.status = status;
		message.n_link = picture.link_count;
		message.n_pose = 7 * message.n_link;
		message.link = link_ids;
		message.pose = poses[0];
		message.real_time_s = rtf * 3;
		const struct encode_moment moment = {ns, step, rtf, rtf * 3};
		encode_fast_view(&written, &moment, &scene, &picture);
		expect(&written, &message.base);
		dice = seed;
	}
}

Test(often, mesh)
{
	for (dice = 1; dice <= 1000; dice++) {
		uint64_t seed = dice;
		double points[3 * 9];
		float singles[3 * 9];
		uint32_t corners[3 * 9], point_count = (uint32_t)random_below64(&dice, 10),
					 triangle_count = (uint32_t)random_below64(&dice, 10);
		struct text written = {0};
		Troupe__Msgs__Mesh message = TROUPE__MSGS__MESH__INIT;
		for (size_t i = 0; i < ARRAY_LEN(points); i++) {
			points[i] = number();
			singles[i] = (float)points[i];
			corners[i] = (uint32_t)random_below64(&dice, 1000);
		}
		message.n_point = 3 * point_count;
		message.point = singles;
		message.n_corner = 3 * triangle_count;
		message.corner = corners;
		encode_fast_mesh(&written, points, point_count, corners, triangle_count);
		expect(&written, &message.base);
		dice = seed;
	}
}
