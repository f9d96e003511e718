/* What rays hit: the visuals of all models that are not absent, whether their level is loaded or not.
 *
 * A visual is a box, sphere, cylinder, capsule, cone, ellipsoid, plane (of the size that the file gives), polyline,
 * mesh or heightmap. It is seen from its outside: a ray that begins inside a closed visual leaves it without a hit, as
 * in Gazebo, whose renderer culls the far side of surfaces; the outside of a triangle is where its corners run
 * counter-clockwise. What has a material that is double_sided, of the visual or of a part of a mesh file, is seen from
 * both sides.
 *
 * A hit is exact: the distance is computed in double precision from the shape's own formula. Of visuals at the same
 * distance the one of the lowest model id, then of the lowest index, is hit. So the hits of a ray are a function of the
 * ray and of the poses of the visuals alone: not of the order in which models came or moved, nor of the number of
 * threads or of the CPU.
 *
 * A pose that is not finite is not seen. Visuals that are larger than 16 km, or
 * farther than 8 km from the middle of the world as it was first, are tested one by one for each ray.
 *
 * Thread: rays_cast(), rays_blocked() and rays_normal() any, at the same time; all other calls one, while no other
 * thread uses the rays. Blocking: no. Units: metres; poses and directions in the world. */
#ifndef SENSOR_RAYS_H
#define SENSOR_RAYS_H

#include "mesh/texture.h"
#include "scene/state.h"

struct ray {
	struct vec3 origin, direction; /* direction: unit */
	double min, max;               /* only hits in [min, max] count; 0 <= min; max may be INFINITY */
};

struct ray_hit {
	double distance;        /* from the origin; INFINITY: nothing is hit, and the next two are SCENE_NONE */
	uint32_t model, visual; /* visual: in scene.models[model].from->visuals */
	uint32_t place, part;   /* private */
};

struct rays;

/* Whether rays can be cast: troupe was built with Embree, and the library is there. Any thread. */
bool rays_available(void);
/* TROUPE_EINVAL: they cannot, and why. */
troupe_status rays_check(struct troupe_error *error);

/* The scene must outlive the rays. Nothing is seen before the first rays_follow(). set: an instruction set by Embree's
 * name ("sse4.2", "avx2"); NULL: the best that the CPU has. TROUPE_EINVAL: there is no Embree. */
troupe_status rays_create(
	const struct scene *scene, const char *set, struct rays **ret_rays, struct troupe_error *error);
void rays_destroy(struct rays *rays); /* NULL is fine */

/* Puts the visuals at their poses in state `now`. Must be called after every change of the scene or the state, and
 * before the next cast. Costs little when nothing moved (it compares poses), otherwise about 0.3 us for each visual
 * that has moved in the last few calls; for all of them where many rays follow each call (rays_tree.c). */
void rays_follow(struct rays *rays, const struct state *state);
/* From the next rays_follow() on, models m with hidden[m] are not seen. The array has room for all models of the scene,
 * and is the caller's; NULL: no model is hidden. */
void rays_hide(struct rays *rays, const bool *hidden);
/* No ray will be cast: only rays_box() is asked for. */
void rays_make_boxes_only(struct rays *rays);
/* From the next rays_follow() on, rays may be cast at times up to sweep_s before state `now` (rays_cast_swept()). */
void rays_set_sweep(struct rays *rays, double sweep_s);
/* A cone from a point that holds a visual: rays whose direction d from there has d axis < cosine miss it. */
struct rays_cone {
	struct vec3 axis; /* unit */
	double cosine;    /* -2: all rays may meet it */
};
/* The cones of the visuals of a model, where they are now; as many as there are, or SCENE_NONE if more than max. */
uint32_t rays_cones(const struct rays *rays, uint32_t model, struct vec3 from, struct rays_cone *cones, uint32_t max);
/* Whether some visual moves in the time of rays_set_sweep(). */
bool rays_move(const struct rays *rays);
/* The box of all visuals of a model where they are now, and in the time of rays_set_sweep(). False: nothing of it is
 * seen. */
bool rays_box(const struct rays *rays, uint32_t model, struct aabb *ret_box);

/* Visuals whose visibility_flags share a bit with mask count. Eight neighbouring rays are searched together: rays that
 * run alike should stand together. */
