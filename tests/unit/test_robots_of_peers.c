/* Robot clients among the peers of a run: each has the place and the ticket of its name, whoever comes first; a second
 * one of a name, one that nobody waits for, and one that does not come back, are told why. */
#include "net/peers.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(robots_of_peers, .timeout = 60);

#define ROBOTS_S UINT64_C(1000000000)

enum { ROBOTS_PEERS_MAX = 8 };

/* What the primary did with one peer. */
struct robots_heard {
	bool closed, again; /* again: it was told that it may come later */
	uint32_t admitted;  /* its number, from 1 */
	struct welcome welcome;
	char why[HELLO_WORDS_MAX + 1]; /* of a refusal */
};

struct robots {
	struct peers *peers;
	struct robots_heard heard[ROBOTS_PEERS_MAX]; /* by connection */
	uint32_t knocks;
	char knocked[HELLO_WORDS_MAX + 1]; /* the client of the last one */
	unsigned char knocked_id;
	uint64_t now_ns;
};

static const char *const robots_names[] = {"left", "right"};
static const unsigned char robots_tickets[][HELLO_TICKET_BYTES] = {{1, 2, 3}, {4, 5, 6}};

static struct hello robots_hello(enum hello_role role, unsigned char process, const char *client)
{
	struct hello hello = {
		.protocol = HELLO_PROTOCOL, .role = role, .fingerprint = {.all = 5}, .build = "b", .partition = "p"};
	hello.id[0] = process;
	strcpy(hello.name, "host:2");
	strcpy(hello.client, client);
	return hello;
}

/* Two of the secondaries are clients; others: how many are not. */
static struct peers_options robots_options(uint32_t others)
{
	return (struct peers_options){.self = robots_hello(HELLO_PRIMARY, 100, ""),
		.secondaries = others + 2,
		.clients = 2,
		.client_names = robots_names,
		.client_tickets = robots_tickets,
		.wait_ns = 1000 * ROBOTS_S};
}

static void robots_take(struct robots *r, const struct peers_action *action)
{
	struct robots_heard *heard = &r->heard[action->id % ROBOTS_PEERS_MAX];
	if (action->kind == PEERS_CLOSE)
		heard->closed = true;
	if (action->kind == PEERS_ADMITTED)
		heard->admitted = action->secondary;
	if (action->kind == PEERS_SEND && action->type == FRAME_WELCOME)
		cr_assert_eq(welcome_decode(action->bytes, action->count, &heard->welcome, NULL), TROUPE_OK);
	if (action->kind == PEERS_SEND && action->type == FRAME_REFUSE)
		cr_assert_eq(refuse_decode(action->bytes, action->count, heard->why, &heard->again, NULL), TROUPE_OK);
	if (action->kind == PEERS_SEND && action->type == FRAME_STOP) {
		struct stop stop;
		cr_assert_eq(stop_decode(action->bytes, action->count, &stop, NULL), TROUPE_OK);
		strcpy(heard->why, stop.why);
	}
	if (action->kind == PEERS_KNOCKED) {
		r->knocks++;
		r->knocked_id = (unsigned char)action->bytes[0];
		memcpy(r->knocked, action->bytes + HELLO_ID_BYTES, action->count - HELLO_ID_BYTES);
		r->knocked[action->count - HELLO_ID_BYTES] = '\0';
	}
}

static void robots_drain(struct robots *r)
{
	struct peers_action action;
	while (peers_next(r->peers, &action))
		robots_take(r, &action);
}

static void robots_begin(struct robots *r, const struct peers_options *options)
{
	*r = (struct robots){.peers = peers_create(options, 0)};
}

