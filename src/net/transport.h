/* Carries steps from the primary to the secondaries, and acks back. A transport does not look into the messages.
 *
 * A local transport lives in one process, which has the primary's end and all secondaries' ends. A remote transport has
 * one end in each process: the primary's end in one, and one secondary's end in each other. The calls of the other ends
 * must not be made there. Peers may be lost, so a remote transport also has the slots lost, stop, is_done and counts.
 *
 * A step is published to all secondaries at once, and each secondary acknowledges it. When all have, the transport
 * calls the primary back, once a step, on a thread that the transport chooses: in one process the thread of the last
 * secondary (there is a core for each secondary and none to spare for a primary that mostly waits), over a network a
 * receiving thread. The primary then reads the acks, in the order of secondaries, and publishes the next step, or
 * closes.
 *
 *               publish  wait   ack   ack_of  close     One primary, `secondaries` secondaries, numbered from 0 here.
 *   publish        X      -      -      X       -       X  never at the same time
 *   wait           -      -      -      -       -       -  any thread of its own at any time
 *   ack            -      -      -      X       -
 *   ack_of         X      -      X      -       -       ack_of only inside all_acked
 *   close          -      -      -      -       - */
#ifndef NET_TRANSPORT_H
#define NET_TRANSPORT_H

#include "net/hello.h"

struct transport_message {
	uint64_t number; /* of the step */
	void *payload; /* lent: valid until the step is fully acknowledged (a step) or the next is published (an ack) */
	uint32_t more; /* of a step: further steps that are taken, and acknowledged, together with it (a window) */
};

/* Encodes payloads as bytes and decodes them, for a transport that carries bytes. A transport that lends payloads does
 * not use it. A step may be encoded again, or dropped, and an ack may be decoded again, or dropped. Decoders check
 * their input: a decoder accepts any bytes, and either fails with TROUPE_EPROTOCOL and a reason, or returns values that
 * are all within their limits. */
struct transport_codec {
	/* Primary. Appends the step for that secondary to out. Has no effects: a step may be encoded again, with the
	 * same bytes, or not at all. */
	void (*encode_step)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Secondary, inside wait(), once for each step that comes. The reverse. The payload is valid until the next
	 * call for that secondary. */
	troupe_status (*decode_step)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_step, struct troupe_error *error);
	/* Secondary. */
	void (*encode_ack)(void *ctx, uint32_t secondary, const void *payload, struct text *out);
	/* Primary. */
	troupe_status (*decode_ack)(void *ctx, uint32_t secondary, const char *bytes, size_t count,
		struct transport_message *ret_ack, struct troupe_error *error);
	/* Primary. Appends the bytes of a file that a secondary asks for. Beside all other functions; may take as long
	 * as to read a file. A failure is told to the secondary. NULL: there are none. */
	troupe_status (*give_file)(void *ctx, const char *path, struct text *out, struct troupe_error *error);
	/* Primary. Whether the step may load something, for which there is no usual time. NULL: never. */
	bool (*loads)(void *ctx, const void *payload);
	void *ctx;
};

struct transport_options {
	uint32_t secondaries; /* 1..TROUPE_SECONDARIES_MAX */
	uint32_t threads;     /* local: stepping threads of this process, all transports together; 0: secondaries */
	/* Primary. Called when all secondaries have acknowledged the published step. May publish the next step, or
	 * close. */
	void (*all_acked)(void *ctx);
	/* Either end. May be NULL. A peer is lost: no later step will be acknowledged by all, so the caller must stop
	 * waiting for anything else. Called at most once, on any thread, at any time; lost() then has the reason. */
	void (*alarm)(void *ctx);
	/* Primary. May be NULL. A secondary asks to leave between two steps: leaving() says which. Any thread. */
	void (*asked)(void *ctx);
	/* Primary. May be NULL. Called instead of all_acked() when a peer was lost before all had acknowledged the
	 * published step, after alarm(). A step that all have acknowledged counts. */
	void (*gave_up)(void *ctx);
	void *ctx;
	const struct transport_codec *codec; /* a remote transport needs it; NULL: payloads are lent. Outlives it */
	struct transport_link *link;         /* remote: how this end reaches its peers (net/gather.h). Outlives it */
};

struct transport;
struct transport_link; /* each back end defines it */

struct transport_counts { /* bytes on the wire, all peers */
	uint64_t sent, received;
};

/* Slots that are marked "remote" are filled by remote transports, and only by these; slots without a mark by all. A
 * slot that returns a status has no effect when it fails, except where it says otherwise. */
