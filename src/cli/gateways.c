/* Programs of Gazebo find a run without any option, but only on this machine. If there is no multicast (in a container
 * without a network, for example), the run goes on without gz-transport: no option asked for it. */
#include "cli/gateways.h"

#include "base/text.h"

#include <troupe/gateway.h>

#include <stdlib.h>

struct gateways {
	struct troupe_gz *gz;
};

static void describe(
	const struct gateways *gateways, bool open, void (*say)(void *ctx, bool loud, const char *text), void *ctx)
{
	struct text text = {0};
	char line[256];
	troupe_gz_describe(gateways->gz, line, sizeof line);
	text_add(&text, "gz-transport: %s", line);
	if (open)
		text_add(&text, ": programs on other hosts see everything and can command everything, and nothing is "
				"encrypted");
	say(ctx, open, text.at);
	text_fini(&text);
}

troupe_status gateways_start(const struct gateways_settings *settings, struct troupe_server *server,
	void (*say)(void *ctx, bool loud, const char *text), void *ctx, struct gateways **ret_gateways,
	struct troupe_error *error)
{
	const char *never = getenv("TROUPE_NO_GZ");
	struct gateways *gateways = mem_alloc(sizeof *gateways);
	struct troupe_gz_def def = {.address = settings->gz_address};
	struct troupe_error why;
	*ret_gateways = gateways;
	if (settings->no_gz || (!settings->gz_address && ((never && *never) || !troupe_gz_available())))
		return TROUPE_OK;
	troupe_status status = troupe_gz_start(server, &def, &gateways->gz, &why);
	if (!status) {
		describe(gateways, settings->gz_address, say, ctx);
		return TROUPE_OK;
	}
	if (settings->gz_address)
		return fail(error, status, "--gz-address: %s", why.text);
	struct text text = {0};
	text_add(&text, "no gz-transport: %s (--no-gz leaves it out)", why.text);
	say(ctx, true, text.at);
	text_fini(&text);
	return TROUPE_OK;
}

bool gateways_commanded(const struct gateways *gateways)
{
	if (!gateways || !gateways->gz)
		return false;
	struct troupe_gz_counts counts = troupe_gz_counts(gateways->gz);
	return counts.commands || counts.joined;
}

void gateways_end(struct gateways *gateways, const struct troupe_error *why)
{
	if (!gateways)
		return;
	troupe_gz_end(gateways->gz, why);
	free(gateways);
}
