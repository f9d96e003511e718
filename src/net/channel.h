/* One connection: frames over TCP, over TLS 1.3 with a pre-shared key when there is a key. Never blocks; time is given
 * by the caller. One thread at a time.
 *
 * Life: connecting and shaking hands, until channel_is_open(); then frames both ways; the first failure is final, and
 * every call after it fails with the same text. What the peer sent before it closed can still be received.
 *
 * Bounds: the handshake has a deadline; a frame's length is checked against its type's limit, and against
 * channel_limit(), before anything is allocated, and memory grows with what has arrived, not with what is promised;
 * what waits to be written has a limit, so a peer that does not read is an error, not memory. Buffers are kept, so
 * that a warm exchange allocates nothing. */
#ifndef NET_CHANNEL_H
#define NET_CHANNEL_H

#include "base/text.h"
#include "net/address.h"
#include "net/frame.h"
#include "net/tls.h"

enum channel_role { CHANNEL_CLIENT, CHANNEL_SERVER };

struct channel_options {
	enum channel_role role;
	const struct key *key;   /* NULL: in the clear. Copied */
	struct tls_context *tls; /* made of the key, for channels that share it; NULL: of its own */
	uint64_t handshake_ns;   /* how long connecting and handshake may take; 0: five seconds */
	size_t queue_max;        /* bytes that may wait to be written; 0: two frames of the largest kind */
	const void *first;       /* what has been read from the socket already; copied */
	size_t first_count;
};

struct channel;

enum { CHANNEL_FIRST_MAX = TLS_FIRST_MAX };

/* What somebody who connects to a server has sent first, while it has no channel yet, which costs more than this:
 * EPROTOCOL says what is wrong with it; *ret_whole: a channel can tell whether it is a hello. At most CHANNEL_FIRST_MAX
 * bytes are needed. */
troupe_status channel_first(
	const void *bytes, size_t count, bool with_key, bool *ret_whole, struct troupe_error *error);

/* On success the channel owns fd, a connected or connecting stream socket, and has made it non-blocking; on failure the
 * caller does. peer: what errors call it ("10.0.0.3:4711"); copied. */
troupe_status channel_create(int fd, const char *peer, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error);
/* Begins to connect; whether it works shows later. */
troupe_status channel_connect(const struct address *address, const struct channel_options *options, uint64_t now_ns,
	struct channel **ret_channel, struct troupe_error *error);
/* Nothing more will be sent or received: what waits goes out, then the peer is told that this is the end, and whatever
 * still comes is thrown away. To be worked on until channel_work() fails (the peer has closed, too) or one has waited
 * long enough: closed before, what was sent last might not arrive. */
void channel_finish(struct channel *channel);
/* Closes at once; what waits to be written is lost. NULL is fine. */
void channel_destroy(struct channel *channel);

const char *channel_peer(const struct channel *channel);
/* What errors call it from now on; "": nothing, since who hands them on says who it is. */
void channel_set_peer(struct channel *channel, const char *peer);
int channel_fd(const struct channel *channel);
/* What to poll() channel_fd() for. */
short channel_poll_events(const struct channel *channel);
/* When channel_work() must be called even if nothing happens; UINT64_MAX: need not be. */
uint64_t channel_deadline_ns(const struct channel *channel);
/* Connected, and the handshake is done. */
bool channel_is_open(const struct channel *channel);

/* Goes on as far as it can without blocking: connects, shakes hands, writes what waits, reads what is there, of that at
 * most about a megabyte a call unless a frame is larger. Call it when poll() says so, at the deadline, or as often as
 * one likes (one system call when there is nothing). EPEER: it cannot be reached, closed, broke off, or was too slow;
 * EPROTOCOL: what it sends is not ours (no key, another key, not our protocol). */
troupe_status channel_work(struct channel *channel, uint64_t now_ns, struct troupe_error *error);

/* The next whole frame that has been read, if any. *ret_bytes is valid until the next channel_work() or
 * channel_receive(). Does no I/O. False with *ret_status EPROTOCOL and error filled: its header is refused. */
bool channel_receive(struct channel *channel, enum frame_type *ret_type, const char **ret_bytes, size_t *ret_count,
	troupe_status *ret_status, struct troupe_error *error);
/* Whether a whole frame is there, which channel_receive() would give, and its type; errors are for that to report. */
bool channel_peek(const struct channel *channel, enum frame_type *ret_type);
/* Frames larger than this are refused, whatever their type; to begin with a hello's limit, so that a stranger cannot
 * send more than a hello. */
void channel_limit(struct channel *channel, uint32_t payload_bytes);

/* Sends a frame, or queues what cannot be sent at once; before the channel is open all of it. ELIMIT: too much waits
 * already, or the payload is above its type's limit; then nothing was sent of it. Other errors as channel_work(). */
troupe_status channel_send(
	struct channel *channel, enum frame_type type, const void *bytes, size_t count, struct troupe_error *error);
/* The same without a copy: begin gives the text to which the payload is to be added (nothing else may be done with it,
 * nor with the channel until end), end sends it. */
struct text *channel_begin(struct channel *channel);
troupe_status channel_end(struct channel *channel, enum frame_type type, struct troupe_error *error);
/* Bytes that wait to be written. */
size_t channel_pending(const struct channel *channel);

/* Bytes so far, on the wire: handshake and TLS included. */
uint64_t channel_bytes_sent(const struct channel *channel);
uint64_t channel_bytes_received(const struct channel *channel);

#endif
