/* Clients of a server as a gateway uses them: which messages are published and how often, what requests do and when
 * their replies come, which messages a slow client loses. Messages are decoded by their types, and compared with the
 * state that the library gives. */
#include "clients.h"

#include <sys/stat.h>
#include <unistd.h>

#include "topic/motion.pb-c.h"
#include "topic/plain.pb-c.h"
#include "topic/scene.pb-c.h"
#include "topic/table.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <malloc.h>
#include <stdatomic.h>
#include <time.h>

TestSuite(clients, .fini = clients_end, .timeout = 120);

static uint32_t count_messages(struct troupe_client *client, const char *topic)
{
	struct troupe_message message;
	uint32_t count = 0;
	while (troupe_client_take(client, 0, &message))
		count += !strcmp(message.topic, topic);
	return count;
}

static int64_t ns_of(const Gz__Msgs__Time *time)
{
	return time ? time->sec * 1000000000 + time->nsec : 0;
}

Test(clients, each_step_has_its_clock)
{
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		struct troupe_client *client = client_of(server, 1000);
		struct troupe_message message;
		subscribe(client, "/clock", 0);
		lib_step(server, 300);
		for (uint64_t step = 0; step <= 300; step++) {
			cr_assert(troupe_client_take(client, 0, &message), "step %lu", (unsigned long)step);
			Gz__Msgs__Clock *clock = decode(&message);
			cr_assert_str_eq(message.topic, "/clock");
			cr_assert_eq(message.step, step);
			cr_assert_eq(ns_of(clock->sim), (int64_t)step * 1000000);
			cr_assert_eq(message.time_ns, (int64_t)step * 1000000);
			message_free(&clock->base);
		}
		cr_assert(!troupe_client_take(client, 0, &message));
		cr_assert_eq(troupe_client_lost(client), 0u);
		client_destroy(client);
		lib_destroy(server);
	}
}

Test(clients, rates_are_of_simulated_time)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 4096);
	static const struct {
		const char *topic;
		double rate_hz;
		uint32_t expected; /* messages in a second; the first one comes at once */
	} cases[] = {{"/world/w/pose/info", 0, 61}, {"/world/w/dynamic_pose/info", 10, 11}, {"/stats", 0, 6},
		{"/model/cart/odometry", 0, 51}, {"/clock", 20, 21}, {"/world/w/scene/info", 0, 1},
		{"/model/cart/tf", 1, 2}, {"/world/w/secondaries", 0.5, 1}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		subscribe(client, cases[i].topic, cases[i].rate_hz);
	lib_step(server, 1000);
	struct troupe_message message;
	uint32_t counts[ARRAY_LEN(cases)] = {0};
	while (troupe_client_take(client, 0, &message))
		for (size_t i = 0; i < ARRAY_LEN(cases); i++)
			counts[i] += !strcmp(message.topic, cases[i].topic);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		cr_assert_eq(counts[i], cases[i].expected, "%s: %u", cases[i].topic, counts[i]);
}

Test(clients, poses_are_those_of_the_state)
{
	struct troupe_server *server = lib_server(lib_all, 2);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message message;
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1}");
	lib_step(server, 500);
	subscribe(client, "/world/w/pose/info", 0);
	lib_step(server, 1);
	troupe_model cart = troupe_find_model(server, 0, "cart");
	struct troupe_model_state state = {0};
	bool seen = false;
	cr_assert(troupe_client_take(client, 0, &message));
	cr_assert_eq(message.step, 500u); /* the first message comes before the next step */
	while (message.step < 501 && troupe_client_take(client, 0, &message))
		;
	(void)troupe_get_model(server, cart, &state);
	Gz__Msgs__PoseV *poses = decode(&message);
	for (size_t i = 0; i < poses->n_pose; i++) {
		if (strcmp(poses->pose[i]->name, "cart") != 0)
			continue;
		seen = true;
		if (message.step == 501)
			cr_assert_eq(poses->pose[i]->position->x, state.pose.x);
		cr_assert_gt(poses->pose[i]->position->x, 0.05);
	}
	cr_assert(seen);
	message_free(&poses->base);
}

#define POST                                                                                                           \
	"<model name='post'><static>true</static><pose>1 2 3 0 0 0</pose><link name='l'><pose>0 0 0.5 0 0 0</pose>"    \
	"</link><plugin name='gz::sim::systems::JointStatePublisher' filename='x'/>"                                   \
	"<plugin name='gz::sim::systems::PosePublisher' filename='x'><use_pose_vector_msg>true</use_pose_vector_msg>"  \
	"<publish_model_pose>true</publish_model_pose></plugin></model>"

/* A static model has no words in the state: its published pose is that of its file, or its new one. */
Test(clients, a_static_model_has_topics_too)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LIB_ALL POST)), 1);
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	uint32_t states = 0, poses = 0;
	subscribe(client, "/world/w/model/post/joint_state", 0);
	subscribe(client, "/model/post/pose", 0);
	lib_text(server, 1, "/world/w/set_pose", "name: 'post' position {x: 7 y: 2 z: 3}");
	lib_step(server, 100);
	while (troupe_client_take(client, 0, &message)) {
		double x = message.step > 1 ? 7 : 1;
		void *any = decode(&message);
		if (!strcmp(message.type, "gz.msgs.Model")) {
			Gz__Msgs__Model *model = any;
			cr_assert_str_eq(model->name, "post");
			cr_assert_eq(model->pose->position->x, x);
			cr_assert_eq(model->n_joint, 0u);
			states++;
		} else {
			Gz__Msgs__PoseV *both = any;
			cr_assert_eq(both->n_pose, 2u);
			cr_assert_eq(both->pose[0]->position->x, x);
			cr_assert_eq(both->pose[1]->position->z, 0.5);
			poses++;
		}
		message_free(any);
	}
	cr_assert_geq(states, 100u);
	cr_assert_geq(poses, 100u);
}

#define ARM(of, options)                                                                                               \
	"<model name='" of "'><pose>0 0 9 0 0 0</pose><link name='base'><collision name='hull'><pose>0 0 0.1 0 0 0"    \
	"</pose><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></link>"                         \
	"<link name='hand'><pose>0 0 1 0 0 0</pose><visual name='glove'><pose>0 0 0.2 0 0 0</pose><geometry><sphere>"  \
	"<radius>0.1</radius></sphere></geometry></visual><sensor name='imu' type='imu'><pose>0 0 0.3 0 0 0</pose>"    \
	"</sensor></link><link name='ring'><pose>0 0 2 0 0 0</pose></link>"                                            \
	"<joint name='wrist' type='revolute'><parent>base</parent><child>hand</child><axis><xyz>1 0 0</xyz></axis>"    \
	"</joint><joint name='grip' type='fixed'><parent>hand</parent><child>ring</child></joint>"                     \
	"<plugin name='gz::sim::systems::PosePublisher' filename='x'><publish_sensor_pose>1</publish_sensor_pose>"     \
	"<publish_visual_pose>1</publish_visual_pose><publish_collision_pose>1</publish_collision_pose>" options       \
	"</plugin></model>"

/* Notes "frame>name z" of a pose. */
static void note(struct text *out, const Gz__Msgs__Pose *pose)
{
	text_add(out, "%s>%s %g\n", pose->header->data[0]->value[0], pose->name, pose->position->z);
	cr_assert_str_eq(pose->header->data[1]->value[0], pose->name);
}

