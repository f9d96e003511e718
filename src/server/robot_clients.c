/* Two locks. `lock` protects the lists, which the threads of a gateway and of the network read. `acting` is held while
 * a message of a client is posted, and while a client is dropped: so a message comes before the client's models are
 * removed, or is refused. `lock` is taken inside `acting`. */
#include "server/robot_clients.h"

#include "net/key.h"
#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

struct robot_clients_ticket {
	unsigned char bytes[HELLO_TICKET_BYTES];
};
_Static_assert(sizeof(struct robot_clients_ticket) == HELLO_TICKET_BYTES, "tickets are lent as an array of bytes");

struct robot_clients {
	struct troupe_server *server;
	uint32_t max; /* 0: no client can take part */
	enum troupe_client_lost on_loss;
	pthread_mutex_t lock, acting;
	/* under the lock; written by the thread that runs the server, and wishes by any */
	VEC(char *) names;                        /* that take part, or are awaited */
	VEC(uint64_t) numbers;                    /* above 0; no other client of the run has had the same */
	VEC(struct robot_clients_ticket) tickets; /* random; each is told to its client alone */
	uint64_t last_number;
	VEC(char *) wishes; /* that were told to come again */
};

static bool robot_clients_has_name(char *const *names, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Takes the name over. Without random bytes the ticket is 0, which gives no rights. */
static void robot_clients_add(struct robot_clients *clients, char *name)
{
	struct robot_clients_ticket ticket;
	if (key_random_bytes(ticket.bytes, sizeof ticket.bytes, NULL))
		ticket = (struct robot_clients_ticket){{0}};
	vec_push(&clients->names, name);
	vec_push(&clients->numbers, ++clients->last_number);
	vec_push(&clients->tickets, ticket);
}

bool troupe_client_name_is_valid(const char *name)
{
	return owner_name_is_valid(name);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static troupe_status robot_clients_announce(
	struct robot_clients *clients, const struct troupe_network *def, struct troupe_error *error)
{
	for (const char *const *name = def->clients; name && *name; name++) {
		if (!owner_name_is_valid(*name))
			return fail(error, TROUPE_EINVAL,
				"client '%.80s': expected a letter, then letters, digits and _, at most %d in all",
				*name, OWNER_NAME_MAX);
		if (robot_clients_has_name(clients->names.at, clients->names.count, *name))
			return fail(error, TROUPE_EINVAL, "client '%.80s': announced twice", *name);
		robot_clients_add(clients, mem_strdup(*name));
	}
	clients->max = MAX(clients->max, clients->names.count);
	if (clients->max > TROUPE_SECONDARIES_MAX - MIN(def->secondaries, (uint32_t)TROUPE_SECONDARIES_MAX))
		return fail(error, TROUPE_EINVAL, "%u secondaries and %u clients: expected at most %d in all",
			def->secondaries, clients->max, TROUPE_SECONDARIES_MAX);
	if (clients->max && (def->sockets || def->job))
		return fail(error, TROUPE_EINVAL, "robot clients: expected secondaries that find the primary");
	return TROUPE_OK;
}

troupe_status robot_clients_create(struct troupe_server *server, const struct troupe_network *def,
	struct robot_clients **ret_clients, struct troupe_error *error)
{
	struct robot_clients *clients = mem_alloc(sizeof *clients);
	*clients = (struct robot_clients){.server = server, .max = def->clients_max, .on_loss = def->client_lost};
	pthread_mutex_init(&clients->lock, NULL);
	pthread_mutex_init(&clients->acting, NULL);
	troupe_status status = robot_clients_announce(clients, def, error);
	if (status)
		robot_clients_destroy(clients);
	else
		*ret_clients = clients;
	return status;
}

void robot_clients_destroy(struct robot_clients *clients)
{
	if (!clients)
		return;
	for (uint32_t i = 0; i < clients->names.count; i++)
		free(clients->names.at[i]);
	for (uint32_t i = 0; i < clients->wishes.count; i++)
		free(clients->wishes.at[i]);
	vec_free(&clients->names);
	vec_free(&clients->numbers);
	vec_free(&clients->tickets);
	vec_free(&clients->wishes);
	pthread_mutex_destroy(&clients->lock);
	pthread_mutex_destroy(&clients->acting);
	free(clients);
}

uint32_t robot_clients_count(const struct robot_clients *clients)
{
	return clients->names.count;
}

uint32_t robot_clients_max(const struct robot_clients *clients)
{
	return clients->max;
}

const char *const *robot_clients_names(const struct robot_clients *clients)
{
	return (const char *const *)clients->names.at;
}

const unsigned char (*robot_clients_tickets(const struct robot_clients *clients))[HELLO_TICKET_BYTES]
{
	return (const unsigned char(*)[HELLO_TICKET_BYTES])clients->tickets.at;
}

/* --- who takes part ----------------------------------------------------------------------------------------------- */

const char *robot_clients_ask(struct robot_clients *clients, const char *name)
{
	pthread_mutex_lock(&clients->lock);
	bool fits = clients->names.count + clients->wishes.count < clients->max;
	bool here = robot_clients_has_name(clients->names.at, clients->names.count, name);
	bool known = robot_clients_has_name(clients->wishes.at, clients->wishes.count, name);
	bool wished = fits && !here && !known && owner_name_is_valid(name);
	if (wished)
		vec_push(&clients->wishes, mem_strdup(name));
	pthread_mutex_unlock(&clients->lock);
	if (wished)
		server_interrupt(clients->server);
	return wished || known ? NULL
	       : here          ? "a client of this name takes part already"
			       : "no further client may join";
}

bool robot_clients_wish(struct robot_clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	bool some = clients->wishes.count > 0;
	pthread_mutex_unlock(&clients->lock);
	return some;
}

void robot_clients_take_wishes(struct robot_clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	for (uint32_t i = 0; i < clients->wishes.count; i++)
		robot_clients_add(clients, clients->wishes.at[i]);
	clients->wishes.count = 0;
	pthread_mutex_unlock(&clients->lock);
}

uint64_t robot_clients_find(
	struct robot_clients *clients, const char *name, const unsigned char ticket[HELLO_TICKET_BYTES])
{
	uint64_t number = 0;
	pthread_mutex_lock(&clients->lock);
	for (uint32_t i = 0; i < clients->names.count; i++)
		if (!strcmp(clients->names.at[i], name) && hello_ticket_is(ticket, clients->tickets.at[i].bytes))
			number = clients->numbers.at[i];
	pthread_mutex_unlock(&clients->lock);
	return number;
}

bool robot_clients_enter(struct robot_clients *clients, uint64_t number)
{
	bool here = false;
	pthread_mutex_lock(&clients->acting);
	pthread_mutex_lock(&clients->lock);
	for (uint32_t i = 0; i < clients->names.count; i++)
		here |= clients->numbers.at[i] == number;
	pthread_mutex_unlock(&clients->lock);
	if (!here)
		pthread_mutex_unlock(&clients->acting);
	return here;
}

void robot_clients_leave(struct robot_clients *clients)
{
	pthread_mutex_unlock(&clients->acting);
}

/* --- their models ------------------------------------------------------------------------------------------------- */

void robot_clients_place(struct robot_clients *clients, uint32_t first)
{
	const struct server_world *world = &clients->server->worlds[0];
	for (uint32_t i = 0; i < clients->names.count; i++)
		owners_place(primary_owners(world->primary), world->scene, clients->names.at[i], first + i);
	primary_learn_pins(world->primary);
}

/* A command of the run itself: it is bound to the next step, and recorded. */
static void robot_clients_remove_model(struct robot_clients *clients, const struct scene_model *model)
{
	char *service = mem_printf("/world/%s/remove", clients->server->worlds[0].scene->name);
	Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
	struct text bytes = {0};
	entity.name = message_string(model->name);
	entity.type = GZ__MSGS__ENTITY__TYPE__MODEL;
	message_add_bytes(&bytes, &entity.base);
	(void)troupe_command_bytes(clients->server, NULL, service, "gz.msgs.Entity", bytes.at, bytes.count, NULL, NULL);
	text_fini(&bytes);
	free(service);
}

static void robot_clients_remove_models(struct robot_clients *clients, uint32_t owner)
{
	const struct scene *scene = clients->server->worlds[0].scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id && !scene->models[m].absent && scene->models[m].owner == owner)
			robot_clients_remove_model(clients, &scene->models[m]);
}

void robot_clients_meet_model(struct robot_clients *clients, uint32_t model)
{
	const struct server_world *world = &clients->server->worlds[0];
	const struct scene_model *m = &world->scene->models[model];
	const char *name = owners_name(primary_owners(world->primary), m->owner);
	pthread_mutex_lock(&clients->lock);
	bool here = name && robot_clients_has_name(clients->names.at, clients->names.count, name);
	pthread_mutex_unlock(&clients->lock);
	if (name && !here && clients->on_loss == TROUPE_CLIENT_LOST_REMOVE)
		robot_clients_remove_model(clients, m);
}

static void robot_clients_drop(struct robot_clients *clients, uint32_t at)
{
	const struct server_world *world = &clients->server->worlds[0];
	char *name = clients->names.at[at];
	uint32_t owner = 0;
	pthread_mutex_lock(&clients->acting);
	pthread_mutex_lock(&clients->lock);
	for (uint32_t i = at + 1; i < clients->names.count; i++) {
		clients->names.at[i - 1] = clients->names.at[i];
		clients->numbers.at[i - 1] = clients->numbers.at[i];
		clients->tickets.at[i - 1] = clients->tickets.at[i];
	}
	clients->tickets.count = clients->numbers.count = --clients->names.count;
	pthread_mutex_unlock(&clients->lock);
	owners_place(primary_owners(world->primary), world->scene, name, 0);
	(void)owners_add(primary_owners(world->primary), name, &owner, NULL);
	if (clients->on_loss == TROUPE_CLIENT_LOST_REMOVE && owner)
		robot_clients_remove_models(clients, owner);
	pthread_mutex_unlock(&clients->acting);
	free(name);
}

troupe_status robot_clients_lose(
	struct robot_clients *clients, uint32_t at, const struct troupe_error *why, struct troupe_error *error)
{
	const char *models =
		clients->on_loss == TROUPE_CLIENT_LOST_REMOVE ? "its models are removed" : "its models stay";
	if (clients->on_loss == TROUPE_CLIENT_LOST_END)
		return fail(error, why->status, "client '%s' is gone: %s", clients->names.at[at], why->text);
	server_note(clients->server, "client '%s' is gone, %s, and the run goes on: %.300s", clients->names.at[at],
		models, why->text);
	robot_clients_drop(clients, at);
	return TROUPE_OK;
}

bool robot_clients_give_up(struct robot_clients *clients, const char *name)
{
	for (uint32_t i = 0; i < clients->names.count; i++) {
		if (strcmp(clients->names.at[i], name))
			continue;
		if (clients->on_loss == TROUPE_CLIENT_LOST_END)
			return false;
		server_note(clients->server, "client '%s' did not come back: the run goes on without it", name);
		robot_clients_drop(clients, i);
		break;
	}
	return true;
}
