/* The primary's side of a networked run, except how the peers are found and reached, which is the task of a back end.
 * The rest is what only the server knows: the bytes of the world, its state, and the encoding of a step. */
#include "server/network.h"

#include "net/backend.h"

#include <stdlib.h>

struct network {
	struct troupe_server *server;
	uint32_t secondaries;
	const struct backend *backend;
	struct gather_host host;
	struct gathering *gathering;
	struct transport_link *link;
	struct wire *wire;
	struct transport_codec codec;
};

static void on_note(void *ctx, const char *text)
{
	const struct network *network = ctx;
	const struct troupe_server_def *def = &network->server->def;
	if (def->on_note)
		def->on_note(def->ctx, text);
}

static bool is_stopped(void *ctx)
{
	struct network *network = ctx;
	return atomic_load(&network->server->worlds[0].primary.stop);
}

static void on_watch(void *ctx)
{
	const struct network *network = ctx;
	const struct troupe_server_def *def = &network->server->def;
	if (def->on_watch)
		def->on_watch(def->ctx);
}

/* If there is no transport of this name, any back end closes the sockets that were passed on. */
void network_refuse(const struct troupe_network *def)
{
	const struct backend *backend;
	if (def && (!backend_remote(def->transport, &backend, NULL) || !backend_remote(NULL, &backend, NULL)))
		backend->gather->refuse(def);
}

troupe_status network_create(struct troupe_server *server, struct network **ret_network, struct troupe_error *error)
{
	const struct troupe_network *def = server->def.network;
	const struct backend *backend;
	troupe_status status = backend_remote(def->transport, &backend, error);
	if (status) {
		network_refuse(def);
		return status;
	}
	struct network *network = mem_alloc(sizeof *network);
	struct gather_self self = {def, physics_fingerprint()};
	*network = (struct network){.server = server, .secondaries = def->secondaries, .backend = backend};
	network->host =
		(struct gather_host){.on_note = on_note, .stopped = is_stopped, .on_watch = on_watch, .ctx = network};
	status = backend->gather->gathering_create(&self, &network->host, &network->gathering, error);
	if (status)
		free(network);
	else
		*ret_network = network;
	return status;
}

void network_destroy(struct network *network)
{
	if (!network)
		return;
	network->backend->gather->gathering_destroy(network->gathering);
	wire_destroy(network->wire);
	free(network);
}

uint32_t network_secondaries(const struct network *network)
{
	return network->secondaries;
}

uint32_t network_awaited(const struct network *network)
{
	return network->backend->gather->gathering_awaited(network->gathering);
}

static bool loads(void *ctx, const void *payload)
{
	const struct step *step = payload;
	(void)ctx;
	return step->change_count || step->world_changed || step->statics_changed;
}

troupe_status network_gather(struct network *network, struct troupe_error *error)
{
	const struct gather_ops *gather = network->backend->gather;
	struct primary *primary = &network->server->worlds[0].primary;
	struct text bytes = {0};
	server_pack_replica(network->server, &bytes);
	struct gather_world world = {bytes.at, bytes.count, replica_hash_of(primary), primary->lockstep.number};
	troupe_status status = gather->gathering_run(network->gathering, &world, error);
	text_fini(&bytes);
	if (status)
		return status;
	network->wire = wire_create(primary);
	network->codec = (struct transport_codec){
		.encode_step = wire_encode_step, .decode_ack = wire_decode_ack, .loads = loads, .ctx = network->wire};
	return gather->gathering_link(network->gathering, &network->link, error);
}

const struct transport_ops *network_transport(const struct network *network)
{
	return network->backend->transport;
}

const struct transport_codec *network_codec(const struct network *network)
{
	return &network->codec;
}

struct transport_link *network_link(const struct network *network)
{
	return network->link;
}

void network_stop(struct network *network, enum stop_kind kind, const char *why)
{
	network->backend->gather->gathering_stop(network->gathering, kind, why);
}

struct physics_stats network_physics_stats(const struct network *network, uint32_t secondary)
{
	return network->wire ? wire_physics_stats(network->wire, secondary) : (struct physics_stats){0};
}

void network_report(
	const struct network *network, struct transport_counts bytes, struct troupe_report_network *ret_report)
{
	struct wire_counts counts = network->wire ? wire_counts(network->wire) : (struct wire_counts){0};
	*ret_report = (struct troupe_report_network){.given = true,
		.bytes_sent = bytes.sent,
		.bytes_received = bytes.received,
		.step_bytes = counts.step_bytes,
		.ack_bytes = counts.ack_bytes,
		.robot_steps = counts.robot_steps};
}
