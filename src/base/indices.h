/* Sets of indices as ascending arrays: few changes, many walks in order. Zeroed is empty; free with vec_free(). */
#ifndef BASE_INDICES_H
#define BASE_INDICES_H

#include "base/base.h"

typedef VEC(uint32_t) indices;

/* Where value is or would be inserted: the first place whose index is not below value. */
uint32_t indices_place(const indices *set, uint32_t value);
bool indices_has(const indices *set, uint32_t value);
/* Adding an index that is in the set, or removing one that is not, changes nothing. */
void indices_add(indices *set, uint32_t value);
void indices_remove(indices *set, uint32_t value);

#endif
