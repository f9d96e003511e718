/* What the state of a body amounts to, for tests of what is conserved. */
#ifndef CONFORM_BODIES_H
#define CONFORM_BODIES_H

#include "scene/scene.h"
#include "scene/state.h"

/* Angular momentum about the centre of mass, in the axes of the world: kg m^2/s. */
static inline struct vec3 bodies_spin(const struct scene_body *body, const struct body_state *now)
{
	struct vec3 w = quat_rotate(quat_conj(now->q), now->w);
	struct vec3 spin = {body->ixx * w.x + body->ixy * w.y + body->ixz * w.z,
		body->ixy * w.x + body->iyy * w.y + body->iyz * w.z,
		body->ixz * w.x + body->iyz * w.y + body->izz * w.z};
	return quat_rotate(now->q, spin);
}

#endif
