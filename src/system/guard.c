/* The guard is on both sides of the words and has a pattern that depends on the place. A library that writes far beyond
 * its words still damages this process: there is no wall between them. Two mistakes are caught: a struct that is larger
 * than the table of words, which is the usual one, and NaN or infinite numbers, which would spoil the state.
 *
 * In a rehearsal (troupe check --plugin) a function is called twice with the same input. Different results show that
 * the plug-in has state outside of its words, a clock or random numbers of its own. The first call must leave no
 * traces: so the control of the model is put back, and nothing that it publishes or requests goes out. What it
 * publishes and requests is compared, too: other systems and programs see it, even where no word shows it. */
#include "system/guard.h"

#include <troupe/plugin_check.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_WORDS = 64 };

struct guarded {
	uint64_t memory[GUARD_WORDS + SYSTEM_WORDS_MAX + GUARD_WORDS];
};

static const char *const guard_names[] = {[GUARD_INIT] = "init()",
	[GUARD_COMMAND] = "command()",
	[GUARD_PRE_UPDATE] = "pre_update()",
	[GUARD_POST_UPDATE] = "post_update()",
	[GUARD_UPDATE] = "update()"};

static uint64_t guard_pattern(uint32_t place)
{
	return UINT64_C(0x7ff4a5a5c3c30000) + place; /* NaN, if it is read as a number */
}

/* How many words behind the copy are watched: in a rehearsal, which may take its time, all that there are. */
static uint32_t guard_behind(uint32_t count, bool rehearse)
{
	return rehearse ? GUARD_WORDS + SYSTEM_WORDS_MAX - count : GUARD_WORDS;
}

static uint64_t *guard_fill(struct guarded *guarded, const uint64_t *words, uint32_t count, bool rehearse)
{
	uint64_t *first = guarded->memory + GUARD_WORDS;
	for (uint32_t i = 0; i < GUARD_WORDS; i++)
		guarded->memory[i] = guard_pattern(i);
	for (uint32_t i = 0; i < guard_behind(count, rehearse); i++)
		first[count + i] = guard_pattern(GUARD_WORDS + i);
	if (count)
		memcpy(first, words, count * sizeof *first);
	return first;
}

