/* A small program on gateway/gz/node.h, for scripts: does what its arguments say until it is stopped or its time is up,
 * and prints a line for each thing that happens.
 *
 *   gz_peer [THING ...]
 *     pub TOPIC TYPE HEX HZ        publish these bytes so often (0: once for each new subscriber)
 *     pubs COUNT TYPE HEX HZ       the same for topics /t0, /t1, ... at once
 *     sub TOPIC                    print what comes: "message TOPIC TYPE HEX"
 *     subs COUNT                   the same for /t0, /t1, ...
 *     offer SERVICE TYPE TYPE HEX  answer with these bytes: "request SERVICE TYPE HEX"; HEX "refuse" refuses
 *     call SERVICE TYPE TYPE HEX   call once: "reply OUTCOME HEX"
 *     for SECONDS                  how long
 *     messages COUNT               end when so many messages have come
 *     gz                           advertise gz.msgs types
 *     quiet                        count messages instead of printing them
 * At the end it prints "counts ..." with what the node counted. */
#include "base/clock.h"
#include "gateway/gz/node.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THINGS_MAX = 8192, BYTES_MAX = 1 << 16 };

struct publishing {
	struct node_publisher *publisher;
	char *bytes;
	size_t count;
	uint64_t period_ns, due_ns;
	uint64_t sent;
};

struct offering {
	struct node_service *service;
	char *bytes;
	size_t count;
	bool good;
};

static struct node *node;
static struct publishing publishings[THINGS_MAX];
static struct offering offerings[THINGS_MAX];
static uint32_t publishing_count, offering_count;
static uint64_t messages, messages_max = UINT64_MAX, end_ns = UINT64_MAX;
static bool quiet;
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static void must(troupe_status status, const struct troupe_error *error)
{
	if (!status)
		return;
	fprintf(stderr, "gz_peer: %s\n", error->text);
	exit(1);
}

static char *from_hex(const char *text, size_t *ret_count)
{
	size_t count = strlen(text) / 2;
	char *bytes = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++) {
		unsigned byte = 0;
		if (sscanf(text + 2 * i, "%2x", &byte) != 1)
			exit(2);
		bytes[i] = (char)byte;
	}
	*ret_count = count;
	return bytes;
}

static void print_hex(const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		printf("%02x", (unsigned char)bytes[i]);
	printf("\n");
	fflush(stdout);
}

static void publish(const char *topic, const char *type, const char *hex, const char *hz)
{
	struct troupe_error error;
	struct publishing *at = &publishings[publishing_count++];
	double rate = atof(hz);
	at->bytes = from_hex(hex, &at->count);
	at->period_ns = rate > 0 ? (uint64_t)(1e9 / rate) : 0;
	must(node_advertise(node, topic, type, 0, at, &at->publisher, &error), &error);
}

static void subscribe(const char *topic)
{
	struct troupe_error error;
	struct node_subscription *subscription;
	must(node_subscribe(node, topic, 0, NULL, &subscription, &error), &error);
}

static void offer(char **argv)
{
	struct troupe_error error;
	struct offering *at = &offerings[offering_count++];
	at->good = strcmp(argv[4], "refuse") != 0;
	at->bytes = at->good ? from_hex(argv[4], &at->count) : NULL;
	must(node_offer(node, argv[1], argv[2], argv[3], at, &at->service, &error), &error);
}

static void call(char **argv)
{
	struct troupe_error error;
	size_t count;
	char *bytes = from_hex(argv[4], &count);
	uint64_t number;
	must(node_call(node, argv[1], argv[2], argv[3], bytes, count, 5000, NULL, &number, &error), &error);
	free(bytes);
}

