/* The bytes of a connection, with or without TLS. Never blocks. */
#ifndef GATEWAY_WEB_STREAM_H
#define GATEWAY_WEB_STREAM_H

#include "base/base.h"

struct tls;
struct tls_context;

struct stream { /* of a connected socket that does not block */
	int file;
	struct tls *tls;  /* NULL: none */
	bool shaking;     /* the handshake of TLS is not over */
	bool wants_write; /* nothing goes on before the socket takes bytes */
};

enum stream_result {
	STREAM_MOVED,
	STREAM_WAITS, /* nothing can be moved now */
	STREAM_GONE,  /* the peer has closed, or the connection broke */
};

/* Owns the file from now on. context: NULL: no TLS. */
void stream_init(struct stream *stream, int file, struct tls_context *context);
/* Closes. Twice is fine. */
void stream_fini(struct stream *stream);
enum stream_result stream_read(struct stream *stream, void *ret_bytes, size_t room, size_t *ret_count);
enum stream_result stream_write(struct stream *stream, const void *bytes, size_t count, size_t *ret_count);
/* Tells the peer that nothing more comes. */
void stream_end(struct stream *stream);

#endif
