/* Which topics a file gets: those that match a pattern of the user, or the usual ones where there is none. */
#ifndef GATEWAY_MCAP_CHOSEN_H
#define GATEWAY_MCAP_CHOSEN_H

#include "base/base.h"

#include <troupe/client.h>
#include <troupe/gateway.h>

struct chosen_pattern {
	const char *text; /* the caller's */
	double rate_hz;
	bool matched;
};

struct chosen { /* zeroed has no patterns */
	VEC(struct chosen_pattern) patterns;
};

/* TROUPE_EINVAL: a pattern or a rate is not valid. */
troupe_status chosen_init(struct chosen *chosen, const struct troupe_mcap_def *def, struct troupe_error *error);
void chosen_fini(struct chosen *chosen);
/* Whether a topic is one that a file has without patterns: no pictures, and nothing that depends on real time. */
bool chosen_is_usual(const struct troupe_topic *topic);
/* Whether a pattern matches the name of a topic, or there is none and it is a usual one; and its rate, 0: each
 * message. */
bool chosen_has(struct chosen *chosen, const char *name, bool usual, double *ret_rate_hz);
/* A pattern that has matched no name so far; NULL: there is none. */
const char *chosen_unmatched(const struct chosen *chosen);

#endif
