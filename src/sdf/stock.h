/* The models that nearly every world of Gazebo includes, and that every Gazebo has: its sun and its ground plane. */
#ifndef SDF_STOCK_H
#define SDF_STOCK_H

#include "sdf/fuel.h"

/* The name under which the text of a model is known, such as "model://sun/model.sdf". NULL: it is not one of them.
 * name: what follows "model://". */
const char *stock_find(const char *name);
/* The same by an address of Fuel. */
const char *stock_find_address(const struct fuel_address *address);
/* SDF; NULL: stock_find() does not give this name. */
const char *stock_text(const char *path);
/* The names of the models by number, from 0; NULL after the last. */
const char *stock_name(uint32_t index);

#endif
