/* One bit for each word says whether the word follows. The first bit of all says that the anchors are where the
 * bodies are, as in all models that move; anchors are then sent relative to that. */
#include "run/wire_words.h"

#include <string.h>

enum { WIRE_WORDS_BODY = 13, WIRE_WORDS_ANCHOR = 7 };
_Static_assert(sizeof(struct body_state) == WIRE_WORDS_BODY * 8 && sizeof(struct body_anchor) == WIRE_WORDS_ANCHOR * 8,
	"an anchor is the first words of a body");

#define LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

void wire_put_words(struct text *out, const uint64_t *words, size_t count)
{
	if (LITTLE && count)
		text_add_bytes(out, (const char *)words, count * sizeof *words);
	for (size_t i = 0; !LITTLE && i < count; i++)
		pack_u64(out, words[i]);
}

bool wire_get_words(struct unpack *in, uint64_t *ret_words, size_t count)
{
	if (in->bad || (size_t)(in->end - in->at) / sizeof *ret_words < count) {
		in->bad = true;
		return false;
	}
	if (LITTLE && count) {
		memcpy(ret_words, in->at, count * sizeof *ret_words);
		in->at += count * sizeof *ret_words;
	}
	for (size_t i = 0; !LITTLE && i < count; i++)
		ret_words[i] = unpack_u64(in);
	return true;
}

void wire_put_all(struct text *out, const struct state *state, uint32_t model)
{
	uint32_t impulse_words;
	const uint64_t *impulses = state_impulses(state, model, false, &impulse_words);
	pack_var(out, state_count_all(state, model));
	wire_put_words(out, state_words(state, model, false), state->models[model].words);
	wire_put_words(out, impulses, impulse_words);
}

bool wire_get_all(struct unpack *in, const struct state *state, uint32_t model, uint32_t count)
{
	uint32_t words = state->models[model].words;
	if (!state_resize_all(state, model, count))
		return false;
	return wire_get_words(in, state_words(state, model, false), words) &&
	       wire_get_words(in, state_resize_impulses(state, model, false, count - words), count - words);
}

/* --- bits and words ----------------------------------------------------------------------------------------------- */

struct put {
	struct text *out;
	size_t bits; /* where they are */
	uint32_t bit;
	wire_scratch *changed;
};

static struct put wire_words_put_begin(struct text *out, uint32_t bits, wire_scratch *scratch)
{
	static const char zeros[64];
	struct put put = {.out = out, .bits = out->count, .changed = scratch};
	scratch->count = 0;
	for (uint32_t bytes = (bits + 7) / 8; bytes;) {
		uint32_t some = MIN(bytes, (uint32_t)sizeof zeros);
		text_add_bytes(out, zeros, some);
		bytes -= some;
	}
	return put;
}

static void wire_words_put_bit(struct put *put, bool set)
{
	if (set)
		put->out->at[put->bits + put->bit / 8] |= (char)(1u << put->bit % 8);
	put->bit++;
}

static void wire_words_put_changed(struct put *put, const uint64_t *before, const uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		bool changed = words[i] != before[i];
		wire_words_put_bit(put, changed);
		if (changed)
			vec_push(put->changed, words[i]);
	}
}

static void wire_words_put_end(struct put *put)
{
	wire_put_words(put->out, put->changed->at, put->changed->count);
}

struct get {
	struct unpack *in;
	const unsigned char *bits;
	uint32_t bit;
};

static struct get wire_words_get_begin(struct unpack *in, uint32_t bits)
{
	struct get get = {.in = in, .bits = (const unsigned char *)in->at};
	size_t bytes = (bits + 7) / 8;
	if (in->bad || (size_t)(in->end - in->at) < bytes)
		in->bad = true;
	else
		in->at += bytes;
	return get;
}

static bool wire_words_get_bit(struct get *get)
{
	uint32_t bit = get->bit++;
	return !get->in->bad && (get->bits[bit / 8] >> bit % 8 & 1);
}

static void wire_words_get_changed(struct get *get, uint64_t *words, uint32_t count)
{
	for (uint32_t i = 0; i < count && !get->in->bad; i++)
		if (wire_words_get_bit(get))
			(void)wire_get_words(get->in, &words[i], 1);
}

/* Unused bits of the last byte must be 0. */
static void wire_words_get_end(struct get *get)
{
	uint32_t used = get->bit % 8;
	if (!get->in->bad && used && get->bits[get->bit / 8] >> used)
		get->in->bad = true;
}

/* --- a model ------------------------------------------------------------------------------------------------------ */

