/* Where the textures may be that a mesh file names. Pure. */
#ifndef SDF_TEXTURE_NAME_H
#define SDF_TEXTURE_NAME_H

#include <stdint.h>

/* The place to look at as the index-th, from 0 on: a path relative to the folder of the mesh file, or an absolute one;
 * first the name itself, then the folders in which the models of Gazebo Classic have them. NULL: there is no more.
 * free() it. */
char *texture_name_place(const char *name, uint32_t index);

#endif
