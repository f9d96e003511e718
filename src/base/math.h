/* The functions of mathematics on whose bits states depend: the same bits on every CPU, with SLEEF.
 *
 * Only this module calls a library for a function whose bits IEEE 754 leaves open; the ODE that is a part of libtroupe
 * calls it, too (src/physics/private_ode). sqrt(), floor(), fmod(), remainder() and the like have one correct result
 * and may be called anywhere. Angles are in rad. Pure; any thread. */
#ifndef BASE_MATH_H
#define BASE_MATH_H

#include <stddef.h>

/* "SLEEF", or "libm" where troupe was built without SLEEF: then the bits may depend on the CPU. */
const char *math_name(void);

double math_sin(double x);
double math_cos(double x);
/* Costs little more than one of the two; the last bit may be another. */
void math_sincos(double x, double *ret_sin, double *ret_cos);
double math_asin(double x);
double math_acos(double x);
double math_atan2(double y, double x);
/* ret[i] = math_atan2(y[i], x[i]), to the bit. */
void math_atan2_many(const double *y, const double *x, size_t count, double *ret);
double math_tan(double x);
double math_exp(double x);
double math_expm1(double x); /* exp(x) - 1 */
double math_log(double x);   /* natural */
float math_asinf(float x);   /* this and the next one for ODE only */
float math_acosf(float x);

#endif
