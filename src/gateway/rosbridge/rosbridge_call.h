/* The calls of a client: services of the run, of rosapi and of simulation.h, and goals of actions. Each is answered,
 * also when it cannot be done. On the thread of the web server. */
#ifndef GATEWAY_ROSBRIDGE_ROSBRIDGE_CALL_H
#define GATEWAY_ROSBRIDGE_ROSBRIDGE_CALL_H

#include "gateway/rosbridge/rosbridge_client.h"

/* The operations call_service, send_action_goal and cancel_action_goal. */
void rosbridge_call_service(struct rosbridge_client *client, const struct rosbridge_operation *operation);
void rosbridge_call_send_goal(struct rosbridge_client *client, const struct rosbridge_operation *operation);
void rosbridge_call_cancel_goal(struct rosbridge_client *client, const struct rosbridge_operation *operation);
/* Tells the client that its goal is refused. id: of its operation, as JSON or NULL. */
void rosbridge_call_refuse_goal(struct rosbridge_client *client, const char *id, const char *action, const char *why);
/* The client goes: nothing answers it any more, and its goals are cancelled. */
void rosbridge_call_leave(struct rosbridge_client *client);

void rosbridge_call_free(struct rosbridge_client_call *call);
/* Frees a call that has ended, or never will. */
void rosbridge_call_drop(struct asked *asked);

#endif
