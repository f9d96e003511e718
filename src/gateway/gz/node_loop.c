/* The node's thread: waits for sockets, orders and times, and works off what there is. In one round it takes only so
 * much from each socket, so that a flood on one does not keep the others waiting. */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MAX_MS = 1000 };

static void obey(struct node *node, struct order *order)
{
	switch (order->kind) {
	case ORDER_PUBLISH:
		topics_publish(node, order); /* frees it */
		return;
	case ORDER_FREE_PUBLISHER:
		topics_free_publisher(order->publisher);
		break;
	case ORDER_FOLLOW:
		topics_follow(node, order->bytes);
		break;
	case ORDER_LEAVE:
		topics_leave(node, order->bytes);
		break;
	case ORDER_REPLY:
		services_send_reply(node, order->reply);
		break;
	case ORDER_CALL:
		services_call(node, order->call);
		break;
	}
	free(order);
}

static void take_orders(struct node *node)
{
	struct order_list orders = STAILQ_HEAD_INITIALIZER(orders);
	struct order *order;
	uint64_t number;
	(void)!read(node->wake_fd, &number, sizeof number);
	atomic_store_explicit(&node->awake, false, memory_order_release); /* pairs with the exchange in node_wake() */
	pthread_mutex_lock(&node->orders_guard);
	STAILQ_CONCAT(&orders, &node->orders);
	pthread_mutex_unlock(&node->orders_guard);
	while ((order = STAILQ_FIRST(&orders))) {
		STAILQ_REMOVE_HEAD(&orders, next);
		obey(node, order);
	}
}

static int timeout_ms(struct node *node)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t due_ns = MIN(beacons_due_ns(node, now_ns), services_due_ns(node, now_ns));
	if (due_ns <= now_ns)
		return 0;
	return (int)MIN((due_ns - now_ns) / NODE_MS + 1, WAIT_MAX_MS);
}

enum {
	WAIT_WAKE,
	WAIT_TOPICS,
	WAIT_SERVICES,
	WAIT_SUBSCRIBE,
	WAIT_LISTENERS,
	WAIT_MONITORS = WAIT_LISTENERS + NODE_LISTENERS,
	WAIT_ACCESS = WAIT_MONITORS + NODE_LISTENERS,
	WAIT_ALL
};

static int fill_waits(const struct node *node, zmq_pollitem_t waits[WAIT_ALL])
{
	waits[WAIT_WAKE] = (zmq_pollitem_t){.fd = node->wake_fd, .events = ZMQ_POLLIN};
	waits[WAIT_TOPICS] = (zmq_pollitem_t){.fd = multicast_fd(node->topics), .events = ZMQ_POLLIN};
	waits[WAIT_SERVICES] = (zmq_pollitem_t){.fd = multicast_fd(node->services), .events = ZMQ_POLLIN};
	waits[WAIT_SUBSCRIBE] = (zmq_pollitem_t){.socket = node->subscribe, .events = ZMQ_POLLIN};
	for (int i = 0; i < NODE_LISTENERS; i++) {
		waits[WAIT_LISTENERS + i] = (zmq_pollitem_t){.socket = node->listeners[i].socket, .events = ZMQ_POLLIN};
		waits[WAIT_MONITORS + i] = (zmq_pollitem_t){.socket = node->listeners[i].monitor, .events = ZMQ_POLLIN};
	}
	waits[WAIT_ACCESS] = (zmq_pollitem_t){.socket = node->access, .events = ZMQ_POLLIN};
	return node->access ? WAIT_ALL : WAIT_ACCESS;
}

/* What comes from ZeroMQ is read first. zmq_poll() has taken the first part of a message out of a pipe; a pipe that is
 * disconnected before the other parts are read makes ZeroMQ abort the process (fq.cpp: "!_more"). Everything that may
 * disconnect comes after, up to the next zmq_poll(). */
static void receive(struct node *node, const zmq_pollitem_t waits[WAIT_ALL])
{
	if (node->access && waits[WAIT_ACCESS].revents)
		sockets_check_access(node);
	if (waits[WAIT_LISTENERS + LISTENER_PUBLISH].revents)
		topics_hear_audience(node);
	if (waits[WAIT_SUBSCRIBE].revents)
		topics_receive(node);
	if (waits[WAIT_LISTENERS + LISTENER_SERVE].revents)
		services_receive(node);
	if (waits[WAIT_LISTENERS + LISTENER_ANSWERS].revents)
		services_receive_answers(node);
}

static void work(struct node *node, const zmq_pollitem_t waits[WAIT_ALL])
{
	receive(node, waits);
	uint64_t now_ns = clock_now_ns();
	take_orders(node);
	if (waits[WAIT_TOPICS].revents)
		beacons_read(node, node->topics, now_ns);
	if (waits[WAIT_SERVICES].revents)
		beacons_read(node, node->services, now_ns);
	for (int i = 0; i < NODE_LISTENERS; i++)
		if (waits[WAIT_MONITORS + i].revents || node->listeners[i].closed)
			sockets_watch(node);
	beacons_tick(node, now_ns);
	topics_tick(node, now_ns);
	services_tick(node, now_ns);
}

void *node_loop(void *ctx)
{
	struct node *node = ctx;
	zmq_pollitem_t waits[WAIT_ALL];
	int count = fill_waits(node, waits);
	pthread_mutex_lock(&node->guard);
	while (!atomic_load_explicit(&node->stop, memory_order_acquire)) {
		int wait_ms = timeout_ms(node);
		pthread_mutex_unlock(&node->guard);
		for (int i = 0; i < count; i++)
			waits[i].revents = 0;
		(void)zmq_poll(waits, count, wait_ms);
		pthread_mutex_lock(&node->guard);
		work(node, waits);
	}
	take_orders(node); /* what was published and replied before the end */
	services_linger(node);
	beacons_bye(node);
	pthread_mutex_unlock(&node->guard);
	return NULL;
}
