/* A file of MCAP with the names of ROS 2 is what its nodes see: the same run has such a file, a client of rosbridge,
 * and a reader in DDS, which is a process of its own. Each has the same topics, of the same types, with the same
 * messages in the same order; the reader in DDS may have missed some, as on any network. Without this a bag that is
 * played would not be what the robot's programs have been tested with.
 *
 *   test_bag [FILE]     FILE: keeps the bag there */
#include "scene.h"

#include "gateway/dds/graph.h"
#include "gateway/dds/module.h"
#include "gateway/ros/json.h"
#include "gateway/ros/type_hash.h"
#include "mcap_read.h"

#include <troupe/gateway.h>

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { STEPS = 100, LOT = 2, TOPICS_MAX = 256, PATIENCE_MS = 60000 };

/* --- messages by topic -------------------------------------------------------------------------------------------- */

struct heard_topic {
	char name[200], type[200];
	bool is_static;
	VEC(struct text) cdr; /* each message */
	VEC(json_t *) json;
};
struct heard {
	struct heard_topic topics[TOPICS_MAX];
	uint32_t count;
};

static struct heard_topic *bag_topic_of(struct heard *heard, const char *name)
{
	for (uint32_t i = 0; i < heard->count; i++)
		if (!strcmp(heard->topics[i].name, name))
			return &heard->topics[i];
	return NULL;
}

static struct heard_topic *bag_add_topic(struct heard *heard, const char *name, const char *type)
{
	struct heard_topic *topic = bag_topic_of(heard, name);
	if (topic || heard->count == TOPICS_MAX)
		return topic;
	topic = &heard->topics[heard->count++];
	snprintf(topic->name, sizeof topic->name, "%s", name);
	snprintf(topic->type, sizeof topic->type, "%s", type);
	return topic;
}

static void add_cdr(struct heard_topic *topic, const void *bytes, size_t count)
{
	struct text copy = {0};
	text_add_bytes(&copy, bytes, count);
	vec_push(&topic->cdr, copy);
}

static void heard_fini(struct heard *heard)
{
	for (uint32_t i = 0; i < heard->count; i++) {
		struct heard_topic *topic = &heard->topics[i];
		for (uint32_t k = 0; k < topic->cdr.count; k++)
			text_fini(&topic->cdr.at[k]);
		for (uint32_t k = 0; k < topic->json.count; k++)
			json_decref(topic->json.at[k]);
		vec_free(&topic->cdr);
		vec_free(&topic->json);
	}
}

/* --- the reader in DDS -------------------------------------------------------------------------------------------- */

struct dds { /* its process, and what it writes: NAME's index, count, bytes */
	pid_t pid;
	int orders, news;
};

static void no_wake(void *ctx)
{
	(void)ctx;
}

static void no_word(void *ctx, const char *text)
{
	(void)ctx, (void)text;
}

static bool bag_read_whole(int file, void *bytes, size_t count)
{
	for (char *at = bytes; count;) {
		ssize_t got = AGAIN(read(file, at, count));
		if (got <= 0)
			return false;
		at += got;
		count -= (size_t)got;
	}
	return true;
}

static void bag_write_whole(int file, const void *bytes, size_t count)
{
	for (const char *at = bytes; count;) {
		ssize_t put = AGAIN(write(file, at, count));
		if (put <= 0)
			_exit(5);
		at += put;
		count -= (size_t)put;
	}
}

struct reader {
	int news;
	uint32_t index;
};

static void bag_pass_on(void *ctx, uint64_t writer, const void *bytes, size_t count)
{
	const struct reader *reader = ctx;
	uint32_t head[2] = {reader->index, (uint32_t)count};
	(void)writer;
	bag_write_whole(reader->news, head, sizeof head);
	bag_write_whole(reader->news, bytes, count);
}

