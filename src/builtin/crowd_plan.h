/* What people do: behaviours of Menge, <BFSM>. Each person is in a state, which gives it a goal and a way to get there;
 * a transition whose condition holds leads to another state.
 *
 *     <State name final><GoalSelector type goal_set goal/><VelComponent type file_name/></State>
 *     <Transition from to><Condition type .../><Target type="prob"><State name weight/></Target></Transition>
 *     <GoalSet id><Goal id type x y weight capacity/></GoalSet>
 *
 * GoalSelector: explicit, nearest, farthest, random, weighted. VelComponent: nav_mesh, goal, zero. Condition: auto,
 * goal_reached (distance), timer (per_agent, dist c: value, dist u: min max), not, and, or. Target: prob. Goal: point;
 * circle (radius); AABB (min_x min_y max_x max_y). from: names with commas between. Other types, and names that no
 * state has, are refused with file:line. Of other elements sdf/menge.c warns. */
#ifndef BUILTIN_CROWD_PLAN_H
#define BUILTIN_CROWD_PLAN_H

#include "builtin/crowd_mesh.h"

enum { CROWD_PLAN_MAX = 10000, CROWD_PLAN_NONE = UINT32_MAX };

enum crowd_move { CROWD_STANDS, CROWD_STRAIGHT, CROWD_ON_MESH };

struct crowd_goal {
	struct orca_vec low, high; /* a box; of a point and a circle both are the place, or the centre */
	double radius, weight;
	uint32_t id, capacity; /* capacity: of people for whom it is the goal at the same time */
};

struct crowd_state {
	enum crowd_move move;
	enum crowd_chooses {
		CROWD_NO_GOAL,
		CROWD_EXPLICIT,
		CROWD_NEAREST,
		CROWD_FARTHEST,
		CROWD_RANDOM,
		CROWD_WEIGHTED
	} chooses;
	uint32_t goal_first, goal_count; /* of its set; CROWD_EXPLICIT: one */
	struct crowd_mesh *mesh;         /* CROWD_ON_MESH */
	const uint32_t *ways;            /* CROWD_ON_MESH: for each goal of the set */
	uint32_t transition_first, transition_count;
};

struct crowd_plan {
	struct crowd_state_name {
		const char *text;
		uint32_t state;
	} * names; /* of all states, in alphabetic order */
	struct crowd_state *states;
	struct crowd_goal *goals;
	struct crowd_transition *transitions;
	struct crowd_condition *conditions;
	struct crowd_target *targets;
	uint32_t state_count, goal_count, transition_count, condition_count, target_count;
};

/* Meshes by the name with which the plan refers to them. */
struct crowd_named_mesh {
	const char *name;
	struct crowd_mesh *mesh;
};

/* element: the <BFSM>. False: it was refused. */
bool crowd_plan_read(struct troupe_system *self, const struct troupe_element *element,
	const struct crowd_named_mesh *meshes, uint32_t mesh_count, struct crowd_plan *plan);
/* CROWD_PLAN_NONE: there is no state of that name. */
uint32_t crowd_plan_state(const struct crowd_plan *plan, const char *name);

/* A person that decides. */
struct crowd_person {
	const struct troupe_system *self; /* whose random numbers are used */
	uint32_t number;
	struct orca_vec place;
	uint32_t state, goal; /* goal: CROWD_PLAN_NONE: it has none */
	uint64_t entered_ns, now_ns;
};

/* The goal in its state, just entered: one whose capacity is not used up. used: for each goal. CROWD_PLAN_NONE: none is
 * free, or the state has none. */
uint32_t crowd_plan_choose_goal(const struct crowd_plan *plan, const struct crowd_person *person, const uint32_t *used);
/* The state after this moment, which may be the same one, entered again. CROWD_PLAN_NONE: no transition leads away. */
uint32_t crowd_plan_next(const struct crowd_plan *plan, const struct crowd_person *person);
/* The point of the goal that is nearest to a place. */
struct orca_vec crowd_goal_point(const struct crowd_goal *goal, struct orca_vec from);

#endif
