/* A step's message is followed: each part is checked against what the replica is, and against a list of the models that
 * the secondary simulates, because ODE must never be called for a model that it was not given. */
#include "run/replica_internal.h"

#include "run/sense.h"
#include "run/wire_words.h"

#include <inttypes.h>
#include <string.h>

/* --- checks ------------------------------------------------------------------------------------------------------- */

static troupe_status replica_follow_bad(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "%s", what);
}

/* model: the number as received; there may be no such model. */
static troupe_status replica_follow_bad_model(
	const struct replica *replica, uint32_t model, const char *what, struct troupe_error *error)
{
	const struct scene *scene = replica->scene;
	if (model >= scene->model_count || !scene->models[model].id)
		return fail(error, TROUPE_EPROTOCOL, "model %u %s: it does not exist", model, what);
	return fail(error, TROUPE_EPROTOCOL, "model '%.100s' %s", scene->models[model].name, what);
}

static bool replica_follow_is_there(const struct replica *replica, uint32_t model)
{
	const struct scene *scene = replica->scene;
	return model < scene->model_count && scene->models[model].id && !scene->models[model].absent;
}

static bool replica_follow_is_own(const struct replica *replica, uint32_t model)
{
	return model < replica->room && replica->own[model];
}

/* --- the parts of a step ------------------------------------------------------------------------------------------ */

/* The step before this one counts. */
static void replica_follow_advance(struct replica *replica)
{
	const struct ack *ack = replica->ack;
	replica->changed_before.count = 0;
	for (uint32_t i = 0; ack && i < ack->changed.count; i++) {
		state_advance(replica->shared.state, ack->changed.at[i]);
		vec_push(&replica->changed_before, ack->changed.at[i]);
	}
	replica->stats_before = replica->stats;
	replica->ack = NULL;
}

/* False: the secondary still has models or levels, or knows ghosts. */
static bool replica_follow_let_all_go(struct replica *replica)
{
	bool some = false;
	for (uint32_t m = 0; m < replica->room; m++)
		some = some || replica->own[m] || replica->ghosts[m];
	for (uint32_t l = 0; l < replica->scene->level_count; l++)
		some = some || replica->levels[l];
	if (!some && replica->room)
		memset(replica->statics, 0, replica->room * sizeof *replica->statics);
	return !some;
}

/* A place must not be freed, or go to another model, before the runner has released the model in it. */
static troupe_status replica_follow_edits(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	for (uint32_t i = 0; i < message->edits.count; i++)
		if (message->edits.at[i].kind == EDIT_RENEW && !replica_follow_let_all_go(replica))
			return replica_follow_bad(error, "another world, before this one is released");
	troupe_status status = edit_follow(&replica->edit, &message->edits, error);
	const struct scene *scene = replica->scene;
	replica_fit(replica);
	for (uint32_t m = 0; m < replica->room && !status; m++)
		if (replica->own[m] && (m >= scene->model_count || scene->models[m].id != replica->own[m]))
			status = replica_follow_bad(error, "a model goes that this secondary simulates");
	return status;
}

static bool replica_follow_take_words(struct replica *replica, const struct replica_words *words)
{
	struct state *state = replica->shared.state;
	struct unpack in = {words->bytes, words->bytes + (size_t)words->count * 8, false};
	state_touched(state, words->model);
	return wire_get_all(&in, state, words->model, words->count) && edit_words_sane(state, words->model, false);
}

/* Whether this is the first time in this step that words of the model come. */
static bool replica_follow_meet(struct replica *replica, uint32_t model)
{
	bool first = replica->met[model] != replica->steps;
	replica->met[model] = replica->steps;
	return first;
}

