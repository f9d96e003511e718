/* `troupe topic`: lists, echoes, measures and publishes topics of gz-transport, with the options of `gz topic` where it
 * has them. For scripts the exit status says whether anything came or was there, and no action waits longer than it is
 * told: `pub` waits until a subscriber is connected, so that its message is not lost. */
#include "cli/cli.h"
#include "cli/gz.h"
#include "cli/signals.h"

#include "base/clock.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define SECONDS_MAX 1e6
enum { COUNT_MAX = 1000000000, LINGER_MS = 2000 };

struct topic_settings {
	struct gz_settings gz;
	const char *topic, *type, *text;
	int64_t count;
	double duration_s, timeout_s, rate_hz;
	bool raw;
};

#define TOPIC_AT(member) offsetof(struct topic_settings, member)
#define TOPIC_OPTIONS                                                                                                  \
	{OPTION_OPERAND, .name = "name", .argument = "TOPIC", .offset = TOPIC_AT(topic), .unless = "topic"},           \
		{OPTION_HEADING, .help = "Options"},                                                                   \
	{                                                                                                              \
		OPTION_TEXT, 't', "topic", "TOPIC", TOPIC_AT(topic), .help = "the topic, instead of the argument"      \
	}

/* --- list and info ------------------------------------------------------------------------------------------------ */

static const struct option_spec topic_list_specs[] = {
	{OPTION_HEADING, .help = "Options"},
	GZ_JSON_OPTION(struct topic_settings, "print a JSON array"),
	GZ_OPTIONS(struct topic_settings),
	OPTIONS_HELP,
};

static const struct options_command topic_list_command = {
	.name = "topic list",
	.usage = "troupe topic list [OPTIONS]",
	.about = "List the topics that are published in the partition, one in each line. It takes 1.3 s, because "
		 "publishers repeat once in a second what they have.",
	.after = "Exit status\n  0 there are topics; 1 there are none, or no network; 2 wrong usage\n",
	.specs = topic_list_specs,
	.spec_count = ARRAY_LEN(topic_list_specs),
};

static const struct option_spec topic_info_specs[] = {
	TOPIC_OPTIONS,
	GZ_JSON_OPTION(struct topic_settings, "print a JSON array of publishers"),
	GZ_OPTIONS(struct topic_settings),
	OPTIONS_HELP,
};

static const struct options_command topic_info_command = {
	.name = "topic info",
	.usage = "troupe topic info [OPTIONS] TOPIC",
	.about = "Print the publishers of a topic: the address and the type of messages of each.",
	.after = "Exit status\n  0 printed; 1 there is no publisher, or no network; 2 wrong usage\n",
	.specs = topic_info_specs,
	.spec_count = ARRAY_LEN(topic_info_specs),
};

static int topic_list(void *settings, struct arena *arena)
{
	const struct topic_settings *given = settings;
	(void)arena;
	return gz_list("topic list", &given->gz, false);
}

static int topic_info(void *settings, struct arena *arena)
{
	const struct topic_settings *given = settings;
	(void)arena;
	return gz_info("topic info", &given->gz, false, given->topic);
}

/* --- echo and hz -------------------------------------------------------------------------------------------------- */

#define COUNT_OPTION                                                                                                   \
	{                                                                                                              \
		OPTION_WHOLE, 'n', "num", "N", TOPIC_AT(count), .lo = 1, .hi = COUNT_MAX,                              \
								.help = "end after so many messages"                   \
	}
#define DURATION_OPTION                                                                                                \
	{                                                                                                              \
		OPTION_REAL, 'd', "duration", "S", TOPIC_AT(duration_s), .lo = 0, .hi = SECONDS_MAX,                   \
									 .help = "end after so many seconds"           \
	}
#define SILENCE_OPTION                                                                                                 \
	{                                                                                                              \
		OPTION_REAL, .name = "timeout", .argument = "S", .offset = TOPIC_AT(timeout_s), .lo = 0,               \
			     .hi = SECONDS_MAX, .help = "end when no message has come for so many seconds"             \
	}

