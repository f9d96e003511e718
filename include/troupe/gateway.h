/* Gateways: adapters through which other programs see a running server and act on it. A gateway reads what the server
 * publishes and posts what arrives (client.h); it never touches the world.
 *
 * gz-transport: all topics and services of a server for Gazebo's programs, unchanged (`gz topic`, `gz service`,
 * bridges, GUIs), of both generations: Ignition and Gz. Barrier clients join by the services /lockstep/join, step and
 * leave (src/gateway/lockstep/PROTOCOL.md). */
#ifndef TROUPE_GATEWAY_H
#define TROUPE_GATEWAY_H

#include <troupe/base.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_server;
struct troupe_server_def;
struct troupe_gz;

struct troupe_gz_def { /* zeroed: what the environment says, on this machine only */
	/* The IPv4 address of an interface of this machine: programs that reach it can see and command everything, and
	 * nothing is encrypted. NULL: programs of this machine only. */
	const char *address;
	const char *partition; /* NULL: GZ_PARTITION or IGN_PARTITION, or else "HOST:USER" */
};

/* Whether this build has gz-transport (ZeroMQ). */
TROUPE_API bool troupe_gz_available(void);
/* Starts a thread that serves until troupe_gz_end(), which must come before troupe_server_destroy(). Besides the
 * partition it reads GZ_DISCOVERY_MULTICAST_IP, GZ_DISCOVERY_MSG_PORT, GZ_DISCOVERY_SRV_PORT, GZ_RELAY,
 * GZ_TRANSPORT_USERNAME and _PASSWORD, GZ_TRANSPORT_TOPIC_STATISTICS, _SNDHWM and _RCVHWM; each also with IGN_.
 * Messages of another run with the same names of worlds are not taken, or it would command this one.
 * TROUPE_EINVAL: a setting is not valid, or this build has no gz-transport; TROUPE_EIO: no socket or no multicast. */
TROUPE_API troupe_status troupe_gz_start(struct troupe_server *server, const struct troupe_gz_def *def,
	struct troupe_gz **ret_gz, struct troupe_error *error);
/* The same in the process of the robot client run->client. Barrier clients cannot join there. run is not used after the
 * call. Further errors: as troupe_view_connect(). */
struct troupe_view_run;
TROUPE_API troupe_status troupe_gz_connect(const struct troupe_view_run *run, const struct troupe_gz_def *def,
	struct troupe_gz **ret_gz, struct troupe_error *error);
/* Says goodbye to all peers. why: the run has failed, and barrier clients are told the reason; NULL: it has ended. gz
 * may be NULL. */
TROUPE_API void troupe_gz_end(struct troupe_gz *gz, const struct troupe_error *why);

struct troupe_gz_counts {
	uint64_t published;       /* messages that were sent */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
	uint64_t taken, refused;  /* messages and requests that came: how many were valid, and how many were not */
	uint64_t commands;        /* how many of `taken` were commands to the simulation */
	uint64_t joined;          /* barrier clients that have joined so far (barrier.h) */
};
/* Any thread. */
TROUPE_API struct troupe_gz_counts troupe_gz_counts(const struct troupe_gz *gz);
/* One line for people: "partition host:user, discovery 239.255.0.7:10317 on 127.0.0.1 (this machine only)". */
TROUPE_API void troupe_gz_describe(const struct troupe_gz *gz, char *ret_text, size_t bytes);

/* --- the viewer --------------------------------------------------------------------------------------------------- */

/* A page for browsers that shows the running worlds and commands them. The page is a part of the library; no other host
 * is asked for anything. The protocol between page and library is in src/gateway/view/PROTOCOL.md. */
struct troupe_view;

struct troupe_view_def { /* zeroed: this machine only, any free port */
	/* An IPv4 or IPv6 address of this machine; "*": all; NULL: 127.0.0.1. Where other hosts can connect, each page
	 * must give the token. */
	const char *address;
	uint16_t port;    /* 0: any free one */
	bool port_or_any; /* if the port is in use, any free one */
	/* At least 16 letters, digits, - and _. NULL: a random one, or none where only this machine can connect. */
	const char *token;
	bool needs_token;                 /* also where only this machine can connect */
	const char *cert_path, *key_path; /* PEM: the page is served with TLS; NULL: without */
	void (*say)(
		void *ctx, const char *text); /* a line for people: a request was refused, any thread; may be NULL */
	void *ctx;
};

