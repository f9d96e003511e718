/* The secondary's side of wire.h. It keeps a list of the models that the secondary simulates, because ODE must never
 * be asked about a model that it was not given. Every decoded model number is checked against this list before it is
 * used. */
#include "run/wire.h"

#include "geom/pack.h"
#include "run/wire_notes.h"
#include "run/wire_words.h"

#include <stdlib.h>
#include <string.h>

struct wire_copy {
	uint32_t number;
	struct edit *edit;
	struct shared *shared;
	struct step step;
	struct step_part *parts; /* [number]: only its own is used */
	uint32_t *statics;       /* [room] */
	uint64_t *own;           /* [room] ids of the models that it simulates; 0: not this one */
	bool *ghosts;            /* [room] models that it knows as ghosts */
	uint64_t *met;           /* [room] the step in which the words of a model came last */
	bool *levels;            /* [levels] that it has loaded */
	uint64_t steps;
	uint32_t room;
	VEC(struct change) changes;
	VEC(struct physics_pair) pairs, pairs_next;
	VEC(struct due_command) commands;
	VEC(struct due_wrench) wrenches;
	VEC(uint32_t) moved;        /* in the acknowledged step: `now` is not advanced yet */
	VEC(uint32_t) told;         /* the last report to the primary */
	struct physics_stats stats; /* likewise */
	wire_scratch scratch;
};

static void fit(struct wire_copy *copy)
{
	uint32_t before = copy->room, now = copy->shared->scene->room.models;
	if (now <= before)
		return;
	copy->statics = mem_grow(copy->statics, before * sizeof *copy->statics, now * sizeof *copy->statics);
	MEM_FIT(copy->own, before, now);
	MEM_FIT(copy->ghosts, before, now);
	MEM_FIT(copy->met, before, now);
	uint32_t *cost_ns = copy->shared->cost_ns; /* the plan made it, and frees it */
	copy->shared->cost_ns = mem_realloc(cost_ns, now * sizeof *cost_ns);
	for (uint32_t m = before; m < now; m++)
		copy->shared->cost_ns[m] = COST_UNKNOWN;
	copy->room = now;
}

struct wire_copy *wire_copy_create(uint32_t number, struct edit *edit)
{
	struct wire_copy *copy = mem_alloc(sizeof *copy);
	copy->number = number;
	copy->edit = edit;
	copy->shared = edit->shared;
	copy->parts = mem_alloc(number * sizeof *copy->parts);
	copy->levels = mem_alloc(copy->shared->scene->level_count * sizeof *copy->levels);
	edit->plan = NULL;
	copy->shared->copy = true;
	fit(copy);
	return copy;
}

static void free_commands(struct wire_copy *copy)
{
	for (uint32_t i = 0; i < copy->commands.count; i++)
		message_fini(&copy->commands.at[i].message);
	copy->commands.count = 0;
}

void wire_copy_destroy(struct wire_copy *copy)
{
	if (!copy)
		return;
	free_commands(copy);
	free(copy->parts);
	free(copy->statics);
	free(copy->own);
	free(copy->ghosts);
	free(copy->met);
	free(copy->levels);
	vec_free(&copy->changes);
	vec_free(&copy->pairs);
	vec_free(&copy->pairs_next);
	vec_free(&copy->commands);
	vec_free(&copy->wrenches);
	vec_free(&copy->moved);
	vec_free(&copy->told);
	vec_free(&copy->scratch);
	free(copy);
}

static troupe_status bad(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "%s", what);
}

/* model: the number as received; there may be no such model. */
static troupe_status bad_model(
	const struct wire_copy *copy, uint64_t model, const char *what, struct troupe_error *error)
{
	const struct scene *scene = copy->shared->scene;
	if (model >= scene->model_count || !scene->models[model].id)
		return fail(
			error, TROUPE_EPROTOCOL, "model %llu %s: it does not exist", (unsigned long long)model, what);
	return fail(error, TROUPE_EPROTOCOL, "model '%.100s' %s", scene->models[model].name, what);
}

static bool is_there(const struct wire_copy *copy, uint32_t model)
{
	const struct scene *scene = copy->shared->scene;
	return model < scene->model_count && scene->models[model].id && !scene->models[model].absent;
}

static bool is_own(const struct wire_copy *copy, uint32_t model)
{
	return model < copy->room && copy->own[model];
}

/* --- the parts of a step ------------------------------------------------------------------------------------------ */

static void advance(struct wire_copy *copy)
{
	for (uint32_t i = 0; i < copy->moved.count; i++)
		state_advance(copy->shared->state, copy->moved.at[i]);
	copy->moved.count = 0;
}

