/* Frames made by hand, as no fuzzer makes them: each field of a step, of an ack and of the small payloads is correct
 * except for one thing. Each frame must be refused with one line that says what is wrong with which model, level or
 * field. The state before it must be unchanged, and the correct frame must still be accepted. Then the test acts as
 * each end of a connection with a real peer; the line must name the sender, too. */
#include "check.h"
#include "copies.h"

#include "base/clock.h"
#include "base/hash.h"
#include "net/bundle.h"
#include "net/gather.h"
#include "net/tcp/channel.h"
#include "net/hello.h"
#include "run/wire_words.h"
#include "physics/physics.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

enum { SECONDARIES = 2, SOUND_STEPS = 3, FLAGS_AT = 0 };

/* floor and wall are static; a and b touch; c, d and p touch nothing; d is a performer near the level of another
 * secondary. */
static const char world[] =
	"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.001</max_step_size></physics><model "
	"name='floor'><static>true</static><link name='l'><collision "
	"name='c'><geometry><plane/></geometry></collision></link></model><model name='a'><pose>0 0 2.5 0 0 "
	"0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link><plugin name='gz::sim::systems::VelocityControl' "
	"filename='x'/></model><model name='b'><pose>0 0 3.5 0 0 0.3</pose><link name='l'><collision "
	"name='c'><geometry><sphere/></geometry></collision></link><joint name='j' "
	"type='prismatic'><parent>world</parent><child>l</child><axis><xyz>0 0 1</xyz></axis></joint></model><model "
	"name='c'><pose>9 0 3.5 0 0 0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><model name='d'><pose>40 0 3.5 0 0 0</pose><link "
	"name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><model name='p'><pose>20 0 3.5 0 0 0</pose><link "
	"name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><model name='wall'><static>true</static><pose>20 9 1 0 0 "
	"0</pose><link name='l'><collision name='c'><geometry><box><size>1 1 "
	"1</size></box></geometry></collision></link></model><plugin name='gz::sim' filename='x'><performer "
	"name='p'><ref>p</ref><geometry><box><size>1 1 1</size></box></geometry></performer><performer "
	"name='d'><ref>d</ref><geometry><box><size>1 1 1</size></box></geometry></performer><performer "
	"name='a'><ref>a</ref><geometry><box><size>1 1 1</size></box></geometry></performer><level "
	"name='hall'><pose>20 0 5 0 0 0</pose><geometry><box><size>20 20 "
	"20</size></box></geometry><ref>wall</ref></level></plugin></world></sdf>";

static struct text state;         /* of the world */
static struct text replica_state; /* the same, as a primary sends it */

/* --- a primary and its secondaries, in one thread ----------------------------------------------------------------- */

struct run {
	struct troupe_server *server;
	struct wire *wire;
	struct copies_secondary sides[SECONDARIES];
	struct text steps[SECONDARIES], ack;
	struct ack *merged[SECONDARIES];
};

static void decide(struct run *run)
{
	uint64_t begin_ns;
	struct primary *primary = run->server->worlds[0].primary;
	const struct step *step = primary_decide(primary, primary_propose(primary, UINT32_MAX, &begin_ns));
	for (uint32_t i = 0; i < SECONDARIES; i++) {
		run->steps[i].count = 0;
		wire_encode_step(run->wire, i, step, &run->steps[i]);
	}
}

static struct primary *primary_of(struct run *run)
{
	return run->server->worlds[0].primary;
}

static struct scene *scene_of(struct run *run)
{
	return run->server->worlds[0].scene;
}

/* The secondary's part of a step, with the bytes that the primary sent. */
static const struct ack *simulate(struct run *run, uint32_t i)
{
	struct copies_secondary *side = &run->sides[i];
	const struct step *step;
	struct troupe_error error;
	copies_must(
		copies_decode_step(side, run->steps[i].at, run->steps[i].count, &step, &error), "a sound step", &error);
	return secondary_step(side->secondary, step);
}

static void end_step(struct run *run, uint32_t first)
{
	for (uint32_t i = first; i < SECONDARIES; i++) {
		struct transport_message ack;
		struct troupe_error error;
		const struct ack *made = simulate(run, i);
		run->ack.count = 0;
		copies_encode_ack(&run->sides[i], made, &run->ack);
		copies_must(wire_decode_ack(run->wire, i, run->ack.at, run->ack.count, &ack, &error), "a sound ack",
			&error);
		run->merged[i] = ack.payload;
	}
	if (primary_check_acks(primary_of(run), run->merged))
		primary_advance(primary_of(run), run->merged);
}

/* Takes some sound steps, and decides the next one. */
static void begin(struct run *run)
{
	*run = (struct run){.server = copies_server(&state, SECONDARIES, 0)};
	primary_of(run)->plan.placement.chaos = false;
	run->wire = wire_create(primary_of(run));
	for (uint32_t i = 0; i < SECONDARIES; i++)
		copies_begin(&run->sides[i], &replica_state, i + 1);
	for (uint32_t k = 0; k < SOUND_STEPS; k++) {
		decide(run);
		end_step(run, 0);
	}
	decide(run);
}

static void end(struct run *run)
{
	for (uint32_t i = 0; i < SECONDARIES; i++) {
		copies_end(&run->sides[i]);
		text_fini(&run->steps[i]);
	}
	text_fini(&run->ack);
	wire_destroy(run->wire);
	troupe_server_destroy(run->server);
}

static uint32_t model_of(struct run *run, const char *name)
{
	uint32_t model = scene_find_model(scene_of(run), name);
	if (model == SCENE_NONE)
		abort();
	return model;
}

/* The model's secondary, counted from 0. */
static uint32_t owner_of(struct run *run, uint32_t model)
{
	return primary_of(run)->plan.placement.ownership.now.model[model] - 1;
}

/* --- acks --------------------------------------------------------------------------------------------------------- */

/* The parts of an ack of some models; each case changes one part. */
enum { STATS = 12, HEAD_NUMBERS = 2 + STATS }; /* each has one byte in a valid ack of the test */
struct ack_parts {
	uint64_t number, status, stats[STATS], code;
	uint32_t models[8], count;
};

static void put_head(const struct ack_parts *parts, struct text *out)
{
	pack_var(out, parts->number);
	pack_var(out, parts->status);
	for (size_t i = 0; i < ARRAY_LEN(parts->stats); i++)
		pack_var(out, parts->stats[i]);
}

static void put_ack(struct run *run, uint32_t side, const struct ack_parts *parts, struct text *out)
{
	const struct state *next = copies_shared(&run->sides[side])->state;
	wire_scratch scratch = {0};
	uint32_t last = 0;
	out->count = 0;
	put_head(parts, out);
	pack_var(out, parts->code);
	for (uint32_t i = 0; i < parts->count; i++) {
		wire_put_step(out, last, parts->models[i]);
		last = parts->models[i];
	}
	for (uint32_t i = 0; i < parts->count; i++)
		if (parts->models[i] < next->scene->model_count)
			wire_put_next(out, next, parts->models[i], &scratch);
	vec_free(&scratch);
}

static struct ack_parts sound_parts(struct run *run, const struct ack *ack)
{
	struct ack_parts parts = {.number = ack->number, .count = ack->changed.count};
	(void)run;
	for (uint32_t i = 0; i < parts.count; i++)
		parts.models[i] = ack->changed.at[i];
	parts.code = (uint64_t)parts.count << 1;
	return parts;
}

static bool takes_ack(struct run *run, uint32_t side, const struct text *bytes, struct troupe_error *error)
{
	struct transport_message ack;
	*error = (struct troupe_error){0};
	return !wire_decode_ack(run->wire, side, bytes->at, bytes->count, &ack, error);
}

/* The state of the primary; an ack that is refused must not change it. */
static uint64_t hash_of(struct run *run)
{
	const struct state *now = run->server->worlds[0].shared.state;
	uint64_t hash = 0;
	for (uint32_t m = 0; m < now->scene->model_count; m++)
		hash = hash_words(hash, state_words(now, m, false), now->models[m].words);
	return hash;
}

static void refuses_ack(struct run *run, uint32_t side, const struct text *bytes, const char *words)
{
	struct troupe_error error;
	uint64_t before = hash_of(run);
	bool taken = takes_ack(run, side, bytes, &error);
	check(!taken && error.status == TROUPE_EPROTOCOL && strstr(error.text, words), "an ack: '%s' is not '%s'",
		error.text, words);
	check(hash_of(run) == before, "an ack that is refused (%s) changes the state", words);
}

