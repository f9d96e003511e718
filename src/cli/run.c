/* `troupe run`: runs a world. This file has the table of options, the callbacks of the server, and the outputs of a
 * run.
 *
 * Each option says in which modes it has an effect, and is refused in the others. All inputs and outputs are checked
 * before the first step, so that a long run does not fail at its end. A state, log or recording that cannot be
 * written does not end the run: the other outputs are still written, and the exit status tells of the failure. */
#include "cli/camera_out.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/commands_in.h"
#include "cli/commands_out.h"
#include "cli/gateways.h"
#include "cli/lockstep.h"
#include "cli/log.h"
#include "cli/mcap_out.h"
#include "cli/network.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/outputs.h"
#include "cli/programs.h"
#include "cli/recordings.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/status.h"

#include <troupe/record.h>
#include <troupe/report.h>
#include <troupe/ros2.h>

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WARNINGS_SHOWN_MAX = 20, REFUSALS_SHOWN_MAX = 20, LOADING_GRACE_MS = 500 };

struct settings {
	const char *world, *resume, *save_dir, *distribution, *commands, *commands_out, *report, *config, *break_rule,
		*record, *costs, *log, *log_what, *camera_out, *mcap;
	struct option_list resource_paths, plugin_paths, pins, save_at, save_every, topics;
	int64_t secondaries, iterations, seed, chaos, chaos_moves, hash_every, verbosity, record_every, costs_every,
		log_every;
	double until_s, initial_time_s;
	double rate_hz; /* 0: not given */
	double rtf;     /* negative: not given */
	bool paused, no_levels, no_sleep, sense_all, trace, anew, strict, programs, recordings;
	struct network_settings network;
	struct gateways_settings gateways;
	struct lockstep_settings lockstep;
};

