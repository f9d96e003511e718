/* Contacts of one group: where geoms touch, and how their surfaces combine.
 *
 * Friction. ODE limits it in two directions separately (a pyramid), so a block whose edges lie at 45 degrees to the
 * slope would hold beyond the friction angle. Here the first direction is that of the slip which this step would
 * bring without friction, so that a face of the pyramid limits it, not an edge.
 *
 * Depth. ODE corrects penetration at up to one speed for the whole world. SDF gives each surface its own speed
 * (max_vel) and a depth that is not corrected (min_depth), so depth and error reduction are set contact by contact.
 *
 * Springs. A surface with a stiffness makes contacts that are springs: at rest they hold their load at the depth at
 * which a spring does. max_vel must not take from that force, or the load sinks for ever; but without max_vel a robot
 * that begins 5 mm deep in a stiff floor would be thrown into the air. So where the spring would part the two bodies
 * faster than max_vel in this step, its damper is made stronger, just so that they part at max_vel when nothing rests
 * on them. Force and depth at rest stay what they are. For this estimate both models count as one mass each.
 *
 * Belts and wheels. A system may ask for a surface that runs, and for slip (scene/control.h); the first direction of
 * friction is then that of the belt or of the wheel's axis. */
#include "physics/internal.h"

#include "base/hash.h"

#include <string.h>

#define SLIP_MIN 1e-5 /* m/s: a slower slip is noise, and so is its direction */
#define BELT_SIDE_MIN                                                                                                  \
	0.05 /* sine of the angle between the normal and the axis below which a contact is at the side                 \
	      */

/* --- surfaces --------------------------------------------------------------------------------------------------- */

/* Two geoms in one step; the first is pushed by the second. */
struct contact_meeting {
	const struct surface_mix *mix;
	struct vec3 direction; /* first friction direction, world; zero: none given */
	struct vec3 gained;    /* velocity of the first against the second from gravity in the step */
	double mobility;       /* 1 / kg: velocity of the first model against the second per unit of impulse */
	uint32_t bodies[2];    /* SCENE_NONE: static */
	const struct body_at_hand *a, *b; /* NULL: static */
	/* The demands of systems; NULL: there are none. */
	const struct surface_control *belt[2], *wheel[2];
	int count; /* of contacts */
};

static struct quat contact_turn_of_link(const struct worker *worker, uint32_t index)
{
	const struct scene_link *link = &worker->scene->links[index];
	if (link->body == SCENE_NONE)
		return link->in_body.q;
	return quat_mul(worker_hand(worker, link->body)->q, link->in_body.q);
}

/* fdir1 in world axes; zero when the surface has none. ODE knows no rotation of a plane, so that of a static geom comes
 * from the scene. */
static struct vec3 contact_given_direction(struct worker *worker, uint32_t index)
{
	const struct scene_geom *geom = &worker->scene->geoms[index];
	struct vec3 d = geom->surface->fdir1;
	if (d.x == 0 && d.y == 0 && d.z == 0)
		return d;
	if (geom->friction_link != SCENE_NONE)
		return quat_rotate(contact_turn_of_link(worker, geom->friction_link), d);
	if (geom->kind == SCENE_PLANE && geom->body == SCENE_NONE)
		return quat_rotate(geom->in_body.q, d);
	dQuaternion q;
	dGeomGetQuaternion(contact_geom_id(worker, index), q);
	return quat_rotate(quat_from(q), d);
}

static struct vec3 contact_pull(const struct worker *worker, uint32_t body)
{
	const struct scene_body *b = body == SCENE_NONE ? NULL : &worker->scene->bodies[body];
	bool falls = b && !b->kinematic && b->gravity && !b->added;
	return falls ? worker->scene->gravity : (struct vec3){0, 0, 0};
}

static struct vec3 contact_across(struct vec3 v, struct vec3 normal)
{
	return vec3_sub(v, vec3_scale(normal, vec3_dot(v, normal)));
}