/* A process comes; its connection. client: "": it is no client. */
static struct robots_heard *robots_come(struct robots *r, unsigned char process, const char *client)
{
	struct text bytes = {0};
	struct hello hello = robots_hello(HELLO_SECONDARY, process, client);
	uint32_t id = peers_join(r->peers, "10.0.0.2:9", r->now_ns);
	cr_assert_lt(id, ROBOTS_PEERS_MAX);
	r->heard[id] = (struct robots_heard){0};
	hello_encode(&hello, &bytes);
	peers_receive(r->peers, id, FRAME_HELLO, bytes.at, bytes.count, r->now_ns);
	text_fini(&bytes);
	robots_drain(r);
	return &r->heard[id];
}

static void robots_wait(struct robots *r, uint64_t seconds)
{
	r->now_ns += seconds * ROBOTS_S;
	peers_tick(r->peers, r->now_ns);
	robots_drain(r);
}

static void robots_refused(const struct robots_heard *heard, const char *words)
{
	cr_assert(!heard->admitted && strstr(heard->why, words), "%u: %s: expected %s", heard->admitted, heard->why,
		words);
}

/* The places of clients are the last ones, in the order of their names. */
Test(robots_of_peers, each_has_the_place_of_its_name)
{
	struct robots r;
	struct peers_options options = robots_options(2);
	robots_begin(&r, &options);
	const struct robots_heard *right = robots_come(&r, 1, "right"), *plain = robots_come(&r, 2, ""),
				  *left = robots_come(&r, 3, "left"), *last = robots_come(&r, 4, "");
	cr_assert(left->admitted == 3 && right->admitted == 4 && plain->admitted == 1 && last->admitted == 2);
	cr_assert(!memcmp(left->welcome.ticket, robots_tickets[0], HELLO_TICKET_BYTES), "left has another ticket");
	cr_assert(!memcmp(right->welcome.ticket, robots_tickets[1], HELLO_TICKET_BYTES), "right has another ticket");
	for (int i = 0; i < HELLO_TICKET_BYTES; i++)
		cr_assert(!plain->welcome.ticket[i] && !last->welcome.ticket[i], "no client has a ticket");
	cr_assert_eq(right->welcome.secondary, 4);
	peers_destroy(r.peers);
}

Test(robots_of_peers, without_tickets_or_names)
{
	struct robots r;
	struct peers_options options = robots_options(1);
	options.client_tickets = NULL;
	robots_begin(&r, &options);
	const struct robots_heard *left = robots_come(&r, 1, "left");
	cr_assert_eq(left->admitted, 2);
	for (int i = 0; i < HELLO_TICKET_BYTES; i++)
		cr_assert_eq(left->welcome.ticket[i], 0);
	peers_destroy(r.peers);
	options.client_names = NULL;
	robots_begin(&r, &options);
	robots_refused(robots_come(&r, 1, "left"), "client 'left' is not awaited, and no further client may join");
	cr_assert_eq(robots_come(&r, 2, "")->admitted, 1);
	peers_destroy(r.peers);
}

Test(robots_of_peers, who_is_refused)
{
	struct robots r;
	struct peers_options options = robots_options(1);
	robots_begin(&r, &options);
	cr_assert_eq(robots_come(&r, 1, "right")->admitted, 3);
	robots_refused(robots_come(&r, 2, "right"), "client 'right' takes part already, as right");
	robots_refused(robots_come(&r, 1, "left"), "the same process has joined already, as right");
	robots_refused(robots_come(&r, 3, "middle"), "client 'middle' is not awaited, and no further client may join");
	cr_assert_eq(robots_come(&r, 4, "")->admitted, 1);
	robots_refused(robots_come(&r, 5, ""), "one too many: the primary needs 1 secondary, and has it");
	cr_assert_eq(robots_come(&r, 6, "left")->admitted, 2, "after refusals its place is still there");
	cr_assert_eq(r.knocks, 0);
	peers_destroy(r.peers);
}

