/* The table of transports: the one place that names them all. A transport is asked for by its name. */
#ifndef NET_BACKEND_H
#define NET_BACKEND_H

#include "net/gather.h"
#include "net/transport.h"

struct backend {
	const char *name;
	const struct transport_ops *transport;
	const struct gather_ops *gather; /* of a remote transport; NULL: local */
	const struct follow_ops *follow; /* NULL: without standbys */
};

/* The local transport. */
const struct backend *backend_local(void);
/* The remote transport of that name; NULL: the usual one. TROUPE_EINVAL lists the names. */
troupe_status backend_remote(const char *name, const struct backend **ret_backend, struct troupe_error *error);

#endif