/* A place must not be freed, or go to another model, before the runner has released its model. */
static troupe_status decode_edits(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	troupe_status status = edit_follow(copy->edit, in, error);
	const struct scene *scene = copy->shared->scene;
	fit(copy);
	for (uint32_t m = 0; m < copy->room && !status; m++)
		if (copy->own[m] && (m >= scene->model_count || scene->models[m].id != copy->own[m]))
			status = bad(error, "a model goes that this secondary simulates");
	return status;
}

static bool decode_words(struct wire_copy *copy, uint32_t model, struct unpack *in)
{
	struct state *state = copy->shared->state;
	uint32_t words = state->models[model].words;
	if (unpack_var_count(in, words) != words || in->bad)
		return false;
	state_touched(state, model);
	return wire_get_words(in, state_words(state, model, false), words) && edit_words_sane(state, model, false);
}

/* Whether this is the first time in this step that words of the model come. */
static bool meet(struct wire_copy *copy, uint32_t model)
{
	bool first = copy->met[model] != copy->steps;
	copy->met[model] = copy->steps;
	return first;
}

static troupe_status decode_take(
	struct wire_copy *copy, bool again, struct unpack *in, uint32_t *ret_id, struct troupe_error *error)
{
	uint32_t model = *ret_id = unpack_var_count(in, UINT32_MAX);
	if (in->bad || !is_there(copy, model) || is_own(copy, model))
		return bad_model(copy, model, "is to be taken over, but is taken over already or absent", error);
	if (!again && (!meet(copy, model) || !decode_words(copy, model, in)))
		return bad_model(copy, model, "is to be taken over, but its state is not valid", error);
	copy->own[model] = copy->shared->scene->models[model].id;
	return TROUPE_OK;
}

/* Absent models are released, too. */
static troupe_status decode_release(
	struct wire_copy *copy, struct unpack *in, uint32_t *ret_id, struct troupe_error *error)
{
	*ret_id = unpack_var_count(in, UINT32_MAX);
	if (in->bad || !is_own(copy, *ret_id))
		return bad_model(copy, *ret_id, "is to be released, but this secondary does not simulate it", error);
	copy->own[*ret_id] = 0;
	return TROUPE_OK;
}

static troupe_status decode_level(
	struct wire_copy *copy, bool loads, struct unpack *in, uint32_t *ret_id, struct troupe_error *error)
{
	const struct scene *scene = copy->shared->scene;
	uint32_t level = *ret_id = unpack_var_count(in, UINT32_MAX);
	if (in->bad || level >= scene->level_count)
		return fail(error, TROUPE_EPROTOCOL, "level %u does not exist", level);
	if (copy->levels[level] == loads)
		return fail(error, TROUPE_EPROTOCOL, "level '%.100s' is to be %s", scene->levels[level].name,
			loads ? "loaded, but is loaded already" : "unloaded, but is not loaded");
	copy->levels[level] = loads;
	return TROUPE_OK;
}

/* A ghost that goes may be of a model that is absent already. */
static troupe_status decode_ghost(
	struct wire_copy *copy, bool comes, struct unpack *in, uint32_t *ret_id, struct troupe_error *error)
{
	uint32_t model = *ret_id = unpack_var_count(in, UINT32_MAX);
	if (in->bad || model >= copy->room || copy->ghosts[model] == comes || (comes && !is_there(copy, model)))
		return bad_model(copy, model,
			comes ? "comes as a ghost, but is one already or absent" : "goes as a ghost, but is none",
			error);
	copy->ghosts[model] = comes;
	return TROUPE_OK;
}

static troupe_status decode_change(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	static const enum change_kind kinds[] = {
		[WIRE_RELEASE] = CHANGE_RELEASE,
		[WIRE_TAKE] = CHANGE_TAKE,
		[WIRE_UNLOAD] = CHANGE_UNLOAD,
		[WIRE_LOAD] = CHANGE_LOAD,
		[WIRE_GHOST_ON] = CHANGE_GHOST_ON,
		[WIRE_GHOST_OFF] = CHANGE_GHOST_OFF,
		[WIRE_TAKE_AGAIN] = CHANGE_TAKE,
	};
	uint32_t code = unpack_var_count(in, ARRAY_LEN(kinds) - 1), id = SCENE_NONE;
	troupe_status status = TROUPE_OK;
	if (in->bad)
		status = bad(error, "an unknown kind of change");
	else if (code == WIRE_RELEASE)
		status = decode_release(copy, in, &id, error);
	else if (code == WIRE_UNLOAD || code == WIRE_LOAD)
		status = decode_level(copy, code == WIRE_LOAD, in, &id, error);
	else if (code == WIRE_TAKE || code == WIRE_TAKE_AGAIN)
		status = decode_take(copy, code == WIRE_TAKE_AGAIN, in, &id, error);
	else
		status = decode_ghost(copy, code == WIRE_GHOST_ON, in, &id, error);
	if (!status && !in->bad)
		vec_push(&copy->changes, (struct change){kinds[code], copy->number, id});
	return status;
}

