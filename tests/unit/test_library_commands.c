/* The library as a controlling program sees it: commands as numbers, the step for which a command is accepted,
 * on_step, states in memory, recordings. The expectations are what the headers in include/troupe say. */
#include "library.h"

#include <troupe/inbox.h>

#include <unistd.h>

TestSuite(library_numbers, .fini = lib_end, .timeout = 120);
TestSuite(library_accepted, .fini = lib_end, .timeout = 120);
TestSuite(library_on_step, .fini = lib_end, .timeout = 120);
TestSuite(library_states, .fini = lib_end, .timeout = 240);
TestSuite(library_recordings, .fini = lib_end, .timeout = 120);

enum { REPLIES_MAX = 4096 };

struct replies {
	struct reply {
		uint64_t step;
		troupe_status status;
		char topic[80], text[160];
	} at[REPLIES_MAX];
	int count;
};

static void keep_reply(void *ctx, const struct troupe_reply *reply)
{
	struct replies *replies = ctx;
	cr_assert_lt(replies->count, REPLIES_MAX);
	struct reply *to = &replies->at[replies->count++];
	*to = (struct reply){.step = reply->step, .status = reply->status};
	(void)snprintf(to->topic, sizeof to->topic, "%s", reply->topic);
	(void)snprintf(to->text, sizeof to->text, "%s", reply->text);
}

static struct troupe_server *listened_to(const char *world, int secondaries, struct replies *replies)
{
	struct troupe_server_def def = lib_def(world, secondaries);
	replies->count = 0;
	def.on_reply = keep_reply;
	def.ctx = replies;
	return lib_create(&def);
}

static struct troupe_when at_step(uint64_t step)
{
	return (struct troupe_when){.step = step};
}

/* --- an inbox ----------------------------------------------------------------------------------------------------- */

static bool next_reply(struct troupe_inbox *inbox, uint64_t step, bool good, const char *words)
{
	struct troupe_reply reply;
	return troupe_inbox_take_reply(inbox, &reply) && reply.step == step && !reply.status == good &&
	       !strcmp(reply.world, "w") && !strcmp(reply.topic, "/world/w/set_pose") && strstr(reply.text, words);
}

/* Replies and warnings in their order; the oldest are lost, but not the first failure. */
Test(library_numbers, an_inbox_keeps_the_last_replies)
{
	struct troupe_server_def def = lib_def(LIB_SDF("<world name='w'><strange/>" LIB_HEAD LIB_MODEL(
						       "m", "0 0 9 0 0 0", "<link name='l'/>") "</world>"),
		1);
	struct troupe_inbox *inbox;
	struct troupe_error error;
	struct troupe_reply reply;
	const char *warning;
	cr_assert_eq(troupe_inbox_create(0, &inbox, &error), TROUPE_EINVAL);
	cr_assert_eq(troupe_inbox_create(TROUPE_INBOX_MAX + 1u, &inbox, &error), TROUPE_EINVAL);
	cr_assert_eq(troupe_inbox_create(3, &inbox, &error), TROUPE_OK);
	def.on_reply = troupe_inbox_put_reply;
	def.on_warning = troupe_inbox_put_warning;
	def.ctx = inbox;
	struct troupe_server *server = lib_create(&def);
	cr_assert(troupe_inbox_take_warning(inbox, &warning) && strstr(warning, "strange"));
	cr_assert_not(troupe_inbox_take_warning(inbox, &warning));
	cr_assert_not(troupe_inbox_take_reply(inbox, &reply) || troupe_inbox_take_failure(inbox, &reply));
	for (int round = 0; round < 2; round++) {
		uint64_t step = troupe_server_progress(server).steps;
		lib_text(server, step, "/world/w/set_pose", "name: 'first'");
		lib_text(server, step, "/world/w/set_pose", "name: 'second'");
		lib_text(server, step + 1, "/world/w/set_pose", "name: 'm' position {z: 9}");
		lib_text(server, step + 2, "/world/w/set_pose", "name: 'third'");
		lib_step(server, 3);
		cr_assert(next_reply(inbox, step, false, "second"));
		cr_assert(troupe_inbox_take_failure(inbox, &reply));
		cr_assert(reply.step == step && strstr(reply.text, "first"), "%s", reply.text);
		cr_assert_not(troupe_inbox_take_failure(inbox, &reply));
		cr_assert(next_reply(inbox, step + 1, true, "placed") && next_reply(inbox, step + 2, false, "third"));
		cr_assert_not(troupe_inbox_take_reply(inbox, &reply));
	}
	lib_text(server, 0, "/world/w/set_pose", "name: 'left behind'");
	lib_step(server, 1);
	lib_destroy(server);
	troupe_inbox_destroy(inbox);
	troupe_inbox_destroy(NULL);
}

/* --- numbers and text --------------------------------------------------------------------------------------------- */

/* The same commands as text: both forms of a command must give the same bits. */
static void give_text(struct troupe_server *server)
{
	lib_text(server, 0, "/model/cart/cmd_vel", "linear: {x: 0.5 y: 0 z: 0} angular: {x: 0 y: 0 z: 0.25}");
	lib_text(server, 5, "/model/pusher/cmd_vel", "linear: {x: 1.1 y: 0.1 z: 0} angular: {x: 0 y: 0 z: -0.3}");
	lib_text(server, 6, "/model/arm/joint/elbow/cmd_vel", "data: 0.7");
	lib_text(server, 7, "/model/arm/joint/wrist/0/cmd_pos", "data: 0.4");
	lib_text(server, 8, "/model/arm/joint/rail/cmd_force", "data: 3.3");
	lib_text(server, 60, "/world/w/set_pose",
		"name: 'crate' position {x: 3 y: -3 z: 0.3} orientation {x: 0 y: 0 z: 0.6 w: 0.8}");
	lib_text(server, 80, "/world/w/set_velocity",
		"name: 'crate' linear {x: 1 y: 2 z: 3} angular {x: 0.1 y: 0.2 z: 0.3}");
	lib_text(server, 90, "/world/w/wrench",
		"entity {name: 'falling::l' type: LINK} wrench {force {x: 10 y: 20 z: 30} torque {x: 1 y: 2 z: 3}}");
	lib_text(server, 95, "/world/w/set_joint", "name: 'arm' joint: 'grip' axis: 0 position: 0.5 velocity: 1.5");
	lib_text(server, 96, "/world/w/set_joint", "name: 'arm' joint: 'hand::knuckle' axis: 0 velocity: -0.5");
	lib_text(server, 97, "/world/w/set_joint", "name: 'arm' joint: 'hand::knuckle' axis: 0 position: 0.25");
}

static void give_numbers(struct troupe_server *server)
{
	static const struct troupe_twist cart = {{0.5, 0, 0}, {0, 0, 0.25}}, pusher = {{1.1, 0.1, 0}, {0, 0, -0.3}};
	static const struct troupe_twist crate = {{1, 2, 3}, {0.1, 0.2, 0.3}};
	static const struct troupe_wrench wrench = {{10, 20, 30}, {1, 2, 3}};
	static const struct troupe_pose pose = {.x = 3, .y = -3, .z = 0.3, .qz = 0.6, .qw = 0.8};
	struct troupe_when when[98];
	for (uint64_t i = 0; i < 98; i++)
		when[i] = at_step(i);
	must(troupe_command_twist(server, NULL, lib_model(server, "cart"), &cart, NULL, &lib_error));
	must(troupe_command_twist(server, &when[5], lib_model(server, "pusher"), &pusher, NULL, &lib_error));
	must(troupe_command_joint(server, &when[6], lib_joint(server, "arm", "elbow"), 0.7, NULL, &lib_error));
	must(troupe_command_joint(server, &when[7], lib_joint(server, "arm", "wrist"), 0.4, NULL, &lib_error));
	must(troupe_command_joint(server, &when[8], lib_joint(server, "arm", "rail"), 3.3, NULL, &lib_error));
	must(troupe_command_pose(server, &when[60], lib_model(server, "crate"), &pose, NULL, &lib_error));
	must(troupe_command_velocity(server, &when[80], lib_model(server, "crate"), &crate, NULL, &lib_error));
	must(troupe_command_wrench(server, &when[90], lib_link(server, "falling", "l"), &wrench, NULL, &lib_error));
	must(troupe_command_joint_state(
		server, &when[95], lib_joint(server, "arm", "grip"), 0, 0.5, 1.5, NULL, &lib_error));
	must(troupe_command_joint_state(
		server, &when[96], lib_joint(server, "arm", "hand::knuckle"), 0, NAN, -0.5, NULL, &lib_error));
	must(troupe_command_joint_state(
		server, &when[97], lib_joint(server, "arm", "hand::knuckle"), 0, 0.25, NAN, NULL, &lib_error));
}

