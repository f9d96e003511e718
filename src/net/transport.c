/* A transport is a table of functions, and some of the functions are optional. This check finds a required function
 * that is missing, or an incomplete optional group, before the table is used. So callers need not test a required
 * function. */
#include "net/transport.h"

troupe_status transport_check(const struct transport_ops *ops, struct troupe_error *error)
{
	const char *hole = !ops->name                        ? "name"
			   : !ops->create                    ? "create"
			   : !ops->publish                   ? "publish"
			   : !ops->wait                      ? "wait"
			   : !ops->ack                       ? "ack"
			   : !ops->ack_of                    ? "ack_of"
			   : !ops->close                     ? "close"
			   : !ops->destroy                   ? "destroy"
			   : !ops->wait_for != !ops->release ? "wait_for and release, both or neither"
			   : !ops->wait_for != !ops->resize  ? "wait_for and resize, both or neither"
							     : NULL;
	if (hole)
		return fail(error, TROUPE_EINVAL, "transport '%s' does not fill slot '%s'", ops->name ? ops->name : "?",
			hole);
	return TROUPE_OK;
}
