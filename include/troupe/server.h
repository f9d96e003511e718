/* A server simulates the worlds of one file, each with its own runners, all in lockstep: create it from a definition,
 * run it, read its state, destroy it.
 *
 * Thread: one thread at a time calls a server's functions; functions marked "any thread" are the exception. Servers
 * are independent: several in one process work. The library never prints, never exits and installs no signal
 * handlers. A server whose world has meshes or images has one child process, made by fork(), from the first such file
 * until the server is destroyed. A program that waits for any child of its own may receive the exit of this child;
 * that does no harm to the server. */
#ifndef TROUPE_SERVER_H
#define TROUPE_SERVER_H

#include <troupe/base.h>
#include <troupe/world.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	TROUPE_SECONDARIES_AUTO = -1, /* the number that the world asks for; else as many as make steps faster, at most
				       * one per core: found while the server runs, from how long its steps take; none
				       * if there is nothing to share: further threads then help with large
				       * readings of sensors only. No bit depends on it. */
};

enum { /* bits of troupe_server_def.observe */
	TROUPE_OBSERVE_CONTACTS = 1,
	TROUPE_OBSERVE_EFFORTS = 2,
};

typedef enum troupe_event_kind {
	TROUPE_EVENT_MOVE,     /* performer `name` goes from secondary `from` to `to` */
	TROUPE_EVENT_LOAD,     /* level `name` is loaded on secondary `to` */
	TROUPE_EVENT_UNLOAD,   /* level `name` is unloaded from secondary `to` */
	TROUPE_EVENT_GHOST_ON, /* performer `name` becomes known to secondary `to`, which does not simulate it */
	TROUPE_EVENT_GHOST_OFF,
} troupe_event_kind;

/* Secondaries are numbered from 1; 0 is the single runner of a server without secondaries. */
struct troupe_event {
	const char *world;
	troupe_event_kind kind;
	uint64_t step;    /* the event is true from this step on */
	const char *name; /* valid during the call */
	uint32_t from, to;
};

/* The result of a command to the world (create, remove, set_pose ...), or the reason why a command had no receiver. A
 * command that failed changed nothing, and the run goes on. Exception: create_multiple creates what can be created. */
struct troupe_reply {
	const char *world;
	uint64_t step;
	const char *topic; /* topic and text are valid during the call */
	troupe_status status;
	const char *text; /* what was done, or what is wrong */
	bool called;      /* a client called the service (client.h), and gets the reply, too */
};

/* A command that was taken at its step, whatever its origin. Commands that are given again with these steps, topics and
 * texts, in the order of the calls of each world, and without the refused ones, give the same bits. Names and texts are
 * valid during the call. */
struct troupe_taken {
	uint32_t world;
	uint64_t step;
	const char *topic; /* TOPIC@CLIENT if it acts for a robot client */
	const char *text;  /* the message in text form, in one line */
	bool refused;      /* it has changed nothing */
	bool saved;        /* it waited in the state from which the server was resumed */
	/* A command that was given to all worlds has the same number here in each world; no other command of the step
	 * has it. 0: it was given to this world alone. */
	uint64_t copy;
};

typedef enum troupe_pace {
	TROUPE_PACE_WORLD,  /* the world's real_time_factor */
	TROUPE_PACE_FACTOR, /* def.rtf; 0: as fast as possible */
	TROUPE_PACE_RATE,   /* def.rate_hz steps per second */
} troupe_pace;

struct troupe_network;

/* What a client asks for with the service /world/NAME/next_run: another run in the place of this one, which begins at
 * time 0. Valid during the call. */
struct troupe_next {
	bool asks;        /* only whether that can be */
	bool unload;      /* a run without a world: def.no_world, with a path and a text that are given here, too */
	const char *path; /* as def.world_path; NULL: the world and the text of this run */
	const char *text; /* as def.world_text */
	bool seed_given;  /* otherwise the seed is that of this run */
	uint64_t seed;
	bool strict;     /* a warning about the world is an error */
	bool all_assets; /* a mesh or an image that is not found is an error */
};

