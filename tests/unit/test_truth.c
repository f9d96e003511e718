/* What cameras show of a scene that no camera sees: normals, flow and segments, against formulas. */
#include "clients.h"

#include "sensor/rays.h"
#include "topic/sensor.pb-c.h"
#include "topic/world.pb-c.h"

#include <math.h>
#include <string.h>

enum { WIDE = 64, HIGH = 48, PIXELS = WIDE * HIGH };

#define RATE 20 /* Hz; a step is 1 ms */
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
#define EYE_OF(name, type, truth, inside)                                                                              \
	"<sensor name='" name "' type='" type                                                                          \
	"'><update_rate>" TEXT(RATE) "</update_rate><camera><troupe:truth>" truth                                      \
				     "</troupe:truth><horizontal_fov>1.57</horizontal_fov><image><width>64</"          \
				     "width><height>48</height>"                                                       \
				     "</image>" inside "</camera></sensor>"
#define BOX_AT(name, pose, size, inside, plugins)                                                                      \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><visual name='v'><geometry><box><size>" size       \
	"</size></box></geometry></visual>" inside "</link>" plugins "</model>"
#define MOVING(linear, angular)                                                                                        \
	"<plugin name='gz::sim::systems::VelocityControl' filename='v'><initial_linear>" linear "</initial_linear>"    \
	"<initial_angular>" angular "</initial_angular></plugin>"
#define WORLD(gravity, inside)                                                                                         \
	"<sdf version='1.9'><world name='w'><gravity>0 0 " gravity "</gravity>" inside "</world></sdf>"
#define STATIC_EYE(eyes) "<model name='m'><static>1</static><link name='l'>" eyes "</link></model>"
#define TOPIC(last) "/world/w/model/m/link/l/sensor/" last

static const double period_s = 1.0 / RATE, step_s = 1e-3;

static struct troupe_server *server;
static struct troupe_client *client;

TestSuite(truth, .fini = clients_end, .timeout = 60);

static void begin(const char *text, const char *const *topics)
{
	struct troupe_server_def def = troupe_server_def_default();
	if (!rays_available())
		cr_skip_test("built without Embree");
	def.world_path = "w.sdf";
	def.world_text = text;
	def.secondaries = 2;
	def.pace = TROUPE_PACE_FACTOR;
	server = lib_create(&def);
	client = client_of(server, 64);
	for (; *topics; topics++)
		subscribe(client, *topics, 0);
}

struct shot { /* a picture */
	double time_s;
	uint32_t count; /* pictures of this topic so far */
	Gz__Msgs__Image *image;
};

/* The last pictures of the topics; the caller frees the images. */
static void drain(const char *const *topics, struct shot *shots)
{
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message))
		for (uint32_t i = 0; topics[i]; i++) {
			if (strcmp(message.topic, topics[i]) != 0)
				continue;
			if (shots[i].image)
				message_free(&shots[i].image->base);
			shots[i].image = decode(&message);
			shots[i].count++;
			const Gz__Msgs__Time *stamp = shots[i].image->header->stamp;
			shots[i].time_s = (double)stamp->sec + stamp->nsec * 1e-9;
		}
	for (uint32_t i = 0; topics[i]; i++)
		cr_assert(shots[i].image, "%s: no message", topics[i]);
}

static void free_shots(struct shot *shots, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		message_free(&shots[i].image->base);
}

static void take_steps(uint64_t count)
{
	must(troupe_server_step(server, count, &lib_error));
}

static struct vec3 normal_at(const struct shot *shot, uint32_t pixel)
{
	float n[3];
	memcpy(n, shot->image->data.data + sizeof n * pixel, sizeof n);
	return (struct vec3){(double)n[2], 0 - (double)n[0], 0 - (double)n[1]}; /* in the camera's frame */
}

struct flow {
	double right, down;
};

static struct flow flow_at(const struct shot *shot, uint32_t pixel)
{
	float f[2];
	memcpy(f, shot->image->data.data + sizeof f * pixel, sizeof f);
	return (struct flow){(double)f[0], (double)f[1]};
}

/* --- a pinhole of its own ----------------------------------------------------------------------------------------- */

