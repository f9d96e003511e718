/* The table of the options of `troupe run`. A test compares it with the manual page troupe-run(1). */
#include "cli/run_modes.h"

#include "base/text.h"
#include "cli/cli.h"
#include "cli/mcap_out.h"

#include <troupe/barrier.h>
#include <troupe/server.h>

#include <stddef.h>
#include <string.h>

#define RUN_SETTINGS_AT(member) offsetof(struct run_settings, member)
#define RUN_SETTINGS_WHOLE_MAX 9223372036854775807.0
#define CHAOS_MOVES_MAX 1000000
_Static_assert(!(ANY & (RUN_BOUND | RUN_PLAYED | RUN_NOT_PLAYED | RUN_LIMIT)), "a mode is no other tag");
static const struct option_spec run_settings_specs[] = {
	{OPTION_OPERAND, .name = "world", .argument = "WORLD.sdf", .offset = RUN_SETTINGS_AT(world), .unless = "resume",
		.optional = true},
	{OPTION_HEADING, .help = "World and input"},
	{OPTION_LIST, .name = "resource-path", .tags = RUN_PLAYED, .argument = "DIR",
		.offset = RUN_SETTINGS_AT(resource_paths),
		.help = "search this folder for worlds, files of commands, model:// and relative file names; may be "
			"repeated"},
	{OPTION_LIST, .name = "plugin-path", .tags = ANY | RUN_PLAYED, .argument = "DIR",
		.offset = RUN_SETTINGS_AT(plugin_paths),
		.help = "search this folder, or these folders with colons between, for the libraries of plug-ins; may "
			"be repeated"},
	XACRO_OPTIONS(RUN_SETTINGS_AT(xacro.expand), RUN_SETTINGS_AT(xacro.arguments), "resume"),
	{OPTION_FLAG, .name = "strict", .tags = RUN_NOT_PLAYED, .offset = RUN_SETTINGS_AT(strict),
		.help = "treat a warning about the world as an error: exit status 1 before the first step"},
	{OPTION_TEXT, .name = "commands", .tags = RUN_BOUND, .argument = "FILE", .offset = RUN_SETTINGS_AT(commands),
		.help = "obey the commands of this file, each at its step; each line is: STEP TOPIC TEXT; after a "
			"first line \"time: simulated\": SECONDS TOPIC TEXT, again after each reset. \"-\": read lines "
			"from standard input while the world runs; without STEP, or if it is past: at the next step"},
	{OPTION_WHOLE, .name = "seed", .argument = "N", .offset = RUN_SETTINGS_AT(seed), .hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "seed of all random numbers: of the iterative solver, of plug-ins and of the noise of sensors "
			"(default: 0)"},
	{OPTION_TEXT, .name = "resume", .tags = RUN_BOUND, .argument = "FILE", .offset = RUN_SETTINGS_AT(resume),
		.help = "continue from this saved state, instead of starting WORLD.sdf; the file holds the world, the "
			"commands that are still to come, the seed, and the settings of levels and sleep"},
	{OPTION_CONFIG, .name = "config", .tags = ANY | RUN_NOT_PLAYED, .argument = "FILE",
		.offset = RUN_SETTINGS_AT(config),
		.help = "read settings from this XML file: <troupe> with <world> and with elements named like the "
			"long options; the command line overrides them"},
	{OPTION_HEADING, .help = "Time"},
	{OPTION_WHOLE, .name = "iterations", .tags = RUN_LIMIT, .argument = "N", .offset = RUN_SETTINGS_AT(iterations),
		.hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "stop when N steps have been taken, counted from step 0 also with --resume; 0: no limit (the "
			"default)"},
	{OPTION_REAL, .name = "until", .argument = "SECONDS", .offset = RUN_SETTINGS_AT(until_s), .hi = 1e9,
		.help = "stop at this simulated time; 0: no limit (the default)"},
	{OPTION_REAL, .name = "rtf", .tags = RUN_NOT_PLAYED, .argument = "X", .offset = RUN_SETTINGS_AT(rtf), .hi = 1e6,
		.excludes = "update-rate",
		.help = "real-time factor: simulated seconds for each second of real time; 0: as fast as possible "
			"(default: the factor that the world gives)"},
	{OPTION_REAL, 'z', "update-rate", "HZ", RUN_SETTINGS_AT(rate_hz), .tags = RUN_NOT_PLAYED, .lo = 1e-3,
		.hi = 1e12, .excludes = "rtf",
		.help = "steps for each second of real time; replaces the real-time factor"},
	{OPTION_REAL, .name = "initial-sim-time", .argument = "SECONDS", .offset = RUN_SETTINGS_AT(initial_time_s),
		.hi = 1e9, .help = "simulated time at step 0 (default: 0)"},
	{OPTION_FLAG, .name = "paused", .offset = RUN_SETTINGS_AT(paused),
		.help = "start paused; a command to /world/NAME/control starts the simulation"},
	{OPTION_UNFLAG, 'r', .offset = RUN_SETTINGS_AT(paused),
		.help = "start running (the default); cancels --paused"},
	{OPTION_HEADING, .help = "Secondaries and levels"},
	{OPTION_WHOLE, .name = "secondaries", .tags = RUN_PLAYED, .argument = "N",
		.offset = RUN_SETTINGS_AT(secondaries), .hi = TROUPE_SECONDARIES_MAX,
		.help = "number of secondaries, each a thread; 0: a single runner without a primary (default: the "
			"number that the world gives; if it gives none, as many as make the run faster, at most one "
			"for each core, found by trials during the run)"},
	{OPTION_CHOICE, .name = "distribution", .argument = "POLICY", .offset = RUN_SETTINGS_AT(distribution),
		.choices = "round-robin balanced",
		.help = "how performers and levels are assigned to secondaries: round-robin, in turn (the default); "
			"balanced, by measured cost. The state does not depend on it"},
	{OPTION_WHOLE, .name = "window", .argument = "N", .offset = RUN_SETTINGS_AT(window), .hi = TROUPE_WINDOW_MAX,
		.help = "the most steps that secondaries take before they exchange with the primary; 1: each step by "
			"itself; 0: found out, while nothing is due, and so that no command waits for more than 20 ms "
			"of simulated time (the default). The state does not depend on it"},
	{OPTION_LIST, .name = "pin", .tags = RUN_BOUND, .argument = "PERFORMER=I", .offset = RUN_SETTINGS_AT(pins),
		.help = "simulate this performer (its own name, or its model's) or this level on secondary I, as "
			"<secondary> in the world does; may be repeated, once for each name"},
	{OPTION_UNFLAG, .name = "levels", .offset = RUN_SETTINGS_AT(no_levels),
		.help = "use the levels of the world (the default); cancels --no-levels"},
	{OPTION_FLAG, .name = "no-levels", .offset = RUN_SETTINGS_AT(no_levels),
		.help = "ignore the levels of the world: all models are always loaded"},
	{OPTION_FLAG, .name = "load-all", .offset = RUN_SETTINGS_AT(load_all),
		.help = "read the meshes and heightmaps of all levels before the first step, as --strict does; "
			"otherwise "
			"those of levels that no performer is near are read when one comes. The state does not depend "
			"on it"},
	{OPTION_FLAG, .name = "no-sleep", .offset = RUN_SETTINGS_AT(no_sleep),
		.help = "step models at rest, too; <allow_auto_disable>false does this for one model; with --resume, "
			"from there on"},
	{OPTION_CHOICE, .name = "solver", .argument = "NAME", .offset = RUN_SETTINGS_AT(solver), .choices = "lanes ode",
		.help = "the solver of contacts and joints: lanes, troupe's own solver, which leaves to ODE what it "
			"cannot solve (the default); ode, ODE alone, with --resume from there on. Both change the "
			"bits"},
	{OPTION_FLAG, .name = "sense-all", .offset = RUN_SETTINGS_AT(sense_all),
		.help = "all sensors measure, not only those whose topics have subscribers; the summary has their "
			"digest"},
	{OPTION_CHOICE, .name = "transport", .tags = RUN_SETTINGS_ALONE | CHILDREN | RANKS | RUN_PLAYED,
		.argument = "NAME", .offset = RUN_SETTINGS_AT(network.transport), .list = network_transports,
		.help = "inproc: secondaries are threads (the default); tcp: secondaries are processes on this "
			"machine, which this process starts and which end with it; mpi: mpirun or srun starts the "
			"processes: rank 0 is the primary, each other rank is a secondary"},
	{OPTION_HEADING, .help = "Output"},
	{OPTION_WHOLE, 'v', "verbose", "LEVEL", RUN_SETTINGS_AT(verbosity), .hi = 4, .bare = "3",
		.tags = ANY | RUN_PLAYED,
		.help = "what is printed on standard error. 0: errors; 1: also the first 20 warnings and, without "
			"--report, a summary (the default); 2: all warnings; 3 or 4: also the worlds and their "
			"runners. Without LEVEL: 3"},
	{OPTION_TEXT, .name = "report", .tags = RUN_BOUND, .argument = "FILE", .offset = RUN_SETTINGS_AT(report),
		.help = "write a report of the run as JSON when it ends; \"-\": to standard output"},
	{OPTION_FLAG, .name = "trace", .offset = RUN_SETTINGS_AT(trace),
		.help = "print a line on standard output for each move of a performer, each load and unload of a "
			"level, each ghost, and each reply to a command to the world"},
	{OPTION_WHOLE, .name = "hash-every", .argument = "N", .offset = RUN_SETTINGS_AT(hash_every),
		.hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "print a line \"hash STEP HEX16\" on standard output every N steps; 0: no such line (the "
			"default)"},
	{OPTION_HEADING, .help = "Saved states and recordings"},
	{OPTION_PAIR, .name = "save-at", .tags = RUN_BOUND, .argument = "STEP FILE", .offset = RUN_SETTINGS_AT(save_at),
		.help = "save the state of this step; may be repeated"},
	{OPTION_PAIR, .name = "save-every", .tags = RUN_BOUND, .argument = "N FILE",
		.offset = RUN_SETTINGS_AT(save_every),
		.help = "save the state every N steps; %s in the name of the file becomes the step; without %s each "
			"state replaces the one before; may be repeated"},
	{OPTION_TEXT, .name = "save-on-stop", .tags = RUN_BOUND, .argument = "FILE",
		.offset = RUN_SETTINGS_AT(network.save_on_stop),
		.help = "save the state if the run ends before its limit: it was told to stop, a process was lost, or "
			"a model diverged; %s becomes the step (default with --transport tcp or mpi and with "
			"--network-role primary and standby: troupe-WORLD-%s.state)"},
	{OPTION_TEXT, .name = "save-dir", .argument = "DIR", .offset = RUN_SETTINGS_AT(save_dir),
		.help = "let clients save the state in this folder, and take it up again, with the services "
			"/world/NAME/save and resume and the name of a file (default: clients cannot)"},
	{OPTION_TEXT, .name = "record", .tags = RUN_BOUND, .argument = "FILE", .offset = RUN_SETTINGS_AT(record),
		.help = "record the run for troupe replay: the first state, the commands with their steps, and states "
			"to compare with"},
	{OPTION_WHOLE, .name = "record-every", .needs = "record", .argument = "N",
		.offset = RUN_SETTINGS_AT(record_every), .lo = 1, .hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "with --record: record a state every N steps (default: 1000)"},
	{OPTION_FLAG, .name = "recordings", .tags = RUN_BOUND | RUN_NOT_PLAYED, .excludes = "resume",
		.offset = RUN_SETTINGS_AT(recordings),
		.help = "record as the world's LogRecord says, into its <record_path>; or replay the recording in "
			"the <playback_path> of its LogPlayback, as troupe replay does, instead of running the world "
			"(default: a world makes no files, and a warning names the plug-in)"},
	{OPTION_TEXT, .name = "commands-out", .tags = RUN_BOUND, .argument = "FILE",
		.offset = RUN_SETTINGS_AT(commands_out),
		.help = "write all commands that are taken, also those of other programs, with their steps; --commands "
			"FILE then repeats the run"},
	{OPTION_HEADING, .help = "MCAP files, for Foxglove and ROS 2"},
	{OPTION_TEXT, .name = "mcap", .tags = RUN_BOUND | RUN_PLAYED, .argument = "FILE",
		.offset = RUN_SETTINGS_AT(mcap),
		.help = "record topics into this file while the world runs; those that ROS 2 has a type for in its "
			"form. "
			"The same run gives the same file"},
	{OPTION_LIST, .name = "topic", .tags = RUN_PLAYED, .needs = "mcap", .argument = "PATTERN[@HZ]",
		.offset = RUN_SETTINGS_AT(topics),
		.help = "with --mcap: record the topics that match, * and ? as in a shell, at most HZ times a "
			"simulated "
			"second; may be repeated (default: all but pictures, point clouds and those about the run "
			"itself)"},
	{OPTION_CHOICE, .name = "mcap-names", .tags = RUN_PLAYED, .needs = "mcap", .argument = "NAMES",
		.offset = RUN_SETTINGS_AT(mcap_names), .choices = MCAP_OUT_NAMES,
		.help = "the names of topics in the file: ros: those that nodes see with --ros2, with the same types, "
			"/tf and /tf_static, so that ros2 bag plays the file; gz: the run's own (default: ros with "
			"--ros2 or --rosbridge, else gz)"},
	{OPTION_TEXT, .name = "mcap-robot", .tags = RUN_PLAYED, .needs = "mcap", .argument = "MODEL",
		.offset = RUN_SETTINGS_AT(mcap_robot),
		.help = "with names of ROS 2: as --ros2-robot (default: what that or --rosbridge-robot says)"},
	{OPTION_HEADING, .help = "Tables"},
	{OPTION_TEXT, .name = "log", .tags = RUN_BOUND, .argument = "FILE.csv", .offset = RUN_SETTINGS_AT(log),
		.help = "write the states of models, joints and other entities as a table: one row for each entity "
			"and sample; troupe plot draws it"},
	{OPTION_WHOLE, .name = "log-every", .needs = "log", .argument = "N", .offset = RUN_SETTINGS_AT(log_every),
		.lo = 1, .hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "with --log: take a sample every N steps (default: every 10 ms of simulated time)"},
	{OPTION_TEXT, .name = "log-what", .needs = "log", .argument = "PATTERN", .offset = RUN_SETTINGS_AT(log_what),
		.help = "with --log: the entities, as a list with commas of KIND, KIND:MODEL, KIND:MODEL/NAME or "
			"MODEL; * and ? match as in a shell. Kinds: model, link, joint, contact, odometry, secondary "
			"(models, with the secondary that simulates them), effort (joints, with their efforts), "
			"sensor (samples of sensors) "
			"(default: model,joint,odometry)"},
	{OPTION_TEXT, .name = "camera-out", .tags = RUN_BOUND, .argument = "DIR", .offset = RUN_SETTINGS_AT(camera_out),
		.help = "write the pictures of all cameras into this folder, as PNG files; the run waits for them"},
	{OPTION_CHOICE, .name = "camera-format", .tags = RUN_BOUND, .needs = "camera-out", .argument = "FORMAT",
		.offset = RUN_SETTINGS_AT(camera_format), .choices = "coco kitti",
		.help = "with --camera-out: the pictures of each boundingbox_camera, and of each camera that gives "
			"segments, become a data set with the boxes and masks of what they show: coco, instances.json "
			"and panoptic.json; kitti, folders image_2, label_2, calib and instance_2"},
	{OPTION_TEXT, .name = "costs", .tags = RUN_BOUND, .argument = "FILE", .offset = RUN_SETTINGS_AT(costs),
		.help = "write the measured cost of a step of each model as a table"},
	{OPTION_WHOLE, .name = "costs-every", .needs = "costs", .argument = "N", .offset = RUN_SETTINGS_AT(costs_every),
		.lo = 1, .hi = RUN_SETTINGS_WHOLE_MAX,
		.help = "with --costs: take a sample every N steps (default: 100)"},
	{OPTION_HEADING, .help = "Networked mode: a primary and secondaries on several machines"},
	{OPTION_TEXT, .name = "network-role", .tags = ANY, .argument = "ROLE", .offset = RUN_SETTINGS_AT(network.role),
		.help = "primary: this process has the world, and waits for its secondaries; secondary: this process "
			"finds a primary, which sends it the world; client: a secondary with a name, to which the "
			"models belong that are created through it; standby: follows a primary, and takes its place "
			"when it is lost; none: ignore the role that the configuration file or the environment "
			"gives"},
	{OPTION_WHOLE, .name = "network-secondaries", .tags = PRIMARY, .argument = "N",
		.offset = RUN_SETTINGS_AT(network.secondaries), .lo = 1, .hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: start when exactly N secondaries are there; --secondaries means the same"},
	{OPTION_WHOLE, .name = "network-max", .tags = PRIMARY, .argument = "M", .offset = RUN_SETTINGS_AT(network.most),
		.lo = 1, .hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: further secondaries may join while the world runs, up to M in all (default: as many "
			"as "
			"it starts with)"},
	{OPTION_CHOICE, .name = "on-loss", .tags = PRIMARY | CHILDREN, .argument = "WHAT",
		.offset = RUN_SETTINGS_AT(network.on_loss), .choices = "stop continue",
		.help = "primary: what happens when a secondary is lost. stop: the run ends (the default); continue: "
			"it "
			"goes on with the others from the last state that all had, with the same results; without any, "
			"it waits for one (--network-wait)"},
	{OPTION_WHOLE, .name = "network-spares", .needs = "on-loss", .tags = PRIMARY, .argument = "N",
		.offset = RUN_SETTINGS_AT(network.spares), .lo = 1, .hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: let N more secondaries wait, to take the place of one that is lost"},
	{OPTION_FLAG, .name = "network-standby", .tags = SECONDARY, .offset = RUN_SETTINGS_AT(network.standby),
		.help = "secondary: start a standby beside it, as another process, with the same --network options; "
			"needs --network-address"},
	{OPTION_TEXT, .name = "network-listen", .tags = PRIMARY | SECONDARY, .argument = "[HOST][:PORT]",
		.offset = RUN_SETTINGS_AT(network.listen),
		.help = "primary: the address to listen on; *: all interfaces (default: all interfaces with a key, "
			"without one only this machine; port 47082); standby: the address on which it listens when it "
			"has taken over"},
	{OPTION_TEXT, .name = "network-address", .excludes = "network-interface", .tags = SECONDARY | CLIENT | STANDBY,
		.argument = "HOST[:PORT]", .offset = RUN_SETTINGS_AT(network.address),
		.help = "secondary: the address of the primary (default: found by multicast; port 47082); a client "
			"and a standby need it"},
	{OPTION_TEXT, .name = "network-interface", .excludes = "network-address", .tags = PRIMARY | SECONDARY,
		.argument = "NAME", .offset = RUN_SETTINGS_AT(network.interface),
		.help = "the interface for multicast, by its name or its IPv4 address (default: all that allow "
			"multicast)"},
	{OPTION_TEXT, .name = "network-partition", .tags = PRIMARY | SECONDARY | CLIENT, .argument = "NAME",
		.offset = RUN_SETTINGS_AT(network.partition),
		.help = "meet only processes with the same NAME; keeps simulations on one network apart"},
	{OPTION_TEXT, .name = "network-key-file", .excludes = "network-insecure", .tags = PRIMARY | SECONDARY | CLIENT,
		.argument = "FILE", .offset = RUN_SETTINGS_AT(network.key_file),
		.help = "the key, the same for all processes (default: the key of troupe keygen, if there is one)"},
	{OPTION_FLAG, .name = "network-insecure", .excludes = "network-key-file", .tags = PRIMARY | SECONDARY | CLIENT,
		.offset = RUN_SETTINGS_AT(network.insecure),
		.help = "use no key, also with other machines: any process that reaches the port can take part"},
	{OPTION_WHOLE, .name = "network-stale-ms", .tags = PRIMARY | CHILDREN | RANKS | RUN_PLAYED, .argument = "MS",
		.offset = RUN_SETTINGS_AT(network.stale_ms), .lo = 10, .hi = 3600000,
		.help = "primary: a process that is silent for MS milliseconds is lost (default: 1000)"},
	{OPTION_WHOLE, .name = "network-threads", .tags = SECONDARY | CLIENT | CHILDREN | RANKS, .argument = "N",
		.offset = RUN_SETTINGS_AT(network.threads), .lo = 1, .hi = TROUPE_NETWORK_THREADS_MAX,
		.help = "secondary: step the models with N threads (default: one for each core; with --transport tcp "
			"the secondaries share the cores, less one for the primary; with mpi: one)"},
	{OPTION_REAL, .name = "network-wait", .tags = PRIMARY | SECONDARY | CLIENT, .argument = "SECONDS",
		.offset = RUN_SETTINGS_AT(network.wait_s), .hi = 1e9,
		.help = "give up if the processes have not met after SECONDS; 0: wait for ever (the default)"},
	{OPTION_WHOLE, .name = "network-socket", .tags = SECONDARY, .argument = "FILE",
		.offset = RUN_SETTINGS_AT(network.socket), .hi = 1 << 20,
		.help = "secondary: the number of an open socket that is connected to the primary; --transport tcp "
			"gives this to the processes that it starts"},
	{OPTION_HEADING, .help = "Robot clients: secondaries with a name, through which models are created"},
	{OPTION_TEXT, .name = "name", .tags = CLIENT, .argument = "NAME", .offset = RUN_SETTINGS_AT(network.name),
		.help = "client: its name, with which its topics and services begin: /NAME/...; a letter, then "
			"letters, digits and _"},
	{OPTION_LIST, .name = "client", .tags = PRIMARY, .argument = "NAME", .offset = RUN_SETTINGS_AT(network.clients),
		.help = "primary: start when the client of this name is there, too; may be repeated"},
	{OPTION_WHOLE, .name = "clients", .tags = PRIMARY, .argument = "MAX",
		.offset = RUN_SETTINGS_AT(network.clients_max), .hi = TROUPE_SECONDARIES_MAX,
		.help = "primary: clients of any name may join while the world runs, MAX at one time with those of "
			"--client (default: only those of --client)"},
	{OPTION_CHOICE, .name = "client-lost", .tags = PRIMARY, .argument = "WHAT",
		.offset = RUN_SETTINGS_AT(network.client_lost), .choices = "remove keep end",
		.help = "primary: what happens when a client has left or was lost. remove: its models are removed (the "
			"default); keep: other secondaries simulate them; end: the run ends. For the others see "
			"--on-loss"},
	{OPTION_CHOICE, .name = "client-rights", .tags = PRIMARY, .argument = "WHAT",
		.offset = RUN_SETTINGS_AT(network.client_rights), .choices = "own world all",
		.help = "primary: on what clients, and the plug-ins of their models, may act. own: the models that "
			"were created through the client (the default; of a resumed run: as before); world: also "
			"models that were created through no client, and plug-ins of the world; all: everything, with "
			"all services"},
	{OPTION_HEADING, .help = "Other programs: topics and services of the running world"},
	{OPTION_LIST, .name = "serve", .tags = SERVING | RUN_PLAYED, .argument = "NAME[=ADDRESS][,KEY=VALUE]...",
		.offset = RUN_SETTINGS_AT(gateways.serve),
		.help = "serve a protocol: gz, view, foxglove, rosbridge, ros2, ws (JSON and protobuf through a "
			"plain WebSocket), ardupilot, or px4; ADDRESS: [ADDRESS:]PORT; may be repeated. The other "
			"options "
			"here are other ways to write this one"},
	{OPTION_FLAG, .name = "no-gz", .tags = SERVING | RUN_NOT_PLAYED, .excludes = "gz-address",
		.offset = RUN_SETTINGS_AT(gateways.no_gz),
		.help = "do not offer topics and services by gz-transport (by default they are offered to programs on "
			"this machine)"},
	{OPTION_TEXT, .name = "gz-address", .tags = SERVING, .excludes = "no-gz", .argument = "ADDRESS",
		.offset = RUN_SETTINGS_AT(gateways.gz_address),
		.help = "offer them to other hosts, too, through the interface of this machine that has this IPv4 "
			"address; any program that reaches it can see and command everything"},
	{OPTION_FLAG, .name = "view", .tags = SERVING | RUN_NOT_PLAYED, .with = "view-address",
		.excludes = "view-address", .offset = RUN_SETTINGS_AT(gateways.view),
		.help = "show the run in a browser of this machine: prints the address of a page, at port 8686 or any "
			"free one; --view [ADDRESS:]PORT is --view-address"},
	{OPTION_TEXT, .name = "view-address", .tags = SERVING | RUN_PLAYED, .excludes = "view",
		.argument = "[ADDRESS:]PORT", .offset = RUN_SETTINGS_AT(gateways.view_address),
		.help = "the same at this port, and through the interface of this machine that has this address, or "
			"through all with *; then the printed address has a token, and whoever has it can command "
			"everything"},
	{OPTION_TEXT, .name = "view-cert", .tags = SERVING | RUN_PLAYED, .needs = "view-key", .argument = "FILE",
		.offset = RUN_SETTINGS_AT(gateways.view_cert),
		.help = "serve the page with TLS: the certificate, a PEM file"},
	{OPTION_TEXT, .name = "view-key", .tags = SERVING | RUN_PLAYED, .needs = "view-cert", .argument = "FILE",
		.offset = RUN_SETTINGS_AT(gateways.view_key), .help = "the key of the certificate, a PEM file"},
	{OPTION_LIST, .name = "view-panel", .tags = SERVING | RUN_PLAYED, .argument = "DIR",
		.offset = RUN_SETTINGS_AT(gateways.view_panels),
		.help = "show this folder of files, with index.html, as a panel of the page (as --view does); may be "
			"repeated"},
	{OPTION_FLAG, .name = "token", .tags = SERVING, .excludes = "foxglove-insecure",
		.offset = RUN_SETTINGS_AT(gateways.token),
		.help = "all gateways with a port ask for a token also at an address of this machine only: "
			"other users of the machine, and their programs, do not have it"},
	{OPTION_TEXT, .name = "watch-listen", .argument = "[HOST][:PORT]",
		.offset = RUN_SETTINGS_AT(gateways.watch.listen),
		.help = "viewers of other processes join at this address; *: all interfaces; "
			"needs a key except on this machine (port 47083)"},
	{OPTION_TEXT, .name = "watch-key-file", .needs = "watch-listen", .excludes = "watch-insecure",
		.argument = "FILE", .offset = RUN_SETTINGS_AT(gateways.watch.key_file),
		.help = "their key (default: the key of troupe keygen, if there is one)"},
	{OPTION_FLAG, .name = "watch-insecure", .needs = "watch-listen", .excludes = "watch-key-file",
		.offset = RUN_SETTINGS_AT(gateways.watch.insecure),
		.help = "use no key, also with other hosts: any process that reaches the port can see everything"},
	{OPTION_TEXT, .name = "foxglove", .tags = SERVING | RUN_PLAYED, .argument = "[ADDRESS:]PORT",
		.offset = RUN_SETTINGS_AT(gateways.foxglove),
		.help = "serve Foxglove, Lichtblick and clients of their WebSocket protocol at this port, usually "
			"8765; ADDRESS is one of this machine, or * (default: 127.0.0.1, this machine only); other "
			"hosts need the token in the printed address"},
	{OPTION_TEXT, .name = "foxglove-cert", .tags = SERVING | RUN_PLAYED, .needs = "foxglove-key",
		.argument = "FILE", .offset = RUN_SETTINGS_AT(gateways.foxglove_cert),
		.help = "with --foxglove: use TLS (wss://): the certificate, a PEM file"},
	{OPTION_TEXT, .name = "foxglove-key", .tags = SERVING | RUN_PLAYED, .needs = "foxglove-cert",
		.argument = "FILE", .offset = RUN_SETTINGS_AT(gateways.foxglove_key),
		.help = "the key of the certificate, a PEM file"},
	{OPTION_TEXT, .name = "foxglove-origin", .tags = SERVING | RUN_PLAYED, .needs = "foxglove",
		.argument = "ORIGIN", .offset = RUN_SETTINGS_AT(gateways.foxglove_origin),
		.help = "web pages of ORIGIN (https://HOST[:PORT]) may connect, too, besides those of foxglove.dev and "
			"of this machine"},
	{OPTION_FLAG, .name = "foxglove-insecure", .tags = SERVING | RUN_PLAYED, .needs = "foxglove",
		.offset = RUN_SETTINGS_AT(gateways.foxglove_insecure),
		.help = "no token at any ADDRESS: any program that reaches it can see and command everything"},
	{OPTION_FLAG, .name = "ros2", .tags = SERVING, .offset = RUN_SETTINGS_AT(gateways.ros2),
		.help = "be a node of ROS 2, /troupe, for nodes of this machine: topics under ROS 2's names, in the "
			"domain of ROS_DOMAIN_ID (0)"},
	{OPTION_WHOLE, .name = "ros2-domain", .tags = SERVING, .needs = "ros2", .argument = "ID", .lo = 0, .hi = 232,
		.offset = RUN_SETTINGS_AT(gateways.ros2_domain), .help = "the domain, whatever ROS_DOMAIN_ID says"},
	{OPTION_TEXT, .name = "ros2-robot", .tags = SERVING, .needs = "ros2", .argument = "MODEL",
		.offset = RUN_SETTINGS_AT(gateways.ros2_robot),
		.help = "the model whose topics have names without its namespace, too: /scan beside /MODEL/scan "
			"(default: the only model with topics)"},
	{OPTION_CHOICE, .name = "ros2-distro", .tags = SERVING, .needs = "ros2", .argument = "NAME",
		.offset = RUN_SETTINGS_AT(gateways.ros2_distro), .choices = "humble jazzy",
		.help = "the release of ROS 2 of the other nodes; jazzy: it and all later ones (default: jazzy)"},
	{OPTION_TEXT, .name = "ros2-address", .tags = SERVING, .needs = "ros2", .argument = "ADDRESS",
		.offset = RUN_SETTINGS_AT(gateways.ros2_address),
		.help = "serve other hosts through the interface with this address of this machine: programs that "
			"reach it see everything and can command everything"},
	{OPTION_TEXT, .name = "rosbridge", .tags = SERVING, .argument = "[ADDRESS:]PORT",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge),
		.help = "serve clients of rosbridge, such as roslibjs, at this port, usually 9090; ADDRESS is one of "
			"this machine, or * (default: 127.0.0.1, this machine only); other hosts need the token in the "
			"printed address"},
	{OPTION_TEXT, .name = "rosbridge-robot", .tags = SERVING, .needs = "rosbridge", .argument = "MODEL",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge_robot), .help = "as --ros2-robot"},
	{OPTION_TEXT, .name = "rosbridge-cert", .tags = SERVING, .needs = "rosbridge-key", .argument = "FILE",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge_cert),
		.help = "with --rosbridge: use TLS (wss://): the certificate, a PEM file"},
	{OPTION_TEXT, .name = "rosbridge-key", .tags = SERVING, .needs = "rosbridge-cert", .argument = "FILE",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge_key), .help = "the key of the certificate, a PEM file"},
	{OPTION_TEXT, .name = "rosbridge-origin", .tags = SERVING, .needs = "rosbridge", .argument = "ORIGIN",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge_origin),
		.help = "web pages of ORIGIN (https://HOST[:PORT]) may connect, too, besides those of this machine"},
	{OPTION_FLAG, .name = "rosbridge-insecure", .tags = SERVING, .needs = "rosbridge", .excludes = "token",
		.offset = RUN_SETTINGS_AT(gateways.rosbridge_insecure),
		.help = "no token at any ADDRESS: any program that reaches it can see and command everything"},
	{OPTION_HEADING, .help = "Barrier clients: programs that the run waits for"},
	{OPTION_TEXT, .name = "lockstep-socket", .tags = RUN_BOUND, .argument = "PATH",
		.offset = RUN_SETTINGS_AT(lockstep.socket),
		.help = "clients join at this local socket, which only its owner can use"},
	{OPTION_TEXT, .name = "lockstep-listen", .tags = RUN_BOUND, .argument = "[HOST:]PORT",
		.offset = RUN_SETTINGS_AT(lockstep.listen),
		.help = "clients join at this TCP port; HOST is an address of this machine (default: 127.0.0.1, this "
			"machine only)"},
	{OPTION_FLAG, .name = "lockstep-insecure", .needs = "lockstep-listen",
		.offset = RUN_SETTINGS_AT(lockstep.insecure),
		.help = "HOST may be any address of this machine: any program that reaches it can command everything"},
	{OPTION_REAL, .name = "lockstep-deadline", .argument = "SECONDS",
		.offset = RUN_SETTINGS_AT(lockstep.deadline_s), .lo = 1e-3, .hi = TROUPE_BARRIER_DEADLINE_S_MAX,
		.help = "the longest time for an answer that a client may ask for (default: 60); the run stands still "
			"so long if the client does not answer"},
	{OPTION_LIST, .name = "wait-for", .tags = RUN_BOUND, .argument = "NAME",
		.offset = RUN_SETTINGS_AT(lockstep.wait_for),
		.help = "take no step until a barrier client of this name has joined; may be repeated"},
	{OPTION_REAL, .name = "wait-for-timeout", .needs = "wait-for", .argument = "SECONDS",
		.offset = RUN_SETTINGS_AT(lockstep.wait_s), .hi = 1e9,
		.help = "give up if they have not joined after SECONDS; 0: wait for ever (the default)"},
	{OPTION_HEADING, .help = "Programs of the world"},
	{OPTION_FLAG, .name = "programs", .tags = RUN_BOUND | RUN_NOT_PLAYED, .offset = RUN_SETTINGS_AT(programs),
		.help = "start the programs that the world names (plug-ins troupe::Program), and end them with the "
			"run. They can do all that you can: look at a world that is not yours before "
			"(default: they are not started, and named in a warning)"},
	{OPTION_HEADING, .help = "For tests: the state must not change, except with --break"},
	{OPTION_WHOLE, .name = "chaos", .tags = RUN_PLAYED, .argument = "SEED", .offset = RUN_SETTINGS_AT(chaos),
		.hi = RUN_SETTINGS_WHOLE_MAX, .help = "move random components to random secondaries at random steps"},
	{OPTION_WHOLE, .name = "chaos-moves", .needs = "chaos", .argument = "N", .offset = RUN_SETTINGS_AT(chaos_moves),
		.hi = CHAOS_MOVES_MAX,
		.help = "with --chaos: move N components in every step; 0: one component in about every fourth step "
			"(the default)"},
	{OPTION_FLAG, .name = "anew", .tags = RUN_SETTINGS_ALONE, .offset = RUN_SETTINGS_AT(anew),
		.help = "make all objects of the physics engine anew before each step"},
	{OPTION_CHOICE, .name = "lanes", .tags = RUN_SETTINGS_ALONE, .argument = "N", .offset = RUN_SETTINGS_AT(lanes),
		.choices = "2 4 8",
		.help = "how many islands troupe's own solver steps side by side: 2, 4 or 8 (default: as many as the "
			"processor has instructions for)"},
	{OPTION_CHOICE, .name = "break", .tags = ANY, .argument = "RULE", .offset = RUN_SETTINGS_AT(break_rule),
		.choices = "random pairs rotation reference proof sleepers levels leavers ties notes hits",
		.help = "break one rule of determinism: random, pairs, rotation or reference; or one about windows: "
			"proof, sleepers, levels, leavers, ties, notes or hits"},
	{OPTION_HEADING, .help = "Other"},
	{OPTION_NOTHING, 's', .tags = ANY, .help = "no effect; in Gazebo: run the server without a window"},
	{OPTION_FLAG, .name = "distributed", .tags = ANY | RUN_NOT_PLAYED,
		.offset = RUN_SETTINGS_AT(network.distributed),
		.help = "no effect without --network-role; in Gazebo: networked mode"},
	OPTIONS_HELP,

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
_Static_assert(ARRAY_LEN(run_settings_specs) <= OPTIONS_MAX, "options_parse() marks each option in an array");
#undef RUN_SETTINGS_AT

