/* The primary's side of a networked run, except how the peers are found and reached, which is the task of a back end.
 * The rest is what only the server knows: the bytes of the world, its state, and the encoding of a step.
 *
 * Members change only between two transports: the run is given up at a step boundary, all members but the primary
 * forget the world, and gather again, as for a run that is resumed (server_regroup() in server.c). So nothing that
 * steps has to know of it, and the bits are those of a resumed run. Secondaries that are no robot clients come first;
 * the number of a client follows from its place among the clients.
 *
 * A secondary that comes while there is no place for it, or while the world runs, is told to come again, which it does
 * a few times a second (a waiter). If there is a place, the run changes its members for it; a spare waits until one is
 * lost. One that came in vain does not make the run change its members again soon. */
#include "server/network.h"

#include "base/clock.h"
#include "net/backend.h"
#include "net/end.h"
#include "net/key.h"
#include "server/followed.h"
#include "server/standby.h"
#include "topic/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct client_ticket {
	unsigned char bytes[HELLO_TICKET_BYTES];
};

struct server_network_process {
	unsigned char id[HELLO_ID_BYTES];
};

struct waiter { /* a secondary that comes again and again */
	unsigned char id[HELLO_ID_BYTES];
	uint64_t seen_ns;  /* when it came last */
	uint64_t asked_ns; /* when the run changed its members for it; 0: never */
};

#define WAITER_FRESH_NS UINT64_C(1500000000) /* one that came so lately will come again */
#define STANDBY_AGAIN_NS UINT64_C(500000000) /* after the loss of a standby; each one changes all welcomes */
#define UNTIL_MAX_S 1e18                     /* no run gets there */
#define WAITER_AGAIN_NS UINT64_C(10000000000)
enum { WAITERS_MAX = 2 * TROUPE_SECONDARIES_MAX, CHANGES_MAX = 10000 };

