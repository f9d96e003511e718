/* What hangs on a message's pointer: between message.c and the reader, for nobody else. */
#ifndef SYSTEM_MESSAGE_MORE_H
#define SYSTEM_MESSAGE_MORE_H

#include "system/message.h"

struct message_more {
	struct message *items; /* allocated on its own, or NULL */
	double *numbers;       /* likewise: of all slots, in their order */
	uint32_t item_count, number_count;
	uint32_t number_at[MESSAGE_SLOTS_MAX]; /* where in numbers each slot's begin */
	uint32_t string_at[MESSAGE_SLOTS_MAX]; /* where in bytes each slot's text begins; 0: an empty one */
	uint32_t byte_count;
	char bytes[]; /* the first is always 0; then the texts, each terminated */
};

#endif
