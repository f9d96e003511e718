/* The topics and services that only viewers need: pictures are the state that the library gives, by the ids of the
 * scene; the work of secondaries adds up; contacts and components; the state of one model and its sensors; boxes of
 * levels; triangles of meshes and heightmaps, of files that the world names and of no others. */
#include "clients.h"

#include "mesh/image_head.h"
#include "mesh/png_out.h"
#include "sensor/rays.h"
#include "server/viewer.h"
#include "topic/scene.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <sys/stat.h>
#include <unistd.h>

TestSuite(viewer, .fini = clients_end, .timeout = 120);

static uint64_t tags;

/* Calls the service and takes steps until the reply is here. */
static void *ask(struct troupe_server *server, struct troupe_client *client, const char *service, const char *type,
	const char *text, struct troupe_message *ret_message)
{
	request(client, service, type, text, ++tags);
	lib_step(server, 1);
	cr_assert(answer(client, tags, ret_message), "%s: no reply", service);
	return ret_message->status ? NULL : decode(ret_message);
}

static void expect_link(const struct troupe_server *server, const Troupe__Msgs__View *view, uint32_t id,
	const char *model, const char *link)
{
	struct troupe_pose pose = lib_link_at(server, lib_link(server, model, link)).pose;
	const double expected[] = {pose.x, pose.y, pose.z, pose.qx, pose.qy, pose.qz, pose.qw};
	size_t at = 0;
	while (at < view->n_link && view->link[at] != id)
		at++;
	cr_assert_lt(at, view->n_link, "%s %s", model, link);
	for (size_t i = 0; i < 7; i++)
		cr_assert_eq(view->pose[7 * at + i], (float)expected[i], "%s %s: %zu", model, link, i);
}

/* The last message of the topic. */
static void *last_of(struct troupe_client *client, const char *topic)
{
	struct troupe_message message;
	void *last = NULL;
	while (troupe_client_take(client, 0, &message)) {
		if (strcmp(message.topic, topic))
			continue;
		message_free(last);
		last = decode(&message);
	}
	cr_assert(last, "%s: no message", topic);
	return last;
}

Test(viewer, pictures_are_the_state)
{
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		struct troupe_client *client = client_of(server, 1000);
		struct troupe_message message;
		uint32_t moving = 0;
		subscribe(client, "/world/w/view", 0);
		lib_text(server, 0, "/model/cart/cmd_vel", "linear {x: 1}");
		lib_step(server, 500); /* the message at 500 is of state 500 */
		Troupe__Msgs__View *view = last_of(client, "/world/w/view");
		Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
		cr_assert_eq(view->step, 500u);
		cr_assert_eq(view->n_pose, 7 * view->n_link);
		cr_assert_eq(view->n_model, view->n_status);
		message_free(&view->base);
		lib_step(server, 1);
		view = last_of(client, "/world/w/view");
		cr_assert_eq(view->step, lib_steps(server));
		for (size_t m = 0; m < scene->n_model; m++) {
			bool found = false;
			for (size_t i = 0; i < view->n_model; i++)
				found |= view->model[i] == scene->model[m]->id &&
					 (view->status[i] & 0xffff) <= (uint32_t)secondaries;
			cr_assert_neq(found, scene->model[m]->is_static, "%s", scene->model[m]->name);
			for (size_t l = 0; l < scene->model[m]->n_link && found; l++, moving++)
				expect_link(server, view, scene->model[m]->link[l]->id, scene->model[m]->name,
					scene->model[m]->link[l]->name);
		}
		cr_assert_eq(view->n_link, moving);
		message_free(&view->base);
		message_free(&scene->base);
		client_destroy(client);
		lib_destroy(server);
	}
}

Test(viewer, a_sleeping_model_is_marked)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 1000);
	subscribe(client, "/world/w/view", 1);
	lib_step(server, 5000);
	Troupe__Msgs__View *view = last_of(client, "/world/w/view");
	uint32_t asleep = 0, awake = 0;
	for (size_t i = 0; i < view->n_model; i++)
		*(view->status[i] >> 31 ? &asleep : &awake) += 1;
	cr_assert(asleep && awake, "%u asleep, %u awake", asleep, awake); /* the crate; the swing */
	message_free(&view->base);
}

static double pace_of(struct troupe_server *server, const char *command)
{
	struct troupe_client *client = client_of(server, 1000);
	lib_text(server, 0, "/world/w/set_physics", command);
	subscribe(client, "/world/w/secondaries", 0);
	lib_step(server, 200);
	Troupe__Msgs__Secondaries *work = last_of(client, "/world/w/secondaries");
	double pace = work->pace;
	message_free(&work->base);
	client_destroy(client);
	return pace;
}

/* A page shows it, whoever has changed it. */
Test(viewer, pace_that_was_set)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	cr_assert_eq(pace_of(server, "real_time_factor: 500"), 500);
	cr_assert_eq(pace_of(server, "max_step_size: 0.002"), 500);
	cr_assert_eq(pace_of(server, "real_time_factor: 0"), 0);
}

Test(viewer, work_of_the_secondaries)
{
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		struct troupe_client *client = client_of(server, 1000);
		subscribe(client, "/world/w/secondaries", 0);
		lib_step(server, 2000);
		Troupe__Msgs__Secondaries *work = last_of(client, "/world/w/secondaries");
		cr_assert_eq(work->n_secondary, (size_t)(secondaries ? secondaries : 1));
		cr_assert_eq(work->step, 2000u);
		uint32_t models = 0;
		for (size_t i = 0; i < work->n_secondary; i++) {
			cr_assert_eq(work->secondary[i]->number, secondaries ? i + 1 : 0);
			cr_assert_eq(work->secondary[i]->steps, 2000u);
			cr_assert_gt(work->secondary[i]->busy_s, 0);
			cr_assert_leq(work->secondary[i]->busy_s, work->real_time_s);
			models += work->secondary[i]->models;
		}
		cr_assert_eq(models, 6u); /* cart, arm, pusher, crate, falling, swing */
		message_free(&work->base);
		client_destroy(client);
		lib_destroy(server);
	}
}

/* Two crates touch each other, and stand on the ground beside one that touches nothing else. */
static const char crates[] = LIB_SDF(
	LIB_WORLD("w", LIB_MODEL("left", "0 0 0.25 0 0 0", LIB_BOX) LIB_MODEL("right", "0.49 0 0.25 0 0 0", LIB_BOX)
			       LIB_MODEL("far", "3 0 0.25 0 0 0", LIB_BOX)));

static void see_contact_count(void *ctx, const struct troupe_snapshot *snapshot)
{
	*(uint32_t *)ctx = snapshot->contact_count;
}

static uint32_t contacts_of(struct troupe_server *server)
{
	uint32_t count = UINT32_MAX;
	troupe_server_look(server, see_contact_count, &count);
	return count;
}

static const char *name_of(const Gz__Msgs__Scene *scene, uint32_t id)
{
	for (size_t m = 0; m < scene->n_model; m++)
		if (scene->model[m]->id == id)
			return scene->model[m]->name;
	return "";
}

