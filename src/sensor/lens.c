/* A pixel is followed outwards: through the inverse of the distortion, which Newton's method finds, or through the
 * inverse of a wide lens, which is a formula. */
#include "sensor/lens.h"

/* Where a point of the undistorted picture comes to lie, in focal lengths, y down; and the derivatives of that place.
 */
struct lens_bent {
	double x, y, xx, xy, yy; /* xy: of x by y, and of y by x */
};

/* Brown's model with the coefficients of <distortion>. */
static struct lens_bent lens_distort(const struct lens_pinhole *hole, double x, double y)
{
	double r2 = x * x + y * y, radial = 1 + r2 * (hole->k1 + r2 * (hole->k2 + r2 * hole->k3)),
	       slope = 2 * (hole->k1 + r2 * (2 * hole->k2 + 3 * r2 * hole->k3)), p1 = hole->p1, p2 = hole->p2;
	return (struct lens_bent){.x = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x),
		.y = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y,
		.xx = radial + x * x * slope + 2 * p1 * y + 6 * p2 * x,
		.xy = x * y * slope + 2 * p1 * x + 2 * p2 * y,
		.yy = radial + y * y * slope + 6 * p1 * y + 2 * p2 * x};
}

static double lens_determinant(const struct lens_bent *at)
{
	return at->xx * at->yy - at->xy * at->xy;
}

static double lens_miss(const struct lens_bent *at, double x, double y)
{
	return sqrt((at->x - x) * (at->x - x) + (at->y - y) * (at->y - y));
}

/* The inverse, by Newton's method from the axis outwards, with shorter steps where a whole one leads away. A barrel
 * folds the picture over at some radius: a pixel beyond has no inverse, and a step never goes over the fold. False: the
 * pixel shows nothing. */
static bool lens_straighten(const struct lens_pinhole *hole, double *x, double *y)
{
	enum { STEPS_MAX = 100, HALVINGS_MAX = 40 };
	double to_x = *x, to_y = *y, at_x = 0, at_y = 0, size = 1 + sqrt(to_x * to_x + to_y * to_y);
	struct lens_bent at = lens_distort(hole, at_x, at_y);
	double off = lens_miss(&at, to_x, to_y);
	for (int i = 0; i < STEPS_MAX && off > 1e-15 * size; i++) {
		double ex = to_x - at.x, ey = to_y - at.y, by = lens_determinant(&at);
		double dx = (at.yy * ex - at.xy * ey) / by, dy = (at.xx * ey - at.xy * ex) / by;
		bool nearer = false;
		for (int k = 0; k < HALVINGS_MAX && !nearer; k++, dx /= 2, dy /= 2) {
			struct lens_bent next = lens_distort(hole, at_x + dx, at_y + dy);
			nearer = lens_determinant(&next) > 0 && lens_miss(&next, to_x, to_y) < off;
			if (nearer)
				at = next, at_x += dx, at_y += dy, off = lens_miss(&next, to_x, to_y);
		}
		if (!nearer)
			break;
	}
	*x = at_x, *y = at_y;
	return off <= 1e-9 * size;
}

struct lens_pinhole lens_pinhole_of(const struct sdf_camera *camera)
{
	double w = camera->width, h = camera->height, f = lens_focal(camera, false);
	struct lens_pinhole hole = {.fx = f,
		.fy = f,
		.cx = w / 2,
		.cy = h / 2,
		.k1 = camera->k1,
		.k2 = camera->k2,
		.k3 = camera->k3,
		.p1 = camera->p1,
		.p2 = camera->p2};
	if (camera->intrinsics_given) {
		hole.fx = camera->fx, hole.fy = camera->fy;
		hole.cx = camera->cx, hole.cy = camera->cy;
		hole.skew = camera->skew;
	}
	hole.off_x = (camera->centre_x - 0.5) * w / hole.fx;
	hole.off_y = (camera->centre_y - 0.5) * h / hole.fy;
	return hole;
}

bool lens_slopes(const struct lens_pinhole *hole, double column, double row, double *ret_x, double *ret_y)
{
	double y = (row - hole->cy) / hole->fy, x = (column - hole->cx - hole->skew * y) / hole->fx;
	if (hole->k1 != 0 || hole->k2 != 0 || hole->k3 != 0 || hole->p1 != 0 || hole->p2 != 0) {
		x -= hole->off_x, y -= hole->off_y;
		if (!lens_straighten(hole, &x, &y))
			return false;
		x += hole->off_x, y += hole->off_y;
	}
	*ret_x = x, *ret_y = y;
	return true;
}

static struct vec3 lens_pinhole_ray(const struct lens_pinhole *hole, double column, double row)
{
	double x, y;
	return lens_slopes(hole, column, row, &x, &y) ? vec3_unit((struct vec3){1, -x, -y}) : (struct vec3){0, 0, 0};
}

/* r = c1 f fun(angle / c2 + c3), the lenses of SDF by their numbers. */
struct lens_law {
	double c1, c2, c3, f;
	enum sdf_lens_function function;
};