/* The poses of the first message, or messages, on the topic. */
static void expect_poses(struct troupe_server *server, const char *topic, const char *expected)
{
	struct troupe_client *client = client_of(server, 1000);
	struct troupe_message message;
	struct text found = {0};
	subscribe(client, topic, 0);
	lib_step(server, 1);
	uint64_t first = UINT64_MAX;
	while (troupe_client_take(client, 0, &message)) {
		void *any = decode(&message);
		const Gz__Msgs__PoseV *list = any;
		first = MIN(first, message.step);
		if (message.step == first && !strcmp(message.type, "gz.msgs.Pose"))
			note(&found, any);
		else if (message.step == first)
			for (size_t i = 0; i < list->n_pose; i++)
				note(&found, list->pose[i]);
		message_free(any);
	}
	cr_assert_str_eq(found.at ? found.at : "", expected, "%s:\n%s", topic, found.at);
	text_fini(&found);
	client_destroy(client);
}

/* As Gazebo's pose_publisher.sdf: parts of links in their links; a link that a joint moves is none of those that stay
 * where they are. */
Test(clients, poses_of_all_parts_of_a_model)
{
	struct troupe_server *server = lib_server(
		LIB_SDF(LIB_WORLD("w",
			"<gravity>0 0 0</gravity>" ARM("a", "<publish_model_pose>1</publish_model_pose>")
				ARM("b", "<use_pose_vector_msg>1</use_pose_vector_msg>")
					ARM("c", "<static_publisher>1"
						 "</static_publisher><use_pose_vector_msg>1</use_pose_vector_msg>")
						ARM("d", "<static_publisher>1"
							 "</static_publisher><topic>/d</topic>"))),
		1);
	expect_poses(server, "/model/a/pose",
		"w>a 9\na>a::base 0\na>a::hand 1\na>a::ring 2\n"
		"a::base>a::base::hull 0.1\na::hand>a::hand::glove 0.2\na::hand>a::hand::imu 0.3\n");
	expect_poses(server, "/model/b/pose",
		"b>b::base 0\nb>b::hand 1\nb>b::ring 2\n"
		"b::base>b::base::hull 0.1\nb::hand>b::hand::glove 0.2\nb::hand>b::hand::imu 0.3\n");
	expect_poses(server, "/model/c/pose", "c>c::hand 1\n");
	expect_poses(server, "/model/c/pose_static",
		"c>c::base 0\nc>c::ring 2\n"
		"c::base>c::base::hull 0.1\nc::hand>c::hand::glove 0.2\nc::hand>c::hand::imu 0.3\n");
	expect_poses(server, "/d", "d>d::hand 1\n");
	expect_poses(server, "/d_static",
		"d>d::base 0\nd>d::ring 2\n"
		"d::base>d::base::hull 0.1\nd::hand>d::hand::glove 0.2\nd::hand>d::hand::imu 0.3\n");
}

Test(clients, poses_that_stay_have_a_rate_of_their_own)
{
	struct troupe_server *server = lib_server(
		LIB_SDF(LIB_WORLD(
			"w", ARM("c", "<static_publisher>1</static_publisher><update_frequency>100</update_frequency>"
				      "<use_pose_vector_msg>1</use_pose_vector_msg><static_update_frequency>10</"
				      "static_update_frequency>"))),
		1);
	static const struct {
		const char *topic;
		uint32_t expected;
	} cases[] = {{"/model/c/pose", 101}, {"/model/c/pose_static", 11}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct troupe_client *client = client_of(server, 1000);
		subscribe(client, cases[i].topic, 0);
		lib_step(server, 1000);
		cr_assert_eq(count_messages(client, cases[i].topic), cases[i].expected, "%s", cases[i].topic);
		client_destroy(client);
	}
}

/* --- names -------------------------------------------------------------------------------------------------------- */

Test(clients, names_are_cleaned_as_in_gazebo)
{
	static const char *const cases[][2] = {{"/world/my big world/clock", "/world/my_big_world/clock"},
		{"/a//b///c/", "/a/b/c"}, {"/a@b~c:=d", "/abcd"}, {"/a::==b", "/ab"}, {"/a:b=c", "/a:b=c"},
		{"/\t\x7f", "/__"}, {"/", "/"}, {"//", "/"}, {"/ä", "/ä"}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char name[40];
		(void)snprintf(name, sizeof name, "%s", cases[i][0]);
		topic_name_clean(name);
		cr_assert_str_eq(name, cases[i][1]);
		cr_assert_eq(topic_name_is_valid(name), name[1] != '\0');
	}
	cr_assert_str_eq(topic_in_world("/world/my_world/a/b", "my world"), "a/b");
	cr_assert_str_eq(topic_in_world("/world/my world/a", "my world"), "a");
	cr_assert_null(topic_in_world("/world/my/a", "my world"));
	cr_assert_null(topic_in_world("/world/my_worlds/a", "my world"));
	cr_assert_null(topic_in_world("/world/a", "@"));
	cr_assert_null(topic_in_world("/model/my_world/a", "my world"));
}

/* Topics and services of the world have the cleaned name; a command may have either name. */
Test(clients, a_world_with_blanks_in_its_name_has_topics)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("my big world~", LIB_ALL)), 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message message;
	subscribe(client, "/world/my_big_world/clock", 0);
	lib_step(server, 10);
	cr_assert_eq(count_messages(client, "/world/my_big_world/clock"), 11u);
	request(client, "/world/my_big_world/control", "gz.msgs.WorldControl", "pause: true", 1);
	lib_step(server, 1);
	cr_assert(answer(client, 1, &message));
	cr_assert_eq(message.status, TROUPE_OK, "%s", message.text);
	lib_text(server, 0, "/world/my big world~/control", "pause: false");
	lib_text(server, 0, "/world/my_big_world/set_pose", "name: 'crate' position {x: 40}");
	lib_step(server, 1);
	cr_assert_float_eq(lib_at(server, lib_model(server, "crate")).pose.x, 40, 0.01);
}

static void count_warnings(void *ctx, const char *text)
{
	uint32_t *count = ctx;
	*count += strstr(text, "cannot be part of a topic") != NULL;
}

Test(clients, a_world_without_a_name_for_topics_is_told)
{
	static const char bad[] = LIB_SDF(LIB_WORLD("@", "")), good[] = LIB_SDF(LIB_WORLD("good one", ""));
	static const char *const worlds[] = {bad, good};
	for (uint32_t i = 0; i < ARRAY_LEN(worlds); i++) {
		struct troupe_server_def def = lib_def(worlds[i], 0);
		uint32_t count = 0;
		def.on_warning = count_warnings;
		def.ctx = &count;
		struct troupe_server *server = lib_create(&def);
		cr_assert_eq(count, i ? 0u : 1u);
		lib_text(server, 0, i ? "/world/good_one/control" : "/world/@/control", "pause: true");
		lib_destroy(server);
	}
	struct troupe_server_def def = lib_def(LIB_SDF(LIB_WORLD("a b", "") LIB_WORLD("a_b", "")), 0);
	struct troupe_server *server;
	refused(TROUPE_EWORLD, troupe_server_create(&def, &server, &lib_error));
	cr_assert(strstr(lib_error.text, "the same topics"));
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

Test(clients, a_reply_comes_when_the_effect_is_in_the_state)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	lib_step(server, 10);
	request(client, "/world/w/set_pose", "gz.msgs.Pose", "name: 'crate' position {x: 4 y: 5 z: 6}", 7);
	cr_assert(!answer(client, 7, &reply));
	lib_step(server, 1);
	cr_assert(answer(client, 7, &reply));
	cr_assert_eq(reply.status, TROUPE_OK);
	cr_assert_eq(reply.step, 10u);
	Gz__Msgs__Boolean *good = decode(&reply);
	cr_assert(good->data);
	message_free(&good->base);
	struct troupe_model_state state = {0};
	cr_assert(troupe_get_model(server, troupe_find_model(server, 0, "crate"), &state));
	cr_assert_float_eq(state.pose.x, 4, 0.01);
	request(client, "/world/w/remove", "gz.msgs.Entity", "name: 'nobody' type: MODEL", 8);
	lib_step(server, 1);
	cr_assert(answer(client, 8, &reply));
	cr_assert_eq(reply.status, TROUPE_ECOMMAND);
	cr_assert(strstr(reply.text, "nobody"));
	good = decode(&reply);
	cr_assert(!good->data);
	message_free(&good->base);
}

