/* Services that answer and change no world: their replies, their effects outside of the worlds, and their refusals with
 * the reasons. The topic `replies` has the reasons, which Gazebo's replies do not have. */
#include "clients.h"

#include "topic/scene.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <sys/stat.h>
#include <unistd.h>

TestSuite(answers, .fini = clients_end, .timeout = 120);

static char said[600]; /* text of the last reply */

/* Calls the service, takes a step, and returns the outcome of the call. */
static troupe_status call(struct troupe_server *server, struct troupe_client *client, const char *service,
	const char *type, const char *text)
{
	static uint64_t tag;
	struct troupe_message reply;
	request(client, service, type, text, ++tag);
	lib_step(server, 1);
	cr_assert(answer(client, tag, &reply), "%s: no reply", service);
	cr_assert_str_eq(reply.type, "gz.msgs.Boolean");
	Gz__Msgs__Boolean *good = decode(&reply);
	cr_assert_eq(good->data, reply.status == TROUPE_OK);
	message_free(&good->base);
	(void)snprintf(said, sizeof said, "%s", reply.text);
	return reply.status;
}

#define GOOD(service, type, text)                                                                                      \
	cr_assert_eq(call(server, client, service, type, text), TROUPE_OK, "%s: %s", service, said)
#define BAD(service, type, text, why)                                                                                  \
	do {                                                                                                           \
		cr_assert_neq(call(server, client, service, type, text), TROUPE_OK, "%s", service);                    \
		cr_assert(strstr(said, why) && !strchr(said, '\n'), "%s: '%s'", service, said);                        \
	} while (0)

/* --- control/state ------------------------------------------------------------------------------------------------ */

Test(answers, control_state_controls_as_control_does)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	struct troupe_client *client = client_of(server, 0);
	GOOD("/world/w/control/state", "gz.msgs.WorldControlState", "world_control {pause: true}");
	double time_s = troupe_server_progress(server).time_s;
	lib_step(server, 5);
	cr_assert_eq(troupe_server_progress(server).time_s, time_s);
	GOOD("/world/w/control/state", "gz.msgs.WorldControlState",
		"world_control {pause: true multi_step: 3} state {}");
	lib_step(server, 10);
	cr_assert_float_eq(troupe_server_progress(server).time_s, time_s + 3 * LIB_DT_S, 1e-12);
	BAD("/world/w/control/state", "gz.msgs.WorldControlState",
		"world_control {pause: false} state {entities {id: 1} entities {id: 2}}", "a state of 2 entities");
	GOOD("/world/w/control/state", "gz.msgs.WorldControlState", "");
	lib_step(server, 10);
	cr_assert_float_eq(troupe_server_progress(server).time_s, time_s + 3 * LIB_DT_S, 1e-12);
	/* as for Gazebo's clients: without a pause the world runs */
	GOOD("/world/w/control/state", "gz.msgs.WorldControlState", "world_control {}");
	lib_step(server, 10);
	cr_assert_gt(troupe_server_progress(server).time_s, time_s + 10 * LIB_DT_S);
}

/* --- /server_control ---------------------------------------------------------------------------------------------- */

