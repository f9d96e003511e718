/* The primary's side of a networked run, except how the peers are found and reached, which is the task of a back end.
 * The rest is what only the server knows: the bytes of the world, its state, and the encoding of a step.
 *
 * Members change only between two transports: the run is given up at a step boundary, all members but the primary
 * forget the world, and gather again, as for a run that is resumed (running_regroup() in running.c). So nothing that
 * steps has to know of it, and the bits are those of a resumed run. Secondaries that are no robot clients come first;
 * the number of a client follows from its place among the clients. */
#include "server/network.h"

#include "base/clock.h"
#include "net/backend.h"
#include "net/end.h"
#include "server/record.h"
#include "server/standby.h"
#include "server/waiters.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct server_network_process {
	unsigned char id[HELLO_ID_BYTES];
};

#define UNTIL_MAX_S 1e18                     /* no run gets there */
enum { CHANGES_MAX = 10000 };

struct network {
	struct troupe_server *server;
	uint32_t plain;       /* secondaries that are no robot clients */
	uint32_t plain_max;   /* so many may take part */
	bool tunes;           /* more than the first ones may */
	uint32_t spares;      /* so many more may wait */
	bool goes_on;         /* the run does, when one of them is lost */
	struct robot_clients *clients;
	uint16_t port;
	pthread_mutex_t lock;
	/* under the lock; written by the thread that runs the server, and waiters by any */
	struct waiters waiters;
	struct wire_counts counts; /* of the wires before this one; and the bytes of their transports */
	struct transport_counts bytes;
	VEC(struct troupe_report_member) changes; /* the texts are owned */
	struct gather_members members;
	bool has_begun;                /* the first gathering is over */
	struct follow_term taken_over; /* of a primary that was lost; term 0: the run is this one's */
	bool admitted;                 /* as many members of the run that is taken over have come as must */
	struct standby_link *standby;
	VEC(struct server_network_process)
	processes;    /* of the secondaries; at first those of the run that is taken over */
	bool gathers; /* the network is in gathering_run() */
	uint64_t iterations;
	double until_s; /* limits, for the standby */
	const struct backend *backend;
	struct gather_host host;
	struct gathering *gathering;
	struct transport_link *link;
	struct wire *wire;
	struct transport_codec codec;
};

static void server_network_on_note(void *ctx, const char *text)
{
	const struct network *network = ctx;
	const struct troupe_server_def *def = &network->server->def;
	if (def->on_note)
		def->on_note(def->ctx, text);
}

/* While the network gathers, the secondaries are counted that are there. */
static bool server_network_may_be_replaced(struct network *network)
{
	return standby_link_may_be_replaced(
		network->standby, network->gathers && network->members.again
					  ? network->backend->gather->gathering_known(network->gathering)
					  : UINT32_MAX);
}

static bool server_network_is_stopped(void *ctx)
{
	struct network *network = ctx;
	return atomic_load(&network->server->told) || server_network_may_be_replaced(network);
}

static void server_network_on_watch(void *ctx)
{
	const struct network *network = ctx;
	const struct troupe_server_def *def = &network->server->def;
	if (def->on_watch)
		def->on_watch(def->ctx);
}

/* --- who wishes to join ------------------------------------------------------------------------------------------- */

static uint32_t server_network_free_places(const struct network *network)
{
	return network->plain_max - MIN(network->plain_max, network->plain);
}

static const char *server_network_secondary_knocks(struct network *network, const unsigned char id[HELLO_ID_BYTES])
{
	uint64_t now_ns = clock_now_ns();
	pthread_mutex_lock(&network->lock);
	uint32_t places = server_network_free_places(network);
	bool waits = waiters_come(&network->waiters, id, places + network->spares, now_ns);
	bool welcome = network->has_begun && waiters_count_welcome(&network->waiters, places, now_ns);
	pthread_mutex_unlock(&network->lock);
	if (welcome)
		server_interrupt(network->server);
	return waits ? NULL : "one too many: no further secondary may join";
}

static const char *server_network_on_knock(void *ctx, const char *name, const unsigned char id[HELLO_ID_BYTES])
{
	struct network *network = ctx;
	return *name ? robot_clients_ask(network->clients, name) : server_network_secondary_knocks(network, id);
}

struct robot_clients *network_clients(const struct network *network)
{
	return network->clients;
}

