/* The fingerprint of floating-point arithmetic is the same on every thread, and differs when results of arithmetic
 * differ. A state or recording with another fingerprint causes a warning. */
#include "base/hash.h"
#include "base/infile.h"
#include "base/pack.h"
#include "physics/physics.h"
#include "server/record.h"

#include <criterion/criterion.h>
#include <fenv.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <troupe/record.h>

TestSuite(fingerprint, .timeout = 60);

static uint64_t whole(int unused)
{
	(void)unused;
	return physics_fingerprint();
}

static uint64_t part_of(int part)
{
	return physics_fingerprint_parts()->of[part];
}

/* What a process of its own computes when numbers are rounded in this way. */
static uint64_t computed_by(int rounding, uint64_t (*compute)(int part), int part)
{
	int ends[2];
	uint64_t result = 0;
	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		fesetround(rounding);
		result = compute(part);
		_exit(write(ends[1], &result, sizeof result) != sizeof result);
	}
	cr_assert_eq(read(ends[0], &result, sizeof result), (ssize_t)sizeof result);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(ends[1]);
	return result;
}

static uint64_t computed(int rounding)
{
	return computed_by(rounding, whole, 0);
}

static uint64_t part_computed(int rounding, enum fingerprint_part part)
{
	return computed_by(rounding, part_of, (int)part);
}

Test(fingerprint, is_computed_from_what_numbers_come_to)
{
	uint64_t here = computed(FE_TONEAREST);
	cr_assert_neq(here, 0);
	cr_assert_eq(computed(FE_TONEAREST), here);
	cr_assert_neq(computed(FE_UPWARD), here);
	cr_assert_neq(computed(FE_TOWARDZERO), here);
}

static void *on_thread(void *ctx)
{
	*(uint64_t *)ctx = troupe_fingerprint();
	return NULL;
}

Test(fingerprint, is_that_of_the_process_on_whichever_thread)
{
	uint64_t other = 0, third = computed(FE_TONEAREST);
	pthread_t thread;
	cr_assert_eq(pthread_create(&thread, NULL, on_thread, &other), 0);
	pthread_join(thread, NULL);
	cr_assert_eq(other, third);
	cr_assert_eq(troupe_fingerprint(), third);
}

Test(fingerprint, has_parts_that_are_computed_by_themselves)
{
	/* before this process has computed its own */
	uint64_t ode = part_computed(FE_TONEAREST, FINGERPRINT_ODE),
		 ode_upward = part_computed(FE_UPWARD, FINGERPRINT_ODE);
	uint64_t sums_upward = part_computed(FE_UPWARD, FINGERPRINT_ARITHMETIC);
	const struct fingerprint *own = physics_fingerprint_parts();
	cr_assert_eq(own->all, physics_fingerprint());
	cr_assert_eq(ode, own->of[FINGERPRINT_ODE]);
	cr_assert_neq(ode_upward, ode);
	cr_assert_neq(sums_upward, own->of[FINGERPRINT_ARITHMETIC]);
	for (int i = 0; i < FINGERPRINT_PARTS; i++)
		for (int k = 0; k < i; k++)
			cr_assert_neq(own->of[i], own->of[k], "parts %d and %d", i, k);
}

/* --- what carries it ---------------------------------------------------------------------------------------------- */

struct heard {
	uint32_t warnings;
	char last[TROUPE_ERROR_TEXT_BYTES];
};

static void on_warning(void *ctx, const char *text)
{
	struct heard *heard = ctx;
	heard->warnings++;
	snprintf(heard->last, sizeof heard->last, "%s", text);
}

static const char world[] = "<sdf version='1.9'><world name='w'><model name='m'><link name='l'/></model></world></sdf>";

/* Records five steps, and saves the state after them. */
static void make_files(const char *state, const char *recording)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {.iterations = 5};
	struct troupe_server *server;
	def.world_path = "w.sdf";
	def.world_text = world;
	def.pace = TROUPE_PACE_FACTOR;
	def.record_path = recording;
	cr_assert_eq(troupe_server_create(&def, &server, NULL), TROUPE_OK);
	cr_assert_eq(troupe_server_run(server, &limits, NULL), TROUPE_OK);
	cr_assert_eq(troupe_server_end_recording(server, NULL), TROUPE_OK);
	cr_assert_eq(troupe_server_save(server, state, NULL), TROUPE_OK);
	troupe_server_destroy(server);
}

