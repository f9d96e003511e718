/* The transport over TCP (src/net/PROTOCOL.md): its table of slots, its way to gather peers, and its carrier, which is
 * a channel for each peer. */
#ifndef NET_TCP_TCP_H
#define NET_TCP_TCP_H

#include "net/end.h"
#include "net/gather.h"
#include "net/tcp/channel.h"

extern const struct transport_ops transport_tcp;
extern const struct gather_ops gather_tcp;
extern const struct follow_ops follow_tcp;

extern const struct carrier_ops tcp_carrier_ops;
/* Takes open channels, one for each line, and leaves NULL in the array. TROUPE_ELIMIT: no file is left; then the caller
 * keeps the channels. */
troupe_status tcp_carrier_create(
	struct channel **channels, uint32_t count, struct carrier **ret_carrier, struct troupe_error *error);
/* Gives the channels back, and destroys the carrier. */
void tcp_carrier_dissolve(struct carrier *carrier, struct channel **ret_channels);

#endif
