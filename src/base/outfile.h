/* Files that the program writes. No other module opens a file to write to it.
 *
 * A file is written in one of two ways:
 *  - as a whole, outfile_replace(): states, reports, keys. A reader sees the old file or the new one, never a part,
 * also after a crash or a kill -9;
 *  - as a stream, struct outfile: recordings, tables, logs. What was written before a crash is there after it.
 *
 * The name may be that of
 *  - a file, which keeps its permissions, or of nothing: a new file has the permissions that the umask leaves;
 *  - a symbolic link: the file that it leads to is written, the link stays;
 *  - a device or a pipe: it is written to and never replaced. Nobody need read a pipe yet: opening it waits for a
 * reader;
 *  - an open file of this process, as /dev/stdout or /proc/self/fd/3: it is written to from where it stands;
 *  - a folder or a socket: refused.
 *
 * Errors are TROUPE_EIO, "PATH: cannot write: ...". Calls that a signal interrupts are made again; after a short write
 * the rest is written. During a write SIGPIPE and SIGXFSZ are blocked in the calling thread, so they never end the
 * caller's process: a pipe without a reader and a file above the limit are errors.
 *
 * A file has one writer. A stream is locked (flock) as long as it is open, and a claim locks a name before the file is
 * opened or replaced; another process that wants the file gets an error, and changes nothing. Claims exclude
 * processes of this machine (of one network namespace) only.
 *
 * Memory is allocated by outfile_check() only. Thread: any, each struct outfile and claim by one at a time. */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

#include "base/base.h"

enum outfile_urgency {
	OUTFILE_PATIENT, /* wait as long as it takes */
	OUTFILE_HURRIED, /* do not wait for a reader of a pipe that takes nothing for half a second */
	OUTFILE_LEAVING, /* the same, and give up a file that is being replaced: the old one stays */
};

/* Called between the parts of a large file, and twenty times a second while waiting for a reader. */
typedef enum outfile_urgency (*outfile_urgency_fn)(void *ctx);

struct outfile_options {            /* zeroed: the usual */
	bool fresh;                 /* refuse a name that is taken, with TROUPE_EIO */
	unsigned mode;              /* of a new file, before the umask; 0: 0666 */
	outfile_urgency_fn urgency; /* NULL: OUTFILE_PATIENT */
	void *ctx;
};

/* Whether a file could be written there, to be known before a long run: the folder exists, the folder and the file
 * are writable, and so on. The only change it makes: temporary files in that folder are removed if they are from
 * processes that were killed while they replaced a file. */
troupe_status outfile_check(const char *path, struct troupe_error *error);
/* The same for a stream, which needs no room for a second file beside an existing one. */
troupe_status outfile_check_stream(const char *path, struct troupe_error *error);

struct outfile_claim { /* zeroed: nothing is claimed */
	int file;      /* the descriptor plus 1 */
};

/* No other process can claim the name, nor open it as a stream by outfile_open(), until outfile_release(). For devices,
 * pipes and the like nothing is claimed. A process that claims a name twice gets the error, too. */
troupe_status outfile_claim(struct outfile_claim *claim, const char *path, struct troupe_error *error);
/* The same for a folder into which many files are written. */
troupe_status outfile_claim_folder(struct outfile_claim *claim, const char *path, struct troupe_error *error);
void outfile_release(struct outfile_claim *claim);

/* options may be NULL. On failure the file has its old content; or the new one, when only writing the folder to the
 * disk failed. */
troupe_status outfile_replace(const char *path, const char *bytes, size_t count, const struct outfile_options *options,
	struct troupe_error *error);

/* Whether two names lead to the same file, and it is no device or pipe; also when the file does not exist yet. */
bool outfile_same(const char *path, const char *other);

/* --- streams ------------------------------------------------------------------------------------------------------ */

struct outfile {  /* zeroed: closed */
	int file; /* the descriptor plus 1 */
	bool special;
	struct outfile_options options;
};

/* Empties an existing file, unless it is locked by another writer. options may be NULL. */
troupe_status outfile_open(
	struct outfile *out, const char *path, const struct outfile_options *options, struct troupe_error *error);
static inline bool outfile_is_open(const struct outfile *out)
{
	return out->file != 0;
}
/* 0, or an errno: see outfile_why(). */
int outfile_write(struct outfile *out, const char *bytes, size_t count);
/* Writes over what stands at `offset` of the file, and beyond its end; the next outfile_write() goes on behind that.
 * Of a device or pipe: ESPIPE. */
int outfile_write_at(struct outfile *out, uint64_t offset, const char *bytes, size_t count);
/* Writes the file to the disk and closes it in any case. 0, or an errno. Closing a closed one does nothing. */
int outfile_close(struct outfile *out);
/* The same for a descriptor that the caller opened and closes. */
int outfile_put(int file, const char *bytes, size_t count, const struct outfile_options *options);
/* What such an errno means, in words. */
const char *outfile_why(int code);

#endif
