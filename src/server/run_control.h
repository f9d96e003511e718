/* Requests that act but do not change a world: the action is done at a step boundary, and the reply is a
 * gz.msgs.Boolean. No bit of a state depends on them, so a recording does not have them. */
#ifndef SERVER_RUN_CONTROL_H
#define SERVER_RUN_CONTROL_H

#include "server/clients.h"

/* gz.msgs.ServerControl: ends the run as troupe_server_stop() does. */
extern const struct query_ops run_control_stop_ops;
/* Checks that clients may use a file of this name: in def.save_folder, if there is one. *ret_path: its path, to be
 * freed with free(). verb: for the message. TROUPE_ECOMMAND. */
troupe_status run_control_path(const struct troupe_server *server, const char *name, const char *verb, char **ret_path,
	struct troupe_error *error);
/* gz.msgs.StringMsg, the name of a file: saves the state of all worlds into def.save_folder. */
extern const struct query_ops run_control_save_ops;

#endif
