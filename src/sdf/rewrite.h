/* Edits of trees before they are read: flattened nested models, merged includes. */
#ifndef SDF_REWRITE_H
#define SDF_REWRITE_H

#include "sdf/load.h"

/* Before SDF 1.8 an included model was flattened into its parent: all its names got the prefix "inner::", and a frame
 * "inner::__model__" marked its place. Returns the model with such inner models restored, or element itself. */
const struct sdf_element *rewrite_unflatten(struct load *load, const struct sdf_element *element);

/* Adds the children of model, which is included with merge="true", to parent: poses that were relative to the model
 * become relative to a new frame that stands for the model. */
void rewrite_merge(struct load *load, const struct sdf_element *model, struct load_builder *parent);

#endif
