/* Which kind of system a <plugin> of the file is: one of troupe's own, or one of a library. */
#ifndef SYSTEM_SYSTEM_KIND_H
#define SYSTEM_SYSTEM_KIND_H

#include "system/plugins.h"
#include "system/system.h"

/* *ret_kind: NULL: the plug-in is no system here. *ret_library: NULL: the kind is troupe's own. TROUPE_EWORLD: it
 * stands in the wrong place, or its library has no such kind; and the errors of plugins_find(). */
troupe_status system_kind_of(struct plugins *plugins, const struct sdf_plugin *plugin,
	const struct troupe_kind **ret_kind, const struct plugin_library **ret_library, struct troupe_error *error);

#endif
