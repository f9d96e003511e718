/* TLS 1.3 with an external pre-shared key and nothing else (no certificate, no ticket, no early data), and the MAC of
 * announcements. In a build without OpenSSL every context is refused, and so none of the rest is ever called.
 *
 * A key is not used itself: what TLS and announcements use is derived from it, each for its purpose. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "net/key.h"

/* What connections that share a key have in common; dear to make (0.3 ms), cheap to share. Counted: any thread. */
struct tls_context;

troupe_status tls_context_create(const struct key *key, struct tls_context **ret_context, struct troupe_error *error);
struct tls_context *tls_context_keep(struct tls_context *context); /* one more holder; returns it */
void tls_context_drop(struct tls_context *context);                /* one fewer; NULL is fine */

/* One connection's. The socket is the caller's. */
struct tls;

struct tls *tls_create(struct tls_context *context, int fd, bool is_server);
void tls_destroy(struct tls *tls);

enum tls_result {
	TLS_MOVED,      /* done, or as much as count says */
	TLS_WANT_READ,  /* nothing more to do until the socket can be read */
	TLS_WANT_WRITE, /* until it can be written */
	TLS_CLOSED,     /* by the peer, in good order */
	TLS_BROKE_OFF,  /* the connection itself; errno says why, 0: it ended */
	TLS_REFUSED,    /* what came is not what it should be; tls_reason() says what */
};

/* The socket may have something to read again. A read that took less than it could has the next ones ask the socket no
 * more, until this is called (or tls_handshake()). */
void tls_look_again(struct tls *tls);
enum tls_result tls_handshake(struct tls *tls);
enum tls_result tls_read(struct tls *tls, void *ret_bytes, size_t room, size_t *ret_count);
enum tls_result tls_write(struct tls *tls, const void *bytes, size_t count, size_t *ret_count);
void tls_say_goodbye(struct tls *tls);
const char *tls_reason(const struct tls *tls);
uint64_t tls_bytes_sent(const struct tls *tls);
uint64_t tls_bytes_received(const struct tls *tls);

/* HMAC-SHA-256 under what is derived from the key. Only where keys are usable. */
void tls_mac(const struct key *key, const void *bytes, size_t count, unsigned char ret_mac[KEY_MAC_BYTES]);
bool tls_mac_is(const struct key *key, const void *bytes, size_t count, const unsigned char mac[KEY_MAC_BYTES]);

#endif
