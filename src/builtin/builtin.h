/* The plug-in that is a part of troupe. Its files use <troupe/plugin.h> and what is in this folder, and nothing else:
 * what they can do, the plug-in of a user can do, too. */
#ifndef BUILTIN_BUILTIN_H
#define BUILTIN_BUILTIN_H

#include <troupe/plugin.h>

extern const struct troupe_plugin builtin_plugin;

#endif
