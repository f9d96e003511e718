/* TLS 1.3 with an external pre-shared key and nothing else (no certificate, no ticket, no early data), and the MAC of
 * announcements; and for servers of web pages TLS with a certificate. In a build without OpenSSL every context is
 * refused, so the other functions are never called.
 *
 * The key itself is not used. TLS and announcements each use a secret that is derived from it for their purpose. */
#ifndef NET_TCP_TLS_H
#define NET_TCP_TLS_H

#include "net/key.h"

/* The longest first record of a client that is accepted. A record of OpenSSL has 0.3 KB, or 1.5 KB with a post-quantum
 * key exchange. */
enum { TLS_FIRST_MAX = 4096 };

/* The state that connections with the same key share; expensive to make (0.3 ms), cheap to share. Reference-counted:
 * any thread. */
struct tls_context;

troupe_status tls_context_create(const struct key *key, struct tls_context **ret_context, struct troupe_error *error);
/* For servers to which browsers connect: TLS 1.2 or later with the certificates and the key of these PEM files; clients
 * show none. TROUPE_EINVAL: a file cannot be used. */
troupe_status tls_context_of_certificate(
	const char *cert_path, const char *key_path, struct tls_context **ret_context, struct troupe_error *error);
struct tls_context *tls_context_keep(struct tls_context *context); /* one more holder; returns it */
void tls_context_drop(struct tls_context *context);                /* one fewer; NULL is fine */

/* The TLS state of one connection. The caller owns the socket. */
struct tls;

struct tls *tls_create(struct tls_context *context, int fd, bool is_server);
void tls_destroy(struct tls *tls);

enum tls_result {
	TLS_MOVED,      /* done, or as far as the count says */
	TLS_WANT_READ,  /* not possible until the socket can be read */
	TLS_WANT_WRITE, /* not possible until the socket can be written */
	TLS_CLOSED,     /* the peer closed in good order */
	TLS_BROKE_OFF,  /* the connection broke; errno says why, 0: it ended */
	TLS_REFUSED,    /* the received data is wrong; tls_reason() says how */
};

/* Checks the first bytes from a client before a struct tls is made for it, which costs 100 times as much. EPROTOCOL:
 * the bytes cannot begin a handshake with our key. *ret_whole: the first record is complete, and tls_handshake() must
 * judge it. */
troupe_status tls_first(const void *bytes, size_t count, bool *ret_whole, struct troupe_error *error);
/* Passes bytes that were read from the socket before the struct tls was made; they are read before the socket is. Once,
 * before the handshake. */
void tls_feed(struct tls *tls, const void *bytes, size_t count);
/* Tells that the socket may have new bytes. After a read that got less than it asked for, the next reads do not ask the
 * socket until this function or tls_handshake() is called. */
void tls_look_again(struct tls *tls);
enum tls_result tls_handshake(struct tls *tls);
enum tls_result tls_read(struct tls *tls, void *ret_bytes, size_t room, size_t *ret_count);
enum tls_result tls_write(struct tls *tls, const void *bytes, size_t count, size_t *ret_count);
void tls_say_goodbye(struct tls *tls);
const char *tls_reason(const struct tls *tls);
uint64_t tls_bytes_sent(const struct tls *tls);
uint64_t tls_bytes_received(const struct tls *tls);

/* The MAC of announcements: HMAC-SHA-256 with a secret derived from the key. Only where keys are usable. One thread at
 * a time. The state is kept, because making it costs ten times as much as a MAC (11 us and 0.9 us). */
struct tls_mac;

struct tls_mac *tls_mac_create(const struct key *key);
void tls_mac_destroy(struct tls_mac *mac); /* NULL is fine */
/* The MAC of `count` bytes followed by `more_count` bytes. */
void tls_mac(struct tls_mac *mac, const void *bytes, size_t count, const void *more, size_t more_count,
	unsigned char ret_mac[KEY_MAC_BYTES]);
/* Compares in constant time. */
bool tls_mac_same(const unsigned char a[KEY_MAC_BYTES], const unsigned char b[KEY_MAC_BYTES]);

#endif
