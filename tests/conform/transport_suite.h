/* The rules that every transport must keep, whatever carries the messages. A test program for each back end makes the
 * ends (a stage), and plays the whole suite with them. Each part of the suite has a primary and secondaries. A thread
 * of its own plays each of them, in the process that has its end. */
#ifndef TESTS_TRANSPORT_SUITE_H
#define TESTS_TRANSPORT_SUITE_H

#include "net/transport.h"

enum { SUITE_SECONDARIES_MAX = 8 };

struct stage {
	const struct transport_ops *ops;
	/* One transport has all ends: open() is called once, for the primary. */
	bool is_shared;
	/* Called when a part of the suite begins. secondaries: their number. May be NULL. */
	void (*begin)(struct stage *stage, uint32_t secondaries);
	/* Makes the end of a secondary, from 1; 0: the primary's end. */
	troupe_status (*open)(struct stage *stage, const struct transport_options *options, uint32_t secondary,
		struct transport **ret_transport, struct troupe_error *error);
	/* Whether the end of this secondary is in this process; NULL: all ends are. */
	bool (*is_here)(const struct stage *stage, uint32_t secondary);
	/* For remote transports: acts as if the process of this secondary had died, without a message. Destroys its
	 * end, unless it is shared. */
	void (*kill)(struct stage *stage, uint32_t secondary, struct transport *transport);
	/* Called when all ends of this process are destroyed. May be NULL. */
	void (*end)(struct stage *stage);
	void *ctx;
};

/* Each returns NULL on success, otherwise the fault. */
const char *suite_order_and_once(struct stage *stage, uint32_t secondaries, uint64_t steps);
/* The same with messages about several steps, and with messages that come again. */
const char *suite_windows(struct stage *stage, uint32_t secondaries, uint64_t messages);
const char *suite_publish_refuses(struct stage *stage, uint32_t secondaries);
const char *suite_ack_refuses(struct stage *stage, uint32_t secondaries);
const char *suite_close_wakes(struct stage *stage, uint32_t secondaries);
const char *suite_close_delivers_first(struct stage *stage, uint32_t secondaries);
const char *suite_create_refuses(struct stage *stage);

/* For remote transports. The last secondary is lost. */
enum suite_moment { SUITE_BEFORE, SUITE_DURING, SUITE_AFTER };
const char *suite_lost(struct stage *stage, uint32_t secondaries, enum suite_moment moment);
/* A secondary reports that it leaves, in the middle of a step. Not for shared ends. */
const char *suite_left(struct stage *stage, uint32_t secondaries);
/* The primary ends the run for a reason. */
const char *suite_failed(struct stage *stage, uint32_t secondaries);
/* Secondaries fetch files of the primary, which has some, then none. Not for shared ends. */
const char *suite_files(struct stage *stage, uint32_t secondaries);

#endif