#define AT(member) offsetof(struct settings, member)
#define WHOLE_MAX 9223372036854775807.0
#define CHAOS_MOVES_MAX 1000000
/* The modes in which an option has an effect. No tag: all modes except those of a secondary and of a client. */
enum {
	ALONE = 1 << NETWORK_NONE,
	PRIMARY = 1 << NETWORK_PRIMARY,
	SECONDARY = 1 << NETWORK_SECONDARY,
	CHILDREN = 1 << NETWORK_CHILDREN,
	CLIENT = 1 << NETWORK_CLIENT,
	RANKS = 1 << NETWORK_RANKS,
	ANY = ALONE | PRIMARY | SECONDARY | CLIENT | CHILDREN | RANKS,
	SERVING = ANY & ~SECONDARY, /* processes that have gateways */
};
static const struct option_spec specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = AT(world), .unless = "resume",
		.optional = true},
	{OPTION_HEADING, .help = "World and input"},
	{OPTION_LIST, .name = "resource-path", .argument = "DIR", .offset = AT(resource_paths),
		.help = "search this folder for worlds, files of commands, model:// and relative file names; may be "
			"repeated"},
	{OPTION_LIST, .name = "plugin-path", .tags = ANY, .argument = "DIR", .offset = AT(plugin_paths),
		.help = "search this folder, or these folders with colons between, for the libraries of plug-ins; may "
			"be repeated"},
	{OPTION_FLAG, .name = "strict", .offset = AT(strict),
		.help = "treat a warning about the world as an error: exit status 1 before the first step"},
	{OPTION_TEXT, .name = "commands", .argument = "FILE", .offset = AT(commands),
		.help = "obey the commands of this file, each at its step; each line is: STEP TOPIC TEXT. \"-\": read "
			"lines "
			"from standard input while the world runs; without STEP, or if it is past: at the next step"},
	{OPTION_WHOLE, .name = "seed", .argument = "N", .offset = AT(seed), .hi = WHOLE_MAX,
		.help = "seed of all random numbers: of the iterative solver, of plug-ins and of the noise of sensors "
			"(default: 0)"},
	{OPTION_TEXT, .name = "resume", .argument = "FILE", .offset = AT(resume),
		.help = "continue from this saved state, instead of starting WORLD.sdf; the file holds the world, the "
			"commands that are still to come, the seed, and the settings of levels and sleep"},
	{OPTION_CONFIG, .name = "config", .tags = ANY, .argument = "FILE", .offset = AT(config),
		.help = "read settings from this XML file: <troupe> with <world> and with elements named like the "
			"long options; the command line overrides them"},
	{OPTION_HEADING, .help = "Time"},
	{OPTION_WHOLE, .name = "iterations", .argument = "N", .offset = AT(iterations), .hi = WHOLE_MAX,
		.help = "stop when N steps have been taken, counted from step 0 also with --resume; 0: no limit (the "
			"default)"},
	{OPTION_REAL, .name = "until", .argument = "SECONDS", .offset = AT(until_s), .hi = 1e9,
		.help = "stop at this simulated time; 0: no limit (the default)"},
	{OPTION_REAL, .name = "rtf", .argument = "X", .offset = AT(rtf), .hi = 1e6, .excludes = "update-rate",
		.help = "real-time factor: simulated seconds for each second of real time; 0: as fast as possible "
			"(default: the factor that the world gives)"},
	{OPTION_REAL, 'z', "update-rate", "HZ", AT(rate_hz), .lo = 1e-3, .hi = 1e12, .excludes = "rtf",
		.help = "steps for each second of real time; replaces the real-time factor"},
	{OPTION_REAL, .name = "initial-sim-time", .argument = "SECONDS", .offset = AT(initial_time_s), .hi = 1e9,
		.help = "simulated time at step 0 (default: 0)"},
	{OPTION_FLAG, .name = "paused", .offset = AT(paused),
		.help = "start paused; a command to /world/NAME/control starts the simulation"},
	{OPTION_UNFLAG, 'r', .offset = AT(paused), .help = "start running (the default); cancels --paused"},
	{OPTION_HEADING, .help = "Secondaries and levels"},
	{OPTION_WHOLE, .name = "secondaries", .argument = "N", .offset = AT(secondaries), .hi = TROUPE_SECONDARIES_MAX,
		.help = "number of secondaries, each a thread; 0: a single runner without a primary (default: the "
			"number that the world gives; if it gives none, as many as make the run faster, at most one "
			"for each core, found by trials during the run)"},
	{OPTION_CHOICE, .name = "distribution", .argument = "POLICY", .offset = AT(distribution),
		.choices = "round-robin balanced",
		.help = "how performers and levels are assigned to secondaries: round-robin, in turn (the default); "
			"balanced, by measured cost. The state does not depend on it"},
	{OPTION_LIST, .name = "pin", .argument = "PERFORMER=I", .offset = AT(pins),
		.help = "simulate this performer (its own name, or its model's) or this level on secondary I, as "
			"<secondary> in the world does; may be repeated, once for each name"},
	{OPTION_UNFLAG, .name = "levels", .offset = AT(no_levels),
		.help = "use the levels of the world (the default); cancels --no-levels"},
	{OPTION_FLAG, .name = "no-levels", .offset = AT(no_levels),
		.help = "ignore the levels of the world: all models are always loaded"},
	{OPTION_FLAG, .name = "no-sleep", .offset = AT(no_sleep),
		.help = "step models at rest, too; <allow_auto_disable>false does this for one model"},
	{OPTION_FLAG, .name = "sense-all", .offset = AT(sense_all),
		.help = "all sensors measure, not only those whose topics have subscribers; the summary has their "
			"digest"},
	{OPTION_CHOICE, .name = "transport", .tags = ALONE | CHILDREN | RANKS, .argument = "NAME",
		.offset = AT(network.transport), .list = network_transports,
		.help = "inproc: secondaries are threads (the default); tcp: secondaries are processes on this "
			"machine, which this process starts and which end with it; mpi: mpirun or srun starts the "
			"processes: rank 0 is the primary, each other rank is a secondary"},
	{OPTION_HEADING, .help = "Output"},
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", AT(verbosity), .hi = 4, .bare = "3", .tags = ANY,
		.help = "what is printed on standard error. 0: errors; 1: also the first 20 warnings and, without "
			"--report, a summary (the default); 2: all warnings; 3 or 4: also the worlds and their "
			"runners. Without LEVEL: 3"},
	{OPTION_TEXT, .name = "report", .argument = "FILE", .offset = AT(report),
		.help = "write a report of the run as JSON when it ends; \"-\": to standard output"},
	{OPTION_FLAG, .name = "trace", .offset = AT(trace),
		.help = "print a line on standard output for each move of a performer, each load and unload of a "
			"level, each ghost, and each reply to a command to the world"},
	{OPTION_WHOLE, .name = "hash-every", .argument = "N", .offset = AT(hash_every), .hi = WHOLE_MAX,
		.help = "print a line \"hash STEP HEX16\" on standard output every N steps; 0: no such line (the "
			"default)"},
	{OPTION_HEADING, .help = "Saved states and recordings"},
	{OPTION_PAIR, .name = "save-at", .argument = "STEP FILE", .offset = AT(save_at),
		.help = "save the state of this step; may be repeated"},
	{OPTION_PAIR, .name = "save-every", .argument = "N FILE", .offset = AT(save_every),
		.help = "save the state every N steps; %s in the name of the file becomes the step; without %s each "
			"state replaces the one before; may be repeated"},
	{OPTION_TEXT, .name = "save-on-stop", .argument = "FILE", .offset = AT(network.save_on_stop),
		.help = "save the state if the run ends before its limit: it was told to stop, a process was lost, or "
			"a model diverged; %s becomes the step (default with --transport tcp or mpi and with "
			"--network-role primary: troupe-WORLD-%s.state)"},
	{OPTION_TEXT, .name = "save-dir", .argument = "DIR", .offset = AT(save_dir),
		.help = "let clients save the state in this folder, and take it up again, with the services "
			"/world/NAME/save and resume and the name of a file (default: clients cannot)"},
	{OPTION_TEXT, .name = "record", .argument = "FILE", .offset = AT(record),
		.help = "record the run for troupe replay: the first state, the commands with their steps, and states "
			"to compare with"},
	{OPTION_WHOLE, .name = "record-every", .needs = "record", .argument = "N", .offset = AT(record_every), .lo = 1,
		.hi = WHOLE_MAX, .help = "with --record: record a state every N steps (default: 1000)"},
	{OPTION_FLAG, .name = "recordings", .excludes = "resume", .offset = AT(recordings),
		.help = "record as the world's LogRecord says, into its <record_path>; or replay the recording in "
			"the <playback_path> of its LogPlayback, as troupe replay does, instead of running the world "
			"(default: a world makes no files, and a warning names the plug-in)"},
	{OPTION_TEXT, .name = "commands-out", .argument = "FILE", .offset = AT(commands_out),
		.help = "write all commands that are taken, also those of other programs, with their steps; --commands "
			"FILE then repeats the run"},
	{OPTION_HEADING, .help = "MCAP files, for Foxglove and ROS 2"},
	{OPTION_TEXT, .name = "mcap", .argument = "FILE", .offset = AT(mcap),
		.help = "record topics into this file while the world runs; those that ROS 2 has a type for in its "
			"form. "
			"The same run gives the same file"},
	{OPTION_LIST, .name = "topic", .needs = "mcap", .argument = "PATTERN[@HZ]", .offset = AT(topics),
		.help = "with --mcap: record the topics that match, * and ? as in a shell, at most HZ times a "
			"simulated "
			"second; may be repeated (default: all but pictures, point clouds and those about the run "
			"itself)"},
	{OPTION_HEADING, .help = "Tables"},
	{OPTION_TEXT, .name = "log", .argument = "FILE.csv", .offset = AT(log),
		.help = "write the states of models, joints and other entities as a table: one row for each entity "
			"and sample; troupe plot draws it"},
	{OPTION_WHOLE, .name = "log-every", .needs = "log", .argument = "N", .offset = AT(log_every), .lo = 1,
		.hi = WHOLE_MAX,
		.help = "with --log: take a sample every N steps (default: every 10 ms of simulated time)"},
	{OPTION_TEXT, .name = "log-what", .needs = "log", .argument = "PATTERN", .offset = AT(log_what),
		.help = "with --log: the entities, as a list with commas of KIND, KIND:MODEL, KIND:MODEL/NAME or "
			"MODEL; * and ? match as in a shell. Kinds: model, link, joint, contact, odometry, secondary "
			"(models, with the secondary that simulates them), effort (joints, with their efforts), "
			"sensor (samples of sensors) "
			"(default: model,joint,odometry)"},
	{OPTION_TEXT, .name = "camera-out", .argument = "DIR", .offset = AT(camera_out),
		.help = "write the pictures of all cameras into this folder, as PNG files; the run waits for them"},
	{OPTION_TEXT, .name = "costs", .argument = "FILE", .offset = AT(costs),
		.help = "write the measured cost of a step of each model as a table"},
	{OPTION_WHOLE, .name = "costs-every", .needs = "costs", .argument = "N", .offset = AT(costs_every), .lo = 1,
		.hi = WHOLE_MAX, .help = "with --costs: take a sample every N steps (default: 100)"},
	{OPTION_HEADING, .help = "Networked mode: a primary and secondaries on several machines"},
	{OPTION_TEXT, .name = "network-role", .tags = ANY, .argument = "ROLE", .offset = AT(network.role),
		.help = "primary: this process has the world, and waits for its secondaries; secondary: this process "
			"finds a primary, which sends it the world; client: a secondary with a name, to which the "
			"models belong that are created through it; none: ignore the role that the configuration file "
			"or the environment gives"},
	{OPTION_WHOLE, .name = "network-secondaries", .tags = PRIMARY, .argument = "N",
		.offset = AT(network.secondaries), .lo = 1, .hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: start when exactly N secondaries are there; --secondaries means the same"},
	{OPTION_TEXT, .name = "network-listen", .tags = PRIMARY, .argument = "[HOST][:PORT]",
		.offset = AT(network.listen),
		.help = "primary: the address to listen on; *: all interfaces (default: all interfaces with a key, "
			"without one only this machine; port 47082)"},
	{OPTION_TEXT, .name = "network-address", .excludes = "network-interface", .tags = SECONDARY | CLIENT,
		.argument = "HOST[:PORT]", .offset = AT(network.address),
		.help = "secondary: the address of the primary (default: found by multicast; port 47082); a client "
			"needs it"},
	{OPTION_TEXT, .name = "network-interface", .excludes = "network-address", .tags = PRIMARY | SECONDARY,
		.argument = "NAME", .offset = AT(network.interface),
		.help = "the interface for multicast, by its name or its IPv4 address (default: all that allow "
			"multicast)"},
	{OPTION_TEXT, .name = "network-partition", .tags = PRIMARY | SECONDARY | CLIENT, .argument = "NAME",
		.offset = AT(network.partition),
		.help = "meet only processes with the same NAME; keeps simulations on one network apart"},
	{OPTION_TEXT, .name = "network-key-file", .excludes = "network-insecure", .tags = PRIMARY | SECONDARY | CLIENT,
		.argument = "FILE", .offset = AT(network.key_file),
		.help = "the key, the same for all processes (default: the key of troupe keygen, if there is one)"},
	{OPTION_FLAG, .name = "network-insecure", .excludes = "network-key-file", .tags = PRIMARY | SECONDARY | CLIENT,
		.offset = AT(network.insecure),
		.help = "use no key, also with other machines: any process that reaches the port can take part"},
	{OPTION_WHOLE, .name = "network-stale-ms", .tags = PRIMARY | CHILDREN | RANKS, .argument = "MS",
		.offset = AT(network.stale_ms), .lo = 10, .hi = 3600000,
		.help = "primary: a process that is silent for MS milliseconds is lost (default: 1000)"},
	{OPTION_WHOLE, .name = "network-threads", .tags = SECONDARY | CLIENT | CHILDREN | RANKS, .argument = "N",
		.offset = AT(network.threads), .lo = 1, .hi = TROUPE_NETWORK_THREADS_MAX,
		.help = "secondary: step the models with N threads (default: one for each core; with --transport tcp "
			"the secondaries share the cores, less one for the primary; with mpi: one)"},
	{OPTION_REAL, .name = "network-wait", .tags = PRIMARY | SECONDARY | CLIENT, .argument = "SECONDS",
		.offset = AT(network.wait_s), .hi = 1e9,
		.help = "give up if the processes have not met after SECONDS; 0: wait for ever (the default)"},
	{OPTION_WHOLE, .name = "network-socket", .tags = SECONDARY, .argument = "FILE", .offset = AT(network.socket),
		.hi = 1 << 20,
		.help = "secondary: the number of an open socket that is connected to the primary; --transport tcp "
			"gives this to the processes that it starts"},
	{OPTION_HEADING, .help = "Robot clients: secondaries with a name, through which models are created"},
	{OPTION_TEXT, .name = "name", .tags = CLIENT, .argument = "NAME", .offset = AT(network.name),
		.help = "client: its name, with which its topics and services begin: /NAME/...; a letter, then "
			"letters, digits and _"},
	{OPTION_LIST, .name = "client", .tags = PRIMARY, .argument = "NAME", .offset = AT(network.clients),
		.help = "primary: start when the client of this name is there, too; may be repeated"},
	{OPTION_WHOLE, .name = "clients", .tags = PRIMARY, .argument = "MAX", .offset = AT(network.clients_max),
		.hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: clients of any name may join while the world runs, MAX at one time with those of "
			"--client (default: only those of --client)"},
	{OPTION_CHOICE, .name = "client-lost", .tags = PRIMARY, .argument = "WHAT", .offset = AT(network.client_lost),
		.choices = "remove keep end",
		.help = "primary: when a client has left or was lost: remove its models (the default); keep them, "
			"simulated by other secondaries; or end the run. Other secondaries end the run"},
	{OPTION_HEADING, .help = "Other programs: topics and services of the running world"},
	{OPTION_FLAG, .name = "no-gz", .tags = SERVING, .excludes = "gz-address", .offset = AT(gateways.no_gz),
		.help = "do not offer topics and services by gz-transport (by default they are offered to programs on "
			"this machine)"},
	{OPTION_TEXT, .name = "gz-address", .tags = SERVING, .excludes = "no-gz", .argument = "ADDRESS",
		.offset = AT(gateways.gz_address),
		.help = "offer them to other hosts, too, through the interface of this machine that has this IPv4 "
			"address; any program that reaches it can see and command everything"},
	{OPTION_FLAG, .name = "view", .tags = SERVING, .excludes = "view-address", .offset = AT(gateways.view),
		.help = "show the run in a browser of this machine: prints the address of a page, at port 8686 or any "
			"free one"},
	{OPTION_TEXT, .name = "view-address", .tags = SERVING, .excludes = "view", .argument = "[ADDRESS:]PORT",
		.offset = AT(gateways.view_address),
		.help = "the same at this port, and through the interface of this machine that has this address, or "
			"through all with *; then the printed address has a token, and whoever has it can command "
			"everything"},
	{OPTION_TEXT, .name = "view-cert", .tags = SERVING, .needs = "view-key", .argument = "FILE",
		.offset = AT(gateways.view_cert), .help = "serve the page with TLS: the certificate, a PEM file"},
	{OPTION_TEXT, .name = "view-key", .tags = SERVING, .needs = "view-cert", .argument = "FILE",
		.offset = AT(gateways.view_key), .help = "the key of the certificate, a PEM file"},
	{OPTION_TEXT, .name = "watch-listen", .argument = "[HOST][:PORT]", .offset = AT(gateways.watch.listen),
		.help = "viewers of other processes join at this address; *: all interfaces; "
			"needs a key except on this machine (port 47083)"},
	{OPTION_TEXT, .name = "watch-key-file", .needs = "watch-listen", .excludes = "watch-insecure",
		.argument = "FILE", .offset = AT(gateways.watch.key_file),
		.help = "their key (default: the key of troupe keygen, if there is one)"},
	{OPTION_FLAG, .name = "watch-insecure", .needs = "watch-listen", .excludes = "watch-key-file",
		.offset = AT(gateways.watch.insecure),
		.help = "use no key, also with other hosts: any process that reaches the port can see everything"},
	{OPTION_TEXT, .name = "foxglove", .tags = SERVING, .argument = "[ADDRESS:]PORT",
		.offset = AT(gateways.foxglove),
		.help = "serve Foxglove, Lichtblick and clients of their WebSocket protocol at this port, usually "
			"8765; ADDRESS is one of this machine, or * (default: 127.0.0.1, this machine only); other "
			"hosts need the token in the printed address"},
	{OPTION_TEXT, .name = "foxglove-cert", .tags = SERVING, .needs = "foxglove-key", .argument = "FILE",
		.offset = AT(gateways.foxglove_cert),
		.help = "with --foxglove: use TLS (wss://): the certificate, a PEM file"},
	{OPTION_TEXT, .name = "foxglove-key", .tags = SERVING, .needs = "foxglove-cert", .argument = "FILE",
		.offset = AT(gateways.foxglove_key), .help = "the key of the certificate, a PEM file"},
	{OPTION_TEXT, .name = "foxglove-origin", .tags = SERVING, .needs = "foxglove", .argument = "ORIGIN",
		.offset = AT(gateways.foxglove_origin),
		.help = "web pages of ORIGIN (https://HOST[:PORT]) may connect, too, besides those of foxglove.dev and "
			"of this machine"},
	{OPTION_FLAG, .name = "foxglove-insecure", .tags = SERVING, .needs = "foxglove",
		.offset = AT(gateways.foxglove_insecure),
		.help = "no token at any ADDRESS: any program that reaches it can see and command everything"},
	{OPTION_FLAG, .name = "ros2", .tags = SERVING, .offset = AT(gateways.ros2),
		.help = "be a node of ROS 2, /troupe, for nodes of this machine: topics under ROS 2's names, in the "
			"domain of ROS_DOMAIN_ID (0)"},
	{OPTION_WHOLE, .name = "ros2-domain", .tags = SERVING, .needs = "ros2", .argument = "ID", .lo = 0,
		.hi = TROUPE_ROS2_DOMAIN_MAX, .offset = AT(gateways.ros2_domain),
		.help = "the domain, whatever ROS_DOMAIN_ID says"},
	{OPTION_TEXT, .name = "ros2-robot", .tags = SERVING, .needs = "ros2", .argument = "MODEL",
		.offset = AT(gateways.ros2_robot),
		.help = "the model whose topics have names without its namespace, too: /scan beside /MODEL/scan "
			"(default: the only model with topics)"},
	{OPTION_CHOICE, .name = "ros2-distro", .tags = SERVING, .needs = "ros2", .argument = "NAME",
		.offset = AT(gateways.ros2_distro), .choices = "humble jazzy",
		.help = "the release of ROS 2 of the other nodes; jazzy: it and all later ones (default: jazzy)"},
	{OPTION_TEXT, .name = "ros2-address", .tags = SERVING, .needs = "ros2", .argument = "ADDRESS",
		.offset = AT(gateways.ros2_address),
		.help = "serve other hosts through the interface with this address of this machine: programs that "
			"reach it see everything and can command everything"},
	{OPTION_TEXT, .name = "rosbridge", .tags = SERVING, .argument = "[ADDRESS:]PORT",
		.offset = AT(gateways.rosbridge),
		.help = "serve clients of rosbridge, such as roslibjs, at this port, usually 9090; ADDRESS is one of "
			"this machine, or * (default: 127.0.0.1, this machine only); other hosts need the token in the "
			"printed address"},
	{OPTION_TEXT, .name = "rosbridge-robot", .tags = SERVING, .needs = "rosbridge", .argument = "MODEL",
		.offset = AT(gateways.rosbridge_robot), .help = "as --ros2-robot"},
	{OPTION_TEXT, .name = "rosbridge-cert", .tags = SERVING, .needs = "rosbridge-key", .argument = "FILE",
		.offset = AT(gateways.rosbridge_cert),
		.help = "with --rosbridge: use TLS (wss://): the certificate, a PEM file"},
	{OPTION_TEXT, .name = "rosbridge-key", .tags = SERVING, .needs = "rosbridge-cert", .argument = "FILE",
		.offset = AT(gateways.rosbridge_key), .help = "the key of the certificate, a PEM file"},
	{OPTION_TEXT, .name = "rosbridge-origin", .tags = SERVING, .needs = "rosbridge", .argument = "ORIGIN",
		.offset = AT(gateways.rosbridge_origin),
		.help = "web pages of ORIGIN (https://HOST[:PORT]) may connect, too, besides those of this machine"},
	{OPTION_FLAG, .name = "rosbridge-insecure", .tags = SERVING, .needs = "rosbridge",
		.offset = AT(gateways.rosbridge_insecure),
		.help = "no token at any ADDRESS: any program that reaches it can see and command everything"},
	{OPTION_HEADING, .help = "Barrier clients: programs that the run waits for"},
	{OPTION_TEXT, .name = "lockstep-socket", .argument = "PATH", .offset = AT(lockstep.socket),
		.help = "clients join at this local socket, which only its owner can use"},
	{OPTION_TEXT, .name = "lockstep-listen", .argument = "[HOST:]PORT", .offset = AT(lockstep.listen),
		.help = "clients join at this TCP port; HOST is an IPv4 address (default: 127.0.0.1, this machine "
			"only)"},
	{OPTION_FLAG, .name = "lockstep-insecure", .needs = "lockstep-listen", .offset = AT(lockstep.insecure),
		.help = "HOST may be any address of this machine: any program that reaches it can command everything"},
	{OPTION_LIST, .name = "wait-for", .argument = "NAME", .offset = AT(lockstep.wait_for),
		.help = "take no step until a barrier client of this name has joined; may be repeated"},
	{OPTION_REAL, .name = "wait-for-timeout", .needs = "wait-for", .argument = "SECONDS",
		.offset = AT(lockstep.wait_s), .hi = 1e9,
		.help = "give up if they have not joined after SECONDS; 0: wait for ever (the default)"},
	{OPTION_HEADING, .help = "Programs of the world"},
	{OPTION_FLAG, .name = "programs", .offset = AT(programs),
		.help = "start the programs that the world names (plug-ins troupe::Program), and end them with the "
			"run. They can do all that you can: look at a world that is not yours before "
			"(default: they are not started, and named in a warning)"},
	{OPTION_HEADING, .help = "For tests: the state must not change, except with --break"},
	{OPTION_WHOLE, .name = "chaos", .argument = "SEED", .offset = AT(chaos), .hi = WHOLE_MAX,
		.help = "move random components to random secondaries at random steps"},
	{OPTION_WHOLE, .name = "chaos-moves", .needs = "chaos", .argument = "N", .offset = AT(chaos_moves),
		.hi = CHAOS_MOVES_MAX,
		.help = "with --chaos: move N components in every step; 0: one component in about every fourth step "
			"(the default)"},
	{OPTION_FLAG, .name = "anew", .tags = ALONE, .offset = AT(anew),
		.help = "make all objects of the physics engine anew before each step"},
	{OPTION_CHOICE, .name = "break", .tags = ANY, .argument = "RULE", .offset = AT(break_rule),
		.choices = "random pairs rotation reference",
		.help = "break one rule of determinism: random, pairs, rotation or reference"},
	{OPTION_HEADING, .help = "Other"},
	{OPTION_NOTHING, 's', .tags = ANY, .help = "no effect; in Gazebo: run the server without a window"},
	{OPTION_FLAG, .name = "distributed", .tags = ANY, .offset = AT(network.distributed),
		.help = "no effect without --network-role; in Gazebo: networked mode"},
	{OPTION_HELP, 'h', "help", .help = "print this help"},

	{OPTION_ABSENT, 'g', "gui", .help = "Gazebo's graphical client is not part of troupe"},
	{OPTION_ABSENT, .name = "gui-config", .help = "Gazebo's graphical client is not part of troupe"},
	{OPTION_ABSENT, .name = "headless-rendering", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine-api-backend", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine-gui", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine-server", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine-gui-api-backend", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "render-engine-server-api-backend", .help = "troupe does not render yet"},
	{OPTION_ABSENT, .name = "physics-engine", .help = "troupe has one physics engine, ODE"},
	{OPTION_ABSENT, .name = "wait-for-assets", .help = "troupe fetches nothing: there is nothing to wait for"},
	{OPTION_ABSENT, .name = "record-path", .help = "troupe records commands and states: --record FILE"},
	{OPTION_ABSENT, .name = "record-resources", .help = "troupe records commands and states: --record FILE"},
	{OPTION_ABSENT, .name = "record-topic", .help = "troupe records commands and states: --record FILE"},
	{OPTION_ABSENT, .name = "record-period", .help = "troupe records commands and states: --record FILE"},
	{OPTION_ABSENT, .name = "log-overwrite", .help = "troupe keeps no such log; --record FILE records"},
	{OPTION_ABSENT, .name = "log-compress", .help = "troupe keeps no such log; --record FILE records"},
	{OPTION_ABSENT, .name = "playback", .help = "troupe replay FILE runs a recording again"},
	{OPTION_ABSENT, .name = "versions", .help = "troupe --version prints the version"},
	{OPTION_ABSENT, .name = "version", .help = "troupe --version prints the version"},
	{OPTION_ABSENT, .name = "server", .help = "troupe is always only the server: -s is accepted"},
	{OPTION_ABSENT, 'f', "file", .help = "the world stands by itself: troupe run WORLD.sdf"},
	{OPTION_ABSENT, 'u', "pause", .help = "troupe begins paused with --paused"},
	{OPTION_ABSENT, .name = "lockstep", .help = "every run of troupe is in lockstep"},
	{OPTION_ABSENT, .name = "help-all", .help = "troupe run --help prints all options"},
	{OPTION_ABSENT, .name = "force-version", .help = "there is one version of troupe, the one installed"},
};
_Static_assert(ARRAY_LEN(specs) <= OPTIONS_MAX, "options_parse() marks each option in an array");
#undef AT

