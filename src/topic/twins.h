/* Names of topics that become the same where only letters, digits and "_" are allowed, as in ROS 2: cart-1, cart.1 and
 * cart#1. The first that comes may have the plain name, and the others are its twins until they go. So all readers of
 * the table agree which is which, whenever they look, and a name does not change because another model comes or goes.
 *
 * Models are compared, as "cart" in /world/w/model/cart/link/l/sensor/s/scan, and "cart/model/arm" of a model within a
 * model; of a topic without a model in its name, the whole name. One thread. */
#ifndef TOPIC_TWINS_H
#define TOPIC_TWINS_H

#include "base/map.h"

struct twins_trunk;

struct twins { /* zeroed is empty */
	struct map by_name;
	struct map plain; /* name with "_" for other characters -> the trunk that may have it */
	VEC(struct twins_trunk *) trunks;
	VEC(uint32_t) unused;
};

/* Counts the topic; returns the number of what is compared, for twins_is() and twins_remove(). */
uint32_t twins_add(struct twins *twins, const char *topic);
void twins_remove(struct twins *twins, uint32_t trunk);
/* Whether it came when another one had its plain name. */
bool twins_is(const struct twins *twins, uint32_t trunk);
void twins_fini(struct twins *twins);

#endif
