/* The step ring: one writer; every secondary reads every slot.
 *
 * head advances when a step is published; slot n & MASK holds step n's message, with n counting published steps. A slot
 * is written before `published` includes it, and is not written again until all have acknowledged its step, so a reader
 * never sees it change. In lockstep one step is out at a time; the other slots keep the writer off the cache line that
 * readers have just used.
 *
 * outstanding counts the acks that are still to come. The secondary that brings it to zero runs the primary's part. The
 * decrement is acquire-release, so that this thread sees all that the others wrote before their acks. */
#include "net/inproc/inproc.h"

#include "base/eventcount.h"

#include <stdlib.h>

enum { SLOTS = 8, MASK = SLOTS - 1 };
_Static_assert((SLOTS & MASK) == 0, "the ring index is masked, not divided");

struct inproc_secondary {
	_Alignas(64) uint32_t seen; /* steps taken, or skipped while it slept. Private to this secondary. */
	/* The value of `seen` for a secondary that joins again. Writer: the primary, before it raises `active` above
	 * this one. Reader: this secondary, which may still use an older value of `active`. */
	_Atomic uint32_t since;
	struct transport_message taken; /* the step it works on. Private. */
	bool owes_ack;                  /* Private. */
	struct transport_message ack; /* Written before outstanding goes down, read by the primary after it is zero. */
};

struct transport {
	struct transport_options options;
	struct eventcount head;  /* advanced by publish(), close() and release() */
	struct eventcount woken; /* advanced when `active` rises, and by close() */
	/* The number of secondaries that take part. Writer: the primary, before it publishes. A thread that sees a step
	 * also sees the value for that step. */
	_Atomic uint32_t active;
	_Atomic bool closed, released;
	_Alignas(64) _Atomic uint32_t outstanding;
	_Alignas(64) struct transport_message slots[SLOTS]; /* written by the primary before head advances */
	/* The number of steps whose slots may be read. Writer: the primary, release, before the eventcount; readers:
	 * acquire after it. The eventcount's own count does not serve: close() changes it too. */
	_Atomic uint32_t published;
	uint32_t spins;
	struct inproc_secondary *secondaries;
};

static troupe_status inproc_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	if (!options->secondaries || options->secondaries > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries: expected 1 to %d", options->secondaries,
			TROUPE_SECONDARIES_MAX);
	struct transport *transport = mem_alloc_lines(sizeof *transport);
	struct inproc_secondary *secondaries = mem_alloc_lines(options->secondaries * sizeof *secondaries);
	*transport = (struct transport){.options = *options, .secondaries = secondaries};
	for (uint32_t i = 0; i < options->secondaries; i++)
		secondaries[i] = (struct inproc_secondary){0};
	transport->active = options->secondaries;
	transport->spins = eventcount_spins(MAX(options->threads, options->secondaries));
	*ret_transport = transport;
	return TROUPE_OK;
}

static troupe_status inproc_publish(struct transport *transport, struct transport_message step)
{
	/* relaxed: only the primary publishes, and it has seen outstanding reach zero */
	if (atomic_load_explicit(&transport->outstanding, memory_order_relaxed) || atomic_load(&transport->closed))
		return TROUPE_EPROTOCOL;
	uint32_t published = atomic_load_explicit(&transport->published, memory_order_relaxed);
	const struct transport_message *last = published ? &transport->slots[(published - 1) & MASK] : NULL;
	if (last && step.number != last->number + 1 + last->more && !(last->more && step.number == last->number))
		return TROUPE_EPROTOCOL;
	transport->slots[published & MASK] = step;
	/* ordered before the release below: a thread that sees the step sees the full count */
	atomic_store_explicit(&transport->outstanding, atomic_load_explicit(&transport->active, memory_order_relaxed),
		memory_order_relaxed);
	atomic_store_explicit(&transport->published, published + 1, memory_order_release);
	eventcount_advance(&transport->head);
	return TROUPE_OK;
}

static bool inproc_takes_part(const struct transport *transport, uint32_t index)
{
	return index < atomic_load_explicit(&transport->active, memory_order_acquire);
}

/* Sleeps while this secondary takes no part. */
static void inproc_sleep_aside(struct transport *transport, uint32_t index)
{
	while (!inproc_takes_part(transport, index) && !atomic_load(&transport->closed)) {
		uint32_t seen = eventcount_read(&transport->woken);
		if (!inproc_takes_part(transport, index) && !atomic_load(&transport->closed))
			eventcount_await(&transport->woken, seen, 0, 0);
	}
}

/* Step counts wrap around at 2^32. */
static bool inproc_is_after(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) > 0;
}