/* Orders: a line "NAME TYPE STATIC" for each topic, and an empty one. Then it says when all are matched. */
static void read_dds(uint32_t domain, int orders, int news)
{
	const struct glue *glue;
	struct troupe_error error = {.text = ""};
	char why[GLUE_WHY_BYTES] = "", name[200], type[200];
	struct glue_node *node;
	struct glue_end *ends[TOPICS_MAX];
	uint32_t count = 0, matched = 0;
	int is_static;
	FILE *in = fdopen(orders, "r");
	const struct glue_place place = {.domain = domain, .user_data = "", .wake = no_wake, .say = no_word};
	if (module_load(&glue, &error) || !glue->open(&place, &node, why)) {
		fprintf(stderr, "%s%s\n", error.text, why);
		_exit(3);
	}
	while (fscanf(in, "%199s %199s %d", name, type, &is_static) == 3 && *name == '/') {
		char *topic = graph_topic(name), *dds_type = graph_type(type);
		if (!glue->read_end(
			    node, topic, dds_type, is_static ? GLUE_STATIC : GLUE_LATEST, NULL, &ends[count++], why))
			_exit(4);
		free(topic);
		free(dds_type);
	}
	for (;;) {
		uint32_t now = 0, came;
		for (uint32_t i = 0; i < count; i++) {
			struct reader reader = {news, i};
			(void)glue->take(ends[i], bag_pass_on, &reader);
			now += glue->peers(ends[i], &came) > 0;
		}
		if (now == count && matched != count)
			bag_write_whole(news, (const uint32_t[]){UINT32_MAX, 0}, 8);
		matched = now;
		(void)poll(NULL, 0, 1);
	}
}

static struct dds start_dds(uint32_t domain)
{
	int orders[2], news[2];
	struct dds dds = {.pid = -1};
	if (!module_is_available() || pipe(orders) || pipe(news))
		return dds;
	dds.pid = fork();
	if (!dds.pid) {
		close(orders[1]);
		close(news[0]);
		read_dds(domain, orders[0], news[1]);
	}
	close(orders[0]);
	close(news[1]);
	dds.orders = orders[1];
	dds.news = news[0];
	return dds;
}

/* Takes one message within the time. False: none came. *ret_matched: instead of a message, that all are matched. */
static bool take_dds(struct dds *dds, struct heard *heard, int timeout_ms, bool *ret_matched)
{
	uint32_t head[2];
	struct pollfd file = {dds->news, POLLIN, 0};
	if (poll(&file, 1, timeout_ms) <= 0 || !bag_read_whole(dds->news, head, sizeof head))
		return false;
	*ret_matched = head[0] == UINT32_MAX;
	if (*ret_matched)
		return true;
	char *bytes = mem_alloc(head[1] + 1);
	bool whole = bag_read_whole(dds->news, bytes, head[1]);
	if (whole && head[0] < heard->count)
		add_cdr(&heard->topics[head[0]], bytes, head[1]);
	free(bytes);
	return whole;
}

/* --- the client of rosbridge -------------------------------------------------------------------------------------- */

static bool take_json(int file, struct heard *heard, json_t **ret_reply)
{
	struct client_frame frame;
	*ret_reply = NULL;
	if (!client_take(file, &frame))
		return false;
	json_t *json = frame.kind == 1 ? json_loadb(frame.body.at, frame.body.count, 0, NULL) : NULL;
	text_fini(&frame.body);
	const char *op = json_string_value(json_object_get(json, "op"));
	const char *name = json_string_value(json_object_get(json, "topic"));
	struct heard_topic *topic = name ? bag_topic_of(heard, name) : NULL;
	if (op && !strcmp(op, "publish") && topic)
		vec_push(&topic->json, json_incref(json_object_get(json, "msg")));
	if (op && !strcmp(op, "service_response"))
		*ret_reply = json_incref(json);
	json_decref(json);
	return frame.kind != 8;
}

static bool is_published(int file, struct heard *heard, const char *name)
{
	json_t *reply = NULL;
	(void)client_say(
		file, "{\"op\":\"call_service\",\"service\":\"/rosapi/publishers\",\"args\":{\"topic\":\"%s\"}}", name);
	while (!reply && take_json(file, heard, &reply))
		;
	bool published = json_array_size(json_object_get(json_object_get(reply, "values"), "publishers")) > 0;
	json_decref(reply);
	return published;
}

