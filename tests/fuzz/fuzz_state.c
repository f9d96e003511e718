/* Feeds damaged states to the server, and what it accepts to the simulator.
 *
 *   fuzz_state                   some hundred rounds over states of its own
 *   fuzz_state SEED ROUNDS       so many rounds over each
 *   fuzz_state --replay FILE...  files as they are
 *
 * The same arguments damage the same bytes. A state is taken apart as ../../src/server/save.c puts it together, into
 * numbers, strings and, within a world, sections; these are damaged, the checksum is set right again, and so is the
 * hash of each world where that is all that is wrong: else hardly anything would be looked at. Whatever comes in, the
 * server must return: with one line that names the file, or with a server that simulates 20 steps or gives a model up.
 * The memory that this takes is limited. With FUZZ_STATE_LAST=FILE each state is written there first and kept, for when
 * the process does not survive it. With WITHOUT_MAIN it is a target for tests/fuzz/run. */
#include "base/infile.h"
#include "base/pack.h"
#include "base/sandbox.h"
#include "server/internal.h"

#include "../amount.h"
#include "damage.h"
#include "seeds.h"

#include <troupe/server.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef WITHOUT_MAIN
enum { HANG_S = 0 }; /* the timer is the fuzzer's */
#else
enum { HANG_S = 60 };
#endif
enum { STEPS = 20, STATES_MAX = 32, FILE_BYTES_MAX = 1 << 22 };

#define MEMORY_MAX ((rlim_t)2 << 30)

static char path[64], folder[40] = "/tmp/fuzz_state.XXXXXX";
static const char *last;

static void state_must(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "fuzz_state: %s; the state is %s\n", what, path);
	exit(1);
}

/* --- feeding ------------------------------------------------------------------------------------------------------ */

static void put(const char *to, const struct text *state)
{
	FILE *file = fopen(to, "wb");
	if (!file || fwrite(state->at, 1, state->count, file) != state->count || fclose(file)) {
		perror(to);
		exit(1);
	}
}

static void check_refusal(const struct troupe_error *error)
{
	bool named = !strncmp(error->text, path, strlen(path));
	if (!named || strchr(error->text, '\n'))
		fprintf(stderr, "%s\n", error->text);
	state_must(named, "refused without the file's name");
	state_must(!strchr(error->text, '\n'), "refused in more than one line");
}

struct run {
	struct troupe_server *server;
	int steps;
};

/* Worlds of a damaged state may be at very different steps, so steps are counted here. */
static void on_hash(void *ctx, uint64_t step, uint64_t hash)
{
	struct run *run = ctx;
	(void)step, (void)hash;
	if (++run->steps == STEPS)
		troupe_server_stop(run->server);
}

static void simulate(struct troupe_server *server)
{
	struct troupe_error error = {0};
	struct troupe_limits limits = {.iterations = UINT64_MAX};
	troupe_status status = troupe_server_run(server, &limits, &error);
	if (status && status != TROUPE_EDIVERGED) {
		fprintf(stderr, "%d: %s\n", (int)status, error.text);
		state_must(false, "the simulation failed");
	}
	if (!status)
		(void)troupe_server_hash(server);
}

static void watch(unsigned limit_s)
{
	if (HANG_S)
		alarm(limit_s);
}

/* Whether it was accepted. *ret_hash: the one that was found where another was expected; 0: that was not the reason. */
static bool feed(const struct text *state, int32_t secondaries, uint64_t *ret_hash, uint64_t *ret_expected)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server = NULL;
	struct troupe_error error = {0};
	struct run run = {0};
	def.resume_path = path;
	def.hash_every = 1;
	def.on_hash = on_hash;
	def.ctx = &run;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	*ret_hash = 0;
	put(path, state);
	if (last)
		put(last, state);
	watch(HANG_S);
	bool accepted = !troupe_server_create(&def, &server, &error);
	if (accepted) {
		run.server = server;
		simulate(server);
		troupe_server_destroy(server);
	}
	watch(0);
	if (accepted)
		return true;
	check_refusal(&error);
	const char *found = strstr(error.text, "found "), *expected = strstr(error.text, "expected hash ");
	if (found && expected) {
		*ret_hash = strtoull(found + 6, NULL, 16);
		*ret_expected = strtoull(expected + 14, NULL, 16);
	}
	return false;
}

/* --- for libFuzzer ------------------------------------------------------------------------------------------------ */

static void begin_folder(void)
{
	state_must(mkdtemp(folder), "no folder");
	snprintf(path, sizeof path, "%s/state", folder);
}

static void end_folder(void)
{
	unlink(path);
	rmdir(folder);
}

