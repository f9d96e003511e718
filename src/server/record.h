/* Recordings: what a run was given and what came of it, so that it can be run again and compared.
 *
 * A file is RECORD_HEAD_BYTES of head, a magic of 16 bytes and the version, and then chunks: kind, bytes that follow,
 * checksum (64 bits each, ../base/pack.h), bytes. The checksum is over kind, place among the chunks, and bytes, so that
 * whatever is cut off, changed or put elsewhere is noticed, and all before it is sound. A RECORD_HASH is written out at
 * once with all before it, so a recording whose writer died ends there. So does one that could not be written on; part
 * of what comes after may stand behind it.
 *
 *   RECORD_START    first, once: count of resource paths, these, each a list with colons; then the state in which the
 *                   run begins, as a file of troupe_server_save()
 *   RECORD_FILES    files that a command named, that came while it ran: files_pack()
 *   RECORD_COMMAND  step, world, RECORD_COMMAND_..., topic, text: in the order in which commands were taken
 *   RECORD_HASH     step, hash of all worlds; for each world: steps, hash of its levels, hash of its edits, and for
 *                   each model whose words are not those of the RECORD_HASH before, or that has gone since: place + 1,
 *                   id (0: gone), name, count of words, words; then 0
 *   RECORD_END      last: step, and whether the run failed in it; not there when the run never came to an end */
#ifndef SERVER_RECORD_H
#define SERVER_RECORD_H

#include "server/internal.h"

enum record_kind { RECORD_START = 1, RECORD_FILES, RECORD_COMMAND, RECORD_HASH, RECORD_END };

enum {
	RECORD_VERSION = 1,
	RECORD_MAGIC_BYTES = 16,
	RECORD_HEAD_BYTES = RECORD_MAGIC_BYTES + 8,
	RECORD_CHUNK_BYTES = 3 * 8,
	RECORD_PLACES_MAX = 1 << 24, /* of models in a world */
	RECORD_COMMAND_HEARD = 1,    /* for listeners to its topic, not for a service of the world */
	RECORD_COMMAND_FAILED = 2,
	RECORD_PATHS_MAX = 4096,
};
#define RECORD_CHUNK_BYTES_MAX ((uint64_t)4 << 30)

extern const char record_magic[RECORD_MAGIC_BYTES];
uint64_t record_checksum(uint64_t kind, uint64_t index, const char *bytes, size_t count);

/* --- writing (record.c); the thread that has the primaries' part ------------------------------------------------ */

/* Looks whether def.record_path, if there is one, can be written: TROUPE_EIO. The file is not touched yet. */
troupe_status record_create(struct troupe_server *server, struct troupe_error *error);
/* Before the first step: opens the file and writes what the run begins with. Nothing when it has begun. What fails from
 * now on ends the recording, not the run: def.on_warning tells why, and so does troupe_server_end_recording(). */
void record_begin(struct troupe_server *server);
void record_taken(struct server_world *world, uint64_t step, const struct command *command, troupe_status status);
/* All worlds have taken so many steps. */
void record_merged(struct troupe_server *server, uint64_t steps);
void record_destroy(struct recorder *recorder);

/* --- reading (recording.c) -------------------------------------------------------------------------------------- */

struct recording {
	int file;
	const char *path;
	int code;       /* errno of a read that failed: RECORDING_FAILED; 0: none */
	uint64_t left;  /* bytes of the file that are still to be read */
	uint64_t index; /* of the next chunk */
	char *bytes;    /* of the chunk read last */
	size_t room;
};

enum recording_read { RECORDING_CHUNK, RECORDING_CUT, RECORDING_DAMAGED, RECORDING_FAILED };

/* TROUPE_EIO, TROUPE_EWORLD: no recording, or of another version. Close in any case; a zeroed one is none. */
troupe_status recording_open(struct recording *recording, const char *path, struct troupe_error *error);
/* The next chunk; *ret_body is valid until the next call. */
enum recording_read recording_next(struct recording *recording, uint64_t *ret_kind, struct unpack *ret_body);
void recording_close(struct recording *recording);

/* --- comparing (compare.c) -------------------------------------------------------------------------------------- */

struct record_model { /* zeroed: nobody is at that place */
	uint64_t id;
	char *name;
	uint64_t *words;
	uint32_t count;
};

struct record_world { /* a world as it was recorded; zeroed is empty */
	uint64_t steps, levels, edits;
	VEC(struct record_model) models; /* by place */
};

/* Takes in one world of a RECORD_HASH; what is wrong with it is in->bad. */
void record_world_update(struct record_world *recorded, struct unpack *in);
void record_world_fini(struct record_world *recorded);
/* Appends what differs first, in the order of places: "world 'w': model 'm', link 'l': position x: recorded 1, found
 * 2". False: nothing does. */
bool record_compare(const struct record_world *recorded, const struct server_world *found, struct text *out);

#endif
