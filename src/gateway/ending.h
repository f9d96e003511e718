/* The end of a run, as a gateway says it to its clients. */
#ifndef GATEWAY_ENDING_H
#define GATEWAY_ENDING_H

#include <troupe/base.h>

/* The reason, in words. why: the error with which the run has failed; NULL: it has ended without one. Valid as long as
 * `why` is. */
static inline const char *ending_text(const struct troupe_error *why)
{
	return why ? why->text : "the run has ended";
}

#endif