Test(answers, a_client_stops_the_run)
{
	for (int secondaries = 0; secondaries <= 2; secondaries++) {
		struct troupe_server *server = lib_server(lib_all, secondaries);
		struct troupe_client *client = client_of(server, 0);
		struct troupe_message reply;
		const struct troupe_limits limits = {.iterations = 1000000000};
		BAD("/server_control", "gz.msgs.ServerControl", "", "expected stop: true");
		BAD("/server_control", "gz.msgs.ServerControl", "new_world: true stop: true", "a new world");
		BAD("/server_control", "gz.msgs.ServerControl", "clone: true", "a second server");
		BAD("/server_control", "gz.msgs.ServerControl", "open_filename: 'x'", "opening another world");
		BAD("/server_control", "gz.msgs.ServerControl", "save_filename: 'x'", "saving");
		cr_assert(!troupe_server_was_stopped(server));
		request(client, "/server_control", "gz.msgs.ServerControl", "stop: true", 77);
		must(troupe_server_run(server, &limits, &lib_error));
		cr_assert(troupe_server_was_stopped(server));
		cr_assert_lt(lib_steps(server), 1000u);
		cr_assert(answer(client, 77, &reply));
		cr_assert_eq(reply.status, TROUPE_OK);
		lib_step(server, 10);
		cr_assert(!troupe_server_was_stopped(server));
		client_destroy(client);
		lib_destroy(server);
	}
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

struct expected {
	const char *service;
	bool ok;
	const char *text;
};

/* Every outcome is a message, in order: also of commands that no client gave, and of requests that only ask. */
Test(answers, each_reply_is_published_with_its_reason)
{
	static const struct expected expected[] = {
		{"/world/w/set_pose", true, "crate"},
		{"/world/w/remove", false, "nobody"},
		{"/world/w/control", true, ""},
		{"/world/w/save", false, "--save-dir"},
		{"/world/w/resume", false, "--save-dir"},
		{"/world/w/hash", true, ""},
		{"/world/w/set_pose", false, "nothing"},
		{"/server_control", false, "stop: true"},
	};
	struct troupe_server *server = lib_server(lib_all, 2);
	struct troupe_client *client = client_of(server, 1000), *other = client_of(server, 1000);
	struct troupe_message message;
	subscribe(other, "/world/w/replies", 0);
	lib_step(server, 1);
	GOOD("/world/w/set_pose", "gz.msgs.Pose", "name: 'crate' position {x: 4 z: 6}");
	BAD("/world/w/remove", "gz.msgs.Entity", "name: 'nobody' type: MODEL", "nobody");
	GOOD("/world/w/control", "gz.msgs.WorldControl", "pause: false");
	BAD("/world/w/save", "gz.msgs.StringMsg", "data: 'x'", "--save-dir");
	BAD("/world/w/resume", "gz.msgs.StringMsg", "data: 'x'", "--save-dir");
	request(client, "/world/w/hash", "gz.msgs.Empty", "", 99);
	lib_step(server, 1);
	cr_assert(answer(client, 99, &message));
	uint64_t step = lib_steps(server);
	lib_text(server, 0, "/world/w/set_pose", "name: 'nothing'");
	lib_step(server, 1);
	BAD("/server_control", "gz.msgs.ServerControl", "", "stop: true");
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		cr_assert(troupe_client_take(other, 0, &message), "%zu: %s", i, expected[i].service);
		cr_assert_str_eq(message.topic, "/world/w/replies");
		Troupe__Msgs__Reply *reply = decode(&message);
		cr_assert_str_eq(reply->service, expected[i].service);
		cr_assert_eq(reply->ok, expected[i].ok, "%s", reply->service);
		cr_assert(strstr(reply->text, expected[i].text), "'%s'", reply->text);
		cr_assert(!expected[i].ok || *expected[i].text || !*reply->text);
		if (i == 6)
			cr_assert_eq(reply->step, step);
		message_free(&reply->base);
	}
	cr_assert(!troupe_client_take(other, 0, &message));
}

/* --- save --------------------------------------------------------------------------------------------------------- */

static char folder[] = "answers-XXXXXX";

static char *path_of(const char *name)
{
	static char path[300];
	(void)snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}

static bool has_text(const char *path, const char *text)
{
	char read[100] = "";
	FILE *file = fopen(path, "r");
	bool same = file && fgets(read, sizeof read, file) && !strcmp(read, text);
	if (file)
		(void)fclose(file);
	return same;
}

/* The state is that of the step at which the reply says that it was saved: a run that is resumed from it has the same
 * bits as the run that goes on. */
Test(answers, a_client_saves_the_state)
{
	cr_assert(mkdtemp(folder));
	struct troupe_server_def def = lib_def(lib_all, 2);
	def.save_folder = folder;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *client = client_of(server, 0);
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1} angular: {z: 0.5}");
	lib_step(server, 300);
	for (int again = 0; again < 2; again++) { /* a state is replaced by a later one */
		GOOD("/world/w/save", "gz.msgs.StringMsg", "data: 'a.state'");
		cr_assert(strstr(said, "a.state"), "%s", said);
		lib_step(server, 200);
		uint64_t steps = lib_steps(server), hash = troupe_server_hash(server);
		struct troupe_server_def resumed_def = lib_def(NULL, 1);
		resumed_def.world_path = NULL;
		resumed_def.resume_path = path_of("a.state");
		struct troupe_server *resumed = lib_create(&resumed_def);
		cr_assert_eq(lib_steps(resumed), steps - 201);
		lib_step(resumed, 201);
		cr_assert_eq(troupe_server_hash(resumed), hash);
		lib_destroy(resumed);
	}
	static const char *const names[] = {"", "../x", "/tmp/x", "a/b", ".x", "-x", "a b", "x\\n", "\303\244"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char text[40];
		(void)snprintf(text, sizeof text, "data: '%s'", names[i]);
		BAD("/world/w/save", "gz.msgs.StringMsg", text, "expected the name of a file");
	}
	write_file(path_of("mine"), "my own");
	BAD("/world/w/save", "gz.msgs.StringMsg", "data: 'mine'", "not a state");
	cr_assert(has_text(path_of("mine"), "my own"));
	char *target = strdup(path_of("a.state"));
	cr_assert_eq(symlink("a.state", path_of("link")), 0);
	BAD("/world/w/save", "gz.msgs.StringMsg", "data: 'link'", "not a state");
	cr_assert_eq(mkfifo(path_of("pipe"), 0600), 0);
	BAD("/world/w/save", "gz.msgs.StringMsg", "data: 'pipe'", "not a state");
	/* the folder is removed: one line, and the run goes on */
	static const char *const all[] = {"mine", "link", "pipe"};
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		cr_assert_eq(unlink(path_of(all[i])), 0);
	cr_assert_eq(unlink(target), 0);
	cr_assert_eq(rmdir(folder), 0);
	BAD("/world/w/save", "gz.msgs.StringMsg", "data: 'b.state'", folder);
	lib_step(server, 10);
	free(target);
	client_destroy(client);
	lib_destroy(server);
	refused(TROUPE_EIO, troupe_server_create(&def, &server, &lib_error));
}

