/* One model's ODE objects: made from the scene, loaded from state k, stored to state k+1. */
#include "physics/exact.h"
#include "physics/internal.h"

#include "base/math.h"
#include "physics/joint_ode.h"
#include "physics/joint_position.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(offsetof(struct quat, w) == 0 && offsetof(struct quat, z) == 3 * sizeof(double),
	"a quaternion is laid out as ODE's is, and compared with it");

static bool instance_model_self_collides(const struct scene *scene, const struct scene_model *model)
{
	for (uint32_t l = model->link_first; l < model->link_first + model->link_count; l++)
		if (scene->links[l].self_collide || scene->links[l].is_static)
			return true;
	return false;
}

static bool instance_has_kinematic_body(const struct scene *scene, const struct scene_model *model)
{
	for (uint32_t b = model->body_first; b < model->body_first + model->body_count; b++)
		if (scene->bodies[b].kinematic)
			return true;
	return false;
}

/* Whether the model's motion does not depend on any other: all its bodies are commanded, and no joint is at them. */
static bool instance_is_commanded(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	bool commanded = m->body_count && !m->joint_count;
	for (uint32_t b = m->body_first; commanded && b < m->body_first + m->body_count; b++)
		commanded = scene->bodies[b].commanded;
	for (uint32_t i = 0; commanded && i < scene->world_joints.count; i++) {
		const struct scene_joint *joint = &scene->joints[scene->world_joints.at[i]];
		commanded = (joint->parent == SCENE_NONE || scene->bodies[joint->parent].model != model) &&
			    (joint->child == SCENE_NONE || scene->bodies[joint->child].model != model);
	}
	return commanded;
}

static bool instance_is_held(const struct scene *scene, const struct scene_model *model)
{
	for (uint32_t j = model->joint_first; j < model->joint_first + model->joint_count; j++)
		if (scene->joints[j].parent == SCENE_NONE) /* the child is one of its links */
			return true;
	return instance_has_kinematic_body(scene, model);
}

static double instance_inverse_mass(const struct scene *scene, const struct scene_model *model)
{
	double mass = 0;
	for (uint32_t b = model->body_first; b < model->body_first + model->body_count; b++)
		mass += scene->bodies[b].mass;
	return mass > 0 && !instance_has_kinematic_body(scene, model) ? 1 / mass : 0;
}

static char *instance_set_up_block(struct ode_block *block, char *memory, size_t bytes)
{
	*block = (struct ode_block){.memory = memory, .bytes = bytes};
	return memory + bytes;
}

/* One piece of memory, so that the data of a model that a step reads lie together. */
static struct instance *instance_lay_out(const struct scene_model *m, uint32_t rows, bool with_bodies)
{
	const struct ode_block_bytes ode = ode_block_bytes();
	size_t bodies = m->body_count, geoms = m->geom_count, joints = m->joint_count;
	size_t for_geoms = with_bodies ? geoms * ode.geom : 0; /* else few are ever made */
	size_t for_bodies = with_bodies ? bodies * ode.body + (joints + rows) * ode.joint : 0;
	struct instance *instance;
	size_t settings = with_bodies ? joints : 0; /* else with the joints, if ODE ever gets any */
	size_t arrays = sizeof *instance + settings * sizeof *instance->settings + geoms * sizeof *instance->boxes +
			bodies * sizeof *instance->bodies + geoms * sizeof *instance->geoms +
			(joints + rows) * sizeof *instance->joints + 2 * geoms * sizeof *instance->centred;
	arrays = ode_aligned(arrays);
	instance = mem_alloc_lines(arrays + for_geoms + for_bodies);
	instance->settings = with_bodies ? (struct joint_setting *)(instance + 1) : NULL;
	instance->boxes = (struct aabb *)((struct joint_setting *)(instance + 1) + settings);
	instance->bodies = (dBodyID *)(instance->boxes + geoms);
	instance->geoms = (dGeomID *)(instance->bodies + bodies);
	instance->joints = (dJointID *)(instance->geoms + geoms);
	instance->added = instance->joints + joints;
	instance->centred = (bool *)(instance->added + rows);
	instance->placed = instance->centred + geoms;
	char *end = instance_set_up_block(&instance->for_geoms, (char *)instance + arrays, for_geoms);
	instance_set_up_block(&instance->for_bodies, end, for_bodies);
	return instance;
}