/* Those that may be let in later are told to come again; so the run can make a place for them. */
Test(robots_of_peers, who_may_come_later)
{
	struct robots r;
	struct peers_options options = robots_options(1);
	options.more_clients = 1;
	robots_begin(&r, &options);
	cr_assert_eq(robots_come(&r, 1, "left")->admitted, 2);
	const struct robots_heard *middle = robots_come(&r, 2, "middle");
	robots_refused(middle, "client 'middle' is not awaited");
	cr_assert(middle->again && middle->closed && !strstr(middle->why, "no further"), "%s", middle->why);
	cr_assert(r.knocks == 1 && r.knocked_id == 2 && !strcmp(r.knocked, "middle"));
	const struct robots_heard *second = robots_come(&r, 3, "left");
	robots_refused(second, "takes part already");
	cr_assert(!second->again && r.knocks == 1, "a name that is taken will not be free");
	cr_assert_eq(robots_come(&r, 4, "")->admitted, 1);
	const struct robots_heard *plain = robots_come(&r, 5, "");
	cr_assert(!plain->again && r.knocks == 1, "no further secondaries");
	peers_destroy(r.peers);
	options.more_plain = true;
	robots_begin(&r, &options);
	cr_assert_eq(robots_come(&r, 4, "")->admitted, 1);
	plain = robots_come(&r, 5, "");
	cr_assert(plain->again && r.knocks == 1 && r.knocked_id == 5 && !*r.knocked);
	peers_destroy(r.peers);
}

static struct peers_options robots_that_go_on(void)
{
	struct peers_options options = robots_options(2);
	options.again = true;
	options.goes_on = true;
	options.expected = 2;
	options.settle_ns = ROBOTS_S;
	options.clients_ns = 3 * ROBOTS_S;
	options.hello_ns = options.stale_ns = 1000 * ROBOTS_S;
	return options;
}

/* A run that goes on: all are admitted together. */
Test(robots_of_peers, that_come_back)
{
	struct robots r;
	const struct peers_options options = robots_that_go_on();
	robots_begin(&r, &options);
	const struct robots_heard *left = robots_come(&r, 1, "left"), *one = robots_come(&r, 2, ""),
				  *two = robots_come(&r, 3, "");
	cr_assert(!left->admitted && !one->admitted, "right is missing");
	robots_wait(&r, 2);
	cr_assert(!left->admitted && !peers_missing(r.peers), "clients may take longer than others");
	const struct robots_heard *right = robots_come(&r, 4, "right");
	robots_wait(&r, 0);
	cr_assert(one->admitted == 1 && two->admitted == 2 && left->admitted == 3 && right->admitted == 4);
	peers_destroy(r.peers);
}

Test(robots_of_peers, one_of_two_that_does_not_come_back)
{
	struct robots r;
	const struct peers_options options = robots_that_go_on();
	for (int missing = 0; missing < 2; missing++) {
		robots_begin(&r, &options);
		const struct robots_heard *here = robots_come(&r, 1, robots_names[!missing]),
					  *one = robots_come(&r, 2, "");
		robots_wait(&r, 2);
		cr_assert(!peers_missing(r.peers) && !here->admitted);
		robots_wait(&r, 2);
		cr_assert_str_eq(peers_missing(r.peers), robots_names[missing]);
		cr_assert(!here->admitted && !one->admitted);
		robots_refused(here, "the members change once more");
		robots_refused(one, "the members change once more");
		peers_destroy(r.peers);
	}
}

/* With fewer of the others than were expected, but all clients. */
Test(robots_of_peers, with_fewer_others)
{
	struct robots r;
	const struct peers_options options = robots_that_go_on();
	robots_begin(&r, &options);
	const struct robots_heard *right = robots_come(&r, 1, "right"), *left = robots_come(&r, 2, "left");
	robots_wait(&r, 5);
	cr_assert(!left->admitted && !peers_missing(r.peers), "one of the others must come");
	const struct robots_heard *plain = robots_come(&r, 3, "");
	robots_wait(&r, 0);
	cr_assert(plain->admitted == 1 && left->admitted == 2 && right->admitted == 3, "%u %u %u", plain->admitted,
		left->admitted, right->admitted);
	cr_assert_eq(peers_secondaries(r.peers), 3);
	peers_destroy(r.peers);
}
