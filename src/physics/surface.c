/* How surfaces meet. A world has many geoms and few kinds of surface, so what two kinds make of each other is reckoned
 * once for a length of step, and then looked up. Kinds beyond the room of the table are met anew each time. */
#include "physics/internal.h"

#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 64 };
_Static_assert((int)KINDS_MAX <= (int)SURFACE_OTHER, "no kind is taken for none");

void surfaces_fini(struct surfaces *surfaces)
{
	vec_free(&surfaces->kinds);
	free(surfaces->mixes);
}

/* Padding may make two of a kind look different, which costs a place in the table and nothing else. */
uint8_t surface_kind(struct surfaces *surfaces, const struct sdf_surface *surface)
{
	uint32_t count = surfaces->kinds.count;
	for (uint32_t i = 0; i < count; i++)
		if (!memcmp(&surfaces->kinds.at[i], surface, sizeof *surface))
			return (uint8_t)i;
	if (count == KINDS_MAX)
		return SURFACE_OTHER;
	vec_push(&surfaces->kinds, *surface);
	free(surfaces->mixes);
	surfaces->mixes = mem_alloc((size_t)(count + 1) * (count + 1) * sizeof *surfaces->mixes);
	return (uint8_t)count;
}

static void soften(const struct sdf_surface *a, const struct sdf_surface *b, double dt, struct surface_mix *mix)
{
	if (a->soft_given || b->soft_given) {
		mix->erp = MIN(a->soft_erp, b->soft_erp);
		mix->surface.soft_cfm = MAX(a->soft_cfm, b->soft_cfm);
	} else {
		double kp = 1 / (1 / a->kp + 1 / b->kp), kd = a->kd + b->kd;
		mix->erp = dt * kp / (dt * kp + kd);
		mix->surface.soft_cfm = 1 / (dt * kp + kd);
	}
}

static bool is_directed(const struct sdf_surface *surface)
{
	return surface->fdir1.x != 0 || surface->fdir1.y != 0 || surface->fdir1.z != 0;
}

static void meet(const struct sdf_physics *world, const struct sdf_surface *a, const struct sdf_surface *b, double dt,
	struct surface_mix *ret)
{
	*ret = (struct surface_mix){
		.surface = {.mode = dContactApprox1 | dContactMu2 | dContactSoftERP | dContactSoftCFM,
			.mu = MIN(a->mu, b->mu),
			.mu2 = MIN(a->mu2, b->mu2)},
		.min_depth = MAX(MAX(a->min_depth, b->min_depth), world->contact_surface_layer),
		.reach = MIN(MIN(a->max_vel, b->max_vel), world->contact_max_correcting_vel) * dt,
		.apart = !(a->collide_bitmask & b->collide_bitmask),
		.directed = is_directed(a) || is_directed(b),
		.dt = dt,
	};
	double slip1 = MIN(a->slip1, b->slip1), slip2 = MIN(a->slip2, b->slip2);
	if (slip1 > 0 || slip2 > 0) {
		ret->surface.mode |= dContactSlip1 | dContactSlip2;
		ret->surface.slip1 = slip1;
		ret->surface.slip2 = slip2;
	}
	double restitution = MIN(a->restitution, b->restitution);
	if (restitution > 0) {
		ret->surface.mode |= dContactBounce;
		ret->surface.bounce = restitution;
		ret->surface.bounce_vel = MIN(a->bounce_threshold, b->bounce_threshold);
	}
	soften(a, b, dt, ret);
}

const struct surface_mix *surface_meet(
	struct surfaces *surfaces, const struct sdf_physics *world, const struct surface_pair *pair, double dt)
{
	bool kept = pair->kind_a != SURFACE_OTHER && pair->kind_b != SURFACE_OTHER;
	struct surface_mix *mix =
		kept ? &surfaces->mixes[pair->kind_a * surfaces->kinds.count + pair->kind_b] : &surfaces->other;
	if (!kept || mix->dt != dt)
		meet(world, pair->a, pair->b, dt, mix);
	return mix;
}
