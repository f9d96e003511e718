/* A transport is a table of functions. Which of them it must fill depends on whether it is remote. This check finds a
 * slot that is missing, or that has no meaning for the kind of transport, before the table is used. So callers test
 * only ops->remote and ops->wait_for. */
#include "net/transport.h"

static const char *transport_hole_of_remote(const struct transport_ops *ops)
{
	return !ops->lost       ? "lost"
	       : !ops->regroups ? "regroups"
	       : !ops->orphaned ? "orphaned"
	       : !ops->leaving  ? "leaving"
	       : !ops->leave    ? "leave"
	       : !ops->fetch    ? "fetch"
	       : !ops->stop     ? "stop"
	       : !ops->is_done  ? "is_done"
	       : !ops->counts   ? "counts"
	       : ops->wait_for  ? "wait_for, which only a local one has"
	       : ops->release   ? "release, which only a local one has"
	       : ops->resize    ? "resize, which only a local one has"
				: NULL;
}

static const char *transport_hole_of_local(const struct transport_ops *ops)
{
	return ops->lost                         ? "lost, which only a remote one has"
	       : ops->regroups                   ? "regroups, which only a remote one has"
	       : ops->orphaned                   ? "orphaned, which only a remote one has"
	       : ops->leaving                    ? "leaving, which only a remote one has"
	       : ops->leave                      ? "leave, which only a remote one has"
	       : ops->fetch                      ? "fetch, which only a remote one has"
	       : ops->stop                       ? "stop, which only a remote one has"
	       : ops->is_done                    ? "is_done, which only a remote one has"
	       : ops->counts                     ? "counts, which only a remote one has"
	       : !ops->wait_for != !ops->release ? "wait_for and release, both or neither"
	       : !ops->wait_for != !ops->resize  ? "wait_for and resize, both or neither"
						 : NULL;
}

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
			   : ops->remote   ? transport_hole_of_remote(ops)
					   : transport_hole_of_local(ops);
	if (hole)
		return fail(error, TROUPE_EINVAL, "transport '%s': slot %s", ops->name ? ops->name : "?", hole);
	return TROUPE_OK;
}
