/* The ZeroMQ sockets of a node. Peers connect to three: topics are published there, requests come in there, and replies
 * to own calls.
 *
 * The publishing socket is an XPUB, which a subscriber cannot tell from the PUB of gz-transport, but which tells us
 * each subscription and its end, also when the subscriber is killed. gz-transport's own way, NEW_CONNECTION datagrams,
 * may get lost, and says nothing of a subscriber that died.
 *
 * ZeroMQ accepts connections without limit. So each listening socket has a monitor that counts them, and a connection
 * beyond the limit is cut. To stop listening instead would not do: zmq_unbind() closes all connections that the socket
 * has accepted, also those of subscribers that were there before the flood, and tells the monitor nothing of it.
 *
 * When no file is free for a connection, ZeroMQ tries to accept it again and again, on a thread of its own. So the
 * connection is accepted here, with a file that is kept for this, and closed: its peer tries again later. */
#include "gateway/gz/node_internal.h"

#include "base/clock.h"
#include "base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ACCESS_ENDPOINT "inproc://zeromq.zap.01" /* fixed by ZeroMQ */
#define ACCESS_DOMAIN "ign-auth"
enum { HANDSHAKE_MS = 3000, MONITOR_EVENTS_MAX = 1024, FILES_OF_ZEROMQ = 32, NODE_SOCKETS_SHED_MAX = 64 };

static bool node_sockets_set_number(void *socket, int option, int value)
{
	return !zmq_setsockopt(socket, option, &value, sizeof value);
}

static bool node_sockets_set_text(void *socket, int option, const char *text)
{
	return !zmq_setsockopt(socket, option, text, strlen(text));
}

static void *node_sockets_open(struct node *node, int type, const struct node_options *options)
{
	int64_t bytes_max = NODE_MESSAGE_BYTES_MAX;
	uint32_t send = options->send_queue ? options->send_queue : NODE_QUEUE_DEFAULT;
	uint32_t receive = options->receive_queue ? options->receive_queue : NODE_QUEUE_DEFAULT;
	void *socket = zmq_socket(node->zmq, type);
	if (socket && !zmq_setsockopt(socket, ZMQ_MAXMSGSIZE, &bytes_max, sizeof bytes_max) &&
		node_sockets_set_number(socket, ZMQ_SNDHWM, (int)send) &&
		node_sockets_set_number(socket, ZMQ_RCVHWM, (int)receive) &&
		node_sockets_set_number(socket, ZMQ_HANDSHAKE_IVL, HANDSHAKE_MS) &&
		node_sockets_set_number(socket, ZMQ_TCP_KEEPALIVE, 1) && node_sockets_set_number(socket, ZMQ_LINGER, 0))
		return socket;
	if (socket)
		zmq_close(socket);
	return NULL;
}

/* Binds to a free port, and watches for connections. */
static bool node_sockets_open_listener(struct node *node, struct listener *listener, void *socket)
{
	char endpoint[64];
	size_t bytes = sizeof listener->endpoint;
	listener->socket = socket;
	(void)snprintf(endpoint, sizeof endpoint, "inproc://monitor-%p", (void *)listener);
	listener->file = listener->reserve = -1;
	if (!socket ||
		zmq_socket_monitor(socket, endpoint,
			ZMQ_EVENT_LISTENING | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_ACCEPT_FAILED | ZMQ_EVENT_DISCONNECTED))
		return false;
	listener->monitor = zmq_socket(node->zmq, ZMQ_PAIR);
	if (!listener->monitor || !node_sockets_set_number(listener->monitor, ZMQ_LINGER, 0) ||
		zmq_connect(listener->monitor, endpoint))
		return false;
	(void)snprintf(endpoint, sizeof endpoint, "tcp://%u.%u.%u.%u:*", node->address >> 24, node->address >> 16 & 255,
		node->address >> 8 & 255, node->address & 255);
	if (zmq_bind(socket, endpoint) || zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, listener->endpoint, &bytes))
		return false;
	listener->reserve = eventfd(0, EFD_CLOEXEC);
	return true;
}

