/* Systems in the steps of a run: their words, the messages that they get, and the calls of their functions. */
#include "base/math.h"
#include "base/text.h"
#include "program/program.h"
#include "scene/trail.h"
#include "system/guard.h"
#include "system/setup.h"
#include "topic/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t *system_step_words_of(const struct system *system, const struct state *state, bool next)
{
	uint32_t model = system->self.model;
	uint64_t *first = model == SCENE_NONE ? state->world.words : state_systems(state, model, next);
	return first ? first + system->word_first : NULL;
}

static void system_step_init_set(const struct system_set *set, struct state *state)
{
	for (uint32_t i = 0; i < set->count; i++) {
		struct guard_call call = {.system = &set->at[i], .function = GUARD_INIT};
		if (guard_has(&call))
			guard_make(&call, system_step_words_of(call.system, state, false), call.system->all->rehearse,
				call.system->all->fault);
	}
}

void systems_init_model(const struct systems *systems, struct state *state, uint32_t model)
{
	system_step_init_set(&systems->sets[model], state);
}

struct state *systems_create_state(const struct systems *systems)
{
	uint32_t models = systems->scene->model_count;
	uint32_t *words = mem_alloc(models * sizeof *words);
	for (uint32_t m = 0; m < models; m++)
		words[m] = systems->sets[m].words;
	struct state *state = state_create(systems->scene, words);
	free(words);
	state_add_world(state, systems->world.words);
	system_step_init_set(&systems->world, state);
	for (uint32_t m = 0; m < models; m++)
		systems_init_model(systems, state, m);
	state_set_initial(state);
	return state;
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

static const struct troupe_message *system_step_seen(const ProtobufCMessage *message)
{
	return (const struct troupe_message *)(const void *)message;
}

troupe_status systems_check(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct troupe_error *error)
{
	const struct system *system = &systems_of(systems, listener->model)->at[listener->system];
	uint32_t tag = system->topics.at[listener->topic].tag;
	char why[TROUPE_WHY_BYTES] = "";
	if (!system->self.kind->check)
		return TROUPE_OK;
	guard_enter(system, "check()");
	bool good = system->self.kind->check(&system->self, tag, system_step_seen(message), why);
	guard_leave();
	if (good)
		return TROUPE_OK;
	why[sizeof why - 1] = '\0';
	return fail(error, TROUPE_ECOMMAND, "%s", why);
}

void systems_command(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct state *state, struct system_fault *fault)
{
	const struct system *system = &systems_of(systems, listener->model)->at[listener->system];
	uint32_t tag = system->topics.at[listener->topic].tag;
	struct guard_call call = {
		.system = system, .function = GUARD_COMMAND, .input = tag, .message = system_step_seen(message)};
	if (guard_has(&call))
		guard_make(&call, system_step_words_of(system, state, false), systems->rehearse, fault);
	if (listener->model != SCENE_NONE)
		state_touched(state, listener->model);
}

static void system_step_call_all(
	const struct systems *systems, uint32_t model, const struct system_step *step, enum guard_function function)
{
	const struct system_set *set = &systems->sets[model];
	for (uint32_t i = 0; i < set->count; i++) {
		struct guard_call call = {.system = &set->at[i], .function = function, .step = step};
		if (guard_has(&call))
			guard_make(&call, system_step_words_of(call.system, step->state, true), systems->rehearse,
				step->fault);
	}
}

bool systems_rest(const struct systems *systems, uint32_t model)
{
	const struct system_set *set = &systems->sets[model];
	bool rest = true;
	for (uint32_t i = 0; i < set->count && rest; i++) {
		const struct guard_call before = {.system = &set->at[i], .function = GUARD_PRE_UPDATE},
					after = {.system = &set->at[i], .function = GUARD_POST_UPDATE};
		rest = set->at[i].self.kind->flags & TROUPE_RESTS || (!guard_has(&before) && !guard_has(&after));
	}
	return rest;
}

void systems_pre_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	const struct system_set *set = &systems->sets[model];
	struct system_step own = *step;
	own.model = model;
	if (set->words)
		memcpy(state_systems(step->state, model, true), state_systems(step->state, model, false),
			set->words * 8);
	system_step_call_all(systems, model, &own, GUARD_PRE_UPDATE);
}

void systems_post_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	struct system_step own = *step;
	own.model = model;
	own.has_next = true;
	system_step_call_all(systems, model, &own, GUARD_POST_UPDATE);
}

uint64_t systems_wait_until(const struct systems *systems, uint32_t model, const struct state *state, uint64_t now_ns)
{
	const struct system_set *set = systems_of(systems, model);
	uint64_t until_ns = UINT64_MAX;
	for (uint32_t i = 0; set->updates && i < set->count && until_ns > now_ns; i++) {
		const uint64_t *words = system_step_words_of(&set->at[i], state, false);
		if (set->at[i].self.kind->update)
			until_ns = MIN(until_ns, guard_waits_until(&set->at[i], words, now_ns));
	}
	return until_ns;
}

