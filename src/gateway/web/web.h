/* A web server in the process: files for browsers, and WebSocket protocols, on one port, with one thread, the loop's
 * thread. It speaks HTTP/1.1 and WebSocket (RFC 6455) and takes nothing that is not as these have it; TLS is that of
 * net/tcp/tls.h.
 *
 * Access. A page of a foreign site must not reach the server through the browser of its user. So the Host of each
 * request is checked while only this machine can connect (otherwise a name that the site made point to this machine
 * would do), and so is the Origin, if there is one: it must be this server's, unless the service allows others. With a
 * token, each request must have it: as `?token=...`, or as the cookie that the answer to such a request sets.
 *
 * Limits. Connections, the size of a request, the time to send one, the messages of a client and the time to send one,
 * the bytes of unfinished messages of all clients together, and the bytes that wait for a client. A peer that does not
 * answer a ping within 45 s is gone. Of the connections that have not sent a request that was admitted, one of the host
 * that has most of them makes room for a new one. A slow peer delays no other.
 *
 * Threads: web_start(), web_stop() and web_end() are called by one thread. The functions of a service, and all
 * functions that take a web_peer, run on the loop's thread only. */
#ifndef GATEWAY_WEB_H
#define GATEWAY_WEB_H

#include "base/base.h"

enum {
	WEB_SERVICES_MAX = 8,
	WEB_NAMES_MAX = 16, /* subprotocols of all services */
	WEB_PEERS_MAX = 4096,
	WEB_PLAIN_PEERS_MAX = 64, /* connections that are no WebSocket, or not yet; also, beside them, those that have
				   * sent no request that was admitted */
	WEB_HALF_BYTES_MAX = 64 << 20, /* of messages of which only a part has come, of all peers together */
	WEB_REQUEST_BYTES_MAX = 16 << 10,
	WEB_QUEUE_BYTES_USUAL = 8 << 20,
	WEB_TOKEN_MIN = 16, /* characters: A-Z a-z 0-9 - _ */
	WEB_TOKEN_MAX = 128,
	WEB_TURN_MS = 50,
	WEB_REASON_MAX = 123, /* bytes of the reason with which a WebSocket is closed */
};

struct web;
struct web_peer; /* a connected WebSocket */

/* A WebSocket protocol. */
struct web_service {
	const char *const *names; /* subprotocols by which clients ask for it; NULL ends the list */
	bool unnamed;             /* also clients that ask for no subprotocol; one service at most */
	/* The origins of web pages of other servers that may use it, "https://example.org", as browsers send it; NULL
	 * ends the list. NULL: none. */
	const char *const *origins;
	bool local_origins;    /* also pages that servers of this machine have sent, and files */
	size_t hear_bytes_max; /* a longer message of a client closes its connection (1009) */
	/* A client has connected. Returns the connection's own data; NULL refuses the client (1013). */
	void *(*open)(void *ctx, struct web_peer *peer);
	/* A whole message. The bytes are valid during the call; text is UTF-8. */
	void (*hear)(void *conn, bool binary, const void *bytes, size_t count);
	/* All messages for the peer are with the kernel. May be NULL. */
	void (*room)(void *conn);
	/* The peer is gone; it must not be used any more. Once for each open() that returned data. */
	void (*close)(void *conn);
	/* After web_wake(), and each WEB_TURN_MS while any client is connected. May be NULL. */
	void (*turn)(void *ctx);
	/* Once, at web_stop(): what is sent now still goes to the peers before they are closed. May be NULL. */
	void (*last)(void *ctx);
	void *ctx;
};

/* The answer to a GET of exactly this path. Bytes must stay valid until web_end(). */
struct web_file {
	const char *path, *type; /* "/style.css", "text/css; charset=utf-8" */
	const void *bytes;
	size_t count;
	bool lasts;         /* what is at this path never changes: a browser may keep it */
	bool framed;        /* for frames without an origin: any Origin may ask, and the path, a secret, is the token */
	const char *policy; /* Content-Security-Policy of a framed one */
};

struct web_def {                          /* all that it points to is copied, except for the bytes of files */
	const char *address;              /* IPv4 or IPv6; "*": all; NULL: 127.0.0.1 */
	uint16_t port;                    /* 0: any free one */
	bool port_or_any;                 /* if the port is in use, any free one */
	const char *token;                /* NULL: none, unless needs_token says otherwise */
	bool needs_token;                 /* a random one, if token is NULL and other hosts can connect, */
	bool needs_token_here;            /* or also if only this machine can */
	const char *cert_path, *key_path; /* PEM; both NULL: no TLS */
	const char *policy; /* Content-Security-Policy of answers but framed files; NULL: default-src 'none' */
	const struct web_file *files;
	uint32_t file_count;
	/* A file that is not among these; path: terminated. On the loop's thread. NULL: there are no others. */
	bool (*find)(void *ctx, const char *path, struct web_file *ret_file);
	void *find_ctx;
	const struct web_service *services;
	uint32_t service_count;
	uint32_t peers_max;     /* WebSockets, up to WEB_PEERS_MAX; 0: 64 */
	size_t queue_bytes_max; /* of messages that wait for one peer; 0: WEB_QUEUE_BYTES_USUAL */
	/* Says in a line which request was refused and why; limited in rate. On the loop's thread. May be NULL. */
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
};

/* False: configure was given --without-web. */
bool web_is_available(void);
/* TROUPE_EINVAL: a setting is not valid, or this build has no web server; TROUPE_EIO: the port cannot be had. */
troupe_status web_start(const struct web_def *def, struct web **ret_web, struct troupe_error *error);
/* Gives the peers half a second to take what waits for them, closes them with "going away" and the reason, cut to
 * WEB_REASON_MAX, and ends the thread. No function of a service is called afterwards. Twice is fine. */
void web_stop(struct web *web, const char *reason);
/* web_stop(), unless it was called, then the memory. NULL is fine. */
void web_end(struct web *web);

/* Has the services take a turn soon. Any thread, until web_end(): as on_ready of a client, for example. */
void web_wake(struct web *web);
uint16_t web_port(const struct web *web);
/* Whether only this machine can connect. */
bool web_is_local(const struct web *web);
/* The address that a person enters in the browser: "http://127.0.0.1:8686/", with "?token=..." if there is one. scheme:
 * "ws" for a WebSocket's address, or "http"; with TLS an s follows. */
void web_address(const struct web *web, const char *scheme, char *ret_text, size_t bytes);

/* --- on the loop's thread ----------------------------------------------------------------------------------------- */

/* Queues a message, which is copied. False: there is no room in the queue; the caller drops messages, its oldest first,
 * or closes. An empty queue takes a message of any size. Messages for a peer that is being closed are dropped. */
bool web_send(struct web_peer *peer, bool binary, const void *bytes, size_t count);
/* Bytes that wait and are not with the kernel. */
size_t web_waiting(const struct web_peer *peer);
/* Drops all that waits and closes. code: of RFC 6455, 1000 to 4999. The service's close() is called later. */
void web_close(struct web_peer *peer, uint16_t code, const char *reason);
/* "127.0.0.1:40312". */
const char *web_peer_name(const struct web_peer *peer);
/* The subprotocol that was agreed: one of the names of its service. */
const char *web_peer_protocol(const struct web_peer *peer);

/* A random token. */
troupe_status web_make_token(char ret_token[WEB_TOKEN_MAX + 1], struct troupe_error *error);

#endif
