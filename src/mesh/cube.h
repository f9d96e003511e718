/* A cube map: six pictures of all that lies around, in one texture that is six times as high as wide
 * (mesh/cube_file.h).
 *
 * A direction of the world is looked up as Gazebo does it: with z turned round, by the rules of OpenGL and Direct3D. So
 * with z up, the face +x is ahead (x) with the zenith to the right, and the face -z is the zenith.
 *
 * Thread: any. Pure: the same bits on every CPU. */
#ifndef MESH_CUBE_H
#define MESH_CUBE_H

#include "geom/geom.h"
#include "mesh/texture.h"

/* Whether a texture of this size has this shape. */
bool cube_fits(uint32_t width, uint32_t height);

/* The mean colour, 0 to 1, of what a pixel shows. cube: its size fits. direction: through the middle of the pixel;
 * across, down: what it changes by to the middle of the next pixel of the row, and of the next row. Need not be of
 * length 1. */
void cube_sample(
	const struct texture *cube, struct vec3 direction, struct vec3 across, struct vec3 down, float ret_rgb[3]);

#endif
