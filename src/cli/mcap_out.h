/* The file of --mcap: topics of a run, or of a recording that runs again, as an MCAP file (troupe/gateway.h).
 *
 * Thread: mcap_out_step() from on_step of each step; the others by the thread that runs the server, while it does not
 * run. */
#ifndef CLI_MCAP_OUT_H
#define CLI_MCAP_OUT_H

#include "cli/options.h"

#include <troupe/gateway.h>
#include <troupe/server.h>

#include <stdatomic.h>

struct mcap_out_def {
	const char *path;                 /* NULL: nothing is written */
	const struct option_list *topics; /* --topic: PATTERN[@HZ] */
	const char *names;                /* "ros": those of ROS 2; NULL or another text: the run's */
	const char *robot;                /* with names of ROS 2: as in troupe_mcap_def */
	/* Called in mcap_out_step() when the file ends before the run, and in mcap_out_end(). */
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};

struct mcap_out { /* zeroed: nothing is written */
	struct mcap_out_def def;
	VEC(struct troupe_mcap_topic) topics;
	struct arena texts; /* of topics */
	struct troupe_mcap *mcap;
	struct troupe_mcap_counts counts;  /* after mcap_out_end() */
	char why[TROUPE_ERROR_TEXT_BYTES]; /* the error that ended the file; written before `ended` is set */
	_Atomic bool ended;
	bool told; /* why, by warn() */
};

/* The names of --mcap-names, for a table of options. */
#define MCAP_OUT_NAMES "ros gz"

/* Reads the topics. The texts of def are kept. TROUPE_EINVAL: wrong usage. Call mcap_out_fini() in any case. */
troupe_status mcap_out_init(struct mcap_out *out, const struct mcap_out_def *def, struct troupe_error *error);
/* Opens the file. A later error ends the file but not the run. */
troupe_status mcap_out_begin(struct mcap_out *out, struct troupe_server *server, struct troupe_error *error);
void mcap_out_step(struct mcap_out *out);
/* Before the server is destroyed. The error that ended the file is returned. */
troupe_status mcap_out_end(struct mcap_out *out, struct troupe_error *error);
void mcap_out_fini(struct mcap_out *out);

#endif
