/* The states that `troupe run` saves: --save-at, --save-every and --save-on-stop. A state that cannot be saved does not
 * end the run: earlier states stay, and the result of the run may be worth more than one saved state.
 *
 * Thread: the one that runs the server, between its runs. */
#ifndef CLI_SAVES_H
#define CLI_SAVES_H

#include "cli/complaints.h"
#include "cli/outputs.h"
#include "cli/run_settings.h"

struct troupe_server;

struct saving {        /* one --save-at or --save-every */
	uint64_t step; /* or the interval in steps */
	bool every;
	const char *file;
	bool reached; /* a state was due */
	bool failing; /* its last state could not be saved */
};

struct saves { /* zeroed: none */
	VEC(struct saving) all;
	struct complaints *complaints; /* gets a warning for a state that could not be saved; set by the owner */
	uint32_t unsaved;
	struct troupe_error why; /* of the first that could not be saved */
};

/* Reads --save-at and --save-every. */
troupe_status saves_read(struct saves *saves, const struct run_settings *settings, struct troupe_error *error);
void saves_add_outputs(const struct saves *saves, struct outputs *outputs);
/* Saves the state as often as is due at this step, which the server has reached. */
void saves_due(struct saves *saves, struct troupe_server *server, uint64_t step);
/* The next step after this one at which a state is to be saved; UINT64_MAX: none. */
uint64_t saves_next(const struct saves *saves, uint64_t step);
/* At the end of the run: warns of each --save-at whose step the run did not have. */
void saves_warn(const struct saves *saves, const struct troupe_server *server);
/* Saves the state of a run that did not reach its own end, and names the file. pattern: as of --save-on-stop. */
troupe_status saves_on_stop(
	struct saves *saves, struct troupe_server *server, const char *pattern, struct troupe_error *error);
/* The pattern of --save-on-stop in networked mode, if the option is not given. The caller frees it. */
char *saves_default(const struct troupe_server *server);
/* The error of the first state that could not be saved; TROUPE_OK: there is none. */
troupe_status saves_result(const struct saves *saves, struct troupe_error *error);
void saves_fini(struct saves *saves);

#endif