bool systems_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	const struct system_set *set = systems_of(systems, model);
	uint64_t before[SYSTEM_WORDS_MAX];
	struct system_step own = *step;
	bool changed = false;
	own.model = model;
	field_open(step->arena);
	for (uint32_t i = 0; i < set->count; i++) {
		const struct system *system = &set->at[i];
		struct guard_call call = {.system = system, .function = GUARD_UPDATE, .step = &own};
		uint64_t *words = system_step_words_of(system, step->state, false);
		if (!guard_has(&call))
			continue;
		if (system->words)
			memcpy(before, words, system->words * 8);
		guard_make(&call, words, systems->rehearse, step->fault);
		changed |= system->words && memcmp(before, words, system->words * 8) != 0;
	}
	field_open(NULL);
	return changed;
}

static bool system_step_make_report(
	const struct system *system, uint32_t output, const struct system_step *step, struct text *out)
{
	const struct troupe_kind *kind = system->self.kind;
	struct arena arena = {0};
	struct guard_copy copy;
	field_open(&arena);
	ProtobufCMessage *message = field_message(system->outputs.at[output].type, step->step.time_s);
	guard_enter(system, "report()");
	bool given = kind->report(&system->self, &step->step,
		guard_show(system, system_step_words_of(system, step->state, false), &copy), output,
		(struct troupe_message *)(void *)message);
	guard_leave();
	field_open(NULL);
	if (given)
		message_add_bytes(out, message);
	arena_fini(&arena);
	return given;
}

bool systems_report(const struct system *system, uint32_t output, const struct system_step *step, struct text *out)
{
	struct text first = {0}, second = {0};
	if (!system->self.kind->report)
		return false;
	if (!system->library || !system->all->rehearse)
		return system_step_make_report(system, output, step, out);
	(void)system_step_make_report(system, output, step, &first);
	bool given = system_step_make_report(system, output, step, &second);
	guard_compare_reports(system, output, &first, &second, step->fault);
	text_add_bytes(out, second.at, second.count);
	text_fini(&first);
	text_fini(&second);
	return given;
}

static void system_step_name_in(
	const struct system *system, uint32_t word, struct text *out, enum troupe_word_kind *ret_kind)
{
	for (uint32_t n = 0; n < system->names.count; n++) {
		const struct system_words *words = &system->names.at[n];
		if (word < words->count) {
			*ret_kind = words->kind;
			text_add(out, words->count > 1 ? "%s %u" : "%s", words->name, word);
			return;
		}
		word -= words->count;
	}
	text_add(out, "word %u", word);
}

void systems_name_word(
	const struct systems *systems, uint32_t model, uint32_t word, struct text *out, enum troupe_word_kind *ret_kind)
{
	const struct system_set *set = systems_of(systems, model);
	*ret_kind = TROUPE_WORD_INTEGER;
	for (uint32_t s = 0; s < set->count; s++) {
		const struct system *system = &set->at[s];
		if (word < system->word_first || word - system->word_first >= system->words)
			continue;
		text_add(out, "system '%s': ", system->self.kind->names[0]);
		system_step_name_in(system, word - system->word_first, out, ret_kind);
		return;
	}
	text_add(out, "systems: word %u", word);
}

/* The present pose of the frame, relative to its pose by dead reckoning. */
static struct system_drift system_step_drift_between(struct pose reckoned, struct pose is)
{
	struct pose off = pose_mul(pose_inverse(reckoned), is);
	return (struct system_drift){
		.position_m = sqrt(off.p.x * off.p.x + off.p.y * off.p.y),
		.height_m = off.p.z,
		.yaw_rad = remainder(2 * math_atan2(off.q.z, off.q.w), 2 * M_PI),
		.tilt_rad = 2 * math_asin(fmin(sqrt(off.q.x * off.q.x + off.q.y * off.q.y), 1)),
	};
}

bool systems_reckon(const struct systems *systems, const struct state *state, uint32_t model,
	struct troupe_reckoning *ret_reckoning, struct system_drift *ret_drift)
{
	const struct system_set *set = &systems->sets[model];
	uint32_t i = 0;
	while (i < set->count && !set->at[i].self.kind->reckon)
		i++;
	if (i == set->count)
		return false;
	struct troupe_reckoning *r = ret_reckoning;
	struct guard_copy copy;
	guard_enter(&set->at[i], "reckon()");
	set->at[i].self.kind->reckon(
		&set->at[i].self, guard_show(&set->at[i], system_step_words_of(&set->at[i], state, false), &copy), r);
	guard_leave();
	struct pose reckoned = {{r->x, r->y, 0}, quat_from_rpy(0, 0, r->yaw)};
	struct pose frame = pose_of_flat(r->frame);
	if (!pose_finite(reckoned) || !pose_finite(frame) || !isfinite(r->linear) || !isfinite(r->angular))
		return false;
	struct pose began = pose_mul(state_model_home(state, model), frame);
	*ret_drift = system_step_drift_between(
		pose_mul(began, reckoned), pose_mul(state_model_pose(state, model, false), frame));
	return true;
}
