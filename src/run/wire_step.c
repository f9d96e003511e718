/* The secondary's side of wire.h. A step is decoded without a look at the world: what it says is compared with the
 * world when the replica follows it. So a step can be decoded again. */
#include "run/wire.h"

#include "geom/pack.h"
#include "run/wire_notes.h"
#include "run/wire_sense.h"
#include "run/wire_window.h"
#include "run/wire_words.h"

#include <string.h>

static troupe_status wire_step_bad(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "%s", what);
}

/* --- the parts of a step ------------------------------------------------------------------------------------------ */

static const char *wire_step_get_bytes(struct unpack *in, size_t count)
{
	const char *bytes = in->at;
	if (in->bad || (size_t)(in->end - in->at) < count) {
		in->bad = true;
		return NULL;
	}
	in->at += count;
	return bytes;
}

static struct replica_words wire_step_get_words(struct unpack *in, uint32_t model)
{
	struct replica_words words = {.model = model, .count = unpack_var_count(in, UINT32_MAX)};
	words.bytes = wire_step_get_bytes(in, (size_t)words.count * 8);
	return words;
}

static troupe_status wire_step_get_change(
	struct unpack *in, uint32_t number, struct replica_step *step, struct troupe_error *error)
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
	uint32_t code = unpack_var_count(in, ARRAY_LEN(kinds) - 1);
	if (in->bad)
		return wire_step_bad(error, "an unknown kind of change");
	struct replica_change change = {
		.change = {kinds[code], number, unpack_var_count(in, UINT32_MAX)}, .again = code == WIRE_TAKE_AGAIN};
	if (code == WIRE_TAKE)
		change.words = wire_step_get_words(in, change.change.id);
	vec_push(&step->changes, change);
	return TROUPE_OK;
}

static troupe_status wire_step_get_changes(
	struct unpack *in, uint32_t number, struct replica_step *step, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !status && !in->bad; i++)
		status = wire_step_get_change(in, number, step, error);
	return status;
}

/* The number of a model, plus 1; false: the list ends. */
static bool wire_step_get_model(struct unpack *in, uint32_t *ret_model)
{
	uint32_t code = unpack_var_count(in, UINT32_MAX);
	*ret_model = code - 1;
	return code && !in->bad;
}

static troupe_status wire_step_get_written(struct unpack *in, struct replica_step *step)
{
	for (uint32_t model; wire_step_get_model(in, &model);)
		vec_push(&step->written, wire_step_get_words(in, model));
	return TROUPE_OK;
}

/* A sum that does not fit sets in->bad. */
static uint32_t wire_step_add(struct unpack *in, uint32_t last, uint64_t by)
{
	in->bad |= by > UINT32_MAX - last;
	return in->bad ? 0 : last + (uint32_t)by;
}

static troupe_status wire_step_get_statics(struct unpack *in, struct replica_step *step, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	uint32_t last = 0;
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint64_t by = unpack_var(in);
		uint32_t value = unpack_var_count(in, UINT32_MAX);
		if (!in->bad && i && !by)
			return fail(error, TROUPE_EPROTOCOL, "model %u is to be a static one, twice", last);
		last = wire_step_add(in, last, by);
		vec_push(&step->statics, (struct replica_static){last, value});
	}
	return TROUPE_OK;
}

static troupe_status wire_step_get_pairs(struct unpack *in, struct replica_step *step)
{
	struct physics_pair pair = {0, 0};
	uint32_t at = 0;
	step->pairs_changed = true;
	for (uint64_t by; (by = unpack_var(in)) && !in->bad;) {
		at = wire_step_add(in, at, by - 1);
		in->bad |= by == 1 && step->pairs_gone.count;
		vec_push(&step->pairs_gone, at);
	}
	for (uint64_t by; (by = unpack_var(in)) && !in->bad;) {
		pair.a = wire_step_add(in, pair.a, by - 1);
		pair.b = unpack_var_count(in, UINT32_MAX);
		vec_push(&step->pairs_come, pair);
	}
	return TROUPE_OK;
}

/* The bits of which words changed, and these words. */
static size_t wire_step_changed_bytes(const struct unpack *in, uint32_t words)
{
	size_t bits = (words + 7) / 8, changed = 0;
	for (size_t i = 0; i < bits && i < (size_t)(in->end - in->at); i++)
		changed += (size_t)__builtin_popcount((unsigned char)in->at[i]);
	return bits + changed * 8;
}

