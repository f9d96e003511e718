/* The faces lie in one texture, whose smaller copies keep them apart as long as their side is halved without a rest: so
 * only these copies are used. Between texels it is interpolated; what lies beyond an edge is looked up in the face that
 * is there, so that edges do not show. */
#include "mesh/cube.h"

#include <math.h>

enum { CUBE_FACES = 6, CUBE_PLACES_MAX = 8 };

struct cube_copy {
	const unsigned char *texels;
	uint32_t side;
};

struct cube_place { /* on a face: to the right and down, -1 to 1 */
	uint32_t face;
	double s, t;
};

bool cube_fits(uint32_t width, uint32_t height)
{
	return height / CUBE_FACES == width && height % CUBE_FACES == 0;
}

/* d: with z turned round already */
static struct cube_place cube_find(struct vec3 d)
{
	double x = fabs(d.x), y = fabs(d.y), z = fabs(d.z);
	if (x >= y && x >= z && x > 0)
		return d.x > 0 ? (struct cube_place){0, -d.z / x, -d.y / x} : (struct cube_place){1, d.z / x, -d.y / x};
	if (y >= z && y > 0)
		return d.y > 0 ? (struct cube_place){2, d.x / y, d.z / y} : (struct cube_place){3, d.x / y, -d.z / y};
	if (z > 0)
		return d.z > 0 ? (struct cube_place){4, d.x / z, -d.y / z} : (struct cube_place){5, -d.x / z, -d.y / z};
	return (struct cube_place){0, 0, 0}; /* not finite, or no direction */
}

static struct vec3 cube_towards(struct cube_place at)
{
	const struct vec3 ways[CUBE_FACES] = {{1, -at.t, -at.s}, {-1, -at.t, at.s}, {at.s, 1, at.t}, {at.s, -1, -at.t},
		{at.s, -at.t, 1}, {-at.s, -at.t, -1}};
	return ways[at.face];
}

static uint32_t cube_nearest(double at, uint32_t side)
{
	return (uint32_t)fmin(fmax((at + 1) / 2 * side, 0), side - 1);
}

/* column, row: may lie one beyond the face. */
static const unsigned char *cube_texel(const struct cube_copy *copy, uint32_t face, int32_t column, int32_t row)
{
	uint32_t side = copy->side, x = (uint32_t)column, y = (uint32_t)row;
	if (x >= side || y >= side) {
		struct cube_place beyond = {face, (column + 0.5) * 2 / side - 1, (row + 0.5) * 2 / side - 1};
		struct cube_place there = cube_find(cube_towards(beyond));
		face = there.face;
		x = cube_nearest(there.s, side);
		y = cube_nearest(there.t, side);
	}
	return copy->texels + 4 * (((size_t)face * side + y) * side + x);
}

static void cube_add(const struct cube_copy *copy, struct vec3 d, double sum[3])
{
	struct cube_place at = cube_find(d);
	double x = (at.s + 1) / 2 * copy->side - 0.5, y = (at.t + 1) / 2 * copy->side - 0.5;
	int32_t column = (int32_t)floor(x), row = (int32_t)floor(y);
	double right = x - column, below = y - row;
	const unsigned char *corners[4];
	for (int i = 0; i < 4; i++)
		corners[i] = cube_texel(copy, at.face, column + i % 2, row + i / 2);
	for (int k = 0; k < 3; k++) {
		double upper = corners[0][k] + right * (corners[1][k] - corners[0][k]);
		double lower = corners[2][k] + right * (corners[3][k] - corners[2][k]);
		sum[k] += upper + below * (lower - upper);
	}
}

/* The copy whose texels have at most half of the width of the pixel, if there is one. length: of the pixel, on a face
 * at the distance 1. */
static struct cube_copy cube_choose(const struct texture *cube, double length)
{
	uint32_t whole = texture_width(cube), level = 0, side = whole;
	const unsigned char *texels = texture_texels(cube, 0);
	while (whole % (2U << level) == 0 && 2.0 * (2 / (double)side) <= length / 2 &&
		texture_texels(cube, level + 1)) {
		level++;
		side /= 2;
		texels = texture_texels(cube, level);
	}
	return (struct cube_copy){texels, side};
}

static uint32_t cube_places(double length, double texel)
{
	return length > texel ? (uint32_t)fmin(fmax(ceil(length / (2 * texel)), 2), CUBE_PLACES_MAX) : 1;
}

void cube_sample(
	const struct texture *cube, struct vec3 direction, struct vec3 across, struct vec3 down, float ret_rgb[3])
{
	double wide = vec3_length(across), high = vec3_length(down), sum[3] = {0};
	struct cube_copy copy = cube_choose(cube, fmax(wide, high));
	uint32_t columns = cube_places(wide, 2.0 / copy.side), rows = cube_places(high, 2.0 / copy.side);
	for (uint32_t j = 0; j < rows; j++)
		for (uint32_t i = 0; i < columns; i++) {
			struct vec3 d = vec3_add(direction, vec3_scale(across, (i + 0.5) / columns - 0.5));
			d = vec3_add(d, vec3_scale(down, (j + 0.5) / rows - 0.5));
			cube_add(&copy, (struct vec3){d.x, d.y, -d.z}, sum);
		}
	for (int k = 0; k < 3; k++)
		ret_rgb[k] = (float)(sum[k] / (255.0 * columns * rows));
}
