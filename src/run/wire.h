/* Steps and acks as bytes, for a primary and secondaries in different processes. Either side holds the world: the
 * primary all of it, each secondary a copy (made from a saved state, server/network.h) whose scene follows the
 * primary's and whose states are up to date for the models that it simulates, and for its ghosts. Only what changed
 * travels, against what the other side has already; the layout is in ../net/PROTOCOL.md.
 *
 * Step: number, time, flags; what was done to the scene; models to take (with the words of their state k) and to
 * release, levels, ghosts; states that the primary wrote; static models that came or went; pairs that came or went;
 * commands. Ack: status; for each model that moved the words of state k+1 that are not those of state k. Boxes and who
 * strayed the primary finds by itself: they are functions of the words.
 *
 * Nothing that is decoded is trusted: it is within its limits, or TROUPE_EPROTOCOL says what is wrong. A warm step
 * allocates nothing.
 *
 * Thread: each object one at a time; the primary's between steps and while decoding acks, a copy's as its secondary. */
#ifndef RUN_WIRE_H
#define RUN_WIRE_H

#include "net/transport.h"
#include "run/primary.h"

/* --- at the primary ----------------------------------------------------------------------------------------------- */

struct wire;

/* To be made when the copies are, and the primary has not decided a step since. It outlives the wire. */
struct wire *wire_create(struct primary *primary);
void wire_destroy(struct wire *wire);

struct wire_counts {
	uint64_t step_bytes, ack_bytes; /* payloads so far */
	uint64_t robot_steps;           /* models whose state came back, summed over steps */
};
struct wire_counts wire_counts(const struct wire *wire);
/* As of its last ack. */
struct physics_stats wire_physics_stats(const struct wire *wire, uint32_t secondary);

/* What a transport_codec needs; wire is its ctx. payload: struct step; ret_ack's: struct ack, the wire's. Encoding also
 * obeys, on the primary's own state, the commands that go to the secondary, which obeys them on its own; a step that
 * was decided must be encoded for all, or the state that is saved lacks some of them. */
void wire_encode_step(void *wire, uint32_t secondary, const void *payload, struct text *out);
troupe_status wire_decode_ack(void *wire, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error);

/* --- at a secondary ----------------------------------------------------------------------------------------------- */

struct wire_copy;

/* number: of the secondary, from 1. edit: of the copy, with its shared; it loses its plan. Both outlive it. */
struct wire_copy *wire_copy_create(uint32_t number, struct edit *edit);
void wire_copy_destroy(struct wire_copy *copy);

/* A struct step for secondary_step(), whose payload is the copy's until the next call. */
troupe_status wire_decode_step(void *copy, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error);
/* payload: struct ack, that of the step which was decoded last. stats: of the secondary's physics so far. */
void wire_encode_ack(
	struct wire_copy *copy, const struct ack *ack, const struct physics_stats *stats, struct text *out);

#endif
