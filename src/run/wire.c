/* Encoding and decoding change nothing but scratch memory. What the peers have is kept apart and changes at one place:
 * run_wire_acked(), which the primary calls when all acks of a step are good. So until then a step can be encoded
 * again, with the same bytes, and an ack can be decoded again, or be dropped.
 *
 * What the peers have: the static models, which all have alike; the pairs and the time step of each; the bodies of all
 * ghosts. For other states no memory is needed: a secondary has state k of the models that it simulates, because it
 * computed it. */
#include "run/wire_internal.h"

#include "geom/pack.h"
#include "run/surfaced.h"
#include "run/wire_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void run_wire_fit(struct wire *wire)
{
	uint32_t before = wire->room, now = wire->primary->shared->scene->room.models;
	if (now <= before)
		return;
	wire->statics = mem_grow(wire->statics, before * sizeof *wire->statics, now * sizeof *wire->statics);
	wire->ghosts = mem_grow(wire->ghosts, before * sizeof *wire->ghosts, now * sizeof *wire->ghosts);
	wire->met = mem_grow(wire->met, before * sizeof *wire->met, now * sizeof *wire->met);
	for (uint32_t i = 0; i < wire->peer_count; i++)
		MEM_FIT(wire->peers[i].seen, before, now);
	wire->room = now;
}

/* --- what the peers have ------------------------------------------------------------------------------------------ */

static uint32_t run_wire_words_of_bodies(const struct wire *wire, uint32_t model)
{
	return wire->primary->shared->scene->models[model].body_count * (uint32_t)(sizeof(struct body_state) / 8);
}

/* All peers that have a ghost have its bodies in state k, the state before the step. */
static void run_wire_keep_ghosts(struct wire *wire)
{
	const struct state *state = wire->primary->shared->state;
	const ghost_list *ghosts = &wire->primary->plan.placement.ghosts.now;
	for (uint32_t i = 0; i < wire->ghost_models.count; i++)
		wire->ghosts[wire->ghost_models.at[i]] = 0;
	wire->ghost_words.count = wire->ghost_models.count = 0;
	for (uint32_t i = 0; i < ghosts->count; i++) {
		uint32_t model = ghosts->at[i].model, words = run_wire_words_of_bodies(wire, model);
		if (wire->ghosts[model])
			continue;
		wire->ghosts[model] = wire->ghost_words.count + 1;
		vec_push(&wire->ghost_models, model);
		if (words)
			memcpy(vec_append(&wire->ghost_words, words), state_words(state, model, false),
				words * sizeof *wire->ghost_words.at);
	}
}

/* What the peer reported counts. */
static void run_wire_keep_ack_of(struct wire_peer *peer)
{
	peer->changed_before.count = 0;
	if (peer->ack.changed.count)
		memcpy(vec_append(&peer->changed_before, peer->ack.changed.count), peer->ack.changed.at,
			peer->ack.changed.count * sizeof *peer->changed_before.at);
	peer->stats = peer->stats_next;
}

/* The peer has followed the step. */
static void run_wire_keep_of(struct wire *wire, uint32_t number, const struct step *step)
{
	struct wire_peer *peer = &wire->peers[number - 1];
	const struct step_part *part = &step->parts[number - 1];
	peer->dt = step->dt;
	peer->pairs.count = 0;
	if (part->pair_count)
		memcpy(vec_append(&peer->pairs, part->pair_count), part->pairs, part->pair_count * sizeof *part->pairs);
	peer->wants = peer->wants_next;
	for (uint32_t i = 0; i < step->change_count; i++)
		if (step->changes[i].secondary == number && step->changes[i].kind != CHANGE_LOAD &&
			step->changes[i].kind != CHANGE_UNLOAD)
			peer->seen[step->changes[i].id] = 0;
	for (uint32_t i = 0; i < peer->sights.count; i++)
		peer->seen[peer->sights.at[i].model] = peer->sights.at[i].hash;
	peer->sights.count = 0;
	wire->counts.step_bytes += peer->step_bytes;
	wire->counts.ack_bytes += peer->ack_bytes;
}

