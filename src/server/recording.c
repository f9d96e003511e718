/* Chunks are read one at a time, so a recording may be larger than memory. A size in the file is used only after it
 * was checked against the number of bytes that are left in the file. */
#include "server/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool recording_take(struct recording *recording, char *bytes, size_t count)
{
	if (count > recording->left)
		return false;
	for (size_t at = 0; at < count;) {
		ssize_t got = AGAIN(read(recording->file, bytes + at, count - at));
		if (got < 0)
			recording->code = errno;
		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	recording->left -= count;
	return true;
}

static troupe_status recording_check_head(struct recording *recording, struct troupe_error *error)
{
	char head[RECORD_HEAD_BYTES];
	size_t count = MIN(recording->left, (uint64_t)sizeof head);
	bool read = recording_take(recording, head, count);
	/* a file that is empty, or cut off in its head, has no first chunk */
	if (read && count < sizeof head && !memcmp(head, record_magic, MIN(count, (size_t)RECORD_MAGIC_BYTES)))
		return TROUPE_OK;
	if (recording->code)
		return fail(error, TROUPE_EIO, "%s: cannot read: %s", recording->path, strerror(recording->code));
	if (!read || memcmp(head, record_magic, RECORD_MAGIC_BYTES) != 0)
		return fail(error, TROUPE_EWORLD, "%s: not a recording of troupe%s", recording->path,
			read && server_is_state(head, count) ? ": it is a saved state, which troupe run --resume takes"
							     : "");
	struct unpack in = {head + RECORD_MAGIC_BYTES, head + sizeof head, false};
	uint64_t version = unpack_u64(&in);
	if (version != RECORD_VERSION)
		return fail(error, TROUPE_EWORLD,
			"%s: version %llu: expected %d; another version of troupe recorded it", recording->path,
			(unsigned long long)version, RECORD_VERSION);
	return TROUPE_OK;
}

troupe_status recording_open(struct recording *recording, const char *path, struct troupe_error *error)
{
	struct stat info;
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY; /* a pipe is refused, not waited for */
	*recording = (struct recording){.file = AGAIN(open(path, flags)), .path = path};
	if (recording->file < 0 || AGAIN(fstat(recording->file, &info)))
		return fail(error, TROUPE_EIO, "%s: cannot open: %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		return fail(error, TROUPE_EIO, "%s: not a plain file: expected a recording", path);
	recording->size = recording->left = (uint64_t)info.st_size;
	return recording_check_head(recording, error);
}

/* The result when bytes are missing: a read error, or the end of the file. */
static enum recording_read recording_missing(const struct recording *recording)
{
	return recording->code ? RECORDING_FAILED : RECORDING_CUT;
}

enum recording_read recording_next(struct recording *recording, uint64_t *ret_kind, struct unpack *ret_body)
{
	char head[RECORD_CHUNK_BYTES];
	if (!recording_take(recording, head, sizeof head))
		return recording_missing(recording);
	struct unpack in = {head, head + sizeof head, false};
	uint64_t kind = unpack_u64(&in), count = unpack_u64(&in), checksum = unpack_u64(&in);
	if (count > RECORD_CHUNK_BYTES_MAX)
		return RECORDING_DAMAGED;
	if (count > recording->left)
		return RECORDING_CUT;
	if (count > recording->room || !recording->bytes) {
		recording->room = count + count / 2 + 64;
		recording->bytes = mem_realloc(recording->bytes, recording->room);
	}
	if (!recording_take(recording, recording->bytes, count))
		return recording_missing(recording);
	if (record_checksum(kind, recording->index++, recording->bytes, count) != checksum)
		return RECORDING_DAMAGED;
	*ret_kind = kind;
	*ret_body = (struct unpack){recording->bytes, recording->bytes + count, false};
	return RECORDING_CHUNK;
}

void recording_tell_member(struct unpack *in, const struct troupe_server_def *def)
{
	struct troupe_report_member change = {.step = unpack_u64(in)};
	change.change = (enum troupe_member_change)unpack_count(in, TROUPE_MEMBER_LOST);
	change.repeated_steps = unpack_u64(in);
	char *who = unpack_string(in);
	change.who = who;
	if (def && def->on_member && !in->bad)
		def->on_member(def->ctx, &change);
	free(who);
}

struct recording_mark recording_mark(const struct recording *recording)
{
	return (struct recording_mark){recording->size - recording->left, recording->index};
}

int recording_go(struct recording *recording, const struct recording_mark *mark)
{
	if (lseek(recording->file, (off_t)mark->at, SEEK_SET) < 0)
		return errno;
	recording->left = recording->size - mark->at;
	recording->index = mark->index;
	return 0;
}

troupe_status recording_read_all(const char *path,
	void (*chunk)(void *ctx, uint64_t kind, struct unpack *in, struct recording_mark mark), void *ctx,
	bool *ret_damaged, struct troupe_error *error)
{
	struct recording recording = {0};
	troupe_status status = recording_open(&recording, path, error);
	enum recording_read read = status ? RECORDING_CUT : RECORDING_CHUNK;
	while (read == RECORDING_CHUNK) {
		uint64_t kind;
		struct unpack in;
		struct recording_mark mark = recording_mark(&recording);
		read = recording_next(&recording, &kind, &in);
		if (read == RECORDING_FAILED)
			status = fail(error, TROUPE_EIO, "%s: cannot read: %s", path, strerror(recording.code));
		else if (read == RECORDING_CHUNK)
			chunk(ctx, kind, &in, mark);
	}
	*ret_damaged = read == RECORDING_DAMAGED;
	recording_close(&recording);
	return status;
}

void recording_close(struct recording *recording)
{
	if (recording->path && recording->file >= 0)
		(void)close(recording->file);
	free(recording->bytes);
	*recording = (struct recording){0};
}
