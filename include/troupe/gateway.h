/* Gateways: adapters through which other programs see a running server and act on it. A gateway reads what the server
 * publishes and posts what arrives (client.h); it never touches the world.
 *
 *   gz         all topics and services for Gazebo's programs, unchanged (`gz topic`, `gz service`, bridges, GUIs), of
 *              both generations: Ignition and Gz. Barrier clients join by the services /lockstep/join, step and leave
 *              (src/gateway/lockstep/PROTOCOL.md). Address: of an interface through which other hosts are served;
 *              none: programs of this machine only. Settings: partition (not given: GZ_PARTITION or IGN_PARTITION, or
 *              else "HOST:USER"). Besides it reads GZ_DISCOVERY_MULTICAST_IP, GZ_DISCOVERY_MSG_PORT,
 *              GZ_DISCOVERY_SRV_PORT, GZ_RELAY, GZ_TRANSPORT_USERNAME and _PASSWORD, GZ_TRANSPORT_TOPIC_STATISTICS,
 *              _SNDHWM and _RCVHWM; each also with IGN_. Messages of another run with the same names of worlds are not
 *              taken, or it would command this one.
 *   view       a page for browsers that shows the worlds and commands them. The page is a part of the library; no other
 *              host is asked for anything. src/gateway/view/PROTOCOL.md has the protocol between page and library.
 *              Shows recordings. Port 8686. Settings: any-port, panel (a folder), mark (of a recording: STEP or
 *              STEP:TEXT, on the time line), and those of all ports (below).
 *   foxglove   Foxglove, Lichtblick and other clients of their WebSocket protocol; src/doc/reference/ros2.md has the
 *              types. Shows recordings: clients choose with the protocol's playback control whether it plays, how
 *              fast, and which step is shown. Port 8765. Settings: insecure, origin, and those of all ports.
 *   rosbridge  the protocol of rosbridge, version 2, for roslibjs, roslibpy and other such libraries: topics and
 *              services under the names and with the types of ROS 2 (src/gateway/rosbridge/PROTOCOL.md,
 *              src/doc/reference/ros2.md). Barrier clients can join. Port 9090. Settings: robot (the model whose
 *              topics have names without its namespace, too; not given: the only model with topics, if there is one),
 *              insecure, origin, and those of all ports.
 *   ros2       a node of ROS 2, /troupe, through DDS (src/doc/reference/ros2.md). Address: as of gz. Settings: domain
 *              (0 to 232), robot, distro (humble or jazzy). In one process there is one such gateway in each domain.
 *   ws         topics and services as Gazebo names them, as JSON or as protobuf, through a plain WebSocket
 *              (src/gateway/ws/PROTOCOL.md). Barrier clients can join. Port 9002. Settings: insecure, origin, and those
 *              of all ports.
 *
 *   ardupilot  ArduPilot's SITL by its JSON interface, unchanged: each model with an ArduPilotPlugin has a UDP port. It
 *              joins as a barrier client under the model's name (src/doc/reference/programs.md). Address: of an
 *              interface; not of this machine only: with the setting insecure. Shows a server only.
 *
 *   px4        PX4's SITL by its simulator interface (MAVLink over TCP), unchanged: each model with a
 *              libgazebo_mavlink_interface.so has a TCP port. The rest is as for ardupilot.
 *
 * Settings of all ports: token (at least 16 letters, digits, - and _; not given: a random one, where other hosts can
 * connect), require-token (true: also where only this machine can connect), cert and key (PEM files: TLS; both or
 * none); insecure (true: no token: any program that reaches the port can see and command everything); origin (of
 * another site whose web pages may connect: "https://panel.example"; pages of this machine may in any case). */
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
struct troupe_gateway;

struct troupe_gateway_setting {
	const char *key, *value; /* value of a flag: "true", "false"; NULL: true */
};

/* A run of another process, which was started with --watch-listen. */
struct troupe_view_run {
	const char *address;  /* HOST[:PORT]; port 47083 if none is given */
	const char *key_file; /* as in troupe_watch_def */
	bool insecure;
	/* The name of a robot client (network.h), if this process is one: the gateway offers the topics of the models
	 * that were created through the client, and the topics of the world, with "/NAME" before each topic, and takes
	 * commands for these models. NULL: nothing can be changed. */
	const char *client;
	const char *ticket; /* of the client: troupe_secondary_ticket(); without it the run refuses the name */
};

