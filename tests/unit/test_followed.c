/* Secondaries of their own processes follow all that is done to a world: each change of its models, lights, collisions,
 * joints, gravity and place on Earth, levels that are loaded and left, a save and its take-up, and a reset. After each
 * step the state has the hash of a run whose secondaries share its memory, each command has the same reply, and
 * sensors, which the secondaries evaluate, give the same bytes. A replica that had missed a change would give other
 * bits. Here the secondaries are threads of this process, and reach the primary by sockets. */
#include "clients.h"

#include "base/hash.h"

#include <troupe/network.h>

#include <unistd.h>

TestSuite(followed, .fini = clients_end, .timeout = 120);

enum { FOLLOWED_MEMBERS = 2, FOLLOWED_STEPS = 1000, FOLLOWED_SAVED = 300, FOLLOWED_TAKEN_UP = 700 };

#define FOLLOWED_BOX(size)                                                                                             \
	"<collision name='c'><geometry><box><size>" size                                                               \
	"</size></box></geometry></collision><visual name='v'><geometry>"                                              \
	"<box><size>" size "</size></box></geometry><material><diffuse>1 0.8 0.6</diffuse></material></visual>"
#define FOLLOWED_CRATE(name, pose)                                                                                     \
	"<model name='" name "'><pose>" pose "</pose><link name='l'>" FOLLOWED_BOX("0.3 0.3 0.3") "</link></model>"
#define FOLLOWED_FLOOR(name, pose)                                                                                     \
	"<model name='" name "'><static>1</static><pose>" pose                                                         \
	"</pose><link name='l'>" FOLLOWED_BOX("2 4 0.5") "</link></model>"
#define FOLLOWED_DRIVER(name, pose, speed)                                                                             \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><collision name='c'><geometry><box><size>0.5 0.5 " \
	"0.5</size></box></geometry></collision><sensor name='imu' type='imu'><update_rate>100</update_rate></sensor>" \
	"<sensor name='gps' type='navsat'><update_rate>20</update_rate></sensor><sensor name='eye' type='camera'>"     \
	"<pose>0 0 0.5 0 0.3 0</pose><update_rate>20</update_rate><camera><horizontal_fov>2</horizontal_fov><image>"   \
	"<width>8</width><height>6</height></image></camera></sensor><sensor name='ray' type='gpu_lidar'>"             \
	"<pose>0 0 0.5 0 0 0.2</pose><update_rate>50</update_rate><lidar><scan><horizontal><samples>7</samples>"       \
	"<min_angle>-2</min_angle><max_angle>2.5</max_angle></horizontal></scan><range><min>0.1</min><max>20</max>"    \
	"</range></lidar></sensor></link><plugin name='gz::sim::systems::VelocityControl' filename='x'>"               \
	"<initial_linear>" speed " 0 0</initial_linear></plugin></model>"
#define FOLLOWED_LEVEL(name, x, refs)                                                                                  \
	"<level name='" name "'><pose>" x " 0 0 0 0 0</pose><geometry><box><size>2 4 4</size></box></geometry>"        \
	"<buffer>0.3</buffer>" refs "</level>"
#define FOLLOWED_PERFORMER(name)                                                                                       \
	"<performer name='" name "'><ref>" name                                                                        \
	"</ref><geometry><box><size>0.5 0.5 0.5</size></box></geometry></performer>"