/* Puts one number instead of another, wherever it stands first. */
static bool exchange(struct text *state, uint64_t from, uint64_t to)
{
	char old[8], new[8];
	for (int i = 0; i < 8; i++) {
		old[i] = (char)(from >> (8 * i) & 0xff);
		new[i] = (char)(to >> (8 * i) & 0xff);
	}
	char *at = memmem(state->at + SAVE_HEAD_BYTES, state->count - SAVE_HEAD_BYTES, old, sizeof old);
	if (at)
		memcpy(at, new, sizeof new);
	return at;
}

/* All of a state but its head. Whether it was accepted. */
static bool feed_rest(const uint8_t *bytes, size_t count)
{
	static const char head[SAVE_HEAD_BYTES];
	struct text state = {0};
	bool accepted = false;
	text_add_bytes(&state, head, sizeof head);
	text_add_bytes(&state, (const char *)bytes, count);
	for (int tries = 0; tries < 4 && !accepted; tries++) {
		uint64_t found, expected;
		server_seal(state.at, state.count);
		accepted = feed(&state, 0, &found, &expected);
		if (!accepted && (!found || !exchange(&state, expected, found)))
			break;
	}
	text_fini(&state);
	return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (!*path) {
		begin_folder();
		atexit(end_folder);
	}
	(void)feed_rest(bytes, count);
	return 0;
}

#ifndef WITHOUT_MAIN

/* --- tokens ------------------------------------------------------------------------------------------------------- */

enum kind { NUMBER, REAL, STRING, HASH, BEGIN, END }; /* between BEGIN and END: what is in a world's bytes */

struct token {
	enum kind kind;
	uint64_t value; /* also: how much longer than it is a STRING says to be */
	struct text text;
	bool marked; /* begins a section: a model, a command, a file */
};

struct tokens {
	VEC(struct token) all;
	struct unpack in;
};

static uint64_t number(struct tokens *tokens, enum kind kind)
{
	struct token token = {.kind = kind, .value = unpack_u64(&tokens->in)};
	vec_push(&tokens->all, token);
	return token.value;
}

static void numbers(struct tokens *tokens, enum kind kind, uint64_t count)
{
	for (uint64_t i = 0; i < count && !tokens->in.bad; i++)
		number(tokens, kind);
}

static void string(struct tokens *tokens)
{
	struct token token = {.kind = STRING};
	size_t count;
	const char *bytes = unpack_bytes(&tokens->in, &count);
	text_add_bytes(&token.text, bytes, count);
	vec_push(&tokens->all, token);
}

static void mark(struct tokens *tokens)
{
	tokens->all.at[tokens->all.count - 1].marked = true;
}

static void read_files(struct tokens *tokens)
{
	uint64_t count = number(tokens, NUMBER);
	for (uint64_t i = 0; i < count && !tokens->in.bad; i++) {
		string(tokens);
		mark(tokens);
		number(tokens, NUMBER);
		string(tokens);
	}
}

static void read_plugins(struct tokens *tokens)
{
	uint64_t count = number(tokens, NUMBER);
	for (uint64_t i = 0; i < count && !tokens->in.bad; i++) {
		string(tokens);
		mark(tokens);
		number(tokens, NUMBER);
	}
}

/* Whether the pose of a model without bodies comes next, and not a count of collisions that are off and a count of
 * words. */
static bool pose_next(const struct tokens *tokens)
{
	struct unpack in = tokens->in;
	double v[7];
	uint64_t first = unpack_u64(&in), second = unpack_u64(&in);
	in = tokens->in;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		v[i] = unpack_double(&in);
	double norm = v[3] * v[3] + v[4] * v[4] + v[5] * v[5] + v[6] * v[6];
	bool reals = (!first || first > UINT32_MAX) && (!second || second > UINT32_MAX);
	return !in.bad && reals && norm > 0.9 && norm < 1.1;
}

static void read_model(struct tokens *tokens)
{
	uint64_t flags = number(tokens, NUMBER);
	mark(tokens);
	if (!flags)
		return;
	number(tokens, NUMBER);
	numbers(tokens, REAL, 3);
	if (flags & 2) {
		numbers(tokens, NUMBER, 4);
		string(tokens);
		string(tokens);
		string(tokens);
		number(tokens, NUMBER);
		numbers(tokens, REAL, 7);
		read_plugins(tokens);
		read_files(tokens);
	}
	if (pose_next(tokens))
		numbers(tokens, REAL, 7);
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* collisions that are off */
	mark(tokens);
	numbers(tokens, REAL, number(tokens, NUMBER));
}