struct transport_ops {
	const char *name;
	bool remote; /* steps travel as bytes to other processes */
	/* Makes a transport without a published step. Any thread; does not block. On failure nothing is left, and the
	 * peers behind the link have been told that this side failed. TROUPE_EINVAL: wrong options; TROUPE_ELIMIT: no
	 * thread or file is left. */
	troupe_status (*create)(
		const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error);
	/* Primary. Makes a step visible to all secondaries; does not block. The payload is lent until the step is fully
	 * acknowledged or given up. The previous step must be fully acknowledged; the number must be the one after the
	 * steps of the previous message, or if this was a window, the same, because it is repeated; and the transport
	 * must not be closed: otherwise TROUPE_EPROTOCOL. After a loss: the status of lost(); nothing is sent
	 * then. */
	troupe_status (*publish)(struct transport *transport, struct transport_message step);
	/* Secondary. Blocks until there is a step that this secondary has not seen. TROUPE_EPEER once closed, and when
	 * the run is over, but a step that came before is delivered first. Each step comes once, in order. The
	 * transport keeps the payload (transport_message). */
	troupe_status (*wait)(struct transport *transport, uint32_t secondary, struct transport_message *ret_step);
	/* Local, optional, together with release and resize. Secondary 0 only, on the thread that also waits for the
	 * end of the run. Like wait(), but returns TROUPE_OK with a NULL payload when timeout_ns (> 0) has passed, or
	 * when release() was called since its last return. */
	troupe_status (*wait_for)(struct transport *transport, uint32_t secondary, uint64_t timeout_ns,
		struct transport_message *ret_step);
	/* Local. Any thread; does not block. Makes wait_for() return. */
	void (*release)(struct transport *transport);
	/* Local. Primary, when the last step is acknowledged; does not block. From the next step on, secondaries
	 * 0 .. active - 1 (at least one) take part, and the other secondaries sleep in wait(). At first all take part.
	 */
	void (*resize)(struct transport *transport, uint32_t active);
	/* Secondary. Acknowledges the step that wait() gave last. Does not block, except that all_acked may run inside.
	 * The payload is lent until the next step comes. TROUPE_EPROTOCOL for another number or a second ack;
	 * TROUPE_EPEER: the run is over, and the ack is not taken. */
	troupe_status (*ack)(struct transport *transport, uint32_t secondary, struct transport_message ack);
	/* Primary, inside all_acked; does not block. The ack of a secondary; the transport keeps the payload until the
	 * next step is published. */
	struct transport_message (*ack_of)(struct transport *transport, uint32_t secondary);
	/* Remote. Any thread; does not block. The lost peer and the reason, unchanged from then on; NULL: no peer is
	 * lost. Valid until destroy(). */
	const struct troupe_error *(*lost)(struct transport *transport);
	/* Remote. Any thread; does not block. Whether the transport is over because the run goes on with other members
	 * (STOP_REGROUP); lost() has a text for people then. *ret_lost: primary: the secondary that was lost, from 1,
	 * or 0: none; secondary: 1: it was lost, and may join again on another connection, or 0. */
	bool (*regroups)(struct transport *transport, uint32_t *ret_lost);
	/* Remote. Secondary; any thread; does not block. Whether the transport is over because the primary was lost
	 * without a word. */
	bool (*orphaned)(struct transport *transport);
	/* Remote. Primary; any thread; does not block. Whether the secondary, from 1, asked to leave. The caller then
	 * stops the transport with STOP_REGROUP, between two steps. */
	bool (*leaving)(struct transport *transport, uint32_t secondary);
	/* Remote. Secondary; any thread; does not block. Asks to leave: the run goes on without this secondary if the
	 * primary allows that, otherwise it ends for all. Steps that come until then are to be acknowledged. */
	void (*leave)(struct transport *transport);
	/* Remote. Secondary: a file of the primary. Any thread, also inside wait() and between wait() and ack(); blocks
	 * until it has come. The caller frees *ret_bytes. TROUPE_EIO: the primary does not have it, and why;
	 * TROUPE_EPEER: the run is over. */
	troupe_status (*fetch)(struct transport *transport, const char *path, char **ret_bytes, size_t *ret_count,
		struct troupe_error *error);
	/* Remote. Any thread; does not block. Tells all peers that the run is over and why, unless it is over already;
	 * after that, no peer counts as lost. Steps count as in peers_stop(). `why` is copied. */
	void (*stop)(struct transport *transport, enum stop_kind kind, const char *why);
	/* Remote. Any thread; does not block. Secondary: whether the primary said that the run is done. Primary:
	 * whether it said so itself. */
	bool (*is_done)(struct transport *transport);
	/* Remote. Any thread; may wait for as long as a system call takes. */
	struct transport_counts (*counts)(struct transport *transport);
	/* Any thread, any number of times; does not block. Nothing is published afterwards; waiting secondaries wake.
	 */
	void (*close)(struct transport *transport);
	/* After all threads have left. Closes first; a remote transport may take a fraction of a second to let its last
	 * frames out. NULL is fine. */
	void (*destroy)(struct transport *transport);
};

/* TROUPE_EINVAL naming the first slot that is not filled, or that this kind of transport must not fill. */
troupe_status transport_check(const struct transport_ops *ops, struct troupe_error *error);

#endif