/* A client takes a state up: clocks go back, models that were created since are deleted, and from there the world has
 * the bits of the run that was saved. Handles of models of the state hold. A refusal says why. */
Test(answers, a_client_takes_a_state_up)
{
	cr_assert(mkdtemp(folder));
	struct troupe_server_def def = lib_def(lib_all, 2);
	def.save_folder = folder;
	struct troupe_server *server = lib_create(&def);
	struct troupe_client *client = client_of(server, 0), *other = client_of(server, 1000);
	struct troupe_message message;
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1} angular: {z: 0.5}");
	lib_step(server, 100);
	GOOD("/world/w/save", "gz.msgs.StringMsg", "data: 'a'"); /* of step 100 */
	troupe_model cart = lib_model(server, "cart");
	lib_step(server, 59);
	uint64_t after = troupe_server_hash(server); /* of step 160 */
	subscribe(other, "/world/w/clock", 0);
	subscribe(other, "/world/w/scene/deletion", 0);
	lib_text(server, 0, "/world/w/create",
		"sdf: '<sdf version=\"1.9\"><model name=\"x\"><link name=\"l\"/></model></sdf>'");
	lib_text(server, 0, "/world/w/set_pose", "name: 'cart' position {x: 9 y: 9 z: 9}");
	lib_step(server, 50);
	troupe_model gone = lib_model(server, "x");
	uint64_t id = gone.born;
	for (int again = 0; again < 2; again++) {
		request(client, again ? "/world/w/resume/blocking" : "/world/w/resume", "gz.msgs.StringMsg",
			"data: 'a'", 500 + (uint64_t)again);
		lib_step(server, 61); /* one is empty */
		cr_assert(answer(client, 500 + (uint64_t)again, &message));
		cr_assert_eq(message.status, TROUPE_OK, "%s", message.text);
		cr_assert(strstr(message.text, "begins from the state of step 100"), "%s", message.text);
		cr_assert_eq(troupe_server_hash(server), after);
		cr_assert_lt(lib_at(server, cart).pose.x, 5);
	}
	bool back = false, deleted = false;
	for (int64_t last_ns = 0; troupe_client_take(other, 0, &message);) {
		if (!strcmp(message.topic, "/world/w/clock")) {
			Gz__Msgs__Clock *clock = decode(&message);
			int64_t now_ns = clock->sim->sec * INT64_C(1000000000) + clock->sim->nsec;
			back |= now_ns < last_ns;
			last_ns = now_ns;
			message_free(&clock->base);
			continue;
		}
		Gz__Msgs__UInt32V *list = decode(&message);
		for (size_t i = 0; i < list->n_data; i++)
			deleted |= list->data[i] == id;
		message_free(&list->base);
	}
	cr_assert(back && deleted);
	static const char *const names[] = {"", "../a", "a/b", ".a"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char text[40];
		(void)snprintf(text, sizeof text, "data: '%s'", names[i]);
		BAD("/world/w/resume", "gz.msgs.StringMsg", text, "expected the name of a file");
	}
	BAD("/world/w/resume", "gz.msgs.StringMsg", "data: 'b'", "cannot");
	BAD("/world/w/resume", "troupe.msgs.Resume", "data: 'a' state: 'x'", "expected only the name");
	write_file(path_of("mine"), "my own");
	BAD("/world/w/resume", "gz.msgs.StringMsg", "data: 'mine'", "not a state");
	cr_assert_eq(unlink(path_of("mine")), 0);
	cr_assert_eq(unlink(path_of("a")), 0);
	cr_assert_eq(rmdir(folder), 0);
	client_destroy(client);
	client_destroy(other);
	lib_destroy(server);
}

