/* Where the pixels of a camera look: a pinhole with its distortion, or a wide lens.
 *
 * In the camera's frame x is ahead, y left and z up. The ray of a pixel goes through its middle. Pure; any thread. */
#ifndef SENSOR_LENS_H
#define SENSOR_LENS_H

#include "sdf/sensor.h"

/* A camera without a wide lens: by <intrinsics> if they are given, with its distortion (Brown). */
struct lens_pinhole {
	double fx, fy, cx, cy, skew; /* pixels */
	double k1, k2, p1, p2, k3;
	double off_x, off_y; /* the middle of the distortion, beside the axis, in focal lengths */
};
struct lens_pinhole lens_pinhole_of(const struct sdf_camera *camera);
/* What the place in the picture, in pixels, shows: *ret_x to the right and *ret_y down for each metre ahead. False:
 * nothing, because the distortion leaves nothing to show there. */
bool lens_slopes(const struct lens_pinhole *hole, double column, double row, double *ret_x, double *ret_y);

/* The other way: where the picture shows what lies in a direction of the camera's frame, of any length. hole: of the
 * camera, which counts unless it is wide. False: nowhere, because it lies behind the camera, or beyond what the law of
 * the lens can show. */
bool lens_project(const struct sdf_camera *camera, bool wide, const struct lens_pinhole *hole, struct vec3 direction,
	double *ret_column, double *ret_row);

/* directions[width * height]: the unit direction of each pixel, row after row from the top left, in the camera's frame;
 * 0 0 0: no ray, beyond the cut-off of a wide lens, or because lens_slopes() has none. wide: by the camera's lens
 * (SDF_WIDE_ANGLE_CAMERA), without which it is a pinhole. */
void lens_directions(const struct sdf_camera *camera, bool wide, struct vec3 *directions);

/* The focal length, in pixels, that follows from the field of view: of a wide lens, the one on its axis. */
double lens_focal(const struct sdf_camera *camera, bool wide);

#endif
