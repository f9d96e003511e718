/* The clients of a gateway whose protocol runs over WebSockets: a web server (web/web.h) on a port of its own, whose
 * thread is the gateway's thread. What a client does not read is lost, its oldest messages first (web/outbox.h), and
 * the client is told so.
 *
 * Settings that each such gateway has: `cert` and `key` (PEM files; both or none), `token` (at least 16 letters,
 * digits,
 * - and _; not given: a random one, where other hosts can connect), `require-token` (also where only this machine can
 * connect). Those whose protocol allows it: `insecure` (no token), `origin` (of another site whose pages may connect).
 */
#ifndef GATEWAY_HUB_PORT_H
#define GATEWAY_HUB_PORT_H

#include "gateway/hub/hub.h"
#include "gateway/web/outbox.h"

struct port;

enum { PORT_SITES_MAX = 8, PORT_FILES_MAX = 128 };

struct port_client { /* all on the gateway's thread */
	struct port *port;
	void *gateway;
	void *data;          /* the gateway's; given by open() */
	uint64_t connection; /* its number, not 0, and of no other client */
	struct web_peer *peer;
	struct outbox outbox;
	struct port_client *before, *after;
	uint64_t lost_told, lost_told_ns;
};

struct port_protocol {
	const char *const *names; /* subprotocols; NULL ends the list */
	bool unnamed;             /* also clients that ask for none */
	const char *const *sites; /* origins whose pages may connect; NULL ends the list; NULL: none */
	bool local_pages;         /* also pages that servers of this machine have sent, and files */
	const char *scheme;       /* of the address: "ws" or "http" */
	uint16_t port;            /* the usual one */
	uint32_t clients_max;
	size_t hear_bytes_max, queue_bytes_max;
	uint16_t slow_code; /* with which a client is closed that does not even read replies */
	const char *slow_text;
	const char *policy;                                           /* as in web_def */
	uint32_t (*files)(struct web_file ret_files[PORT_FILES_MAX]); /* the files that it serves; NULL: none */
	/* Another file, as in web_def; NULL: there are no others. */
	bool (*find)(void *gateway, const char *path, struct web_file *ret_file);
	/* A client has come; its data is set afterwards. The mirror is up to date. */
	void *(*open)(void *gateway, struct port_client *client);
	void (*hear)(struct port_client *client, bool binary, const void *bytes, size_t count);
	/* It has room for more; NULL: the outbox is sent. */
	void (*room)(struct port_client *client);
	/* It is gone: frees its data. Its calls get no replies. */
	void (*close)(struct port_client *client);
	/* In each turn, after hub_turn(); more: it has not taken all that has come. */
	void (*turn)(void *gateway, bool more);
	/* So many messages were lost so far: at most once a second. NULL: it is not told. */
	void (*tell_lost)(struct port_client *client, uint64_t lost);
};

struct port { /* zeroed is closed */
	struct hub *hub;
	const struct port_protocol *protocol;
	struct web *_Atomic web; /* set once it runs */
	struct port_client *clients;
	uint64_t connections; /* so far */
	char *address;        /* set once it runs */
};

/* protocol: must live as long as the port. TROUPE_EINVAL: a setting is not valid, or this build has no
 * web server; TROUPE_EIO: the port cannot be had, or a file cannot be read. Thread: as hub_kind.start. */
troupe_status port_start(struct port *port, struct hub *hub, const struct port_protocol *protocol,
	const struct troupe_gateway_def *def, struct troupe_error *error);
/* As hub_kind.stop and hub_kind.describe: of a gateway whose memory begins with its port. */
/* Calls hub_finish(), gives the clients half a second to take the messages that wait, and closes them. */
void port_stop(void *port);
/* Thread: as hub_kind.destroy. */
void port_end(struct port *port);
/* As hub_options.wake, with the port as ctx. */
void port_wake(void *port);
/* "ws://127.0.0.1:9090/", with "?token=..." if there is one. Any thread. */
void port_describe(const void *port, struct text *out);

/* Sends what must not be lost: a client that does not even read this is closed. */
void port_say(struct port_client *client, bool binary, const void *bytes, size_t count);
void port_say_text(struct port_client *client, const struct text *text);
/* The same to all clients. */
void port_tell_all(const struct port *port, const struct text *text);
/* Sends a message, or keeps it in the outbox; counts it as published. */
void port_publish(struct port_client *client, bool binary, const void *bytes, size_t count);

#endif
