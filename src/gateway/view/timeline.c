/* What pages are told of a recording: the state of the time line, and its marks. */
#include "gateway/view/internal.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TIMELINE_TELL_NS UINT64_C(100000000)
#define TIMELINE_TELL_MARKS_NS UINT64_C(500000000)

/* STEP or STEP:TEXT */
static troupe_status timeline_add_found(struct timeline *timeline, const char *value, struct troupe_error *error)
{
	char *end;
	if (timeline->found.at.count == TIMELINE_FOUND_MAX)
		return fail(
			error, TROUPE_ELIMIT, "mark '%.200s': expected at most %d marks", value, TIMELINE_FOUND_MAX);
	uint64_t step = strtoull(value, &end, 10);
	if (*value < '0' || *value > '9' || (*end && *end != ':') || step > INT64_MAX)
		return fail(error, TROUPE_EINVAL,
			"mark '%.200s': expected STEP or STEP:TEXT, as troupe bisect finds it", value);
	const char *text = *end ? end + 1 : "";
	vec_push(&timeline->found.at, ((struct mark){step, step, 1, mem_printf("%.*s", MARKS_TEXT_MAX, text)}));
	return TROUPE_OK;
}

troupe_status timeline_init(struct timeline *timeline, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < def->setting_count && !status; i++) {
		if (strcmp(def->settings[i].key, "mark") != 0)
			continue;
		status = def->recording ? timeline_add_found(timeline, def->settings[i].value, error)
					: fail(error, TROUPE_EINVAL, "mark: expected a recording that is shown");
	}
	return status;
}

void timeline_fini(struct timeline *timeline)
{
	marks_clear(&timeline->found);
}

void timeline_renew(struct timeline *timeline)
{
	timeline->told_ns = timeline->told_marks_ns = timeline->told_version = 0;
}

struct timeline_telling {
	const struct gateway *gateway;
	struct text text;
};

static void timeline_take_marks(void *ctx, const struct play_marks *marks)
{
	struct timeline_telling *telling = ctx;
	page_out_marks(&telling->gateway->timeline, marks, &telling->text);
}

static void timeline_tell_marks(struct gateway *gateway, uint64_t now_ns)
{
	struct timeline *timeline = &gateway->timeline;
	struct timeline_telling telling = {.gateway = gateway};
	if (now_ns - timeline->told_marks_ns < TIMELINE_TELL_MARKS_NS)
		return;
	timeline->told_version = play_marks(gateway->hub->play, timeline->told_version, timeline_take_marks, &telling);
	if (telling.text.count) {
		port_tell_all(&gateway->port, &telling.text);
		timeline->told_marks_ns = now_ns;
	}
	text_fini(&telling.text);
}

static bool timeline_is_told(const struct play_state *told, const struct play_state *now)
{
	/* who asks for the step that is shown waits for an answer, too */
	return now->wishes == told->wishes && now->step == told->step && now->has_hash == told->has_hash &&
	       now->speed == told->speed && now->playing == told->playing && now->seeking == told->seeking &&
	       now->reached == told->reached && !strcmp(now->text, told->text);
}

void timeline_tell(struct gateway *gateway, uint64_t now_ns)
{
	struct timeline *timeline = &gateway->timeline;
	struct play_state now;
	struct text text = {0};
	if (!gateway->hub->play)
		return;
	timeline_tell_marks(gateway, now_ns);
	if (now_ns - timeline->told_ns < TIMELINE_TELL_NS)
		return;
	play_state(gateway->hub->play, &now);
	const struct play_state *told = &timeline->told;
	if (timeline->told_ns && timeline_is_told(told, &now))
		return;
	page_out_timeline(&now, &text);
	port_tell_all(&gateway->port, &text);
	text_fini(&text);
	/* the step at which it came to rest is shown, whatever the rates are */
	if (!now.playing && !now.seeking && (now.step != told->step || told->playing || told->seeking)) {
		subscriptions_renew(gateway, false);
		motion_renew(gateway);
	}
	timeline->told = now;
	timeline->told_ns = now_ns;
}
