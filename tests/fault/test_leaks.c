/* Counts memory and open files, to show that all of both is released. Each scene is a whole life: a world is loaded,
 * run, changed, saved, resumed, recorded, replayed, simulated by a secondary as in another process, or refused. A scene
 * is repeated. Memory that is kept for good (tables of libraries, stacks of threads) is taken in the first repetitions
 * only, so memory that each life loses shows. */
#include "../named.h"
#include "check.h"
#include "files.h"

#include "../gateway/scene.h"

#include "base/infile.h"
#include "base/text.h"
#include "sdf/sdf.h"

#include <troupe/network.h>
#include <troupe/record.h>
#include <troupe/report.h>
#include <troupe/server.h>

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WARM = 2, REPEATS = 4, STEPS = 120 };

/* --- what is counted ---------------------------------------------------------------------------------------------- */

static long pieces; /* under the lock */

/* A sanitizer brings its own malloc(), and its own search for leaks. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *piece);

/* The pieces that were taken here: the C library takes some for itself (realpath()), which are only given back here. */
enum { PLACES = 1 << 20 };
static void *known[PLACES];
static atomic_flag lock = ATOMIC_FLAG_INIT;

static void take_lock(void)
{
	while (atomic_flag_test_and_set(&lock))
		(void)sched_yield();
}

static void give_lock(void)
{
	atomic_flag_clear(&lock);
}

/* A child of fork() (base/sandbox.h) would wait for ever for a thread that it does not have. */
__attribute__((constructor)) static void repair_lock_in_children(void)
{
	if (pthread_atfork(take_lock, give_lock, give_lock))
		abort();
}

static size_t place_of(const void *piece)
{
	return (size_t)((uintptr_t)piece / 16 * UINT64_C(0x9e3779b97f4a7c15) >> 44);
}

static void *count_in(void *piece)
{
	if (!piece)
		return NULL;
	take_lock();
	size_t at = place_of(piece);
	while (known[at])
		at = (at + 1) % PLACES;
	known[at] = piece;
	if (++pieces > PLACES / 2)
		abort();
	give_lock();
	return piece;
}

/* Those behind it move up, so that each is still found from its place on. */
static void forget(size_t gap)
{
	known[gap] = NULL;
	for (size_t at = (gap + 1) % PLACES; known[at]; at = (at + 1) % PLACES) {
		size_t home = place_of(known[at]);
		if ((at + PLACES - home) % PLACES < (at + PLACES - gap) % PLACES)
			continue;
		known[gap] = known[at];
		known[at] = NULL;
		gap = at;
	}
}

static void count_out(const void *piece)
{
	take_lock();
	size_t at = place_of(piece);
	while (known[at] && known[at] != piece)
		at = (at + 1) % PLACES;
	if (known[at]) {
		forget(at);
		pieces--;
	}
	give_lock();
}

void *malloc(size_t bytes)
{
	return count_in(__libc_malloc(bytes));
}
void *calloc(size_t count, size_t bytes)
{
	return count_in(__libc_calloc(count, bytes));
}
/* One that moves is forgotten before another thread can get its place. */
void *realloc(void *old, size_t bytes)
{
	if (old)
		count_out(old);
	void *piece = __libc_realloc(old, bytes);
	if (!piece && old && bytes)
		count_in(old);
	return count_in(piece);
}
void *aligned_alloc(size_t alignment, size_t bytes)
{
	return count_in(__libc_memalign(alignment, bytes));
}
void *memalign(size_t alignment, size_t bytes)
{
	return count_in(__libc_memalign(alignment, bytes));
}
int posix_memalign(void **ret_piece, size_t alignment, size_t bytes)
{
	*ret_piece = count_in(__libc_memalign(alignment, bytes));
	return *ret_piece ? 0 : 12; /* ENOMEM */
}
void free(void *piece)
{
	if (piece)
		count_out(piece);
	__libc_free(piece);
}
#endif

/* --- worlds ------------------------------------------------------------------------------------------------------- */

static char *folder, *world_path, *state_path, *record_path, *costs_path;

#define INERTIAL "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>"
#define SHAPE(shape) "<collision name='c'><geometry>" shape "</geometry></collision>"
#define BOX "<box><size>0.5 0.5 0.5</size></box>"
#define PLUGIN(name, more) "<plugin name='gz::sim::systems::" name "' filename='x'>" more "</plugin>"
#define MODEL(name, x, y, z, shape, more)                                                                              \
	"<model name='" name "'><pose>" #x " " #y " " #z " 0 0 0</pose><link name='l'>" INERTIAL SHAPE(                \
		shape) "</link>" more "</model>"