bool network_changes(const struct network *network)
{
	return network->backend->gather->changes_members;
}

bool network_tunes(const struct network *network)
{
	return network->tunes && !robot_clients_max(network->clients);
}

bool network_has_wishes(struct network *network)
{
	pthread_mutex_lock(&network->lock);
	bool some = waiters_count_welcome(&network->waiters, server_network_free_places(network), clock_now_ns()) > 0;
	pthread_mutex_unlock(&network->lock);
	return some || robot_clients_wish(network->clients) || standby_link_changes(network->standby);
}

void network_offer(struct network *network, uint16_t port)
{
	network->port = port;
}

/* A change of members, for the report, which has the first CHANGES_MAX. The run is between two steps. */
static void server_network_note_change(void *ctx, enum troupe_member_change kind, const char *who)
{
	struct network *network = ctx;
	const struct primary *primary = network->server->worlds[0].primary;
	struct troupe_report_member change = {.change = kind,
		.who = who,
		.step = primary_steps(primary),
		.repeated_steps = kind == TROUPE_MEMBER_LOST ? primary_open_steps(primary) : 0};
	record_member(network->server, &change);
	if (network->server->def.on_member)
		network->server->def.on_member(network->server->def.ctx, &change);
	if (network->changes.count == CHANGES_MAX)
		return;
	change.who = mem_strdup(who);
	vec_push(&network->changes, change);
}

static void server_network_count_down(struct network *network)
{
	pthread_mutex_lock(&network->lock);
	network->plain--;
	pthread_mutex_unlock(&network->lock);
}

/* Names the secondary as messages do: its number and its process. */
static void server_network_name_member(const struct network *network, uint32_t secondary, char *ret_who, size_t room)
{
	bool named = network->link && network->link->names && secondary;
	(void)snprintf(ret_who, room, "%s", named ? network->link->names[secondary - 1] : "a secondary");
}

troupe_status network_lose(
	struct network *network, uint32_t secondary, const struct troupe_error *why, struct troupe_error *error)
{
	struct troupe_error reason = *why;
	char who[HELLO_WHO_MAX + 1];
	server_network_name_member(network, secondary, who, sizeof who);
	if (!secondary || secondary > network->plain + robot_clients_count(network->clients))
		return fail(error, TROUPE_EINTERNAL, "secondary %u does not exist", secondary);
	server_network_note_change(network, TROUPE_MEMBER_LOST, who);
	if (secondary > network->plain)
		return robot_clients_lose(network->clients, secondary - network->plain - 1, &reason, error);
	if (!network->goes_on)
		return fail(error, reason.status, "%s", reason.text);
	server_note(network->server, "%.500s: the run goes on from there", reason.text);
	server_network_count_down(network);
	standby_link_lose(network->standby, 1);
	return TROUPE_OK;
}

troupe_status network_let_leave(struct network *network, uint32_t secondary, struct troupe_error *error)
{
	char who[HELLO_WHO_MAX + 1];
	server_network_name_member(network, secondary, who, sizeof who);
	server_network_note_change(network, TROUPE_MEMBER_LEFT, who);
	if (secondary > network->plain) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_EPEER, "it was told to stop");
		return robot_clients_lose(network->clients, secondary - network->plain - 1, &why, error);
	}
	server_note(network->server, "%s leaves at step %" PRIu64 ": the run goes on", who,
		primary_steps(network->server->worlds[0].primary));
	server_network_count_down(network);
	standby_link_leave(network->standby);
	return TROUPE_OK;
}

/* --- the standby -------------------------------------------------------------------------------------------------- */

static const char *server_network_may_follow(void *ctx)
{
	const struct network *network = ctx;
	return standby_link_may_come(network->standby);
}

static void server_network_on_followed(void *ctx, struct feed *feed)
{
	const struct network *network = ctx;
	standby_link_come(network->standby, feed);
}

static void server_network_list_processes(struct network *network)
{
	const struct gather_ops *gather = network->backend->gather;
	network->processes.count = 0;
	for (uint32_t i = 1; i <= network->plain; i++) {
		struct server_network_process process;
		memcpy(process.id, gather->gathering_process(network->gathering, i), sizeof process.id);
		vec_push(&network->processes, process);
	}
}