struct network {
	struct troupe_server *server;
	uint32_t plain;       /* secondaries that are no robot clients */
	uint32_t plain_max;   /* so many may take part */
	bool tunes;           /* more than the first ones may */
	uint32_t spares;      /* so many more may wait */
	bool goes_on;         /* the run does, when one of them is lost */
	uint32_t clients_max; /* 0: no client can take part */
	enum troupe_client_lost client_lost;
	uint16_t port;
	pthread_mutex_t lock;
	/* under the lock; written by the thread that runs the server, and wishes by any */
	VEC(char *) clients;               /* that take part, or are awaited */
	VEC(uint64_t) serials;             /* of these clients: above 0; no other client of the run has had the same */
	VEC(struct client_ticket) tickets; /* of these clients: random; each is told to its client alone */
	uint64_t last_serial;
	VEC(char *) wishes; /* that were told to come again */
	VEC(struct waiter) waiters;
	struct feed *came; /* a standby that came and is not in yet */
	bool standby_lost; /* the one that is in */
	uint64_t standby_lost_ns;
	char standby_why[256];     /* why it was lost */
	struct wire_counts counts; /* of the wires before this one; and the bytes of their transports */
	struct transport_counts bytes;
	VEC(struct troupe_report_member) changes; /* the texts are owned */
	/* Held while a message of a client is posted, and while a client is dropped. The lock above is taken inside. */
	pthread_mutex_t acting;
	struct gather_members members;
	bool has_begun;                /* the first gathering is over */
	struct follow_term taken_over; /* of a primary that was lost; term 0: the run is this one's */
	/* The standby. Secondaries know it from their last welcome. It knows of `told` of them, of which `left` were
	 * not lost since; told is 0 when no secondary knows a standby. */
	struct followed *followed; /* NULL: none */
	uint32_t told, left;
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

/* Whether the standby is lost, and so many secondaries that it may have taken over with them. */
static bool server_network_may_be_replaced(struct network *network)
{
	pthread_mutex_lock(&network->lock);
	bool lost = !network->followed || network->standby_lost;
	pthread_mutex_unlock(&network->lock);
	if (!lost || !network->told)
		return false;
	if (network->gathers)
		network->left = MIN(network->left, network->backend->gather->gathering_known(network->gathering));
	return follow_may_be_replaced(network->told, network->told - network->left);
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

bool troupe_client_name_is_valid(const char *name)
{
	return owner_name_is_valid(name);
}

static void server_network_tell(const struct network *network, const char *format, ...) TROUPE_PRINTF(2, 3);
static void server_network_tell(const struct network *network, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	server_network_on_note((void *)(uintptr_t)network, text.text);
}

/* --- robot clients ------------------------------------------------------------------------------------------------ */

static bool server_network_has_name(char *const *names, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Takes the name over. Without random bytes the ticket is 0, which gives no rights. */
static void server_network_add_client(struct network *network, char *name)
{
	struct client_ticket ticket;
	if (key_random_bytes(ticket.bytes, sizeof ticket.bytes, NULL))
		ticket = (struct client_ticket){{0}};
	vec_push(&network->clients, name);
	vec_push(&network->serials, ++network->last_serial);
	vec_push(&network->tickets, ticket);
}

static const char *server_network_client_knocks(struct network *network, const char *name)
{
	pthread_mutex_lock(&network->lock);
	bool fits = network->clients.count + network->wishes.count < network->clients_max;
	bool here = server_network_has_name(network->clients.at, network->clients.count, name);
	bool known = server_network_has_name(network->wishes.at, network->wishes.count, name);
	bool wished = fits && !here && !known && owner_name_is_valid(name);
	if (wished)
		vec_push(&network->wishes, mem_strdup(name));
	pthread_mutex_unlock(&network->lock);
	if (wished)
		server_interrupt(network->server);
	return wished || known ? NULL
	       : here          ? "a client of this name takes part already"
			       : "no further client may join";
}

/* --- secondaries that wait ---------------------------------------------------------------------------------------- */

/* Under the lock. Forgets the waiters that come no longer. */
static void server_network_forget_waiters(struct network *network, uint64_t now_ns)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < network->waiters.count; i++)
		if (now_ns - network->waiters.at[i].seen_ns < WAITER_FRESH_NS)
			network->waiters.at[kept++] = network->waiters.at[i];
	network->waiters.count = kept;
}

static struct waiter *server_network_find_waiter(struct network *network, const unsigned char id[HELLO_ID_BYTES])
{
	for (uint32_t i = 0; i < network->waiters.count; i++)
		if (!memcmp(network->waiters.at[i].id, id, HELLO_ID_BYTES))
			return &network->waiters.at[i];
	return NULL;
}

static bool server_network_waiter_may_come(const struct waiter *waiter, uint64_t now_ns)
{
	return !waiter->asked_ns || now_ns - waiter->asked_ns >= WAITER_AGAIN_NS;
}

/* Under the lock. How many waiters find a place. */
static uint32_t server_network_count_welcome(struct network *network, uint64_t now_ns)
{
	uint32_t count = 0;
	server_network_forget_waiters(network, now_ns);
	for (uint32_t i = 0; i < network->waiters.count; i++)
		count += server_network_waiter_may_come(&network->waiters.at[i], now_ns);
	return MIN(count, network->plain_max - MIN(network->plain_max, network->plain));
}

/* The waiters for which the run has changed its members already may have come in meanwhile. */
static uint32_t server_network_count_unasked(const struct network *network)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < network->waiters.count; i++)
		count += !network->waiters.at[i].asked_ns;
	return count;
}

