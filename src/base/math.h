/* The functions of mathematics on whose bits states depend.
 *
 * Only this module calls libm for a function whose bits IEEE 754 leaves open; the ODE that is a part of libtroupe calls
 * it instead of libm, too (src/physics/private_ode). sqrt(), floor(), fmod(), remainder() and the like have one correct
 * result and may be called anywhere. Angles are in rad. Pure; any thread. */
#ifndef BASE_MATH_H
#define BASE_MATH_H

double math_sin(double x);
double math_cos(double x);
void math_sincos(double x, double *ret_sin, double *ret_cos);
double math_asin(double x);
double math_acos(double x);
double math_atan2(double y, double x);
float math_asinf(float x); /* this and the next one for ODE only */
float math_acosf(float x);

#endif