static troupe_status wire_step_get_ghosts(struct unpack *in, struct replica_step *step)
{
	for (uint64_t code; (code = unpack_var(in)) && !in->bad;) {
		struct replica_ghost ghost = {.whole = code & 1};
		ghost.count = unpack_var_count(in, UINT32_MAX / 8);
		if (code >> 1 > UINT32_MAX || !(code >> 1))
			in->bad = true;
		if (in->bad)
			break;
		ghost.model = (uint32_t)(code >> 1) - 1;
		ghost.byte_count = ghost.whole ? (size_t)ghost.count * 8 : wire_step_changed_bytes(in, ghost.count);
		ghost.bytes = wire_step_get_bytes(in, ghost.byte_count);
		vec_push(&step->ghosts, ghost);
	}
	return TROUPE_OK;
}

static troupe_status wire_step_get_commands(struct unpack *in, struct replica_step *step)
{
	uint64_t count = unpack_var(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct replica_command command = {.to = {.model = unpack_var_count(in, UINT32_MAX)}};
		command.to.system = unpack_var_count(in, UINT32_MAX);
		command.to.topic = unpack_var_count(in, UINT32_MAX);
		command.byte_count = unpack_var_count(in, UINT32_MAX);
		command.bytes = wire_step_get_bytes(in, command.byte_count);
		vec_push(&step->commands, command);
	}
	return TROUPE_OK;
}

static troupe_status wire_step_get_wrenches(struct unpack *in, struct replica_step *step)
{
	uint64_t count = unpack_var(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct due_wrench wrench = {.body = unpack_var_count(in, UINT32_MAX)};
		wrench.force = unpack_vec3(in);
		wrench.torque = unpack_vec3(in);
		uint32_t link = unpack_var_count(in, UINT32_MAX);
		wrench.lasts = link;
		wrench.link = wrench.lasts ? link - 1 : 0;
		if (wrench.lasts)
			wrench.offset = unpack_vec3(in);
		vec_push(&step->wrenches, wrench);
	}
	return TROUPE_OK;
}

