/* The summary of a run for people: at most REPORT_LINES_MAX lines in plain words. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/text.h"

#include <troupe/report.h>

enum { REPORT_LINES_MAX = 26 };

struct report_next {          /* command lines; NULL: not shown */
	const char *again;    /* repeats the run in one process, as fast as possible: gives the same hash */
	const char *tries[2]; /* suggestions of other commands */
};

void report_summarize(const struct troupe_report *report, const struct report_next *next, struct text *out);

#endif
