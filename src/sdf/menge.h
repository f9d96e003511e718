/* Crowds of Open-RMF: a <plugin filename="libcrowd_simulation.so"> (or ..._simulator.so) of a world names a scene and a
 * behaviour of Menge, and these name navigation meshes. All of it becomes elements of the plug-in, which
 * builtin/rmf_crowd.c lists, and each person becomes a model: so `print` and recordings have the whole crowd, and a
 * step reads no file. */
#ifndef SDF_MENGE_H
#define SDF_MENGE_H

#include "sdf/load.h"

/* The world with its crowd; `world` itself if it has none, if its files are not found, or if the plug-in has its parts
 * already. */
const struct sdf_element *menge_world(struct load *load, const struct sdf_element *world);

#endif
