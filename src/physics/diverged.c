/* Names the model and the joint at fault when a step fails. A model beyond the limits is found in state k+1, as it was
 * stored. When ODE gave up, only its bodies tell which model that was, and after some of its messages they do not. */
#include "physics/internal.h"

#include <stdio.h>

void diverged_note(struct physics *owner, uint32_t model)
{
	uint32_t lowest = atomic_load(&owner->diverged);
	while (model < lowest && !atomic_compare_exchange_weak(&owner->diverged, &lowest, model))
		;
}

static bool diverged_is_finite(const struct instance *instance, uint32_t bodies)
{
	double sum = 0;
	for (uint32_t i = 0; i < bodies; i++)
		for (uint32_t k = 0; k < 3; k++)
			sum += dBodyGetPosition(instance->bodies[i])[k] + dBodyGetLinearVel(instance->bodies[i])[k] +
			       dBodyGetAngularVel(instance->bodies[i])[k] + dBodyGetQuaternion(instance->bodies[i])[k];
	return isfinite(sum);
}

/* The first model of the ODE world at hand with numbers that are not finite in ODE; if none, the first model. */
static uint32_t diverged_spoilt_model(const struct worker *worker)
{
	for (uint32_t g = 0; g < worker->ode_world->groups.count; g++) {
		const struct group *group = group_at_hand(worker, g);
		for (uint32_t i = 0; i < group->members.count; i++) {
			uint32_t model = group->members.at[i];
			if (!diverged_is_finite(
				    worker->owner->instances[model], worker->scene->models[model].body_count))
				return model;
		}
	}
	return group_at_hand(worker, 0)->members.at[0];
}

/* The name of the first joint, of the model or the world, at a body of the model for which `spoilt` returns true;
 * NULL: none. */
static const char *diverged_joint_at_fault(const struct physics *physics, uint32_t model,
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

static bool diverged_is_spoilt_in_state(const struct physics *physics, uint32_t model, uint32_t body)
{
	return !body_state_sane(&state_bodies(physics->state, model, true)[body]);
}

static bool diverged_is_spoilt_in_ode(const struct physics *physics, uint32_t model, uint32_t body)
{
	return !instance_sane(physics->instances[model]->bodies[body]);
}

/* who: added after the model's name if the fault may be in a neighbour. */
static troupe_status diverged(struct troupe_error *error, const struct physics *physics, uint32_t model,
	const char *who, const char *joint, const char *how)
{
	return fail(error, TROUPE_EDIVERGED, "model '%s'%s diverged%s%s%s: %s", physics->scene->models[model].name, who,
		joint ? " at joint '" : "", joint ? joint : "", joint ? "'" : "", how);
}

troupe_status diverged_in_state(const struct physics *owner, uint32_t model, struct troupe_error *error)
{
	char how[200];
	snprintf(how, sizeof how, "its position or velocity is not finite or beyond %g m, %g m/s, %g rad/s",
		PHYSICS_POSITION_MAX, PHYSICS_VELOCITY_MAX, PHYSICS_SPIN_MAX);
	return diverged(
		error, owner, model, "", diverged_joint_at_fault(owner, model, diverged_is_spoilt_in_state), how);
}

troupe_status diverged_in_ode(const struct worker *worker, const char *message, struct troupe_error *error)
{
	uint32_t model = worker->stepping ? worker->stepping->members.at[0] : diverged_spoilt_model(worker);
	char how[300];
	snprintf(how, sizeof how, "the physics engine failed: %s", message);
	const char *joint = diverged_joint_at_fault(worker->owner, model, diverged_is_spoilt_in_ode);
	return diverged(error, worker->owner, model, joint ? "" : ", or what touches it,", joint, how);
}