struct troupe_gateway_def {
	const char *name; /* "rosbridge" */
	/* Of a gateway with a port: PORT, :PORT, HOST, HOST:PORT, [IPv6]:PORT; HOST is an address of this machine, or
	 * "*" for all; none: 127.0.0.1; port 0: any free one. Of gz and ros2: an IPv4 address. NULL: the usual one, for
	 * programs of this machine. */
	const char *address;
	const struct troupe_gateway_setting *settings; /* the last of several with one key counts */
	uint32_t setting_count;
	/* What it shows; one of these. */
	struct troupe_server *server;
	const struct troupe_view_run *run;         /* barrier clients cannot join there */
	const struct troupe_server_def *recording; /* as for troupe_player_open() (record.h) */
	/* A line for people: which client or request was refused and why. Any thread. May be NULL. */
	void (*say)(void *ctx, const char *text);
	void *ctx;
};

/* Whether there is a gateway of this name, and this build has what it needs. */
TROUPE_API bool troupe_gateway_is_available(const char *name);
struct troupe_gateway_about {
	const char *name, *title; /* title: what people call it */
	bool has_token;           /* it has the settings `token` and `require-token` */
	bool can_be_joined;       /* barrier clients of a server can join through it */
	bool address_opens;       /* an address that is given lets other hosts in, without a token or a cipher */
};
/* The gateway of this name; NULL: there is none. */
TROUPE_API const struct troupe_gateway_about *troupe_gateway_find(const char *name);
/* Starts a thread that serves until troupe_gateway_end(), which must come before troupe_server_destroy(). What def
 * points to is not used after the call, except for server and ctx. TROUPE_EINVAL: the name, the address or a setting is
 * not valid, or this build has no such gateway; TROUPE_EIO: the address cannot be had, or a file cannot be read;
 * TROUPE_EPEER: the run of another process cannot be reached; TROUPE_EPROTOCOL: it refuses. Further errors as of
 * troupe_player_open(). */
TROUPE_API troupe_status troupe_gateway_start(
	const struct troupe_gateway_def *def, struct troupe_gateway **ret_gateway, struct troupe_error *error);
/* Of a recording: plays, as clients ask, until troupe_gateway_stop(). Of a run of another process: waits for its end,
 * or troupe_gateway_stop(); *error has the reason. TROUPE_OK: the run has ended; TROUPE_EPEER: the connection was lost;
 * else the run has failed. Of a server: returns at once. */
TROUPE_API troupe_status troupe_gateway_play(struct troupe_gateway *gateway, struct troupe_error *error);
/* Any thread, also in a signal handler; also before troupe_gateway_play(). */
TROUPE_API void troupe_gateway_stop(struct troupe_gateway *gateway);
/* Clients get the last messages and replies, and the end: why: the error with which the run has failed; NULL: it has
 * ended. Then all connections are closed. gateway may be NULL. */
TROUPE_API void troupe_gateway_end(struct troupe_gateway *gateway, const struct troupe_error *why);
/* The address for clients, with its token, "ws://127.0.0.1:9090/?token=..."; or a line for people, "partition
 * host:user, discovery 239.255.0.7:10317 on 127.0.0.1 (this machine only)", "domain 0, node /troupe, this machine
 * only". */
TROUPE_API void troupe_gateway_describe(const struct troupe_gateway *gateway, char *ret_text, size_t bytes);

struct troupe_gateway_counts {
	uint32_t clients;         /* connected now; of gz and ros2: 0 */
	uint32_t topics;          /* of ros2: that are offered now, both ways; else 0 */
	uint64_t published;       /* messages that were sent or queued, once for each subscription */
	uint64_t lost;            /* how many of `published` were lost, because their clients were slow */
	uint64_t boundaries_lost; /* step boundaries whose messages were lost, because the gateway was too slow */
	uint64_t taken, refused;  /* messages and requests that came: how many were valid, and how many were not */
	uint64_t commands;        /* how many of `taken` were commands to the simulation */
	uint64_t joined;          /* barrier clients that have joined so far (barrier.h) */
};
/* Any thread. */
TROUPE_API struct troupe_gateway_counts troupe_gateway_counts(const struct troupe_gateway *gateway);

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
	/* Topics have the names, and messages the types, that nodes of ROS 2 see, /tf and /tf_static included;
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
	const char *robot; /* with names of ROS 2: as the setting of ros2; NULL: the only one */
	/* A line for people, on the thread of troupe_mcap_start() and troupe_mcap_step(): which model or topic has
	 * another name in the file than one would expect. May be NULL. */
	void (*say)(void *ctx, const char *text);
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

/* --- viewers of other processes (src/gateway/relay/PROTOCOL.md) ----------------------------------------------------
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
