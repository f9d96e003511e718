/* The ways in which one scenario can be run, all of which must come to the same; and seeing whether they do. */
#ifndef RANDOM_WAYS_H
#define RANDOM_WAYS_H

#include "part.h"
#include "process.h"

/* Who simulates what, and how. */
struct placement {
	uint32_t secondaries;
	bool tuned; /* no number is named: the program finds out how many pay */
	bool tcp, balanced, anew;
	bool chaos;
	uint64_t chaos_seed;
	uint32_t chaos_moves;
	const char *pin; /* NULL, or the name of a performer for secondary 1 */
};

enum way_kind {
	WAY_ALONE,  /* no other run: only the rules that hold for the reference */
	WAY_PLAIN,  /* from the beginning to the end */
	WAY_RESUME, /* saved by the first placement, gone on from by the second, and again by the third if there is
		       `again` */
	WAY_REPLAY, /* recorded by the first, replayed by the second */
	WAY_UNTIL,  /* until a simulated time */
	WAY_STOP,   /* of a run in which a model diverges: saved then by the first placement, gone on from by the second
		     */
};

struct way {
	enum way_kind kind;
	struct placement first, second, third;
	uint64_t at, again; /* steps at which states are saved; again: 0 for none. until: the step to be reached */
	uint64_t every;     /* recording: steps between states */
	bool late;          /* resume: commands of later steps are given to the second run, not to the first */
};

enum { FAILURE_WHAT_BYTES = 200, FAILURE_TEXT_BYTES = 1200 };

struct failure {
	/* The same for the same kind of failure: shrinking keeps to it. */
	char what[FAILURE_WHAT_BYTES];
	char text[FAILURE_TEXT_BYTES]; /* for people */
	uint64_t step;                 /* nothing after it matters; UINT64_MAX: not known */
};

struct troupe { /* the program and where it runs */
	const char *program, *source_dir;
	bool has_anew;  /* knows --anew */
	double limit_s; /* of one run */
	bool diverging_fails;
	double cpu_s;      /* of all runs so far */
	uint64_t runs;     /* so many */
	uint64_t diverged; /* scenarios that ended as a model diverged */
};

/* What a run said, in lines. */
typedef VEC(const char *) line_list;
struct account {
	struct process process;
	char *report; /* NULL: none was written */
	line_list hashes, replies;
	uint64_t first_hash; /* step of hashes.at[0] */
	bool has_failed;     /* a reply says so */
};
void account_fini(struct account *account);

/* Runs the reference, and sees whether what must hold of it does. False: *ret says what does not. */
bool ways_reference(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	struct account *ret_reference, struct failure *ret);
/* Runs a way and compares. */
bool ways_try(struct troupe *troupe, const struct scenario *scenario, const char *folder,
	const struct account *reference, const struct way *way, struct failure *ret);
/* The command lines of a way, one a line, with the reference's first. */
void ways_print(const struct troupe *troupe, const struct scenario *scenario, const struct way *way, struct text *out);

/* The last step whose hash the reference told. */
uint64_t account_last_step(const struct account *account);

/* rules.c: what must be true of a run whoever simulates. False: *ret says what is not. */
bool rules_hold(const struct scenario *scenario, const struct account *reference, struct failure *ret);
/* The step at which a run until a time ends, and that time; false: not known, because of what is commanded. */
bool rules_until(const struct scenario *scenario, uint64_t step, double *ret_time_s, uint64_t *ret_step);
/* Contacts, poses: of any run's report. */
bool rules_report(const struct scenario *scenario, const char *report, struct failure *ret);
bool failure_set(struct failure *failure, const char *what, uint64_t step, const char *format, ...) TROUPE_PRINTF(4, 5);

#endif