static const char followed_world[] = LIB_SDF(
	"<world name='w'>" LIB_HEAD
	"<spherical_coordinates><latitude_deg>47</latitude_deg><longitude_deg>8</longitude_deg><elevation>400</"
	"elevation></spherical_coordinates><light name='sun' type='directional'/>" FOLLOWED_FLOOR(
		"floor_0", "0 0 -0.25 0 0 0") FOLLOWED_FLOOR("floor_1", "2 0 -0.25 0 0 0") FOLLOWED_FLOOR("floor_2",
		"4 0 -0.25 0 0 0") FOLLOWED_FLOOR("stage", "0 9 -0.25 0 0 0") FOLLOWED_CRATE("crate_0",
		"0 1.2 0.16 0 0 0.1") FOLLOWED_CRATE("crate_1", "2 1.2 0.16 0 0 0.2") FOLLOWED_CRATE("crate_2",
		"4 1.2 0.16 0 0 0.3") FOLLOWED_CRATE("spare", "0 9 0.3 0 0 0.4") FOLLOWED_DRIVER("a", "0 0 0.26 0 0 0",
		"3") FOLLOWED_DRIVER("b", "4 -0.9 0.26 0 0 0", "-7") LIB_ARM("arm", "0 20 0 0 0 0.5") LIB_CART("cart",
		"8 20 0 0 0 0.7") "<model name='hook'><pose>-4 20 3 0 0 0</pose><link "
				  "name='l'><gravity>false</gravity></link><plugin "
				  "name='gz::sim::systems::DetachableJoint' "
				  "filename='x'><parent_link>l</parent_link><child_model>bait</child_model>"
				  "<child_link>l</child_link></plugin></model>"
				  "<model name='rock'><static>1</static><pose>-2 -0.9 0 0 0 0</pose><link "
				  "name='l'><collision name='c'>"
				  "<geometry><mesh><uri>sound.obj</uri></mesh></geometry></collision></link></"
				  "model>" FOLLOWED_CRATE("bait",
					  "-4 20.5 3 0 0 0") "<plugin name='gz::sim' "
							     "filename='x'>" FOLLOWED_PERFORMER("a") FOLLOWED_PERFORMER(
								     "b") FOLLOWED_LEVEL("level_0", "0",
								     "<ref>floor_0</ref><ref>crate_0</"
								     "ref>") FOLLOWED_LEVEL("level_1", "2",
								     "<ref>floor_1</ref><ref>crate_1</"
								     "ref>") FOLLOWED_LEVEL("level_2", "4",
								     "<ref>floor_2</ref><ref>crate_2</"
								     "ref>") FOLLOWED_LEVEL("level_3", "-2",
								     "<ref>rock</ref>") "</plugin></world>");

#define FOLLOWED_NEW(name, pose) "name: '" name "' sdf: \"<sdf version='1.11'>" FOLLOWED_CRATE(name, pose) "</sdf>\""

/* Two of each kind; the second is another one, or takes the first one back. */
static const struct {
	uint64_t step;
	const char *service, *text;
} followed_commands[] = {{20, "create", FOLLOWED_NEW("new", "0 9.5 1 0 0 0")},
	{20, "create",
		"name: 'lit' sdf: \"<sdf version='1.11'><model name='lit'><static>true</static><pose>0 9 4 0 0 "
		"0</pose><link "
		"name='l'><light name='lamp' type='point'/><collision "
		"name='c'><geometry><sphere><radius>0.25</radius></sphere>"
		"</geometry></collision></link></model></sdf>\""},
	{25, "disable_collision", "name: 'crate_2::l::c'"}, {35, "enable_collision", "name: 'crate_2::l::c'"},
	{40, "light_config", "name: 'sun' type: DIRECTIONAL intensity: 3 direction {x: 0.6 z: -0.8}"},
	{45, "light_config", "name: 'lit::l::lamp' type: POINT intensity: 2"},
	{50, "light_config", "name: 'extra' type: POINT range: 5 pose {position {z: 2}}"},
	{55, "set_pose", "name: 'rock' position {x: -2 y: -0.8}"},
	{60, "set_pose", "name: 'stage' position {y: 9 z: -0.5} orientation {z: 0.6 w: 0.8}"},
	{65, "set_pose", "name: 'spare' position {x: 0.2 y: 9 z: 0.5} orientation {w: 1}"},
	{70, "set_pose_vector", "pose {name: 'cart' position {x: 9 y: 21}} pose {name: 'new' position {y: 9.7 z: 2}}"},
	{80, "set_velocity", "name: 'cart' linear {x: 1} angular {z: 2}"},
	{90, "set_joint", "name: 'arm' joint: 'rail' position: 0.5"},
	{95, "set_joint", "name: 'arm' joint: 'elbow' position: 0.25 velocity: 1"},
	{100, "disable_collision", "name: 'spare::l::c'"}, {105, "disable_collision", "name: 'arm::base' type: LINK"},
	{120, "enable_collision", "name: 'arm::base' type: LINK"},
	{130, "wrench/persistent", "entity {name: 'cart' type: MODEL} wrench {force {z: 300} torque {y: 1}}"},
	{135, "wrench", "entity {name: 'bait' type: MODEL} wrench {force {x: 50}}"},
	{150, "set_physics", "gravity {x: 0.5 z: -5} max_step_size: 0.001"},
	{160, "set_spherical_coordinates",
		"surface_model: EARTH_WGS84 latitude_deg: 40 longitude_deg: 9 elevation: 100"},
	{165, "create", "name: 'bad' sdf: \"<sdf\""},
	{166, "create", "name: 'bad' sdf: \"<sdf version='1.11'><model name='m'><link/></model></sdf>\""},
	{170, "level/set_performer", "data: 'spare'"}, {140, "/model/hook/detachable_joint/detach", ""},
	{250, "/model/hook/detachable_joint/attach", ""}, {200, "remove", "name: 'new' type: MODEL"},
	{205, "create", FOLLOWED_NEW("newer", "0.5 9 2 0.3 0 0")}, {210, "wrench/clear", "name: 'cart' type: MODEL"},
	{220, "remove", "name: 'crate_1' type: MODEL"}, {230, "remove", "name: 'sun' type: LIGHT"},
	{240, "reset_model", "name: 'arm' type: MODEL"}, {FOLLOWED_SAVED, "save", "data: 'kept'"},
	{320, "create", FOLLOWED_NEW("late", "0 8 1 0 0 0")}, {330, "remove", "name: 'lit' type: MODEL"},
	{340, "set_pose", "name: 'stage' position {y: 9 z: -3}"},
	{350, "set_physics", "gravity {z: -1} max_step_size: 0.001"}, {360, "disable_collision", "name: 'a::l::c'"},
	{FOLLOWED_TAKEN_UP, "resume", "data: 'kept'"}, {720, "create", FOLLOWED_NEW("after", "0 8 1 0 0 0")},
	{730, "remove", "name: 'nobody' type: MODEL"}, {740, "set_pose", "name: 'stage' position {y: 9 z: -0.25}"},
	{850, "control", "reset {all: true}"}, {870, "create", FOLLOWED_NEW("last", "0 9.2 1 0 0 0")},
	{900, "remove", "name: 'spare' type: MODEL"}};

