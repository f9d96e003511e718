/* The client is made once and kept: an autopilot that comes back joins with the same one. */
#include "gateway/autopilot/autopilot_client.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>

void autopilot_client_init(struct autopilot_client *base, const struct autopilot_client_def *def, const char *prefix)
{
	base->def = *def;
	base->model = mem_strdup(def->model);
	base->name = troupe_barrier_name_is_valid(def->model) ? mem_strdup(def->model)
							      : mem_printf("%s-%u", prefix, def->number);
}

void autopilot_client_fini(struct autopilot_client *base)
{
	if (base->client)
		troupe_client_leave(base->client);
	troupe_client_destroy(base->client);
	free(base->name);
	free(base->model);
}

void autopilot_client_say(const struct autopilot_client *base, const char *format, ...)
{
	struct text text = {0};
	va_list args;
	text_add(&text, "%s of '%s': ", base->def.title, base->model);
	va_start(args, format);
	text_add_v(&text, format, args);
	va_end(args);
	base->def.say(base->def.ctx, text.at);
	text_fini(&text);
}

troupe_status autopilot_client_open(struct autopilot_client *base, struct troupe_error *error)
{
	return base->client ? TROUPE_OK
			    : troupe_client_create(base->def.server, &(struct troupe_client_def){.never_waits = true},
				      &base->client, error);
}

void autopilot_client_refuse(struct autopilot_client *base, const char *where, const struct troupe_error *why)
{
	if (!base->told)
		autopilot_client_say(base, "%s cannot join: %s", where, why->text);
	base->told = true;
}

bool autopilot_client_join(struct autopilot_client *base, const struct troupe_barrier_ops *ops, void *ctx,
	uint64_t period_ns, const char *where)
{
	struct troupe_error error;
	const struct troupe_join join = {
		.name = base->name, .period_ns = period_ns, .failure = TROUPE_FAILURE_DROPS, .ops = ops, .ctx = ctx};
	troupe_client_leave(base->client);    /* it may have been out before */
	atomic_store(&base->is_joined, true); /* before the first barrier, which may end it */
	if (!troupe_client_join(base->client, &join, &error)) {
		autopilot_client_say(base, "joined from %s", where);
		base->told = false;
		return true;
	}
	atomic_store(&base->is_joined, false);
	autopilot_client_refuse(base, where, &error);
	return false;
}

void autopilot_client_out(struct autopilot_client *base)
{
	atomic_store(&base->is_joined, false);
	base->def.wake(base->def.ctx);
}

bool autopilot_client_is_joined(const struct autopilot_client *base)
{
	return atomic_load(&base->is_joined);
}