/* After a gathering: the standby knows of the secondaries that are there. */
static troupe_status server_network_tell_standby(struct network *network, struct troupe_error *error)
{
	server_network_list_processes(network);
	const struct follow_run run = {.secondaries = network->plain,
		.processes = (const unsigned char(*)[HELLO_ID_BYTES])network->processes.at,
		.goes_on = network->goes_on,
		.iterations = network->iterations,
		.until_s = network->until_s};
	return standby_link_confirm(network->standby, &run, error);
}

struct standby_link *network_standby(const struct network *network)
{
	return network->standby;
}

/* --- other members ------------------------------------------------------------------------------------------------ */

bool network_gathers_again(struct network *network)
{
	const struct gather_ops *gather = network->backend->gather;
	const char *missing = gather->gathering_missing(network->gathering);
	if (!gather->gathering_regroups(network->gathering))
		return false;
	network->admitted |= !missing;
	return !missing || robot_clients_give_up(network->clients, missing);
}

/* If there is no transport of this name, any back end closes the sockets that were passed on. */
void network_refuse(const struct troupe_network *def)
{
	const struct backend *backend;
	if (def && (!backend_remote(def->transport, &backend, NULL) || !backend_remote(NULL, &backend, NULL)))
		backend->gather->refuse(def);
}

static troupe_status server_network_take_places(
	struct network *network, const struct troupe_network *def, struct troupe_error *error)
{
	network->goes_on = def->on_loss == TROUPE_ON_LOSS_CONTINUE;
	network->plain_max = MAX(def->secondaries, def->secondaries_max);
	network->tunes = network->plain_max > def->secondaries;
	network->spares = def->spares;
	if (network->plain_max > TROUPE_SECONDARIES_MAX || network->spares > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries and %u spares at most: expected at most %d of each",
			network->plain_max, network->spares, TROUPE_SECONDARIES_MAX);
	if (network->spares && !network->goes_on)
		return fail(error, TROUPE_EINVAL,
			"spares wait until a secondary is lost: expected that the run goes on "
			"then");
	bool changes =
		robot_clients_max(network->clients) > 0 || network->goes_on || network->plain_max > network->plain;
	if (changes && !network_changes(network))
		return fail(error, TROUPE_EINVAL,
			"the processes of this transport are fixed: expected that the run ends when one is lost");
	if ((network->plain_max > network->plain || network->spares) && def->sockets)
		return fail(error, TROUPE_EINVAL,
			"secondaries that join later, or wait as spares: expected secondaries that find the primary");
	return TROUPE_OK;
}

/* The world is set up, and no step was taken: a recording begins with these rights. */
static void server_network_set_rights(struct troupe_server *server, enum troupe_client_rights rights)
{
	static const enum owner_rights given[] = {[TROUPE_CLIENT_RIGHTS_OWN] = OWNERS_OWN,
		[TROUPE_CLIENT_RIGHTS_WORLD] = OWNERS_WORLD,
		[TROUPE_CLIENT_RIGHTS_ALL] = OWNERS_ALL};
	if (rights != TROUPE_CLIENT_RIGHTS_SAVED && rights < ARRAY_LEN(given))
		primary_owners(server->worlds[0].primary)->rights = given[rights];
}

_Static_assert(sizeof(struct server_network_process) == HELLO_ID_BYTES, "ids are lent as an array of bytes");

static void server_network_free(struct network *network)
{
	standby_link_destroy(network->standby);
	robot_clients_destroy(network->clients);
	waiters_fini(&network->waiters);
	vec_free(&network->processes);
	for (uint32_t i = 0; i < network->changes.count; i++)
		free((char *)(uintptr_t)network->changes.at[i].who);
	vec_free(&network->changes);
	pthread_mutex_destroy(&network->lock);
	free(network);
}