/* A protobuf message, written by hand as another library would write it. */
struct bytes {
	char at[256];
	size_t count;
};

static void put(struct bytes *bytes, const void *what, size_t count)
{
	memcpy(bytes->at + bytes->count, what, count);
	bytes->count += count;
}

static void put_byte(struct bytes *bytes, int byte)
{
	put(bytes, &(char){(char)byte}, 1);
}

/* A field of type double; a value of 0 is not sent. */
static void put_double(struct bytes *bytes, int field, double value)
{
	if (value == 0)
		return;
	put_byte(bytes, field << 3 | 1);
	put(bytes, &value, sizeof value); /* in this machine's byte order */
}

static void put_string(struct bytes *bytes, int field, const char *string)
{
	put_byte(bytes, field << 3 | 2);
	put_byte(bytes, (int)strlen(string));
	put(bytes, string, strlen(string));
}

static void put_part(struct bytes *bytes, int field, const struct bytes *part)
{
	put_byte(bytes, field << 3 | 2);
	put_byte(bytes, (int)part->count);
	put(bytes, part->at, part->count);
}

/* x is field 2, y is field 3, and so on. */
static void put_vector(struct bytes *bytes, int field, const double *values, int count)
{
	struct bytes part = {.count = 0};
	for (int i = 0; i < count; i++)
		put_double(&part, 2 + i, values[i]);
	put_part(bytes, field, &part);
}

static void send_bytes(
	struct troupe_server *server, uint64_t step, const char *topic, const char *type, const struct bytes *bytes)
{
	struct troupe_when when = at_step(step);
	must(troupe_command_bytes(server, &when, topic, type, bytes->at, bytes->count, NULL, &lib_error));
}

static void give_bytes(struct troupe_server *server)
{
	static const double cart[2][3] = {{0.5, 0, 0}, {0, 0, 0.25}}, pusher[2][3] = {{1.1, 0.1, 0}, {0, 0, -0.3}};
	static const double crate[2][3] = {{1, 2, 3}, {0.1, 0.2, 0.3}}, push[2][3] = {{10, 20, 30}, {1, 2, 3}};
	static const double place[3] = {3, -3, 0.3}, turn[4] = {0, 0, 0.6, 0.8};
	struct bytes b[11] = {{.count = 0}}, entity = {.count = 0}, wrench = {.count = 0};
	for (int i = 0; i < 2; i++) {
		put_vector(&b[0], 2 + i, cart[i], 3);
		put_vector(&b[1], 2 + i, pusher[i], 3);
		put_vector(&wrench, 2 + i, push[i], 3);
	}
	put_double(&b[2], 2, 0.7);
	put_double(&b[3], 2, 0.4);
	put_double(&b[4], 2, 3.3);
	put_string(&b[5], 2, "crate");
	put_vector(&b[5], 4, place, 3);
	put_vector(&b[5], 5, turn, 4);
	put_string(&b[6], 2, "crate");
	put_vector(&b[6], 4, crate[0], 3);
	put_vector(&b[6], 5, crate[1], 3);
	put_string(&entity, 3, "falling::l");
	put(&entity, "\x20\x03", 2); /* type: LINK */
	put_part(&b[7], 2, &entity);
	put_part(&b[7], 3, &wrench);
	for (int i = 8; i < 11; i++) {
		put_string(&b[i], 2, "arm");
		put_string(&b[i], 4, i == 8 ? "grip" : "hand::knuckle");
	}
	put_double(&b[8], 6, 0.5);
	put_double(&b[8], 7, 1.5);
	put_double(&b[9], 7, -0.5);
	put_double(&b[10], 6, 0.25);
	send_bytes(server, 0, "/model/cart/cmd_vel", "ignition.msgs.Twist", &b[0]);
	send_bytes(server, 5, "/model/pusher/cmd_vel", "gz.msgs.Twist", &b[1]);
	send_bytes(server, 6, "/model/arm/joint/elbow/cmd_vel", "gz.msgs.Double", &b[2]);
	send_bytes(server, 7, "/model/arm/joint/wrist/0/cmd_pos", ".gz.msgs.Double", &b[3]);
	send_bytes(server, 8, "/model/arm/joint/rail/cmd_force", "Double", &b[4]);
	send_bytes(server, 60, "/world/w/set_pose", "gz.msgs.Pose", &b[5]);
	send_bytes(server, 80, "/world/w/set_velocity", "troupe.msgs.SetVelocity", &b[6]);
	send_bytes(server, 90, "/world/w/wrench/blocking", "gz.msgs.EntityWrench", &b[7]);
	send_bytes(server, 95, "/world/w/set_joint", "troupe.msgs.SetJoint", &b[8]);
	send_bytes(server, 96, "/world/w/set_joint", "troupe.msgs.SetJoint", &b[9]);
	send_bytes(server, 97, "/world/w/set_joint", "troupe.msgs.SetJoint", &b[10]);
}

/* The same commands as numbers: those of model topics by the topic and a list of numbers. */
static void give_lists(struct troupe_server *server)
{
	static const double cart[] = {0.5, 0, 0, 0, 0, 0.25}, pusher[] = {1.1, 0.1, 0, 0, 0, -0.3};
	static const double elbow = 0.7, wrist = 0.4, rail = 3.3;
	const struct troupe_when five = at_step(5), six = at_step(6), seven = at_step(7), eight = at_step(8);
	must(troupe_command_numbers(server, NULL, "/model/cart/cmd_vel", cart, 6, NULL, &lib_error));
	must(troupe_command_numbers(server, &five, "/model/pusher/cmd_vel", pusher, 6, NULL, &lib_error));
	must(troupe_command_numbers(server, &six, "/model/arm/joint/elbow/cmd_vel", &elbow, 1, NULL, &lib_error));
	must(troupe_command_numbers(server, &seven, "/model/arm/joint/wrist/0/cmd_pos", &wrist, 1, NULL, &lib_error));
	must(troupe_command_numbers(server, &eight, "/model/arm/joint/rail/cmd_force", &rail, 1, NULL, &lib_error));
}