static const struct options_command command = {
	.name = "run",
	.usage = "troupe run [OPTIONS] WORLD.sdf\n"
		 "       troupe run [OPTIONS] --resume FILE\n"
		 "       troupe run [OPTIONS] --network-role secondary\n"
		 "       troupe run [OPTIONS] --network-role client --name NAME",
	.about = "Runs a world until a limit is reached, or until Ctrl-C stops it at the end of a step. The "
		 "state depends on the world, the seed and the commands. It does not depend on the number of "
		 "secondaries.",
	.after = "WORLD.sdf is a file or the name of a world, with or without .sdf. A name is\n"
		 "searched for in each folder of --resource-path, then of GZ_SIM_RESOURCE_PATH,\n"
		 "SDF_PATH and IGN_GAZEBO_RESOURCE_PATH, then of ROS's packages (see below),\n"
		 "then among the worlds that come with troupe (warehouse, for example). FILE of\n"
		 "--commands is searched for in the same folders, with or without .commands.\n"
		 "\n"
		 "Lines of --commands (empty lines and lines that start with # are skipped)\n"
		 "  100 /model/vehicle_blue/cmd_vel linear: {x: 4.0}\n"
		 "  200 /world/NAME/control pause: true\n"
		 "  300 /world/NAME/create sdf_filename: \"box.sdf\" pose {position {z: 2}}\n"
		 "\n"
		 "Lines of --trace (secondaries are numbered from 1; 0 is the single runner)\n"
		 "  move STEP PERFORMER FROM TO\n"
		 "  load STEP LEVEL SECONDARY\n"
		 "  unload STEP LEVEL SECONDARY\n"
		 "  ghost STEP PERFORMER SECONDARY on|off\n"
		 "  reply STEP TOPIC ok|failed TEXT\n"
		 "\n"
		 "Environment\n"
		 "  GZ_SIM_RESOURCE_PATH, SDF_PATH, IGN_GAZEBO_RESOURCE_PATH\n"
		 "      folders that are searched after those of --resource-path\n"
		 "  AMENT_PREFIX_PATH, ROS_PACKAGE_PATH\n"
		 "      where ROS has its packages: PREFIX/share for each PREFIX, and folders;\n"
		 "      they are searched after those\n"
		 "  GZ_PARTITION, IGN_PARTITION\n"
		 "      the partition of gz-transport, and in networked mode\n"
		 "      as --network-partition\n"
		 "  TROUPE_NO_GZ\n"
		 "      if not empty, as --no-gz\n"
		 "  IGN_GAZEBO_NETWORK_ROLE, GZ_SIM_NETWORK_ROLE\n"
		 "      as --network-role (deprecated)\n"
		 "  IGN_GAZEBO_NETWORK_SECONDARIES, GZ_SIM_NETWORK_SECONDARIES\n"
		 "      as --network-secondaries (deprecated)\n"
		 "  TROUPE_PLUGIN_PATH\n"
		 "      folders that are searched after those of --plugin-path\n"
		 "  TROUPE_MODULES\n"
		 "      folder that is searched first for the module of --transport mpi\n"
		 "An option overrides the variable.\n"
		 "\n"
		 "Examples\n"
		 "  troupe run warehouse --commands warehouse\n"
		 "  troupe run WORLD.sdf --iterations 5000 --secondaries 2 --trace\n"
		 "  troupe run WORLD.sdf --transport tcp --secondaries 3\n"
		 "  mpirun -n 5 troupe run WORLD.sdf --transport mpi\n"
		 "  troupe run WORLD.sdf --network-role primary --network-secondaries 2\n"
		 "  troupe run --network-role secondary --network-address HOST\n"
		 "  troupe run --network-role client --name tb3_1 --network-address HOST\n"
		 "\n"
		 "Exit status\n"
		 "  0  done, or told to stop (Ctrl-C, SIGTERM, SIGHUP)\n"
		 "  1  bad world or other input, a command that could not be obeyed, or output\n"
		 "     that could not be written\n"
		 "  2  wrong usage\n"
		 "  3  networked mode: a process was lost, left or sent invalid data; not all\n"
		 "     came within --network-wait; or this secondary was turned away. A barrier\n"
		 "     client failed that ends the run, or did not join in time\n"
		 "  4  internal error, out of memory, or a model diverged\n",
	.specs = specs,
	.spec_count = ARRAY_LEN(specs),
};

