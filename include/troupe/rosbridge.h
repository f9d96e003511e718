/* A gateway (gateway.h) for the protocol of rosbridge, version 2: JSON through a WebSocket. Programs that use roslibjs,
 * roslibpy and other such libraries see the topics of a run under the names and with the types of ROS 2, publish, and
 * call services, without ROS on either side. Among the services are those of the ROS 2 package simulation_interfaces,
 * and its action. src/gateway/rosbridge/PROTOCOL.md and src/ROS2.md list topics, services and operations. */
#ifndef TROUPE_ROSBRIDGE_H
#define TROUPE_ROSBRIDGE_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_rosbridge;

enum { TROUPE_ROSBRIDGE_PORT = 9090, TROUPE_ROSBRIDGE_CLIENTS_MAX = 64 };

struct troupe_rosbridge_def { /* zeroed: this machine only, any free port */
	/* An IPv4 or IPv6 address of this machine; "*": all; NULL: 127.0.0.1. Where other hosts can connect, each
	 * client must give a random token, which is in the address (troupe_rosbridge_address()). */
	const char *address;
	uint16_t port;
	const char *cert_path, *key_path; /* PEM: with TLS, for wss://; NULL: nothing is encrypted */
	/* At least 16 letters, digits, - and _. NULL: a random one, where other hosts can connect. */
	const char *token;
	bool needs_token; /* also where only this machine can connect */
	bool insecure;    /* no token: any program that reaches the port can see and command everything */
	/* The origin of another site whose web pages may connect: "https://panel.example". Pages of this machine may
	 * connect in any case. NULL: no other site. */
	const char *origin;
	/* The model whose topics have names without its namespace, too; NULL: the model with topics, if there is only
	 * one. */
	const char *robot;
	/* Says in a line which client was refused and why. On a thread of the gateway. May be NULL. */
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
};

/* Whether this build has it (a web server). */
TROUPE_API bool troupe_rosbridge_available(void);
/* Starts a thread that serves until troupe_rosbridge_end(), which must come before troupe_server_destroy().
 * TROUPE_EINVAL: a setting is not valid, or this build has no web server; TROUPE_EIO: the port cannot be had, or a file
 * cannot be read. */
TROUPE_API troupe_status troupe_rosbridge_start(struct troupe_server *server, const struct troupe_rosbridge_def *def,
	struct troupe_rosbridge **ret_rosbridge, struct troupe_error *error);
/* The same for a robot client, in its own process: as troupe_gz_connect() in gateway.h. All names begin with /CLIENT,
 * except /clock, /tf and /tf_static. */
struct troupe_view_run;
TROUPE_API troupe_status troupe_rosbridge_connect(const struct troupe_view_run *run,
	const struct troupe_rosbridge_def *def, struct troupe_rosbridge **ret_rosbridge, struct troupe_error *error);
/* Clients get the last messages and replies, for which each has half a second; then all connections are closed. why:
 * the error with which the run has failed, which the clients are told; NULL: it has ended without one. rosbridge may be
 * NULL. */
TROUPE_API void troupe_rosbridge_end(struct troupe_rosbridge *rosbridge, const struct troupe_error *why);
/* The address for a client: "ws://127.0.0.1:9090/", with "?token=..." if there is one. */
TROUPE_API void troupe_rosbridge_address(const struct troupe_rosbridge *rosbridge, char *ret_text, size_t bytes);

struct troupe_rosbridge_counts {
	uint32_t clients;         /* connected now */
	uint64_t published;       /* messages that were sent or queued, once for each subscription */
	uint64_t lost;            /* how many of `published` were lost, because their clients were slow */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
	uint64_t taken, refused;  /* messages and requests that came: how many were valid, and how many were not */
	uint64_t commands;        /* how many of `taken` were commands to the simulation */
	uint64_t joined;          /* barrier clients that have joined so far */
};
/* Any thread. */
TROUPE_API struct troupe_rosbridge_counts troupe_rosbridge_counts(const struct troupe_rosbridge *rosbridge);

#ifdef __cplusplus
}
#endif
#endif
