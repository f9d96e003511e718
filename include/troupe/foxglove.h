/* A gateway (gateway.h) for Foxglove's WebSocket protocol, version 1: Foxglove, Lichtblick and their client libraries
 * show and plot all topics, publish, and call services. Messages go as CDR of their counterparts in ROS 2, or else as
 * JSON. */
#ifndef TROUPE_FOXGLOVE_H
#define TROUPE_FOXGLOVE_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_server_def;
struct troupe_foxglove;

enum { TROUPE_FOXGLOVE_PORT = 8765, TROUPE_FOXGLOVE_CLIENTS_MAX = 64 };

struct troupe_foxglove_def { /* zeroed: this machine only, any free port */
	/* An IPv4 or IPv6 address of this machine; "*": all; NULL: 127.0.0.1. Where other hosts can connect, each
	 * client must give a random token, which is in the address (troupe_foxglove_address()). */
	const char *address;
	uint16_t port;
	const char *cert_path, *key_path; /* PEM: with TLS, for wss://; NULL: nothing is encrypted */
	/* At least 16 letters, digits, - and _. NULL: a random one, where other hosts can connect. */
	const char *token;
	bool needs_token; /* also where only this machine can connect */
	bool insecure;    /* no token: any program that reaches the port can see and command everything */
	/* The origin of another site whose web pages may connect: "https://viewer.example". Pages of Foxglove and of
	 * this machine may connect in any case. NULL: no other site. */
	const char *origin;
	/* Says in a line which client was refused and why. On a thread of the gateway. May be NULL. */
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
};

/* Whether this build has it (a web server). */
TROUPE_API bool troupe_foxglove_available(void);
/* Starts a thread that serves until troupe_foxglove_end(), which must come before troupe_server_destroy().
 * TROUPE_EINVAL: a setting is not valid, or this build has no web server; TROUPE_EIO: the port cannot be had, or a file
 * cannot be read. */
TROUPE_API troupe_status troupe_foxglove_start(struct troupe_server *server, const struct troupe_foxglove_def *def,
	struct troupe_foxglove **ret_foxglove, struct troupe_error *error);
/* The same for a robot client, in its own process: as troupe_gz_connect() in gateway.h. */
struct troupe_view_run;
TROUPE_API troupe_status troupe_foxglove_connect(const struct troupe_view_run *run,
	const struct troupe_foxglove_def *def, struct troupe_foxglove **ret_foxglove, struct troupe_error *error);
/* Shows a recording (record.h) in the same way: clients choose with the protocol's playback control whether it plays,
 * how fast, and which step is shown; they cannot change it. The times of messages are simulated time, unless the
 * recorded world was paused or reset: then each step goes on by one time step. For a client that does not know this
 * control, the recording plays from its begin. `recording` is as for troupe_player_open(), and so are further errors.
 */
TROUPE_API troupe_status troupe_foxglove_open(const struct troupe_server_def *recording,
	const struct troupe_foxglove_def *def, struct troupe_foxglove **ret_foxglove, struct troupe_error *error);
/* After troupe_foxglove_open(): plays, as clients ask, until troupe_foxglove_stop(). Blocks. */
TROUPE_API void troupe_foxglove_play(struct troupe_foxglove *foxglove);
/* Any thread, also in a signal handler; also before troupe_foxglove_play(). */
TROUPE_API void troupe_foxglove_stop(struct troupe_foxglove *foxglove);
/* Clients get the last messages and replies, for which each has half a second; then all connections are closed. why:
 * the error with which the run has failed, which the clients are told; NULL: it has ended without one. foxglove may be
 * NULL. */
TROUPE_API void troupe_foxglove_end(struct troupe_foxglove *foxglove, const struct troupe_error *why);
/* The address to enter in a viewer: "ws://127.0.0.1:8765/", with "?token=..." if there is one. */
TROUPE_API void troupe_foxglove_address(const struct troupe_foxglove *foxglove, char *ret_text, size_t bytes);

struct troupe_foxglove_counts {
	uint32_t clients;         /* connected now */
	uint64_t published;       /* messages that were sent or queued, once for each subscription */
	uint64_t lost;            /* how many of `published` were lost, because their clients were slow */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow; of a
				     recording: 0 */
	uint64_t taken, refused;  /* messages and requests that came: how many were valid, and how many were not */
	uint64_t commands;        /* how many of `taken` were commands to the simulation */
};
/* Any thread. */
TROUPE_API struct troupe_foxglove_counts troupe_foxglove_counts(const struct troupe_foxglove *foxglove);

#ifdef __cplusplus
}
#endif
#endif