/* Skips the steps in which this secondary did not take part. It may have slept through all of them. */
static void inproc_pass_over(struct inproc_secondary *secondary)
{
	uint32_t since = atomic_load_explicit(&secondary->since, memory_order_relaxed);
	if (inproc_is_after(since, secondary->seen))
		secondary->seen = since;
}

enum wake { WAKE_STEP, WAKE_CLOSED, WAKE_NOTHING };

/* timeout_ns: 0 for ever. WAKE_NOTHING: the timeout passed, or release() was called. */
static enum wake inproc_wait_for_step(struct transport *transport, uint32_t index, uint64_t timeout_ns)
{
	struct inproc_secondary *secondary = &transport->secondaries[index];
	for (;;) {
		uint32_t head = eventcount_read(&transport->head);
		bool closed = atomic_load(&transport->closed);
		/* read before `active`: if a step is seen, `active` was set for it */
		uint32_t published = atomic_load_explicit(&transport->published, memory_order_acquire);
		if (inproc_takes_part(transport, index)) {
			inproc_pass_over(secondary);
			/* `since` may be newer than the `published` read above */
			if (inproc_is_after(published, secondary->seen))
				return WAKE_STEP;
		}
		if (closed)
			return WAKE_CLOSED;
		if (timeout_ns && atomic_exchange(&transport->released, false))
			return WAKE_NOTHING;
		if (!inproc_takes_part(transport, index))
			inproc_sleep_aside(transport, index);
		else if (eventcount_await(&transport->head, head, transport->spins, timeout_ns) == head && timeout_ns)
			return WAKE_NOTHING;
	}
}

static void inproc_take_step(struct transport *transport, uint32_t index, struct transport_message *ret_step)
{
	struct inproc_secondary *secondary = &transport->secondaries[index];
	secondary->taken = transport->slots[secondary->seen & MASK];
	secondary->seen++;
	secondary->owes_ack = true;
	*ret_step = secondary->taken;
}

static troupe_status inproc_wait(struct transport *transport, uint32_t index, struct transport_message *ret_step)
{
	if (inproc_wait_for_step(transport, index, 0) == WAKE_CLOSED)
		return TROUPE_EPEER;
	inproc_take_step(transport, index, ret_step);
	return TROUPE_OK;
}

static troupe_status inproc_wait_for(
	struct transport *transport, uint32_t index, uint64_t timeout_ns, struct transport_message *ret_step)
{
	enum wake why = inproc_wait_for_step(transport, index, timeout_ns);
	*ret_step = (struct transport_message){0};
	if (why == WAKE_CLOSED)
		return TROUPE_EPEER;
	if (why == WAKE_STEP)
		inproc_take_step(transport, index, ret_step);
	return TROUPE_OK;
}

static void inproc_release(struct transport *transport)
{
	atomic_store(&transport->released, true);
	eventcount_advance(&transport->head);
}

static void inproc_resize(struct transport *transport, uint32_t active)
{
	uint32_t before = atomic_load_explicit(&transport->active, memory_order_relaxed);
	uint32_t published = atomic_load_explicit(&transport->published, memory_order_relaxed);
	for (uint32_t i = before; i < active; i++)
		atomic_store_explicit(&transport->secondaries[i].since, published, memory_order_relaxed);
	/* pairs with inproc_takes_part(): a secondary that takes part sees `since` */
	atomic_store_explicit(&transport->active, active, memory_order_release);
	if (active > before)
		eventcount_advance(&transport->woken);
}

static troupe_status inproc_ack(struct transport *transport, uint32_t index, struct transport_message ack)
{
	struct inproc_secondary *secondary = &transport->secondaries[index];
	if (!secondary->owes_ack || ack.number != secondary->taken.number)
		return TROUPE_EPROTOCOL;
	secondary->owes_ack = false;
	secondary->ack = ack;
	if (atomic_fetch_sub_explicit(&transport->outstanding, 1, memory_order_acq_rel) == 1)
		transport->options.all_acked(transport->options.ctx);
	return TROUPE_OK;
}

static struct transport_message inproc_ack_of(struct transport *transport, uint32_t index)
{
	return transport->secondaries[index].ack;
}

static void inproc_close(struct transport *transport)
{
	if (atomic_exchange(&transport->closed, true))
		return;
	eventcount_advance(&transport->head);
	eventcount_advance(&transport->woken);
}

static void inproc_destroy(struct transport *transport)
{
	if (!transport)
		return;
	free(transport->secondaries);
	free(transport);
}

const struct transport_ops transport_inproc = {
	.name = "inproc",
	.create = inproc_create,
	.publish = inproc_publish,
	.wait = inproc_wait,
	.wait_for = inproc_wait_for,
	.release = inproc_release,
	.resize = inproc_resize,
	.ack = inproc_ack,
	.ack_of = inproc_ack_of,
	.close = inproc_close,
	.destroy = inproc_destroy,
};