/* All topics that there are, with their types, are subscribed to. */
static void subscribe_to_all(int file, struct heard *heard)
{
	json_t *reply = NULL;
	(void)client_say(file, "{\"op\":\"call_service\",\"service\":\"/rosapi/topics\"}");
	while (!reply && take_json(file, heard, &reply))
		;
	const json_t *values = json_object_get(reply, "values"), *names = json_object_get(values, "topics"), *name;
	size_t i;
	json_array_foreach(names, i, name)
	{
		const char *text = json_string_value(name);
		if (!is_published(file, heard, text))
			continue;
		struct heard_topic *topic = bag_add_topic(
			heard, text, json_string_value(json_array_get(json_object_get(values, "types"), i)));
		size_t length = strlen(text);
		topic->is_static = length >= 10 && !strcmp(text + length - 10, "/tf_static");
		(void)client_say(file, "{\"op\":\"subscribe\",\"topic\":\"%s\"}", text);
	}
	json_decref(reply);
}

/* --- the bag ------------------------------------------------------------------------------------------------------ */

static void take_of_bag(
	void *ctx, const struct mcap_read_channel *channel, int64_t time_ns, const void *bytes, size_t count)
{
	struct heard_topic *topic = bag_add_topic(ctx, channel->topic, channel->type);
	const char *end = strrchr(channel->topic, '/');
	bool is_static = topic->is_static = !strcmp(end, "/tf_static");
	struct text hash = {0};
	(void)time_ns;
	add_cdr(topic, bytes, count);
	if (topic->cdr.count > 1)
		return;
	type_hash_add(channel->type, &hash);
	check(!strcmp(channel->encoding, "cdr") && !strcmp(channel->schema_encoding, "ros2msg") &&
			!strcmp(channel->type, topic->type),
		"%s: %s, %s, %s", channel->topic, channel->encoding, channel->schema_encoding, channel->type);
	check(strstr(channel->pairs, hash.at) && strstr(channel->pairs, "topic_type_hash=RIHS01_") &&
			strstr(channel->pairs, "offered_qos_profiles=- history: 1\n") &&
			strstr(channel->pairs, "  reliability: 1\n") &&
			strstr(channel->pairs, is_static ? "  durability: 1\n" : "  durability: 2\n") &&
			strstr(channel->pairs, is_static ? "  depth: 1\n" : "  depth: 10\n"),
		"%s: %s", channel->topic, channel->pairs);
	text_fini(&hash);
}

/* The message as rosbridge has it. */
static json_t *json_of(const struct heard_topic *topic, const struct text *cdr)
{
	struct text json = {0};
	struct troupe_error error;
	json_t *value = NULL;
	if (!ros_json_of_cdr(topic->type, cdr->at, cdr->count, &json, &error))
		value = json_loadb(json.at, json.count, 0, NULL);
	text_fini(&json);
	return value;
}

/* The same messages in the same order. */
static void compare_with_rosbridge(struct heard *bag, struct heard *rosbridge)
{
	for (uint32_t i = 0; i < rosbridge->count; i++) {
		const struct heard_topic *theirs = &rosbridge->topics[i], *ours = bag_topic_of(bag, theirs->name);
		uint32_t count = ours ? ours->cdr.count : 0, same = 0;
		for (; same < count && same < theirs->json.count; same++) {
			json_t *json = json_of(ours, &ours->cdr.at[same]);
			bool equal = json_equal(json, theirs->json.at[same]);
			json_decref(json);
			if (!equal)
				break;
		}
		check(count == theirs->json.count && same == count && (!ours || !strcmp(ours->type, theirs->type)),
			"%s: %u messages in the bag, %u by rosbridge, the first %u are the same", theirs->name, count,
			theirs->json.count, same);
	}
	for (uint32_t i = 0; i < bag->count; i++)
		check(bag_topic_of(rosbridge, bag->topics[i].name), "%s is only in the bag", bag->topics[i].name);
}