struct wire_words_parts { /* first words */
	uint32_t bodies, anchors, rest, end;
};

static struct wire_words_parts wire_words_parts_of(const struct state *state, uint32_t model)
{
	const struct state_model *m = &state->models[model];
	uint32_t bodies = state->scene->models[model].body_count;
	uint32_t rest = bodies ? m->system_first - 1 : m->system_first;
	return (struct wire_words_parts){bodies, rest - bodies * WIRE_WORDS_ANCHOR, rest, m->words};
}

static bool wire_words_anchors_follow(const uint64_t *next, const struct wire_words_parts *parts)
{
	for (uint32_t b = 0; b < parts->bodies; b++)
		if (memcmp(next + parts->anchors + b * WIRE_WORDS_ANCHOR, next + b * WIRE_WORDS_BODY,
			    WIRE_WORDS_ANCHOR * sizeof *next) != 0)
			return false;
	return parts->bodies > 0;
}

void wire_put_next(struct text *out, const struct state *state, uint32_t model, wire_scratch *scratch)
{
	const uint64_t *now = state_words(state, model, false), *next = state_words(state, model, true);
	struct wire_words_parts parts = wire_words_parts_of(state, model);
	struct put put = wire_words_put_begin(out, parts.end + 1, scratch);
	bool follow = wire_words_anchors_follow(next, &parts);
	wire_words_put_bit(&put, follow);
	wire_words_put_changed(&put, now, next, parts.anchors);
	for (uint32_t b = 0; b < parts.bodies; b++) {
		uint32_t anchor = parts.anchors + b * WIRE_WORDS_ANCHOR;
		wire_words_put_changed(
			&put, follow ? next + b * WIRE_WORDS_BODY : now + anchor, next + anchor, WIRE_WORDS_ANCHOR);
	}
	wire_words_put_changed(&put, now + parts.rest, next + parts.rest, parts.end - parts.rest);
	wire_words_put_end(&put);
	uint32_t count;
	const uint64_t *impulses = state_impulses(state, model, true, &count);
	pack_var(out, count / STATE_IMPULSE_WORDS);
	wire_put_words(out, impulses, count);
}

bool wire_get_next(struct unpack *in, const struct state *state, uint32_t model)
{
	uint64_t *next = state_words(state, model, true);
	struct wire_words_parts parts = wire_words_parts_of(state, model);
	struct get get = wire_words_get_begin(in, parts.end + 1);
	if (in->bad)
		return false;
	memcpy(next, state_words(state, model, false), parts.end * sizeof *next);
	bool follow = wire_words_get_bit(&get);
	wire_words_get_changed(&get, next, parts.anchors);
	for (uint32_t b = 0; follow && b < parts.bodies; b++)
		memcpy(next + parts.anchors + b * WIRE_WORDS_ANCHOR, next + b * WIRE_WORDS_BODY,
			WIRE_WORDS_ANCHOR * sizeof *next);
	wire_words_get_changed(&get, next + parts.anchors, parts.end - parts.anchors);
	wire_words_get_end(&get);
	uint32_t count = STATE_IMPULSE_WORDS * unpack_var_count(in, STATE_IMPULSES_MAX);
	if (in->bad || (size_t)(in->end - in->at) / 8 < count)
		return false;
	return wire_get_words(in, state_resize_impulses(state, model, true, count), count);
}

void wire_put_change(
	struct text *out, const uint64_t *before, const uint64_t *words, uint32_t count, wire_scratch *scratch)
{
	struct put put = wire_words_put_begin(out, count, scratch);
	wire_words_put_changed(&put, before, words, count);
	wire_words_put_end(&put);
}

bool wire_get_change(struct unpack *in, uint64_t *words, uint32_t count)
{
	struct get get = wire_words_get_begin(in, count);
	wire_words_get_changed(&get, words, count);
	wire_words_get_end(&get);
	return !in->bad;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

void wire_put_step(struct text *out, uint32_t before, uint32_t value)
{
	pack_var(out, value >= before ? (uint64_t)(value - before) << 1 : (uint64_t)(before - value) << 1 | 1);
}

uint32_t wire_get_step(struct unpack *in, uint32_t before, uint32_t max)
{
	uint64_t code = unpack_var(in), by = code >> 1;
	bool down = code & 1;
	if (in->bad || (down ? by > before : by > max || before + by > max) || (down && before - by > max)) {
		in->bad = true;
		return 0;
	}
	return down ? before - (uint32_t)by : before + (uint32_t)by;
}