#define CREATED(shape) "<sdf version='1.9'>" MODEL("m", 0, 0, 0, shape, PLUGIN("VelocityControl", "")) "</sdf>"
static const struct {
	uint64_t step;
	const char *topic, *text;
} commands[] = {
	{2, "/shared", "linear: {x: 3}"},
	{3, "/model/chain/joint/j/0/cmd_pos", "data: 1"},
	{4, "/model/cart/cmd_vel", "linear: {x: 1}"},
	{10, "/world/w/create", "name: 'new' pose {position {x: -3 z: 2}} sdf: \"" CREATED(BOX) "\""},
	{11, "/world/w/create", "name: 'new' sdf: \"" CREATED(BOX) "\""},
	{12, "/world/w/create", "name: 'bad' sdf: \"<sdf version='1.9'><model name='m'><link/></model></sdf>\""},
	{12, "/world/w/create", "name: 'bad' sdf_filename: \"there/is/none.sdf\""},
	{13, "/world/w/create",
		"name: 'solid' pose {position {x: -3 y: 3 z: 2}} sdf: \"" CREATED(
			"<mesh><uri>models/shapes/block.obj</uri></mesh>") "\""},
	{14, "/world/w/create_multiple",
		"data {name: 'a' pose {position {x: 4 z: 3}} sdf: \"" CREATED(BOX) "\"} data {name: 'a'}"},
	{15, "/world/w/create", "name: 'file' pose {position {x: 14 z: 1}} sdf_filename: \"models/cart\""},
	{20, "/model/new/cmd_vel", "linear: {x: 1}"},
	{30, "/world/w/set_pose_vector",
		"pose {name: 'mover' position {x: 9 z: 0.3}} pose {name: 'far' position {x: 9 y: 1 z: 0.3}}"},
	{31, "/world/w/set_pose_vector", "pose {name: 'mover' position {x: 9 z: 0.3}} pose {name: 'nobody'}"},
	{40, "/world/w/remove", "name: 'new'"},
	{41, "/world/w/remove", "name: 'other'"},
	{42, "/shared", "linear: {x: 1}"},
	{43, "/world/w/remove", "name: 'solid'"},
	{50, "/world/w/level/set_performer", "data: 'load' size {x: 1}"},
	{55, "/world/w/set_physics", "max_step_size: 0.002 gravity {z: -5}"},
	{60, "/world/w/remove", "name: 'sun' type: LIGHT"},
	{70, "/world/w/reset_model", "name: 'mover'"},
	{80, "/world/w/control", "reset {all: true}"},
	{85, "/world/w/create", "name: 'late' pose {position {x: -3 z: 2}} sdf: \"" CREATED(BOX) "\""},
	{500, "/world/w/create", "name: 'never' sdf: \"" CREATED(BOX) "\""}, /* still waits at the end */
	{500, "/model/late/cmd_vel", "linear: {x: 1}"},
};

static void ignore_event(void *ctx, const struct troupe_event *event)
{
	(void)ctx, (void)event;
}

static void ignore_text(void *ctx, const char *text)
{
	(void)ctx, (void)text;
}

static void ignore_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx, (void)reply;
}

static void ignore_snapshot(void *ctx, const struct troupe_snapshot *snapshot)
{
	(void)ctx, (void)snapshot;
}

static struct troupe_server_def definition(int secondaries)
{
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = world_path;
	def.world_text = named_world("everything", NULL);
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_event = ignore_event;
	def.on_warning = ignore_text;
	def.on_note = ignore_text;
	def.on_reply = ignore_reply;
	return def;
}

static void give_all(struct troupe_server *server)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		(void)troupe_server_command(server, commands[i].step, commands[i].topic, commands[i].text, NULL);
	/* refused at once */
	check(troupe_server_command(server, 0, "/shared", "linear {", NULL) != TROUPE_OK, "a bad message is refused");
	check(troupe_server_command(server, 0, "/world/w/create_multiple", "data {sdf: 'x'} data {", NULL) != TROUPE_OK,
		"... and a bad list");
}

static void run(struct troupe_server *server, uint64_t steps)
{
	struct troupe_limits limits = {.iterations = steps};
	struct troupe_error error;
	or_die(troupe_server_run(server, &limits, &error), &error);
	troupe_server_snapshot(server, ignore_snapshot, NULL);
	struct troupe_report *report = troupe_server_report(server);
	free(troupe_report_json(report));
	troupe_report_free(report);
}

/* --- lives -------------------------------------------------------------------------------------------------------- */

