/* Writes a file of the MCAP format, version 0 (mcap.dev/spec): messages of channels in chunks, each followed by an
 * index, and at the end a summary that has all schemas, channels and indices.
 *
 * A chunk is closed when it has CHUNK_BYTES, or when its messages span CHUNK_NS of their time; it is then written as a
 * whole. So a file that was cut off can be read up to its last complete chunk. The bytes depend on the calls alone,
 * and, where chunks are compressed, on the version of zstd.
 *
 * After an error nothing more is written; mcap_file_close() returns it. One thread at a time. */
#ifndef GATEWAY_MCAP_FILE_H
#define GATEWAY_MCAP_FILE_H

#include "base/outfile.h"
#include "base/text.h"

enum {
	MCAP_CHUNK_BYTES = 1 << 20,
	MCAP_CHANNELS_MAX = 65535,          /* and schemas: their numbers have 16 bits */
	MCAP_MESSAGE_BYTES_MAX = 256 << 20, /* of one message */
};
#define MCAP_CHUNK_NS INT64_C(1000000000)

struct mcap_file;

/* Whether this build compresses chunks, with zstd. */
bool mcap_file_compresses(void);

/* Opens the file, and writes its header. profile: "ros2"; library: the program that writes it. TROUPE_EIO. */
troupe_status mcap_file_open(const char *path, const char *profile, const char *library,
	const struct outfile_options *options, struct mcap_file **ret_file, struct troupe_error *error);

/* Adds a schema or a channel and returns its number, from 1 or from 0. encoding: "ros2msg", "protobuf". The channel of
 * a schema has messages in `encoding`: "cdr", "protobuf"; its metadata are pairs of texts, as of mcap_file_metadata().
 * -1: there are MCAP_CHANNELS_MAX already. */
int32_t mcap_file_add_schema(
	struct mcap_file *file, const char *name, const char *encoding, const void *bytes, size_t count);
int32_t mcap_file_add_channel(struct mcap_file *file, int32_t schema, const char *topic, const char *encoding,
	const char *const *texts, uint32_t count);

/* Adds a message to the present chunk. Its time is the log time and the publish time. */
void mcap_file_message(struct mcap_file *file, int32_t channel, int64_t time_ns, const void *bytes, size_t count);

/* Adds a record of metadata: pairs of texts, the names first, `count` texts in all. */
void mcap_file_metadata(struct mcap_file *file, const char *name, const char *const *texts, uint32_t count);

/* 0, or the errno of the first error. */
int mcap_file_failed(const struct mcap_file *file);

struct mcap_file_counts {
	uint64_t messages, chunks;
	uint32_t channels;
	uint64_t bytes;       /* written */
	uint64_t plain_bytes; /* of the chunks, before compression */
};
/* Writes the last chunk and the summary, closes the file and frees all. 0, or an errno: see outfile_why(). ret_counts
 * may be NULL. */
int mcap_file_close(struct mcap_file *file, struct mcap_file_counts *ret_counts);

#endif
