/* A world in the process of a secondary: scene, systems, and the states of the models that it simulates or sees. It is
 * made from the bytes that the primary sends, and follows the primary from one step to the next. It does not plan,
 * obey commands to the world, or find boxes: the primary sends the results.
 *
 *   replica_create(bytes of the world)
 *   for each step:  replica_follow(message) -> struct step;  secondary_step();  replica_stepped(ack)
 *
 * The state of step k that the secondaries left in `next` becomes the present state when step k+1 comes, because only
 * then is it certain that step k counts.
 *
 * Input is not trusted: TROUPE_EPROTOCOL (TROUPE_EWORLD for the world) says what is wrong. The replica must not be used
 * after that. Thread: one at a time. A warm step allocates nothing. */
#ifndef RUN_REPLICA_H
#define RUN_REPLICA_H

#include "run/edit.h"
#include "run/primary.h"
#include "run/surfaced.h"

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* The words of a model as they were received: lent, like all `bytes` of a message. */
struct replica_words {
	uint32_t model, count;
	const char *bytes;
};

struct replica_sensor {
	uint32_t model, index;
};

struct replica_change {
	struct change change;
	bool again;                 /* CHANGE_TAKE: with the words that the replica has */
	struct replica_words words; /* CHANGE_TAKE, not again */
};

struct replica_ghost {
	uint32_t model, count; /* count: the number of words of its bodies */
	bool whole;            /* all words follow; otherwise a list of the words that changed, and these */
	const char *bytes;
	size_t byte_count;
};

struct replica_static {
	uint32_t model, value;
};

struct replica_sense { /* zero: no sensor measures, and nothing changed */
	uint32_t secondaries;
	int64_t since_ns; /* time since the last state that was stepped */
	int64_t step_ns;
	bool changed, all; /* other sensors are wanted from now on: all, or those of the list */
	uint32_t count;    /* of wanted sensors, if changed */
	VEC(struct replica_sensor) wanted;
	VEC(struct replica_sensor) fired; /* cameras that were triggered */
	/* Its sensors look at the world: what they see of models that it does not simulate, with the words of the
	 * bodies of those that changed since they were seen last. */
	bool sees;
	VEC(struct replica_words) seen;
};

struct replica_command { /* the listener gives the type of the message */
	struct system_listener to;
	const char *bytes;
	size_t byte_count;
};

/* A step as it was received: complete, but not compared with the world yet. The bytes from which it was decoded must
 * stay until replica_follow(). */
struct replica_step {
	uint64_t number;
	double time_s, dt; /* dt: 0 if it did not come */
	bool paused, state_changed, statics_changed, world_changed, measure;
	bool again; /* see struct step, as for the next members */
	uint32_t window;
	enum step_origins origins;
	bool hashes;
	double even_since_s;
	uint64_t even_steps;
	VEC(struct physics_pair) near; /* as received */
	uint32_t observe;
	edit_changes edits;
	VEC(struct replica_change) changes;
	VEC(struct replica_words) written;
	VEC(struct replica_static) statics;
	bool pairs_changed;
	VEC(uint32_t) pairs_gone; /* indices, ascending */
	VEC(struct physics_pair) pairs_come;
	VEC(struct replica_ghost) ghosts;
	VEC(struct replica_command) commands;
	VEC(struct due_wrench) wrenches;
	VEC(struct surfaced_geom) surfaces;
	struct replica_sense sense;
};

void replica_step_clear(struct replica_step *step); /* empties it; memory is kept */
void replica_step_fini(struct replica_step *step);

/* --- at the primary ----------------------------------------------------------------------------------------------- */

/* Appends the primary's world. The caller has packed the origin (run/origin.h) before. Between steps. */
void replica_pack(struct primary *primary, struct text *out);
/* The value of replica_hash() for a replica of this state. */
uint64_t replica_hash_of(const struct primary *primary);

/* --- at a secondary ----------------------------------------------------------------------------------------------- */

struct replica;

/* bytes: an origin, then replica_pack(). number: of the secondary in this process, from 1. Reads no file but the
 * libraries of plug-ins; plugin_paths: as for plugins_create(). */
troupe_status replica_create(const char *bytes, size_t count, uint32_t number, enum physics_break rule,
	const char *const *plugin_paths, struct replica **ret_replica, struct troupe_error *error);
void replica_destroy(struct replica *replica);
/* Where it gets files that the world came without, from now on: lent. Its thread for meshes asks, too. */
void replica_fetch_from(struct replica *replica, const struct files_source *source);

struct shared *replica_shared(struct replica *replica);
uint32_t replica_number(const struct replica *replica);
/* The hash of the models' state and of the changes of the scene; the primary alone has the words of the world's
 * systems. */
uint64_t replica_hash(const struct replica *replica);

/* Goes to the step of the message: makes the results of the step before the present state, and follows the message.
 * share_over: if more models than this changed in the step before, helpers may take parts of the step; UINT32_MAX:
 * never. *ret_step: for secondary_step(); valid until the next call. */
troupe_status replica_follow(struct replica *replica, struct replica_step *message, uint32_t share_over,
	const struct step **ret_step, struct troupe_error *error);

/* A line about a mesh file that was read. The caller frees it. NULL: there is none. */
char *replica_take_warning(struct replica *replica);

/* Gives the results of the step that it followed last. ack: valid until the next replica_follow(). */
void replica_stepped(struct replica *replica, const struct ack *ack, const struct physics_stats *stats);

/* For the encoder of acks: the reports before this step. */
struct replica_report {
	const struct step *step;
	const struct ack *ack;
	struct physics_stats stats, stats_before;
	const uint32_t *changed_before;
	uint32_t changed_before_count;
};
struct replica_report replica_report(const struct replica *replica);

#endif
