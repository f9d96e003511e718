/* Replies and warnings of a server that wait to be taken: for programs that a library cannot call back at any moment,
 * such as those in languages whose callbacks may raise exceptions. The server is created with
 *
 *     def.on_reply = troupe_inbox_put_reply;
 *     def.on_warning = troupe_inbox_put_warning;
 *     def.ctx = inbox;
 *
 * Thread: the functions that put are called by the server; those that take, by one thread at a time, at any moment. */
#ifndef TROUPE_INBOX_H
#define TROUPE_INBOX_H

#include <troupe/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_inbox;

enum { TROUPE_INBOX_MAX = 1 << 20 };

/* depth: so many replies, and so many warnings, are kept; the oldest goes first. 1 to TROUPE_INBOX_MAX, or
 * TROUPE_EINVAL. It must outlive the server. */
TROUPE_API troupe_status troupe_inbox_create(
	uint32_t depth, struct troupe_inbox **ret_inbox, struct troupe_error *error);
TROUPE_API void troupe_inbox_destroy(struct troupe_inbox *inbox); /* NULL is fine */

/* inbox: a struct troupe_inbox */
TROUPE_API void troupe_inbox_put_reply(void *inbox, const struct troupe_reply *reply);
TROUPE_API void troupe_inbox_put_warning(void *inbox, const char *text);

/* The oldest; false: there is none. Its texts are valid until the next call of the same function, or until the inbox is
 * destroyed. */
TROUPE_API bool troupe_inbox_take_reply(struct troupe_inbox *inbox, struct troupe_reply *ret_reply);
TROUPE_API bool troupe_inbox_take_warning(struct troupe_inbox *inbox, const char **ret_text);
/* The first command that failed since the last call, except for those of clients, who are told. It is among the
 * replies, too, but is not lost when they are many. */
TROUPE_API bool troupe_inbox_take_failure(struct troupe_inbox *inbox, struct troupe_reply *ret_reply);

#ifdef __cplusplus
}
#endif

#endif
