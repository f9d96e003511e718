/* Replaces tls.c in a build without OpenSSL. No context can be created, so no function that needs a context is reached.
 */
#include "net/tcp/tls.h"

#include <stdlib.h>

bool key_usable(void)
{
	return false;
}

troupe_status tls_context_create(const struct key *key, struct tls_context **ret_context, struct troupe_error *error)
{
	(void)key;
	(void)ret_context;
	return fail(error, TROUPE_EINVAL, "this build has no TLS (configure --without-tls), and so cannot use a key");
}

troupe_status tls_context_of_certificate(
	const char *cert_path, const char *key_path, struct tls_context **ret_context, struct troupe_error *error)
{
	(void)cert_path, (void)key_path, (void)ret_context;
	return fail(error, TROUPE_EINVAL, "this build has no TLS (configure --without-tls): expected no certificate");
}

struct tls_context *tls_context_keep(struct tls_context *context)
{
	return context;
}

void tls_context_drop(struct tls_context *context)
{
	(void)context;
}

struct tls *tls_create(struct tls_context *context, int fd, bool is_server)
{
	(void)context;
	(void)fd;
	(void)is_server;
	abort();
}

void tls_destroy(struct tls *tls)
{
	(void)tls;
}

enum tls_result tls_handshake(struct tls *tls)
{
	(void)tls;
	abort();
}

enum tls_result tls_read(struct tls *tls, void *ret_bytes, size_t room, size_t *ret_count)
{
	(void)tls;
	(void)ret_bytes;
	(void)room;
	(void)ret_count;
	abort();
}

enum tls_result tls_write(struct tls *tls, const void *bytes, size_t count, size_t *ret_count)
{
	(void)tls;
	(void)bytes;
	(void)count;
	(void)ret_count;
	abort();
}

void tls_say_goodbye(struct tls *tls)
{
	(void)tls;
}

const char *tls_reason(const struct tls *tls)
{
	(void)tls;
	return "";
}

uint64_t tls_bytes_sent(const struct tls *tls)
{
	(void)tls;
	return 0;
}

uint64_t tls_bytes_received(const struct tls *tls)
{
	(void)tls;
	return 0;
}

struct tls_mac *tls_mac_create(const struct key *key)
{
	(void)key;
	abort();
}

void tls_mac_destroy(struct tls_mac *mac)
{
	(void)mac;
}

void tls_mac(struct tls_mac *mac, const void *bytes, size_t count, const void *more, size_t more_count,
	unsigned char ret_mac[KEY_MAC_BYTES])
{
	(void)mac;
	(void)bytes;
	(void)count;
	(void)more;
	(void)more_count;
	(void)ret_mac;
	abort();
}

bool tls_mac_same(const unsigned char a[KEY_MAC_BYTES], const unsigned char b[KEY_MAC_BYTES])
{
	(void)a;
	(void)b;
	return false;
}

troupe_status tls_first(const void *bytes, size_t count, bool *ret_whole, struct troupe_error *error)
{
	(void)bytes;
	(void)count;
	(void)ret_whole;
	return fail(error, TROUPE_EPROTOCOL, "this build has no TLS");
}

void tls_feed(struct tls *tls, const void *bytes, size_t count)
{
	(void)tls;
	(void)bytes;
	(void)count;
}

void tls_look_again(struct tls *tls)
{
	(void)tls;
}