static const struct option_spec topic_echo_specs[] = {
	TOPIC_OPTIONS,
	COUNT_OPTION,
	DURATION_OPTION,
	SILENCE_OPTION,
	GZ_JSON_OPTION(struct topic_settings, "print each message as one line of JSON"),
	{OPTION_FLAG, .name = "raw", .offset = TOPIC_AT(raw), .help = "print the bytes of each message in hexadecimal"},
	GZ_OPTIONS(struct topic_settings),
	OPTIONS_HELP,
};

static const struct options_command topic_echo_command = {
	.name = "topic echo",
	.usage = "troupe topic echo [OPTIONS] TOPIC",
	.about = "Print the messages of a topic as they come, of publishers that are there or will come. An empty line "
		 "follows each. A message of a type that troupe does not know is printed in hexadecimal.",
	.after = "Exit status\n  0 a message has come (with -n: all of them); 1 too few have come, or no\n"
		 "  network; 2 wrong usage\n",
	.specs = topic_echo_specs,
	.spec_count = ARRAY_LEN(topic_echo_specs),
};

static const struct option_spec topic_hz_specs[] = {
	TOPIC_OPTIONS,
	COUNT_OPTION,
	DURATION_OPTION,
	SILENCE_OPTION,
	GZ_JSON_OPTION(struct topic_settings, "print each line as JSON"),
	GZ_OPTIONS(struct topic_settings),
	OPTIONS_HELP,
};

static const struct options_command topic_hz_command = {
	.name = "topic hz",
	.usage = "troupe topic hz [OPTIONS] TOPIC",
	.about =
		"Measure how often messages come on a topic, in real time. Prints a line in each second and one at the "
		"end: the mean rate since the first message, and the shortest and the longest time between two.",
	.after = "Exit status\n  0 two messages have come (with -n: all of them); 1 too few have come, or no\n"
		 "  network; 2 wrong usage\n",
	.specs = topic_hz_specs,
	.spec_count = ARRAY_LEN(topic_hz_specs),
};

/* What hz has seen. */
struct pace {
	uint64_t count, first_ns, last_ns, shortest_ns, longest_ns, bytes, print_ns;
};

static void topic_pace_add(struct pace *pace, size_t bytes)
{
	uint64_t now_ns = clock_now_ns();
	if (!pace->count) {
		*pace = (struct pace){.first_ns = now_ns, .shortest_ns = UINT64_MAX, .print_ns = now_ns + SECOND_NS};
	} else {
		pace->shortest_ns = MIN(pace->shortest_ns, now_ns - pace->last_ns);
		pace->longest_ns = MAX(pace->longest_ns, now_ns - pace->last_ns);
	}
	pace->last_ns = now_ns;
	pace->bytes += bytes;
	pace->count++;
}

static void topic_pace_print(const struct pace *pace, bool json)
{
	if (pace->count < 2)
		return;
	double span_s = (double)(pace->last_ns - pace->first_ns) / 1e9;
	double rate_hz = span_s > 0 ? (double)(pace->count - 1) / span_s : 0;
	double shortest_s = (double)pace->shortest_ns / 1e9, longest_s = (double)pace->longest_ns / 1e9;
	double mean_bytes = (double)pace->bytes / (double)pace->count;
	unsigned long long count = pace->count;
	if (json)
		printf("{\"rate_hz\": %.6g, \"shortest_s\": %.6f, \"longest_s\": %.6f, \"messages\": %llu, "
		       "\"mean_bytes\": %.6g}\n",
			rate_hz, shortest_s, longest_s, count, mean_bytes);
	else
		printf("%.6g Hz, %.6f to %.6f s apart, %llu messages of %.6g bytes\n", rate_hz, shortest_s, longest_s,
			count, mean_bytes);
	fflush(stdout);
}

static void topic_print_message(const struct topic_settings *settings, const struct node_event *event)
{
	struct text out = {0};
	gz_add_message(&out, event->type, event->bytes, event->count, settings->gz.json, settings->raw);
	text_add(&out, "\n");
	fwrite(out.at, 1, out.count, stdout);
	fflush(stdout);
	text_fini(&out);
}

