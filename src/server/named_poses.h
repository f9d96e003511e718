/* The places of a world that have names: its <frame>s, and its levels. */
#ifndef SERVER_NAMED_POSES_H
#define SERVER_NAMED_POSES_H

#include "server/clients.h"

/* gz.msgs.Empty gives the troupe.msgs.NamedPoses of the world. */
extern const struct query_ops ask_named_poses;

#endif
