/* How many robots? A warehouse that grows with its robots (worlds/generate fleet): racks, totes, levels, and robots
 * with differential drives that follow a plan around each other, by feedback at 25 Hz. Measured are the real-time
 * factor and the processor time of a robot-step, beside that of a bare ODE loop over as many robots of the same kind;
 * memory; and messages, where a client takes the odometry and the frames of each robot at 50 Hz, and its sensors'
 * readings. The robots are driven through the library, from Python, and by barrier clients, whose states must be the
 * same; on one and two threads, and on two processes over TCP. Then come robots that are parked and asleep, in levels
 * that are loaded because of them; and what a fleet would cost on more machines (paper.h). */
#include "bench.h"
#include "fleet.h"
#include "paper.h"
#include "remote.h"
#include "robots.h"

#include <troupe/barrier.h>
#include <troupe/client.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPACING = 2, PERIODS = 6, WARM_PERIODS = 2 }; /* PERIODS: of control */

enum way { WAY_LIBRARY, WAY_TOPICS, WAY_TCP, WAY_BARRIER, WAY_PYTHON };

static const char *const ways[] = {"", ", topics taken", ", over tcp", ", by barrier clients", ", from Python"};

struct fleet_case {
	struct fleet_def def;
	enum way way;
	int secondaries;
	double rtf_at_least; /* the goal; 0: none */
};

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "bench_fleet: %s\n", what);
	exit(1);
}

static void must(troupe_status status, const struct troupe_error *error)
{
	if (status)
		give_up(error->text);
}

static double memory_kib(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	double whole, resident;
	if (!file || fscanf(file, "%lf %lf", &whole, &resident) != 2)
		give_up("/proc/self/statm cannot be read");
	(void)fclose(file);
	return (whole > 0 ? resident : 0) * (double)sysconf(_SC_PAGESIZE) / 1024;
}

/* --- a client that takes all ------------------------------------------------------------------------------------- */

struct taker {
	struct troupe_client *client;
	pthread_t thread;
	_Atomic bool stop;
	_Atomic uint64_t messages;
};

static void *take(void *ctx)
{
	struct taker *taker = ctx;
	struct troupe_message message;
	while (!atomic_load(&taker->stop))
		if (troupe_client_take(taker->client, 20000000, &message))
			atomic_fetch_add(&taker->messages, 1);
	return NULL;
}

/* Odometry and frames of each robot, and what its sensors publish. */
static void start_taking(struct taker *taker, struct troupe_server *server)
{
	const struct troupe_client_def def = {.depth = 1024};
	struct troupe_error error;
	must(troupe_client_create(server, &def, &taker->client, &error), &error);
	const struct troupe_topics *topics = troupe_topics_list(server);
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *t = &topics->at[i];
		const size_t length = strlen(t->name);
		bool sensed = strstr(t->name, "/sensor/");
		bool own = t->model && !strncmp(t->model, "robot_", 6) && length > 9 &&
			   (!strcmp(t->name + length - 9, "/odometry") || !strcmp(t->name + length - 3, "/tf"));
		if (t->kind == TROUPE_TOPIC_PUBLISHED && (sensed || own))
			must(troupe_client_subscribe(taker->client, t->name, 0, &error), &error);
	}
	troupe_topics_release(topics);
	if (pthread_create(&taker->thread, NULL, take, taker))
		give_up("no thread");
}

static void stop_taking(struct taker *taker)
{
	if (!taker->client)
		return;
	atomic_store(&taker->stop, true);
	pthread_join(taker->thread, NULL);
	troupe_client_destroy(taker->client);
}

/* --- barrier clients ---------------------------------------------------------------------------------------------- */

struct seat { /* of one robot's program, which takes part in the lockstep at each period of control. Between two steps,
	       * and on their thread, it reads the pose from the server: its states are those of the other ways. */
	struct fleet_driver *driver;
	struct troupe_server *server;
	struct troupe_client *client;
	uint32_t robot;
	char topic[64];
};