/* The lists of the term are the standby's, which goes soon. */
static void server_network_take_over(struct network *network, struct gather_self *self, const struct follow_term *term)
{
	network->taken_over = self->term = *term;
	for (uint32_t i = 0; i < term->was.secondaries; i++) {
		struct server_network_process process;
		memcpy(process.id, term->was.processes[i], sizeof process.id);
		vec_push(&network->processes, process);
	}
	network->taken_over.was.processes = self->term.was.processes = NULL;
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
	struct gather_self self = {.network = def, .fingerprint = *physics_fingerprint_parts()};
	*network = (struct network){.server = server,
		.plain = def->secondaries,
		.iterations = def->iterations,
		.until_s = def->until_s > 0 && def->until_s < UNTIL_MAX_S ? def->until_s : 0,
		.backend = backend};
	pthread_mutex_init(&network->lock, NULL);
	network->standby = standby_link_create(server, backend, server_network_note_change, network);
	server_network_set_rights(server, def->client_rights);
	if (def->takeover)
		server_network_take_over(network, &self, &def->takeover->term);
	network->host = (struct gather_host){.on_note = server_network_on_note,
		.stopped = server_network_is_stopped,
		.on_watch = server_network_on_watch,
		.knocked = server_network_on_knock,
		.may_follow = backend->follow ? server_network_may_follow : NULL,
		.followed = server_network_on_followed,
		.ctx = network};
	status = robot_clients_create(server, def, &network->clients, error);
	if (!status)
		status = server_network_take_places(network, def, error);
	if (status)
		network_refuse(def);
	else
		status = backend->gather->gathering_create(&self, &network->host, &network->gathering, error);
	if (status)
		server_network_free(network);
	else
		*ret_network = network;
	return status;
}

void network_destroy(struct network *network)
{
	if (!network)
		return;
	standby_link_end(network->standby);
	network->backend->gather->gathering_destroy(network->gathering);
	wire_destroy(network->wire);
	server_network_free(network);
}

uint32_t network_secondaries(const struct network *network)
{
	return network->plain + robot_clients_count(network->clients);
}

uint32_t network_room(const struct network *network)
{
	return MAX(network->plain, network->plain_max) + robot_clients_max(network->clients);
}

uint32_t network_awaited(const struct network *network)
{
	return network->backend->gather->gathering_awaited(network->gathering);
}

static bool server_network_loads(void *ctx, const void *payload)
{
	const struct step *step = payload;
	(void)ctx;
	return step->change_count || step->world_changed || step->statics_changed;
}

static void server_network_forget_wire(struct network *network)
{
	if (!network->wire)
		return;
	struct wire_counts counts = wire_counts(network->wire);
	network->counts.step_bytes += counts.step_bytes;
	network->counts.ack_bytes += counts.ack_bytes;
	network->counts.robot_steps += counts.robot_steps;
	network->counts.largest_part_ns += counts.largest_part_ns;
	wire_destroy(network->wire);
	network->wire = NULL;
}

/* For the next gathering, in which the waiters are expected, too. */
static void server_network_list_members(struct network *network)
{
	uint64_t now_ns = clock_now_ns();
	pthread_mutex_lock(&network->lock);
	uint32_t welcome = waiters_count_welcome(&network->waiters, server_network_free_places(network), now_ns);
	if (network->has_begun)
		waiters_note_asked(&network->waiters, now_ns);
	pthread_mutex_unlock(&network->lock);
	const bool again = network->has_begun || network->taken_over.term,
		   admitted = network->has_begun || network->admitted;
	network->members =
		(struct gather_members){.secondaries = again ? MAX(network->plain, network->plain_max) : network->plain,
			.expected = admitted ? welcome : network->plain,
			.least = admitted ? 0 : network->taken_over.least,
			.least_of = (const unsigned char(*)[HELLO_ID_BYTES])network->processes.at,
			.least_of_count = admitted ? 0 : network->processes.count,
			.standby = standby_link_where(network->standby),
			.clients = robot_clients_count(network->clients),
			.names = robot_clients_names(network->clients),
			.tickets = robot_clients_tickets(network->clients),
			.more = robot_clients_max(network->clients) - robot_clients_count(network->clients),
			.port = network->port,
			.again = again,
			.goes_on = network->goes_on,
			.more_come = network->spares || network->goes_on || network->plain_max > network->plain};
}

/* The run has these members now. Some of the secondaries that were to join again may not have come: an error, if the
 * run does not go on without them. */
