/* The parts of ZeroMQ messages of gz-transport: what they must be. Pure functions. A part is bytes, not terminated;
 * what is returned points into the parts. */
#ifndef GATEWAY_GZ_PARTS_H
#define GATEWAY_GZ_PARTS_H

#include "gateway/gz/names.h"

enum { PARTS_MAX = 10 }; /* a message of more parts is none of these */

struct part {
	const char *at;
	size_t count;
};

/* topic | address of the publisher | bytes | type [| statistics] */
struct parts_message {
	struct part topic, address, bytes, type;
};
bool parts_read_message(const struct part *parts, uint32_t count, struct parts_message *ret_message);

/* ZeroMQ identity | service | address for the reply | identity for the reply | node | request | bytes | type of the
 * request | type of the reply */
struct parts_request {
	struct part service, address, id, node, request, bytes, type, reply_type;
	struct names_endpoint endpoint; /* of address; not set when one_way */
	bool one_way;
};
bool parts_read_request(const struct part *parts, uint32_t count, struct parts_request *ret_request);

/* ZeroMQ identity | service | node | request | bytes | "1" or "0" */
struct parts_reply {
	struct part request, bytes;
	bool good;
};
bool parts_read_reply(const struct part *parts, uint32_t count, struct parts_reply *ret_reply);

/* Terminated copy; the part must fit. */
void parts_copy(struct part part, char *ret_text, size_t room);

#endif