static void read_light(struct tokens *tokens)
{
	uint64_t flags = number(tokens, NUMBER);
	mark(tokens);
	if (flags & 4)
		string(tokens);
	if (!(flags & 2))
		return;
	number(tokens, NUMBER);
	numbers(tokens, REAL, 26);
}

static void read_command(struct tokens *tokens)
{
	mark(tokens);
	number(tokens, NUMBER);
	string(tokens); /* topic, client, type, message */
	string(tokens);
	string(tokens);
	string(tokens);
}

static void read_world(struct tokens *tokens)
{
	number(tokens, NUMBER);
	number(tokens, HASH);
	numbers(tokens, NUMBER, 2);
	number(tokens, REAL);
	numbers(tokens, NUMBER, 2); /* of sensors: what they saw last, readings */
	number(tokens, HASH);
	numbers(tokens, NUMBER, 2);
	numbers(tokens, REAL, 4);
	number(tokens, NUMBER);
	numbers(tokens, REAL, 4);
	if (number(tokens, NUMBER)) /* a place on the globe */
		numbers(tokens, REAL, 4);
	if (number(tokens, NUMBER)) /* meshes of visuals that were read later */
		read_files(tokens);
	numbers(tokens, NUMBER, 3);
	uint64_t models = number(tokens, NUMBER);
	for (uint64_t m = 0; m < models && !tokens->in.bad; m++)
		read_model(tokens);
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* changes */
	mark(tokens);
	uint64_t lights = number(tokens, NUMBER);
	for (uint64_t i = 0; i < lights && !tokens->in.bad; i++)
		read_light(tokens);
	mark(tokens);
	uint64_t ties = number(tokens, NUMBER);
	for (uint64_t i = 0; i < ties && !tokens->in.bad; i++) {
		numbers(tokens, NUMBER, 4);
		numbers(tokens, REAL, 7);
	}
	mark(tokens);
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* levels */
	mark(tokens);
	number(tokens, NUMBER);                          /* loads */
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* strays */
	mark(tokens);
	number(tokens, NUMBER);
	while (number(tokens, NUMBER) != 0 && !tokens->in.bad) /* of one world, or of several */
		read_command(tokens);
	mark(tokens);
	while (number(tokens, NUMBER) != 0 && !tokens->in.bad) { /* bound to simulated time */
		read_command(tokens);
		number(tokens, REAL);
		number(tokens, NUMBER);
	}
	mark(tokens);
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* who is asleep */
	mark(tokens);
	uint64_t wrenches = number(tokens, NUMBER);
	for (uint64_t i = 0; i < wrenches && !tokens->in.bad; i++) {
		number(tokens, NUMBER);
		numbers(tokens, REAL, 6);
	}
	mark(tokens);
	wrenches = number(tokens, NUMBER);
	for (uint64_t i = 0; i < wrenches && !tokens->in.bad; i++) {
		number(tokens, NUMBER);
		numbers(tokens, REAL, 9);
	}
	mark(tokens);
	numbers(tokens, NUMBER, 3 * number(tokens, NUMBER)); /* cameras that were triggered in a pause */
	mark(tokens);
	numbers(tokens, NUMBER, number(tokens, NUMBER)); /* words of the world's plugins */
	mark(tokens);
	for (uint64_t i = number(tokens, NUMBER); i; i--) { /* what sensors measured that plugins read */
		numbers(tokens, NUMBER, 5);
		numbers(tokens, NUMBER, (number(tokens, NUMBER) + 7) / 8);
	}
	mark(tokens);
	numbers(tokens, NUMBER, 2 * number(tokens, NUMBER)); /* models that are pinned */
	mark(tokens);
	number(tokens, NUMBER);                                              /* what clients may act on */
	for (uint64_t i = number(tokens, NUMBER); i && !tokens->in.bad; i--) /* robot clients */
		string(tokens);
	mark(tokens);
	numbers(tokens, NUMBER, 2 * number(tokens, NUMBER)); /* models that they own */
}

static void read_state(struct tokens *tokens, const struct text *state)
{
	*tokens = (struct tokens){.in = {state->at + SAVE_HEAD_BYTES, state->at + state->count, false}};
	string(tokens);
	numbers(tokens, NUMBER, 2);
	string(tokens);
	uint64_t paths = number(tokens, NUMBER);
	for (uint64_t i = 0; i < paths && !tokens->in.bad; i++)
		string(tokens);
	read_plugins(tokens);
	read_files(tokens);
	uint64_t worlds = number(tokens, NUMBER);
	for (uint64_t w = 0; w < worlds && !tokens->in.bad; w++) {
		size_t count;
		string(tokens);
		const char *bytes = unpack_bytes(&tokens->in, &count);
		struct unpack outer = tokens->in;
		tokens->in = (struct unpack){bytes, bytes + count, false};
		vec_push(&tokens->all, (struct token){.kind = BEGIN});
		read_world(tokens);
		state_must(!tokens->in.bad && tokens->in.at == tokens->in.end, "a world was not understood");
		vec_push(&tokens->all, (struct token){.kind = END});
		tokens->in = outer;
	}
	state_must(!tokens->in.bad && tokens->in.at == tokens->in.end, "a state was not understood");
}

