/* `troupe service`: lists, describes and calls services of gz-transport, with the options of `gz service` where it has
 * them. The types of a call may be left out: the service says them. The protocol has no text for errors, so a service
 * that refuses says only that. */
#include "cli/cli.h"
#include "cli/gz.h"
#include "cli/signals.h"

#include "base/clock.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_DEFAULT_MS = 5000, TIMEOUT_MAX_MS = 1000000000, POLL_MS = 20 };

struct service_settings {
	struct gz_settings gz;
	const char *service, *request_type, *reply_type, *text;
	int64_t timeout_ms;
	bool raw;
};

#define SERVICE_AT(member) offsetof(struct service_settings, member)
#define SERVICE_OPTIONS                                                                                                \
	{OPTION_OPERAND, .name = "name", .argument = "SERVICE", .offset = SERVICE_AT(service), .unless = "service"},   \
		{OPTION_HEADING, .help = "Options"},                                                                   \
	{                                                                                                              \
		OPTION_TEXT, 's', "service", "SERVICE", SERVICE_AT(service),                                           \
			.help = "the service, instead of the argument"                                                 \
	}

static const struct option_spec service_list_specs[] = {
	{OPTION_HEADING, .help = "Options"},
	GZ_JSON_OPTION(struct service_settings, "print a JSON array"),
	GZ_OPTIONS(struct service_settings),
	OPTIONS_HELP,
};

static const struct options_command service_list_command = {
	.name = "service list",
	.usage = "troupe service list [OPTIONS]",
	.about = "List the services that are offered in the partition, one in each line. It takes 1.3 s.",
	.after = "Exit status\n  0 there are services; 1 there are none, or no network; 2 wrong usage\n",
	.specs = service_list_specs,
	.spec_count = ARRAY_LEN(service_list_specs),
};

static const struct option_spec service_info_specs[] = {
	SERVICE_OPTIONS,
	GZ_JSON_OPTION(struct service_settings, "print a JSON array"),
	GZ_OPTIONS(struct service_settings),
	OPTIONS_HELP,
};

static const struct options_command service_info_command = {
	.name = "service info",
	.usage = "troupe service info [OPTIONS] SERVICE",
	.about = "Print who offers a service: address, type of the request, type of the reply.",
	.after = "Exit status\n  0 printed; 1 there is no such service, or no network; 2 wrong usage\n",
	.specs = service_info_specs,
	.spec_count = ARRAY_LEN(service_info_specs),
};

static const struct option_spec service_call_specs[] = {
	SERVICE_OPTIONS,
	{OPTION_TEXT, .name = "reqtype", .argument = "TYPE", .offset = SERVICE_AT(request_type),
		.help = "the type of the request (default: the service's)"},
	{OPTION_TEXT, .name = "reptype", .argument = "TYPE", .offset = SERVICE_AT(reply_type),
		.help = "the type of the reply (default: the service's)"},
	{OPTION_TEXT, 'r', "req", "TEXT", SERVICE_AT(text), .help = "the request: 'pause: true' (default: empty)"},
	{OPTION_WHOLE, .name = "timeout", .argument = "MS", .offset = SERVICE_AT(timeout_ms), .lo = 1,
		.hi = TIMEOUT_MAX_MS,
		.help = "wait so many milliseconds for the service and its reply (default: 5000)"},
	GZ_JSON_OPTION(struct service_settings, "the request is given, and the reply printed, as JSON"),
	{OPTION_FLAG, .name = "raw", .offset = SERVICE_AT(raw),
		.help = "the request is given, and the reply printed, as bytes in hexadecimal"},
	GZ_OPTIONS(struct service_settings),
	OPTIONS_HELP,
};

static const struct options_command service_call_command = {
	.name = "service call",
	.usage = "troupe service call [OPTIONS] SERVICE",
	.about = "Call a service, and print its reply.",
	.after = "Exit status\n  0 replied; 1 refused, no reply or no such service in time, the request is not\n"
		 "  of its type, or no network; 2 wrong usage\n",
	.specs = service_call_specs,
	.spec_count = ARRAY_LEN(service_call_specs),
};

static int service_list(void *settings, struct arena *arena)
{
	const struct service_settings *given = settings;
	(void)arena;
	return gz_list("service list", &given->gz, true);
}

static int service_info(void *settings, struct arena *arena)
{
	const struct service_settings *given = settings;
	(void)arena;
	return gz_info("service info", &given->gz, true, given->service);
}

/* --- call --------------------------------------------------------------------------------------------------------- */