struct troupe_report_member;

/* The server keeps the pointers: the texts and lists must stay as they are until troupe_server_destroy() (for a player
 * of record.h: troupe_player_close()), except for resume_bytes and network. */
struct troupe_server_def {
	const char *world_path;  /* an SDF file, or the name of a world: "warehouse" is searched for in the resource
				  * paths, in the folders that the environment names, and among troupe's own worlds */
	const char *world_text;  /* the world's SDF itself; world_path is then only its name in messages; may be NULL */
	const char *resume_path; /* instead of a world: a file of troupe_server_save(). It has its world, seed and
				  * ignore_levels; sleepless and by_ode hold if it or this definition has them */
	const void *resume_bytes; /* the same from memory: resume_count bytes of troupe_server_pack(), which are
				   * copied. resume_path is then only their name in messages, and may be NULL */
	size_t resume_count;
	const char *const *resource_paths; /* NULL-terminated; for model:// and relative file names; may be NULL */
	/* NULL-terminated; folders that are searched for the libraries of plug-ins (plugin.h), before those of
	 * TROUPE_PLUGIN_PATH and the installed one; may be NULL */
	const char *const *plugin_paths;
	int32_t secondaries;      /* TROUPE_SECONDARIES_AUTO, or 0 .. TROUPE_SECONDARIES_MAX */
	const char *distribution; /* the policy that assigns models to secondaries: "round-robin" (also NULL) or
				   * "balanced"; no bit depends on it */
	const char *const *pins;  /* NULL-terminated "NAME=I": secondary I simulates the performer, model or level of
				   * that name in the file, as if the file said so; may be NULL */
	bool sleepless;           /* step models at rest too; gives other bits than with sleeping */
	bool by_ode;              /* ODE solves all contacts and joints; gives other bits than troupe's own solver */
	bool sense_all;           /* all sensors measure, not only those that a client has subscribed to */
	bool ignore_levels;       /* all levels are loaded all the time */
	/* The meshes and heightmaps of all levels are read at once. Otherwise those of the collisions of static models
	 * that levels name are read when a performer comes near. No bit depends on it, except that a file that cannot
	 * be read is found out later. */
	bool load_all;
	troupe_pace pace;
	double rtf, rate_hz;
	bool paused; /* begin paused */
	/* There is no world: clients are told so, and commands are refused. The definition still has one, which is
	 * empty, begins paused and stays so. */
	bool no_world;
	/* The seed of all random numbers: the iterative solver orders its rows by them, plug-ins draw them (wind,
	 * radio), and the noise of sensors is made of them. A resumed state has its own seed. */
	uint64_t seed;
	double initial_time_s; /* simulated time of state 0 */
	/* The longest deadline that a barrier client (barrier.h) may ask for, for which the run may stand still; 0:
	 * TROUPE_BARRIER_DEADLINE_S_MAX. */
	double barrier_deadline_s;
	/* The most steps that are taken between two exchanges of the runners (a window); 0: found out, and short enough
	 * that no command waits for more than 0.02 s of simulated time, or of real time where the run keeps to it; 1:
	 * each step is exchanged. No bit depends on it. At most TROUPE_WINDOW_MAX. */
	uint32_t window;
	/* No command is given during troupe_server_run(), but before it, for later steps, and no client joins: then
	 * windows may be longer over a network, up to 0.25 s. */
	bool scripted;
	bool chaos; /* forced moves: at random steps random components move to random secondaries */
	uint64_t chaos_seed;
	uint32_t chaos_moves;    /* components moved in each step; 0: one, in about one step of four */
	uint32_t observe;        /* TROUPE_OBSERVE_...: what snapshots hold besides poses and velocities */
	uint64_t step_every;     /* steps between calls of on_step; 0: none */
	uint64_t hash_every;     /* steps between calls of on_hash; 0: none */
	const char *record_path; /* records the run into this file (record.h); NULL: no recording. The server's
				  * creation checks that the file can be written, its first run opens it. */
	const char *costs_path;  /* writes the cost of a step of each model into this file: a table, see
				  * troupe-recordings(5) */
	uint64_t costs_every;    /* steps between samples in costs_path (default 100); at least 1 */
	uint64_t record_every;   /* steps between states in the recording (default 1000); at least 1 */
	/* An existing folder in which clients may save the state with the service /world/NAME/save, as files of
	 * troupe_server_save(), at most 1000; a file that is no such state is not replaced. The step at which the state
	 * is saved waits until the file is written. With /world/NAME/resume, and with that command in any form, a world
	 * takes up such a state while it runs; the file is read when the command is given. NULL: clients cannot save,
	 * and no world can resume. */
	const char *save_folder;
	/* The caller itself obeys the plug-ins LogRecord and LogPlayback of the worlds: no warning says that they are
	 * ignored. The server never obeys them. */
	bool logs_obeyed;
	/* The secondaries are other processes (network.h); the file must then have one world, and
	 * network->secondaries is their number. NULL: they are threads of this process. Not used after the creation. */
	const struct troupe_network *network;
	/* For troupe_plugin_check() (plugin_check.h). plugin_file: a library; a <plugin> with the name of one of its
	 * kinds is taken from it, whatever the <plugin> says as filename. rehearse: functions of libraries are called
	 * twice, and a function that does something else the second time ends the run. */
	const char *plugin_file;
	bool rehearse;
	/* For tests only: the data of the physics engine are made anew before each step; no bit may change. */
	bool anew;
	/* For tests only: how many islands troupe's own solver steps side by side: 2, 4 or 8; 0: as many as the
	 * processor has instructions for. No bit may change. */
	uint32_t lanes;
	/* For tests only: a rule of determinism to break. "random", "pairs", "rotation", "reference", "proof",
	 * "sleepers", "levels", "ties", or NULL. */
	const char *break_rule;
	/* Callbacks; each may be NULL. on_event and on_hash are called in step order, between steps, on some thread
	 * of the server. They must be quick and must not call the server. on_watch is called about ten times a second
	 * on the thread that called troupe_server_run(); it may call functions marked "any thread". */
	void (*on_event)(void *ctx, const struct troupe_event *event);
	void (*on_hash)(void *ctx, uint64_t step, uint64_t hash);
	/* Called between steps, on some thread of the server, after each step that leads to a state `step` that is a
	 * multiple of step_every. It may read the present state (troupe_find_..., troupe_get_...) and give commands,
	 * which the next step takes. The simulation waits for it. */
	void (*on_step)(void *ctx, struct troupe_server *server, uint64_t step);
	void (*on_reply)(void *ctx, const struct troupe_reply *reply); /* like on_event */
	/* Like on_event. In each step all commands of one world, in their order, before those of the next world. */
	void (*on_taken)(void *ctx, const struct troupe_taken *taken);
	void (*on_watch)(void *ctx);
	/* "file:line: ...", during the creation; later why recording ended, like on_event, and lines of plug-ins, from
	 * the threads of a step. Never two calls at once; it calls no function of the server. */
	void (*on_warning)(void *ctx, const char *text);
	/* Networked mode, messages for people: where the primary waits, which secondary joins, which peer is refused
	 * and why. Called before the first step on the thread that called troupe_server_run(), then on some thread of
	 * the server; never two calls at once. Many unknown peers that connect cause few calls. */
	void (*on_note)(void *ctx, const char *text);
	/* Networked mode: the members of the run have changed (report.h), between two steps; like on_event. It is not
	 * known yet for how long the run stands still. */
	void (*on_member)(void *ctx, const struct troupe_report_member *change);
	/* Prepares the run that a client asks for, whole, so that nothing can fail later; the server goes on meanwhile.
	 * On success *ret_world is the name of its world, to be freed with free(), and the server ends this run as
	 * troupe_server_stop() does, when the client's reply is on its way; later requests are refused. Errors:
	 * TROUPE_ECOMMAND: this program cannot do that; others as those of troupe_server_create(). On the thread of a
	 * client, never two calls at once. NULL: clients are not offered the service. */
	troupe_status (*on_next)(
		void *ctx, const struct troupe_next *next, char **ret_world, struct troupe_error *error);
	/* Only for troupe_replay_run(), which makes a server of its own: called before its first step, when clients can
	 * be made (begins), and before it is destroyed, when they must be. */
	void (*on_server)(void *ctx, struct troupe_server *server, bool begins);
	void *ctx;
	uint32_t stamp_; /* set by troupe_server_def_default() */
};

