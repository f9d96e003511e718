/* Recordings: the inputs of a run and hashes of its states, so that the run can be repeated and compared.
 *
 * A file is a head of RECORD_HEAD_BYTES (a magic of 16 bytes and the version) and then chunks. A chunk is kind,
 * number of bytes, checksum (64 bits each, ../base/pack.h), and the bytes. The checksum is over the kind, the index
 * of the chunk, and the bytes: so a chunk that is cut off, changed or moved is detected, and all chunks before it are
 * valid. A RECORD_HASH is written to the file at once, with all chunks before it. So if the writer dies, the
 * recording ends with a RECORD_HASH. So does a recording after a write error; a part of a later chunk may then follow
 * it.
 *
 *   RECORD_START    first, once: number of resource paths, the paths, each a list with colons; then the state in
 *                   which the run begins, as a file of troupe_server_save()
 *   RECORD_FILES    files that a command named while the world ran: files_pack()
 *   RECORD_COMMAND  step, world, RECORD_COMMAND_..., command_pack(): in the order in which commands were taken
 *   RECORD_HASH     step, hash of all worlds; for each world: steps, hash of its levels, hash of its changes, and for
 *                   each model that was removed, or whose words have changed, since the last RECORD_HASH: place + 1,
 *                   id (0: removed), name, number of words, words; then 0
 *   RECORD_FAILED   the run failed in this step: the same as RECORD_HASH of the last state; but worlds that have begun
 *                   the step have obeyed its commands, and their systems have decided. After the hash of all worlds
 *                   stands, for each world, 1 if it has begun the step, or 0
 *   RECORD_STATE    step, and the state as a file of troupe_server_save(): so that a player (player.c) need not begin
 *                   at the first state. One is written after a RECORD_HASH when STATE_SHARE times as many other bytes
 *                   were written since the last one: so states are at most a fifth of a recording.
 *   RECORD_END      last: step, and whether the run failed in that step; absent if the run did not end
 *   RECORD_MEMBER   step, enum troupe_member_change, repeated steps, name: a change of the members of a networked run,
 *                   which changes no bit (struct troupe_report_member)
 *   RECORD_WAITING  only in what a standby gets (followed.h), before a RECORD_HASH: the commands that wait in that
 * state; for each world schedule_pack(), as bytes. There a RECORD_HASH has no models, and the state
 *                   leaves out files that are set apart, which go before */
#ifndef SERVER_RECORD_H
#define SERVER_RECORD_H

#include "server/internal.h"

enum record_kind {
	RECORD_START = 1,
	RECORD_FILES,
	RECORD_COMMAND,
	RECORD_HASH,
	RECORD_END,
	RECORD_STATE,
	RECORD_FAILED,
	RECORD_WAITING,
	RECORD_MEMBER
};

enum {
	RECORD_VERSION = 7,
	RECORD_MAGIC_BYTES = 16,
	RECORD_HEAD_BYTES = RECORD_MAGIC_BYTES + 8,
	RECORD_CHUNK_BYTES = 3 * 8,
	RECORD_PLACES_MAX = 1 << 24, /* indices of models in a world */
	RECORD_COMMAND_HEARD = 1,    /* for the topic's listeners, not for a service of the world */
	RECORD_COMMAND_FAILED = 2,
	RECORD_PATHS_MAX = 4096,
};
#define RECORD_CHUNK_BYTES_MAX ((uint64_t)4 << 30)

extern const char record_magic[RECORD_MAGIC_BYTES];
uint64_t record_checksum(uint64_t kind, uint64_t index, const char *bytes, size_t count);

/* --- the form (record.c); also of what a standby gets --------------------------------------------------------------
 */

struct record_writer {   /* zeroed; record_writer_fini() */
	uint64_t chunks; /* written */
	struct text out; /* the caller takes bytes from here; `body` is for one chunk */
	struct text body;
	struct files files; /* that commands named during the run, as they were written last */
};

/* The head of a file, and the state in which the run begins. Begins anew. apart: without the files that are set apart
 * (server_pack_apart()). */
void record_put_start(struct record_writer *writer, struct troupe_server *server, bool apart);
/* Writes what the command read, and what it looked for in vain, if that is not in the recording yet. */
void record_put_files(struct record_writer *writer, struct server_world *world, const struct command *command);
void record_put_command(struct record_writer *writer, struct server_world *world, uint64_t step,
	const struct command *command, bool failed);
/* What was refused changed nothing, and leaves nothing of what it read; but a service may have done a part. */
bool record_has_failed(const struct command *command, troupe_status status);
/* A RECORD_WAITING and a RECORD_HASH without models. */
void record_put_commit(struct record_writer *writer, struct troupe_server *server, uint64_t step);
void record_writer_fini(struct record_writer *writer);