static troupe_status decode_changes(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !status && !in->bad; i++)
		status = decode_change(copy, in, error);
	return status;
}

static troupe_status decode_written(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	for (uint64_t code; (code = unpack_var(in)) && !in->bad;) {
		if (code > UINT32_MAX || !is_own(copy, (uint32_t)code - 1))
			return bad_model(copy, code - 1, "was written, but this secondary does not simulate it", error);
		if (!meet(copy, (uint32_t)code - 1) || !decode_words(copy, (uint32_t)code - 1, in))
			return bad_model(
				copy, code - 1, "was written, but its state comes twice or is not valid", error);
	}
	return TROUPE_OK;
}

static troupe_status decode_statics(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	uint32_t models = copy->shared->scene->model_count, count = unpack_var_count(in, models);
	uint64_t model = 0;
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		uint64_t by = unpack_var(in);
		uint32_t value = unpack_var_count(in, UINT32_MAX);
		bool there = by < models && model + by < models && (by || !i);
		if (!there || copy->shared->scene->models[model + by].body_count)
			return bad_model(copy, there ? model + by : UINT32_MAX, "is to be a static one", error);
		model += by;
		copy->statics[model] = value;
	}
	return TROUPE_OK;
}

static bool fits(const struct wire_copy *copy, struct physics_pair pair)
{
	uint32_t i = copy->pairs_next.count;
	const struct physics_pair *last = i ? &copy->pairs_next.at[i - 1] : NULL;
	return pair.a < pair.b && is_own(copy, pair.a) && is_own(copy, pair.b) &&
	       (!last || last->a < pair.a || (last->a == pair.a && last->b < pair.b));
}

/* Decodes the places of the pairs to drop, and marks these pairs with b = SCENE_NONE. */
static bool drop_pairs(struct wire_copy *copy, struct unpack *in)
{
	uint64_t at = 0;
	for (uint64_t by; (by = unpack_var(in)) && !in->bad;) {
		at += by - 1;
		if (by > copy->pairs.count || at >= copy->pairs.count)
			return false;
		copy->pairs.at[at].b = SCENE_NONE;
	}
	return true;
}

static bool next_pair(struct unpack *in, struct physics_pair *pair)
{
	uint64_t by = unpack_var(in);
	if (!by || by - 1 > UINT32_MAX - pair->a)
		in->bad |= by != 0;
	if (!by || in->bad)
		return false;
	pair->a += (uint32_t)(by - 1);
	pair->b = unpack_var_count(in, UINT32_MAX - 1);
	return !in->bad;
}

static bool before(struct physics_pair a, struct physics_pair b)
{
	return a.a != b.a ? a.a < b.a : a.b < b.b;
}

static troupe_status decode_pairs(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	struct physics_pair come = {0, 0};
	if (!drop_pairs(copy, in))
		return bad(error, "a pair of models that is to go");
	copy->pairs_next.count = 0;
	bool more = next_pair(in, &come);
	for (uint32_t i = 0; i < copy->pairs.count || more;) {
		if (i < copy->pairs.count && copy->pairs.at[i].b == SCENE_NONE) {
			i++;
			continue;
		}
		bool old = i < copy->pairs.count && (!more || before(copy->pairs.at[i], come));
		struct physics_pair pair = old ? copy->pairs.at[i] : come;
		i += old;
		if (!fits(copy, pair))
			return fail(error, TROUPE_EPROTOCOL,
				"models %u and %u may touch, and they come twice, or it does not simulate both", pair.a,
				pair.b);
		vec_push(&copy->pairs_next, pair);
		more = old ? more : next_pair(in, &come);
	}
	copy->pairs.count = 0;
	if (copy->pairs_next.count)
		memcpy(vec_append(&copy->pairs, copy->pairs_next.count), copy->pairs_next.at,
			copy->pairs_next.count * sizeof *copy->pairs.at);
	return TROUPE_OK;
}

