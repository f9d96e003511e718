/* Playing a recording for clients: the time line of a recording that does not begin at 0; jumps; playing at a pace that
 * neither a jump nor a rest changes; the end; a recording that is not what was simulated. Times are only compared with
 * the least that they can be, so a busy machine makes nothing fail. */
#include "clients.h"

#include "base/clock.h"
#include "gateway/play.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

TestSuite(play, .timeout = 120);

enum { FROM = 300, TO = 1500, STEP_NS = 1000000, SOON_MS = 30000 };

static char tape[] = "/tmp/test_play.XXXXXX";

struct scene {
	struct play *play;
	pthread_t thread;
	_Atomic uint32_t servers; /* that took the place of another one */
};

/* A run that went on from a saved state. */
static void record(void)
{
	char saved[] = "/tmp/test_play_state.XXXXXX";
	int files[] = {mkstemp(saved), mkstemp(tape)};
	for (int i = 0; i < 2; i++) {
		cr_assert_geq(files[i], 0);
		close(files[i]);
	}
	struct troupe_server *server = lib_server(lib_all, 1);
	lib_run(server, FROM);
	must(troupe_server_save(server, saved, &lib_error));
	troupe_server_destroy(server);
	struct troupe_server_def def = lib_def(NULL, 1);
	def.world_path = NULL;
	def.resume_path = saved;
	def.record_path = tape;
	def.record_every = 20;
	server = lib_create(&def);
	lib_run(server, TO);
	must(troupe_server_end_recording(server, &lib_error));
	troupe_server_destroy(server);
	unlink(saved);
}

static void count_server(void *ctx, struct troupe_server *server)
{
	(void)server;
	atomic_fetch_add(&((struct scene *)ctx)->servers, 1);
}

static void *run(void *play)
{
	play_run(play);
	return NULL;
}

static void open_tape(struct scene *scene, const char *broken)
{
	struct troupe_server_def def = lib_def(NULL, 1);
	def.world_path = NULL;
	def.resume_path = tape;
	def.break_rule = broken;
	scene->servers = 0;
	record();
	must(play_open(&def, count_server, scene, &scene->play, &lib_error));
}

static void start(struct scene *scene)
{
	cr_assert(!pthread_create(&scene->thread, NULL, run, scene->play));
}

static void close_tape(struct scene *scene, bool runs)
{
	play_stop(scene->play);
	if (runs)
		pthread_join(scene->thread, NULL);
	play_close(scene->play);
	unlink(tape);
}

static void nap(unsigned ms)
{
	clock_sleep_until_ns(clock_now_ns() + (uint64_t)ms * 1000000);
}

static struct play_state state_of(const struct scene *scene)
{
	struct play_state state;
	play_state(scene->play, &state);
	return state;
}

/* Waits until it has no step to go to. */
static struct play_state arrive(const struct scene *scene)
{
	for (int i = 0; i < SOON_MS && state_of(scene).seeking; i++)
		nap(1);
	return state_of(scene);
}

/* Waits until it has come to the step, or does not play any more. */
static struct play_state reach(const struct scene *scene, uint64_t step)
{
	for (int i = 0; i < SOON_MS && state_of(scene).step < step && state_of(scene).playing; i++)
		nap(1);
	return state_of(scene);
}

Test(play, time_line)
{
	struct scene scene;
	open_tape(&scene, NULL);
	struct play_state state = state_of(&scene);
	cr_assert(state.begin == FROM && state.end == TO && state.step == FROM);
	cr_assert(!state.playing && !state.seeking && !*state.text && state.speed == 1);
	cr_assert(play_server(scene.play) && scene.servers == 0);
	for (uint64_t step = FROM; step <= TO; step += TO - FROM)
		cr_assert_eq(play_time_ns(scene.play, step), step * STEP_NS);
	cr_assert_eq(play_step_at(scene.play, 0), (uint64_t)FROM);
	cr_assert_eq(play_step_at(scene.play, FROM * UINT64_C(1000000) - 1), (uint64_t)FROM);
	cr_assert_eq(play_step_at(scene.play, 700 * UINT64_C(1000000)), 700u);
	cr_assert_eq(play_step_at(scene.play, 700 * UINT64_C(1000000) - 1), 699u);
	cr_assert_eq(play_step_at(scene.play, UINT64_MAX), (uint64_t)TO);
	close_tape(&scene, false);
}

Test(play, jumps)
{
	static const struct {
		uint64_t wanted, shown;
		uint32_t servers; /* it takes for this jump */
	} jumps[] = {{900, 900, 0}, {400, 400, 1}, {0, FROM, 1}, {FROM, FROM, 0}, {TO + 1, TO, 0}, {TO - 1, TO - 1, 1}};
	struct scene scene;
	open_tape(&scene, NULL);
	play_seek(scene.play, 800);
	cr_assert(state_of(&scene).seeking, "a page sees at once that it is on its way");
	cr_assert_eq(state_of(&scene).step, (uint64_t)FROM);
	start(&scene);
	cr_assert_eq(arrive(&scene).step, 800u);
	for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
		uint32_t servers = scene.servers;
		play_seek(scene.play, jumps[i].wanted);
		struct play_state state = arrive(&scene);
		cr_assert(!state.seeking && state.step == jumps[i].shown, "jump %zu: step %lu", i,
			(unsigned long)state.step);
		cr_assert_eq(scene.servers - servers, jumps[i].servers, "jump %zu", i);
		cr_assert(!state.playing && !*state.text);
	}
	for (uint64_t step = TO; step > FROM; step -= 7) /* one upon another */
		play_seek(scene.play, step);
	play_seek(scene.play, 555);
	cr_assert_eq(arrive(&scene).step, 555u);
	close_tape(&scene, true);
}

