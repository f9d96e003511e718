/* TLS reads when it has to write, and the other way round: stream->wants_write says for what to wait. */
#include "gateway/web/stream.h"

#include "net/tcp/tls.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void stream_init(struct stream *stream, int file, struct tls_context *context)
{
	*stream = (struct stream){.file = file, .shaking = context};
	if (context)
		stream->tls = tls_create(context, file, true);
}

void stream_fini(struct stream *stream)
{
	tls_destroy(stream->tls);
	if (stream->file >= 0)
		(void)close(stream->file);
	*stream = (struct stream){.file = -1};
}

static enum stream_result stream_result_of(struct stream *stream, enum tls_result result)
{
	stream->wants_write = result == TLS_WANT_WRITE;
	return result == TLS_MOVED                                   ? STREAM_MOVED
	       : result == TLS_WANT_READ || result == TLS_WANT_WRITE ? STREAM_WAITS
								     : STREAM_GONE;
}

static enum stream_result stream_shake(struct stream *stream)
{
	if (!stream->shaking)
		return STREAM_MOVED;
	enum stream_result result = stream_result_of(stream, tls_handshake(stream->tls));
	stream->shaking = result != STREAM_MOVED;
	return result;
}

static enum stream_result stream_moved(ssize_t count, size_t *ret_count)
{
	if (count < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? STREAM_WAITS : STREAM_GONE;
	*ret_count = (size_t)count;
	return STREAM_MOVED;
}

enum stream_result stream_read(struct stream *stream, void *ret_bytes, size_t room, size_t *ret_count)
{
	if (stream->tls) {
		tls_look_again(stream->tls);
		enum stream_result result = stream_shake(stream);
		if (result == STREAM_MOVED)
			result = stream_result_of(stream, tls_read(stream->tls, ret_bytes, room, ret_count));
		return result;
	}
	ssize_t count = recv(stream->file, ret_bytes, room, MSG_DONTWAIT);
	return count ? stream_moved(count, ret_count) : STREAM_GONE;
}

enum stream_result stream_write(struct stream *stream, const void *bytes, size_t count, size_t *ret_count)
{
	if (!stream->tls)
		return stream_moved(send(stream->file, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT), ret_count);
	enum stream_result result = stream_shake(stream);
	if (result == STREAM_MOVED)
		result = stream_result_of(stream, tls_write(stream->tls, bytes, count, ret_count));
	return result;
}

void stream_end(struct stream *stream)
{
	if (stream->tls)
		tls_say_goodbye(stream->tls);
	(void)shutdown(stream->file, SHUT_WR);
}
