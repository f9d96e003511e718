/* Types and functions that the files of this folder share. */
#ifndef SERVER_INTERNAL_H
#define SERVER_INTERNAL_H

#include "base/outfile.h"
#include "program/program.h"
#include "run/runners.h"
#include "server/snapshots.h"

#include <troupe/command.h>
#include <troupe/report.h>
#include <troupe/server.h>

#include <pthread.h>

struct server_counts { /* at the last snapshot; shows how busy each secondary has been since */
	uint64_t at_ns;
	uint64_t *busy_ns; /* [secondaries] */
};

/* One world of the file, with its own primary and secondaries. */
struct server_world {
	struct troupe_server *server;
	uint32_t index;
	struct scene *scene;
	struct systems *systems;
	struct shared shared;
	struct primary *primary; /* NULL: not made yet */
	struct snapshots *snapshots;
	pthread_mutex_t info_lock;
	const struct troupe_scene *info; /* scene_info.h; NULL: none yet. Written under info_lock. */
	uint32_t threads;                /* secondaries that are threads; 0: a single runner */
	uint32_t secondaries;            /* the same, but at least 1 */
	struct server_counts counts;
	struct model_info *model_info; /* model_info.h */
	struct edit_visuals *visuals;
};

struct troupe_server {
	struct troupe_server_def def;
	struct sdf *sdf;
	struct program_list programs; /* of all worlds; constant after the creation */
	struct files files; /* the files that the worlds were loaded from; constant while commands are posted */
	const struct files_source *source; /* lent; of files that `saved` leaves out; NULL: none */
	const char *const *given_paths; /* the resource paths of the definition, without those of a saved state */
	/* Where files of the worlds may be read, and where those may be that are only shown to viewers. Constant when
	 * the worlds are loaded. */
	struct files_places places, shown_places;
	struct plugins *plugins;   /* the libraries of plug-ins */
	struct importer *importer; /* of meshes and images, also for models that are created while the world runs */
	char *saved;               /* the state that is being resumed; NULL: none, or already resumed */
	size_t saved_count;
	char *saved_path;            /* path of the world file, in `saved` */
	VEC(char *) folders;         /* search folders when the state was saved; NULL after the last */
	struct unpack rest;          /* the unread part of `saved` */
	struct server_world *worlds; /* [world_count], in the order of the file */
	uint32_t world_count;
	struct runners *runners;   /* of all worlds; NULL: not made yet. Of the thread that uses the server. */
	struct eventcount woken;   /* a run whose worlds are all paused looks for commands; any thread */
	_Atomic bool told;         /* to stop, by troupe_server_stop() */
	struct recorder *recorder; /* record.h; NULL: nothing is recorded */
	struct network *network;   /* network.h; NULL: the secondaries are threads here */
	struct costs *costs;       /* costs.h; NULL: no table of costs */
	struct clients *clients;   /* clients.h */
	struct background *background;
	struct barriers *barriers; /* barrier.h */
	const struct assign_policy *policy;
	pthread_mutex_t warn_lock; /* held while on_warning is called */
	/* Held by a thread that makes snapshots between runs, and to begin and to end a run. */
	pthread_mutex_t lock;
	bool running;        /* under the lock */
	_Atomic bool unseen; /* the state is later than the newest snapshot; false while it runs */
	/* Used by the thread that writes a file during a run, and by the caller between runs. */
	uint64_t stop_seen_ns; /* when a writer first saw the request to stop; 0: no request */
	bool replaying;        /* it repeats a recording, and takes no other commands; constant after the creation */
	bool shown;            /* by a player: moves must not depend on time; constant after the creation */
	_Atomic int next;      /* enum of next_request.c; any thread */
	bool was_stopped;      /* the last run ended because of a request to stop */
	uint32_t client_files; /* new files that clients had made; between steps */
};

void server_warn(struct troupe_server *server, const char *text);

/* How long writing a file of the server may wait or take; ctx is the server. After troupe_server_stop() no write
 * waits for the reader of a pipe. If the run has not ended half a second later, a file that is being replaced is
 * given up. */
enum outfile_urgency server_urgency(void *ctx);
static inline struct outfile_options server_options(struct troupe_server *server)
{
	return (struct outfile_options){.urgency = server_urgency, .ctx = server};
}

/* Does the work of troupe_server_create(). saved: NULL, or a saved state that is resumed instead of the file
 * def->resume_path; the path is then only used in messages. The server takes ownership of saved. */
troupe_status server_create(const struct troupe_server_def *def, char *saved, size_t saved_count,
	struct troupe_server **ret_server, struct troupe_error *error);
/* The same for a state of server_pack_apart(). source: of the files that it leaves out; it must outlive the server. */
troupe_status server_create_apart(const struct troupe_server_def *def, char *saved, size_t saved_count,
	const struct files_source *source, struct troupe_server **ret_server, struct troupe_error *error);
/* Whether its steps run code of nobody else, on the thread of troupe_server_step() alone: no callbacks, no clients, no
 * libraries of plug-ins, a single runner. Not while it runs. */