static troupe_status decode_ghosts(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	const struct scene *scene = copy->shared->scene;
	struct state *state = copy->shared->state;
	for (uint64_t code; (code = unpack_var(in)) && !in->bad;) {
		uint64_t model = (code >> 1) - 1;
		if (model >= scene->model_count || !scene->models[model].id || is_own(copy, (uint32_t)model) ||
			!copy->ghosts[model] || !meet(copy, (uint32_t)model))
			return bad_model(copy, model, "moves as a ghost, but is none or moves twice", error);
		uint32_t words = scene->models[model].body_count * (uint32_t)(sizeof(struct body_state) / 8);
		uint64_t *now = state_words(state, (uint32_t)model, false);
		bool good = code & 1 ? wire_get_words(in, now, words) : wire_get_change(in, now, words);
		if (!good || !edit_words_sane(state, (uint32_t)model, false))
			return bad_model(copy, model, "moves as a ghost, but its state is not valid", error);
	}
	return TROUPE_OK;
}

static troupe_status decode_commands(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	const struct systems *systems = copy->shared->systems;
	uint64_t count = unpack_var(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct due_command command = {.to = {.model = unpack_var_count(in, UINT32_MAX)}};
		command.to.system = unpack_var_count(in, UINT32_MAX);
		command.to.topic = unpack_var_count(in, UINT32_MAX);
		const struct system_set *set = is_own(copy, command.to.model) ? &systems->sets[command.to.model] : NULL;
		if (!set || command.to.system >= set->count ||
			command.to.topic >= set->at[command.to.system].topics.count)
			return bad(error, "a command without a listener");
		const struct system_topic *topic = &set->at[command.to.system].topics.at[command.to.topic];
		if (!message_unpack(topic->schema, in, &command.message))
			return bad(error, "a command");
		vec_push(&copy->commands, command);
	}
	return TROUPE_OK;
}

static troupe_status decode_wrenches(struct wire_copy *copy, struct unpack *in, struct troupe_error *error)
{
	const struct scene *scene = copy->shared->scene;
	uint64_t count = unpack_var(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct due_wrench wrench = {.body = unpack_var_count(in, UINT32_MAX)};
		wrench.force = unpack_vec3(in);
		wrench.torque = unpack_vec3(in);
		if (in->bad)
			break;
		if (!due_wrench_sane(scene, &wrench) || copy->step.paused)
			return bad(error,
				"a force on a body that does not exist, or beyond its limits, or in a paused step");
		if (!is_own(copy, scene->bodies[wrench.body].model))
			return bad(error, "a force on a body that this secondary does not simulate");
		vec_push(&copy->wrenches, wrench);
	}
	return TROUPE_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static troupe_status decode_head(
	struct wire_copy *copy, struct unpack *in, uint32_t *ret_flags, struct troupe_error *error)
{
	struct step *step = &copy->step;
	if (in->end - in->at < 2)
		return bad(error, "it is cut off");
	uint32_t flags = (unsigned char)in->at[0] | (uint32_t)(unsigned char)in->at[1] << 8;
	in->at += 2;
	uint32_t whose = unpack_var_count(in, UINT32_MAX);
	if (!in->bad && whose != copy->number)
		return fail(error, TROUPE_EPROTOCOL, "it is for secondary %u: expected %u", whose, copy->number);
	step->number = unpack_var(in);
	step->time_s = unpack_double(in);
	if (flags & WIRE_DT)
		step->dt = unpack_double(in);
	if (in->bad || flags > WIRE_FLAGS || !(step->dt >= SDF_STEP_MIN && step->dt <= 1e6))
		return bad(error, "its beginning");
	step->paused = flags & WIRE_PAUSED;
	step->state_changed = flags & WIRE_STATE_CHANGED;
	step->statics_changed = flags & WIRE_STATICS;
	step->world_changed = flags & WIRE_WORLD_CHANGED;
	step->measure = flags & WIRE_MEASURE;
	step->observe = flags / WIRE_OBSERVE & OBSERVE_ALL;
	*ret_flags = flags;
	return TROUPE_OK;
}

static troupe_status decode_parts(struct wire_copy *copy, uint32_t flags, struct unpack *in, struct troupe_error *error)
{
	static const struct {
		uint32_t flag;
		troupe_status (*decode)(struct wire_copy *copy, struct unpack *in, struct troupe_error *error);
	} parts[] = {
		{WIRE_EDITS, decode_edits},
		{WIRE_CHANGES, decode_changes},
		{WIRE_WRITTEN, decode_written},
		{WIRE_STATICS, decode_statics},
		{WIRE_PAIRS, decode_pairs},
		{WIRE_GHOSTS, decode_ghosts},
		{WIRE_COMMANDS, decode_commands},
		{WIRE_WRENCHES, decode_wrenches},
	};
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < ARRAY_LEN(parts) && !status && !in->bad; i++)
		if (flags & parts[i].flag)
			status = parts[i].decode(copy, in, error);
	if (!status && (in->bad || in->at != in->end))
		status = bad(error, in->bad ? "it is cut off, or a number is out of range" : "bytes after its end");
	return status;
}

