/* The command speaks gz-transport as any of Gazebo's programs does: it knows a run only by what the run publishes. So
 * it serves for a run of Gazebo as well, and a message of a type that troupe does not know is still shown, as bytes. */
#include "cli/gz.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/shown.h"
#include "cli/cli.h"
#include "cli/signals.h"
#include "topic/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the node ----------------------------------------------------------------------------------------------------- */

int gz_open(const char *command, const struct gz_settings *settings, int linger_ms, struct node **ret_node)
{
	struct node_options options = {.linger_ms = linger_ms};
	struct troupe_error error;
	troupe_status status = node_options_read_environment(&options, &error);
	if (settings->partition)
		options.partition = settings->partition;
	if (settings->address)
		options.address = settings->address;
	if (!status)
		status = node_create(&options, ret_node, &error);
	if (!status) {
		signals_catch();
		return CLI_DONE;
	}
	cli_complain(command, "%s", error.text);
	return CLI_BAD_INPUT;
}

uint64_t gz_after_ns(double seconds)
{
	return clock_now_ns() + (uint64_t)llround(seconds * 1e9);
}

bool gz_next(struct node *node, uint64_t end_ns, struct node_event *ret_event)
{
	uint64_t now_ns;
	while ((now_ns = clock_now_ns()) < end_ns && !signals_asked() && !ferror(stdout)) {
		uint64_t left_ms = (end_ns - now_ns) / 1000000 + 1;
		if (node_next(node, (int)MIN(left_ms, GZ_TICK_MS), ret_event))
			return true;
	}
	return false;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* A peer is trusted with what one message may hold (node.h limits its bytes). */
static const struct message_limits gz_any_limits = {.bytes_max = NODE_MESSAGE_BYTES_MAX, .items_max = 10000000};

const char *gz_full_type(const char *type)
{
	message_type known = type_find(type);
	return known ? known->name : type;
}

static void gz_add_hex(struct text *out, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		text_add(out, "%02x", bytes[i]);
}

void gz_add_message(struct text *out, const char *type, const void *bytes, size_t count, bool json, bool raw)
{
	message_type known = raw ? NULL : type_find(type);
	ProtobufCMessage *message = NULL;
	if (known && message_of_bytes(known, bytes, count, &gz_any_limits, &message, NULL))
		message = NULL;
	if (message && json) {
		message_add_json(out, message);
	} else if (message) {
		message_add_text(out, message, MESSAGE_LINES);
	} else {
		text_add(out, json ? "{\"hex\": \"" : "hex ");
		gz_add_hex(out, bytes, count);
		text_add(out, json ? "\"}" : "\n");
	}
	message_free(message);
}

static bool gz_add_from_hex(struct text *out, const char *text)
{
	for (; *text; text += 2) {
		static const char digits[] = "0123456789abcdef";
		const char *high = strchr(digits, text[0] | 0x20),
			   *low = text[1] ? strchr(digits, text[1] | 0x20) : NULL;
		if (!high || !low)
			return false;
		char byte = (char)((high - digits) << 4 | (low - digits));
		text_add_bytes(out, &byte, 1);
	}
	return true;
}

bool gz_make_bytes(const char *command, const char *type, const char *text, bool json, bool raw, struct text *ret_bytes)
{
	message_type known = type_find(type);
	ProtobufCMessage *message;
	struct troupe_error error;
	if (raw) {
		if (gz_add_from_hex(ret_bytes, text))
			return true;
		cli_complain(command, "'%.100s': expected pairs of hexadecimal digits", text);
		return false;
	}
	if (!known) {
		cli_complain(command, "type '%.100s' is not known: expected one of gz.msgs, as gz.msgs.Twist, or --raw",
			type);
		return false;
	}
	troupe_status status = json ? message_of_json(known, text, strlen(text), &gz_any_limits, &message, &error)
				    : message_of_text(known, text, &gz_any_limits, &message, &error);
	if (status) {
		cli_complain(command, "message of type %s: %s", known->name, error.text);
		return false;
	}
	message_add_bytes(ret_bytes, message);
	message_free(message);
	return true;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

/* Waits until all peers have told their topics and services. */
static void gz_settle(struct node *node)
{
	uint64_t end_ns = gz_after_ns(NODE_SETTLE_MS / 1e3);
	struct node_event event;
	while (gz_next(node, end_ns, &event))
		node_event_fini(&event);
}

/* What other programs say of themselves. */
static void gz_add_line(struct text *out, const char *before, const char *line)
{
	text_add(out, "%s", before);
	shown_add(out, line);
	text_add(out, "\n");
}

static void gz_end_list(struct json_out *out)
{
	json_out_end(out);
	text_add(out->text, "\n");
}

static int gz_print_names(const char *command, struct node *node, bool services, bool json)
{
	struct node_records records;
	struct text out = {0};
	struct json_out names = {.text = &out, .spaced = true};
	const char *last = "";
	uint32_t count = 0;
	node_list(node, &records);
	text_add(&out, "%s", "");
	if (json)
		json_out_array(&names, NULL);
	for (uint32_t i = 0; i < records.count; i++) {
		const struct node_record *record = &records.at[i];
		if (record->is_service != services || !strcmp(record->name, last))
			continue;
		if (json)
			json_out_string(&names, NULL, record->name);
		else
			gz_add_line(&out, "", record->name);
		last = record->name;
		count++;
	}
	if (json)
		gz_end_list(&names);
	fputs(out.at, stdout);
	if (!count)
		cli_complain(command, "no %s in partition %s", services ? "service" : "topic", node_partition(node));
	text_fini(&out);
	node_records_fini(&records);
	return count ? CLI_DONE : CLI_BAD_INPUT;
}

static void gz_add_record_json(struct json_out *out, const struct node_record *record)
{
	json_out_object(out, NULL);
	json_out_string(out, "name", record->name);
	json_out_string(out, "address", record->address);
	json_out_string(out, record->is_service ? "request_type" : "type", record->type);
	if (record->is_service)
		json_out_string(out, "reply_type", record->reply_type);
	else if (record->throttled)
		json_out_uint(out, "rate_hz", record->rate_hz);
	json_out_string(out, "process", record->process);
	json_out_end(out);
}

static void gz_add_record_text(struct text *out, const struct node_record *record, bool first)
{
	if (first)
		text_add(out, record->is_service
				      ? "Service providers [Address, Request Message Type, Response Message Type]:\n"
				      : "Publishers [Address, Message Type]:\n");
	char *line = mem_printf("%s, %s%s%s", record->address, record->type, record->is_service ? ", " : "",
		record->is_service ? record->reply_type : "");
	gz_add_line(out, "  ", line);
	free(line);
}

static int gz_print_records(const char *command, struct node *node, bool services, const char *name, bool json)
{
	struct node_records records;
	struct text out = {0};
	struct json_out list = {.text = &out, .spaced = true};
	uint32_t count = 0;
	node_list(node, &records);
	if (json)
		json_out_array(&list, NULL);
	for (uint32_t i = 0; i < records.count; i++) {
		const struct node_record *record = &records.at[i];
		if (record->is_service != services || strcmp(record->name, name) != 0)
			continue;
		if (json)
			gz_add_record_json(&list, record);
		else
			gz_add_record_text(&out, record, !count);
		count++;
	}
	if (json)
		gz_end_list(&list);
	if (out.at)
		fputs(out.at, stdout);
	if (!count)
		cli_complain(command, "%s: no %s of this name in partition %s", name, services ? "service" : "topic",
			node_partition(node));
	text_fini(&out);
	node_records_fini(&records);
	return count ? CLI_DONE : CLI_BAD_INPUT;
}

int gz_list(const char *command, const struct gz_settings *settings, bool services)
{
	struct node *node;
	int status = gz_open(command, settings, -1, &node);
	if (status)
		return status;
	gz_settle(node);
	status = gz_print_names(command, node, services, settings->json);
	node_destroy(node);
	return status;
}

int gz_info(const char *command, const struct gz_settings *settings, bool services, const char *name)
{
	struct node *node;
	int status = gz_open(command, settings, -1, &node);
	if (status)
		return status;
	gz_settle(node);
	status = gz_print_records(command, node, services, name, settings->json);
	node_destroy(node);
	return status;
}

/* --- actions ------------------------------------------------------------------------------------------------------ */

static int gz_act(const struct gz_action *action, void *settings, int argc, char **argv)
{
	struct arena arena = {0};
	int status = CLI_DONE;
	if (options_parse(action->command, argc, argv, settings, &arena, NULL, &status))
		status = action->act(settings, &arena);
	arena_fini(&arena);
	return status;
}

static void gz_print_help(const char *command, const char *about, const struct gz_action *actions, uint32_t count)
{
	printf("usage: troupe %s ACTION [OPTIONS]\n\n%s\n\nActions\n", command, about);
	for (uint32_t i = 0; i < count; i++)
		printf("  %-28s%s\n", actions[i].name, actions[i].help);
	printf("\nOptions\n  -h, --help                  print this help; after an action, the action's\n");
	printf("\nThe manual page (man troupe-%s) says more.\n", command);
}

static bool gz_is_flag(const char *flags, const char *word)
{
	size_t length = strlen(word);
	for (; flags && *flags; flags += strcspn(flags, " "), flags += *flags == ' ')
		if (strcspn(flags, " ") == length && !strncmp(flags, word, length))
			return true;
	return false;
}

/* `gz topic -e -t TOPIC`: the action is named by an option, at any place. -1: none of the arguments is such an option.
 */
static int gz_act_by_flag(const struct gz_action *actions, uint32_t count, void *settings, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		for (uint32_t k = 0; k < count; k++) {
			if (!gz_is_flag(actions[k].flags, argv[i]))
				continue;
			int rest = actions[k].flag_stays ? argc : argc - 1;
			if (!actions[k].flag_stays) /* argv ends with NULL */
				memmove(argv + i, argv + i + 1, (size_t)(argc - i) * sizeof *argv);
			return gz_act(&actions[k], settings, rest, argv);
		}
	return -1;
}

int gz_dispatch(const char *command, const char *about, const struct gz_action *actions, uint32_t count, void *settings,
	int argc, char **argv)
{
	const char *word = argc > 0 ? argv[0] : NULL;
	struct text names = {0};
	if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
		gz_print_help(command, about, actions, count);
		return CLI_DONE;
	}
	for (uint32_t i = 0; word && i < count; i++)
		if (!strcmp(word, actions[i].name))
			return gz_act(&actions[i], settings, argc - 1, argv + 1);
	int status = word && *word == '-' ? gz_act_by_flag(actions, count, settings, argc, argv) : -1;
	if (status >= 0)
		return status;
	for (uint32_t i = 0; i < count; i++)
		text_add(&names, "%s%s", i ? i + 1 < count ? ", " : " or " : "", actions[i].name);
	if (word)
		cli_complain(command, "'%.100s': no such action: expected %s; see troupe %s --help", word, names.at,
			command);
	else
		cli_complain(command, "no action given: expected %s; see troupe %s --help", names.at, command);
	text_fini(&names);
	return CLI_BAD_USAGE;
}
