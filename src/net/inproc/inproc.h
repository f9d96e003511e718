/* The transport between threads of one process: payloads are lent, and no peer can be lost. */
#ifndef NET_INPROC_INPROC_H
#define NET_INPROC_INPROC_H

#include "net/transport.h"

extern const struct transport_ops transport_inproc;

#endif