static struct vec3 contact_point_velocity(const struct body_at_hand *body, struct vec3 at)
{
	if (!body)
		return (struct vec3){0, 0, 0};
	return vec3_add(body->v, vec3_cross(body->w, vec3_sub(at, body->p)));
}

/* The slip that this step would bring without friction: the present slip and what gravity adds. */
static struct vec3 contact_coming_slip(const struct contact_meeting *m, const struct contact_row *row)
{
	struct vec3 now = vec3_sub(contact_point_velocity(m->a, row->at), contact_point_velocity(m->b, row->at));
	return contact_across(vec3_add(now, m->gained), row->normal);
}

/* Where the surface of the belt runs: 0 at its sides, where the normal is along the axis. */
static struct vec3 contact_run_of(const struct surface_control *belt, struct vec3 normal, bool second)
{
	return vec3_cross(second ? vec3_scale(normal, -1) : normal, belt->axis);
}

/* The first direction of friction is that of the belt, or along a circle around its centre. *ret_speed: of the belt in
 * this direction. False: it does not run here. */
static bool contact_find_run(const struct surface_control *belt, struct vec3 normal, bool second, struct vec3 at,
	struct vec3 *ret_first, double *ret_speed)
{
	struct vec3 run = contact_run_of(belt, normal, second), first = run;
	if (belt->turns)
		first = vec3_cross(normal, vec3_sub(at, belt->centre));
	double length = vec3_length(first);
	if (vec3_length(run) < BELT_SIDE_MIN || length < 1e-9)
		return false;
	*ret_first = vec3_scale(first, 1 / length);
	*ret_speed = vec3_dot(run, first) < 0 ? -belt->speed : belt->speed;
	return true;
}

/* The solver brings the velocity of the first body that moves against the second to "motion", in both directions. It is
 * that at which the surfaces do not slide. The first body of a contact with a static geom is the other one, and the
 * normal is turned. */
static bool contact_set_motion(const struct contact_meeting *m, struct contact_row *row)
{
	struct vec3 first = {0, 0, 0}, normal = row->normal;
	double speed = 0;
	uint32_t own = 0;
	while (own < 2 && !(m->belt[own] && contact_find_run(m->belt[own], normal, own, row->at, &first, &speed)))
		own++;
	if (own == 2)
		return false;
	double motion1 = own ? speed : -speed, motion2 = 0, sign = m->a ? 1 : -1;
	if (!own && m->belt[1]) {
		struct vec3 other = vec3_scale(contact_run_of(m->belt[1], normal, true), m->belt[1]->speed);
		motion1 += vec3_dot(other, first);
		motion2 += vec3_dot(other, vec3_cross(normal, first));
	}
	row->moves = true;
	row->motion[0] = sign * motion1;
	row->motion[1] = motion2;
	row->first = first;
	return true;
}

/* The compliances of both wheels and of the surfaces add up: the same force acts on each of them. The compliance of a
 * wheel holds for all contacts of the two geoms together, which share its force. */
static struct vec3 contact_set_slip(const struct contact_meeting *m, struct contact_row *row)
{
	struct vec3 axis = {0, 0, 0};
	for (uint32_t i = 0; i < 2; i++) {
		if (!m->wheel[i])
			continue;
		if (!row->slips)
			row->slip[0] = row->slip[1] = 0;
		row->slips = true;
		row->slip[0] += m->count * m->wheel[i]->slip1;
		row->slip[1] += m->count * m->wheel[i]->slip2;
		if (vec3_dot(axis, axis) < 1e-12)
			axis = contact_across(m->wheel[i]->axis, row->normal);
	}
	return axis;
}