/* The wrong code would tell of contacts that nobody noted, note them for ever, or change a bit of the state. */
Test(viewer, contacts_and_components)
{
	uint64_t hashes[3][2];
	for (int secondaries = 0; secondaries <= 2; secondaries++)
		for (int watched = 0; watched < 2; watched++) {
			struct troupe_server *server = lib_server(crates, secondaries);
			struct troupe_client *client = client_of(server, 1000);
			struct troupe_message message;
			if (watched)
				subscribe(client, "/world/w/touching", 0);
			lib_step(server, 200);
			hashes[secondaries][watched] = troupe_server_hash(server);
			if (!watched) {
				cr_assert_eq(contacts_of(server), 0u);
				client_destroy(client);
				lib_destroy(server);
				continue;
			}
			Troupe__Msgs__Touching *touching = last_of(client, "/world/w/touching");
			uint32_t floor = 0, sides = 0;
			cr_assert_eq(touching->contact_count, touching->n_contact / VIEWER_CONTACT_NUMBERS);
			for (size_t i = 0; i < touching->n_contact; i += VIEWER_CONTACT_NUMBERS) {
				const float *at = touching->contact + i;
				bool upright = fabsf(at[5]) > 0.99f;
				cr_assert_float_eq(at[3] * at[3] + at[4] * at[4] + at[5] * at[5], 1, 1e-5);
				floor += upright && fabsf(at[2]) < 0.02f;
				sides += fabsf(at[3]) > 0.99f && fabsf(at[0] - 0.25f) < 0.1f;
			}
			cr_assert_geq(floor, 10u); /* of 12: the two are pushed apart, and a corner may lift */
			cr_assert(sides);
			Gz__Msgs__Scene *scene =
				ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
			cr_assert_eq(touching->n_model, 2u);
			cr_assert_eq(touching->n_component, 2u);
			cr_assert_str_eq(name_of(scene, touching->model[0]), "left");
			cr_assert_str_eq(name_of(scene, touching->model[1]), "right");
			cr_assert(touching->component[0] == 0 && touching->component[1] == 0);
			message_free(&scene->base);
			message_free(&touching->base);
			cr_assert(contacts_of(server));
			client_destroy(client);
			lib_step(server, 2);
			cr_assert_eq(contacts_of(server), 0u, "they are noted while somebody watches");
			lib_destroy(server);
		}
	for (int i = 0; i < 6; i++)
		cr_assert_eq(hashes[i / 2][i % 2], hashes[0][0], "%d", i);
}

/* Who begins to watch when all models sleep sees the same contacts as who watched from the beginning, and changes no
 * bit of the state. The step that the contacts take would be seen in the next ones. */
Test(viewer, contacts_of_models_that_sleep)
{
	enum { UNTIL_ALL_SLEEP = 3000, MORE = 100 };
	uint32_t counts[2];
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		uint64_t hashes[2];
		for (int late = 0; late < 2; late++) {
			struct troupe_server *server = lib_server(crates, secondaries);
			struct troupe_client *client = client_of(server, 1000);
			if (!late)
				subscribe(client, "/world/w/touching", 0);
			lib_step(server, UNTIL_ALL_SLEEP);
			struct troupe_model_state far;
			cr_assert(troupe_get_model(server, lib_model(server, "far"), &far) && far.asleep);
			if (late)
				subscribe(client, "/world/w/touching", 0);
			lib_step(server, MORE);
			Troupe__Msgs__Touching *touching = last_of(client, "/world/w/touching");
			counts[late] = touching->contact_count;
			message_free(&touching->base);
			lib_text(server, 0, "/world/w/set_pose", "name: 'far' position {x: 0.2 z: 2}");
			lib_step(server, UNTIL_ALL_SLEEP);
			hashes[late] = troupe_server_hash(server);
			client_destroy(client);
			lib_destroy(server);
		}
		cr_assert(counts[0] >= 12, "%u contacts", counts[0]); /* of three crates with the ground, at least */
		cr_assert_eq(counts[1], counts[0], "%u late, %u from the beginning", counts[1], counts[0]);
		cr_assert_eq(hashes[1], hashes[0]);
	}
}

Test(viewer, the_state_of_one_model)
{
	struct troupe_server *server = lib_server(lib_all, 2);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	char text[40];
	lib_text(server, 0, "/model/cart/cmd_vel", "linear {x: 1}");
	lib_step(server, 3000);
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	for (size_t m = 0; m < scene->n_model; m++) {
		const Gz__Msgs__Model *model = scene->model[m];
		(void)snprintf(text, sizeof text, "data: %u", model->id);
		uint64_t before = lib_steps(server);
		Troupe__Msgs__ModelState *state =
			ask(server, client, "/world/w/model", "gz.msgs.UInt32", text, &message);
		cr_assert_str_eq(state->name, model->name);
		cr_assert_eq(state->id, model->id);
		cr_assert_eq(state->is_static, model->is_static);
		cr_assert_geq(state->step, before);
		cr_assert_eq(state->n_joint, model->is_static ? 0 : model->n_joint);
		if (!strcmp(model->name, "cart")) {
			cr_assert_float_eq(state->linear->x, 1, 0.02);
			cr_assert_gt(state->pose->position->x, 2);
			cr_assert_str_eq(state->joint[0]->name, "left_joint");
			cr_assert_float_eq(state->joint[0]->velocity[0], 1 / 0.15, 0.1);
			cr_assert_gt(state->joint[0]->position[0], 10);
			cr_assert_geq(state->secondary, 1u);
		}
		message_free(&state->base);
	}
	message_free(&scene->base);
	cr_assert_null(ask(server, client, "/world/w/model", "gz.msgs.UInt32", "data: 4000000000", &message));
	cr_assert_eq(message.status, TROUPE_ECOMMAND);
	cr_assert(strstr(message.text, "4000000000"), "'%s'", message.text);
}

/* The names say which model and sensor they are of; `sonar` is not simulated; the second model has its own topics. */
static const char with_sensors[] = LIB_SDF(LIB_WORLD("w",
	LIB_MODEL("plain", "9 9 9 0 0 0", "<link name='l'/>") LIB_MODEL("probe", "0 0 50 0 0 0",
		"<link name='l'><sensor name='eye' type='sonar'/><sensor name='height' type='altimeter'><pose>0.25 0 0 "
		"0 0 "
		"0</pose><update_rate>100</update_rate><topic>/up</topic><enable_metrics>true</enable_metrics></"
		"sensor><sensor name='motion' type='imu'/></link>")
		LIB_MODEL("other", "0 0 9 0 0 0", "<link name='l'><sensor name='motion' type='imu'/></link>")));

static Troupe__Msgs__ModelSensors *ask_sensors(struct troupe_server *server, struct troupe_client *client,
	const char *model, struct troupe_message *ret_message)
{
	char text[40];
	uint32_t id = 0;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", ret_message);
	for (size_t m = 0; m < scene->n_model; m++)
		if (!strcmp(scene->model[m]->name, model))
			id = scene->model[m]->id;
	message_free(&scene->base);
	(void)snprintf(text, sizeof text, "data: %u", id);
	return ask(server, client, "/world/w/model/sensors", "gz.msgs.UInt32", text, ret_message);
}