static void seat_begin(void *ctx, const struct troupe_barrier *barrier)
{
	struct seat *seat = ctx;
	struct troupe_model_state state;
	struct troupe_error error;
	/* gz.msgs.Twist: linear {x}, angular {z} */
	unsigned char bytes[22] = {2 << 3 | 2, 9, 2 << 3 | 1, [11] = 3 << 3 | 2, 9, 4 << 3 | 1};
	if (!troupe_get_model(seat->server, seat->driver->models[seat->robot], &state))
		give_up("a robot is not there");
	struct troupe_twist twist = fleet_follow(seat->driver, seat->robot, (double)(barrier->time_ns / 1000000) / 1000,
		state.pose.x, state.pose.y, 2 * atan2(state.pose.qz, state.pose.qw));
	memcpy(bytes + 3, &twist.linear.x, 8);
	memcpy(bytes + 14, &twist.angular.z, 8);
	must(troupe_client_publish(seat->client, NULL, seat->topic, NULL, bytes, sizeof bytes, NULL, &error), &error);
}

static troupe_answer seat_poll(
	void *ctx, const struct troupe_barrier *barrier, uint64_t wait_ns, struct troupe_error *error)
{
	(void)ctx, (void)barrier, (void)wait_ns, (void)error;
	return TROUPE_ANSWER_DONE;
}

static void seat_out(void *ctx, const struct troupe_error *why)
{
	(void)ctx, (void)why;
}

static struct seat *take_seats(struct fleet_driver *driver, struct troupe_server *server)
{
	static const struct troupe_barrier_ops ops = {seat_begin, seat_poll, seat_out};
	const struct troupe_client_def def = {.depth = 1024};
	struct seat *seats = calloc(driver->fleet->def.robots, sizeof *seats);
	struct troupe_error error;
	for (uint32_t i = 0; seats && i < driver->fleet->def.robots; i++) {
		char name[24];
		(void)snprintf(name, sizeof name, "robot_%u", i);
		seats[i] = (struct seat){.driver = driver, .server = server, .robot = i};
		(void)snprintf(seats[i].topic, sizeof seats[i].topic, "/model/%s/cmd_vel", name);
		must(troupe_client_create(server, &def, &seats[i].client, &error), &error);
		const struct troupe_join join = {
			.name = name, .period_ns = FLEET_CONTROL_MS * UINT64_C(1000000), .ops = &ops, .ctx = &seats[i]};
		must(troupe_client_join(seats[i].client, &join, &error), &error);
	}
	return seats;
}

/* --- from Python -------------------------------------------------------------------------------------------------- */

struct python {
	pid_t process;
	FILE *to, *from;
};

