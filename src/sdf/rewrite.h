/* Trees that are edited before they are read: flattened nested models, merged includes. */
#ifndef SDF_REWRITE_H
#define SDF_REWRITE_H

#include "sdf/load.h"

/* Before SDF 1.8 an included model was flattened into its parent, with "inner::" before all its names and a frame
 * "inner::__model__" where it stood. Returns the model with such inner models restored, or element itself. */
const struct sdf_element *rewrite_unflatten(struct load *load, const struct sdf_element *element);

/* Adds the children of model, which is included with merge="true", to parent: everything that was relative to the model
 * becomes relative to a new frame that stands for it. */
void rewrite_merge(struct load *load, const struct sdf_element *model, struct load_builder *parent);

#endif
