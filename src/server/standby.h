/* What a standby hands over to the server that takes the place of the lost primary. */
#ifndef SERVER_STANDBY_H
#define SERVER_STANDBY_H

#include "net/follow.h"

struct troupe_takeover {
	struct follow_term term;
};

#endif
