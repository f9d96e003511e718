/* Which number of a random sequence decides depends on the person, on when it entered its state and on what is decided:
 * so nothing has to be remembered, and the same run has the same people. */
#include "builtin/crowd_plan.h"

#include "builtin/parts.h"

#include <stdlib.h>
#include <string.h>

enum { CROWD_PLAN_DEPTH_MAX = 16, CROWD_PLAN_SET_MAX = 1000000 };
enum { CROWD_PLAN_OF_GOALS, CROWD_PLAN_OF_TARGETS, CROWD_PLAN_OF_TIMERS, CROWD_PLAN_SEQUENCES };

struct crowd_condition {
	enum crowd_when { CROWD_ALWAYS, CROWD_REACHED, CROWD_TIMER, CROWD_NOT, CROWD_AND, CROWD_OR } when;
	double distance, low_s, high_s;
	bool for_all;      /* a timer that is the same for all people */
	uint32_t parts[2]; /* conditions */
};

struct crowd_target {
	uint32_t state;
	double weight;
};

struct crowd_transition {
	uint32_t condition, target_first, target_count;
	double weight; /* of all targets */
};

/* --- names -------------------------------------------------------------------------------------------------------- */

struct crowd_plan_key {
	const char *text; /* need not end with '\0' */
	size_t length;
};

static int crowd_plan_compare(const void *key, const void *name)
{
	const struct crowd_plan_key *k = key;
	const char *text = ((const struct crowd_state_name *)name)->text;
	int order = strncmp(k->text, text, k->length);
	return order ? order : text[k->length] ? -1 : 0;
}

/* Equal names by their states. */
static int crowd_plan_order(const void *a, const void *b)
{
	const struct crowd_state_name *x = a, *y = b;
	int order = strcmp(x->text, y->text);
	return order ? order : (x->state > y->state) - (x->state < y->state);
}

static uint32_t crowd_plan_find(const struct crowd_plan *plan, struct crowd_plan_key key)
{
	const struct crowd_state_name *found =
		bsearch(&key, plan->names, plan->state_count, sizeof *plan->names, crowd_plan_compare);
	return found ? found->state : CROWD_PLAN_NONE;
}

