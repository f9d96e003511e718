/* The entrance for viewers as programs of the library have it (troupe/gateway.h): a host, and the key that it asks for.
 * Without a key only this machine may connect, unless the user allows all hosts. */
#include "gateway/relay/relay.h"

#include "net/address.h"
#include "net/key.h"

#include <troupe/gateway.h>

#include <stdio.h>
#include <stdlib.h>

struct troupe_watch {
	struct relay_host *host;
	bool has_key;
};

static troupe_status watch_check_address(const struct troupe_watch_def *def, bool has_key, struct troupe_error *error)
{
	struct address address;
	troupe_status status = address_parse_listen(def->listen, RELAY_PORT, &address, error);
	if (status || has_key || def->insecure || address_is_loopback(&address))
		return status;
	return fail(error, TROUPE_EINVAL,
		"'%.100s' is not this machine's loopback, and there is no key: expected a key (troupe keygen makes "
		"one) or "
		"--watch-insecure",
		def->listen);
}

troupe_status troupe_watch_start(struct troupe_server *server, const struct troupe_watch_def *def,
	struct troupe_watch **ret_watch, struct troupe_error *error)
{
	struct key key = {0};
	struct relay_host *host = NULL;
	bool has_key;
	troupe_status status = key_find(def->key_file, def->insecure, &key, &has_key, error);
	struct troupe_watch_def own = *def;
	if (!own.listen)
		own.listen = has_key || own.insecure ? "*:0" : "127.0.0.1:0";
	const struct relay_options options = {own.listen, has_key ? &key : NULL, own.insecure};
	if (!status)
		status = watch_check_address(&own, has_key, error);
	if (!status)
		status = relay_host_create(server, &options, &host, error);
	key_forget(&key);
	if (status)
		return status;
	*ret_watch = mem_alloc(sizeof **ret_watch);
	**ret_watch = (struct troupe_watch){host, has_key};
	return TROUPE_OK;
}

void troupe_watch_end(struct troupe_watch *watch, const struct troupe_error *why)
{
	if (!watch)
		return;
	relay_host_destroy(watch->host, why);
	free(watch);
}

uint64_t troupe_watch_commands(const struct troupe_watch *watch)
{
	return relay_host_commands(watch->host);
}

bool troupe_watch_is_local(const struct troupe_watch *watch)
{
	return relay_host_is_local(watch->host);
}

void troupe_watch_describe(const struct troupe_watch *watch, char *ret_text, size_t bytes)
{
	struct text text = {0};
	relay_host_describe(watch->host, &text);
	(void)snprintf(ret_text, bytes, "%s, %s", text.at, watch->has_key ? "with a key" : "without a key");
	text_fini(&text);
}
