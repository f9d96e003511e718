/* Steps and acks as bytes, for a primary and secondaries in different processes. Each side holds the world: the
 * primary all of it, each secondary a replica (run/replica.h). Its states are up to date for the models that it
 * simulates and for its ghosts. Only changes are sent, relative to what the other side already has;
 * ../net/PROTOCOL.md has the layout.
 *
 * A step holds: number, time, flags; what was done to the scene; models to take (with the words of their state k) and
 * to release, levels, ghosts; states that the primary wrote; static models that came or went; pairs that came or
 * went; commands. An ack holds: status; for each model that changed, the words of state k+1 that differ from state k.
 * The primary computes boxes and leavers itself (primary_advance()), because they are functions of the words.
 *
 * An encoder reads, and a decoder fills a message: both can be called again, for the same bytes, until the step is
 * acknowledged by all. Words of state k+1 in an ack go to `next`, which means nothing before primary_advance().
 *
 * No decoded value is trusted: each is within its limits, or TROUPE_EPROTOCOL says what is wrong. A warm step
 * allocates nothing.
 *
 * Thread: each object is used by one thread at a time; the primary's objects between steps and while decoding acks. */
#ifndef RUN_WIRE_H
#define RUN_WIRE_H

#include "net/transport.h"
#include "run/replica.h"
#include "run/wire_words.h"

/* --- at the primary ----------------------------------------------------------------------------------------------- */

struct wire;

/* Create it when the replicas are made; the primary must not have decided a step since. The primary outlives the wire;
 * its primary_remote is the wire from now on. What the peers have changes only when the primary takes a step's acks. */
struct wire *wire_create(struct primary *primary);
void wire_destroy(struct wire *wire);

struct wire_counts {
	uint64_t step_bytes, ack_bytes; /* payloads so far */
	uint64_t robot_steps;           /* models whose state came back, added up over steps */
	uint64_t largest_part_ns;       /* the most processor time of a secondary, added up over windows */
};
struct wire_counts wire_counts(const struct wire *wire);
/* The secondary's statistics as of its last ack. */
struct physics_stats wire_physics_stats(const struct wire *wire, uint32_t secondary);

/* The functions of a transport_codec; its ctx is the wire. payload: struct step. ret_ack: struct ack, owned by the
 * wire, valid until the next call for that secondary. */
void wire_encode_step(void *wire, uint32_t secondary, const void *payload, struct text *out);
troupe_status wire_decode_ack(void *wire, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error);
/* The bytes of a file that the world was given without. */
troupe_status wire_give_file(void *wire, const char *path, struct text *out, struct troupe_error *error);

/* --- at a secondary ----------------------------------------------------------------------------------------------- */

/* number: of the secondary, from 1. Fills a message for replica_follow(), which refers to the bytes. It depends on the
 * bytes only: the same bytes give the same message. */
troupe_status wire_decode_step(
	uint32_t number, const char *bytes, size_t count, struct replica_step *ret_step, struct troupe_error *error);
/* Encodes the ack that replica_stepped() was given. processor_ns: as in struct ack. */
void wire_encode_ack(struct replica *replica, wire_scratch *scratch, uint64_t processor_ns, struct text *out);

#endif