Test(clients, a_blocking_request_for_steps_is_answered_after_the_last_one)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	request(client, "/world/w/control", "gz.msgs.WorldControl", "pause: true", 1);
	lib_step(server, 1);
	cr_assert(answer(client, 1, &reply));
	request(client, "/world/w/control/blocking", "gz.msgs.WorldControl", "pause: true multi_step: 5", 2);
	request(client, "/world/w/set_physics", "gz.msgs.Physics", "", 3);
	lib_step(server, 4);
	cr_assert(answer(client, 3, &reply));
	cr_assert(!answer(client, 2, &reply));
	lib_step(server, 1);
	cr_assert(answer(client, 2, &reply));
	cr_assert_eq(reply.status, TROUPE_OK);
}

/* Services that change no world, by both names. */
Test(clients, questions_and_acts_have_a_second_name)
{
	static const char *const services[][2] = {{"/world/w/scene/info", "gz.msgs.Empty"},
		{"/world/w/scene/graph", "gz.msgs.Empty"}, {"/world/w/hash", "gz.msgs.Empty"},
		{"/world/w/generate_world_sdf", "gz.msgs.SdfGeneratorConfig"}, {"/world/w/gui/info", "gz.msgs.Empty"},
		{"/gazebo/worlds", "gz.msgs.Empty"}, {"/world/w/save", "gz.msgs.StringMsg"},
		{"/server_control", "gz.msgs.ServerControl"}};
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	for (uint64_t i = 0; i < ARRAY_LEN(services); i++) {
		struct troupe_message reply;
		struct text first = {0};
		char second[64];
		(void)snprintf(second, sizeof second, "%s/blocking", services[i][0]);
		request(client, services[i][0], services[i][1], "", 2 * i);
		request(client, second, services[i][1], "", 2 * i + 1);
		lib_step(server, 1);
		cr_assert(answer(client, 2 * i, &reply), "%s", services[i][0]);
		text_add_bytes(&first, reply.bytes, reply.count);
		cr_assert(answer(client, 2 * i + 1, &reply), "%s", second);
		cr_assert_str_eq(reply.topic, second);
		cr_assert(reply.count == first.count && !memcmp(reply.bytes, first.at, first.count), "%s", second);
		text_fini(&first);
	}
}

/* For Gazebo a message without a pause lets the world run: then there are no steps to wait for. */
Test(clients, a_blocking_request_is_answered_when_the_world_is_let_run)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	request(client, "/world/w/control", "gz.msgs.WorldControl", "pause: true", 1);
	request(client, "/world/w/control/blocking", "gz.msgs.WorldControl", "pause: true multi_step: 500", 2);
	lib_step(server, 2);
	cr_assert(answer(client, 1, &reply));
	cr_assert(!answer(client, 2, &reply));
	request(client, "/world/w/control", "gz.msgs.WorldControl", "", 3);
	lib_step(server, 1);
	cr_assert(answer(client, 2, &reply));
	cr_assert_eq(reply.status, TROUPE_OK);
	double time_s = troupe_server_progress(server).time_s;
	lib_step(server, 600);
	cr_assert_float_eq(troupe_server_progress(server).time_s, time_s + 0.6, 1e-9);
}

/* A client of Gazebo names a performer by a StringMsg; troupe's own type has more fields. */
Test(clients, a_performer_is_named_by_a_string_or_by_our_own_message)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	request(client, "/world/w/level/set_performer", "gz.msgs.StringMsg", "data: 'crate'", 1);
	request(client, "/world/w/level/set_performer", "troupe.msgs.SetPerformer", "data: 'crate' size {x: 3}", 2);
	lib_step(server, 1);
	for (uint64_t tag = 1; tag <= 2; tag++) {
		cr_assert(answer(client, tag, &reply));
		cr_assert_eq(reply.status, TROUPE_OK, "%s", reply.text);
	}
}

Test(clients, questions_are_answered_at_a_step_boundary)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	lib_step(server, 3);
	request(client, "/world/w/hash", "gz.msgs.Empty", "", 1);
	request(client, "/gazebo/worlds", "gz.msgs.Empty", "", 2);
	request(client, "/world/w/scene/graph", "gz.msgs.Empty", "", 3);
	lib_step(server, 1);
	cr_assert(answer(client, 1, &reply));
	Troupe__Msgs__StateHash *hash = decode(&reply);
	cr_assert_eq(hash->step, reply.step);
	message_free(&hash->base);
	cr_assert(answer(client, 2, &reply));
	Gz__Msgs__StringMsgV *names = decode(&reply);
	cr_assert_eq(names->n_data, 1u);
	cr_assert_str_eq(names->data[0], "w");
	message_free(&names->base);
	cr_assert(answer(client, 3, &reply));
	Gz__Msgs__StringMsg *graph = decode(&reply);
	cr_assert(strstr(graph->data, "\"cart\""));
	message_free(&graph->base);
}

/* A client that never waits: what makes models is prepared on a thread of the server, so even what is wrong with it
 * comes as a reply; and the client's requests keep their order. */
Test(clients, what_takes_time_is_done_in_the_background)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_client_def def = {.never_waits = true};
	struct troupe_client *client;
	struct troupe_message reply;
	uint32_t replies = 0;
	must(troupe_client_create(server, &def, &client, &lib_error));
	request(client, "/world/w/create", "gz.msgs.EntityFactory", "sdf: 'rubbish'", 1);
	request(client, "/world/w/create", "gz.msgs.EntityFactory", "sdf_filename: '/nowhere/x.sdf'", 2);
	request(client, "/world/w/create", "gz.msgs.EntityFactory",
		"sdf: \"<sdf version='1.9'><model name='new'><link name='l'/></model></sdf>\"", 3);
	request(client, "/world/w/remove", "gz.msgs.Entity", "name: 'new' type: MODEL", 4);
	while (replies < 4) {
		lib_step(server, 1);
		while (troupe_client_take(client, 1000000, &reply)) {
			cr_assert(reply.is_reply && reply.tag >= 1 && reply.tag <= 4);
			cr_assert_eq(reply.status != TROUPE_OK, reply.tag <= 2, "%d: %s", (int)reply.tag, reply.text);
			replies++;
		}
	}
	cr_assert(!troupe_server_is_preparing(server));
	/* what waits is dropped with its client, and at the end of the server */
	for (uint64_t i = 0; i < 20; i++)
		request(client, "/world/w/create", "gz.msgs.EntityFactory", "sdf: 'rubbish'", 5 + i);
	client_destroy(client);
	lib_destroy(server);
}