struct saving {        /* one --save-at or --save-every */
	uint64_t step; /* or the interval in steps */
	bool every;
	const char *file;
	bool failing; /* its last state could not be saved */
};

struct run {
	struct settings settings;
	enum option_source sources[OPTIONS_MAX];
	struct arena arena;
	struct command_lines commands;
	struct commands_in *commands_in;
	struct commands_out commands_out;
	struct troupe_server *server;
	struct output output;
	struct status_line status;
	struct log log;
	uint64_t log_every;
	struct camera_out camera_out;
	struct mcap_out mcap_out;
	VEC(struct saving) savings;
	enum network_mode mode;
	struct children children;
	struct gateways *gateways;
	struct entrance *entrance;
	struct programs *programs; /* NULL: none are started */
	struct recordings recordings;
	uint64_t begun_at; /* step */
	uint32_t warnings, refused_calls, refusals, unsaved;
	uint32_t bad_lines; /* of standard input; writer: its reader */
	char warning[TROUPE_ERROR_TEXT_BYTES], refusal[TROUPE_ERROR_TEXT_BYTES]; /* the first of each */
	char bad_line[TROUPE_ERROR_TEXT_BYTES];                                  /* the first */
	struct troupe_error unsaved_why;                                         /* the first */
};

/* --- callbacks ---------------------------------------------------------------------------------------------------- */

static void on_event(void *ctx, const struct troupe_event *event)
{
	static const char *const words[] = {
		[TROUPE_EVENT_MOVE] = "move",
		[TROUPE_EVENT_LOAD] = "load",
		[TROUPE_EVENT_UNLOAD] = "unload",
		[TROUPE_EVENT_GHOST_ON] = "ghost",
		[TROUPE_EVENT_GHOST_OFF] = "ghost",
	};
	struct run *run = ctx;
	struct text line = {0};
	text_add(&line, "%s %" PRIu64 " ", words[event->kind], event->step);
	if (troupe_server_world_count(run->server) > 1)
		text_add(&line, "%s/", event->world);
	text_add(&line, "%s", event->name);
	if (event->kind == TROUPE_EVENT_MOVE)
		text_add(&line, " %u", event->from);
	text_add(&line, " %u", event->to);
	if (event->kind == TROUPE_EVENT_GHOST_ON || event->kind == TROUPE_EVENT_GHOST_OFF)
		text_add(&line, event->kind == TROUPE_EVENT_GHOST_ON ? " on" : " off");
	output_line(&run->output, "%s", line.at);
	text_fini(&line);
}

static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct run *run = ctx;
	output_line(&run->output, "hash %" PRIu64 " %016" PRIx64, step, hash);
}

static void on_step(void *ctx, struct troupe_server *server, uint64_t step)
{
	struct run *run = ctx;
	if (run->log_every && step % run->log_every == 0)
		log_step(&run->log, server, step);
	camera_out_step(&run->camera_out, server);
	mcap_out_step(&run->mcap_out);
}

static void on_reply(void *ctx, const struct troupe_reply *reply)
{
	struct run *run = ctx;
	if (run->settings.trace)
		output_line(&run->output, "reply %" PRIu64 " %s %s %s", reply->step, reply->topic,
			reply->status ? "failed" : "ok", reply->text);
	if (!reply->status)
		return;
	if (reply->called) { /* no error of this run. The caller is told, but clients of Gazebo not why. */
		if (run->settings.verbosity >= 2 ||
			(run->settings.verbosity == 1 && run->refused_calls < REFUSALS_SHOWN_MAX))
			cli_complain("run", "step %" PRIu64 ": %s: %s", reply->step, reply->topic, reply->text);
		run->refused_calls++;
		return;
	}
	if (!run->refusals)
		snprintf(run->refusal, sizeof run->refusal, "step %" PRIu64 ": %s: %s", reply->step, reply->topic,
			reply->text);
	if (run->settings.verbosity >= 2 || (run->settings.verbosity == 1 && run->refusals < REFUSALS_SHOWN_MAX))
		cli_complain("run", "step %" PRIu64 ": %s: %s", reply->step, reply->topic, reply->text);
	run->refusals++;
}

static void on_taken(void *ctx, const struct troupe_taken *taken)
{
	struct run *run = ctx;
	commands_out_take(&run->commands_out, taken);
}

static void on_bad_line(void *ctx, const char *text)
{
	struct run *run = ctx;
	int64_t verbosity = run->settings.verbosity;
	if (verbosity >= 2 || (verbosity == 1 && run->bad_lines < REFUSALS_SHOWN_MAX))
		cli_complain("run", "%s", text);
	if (!run->bad_lines++)
		(void)snprintf(run->bad_line, sizeof run->bad_line, "%s", text);
}

static void on_warning(void *ctx, const char *text)
{
	struct run *run = ctx;
	int64_t verbosity = run->settings.verbosity;
	if (verbosity >= 2 || (verbosity == 1 && run->warnings < WARNINGS_SHOWN_MAX))
		cli_finding(SDF_WARNING, text);
	if (!run->warnings++)
		(void)snprintf(run->warning, sizeof run->warning, "%s", text);
}

