/* One place from which libm is called, so that another library can take its place. */
#include "base/math.h"

#include <math.h>

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

float math_asinf(float x)
{
	return (float)math_asin(x);
}

float math_acosf(float x)
{
	return (float)math_acos(x);
}