static void test_lists(struct run *run, uint32_t side, struct ack_parts parts, uint32_t foreign)
{
	struct text bytes = {0};
	struct ack_parts sound = parts;
	uint32_t models = scene_of(run)->model_count, own = parts.models[0];
	char words[200];
	parts.models[0] = parts.models[1] = own;
	parts.count = 2;
	parts.code = 2 << 1;
	put_ack(run, side, &parts, &bytes);
	(void)snprintf(words, sizeof words, "its ack: model '%s' moves twice", scene_of(run)->models[own].name);
	refuses_ack(run, side, &bytes, words);
	parts.models[1] = foreign;
	put_ack(run, side, &parts, &bytes);
	(void)snprintf(words, sizeof words, "its ack: model '%s', which it does not simulate, moves",
		scene_of(run)->models[foreign].name);
	refuses_ack(run, side, &bytes, words);
	parts.models[1] = model_of(run, "floor");
	put_ack(run, side, &parts, &bytes);
	refuses_ack(run, side, &bytes, "model 'floor', which it does not simulate, moves");
	parts.models[1] = models;
	put_ack(run, side, &parts, &bytes);
	refuses_ack(run, side, &bytes, "it is cut off, or a number is out of range");
	/* counts that do not agree with the rest of the ack */
	parts = sound;
	parts.code = (uint64_t)(models + 1) << 1;
	put_ack(run, side, &parts, &bytes);
	refuses_ack(run, side, &bytes, "more models moved than exist");
	parts.code = UINT64_MAX;
	put_ack(run, side, &parts, &bytes);
	refuses_ack(run, side, &bytes, "more models moved than exist");
	parts.code = (uint64_t)(sound.count - 1) << 1;
	put_ack(run, side, &parts, &bytes);
	check(!takes_ack(run, side, &bytes, &(struct troupe_error){0}),
		"an ack with one model fewer in its count is accepted");
	parts.code = (uint64_t)(sound.count + 1) << 1;
	put_ack(run, side, &parts, &bytes);
	check(!takes_ack(run, side, &bytes, &(struct troupe_error){0}),
		"an ack with one model more in its count is accepted");
	parts.code = (uint64_t)models << 1 | 1;
	parts.count = 0;
	put_ack(run, side, &parts, &bytes);
	refuses_ack(run, side, &bytes, "another number of models than before");
	text_fini(&bytes);
}

/* A number in more bytes than it needs, and a number that does not fit into 64 bits. */
static void test_numbers(struct run *run, uint32_t side, struct ack_parts parts)
{
	static const char long_forms[][12] = {"\x80\x00", "\x80\x80\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"};
	static const size_t counts[] = {2, 3, 10, 11, 11};
	struct text sound = {0}, bytes = {0};
	put_ack(run, side, &parts, &sound);
	for (size_t field = 0; field < HEAD_NUMBERS + 1; field++)
		for (size_t i = 0; i < ARRAY_LEN(long_forms); i++) {
			bytes.count = 0;
			text_add_bytes(&bytes, sound.at, field);
			text_add_bytes(&bytes, long_forms[i], counts[i]);
			text_add_bytes(&bytes, sound.at + field + 1, sound.count - field - 1);
			refuses_ack(run, side, &bytes, "it is cut off, or a number is out of range");
		}
	text_fini(&sound);
	text_fini(&bytes);
}

static void test_ends(struct run *run, uint32_t side, const struct ack_parts *parts)
{
	struct text sound = {0}, bytes = {0};
	struct troupe_error error;
	put_ack(run, side, parts, &sound);
	for (size_t count = 0; count < sound.count; count++) {
		bytes.count = 0;
		text_add_bytes(&bytes, sound.at, count);
		check(!takes_ack(run, side, &bytes, &error) && error.status == TROUPE_EPROTOCOL && *error.text,
			"%zu bytes of an ack of %zu are accepted", count, sound.count);
	}
	text_add_bytes(&bytes, sound.at + bytes.count, sound.count - bytes.count);
	text_add_bytes(&bytes, "\0", 1);
	refuses_ack(run, side, &bytes, "its ack: bytes after its end");
	text_fini(&sound);
	text_fini(&bytes);
}

/* Replaces a word of the first model's next state, as its secondary would send it. */
static void spoil_word(struct run *run, uint32_t side, const struct ack_parts *parts, size_t word, double value)
{
	struct state *next = copies_shared(&run->sides[side])->state;
	uint64_t *words = state_words(next, parts->models[0], true), was = words[word];
	struct text bytes = {0};
	char expected[200];
	memcpy(&words[word], &value, sizeof value);
	put_ack(run, side, parts, &bytes);
	(void)snprintf(expected, sizeof expected, "its ack: the state of model '%s' is not valid",
		scene_of(run)->models[parts->models[0]].name);
	refuses_ack(run, side, &bytes, expected);
	words[word] = was;
	text_fini(&bytes);
}

/* An impulse of a pile that is no number, and more of them than are allowed. */
static void test_impulses(struct run *run, uint32_t side, const struct ack_parts *parts)
{
	const struct state *next = copies_shared(&run->sides[side])->state;
	struct text bytes = {0};
	char expected[200];
	uint64_t *words = state_resize_impulses(next, parts->models[0], true, 2 * STATE_IMPULSE_WORDS);
	memset(words, 0, 2 * STATE_IMPULSE_WORDS * sizeof *words);
	put_ack(run, side, parts, &bytes);
	check(takes_ack(run, side, &bytes, &(struct troupe_error){0}), "an ack with impulses is refused");
	(void)snprintf(expected, sizeof expected, "its ack: the state of model '%s' is not valid",
		scene_of(run)->models[parts->models[0]].name);
	for (uint32_t word = 1; word < STATE_IMPULSE_WORDS; word++) {
		words[STATE_IMPULSE_WORDS + word] = UINT64_MAX; /* two floats that are no numbers */
		put_ack(run, side, parts, &bytes);
		refuses_ack(run, side, &bytes, expected);
		words[STATE_IMPULSE_WORDS + word] = 0;
	}
	(void)state_resize_impulses(next, parts->models[0], true, (STATE_IMPULSES_MAX + 1) * STATE_IMPULSE_WORDS);
	put_ack(run, side, parts, &bytes);
	refuses_ack(run, side, &bytes, expected);
	(void)state_resize_impulses(next, parts->models[0], true, 0);
	text_fini(&bytes);
}

static void test_words(struct run *run, uint32_t side, const struct ack_parts *parts)
{
	enum { POSITION = 0, QUATERNION = 3, VELOCITY = 7, SPIN = 10, ANCHOR = 13 };
	static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1e300, -1e300};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		for (size_t word = POSITION; word < ANCHOR; word++)
			spoil_word(run, side, parts, word, bad[i]);
		spoil_word(run, side, parts, ANCHOR, bad[i]);
	}
	spoil_word(run, side, parts, POSITION, 2 * (double)SCENE_POSITION_MAX);
	spoil_word(run, side, parts, VELOCITY, 2 * (double)PHYSICS_VELOCITY_MAX);
	spoil_word(run, side, parts, SPIN, 2 * (double)PHYSICS_SPIN_MAX);
	spoil_word(run, side, parts, QUATERNION, 0); /* the other numbers of the quaternion are next to 0 */
	spoil_word(run, side, parts, QUATERNION, 2);
}

/* Sets a bit beyond the last word. */
static void test_bits(struct run *run, uint32_t side, struct ack_parts parts)
{
	struct text bytes = {0};
	const struct state *now = run->server->worlds[0].shared.state;
	uint32_t bits = now->models[parts.models[0]].words + 1;
	char expected[200];
	parts.count = 1;
	parts.code = 1 << 1;
	put_ack(run, side, &parts, &bytes);
	if (bits % 8 == 0)
		abort();                                      /* the test needs another model */
	bytes.at[HEAD_NUMBERS + 2 + bits / 8] |= (char)-0x80; /* the code and a model stand before the bits */
	(void)snprintf(expected, sizeof expected, "its ack: the state of model '%s' is not valid",
		scene_of(run)->models[parts.models[0]].name);
	refuses_ack(run, side, &bytes, expected);
	text_fini(&bytes);
}

static void test_failures(struct run *run, uint32_t side, struct ack_parts parts)
{
	static const uint64_t statuses[] = {1, TROUPE_EWORLD, TROUPE_EINTERNAL + 1, INT32_MAX};
	struct text bytes = {0};
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		bytes.count = 0;
		parts.status = statuses[i];
		put_head(&parts, &bytes);
		pack_string(&bytes, "why");
		pack_var(&bytes, 1);
		refuses_ack(run, side, &bytes, "its ack: an unknown kind of failure");
	}
	parts.status = (uint64_t)INT32_MAX + 1;
	bytes.count = 0;
	put_head(&parts, &bytes);
	refuses_ack(run, side, &bytes, "it is cut off, or a number is out of range");
	parts.status = TROUPE_EDIVERGED;
	bytes.count = 0;
	put_head(&parts, &bytes);
	pack_bytes(&bytes, "w\0hy", 4);
	refuses_ack(run, side, &bytes, "its ack: an unknown kind of failure");
	bytes.count = 0;
	put_head(&parts, &bytes);
	pack_u64(&bytes, UINT64_MAX); /* so many bytes of a text, which is missing */
	refuses_ack(run, side, &bytes, "its ack: an unknown kind of failure");
	bytes.count = 0;
	put_head(&parts, &bytes);
	pack_string(&bytes, "why");
	pack_var(&bytes, 0);
	pack_var(&bytes, 0);
	refuses_ack(run, side, &bytes, "its ack: bytes after its end");
	bytes.count = 0;
	put_head(&parts, &bytes);
	pack_string(&bytes, "why");
	pack_var(
		&bytes, copies_shared(&run->sides[side])->scene->model_count + 1); /* the number after the last model */
	refuses_ack(run, side, &bytes, "its ack: an unknown kind of failure");
	text_fini(&bytes);
}

/* A list of contacts and one of efforts, as they are sent; a case makes one part wrong. */
struct note_parts {
	uint64_t stepped, contacts, first, second, efforts, joint, reactions;
	double numbers[10], effort; /* position, normal, depth, force */
};

