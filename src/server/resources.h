/* The models and worlds in the folders in which the run searches for files. */
#ifndef SERVER_RESOURCES_H
#define SERVER_RESOURCES_H

#include "server/clients.h"

/* troupe.msgs.FindResources gives troupe.msgs.Resources. */
extern const struct query_ops ask_resources;

#endif
