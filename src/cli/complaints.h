/* Warnings, refused commands and bad lines of a run: printed on standard error as far as -v says, and counted, so that
 * the error at the end of the run can name them.
 *
 * Thread: complaints_bad_line() may be called by the reader of standard input beside all others; these are called by
 * one thread at a time. */
#ifndef CLI_COMPLAINTS_H
#define CLI_COMPLAINTS_H

#include "base/base.h"

struct troupe_reply;

enum { COMPLAINTS_WARNINGS_MAX = 20, COMPLAINTS_REFUSALS_MAX = 20 }; /* as many are shown with -v 1 */

struct complaints {
	int64_t verbosity; /* of -v; set by the owner */
	uint32_t warnings, refused_calls, refusals;
	uint32_t bad_lines; /* of standard input; writer: its reader */
	char warning[TROUPE_ERROR_TEXT_BYTES], refusal[TROUPE_ERROR_TEXT_BYTES]; /* the first of each */
	char bad_line[TROUPE_ERROR_TEXT_BYTES];                                  /* the first */
	char missing[TROUPE_ERROR_TEXT_BYTES]; /* the first warning about a file that is not there */
};

/* A warning. ctx is a struct complaints: the function may be given as a callback. */
void complaints_warn(void *ctx, const char *text);
/* The message about a line of standard input that could not be obeyed; ctx as above. */
void complaints_bad_line(void *ctx, const char *text);
/* The reply to a command: counted if the command was refused. The refusal of a call of a service by another program is
 * shown, but is no error of the run. */
void complaints_reply(struct complaints *complaints, const struct troupe_reply *reply);

/* Says how many warnings were not shown. */
void complaints_say_hidden(const struct complaints *complaints);
/* TROUPE_EWORLD: there were warnings, which --strict treats as errors. */
troupe_status complaints_strict(const struct complaints *complaints, struct troupe_error *error);
/* TROUPE_ECOMMAND: commands or lines could not be obeyed. */
troupe_status complaints_result(const struct complaints *complaints, struct troupe_error *error);

#endif