static const char *server_network_secondary_knocks(struct network *network, const unsigned char id[HELLO_ID_BYTES])
{
	uint64_t now_ns = clock_now_ns();
	pthread_mutex_lock(&network->lock);
	server_network_forget_waiters(network, now_ns);
	struct waiter *waiter = server_network_find_waiter(network, id);
	uint32_t places = network->plain_max - MIN(network->plain_max, network->plain) + network->spares;
	bool waits = waiter || (server_network_count_unasked(network) < places && network->waiters.count < WAITERS_MAX);
	if (waiter) {
		waiter->seen_ns = now_ns;
	} else if (waits) {
		struct waiter come = {.seen_ns = now_ns};
		memcpy(come.id, id, sizeof come.id);
		vec_push(&network->waiters, come);
	}
	bool welcome = network->has_begun && server_network_count_welcome(network, now_ns);
	pthread_mutex_unlock(&network->lock);
	if (welcome)
		server_interrupt(network->server);
	return waits ? NULL : "one too many: no further secondary may join";
}

static const char *server_network_on_knock(void *ctx, const char *name, const unsigned char id[HELLO_ID_BYTES])
{
	struct network *network = ctx;
	return *name ? server_network_client_knocks(network, name) : server_network_secondary_knocks(network, id);
}

bool network_has_clients(const struct network *network)
{
	return network->clients_max > 0;
}

bool network_changes(const struct network *network)
{
	return network->backend->gather->changes_members;
}

bool network_tunes(const struct network *network)
{
	return network->tunes && !network->clients_max;
}

bool network_has_wishes(struct network *network)
{
	pthread_mutex_lock(&network->lock);
	bool some = network->wishes.count > 0 || server_network_count_welcome(network, clock_now_ns()) > 0 ||
		    (network->has_begun && (network->came || network->standby_lost));
	pthread_mutex_unlock(&network->lock);
	return some;
}

uint64_t network_find_client(struct network *network, const char *name, const unsigned char ticket[HELLO_TICKET_BYTES])
{
	uint64_t serial = 0;
	pthread_mutex_lock(&network->lock);
	for (uint32_t i = 0; i < network->clients.count; i++)
		if (!strcmp(network->clients.at[i], name) && hello_ticket_is(ticket, network->tickets.at[i].bytes))
			serial = network->serials.at[i];
	pthread_mutex_unlock(&network->lock);
	return serial;
}

bool network_enter_client(struct network *network, uint64_t serial)
{
	bool here = false;
	pthread_mutex_lock(&network->acting);
	pthread_mutex_lock(&network->lock);
	for (uint32_t i = 0; i < network->clients.count; i++)
		here |= network->serials.at[i] == serial;
	pthread_mutex_unlock(&network->lock);
	if (!here)
		pthread_mutex_unlock(&network->acting);
	return here;
}

void network_leave_client(struct network *network)
{
	pthread_mutex_unlock(&network->acting);
}

void network_take_wishes(struct network *network)
{
	pthread_mutex_lock(&network->lock);
	for (uint32_t i = 0; i < network->wishes.count; i++)
		server_network_add_client(network, network->wishes.at[i]);
	network->wishes.count = 0;
	pthread_mutex_unlock(&network->lock);
}

void network_offer(struct network *network, uint16_t port)
{
	network->port = port;
}

static void server_network_place_clients(struct network *network)
{
	const struct server_world *world = &network->server->worlds[0];
	for (uint32_t i = 0; i < network->clients.count; i++)
		owners_place(
			primary_owners(world->primary), world->scene, network->clients.at[i], network->plain + 1 + i);
	primary_learn_pins(world->primary);
}

/* A command of the run itself: it is bound to the next step, and recorded. */
static void server_network_remove_model(struct network *network, const struct scene_model *model)
{
	char *service = mem_printf("/world/%s/remove", network->server->worlds[0].scene->name);
	Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
	struct text bytes = {0};
	entity.name = message_string(model->name);
	entity.type = GZ__MSGS__ENTITY__TYPE__MODEL;
	message_add_bytes(&bytes, &entity.base);
	(void)troupe_command_bytes(network->server, NULL, service, "gz.msgs.Entity", bytes.at, bytes.count, NULL, NULL);
	text_fini(&bytes);
	free(service);
}

static void server_network_remove_models(struct network *network, uint32_t owner)
{
	const struct scene *scene = network->server->worlds[0].scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id && !scene->models[m].absent && scene->models[m].owner == owner)
			server_network_remove_model(network, &scene->models[m]);
}

