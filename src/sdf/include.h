/* <include>, and what else rewrites a model's or a world's elements before they are read. */
#ifndef SDF_INCLUDE_H
#define SDF_INCLUDE_H

#include "sdf/load.h"

/* Returns element with each <include> in it replaced by what it names, with the include's own name, pose, static flag,
 * placement frame and plug-ins; element itself when it has none. One that is left out (it is on another machine) stays
 * as an <include>; one that is wrong is reported and removed. */
const struct sdf_element *include_expand(struct load *load, const struct sdf_element *element);
/* The name that others use for an <include>, also for one that was left out. */
const char *include_name(struct load *load, const struct sdf_element *include);
/* The local file of a mesh, image or heightmap, or NULL. */
const char *include_find_file(struct load *load, const struct sdf_element *element, const char *uri);

#endif