TROUPE_API struct troupe_server_def troupe_server_def_default(void);

/* Loads the world and prepares state 0. TROUPE_EWORLD with file:line, TROUPE_EIO, TROUPE_EINVAL, TROUPE_EINTERNAL. An
 * error in a state to resume is reported for its file, then for the world in it. A damaged state is either refused or
 * simulated; the time and memory that it takes are bounded by its size. */
TROUPE_API troupe_status troupe_server_create(
	const struct troupe_server_def *def, struct troupe_server **ret_server, struct troupe_error *error);
/* NULL is fine. Not while it runs. */
TROUPE_API void troupe_server_destroy(struct troupe_server *server);
/* Whether a thread of the server still prepares what a client has asked for (troupe_client_def.never_waits):
 * troupe_server_destroy() waits for it. Any thread. */
TROUPE_API bool troupe_server_is_preparing(const struct troupe_server *server);

struct troupe_limits {
	uint64_t iterations; /* stop when this many steps have been taken since state 0; 0: no limit */
	double until_s;      /* stop when simulated time reaches this; 0: no limit */
};

/* Blocks until a limit is reached, troupe_server_stop() is called, or an error ends the run: TROUPE_EDIVERGED names
 * the model; TROUPE_EPEER, TROUPE_EPROTOCOL: a peer was lost (network.h). The last good state stays. May be called
 * again after it returned TROUPE_OK. */
