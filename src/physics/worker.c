/* Steps ODE worlds. Each of them is loaded from state k, stepped and stored to state k+1, alone, so any worker may do
 * it, in any order. Three things may go wrong, and each has its answer here: the exact solver fails on an island (the
 * world is stepped again, with that island solved iteratively); ODE gives up and leaves by longjmp (its objects are
 * left as they are and new ones are made); a model leaves all bounds (it is noted, and the owner's step fails). */
#include "physics/assembly.h"
#include "physics/exact.h"
#include "physics/internal.h"

#include "base/clock.h"
#include "physics/joint_ode.h"
#include "physics/joint_position.h"

#include <stdlib.h>
#include <string.h>

static void worker_fit(struct worker *worker)
{
	const struct scene_room *before = &worker->room, *now = &worker->scene->room;
	MEM_FIT(worker->statics, before->geoms, now->geoms);
	MEM_FIT(worker->island, before->bodies, now->bodies);
	MEM_FIT(worker->island_rows, before->bodies, now->bodies);
	MEM_FIT(worker->island_lost, before->bodies, now->bodies);
	MEM_FIT(worker->hand_at, before->bodies, now->bodies);
	worker->room = *now;
}

struct worker *worker_create(const struct scene *scene, const struct physics *home)
{
	physics_thread_begin();
	struct worker *worker = mem_alloc_lines(sizeof *worker);
	worker->scene = scene;
	worker->home = home;
	worker->memory = ode_memory_create();
	worker->contacts = dJointGroupCreate(0);
	return worker;
}

static void worker_free_ode(struct worker *worker)
{
	static_geoms_forget(worker);
	dJointGroupDestroy(worker->contacts);
	ode_memory_destroy(worker->memory);
}

void worker_destroy(struct worker *worker)
{
	if (!worker)
		return;
	if (!worker->gave_up)
		worker_free_ode(worker);
	exact_destroy(worker->exact);
	vec_free(&worker->couplings);
	vec_free(&worker->rows_of_contacts);
	vec_free(&worker->geom_pairs);
	vec_free(&worker->sort_space);
	vec_free(&worker->turns.joint);
	vec_free(&worker->turns.y);
	vec_free(&worker->turns.x);
	vec_free(&worker->joins);
	vec_free(&worker->bodies);
	vec_free(&worker->observed);
	vec_free(&worker->feedback);
	notes_fini(&worker->notes);
	notes_fini(&worker->notes_scratch);
	collide_space_fini(&worker->collide);
	surfaces_fini(&worker->surfaces);
	state_spares_fini(&worker->spares);
	free(worker->statics);
	free(worker->hand);
	free(worker->hand_at);
	free(worker->island);
	free(worker->island_rows);
	free(worker->island_lost);
	free(worker);
}

struct state_spares *worker_spares(struct worker *worker)
{
	return &worker->spares;
}

void worker_add_stats(const struct worker *worker, struct physics_stats *stats)
{
	stats->contacts += worker->contacts_made;
	stats->lost += worker->lost;
	stats->helped += worker->helped;
	stats->exact += worker->exact_count;
	stats->soft += worker->soft_count;
	for (int i = 0; i < PHYSICS_LEFT_COUNT; i++)
		stats->left[i] += worker->left_count[i];
}

void worker_begin(struct worker *worker, const struct physics_options *options)
{
	const struct scene_room *room = &worker->scene->room;
	if (worker->room.geoms != room->geoms || worker->room.bodies != room->bodies ||
		worker->room.joints != room->joints || worker->room.models != room->models)
		worker_fit(worker);
	surfaces_fit(&worker->surfaces, worker->scene->surfaces.count);
	if (options->anew) {
		static_geoms_forget(worker);
		surfaces_forget(&worker->surfaces);
	}
	if (!options->ode && !worker->exact)
		worker->exact = exact_create(options->lanes);
	worker->asked_to_stop_ns = 0;
	worker->abandoned = false;
	worker->notes.contacts.count = worker->notes.efforts.count = worker->notes.reactions.count = 0;
	ode_set_random(options->seed, options->rule == PHYSICS_BREAK_RANDOM);
}

