/* What a run says at its end: the report as a file, or a few lines for people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/base.h"

#include <stdio.h>

/* Whether a report could be written there: said before a long run rather than after it. */
troupe_status report_check(const char *path, struct troupe_error *error);
/* Whoever reads path sees the old file or the new one, never a part. */
troupe_status report_write(const char *path, const char *report, struct troupe_error *error);
/* From the report's JSON. */
void report_summarize(const char *report, FILE *out);

#endif
