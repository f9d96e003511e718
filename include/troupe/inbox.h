/* Replies and warnings of a server that wait to be taken: for programs that a library cannot call back at any moment,
 * such as those in languages whose callbacks may raise exceptions. The server is created with
 *
 *     def.on_reply = troupe_inbox_put_reply;
 *     def.on_warning = troupe_inbox_put_warning;
 *     def.ctx = inbox;
 *
 * Thread: troupe_inbox_put_...() are called by the server. Any thread may call troupe_inbox_take_...(), but only one
 * thread at a time. */
#ifndef TROUPE_INBOX_H
#define TROUPE_INBOX_H

#include <troupe/server.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_inbox;

enum { TROUPE_INBOX_MAX = 1 << 20 };

/* depth: the greatest number of replies, and of warnings, that are kept; when there are more, the oldest is lost. 1 to
 * TROUPE_INBOX_MAX, or TROUPE_EINVAL. The inbox must outlive the server. */
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
/* The reply to the first command that failed since the last call. Commands of clients do not count, because their
 * clients get the reply. The replies contain it, too; but here it is not lost when there are many replies. */
TROUPE_API bool troupe_inbox_take_failure(struct troupe_inbox *inbox, struct troupe_reply *ret_reply);
/* Whether troupe_inbox_take_failure() of one of these would take a reply: one call for many servers. */
TROUPE_API bool troupe_inbox_any_failure(struct troupe_inbox *const *inboxes, uint32_t count);

#ifdef __cplusplus
}
#endif

#endif
