/* A TCP connection between two sockets of this process. */
#ifndef NET_TCP_SOCKET_PAIR_H
#define NET_TCP_SOCKET_PAIR_H

#include "base/base.h"

/* Both ends of a TCP connection over loopback; no other program can be at either end. Both are closed on exec. Written
 * bytes are sent at once (TCP_NODELAY). */
troupe_status socket_pair_create(int ret_files[2], struct troupe_error *error);

#endif
