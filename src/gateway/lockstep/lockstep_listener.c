/* The listener's thread has the connections whose clients have not joined, and closes connections that are over. A
 * connection that does not join in time is closed, so that idle ones cannot use up the places. When no file is free for
 * a connection, the listening socket stays readable; then nothing is accepted for a while, or the thread would try
 * again all the time. */
#include "gateway/lockstep/lockstep_listener.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "gateway/lockstep/lockstep_connection.h"
#include "net/address.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define JOIN_WITHIN_NS UINT64_C(5000000000)
enum { LOCKSTEP_LISTENER_LOOK_MS = 500, LOCKSTEP_LISTENER_BACKLOG = 64, FIXED = 3, LOCKSTEP_LISTENER_PAUSE_MS = 100 };

struct lockstep_listener {
	struct troupe_server *server;
	char *path;          /* of the local socket, once it is there */
	int local, tcp;      /* -1: none */
	struct text address; /* of the TCP socket */
	int woken;           /* event file */
	pthread_t thread;
	bool started;
	_Atomic bool stop;
	/* the thread's */
	uint64_t pause_until_ns; /* before that nothing is accepted */
	VEC(struct lockstep_connection *) waiting, joined;
	struct pollfd polled[FIXED + LOCKSTEP_LISTENER_WAITING_MAX];
};

static void lockstep_listener_wake(void *ctx)
{
	const struct lockstep_listener *listener = ctx;
	uint64_t one = 1;
	(void)!write(listener->woken, &one, sizeof one);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void lockstep_listener_take_in(struct lockstep_listener *listener, int socket)
{
	int file = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
	if (file < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		listener->pause_until_ns = clock_now_ns() + LOCKSTEP_LISTENER_PAUSE_MS * UINT64_C(1000000);
	if (file < 0)
		return;
	if (listener->waiting.count == LOCKSTEP_LISTENER_WAITING_MAX) {
		close(file);
		return;
	}
	if (socket == listener->tcp)
		(void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	vec_push(&listener->waiting,
		lockstep_connection_create(listener->server, file, clock_now_ns(), lockstep_listener_wake, listener));
}

static void lockstep_listener_hear(struct lockstep_listener *listener)
{
	uint64_t now = clock_now_ns();
	uint32_t kept = 0;
	for (uint32_t i = 0; i < listener->waiting.count; i++) {
		struct lockstep_connection *connection = listener->waiting.at[i];
		switch (lockstep_connection_hear(connection)) {
		case LOCKSTEP_CONNECTION_JOINED:
			vec_push(&listener->joined, connection);
			continue;
		case LOCKSTEP_CONNECTION_WAITS:
			if (now - lockstep_connection_since_ns(connection) < JOIN_WITHIN_NS) {
				listener->waiting.at[kept++] = connection;
				continue;
			}
			break;
		default:
			break;
		}
		lockstep_connection_destroy(connection, false, NULL);
	}
	listener->waiting.count = kept;
}

static void lockstep_listener_reap(struct lockstep_listener *listener)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < listener->joined.count; i++) {
		struct lockstep_connection *connection = listener->joined.at[i];
		if (lockstep_connection_is_over(connection))
			lockstep_connection_destroy(connection, false, NULL);
		else
			listener->joined.at[kept++] = connection;
	}
	listener->joined.count = kept;
}

static void *lockstep_listener_work(void *arg)
{
	struct lockstep_listener *listener = arg;
	struct pollfd *polled = listener->polled;
	uint64_t rung;
	while (!atomic_load(&listener->stop)) {
		bool pauses = clock_now_ns() < listener->pause_until_ns;
		polled[0] = (struct pollfd){listener->woken, POLLIN, 0};
		polled[1] = (struct pollfd){pauses ? -1 : listener->local, POLLIN, 0}; /* -1 is left out by poll() */
		polled[2] = (struct pollfd){pauses ? -1 : listener->tcp, POLLIN, 0};
		for (uint32_t i = 0; i < listener->waiting.count; i++)
			polled[FIXED + i] =
				(struct pollfd){lockstep_connection_file(listener->waiting.at[i]), POLLIN, 0};
		(void)poll(polled, FIXED + listener->waiting.count,
			pauses ? LOCKSTEP_LISTENER_PAUSE_MS : LOCKSTEP_LISTENER_LOOK_MS);
		if (polled[0].revents)
			(void)!read(listener->woken, &rung, sizeof rung);
		lockstep_listener_reap(listener);
		lockstep_listener_hear(listener);
		if (polled[1].revents)
			lockstep_listener_take_in(listener, listener->local);
		if (polled[2].revents)
			lockstep_listener_take_in(listener, listener->tcp);
	}
	return NULL;
}

/* --- listening ---------------------------------------------------------------------------------------------------- */

/* A socket that a run left behind is removed; one where a run listens is not. */
static bool lockstep_listener_is_left_behind(const struct sockaddr_un *name)
{
	struct stat info;
	if (lstat(name->sun_path, &info) || !S_ISSOCK(info.st_mode))
		return false;
	int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused = file >= 0 && connect(file, (const struct sockaddr *)name, sizeof *name) && errno == ECONNREFUSED;
	if (file >= 0)
		close(file);
	return refused;
}

static troupe_status lockstep_listener_listen_locally(
	struct lockstep_listener *listener, const char *path, struct troupe_error *error)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof name.sun_path)
		return fail(error, TROUPE_EINVAL, "--lockstep-socket: '%.120s': expected a path of 1 to %zu bytes",
			path, sizeof name.sun_path - 1);
	strcpy(name.sun_path, path);
	if (lockstep_listener_is_left_behind(&name))
		(void)unlink(path);
	listener->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->local < 0 || bind(listener->local, (const struct sockaddr *)&name, sizeof name))
		return fail(error, TROUPE_EIO, "--lockstep-socket: '%.120s': %s", path, strerror(errno));
	listener->path = mem_strdup(path);
	if (chmod(path, S_IRUSR | S_IWUSR) || listen(listener->local, LOCKSTEP_LISTENER_BACKLOG))
		return fail(error, TROUPE_EIO, "--lockstep-socket: '%.120s': %s", path, strerror(errno));
	return TROUPE_OK;
}