Test(clients, what_is_not_there_is_refused)
{
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_error error;
	cr_assert_eq(troupe_client_call(client, "/world/w/nothing", NULL, NULL, 0, 1, &error), TROUPE_ECOMMAND);
	cr_assert(strstr(error.text, "/world/w/nothing"));
	cr_assert_eq(
		troupe_client_call(client, "/world/w/remove", "gz.msgs.Pose", NULL, 0, 1, &error), TROUPE_ECOMMAND);
	cr_assert(strstr(error.text, "gz.msgs.Entity"));
	cr_assert_eq(troupe_client_call(client, "/world/w/remove", NULL, "\xff\xff", 2, 1, &error), TROUPE_ECOMMAND);
	cr_assert_eq(
		troupe_client_publish(client, NULL, "/model/cart/cmd_vel", "gz.msgs.Twist", "\x0b", 1, NULL, &error),
		TROUPE_ECOMMAND);
	cr_assert_eq(troupe_client_subscribe(client, "no slash", 0, &error), TROUPE_EINVAL);
	cr_assert_eq(troupe_client_subscribe(client, "/clock", -1, &error), TROUPE_EINVAL);
	cr_assert_eq(troupe_client_subscribe(client, "/clock", NAN, &error), TROUPE_EINVAL);
}

/* --- the scene ---------------------------------------------------------------------------------------------------- */

#define LOOK                                                                                                           \
	"<scene><ambient>0.1 0.2 0.3 1</ambient><background>0.5 0.6 0.7</background><shadows>false</shadows>"          \
	"<sky><time>14</time></sky><fog><type>quadratic</type><density>0.25</density></fog></scene>"                   \
	"<light name='sun' type='directional'><pose>0 0 10 0 0 0</pose><cast_shadows>true</cast_shadows>"              \
	"<diffuse>0.8 0.7 0.6 1</diffuse><intensity>2</intensity><direction>-0.5 0.1 -0.9</direction></light>"         \
	"<light name='bulb' "                                                                                          \
	"type='point'><light_on>false</light_on><attenuation><range>20</range></attenuation></light>"

#define LAMP                                                                                                           \
	"<model name='lamp'><pose>1 2 3 0 0 0</pose><link name='post'/><link name='head'><pose>0 0 1 0 0 0</pose>"     \
	"<light name='spot' type='spot'><pose>0.5 0 0 0 0 0</pose><spot><inner_angle>0.1</inner_angle>"                \
	"<outer_angle>0.5</outer_angle><falloff>0.8</falloff></spot></light>"                                          \
	"<visual name='v'><transparency>0.25</transparency><cast_shadows>false</cast_shadows>"                         \
	"<laser_retro>3</laser_retro><meta><layer>4</layer></meta><geometry><sphere><radius>1</radius></sphere>"       \
	"</geometry><material><ambient>0.1 0.2 0.3 0.4</ambient><diffuse>0.5 0.6 0.7 1</diffuse>"                      \
	"<specular>1 0 0 1</specular><emissive>0 1 0 1</emissive><render_order>2</render_order>"                       \
	"<lighting>false</lighting><double_sided>true</double_sided><script><uri>u</uri><name>n</name></script>"       \
	"<pbr><metal><roughness>0.25</roughness><albedo_map>a.png</albedo_map></metal></pbr></material></visual>"      \
	"<visual name='plain'><geometry><box><size>1 1 1</size></box></geometry></visual></link></model>"

static void is_colour(const Gz__Msgs__Color *colour, double r, double g, double b, double a)
{
	cr_assert(colour);
	cr_assert_float_eq(colour->r, r, 1e-6);
	cr_assert_float_eq(colour->g, g, 1e-6);
	cr_assert_float_eq(colour->b, b, 1e-6);
	cr_assert_float_eq(colour->a, a, 1e-6);
}

static Gz__Msgs__Scene *scene_of(struct troupe_client *client)
{
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message))
		if (!strcmp(message.topic, "/world/w/scene/info"))
			return decode(&message);
	return NULL;
}

static void look_at_lamp(const Gz__Msgs__Model *lamp)
{
	const Gz__Msgs__Link *head = lamp->link[1];
	cr_assert_eq(lamp->link[0]->n_light + lamp->link[0]->n_visual, 0u);
	cr_assert_eq(head->n_light, 1u);
	const Gz__Msgs__Light *spot = head->light[0];
	cr_assert_str_eq(spot->name, "spot");
	cr_assert_eq(spot->type, GZ__MSGS__LIGHT__LIGHT_TYPE__SPOT);
	cr_assert_eq(spot->parent_id, head->id);
	cr_assert_float_eq(spot->pose->position->x, 0.5, 1e-12);
	cr_assert_float_eq(spot->pose->position->z, 0, 1e-12);
	cr_assert_float_eq(spot->spot_outer_angle, 0.5, 1e-6);
	const Gz__Msgs__Visual *visual = head->visual[0];
	cr_assert_eq(visual->transparency, 0.25);
	cr_assert(!visual->cast_shadows);
	cr_assert_eq(visual->laser_retro, 3);
	cr_assert_eq(visual->meta->layer, 4);
	const Gz__Msgs__Material *material = visual->material;
	is_colour(material->ambient, 0.1, 0.2, 0.3, 0.4);
	is_colour(material->diffuse, 0.5, 0.6, 0.7, 1);
	is_colour(material->specular, 1, 0, 0, 1);
	is_colour(material->emissive, 0, 1, 0, 1);
	cr_assert(!material->lighting && material->double_sided);
	cr_assert_eq(material->render_order, 2);
	cr_assert_str_eq(material->script->name, "n");
	cr_assert_str_eq(material->script->uri[0], "u");
	cr_assert_eq(material->pbr->type, GZ__MSGS__MATERIAL__PBR__WORKFLOW_TYPE__METAL);
	cr_assert_eq(material->pbr->roughness, 0.25);
	cr_assert_str_eq(material->pbr->albedo_map, "a.png");
	cr_assert_null(head->visual[1]->material);
	cr_assert(head->visual[1]->cast_shadows);
}

/* The scene changes when a light is removed, and again when a reset brings it back. */
Test(clients, the_scene_has_lights_and_materials)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LOOK LAMP)), 1);
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/world/w/scene/info", 0);
	lib_step(server, 1);
	Gz__Msgs__Scene *scene = scene_of(client);
	cr_assert(scene);
	is_colour(scene->ambient, 0.1, 0.2, 0.3, 1);
	is_colour(scene->background, 0.5, 0.6, 0.7, 1);
	cr_assert(!scene->shadows && scene->grid);
	cr_assert_eq(scene->sky->time, 14);
	cr_assert_eq(scene->fog->type, GZ__MSGS__FOG__FOG_TYPE__EXPONENTIAL2);
	cr_assert_eq(scene->fog->density, 0.25F);
	cr_assert_eq(scene->n_light, 2u);
	const Gz__Msgs__Light *sun = scene->light[0], *bulb = scene->light[1];
	cr_assert_str_eq(sun->name, "sun");
	cr_assert_eq(sun->type, GZ__MSGS__LIGHT__LIGHT_TYPE__DIRECTIONAL);
	cr_assert_eq(sun->pose->position->z, 10);
	is_colour(sun->diffuse, 0.8, 0.7, 0.6, 1);
	cr_assert(sun->cast_shadows && !sun->is_light_off && bulb->is_light_off);
	cr_assert_eq(sun->intensity, 2.0F);
	cr_assert_eq(sun->direction->x, -0.5);
	cr_assert_eq(bulb->range, 20.0F);
	cr_assert_neq(sun->id, bulb->id);
	uint32_t id = bulb->id, lamps = 0;
	for (size_t i = 0; i < scene->n_model; i++)
		if (!strcmp(scene->model[i]->name, "lamp") && ++lamps)
			look_at_lamp(scene->model[i]);
	cr_assert_eq(lamps, 1u);
	message_free(&scene->base);
	lib_step(server, 5);
	cr_assert_null(scene_of(client));
	lib_text(server, 0, "/world/w/remove", "name: 'sun' type: LIGHT");
	lib_step(server, 2);
	scene = scene_of(client);
	cr_assert(scene);
	cr_assert_eq(scene->n_light, 1u);
	cr_assert_eq(scene->light[0]->id, id);
	message_free(&scene->base);
	lib_text(server, 0, "/world/w/control", "reset {all: true}");
	lib_step(server, 2);
	scene = scene_of(client);
	cr_assert(scene);
	cr_assert_eq(scene->n_light, 2u);
	message_free(&scene->base);
}

