/* The client is made once and kept: an autopilot that comes back joins with the same one. */
#include "gateway/autopilot/seat.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdlib.h>

void seat_init(struct seat *seat, const struct seat_def *def, const char *prefix)
{
	seat->def = *def;
	seat->model = mem_strdup(def->model);
	seat->name = troupe_barrier_name_is_valid(def->model) ? mem_strdup(def->model)
							      : mem_printf("%s-%u", prefix, def->number);
}

void seat_fini(struct seat *seat)
{
	if (seat->client)
		troupe_client_leave(seat->client);
	troupe_client_destroy(seat->client);
	free(seat->name);
	free(seat->model);
}

void seat_say(const struct seat *seat, const char *format, ...)
{
	struct text text = {0};
	va_list args;
	text_add(&text, "%s of '%s': ", seat->def.title, seat->model);
	va_start(args, format);
	text_add_v(&text, format, args);
	va_end(args);
	seat->def.say(seat->def.ctx, text.at);
	text_fini(&text);
}

troupe_status seat_open(struct seat *seat, struct troupe_error *error)
{
	return seat->client ? TROUPE_OK
			    : troupe_client_create(seat->def.server, &(struct troupe_client_def){.never_waits = true},
				      &seat->client, error);
}

void seat_refuse(struct seat *seat, const char *where, const struct troupe_error *why)
{
	if (!seat->told)
		seat_say(seat, "%s cannot join: %s", where, why->text);
	seat->told = true;
}

bool seat_join(
	struct seat *seat, const struct troupe_barrier_ops *ops, void *ctx, uint64_t period_ns, const char *where)
{
	struct troupe_error error;
	const struct troupe_join join = {
		.name = seat->name, .period_ns = period_ns, .failure = TROUPE_FAILURE_DROPS, .ops = ops, .ctx = ctx};
	troupe_client_leave(seat->client);    /* it may have been out before */
	atomic_store(&seat->is_joined, true); /* before the first barrier, which may end it */
	if (!troupe_client_join(seat->client, &join, &error)) {
		seat_say(seat, "joined from %s", where);
		seat->told = false;
		return true;
	}
	atomic_store(&seat->is_joined, false);
	seat_refuse(seat, where, &error);
	return false;
}

void seat_out(struct seat *seat)
{
	atomic_store(&seat->is_joined, false);
	seat->def.wake(seat->def.ctx);
}

bool seat_is_joined(const struct seat *seat)
{
	return atomic_load(&seat->is_joined);
}
