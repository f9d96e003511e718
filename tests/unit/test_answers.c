/* Services that answer and change no world: their replies, their effects outside of the worlds, and their refusals with
 * the reasons. The topic `replies` has the reasons, which Gazebo's replies do not have. */
#include "clients.h"

#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <sys/stat.h>
#include <unistd.h>

TestSuite(answers, .timeout = 120);

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
	troupe_client_destroy(client);
	troupe_server_destroy(server);
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
		troupe_client_destroy(client);
		troupe_server_destroy(server);
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
		if (i == 5)
			cr_assert_eq(reply->step, step);
		message_free(&reply->base);
	}
	cr_assert(!troupe_client_take(other, 0, &message));
	troupe_client_destroy(client);
	troupe_client_destroy(other);
	troupe_server_destroy(server);
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
		troupe_server_destroy(resumed);
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
	troupe_client_destroy(client);
	troupe_server_destroy(server);
	refused(TROUPE_EIO, troupe_server_create(&def, &server, &lib_error));
}
