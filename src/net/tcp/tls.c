/* OpenSSL over sockets that do not block, without SIGPIPE. The BIO is our own, because OpenSSL's BIO writes without
 * MSG_NOSIGNAL, and reads again after a short read, which costs a system call per frame.
 *
 * Both sides offer one cipher, AES-128-GCM with SHA-256: an external key is bound to the hash of its cipher, and a
 * mismatch would look like a wrong key. The server has no certificate, so a client can only be authenticated by the
 * key. The client has no trusted certificates, so a server cannot use a certificate in place of the key. Both sides
 * check that the key was used. A wrong key fails at the binder, before any Diffie-Hellman computation. */
#include "net/tcp/tls.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define CIPHER "TLS_AES_128_GCM_SHA256"
static const unsigned char tls_cipher_id[] = {0x13, 0x01};
static const unsigned char tls_identity[] = "troupe 1";
enum { IDENTITY_BYTES = sizeof tls_identity - 1, RECORD_HEADER_BYTES = 5 };

struct tls_context {
	_Atomic uint32_t holders;
	SSL_CTX *openssl;
	BIO_METHOD *socket;
	unsigned char secret[KEY_MAC_BYTES];
	bool has_certificate; /* and no secret */
};

struct tls {
	struct tls_context *context;
	SSL *openssl;
	int fd;
	int error;       /* errno of the broken connection */
	bool broke;      /* the connection broke or ended */
	bool short_read; /* the last read took all there was: another read would find nothing */
	bool foreign;    /* the first byte received is not one of TLS */
	char *fed;       /* bytes of tls_feed(), from fed_begin to fed_end; NULL: all are read */
	size_t fed_begin, fed_end;
	uint64_t sent, received;
	char reason[160];
};

bool key_usable(void)
{
	return true;
}

/* --- the key ------------------------------------------------------------------------------------------------------ */

static void tls_derive(const struct key *key, const char *purpose, unsigned char ret_secret[KEY_MAC_BYTES])
{
	_Static_assert(KEY_BYTES == KEY_MAC_BYTES, "a derived key is as long as a key");
	unsigned length = 0;
	/* fails only when memory runs out: OpenSSL without SHA-256 has no TLS 1.3 either */
	if (!HMAC(EVP_sha256(), key->bytes, KEY_BYTES, (const unsigned char *)purpose, strlen(purpose), ret_secret,
		    &length) ||
		length != KEY_MAC_BYTES)
		mem_run_out(0);
}

struct tls_mac {
	EVP_MAC_CTX *keyed; /* holds the key; reset for each MAC */
};

struct tls_mac *tls_mac_create(const struct key *key)
{
	struct tls_mac *mac = mem_alloc(sizeof *mac);
	unsigned char secret[KEY_MAC_BYTES];
	char hash[] = "SHA256";
	OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string("digest", hash, 0), OSSL_PARAM_construct_end()};
	EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	mac->keyed = EVP_MAC_CTX_new(hmac);
	EVP_MAC_free(hmac);
	tls_derive(key, "troupe announcement 2", secret);
	if (!mac->keyed || !EVP_MAC_init(mac->keyed, secret, sizeof secret, params))
		mem_run_out(0); /* as in tls_derive() */
	OPENSSL_cleanse(secret, sizeof secret);
	return mac;
}

void tls_mac_destroy(struct tls_mac *mac)
{
	if (!mac)
		return;
	EVP_MAC_CTX_free(mac->keyed);
	free(mac);
}

void tls_mac(struct tls_mac *mac, const void *bytes, size_t count, const void *more, size_t more_count,
	unsigned char ret_mac[KEY_MAC_BYTES])
{
	size_t length = 0;
	if (!EVP_MAC_init(mac->keyed, NULL, 0, NULL) || !EVP_MAC_update(mac->keyed, bytes, count) ||
		!EVP_MAC_update(mac->keyed, more, more_count) ||
		!EVP_MAC_final(mac->keyed, ret_mac, &length, KEY_MAC_BYTES) || length != KEY_MAC_BYTES)
		mem_run_out(0); /* as in tls_derive() */
}

bool tls_mac_same(const unsigned char a[KEY_MAC_BYTES], const unsigned char b[KEY_MAC_BYTES])
{
	return !CRYPTO_memcmp(a, b, KEY_MAC_BYTES);
}

/* --- the socket --------------------------------------------------------------------------------------------------- */