static bool node_sockets_open_publish(struct node *node, const struct node_options *options)
{
	struct listener *listener = &node->listeners[LISTENER_PUBLISH];
	void *socket = listener->socket = node_sockets_open(node, ZMQ_XPUB, options);
	return socket && node_sockets_set_number(socket, ZMQ_XPUB_VERBOSER, 1) &&
	       node_sockets_set_number(socket, ZMQ_LINGER, node->linger_ms) &&
	       (!node->username || (node_sockets_set_number(socket, ZMQ_PLAIN_SERVER, 1) &&
					   node_sockets_set_text(socket, ZMQ_ZAP_DOMAIN, ACCESS_DOMAIN))) &&
	       node_sockets_open_listener(node, listener, socket);
}

static bool node_sockets_open_subscribe(struct node *node, const struct node_options *options)
{
	node->subscribe = node_sockets_open(node, ZMQ_SUB, options);
	return node->subscribe &&
	       (!node->username || (node_sockets_set_text(node->subscribe, ZMQ_PLAIN_USERNAME, node->username) &&
					   node_sockets_set_text(node->subscribe, ZMQ_PLAIN_PASSWORD, node->password)));
}

/* Requests come in and replies go out by one socket, which connects to the clients for that. */
static bool node_sockets_open_services(struct node *node, const struct node_options *options)
{
	struct listener *serve = &node->listeners[LISTENER_SERVE], *answers = &node->listeners[LISTENER_ANSWERS];
	serve->socket = node_sockets_open(node, ZMQ_ROUTER, options);
	answers->socket = node_sockets_open(node, ZMQ_ROUTER, options);
	node->request = node_sockets_open(node, ZMQ_ROUTER, options);
	return serve->socket && answers->socket && node->request &&
	       node_sockets_set_text(serve->socket, ZMQ_ROUTING_ID, node->serve_id) &&
	       node_sockets_set_number(serve->socket, ZMQ_ROUTER_MANDATORY, 1) &&
	       node_sockets_set_number(serve->socket, ZMQ_LINGER, node->linger_ms) &&
	       node_sockets_set_text(answers->socket, ZMQ_ROUTING_ID, node->answer_id) &&
	       node_sockets_set_number(node->request, ZMQ_ROUTER_MANDATORY, 1) &&
	       node_sockets_set_number(node->request, ZMQ_LINGER, node->linger_ms) &&
	       node_sockets_open_listener(node, serve, serve->socket) &&
	       node_sockets_open_listener(node, answers, answers->socket);
}

/* ZeroMQ asks there whether a subscriber may connect. */
static bool node_sockets_open_access(struct node *node)
{
	if (!node->username)
		return true;
	node->access = zmq_socket(node->zmq, ZMQ_REP);
	return node->access && node_sockets_set_number(node->access, ZMQ_LINGER, 0) &&
	       !zmq_bind(node->access, ACCESS_ENDPOINT);
}

troupe_status sockets_open(struct node *node, const struct node_options *options, struct troupe_error *error)
{
	struct troupe_error few;
	/* without room for its own files ZeroMQ ends the whole process */
	if (descriptors_expect(FILES_OF_ZEROMQ, &few))
		return fail(error, TROUPE_EIO, "gz-transport: %s", few.text);
	node->zmq = zmq_ctx_new();
	if (node->zmq && node_sockets_open_access(node) && node_sockets_open_publish(node, options) &&
		node_sockets_open_subscribe(node, options) && node_sockets_open_services(node, options))
		return TROUPE_OK;
	return fail(error, TROUPE_EIO, "gz-transport: no socket on address %u.%u.%u.%u: %s", node->address >> 24,
		node->address >> 16 & 255, node->address >> 8 & 255, node->address & 255, zmq_strerror(zmq_errno()));
}

static void node_sockets_close(void *socket)
{
	if (socket)
		zmq_close(socket);
}