static troupe_status replica_follow_take(
	struct replica *replica, const struct replica_change *take, struct troupe_error *error)
{
	uint32_t model = take->change.id;
	if (!replica_follow_is_there(replica, model) || replica_follow_is_own(replica, model))
		return replica_follow_bad_model(
			replica, model, "is to be taken over, but is taken over already or absent", error);
	if (!take->again && (!replica_follow_meet(replica, model) || !replica_follow_take_words(replica, &take->words)))
		return replica_follow_bad_model(
			replica, model, "is to be taken over, but its state is not valid", error);
	replica->own[model] = replica->scene->models[model].id;
	return TROUPE_OK;
}

/* Models that are absent are released, too. */
static troupe_status replica_follow_release(struct replica *replica, uint32_t model, struct troupe_error *error)
{
	if (!replica_follow_is_own(replica, model))
		return replica_follow_bad_model(
			replica, model, "is to be released, but this secondary does not simulate it", error);
	replica->own[model] = 0;
	return TROUPE_OK;
}

static troupe_status replica_follow_level(
	struct replica *replica, uint32_t level, bool loads, struct troupe_error *error)
{
	const struct scene *scene = replica->scene;
	if (level >= scene->level_count)
		return fail(error, TROUPE_EPROTOCOL, "level %u does not exist", level);
	if (replica->levels[level] == loads)
		return fail(error, TROUPE_EPROTOCOL, "level '%.100s' is to be %s", scene->levels[level].name,
			loads ? "loaded, but is loaded already" : "unloaded, but is not loaded");
	replica->levels[level] = loads;
	return TROUPE_OK;
}

/* A ghost that goes may be of a model that is absent already. */
static troupe_status replica_follow_ghost(
	struct replica *replica, uint32_t model, bool comes, struct troupe_error *error)
{
	if (model >= replica->room || replica->ghosts[model] == comes ||
		(comes && !replica_follow_is_there(replica, model)))
		return replica_follow_bad_model(replica, model,
			comes ? "comes as a ghost, but is one already or absent" : "goes as a ghost, but is none",
			error);
	replica->ghosts[model] = comes;
	return TROUPE_OK;
}

static troupe_status replica_follow_change(
	struct replica *replica, const struct replica_change *change, struct troupe_error *error)
{
	enum change_kind kind = change->change.kind;
	uint32_t id = change->change.id;
	switch (kind) {
	case CHANGE_RELEASE:
		return replica_follow_release(replica, id, error);
	case CHANGE_TAKE:
		return replica_follow_take(replica, change, error);
	case CHANGE_UNLOAD:
	case CHANGE_LOAD:
		return replica_follow_level(replica, id, kind == CHANGE_LOAD, error);
	case CHANGE_GHOST_ON:
	case CHANGE_GHOST_OFF:
		break;
	}
	return replica_follow_ghost(replica, id, kind == CHANGE_GHOST_ON, error);
}

static troupe_status replica_follow_changes(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	replica->changes.count = 0;
	for (uint32_t i = 0; i < message->changes.count && !status; i++) {
		status = replica_follow_change(replica, &message->changes.at[i], error);
		vec_push(&replica->changes, message->changes.at[i].change);
	}
	return status;
}

static troupe_status replica_follow_written(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	for (uint32_t i = 0; i < message->written.count; i++) {
		const struct replica_words *words = &message->written.at[i];
		if (!replica_follow_is_own(replica, words->model))
			return replica_follow_bad_model(
				replica, words->model, "was written, but this secondary does not simulate it", error);
		if (!replica_follow_meet(replica, words->model) || !replica_follow_take_words(replica, words))
			return replica_follow_bad_model(
				replica, words->model, "was written, but its state comes twice or is not valid", error);
	}
	return TROUPE_OK;
}

static troupe_status replica_follow_statics(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	for (uint32_t i = 0; i < message->statics.count; i++) {
		const struct replica_static *one = &message->statics.at[i];
		if (one->model >= replica->scene->model_count || replica->scene->models[one->model].body_count)
			return replica_follow_bad_model(replica, one->model, "is to be a static one", error);
		replica->statics[one->model] = one->value;
	}
	return TROUPE_OK;
}

