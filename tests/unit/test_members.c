/* A primary whose members change while it runs: all of them are threads of this process, and reach each other by way of
 * TCP. */
#include "library.h"

#include <troupe/standby.h>

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

TestSuite(members, .timeout = 120);

enum { MEMBERS_MAX = 6, STEPS = 2000, STALE_MS = 60000, FRAME_HEAD_BYTES = 5 };

static const char world[] =
	LIB_SDF(LIB_WORLD("w", LIB_CART("cart", "0 0 0 0 0 0") LIB_MODEL("one", "0 -3 0.25 0 0 0", LIB_BOX) LIB_MODEL(
				       "two", "3 0 2 0 0 0", LIB_BOX) LIB_MODEL("three", "6 1 4 0 0 0", LIB_BOX)));

struct notes { /* lines */
	pthread_mutex_t lock;
	char text[16384];
};

static void add_note(struct notes *notes, const char *text)
{
	pthread_mutex_lock(&notes->lock);
	size_t at = strlen(notes->text);
	(void)snprintf(notes->text + at, sizeof notes->text - at, "%s\n", text);
	pthread_mutex_unlock(&notes->lock);
}

static int times_said(struct notes *notes, const char *words)
{
	int count = 0;
	pthread_mutex_lock(&notes->lock);
	for (const char *at = notes->text; (at = strstr(at, words)); at++)
		count++;
	pthread_mutex_unlock(&notes->lock);
	return count;
}

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* --- members ------------------------------------------------------------------------------------------------------ */

struct member {
	struct troupe_secondary *secondary;
	pthread_t thread;
	struct notes notes;
	_Atomic uint32_t welcomes;
	troupe_status status;
	struct troupe_error error;
};

static void on_member_note(void *ctx, const char *text)
{
	struct member *member = ctx;
	add_note(&member->notes, text);
}

static void on_welcome(void *ctx, const char *address)
{
	struct member *member = ctx;
	(void)address;
	atomic_fetch_add(&member->welcomes, 1);
}

static void *be_member(void *arg)
{
	struct member *member = arg;
	member->status = troupe_secondary_run(member->secondary, &member->error);
	return NULL;
}

static void begin_member(struct member *member, const struct troupe_network *network)
{
	const struct troupe_secondary_def def = {
		.network = network, .threads = 1, .on_note = on_member_note, .on_welcome = on_welcome, .ctx = member};
	pthread_mutex_init(&member->notes.lock, NULL);
	must(troupe_secondary_create(&def, &member->secondary, &lib_error));
	cr_assert_eq(pthread_create(&member->thread, NULL, be_member, member), 0);
}

static void end_member(struct member *member)
{
	cr_assert_eq(pthread_join(member->thread, NULL), 0);
	cr_assert_eq(member->status, TROUPE_OK, "%s\n%s", member->error.text, member->notes.text);
	troupe_secondary_destroy(member->secondary);
}

/* --- the run ------------------------------------------------------------------------------------------------------ */

enum phase { /* what is waited for */
	START,
	THIRD_COMES,
	SECOND_LEAVES,
	FOURTH_COMES, /* in the place of the second */
	CLIENT_COMES,
	FIFTH_IS_REFUSED,
	CLIENT_LEAVES,
	OVER,
};

struct change {
	enum troupe_member_change kind;
	char who[160];
	uint64_t step;
};

struct run {
	struct notes notes;
	char address[64], partition[64];
	struct member members[MEMBERS_MAX];
	uint32_t begun;
	struct change changes[8];
	uint32_t change_count;
	enum phase phase;
	uint64_t next_step; /* when the next phase begins */
	uint64_t frames;    /* steps, each counted as often as there were secondaries */
};

static struct member *begin_next(struct run *run, const char *client, double wait_s)
{
	struct member *member = &run->members[run->begun++];
	begin_member(member,
		&(struct troupe_network){
			.address = run->address, .partition = run->partition, .client = client, .wait_s = wait_s});
	return member;
}

/* The first two come when the primary says where it is, one after the other. */
static void on_note(void *ctx, const char *text)
{
	struct run *run = ctx;
	const char *at = strstr(text, " at 127.0.0.1:");
	add_note(&run->notes, text);
	if (run->begun == 0 && at) {
		cr_assert_eq(sscanf(at, " at %63[^,]", run->address), 1);
		begin_next(run, NULL, 0);
	} else if (run->begun == 1) {
		begin_next(run, NULL, 0);
	}
}