static void on_note(void *ctx, const char *text)
{
	struct run *run = ctx;
	if (run->settings.verbosity < 1)
		return;
	status_clear(&run->status);
	cli_complain("run", "%s", text);
}

static void on_watch(void *ctx)
{
	struct run *run = ctx;
	output_flush(&run->output); /* a reader gets lines without waiting for a full buffer */
	if (output_failed(&run->output))
		troupe_server_stop(run->server);
	status_draw(&run->status, run->server);
}

/* --- being stopped ------------------------------------------------------------------------------------------------ */

static void stop_server(void *ctx)
{
	troupe_server_stop(ctx);
}

static uint64_t steps_of(void *ctx)
{
	return troupe_server_progress(ctx).steps;
}

/* Without malloc() and stdio: the interrupted thread may be inside these. */
static void say_at_once(const char *text)
{
	const struct outfile_options hurried = {.haste = signals_haste};
	char line[TROUPE_ERROR_TEXT_BYTES + 80];
	int count = snprintf(line, sizeof line, "troupe run: %s\n", text);
	(void)outfile_put(STDERR_FILENO, line, MIN((size_t)MAX(count, 0), sizeof line - 1), &hurried);
}

/* Called in a signal handler in the middle of loading: there is no world yet that could be saved or reported on. */
static void leave_loading(void *ctx)
{
	static const char report[] =
		"{\n  \"iterations\": 0,\n  \"sim_time\": 0,\n  \"stopped\": \"while loading\"\n}\n";
	const struct run *run = ctx;
	const struct settings *settings = &run->settings;
	const struct outfile_options hurried = {.haste = signals_haste};
	struct troupe_error error;
	troupe_status status = TROUPE_OK;
	if (settings->report && !strcmp(settings->report, "-"))
		(void)outfile_put(STDOUT_FILENO, report, sizeof report - 1, &hurried);
	else if (settings->report)
		status = outfile_replace(settings->report, report, sizeof report - 1, &hurried, &error);
	if (settings->verbosity >= 1)
		say_at_once(settings->network.save_on_stop
				    ? "0 steps, 0 s simulated: stopped while the world was loaded, so no state is saved"
				    : "0 steps, 0 s simulated: stopped while the world was loaded");
	if (status)
		say_at_once(error.text);
	_exit(cli_exit_status(status));
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

static troupe_status read_saving(
	const char *option, const char *text, struct saving *ret_saving, struct troupe_error *error)
{
	const char *blank = strchr(text, ' ');
	char number[24] = "";
	if (blank && (size_t)(blank - text) < sizeof number)
		memcpy(number, text, (size_t)(blank - text));
	if (!*number || number[strspn(number, "0123456789")] || !text_uint64(number, &ret_saving->step) || !blank[1] ||
		(ret_saving->every && !ret_saving->step))
		return fail(error, TROUPE_ECOMMAND, "--%s: '%.80s': expected a whole number and a file", option, text);
	ret_saving->file = blank + 1;
	return TROUPE_OK;
}

static troupe_status read_savings(struct run *run, struct troupe_error *error)
{
	const struct settings *settings = &run->settings;
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < settings->save_at.count + settings->save_every.count && !status; i++) {
		bool every = i >= settings->save_at.count;
		struct saving saving = {.every = every};
		status = read_saving(every ? "save-every" : "save-at",
			every ? settings->save_every.at[i - settings->save_at.count] : settings->save_at.at[i], &saving,
			error);
		vec_push(&run->savings, saving);
	}
	return status;
}

/* stopped: the run was told to stop; then a message names the saved state. */
static troupe_status save(
	struct run *run, const struct saving *saving, uint64_t step, bool stopped, struct troupe_error *error)
{
	char *path = saving->every ? outputs_name(saving->file, step) : mem_strdup(saving->file);
	troupe_status status = troupe_server_save(run->server, path, error);
	if (!status && stopped && run->settings.verbosity >= 1)
		cli_complain("run", "%s: saved the state of step %" PRIu64 "; --resume continues from it", path, step);
	free(path);
	return status;
}

/* Earlier states stay, and the run continues: its result may be worth more than one saved state. */
static void count_unsaved(struct run *run, struct saving *saving, const struct troupe_error *error)
{
	struct troupe_error text;
	if (signals_asked() && strstr(error->text, outfile_why(ECANCELED))) {
		if (run->settings.verbosity >= 1)
			cli_complain("run", "%s", error->text);
		return;
	}
	if (!run->unsaved++)
		run->unsaved_why = *error;
	(void)fail(&text, error->status, "%s; the run goes on", error->text);
	if (!saving->failing) /* a full disk may stay full: warn once */
		on_warning(run, text.text);
}

static bool due(const struct saving *saving, uint64_t step)
{
	return saving->every ? step && step % saving->step == 0 : step == saving->step;
}

static void save_due(struct run *run, uint64_t step)
{
	struct troupe_error error;
	for (uint32_t i = 0; i < run->savings.count; i++) {
		struct saving *saving = &run->savings.at[i];
		if (!due(saving, step))
			continue;
		troupe_status status = save(run, saving, step, false, &error);
		if (status)
			count_unsaved(run, saving, &error);
		saving->failing = status;
	}
}

/* The next step after this one at which a state is to be saved; UINT64_MAX: none. */
static uint64_t next_saving(const struct run *run, uint64_t step)
{
	uint64_t next = UINT64_MAX;
	for (uint32_t i = 0; i < run->savings.count; i++) {
		const struct saving *saving = &run->savings.at[i];
		uint64_t at = saving->every ? (step / saving->step + 1) * saving->step : saving->step;
		if (at > step)
			next = MIN(next, at);
	}
	return next;
}

/* Runs from one saving to the next, and then to the end. */
static troupe_status run_and_save(struct run *run, struct troupe_error *error)
{
	uint64_t iterations = (uint64_t)run->settings.iterations;
	uint64_t step = troupe_server_progress(run->server).steps, resumed = step;
	for (;;) {
		if (step != resumed || !run->settings.resume)
			save_due(run, step);
		uint64_t next = next_saving(run, step);
		bool last = next == UINT64_MAX || (iterations && next > iterations);
		struct troupe_limits limits = {last ? iterations : next, run->settings.until_s};
		troupe_status status = troupe_server_run(run->server, &limits, error);
		uint64_t reached = troupe_server_progress(run->server).steps;
		if (status || last || reached < next || troupe_server_was_stopped(run->server)) /* or a time limit */
			return status;
		step = reached;
	}
}

/* --- a run -------------------------------------------------------------------------------------------------------- */

static struct troupe_server_def definition(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct troupe_server_def def = troupe_server_def_default();
	def.world_path = settings->world;
	def.resume_path = settings->resume;
	def.resource_paths = settings->resource_paths.at;
	def.plugin_paths = settings->plugin_paths.at;
	def.secondaries = (int32_t)settings->secondaries;
	def.ignore_levels = settings->no_levels;
	def.distribution = settings->distribution;
	def.pins = settings->pins.at;
	def.sleepless = settings->no_sleep;
	def.sense_all = settings->sense_all;
	def.pace = settings->rtf >= 0 ? TROUPE_PACE_FACTOR : TROUPE_PACE_WORLD;
	if (settings->rate_hz > 0)
		def.pace = TROUPE_PACE_RATE;
	def.rtf = MAX(settings->rtf, 0.0);
	def.rate_hz = settings->rate_hz;
	def.paused = settings->paused;
	def.seed = (uint64_t)settings->seed;
	def.initial_time_s = settings->initial_time_s;
	def.chaos = settings->chaos >= 0;
	def.chaos_seed = def.chaos ? (uint64_t)settings->chaos : 0;
	def.chaos_moves = (uint32_t)settings->chaos_moves;
	def.hash_every = (uint64_t)settings->hash_every;
	def.record_path = settings->record;
	def.save_folder = settings->save_dir;
	def.logs_obeyed = settings->recordings;
	def.record_every = (uint64_t)settings->record_every;
	def.costs_path = settings->costs;
	def.costs_every = (uint64_t)settings->costs_every;
	def.observe = log_observes(&run->log);
	run->log_every = log_step_every(&run->log);
	def.step_every = settings->camera_out || settings->mcap ? 1 : run->log_every;
	def.anew = settings->anew;
	def.break_rule = settings->break_rule;
	def.on_event = settings->trace ? on_event : NULL;
	def.on_hash = settings->hash_every ? on_hash : NULL;
	def.on_step = settings->log || settings->camera_out || settings->mcap ? on_step : NULL;
	def.on_reply = on_reply;
	def.on_taken = settings->commands_out ? on_taken : NULL;
	def.on_watch = on_watch;
	def.on_warning = on_warning;
	def.on_note = on_note;
	def.ctx = run;
	return def;
}

static struct troupe_network network_of(const struct run *run)
{
	const struct network_settings *settings = &run->settings.network;
	bool ranks = run->mode == NETWORK_RANKS;
	return (struct troupe_network){.transport = ranks ? settings->transport : NULL,
		.job = settings->job,
		.secondaries = (uint32_t)settings->secondaries,
		.clients = settings->clients.at,
		.clients_max = (uint32_t)settings->clients_max,
		.client_lost = network_client_lost(settings),
		.listen = settings->listen,
		.partition = settings->partition,
		.interface = settings->interface,
		.stale_ms = (uint32_t)settings->stale_ms,
		.wait_s = settings->wait_s,
		.key_file = settings->key_file,
		.insecure = settings->insecure,
		.sockets = run->mode == NETWORK_CHILDREN ? run->children.sockets : NULL};
}

