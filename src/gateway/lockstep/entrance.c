/* The entrance's thread has the connections whose clients have not joined, and closes connections that are over. A
 * connection that does not join in time is closed, so that idle ones cannot use up the places. When no file is free for
 * a connection, the listening socket stays readable; then nothing is accepted for a while, or the thread would try
 * again all the time. */
#include "gateway/lockstep/entrance.h"

#include "base/clock.h"
#include "base/host_port.h"
#include "gateway/lockstep/visitor.h"
#include "gateway/web/place.h"

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
enum { ENTRANCE_LOOK_MS = 500, ENTRANCE_BACKLOG = 64, FIXED = 3, ENTRANCE_PAUSE_MS = 100 };

struct entrance {
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
	VEC(struct visitor *) waiting, joined;
	struct pollfd polled[FIXED + ENTRANCE_WAITING_MAX];
};

static void entrance_wake(void *ctx)
{
	const struct entrance *entrance = ctx;
	uint64_t one = 1;
	(void)!write(entrance->woken, &one, sizeof one);
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

static void entrance_take_in(struct entrance *entrance, int socket)
{
	int file = accept4(socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK), on = 1;
	if (file < 0 && errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		entrance->pause_until_ns = clock_now_ns() + ENTRANCE_PAUSE_MS * UINT64_C(1000000);
	if (file < 0)
		return;
	if (entrance->waiting.count == ENTRANCE_WAITING_MAX) {
		close(file);
		return;
	}
	if (socket == entrance->tcp)
		(void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	vec_push(&entrance->waiting, visitor_create(entrance->server, file, clock_now_ns(), entrance_wake, entrance));
}

static void entrance_hear(struct entrance *entrance)
{
	uint64_t now = clock_now_ns();
	uint32_t kept = 0;
	for (uint32_t i = 0; i < entrance->waiting.count; i++) {
		struct visitor *visitor = entrance->waiting.at[i];
		switch (visitor_hear(visitor)) {
		case VISITOR_JOINED:
			vec_push(&entrance->joined, visitor);
			continue;
		case VISITOR_WAITS:
			if (now - visitor_since_ns(visitor) < JOIN_WITHIN_NS) {
				entrance->waiting.at[kept++] = visitor;
				continue;
			}
			break;
		default:
			break;
		}
		visitor_destroy(visitor, false, NULL);
	}
	entrance->waiting.count = kept;
}

static void entrance_reap(struct entrance *entrance)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < entrance->joined.count; i++) {
		struct visitor *visitor = entrance->joined.at[i];
		if (visitor_is_over(visitor))
			visitor_destroy(visitor, false, NULL);
		else
			entrance->joined.at[kept++] = visitor;
	}
	entrance->joined.count = kept;
}

static void *entrance_work(void *arg)
{
	struct entrance *entrance = arg;
	struct pollfd *polled = entrance->polled;
	uint64_t rung;
	while (!atomic_load(&entrance->stop)) {
		bool pauses = clock_now_ns() < entrance->pause_until_ns;
		polled[0] = (struct pollfd){entrance->woken, POLLIN, 0};
		polled[1] = (struct pollfd){pauses ? -1 : entrance->local, POLLIN, 0}; /* -1 is left out by poll() */
		polled[2] = (struct pollfd){pauses ? -1 : entrance->tcp, POLLIN, 0};
		for (uint32_t i = 0; i < entrance->waiting.count; i++)
			polled[FIXED + i] = (struct pollfd){visitor_file(entrance->waiting.at[i]), POLLIN, 0};
		(void)poll(polled, FIXED + entrance->waiting.count, pauses ? ENTRANCE_PAUSE_MS : ENTRANCE_LOOK_MS);
		if (polled[0].revents)
			(void)!read(entrance->woken, &rung, sizeof rung);
		entrance_reap(entrance);
		entrance_hear(entrance);
		if (polled[1].revents)
			entrance_take_in(entrance, entrance->local);
		if (polled[2].revents)
			entrance_take_in(entrance, entrance->tcp);
	}
	return NULL;
}

/* --- listening ---------------------------------------------------------------------------------------------------- */

/* A socket that a run left behind is removed; one where a run listens is not. */
static bool entrance_is_left_behind(const struct sockaddr_un *name)
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

static troupe_status entrance_listen_locally(struct entrance *entrance, const char *path, struct troupe_error *error)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	if (!*path || strlen(path) >= sizeof name.sun_path)
		return fail(error, TROUPE_EINVAL, "--lockstep-socket: '%.120s': expected a path of 1 to %zu bytes",
			path, sizeof name.sun_path - 1);
	strcpy(name.sun_path, path);
	if (entrance_is_left_behind(&name))
		(void)unlink(path);
	entrance->local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (entrance->local < 0 || bind(entrance->local, (const struct sockaddr *)&name, sizeof name))
		return fail(error, TROUPE_EIO, "--lockstep-socket: '%.120s': %s", path, strerror(errno));
	entrance->path = mem_strdup(path);
	if (chmod(path, S_IRUSR | S_IWUSR) || listen(entrance->local, ENTRANCE_BACKLOG))
		return fail(error, TROUPE_EIO, "--lockstep-socket: '%.120s': %s", path, strerror(errno));
	return TROUPE_OK;
}