static void free_tokens(struct tokens *tokens)
{
	for (uint32_t i = 0; i < tokens->all.count; i++)
		text_fini(&tokens->all.at[i].text);
	vec_free(&tokens->all);
}

static void write_state(const struct tokens *tokens, const char *head, struct text *ret_state)
{
	struct text world = {0}, *out = ret_state;
	*ret_state = (struct text){0};
	text_add_bytes(ret_state, head, SAVE_HEAD_BYTES);
	for (uint32_t i = 0; i < tokens->all.count; i++) {
		const struct token *token = &tokens->all.at[i];
		if (token->kind == BEGIN) {
			out = &world;
		} else if (token->kind == END) {
			out = ret_state;
			pack_bytes(out, world.at, world.count);
			world.count = 0;
		} else {
			pack_u64(out, token->value + (token->kind == STRING ? token->text.count : 0));
			text_add_bytes(out, token->text.count ? token->text.at : "", token->text.count);
		}
	}
	text_fini(&world);
	server_seal(ret_state->at, ret_state->count);
}

/* --- damage ------------------------------------------------------------------------------------------------------- */

static const double reals[] = {0, -0.0, 1, -1, 1e308, -1e308, 1e300, 1e155, 1e30, 1e15, 1e9, 1e7, 1e5, -1e5, 1e4, 1e-3,
	1e-300, 5e-324, 0.5, 0.7071067811865476, 3.2, -1e9, 1e16};
static const uint64_t whole[] = {0, 1, 2, 3, 5, 7, 8, 9, 11, 13, 15, 16, 100, 1000, 65536, 1 << 18, 1 << 20, 1 << 24,
	INT32_MAX, UINT32_MAX, (uint64_t)UINT32_MAX + 1, (uint64_t)1 << 53, INT64_MAX, (uint64_t)1 << 63,
	UINT64_MAX - 1, UINT64_MAX, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0xfff8000000000001};

#define PICK(damage, array) ((array)[damage_below((damage), ARRAY_LEN(array))])

static void damage_number(struct damage *damage, struct token *token)
{
	double real = PICK(damage, reals), own;
	uint64_t any = PICK(damage, whole);
	switch (damage_below(damage, 6)) {
	case 0:
		token->value += damage_below(damage, 2) ? 1 : UINT64_MAX;
		break;
	case 1:
		token->value ^= (uint64_t)1 << damage_below(damage, 64);
		break;
	case 2:
		token->value = any;
		break;
	case 3:
		memcpy(&own, &token->value, sizeof own);
		own *= damage_below(damage, 2) ? -1 : 10;
		memcpy(&token->value, &own, sizeof own);
		break;
	default:
		if (token->kind == REAL)
			memcpy(&token->value, &real, sizeof real);
		else
			token->value = any;
	}
}

static void damage_string(struct damage *damage, struct token *token)
{
	struct text *text = &token->text;
	switch (damage_below(damage, 5)) {
	case 0:
		text->count = damage_below(damage, text->count);
		break;
	case 1:
		token->value = PICK(damage, whole); /* a length that is not its own */
		break;
	case 2:
		if (text->count)
			text->at[damage_below(damage, text->count)] = (char)damage_below(damage, 256);
		break;
	default:
		if (text->count > 4)
			damage_once(damage, text);
		else
			text_add_bytes(text, "x", 1);
	}
}

static bool is_fence(const struct token *token)
{
	return token->kind == BEGIN || token->kind == END;
}

static struct token copy_of(const struct token *from)
{
	struct token copy = *from;
	copy.text = (struct text){0};
	text_add_bytes(&copy.text, from->text.count ? from->text.at : "", from->text.count);
	return copy;
}

/* Sections end where the next begins; now and then tokens are taken one by one. */
static uint32_t end_of(const struct tokens *tokens, uint32_t first, bool section)
{
	uint32_t end = first + 1;
	while (section && end < tokens->all.count && !tokens->all.at[end].marked && !is_fence(&tokens->all.at[end]))
		end++;
	return end;
}

