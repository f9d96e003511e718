/* A table of a transport with a slot that is missing, or that has no meaning for its kind, is refused by the slot's
 * name, one slot after the other. */
#include "net/backend.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(slots, .timeout = 60);

enum slots_kind { SLOTS_BOTH, SLOTS_REMOTE, SLOTS_LOCAL };

/* X(slot, the kind of transport that has it) */
#define SLOTS(X)                                                                                                       \
	X(create, SLOTS_BOTH)                                                                                          \
	X(publish, SLOTS_BOTH)                                                                                         \
	X(wait, SLOTS_BOTH)                                                                                            \
	X(ack, SLOTS_BOTH)                                                                                             \
	X(ack_of, SLOTS_BOTH)                                                                                          \
	X(close, SLOTS_BOTH)                                                                                           \
	X(destroy, SLOTS_BOTH)                                                                                         \
	X(lost, SLOTS_REMOTE)                                                                                          \
	X(regroups, SLOTS_REMOTE)                                                                                      \
	X(orphaned, SLOTS_REMOTE)                                                                                      \
	X(leaving, SLOTS_REMOTE)                                                                                       \
	X(leave, SLOTS_REMOTE)                                                                                         \
	X(fetch, SLOTS_REMOTE)                                                                                         \
	X(stop, SLOTS_REMOTE)                                                                                          \
	X(is_done, SLOTS_REMOTE)                                                                                       \
	X(counts, SLOTS_REMOTE)                                                                                        \
	X(wait_for, SLOTS_LOCAL)                                                                                       \
	X(release, SLOTS_LOCAL)                                                                                        \
	X(resize, SLOTS_LOCAL)

static struct transport_ops slots_of(bool remote)
{
	const struct backend *backend = backend_local();
	struct troupe_error error;
	if (remote)
		cr_assert_eq(backend_remote(NULL, &backend, &error), TROUPE_OK);
	return *backend->transport;
}

static void slots_refused(const struct transport_ops *ops, const char *slot, bool is_too_many)
{
	struct troupe_error error = {0};
	cr_assert_eq(transport_check(ops, &error), TROUPE_EINVAL, "%s", slot);
	cr_assert(strstr(error.text, slot) && !strstr(error.text, "which only") == !is_too_many, "%s: %s", slot,
		error.text);
}

Test(slots, of_each_kind)
{
	for (int remote = 0; remote < 2; remote++) {
		const struct transport_ops good = slots_of(remote), other = slots_of(!remote);
		struct transport_ops ops = good;
		cr_assert_eq(transport_check(&ops, NULL), TROUPE_OK);
		ops.name = NULL;
		slots_refused(&ops, "transport '?': slot name", false);
#define X(slot, kind)                                                                                                  \
	ops = good;                                                                                                    \
	if ((kind) == SLOTS_BOTH || ((kind) == SLOTS_REMOTE) == remote) {                                              \
		ops.slot = NULL;                                                                                       \
		slots_refused(&ops, (kind) == SLOTS_LOCAL ? "both or neither" : "slot " #slot, false);                 \
	} else {                                                                                                       \
		ops.slot = other.slot;                                                                                 \
		slots_refused(&ops, "slot " #slot, true);                                                              \
	}
		SLOTS(X)
#undef X
	}
	struct transport_ops plain = slots_of(false);
	plain.wait_for = NULL;
	plain.release = NULL;
	plain.resize = NULL;
	cr_assert_eq(transport_check(&plain, NULL), TROUPE_OK, "a local one may lack all three");
}

Test(slots, transports_by_name)
{
	const struct backend *usual, *named;
	struct troupe_error error = {0};
	uint32_t count;
	const struct troupe_transport *shown = troupe_transports(&count);
	cr_assert_eq(backend_remote(NULL, &usual, &error), TROUPE_OK);
	for (uint32_t i = 0; i < count; i++) {
		bool remote = strcmp(shown[i].name, backend_local()->name) != 0;
		troupe_status status = backend_remote(shown[i].name, &named, &error);
		cr_assert_eq(status, remote ? TROUPE_OK : TROUPE_EINVAL, "%s: %s", shown[i].name, error.text);
		if (remote)
			cr_assert_str_eq(named->name, shown[i].name);
		else
			cr_assert(strstr(error.text, usual->name), "%s", error.text);
	}
	cr_assert_eq(backend_remote("none", &named, &error), TROUPE_EINVAL);
	struct troupe_job *job;
	cr_assert_eq(troupe_job_join(usual->name, &job, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "no launcher starts its processes"), "%s", error.text);
	cr_assert_eq(troupe_job_join("none", &job, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "expected one of"), "%s", error.text);
	troupe_job_leave(NULL, true);
}

/* What a process says of itself: names may be as long as the frame has room, and no longer. */
Test(slots, what_a_process_says_of_itself)
{
	char text[HELLO_TEXT_MAX + 2] = {0};
	struct troupe_network network = {.secondaries = 3};
	const struct gather_self self = {.network = &network};
	struct hello hello, other;
	struct troupe_error error = {0};
	memset(text, 'x', HELLO_TEXT_MAX);
	network.partition = network.client = text;
	cr_assert_eq(gather_hello(&self, HELLO_SECONDARY, &hello, &error), TROUPE_OK, "%s", error.text);
	cr_assert(!strcmp(hello.partition, text) && !strcmp(hello.client, text) && !hello.secondaries && !hello.term);
	text[HELLO_TEXT_MAX] = 'x';
	network.client = NULL;
	cr_assert_eq(gather_hello(&self, HELLO_SECONDARY, &hello, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "partition 'xxx"), "%s", error.text);
	network.client = text;
	network.partition = NULL;
	cr_assert_eq(gather_hello(&self, HELLO_SECONDARY, &hello, &error), TROUPE_EINVAL);
	cr_assert(strstr(error.text, "client 'xxx"), "%s", error.text);
	network.client = NULL;
	cr_assert_eq(gather_hello(&self, HELLO_PRIMARY, &hello, &error), TROUPE_OK);
	cr_assert_eq(gather_hello(&self, HELLO_PRIMARY, &other, &error), TROUPE_OK);
	cr_assert(hello.secondaries == 3 && hello.term == 1 && !*hello.partition && !*hello.client);
	cr_assert(
		memcmp(hello.id, other.id, sizeof hello.id) != 0 && memcmp(hello.run, other.run, sizeof hello.run) != 0,
		"two processes, or two runs, are one");
}

/* Two processes with different worlds do not meet; one that does not say which world it has meets any. */
Test(slots, worlds_that_differ)
{
	const struct hello ours = {.role = HELLO_PRIMARY, .world = 7};
	const uint64_t worlds[] = {7, 0, 8};
	struct troupe_error error = {0};
	for (size_t i = 0; i < ARRAY_LEN(worlds); i++) {
		const struct hello theirs = {.role = HELLO_SECONDARY, .world = worlds[i]};
		cr_assert_eq(
			hello_match(&ours, &theirs, &error), i == 2 ? TROUPE_EPROTOCOL : TROUPE_OK, "%s", error.text);
	}
	cr_assert(
		strstr(error.text, "its world has hash 0000000000000008: expected 0000000000000007"), "%s", error.text);
	const struct hello any = {.role = HELLO_PRIMARY}, theirs = {.role = HELLO_SECONDARY, .world = 8};
	cr_assert_eq(hello_match(&any, &theirs, &error), TROUPE_OK);
}
