/* The queue between a step and an observer: the order, which items a slow observer loses, and no item lost or released
 * twice while both threads work. Under ThreadSanitizer also the memory orders. */
#include "topic/queue.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

TestSuite(topic_queue, .timeout = 60);

struct item {
	uint64_t number;
	_Atomic uint32_t released;
};

static void release(void *ctx)
{
	struct item *item = ctx;
	atomic_fetch_add(&item->released, 1);
}

Test(topic_queue, items_come_in_order_and_each_once)
{
	struct item items[40] = {0};
	struct topic_queue *queue = topic_queue_create(64, release);
	cr_assert_null(topic_queue_pop(queue));
	for (uint32_t i = 0; i < 40; i++)
		items[i].number = i;
	for (uint32_t i = 0; i < 25; i++)
		topic_queue_push(queue, &items[i]);
	for (uint32_t i = 0; i < 10; i++)
		cr_assert_eq(((struct item *)topic_queue_pop(queue))->number, i);
	for (uint32_t i = 25; i < 40; i++)
		topic_queue_push(queue, &items[i]);
	for (uint32_t i = 10; i < 40; i++)
		cr_assert_eq(((struct item *)topic_queue_pop(queue))->number, i);
	cr_assert_null(topic_queue_pop(queue));
	cr_assert_eq(topic_queue_lost(queue), 0u);
	topic_queue_destroy(queue);
	for (uint32_t i = 0; i < 40; i++) /* the thread that pops an item has its reference */
		cr_assert_eq(items[i].released, 0u);
}

Test(topic_queue, a_full_queue_loses_its_oldest_items)
{
	enum { COUNT = 1000, DEPTH = 8 };
	static struct item items[COUNT];
	struct topic_queue *queue = topic_queue_create(DEPTH, release);
	for (uint32_t i = 0; i < COUNT; i++) {
		items[i].number = i;
		topic_queue_push(queue, &items[i]);
	}
	uint64_t lost = topic_queue_lost(queue);
	cr_assert_geq(lost, COUNT - DEPTH);
	cr_assert_leq(lost, COUNT - DEPTH + DEPTH / 4 + 1);
	for (uint32_t i = 0; i < COUNT; i++)
		cr_assert_eq(items[i].released, i < lost, "item %u", i);
	cr_assert_eq(((struct item *)topic_queue_pop(queue))->number, lost);
	topic_queue_destroy(queue); /* releases the items that were not popped */
	for (uint64_t i = 0; i < COUNT; i++)
		cr_assert_eq(items[i].released, i != lost);
}

enum { STREAM = 300000 };

struct stream {
	struct topic_queue *queue;
	struct item *items;
	_Atomic bool done;
	uint64_t seen, wrong;
};

static void *consume(void *ctx)
{
	struct stream *stream = ctx;
	uint64_t next = 0;
	for (;;) {
		bool done = atomic_load(&stream->done);
		struct item *item = topic_queue_pop(stream->queue);
		if (!item && done)
			return NULL;
		if (!item) {
			sched_yield();
			continue;
		}
		stream->wrong += item->number < next;
		next = item->number + 1;
		stream->seen++;
		release(item);
	}
}

static void stream_through(uint32_t depth)
{
	struct stream stream = {.queue = topic_queue_create(depth, release)};
	stream.items = calloc(STREAM, sizeof *stream.items);
	pthread_t consumer;
	cr_assert_eq(pthread_create(&consumer, NULL, consume, &stream), 0);
	for (uint64_t i = 0; i < STREAM; i++) {
		stream.items[i].number = i;
		topic_queue_push(stream.queue, &stream.items[i]);
	}
	atomic_store(&stream.done, true);
	pthread_join(consumer, NULL);
	cr_assert_eq(stream.wrong, 0u);
	cr_assert_eq(stream.seen + topic_queue_lost(stream.queue), STREAM);
	topic_queue_destroy(stream.queue);
	for (uint64_t i = 0; i < STREAM; i++)
		cr_assert_eq(stream.items[i].released, 1u, "item %lu", (unsigned long)i);
	free(stream.items);
}

Test(topic_queue, two_threads_small)
{
	stream_through(4);
}

Test(topic_queue, two_threads_large)
{
	stream_through(1024);
}
