/* One step of one runner. Each ODE world of the step is loaded from state k, stepped and stored to state k+1, alone,
 * so any thread may do it, in any order. Three things may go wrong, and each has its answer here: the exact solver
 * fails on an island (the world is stepped again, with that island solved iteratively); ODE gives up and leaves by
 * longjmp (its objects are left as they are and new ones are made); a model leaves all bounds (the step fails and the
 * lowest such model is named). */
#include "physics/internal.h"

#include "base/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fits all arrays to the scene, which may have room for more than before. */
static void fit(struct physics *physics)
{
	const struct scene_room *before = &physics->room, *now = &physics->scene->room;
	MEM_FIT(physics->instances, before->models, now->models);
	MEM_FIT(physics->present, before->models, now->models);
	MEM_FIT(physics->statics, before->geoms, now->geoms);
	MEM_FIT(physics->island, before->bodies, now->bodies);
	MEM_FIT(physics->island_rows, before->bodies, now->bodies);
	MEM_FIT(physics->island_lost, before->bodies, now->bodies);
	surfaces_fit(&physics->surfaces, physics->scene->surfaces.count);
	physics->room = *now;
}

void physics_world_changed(struct physics *physics)
{
	const struct vec3 g = physics->scene->gravity;
	fit(physics);
	if (!memcmp(&g, &physics->gravity, sizeof g))
		return;
	physics->gravity = g;
	for (uint32_t i = 0; i < physics->worlds.count; i++)
		dWorldSetGravity(physics->worlds.at[i].id, g.x, g.y, g.z);
}

struct physics *physics_create(const struct scene *scene, struct state *state, const struct control *control,
	const struct physics_options *options)
{
	physics_thread_begin();
	struct physics *physics = mem_alloc(sizeof *physics);
	physics->scene = scene;
	physics->state = state;
	physics->control = control;
	physics->options = *options;
	if (!physics->options.exact_rows_max)
		physics->options.exact_rows_max = PHYSICS_EXACT_ROWS;
	physics->gravity = scene->gravity;
	fit(physics);
	physics->memory = ode_memory_create();
	physics->contacts = dJointGroupCreate(0);
	return physics;
}

static void free_ode(struct physics *physics)
{
	while (physics->taken.count)
		physics_release(physics, physics->taken.at[physics->taken.count - 1]);
	for (uint32_t g = 0; g < physics->groups.count; g++)
		group_fini(&physics->groups.at[g]);
	for (uint32_t w = 0; w < physics->worlds.count; w++)
		ode_world_fini(&physics->worlds.at[w]);
	for (uint32_t g = 0; g < physics->room.geoms; g++)
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
	dJointGroupDestroy(physics->contacts);
	ode_memory_destroy(physics->memory);
}

void physics_destroy(struct physics *physics)
{
	if (!physics)
		return;
	if (!atomic_load(&physics->gave_up))
		free_ode(physics);
	vec_free(&physics->taken);
	vec_free(&physics->groups);
	vec_free(&physics->free_groups);
	vec_free(&physics->worlds);
	vec_free(&physics->free_worlds);
	vec_free(&physics->open_worlds);
	vec_free(&physics->busy_worlds);
	vec_free(&physics->pairs);
	vec_free(&physics->grouped);
	vec_free(&physics->couplings);
	vec_free(&physics->contact_pairs);
	vec_free(&physics->sort_space);
	notes_fini(&physics->notes);
	notes_fini(&physics->notes_scratch);
	vec_free(&physics->joins);
	vec_free(&physics->bodies);
	vec_free(&physics->awake);
	vec_free(&physics->awake_pairs);
	vec_free(&physics->set_sleeps);
	vec_free(&physics->disturbed);
	vec_free(&physics->rested);
	sets_fini(&physics->touching);
	sets_fini(&physics->grouping);
	free(physics->instances);
	free(physics->present);
	free(physics->statics);
	collide_space_fini(&physics->collide);
	surfaces_fini(&physics->surfaces);
	free(physics->island);
	free(physics->island_rows);
	free(physics->island_lost);
	free(physics);
}

void physics_take(struct physics *physics, uint32_t model)
{
	if (!physics->scene->models[model].body_count || physics->instances[model])
		return;
	physics->instances[model] = instance_create(physics, model);
	indices_add(&physics->taken, model);
	physics->taken_bodies += physics->scene->models[model].body_count;
	physics->regroup = true;
}