static void topic_handle_message(
	const struct topic_settings *settings, const struct node_event *event, struct pace *pace)
{
	if (!pace) {
		topic_print_message(settings, event);
		return;
	}
	topic_pace_add(pace, event->count);
	if (clock_now_ns() >= pace->print_ns) {
		topic_pace_print(pace, settings->gz.json);
		pace->print_ns += SECOND_NS;
	}
}

/* The messages that came. */
static uint64_t topic_follow(struct node *node, const struct topic_settings *settings, struct pace *pace)
{
	uint64_t end_ns = settings->duration_s > 0 ? gz_after_ns(settings->duration_s) : UINT64_MAX;
	uint64_t silent_ns = settings->timeout_s > 0 ? gz_after_ns(settings->timeout_s) : UINT64_MAX;
	uint64_t count = 0, wanted = settings->count ? (uint64_t)settings->count : UINT64_MAX;
	struct node_event event;
	while (count < wanted && gz_next(node, MIN(end_ns, silent_ns), &event)) {
		if (event.kind == NODE_MESSAGE) {
			topic_handle_message(settings, &event, pace);
			count++;
			if (settings->timeout_s > 0)
				silent_ns = gz_after_ns(settings->timeout_s);
		}
		node_event_fini(&event);
	}
	return count;
}

static int topic_receive(const char *command, const struct topic_settings *settings, struct pace *pace)
{
	struct node *node;
	struct node_subscription *subscription;
	struct troupe_error error;
	int status = gz_open(command, &settings->gz, -1, &node);
	if (status)
		return status;
	if (node_subscribe(node, settings->topic, 0, NULL, &subscription, &error)) {
		cli_complain(command, "%s", error.text);
		node_destroy(node);
		return CLI_BAD_USAGE;
	}
	uint64_t count = topic_follow(node, settings, pace), least = pace ? 2 : 1;
	if (settings->count)
		least = (uint64_t)settings->count;
	if (pace)
		topic_pace_print(pace, settings->gz.json);
	uint64_t lost = node_lost(subscription);
	if (lost)
		cli_complain(command, "%llu messages were lost: they came faster than they were printed",
			(unsigned long long)lost);
	if (count < least)
		cli_complain(command, "%s: %llu messages came: expected %llu", settings->topic,
			(unsigned long long)count, (unsigned long long)least);
	node_destroy(node);
	return count < least ? CLI_BAD_INPUT : CLI_DONE;
}

static int topic_echo(void *settings, struct arena *arena)
{
	(void)arena;
	return topic_receive("topic echo", settings, NULL);
}

static int topic_hz(void *settings, struct arena *arena)
{
	struct pace pace = {0};
	(void)arena;
	return topic_receive("topic hz", settings, &pace);
}

/* --- pub ---------------------------------------------------------------------------------------------------------- */

static const struct option_spec topic_pub_specs[] = {
	TOPIC_OPTIONS,
	{OPTION_TEXT, 'm', "msgtype", "TYPE", TOPIC_AT(type),
		.help = "the type of the message: gz.msgs.Twist, or Twist"},
	{OPTION_TEXT, 'p', "pub", "TEXT", TOPIC_AT(text), .help = "the message: 'linear: {x: 1}'"},
	{OPTION_WHOLE, 'n', "num", "N", TOPIC_AT(count), .lo = 1, .hi = COUNT_MAX,
		.help = "publish it so often (default: 1)"},
	{OPTION_REAL, 'r', "rate", "HZ", TOPIC_AT(rate_hz), .lo = 0.001, .hi = 100000,
		.help = "so many in a second (default: 1)"},
	{OPTION_REAL, .name = "timeout", .argument = "S", .offset = TOPIC_AT(timeout_s), .lo = 0, .hi = SECONDS_MAX,
		.help = "wait so long for a subscriber (default: 5)"},
	GZ_JSON_OPTION(struct topic_settings, "the message is given as JSON"),
	{OPTION_FLAG, .name = "raw", .offset = TOPIC_AT(raw),
		.help = "the message is given as bytes in hexadecimal, of a type of any name"},
	GZ_OPTIONS(struct topic_settings),
	OPTIONS_HELP,
};

