/* TLS 1.3 with an external pre-shared key and nothing else (no certificate, no ticket, no early data), and the MAC of
 * announcements. In a build without OpenSSL every context is refused, and so none of the rest is ever called.
 *
 * A key is not used itself: what TLS and announcements use is derived from it, each for its purpose. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include "net/key.h"

/* The longest first record of a client that is taken. OpenSSL's have 0.3 KB, 1.5 KB with a key exchange that withstands
 * quantum computers. */
enum { TLS_FIRST_MAX = 4096 };

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

/* The first bytes that somebody sent to a server, before there is a tls for them, which costs 100 times as much:
 * EPROTOCOL when they cannot begin a handshake with our key; *ret_whole: the first record is there, and tls_handshake()
 * is to say. */
troupe_status tls_first(const void *bytes, size_t count, bool *ret_whole, struct troupe_error *error);
/* Bytes that came before there was a tls, and are to be read before what the socket has. Once, before the handshake. */
void tls_feed(struct tls *tls, const void *bytes, size_t count);
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

/* The MAC of announcements: HMAC-SHA-256 under what is derived from the key. Only where keys are usable. One thread at
 * a time. Kept, because to set it up costs ten times what a MAC costs (11 us and 0.9 us). */
struct tls_mac;

struct tls_mac *tls_mac_create(const struct key *key);
void tls_mac_destroy(struct tls_mac *mac); /* NULL is fine */
/* Of `count` bytes, and of `more_count` that follow. */
void tls_mac(struct tls_mac *mac, const void *bytes, size_t count, const void *more, size_t more_count,
	unsigned char ret_mac[KEY_MAC_BYTES]);
/* Takes as long whichever byte differs. */
bool tls_mac_same(const unsigned char a[KEY_MAC_BYTES], const unsigned char b[KEY_MAC_BYTES]);

#endif