/* Closes as far as opened. Ending the context waits for what lingers. */
void sockets_close(struct node *node)
{
	for (int i = 0; i < NODE_LISTENERS; i++) {
		node_sockets_close(node->listeners[i].socket);
		node_sockets_close(node->listeners[i].monitor);
		if (node->listeners[i].socket && node->listeners[i].reserve >= 0)
			(void)close(node->listeners[i].reserve);
	}
	node_sockets_close(node->subscribe);
	node_sockets_close(node->request);
	node_sockets_close(node->access);
	links_fini(&node->sources);
	links_fini(&node->clients);
	links_fini(&node->servers);
	if (node->zmq)
		while (zmq_ctx_term(node->zmq) && zmq_errno() == EINTR)
			;
}

/* --- connections of peers ----------------------------------------------------------------------------------------- */

/* Whether it is a connection that this listener has accepted. */
static bool node_sockets_is_of(const struct listener *listener, int file)
{
	struct sockaddr_in here;
	socklen_t bytes = sizeof here;
	const char *port = strrchr(listener->endpoint, ':');
	return port && !getsockname(file, (struct sockaddr *)&here, &bytes) && here.sin_family == AF_INET &&
	       ntohs(here.sin_port) == strtoul(port + 1, NULL, 10);
}

/* ZeroMQ reads the end of the connection then, and closes it. It may have closed it before, so that the number of the
 * descriptor belongs to something else by now: looked at and cut is one and the same file, a copy of the descriptor. */
static void node_sockets_cut(const struct listener *listener, int number)
{
	int file = fcntl(number, F_DUPFD_CLOEXEC, 0);
	if (file < 0)
		return;
	if (node_sockets_is_of(listener, file))
		(void)shutdown(file, SHUT_RDWR);
	(void)close(file);
}

