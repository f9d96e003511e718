/* Who simulates what, kept from step to step. Between two steps little of the world changes: the components
 * (assign/components.h) are told what, and only those that are to be decided about, since their nodes come from several
 * secondaries or from none, are given to the policy; what the secondaries have besides stands beside them as a sum.
 * When the policy says that it must see the others as well, it sees the whole world; the outcome is the same as if it
 * had seen it in every step (of balanced: nearly, see assign_balanced()).
 *
 *   roster_mark(&roster, model);            levels in or near, pin, existence changed
 *   roster_link(&roster, a, b);             they are to be together
 *   roster_find(&roster, &view);            the assignment of what is open, in roster.part
 *   roster_commit(&roster);                 which is from now on that of the world: roster.now and the changes
 *
 * Thread: the primary's, between steps. Allocates only when the world or what changes in a step is larger than ever. */
#ifndef RUN_ROSTER_H
#define RUN_ROSTER_H

#include "assign/assign.h"
#include "assign/components.h"
#include "level/tracker.h"

/* What it looks at; the caller's. */
struct roster_view {
	const struct scene *scene;
	const struct tracker *tracker;
	const bool *active;                    /* [model_count] */
	const bool *loaded;                    /* [level_count] */
	const bool *is_mover;                  /* [model_count] */
	const uint32_t *model_pin, *level_pin; /* NULL: nobody is pinned */
	const uint32_t
		*cost_ns;   /* [model_count] that a step of each takes, COST_UNKNOWN; NULL: the policy does not ask */
	uint32_t body_cost; /* ns: a guess for a body of those of which nothing is known */
	uint32_t move_cost; /* see assign.h */
	uint32_t horizon;
};

struct roster_change {
	uint32_t id;       /* model or level */
	uint32_t from, to; /* secondaries; ASSIGN_NONE: nobody */
	bool again;        /* from and to may be the same: it is to be taken over anew */
};

/* What of the world the policy is asked about: its models and levels by index, and all by place in these lists. */
struct roster_part {
	indices models, levels;
	uint32_t component_count;
	uint32_t *model_component, *level_component; /* COMPONENTS_NONE: not loaded */
	struct assignment now;
	VEC(uint32_t) moved_to; /* [component_count], or empty: see roster_move(); 0: nowhere */

	/* private */
	uint32_t model_room, level_room;
	bool *active, *is_mover, *entered, *loaded, *has_performer;
	uint32_t *model_pin, *level_pin, *level_near, *model_cost;
};

struct roster {
	uint32_t secondaries, level_count;
	const struct assign_policy *policy;
	struct assignment now;                    /* of the whole world; component_of is not used */
	VEC(struct roster_change) models, levels; /* of the last commit, by index */
	bool dirty;                               /* there is something to find */
	struct roster_part part;

	/* private; nodes are levels, then models */
	struct components components;
	uint32_t room; /* models */
	VEC(uint32_t) marked;
	bool *is_marked; /* [nodes] */
	bool *entered;   /* [room] a level since the last commit */
	VEC(uint32_t) entries;
	uint64_t *taken; /* a bit for each node */
	bool all;
	bool anew;                /* roster_deal_anew() */
	uint32_t *weight;         /* [room] ns: what it counts in `have`; 0: it does not */
	struct assign_load *have; /* [N + 1] what each secondary has that is not in part */
	VEC(uint32_t) homes;      /* models that have a home: they may return */
	uint32_t *leader;         /* [level_count] of levels just loaded: the lowest performer near; COMPONENTS_NONE */
	indices wanted;           /* scratch */
	struct assign_scratch scratch;
};

/* secondaries >= 1 */
void roster_init(struct roster *roster, uint32_t secondaries, uint32_t level_count, const struct assign_policy *policy);
void roster_fini(struct roster *roster);
/* There is room for so many models. */
void roster_fit(struct roster *roster, uint32_t models);

/* What is marked is looked at in roster_find(): all performers whose sets of levels changed, for one. */
void roster_mark(struct roster *roster, uint32_t model);
void roster_mark_level(struct roster *roster, uint32_t level); /* it was loaded or unloaded */
void roster_entered(struct roster *roster, uint32_t model);    /* a level that it was not in before */
/* Two models are to be together, whatever their levels; until they are not. */
void roster_link(struct roster *roster, uint32_t a, uint32_t b);
void roster_cut(struct roster *roster, uint32_t a, uint32_t b);
/* The policy is to see all. */
void roster_open_all(struct roster *roster);
/* All is to be dealt out among so many secondaries as if nobody had had it; at most as many as at first. */
void roster_deal_anew(struct roster *roster, uint32_t secondaries);
/* Nothing is linked, all is to be looked at. */
void roster_reset(struct roster *roster);

void roster_find(struct roster *roster, const struct roster_view *view);
/* Against the policy: a component of the part goes there, and all its models are taken over anew. */
void roster_move(struct roster *roster, uint32_t component, uint32_t secondary);
/* What was found is the world's, and nothing is marked any more. */
void roster_commit(struct roster *roster);

/* The number of each node's component in the whole world, in the order of their first nodes, models before levels;
 * COMPONENTS_NONE: nobody has it. */
void roster_number(struct roster *roster, uint32_t models, uint32_t *ret_models, uint32_t *ret_levels);

#endif