static troupe_status create_server(struct run *run, struct troupe_error *error)
{
	struct troupe_server_def def = definition(run);
	troupe_status status = TROUPE_OK;
	if (run->mode == NETWORK_CHILDREN)
		status = children_start(&run->children, (uint32_t)run->settings.network.secondaries,
			(uint32_t)run->settings.network.threads, run->settings.plugin_paths.at,
			run->settings.break_rule, error);
	if (status)
		return status;
	struct troupe_network network = network_of(run);
	def.network = run->mode == NETWORK_NONE ? NULL : &network;
	status = troupe_server_create(&def, &run->server, error);
	for (uint32_t i = 0; i < run->children.count; i++)
		run->children.sockets[i] = -1; /* the server owns it, or has closed it */
	return status;
}

/* Checks --strict. The error names the first warning if warnings were not shown. */
static troupe_status check_warnings(const struct run *run, struct troupe_error *error)
{
	const char *warnings = run->warnings == 1 ? "warning" : "warnings";
	if (!run->settings.strict || !run->warnings)
		return TROUPE_OK;
	if (run->settings.verbosity < 1)
		return fail(
			error, TROUPE_EWORLD, "--strict: %u %s, the first: %s", run->warnings, warnings, run->warning);
	return fail(error, TROUPE_EWORLD, "--strict: %u %s: see above", run->warnings, warnings);
}

/* Whether commands are read from standard input while the world runs. */
static bool from_input(const struct settings *settings)
{
	return settings->commands && !strcmp(settings->commands, "-");
}

/* A file of commands may be in the folders of worlds. */
static troupe_status read_commands(struct run *run, struct troupe_error *error)
{
	const struct settings *settings = &run->settings;
	struct sdf_options options = {.resource_paths = settings->resource_paths.at, .use_environment = true};
	char *found = sdf_find_file(settings->commands, ".commands", &options);
	const char *path = found ? arena_strdup(&run->arena, found) : settings->commands;
	bool sought = !found && access(settings->commands, F_OK);
	struct troupe_error why;
	troupe_status status = commands_read(path, &run->commands, &why);
	if (status)
		(void)fail(error, status, "%s%s%s", sought ? "--commands: " : "", why.text,
			sought ? "; and no file of commands of this name is in a resource path or comes with troupe"
			       : "");
	free(found);
	return status;
}

/* Checks all files that the run will write. */
static troupe_status check_outputs(const struct run *run, struct troupe_error *error)
{
	const struct settings *settings = &run->settings;
	struct outputs outputs = {0};
	outputs_add(&outputs, OUTPUT_INPUT, "the world", settings->world);
	outputs_add(&outputs, OUTPUT_INPUT, "--commands", from_input(settings) ? NULL : settings->commands);
	outputs_add(&outputs, OUTPUT_INPUT, "--config", settings->config);
	outputs_add(&outputs, OUTPUT_STATE_READ, "--resume", settings->resume);
	outputs_add(&outputs, OUTPUT_OWN, "--report",
		settings->report && !strcmp(settings->report, "-") ? NULL : settings->report);
	outputs_add(&outputs, OUTPUT_STREAM, "--record", settings->record);
	outputs_add(&outputs, OUTPUT_STREAM, "--commands-out", settings->commands_out);
	outputs_add(&outputs, OUTPUT_STREAM, "--costs", settings->costs);
	outputs_add(&outputs, OUTPUT_STREAM, "--log", settings->log);
	outputs_add(&outputs, OUTPUT_STREAM, "--mcap", settings->mcap);
	for (uint32_t i = 0; i < run->savings.count; i++)
		outputs_add(&outputs, run->savings.at[i].every ? OUTPUT_STATES : OUTPUT_STATE,
			run->savings.at[i].every ? "--save-every" : "--save-at", run->savings.at[i].file);
	outputs_add(&outputs, OUTPUT_STATES, "--save-on-stop", settings->network.save_on_stop);
	troupe_status status = outputs_check(&outputs, error);
	outputs_fini(&outputs);
	return status;
}

/* The default name of a saved state; the caller frees it. */
static char *default_pattern(const struct run *run)
{
	char *pattern = mem_printf("troupe-%s-%%s.state", troupe_server_world_name(run->server, 0));
	for (char *at = pattern; *at; at++)
		if (*at == '/')
			*at = '_';
	return pattern;
}

static troupe_status check_default(const struct run *run, struct troupe_error *error)
{
	struct outputs outputs = {0};
	if (run->settings.network.save_on_stop || run->mode == NETWORK_NONE)
		return TROUPE_OK;
	char *pattern = default_pattern(run);
	outputs_add(&outputs, OUTPUT_STATES, "--save-on-stop", pattern);
	troupe_status status = outputs_check(&outputs, error);
	outputs_fini(&outputs);
	free(pattern);
	return status;
}

/* All that can be refused before the first step is refused here. */
static troupe_status prepare(struct run *run, struct troupe_error *error)
{
	const struct settings *settings = &run->settings;
	troupe_status status = TROUPE_OK;
	if (settings->commands && !from_input(settings))
		status = read_commands(run, error);
	if (!status)
		status = read_savings(run, error);
	if (!status)
		status = check_outputs(run, error);
	if (status)
		return status;
	status = create_server(run, error);
	if (!status && !run->programs)
		programs_warn(run->server, on_warning, run);
	if (settings->verbosity == 1 && run->warnings > WARNINGS_SHOWN_MAX)
		fprintf(stderr, "and %u more warnings (-v 2 shows them)\n", run->warnings - WARNINGS_SHOWN_MAX);
	if (!status)
		status = check_warnings(run, error);
	if (!status)
		status = check_default(run, error);
	if (!status && run->programs)
		status = programs_find(run->programs, run->server, error);
	if (!status)
		status = commands_queue(&run->commands, run->server, error);
	return status;
}

static void announce(const struct run *run)
{
	if (run->settings.verbosity < 3)
		return;
	for (uint32_t i = 0; i < troupe_server_world_count(run->server); i++) {
		uint32_t secondaries = troupe_server_secondaries(run->server, i);
		fprintf(stderr, "world '%s', ", troupe_server_world_name(run->server, i));
		if (secondaries)
			fprintf(stderr, "a primary and %u %s\n", secondaries,
				secondaries == 1 ? "secondary" : "secondaries");
		else
			fprintf(stderr, "a single runner\n");
	}
	fprintf(stderr, "%u commands\n", run->commands.all.count);
}

/* Appends an option and its word, quoted for a shell. */
static void add_word(struct text *line, const char *option, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%";
	text_add(line, "%s%s", option ? " " : "", option ? option : "");
	if (*word && word[strspn(word, plain)] == '\0') {
		text_add(line, " %s", word);
		return;
	}
	text_add(line, " '");
	for (; *word; word++)
		text_add(line, *word == '\'' ? "'\\''" : "%c", (unsigned char)*word < 0x20 ? '?' : *word);
	text_add(line, "'");
}

static void add_count(struct text *line, const char *option, int64_t count, int64_t usual)
{
	if (count != usual)
		text_add(line, " %s %" PRId64, option, count);
}

/* Appends a command line with everything that the state depends on. */
static void add_again(const struct run *run, struct text *line)
{
	const struct settings *settings = &run->settings;
	text_add(line, "%s run", program_invocation_name);
	add_word(line, settings->resume ? "--resume" : NULL, settings->resume ? settings->resume : settings->world);
	if (settings->commands_out)
		add_word(line, "--commands", settings->commands_out);
	else if (settings->commands)
		add_word(line, "--commands", settings->commands);
	if (settings->save_dir &&
		(settings->commands_out || settings->commands)) /* a command may resume a state there */
		add_word(line, "--save-dir", settings->save_dir);
	for (uint32_t i = 0; i < settings->resource_paths.count; i++)
		add_word(line, "--resource-path", settings->resource_paths.at[i]);
	for (uint32_t i = 0; i < settings->plugin_paths.count; i++)
		add_word(line, "--plugin-path", settings->plugin_paths.at[i]);
	add_count(line, "--seed", settings->seed, 0);
	if (settings->initial_time_s > 0) {
		text_add(line, " --initial-sim-time ");
		text_add_double(line, settings->initial_time_s);
	}
	text_add(line, "%s%s%s", settings->no_levels ? " --no-levels" : "", settings->no_sleep ? " --no-sleep" : "",
		settings->paused ? " --paused" : "");
	add_count(line, "--iterations", (int64_t)troupe_server_progress(run->server).steps, 0);
	text_add(line, " --rtf 0");
}

/* Whether commands came that are in no file: of standard input, barrier clients or other programs. */
static bool was_commanded(const struct run *run)
{
	return run->entrance || gateways_commanded(run->gateways) || commands_in_given(run->commands_in);
}

/* Whether a command line repeats the run. Not if it would read a pipe, if a rule of determinism was broken, or if
 * commands came that no file has. */
static bool can_repeat(const struct run *run)
{
	const struct settings *settings = &run->settings;
	const char *const files[] = {settings->resume ? settings->resume : settings->world,
		settings->commands_out ? settings->commands_out : settings->commands};
	struct stat info;
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (files[i] && !stat(files[i], &info) && !S_ISREG(info.st_mode))
			return false;
	if (settings->commands_out ? run->commands_out.why.status : was_commanded(run) || from_input(settings))
		return false;
	return !settings->break_rule && troupe_server_progress(run->server).steps > run->begun_at;
}

static void summarize(struct run *run, const struct troupe_report *report)
{
	struct text base = {0}, again = {0}, tcp = {0}, trace = {0}, out = {0};
	struct report_next next = {0};
	const struct settings *settings = &run->settings;
	if (can_repeat(run)) {
		add_again(run, &base);
		text_add(&again, "%s --secondaries 0 -v 0 --hash-every %" PRIu64, base.at,
			troupe_server_progress(run->server).steps);
		text_add(&tcp, "%s --transport tcp --secondaries 3 --chaos 7", base.at);
		text_add(&trace, "%s --secondaries 3 --trace", base.at);
		bool shared = report->world_count == 1 && report->worlds[0].scene->mobile_count > 1;
		next.again = again.at;
		next.tries[0] = shared && run->mode == NETWORK_NONE ? tcp.at : NULL;
		next.tries[1] = shared && !settings->trace ? trace.at : NULL;
	}
	report_summarize(report, &next, &out);
	fputs(out.at, stderr);
	text_fini(&base);
	text_fini(&again);
	text_fini(&tcp);
	text_fini(&trace);
	text_fini(&out);
}

