/* A connection of this machine with itself. */
#ifndef NET_PAIR_H
#define NET_PAIR_H

#include "base/base.h"

/* Both ends of a TCP connection over loopback, which nobody else can have taken part in. Closed on exec. What is
 * written goes out at once. */
troupe_status pair_create(int ret_files[2], struct troupe_error *error);

#endif
