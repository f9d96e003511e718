/* Playing a recording for clients: the time line of a recording that does not begin at 0; jumps; playing at a pace that
 * neither a jump nor a rest changes; the end; a recording that is not what was simulated; moves and contacts are found,
 * the same ones forward and back, and marked. Times are only compared with the least that they can be, so a busy
 * machine makes nothing fail. */
#include "clients.h"

#include "base/clock.h"
#include "gateway/play.h"
#include "server/record.h"

#include <troupe/record.h>

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

TestSuite(play, .fini = clients_end, .timeout = 120);

enum { FROM = 300, TO = 1500, STEP_NS = 1000000, SOON_MS = 30000 };

#define TAPE "/tmp/test_play.XXXXXX"
static char tape[] = TAPE;

struct shown_tape {
	struct play *play;
	pthread_t thread;
	_Atomic uint32_t servers; /* that took the place of another one */
};

/* A run that went on from a saved state. by_ode: for a rule of ODE that is to be broken. */
static void record(bool by_ode)
{
	char saved[] = "/tmp/test_play_state.XXXXXX";
	int files[] = {mkstemp(saved), mkstemp(tape)};
	for (int i = 0; i < 2; i++) {
		cr_assert_geq(files[i], 0);
		close(files[i]);
	}
	struct troupe_server_def begun = lib_def(lib_all, 1);
	begun.by_ode = by_ode;
	struct troupe_server *server = lib_create(&begun);
	lib_run(server, FROM);
	must(troupe_server_save(server, saved, &lib_error));
	lib_destroy(server);
	struct troupe_server_def def = lib_def(NULL, 1);
	def.world_path = NULL;
	def.resume_path = saved;
	def.record_path = tape;
	def.record_every = 20;
	server = lib_create(&def);
	lib_run(server, FROM + 200);
	for (enum troupe_member_change change = TROUPE_MEMBER_CAME; change <= TROUPE_MEMBER_LOST; change++)
		record_member(server,
			&(struct troupe_report_member){.change = change, .who = "secondary 2", .step = FROM + 200});
	lib_run(server, TO);
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	unlink(saved);
}

static void count_server(void *ctx, struct troupe_server *server)
{
	(void)server;
	atomic_fetch_add(&((struct shown_tape *)ctx)->servers, 1);
}

static void *run(void *play)
{
	play_run(play);
	return NULL;
}

static void open_tape(struct shown_tape *scene, const char *broken)
{
	struct troupe_server_def def = lib_def(NULL, 1);
	def.world_path = NULL;
	def.resume_path = tape;
	def.break_rule = broken;
	scene->servers = 0;
	record(broken);
	must(play_open(&def, count_server, scene, &scene->play, &lib_error));
}

static void start(struct shown_tape *scene)
{
	cr_assert(!pthread_create(&scene->thread, NULL, run, scene->play));
}

static void close_tape(struct shown_tape *scene, bool runs)
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

static struct play_state state_of(const struct shown_tape *scene)
{
	struct play_state state;
	play_state(scene->play, &state);
	return state;
}

/* Waits until it has no step to go to. */
static struct play_state arrive(const struct shown_tape *scene)
{
	for (int i = 0; i < SOON_MS && state_of(scene).seeking; i++)
		nap(1);
	return state_of(scene);
}

/* Waits until it has come to the step, or does not play any more. */
static struct play_state reach(const struct shown_tape *scene, uint64_t step)
{
	for (int i = 0; i < SOON_MS && state_of(scene).step < step && state_of(scene).playing; i++)
		nap(1);
	return state_of(scene);
}