static troupe_status write_report(struct run *run, const struct troupe_report *report, struct troupe_error *error)
{
	const char *path = run->settings.report;
	char *json = troupe_report_json(report);
	troupe_status status = TROUPE_OK;
	if (!strcmp(path, "-"))
		output_text(&run->output, json);
	else
		status = outfile_replace(
			path, json, strlen(json), &(struct outfile_options){.haste = signals_haste}, error);
	free(json);
	return status;
}

/* A failed run prints one error line and no summary, but its report is still useful. */
static troupe_status deliver_report(struct run *run, bool summarized, struct troupe_error *error)
{
	struct troupe_report *report = troupe_server_report(run->server);
	troupe_status status = TROUPE_OK;
	if (run->settings.report)
		status = write_report(run, report, error);
	else if (run->settings.verbosity >= 1 && summarized && !output_failed(&run->output))
		summarize(run, report);
	troupe_report_free(report);
	return status;
}

/* The error names the first refusal if refusals were not shown when they happened. */
static troupe_status refusals_counted(const struct run *run, struct troupe_error *error)
{
	uint32_t shown = run->settings.verbosity >= 2   ? run->refusals
			 : run->settings.verbosity == 1 ? MIN(run->refusals, (uint32_t)REFUSALS_SHOWN_MAX)
							: 0;
	const char *commands = run->refusals == 1 ? "command" : "commands";
	if (!shown)
		return fail(error, TROUPE_ECOMMAND, "%u %s could not be obeyed, the first: %s", run->refusals, commands,
			run->refusal);
	if (shown < run->refusals)
		return fail(error, TROUPE_ECOMMAND,
			"%u %s could not be obeyed: the first %u are above (-v 2 shows all)", run->refusals, commands,
			shown);
	return fail(error, TROUPE_ECOMMAND, "%u %s could not be obeyed: see above", run->refusals, commands);
}

/* Saves the state if the run did not reach its own end. */
static troupe_status save_on_stop(struct run *run, struct troupe_error *error)
{
	const char *given = run->settings.network.save_on_stop;
	if (!given && run->mode == NETWORK_NONE)
		return TROUPE_OK;
	uint64_t step = troupe_server_progress(run->server).steps;
	if (!given && step == run->begun_at) /* no step was taken */
		return TROUPE_OK;
	char *pattern = given ? mem_strdup(given) : default_pattern(run);
	struct saving saving = {.every = true, .file = pattern};
	troupe_status status = save(run, &saving, step, true, error);
	free(pattern);
	return status;
}

static troupe_status bad_lines_counted(const struct run *run, struct troupe_error *error)
{
	const char *lines = run->bad_lines == 1 ? "line" : "lines";
	if (run->settings.verbosity < 1)
		return fail(error, TROUPE_ECOMMAND, "%u %s of standard input could not be obeyed, the first: %s",
			run->bad_lines, lines, run->bad_line);
	return fail(error, TROUPE_ECOMMAND, "%u %s of standard input could not be obeyed: see above%s", run->bad_lines,
		lines, run->settings.verbosity < 2 && run->bad_lines > REFUSALS_SHOWN_MAX ? " (-v 2 shows all)" : "");
}

static troupe_status unsaved_counted(const struct run *run, struct troupe_error *error)
{
	return fail(error, run->unsaved_why.status, "%u %s could not be saved, the first: %s", run->unsaved,
		run->unsaved == 1 ? "state" : "states", run->unsaved_why.text);
}

/* *ret_stopped: the run was told to stop before its own end. */
static troupe_status run_to_end(struct run *run, bool *ret_stopped, struct troupe_error *error)
{
	run->begun_at = troupe_server_progress(run->server).steps;
	signals_tell(stop_server, run->server);
	signals_name_stuck(steps_of, run->server);
	log_begin(&run->log, run->server, signals_haste);
	commands_out_begin(&run->commands_out, signals_haste);
	troupe_status status =
		camera_out_begin(&run->camera_out, run->settings.camera_out, run->server, on_warning, run, error);
	if (!status)
		status = mcap_out_begin(&run->mcap_out, run->server, error);
	if (!status)
		status = lockstep_await(&run->settings.lockstep, run->server, error);
	if (!status)
		status = run_and_save(run, error);
	commands_in_end(run->commands_in);
	bool asked = signals_asked();
	*ret_stopped = asked || troupe_server_was_stopped(run->server);
	signals_name_stuck(NULL, NULL);
	signals_tell(NULL, NULL);
	status_clear(&run->status);
	if (status == TROUPE_EPEER && asked && run->mode != NETWORK_RANKS)
		status = TROUPE_OK; /* all processes were asked to stop: it does not matter which left first. Ranks go
				     * on until the primary stops them, so one that is lost has not left. */
	output_flush(&run->output);
	return status;
}

/* The error of the run has priority over errors of its files; errors of files have priority in the order of the
 * calls. */
static troupe_status go(struct run *run, struct troupe_error *error)
{
	bool lines = run->settings.trace || run->settings.hash_every, stopped;
	/* lines and a status line on one terminal would write over each other */
	bool quiet = run->settings.verbosity < 1 || (lines && isatty(STDOUT_FILENO));
	status_init(&run->status, quiet ? -1 : STDERR_FILENO);
	troupe_status status = run_to_end(run, &stopped, error);
	struct troupe_error later;
	troupe_status saved = status || stopped ? save_on_stop(run, &later) : TROUPE_OK;
	if (saved && status)
		cli_complain("run", "%s", later.text);
	else if (saved)
		*error = later;
	status = status ? status : saved;
	bool summarized = !status; /* also when some of its files could not be written */
	troupe_status next = log_end(&run->log, status ? &later : error);
	status = status ? status : next;
	next = troupe_server_end_recording(run->server, status ? &later : error);
	status = status ? status : next;
	next = commands_out_end(&run->commands_out, status ? &later : error);
	status = status ? status : next;
	next = camera_out_end(&run->camera_out, status ? &later : error);
	status = status ? status : next;
	next = mcap_out_end(&run->mcap_out, status ? &later : error);
	status = status ? status : next;
	next = deliver_report(run, summarized, status ? &later : error);
	output_flush(&run->output);
	int why = output_failed(&run->output);
	if (!status && !next && why)
		next = fail(error, TROUPE_EIO, "standard output: cannot write: %s", outfile_why(why));
	if (!status && !next && run->unsaved)
		next = unsaved_counted(run, error);
	if (!status && !next && run->refusals)
		next = refusals_counted(run, error);
	if (!status && !next && run->bad_lines)
		next = bad_lines_counted(run, error);
	return status ? status : next;
}

static void on_gateway(void *ctx, bool loud, const char *text)
{
	struct run *run = ctx;
	if (run->settings.verbosity >= (loud ? 1 : 3))
		cli_complain("run", "%s", text);
}

static troupe_status start_programs(struct run *run, struct troupe_error *error)
{
	const struct programs_place place = {.lockstep_socket = run->settings.lockstep.socket,
		.lockstep_address = lockstep_address(run->entrance),
		.others = gateways_addresses(run->gateways)};
	return programs_start(run->programs, run->server, &place, error);
}

/* Robot clients get their topics with the key of the secondaries, if viewers have no place of their own. */
static void serve_clients(struct settings *settings)
{
	struct gateways_settings *gateways = &settings->gateways;
	gateways->clients = network_awaits_clients(&settings->network);
	if (!gateways->clients || gateways->watch.listen)
		return;
	gateways->clients_listen = settings->network.listen;
	gateways->watch.key_file = settings->network.key_file;
	gateways->watch.insecure = settings->network.insecure;
}

/* Returns the exit status. */
static int run_world(struct run *run)
{
	struct troupe_error error;
	serve_clients(&run->settings);
	output_init(&run->output, STDOUT_FILENO, signals_haste);
	run->commands_out = (struct commands_out){.path = run->settings.commands_out, .warn = on_warning, .ctx = run};
	troupe_status status = TROUPE_OK;
	if (run->settings.programs)
		status = programs_create(run->settings.verbosity >= 1, &run->programs, &error);
	if (!status)
		status = prepare(run, &error);
	signals_unwatch();
	if (!status)
		status = gateways_start(&run->settings.gateways, run->server, on_gateway, run, &run->gateways, &error);
	bool misused = run->gateways && status == TROUPE_EINVAL;
	if (!status)
		status = lockstep_start(&run->settings.lockstep, run->server, on_note, run, &run->entrance, &error);
	if (!status && from_input(&run->settings))
		status = commands_in_create(
			run->server, STDIN_FILENO, "standard input", on_bad_line, run, &run->commands_in, &error);
	if (!status && run->programs)
		status = start_programs(run, &error);
	if (!status) {
		announce(run);
		status = go(run, &error);
	}
	if (status)
		cli_complain("run", "%s", error.text);
	signals_release();
	commands_in_destroy(run->commands_in);
	programs_stop(run->programs);
	gateways_end(run->gateways, status ? &error : NULL);
	lockstep_end(run->entrance, status, &error);
	troupe_server_destroy(run->server);
	children_end(&run->children);
	programs_destroy(run->programs);
	output_fini(&run->output);
	commands_fini(&run->commands);
	commands_out_fini(&run->commands_out);
	vec_free(&run->savings);
	if (misused)
		return CLI_BAD_USAGE;
	return run->mode == NETWORK_NONE ? cli_exit_status(status) : network_exit_status(status);
}