static void put_notes(const struct note_parts *notes, struct text *out)
{
	pack_var(out, notes->stepped);
	pack_var(out, notes->contacts);
	for (uint64_t i = 0; i < MIN(notes->contacts, 100u); i++) {
		pack_var(out, i ? 0 : notes->first);
		pack_var(out, i ? 0 : notes->second);
		for (size_t k = 0; k < ARRAY_LEN(notes->numbers); k++)
			pack_double(out, notes->numbers[k]);
	}
	pack_var(out, notes->efforts);
	for (uint64_t i = 0; i < MIN(notes->efforts, 2u); i++) {
		pack_var(out, i ? 0 : notes->joint);
		pack_double(out, notes->effort);
	}
	pack_var(out, notes->reactions);
	for (uint64_t i = 0; i < MIN(notes->reactions, 1u); i++) {
		pack_var(out, notes->joint);
		for (int k = 0; k < 6; k++)
			pack_double(out, notes->effort);
	}
}

static void refuses_notes(struct run *run, uint32_t side, const struct ack_parts *parts, const struct note_parts *notes,
	const char *words)
{
	struct text bytes = {0};
	put_ack(run, side, parts, &bytes);
	put_notes(notes, &bytes);
	refuses_ack(run, side, &bytes, words);
	text_fini(&bytes);
}

static void test_contacts(
	struct run *run, uint32_t side, const struct ack_parts *parts, const struct note_parts *sound, uint32_t foreign)
{
	static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
	const char *range = "it is cut off, or a number is out of range", *moved = ", which did not move";
	const struct scene *scene = scene_of(run);
	uint64_t floor = scene->models[model_of(run, "floor")].geom_first,
		 wall = scene->models[model_of(run, "wall")].geom_first, other = scene->models[foreign].geom_first;
	struct note_parts notes = *sound;
	notes.stepped = parts->count + 1;
	refuses_notes(run, side, parts, &notes, range);
	notes = *sound;
	notes.first = floor;
	notes.second = wall - floor - (floor != 0);
	refuses_notes(run, side, parts, &notes, "its ack: a contact of shapes 0 and 6 is not valid");
	notes.second = 0;
	refuses_notes(run, side, parts, &notes, "its ack: a contact of shapes 0 and 0 is not valid");
	notes.second = other;
	refuses_notes(run, side, parts, &notes, moved);
	notes.second = scene->geom_count;
	refuses_notes(run, side, parts, &notes, range);
	notes.first = notes.second = UINT64_MAX;
	refuses_notes(run, side, parts, &notes, range);
	notes = *sound;
	notes.contacts = NOTES_PAIR_MAX + 1;
	refuses_notes(run, side, parts, &notes, "its ack: more than 64 contacts of shapes 1 and 2");
	notes.contacts = UINT64_MAX;
	refuses_notes(run, side, parts, &notes, "its ack: more than 64 contacts of shapes 1 and 2");
	for (size_t k = 0; k < ARRAY_LEN(notes.numbers); k++) {
		notes = *sound;
		for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
			notes.numbers[k] = bad[i];
			refuses_notes(run, side, parts, &notes, range);
		}
		if (k >= 7) /* a force has no limit */
			continue;
		notes.numbers[k] = 1e11;
		refuses_notes(run, side, parts, &notes, "its ack: a contact of shapes 1 and 2 is not valid");
	}
	notes = *sound;
	notes.numbers[5] = 0;
	refuses_notes(run, side, parts, &notes, "its ack: a contact of shapes 1 and 2 is not valid");
}

static void test_efforts(struct run *run, uint32_t side, const struct ack_parts *parts, const struct note_parts *sound)
{
	const char *range = "it is cut off, or a number is out of range";
	struct note_parts notes = *sound;
	struct ack_parts still = *parts;
	notes.joint = 1;
	refuses_notes(run, side, parts, &notes, range);
	notes.joint = UINT64_MAX;
	refuses_notes(run, side, parts, &notes, range);
	notes = *sound;
	notes.efforts = 2; /* there is only one joint */
	refuses_notes(run, side, parts, &notes, range);
	notes.efforts = UINT64_MAX;
	refuses_notes(run, side, parts, &notes, range);
	notes = *sound;
	notes.effort = (double)NAN;
	refuses_notes(run, side, parts, &notes, range);
	notes = *sound;
	notes.reactions = 1;
	refuses_notes(run, side, parts, &notes, "its ack: a reaction of joint 0, which no sensor measures");
	notes.reactions = UINT64_MAX;
	refuses_notes(run, side, parts, &notes, "its ack: a reaction of joint 0, which no sensor measures");
	notes = *sound;
	notes.contacts = 0;
	notes.stepped = still.count = 0;
	still.code = 0;
	refuses_notes(run, side, &still, &notes, "its ack: an effort of joint 0, which did not move");
}

/* The notes of a step that requests them; b has the only joint. */
static void test_notes(struct run *run, uint32_t side, const struct ack_parts *parts, uint32_t foreign)
{
	uint32_t a = scene_of(run)->models[model_of(run, "a")].geom_first;
	struct note_parts sound = {.stepped = parts->count,
		.contacts = NOTES_PAIR_MAX,
		.first = a,
		.efforts = 1,
		.numbers = {0, 0, 3, 0, 0, -1, 0.1},
		.effort = 2};
	struct text bytes = {0}, part = {0};
	struct troupe_error error;
	put_ack(run, side, parts, &bytes);
	size_t before = bytes.count;
	put_notes(&sound, &bytes);
	refuses_ack(run, side, &bytes, "its ack: bytes after its end"); /* the step did not request notes */
	primary_of(run)->step.observe = OBSERVE_ALL;
	test_contacts(run, side, parts, &sound, foreign);
	test_efforts(run, side, parts, &sound);
	for (size_t count = before; count < bytes.count; count++) {
		part.count = 0;
		text_add_bytes(&part, bytes.at, count);
		refuses_ack(run, side, &part, "it is cut off, or a number is out of range");
	}
	check(takes_ack(run, side, &bytes, &error), "sound notes are refused: %s", error.text);
	text_add_bytes(&bytes, "\0", 1);
	refuses_ack(run, side, &bytes, "its ack: bytes after its end");
	primary_of(run)->step.observe = 0;
	text_fini(&bytes);
	text_fini(&part);
}

static void test_acks(void)
{
	struct run run;
	struct text bytes = {0};
	struct troupe_error error;
	struct transport_message message;
	begin(&run);
	uint32_t side = owner_of(&run, model_of(&run, "a")), foreign = SCENE_NONE;
	for (uint32_t m = 0; m < scene_of(&run)->model_count && foreign == SCENE_NONE; m++)
		if (scene_of(&run)->models[m].body_count && owner_of(&run, m) == 1 - side)
			foreign = m;
	check(foreign != SCENE_NONE, "one secondary has all models");
	const struct ack *ack = simulate(&run, side);
	struct ack_parts parts = sound_parts(&run, ack);
	check(parts.count >= 2, "only %u models move", parts.count);
	test_lists(&run, side, parts, foreign);
	test_numbers(&run, side, parts);
	test_ends(&run, side, &parts);
	test_words(&run, side, &parts);
	test_impulses(&run, side, &parts);
	test_bits(&run, side, parts);
	test_failures(&run, side, parts);
	test_notes(&run, side, &parts, foreign);
	primary_of(&run)->step.paused = true;
	put_ack(&run, side, &parts, &bytes);
	refuses_ack(&run, side, &bytes, "its ack: models moved in a paused step");
	primary_of(&run)->step.paused = false;
	/* after all these frames the sound one is accepted, and the run goes on */
	check(takes_ack(&run, side, &bytes, &error), "the sound ack is refused: %s", error.text);
	copies_must(wire_decode_ack(run.wire, side, bytes.at, bytes.count, &message, &error), "again", &error);
	run.merged[side] = message.payload;
	if (side == 0) {
		end_step(&run, 1);
		decide(&run);
		end_step(&run, 0);
		check(primary_of(&run)->lockstep.number == SOUND_STEPS + 2, "the run does not go on");
	}
	text_fini(&bytes);
	end(&run);
}

/* --- acks of windows ---------------------------------------------------------------------------------------------- */

enum { WINDOW_STEPS = 6 };

/* Sends the ack of the side with another box of a model. says: what is said of it; NULL: that a number is out of range.
 */
static void refuses_sweep(
	struct run *run, uint32_t side, uint32_t model, struct aabb *which, struct aabb wrong, const char *says)
{
	const struct aabb before = *which;
	*which = wrong;
	run->ack.count = 0;
	wire_encode_ack(run->sides[side].replica, &run->sides[side].scratch, 0, &run->ack);
	*which = before;
	char *words = says ? mem_printf("model '%s' %s", scene_of(run)->models[model].name, says)
			   : mem_strdup("its ack: it is cut off, or a number is out of range");
	refuses_ack(run, side, &run->ack, words);
	free(words);
}

static void test_sweeps_of(struct run *run, uint32_t side, uint32_t model)
{
	static const char swept[] = "swept does not hold it", origin[] = "does not hold it";
	struct touch_sweep *sweep = &copies_shared(&run->sides[side])->sweeps[model];
	const struct aabb box = sweep->box, at = sweep->origin;
	const double infinite = (double)INFINITY, none = (double)NAN;
	struct aabb wrong = box;
	wrong.lo.z += 0.01;
	refuses_sweep(run, side, model, &sweep->box, wrong, swept);
	wrong = box;
	wrong.hi.x -= 0.01;
	refuses_sweep(run, side, model, &sweep->box, wrong, swept);
	refuses_sweep(run, side, model, &sweep->box, (struct aabb){{7, 7, 7}, {8, 8, 8}}, swept);
	refuses_sweep(run, side, model, &sweep->box, (struct aabb){box.hi, box.lo}, NULL);
	refuses_sweep(run, side, model, &sweep->box, (struct aabb){box.lo, {infinite, box.hi.y, box.hi.z}}, NULL);
	refuses_sweep(run, side, model, &sweep->box, (struct aabb){{box.lo.x, none, box.lo.z}, box.hi}, NULL);
	wrong = at;
	wrong.lo.z += 1e-3;
	wrong.hi.z += 1e-3;
	refuses_sweep(run, side, model, &sweep->origin, wrong, origin);
	wrong.lo.z = at.hi.z;
	wrong.hi.z = at.lo.z - 1e-3;
	refuses_sweep(run, side, model, &sweep->origin, wrong, origin);
	refuses_sweep(run, side, model, &sweep->origin, (struct aabb){{-infinite, at.lo.y, at.lo.z}, at.hi}, NULL);
	refuses_sweep(run, side, model, &sweep->origin, (struct aabb){at.lo, {at.hi.x, none, at.hi.z}}, NULL);
}