static void live(struct troupe_server_def def)
{
	struct troupe_server *server;
	struct troupe_error error;
	or_die(troupe_server_create(&def, &server, &error), &error);
	give_all(server);
	run(server, 25);
	or_die(troupe_server_save(server, state_path, &error), &error);
	run(server, STEPS);
	if (def.record_path)
		or_die(troupe_server_end_recording(server, &error), &error);
	troupe_server_destroy(server);
}

static void alone(void)
{
	live(definition(0));
}

static void together(void)
{
	struct troupe_server_def def = definition(3);
	def.chaos = true;
	def.chaos_moves = 2;
	def.distribution = "balanced";
	live(def);
}

static void resumed(void)
{
	struct troupe_server_def def = definition(2);
	struct troupe_server *server;
	struct troupe_error error;
	def.world_path = def.world_text = NULL;
	def.resume_path = state_path;
	or_die(troupe_server_create(&def, &server, &error), &error);
	run(server, STEPS);
	troupe_server_destroy(server);
}

static void recorded(void)
{
	struct troupe_server_def def = definition(1);
	struct troupe_replay replay;
	struct troupe_error error;
	def.record_path = record_path;
	def.record_every = 20;
	def.costs_path = costs_path;
	def.costs_every = 20;
	live(def);
	struct troupe_server_def again = troupe_server_def_default();
	again.resume_path = record_path;
	again.secondaries = 2;
	or_die(troupe_replay_run(&again, 0, &replay, &error), &error);
	check(replay.end == TROUPE_REPLAY_WHOLE, "the recording is replayed");
	or_die(troupe_replay_run(&again, 50, &replay, &error), &error);
}

struct joined { /* a secondary with a thread of its own; only the main thread counts checks */
	struct troupe_secondary *secondary;
	troupe_status status;
	struct troupe_error error;
};

static void *be_secondary(void *arg)
{
	struct joined *joined = arg;
	joined->status = troupe_secondary_run(joined->secondary, &joined->error);
	return NULL;
}

/* As over a network, but both ends are in this process. */
static void over_sockets(void)
{
	enum { SECONDARIES = 2 };
	int ends[SECONDARIES][2], ours[SECONDARIES];
	struct joined joined[SECONDARIES] = {0};
	pthread_t threads[SECONDARIES];
	struct troupe_error error;
	for (int i = 0; i < SECONDARIES; i++) {
		or_die(troupe_network_pair(ends[i], &error), &error);
		ours[i] = ends[i][0];
		const struct troupe_network network = {.sockets = &ends[i][1], .stale_ms = 60000};
		const struct troupe_secondary_def def = {.network = &network, .on_note = ignore_text};
		or_die(troupe_secondary_create(&def, &joined[i].secondary, &error), &error);
		if (pthread_create(&threads[i], NULL, be_secondary, &joined[i]))
			abort();
	}
	const struct troupe_network network = {.secondaries = SECONDARIES, .sockets = ours, .stale_ms = 60000};
	struct troupe_server_def def = definition(SECONDARIES);
	def.network = &network;
	def.chaos = true;
	live(def);
	for (int i = 0; i < SECONDARIES; i++) {
		pthread_join(threads[i], NULL);
		check(!joined[i].status, "a secondary: %s", joined[i].error.text);
		troupe_secondary_destroy(joined[i].secondary);
	}
}

/* --- gateways ----------------------------------------------------------------------------------------------------- */

