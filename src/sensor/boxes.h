/* Boxes around the models that a camera sees. Thread: as rays_cast(). */
#ifndef SENSOR_BOXES_H
#define SENSOR_BOXES_H

#include "sensor/rays.h"

/* The box around the visible pixels of a labelled model. */
struct boxes_flat {
	uint32_t label, instance;
	uint32_t left, top, right, bottom; /* pixels, all inside */
	uint32_t pixels;                   /* that show the model */
	/* boxes_measure(): pixels that would show the model if nothing were before it; and the part of the box of the
	 * whole model that lies beyond the border of the picture, 0 to 1. */
	uint32_t pixels_alone;
	double truncated;
};

/* Of labels and instances as picture_take() gave them, by label and then instance. Returns the number of boxes, at most
 * `room`. */
uint32_t boxes_find(const uint32_t *labels, const uint32_t *instances, uint32_t width, uint32_t height,
	struct boxes_flat *boxes, uint32_t room);

/* Sets pixels_alone and truncated of each of these boxes. directions: as for picture_take(). At most BOXES_LAYERS
 * visuals one behind the other are looked through. truncated is computed as in boxes_full(). */
enum { BOXES_LAYERS = 16 };
void boxes_measure(const struct rays *rays, const struct sdf_camera *camera, const struct vec3 *directions,
	struct pose pose, struct boxes_flat *boxes, uint32_t count);

/* Replaces each of these boxes by the box of the whole model, hidden parts included, cut off at the border of the
 * picture. It is computed with the pinhole, without distortion; points behind the camera are left out. */
void boxes_full(const struct rays *rays, const struct sdf_camera *camera, struct pose pose, struct boxes_flat *boxes,
	uint32_t count);

/* The box of the whole model along the axes of the model; pose: of its middle, in the camera's frame. */
struct boxes_solid {
	struct pose pose;
	struct vec3 size;
};
void boxes_solid(const struct rays *rays, struct pose pose, const struct boxes_flat *boxes, uint32_t count,
	struct boxes_solid *solids);

#endif