static troupe_status entrance_read_address(
	const struct entrance_options *options, struct web_place *ret_place, struct troupe_error *error)
{
	struct host_port parts;
	struct troupe_error why;
	if (!host_port_read(options->address, &parts) || !parts.has_port)
		return fail(error, TROUPE_EINVAL, "--lockstep-listen: '%.100s': expected " HOST_PORT_FORMS,
			options->address);
	if (place_parse(*parts.host ? parts.host : NULL, parts.port, ret_place, &why))
		return fail(error, TROUPE_EINVAL, "--lockstep-listen: %s", why.text);
	if (!place_is_local(ret_place) && !options->insecure)
		return fail(error, TROUPE_EINVAL,
			"--lockstep-listen: '%.100s' is not this machine's loopback: any program that reaches it could "
			"command "
			"everything; expected 127.0.0.1, or --lockstep-insecure",
			options->address);
	return TROUPE_OK;
}

static troupe_status entrance_listen_tcp(
	struct entrance *entrance, const struct entrance_options *options, struct troupe_error *error)
{
	struct web_place place;
	int on = 1;
	char name[PLACE_TEXT_BYTES];
	troupe_status status = entrance_read_address(options, &place, error);
	if (status)
		return status;
	entrance->tcp = socket(place.raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (entrance->tcp >= 0)
		(void)setsockopt(entrance->tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	struct sockaddr *raw = (struct sockaddr *)(void *)&place.raw;
	if (entrance->tcp < 0 || bind(entrance->tcp, raw, place.raw_bytes) || listen(entrance->tcp, ENTRANCE_BACKLOG) ||
		getsockname(entrance->tcp, raw, &place.raw_bytes))
		return fail(error, TROUPE_EIO, "--lockstep-listen: '%.100s': cannot listen: %s", options->address,
			strerror(errno));
	place_text(&place, name);
	text_add(&entrance->address, "%s", name);
	return TROUPE_OK;
}

static troupe_status entrance_start(struct entrance *entrance, struct troupe_error *error)
{
	entrance->woken = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (entrance->woken < 0)
		return fail(error, TROUPE_EIO, "lockstep socket: no event file: %s", strerror(errno));
	int failed = pthread_create(&entrance->thread, NULL, entrance_work, entrance);
	mem_check_thread(failed);
	entrance->started = !failed;
	return failed ? fail(error, TROUPE_ELIMIT, "lockstep socket: cannot start a thread: %s", strerror(failed))
		      : TROUPE_OK;
}

troupe_status entrance_create(struct troupe_server *server, const struct entrance_options *options,
	struct entrance **ret_entrance, struct troupe_error *error)
{
	struct entrance *entrance = mem_alloc(sizeof *entrance);
	troupe_status status = TROUPE_OK;
	entrance->server = server;
	entrance->local = entrance->tcp = entrance->woken = -1;
	if (options->path)
		status = entrance_listen_locally(entrance, options->path, error);
	if (!status && options->address)
		status = entrance_listen_tcp(entrance, options, error);
	if (!status)
		status = entrance_start(entrance, error);
	if (status)
		entrance_destroy(entrance, true, "");
	else
		*ret_entrance = entrance;
	return status;
}

void entrance_destroy(struct entrance *entrance, bool failed, const char *why)
{
	if (!entrance)
		return;
	atomic_store(&entrance->stop, true);
	if (entrance->started) {
		entrance_wake(entrance);
		pthread_join(entrance->thread, NULL);
	}
	for (uint32_t i = 0; i < entrance->waiting.count; i++)
		visitor_destroy(entrance->waiting.at[i], failed, why);
	for (uint32_t i = 0; i < entrance->joined.count; i++)
		visitor_destroy(entrance->joined.at[i], failed, why);
	vec_free(&entrance->waiting);
	vec_free(&entrance->joined);
	if (entrance->path)
		(void)unlink(entrance->path);
	free(entrance->path);
	for (const int *file = (const int[]){entrance->local, entrance->tcp, entrance->woken, -2}; *file != -2; file++)
		if (*file >= 0)
			close(*file);
	text_fini(&entrance->address);
	free(entrance);
}

const char *entrance_address(const struct entrance *entrance)
{
	return entrance->address.at;
}

void entrance_describe(const struct entrance *entrance, struct text *out)
{
	if (entrance->path)
		text_add(out, "%s", entrance->path);
	if (entrance->address.count)
		text_add(out, "%s%s", entrance->path ? " and " : "", entrance->address.at);
}
