/* Expands <include>, and applies the other edits of a model's or world's elements before they are read. */
#ifndef SDF_INCLUDE_H
#define SDF_INCLUDE_H

#include "sdf/load.h"

/* Returns element with each <include> in it replaced by the element that it names, with the include's own name, pose,
 * static flag, placement frame and plug-ins; returns element itself if it has no <include>. An include that is left
 * out (it is on another machine) stays as an <include>. A wrong one is reported and removed. */
const struct sdf_element *include_expand(struct load *load, const struct sdf_element *element);
/* The name by which other elements refer to an <include>, also if it was left out. */
const char *include_name(struct load *load, const struct sdf_element *include);
/* The local file of a mesh, image or heightmap of the model whose links are being read, or NULL, with a warning. */
const char *include_find_file(struct load *load, const struct sdf_element *element, const char *uri);

#endif
