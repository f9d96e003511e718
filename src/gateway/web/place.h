/* An address and a port on which the web server listens, or from which a client comes. */
#ifndef GATEWAY_WEB_PLACE_H
#define GATEWAY_WEB_PLACE_H

#include "base/base.h"

#include <sys/socket.h>

enum { PLACE_TEXT_BYTES = 80 };

struct web_place {
	struct sockaddr_storage raw;
	socklen_t raw_bytes;
};

/* An address of IPv4 or IPv6, with or without brackets; "*": all of this machine; NULL, "localhost": 127.0.0.1.
 * TROUPE_EINVAL. */
troupe_status place_parse(const char *address, uint16_t port, struct web_place *ret_place, struct troupe_error *error);
void place_set_port(struct web_place *place, uint16_t port);
uint16_t place_port(const struct web_place *place);
/* Whether only this machine reaches it. */
bool place_is_local(const struct web_place *place);
bool place_is_all(const struct web_place *place);
/* "127.0.0.1", "::1". */
void place_host_text(const struct web_place *place, char ret_text[PLACE_TEXT_BYTES]);
/* "127.0.0.1:8686", "[::1]:8686". */
void place_text(const struct web_place *place, char ret_text[PLACE_TEXT_BYTES]);

#endif