/* Out goes [first, end), in come copies of the tokens of `with`. */
static void splice(struct tokens *tokens, uint32_t first, uint32_t end, const struct token *with, uint32_t count)
{
	struct tokens out = {0};
	for (uint32_t i = 0; i < first; i++)
		vec_push(&out.all, tokens->all.at[i]);
	for (uint32_t i = 0; i < count; i++)
		vec_push(&out.all, copy_of(&with[i]));
	for (uint32_t i = end; i < tokens->all.count; i++)
		vec_push(&out.all, tokens->all.at[i]);
	for (uint32_t i = first; i < end; i++)
		text_fini(&tokens->all.at[i].text);
	vec_free(&tokens->all);
	for (uint32_t i = 0; i < out.all.count; i++)
		vec_push(&tokens->all, out.all.at[i]);
	vec_free(&out.all);
}

static uint32_t pick_section(struct damage *damage, const struct tokens *tokens)
{
	uint32_t at = (uint32_t)damage_below(damage, tokens->all.count);
	for (uint32_t i = 0; i < tokens->all.count; i++, at = (at + 1) % tokens->all.count)
		if (tokens->all.at[at].marked)
			break;
	return at;
}

static void damage_sections(struct damage *damage, struct tokens *tokens, const struct tokens *donor)
{
	bool section = damage_below(damage, 4);
	uint32_t a = section ? pick_section(damage, tokens) : (uint32_t)damage_below(damage, tokens->all.count);
	uint32_t b = pick_section(damage, donor);
	uint32_t a_end = end_of(tokens, a, section), b_end = end_of(donor, b, true);
	if (is_fence(&tokens->all.at[a]))
		return;
	switch (damage_below(damage, 4)) {
	case 0:
		splice(tokens, a, a_end, NULL, 0);
		break;
	case 1: {
		struct tokens same = {0};
		for (uint32_t i = a; i < a_end; i++)
			vec_push(&same.all, copy_of(&tokens->all.at[i]));
		splice(tokens, a, a, same.all.at, same.all.count);
		free_tokens(&same);
		break;
	}
	case 2:
		splice(tokens, a, a, donor->all.at + b, b_end - b);
		break;
	default:
		splice(tokens, a, a_end, donor->all.at + b, b_end - b);
	}
}

/* Most tokens are numbers of states; the others get their share. */
static struct token *pick(struct damage *damage, struct tokens *tokens)
{
	enum kind kind = (enum kind)damage_below(damage, 3);
	uint32_t at = (uint32_t)damage_below(damage, tokens->all.count);
	for (uint32_t i = 0; i < tokens->all.count; i++, at = (at + 1) % tokens->all.count)
		if (tokens->all.at[at].kind == kind)
			break;
	return &tokens->all.at[at];
}

static void damage_state(struct damage *damage, struct tokens *tokens, const struct tokens *donor)
{
	if (!damage_below(damage, 5)) {
		damage_sections(damage, tokens, donor);
		return;
	}
	struct token *token = pick(damage, tokens);
	if (token->kind == STRING)
		damage_string(damage, token);
	else if (!is_fence(token))
		damage_number(damage, token);
}

/* --- rounds ---------------------------------------------------------------------------------------------------------
 */

static bool set_hash(struct tokens *tokens, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < tokens->all.count; i++)
		if (tokens->all.at[i].kind == HASH && tokens->all.at[i].value == from) {
			tokens->all.at[i].value = to;
			return true;
		}
	return false;
}

static bool one(struct damage *damage, struct tokens *tokens, const char *head, bool bytes)
{
	int32_t secondaries = damage_below(damage, 8) ? 0 : 2;
	for (int tries = 0; tries < 8; tries++) {
		struct text state;
		uint64_t found, expected = 0;
		write_state(tokens, head, &state);
		if (bytes) {
			state.at[SAVE_HEAD_BYTES + damage_below(damage, state.count - SAVE_HEAD_BYTES)] ^=
				(char)(1 << damage_below(damage, 8));
			if (damage_below(damage, 2))
				state.count -= damage_below(damage, state.count - SAVE_HEAD_BYTES);
			server_seal(state.at, state.count);
		}
		bool accepted = feed(&state, secondaries, &found, &expected);
		text_fini(&state);
		if (accepted || bytes || !found || !set_hash(tokens, expected, found))
			return accepted;
	}
	return false;
}

