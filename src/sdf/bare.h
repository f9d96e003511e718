/* A model, light or actor that is to be added to a running world: it is found in the user's text, renamed and placed.
 */
#ifndef SDF_BARE_H
#define SDF_BARE_H

#include "sdf/load.h"

/* Whether the options ask for one entity rather than for worlds. */
bool bare_wanted(const struct load *load);
/* Whether the element is a model, light or actor. */
bool bare_is_entity(const struct sdf_element *element);
/* For a text without <sdf>: returns an <sdf> of the newest version around root, with a warning. NULL: root is nothing
 * that can be added. */
const struct sdf_element *bare_wrap(struct load *load, const struct sdf_element *root);
/* The entity in <sdf>, or the only model of its only world, with the name and the pose of the options. NULL, with an
 * error: there is no entity, or more than one. */
const struct sdf_element *bare_choose(struct load *load, const struct sdf_element *root);

#endif