uint32_t crowd_plan_state(const struct crowd_plan *plan, const char *name)
{
	return crowd_plan_find(plan, (struct crowd_plan_key){name, strlen(name)});
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

struct crowd_reader {
	struct troupe_system *self;
	struct crowd_plan *plan;
	const struct crowd_named_mesh *meshes;
	const uint32_t *set_ids, *set_firsts; /* of sets of goals; set_firsts[set_count]: the end */
	uint32_t mesh_count, set_count;
	bool failed;
};

#define crowd_plan_refuse(r, ...) ((r)->self->host->refuse((r)->self, __VA_ARGS__), (r)->failed = true)

static const char *crowd_plan_text(const struct crowd_reader *r, const struct troupe_element *at, const char *name)
{
	const char *text = r->self->host->attribute(at, name);
	return text ? text : "";
}

static double crowd_plan_number(struct crowd_reader *r, const struct troupe_element *at, const char *name, double low,
	double high, double otherwise)
{
	const char *text = r->self->host->attribute(at, name);
	double value = otherwise;
	if (!text)
		return otherwise;
	if (!builtin_numbers_of(text, &value, 1) || !(value >= low && value <= high))
		crowd_plan_refuse(r, at, "%s of <%s> is \"%.40s\": expected a number from %g to %g", name,
			r->self->host->name_of(at), text, low, high);
	return value;
}

static double crowd_plan_needed(
	struct crowd_reader *r, const struct troupe_element *at, const char *name, double low, double high)
{
	if (!r->self->host->attribute(at, name))
		crowd_plan_refuse(r, at, "<%s> has no %s: expected a number", r->self->host->name_of(at), name);
	return crowd_plan_number(r, at, name, low, high, low);
}

/* The index of the type in words, which end with NULL. */
static uint32_t crowd_plan_type(struct crowd_reader *r, const struct troupe_element *at, const char *const *words)
{
	const char *type = crowd_plan_text(r, at, "type");
	for (uint32_t i = 0; words[i]; i++)
		if (!strcmp(type, words[i]))
			return i;
	crowd_plan_refuse(r, at, "type of <%s> is \"%.40s\": expected %s, or another one that is known",
		r->self->host->name_of(at), type, words[0]);
	return 0;
}

static uint32_t crowd_plan_count(struct crowd_reader *r, const struct troupe_element *parent, const char *name)
{
	const struct troupe_element *at = NULL;
	uint32_t count = 0;
	while ((at = r->self->host->child(parent, name, at)))
		count++;
	if (count > CROWD_PLAN_MAX)
		crowd_plan_refuse(r, parent, "<%s> has %u <%s>: expected at most %d", r->self->host->name_of(parent),
			count, name, CROWD_PLAN_MAX);
	return count;
}

static void crowd_plan_read_goal(struct crowd_reader *r, const struct troupe_element *at, struct crowd_goal *goal)
{
	static const char *const types[] = {"point", "circle", "AABB", NULL};
	uint32_t type = crowd_plan_type(r, at, types);
	goal->id = (uint32_t)crowd_plan_needed(r, at, "id", 0, CROWD_PLAN_SET_MAX);
	goal->weight = crowd_plan_number(r, at, "weight", 0, BUILTIN_NUMBER_MAX, 1);
	goal->capacity = (uint32_t)crowd_plan_number(r, at, "capacity", 0, BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	goal->low.x = crowd_plan_needed(r, at, type == 2 ? "min_x" : "x", -1e6, 1e6);
	goal->low.y = crowd_plan_needed(r, at, type == 2 ? "min_y" : "y", -1e6, 1e6);
	goal->high = goal->low;
	if (type == 1)
		goal->radius = crowd_plan_needed(r, at, "radius", 0, 1e6);
	if (type == 2) {
		goal->high.x = crowd_plan_needed(r, at, "max_x", goal->low.x, 1e6);
		goal->high.y = crowd_plan_needed(r, at, "max_y", goal->low.y, 1e6);
	}
}

static void crowd_plan_read_goals(struct crowd_reader *r, const struct troupe_element *root)
{
	const struct troupe_host *host = r->self->host;
	const struct troupe_element *set = NULL, *at = NULL;
	uint32_t count = 0, filled = 0;
	r->set_count = crowd_plan_count(r, root, "GoalSet");
	while ((set = host->child(root, "GoalSet", set)) && count <= CROWD_PLAN_MAX)
		count += crowd_plan_count(r, set, "Goal");
	if (count > CROWD_PLAN_MAX)
		crowd_plan_refuse(r, root, "%u goals: expected at most %d", count, CROWD_PLAN_MAX);
	if (r->failed)
		return;
	uint32_t *ids = host->alloc(r->self, (r->set_count + 1) * sizeof *ids);
	uint32_t *firsts = host->alloc(r->self, (r->set_count + 1) * sizeof *firsts);
	r->plan->goals = host->alloc(r->self, (count + 1) * sizeof *r->plan->goals);
	for (uint32_t s = 0; s < r->set_count && !r->failed; s++) {
		set = host->child(root, "GoalSet", set);
		ids[s] = (uint32_t)crowd_plan_needed(r, set, "id", 0, CROWD_PLAN_SET_MAX);
		while ((at = host->child(set, "Goal", at)))
			crowd_plan_read_goal(r, at, &r->plan->goals[filled++]);
		firsts[s + 1] = filled;
	}
	r->plan->goal_count = filled;
	r->set_ids = ids;
	r->set_firsts = firsts;
}

/* The goals from which a state chooses. */
static void crowd_plan_read_selector(struct crowd_reader *r, const struct troupe_element *at, struct crowd_state *state)
{
	static const char *const types[] = {"explicit", "nearest", "farthest", "random", "weighted", NULL};
	uint32_t id = (uint32_t)crowd_plan_needed(r, at, "goal_set", 0, CROWD_PLAN_SET_MAX), set = 0;
	state->chooses = CROWD_EXPLICIT + crowd_plan_type(r, at, types);
	while (set < r->set_count && r->set_ids[set] != id)
		set++;
	if (set == r->set_count || r->set_firsts[set] == r->set_firsts[set + 1]) {
		crowd_plan_refuse(r, at, "goal_set is %u: expected the id of a <GoalSet> with goals", id);
		return;
	}
	state->goal_first = r->set_firsts[set];
	state->goal_count = r->set_firsts[set + 1] - state->goal_first;
	if (state->chooses != CROWD_EXPLICIT)
		return;
	uint32_t wanted = (uint32_t)crowd_plan_needed(r, at, "goal", 0, CROWD_PLAN_SET_MAX);
	for (uint32_t i = 0; i < state->goal_count; i++)
		if (r->plan->goals[state->goal_first + i].id == wanted) {
			state->goal_first += i;
			state->goal_count = 1;
			return;
		}
	crowd_plan_refuse(r, at, "goal is %u: expected the id of a <Goal> of the set %u", wanted, id);
}

static void crowd_plan_read_ways(struct crowd_reader *r, const struct troupe_element *at, struct crowd_state *state)
{
	const char *name = crowd_plan_text(r, at, "file_name");
	for (uint32_t i = 0; i < r->mesh_count && !state->mesh; i++)
		if (!strcmp(r->meshes[i].name, name))
			state->mesh = r->meshes[i].mesh;
	if (!state->mesh) {
		crowd_plan_refuse(r, at, "the navigation mesh \"%.80s\" is not there", name);
		return;
	}
	uint32_t *ways = r->self->host->alloc(r->self, (state->goal_count + 1) * sizeof *ways);
	for (uint32_t i = 0; i < state->goal_count && !r->failed; i++) {
		const struct crowd_goal *goal = &r->plan->goals[state->goal_first + i];
		struct orca_vec middle = orca_scale(orca_add(goal->low, goal->high), 0.5);
		r->failed |= !crowd_mesh_find_ways(r->self, at, state->mesh, middle, &ways[i]);
	}
	state->ways = ways;
}

static void crowd_plan_read_state(struct crowd_reader *r, const struct troupe_element *at, struct crowd_state *state)
{
	static const char *const types[] = {"nav_mesh", "goal", "zero", NULL};
	static const enum crowd_move moves[] = {CROWD_ON_MESH, CROWD_STRAIGHT, CROWD_STANDS};
	const struct troupe_host *host = r->self->host;
	const struct troupe_element *selector = host->child(at, "GoalSelector", NULL);
	const struct troupe_element *velocity = host->child(at, "VelComponent", NULL);
	if (crowd_plan_number(r, at, "final", 0, 1, 0) != 0)
		return; /* it stands */
	if (selector)
		crowd_plan_read_selector(r, selector, state);
	if (r->failed || !velocity)
		return;
	state->move = moves[crowd_plan_type(r, velocity, types)];
	if (state->move != CROWD_STANDS && !selector)
		crowd_plan_refuse(r, velocity, "<State> \"%.80s\" moves: expected a <GoalSelector>",
			crowd_plan_text(r, at, "name"));
	else if (state->move == CROWD_ON_MESH)
		crowd_plan_read_ways(r, velocity, state);
}

static void crowd_plan_read_names(struct crowd_reader *r, const struct troupe_element *root)
{
	struct crowd_plan *plan = r->plan;
	const struct troupe_element *at = NULL;
	uint32_t wrong = CROWD_PLAN_NONE;
	plan->names = r->self->host->alloc(r->self, (plan->state_count + 1) * sizeof *plan->names);
	for (uint32_t i = 0; i < plan->state_count; i++) {
		at = r->self->host->child(root, "State", at);
		plan->names[i] = (struct crowd_state_name){crowd_plan_text(r, at, "name"), i};
	}
	qsort(plan->names, plan->state_count, sizeof *plan->names, crowd_plan_order);
	for (uint32_t i = 0; i < plan->state_count; i++)
		if (plan->names[i].state < wrong &&
			(!*plan->names[i].text || (i && !strcmp(plan->names[i].text, plan->names[i - 1].text))))
			wrong = plan->names[i].state;
	for (uint32_t i = 0; wrong != CROWD_PLAN_NONE && i <= wrong; i++)
		at = r->self->host->child(root, "State", i ? at : NULL);
	if (wrong != CROWD_PLAN_NONE)
		crowd_plan_refuse(
			r, at, "name of <State> is \"%.80s\": expected one of its own", crowd_plan_text(r, at, "name"));
}

static void crowd_plan_read_states(struct crowd_reader *r, const struct troupe_element *root)
{
	struct crowd_plan *plan = r->plan;
	const struct troupe_element *at = NULL;
	uint32_t count = crowd_plan_count(r, root, "State");
	if (r->failed)
		return;
	plan->states = r->self->host->alloc(r->self, (count + 1) * sizeof *plan->states);
	plan->state_count = count;
	crowd_plan_read_names(r, root);
	for (uint32_t i = 0; i < count && !r->failed; i++) {
		at = r->self->host->child(root, "State", at);
		crowd_plan_read_state(r, at, &plan->states[i]);
	}
}

static uint32_t crowd_plan_count_conditions(
	const struct crowd_reader *r, const struct troupe_element *parent, uint32_t depth)
{
	const struct troupe_element *at = NULL;
	uint32_t count = 0;
	while (depth < CROWD_PLAN_DEPTH_MAX && count <= CROWD_PLAN_MAX &&
		(at = r->self->host->child(parent, "Condition", at)))
		count += 1 + crowd_plan_count_conditions(r, at, depth + 1);
	return count;
}

static void crowd_plan_read_timer(
	struct crowd_reader *r, const struct troupe_element *at, struct crowd_condition *condition)
{
	bool constant = !strcmp(crowd_plan_text(r, at, "dist"), "c");
	const char *per_agent = crowd_plan_text(r, at, "per_agent");
	condition->for_all = !strcmp(per_agent, "0") || !strcmp(per_agent, "false") || !strcmp(per_agent, "False");
	if (!constant && strcmp(crowd_plan_text(r, at, "dist"), "u") != 0)
		crowd_plan_refuse(
			r, at, "dist of a timer is \"%.40s\": expected c or u", crowd_plan_text(r, at, "dist"));
	condition->low_s = crowd_plan_needed(r, at, constant ? "value" : "min", 0, BUILTIN_NUMBER_MAX);
	condition->high_s =
		constant ? condition->low_s : crowd_plan_needed(r, at, "max", condition->low_s, BUILTIN_NUMBER_MAX);
}

/* Returns its index. */
static uint32_t crowd_plan_read_condition(struct crowd_reader *r, const struct troupe_element *at, uint32_t depth)
{
	static const char *const types[] = {"auto", "goal_reached", "timer", "not", "and", "or", NULL};
	const struct troupe_element *part = NULL;
	uint32_t index = r->plan->condition_count++;
	struct crowd_condition *condition = &r->plan->conditions[index];
	condition->when = (enum crowd_when)crowd_plan_type(r, at, types);
	if (condition->when == CROWD_REACHED)
		condition->distance = crowd_plan_needed(r, at, "distance", 0, BUILTIN_NUMBER_MAX);
	if (condition->when == CROWD_TIMER)
		crowd_plan_read_timer(r, at, condition);
	uint32_t wanted = condition->when == CROWD_NOT ? 1 : condition->when > CROWD_NOT ? 2 : 0;
	for (uint32_t i = 0; i < wanted && !r->failed; i++) {
		part = r->self->host->child(at, "Condition", part);
		if (!part || depth == CROWD_PLAN_DEPTH_MAX - 1)
			crowd_plan_refuse(r, at, "%s: expected %u <Condition> in it, at most %d deep",
				types[condition->when], wanted, CROWD_PLAN_DEPTH_MAX);
		else
			condition->parts[i] = crowd_plan_read_condition(r, part, depth + 1);
	}
	return index;
}

static void crowd_plan_add_target(struct crowd_reader *r, const struct troupe_element *at, const char *name,
	double weight, struct crowd_transition *transition)
{
	uint32_t state = crowd_plan_state(r->plan, name);
	if (state == CROWD_PLAN_NONE)
		crowd_plan_refuse(r, at, "\"%.80s\": expected the name of a <State>", name);
	r->plan->targets[r->plan->target_count++] = (struct crowd_target){state, weight};
	transition->target_count++;
	transition->weight += weight;
}

static void crowd_plan_read_transition(
	struct crowd_reader *r, const struct troupe_element *at, struct crowd_transition *transition)
{
	static const char *const targets[] = {"prob", NULL};
	const struct troupe_host *host = r->self->host;
	const struct troupe_element *condition = host->child(at, "Condition", NULL), *target, *state = NULL;
	const char *to = crowd_plan_text(r, at, "to");
	transition->target_first = r->plan->target_count;
	if (!condition) {
		crowd_plan_refuse(r, at, "<Transition> has no <Condition>: expected one");
		return;
	}
	transition->condition = crowd_plan_read_condition(r, condition, 0);
	target = host->child(at, "Target", NULL);
	if (target)
		crowd_plan_type(r, target, targets);
	if (*to)
		crowd_plan_add_target(r, at, to, 1, transition);
	while (!*to && target && (state = host->child(target, "State", state)))
		crowd_plan_add_target(r, state, crowd_plan_text(r, state, "name"),
			crowd_plan_number(r, state, "weight", 0, BUILTIN_NUMBER_MAX, 1), transition);
	if (!r->failed && !(transition->weight > 0))
		crowd_plan_refuse(r, at, "<Transition> leads nowhere: expected to, or a <Target> with a <State> in it");
}

/* That a transition leads away from a state. */
struct crowd_plan_leaving {
	uint32_t state, transition;
};

/* How many names `from` has, with commas between. */
static uint32_t crowd_plan_count_names(const char *from)
{
	uint32_t count = 1;
	while ((from = strchr(from, ',')))
		count++, from++;
	return count;
}

/* Adds the states of `from`, each once. last: for each state the transition + 1 that was added last. */
static uint32_t crowd_plan_read_from(struct crowd_reader *r, const struct troupe_element *at, uint32_t transition,
	uint32_t *last, struct crowd_plan_leaving *leaving)
{
	uint32_t count = 0;
	const char *from = crowd_plan_text(r, at, "from");
	for (bool more = true; more && !r->failed;) {
		from += strspn(from, " \t");
		size_t bytes = strcspn(from, ","), length = bytes;
		while (length && strchr(" \t", from[length - 1]))
			length--;
		uint32_t state = crowd_plan_find(r->plan, (struct crowd_plan_key){from, length});
		if (state == CROWD_PLAN_NONE) {
			crowd_plan_refuse(r, at, "from has \"%.*s\": expected the name of a <State>",
				(int)(length < 80 ? length : 80), from);
		} else if (last[state] != transition + 1) {
			last[state] = transition + 1;
			leaving[count++] = (struct crowd_plan_leaving){state, transition};
		}
		more = from[bytes];
		from += bytes + more;
	}
	return count;
}

/* Returns how many names there are in all `from`; makes room for conditions and targets. */
static uint32_t crowd_plan_measure(struct crowd_reader *r, const struct troupe_element *root)
{
	const struct troupe_host *host = r->self->host;
	const struct troupe_element *at = NULL;
	uint32_t names = 0, conditions = 0, targets = 0;
	while (!r->failed && (at = host->child(root, "Transition", at))) {
		const struct troupe_element *target = host->child(at, "Target", NULL);
		names += crowd_plan_count_names(crowd_plan_text(r, at, "from"));
		conditions += crowd_plan_count_conditions(r, at, 0);
		targets += 1 + (target ? crowd_plan_count(r, target, "State") : 0);
		if (names > CROWD_PLAN_MAX || conditions > CROWD_PLAN_MAX || targets > CROWD_PLAN_MAX)
			crowd_plan_refuse(r, at,
				"too many names in from, conditions or targets: expected at most %d in all",
				CROWD_PLAN_MAX);
	}
	if (r->failed)
		return 0;
	r->plan->conditions = host->alloc(r->self, (conditions + 1) * sizeof *r->plan->conditions);
	r->plan->targets = host->alloc(r->self, (targets + 1) * sizeof *r->plan->targets);
	return names;
}

/* Lists for each state the transitions that lead away from it, in the order of the file. */
static void crowd_plan_list_transitions(struct crowd_reader *r, const struct crowd_transition *all,
	const struct crowd_plan_leaving *leaving, uint32_t count)
{
	struct crowd_plan *plan = r->plan;
	plan->transitions = r->self->host->alloc(r->self, (count + 1) * sizeof *plan->transitions);
	plan->transition_count = count;
	for (uint32_t i = 0; i < count; i++)
		plan->states[leaving[i].state].transition_count++;
	for (uint32_t s = 1; s < plan->state_count; s++)
		plan->states[s].transition_first =
			plan->states[s - 1].transition_first + plan->states[s - 1].transition_count;
	for (uint32_t s = 0; s < plan->state_count; s++)
		plan->states[s].transition_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct crowd_state *state = &plan->states[leaving[i].state];
		plan->transitions[state->transition_first + state->transition_count++] = all[leaving[i].transition];
	}
}

static void crowd_plan_read_transitions(struct crowd_reader *r, const struct troupe_element *root)
{
	const struct troupe_host *host = r->self->host;
	const struct troupe_element *at = NULL;
	uint32_t count = crowd_plan_count(r, root, "Transition"), filled = 0;
	uint32_t names = r->failed ? 0 : crowd_plan_measure(r, root);
	if (r->failed)
		return;
	struct crowd_transition *all = host->alloc(r->self, (count + 1) * sizeof *all);
	struct crowd_plan_leaving *leaving = host->alloc(r->self, (names + 1) * sizeof *leaving);
	uint32_t *last = host->alloc(r->self, (r->plan->state_count + 1) * sizeof *last);
	for (uint32_t i = 0; i < count && !r->failed; i++) {
		at = host->child(root, "Transition", at);
		filled += crowd_plan_read_from(r, at, i, last, &leaving[filled]);
		if (!r->failed)
			crowd_plan_read_transition(r, at, &all[i]);
	}
	if (!r->failed)
		crowd_plan_list_transitions(r, all, leaving, filled);
}

bool crowd_plan_read(struct troupe_system *self, const struct troupe_element *element,
	const struct crowd_named_mesh *meshes, uint32_t mesh_count, struct crowd_plan *plan)
{
	struct crowd_reader r = {.self = self, .plan = plan, .meshes = meshes, .mesh_count = mesh_count};
	crowd_plan_read_goals(&r, element);
	if (!r.failed)
		crowd_plan_read_states(&r, element);
	if (!r.failed)
		crowd_plan_read_transitions(&r, element);
	return !r.failed;
}

/* --- deciding ----------------------------------------------------------------------------------------------------- */

static double crowd_plan_random(const struct crowd_person *person, uint32_t what, uint64_t index)
{
	return person->self->host->random(person->self, person->number * CROWD_PLAN_SEQUENCES + what, index);
}

struct orca_vec crowd_goal_point(const struct crowd_goal *goal, struct orca_vec from)
{
	struct orca_vec point = {
		builtin_clamp(from.x, goal->low.x, goal->high.x), builtin_clamp(from.y, goal->low.y, goal->high.y)};
	struct orca_vec way = orca_sub(from, point);
	double distance = orca_length(way);
	if (!(goal->radius > 0))
		return point;
	return distance <= goal->radius ? from : orca_add(point, orca_scale(way, goal->radius / distance));
}

static double crowd_plan_distance(const struct crowd_goal *goal, struct orca_vec from)
{
	return orca_length(orca_sub(crowd_goal_point(goal, from), from));
}

/* How much speaks for a goal, among those that are drawn by lot. */
static double crowd_plan_share(const struct crowd_state *state, const struct crowd_goal *goal)
{
	return state->chooses == CROWD_WEIGHTED ? goal->weight : 1;
}

static uint32_t crowd_plan_draw_goal(const struct crowd_plan *plan, const struct crowd_state *state,
	const struct crowd_person *person, const uint32_t *used)
{
	double sum = 0, drawn = crowd_plan_random(person, CROWD_PLAN_OF_GOALS, person->entered_ns);
	uint32_t last = CROWD_PLAN_NONE;
	for (uint32_t i = state->goal_first; i < state->goal_first + state->goal_count; i++)
		sum += used[i] < plan->goals[i].capacity ? crowd_plan_share(state, &plan->goals[i]) : 0;
	drawn *= sum;
	for (uint32_t i = state->goal_first; i < state->goal_first + state->goal_count && !(drawn < 0); i++) {
		double share = crowd_plan_share(state, &plan->goals[i]);
		if (used[i] >= plan->goals[i].capacity || !(share > 0))
			continue;
		drawn -= share;
		last = i;
	}
	return last;
}

uint32_t crowd_plan_choose_goal(const struct crowd_plan *plan, const struct crowd_person *person, const uint32_t *used)
{
	const struct crowd_state *state = &plan->states[person->state];
	uint32_t best = CROWD_PLAN_NONE;
	double best_distance = 0;
	if (state->chooses >= CROWD_RANDOM)
		return crowd_plan_draw_goal(plan, state, person, used);
	for (uint32_t i = state->goal_first; i < state->goal_first + state->goal_count; i++) {
		double distance = crowd_plan_distance(&plan->goals[i], person->place);
		bool better = state->chooses == CROWD_FARTHEST ? distance > best_distance : distance < best_distance;
		if (used[i] < plan->goals[i].capacity && (best == CROWD_PLAN_NONE || better)) {
			best = i;
			best_distance = distance;
		}
	}
	return best;
}

static bool crowd_plan_time_is_up(
	const struct crowd_person *person, const struct crowd_condition *condition, uint32_t index)
{
	double part = condition->for_all ? person->self->host->random(person->self, UINT32_MAX, index)
					 : crowd_plan_random(person, CROWD_PLAN_OF_TIMERS, person->entered_ns + index);
	double until_s = condition->low_s + part * (condition->high_s - condition->low_s);
	return (double)(person->now_ns - person->entered_ns) >= until_s * 1e9;
}

static bool crowd_plan_holds(const struct crowd_plan *plan, const struct crowd_person *person, uint32_t index)
{
	const struct crowd_condition *condition = &plan->conditions[index];
	switch (condition->when) {
	case CROWD_ALWAYS:
		return true;
	case CROWD_REACHED:
		return person->goal != CROWD_PLAN_NONE &&
		       crowd_plan_distance(&plan->goals[person->goal], person->place) <= condition->distance;
	case CROWD_TIMER:
		return crowd_plan_time_is_up(person, condition, index);
	case CROWD_NOT:
		return !crowd_plan_holds(plan, person, condition->parts[0]);
	case CROWD_AND:
		return crowd_plan_holds(plan, person, condition->parts[0]) &&
		       crowd_plan_holds(plan, person, condition->parts[1]);
	case CROWD_OR:
		return crowd_plan_holds(plan, person, condition->parts[0]) ||
		       crowd_plan_holds(plan, person, condition->parts[1]);
	}
	return false;
}

static uint32_t crowd_plan_draw_target(
	const struct crowd_plan *plan, const struct crowd_person *person, const struct crowd_transition *transition)
{
	double drawn = transition->weight * crowd_plan_random(person, CROWD_PLAN_OF_TARGETS, person->now_ns);
	uint32_t state = CROWD_PLAN_NONE;
	for (uint32_t i = 0; i < transition->target_count && !(drawn < 0); i++) {
		const struct crowd_target *target = &plan->targets[transition->target_first + i];
		if (!(target->weight > 0))
			continue;
		drawn -= target->weight;
		state = target->state;
	}
	return state;
}

uint32_t crowd_plan_next(const struct crowd_plan *plan, const struct crowd_person *person)
{
	const struct crowd_state *state = &plan->states[person->state];
	for (uint32_t i = 0; i < state->transition_count; i++) {
		const struct crowd_transition *transition = &plan->transitions[state->transition_first + i];
		if (crowd_plan_holds(plan, person, transition->condition))
			return crowd_plan_draw_target(plan, person, transition);
	}
	return CROWD_PLAN_NONE;
}
