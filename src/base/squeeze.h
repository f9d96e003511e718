/* Bytes in fewer bytes, for texts that are kept in memory and seldom read, like the text of a world of many equal
 * robots. Parts that stood before are replaced by where they stood (LZ77: Ziv and Lempel, "A universal algorithm for
 * sequential data compression", 1977). The format is for the memory of this process only. Any thread. */
#ifndef BASE_SQUEEZE_H
#define BASE_SQUEEZE_H

#include "base/text.h"

/* Adds the squeezed bytes to `out`; of bytes without repetitions they are slightly more. count: below 4 GiB. */
void squeeze(const char *bytes, size_t count, struct text *out);
/* The bytes again, `count` in number, and a terminating zero byte; to be freed with free(). */
char *squeeze_undo(const struct text *squeezed, size_t count);

#endif