static bool replica_follow_before(struct physics_pair a, struct physics_pair b)
{
	return a.a != b.a ? a.a < b.a : a.b < b.b;
}

static bool replica_follow_fits(const struct replica *replica, struct physics_pair pair)
{
	uint32_t i = replica->pairs_next.count;
	const struct physics_pair *last = i ? &replica->pairs_next.at[i - 1] : NULL;
	return pair.a < pair.b && replica_follow_is_own(replica, pair.a) && replica_follow_is_own(replica, pair.b) &&
	       (!last || replica_follow_before(*last, pair));
}

static troupe_status replica_follow_add_pair(
	struct replica *replica, struct physics_pair pair, struct troupe_error *error)
{
	if (!replica_follow_fits(replica, pair))
		return fail(error, TROUPE_EPROTOCOL,
			"models %u and %u may touch, and they come twice, or it does not simulate both", pair.a,
			pair.b);
	vec_push(&replica->pairs_next, pair);
	return TROUPE_OK;
}

/* Merges the pairs that stay from the old list with the new pairs. */
static troupe_status replica_follow_merge_pairs(
	struct replica *replica, const struct replica_step *message, struct troupe_error *error)
{
	const struct physics_pair *come = message->pairs_come.at;
	uint32_t gone = 0, came = 0;
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < replica->pairs.count && !status; i++) {
		struct physics_pair old = replica->pairs.at[i];
		if (gone < message->pairs_gone.count && message->pairs_gone.at[gone] == i) {
			gone++;
			continue;
		}
		while (came < message->pairs_come.count && !replica_follow_before(old, come[came]) && !status)
			status = replica_follow_add_pair(replica, come[came++], error);
		if (!status)
			status = replica_follow_add_pair(replica, old, error);
	}
	while (came < message->pairs_come.count && !status)
		status = replica_follow_add_pair(replica, come[came++], error);
	if (!status && gone < message->pairs_gone.count)
		status = replica_follow_bad(error, "a pair of models that is to go");
	return status;
}

static troupe_status replica_follow_pairs(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	if (!message->pairs_changed)
		return TROUPE_OK;
	replica->pairs_next.count = 0;
	troupe_status status = replica_follow_merge_pairs(replica, message, error);
	replica->pairs.count = 0;
	if (!status && replica->pairs_next.count)
		memcpy(vec_append(&replica->pairs, replica->pairs_next.count), replica->pairs_next.at,
			replica->pairs_next.count * sizeof *replica->pairs.at);
	return status;
}

/* The boxes of models that may come near each other are followed here from step to step of a window. */
static void replica_follow_measure(struct replica *replica, uint32_t model)
{
	replica->shared.boxes[model].box = state_model_box(replica->shared.state, model, false);
}

static troupe_status replica_follow_near(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	replica->near.count = 0;
	bool acts = message->surfaces.count;
	for (uint32_t i = 0; i < message->wrenches.count; i++)
		acts |= !message->wrenches.at[i].lasts;
	if (message->window > 1 && acts)
		return replica_follow_bad(error, "a window in which something acts from outside");
	for (uint32_t i = 0; i < message->near.count; i++) {
		struct physics_pair pair = message->near.at[i];
		if (pair.a >= pair.b || !replica_follow_is_own(replica, pair.a) ||
			!replica_follow_is_own(replica, pair.b) ||
			(i && !replica_follow_before(message->near.at[i - 1], pair)))
			return replica_follow_bad(
				error, "models that may come near each other, twice, or not all its own");
		vec_push(&replica->near, pair);
		replica_follow_measure(replica, pair.a);
		replica_follow_measure(replica, pair.b);
	}
	return TROUPE_OK;
}

static uint32_t replica_follow_words_of_bodies(const struct replica *replica, uint32_t model)
{
	return replica->scene->models[model].body_count * (uint32_t)(sizeof(struct body_state) / 8);
}