/* No file is free. The file in reserve makes room for one connection at a time; another thread may take the room. */
static void node_sockets_shed(struct listener *listener)
{
	if (listener->reserve < 0)
		listener->reserve = eventfd(0, EFD_CLOEXEC);
	if (listener->file < 0 || listener->reserve < 0)
		return;
	(void)close(listener->reserve);
	for (int i = 0; i < NODE_SOCKETS_SHED_MAX; i++) {
		int file = accept4(listener->file, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (file < 0)
			break;
		(void)close(file);
	}
	listener->reserve = eventfd(0, EFD_CLOEXEC);
}

static void node_sockets_read_monitor(const struct node *node, struct listener *listener)
{
	bool failed = false;
	for (int i = 0; i < MONITOR_EVENTS_MAX; i++) {
		char event[6]; /* 16 bits: its kind; 32 bits: the descriptor; a second part has the address */
		uint16_t kind;
		int32_t number;
		char address[256];
		if (zmq_recv(listener->monitor, event, sizeof event, ZMQ_DONTWAIT) < 0)
			break;
		memcpy(&kind, event, sizeof kind);
		memcpy(&number, event + sizeof kind, sizeof number);
		(void)zmq_recv(listener->monitor, address, sizeof address, ZMQ_DONTWAIT);
		if (kind == ZMQ_EVENT_LISTENING)
			listener->file = number;
		else if (kind == ZMQ_EVENT_ACCEPT_FAILED)
			failed |= number == EMFILE || number == ENFILE;
		else if (kind != ZMQ_EVENT_ACCEPTED)
			listener->connections -= listener->connections > 0;
		else if (listener->connections++ >= node->connections_max)
			node_sockets_cut(listener, number);
	}
	if (failed)
		node_sockets_shed(listener);
}

void sockets_watch(struct node *node)
{
	for (int i = 0; i < NODE_LISTENERS; i++)
		node_sockets_read_monitor(node, &node->listeners[i]);
}

/* --- user name and password --------------------------------------------------------------------------------------- */

static bool node_sockets_is_secret(struct part part, const char *secret)
{
	unsigned char differs = part.count != strlen(secret);
	for (size_t i = 0; !differs && i < part.count; i++)
		differs |= (unsigned char)(part.at[i] ^ secret[i]);
	return !differs;
}

/* version | request | domain | address | identity | mechanism | user name | password */
static bool node_sockets_may_connect(const struct node *node, const struct parts *parts)
{
	return parts->count == 8 && parts->at[5].count == 5 && !memcmp(parts->at[5].at, "PLAIN", 5) &&
	       node_sockets_is_secret(parts->at[6], node->username) &&
	       node_sockets_is_secret(parts->at[7], node->password);
}

static struct part node_sockets_part_of(const char *text)
{
	return (struct part){text, strlen(text)};
}

void sockets_check_access(struct node *node)
{
	struct parts parts;
	while (node->access && parts_receive(&parts, node->access)) {
		bool good = node_sockets_may_connect(node, &parts);
		struct part answer[] = {node_sockets_part_of("1.0"),
			parts.count > 1 ? parts.at[1] : node_sockets_part_of(""),
			node_sockets_part_of(good ? "200" : "400"),
			node_sockets_part_of(good ? "OK" : "Invalid username or password"),
			node_sockets_part_of(good ? "anonymous" : ""), node_sockets_part_of("")};
		parts_send(node->access, answer, ARRAY_LEN(answer));
		parts_fini(&parts);
	}
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Parts beyond PARTS_MAX are read and dropped: the next message begins behind them. */
bool parts_receive(struct parts *parts, void *socket)
{
	int more = 1;
	parts->count = parts->room = 0;
	while (more) {
		zmq_msg_t rest, *message = parts->room < PARTS_MAX ? &parts->messages[parts->room] : &rest;
		zmq_msg_init(message);
		if (zmq_msg_recv(message, socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(message);
			parts_fini(parts);
			return false;
		}
		more = zmq_msg_more(message);
		if (message == &rest) {
			zmq_msg_close(&rest);
			parts->count = PARTS_MAX + 1;
			continue;
		}
		parts->at[parts->room++] = (struct part){zmq_msg_data(message), zmq_msg_size(message)};
		parts->count = parts->room;
	}
	return true;
}

void parts_fini(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->room; i++)
		zmq_msg_close(&parts->messages[i]);
	parts->room = 0;
}

bool parts_send(void *socket, const struct part *parts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (zmq_send(socket, parts[i].count ? parts[i].at : "", parts[i].count,
			    ZMQ_DONTWAIT | (i + 1 < count ? ZMQ_SNDMORE : 0)) < 0)
			return false;
	return true;
}

/* --- connections to peers ----------------------------------------------------------------------------------------- */

struct link *links_find(const struct links *links, const char *address)
{
	uint32_t index;
	return map_find(&links->index, address, &index) ? &links->at.at[index] : NULL;
}

struct link *links_connect(struct links *links, void *socket, const char *address, uint64_t now_ns)
{
	if (links->at.count == NODE_CONNECTIONS_MAX || zmq_connect(socket, address))
		return NULL;
	struct link link = {.address = mem_strdup(address), .connected_ns = now_ns, .used_ns = now_ns};
	map_add(&links->index, link.address, links->at.count);
	vec_push(&links->at, link);
	return &links->at.at[links->at.count - 1];
}

void links_disconnect(struct links *links, void *socket, const char *address)
{
	uint32_t index;
	if (!map_find(&links->index, address, &index))
		return;
	struct link gone = links->at.at[index], last = links->at.at[--links->at.count];
	(void)zmq_disconnect(socket, gone.address);
	map_remove(&links->index, gone.address);
	if (last.address != gone.address) {
		links->at.at[index] = last;
		map_remove(&links->index, last.address);
		map_add(&links->index, last.address, index);
	}
	free(gone.address);
}

void links_expire(struct links *links, void *socket, uint64_t now_ns, uint64_t idle_ns)
{
	for (uint32_t i = links->at.count; i > 0; i--)
		if (!links->at.at[i - 1].users && now_ns > links->at.at[i - 1].used_ns + idle_ns)
			links_disconnect(links, socket, links->at.at[i - 1].address);
}

void links_fini(struct links *links)
{
	for (uint32_t i = 0; i < links->at.count; i++)
		free(links->at.at[i].address);
	vec_free(&links->at);
	map_fini(&links->index);
}
