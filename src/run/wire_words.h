/* States of models as bytes; shared by wire.c, wire_step.c and replica.c. */
#ifndef RUN_WIRE_WORDS_H
#define RUN_WIRE_WORDS_H

#include "base/pack.h"
#include "physics/notes.h"
#include "scene/state.h"

enum {
	WIRE_PAUSED = 1,
	WIRE_STATE_CHANGED = 2,
	WIRE_STATICS = 4,
	WIRE_WORLD_CHANGED = 8,
	WIRE_DT = 16,
	WIRE_EDITS = 32,
	WIRE_CHANGES = 64,
	WIRE_WRITTEN = 128,
	WIRE_PAIRS = 256,
	WIRE_COMMANDS = 512,
	WIRE_GHOSTS = 1024,
	WIRE_MEASURE = 2048, /* the ack has the cost of each model */
	WIRE_WRENCHES = 4096,
	WIRE_SENSE = 8192, /* which sensors measure, and when */
	WIRE_SURFACES = 16384,
	WIRE_OBSERVE = 32768,  /* this times OBSERVE_...: the ack has these notes */
	WIRE_WINDOW = 1 << 21, /* several steps are taken */
	WIRE_AGAIN = 1 << 22,  /* the steps of the message before, which do not count, are to be taken again */
	WIRE_FLAGS = 32767 | WIRE_OBSERVE * OBSERVE_ALL | WIRE_WINDOW | WIRE_AGAIN,
	WIRE_FLAG_BYTES = 3,
};

/* A change for a secondary, about one model or level. */
enum wire_change {
	WIRE_RELEASE,
	WIRE_TAKE, /* its words follow */
	WIRE_UNLOAD,
	WIRE_LOAD,
	WIRE_GHOST_ON, /* its words follow, with those of other ghosts */
	WIRE_GHOST_OFF,
	WIRE_TAKE_AGAIN, /* the secondary just released it and has its words already */
};

/* The words of state k of a model, with those of its impulses. */
void wire_put_all(struct text *out, const struct state *state, uint32_t model);
bool wire_get_all(struct unpack *in, const struct state *state, uint32_t model, uint32_t count);
void wire_put_words(struct text *out, const uint64_t *words, size_t count);
bool wire_get_words(struct unpack *in, uint64_t *ret_words, size_t count);

/* State k+1 of a model relative to its state k. The caller owns the scratch and reuses it. */
typedef VEC(uint64_t) wire_scratch;
void wire_put_next(struct text *out, const struct state *state, uint32_t model, wire_scratch *scratch);
bool wire_get_next(struct unpack *in, const struct state *state, uint32_t model);

/* The first `count` words, relative to their values before. */
void wire_put_change(
	struct text *out, const uint64_t *before, const uint64_t *words, uint32_t count, wire_scratch *scratch);
/* Changes `words` in place. */
bool wire_get_change(struct unpack *in, uint64_t *words, uint32_t count);

/* Numbers that rise, or fall, by little from one to the next. */
void wire_put_step(struct text *out, uint32_t before, uint32_t value);
uint32_t wire_get_step(struct unpack *in, uint32_t before, uint32_t max);

#endif