/* What a secondary says of where its models were in a window must at least hold where they are. */
static void test_sweeps(void)
{
	struct run run;
	struct transport_message message;
	struct troupe_error error;
	begin(&run);
	end_step(&run, 0);
	primary_of(&run)->window.options = (struct window_options){.steps = WINDOW_STEPS};
	primary_of(&run)->options.hash_steps = true; /* so the boxes of origins are wanted */
	decide(&run);
	const struct step *step = &primary_of(&run)->step;
	check(step->window == WINDOW_STEPS && step->origins == STEP_ORIGINS_ALL, "a window of %u steps", step->window);
	for (uint32_t side = 0; side < SECONDARIES; side++) {
		const struct ack *made = simulate(&run, side);
		run.ack.count = 0;
		copies_encode_ack(&run.sides[side], made, &run.ack);
		check(made->changed.count, "nothing moves");
		for (uint32_t i = 0; i < made->changed.count; i++)
			test_sweeps_of(&run, side, made->changed.at[i]);
		run.ack.count = 0;
		wire_encode_ack(run.sides[side].replica, &run.sides[side].scratch, 0, &run.ack);
		copies_must(wire_decode_ack(run.wire, side, run.ack.at, run.ack.count, &message, &error), "a sound ack",
			&error);
		run.merged[side] = message.payload;
	}
	check(primary_check_acks(primary_of(&run), run.merged) && primary_prove(primary_of(&run), run.merged),
		"the window does not count");
	end(&run);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static struct run steps_run;
static uint32_t step_side; /* the secondary that gets the step */

/* The beginning of a step with these flags, for step_side. */
static void put_step(struct text *out, uint32_t flags)
{
	char bytes[WIRE_FLAG_BYTES];
	for (uint32_t i = 0; i < WIRE_FLAG_BYTES; i++)
		bytes[i] = (char)(flags >> 8 * i & 0xff);
	out->count = 0;
	text_add_bytes(out, bytes, sizeof bytes);
	pack_var(out, step_side + 1);
	pack_var(out, SOUND_STEPS);
	pack_double(out, 0.003);
}

static void put_numbers(struct text *out, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pack_var(out, numbers[i]);
}
#define PUT(out, ...) put_numbers(out, (const uint64_t[]){__VA_ARGS__}, ARRAY_LEN(((const uint64_t[]){__VA_ARGS__})))

static bool takes_step(const struct text *bytes, struct troupe_error *error)
{
	const struct step *step;
	*error = (struct troupe_error){0};
	return !copies_decode_step(&steps_run.sides[step_side], bytes->at, bytes->count, &step, error);
}

/* A refused step ends a secondary, so each case has a run of its own. */
static void refuses_step(struct text *bytes, const char *words)
{
	struct troupe_error error;
	bool taken = takes_step(bytes, &error);
	check(!taken && error.status == TROUPE_EPROTOCOL && strstr(error.text, words), "a step: '%s' is not '%s'",
		error.text, words);
	end(&steps_run);
	begin(&steps_run);
}

static void put_words(struct text *out, uint32_t model, double first)
{
	const struct state *now = steps_run.server->worlds[0].shared.state;
	uint32_t words = now->models[model].words;
	pack_var(out, words);
	size_t at = out->count;
	wire_put_words(out, state_words(now, model, false), words);
	if (!isfinite(first))
		memcpy(out->at + at, &first, sizeof first);
}

static void test_heads(void)
{
	struct text bytes = {0};
	static const double lengths[] = {0, -1, (double)NAN, (double)INFINITY, 1e7, 1e-300};
	bytes.count = 0;
	text_add_bytes(&bytes, "\xff\xff\xff", WIRE_FLAG_BYTES);
	PUT(&bytes, step_side + 1, SOUND_STEPS);
	pack_double(&bytes, 0);
	refuses_step(&bytes, "its step: its beginning");
	put_step(&bytes, WIRE_FLAGS + 1);
	refuses_step(&bytes, "its step: its beginning");
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		put_step(&bytes, WIRE_DT);
		pack_double(&bytes, lengths[i]);
		refuses_step(&bytes, "its step: its beginning");
	}
	bytes.count = 0;
	text_add_bytes(&bytes, "\0\0\0", WIRE_FLAG_BYTES);
	PUT(&bytes, step_side + 1, SOUND_STEPS);
	pack_double(&bytes, (double)NAN);
	refuses_step(&bytes, "its step: its beginning");
	/* only the number of the secondary is wrong */
	bytes.count = 0;
	text_add_bytes(&bytes, "\0\0\0", WIRE_FLAG_BYTES);
	PUT(&bytes, 2 - step_side, SOUND_STEPS);
	pack_double(&bytes, 0);
	refuses_step(&bytes, step_side ? "its step: it is for secondary 1: expected 2"
				       : "its step: it is for secondary 2: expected 1");
	refuses_step(&steps_run.steps[1 - step_side], "its step: it is for secondary");
	put_step(&bytes, 0);
	text_add_bytes(&bytes, "\0", 1);
	refuses_step(&bytes, "its step: bytes after its end");
	text_fini(&bytes);
}

static void test_changes(uint32_t own, uint32_t partner, uint32_t foreign, uint32_t hall, bool has_hall)
{
	struct text bytes = {0};
	uint32_t floor = model_of(&steps_run, "floor"), beyond = scene_of(&steps_run)->model_count;
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE, own);
	put_words(&bytes, own, 0);
	refuses_step(&bytes, "is to be taken over, but is taken over already or absent");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE_AGAIN, own);
	refuses_step(&bytes, "is to be taken over, but is taken over already or absent");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 2, WIRE_TAKE, foreign);
	put_words(&bytes, foreign, 0);
	PUT(&bytes, WIRE_TAKE, foreign);
	put_words(&bytes, foreign, 0);
	refuses_step(&bytes, "is to be taken over, but is taken over already or absent");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE, beyond, 0);
	refuses_step(&bytes, "is to be taken over, but is taken over already or absent: it does not exist");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE, foreign);
	put_words(&bytes, foreign, (double)NAN);
	refuses_step(&bytes, "is to be taken over, but its state is not valid");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE, foreign, 1, 0, 0, 0, 0, 0, 0, 0, 0);
	refuses_step(&bytes, "is to be taken over, but its state is not valid");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_RELEASE, foreign);
	refuses_step(&bytes, "is to be released, but this secondary does not simulate it");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_RELEASE, floor);
	refuses_step(&bytes, "model 'floor' is to be released, but this secondary does not simulate it");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_RELEASE, beyond);
	refuses_step(&bytes, "is to be released, but this secondary does not simulate it: it does not exist");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 2, WIRE_RELEASE, partner, WIRE_RELEASE, partner);
	refuses_step(&bytes, "is to be released, but this secondary does not simulate it");
	put_step(&bytes, WIRE_CHANGES); /* but it touches a model that stays */
	PUT(&bytes, 1, WIRE_RELEASE, partner);
	refuses_step(&bytes, "its step: a released model touches others");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, has_hall ? WIRE_LOAD : WIRE_UNLOAD, hall);
	refuses_step(&bytes, has_hall ? "its step: level 'hall' is to be loaded, but is loaded already"
				      : "its step: level 'hall' is to be unloaded, but is not loaded");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 2, has_hall ? WIRE_UNLOAD : WIRE_LOAD, hall, has_hall ? WIRE_UNLOAD : WIRE_LOAD, hall);
	refuses_step(&bytes, has_hall ? "its step: level 'hall' is to be unloaded, but is not loaded"
				      : "its step: level 'hall' is to be loaded, but is loaded already");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_LOAD, hall + 1);
	refuses_step(&bytes, "its step: level 1 does not exist");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 2, WIRE_GHOST_ON, foreign, WIRE_GHOST_ON, foreign);
	refuses_step(&bytes, "comes as a ghost, but is one already or absent");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_GHOST_OFF, foreign);
	refuses_step(&bytes, "goes as a ghost, but is none");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_GHOST_ON, beyond);
	refuses_step(&bytes, "comes as a ghost, but is one already or absent: it does not exist");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, 1, WIRE_TAKE_AGAIN + 1, own);
	refuses_step(&bytes, "its step: an unknown kind of change");
	put_step(&bytes, WIRE_CHANGES);
	PUT(&bytes, UINT64_MAX);
	refuses_step(&bytes, "its step: an unknown kind of change");
	text_fini(&bytes);
}