Test(play, time_line)
{
	struct shown_tape scene;
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
	struct shown_tape scene;
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

/* Compares of hashes: from the number `hold_at` on they wait while `held`. */
static _Atomic uint32_t hash_count, hold_at;

static void wait_at_hash(void *ctx, uint64_t step, uint64_t hash)
{
	(void)ctx, (void)step, (void)hash;
	for (uint32_t count = atomic_fetch_add(&hash_count, 1) + 1; count >= atomic_load(&hold_at);)
		nap(1);
}

/* A jump back that is on its way: it has compared two hashes, and waits at the third. */
static void begin_long_jump(struct shown_tape *scene)
{
	hold_at = hash_count + 3;
	play_seek(scene->play, TO - 1);
	for (int i = 0; i < SOON_MS && hash_count < hold_at; i++)
		nap(1);
	struct play_state state = state_of(scene);
	cr_assert(state.seeking && state.step == TO, "step %lu", (unsigned long)state.step);
	cr_assert(state.reached > FROM && state.reached < TO - 200, "reached %lu", (unsigned long)state.reached);
}

/* A jump back that takes long is given up for another one, and at the end. */
Test(play, a_long_jump_is_given_up)
{
	struct shown_tape scene;
	struct troupe_server_def def = lib_def(NULL, 1);
	record(false);
	def.world_path = NULL;
	def.resume_path = tape;
	def.on_hash = wait_at_hash;
	hold_at = UINT32_MAX;
	must(play_open(&def, count_server, &scene, &scene.play, &lib_error));
	start(&scene);
	play_seek(scene.play, TO);
	cr_assert_eq(arrive(&scene).step, (uint64_t)TO);
	cr_assert_eq(state_of(&scene).reached, (uint64_t)TO);
	begin_long_jump(&scene);
	play_seek(scene.play, FROM + 30);
	uint32_t count = hash_count;
	hold_at = UINT32_MAX;
	cr_assert_eq(arrive(&scene).step, (uint64_t)FROM + 30);
	cr_assert_lt(hash_count - count, 10u, "%u more hashes", hash_count - count);
	play_seek(scene.play, TO);
	(void)arrive(&scene);
	begin_long_jump(&scene);
	play_stop(scene.play);
	count = hash_count;
	hold_at = UINT32_MAX;
	pthread_join(scene.thread, NULL);
	cr_assert_lt(hash_count - count, 10u, "%u more hashes", hash_count - count);
	close_tape(&scene, false);
}

/* Checks that so many steps take no less time than they have at this speed. */
static void expect_pace(const struct shown_tape *scene, uint64_t began_ns, uint64_t from, uint64_t steps, double speed)
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
	struct shown_tape scene;
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
	struct shown_tape scene;
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
	struct shown_tape scene;
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
	client_destroy(client);
	close_tape(&scene, false);
}

/* --- events ------------------------------------------------------------------------------------------------------- */

#define BOUNCE                                                                                                         \
	"<surface><bounce><restitution_coefficient>0.4</restitution_coefficient><threshold>0.01</threshold></bounce>"  \
	"</surface>"
#define BALL                                                                                                           \
	"<link name='l'><inertial><mass>1</mass><inertia><ixx>0.025</ixx><iyy>0.025</iyy><izz>0.025</izz></inertia>"   \
	"</inertial><collision name='c'><geometry><sphere><radius>0.25</radius></sphere></geometry>" BOUNCE            \
	"</collision></link>"
#define HARD_FLOOR                                                                                                     \
	"<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 1"   \
	"</normal></plane></geometry>" BOUNCE "</collision></link></model>"
#define DROP(name, x, z, parts) "<model name='" name "'><pose>" x " 0 " z " 0 0 0</pose>" parts "</model>"

enum { DROP_STEPS = 2500, EVENTS_MAX = 64, APART = 100 };

/* Two boxes that lie still; one that falls on another, and is simulated with it from then on; and a ball that leaves a
 * level and bounces, lower each time, until it never leaves the floor for longer than APART. */