/* DDS fills a message up to a multiple of 4 bytes. */
static bool bag_is_same(const struct text *ours, const struct text *theirs)
{
	return theirs->count >= ours->count && theirs->count <= ((ours->count + 3) & ~(size_t)3) &&
	       !memcmp(ours->at, theirs->at, ours->count);
}

/* The transforms without their stamps. */
static json_t *unstamped(const struct heard_topic *topic, const struct text *cdr)
{
	json_t *message = json_of(topic, cdr), *one;
	size_t i;
	json_array_foreach(json_object_get(message, "transforms"), i, one)(void)
		json_object_del(json_object_get(one, "header"), "stamp");
	return message;
}

static bool is_alike(const struct heard_topic *ours, uint32_t place, const struct text *theirs)
{
	if (!ours->is_static)
		return bag_is_same(&ours->cdr.at[place], theirs);
	json_t *a = unstamped(ours, &ours->cdr.at[place]), *b = unstamped(ours, theirs);
	bool same = json_equal(a, b);
	json_decref(a);
	json_decref(b);
	return same;
}

/* The messages that came are the bag's, in the bag's order. A reader gets one at once when it has come, out of turn,
 * and so have those that hear the same topic under another name; static transforms are then those of a later time. */
static void compare_with_dds(struct heard *bag, const struct heard *dds)
{
	enum { OUT_OF_TURN = 4 };
	uint32_t most = 0;
	for (uint32_t i = 0; i < dds->count; i++) {
		const struct heard_topic *theirs = &dds->topics[i], *ours = bag_topic_of(bag, theirs->name);
		uint32_t at = 0, found = 0, others = 0;
		for (uint32_t k = 0; ours && k < theirs->cdr.count; k++) {
			uint32_t place = at;
			while (place < ours->cdr.count && !is_alike(ours, place, &theirs->cdr.at[k]))
				place++;
			found += place < ours->cdr.count;
			others += place == ours->cdr.count;
			at = place < ours->cdr.count ? place : at;
		}
		check(!ours == !found && others <= OUT_OF_TURN,
			"%s: of %u messages that came by DDS %u are in the bag, in its order, which has %u",
			theirs->name, theirs->cdr.count, found, ours ? ours->cdr.count : 0);
		most = MAX(most, found);
	}
	check(most >= STEPS / 2, "of no topic more than %u messages came by DDS", most);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

static void bag_on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)server, (void)step;
	troupe_mcap_step(*(struct troupe_mcap **)ctx);
}

static void order_dds(struct dds *dds, const struct heard *topics, struct heard *ret_heard)
{
	bool matched = false;
	for (uint32_t i = 0; i < topics->count; i++) {
		char line[500];
		const struct heard_topic *topic = &topics->topics[i];
		int count = snprintf(line, sizeof line, "%s %s %d\n", topic->name, topic->type, topic->is_static);
		bag_write_whole(dds->orders, line, (size_t)count);
		bag_add_topic(ret_heard, topic->name, topic->type)->is_static = topic->is_static;
	}
	bag_write_whole(dds->orders, "end end 0\n", 10);
	while (!matched && take_dds(dds, ret_heard, PATIENCE_MS, &matched))
		;
	check(matched, "the reader in DDS is matched with all writers");
}

/* Steps so few at once that no queue overflows: until the last clock has come. One that DDS has lost is awaited once.
 */
static void step(struct scene *scene, struct heard *rosbridge, struct dds *dds, struct heard *by_dds, int file)
{
	bool matched, lost = false;
	for (uint32_t done = LOT; done <= STEPS; done += LOT) {
		struct troupe_limits limits = {.iterations = done};
		const struct heard_topic *clock = bag_topic_of(rosbridge, "/clock");
		check(!troupe_server_run(scene->server, &limits, &scene->error), "%s", scene->error.text);
		json_t *reply;
		while (clock->json.count < done + 1 && take_json(file, rosbridge, &reply))
			json_decref(reply);
		const struct heard_topic *other = dds->pid > 0 ? bag_topic_of(by_dds, "/clock") : NULL;
		while (other && other->cdr.count < done + 1 && take_dds(dds, by_dds, lost ? 20 : 1000, &matched))
			;
		lost |= other && other->cdr.count < done + 1;
	}
}

