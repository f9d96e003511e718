/* Nodes of gz-transport among themselves: two in one process, one in another that is stopped or killed, floods. Each
 * run has discovery ports of its own, so that runs side by side do not hear each other. A plain program, so that it
 * runs under the sanitizers too. */
#include "../random.h"
#include "../fault/check.h"

#include "base/clock.h"
#include "gateway/gz/beacon.h"
#include "gateway/gz/node.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#define MS UINT64_C(1000000)
enum { WAIT_MS = 5000, COMES_MS = 30000, SUBSCRIBERS = 100, STREAM = 3000, STREAM_BYTES = 8192 };

static uint16_t port;

static struct node_options options_of(const char *partition)
{
	return (struct node_options){.partition = partition, .topic_port = port, .service_port = (uint16_t)(port + 1)};
}

static struct node *make(const char *partition)
{
	struct node_options options = options_of(partition);
	struct troupe_error error;
	struct node *node = NULL;
	if (!node_create(&options, &node, &error))
		return node;
	printf("no node: %s\n0 passed, 1 failed\n", error.text);
	exit(1);
}

static struct node_publisher *advertise(struct node *node, const char *topic, const char *type)
{
	struct troupe_error error = {0};
	struct node_publisher *publisher = NULL;
	check(!node_advertise(node, topic, type, 0, NULL, &publisher, &error), "advertise %s: %s", topic, error.text);
	return publisher;
}

static struct node_subscription *subscribe(struct node *node, const char *topic, uint32_t queue)
{
	struct troupe_error error = {0};
	struct node_subscription *subscription = NULL;
	check(!node_subscribe(node, topic, queue, NULL, &subscription, &error), "subscribe %s: %s", topic, error.text);
	return subscription;
}

