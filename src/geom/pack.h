/* Vectors as bytes, in files and frames: x, y, z (base/pack.h). What is read is not checked: it may be NaN. */
#ifndef GEOM_PACK_H
#define GEOM_PACK_H

#include "base/pack.h"
#include "geom/geom.h"

static inline void pack_vec3(struct text *out, struct vec3 v)
{
	pack_double(out, v.x);
	pack_double(out, v.y);
	pack_double(out, v.z);
}

static inline struct vec3 unpack_vec3(struct unpack *in)
{
	struct vec3 v;
	v.x = unpack_double(in);
	v.y = unpack_double(in);
	v.z = unpack_double(in);
	return v;
}

#endif
