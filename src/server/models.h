/* All models of a world in one answer: which there are, where they are and how they move, and the boxes around them. */
#ifndef SERVER_MODELS_H
#define SERVER_MODELS_H

#include "server/clients.h"

/* gz.msgs.Boolean, whether boxes are wanted, too, gives the troupe.msgs.Models of the world. */
extern const struct query_ops ask_models;

#endif