/* Checks the pairs that were not sent again, too: one of their models may have been released. */
static bool pairs_are_own(const struct wire_copy *copy)
{
	for (uint32_t i = 0; i < copy->pairs.count; i++)
		if (!is_own(copy, copy->pairs.at[i].a) || !is_own(copy, copy->pairs.at[i].b))
			return false;
	return true;
}

troupe_status wire_decode_step(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_step, struct troupe_error *error)
{
	struct wire_copy *copy = ctx;
	struct unpack in = {bytes, bytes + count, false};
	struct step_part *part = &copy->parts[copy->number - 1];
	struct troupe_error why;
	uint32_t flags = 0;
	(void)secondary;
	advance(copy);
	free_commands(copy);
	copy->changes.count = copy->wrenches.count = 0;
	copy->steps++;
	troupe_status status = decode_head(copy, &in, &flags, &why);
	if (!status)
		status = decode_parts(copy, flags, &in, &why);
	if (!status && (flags & WIRE_CHANGES) && !pairs_are_own(copy))
		status = bad(&why, "a released model touches others");
	if (status)
		return fail(error, TROUPE_EPROTOCOL, "its step: %s", why.text);
	*part = (struct step_part){.pairs = copy->pairs.at,
		.pair_count = copy->pairs.count,
		.commands = copy->commands.at,
		.command_count = copy->commands.count,
		.wrenches = copy->wrenches.at,
		.wrench_count = copy->wrenches.count};
	copy->step.statics = copy->statics;
	copy->step.changes = copy->changes.at;
	copy->step.change_count = copy->changes.count;
	copy->step.parts = copy->parts;
	*ret_step = (struct transport_message){copy->step.number, &copy->step};
	return TROUPE_OK;
}

/* --- acks --------------------------------------------------------------------------------------------------------- */

static void encode_stats(
	struct wire_copy *copy, const struct ack *ack, const struct physics_stats *stats, struct text *out)
{
	pack_var(out, ack->busy_ns);
	pack_var(out, ack->waited_ns);
	pack_var(out, stats->contacts - copy->stats.contacts);
	pack_var(out, stats->regroups - copy->stats.regroups);
	pack_var(out, stats->lost - copy->stats.lost);
	pack_var(out, stats->groups);
	copy->stats = *stats;
}

static void encode_list(struct wire_copy *copy, const struct ack *ack, struct text *out)
{
	uint32_t count = ack->moved.count, last = 0;
	size_t bytes = count * sizeof *ack->moved.at;
	bool same = count == copy->told.count && (!bytes || !memcmp(ack->moved.at, copy->told.at, bytes));
	pack_var(out, (uint64_t)count << 1 | same);
	for (uint32_t i = 0; !same && i < count; i++) {
		wire_put_step(out, last, ack->moved.at[i]);
		last = ack->moved.at[i];
	}
	copy->told.count = copy->moved.count = 0;
	if (!bytes)
		return;
	memcpy(vec_append(&copy->told, count), ack->moved.at, bytes);
	memcpy(vec_append(&copy->moved, count), ack->moved.at, bytes);
}

void wire_encode_ack(struct wire_copy *copy, const struct ack *ack, const struct physics_stats *stats, struct text *out)
{
	pack_var(out, ack->number);
	pack_var(out, (uint64_t)ack->status);
	encode_stats(copy, ack, stats, out);
	if (ack->status) {
		pack_string(out, ack->error.text);
		pack_var(out, ack->diverged == SCENE_NONE ? 0 : ack->diverged + 1);
		return;
	}
	encode_list(copy, ack, out);
	for (uint32_t i = 0; i < ack->moved.count; i++)
		wire_put_next(out, copy->shared->state, ack->moved.at[i], &copy->scratch);
	for (uint32_t i = 0; copy->step.measure && i < ack->moved.count; i++)
		pack_var(out, copy->shared->cost_ns[ack->moved.at[i]]);
	if (copy->step.observe && !copy->step.paused)
		wire_put_notes(out, copy->step.observe, copy->shared->scene, ack);
}
