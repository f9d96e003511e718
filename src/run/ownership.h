/* Which secondary simulates each model and level, kept from step to step. Between two steps little of the world
 * changes. So the components (assign/components.h) are told the changes, and the policy sees only the open
 * components: those whose nodes are on several secondaries or on none. It sees the rest of each secondary's load as a
 * sum. When the policy asks for more, it sees the whole world; the outcome is the same as if it had seen the whole
 * world in every step (for balanced: nearly, see assign_balanced()).
 *
 *   ownership_mark(&ownership, model);            its levels, pin or existence changed
 *   ownership_link(&ownership, a, b);             both must be on one secondary
 *   ownership_find(&ownership, &view);            assigns the open components: ownership.part
 *   ownership_commit(&ownership);                 makes that the world's: ownership.now, and the
 * changes
 *
 * Thread: the primary's, between steps. Allocates only when the world, or what changes in a step, is larger than ever.
 */
#ifndef RUN_OWNERSHIP_H
#define RUN_OWNERSHIP_H

#include "assign/assign.h"
#include "assign/components.h"
#include "level/tracker.h"
#include "run/cost.h"

/* What ownership_find() reads; the caller's. */
struct ownership_input {
	const struct scene *scene;
	const struct tracker *tracker;
	const bool *active;                    /* [model_count] */
	const bool *loaded;                    /* [level_count] */
	const bool *is_mover;                  /* [model_count] */
	const uint32_t *model_pin, *level_pin; /* NULL: no model or level is pinned */
	const uint32_t
		*cost_ns;   /* [model_count] what a step of each costs, see run/cost.h; NULL: the policy does not ask */
	uint32_t body_cost; /* ns: the guess for a body of a model with unknown cost */
	uint32_t move_cost; /* see assign.h */
	uint32_t horizon;
};

struct ownership_change {
	uint32_t id;       /* model or level */
	uint32_t from, to; /* secondaries; ASSIGN_NONE: no secondary */
	bool again;        /* the model is to be taken over anew, also when from and to are the same */
};

/* The part of the world that the policy is asked about: `models` and `levels` are lists of indices; the other arrays
 * are indexed by place in these lists. */
struct ownership_part {
	indices models, levels;
	uint32_t component_count;
	uint32_t *model_component, *level_component; /* COMPONENTS_NONE: not loaded */
	struct assignment now;
	VEC(uint32_t) moved_to; /* [component_count] or empty, see ownership_move(); 0: not moved */

	/* private */
	uint32_t model_room, level_room;
	bool *active, *is_mover, *entered, *loaded, *has_performer;
	uint32_t *model_pin, *level_pin, *level_near, *model_cost;
};

struct ownership {
	uint32_t secondaries, level_count;
	const struct assign_policy *policy;
	struct assignment now;                       /* of the whole world; component_of is not used */
	VEC(struct ownership_change) models, levels; /* of the last commit, by index */
	bool dirty;                                  /* ownership_find() has something to do */
	struct ownership_part part;

	/* private; nodes are levels, then models */
	struct components components;
	uint32_t room; /* models */
	VEC(uint32_t) marked;
	bool *is_marked; /* [nodes] */
	bool *entered;   /* [room] the model entered a level since the last commit */
	VEC(uint32_t) entries;
	uint64_t *taken; /* a bit for each node of an open component, while they are listed */
	bool all;
	bool anew;                /* ownership_deal_anew() */
	uint32_t *weight;         /* [room] ns: what the model adds to `have`; 0: nothing */
	struct assign_load *have; /* [N + 1] load of each secondary that is not in the part */
	VEC(uint32_t) homes;      /* models with a home: they may return to it */
	uint32_t *leader;         /* [level_count] for levels just loaded: the lowest performer near; COMPONENTS_NONE */
	indices wanted;           /* scratch */
	struct assign_scratch scratch;
};

/* secondaries >= 1 */
void ownership_init(
	struct ownership *ownership, uint32_t secondaries, uint32_t level_count, const struct assign_policy *policy);
void ownership_fini(struct ownership *ownership);
/* Grows the arrays to `models` models. */
void ownership_fit(struct ownership *ownership, uint32_t models);

/* Marks a model for ownership_find(). A performer must be marked when its levels changed; a model when its pin or
 * existence did. */
void ownership_mark(struct ownership *ownership, uint32_t model);
void ownership_mark_level(struct ownership *ownership, uint32_t level); /* the level was loaded or unloaded */
void ownership_entered(struct ownership *ownership, uint32_t model);    /* the model entered another level */
/* Two models must be on one secondary, whatever their levels, from ownership_link() until ownership_cut(). */
void ownership_link(struct ownership *ownership, uint32_t a, uint32_t b);
void ownership_cut(struct ownership *ownership, uint32_t a, uint32_t b);
/* The policy is to see the whole world. */
void ownership_open_all(struct ownership *ownership);
/* Everything is to be assigned among so many secondaries as if it had not been assigned before; at most as many
 * secondaries as at first. */
void ownership_deal_anew(struct ownership *ownership, uint32_t secondaries);
/* Removes all links, and marks everything. */
void ownership_reset(struct ownership *ownership);

void ownership_find(struct ownership *ownership, const struct ownership_input *view);
/* Overrides the policy: a component of the part goes to this secondary, which takes all its models over anew. */
void ownership_move(struct ownership *ownership, uint32_t component, uint32_t secondary);
/* The result of ownership_find() becomes the world's assignment; all marks are cleared. */
void ownership_commit(struct ownership *ownership);

/* Numbers the components of the whole world in the order of their first nodes, models before levels. COMPONENTS_NONE:
 * no secondary has the node. */
void ownership_number(struct ownership *ownership, uint32_t models, uint32_t *ret_models, uint32_t *ret_levels);

#endif