static uint64_t hash_after(void (*give)(struct troupe_server *server), int secondaries, uint64_t steps)
{
	static struct replies replies;
	struct troupe_server *server = listened_to(lib_all, secondaries, &replies);
	give(server);
	lib_step(server, steps);
	for (int i = 0; i < replies.count; i++)
		cr_assert_eq(replies.at[i].status, TROUPE_OK, "%s: %s", replies.at[i].topic, replies.at[i].text);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

static void give_nothing(struct troupe_server *server)
{
	(void)server;
}

Test(library_numbers, are_what_the_same_text_is)
{
	uint64_t hash = hash_after(give_text, 0, 200);
	cr_assert_neq(hash, hash_after(give_nothing, 0, 200));
	for (int secondaries = 0; secondaries < 3; secondaries++)
		cr_assert_eq(hash_after(give_numbers, secondaries, 200), hash, "%d", secondaries);
	cr_assert_eq(hash_after(give_bytes, 2, 200), hash);
	cr_assert_eq(hash_after(give_lists, 0, 50), hash_after(give_text, 0, 50));
}

/* In a protobuf message a pause that is not sent lets the world run, as for Gazebo; in text it changes nothing. */
Test(library_bytes, of_a_pause_that_is_not_given_mean_what_gazebo_means)
{
	static struct replies replies;
	static const char nothing[] = "", step[] = "\x18\x01", pause[] = "\x10\x01";
	const struct troupe_when five = at_step(5), seven = at_step(7), nine = at_step(9);
	for (int text = 0; text < 2; text++) {
		struct troupe_server *server = listened_to(lib_all, 1, &replies);
		must(troupe_command_bytes(
			server, NULL, "/world/w/control", "gz.msgs.WorldControl", pause, 2, NULL, &lib_error));
		if (text)
			lib_text(server, 5, "/world/w/control", "");
		else
			must(troupe_command_bytes(server, &five, "/world/w/control", "gz.msgs.WorldControl", nothing, 0,
				NULL, &lib_error));
		must(troupe_command_bytes(
			server, &seven, "/world/w/control", "gz.msgs.WorldControl", pause, 2, NULL, &lib_error));
		lib_step(server, 9);
		cr_assert_float_eq(troupe_server_progress(server).time_s, text ? 0 : 2 * LIB_DT_S, 1e-9, "%g",
			troupe_server_progress(server).time_s);
		must(troupe_command_bytes(
			server, &nine, "/world/w/control", "gz.msgs.WorldControl", step, 2, NULL, &lib_error));
		lib_step(server, 3);
		cr_assert_float_eq(troupe_server_progress(server).time_s, (text ? 3 : 5) * LIB_DT_S, 1e-9);
		lib_destroy(server);
	}
}

static const char weightless[] = LIB_SDF("<world name='w'><gravity>0 0 0</gravity>" LIB_HEAD LIB_MODEL(
	"a", "0 0 5 0 0 0", LIB_BOX) LIB_MODEL("b", "0 3 5 0 0 0", LIB_BOX) LIB_MODEL("c", "0 6 5 0 0 0", LIB_BOX)
		LIB_MODEL("d", "0 9 5 0 0 0", LIB_BOX) "</world>");

/* In the same way, a component of gravity that is not sent is 0. */
Test(library_bytes, of_a_gravity_without_components_mean_zero)
{
	static const double sideways[3] = {2, 0, 0};
	static struct replies replies;
	struct troupe_server *server = listened_to(weightless, 0, &replies);
	struct bytes bytes = {.count = 0};
	put_vector(&bytes, 12, sideways, 3);
	lib_text(server, 0, "/world/w/set_physics", "gravity {y: 5}");
	lib_text(server, 0, "/world/w/set_physics", "gravity {z: -5}");
	lib_step(server, 1);
	cr_assert(strstr(replies.at[1].text, "gravity 0 5 -5"), "%s", replies.at[1].text);
	send_bytes(server, 0, "/world/w/set_physics", "gz.msgs.Physics", &bytes);
	lib_step(server, 1);
	cr_assert(strstr(replies.at[2].text, "gravity 2 0 0"), "%s", replies.at[2].text);
	lib_destroy(server);
}

Test(library_bytes, of_another_type_or_damaged_are_refused)
{
	static struct replies replies;
	static const struct {
		const char *topic, *type, *bytes;
		size_t count;
		const char *error;
	} bad[] = {
		{"/model/cart/cmd_vel", "gz.msgs.Double", "", 0,
			"a message of type gz.msgs.Double: expected gz.msgs.Twist"},
		{"/model/cart/cmd_vel", "gz.msgs.Twister", "", 0,
			"a message of type gz.msgs.Twister: expected gz.msgs.Twist"},
		{"/model/cart/cmd_vel", "", "", 0, "a message of type : expected gz.msgs.Twist"},
		{"/model/cart/cmd_vel", "gz.msgs.Twist", "\x12\x09\x11\0\0\0\0\0\0\xf8\x7f", 11,
			"byte 3: linear.x: nan: expected a number between -1e9 and 1e9"},
		{"/model/cart/cmd_vel", "gz.msgs.Twist", "\x12\x7f", 2,
			"byte 1: linear: the bytes end: expected more of them"},
		{"/world/w/remove", "gz.msgs.StringMsg", "", 0,
			"a message of type gz.msgs.StringMsg: expected gz.msgs.Entity"},
		{"/world/w/remov", "gz.msgs.Entity", "", 0, "world 'w' has no service 'remov'"},
		{"/nowhere", "gz.msgs.Twist", "", 0, "topic '/nowhere' has no listener"},
	};
	struct troupe_server *server = listened_to(lib_all, 0, &replies);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		refused(TROUPE_ECOMMAND, troupe_command_bytes(server, NULL, bad[i].topic, bad[i].type, bad[i].bytes,
						 bad[i].count, NULL, &lib_error));
		cr_assert(!strncmp(lib_error.text, bad[i].error, strlen(bad[i].error)), "%s", lib_error.text);
	}
	/* a StringMsg names the performer, as a client of Gazebo does */
	must(troupe_command_bytes(server, NULL, "/world/w/level/set_performer", "gz.msgs.StringMsg",
		"\x12\x05"
		"crate",
		7, NULL, &lib_error));
	lib_step(server, 1);
	cr_assert_eq(replies.count, 1);
	cr_assert_eq(replies.at[0].status, TROUPE_OK, "%s", replies.at[0].text);
	/* the topic may appear later, so a message of any known type is accepted */
	lib_text(server, 5, "/world/w/create", "sdf: \"<sdf version='1.9'/>\"");
	must(troupe_command_bytes(server, NULL, "/later", "gz.msgs.Twist", "", 0, NULL, &lib_error));
	refused(TROUPE_ECOMMAND,
		troupe_command_bytes(server, NULL, "/later", "gz.msgs.Twister", "", 0, NULL, &lib_error));
	cr_assert_str_eq(lib_error.text, "type 'gz.msgs.Twister' is not known: expected one of gz.msgs");
	lib_step(server, 1);
	cr_assert_eq(replies.count, 2);
	cr_assert_str_eq(replies.at[1].text, "this topic has no listener");
	lib_destroy(server);
}

static const char sharing[] = LIB_SDF(LIB_WORLD("w",
	LIB_MODEL("a", "0 0 0.25 0 0 0",
		LIB_BOX "<plugin name='gz::sim::systems::VelocityControl' filename='x'><topic>both</topic></plugin>")
		LIB_MODEL("b", "0 3 0.25 0 0 0",
			LIB_BOX
			"<plugin name='gz::sim::systems::VelocityControl' filename='x'><topic>both</topic></plugin>")
			LIB_MODEL("c", "0 6 0.25 0 0 0", LIB_BOX LIB_DRIVEN)));

Test(library_numbers, on_a_shared_topic_reach_all_that_listen)
{
	struct troupe_server *server = lib_server(sharing, 1);
	const struct troupe_twist twist = {{1, 0, 0}, {0, 0, 0}};
	must(troupe_command_twist(server, NULL, lib_model(server, "b"), &twist, NULL, &lib_error));
	lib_step(server, 200);
	double a = lib_at(server, lib_model(server, "a")).pose.x, b = lib_at(server, lib_model(server, "b")).pose.x;
	cr_assert(a > 0.1 && fabs(a - b) < 1e-9, "a %g, b %g", a, b);
	cr_assert(fabs(lib_at(server, lib_model(server, "c")).pose.x) < 1e-6);
}

Test(library_numbers, move_what_they_name_as_mechanics_says)
{
	struct troupe_server *server = lib_server(weightless, 1);
	troupe_model a = lib_model(server, "a"), b = lib_model(server, "b"), c = lib_model(server, "c");
	const struct troupe_wrench wrench = {{10, 0, -20}, {0, 0, 0.4}};
	const struct troupe_twist twist = {{1, 2, 3}, {0, 0, 0.5}};
	const struct troupe_pose pose = {.x = 1, .y = 2, .z = 3, .qw = 1};
	must(troupe_command_wrench(server, NULL, lib_link(server, "a", "l"), &wrench, NULL, &lib_error));
	must(troupe_command_velocity(server, NULL, b, &twist, NULL, &lib_error));
	must(troupe_command_pose(server, NULL, c, &pose, NULL, &lib_error));
	for (int i = 1; i <= 10; i++) {
		lib_step(server, 1);
		struct troupe_model_state at_a = lib_at(server, a), at_b = lib_at(server, b), at_c = lib_at(server, c);
		/* 1 kg and 0.04 kg m^2, during one step */
		cr_assert(fabs(at_a.twist.linear.x - 10 * LIB_DT_S) < 1e-12, "%.17g", at_a.twist.linear.x);
		cr_assert(fabs(at_a.twist.linear.z + 20 * LIB_DT_S) < 1e-12, "%.17g", at_a.twist.linear.z);
		cr_assert(fabs(at_a.twist.angular.z - 0.4 / 0.04 * LIB_DT_S) < 1e-12, "%.17g", at_a.twist.angular.z);
		cr_assert(fabs(at_b.twist.linear.z - 3) < 1e-12 && fabs(at_b.twist.angular.z - 0.5) < 1e-12);
		cr_assert(fabs(at_b.pose.y - (3 + 2 * LIB_DT_S * i)) < 1e-12, "%.17g", at_b.pose.y);
		cr_assert(at_c.pose.x == 1 && at_c.pose.y == 2 && at_c.pose.z == 3 && at_c.pose.qw == 1);
	}
}