/* A model that moved in each step of a window counts as often. */
static uint64_t run_wire_robot_steps(const struct wire *wire, const struct ack *ack, const struct step *step)
{
	uint64_t sum = step->window == 1 ? ack->changed.count : 0;
	for (uint32_t i = 0; step->window > 1 && i < ack->changed.count; i++)
		sum += wire->primary->shared->sweeps[ack->changed.at[i]].last;
	return sum;
}

static void run_wire_acked(void *ctx, const struct step *step, bool counts)
{
	struct wire *wire = ctx;
	uint64_t largest_ns = 0;
	run_wire_fit(wire);
	for (uint32_t i = 0; i < wire->peer_count; i++) {
		run_wire_keep_of(wire, i + 1, step);
		largest_ns = MAX(largest_ns, wire->peers[i].ack.processor_ns);
	}
	wire->counts.largest_part_ns += largest_ns;
	for (uint32_t i = 0; i < wire->peer_count && counts; i++) {
		run_wire_keep_ack_of(&wire->peers[i]);
		wire->counts.robot_steps += run_wire_robot_steps(wire, &wire->peers[i].ack, step);
	}
	uint32_t models = wire->primary->shared->scene->model_count;
	if (edit_is_renewed(&wire->primary->edit) && wire->room)
		memset(wire->statics, 0, wire->room * sizeof *wire->statics);
	if (step->statics_changed && models) /* of an empty world both arrays may be NULL */
		memcpy(wire->statics, step->statics, models * sizeof *wire->statics);
	run_wire_keep_ghosts(wire);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Calls are counted anew in each wire, and the sensors are those of the one before. */
static void run_wire_forget_readings(const struct sensors *sensors)
{
	for (uint32_t m = 0; m < sensors->room; m++)
		for (uint32_t i = 0; i < sensors->sets[m].count; i++)
			sensors->sets[m].at[i].read_in = 0;
}

struct wire *wire_create(struct primary *primary)
{
	struct wire *wire = mem_alloc(sizeof *wire);
	wire->primary = primary;
	wire->peer_count = primary->options.secondaries;
	wire->peers = mem_alloc_lines(wire->peer_count * sizeof *wire->peers);
	run_wire_fit(wire);
	run_wire_forget_readings(primary->shared->sensors);
	primary_go_remote(primary, &(struct primary_remote){run_wire_acked, wire});
	return wire;
}

void wire_destroy(struct wire *wire)
{
	if (!wire)
		return;
	for (uint32_t i = 0; i < wire->peer_count; i++) {
		struct wire_peer *peer = &wire->peers[i];
		vec_free(&peer->pairs);
		vec_free(&peer->changed_before);
		vec_free(&peer->ack.changed);
		vec_free(&peer->ack.leavers);
		vec_free(&peer->ack.hashes);
		vec_free(&peer->ack.costs);
		notes_fini(&peer->notes);
		readings_fini(&peer->readings);
		free(peer->seen);
		vec_free(&peer->sights);
	}
	free(wire->peers);
	free(wire->statics);
	free(wire->ghosts);
	vec_free(&wire->ghost_words);
	vec_free(&wire->ghost_models);
	free(wire->met);
	vec_free(&wire->scratch);
	vec_free(&wire->eyes);
	free(wire);
}

struct wire_counts wire_counts(const struct wire *wire)
{
	return wire->counts;
}

struct physics_stats wire_physics_stats(const struct wire *wire, uint32_t secondary)
{
	return wire->peers[secondary].stats;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Peers forget the statics of a world that is replaced. */
static uint32_t run_wire_has_static(const struct wire *wire, uint32_t model)
{
	return edit_is_renewed(&wire->primary->edit) ? 0 : wire->statics[model];
}

static void run_wire_encode_statics(const struct wire *wire, const struct step *step, struct text *out)
{
	uint32_t models = wire->primary->shared->scene->model_count, count = 0, last = 0;
	for (uint32_t m = 0; m < models; m++)
		count += step->statics[m] != run_wire_has_static(wire, m);
	pack_var(out, count);
	for (uint32_t m = 0; m < models; m++) {
		if (step->statics[m] == run_wire_has_static(wire, m))
			continue;
		pack_var(out, m - last);
		pack_var(out, step->statics[m]);
		last = m;
	}
}

bool wire_is_own(const struct wire *wire, uint32_t secondary, uint32_t model)
{
	return wire->primary->plan.placement.ownership.now.model[model] == secondary + 1;
}

/* Taken over from the same secondary: it has the words already. */
static bool run_wire_is_again(const struct step *step, uint32_t at)
{
	const struct change *take = &step->changes[at];
	const struct change *before = at ? &step->changes[at - 1] : NULL;
	return before && before->kind == CHANGE_RELEASE && before->secondary == take->secondary &&
	       before->id == take->id;
}

static void run_wire_encode_change(struct wire *wire, const struct step *step, uint32_t at, struct text *out)
{
	static const enum wire_change codes[] = {
		[CHANGE_RELEASE] = WIRE_RELEASE,
		[CHANGE_TAKE] = WIRE_TAKE,
		[CHANGE_UNLOAD] = WIRE_UNLOAD,
		[CHANGE_LOAD] = WIRE_LOAD,
		[CHANGE_GHOST_ON] = WIRE_GHOST_ON,
		[CHANGE_GHOST_OFF] = WIRE_GHOST_OFF,
	};
	const struct change *change = &step->changes[at];
	bool again = change->kind == CHANGE_TAKE && run_wire_is_again(step, at);
	pack_var(out, again ? WIRE_TAKE_AGAIN : codes[change->kind]);
	pack_var(out, change->id);
	if (change->kind == CHANGE_TAKE && !again)
		wire_put_all(out, wire->primary->shared->state, change->id);
	if ((change->kind == CHANGE_TAKE && !again) || change->kind == CHANGE_GHOST_ON)
		wire->met[change->id] = wire->calls;
}

static uint32_t run_wire_encode_changes(
	struct wire *wire, uint32_t secondary, const struct step *step, struct text *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < step->change_count; i++)
		count += step->changes[i].secondary == secondary + 1;
	if (!count)
		return 0;
	pack_var(out, count);
	for (uint32_t i = 0; i < step->change_count; i++)
		if (step->changes[i].secondary == secondary + 1)
			run_wire_encode_change(wire, step, i, out);
	return WIRE_CHANGES;
}

/* Models that it has just taken are up to date and are left out. Each model is sent once. */
static uint32_t run_wire_encode_written(struct wire *wire, uint32_t secondary, struct text *out)
{
	const struct shared *shared = wire->primary->shared;
	uint32_t any = 0;
	for (uint32_t i = 0; i < shared->state->written.count; i++) {
		uint32_t model = shared->state->written.at[i];
		if (wire->met[model] == wire->calls || !wire_is_own(wire, secondary, model))
			continue;
		wire->met[model] = wire->calls;
		pack_var(out, (uint64_t)model + 1);
		wire_put_all(out, shared->state, model);
		any = WIRE_WRITTEN;
	}
	if (any)
		pack_var(out, 0);
	return any;
}

static int run_wire_compare(struct physics_pair a, struct physics_pair b)
{
	return a.a != b.a ? (a.a < b.a ? -1 : 1) : a.b != b.b ? (a.b < b.b ? -1 : 1) : 0;
}

/* Both lists are in order. An entry that only one list has is gone, or has come. */
static void run_wire_encode_difference(const struct physics_pair *has, uint32_t has_count,
	const struct physics_pair *wants, uint32_t wants_count, bool gone, struct text *out)
{
	uint32_t last = 0;
	for (uint32_t i = 0, j = 0; i < has_count || j < wants_count;) {
		int order = i == has_count ? 1 : j == wants_count ? -1 : run_wire_compare(has[i], wants[j]);
		if (order < 0 && gone) {
			pack_var(out, i - last + 1);
			last = i;
		} else if (order > 0 && !gone) {
			pack_var(out, (uint64_t)wants[j].a - last + 1);
			pack_var(out, wants[j].b);
			last = wants[j].a;
		}
		i += order <= 0;
		j += order >= 0;
	}
	pack_var(out, 0);
}

static uint32_t run_wire_encode_pairs(const struct wire_peer *peer, const struct step_part *part, struct text *out)
{
	size_t bytes = part->pair_count * sizeof *part->pairs;
	if (part->pair_count == peer->pairs.count && (!bytes || !memcmp(part->pairs, peer->pairs.at, bytes)))
		return 0;
	run_wire_encode_difference(peer->pairs.at, peer->pairs.count, part->pairs, part->pair_count, true, out);
	run_wire_encode_difference(peer->pairs.at, peer->pairs.count, part->pairs, part->pair_count, false, out);
	return WIRE_PAIRS;
}

/* A ghost is not sent again while its bodies are as they were sent. */
static uint32_t run_wire_encode_ghosts(struct wire *wire, uint32_t secondary, struct text *out)
{
	const struct state *state = wire->primary->shared->state;
	const ghost_list *ghosts = &wire->primary->plan.placement.ghosts.now;
	uint32_t any = 0;
	for (uint32_t i = 0; i < ghosts->count; i++) {
		uint32_t model = ghosts->at[i].model, words = run_wire_words_of_bodies(wire, model);
		if (ghosts->at[i].secondary != secondary + 1 || !words)
			continue;
		bool whole = wire->met[model] == wire->calls || !wire->ghosts[model];
		const uint64_t *now = state_words(state, model, false);
		const uint64_t *has = whole ? NULL : &wire->ghost_words.at[wire->ghosts[model] - 1];
		if (!whole && !memcmp(now, has, words * sizeof *now))
			continue;
		pack_var(out, ((uint64_t)model + 1) << 1 | whole);
		pack_var(out, words);
		if (whole)
			wire_put_words(out, now, words);
		else
			wire_put_change(out, has, now, words, &wire->scratch);
		any = WIRE_GHOSTS;
	}
	if (any)
		pack_var(out, 0);
	return any;
}

/* The primary has obeyed the commands. So a command for a model whose words are in this step is left out: the words
 * include its effect. */
static bool run_wire_is_left_out(const struct wire *wire, const struct due_command *command)
{
	return wire->met[command->to.model] == wire->calls;
}

static uint32_t run_wire_encode_commands(struct wire *wire, const struct step_part *part, struct text *out)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < part->command_count; i++)
		count += !run_wire_is_left_out(wire, &part->commands[i]);
	if (!count)
		return 0;
	pack_var(out, count);
	for (uint32_t i = 0; i < part->command_count; i++) {
		const struct system_listener *to = &part->commands[i].to;
		if (run_wire_is_left_out(wire, &part->commands[i]))
			continue;
		pack_var(out, to->model);
		pack_var(out, to->system);
		pack_var(out, to->topic);
		pack_var(out, protobuf_c_message_get_packed_size(part->commands[i].message));
		message_add_bytes(out, part->commands[i].message);
	}
	return WIRE_COMMANDS;
}

