/* What `troupe run` delivers when a run has ended: a report in JSON if --report is given, and otherwise a summary for
 * people, with a command line that repeats the run.
 *
 * Thread: the one that has run the server. */
#ifndef CLI_RESULTS_H
#define CLI_RESULTS_H

#include "cli/output.h"
#include "cli/run_settings.h"

struct troupe_server;

struct results {
	const struct run_settings *settings;
	struct troupe_server *server;
	struct output *output; /* standard output */
	uint64_t begun_at;     /* step */
	bool commanded;        /* commands came that are in no file of --commands */
	bool commands_lost;    /* the file of --commands-out does not have all commands */
	bool failed;           /* a failed run prints one error line and no summary, but its report is still useful */
};

/* TROUPE_EIO: the report could not be written. */
troupe_status results_deliver(const struct results *results, struct troupe_error *error);

#endif
