/* Robots in URDF (wiki.ros.org/urdf/XML), with Gazebo's extensions, -> the elements of the SDF model that libsdformat
 * makes of them (sdformat.org, "URDF to SDF"). src/doc/reference/urdf.md lists what is understood. */
#ifndef SDF_URDF_H
#define SDF_URDF_H

#include "sdf/load.h"

/* <sdf> with one <model>; each element has the file and line of the part of the robot from which it was made. NULL,
 * after errors that name the line: it is no robot. robot: an element <robot>. */
const struct sdf_element *urdf_convert(struct load *load, const struct sdf_element *robot);

#endif
