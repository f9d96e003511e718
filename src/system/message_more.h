/* The data behind a message's pointer; for message.c and the readers of messages only. */
#ifndef SYSTEM_MESSAGE_MORE_H
#define SYSTEM_MESSAGE_MORE_H

#include "system/message.h"

struct message_more {
	struct message *items; /* allocated on its own, or NULL */
	double *numbers;       /* likewise: the numbers of all slots, in the order of slots */
	uint32_t item_count, number_count;
	uint32_t number_at[MESSAGE_SLOTS_MAX]; /* index in numbers of each slot's first number */
	uint32_t string_at[MESSAGE_SLOTS_MAX]; /* index in bytes of each slot's text; 0: an empty text */
	uint32_t byte_count;
	char bytes[]; /* the first byte is 0; then the texts, each terminated */
};

#endif
