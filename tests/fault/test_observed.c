/* Observed contacts, efforts and forces of each step have the same bits for any number of secondaries, with forced
 * moves, after a resume, in windows of several steps, and for each transport. Observing changes no state. Runs some of
 * the worlds of tests/determinism/cases. */
#include "check.h"
#include "copies.h"

#include "../amount.h"
#include "cli/commands.h"
#include "run/primary_internal.h"

#include <troupe/network.h>

#include <inttypes.h>
#include <pthread.h>
#include <unistd.h>

enum { STEPS_MAX = 8000, TCP_SECONDARIES = 2, HANG_S = 300 };

struct run {
	struct troupe_server *server;
	uint64_t first, steps;          /* the run begins after `first` steps, and ends after `steps` */
	uint64_t notes[STEPS_MAX + 1];  /* [k] the hash of the observations after step k - 1, if a window ends there */
	bool ends[STEPS_MAX + 1];       /* [k] it does */
	uint64_t states[STEPS_MAX + 1]; /* [k] the hash of state k */
	/* sums over all steps; kept: contacts of models at rest; pressing: contacts with a force */
	uint64_t contacts, efforts, kept, pressing, reactions;
};

static const char *folder;

static char *in_folder(const char *name)
{
	return mem_printf("%s/worlds/%s", folder, name);
}

static uint64_t count_kept(const struct server_world *world)
{
	const struct primary *primary = world->primary;
	uint64_t kept = 0;
	for (uint32_t i = 0; i < primary->observed.contacts.count; i++) {
		const struct contact_note *note = &primary->observed.contacts.at[i];
		kept += primary_sleeps(primary, world->scene->geoms[note->geoms[0]].model) ||
			primary_sleeps(primary, world->scene->geoms[note->geoms[1]].model);
	}
	return kept;
}

static bool units(const contact_notes *contacts)
{
	bool all = true;
	for (uint32_t i = 0; i < contacts->count; i++)
		all = all && fabs(vec3_length(contacts->at[i].normal) - 1) < 1e-9;
	return all;
}

static void on_hash(void *ctx, uint64_t steps, uint64_t hash)
{
	struct run *run = ctx;
	const struct server_world *world = &run->server->worlds[0];
	const struct observed *observed = &world->primary->observed;
	run->states[steps] = hash;
	if (!world->primary->options.observe || primary_steps(world->primary) != steps)
		return;
	run->ends[steps] = true;
	run->notes[steps] = copies_observed(world->primary);
	run->contacts += observed->contacts.count;
	run->kept += count_kept(world);
	for (uint32_t j = 0; j < observed->room.joints; j++)
		run->efforts += observed->efforts[j][0] != 0 || observed->efforts[j][1] != 0;
	for (uint32_t j = 0; j < observed->room.joints; j++)
		run->reactions += observed->reactions[j].force.z != 0;
	for (uint32_t i = 0; i < observed->contacts.count; i++)
		run->pressing += vec3_length(observed->contacts.at[i].force) > 0;
	if (!units(&observed->contacts))
		check(false, "step %" PRIu64 ": a normal is not of unit length", steps);
}

static struct troupe_server_def define(struct run *run, uint64_t steps)
{
	struct troupe_server_def def = troupe_server_def_default();
	memset(run, 0, sizeof *run);
	run->steps = steps;
	def.pace = TROUPE_PACE_FACTOR;
	def.hash_every = 1;
	def.on_hash = on_hash;
	def.ctx = run;
	return def;
}

static void give_commands(struct run *run, const char *name)
{
	struct command_lines commands = {0};
	struct troupe_error error;
	char *path = name ? in_folder(name) : NULL;
	if (path) {
		copies_must(commands_read(path, &commands, &error), path, &error);
		copies_must(commands_queue(&commands, run->server, &error), path, &error);
	}
	commands_fini(&commands);
	free(path);
}

static void create(struct run *run, const struct troupe_server_def *def, const char *world, const char *commands)
{
	struct troupe_server_def own = *def;
	struct troupe_error error;
	char *path = in_folder(world);
	own.world_path = path;
	copies_must(troupe_server_create(&own, &run->server, &error), path, &error);
	give_commands(run, commands);
	free(path);
}

static void go(struct run *run, uint32_t observe)
{
	struct troupe_limits limits = {.iterations = run->steps};
	struct troupe_error error;
	run->server->worlds[0].primary->options.observe = observe;
	copies_must(troupe_server_run(run->server, &limits, &error), "a run", &error);
}

static void compare(const struct run *run, const struct run *reference, bool notes, const char *world, const char *what)
{
	uint64_t k = run->first + 1, ends = 0;
	for (; k <= run->steps; k++) {
		ends += run->ends[k];
		if (run->states[k] != reference->states[k] ||
			(notes && run->ends[k] && run->notes[k] != reference->notes[k]))
			break;
	}
	check(!notes || ends, "%s, %s: no window has ended", world, what);
	check(k > run->steps, "%s, %s: another %s after %" PRIu64 " steps", world, what,
		run->states[k] != reference->states[k] ? "state" : "list of contacts and efforts", k);
}

/* --- over TCP ----------------------------------------------------------------------------------------------------- */

static void *be_secondary(void *arg)
{
	struct troupe_error error;
	copies_must(troupe_secondary_run(arg, &error), "a secondary", &error);
	return NULL;
}