static bool tls_would_block(int code)
{
	return code == EAGAIN || code == EWOULDBLOCK || code == EINTR;
}

static int tls_socket_write(BIO *bio, const char *bytes, int count)
{
	struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t sent = send(tls->fd, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent >= 0) {
		tls->sent += (uint64_t)sent;
		return (int)sent;
	}
	if (tls_would_block(errno)) {
		BIO_set_retry_write(bio);
	} else {
		tls->broke = true;
		tls->error = errno;
	}
	return -1;
}

static ssize_t tls_read_fed(struct tls *tls, char *bytes, size_t room)
{
	size_t count = MIN(room, tls->fed_end - tls->fed_begin);
	memcpy(bytes, tls->fed + tls->fed_begin, count);
	tls->fed_begin += count;
	if (tls->fed_begin == tls->fed_end) {
		free(tls->fed);
		tls->fed = NULL;
	}
	return (ssize_t)count;
}

static int tls_socket_read(BIO *bio, char *bytes, int room)
{
	struct tls *tls = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	ssize_t got = -1;
	bool fed = tls->fed != NULL;
	if (fed) {
		got = tls_read_fed(tls, bytes, (size_t)room);
	} else if (!tls->short_read) {
		errno = 0;
		got = recv(tls->fd, bytes, (size_t)room, MSG_DONTWAIT);
	}
	if (got > 0) {
		if (!tls->received) /* the type of a TLS record: handshake or alert */
			tls->foreign = bytes[0] != 0x16 && bytes[0] != 0x15;
		tls->received += (uint64_t)got;
		tls->short_read = got < room && !fed;
		return (int)got;
	}
	if (got < 0 && (tls->short_read || tls_would_block(errno))) {
		BIO_set_retry_read(bio);
		return -1;
	}
	tls->broke = true;
	tls->error = got < 0 ? errno : 0;
	return got < 0 ? -1 : 0;
}

static long tls_socket_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *tls_make_socket_method(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "troupe socket");
	if (method && BIO_meth_set_write(method, tls_socket_write) && BIO_meth_set_read(method, tls_socket_read) &&
		BIO_meth_set_ctrl(method, tls_socket_control))
		return method;
	BIO_meth_free(method);
	return NULL;
}

/* Ends the process if OpenSSL was refused memory, which is no fault of the peer. */
static void tls_check_memory(void)
{
	if (ERR_GET_REASON(ERR_peek_error()) == ERR_R_MALLOC_FAILURE ||
		ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_MALLOC_FAILURE)
		mem_run_out(0);
}

/* --- the context -------------------------------------------------------------------------------------------------- */

static SSL_SESSION *tls_make_session(SSL *openssl)
{
	const struct tls *tls = SSL_get_app_data(openssl);
	const SSL_CIPHER *cipher = SSL_CIPHER_find(openssl, tls_cipher_id);
	SSL_SESSION *session = SSL_SESSION_new();
	if (session && cipher && SSL_SESSION_set1_master_key(session, tls->context->secret, KEY_MAC_BYTES) &&
		SSL_SESSION_set_cipher(session, cipher) && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION))
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

static int tls_use_session(SSL *openssl, const EVP_MD *hash, const unsigned char **ret_identity, size_t *ret_bytes,
	SSL_SESSION **ret_session)
{
	*ret_identity = tls_identity;
	*ret_bytes = IDENTITY_BYTES;
	*ret_session = NULL;
	if (hash && !EVP_MD_is_a(hash, "SHA256"))
		return 1; /* none then: the handshake will fail */
	*ret_session = tls_make_session(openssl);
	return *ret_session != NULL;
}

static int tls_find_session(SSL *openssl, const unsigned char *theirs, size_t bytes, SSL_SESSION **ret_session)
{
	*ret_session = NULL;
	if (bytes != IDENTITY_BYTES || memcmp(theirs, tls_identity, IDENTITY_BYTES))
		return 1; /* none then: the handshake will fail */
	*ret_session = tls_make_session(openssl);
	return *ret_session != NULL;
}