static bool replica_follow_take_ghost(struct replica *replica, const struct replica_ghost *ghost)
{
	struct state *state = replica->shared.state;
	struct unpack in = {ghost->bytes, ghost->bytes + ghost->byte_count, false};
	uint64_t *now = state_words(state, ghost->model, false);
	uint32_t words = replica_follow_words_of_bodies(replica, ghost->model);
	return ghost->count == words &&
	       (ghost->whole ? wire_get_words(&in, now, words) : wire_get_change(&in, now, words)) &&
	       edit_words_sane(state, ghost->model, false);
}

static troupe_status replica_follow_ghosts(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	for (uint32_t i = 0; i < message->ghosts.count; i++) {
		const struct replica_ghost *ghost = &message->ghosts.at[i];
		uint32_t model = ghost->model;
		bool is = model < replica->scene->model_count && replica->scene->models[model].id &&
			  !replica_follow_is_own(replica, model) && replica->ghosts[model];
		if (!is || !replica_follow_meet(replica, model))
			return replica_follow_bad_model(
				replica, model, "moves as a ghost, but is none or moves twice", error);
		if (!replica_follow_take_ghost(replica, ghost))
			return replica_follow_bad_model(
				replica, model, "moves as a ghost, but its state is not valid", error);
	}
	return TROUPE_OK;
}

static troupe_status replica_follow_command(
	struct replica *replica, const struct replica_command *came, struct troupe_error *error)
{
	const struct system_listener *to = &came->to;
	const struct system_set *set =
		replica_follow_is_own(replica, to->model) ? &replica->shared.systems->sets[to->model] : NULL;
	struct due_command command = {.to = *to};
	if (!set || to->system >= set->count || to->topic >= set->at[to->system].topics.count)
		return replica_follow_bad(error, "a command without a listener");
	message_type type = set->at[to->system].topics.at[to->topic].type;
	ProtobufCMessage *message;
	if (message_of_bytes(type, came->bytes, came->byte_count, &message_limits_usual, &message, NULL))
		return replica_follow_bad(error, "a command");
	command.message = message;
	vec_push(&replica->messages, message);
	vec_push(&replica->commands, command);
	return TROUPE_OK;
}

static troupe_status replica_follow_commands(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	replica_free_commands(replica);
	for (uint32_t i = 0; i < message->commands.count && !status; i++)
		status = replica_follow_command(replica, &message->commands.at[i], error);
	return status;
}

static troupe_status replica_follow_wrenches(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	replica->wrenches.count = 0;
	for (uint32_t i = 0; i < message->wrenches.count; i++) {
		const struct due_wrench *wrench = &message->wrenches.at[i];
		if (!due_wrench_sane(replica->scene, wrench) || message->paused)
			return replica_follow_bad(error,
				"a force on a body that does not exist, or beyond its limits, or in a paused step");
		if (!replica_follow_is_own(replica, replica->scene->bodies[wrench->body].model))
			return replica_follow_bad(error, "a force on a body that this secondary does not simulate");
		vec_push(&replica->wrenches, *wrench);
	}
	return TROUPE_OK;
}

/* The control of static models holds for one step. */
static troupe_status replica_follow_surfaces(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	const struct control *control = &replica->shared.control;
	if (!message->paused)
		surfaced_clear(replica->scene, control, &replica->surfaced);
	for (uint32_t i = 0; i < message->surfaces.count; i++)
		if (message->paused ||
			!surfaced_set(replica->scene, control, &message->surfaces.at[i], &replica->surfaced))
			return replica_follow_bad(error,
				"the surface of a static collision that does not exist, or beyond its limits, or "
				"in a paused step");
	return TROUPE_OK;
}

