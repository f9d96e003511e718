/* A primary that takes over a run, and loses secondaries before they have the world: it goes on with those that are
 * left, or with the one that comes next. All are threads of this process, and reach each other by way of TCP. */
#include "library.h"
#include "server/standby.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

TestSuite(takeover, .timeout = 120);

enum { BEGIN = 50, STEPS = 100, MEMBERS_MAX = 3 };

static const char world[] = LIB_SDF(LIB_WORLD("w", LIB_CART("cart", "0 0 0 0 0 0") LIB_MODEL("one", "0 -3 0.25 0 0 0",
							   LIB_BOX) LIB_MODEL("two", "3 0 2 0 0 0", LIB_BOX)));

struct member {
	struct troupe_secondary *secondary;
	pthread_t thread;
	troupe_status status;
	struct troupe_error error;
};

struct run {
	char address[64], partition[64];
	struct member members[MEMBERS_MAX];
	uint32_t begun, lost; /* lost: the last so many of the first two */
	char notes[4096];
};

static void *be_member(void *arg)
{
	struct member *member = arg;
	member->status = troupe_secondary_run(member->secondary, &member->error);
	return NULL;
}

static void begin_member(struct run *run)
{
	struct member *member = &run->members[run->begun++];
	const struct troupe_network network = {.address = run->address, .partition = run->partition};
	const struct troupe_secondary_def def = {.network = &network, .threads = 1};
	must(troupe_secondary_create(&def, &member->secondary, &lib_error));
	cr_assert_eq(pthread_create(&member->thread, NULL, be_member, member), 0);
}

/* Before the primary goes on, they have gone: none of them has the world. */
static void lose(struct run *run)
{
	for (uint32_t i = 2 - run->lost; i < 2; i++)
		troupe_secondary_stop(run->members[i].secondary);
	for (uint32_t i = 2 - run->lost; i < 2; i++)
		cr_assert_eq(pthread_join(run->members[i].thread, NULL), 0);
	if (run->lost == 2)
		begin_member(run);
}

static void on_note(void *ctx, const char *text)
{
	struct run *run = ctx;
	size_t used = strlen(run->notes);
	(void)snprintf(run->notes + used, sizeof run->notes - used, "%s\n", text);
	if (run->begun == 2 && strstr(text, "secondary 2 of 2 joined"))
		lose(run);
}

/* An address of this machine at which nothing listens. */
static void find_address(struct run *run)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof at;
	int file = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(file >= 0 && !bind(file, (struct sockaddr *)(void *)&at, bytes));
	cr_assert(!getsockname(file, (struct sockaddr *)(void *)&at, &bytes) && !close(file));
	(void)snprintf(run->address, sizeof run->address, "127.0.0.1:%d", ntohs(at.sin_port));
}

static uint64_t hash_of_threads(void)
{
	struct troupe_server *server = lib_server(world, 2);
	lib_step(server, STEPS);
	uint64_t hash = troupe_server_hash(server);
	lib_destroy(server);
	return hash;
}

static void *state_of_begin(size_t *ret_count)
{
	void *bytes;
	struct troupe_server *server = lib_server(world, 2);
	lib_step(server, BEGIN);
	must(troupe_server_pack(server, &bytes, ret_count, &lib_error));
	lib_destroy(server);
	return bytes;
}

static struct troupe_server *take_over(struct run *run, enum troupe_on_loss on_loss)
{
	struct troupe_takeover takeover = {.term = {.run = {7}, .term = 2, .was = {.goes_on = true}}};
	const struct troupe_network network = {.secondaries = 2,
		.listen = run->address,
		.partition = run->partition,
		.on_loss = on_loss,
		.takeover = &takeover};
	struct troupe_server_def def = lib_def(NULL, 2);
	size_t count;
	void *bytes = state_of_begin(&count);
	def.world_path = NULL;
	def.resume_bytes = bytes;
	def.resume_count = count;
	def.network = &network;
	def.on_note = on_note;
	def.ctx = run;
	struct troupe_server *server = lib_create(&def);
	free(bytes);
	/* members that find nobody wait for longer from try to try */
	begin_member(run);
	begin_member(run);
	return server;
}

static void begin_run(struct run *run, uint32_t lost)
{
	*run = (struct run){.lost = lost};
	(void)snprintf(run->partition, sizeof run->partition, "takeover-%d", (int)getpid());
	find_address(run);
}

static void end_run(struct run *run)
{
	for (uint32_t i = 0; i < run->begun; i++) {
		if (i >= 2 || i < 2 - run->lost)
			cr_assert_eq(pthread_join(run->members[i].thread, NULL), 0);
		troupe_secondary_destroy(run->members[i].secondary);
	}
}

/* One of two, or both: then a third one comes. */
Test(takeover, goes_on_without_those_that_were_lost_before_they_had_the_world)
{
	for (uint32_t lost = 1; lost <= 2; lost++) {
		static struct run run;
		begin_run(&run, lost);
		struct troupe_server *server = take_over(&run, TROUPE_ON_LOSS_CONTINUE);
		troupe_status status =
			troupe_server_run(server, &(struct troupe_limits){.iterations = STEPS}, &lib_error);
		cr_assert_eq(status, TROUPE_OK, "%s\n%s", lib_error.text, run.notes);
		cr_assert_eq(troupe_server_secondaries(server, 0), 1, "%s", run.notes);
		cr_assert_eq(troupe_server_hash(server), hash_of_threads());
		lib_destroy(server);
		end_run(&run);
	}
}

/* The reason has the step at which the run stands. */
Test(takeover, ends_where_a_loss_ends_the_run)
{
	static struct run run;
	begin_run(&run, 1);
	struct troupe_server *server = take_over(&run, TROUPE_ON_LOSS_STOP);
	cr_assert_eq(troupe_server_run(server, &(struct troupe_limits){.iterations = STEPS}, &lib_error), TROUPE_EPEER);
	cr_assert(strstr(lib_error.text, "; the last step that all had acknowledged is 49"), "%s", lib_error.text);
	cr_assert_eq(troupe_server_progress(server).steps, BEGIN);
	lib_destroy(server);
	end_run(&run);
}