static const char drops[] = "<sdf version='1.9'><world name='w'>" LIB_HEAD HARD_FLOOR DROP("a", "0", "0.25", LIB_BOX)
	DROP("b", "3", "0.25", LIB_BOX) DROP("over_b", "3", "2", LIB_BOX) DROP("ball", "-3", "3", BALL) DROP("shelf",
		"-3", "9",
		"<static>true</static><link name='l'/>") "<plugin name='gz::sim' filename='x'><performer "
							 "name='p'><ref>ball</ref><geometry><box><size>1 1 1"
							 "</size></box></geometry></performer><level "
							 "name='high'><ref>shelf</ref><pose>-3 0 4 0 0 0</pose>"
							 "<geometry><box><size>4 4 "
							 "2</size></box></geometry></level></plugin></world></sdf>";

struct events { /* of a run, by other means than those of the player */
	uint32_t move_count, contact_count;
	uint64_t moves[EVENTS_MAX], contacts[EVENTS_MAX];
	uint64_t touched[64]; /* by pair of models: the last step, from 1 */
	uint32_t short_count; /* touches that follow one of the same models after less than APART */
	uint64_t shorts[EVENTS_MAX];
};

static void note_move(void *ctx, const struct troupe_event *event)
{
	struct events *events = ctx;
	uint32_t count = events->move_count;
	bool counts = event->kind == TROUPE_EVENT_MOVE || event->kind == TROUPE_EVENT_UNLOAD ||
		      (event->kind == TROUPE_EVENT_LOAD && event->step);
	if (!counts || (count && events->moves[count - 1] == event->step + 1))
		return;
	cr_assert(count < EVENTS_MAX);
	events->moves[events->move_count++] = event->step + 1; /* the state that shows it */
}

static void note_contacts(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct events *events = ctx;
	bool begins = false;
	for (uint32_t i = 0; i < snapshot->contact_count; i++) {
		uint32_t pair = 0;
		for (uint32_t j = 0; j < 2; j++) {
			const struct troupe_scene *scene = snapshot->scene;
			uint32_t shape = snapshot->contacts[i].shapes[j];
			pair |= 1u << scene->links[scene->shapes[shape].link].model;
		}
		cr_assert_lt(pair, ARRAY_LEN(events->touched));
		uint64_t *last = &events->touched[pair];
		if (*last && snapshot->step - *last > 1 && snapshot->step - *last <= APART) {
			cr_assert(events->short_count < EVENTS_MAX);
			events->shorts[events->short_count++] = snapshot->step;
		}
		begins |= snapshot->step > 1 && (!*last || snapshot->step - *last > APART);
		*last = snapshot->step;
	}
	if (begins)
		events->contacts[events->contact_count++] = snapshot->step;
}

static void look(void *ctx, struct troupe_server *server, uint64_t step)
{
	(void)step;
	troupe_server_look(server, note_contacts, ctx);
}

/* padded: with a long command */
static void record_drops(struct events *ret_events, uint64_t every, bool padded)
{
	struct text command = {0};
	memcpy(tape, TAPE, sizeof tape); /* it may have been made before */
	int file = mkstemp(tape);
	cr_assert_geq(file, 0);
	close(file);
	struct troupe_server_def def = lib_def(drops, 2);
	*ret_events = (struct events){0};
	def.record_path = tape;
	def.record_every = every;
	def.observe = TROUPE_OBSERVE_CONTACTS;
	def.on_event = note_move;
	def.on_step = look;
	def.step_every = 1;
	def.ctx = ret_events;
	struct troupe_server *server = lib_create(&def);
	text_add(&command,
		"sdf: \"<sdf version='1.9'><!--%*s--><model name='pad'><static>true</static><link name='l'/>"
		"</model></sdf>\"",
		padded ? 1 << 16 : 1, "");
	lib_run(server, 2);
	must(troupe_server_command(server, 3, "/world/w/create", command.at, &lib_error)); /* not in the first state */
	text_fini(&command);
	lib_run(server, DROP_STEPS);
	must(troupe_server_end_recording(server, &lib_error));
	lib_destroy(server);
	cr_assert(ret_events->contact_count >= 4 && ret_events->short_count && ret_events->move_count >= 2,
		"%u contacts, %u of them short, %u moves", ret_events->contact_count, ret_events->short_count,
		ret_events->move_count);
}

