/* Libraries that end the process, crash or never return when no file descriptor is left are started only where there
 * are some. */
#ifndef BASE_DESCRIPTORS_H
#define BASE_DESCRIPTORS_H

#include "base/base.h"

/* Opens so many files (at most 64) and closes them again. TROUPE_EIO: it cannot, "cannot open 32 files: Too many open
 * files". Any thread; others may take descriptors meanwhile. */
troupe_status descriptors_expect(uint32_t count, struct troupe_error *error);

#endif
