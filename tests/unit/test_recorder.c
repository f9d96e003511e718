/* What is recorded into a file of MCAP: which topics, at which rates, all of their messages whatever the speed, topics
 * that come later, and why a file ends before the run. tests/gateway/test_mcap.c reads the form of the files. */
#include "clients.h"

#include <troupe/gateway.h>

#include <stdatomic.h>
#include <unistd.h>

TestSuite(recorder, .fini = clients_end, .timeout = 120);

enum { STEPS = 1000 }; /* a second */

static char path[] = "/tmp/test_recorder.XXXXXX";

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)server;
	(void)step;
	troupe_mcap_step(*(struct troupe_mcap **)ctx);
}

struct recorded {
	struct troupe_mcap_counts counts;
	char *bytes;
	size_t count;
};

static void read_file(struct recorded *recorded)
{
	FILE *file = fopen(path, "rb");
	cr_assert(file && !fseek(file, 0, SEEK_END));
	recorded->count = (size_t)ftell(file);
	recorded->bytes = malloc(recorded->count);
	rewind(file);
	cr_assert_eq(fread(recorded->bytes, 1, recorded->count, file), recorded->count);
	fclose(file);
}

/* Whether the file has a channel of this topic: its record stands in the summary, which is not compressed. */
static bool has(const struct recorded *recorded, const char *topic)
{
	char text[200] = {(char)strlen(topic), 0, 0, 0};
	size_t count = 4 + strlen(topic);
	memcpy(text + 4, topic, strlen(topic));
	return memmem(recorded->bytes, recorded->count, text, count) != NULL;
}

/* world: its name in `text`. */
static struct recorded record_world(
	const char *text, const char *world, const struct troupe_mcap_topic *topics, uint32_t count)
{
	char create[100];
	struct troupe_mcap *mcap = NULL;
	struct recorded recorded;
	struct troupe_server_def def = lib_def(text, 1);
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	def.step_every = 1;
	def.on_step = on_step;
	def.ctx = &mcap;
	struct troupe_server *server = lib_create(&def);
	const struct troupe_mcap_def mcap_def = {.path = path, .topics = topics, .topic_count = count};
	must(troupe_mcap_start(server, &mcap_def, &mcap, &lib_error));
	(void)snprintf(create, sizeof create, "/world/%s/create", world);
	lib_text(server, STEPS / 2, create,
		"name: \"late\" sdf: \"<sdf version='1.9'><model name='m'><link name='l'/><plugin filename='x' "
		"name='gz::sim::systems::OdometryPublisher'/></model></sdf>\"");
	lib_run(server, STEPS);
	must(troupe_mcap_end(mcap, &recorded.counts, &lib_error));
	read_file(&recorded);
	cr_assert_eq(recorded.counts.bytes, recorded.count);
	lib_destroy(server);
	unlink(path);
	memcpy(strrchr(path, '.'), ".XXXXXX", 8);
	return recorded;
}

static struct recorded record(const struct troupe_mcap_topic *topics, uint32_t count)
{
	return record_world(lib_all, "w", topics, count);
}

#define RECORD(...)                                                                                                    \
	record((const struct troupe_mcap_topic[]){__VA_ARGS__},                                                        \
		sizeof((const struct troupe_mcap_topic[]){__VA_ARGS__}) / sizeof(struct troupe_mcap_topic))

/* The state before the first step has its messages, too. */
static void expect(struct recorded recorded, uint64_t messages, uint32_t topics)
{
	cr_assert(recorded.counts.messages == messages && recorded.counts.topics == topics,
		"%lu messages of %u topics: expected %lu of %u", (unsigned long)recorded.counts.messages,
		recorded.counts.topics, (unsigned long)messages, topics);
	free(recorded.bytes);
}

Test(recorder, rates)
{
	enum { SLOW = 10, QUICK = 50 };
	expect(RECORD({"/clock", 0}), STEPS + 1, 1);
	expect(RECORD({"/clock", QUICK}), QUICK + 1, 1);
	/* the first pattern that matches decides */
	expect(RECORD({"/clo?k", QUICK}, {"/*", SLOW}, {"/clock", 0}),
		RECORD({"/clock", QUICK}).counts.messages +
			RECORD({"/world/*", SLOW}, {"/model/*", SLOW}, {"/stats", SLOW}).counts.messages,
		RECORD({"/clock", 0}, {"/world/*", SLOW}, {"/model/*", SLOW}, {"/stats", SLOW}).counts.topics);
}

/* The frames of the scenery are made of poses, which are recorded only if they are chosen themselves; then at the rate
 * that was chosen for them. */