static troupe_status lockstep_listener_read_address(
	const struct lockstep_listener_options *options, struct address *ret_address, struct troupe_error *error)
{
	struct host_port parts;
	struct troupe_error why;
	if (!host_port_read(options->address, &parts) || !parts.has_port)
		return fail(error, TROUPE_EINVAL, "--lockstep-listen: '%.100s': expected " HOST_PORT_FORMS,
			options->address);
	if (address_parse_local(*parts.host ? parts.host : NULL, parts.port, ret_address, &why))
		return fail(error, TROUPE_EINVAL, "--lockstep-listen: %s", why.text);
	if (!address_is_loopback(ret_address) && !options->insecure)
		return fail(error, TROUPE_EINVAL,
			"--lockstep-listen: '%.100s' is not this machine's loopback: any program that reaches it could "
			"command "
			"everything; expected 127.0.0.1, or --lockstep-insecure",
			options->address);
	return TROUPE_OK;
}

static troupe_status lockstep_listener_listen_tcp(
	struct lockstep_listener *listener, const struct lockstep_listener_options *options, struct troupe_error *error)
{
	struct address address;
	char name[ADDRESS_TEXT_BYTES];
	troupe_status status = lockstep_listener_read_address(options, &address, error);
	if (status)
		return status;
	listener->tcp = address_listen(&address, LOCKSTEP_LISTENER_BACKLOG);
	if (listener->tcp < 0)
		return fail(error, TROUPE_EIO, "--lockstep-listen: '%.100s': cannot listen: %s", options->address,
			strerror(errno));
	address_text(&address, name);
	text_add(&listener->address, "%s", name);
	return TROUPE_OK;
}

static troupe_status lockstep_listener_start(struct lockstep_listener *listener, struct troupe_error *error)
{
	listener->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (listener->woken < 0)
		return fail(error, TROUPE_EIO, "lockstep socket: no event file: %s", strerror(errno));
	int failed = pthread_create(&listener->thread, NULL, lockstep_listener_work, listener);
	mem_check_thread(failed);
	listener->started = !failed;
	return failed ? fail(error, TROUPE_ELIMIT, "lockstep socket: cannot start a thread: %s", strerror(failed))
		      : TROUPE_OK;
}

troupe_status lockstep_listener_create(struct troupe_server *server, const struct lockstep_listener_options *options,
	struct lockstep_listener **ret_listener, struct troupe_error *error)
{
	struct lockstep_listener *listener = mem_alloc(sizeof *listener);
	troupe_status status = TROUPE_OK;
	listener->server = server;
	listener->local = listener->tcp = listener->woken = -1;
	if (options->path)
		status = lockstep_listener_listen_locally(listener, options->path, error);
	if (!status && options->address)
		status = lockstep_listener_listen_tcp(listener, options, error);
	if (!status)
		status = lockstep_listener_start(listener, error);
	if (status)
		lockstep_listener_destroy(listener, true, "");
	else
		*ret_listener = listener;
	return status;
}

void lockstep_listener_destroy(struct lockstep_listener *listener, bool failed, const char *why)
{
	if (!listener)
		return;
	atomic_store(&listener->stop, true);
	if (listener->started) {
		lockstep_listener_wake(listener);
		pthread_join(listener->thread, NULL);
	}
	for (uint32_t i = 0; i < listener->waiting.count; i++)
		lockstep_connection_destroy(listener->waiting.at[i], failed, why);
	for (uint32_t i = 0; i < listener->joined.count; i++)
		lockstep_connection_destroy(listener->joined.at[i], failed, why);
	vec_free(&listener->waiting);
	vec_free(&listener->joined);
	if (listener->path)
		(void)unlink(listener->path);
	free(listener->path);
	for (const int *file = (const int[]){listener->local, listener->tcp, listener->woken, -2}; *file != -2; file++)
		if (*file >= 0)
			close(*file);
	text_fini(&listener->address);
	free(listener);
}

const char *lockstep_listener_address(const struct lockstep_listener *listener)
{
	return listener->address.at;
}

void lockstep_listener_describe(const struct lockstep_listener *listener, struct text *out)
{
	if (listener->path)
		text_add(out, "%s", listener->path);
	if (listener->address.count)
		text_add(out, "%s%s", listener->path ? " and " : "", listener->address.at);
}