static void on_change(void *ctx, const struct troupe_report_member *change)
{
	struct run *run = ctx;
	cr_assert_lt(run->change_count, 8);
	struct change *kept = &run->changes[run->change_count++];
	kept->kind = change->change;
	kept->step = change->step;
	(void)snprintf(kept->who, sizeof kept->who, "%s", change->who);
}

static void await_word(struct member *member, const char *words)
{
	while (!times_said(&member->notes, words))
		wait_a_little();
}

static void begin_phase(struct run *run, enum phase phase)
{
	run->phase = phase;
	if (phase == THIRD_COMES || phase == FOURTH_COMES)
		await_word(begin_next(run, NULL, 0), "comes again until it is let in");
	else if (phase == SECOND_LEAVES)
		troupe_secondary_stop(run->members[1].secondary);
	else if (phase == CLIENT_COMES)
		begin_next(run, "bot", 0);
	else if (phase == FIFTH_IS_REFUSED)
		cr_assert_eq(pthread_join(begin_next(run, NULL, 60)->thread, NULL), 0);
	else if (phase == CLIENT_LEAVES)
		troupe_secondary_stop(run->members[4].secondary);
}

static bool is_over(struct run *run)
{
	struct member *last = &run->members[run->begun - 1];
	if (run->phase == THIRD_COMES || run->phase == FOURTH_COMES || run->phase == CLIENT_COMES)
		return atomic_load(&last->welcomes) > 0;
	if (run->phase == SECOND_LEAVES || run->phase == CLIENT_LEAVES)
		return run->changes[run->change_count - 1].kind == TROUPE_MEMBER_LEFT;
	return true;
}

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct run *run = ctx;
	run->frames += troupe_server_secondaries(server, 0);
	if (run->phase == OVER)
		return;
	wait_a_little();
	if (!run->next_step && is_over(run))
		run->next_step = step + 10;
	if (run->next_step != step)
		return;
	run->next_step = 0;
	begin_phase(run, run->phase + 1);
}

/* --- what was said ------------------------------------------------------------------------------------------------ */

/* What stands between the two is another text each time. */
static void hide(char *text, const char *after, const char *before)
{
	for (char *at = text; (at = strstr(at, after));) {
		at += strlen(after);
		char *end = strstr(at, before);
		if (!end)
			return;
		memmove(at + 1, end, strlen(end) + 1);
		*at = '.';
	}
}

/* Ports are named a, b and so on, as they come. */
static void name_ports(char *text)
{
	static const char host[] = "127.0.0.1:";
	char ports[16][8] = {0};
	for (char *at = text; (at = strstr(at, host));) {
		char port[8];
		int i = 0;
		at += strlen(host);
		cr_assert_eq(sscanf(at, "%7[0-9]", port), 1);
		while (i < 15 && *ports[i] && strcmp(ports[i], port) != 0)
			i++;
		(void)snprintf(ports[i], sizeof ports[i], "%s", port);
		*at = (char)('a' + i);
		memmove(at + 1, at + strlen(port), strlen(at + strlen(port)) + 1);
	}
}

static void has_said(const char *who, struct notes *notes, const char *expected)
{
	char text[sizeof notes->text];
	(void)snprintf(text, sizeof text, "%s", notes->text);
	name_ports(text);
	hide(text, "machine only, ", ", without");
	hide(text, "still for ", " s");
	hide(text, "at step ", ":");
	hide(text, "(", " at ");
	hide(text, "at port ", " ");
	cr_assert_str_eq(text, expected, "%s\n%s", who, text);
}

#define AGAIN "the run gets other members: joining it again\n"
#define JOINED(number, of) "joined the primary (. at 127.0.0.1:a), as secondary " number " of " of "\n"
#define LOOKING "looking for a primary at 127.0.0.1:a, without a key, so only on this machine\n"
#define LATER                                                                                                          \
	"127.0.0.1:a turned this process away: it may come in with the next change of members; this process comes "    \
	"again until it is let in\n"
#define GETS(count) "the run gets other members: waiting for " count " secondaries\n"
#define GOES_ON(count) "the run goes on with " count " secondaries; it stood still for . s\n"

#define WAITS_FOR_TWO                                                                                                  \
	"waiting for 2 secondaries at 127.0.0.1:a, this machine only, ., without a key\n"                              \
	"secondary 1 of 2 joined from 127.0.0.1:b\n"                                                                   \
	"secondary 2 of 2 joined from 127.0.0.1:c\n"                                                                   \
	"2 secondaries ready: the run begins\n"