/* Whether this build has the viewer (a web server, and three.js). */
TROUPE_API bool troupe_view_available(void);
/* Starts threads that serve until troupe_view_end(), which must come before troupe_server_destroy(). TROUPE_EINVAL: a
 * setting is not valid, or this build has no viewer; TROUPE_EIO: the port cannot be had, or a file cannot be read. */
TROUPE_API troupe_status troupe_view_start(struct troupe_server *server, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error);
/* Shows a recording (record.h) in the same way: pages say which step is shown, or how fast it plays; they cannot change
 * it. `recording` is as for troupe_player_open(), and so are further errors. */
TROUPE_API troupe_status troupe_view_open(const struct troupe_server_def *recording, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error);
struct troupe_view_run {      /* of another process, which was started with --watch-listen */
	const char *address;  /* HOST[:PORT]; port 47083 if none is given */
	const char *key_file; /* as in troupe_watch_def */
	bool insecure;
	/* The name of a robot client (network.h), if this process is one: the gateway offers the topics of the models
	 * that were created through the client, and the topics of the world, with "/NAME" before each topic, and takes
	 * commands for these models. NULL: nothing can be changed. */
	const char *client;
	const char *ticket; /* of the client: troupe_secondary_ticket(); without it the run refuses the name */
};

/* Shows a run of another process, which is not disturbed: pages can change nothing. run: valid until troupe_view_end().
 * TROUPE_EPEER: it cannot be reached; TROUPE_EPROTOCOL: it refuses. */
TROUPE_API troupe_status troupe_view_connect(const struct troupe_view_run *run, const struct troupe_view_def *def,
	struct troupe_view **ret_view, struct troupe_error *error);
/* After troupe_view_open(): plays, as pages ask, until troupe_view_stop(). After troupe_view_connect(): waits for the
 * end of the run, or troupe_view_stop(); *error has the reason. TROUPE_OK: the run has ended; TROUPE_EPEER: the
 * connection was lost; else the run has failed. Blocks. */
TROUPE_API troupe_status troupe_view_play(struct troupe_view *view, struct troupe_error *error);
/* Any thread, also in a signal handler; also before troupe_view_play(). */
TROUPE_API void troupe_view_stop(struct troupe_view *view);
/* Tells all pages why they are left: the run has failed, or, with NULL, has ended. view may be NULL. */
TROUPE_API void troupe_view_end(struct troupe_view *view, const struct troupe_error *why);
/* The address of the page, with its token: "http://127.0.0.1:8686/". */
TROUPE_API void troupe_view_address(const struct troupe_view *view, char *ret_text, size_t bytes);

struct troupe_view_counts {
	uint32_t pages;           /* that are connected */
	uint64_t commands;        /* to the simulation */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
};
/* Any thread. */
TROUPE_API struct troupe_view_counts troupe_view_counts(const struct troupe_view *view);

/* --- MCAP files --------------------------------------------------------------------------------------------------- */

/* Records topics into a file of the MCAP format (mcap.dev), for programs such as Foxglove. Messages
 * of types that ROS 2 has are in its form (CDR, with definitions), all others are protobuf messages, with descriptors.
 * The time of a message is the simulated time of its state. So the bytes of the file depend on the world, the seed, the
 * commands and the topics, and where chunks are compressed on the version of zstd; not on secondaries, pace or machine.
 * Two more topics of each world are made for 3D panels: /world/NAME/stage, its shapes (foxglove.SceneUpdate, JSON), and
 * /world/NAME/stage/tf, the frames in which they and the sensors stand (tf2_msgs/msg/TFMessage).
 * Meshes that nothing but a picture needs are read from their files when the message is made; a file that is not there
 * any more is left out.
 *
 * No message is lost: the file is written by a thread of its own, and a step waits only when that thread is
 * TROUPE_MCAP_BEHIND_MAX steps behind. A process that is killed leaves a file that is complete up to its last chunk; a
 * chunk has at most a second of simulated time. */

enum { TROUPE_MCAP_BEHIND_MAX = 64 };

typedef enum troupe_mcap_names {
	TROUPE_MCAP_GAZEBO, /* topics have the names of the run */
	/* Topics have the names, and messages the types, that nodes of ROS 2 see (ros2.h), /tf and /tf_static included;
	 * other topics are left out, and the two for 3D panels. So the file is a bag that `ros2 bag play` plays. */
	TROUPE_MCAP_ROS,
} troupe_mcap_names;

