/* Whether what a library exports is a plug-in of this interface, whose tables are valid (troupe/plugin.h). A pure
 * function, but it reads the library's memory: it is called first in a child process. */
#ifndef SYSTEM_PLUGIN_CHECK_H
#define SYSTEM_PLUGIN_CHECK_H

#include <troupe/plugin.h>

#include "base/base.h"

#define PLUGIN_SYMBOL "troupe_plugin" /* the name of what it exports */

/* TROUPE_EWORLD: what is wrong, without the name of the library. */
troupe_status plugin_check(const struct troupe_plugin *plugin, struct troupe_error *error);

#endif