/* Checks that so many steps take no less time than they have at this speed. */
static void expect_pace(const struct scene *scene, uint64_t began_ns, uint64_t from, uint64_t steps, double speed)
{
	struct play_state state = reach(scene, from + steps);
	double took_s = (double)(clock_now_ns() - began_ns) * 1e-9;
	cr_assert(state.step >= from + steps, "step %lu, not %lu: %s", (unsigned long)state.step,
		(unsigned long)(from + steps), state.text);
	cr_assert(took_s * speed >= (double)(state.step - from) * LIB_DT_S, "%lu steps in %g s at speed %g",
		(unsigned long)(state.step - from), took_s, speed);
}

Test(play, the_pace_is_kept)
{
	enum { SOME = 150, MARGIN_NS = 40000000 }; /* ms and steps: less than what is given up when it is late */
	struct scene scene;
	open_tape(&scene, NULL);
	start(&scene);
	uint64_t began_ns = clock_now_ns();
	play_set_speed(scene.play, 2);
	expect_pace(&scene, began_ns, FROM, 2 * SOME, 2);
	struct play_state state = state_of(&scene);
	cr_assert(state.playing && state.speed == 2);
	/* after a jump back the steps that were taken before it are not made up for */
	began_ns = clock_now_ns();
	play_seek(scene.play, FROM + SOME);
	while (state_of(&scene).seeking)
		nap(1);
	expect_pace(&scene, began_ns, FROM + SOME, SOME, 2);
	/* nor is a rest; a few steps may still be under way when it begins */
	play_set_speed(scene.play, 0);
	nap(SOME);
	state = state_of(&scene);
	cr_assert(!state.playing && state.speed == 2);
	began_ns = clock_now_ns() - MARGIN_NS;
	play_set_speed(scene.play, 2);
	expect_pace(&scene, began_ns, state.step, 2 * SOME, 2);
	/* another speed holds from now on */
	state = state_of(&scene);
	began_ns = clock_now_ns();
	play_control(scene.play, true, 0.5);
	expect_pace(&scene, began_ns - MARGIN_NS, state.step, SOME, 0.5);
	play_set_speed(scene.play, PLAY_SPEED_MAX);
	state = reach(&scene, TO);
	for (int i = 0; i < SOON_MS && state.playing; i++, nap(1))
		state = state_of(&scene);
	cr_assert(state.step == TO && !state.playing && !*state.text, "it plays to the end, and stops");
	play_control(scene.play, false, 3);
	cr_assert(!state_of(&scene).playing && state_of(&scene).speed == 3);
	close_tape(&scene, true);
}

/* What it shows is not what was recorded: it stops, and says why until it is asked for something else. */
Test(play, a_state_that_differs)
{
	struct scene scene;
	open_tape(&scene, "rotation");
	start(&scene);
	play_set_speed(scene.play, 100);
	struct play_state state = reach(&scene, TO);
	for (int i = 0; i < SOON_MS && state.playing; i++, nap(1))
		state = state_of(&scene);
	cr_assert(!state.playing && state.step < TO && strstr(state.text, "is not the recorded one"), "step %lu: '%s'",
		(unsigned long)state.step, state.text);
	play_seek(scene.play, state.step);
	cr_assert(!*arrive(&scene).text);
	play_seek(scene.play, TO);
	state = arrive(&scene);
	cr_assert(!state.seeking && state.step < TO && strstr(state.text, "is not the recorded one"));
	play_control(scene.play, false, 1);
	cr_assert(!*state_of(&scene).text);
	close_tape(&scene, true);
}

static double cpu_s(void)
{
	struct timespec used;
	cr_assert(!clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used));
	return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

/* Clients are answered while nothing plays, and between two steps; and it does not run round in circles. */
Test(play, clients_are_answered)
{
	struct scene scene;
	struct troupe_message message;
	open_tape(&scene, NULL);
	struct troupe_client *client = client_of(play_server(scene.play), 0);
	start(&scene);
	for (uint64_t tag = 1; tag <= 2; tag++) {
		bool answered = false;
		request(client, "/world/w/hash", "gz.msgs.Empty", "", tag);
		for (int i = 0; i < SOON_MS && !answered; i++, nap(1))
			answered = answer(client, tag, &message);
		cr_assert(answered, "request %lu", (unsigned long)tag);
		double before_s = cpu_s();
		nap(400);
		double used_s = cpu_s() - before_s;
		cr_assert_lt(used_s, 0.1, "%g s", used_s);
		play_set_speed(scene.play, 1e-5); /* the next step is due in 100 s */
	}
	cr_assert_eq(state_of(&scene).step, (uint64_t)FROM);
	play_stop(scene.play);
	pthread_join(scene.thread, NULL);
	troupe_client_destroy(client);
	close_tape(&scene, false);
}