void physics_release(struct physics *physics, uint32_t model)
{
	if (!physics->instances[model])
		return;
	group_remove(physics, model);
	indices_remove(&physics->awake, model);
	instance_destroy(physics, physics->instances[model]);
	physics->instances[model] = NULL;
	indices_remove(&physics->taken, model);
	physics->taken_bodies -= physics->scene->models[model].body_count;
	physics->regroup = true;
}

void physics_share(struct physics *physics)
{
	physics->shared = true;
}

const indices *physics_taken(const struct physics *physics)
{
	return &physics->taken;
}

static void free_static_geoms(struct physics *physics, const struct scene_model *model)
{
	for (uint32_t g = model->geom_first; g < model->geom_first + model->geom_count; g++) {
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
		physics->statics[g].geom = 0;
	}
}

void physics_set_statics(struct physics *physics, const uint32_t *present)
{
	for (uint32_t m = 0; m < physics->scene->model_count; m++) {
		if (present[m] == physics->present[m])
			continue;
		free_static_geoms(physics, &physics->scene->models[m]);
		physics->present[m] = present[m];
	}
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->statics_known = false;
}

const indices *physics_awake(const struct physics *physics)
{
	return &physics->awake;
}

bool physics_sleeps(const struct physics *physics, uint32_t model)
{
	return physics->instances[model] && physics->instances[model]->asleep;
}

const indices *physics_all_rested(const struct physics *physics)
{
	return &physics->rested;
}

bool physics_rested(const struct physics *physics, uint32_t model)
{
	return indices_has(&physics->rested, model);
}

void physics_disturb(struct physics *physics, uint32_t model)
{
	struct instance *instance = physics->instances[model];
	if (!instance || instance->disturbed)
		return;
	instance->disturbed = true;
	vec_push(&physics->disturbed, model);
}

void physics_state_changed(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++)
		physics->instances[physics->taken.at[i]]->boxes_known = false;
	physics->regroup = true; /* sleep is decided anew */
}

void physics_forget(struct physics *physics)
{
	assert(!physics->taken.count);
	for (uint32_t g = 0; g < physics->room.geoms; g++) {
		if (physics->statics[g].geom)
			dGeomDestroy(physics->statics[g].geom);
		physics->statics[g] = (struct static_geom){0};
	}
	memset(physics->present, 0, physics->room.models * sizeof *physics->present);
}

/* Models that fell asleep in the step are awake in state k. */
void physics_repeat(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->rested.count; i++)
		physics->instances[physics->rested.at[i]]->asleep = false;
	physics->rested.count = 0;
	physics_state_changed(physics);
}

/* --- the step --------------------------------------------------------------------------------------------------- */

static void load(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		if (!instance->boxes_known)
			instance_measure(physics, instance, false);
		instance->touched = false;
		instance_load(physics, instance);
	}
}

static void control_joints(struct physics *physics, struct group *group, double dt)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		const struct scene_model *m = &physics->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			joint_control(physics, m->joint_first + j, instance->joints[j], &instance->settings[j], dt);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		joint_control(physics, group->world_joints.at[i].index, group->world_joints.at[i].id,
			&group->world_joints.at[i].setting, dt);
}

/* ODE's objects then hold state k, and the forces and contacts of the step. */
static void begin_world(struct physics *physics, double dt, struct solver_pass pass)
{
	solver_begin(physics, pass);
	observe_begin_again(physics);
	for (uint32_t i = 0; i < physics->world->groups.count; i++) {
		struct group *group = group_at_hand(physics, i);
		physics->stepping = group;
		load(physics, group);
		control_joints(physics, group, dt);
		solver_begin_group(physics, group);
		contact_make(physics, group);
		solver_end_group(physics, group);
	}
	physics->stepping = NULL;
	couple_apply(physics, dt);
}

#define PATIENCE_NS 300000000u /* how long a step may go on after a request to stop */

bool physics_abandons(struct physics *physics)
{
	const _Atomic bool *stop = physics->options.stop;
	if (physics->abandoned || !stop || !atomic_load_explicit(stop, memory_order_relaxed))
		return physics->abandoned;
	uint64_t now_ns = clock_now_ns();
	if (!physics->asked_to_stop_ns)
		physics->asked_to_stop_ns = now_ns;
	physics->abandoned = now_ns - physics->asked_to_stop_ns > PATIENCE_NS;
	return physics->abandoned;
}

bool physics_abandoned(const struct physics *physics)
{
	return physics->abandoned;
}