Test(viewer, the_sensors_of_one_model)
{
	struct troupe_server *server = lib_server(with_sensors, 1);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	Troupe__Msgs__ModelSensors *found = ask_sensors(server, client, "probe", &message);
	cr_assert_str_eq(found->name, "probe");
	cr_assert_eq(found->n_sensor, 3u);
	const Troupe__Msgs__ModelSensors__Sensor *sensor = found->sensor[0];
	cr_assert_str_eq(sensor->name, "l::eye");
	cr_assert_str_eq(sensor->type, "sonar");
	cr_assert_eq(sensor->n_topic, 0u);
	sensor = found->sensor[1];
	cr_assert_str_eq(sensor->name, "l::height");
	cr_assert_eq(sensor->rate_hz, 100);
	cr_assert_not(sensor->on_trigger);
	cr_assert_eq(sensor->n_topic, 2u);
	cr_assert_str_eq(sensor->topic[0]->name, "/up");
	cr_assert_str_eq(sensor->topic[0]->type, "gz.msgs.Altimeter");
	cr_assert_str_eq(sensor->topic[1]->name, "/up/performance_metrics");
	sensor = found->sensor[2];
	cr_assert_str_eq(sensor->type, "imu");
	cr_assert_eq(sensor->rate_hz, 0);
	cr_assert_not(sensor->on_trigger);
	cr_assert_eq(sensor->n_topic, 1u);
	cr_assert_str_eq(sensor->topic[0]->name, "/world/w/model/probe/link/l/sensor/motion/imu");
	message_free(&found->base);
	found = ask_sensors(server, client, "other", &message);
	cr_assert_eq(found->n_sensor, 1u);
	cr_assert_str_eq(found->sensor[0]->topic[0]->name, "/world/w/model/other/link/l/sensor/motion/imu");
	message_free(&found->base);
	found = ask(
		server, client, "/world/w/sensor", "gz.msgs.StringMsg", "data: '/up/performance_metrics'", &message);
	cr_assert_eq(found->n_sensor, 1u);
	cr_assert_str_eq(found->name, "probe");
	cr_assert_str_eq(found->sensor[0]->name, "l::height");
	cr_assert(found->sensor[0]->link);
	cr_assert_eq(found->sensor[0]->pose->position->x, 0.25);
	cr_assert_eq(found->sensor[0]->n_topic, 2u);
	message_free(&found->base);
	/* a topic of no sensor; one that does not exist */
	cr_assert_null(ask(server, client, "/world/w/sensor", "gz.msgs.StringMsg", "data: '/clock'", &message));
	cr_assert_null(ask(server, client, "/world/w/sensor", "gz.msgs.StringMsg", "data: '/nothing'", &message));
	cr_assert(strstr(message.text, "/nothing"), "'%s'", message.text);
	found = ask_sensors(server, client, "plain", &message);
	cr_assert_eq(found->n_sensor, 0u);
	message_free(&found->base);
	cr_assert_null(ask(server, client, "/world/w/model/sensors", "gz.msgs.UInt32", "data: 4000000000", &message));
	cr_assert_eq(message.status, TROUPE_ECOMMAND);
	client_destroy(client);
	lib_destroy(server);
}

/* Cameras need the tree of boxes for their rays. */
Test(viewer, a_camera_that_waits_for_a_trigger)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	struct troupe_server *server = lib_server(
		LIB_SDF(LIB_WORLD("w", LIB_MODEL("probe", "0 0 9 0 0 0",
					       "<link name='l'><sensor name='eye' "
					       "type='camera'><update_rate>10</update_rate><camera><triggered>true</"
					       "triggered><trigger_topic>/now</trigger_topic><image><width>8</"
					       "width><height>6</height></image></camera></sensor></link>"))),
		1);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	Troupe__Msgs__ModelSensors *found = ask_sensors(server, client, "probe", &message);
	cr_assert_eq(found->n_sensor, 1u);
	cr_assert(found->sensor[0]->on_trigger);
	cr_assert_eq(found->sensor[0]->rate_hz, 10);
	uint32_t packed = png_out_is_available();
	cr_assert_eq(found->sensor[0]->n_topic, 2u + packed);
	cr_assert_str_eq(found->sensor[0]->topic[0]->type, "gz.msgs.Image");
	cr_assert_str_eq(found->sensor[0]->topic[1]->type, "gz.msgs.CameraInfo");
	cr_assert(!packed || !strcmp(found->sensor[0]->topic[2]->type, "troupe.msgs.CompressedImage"));
	message_free(&found->base);
	client_destroy(client);
	lib_destroy(server);
}

#define LEVELS                                                                                                         \
	"<plugin name='gz::sim' filename='x'><performer name='p'><ref>cart</ref><geometry><box><size>1 1 "             \
	"1</size></box></geometry></performer><level name='near'><pose>1 2 3 0 0 0</pose><geometry><box><size>20 10 "  \
	"8</size></box></geometry><buffer>2.5</buffer><ref>pusher</ref></level><level name='far'><pose>500 0 0 0 0 "   \
	"0</pose><geometry><box><size>20 10 8</size></box></geometry><ref>crate</ref></level></plugin>"

Test(viewer, levels_have_boxes)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LIB_ALL LEVELS)), 2);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	subscribe(client, "/world/w/levels", 0);
	lib_step(server, 1);
	Troupe__Msgs__Levels *levels = last_of(client, "/world/w/levels");
	cr_assert_null(levels->level[0]->size);
	cr_assert_eq(levels->step, lib_steps(server));
	message_free(&levels->base);
	lib_step(server, 100);
	levels = ask(server, client, "/world/w/levels", "gz.msgs.Empty", "", &message);
	cr_assert(levels->step >= 101 && levels->step <= lib_steps(server), "%u", (unsigned)levels->step);
	cr_assert_eq(levels->n_level, 2u);
	cr_assert_str_eq(levels->level[0]->name, "near");
	cr_assert(levels->level[0]->loaded && !levels->level[1]->loaded);
	cr_assert_float_eq(levels->level[0]->centre->y, 2, 1e-9);
	cr_assert_float_eq(levels->level[0]->size->x, 20, 1e-9);
	cr_assert_float_eq(levels->level[0]->size->z, 8, 1e-9);
	cr_assert_float_eq(levels->level[0]->buffer, 2.5, 1e-9);
	cr_assert_float_eq(levels->level[1]->centre->x, 500, 1e-9);
	message_free(&levels->base);
}

/* --- meshes ------------------------------------------------------------------------------------------------------- */

static char folder[40];

static const char *write_file(const char *name, const char *bytes, size_t count)
{
	static char path[80];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "wb");
	cr_assert(file);
	cr_assert_eq(fwrite(bytes, 1, count, file), count);
	cr_assert_eq(fclose(file), 0);
	return path;
}

static void remove_files(const char *const *names, size_t count)
{
	char path[80];
	for (size_t i = 0; i < count; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		cr_assert_eq(unlink(path), 0);
	}
	cr_assert_eq(rmdir(folder), 0);
}