TROUPE_API troupe_status troupe_server_run(
	struct troupe_server *server, const struct troupe_limits *limits, struct troupe_error *error);
/* Ends troupe_server_run() at the next step boundary; if it is not running, its next call ends at once. A
 * troupe_server_save() in between that takes half a second more is given up. Any thread; may be called from a signal
 * handler. */
TROUPE_API void troupe_server_stop(struct troupe_server *server);
/* For a process that must end although a step does not: one thread is in troupe_server_run(), and another one calls
 * this after troupe_server_stop(). Waits at most ms for the step to be in a part that can be given up: that of the
 * secondaries, such as their plug-ins, the physics and the sensors.
 * TROUPE_GIVEN_UP: the run has ended as one that was stopped before this step. The server can be asked and saved, but
 * the threads of the step go on: it cannot run again or be destroyed, and the process has to end.
 * TROUPE_STUCK: not possible within this time. TROUPE_NOT_STEPPING: the server does not run, or only gathers members.
 * With 0 ms nothing is given up. Unless the server does not run, why, of so many bytes, says what the run waits for:
 * "step 12: the physics". */
enum troupe_given_up { TROUPE_GIVEN_UP, TROUPE_STUCK, TROUPE_NOT_STEPPING };
TROUPE_API enum troupe_given_up troupe_server_give_up(
	struct troupe_server *server, uint32_t ms, char *why, size_t bytes);
/* Whether the last run ended because of troupe_server_stop(), or because a client called the service /server_control.
 * Call it while the server does not run. */
TROUPE_API bool troupe_server_was_stopped(const struct troupe_server *server);

/* Takes n steps; a step in which a world is paused and nothing moves counts too. In all else like
 * troupe_server_run(), also with regard to real time. For a program that reads and commands between steps: a call
 * costs one or two microseconds more than the steps themselves. */
TROUPE_API troupe_status troupe_server_step(struct troupe_server *server, uint64_t n, struct troupe_error *error);