/* ODE's objects then hold state k, with the coupling forces at which the previous step ended. */
static void begin_couplings(struct physics *physics, double dt, struct solver_pass pass)
{
	physics->couplings.count = 0;
	physics->collects = true;
	begin_world(physics, dt, pass);
	physics->collects = false;
}

/* Steps the world at hand, or one island of it. Where axes are coupled it is stepped several times from state k,
 * until the forces of the couplings are found. False: the exact solver failed in one of these trials, so the result
 * must not be used. */
static bool step_world(struct physics *physics, double dt, struct solver_pass pass)
{
	bool good, begun = false, done = true;
	do {
		if (begun)
			begin_world(physics, dt, pass);
		else
			begin_couplings(physics, dt, pass);
		good = physics_abandons(physics) || solver_step(physics, dt);
		dJointGroupEmpty(physics->contacts);
		if (!physics->couplings.count || !good || physics->abandoned)
			break;
		if (!begun)
			couple_begin(physics);
		begun = true;
		done = couple_search(physics);
	} while (!done);
	return good;
}

static bool holds(const struct scene_joint *joint, const struct instance *a, const struct instance *b)
{
	return joint->kind != SDF_GEARBOX && (!a || !b || a->held || a->touched || b->held || b->touched);
}

/* The instance at one end of a joint; NULL: the world. */
static struct instance *end_of(const struct physics *physics, uint32_t body)
{
	return body == SCENE_NONE ? NULL : physics->instances[physics->scene->bodies[body].model];
}

/* A joint of the world holds a model as a contact would, when its other end is the world or is itself held. */
static void note_held(struct physics *physics, const struct group *group)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < group->world_joints.count; i++) {
			const struct scene_joint *joint = &physics->scene->joints[group->world_joints.at[i].index];
			struct instance *a = end_of(physics, joint->parent), *b = end_of(physics, joint->child);
			if (!holds(joint, a, b))
				continue;
			changed = changed || (a && !a->touched) || (b && !b->touched);
			if (a)
				a->touched = true;
			if (b)
				b->touched = true;
		}
	}
}

/* Groups of one ODE world are stepped in one call; the cost of each grows about with the square of its rows. */
static double weight_of(const struct group *group)
{
	return 1 + (double)group->rows * group->rows;
}

static void note_time(struct physics *physics, uint64_t ns)
{
	double weights = 0;
	for (uint32_t g = 0; g < physics->world->groups.count; g++)
		weights += weight_of(group_at_hand(physics, g));
	for (uint32_t g = 0; g < physics->world->groups.count; g++) {
		const struct group *group = group_at_hand(physics, g);
		double share_ns = (double)ns * weight_of(group) / weights / group->members.count;
		for (uint32_t i = 0; i < group->members.count; i++)
			physics->instances[group->members.at[i]]->measured_ns = (uint32_t)MIN(share_ns, UINT32_MAX);
	}
}

static void note_diverged(struct physics *owner, uint32_t model)
{
	uint32_t lowest = atomic_load(&owner->diverged);
	while (model < lowest && !atomic_compare_exchange_weak(&owner->diverged, &lowest, model))
		;
}

/* False: some model is beyond the limits. */
static bool store_group(struct physics *physics, struct physics *owner, struct group *group)
{
	bool sane = true;
	for (uint32_t i = 0; i < group->members.count; i++) {
		instance_turn(physics, physics->instances[group->members.at[i]], owner->dt);
		state_keep_world_joints(physics->state, group->members.at[i]);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		joint_store(physics, group->world_joints.at[i].index, group->world_joints.at[i].id);
	note_held(physics, group);
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = physics->instances[group->members.at[i]];
		if (!instance_store(physics, instance)) {
			sane = false;
			continue;
		}
		sleep_count(physics, instance, owner->dt);
		instance_measure(physics, instance, true);
	}
	return sane;
}

static bool store_world(struct physics *physics, struct physics *owner)
{
	bool sane = true;
	for (uint32_t i = 0; i < physics->world->groups.count; i++)
		sane &= store_group(physics, owner, group_at_hand(physics, i));
	couple_store(physics, owner->dt);
	if (physics->observe & OBSERVE_EFFORTS)
		observe_efforts(physics, owner->dt);
	return sane;
}

static void note_all_diverged(const struct physics *physics, struct physics *owner)
{
	for (uint32_t g = 0; g < physics->world->groups.count; g++) {
		const struct group *group = group_at_hand(physics, g);
		for (uint32_t i = 0; i < group->members.count; i++)
			if (!instance_stored_sane(physics, physics->instances[group->members.at[i]]))
				note_diverged(owner, group->members.at[i]);
	}
}

