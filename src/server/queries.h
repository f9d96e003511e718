/* Calls of services that are no commands: each waits for a step boundary, where it is answered, or acts. Answers that
 * read files are made in the background. */
#ifndef SERVER_QUERIES_H
#define SERVER_QUERIES_H

#include "server/internal.h"

struct capture_pool;
struct client_reply;
struct queries;
struct troupe_client;

/* pools: for the captures of which answers are made, by world; they outlive the queries. */
struct queries *queries_create(struct troupe_server *server, struct capture_pool *const *pools);
/* All clients are closed. */
void queries_destroy(struct queries *queries);

/* As clients_ask(). Any thread. */
void queries_ask(struct queries *queries, struct troupe_client *client, struct client_reply *reply);
/* The reply was given: what came of it is told at the next step boundary. Any thread. */
void queries_note(struct queries *queries, const struct client_reply *reply);

/* At a step boundary, on the thread that does the primary's part: answers what waits, and tells of what was answered.
 * Costs two comparisons when nothing waits. */
void queries_serve(struct queries *queries);

#endif
