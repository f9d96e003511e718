#include "cli/report.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- for people --------------------------------------------------------------------------------------------------- */

/* The next member of that name; names inside of strings cannot match, as their quotes are escaped. */
static const char *find_member(const char **cursor, const char *name)
{
	char key[64];
	snprintf(key, sizeof key, "\"%s\": ", name);
	const char *at = *cursor ? strstr(*cursor, key) : NULL;
	return *cursor = at ? at + strlen(key) : NULL;
}

static double number(const char *report, const char *name)
{
	const char *at = find_member(&report, name);
	char word[40] = {0};
	double value = 0;
	if (at)
		memcpy(word, at, strnlen(at, sizeof word - 1));
	word[strcspn(word, ",}\n")] = '\0';
	return text_double(word, &value) ? value : 0;
}

/* A line only when there is something to say. */
static void summarize_commands(const char *report, FILE *out)
{
	static const struct {
		const char *member, *words;
	} counts[] = {{"created", "models created"}, {"removed", "models removed"},
		{"refused_commands", "commands refused"},
		{"waiting_commands", "commands for steps that were not reached"}};
	bool any = false;
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		double count = number(report, counts[i].member);
		if (count <= 0)
			continue;
		fprintf(out, "%s%.0f %s", any ? ", " : "", count, counts[i].words);
		any = true;
	}
	if (any)
		fprintf(out, "\n");
}

static void summarize_world(const char *report, const char *end, FILE *out)
{
	double wall_s = number(report, "wall_time");
	const char *at = report, *hash = find_member(&at, "state_hash");
	fprintf(out, "%.0f steps, %.6g s simulated in %.3f s: rtf %.3g, %.0f steps/s\n", number(report, "iterations"),
		number(report, "sim_time"), wall_s, number(report, "rtf"), number(report, "steps_per_second"));
	fprintf(out, "state %.*s, %.0f moves, busy", hash ? 16 : 0, hash ? hash + 1 : "", number(report, "moves"));
	const char *cursor = strstr(report, "\"secondaries\": [");
	while (find_member(&cursor, "secondary") && (!end || cursor < end)) {
		double busy_s = number(cursor, "busy_time");
		fprintf(out, " %.0f%%", wall_s > 0 ? busy_s / wall_s * 100 : 0);
	}
	fprintf(out, "\n");
	summarize_commands(report, out);
}

void report_summarize(const char *report, FILE *out)
{
	const char *world = report, *next;
	if (!strstr(report, "\n  \"worlds\": [")) {
		summarize_world(report, NULL, out);
		return;
	}
	for (world = find_member(&world, "world"); world; world = next) {
		next = world;
		next = find_member(&next, "world");
		fprintf(out, "world %.*s: ", (int)strcspn(world, ",\n"), world);
		summarize_world(world, next, out);
	}
}
