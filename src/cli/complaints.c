/* With -v 1 only the first messages of each kind are shown, because thousands of them would hide all others. All are
 * counted, because the exit status depends on them. */
#include "cli/complaints.h"

#include "cli/cli.h"

#include <troupe/server.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void complaints_bad_line(void *ctx, const char *text)
{
	struct complaints *complaints = ctx;
	int64_t verbosity = complaints->verbosity;
	if (verbosity >= 2 || (verbosity == 1 && complaints->bad_lines < COMPLAINTS_REFUSALS_MAX))
		cli_complain("run", "%s", text);
	if (!complaints->bad_lines++)
		(void)snprintf(complaints->bad_line, sizeof complaints->bad_line, "%s", text);
}

void complaints_warn(void *ctx, const char *text)
{
	struct complaints *complaints = ctx;
	int64_t verbosity = complaints->verbosity;
	if (verbosity >= 2 || (verbosity == 1 && complaints->warnings < COMPLAINTS_WARNINGS_MAX))
		cli_finding(SDF_WARNING, text);
	if (!*complaints->missing && strstr(text, " is not found"))
		(void)snprintf(complaints->missing, sizeof complaints->missing, "%s", text);
	if (!complaints->warnings++)
		(void)snprintf(complaints->warning, sizeof complaints->warning, "%s", text);
}

void complaints_reply(struct complaints *complaints, const struct troupe_reply *reply)
{
	if (!reply->status)
		return;
	if (reply->called) { /* no error of this run. The caller is told, but clients of Gazebo not why. */
		if (complaints->verbosity >= 2 ||
			(complaints->verbosity == 1 && complaints->refused_calls < COMPLAINTS_REFUSALS_MAX))
			cli_complain("run", "step %" PRIu64 ": %s: %s", reply->step, reply->topic, reply->text);
		complaints->refused_calls++;
		return;
	}
	if (!complaints->refusals)
		snprintf(complaints->refusal, sizeof complaints->refusal, "step %" PRIu64 ": %s: %s", reply->step,
			reply->topic, reply->text);
	if (complaints->verbosity >= 2 ||
		(complaints->verbosity == 1 && complaints->refusals < COMPLAINTS_REFUSALS_MAX))
		cli_complain("run", "step %" PRIu64 ": %s: %s", reply->step, reply->topic, reply->text);
	complaints->refusals++;
}

void complaints_say_hidden(const struct complaints *complaints)
{
	if (complaints->verbosity == 1 && complaints->warnings > COMPLAINTS_WARNINGS_MAX)
		fprintf(stderr, "and %u more warnings (-v 2 shows them)\n",
			complaints->warnings - COMPLAINTS_WARNINGS_MAX);
}

/* The error names the first warning if warnings were not shown. */
troupe_status complaints_strict(const struct complaints *complaints, struct troupe_error *error)
{
	const char *warnings = complaints->warnings == 1 ? "warning" : "warnings";
	if (!complaints->warnings)
		return TROUPE_OK;
	if (complaints->verbosity < 1)
		return fail(error, TROUPE_EWORLD, "--strict: %u %s, the first: %s", complaints->warnings, warnings,
			complaints->warning);
	return fail(error, TROUPE_EWORLD, "--strict: %u %s: see above", complaints->warnings, warnings);
}

/* The error names the first refusal if refusals were not shown when they happened. */
static troupe_status complaints_refusals_counted(const struct complaints *complaints, struct troupe_error *error)
{
	uint32_t shown = complaints->verbosity >= 2   ? complaints->refusals
			 : complaints->verbosity == 1 ? MIN(complaints->refusals, (uint32_t)COMPLAINTS_REFUSALS_MAX)
						      : 0;
	const char *commands = complaints->refusals == 1 ? "command" : "commands";
	if (!shown)
		return fail(error, TROUPE_ECOMMAND, "%u %s could not be obeyed, the first: %s", complaints->refusals,
			commands, complaints->refusal);
	if (shown < complaints->refusals)
		return fail(error, TROUPE_ECOMMAND,
			"%u %s could not be obeyed: the first %u are above (-v 2 shows all)", complaints->refusals,
			commands, shown);
	return fail(error, TROUPE_ECOMMAND, "%u %s could not be obeyed: see above", complaints->refusals, commands);
}

static troupe_status complaints_bad_lines_counted(const struct complaints *complaints, struct troupe_error *error)
{
	const char *lines = complaints->bad_lines == 1 ? "line" : "lines";
	if (complaints->verbosity < 1)
		return fail(error, TROUPE_ECOMMAND, "%u %s of standard input could not be obeyed, the first: %s",
			complaints->bad_lines, lines, complaints->bad_line);
	return fail(error, TROUPE_ECOMMAND, "%u %s of standard input could not be obeyed: see above%s",
		complaints->bad_lines, lines,
		complaints->verbosity < 2 && complaints->bad_lines > COMPLAINTS_REFUSALS_MAX ? " (-v 2 shows all)"
											     : "");
}

troupe_status complaints_result(const struct complaints *complaints, struct troupe_error *error)
{
	if (complaints->refusals)
		return complaints_refusals_counted(complaints, error);
	return complaints->bad_lines ? complaints_bad_lines_counted(complaints, error) : TROUPE_OK;
}