bool server_is_plain(const struct troupe_server *server);
/* The rule of physics that a definition breaks on purpose. */
troupe_status server_break_rule(const char *name, enum physics_break *ret_rule, struct troupe_error *error);
/* Call it when no server will be made from the definition: closes the sockets that the server would have owned. def
 * may be NULL or invalid. */
void server_refuse(const struct troupe_server_def *def);
/* Runs until each world has taken steps[world] steps. A world may have taken them already. */
troupe_status server_run_to(struct troupe_server *server, const uint64_t *steps, struct troupe_error *error);

/* save.c. Appends the bytes of a saved state. */
troupe_status server_pack(struct troupe_server *server, struct text *out, struct troupe_error *error);
/* The same with other commands that wait, [server->world_count]. */
troupe_status server_pack_with(
	struct troupe_server *server, struct schedule *waiting, struct text *out, struct troupe_error *error);
/* The same, but files that are set apart (files_set_apart()) are left out. */
void server_pack_apart(struct troupe_server *server, struct text *out);
/* Appends the bytes from which a replica of the only world is made: see run/replica.h. */
troupe_status server_pack_replica(struct troupe_server *server, struct text *out, struct troupe_error *error);
/* Writes the head of a state (magic, version, checksum of the rest) over its first SAVE_HEAD_BYTES. server_pack()
 * calls it; a test that changes a state calls it again. */
enum { SAVE_HEAD_BYTES = 32 };
void server_seal(char *state, size_t count);
/* Whether a file with these first bytes may be a saved state. */
bool server_is_state(const char *bytes, size_t count);
/* Reads the saved state in `saved`, or else in the file def.resume_path: the files of the worlds and how the worlds
 * are simulated. */
troupe_status server_open_save(struct troupe_server *server, struct troupe_error *error);
/* Reads a saved state of the same worlds for one of them, while it runs. *ret_bytes: what primary_pack() wrote of the
 * world, to be freed with free(). TROUPE_EIO, TROUPE_EWORLD: "PATH: ": no state, damaged, or not of this world. Any
 * thread. */
troupe_status server_read_state(const struct server_world *world, const char *path, char **ret_bytes, size_t *ret_count,
	struct troupe_error *error);
/* Restores the saved state of the worlds, which are set up and have not begun. */
troupe_status server_resume(struct troupe_server *server, struct troupe_error *error);

/* command.c. Refuses a `late` that does not exist. */
troupe_status server_check_when(const struct troupe_when *when, struct troupe_error *error);
/* Posts a request to a service of a world, as bytes of the type, for the next step. The call gets the
 * outcome, unless this function fails. Any thread. */
troupe_status server_command(struct troupe_server *server, const char *service, const char *type, const void *bytes,
	size_t count, struct command_call *call, struct troupe_error *error);
/* Makes a run whose worlds are all paused look for commands and questions at once. Any thread, while the server
 * exists. */
void server_wake(struct troupe_server *server);

/* Ends the run at the end of a step, to go on with other members. Any thread. */
void server_interrupt(struct troupe_server *server);
/* Calls def.on_note. On the threads of def.on_note. */
void server_note(const struct troupe_server *server, const char *format, ...) TROUPE_PRINTF(2, 3);

/* pins.c. Applies def.pins to the scenes. */
troupe_status server_pin(struct troupe_server *server, struct troupe_error *error);

/* world.c. world_fini() may be called for a zeroed world, and after a failure of world_init(). */
troupe_status world_init(
	struct server_world *world, struct troupe_server *server, uint32_t index, struct troupe_error *error);
void world_set_up(struct server_world *world, uint32_t threads, enum physics_break rule);
/* Over a network, where it costs most: says which plug-in makes each step a window of its own, if one does. */
void world_note_windows(const struct server_world *world);
/* The run goes on with so many secondaries, of which none has anything: see primary_regroup(). */
void world_regroup(struct server_world *world, uint32_t secondaries);
/* Gives the warnings about mesh files that were read while the world runs. */
void world_warn_of_unread(struct server_world *world);
void world_fini(struct server_world *world);
/* The number of models that can move, and of other performers: these can be distributed over secondaries. */
uint32_t world_mobile_count(const struct server_world *world);
/* The cores that are the world's part. */
uint32_t world_cores(const struct server_world *world);
/* How many further threads may help a single runner with large readings of sensors: none where the user has asked for
 * so many secondaries. */
uint32_t world_helpers(const struct server_world *world);
/* Reports the outcome of a command or of another request at a step: to def.on_reply, if it was refused or has a text,
 * and on the topic `replies`. called: a client waits for the reply. Between steps. */
void world_tell_reply(struct server_world *world, uint64_t step, const char *topic, troupe_status status,
	const char *text, bool called);
/* Publishes a snapshot of the state after the last merged step. Call it between steps, before the next turn. */
void world_publish(struct server_world *world, bool running);
/* Makes the same snapshot without publishing it. It is valid until the next call. */
const struct troupe_snapshot *world_look(struct server_world *world);
/* The scene as it is now, made anew if it has changed. The world owns it. Call it when world_publish() may be
 * called. */
const struct troupe_scene *world_view(struct server_world *world);

/* The number of a secondary in public results: the single runner is 0. */
static inline uint32_t world_number(const struct server_world *world, uint32_t secondary)
{
	return world->threads ? secondary : 0;
}

#endif