static void instance_make_geom(const struct scene *scene, struct instance *instance, uint32_t i)
{
	uint32_t index = scene->models[instance->model].geom_first + i;
	const struct scene_geom *geom = &scene->geoms[index];
	instance->geoms[i] = shape_make(geom);
	dGeomSetData(instance->geoms[i], (void *)(uintptr_t)index);
}

static uint64_t instance_pair(uint32_t body_a, uint32_t body_b)
{
	return (uint64_t)MIN(body_a, body_b) << 32 | MAX(body_a, body_b);
}

static int instance_compare_pairs(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* A gearbox is no joint between its bodies. */
static void instance_list_joined(const struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		const struct scene_joint *joint = &physics->scene->joints[j];
		if (joint->kind != SDF_GEARBOX)
			vec_push(&instance->joined, instance_pair(joint->parent, joint->child));
	}
	if (instance->joined.count)
		qsort(instance->joined.at, instance->joined.count, sizeof *instance->joined.at, instance_compare_pairs);
}

bool instance_joins(const struct instance *instance, uint32_t body_a, uint32_t body_b)
{
	uint64_t pair = instance_pair(body_a, body_b);
	return instance->joined.count && bsearch(&pair, instance->joined.at, instance->joined.count,
						 sizeof *instance->joined.at, instance_compare_pairs);
}

struct instance *instance_create(struct physics *physics, uint32_t model)
{
	const struct scene_model *m = &physics->scene->models[model];
	uint32_t rows = added_rows(physics->scene, model);
	struct instance *instance = instance_lay_out(m, rows, physics->options.ode);
	instance->model = model;
	instance->group = SCENE_NONE;
	instance->kinematic = instance_has_kinematic_body(physics->scene, m);
	instance->held = instance_is_held(physics->scene, m);
	instance->commanded = instance_is_commanded(physics->scene, model);
	instance->inverse_mass = instance_inverse_mass(physics->scene, m);
	instance->self_collides = m->body_count > 1 && instance_model_self_collides(physics->scene, m);
	if (instance->self_collides)
		instance_list_joined(physics, instance);
	for (uint32_t i = 0; i < m->geom_count; i++)
		instance->centred[i] = pose_is_identity(physics->scene->geoms[m->geom_first + i].in_body);
	ode_block_open(&instance->for_geoms);
	for (uint32_t i = 0; physics->options.ode && m->body_count && i < m->geom_count; i++)
		instance_make_geom(physics->scene, instance, i);
	ode_block_close();
	for (uint32_t i = 0; i < m->joint_count; i++) {
		const struct scene_joint *joint = &physics->scene->joints[m->joint_first + i];
		for (uint32_t a = 0; a < joint->axis_count; a++)
			instance->rates_limited |= isfinite(joint->axis[a].velocity);
	}
	instance->joint_rows = physics_rows(physics->scene, model);
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		instance->has_added |= physics->scene->bodies[b].added != NULL;
	return instance;
}

struct instance *instance_replace(struct physics *physics, const struct instance *before)
{
	struct instance *instance = instance_create(physics, before->model);
	instance->group = before->group;
	instance->set = before->set;
	instance->disturbed = before->disturbed;
	instance->touched = before->touched;
	instance->spins = before->spins;
	instance->measured_ns = before->measured_ns;
	return instance;
}

void instance_drop(struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	uint32_t joints = m->joint_count + added_rows(physics->scene, instance->model); /* one array */
	ode_block_open(&instance->for_bodies);
	for (uint32_t i = 0; i < joints; i++)
		if (instance->joints[i])
			dJointDestroy(instance->joints[i]);
	for (uint32_t i = 0; i < m->body_count; i++)
		if (instance->bodies[i])
			dBodyDestroy(instance->bodies[i]);
	ode_block_close();
	memset(instance->joints, 0, joints * sizeof *instance->joints);
	memset(instance->bodies, 0, m->body_count * sizeof *instance->bodies);
	instance->group = SCENE_NONE;
}

void instance_destroy(struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	instance_drop(physics, instance);
	ode_block_open(&instance->for_geoms);
	for (uint32_t i = 0; i < m->geom_count; i++)
		if (instance->geoms[i])
			dGeomDestroy(instance->geoms[i]);
	ode_block_close();
	vec_free(&instance->statics);
	vec_free(&instance->joined);
	free(instance->feedback);
	free(instance->own_settings);
	free(instance);
}

