/* An ack is decoded into the memory of its peer, and counts only when run_wire_acked() has taken it up: so it can be
 * decoded again, or be dropped. */
#include "run/wire_internal.h"

#include "base/clock.h"
#include "geom/pack.h"
#include "run/wire_words.h"

#include <stdlib.h>
#include <string.h>

static void wire_ack_decode_stats(struct wire_peer *peer, struct unpack *in)
{
	peer->ack.busy_ns = unpack_var(in);
	peer->ack.waited_ns = unpack_var(in);
	peer->ack.processor_ns = unpack_var(in);
	peer->ack.end_ns = clock_now_ns(); /* the peer's clock may differ */
	peer->ack.begin_ns = peer->ack.end_ns - peer->ack.busy_ns;
	peer->stats_next.contacts = peer->stats.contacts + unpack_var(in);
	peer->stats_next.regroups = peer->stats.regroups + unpack_var(in);
	peer->stats_next.lost = peer->stats.lost + unpack_var(in);
	peer->stats_next.exact = peer->stats.exact + unpack_var(in);
	peer->stats_next.soft = peer->stats.soft + unpack_var(in);
	for (int i = 0; i < PHYSICS_LEFT_COUNT; i++)
		peer->stats_next.left[i] = peer->stats.left[i] + unpack_var(in);
	peer->stats_next.groups = unpack_var_count(in, UINT32_MAX);
}

static troupe_status wire_ack_decode_list(
	struct wire *wire, struct wire_peer *peer, struct unpack *in, struct troupe_error *error)
{
	uint64_t code = unpack_var(in);
	uint32_t models = wire->primary->shared->scene->model_count, last = 0;
	if (code >> 1 > models)
		return fail(error, TROUPE_EPROTOCOL, "more models moved than exist");
	if (code & 1 && code >> 1 != peer->changed_before.count)
		return fail(error, TROUPE_EPROTOCOL, "another number of models than before");
	if (code > 1 && code & 1)
		memcpy(vec_append(&peer->ack.changed, peer->changed_before.count), peer->changed_before.at,
			peer->changed_before.count * sizeof *peer->changed_before.at);
	if (code & 1)
		return TROUPE_OK;
	for (uint64_t i = 0; i < code >> 1 && !in->bad; i++)
		vec_push(&peer->ack.changed, last = wire_get_step(in, last, models - 1));
	return TROUPE_OK;
}

static troupe_status wire_ack_decode_model(
	struct wire *wire, uint32_t secondary, uint32_t model, struct unpack *in, struct troupe_error *error)
{
	struct shared *shared = wire->primary->shared;
	if (model >= shared->scene->model_count)
		return fail(error, TROUPE_EPROTOCOL, "model %u does not exist", model);
	const char *name = shared->scene->models[model].name;
	if (!wire_is_own(wire, secondary, model))
		return fail(error, TROUPE_EPROTOCOL, "model '%.100s', which it does not simulate, moves", name);
	if (wire->met[model] == wire->calls)
		return fail(error, TROUPE_EPROTOCOL, "model '%.100s' moves twice", name);
	wire->met[model] = wire->calls;
	if (!wire_get_next(in, shared->state, model) || !edit_words_sane(shared->state, model, true))
		return fail(error, TROUPE_EPROTOCOL, "the state of model '%.100s' is not valid", name);
	return TROUPE_OK;
}

/* ack->changed is filled already. A step in which no model moves has no notes. */
static troupe_status wire_ack_decode_notes(
	struct wire *wire, struct wire_peer *peer, struct unpack *in, struct troupe_error *error)
{
	const struct step *step = &wire->primary->step;
	const struct wire_changed changed = {wire->primary->shared->scene, wire->met, wire->calls};
	if (!step->observe || step->paused)
		return TROUPE_OK;
	return wire_get_notes(in, step->observe, &changed, &peer->ack, &peer->notes, error);
}

static troupe_status wire_ack_decode_readings(
	struct wire *wire, uint32_t secondary, struct unpack *in, struct troupe_error *error)
{
	struct wire_peer *peer = &wire->peers[secondary];
	const struct wire_sensed sensed = {wire->primary->shared->scene, wire->primary->shared->sensors,
		&wire->primary->step, wire->primary->plan.placement.ownership.now.model, secondary + 1, wire->calls};
	readings_clear(&peer->readings);
	if (!sensed.sensors->wanted || wire->primary->step.paused)
		return TROUPE_OK;
	peer->ack.readings = &peer->readings;
	return wire_get_readings(in, &sensed, &peer->readings, error);
}

