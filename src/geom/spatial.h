/* Six-vectors of a rigid body, linear part first, and the 6x6 matrices that act on them. Inline and pure, with + - * /
 * and sqrt only: the same bits from the same input anywhere. */
#ifndef GEOM_SPATIAL_H
#define GEOM_SPATIAL_H

#include "geom/geom.h"

struct vec6 { /* velocity of a point and angular velocity; momentum; force and torque */
	struct vec3 linear, angular;
};

struct mat6 { /* rows */
	double m[6][6];
};

static inline struct vec6 mat6_apply(const struct mat6 *a, struct vec6 v)
{
	const double x[6] = {v.linear.x, v.linear.y, v.linear.z, v.angular.x, v.angular.y, v.angular.z};
	double y[6];
	for (int i = 0; i < 6; i++) {
		y[i] = 0;
		for (int k = 0; k < 6; k++)
			y[i] += a->m[i][k] * x[k];
	}
	return (struct vec6){{y[0], y[1], y[2]}, {y[3], y[4], y[5]}};
}

static inline double vec6_dot(struct vec6 a, struct vec6 b)
{
	return vec3_dot(a.linear, b.linear) + vec3_dot(a.angular, b.angular);
}

/* a += scale * b */
static inline void mat6_add(struct mat6 *a, const struct mat6 *b, double scale)
{
	for (int i = 0; i < 36; i++)
		a->m[i / 6][i % 6] += scale * b->m[i / 6][i % 6];
}

/* a += scale * v v^T */
static inline void mat6_add_square(struct mat6 *a, struct vec6 v, double scale)
{
	const double x[6] = {v.linear.x, v.linear.y, v.linear.z, v.angular.x, v.angular.y, v.angular.z};
	for (int i = 0; i < 36; i++)
		a->m[i / 6][i % 6] += scale * x[i / 6] * x[i % 6];
}

/* t^T a t */
static inline struct mat6 mat6_congruent(const struct mat6 *a, const struct mat6 *t)
{
	struct mat6 half = {0}, whole = {0};
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 6; k++)
			for (int j = 0; j < 6; j++)
				half.m[i][k] += a->m[i][j] * t->m[j][k];
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 6; k++)
			for (int j = 0; j < 6; j++)
				whole.m[i][k] += t->m[j][i] * half.m[j][k];
	return whole;
}

/* The matrix, of a velocity in the axes of `frame` at the origin of `frame`, in the axes around the frame and at their
 * origin. */
static inline struct mat6 mat6_moved(const struct mat6 *a, struct pose frame)
{
	struct mat3 r = quat_matrix(frame.q);
	const struct vec3 columns[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
	struct mat6 t = {0};
	for (int k = 0; k < 3; k++) {
		struct vec3 carried = vec3_cross(columns[k], frame.p); /* velocity of frame.p in a turn about axis k */
		for (int i = 0; i < 3; i++) {
			t.m[i][k] = t.m[i + 3][k + 3] = r.m[k][i];
			t.m[i][k + 3] = r.m[0][i] * carried.x + r.m[1][i] * carried.y + r.m[2][i] * carried.z;
		}
	}
	return mat6_congruent(a, &t);
}

/* The inverse of a symmetric matrix. False: it is not positive definite, or so nearly not that the inverse means
 * nothing. Its rows and columns are scaled to a diagonal of 1 first, because kg and kg m2 have nothing in common. */
static inline bool mat6_invert(const struct mat6 *a, struct mat6 *ret)
{
	double scale[6], l[6][6] = {{0}}, inverse[6][6] = {{0}};
	for (int i = 0; i < 6; i++) {
		if (!(a->m[i][i] > 0))
			return false;
		scale[i] = 1 / sqrt(a->m[i][i]);
	}
	for (int i = 0; i < 6; i++)
		for (int k = 0; k <= i; k++) {
			double sum = a->m[i][k] * scale[i] * scale[k];
			for (int j = 0; j < k; j++)
				sum -= l[i][j] * l[k][j];
			if (i == k && !(sum > 1e-12))
				return false;
			l[i][k] = i == k ? sqrt(sum) : sum / l[k][k];
		}
	for (int k = 0; k < 6; k++) /* the inverse of l */
		for (int i = k; i < 6; i++) {
			double sum = i == k;
			for (int j = k; j < i; j++)
				sum -= l[i][j] * inverse[j][k];
			inverse[i][k] = sum / l[i][i];
		}
	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 6; k++) {
			ret->m[i][k] = 0;
			for (int j = i > k ? i : k; j < 6; j++)
				ret->m[i][k] += inverse[j][i] * inverse[j][k];
			ret->m[i][k] *= scale[i] * scale[k];
		}
	return true;
}

/* Principal values and, as columns of *ret_axes, principal directions of a symmetric matrix, by Jacobi's rotations. A
 * matrix that is diagonal keeps the axes, in their order. */
static inline void mat3_principal(struct mat3 a, struct vec3 *ret_values, struct mat3 *ret_axes)
{
	struct mat3 v = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
	for (int sweep = 0; sweep < 32; sweep++)
		for (int p = 0; p < 2; p++)
			for (int q = p + 1; q < 3; q++) {
				if (a.m[p][q] == 0)
					continue;
				double theta = (a.m[q][q] - a.m[p][p]) / (2 * a.m[p][q]);
				double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1));
				double c = 1 / sqrt(t * t + 1), s = t * c, off = a.m[p][q];
				int r = 3 - p - q;
				double rp = a.m[r][p], rq = a.m[r][q];
				a.m[p][p] -= t * off;
				a.m[q][q] += t * off;
				a.m[p][q] = a.m[q][p] = 0;
				a.m[r][p] = a.m[p][r] = c * rp - s * rq;
				a.m[r][q] = a.m[q][r] = s * rp + c * rq;
				for (int i = 0; i < 3; i++) {
					double ip = v.m[i][p], iq = v.m[i][q];
					v.m[i][p] = c * ip - s * iq;
					v.m[i][q] = s * ip + c * iq;
				}
			}
	*ret_values = (struct vec3){a.m[0][0], a.m[1][1], a.m[2][2]};
	*ret_axes = v;
}

#endif
