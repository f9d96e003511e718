/* How steps get from the primary to the secondaries, and acks back. Moves messages; knows nothing of what is in them.
 *
 * A step is published to all secondaries at once and acknowledged by each. When all have, the transport calls the
 * primary back, once a step, on a thread of its choosing: the last secondary's own in one process (there is a core for
 * each secondary and none to spare for a primary that mostly waits), a receiving thread over a network. The primary
 * then reads the acks, in runner order, and publishes the next step, or closes.
 *
 *              publish  wait   ack   ack_of  close     One primary, `secondaries` secondaries, numbered from 0 here.
 *  publish        X      -      -      X       -       X  never at the same time
 *  wait           -      -      -      -       -       -  any thread of its own at any time
 *  ack            -      -      -      X       -
 *  ack_of         X      -      X      -       -       ack_of only inside all_acked
 *  close          -      -      -      -       -
 */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "base/text.h"

enum { TRANSPORT_SECONDARIES_MAX = 1024 };

struct transport_message {
	uint64_t number; /* of the step */
	void *payload; /* lent: valid until the step is fully acknowledged (a step) or the next is published (an ack) */
};

/* How a transport that carries bytes makes them out of payloads and back; one in which payloads are lent has no use for
 * it. What is decoded is checked: whatever comes, a decoder fails with TROUPE_EPROTOCOL and says what is wrong, or all
 * of it is within its limits. */
struct transport_codec {
	/* Primary. The step as that secondary needs it, added to out: called in publish(), for all of them at each
	 * step, in order, and all the same when the step then goes nowhere because somebody is lost: so what encoding
	 * does to the primary's own state it does to all or none. */
	void (*encode_step)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Secondary. The reverse; the payload is valid until the next call for that secondary. */
	troupe_status (*decode_step)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_step, struct troupe_error *error);
	/* Secondary. */
	void (*encode_ack)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Primary. */
	troupe_status (*decode_ack)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_ack, struct troupe_error *error);
	/* Primary. Whether something may have to be loaded in the step, which takes as long as it takes. NULL: never.
	 */
	bool (*loads)(void *ctx, const void *payload);
	void *ctx;
};

struct transport_options {
	uint32_t secondaries; /* 1..TRANSPORT_SECONDARIES_MAX */
	uint32_t threads;     /* that step in this process, those of other transports too; 0: secondaries */
	/* Called when all have acknowledged the published step. May publish the next one, or close. */
	void (*all_acked)(void *ctx);
	/* May be NULL. Somebody is lost: no step will be acknowledged by all any more, so stop waiting for anything
	 * else. At most once, on any thread, at any time. */
	void (*alarm)(void *ctx);
	/* May be NULL. Called instead of all_acked() when somebody was lost while a step was out that not all had
	 * acknowledged: one that all had counts. */
	void (*gave_up)(void *ctx);
	void *ctx;
	const struct transport_codec *codec; /* NULL: payloads are lent */
	void *link;                          /* what its back end needs to know: see there */
};

struct transport;

struct transport_ops {
	const char *name;
	/* Makes a transport with nothing published. Required. */
	troupe_status (*create)(
		const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error);
	/* Primary. Makes a step visible to all secondaries; does not block. The one before must be fully acknowledged
	 * and numbers must go up by one: TROUPE_EPROTOCOL otherwise, and nothing was published. Required. */
	troupe_status (*publish)(struct transport *transport, struct transport_message step);
	/* Secondary. Blocks until there is a step that it has not seen; TROUPE_EPEER once closed (a step published
	 * before is still delivered first). Steps come each once and in order. Required. */
	troupe_status (*wait)(struct transport *transport, uint32_t secondary, struct transport_message *ret_step);
	/* Secondary 0 only, by the thread that also waits for the end of the run: like wait(), but TROUPE_OK with a
	 * payload of NULL when timeout_ns (> 0) has passed, or release() was called since it returned last. NULL: this
	 * transport has neither, nor resize(). */
	troupe_status (*wait_for)(struct transport *transport, uint32_t secondary, uint64_t timeout_ns,
		struct transport_message *ret_step);
	/* Any thread. */
	void (*release)(struct transport *transport);
	/* Primary, when the last step is acknowledged: secondaries 0 .. active - 1 (at least one) take part from the
	 * next step on, and the others sleep in wait(). At first all take part. */
	void (*resize)(struct transport *transport, uint32_t active);
	/* Secondary. Acknowledges the step that wait() gave last; does not block but for all_acked, which may run
	 * inside. TROUPE_EPROTOCOL for another number or a second ack. Required. */
	troupe_status (*ack)(struct transport *transport, uint32_t secondary, struct transport_message ack);
	/* Primary, inside all_acked. The ack of a secondary. Required. */
	struct transport_message (*ack_of)(struct transport *transport, uint32_t secondary);
	/* Who was lost and why; NULL: nobody. publish() then fails with that status. Any thread. NULL: in this
	 * transport nobody can be. */
	const struct troupe_error *(*lost)(struct transport *transport);
	/* Any thread, any number of times. Nothing is published after; waiting secondaries wake. Required. */
	void (*close)(struct transport *transport);
	/* After all threads have left. NULL is fine. Required. */
	void (*destroy)(struct transport *transport);
};

/* TROUPE_EINVAL naming the first slot that is not filled. */
troupe_status transport_check(const struct transport_ops *ops, struct troupe_error *error);

extern const struct transport_ops transport_inproc;

#endif