/* Says with which mode the option cannot be combined, in the words by which the mode was chosen. */
static void complain_of_misfit(struct run *run, const struct option_spec *spec, unsigned fits)
{
	static const char *const roles[] = {[NETWORK_NONE] = "none",
		[NETWORK_PRIMARY] = "primary",
		[NETWORK_SECONDARY] = "secondary",
		[NETWORK_CLIENT] = "client"};
	const struct network_settings *network = &run->settings.network;
	bool for_primary = (run->mode == NETWORK_SECONDARY || run->mode == NETWORK_CLIENT) && fits & PRIMARY;
	struct text with = {0};
	if (run->mode == NETWORK_CHILDREN || run->mode == NETWORK_RANKS)
		text_add(&with, "not with --transport %s", network->transport);
	else if (run->mode == NETWORK_NONE && !network->role)
		text_add(&with, "not without --network-role%s", fits & CHILDREN ? " or --transport tcp" : "");
	else if (*network->role_variable)
		text_add(&with, "not with %s=%s in the environment", network->role_variable, network->role);
	else
		text_add(&with, "not with --network-role %s", roles[run->mode]);
	cli_complain("run", "%s: %s%s; see troupe run --help", option_name(spec, &run->arena), with.at,
		for_primary ? ": it is for the primary" : "");
	text_fini(&with);
}

static bool check_fits(struct run *run)
{
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		unsigned fits = specs[i].tags ? specs[i].tags : ANY & ~(SECONDARY | CLIENT);
		bool set_aside = run->settings.network.taken_back && run->sources[i] == OPTION_IN_FILE;
		if (!run->sources[i] || specs[i].kind == OPTION_OPERAND || fits & 1u << run->mode || set_aside)
			continue;
		complain_of_misfit(run, &specs[i], fits);
		return false;
	}
	return true;
}

/* Appends "--NAME VALUE" for each value that an option was given. */
static void pass_on(struct run *run, const struct option_spec *spec, char **argv, int *argc)
{
	const void *value = (const char *)&run->settings + spec->offset;
	const struct option_list *list = value;
	const char *known = strcmp(spec->name, "iterations") ? spec->name : "until-step";
	char *name = arena_printf(&run->arena, "--%s", known);
	uint32_t count = spec->kind == OPTION_LIST ? list->count : 1;
	for (uint32_t i = 0; i < count; i++) {
		argv[(*argc)++] = name;
		if (spec->kind == OPTION_WHOLE)
			argv[(*argc)++] = arena_printf(&run->arena, "%" PRId64, *(const int64_t *)value);
		else if (spec->kind == OPTION_LIST)
			argv[(*argc)++] = arena_strdup(&run->arena, list->at[i]);
		else if (spec->kind != OPTION_FLAG)
			argv[(*argc)++] = arena_strdup(&run->arena, *(const char *const *)value);
	}
}

static bool is_among(const char *name, const char *names)
{
	size_t count = name ? strlen(name) : 0;
	for (const char *at = names; count && (at = strstr(at, name)); at += count)
		if ((at == names || at[-1] == ' ') && (at[count] == ' ' || !at[count]))
			return true;
	return false;
}

/* The world's LogPlayback says so: the recording is replayed, or shown to a browser or Foxglove if the run would have
 * been. An option that means nothing then is refused: whoever gives it expects a run. */
static int play_back(struct run *run)
{
	static const char passed[] =
		"secondaries transport chaos network-stale-ms resource-path plugin-path mcap topic "
		"verbose view-address view-cert view-key foxglove foxglove-cert foxglove-key "
		"foxglove-origin foxglove-insecure",
			  set_aside[] = "recordings config strict programs no-gz rtf update-rate view distributed";
	const struct settings *settings = &run->settings;
	bool shown = settings->gateways.view || settings->gateways.view_address;
	char *argv[2 * (OPTION_LIST_MAX + 1) * 4 + 2 * ARRAY_LEN(specs)];
	int argc = 0;
	for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
		const struct option_spec *spec = &specs[i];
		if (!run->sources[i] || spec->kind == OPTION_OPERAND || spec->kind == OPTION_NOTHING ||
			spec->kind == OPTION_UNFLAG || is_among(spec->name, set_aside))
			continue;
		bool limits = is_among(spec->name, "iterations") && !shown;
		if ((!is_among(spec->name, passed) && !limits) || (spec->tags && !(spec->tags & ALONE)) ||
			run->mode == NETWORK_RANKS) {
			cli_complain("run", "%s: not with --recordings and the LogPlayback of %s, which replays %s",
				option_name(spec, &run->arena), run->recordings.place, run->recordings.playback);
			return CLI_BAD_USAGE;
		}
		pass_on(run, spec, argv, &argc);
	}
	argv[argc++] = arena_strdup(&run->arena, "--");
	argv[argc++] = arena_strdup(&run->arena, run->recordings.playback);
	if (settings->verbosity >= 1)
		cli_complain("run", "%s: LogPlayback: troupe %s %s, instead of a run", run->recordings.place,
			shown ? "view" : "replay", run->recordings.playback);
	signals_unwatch();
	signals_release();
	return (shown ? cli_view : cli_replay)(argc, argv);
}

/* What the user says has priority. */
static troupe_status record_as_told(struct run *run, struct troupe_error *error)
{
	struct recordings *recordings = &run->recordings;
	struct settings *settings = &run->settings;
	if (settings->record) {
		if (settings->verbosity >= 1)
			cli_complain(
				"run", "%s: LogRecord is not obeyed, because --record is given", recordings->place);
		return TROUPE_OK;
	}
	troupe_status status = recordings_open(recordings, &run->arena, error);
	if (status)
		return status;
	settings->record = recordings->record;
	settings->record_every = recordings->every ? (int64_t)recordings->every : settings->record_every;
	if (recordings->mcap && settings->mcap)
		on_warning(run, arena_printf(&run->arena, "%s: <record_topic> is not obeyed, because --mcap is given",
					recordings->place));
	else if (recordings->mcap) {
		settings->mcap = recordings->mcap;
		settings->topics = recordings->topics;
	}
	if (settings->verbosity >= 1)
		cli_complain("run", "%s: LogRecord: recorded in %s", recordings->place, recordings->folder);
	return TROUPE_OK;
}

/* False: *ret_exit is the exit status. */
static bool obey_recordings(struct run *run, int *ret_exit)
{
	const struct settings *settings = &run->settings;
	struct troupe_error error;
	if (!recordings_read(settings->world, settings->resource_paths.at, on_warning, run, &run->arena,
		    &run->recordings, ret_exit))
		return false;
	if (run->recordings.playback) {
		*ret_exit = play_back(run);
		return false;
	}
	if (!run->recordings.folder || !record_as_told(run, &error))
		return true;
	cli_complain("run", "%s", error.text);
	*ret_exit = cli_exit_status(error.status);
	return false;
}

static int run_logged(struct run *run)
{
	const struct settings *settings = &run->settings;
	struct troupe_error error;
	int exit_status = CLI_BAD_USAGE;
	if (settings->recordings && !obey_recordings(run, &exit_status))
		return exit_status;
	troupe_status status = log_init(
		&run->log, settings->log, (uint64_t)settings->log_every, settings->log_what, on_warning, run, &error);
	if (!status)
		status = mcap_out_init(&run->mcap_out, settings->mcap, &settings->topics, on_warning, run, &error);
	if (!status)
		exit_status = run_world(run);
	else
		cli_complain("run", "%s; see troupe run --help", error.text);
	mcap_out_fini(&run->mcap_out);
	log_fini(&run->log);
	recordings_close(&run->recordings);
	return exit_status;
}

/* All processes have the same command line; that of a secondary is the primary's concern. */
static int run_as_rank(struct run *run)
{
	struct network_settings *network = &run->settings.network;
	int exit_status;
	if (network_join(network, run->settings.secondaries, &exit_status))
		exit_status = troupe_job_number(network->job)
				      ? network_be_secondary(network, run->settings.plugin_paths.at,
						run->settings.break_rule, run->settings.verbosity, NULL)
				      : run_logged(run);
	network_leave(network, exit_status);
	return exit_status;
}

static int run_as_told(struct run *run)
{
	struct settings *settings = &run->settings;
	if (!network_choose(&settings->network, &run->mode) || !check_fits(run) ||
		!network_settle(&settings->network, run->mode, settings->secondaries))
		return CLI_BAD_USAGE;
	bool world = settings->world || settings->resume;
	bool secondary = run->mode == NETWORK_SECONDARY || run->mode == NETWORK_CLIENT;
	if (!secondary && !world) {
		cli_complain("run", "no WORLD.sdf given; see troupe run --help");
		return CLI_BAD_USAGE;
	}
	if (run->mode == NETWORK_RANKS)
		return run_as_rank(run);
	if (!secondary)
		return run_logged(run);
	if (world)
		cli_complain("run", "%s: ignored, because the primary sends a secondary its world", settings->world);
	if (run->mode == NETWORK_CLIENT)
		return client_run(&settings->network, &settings->gateways, settings->plugin_paths.at,
			settings->break_rule, settings->verbosity);
	return network_be_secondary(
		&settings->network, settings->plugin_paths.at, settings->break_rule, settings->verbosity, NULL);
}

int cli_run(int argc, char **argv)
{
	struct run run = {.settings = {.secondaries = TROUPE_SECONDARIES_AUTO,
				  .rtf = -1,
				  .gateways.ros2_domain = -1,
				  .chaos = -1,
				  .verbosity = 1,
				  .record_every = 1000,
				  .costs_every = 100,
				  .network.socket = -1}};
	int exit_status;
	signals_catch();
	signals_watch(LOADING_GRACE_MS, leave_loading, &run);
	if (options_parse(&command, argc, argv, &run.settings, &run.arena, run.sources, &exit_status))
		exit_status = run_as_told(&run);
	signals_unwatch();
	arena_fini(&run.arena);
	return exit_status;
}