static const char pyramid[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n";

static struct troupe_server *meshed(void)
{
	char sdf[2000];
	(void)snprintf(folder, sizeof folder, "/tmp/test_viewer.XXXXXX");
	cr_assert(mkdtemp(folder));
	(void)write_file("pyramid.obj", pyramid, sizeof pyramid - 1);
	(void)write_file("other.obj", pyramid, sizeof pyramid - 1);
	(void)write_file("broken.obj", "f f f", 5);
	(void)snprintf(sdf, sizeof sdf,
		LIB_SDF(LIB_WORLD("w",
			"<model name='m'><static>true</static><link name='l'><visual "
			"name='v'><geometry><mesh><uri>%s/pyramid.obj</uri><scale>2 3 "
			"4</scale></mesh></geometry></visual><visual "
			"name='b'><geometry><mesh><uri>%s/broken.obj</uri></mesh></geometry></visual></link></model>")),
		folder, folder);
	static const char *const folders[] = {folder, NULL};
	struct troupe_server_def def = lib_def(sdf, 1);
	def.resource_paths = folders;
	return lib_create(&def);
}

/* Of the body that triangles enclose. */
static double volume_of(const Troupe__Msgs__Mesh *mesh)
{
	double sum = 0;
	for (size_t i = 0; i + 2 < mesh->n_corner; i += 3) {
		struct vec3 p[3];
		for (int c = 0; c < 3; c++) {
			const float *at = mesh->point + 3 * (size_t)mesh->corner[i + (size_t)c];
			p[c] = (struct vec3){(double)at[0], (double)at[1], (double)at[2]};
		}
		sum += vec3_dot(p[0], vec3_cross(p[1], p[2])) / 6;
	}
	return sum;
}

static void is_colour(const Gz__Msgs__Color *found, float r, float g, float b, const char *what)
{
	cr_assert(found, "no %s", what);
	cr_assert(found->r == r && found->g == g && found->b == b && found->a == 1, "%s: %g %g %g %g", what,
		(double)found->r, (double)found->g, (double)found->b, (double)found->a);
}

/* What a world says of a visual and of a light, a page is told; and what Gazebo assumes where it says nothing. */
Test(viewer, the_look_of_shapes_and_lights)
{
	struct troupe_server *server = lib_server(
		LIB_SDF(LIB_WORLD("w",
			"<light name='lamp' type='spot'><pose>1 2 3 0 0 0</pose><diffuse>1 0.5 0.25 "
			"1</diffuse><specular>0.125 0.25 0.5 "
			"1</specular><attenuation><range>30</range><constant>0.5</constant><linear>0.25</"
			"linear><quadratic>0.125</quadratic></attenuation><direction>0 0.6 "
			"-0.8</direction><cast_shadows>1</cast_shadows><spot><inner_angle>0.25</"
			"inner_angle><outer_angle>0.75</outer_angle><falloff>2</falloff></spot><intensity>1.5</"
			"intensity><light_on>0</light_on></light><model name='m'><static>true</static><link "
			"name='l'><visual "
			"name='all'><geometry><sphere><radius>1</radius></sphere></geometry><cast_shadows>0</"
			"cast_shadows><transparency>0.25</transparency><laser_retro>150</"
			"laser_retro><meta><layer>-2</layer></meta><material><ambient>0.5 0.25 0.125 "
			"1</ambient><diffuse>0.25 0.5 1 1</diffuse><specular>1 0.5 0 1</specular><emissive>0 "
			"0.125 0 1</emissive></material></visual><visual "
			"name='none'><geometry><sphere><radius>1</radius></sphere></geometry></visual><visual "
			"name='script'><geometry><sphere><radius>1</radius></sphere></"
			"geometry><material><script><uri>u</uri><name>Gazebo/BlueTransparent</name></script></"
			"material></visual></link></model>")),
		1);
	struct troupe_client *client = client_of(server, 256);
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	cr_assert(scene && scene->n_light == 1, "%s", message.text);
	const Gz__Msgs__Link *link = scene->model[scene->n_model - 1]->link[0];
	cr_assert(link->n_visual == 3);
	const Gz__Msgs__Visual *all = link->visual[0], *none = link->visual[1], *script = link->visual[2];
	cr_assert_str_eq(all->name, "all");
	cr_assert(!all->cast_shadows && all->transparency == 0.25 && all->laser_retro == 150 && all->meta->layer == -2);
	is_colour(all->material->ambient, 0.5F, 0.25F, 0.125F, "ambient");
	is_colour(all->material->diffuse, 0.25F, 0.5F, 1, "diffuse");
	is_colour(all->material->specular, 1, 0.5F, 0, "specular");
	is_colour(all->material->emissive, 0, 0.125F, 0, "emissive");
	is_colour(script->material->ambient, 0, 0, 1, "ambient of a script");
	const Gz__Msgs__Color *paint = script->material->diffuse;
	cr_assert(paint->r == 0 && paint->g == 0 && paint->b == 1 && paint->a == 0.5F, "diffuse of a script");
	cr_assert(none->cast_shadows && none->transparency == 0 && none->laser_retro == 0 && none->meta->layer == 0);
	const Gz__Msgs__Light *lamp = scene->light[0];
	cr_assert(lamp->type == GZ__MSGS__LIGHT__LIGHT_TYPE__SPOT && lamp->cast_shadows && lamp->is_light_off);
	cr_assert(lamp->pose->position->x == 1 && lamp->pose->position->y == 2 && lamp->pose->position->z == 3);
	is_colour(lamp->diffuse, 1, 0.5F, 0.25F, "diffuse of the light");
	is_colour(lamp->specular, 0.125F, 0.25F, 0.5F, "specular of the light");
	cr_assert(lamp->range == 30 && lamp->attenuation_constant == 0.5F && lamp->attenuation_linear == 0.25F &&
		  lamp->attenuation_quadratic == 0.125F);
	cr_assert(lamp->spot_inner_angle == 0.25F && lamp->spot_outer_angle == 0.75F && lamp->spot_falloff == 2 &&
		  lamp->intensity == 1.5F);
	cr_assert(fabs(lamp->direction->y - 0.6) < 1e-12 && fabs(lamp->direction->z + 0.8) < 1e-12);
	message_free(&scene->base);
}

/* An actor is no model of the file: a page has its shapes all the same, or there would be nothing to see. */
Test(viewer, the_shapes_of_an_actor)
{
	struct troupe_server *server =
		lib_server(LIB_SDF(LIB_WORLD("w",
				   "<actor name='walker'><pose>3 0 1 0 0 0</pose><link name='trunk'><pose>0 0 0.5 0 0 "
				   "0</pose><collision name='c'><pose>0 0.25 0 0 0 "
				   "0</pose><geometry><cylinder><radius>0.3</radius><length>1.6</length></cylinder></"
				   "geometry></collision><collision name='head'><geometry><box><size>0.25 0.5 "
				   "1</size></box></geometry></collision></link><script><trajectory id='0' "
				   "type='walk'><waypoint><time>0</time><pose>0 0 0 0 0 "
				   "0</pose></waypoint></trajectory></script></actor>")),
			1);
	struct troupe_client *client = client_of(server, 256);
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	cr_assert(scene, "%s", message.text);
	const Gz__Msgs__Model *walker = NULL;
	for (size_t i = 0; i < scene->n_model; i++)
		if (!strcmp(scene->model[i]->name, "walker"))
			walker = scene->model[i];
	cr_assert(walker && walker->n_link == 1 && walker->link[0]->n_collision == 2);
	const Gz__Msgs__Collision *trunk = walker->link[0]->collision[0], *head = walker->link[0]->collision[1];
	cr_assert_str_eq(trunk->name, "c");
	cr_assert_str_eq(head->name, "head");
	cr_assert_float_eq(trunk->geometry->cylinder->radius, 0.3, 1e-12);
	cr_assert_float_eq(trunk->geometry->cylinder->length, 1.6, 1e-12);
	cr_assert_float_eq(trunk->pose->position->y, 0.25, 1e-12);
	cr_assert_float_eq(trunk->pose->position->z, 0, 1e-12);
	cr_assert_float_eq(head->geometry->box->size->y, 0.5, 1e-12);
	message_free(&scene->base);
}

/* An L, which is concave, as a visual alone and as a collision; and a square with a hole. */
#define L_POINTS                                                                                                       \
	"<point>0 0</point><point>2 0</point><point>2 1</point><point>1 1</point><point>1 2</point><point>0 2</point>"
#define L_GEOMETRY(height) "<geometry><polyline><height>" height "</height>" L_POINTS "</polyline></geometry>"

static void keep_mesh(void *ctx, const void *mesh, size_t count)
{
	text_add_bytes(ctx, mesh, count);
}

/* The server gives a program the triangles of a shape; not of a box, or of bytes that are no geometry. */
static void check_triangles(struct troupe_server *server, const Gz__Msgs__Geometry *shape, double volume)
{
	struct text geometry = {0}, triangles = {0};
	struct troupe_error error;
	ProtobufCMessage *mesh;
	message_add_bytes(&geometry, &shape->base);
	troupe_status status =
		troupe_geometry_triangles(server, geometry.at, geometry.count, keep_mesh, &triangles, &error);
	cr_assert(!status, "%s", error.text);
	cr_assert(!message_of_bytes(
		&troupe__msgs__mesh__descriptor, triangles.at, triangles.count, &message_limits_usual, &mesh, &error));
	cr_expect_float_eq(volume_of((const Troupe__Msgs__Mesh *)mesh), volume, 1e-5);
	cr_assert_eq(troupe_geometry_triangles(server, "", 0, keep_mesh, &triangles, &error), TROUPE_ECOMMAND);
	cr_assert_eq(troupe_geometry_triangles(server, "\xff", 1, keep_mesh, &triangles, &error), TROUPE_ECOMMAND);
	message_free(mesh);
	text_fini(&geometry);
	text_fini(&triangles);
}

Test(viewer, triangles_of_a_polyline)
{
	struct troupe_server *server = lib_server(
		LIB_SDF(LIB_WORLD("w", "<model name='m'><static>true</static><link name='l'><visual "
				       "name='v'>" L_GEOMETRY("0.5") "</visual><collision name='c'>" L_GEOMETRY(
					       "3") "</collision><visual "
						    "name='h'><geometry><polyline><height>1</height><point>0 "
						    "0</point><point>4 0</point><point>4 4</point><point>0 "
						    "4</point></polyline><polyline><point>1 1</point><point>2 "
						    "1</point><point>2 2</point><point>1 "
						    "2</point></polyline></geometry></visual></link></model>")),
		1);
	struct troupe_client *client = client_of(server, 1000);
	const double l_area = 2.0 * 2.0 - 1.0 * 1.0, ring_area = 4.0 * 4.0 - 1.0 * 1.0;
	const double volumes[] = {3 * l_area, 0.5 * l_area, ring_area}; /* collisions come first */
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	cr_assert(scene, "%s", message.text);
	const Gz__Msgs__Link *link = scene->model[scene->n_model - 1]->link[0];
	cr_assert(link->n_collision == 1 && link->n_visual == 2, "%zu %zu", link->n_collision, link->n_visual);
	const Gz__Msgs__Geometry *shapes[] = {
		link->collision[0]->geometry, link->visual[0]->geometry, link->visual[1]->geometry};
	for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
		struct text text = {0};
		message_add_text(&text, &shapes[i]->base, MESSAGE_LINE);
		Troupe__Msgs__Mesh *mesh =
			ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text.at, &message);
		cr_assert(mesh, "%s: %s", text.at, message.text);
		cr_assert_float_eq(volume_of(mesh), volumes[i], 1e-5, "%s: %g", text.at, volume_of(mesh));
		message_free(&mesh->base);
		text_fini(&text);
	}
	check_triangles(server, shapes[1], volumes[1]);
	/* an outline that the world does not have */
	cr_assert_null(ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry",
		"type: POLYLINE polyline {height: 0.5 point {x: 1} point {y: 1} point {x: 1 y: 1}}", &message));
	cr_assert_eq(message.status, TROUPE_ECOMMAND);
	message_free(&scene->base);
}

