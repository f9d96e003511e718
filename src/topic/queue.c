/* A ring in which the producer overwrites the oldest item would hand items over in the wrong order when the consumer
 * is just taking that item. So the items are a list, newest first. The producer adds an item at its head; the consumer
 * takes the whole list by one exchange, and reverses it. The producer drops old items in the same way: it takes the
 * whole list, cuts the end off, and puts the rest back. Only the producer makes the head non-zero, so an empty head
 * stays empty until it does.
 *
 * The producer cuts a quarter of the list at once, so that a stalled consumer costs it little per item.
 *
 * Nodes come from one array, and go back by a second list of the same kind. At most `depth` + 1 nodes are in the
 * list, and at most that many are with the consumer. */
#include "topic/queue.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

struct queue_node {
	void *item;
	struct queue_node *older;  /* producer's, then consumer's */
	struct queue_node *unused; /* link of the list of unused nodes */
	uint32_t length;           /* of the list from this node on; written by the producer only */
};

struct topic_queue {
	/* Writers: the producer, and the consumer that takes all. */
	_Alignas(64) _Atomic(struct queue_node *) newest;
	/* Nodes that came back. Writers: both threads add; the producer takes all. */
	_Alignas(64) _Atomic(struct queue_node *) unused;
	_Atomic uint64_t lost;    /* writer: the producer */
	struct queue_node *own;   /* producer: unused nodes that it has taken */
	struct queue_node *taken; /* consumer: items that it has taken, oldest first */
	uint32_t depth;
	struct queue_node *nodes;
	void (*release)(void *item);
};

static void queue_give_back(struct topic_queue *queue, struct queue_node *node)
{
	struct queue_node *head = atomic_load_explicit(&queue->unused, memory_order_relaxed);
	do
		node->unused = head;
	while (!atomic_compare_exchange_weak_explicit(&queue->unused, &head, node, memory_order_release,
		memory_order_relaxed)); /* acquire: queue_new_node() */
}

struct topic_queue *topic_queue_create(uint32_t depth, void (*release)(void *item))
{
	assert(depth >= 4 && depth <= TOPIC_QUEUE_DEPTH_MAX);
	struct topic_queue *queue = mem_alloc_lines(sizeof *queue);
	queue->depth = depth;
	queue->release = release;
	queue->nodes = mem_alloc(2 * (depth + 1) * sizeof *queue->nodes);
	for (uint32_t i = 0; i < 2 * (depth + 1); i++)
		queue_give_back(queue, &queue->nodes[i]);
	return queue;
}

void topic_queue_destroy(struct topic_queue *queue)
{
	if (!queue)
		return;
	for (void *item = topic_queue_pop(queue); item; item = topic_queue_pop(queue))
		queue->release(item);
	free(queue->nodes);
	free(queue);
}

static struct queue_node *queue_new_node(struct topic_queue *queue)
{
	if (!queue->own) /* acquire: pairs with queue_give_back() */
		queue->own = atomic_exchange_explicit(&queue->unused, NULL, memory_order_acquire);
	struct queue_node *node = queue->own;
	assert(node);
	queue->own = node->unused;
	return node;
}

/* Keeps the newest three quarters of the depth. */
static void queue_trim(struct topic_queue *queue)
{
	/* acquire: the consumer may have taken the list meanwhile; then there is no head */
	struct queue_node *head = atomic_exchange_explicit(&queue->newest, NULL, memory_order_acquire);
	uint32_t keep = queue->depth - queue->depth / 4;
	if (!head)
		return;
	uint32_t drop = head->length - keep;
	struct queue_node *last = head;
	for (uint32_t i = 1; i < keep; i++) {
		last->length -= drop;
		last = last->older;
	}
	last->length -= drop;
	struct queue_node *old = last->older;
	last->older = NULL;
	/* release: pairs with the acquire in topic_queue_pop() */
	atomic_store_explicit(&queue->newest, head, memory_order_release);
	while (old) {
		struct queue_node *older = old->older;
		queue->release(old->item);
		queue_give_back(queue, old);
		old = older;
	}
	atomic_fetch_add_explicit(&queue->lost, drop, memory_order_relaxed);
}

void topic_queue_push(struct topic_queue *queue, void *item)
{
	struct queue_node *node = queue_new_node(queue);
	struct queue_node *head = atomic_load_explicit(&queue->newest, memory_order_relaxed);
	node->item = item;
	node->older = head;
	node->length = head ? head->length + 1 : 1;
	/* release: pairs with the acquire in topic_queue_pop(). It fails only if the consumer has taken the list. */
	if (!atomic_compare_exchange_strong_explicit(
		    &queue->newest, &head, node, memory_order_release, memory_order_relaxed)) {
		node->older = NULL;
		node->length = 1;
		atomic_store_explicit(&queue->newest, node, memory_order_release);
	}
	if (node->length > queue->depth)
		queue_trim(queue);
}

void *topic_queue_pop(struct topic_queue *queue)
{
	if (!queue->taken)
		queue->taken =
			LIST_REVERSED(atomic_exchange_explicit(&queue->newest, NULL, memory_order_acquire), older);
	struct queue_node *node = queue->taken;
	if (!node)
		return NULL;
	void *item = node->item;
	queue->taken = node->older;
	queue_give_back(queue, node);
	return item;
}

uint64_t topic_queue_lost(const struct topic_queue *queue)
{
	return atomic_load_explicit(&queue->lost, memory_order_relaxed);
}
