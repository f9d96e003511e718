/* Reads the messages of an MCAP file, as a program does that trusts it: test_mcap.c checks the form of such files. */
#ifndef TESTS_GATEWAY_MCAP_READ_H
#define TESTS_GATEWAY_MCAP_READ_H

#include "config.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { MCAP_READ_CHANNELS = 1024, MCAP_READ_NAME = 256, MCAP_READ_PAIRS = 1024 };

struct mcap_read_channel {
	char topic[MCAP_READ_NAME], encoding[MCAP_READ_NAME];
	const char *type, *schema_encoding;
	char pairs[MCAP_READ_PAIRS]; /* "KEY=VALUE;" for each */
	unsigned schema;
};

struct mcap_read {
	struct mcap_read_channel channels[MCAP_READ_CHANNELS];
	char types[MCAP_READ_CHANNELS][MCAP_READ_NAME], encodings[MCAP_READ_CHANNELS][MCAP_READ_NAME]; /* by schema */
	char metadata[8192]; /* "NAME:KEY=VALUE;" for each */
	char profile[MCAP_READ_NAME];
	void (*message)(
		void *ctx, const struct mcap_read_channel *channel, int64_t time_ns, const void *bytes, size_t count);
	void *ctx;
};

static inline uint64_t mcap_read_number(const unsigned char **at, int bytes)
{
	uint64_t value = 0;
	for (int i = 0; i < bytes; i++)
		value |= (uint64_t) * (*at)++ << 8 * i;
	return value;
}

static inline void mcap_read_text(const unsigned char **at, char *ret_text, size_t room)
{
	size_t count = mcap_read_number(at, 4);
	snprintf(ret_text, room, "%.*s", (int)count, (const char *)*at);
	*at += count;
}

static inline void mcap_read_pairs(const unsigned char **at, char *out, size_t room)
{
	char key[MCAP_READ_NAME], value[MCAP_READ_PAIRS];
	size_t count = mcap_read_number(at, 4);
	const unsigned char *end = *at + count;
	while (*at < end) {
		mcap_read_text(at, key, sizeof key);
		mcap_read_text(at, value, sizeof value);
		size_t used = strlen(out);
		snprintf(out + used, room - used, "%s=%s;", key, value);
	}
}

static inline void mcap_read_records(struct mcap_read *read, const unsigned char *at, const unsigned char *end);

static inline void mcap_read_chunk(struct mcap_read *read, const unsigned char *at)
{
	char form[MCAP_READ_NAME];
	at += 16;
	size_t plain = mcap_read_number(&at, 8);
	at += 4;
	mcap_read_text(&at, form, sizeof form);
	size_t count = mcap_read_number(&at, 8);
	unsigned char *bytes = mem_alloc(plain + 1);
	if (!*form)
		memcpy(bytes, at, count);
#ifdef HAVE_ZSTD
	else
		(void)ZSTD_decompress(bytes, plain, at, count);
#endif
	mcap_read_records(read, bytes, bytes + plain);
	free(bytes);
}

static inline void mcap_read_record(
	struct mcap_read *read, int opcode, const unsigned char *at, const unsigned char *end)
{
	char library[MCAP_READ_NAME];
	if (opcode == 1) {
		mcap_read_text(&at, read->profile, sizeof read->profile);
		mcap_read_text(&at, library, sizeof library);
	} else if (opcode == 3) {
		size_t number = mcap_read_number(&at, 2) % MCAP_READ_CHANNELS;
		mcap_read_text(&at, read->types[number], MCAP_READ_NAME);
		mcap_read_text(&at, read->encodings[number], MCAP_READ_NAME);
	} else if (opcode == 4) {
		struct mcap_read_channel *channel = &read->channels[mcap_read_number(&at, 2) % MCAP_READ_CHANNELS];
		*channel =
			(struct mcap_read_channel){.schema = (unsigned)mcap_read_number(&at, 2) % MCAP_READ_CHANNELS};
		mcap_read_text(&at, channel->topic, sizeof channel->topic);
		mcap_read_text(&at, channel->encoding, sizeof channel->encoding);
		mcap_read_pairs(&at, channel->pairs, sizeof channel->pairs);
		channel->type = read->types[channel->schema];
		channel->schema_encoding = read->encodings[channel->schema];
	} else if (opcode == 5) {
		const struct mcap_read_channel *channel =
			&read->channels[mcap_read_number(&at, 2) % MCAP_READ_CHANNELS];
		at += 4;
		int64_t time_ns = (int64_t)mcap_read_number(&at, 8);
		at += 8;
		read->message(read->ctx, channel, time_ns, at, (size_t)(end - at));
	} else if (opcode == 6) {
		mcap_read_chunk(read, at);
	} else if (opcode == 12) {
		char name[MCAP_READ_NAME];
		mcap_read_text(&at, name, sizeof name);
		size_t used = strlen(read->metadata);
		snprintf(read->metadata + used, sizeof read->metadata - used, "%s:", name);
		mcap_read_pairs(&at, read->metadata, sizeof read->metadata);
	}
}

/* Up to the end of the data: behind it is a summary, which has the channels again. */
static inline void mcap_read_records(struct mcap_read *read, const unsigned char *at, const unsigned char *end)
{
	while (at + 9 <= end) {
		int opcode = *at++;
		size_t count = mcap_read_number(&at, 8);
		if (opcode == 15)
			return;
		mcap_read_record(read, opcode, at, at + count);
		at += count;
	}
}

/* False: there is no such file. */
static inline bool mcap_read_file(struct mcap_read *read, const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		return false;
	size_t room = (size_t)ftell(file);
	unsigned char *bytes = mem_alloc(room + 1);
	rewind(file);
	size_t count = fread(bytes, 1, room, file);
	fclose(file);
	mcap_read_records(read, bytes + 8, bytes + count);
	free(bytes);
	return count == room;
}

#endif