/* --- writing (record.c); the thread that does the primaries' work ------------------------------------------------ */

/* Checks that def.record_path, if it is given, can be written; TROUPE_EIO otherwise. Does not change the file. */
troupe_status record_create(struct troupe_server *server, struct troupe_error *error);
/* Opens the file and writes the state in which the run begins; call it before the first step. Does nothing if the
 * recording has already begun. A later error ends the recording but not the run: def.on_warning is called with the
 * reason, and troupe_server_end_recording() returns it. */
void record_begin(struct troupe_server *server);
/* A command that is not recorded, because a system asked for it, was obeyed: keeps the files from which it created
 * models, which a replay does not read again. */
void record_made(struct server_world *world, const struct command *command);
void record_taken(struct server_world *world, uint64_t step, const struct command *command, troupe_status status);
/* Before the run has begun it does nothing. */
void record_member(struct troupe_server *server, const struct troupe_report_member *change);
/* Call it when all worlds have taken `steps` steps. */
void record_merged(struct troupe_server *server, uint64_t steps);
void record_destroy(struct recorder *recorder);

/* --- reading (recording.c) -------------------------------------------------------------------------------------- */

struct recording {
	int file;
	const char *path;
	int code;       /* errno of a read that failed (RECORDING_FAILED); 0: none */
	uint64_t size;  /* bytes of the file */
	uint64_t left;  /* those that have not been read */
	uint64_t index; /* of the next chunk */
	char *bytes;    /* of the chunk read last */
	size_t room;
};

enum recording_read { RECORDING_CHUNK, RECORDING_CUT, RECORDING_DAMAGED, RECORDING_FAILED };

/* TROUPE_EIO; TROUPE_EWORLD: not a recording, or of another version. Call recording_close() in any case; it accepts a
 * zeroed recording. */
troupe_status recording_open(struct recording *recording, const char *path, struct troupe_error *error);
/* The next chunk; *ret_body is valid until the next call. */
enum recording_read recording_next(struct recording *recording, uint64_t *ret_kind, struct unpack *ret_body);
void recording_close(struct recording *recording);

/* Reads a RECORD_MEMBER, and tells it to def->on_member, if there is one. */
void recording_tell_member(struct unpack *in, const struct troupe_server_def *def);

/* A place between two chunks. */
struct recording_mark {
	uint64_t at, index; /* byte of the file, index of the next chunk */
};

struct recording_mark recording_mark(const struct recording *recording);
/* Goes to a place of the same file. 0, or errno. */
int recording_go(struct recording *recording, const struct recording_mark *mark);
/* Opens a recording and calls `chunk` with each chunk that is whole, and the place where it begins. *ret_damaged: other
 * data than was written follows them. Errors as those of recording_open(). */
troupe_status recording_read_all(const char *path,
	void (*chunk)(void *ctx, uint64_t kind, struct unpack *in, struct recording_mark mark), void *ctx,
	bool *ret_damaged, struct troupe_error *error);

/* --- comparing (compare.c) -------------------------------------------------------------------------------------- */

struct record_model { /* zeroed: there is no model at this place */
	uint64_t id;
	char *name;
	uint64_t *words;
	uint32_t count;
};

struct record_world { /* a world as it was recorded; zeroed is empty */
	uint64_t steps, levels, edits;
	VEC(uint64_t) words;             /* of the systems of the world itself */
	VEC(struct record_model) models; /* by place */
};

/* Reads one world of a RECORD_HASH. An error sets in->bad. */
void record_world_update(struct record_world *recorded, struct unpack *in);
void record_world_fini(struct record_world *recorded);
/* Appends the first difference, in the order of places: "world 'w': model 'm', link 'l': position x: recorded 1,
 * found 2". False: there is no difference. */
bool record_compare(const struct record_world *recorded, const struct server_world *found, struct text *out);
/* The same for two servers of one world, between steps: "model 'm', link 'l': position x: 1 and 2". */
bool record_compare_worlds(const struct server_world *a, const struct server_world *b, struct text *out);

struct record_word { /* a word of the state that differs */
	uint32_t world;
	uint32_t model; /* its place; SCENE_NONE: it is no word of a model that both have */
	uint64_t id;    /* of the model */
	uint32_t word;
	bool is_real;
	uint64_t words[2];
};
/* Appends what differs first, without the values: "model 'm', link 'l': position x". False: there is no difference. */
bool record_find_word(
	const struct server_world *a, const struct server_world *b, struct record_word *ret_word, struct text *out);

#endif