/* Requests of one client: topics, services, and what is refused. Each ends with a request whose answer has the word. */
static const struct {
	const char *gateway, *protocol;
	const char *says[8];
	const char *word;
} visits[] = {
	{"foxglove", "Sec-WebSocket-Protocol: foxglove.sdk.v1\r\n",
		{"{\"op\":\"subscribe\",\"subscriptions\":[{\"id\":1,\"channelId\":1},{\"id\":2,\"channelId\":2},{"
		 "\"id\":3,"
		 "\"channelId\":3}]}",
			"{\"op\":\"advertise\",\"channels\":[{\"id\":4,\"topic\":\"/"
			"shared\",\"encoding\":\"json\"},{\"id\":5,"
			"\"topic\":\"/nothing\",\"encoding\":\"json\"}]}",
			"{\"op\":\"unsubscribe\",\"subscriptionIds\":[2,9]}", "[[[",
			"{\"op\":\"subscribeConnectionGraph\"}", "{\"op\":\"fetchAsset\",\"requestId\":1}",
			"{\"op\":\"last\"}"},
		"last: there is no such operation"},
	{"rosbridge", "",
		{"{\"op\":\"subscribe\",\"topic\":\"/clock\"}", "{\"op\":\"subscribe\",\"id\":\"x\",\"topic\":\"/tf\"}",
			"{\"op\":\"advertise\",\"topic\":\"/shared\",\"type\":\"geometry_msgs/msg/Twist\"}",
			"{\"op\":\"publish\",\"topic\":\"/shared\",\"msg\":{\"linear\":{\"x\":1}}}",
			"{\"op\":\"call_service\",\"id\":\"a\",\"service\":\"/get_entities\",\"args\":{}}", "[[[",
			"{\"op\":\"unsubscribe\",\"topic\":\"/tf\"}",
			"{\"op\":\"call_service\",\"id\":\"last\",\"service\":\"/rosapi/topics\"}"},
		"\"id\":\"last\""},
	{"ws", "",
		{"{\"op\":\"subscribe\",\"topic\":\"/clock\"}",
			"{\"op\":\"subscribe\",\"topic\":\"/world/w/pose/info\"}",
			"{\"op\":\"publish\",\"topic\":\"/shared\",\"message\":{\"linear\":{\"x\":1}}}", "[[[",
			"{\"op\":\"call\",\"id\":1,\"service\":\"/world/w/remove\",\"request\":{\"name\":\"nobody\"}}",
			"{\"op\":\"unsubscribe\",\"topic\":\"/clock\"}", "{\"op\":\"last\"}"},
		"'last'"},
};

/* Takes frames until one of text has the word. */
static void await_word(int file, const char *word)
{
	struct client_frame frame;
	bool found = false;
	while (!found && client_take(file, &frame)) {
		found = frame.kind == 1 && strstr(frame.body.at, word);
		text_fini(&frame.body);
	}
	check(found, "no answer with %s", word);
}

static int visit(const struct scene *scene, size_t which)
{
	int file = client_join(scene->port, "/", "localhost", visits[which].protocol);
	for (size_t i = 0; i < sizeof visits->says / sizeof *visits->says && visits[which].says[i]; i++)
		(void)client_say(file, "%s", visits[which].says[i]);
	await_word(file, visits[which].word);
	return file;
}

/* With a site whose pages may connect. */
static void serve_at(struct scene *scene, const char *name)
{
	static const struct troupe_gateway_setting settings[] = {
		{"origin", "https://one.example"}, {"insecure", "false"}};
	const struct troupe_gateway_def def = {.name = name,
		.address = "127.0.0.1:0",
		.settings = settings,
		.setting_count = sizeof settings / sizeof *settings,
		.server = scene->server};
	char address[200] = "";
	or_die(troupe_gateway_start(&def, &scene->gateway, &scene->error), &scene->error);
	troupe_gateway_describe(scene->gateway, address, sizeof address);
	scene_listen(scene, "ws", address);
}

/* The first client leaves; the second one of one gateway is still there at the end. */
static void served_by(size_t which)
{
	struct troupe_server_def def = definition(1);
	struct scene scene;
	def.rtf = 1;
	scene_create(&scene, &def);
	serve_at(&scene, visits[which].gateway);
	scene_start(&scene, scene_run, &scene);
	int first = visit(&scene, which), second = visit(&scene, which);
	close(first);
	if (which)
		close(second);
	scene_close(&scene, which % 2);
	if (!which)
		close(second);
}

static void served(void)
{
	for (size_t i = 0; i < sizeof visits / sizeof *visits; i++)
		if (troupe_gateway_is_available(visits[i].gateway))
			served_by(i);
}

/* --- what is refused ---------------------------------------------------------------------------------------------- */

static const char *const bad_worlds[] = {
	"",
	"<sdf version='1.9'><world name='w'><model></world></sdf>",
	"<sdf version='1.9'/>",
	"<sdf version='1.9'><world name='w'><model name='m'><link name='l'/><link name='l'/></model></world></sdf>",
	"<sdf version='1.9'><world name='w'><include><uri>there/is/none</uri></include></world></sdf>",
	"<sdf version='1.9'><world name='w'><model name='m'><link name='l'/><joint name='j' "
	"type='revolute'><parent>l</parent><child>x</child></joint></model></world></sdf>",
	"<sdf version='1.9'><world "
	"name='w'><include><uri>models/cart</uri><name>a</name></include><include><uri>models/cart</uri><name>a</"
	"name></include></world></sdf>",
	"<sdf version='1.9'><world name='w'><model name='m'><link name='l'/>" PLUGIN(
		"DiffDrive", "<left_joint>x</left_joint>") "</model></world></sdf>",
	"<sdf version='1.9'><world name='w'><model name='m'><link name='l'/>" PLUGIN(
		"VelocityControl", "<topic>/t</topic>") "</model>" MODEL("n", 0, 0, 0, BOX,
		PLUGIN("VelocityControl", "<initial_linear>x</initial_linear>")) "</world></sdf>",
	"<sdf version='1.9'><world name='w'><actor name='a'><script><trajectory "
	"id='0'/></script></actor></world></sdf>",
	"<sdf version='1.9'><world name='w'><plugin name='gz::sim' filename='x'><level "
	"name='l'><ref>x</ref></level></plugin></world></sdf>",
	"<sdf version='1.9'><world name='w'/><world name='w'/></sdf>",
};