struct pose instance_geom_pose(const struct worker *worker, const struct instance *instance, uint32_t i)
{
	const struct scene_geom *geom = &worker->scene->geoms[worker->scene->models[instance->model].geom_first + i];
	const struct body_at_hand *body = worker_hand(worker, geom->body);
	const struct pose at = {body->p, body->q};
	return instance->centred[i] ? at : pose_mul(at, geom->in_body);
}

void instance_place_geom(struct worker *worker, struct instance *instance, uint32_t i)
{
	const struct pose at = instance_geom_pose(worker, instance, i);
	dQuaternion q;
	quat_store(at.q, q);
	if (!instance->geoms[i])
		instance_make_geom(worker->scene, instance, i);
	dGeomSetPosition(instance->geoms[i], at.p.x, at.p.y, at.p.z);
	dGeomSetQuaternion(instance->geoms[i], q);
	instance->placed[i] = true;
}

static void instance_place_body(dBodyID body, const struct body_state *state)
{
	dQuaternion q;
	quat_store(state->q, q);
	dBodySetPosition(body, state->p.x, state->p.y, state->p.z);
	dBodySetQuaternion(body, q);
}

/* Joints are always attached at the pose in the file. Otherwise a joint's anchors would contain the last bits of the
 * pose that the model had when it was taken over. */
static void instance_place_for_joints(struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	for (uint32_t i = 0; i < m->body_count; i++) {
		struct body_state at = {0};
		at.p = physics->scene->bodies[m->body_first + i].reference.p;
		at.q = physics->scene->bodies[m->body_first + i].reference.q;
		instance_place_body(
			instance->bodies[i], physics->options.rule == PHYSICS_BREAK_REFERENCE ? &now[i] : &at);
	}
}

static void instance_add_fluid(const struct scene_added *added, dBodyID body)
{
	dMass mass;
	dMassSetParameters(
		&mass, added->mass, 0, 0, 0, added->ixx, added->iyy, added->izz, added->ixy, added->ixz, added->iyz);
	dBodySetMass(body, &mass);
	dBodySetGravityMode(body, 0);
	dBodySetGyroscopicMode(body, 0); /* added_apply() has all of it */
}

static dBodyID instance_make_body(const struct scene_body *from, dWorldID ode_world)
{
	dBodyID body = dBodyCreate(ode_world);
	dMass mass;
	dMassSetParameters(
		&mass, from->mass, 0, 0, 0, from->ixx, from->iyy, from->izz, from->ixy, from->ixz, from->iyz);
	dBodySetMass(body, &mass);
	dBodySetGravityMode(body, from->gravity);
	if (from->added)
		instance_add_fluid(from->added, body);
	if (from->kinematic)
		dBodySetKinematic(body);
	if (from->linear_damping > 0 && !from->commanded)
		dBodySetLinearDamping(body, from->linear_damping);
	if (from->angular_damping > 0 && !from->commanded)
		dBodySetAngularDamping(body, from->angular_damping);
	return body;
}

void instance_make_bodies(struct physics *physics, struct instance *instance, dWorldID ode_world)
{
	const struct scene *scene = physics->scene;
	const struct scene_model *m = &scene->models[instance->model];
	ode_block_open(&instance->for_bodies);
	for (uint32_t i = 0; i < m->body_count; i++) {
		const struct scene_body *from = &scene->bodies[m->body_first + i];
		dBodyID body = instance->bodies[i] = instance_make_body(from, ode_world);
		for (uint32_t g = from->geom_first; g < from->geom_first + from->geom_count; g++) {
			dGeomID geom = instance->geoms[g - m->geom_first];
			struct pose offset = scene->geoms[g].in_body;
			dQuaternion q;
			if (!physics->options.ode)
				break; /* contacts are found without bodies */
			dGeomSetBody(geom, body);
			if (instance->centred[g - m->geom_first])
				continue; /* ODE multiplies by every offset that was ever set */
			quat_store(offset.q, q);
			dGeomSetOffsetPosition(geom, offset.p.x, offset.p.y, offset.p.z);
			dGeomSetOffsetQuaternion(geom, q);
		}
	}
	ode_block_close();
	instance_place_for_joints(physics, instance);
	instance_load(physics, instance);
}

