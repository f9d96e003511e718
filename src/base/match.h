/* Texts that are alike. Pure; any thread. */
#ifndef BASE_MATCH_H
#define BASE_MATCH_H

#include "base/base.h"

/* Whether the whole text matches: * stands for any text, ? for one UTF-8 character. Takes at most as many steps as
 * the product of the two lengths. */
bool match_glob(const char *glob, const char *text);

/* How many bytes have to be inserted, removed or replaced to make one text of the other. The first 127 bytes of each
 * count. */
uint32_t match_distance(const char *one, const char *other);

#endif