static void test_states(uint32_t own, uint32_t foreign)
{
	struct text bytes = {0};
	put_step(&bytes, WIRE_WRITTEN);
	PUT(&bytes, (uint64_t)foreign + 1);
	put_words(&bytes, foreign, 0);
	PUT(&bytes, 0);
	refuses_step(&bytes, "was written, but this secondary does not simulate it");
	put_step(&bytes, WIRE_WRITTEN);
	for (int i = 0; i < 2; i++) {
		PUT(&bytes, (uint64_t)own + 1);
		put_words(&bytes, own, 0);
	}
	PUT(&bytes, 0);
	refuses_step(&bytes, "was written, but its state comes twice or is not valid");
	put_step(&bytes, WIRE_WRITTEN);
	PUT(&bytes, (uint64_t)own + 1);
	put_words(&bytes, own, (double)INFINITY);
	PUT(&bytes, 0);
	refuses_step(&bytes, "was written, but its state comes twice or is not valid");
	put_step(&bytes, WIRE_WRITTEN);
	PUT(&bytes, (uint64_t)own + 1);
	put_words(&bytes, own, 0); /* without the end of the list */
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	put_step(&bytes, WIRE_WRITTEN);
	PUT(&bytes, UINT32_MAX, 0, 0);
	refuses_step(&bytes, "was written, but this secondary does not simulate it: it does not exist");
	/* ghosts */
	put_step(&bytes, WIRE_GHOSTS);
	PUT(&bytes, ((uint64_t)foreign + 1) << 1 | 1, 0, 0);
	refuses_step(&bytes, "moves as a ghost, but is none or moves twice");
	put_step(&bytes, WIRE_GHOSTS);
	PUT(&bytes, ((uint64_t)own + 1) << 1 | 1, 0, 0);
	refuses_step(&bytes, "moves as a ghost, but is none or moves twice");
	put_step(&bytes, WIRE_CHANGES | WIRE_GHOSTS);
	PUT(&bytes, 1, WIRE_GHOST_ON, foreign, ((uint64_t)foreign + 1) << 1 | 1, 13);
	wire_put_words(&bytes, (const uint64_t[13]){UINT64_C(0x7ff8000000000000)}, 13);
	PUT(&bytes, 0);
	refuses_step(&bytes, "moves as a ghost, but its state is not valid");
	const struct state *now = steps_run.server->worlds[0].shared.state;
	put_step(&bytes, WIRE_CHANGES | WIRE_GHOSTS);
	PUT(&bytes, 1, WIRE_GHOST_ON, foreign);
	for (int i = 0; i < 2; i++) {
		PUT(&bytes, ((uint64_t)foreign + 1) << 1 | 1, 13);
		wire_put_words(&bytes, state_words(now, foreign, false), 13);
	}
	PUT(&bytes, 0);
	refuses_step(&bytes, "moves as a ghost, but is none or moves twice");
	text_fini(&bytes);
}

static void test_statics(uint32_t own)
{
	struct text bytes = {0};
	uint32_t floor = model_of(&steps_run, "floor"), models = scene_of(&steps_run)->model_count;
	put_step(&bytes, WIRE_STATICS);
	PUT(&bytes, 1, own, 1);
	refuses_step(&bytes, "is to be a static one");
	put_step(&bytes, WIRE_STATICS);
	PUT(&bytes, 2, floor, 1, 0, 1);
	refuses_step(&bytes, "is to be a static one");
	put_step(&bytes, WIRE_STATICS);
	PUT(&bytes, 1, models, 1);
	refuses_step(&bytes, "is to be a static one");
	put_step(&bytes, WIRE_STATICS);
	PUT(&bytes, 1, UINT64_MAX, 1);
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	put_step(&bytes, WIRE_STATICS);
	PUT(&bytes, (uint64_t)models + 1);
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	text_fini(&bytes);
}

/* The models a and b touch already. */
static void test_pairs(uint32_t a, uint32_t b, uint32_t foreign)
{
	struct text bytes = {0};
	static const char words[] = "may touch, and they come twice, or it does not simulate both";
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, 0, (uint64_t)MIN(a, b) + 1, MAX(a, b), 0);
	refuses_step(&bytes, words);
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, 0, (uint64_t)MAX(a, b) + 1, MIN(a, b), 0);
	refuses_step(&bytes, words);
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, 0, (uint64_t)MIN(a, foreign) + 1, MAX(a, foreign), 0);
	refuses_step(&bytes, words);
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, 0, UINT64_MAX, b, 0);
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, 2, 0, 0); /* the second contact of one pair ends */
	refuses_step(&bytes, "its step: a pair of models that is to go");
	put_step(&bytes, WIRE_PAIRS);
	PUT(&bytes, UINT64_MAX, 0, 0);
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	text_fini(&bytes);
}

static void test_commands(uint32_t own, uint32_t foreign)
{
	struct text bytes = {0};
	const struct systems *systems = copies_shared(&steps_run.sides[step_side])->systems;
	uint32_t count = systems->sets[own].count, topics = systems->sets[own].at[0].topics.count;
	check(count == 1 && topics > 0, "no topic has a listener");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, 1, foreign, 0, 0, 1, 0);
	refuses_step(&bytes, "its step: a command without a listener");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, 1, own, count, 0, 1, 0);
	refuses_step(&bytes, "its step: a command without a listener");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, 1, own, 0, topics, 1, 0);
	refuses_step(&bytes, "its step: a command without a listener");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, 1, own, 0, 0, 5, UINT32_MAX); /* field numbers that the message does not have */
	refuses_step(&bytes, "its step: a command");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, 1, own, 0, 0, 9, 1);
	pack_double(&bytes, (double)NAN);
	refuses_step(&bytes, "its step: a command");
	put_step(&bytes, WIRE_COMMANDS);
	PUT(&bytes, UINT64_MAX);
	refuses_step(&bytes, "its step: it is cut off, or a number is out of range");
	text_fini(&bytes);
}

static void refuses_wrench(struct due_wrench wrench, const char *words)
{
	struct text bytes = {0};
	put_step(&bytes, WIRE_WRENCHES);
	PUT(&bytes, 1, wrench.body);
	pack_vec3(&bytes, wrench.force);
	pack_vec3(&bytes, wrench.torque);
	PUT(&bytes, wrench.lasts ? (uint64_t)wrench.link + 1 : 0);
	if (wrench.lasts)
		pack_vec3(&bytes, wrench.offset);
	refuses_step(&bytes, words);
	text_fini(&bytes);
}

static void test_wrenches(uint32_t own, uint32_t foreign)
{
	static const char limits[] = "its step: a force on a body that does not exist, or beyond its limits";
	const struct scene *scene = scene_of(&steps_run); /* until the first step is refused, which ends its run */
	const struct scene_model *m = &scene->models[own];
	const uint32_t links = scene->link_count, bodies = scene->body_count;
	const struct due_wrench sound = {
		.body = m->body_first, .force = {0, 0, 2e8}, .lasts = true, .link = m->link_first};
	struct due_wrench wrench = sound;
	wrench.body = scene->models[foreign].body_first;
	wrench.link = scene->models[foreign].link_first;
	refuses_wrench(wrench, "its step: a force on a body that this secondary does not simulate");
	wrench.link = sound.link; /* of another body */
	refuses_wrench(wrench, limits);
	wrench = sound;
	wrench.link = links;
	refuses_wrench(wrench, limits);
	wrench = sound;
	wrench.offset.x = 6; /* a torque beyond its limit, if the link is turned so */
	refuses_wrench(wrench, limits);
	wrench.offset.x = (double)NAN;
	refuses_wrench(wrench, "its step: it is cut off, or a number is out of range");
	wrench = sound;
	wrench.body = bodies;
	refuses_wrench(wrench, limits);
	wrench = (struct due_wrench){.body = sound.body, .torque = {0, 2e9, 0}};
	refuses_wrench(wrench, limits);
}

static void test_edits(uint32_t own)
{
	struct text bytes = {0};
	static const uint64_t cases[][3] = {{1, EDIT_GRAVITY + 1, 0}, {UINT64_MAX, EDIT_GRAVITY + 1, 0},
		{1, EDIT_LEAVE, UINT32_MAX}, {1, EDIT_GIVE_UP, 0}, {1, EDIT_RETURN, 0}, {1, EDIT_CREATE, 0}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		put_step(&bytes, WIRE_EDITS);
		for (size_t k = 0; k < 3; k++)
			pack_u64(&bytes, cases[i][k]);
		refuses_step(&bytes, "its step: an invalid change of the world: ");
	}
	/* the place of a created model is not freed while the model exists */
	for (int created = 0; created < 2; created++) {
		put_step(&bytes, WIRE_EDITS);
		pack_u64(&bytes, 1);
		pack_u64(&bytes, EDIT_GIVE_UP);
		pack_u64(&bytes, own);
		copies_shared(&steps_run.sides[step_side])->scene->models[own].created = created;
		refuses_step(&bytes, "its step: an invalid change of the world: it does not fit the model");
	}
	put_step(&bytes, WIRE_EDITS);
	pack_u64(&bytes, 1);
	pack_u64(&bytes, EDIT_PLACE);
	pack_u64(&bytes, own); /* this model is not static */
	for (int i = 0; i < 7; i++)
		pack_double(&bytes, i == 3);
	refuses_step(&bytes, "its step: an invalid change of the world: it does not fit the model");
	put_step(&bytes, WIRE_EDITS);
	pack_u64(&bytes, 2);
	for (int i = 0; i < 2; i++) {
		pack_u64(&bytes, EDIT_LEAVE);
		pack_u64(&bytes, model_of(&steps_run, "wall"));
	}
	refuses_step(&bytes, "its step: an invalid change of the world: it does not fit the model");
	put_step(&bytes, WIRE_EDITS);
	pack_u64(&bytes, 1);
	pack_u64(&bytes, EDIT_GRAVITY);
	pack_u64(&bytes, 0);
	for (int i = 0; i < 3; i++)
		pack_double(&bytes, 1e300);
	refuses_step(&bytes, "its step: an invalid change of the world: the gravity");
	text_fini(&bytes);
}