enum { RATE_TRIES_MAX = 8 }; /* of a step in which axes exceed the limits of their rates */

/* --- one pass ----------------------------------------------------------------------------------------------------- */

/* The boxes of state k, if they are not known. */
static void worker_measure(struct worker *worker, const struct group *group)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = worker->instances[group->members.at[i]];
		if (!instance->boxes_known)
			instance_measure(worker->owner, instance, false);
	}
}

/* Makes room for the bodies of the ODE world at hand. */
static void worker_clear_hand(struct worker *worker)
{
	const uint32_t bodies = worker->ode_world->bodies;
	worker->hand_count = 0;
	if (bodies <= worker->hand_room)
		return;
	free(worker->hand);
	worker->hand_room = 2 * bodies;
	worker->hand = mem_alloc_lines(worker->hand_room * sizeof *worker->hand);
}

/* Puts the bodies of a group at hand, for contacts and, without ODE, for lanes. */
static void worker_load(struct worker *worker, const struct group *group)
{
	struct physics *owner = worker->owner;
	worker_measure(worker, group);
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = owner->instances[group->members.at[i]];
		uint32_t geoms = owner->scene->models[instance->model].geom_count;
		instance->touched = false;
		state_clear_impulses(owner->state, instance->model, true);
		memset(instance->placed, owner->options.ode, geoms * sizeof *instance->placed);
		if (owner->options.ode) {
			instance_load(owner, instance);
			instance_hand_of_ode(worker, instance);
			continue;
		}
		instance->spins = false;
		instance_hand(worker, instance);
		state_keep_world_joints(owner->state, instance->model);
	}
}

static void worker_control_joints(struct worker *worker, struct group *group, double dt)
{
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = worker->instances[group->members.at[i]];
		const struct scene_model *m = &worker->scene->models[instance->model];
		for (uint32_t j = 0; j < m->joint_count; j++)
			joint_control(worker, m->joint_first + j, instance->joints[j], &instance->settings[j], dt);
	}
	for (uint32_t i = 0; i < group->world_joints.count; i++)
		joint_control(worker, group->world_joints.at[i].index, group->world_joints.at[i].id,
			&group->world_joints.at[i].setting, dt);
	for (uint32_t i = 0; i < group->members.count; i++)
		if (worker->instances[group->members.at[i]]->has_added)
			added_apply(worker->owner, worker->instances[group->members.at[i]], dt);
}

static void worker_make_contact_joints(struct worker *worker, const struct group *group)
{
	for (uint32_t i = group->row_first; i < group->row_first + group->row_count; i++) {
		const struct contact_row *row = &worker->rows_of_contacts.at[i];
		if (!solver_has(worker, row->bodies[0]) && !solver_has(worker, row->bodies[1]))
			continue;
		contact_make_joint(worker, row);
		solver_join(worker, row->bodies[0], row->bodies[1], 3);
	}
}

/* Whether lanes have left a body of the group to ODE. */
static bool worker_is_left(const struct worker *worker, const struct group *group)
{
	bool left = false;
	for (uint32_t i = 0; i < group->assemblies.count; i++)
		left = left || exact_is_left(worker, group->assemblies.at[i]->bodies[0]);
	return left;
}

/* The islands that lanes have left: their contacts are known, and ODE may have no objects for them yet. */
static void worker_begin_left(struct worker *worker, struct group *group, double dt)
{
	struct physics *owner = worker->owner;
	worker_measure(worker, group);
	if (!group->in_ode && !worker_is_left(worker, group))
		return;
	if (!group->in_ode)
		group_make_ode(owner, group);
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_load(owner, owner->instances[group->members.at[i]]);
	worker_control_joints(worker, group, dt);
	worker_make_contact_joints(worker, group);
}