Test(recorder, scenery)
{
	enum { SLOW = 10, QUICK = 50 };
	uint64_t slow = RECORD({"/world/w/stage/tf", SLOW}).counts.messages;
	uint64_t quick = RECORD({"/world/w/stage/tf", QUICK}).counts.messages;
	cr_assert(slow >= SLOW && slow < quick && quick >= QUICK, "%lu and %lu", (unsigned long)slow,
		(unsigned long)quick);
	expect(RECORD({"/world/w/dynamic_pose/info", QUICK}, {"/world/w/stage/tf", SLOW}), quick + QUICK + 1, 2);
	struct recorded recorded = RECORD({"/world/w/stage/tf", SLOW});
	cr_assert(has(&recorded, "/world/w/stage/tf"));
	cr_assert(!has(&recorded, "/world/w/dynamic_pose/info") && !has(&recorded, "/world/w/scene/info") &&
		  !has(&recorded, "/world/w/stage"));
	free(recorded.bytes);
	recorded = RECORD({"/world/w/stage", 0}, {"/nothing", 0}, {"/no*thing", 0});
	cr_assert(has(&recorded, "/world/w/stage") && !has(&recorded, "/world/w/stage/tf"));
	cr_assert(!strcmp(recorded.counts.unmatched, "/nothing"), "%s", recorded.counts.unmatched);
	cr_assert(recorded.counts.messages >= 2, "the shapes, and those of the new model");
	free(recorded.bytes);
}

Test(recorder, usual_topics)
{
	static const char *const usual[] = {"/clock", "/world/w/stage", "/world/w/stage/tf", "/world/w/scene/info",
		"/model/cart/odometry", "/model/late/odometry"};
	static const char *const others[] = {"/stats", "/world/w/stats", "/world/w/clock", "/world/w/pose/info",
		"/world/w/dynamic_pose/info", "/world/w/view"};
	struct recorded recorded = record(NULL, 0);
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		cr_assert(has(&recorded, usual[i]), "no %s", usual[i]);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		cr_assert(!has(&recorded, others[i]), "%s", others[i]);
	cr_assert(!recorded.counts.unmatched);
	free(recorded.bytes);
}

/* A world whose name cannot be in a topic as it is has its shapes and frames under the name that its topics have. */
Test(recorder, names_of_worlds)
{
	static const char text[] = LIB_SDF(LIB_WORLD("my @world", LIB_ALL));
	static const char *const names[] = {
		"/world/my_world/scene/info", "/world/my_world/stage", "/world/my_world/stage/tf"};
	struct recorded recorded = record_world(text, "my @world", NULL, 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		cr_assert(has(&recorded, names[i]), "no %s", names[i]);
	free(recorded.bytes);
}

static void count_end(void *ctx, const char *text)
{
	cr_assert(strstr(text, "/dev/full: cannot write"), "%s", text);
	atomic_fetch_add((_Atomic int *)ctx, 1);
}

/* The run goes on when the disk is full; the program is told once, and at the end. */
Test(recorder, a_full_disk)
{
	_Atomic int ends = 0;
	struct troupe_mcap *mcap = NULL;
	struct troupe_server_def def = lib_def(lib_all, 1);
	def.step_every = 1;
	def.on_step = on_step;
	def.ctx = &mcap;
	struct troupe_server *server = lib_create(&def);
	const struct troupe_mcap_def mcap_def = {.path = "/dev/full", .on_end = count_end, .ctx = &ends};
	must(troupe_mcap_start(server, &mcap_def, &mcap, &lib_error));
	lib_run(server, 5 * STEPS);
	cr_assert_eq(lib_steps(server), 5 * STEPS);
	for (int i = 0; i < 20000 && !ends; i++)
		usleep(1000);
	cr_assert_eq(ends, 1, "it is told while the run goes on");
	refused(TROUPE_EIO, troupe_mcap_end(mcap, NULL, &lib_error));
	cr_assert(strstr(lib_error.text, "/dev/full: cannot write"), "%s", lib_error.text);
	cr_assert_eq(ends, 1);
	lib_destroy(server);
}

Test(recorder, patterns_that_are_none)
{
	const struct troupe_mcap_topic bad[] = {{"", 0}, {NULL, 0}, {"/clock", -1}, {"/clock", NAN}, {"/clock", 2e9}};
	struct troupe_server *server = lib_server(lib_all, 0);
	struct troupe_mcap *mcap = NULL;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		const struct troupe_mcap_def def = {.path = "/dev/null", .topics = &bad[i], .topic_count = 1};
		refused(TROUPE_EINVAL, troupe_mcap_start(server, &def, &mcap, &lib_error));
	}
	const struct troupe_mcap_def nowhere = {.path = "/nonexistent/file"};
	refused(TROUPE_EIO, troupe_mcap_start(server, &nowhere, &mcap, &lib_error));
	troupe_mcap_step(NULL);
	must(troupe_mcap_end(NULL, NULL, &lib_error));
	lib_destroy(server);
}
