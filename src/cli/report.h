/* What a run says at its end to people. */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include "base/base.h"

#include <stdio.h>

/* From the report's JSON. */
void report_summarize(const char *report, FILE *out);

#endif
