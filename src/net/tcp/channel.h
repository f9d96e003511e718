/* One connection: frames over TCP, or over TLS 1.3 with a pre-shared key when there is a key. Never blocks; the caller
 * passes the time. One thread at a time.
 *
 * Life: connecting and handshake, until channel_is_open(); then frames both ways. The first failure is final, and every
 * later call fails with the same text. Frames that the peer sent before it closed can still be received.
 *
 * Bounds: the handshake has a deadline. A frame's length is checked against the limit of its type, and against
 * channel_limit(), before anything is allocated. Memory grows with the bytes that have arrived, not with the announced
 * length. The bytes that wait to be written have a limit, so a peer that does not read causes an error, not memory
 * growth. Buffers are kept, so a warm exchange allocates nothing. */
#ifndef NET_TCP_CHANNEL_H
#define NET_TCP_CHANNEL_H

#include "base/text.h"
#include "net/address.h"
#include "net/frame.h"
#include "net/tcp/tls.h"

enum channel_role { CHANNEL_CLIENT, CHANNEL_SERVER };

struct channel_options {
	enum channel_role role;
	const struct key *key;   /* NULL: no encryption. Copied */
	struct tls_context *tls; /* made from the key, shared by channels; NULL: a new one */
	uint64_t handshake_ns;   /* limit for connecting and handshake; 0: five seconds */
	size_t queue_max;        /* bytes that may wait to be written; 0: two frames of the largest kind */
	const void *first;       /* bytes already read from the socket; copied */
	size_t first_count;
};

struct channel;

enum { CHANNEL_FIRST_MAX = TLS_FIRST_MAX };

/* Checks the first bytes from a client that has no channel yet; a channel costs more than this check. EPROTOCOL says
 * what is wrong with the bytes. *ret_whole: there are enough bytes for a channel to tell whether they are a hello. At
 * most CHANNEL_FIRST_MAX bytes are needed. */
troupe_status channel_first(
	const void *bytes, size_t count, bool with_key, bool *ret_whole, struct troupe_error *error);

/* fd: a connected or connecting stream socket. On success the channel owns fd and has made it non-blocking; on failure
 * the caller owns it. peer: the name of the peer in error texts ("10.0.0.3:4711"); copied. */
troupe_status channel_create(int fd, const char *peer, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error);
/* Begins to connect; a failure to connect shows later, in channel_work(). */
troupe_status channel_connect(const struct address *address, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error);
/* Nothing more will be sent or received: waiting bytes are written, then the peer is told that this is the end, and
 * bytes that still arrive are thrown away. Call channel_work() until it fails (the peer has closed, too) or until a
 * timeout of the caller: if the channel is destroyed earlier, the last bytes sent might not arrive. */
void channel_finish(struct channel *channel);
/* Closes at once; bytes that wait to be written are lost. NULL is fine. */
void channel_destroy(struct channel *channel);

const char *channel_peer(const struct channel *channel);
/* The name of the peer in error texts from now on; "": no name, because the caller that passes the error on adds the
 * name. */
void channel_set_peer(struct channel *channel, const char *peer);
int channel_fd(const struct channel *channel);
/* The bytes so far are counted no more. */
void channel_forget_counts(struct channel *channel);
/* The events to poll() channel_fd() for. */
short channel_poll_events(const struct channel *channel);
/* Connected, and the handshake is done. */
bool channel_is_open(const struct channel *channel);

/* Does all that is possible without blocking: connects, shakes hands, writes waiting bytes, reads what has arrived, but
 * at most about a megabyte a call unless a frame is larger. Call it when poll() says so, at the deadline, or at any
 * other time (one system call when there is nothing to do). EPEER: the peer cannot be reached, closed, broke off, or
 * was too slow; EPROTOCOL: the peer does not speak our protocol, or has no key or another key. */
troupe_status channel_work(struct channel *channel, uint64_t now_ns, struct troupe_error *error);

/* The next whole frame that has been read, if any. *ret_bytes is valid until the next channel_work() or
 * channel_receive(). Does no I/O. False with *ret_status EPROTOCOL and error filled: the header of the frame is
 * refused. */
bool channel_receive(struct channel *channel, enum frame_type *ret_type, const char **ret_bytes, size_t *ret_count,
	troupe_status *ret_status, struct troupe_error *error);
/* Whether channel_receive() would give a whole frame, and the type of that frame. Errors are reported by
 * channel_receive(). */
bool channel_peek(const struct channel *channel, enum frame_type *ret_type);
/* Sets the largest payload; larger frames are refused, whatever their type. At first it is the limit of a hello, so
 * that an unknown peer cannot send more than a hello. */
void channel_limit(struct channel *channel, uint32_t payload_bytes);

/* Sends a frame, and queues the bytes that cannot be sent at once; before the channel is open all bytes are queued.
 * ELIMIT: too many bytes wait already, or the payload is above the limit of its type; then no byte of it was sent.
 * Other errors as channel_work(). */
troupe_status channel_send(
	struct channel *channel, enum frame_type type, const void *bytes, size_t count, struct troupe_error *error);
/* The same without a copy: begin gives a text, the caller appends the payload to it, and end sends it. Between begin
 * and end the caller does nothing else with the text and does not use the channel. */
struct text *channel_begin(struct channel *channel);
troupe_status channel_end(struct channel *channel, enum frame_type type, struct troupe_error *error);
/* Bytes that wait to be written. */
size_t channel_pending(const struct channel *channel);

/* Bytes on the wire so far, including handshake and TLS. */
uint64_t channel_bytes_sent(const struct channel *channel);
uint64_t channel_bytes_received(const struct channel *channel);

#endif