static unsigned run(struct damage *damage, const struct text *states, uint32_t count, size_t rounds)
{
	unsigned accepted = 0;
	for (uint32_t s = 0; s < count; s++) {
		struct tokens whole_state;
		size_t rest = states[s].count - SAVE_HEAD_BYTES;
		state_must(feed_rest((const uint8_t *)states[s].at + SAVE_HEAD_BYTES, rest), "a sound one is no seed");
		read_state(&whole_state, &states[s]);
		state_must(one(damage, &whole_state, states[s].at, false), "refused undamaged");
		free_tokens(&whole_state);
		for (size_t i = 0; i < rounds; i++) {
			struct tokens tokens, donor;
			read_state(&tokens, &states[s]);
			read_state(&donor, &states[damage_below(damage, count)]);
			for (size_t n = 1 + damage_below(damage, 3); n > 0; n--)
				damage_state(damage, &tokens, &donor);
			accepted += one(damage, &tokens, states[s].at, !damage_below(damage, 10));
			free_tokens(&tokens);
			free_tokens(&donor);
		}
	}
	return accepted;
}

/* --- states of its own -------------------------------------------------------------------------------------------- */

#define BOX(name, pose, size, more)                                                                                    \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><inertial><mass>2</mass><inertia><ixx>0.1</ixx>"   \
	"<iyy>0.1</iyy><izz>0.1</izz></inertia></inertial><collision name='c'><geometry><box><size>" size              \
	"</size></box></geometry></collision></link>" more "</model>"
#define GROUND                                                                                                         \
	"<model name='ground'><static>true</static><pose>0 0 -0.5 0 0 0</pose><link name='l'><collision name='c'>"     \
	"<geometry><box><size>60 60 1</size></box></geometry></collision></link></model>"
#define WHEEL(name, y)                                                                                                 \
	"<link name='" name "'><pose>0 " y " 0.2 1.5708 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx>"    \
	"<iyy>0.02</iyy><izz>0.02</izz></inertia></inertial><collision "                                               \
	"name='c'><geometry><cylinder><radius>0.2</radius>"                                                            \
	"<length>0.1</length></cylinder></geometry></collision></link><joint name='" name                              \
	"_j' type='revolute'><parent>b</parent><child>" name "</child><axis><xyz>0 0 -1</xyz></axis></joint>"
#define CART(name, pose)                                                                                               \
	"<model name='" name "'><pose>" pose                                                                           \
	"</pose><link name='b'><pose>0 0 0.3 0 0 0</pose><inertial><mass>5</mass>"                                     \
	"</inertial><collision name='c'><geometry><box><size>0.8 0.4 "                                                 \
	"0.2</size></box></geometry></collision></link>" WHEEL("w1", "0.3")                                            \
		WHEEL("w2", "-0.3") "<plugin name='gz::sim::systems::DiffDrive' filename='x'>"                         \
				    "<left_joint>w1_j</left_joint><right_joint>w2_j</"                                 \
				    "right_joint><wheel_separation>0.6</wheel_separation>"                             \
				    "<wheel_radius>0.2</wheel_radius></plugin></model>"
#define SYSTEM(name, more) "<plugin name='gz::sim::systems::" name "' filename='x'>" more "</plugin>"
#define ARM(name, pose, type, systems)                                                                                 \
	"<model name='" name "'><pose>" pose "</pose><link name='a'><inertial><mass>20</mass></inertial></link>"       \
	"<link name='b'><pose>0 0 1 0 0 0</pose></link><joint name='j' type='" type                                    \
	"'><parent>a</parent><child>b</child>"                                                                         \
	"<axis><xyz>0 1 0</xyz><limit><lower>-3</lower><upper>9</upper></limit></axis></joint>" systems "</model>"
#define PERFORMER(name, size)                                                                                          \
	"<performer name='p_" name "'><ref>" name "</ref><geometry><box><size>" size                                   \
	"</size></box></geometry></performer>"
#define LEVEL(name, pose, size, refs)                                                                                  \
	"<level name='" name "'><pose>" pose "</pose><geometry><box><size>" size                                       \
	"</size></box></geometry><buffer>0.5</buffer>" refs "</level>"
#define WORLD(name, content) "<world name='" name "'>" content "</world>"
#define SDF(worlds) "<sdf version='1.9'>" worlds "</sdf>"

struct own {
	const char *world; /* text, or the name of a file in worlds/ */
	const char *commands[12][2];
	uint64_t command_steps[12];
	uint64_t saves[3];
};