/* Until each topic of which rosbridge has a message has one in DDS. */
static void await_dds(struct dds *dds, struct heard *by_dds, struct heard *rosbridge)
{
	uint32_t waits = 0;
	bool matched;
	for (uint32_t i = 0; i < by_dds->count; i++) {
		const struct heard_topic *topic = &by_dds->topics[i];
		while (!topic->cdr.count && bag_topic_of(rosbridge, topic->name)->json.count &&
			waits < PATIENCE_MS / 1000)
			waits += !take_dds(dds, by_dds, 1000, &matched);
	}
}

/* --- topics that come and go -------------------------------------------------------------------------------------- */

struct clocks {
	uint32_t count, late; /* messages of /clock, and of the model that comes and goes */
	int64_t last_ns;
};

static void count_clock(
	void *ctx, const struct mcap_read_channel *channel, int64_t time_ns, const void *bytes, size_t count)
{
	struct clocks *clocks = ctx;
	(void)bytes, (void)count;
	clocks->late += strstr(channel->topic, "/late/") != NULL;
	if (strcmp(channel->topic, "/clock") != 0)
		return;
	check(time_ns > clocks->last_ns || !clocks->count, "the clock is set back");
	clocks->count++;
	clocks->last_ns = time_ns;
}

/* No topic has two channels, neither one that stays while another comes, nor one that comes again. */
static void test_changes(void)
{
	static const char world[] =
		"<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001"
		"</max_step_size></physics></world></sdf>";
	static const char create[] = "sdf: \"<sdf version='1.9'><model name='late'><link name='l'/><plugin "
				     "name='gz::sim::systems::OdometryPublisher' filename='x'/></model></sdf>\"";
	static struct mcap_read read;
	enum { ROUNDS = 3, EACH = 60 };
	struct clocks clocks = {.count = 0};
	struct troupe_mcap *mcap = NULL;
	struct troupe_mcap_counts counts;
	struct troupe_server_def def = troupe_server_def_default();
	struct scene scene;
	uint32_t channels = 0;
	char *path = mem_printf("/tmp/test_bag.%d.changes.mcap", (int)getpid());
	def.world_path = "w.sdf";
	def.world_text = world;
	def.rtf = 0;
	def.on_step = bag_on_step;
	def.step_every = 1;
	def.ctx = &mcap;
	scene_create(&scene, &def);
	const struct troupe_mcap_topic all = {"*", 0};
	const struct troupe_mcap_def recorded = {
		.path = path, .topics = &all, .topic_count = 1, .names = TROUPE_MCAP_ROS};
	check(!troupe_mcap_start(scene.server, &recorded, &mcap, &scene.error), "%s", scene.error.text);
	for (int i = 0; i < ROUNDS; i++) {
		check(!troupe_server_command(scene.server, 0, "/world/w/create", create, &scene.error), "%s",
			scene.error.text);
		check(!troupe_server_step(scene.server, EACH, &scene.error), "%s", scene.error.text);
		check(!troupe_server_command(
			      scene.server, 0, "/world/w/remove", "name: 'late' type: MODEL", &scene.error),
			"%s", scene.error.text);
		check(!troupe_server_step(scene.server, EACH, &scene.error), "%s", scene.error.text);
	}
	check(!troupe_mcap_end(mcap, &counts, &scene.error), "%s", scene.error.text);
	troupe_server_destroy(scene.server);
	read.message = count_clock;
	read.ctx = &clocks;
	check(mcap_read_file(&read, path), "%s", path);
	for (uint32_t i = 0; i < MCAP_READ_CHANNELS; i++) {
		channels += *read.channels[i].topic != '\0';
		for (uint32_t k = 0; k < i && *read.channels[i].topic; k++)
			check(strcmp(read.channels[k].topic, read.channels[i].topic) != 0, "%s has two channels",
				read.channels[i].topic);
	}
	check(channels == counts.topics && channels > 3, "%u channels", channels);
	check(clocks.count == 2 * ROUNDS * EACH + 1 && clocks.late > ROUNDS, "%u clocks, %u of the model", clocks.count,
		clocks.late);
	(void)unlink(path);
	free(path);
}

