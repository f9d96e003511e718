/* A replica, as its files share it: replica.c makes it and answers questions, replica_follow.c follows the steps.
 * One thread. */
#ifndef RUN_REPLICA_INTERNAL_H
#define RUN_REPLICA_INTERNAL_H

#include "run/origin.h"
#include "run/replica.h"

struct replica {
	uint32_t number;
	struct origin origin;
	struct importer *importer;
	struct plugins *plugins;
	struct sdf *sdf;
	struct scene *scene;
	struct systems *systems;
	struct shared shared;
	struct edit edit;
	struct edit_visuals *visuals;
	bool ready; /* shared and edit are set up */
	/* the present contents */
	uint64_t next;     /* number of the next step */
	uint32_t *statics; /* [room] */
	uint64_t *own;     /* [room] ids of the models that the secondary simulates; 0: not this model */
	bool *ghosts;      /* [room] models that the secondary knows as ghosts */
	uint64_t *met;     /* [room] the last step with words of the model */
	bool *levels;      /* [levels] levels that are loaded here */
	bool *hidden;      /* [room] models that the sensors do not see */
	uint32_t room;
	uint64_t steps;
	uint32_t share_rounds; /* number of steps so far that were shared */
	VEC(struct physics_pair) pairs, pairs_next, near;
	bool began; /* a step has come */
	/* the present step */
	struct step step;
	struct step_part *parts; /* [number]: only the secondary's own part is used */
	VEC(struct change) changes;
	VEC(struct due_command) commands;
	VEC(ProtobufCMessage *) messages; /* of the commands */
	VEC(struct due_wrench) wrenches;
	indices surfaced; /* models whose surfaces have a control */
	/* reports */
	const struct ack *ack; /* of this step; NULL: none yet */
	struct physics_stats stats, stats_before;
	VEC(uint32_t) changed_before; /* ack.changed of the step before */
};

/* Makes room for as many models as the scene has room for. */
void replica_fit(struct replica *replica);
/* Frees the messages of the step's commands. */
void replica_free_commands(struct replica *replica);

#endif