static void contact_set_direction(const struct contact_meeting *m, struct contact_row *row)
{
	struct vec3 first = {0, 0, 0};
	if (m->wheel[0] || m->wheel[1])
		first = contact_set_slip(m, row);
	if ((m->belt[0] || m->belt[1]) && contact_set_motion(m, row))
		return;
	if (m->mix->directed && vec3_dot(first, first) < 1e-12)
		first = contact_across(m->direction, row->normal);
	if (vec3_dot(first, first) < 1e-12)
		first = contact_coming_slip(m, row);
	double length = vec3_length(first);
	if (length <= SLIP_MIN) /* any direction is as good: the solver picks one from the normal */
		return;
	row->first = (struct vec3){first.x / length, first.y / length, first.z / length};
}

/* The speed at which the spring would part the two models in this step, if its contacts alone held them. */
static double contact_parting_speed(const struct contact_meeting *m, const struct contact_row *row)
{
	struct vec3 v = vec3_sub(contact_point_velocity(m->a, row->at), contact_point_velocity(m->b, row->at));
	double speed = vec3_dot(vec3_add(v, m->gained), row->normal);
	double push = row->depth * m->mix->erp / m->mix->dt;
	double share = m->count * m->mobility * m->mix->dt / row->softness;
	return (speed + share * push) / (1 + share);
}

static void contact_set_depth(const struct contact_meeting *m, struct contact_row *row)
{
	const struct surface_mix *mix = m->mix;
	double depth = MAX(row->depth - mix->min_depth, 0.0);
	row->depth = depth;
	row->erp = mix->erp;
	if (depth * mix->erp <= mix->reach)
		return;
	double reach = mix->spring ? MAX(mix->reach, 0.0) : mix->reach;
	if (mix->spring && contact_parting_speed(m, row) * mix->dt <= reach)
		return;
	row->erp = reach / depth;
	if (mix->spring)
		row->softness = MAX(row->softness * reach / (depth * mix->erp), PHYSICS_CFM_MIN);
}

static bool contact_usable(const dContactGeom *found)
{
	double sum = found->depth;
	for (int i = 0; i < 3; i++)
		sum += found->pos[i] + found->normal[i];
	return isfinite(sum);
}

static void contact_note_touch(struct worker *worker, const struct scene_geom *a, const struct scene_geom *b)
{
	if (a->body != SCENE_NONE)
		worker->instances[a->model]->touched = true;
	if (b->body != SCENE_NONE)
		worker->instances[b->model]->touched = true;
}

/* --- making them ------------------------------------------------------------------------------------------------ */

static void contact_add(
	const struct geom_pair *pair, const struct contact_meeting *m, const dContactGeom *found, contact_rows *to)
{
	const dSurfaceParameters *surface = &m->mix->surface;
	struct contact_row *row = vec_append(to, 1); /* in place: a copy waits until all of it is stored */
	row->geoms[0] = pair->a;
	row->geoms[1] = pair->b;
	row->bodies[0] = m->bodies[0];
	row->bodies[1] = m->bodies[1];
	row->at = (struct vec3){found->pos[0], found->pos[1], found->pos[2]};
	row->normal = (struct vec3){found->normal[0], found->normal[1], found->normal[2]};
	row->depth = row->overlap = found->depth;
	row->push = MAX(m->mix->push, 0.0);
	row->spring = m->mix->spring;
	row->softness = surface->soft_cfm;
	row->mu[0] = surface->mu;
	row->mu[1] = surface->mu2;
	row->slip[0] = surface->slip1;
	row->slip[1] = surface->slip2;
	row->slips = surface->mode & dContactSlip1;
	row->bounces = surface->mode & dContactBounce;
	row->bounce = surface->bounce;
	row->bounce_rate = surface->bounce_vel;
	row->resists = surface->mode & dContactRolling;
	row->rolling = surface->rho;
	row->spinning = surface->rhoN;
	contact_set_direction(m, row);
	contact_set_depth(m, row);
}