/* ODE's objects then hold state k, and the forces and contacts of the step. */
static void worker_begin_ode_world(struct worker *worker, double dt, struct solver_pass pass)
{
	solver_begin(worker, pass);
	if (worker->exact) {
		observe_begin_joints_again(worker); /* contacts stay, and an attempt before may have noted joints */
	} else {
		observe_begin_again(worker);
		worker->rows_of_contacts.count = 0;
		worker_clear_hand(worker);
	}
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++) {
		struct group *group = group_at_hand(worker, i);
		if (group->alone)
			continue;
		worker->stepping = group;
		if (worker->exact) {
			worker_begin_left(worker, group, dt);
			continue;
		}
		worker_load(worker, group);
		worker_control_joints(worker, group, dt);
		solver_begin_group(worker, group);
		contact_make(worker, group);
		worker_make_contact_joints(worker, group);
		solver_end_group(worker, group);
	}
	worker->stepping = NULL;
	observe_contact_joints(worker);
	couple_apply(worker, dt);
}

#define PATIENCE_NS 300000000u /* how long a step may go on after a request to stop */

bool worker_abandons(struct worker *worker)
{
	const _Atomic bool *stop = worker->owner->options.stop;
	if (worker->abandoned || !stop || !atomic_load_explicit(stop, memory_order_relaxed))
		return worker->abandoned;
	uint64_t now_ns = clock_now_ns();
	if (!worker->asked_to_stop_ns)
		worker->asked_to_stop_ns = now_ns;
	worker->abandoned = now_ns - worker->asked_to_stop_ns > PATIENCE_NS;
	return worker->abandoned;
}

/* ODE's objects then hold state k, with the coupling forces at which the previous step ended. */
static void worker_begin_couplings(struct worker *worker, double dt, struct solver_pass pass)
{
	worker->couplings.count = 0;
	worker->collects = true;
	worker_begin_ode_world(worker, dt, pass);
	worker->collects = false;
}

/* Whether ODE has no bodies of the models in the ODE world at hand. */
static bool worker_is_empty(const struct worker *worker)
{
	bool empty = true;
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		empty = empty && group_at_hand(worker, i)->alone;
	return empty;
}

/* Steps the ODE world at hand, or one island of it. Where axes are coupled it is stepped several times from state k,
 * until the forces of the couplings are found. False: the exact solver failed in one of these tries. */
static bool worker_try_couplings(struct worker *worker, struct solver_pass pass)
{
	const double dt = worker->owner->dt;
	bool good, begun = false, done = true;
	do {
		if (begun)
			worker_begin_ode_world(worker, dt, pass);
		else
			worker_begin_couplings(worker, dt, pass);
		good = worker_abandons(worker) || solver_step(worker, dt);
		dJointGroupEmpty(worker->contacts);
		if (!worker->couplings.count || !good || worker->abandoned)
			break;
		if (!begun)
			couple_begin(worker);
		begun = true;
		done = couple_search(worker);
	} while (!done);
	return good;
}

/* Whether axes have to be held at the limits of their rates, so that the step is to be tried again. */
static bool worker_hold_rates(struct worker *worker)
{
	bool held = false;
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		if (group_at_hand(worker, i)->in_ode)
			held |= joint_hold_rates(worker, group_at_hand(worker, i));
	return held;
}

/* The same, until no axis exceeds the limit of its rate. False: the result must not be used. */
static bool worker_step_ode_world(struct worker *worker, struct solver_pass pass)
{
	if (worker_is_empty(worker)) {
		worker_begin_couplings(worker, worker->owner->dt, pass); /* there are none, and no contacts */
		return true;
	}
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		if (group_at_hand(worker, i)->in_ode)
			joint_release_rates(worker, group_at_hand(worker, i));
	bool good = worker_try_couplings(worker, pass);
	for (uint32_t tries = 0; tries < RATE_TRIES_MAX && good && !worker->abandoned; tries++) {
		/* in a pass for one island the rates of the others are those of state k */
		if (pass.alone != SCENE_NONE || !worker_hold_rates(worker))
			break;
		good = worker_try_couplings(worker, pass);
	}
	return good;
}

/* --- storing ------------------------------------------------------------------------------------------------------ */

/* The instance at one end of a joint; NULL: the world. */
static struct instance *worker_end_of(const struct physics *owner, uint32_t body)
{
	return body == SCENE_NONE ? NULL : owner->instances[owner->scene->bodies[body].model];
}

/* A joint between two bodies holds one of them as a contact would, when the other is the world or is itself held. True:
 * this was not known. */