void network_meet_model(struct network *network, uint32_t model)
{
	const struct server_world *world = &network->server->worlds[0];
	const struct scene_model *m = &world->scene->models[model];
	const char *name = owners_name(primary_owners(world->primary), m->owner);
	pthread_mutex_lock(&network->lock);
	bool here = name && server_network_has_name(network->clients.at, network->clients.count, name);
	pthread_mutex_unlock(&network->lock);
	if (name && !here && network->client_lost == TROUPE_CLIENT_LOST_REMOVE)
		server_network_remove_model(network, m);
}

/* A message of the client comes before its models are removed, or is refused. */
static void server_network_drop_client(struct network *network, uint32_t at)
{
	const struct server_world *world = &network->server->worlds[0];
	char *name = network->clients.at[at];
	uint32_t owner = 0;
	pthread_mutex_lock(&network->acting);
	pthread_mutex_lock(&network->lock);
	for (uint32_t i = at + 1; i < network->clients.count; i++) {
		network->clients.at[i - 1] = network->clients.at[i];
		network->serials.at[i - 1] = network->serials.at[i];
		network->tickets.at[i - 1] = network->tickets.at[i];
	}
	network->tickets.count = network->serials.count = --network->clients.count;
	pthread_mutex_unlock(&network->lock);
	owners_place(primary_owners(world->primary), world->scene, name, 0);
	(void)owners_add(primary_owners(world->primary), name, &owner, NULL);
	if (network->client_lost == TROUPE_CLIENT_LOST_REMOVE && owner)
		server_network_remove_models(network, owner);
	pthread_mutex_unlock(&network->acting);
	free(name);
}

static troupe_status server_network_lose_client(
	struct network *network, uint32_t at, const struct troupe_error *why, struct troupe_error *error)
{
	const char *models =
		network->client_lost == TROUPE_CLIENT_LOST_REMOVE ? "its models are removed" : "its models stay";
	if (network->client_lost == TROUPE_CLIENT_LOST_END)
		return fail(error, why->status, "client '%s' is gone: %s", network->clients.at[at], why->text);
	server_network_tell(network, "client '%s' is gone, %s, and the run goes on: %.300s", network->clients.at[at],
		models, why->text);
	server_network_drop_client(network, at);
	return TROUPE_OK;
}

/* A change of members, for the report, which has the first CHANGES_MAX. The run is between two steps. */
static void server_network_note_change(struct network *network, enum troupe_member_change kind, const char *who)
{
	const struct primary *primary = network->server->worlds[0].primary;
	struct troupe_report_member change = {.change = kind,
		.who = who,
		.step = primary_steps(primary),
		.repeated_steps = kind == TROUPE_MEMBER_LOST ? primary_open_steps(primary) : 0};
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
	network->left -= network->left > 0;
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
	if (!secondary || secondary > network->plain + network->clients.count)
		return fail(error, TROUPE_EINTERNAL, "secondary %u does not exist", secondary);
	server_network_note_change(network, TROUPE_MEMBER_LOST, who);
	if (secondary > network->plain)
		return server_network_lose_client(network, secondary - network->plain - 1, &reason, error);
	if (!network->goes_on)
		return fail(error, reason.status, "%s", reason.text);
	server_network_tell(network, "%.500s: the run goes on from there", reason.text);
	server_network_count_down(network);
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
		return server_network_lose_client(network, secondary - network->plain - 1, &why, error);
	}
	server_network_tell(network, "%s leaves at step %" PRIu64 ": the run goes on", who,
		primary_steps(network->server->worlds[0].primary));
	server_network_count_down(network);
	network->told -= network->told > 0; /* it ends, and goes to no standby */
	return TROUPE_OK;
}

/* --- the standby -------------------------------------------------------------------------------------------------- */