static bool wait_subscribers(struct node_publisher *publisher, uint32_t count)
{
	for (int i = 0; i < WAIT_MS && node_subscribers(publisher) != count; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	return node_subscribers(publisher) == count;
}

/* The next event of this kind; others are dropped. */
static bool next_of(struct node *node, enum node_event_kind kind, struct node_event *ret, int timeout_ms)
{
	uint64_t end_ns = clock_now_ns() + (uint64_t)timeout_ms * MS;
	while (clock_now_ns() < end_ns && node_next(node, (int)((end_ns - clock_now_ns()) / MS), ret)) {
		if (ret->kind == kind)
			return true;
		node_event_fini(ret);
	}
	return false;
}

static void expect_message(struct node *node, const char *topic, const char *type, const char *text)
{
	struct node_event event;
	if (!next_of(node, NODE_MESSAGE, &event, COMES_MS)) {
		check(false, "no message on %s", topic);
		return;
	}
	check(!strcmp(event.topic, topic) && !strcmp(event.type, type) && event.count == strlen(text) &&
			!memcmp(event.bytes, text, event.count),
		"%s %s '%.*s' instead of %s %s '%s'", event.topic, event.type, (int)event.count, event.bytes, topic,
		type, text);
	node_event_fini(&event);
}

static void publish_text(struct node_publisher *publisher, const char *text)
{
	check(node_publish(publisher, text, strlen(text)) == NODE_SENT, "'%s' is not sent", text);
}

static uint32_t count_records(struct node *node, const char *name, bool with_own)
{
	struct node_records records;
	uint32_t count = 0;
	node_list(node, &records);
	for (uint32_t i = 0; i < records.count; i++)
		count += !strcmp(records.at[i].name, name) && (with_own || !records.at[i].is_own);
	node_records_fini(&records);
	return count;
}

static bool wait_records(struct node *node, const char *name, uint32_t count, int timeout_ms)
{
	for (int i = 0; i < timeout_ms && count_records(node, name, false) != count; i += 5)
		clock_sleep_until_ns(clock_now_ns() + 5 * MS);
	return count_records(node, name, false) == count;
}

/* The endpoint at which this node publishes. */
static void find_address(struct node *node, const char *topic, char ret_address[64])
{
	struct node_records records;
	*ret_address = '\0';
	node_list(node, &records);
	for (uint32_t i = 0; i < records.count; i++)
		if (!strcmp(records.at[i].name, topic))
			snprintf(ret_address, 64, "%s", records.at[i].address);
	node_records_fini(&records);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static void test_topics(void)
{
	struct node *a = make("one"), *b = make("one"), *other = make("two");
	struct troupe_error error = {0};
	struct node_publisher *early = advertise(a, "/early", "gz.msgs.Clock"), *again = NULL;
	check(node_publish(early, "x", 1) == NODE_NOBODY, "sent to nobody");
	check(node_advertise(a, "/early", "gz.msgs.Clock", 0, NULL, &again, &error) == TROUPE_ECOMMAND, "twice");
	check(node_advertise(a, "/b ad", "gz.msgs.Clock", 0, NULL, &again, &error) == TROUPE_EINVAL, "a blank");
	check(node_advertise(a, "/x", "no type!", 0, NULL, &again, &error) == TROUPE_EINVAL, "a bad type");
	struct node_subscription *first = subscribe(b, "/early", 0), *foreign = subscribe(other, "/early", 0);
	subscribe(b, "/late", 0);
	subscribe(b, "/earl", 0);
	check(wait_subscribers(early, 2), "/early has %u subscribers", node_subscribers(early));
	publish_text(early, "one");
	expect_message(b, "/early", "gz.msgs.Clock", "one");
	struct node_event event;
	while (node_next(a, 100, &event)) /* of the subscribers of /early */
		node_event_fini(&event);
	struct node_publisher *late = advertise(a, "/late", "ignition.msgs.Pose_V");
	check(wait_subscribers(late, 1), "/late has no subscriber");
	check(next_of(a, NODE_SUBSCRIBERS, &event, COMES_MS) && !strcmp(event.topic, "/late") && event.number == 1,
		"the owner of /late is not told of the subscriber that came before");
	node_event_fini(&event);
	publish_text(late, "two");
	expect_message(b, "/late", "gz.msgs.Pose_V", "two");
	publish_text(early, "");
	expect_message(b, "/early", "gz.msgs.Clock", "");
	check(!next_of(other, NODE_MESSAGE, &event, 200), "another partition hears");
	check(count_records(other, "/early", true) == 0, "another partition lists");
	check(wait_records(b, "/late", 1, 2000), "/late is not listed");
	node_unadvertise(late);
	check(wait_records(b, "/late", 0, 500), "/late stays listed");
	node_unsubscribe(first);
	check(wait_subscribers(early, 1), "an end of a subscription is not heard: %u", node_subscribers(early));
	first = subscribe(b, "/early", 0);
	check(wait_subscribers(early, 2), "subscribed again");
	publish_text(early, "three");
	expect_message(b, "/early", "gz.msgs.Clock", "three");
	node_unsubscribe(foreign);
	node_destroy(b);
	check(wait_subscribers(early, 0), "a node that ended is still a subscriber");
	node_destroy(a);
	node_destroy(other);
}

static void test_two_publishers(void)
{
	struct node *a = make("one"), *b = make("one"), *c = make("one");
	struct node_publisher *of_a = advertise(a, "/same", "gz.msgs.Clock"),
			      *of_b = advertise(b, "/same", "gz.msgs.Clock");
	subscribe(c, "/same", 0);
	check(wait_subscribers(of_a, 1) && wait_subscribers(of_b, 1), "one of two publishers has no subscriber");
	check(wait_records(c, "/same", 2, 2000), "two publishers are listed as %u", count_records(c, "/same", false));
	publish_text(of_a, "a");
	expect_message(c, "/same", "gz.msgs.Clock", "a");
	publish_text(of_b, "b");
	expect_message(c, "/same", "gz.msgs.Clock", "b");
	node_destroy(a);
	check(wait_records(c, "/same", 1, 500), "a goodbye is not heard");
	publish_text(of_b, "c");
	expect_message(c, "/same", "gz.msgs.Clock", "c");
	node_destroy(b);
	node_destroy(c);
}

static struct node *make_of(const char *family)
{
	struct node_options options = options_of("one");
	struct troupe_error error = {0};
	struct node *node = NULL;
	options.family = family;
	check(!node_create(&options, &node, &error), "a node of family %s: %s", family, error.text);
	return node;
}

/* Nodes of one family do not hear each other, whichever came first; all others hear them, and they all others. */
static void test_families(void)
{
	struct node *a = make_of("x"), *b = make_of("x"), *c = make_of("y"), *d = make("one");
	struct node_event event;
	subscribe(b, "/early", 0);
	subscribe(c, "/early", 0);
	subscribe(d, "/early", 0);
	struct node_publisher *early = advertise(a, "/early", "gz.msgs.Clock"),
			      *of_d = advertise(d, "/late", "gz.msgs.Clock"),
			      *late = advertise(a, "/late", "gz.msgs.Clock");
	check(wait_records(b, "/late", 2, COMES_MS), "a node of the family is not listed");
	subscribe(b, "/late", 0);
	subscribe(c, "/late", 0);
	check(wait_subscribers(early, 2) && wait_subscribers(late, 1) && wait_subscribers(of_d, 2),
		"%u, %u and %u subscribers", node_subscribers(early), node_subscribers(late), node_subscribers(of_d));
	publish_text(early, "one");
	publish_text(late, "two");
	publish_text(of_d, "three");
	expect_message(d, "/early", "gz.msgs.Clock", "one");
	expect_message(b, "/late", "gz.msgs.Clock", "three");
	check(!next_of(b, NODE_MESSAGE, &event, 200), "a node hears its own family");
	check(wait_subscribers(early, 2), "%u subscribers", node_subscribers(early));
	node_destroy(a);
	node_destroy(b);
	node_destroy(c);
	node_destroy(d);
}

static void test_slow_reader(void)
{
	struct node *a = make("one"), *b = make("one");
	struct node_publisher *publisher = advertise(a, "/fast", "gz.msgs.Clock"),
			      *other = advertise(a, "/other", "gz.msgs.Clock");
	struct node_subscription *slow = subscribe(b, "/fast", 10);
	subscribe(b, "/other", 0);
	char text[16];
	check(wait_subscribers(publisher, 1) && wait_subscribers(other, 1), "no subscriber");
	publish_text(other, "kept");
	for (int i = 0; i < 500; i++) {
		snprintf(text, sizeof text, "%03d", i);
		publish_text(publisher, text);
	}
	for (int i = 0; i < WAIT_MS && node_lost(slow) < 490; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	check(node_lost(slow) == 490, "%llu of 490 are lost", (unsigned long long)node_lost(slow));
	expect_message(b, "/other", "gz.msgs.Clock", "kept");
	for (int i = 490; i < 500; i++) {
		snprintf(text, sizeof text, "%03d", i);
		expect_message(b, "/fast", "gz.msgs.Clock", text);
	}
	node_destroy(a);
	node_destroy(b);
}

static void test_rate(void)
{
	struct node *a = make("one"), *b = make("one");
	struct troupe_error error;
	struct node_publisher *publisher;
	check(!node_advertise(a, "/rate", "gz.msgs.Clock", 100, NULL, &publisher, &error), "a rate");
	subscribe(b, "/rate", 0);
	check(wait_subscribers(publisher, 1), "no subscriber");
	/* a busy machine may take longer for these, but no less */
	enum { MANY = 30 };
	uint64_t begin_ns = clock_now_ns(), sent = 0;
	while (sent < MANY && clock_now_ns() < begin_ns + COMES_MS * MS)
		sent += node_publish(publisher, "x", 1) == NODE_SENT;
	uint64_t took_ms = (clock_now_ns() - begin_ns) / MS;
	check(sent == MANY && took_ms >= 10 * (MANY - 2), "%llu messages in %llu ms at 100 Hz",
		(unsigned long long)sent, (unsigned long long)took_ms);
	node_destroy(a);
	node_destroy(b);
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static uint64_t call(struct node *node, const char *service, const char *reply_type, const char *text, int timeout_ms)
{
	struct troupe_error error = {0};
	uint64_t number = 0;
	check(!node_call(node, service, "gz.msgs.StringMsg", reply_type, text, strlen(text), timeout_ms, NULL, &number,
		      &error),
		"call: %s", error.text);
	return number;
}

static void expect_reply(struct node *node, uint64_t number, enum node_outcome outcome, const char *text)
{
	struct node_event event;
	if (!next_of(node, NODE_REPLY, &event, COMES_MS)) {
		check(false, "no outcome");
		return;
	}
	check(event.number == number && event.outcome == outcome && event.count == strlen(text) &&
			!memcmp(event.bytes, text, event.count),
		"call %llu has outcome %d '%.*s' instead of %d '%s'", (unsigned long long)event.number, event.outcome,
		(int)event.count, event.bytes, outcome, text);
	node_event_fini(&event);
}

static void answer(struct node *node, const char *expected, bool good, const char *text)
{
	struct node_event event;
	if (!next_of(node, NODE_REQUEST, &event, COMES_MS)) {
		check(false, "no request '%s'", expected);
		return;
	}
	check(event.count == strlen(expected) && !memcmp(event.bytes, expected, event.count) && !event.one_way &&
			!strcmp(event.type, "gz.msgs.StringMsg") && !strcmp(event.reply_type, "gz.msgs.Boolean"),
		"request '%.*s' of %s instead of '%s'", (int)event.count, event.bytes, event.type, expected);
	check(node_reply(node, event.number, good, text, strlen(text)), "not answered");
	check(!node_reply(node, event.number, good, text, strlen(text)), "answered twice");
	node_event_fini(&event);
}

static void test_services(void)
{
	struct node *a = make("one"), *b = make("one");
	struct troupe_error error = {0};
	struct node_service *service = NULL;
	uint64_t number = call(b, "/ask", "gz.msgs.Boolean", "before", WAIT_MS);
	check(!node_offer(a, "/ask", "gz.msgs.StringMsg", "gz.msgs.Boolean", NULL, &service, &error), "offer: %s",
		error.text);
	answer(a, "before", true, "yes");
	expect_reply(b, number, NODE_REPLIED, "yes");
	number = call(b, "/ask", "gz.msgs.Boolean", "again", WAIT_MS);
	answer(a, "again", false, "");
	expect_reply(b, number, NODE_REFUSED, "");
	expect_reply(b, call(b, "/nobody", "gz.msgs.Boolean", "", 300), NODE_NOT_FOUND, "");
	expect_reply(b, call(b, "/ask", "gz.msgs.Pose", "", 300), NODE_NOT_FOUND, "");
	number = call(b, "/ask", "gz.msgs.Boolean", "silence", 300);
	expect_reply(b, number, NODE_TIMED_OUT, "");
	struct node_event event;
	check(next_of(a, NODE_REQUEST, &event, COMES_MS), "no request");
	check(node_reply(a, event.number, true, "late", 4), "a late reply");
	node_event_fini(&event);
	number = call(b, "/ask", "gz.msgs.Boolean", "withdrawn", WAIT_MS);
	for (int i = 0; i < WAIT_MS; i++) {
		struct node_counts counts;
		node_get_counts(a, &counts);
		if (counts.requests == 4)
			break;
		clock_sleep_until_ns(clock_now_ns() + MS);
	}
	node_withdraw(service);
	expect_reply(b, number, NODE_REFUSED, "");
	node_destroy(a);
	node_destroy(b);
}

static void test_one_way(void)
{
	struct node *a = make("one"), *b = make("one");
	struct troupe_error error;
	struct node_service *service;
	struct node_event event;
	check(!node_offer(a, "/tell", "gz.msgs.StringMsg", "gz.msgs.Empty", NULL, &service, &error), "offer");
	uint64_t number = call(b, "/tell", "gz.msgs.Empty", "it", WAIT_MS);
	expect_reply(b, number, NODE_REPLIED, "");
	check(next_of(a, NODE_REQUEST, &event, COMES_MS) && event.one_way && event.count == 2, "no one-way request");
	check(!node_reply(a, event.number, true, "", 0), "a reply to a one-way request");
	node_event_fini(&event);
	node_destroy(a);
	node_destroy(b);
}

static void test_many_calls(void)
{
	enum { CALLS = 1000 };
	struct node *a = make("one"), *b = make("one");
	struct troupe_error error;
	struct node_service *service;
	struct node_event event;
	uint32_t good = 0;
	check(!node_offer(a, "/ask", "gz.msgs.StringMsg", "gz.msgs.Boolean", NULL, &service, &error), "offer");
	for (int i = 0; i < CALLS; i++)
		call(b, "/ask", "gz.msgs.Boolean", "x", WAIT_MS);
	for (int i = 0; i < CALLS && next_of(a, NODE_REQUEST, &event, WAIT_MS); i++) {
		node_reply(a, event.number, true, "y", 1);
		node_event_fini(&event);
	}
	for (int i = 0; i < CALLS && next_of(b, NODE_REPLY, &event, WAIT_MS); i++) {
		good += event.outcome == NODE_REPLIED;
		node_event_fini(&event);
	}
	check(good == CALLS, "%u of %d calls are answered", good, CALLS);
	node_destroy(a);
	node_destroy(b);
}

/* Requests that nobody takes: the first NODE_REQUESTS_MAX wait, others are refused at once. */
static void test_request_flood(void)
{
	struct node *a = make("one"), *b = make("one"), *c = make("one");
	struct troupe_error error;
	struct node_service *service;
	struct node_event event;
	uint64_t number;
	check(!node_offer(a, "/ask", "gz.msgs.StringMsg", "gz.msgs.Boolean", NULL, &service, &error), "offer");
	for (int i = 0; i < NODE_CALLS_MAX; i++)
		call(b, "/ask", "gz.msgs.Boolean", "x", 10 * WAIT_MS);
	check(node_call(b, "/ask", "gz.msgs.StringMsg", "gz.msgs.Boolean", "", 0, 1000, NULL, &number, &error) ==
			TROUPE_ELIMIT,
		"calls without limit");
	struct node_counts counts = {0};
	for (int i = 0; i < 2 * WAIT_MS && counts.requests < NODE_REQUESTS_MAX; i++) {
		clock_sleep_until_ns(clock_now_ns() + MS);
		node_get_counts(a, &counts);
	}
	check(counts.requests == NODE_REQUESTS_MAX && !counts.requests_refused, "%llu requests, %llu refused",
		(unsigned long long)counts.requests, (unsigned long long)counts.requests_refused);
	expect_reply(c, call(c, "/ask", "gz.msgs.Boolean", "beyond", WAIT_MS), NODE_REFUSED, "");
	check(next_of(a, NODE_REQUEST, &event, COMES_MS) && node_reply(a, event.number, true, "", 0), "no answer");
	node_event_fini(&event);
	check(next_of(b, NODE_REPLY, &event, COMES_MS) && event.outcome == NODE_REPLIED, "no reply");
	node_event_fini(&event);
	node_destroy(b);
	node_destroy(a);
	node_destroy(c);
}

/* --- other processes ---------------------------------------------------------------------------------------------- */

static pid_t start_peer(const char *first, const char *second)
{
	char path[1024], topic_port[8], service_port[8];
	const char *folder = getenv("BUILD_DIR");
	snprintf(path, sizeof path, "%s/tests/gateway/gz_peer", folder ? folder : ".");
	snprintf(topic_port, sizeof topic_port, "%u", port);
	snprintf(service_port, sizeof service_port, "%u", port + 1u);
	pid_t child = fork();
	if (child)
		return child;
	setenv("GZ_PARTITION", "one", 1);
	setenv("GZ_DISCOVERY_MSG_PORT", topic_port, 1);
	setenv("GZ_DISCOVERY_SRV_PORT", service_port, 1);
	(void)!freopen("/dev/null", "w", stdout);
	if (*second)
		execl(path, path, first, second, "gz.msgs.Clock", "00", "10", "for", "120", (char *)NULL);
	else
		execl(path, path, "sub", first, "quiet", "for", "120", (char *)NULL);
	_exit(127);
}

static void end_peer(pid_t child)
{
	kill(child, SIGKILL);
	kill(child, SIGCONT);
	waitpid(child, NULL, 0);
}

/* A subscriber that is stopped costs only its own messages; one that is killed is gone. */
static void test_stopped(void)
{
	static char bytes[STREAM_BYTES];
	struct node *a = make("one"), *b = make("one");
	struct node_publisher *publisher = advertise(a, "/stream", "gz.msgs.Image");
	pid_t child = start_peer("/stream", "");
	uint64_t longest_ns = 0, got = 0;
	struct node_event event;
	subscribe(b, "/stream", STREAM);
	check(wait_subscribers(publisher, 2), "two subscribers are %u", node_subscribers(publisher));
	kill(child, SIGSTOP);
	for (int i = 0; i < STREAM; i++) {
		uint64_t begin_ns = clock_now_ns();
		memcpy(bytes, &i, sizeof i);
		check(node_publish(publisher, bytes, sizeof bytes) == NODE_SENT, "message %d", i);
		longest_ns = MAX(longest_ns, clock_now_ns() - begin_ns);
		if (i % 50 == 49)
			clock_sleep_until_ns(clock_now_ns() + 5 * MS);
	}
	check(longest_ns < 1000 * MS, "publishing took %llu ms", (unsigned long long)(longest_ns / MS));
	while (got < STREAM && next_of(b, NODE_MESSAGE, &event, WAIT_MS)) {
		int number;
		memcpy(&number, event.bytes, sizeof number);
		check(number == (int)got, "message %d comes as number %llu", number, (unsigned long long)got);
		got++;
		node_event_fini(&event);
	}
	check(got == STREAM, "beside a stopped subscriber another gets %llu of %d messages", (unsigned long long)got,
		STREAM);
	check(node_subscribers(publisher) == 2, "a stopped subscriber is gone");
	end_peer(child);
	check(wait_subscribers(publisher, 1), "a killed subscriber is still there");
	node_destroy(a);
	node_destroy(b);
}

static void test_vanished(void)
{
	struct node *a = make("one");
	pid_t child = start_peer("pub", "/gone");
	check(wait_records(a, "/gone", 1, WAIT_MS), "a publisher in another process is not listed");
	subscribe(a, "/gone", 0);
	struct node_event event;
	check(next_of(a, NODE_MESSAGE, &event, COMES_MS), "no message of another process");
	node_event_fini(&event);
	uint64_t begin_ns = clock_now_ns();
	end_peer(child);
	check(wait_records(a, "/gone", 0, 6000), "a killed publisher stays listed");
	check(clock_now_ns() - begin_ns > 1500 * MS, "a silent publisher is removed too early");
	child = start_peer("pub", "/gone");
	check(next_of(a, NODE_MESSAGE, &event, COMES_MS), "a publisher that came back is not heard");
	node_event_fini(&event);
	kill(child, SIGTERM);
	check(wait_records(a, "/gone", 0, 1500), "a publisher that said goodbye stays listed");
	waitpid(child, NULL, 0);
	node_destroy(a);
}

/* --- many --------------------------------------------------------------------------------------------------------- */

/* As gz-transport's own subscribers, over ZeroMQ. */
static void test_many_subscribers(void)
{
	struct node *a = make("one");
	struct node_publisher *publisher = advertise(a, "/many", "gz.msgs.Clock");
	void *zmq = zmq_ctx_new(), *sockets[SUBSCRIBERS];
	char address[64], bytes[64];
	uint32_t good = 0;
	find_address(a, "/many", address);
	for (int i = 0; i < SUBSCRIBERS; i++) {
		int limit_ms = WAIT_MS, linger = 0;
		sockets[i] = zmq_socket(zmq, ZMQ_SUB);
		zmq_setsockopt(sockets[i], ZMQ_RCVTIMEO, &limit_ms, sizeof limit_ms);
		zmq_setsockopt(sockets[i], ZMQ_LINGER, &linger, sizeof linger);
		zmq_setsockopt(sockets[i], ZMQ_SUBSCRIBE, "@/one@/many", 11);
		zmq_connect(sockets[i], address);
	}
	check(wait_subscribers(publisher, SUBSCRIBERS), "%d subscribers are %u", SUBSCRIBERS,
		node_subscribers(publisher));
	publish_text(publisher, "all");
	for (int i = 0; i < SUBSCRIBERS; i++) {
		int topic = zmq_recv(sockets[i], bytes, sizeof bytes, 0);
		int from = zmq_recv(sockets[i], bytes, sizeof bytes, 0);
		bool from_good = from == (int)strlen(address) && !memcmp(bytes, address, (size_t)from);
		int text = zmq_recv(sockets[i], bytes, sizeof bytes, 0);
		int type = zmq_recv(sockets[i], bytes, sizeof bytes, 0);
		good += topic == 11 && from_good && text == 3 && type == 19 &&
			!memcmp(bytes, "ignition.msgs.Clock", 19);
	}
	check(good == SUBSCRIBERS, "%u of %d subscribers got the message", good, SUBSCRIBERS);
	for (int i = 0; i < SUBSCRIBERS; i++)
		zmq_close(sockets[i]);
	check(wait_subscribers(publisher, 0), "subscribers that left are still %u", node_subscribers(publisher));
	zmq_ctx_term(zmq);
	node_destroy(a);
}

static int connect_to(const char *address)
{
	unsigned number = 0;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (sscanf(address, "tcp://127.0.0.1:%u", &number) != 1)
		return -1;
	to.sin_port = htons((uint16_t)number);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	(void)!connect(fd, (struct sockaddr *)&to, sizeof to);
	return fd;
}

/* As a subscriber of ZMTP 3.0 does it: otherwise ZeroMQ ends the connection by itself after some seconds. */
static void greet(int fd)
{
	static const char ready[] = "\x04\x19\x05READY\x0bSocket-Type\0\0\0\x03SUB";
	char bytes[64 + sizeof ready - 1] = "\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL";
	struct pollfd connected = {.fd = fd, .events = POLLOUT};
	memcpy(bytes + 64, ready, sizeof ready - 1);
	(void)poll(&connected, 1, WAIT_MS);
	(void)send(fd, bytes, sizeof bytes, MSG_NOSIGNAL);
}

/* How many of the connections the other side has ended. */
static int count_cut(const int *fds, int count)
{
	int cut = 0;
	for (int i = 0; i < count; i++) {
		char byte[64];
		ssize_t got = 1;
		while (got > 0) /* its greeting */
			got = recv(fds[i], byte, sizeof byte, MSG_DONTWAIT);
		cut += !got || (errno != EAGAIN && errno != EWOULDBLOCK);
	}
	return cut;
}

static struct node *make_with_few_connections(uint32_t most)
{
	struct node_options options = options_of("one");
	struct troupe_error error;
	struct node *node = NULL;
	options.connections_max = most;
	if (!node_create(&options, &node, &error))
		return node;
	printf("no node: %s\n0 passed, 1 failed\n", error.text);
	exit(1);
}

/* More connections than the limit: further ones are cut, those that were there stay, and others can come when the flood
 * is over. */
static void test_connections(void)
{
	enum { FLOOD = 420, MOST = 200 };
	struct node *a = make_with_few_connections(MOST), *b = make("one");
	struct node_publisher *publisher = advertise(a, "/busy", "gz.msgs.Clock");
	char address[64];
	int fds[FLOOD];
	struct node_counts counts;
	subscribe(b, "/busy", 0);
	check(wait_subscribers(publisher, 1), "no subscriber");
	find_address(a, "/busy", address);
	for (int i = 0; i < FLOOD; i++)
		fds[i] = connect_to(address);
	publish_text(publisher, "still");
	expect_message(b, "/busy", "gz.msgs.Clock", "still");
	for (int i = 0; i < FLOOD; i++)
		greet(fds[i]);
	for (int i = 0; i < COMES_MS && count_cut(fds, FLOOD) < FLOOD + 1 - MOST; i++)
		clock_sleep_until_ns(clock_now_ns() + MS);
	check(count_cut(fds, FLOOD) == FLOOD + 1 - MOST, "%d connections were cut", count_cut(fds, FLOOD));
	check(node_subscribers(publisher) == 1, "the subscriber was cut as well");
	publish_text(publisher, "and still");
	expect_message(b, "/busy", "gz.msgs.Clock", "and still");
	for (int i = 0; i < FLOOD; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	node_get_counts(a, &counts);
	for (int i = 0; i < COMES_MS && counts.connections > 8; i++) {
		clock_sleep_until_ns(clock_now_ns() + MS);
		node_get_counts(a, &counts);
	}
	check(counts.connections <= 8, "%u connections are left", counts.connections);
	struct node *c = make("one");
	subscribe(c, "/busy", 0);
	check(wait_subscribers(publisher, 2), "nobody can subscribe any more");
	node_destroy(a);
	node_destroy(b);
	node_destroy(c);
}

/* --- hostile datagrams -------------------------------------------------------------------------------------------- */

static void send_datagram(const void *bytes, size_t count, uint16_t to_port)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(to_port)};
	struct in_addr loopback = {htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	to.sin_addr.s_addr = inet_addr("239.255.0.7");
	setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &loopback, sizeof loopback);
	(void)!sendto(fd, bytes, count, 0, (struct sockaddr *)&to, sizeof to);
	close(fd);
}

static void advertise_as(const char *process, const char *owner, const char *topic, const char *address)
{
	struct text out = {0};
	struct beacon beacon = {.version = BEACON_VERSION,
		.kind = BEACON_ADVERTISE,
		.process = beacon_text_of(process),
		.has_publisher = true,
		.topic = beacon_text_of(topic),
		.address = beacon_text_of(address),
		.owner = beacon_text_of(owner),
		.node = beacon_text_of("n"),
		.scope = BEACON_ALL,
		.type = beacon_text_of("gz.msgs.Clock")};
	beacon_encode(&beacon, &out);
	send_datagram(out.at, out.count, port);
	text_fini(&out);
}

static void test_datagrams(void)
{
	struct node *a = make("one");
	char junk[300];
	uint64_t state = 1;
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof junk; k++)
			junk[k] = (char)random_bits(&state);
		uint16_t length = (uint16_t)(sizeof junk - 2);
		if (i % 2)
			memcpy(junk, &length, sizeof length);
		send_datagram(junk, sizeof junk, (uint16_t)(port + i % 2));
	}
	advertise_as("p", "p", "@/one@/good", "tcp://127.0.0.1:9");
	advertise_as("p", "q", "@/one@/of_another", "tcp://127.0.0.1:9");
	advertise_as("p", "p", "@/one@/elsewhere", "tcp://192.0.2.77:9");
	advertise_as("p", "p", "@/one@/file", "ipc:///tmp/x");
	advertise_as("p", "p", "@/two@/foreign", "tcp://127.0.0.1:9");
	advertise_as("p", "p", "@/one@/\033[2J", "tcp://127.0.0.1:9");
	check(wait_records(a, "/good", 1, WAIT_MS), "a good datagram after bad ones is not taken");
	clock_sleep_until_ns(clock_now_ns() + 100 * MS);
	struct node_counts counts;
	node_get_counts(a, &counts);
	check(counts.records == 1, "%u records of one that is good", counts.records);
	check(counts.datagrams_dropped > 100, "%llu datagrams dropped", (unsigned long long)counts.datagrams_dropped);
	for (int i = 0; i < 3000; i++) {
		snprintf(junk, sizeof junk, "process%d", i);
		advertise_as(junk, junk, "@/one@/many", "tcp://127.0.0.1:9");
	}
	node_get_counts(a, &counts);
	check(counts.processes <= 1024, "%u processes", counts.processes);
	subscribe(a, "/many", 0);
	check(wait_records(a, "/many", 0, 8000), "a flood of processes stays");
	node_destroy(a);
}

/* --- settings ----------------------------------------------------------------------------------------------------- */

static void refuse(struct node_options options, const char *what)
{
	struct node *node = NULL;
	struct troupe_error error = {0};
	check(node_create(&options, &node, &error) == TROUPE_EINVAL && *error.text && !node, "%s is taken", what);
}

static void test_options(void)
{
	refuse((struct node_options){.partition = "a b"}, "a partition with a blank");
	refuse((struct node_options){.address = "localhost"}, "a name as an address");
	refuse((struct node_options){.group = "10.0.0.1"}, "a group that is none");
	refuse((struct node_options){.topic_port = 5, .service_port = 5}, "one port for both");
	refuse((struct node_options){.relays = "1.2.3.4:x"}, "a bad relay");
	refuse((struct node_options){.username = "me"}, "a name without a password");
	struct node_options options = {0};
	struct troupe_error error;
	setenv("IGN_PARTITION", "old", 1);
	setenv("IGN_DISCOVERY_MSG_PORT", "4000", 1);
	check(!node_options_read_environment(&options, &error) && !strcmp(options.partition, "old") &&
			options.topic_port == 4000,
		"the older names are not read");
	setenv("GZ_PARTITION", "", 1);
	setenv("GZ_DISCOVERY_MSG_PORT", "no", 1);
	check(node_options_read_environment(&options, &error) == TROUPE_EINVAL && options.topic_port == 4000,
		"a port that is no number is taken");
	setenv("GZ_DISCOVERY_MSG_PORT", "4002", 1);
	check(!node_options_read_environment(&options, &error) && !*options.partition && options.topic_port == 4002,
		"the newer names do not come first");
	unsetenv("IGN_PARTITION");
	unsetenv("IGN_DISCOVERY_MSG_PORT");
	unsetenv("GZ_PARTITION");
	unsetenv("GZ_DISCOVERY_MSG_PORT");
}

static void test_secret(void)
{
	struct node_options options = options_of("one");
	struct node *a, *b, *c;
	struct troupe_error error;
	options.username = "me";
	options.password = "secret";
	check(!node_create(&options, &a, &error) && !node_create(&options, &b, &error), "no node with a password");
	options.password = "guess";
	check(!node_create(&options, &c, &error), "no node with another password");
	struct node_publisher *publisher = advertise(a, "/secret", "gz.msgs.Clock");
	subscribe(c, "/secret", 0);
	subscribe(b, "/secret", 0);
	check(wait_subscribers(publisher, 1), "one with the password is %u", node_subscribers(publisher));
	publish_text(publisher, "psst");
	expect_message(b, "/secret", "gz.msgs.Clock", "psst");
	struct node_event event;
	check(!next_of(c, NODE_MESSAGE, &event, 300) && node_subscribers(publisher) == 1, "a wrong password is taken");
	node_destroy(a);
	node_destroy(b);
	node_destroy(c);
}

/* What was published is sent, also when the node ends at once. */
static void test_last_words(void)
{
	struct node *a = make("one"), *b = make("one");
	struct node_publisher *publisher = advertise(a, "/last", "gz.msgs.Clock");
	subscribe(b, "/last", 0);
	check(wait_subscribers(publisher, 1), "no subscriber");
	publish_text(publisher, "words");
	node_destroy(a);
	expect_message(b, "/last", "gz.msgs.Clock", "words");
	node_destroy(b);
}

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	{"topics", test_topics},
	{"two_publishers", test_two_publishers},
	{"families", test_families},
	{"slow_reader", test_slow_reader},
	{"rate", test_rate},
	{"services", test_services},
	{"one_way", test_one_way},
	{"many_calls", test_many_calls},
	{"request_flood", test_request_flood},
	{"stopped", test_stopped},
	{"vanished", test_vanished},
	{"many_subscribers", test_many_subscribers},
	{"connections", test_connections},
	{"datagrams", test_datagrams},
	{"options", test_options},
	{"secret", test_secret},
	{"last_words", test_last_words},
};

int main(int argc, char **argv)
{
	/* below those that the system gives to programs */
	port = (uint16_t)(10000 + (unsigned)getpid() % 11000 * 2);
	for (size_t i = 0; i < ARRAY_LEN(tests); i++) {
		if (argc > 1 && strcmp(argv[1], tests[i].name) != 0)
			continue;
		uint64_t begin_ns = clock_now_ns();
		snprintf(check_where, sizeof check_where, "%s: ", tests[i].name);
		tests[i].run();
		printf("%s: %.2f s\n", tests[i].name, (double)(clock_now_ns() - begin_ns) / 1e9);
		fflush(stdout);
	}
	return check_totals();
}
