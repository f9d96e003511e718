/* Bodies with added mass (scene/added.h): what ODE's body and the rows cannot express becomes a force.
 *
 * A row is ODE's joint that keeps two points at a distance, between a point of the body and a point of the world beyond
 * it. Its softness h / m and its wanted rate, that of state k, make it resist as a mass does: its force is
 * -m (rate(k+1) - rate(k)) / h. So it takes part in the solution of contacts and joints.
 *
 * Where nothing holds or touches the body, it has to end the step with the velocity that conserves momentum: that of
 * body and fluid together, with the force of the step. The added part of momentum turns with the body, and a body that
 * moves across its own momentum is turned (Munk's moment). That velocity is found here by iteration, and the force on
 * ODE's body is the one that brings it there; contacts and joints then act on that motion. Without iteration (the terms
 * taken from state k) a body that tumbles gains energy in each step.
 *
 * Gravity acts on the mass of the body alone, so ODE's own gravity is off. */
#include "physics/internal.h"

enum { ROUNDS = 6 }; /* each is better by the angle of a step */

static const struct scene_added *physics_added_of(
	const struct physics *physics, const struct instance *instance, uint32_t i)
{
	return physics->scene->bodies[physics->scene->models[instance->model].body_first + i].added;
}

uint32_t added_rows(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	uint32_t rows = 0;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		rows += scene->bodies[b].added ? scene->bodies[b].added->row_count : 0;
	return rows;
}

/* The body stands at its pose in the file. */
static dJointID physics_added_make_row(dBodyID body, const struct scene_added_row *row, dWorldID ode_world)
{
	dVector3 at;
	dJointID id = dJointCreateDBall(ode_world, 0);
	dJointAttach(id, body, 0);
	dBodyGetRelPointPos(body, row->at.x, row->at.y, row->at.z, at);
	dJointSetDBallAnchor1(id, at[0], at[1], at[2]);
	dJointSetDBallParam(id, dParamERP, 1);
	return id;
}

void added_make(struct physics *physics, struct instance *instance, dWorldID ode_world)
{
	uint32_t at = 0;
	for (uint32_t i = 0; i < physics->scene->models[instance->model].body_count; i++) {
		const struct scene_added *added = physics_added_of(physics, instance, i);
		for (uint32_t r = 0; added && r < added->row_count; r++)
			instance->added[at++] = physics_added_make_row(instance->bodies[i], &added->rows[r], ode_world);
	}
}

/* --- one step ----------------------------------------------------------------------------------------------------- */

static struct vec6 physics_added_into(struct quat frame, struct vec6 v)
{
	struct quat back = quat_conj(frame);
	return (struct vec6){quat_rotate(back, v.linear), quat_rotate(back, v.angular)};
}

static struct vec6 physics_added_out_of(struct quat frame, struct vec6 v)
{
	return (struct vec6){quat_rotate(frame, v.linear), quat_rotate(frame, v.angular)};
}

static struct vec6 physics_added_plus(struct vec6 a, struct vec6 b, double scale)
{
	return (struct vec6){
		vec3_add(a.linear, vec3_scale(b.linear, scale)), vec3_add(a.angular, vec3_scale(b.angular, scale))};
}

/* The turn of a step, as ODE makes it, or exactly where instance_turn() and lanes/ do. */
static struct quat physics_added_turn_by(struct vec3 spin, double dt, bool by_ode)
{
	double w = vec3_length(spin), along = dt / 2, real = 1;
	if (w * dt > PHYSICS_TURN_FAR || (!by_ode && w > 0)) {
		math_sincos(w * dt / 2, &along, &real);
		along /= w;
	}
	return quat_unit((struct quat){real, spin.x * along, spin.y * along, spin.z * along});
}

