/* The robot clients of a networked run: which take part, are awaited or wish to join, by which ticket their process is
 * known, and what becomes of their models when one is lost. A client is a secondary with a name.
 *
 * Thread: the one that runs the server, except where it says otherwise. */
#ifndef SERVER_ROBOT_CLIENTS_H
#define SERVER_ROBOT_CLIENTS_H

#include "net/hello.h"
#include "server/internal.h"

#include <troupe/network.h>

struct robot_clients;

/* Those that def announces are awaited. TROUPE_EINVAL: their names or numbers. server: outlives the result. */
troupe_status robot_clients_create(struct troupe_server *server, const struct troupe_network *def,
	struct robot_clients **ret_clients, struct troupe_error *error);
void robot_clients_destroy(struct robot_clients *clients); /* NULL is fine */

/* How many take part or are awaited; how many there can be, 0: none. */
uint32_t robot_clients_count(const struct robot_clients *clients);
uint32_t robot_clients_max(const struct robot_clients *clients);
/* [robot_clients_count()], in the order of their secondaries. Lent until the clients change. */
const char *const *robot_clients_names(const struct robot_clients *clients);
const unsigned char (*robot_clients_tickets(const struct robot_clients *clients))[HELLO_TICKET_BYTES];

/* A client of this name asks to join. NULL: it shall come again; else why it cannot. Any thread. */
const char *robot_clients_ask(struct robot_clients *clients, const char *name);
/* Whether some wish to join; they are awaited from now on. */
bool robot_clients_wish(struct robot_clients *clients);
void robot_clients_take_wishes(struct robot_clients *clients);

/* The number of the client of this name, which takes part or is awaited, and whose ticket this is; 0: there is none. A
 * client that is lost and comes again has another number and another ticket. Any thread. */
uint64_t robot_clients_find(
	struct robot_clients *clients, const char *name, const unsigned char ticket[HELLO_TICKET_BYTES]);
/* Any thread that is to post a message of the client. False: the client takes part no longer. True: it stays until
 * robot_clients_leave(), on the same thread. */
bool robot_clients_enter(struct robot_clients *clients, uint64_t number);
void robot_clients_leave(struct robot_clients *clients);

/* Their models are simulated by the secondaries from `first` on, counted from 1. */
void robot_clients_place(struct robot_clients *clients, uint32_t first);
/* A model was created for a client: it does not stay if models of clients that are gone are to be removed, and this one
 * has gone meanwhile. */
void robot_clients_meet_model(struct robot_clients *clients, uint32_t model);
/* The client at this place of the list is gone. An error: the run ends. */
troupe_status robot_clients_lose(
	struct robot_clients *clients, uint32_t at, const struct troupe_error *why, struct troupe_error *error);
/* The client of this name, if there is one, did not come back. False: the run ends. */
bool robot_clients_give_up(struct robot_clients *clients, const char *name);

#endif
