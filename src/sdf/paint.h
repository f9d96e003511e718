/* The materials that a <script> may name without a file: those of gazebo.material, which every Gazebo has. */
#ifndef SDF_PAINT_H
#define SDF_PAINT_H

#include "sdf/look.h"

struct paint {
	const char *name;
	struct sdf_colour ambient, diffuse, specular, emissive; /* diffuse.a: the opacity of a visual */
	double shininess;
	bool unlit;          /* lighting off: the diffuse colour is shown as it is */
	const char *texture; /* a file that Gazebo Classic lays over the colours; NULL: none */
};

/* NULL: no material of that name. */
const struct paint *paint_find(const char *name);

#endif
