/* What a run says at its end to people: at most REPORT_LINES_MAX lines in plain words. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/text.h"

#include <troupe/report.h>

enum { REPORT_LINES_MAX = 25 };

struct report_next {          /* command lines, each may be NULL: it is not shown */
	const char *again;    /* shows the same hash, alone and as fast as possible */
	const char *tries[2]; /* what else there is to see */
};

void report_summarize(const struct troupe_report *report, const struct report_next *next, struct text *out);

#endif
