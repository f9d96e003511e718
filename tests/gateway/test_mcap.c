/* Files of MCAP as they are, byte by byte, with a reader of its own: each record, all three sums, numbers of messages,
 * indices that lead to what they name, and the summary. A plain program; tests/web/test_mcap.sh reads what a run writes
 * with another project's library. */
#include "../random.h"
#include "../fault/check.h"

#include "gateway/mcap/file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { CHANNELS = 3, ROUNDS = 4000, LONG_BYTES = 3 << 20, TEXT_MAX = 80 };
enum {
	HEADER = 1,
	FOOTER,
	SCHEMA,
	CHANNEL,
	MESSAGE,
	CHUNK,
	MESSAGE_INDEX,
	CHUNK_INDEX,
	STATISTICS = 11,
	METADATA,
	METADATA_INDEX,
	SUMMARY_OFFSET,
	DATA_END
};

/* --- what is written ---------------------------------------------------------------------------------------------- */

struct sent {
	int32_t channel;
	int64_t time_ns;
	size_t count;
	uint32_t sequence;
};
static struct sent sent[ROUNDS + 8];
static uint32_t sent_count;
static uint32_t of_channel[CHANNELS];

/* Differs from message to message, and compresses well. */
static char byte_of(uint32_t message, size_t at)
{
	return (char)(message * 31 + (at >> 6));
}