static void check_notes(struct run *run)
{
	has_said("the primary", &run->notes,
		WAITS_FOR_TWO GETS("3")                                                                     /* */
		"secondary 3 of 3 joined from 127.0.0.1:d\n" GOES_ON("3")                                   /* */
		"secondary 2 (. at 127.0.0.1:c) leaves at step .: the run goes on\n" GOES_ON("2") GETS("3") /* */
		"secondary 3 of 3 joined from 127.0.0.1:e\n" GOES_ON("3") GETS("4")                         /* */
		"client 'bot' joined as secondary 4 of 4, from 127.0.0.1:f\n" GOES_ON("4")                  /* */
		"client 'bot' is gone, its models are removed, and the run goes on: it was told to stop\n" GOES_ON(
			"3"));
	has_said("the first", &run->members[0].notes,
		LOOKING JOINED("1", "2") AGAIN JOINED("1", "3") AGAIN JOINED("1", "2") AGAIN JOINED("1", "3")
			AGAIN JOINED("1", "4") AGAIN JOINED("1", "3"));
	has_said("the second", &run->members[1].notes, LOOKING JOINED("2", "2") AGAIN JOINED("2", "3"));
	has_said("the third", &run->members[2].notes,
		LOOKING LATER JOINED("3", "3") AGAIN JOINED("2", "2") AGAIN JOINED("2", "3") AGAIN JOINED("2", "4")
			AGAIN JOINED("2", "3"));
	has_said("the fourth", &run->members[3].notes,
		LOOKING LATER JOINED("3", "3") AGAIN JOINED("3", "4") AGAIN JOINED("3", "3"));
	has_said("the client", &run->members[4].notes, LOOKING JOINED("4", "4"));
	has_said("the fifth", &run->members[5].notes, LOOKING);
	cr_assert_str_eq(strchr(run->members[5].error.text, ' '),
		" turned this process away: one too many: no further secondary may join; before the first step");
}

static void check_changes(const struct run *run, const struct troupe_report_network *network)
{
	static const struct {
		enum troupe_member_change kind;
		const char *who;
	} expected[] = {{TROUPE_MEMBER_CAME, "secondary 3 ("}, {TROUPE_MEMBER_LEFT, "secondary 2 ("},
		{TROUPE_MEMBER_CAME, "secondary 3 ("}, {TROUPE_MEMBER_LEFT, "bot ("}};
	cr_assert_eq(run->change_count, 4);
	cr_assert_eq(network->change_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct troupe_report_member *change = &network->changes[i];
		cr_assert_eq(run->changes[i].kind, expected[i].kind, "%u", i);
		cr_assert_eq(
			strstr(run->changes[i].who, expected[i].who), run->changes[i].who, "%s", run->changes[i].who);
		cr_assert_eq(change->change, run->changes[i].kind);
		cr_assert_str_eq(change->who, run->changes[i].who);
		cr_assert_eq(change->step, run->changes[i].step);
		cr_assert(!i || change->step > change[-1].step);
		cr_assert_eq(change->repeated_steps, 0);
		cr_assert(change->stood_still_s > 0 && change->stood_still_s < 60);
	}
}

/* --- a run without changes ---------------------------------------------------------------------------------------- */

static struct troupe_report_network with_two(void)
{
	struct member members[2] = {0};
	int ours[2], ends[2];
	for (int i = 0; i < 2; i++) {
		must(troupe_network_pair(ends, &lib_error));
		ours[i] = ends[0];
		begin_member(&members[i], &(struct troupe_network){.sockets = &ends[1]});
	}
	const struct troupe_network network = {.secondaries = 2, .sockets = ours, .stale_ms = STALE_MS};
	struct troupe_server_def def = lib_def(world, 2);
	def.network = &network;
	def.window = 1;
	struct troupe_server *server = lib_create(&def);
	lib_step(server, STEPS);
	struct troupe_report *report = troupe_server_report(server);
	struct troupe_report_network counts = report->worlds[0].network;
	troupe_report_free(report);
	lib_destroy(server);
	for (int i = 0; i < 2; i++)
		end_member(&members[i]);
	return counts;
}