static char *read_whole(const char *path, size_t *ret_count)
{
	char *bytes;
	cr_assert_eq(infile_read(path, 1 << 20, &bytes, ret_count, NULL), TROUPE_OK);
	return bytes;
}

static void write_whole(const char *path, const char *bytes, size_t count)
{
	FILE *file = fopen(path, "w");
	cr_assert_eq(fwrite(bytes, 1, count, file), count);
	cr_assert_eq(fclose(file), 0);
}

static void put_u64(char *at, uint64_t value)
{
	struct text number = {0};
	pack_u64(&number, value);
	memcpy(at, number.at, 8);
	text_fini(&number);
}

/* Changes a saved state as if another machine had made it: the first digit of the fingerprint is another, or the
 * fingerprint is left out. */
static void move_state(char *state, size_t count, bool leave_out)
{
	static const char mark[] = " fingerprint ";
	enum { MAGIC = 16, HEAD = 32 };
	struct unpack head = {state + MAGIC, state + HEAD, false};
	uint64_t version = unpack_u64(&head);
	char *found = memmem(state, count, mark, strlen(mark));
	cr_assert_not_null(found);
	if (leave_out)
		found[1] = 'F';
	else
		found[strlen(mark)] ^= 1;
	put_u64(state + HEAD - 8, hash_bytes(version, state + HEAD, count - HEAD));
}

/* Changes the state in the recording's first chunk, and then the chunk's hash. */
static void move_recording(char *bytes, size_t count)
{
	char *chunk = bytes + RECORD_HEAD_BYTES, *body = chunk + RECORD_CHUNK_BYTES;
	struct unpack in = {chunk, body, false};
	uint64_t kind = unpack_u64(&in), body_bytes = unpack_u64(&in);
	cr_assert(kind == RECORD_START && body_bytes < count);
	char *state = memmem(body, body_bytes, "troupe state\n", 13);
	cr_assert_not_null(state);
	move_state(state, (size_t)(body + body_bytes - state), false);
	put_u64(chunk + 16, record_checksum(kind, 0, body, body_bytes));
}

static struct heard resume(const char *path)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_limits limits = {.iterations = 9};
	struct troupe_server *server;
	struct heard heard = {0};
	def.resume_path = path;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_warning = on_warning;
	def.ctx = &heard;
	cr_assert_eq(troupe_server_create(&def, &server, NULL), TROUPE_OK);
	cr_assert_eq(troupe_server_run(server, &limits, NULL), TROUPE_OK);
	troupe_server_destroy(server);
	return heard;
}

static struct heard replay(const char *path)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_replay result;
	struct heard heard = {0};
	def.resume_path = path;
	def.on_warning = on_warning;
	def.ctx = &heard;
	cr_assert_eq(troupe_replay_run(&def, 0, &result, NULL), TROUPE_OK);
	cr_assert_eq(result.end, TROUPE_REPLAY_WHOLE);
	return heard;
}

Test(fingerprint, another_in_a_state_or_recording_is_warned_of)
{
	char folder[] = "/tmp/troupe-fingerprint-XXXXXX", state[64], recording[64];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(state, sizeof state, "%s/state", folder);
	snprintf(recording, sizeof recording, "%s/recording", folder);
	make_files(state, recording);
	cr_assert_eq(resume(state).warnings, 0);
	cr_assert_eq(replay(recording).warnings, 0);

	size_t state_count, recording_count;
	char *bytes = read_whole(state, &state_count), *tape = read_whole(recording, &recording_count);
	move_state(bytes, state_count, false);
	write_whole(state, bytes, state_count);
	struct heard heard = resume(state);
	cr_assert(heard.warnings == 1 && strstr(heard.last, "made under the floating-point fingerprint") &&
			  strstr(heard.last, state),
		"%u: %s", heard.warnings, heard.last);
	move_state(bytes, state_count, true);
	write_whole(state, bytes, state_count);
	heard = resume(state);
	cr_assert_eq(heard.warnings, 0, "saved by a version without fingerprints: %s", heard.last);

	move_recording(tape, recording_count);
	write_whole(recording, tape, recording_count);
	heard = replay(recording);
	cr_assert(heard.warnings == 1 && strstr(heard.last, "made under the floating-point fingerprint") &&
			  strstr(heard.last, recording),
		"%u: %s", heard.warnings, heard.last);
	free(bytes);
	free(tape);
	remove(state);
	remove(recording);
	rmdir(folder);
}
