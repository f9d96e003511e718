/* Code that all ways to gather peers share: the hello, by which two processes see whether they can be in one run. Its
 * random id tells two processes apart that have the same name and number on different machines. */
#include "net/gather.h"

#include "config.h"
#include "net/key.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

troupe_status gather_hello(
	const struct gather_self *self, enum hello_role role, struct hello *ret_hello, struct troupe_error *error)
{
	const struct troupe_network *network = self->network;
	struct hello hello = {.protocol = HELLO_PROTOCOL, .role = role, .fingerprint = self->fingerprint};
	const char *partition = network->partition ? network->partition : "";
	char host[64] = "?";
	if (strlen(partition) > HELLO_TEXT_MAX)
		return fail(error, TROUPE_EINVAL, "partition '%.40s...': expected at most %d bytes", partition,
			HELLO_TEXT_MAX);
	(void)gethostname(host, sizeof host - 1);
	(void)snprintf(hello.build, sizeof hello.build, "%s with %s", troupe_version(), BITS_LIBRARIES);
	(void)snprintf(hello.partition, sizeof hello.partition, "%s", partition);
	if (network->client && strlen(network->client) > HELLO_TEXT_MAX)
		return fail(error, TROUPE_EINVAL, "client '%.40s...': expected at most %d bytes", network->client,
			HELLO_TEXT_MAX);
	(void)snprintf(hello.client, sizeof hello.client, "%s", network->client ? network->client : "");
	(void)snprintf(hello.name, sizeof hello.name, "%s:%ld", host, (long)getpid());
	hello.secondaries = role == HELLO_PRIMARY ? network->secondaries : 0;
	memcpy(hello.run, self->term.run, sizeof hello.run);
	hello.term = self->term.term;
	troupe_status status = key_random_bytes(hello.id, sizeof hello.id, error);
	if (!status && role == HELLO_PRIMARY && !hello.term) {
		hello.term = 1;
		status = key_random_bytes(hello.run, sizeof hello.run, error);
	}
	*ret_hello = hello;
	return status;
}

void gather_note(const struct gather_host *host, const char *format, ...)
{
	struct troupe_error text;
	va_list args;
	va_start(args, format);
	fail_v(&text, TROUPE_OK, format, args);
	va_end(args);
	host->on_note(host->ctx, text.text);
}