static bool worker_hold(const struct physics *owner, uint32_t body_a, uint32_t body_b)
{
	struct instance *a = worker_end_of(owner, body_a), *b = worker_end_of(owner, body_b);
	if (a && b && !a->held && !a->touched && !b->held && !b->touched)
		return false;
	bool changed = (a && !a->touched) || (b && !b->touched);
	if (a)
		a->touched = true;
	if (b)
		b->touched = true;
	return changed;
}

static void worker_note_held(struct physics *owner, const struct group *group)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (uint32_t i = 0; i < group->world_joints.count; i++) {
			const struct scene_joint *joint = &owner->scene->joints[group->world_joints.at[i].index];
			changed |= joint->kind != SDF_GEARBOX && worker_hold(owner, joint->parent, joint->child);
		}
		for (uint32_t i = 0; i < group->attachments.count; i++)
			changed |= worker_hold(
				owner, group->attachments.at[i].bodies[0], group->attachments.at[i].bodies[1]);
	}
}

/* The same, for a commanded model that ODE does not have. */
static bool worker_store_alone(struct physics *owner, const struct group *group)
{
	struct instance *instance = owner->instances[group->members.at[0]];
	instance->touched = instance->spins = false;
	state_clear_impulses(owner->state, instance->model, true);
	state_keep_world_joints(owner->state, instance->model);
	if (!instance_move(owner, instance))
		return false;
	sleep_count(owner, instance, owner->dt);
	instance_measure(owner, instance, true);
	return true;
}

/* False: some model is beyond the limits. */
static bool worker_store_group(struct worker *worker, struct group *group)
{
	struct physics *owner = worker->owner;
	bool sane = true;
	for (uint32_t i = 0; i < group->members.count; i++)
		instance_turn(worker, owner->instances[group->members.at[i]], owner->dt);
	if (!worker->exact) {
		for (uint32_t i = 0; i < group->members.count; i++)
			state_keep_world_joints(owner->state, group->members.at[i]);
		for (uint32_t i = 0; i < group->world_joints.count; i++)
			joint_store(owner, group->world_joints.at[i].index, group->world_joints.at[i].id);
	}
	worker_note_held(owner, group);
	for (uint32_t i = 0; i < group->members.count; i++) {
		struct instance *instance = owner->instances[group->members.at[i]];
		if (!(worker->exact ? instance_store_without_ode(worker, instance) : instance_store(owner, instance))) {
			sane = false;
			continue;
		}
		sleep_count(owner, instance, owner->dt);
		instance_measure(owner, instance, true);
	}
	for (uint32_t i = 0; i < group->world_joints.count && worker->exact && sane; i++)
		joint_store_pose(owner, group->world_joints.at[i].index);
	return sane;
}

static bool worker_store_ode_world(struct worker *worker)
{
	bool sane = true;
	joint_forget_turns(&worker->turns); /* left over where ODE gave up */
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		sane &= group_at_hand(worker, i)->alone ? worker_store_alone(worker->owner, group_at_hand(worker, i))
							: worker_store_group(worker, group_at_hand(worker, i));
	joint_store_turns(worker);
	couple_store(worker, worker->owner->dt);
	observe_result(worker, worker->owner->dt);
	return sane;
}

static void worker_note_all_diverged(const struct worker *worker)
{
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count; i++)
			if (!instance_stored_sane(worker->owner, worker->instances[group->members.at[i]]))
				diverged_note(worker->owner, group->members.at[i]);
	}
}

/* --- attempts ----------------------------------------------------------------------------------------------------- */

static void worker_try_lanes_under_guard(void *ctx)
{
	struct worker *worker = ctx;
	observe_begin_again(worker);
	worker->rows_of_contacts.count = 0;
	worker_clear_hand(worker);
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++) {
		struct group *group = group_at_hand(worker, i);
		if (group->alone)
			continue;
		worker->stepping = group;
		assemblies_make(worker->owner, group);
		worker_load(worker, group);
		contact_make(worker, group);
	}
	worker->stepping = NULL;
	exact_step(worker, worker->owner->dt);
	worker->couplings.count = 0;
	worker->sane = worker->abandoned || exact_left_count(worker->exact) || worker_store_ode_world(worker);
}