static bool tls_set_up(struct tls_context *context)
{
	context->openssl = SSL_CTX_new(TLS_method());
	context->socket = tls_make_socket_method();
	if (!context->openssl || !context->socket)
		return false;
	SSL_CTX *openssl = context->openssl;
	SSL_CTX_set_session_cache_mode(openssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(openssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	SSL_CTX_set_read_ahead(openssl, 1);
	if (context->has_certificate)
		return SSL_CTX_set_min_proto_version(openssl, TLS1_2_VERSION) && SSL_CTX_set_num_tickets(openssl, 0) &&
		       SSL_CTX_set_options(openssl, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
	SSL_CTX_set_psk_use_session_callback(openssl, tls_use_session);
	SSL_CTX_set_psk_find_session_callback(openssl, tls_find_session);
	return SSL_CTX_set_min_proto_version(openssl, TLS1_3_VERSION) &&
	       SSL_CTX_set_max_proto_version(openssl, TLS1_3_VERSION) && SSL_CTX_set_num_tickets(openssl, 0) &&
	       SSL_CTX_set_ciphersuites(openssl, CIPHER);
}

troupe_status tls_context_create(const struct key *key, struct tls_context **ret_context, struct troupe_error *error)
{
	struct tls_context *context = mem_alloc(sizeof *context);
	context->holders = 1;
	tls_derive(key, "troupe tls 1", context->secret);
	if (!tls_set_up(context)) {
		char text[120];
		tls_check_memory();
		ERR_error_string_n(ERR_get_error(), text, sizeof text);
		tls_context_drop(context);
		return fail(error, TROUPE_EINTERNAL, "OpenSSL cannot be set up: %s", text);
	}
	*ret_context = context;
	return TROUPE_OK;
}

/* The key file has no pass phrase: nobody could enter it. */
static int tls_no_pass_phrase(char *ret_phrase, int room, int writes, void *ctx)
{
	(void)ret_phrase, (void)room, (void)writes, (void)ctx;
	return 0;
}

static bool tls_use_files(SSL_CTX *openssl, const char *cert_path, const char *key_path)
{
	SSL_CTX_set_default_passwd_cb(openssl, tls_no_pass_phrase);
	return SSL_CTX_use_certificate_chain_file(openssl, cert_path) == 1 &&
	       SSL_CTX_use_PrivateKey_file(openssl, key_path, SSL_FILETYPE_PEM) == 1 &&
	       SSL_CTX_check_private_key(openssl) == 1;
}

troupe_status tls_context_of_certificate(
	const char *cert_path, const char *key_path, struct tls_context **ret_context, struct troupe_error *error)
{
	struct tls_context *context = mem_alloc(sizeof *context);
	context->holders = 1;
	context->has_certificate = true;
	ERR_clear_error();
	if (!tls_set_up(context) || !tls_use_files(context->openssl, cert_path, key_path)) {
		char text[120];
		tls_check_memory();
		ERR_error_string_n(ERR_peek_last_error(), text, sizeof text);
		ERR_clear_error();
		tls_context_drop(context);
		return fail(
			error, TROUPE_EINVAL, "%.200s, %.200s: cannot be used for TLS: %s", cert_path, key_path, text);
	}
	*ret_context = context;
	return TROUPE_OK;
}

struct tls_context *tls_context_keep(struct tls_context *context)
{
	atomic_fetch_add_explicit(&context->holders, 1, memory_order_relaxed);
	return context;
}

void tls_context_drop(struct tls_context *context)
{
	/* acquire-release: the last holder sees all changes by the others */
	if (!context || atomic_fetch_sub_explicit(&context->holders, 1, memory_order_acq_rel) > 1)
		return;
	SSL_CTX_free(context->openssl);
	BIO_meth_free(context->socket);
	OPENSSL_cleanse(context->secret, sizeof context->secret);
	free(context);
}

/* --- one connection ----------------------------------------------------------------------------------------------- */

struct tls *tls_create(struct tls_context *context, int fd, bool is_server)
{
	struct tls *tls = mem_alloc(sizeof *tls);
	tls->context = tls_context_keep(context);
	tls->fd = fd;
	tls->openssl = SSL_new(context->openssl);
	BIO *bio = BIO_new(context->socket);
	if (!tls->openssl || !bio)
		mem_run_out(0);
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->openssl, bio, bio);
	SSL_set_app_data(tls->openssl, tls);
	SSL_set_verify(tls->openssl, is_server ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
	if (is_server)
		SSL_set_accept_state(tls->openssl);
	else
		SSL_set_connect_state(tls->openssl);
	return tls;
}

void tls_destroy(struct tls *tls)
{
	if (!tls)
		return;
	SSL_free(tls->openssl);
	free(tls->fed);
	tls_context_drop(tls->context);
	free(tls);
}

static const char tls_missing[] = "it does not speak TLS: it has no key, and this process has one";
static const char tls_not_our_key[] = "the TLS handshake failed: it has no key, or another key than this process";

/* A record: its type (22: handshake, 21: alert), two bytes of version, and its length, high byte first. The first
 * record of a client with our key contains our identity. */
troupe_status tls_first(const void *bytes, size_t count, bool *ret_whole, struct troupe_error *error)
{
	const unsigned char *at = bytes;
	*ret_whole = false;
	if (count && at[0] != 0x16 && at[0] != 0x15)
		return fail(error, TROUPE_EPROTOCOL, "%s", tls_missing);
	if (count < RECORD_HEADER_BYTES)
		return TROUPE_OK;
	size_t record = (size_t)at[3] << 8 | at[4];
	if (at[0] == 0x15)
		return fail(error, TROUPE_EPROTOCOL, "%s", tls_not_our_key);
	if (record + RECORD_HEADER_BYTES > TLS_FIRST_MAX)
		return fail(error, TROUPE_EPROTOCOL, "a TLS handshake that begins with %zu bytes: expected at most %d",
			record, TLS_FIRST_MAX - RECORD_HEADER_BYTES);
	if (count < record + RECORD_HEADER_BYTES)
		return TROUPE_OK;
	if (!memmem(at, count, tls_identity, IDENTITY_BYTES))
		return fail(error, TROUPE_EPROTOCOL, "%s", tls_not_our_key);
	*ret_whole = true;
	return TROUPE_OK;
}

static enum tls_result tls_refuse(struct tls *tls)
{
	unsigned long code = ERR_peek_last_error();
	tls_check_memory();
	const char *text = code ? ERR_reason_error_string(code) : NULL;
	size_t room = sizeof tls->reason - 1;
	if (tls->foreign)
		text = tls_missing;
	else if (!SSL_is_init_finished(tls->openssl))
		text = tls_not_our_key;
	strncpy(tls->reason, text ? text : "TLS failed", room);
	tls->reason[room] = '\0';
	ERR_clear_error();
	return TLS_REFUSED;
}

static enum tls_result tls_result_of(struct tls *tls, int returned)
{
	switch (SSL_get_error(tls->openssl, returned)) {
	case SSL_ERROR_NONE:
		return TLS_MOVED;
	case SSL_ERROR_WANT_READ:
		return TLS_WANT_READ;
	case SSL_ERROR_WANT_WRITE:
		return TLS_WANT_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_CLOSED;
	default:
		break;
	}
	/* an error that the peer sent is reported rather than the end of the connection */
	if (!tls->broke || tls->foreign)
		return tls_refuse(tls);
	ERR_clear_error();
	errno = tls->error;
	return TLS_BROKE_OFF;
}

void tls_feed(struct tls *tls, const void *bytes, size_t count)
{
	if (!count)
		return;
	tls->fed = mem_alloc(count);
	tls->fed_end = count;
	memcpy(tls->fed, bytes, count);
}

void tls_look_again(struct tls *tls)
{
	tls->short_read = false;
}

enum tls_result tls_handshake(struct tls *tls)
{
	ERR_clear_error();
	tls_look_again(tls);
	enum tls_result result = tls_result_of(tls, SSL_do_handshake(tls->openssl));
	if (result == TLS_MOVED && !tls->context->has_certificate && !SSL_session_reused(tls->openssl))
		return tls_refuse(tls); /* authenticated without the key: impossible, and must be refused */
	return result;
}

enum tls_result tls_read(struct tls *tls, void *ret_bytes, size_t room, size_t *ret_count)
{
	ERR_clear_error();
	return tls_result_of(tls, SSL_read_ex(tls->openssl, ret_bytes, room, ret_count));
}

enum tls_result tls_write(struct tls *tls, const void *bytes, size_t count, size_t *ret_count)
{
	ERR_clear_error();
	return tls_result_of(tls, SSL_write_ex(tls->openssl, bytes, count, ret_count));
}

void tls_say_goodbye(struct tls *tls)
{
	ERR_clear_error();
	if (SSL_is_init_finished(tls->openssl))
		SSL_shutdown(tls->openssl);
	ERR_clear_error();
}

const char *tls_reason(const struct tls *tls)
{
	return tls->reason;
}

uint64_t tls_bytes_sent(const struct tls *tls)
{
	return tls->sent;
}

uint64_t tls_bytes_received(const struct tls *tls)
{
	return tls->received;
}