static struct python start_python(const struct fleet *fleet, int secondaries)
{
	int to[2], from[2];
	char numbers[4][24];
	struct python python;
	if (pipe(to) || pipe(from))
		give_up("no pipe");
	(void)snprintf(numbers[0], sizeof numbers[0], "%zu", strlen(fleet->world));
	(void)snprintf(numbers[1], sizeof numbers[1], "%u", fleet->def.robots);
	(void)snprintf(numbers[2], sizeof numbers[2], "%u", fleet->def.step_ms);
	(void)snprintf(numbers[3], sizeof numbers[3], "%d", secondaries);
	fflush(NULL);
	python.process = fork();
	if (!python.process) {
		(void)dup2(to[0], STDIN_FILENO);
		(void)dup2(from[1], STDOUT_FILENO);
		(void)close(to[1]);
		(void)close(from[0]);
		(void)setenv("PYTHONPATH", FLEET_PYTHONPATH, 1);
		(void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
		(void)execl(FLEET_PYTHON, FLEET_PYTHON, FLEET_SCRIPT, fleet->plan_path, numbers[0], numbers[1],
			numbers[2], numbers[3], (char *)NULL);
		_exit(127);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	python.to = fdopen(to[1], "w");
	python.from = fdopen(from[0], "r");
	if (python.process < 0 || !python.to || !python.from || fputs(fleet->world, python.to) < 0 || fflush(python.to))
		give_up("Python cannot be started");
	return python;
}

/* Returns the real time in ns, and the processor time of the process. */
static double python_turn(const struct python *python, uint64_t periods, double *ret_processor_ns, uint64_t *ret_hash)
{
	double ns = 0;
	if (fprintf(python->to, "%lu\n", (unsigned long)periods) < 0 || fflush(python->to) ||
		fscanf(python->from, "%lf %lf %lx", &ns, ret_processor_ns, (unsigned long *)ret_hash) != 3)
		give_up("bench_fleet.py has ended: its error stands above");
	return ns;
}

static void end_python(const struct python *python)
{
	int status = 0;
	(void)fclose(python->to);
	(void)fclose(python->from);
	if (waitpid(python->process, &status, 0) != python->process || status)
		give_up("bench_fleet.py has failed");
}

/* --- a case ------------------------------------------------------------------------------------------------------- */

struct subject {
	const struct fleet_case *what;
	struct fleet *fleet;
	struct troupe_server *server;
	struct remote remote;
	struct python python;
	struct fleet_driver driver;
	struct taker taker;
	struct seat *seats;
	uint64_t steps, hash;
	double begin_kib;
	struct bench_samples rtf, processor_us, bare_us, messages, kib;
};

static void subject_begin(struct subject *subject, const struct fleet_case *what)
{
	*subject = (struct subject){.what = what, .fleet = fleet_create(&what->def), .begin_kib = memory_kib()};
	struct troupe_server_def def = bench_def(subject->fleet->world, what->secondaries);
	def.sense_all = what->way != WAY_TOPICS;
	/* All commands are given between two runs of a period. */
	def.window = FLEET_CONTROL_MS / what->def.step_ms;
	if (what->way == WAY_PYTHON) {
		subject->python = start_python(subject->fleet, what->secondaries);
		return;
	}
	if (what->way == WAY_TCP) {
		subject->remote = remote_start(&(struct remote_def){
			.world = subject->fleet->world, .secondaries = what->secondaries, .threads = 1});
		subject->server = subject->remote.server;
	} else {
		subject->server = bench_create(&def);
	}
	subject->driver = fleet_driver_create(subject->fleet, subject->server);
	if (what->way == WAY_TOPICS)
		start_taking(&subject->taker, subject->server);
	if (what->way == WAY_BARRIER)
		subject->seats = take_seats(&subject->driver, subject->server);
}

static void subject_end(struct subject *subject)
{
	const uint32_t robots = subject->fleet->def.robots;
	stop_taking(&subject->taker);
	for (uint32_t i = 0; subject->seats && i < robots; i++)
		troupe_client_destroy(subject->seats[i].client);
	free(subject->seats);
	if (subject->what->way == WAY_PYTHON)
		end_python(&subject->python);
	else if (subject->what->way == WAY_TCP)
		remote_end(&subject->remote);
	else
		troupe_server_destroy(subject->server);
	fleet_driver_destroy(&subject->driver);
	fleet_destroy(subject->fleet);
}

/* Takes so many periods of control. Returns the real time in ns. */
static double subject_run(struct subject *subject, uint64_t periods, double *ret_processor_ns)
{
	const uint32_t step_ms = subject->what->def.step_ms;
	const uint64_t steps = FLEET_CONTROL_MS / step_ms, begin = bench_now_ns();
	const double processor = bench_processor_ns();
	if (subject->what->way == WAY_PYTHON)
		return python_turn(&subject->python, periods, ret_processor_ns, &subject->hash);
	for (uint64_t i = 0; i < periods; i++) {
		if (!subject->seats)
			fleet_drive(&subject->driver, subject->server, (double)(subject->steps * step_ms) / 1000);
		(void)bench_run(subject->server, subject->steps += steps);
	}
	*ret_processor_ns = bench_processor_ns() - processor;
	subject->hash = troupe_server_hash(subject->server);
	return (double)(bench_now_ns() - begin);
}

/* us of a robot-step of the bare loop. */
static double bare_us(struct bare *bare, uint32_t robots)
{
	const int steps = robots > 1000 ? 4 : (int)(4000 / robots) + 1;
	double begin = bench_processor_ns();
	for (int i = 0; i < steps; i++)
		bare_step(bare, 0, (int)robots);
	return (bench_processor_ns() - begin) / 1000 / steps / robots;
}

static void subject_measure(struct subject *subject, struct bare *bare, bool smoke)
{
	const struct fleet_def *def = &subject->what->def;
	const uint64_t most = smoke ? 2 : 3 * PERIODS, periods = def->robots >= 10000 && !smoke ? PERIODS : most;
	double processor_ns, simulated_ns = (double)periods * FLEET_CONTROL_MS * 1e6;
	double robot_steps = (double)periods * FLEET_CONTROL_MS / def->step_ms * def->robots;
	uint64_t before = atomic_load(&subject->taker.messages);
	double ns = subject_run(subject, periods, &processor_ns);
	bench_add(&subject->rtf, simulated_ns / ns);
	bench_add(&subject->processor_us, processor_ns / 1000 / robot_steps);
	bench_add(&subject->bare_us, bare_us(bare, def->robots));
	bench_add(&subject->messages,
		(double)(atomic_load(&subject->taker.messages) - before) / simulated_ns * 1e9 / def->robots);
	bench_add(&subject->kib, (memory_kib() - subject->begin_kib) / def->robots);
}

static void subject_print(const struct bench_options *options, const struct subject *subject)
{
	const struct fleet_case *what = subject->what;
	char subject_name[100], detail[120];
	(void)snprintf(subject_name, sizeof subject_name, "%u robots, %s, %u ms, on %d%s", what->def.robots,
		what->def.sensors, what->def.step_ms, what->secondaries ? what->secondaries : 1, ways[what->way]);
	bench_print(options, &(struct bench_row){.subject = subject_name,
				     .unit = "RTF",
				     .values = &subject->rtf,
				     .at_least = what->rtf_at_least,
				     .hash = subject->hash});
	(void)snprintf(detail, sizeof detail, "  %s: processor", subject_name);
	if (what->way != WAY_TCP)
		bench_print(options, &(struct bench_row){.subject = detail,
					     .unit = "us/robot-step",
					     .values = &subject->processor_us,
					     .baselines = &subject->bare_us});
	(void)snprintf(detail, sizeof detail, "  %s: memory", subject_name);
	if (what->way == WAY_LIBRARY)
		bench_print(
			options, &(struct bench_row){.subject = detail, .unit = "KiB/robot", .values = &subject->kib});
	(void)snprintf(detail, sizeof detail, "  %s: messages", subject_name);
	if (what->way == WAY_TOPICS)
		bench_print(options,
			&(struct bench_row){
				.subject = detail, .unit = "a robot and second", .values = &subject->messages});
}

/* Returns the hash. */
static uint64_t measure(const struct bench_options *options, const struct fleet_case *what)
{
	static struct subject subject;
	double processor_ns;
	subject_begin(&subject, what);
	struct bare *bare = bare_create(BARE_MANY_WORLDS, (int)what->def.robots, SPACING);
	bench_progress(options, "fleet", -1);
	(void)subject_run(&subject, WARM_PERIODS, &processor_ns);
	(void)bare_us(bare, what->def.robots);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, "fleet", r);
		subject_measure(&subject, bare, options->smoke);
	}
	subject_print(options, &subject);
	uint64_t hash = subject.hash;
	bare_destroy(bare);
	subject_end(&subject);
	return hash;
}

