/* Vectors, rotations, poses and boxes. Metres, radians. Inline and pure: the same bits from the same input anywhere
 * (no library call but sqrt, sin and cos; see src/doc/inside/determinism.md). */
#ifndef GEOM_GEOM_H
#define GEOM_GEOM_H

#include "base/math.h"

#include <troupe/geometry.h>

#include <math.h>
#include <stdbool.h>

/* Vectors and rotations are those of the public headers, with their arithmetic, under short names: C has no other alias
 * for a tag. */
#define vec3 troupe_vec3
#define vec3_add troupe_vec3_add
#define vec3_sub troupe_vec3_sub
#define vec3_scale troupe_vec3_scale
#define vec3_dot troupe_vec3_dot
#define vec3_cross troupe_vec3_cross
#define vec3_length troupe_vec3_length
#define vec3_unit troupe_vec3_unit
#define quat troupe_quat
#define quat_mul troupe_quat_mul
#define quat_conj troupe_quat_inverse
#define quat_rotate troupe_quat_rotate

struct pose { /* point in parent = p + rotate(q, point) */
	struct vec3 p;
	struct quat q;
};

struct mat3 {
	double m[3][3]; /* rows */
};

struct aabb { /* closed: boxes that share a face overlap */
	struct vec3 lo, hi;
};

#define QUAT_IDENTITY ((struct quat){1, 0, 0, 0})
#define POSE_IDENTITY ((struct pose){{0, 0, 0}, {1, 0, 0, 0}})

/* Arrays of x y z, as files and ODE have them. */
static inline struct vec3 vec3_from(const double xyz[3])
{
	return (struct vec3){xyz[0], xyz[1], xyz[2]};
}

static inline void vec3_store(struct vec3 a, double xyz[3])
{
	xyz[0] = a.x, xyz[1] = a.y, xyz[2] = a.z;
}

/* Every coordinate is finite and within this. */
static inline bool vec3_within(struct vec3 a, double max)
{
	return fabs(a.x) <= max && fabs(a.y) <= max && fabs(a.z) <= max; /* false for NaN too */
}

static inline bool vec3_finite(struct vec3 a)
{
	return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

static inline struct quat quat_from(const double wxyz[4])
{
	return (struct quat){wxyz[0], wxyz[1], wxyz[2], wxyz[3]};
}

static inline void quat_store(struct quat q, double wxyz[4])
{
	wxyz[0] = q.w, wxyz[1] = q.x, wxyz[2] = q.y, wxyz[3] = q.z;
}

/* A zero quaternion becomes the identity. */
static inline struct quat quat_unit(struct quat q)
{
	double length = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
	return length > 0 ? (struct quat){q.w / length, q.x / length, q.y / length, q.z / length} : QUAT_IDENTITY;
}

/* SDF's fixed-axis angles: roll about x, then pitch about y, then yaw about z. */
static inline struct quat quat_from_rpy(double roll, double pitch, double yaw)
{
	double cr = math_cos(roll / 2), sr = math_sin(roll / 2), cp = math_cos(pitch / 2), sp = math_sin(pitch / 2),
	       cy = math_cos(yaw / 2), sy = math_sin(yaw / 2);
	return quat_unit((struct quat){cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy,
		cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy});
}

static inline struct mat3 quat_matrix(struct quat q)
{
	double xx = 2 * q.x * q.x, yy = 2 * q.y * q.y, zz = 2 * q.z * q.z, xy = 2 * q.x * q.y, xz = 2 * q.x * q.z,
	       yz = 2 * q.y * q.z, wx = 2 * q.w * q.x, wy = 2 * q.w * q.y, wz = 2 * q.w * q.z;
	return (struct mat3){
		{{1 - yy - zz, xy - wz, xz + wy}, {xy + wz, 1 - xx - zz, yz - wx}, {xz - wy, yz + wx, 1 - xx - yy}}};
}

/* b is given in frame a; the result is in the frame in which a is given. */
static inline struct pose pose_mul(struct pose a, struct pose b)
{
	return (struct pose){vec3_add(a.p, quat_rotate(a.q, b.p)), quat_mul(a.q, b.q)};
}

static inline struct pose pose_inverse(struct pose a)
{
	struct quat q = quat_conj(a.q);
	return (struct pose){vec3_scale(quat_rotate(q, a.p), -1), q};
}

static inline struct vec3 pose_point(struct pose a, struct vec3 v)
{
	return vec3_add(a.p, quat_rotate(a.q, v));
}

/* The same pose as the public headers have it, and back. */
static inline struct troupe_pose pose_flat(struct pose a)
{
	return troupe_pose_make(a.p, a.q);
}

static inline struct pose pose_of_flat(struct troupe_pose a)
{
	return (struct pose){troupe_pose_place(a), troupe_pose_turn(a)};
}

/* Exactly, except for the sign of zeros. */
static inline bool pose_is_identity(struct pose a)
{
	return a.q.w == 1 && a.q.x == 0 && a.q.y == 0 && a.q.z == 0 && a.p.x == 0 && a.p.y == 0 && a.p.z == 0;
}

static inline bool pose_finite(struct pose a)
{
	return vec3_finite(a.p) && isfinite(a.q.w) && isfinite(a.q.x) && isfinite(a.q.y) && isfinite(a.q.z);
}

/* A box on its own cache line: different threads write neighbours in an array. */
struct aabb_line {
	_Alignas(64) struct aabb box;
};

/* Contains nothing; the unit of aabb_join. */
#define AABB_NONE ((struct aabb){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}})
#define AABB_ALL ((struct aabb){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}})

static inline struct vec3 vec3_min(struct vec3 a, struct vec3 b)
{
	return (struct vec3){a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z};
}

static inline struct vec3 vec3_max(struct vec3 a, struct vec3 b)
{
	return (struct vec3){a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z};
}

static inline struct aabb aabb_join(struct aabb a, struct aabb b)
{
	return (struct aabb){vec3_min(a.lo, b.lo), vec3_max(a.hi, b.hi)};
}

static inline struct aabb aabb_grow(struct aabb a, double by)
{
	return (struct aabb){{a.lo.x - by, a.lo.y - by, a.lo.z - by}, {a.hi.x + by, a.hi.y + by, a.hi.z + by}};
}

static inline struct aabb aabb_around(struct vec3 centre, struct vec3 size)
{
	struct vec3 half = vec3_scale(size, 0.5);
	return (struct aabb){vec3_sub(centre, half), vec3_add(centre, half)};
}

/* Whether it is AABB_NONE, the join of no boxes. */
static inline bool aabb_is_empty(const struct aabb *box)
{
	return box->lo.x > box->hi.x;
}

static inline bool aabb_overlap(const struct aabb *a, const struct aabb *b)
{
	return a->lo.x <= b->hi.x && b->lo.x <= a->hi.x && a->lo.y <= b->hi.y && b->lo.y <= a->hi.y &&
	       a->lo.z <= b->hi.z && b->lo.z <= a->hi.z;
}

/* inner lies in outer, faces included. */
static inline bool aabb_within(const struct aabb *inner, const struct aabb *outer)
{
	return inner->lo.x >= outer->lo.x && inner->lo.y >= outer->lo.y && inner->lo.z >= outer->lo.z &&
	       inner->hi.x <= outer->hi.x && inner->hi.y <= outer->hi.y && inner->hi.z <= outer->hi.z;
}

#endif
