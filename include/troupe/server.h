/* A server simulates the worlds of one file, each with its own runners, all in lockstep: create it from a definition,
 * run it, ask it, destroy it.
 *
 * Thread: one thread at a time calls a server's functions, but for those marked "any thread". Servers are independent:
 * several in one process work. The library never prints, never exits and installs no signal handlers. A server whose
 * world has meshes or images has one child process, of fork(), from when it reads the first one until it is destroyed:
 * a program that waits for any child of its own may wait for this one, and takes nothing from the server by it. */
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
	TROUPE_SECONDARIES_MAX = 256,
	TROUPE_SECONDARIES_AUTO =
		-1, /* the world's number, else as many as pay, up to one per core: found out while it runs, from
		     * how long its steps take; none when there is nothing to share out. No bit depends on it. */
};

enum { /* bits of troupe_server_def.observe */
	TROUPE_OBSERVE_CONTACTS = 1,
	TROUPE_OBSERVE_EFFORTS = 2,
};

typedef enum troupe_event_kind {
	TROUPE_EVENT_MOVE,     /* performer `name` goes from secondary `from` to `to` */
	TROUPE_EVENT_LOAD,     /* level `name` is loaded on secondary `to` */
	TROUPE_EVENT_UNLOAD,   /* ... and unloaded */
	TROUPE_EVENT_GHOST_ON, /* performer `name` becomes known to secondary `to`, which does not simulate it */
	TROUPE_EVENT_GHOST_OFF,
} troupe_event_kind;

/* Secondaries are numbered from 1; 0 is the single runner of a server without secondaries. */
struct troupe_event {
	const char *world;
	troupe_event_kind kind;
	uint64_t step;    /* the step from which on it holds */
	const char *name; /* during the call */
	uint32_t from, to;
};

/* What came of a command to the world (create, remove, set_pose ...), or why one could not be given to anybody. A
 * command that failed changed nothing (but create_multiple, which creates what can be created), and the run goes on. */
struct troupe_reply {
	const char *world;
	uint64_t step;
	const char *topic; /* both texts: during the call */
	troupe_status status;
	const char *text; /* what was done, or what is wrong */
};

typedef enum troupe_pace {
	TROUPE_PACE_WORLD,  /* the world's real_time_factor */
	TROUPE_PACE_FACTOR, /* def.rtf; 0: as fast as possible */
	TROUPE_PACE_RATE,   /* def.rate_hz steps per second */
} troupe_pace;

struct troupe_network;

struct troupe_server_def {
	const char
		*world_path; /* an SDF file, or the name of a world: "warehouse" is looked for in the resource paths, in
			      * the folders that the environment names, and among the worlds that come with troupe */
	const char *world_text;  /* the world's SDF itself, which world_path then only names in messages; may be NULL */
	const char *resume_path; /* instead of a world: a file of troupe_server_save(), which has its world, seed,
				  * ignore_levels and sleepless */
	const void *resume_bytes; /* the same from memory, of troupe_server_pack(): resume_count of them, which are
				   * copied; resume_path then only names them in messages, and may be NULL */
	size_t resume_count;
	const char *const *resource_paths; /* NULL-terminated; for model:// and relative names; may be NULL */
	int32_t secondaries;               /* TROUPE_SECONDARIES_AUTO, or 0 .. TROUPE_SECONDARIES_MAX */
	const char *distribution; /* who simulates what: "round-robin" (NULL too) or "balanced"; no bit depends on it */
	const char *const *pins;  /* NULL-terminated "NAME=I": the performer, the model or the level of that name in
				   * the file is simulated by secondary I, as if the file said so; may be NULL */
	bool sleepless;           /* step models at rest too; other bits than with sleeping */
	bool ignore_levels;       /* everything is loaded all the time */
	troupe_pace pace;
	double rtf, rate_hz;
	bool paused; /* begin paused */
	uint64_t seed;
	double initial_time_s; /* simulated time of state 0 */
	bool chaos;            /* forced moves: at random steps random components move to random secondaries */
	uint64_t chaos_seed;
	uint32_t chaos_moves;    /* so many components in each step; 0: one, in about one step of four */
	uint32_t observe;        /* TROUPE_OBSERVE_..., what snapshots have beyond poses and velocities */
	uint64_t step_every;     /* steps between calls of on_step; 0: none */
	uint64_t hash_every;     /* steps between calls of on_hash; 0: none */
	const char *record_path; /* records the run into this file: see record.h; NULL: does not. The file is
				  * tried when the server is created and opened by its first run. */
	const char
		*costs_path;   /* writes what a step of each model costs into this file: a table, see the manual page */
	uint64_t costs_every;  /* steps between its samples (default 100); at least 1 */
	uint64_t record_every; /* steps between states in it (default 1000); at least 1 */
	/* The secondaries are other processes: see network.h, and then there must be one world; its `secondaries`
	 * count. NULL: threads of this one. Used during the creation only. */
	const struct troupe_network *network;
	/* For tests only: what the physics engine holds is made anew before each step; no bit may change. */
	bool anew;
	/* For tests only: a rule of determinism to break. "random", "pairs", "rotation", "reference", or NULL. */
	const char *break_rule;
	/* Callbacks, each may be NULL. on_event and on_hash come in step order from some thread of the server, between
	 * steps: they must be quick and must not call the server. on_watch comes about ten times a second from the
	 * thread that called troupe_server_run(), and may call functions marked "any thread". */
	void (*on_event)(void *ctx, const struct troupe_event *event);
	void (*on_hash)(void *ctx, uint64_t step, uint64_t hash);
	/* Between steps, after each step that leads to a state `step` that is a multiple of step_every, from some
	 * thread of the server. It may read the present state (troupe_find_..., troupe_get_...) and give commands: the
	 * next step takes these. The simulation waits meanwhile. */
	void (*on_step)(void *ctx, struct troupe_server *server, uint64_t step);
	void (*on_reply)(void *ctx, const struct troupe_reply *reply); /* like on_event */
	void (*on_watch)(void *ctx);
	void (*on_warning)(void *ctx, const char *text); /* "file:line: ..."; while creating. One
							  * like on_event: why recording ended */
	/* Networked mode: what happens, for people; where it waits, who comes, who is turned away and why. Before the
	 * first step on the thread that called troupe_server_run(), then on some thread of the server; never two at
	 * once. However many strangers come, it is not called much. */
	void (*on_note)(void *ctx, const char *text);
	void *ctx;
	uint32_t stamp_; /* set by troupe_server_def_default() */
};

