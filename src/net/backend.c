/* Nothing else in the library names a transport, apart from its own folder: so another transport is a folder and a line
 * here. The order is of importance: the first local one and the first remote one are the usual ones. */
#include "net/backend.h"

#include "net/inproc/inproc.h"
#include "net/tcp/tcp.h"

#include <string.h>

static const struct backend backends[] = {
	{"inproc", &transport_inproc, NULL},
	{"tcp", &transport_tcp, &gather_tcp},
};

const struct backend *backend_local(void)
{
	return &backends[0];
}

troupe_status backend_remote(const char *name, const struct backend **ret_backend, struct troupe_error *error)
{
	struct text names = {0};
	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (!backends[i].gather)
			continue;
		if (!name || !strcmp(name, backends[i].name)) {
			*ret_backend = &backends[i];
			text_fini(&names);
			return TROUPE_OK;
		}
		text_add(&names, "%s%s", names.count ? ", " : "", backends[i].name);
	}
	(void)fail(error, TROUPE_EINVAL, "transport '%.40s' between processes: expected one of %s", name, names.at);
	text_fini(&names);
	return TROUPE_EINVAL;
}