Test(library_numbers, put_joints_where_they_say)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	troupe_joint grip = lib_joint(server, "arm", "grip"), rail = lib_joint(server, "arm", "rail");
	lib_step(server, 10);
	must(troupe_command_joint_state(server, NULL, grip, 0, 0.5, 2, NULL, &lib_error));
	must(troupe_command_joint_state(server, NULL, rail, 0, -0.25, 0, NULL, &lib_error));
	lib_step(server, 1);
	cr_assert(fabs(lib_joint_at(server, grip).position[0] - (0.5 + 2 * LIB_DT_S)) < 1e-4, "%g",
		lib_joint_at(server, grip).position[0]);
	cr_assert(fabs(lib_joint_at(server, rail).position[0] + 0.25) < 1e-4, "%g",
		lib_joint_at(server, rail).position[0]);
}

Test(library_numbers, put_the_worlds_own_joints_where_they_say)
{
	static struct replies replies;
	struct troupe_server *server = listened_to(lib_all, 1, &replies);
	troupe_joint tether = troupe_find_world_joint(server, 0, "tether");
	must(troupe_command_joint_state(server, NULL, tether, 0, 0.5, 0, NULL, &lib_error));
	lib_step(server, 1);
	cr_assert_eq(replies.count, 1);
	cr_assert_eq(replies.at[0].status, TROUPE_OK, "%s", replies.at[0].text);
	cr_assert(fabs(lib_joint_at(server, tether).position[0] - 0.5) < 1e-3, "%g",
		lib_joint_at(server, tether).position[0]);
	lib_destroy(server);
}

Test(library_numbers, are_taken_in_the_order_given)
{
	struct troupe_server *server = lib_server(weightless, 0);
	troupe_model a = lib_model(server, "a");
	const struct troupe_when ten = at_step(10), nine = at_step(9);
	for (int i = 0; i < 100; i++) {
		const struct troupe_pose pose = {.x = i, .y = 1, .z = 5, .qw = 1}, other = {.x = -i, .z = 5, .qw = 1};
		must(troupe_command_pose(server, &ten, a, &pose, NULL, &lib_error));
		must(troupe_command_pose(server, &nine, a, &other, NULL, &lib_error));
	}
	lib_text(server, 10, "/world/w/set_pose", "name: 'a' position {x: 1000 z: 5}");
	lib_step(server, 10);
	cr_assert_eq(lib_at(server, a).pose.x, -99);
	lib_step(server, 1);
	cr_assert_eq(lib_at(server, a).pose.x, 1000);
}

/* --- what is refused at once -------------------------------------------------------------------------------------- */