Test(viewer, triangles_of_a_mesh)
{
	struct troupe_server *server = meshed();
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	char text[200];
	(void)snprintf(
		text, sizeof text, "type: MESH mesh {filename: '%s/pyramid.obj' scale {x: 2 y: 3 z: 4}}", folder);
	Troupe__Msgs__Mesh *mesh = ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text, &message);
	cr_assert(mesh, "%s", message.text);
	cr_assert_eq(mesh->n_point, 12u);
	cr_assert_eq(mesh->n_corner, 12u);
	float far[3] = {0};
	for (size_t i = 0; i < mesh->n_point; i++)
		far[i % 3] = fmaxf(far[i % 3], mesh->point[i]);
	cr_assert(far[0] == 2 && far[1] == 3 && far[2] == 4);
	for (size_t i = 0; i < mesh->n_corner; i++)
		cr_assert_lt(mesh->corner[i], 4u);
	message_free(&mesh->base);
	/* what the scene does not have is not read: another scale, another file */
	(void)snprintf(
		text, sizeof text, "type: MESH mesh {filename: '%s/pyramid.obj' scale {x: 1 y: 1 z: 1}}", folder);
	cr_assert_null(ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text, &message));
	(void)snprintf(text, sizeof text, "type: MESH mesh {filename: '%s/other.obj' scale {x: 2 y: 3 z: 4}}", folder);
	cr_assert_null(ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text, &message));
	cr_assert_eq(message.status, TROUPE_ECOMMAND);
	(void)snprintf(text, sizeof text, "type: MESH mesh {filename: '%s/broken.obj' scale {x: 1 y: 1 z: 1}}", folder);
	cr_assert_null(ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text, &message));
	cr_assert(strstr(message.text, "broken.obj"), "'%s'", message.text);
	cr_assert_null(ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", "", &message));
	client_destroy(client);
	lib_destroy(server);
	remove_files((const char *const[]){"pyramid.obj", "other.obj", "broken.obj"}, 3);
}

#define PART(name, scale, submesh)                                                                                     \
	"<visual name='" name "'><geometry><mesh><uri>named.obj</uri><scale>" scale "</scale>" submesh                 \
	"</mesh></geometry></visual>"
#define SUBMESH(name, center) "<submesh><name>" name "</name><center>" center "</center></submesh>"

static bool is_inside(const Troupe__Msgs__Mesh *mesh, const double low[3], const double high[3])
{
	double lower[3] = {INFINITY, INFINITY, INFINITY}, upper[3] = {-INFINITY, -INFINITY, -INFINITY};
	bool same = mesh->n_point > 0;
	for (size_t i = 0; i < mesh->n_point; i++) {
		lower[i % 3] = fmin(lower[i % 3], (double)mesh->point[i]);
		upper[i % 3] = fmax(upper[i % 3], (double)mesh->point[i]);
	}
	for (size_t a = 0; a < 3; a++)
		same &= fabs(lower[a] - low[a]) < 1e-6 && fabs(upper[a] - high[a]) < 1e-6;
	return same;
}

/* Shapes of one file, each of which is like another one but for its part, its place or its scale. */
Test(viewer, triangles_of_parts_of_a_file)
{
	static const struct {
		double low[3], high[3];
	} expected[] = {{{0, 0, 0}, {1, 1, 1}}, {{2, 0, 0}, {3, 1, 1}}, {{-0.5, -0.5, -0.5}, {0.5, 0.5, 0.5}},
		{{2, 0, 0}, {3, 2, 1}}, {{2, 0, 0}, {3, 1, 2}}, {{4, 0, 0}, {6, 1, 1}}, {{0, 0, 0}, {5, 1, 1}}};
	static const char *const others[] = {"submesh: 'Wing' center_submesh: true scale {x: 1 y: 1 z: 1}",
		"submesh: 'Wing' scale {x: 1 y: 2 z: 1}", "center_submesh: true scale {x: 1 y: 1 z: 1}",
		"submesh: 'Lef' scale {x: 1 y: 1 z: 1}", "submesh: 'Left'"};
	static const char *const folders[] = {SOURCE_DIR "/tests/data/mesh", NULL};
	struct troupe_server_def def = lib_def(
		LIB_SDF(LIB_WORLD("w",
			"<model name='m'><static>true</static><link name='l'>" PART(
				"0", "1 1 1", SUBMESH("Wing", "false")) PART("1", "1 1 1", SUBMESH("Left", "false"))
				PART("2", "1 1 1", SUBMESH("Left", "true")) PART("3", "1 2 1", SUBMESH("Left", "false"))
					PART("4", "1 1 2", SUBMESH("Left", "false")) PART("5", "2 1 1",
						SUBMESH("Left", "false")) PART("6", "1 1 1", "") "</link></model>")),
		1);
	def.resource_paths = folders;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	const Gz__Msgs__Link *link = scene->model[scene->n_model - 1]->link[0];
	cr_assert_eq(link->n_visual, ARRAY_LEN(expected));
	for (size_t i = 0; i < link->n_visual; i++) {
		struct text text = {0};
		message_add_text(&text, &link->visual[i]->geometry->base, MESSAGE_LINE);
		Troupe__Msgs__Mesh *mesh =
			ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text.at, &message);
		cr_assert(mesh, "%s", message.text);
		cr_assert(is_inside(mesh, expected[i].low, expected[i].high), "%s", text.at);
		message_free(&mesh->base);
		text_fini(&text);
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		char words[400];
		(void)snprintf(
			words, sizeof words, "type: MESH mesh {filename: '%s/named.obj' %s}", folders[0], others[i]);
		cr_assert_null(
			ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", words, &message), "%s", words);
		cr_assert_eq(message.status, TROUPE_ECOMMAND, "%s", words);
	}
	message_free(&scene->base);
}

