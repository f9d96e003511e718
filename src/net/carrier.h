/* Moves frames between this process and its peers: what the end of a remote transport (net/end.h) needs of a back end.
 * A carrier has a line for each peer, from 0: at the primary's end one for each secondary in their order, at a
 * secondary's end one. It does not look into payloads.
 *
 * Thread: one call at a time, under a lock of the caller; except that wake() may be called by any thread at any time,
 * and wait() by one thread beside all other calls. Only wait() and finish() block. A warm exchange allocates nothing.
 */
#ifndef NET_CARRIER_H
#define NET_CARRIER_H

#include "net/frame.h"
#include "net/transport.h"

struct carrier;

struct carrier_ops {
	/* Sends what waits, and takes what has come, as far as possible without blocking. TROUPE_EPEER or
	 * TROUPE_EPROTOCOL: the line is broken, for good; frames that came before can still be received. error does not
	 * name the peer. */
	troupe_status (*work)(struct carrier *carrier, uint32_t line, struct troupe_error *error);
	/* Bytes that have come on the line so far, also those of a frame that is not whole yet. */
	uint64_t (*received)(const struct carrier *carrier, uint32_t line);
	/* The next whole frame. *ret_bytes is valid until the next work() or receive() of that line. False with
	 * *ret_status TROUPE_EPROTOCOL and error filled: what came is no frame. */
	bool (*receive)(struct carrier *carrier, uint32_t line, enum frame_type *ret_type, const char **ret_bytes,
		size_t *ret_count, troupe_status *ret_status, struct troupe_error *error);
	/* Sends a frame without a copy: begin() gives a text, the caller appends the payload to it, and end() sends it,
	 * or queues what cannot be sent at once. TROUPE_ELIMIT: too much waits already, or the payload is too long;
	 * then nothing of it is sent. Other errors as work(). */
	struct text *(*begin)(struct carrier *carrier, uint32_t line);
	troupe_status (*end)(struct carrier *carrier, uint32_t line, enum frame_type type, struct troupe_error *error);
	/* Bytes that wait to be sent. */
	size_t (*pending)(const struct carrier *carrier, uint32_t line);
	/* Called before wait(). only_send: frames that come do not matter any more. */
	void (*prepare)(struct carrier *carrier, bool only_send);
	/* Sleeps until something may have come or wake() was called, also before. idle_ns: time since the caller last
	 * received something. True: something has happened. False: a nap has ended, so look, and call again. */
	bool (*wait)(struct carrier *carrier, uint64_t idle_ns);
	void (*wake)(struct carrier *carrier);
	/* Makes sure that the last frames arrive, for at most timeout_ms; no other frame is sent or received
	 * afterwards. */
	void (*finish)(struct carrier *carrier, uint32_t timeout_ms);
	struct transport_counts (*counts)(const struct carrier *carrier);
	/* Whether something outside says that a peer may have died, so that silence is to be judged sooner. May be
	 * NULL: nothing does. */
	bool (*is_warned)(const struct carrier *carrier);
	void (*destroy)(struct carrier *carrier); /* NULL is fine */
};

/* Sends a frame with a payload that lies somewhere else. */
static inline troupe_status carrier_send(const struct carrier_ops *ops, struct carrier *carrier, uint32_t line,
	enum frame_type type, const void *bytes, size_t count, struct troupe_error *error)
{
	text_add_bytes(ops->begin(carrier, line), bytes, count);
	return ops->end(carrier, line, type, error);
}

#endif