static uint64_t hash_of_threads(void)
{
	struct troupe_server *server = lib_server(world, 2);
	lib_step(server, STEPS);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

/* Beside the payload of a step, its frame has a head. Each member that joins is sent the world, too, as in the run
 * without changes, where a machine with much to do sends a little more: it says that it lives. */
static void check_bytes(
	const struct run *run, const struct troupe_report_network *network, const struct troupe_report_network *fixed)
{
	const uint64_t heads = FRAME_HEAD_BYTES * (run->frames - 20),
		       joining = (fixed->bytes_sent - fixed->step_bytes - (uint64_t)2 * STEPS * FRAME_HEAD_BYTES) / 2;
	uint64_t joins = 0;
	for (uint32_t i = 0; i < run->begun; i++)
		joins += atomic_load(&run->members[i].welcomes);
	cr_assert_eq(joins, 2 + 3 + 2 + 3 + 4 + 3);
	cr_assert_geq(network->bytes_sent, network->step_bytes + heads + joining * joins / 2);
	cr_assert_geq(network->bytes_received, network->ack_bytes + heads);
}

static void check_counts(const struct run *run, const struct troupe_report_network *network)
{
	struct troupe_report_network fixed = with_two();
	cr_assert_eq(network->robot_steps, fixed.robot_steps, "%lu, %lu", (unsigned long)network->robot_steps,
		(unsigned long)fixed.robot_steps);
	check_bytes(run, network, &fixed);
	cr_assert_gt(network->step_bytes, fixed.step_bytes);
	cr_assert_gt(network->ack_bytes, fixed.ack_bytes);
	cr_assert_gt(network->largest_part_s, 0);
	cr_assert_eq(network->term, 1);
}

static void begin_run(struct run *run)
{
	pthread_mutex_init(&run->notes.lock, NULL);
	(void)snprintf(run->partition, sizeof run->partition, "members-%d", (int)getpid());
}

Test(members, come_and_leave_while_the_world_runs)
{
	static struct run run;
	begin_run(&run);
	const struct troupe_network network = {.secondaries = 2,
		.secondaries_max = 3,
		.clients_max = 1,
		.listen = "127.0.0.1:0",
		.partition = run.partition,
		.stale_ms = STALE_MS,
		.on_loss = TROUPE_ON_LOSS_CONTINUE};
	struct troupe_server_def def = lib_def(world, 2);
	def.network = &network;
	def.step_every = 1;
	def.on_note = on_note;
	def.on_step = on_step;
	def.on_member = on_change;
	def.ctx = &run;
	struct troupe_server *server = lib_create(&def);
	must(troupe_server_run(server, &(struct troupe_limits){.iterations = STEPS}, &lib_error));
	cr_assert_eq(troupe_server_secondaries(server, 0), 3);
	cr_assert_eq(troupe_server_hash(server), hash_of_threads());
	struct troupe_report *report = troupe_server_report(server);
	lib_destroy(server);
	for (uint32_t i = 0; i < run.begun; i++)
		if (i != 5)
			end_member(&run.members[i]);
	troupe_secondary_destroy(run.members[5].secondary);
	cr_assert_eq(run.members[5].status, TROUPE_EPROTOCOL);
	check_notes(&run);
	check_changes(&run, &report->worlds[0].network);
	check_counts(&run, &report->worlds[0].network);
	troupe_report_free(report);
}

/* A primary that is not there is tried again and again, and the reason is told once. */
Test(members, that_find_no_primary)
{
	enum { MORE_TRIES = 700 };
	static struct member member;
	char address[40];
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof here;
	/* a port that is taken, and at which nobody listens */
	int taken = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cr_assert(!bind(taken, (struct sockaddr *)&here, sizeof here) &&
		  !getsockname(taken, (struct sockaddr *)&here, &bytes));
	(void)snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(here.sin_port));
	begin_member(&member, &(struct troupe_network){.address = address, .partition = "nobody"});
	await_word(&member, "cannot be reached");
	for (int i = 0; i < MORE_TRIES; i++)
		wait_a_little();
	troupe_secondary_stop(member.secondary);
	cr_assert_eq(pthread_join(member.thread, NULL), 0);
	troupe_secondary_destroy(member.secondary);
	close(taken);
	has_said("the member", &member.notes, LOOKING "127.0.0.1:a: cannot be reached: Connection refused\n");
}

/* --- standbys ----------------------------------------------------------------------------------------------------- */

struct standby {
	struct troupe_standby *standby;
	pthread_t thread;
	struct notes notes;
	troupe_status status;
	struct troupe_error error;
};

struct followed {
	struct run run;
	struct standby standbys[2]; /* the second finds that there is one already */
	uint32_t standbys_begun;
};

static void on_standby_note(void *ctx, const char *text)
{
	struct standby *standby = ctx;
	add_note(&standby->notes, text);
}

static void *be_standby(void *arg)
{
	struct standby *standby = arg;
	standby->status = troupe_standby_run(standby->standby, &standby->error);
	return NULL;
}

