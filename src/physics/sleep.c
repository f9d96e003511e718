/* Sleeping: a set of touching models that has been still for a while is not stepped until a model touches it or a
 * command acts on it.
 *
 * Whether a set sleeps in step k is a function of state k and of the commands of step k, so the history of a runner
 * does not matter: the set is exact (the pairs of state k), each model's count of still steps is a word of its state,
 * and the state of a sleeping model is the state of rest. What is remembered here (which models slept in the last
 * step) only saves work. Sleep is decided again when the pairs change, when a model is taken or its state was written
 * from outside, when a model is commanded, and for sets that are awake. */
#include "physics/internal.h"

#include <string.h>

/* Stillness is measured by how far a body moves in this time: less than 1 mm/s and 1 mrad/s would take it. Its speed
 * at one moment says less, because bodies held by the iterative solver twitch. ODE's own auto-disable uses 0.01 m/s,
 * which stops slow mechanisms. See bench/NOTES.md. */
#define STILL_M (0.001 * PHYSICS_STILL_S)
#define SLEEP_STILL_RAD (0.001 * PHYSICS_STILL_S)

uint64_t physics_sleep_steps(double dt)
{
	return (uint64_t)ceil(PHYSICS_STILL_S / dt);
}

/* --- stillness of one model -------------------------------------------------------------------------------------- */

static bool sleep_is_zero(struct vec3 v)
{
	return v.x == 0 && v.y == 0 && v.z == 0;
}

static bool sleep_is_at_rest(const struct body_state *bodies, uint32_t count)
{
	bool at_rest = true;
	for (uint32_t i = 0; i < count; i++)
		at_rest = at_rest && sleep_is_zero(bodies[i].v) && sleep_is_zero(bodies[i].w);
	return at_rest;
}

static bool sleep_is_near(const struct body_state *body, const struct body_anchor *anchor)
{
	struct vec3 gone = vec3_sub(body->p, anchor->p);
	struct quat turn = quat_mul(body->q, quat_conj(anchor->q));
	struct vec3 half = {turn.x, turn.y, turn.z}; /* of a small turn, in radians */
	return vec3_dot(gone, gone) <= STILL_M * STILL_M &&
	       4 * vec3_dot(half, half) <= SLEEP_STILL_RAD * SLEEP_STILL_RAD;
}

static bool sleep_are_near(const struct body_state *bodies, const struct body_anchor *anchors, uint32_t count)
{
	bool near = true;
	for (uint32_t i = 0; i < count; i++)
		near = near && sleep_is_near(&bodies[i], &anchors[i]);
	return near;
}

/* A commanded body that moves is never still, however slowly it moves. */
static bool sleep_is_commanded_away(
	const struct scene *scene, const struct scene_model *m, const struct body_state *bodies)
{
	bool moves = false;
	for (uint32_t i = 0; i < m->body_count; i++)
		moves = moves || (scene->bodies[m->body_first + i].commanded && !sleep_is_at_rest(&bodies[i], 1));
	return moves;
}

void sleep_count(struct physics *physics, struct instance *instance, double dt)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	uint64_t now = *state_still(physics->state, instance->model, false);
	const struct body_state *bodies = state_bodies(physics->state, instance->model, true);
	const struct body_anchor *before = state_anchors(physics->state, instance->model, false);
	struct body_anchor *anchors = state_anchors(physics->state, instance->model, true);
	/* a body that drifts slowly through empty space is moving: unless it is completely at rest, something must
	 * hold it */
	bool held = instance->held || instance->touched || sleep_is_at_rest(bodies, m->body_count);
	bool may_rest =
		m->may_sleep && !instance->disturbed && held && !sleep_is_commanded_away(physics->scene, m, bodies);
	bool still = may_rest && now && sleep_are_near(bodies, before, m->body_count);
	for (uint32_t i = 0; i < m->body_count; i++)
		anchors[i] = still ? before[i] : (struct body_anchor){bodies[i].p, bodies[i].q};
	*state_still(physics->state, instance->model, true) = still ? MIN(now + 1, physics_sleep_steps(dt)) : may_rest;
}

/* --- sets --------------------------------------------------------------------------------------------------------- */

static bool sleep_is_due(const struct physics *physics, const uint32_t *members, uint32_t count, uint64_t steps)
{
	if (physics->options.sleepless)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (*state_still(physics->state, members[i], false) < steps ||
			physics->instances[members[i]]->disturbed)
			return false;
	return true;
}

/* Writes the state of rest. False when the state was that already. */
static bool sleep_put_to_rest(struct physics *physics, uint32_t model)
{
	const struct scene_model *m = &physics->scene->models[model];
	if (sleep_is_at_rest(state_bodies(physics->state, model, false), m->body_count))
		return false;
	memcpy(state_words(physics->state, model, true), state_words(physics->state, model, false),
		physics->state->models[model].system_first * sizeof(uint64_t));
	state_keep_impulses(physics->state, model);
	struct body_state *next = state_bodies(physics->state, model, true);
	for (uint32_t i = 0; i < m->body_count; i++)
		next[i].v = next[i].w = (struct vec3){0, 0, 0};
	return true;
}