static const struct own owns[] = {
	{SDF(WORLD("w", GROUND CART("cart", "0 0 0 0 0 0") BOX("box", "2 0 0.25 0 0 0", "0.5 0.5 0.5", "") ARM("arm",
				"5 5 3 0 0 0", "revolute",
				SYSTEM("JointPositionController", "<joint_name>j</joint_name><p_gain>20</p_gain>"))
				ARM("slide", "-5 5 3 0 0 0", "prismatic",
					SYSTEM("JointController", "<joint_name>j</joint_name><use_force_commands>true"
								  "</use_force_commands>") SYSTEM("ApplyJointForce",
						"<joint_name>j</joint_name>")) BOX("kite", "0 5 5 0 0 0", "1 1 1",
					SYSTEM("VelocityControl", "<link_name>l</link_name>")))),
		{{"/model/cart/cmd_vel", "linear {x: 0.5} angular {z: 0.2}"}, {"/model/kite/cmd_vel", "linear {z: 1}"},
			{"/world/w/create", "name: 'made' pose {position {x: 4 z: 1}} sdf: \"<sdf version='1.9'>" BOX(
						    "m", "0 0 0 0 0 0", "1 1 1", "") "</sdf>\""},
			{"/world/w/create", "name: 'robot' pose {position {y: 4}} sdf: \"<sdf version='1.9'>" CART(
						    "m", "0 0 0 0 0 0") "</sdf>\""},
			{"/world/w/remove", "name: 'made'"}, {"/world/w/set_pose", "name: 'ground' position {z: -0.6}"},
			{"/model/robot/cmd_vel", "linear {x: 0.3}"}, {"/world/w/remove", "name: 'box'"},
			{"/world/w/set_physics", "max_step_size: 0.002 gravity {z: -5}"},
			{"/world/w/level/set_performer", "data: 'cart' size {x: 1 y: 1 z: 1}"},
			{"/world/w/reset_model", "name: 'robot'"}, {"/world/w/control", "reset {all: true}"}},
		{0, 0, 5, 10, 15, 20, 25, 30, 35, 40, 70, 500}, {0, 22, 60}},
	{SDF(WORLD("w", GROUND CART("cart", "0 0 0 0 0 0") BOX("load", "1.2 0 0.25 0 0 0", "0.5 0.5 0.5", "")
				BOX("far", "20 0 0.25 0 0 0", "0.5 0.5 0.5",
					"") "<plugin name='gz::sim' filename='x'>" PERFORMER("cart", "0.5 0.5 0.5")
					LEVEL("home", "0 0 0 0 0 0", "2.6 2 9", "<ref>load</ref><ref>ground</ref>")
						LEVEL("next", "20 0 0 0 0 0", "4 4 9", "<ref>far</ref>") "</plugin>")),
		{{"/model/cart/cmd_vel", "linear {x: 3}"}, {"/world/w/control", "pause: true multi_step: 500"},
			{"/world/w/set_spherical_coordinates", "latitude_deg: 47 heading_deg: 30"}},
		{0, 10, 20}, {0, 300, 700}},
	{SDF(WORLD("a", GROUND CART("cart", "0 0 0 0 0 0"))
			 WORLD("b", GROUND BOX("box", "2 0 0.25 0 0 0", "0.5 0.5 0.5", "")
					    BOX("top", "2 0 0.8 0 0 0", "0.5 0.5 0.5", ""))),
		{{"/model/cart/cmd_vel", "linear {x: 0.3}"}, {"/world/b/set_physics", "gravity {x: 1 z: -9}"},
			{"/world/a/control", "pause: true"},
			{"/world/b/create_multiple",
				"data {name: 'x' sdf: \"<sdf version='1.9'>" BOX("m", "0 0 5 0 0 0", "1 1 1",
					"") "</sdf>\"} "
					    "data {name: 'y' sdf: \"<sdf version='1.9'>" BOX(
						    "m", "0 0 9 0 0 0", "1 1 1", "") "</sdf>\"}"}},
		{0, 20, 30, 90}, {0, 50, 100}},
	{"hill.sdf", {{0}}, {0}, {60, 0, 0}},
	{"mechanisms.sdf", {{0}}, {0}, {50, 0, 0}},
	{"asleep.sdf",
		{{"/world/asleep/create", "sdf_filename: 'models/cart' name: 'late' pose {position {x: -2 y: 12}}"},
			{"/world/asleep/remove", "name: 'sun' type: LIGHT"},
			{"/world/asleep/level/set_performer", "data: 'cart_2' secondary: 2"},
			{"/world/asleep/control", "run_to_sim_time {sec: 1}"},
			{"/world/asleep/wrench", "entity {name: 'cart_0'} wrench {force {z: 90}}"},
			{"/world/asleep/wrench/persistent", "entity {name: 'cart_1'} wrench {force {x: 9}}"},
			{"/world/asleep/disable_collision", "name: 'crate_0_0_2'"},
			{"/world/asleep/light_config", "name: 'lamp' intensity: 2"},
			{"/world/asleep/control", "pause: true"}},
		{5, 6, 6, 7, 18, 17, 17, 17, 18}, {1, 20, 0}},
};