static troupe_status server_network_take_members(struct network *network, struct troupe_error *error)
{
	uint32_t new, all = network->backend->gather->gathering_members(network->gathering, &new);
	uint32_t before = network->plain, plain = all - robot_clients_count(network->clients);
	pthread_mutex_lock(&network->lock);
	network->plain = plain;
	pthread_mutex_unlock(&network->lock);
	if (!network->has_begun && !network->taken_over.term)
		return TROUPE_OK;
	uint32_t known = network->has_begun || network->admitted
				 ? plain - new
				 : plain; /* at first, all that follow a standby took part before */
	if (known < before && !network->goes_on)
		return fail(error, TROUPE_EPEER, "%u of %u secondaries did not join again when the members changed",
			before - known, before);
	standby_link_lose(network->standby, before - MIN(before, known));
	for (uint32_t i = known; i < before; i++) {
		server_network_note_change(network, TROUPE_MEMBER_LOST, "a secondary that was to join again");
		server_note(network->server, "a secondary did not join again: the run goes on without it");
	}
	for (uint32_t i = known; i < plain; i++)
		server_network_note_change(network, TROUPE_MEMBER_CAME, network->link->names[i]);
	world_regroup(&network->server->worlds[0], all);
	robot_clients_place(network->clients, network->plain + 1);
	return TROUPE_OK;
}

troupe_status network_gather(struct network *network, struct troupe_error *error)
{
	const struct gather_ops *gather = network->backend->gather;
	struct primary *primary = network->server->worlds[0].primary;
	struct text bytes = {0};
	server_network_forget_wire(network);
	robot_clients_place(network->clients, network->plain + 1);
	troupe_status status = server_pack_replica(network->server, &bytes, error);
	if (status) {
		text_fini(&bytes);
		return status;
	}
	standby_link_change(network->standby);
	server_network_list_members(network);
	struct gather_world world = {bytes.at, bytes.count, replica_hash_of(primary), primary_steps(primary),
		gather->changes_members ? &network->members : NULL};
	network->gathers = true;
	status = gather->gathering_run(network->gathering, &world, error);
	network->gathers = false;
	text_fini(&bytes);
	if (status && server_network_may_be_replaced(network))
		status = standby_link_fail(network->standby, error);
	if (status)
		return status;
	status = gather->gathering_link(network->gathering, &network->link, error);
	if (!status)
		status = server_network_take_members(network, error);
	if (!status)
		status = server_network_tell_standby(network, error);
	if (status)
		return status;
	pthread_mutex_lock(&network->lock);
	network->has_begun = true;
	pthread_mutex_unlock(&network->lock);
	standby_link_open(network->standby);
	network->wire = wire_create(primary);
	network->codec = (struct transport_codec){.encode_step = wire_encode_step,
		.decode_ack = wire_decode_ack,
		.loads = server_network_loads,
		.give_file = wire_give_file,
		.ctx = network->wire};
	return TROUPE_OK;
}

void network_took_over(struct network *network)
{
	char who[HELLO_WHO_MAX + 1];
	uint32_t before = network->changes.count;
	if (!network->taken_over.term)
		return;
	(void)snprintf(who, sizeof who, "the primary of term %" PRIu64, network->taken_over.term - 1);
	server_network_note_change(network, TROUPE_MEMBER_LOST, who);
	network_went_on(network, before, clock_now_ns() - network->taken_over.lost_ns);
}

void network_went_on(struct network *network, uint32_t changes_before, uint64_t stood_ns)
{
	for (uint32_t i = changes_before; i < network->changes.count; i++)
		network->changes.at[i].stood_still_s = (double)stood_ns * 1e-9;
	server_note(network->server, "the run goes on with %u %s; it stood still for %.2f s",
		network_secondaries(network), network_secondaries(network) == 1 ? "secondary" : "secondaries",
		(double)stood_ns * 1e-9);
}

uint32_t network_change_count(const struct network *network)
{
	return network->changes.count;
}

const struct troupe_report_member *network_changes_so_far(const struct network *network, uint32_t *ret_count)
{
	*ret_count = network->changes.count;
	return network->changes.at;
}

void network_keep_bytes(struct network *network, struct transport_counts bytes)
{
	network->bytes.sent += bytes.sent;
	network->bytes.received += bytes.received;
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
	const struct wire_counts *before = &network->counts;
	*ret_report = (struct troupe_report_network){.given = true,
		.bytes_sent = network->bytes.sent + bytes.sent,
		.bytes_received = network->bytes.received + bytes.received,
		.step_bytes = before->step_bytes + counts.step_bytes,
		.ack_bytes = before->ack_bytes + counts.ack_bytes,
		.robot_steps = before->robot_steps + counts.robot_steps,
		.largest_part_s = (double)(before->largest_part_ns + counts.largest_part_ns) * 1e-9,
		.term = network->taken_over.term ? network->taken_over.term : 1,
		.changes = network->changes.at,
		.change_count = network->changes.count};
}