static void run_tcp(const char *world, const char *commands, const struct run *reference, uint64_t steps)
{
	static struct run run;
	struct troupe_server_def def = define(&run, steps);
	struct troupe_secondary *secondaries[TCP_SECONDARIES];
	pthread_t threads[TCP_SECONDARIES];
	struct troupe_error error;
	int sockets[TCP_SECONDARIES], ends[2];
	for (int i = 0; i < TCP_SECONDARIES; i++) {
		copies_must(troupe_network_pair(ends, &error), "a connection", &error);
		sockets[i] = ends[0];
		struct troupe_network network = {.sockets = &ends[1]};
		struct troupe_secondary_def secondary = {.network = &network};
		copies_must(troupe_secondary_create(&secondary, &secondaries[i], &error), "a secondary", &error);
		if (pthread_create(&threads[i], NULL, be_secondary, secondaries[i]))
			abort();
	}
	struct troupe_network network = {.secondaries = TCP_SECONDARIES, .sockets = sockets, .stale_ms = 60000};
	def.network = &network;
	create(&run, &def, world, commands);
	go(&run, OBSERVE_ALL);
	troupe_server_destroy(run.server);
	for (int i = 0; i < TCP_SECONDARIES; i++) {
		pthread_join(threads[i], NULL);
		troupe_secondary_destroy(secondaries[i]);
	}
	compare(&run, reference, true, world, "over TCP");
}

/* --- in one process ----------------------------------------------------------------------------------------------- */

static void run_here(const char *world, const char *commands, const struct run *reference, uint64_t steps,
	int secondaries, bool chaos)
{
	static struct run run;
	char what[64];
	struct troupe_server_def def = define(&run, steps);
	def.secondaries = secondaries;
	def.chaos = chaos;
	def.chaos_seed = 7;
	create(&run, &def, world, commands);
	go(&run, OBSERVE_ALL);
	troupe_server_destroy(run.server);
	(void)snprintf(what, sizeof what, "%d secondaries%s", secondaries, chaos ? ", forced moves" : "");
	compare(&run, reference, true, world, what);
}

/* Observing nothing costs nothing; observing begins in the middle of the run. */
static void run_unobserved(const char *world, const char *commands, const struct run *reference)
{
	static struct run run;
	struct troupe_server_def def = define(&run, reference->steps);
	def.secondaries = 2;
	create(&run, &def, world, commands);
	run.steps /= 2;
	go(&run, 0);
	check(!run.server->worlds[0].primary->observed.contacts.count, "contacts are observed without a request");
	run.steps = reference->steps;
	go(&run, OBSERVE_EFFORTS);
	check(!run.server->worlds[0].primary->observed.contacts.count,
		"contacts are observed when only efforts are requested");
	go(&run, 0);
	troupe_server_destroy(run.server);
	compare(&run, reference, false, world, "not observed");
}

static void run_resumed(const char *world, const char *commands, const struct run *reference)
{
	static struct run run;
	struct troupe_server_def def = define(&run, reference->steps / 2);
	struct text state = {0};
	struct troupe_error error;
	def.secondaries = 2;
	create(&run, &def, world, commands);
	go(&run, OBSERVE_ALL);
	copies_pack(run.server, &state);
	troupe_server_destroy(run.server);
	def = define(&run, reference->steps);
	run.first = reference->steps / 2;
	def.secondaries = 1;
	def.resume_path = "state";
	copies_must(server_create(&def, state.at, state.count, &run.server, &error), "a saved state", &error);
	check(copies_observed(run.server->worlds[0].primary) == reference->notes[run.first],
		"%s: other contacts and efforts in a saved state", world);
	go(&run, OBSERVE_ALL);
	troupe_server_destroy(run.server);
	compare(&run, reference, true, world, "resumed");
}

static void test(const char *world, const char *commands, uint64_t steps, bool joints, bool measured)
{
	static struct run reference;
	struct troupe_server_def def = define(&reference, amount_of_four(steps / 4, steps, STEPS_MAX / 2, STEPS_MAX));
	alarm(HANG_S);
	def.secondaries = 0;
	def.window = 1;
	create(&reference, &def, world, commands);
	go(&reference, OBSERVE_ALL);
	troupe_server_destroy(reference.server);
	printf("%-16s %5" PRIu64
	       " steps; in each on average %.1f contacts, %.1f of them at rest, %.1f joints that exert\n",
		world, reference.steps, (double)reference.contacts / (double)reference.steps,
		(double)reference.kept / (double)reference.steps, (double)reference.efforts / (double)reference.steps);
	check(reference.contacts > reference.steps && reference.pressing > reference.steps / 4 &&
			(!joints || reference.efforts > reference.steps / 2) &&
			(!measured || reference.reactions > reference.steps),
		"%s: little is observed", world);
	run_unobserved(world, commands, &reference);
	/* more threads than cores wait for each other for a long time */
	uint64_t some = amount_of_four(reference.steps, reference.steps / 4, reference.steps / 2, reference.steps);
	run_here(world, commands, &reference, reference.steps, 1, false);
	run_here(world, commands, &reference, reference.steps, 2, false);
	run_here(world, commands, &reference, some, 8, false);
	run_here(world, commands, &reference, some, 3, true);
	run_resumed(world, commands, &reference);
	run_tcp(world, commands, &reference, some);
}

int main(void)
{
	folder = getenv("SOURCE_DIR");
	if (!folder) {
		printf("SOURCE_DIR is not set\n0 passed, 1 failed\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	test("controllers.sdf", "controllers.commands", 1000, true, false);
	test("mechanisms.sdf", NULL, 1000, true, false);
	test("asleep.sdf", "asleep.commands", 2500, false, false);
	test("spawn.sdf", "spawn.commands", 1200, false, false);
	test("churn.sdf", "churn.commands", 800, false, false);
	test("crowd.sdf", "crowd.commands", 400, true, false);
	test("../tests/data/efforts.sdf", NULL, 4000, true, true);
	return check_totals();
}
