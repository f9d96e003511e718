/* What all systems for messages between robots share: queues, and the settings of brokers.
 *
 * A queue is words: how many of the others are used, and then, for each message, the number of its bytes and the bytes
 * in as many words as they need. */
#ifndef BUILTIN_COMMS_H
#define BUILTIN_COMMS_H

#include "builtin/parts.h"

enum { COMMS_BROKER_WORDS = 2048 };               /* of messages that wait at a broker */
enum { COMMS_ON_MESSAGE = 0, COMMS_ON_BIND = 1 }; /* inputs */

struct comms_common { /* the first member of each config */
	uint32_t queue_words;
	const struct troupe_field *src, *dst;
};

struct comms_broker {
	struct comms_common common;
	uint32_t delivered;
};

#define COMMS_BROKER_PARAMETERS                                                                                        \
	BUILTIN_PARTS("broker", "<messages_topic>, default /broker/msgs; <bind_service>, default /broker/bind; "       \
				"<unbind_service> has no effect")

/* Takes the inputs and outputs of a broker, as its <broker> names them. False: it was refused. */
bool comms_read_broker(struct troupe_system *self, const struct troupe_element *plugin, struct comms_broker *broker);
/* A name in <broker>. */
const char *comms_broker_name(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, const char *usual);
/* Refuses a message that is too long. */
bool comms_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES]);
/* Puts a message at the end of the queue. A full one loses it, with a line in the log. */
void comms_keep(const struct troupe_system *self, uint64_t *queue, const struct troupe_message *message);
/* Takes the first message out; NULL: none waits. */
struct troupe_message *comms_next(
	const struct troupe_system *self, const struct troupe_step *step, uint64_t *queue, uint64_t *ret_bytes);

#endif
