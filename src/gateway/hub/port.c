/* The web server calls back on its thread: one client at a time, and each turn ends with what the clients are told of
 * their own losses. */
#include "gateway/hub/port.h"

#include "base/base.h"
#include "base/clock.h"
#include "base/host_port.h"
#include "gateway/ending.h"
#include "gateway/hub/settings.h"

#include <stdlib.h>

#define PORT_TELL_NS UINT64_C(1000000000)

enum { PORT_ADDRESS_MAX = 512 };

void port_wake(void *ctx)
{
	struct port *port = ctx;
	struct web *web = atomic_load(&port->web);
	if (web)
		web_wake(web);
}

void port_say(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	const struct port_protocol *protocol = client->port->protocol;
	if (!web_send(client->peer, binary, bytes, count))
		web_close(client->peer, protocol->slow_code, protocol->slow_text);
}

void port_say_text(struct port_client *client, const struct text *text)
{
	port_say(client, false, text->at, text->count);
}

void port_tell_all(const struct port *port, const struct text *text)
{
	for (struct port_client *client = port->clients; client; client = client->after)
		port_say_text(client, text);
}

void port_publish(struct port_client *client, bool binary, const void *bytes, size_t count)
{
	outbox_put(&client->outbox, binary, bytes, count);
	hub_count(&client->port->hub->published);
}

/* --- clients ------------------------------------------------------------------------------------------------------ */

static void *port_open(void *ctx, struct web_peer *peer)
{
	struct port *port = ctx;
	struct port_client *client = mem_alloc(sizeof *client);
	hub_look(port->hub);
	*client = (struct port_client){.port = port,
		.gateway = port->hub->gateway,
		.connection = ++port->connections,
		.peer = peer,
		.outbox.peer = peer,
		.after = port->clients};
	if (port->clients)
		port->clients->before = client;
	port->clients = client;
	atomic_fetch_add(&port->hub->clients, 1);
	client->data = port->protocol->open(client->gateway, client);
	return client;
}

static void port_hear(void *conn, bool binary, const void *bytes, size_t count)
{
	struct port_client *client = conn;
	client->port->protocol->hear(client, binary, bytes, count);
}

static void port_room(void *conn)
{
	struct port_client *client = conn;
	if (client->port->protocol->room)
		client->port->protocol->room(client);
	else
		outbox_flush(&client->outbox);
}

static void port_close(void *conn)
{
	struct port_client *client = conn;
	struct port *port = client->port;
	hub_forget(port->hub, client, client->connection);
	port->protocol->close(client);
	if (client->before)
		client->before->after = client->after;
	else
		port->clients = client->after;
	if (client->after)
		client->after->before = client->before;
	outbox_fini(&client->outbox);
	atomic_fetch_sub(&port->hub->clients, 1);
	free(client);
}

static void port_tell_lost(struct port_client *client)
{
	uint64_t now_ns, lost = client->outbox.lost;
	if (lost == client->lost_told)
		return;
	now_ns = clock_now_ns();
	if (now_ns - client->lost_told_ns < PORT_TELL_NS)
		return;
	atomic_fetch_add_explicit(&client->port->hub->lost, lost - client->lost_told, memory_order_relaxed);
	client->lost_told = lost;
	client->lost_told_ns = now_ns;
	if (client->port->protocol->tell_lost)
		client->port->protocol->tell_lost(client, lost);
}

static void port_turn(void *ctx)
{
	struct port *port = ctx;
	bool more = hub_turn(port->hub);
	if (more)
		port_wake(port); /* other connections have their turn in between */
	port->protocol->turn(port->hub->gateway, more);
	for (struct port_client *client = port->clients; client; client = client->after)
		port_tell_lost(client);
}

/* The clients hear the last messages of the run, its end, and why it has ended. */
static void port_last(void *ctx)
{
	struct port *port = ctx;
	hub_finish(port->hub);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status port_read_address(
	const struct port_protocol *protocol, const char *address, struct host_port *ret, struct troupe_error *error)
{
	*ret = (struct host_port){.port = protocol->port};
	if (!address || host_port_read(address, ret)) {
		ret->port = ret->has_port || !address ? ret->port : protocol->port;
		return TROUPE_OK;
	}
	return fail(error, TROUPE_EINVAL, "'%.80s': expected " HOST_PORT_FORMS ", for example %u or 192.168.1.5:%u",
		address, protocol->port, protocol->port);
}

/* The sites of the protocol, and the one of the setting. */
static void port_add_origins(
	const struct port_protocol *protocol, const char *origin, const char *ret_origins[PORT_SITES_MAX + 2])
{
	size_t count = 0;
	for (; protocol->sites && protocol->sites[count] && count < PORT_SITES_MAX; count++)
		ret_origins[count] = protocol->sites[count];
	ret_origins[count++] = origin;
	ret_origins[count] = NULL;
}

troupe_status port_start(struct port *port, struct hub *hub, const struct port_protocol *protocol,
	const struct troupe_gateway_def *def, struct troupe_error *error)
{
	const char *origins[PORT_SITES_MAX + 2];
	char address[PORT_ADDRESS_MAX];
	struct web_file files[PORT_FILES_MAX];
	struct host_port place;
	struct web *web;
	port->hub = hub;
	port->protocol = protocol;
	troupe_status status = port_read_address(protocol, def->address, &place, error);
	if (status)
		return status;
	port_add_origins(protocol, settings_text(def, "origin"), origins);
	const struct web_service service = {.names = protocol->names,
		.unnamed = protocol->unnamed,
		.origins = origins,
		.local_origins = protocol->local_pages,
		.hear_bytes_max = protocol->hear_bytes_max,
		.open = port_open,
		.hear = port_hear,
		.room = port_room,
		.close = port_close,
		.turn = port_turn,
		.last = port_last,
		.ctx = port};
	const struct web_def web_def = {.address = *place.host ? place.host : NULL,
		.port = place.port,
		.port_or_any = settings_flag(def, "any-port"),
		.token = settings_text(def, "token"),
		.needs_token = !settings_flag(def, "insecure"),
		.needs_token_here = settings_flag(def, "require-token"),
		.cert_path = settings_text(def, "cert"),
		.key_path = settings_text(def, "key"),
		.policy = protocol->policy,
		.files = files,
		.file_count = protocol->files ? protocol->files(files) : 0,
		.find = protocol->find,
		.find_ctx = port,
		.services = &service,
		.service_count = 1,
		.peers_max = protocol->clients_max,
		.queue_bytes_max = protocol->queue_bytes_max,
		.say = def->say,
		.say_ctx = def->ctx};
	status = web_start(&web_def, &web, error);
	if (status)
		return status;
	web_address(web, protocol->scheme, address, sizeof address);
	port->address = mem_strdup(address);
	atomic_store(&port->web, web);
	return TROUPE_OK;
}

void port_stop(void *ctx)
{
	struct port *port = ctx;
	struct web *web = atomic_load(&port->web);
	if (web)
		web_stop(web, ending_text(port->hub->failure));
}

void port_end(struct port *port)
{
	web_end(atomic_load(&port->web));
	free(port->address);
}

void port_describe(const void *ctx, struct text *out)
{
	const struct port *port = ctx;
	text_add(out, "%s", port->address ? port->address : "");
}