/* --- parked robots ------------------------------------------------------------------------------------------------ */

/* Robots that stand in depots, each a level that is loaded because they stand in it. */
static void measure_parked(const struct bench_options *options, uint32_t robots)
{
	const struct fleet_def def = {
		.parked = robots, .depots = robots / 10, .sensors = "none", .step_ms = 4, .seconds = 1};
	enum { ASLEEP_AFTER = 200 }; /* steps */
	struct fleet *fleet = fleet_create(&def);
	struct bench_samples loading = {0}, kib = {0}, ns = {0};
	char subject[80];
	double before_kib = memory_kib();
	uint64_t begin = bench_now_ns(), until = 1, steps = options->smoke ? 10 : 500;
	struct troupe_server *server = bench_server(fleet->world, 0);
	(void)bench_run(server, until);
	bench_add(&loading, (double)(bench_now_ns() - begin) * 1e-9);
	bench_add(&kib, (memory_kib() - before_kib) / robots);
	(void)bench_run(server, until += ASLEEP_AFTER);
	for (int r = 0; r < options->repeats; r++) {
		double processor = bench_processor_ns();
		(void)bench_run(server, until += steps);
		bench_add(&ns, (bench_processor_ns() - processor) / (double)steps / robots);
	}
	(void)snprintf(
		subject, sizeof subject, "%u parked robots, %u levels: until the first step", robots, def.depots);
	bench_print(options, &(struct bench_row){.subject = subject, .unit = "s", .values = &loading, .at_most = 10});
	(void)snprintf(subject, sizeof subject, "  %u parked robots: memory", robots);
	bench_print(options, &(struct bench_row){.subject = subject, .unit = "KiB/robot", .values = &kib});
	(void)snprintf(subject, sizeof subject, "  %u parked robots: processor, asleep", robots);
	bench_print(options, &(struct bench_row){.subject = subject,
				     .unit = "ns/robot-step",
				     .values = &ns,
				     .hash = troupe_server_hash(server)});
	troupe_server_destroy(server);
	fleet_destroy(fleet);
}