static troupe_status replica_follow_want(
	struct replica *replica, const struct replica_sense *sense, struct troupe_error *error)
{
	struct sensors *sensors = replica->shared.sensors;
	sensors_want_none(sensors);
	if (sense->all)
		sensors_want_all(sensors);
	for (uint32_t i = 0; i < sense->wanted.count; i++) {
		struct sensor *sensor = sensors_find(sensors, sense->wanted.at[i].model, sense->wanted.at[i].index);
		if (!sensor)
			return replica_follow_bad(error, "a sensor that does not exist is to measure");
		sensors_want(sensors, sensor);
	}
	if (sensors->wanted != sense->count)
		return fail(error, TROUPE_EPROTOCOL,
			"%u sensors are to measure, of which this process can only measure %u: expected troupe with "
			"Embree in all processes, or in none",
			sense->count, sensors->wanted);
	return TROUPE_OK;
}

/* Models that are not seen may be anywhere here, so they are hidden. */
static troupe_status replica_follow_seen(
	struct replica *replica, const struct replica_sense *sense, struct troupe_error *error)
{
	const struct scene *scene = replica->scene;
	struct state *state = replica->shared.state;
	for (uint32_t m = 0; m < scene->model_count; m++)
		replica->hidden[m] = scene->models[m].body_count && !replica_follow_is_own(replica, m);
	for (uint32_t i = 0; i < sense->seen.count; i++) {
		const struct replica_words *seen = &sense->seen.at[i];
		uint32_t model = seen->model;
		struct unpack in = {seen->bytes, seen->bytes + (size_t)seen->count * 8, false};
		if (model >= scene->model_count || !replica->hidden[model] || !scene->models[model].id)
			return replica_follow_bad_model(
				replica, model, "is to be seen, but is its own, is static or is seen twice", error);
		replica->hidden[model] = false;
		if (!seen->count)
			continue;
		state_touched(state, model);
		if (seen->count != replica_follow_words_of_bodies(replica, model) ||
			!wire_get_words(&in, state_words(state, model, false), seen->count) ||
			!edit_words_sane(state, model, false))
			return replica_follow_bad_model(
				replica, model, "is to be seen, but its state is not valid", error);
	}
	if (replica->shared.sensors->due_world)
		sensors_look(replica->shared.sensors, state, replica->hidden);
	return TROUPE_OK;
}

/* Whether this process measures with a sensor that sees, in this step: as wire_sense_measures() of wire_sense.c. */
static bool replica_follow_sees_here(const struct replica *replica)
{
	const struct sensors *sensors = replica->shared.sensors;
	for (uint32_t m = 0; m < sensors->room && m < replica->scene->model_count; m++) {
		const struct scene_model *model = &replica->scene->models[m];
		bool ours = model->body_count ? replica_follow_is_own(replica, m)
					      : sense_statics_by(m, replica->step.secondaries) == replica->number;
		for (uint32_t i = 0; ours && model->id && !model->absent && i < sensors->sets[m].count; i++)
			if (sensor_is_due(sensors, &sensors->sets[m].at[i], SENSOR_OF_WORLD))
				return true;
	}
	return false;
}

