/* glibc chooses the functions of its libm by the CPU: with FMA they give other bits than without. Of SLEEF's functions,
 * those with "cinz" in their name are plain C without FMA for one number, and each is one function for all CPUs. Their
 * error is at most one unit in the last place. They take 10 to 20 ns longer than those of libm (bench/NOTES.md).
 *
 * Where troupe is built without SLEEF, libm takes its place, and the fingerprint tells machines apart. */
#include "config.h"

#include "base/math.h"

#ifdef HAVE_SLEEF

#include <sleef.h>

const char *math_name(void)
{
	return "SLEEF";
}

double math_sin(double x)
{
	return Sleef_cinz_sind1_u10purec(x);
}

double math_cos(double x)
{
	return Sleef_cinz_cosd1_u10purec(x);
}

void math_sincos(double x, double *ret_sin, double *ret_cos)
{
	Sleef_double_2 both = Sleef_cinz_sincosd1_u10purec(x);
	*ret_sin = both.x;
	*ret_cos = both.y;
}

double math_asin(double x)
{
	return Sleef_cinz_asind1_u10purec(x);
}

double math_acos(double x)
{
	return Sleef_cinz_acosd1_u10purec(x);
}

double math_atan2(double y, double x)
{
	return Sleef_cinz_atan2d1_u10purec(y, x);
}

double math_tan(double x)
{
	return Sleef_cinz_tand1_u10purec(x);
}

double math_exp(double x)
{
	return Sleef_cinz_expd1_u10purec(x);
}

double math_expm1(double x)
{
	return Sleef_cinz_expm1d1_u10purec(x);
}

double math_log(double x)
{
	return Sleef_cinz_logd1_u10purec(x);
}

#else

#include <math.h>

const char *math_name(void)
{
	return "libm";
}

double math_sin(double x)
{
	return sin(x);
}

double math_cos(double x)
{
	return cos(x);
}

void math_sincos(double x, double *ret_sin, double *ret_cos)
{
	sincos(x, ret_sin, ret_cos);
}

double math_asin(double x)
{
	return asin(x);
}

double math_acos(double x)
{
	return acos(x);
}

double math_atan2(double y, double x)
{
	return atan2(y, x);
}

double math_tan(double x)
{
	return tan(x);
}

double math_exp(double x)
{
	return exp(x);
}

double math_expm1(double x)
{
	return expm1(x);
}

double math_log(double x)
{
	return log(x);
}

#endif

float math_asinf(float x)
{
	return (float)math_asin(x);
}

float math_acosf(float x)
{
	return (float)math_acos(x);
}

/* --- many at once ------------------------------------------------------------------------------------------------- */

#if defined(HAVE_SLEEF) && defined(HAVE_SLEEF_AVX) && defined(__x86_64__)

#include <immintrin.h>

/* SLEEF's header declares it only where all code may use AVX. */
extern __m256d Sleef_cinz_atan2d4_u10avx(__m256d y, __m256d x);

/* SLEEF's functions of this kind have the same bits whatever the instructions (tests/unit/test_math). Returns how many
 * are done. */
__attribute__((target("avx"))) static size_t math_atan2_by_four(
	const double *y, const double *x, size_t count, double *ret)
{
	size_t i = 0;
	for (; i + 4 <= count; i += 4)
		_mm256_storeu_pd(ret + i, Sleef_cinz_atan2d4_u10avx(_mm256_loadu_pd(y + i), _mm256_loadu_pd(x + i)));
	return i;
}

static size_t math_atan2_some(const double *y, const double *x, size_t count, double *ret)
{
	return __builtin_cpu_supports("avx") ? math_atan2_by_four(y, x, count, ret) : 0;
}

#else

static size_t math_atan2_some(const double *y, const double *x, size_t count, double *ret)
{
	(void)y, (void)x, (void)count, (void)ret;
	return 0;
}

#endif

void math_atan2_many(const double *y, const double *x, size_t count, double *ret)
{
	for (size_t i = math_atan2_some(y, x, count, ret); i < count; i++)
		ret[i] = math_atan2(y[i], x[i]);
}
