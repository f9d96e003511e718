/* Vectors, rotations and poses as the public headers have them, and the arithmetic that a plug-in needs for them: the
 * same bits everywhere, because nothing but + - * / and sqrt() is used. Metres, radians. */
#ifndef TROUPE_GEOMETRY_H
#define TROUPE_GEOMETRY_H

#include <math.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_vec3 {
	double x, y, z;
};

struct troupe_quat { /* unit length, Hamilton, rotates by v' = q v q* */
	double w, x, y, z;
};

struct troupe_pose { /* a point in the parent = (x, y, z) + the point, rotated by (qw, qx, qy, qz) */
	double x, y, z, qw, qx, qy, qz;
};

struct troupe_twist {
	struct troupe_vec3 linear, angular; /* m/s, rad/s */
};

struct troupe_wrench {
	struct troupe_vec3 force, torque; /* N, N m */
};

static inline struct troupe_vec3 troupe_vec3_make(double x, double y, double z)
{
	struct troupe_vec3 v;
	v.x = x, v.y = y, v.z = z;
	return v;
}

static inline struct troupe_vec3 troupe_vec3_add(struct troupe_vec3 a, struct troupe_vec3 b)
{
	return troupe_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline struct troupe_vec3 troupe_vec3_sub(struct troupe_vec3 a, struct troupe_vec3 b)
{
	return troupe_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

static inline struct troupe_vec3 troupe_vec3_scale(struct troupe_vec3 a, double s)
{
	return troupe_vec3_make(a.x * s, a.y * s, a.z * s);
}

static inline double troupe_vec3_dot(struct troupe_vec3 a, struct troupe_vec3 b)
{
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct troupe_vec3 troupe_vec3_cross(struct troupe_vec3 a, struct troupe_vec3 b)
{
	return troupe_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline double troupe_vec3_length(struct troupe_vec3 a)
{
	return sqrt(troupe_vec3_dot(a, a));
}

/* A zero vector stays as it is. */
static inline struct troupe_vec3 troupe_vec3_unit(struct troupe_vec3 a)
{
	double length = troupe_vec3_length(a);
	return length > 0 ? troupe_vec3_scale(a, 1 / length) : a;
}

static inline struct troupe_quat troupe_quat_mul(struct troupe_quat a, struct troupe_quat b)
{
	struct troupe_quat q;
	q.w = a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z;
	q.x = a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y;
	q.y = a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x;
	q.z = a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w;
	return q;
}

static inline struct troupe_quat troupe_quat_inverse(struct troupe_quat q)
{
	struct troupe_quat r;
	r.w = q.w, r.x = -q.x, r.y = -q.y, r.z = -q.z;
	return r;
}

static inline struct troupe_vec3 troupe_quat_rotate(struct troupe_quat q, struct troupe_vec3 v)
{
	struct troupe_vec3 u = troupe_vec3_make(q.x, q.y, q.z);
	struct troupe_vec3 t = troupe_vec3_scale(troupe_vec3_cross(u, v), 2);
	return troupe_vec3_add(troupe_vec3_add(v, troupe_vec3_scale(t, q.w)), troupe_vec3_cross(u, t));
}

static inline struct troupe_vec3 troupe_pose_place(struct troupe_pose pose)
{
	return troupe_vec3_make(pose.x, pose.y, pose.z);
}

static inline struct troupe_quat troupe_pose_turn(struct troupe_pose pose)
{
	struct troupe_quat q;
	q.w = pose.qw, q.x = pose.qx, q.y = pose.qy, q.z = pose.qz;
	return q;
}

static inline struct troupe_pose troupe_pose_make(struct troupe_vec3 p, struct troupe_quat q)
{
	struct troupe_pose pose;
	pose.x = p.x, pose.y = p.y, pose.z = p.z;
	pose.qw = q.w, pose.qx = q.x, pose.qy = q.y, pose.qz = q.z;
	return pose;
}

/* The place in the world of a point that is given in the frame of the pose. */
static inline struct troupe_vec3 troupe_pose_point(struct troupe_pose pose, struct troupe_vec3 point)
{
	return troupe_vec3_add(troupe_pose_place(pose), troupe_quat_rotate(troupe_pose_turn(pose), point));
}

/* b, which is given in the frame of a, in the parent of a. */
static inline struct troupe_pose troupe_pose_mul(struct troupe_pose a, struct troupe_pose b)
{
	return troupe_pose_make(
		troupe_pose_point(a, troupe_pose_place(b)), troupe_quat_mul(troupe_pose_turn(a), troupe_pose_turn(b)));
}

static inline struct troupe_pose troupe_pose_inverse(struct troupe_pose pose)
{
	struct troupe_quat q = troupe_quat_inverse(troupe_pose_turn(pose));
	return troupe_pose_make(troupe_vec3_scale(troupe_quat_rotate(q, troupe_pose_place(pose)), -1), q);
}

#ifdef __cplusplus
}
#endif
#endif