int main(int argc, char **argv)
{
	static struct heard bag, rosbridge, by_dds;
	static struct mcap_read read;
	char *path = argc > 1 ? argv[1] : mem_printf("/tmp/test_bag.%d.mcap", (int)getpid());
	const char *source = getenv("SOURCE_DIR"), *build = getenv("BUILD_DIR");
	uint32_t domain = 100 + (uint32_t)getpid() % 100;
	struct troupe_mcap *mcap = NULL;
	struct troupe_mcap_counts counts;
	struct troupe_gateway *node = NULL;
	struct troupe_server_def def = troupe_server_def_default();
	struct scene scene;
	(void)signal(SIGPIPE, SIG_IGN);
	test_changes();
	if (!troupe_gateway_is_available("rosbridge")) {
		printf("skipped: bags: this build has no web server\n%d passed, %d failed, 1 skipped\n", passed,
			failed);
		return failed ? 1 : 0;
	}
	setenv("TROUPE_MODULES", mem_printf("%s/.libs", build ? build : "."), 1);
	char number[16];
	(void)snprintf(number, sizeof number, "%u", domain);
	const struct troupe_gateway_setting in_domain = {"domain", number};
	struct dds dds = start_dds(domain);
	char *world = mem_printf("%s/tests/data/ros/robots.sdf", source ? source : ".");
	def.world_path = world;
	def.secondaries = 1;
	def.rtf = 0;
	def.on_step = bag_on_step;
	def.step_every = 1;
	def.ctx = &mcap;
	scene_create(&scene, &def);
	const struct troupe_mcap_topic all = {"*", 0};
	check(!troupe_mcap_start(scene.server,
		      &(struct troupe_mcap_def){
			      .path = path, .topics = &all, .topic_count = 1, .names = TROUPE_MCAP_ROS},
		      &mcap, &scene.error),
		"%s", scene.error.text);
	scene_serve(&scene, "rosbridge", "ws", NULL);
	if (dds.pid > 0)
		check(!troupe_gateway_start(&(struct troupe_gateway_def){.name = "ros2",
						    .settings = &in_domain,
						    .setting_count = 1,
						    .server = scene.server},
			      &node, &scene.error),
			"%s", scene.error.text);
	int file = client_join(scene.port, "/", "localhost", "");
	subscribe_to_all(file, &rosbridge);
	if (node)
		order_dds(&dds, &rosbridge, &by_dds);
	step(&scene, &rosbridge, &dds, &by_dds, file);
	if (node)
		await_dds(&dds, &by_dds, &rosbridge);
	troupe_gateway_end(scene.gateway, NULL);
	json_t *reply;
	while (take_json(file, &rosbridge, &reply))
		json_decref(reply);
	troupe_gateway_end(node, NULL);
	check(!troupe_mcap_end(mcap, &counts, &scene.error), "%s", scene.error.text);
	troupe_server_destroy(scene.server);
	read.message = take_of_bag;
	read.ctx = &bag;
	check(mcap_read_file(&read, path) && !strcmp(read.profile, "ros2") &&
			strstr(read.metadata, "rosbag2:serialized_metadata=version: 8\n") &&
			strstr(read.metadata, "names=ros;"),
		"%s: %s", path, read.metadata);
	check(bag.count == counts.topics && bag.count > 20, "%u topics", bag.count);
	compare_with_rosbridge(&bag, &rosbridge);
	if (node)
		compare_with_dds(&bag, &by_dds);
	else
		printf("skipped: DDS: this build has none\n");
	if (dds.pid > 0) {
		kill(dds.pid, SIGKILL);
		(void)waitpid(dds.pid, NULL, 0);
	}
	if (argc < 2)
		(void)unlink(path);
	heard_fini(&bag);
	heard_fini(&rosbridge);
	heard_fini(&by_dds);
	printf("%d passed, %d failed%s\n", passed, failed, node ? "" : ", 1 skipped");
	return failed ? 1 : 0;
}
