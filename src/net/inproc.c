/* The step ring: one writer, all secondaries read every slot.
 *
 * head counts steps published; slot n & MASK holds step n's message. A slot is written before head says so and is not
 * written again until all have acknowledged it, so a reader never sees it change. In lockstep one step is out at a
 * time; more slots than one keep the writer off the cache line that readers have just used.
 *
 * outstanding counts acks that are still to come. Whoever brings it to zero runs the primary's part: acquire-release,
 * so that it sees all that the others wrote before their acks. */
#include "net/transport.h"

#include "base/gate.h"

#include <stdlib.h>

enum { SLOTS = 8, MASK = SLOTS - 1 };
_Static_assert((SLOTS & MASK) == 0, "the ring index is masked, not divided");

struct secondary {
	_Alignas(64) uint32_t seen;     /* steps taken. Its own. */
	struct transport_message taken; /* the step it works on. Its own. */
	bool owes_ack;                  /* Its own. */
	struct transport_message ack; /* Written before outstanding goes down, read by the primary after it is zero. */
};

struct transport {
	struct transport_options options;
	struct gate head; /* opened by the primary, and once more by close() */
	_Atomic bool closed;
	_Alignas(64) _Atomic uint32_t outstanding;
	_Alignas(64) struct transport_message slots[SLOTS]; /* written by the primary before head is opened */
	/* Steps whose slots may be read. Writer: the primary, release, before the gate; readers: acquire after it. The
	 * gate's count alone would not do: close() moves it too. */
	_Atomic uint32_t published;
	uint32_t spins;
	struct secondary *secondaries;
};

static troupe_status inproc_create(
	const struct transport_options *options, struct transport **ret_transport, struct troupe_error *error)
{
	if (!options->secondaries || options->secondaries > TRANSPORT_SECONDARIES_MAX)
		return fail(error, TROUPE_EINVAL, "%u secondaries: expected 1 to %d", options->secondaries,
			TRANSPORT_SECONDARIES_MAX);
	struct transport *transport = mem_alloc_lines(sizeof *transport);
	struct secondary *secondaries = mem_alloc_lines(options->secondaries * sizeof *secondaries);
	*transport = (struct transport){.options = *options, .secondaries = secondaries};
	for (uint32_t i = 0; i < options->secondaries; i++)
		secondaries[i] = (struct secondary){0};
	transport->spins = gate_spins(MAX(options->threads, options->secondaries));
	*ret_transport = transport;
	return TROUPE_OK;
}

static troupe_status inproc_publish(struct transport *transport, struct transport_message step)
{
	/* relaxed: only the primary publishes, and it has seen outstanding reach zero */
	if (atomic_load_explicit(&transport->outstanding, memory_order_relaxed) || atomic_load(&transport->closed))
		return TROUPE_EPROTOCOL;
	uint32_t published = atomic_load_explicit(&transport->published, memory_order_relaxed);
	if (published && step.number != transport->slots[(published - 1) & MASK].number + 1)
		return TROUPE_EPROTOCOL;
	transport->slots[published & MASK] = step;
	/* ordered before the release below: whoever sees the step sees the full count */
	atomic_store_explicit(&transport->outstanding, transport->options.secondaries, memory_order_relaxed);
	atomic_store_explicit(&transport->published, published + 1, memory_order_release);
	gate_open(&transport->head);
	return TROUPE_OK;
}

static troupe_status inproc_wait(struct transport *transport, uint32_t index, struct transport_message *ret_step)
{
	struct secondary *secondary = &transport->secondaries[index];
	while (atomic_load_explicit(&transport->published, memory_order_acquire) == secondary->seen) {
		if (atomic_load(&transport->closed))
			return TROUPE_EPEER;
		gate_wait(&transport->head, secondary->seen, transport->spins, 0);
	}
	secondary->taken = transport->slots[secondary->seen & MASK];
	secondary->seen++;
	secondary->owes_ack = true;
	*ret_step = secondary->taken;
	return TROUPE_OK;
}

static troupe_status inproc_ack(struct transport *transport, uint32_t index, struct transport_message ack)
{
	struct secondary *secondary = &transport->secondaries[index];
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
	if (!atomic_exchange(&transport->closed, true))
		gate_open(&transport->head);
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
	.ack = inproc_ack,
	.ack_of = inproc_ack_of,
	.close = inproc_close,
	.destroy = inproc_destroy,
};