struct worker_attempt {
	struct worker *worker;
	struct solver_pass pass;
	bool good;
};

static void worker_attempt_under_guard(void *ctx)
{
	struct worker_attempt *attempt = ctx;
	/* includes storing, while ODE's data of the world are still in the cache */
	attempt->good = worker_step_ode_world(attempt->worker, attempt->pass) &&
			(attempt->worker->abandoned || worker_store_ode_world(attempt->worker));
}

static void worker_list_islands_under_guard(void *ctx)
{
	struct worker_attempt *attempt = ctx;
	worker_begin_couplings(attempt->worker, attempt->worker->owner->dt, attempt->pass);
	solver_forget_lost(attempt->worker);
	dJointGroupEmpty(attempt->worker->contacts);
}

static void worker_try_alone_under_guard(void *ctx)
{
	struct worker_attempt *attempt = ctx;
	attempt->good = worker_step_ode_world(attempt->worker, attempt->pass) &&
			solver_is_sane(attempt->worker, attempt->pass.alone);
}

static void worker_lend_memory(const struct worker *worker)
{
	if (!worker->ode_world->id)
		return;
	if (worker->ode_world->memory != worker->memory)
		ode_lend_memory(worker->ode_world->id, worker->memory);
	worker->ode_world->memory = worker->memory;
}

/* ODE left a step of the ODE world at hand by longjmp, so the state of its objects is unknown. All these objects, and
 * the working memory of the step, are kept as they are, and new ones are made. */
static void worker_make_ode_world_anew(struct worker *worker)
{
	ode_abandon(worker->memory);
	ode_abandon(worker->contacts);
	worker->memory = ode_memory_create();
	worker->contacts = dJointGroupCreate(0);
	ode_world_make_anew(worker->owner, worker->ode_world);
	worker_lend_memory(worker);
	for (uint32_t i = 0; i < worker->ode_world->groups.count; i++)
		group_make_anew(worker->owner, worker->ode_world->groups.at[i]);
	worker->stepping = NULL;
}

/* A first pass that was stored has left boxes of state k+1, so the boxes are computed again. */
static void worker_measure_again(struct worker *worker)
{
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count; i++)
			worker->instances[group->members.at[i]]->boxes_known = false;
	}
}

/* The second try. An island is solved iteratively when the exact solver fails on it or moves it beyond the limits, or
 * when ODE gives up on it. To find these islands, each is stepped alone, as often as its couplings need: ODE does not
 * report where it failed, and the other islands must keep their bits. The result of the last pass is stored in any
 * case, so that it shows which model diverged. False: some model diverged, or ODE gave up again (with its message). */
static bool worker_try_again(struct worker *worker, char *ret_message, size_t bytes)
{
	struct worker_attempt attempt = {.worker = worker, .pass = {true, SCENE_NONE}};
	uint32_t root;
	worker_measure_again(worker);
	if (!ode_guard(worker_list_islands_under_guard, &attempt, ret_message, bytes))
		return false;
	for (uint32_t i = 0; !worker_abandons(worker) && solver_next_exact(worker, &i, &root); i++) {
		attempt.pass.alone = root;
		bool survived = ode_guard(worker_try_alone_under_guard, &attempt, ret_message, bytes);
		if (!survived)
			worker_make_ode_world_anew(worker);
		solver_set_lost(worker, root, !survived || !attempt.good);
	}
	attempt.pass.alone = SCENE_NONE;
	worker->lost++;
	*ret_message = '\0';
	return ode_guard(worker_attempt_under_guard, &attempt, ret_message, bytes) && attempt.good;
}

/* --- a part of a step --------------------------------------------------------------------------------------------- */

/* Groups of one ODE world are stepped in one call; the cost of each grows about with the square of its rows. */
static double worker_weight_of(const struct group *group)
{
	return 1 + (double)group->rows * group->rows;
}

