/* Carries steps from the primary to the secondaries, and acks back. A transport does not look into the messages.
 *
 * A step is published to all secondaries at once, and each secondary acknowledges it. When all have, the transport
 * calls the primary back, once a step, on a thread that the transport chooses: in one process the thread of the last
 * secondary (there is a core for each secondary and none to spare for a primary that mostly waits), over a network a
 * receiving thread. The primary then reads the acks, in runner order, and publishes the next step, or closes.
 *
 *               publish  wait   ack   ack_of  close     One primary, `secondaries` secondaries, numbered from 0 here.
 *   publish        X      -      -      X       -       X  never at the same time
 *   wait           -      -      -      -       -       -  any thread of its own at any time
 *   ack            -      -      -      X       -
 *   ack_of         X      -      X      -       -       ack_of only inside all_acked
 *   close          -      -      -      -       - */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "base/text.h"

enum { TRANSPORT_SECONDARIES_MAX = 1024 };

struct transport_message {
	uint64_t number; /* of the step */
	void *payload; /* lent: valid until the step is fully acknowledged (a step) or the next is published (an ack) */
};

/* Encodes payloads as bytes and decodes them, for a transport that carries bytes. A transport that lends payloads does
 * not use it. Decoders check their input: a decoder accepts any bytes, and either fails with TROUPE_EPROTOCOL and a
 * reason, or returns values that are all within their limits. */
struct transport_codec {
	/* Primary. Appends the step for that secondary to out. publish() calls it for every secondary at each step, in
	 * order, even when the step is not sent because a peer is lost: so the changes that encoding makes to the
	 * primary's own state are made for all secondaries or for none. */
	void (*encode_step)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Secondary. The reverse. The payload is valid until the next call for that secondary. */
	troupe_status (*decode_step)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_step, struct troupe_error *error);
	/* Secondary. */
	void (*encode_ack)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Primary. */
	troupe_status (*decode_ack)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_ack, struct troupe_error *error);
	/* Primary. Whether the step may load something, for which there is no usual time. NULL: never. */
	bool (*loads)(void *ctx, const void *payload);
	void *ctx;
};

struct transport_options {
	uint32_t secondaries; /* 1..TRANSPORT_SECONDARIES_MAX */
	uint32_t threads;     /* stepping threads of this process, all transports together; 0: secondaries */
	/* Called when all secondaries have acknowledged the published step. May publish the next step, or close. */
	void (*all_acked)(void *ctx);
	/* May be NULL. A peer is lost: no later step will be acknowledged by all, so the caller must stop waiting for
	 * anything else. Called at most once, on any thread, at any time. */
	void (*alarm)(void *ctx);
	/* May be NULL. Called instead of all_acked() when a peer was lost before all had acknowledged the published
	 * step. A step that all have acknowledged counts. */
	void (*gave_up)(void *ctx);
	void *ctx;
	const struct transport_codec *codec; /* NULL: payloads are lent */
	void *link;                          /* options of the transport: see its header */
};

struct transport;

struct transport_ops {
	const char *name;
	/* Makes a transport without a published step. Required. */
	troupe_status (*create)(
		const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error);
	/* Primary. Makes a step visible to all secondaries; does not block. The previous step must be fully
	 * acknowledged and numbers must go up by one: otherwise TROUPE_EPROTOCOL, and nothing is published. Required.
	 */
	troupe_status (*publish)(struct transport *transport, struct transport_message step);
	/* Secondary. Blocks until there is a step that this secondary has not seen. TROUPE_EPEER once closed, but a
	 * step that was published before is delivered first. Each step comes once, in order. Required. */
	troupe_status (*wait)(struct transport *transport, uint32_t secondary, struct transport_message *ret_step);
	/* Secondary 0 only, on the thread that also waits for the end of the run. Like wait(), but returns TROUPE_OK
	 * with a NULL payload when timeout_ns (> 0) has passed, or when release() was called since its last return.
	 * NULL: the transport has neither wait_for(), release() nor resize(). */
	troupe_status (*wait_for)(struct transport *transport, uint32_t secondary, uint64_t timeout_ns,
		struct transport_message *ret_step);
	/* Any thread. Makes wait_for() return. */
	void (*release)(struct transport *transport);
	/* Primary, when the last step is acknowledged: from the next step on, secondaries 0 .. active - 1 (at least
	 * one) take part, and the other secondaries sleep in wait(). At first all take part. */
	void (*resize)(struct transport *transport, uint32_t active);
	/* Secondary. Acknowledges the step that wait() gave last. Does not block, except that all_acked may run inside.
	 * TROUPE_EPROTOCOL for another number or a second ack. Required. */
	troupe_status (*ack)(struct transport *transport, uint32_t secondary, struct transport_message ack);
	/* Primary, inside all_acked. The ack of a secondary. Required. */
	struct transport_message (*ack_of)(struct transport *transport, uint32_t secondary);
	/* The lost peer and the reason; NULL: no peer is lost. After a loss publish() fails with that status. Any
	 * thread. NULL slot: in this transport no peer can be lost. */
	const struct troupe_error *(*lost)(struct transport *transport);
	/* Any thread, any number of times. Nothing is published afterwards; waiting secondaries wake. Required. */
	void (*close)(struct transport *transport);
	/* After all threads have left. NULL is fine. Required. */
	void (*destroy)(struct transport *transport);
};

/* TROUPE_EINVAL naming the first slot that is not filled. */
troupe_status transport_check(const struct transport_ops *ops, struct troupe_error *error);

extern const struct transport_ops transport_inproc;

#endif