struct attempt {
	struct physics *physics, *owner;
	struct solver_pass pass;
	bool good;
};

static void attempt_under_guard(void *ctx)
{
	struct attempt *attempt = ctx;
	/* includes storing, while ODE's data of the world are still in the cache */
	attempt->good = step_world(attempt->physics, attempt->owner->dt, attempt->pass) &&
			(attempt->physics->abandoned || store_world(attempt->physics, attempt->owner));
}

static void list_islands_under_guard(void *ctx)
{
	struct attempt *attempt = ctx;
	begin_couplings(attempt->physics, attempt->owner->dt, attempt->pass);
	solver_forget_lost(attempt->physics);
	dJointGroupEmpty(attempt->physics->contacts);
}

static void try_alone_under_guard(void *ctx)
{
	struct attempt *attempt = ctx;
	attempt->good = step_world(attempt->physics, attempt->owner->dt, attempt->pass) &&
			solver_is_sane(attempt->physics, attempt->pass.alone);
}

static void lend_memory(struct physics *physics, struct ode_world *world)
{
	if (world->memory != physics->memory)
		ode_lend_memory(world->id, physics->memory);
	world->memory = physics->memory;
}

/* ODE left a step of the world at hand by longjmp, so the state of its objects is unknown. All these objects, and the
 * working memory of the step, are kept as they are, and new ones are made. */
static void make_world_anew(struct physics *physics, struct physics *owner)
{
	ode_abandon(physics->memory);
	ode_abandon(physics->contacts);
	physics->memory = ode_memory_create();
	physics->contacts = dJointGroupCreate(0);
	ode_world_make_anew(physics, physics->world);
	for (uint32_t i = 0; i < physics->world->groups.count; i++)
		group_make_anew(physics, owner, physics->world->groups.at[i]);
	physics->stepping = NULL;
}

/* A first pass that was stored has left boxes of state k+1, so the boxes are computed again. */
static void measure_again(struct physics *physics)
{
	for (uint32_t g = 0; g < physics->world->groups.count; g++) {
		const struct group *group = group_at_hand(physics, g);
		for (uint32_t i = 0; i < group->members.count; i++)
			physics->instances[group->members.at[i]]->boxes_known = false;
	}
}

/* The second try. An island is solved iteratively when the exact solver fails on it or moves it beyond the limits, or
 * when ODE gives up on it. To find these islands, each is stepped alone, as often as its couplings need: ODE does not
 * report where it failed, and the other islands must keep their bits. The result of the last pass is stored in any
 * case, so that it shows which model diverged. False: some model diverged, or ODE gave up again (with its message). */
static bool try_again(struct physics *physics, struct physics *owner, char *ret_message, size_t bytes)
{
	struct attempt attempt = {.physics = physics, .owner = owner, .pass = {true, SCENE_NONE}};
	uint32_t root;
	measure_again(physics);
	if (!ode_guard(list_islands_under_guard, &attempt, ret_message, bytes))
		return false;
	for (uint32_t i = 0; !physics_abandons(physics) && solver_next_exact(physics, &i, &root); i++) {
		attempt.pass.alone = root;
		bool survived = ode_guard(try_alone_under_guard, &attempt, ret_message, bytes);
		if (!survived)
			make_world_anew(physics, owner);
		solver_set_lost(physics, root, !survived || !attempt.good);
	}
	attempt.pass.alone = SCENE_NONE;
	physics->stats.lost++;
	*ret_message = '\0';
	return ode_guard(attempt_under_guard, &attempt, ret_message, bytes) && attempt.good;
}

/* False: ODE gave up, with its message. */
static bool work_on(
	struct physics *physics, struct physics *owner, struct ode_world *world, char *ret_message, size_t bytes)
{
	uint64_t begin_ns = owner->timed ? clock_now_ns() : 0;
	struct attempt attempt = {.physics = physics, .owner = owner, .pass = {false, SCENE_NONE}};
	physics->owner = owner;
	physics->world = world;
	observe_begin_world(physics);
	lend_memory(physics, world);
	bool survived = ode_guard(attempt_under_guard, &attempt, ret_message, bytes);
	if (!survived)
		make_world_anew(physics, owner);
	*ret_message = '\0';
	if ((!survived || !attempt.good) && !try_again(physics, owner, ret_message, bytes)) {
		if (*ret_message)
			return false;
		note_all_diverged(physics, owner);
	}
	if (owner->timed)
		note_time(physics, clock_now_ns() - begin_ns);
	return true;
}