/* --- images ------------------------------------------------------------------------------------------------------- */

/* What a viewer looks at of a PNG: the rest is the browser's. */
static void write_png(const char *name, uint32_t width, uint32_t height)
{
	char bytes[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR________";
	for (int i = 0; i < 4; i++) {
		bytes[16 + i] = (char)(width >> (24 - 8 * i));
		bytes[20 + i] = (char)(height >> (24 - 8 * i));
	}
	(void)write_file(name, bytes, sizeof bytes - 1);
}

static struct troupe_server *painted(void)
{
	static const char obj[] = "mtllib p.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 1 0.5\nvt 0 1\n"
				  "usemtl one\nf 1/1 2/2 3/3\nusemtl other\nf 1/1 3/3 4/4\n";
	static const char mtl[] = "newmtl one\nKd 0.5 0.25 0.125\nmap_Kd chart.png\n"
				  "newmtl other\nKd 1 1 1\nmap_Kd secret.txt\n";
	char sdf[3000];
	(void)snprintf(folder, sizeof folder, "/tmp/test_viewer.XXXXXX");
	cr_assert(mkdtemp(folder));
	(void)write_file("p.obj", obj, sizeof obj - 1);
	(void)write_file("p.mtl", mtl, sizeof mtl - 1);
	(void)write_file("secret.txt", "secret", 6);
	write_png("chart.png", 4, 2);
	write_png("huge.png", 16384, 16384);
#define MAPPED(name)                                                                                                   \
	"<visual name='" name "'><geometry><box><size>1 1 1</size></box></geometry><material><pbr><metal><albedo_map>" \
	"%s/" name "</albedo_map></metal></pbr></material></visual>"
	(void)snprintf(sdf, sizeof sdf,
		LIB_SDF(LIB_WORLD("w",
			"<model name='m'><static>true</static><link name='l'><visual name='v'><geometry><mesh>"
			"<uri>%s/p.obj</uri></mesh></geometry></visual>" MAPPED("chart.png") MAPPED("huge.png")
				MAPPED("secret.txt") MAPPED("none.png") "</link></model>")),
		folder, folder, folder, folder, folder);
	static const char *const folders[] = {folder, NULL};
	struct troupe_server_def def = lib_def(sdf, 1);
	def.resource_paths = folders;
	return lib_create(&def);
}

Test(viewer, the_look_of_a_mesh)
{
	struct troupe_server *server = painted();
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	char text[200];
	(void)snprintf(text, sizeof text, "type: MESH mesh {filename: '%s/p.obj' scale {x: 1 y: 1 z: 1}}", folder);
	Troupe__Msgs__Mesh *mesh = ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text, &message);
	cr_assert(mesh, "%s", message.text);
	cr_assert(mesh->n_corner == 6 && mesh->n_texcoord == 12 && mesh->n_part == 2, "%zu %zu %zu", mesh->n_corner,
		mesh->n_texcoord, mesh->n_part);
	for (size_t i = 0; i < mesh->n_corner; i++) { /* u is x; v is y, but on the corner at 1 1 */
		const float *at = mesh->point + 3 * (size_t)mesh->corner[i];
		cr_assert_eq(mesh->texcoord[2 * i], at[0]);
		cr_assert_eq(mesh->texcoord[2 * i + 1], at[0] == 1 && at[1] == 1 ? 0.5F : at[1]);
	}
	const Troupe__Msgs__Mesh__Material *one = mesh->material[mesh->part[0]->material],
					   *other = mesh->material[mesh->part[1]->material];
	cr_assert(one->n_diffuse == 4 && one->diffuse[0] == 0.5F && one->diffuse[1] == 0.25F && one->diffuse[3] == 1);
	cr_assert(mesh->n_image == 1 && one->albedo_map == 1 && !strcmp(mesh->image[0]->type, "image/png"));
	cr_assert_eq(mesh->image[0]->data.len, 24u);
	cr_assert_eq(other->albedo_map, 0u, "a file that is no image");
	message_free(&mesh->base);
	client_destroy(client);
	lib_destroy(server);
	remove_files((const char *const[]){"p.obj", "p.mtl", "chart.png", "huge.png", "secret.txt"}, 5);
}

Test(viewer, images_of_materials)
{
	static const struct {
		const char *name, *why; /* NULL: it is given */
	} cases[] = {{"chart.png", NULL}, {"secret.txt", "neither PNG nor JPEG"}, {"huge.png", "16384 by 16384"},
		{"none.png", "no material of the world"}, {"p.mtl", "no material of the world"}};
	struct troupe_server *server = painted();
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	char text[200];
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)snprintf(text, sizeof text, "data: '%s/%s'", folder, cases[i].name);
		Troupe__Msgs__ImageFile *image =
			ask(server, client, "/world/w/scene/image", "gz.msgs.StringMsg", text, &message);
		cr_assert_eq(!image, cases[i].why != NULL, "%s: %s", text, message.text);
		cr_assert(image || strstr(message.text, cases[i].why), "%s: %s", text, message.text);
		cr_assert(!image || (image->data.len == 24 && !strcmp(image->type, "image/png")));
		if (image)
			message_free(&image->base);
	}
	client_destroy(client);
	lib_destroy(server);
	remove_files((const char *const[]){"p.obj", "p.mtl", "chart.png", "huge.png", "secret.txt"}, 5);
}

Test(viewer, heads_of_images)
{
	/* a comment, a byte that fills, a frame of 3 rows and 5 columns */
	static const unsigned char jpeg[] = {
		0xff, 0xd8, 0xff, 0xfe, 0, 4, 'h', 'i', 0xff, 0xff, 0xc2, 0, 17, 8, 0, 3, 0, 5, 3, 0};
	struct image_head head;
	cr_assert(image_head(jpeg, sizeof jpeg, &head));
	cr_assert(head.width == 5 && head.height == 3 && !strcmp(head.type, "image/jpeg"), "%u %u", head.width,
		head.height);
	for (size_t count = 0; count < sizeof jpeg - 2; count++)
		cr_assert_not(image_head(jpeg, count, &head), "%zu bytes", count);
	cr_assert_not(image_head("GIF89a__________________", 24, &head));
}

/* --- shapes of all kinds, each twice ------------------------------------------------------------------------------ */

