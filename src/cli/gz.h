/* Code that `troupe topic` and `troupe service` share: a node of gz-transport, and messages as people and programs read
 * them. One thread. */
#ifndef CLI_GZ_H
#define CLI_GZ_H

#include "cli/options.h"
#include "gateway/gz/node.h"

/* Options of each of these commands. */
struct gz_settings {
	const char *partition, *address;
	bool json;
};

#define GZ_OPTIONS(settings)                                                                                           \
	{OPTION_TEXT, .name = "partition", .argument = "NAME", .offset = offsetof(settings, gz.partition),             \
		.help = "the partition (default: GZ_PARTITION, or host:user)"},                                        \
	{                                                                                                              \
		OPTION_TEXT,                                                                                           \
			.name = "gz-address", .argument = "IP", .offset = offsetof(settings, gz.address),              \
			.help = "see and serve other hosts, through the interface with this IPv4 address (default: "   \
				"GZ_IP, or this machine only)"                                                         \
	}
#define GZ_JSON_OPTION(settings, text)                                                                                 \
	{                                                                                                              \
		OPTION_FLAG, .name = "json", .offset = offsetof(settings, gz.json), .help = text                       \
	}

/* Makes the node. On failure prints the reason and returns the exit status; else CLI_DONE. linger_ms as in node.h. */
int gz_open(const char *command, const struct gz_settings *settings, int linger_ms, struct node **ret_node);

enum { GZ_TICK_MS = 100 }; /* a signal is noticed after so long */
/* Waits for an event until end_ns (of clock_now_ns(); UINT64_MAX: without end), a signal to stop, or an error of
 * standard output. False: none came. */
bool gz_next(struct node *node, uint64_t end_ns, struct node_event *ret_event);
/* Now, or a later time: clock_now_ns() and so many seconds. */
uint64_t gz_after_ns(double seconds);

/* Appends a message: its text form with one line for each field, or one line of JSON. A message of an unknown type, or
 * one that is not of its type, or with raw, is hexadecimal: "hex 0a04", or {"hex": "0a04"}. */
void gz_add_message(struct text *out, const char *type, const void *bytes, size_t count, bool json, bool raw);
/* "gz.msgs.Twist" for "Twist"; a name that troupe does not know as it is. */
const char *gz_full_type(const char *type);
/* Makes the bytes of a message of its text or JSON form; raw: of hexadecimal digits, for a type of any name. On failure
 * prints the reason. */
bool gz_make_bytes(
	const char *command, const char *type, const char *text, bool json, bool raw, struct text *ret_bytes);

/* `list`: prints each name of the partition in a line of its own; JSON: an array. Returns the exit status: 1 if there
 * is none. command: "topic list". */
int gz_list(const char *command, const struct gz_settings *settings, bool services);
/* `info`: prints the publishers of the topic, or the providers of the service. Returns the exit status: 1 if there is
 * none. */
int gz_info(const char *command, const struct gz_settings *settings, bool services, const char *name);

struct gz_action {
	const char *name, *help;
	const struct options_command *command;
	/* Returns the exit status. arena: for texts that live as long as the settings. */
	int (*act)(void *settings, struct arena *arena);
	/* Gazebo's options for the action, "-e --echo": one of them among the arguments names it, too. */
	const char *flags;
	bool flag_stays; /* it is an option of the action */
};
/* Runs the action that the first argument, or an option of Gazebo's, names, with the options of its command in
 * *settings, which holds the defaults before the call. Returns the exit status. */
int gz_dispatch(const char *command, const char *about, const struct gz_action *actions, uint32_t count, void *settings,
	int argc, char **argv);

#endif