static void give(struct troupe_server *server, const struct own *own)
{
	for (size_t i = 0; i < ARRAY_LEN(own->commands) && own->commands[i][0]; i++) {
		struct troupe_error error;
		if (troupe_server_command(
			    server, own->command_steps[i], own->commands[i][0], own->commands[i][1], &error)) {
			fprintf(stderr, "%s\n", error.text);
			state_must(false, "a command was refused");
		}
	}
}

static void say_reply(void *ctx, const struct troupe_reply *reply)
{
	(void)ctx;
	if (reply->status)
		fprintf(stderr, "%s: %s\n", reply->topic, reply->text);
	state_must(!reply->status, "a command failed");
}

static void read_back(struct text *state)
{
	struct troupe_error error;
	char *at;
	size_t bytes;
	state_must(!infile_read(path, FILE_BYTES_MAX, &at, &bytes, &error), "a state cannot be read");
	*state = (struct text){0};
	text_add_bytes(state, at, bytes);
	free(at);
}

static uint32_t save_all(const struct own *own, struct text *states)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error = {0};
	char file[1200];
	uint32_t count = 0;
	bool text = own->world[0] == '<';
	const char *source = getenv("SOURCE_DIR");
	snprintf(file, sizeof file, "%.1000s/worlds/%s", source ? source : ".", text ? "own.sdf" : own->world);
	def.world_path = file;
	def.world_text = text ? own->world : NULL;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	def.on_reply = say_reply;
	if (troupe_server_create(&def, &server, &error)) {
		fprintf(stderr, "%s\n", error.text);
		exit(1);
	}
	give(server, own);
	for (size_t i = 0; i < ARRAY_LEN(own->saves); i++) {
		struct troupe_limits limits = {.iterations = own->saves[i]};
		if (i && !own->saves[i])
			break;
		state_must(!limits.iterations || !troupe_server_run(server, &limits, &error), "a world does not run");
		state_must(!troupe_server_save(server, path, &error), "a state cannot be saved");
		read_back(&states[count++]);
	}
	troupe_server_destroy(server);
	return count;
}

/* --- main --------------------------------------------------------------------------------------------------------- */

static void limit_memory(void)
{
	struct rlimit limit = {MEMORY_MAX, MEMORY_MAX};
	if (sandbox_limits_memory())
		(void)setrlimit(RLIMIT_AS, &limit);
}

static void check_memory(void)
{
	struct rusage used;
	state_must(!getrusage(RUSAGE_SELF, &used) && (rlim_t)used.ru_maxrss * 1024 < MEMORY_MAX,
		"it took too much memory");
}

static void replay(const char *file)
{
	struct troupe_error error;
	struct text state = {0};
	uint64_t found, expected;
	char *at;
	size_t bytes;
	state_must(!infile_read(file, FILE_BYTES_MAX, &at, &bytes, &error), "cannot be read");
	text_add_bytes(&state, at, bytes);
	printf("%s: %s\n", file, feed(&state, 0, &found, &expected) ? "accepted" : "refused");
	free(at);
	text_fini(&state);
}

int main(int argc, char **argv)
{
	struct text states[STATES_MAX];
	uint32_t count = 0;
	unsigned accepted = 0;
	last = getenv("FUZZ_STATE_LAST");
	const char *seeds = seeds_wanted(argc, argv);
	begin_folder();
	limit_memory();
	if (argc > 2 && !strcmp(argv[1], "--replay")) {
		for (int i = 2; i < argc; i++)
			replay(argv[i]);
	} else {
		struct damage damage = {.state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1};
		size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : amount(20, 100, 1000);
		for (size_t i = 0; i < ARRAY_LEN(owns); i++)
			count += save_all(&owns[i], &states[count]);
		for (uint32_t i = 0; seeds && i < count; i++)
			seeds_write(
				seeds, "state", i, states[i].at + SAVE_HEAD_BYTES, states[i].count - SAVE_HEAD_BYTES);
		rounds = seeds ? 0 : rounds;
		accepted = run(&damage, states, count, rounds);
		for (uint32_t i = 0; i < count; i++)
			text_fini(&states[i]);
		state_must(accepted > 0 || seeds, "no damaged state was accepted: the damage does not get far");
	}
	check_memory();
	end_folder();
	printf("%u states; %u damaged ones were accepted\n1 passed, 0 failed\n", count, accepted);
	return 0;
}

#endif