void rays_cast(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, struct ray_hit *hits);
/* The same for rays that are cast at different times, ago_s[i] s before state `now`, at most the time of
 * rays_set_sweep(). A visual is then where its body was, if the body has moved with the velocity of state `now`: its
 * centre of mass in a straight line, and its rotation about the axis of the angular velocity. The visuals of model
 * `own`, which carries the sensor, are met by the rays own_rays[i] in place of these, where the visuals are now; own:
 * SCENE_NONE: no model is. A hit has the visual, and the distance from the origin of either ray. */
struct rays_swept {
	const double *ago_s;
	uint32_t own;
	const struct ray *own_rays;
	const bool *own_near; /* by eight rays: false: none of them can meet the own model, and own_rays is not read */
};
void rays_cast_swept(const struct rays *rays, const struct ray *cast, const struct rays_swept *swept, uint32_t count,
	uint32_t mask, struct ray_hit *hits);
/* Whether any visual that casts a shadow lies on each ray. */
void rays_blocked(const struct rays *rays, const struct ray *cast, uint32_t count, uint32_t mask, bool *blocked);

static inline struct vec3 ray_point(const struct ray *ray, const struct ray_hit *hit)
{
	return vec3_add(ray->origin, vec3_scale(ray->direction, hit->distance));
}

/* The unit normal of the surface at a hit (not: nothing hit), towards the origin of the ray. */
struct vec3 rays_normal(const struct rays *rays, const struct ray *ray, const struct ray_hit *hit);
/* The ray in place of one that rays_cast_swept() cast ago_s before, so that the hit is where it is now: carried along
 * with the visual that it hits. */
struct ray rays_carried(const struct rays *rays, const struct ray *ray, const struct ray_hit *hit, double ago_s);
/* The body that carries the visual of a hit, in the scene; SCENE_NONE: it does not move. */
uint32_t rays_body(const struct rays *rays, const struct ray_hit *hit);
/* The visual of a hit. */
const struct sdf_visual *rays_visual(const struct rays *rays, const struct ray_hit *hit);

/* The number of the material of the hit in its mesh file (sdf_shape.materials); beyond them: none. */
uint32_t rays_material(const struct rays *rays, const struct ray_hit *hit);
/* Where the textures of the visual lie at the point that is hit. beside: to the points of the surface, made flat, that
 * the next pixel of the row and of the next row show. False: the visual has no texture coordinates. */
bool rays_texture(const struct rays *rays, const struct ray_hit *hit, struct vec3 point, const struct vec3 beside[2],
	struct texture_place *ret_place);

/* A point of the visual, and two vectors from there, in the visual's own frame. */
struct vec3 rays_own_place(const struct rays *rays, const struct ray_hit *hit, struct vec3 point,
	const struct vec3 beside[2], struct vec3 ret_beside[2]);

/* Gazebo's Label plug-in: that of the visual, else of the innermost model around it that has one. */
struct rays_label {
	uint32_t label;    /* 0: none */
	uint32_t instance; /* number of the top-level model among those with this label, by id, from 1; 0: no label */
};
struct rays_label rays_label(const struct rays *rays, const struct ray_hit *hit);
/* Gazebo's Thermal plug-in: the temperature of the visual, or of the innermost model around it that has one, in K; 0:
 * none is given. */
double rays_temperature_K(const struct rays *rays, const struct ray_hit *hit);
/* Calls outline for each visual that has a label, with points of its surface in the world: their hull is that of the
 * visual; of a curved shape it lies inside by up to 0.5 % of the radius, and of a heightmap or a mesh of more than
 * RAYS_OUTLINE_MAX points it is that of its box. model: the pose of the top-level model. */
enum { RAYS_OUTLINE_MAX = 1 << 16 };
typedef void rays_outline_fn(
	void *ctx, struct rays_label label, struct pose model, const struct vec3 *points, uint32_t count);
void rays_outlines(const struct rays *rays, rays_outline_fn *outline, void *ctx);

/* Lights and colours of the world of the rays. */
const struct sdf_scene *rays_surroundings(const struct rays *rays);

/* How many visuals are seen now, and how many of them are tested one by one. */
uint32_t rays_count(const struct rays *rays, uint32_t *ret_loose);

#endif
