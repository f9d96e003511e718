/* A bounded queue from the thread that takes a step (the producer) to the thread of one observer (the consumer).
 * Neither waits for the other. When the queue is full, the producer drops the oldest items and counts them as lost: so
 * a slow observer loses its own oldest items, and delays no other code.
 *
 *            push  pop  lost   X needs outside exclusion
 *     push    X     -    -     push: one producer; pop: one consumer
 *     pop     -     X    -     lost: any thread
 *
 * An item is any memory that is shared by reference counting: a queue holds one reference to each item in it. */
#ifndef TOPIC_QUEUE_H
#define TOPIC_QUEUE_H

#include "base/base.h"

enum { TOPIC_QUEUE_DEPTH_MAX = 65536 };

struct topic_queue;

/* depth: 4 .. TOPIC_QUEUE_DEPTH_MAX items wait at most. release: gives up the queue's reference to an item; called on
 * either thread. */
struct topic_queue *topic_queue_create(uint32_t depth, void (*release)(void *item));
/* Releases the items that are left. NULL is fine. */
void topic_queue_destroy(struct topic_queue *queue);

/* Producer. The queue takes over one reference. Allocates nothing. */
void topic_queue_push(struct topic_queue *queue, void *item);
/* Consumer. The oldest item, with the queue's reference to it; NULL: the queue is empty. */
void *topic_queue_pop(struct topic_queue *queue);
/* The number of items that were dropped so far. */
uint64_t topic_queue_lost(const struct topic_queue *queue);

#endif
