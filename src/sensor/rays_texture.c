/* Where textures lie on visuals: on meshes by the coordinates of their files, on other shapes as on the meshes that
 * Gazebo makes of them (MeshManager of gz-common). There a cylinder stands upside down, a cone too, and the caps run
 * together in their middle; a sphere has its poles on the y axis.
 *
 * How the coordinates change beside the point is the difference of the coordinates there and here, on the side of the
 * shape that is hit. */
#include "sensor/rays_internal.h"

#define RAYS_TEXTURE_ROUND (2 * 3.14159265358979323846)

struct rays_texture_uv {
	double u, v;
};

/* Which side of a shape the point is on, by its normal: a box 0 to 5 (+x -x +y -y +z -z), others 0 (the curved side), 1
 * (the top) and 2 (the bottom). */
static int rays_texture_side_of(const struct seen *seen, struct vec3 p)
{
	struct vec3 s = seen->size;
	if (seen->kind == SDF_BOX) {
		double x = fabs(p.x) - s.x, y = fabs(p.y) - s.y, z = fabs(p.z) - s.z;
		if (x >= y && x >= z)
			return p.x > 0 ? 0 : 1;
		return y >= z ? (p.y > 0 ? 2 : 3) : (p.z > 0 ? 4 : 5);
	}
	double across = sqrt(p.x * p.x + p.y * p.y);
	if (seen->kind == SDF_CYLINDER && fabs(p.z) - s.z >= across - s.x)
		return p.z > 0 ? 1 : 2;
	if (seen->kind == SDF_CONE && -s.z - p.z >= across - s.x / (2 * s.z) * (s.z - p.z))
		return 2;
	return 0;
}

/* From 0 to 1 about z, from +y towards +x. */
static double rays_texture_turn(double x, double y)
{
	double turn = math_atan2(x, y) / RAYS_TEXTURE_ROUND;
	return turn < 0 ? turn + 1 : turn;
}

static struct rays_texture_uv rays_texture_of_box(int side, struct vec3 p, struct vec3 half)
{
	double x = p.x / half.x / 2, y = p.y / half.y / 2, z = p.z / half.z / 2;
	switch (side) {
	case 0:
		return (struct rays_texture_uv){0.5 + y, 0.5 - z};
	case 1:
		return (struct rays_texture_uv){0.5 - y, 0.5 - z};
	case 2:
		return (struct rays_texture_uv){0.5 - x, 0.5 - z};
	case 3:
		return (struct rays_texture_uv){0.5 + x, 0.5 - z};
	case 4:
		return (struct rays_texture_uv){0.5 - y, 0.5 - x};
	default:
		return (struct rays_texture_uv){0.5 - y, 0.5 + x};
	}
}

/* The caps of a cylinder and the foot of a cone. */
static struct rays_texture_uv rays_texture_of_cap(int side, struct vec3 p, double radius)
{
	double part = sqrt(p.x * p.x + p.y * p.y) / radius;
	return (struct rays_texture_uv){rays_texture_turn(p.x, p.y) * part, side == 1 ? part : 0};
}

static struct rays_texture_uv rays_texture_of_ball(struct vec3 p, struct vec3 radii)
{
	struct vec3 d = vec3_unit((struct vec3){p.x / radii.x, p.y / radii.y, p.z / radii.z});
	return (struct rays_texture_uv){
		rays_texture_turn(d.x, d.z), math_acos(fmin(fmax(d.y, -1), 1)) * 2 / RAYS_TEXTURE_ROUND};
}

/* A third each for the two halves of the ball and for what is between them, from the top down. */
static struct rays_texture_uv rays_texture_of_capsule(struct vec3 p, double radius, double half)
{
	double up = p.z > half ? p.z - half : p.z < -half ? p.z + half : 0;
	double ball = math_asin(fmin(fmax(up / radius, -1), 1)) * 4 / RAYS_TEXTURE_ROUND; /* 1 at the top */
	double middle = half > 0 ? fmin(fmax((half - p.z) / (2 * half), 0), 1) : 0.5;
	return (struct rays_texture_uv){rays_texture_turn(p.x, p.y), (1 - fmax(ball, 0) + middle - fmin(ball, 0)) / 3};
}

static struct rays_texture_uv rays_texture_at(const struct seen *seen, int side, struct vec3 p)
{
	struct vec3 s = seen->size;
	switch (seen->kind) {
	case SDF_BOX:
		return rays_texture_of_box(side, p, s);
	case SDF_PLANE:
		return (struct rays_texture_uv){0.5 + p.x / s.x / 2, 0.5 - p.y / s.y / 2};
	case SDF_SPHERE:
		return rays_texture_of_ball(p, (struct vec3){s.x, s.x, s.x});
	case SDF_ELLIPSOID:
		return rays_texture_of_ball(p, s);
	case SDF_CAPSULE:
		return rays_texture_of_capsule(p, s.x, s.z);
	case SDF_CYLINDER:
	case SDF_CONE:
		if (side)
			return rays_texture_of_cap(side, p, s.x);
		return (struct rays_texture_uv){rays_texture_turn(p.x, p.y), 0.5 + p.z / s.z / 2};
	case SDF_MESH:
	case SDF_POLYLINE:
	case SDF_HEIGHTMAP:
	case SDF_IMAGE:
	case SDF_EMPTY:
		break;
	}
	return (struct rays_texture_uv){0, 0};
}

/* Round shapes have a seam, where u falls from 1 to 0. */
static double rays_texture_over_seam(double by)
{
	return by > 0.5 ? by - 1 : by < -0.5 ? by + 1 : by;
}

bool rays_texture(const struct rays *rays, const struct ray_hit *hit, struct vec3 point, const struct vec3 beside[2],
	struct texture_place *ret_place)
{
	const struct seen *seen = &rays->seen[hit->place];
	struct vec3 p = seen_turned(seen, vec3_sub(point, seen->at)), across = seen_turned(seen, beside[0]),
		    down = seen_turned(seen, beside[1]);
	if (seen->surface)
		return surface_texture(seen->surface, hit->part, p, across, down, ret_place);
	int side = rays_texture_side_of(seen, p);
	struct rays_texture_uv here = rays_texture_at(seen, side, p),
			       right = rays_texture_at(seen, side, vec3_add(p, across)),
			       below = rays_texture_at(seen, side, vec3_add(p, down));
	bool round = seen->kind != SDF_BOX && seen->kind != SDF_PLANE;
	double u_across = right.u - here.u, u_down = below.u - here.u;
	*ret_place = (struct texture_place){here.u, here.v, round ? rays_texture_over_seam(u_across) : u_across,
		right.v - here.v, round ? rays_texture_over_seam(u_down) : u_down, below.v - here.v};
	return seen->size.x > 0 && (seen->kind != SDF_PLANE || seen->size.y > 0);
}

uint32_t rays_material(const struct rays *rays, const struct ray_hit *hit)
{
	const struct seen *seen = &rays->seen[hit->place];
	return seen->surface ? surface_material(seen->surface, hit->part) : 0;
}

struct vec3 rays_own_place(const struct rays *rays, const struct ray_hit *hit, struct vec3 point,
	const struct vec3 beside[2], struct vec3 ret_beside[2])
{
	const struct seen *seen = &rays->seen[hit->place];
	for (int i = 0; i < 2; i++)
		ret_beside[i] = seen_turned(seen, beside[i]);
	return seen_turned(seen, vec3_sub(point, seen->at));
}
