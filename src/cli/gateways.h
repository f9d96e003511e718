/* The gateways of a run: adapters through which other programs see the running world and act on it. */
#ifndef CLI_GATEWAYS_H
#define CLI_GATEWAYS_H

#include "base/base.h"

struct troupe_server;

struct gateways_settings {
	bool no_gz;             /* no gz-transport */
	const char *gz_address; /* of the interface through which other hosts are served; NULL: this machine only */
};

struct gateways;

/* Starts the gateways; *ret_gateways is NULL when there is none. say: called for each line that a person should know
 * of; loud: also without -v. A gateway that was not asked for by an option and cannot work is left out, with a line
 * that says why. TROUPE_EINVAL, TROUPE_EIO: one that was asked for cannot work. */
troupe_status gateways_start(const struct gateways_settings *settings, struct troupe_server *server,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error);
/* Whether a program has commanded the run through a gateway. NULL: no. */
bool gateways_commanded(const struct gateways *gateways);
/* Before the server is destroyed. why: the run has failed; NULL: it has ended. gateways may be NULL. */
void gateways_end(struct gateways *gateways, const struct troupe_error *why);

#endif