static troupe_status wire_step_get_surfaces(struct unpack *in, struct replica_step *step)
{
	for (struct surfaced_geom geom; surfaced_unpack(in, &geom);)
		vec_push(&step->surfaces, geom);
	return TROUPE_OK;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static troupe_status wire_step_get_head(
	struct unpack *in, uint32_t number, struct replica_step *step, uint32_t *ret_flags, struct troupe_error *error)
{
	uint32_t flags = 0;
	if (in->end - in->at < WIRE_FLAG_BYTES)
		return wire_step_bad(error, "it is cut off");
	for (uint32_t i = 0; i < WIRE_FLAG_BYTES; i++)
		flags |= (uint32_t)(unsigned char)*in->at++ << 8 * i;
	uint32_t whose = unpack_var_count(in, UINT32_MAX);
	if (!in->bad && whose != number)
		return fail(error, TROUPE_EPROTOCOL, "it is for secondary %u: expected %u", whose, number);
	step->number = unpack_var(in);
	step->time_s = unpack_double(in);
	if (flags & WIRE_DT)
		step->dt = unpack_double(in);
	if (in->bad || (flags & ~(uint32_t)WIRE_FLAGS) ||
		((flags & WIRE_DT) && !(step->dt >= SDF_STEP_MIN && step->dt <= 1e6)))
		return wire_step_bad(error, "its beginning");
	step->paused = flags & WIRE_PAUSED;
	step->state_changed = flags & WIRE_STATE_CHANGED;
	step->statics_changed = flags & WIRE_STATICS;
	step->world_changed = flags & WIRE_WORLD_CHANGED;
	step->measure = flags & WIRE_MEASURE;
	step->again = flags & WIRE_AGAIN;
	step->observe = flags / WIRE_OBSERVE & OBSERVE_ALL;
	*ret_flags = flags;
	return TROUPE_OK;
}

static troupe_status wire_step_get_part(
	struct unpack *in, uint32_t part, uint32_t number, struct replica_step *step, struct troupe_error *error)
{
	switch (part) {
	case WIRE_EDITS:
		return edit_unpack_log(in, &step->edits, error);
	case WIRE_CHANGES:
		return wire_step_get_changes(in, number, step, error);
	case WIRE_WRITTEN:
		return wire_step_get_written(in, step);
	case WIRE_STATICS:
		return wire_step_get_statics(in, step, error);
	case WIRE_PAIRS:
		return wire_step_get_pairs(in, step);
	case WIRE_GHOSTS:
		return wire_step_get_ghosts(in, step);
	case WIRE_COMMANDS:
		return wire_step_get_commands(in, step);
	case WIRE_SURFACES:
		return wire_step_get_surfaces(in, step);
	case WIRE_SENSE:
		return wire_get_sense(in, &step->sense, error);
	case WIRE_WINDOW:
		return wire_get_window(in, step, error);
	}
	return wire_step_get_wrenches(in, step);
}

static troupe_status wire_step_get(
	struct unpack *in, uint32_t number, struct replica_step *step, struct troupe_error *error)
{
	static const uint32_t parts[] = {WIRE_EDITS, WIRE_CHANGES, WIRE_WRITTEN, WIRE_STATICS, WIRE_PAIRS, WIRE_GHOSTS,
		WIRE_COMMANDS, WIRE_WRENCHES, WIRE_SURFACES, WIRE_SENSE, WIRE_WINDOW};
	uint32_t flags = 0;
	troupe_status status = wire_step_get_head(in, number, step, &flags, error);
	for (size_t i = 0; i < ARRAY_LEN(parts) && !status && !in->bad; i++)
		if (flags & parts[i])
			status = wire_step_get_part(in, parts[i], number, step, error);
	if (!status && (in->bad || in->at != in->end))
		status = wire_step_bad(
			error, in->bad ? "it is cut off, or a number is out of range" : "bytes after its end");
	return status;
}

troupe_status wire_decode_step(
	uint32_t number, const char *bytes, size_t count, struct replica_step *ret_step, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	struct troupe_error why;
	replica_step_clear(ret_step);
	if (wire_step_get(&in, number, ret_step, &why))
		return fail(error, TROUPE_EPROTOCOL, "its step: %s", why.text);
	return TROUPE_OK;
}

/* --- acks --------------------------------------------------------------------------------------------------------- */

static void wire_step_put_stats(const struct replica_report *report, uint64_t processor_ns, struct text *out)
{
	const struct physics_stats *now = &report->stats, *before = &report->stats_before;
	pack_var(out, report->ack->busy_ns);
	pack_var(out, report->ack->waited_ns);
	pack_var(out, processor_ns);
	pack_var(out, now->contacts - before->contacts);
	pack_var(out, now->regroups - before->regroups);
	pack_var(out, now->lost - before->lost);
	pack_var(out, now->exact - before->exact);
	pack_var(out, now->soft - before->soft);
	for (int i = 0; i < PHYSICS_LEFT_COUNT; i++)
		pack_var(out, now->left[i] - before->left[i]);
	pack_var(out, now->groups);
}

static void wire_step_put_list(const struct replica_report *report, struct text *out)
{
	const struct ack *ack = report->ack;
	uint32_t count = ack->changed.count, last = 0;
	size_t bytes = count * sizeof *ack->changed.at;
	bool same = count == report->changed_before_count &&
		    (!bytes || !memcmp(ack->changed.at, report->changed_before, bytes));
	pack_var(out, (uint64_t)count << 1 | same);
	for (uint32_t i = 0; !same && i < count; i++) {
		wire_put_step(out, last, ack->changed.at[i]);
		last = ack->changed.at[i];
	}
}

void wire_encode_ack(struct replica *replica, wire_scratch *scratch, uint64_t processor_ns, struct text *out)
{
	const struct replica_report report = replica_report(replica);
	const struct shared *shared = replica_shared(replica);
	const struct ack *ack = report.ack;
	pack_var(out, ack->number);
	pack_var(out, (uint64_t)ack->status);
	wire_step_put_stats(&report, processor_ns, out);
	if (ack->status) {
		pack_string(out, ack->error.text);
		pack_var(out, ack->diverged == SCENE_NONE ? 0 : ack->diverged + 1);
		return;
	}
	wire_step_put_list(&report, out);
	for (uint32_t i = 0; i < ack->changed.count; i++)
		wire_put_next(out, shared->state, ack->changed.at[i], scratch);
	for (uint32_t i = 0; report.step->measure && i < ack->changed.count; i++)
		pack_var(out, shared->costs.ns[ack->changed.at[i]]);
	if (report.step->observe && !report.step->paused)
		wire_put_notes(out, report.step->observe, shared->scene, ack);
	if (shared->sensors->wanted && !report.step->paused)
		wire_put_readings(out, ack->readings);
	if (report.step->window > 1)
		wire_put_sweeps(out, report.step, ack, shared->sweeps);
}