/* The first step of a run, which gives all models, is cut off at each byte. */
static void test_cuts(void)
{
	struct run run = {.server = copies_server(&state, SECONDARIES, 0)};
	run.wire = wire_create(primary_of(&run));
	decide(&run);
	for (uint32_t i = 0; i < SECONDARIES; i++) {
		for (size_t count = 0; count < run.steps[i].count; count += 1 + count / 16) {
			struct troupe_error error = {0};
			const struct step *step;
			copies_begin(&run.sides[i], &replica_state, i + 1);
			check(copies_decode_step(&run.sides[i], run.steps[i].at, count, &step, &error) ==
						TROUPE_EPROTOCOL &&
					!strncmp(error.text, "its step: ", 10),
				"%zu bytes of a step of %zu are accepted", count, run.steps[i].count);
			copies_end(&run.sides[i]);
		}
		text_fini(&run.steps[i]);
	}
	wire_destroy(run.wire);
	troupe_server_destroy(run.server);
}

static void test_steps(void)
{
	begin(&steps_run);
	uint32_t a = model_of(&steps_run, "a"), b = model_of(&steps_run, "b"), foreign = SCENE_NONE;
	step_side = owner_of(&steps_run, a);
	for (uint32_t m = 0; m < scene_of(&steps_run)->model_count && foreign == SCENE_NONE; m++)
		if (scene_of(&steps_run)->models[m].body_count && owner_of(&steps_run, m) == 1 - step_side)
			foreign = m;
	check(owner_of(&steps_run, b) == step_side && foreign != SCENE_NONE, "models are where they should not be");
	bool has_hall = primary_of(&steps_run)->plan.placement.ownership.now.level[0] == step_side + 1;
	test_heads();
	test_changes(a, b, foreign, 0, has_hall);
	test_states(a, foreign);
	test_statics(a);
	test_pairs(a, b, foreign);
	test_commands(a, foreign);
	test_wrenches(a, foreign);
	test_edits(a);
	test_cuts();
	end(&steps_run);
}

/* --- small payloads ----------------------------------------------------------------------------------------------- */

typedef troupe_status decode_fn(const void *bytes, size_t count, struct troupe_error *error);

static troupe_status decode_hello(const void *bytes, size_t count, struct troupe_error *error)
{
	return hello_decode(bytes, count, &(struct hello){0}, error);
}

static troupe_status decode_welcome(const void *bytes, size_t count, struct troupe_error *error)
{
	return welcome_decode(bytes, count, &(struct welcome){0}, error);
}

static troupe_status decode_heartbeat(const void *bytes, size_t count, struct troupe_error *error)
{
	return heartbeat_decode(bytes, count, &(struct heartbeat){0}, error);
}

static troupe_status decode_stop(const void *bytes, size_t count, struct troupe_error *error)
{
	return stop_decode(bytes, count, &(struct stop){0}, error);
}

static troupe_status decode_refuse(const void *bytes, size_t count, struct troupe_error *error)
{
	char why[HELLO_WORDS_MAX + 1];
	return refuse_decode(bytes, count, why, NULL, error);
}

static troupe_status decode_number(const void *bytes, size_t count, struct troupe_error *error)
{
	uint64_t number;
	return number_decode(bytes, count, &number, error);
}

static troupe_status decode_announcement(const void *bytes, size_t count, struct troupe_error *error)
{
	return announcement_decode(bytes, count, &(struct announcement){0}, error);
}

static troupe_status decode_world(const void *bytes, size_t count, struct troupe_error *error)
{
	return bundle_decode(bytes, count, &(struct bundle){0}, error);
}

/* The whole message is accepted. If it is cut off anywhere, or has one more byte, it is refused, and the error says
 * which of the two is wrong. */
static void ends_where_it_ends(const char *what, decode_fn *decode, const struct text *sound, const char *words)
{
	struct troupe_error error = {0};
	struct text longer = {0};
	check(!decode(sound->at, sound->count, &error), "%s: what is sound is refused: %s", what, error.text);
	for (size_t count = 0; count < sound->count; count++) {
		char *copy = mem_alloc(count); /* of this size, so that a sanitizer notices a read beyond it */
		memcpy(copy, sound->at, count);
		check(decode(copy, count, &error) == TROUPE_EPROTOCOL, "%s: %zu bytes of %zu are taken", what, count,
			sound->count);
		free(copy);
	}
	text_add_bytes(&longer, sound->at, sound->count);
	text_add_bytes(&longer, "\0", 1);
	check(decode(longer.at, longer.count, &error) == TROUPE_EPROTOCOL && strstr(error.text, words),
		"%s with a byte more: '%s' is not '%s'", what, error.text, words);
	text_fini(&longer);
}

/* Refuses the message with another number in the eight bytes at this place. */
static void refuses_number(const char *what, decode_fn *decode, const struct text *sound, size_t at, uint64_t number)
{
	struct text bytes = {0};
	struct troupe_error error = {0};
	text_add_bytes(&bytes, sound->at, sound->count);
	memcpy(bytes.at + at, &number, sizeof number);
	check(decode(bytes.at, bytes.count, &error) == TROUPE_EPROTOCOL && *error.text,
		"%s with %llu at byte %zu is accepted", what, (unsigned long long)number, at);
	text_fini(&bytes);
}

static void test_small(void)
{
	struct text out = {0};
	struct hello hello = {
		.protocol = HELLO_PROTOCOL, .role = HELLO_SECONDARY, .name = "n", .build = "b", .partition = "p"};
	struct announcement announcement = {.kind = ANNOUNCE_HERE,
		.role = HELLO_PRIMARY,
		.echo_count = 2,
		.port = 1,
		.secondaries = 2,
		.partition = "p",
		.name = "n"};
	struct bundle described = {5, {1, 2}};
	hello_encode(&hello, &out);
	ends_where_it_ends("a hello", decode_hello, &out, "its hello is not valid");
	refuses_number("a hello", decode_hello, &out, 0, 1);           /* magic */
	refuses_number("a hello", decode_hello, &out, 8, 0);           /* protocol */
	refuses_number("a hello", decode_hello, &out, 8, UINT64_MAX);  /* protocol */
	refuses_number("a hello", decode_hello, &out, 16, UINT64_MAX); /* bytes of the name */
	refuses_number("a hello", decode_hello, &out, 16, out.count);  /* bytes of the name */
	refuses_number("a hello", decode_hello, &out, 25, 0);          /* role */
	refuses_number("a hello", decode_hello, &out, 25, 5);          /* role */
	refuses_number("a hello", decode_hello, &out, 65 + 8 * FINGERPRINT_PARTS, TROUPE_SECONDARIES_MAX + 1);
	out.at[24] = '\n';
	check(decode_hello(out.at, out.count, NULL) == TROUPE_EPROTOCOL, "a name with a line end is accepted");
	struct hello viewer = hello, primary = hello;
	struct troupe_error why = {.text = ""};
	viewer.role = HELLO_VIEWER;
	primary.role = HELLO_PRIMARY;
	check(!hello_match(&primary, &hello, &why), "a secondary does not match: %s", why.text);
	check(hello_match(&primary, &viewer, &why) == TROUPE_EPROTOCOL && strstr(why.text, "--watch-listen"),
		"a viewer takes part as a secondary: %s", why.text);
	out.count = 0;
	welcome_encode(&(struct welcome){.secondary = 1, .secondaries = 2, .stale_ms = 1000}, &out);
	ends_where_it_ends("a welcome", decode_welcome, &out, "its welcome is not valid");
	refuses_number("a welcome", decode_welcome, &out, 0, 0);
	refuses_number("a welcome", decode_welcome, &out, 0, 3);
	refuses_number("a welcome", decode_welcome, &out, 8, TROUPE_SECONDARIES_MAX + 1);
	refuses_number("a welcome", decode_welcome, &out, 16, 0);
	refuses_number("a welcome", decode_welcome, &out, 16, (uint64_t)HELLO_STALE_MS_MAX + 1);
	out.count = 0;
	heartbeat_encode(&(struct heartbeat){.busy = true, .step = 7}, &out);
	ends_where_it_ends("a heartbeat", decode_heartbeat, &out, "its heartbeat is not valid");
	refuses_number("a heartbeat", decode_heartbeat, &out, 0, 4);
	out.count = 0;
	for (enum stop_kind kind = STOP_DONE; kind < STOP_REFUSED; kind++) {
		struct stop stop;
		stop_encode(&(struct stop){kind, 7, "who", "why"}, &out);
		check(!stop_decode(out.at, out.count, &stop, NULL) && stop.kind == kind, "a stop of kind %d is refused",
			kind);
		out.count = 0;
	}
	stop_encode(&(struct stop){STOP_LEFT, 7, "who", "why"}, &out);
	ends_where_it_ends("a stop", decode_stop, &out, "its stop is not valid");
	refuses_number("a stop", decode_stop, &out, 0, 0);
	refuses_number("a stop", decode_stop, &out, 0, STOP_REFUSED);
	refuses_number("a stop", decode_stop, &out, 16, HELLO_WHO_MAX + 1);
	refuses_number("a stop", decode_stop, &out, 16, UINT64_MAX - 7);
	out.count = 0;
	refuse_encode("why", false, &out);
	ends_where_it_ends("a refusal", decode_refuse, &out, "its refusal is not valid");
	refuses_number("a refusal", decode_refuse, &out, 0, HELLO_WORDS_MAX + 1);
	out.count = 0;
	number_encode(7, &out);
	ends_where_it_ends("a number", decode_number, &out, "a number is not valid");
	out.count = 0;
	bundle_encode(&described, &out);
	ends_where_it_ends("a world", decode_world, &out, "its description of the world is not valid");
	refuses_number("a world", decode_world, &out, 0, 0);
	refuses_number("a world", decode_world, &out, 0, BUNDLE_BYTES_MAX + 1);
	out.count = 0;
	announcement_encode(&announcement, &out);
	ends_where_it_ends("an announcement", decode_announcement, &out, "an announcement that is not valid");
	struct announcement read = {0};
	struct text again = {0};
	check(!announcement_decode(out.at, out.count, &read, NULL), "an announcement is refused");
	announcement_encode(&read, &again);
	check(again.count == out.count && !memcmp(again.at, out.at, out.count) &&
			read.present == announcement.present && read.secondaries == announcement.secondaries,
		"an announcement has other values when it is read");
	text_fini(&again);
	refuses_number("an announcement", decode_announcement, &out, 16, 3);               /* role */
	refuses_number("an announcement", decode_announcement, &out, 16, HELLO_SECONDARY); /* a role that has no port */
	refuses_number("an announcement", decode_announcement, &out, 24, 3);               /* echoes */
	refuses_number("an announcement", decode_announcement, &out, 24, ANNOUNCEMENT_ECHOES_MAX + 1);
	refuses_number("an announcement", decode_announcement, &out, 24, UINT64_MAX);
	refuses_number("an announcement", decode_announcement, &out, 56, 0); /* kind */
	refuses_number("an announcement", decode_announcement, &out, 56, ANNOUNCE_FIXED + 1);
	refuses_number("an announcement", decode_announcement, &out, 80, UINT16_MAX + 1); /* port */
	text_fini(&out);
}

