/* The secondaries that came, left and were lost during a recorded run, for people. They change no bit; but a fault that
 * shows when they come may be one of the run's surroundings. */
#ifndef CLI_MEMBER_LIST_H
#define CLI_MEMBER_LIST_H

#include "base/text.h"

#include <troupe/report.h>

enum { MEMBER_LIST_MAX = 1000, MEMBER_LIST_SHOWN = 8, MEMBER_LIST_NAME_BYTES = 256 };

struct member_list { /* zeroed is empty */
	VEC(struct troupe_report_member) at;
	VEC(char *) names; /* theirs */
};

/* Beyond MEMBER_LIST_MAX changes are left out; names are cut. */
void member_list_add(struct member_list *list, const struct troupe_report_member *change);
/* Appends the last changes up to the state `step`, a line for each, after `before`: "step 12: secondary 2 lost". */
void member_list_show(const struct member_list *list, uint64_t step, const char *before, struct text *out);
void member_list_fini(struct member_list *list);

#endif