void instance_make_joints(struct physics *physics, struct instance *instance, dWorldID ode_world)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	instance_place_for_joints(physics, instance);
	if (!instance->settings)
		instance->settings = instance->own_settings = mem_alloc(m->joint_count * sizeof *instance->settings);
	ode_block_open(&instance->for_bodies);
	for (uint32_t i = 0; i < m->joint_count; i++) {
		instance->joints[i] = joint_make(physics, m->joint_first + i, ode_world);
		joint_unset(&physics->scene->joints[m->joint_first + i], &instance->settings[i]);
	}
	added_make(physics, instance, ode_world);
	ode_block_close();
	if (physics->observe & OBSERVE_JOINTS)
		observe_joints(physics, instance);
}

dBodyID instance_body(const struct physics *physics, uint32_t body)
{
	if (body == SCENE_NONE)
		return 0;
	uint32_t model = physics->scene->bodies[body].model;
	return physics->instances[model]->bodies[body - physics->scene->models[model].body_first];
}

static void instance_load_control(const struct scene_body *from, const struct body_control *control, dBodyID body)
{
	if (from->kinematic && !from->commanded ? control->place : control->drive) {
		dBodySetLinearVel(body, control->v.x, control->v.y, control->v.z);
		dBodySetAngularVel(body, control->w.x, control->w.y, control->w.z);
	}
	if (control->force.x != 0 || control->force.y != 0 || control->force.z != 0)
		dBodyAddForce(body, control->force.x, control->force.y, control->force.z);
	if (control->torque.x != 0 || control->torque.y != 0 || control->torque.z != 0)
		dBodyAddTorque(body, control->torque.x, control->torque.y, control->torque.z);
}

/* Whether placing the body would change nothing: it has the pose already, and its rotation matrix follows from its
 * quaternion, as always. A step leaves most bodies as the next step needs them. */
static bool instance_is_placed(dBodyID body, const struct body_state *state)
{
	return !memcmp(dBodyGetPosition(body), &state->p, sizeof state->p) &&
	       !memcmp(dBodyGetQuaternion(body), &state->q, sizeof state->q) && ode_keeps_quaternion(state->q);
}

void instance_load(struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	bool asked = physics->control->models[instance->model].bodies;
	for (uint32_t i = 0; i < m->body_count; i++) {
		dBodyID body = instance->bodies[i];
		if (physics->options.rule == PHYSICS_BREAK_ROTATION && instance->boxes_known)
			dBodySetPosition(body, now[i].p.x, now[i].p.y, now[i].p.z);
		else if (!instance_is_placed(body, &now[i]))
			instance_place_body(body, &now[i]);
		dBodySetLinearVel(body, now[i].v.x, now[i].v.y, now[i].v.z);
		dBodySetAngularVel(body, now[i].w.x, now[i].w.y, now[i].w.z);
		dBodySetForce(body, 0, 0, 0); /* left from an earlier try of the step */
		dBodySetTorque(body, 0, 0, 0);
		if (!asked)
			continue;
		instance_load_control(
			&physics->scene->bodies[m->body_first + i], &physics->control->bodies[m->body_first + i], body);
	}
}

static void instance_add_control(
	const struct scene_body *from, const struct body_control *control, struct body_at_hand *hand)
{
	if (from->kinematic && !from->commanded ? control->place : control->drive) {
		hand->v = control->v;
		hand->w = control->w;
	}
	hand->force = vec3_add(hand->force, control->force);
	hand->torque = vec3_add(hand->torque, control->torque);
}

static struct body_at_hand *instance_take_hand(struct worker *worker, uint32_t body)
{
	worker->hand_at[body] = worker->hand_count;
	return &worker->hand[worker->hand_count++];
}

void instance_hand(struct worker *worker, const struct instance *instance)
{
	const struct physics *physics = worker->owner;
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	bool asked = physics->control->models[instance->model].bodies;
	for (uint32_t i = 0; i < m->body_count; i++) {
		const struct scene_body *from = &physics->scene->bodies[m->body_first + i];
		struct body_at_hand *hand = instance_take_hand(worker, m->body_first + i);
		*hand = (struct body_at_hand){now[i].p, now[i].q, now[i].v, now[i].w, {0, 0, 0}, {0, 0, 0}};
		if (from->gravity && !from->kinematic && !from->added)
			hand->force = vec3_scale(physics->gravity, from->mass);
		if (asked)
			instance_add_control(from, &physics->control->bodies[m->body_first + i], hand);
		if (from->added)
			added_push(from, physics->gravity, physics->dt, false, hand);
	}
}

