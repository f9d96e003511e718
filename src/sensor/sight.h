/* What a sensor may see: a volume beyond which nothing has an effect on a reading. For the primary of a run over a
 * network, which sends a secondary the models that its sensors may see, and no others.
 *
 * It is larger than necessary and never smaller, so no bit of a reading depends on it. Pure; any thread. Units: metres,
 * in the world. */
#ifndef SENSOR_SIGHT_H
#define SENSOR_SIGHT_H

#include "sensor/lights.h"

struct sensor;
struct sensors;

struct sight_cone {          /* holds all rays of a sensor, in its frame */
	struct vec3 axis;    /* unit */
	double cosine, sine; /* of the greatest angle between a ray and the axis, from 0 to pi */
	double slant; /* the least x of a ray that goes ahead: a picture's far plane is 1 / slant as far at most */
};

/* directions: [width * rows], of rays in this order; zero: no ray. beside: a ray may lie between the directions of a
 * pixel and one beside it; spread_rad: and by so much aside. */
struct sight_cone sight_cone_of(
	const struct vec3 *directions, size_t count, uint32_t width, bool beside, double spread_rad);

enum { SIGHT_PIECES_MAX = 8, SIGHT_LIGHTS_MAX = 16 };
struct sight_ball {
	struct vec3 at;
	double radius;
};
struct sight {
	struct vec3 at;
	double reach; /* how far it sees; may be INFINITY */
	struct vec3 axis;
	double cosine, sine;
	bool colours;                               /* lights matter, and what throws shadows upon what it sees */
	bool whole;                                 /* it may see all models */
	struct sight_ball pieces[SIGHT_PIECES_MAX]; /* they cover the volume; none if shadows do not matter */
	uint32_t piece_count;
	const struct lights *lights;
	uint32_t light[SIGHT_LIGHTS_MAX]; /* those whose shadows may be seen: in `lights` */
	uint32_t light_count;
};

/* Of a sensor of SENSOR_OF_WORLD in state `now`, after sensors_look(), and until its next call. */
void sight_of(const struct sensors *sensors, const struct state *state, const struct sensor *sensor, struct sight *ret);
/* Whether something in this box may have an effect on a reading. */
bool sight_may_meet(const struct sight *sight, const struct aabb *box);

#endif