static void open_recorded(struct shown_tape *scene)
{
	struct troupe_server_def def = lib_def(NULL, 2);
	def.world_path = NULL;
	def.resume_path = tape;
	scene->servers = 0;
	must(play_open(&def, count_server, scene, &scene->play, &lib_error));
	start(scene);
}

static void open_drops(struct shown_tape *scene, struct events *ret_events)
{
	record_drops(ret_events, 50, false);
	open_recorded(scene);
}

static void expect_found(struct shown_tape *scene, enum play_event event, bool back, uint64_t step)
{
	play_find(scene->play, event, back);
	struct play_state state = arrive(scene);
	cr_assert(state.step == step && !state.playing && !*state.text, "%s: step %lu, not %lu: %s",
		back ? "back" : "on", (unsigned long)state.step, (unsigned long)step, state.text);
}

static void expect_none(struct shown_tape *scene, enum play_event event, bool back, const char *text)
{
	struct play_state before = arrive(scene);
	play_find(scene->play, event, back);
	struct play_state state = arrive(scene);
	cr_assert(state.step == before.step && (text ? !strcmp(state.text, text) : *state.text != 0), "step %lu: '%s'",
		(unsigned long)state.step, state.text);
}

static void expect_all(struct shown_tape *scene, enum play_event event, const uint64_t *steps, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		expect_found(scene, event, false, steps[i]);
	for (uint32_t i = count - 1; i-- > 0;)
		expect_found(scene, event, true, steps[i]);
	for (uint32_t i = 0; i < count; i++) {
		play_seek(scene->play, steps[i] - 1);
		(void)arrive(scene);
		expect_found(scene, event, false, steps[i]);
		play_seek(scene->play, steps[i] + 1);
		(void)arrive(scene);
		expect_found(scene, event, true, steps[i]);
	}
}

Test(play, contacts_are_found)
{
	struct shown_tape scene;
	struct events events;
	char text[80];
	open_drops(&scene, &events);
	play_set_speed(scene.play, 1e-3);
	expect_none(&scene, PLAY_CONTACT, true, "before step 0 no contact begins");
	cr_assert(!state_of(&scene).playing, "a search stops it");
	play_set_speed(scene.play, 1e-3);
	expect_all(&scene, PLAY_CONTACT, events.contacts, events.contact_count);
	play_seek(scene.play, DROP_STEPS);
	(void)snprintf(text, sizeof text, "after step %d no contact begins", DROP_STEPS);
	expect_none(&scene, PLAY_CONTACT, false, text);
	expect_found(&scene, PLAY_CONTACT, true, events.contacts[events.contact_count - 1]);
	close_tape(&scene, true);
}

/* As open_drops(), but with one recorded state, at this step: a long command makes the recording so large that a state
 * pays. */
static void open_drops_at(struct shown_tape *scene, uint64_t state, struct events *ret_events)
{
	struct troupe_server_def def = lib_def(NULL, 2);
	struct troupe_player *player;
	record_drops(ret_events, state, true);
	def.world_path = NULL;
	def.resume_path = tape;
	must(troupe_player_open(&def, NULL, NULL, &player, &lib_error));
	cr_assert(troupe_player_start(player, state) == state && troupe_player_start(player, DROP_STEPS) == state);
	troupe_player_close(player);
	open_recorded(scene);
	play_seek(scene->play, state + 5);
	(void)arrive(scene);
	play_seek(scene->play, state); /* another server begins there */
	cr_assert(arrive(scene).step == state && scene->servers == 1);
}

/* The contacts before and after the step are those of the run. */
static void expect_nearest(struct shown_tape *scene, const struct events *events, uint64_t step)
{
	uint32_t before = 0, after = 0;
	while (before < events->contact_count && events->contacts[before] < step)
		before++;
	while (after < events->contact_count && events->contacts[after] <= step)
		after++;
	for (int back = 0; back < 2; back++) {
		play_seek(scene->play, step);
		(void)arrive(scene);
		if (back ? before > 0 : after < events->contact_count)
			expect_found(scene, PLAY_CONTACT, back, events->contacts[back ? before - 1 : after]);
		else
			expect_none(scene, PLAY_CONTACT, back, NULL);
	}
}

