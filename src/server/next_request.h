/* The service by which clients ask for another run in the place of this one (def.on_next). */
#ifndef SERVER_NEXT_REQUEST_H
#define SERVER_NEXT_REQUEST_H

#include "server/clients.h"

/* troupe.msgs.NextRun gives gz.msgs.StringMsg, the name of the world. Offered if def.on_next is given. */
extern const struct query_ops next_request_ops;
/* Ends this run if another one was made: to be called when the reply is there. Any thread. */
void next_request_complete(struct troupe_server *server);

#endif
