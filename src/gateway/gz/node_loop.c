/* The node's thread: waits for sockets, signals and times, and works off what there is. In one round it takes only so
 * much from each socket, so that a flood on one does not keep the others waiting.
 *
 * It does not wait by zmq_poll(), which uses the sockets: then no other thread could send while this one waits. It
 * polls the descriptors of the sockets, and asks a socket only after its descriptor said so or after a thread used it.
 * This is also four system calls for a round instead of some thirty. */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"

#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

enum { WAIT_MAX_MS = 1000 };

static int node_loop_timeout_ms(struct node *node)
{
	uint64_t now_ns = clock_now_ns();
	uint64_t due_ns = MIN(beacons_due_ns(node, now_ns), services_due_ns(node, now_ns));
	if (due_ns <= now_ns)
		return 0;
	return (int)MIN((due_ns - now_ns) / NODE_MS + 1, WAIT_MAX_MS);
}

static void *node_loop_socket_of(const struct node *node, uint32_t wait)
{
	if (wait == WAIT_SUBSCRIBE)
		return node->subscribe;
	if (wait == WAIT_ACCESS)
		return node->access;
	return wait < WAIT_MONITORS ? node->listeners[wait - WAIT_LISTENERS].socket
				    : node->listeners[wait - WAIT_MONITORS].monitor;
}

/* -1, which poll() leaves out, for a socket that the node does not have. */
static int node_loop_file_of(void *socket)
{
	int file = -1;
	size_t bytes = sizeof file;
	if (socket && zmq_getsockopt(socket, ZMQ_FD, &file, &bytes))
		file = -1;
	return file;
}

static void node_loop_fill_waits(const struct node *node, struct pollfd waits[WAIT_ALL])
{
	waits[WAIT_WAKE].fd = node->wake_fd;
	waits[WAIT_TOPICS].fd = multicast_fd(node->topics);
	waits[WAIT_SERVICES].fd = multicast_fd(node->services);
	for (uint32_t i = WAIT_SUBSCRIBE; i < WAIT_ALL; i++)
		waits[i].fd = node_loop_file_of(node_loop_socket_of(node, i));
	for (uint32_t i = 0; i < WAIT_ALL; i++)
		waits[i].events = POLLIN;
}

bool loop_has_input(struct node *node)
{
	for (uint32_t i = WAIT_SUBSCRIBE; i < WAIT_ALL; i++) {
		int events = 0;
		size_t bytes = sizeof events;
		if (!(node->used >> i & 1) || !node_loop_socket_of(node, i))
			continue;
		if (!zmq_getsockopt(node_loop_socket_of(node, i), ZMQ_EVENTS, &events, &bytes) &&
			(events & ZMQ_POLLIN)) {
			node->looked = true;
			return true;
		}
	}
	node->used = 0;
	return false;
}

/* What comes from ZeroMQ is read first. A look whether there is input takes the first part of a message out of a pipe;
 * a pipe that is disconnected before the other parts are read makes ZeroMQ abort the process (fq.cpp: "!_more").
 * Everything that may disconnect comes after, up to the next look. */
static void node_loop_receive(struct node *node, uint32_t ready)
{
	if (ready >> WAIT_ACCESS & 1)
		sockets_check_access(node);
	if (ready >> (WAIT_LISTENERS + LISTENER_PUBLISH) & 1)
		topics_hear_audience(node);
	if (ready >> WAIT_SUBSCRIBE & 1)
		topics_receive(node);
	if (ready >> (WAIT_LISTENERS + LISTENER_SERVE) & 1)
		services_receive(node);
	if (ready >> (WAIT_LISTENERS + LISTENER_ANSWERS) & 1)
		services_receive_answers(node);
	node->looked = false;
}

/* `awake` is cleared before anything is looked at: a thread that wakes this one after that writes again. By an
 * exchange, which reads what a thread that did not write has left there, and so sees all that this thread did before.
 */
static void node_loop_calm(struct node *node)
{
	uint64_t number;
	(void)!read(node->wake_fd, &number, sizeof number);
	(void)atomic_exchange_explicit(&node->awake, false, memory_order_acq_rel); /* pairs with node_wake() */
}

static void node_loop_work(struct node *node, const struct pollfd waits[WAIT_ALL])
{
	bool watch = false;
	for (uint32_t i = WAIT_SUBSCRIBE; i < WAIT_ALL; i++)
		node->used |= waits[i].revents ? 1u << i : 0;
	node_loop_receive(node, node->used);
	uint64_t now_ns = clock_now_ns();
	if (waits[WAIT_TOPICS].revents)
		beacons_read(node, node->topics, now_ns);
	if (waits[WAIT_SERVICES].revents)
		beacons_read(node, node->services, now_ns);
	for (uint32_t i = 0; i < NODE_LISTENERS; i++)
		watch |= node->used >> (WAIT_MONITORS + i) & 1;
	if (watch)
		sockets_watch(node);
	beacons_tick(node, now_ns);
	topics_tick(node, now_ns);
	services_tick(node, now_ns);
}

void *node_loop(void *ctx)
{
	struct node *node = ctx;
	struct pollfd waits[WAIT_ALL] = {0};
	pthread_mutex_lock(&node->guard);
	node_loop_fill_waits(node, waits);
	node->used = UINT32_MAX;
	while (!atomic_load_explicit(&node->stop, memory_order_acquire)) {
		int wait_ms = loop_has_input(node) ? 0 : node_loop_timeout_ms(node);
		node->wait_until_ns = clock_now_ns() + (uint64_t)wait_ms * NODE_MS;
		pthread_mutex_unlock(&node->guard);
		(void)poll(waits, WAIT_ALL, wait_ms);
		if (waits[WAIT_WAKE].revents)
			node_loop_calm(node);
		pthread_mutex_lock(&node->guard);
		node_loop_work(node, waits);
	}
	node_loop_receive(node, UINT32_MAX);
	(void)topics_send_waiting(node, UINT32_MAX);
	services_linger(node);
	beacons_bye(node);
	pthread_mutex_unlock(&node->guard);
	return NULL;
}