/* --- whole ends --------------------------------------------------------------------------------------------------- */

#define LIMIT_NS UINT64_C(60000000000)

static void send_text(struct channel *channel, enum frame_type type, struct text *bytes)
{
	(void)channel_send(channel, type, bytes->at, bytes->count, NULL);
	bytes->count = 0;
}

/* Waits for a frame of this type and drops other frames; false: the other end has closed, or the time is over. */
static bool await_until(struct channel *channel, enum frame_type wanted, uint64_t end_ns, struct text *ret_payload)
{
	while (clock_now_ns() < end_ns) {
		enum frame_type type;
		const char *bytes;
		size_t count;
		troupe_status bad;
		troupe_status ended = channel_work(channel, clock_now_ns(), NULL);
		while (channel_receive(channel, &type, &bytes, &count, &bad, NULL))
			if (type == wanted) {
				if (ret_payload) {
					ret_payload->count = 0;
					text_add_bytes(ret_payload, bytes, count);
				}
				return true;
			}
		if (ended)
			return false;
		(void)poll(&(struct pollfd){channel_fd(channel), POLLIN, 0}, 1, 20);
	}
	return false;
}

static bool await(struct channel *channel, enum frame_type wanted, struct text *ret_payload)
{
	return await_until(channel, wanted, clock_now_ns() + LIMIT_NS, ret_payload);
}

static struct channel *make_channel(int file, enum channel_role role)
{
	struct channel_options options = {.role = role};
	struct channel *channel;
	if (channel_create(file, "the other", &options, clock_now_ns(), &channel, NULL))
		abort();
	channel_limit(channel, FRAME_PAYLOAD_MAX);
	return channel;
}

struct end {
	pthread_t thread;
	struct troupe_secondary *secondary;
	struct troupe_server *server;
	troupe_status status;
	struct troupe_error error;
};

static void *run_secondary(void *arg)
{
	struct end *end = arg;
	end->status = troupe_secondary_run(end->secondary, &end->error);
	return NULL;
}

/* The frames of a primary, made by hand. */
enum lie {
	LIE_WELCOME,
	LIE_WORLD_EMPTY,
	LIE_WORLD_TWICE,
	LIE_DATA_FIRST,
	LIE_DATA_MORE,
	LIE_DATA_OTHER,
	LIE_START_EARLY,
	LIE_STEP_EARLY,
	LIE_HELLO_TWICE,
	LIE_ACK,
	LIE_STEP,
	LIE_STEP_NUMBER,
	LIES,
};

static const char *const what_is_said[LIES] = {
	[LIE_WELCOME] = "its welcome is not valid",
	[LIE_WORLD_EMPTY] = "its description of the world is not valid",
	[LIE_WORLD_TWICE] = "an unexpected frame 'WORLD'",
	[LIE_DATA_FIRST] = "an unexpected frame 'WORLD_DATA'",
	[LIE_DATA_MORE] = "an unexpected frame 'WORLD_DATA'",
	[LIE_DATA_OTHER] = "the world did not arrive as it was sent",
	[LIE_START_EARLY] = "sent START, which is not due",
	[LIE_STEP_EARLY] = "sent STEP, which is not due",
	[LIE_HELLO_TWICE] = "sent HELLO, which is not due",
	[LIE_ACK] = "sent ACK, which is not due",
	[LIE_STEP] = "its step: it is for secondary 7: expected 1",
	[LIE_STEP_NUMBER] = "step 1: expected step 0",
};

static void send_world(struct channel *channel, enum lie lie)
{
	struct text out = {0};
	struct bundle described = bundle_describe(replica_state.at, replica_state.count);
	if (lie == LIE_DATA_FIRST)
		(void)channel_send(channel, FRAME_WORLD_DATA, replica_state.at, 10, NULL);
	described.bytes = lie == LIE_WORLD_EMPTY ? 0 : described.bytes;
	described.hash[0] += lie == LIE_DATA_OTHER;
	for (int i = 0; i < 1 + (lie == LIE_WORLD_TWICE); i++) {
		bundle_encode(&described, &out);
		send_text(channel, FRAME_WORLD, &out);
	}
	for (size_t at = 0; at < replica_state.count; at += 65536)
		(void)channel_send(channel, FRAME_WORLD_DATA, replica_state.at + at,
			MIN(replica_state.count - at, (size_t)65536), NULL);
	if (lie == LIE_DATA_MORE)
		(void)channel_send(channel, FRAME_WORLD_DATA, "more", 4, NULL);
	text_fini(&out);
}

static troupe_status own_hello(enum hello_role role, struct hello *ret_hello)
{
	struct gather_self self = {
		.network = &(struct troupe_network){.secondaries = 1}, .fingerprint = *physics_fingerprint_parts()};
	return gather_hello(&self, role, ret_hello, NULL);
}

static void lie_as_primary(struct channel *channel, enum lie lie)
{
	struct text out = {0};
	struct hello hello;
	if (own_hello(HELLO_PRIMARY, &hello))
		abort();
	(void)snprintf(hello.name, sizeof hello.name, "liar");
	hello_encode(&hello, &out);
	send_text(channel, FRAME_HELLO, &out);
	welcome_encode(
		&(struct welcome){.secondary = lie == LIE_WELCOME ? 2 : 1, .secondaries = 1, .stale_ms = 60000}, &out);
	send_text(channel, FRAME_WELCOME, &out);
	if (lie == LIE_START_EARLY || lie == LIE_STEP_EARLY || lie == LIE_ACK) {
		number_encode(0, &out);
		send_text(channel, lie == LIE_ACK ? FRAME_ACK : lie == LIE_STEP_EARLY ? FRAME_STEP : FRAME_START, &out);
	}
	if (lie == LIE_HELLO_TWICE) {
		hello_encode(&hello, &out);
		send_text(channel, FRAME_HELLO, &out);
	}
	send_world(channel, lie);
	if (lie >= LIE_STEP && await(channel, FRAME_READY, NULL)) {
		number_encode(0, &out);
		send_text(channel, FRAME_START, &out);
		text_add_bytes(&out, (const char[]){WIRE_DT, 0, 0}, WIRE_FLAG_BYTES);
		pack_var(&out, lie == LIE_STEP ? 7 : 1);
		pack_var(&out, lie == LIE_STEP_NUMBER);
		pack_double(&out, 0);
		pack_double(&out, 0.001);
		send_text(channel, FRAME_STEP, &out);
	}
	text_fini(&out);
}

static void test_secondary(enum lie lie)
{
	struct end end = {.status = TROUPE_OK};
	int files[2];
	if (troupe_network_pair(files, NULL))
		abort();
	const struct troupe_network network = {.sockets = &files[1]};
	const struct troupe_secondary_def def = {.network = &network};
	struct channel *channel = make_channel(files[0], CHANNEL_SERVER);
	copies_must(troupe_secondary_create(&def, &end.secondary, &end.error), "a secondary", &end.error);
	if (pthread_create(&end.thread, NULL, run_secondary, &end))
		abort();
	lie_as_primary(channel, lie);
	while (pthread_tryjoin_np(end.thread, NULL))
		(void)await_until(channel, FRAME_HEARTBEAT, clock_now_ns() + 20000000, NULL);
	check(end.status != TROUPE_OK && strstr(end.error.text, what_is_said[lie]) && strstr(end.error.text, "liar"),
		"a secondary says '%s': expected '%s' and the sender", end.error.text, what_is_said[lie]);
	channel_destroy(channel);
	troupe_secondary_destroy(end.secondary);
}

/* --- the primary's end -------------------------------------------------------------------------------------------- */