Test(library_numbers, that_are_no_numbers_are_refused)
{
	static const double wild[] = {NAN, INFINITY, -INFINITY, 1e300};
	struct troupe_server *server = lib_server(lib_all, 1);
	troupe_model cart = lib_model(server, "cart"), crate = lib_model(server, "crate");
	troupe_link link = lib_link(server, "crate", "l");
	troupe_joint elbow = lib_joint(server, "arm", "elbow"), grip = lib_joint(server, "arm", "grip");
	uint64_t step = 4711;
	for (size_t i = 0; i < sizeof wild / sizeof *wild; i++) {
		const struct troupe_twist twist = {{0.1, 0, 0}, {0, 0, wild[i]}};
		const struct troupe_wrench wrench = {{0.1, wild[i], 0}, {0, 0, 0}};
		const struct troupe_pose pose = {.z = wild[i], .qw = 1}, turned = {.z = 1, .qw = wild[i]};
		const double list[] = {0, 0, wild[i]};
		refused(TROUPE_ECOMMAND, troupe_command_twist(server, NULL, cart, &twist, &step, &lib_error));
		refused(TROUPE_ECOMMAND, troupe_command_velocity(server, NULL, cart, &twist, &step, &lib_error));
		refused(TROUPE_ECOMMAND, troupe_command_wrench(server, NULL, link, &wrench, &step, &lib_error));
		refused(TROUPE_ECOMMAND, troupe_command_pose(server, NULL, crate, &pose, &step, &lib_error));
		refused(TROUPE_ECOMMAND, troupe_command_pose(server, NULL, crate, &turned, &step, &lib_error));
		refused(TROUPE_ECOMMAND, troupe_command_joint(server, NULL, elbow, wild[i], &step, &lib_error));
		refused(TROUPE_ECOMMAND,
			troupe_command_numbers(server, NULL, "/model/cart/cmd_vel", list, 3, &step, &lib_error));
		if (isnan(wild[i]))
			continue;
		refused(TROUPE_ECOMMAND,
			troupe_command_joint_state(server, NULL, grip, 0, wild[i], 0, &step, &lib_error));
		refused(TROUPE_ECOMMAND,
			troupe_command_joint_state(server, NULL, grip, 0, NAN, wild[i], &step, &lib_error));
	}
	refused(TROUPE_ECOMMAND, troupe_command_joint_state(server, NULL, grip, 0, NAN, NAN, &step, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_joint_state(server, NULL, grip, 2, 0, 0, &step, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_joint_state(server, NULL, grip, UINT32_MAX, 0, 0, &step, &lib_error));
	cr_assert_eq(step, 4711, "a call that failed wrote its output");
	uint64_t hash = troupe_server_hash(server);
	lib_step(server, 5);
	struct troupe_server *other = lib_server(lib_all, 1);
	cr_assert_eq(troupe_server_hash(other), hash);
	lib_step(other, 5);
	cr_assert_eq(troupe_server_hash(other), troupe_server_hash(server), "a part of a refused command was obeyed");
}

Test(library_numbers, too_many_and_of_other_kinds_are_refused)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	double list[20] = {0};
	const char *twist = "/model/cart/cmd_vel", *elbow = "/model/arm/joint/elbow/cmd_vel";
	must(troupe_command_numbers(server, NULL, twist, list, 6, NULL, &lib_error));
	must(troupe_command_numbers(server, NULL, twist, list, 1, NULL, &lib_error));
	must(troupe_command_numbers(server, NULL, twist, NULL, 0, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, twist, list, 7, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, twist, list, 20, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, twist, list, UINT32_MAX, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, elbow, list, 2, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, "/nowhere", list, 1, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, "", list, 1, NULL, &lib_error));
	/* a list of numbers for a service that takes a text, or in a place where no number is */
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, "/world/w/create", list, 1, NULL, &lib_error));
	list[0] = 0.5;
	refused(TROUPE_ECOMMAND, troupe_command_numbers(server, NULL, "/world/w/control", list, 1, NULL, &lib_error));
	list[0] = 1; /* pause */
	must(troupe_command_numbers(server, NULL, "/world/w/control", list, 1, NULL, &lib_error));
	lib_step(server, 3);
	cr_assert_eq(troupe_server_progress(server).time_s, 0);
	refused(TROUPE_ECOMMAND, troupe_command_text(server, NULL, twist, "linear: {x: }", NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_text(server, NULL, "/world/v/control", "", NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_server_command(server, 0, "/nowhere", "", &lib_error));
}

static void refuse_handles(struct troupe_server *server, uint32_t at, uint32_t born, uint32_t world)
{
	const troupe_model model = {at, born, world};
	const troupe_link link = {at, born, world};
	const troupe_joint joint = {at, born, world};
	const struct troupe_twist twist = {{0, 0, 0}, {0, 0, 0}};
	const struct troupe_wrench wrench = {{0, 0, 0}, {0, 0, 0}};
	const struct troupe_pose pose = {.qw = 1};
	refused(TROUPE_ECOMMAND, troupe_command_twist(server, NULL, model, &twist, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_velocity(server, NULL, model, &twist, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_pose(server, NULL, model, &pose, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_wrench(server, NULL, link, &wrench, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_joint(server, NULL, joint, 0, NULL, &lib_error));
	refused(TROUPE_ECOMMAND, troupe_command_joint_state(server, NULL, joint, 0, 0, 0, NULL, &lib_error));
}

Test(library_numbers, for_no_handle_or_no_world_are_refused)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	troupe_model cart = lib_model(server, "cart");
	refuse_handles(server, 0, 0, 0);
	refuse_handles(server, 0, cart.born, 0);
	refuse_handles(server, cart.at, cart.born, 1);
	refuse_handles(server, cart.at, cart.born, UINT32_MAX);
	lib_step(server, 2);
	cr_assert_eq(lib_steps(server), 2);
}

/* --- what turns out when the step comes --------------------------------------------------------------------------- */

static const struct reply *reply_at(const struct replies *replies, uint64_t step)
{
	const struct reply *found = NULL;
	for (int i = 0; i < replies->count; i++)
		if (replies->at[i].step == step) {
			cr_assert_null(found, "two replies at step %llu", (unsigned long long)step);
			found = &replies->at[i];
		}
	return found;
}

/* Each command that cannot be obeyed has one reply, at its step, with the reason; the run goes on. */
Test(library_numbers, for_what_is_gone_or_takes_none_are_told_at_their_step)
{
	static struct replies replies;
	struct troupe_server *server = listened_to(lib_all, 1, &replies);
	troupe_model crate = lib_model(server, "crate"), pusher = lib_model(server, "pusher");
	troupe_link crate_link = lib_link(server, "crate", "l");
	troupe_joint grip = lib_joint(server, "arm", "grip");
	troupe_joint wheel = lib_joint(server, "cart", "left_joint");
	const struct troupe_twist twist = {{1, 0, 0}, {0, 0, 0}};
	const struct troupe_wrench wrench = {{1, 0, 0}, {0, 0, 0}};
	const struct troupe_pose pose = {.z = 1, .qw = 1}, unturned = {.z = 1};
	struct troupe_when when[40];
	for (uint64_t i = 0; i < 40; i++)
		when[i] = at_step(i);
	must(troupe_command_twist(
		server, &when[2], crate, &twist, NULL, &lib_error)); /* the crate takes no such command */
	must(troupe_command_joint(server, &when[3], grip, 1, NULL, &lib_error));
	when[4].late = (enum troupe_late)2;
	cr_assert_eq(troupe_command_joint(server, &when[4], grip, 1, NULL, &lib_error), TROUPE_ECOMMAND);
	cr_assert(strstr(lib_error.text, "late 2: expected"), "%s", lib_error.text);
	when[4].late = TROUPE_LATE_NEXT;
	must(troupe_command_joint_state(
		server, &when[4], wheel, 1, 1, 0, NULL, &lib_error)); /* the wheel has one axis */
	must(troupe_command_joint_state(
		server, &when[5], grip, 0, 77, 0, NULL, &lib_error)); /* beyond the joint's stop */
	lib_step(server, 6);
	for (uint64_t i = 2; i < 6; i++) {
		const struct reply *reply = reply_at(&replies, i);
		cr_assert_not_null(reply, "step %llu", (unsigned long long)i);
		cr_assert_eq(reply->status, TROUPE_ECOMMAND, "%llu: %s: %s", (unsigned long long)i, reply->topic,
			reply->text);
		cr_assert(*reply->topic && *reply->text);
	}
	lib_text(server, 8, "/world/w/remove", "name: 'crate' type: MODEL");
	lib_text(server, 9, "/world/w/remove", "name: 'pusher' type: MODEL");
	must(troupe_command_pose(server, &when[10], crate, &pose, NULL, &lib_error));
	must(troupe_command_velocity(server, &when[11], crate, &twist, NULL, &lib_error));
	must(troupe_command_wrench(server, &when[12], crate_link, &wrench, NULL, &lib_error));
	must(troupe_command_twist(server, &when[13], pusher, &twist, NULL, &lib_error));
	lib_step(server, 10);
	for (uint64_t i = 10; i < 14; i++) {
		const struct reply *reply = reply_at(&replies, i);
		cr_assert_not_null(reply, "step %llu", (unsigned long long)i);
		cr_assert_eq(reply->status, TROUPE_ECOMMAND, "%llu: %s: %s", (unsigned long long)i, reply->topic,
			reply->text);
	}
	/* a pose with a quaternion of zeros is either refused or is that of a gz.msgs.Pose without orientation */
	must(troupe_command_pose(server, &when[20], lib_model(server, "cart"), &unturned, NULL, &lib_error));
	lib_step(server, 10);
	struct troupe_pose found = lib_at(server, lib_model(server, "cart")).pose;
	cr_assert(isfinite(found.qw) && fabs(hypot(hypot(found.qw, found.qx), hypot(found.qy, found.qz)) - 1) < 1e-9);
	lib_destroy(server);
}

/* What a message to /world/NAME/control makes of each state of a world: in how many of the next 30 steps time goes on,
 * and whether it stands still then. */
struct pace {
	const char *message;
	struct {
		int moves;
		bool paused;
	} of[3];   /* that was paused, in 5 steps of a pause, running */
	int until; /* run_to_sim_time in so many steps; 0: not given */
};

static void check_pace(const struct pace *pace, int state)
{
	static const char *const states[] = {"pause: true", "pause: true multi_step: 5", "pause: false"};
	char text[160];
	struct troupe_server *server = lib_server(lib_all, 0);
	lib_step(server, 3);
	(void)snprintf(text, sizeof text, pace->until ? "%s run_to_sim_time {nsec: %d}" : "%s", pace->message,
		(3 + pace->until) * 1000000);
	lib_text(server, 3, "/world/w/control", states[state]);
	lib_text(server, 3, "/world/w/control", text);
	lib_step(server, 30);
	cr_assert_eq((int)lround(troupe_server_progress(server).time_s / LIB_DT_S) - 3, pace->of[state].moves,
		"'%s' after '%s'", text, states[state]);
	cr_assert_eq(
		troupe_server_progress(server).paused, pace->of[state].paused, "'%s' after '%s'", text, states[state]);
	lib_destroy(server);
}

Test(library_numbers, control_goes_by_the_table_of_its_states)
{
	static const struct pace paces[] = {
		{"pause: true", {{0, true}, {0, true}, {0, true}}, 0},
		{"pause: true multi_step: 7", {{7, true}, {12, true}, {7, true}}, 0},
		{"pause: false", {{30, false}, {30, false}, {30, false}}, 0},
		{"pause: false multi_step: 7", {{30, false}, {30, false}, {30, false}}, 0},
		{"multi_step: 7", {{7, true}, {12, true}, {30, false}}, 0},
		{"step: true", {{1, true}, {6, true}, {30, false}}, 0},
		{"", {{0, true}, {5, true}, {30, false}}, 0},
		{"", {{9, true}, {9, true}, {9, true}}, 9},
		{"pause: false", {{9, true}, {9, true}, {9, true}}, 9},
		{"multi_step: 7", {{7, true}, {9, true}, {9, true}}, 9},
		{"multi_step: 7", {{3, true}, {3, true}, {3, true}}, 3},
	};
	for (size_t i = 0; i < sizeof paces / sizeof *paces; i++)
		for (int state = 0; state < 3; state++)
			check_pace(&paces[i], state);
}

/* It names the model, or the link, whose wrenches are cleared. */
Test(library_numbers, the_reply_to_a_clear_says_what_is_cleared)
{
	static struct replies replies;
	struct troupe_server *server = listened_to(lib_all, 1, &replies);
	lib_text(server, 1, "/world/w/wrench/persistent", "entity {name: 'crate' type: MODEL} wrench {force {x: 1}}");
	lib_text(server, 2, "/world/w/wrench/persistent", "entity {name: 'pusher' type: MODEL} wrench {force {x: 1}}");
	lib_text(server, 3, "/world/w/wrench/persistent", "entity {name: 'crate' type: MODEL} wrench {force {x: 2}}");
	lib_text(server, 4, "/world/w/wrench/clear", "name: 'crate' type: MODEL");
	lib_text(server, 5, "/world/w/wrench/clear", "name: 'pusher::l' type: LINK");
	lib_step(server, 7);
	cr_assert_str_eq(reply_at(&replies, 4)->text, "wrenches on 'crate' cleared: 2");
	cr_assert_str_eq(reply_at(&replies, 5)->text, "wrenches on 'pusher::l' cleared: 1");
	lib_destroy(server);
}

/* --- the step that was accepted ----------------------------------------------------------------------------------- */

Test(library_accepted, is_the_next_one_or_the_one_that_was_asked_for)
{
	struct troupe_server *server = lib_server(lib_all, 1);
	troupe_model cart = lib_model(server, "cart");
	const struct troupe_twist twist = {{0.1, 0, 0}, {0, 0, 0}};
	for (uint64_t at = 0; at < 30; at += 10) {
		struct troupe_when when = {.step = at};
		uint64_t step = 4711;
		must(troupe_command_twist(server, NULL, cart, &twist, &step, &lib_error));
		cr_assert_eq(step, at);
		must(troupe_command_twist(server, &when, cart, &twist, &step, &lib_error));
		cr_assert_eq(step, at);
		when.late = TROUPE_LATE_REFUSE;
		must(troupe_command_twist(server, &when, cart, &twist, &step, &lib_error));
		cr_assert_eq(step, at);
		when.step = at + 5;
		must(troupe_command_text(server, &when, "/model/cart/cmd_vel", "", &step, &lib_error));
		cr_assert_eq(step, at + 5);
		if (at) {
			when.step = at - 1;
			refused(TROUPE_ECOMMAND, troupe_command_twist(server, &when, cart, &twist, &step, &lib_error));
			cr_assert_eq(step, at + 5, "untouched");
			when.late = TROUPE_LATE_NEXT;
			must(troupe_command_twist(server, &when, cart, &twist, &step, &lib_error));
			cr_assert_eq(step, at);
		}
		lib_step(server, 10);
	}
}

enum { POSTERS = 3, POSTS = 300, TRACK = 1 << 20 };

struct post {
	uint64_t wanted, accepted;
	bool refuse, taken;
};

struct poster {
	struct troupe_server *server;
	troupe_model model;
	struct post posts[POSTS];
	double y;
	double *x; /* [TRACK] of the model, by the number of the state */
};

struct posting {
	struct poster posters[POSTERS];
	struct replies replies;
	_Atomic int done;
};

/* Each command puts the model at a place of its own. */
static void *post_poses(void *arg)
{
	struct poster *poster = arg;
	for (int i = 0; i < POSTS; i++) {
		struct post *post = &poster->posts[i];
		struct troupe_error error = {.status = TROUPE_OK};
		post->refuse = i % 3;
		post->wanted = lib_steps(poster->server) + (uint64_t)(i % 7) - (i % 5 == 4 ? 3 : 0);
		if (post->wanted > TRACK)
			post->wanted = 0; /* past for every run */
		const struct troupe_when when = {post->wanted, post->refuse ? TROUPE_LATE_REFUSE : TROUPE_LATE_NEXT};
		const struct troupe_pose pose = {.x = 1 + i, .y = poster->y, .z = 5, .qw = 1};
		troupe_status status =
			troupe_command_pose(poster->server, &when, poster->model, &pose, &post->accepted, &error);
		cr_assert(!status || (post->refuse && status == TROUPE_ECOMMAND), "%s", error.text);
		post->taken = !status;
		usleep(200);
	}
	return NULL;
}

static void track(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct posting *posting = ctx;
	for (int i = 0; i < POSTERS && step < TRACK; i++)
		posting->posters[i].x[step] = lib_at(server, posting->posters[i].model).pose.x;
}

static void keep_posting_reply(void *ctx, const struct troupe_reply *reply)
{
	struct posting *posting = ctx;
	keep_reply(&posting->replies, reply);
}

static void *post_and_stop(void *arg)
{
	struct posting *posting = arg;
	pthread_t threads[POSTERS];
	while (!lib_steps(posting->posters[0].server))
		usleep(100);
	for (int i = 0; i < POSTERS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, post_poses, &posting->posters[i]), 0);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(threads[i], NULL);
	uint64_t last = 0; /* the step in which the last command is taken */
	for (int i = 0; i < POSTERS * POSTS; i++) {
		const struct post *post = &posting->posters[i / POSTS].posts[i % POSTS];
		last = post->taken && post->accepted > last ? post->accepted : last;
	}
	while (lib_steps(posting->posters[0].server) <= last)
		usleep(100);
	troupe_server_stop(posting->posters[0].server);
	return NULL;
}

static int by_step(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The last one of the commands taken at a step decides where the model is after it. */
static void check_posts(const struct poster *poster, uint64_t *ret_steps, int *ret_count)
{
	for (int i = 0; i < POSTS; i++) {
		const struct post *post = &poster->posts[i];
		bool last = true;
		if (!post->taken)
			continue;
		cr_assert(post->refuse ? post->accepted == post->wanted : post->accepted >= post->wanted);
		ret_steps[(*ret_count)++] = post->accepted;
		for (int j = i + 1; j < POSTS; j++)
			last &= !poster->posts[j].taken || poster->posts[j].accepted != post->accepted;
		if (last && post->accepted + 1 < TRACK)
			cr_assert_eq(poster->x[post->accepted + 1], 1 + i, "step %llu: at %g, not %d",
				(unsigned long long)post->accepted, poster->x[post->accepted + 1], 1 + i);
	}
}

static void accept_from_threads(int secondaries)
{
	static struct posting posting;
	static uint64_t steps[POSTERS * POSTS];
	static const char *const names[POSTERS] = {"a", "b", "c"};
	struct troupe_server_def def = lib_def(weightless, secondaries);
	struct troupe_limits limits = {.iterations = 0};
	int count = 0;
	pthread_t stopper;
	memset(&posting, 0, sizeof posting);
	def.pace = TROUPE_PACE_RATE;
	def.rate_hz = 10000;
	def.step_every = 1;
	def.on_step = track;
	def.on_reply = keep_posting_reply;
	def.ctx = &posting;
	struct troupe_server *server = lib_create(&def);
	for (int i = 0; i < POSTERS; i++) {
		posting.posters[i].server = server;
		posting.posters[i].model = lib_model(server, names[i]);
		posting.posters[i].y = 3 * i;
		posting.posters[i].x = calloc(TRACK, sizeof(double));
	}
	cr_assert_eq(pthread_create(&stopper, NULL, post_and_stop, &posting), 0);
	must(troupe_server_run(server, &limits, &lib_error));
	pthread_join(stopper, NULL);
	lib_step(server, 10); /* takes the last commands */
	for (int i = 0; i < POSTERS; i++)
		check_posts(&posting.posters[i], steps, &count);
	qsort(steps, (size_t)count, sizeof *steps, by_step);
	cr_assert_eq(count, posting.replies.count, "%d taken, %d replies", count, posting.replies.count);
	cr_assert(count > POSTERS * POSTS / 3 && count < POSTERS * POSTS, "%d", count);
	for (int i = 0; i < count; i++) {
		cr_assert_eq(posting.replies.at[i].status, TROUPE_OK, "%s", posting.replies.at[i].text);
		cr_assert_eq(posting.replies.at[i].step, steps[i], "reply %d", i);
	}
	lib_destroy(server);
	for (int i = 0; i < POSTERS; i++)
		free(posting.posters[i].x);
}

Test(library_accepted, by_other_threads_while_it_runs)
{
	accept_from_threads(0);
	accept_from_threads(2);
}

/* Windows of steps: no command waits for more than 0.02 s of simulated time after the state that the world has reached.
 * The number that is read may still be that of the window before. */
enum { WAITED_STEPS_MAX = 20, CALLS = 100 };

struct caller {
	struct troupe_server *server;
	troupe_model model;
	uint64_t longest; /* steps from the state after a call to the step that takes the command */
};

static void *call_and_stop(void *arg)
{
	static const struct troupe_twist twist = {{0.1, 0, 0}, {0, 0, 0}};
	struct caller *caller = arg;
	while (lib_steps(caller->server) < 200)
		usleep(100);
	for (int i = 0; i < CALLS; i++) {
		uint64_t step;
		must(troupe_command_velocity(caller->server, NULL, caller->model, &twist, &step, &lib_error));
		uint64_t now = lib_steps(caller->server);
		if (step > now && step - now > caller->longest)
			caller->longest = step - now;
		usleep(200);
	}
	troupe_server_stop(caller->server);
	return NULL;
}

static void call_while_it_runs(int secondaries)
{
	struct troupe_limits limits = {.iterations = 0};
	struct troupe_server *server = lib_server(weightless, secondaries);
	struct caller caller = {.server = server, .model = lib_model(server, "a")};
	pthread_t thread;
	cr_assert_eq(pthread_create(&thread, NULL, call_and_stop, &caller), 0);
	must(troupe_server_run(server, &limits, &lib_error));
	pthread_join(thread, NULL);
	struct troupe_report *report = troupe_server_report(server);
	cr_assert(report->worlds[0].windows);
	cr_assert_leq(report->worlds[0].longest_window, WAITED_STEPS_MAX);
	cr_assert_leq(caller.longest, 2 * WAITED_STEPS_MAX, "a command waited for %llu steps",
		(unsigned long long)caller.longest);
	troupe_report_free(report);
	lib_destroy(server);
}

Test(library_accepted, within_twenty_milliseconds_though_steps_come_in_windows)
{
	call_while_it_runs(0);
	call_while_it_runs(1);
	call_while_it_runs(2);
}

/* --- on_step ------------------------------------------------------------------------------------------------------ */

struct calls {
	uint64_t at[1000];
	int count;
	uint64_t every;
	troupe_model cart;
};

static void note_call(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct calls *calls = ctx;
	calls->at[calls->count++] = step;
	(void)server;
}

/* It is called after each step whose number is a multiple, wherever runs begin and end. */
Test(library_on_step, is_called_every_so_many_steps)
{
	for (uint64_t every = 1; every < 9; every += 3) {
		struct calls calls = {.count = 0};
		struct troupe_server_def def = lib_def(lib_all, (int)every % 3);
		uint64_t expected = every;
		def.step_every = every;
		def.on_step = note_call;
		def.ctx = &calls;
		struct troupe_server *server = lib_create(&def);
		lib_step(server, 5);
		lib_run(server, 50);
		lib_step(server, 3);
		for (int i = 0; i < calls.count; i++, expected += every)
			cr_assert_eq(calls.at[i], expected);
		cr_assert_eq((uint64_t)calls.count, 53 / every);
		lib_destroy(server);
	}
}

static void steer(struct troupe_server *server, troupe_model cart, uint64_t step)
{
	struct troupe_model_state state = lib_at(server, cart);
	const struct troupe_twist twist = {{0.4 - state.twist.linear.x * 0.1, 0, 0}, {0, 0, 0.3 - state.pose.qz}};
	const struct troupe_when past = {step - 1, TROUPE_LATE_REFUSE}, present = {step, TROUPE_LATE_REFUSE};
	uint64_t accepted;
	must(troupe_command_twist(server, NULL, cart, &twist, &accepted, &lib_error));
	cr_assert_eq(accepted, step);
	must(troupe_command_text(server, &present, "/model/arm/joint/elbow/cmd_vel", step & 8 ? "data: 1" : "data: -1",
		&accepted, &lib_error));
	cr_assert_eq(accepted, step);
	refused(TROUPE_ECOMMAND, troupe_command_twist(server, &past, cart, &twist, &accepted, &lib_error));
}

static void steer_in_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	const struct calls *calls = ctx;
	steer(server, calls->cart, step);
}

static uint64_t steered(int secondaries, uint64_t every, bool called)
{
	struct calls calls = {.count = 0};
	struct troupe_server_def def = lib_def(lib_all, secondaries);
	if (called) {
		def.step_every = every;
		def.on_step = steer_in_step;
		def.ctx = &calls;
	}
	struct troupe_server *server = lib_create(&def);
	calls.cart = lib_model(server, "cart");
	if (called)
		lib_run(server, 200);
	for (uint64_t at = every; !called && at <= 200; at += every) {
		lib_step(server, every);
		steer(server, calls.cart, at);
	}
	lib_run(server, 201);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

Test(library_on_step, may_read_and_command_as_between_steps)
{
	for (uint64_t every = 1; every < 6; every += 4) {
		uint64_t hash = steered(0, every, false);
		for (int secondaries = 0; secondaries < 3; secondaries++) {
			cr_assert_eq(steered(secondaries, every, true), hash, "%d", secondaries);
			cr_assert_eq(steered(secondaries, every, false), hash, "%d", secondaries);
		}
	}
}

static void create_and_remove(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)ctx;
	if (step % 20 == 10)
		lib_text(server, 0, "/world/w/create",
			"sdf: \"<sdf version='1.11'>" LIB_MODEL("guest", "20 0 0.25 0 0 0", LIB_BOX) "</sdf>\"");
	if (step % 20 == 0 && step)
		lib_text(server, 0, "/world/w/remove", "name: 'guest' type: MODEL");
	troupe_model guest = troupe_find_model(server, 0, "guest");
	cr_assert_eq(
		lib_given(&guest), step % 20 > 10 || (step % 20 == 0 && step), "step %llu", (unsigned long long)step);
	if (lib_given(&guest))
		(void)lib_at(server, guest);
}

Test(library_on_step, finds_models_that_come_and_go)
{
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server_def def = lib_def(lib_all, secondaries);
		def.step_every = 1;
		def.on_step = create_and_remove;
		struct troupe_server *server = lib_create(&def);
		lib_run(server, 100);
		lib_destroy(server);
	}
}

/* --- states in memory --------------------------------------------------------------------------------------------- */

static const char new_pusher[] =
	"sdf: \"<sdf version='1.11'>" LIB_MODEL("pusher", "0 -9 0.25 0 0 0", LIB_BOX LIB_DRIVEN) "</sdf>\"";

/* Gives commands by handle, for steps before and after a removal, a new model of the same name, and a reset. */
static void plan_ahead(struct troupe_server *server)
{
	troupe_model cart = lib_model(server, "cart"), pusher = lib_model(server, "pusher");
	troupe_model crate = lib_model(server, "crate");
	troupe_link falling = lib_link(server, "falling", "l"), crate_link = lib_link(server, "crate", "l");
	troupe_joint elbow = lib_joint(server, "arm", "elbow"), knuckle = lib_joint(server, "arm", "hand::knuckle");
	lib_text(server, 70, "/world/w/remove", "name: 'pusher' type: MODEL");
	lib_text(server, 75, "/world/w/remove", "name: 'crate' type: MODEL");
	lib_text(server, 90, "/world/w/create", new_pusher);
	lib_text(server, 180, "/world/w/control", "reset: {model_only: true}");
	for (uint64_t step = 15; step < 240; step += 20) {
		const double s = (double)step / 100;
		const struct troupe_when when = at_step(step);
		const struct troupe_twist twist = {{0.3 + s, 0, 0}, {0, 0, 0.1}};
		const struct troupe_wrench wrench = {{30 * s, 0, 1}, {0, s, 0}};
		const struct troupe_pose pose = {.x = 8 + s, .y = -8, .z = 0.25, .qw = 1};
		must(troupe_command_twist(server, &when, cart, &twist, NULL, &lib_error));
		must(troupe_command_twist(server, &when, pusher, &twist, NULL, &lib_error));
		must(troupe_command_wrench(server, &when, falling, &wrench, NULL, &lib_error));
		must(troupe_command_wrench(server, &when, crate_link, &wrench, NULL, &lib_error));
		must(troupe_command_joint(server, &when, elbow, s - 1, NULL, &lib_error));
		must(troupe_command_joint_state(server, &when, knuckle, 0, s / 3, NAN, NULL, &lib_error));
		if (step % 40 == 15)
			must(troupe_command_pose(server, &when, crate, &pose, NULL, &lib_error));
		if (step % 40 == 35)
			must(troupe_command_velocity(server, &when, crate, &twist, NULL, &lib_error));
	}
}

static bool same_replies(const struct replies *a, const struct replies *b, uint64_t from)
{
	int i = 0, j = 0;
	while (i < a->count && a->at[i].step < from)
		i++;
	for (; i < a->count && j < b->count; i++, j++)
		if (a->at[i].step != b->at[j].step || a->at[i].status != b->at[j].status ||
			strcmp(a->at[i].topic, b->at[j].topic) || strcmp(a->at[i].text, b->at[j].text)) {
			printf("%llu %d %s %s, then %llu %d %s %s\n", (unsigned long long)a->at[i].step,
				a->at[i].status, a->at[i].topic, a->at[i].text, (unsigned long long)b->at[j].step,
				b->at[j].status, b->at[j].topic, b->at[j].text);
			return false;
		}
	return i == a->count && j == b->count;
}

static struct troupe_server *resume(const void *bytes, size_t count, int secondaries, struct replies *replies)
{
	struct troupe_server_def def = lib_def(NULL, secondaries);
	def.world_path = NULL;
	def.resume_bytes = bytes;
	def.resume_count = count;
	replies->count = 0;
	def.on_reply = keep_reply;
	def.ctx = replies;
	return lib_create(&def);
}

Test(library_states, in_memory_hold_all_that_is_needed_to_go_on)
{
	static const uint64_t steps[] = {0, 1, 60, 72, 80, 100, 150, 190, 239};
	static struct replies undisturbed, disturbed, resumed;
	struct troupe_server *server = listened_to(lib_all, 0, &undisturbed);
	plan_ahead(server);
	lib_run(server, 250);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		void *bytes = NULL;
		size_t count = 0;
		server = listened_to(lib_all, 1, &disturbed);
		plan_ahead(server);
		lib_step(server, steps[i]);
		uint64_t packed = troupe_server_hash(server);
		must(troupe_server_pack(server, &bytes, &count, &lib_error));
		cr_assert(bytes && count);
		cr_assert_eq(troupe_server_hash(server), packed);
		lib_run(server, 250);
		cr_assert_eq(troupe_server_hash(server), hash, "packed at step %llu: another run",
			(unsigned long long)steps[i]);
		cr_assert(same_replies(&undisturbed, &disturbed, 0), "packed at step %llu: other replies",
			(unsigned long long)steps[i]);
		lib_destroy(server);

		server = resume(bytes, count, (int)(i % 3), &resumed);
		memset(bytes, 0, count); /* the server has copied the bytes */
		free(bytes);
		cr_assert_eq(lib_steps(server), steps[i]);
		cr_assert_eq(troupe_server_hash(server), packed);
		lib_run(server, 250);
		cr_assert_eq(troupe_server_hash(server), hash, "resumed at step %llu", (unsigned long long)steps[i]);
		cr_assert(same_replies(&undisturbed, &resumed, steps[i]), "resumed at step %llu: other replies",
			(unsigned long long)steps[i]);
		lib_destroy(server);
	}
}

/* The files of all commands that wait for their step are in it: they may be gone when the run goes on. */
Test(library_states, have_the_files_of_commands_that_wait)
{
	static struct replies replies;
	struct troupe_server *server = lib_server(lib_all, 1);
	char paths[3][64], text[160];
	void *bytes;
	size_t count;
	for (int i = 0; i < 3; i++) {
		(void)snprintf(paths[i], sizeof paths[i], "/tmp/waits-%d-%d.sdf", (int)getpid(), i);
		FILE *file = fopen(paths[i], "w");
		cr_assert_not_null(file);
		(void)fprintf(file, "<sdf version='1.9'><model name='late%d'>%s</model></sdf>", i, LIB_BOX);
		(void)fclose(file);
		(void)snprintf(
			text, sizeof text, "sdf_filename: '%s' pose {position {x: %d y: 20 z: 5}}", paths[i], 3 * i);
		lib_text(server, i == 1 ? 500 : 20, "/world/w/create", text);
	}
	lib_step(server, 10);
	must(troupe_server_pack(server, &bytes, &count, &lib_error));
	lib_destroy(server);
	for (int i = 0; i < 3; i++)
		(void)unlink(paths[i]);
	server = resume(bytes, count, 0, &replies);
	lib_step(server, 600);
	cr_assert_eq(lib_at(server, lib_model(server, "late0")).pose.y, 20);
	cr_assert_eq(lib_at(server, lib_model(server, "late1")).pose.y, 20);
	cr_assert_eq(lib_at(server, lib_model(server, "late2")).pose.y, 20);
	free(bytes);
	lib_destroy(server);
}

Test(library_states, have_the_handles_of_the_server_that_made_them)
{
	static struct replies replies;
	struct troupe_server *server = lib_server(lib_all, 1);
	void *bytes;
	size_t count;
	lib_text(server, 3, "/world/w/remove", "name: 'pusher' type: MODEL");
	lib_text(server, 5, "/world/w/create", new_pusher);
	troupe_model old = lib_model(server, "pusher"), arm = lib_model(server, "arm");
	troupe_joint grip = lib_joint(server, "arm", "grip");
	lib_step(server, 10);
	troupe_model new = lib_model(server, "pusher");
	must(troupe_server_pack(server, &bytes, &count, &lib_error));
	struct troupe_server *other = resume(bytes, count, 0, &replies);
	struct troupe_model_state state;
	cr_assert_not(troupe_get_model(other, old, &state));
	cr_assert_eq(lib_at(other, new).pose.y, lib_at(server, new).pose.y);
	cr_assert_eq(lib_at(other, arm).pose.y, lib_at(server, arm).pose.y);
	cr_assert_eq(lib_joint_at(other, grip).position[0], lib_joint_at(server, grip).position[0]);
	free(bytes);
	lib_destroy(other);
	lib_destroy(server);
}

Test(library_states, that_are_damaged_are_refused)
{
	struct troupe_server *server = lib_server(lib_all, 0), *other = NULL;
	struct troupe_server_def def = troupe_server_def_default();
	void *bytes;
	size_t count;
	lib_step(server, 10);
	must(troupe_server_pack(server, &bytes, &count, &lib_error));
	lib_destroy(server);
	def.resume_bytes = bytes;
	for (size_t cut = 0; cut < count; cut += 1 + count / 50) {
		def.resume_count = cut;
		refused(TROUPE_EWORLD, troupe_server_create(&def, &other, &lib_error));
	}
	def.resume_count = count;
	for (size_t at = 0; at < count; at += 1 + count / 50) {
		((unsigned char *)bytes)[at] ^= 0x55;
		refused(TROUPE_EWORLD, troupe_server_create(&def, &other, &lib_error));
		((unsigned char *)bytes)[at] ^= 0x55;
	}
	def.resume_path = "the state of a minute ago";
	((unsigned char *)bytes)[count / 2] ^= 0x55;
	refused(TROUPE_EWORLD, troupe_server_create(&def, &other, &lib_error));
	cr_assert(strstr(lib_error.text, "the state of a minute ago"), "%s", lib_error.text);
	cr_assert_null(other);
	free(bytes);
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

Test(library_recordings, of_what_was_commanded_by_numbers_replay_to_the_same_bits)
{
	static struct replies replies;
	char path[] = "/tmp/troupe_library_XXXXXX";
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	struct troupe_server_def def = lib_def(lib_all, 2);
	replies.count = 0;
	def.on_reply = keep_reply;
	def.ctx = &replies;
	def.record_path = path;
	def.record_every = 10;
	struct troupe_server *server = lib_create(&def);
	give_numbers(server);
	give_bytes(server);
	plan_ahead(server);
	troupe_model cart = lib_model(server, "cart");
	for (int i = 0; i < 250; i++) {
		const struct troupe_twist twist = {{0.4, 0, 0}, {0, 0, 0.3 - lib_at(server, cart).pose.qz}};
		must(troupe_command_twist(server, NULL, cart, &twist, NULL, &lib_error));
		lib_step(server, 1);
	}
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	for (int secondaries = 0; secondaries < 3; secondaries++) {
		struct troupe_server_def again = troupe_server_def_default();
		struct troupe_replay replay;
		again.resume_path = path;
		again.secondaries = secondaries;
		must(troupe_replay_run(&again, 0, &replay, &lib_error));
		cr_assert_eq(replay.end, TROUPE_REPLAY_WHOLE, "%d: %s", replay.end, replay.difference);
		cr_assert_eq(replay.step, 250);
		cr_assert_eq(replay.same, 250);
		cr_assert_geq(replay.hashes, 25);
	}
	(void)unlink(path);
}
