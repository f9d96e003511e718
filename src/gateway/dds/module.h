/* The module with the DDS library. */
#ifndef GATEWAY_DDS_MODULE_H
#define GATEWAY_DDS_MODULE_H

#include "gateway/dds/glue.h"

#include <troupe/base.h>

/* Loads the module, once in a process; it stays. TROUPE_EINVAL: this build has none; TROUPE_EIO: it cannot be loaded,
 * or is of another version. Any thread. */
troupe_status module_load(const struct glue **ret_glue, struct troupe_error *error);
/* Whether this build has one. */
bool module_is_available(void);

#endif