static void worker_note_time(const struct worker *worker, uint64_t ns)
{
	double weights = 0;
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++)
		weights += worker_weight_of(group_at_hand(worker, g));
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		double share_ns = (double)ns * worker_weight_of(group) / weights / group->members.count;
		for (uint32_t i = 0; i < group->members.count; i++)
			worker->instances[group->members.at[i]]->measured_ns = (uint32_t)MIN(share_ns, UINT32_MAX);
	}
}

/* The islands of the ODE world at hand that lanes can solve. False: ODE gave up on a contact, with its message. */
static bool worker_step_lanes(struct worker *worker, char *ret_message, size_t bytes)
{
	if (!ode_guard(worker_try_lanes_under_guard, worker, ret_message, bytes))
		return false;
	if (!worker->sane)
		worker_note_all_diverged(worker);
	return true;
}

/* False: ODE gave up, with its message. */
static bool worker_work_on(struct worker *worker, struct ode_world *ode_world, char *ret_message, size_t bytes)
{
	const bool timed = worker->owner->timed;
	uint64_t begin_ns = timed ? clock_now_ns() : 0;
	struct worker_attempt attempt = {.worker = worker, .pass = {false, SCENE_NONE}};
	worker->ode_world = ode_world;
	observe_begin_ode_world(worker);
	if (worker->exact && !worker_step_lanes(worker, ret_message, bytes))
		return false;
	if (worker->exact && (worker->abandoned || !exact_left_count(worker->exact))) {
		if (timed)
			worker_note_time(worker, clock_now_ns() - begin_ns);
		return true;
	}
	ode_world_id(worker->owner, (uint32_t)(ode_world - worker->owner->ode_worlds.at));
	worker_lend_memory(worker);
	bool survived = ode_guard(worker_attempt_under_guard, &attempt, ret_message, bytes);
	if (!survived)
		worker_make_ode_world_anew(worker);
	*ret_message = '\0';
	if ((!survived || !attempt.good) && !worker_try_again(worker, ret_message, bytes)) {
		if (*ret_message)
			return false;
		worker_note_all_diverged(worker);
	}
	if (timed)
		worker_note_time(worker, clock_now_ns() - begin_ns);
	return true;
}

static troupe_status worker_gave_up(struct worker *worker, const char *message, struct troupe_error *error)
{
	worker->gave_up = true;
	atomic_store(&worker->owner->gave_up, true);
	return diverged_in_ode(worker, message, error);
}

/* After a failure, which was reported, and in a step that is given up the result is not used. False: stop. */
static bool worker_step_one(
	struct worker *worker, struct ode_world *ode_world, troupe_status *ret_status, struct troupe_error *error)
{
	char message[200];
	struct physics *owner = worker->owner;
	if (worker->gave_up || atomic_load_explicit(&owner->gave_up, memory_order_relaxed))
		return false;
	if (!worker->abandoned && !worker_work_on(worker, ode_world, message, sizeof message)) {
		*ret_status = worker_gave_up(worker, message, error);
		return false;
	}
	if (worker->abandoned) {
		atomic_store_explicit(&owner->abandoned, true, memory_order_relaxed);
		return false;
	}
	if (owner != worker->home)
		worker->helped += ode_world->groups.count;
	return true;
}

static void worker_work_for(struct worker *worker, struct physics *owner, bool notes, uint32_t note_step)
{
	worker->observe = notes ? owner->observe : 0;
	worker->note_step = note_step;
	worker->owner = owner;
	worker->instances = owner->instances;
	worker->stepping = NULL;
}

troupe_status worker_step(
	struct worker *worker, struct physics *owner, uint32_t first, uint32_t count, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	worker_work_for(worker, owner, owner->notes, owner->note_step);
	for (uint32_t w = first; w < first + count; w++) {
		struct ode_world *ode_world = &owner->ode_worlds.at[owner->busy_ode_worlds.at[w]];
		if (!ode_world->ahead && !worker_step_one(worker, ode_world, &status, error))
			break;
	}
	return status;
}

troupe_status worker_step_ahead(
	struct worker *worker, struct physics *owner, uint32_t at, uint32_t note_step, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	worker_work_for(worker, owner, note_step, note_step);
	(void)worker_step_one(worker, &owner->ode_worlds.at[owner->ahead.at[at]], &status, error);
	return status;
}