/* ODE normalises the quaternions that it is given, so with ODE the bodies have these. */
void instance_hand_of_ode(struct worker *worker, const struct instance *instance)
{
	uint32_t first = worker->scene->models[instance->model].body_first;
	for (uint32_t i = 0; i < worker->scene->models[instance->model].body_count; i++) {
		struct body_at_hand *hand = instance_take_hand(worker, first + i);
		*hand = (struct body_at_hand){.p = vec3_from(dBodyGetPosition(instance->bodies[i])),
			.q = quat_from(dBodyGetQuaternion(instance->bodies[i])),
			.v = vec3_from(dBodyGetLinearVel(instance->bodies[i])),
			.w = vec3_from(dBodyGetAngularVel(instance->bodies[i]))};
	}
}

/* A kinematic body ends at its commanded pose, not where ODE's integration takes it. */
static void instance_place_exactly(
	const struct scene_body *from, const struct body_control *control, struct body_state *next)
{
	if (!from->kinematic || !control->place)
		return;
	next->p = control->target.p;
	next->q = control->target.q;
}

/* A commanded body moves by its velocity alone. Whether ODE has it in this step makes no difference. */
static void instance_move_commanded(
	const struct body_control *control, const struct body_state *now, double dt, struct body_state *next)
{
	next->v = control ? control->v : now->v;
	next->w = control ? control->w : now->w;
	next->p = vec3_add(now->p, vec3_scale(next->v, dt));
	next->q = now->q;
	double spin = vec3_length(next->w), sine, cosine;
	if (spin == 0)
		return;
	math_sincos(spin * dt / 2, &sine, &cosine);
	sine /= spin;
	struct quat turn = {cosine, next->w.x * sine, next->w.y * sine, next->w.z * sine};
	next->q = quat_unit(quat_mul(turn, now->q));
}

static const struct body_control *instance_command_of(
	const struct physics *physics, const struct instance *instance, uint32_t i)
{
	const struct control *control = physics->control;
	uint32_t body = physics->scene->models[instance->model].body_first + i;
	return control->models[instance->model].bodies && control->bodies[body].drive ? &control->bodies[body] : NULL;
}

bool instance_move(struct physics *physics, struct instance *instance)
{
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	struct body_state *next = state_bodies(physics->state, instance->model, true);
	bool sane = true;
	for (uint32_t i = 0; i < physics->scene->models[instance->model].body_count; i++) {
		instance_move_commanded(instance_command_of(physics, instance, i), &now[i], physics->dt, &next[i]);
		sane = sane && body_state_sane(&next[i]);
	}
	return sane;
}

bool body_state_sane(const struct body_state *body)
{
	double norm = body->q.w * body->q.w + body->q.x * body->q.x + body->q.y * body->q.y + body->q.z * body->q.z;
	return vec3_within(body->p, PHYSICS_POSITION_MAX) && vec3_within(body->v, PHYSICS_VELOCITY_MAX) &&
	       vec3_within(body->w, PHYSICS_SPIN_MAX) && norm > 0.5 && norm < 2;
}

static void instance_store_body(dBodyID body, struct body_state *ret)
{
	ret->p = vec3_from(dBodyGetPosition(body));
	ret->q = quat_from(dBodyGetQuaternion(body));
	ret->v = vec3_from(dBodyGetLinearVel(body));
	ret->w = vec3_from(dBodyGetAngularVel(body));
}

bool instance_sane(dBodyID body)
{
	struct body_state state;
	instance_store_body(body, &state);
	return body_state_sane(&state);
}

bool instance_stored_sane(const struct physics *physics, const struct instance *instance)
{
	const struct body_state *next = state_bodies(physics->state, instance->model, true);
	bool sane = true;
	for (uint32_t i = 0; i < physics->scene->models[instance->model].body_count; i++)
		sane = sane && body_state_sane(&next[i]);
	return sane;
}

/* ODE turns a body by an infinitesimal rotation. In a large turn this falls short: by 0.1 % at 0.1 rad, and it never
 * exceeds half a turn. Such a body is turned exactly by its angular velocity. */
struct quat instance_far_turn(struct quat from, struct vec3 w, double spin, double dt)
{
	double sine, cosine;
	math_sincos(spin * dt / 2, &sine, &cosine);
	double along = sine / spin;
	return quat_mul((struct quat){cosine, w.x * along, w.y * along, w.z * along}, from);
}

static void instance_set_turn(dBodyID body, struct quat turn)
{
	dQuaternion q;
	quat_store(turn, q);
	dBodySetQuaternion(body, q);
}

/* By ODE's body, if ODE steps it; else by what the lanes have stored, and for kinematic bodies by what they began with.
 * So it does not depend on which groups have objects of ODE. */
