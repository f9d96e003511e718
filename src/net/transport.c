#include "net/transport.h"

troupe_status transport_check(const struct transport_ops *ops, struct troupe_error *error)
{
	const char *hole = !ops->name      ? "name"
			   : !ops->create  ? "create"
			   : !ops->publish ? "publish"
			   : !ops->wait    ? "wait"
			   : !ops->ack     ? "ack"
			   : !ops->ack_of  ? "ack_of"
			   : !ops->close   ? "close"
			   : !ops->destroy ? "destroy"
					   : NULL;
	if (hole)
		return fail(error, TROUPE_EINVAL, "transport '%s' does not fill slot '%s'", ops->name ? ops->name : "?",
			hole);
	return TROUPE_OK;
}