/* The scene after two more steps: it must be another one. */
static Gz__Msgs__Scene *next_scene(struct troupe_server *server, struct troupe_client *client, uint32_t lights)
{
	lib_step(server, 2);
	Gz__Msgs__Scene *scene = scene_of(client), *later;
	cr_assert(scene, "no new scene");
	while ((later = scene_of(client))) { /* a model that was removed gives its place up a step later */
		message_free(&scene->base);
		scene = later;
	}
	cr_assert_eq(scene->n_light, lights, "%zu lights", scene->n_light);
	return scene;
}

/* A text changes what it gives. A message from a client of Gazebo gives all numbers. Lights are found by name or by the
 * id in the scene; another name adds one, whose place is taken again when it is gone. A reset takes all back. */
Test(clients, lights_are_configured)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LOOK LAMP)), 1);
	struct troupe_client *client = client_of(server, 0);
	uint64_t first = troupe_server_hash(server);
	const char *const set = "/world/w/light_config";
	subscribe(client, "/world/w/scene/info", 0);
	message_free(&next_scene(server, client, 2)->base);
	lib_text(server, 0, set, "name: 'sun' intensity: 0.5 pose {position {x: 3}}");
	Gz__Msgs__Scene *scene = next_scene(server, client, 2);
	cr_assert_eq(scene->light[0]->intensity, 0.5F);
	cr_assert_eq(scene->light[0]->pose->position->x, 3);
	is_colour(scene->light[0]->diffuse, 0.8, 0.7, 0.6, 1);
	cr_assert(scene->light[0]->cast_shadows);
	cr_assert_eq(scene->light[0]->direction->x, -0.5);
	message_free(&scene->base);
	request(client, "/world/w/light_config/blocking", "gz.msgs.Light",
		"name: 'sun' type: DIRECTIONAL intensity: 3 is_light_off: true", 1);
	scene = next_scene(server, client, 2);
	cr_assert_eq(scene->light[0]->intensity, 3.0F);
	cr_assert_eq(scene->light[0]->type, GZ__MSGS__LIGHT__LIGHT_TYPE__DIRECTIONAL);
	cr_assert(!scene->light[0]->cast_shadows && scene->light[0]->is_light_off);
	cr_assert_eq(scene->light[0]->range, 0.0F);
	is_colour(scene->light[0]->diffuse, 0.8, 0.7, 0.6, 1);
	message_free(&scene->base);
	lib_text(server, 0, set, "name: 'lantern' type: SPOT spot_outer_angle: 1 pose {position {z: 4}}");
	scene = next_scene(server, client, 3);
	const Gz__Msgs__Light *lantern = scene->light[2];
	cr_assert_str_eq(lantern->name, "lantern");
	cr_assert_eq(lantern->type, GZ__MSGS__LIGHT__LIGHT_TYPE__SPOT);
	cr_assert(lantern->spot_outer_angle == 1.0F && lantern->range == 10.0F && lantern->intensity == 1.0F);
	uint32_t id = lantern->id;
	char by_id[80];
	(void)snprintf(by_id, sizeof by_id, "id: %u diffuse {r: 1 b: 0.5}", id);
	message_free(&scene->base);
	lib_text(server, 0, set, by_id);
	scene = next_scene(server, client, 3);
	is_colour(scene->light[2]->diffuse, 1, 0, 0.5, 0);
	cr_assert_eq(scene->light[2]->pose->position->z, 4);
	message_free(&scene->base);
	lib_text(server, 0, "/world/w/remove", "name: 'lantern' type: LIGHT");
	message_free(&next_scene(server, client, 2)->base);
	lib_text(server, 0, set, "name: 'torch'");
	scene = next_scene(server, client, 3);
	cr_assert_eq(scene->light[2]->id, id);
	is_colour(scene->light[2]->diffuse, 1, 1, 1, 1);
	cr_assert_eq(scene->light[2]->pose->position->z, 0);
	message_free(&scene->base);
	lib_text(server, 0, "/world/w/control", "pause: true reset {all: true}");
	scene = next_scene(server, client, 2);
	cr_assert_eq(scene->light[0]->intensity, 2.0F);
	cr_assert_eq(scene->light[0]->pose->position->z, 10);
	message_free(&scene->base);
	cr_assert_eq(troupe_server_hash(server), first);
}

/* The second link of the model. */
static const Gz__Msgs__Link *head_of(const Gz__Msgs__Scene *scene, const char *model)
{
	for (size_t i = 0; i < scene->n_model; i++)
		if (!strcmp(scene->model[i]->name, model) && scene->model[i]->n_link > 1)
			return scene->model[i]->link[1];
	cr_assert(false, "no model '%s' with two links", model);
	return NULL;
}

static const Gz__Msgs__Light *spot_of(const Gz__Msgs__Scene *scene, const char *model)
{
	const Gz__Msgs__Link *head = head_of(scene, model);
	cr_assert_eq(head->n_light, 1u);
	return head->light[0];
}

/* Gives one light of a link in text, and returns the next scene. */
static Gz__Msgs__Scene *scene_with(struct troupe_server *server, struct troupe_client *client, const char *text)
{
	lib_text(server, 0, "/world/w/light_config", text);
	return next_scene(server, client, 2);
}

/* A light of a link is found by its own name, by its scoped name, and by its name and its link; what is not given
 * stays. The reset and the removal of the model take the change back. */
Test(clients, lights_of_links_are_configured)
{
	static const char copy[] = "sdf: \"<sdf version='1.9'><model name='other'><static>true</static><link name='l'/>"
				   "<link name='head'><light name='spot' type='point'/></link></model></sdf>\"";
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LOOK LAMP)), 1);
	struct troupe_client *client = client_of(server, 0);
	uint64_t first = troupe_server_hash(server);
	char text[96];
	lib_text(server, 0, "/world/w/control", "pause: true");
	subscribe(client, "/world/w/scene/info", 0);
	message_free(&next_scene(server, client, 2)->base);
	Gz__Msgs__Scene *scene = scene_with(server, client, "name: 'spot' intensity: 3 pose {position {x: 2}}");
	const Gz__Msgs__Light *spot = spot_of(scene, "lamp");
	cr_assert(spot->intensity == 3.0F && spot->pose->position->x == 2 && spot->spot_inner_angle == 0.1F);
	uint32_t id = spot->id, link = head_of(scene, "lamp")->id;
	message_free(&scene->base);
	uint64_t changed = troupe_server_hash(server);
	cr_assert_neq(changed, first);
	scene = scene_with(server, client, "name: 'lamp::head::spot' is_light_off: true");
	cr_assert(spot_of(scene, "lamp")->is_light_off && spot_of(scene, "lamp")->intensity == 3.0F);
	message_free(&scene->base);
	lib_text(server, 0, "/world/w/create", copy);
	message_free(&next_scene(server, client, 2)->base);
	(void)snprintf(text, sizeof text, "id: %u name: 'spot' parent_id: %u range: 7", id, link);
	scene = scene_with(server, client, text);
	cr_assert(spot_of(scene, "lamp")->range == 7.0F && spot_of(scene, "lamp")->intensity == 3.0F);
	cr_assert_neq(spot_of(scene, "other")->range, 7.0F);
	message_free(&scene->base);
	uint64_t both = troupe_server_hash(server);
	scene = scene_with(server, client, "name: 'other::head::spot' range: 5");
	cr_assert(spot_of(scene, "lamp")->range == 7.0F && spot_of(scene, "other")->range == 5.0F);
	message_free(&scene->base);
	cr_assert_neq(troupe_server_hash(server), both);
	lib_text(server, 0, "/world/w/remove", "name: 'other'");
	message_free(&next_scene(server, client, 2)->base);
	lib_text(server, 0, "/world/w/create", copy);
	scene = next_scene(server, client, 2);
	cr_assert_neq(spot_of(scene, "other")->range, 5.0F);
	message_free(&scene->base);
	lib_text(server, 0, "/world/w/remove", "name: 'other'");
	message_free(&next_scene(server, client, 2)->base);
	lib_text(server, 0, "/world/w/reset_model", "name: 'lamp'");
	scene = next_scene(server, client, 2);
	cr_assert(spot_of(scene, "lamp")->intensity == 1.0F && spot_of(scene, "lamp")->pose->position->x == 0.5);
	message_free(&scene->base);
	message_free(&scene_with(server, client, "name: 'spot' intensity: 3")->base);
	lib_text(server, 0, "/world/w/control", "reset {all: true}");
	message_free(&next_scene(server, client, 2)->base);
	cr_assert_eq(troupe_server_hash(server), first);
}