#define KIND_VISUAL(name, shape) "<visual name='" name "'><geometry>" shape "</geometry></visual>"
/* Sizes of the second model have another digit in front. */
#define KINDS(d)                                                                                                       \
	KIND_VISUAL("box", "<box><size>" d "1 " d "2 " d "3</size></box>")                                             \
	KIND_VISUAL("sphere", "<sphere><radius>" d "4</radius></sphere>")                                              \
	KIND_VISUAL("cylinder", "<cylinder><radius>" d "5</radius><length>" d "6</length></cylinder>")                 \
	KIND_VISUAL("capsule", "<capsule><radius>" d "7</radius><length>" d "8</length></capsule>")                    \
	KIND_VISUAL("cone", "<cone><radius>" d "9</radius><length>" d "0.5</length></cone>")                           \
	KIND_VISUAL("ellipsoid", "<ellipsoid><radii>" d "1 " d "3 " d "2</radii></ellipsoid>")                         \
	KIND_VISUAL("plane", "<plane><normal>0 -1 0</normal><size>" d "6 " d "5</size></plane>")                       \
	KIND_VISUAL("mesh", "<mesh><uri>none" d ".obj</uri><submesh><name>part" d "</name><center>true</center>"       \
			    "</submesh><scale>" d "1 " d "2 " d "4</scale></mesh>")                                    \
	KIND_VISUAL("whole", "<mesh><uri>none" d ".obj</uri></mesh>")
#define KINDS_AXIS(xyz, n)                                                                                             \
	"<xyz>" xyz "</xyz><limit><lower>-" n "</lower><upper>" n "5</upper><velocity>" n "6</velocity><effort>" n     \
	"7</effort></limit>"
#define KINDS_JOINT(name, type, parent, axes)                                                                          \
	"<joint name='to_" name "' type='" type "'><parent>" parent "</parent><child>" name "</child>" axes "</joint>"
#define KINDS_LINK(name) "<link name='" name "'/>"

static const char kinds[] = LIB_SDF(LIB_WORLD("w",
	"<model name='a'><static>true</static><link name='l'>" KINDS(
		"1") "</link></model>"
		     "<model name='b'><static>true</static><link name='l'>" KINDS(
			     "2") "</link></model>"
				  "<model name='j'><pose>0 0 50 0 0 0</pose><link name='base'/>" KINDS_LINK("r")
					  KINDS_LINK("p") KINDS_LINK("s") KINDS_LINK("u") KINDS_LINK("d") KINDS_LINK(
						  "o") KINDS_JOINT("r", "revolute", "base",
						  "<axis>" KINDS_AXIS("0 1 0", "1") "</axis>") KINDS_JOINT("p",
						  "prismatic", "r",
						  "<axis>" KINDS_AXIS("0 0 1", "2") "</axis>") KINDS_JOINT("s", "screw",
						  "p", "<axis>" KINDS_AXIS("1 0 0", "3") "</axis>") KINDS_JOINT("u",
						  "universal", "s",
						  "<axis>" KINDS_AXIS("1 0 0", "1") "</axis><axis2>" KINDS_AXIS(
							  "0 1 0", "2") "</axis2>") KINDS_JOINT("d", "revolute2", "u",
						  "<axis>" KINDS_AXIS("0 0 1", "2") "</axis><axis2>" KINDS_AXIS(
							  "0 1 0", "1") "</axis2>")
						  KINDS_JOINT("o", "ball", "d", "") "</model>"));

static void is_vec3(const Gz__Msgs__Vector3d *v, double x, double y, double z, const char *what)
{
	cr_assert(v, "no %s", what);
	cr_assert(v->x == x && v->y == y && v->z == z, "%s: %g %g %g", what, v->x, v->y, v->z);
}

static void are_kinds(const Gz__Msgs__Link *link, double d)
{
	const Gz__Msgs__Geometry *of[9];
	char words[40];
	cr_assert_eq(link->n_visual, 9u);
	for (size_t i = 0; i < 9; i++)
		of[i] = link->visual[i]->geometry;
	is_vec3(of[0]->box->size, d + 1, d + 2, d + 3, "box");
	cr_assert_eq(of[1]->sphere->radius, d + 4);
	cr_assert(of[2]->cylinder->radius == d + 5 && of[2]->cylinder->length == d + 6);
	cr_assert(of[3]->capsule->radius == d + 7 && of[3]->capsule->length == d + 8);
	cr_assert(of[4]->cone->radius == d + 9 && of[4]->cone->length == d + 0.5);
	is_vec3(of[5]->ellipsoid->radii, d + 1, d + 3, d + 2, "ellipsoid");
	is_vec3(of[6]->plane->normal, 0, -1, 0, "normal");
	cr_assert(of[6]->plane->size->x == d + 6 && of[6]->plane->size->y == d + 5);
	is_vec3(of[7]->mesh->scale, d + 1, d + 2, d + 4, "mesh");
	is_vec3(of[8]->mesh->scale, 1, 1, 1, "whole mesh");
	(void)snprintf(words, sizeof words, "part%g", d / 10);
	cr_assert_str_eq(of[7]->mesh->submesh, words);
	cr_assert_str_eq(of[8]->mesh->submesh, "");
	cr_assert(of[7]->mesh->center_submesh && !of[8]->mesh->center_submesh);
	(void)snprintf(words, sizeof words, "none%g.obj", d / 10);
	cr_assert_str_eq(of[7]->mesh->filename, words);
	cr_assert_str_eq(of[8]->mesh->filename, words);
	static const Gz__Msgs__Geometry__Type types[] = {GZ__MSGS__GEOMETRY__TYPE__BOX,
		GZ__MSGS__GEOMETRY__TYPE__SPHERE, GZ__MSGS__GEOMETRY__TYPE__CYLINDER, GZ__MSGS__GEOMETRY__TYPE__CAPSULE,
		GZ__MSGS__GEOMETRY__TYPE__CONE, GZ__MSGS__GEOMETRY__TYPE__ELLIPSOID, GZ__MSGS__GEOMETRY__TYPE__PLANE,
		GZ__MSGS__GEOMETRY__TYPE__MESH, GZ__MSGS__GEOMETRY__TYPE__MESH};
	for (size_t i = 0; i < 9; i++)
		cr_assert_eq(of[i]->type, types[i], "%zu", i);
}

static void is_axis(const Gz__Msgs__Axis *axis, double x, double y, double z, double n)
{
	is_vec3(axis->xyz, x, y, z, "axis");
	cr_assert(axis->limit_lower == -n && axis->limit_upper == 10 * n + 5, "%g %g", axis->limit_lower,
		axis->limit_upper);
	cr_assert(axis->limit_velocity == 10 * n + 6 && axis->limit_effort == 10 * n + 7);
}

static const Gz__Msgs__Model *model_of(const Gz__Msgs__Scene *scene, const char *name)
{
	for (size_t i = 0; i < scene->n_model; i++)
		if (!strcmp(scene->model[i]->name, name))
			return scene->model[i];
	cr_assert_fail("no model %s", name);
	return NULL;
}