/* The velocity at the end of the step, in the axes that the body has in state k. force: on the body, in these axes. */
static struct vec6 physics_added_free_velocity(
	const struct scene_added *added, struct vec6 now, struct vec6 force, double dt, bool by_ode)
{
	struct vec6 pushed = physics_added_plus(mat6_apply(&added->whole, now), force, dt), next = now;
	for (int round = 0; round < ROUNDS; round++) {
		struct quat turn = physics_added_turn_by(next.angular, dt, by_ode);
		struct vec6 momentum = pushed;
		/* about the centre of mass, which the momentum has passed by */
		momentum.angular = vec3_sub(momentum.angular, vec3_scale(vec3_cross(next.linear, pushed.linear), dt));
		next = physics_added_out_of(turn, mat6_apply(&added->inverse, physics_added_into(turn, momentum)));
	}
	return next;
}

void added_push(const struct scene_body *from, struct vec3 gravity, double dt, bool by_ode, struct body_at_hand *body)
{
	struct quat frame = quat_unit(body->q);
	struct vec6 now = physics_added_into(frame, (struct vec6){body->v, body->w}),
		    force = {body->force, body->torque};
	if (from->gravity)
		force.linear = vec3_add(force.linear, vec3_scale(gravity, from->mass));
	struct vec6 next = physics_added_free_velocity(from->added, now, physics_added_into(frame, force), dt, by_ode);
	force = physics_added_out_of(frame, mat6_apply(&from->added->carried, physics_added_plus(next, now, -1)));
	body->force = (struct vec3){force.linear.x / dt, force.linear.y / dt, force.linear.z / dt};
	body->torque = (struct vec3){force.angular.x / dt, force.angular.y / dt, force.angular.z / dt};
}

static void physics_added_push_ode(const struct scene_body *from, dBodyID id, struct vec3 gravity, double dt)
{
	struct body_at_hand body = {.q = quat_from(dBodyGetQuaternion(id)),
		.v = vec3_from(dBodyGetLinearVel(id)),
		.w = vec3_from(dBodyGetAngularVel(id)),
		.force = vec3_from(dBodyGetForce(id)),
		.torque = vec3_from(dBodyGetTorque(id))};
	added_push(from, gravity, dt, true, &body);
	dBodySetForce(id, body.force.x, body.force.y, body.force.z);
	dBodySetTorque(id, body.torque.x, body.torque.y, body.torque.z);
}

/* ODE's row: rate = (distance wanted - distance) / dt - softness * force. The other point is far enough away for the
 * wanted distance to be positive. */
static void physics_added_aim(const struct scene_added_row *row, dBodyID body, dJointID id, double dt)
{
	dVector3 at, along, rate;
	dJointGetDBallAnchor1(id, at);
	dBodyVectorToWorld(body, row->along.x, row->along.y, row->along.z, along);
	dBodyGetRelPointVel(body, row->at.x, row->at.y, row->at.z, rate);
	double grows = (rate[0] * along[0] + rate[1] * along[1] + rate[2] * along[2]) * dt, far = 1 + fabs(grows);
	struct vec3 other = {at[0] - far * along[0], at[1] - far * along[1], at[2] - far * along[2]};
	dJointSetDBallAnchor2(id, other.x, other.y, other.z);
	dJointSetDBallDistance(id, dJointGetDBallDistance(id) + grows);
	dJointSetDBallParam(id, dParamCFM, dt / row->mass);
}

void added_apply(const struct physics *physics, const struct instance *instance, double dt)
{
	const struct scene_model *m = &physics->scene->models[instance->model];
	uint32_t at = 0;
	for (uint32_t i = 0; i < m->body_count; i++) {
		const struct scene_body *from = &physics->scene->bodies[m->body_first + i];
		if (!from->added)
			continue;
		physics_added_push_ode(from, instance->bodies[i], physics->gravity, dt);
		for (uint32_t r = 0; r < from->added->row_count; r++)
			physics_added_aim(&from->added->rows[r], instance->bodies[i], instance->added[at++], dt);
	}
}