static double focal(void)
{
	return WIDE / 2.0 / tan(1.57 / 2);
}

static struct vec3 direction_of(uint32_t pixel)
{
	double column = pixel % WIDE + 0.5, row = pixel / WIDE + 0.5;
	return (struct vec3){1, -(column - WIDE / 2.0) / focal(), -(row - HIGH / 2.0) / focal()};
}

/* Of a point of the camera's frame that was elsewhere in it. */
static struct flow flow_of(struct vec3 now, struct vec3 then)
{
	return (struct flow){focal() * (then.y / then.x - now.y / now.x), focal() * (then.z / then.x - now.z / now.x)};
}

static void check_flow(const struct shot *shot, uint32_t pixel, struct flow expected, double tolerance)
{
	struct flow found = flow_at(shot, pixel);
	cr_assert(fabs(found.right - expected.right) <= tolerance && fabs(found.down - expected.down) <= tolerance,
		"pixel %u: flow %.9g %.9g, expected %.9g %.9g", pixel, found.right, found.down, expected.right,
		expected.down);
}

/* --- normals ------------------------------------------------------------------------------------------------------ */

#define GROUND                                                                                                         \
	"<model name='g'><static>1</static><pose>0 0 -1 0 0 0</pose><link name='l'><visual name='v'><geometry>"        \
	"<plane><size>60 60</size></plane></geometry></visual></link></model>"

Test(truth, normals_are_in_the_frame_of_the_optics)
{
	static const char *const topics[] = {TOPIC("e/normals"), NULL};
	static const char text[] = WORLD("0", STATIC_EYE(EYE_OF("e", "camera", "normals", "")) GROUND BOX_AT(
						      "b", "4 0 0 0 0 0.5", "1 1 1", "", "<static>1</static>"));
	struct shot shot = {0};
	uint32_t faces[3] = {0, 0, 0}, none = 0;
	const struct vec3 front = {-cos(0.5), -sin(0.5), 0}, side = {-sin(0.5), cos(0.5), 0}, up = {0, 0, 1};
	begin(text, topics);
	take_steps(60);
	drain(topics, &shot);
	cr_assert_eq(shot.image->pixel_format_type, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_FLOAT32);
	cr_assert_eq(shot.image->data.len, (size_t)12 * PIXELS);
	for (uint32_t i = 0; i < PIXELS; i++) {
		struct vec3 n = normal_at(&shot, i);
		const struct vec3 known[] = {front, side, up};
		bool found = vec3_length(n) == 0;
		none += found;
		for (int k = 0; k < 3; k++)
			if (vec3_length(vec3_sub(n, known[k])) < 1e-6)
				faces[k]++, found = true;
		cr_assert(found, "pixel %u: %g %g %g", i, n.x, n.y, n.z);
		cr_assert(vec3_length(n) == 0 || vec3_dot(n, direction_of(i)) < 0);
	}
	cr_assert(faces[0] > 40 && faces[1] > 10 && faces[2] > 500 && none > 500, "%u %u %u %u", faces[0], faces[1],
		faces[2], none);
	free_shots(&shot, 1);
}

/* --- flow --------------------------------------------------------------------------------------------------------- */

static const char *const both[] = {TOPIC("e/flow"), TOPIC("e/normals"), NULL};

/* A plate in front of a wall goes left and up; the first picture has none before it. */
Test(truth, flow_of_what_moves)
{
	static const char text[] = WORLD("0",
		STATIC_EYE(EYE_OF("e", "camera", "flow", "")) BOX_AT("wall", "6 0 0 0 0 0", "1 90 90", "",
			"<static>1</static>") BOX_AT("o", "4 0 0 0 0 0", "1 2 2", "", MOVING("0 0.5 0.25", "0 0 0")));
	static const char *const topics[] = {TOPIC("e/flow"), NULL};
	struct shot shot = {0};
	uint32_t moved = 0;
	begin(text, topics);
	take_steps(2);
	drain(topics, &shot);
	cr_assert_eq(shot.image->pixel_format_type, GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT);
	cr_assert_eq(shot.image->step, 8u * WIDE);
	bool named = false;
	for (size_t i = 0; i < shot.image->header->n_data; i++)
		named |= !strcmp(shot.image->header->data[i]->key, "encoding") &&
			 !strcmp(shot.image->header->data[i]->value[0], "32FC2");
	cr_assert(named, "the header names the format");
	for (uint32_t i = 0; i < PIXELS; i++)
		check_flow(&shot, i, (struct flow){0, 0}, 0);
	take_steps(150);
	drain(topics, &shot);
	for (uint32_t i = 0; i < PIXELS; i++) {
		struct vec3 now = vec3_scale(direction_of(i), 3.5), then = now;
		bool on = flow_at(&shot, i).right != 0;
		then.y -= 0.5 * period_s, then.z -= 0.25 * period_s;
		check_flow(&shot, i, on ? flow_of(now, then) : (struct flow){0, 0}, on ? 1e-5 : 0);
		moved += on;
	}
	cr_assert(moved > 200 && moved < 500, "%u", moved);
	free_shots(&shot, 1);
}