static uint32_t run_wire_encode_wrenches(const struct step_part *part, struct text *out)
{
	if (!part->wrench_count)
		return 0;
	pack_var(out, part->wrench_count);
	for (uint32_t i = 0; i < part->wrench_count; i++) {
		pack_var(out, part->wrenches[i].body);
		pack_vec3(out, part->wrenches[i].force);
		pack_vec3(out, part->wrenches[i].torque);
		pack_var(out, part->wrenches[i].lasts ? (uint64_t)part->wrenches[i].link + 1 : 0);
		if (part->wrenches[i].lasts)
			pack_vec3(out, part->wrenches[i].offset);
	}
	return WIRE_WRENCHES;
}

/* The surfaces of static models, which the primary controls. */
static uint32_t run_wire_encode_surfaces(const struct wire *wire, const struct step *step, struct text *out)
{
	const struct primary *primary = wire->primary;
	if (step->paused || !primary->surfaced.count)
		return 0;
	surfaced_pack(primary->shared->scene, &primary->shared->control, &primary->surfaced, out);
	return WIRE_SURFACES;
}

static uint32_t run_wire_plain_flags(const struct wire *wire, const struct wire_peer *peer, const struct step *step)
{
	return (step->paused ? WIRE_PAUSED : 0u) | (step->state_changed ? WIRE_STATE_CHANGED : 0u) |
	       (step->statics_changed ? WIRE_STATICS : 0u) | (step->world_changed ? WIRE_WORLD_CHANGED : 0u) |
	       (step->dt != peer->dt ? WIRE_DT : 0u) | (wire->primary->edit.log.count ? WIRE_EDITS : 0u) |
	       (step->measure ? WIRE_MEASURE : 0u) | (step->window > 1 ? WIRE_WINDOW : 0u) |
	       (step->again ? WIRE_AGAIN : 0u) | step->observe * WIRE_OBSERVE;
}

