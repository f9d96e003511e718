/* Limits how often messages about unknown peers are shown: the same message about the same peer is shown once, and over
 * time one message in ten seconds is shown. Memory is bounded: the oldest messages are forgotten, and can be shown
 * again. No clock, no I/O. */
#ifndef NET_TCP_LOG_LIMIT_H
#define NET_TCP_LOG_LIMIT_H

#include "base/base.h"

enum { LOG_LIMIT_MAX = 32, LOG_LIMIT_BURST = 8 };

/* Zeroed: nothing has been shown. */
struct log_limit {
	uint64_t keys[LOG_LIMIT_MAX]; /* a ring */
	uint32_t count;               /* all keys ever added */
	uint64_t spent_ns;            /* time up to which the allowance has been spent */
};

/* Whether a message is to be shown now. who: the peer that it is about; what: the message. If true, it counts as
 * shown. */
bool log_limit_take(struct log_limit *limit, const void *who, size_t who_bytes, const char *what, uint64_t now_ns);
/* The same for a message that may be repeated: only the rate is limited. */
bool log_limit_again(struct log_limit *limit, uint64_t now_ns);

#endif