static struct lens_law lens_law_of(const struct sdf_camera *camera)
{
	switch (camera->lens) {
	case SDF_LENS_GNOMONICAL:
		return (struct lens_law){1, 1, 0, 1, SDF_LENS_TAN};
	case SDF_LENS_STEREOGRAPHIC:
		return (struct lens_law){2, 2, 0, 1, SDF_LENS_TAN};
	case SDF_LENS_EQUIDISTANT:
		return (struct lens_law){1, 1, 0, 1, SDF_LENS_ID};
	case SDF_LENS_EQUISOLID:
		return (struct lens_law){2, 2, 0, 1, SDF_LENS_SIN};
	case SDF_LENS_ORTHOGRAPHIC:
		return (struct lens_law){1, 1, 0, 1, SDF_LENS_SIN};
	case SDF_LENS_CUSTOM:
		break;
	}
	return (struct lens_law){camera->c1, camera->c2, camera->c3, camera->f, camera->function};
}

static double lens_value(const struct lens_law *lens, double angle)
{
	double x = angle / lens->c2 + lens->c3;
	return lens->c1 * lens->f *
	       (lens->function == SDF_LENS_TAN          ? math_tan(x)
		       : lens->function == SDF_LENS_SIN ? math_sin(x)
							: x);
}

/* The derivative of the radius by the angle, on the axis. */
static double lens_slope(const struct lens_law *lens)
{
	double cos = math_cos(lens->c3), slope = lens->c1 * lens->f / lens->c2;
	return lens->function == SDF_LENS_TAN   ? slope / (cos * cos)
	       : lens->function == SDF_LENS_SIN ? slope * cos
						: slope;
}

/* The angle of a radius; above pi: none. */
static double lens_angle(const struct lens_law *lens, double r)
{
	double x = r / (lens->c1 * lens->f);
	if (lens->function == SDF_LENS_SIN && !(fabs(x) <= 1))
		return INFINITY;
	double angle = lens->function == SDF_LENS_TAN   ? math_atan2(x, 1)
		       : lens->function == SDF_LENS_SIN ? math_asin(x)
							: x;
	return (angle - lens->c3) * lens->c2;
}

/* Radii are in halves of the picture's width; the lens is scaled so that its border has the field of view, unless
 * scale_to_hfov is false. */
static double lens_scale(const struct sdf_camera *camera, const struct lens_law *lens)
{
	return camera->lens_to_fov ? lens_value(lens, camera->fov_rad / 2) : 1;
}

double lens_focal(const struct sdf_camera *camera, bool wide)
{
	const struct lens_law lens = lens_law_of(camera);
	double half = camera->width / 2.0;
	return wide ? half * lens_slope(&lens) / lens_scale(camera, &lens) : half / math_tan(camera->fov_rad / 2);
}

static struct vec3 lens_wide_ray(const struct sdf_camera *camera, double column, double row)
{
	struct lens_law lens = lens_law_of(camera);
	double half = camera->width / 2.0, y = (row - camera->height / 2.0) / half, x = (column - half) / half;
	double r = sqrt(x * x + y * y), angle = lens_angle(&lens, r * lens_scale(camera, &lens)), sin, cos;
	if (!(angle >= 0 && angle <= camera->cutoff_rad))
		return r == 0 ? (struct vec3){1, 0, 0} : (struct vec3){0, 0, 0};
	if (r == 0)
		return (struct vec3){1, 0, 0};
	math_sincos(angle, &sin, &cos);
	return (struct vec3){cos, -sin * x / r, -sin * y / r};
}

static bool lens_project_wide(const struct sdf_camera *camera, struct vec3 d, double *ret_column, double *ret_row)
{
	struct lens_law lens = lens_law_of(camera);
	double aside = sqrt(d.y * d.y + d.z * d.z), angle = math_atan2(aside, d.x), x = angle / lens.c2 + lens.c3;
	double half = camera->width / 2.0, scale = 0;
	if (lens.function != SDF_LENS_ID && !(x < M_PI / 2))
		return false;
	if (aside > 0)
		scale = half * lens_value(&lens, angle) / lens_scale(camera, &lens) / aside;
	*ret_column = half - scale * d.y;
	*ret_row = camera->height / 2.0 - scale * d.z;
	return true;
}

bool lens_project(const struct sdf_camera *camera, bool wide, const struct lens_pinhole *hole, struct vec3 direction,
	double *ret_column, double *ret_row)
{
	if (wide)
		return lens_project_wide(camera, direction, ret_column, ret_row);
	if (!(direction.x > 1e-6 * vec3_length(direction)))
		return false;
	double x = -direction.y / direction.x, y = -direction.z / direction.x;
	if (hole->k1 != 0 || hole->k2 != 0 || hole->k3 != 0 || hole->p1 != 0 || hole->p2 != 0) {
		struct lens_bent at = lens_distort(hole, x - hole->off_x, y - hole->off_y);
		x = at.x + hole->off_x, y = at.y + hole->off_y;
	}
	*ret_column = hole->cx + hole->fx * x + hole->skew * y;
	*ret_row = hole->cy + hole->fy * y;
	return true;
}

void lens_directions(const struct sdf_camera *camera, bool wide, struct vec3 *directions)
{
	struct lens_pinhole hole = lens_pinhole_of(camera);
	for (uint32_t r = 0; r < camera->height; r++)
		for (uint32_t c = 0; c < camera->width; c++)
			*directions++ = wide ? lens_wide_ray(camera, c + 0.5, r + 0.5)
					     : lens_pinhole_ray(&hole, c + 0.5, r + 0.5);
}