/* A recorded state has no contacts: a contact that begins just after it is found, and one that only goes on, after the
 * two were apart for some steps, is not. */
Test(play, contacts_beside_a_recorded_state)
{
	struct shown_tape scene;
	struct events events;
	record_drops(&events, 50, false);
	unlink(tape);
	cr_assert(events.contact_count >= 2 && events.short_count >= 1);
	const uint64_t steps[] = {events.contacts[1], events.shorts[0]};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		open_drops_at(&scene, steps[i] - 1, &events);
		for (uint64_t step = steps[i] - 3; step < steps[i] + 3; step++)
			expect_nearest(&scene, &events, step);
		expect_nearest(&scene, &events, steps[i] + APART + 20);
		close_tape(&scene, true);
	}
}

Test(play, moves_are_found)
{
	struct shown_tape scene;
	struct events events;
	open_drops(&scene, &events);
	expect_none(&scene, PLAY_MOVE, true, "before step 0 nothing moves or is loaded");
	expect_all(&scene, PLAY_MOVE, events.moves, events.move_count);
	/* another wish ends a search */
	for (uint64_t step = 0; step < DROP_STEPS; step += 50) {
		play_find(scene.play, PLAY_MOVE, step % 100);
		play_seek(scene.play, step);
	}
	cr_assert_eq(arrive(&scene).step, (uint64_t)DROP_STEPS - 50);
	close_tape(&scene, true);
}

/* The hash of a state that stays is that of a run. */
Test(play, the_hash_is_told)
{
	struct shown_tape scene;
	struct play_state state;
	open_tape(&scene, NULL);
	start(&scene);
	struct troupe_server *server = lib_server(lib_all, 0);
	for (uint64_t step = FROM; step <= TO; step += 150) {
		lib_run(server, step);
		play_seek(scene.play, step);
		for (int i = 0; i < SOON_MS && (state = state_of(&scene), !state.has_hash); i++)
			nap(1);
		cr_assert(state.has_hash && state.step == step && state.hash == troupe_server_hash(server), "step %lu",
			(unsigned long)step);
	}
	lib_destroy(server);
	play_set_speed(scene.play, 1e-5);
	cr_assert(!state_of(&scene).has_hash, "none while it plays");
	close_tape(&scene, true);
}

/* --- marks -------------------------------------------------------------------------------------------------------- */

struct seen {
	uint32_t commands, contacts;
	uint64_t steps[MARKS_MAX];
	char texts[MARKS_MAX][64], topic[64];
	uint64_t step; /* of the first command */
};

static void see_marks(void *ctx, const struct play_marks *marks)
{
	struct seen *seen = ctx;
	*seen = (struct seen){.commands = marks->commands.at.count, .contacts = marks->contacts.at.count};
	for (uint32_t i = 0; i < seen->contacts; i++) {
		seen->steps[i] = marks->contacts.at.at[i].step;
		(void)snprintf(seen->texts[i], sizeof seen->texts[i], "%s", marks->contacts.at.at[i].text);
	}
	if (seen->commands) {
		seen->step = marks->commands.at.at[0].step;
		(void)snprintf(seen->topic, sizeof seen->topic, "%s", marks->commands.at.at[0].text);
	}
}

static struct seen mark_all(struct shown_tape *scene, const char *model)
{
	struct seen seen;
	play_mark(scene->play, model);
	(void)arrive(scene);
	(void)play_marks(scene->play, 0, see_marks, &seen);
	return seen;
}