static troupe_status replica_follow_sense(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	const struct replica_sense *sense = &message->sense;
	struct step *step = &replica->step;
	int64_t now_ns = sensor_time_ns(message->time_s);
	if (message->edits.count || message->world_changed)
		sensors_update(replica->shared.sensors);
	if (sense->changed && replica_follow_want(replica, sense, error))
		return error->status;
	if (replica->shared.sensors->wanted && !sense->secondaries)
		return replica_follow_bad(error, "sensors measure, but it does not say when");
	step->secondaries = sense->secondaries;
	step->times = (struct sensor_times){now_ns - sense->since_ns, now_ns, now_ns + sense->step_ns};
	if (!message->paused)
		sensors_begin(replica->shared.sensors, &step->times);
	for (uint32_t i = 0; i < sense->fired.count && !message->paused; i++)
		sensors_fire(replica->shared.sensors, sense->fired.at[i].model, sense->fired.at[i].index);
	if (sense->sees && replica_follow_seen(replica, sense, error))
		return error->status;
	if (!sense->sees && !message->paused && replica->shared.sensors->due_world && replica_follow_sees_here(replica))
		return replica_follow_bad(error, "sensors are to see, but it does not say what");
	return TROUPE_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static troupe_status replica_follow_head(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	struct step *step = &replica->step;
	const uint64_t expected = message->again && replica->began ? step->number : replica->next;
	if (message->number != expected)
		return fail(
			error, TROUPE_EPROTOCOL, "step %" PRIu64 ": expected step %" PRIu64, message->number, expected);
	if (message->again && (!replica->began || !replica->ack || step->window == 1))
		return replica_follow_bad(error, "again, though it is not a window that was acknowledged");
	if (message->dt == 0 && step->dt == 0)
		return replica_follow_bad(error, "its beginning");
	if (message->again)
		replica->ack = NULL;
	else
		replica_follow_advance(replica);
	replica->began = true;
	replica->next = message->number + message->window;
	step->window = message->window;
	step->again = step->repeated = message->again;
	step->mark++;
	step->origins = message->origins;
	step->hashes = message->hashes;
	step->even_since_s = message->even_since_s;
	step->even_steps = message->even_steps;
	replica->steps++;
	step->number = message->number;
	step->time_s = message->time_s;
	step->dt = message->dt == 0 ? step->dt : message->dt;
	step->paused = message->paused;
	step->state_changed = message->state_changed;
	step->statics_changed = message->statics_changed;
	step->world_changed = message->world_changed;
	step->measure = message->measure;
	step->observe = message->observe;
	return TROUPE_OK;
}

/* Also checks the pairs of the old list: one of their models may have been released. */
static troupe_status replica_follow_check_pairs(
	struct replica *replica, struct replica_step *message, struct troupe_error *error)
{
	for (uint32_t i = 0; message->changes.count && i < replica->pairs.count; i++)
		if (!replica_follow_is_own(replica, replica->pairs.at[i].a) ||
			!replica_follow_is_own(replica, replica->pairs.at[i].b))
			return replica_follow_bad(error, "a released model touches others");
	return TROUPE_OK;
}

static const struct step *replica_follow_make_step(struct replica *replica, uint32_t share_over)
{
	replica->parts[replica->number - 1] = (struct step_part){.pairs = replica->pairs.at,
		.pair_count = replica->pairs.count,
		.near = replica->near.at,
		.near_count = replica->near.count,
		.commands = replica->commands.at,
		.command_count = replica->commands.count,
		.wrenches = replica->wrenches.at,
		.wrench_count = replica->wrenches.count};
	replica->step.statics = replica->statics;
	replica->step.changes = replica->changes.at;
	replica->step.change_count = replica->changes.count;
	replica->step.parts = replica->parts;
	/* as in primary_decide(): not in steps in which costs are measured, nor in steps in which few models move */
	bool sees = share_over != UINT32_MAX && !replica->step.paused && sensors_call_for_help(replica->shared.sensors);
	replica->step.share = !replica->step.measure && (sees || replica->changed_before.count > share_over);
	replica->share_rounds += replica->step.share;
	replica->step.share_round = replica->share_rounds;
	return &replica->step;
}

troupe_status replica_follow(struct replica *replica, struct replica_step *message, uint32_t share_over,
	const struct step **ret_step, struct troupe_error *error)
{
	static troupe_status (*const parts[])(struct replica * replica, struct replica_step * message,
		struct troupe_error * error) = {replica_follow_head, replica_follow_edits, replica_follow_changes,
		replica_follow_written, replica_follow_statics, replica_follow_pairs, replica_follow_ghosts,
		replica_follow_commands, replica_follow_wrenches, replica_follow_surfaces, replica_follow_sense,
		replica_follow_near, replica_follow_check_pairs};
	struct troupe_error why;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i](replica, message, &why))
			return fail(error, TROUPE_EPROTOCOL, "its step: %s", why.text);
	*ret_step = replica_follow_make_step(replica, share_over);
	if (replica->scene->unread)
		unread_free_old(replica->scene->unread, (*ret_step)->time_s);
	return TROUPE_OK;
}
