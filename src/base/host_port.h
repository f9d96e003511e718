/* How all options write an address: PORT, :PORT, HOST, HOST:PORT, [IPv6], [IPv6]:PORT or an IPv6 address alone. HOST
 * may be a number, a name, or * for all addresses of this machine. What a HOST or its absence means is the caller's
 * affair. */
#ifndef BASE_HOST_PORT_H
#define BASE_HOST_PORT_H

#include "base/base.h"

enum {
	HOST_PORT_HOST_MAX = 255,                      /* bytes of a host's name */
	HOST_PORT_TEXT_BYTES = HOST_PORT_HOST_MAX + 9, /* "[HOST]:65535", terminated */
};

/* For messages: "'%s': expected " HOST_PORT_FORMS */
#define HOST_PORT_FORMS "PORT, :PORT, HOST:PORT or [IPv6]:PORT"

struct host_port {
	char host[HOST_PORT_HOST_MAX + 1]; /* without brackets; "": none is given */
	uint16_t port;                     /* 0: none is given, or it is 0 */
	bool has_port;
};

/* False: the text has none of these forms. */
bool host_port_read(const char *text, struct host_port *ret);
/* "HOST:PORT", or "[IPv6]:PORT", which host_port_read() reads; it is cut to so many bytes. */
void host_port_text(const char *host, uint16_t port, char *ret_text, size_t bytes);
/* How many bytes of such a text are the host, brackets included; all of a text that has no port. */
size_t host_port_host_bytes(const char *text);

#endif