static bool guard_is_whole(const struct guarded *guarded, uint32_t count, bool rehearse)
{
	bool whole = true;
	for (uint32_t i = 0; i < GUARD_WORDS; i++)
		whole &= guarded->memory[i] == guard_pattern(i);
	for (uint32_t i = 0; i < guard_behind(count, rehearse); i++)
		whole &= guarded->memory[GUARD_WORDS + count + i] == guard_pattern(GUARD_WORDS + i);
	return whole;
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

static void guard_tell(const struct guard_call *call, struct system_fault *fault, const char *format, ...)
	TROUPE_PRINTF(3, 4);
static void guard_tell(const struct guard_call *call, struct system_fault *fault, const char *format, ...)
{
	const struct system *system = call->system;
	uint32_t model = system->self.model;
	struct troupe_error what;
	va_list args;
	if (fault->error.status)
		return;
	va_start(args, format);
	fail_v(&what, TROUPE_EDIVERGED, format, args);
	va_end(args);
	fault->model = model;
	(void)fail(&fault->error, TROUPE_EDIVERGED, "plugin '%.100s' (%.150s) of %s%.100s%s: %s",
		system->self.kind->names[0], system->library->path, model == SCENE_NONE ? "the world" : "model '",
		model == SCENE_NONE ? "" : system->scene->models[model].name, model == SCENE_NONE ? "" : "'",
		what.text);
}

static double guard_as_double(uint64_t word)
{
	double value;
	memcpy(&value, &word, sizeof value);
	return value;
}

/* The name of the word; *ret_kind: the kind of its value. */
static void guard_name_word(
	const struct system *system, uint32_t word, struct text *out, enum troupe_word_kind *ret_kind)
{
	for (uint32_t n = 0; n < system->names.count; n++) {
		const struct system_words *words = &system->names.at[n];
		if (word < words->count) {
			*ret_kind = words->kind;
			text_add(out, words->count > 1 ? "word '%s %u'" : "word '%s'", words->name, word);
			return;
		}
		word -= words->count;
	}
	*ret_kind = TROUPE_WORD_INTEGER;
	text_add(out, "word %u", word);
}

static bool guard_check_numbers(const struct guard_call *call, const uint64_t *words, struct system_fault *fault)
{
	const struct system *system = call->system;
	for (uint32_t n = 0, first = 0; n < system->names.count; first += system->names.at[n++].count) {
		const struct system_words *run = &system->names.at[n];
		for (uint32_t i = 0; run->kind == TROUPE_WORD_DOUBLE && i < run->count; i++) {
			if (isfinite(guard_as_double(words[first + i])))
				continue;
			enum troupe_word_kind kind;
			struct text name = {0};
			guard_name_word(system, first + i, &name, &kind);
			guard_tell(call, fault, "%s is %g after %s: expected a finite number", name.at,
				guard_as_double(words[first + i]), guard_names[call->function]);
			text_fini(&name);
			return false;
		}
	}
	return true;
}

/* --- calling ------------------------------------------------------------------------------------------------------ */

bool guard_has(const struct guard_call *call)
{
	const struct troupe_kind *kind = call->system->self.kind;
	switch (call->function) {
	case GUARD_INIT:
		return kind->init;
	case GUARD_COMMAND:
		return kind->command;
	case GUARD_PRE_UPDATE:
		return kind->pre_update;
	case GUARD_POST_UPDATE:
		return kind->post_update;
	default:
		return kind->update;
	}
}

static void guard_invoke(const struct guard_call *call, const struct system_step *step, uint64_t *words)
{
	const struct troupe_kind *kind = call->system->self.kind;
	const struct troupe_system *self = &call->system->self;
	switch (call->function) {
	case GUARD_INIT:
		kind->init(self, words);
		break;
	case GUARD_COMMAND:
		kind->command(self, call->input, call->message, words);
		break;
	case GUARD_PRE_UPDATE:
		kind->pre_update(self, &step->step, words);
		break;
	case GUARD_POST_UPDATE:
		kind->post_update(self, &step->step, words);
		break;
	case GUARD_UPDATE:
		kind->update(self, &step->step, words);
		break;
	}
}

static bool guard_make_guarded(const struct guard_call *call, const struct system_step *step, const uint64_t *words,
	struct guarded *guarded, struct system_fault *fault)
{
	uint32_t count = call->system->words;
	bool rehearse = call->system->all->rehearse;
	uint64_t *copy = guard_fill(guarded, words, count, rehearse);
	guard_enter(call->system, guard_names[call->function]);
	guard_invoke(call, step, copy);
	guard_leave();
	if (guard_is_whole(guarded, count, rehearse))
		return guard_check_numbers(call, copy, fault);
	guard_tell(call, fault, "%s writes beyond its %u words", guard_names[call->function], count);
	return false;
}

/* --- rehearsals --------------------------------------------------------------------------------------------------- */

struct guard_asked { /* what a system has asked for */
	struct joint_control *joints;
	struct body_control *bodies;
	struct surface_control *surfaces;
	struct model_control marks;
};

static void guard_keep(
	const struct system_step *step, const struct scene_model *m, struct guard_asked *asked, uint32_t model)
{
	asked->joints = mem_alloc_lines((m->joint_count + 1) * sizeof *asked->joints);
	asked->bodies = mem_alloc_lines((m->body_count + 1) * sizeof *asked->bodies);
	if (m->joint_count)
		memcpy(asked->joints, step->control->joints + m->joint_first, m->joint_count * sizeof *asked->joints);
	if (m->body_count)
		memcpy(asked->bodies, step->control->bodies + m->body_first, m->body_count * sizeof *asked->bodies);
	asked->surfaces = mem_alloc_lines((m->geom_count + 1) * sizeof *asked->surfaces);
	if (m->geom_count)
		memcpy(asked->surfaces, step->control->surfaces + m->geom_first,
			m->geom_count * sizeof *asked->surfaces);
	asked->marks = step->control->models[model];
}

static void guard_put_back(
	const struct system_step *step, const struct scene_model *m, const struct guard_asked *asked, uint32_t model)
{
	if (m->joint_count)
		memcpy(step->control->joints + m->joint_first, asked->joints, m->joint_count * sizeof *asked->joints);
	if (m->body_count)
		memcpy(step->control->bodies + m->body_first, asked->bodies, m->body_count * sizeof *asked->bodies);
	if (m->geom_count)
		memcpy(step->control->surfaces + m->geom_first, asked->surfaces,
			m->geom_count * sizeof *asked->surfaces);
	step->control->models[model] = asked->marks;
}

static void guard_drop(struct guard_asked *asked)
{
	free(asked->joints);
	free(asked->bodies);
	free(asked->surfaces);
}

/* A name of the joint or link for which the two ask for different things; NULL: none. */
static const char *guard_find_other(const struct scene *scene, const struct scene_model *m, const struct guard_asked *a,
	const struct guard_asked *b)
{
	for (uint32_t i = 0; i < m->joint_count; i++) {
		const struct joint_control *x = &a->joints[i], *y = &b->joints[i];
		if (x->drive != y->drive || memcmp(&x->velocity, &y->velocity, 8) || memcmp(&x->force, &y->force, 8))
			return scene->joints[m->joint_first + i].scoped;
	}
	for (uint32_t i = 0; i < m->body_count; i++) {
		const struct body_control *x = &a->bodies[i], *y = &b->bodies[i];
		if (x->drive != y->drive || x->place != y->place || memcmp(&x->v, &y->v, sizeof x->v) ||
			memcmp(&x->w, &y->w, sizeof x->w) || memcmp(&x->target, &y->target, sizeof x->target) ||
			memcmp(&x->force, &y->force, sizeof x->force) ||
			memcmp(&x->torque, &y->torque, sizeof x->torque))
			return scene->bodies[m->body_first + i].name;
	}
	for (uint32_t i = 0; i < m->geom_count; i++)
		if (memcmp(&a->surfaces[i], &b->surfaces[i], sizeof *a->surfaces) != 0)
			return scene->links[scene->geoms[m->geom_first + i].link].scoped;
	return NULL;
}

#define WHY "it has state outside of its words, a clock or random numbers"

static void guard_compare_words(const struct guard_call *call, const struct guarded *first,
	const struct guarded *second, struct system_fault *fault)
{
	const uint64_t *a = first->memory + GUARD_WORDS, *b = second->memory + GUARD_WORDS;
	uint32_t word = 0;
	while (word < call->system->words && a[word] == b[word])
		word++;
	if (word == call->system->words)
		return;
	enum troupe_word_kind kind;
	struct text name = {0};
	guard_name_word(call->system, word, &name, &kind);
	if (kind == TROUPE_WORD_DOUBLE)
		guard_tell(call, fault, "%s differs when %s is called twice: %.17g and %.17g: " WHY, name.at,
			guard_names[call->function], guard_as_double(a[word]), guard_as_double(b[word]));
	else
		guard_tell(call, fault, "%s differs when %s is called twice: %" PRIu64 " and %" PRIu64 ": " WHY,
			name.at, guard_names[call->function], a[word], b[word]);
	text_fini(&name);
}

/* --- what a system does by acting --------------------------------------------------------------------------------- */

struct act {
	const char *verb, *name; /* of the topic or service; "" */
	size_t begin, end;       /* in bytes */
};

struct acts {
	VEC(struct act) all;
	struct text bytes;                 /* of messages and links */
	const struct system_acts *through; /* NULL: dropped */
};

/* The functions of system_acts have one ctx, that of the primary. */
static _Thread_local struct acts *guard_acting;

static void guard_note(const char *verb, const char *name, const ProtobufCMessage *message)
{
	struct act act = {verb, name ? name : "", guard_acting->bytes.count, 0};
	if (message)
		message_add_bytes(&guard_acting->bytes, message);
	act.end = guard_acting->bytes.count;
	vec_push(&guard_acting->all, act);
}

static void guard_note_publish(void *ctx, const struct system *system, uint32_t output, const ProtobufCMessage *message)
{
	guard_note("publishes on", system->outputs.at[output].def.name, message);
	if (guard_acting->through)
		guard_acting->through->publish(ctx, system, output, message);
}

static void guard_note_request(
	void *ctx, const struct system *system, const char *service, const ProtobufCMessage *message)
{
	guard_note("requests of", service, message);
	if (guard_acting->through)
		guard_acting->through->request(ctx, system, service, message);
}

static void guard_note_attach(void *ctx, const struct system *system, uint32_t link, uint32_t other)
{
	const uint32_t links[] = {link, other};
	guard_note("attaches", "", NULL);
	text_add_bytes(&guard_acting->bytes, (const char *)links, sizeof links);
	guard_acting->all.at[guard_acting->all.count - 1].end = guard_acting->bytes.count;
	if (guard_acting->through)
		guard_acting->through->attach(ctx, system, link, other);
}

static void guard_note_detach(void *ctx, const struct system *system)
{
	guard_note("detaches", "", NULL);
	if (guard_acting->through)
		guard_acting->through->detach(ctx, system);
}

/* The first thing that one of the two does and the other does not; NULL: none. */
static const struct act *guard_find_other_act(const struct acts *a, const struct acts *b)
{
	uint32_t count = MIN(a->all.count, b->all.count);
	for (uint32_t i = 0; i < count; i++) {
		const struct act *x = &a->all.at[i], *y = &b->all.at[i];
		size_t bytes = x->end - x->begin;
		if (strcmp(x->verb, y->verb) != 0 || strcmp(x->name, y->name) != 0 || bytes != y->end - y->begin ||
			(bytes && memcmp(a->bytes.at + x->begin, b->bytes.at + y->begin, bytes) != 0))
			return x;
	}
	return a->all.count > count ? &a->all.at[count] : b->all.count > count ? &b->all.at[count] : NULL;
}

static void guard_acts_drop(struct acts *acts)
{
	vec_free(&acts->all);
	text_fini(&acts->bytes);
}

/* acts: notes what the system does by acting. effects: it has effect, too. */
static bool guard_rehearse_call(const struct guard_call *call, const uint64_t *words, bool effects, struct acts *acts,
	struct guarded *guarded, struct system_fault *fault)
{
	if (!call->step || !call->step->acts)
		return guard_make_guarded(call, call->step, words, guarded, fault);
	struct system_step step = *call->step;
	struct system_acts noting = *step.acts;
	noting.publish = guard_note_publish;
	noting.request = guard_note_request;
	noting.attach = guard_note_attach;
	noting.detach = guard_note_detach;
	acts->through = effects ? step.acts : NULL;
	step.acts = &noting;
	guard_acting = acts;
	bool good = guard_make_guarded(call, &step, words, guarded, fault);
	guard_acting = NULL;
	return good;
}

static void guard_compare_acts(
	const struct guard_call *call, const struct acts *first, const struct acts *second, struct system_fault *fault)
{
	const struct act *other = guard_find_other_act(first, second);
	if (other)
		guard_tell(call, fault, "what it %s%s%.100s%s differs when %s is called twice: " WHY, other->verb,
			*other->name ? " '" : "", other->name, *other->name ? "'" : "", guard_names[call->function]);
}

static void guard_make_twice(const struct guard_call *call, uint64_t *words, struct system_fault *fault)
{
	static const struct guard_asked nothing;
	const struct scene *scene = call->system->scene;
	uint32_t model = call->system->self.model;
	bool controls = call->function == GUARD_PRE_UPDATE;
	const struct scene_model *m = controls ? &scene->models[model] : NULL;
	struct guard_asked before = nothing, first = nothing, second = nothing;
	struct acts acts[2] = {0};
	struct guarded one, two;
	if (controls)
		guard_keep(call->step, m, &before, model);
	bool good = guard_rehearse_call(call, words, false, &acts[0], &one, fault);
	if (controls) {
		guard_keep(call->step, m, &first, model);
		guard_put_back(call->step, m, &before, model);
	}
	good = good && guard_rehearse_call(call, words, true, &acts[1], &two, fault);
	if (good)
		guard_compare_words(call, &one, &two, fault);
	if (good)
		guard_compare_acts(call, &acts[0], &acts[1], fault);
	if (good && controls) {
		guard_keep(call->step, m, &second, model);
		const char *other = guard_find_other(scene, m, &first, &second);
		if (other)
			guard_tell(call, fault, "the control of '%.100s' differs when %s is called twice: " WHY, other,
				guard_names[call->function]);
	}
	if (good && call->system->words)
		memcpy(words, two.memory + GUARD_WORDS, call->system->words * sizeof *words);
	guard_drop(&before);
	guard_drop(&first);
	guard_drop(&second);
	guard_acts_drop(&acts[0]);
	guard_acts_drop(&acts[1]);
}

void guard_compare_reports(const struct system *system, uint32_t output, const struct text *first,
	const struct text *second, struct system_fault *fault)
{
	const struct guard_call call = {.system = system};
	bool same = first->count == second->count && (!first->count || !memcmp(first->at, second->at, first->count));
	if (!same)
		guard_tell(&call, fault, "what it publishes on '%.100s' differs when report() is called twice: " WHY,
			system->outputs.at[output].def.name);
}

/* Apart from guard_make(), whose callers need not have so large a stack for troupe's own systems. */
static __attribute__((noinline)) void guard_make_once(
	const struct guard_call *call, uint64_t *words, struct system_fault *fault)
{
	struct guarded guarded;
	if (guard_make_guarded(call, call->step, words, &guarded, fault) && call->system->words)
		memcpy(words, guarded.memory + GUARD_WORDS, call->system->words * sizeof *words);
}

uint64_t guard_waits_until(const struct system *system, const uint64_t *words, uint64_t now_ns)
{
	const struct troupe_kind *kind = system->self.kind;
	struct guard_copy copy;
	uint64_t until_ns = 0;
	if (!kind->waits && !kind->waits_until)
		return 0;
	const uint64_t *shown = guard_show(system, words, &copy);
	guard_enter(system, "waits()");
	if (kind->waits && kind->waits(&system->self, shown))
		until_ns = UINT64_MAX;
	else if (kind->waits_until)
		until_ns = kind->waits_until(&system->self, shown, now_ns);
	guard_leave();
	return until_ns;
}

static bool guard_is_waiting(const struct guard_call *call, const uint64_t *words)
{
	uint64_t now_ns = troupe_random_index(&call->step->step);
	return guard_waits_until(call->system, words, now_ns) > now_ns;
}

/* Where update() says that it does nothing, it is not called in later steps of a window. */
static __attribute__((noinline)) void guard_make_waiting(
	const struct guard_call *call, uint64_t *words, bool rehearse, struct system_fault *fault)
{
	uint64_t before[SYSTEM_WORDS_MAX];
	const size_t bytes = call->system->words * sizeof *words;
	memcpy(before, words, bytes);
	(rehearse ? guard_make_twice : guard_make_once)(call, words, fault);
	if (!memcmp(before, words, bytes))
		return;
	memcpy(words, before, bytes);
	guard_tell(call, fault, "update() changes words, although waits() says that it does nothing");
}

void guard_make(const struct guard_call *call, uint64_t *words, bool rehearse, struct system_fault *fault)
{
	if (!call->system->library)
		guard_invoke(call, call->step, words);
	else if (call->function == GUARD_UPDATE && call->system->words && guard_is_waiting(call, words))
		guard_make_waiting(call, words, rehearse, fault);
	else if (rehearse)
		guard_make_twice(call, words, fault);
	else
		guard_make_once(call, words, fault);
}

const uint64_t *guard_show(const struct system *system, const uint64_t *words, struct guard_copy *copy)
{
	if (!system->library)
		return words;
	if (system->words)
		memcpy(copy->words, words, system->words * sizeof *words);
	return copy->words;
}