/* `physics` has none of these models itself: each model is taken by one owner. */
static void borrow(struct physics *physics, const struct physics *owner, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++)
		physics->instances[group->members.at[i]] = owner->instances[group->members.at[i]];
}

static void give_back(struct physics *physics, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++)
		physics->instances[group->members.at[i]] = NULL;
}

static bool work_for(
	struct physics *physics, struct physics *owner, struct ode_world *world, char *ret_message, size_t bytes)
{
	for (uint32_t i = 0; i < world->groups.count; i++)
		borrow(physics, owner, &owner->groups.at[world->groups.at[i]]);
	if (!work_on(physics, owner, world, ret_message, bytes))
		return false;
	for (uint32_t i = 0; i < world->groups.count; i++)
		give_back(physics, &owner->groups.at[world->groups.at[i]]);
	physics->stats.helped += world->groups.count;
	return true;
}

/* --- the step, in parts ------------------------------------------------------------------------------------------- */

struct step_call {
	struct physics *physics;
	const struct physics_pair *pairs;
	uint32_t pair_count;
};

static bool is_finite(const struct instance *instance, uint32_t bodies)
{
	double sum = 0;
	for (uint32_t i = 0; i < bodies; i++)
		for (uint32_t k = 0; k < 3; k++)
			sum += dBodyGetPosition(instance->bodies[i])[k] + dBodyGetLinearVel(instance->bodies[i])[k] +
			       dBodyGetAngularVel(instance->bodies[i])[k] + dBodyGetQuaternion(instance->bodies[i])[k];
	return isfinite(sum);
}

/* The first model of the world at hand with numbers that are not finite in ODE; if none, the first model. */
static uint32_t who_is_spoilt(const struct physics *physics)
{
	if (!physics->world)
		return SCENE_NONE;
	for (uint32_t g = 0; g < physics->world->groups.count; g++) {
		const struct group *group = group_at_hand(physics, g);
		for (uint32_t i = 0; i < group->members.count; i++) {
			uint32_t model = group->members.at[i];
			if (!is_finite(physics->instances[model], physics->scene->models[model].body_count))
				return model;
		}
	}
	return group_at_hand(physics, 0)->members.at[0];
}

/* The name of the first joint, of the model or the world, at a body of the model for which `spoilt` returns true;
 * NULL: none. */
static const char *joint_at_fault(const struct physics *physics, uint32_t model,
	bool (*spoilt)(const struct physics *physics, uint32_t model, uint32_t body))
{
	const struct scene *scene = physics->scene;
	const struct scene_model *m = &scene->models[model];
	for (uint32_t i = 0; i < m->joint_count + scene->world_joints.count; i++) {
		uint32_t j = i < m->joint_count ? m->joint_first + i : scene->world_joints.at[i - m->joint_count];
		const uint32_t ends[2] = {scene->joints[j].child, scene->joints[j].parent};
		for (uint32_t k = 0; k < 2; k++)
			if (ends[k] != SCENE_NONE && scene->bodies[ends[k]].model == model &&
				spoilt(physics, model, ends[k] - m->body_first))
				return scene->joints[j].name;
	}
	return NULL;
}

static bool is_spoilt_in_state(const struct physics *physics, uint32_t model, uint32_t body)
{
	return !body_state_sane(&state_bodies(physics->state, model, true)[body]);
}

static bool is_spoilt_in_ode(const struct physics *physics, uint32_t model, uint32_t body)
{
	return !instance_sane(physics->instances[model]->bodies[body]);
}

/* who: text after the model's name, when the fault may be in a neighbour. */
static troupe_status diverged(struct troupe_error *error, const struct physics *physics, uint32_t model,
	const char *who, const char *joint, const char *how)
{
	return fail(error, TROUPE_EDIVERGED, "model '%s'%s diverged%s%s%s: %s", physics->scene->models[model].name, who,
		joint ? " at joint '" : "", joint ? joint : "", joint ? "'" : "", how);
}

static troupe_status gave_up(
	struct physics *physics, struct physics *owner, const char *message, struct troupe_error *error)
{
	uint32_t model = physics->stepping ? physics->stepping->members.at[0] : who_is_spoilt(physics);
	char how[300];
	atomic_store(&physics->gave_up, true);
	atomic_store(&owner->gave_up, true);
	snprintf(how, sizeof how, "the physics gave up: %s", message);
	if (model == SCENE_NONE)
		return fail(error, TROUPE_EDIVERGED, "some model diverged: %s", how);
	const char *joint = joint_at_fault(physics, model, is_spoilt_in_ode);
	return diverged(error, physics, model, joint ? "" : ", or what touches it,", joint, how);
}