static const char *server_network_may_follow(void *ctx)
{
	struct network *network = ctx;
	pthread_mutex_lock(&network->lock);
	bool free_place = network->has_begun && !network->came && !network->followed &&
			  clock_now_ns() - network->standby_lost_ns >= STANDBY_AGAIN_NS;
	pthread_mutex_unlock(&network->lock);
	return free_place ? NULL : "there is a standby already";
}

static void server_network_on_standby_lost(void *ctx, const char *why)
{
	struct network *network = ctx;
	pthread_mutex_lock(&network->lock);
	network->standby_lost = true;
	network->standby_lost_ns = clock_now_ns();
	(void)snprintf(network->standby_why, sizeof network->standby_why, "%s", why);
	pthread_mutex_unlock(&network->lock);
	server_interrupt(network->server);
}

static void server_network_on_followed(void *ctx, struct feed *feed)
{
	struct network *network = ctx;
	pthread_mutex_lock(&network->lock);
	network->came = feed;
	pthread_mutex_unlock(&network->lock);
	server_interrupt(network->server);
}

static void server_network_note_standby(struct network *network, enum troupe_member_change kind, const char *why)
{
	char who[HELLO_WHO_MAX + 1];
	const char *where = followed_where(network->followed);
	(void)snprintf(who, sizeof who, "the standby at %s%s", *where == ':' ? "port " : "", where + (*where == ':'));
	server_network_note_change(network, kind, who);
	if (kind == TROUPE_MEMBER_CAME)
		server_network_tell(network, "%s follows this primary", who);
	else
		server_network_tell(network, "%s is lost: %s", who, why);
}

/* Before a gathering: the welcomes name the standby that is there. */
static void server_network_change_standby(struct network *network)
{
	const struct feed_host host = {.lost = server_network_on_standby_lost, .ctx = network};
	char why[sizeof network->standby_why];
	pthread_mutex_lock(&network->lock);
	bool lost = network->standby_lost;
	struct feed *came = network->came;
	memcpy(why, network->standby_why, sizeof why);
	network->standby_lost = false;
	network->came = NULL;
	pthread_mutex_unlock(&network->lock);
	if (lost) {
		server_network_note_standby(network, TROUPE_MEMBER_LOST, why);
		followed_end(network->followed, NULL);
	}
	pthread_mutex_lock(&network->lock);
	if (lost)
		network->followed = NULL;
	if (came)
		network->followed = followed_create(network->backend->follow, came);
	pthread_mutex_unlock(&network->lock);
	if (!came)
		return;
	network->backend->follow->feed_start(came, &host);
	server_network_note_standby(network, TROUPE_MEMBER_CAME, NULL);
}

static troupe_status server_network_fail_replaced(const struct network *network, struct troupe_error *error)
{
	return fail(error, TROUPE_EPEER,
		"the standby and %u of %u secondaries are lost: with them the standby may have taken over this run",
		network->told - network->left, network->told);
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
	if (network->followed && followed_confirm(network->followed, &run)) {
		network->told = network->left = network->plain;
		return TROUPE_OK;
	}
	if (server_network_may_be_replaced(network))
		return server_network_fail_replaced(network, error);
	if (!network->followed)
		network->told = network->left = 0;
	return TROUPE_OK;
}

void network_made(struct network *network, struct server_world *world, const struct command *command)
{
	if (network->followed)
		followed_made(network->followed, world, command);
}

void network_taken(struct network *network, struct server_world *world, uint64_t step, const struct command *command,
	troupe_status status)
{
	if (network->followed)
		followed_taken(network->followed, world, step, command, status);
}

void network_merged(struct network *network, uint64_t steps)
{
	if (network->followed && !primary_status(network->server->worlds[0].primary))
		followed_merged(network->followed, network->server, steps);
}

