/* The ways in which one scenario can be run, all of which must have the same outcome; and the comparison of two
 * outcomes. */
#ifndef RANDOM_WAYS_H
#define RANDOM_WAYS_H

#include "part.h"
#include "process.h"

/* Which secondary simulates which models, and how. */
struct placement {
	uint32_t secondaries;
	bool tuned; /* no number is given: the program finds the best one */
	bool tcp, balanced, anew;
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves;
	uint32_t window;  /* steps that are taken together; 0: found out, or drawn by chaos */
	const char *pin; /* NULL, or the name of a performer for secondary 1 */
};

enum way_kind {
	WAY_ALONE,  /* no other run: only the rules that hold for the reference */
	WAY_PLAIN,  /* from the beginning to the end */
	WAY_RESUME, /* saved by the first placement, resumed by the second, and, if `again` is not 0, resumed once more
		       by the third */
	WAY_REPLAY, /* recorded by the first placement, replayed by the second */
	WAY_UNTIL,  /* until a simulated time */
	WAY_STOP,   /* a run in which a model diverges: saved then by the first placement, resumed by the second */
	WAY_LOST,   /* the first placement loses a secondary, or is told to stop, in some step: what is saved then is
		       resumed by the second */
	WAY_UNDER,  /* a state is saved by the first placement; another run, by the second, takes it up while it runs;
		       its  recording is replayed by the third, and its commands are given again */
	WAY_FILES, /* the MCAP file and the table of the first placement are those of the second with other options, and
		      the table goes on when a state of the second is resumed by the third */
};

struct way {
	enum way_kind kind;
	struct placement first, second, third;
	uint64_t at, again; /* steps at which states are saved; again: 0 for none; with WAY_UNTIL the last step */
	uint64_t every;     /* recording: steps between states */
	bool late;          /* resume: commands of later steps are given to the second run, not to the first */
	bool told;          /* WAY_LOST: told to stop */
	/* WAY_UNDER: the step at which the state is taken up; seed of what else is done there. WAY_LOST: the child that
	 * is lost. WAY_FILES: seed of the options */
	uint64_t from;
	uint32_t more;
};

enum { FAILURE_WHAT_BYTES = 200, FAILURE_TEXT_BYTES = 1200 };

struct failure {
	/* Equal for failures of one kind: shrinking keeps it. */
	char what[FAILURE_WHAT_BYTES];
	char text[FAILURE_TEXT_BYTES]; /* for people */
	uint64_t step;                 /* no later step matters; UINT64_MAX: not known */
};

struct troupe { /* the program and the conditions of its runs */
	const char *program, *source_dir;
	bool has_anew;  /* knows the option --anew */
	double limit_s; /* of one run */
	bool diverging_fails;
	double cpu_s;      /* of all runs so far */
	uint64_t runs;     /* number of runs */
	uint64_t diverged; /* number of scenarios that ended because a model diverged */
};

/* The output of a run, in lines. */
typedef VEC(const char *) line_list;
struct account {
	struct process process;
	char *report; /* NULL: none was written */
	line_list hashes, replies, others;
	uint64_t first_hash; /* step of hashes.at[0] */
	bool has_failed;     /* a reply reports it */
};
void account_fini(struct account *account);

/* Runs the reference, and checks the rules for it. False: *ret has the failure. */
bool ways_reference(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	struct account *ret_reference, struct failure *ret);
/* Runs a way, and compares the outcome with the reference. */
bool ways_try(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	const struct account *reference, const struct way *way, struct failure *ret);
/* The command lines of a way, each on a line, with the reference's first. */
void ways_print(const struct troupe *troupe, const struct scenario *scenario, const struct way *way, struct text *out);

/* The last step whose hash the reference printed. */
uint64_t account_last_step(const struct account *account);

/* rules.c: the rules for a run, whichever secondary simulates a model. False: *ret has the failure. */
bool rules_hold(const struct scenario *scenario, const struct account *reference, struct failure *ret);
/* The step at which a run until a time ends, and this time; false: not known, because of the commands. */
bool rules_until(const struct scenario *scenario, uint64_t step, double *ret_time_s, uint64_t *ret_step);
/* The rules for contacts and poses: for the report of any run. */
bool rules_report(const struct scenario *scenario, const char *report, struct failure *ret);
bool failure_set(struct failure *failure, const char *what, uint64_t step, const char *format, ...) TROUPE_PRINTF(4, 5);

#endif