static struct vec3 instance_spin(const struct worker *worker, const struct instance *instance, uint32_t place)
{
	uint32_t body = worker->scene->models[instance->model].body_first + place;
	if (worker->exact && !exact_moves(worker, body))
		return worker_hand(worker, body)->w;
	if (worker->exact && !exact_is_left(worker, body))
		return state_body(worker->owner->state, body, true)->w;
	return vec3_from(dBodyGetAngularVel(instance->bodies[place]));
}

void instance_turn(struct worker *worker, struct instance *instance, double dt)
{
	const struct body_state *now = state_bodies(worker->owner->state, instance->model, false);
	uint32_t first = worker->scene->models[instance->model].body_first;
	double most2 = 0, far2 = PHYSICS_TURN_FAR * PHYSICS_TURN_FAR / (dt * dt);
	for (uint32_t i = 0; i < worker->scene->models[instance->model].body_count; i++) {
		struct vec3 w = instance_spin(worker, instance, i);
		double spin2 = w.x * w.x + w.y * w.y + w.z * w.z;
		if (spin2 > far2 && isfinite(spin2) && (!worker->exact || exact_is_left(worker, first + i)))
			instance_set_turn(instance->bodies[i], instance_far_turn(now[i].q, w, sqrt(spin2), dt));
		most2 = fmax(most2, spin2);
	}
	instance->spins = most2 > far2;
}

bool instance_store_without_ode(struct worker *worker, struct instance *instance)
{
	struct physics *physics = worker->owner;
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	struct body_state *next = state_bodies(physics->state, instance->model, true);
	bool sane = true;
	for (uint32_t i = 0; i < m->body_count; i++) {
		uint32_t body = m->body_first + i;
		const struct scene_body *from = &physics->scene->bodies[body];
		if (exact_is_left(worker, body)) {
			instance_store_body(instance->bodies[i], &next[i]);
		} else if (from->commanded) {
			instance_move_commanded(
				instance_command_of(physics, instance, i), &now[i], physics->dt, &next[i]);
		} else if (from->kinematic) {
			const struct body_control moved = {
				.v = worker_hand(worker, body)->v, .w = worker_hand(worker, body)->w};
			instance_move_commanded(&moved, &now[i], physics->dt, &next[i]);
			instance_place_exactly(from, &physics->control->bodies[body], &next[i]);
		} else {
			continue; /* lanes have looked at what they stored */
		}
		sane = sane && body_state_sane(&next[i]);
	}
	if (sane)
		joint_store_poses(worker, instance);
	return sane;
}

bool instance_store(struct physics *physics, struct instance *instance)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *now = state_bodies(physics->state, instance->model, false);
	struct body_state *next = state_bodies(physics->state, instance->model, true);
	bool sane = true;
	for (uint32_t i = 0; i < m->body_count; i++) {
		instance_store_body(instance->bodies[i], &next[i]);
		if (instance->kinematic && physics->scene->bodies[m->body_first + i].commanded)
			instance_move_commanded(
				instance_command_of(physics, instance, i), &now[i], physics->dt, &next[i]);
		else if (instance->kinematic)
			instance_place_exactly(&physics->scene->bodies[m->body_first + i],
				&physics->control->bodies[m->body_first + i], &next[i]);
		sane = sane && body_state_sane(&next[i]);
	}
	if (!sane)
		return false;
	joint_store_all(physics, instance);
	return true;
}

void instance_measure(struct physics *physics, struct instance *instance, bool next)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	const struct body_state *bodies = state_bodies(physics->state, instance->model, next);
	struct aabb all = AABB_NONE;
	for (uint32_t i = 0; i < m->geom_count; i++) {
		const struct scene_geom *geom = &physics->scene->geoms[m->geom_first + i];
		if (!m->body_count)
			instance->boxes[i] = scene_static_box(geom);
		else if (instance->centred[i])
			instance->boxes[i] = scene_shape_box(geom, body_pose(&bodies[geom->body - m->body_first]));
		else
			instance->boxes[i] = scene_geom_box(geom, body_pose(&bodies[geom->body - m->body_first]));
		all = aabb_join(all, instance->boxes[i]);
	}
	if (aabb_is_empty(&all)) {
		struct vec3 origin = state_model_pose(physics->state, instance->model, next).p;
		all = (struct aabb){origin, origin};
	}
	instance->box = all;
	instance->boxes_known = true;
}
