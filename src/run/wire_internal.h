/* What a primary's wire knows of its peers, as its files share it: wire.c encodes steps, wire_ack.c decodes acks.
 * Thread: as wire.h says. */
#ifndef RUN_WIRE_INTERNAL_H
#define RUN_WIRE_INTERNAL_H

#include "run/primary_internal.h"
#include "run/wire.h"
#include "run/wire_notes.h"
#include "run/wire_sense.h"
#include "run/wire_window.h"

struct wire_peer {
	/* the pairs that it has */
	VEC(struct physics_pair) pairs;
	double dt;
	/* reported in acks that counted */
	VEC(uint32_t) changed_before; /* ack.changed of the last ack */
	struct physics_stats stats;
	/* the last ack, and the sizes of step and ack */
	struct ack ack;
	struct notes notes;
	struct readings readings;
	uint64_t wants, wants_next; /* the epoch of the wanted sensors that it knows, and that it is told */
	uint64_t *seen;             /* [room] see struct wire_view */
	wire_sights sights;         /* of the step that is out */
	struct physics_stats stats_next;
	uint64_t step_bytes, ack_bytes;
};

struct wire {
	struct primary *primary;
	struct wire_peer *peers; /* [peer_count] */
	uint32_t peer_count;     /* the secondaries of the primary when the wire was made */
	/* the parts that all peers have */
	uint32_t *statics; /* [room] */
	uint32_t *ghosts;  /* [room] where the words of a ghost are in ghost_words, plus 1; 0: it was no ghost */
	VEC(uint64_t) ghost_words;
	VEC(uint32_t) ghost_models;
	/* scratch */
	uint64_t *met; /* [room] the last call in which the model was met */
	uint64_t calls;
	wire_scratch scratch;
	wire_eyes eyes;
	uint32_t room;
	struct wire_counts counts;
};

/* Whether the secondary, counted from 0, simulates the model. */
bool wire_is_own(const struct wire *wire, uint32_t secondary, uint32_t model);

#endif