static void refused(void)
{
	for (size_t i = 0; i < sizeof bad_worlds / sizeof *bad_worlds; i++) {
		struct troupe_server_def def = definition(2);
		struct troupe_server *server;
		def.world_text = bad_worlds[i];
		if (!troupe_server_create(&def, &server, NULL))
			troupe_server_destroy(server);
	}
	struct troupe_server_def def = definition(0);
	struct troupe_server *server;
	const char *const pins[] = {"nobody=1", NULL};
	def.pins = pins;
	check(troupe_server_create(&def, &server, NULL) != TROUPE_OK, "a pin of an unknown model is refused");
	def.pins = NULL;
	def.record_path = "/there/is/no/folder";
	check(troupe_server_create(&def, &server, NULL) != TROUPE_OK, "a recording that cannot be written is refused");
	def.record_path = NULL;
	def.costs_path = "/there/is/no/folder";
	check(troupe_server_create(&def, &server, NULL) != TROUPE_OK, "... and a table of costs");
}

/* A state with one word changed, and with a valid checksum. */
static void damaged(void)
{
	size_t bytes;
	char *state = NULL;
	struct troupe_error error;
	char *path = mem_printf("%s/damaged", folder);
	or_die(infile_read(state_path, 1 << 30, &state, &bytes, &error), &error);
	for (size_t at = 48; at + 8 < bytes; at += bytes / 13) {
		struct troupe_server_def def = troupe_server_def_default();
		struct troupe_server *server;
		FILE *file = fopen(path, "w");
		state[at] ^= 0x55;
		if (!file || fwrite(state, 1, bytes - at / 2, file) != bytes - at / 2 || fclose(file))
			abort();
		state[at] ^= 0x55;
		def.resume_path = path;
		if (!troupe_server_create(&def, &server, NULL))
			troupe_server_destroy(server);
	}
	unlink(path);
	free(path);
	free(state);
}

/* The work of `troupe check` and `troupe print`. */
static void printed(void)
{
	struct files files = {0};
	struct sdf_options options = {.use_environment = true, .files = &files};
	struct troupe_error error;
	struct sdf *sdf = NULL;
	struct text out = {0};
	const char *text = named_world("everything", NULL);
	or_die(sdf_load_text(text, strlen(text), world_path, &options, &sdf, &error), &error);
	sdf_print(sdf, &out);
	sdf_print_flat(sdf, &out);
	sdf_free(sdf);
	files_fini(&files);
	text_fini(&out);
}

int main(void)
{
	static const struct {
		const char *what;
		void (*live)(void);
	} lives[] = {{"alone", alone}, {"together", together}, {"resumed", resumed}, {"recorded", recorded},
		{"over sockets", over_sockets}, {"served", served}, {"refused", refused}, {"damaged", damaged},
		{"printed", printed}};
	const char *source = getenv("SOURCE_DIR"), *temporary = getenv("TMPDIR");
	folder = mem_printf("%s/troupe_leaks.XXXXXX", temporary ? temporary : "/tmp");
	world_path = mem_printf("%s/worlds/leaks.sdf", source ? source : ".");
	if (!mkdtemp(folder))
		return 1;
	state_path = mem_printf("%s/state", folder);
	record_path = mem_printf("%s/recording", folder);
	costs_path = mem_printf("%s/costs", folder);
	for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
		for (int k = 0; k < WARM; k++)
			lives[i].live();
		long pieces_before = pieces;
		int files_before = open_files();
		for (int k = 0; k < REPEATS; k++)
			lives[i].live();
		long lost = pieces - pieces_before;
		/* a thread's stack, which may be used again, can keep a few pieces */
		check(lost < REPEATS, "%s: %ld pieces of memory are lost in %d lives", lives[i].what, lost, REPEATS);
		check(open_files() == files_before, "%s: %d files are left open", lives[i].what,
			open_files() - files_before);
	}
	const char *const made[] = {state_path, record_path, costs_path};
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		unlink(made[i]);
	rmdir(folder);
	return check_totals();
}