static void begin_standby(struct followed *followed)
{
	struct standby *standby = &followed->standbys[followed->standbys_begun++];
	const struct troupe_network network = {
		.address = followed->run.address, .partition = followed->run.partition, .listen = "127.0.0.1:0"};
	const struct troupe_standby_def def = {.network = &network, .on_note = on_standby_note, .ctx = standby};
	pthread_mutex_init(&standby->notes.lock, NULL);
	must(troupe_standby_create(&def, &standby->standby, &lib_error));
	cr_assert_eq(pthread_create(&standby->thread, NULL, be_standby, standby), 0);
}

static void end_standby(struct standby *standby)
{
	cr_assert_eq(pthread_join(standby->thread, NULL), 0);
	cr_assert_eq(standby->status, TROUPE_OK, "%s\n%s", standby->error.text, standby->notes.text);
	cr_assert_null(troupe_standby_takeover(standby->standby));
}

static void on_followed_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct followed *followed = ctx;
	struct run *run = &followed->run;
	(void)server;
	if (run->phase == 0 && step == 10)
		begin_standby(followed);
	if (run->phase == 0 && times_said(&run->notes, "follows this primary")) {
		begin_standby(followed);
		while (!times_said(&followed->standbys[1].notes, "this process comes again until it is let in"))
			wait_a_little();
		begin_phase(run, THIRD_COMES);
	}
	if (run->phase == THIRD_COMES && is_over(run))
		run->phase = OVER;
	if (run->phase != OVER)
		wait_a_little();
}

static void on_followed_note(void *ctx, const char *text)
{
	struct followed *followed = ctx;
	on_note(&followed->run, text);
}

static void on_followed_change(void *ctx, const struct troupe_report_member *change)
{
	struct followed *followed = ctx;
	on_change(&followed->run, change);
}

static void check_what_was_followed(struct followed *followed)
{
	struct run *run = &followed->run;
	has_said("the primary", &run->notes,
		WAITS_FOR_TWO "the standby at port . follows this primary\n" GOES_ON("2") GETS("3") /* */
		"secondary 3 of 3 joined from 127.0.0.1:d\n" GOES_ON("3"));
	has_said("the second", &run->members[1].notes,
		LOOKING JOINED("2", "2") AGAIN JOINED("2", "2") AGAIN JOINED("2", "3"));
	has_said("the third", &run->members[2].notes, LOOKING LATER JOINED("3", "3"));
	has_said("the standby", &followed->standbys[0].notes, "follows the primary at 127.0.0.1:a, of 2 secondaries\n");
	/* it may come again while the members change, and is told so */
	cr_assert_gt(times_said(&followed->standbys[1].notes,
			     "the primary turned this process away: there is a standby already; this process comes "
			     "again until it is let in\n"),
		0);
	cr_assert_eq(run->change_count, 2);
	cr_assert_eq(run->changes[0].kind, TROUPE_MEMBER_CAME);
	cr_assert_eq(strstr(run->changes[0].who, "the standby at "), run->changes[0].who, "%s", run->changes[0].who);
	cr_assert_eq(run->changes[1].kind, TROUPE_MEMBER_CAME);
	cr_assert_eq(strstr(run->changes[1].who, "secondary 3 ("), run->changes[1].who, "%s", run->changes[1].who);
}

Test(members, come_while_a_standby_follows)
{
	static struct followed followed;
	struct run *run = &followed.run;
	begin_run(run);
	const struct troupe_network network = {.secondaries = 2,
		.secondaries_max = 3,
		.listen = "127.0.0.1:0",
		.partition = run->partition,
		.stale_ms = STALE_MS,
		.on_loss = TROUPE_ON_LOSS_CONTINUE};
	struct troupe_server_def def = lib_def(world, 2);
	def.network = &network;
	def.step_every = 1;
	def.on_note = on_followed_note;
	def.on_step = on_followed_step;
	def.on_member = on_followed_change;
	def.ctx = &followed;
	struct troupe_server *server = lib_create(&def);
	must(troupe_server_run(server, &(struct troupe_limits){.iterations = STEPS}, &lib_error));
	troupe_standby_stop(followed.standbys[1].standby);
	lib_destroy(server);
	for (uint32_t i = 0; i < run->begun; i++)
		end_member(&run->members[i]);
	for (uint32_t i = 0; i < 2; i++)
		end_standby(&followed.standbys[i]);
	for (uint32_t i = 0; i < 2; i++)
		troupe_standby_destroy(followed.standbys[i].standby);
	check_what_was_followed(&followed);
}