Test(viewer, shapes_and_joints_of_all_kinds)
{
	struct troupe_server *server = lib_server(kinds, 1);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	cr_assert(scene && scene->n_model == 4);
	are_kinds(model_of(scene, "a")->link[0], 10);
	are_kinds(model_of(scene, "b")->link[0], 20);
	const Gz__Msgs__Model *model = model_of(scene, "j");
	cr_assert_eq(model->n_joint, 6u);
	static const Gz__Msgs__Joint__Type types[] = {GZ__MSGS__JOINT__TYPE__REVOLUTE, GZ__MSGS__JOINT__TYPE__PRISMATIC,
		GZ__MSGS__JOINT__TYPE__SCREW, GZ__MSGS__JOINT__TYPE__UNIVERSAL, GZ__MSGS__JOINT__TYPE__REVOLUTE2,
		GZ__MSGS__JOINT__TYPE__BALL};
	for (size_t i = 0; i < 6; i++) {
		const Gz__Msgs__Joint *joint = model->joint[i];
		cr_assert_eq(joint->type, types[i], "%s", joint->name);
		cr_assert_str_eq(joint->child, joint->name + strlen("to_"));
		cr_assert_str_eq(joint->parent, i ? model->joint[i - 1]->child : "base");
		cr_assert_eq(joint->child_id, model->link[i + 1]->id);
		cr_assert_eq(joint->parent_id, model->link[i]->id);
		cr_assert_eq(!joint->axis1, i == 5);
		cr_assert_eq(!joint->axis2, i < 3 || i == 5, "%s", joint->name);
	}
	is_axis(model->joint[0]->axis1, 0, 1, 0, 1);
	is_axis(model->joint[1]->axis1, 0, 0, 1, 2);
	is_axis(model->joint[3]->axis1, 1, 0, 0, 1);
	is_axis(model->joint[3]->axis2, 0, 1, 0, 2);
	is_axis(model->joint[4]->axis1, 0, 0, 1, 2);
	is_axis(model->joint[4]->axis2, 0, 1, 0, 1);
	message_free(&scene->base);
	client_destroy(client);
	lib_destroy(server);
}

/* --- heightmaps --------------------------------------------------------------------------------------------------- */

enum { SLOPE_COLUMNS = 1025, SLOPE_ROWS = 9, SHOWN_COLUMNS = 513 };

/* Heights grow along x by 60 from column to column, and along y by 200 from row to row. */
static double slope_height(double column, double row)
{
	return 60 * column + 200 * row;
}

static struct troupe_server *sloping(void)
{
	static uint16_t slope[SLOPE_ROWS * SLOPE_COLUMNS];
	char sdf[3000], path[80];
	for (uint32_t r = 0; r < SLOPE_ROWS; r++) /* the first row is the one of the greatest y */
		for (uint32_t c = 0; c < SLOPE_COLUMNS; c++)
			slope[r * SLOPE_COLUMNS + c] = (uint16_t)slope_height(c, SLOPE_ROWS - 1 - r);
	(void)snprintf(folder, sizeof folder, "/tmp/test_viewer.XXXXXX");
	cr_assert(mkdtemp(folder));
	(void)snprintf(path, sizeof path, "%s/slope.png", folder);
	cr_assert_eq(png_out_write(path, PNG_OUT_GREY16, SLOPE_COLUMNS, SLOPE_ROWS, slope, NULL), TROUPE_OK);
	(void)snprintf(path, sizeof path, "%s/line.png", folder);
	cr_assert_eq(png_out_write(path, PNG_OUT_GREY16, 5, 1, slope, NULL), TROUPE_OK);
#define SLOPE(name, pos)                                                                                               \
	"<visual name='" name "'><geometry><heightmap><uri>%s/slope.png</uri><size>2048 40 630.4</size><pos>" pos      \
	"</pos></heightmap></geometry></visual>"
	(void)snprintf(sdf, sizeof sdf,
		LIB_SDF(LIB_WORLD("w", "<model name='m'><static>true</static><link name='l'>" SLOPE("a", "0 0 0")
					       SLOPE("b", "3 -4 5") "</link></model>")),
		folder, folder);
	static const char *const folders[] = {folder, NULL};
	struct troupe_server_def def = lib_def(sdf, 1);
	def.resource_paths = folders;
	return lib_create(&def);
}

static void check_slope(const Troupe__Msgs__Mesh *mesh, double x, double y, double z)
{
	double low = INFINITY, high = -INFINITY, lower = INFINITY, higher = -INFINITY, area = 0;
	cr_assert_eq(mesh->n_point, 3 * SLOPE_ROWS * SHOWN_COLUMNS);
	cr_assert_eq(mesh->n_corner, 3 * 2 * (SLOPE_ROWS - 1) * (SHOWN_COLUMNS - 1));
	for (size_t i = 0; i < mesh->n_point; i += 3) {
		double at[] = {
			(double)mesh->point[i] - x, (double)mesh->point[i + 1] - y, (double)mesh->point[i + 2] - z};
		double height = slope_height((at[0] + 1024) / 2, (at[1] + 20) / 5) / 100;
		cr_assert_float_eq(at[2], height, 0.02, "%g %g %g: %g", at[0], at[1], at[2], height);
		low = fmin(low, at[0]);
		high = fmax(high, at[0]);
		lower = fmin(lower, at[1]);
		higher = fmax(higher, at[1]);
	}
	cr_assert(
		low == -1024 && high == 1024 && lower == -20 && higher == 20, "%g %g %g %g", low, high, lower, higher);
	for (size_t i = 0; i < mesh->n_corner; i += 3) { /* seen from above, all turn to the left */
		const float *a = mesh->point + 3 * (size_t)mesh->corner[i],
			    *b = mesh->point + 3 * (size_t)mesh->corner[i + 1],
			    *c = mesh->point + 3 * (size_t)mesh->corner[i + 2];
		double twice =
			(double)(b[0] - a[0]) * (double)(c[1] - a[1]) - (double)(b[1] - a[1]) * (double)(c[0] - a[0]);
		cr_assert_gt(twice, 0);
		area += twice / 2;
	}
	cr_assert_float_eq(area, 2048 * 40, 1);
}

Test(viewer, triangles_of_heightmaps)
{
	if (!png_out_is_available())
		return;
	struct troupe_server *server = sloping();
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	Gz__Msgs__Scene *scene = ask(server, client, "/world/w/scene/info", "gz.msgs.Empty", "", &message);
	const Gz__Msgs__Link *link = model_of(scene, "m")->link[0];
	for (size_t i = 0; i < 2; i++) {
		const Gz__Msgs__Geometry *shape = link->visual[i]->geometry;
		struct text text = {0};
		cr_assert_eq(shape->type, GZ__MSGS__GEOMETRY__TYPE__HEIGHTMAP);
		is_vec3(shape->heightmap->size, 2048, 40, 630.4, "size");
		is_vec3(shape->heightmap->origin, i ? 3 : 0, i ? -4 : 0, i ? 5 : 0, "origin");
		message_add_text(&text, &shape->base, MESSAGE_LINE);
		Troupe__Msgs__Mesh *mesh =
			ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", text.at, &message);
		cr_assert(mesh, "%s", message.text);
		check_slope(mesh, i ? 3 : 0, i ? -4 : 0, i ? 5 : 0);
		message_free(&mesh->base);
		text_fini(&text);
	}
	/* what the world does not have: another place, another size, another file */
	static const char *const others[] = {"slope.png' size {x: 2048 y: 40 z: 630.4} origin {x: 3 y: -4 z: 6}",
		"slope.png' size {x: 2048 y: 41 z: 630.4}", "line.png' size {x: 2048 y: 40 z: 630.4}"};
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		char words[200];
		(void)snprintf(words, sizeof words, "type: HEIGHTMAP heightmap {filename: '%s/%s}", folder, others[i]);
		cr_assert_null(
			ask(server, client, "/world/w/scene/mesh", "gz.msgs.Geometry", words, &message), "%s", words);
		cr_assert_eq(message.status, TROUPE_ECOMMAND, "%s", words);
	}
	message_free(&scene->base);
	client_destroy(client);
	lib_destroy(server);
	remove_files((const char *const[]){"slope.png", "line.png"}, 2);
}