/* At the end of the run. */
static void server_network_end_standby(struct network *network)
{
	struct server_world *world = &network->server->worlds[0];
	const struct primary *primary = network->server->world_count ? world->primary : NULL;
	bool failed = primary && primary_status(primary), stopped = network->server->was_stopped;
	struct stop stop = {.kind = failed    ? STOP_FAILED
				    : stopped ? STOP_LEFT
					      : STOP_DONE,
		.next_step = primary ? primary_steps(primary) : 0};
	(void)snprintf(stop.why, sizeof stop.why, "%s",
		failed    ? primary_error(primary)->text
		: stopped ? "it was told to stop"
			  : "done");
	followed_end(network->followed, &stop);
	if (network->came)
		network->backend->follow->feed_end(network->came, &stop);
}

/* --- other members ------------------------------------------------------------------------------------------------ */

bool network_gathers_again(struct network *network)
{
	const struct gather_ops *gather = network->backend->gather;
	const char *missing = gather->gathering_missing(network->gathering);
	if (!gather->gathering_regroups(network->gathering))
		return false;
	for (uint32_t i = 0; missing && i < network->clients.count; i++) {
		if (strcmp(network->clients.at[i], missing))
			continue;
		if (network->client_lost == TROUPE_CLIENT_LOST_END)
			return false;
		server_network_tell(network, "client '%s' did not come back: the run goes on without it", missing);
		server_network_drop_client(network, i);
		break;
	}
	return true;
}

/* If there is no transport of this name, any back end closes the sockets that were passed on. */
void network_refuse(const struct troupe_network *def)
{
	const struct backend *backend;
	if (def && (!backend_remote(def->transport, &backend, NULL) || !backend_remote(NULL, &backend, NULL)))
		backend->gather->refuse(def);
}

