/* Operations: objects of JSON whose member "op" says what they are, as most protocols over WebSockets have them. The
 * second half is for troupe's own protocols (view/PROTOCOL.md, ws/PROTOCOL.md), in which errors, replies and members of
 * requests are the same. Thread: the gateway's. */
#ifndef GATEWAY_HUB_OP_H
#define GATEWAY_HUB_OP_H

#include "base/json_out.h"
#include "gateway/hub/port.h"

struct json_t; /* of jansson */

/* Begins an operation in a text that is empty, or appends one. */
struct json_out op_begin(struct text *text, const char *op);
/* Ends the operation, sends it as port_say_text() does, and frees its text. */
void op_say(struct port_client *client, struct json_out *out);
/* The same to all clients of the port. */
void op_tell_all(const struct port *port, struct json_out *out);

/* --- troupe's own protocols --------------------------------------------------------------------------------------- */

/* Begins {"op":"error","text":WHY}. */
struct json_out op_error(struct text *text, const char *why);
/* As hub_kind.refused(): all clients are told. */
void op_tell_refused(const struct port *port, const char *topic, const char *why);
/* Begins the reply to the call with this number: ok, step and text, and the message if the run has given one. */
struct json_out op_reply(struct text *text, uint64_t id, const struct hub_reply *reply);
/* Begins the message of a topic, up to the member "message", which the caller adds. */
struct json_out op_message(struct text *text, const struct troupe_message *message);

/* Members of requests. TROUPE_ECOMMAND: the member, and what was expected. */
/* "rate", in Hz of simulated time; 0 if it is not given. */
troupe_status op_get_rate(const struct json_t *request, double *ret_hz, struct troupe_error *error);
/* "id", of a call: a whole number from 0 to 2^53. */
troupe_status op_get_id(const struct json_t *request, uint64_t *ret_id, struct troupe_error *error);
/* The message in a member, as bytes of this type, which is known; a member that is not given is an empty message. */
troupe_status op_get_message(const struct json_t *request, const char *member, const char *type, struct text *ret_bytes,
	struct troupe_error *error);

#endif
