/* A run of the command, as its files share it: run.c prepares it and lets it go on, run_end.c ends it. Thread: the one
 * of main(), except where a comment says otherwise. */
#ifndef CLI_RUN_INTERNAL_H
#define CLI_RUN_INTERNAL_H

#include "cli/camera_out.h"
#include "cli/commands.h"
#include "cli/commands_in.h"
#include "cli/commands_out.h"
#include "cli/complaints.h"
#include "cli/mcap_out.h"
#include "cli/output.h"
#include "cli/outputs.h"
#include "cli/programs.h"
#include "cli/recordings.h"
#include "cli/run.h"
#include "cli/saves.h"
#include "cli/status.h"
#include "cli/stuck.h"
#include "gateway/log/log.h"

#include <troupe/server.h>

struct run {
	struct run_settings settings;
	struct arena arena;
	struct command_lines commands;
	struct commands_in *commands_in;
	struct commands_out commands_out;
	struct troupe_server *server;
	struct output output;
	struct status_line status;
	struct log log;
	uint64_t log_every;
	struct camera_out camera_out;
	struct mcap_out mcap_out;
	struct complaints complaints;
	struct saves saves;
	struct outputs outputs;
	struct children children;
	struct gateways *gateways;
	struct lockstep_listener *lockstep;
	struct programs *programs; /* NULL: none are started */
	struct recordings recordings;
	struct stuck stuck;
	struct troupe_standby *standby; /* took over: the server resumes its state; NULL: not so */
	uint64_t begun_at;              /* step */
	bool took_over;                 /* from a primary that was lost: the state was nowhere else */
	struct text taken_state;        /* this state, until the run goes on */
	uint64_t paused_at_ns;          /* when run_on_watch() first saw the present pause; 0: there is none */
	bool pause_told;
	struct arena *lasting; /* of the first run of the process; used while no gateway runs */
	bool no_world;
	troupe_status ran; /* of the steps */
	const char *bound; /* why no other run can follow; NULL: one can */
	/* Follows this one. Written by a thread of a gateway, read when the gateways have ended. */
	struct run *next;
};

/* Frees a run that was made to follow another one, and did not begin. */
void run_free_next(struct run *run);

/* --- run_end.c ---------------------------------------------------------------------------------------------------- */

/* After the last step: no more signals for the server. status: of the steps; returned, unless a loss of peers is what
 * the stop brought. *ret_stopped: the run was told to stop before its own end. */
troupe_status run_end_steps(struct run *run, troupe_status status, bool *ret_stopped);
/* Closes all files that the run writes, and gives the report. status: of the run: its error, which is then in *error,
 * has priority over errors of files; errors of files have priority in the order of the calls. Returns the first. */
troupe_status run_end_outputs(struct run *run, troupe_status status, bool stopped, struct troupe_error *error);
/* Ends all that runs beside the server, and says whether another run follows (run->next). */
void run_end_company(struct run *run, troupe_status status, const struct troupe_error *error);
/* The exit status of the process. */
int run_end_status(const struct run *run, troupe_status status);
/* Ends the process while some thread still uses the server. Does not return. */
void run_end_leave(struct run *run, troupe_status status);
/* The run is stuck (cli/stuck.h): ends all that can be ended, and then the process. ctx: the run. Another thread. */
void run_end_stuck(void *ctx);

#endif