static void sleep_fall_asleep(struct physics *physics, const uint32_t *members, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct instance *instance = physics->instances[members[i]];
		instance->asleep = true;
		group_remove(physics, members[i]);
		if (sleep_put_to_rest(physics, members[i]))
			indices_add(&physics->fell_asleep, members[i]);
	}
}

static void sleep_find_sets(struct physics *physics)
{
	sets_begin(&physics->touching, &physics->taken, physics->scene->model_count);
	for (uint32_t i = 0; i < physics->pairs.count; i++)
		sets_join(&physics->touching, physics->pairs.at[i].a, physics->pairs.at[i].b);
	sets_order(&physics->touching, &physics->taken);
	physics->set_sleeps.count = 0;
	(void)vec_append(&physics->set_sleeps, sets_count(&physics->touching));
	for (uint32_t s = 0; s < sets_count(&physics->touching); s++)
		for (uint32_t i = physics->touching.first.at[s]; i < physics->touching.first.at[s + 1]; i++)
			physics->instances[physics->touching.order.at[i]]->set = s;
}

/* Decides the sleep of one set; true when the sleep of a model begins or ends. */
static bool sleep_decide(struct physics *physics, uint32_t set, uint64_t steps)
{
	const uint32_t *members = physics->touching.order.at + physics->touching.first.at[set];
	uint32_t count = physics->touching.first.at[set + 1] - physics->touching.first.at[set];
	bool sleeps = sleep_is_due(physics, members, count, steps), changed = false;
	for (uint32_t i = 0; i < count; i++)
		changed |= physics->instances[members[i]]->asleep != sleeps;
	physics->set_sleeps.at[set] = sleeps;
	if (changed && sleeps)
		sleep_fall_asleep(physics, members, count);
	for (uint32_t i = 0; changed && !sleeps && i < count; i++)
		physics->instances[members[i]]->asleep = false;
	return changed;
}

/* Only sets that are awake, and sets with a disturbed model, can change. */
static bool sleep_decide_again(struct physics *physics, uint64_t steps)
{
	bool changed = false;
	for (uint32_t i = 0; i < physics->disturbed.count; i++) {
		const struct instance *instance = physics->instances[physics->disturbed.at[i]];
		if (instance && physics->set_sleeps.at[instance->set])
			changed |= sleep_decide(physics, instance->set, steps);
	}
	for (uint32_t i = 0; i < physics->awake.count; i++) {
		const struct instance *instance = physics->instances[physics->awake.at[i]];
		bool ready = *state_still(physics->state, instance->model, false) >= steps && !instance->disturbed;
		if (ready && !physics->set_sleeps.at[instance->set])
			changed |= sleep_decide(physics, instance->set, steps);
	}
	return changed;
}

static void sleep_list_awake(struct physics *physics)
{
	physics->awake.count = physics->awake_pairs.count = 0;
	for (uint32_t i = 0; i < physics->taken.count; i++)
		if (!physics->instances[physics->taken.at[i]]->asleep)
			vec_push(&physics->awake, physics->taken.at[i]);
	for (uint32_t i = 0; i < physics->pairs.count; i++)
		if (!physics->instances[physics->pairs.at[i].a]->asleep)
			vec_push(&physics->awake_pairs, physics->pairs.at[i]);
}

static bool sleep_keep_pairs(struct physics *physics, const struct physics_pair *pairs, uint32_t count)
{
	if (count == physics->pairs.count && (!count || !memcmp(pairs, physics->pairs.at, count * sizeof *pairs)))
		return false;
	physics->pairs.count = 0;
	if (count)
		memcpy(vec_append(&physics->pairs, count), pairs, count * sizeof *pairs);
	return true;
}

void sleep_update(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt)
{
	uint64_t steps = physics_sleep_steps(dt);
	bool changed = sleep_keep_pairs(physics, pairs, pair_count) || physics->regroup;
	physics->fell_asleep.count = 0;
	if (changed) {
		sleep_find_sets(physics);
		for (uint32_t s = 0; s < sets_count(&physics->touching); s++)
			(void)sleep_decide(physics, s, steps);
	} else {
		changed = sleep_decide_again(physics, steps);
	}
	if (!changed)
		return;
	sleep_list_awake(physics);
	physics->regroup = true;
}

void sleep_end_step(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->disturbed.count; i++) {
		struct instance *instance = physics->instances[physics->disturbed.at[i]];
		if (instance)
			instance->disturbed = false;
	}
	physics->disturbed.count = 0;
}
