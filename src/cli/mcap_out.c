/* Names of topics have no '@', so the last one in an argument begins a rate. */
#include "cli/mcap_out.h"

#include "base/parse.h"
#include "base/text.h"
#include "cli/signals.h"
#include "gateway/mcap/file.h"

#include <stdio.h>
#include <string.h>

static troupe_status mcap_out_read_topic(struct mcap_out *out, const char *text, struct troupe_error *error)
{
	const char *mark = strrchr(text, '@');
	struct troupe_mcap_topic topic = {text, 0};
	if (mark) {
		char *pattern = arena_strdup(&out->texts, text);
		pattern[mark - text] = '\0';
		topic.pattern = pattern;
	}
	if (!*topic.pattern ||
		(mark && (!parse_double(mark + 1, &topic.rate_hz) || !(topic.rate_hz > 0 && topic.rate_hz <= 1e9))))
		return fail(error, TROUPE_EINVAL,
			"--topic: '%.80s': expected PATTERN or PATTERN@HZ, with more than 0 and at most 1e9 Hz", text);
	vec_push(&out->topics, topic);
	return TROUPE_OK;
}

troupe_status mcap_out_init(struct mcap_out *out, const struct mcap_out_def *def, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	*out = (struct mcap_out){.def = *def};
	for (uint32_t i = 0; i < def->topics->count && !status; i++)
		status = mcap_out_read_topic(out, def->topics->at[i], error);
	return status;
}

static bool mcap_out_in_a_hurry(void *ctx)
{
	(void)ctx;
	return signals_urgency(NULL) != OUTFILE_PATIENT;
}

/* On the thread that writes; the step tells it. */
static void mcap_out_on_end(void *ctx, const char *text)
{
	struct mcap_out *out = ctx;
	(void)snprintf(out->why, sizeof out->why, "%s", text);
	atomic_store(&out->ended, true);
}

static void mcap_out_say(const struct mcap_out *out, const char *format, const char *what)
{
	struct text line = {0};
	text_add(&line, "%s: %s%s", out->def.path, format, what);
	out->def.warn(out->def.ctx, line.at);
	text_fini(&line);
}

static void mcap_out_warn(void *ctx, const char *line)
{
	const struct mcap_out *out = ctx;
	out->def.warn(out->def.ctx, line);
}

troupe_status mcap_out_begin(struct mcap_out *out, struct troupe_server *server, struct troupe_error *error)
{
	const struct troupe_mcap_def def = {.path = out->def.path,
		.topics = out->topics.at,
		.topic_count = out->topics.count,
		.in_a_hurry = mcap_out_in_a_hurry,
		.on_end = mcap_out_on_end,
		.ctx = out,
		.names = out->def.names && !strcmp(out->def.names, "ros") ? TROUPE_MCAP_ROS : TROUPE_MCAP_GAZEBO,
		.robot = out->def.robot,
		.say = mcap_out_warn};
	if (!out->def.path)
		return TROUPE_OK;
	if (!mcap_file_compresses())
		mcap_out_say(out, "not compressed, because this build has no zstd", "");
	return troupe_mcap_start(server, &def, &out->mcap, error);
}

void mcap_out_step(struct mcap_out *out)
{
	if (out->mcap && !out->told && atomic_load(&out->ended)) {
		out->told = true;
		struct text line = {0};
		text_add(&line, "%s; the run goes on", out->why);
		out->def.warn(out->def.ctx, line.at);
		text_fini(&line);
	}
	troupe_mcap_step(out->mcap);
}

troupe_status mcap_out_end(struct mcap_out *out, struct troupe_error *error)
{
	troupe_status status = troupe_mcap_end(out->mcap, &out->counts, error);
	out->mcap = NULL;
	if (out->counts.unmatched)
		mcap_out_say(out, "no topic matches --topic ", out->counts.unmatched);
	if (!status && out->counts.waited_ns >= UINT64_C(1000000000)) {
		struct text text = {0};
		text_add(&text, "%.1f s", (double)out->counts.waited_ns * 1e-9);
		mcap_out_say(out, "the run waited for this file, in all ", text.at);
		text_fini(&text);
	}
	return status;
}

void mcap_out_fini(struct mcap_out *out)
{
	vec_free(&out->topics);
	arena_fini(&out->texts);
}
