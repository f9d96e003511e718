/* Each line is a word, a step, and fields separated by blanks, so that a script can read it. */
#include "cli/trace.h"

#include <troupe/report.h>

#include "base/text.h"

#include <troupe/server.h>

#include <inttypes.h>

void trace_event(struct output *output, const struct troupe_event *event, bool several_worlds)
{
	static const char *const words[] = {
		[TROUPE_EVENT_MOVE] = "move",
		[TROUPE_EVENT_LOAD] = "load",
		[TROUPE_EVENT_UNLOAD] = "unload",
		[TROUPE_EVENT_GHOST_ON] = "ghost",
		[TROUPE_EVENT_GHOST_OFF] = "ghost",
	};
	struct text line = {0};
	text_add(&line, "%s %" PRIu64 " ", words[event->kind], event->step);
	if (several_worlds)
		text_add(&line, "%s/", event->world);
	text_add(&line, "%s", event->name);
	if (event->kind == TROUPE_EVENT_MOVE)
		text_add(&line, " %u", event->from);
	text_add(&line, " %u", event->to);
	if (event->kind == TROUPE_EVENT_GHOST_ON || event->kind == TROUPE_EVENT_GHOST_OFF)
		text_add(&line, event->kind == TROUPE_EVENT_GHOST_ON ? " on" : " off");
	output_line(output, "%s", line.at);
	text_fini(&line);
}

void trace_reply(struct output *output, const struct troupe_reply *reply)
{
	output_line(output, "reply %" PRIu64 " %s %s %s", reply->step, reply->topic, reply->status ? "failed" : "ok",
		reply->text);
}

void trace_member(struct output *output, const struct troupe_report_member *change)
{
	output_line(output, "%s %" PRIu64 " %s", troupe_member_change_name(change->change), change->step, change->who);
}

void trace_hash(struct output *output, uint64_t step, uint64_t hash)
{
	output_line(output, "hash %" PRIu64 " %016" PRIx64, step, hash);
}