/* troupe_command_text() of command.h, with TROUPE_LATE_NEXT. Any thread. */
TROUPE_API troupe_status troupe_server_command(
	struct troupe_server *server, uint64_t step, const char *topic, const char *text, struct troupe_error *error);

/* Writes the state of all worlds, with the files that they were loaded from. So this one file is enough to resume the
 * run, with the same bits, with any number of secondaries. The file is replaced as a whole, through a symbolic link;
 * a device or a pipe is written to. Not while it runs. TROUPE_EIO: the file is unchanged. */
TROUPE_API troupe_status troupe_server_save(struct troupe_server *server, const char *path, struct troupe_error *error);

/* The same into memory. The caller frees *ret_bytes with free(), and can resume from it with def.resume_bytes. Not
 * while it runs. */
TROUPE_API troupe_status troupe_server_pack(
	struct troupe_server *server, void **ret_bytes, size_t *ret_count, struct troupe_error *error);

/* --- asking ------------------------------------------------------------------------------------------------------- */

struct troupe_progress { /* may be older than the present step by a moment */
	uint64_t steps; /* of the world that has taken most; others may have ended, at troupe_limits.until_s */
	uint64_t moves;
	uint64_t levels_loaded;
	double time_s;    /* simulated, in the first world */
	uint32_t awaited; /* networked mode, before the first step: secondaries that have not joined yet */
	bool paused;      /* all worlds are */
};

/* Any thread. */
TROUPE_API struct troupe_progress troupe_server_progress(const struct troupe_server *server);

/* Worlds are numbered from 0, in the order of the file. */
TROUPE_API uint32_t troupe_server_world_count(const struct troupe_server *server);
/* NULL: there is no such world. */
TROUPE_API const char *troupe_server_world_name(const struct troupe_server *server, uint32_t world);
/* The seed of the run: that of the definition, or of the state that was resumed. */
TROUPE_API uint64_t troupe_server_seed(const struct troupe_server *server);

/* A program that the file names in a <plugin name="troupe::Program">. The library starts none: `troupe run --programs`
 * does (see PROGRAMS in troupe-sdf(5)). */
struct troupe_program {
	const char *name;        /* no other program of the file has it; a barrier client can have it (barrier.h) */
	const char *world;       /* its name */
	const char *model;       /* the model that has the plug-in, "outer::inner" if it is nested; NULL: the world */
	const char *file;        /* the SDF file that has the plug-in, as its path was given */
	const char *executable;  /* as written; with a slash it is relative to the folder of `file` */
	const char *const *args; /* NULL-terminated */
	uint32_t line;           /* of <executable> */
	bool restarts;           /* after a failure */
};

enum { TROUPE_PROGRAMS_MAX = 64, TROUPE_PROGRAM_ARGS_MAX = 64 }; /* of a file; of a program */

/* The number of programs; *ret_programs lives as long as the server. Any thread. */
TROUPE_API uint32_t troupe_server_programs(
	const struct troupe_server *server, const struct troupe_program **ret_programs);

/* The number of secondary threads of one world; 0: it has a single runner. */
TROUPE_API uint32_t troupe_server_secondaries(const struct troupe_server *server, uint32_t world);

/* The fingerprint of this machine. Two machines with different fingerprints may give different bits for the same run
 * (another ODE, or mathematical functions of another library). It is computed from samples of floating point and of
 * functions, and from a short run of ODE. Saved states and recordings carry the fingerprint of the machine that made
 * them; a server that resumes from another fingerprint gives a warning. Any thread, not from a callback; takes a few
 * milliseconds the first time. */
TROUPE_API uint64_t troupe_fingerprint(void);
/* The library of the mathematical functions on which states depend. "SLEEF": they have the same bits on every x86-64
 * CPU. "libm": on another CPU a run may have other bits, and then the fingerprint differs, too. Any thread. */
TROUPE_API const char *troupe_math(void);

/* The hash of the state of all worlds. Not while it runs. */
TROUPE_API uint64_t troupe_server_hash(const struct troupe_server *server);

#ifdef __cplusplus
}
#endif
#endif