static const struct options_command topic_pub_command = {
	.name = "topic pub",
	.usage = "troupe topic pub [OPTIONS] TOPIC",
	.about = "Publish a message on a topic, as soon as a subscriber is connected.",
	.after = "Exit status\n  0 published; 1 no subscriber came, the message is not of its type, or no\n"
		 "  network; 2 wrong usage\n",
	.specs = topic_pub_specs,
	.spec_count = ARRAY_LEN(topic_pub_specs),
};

static bool topic_await_subscriber(struct node *node, struct node_publisher *publisher, uint64_t end_ns)
{
	struct node_event event;
	while (!node_subscribers(publisher) && gz_next(node, end_ns, &event))
		node_event_fini(&event);
	return node_subscribers(publisher) > 0;
}

/* At least one subscriber is there. Without the last one the rest is not published, and that is no success. */
static bool topic_publish_all(struct node *node, struct node_publisher *publisher,
	const struct topic_settings *settings, const struct text *bytes)
{
	int64_t count = settings->count ? settings->count : 1, sent = 0;
	double period_s = 1 / (settings->rate_hz > 0 ? settings->rate_hz : 1);
	uint64_t due_ns = clock_now_ns();
	struct node_event event;
	while (!signals_asked()) {
		if (node_publish(publisher, bytes->at, bytes->count) != NODE_SENT)
			break;
		if (++sent == count)
			break;
		due_ns += (uint64_t)llround(period_s * 1e9);
		while (gz_next(node, due_ns, &event))
			node_event_fini(&event);
	}
	if (sent < count)
		cli_complain("topic pub", "%s: %lld of %lld messages were published: the subscribers have left",
			settings->topic, (long long)sent, (long long)count);
	return sent == count;
}

static int topic_publish(struct node *node, const struct topic_settings *settings, const struct text *bytes)
{
	struct node_publisher *publisher;
	struct troupe_error error;
	double timeout_s = settings->timeout_s > 0 ? settings->timeout_s : 5;
	if (node_advertise(node, settings->topic, gz_full_type(settings->type), 0, NULL, &publisher, &error)) {
		cli_complain("topic pub", "%s", error.text);
		return CLI_BAD_USAGE;
	}
	if (!topic_await_subscriber(node, publisher, gz_after_ns(timeout_s))) {
		cli_complain("topic pub", "%s: no subscriber came within %g s", settings->topic, timeout_s);
		return CLI_BAD_INPUT;
	}
	return topic_publish_all(node, publisher, settings, bytes) ? CLI_DONE : CLI_BAD_INPUT;
}

static int topic_pub(void *given, struct arena *arena)
{
	const struct topic_settings *settings = given;
	struct text bytes = {0};
	(void)arena;
	struct node *node;
	int status;
	if (!settings->type || !settings->text) {
		cli_complain("topic pub", "%s given; see troupe topic pub --help",
			settings->type ? "no message (-p TEXT)" : "no type (-m TYPE)");
		return CLI_BAD_USAGE;
	}
	text_add_bytes(&bytes, "", 0);
	if (!gz_make_bytes("topic pub", settings->type, settings->text, settings->gz.json, settings->raw, &bytes)) {
		status = CLI_BAD_INPUT;
	} else {
		status = gz_open("topic pub", &settings->gz, LINGER_MS, &node);
		if (!status) {
			status = topic_publish(node, settings, &bytes);
			node_destroy(node);
		}
	}
	text_fini(&bytes);
	return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

int cli_topic(int argc, char **argv)
{
	static const struct gz_action actions[] = {
		{"list", "list topics", &topic_list_command, topic_list, "-l --list", false},
		{"info", "print the publishers of a topic", &topic_info_command, topic_info, "-i --info", false},
		{"echo", "print the messages of a topic", &topic_echo_command, topic_echo, "-e --echo", false},
		{"hz", "measure how often messages come", &topic_hz_command, topic_hz, "-f --frequency", false},
		{"pub", "publish a message", &topic_pub_command, topic_pub, "-p --pub", true},
	};
	struct topic_settings settings = {.topic = NULL};
	return gz_dispatch("topic",
		"Topics of gz-transport: those of a running troupe, of Gazebo, and of programs\n"
		"that use its transport.",
		actions, ARRAY_LEN(actions), &settings, argc, argv);
}