static void wire_ack_decode_costs(struct ack *ack, struct unpack *in)
{
	for (uint32_t i = 0; i < ack->changed.count && !in->bad; i++)
		vec_push(&ack->costs, unpack_var_count(in, UINT32_MAX));
}

static troupe_status wire_ack_decode_failure(
	struct ack *ack, uint32_t models, struct unpack *in, struct troupe_error *error)
{
	char *text = unpack_string(in);
	uint32_t diverged = unpack_var_count(in, models);
	ack->diverged = diverged ? diverged - 1 : SCENE_NONE;
	troupe_status status = in->bad || (ack->status != TROUPE_EDIVERGED && ack->status != TROUPE_EINTERNAL &&
						  ack->status != TROUPE_EIO)
				       ? fail(error, TROUPE_EPROTOCOL, "an unknown kind of failure")
				       : TROUPE_OK;
	if (!status)
		(void)fail(&ack->error, ack->status, "%s", text);
	free(text);
	return status;
}

static troupe_status wire_ack_decode_window(
	const struct wire *wire, struct ack *ack, struct unpack *in, struct troupe_error *error)
{
	const struct shared *shared = wire->primary->shared;
	const struct step *step = &wire->primary->step;
	troupe_status status = wire_get_sweeps(in, step, ack, shared->sweeps, error);
	return status || in->bad ? status : wire_check_sweeps(shared, step, ack, error);
}

static troupe_status wire_ack_decode_ack(
	struct wire *wire, uint32_t secondary, struct unpack *in, struct troupe_error *error)
{
	struct wire_peer *peer = &wire->peers[secondary];
	struct ack *ack = &peer->ack;
	troupe_status status = TROUPE_OK;
	wire->calls++;
	ack->secondary = secondary + 1;
	ack->changed.count = ack->leavers.count = ack->costs.count = ack->stepped = 0;
	ack->diverged = SCENE_NONE;
	ack->notes = NULL;
	ack->readings = NULL;
	ack->number = unpack_var(in);
	ack->status = (troupe_status)unpack_var_count(in, INT32_MAX);
	wire_ack_decode_stats(peer, in);
	if (!in->bad && ack->status)
		status = wire_ack_decode_failure(ack, wire->primary->shared->scene->model_count, in, error);
	else if (!in->bad)
		status = wire_ack_decode_list(wire, peer, in, error);
	for (uint32_t i = 0; i < ack->changed.count && !status && !in->bad; i++)
		status = wire_ack_decode_model(wire, secondary, ack->changed.at[i], in, error);
	if (!status && !in->bad && !ack->status && wire->primary->step.measure)
		wire_ack_decode_costs(ack, in);
	if (!status && !in->bad && !ack->status)
		status = wire_ack_decode_notes(wire, peer, in, error);
	if (!status && !in->bad && !ack->status)
		status = wire_ack_decode_readings(wire, secondary, in, error);
	ack->good = wire->primary->step.window;
	ack->hashes.count = 0;
	if (!status && !in->bad && !ack->status && ack->good > 1)
		status = wire_ack_decode_window(wire, ack, in, error);
	if (!status && in->bad)
		status = fail(error, TROUPE_EPROTOCOL, "it is cut off, or a number is out of range");
	if (!status && in->at != in->end)
		status = fail(error, TROUPE_EPROTOCOL, "bytes after its end");
	if (!status && wire->primary->step.paused && ack->changed.count)
		status = fail(error, TROUPE_EPROTOCOL, "models moved in a paused step");
	return status;
}

troupe_status wire_decode_ack(void *ctx, uint32_t secondary, const char *bytes, size_t count,
	struct transport_message *ret_ack, struct troupe_error *error)
{
	struct wire *wire = ctx;
	struct unpack in = {bytes, bytes + count, false};
	struct troupe_error why;
	wire->peers[secondary].ack_bytes = count;
	if (wire_ack_decode_ack(wire, secondary, &in, &why))
		return fail(error, TROUPE_EPROTOCOL, "its ack: %s", why.text);
	*ret_ack = (struct transport_message){
		.number = wire->peers[secondary].ack.number, .payload = &wire->peers[secondary].ack};
	return TROUPE_OK;
}
