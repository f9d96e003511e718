/* LANES doubles side by side, one island in each. Every operation works lane by lane and rounds as the operation on one
 * double does: no fused products, no estimates of reciprocals or roots. So the bits of a lane depend on that lane's
 * input alone, whatever LANES is and whatever the other lanes hold.
 *
 * To be included once by a file that defines LANES (2, 4 or 8) and, where that width needs it, the instruction set. */
#ifndef PHYSICS_LANES_SIMD_H
#define PHYSICS_LANES_SIMD_H

#include <stdbool.h>
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

/* A rule that a test breaks on purpose, to show that it would notice (tests/unit/test_lanes.c). */
#ifndef SIMD_BROKEN
#define SIMD_BROKEN 0
#endif
enum {
	SIMD_FUSED = 1, /* products are fused with sums */
	SIMD_ESTIMATE,  /* a reciprocal is an estimate, made better twice */
	SIMD_TOGETHER,  /* no lane goes on when one of them is done */
};

typedef double vd __attribute__((vector_size(8 * LANES)));
typedef int64_t vl __attribute__((vector_size(8 * LANES))); /* masks: -1 or 0 in each lane */

struct v3 {
	vd x, y, z;
};
struct sym3 {
	vd xx, xy, xz, yy, yz, zz;
};
struct m33 { /* rows */
	struct v3 x, y, z;
};
struct v4 { /* a quaternion */
	vd w, x, y, z;
};

static inline vd simd_all(double a)
{
	return (vd){0} + a; /* the sign of a zero does not matter to any user */
}

static inline vd simd_blend(vl mask, vd a, vd b)
{
	return (vd)((mask & (vl)a) | (~mask & (vl)b));
}

static inline vd simd_keep(vl mask, vd a) /* 0 elsewhere */
{
	return (vd)(mask & (vl)a);
}

static inline vd simd_abs(vd a)
{
	return (vd)((vl)a & INT64_MAX);
}

/* Asked some ten times for each row in each round of pivoting: one instruction where there is one. */
static inline bool simd_any(vl mask)
{
#if LANES == 8 && defined(__AVX512F__)
	return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
#elif LANES == 4 && defined(__AVX2__)
	return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#elif LANES == 2 && defined(__SSE2__)
	return _mm_movemask_pd((__m128d)mask) != 0; /* of -1 and 0 */
#else
	int64_t some = 0;
	for (int i = 0; i < LANES; i++)
		some |= mask[i];
	return some != 0;
#endif
}

static inline vd simd_sqrt(vd a)
{
	vd root = a;
	for (int i = 0; i < LANES; i++)
		root[i] = __builtin_sqrt(a[i]);
	return root;
}

static inline vd simd_inverse(vd a)
{
	vd inverse = 1 / a;
	for (int i = 0; i < LANES && SIMD_BROKEN == SIMD_ESTIMATE; i++) {
		double x = (double)(1 / (float)a[i]);
		x *= 2 - a[i] * x;
		inverse[i] = x * (2 - a[i] * x);
	}
	return inverse;
}

static inline struct v3 simd3_zero(void)
{
	return (struct v3){simd_all(0), simd_all(0), simd_all(0)};
}

static inline struct v3 simd3_load(const vd *at)
{
	return (struct v3){at[0], at[1], at[2]};
}

static inline void simd3_store(vd *at, struct v3 a)
{
	at[0] = a.x;
	at[1] = a.y;
	at[2] = a.z;
}

static inline struct sym3 simd_sym_load(const vd *at)
{
	return (struct sym3){at[0], at[1], at[2], at[3], at[4], at[5]};
}

static inline struct v3 simd3_add(struct v3 a, struct v3 b)
{
	return (struct v3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline struct v3 simd3_sub(struct v3 a, struct v3 b)
{
	return (struct v3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline struct v3 simd3_scale(struct v3 a, vd s)
{
	return (struct v3){a.x * s, a.y * s, a.z * s};
}

static inline vd simd3_dot(struct v3 a, struct v3 b)
{
	if (SIMD_BROKEN == SIMD_FUSED) {
		vd fused = a.x;
		for (int i = 0; i < LANES; i++)
			fused[i] = __builtin_fma(a.z[i], b.z[i], a.x[i] * b.x[i] + a.y[i] * b.y[i]);
		return fused;
	}
	return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct v3 simd3_cross(struct v3 a, struct v3 b)
{
	return (struct v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline struct v3 simd3_turn(const struct m33 *r, struct v3 a)
{
	return (struct v3){simd3_dot(r->x, a), simd3_dot(r->y, a), simd3_dot(r->z, a)};
}

static inline struct v3 simd3_sym(const struct sym3 *s, struct v3 a)
{
	return (struct v3){s->xx * a.x + s->xy * a.y + s->xz * a.z, s->xy * a.x + s->yy * a.y + s->yz * a.z,
		s->xz * a.x + s->yz * a.y + s->zz * a.z};
}

static inline struct v4 simd4_mul(struct v4 a, struct v4 b)
{
	return (struct v4){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
		a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

static inline struct m33 simd4_matrix(struct v4 q)
{
	vd a = 2 * q.x * q.x, b = 2 * q.y * q.y, c = 2 * q.z * q.z;
	return (struct m33){{1 - b - c, 2 * (q.x * q.y - q.w * q.z), 2 * (q.x * q.z + q.w * q.y)},
		{2 * (q.x * q.y + q.w * q.z), 1 - a - c, 2 * (q.y * q.z - q.w * q.x)},
		{2 * (q.x * q.z - q.w * q.y), 2 * (q.y * q.z + q.w * q.x), 1 - a - b}};
}

#endif
