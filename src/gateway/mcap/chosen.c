/* A pattern of which no topic has the name is probably misspelt: the user is told at the end. */
#include "gateway/mcap/chosen.h"

#include "base/match.h"

#include <string.h>

troupe_status chosen_init(struct chosen *chosen, const struct troupe_mcap_def *def, struct troupe_error *error)
{
	for (uint32_t i = 0; i < def->topic_count; i++) {
		const struct troupe_mcap_topic *topic = &def->topics[i];
		if (!topic->pattern || !*topic->pattern || !(topic->rate_hz >= 0 && topic->rate_hz <= 1e9))
			return fail(error, TROUPE_EINVAL,
				"topic pattern '%.80s' with a rate of %g Hz: expected a pattern, and 0 to 1e9 Hz",
				topic->pattern ? topic->pattern : "", topic->rate_hz);
		vec_push(&chosen->patterns, (struct chosen_pattern){topic->pattern, topic->rate_hz, false});
	}
	return TROUPE_OK;
}

static bool chosen_ends_with(const char *text, const char *end)
{
	size_t count = strlen(text), of = strlen(end);
	return count >= of && !strcmp(text + count - of, end);
}

/* Statistics and metrics depend on real time, so that a file with them would not be that of another run. */
bool chosen_is_usual(const struct troupe_topic *topic)
{
	static const char *const types[] = {"gz.msgs.Image", "gz.msgs.PointCloudPacked", "gz.msgs.WorldStatistics",
		"gz.msgs.PerformanceSensorMetrics"};
	bool of_world = !strncmp(topic->name, "/world/", 7) && !strcmp(topic->owner, "server");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(topic->type, types[i]))
			return false;
	return strncmp(topic->type, "troupe.", 7) &&
	       !(of_world && (chosen_ends_with(topic->name, "/clock") || chosen_ends_with(topic->name, "pose/info")));
}

bool chosen_has(struct chosen *chosen, const char *name, bool usual, double *ret_rate_hz)
{
	*ret_rate_hz = 0;
	for (uint32_t i = 0; i < chosen->patterns.count; i++) {
		struct chosen_pattern *pattern = &chosen->patterns.at[i];
		if (!match_glob(pattern->text, name))
			continue;
		pattern->matched = true;
		*ret_rate_hz = pattern->rate_hz;
		return true;
	}
	return !chosen->patterns.count && usual;
}

const char *chosen_unmatched(const struct chosen *chosen)
{
	for (uint32_t i = 0; i < chosen->patterns.count; i++)
		if (!chosen->patterns.at[i].matched)
			return chosen->patterns.at[i].text;
	return NULL;
}

void chosen_fini(struct chosen *chosen)
{
	vec_free(&chosen->patterns);
}