void wire_encode_step(void *ctx, uint32_t secondary, const void *payload, struct text *out)
{
	struct wire *wire = ctx;
	const struct step *step = payload;
	struct wire_peer *peer = &wire->peers[secondary];
	run_wire_fit(wire);
	wire->calls++;
	size_t begin = out->count;
	uint32_t flags = run_wire_plain_flags(wire, peer, step);
	text_add_bytes(out, "\0\0\0", WIRE_FLAG_BYTES); /* room for the flags, filled in later */
	pack_var(out, (uint64_t)secondary + 1);
	pack_var(out, step->number);
	pack_double(out, step->time_s);
	if (flags & WIRE_DT)
		pack_double(out, step->dt);
	if (flags & WIRE_EDITS)
		edit_pack_log(&wire->primary->edit, out);
	flags |= run_wire_encode_changes(wire, secondary, step, out);
	flags |= run_wire_encode_written(wire, secondary, out);
	if (flags & WIRE_STATICS)
		run_wire_encode_statics(wire, step, out);
	flags |= run_wire_encode_pairs(peer, &step->parts[secondary], out);
	flags |= run_wire_encode_ghosts(wire, secondary, out);
	flags |= run_wire_encode_commands(wire, &step->parts[secondary], out);
	flags |= run_wire_encode_wrenches(&step->parts[secondary], out);
	flags |= run_wire_encode_surfaces(wire, step, out);
	const struct wire_view view = {wire->primary->shared, wire->primary->plan.placement.ownership.now.model,
		secondary + 1, peer->wants, peer->seen, wire->met, wire->calls, &wire->eyes};
	if (wire_put_sense(out, &view, step, &peer->sights))
		flags |= WIRE_SENSE;
	if (flags & WIRE_WINDOW)
		wire_put_window(out, step, &step->parts[secondary]);
	peer->wants_next = wire->primary->shared->sensors->epoch;
	for (uint32_t i = 0; i < WIRE_FLAG_BYTES; i++)
		out->at[begin + i] = (char)(flags >> 8 * i & 0xff);
	peer->step_bytes = out->count - begin;
}

troupe_status wire_give_file(void *ctx, const char *path, struct text *out, struct troupe_error *error)
{
	const struct wire *wire = ctx;
	return files_give(wire->primary->edit.options.files, path, out, error);
}