static void send_message(struct mcap_file *file, int32_t channel, int64_t time_ns, size_t count)
{
	char *bytes = mem_alloc(count + 1);
	for (size_t i = 0; i < count; i++)
		bytes[i] = byte_of(sent_count, i);
	sent[sent_count++] = (struct sent){channel, time_ns, count, of_channel[channel]++};
	mcap_file_message(file, channel, time_ns, bytes, count);
	free(bytes);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

struct bytes {
	const unsigned char *at;
	size_t count, used;
	bool bad;
};

static uint64_t get(struct bytes *in, unsigned bytes)
{
	uint64_t value = 0;
	if (in->bad || in->count - in->used < bytes) {
		in->bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)in->at[in->used + i] << 8 * i;
	in->used += bytes;
	return value;
}

static struct bytes get_bytes(struct bytes *in, uint64_t count)
{
	if (in->bad || in->count - in->used < count) {
		in->bad = true;
		return (struct bytes){.bad = true};
	}
	struct bytes part = {.at = in->at + in->used, .count = count};
	in->used += count;
	return part;
}

static const char *get_text(struct bytes *in)
{
	static char texts[4][TEXT_MAX];
	static unsigned turn;
	struct bytes part = get_bytes(in, get(in, 4));
	char *text = texts[turn++ % 4];
	(void)snprintf(text, TEXT_MAX, "%.*s", part.bad ? 0 : (int)part.count, (const char *)part.at);
	return text;
}

/* By the polynomial, bit by bit. */
static uint32_t sum_of(const unsigned char *at, size_t count)
{
	uint32_t sum = UINT32_MAX;
	for (size_t i = 0; i < count; i++) {
		sum ^= at[i];
		for (int bit = 0; bit < 8; bit++)
			sum = sum & 1 ? sum >> 1 ^ 0xedb88320u : sum >> 1;
	}
	return ~sum;
}

/* The next record: what is in it. 0: there is none. */
static unsigned get_record(struct bytes *in, struct bytes *ret_content)
{
	unsigned opcode = (unsigned)get(in, 1);
	*ret_content = get_bytes(in, get(in, 8));
	return in->bad ? 0 : opcode;
}

/* --- what is read ------------------------------------------------------------------------------------------------- */

struct seen_chunk {
	uint64_t position, bytes, index_bytes, plain, packed;
	int64_t begin_ns, end_ns;
	char form[TEXT_MAX];
};
static struct seen_chunk chunks[ROUNDS];
static uint32_t chunk_count, message_count, index_count, chunk_first; /* chunk_first: its first message */
static unsigned char *plain;
static size_t plain_count;
static uint64_t metadata_at, metadata_bytes;

static unsigned char *unpacked(const char *form, const struct bytes *packed, uint64_t count)
{
	unsigned char *out = mem_alloc(count + 1);
	if (!*form) {
		check(packed->count == count, "a chunk without compression has its size");
		memcpy(out, packed->at, MIN(packed->count, count));
	} else {
#ifdef HAVE_ZSTD
		check(!strcmp(form, "zstd") && ZSTD_decompress(out, count, packed->at, packed->count) == count, "%s",
			form);
		check(packed->count < count, "compression makes it smaller");
#endif
	}
	return out;
}

static void read_message(struct bytes *in)
{
	const struct sent *of = &sent[message_count];
	uint64_t channel = get(in, 2), sequence = get(in, 4), log = get(in, 8), publish = get(in, 8);
	bool same = !in->bad && message_count < sent_count && in->count - in->used == of->count;
	for (size_t i = 0; same && i < of->count; i++)
		same = in->at[in->used + i] == (unsigned char)byte_of(message_count, i);
	check(same && channel == (uint64_t)of->channel && log == (uint64_t)of->time_ns && publish == log, "message %u",
		message_count);
	check(sequence == of->sequence, "message %u: number %" PRIu64 ": expected %u", message_count, sequence,
		of->sequence);
	message_count++;
}

static void read_chunk(struct bytes *in, uint64_t position, uint64_t bytes)
{
	struct seen_chunk *chunk = &chunks[chunk_count++];
	*chunk = (struct seen_chunk){.position = position, .bytes = bytes};
	chunk->begin_ns = (int64_t)get(in, 8);
	chunk->end_ns = (int64_t)get(in, 8);
	chunk->plain = get(in, 8);
	uint64_t sum = get(in, 4);
	(void)snprintf(chunk->form, sizeof chunk->form, "%s", get_text(in));
	chunk->packed = get(in, 8);
	struct bytes packed = get_bytes(in, chunk->packed), content;
	check(!in->bad && in->used == in->count, "chunk %u", chunk_count);
	if (in->bad)
		return;
	free(plain);
	plain = unpacked(chunk->form, &packed, chunk->plain);
	plain_count = chunk->plain;
	check(sum == sum_of(plain, plain_count), "the sum of chunk %u", chunk_count);
	struct bytes records = {.at = plain, .count = plain_count};
	int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;
	chunk_first = message_count;
	size_t before_last = 0;
	while (records.used < records.count && !records.bad) {
		size_t at = records.used;
		unsigned opcode = get_record(&records, &content);
		check(opcode == SCHEMA || opcode == CHANNEL || opcode == MESSAGE, "record %u in a chunk", opcode);
		if (opcode != MESSAGE)
			continue;
		before_last = at;
		begin_ns = MIN(begin_ns, sent[message_count].time_ns);
		end_ns = MAX(end_ns, sent[message_count].time_ns);
		read_message(&content);
	}
	if (message_count == chunk_first)
		begin_ns = end_ns = 0;
	check(chunk->begin_ns == begin_ns && chunk->end_ns == end_ns, "the times of chunk %u", chunk_count);
	check(end_ns - begin_ns < MCAP_CHUNK_NS, "chunk %u is too long a time", chunk_count);
	check(before_last < MCAP_CHUNK_BYTES, "chunk %u should have been closed before its last message", chunk_count);
	index_count = chunk_first;
}

static void read_message_index(struct bytes *in)
{
	uint64_t channel = get(in, 2), bytes = get(in, 4);
	check(bytes == in->count - in->used && bytes && bytes % 16 == 0, "the size of an index");
	while (in->used < in->count && !in->bad) {
		uint64_t time_ns = get(in, 8), offset = get(in, 8);
		struct bytes records = {.at = plain, .count = plain_count, .used = MIN(offset, plain_count)}, content;
		unsigned opcode = get_record(&records, &content);
		bool good = opcode == MESSAGE && get(&content, 2) == channel;
		(void)get(&content, 4);
		check(good && get(&content, 8) == time_ns, "an entry of channel %" PRIu64, channel);
		index_count++;
	}
	chunks[chunk_count - 1].index_bytes += in->count + 9;
}

static void read_statistics(struct bytes *in)
{
	int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
	for (uint32_t i = 0; i < sent_count; i++) {
		first_ns = MIN(first_ns, sent[i].time_ns);
		last_ns = MAX(last_ns, sent[i].time_ns);
	}
	uint64_t messages = get(in, 8), schemas = get(in, 2), channels = get(in, 4), attachments = get(in, 4);
	uint64_t metadata = get(in, 4), seen = get(in, 4);
	check(messages == sent_count && schemas == 2 && channels == CHANNELS && !attachments && metadata == 1,
		"the statistics: %" PRIu64 " messages", messages);
	check(seen == chunk_count, "%" PRIu64 " chunks: expected %u", seen, chunk_count);
	check((int64_t)get(in, 8) == first_ns && (int64_t)get(in, 8) == last_ns, "the first and the last time");
	check(get(in, 4) == CHANNELS * 10, "counts of messages");
	for (uint64_t i = 0; i < CHANNELS; i++)
		check(get(in, 2) == i && get(in, 8) == of_channel[i], "messages of channel %" PRIu64, i);
	check(!in->bad && in->used == in->count, "the end of the statistics");
}

static void read_chunk_index(struct bytes *in, uint32_t number, const struct bytes *whole)
{
	const struct seen_chunk *chunk = &chunks[number];
	bool times = (int64_t)get(in, 8) == chunk->begin_ns && (int64_t)get(in, 8) == chunk->end_ns;
	check(times && get(in, 8) == chunk->position && get(in, 8) == chunk->bytes, "the place of chunk %u", number);
	struct bytes places = get_bytes(in, get(in, 4));
	while (places.used < places.count && !places.bad) {
		uint64_t channel = get(&places, 2), place = get(&places, 8);
		struct bytes at = {.at = whole->at, .count = whole->count, .used = MIN(place, whole->count)}, content;
		check(get_record(&at, &content) == MESSAGE_INDEX && get(&content, 2) == channel,
			"chunk %u: the index of channel %" PRIu64, number, channel);
	}
	check(get(in, 8) == chunk->index_bytes, "the bytes of the indices of chunk %u", number);
	check(!strcmp(get_text(in), chunk->form) && get(in, 8) == chunk->packed && get(in, 8) == chunk->plain &&
			!in->bad,
		"the sizes of chunk %u", number);
}

static uint32_t seen[16]; /* records of the summary */

static void read_of_summary(unsigned opcode, struct bytes *in, const struct bytes *whole)
{
	uint32_t number = seen[opcode]++;
	if (opcode == SCHEMA) {
		check(get(in, 2) == number + 1 && !strcmp(get_text(in), number ? "two" : "one") &&
				!strcmp(get_text(in), "ros2msg") && get(in, 4) == 4 &&
				!memcmp(in->at + in->used, "int8", 4),
			"schema %u", number + 1);
	} else if (opcode == CHANNEL) {
		char topic[16];
		(void)snprintf(topic, sizeof topic, "/topic_%u", number);
		check(get(in, 2) == number && get(in, 2) == 1 + number % 2 && !strcmp(get_text(in), topic) &&
				!strcmp(get_text(in), "cdr"),
			"channel %u", number);
		uint64_t bytes = get(in, 4);
		check(bytes == in->count - in->used && (number ? bytes > 0 : !bytes), "its pairs: %" PRIu64, bytes);
		check(!number || (!strcmp(get_text(in), "key") && !strcmp(get_text(in), "value") &&
					 !strcmp(get_text(in), "another key") && !*get_text(in)),
			"its pairs");
	} else if (opcode == STATISTICS) {
		read_statistics(in);
	} else if (opcode == CHUNK_INDEX) {
		read_chunk_index(in, number, whole);
	} else if (opcode == METADATA_INDEX) {
		check(get(in, 8) == metadata_at && get(in, 8) == metadata_bytes && !strcmp(get_text(in), "name"),
			"the index of the metadata");
	} else if (opcode != SUMMARY_OFFSET) {
		check(false, "record %u in the summary", opcode);
	}
}

/* A group of records of one kind stands where an offset says, and is as long. */
static void read_offset(struct bytes *in, const struct bytes *whole)
{
	unsigned opcode = (unsigned)get(in, 1);
	uint64_t begin = get(in, 8), count = get(in, 8);
	struct bytes group = {
		.at = whole->at, .count = MIN(begin + count, whole->count), .used = MIN(begin, whole->count)};
	struct bytes content;
	uint32_t records = 0;
	while (group.used < group.count && get_record(&group, &content) == opcode)
		records++;
	check(!group.bad && group.used == group.count && records == seen[opcode], "the group of records %u", opcode);
}

static void read_file(const struct bytes *whole)
{
	static const char magic[] = "\x89MCAP0\r\n";
	struct bytes in = *whole, content;
	unsigned opcode = 0;
	check(in.count > 16 && !memcmp(in.at, magic, 8) && !memcmp(in.at + in.count - 8, magic, 8), "the magic");
	in.used = 8;
	in.count -= 8;
	check(get_record(&in, &content) == HEADER && !strcmp(get_text(&content), "profile") &&
			!strcmp(get_text(&content), "library") && content.used == content.count,
		"the header");
	uint64_t position = in.used;
	while (opcode != DATA_END && !in.bad) {
		position = in.used;
		opcode = get_record(&in, &content);
		if (opcode == CHUNK) {
			check(index_count == message_count, "%u messages of %u have an entry", index_count,
				message_count);
			read_chunk(&content, position, in.used - position);
		} else if (opcode == MESSAGE_INDEX) {
			read_message_index(&content);
		} else if (opcode == METADATA) {
			metadata_at = position;
			metadata_bytes = in.used - position;
			check(!strcmp(get_text(&content), "name") && get(&content, 4) == content.count - content.used &&
					!strcmp(get_text(&content), "a") && !strcmp(get_text(&content), "b"),
				"the metadata");
		} else {
			check(opcode == DATA_END && get(&content, 4) == sum_of(whole->at, position),
				"the sum of all data");
		}
	}
	check(message_count == sent_count && index_count == message_count, "%u messages of %u, %u in indices",
		message_count, sent_count, index_count);
	uint64_t summary = in.used, offsets = 0;
	while (opcode != FOOTER && !in.bad) {
		uint64_t at = in.used;
		opcode = get_record(&in, &content);
		offsets = opcode == SUMMARY_OFFSET && !offsets ? at : offsets;
		if (opcode == SUMMARY_OFFSET)
			read_offset(&content, whole);
		else if (opcode != FOOTER)
			read_of_summary(opcode, &content, whole);
	}
	check(get(&content, 8) == summary && get(&content, 8) == offsets, "the places in the footer");
	uint64_t sum = get(&content, 4);
	check(sum == sum_of(whole->at + summary, in.used - summary - 4), "the sum of the summary");
	check(!in.bad && in.used == in.count, "the end");
	check(seen[SCHEMA] == 2 && seen[CHANNEL] == CHANNELS && seen[STATISTICS] == 1 &&
			seen[CHUNK_INDEX] == chunk_count && seen[METADATA_INDEX] == 1,
		"records of the summary");
}

/* --- cases -------------------------------------------------------------------------------------------------------- */

static void write_and_read(const char *path)
{
	const struct outfile_options options = {.fresh = false};
	struct mcap_file_counts counts;
	struct mcap_file *file;
	static const char *const pairs[] = {"key", "value", "another key", ""};
	struct troupe_error error;
	uint64_t dice = 1;
	check(!mcap_file_open(path, "profile", "library", &options, &file, &error), "%s", error.text);
	for (int32_t i = 0; i < 2; i++)
		check(mcap_file_add_schema(file, i ? "two" : "one", "ros2msg", "int8", 4) == i + 1, "a schema");
	for (int32_t i = 0; i < CHANNELS; i++) {
		char topic[24];
		(void)snprintf(topic, sizeof topic, "/topic_%d", i);
		check(mcap_file_add_channel(file, 1 + i % 2, topic, "cdr", pairs, i ? ARRAY_LEN(pairs) : 0) == i,
			"a channel");
	}
	mcap_file_metadata(file, "name", (const char *const[]){"a", "b"}, 2);
	int64_t time_ns = 5000000000;
	for (int i = 0; i < ROUNDS; i++) {
		int32_t channel = (int32_t)random_below(&dice, CHANNELS);
		send_message(file, channel, time_ns, random_below64(&dice, 2000));
		time_ns += random_below(&dice, 2000000);
	}
	/* a message of no bytes; one larger than a chunk; the last of a second, and the first after it; time that is
	 * reset */
	send_message(file, 0, time_ns + 10000000000, 0);
	send_message(file, 1, time_ns + 10000000000 + MCAP_CHUNK_NS - 1, LONG_BYTES);
	send_message(file, 2, time_ns + 20000000000, 1);
	send_message(file, 2, time_ns + 20000000000 + MCAP_CHUNK_NS - 1, 1);
	send_message(file, 2, time_ns + 20000000000 + MCAP_CHUNK_NS, 1);
	send_message(file, 0, 7, 100);
	check(!mcap_file_failed(file) && !mcap_file_close(file, &counts), "it is written");
	FILE *in = fopen(path, "rb");
	struct bytes whole = {.count = 0};
	unsigned char *bytes = mem_alloc(counts.bytes + 1);
	whole.count = in ? fread(bytes, 1, counts.bytes + 1, in) : 0;
	whole.at = bytes;
	if (in)
		fclose(in);
	check(whole.count == counts.bytes, "%zu bytes: expected %" PRIu64, whole.count, counts.bytes);
	read_file(&whole);
	uint64_t plain_bytes = 0;
	for (uint32_t i = 0; i < chunk_count; i++)
		plain_bytes += chunks[i].plain;
	check(counts.messages == sent_count && counts.chunks == chunk_count && counts.channels == CHANNELS &&
			counts.plain_bytes == plain_bytes,
		"the counts");
	check(sent[chunk_first].time_ns == 7 && chunk_first == sent_count - 1, "time that is reset begins a chunk");
	free(bytes);
	free(plain);
}

static void fails(void)
{
	const struct outfile_options options = {.fresh = false};
	struct mcap_file *file;
	struct troupe_error error;
	check(mcap_file_open("/nowhere/x.mcap", "p", "l", &options, &file, &error) == TROUPE_EIO, "no such folder");
	check(!mcap_file_open("/dev/full", "p", "l", &options, &file, &error), "%s", error.text);
	check(mcap_file_failed(file) == ENOSPC, "the disk is full: %d", mcap_file_failed(file));
	check(mcap_file_add_channel(file, 0, "/t", "cdr", NULL, 0) == 0, "a channel");
	mcap_file_message(file, 0, 1, "x", 1);
	check(mcap_file_close(file, NULL) == ENOSPC, "the first error stays");
	check(!mcap_file_open("/dev/null", "p", "l", &options, &file, &error), "%s", error.text);
	int32_t last = 0;
	for (int i = 0; i < MCAP_CHANNELS_MAX; i++)
		last = mcap_file_add_schema(file, "s", "e", "", 0);
	check(last == MCAP_CHANNELS_MAX && mcap_file_add_schema(file, "s", "e", "", 0) == -1, "schemas: %d", last);
	for (int i = 0; i < MCAP_CHANNELS_MAX; i++)
		last = mcap_file_add_channel(file, 1, "t", "e", NULL, 0);
	check(last == MCAP_CHANNELS_MAX - 1 && mcap_file_add_channel(file, 1, "t", "e", NULL, 0) == -1, "channels: %d",
		last);
	mcap_file_message(file, 0, 1, "x", MCAP_MESSAGE_BYTES_MAX + (size_t)1);
	check(mcap_file_failed(file) == EFBIG, "a message that is too long");
	(void)mcap_file_close(file, NULL);
}

int main(void)
{
	char path[] = "/tmp/test_mcap.XXXXXX";
	int made = mkstemp(path);
	check(made >= 0, "a file");
	close(made);
	write_and_read(path);
	fails();
	(void)unlink(path);
	printf("%d passed, %d failed\n", passed, failed);
	return failed ? 1 : 0;
}