enum lie_of_secondary {
	FALSE_READY,
	FALSE_WANT,
	FALSE_WANT_TWICE,
	FALSE_STEP,
	FALSE_WELCOME,
	FALSE_ACK_EARLY,
	FALSE_ACK,
	FALSE_ACK_NUMBER,
	FALSE_ACK_TWICE,
	FALSES,
};

static const char *const what_is_said_of[FALSES] = {
	[FALSE_READY] = "the state that was rebuilt has hash 0000000000000001: expected ",
	[FALSE_WANT] = "an unexpected frame 'WORLD_WANT'",
	[FALSE_WANT_TWICE] = "an unexpected frame 'WORLD_WANT'",
	[FALSE_STEP] = "sent STEP, which is not due",
	[FALSE_WELCOME] = "sent WELCOME, which is not due",
	[FALSE_ACK_EARLY] = "sent ACK, which is not due",
	[FALSE_ACK] = "its ack: it is cut off, or a number is out of range",
	[FALSE_ACK_NUMBER] = "sent an ack of step 1: expected 0",
	[FALSE_ACK_TWICE] = "sent an ack",
};

static void put_empty_ack(struct text *out, uint64_t number)
{
	struct ack_parts parts = {.number = number};
	put_head(&parts, out);
	pack_var(out, 0);
}

static void answer_steps(struct channel *channel, enum lie_of_secondary lie)
{
	struct text out = {0};
	uint64_t hash = 0;
	struct troupe_server *copy = copies_server(&state, 1, 0);
	hash = replica_hash_of(copy->worlds[0].primary);
	troupe_server_destroy(copy);
	number_encode(lie == FALSE_READY ? 1 : hash, &out);
	send_text(channel, FRAME_READY, &out);
	if (lie == FALSE_READY || !await(channel, FRAME_STEP, NULL)) {
		text_fini(&out);
		return;
	}
	if (lie == FALSE_ACK)
		text_add_bytes(&out, "\0", 1);
	else
		put_empty_ack(&out, lie == FALSE_ACK_NUMBER);
	if (lie == FALSE_ACK_TWICE) { /* both at once, before the next step */
		struct text again = {0};
		text_add_bytes(&again, out.at, out.count);
		send_text(channel, FRAME_ACK, &again);
		text_fini(&again);
	}
	send_text(channel, FRAME_ACK, &out);
	text_fini(&out);
}

static void lie_as_secondary(struct channel *channel, enum lie_of_secondary lie)
{
	struct text out = {0};
	struct hello hello;
	if (own_hello(HELLO_SECONDARY, &hello))
		abort();
	(void)snprintf(hello.name, sizeof hello.name, "liar");
	hello_encode(&hello, &out);
	send_text(channel, FRAME_HELLO, &out);
	if (!await(channel, FRAME_WELCOME, NULL))
		abort();
	for (int i = 0; i < 1 + (lie == FALSE_WANT_TWICE); i++)
		(void)channel_send(channel, FRAME_WORLD_WANT, "x", lie == FALSE_WANT, NULL);
	number_encode(0, &out);
	if (lie == FALSE_STEP || lie == FALSE_WELCOME || lie == FALSE_ACK_EARLY)
		send_text(channel,
			lie == FALSE_STEP      ? FRAME_STEP
			: lie == FALSE_WELCOME ? FRAME_WELCOME
					       : FRAME_ACK,
			&out);
	if (lie == FALSE_READY || lie > FALSE_ACK_EARLY)
		answer_steps(channel, lie);
	text_fini(&out);
}

static void *run_server(void *arg)
{
	struct end *end = arg;
	struct troupe_limits limits = {5, 0};
	end->status = troupe_server_run(end->server, &limits, &end->error);
	return NULL;
}

/* An error before the start is reported to the peer that sent the frame; an error after it ends the run, with a
 * reason. */
static void test_primary(enum lie_of_secondary lie)
{
	struct end end = {.status = TROUPE_OK};
	struct troupe_server_def def = troupe_server_def_default();
	struct text words = {0};
	char told[HELLO_WORDS_MAX + 1] = "";
	int files[2];
	if (troupe_network_pair(files, NULL))
		abort();
	const struct troupe_network network = {.secondaries = 1, .sockets = &files[0], .stale_ms = 60000};
	def.world_path = "w.sdf";
	def.world_text = world;
	def.pace = TROUPE_PACE_FACTOR;
	def.network = &network;
	def.window = 1; /* the lies are about single steps */
	struct channel *channel = make_channel(files[1], CHANNEL_CLIENT);
	copies_must(troupe_server_create(&def, &end.server, &end.error), "a server", &end.error);
	if (pthread_create(&end.thread, NULL, run_server, &end))
		abort();
	lie_as_secondary(channel, lie);
	bool started = lie >= FALSE_ACK;
	if (await(channel, started ? FRAME_STOP : FRAME_REFUSE, &words) && !started)
		(void)refuse_decode(words.at, words.count, told, NULL, NULL);
	channel_destroy(channel);
	pthread_join(end.thread, NULL);
	const char *said = started ? end.error.text : told;
	check(end.status != TROUPE_OK && strstr(said, what_is_said_of[lie]), "a primary says '%s': expected '%s'", said,
		what_is_said_of[lie]);
	if (started)
		check(strstr(end.error.text, "secondary 1 (liar at ") && strstr(end.error.text, "sent invalid data"),
			"a primary does not say who: '%s'", end.error.text);
	text_fini(&words);
	troupe_server_destroy(end.server);
}

/* --- saved states ------------------------------------------------------------------------------------------------- */

/* Checks that the present state, saved, is refused with these words. */
static void refuses_state(struct troupe_server *server, const char *words)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *copy;
	struct troupe_error error = {0};
	struct text bytes = {0};
	copies_pack(server, &bytes);
	def.resume_path = "state";
	troupe_status status = server_create(&def, bytes.at, bytes.count, &copy, &error);
	check(*words ? status == TROUPE_EWORLD && strstr(error.text, words) : !status, "a state: '%s' is not '%s'",
		error.text, words);
	if (!status)
		troupe_server_destroy(copy);
}

/* A saved state that is valid except for one number. */
static void test_saved(void)
{
	static const char box[] = "sdf: \"<sdf version='1.9'><model name='m'><link name='l'/></model></sdf>\"";
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	struct troupe_limits limits = {.iterations = 3};
	def.world_path = "w.sdf";
	def.world_text = world;
	def.pace = TROUPE_PACE_FACTOR;
	copies_must(troupe_server_create(&def, &server, &error), "the world", &error);
	for (int i = 0; i < 2; i++) {
		char *text = mem_printf("name: 'new%d' pose {position {x: %d z: 50}} %s", i, 3 * i, box);
		copies_must(troupe_server_command(server, 0, "/world/w/create", text, &error), text, &error);
		free(text);
	}
	copies_must(troupe_server_run(server, &limits, &error), "three steps", &error);
	struct scene *scene = server->worlds[0].scene;
	struct state *now = server->worlds[0].shared.state;
	refuses_state(server, "");

	struct scene_model *last = &scene->models[scene_find_model(scene, "new1")];
	uint64_t id = last->id;
	last->id = scene->models[scene_find_model(scene, "new0")].id;
	refuses_state(server, "their ids");
	last->id = scene->models[scene_find_model(scene, "c")].id;
	refuses_state(server, "their ids");
	last->id = scene->last_id + 1;
	refuses_state(server, "their ids");
	last->id = id;

	uint32_t b = scene_find_model(scene, "b");
	double *position = &state_joint(now, scene->models[b].joint_first, false)->position[0], before = *position;
	static const double wrong[] = {NAN, INFINITY, -INFINITY, -1e300, 1e300};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		*position = wrong[i];
		state_touched(now, b);
		refuses_state(server, "the state of a model");
	}
	*position = before;
	state_touched(now, b);
	refuses_state(server, "");
	troupe_server_destroy(server);
}

/* An ack gives the costs of its secondary's models, and leaves the costs of all other models as they are. */
static void test_costs(void)
{
	struct run run;
	begin(&run);
	primary_of(&run)->plan.placement.measure = true;
	for (uint32_t k = 0; k < 2 * PLACEMENT_MEASURE_STEPS; k++) {
		end_step(&run, 0);
		decide(&run);
	}
	const struct shared *shared = &run.server->worlds[0].shared;
	for (uint32_t m = 0; m < shared->scene->model_count; m++)
		if (primary_of(&run)->plan.loading.active[m] && shared->scene->models[m].body_count)
			check(shared->costs.ns[m] && shared->costs.ns[m] != COST_UNKNOWN,
				"what '%s' costs is not known: %u", shared->scene->models[m].name, shared->costs.ns[m]);
	end(&run);
}

int main(void)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_server *server;
	struct troupe_error error;
	setvbuf(stdout, NULL, _IOLBF, 0);
	def.world_path = "w.sdf";
	def.world_text = world;
	def.secondaries = 0;
	def.pace = TROUPE_PACE_FACTOR;
	copies_must(troupe_server_create(&def, &server, &error), "the world", &error);
	copies_pack(server, &state);
	(void)server_pack_replica(server, &replica_state, NULL);
	troupe_server_destroy(server);
	test_small();
	test_acks();
	test_sweeps();
	test_steps();
	for (int lie = 0; lie < LIES; lie++)
		test_secondary((enum lie)lie);
	for (int lie = 0; lie < FALSES; lie++)
		test_primary((enum lie_of_secondary)lie);
	test_saved();
	test_costs();
	text_fini(&state);
	text_fini(&replica_state);
	return check_totals();
}
