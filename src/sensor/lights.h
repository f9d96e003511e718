/* The lights of a world as cameras see them. Pure; any thread. */
#ifndef SENSOR_LIGHTS_H
#define SENSOR_LIGHTS_H

#include "scene/state.h"

enum { LIGHTS_MAX = 256 };

struct lights_one {
	struct vec3 p, direction; /* unit */
	struct sdf_shine shine;
};
struct lights {
	uint32_t count;
	struct lights_one at[LIGHTS_MAX];
};

/* The lights that are on, of the world and of links, at their places in state `now`. Those beyond LIGHTS_MAX are left
 * out. */
void lights_find(const struct state *state, struct lights *ret_lights);

/* Whether links of the model have lights. */
bool lights_are_on(const struct scene *scene, uint32_t model);

/* How much of the light comes to the point; *ret_to and *ret_far: its direction and distance from there. */
double lights_reach(const struct lights_one *light, struct vec3 point, struct vec3 *ret_to, double *ret_far);

#endif
