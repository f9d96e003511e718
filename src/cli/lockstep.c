/* The run waits for the clients before the first step, so that the set of clients at the start, and with it the run,
 * does not depend on how fast they start. */
#include "cli/lockstep.h"

#include "base/text.h"
#include "gateway/ending.h"
#include "gateway/lockstep/lockstep_listener.h"

#include <troupe/barrier.h>

static void cli_lockstep_add_awaited(const struct lockstep_settings *settings, const char *before, struct text *text)
{
	for (uint32_t i = 0; i < settings->wait_for.count; i++)
		text_add(text, "%s%s", i ? ", " : before, settings->wait_for.at[i]);
}

/* A client that cannot join would be awaited for ever. */
static troupe_status cli_lockstep_check_names(const struct lockstep_settings *settings, struct troupe_error *error)
{
	const struct option_list *names = &settings->wait_for;
	if (names->count > TROUPE_BARRIER_CLIENTS_MAX)
		return fail(error, TROUPE_EINVAL, "--wait-for: %u names: expected at most %d", names->count,
			TROUPE_BARRIER_CLIENTS_MAX);
	for (uint32_t i = 0; i < names->count; i++)
		if (!troupe_barrier_name_is_valid(names->at[i]))
			return fail(error, TROUPE_EINVAL,
				"--wait-for: '%.80s': expected 1 to %d letters, digits, '_', '-' and '.'", names->at[i],
				TROUPE_BARRIER_NAME_MAX);
	return TROUPE_OK;
}

/* Clients that join by services: the run waits for them without a socket of its own. */
static troupe_status cli_lockstep_start_without_socket(const struct lockstep_settings *settings, bool open,
	void (*note)(void *ctx, const char *text), void *ctx, struct troupe_error *error)
{
	struct text text = {0};
	if (!settings->wait_for.count)
		return TROUPE_OK;
	if (!open)
		return fail(error, TROUPE_EINVAL,
			"--wait-for: no barrier client can join: expected --lockstep-socket, --lockstep-listen, "
			"--rosbridge, or a run that programs see by gz-transport");
	cli_lockstep_add_awaited(settings, "lockstep: waiting for ", &text);
	note(ctx, text.at);
	text_fini(&text);
	return TROUPE_OK;
}

troupe_status lockstep_start(const struct lockstep_settings *settings, struct troupe_server *server, bool open,
	void (*note)(void *ctx, const char *text), void *ctx, struct lockstep_listener **ret_listener,
	struct troupe_error *error)
{
	const struct lockstep_listener_options options = {settings->socket, settings->listen, settings->insecure};
	struct text text = {0};
	*ret_listener = NULL;
	troupe_status status = cli_lockstep_check_names(settings, error);
	if (status)
		return status;
	if (!options.path && !options.address)
		return cli_lockstep_start_without_socket(settings, open, note, ctx, error);
	struct troupe_error why;
	status = lockstep_listener_create(server, &options, ret_listener, &why);
	if (status) /* the error is in an option, or a file cannot be made: never an internal error */
		return fail(error, TROUPE_EIO, "%s", why.text);
	text_add(&text, "lockstep: clients join at ");
	lockstep_listener_describe(*ret_listener, &text);
	cli_lockstep_add_awaited(settings, "; waiting for ", &text);
	note(ctx, text.at);
	text_fini(&text);
	return TROUPE_OK;
}

troupe_status lockstep_await(
	const struct lockstep_settings *settings, struct troupe_server *server, struct troupe_error *error)
{
	if (!settings->wait_for.count)
		return TROUPE_OK;
	return troupe_server_await(server, settings->wait_for.at, (uint64_t)(settings->wait_s * 1e9), error);
}

const char *lockstep_address(const struct lockstep_listener *listener)
{
	return listener ? lockstep_listener_address(listener) : NULL;
}

void lockstep_end(struct lockstep_listener *listener, troupe_status status, const struct troupe_error *error)
{
	lockstep_listener_destroy(listener, status != TROUPE_OK, ending_text(status ? error : NULL));
}
