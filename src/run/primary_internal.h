/* Shared by primary.c (the turn) and services.c (what a command does to the primary itself). */
#ifndef RUN_PRIMARY_INTERNAL_H
#define RUN_PRIMARY_INTERNAL_H

#include "run/primary.h"

/* Takes no further step until told otherwise; callers that wait for steps are told. */
void primary_pause(struct primary *primary);
/* Tells the callers that wait for steps to be taken. */
void primary_answer_waiting(struct primary *primary, uint64_t step, troupe_status status, const char *text);
/* Whether the steps add up to this time, within a millionth of a step. */
bool primary_has_reached(const struct primary *primary, double time_s);
/* Takes what a command did so far into the plan. Called after each command; by the command, if it needs the plan before
 * its end. */
void primary_plan_effects(struct primary *primary);
#endif
