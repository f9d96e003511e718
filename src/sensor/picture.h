/* Pictures without noise: depth, colour and segments of what a camera sees, boxes around models, and the models in the
 * frustum of a logical camera.
 *
 * Pixels stand row after row from the top left. In the camera's frame x is ahead, y left and z up. The ray of a pixel
 * goes through its middle; there is one ray for each pixel (no anti-aliasing).
 *
 * Colours: a material has its ambient, diffuse, specular and emissive colours, and no textures; a visual without a
 * material is grey. A light adds diffuse * N.L and specular * (N.H)^shininess (Blinn), divided by its attenuation; a
 * light and a scene that cast shadows have hard ones. A visual is as opaque as (1 - transparency) * the alpha of its
 * diffuse colour; at most PICTURE_LAYERS visuals are seen one behind the other. Neither sky nor fog is shown.
 *
 * Thread: as rays_cast(). Units: metres. */
#ifndef SENSOR_PICTURE_H
#define SENSOR_PICTURE_H

#include "sensor/rays.h"

enum { PICTURE_LAYERS = 8, PICTURE_LIGHTS_MAX = 256 };

/* A camera without a wide lens: by <intrinsics> if they are given, with its distortion (Brown). */
struct picture_pinhole {
	double fx, fy, cx, cy, skew; /* pixels */
	double k1, k2, p1, p2, k3;
	double off_x, off_y; /* the middle of the distortion, beside the axis, in focal lengths */
};
struct picture_pinhole picture_pinhole_of(const struct sdf_camera *camera);
/* What the place in the picture, in pixels, shows: *ret_x to the right and *ret_y down for each metre ahead. False:
 * nothing, because the distortion leaves nothing to show there. */
bool picture_slopes(const struct picture_pinhole *hole, double column, double row, double *ret_x, double *ret_y);

/* directions[width * height]: the unit direction of each pixel, in the camera's frame; 0 0 0: no ray, beyond the
 * cut-off of a wide lens, or because picture_slopes() has none. wide: by the camera's lens (SDF_WIDE_ANGLE_CAMERA),
 * without which it is a pinhole. */
void picture_directions(const struct sdf_camera *camera, bool wide, struct vec3 *directions);

/* The focal length, in pixels, that follows from the field of view: of a wide lens, the one on its axis. */
double picture_focal(const struct sdf_camera *camera, bool wide);

/* The lights that are on, of the world and of links, at their places in state `now`. Those beyond
 * PICTURE_LIGHTS_MAX are left out. */
struct picture_light {
	struct vec3 p, direction; /* unit */
	struct sdf_shine shine;
};
struct picture_lights {
	uint32_t count;
	struct picture_light at[PICTURE_LIGHTS_MAX];
};
void picture_lights(const struct state *state, struct picture_lights *ret_lights);

/* One value for each pixel, of the whole picture or of `count` pixels in a row; NULL: not wanted. */
struct picture {
	/* Along the axis of the camera: -INFINITY nearer than depth_near_m, INFINITY beyond depth_far_m. */
	float *depth;
	float *colour; /* r, g, b from 0 to 1; of what lies between near_m and far_m */
	/* Of the first visual between near_m and far_m: the label (struct rays_label), and a number of its model among
	 * the models of this label, from 1. 0: no label. */
	uint32_t *labels, *instances;
	uint32_t count; /* 0: all pixels */
};

/* directions: of the first pixel and of those behind it, as picture_directions() gives them. What a pixel shows does
 * not depend on which pixels are taken together. */
void picture_take(const struct rays *rays, const struct picture_lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture);

/* The box around the visible pixels of a labelled model. */
struct picture_box {
	uint32_t label, instance;
	uint32_t left, top, right, bottom; /* pixels, all inside */
};

/* Of labels and instances as picture_take() gave them, by label and then instance. Returns the number of boxes, at most
 * `room`. */
uint32_t picture_boxes(const uint32_t *labels, const uint32_t *instances, uint32_t width, uint32_t height,
	struct picture_box *boxes, uint32_t room);

/* Replaces each of these boxes by the box of the whole model, hidden parts included, cut off at the border of the
 * picture. It is computed with the pinhole, without distortion; points behind the camera are left out. */
void picture_full_boxes(const struct rays *rays, const struct sdf_camera *camera, struct pose pose,
	struct picture_box *boxes, uint32_t count);

/* The box of the whole model along the axes of the model; pose: of its middle, in the camera's frame. */
struct picture_solid {
	struct pose pose;
	struct vec3 size;
};
void picture_solids(const struct rays *rays, struct pose pose, const struct picture_box *boxes, uint32_t count,
	struct picture_solid *solids);

/* Whether the frustum of the camera, at pose, holds the point: the origin of a model, as in Gazebo. */
bool picture_frustum_holds(const struct sdf_logical_camera *camera, struct pose pose, struct vec3 point);

#endif