/* The SDF of the world has the lights of links as they are, of its file and of created models. */
Test(clients, lights_of_links_are_in_the_sdf)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LOOK LAMP)), 1);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_message reply;
	lib_text(server, 0, "/world/w/create",
		"sdf: \"<sdf version='1.9'><model name='m'><link name='l'><light name='a'/><light "
		"name='b'/></link></model>"
		"</sdf>\"");
	lib_text(server, 0, "/world/w/light_config", "name: 'spot' intensity: 37");
	lib_text(server, 0, "/world/w/light_config", "name: 'm::l::b' intensity: 41");
	lib_step(server, 1);
	request(client, "/world/w/generate_world_sdf", "gz.msgs.SdfGeneratorConfig", "", 1);
	lib_step(server, 1);
	cr_assert(answer(client, 1, &reply));
	Gz__Msgs__StringMsg *sdf = decode(&reply);
	const char *head = strstr(sdf->data, "<link name=\"head\""), *a = strstr(sdf->data, "<light name=\"a\""),
		   *b = strstr(sdf->data, "<light name=\"b\"");
	cr_assert(head && a && b && a < b, "%s", sdf->data);
	const char *first = strstr(head, "<intensity>37</intensity>"),
		   *second = strstr(sdf->data, "<intensity>41</intensity>");
	cr_assert(first && first < strstr(head, "</link>"), "%s", sdf->data);
	cr_assert(second && second > b && second < strstr(b, "</link>"), "%s", sdf->data);
	message_free(&sdf->base);
}

/* --- slow clients, clients that come and go ----------------------------------------------------------------------- */

Test(clients, a_slow_client_loses_its_oldest_messages)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *slow = client_of(server, 8), *other = client_of(server, 4096);
	struct troupe_message message;
	subscribe(slow, "/clock", 0);
	subscribe(other, "/clock", 0);
	lib_step(server, 1000);
	uint64_t lost = troupe_client_lost(slow);
	cr_assert(troupe_client_take(slow, 0, &message));
	cr_assert_eq(message.step, lost);
	cr_assert_eq(1 + count_messages(slow, "/clock") + lost, 1001u);
	cr_assert_eq(count_messages(other, "/clock"), 1001u);
}

Test(clients, topics_come_and_go_with_models)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	subscribe(client, "/model/cart/odometry", 0);
	lib_step(server, 100);
	cr_assert_eq(count_messages(client, "/model/cart/odometry"), 6u);
	uint64_t epoch = troupe_topics_epoch(server);
	request(client, "/world/w/remove", "gz.msgs.Entity", "name: 'cart' type: MODEL", 1);
	lib_step(server, 100);
	cr_assert_leq(count_messages(client, "/model/cart/odometry"), 1u);
	cr_assert_neq(troupe_topics_epoch(server), epoch);
	request(client, "/world/w/control", "gz.msgs.WorldControl", "reset {all: true}", 1);
	lib_step(server, 100);
	cr_assert_geq(count_messages(client, "/model/cart/odometry"), 5u);
}

struct watcher {
	struct troupe_server *server;
	_Atomic bool stop;
	_Atomic uint64_t seen;
};

static void *come_and_go(void *ctx)
{
	struct watcher *watcher = ctx;
	while (!watcher->stop) {
		struct troupe_client *client = client_of(watcher->server, 16);
		struct troupe_message message;
		subscribe(client, "/world/w/pose/info", 0);
		subscribe(client, "/clock", 0);
		request(client, "/world/w/scene/info", "gz.msgs.Empty", "", 1);
		for (int i = 0; i < 20 && troupe_client_take(client, 1000000, &message); i++)
			watcher->seen++;
		client_destroy(client);
	}
	return NULL;
}

/* The hash is the same with and without clients, while clients come and go on other threads. */
Test(clients, clients_change_no_bit)
{
	uint64_t hashes[2];
	for (int with = 0; with < 2; with++) {
		struct troupe_server *server = lib_server(lib_all, 2);
		struct watcher watcher = {.server = server};
		pthread_t threads[2];
		lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1} angular {z: 0.3}");
		for (int i = 0; i < 2 && with; i++)
			cr_assert_eq(pthread_create(&threads[i], NULL, come_and_go, &watcher), 0);
		lib_step(server, 3000);
		watcher.stop = true;
		for (int i = 0; i < 2 && with; i++)
			pthread_join(threads[i], NULL);
		cr_assert(!with || watcher.seen > 0);
		hashes[with] = troupe_server_hash(server);
		lib_destroy(server);
	}
	cr_assert_eq(hashes[0], hashes[1]);
}

/* --- windows, and real time --------------------------------------------------------------------------------------- */

enum { PACED_STEPS = 600, PACED_MESSAGES = 1000, PACED_LIVE_STEPS = 20 };

struct paced {
	struct troupe_server *server;
	uint64_t hash, windows;
	uint32_t longest, count;
	struct {
		char topic[40];
		uint64_t step;
	} messages[PACED_MESSAGES];
};

static void *run_paced(void *ctx)
{
	lib_step(ctx, PACED_STEPS);
	return NULL;
}

static struct troupe_server *paced_server(uint32_t window, double rtf)
{
	struct troupe_server_def def = lib_def(lib_all, 2);
	def.window = window;
	def.rtf = rtf;
	return lib_create(&def);
}

static void play_paced(struct paced *paced, uint32_t window)
{
	static const struct {
		const char *topic;
		double rate_hz;
	} topics[] = {{"/world/w/dynamic_pose/info", 30}, {"/world/w/scene/info", 0}, {"/world/w/scene/deletion", 0},
		{"/stats", 0}, {"/model/cart/odometry", 0}};
	struct troupe_server *server = paced_server(window, 5);
	struct troupe_client *client = client_of(server, 4096);
	struct troupe_message message;
	*paced = (struct paced){.server = server};
	for (size_t i = 0; i < ARRAY_LEN(topics); i++)
		subscribe(client, topics[i].topic, topics[i].rate_hz);
	subscribe(client, "/world/w/secondaries", 1); /* as pages do; what it says differs */
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1}");
	lib_text(server, 333, "/world/w/create",
		"sdf: \"<sdf version='1.9'><model name='b'><pose>20 20 1 0 0 0</pose><link name='l'/></model></sdf>\"");
	lib_text(server, 451, "/world/w/remove", "name: 'b' type: MODEL");
	run_paced(server);
	while (troupe_client_take(client, 0, &message)) {
		if (!strcmp(message.topic, "/world/w/secondaries"))
			continue;
		cr_assert_lt(paced->count, (uint32_t)PACED_MESSAGES);
		(void)snprintf(
			paced->messages[paced->count].topic, sizeof paced->messages[0].topic, "%s", message.topic);
		paced->messages[paced->count++].step = message.step;
	}
	struct troupe_report *report = troupe_server_report(server);
	paced->windows = report->worlds[0].windows;
	paced->longest = report->worlds[0].longest_window;
	troupe_report_free(report);
	paced->hash = troupe_server_hash(server);
	client_destroy(client);
	lib_destroy(server);
}