static void handle(struct node_event *event)
{
	static const char *const outcomes[] = {"replied", "refused", "late", "nobody"};
	struct offering *offering = event->ctx;
	struct publishing *publishing = event->ctx;
	switch (event->kind) {
	case NODE_MESSAGE:
		messages++;
		if (quiet)
			break;
		printf("message %s %s ", event->topic, event->type);
		print_hex(event->bytes, event->count);
		break;
	case NODE_REQUEST:
		printf("request %s %s %s ", event->topic, event->type, event->one_way ? "one-way" : "two-way");
		print_hex(event->bytes, event->count);
		if (!event->one_way)
			node_reply(node, event->number, offering->good, offering->bytes, offering->count);
		break;
	case NODE_REPLY:
		printf("reply %s ", outcomes[event->outcome]);
		print_hex(event->bytes, event->count);
		break;
	case NODE_SUBSCRIBERS:
		if (!quiet)
			printf("subscribers %s %llu\n", event->topic, (unsigned long long)event->number);
		fflush(stdout);
		if (!publishing->period_ns && event->number)
			publishing->sent +=
				node_publish(publishing->publisher, publishing->bytes, publishing->count) == NODE_SENT;
		break;
	}
	node_event_fini(event);
}

static uint64_t publish_due(uint64_t now_ns)
{
	uint64_t due_ns = now_ns + 100000000;
	for (uint32_t i = 0; i < publishing_count; i++) {
		struct publishing *at = &publishings[i];
		if (!at->period_ns)
			continue;
		if (now_ns >= at->due_ns) {
			at->sent += node_publish(at->publisher, at->bytes, at->count) == NODE_SENT;
			at->due_ns = now_ns + at->period_ns;
		}
		due_ns = at->due_ns < due_ns ? at->due_ns : due_ns;
	}
	return due_ns;
}

static int take_thing(char **argv)
{
	char name[32];
	if (!strcmp(*argv, "pub"))
		return publish(argv[1], argv[2], argv[3], argv[4]), 5;
	if (!strcmp(*argv, "pubs")) {
		for (int i = 0; i < atoi(argv[1]); i++) {
			snprintf(name, sizeof name, "/t%d", i);
			publish(name, argv[2], argv[3], argv[4]);
		}
		return 5;
	}
	if (!strcmp(*argv, "sub"))
		return subscribe(argv[1]), 2;
	if (!strcmp(*argv, "subs")) {
		for (int i = 0; i < atoi(argv[1]); i++) {
			snprintf(name, sizeof name, "/t%d", i);
			subscribe(name);
		}
		return 2;
	}
	if (!strcmp(*argv, "offer"))
		return offer(argv), 5;
	if (!strcmp(*argv, "call"))
		return call(argv), 5;
	if (!strcmp(*argv, "for"))
		return end_ns = clock_now_ns() + (uint64_t)(atof(argv[1]) * 1e9), 2;
	if (!strcmp(*argv, "messages"))
		return messages_max = strtoul(argv[1], NULL, 10), 2;
	if (!strcmp(*argv, "quiet"))
		return quiet = true, 1;
	return !strcmp(*argv, "gz") ? 1 : 0;
}

static void print_counts(void)
{
	struct node_counts counts;
	node_get_counts(node, &counts);
	printf("counts messages %llu sent %llu lost %llu processes %u records %u connections %u\n",
		(unsigned long long)messages, (unsigned long long)counts.sent, (unsigned long long)counts.lost,
		counts.processes, counts.records, counts.connections);
}

int main(int argc, char **argv)
{
	struct troupe_error error;
	struct node_options options = {0};
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "gz"))
			options.generation = NODE_GZ;
	must(node_options_read_environment(&options, &error), &error);
	must(node_create(&options, &node, &error), &error);
	for (int i = 1, used; i < argc; i += used)
		if (!(used = take_thing(argv + i)) || i + used > argc)
			return 2;
	struct text line = {0};
	node_describe(node, &line);
	printf("ready: %s\n", line.at);
	fflush(stdout);
	text_fini(&line);
	while (!stopped && clock_now_ns() < end_ns && messages < messages_max) {
		uint64_t now_ns = clock_now_ns(), due_ns = publish_due(now_ns);
		struct node_event event;
		if (node_next(node, (int)((due_ns > now_ns ? due_ns - now_ns : 0) / 1000000), &event))
			handle(&event);
	}
	print_counts();
	node_destroy(node);
	for (uint32_t i = 0; i < publishing_count; i++)
		free(publishings[i].bytes);
	for (uint32_t i = 0; i < offering_count; i++)
		free(offerings[i].bytes);
	return 0;
}
