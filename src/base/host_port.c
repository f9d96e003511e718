/* Two colons or more without brackets are an IPv6 address without a port, because its last part could be one. */
#include "base/host_port.h"

#include <stdio.h>
#include <string.h>

static bool host_port_digits(const char *text)
{
	return *text && !text[strspn(text, "0123456789")];
}

static bool host_port_take_port(const char *text, struct host_port *ret)
{
	uint32_t port = 0;
	if (!host_port_digits(text))
		return false;
	for (; *text && port <= UINT16_MAX; text++)
		port = port * 10 + (uint32_t)(*text - '0');
	ret->port = (uint16_t)port;
	ret->has_port = true;
	return port <= UINT16_MAX;
}

bool host_port_read(const char *text, struct host_port *ret)
{
	bool enclosed = *text == '[';
	const char *host = text + enclosed, *end = strchr(host, enclosed ? ']' : ':');
	*ret = (struct host_port){.port = 0};
	if (host_port_digits(text))
		return host_port_take_port(text, ret);
	if (!*text || (enclosed && (!end || end == host)))
		return false;
	const char *rest = enclosed ? end + 1 : end ? end : host + strlen(host);
	if (!enclosed && (!end || strchr(end + 1, ':')))
		rest = end = host + strlen(host);
	if (end - host > HOST_PORT_HOST_MAX || (*rest && *rest != ':') ||
		(*rest && !host_port_take_port(rest + 1, ret)))
		return false;
	memcpy(ret->host, host, (size_t)(end - host));
	return true;
}

void host_port_text(const char *host, uint16_t port, char *ret_text, size_t bytes)
{
	(void)snprintf(ret_text, bytes, strchr(host, ':') ? "[%.*s]:%u" : "%.*s:%u", HOST_PORT_HOST_MAX, host, port);
}

size_t host_port_host_bytes(const char *text)
{
	const char *port = strrchr(text, ':');
	return port ? (size_t)(port - text) : strlen(text);
}
