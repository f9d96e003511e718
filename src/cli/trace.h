/* The lines that `troupe run` prints on standard output while the world runs: those of --trace and --hash-every.
 *
 * Thread: as of output_line(). */
#ifndef CLI_TRACE_H
#define CLI_TRACE_H

#include "cli/output.h"

struct troupe_event;
struct troupe_reply;
struct troupe_report_member;

/* several_worlds: the name of the world stands before that of the model or level. */
void trace_event(struct output *output, const struct troupe_event *event, bool several_worlds);
void trace_reply(struct output *output, const struct troupe_reply *reply);
void trace_member(struct output *output, const struct troupe_report_member *change);
void trace_hash(struct output *output, uint64_t step, uint64_t hash);

#endif