/* For tests. Drops everything that ODE or this folder remembers of earlier steps. A step may depend on the state
 * alone, so no bit may change. */
static void make_all_anew(struct physics *physics)
{
	for (uint32_t i = 0; i < physics->taken.count; i++) {
		uint32_t model = physics->taken.at[i];
		bool disturbed = physics->instances[model]->disturbed;
		group_remove(physics, model);
		instance_destroy(physics, physics->instances[model]);
		physics->instances[model] = instance_create(physics, model);
		physics->instances[model]->disturbed = disturbed;
	}
	for (uint32_t m = 0; m < physics->scene->model_count; m++)
		if (physics->scene->models[m].is_static)
			free_static_geoms(physics, &physics->scene->models[m]);
	surfaces_forget(&physics->surfaces);
	physics->regroup = true;
}

static void begin_under_guard(void *ctx)
{
	struct step_call *call = ctx;
	if (call->physics->options.anew)
		make_all_anew(call->physics);
	sleep_update(call->physics, call->pairs, call->pair_count, call->physics->dt);
	group_update(call->physics);
}

troupe_status physics_begin(struct physics *physics, const struct physics_pair *pairs, uint32_t pair_count, double dt,
	struct troupe_error *error)
{
	struct step_call call = {.physics = physics, .pairs = pairs, .pair_count = pair_count};
	char message[200];
	physics->step++;
	physics->dt = dt;
	physics->asked_to_stop_ns = 0;
	physics->abandoned = false;
	physics->notes.contacts.count = physics->notes.efforts.count = 0;
	physics->stepping = NULL;
	physics->world = NULL;
	atomic_store_explicit(&physics->diverged, SCENE_NONE, memory_order_relaxed); /* published with the step */
	ode_set_random_broken(physics->options.rule == PHYSICS_BREAK_RANDOM);
	if (!ode_guard(begin_under_guard, &call, message, sizeof message))
		return gave_up(physics, physics, message, error);
	return TROUPE_OK;
}

uint32_t physics_world_count(const struct physics *physics)
{
	return physics->busy_worlds.count;
}

troupe_status physics_work(
	struct physics *physics, struct physics *owner, uint32_t first, uint32_t count, struct troupe_error *error)
{
	char message[200];
	bool survived = true;
	for (uint32_t w = first; w < first + count && survived; w++) {
		struct ode_world *world = &owner->worlds.at[owner->busy_worlds.at[w]];
		if (atomic_load(&physics->gave_up) || physics->abandoned)
			return TROUPE_OK; /* the failure was reported; the result must not be used */
		survived = (physics == owner ? work_on : work_for)(physics, owner, world, message, sizeof message);
	}
	return survived ? TROUPE_OK : gave_up(physics, owner, message, error);
}

troupe_status physics_end(struct physics *physics, struct aabb_line *ret_boxes, struct troupe_error *error)
{
	uint32_t model = atomic_load(&physics->diverged);
	physics->timed = false;
	sleep_end_step(physics);
	if (model != SCENE_NONE) {
		char how[200];
		snprintf(how, sizeof how, "its position or velocity is not finite or beyond %g m, %g m/s, %g rad/s",
			PHYSICS_POSITION_MAX, PHYSICS_VELOCITY_MAX, PHYSICS_SPIN_MAX);
		return diverged(error, physics, model, "", joint_at_fault(physics, model, is_spoilt_in_state), how);
	}
	if (physics->abandoned)
		return TROUPE_OK;
	for (uint32_t i = 0; i < physics->awake.count; i++)
		ret_boxes[physics->awake.at[i]].box = physics->instances[physics->awake.at[i]]->box;
	return TROUPE_OK;
}

uint32_t physics_diverged(const struct physics *physics)
{
	return atomic_load(&physics->diverged);
}

void physics_measure(struct physics *physics)
{
	physics->timed = true;
}

uint32_t physics_measured_ns(const struct physics *physics, uint32_t model)
{
	return physics->instances[model]->measured_ns;
}

struct physics_stats physics_stats(const struct physics *physics)
{
	struct physics_stats stats = physics->stats;
	stats.groups = physics->groups.count - physics->free_groups.count;
	return stats;
}
