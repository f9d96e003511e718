/* Pictures without noise: depth, colour and segments of what a camera sees. There is one ray for each pixel, which the
 * lens gives (lens.h): no anti-aliasing.
 *
 * Colours: a material has its ambient, diffuse, specular and emissive colours, and no textures; a visual without a
 * material is grey. A light adds diffuse * N.L and specular * (N.H)^shininess (Blinn), divided by its attenuation; a
 * light and a scene that cast shadows have hard ones. A visual is as opaque as (1 - transparency) * the alpha of its
 * diffuse colour; at most PICTURE_LAYERS visuals are seen one behind the other. Neither sky nor fog is shown.
 *
 * Thread: as rays_cast(). Units: metres. */
#ifndef SENSOR_PICTURE_H
#define SENSOR_PICTURE_H

#include "sensor/lights.h"
#include "sensor/rays.h"

enum { PICTURE_LAYERS = 8 };

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

/* directions: of the first pixel and of those behind it, as lens_directions() gives them. What a pixel shows does
 * not depend on which pixels are taken together. */
void picture_take(const struct rays *rays, const struct lights *lights, const struct sdf_camera *camera,
	const struct vec3 *directions, struct pose pose, const struct picture *picture);

#endif