/* --- generate_world_sdf ------------------------------------------------------------------------------------------- */

#define EXTRAS                                                                                                         \
	"<light name='sun' type='directional'><pose>0 0 10 0 0 0</pose><diffuse>0.8 0.7 0.6 1</diffuse></light>"       \
	"<light name='bulb' type='point'><intensity>3</intensity></light>"                                             \
	"<frame name='mark' attached_to='crate'><pose>1 0 0 0 0 0</pose></frame>"                                      \
	"<actor name='walker'><script><trajectory id='0' type='walk'><waypoint><time>0</time><pose>1 1 1 0 0 0</pose>" \
	"</waypoint><waypoint><time>1</time><pose>2 1 1 0 0 0</pose></waypoint></trajectory></script></actor>"

#define GUI                                                                                                            \
	"<gui fullscreen='1'><camera name='eye'><pose>1 2 3 0 0 0</pose><view_controller>orbit</view_controller>"      \
	"<projection_type>perspective</projection_type><track_visual><name>cart</name><min_dist>2</min_dist>"          \
	"<static>true</static><xyz>1 0 2</xyz></track_visual></camera>"                                                \
	"<plugin name='a' filename='A'><x y='1'>t &amp; u</x><z/></plugin><plugin name='b' filename='B'/></gui>"

static void ask(struct troupe_server *server, struct troupe_client *client, const char *service, const char *type,
	const char *text, struct troupe_message *ret_reply)
{
	static uint64_t tag = 1000;
	request(client, service, type, text, ++tag);
	lib_step(server, 1);
	cr_assert(answer(client, tag, ret_reply), "%s: no reply", service);
	(void)snprintf(said, sizeof said, "%s", ret_reply->text);
}

static char *sdf_of(struct troupe_server *server, struct troupe_client *client)
{
	struct troupe_message reply;
	ask(server, client, "/world/w/generate_world_sdf", "gz.msgs.SdfGeneratorConfig", "", &reply);
	cr_assert_eq(reply.status, TROUPE_OK, "%s", said);
	Gz__Msgs__StringMsg *message = decode(&reply);
	char *sdf = strdup(message->data);
	message_free(&message->base);
	return sdf;
}

static void no_warning(void *ctx, const char *text)
{
	(void)ctx;
	cr_assert_fail("%s", text);
}

static bool is_near(struct troupe_pose a, struct troupe_pose b)
{
	double turned = fabs(a.qw * b.qw + a.qx * b.qx + a.qy * b.qy + a.qz * b.qz);
	return fabs(a.x - b.x) + fabs(a.y - b.y) + fabs(a.z - b.z) < 1e-9 && fabs(turned - 1) < 1e-9;
}

/* The models of both, by name, at the same poses. The poses are those of the state of the reply, one step ago. */
static void has_same_models(
	struct troupe_server *generated, const struct troupe_pose *poses, char names[][32], size_t count)
{
	const struct troupe_scene *scene = troupe_server_scene(generated, 0);
	cr_assert_eq(scene->model_count, count);
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(names[i], "walker")) /* an actor begins its script anew */
			continue;
		struct troupe_model_state state = lib_at(generated, lib_model(generated, names[i]));
		cr_assert(is_near(state.pose, poses[i]), "%s: %g %g %g, not %g %g %g", names[i], state.pose.x,
			state.pose.y, state.pose.z, poses[i].x, poses[i].y, poses[i].z);
	}
	troupe_scene_release(scene);
}

static size_t read_poses(struct troupe_server *server, struct troupe_pose *poses, char names[][32])
{
	const struct troupe_scene *scene = troupe_server_scene(server, 0);
	size_t count = scene->model_count;
	for (size_t i = 0; i < count; i++) {
		struct troupe_model_state state = lib_at(server, scene->models[i].handle);
		(void)snprintf(names[i], 32, "%s", scene->models[i].name);
		poses[i] = state.pose;
	}
	troupe_scene_release(scene);
	return count;
}