void contact_make_joint(struct worker *worker, const struct contact_row *row)
{
	dBodyID a = instance_body(worker->owner, row->bodies[0]), b = instance_body(worker->owner, row->bodies[1]);
	dContact contact = {.surface = {.mode = dContactApprox1 | dContactMu2 | dContactSoftERP | dContactSoftCFM,
				    .mu = row->mu[0],
				    .mu2 = row->mu[1],
				    .bounce = row->bounce,
				    .bounce_vel = row->bounce_rate,
				    .rho = row->rolling,
				    .rho2 = row->rolling,
				    .rhoN = row->spinning,
				    .soft_erp = row->erp,
				    .soft_cfm = row->softness,
				    .motion1 = row->motion[0],
				    .motion2 = row->motion[1],
				    .slip1 = row->slip[0],
				    .slip2 = row->slip[1]},
		.geom = {.pos = {row->at.x, row->at.y, row->at.z},
			.normal = {row->normal.x, row->normal.y, row->normal.z},
			.depth = row->depth},
		.fdir1 = {row->first.x, row->first.y, row->first.z}};
	bool directed = row->first.x != 0 || row->first.y != 0 || row->first.z != 0;
	contact.surface.mode |= (directed ? dContactFDir1 : 0) | (row->moves ? dContactMotion1 | dContactMotion2 : 0) |
				(row->slips ? dContactSlip1 | dContactSlip2 : 0) | (row->bounces ? dContactBounce : 0) |
				(row->resists ? dContactRolling : 0);
	dJointID joint = dJointCreateContact(worker->ode_world->id, worker->contacts, &contact);
	dJointAttach(joint, a, b);
	if (observes_contact_forces(worker))
		observe_contact_joint(worker, row, joint, !a);
}

/* The demands of systems for the surface of a geom; NULL: there are none. */
static const struct surface_control *contact_surface_asked(const struct worker *worker, uint32_t geom)
{
	const struct control *control = worker->owner->control;
	return control->models[worker->scene->geoms[geom].model].surfaces ? &control->surfaces[geom] : NULL;
}

static double contact_mobility(const struct worker *worker, uint32_t geom)
{
	const struct scene_geom *g = &worker->scene->geoms[geom];
	return g->body == SCENE_NONE ? 0 : worker->instances[g->model]->inverse_mass;
}

static void contact_begin_meeting(
	struct worker *worker, const struct geom_pair *pair, const struct surface_mix *mix, struct contact_meeting *ret)
{
	ret->mix = mix;
	ret->direction = (struct vec3){0, 0, 0};
	if (mix->directed) {
		ret->direction = contact_given_direction(worker, pair->a);
		if (vec3_dot(ret->direction, ret->direction) == 0)
			ret->direction = contact_given_direction(worker, pair->b);
	}
	for (uint32_t i = 0; i < 2; i++)
		ret->bodies[i] = worker->scene->geoms[i ? pair->b : pair->a].body;
	ret->a = ret->bodies[0] == SCENE_NONE ? NULL : worker_hand(worker, ret->bodies[0]);
	ret->b = ret->bodies[1] == SCENE_NONE ? NULL : worker_hand(worker, ret->bodies[1]);
	for (uint32_t i = 0; i < 2; i++) {
		const struct surface_control *asked = contact_surface_asked(worker, i ? pair->b : pair->a);
		ret->belt[i] = asked && asked->runs ? asked : NULL;
		ret->wheel[i] = asked && asked->slips ? asked : NULL;
	}
	ret->gained = vec3_scale(
		vec3_sub(contact_pull(worker, ret->bodies[0]), contact_pull(worker, ret->bodies[1])), mix->dt);
	ret->mobility = contact_mobility(worker, pair->a) + contact_mobility(worker, pair->b);
}