TROUPE_API struct troupe_server_def troupe_server_def_default(void);

/* Loads the world and prepares state 0. TROUPE_EWORLD with file:line, TROUPE_EIO, TROUPE_EINVAL, TROUPE_EINTERNAL. What
 * is wrong with a state to resume is told of that file, then of the world's. A damaged one is refused, or it simulates:
 * what it takes is bounded by its size. */
TROUPE_API troupe_status troupe_server_create(
	const struct troupe_server_def *def, struct troupe_server **ret_server, struct troupe_error *error);
/* NULL is fine. Not while it runs. */
TROUPE_API void troupe_server_destroy(struct troupe_server *server);

struct troupe_limits {
	uint64_t iterations; /* stop when so many steps have been taken since state 0; 0: no limit */
	double until_s;      /* stop when simulated time has come so far; 0: no limit */
};

/* Blocks until a limit is reached, troupe_server_stop() is called, or something fails (TROUPE_EDIVERGED names the
 * model; TROUPE_EPEER, TROUPE_EPROTOCOL: a peer was lost, see network.h; the last good state stays). May be called
 * again after it returned TROUPE_OK. */
TROUPE_API troupe_status troupe_server_run(
	struct troupe_server *server, const struct troupe_limits *limits, struct troupe_error *error);
/* Ends troupe_server_run() at the next step boundary, or the next call of it at once. A troupe_server_save() between
 * the two that takes half a second more is given up. Any thread; may be called from a signal handler. */
TROUPE_API void troupe_server_stop(struct troupe_server *server);

/* Takes n steps; those count in which a world is paused and nothing moves. As troupe_server_run() in all else, also
 * with regard to real time. For a program that looks and commands between steps: a call costs a microsecond or two
 * beside the steps themselves. */
TROUPE_API troupe_status troupe_server_step(struct troupe_server *server, uint64_t n, struct troupe_error *error);

/* troupe_command_text() of command.h, with TROUPE_LATE_NEXT. Any thread. */
TROUPE_API troupe_status troupe_server_command(
	struct troupe_server *server, uint64_t step, const char *topic, const char *text, struct troupe_error *error);

/* Writes the state of all worlds, with the files that they were loaded from, so that nothing else is needed to go on:
 * with the same bits, with any number of secondaries. The file is replaced as a whole, through a symbolic link; a
 * device or a pipe is written to. Not while it runs. TROUPE_EIO: the file is what it was. */
TROUPE_API troupe_status troupe_server_save(struct troupe_server *server, const char *path, struct troupe_error *error);

/* The same into memory: *ret_bytes is the caller's, to be freed by free(), and for def.resume_bytes. Not while it runs.
 */
TROUPE_API troupe_status troupe_server_pack(
	struct troupe_server *server, void **ret_bytes, size_t *ret_count, struct troupe_error *error);

/* --- asking ------------------------------------------------------------------------------------------------------- */

struct troupe_progress { /* of a moment ago */
	uint64_t steps, moves;
	uint64_t levels_loaded;
	double time_s;    /* simulated */
	uint32_t awaited; /* networked mode, before the first step: secondaries that are not there yet */
};

/* Any thread. */
TROUPE_API struct troupe_progress troupe_server_progress(const struct troupe_server *server);

/* Worlds are numbered from 0, in the order of the file. */
TROUPE_API uint32_t troupe_server_world_count(const struct troupe_server *server);
/* NULL: there is no such world. */
TROUPE_API const char *troupe_server_world_name(const struct troupe_server *server, uint32_t world);
/* Secondaries of one world that are threads; 0: it has a single runner. */
TROUPE_API uint32_t troupe_server_secondaries(const struct troupe_server *server, uint32_t world);

/* Of this machine: another number where the same run may have other bits (another CPU's libm, another ODE), computed
 * from samples of floating point and libm and from a short run of ODE. Saved states and recordings carry that of where
 * they were made, and a server that goes on from one with another fingerprint warns of it. Any thread, not from a
 * callback; takes a few milliseconds the first time. */
TROUPE_API uint64_t troupe_fingerprint(void);

/* Of the state of all worlds. Only while it does not run. */
TROUPE_API uint64_t troupe_server_hash(const struct troupe_server *server);

#ifdef __cplusplus
}
#endif
#endif
