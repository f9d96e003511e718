/* Services that describe a world as it is: its SDF, and what its file says of a user interface. */
#ifndef SERVER_DESCRIBE_H
#define SERVER_DESCRIBE_H

#include "server/clients.h"

/* gz.msgs.SdfGeneratorConfig -> gz.msgs.StringMsg: SDF of the world with its models as they are now. It loads, and
 * gives the same models at the same poses; joints, velocities and the memory of systems begin anew, as the file has
 * them. */
extern const struct query_ops ask_sdf;
/* gz.msgs.Empty -> gz.msgs.GUI: the file's <gui>; an empty message without one. */
extern const struct query_ops ask_gui;

#endif
