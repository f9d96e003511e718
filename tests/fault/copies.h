/* The world of a primary and the replicas of its secondaries, all in one process. For programs that pass steps and acks
 * as bytes between them. */
#ifndef TESTS_FAULT_COPIES_H
#define TESTS_FAULT_COPIES_H

#include "base/hash.h"
#include "run/primary_internal.h"
#include "run/secondary.h"
#include "run/wire.h"
#include "server/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For calls that cannot fail. */
static inline void copies_must(troupe_status status, const char *what, const struct troupe_error *error)
{
	if (!status)
		return;
	printf("FAILED: %s: %s\n0 passed, 1 failed\n", what, error->text);
	exit(1);
}

/* A server without runners. chaos_seed: of forced moves, so that more models are handed over. */
static inline struct troupe_server *copies_server(const struct text *state, uint32_t secondaries, uint64_t chaos_seed)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	def.resume_path = "state";
	def.secondaries = (int32_t)secondaries;
	def.chaos = true;
	def.chaos_seed = chaos_seed;
	def.window = 1; /* a test that takes windows says so itself */
	char *bytes = mem_alloc(state->count);
	memcpy(bytes, state->at, state->count);
	copies_must(server_create(&def, bytes, state->count, &server, &error), "a server", &error);
	server->worlds[0].primary->options.unpaced = true;
	return server;
}

/* Appends a saved state. */
static inline void copies_pack(struct troupe_server *server, struct text *out)
{
	struct troupe_error error;
	copies_must(server_pack(server, out, &error), "a state", &error);
}

/* The description of the server's world from which a replica is made. */
static inline struct text copies_world(struct troupe_server *server)
{
	struct text out = {0};
	(void)server_pack_replica(server, &out, NULL);
	return out;
}

/* A secondary with its replica. Thread: one thread makes, uses and ends it. */
struct copies_secondary {
	struct replica *replica;
	struct replica_step message;
	wire_scratch scratch;
	struct secondary *secondary;
	uint32_t share_over; /* see replica_follow() */
};

/* number: from 1. */
static inline void copies_begin(struct copies_secondary *side, const struct text *world, uint32_t number)
{
	struct troupe_error error;
	*side = (struct copies_secondary){.share_over = UINT32_MAX};
	copies_must(
		replica_create(world->at, world->count, number, PHYSICS_BREAK_NOTHING, NULL, &side->replica, &error),
		"a replica", &error);
	side->secondary = secondary_create(number, replica_shared(side->replica));
}

/* From now on several threads work on the secondary's steps. After copies_begin(). */
static inline void copies_hire(struct copies_secondary *side, uint32_t threads)
{
	struct troupe_error error;
	side->share_over = threads;
	copies_must(secondary_start_helpers(side->secondary, threads - 1, &error), "helpers", &error);
}

static inline void copies_end(struct copies_secondary *side)
{
	secondary_destroy(side->secondary);
	replica_step_fini(&side->message);
	vec_free(&side->scratch);
	replica_destroy(side->replica);
}

static inline struct shared *copies_shared(const struct copies_secondary *side)
{
	return replica_shared(side->replica);
}

static inline troupe_status copies_decode_step(struct copies_secondary *side, const char *bytes, size_t count,
	const struct step **ret_step, struct troupe_error *error)
{
	troupe_status status = wire_decode_step(replica_number(side->replica), bytes, count, &side->message, error);
	return status ? status : replica_follow(side->replica, &side->message, side->share_over, ret_step, error);
}

/* The hash of the primary's observations. */
static inline uint64_t copies_observed(const struct primary *primary)
{
	struct text bytes = {0};
	observed_pack(&primary->observed, 0, &bytes);
	uint64_t hash = hash_bytes(1, bytes.at, bytes.count);
	text_fini(&bytes);
	return hash;
}

static inline void copies_encode_ack(struct copies_secondary *side, const struct ack *ack, struct text *out)
{
	struct physics_stats stats = secondary_physics_stats(side->secondary);
	replica_stepped(side->replica, ack, &stats);
	wire_encode_ack(side->replica, &side->scratch, 0, out);
}

static inline bool copies_same_words(
	const struct primary *primary, const struct copies_secondary *side, uint32_t model, uint32_t words)
{
	const struct state *state = primary->shared->state, *copy = copies_shared(side)->state;
	return !memcmp(state_words(copy, model, false), state_words(state, model, false), words * sizeof(uint64_t));
}

/* Whether the state of the secondary (from 0) equals the primary's, for each model that the secondary simulates and for
 * its ghosts: after it decoded the step, except for commands that it has still to obey. */
static inline bool copies_agree(const struct primary *primary, const struct copies_secondary *side, uint32_t secondary)
{
	const struct scene *scene = primary->shared->scene;
	const struct plan *plan = &primary->plan;
	const ghost_list *ghosts = &plan->placement.ghosts.now;
	bool same = true;
	for (uint32_t m = 0; m < scene->model_count && !plan->placement.parts[secondary].command_count; m++)
		if (plan->placement.ownership.now.model[m] == secondary + 1)
			same = same && copies_same_words(primary, side, m, primary->shared->state->models[m].words);
	for (uint32_t i = 0; i < ghosts->count; i++) {
		uint32_t model = ghosts->at[i].model;
		uint32_t words = scene->models[model].body_count * (uint32_t)(sizeof(struct body_state) / 8);
		if (ghosts->at[i].secondary == secondary + 1)
			same = same && copies_same_words(primary, side, model, words);
	}
	return same;
}

#endif