struct followed {
	uint64_t hashes[FOLLOWED_STEPS];
	struct text replies;
	uint64_t messages, digest;
};

static void followed_on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct followed *followed = ctx;
	text_add(&followed->replies, "%llu %s %d: %s\n", (unsigned long long)reply->step, reply->topic, reply->status,
		reply->text);
}

static void followed_hear(struct followed *followed, struct troupe_client *client)
{
	struct troupe_message message;
	while (troupe_client_take(client, 0, &message)) {
		followed->messages++;
		followed->digest = hash_bytes(followed->digest + message.step, message.topic, strlen(message.topic));
		followed->digest = hash_bytes(followed->digest, message.bytes, message.count);
	}
}

static struct troupe_client *followed_subscribe(struct troupe_server *server)
{
	struct troupe_client *client = client_of(server, 256);
	const struct troupe_topics *list = troupe_topics_list(server);
	for (uint32_t i = 0; i < list->count; i++)
		if (list->at[i].kind == TROUPE_TOPIC_PUBLISHED && strstr(list->at[i].name, "/sensor/"))
			subscribe(client, list->at[i].name, 0);
	troupe_topics_release(list);
	return client;
}

static struct troupe_server *followed_create(
	struct followed *followed, const struct troupe_network *network, const char *folder)
{
	static const char *const folders[] = {SOURCE_DIR "/tests/data/mesh", NULL};
	struct troupe_server_def def = lib_def(followed_world, FOLLOWED_MEMBERS);
	def.network = network;
	def.window = 1;
	def.save_folder = folder;
	def.resource_paths = folders;
	def.on_reply = followed_on_reply;
	def.ctx = followed;
	return lib_create(&def);
}

/* What is due in the next step. A saved state is read when its command is given. */
static void followed_give(struct troupe_server *server, struct troupe_client *client, uint64_t step)
{
	for (size_t i = 0; i < ARRAY_LEN(followed_commands); i++) {
		if (followed_commands[i].step != step)
			continue;
		char *topic = mem_printf(
			"%s%s", *followed_commands[i].service == '/' ? "" : "/world/w/", followed_commands[i].service);
		if (step == FOLLOWED_SAVED)
			request(client, topic, "gz.msgs.StringMsg", followed_commands[i].text, 1);
		else
			lib_text(server, 0, topic, followed_commands[i].text);
		free(topic);
	}
}