/* Takes over the types of the service that are not given. False: there is no such service. */
static bool service_look_up(struct node *node, struct service_settings *settings, struct arena *arena)
{
	struct node_records records;
	bool found = false;
	node_list(node, &records);
	for (uint32_t i = 0; i < records.count && !found; i++) {
		const struct node_record *record = &records.at[i];
		if (!record->is_service || strcmp(record->name, settings->service) != 0)
			continue;
		found = true;
		if (!settings->request_type)
			settings->request_type = arena_printf(arena, "%s", record->type);
		if (!settings->reply_type)
			settings->reply_type = arena_printf(arena, "%s", record->reply_type);
	}
	node_records_fini(&records);
	return found;
}

static bool service_await_types(
	struct node *node, struct service_settings *settings, struct arena *arena, uint64_t end_ns)
{
	struct node_event event;
	if (settings->request_type && settings->reply_type)
		return true;
	while (!service_look_up(node, settings, arena)) {
		if (clock_now_ns() >= end_ns || signals_asked()) {
			cli_complain("service call", "%s: no such service in partition %s", settings->service,
				node_partition(node));
			return false;
		}
		if (gz_next(node, MIN(end_ns, clock_now_ns() + POLL_MS * UINT64_C(1000000)), &event))
			node_event_fini(&event);
	}
	return true;
}

static int service_print_outcome(const struct service_settings *settings, const struct node_event *event)
{
	static const char *const faults[] = {[NODE_REFUSED] = "the service refused",
		[NODE_TIMED_OUT] = "no reply in time",
		[NODE_NOT_FOUND] = "no such service with these types"};
	if (event->outcome != NODE_REPLIED) {
		cli_complain("service call", "%s (%s to %s): %s", settings->service, settings->request_type,
			settings->reply_type, faults[event->outcome]);
		return CLI_BAD_INPUT;
	}
	struct text out = {0};
	gz_add_message(&out, settings->reply_type, event->bytes, event->count, settings->gz.json, settings->raw);
	if (!event->count && !settings->gz.json && !settings->raw && strstr(settings->reply_type, "Boolean"))
		text_add(&out, "data: false\n"); /* how services refuse: protobuf's text has no values that are 0 */
	text_add(&out, settings->gz.json ? "\n" : "");
	fwrite(out.at, 1, out.count, stdout);
	text_fini(&out);
	return CLI_DONE;
}

static int service_call_once(struct node *node, const struct service_settings *settings, uint64_t end_ns)
{
	struct text bytes = {0};
	struct troupe_error error;
	struct node_event event;
	uint64_t number, now_ns = clock_now_ns();
	int status = CLI_BAD_INPUT, left_ms = (int)(now_ns < end_ns ? (end_ns - now_ns) / 1000000 : 0);
	text_add_bytes(&bytes, "", 0);
	if (gz_make_bytes("service call", settings->request_type, settings->text ? settings->text : "",
		    settings->gz.json && settings->text, settings->raw, &bytes)) {
		if (node_call(node, settings->service, gz_full_type(settings->request_type),
			    gz_full_type(settings->reply_type), bytes.at, bytes.count, left_ms, NULL, &number,
			    &error)) {
			cli_complain("service call", "%s", error.text);
			status = CLI_BAD_USAGE;
		} else if (gz_next(node, UINT64_MAX, &event)) {
			status = service_print_outcome(settings, &event);
			node_event_fini(&event);
		}
	}
	text_fini(&bytes);
	return status;
}

static int service_call(void *given, struct arena *arena)
{
	struct service_settings *settings = given;
	struct node *node;
	if (!settings->timeout_ms)
		settings->timeout_ms = TIMEOUT_DEFAULT_MS;
	int status = gz_open("service call", &settings->gz, 0, &node);
	if (status)
		return status;
	uint64_t end_ns = gz_after_ns((double)settings->timeout_ms / 1e3);
	status = service_await_types(node, settings, arena, end_ns) ? service_call_once(node, settings, end_ns)
								    : CLI_BAD_INPUT;
	node_destroy(node);
	return status;
}

/* --- the command -------------------------------------------------------------------------------------------------- */

int cli_service(int argc, char **argv)
{
	static const struct gz_action actions[] = {
		{"list", "list services", &service_list_command, service_list, "-l --list", false},
		{"info", "print the providers of a service", &service_info_command, service_info, "-i --info", false},
		{"call", "call a service and print its reply", &service_call_command, service_call, "--req -r", true},
	};
	struct service_settings settings = {.service = NULL};
	return gz_dispatch("service",
		"Services of gz-transport: those of a running troupe, of Gazebo, and of programs\n"
		"that use its transport.",
		actions, ARRAY_LEN(actions), &settings, argc, argv);
}