/* Also in a run that keeps to real time, with what a page of the viewer follows, several steps are taken together; each
 * topic comes at the steps at which it comes when each step is taken alone. */
Test(clients, windows_end_where_topics_are_due)
{
	static struct paced single, paced;
	play_paced(&single, 1);
	play_paced(&paced, 0);
	cr_assert_eq(single.windows, (uint64_t)PACED_STEPS);
	cr_assert_lt(paced.windows, (uint64_t)PACED_STEPS / 4, "%lu windows", (unsigned long)paced.windows);
	cr_assert_eq(paced.longest, (uint32_t)PACED_LIVE_STEPS);
	cr_assert_eq(single.hash, paced.hash);
	cr_assert_eq(single.count, paced.count, "%u and %u messages", single.count, paced.count);
	cr_assert_gt(paced.count, 50u);
	for (uint32_t i = 0; i < paced.count; i++) {
		cr_assert_str_eq(single.messages[i].topic, paced.messages[i].topic, "message %u", i);
		cr_assert_eq(single.messages[i].step, paced.messages[i].step, "%s: at %lu in place of %lu",
			paced.messages[i].topic, (unsigned long)paced.messages[i].step,
			(unsigned long)single.messages[i].step);
	}
}

/* A command that is given while the world runs is bound to a step that is not farther away than a window. */
Test(clients, a_live_command_waits_for_one_window, .timeout = 60)
{
	struct troupe_server *server = paced_server(0, 2);
	struct troupe_client *client = client_of(server, 0);
	pthread_t thread;
	uint32_t given = 0;
	cr_assert_eq(pthread_create(&thread, NULL, run_paced, server), 0);
	while (lib_steps(server) < PACED_STEPS - 2 * PACED_LIVE_STEPS) {
		uint64_t step, before = lib_steps(server);
		must(troupe_client_publish(client, NULL, "/model/cart/cmd_vel", NULL, "", 0, &step, &lib_error));
		uint64_t after = lib_steps(server); /* as of the window that was out then, or the one before */
		cr_assert_geq(step, before);
		cr_assert_leq(step, after + 2 * PACED_LIVE_STEPS, "at %lu for %lu", (unsigned long)after,
			(unsigned long)step);
		given++;
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	}
	pthread_join(thread, NULL);
	cr_assert_gt(given, 0u);
	client_destroy(client);
	lib_destroy(server);
}

enum { BLADDERS = 60 };

/* Models whose systems report: each says the volume of its own bladder, in litres its number. */
static char *bladders_world(void)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);
	fputs("<sdf version='1.9'><world name='w'>" LIB_HEAD, file);
	for (int i = 1; i <= BLADDERS; i++)
		fprintf(file,
			"<model name='m%d'><pose>%d 0 1 0 0 0</pose>" LIB_BOX
			"<plugin name='gz::sim::systems::BuoyancyEngine' "
			"filename='x'><link_name>l</link_name><namespace>m%d"
			"</namespace><default_volume>%d</default_volume><neutral_volume>%d</neutral_volume></plugin></"
			"model>",
			i, i, i, i, i);
	fputs("</world></sdf>", file);
	fclose(file);
	return text;
}

struct reader {
	struct troupe_client *client;
	_Atomic bool stop;
	uint64_t seen, wrong; /* messages of model BLADDERS */
};

static void *read_volumes(void *ctx)
{
	struct reader *reader = ctx;
	struct troupe_message message;
	for (bool last = false; !last;) {
		last = reader->stop; /* before the messages that are left */
		while (troupe_client_take(reader->client, 0, &message)) {
			ProtobufCMessage *out;
			bool whole = !message_of_bytes(
				type_find(message.type), message.bytes, message.count, &no_limits, &out, NULL);
			reader->seen++;
			reader->wrong += !whole || ((Gz__Msgs__Double *)out)->data != BLADDERS;
			if (whole)
				message_free(out);
		}
	}
	return NULL;
}

/* What a client reads on its own thread is not changed by what the same step delivers to other clients. */
Test(clients, reports_of_a_step_are_whole_before_a_client_has_them)
{
	enum { STEPS = 3000 };
	char *text = bladders_world();
	struct troupe_server *server = lib_server(text, 0);
	struct reader reader = {.client = client_of(server, STEPS + 2)};
	struct troupe_client *other = client_of(server, 4);
	char topic[64];
	pthread_t thread;
	for (int i = 1; i <= BLADDERS; i++) {
		(void)snprintf(topic, sizeof topic, "/model/m%d/buoyancy_engine/current_volume", i);
		subscribe(i < BLADDERS ? other : reader.client, topic, 0);
	}
	cr_assert_eq(pthread_create(&thread, NULL, read_volumes, &reader), 0);
	lib_step(server, STEPS);
	reader.stop = true;
	pthread_join(thread, NULL);
	cr_assert_geq(reader.seen, (uint64_t)STEPS, "%ju messages", (uintmax_t)reader.seen);
	cr_assert_eq(reader.wrong, 0u, "%ju of %ju messages", (uintmax_t)reader.wrong, (uintmax_t)reader.seen);
	client_destroy(reader.client);
	client_destroy(other);
	lib_destroy(server);
	free(text);
}

struct sleeper {
	struct troupe_client *client;
	struct troupe_message message;
	bool woken;
};

static void *sleep_until_told(void *ctx)
{
	struct sleeper *sleeper = ctx;
	sleeper->woken = troupe_client_take(sleeper->client, UINT64_MAX / 2, &sleeper->message);
	return NULL;
}

static void count_call(void *ctx)
{
	atomic_fetch_add((_Atomic int *)ctx, 1);
}

/* A message wakes the thread that waits for it, and tells a client that has taken all that there was. */
Test(clients, a_message_wakes_its_client, .timeout = 60)
{
	enum { ASLEEP_NS = 50000000 };
	struct troupe_server *server = lib_server(lib_all, 1);
	_Atomic int calls = 0;
	struct troupe_client_def def = {.on_ready = count_call, .ctx = &calls};
	struct sleeper sleeper = {.client = client_of(server, 0)};
	struct troupe_client *told;
	struct troupe_message message;
	pthread_t thread;
	must(troupe_client_create(server, &def, &told, &lib_error));
	subscribe(told, "/clock", 0);
	subscribe(sleeper.client, "/clock", 0);
	lib_step(server, 1);
	while (troupe_client_take(told, 0, &message) || troupe_client_take(sleeper.client, 0, &message))
		;
	int before = calls;
	cr_assert_eq(pthread_create(&thread, NULL, sleep_until_told, &sleeper), 0);
	nanosleep(&(struct timespec){.tv_nsec = ASLEEP_NS}, NULL);
	lib_step(server, 1);
	pthread_join(thread, NULL);
	cr_assert(sleeper.woken && sleeper.message.step == 2);
	cr_assert_eq(calls, before + 1);
	/* also when one step comes soon after the other: when the last one has returned, it is told */
	for (int i = 0; i < 200; i++) {
		while (troupe_client_take(told, 0, &message))
			;
		before = calls;
		lib_step(server, 1);
		cr_assert_eq(calls, before + 1, "step %d", i);
	}
	client_destroy(told);
	client_destroy(sleeper.client);
	lib_destroy(server);
}