static void followed_run(struct troupe_server *server, struct followed *followed)
{
	struct troupe_client *client = followed_subscribe(server);
	for (uint32_t i = 0; i < FOLLOWED_STEPS; i++) {
		followed_give(server, client, i + 1);
		lib_step(server, 1);
		followed->hashes[i] = troupe_server_hash(server);
		followed_hear(followed, client);
	}
	client_destroy(client);
}

/* Each command is obeyed, but for the two whose text is bad, and the one that names nobody. */
static void followed_check_replies(const struct followed *followed)
{
	uint32_t refused = 0, lines = 0;
	for (const char *at = followed->replies.at; at && *at; at = strchr(at, '\n') + 1) {
		lines++;
		const char *status = strchr(strchr(at, ' ') + 1, ' ') + 1;
		if (!strncmp(status, "0:", 2))
			continue;
		refused++;
		cr_assert(!strncmp(at, "164 ", 4) || !strncmp(at, "165 ", 4) || strstr(at, "nobody"), "%.300s", at);
	}
	cr_assert_eq(refused, 3u, "%s", followed->replies.at);
	/* those of the joint and of the reset have none */
	cr_assert_eq(lines, ARRAY_LEN(followed_commands) - 3, "%s", followed->replies.at);
}

static void *followed_be_member(void *arg)
{
	struct troupe_error error;
	cr_assert_eq(troupe_secondary_run(arg, &error), TROUPE_OK, "%s", error.text);
	return NULL;
}

static void followed_run_apart(struct followed *followed, const char *folder)
{
	struct troupe_secondary *members[FOLLOWED_MEMBERS];
	pthread_t threads[FOLLOWED_MEMBERS];
	int ours[FOLLOWED_MEMBERS], ends[2];
	for (int i = 0; i < FOLLOWED_MEMBERS; i++) {
		must(troupe_network_pair(ends, &lib_error));
		ours[i] = ends[0];
		const struct troupe_network network = {.sockets = &ends[1]};
		must(troupe_secondary_create(
			&(struct troupe_secondary_def){.network = &network, .threads = 1}, &members[i], &lib_error));
		cr_assert(!pthread_create(&threads[i], NULL, followed_be_member, members[i]));
	}
	const struct troupe_network network = {.secondaries = FOLLOWED_MEMBERS, .sockets = ours, .stale_ms = 60000};
	struct troupe_server *server = followed_create(followed, &network, folder);
	followed_run(server, followed);
	lib_destroy(server);
	for (int i = 0; i < FOLLOWED_MEMBERS; i++) {
		cr_assert(!pthread_join(threads[i], NULL));
		troupe_secondary_destroy(members[i]);
	}
}

static void followed_compare(const struct followed *one, const struct followed *two)
{
	for (uint32_t i = 0; i < FOLLOWED_STEPS; i++)
		cr_assert_eq(one->hashes[i], two->hashes[i], "step %u", i + 1);
	cr_assert_str_eq(one->replies.at, two->replies.at, "%s\n%s", one->replies.at, two->replies.at);
	cr_assert_eq(one->messages, two->messages, "%llu and %llu messages", (unsigned long long)one->messages,
		(unsigned long long)two->messages);
	cr_assert_eq(one->digest, two->digest, "other messages of sensors");
}

Test(followed, all_that_is_done_to_a_world)
{
	static struct followed together, apart;
	char folder[] = "/tmp/test_followed.XXXXXX", kept[60];
	cr_assert(mkdtemp(folder));
	struct troupe_server *server = followed_create(&together, NULL, folder);
	followed_run(server, &together);
	lib_destroy(server);
	followed_check_replies(&together);
	cr_assert_gt(together.messages, 100);
	followed_run_apart(&apart, folder);
	followed_compare(&together, &apart);
	(void)snprintf(kept, sizeof kept, "%s/kept", folder);
	cr_assert(!remove(kept) && !rmdir(folder));
	text_fini(&together.replies);
	text_fini(&apart.replies);
}