static int contact_find_points(struct worker *worker, const struct geom_pair *pair, dContactGeom *ret)
{
	const struct scene_geom *a = &worker->scene->geoms[pair->a], *b = &worker->scene->geoms[pair->b];
	int most = (int)MIN(MIN(a->max_contacts, b->max_contacts), (uint32_t)PHYSICS_CONTACTS_MAX), kept = 0,
	    count = -1;
	if (!most)
		return 0;
	if (worker->near == 0 && !worker->owner->options.ode)
		count = shape_collide_simply(worker, pair->a, pair->b, most, ret);
	if (count < 0)
		count = shape_collide(worker, pair->a, pair->b, contact_geom_id(worker, pair->a),
			contact_geom_id(worker, pair->b), worker->near, most, ret);
	for (int i = 0; i < count; i++) {
		if (!contact_usable(&ret[i]))
			continue;
		if (kept < i) /* a copy onto itself waits until all of it is stored */
			ret[kept] = ret[i];
		kept++;
	}
	return kept;
}

static const struct surface_mix *contact_mix_of(struct worker *worker, const struct geom_pair *pair)
{
	const struct scene_geom *geoms = worker->scene->geoms;
	return surface_meet(
		&worker->surfaces, &worker->scene->sdf->physics, &geoms[pair->a], &geoms[pair->b], worker->owner->dt);
}

int contact_find(struct worker *worker, const struct geom_pair *pair, dContactGeom *ret)
{
	return contact_mix_of(worker, pair)->apart ? 0 : contact_find_points(worker, pair, ret);
}

/* Keeps the deepest contact only. */
static int contact_keep_deepest(dContactGeom *found, int count)
{
	for (int i = 1; i < count; i++)
		if (found[i].depth > found[0].depth)
			found[0] = found[i];
	return MIN(count, 1);
}

/* Appends the contacts of a pair to *to; *ret: as ODE has them. Returns their number. */
static int contact_meet_pair(struct worker *worker, const struct geom_pair *pair, dContactGeom *ret, contact_rows *to)
{
	const struct surface_mix *mix = contact_mix_of(worker, pair);
	if (mix->apart)
		return 0;
	int count = contact_find_points(worker, pair, ret);
	if (pair->part == CONTACT_DEEPEST)
		count = contact_keep_deepest(ret, count);
	if (!count)
		return 0;
	struct contact_meeting m;
	contact_begin_meeting(worker, pair, mix, &m);
	m.count = count;
	for (int i = 0; i < count; i++)
		contact_add(pair, &m, &ret[i], to);
	return count;
}

static void contact_collide(struct worker *worker, const struct geom_pair *pair)
{
	dContactGeom found[PHYSICS_CONTACTS_MAX];
	int count = contact_meet_pair(worker, pair, found, &worker->rows_of_contacts);
	if (!count)
		return;
	contact_note_touch(worker, &worker->scene->geoms[pair->a], &worker->scene->geoms[pair->b]);
	if (worker->observe & OBSERVE_CONTACTS)
		observe_contacts(worker, pair, found, (uint32_t)count);
	worker->contacts_made += (uint32_t)count;
}

void contact_list_near(struct worker *worker, const struct group *group, double near,
	bool (*wanted)(const struct worker *worker, const struct geom_pair *pair), contact_rows *ret)
{
	dContactGeom found[PHYSICS_CONTACTS_MAX];
	worker->making = group;
	worker->near = near;
	contact_pairs_find(worker, group);
	crowd_thin_out(worker);
	for (uint32_t i = 0; i < worker->geom_pairs.count && !worker_abandons(worker); i++) {
		const struct geom_pair *pair = &worker->geom_pairs.at[i];
		if (pair->part != CONTACT_NONE && wanted(worker, pair))
			(void)contact_meet_pair(worker, pair, found, ret);
	}
	worker->near = 0;
}

void contact_make(struct worker *worker, struct group *group)
{
	worker->making = group;
	group->row_first = worker->rows_of_contacts.count;
	contact_pairs_find(worker, group);
	crowd_thin_out(worker);
	for (uint32_t i = 0; i < worker->geom_pairs.count && !worker_abandons(worker); i++)
		if (worker->geom_pairs.at[i].part != CONTACT_NONE)
			contact_collide(worker, &worker->geom_pairs.at[i]);
	group->row_count = worker->rows_of_contacts.count - group->row_first;
}