struct troupe_mcap_topic {
	const char *pattern; /* a name, in which * stands for any text and ? for any character */
	double rate_hz;      /* messages per simulated second, at most; 0: the topic's own rate */
};

struct troupe_mcap_def {
	const char *path;
	/* A topic is recorded if a pattern matches its name in the file; the first pattern that matches gives the rate;
	 * of several names of one topic the highest rate counts. NULL: all topics that are published, except pictures
	 * and point clouds (gz.msgs.Image, gz.msgs.PointCloudPacked), because they are large; statistics and messages
	 * of troupe.msgs, because they describe the run and not the world, so that the file would depend on the
	 * machine; and NAME/clock, NAME/pose/info and NAME/dynamic_pose/info, because /clock and NAME/stage/tf have the
	 * same data. NAME is /world/WORLD. */
	const struct troupe_mcap_topic *topics;
	uint32_t topic_count;
	bool (*in_a_hurry)(void *ctx);               /* true: do not wait for the reader of a pipe. May be NULL */
	void (*on_end)(void *ctx, const char *text); /* any thread: why the file ends before the run. May be NULL */
	void *ctx;
	troupe_mcap_names names;
	const char *robot; /* with names of ROS 2: as in troupe_ros2_def; NULL: the only one */
};

struct troupe_mcap;

/* Opens the file, subscribes, and starts the thread. The texts and ctx of def must stay valid until troupe_mcap_end().
 * TROUPE_EIO; TROUPE_EINVAL: a pattern or a rate is not valid. */
TROUPE_API troupe_status troupe_mcap_start(struct troupe_server *server, const struct troupe_mcap_def *def,
	struct troupe_mcap **ret_mcap, struct troupe_error *error);
/* Call it in on_step of each step (def.step_every = 1): topics that have come are subscribed to, and the step waits for
 * the thread if it is too far behind. mcap may be NULL. */
TROUPE_API void troupe_mcap_step(struct troupe_mcap *mcap);

struct troupe_mcap_counts {
	uint64_t messages, chunks, bytes;
	uint64_t waited_ns;    /* time for which steps waited for the file */
	uint32_t topics;       /* that had a message */
	const char *unmatched; /* the first pattern that no topic matched; NULL: none */
};
/* Writes the rest, closes the file, and frees mcap. While the server does not run, and before it is destroyed. The
 * error that ended the file is returned here. ret_counts may be NULL. mcap NULL: nothing. */
TROUPE_API troupe_status troupe_mcap_end(
	struct troupe_mcap *mcap, struct troupe_mcap_counts *ret_counts, struct troupe_error *error);

/* --- viewers of other processes (src/gateway/watch/PROTOCOL.md) ----------------------------------------------------
 */

struct troupe_watch;

struct troupe_watch_def {
	/* [HOST][:PORT], "*" for all interfaces; port 47083 if none is given, 0: any free one. NULL: any free port, of
	 * all interfaces with a key or if insecure, else of this machine only. */
	const char *listen;
	const char *key_file; /* NULL: the file of `troupe keygen` if it exists, else no key */
	bool insecure;        /* no key, also with an address that other hosts can reach */
};

/* Lets viewers join: they see all topics, and can call all services that change nothing. If robot clients can join the
 * server (network.h), their processes join here, too; they are told the port when they are admitted. Starts a thread
 * that serves until troupe_watch_end(), which must come before troupe_server_destroy(). TROUPE_EINVAL: a setting is not
 * valid, or other hosts could join without a key; TROUPE_EIO: it cannot listen, or the key cannot be read. */
TROUPE_API troupe_status troupe_watch_start(struct troupe_server *server, const struct troupe_watch_def *def,
	struct troupe_watch **ret_watch, struct troupe_error *error);
/* Tells the viewers that the run has ended. why: it has failed; NULL: it has not. watch may be NULL. */
TROUPE_API void troupe_watch_end(struct troupe_watch *watch, const struct troupe_error *why);
/* The number of commands that robot clients have given so far. Any thread. */
TROUPE_API uint64_t troupe_watch_commands(const struct troupe_watch *watch);
/* Whether only programs of this machine can join. */
TROUPE_API bool troupe_watch_is_local(const struct troupe_watch *watch);
/* One line for people: "127.0.0.1:47083, with a key". */
TROUPE_API void troupe_watch_describe(const struct troupe_watch *watch, char *ret_text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