/* What a message was made of is used again for later ones. */
Test(clients, a_long_run_keeps_no_more_memory)
{
	enum { MESSAGES = 2000, BYTES_MAX = 64 << 10 };
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_client *client = client_of(server, 4);
	size_t before = 0;
	subscribe(client, "/world/w/pose/info", 0);
	subscribe(client, "/clock", 0);
	for (int i = 0; i < 2 * MESSAGES; i++) {
		lib_step(server, 1);
		(void)count_messages(client, "/clock");
		if (i == MESSAGES)
			before = mallinfo2().uordblks;
	}
	size_t after = mallinfo2().uordblks;
	cr_assert(after < before + BYTES_MAX, "%zu bytes more after %d messages", after - before, MESSAGES);
}

/* Only for the client that asks, and only this topic; the rate counts from then on. */
Test(clients, a_topic_that_is_asked_for_again_comes_at_once)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *asks = client_of(server, 1000), *other = client_of(server, 1000);
	struct troupe_client *both[] = {asks, other};
	static const char *const topics[] = {"/world/w/pose/info", "/world/w/dynamic_pose/info"};
	for (int i = 0; i < 4; i++)
		subscribe(both[i % 2], topics[i / 2], 1);
	lib_step(server, 1);
	cr_assert_eq(count_messages(asks, topics[0]), 1);
	cr_assert_eq(count_messages(other, topics[0]), 1);
	lib_step(server, 100);
	cr_assert_eq(count_messages(asks, topics[0]), 0);
	for (int round = 0; round < 2; round++) {
		subscribe(asks, topics[0], 1);
		lib_step(server, 1);
		cr_assert_eq(count_messages(asks, topics[0]), 1, "round %d", round);
		cr_assert_eq(count_messages(other, topics[0]), 0);
		subscribe(asks, topics[0], 1);
		lib_step(server, 1);
		cr_assert_eq(count_messages(asks, topics[1]), 0, "of the other topic");
		lib_step(server, 300);
		cr_assert_eq(count_messages(asks, topics[0]), 0);
	}
	client_destroy(asks);
	client_destroy(other);
	lib_destroy(server);
}

/* --- another run in the place of this one ------------------------------------------------------------------------- */

static struct {
	struct text said; /* what on_next was given */
	bool refuses;
	uint32_t calls;
} next_asked;

static troupe_status next_answer(
	void *ctx, const struct troupe_next *next, char **ret_world, struct troupe_error *error)
{
	cr_assert_eq(ctx, &next_asked);
	next_asked.calls++;
	next_asked.said.count = 0;
	text_add(&next_asked.said, "%s %s%s%s%s%s%s %lu", next->path ? next->path : "-", next->text ? next->text : "-",
		next->asks ? " asks" : "", next->unload ? " unload" : "", next->strict ? " strict" : "",
		next->all_assets ? " all" : "", next->seed_given ? " seed" : "", (unsigned long)next->seed);
	if (next_asked.refuses)
		return fail(error, TROUPE_EWORLD, "not this one");
	*ret_world = mem_strdup("another");
	return TROUPE_OK;
}

/* What a request gives the program, with folder and slash before it if it begins with "*"; of one that is refused, what
 * is said. A request that is refused, or only asks, leaves the run as it is; one that is granted is the last. */
Test(clients, another_run_is_asked_for)
{
	static const struct {
		const char *request, *given, *refusal;
		bool refuses;
	} rows[] = {{"asks: true file: 'beside.sdf'", "*beside.sdf - asks 0", NULL, false},
		{"asks: true file: 'file://beside.sdf'", "*beside.sdf - asks 0", NULL, false},
		{"asks: true file: 'model://placed.sdf' strict: true", "*res/placed.sdf - asks strict 0", NULL, false},
		{"asks: true file: 'package://placed.sdf' all_assets: true", "*res/placed.sdf - asks all 0", NULL,
			false},
		{"file: 'none.sdf'", NULL, "uri 'none.sdf' is not found: expected a file beside that of this world",
			false},
		{"file: 'https://placed.sdf'", NULL, "uri 'https://placed.sdf' is not found", false},
		{"file: 'pipe.sdf'", NULL, "uri 'pipe.sdf': no regular file: expected one with a world", false},
		{"text: '<sdf/>' seed_given: true seed: 7", "*(load_world) <sdf/> seed 7", "not this one", true},
		{"unload: true", "*(no world) <sdf version='1.9'><world name='no_world'/></sdf> unload 0",
			"not this one", true},
		{"seed: 9", "- - 9", "not this one", true}, {"file: 'beside.sdf'", "*beside.sdf - 0", NULL, false},
		{"file: 'beside.sdf'", NULL, "this run ends, because a world is loaded: expected one request at a time",
			false}};
	char folder[] = "/tmp/test_clients_XXXXXX";
	cr_assert(mkdtemp(folder));
	char *world = mem_printf("%s/w.sdf", folder), *places = mem_printf("%s/res", folder),
	     *beside = mem_printf("%s/beside.sdf", folder), *placed = mem_printf("%s/placed.sdf", places),
	     *pipe = mem_printf("%s/pipe.sdf", folder);
	const char *const folders[] = {places, NULL};
	const char *const files[] = {beside, placed};
	struct troupe_server_def def = lib_def(lib_all, 0);
	cr_assert(!mkdir(places, 0700) && !mkfifo(pipe, 0600));
	for (int i = 0; i < 2; i++) {
		FILE *file = fopen(files[i], "w");
		cr_assert(file && fputs("<sdf/>", file) >= 0 && !fclose(file));
	}
	def.world_path = world;
	def.resource_paths = folders;
	def.on_next = next_answer;
	def.ctx = &next_asked;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *client = client_of(server, 0);
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct troupe_message reply;
		uint32_t calls = next_asked.calls;
		next_asked.refuses = rows[i].refuses;
		if (i + 1 < ARRAY_LEN(rows)) /* the last two are given in one step */
			request(client, "/world/w/next_run", "troupe.msgs.NextRun", rows[i].request, i + 1);
		if (i + 2 == ARRAY_LEN(rows))
			request(client, "/world/w/next_run", "troupe.msgs.NextRun", rows[i + 1].request, i + 2);
		if (i + 1 < ARRAY_LEN(rows))
			lib_step(server, 1);
		cr_assert(troupe_client_take(client, UINT64_C(30000000000), &reply), "%s: no answer", rows[i].request);
		cr_assert(reply.is_reply && reply.tag == i + 1);
		cr_expect_eq(next_asked.calls - calls, rows[i].given != NULL, "%s", rows[i].request);
		if (rows[i].refusal)
			cr_expect(reply.status && strstr(reply.text, rows[i].refusal), "%s: %s", rows[i].request,
				reply.text);
		else
			cr_expect_eq(reply.status, TROUPE_OK, "%s: %s", rows[i].request, reply.text);
		if (rows[i].given) {
			bool below = *rows[i].given == '*';
			char *want = mem_printf("%s%s%s", below ? folder : "", below ? "/" : "", rows[i].given + below);
			cr_expect_str_eq(
				next_asked.said.at, want, "%s: %s, not %s", rows[i].request, next_asked.said.at, want);
			free(want);
		}
	}
	text_fini(&next_asked.said);
	(void)(unlink(beside), unlink(placed), unlink(pipe), rmdir(places), rmdir(folder));
	free(world), free(places), free(beside), free(placed), free(pipe);
}