const struct options_command run_command = {
	.name = "run",
	.usage = "troupe run [OPTIONS] WORLD.sdf\n"
		 "       troupe run [OPTIONS] --resume FILE\n"
		 "       troupe run [OPTIONS] --network-role secondary\n"
		 "       troupe run [OPTIONS] --network-role client --name NAME\n"
		 "       troupe run [OPTIONS] --network-role standby --network-address HOST",
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
		 "  MENGE_RESOURCE_PATH\n"
		 "      folders with the files of crowds of Open-RMF; searched after all of these\n"
		 "  AMENT_PREFIX_PATH, ROS_PACKAGE_PATH\n"
		 "      where ROS has its packages: PREFIX/share for each PREFIX, and folders;\n"
		 "      they are searched after those\n"
		 "  GZ_FUEL_CACHE_PATH, IGN_FUEL_CACHE_PATH\n"
		 "      where Gazebo keeps what it has fetched from Fuel; also ~/.gz/fuel and\n"
		 "      ~/.ignition/fuel; searched last\n"
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
		 "      folder that is searched first for the modules of --transport mpi and\n"
		 "      --ros2\n"
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
	.specs = run_settings_specs,
	.spec_count = ARRAY_LEN(run_settings_specs),
};

bool run_settings_parse(int argc, char **argv, struct arena *arena, struct run_settings *ret_settings, int *ret_exit)
{
	*ret_settings = (struct run_settings){.secondaries = TROUPE_SECONDARIES_AUTO,
		.rtf = -1,
		.gateways.ros2_domain = -1,
		.chaos = -1,
		.verbosity = 1,
		.record_every = 1000,
		.costs_every = 100,
		.lockstep.deadline_s = 60,
		.network.socket = -1};
	return options_parse(&run_command, argc, argv, ret_settings, arena, ret_settings->sources, ret_exit);
}

bool run_settings_from_input(const struct run_settings *settings)
{
	return settings->commands && !strcmp(settings->commands, "-");
}