/* After models moved, came, went and were placed, and gravity, time step and lights changed. */
Test(answers, the_sdf_of_a_world_gives_the_same_world)
{
	struct troupe_server *server = lib_server(LIB_SDF(LIB_WORLD("w", LIB_ALL EXTRAS GUI)), 2);
	struct troupe_client *client = client_of(server, 0);
	struct troupe_pose poses[20];
	char names[20][32];
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 1} angular: {z: 1}");
	lib_text(server, 10, "/world/w/create",
		"sdf: '<sdf version=\"1.9\"><model name=\"new &amp; odd\"><pose>1 1 1 0 0 0</pose><link name=\"l\">"
		"<pose>0 0 0.5 0 0 0</pose></link></model></sdf>' pose {position {x: -20 z: 30}}");
	lib_text(server, 10, "/world/w/create",
		"sdf: '<sdf version=\"1.9\"><model name=\"crate\"><static>true</static><link "
		"name=\"l\"/></model></sdf>' "
		"pose {position {x: -9 z: 3}} allow_renaming: true");
	lib_text(server, 20, "/world/w/remove", "name: 'crate' type: MODEL");
	lib_text(server, 20, "/world/w/remove", "name: 'sun' type: LIGHT");
	lib_text(server, 20, "/world/w/set_pose", "name: 'ground' position {z: -1}");
	lib_text(server, 20, "/world/w/set_physics", "max_step_size: 0.002 gravity {z: -3}");
	lib_step(server, 400);
	lib_text(server, 0, "/world/w/control", "pause: true");
	lib_step(server, 2);
	char *sdf = sdf_of(server, client);
	size_t count = read_poses(server, poses, names);
	struct troupe_server_def def = lib_def(sdf, 1);
	def.on_warning = no_warning;
	struct troupe_server *again = lib_create(&def);
	has_same_models(again, poses, names, count);
	cr_assert_eq(troupe_server_step_s(again, 0), 0.002);
	const struct troupe_scene *scene = troupe_server_scene(again, 0);
	cr_assert_eq(scene->light_count, 1u);
	cr_assert_str_eq(scene->lights[0].name, "bulb");
	cr_assert_eq(scene->lights[0].shine.intensity, 3);
	troupe_scene_release(scene);
	/* a free body falls as it did */
	lib_step(again, 100);
	troupe_model fallen = lib_model(again, "new & odd");
	cr_assert_float_eq(lib_at(again, fallen).twist.linear.z, -3 * 0.2, 1e-9);
	lib_destroy(again);
	again = lib_create(&def);
	struct troupe_client *other = client_of(again, 0);
	lib_text(again, 0, "/world/w/control", "pause: true");
	lib_step(again, 2);
	char *twice = sdf_of(again, other);
	cr_assert(strstr(sdf, "<gui fullscreen=\"1\">") && strstr(twice, "<gui fullscreen=\"1\">"));
	cr_assert(strstr(twice, "new &amp; odd") && !strstr(twice, "mark"));
	client_destroy(other);
	lib_destroy(again);
	free(sdf);
	free(twice);
	struct troupe_message reply;
	ask(server, client, "/world/w/generate_world_sdf", "gz.msgs.SdfGeneratorConfig",
		"global_entity_gen_config {copy_model_resources {data: true}}", &reply);
	cr_assert_neq(reply.status, TROUPE_OK);
	cr_assert(strstr(said, "copy_model_resources"));
	client_destroy(client);
	lib_destroy(server);
}

/* --- gui/info ----------------------------------------------------------------------------------------------------- */

Test(answers, the_gui_is_that_of_the_file)
{
	for (int with = 0; with < 2; with++) {
		struct troupe_server *server =
			lib_server(with ? LIB_SDF(LIB_WORLD("w", GUI)) : LIB_SDF(LIB_WORLD("w", "")), 0);
		struct troupe_client *client = client_of(server, 0);
		struct troupe_message reply;
		ask(server, client, "/world/w/gui/info", "gz.msgs.Empty", "", &reply);
		cr_assert_eq(reply.status, TROUPE_OK);
		Gz__Msgs__GUI *gui = decode(&reply);
		cr_assert_eq(gui->fullscreen, with);
		cr_assert_eq(gui->n_plugin, with ? 2u : 0u);
		cr_assert_eq(gui->camera != NULL, with);
		if (with) {
			cr_assert_str_eq(gui->camera->name, "eye");
			cr_assert_str_eq(gui->camera->view_controller, "orbit");
			cr_assert_eq(gui->camera->pose->position->y, 2);
			cr_assert_str_eq(gui->camera->track->name, "cart");
			cr_assert_eq(gui->camera->track->min_dist, 2);
			cr_assert(gui->camera->track->static_);
			cr_assert_eq(gui->camera->track->xyz->z, 2);
			cr_assert_str_eq(gui->plugin[0]->filename, "A");
			cr_assert_str_eq(gui->plugin[0]->innerxml, "<x y=\"1\">t &amp; u</x>\n<z/>\n");
			cr_assert_str_eq(gui->plugin[1]->innerxml, "");
		}
		message_free(&gui->base);
		client_destroy(client);
		lib_destroy(server);
	}
}