static void see_members(void *ctx, const struct play_marks *marks)
{
	bool *good = ctx;
	const struct mark *members = marks->members.at.at, *losses = marks->losses.at.at;
	*good = marks->members.at.count == 1 && members[0].step == FROM + 200 && members[0].count == 2 &&
		!strcmp(members[0].text, "secondary 2 came") && marks->losses.at.count == 1 &&
		losses[0].step == FROM + 200 && losses[0].count == 1 && !strcmp(losses[0].text, "secondary 2 lost");
}

/* Who came, left and was lost in the recorded run is in the recording. */
Test(play, members)
{
	struct shown_tape scene;
	bool good = false;
	open_tape(&scene, NULL);
	start(&scene);
	(void)play_marks(scene.play, 0, see_members, &good);
	cr_assert(good);
	close_tape(&scene, true);
}

/* text: "A, B" */
static bool names(const char *text, const char *model)
{
	const char *comma = strchr(text, ',');
	size_t count = strlen(model);
	return comma && (!strcmp(comma + 2, model) || ((size_t)(comma - text) == count && !memcmp(text, model, count)));
}

/* Commands are marked from the start, contacts when they are asked for: those that a search finds. */
Test(play, marks)
{
	struct shown_tape scene;
	struct events events;
	struct seen seen = {0};
	open_drops(&scene, &events);
	uint64_t version = play_marks(scene.play, 0, see_marks, &seen);
	cr_assert(seen.commands == 1 && seen.contacts == 0 && seen.step == 3 && !strcmp(seen.topic, "/world/w/create"),
		"%u commands, step %lu: %s", seen.commands, (unsigned long)seen.step, seen.topic);
	seen.commands = 77;
	cr_assert(play_marks(scene.play, version, see_marks, &seen) == version && seen.commands == 77);
	play_seek(scene.play, 100);
	(void)arrive(&scene);
	seen = mark_all(&scene, NULL);
	cr_assert_eq(state_of(&scene).step, 100u, "it comes back");
	cr_assert_eq(seen.contacts, events.contact_count, "%u marks: %lu: %s; %u contacts", seen.contacts,
		(unsigned long)seen.steps[0], seen.texts[0], events.contact_count);
	for (uint32_t i = 0; i < seen.contacts; i++)
		cr_assert_eq(seen.steps[i], events.contacts[i], "mark %u: step %lu", i, (unsigned long)seen.steps[i]);
	uint32_t named = 0;
	char first[64];
	(void)snprintf(first, sizeof first, "%.*s", (int)strcspn(seen.texts[0], ","), seen.texts[0]);
	for (uint32_t i = 0; i < seen.contacts; i++)
		named += names(seen.texts[i], first);
	cr_assert(named && named < seen.contacts);
	cr_assert_eq(mark_all(&scene, first).contacts, named, "those of %s", first);
	cr_assert_eq(mark_all(&scene, "nobody").contacts, 0u);
	cr_assert_gt(play_marks(scene.play, version, see_marks, &seen), version);
	/* another wish ends it */
	play_mark(scene.play, NULL);
	play_seek(scene.play, 7);
	cr_assert_eq(arrive(&scene).step, 7u);
	close_tape(&scene, true);
}

Test(play, marks_are_bounded)
{
	struct marks marks = {0};
	for (uint64_t step = 0; step < 100000; step += 10)
		for (int i = 0; i < 2; i++)
			marks_add(&marks, step, i || step ? "again" : "first");
	uint64_t count = 0, end = 0;
	cr_assert(marks.at.count > MARKS_MAX / 3 && marks.at.count <= MARKS_MAX, "%u", marks.at.count);
	for (uint32_t i = 0; i < marks.at.count; i++) {
		const struct mark *at = &marks.at.at[i];
		cr_assert(at->step <= at->last && (!i || at->step > end), "mark %u", i);
		count += at->count;
		end = at->last;
	}
	/* the same text at the same step is one event */
	cr_assert(count == 10001 && end == 99990 && !strcmp(marks.at.at[0].text, "first"), "%lu", (unsigned long)count);
	marks_clear(&marks);
	cr_assert_eq(marks.at.count, 0u);
}