/* Of a box that turns, each point has a velocity of its own. Normals say which face a pixel shows. */
Test(truth, flow_of_what_turns)
{
	static const char text[] = WORLD("0", STATIC_EYE(EYE_OF("e", "depth_camera", "flow normals", "")) BOX_AT(
						      "o", "4 0.5 0 0 0 0.2", "2 2 2", "", MOVING("0 0 0", "0 0 0.8")));
	const struct vec3 middle = {4, 0.5, 0};
	struct shot shots[2] = {{0}};
	uint32_t moved = 0;
	begin(text, both);
	take_steps(600);
	drain(both, shots);
	const struct quat back = quat_from_rpy(0, 0, -0.8 * period_s);
	for (uint32_t i = 0; i < PIXELS; i++) {
		struct vec3 d = direction_of(i), n = normal_at(&shots[1], i);
		if (vec3_length(n) == 0) {
			check_flow(&shots[0], i, (struct flow){0, 0}, 0);
			continue;
		}
		struct vec3 now = vec3_scale(d, (vec3_dot(middle, n) + 1) / vec3_dot(d, n));
		struct vec3 then = vec3_add(middle, quat_rotate(back, vec3_sub(now, middle)));
		check_flow(&shots[0], i, flow_of(now, then), 1e-4);
		moved++;
	}
	cr_assert(moved > 300, "%u", moved);
	free_shots(shots, 2);
}

/* The camera falls: where it was one period before follows from its states, and not from its velocity now, which is
 * 0.08 pixels off. The plate on its own body stands in the picture. */
Test(truth, flow_of_a_camera_that_falls)
{
	static const char text[] = WORLD("-9.8",
		"<model name='m'><link name='l'><visual name='own'><pose>1 0 0 0 0 0</pose><geometry><box><size>0.2 "
		"0.2 "
		"0.2</size></box></geometry></visual>" EYE_OF("e", "camera", "flow", "") "</link></model>" BOX_AT(
			"wall", "5.5 0 0 0 0 0", "1 900 900", "", "<static>1</static>"));
	static const char *const topics[] = {TOPIC("e/flow"), NULL};
	struct shot shot = {0};
	uint32_t still = 0;
	begin(text, topics);
	take_steps(400);
	drain(topics, &shot);
	cr_assert_eq(shot.count, 8);
	double k = round(shot.time_s / step_s), before = k - round(period_s / step_s);
	double fallen = 9.8 * step_s * step_s / 2 * (k * (k + 1) - before * (before + 1));
	for (uint32_t i = 0; i < PIXELS; i++) {
		bool own = flow_at(&shot, i).down == 0;
		check_flow(&shot, i, (struct flow){0, own ? 0 : -focal() / 5 * fallen}, own ? 0 : 1e-5);
		still += own;
	}
	cr_assert(still > 30 && still < 80, "%u", still);
	free_shots(&shot, 1);
}

/* The camera turns to the left at a constant rate: what is infinitely far away moves to the right. A lens with
 * distortion, and a wide one. */