/* --- more machines ------------------------------------------------------------------------------------------------ */

static void all_ahead(struct troupe_server *server)
{
	const struct troupe_twist ahead = {{1, 0, 0}, {0, 0, 0}};
	struct troupe_error error;
	char name[24] = "robot_0";
	troupe_model model;
	for (uint32_t i = 0; (model = troupe_find_model(server, 0, name)).born; i++) {
		must(troupe_command_twist(server, NULL, model, &ahead, NULL, &error), &error);
		(void)snprintf(name, sizeof name, "robot_%u", i + 1);
	}
}

static void measure_paper(const struct bench_options *options, uint32_t robots)
{
	const struct fleet_def def = {.robots = robots, .sensors = "none", .step_ms = 4, .seconds = 1};
	struct fleet *fleet = fleet_create(&def);
	char name[40];
	(void)snprintf(name, sizeof name, "fleet of %u, ahead", robots);
	struct paper_world world = {
		.name = name, .text = fleet->world, .command = all_ahead, .begin = 10, .steps = 100, .most = 64};
	if (options->smoke)
		world.steps = 10, world.most = 2;
	paper_print(options, &world);
	fleet_destroy(fleet);
}

/* The chart is made of these rows: fleet_chart. */
static void measure_sizes(const struct bench_options *options)
{
	static const struct {
		const char *sensors;
		uint32_t most;
	} kinds[] = {{"none", 10000}, {"lidar", 10000}, {"camera", 100}};
	for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
		for (uint32_t robots = 1; robots <= (options->smoke ? 10 : kinds[k].most); robots *= 10) {
			const struct fleet_case what = {
				{.robots = robots, .sensors = kinds[k].sensors, .step_ms = 4, .seconds = 60},
				WAY_LIBRARY, 0, 0};
			(void)measure(options, &what);
		}
}

/* Other steps, ways and numbers of threads. Whatever the way, the states are the same. */
static void measure_ways(const struct bench_options *options, uint32_t robots)
{
	const struct fleet_def plain = {.robots = robots, .sensors = "none", .step_ms = 4, .seconds = 60};
	const bool judged = robots == 1000;
	struct fleet_case what = {.def = plain, .way = WAY_LIBRARY, .secondaries = 2, .rtf_at_least = judged ? 4 : 0};
	const uint64_t hash = measure(options, &what);
	what.rtf_at_least = 0;
	for (what.way = WAY_TOPICS; what.way <= WAY_PYTHON; what.way++)
		if ((what.way != WAY_BARRIER || robots <= TROUPE_BARRIER_CLIENTS_MAX) &&
			measure(options, &what) != hash)
			give_up("two ways to drive the same robots have different states");
	what.way = WAY_LIBRARY;
	what.def.sensors = "lidar", what.rtf_at_least = judged ? 1 : 0;
	(void)measure(options, &what);
	what.def = plain, what.rtf_at_least = 0, what.def.step_ms = 1;
	(void)measure(options, &what);
	what.def.step_ms = 10;
	(void)measure(options, &what);
	what.def.robots = robots * 10, what.rtf_at_least = judged ? 1 : 0;
	(void)measure(options, &what);
}

int main(int argc, char **argv)
{
	remote_main(argc, argv);
	struct bench_options options = bench_parse(argc, argv,
		"bench_fleet: fleets in a warehouse that grows with them; processor time: beside a bare ODE loop");
	const bool smoke = options.smoke;
	if (access(FLEET_PYTHON, X_OK)) {
		printf("skipped: no python3, which makes the worlds\n");
		return 0;
	}
	measure_sizes(&options);
	measure_ways(&options, smoke ? 10 : 100);
	measure_ways(&options, smoke ? 4 : 1000);
	measure_parked(&options, smoke ? 100 : 10000);
	if (!smoke)
		measure_parked(&options, 100000);
	measure_paper(&options, smoke ? 8 : 1000);
	return 0;
}