/* The clients that were announced. */
static troupe_status server_network_take_clients(
	struct network *network, const struct troupe_network *def, struct troupe_error *error)
{
	for (const char *const *name = def->clients; name && *name; name++) {
		if (!owner_name_is_valid(*name))
			return fail(error, TROUPE_EINVAL,
				"client '%.80s': expected a letter, then letters, digits and _, at most %d in all",
				*name, OWNER_NAME_MAX);
		if (server_network_has_name(network->clients.at, network->clients.count, *name))
			return fail(error, TROUPE_EINVAL, "client '%.80s': announced twice", *name);
		server_network_add_client(network, mem_strdup(*name));
	}
	network->clients_max = MAX(network->clients_max, network->clients.count);
	if (network->clients_max > TROUPE_SECONDARIES_MAX - MIN(def->secondaries, (uint32_t)TROUPE_SECONDARIES_MAX))
		return fail(error, TROUPE_EINVAL, "%u secondaries and %u clients: expected at most %d in all",
			def->secondaries, network->clients_max, TROUPE_SECONDARIES_MAX);
	if (network->clients_max && (def->sockets || def->job))
		return fail(error, TROUPE_EINVAL, "robot clients: expected secondaries that find the primary");
	return TROUPE_OK;
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
	bool changes = network->clients_max > 0 || network->goes_on || network->plain_max > network->plain;
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
_Static_assert(sizeof(struct client_ticket) == HELLO_TICKET_BYTES, "tickets are lent as an array of bytes");

static void server_network_free(struct network *network)
{
	for (uint32_t i = 0; i < network->clients.count; i++)
		free(network->clients.at[i]);
	for (uint32_t i = 0; i < network->wishes.count; i++)
		free(network->wishes.at[i]);
	vec_free(&network->clients);
	vec_free(&network->serials);
	vec_free(&network->tickets);
	vec_free(&network->wishes);
	vec_free(&network->waiters);
	vec_free(&network->processes);
	for (uint32_t i = 0; i < network->changes.count; i++)
		free((char *)(uintptr_t)network->changes.at[i].who);
	vec_free(&network->changes);
	pthread_mutex_destroy(&network->lock);
	pthread_mutex_destroy(&network->acting);
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
	struct gather_self self = {.network = def, .fingerprint = physics_fingerprint()};
	*network = (struct network){.server = server,
		.plain = def->secondaries,
		.clients_max = def->clients_max,
		.client_lost = def->client_lost,
		.iterations = def->iterations,
		.until_s = def->until_s > 0 && def->until_s < UNTIL_MAX_S ? def->until_s : 0,
		.backend = backend};
	pthread_mutex_init(&network->lock, NULL);
	pthread_mutex_init(&network->acting, NULL);
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
	status = server_network_take_clients(network, def, error);
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
	server_network_end_standby(network);
	network->backend->gather->gathering_destroy(network->gathering);
	wire_destroy(network->wire);
	server_network_free(network);
}

uint32_t network_secondaries(const struct network *network)
{
	return network->plain + network->clients.count;
}

uint32_t network_room(const struct network *network)
{
	return MAX(network->plain, network->plain_max) + network->clients_max;
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
	uint32_t welcome = server_network_count_welcome(network, now_ns);
	for (uint32_t i = 0; network->has_begun && i < network->waiters.count; i++)
		network->waiters.at[i].asked_ns = now_ns;
	pthread_mutex_unlock(&network->lock);
	const bool again = network->has_begun || network->taken_over.term;
	network->members =
		(struct gather_members){.secondaries = again ? MAX(network->plain, network->plain_max) : network->plain,
			.expected = network->has_begun ? welcome : network->plain,
			.least = network->has_begun ? 0 : network->taken_over.least,
			.least_of = (const unsigned char(*)[HELLO_ID_BYTES])network->processes.at,
			.least_of_count = network->has_begun ? 0 : network->processes.count,
			.standby = network->followed ? followed_where(network->followed) : NULL,
			.clients = network->clients.count,
			.names = (const char *const *)network->clients.at,
			.tickets = (const unsigned char(*)[HELLO_TICKET_BYTES])network->tickets.at,
			.more = network->clients_max - network->clients.count,
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
	uint32_t before = network->plain, plain = all - network->clients.count;
	pthread_mutex_lock(&network->lock);
	network->plain = plain;
	pthread_mutex_unlock(&network->lock);
	if (!network->has_begun && !network->taken_over.term)
		return TROUPE_OK;
	uint32_t known = network->has_begun ? plain - new : plain; /* all that follow a standby took part before */
	if (known < before && !network->goes_on)
		return fail(error, TROUPE_EPEER, "%u of %u secondaries did not join again when the members changed",
			before - known, before);
	network->left -= MIN(network->left, before - MIN(before, known));
	for (uint32_t i = known; i < before; i++) {
		server_network_note_change(network, TROUPE_MEMBER_LOST, "a secondary that was to join again");
		server_network_tell(network, "a secondary did not join again: the run goes on without it");
	}
	for (uint32_t i = known; i < plain; i++)
		server_network_note_change(network, TROUPE_MEMBER_CAME, network->link->names[i]);
	world_regroup(&network->server->worlds[0], all);
	server_network_place_clients(network);
	return TROUPE_OK;
}

troupe_status network_gather(struct network *network, struct troupe_error *error)
{
	const struct gather_ops *gather = network->backend->gather;
	struct primary *primary = network->server->worlds[0].primary;
	struct text bytes = {0};
	server_network_forget_wire(network);
	server_network_place_clients(network);
	server_pack_replica(network->server, &bytes);
	server_network_change_standby(network);
	server_network_list_members(network);
	struct gather_world world = {bytes.at, bytes.count, replica_hash_of(primary), primary_steps(primary),
		gather->changes_members ? &network->members : NULL};
	network->gathers = true;
	troupe_status status = gather->gathering_run(network->gathering, &world, error);
	network->gathers = false;
	text_fini(&bytes);
	if (status && server_network_may_be_replaced(network))
		status = server_network_fail_replaced(network, error);
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
	network->wire = wire_create(primary);
	network->codec = (struct transport_codec){.encode_step = wire_encode_step,
		.decode_ack = wire_decode_ack,
		.loads = server_network_loads,
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
	server_network_tell(network, "the run goes on with %u %s; it stood still for %.2f s",
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