Test(truth, flow_of_the_sky)
{
	static const char text[] = WORLD(
		"0", "<model name='m'><link name='l'>" EYE_OF("e", "camera", "flow", "") EYE_OF(
			     "d", "camera", "flow", "<distortion><k1>-0.05</k1><p1>0.02</p1></distortion>") EYE_OF("f",
			     "wide_angle_camera", "flow", "<lens><type>equidistant</type></lens>") EYE_OF("r", "camera",
			     "flow", "<troupe:readout_time>0.03</troupe:readout_time>") "</link>" MOVING("0 0 0",
			     "0 0 0.5") "</model>");
	static const char *const topics[] = {TOPIC("e/flow"), TOPIC("d/flow"), TOPIC("f/flow"), TOPIC("r/flow"), NULL};
	struct shot shots[4] = {{0}};
	begin(text, topics);
	take_steps(320);
	drain(topics, shots);
	const struct quat turn = quat_from_rpy(0, 0, 0.5 * period_s);
	for (uint32_t i = 0; i < PIXELS; i++) {
		struct vec3 now = direction_of(i), then = quat_rotate(turn, now);
		check_flow(&shots[0], i, flow_of(now, then), 1e-5);
		check_flow(&shots[3], i, flow_of(now, then), 1e-4); /* each row a period apart */
		/* the same way as without distortion, a little shorter or longer */
		struct flow plain = flow_at(&shots[0], i), bent = flow_at(&shots[1], i);
		cr_assert(bent.right > 0.5 * plain.right && bent.right < 1.5 * plain.right, "pixel %u: %g %g", i,
			plain.right, bent.right);
		/* radius and angle are proportional: along the middle row the picture shifts as a whole */
		struct flow wide = flow_at(&shots[2], i);
		if (i / WIDE == HIGH / 2)
			cr_assert(fabs(wide.right - WIDE / 1.57 * 0.5 * period_s) < 0.01, "%g", wide.right);
	}
	uint32_t middle = HIGH / 2 * WIDE + WIDE / 2;
	cr_assert(fabs(flow_at(&shots[1], middle).right - flow_at(&shots[0], middle).right) < 0.02);
	cr_assert(fabs(flow_at(&shots[1], 3).right - flow_at(&shots[0], 3).right) > 0.02, "distortion counts");
	free_shots(shots, 4);
}

/* --- segments ----------------------------------------------------------------------------------------------------- */

#define LABEL(number) "<plugin name='gz::sim::systems::Label' filename='l'><label>" number "</label></plugin>"

/* Those of a camera are those of a segmentation camera in its place. */
Test(truth, segments)
{
	static const char text[] = WORLD("0",
		STATIC_EYE(EYE_OF("e", "camera", "segments", "") EYE_OF(
			"s", "segmentation_camera", "", "<segmentation_type>panoptic</segmentation_type>")
				EYE_OF("b", "boundingbox_camera", "segments normals", ""))
			BOX_AT("o", "4 1 0 0 0 0.3", "1 1 1", "", "<static>1</static>" LABEL("7"))
				BOX_AT("p", "5 -1 0 0 0 0.3", "1 1 1", "", "<static>1</static>" LABEL("7"))
					BOX_AT("q", "6 0 0 0 0 0.3", "1 4 1", "", "<static>1</static>" LABEL("9")));
	static const char *const topics[] = {
		TOPIC("e/segments"), TOPIC("s/segmentation/labels_map"), TOPIC("b/segments"), TOPIC("b/normals"), NULL};
	struct shot shots[4] = {{0}};
	uint32_t seen = 0;
	begin(text, topics);
	take_steps(60);
	drain(topics, shots);
	const Gz__Msgs__Image *expected = shots[1].image;
	for (int i = 0; i < 3; i += 2) {
		const Gz__Msgs__Image *found = shots[i].image;
		cr_assert_eq(found->pixel_format_type, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8);
		cr_assert_eq(found->data.len, expected->data.len);
		cr_assert(!memcmp(found->data.data, expected->data.data, expected->data.len), "%s", topics[i]);
	}
	for (uint32_t i = 0; i < PIXELS; i++) {
		bool labelled = expected->data.data[3 * i + 2] != 0;
		cr_assert_eq(labelled, vec3_length(normal_at(&shots[3], i)) > 0.5, "pixel %u", i);
		seen += labelled;
	}
	cr_assert(seen > 100, "%u", seen);
	free_shots(shots, 4);
}
