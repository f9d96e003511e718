/* How surfaces combine. A world has many geoms and few kinds of surface, so the combination of two kinds is computed
 * once for each length of step, and then looked up. Kinds that are not in the scene's table are combined anew each
 * time. */
#include "physics/internal.h"

#include <stdlib.h>
#include <string.h>

void surfaces_fini(struct surfaces *surfaces)
{
	free(surfaces->mixes);
}

void surfaces_forget(struct surfaces *surfaces)
{
	if (surfaces->kinds)
		memset(surfaces->mixes, 0, (size_t)surfaces->kinds * surfaces->kinds * sizeof *surfaces->mixes);
}

void surfaces_fit(struct surfaces *surfaces, uint32_t kinds)
{
	if (kinds == surfaces->kinds)
		return;
	free(surfaces->mixes);
	surfaces->mixes = mem_alloc((size_t)kinds * kinds * sizeof *surfaces->mixes);
	surfaces->kinds = kinds;
}

/* A spring of stiffness kp with a damper kd, as an implicit step of it is a row of the solver: the row's velocity is
 * erp depth / dt - soft_cfm force. So soft_erp and soft_cfm of a file are such a spring, too: at rest it holds the
 * force erp depth / (dt soft_cfm). The stiffness of two surfaces combines in series, as Gazebo Classic has it. */
static void physics_surface_soften(
	const struct sdf_surface *a, const struct sdf_surface *b, double dt, struct surface_mix *mix)
{
	if (a->soft_given || b->soft_given) {
		mix->erp = MIN(a->soft_erp, b->soft_erp);
		mix->surface.soft_cfm = MAX(a->soft_cfm, b->soft_cfm);
		mix->spring = mix->surface.soft_cfm > 0 && mix->erp > 0;
	} else {
		double kp = 1 / (1 / a->kp + 1 / b->kp), kd = a->kd + b->kd;
		mix->erp = dt * kp / (dt * kp + kd);
		mix->surface.soft_cfm = 1 / (dt * kp + kd);
		mix->spring = kp > 0 && MIN(a->kp, b->kp) < SDF_SURFACE_KP;
	}
}

/* Both bodies yield where they roll on each other, so their resistances add. A round patch with the pressure of a ball
 * resists spinning by 3 pi / 16 of its radius (Hertz). */
static void physics_surface_resist(
	const struct sdf_surface *a, const struct sdf_surface *b, dSurfaceParameters *surface)
{
	double rolling = a->rolling + b->rolling;
	double spinning = 3 * M_PI / 16 * MIN(a->torsion, b->torsion) * MAX(a->patch, b->patch);
	if (!(rolling > 0 || spinning > 0))
		return;
	surface->mode |= dContactRolling; /* by dContactMu2 the three axes have values of their own */
	surface->rho = surface->rho2 = rolling;
	surface->rhoN = spinning;
}

static bool physics_surface_is_directed(const struct sdf_surface *surface)
{
	return surface->fdir1.x != 0 || surface->fdir1.y != 0 || surface->fdir1.z != 0;
}

static void physics_surface_meet(const struct sdf_physics *world, const struct sdf_surface *a,
	const struct sdf_surface *b, double dt, struct surface_mix *ret)
{
	*ret = (struct surface_mix){
		.surface = {.mode = dContactApprox1 | dContactMu2 | dContactSoftERP | dContactSoftCFM,
			.mu = MIN(a->mu, b->mu),
			.mu2 = MIN(a->mu2, b->mu2)},
		.push = MIN(MIN(a->max_vel, b->max_vel), world->contact_max_correcting_vel),
		.apart = !((a->category_bitmask & b->collide_bitmask) | (b->category_bitmask & a->collide_bitmask)),
		.directed = physics_surface_is_directed(a) || physics_surface_is_directed(b),
		.dt = dt,
	};
	ret->reach = ret->push * dt;
	double slip1 = a->slip1 + b->slip1, slip2 = a->slip2 + b->slip2; /* the same force acts on both */
	if (slip1 > 0 || slip2 > 0) {
		ret->surface.mode |= dContactSlip1 | dContactSlip2;
		ret->surface.slip1 = slip1;
		ret->surface.slip2 = slip2;
	}
	physics_surface_resist(a, b, &ret->surface);
	double restitution = MIN(a->restitution, b->restitution);
	if (restitution > 0) {
		ret->surface.mode |= dContactBounce;
		ret->surface.bounce = restitution;
		ret->surface.bounce_vel = MIN(a->bounce_threshold, b->bounce_threshold);
	}
	physics_surface_soften(a, b, dt, ret);
	/* the layer keeps rigid contacts alive; the depth of a spring is its force */
	ret->min_depth = MAX(MAX(a->min_depth, b->min_depth), ret->spring ? 0 : world->contact_surface_layer);
}

const struct surface_mix *surface_meet(struct surfaces *surfaces, const struct sdf_physics *world,
	const struct scene_geom *a, const struct scene_geom *b, double dt)
{
	bool kept = a->kind_of_surface != SCENE_NONE && b->kind_of_surface != SCENE_NONE;
	struct surface_mix *mix =
		kept ? &surfaces->mixes[a->kind_of_surface * surfaces->kinds + b->kind_of_surface] : &surfaces->other;
	if (!kept || mix->dt != dt)
		physics_surface_meet(world, a->surface, b->surface, dt, mix);
	return mix;
}
