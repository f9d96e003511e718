/* A TCP connection between two sockets of one process needs a port that listens for a moment, and any program of this
 * machine can connect to that port. So an accepted connection is kept only if its peer has the address and port of our
 * own connecting socket; any other connection is closed. */
#include "net/tcp/socket_pair.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int socket_pair_listen_anywhere(struct sockaddr_in *ret_at)
{
	socklen_t bytes = sizeof *ret_at;
	int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	*ret_at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	if (file >= 0 && !bind(file, (struct sockaddr *)ret_at, sizeof *ret_at) && !listen(file, 8) &&
		!getsockname(file, (struct sockaddr *)ret_at, &bytes))
		return file;
	if (file >= 0)
		(void)close(file);
	return -1;
}

/* Another program may connect first. Our own connection is the one whose peer address is that of our socket. */
static int socket_pair_accept_from(int listener, const struct sockaddr_in *from)
{
	for (;;) {
		struct sockaddr_in peer;
		socklen_t bytes = sizeof peer;
		int file = accept4(listener, (struct sockaddr *)&peer, &bytes, SOCK_CLOEXEC);
		if (file < 0 && errno == EINTR)
			continue;
		if (file < 0 || (peer.sin_port == from->sin_port && peer.sin_addr.s_addr == from->sin_addr.s_addr))
			return file;
		(void)close(file);
	}
}

static bool socket_pair_connect_to(int listener, const struct sockaddr_in *at, int ret_files[2])
{
	struct sockaddr_in own;
	socklen_t bytes = sizeof own;
	int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (file < 0)
		return false;
	if (!connect(file, (const struct sockaddr *)at, sizeof *at) &&
		!getsockname(file, (struct sockaddr *)&own, &bytes)) {
		ret_files[0] = socket_pair_accept_from(listener, &own);
		ret_files[1] = file;
		if (ret_files[0] >= 0)
			return true;
	}
	int code = errno;
	(void)close(file);
	errno = code;
	return false;
}

troupe_status socket_pair_create(int ret_files[2], struct troupe_error *error)
{
	struct sockaddr_in at;
	int listener = socket_pair_listen_anywhere(&at), files[2];
	bool good = listener >= 0 && socket_pair_connect_to(listener, &at, files);
	int code = errno;
	if (listener >= 0)
		(void)close(listener);
	if (!good)
		return fail(error, TROUPE_EIO, "cannot connect this machine with itself: %s", strerror(code));
	for (int i = 0; i < 2; i++)
		(void)setsockopt(files[i], IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	memcpy(ret_files, files, sizeof files);
	return TROUPE_OK;
}
