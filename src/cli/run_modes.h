/* In which modes an option of `troupe run` has an effect. */
#ifndef CLI_RUN_MODES_H
#define CLI_RUN_MODES_H

#include "cli/run_settings.h"

/* The modes in which an option has an effect. No tag: all modes except those of a secondary and of a client. */
enum {
	RUN_SETTINGS_ALONE = 1 << NETWORK_NONE,
	PRIMARY = 1 << NETWORK_PRIMARY,
	SECONDARY = 1 << NETWORK_SECONDARY,
	CHILDREN = 1 << NETWORK_CHILDREN,
	CLIENT = 1 << NETWORK_CLIENT,
	RANKS = 1 << NETWORK_RANKS,
	STANDBY = 1 << NETWORK_STANDBY,
	ANY = RUN_SETTINGS_ALONE | PRIMARY | SECONDARY | CLIENT | CHILDREN | RANKS | STANDBY,
	SERVING = ANY & ~SECONDARY, /* processes that have gateways */
};

#endif
