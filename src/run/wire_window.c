/* The boxes that models sweep travel as floats, rounded outwards: a proof for the larger boxes is one for the boxes.
 * What the state depends on, an origin in the last state but one, travels as it is. */
#include "run/wire_window.h"

#include "geom/pack.h"

#include <math.h>
#include <string.h>

enum { WIRE_WINDOW_HASHES = 4 }; /* beside an enum step_origins */

static void wire_window_put_float(struct text *out, double value, bool up)
{
	float as = (float)value;
	if (up ? (double)as < value : (double)as > value)
		as = nextafterf(as, up ? INFINITY : -INFINITY);
	uint32_t bits;
	memcpy(&bits, &as, sizeof bits);
	for (int i = 0; i < 4; i++)
		text_add_bytes(out, &(char){(char)(bits >> 8 * i & 0xff)}, 1);
}

static double wire_window_get_float(struct unpack *in)
{
	uint32_t bits = 0;
	float value;
	if (in->end - in->at < 4) {
		in->bad = true;
		return 0;
	}
	for (int i = 0; i < 4; i++)
		bits |= (uint32_t)(unsigned char)*in->at++ << 8 * i;
	memcpy(&value, &bits, sizeof value);
	return (double)value;
}

static void wire_window_put_box(struct text *out, const struct aabb *box)
{
	const double at[] = {box->lo.x, box->lo.y, box->lo.z, box->hi.x, box->hi.y, box->hi.z};
	for (int i = 0; i < 6; i++)
		wire_window_put_float(out, at[i], i >= 3);
}

/* Within the bounds of a state, with some room for the sizes of models. */
static struct aabb wire_window_get_box(struct unpack *in)
{
	double at[6];
	for (int i = 0; i < 6; i++) {
		at[i] = wire_window_get_float(in);
		in->bad |= !(fabs(at[i]) <= 2 * PHYSICS_POSITION_MAX) || (i >= 3 && at[i] < at[i - 3]);
	}
	return (struct aabb){{at[0], at[1], at[2]}, {at[3], at[4], at[5]}};
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

void wire_put_window(struct text *out, const struct step *step, const struct step_part *part)
{
	uint32_t last = 0;
	pack_var(out, step->window);
	pack_var(out, (uint64_t)step->origins | (step->hashes ? WIRE_WINDOW_HASHES : 0u));
	pack_double(out, step->even_since_s);
	pack_var(out, step->even_steps);
	for (uint32_t i = 0; i < part->near_count; i++) {
		pack_var(out, (uint64_t)part->near[i].a - last + 1);
		pack_var(out, part->near[i].b);
		last = part->near[i].a;
	}
	pack_var(out, 0);
}

troupe_status wire_get_window(struct unpack *in, struct replica_step *ret_step, struct troupe_error *error)
{
	struct physics_pair pair = {0, 0};
	ret_step->window = unpack_var_count(in, TROUPE_WINDOW_MAX);
	uint32_t flags = unpack_var_count(in, 3 | WIRE_WINDOW_HASHES);
	ret_step->even_since_s = unpack_double(in);
	ret_step->even_steps = unpack_var(in);
	ret_step->hashes = flags & WIRE_WINDOW_HASHES;
	flags &= ~(uint32_t)WIRE_WINDOW_HASHES;
	ret_step->origins = (enum step_origins)flags;
	if (in->bad || ret_step->window < 2 || flags > STEP_ORIGINS_ALL || !isfinite(ret_step->even_since_s) ||
		ret_step->even_steps > UINT64_C(1) << 53)
		return fail(error, TROUPE_EPROTOCOL, "the length of a window");
	if (ret_step->paused)
		return fail(error, TROUPE_EPROTOCOL, "a window that is paused");
	for (uint64_t by; (by = unpack_var(in)) && !in->bad;) {
		in->bad |= by - 1 > UINT32_MAX - pair.a;
		pair.a = in->bad ? 0 : pair.a + (uint32_t)(by - 1);
		pair.b = unpack_var_count(in, UINT32_MAX);
		vec_push(&ret_step->near, pair);
	}
	return TROUPE_OK;
}

/* --- acks --------------------------------------------------------------------------------------------------------- */

void wire_put_sweeps(struct text *out, const struct step *step, const struct ack *ack, const struct touch_sweep *sweeps)
{
	pack_var(out, ack->good);
	for (uint32_t i = 0; i < ack->changed.count; i++) {
		const struct touch_sweep *sweep = &sweeps[ack->changed.at[i]];
		pack_var(out, step->window - sweep->last);
		wire_window_put_box(out, &sweep->box);
		if (step->origins)
			pack_vec3(out, sweep->before);
		if (step->origins == STEP_ORIGINS_ALL) {
			pack_vec3(out, sweep->origin.lo);
			pack_vec3(out, sweep->origin.hi);
		}
	}
	for (uint32_t i = 0; i < ack->hashes.count; i++)
		pack_u64(out, ack->hashes.at[i]);
}

troupe_status wire_get_sweeps(struct unpack *in, const struct step *step, struct ack *ack, struct touch_sweep *sweeps,
	struct troupe_error *error)
{
	ack->good = unpack_var_count(in, step->window);
	if (!in->bad && ack->good < step->window && ack->changed.count)
		return fail(error, TROUPE_EPROTOCOL, "models moved in a window that failed");
	for (uint32_t i = 0; i < ack->changed.count && !in->bad; i++) {
		struct touch_sweep *sweep = &sweeps[ack->changed.at[i]];
		sweep->mark = step->mark;
		sweep->last = (uint16_t)(step->window - unpack_var_count(in, step->window - 1));
		sweep->box = wire_window_get_box(in);
		if (step->origins)
			sweep->before = unpack_vec3(in);
		if (step->origins == STEP_ORIGINS_ALL) {
			sweep->origin.lo = unpack_vec3(in);
			sweep->origin.hi = unpack_vec3(in);
		}
		in->bad |= step->origins && !vec3_within(sweep->before, 2 * PHYSICS_POSITION_MAX);
		in->bad |= step->origins == STEP_ORIGINS_ALL &&
			   (!vec3_within(sweep->origin.lo, 2 * PHYSICS_POSITION_MAX) ||
				   !vec3_within(sweep->origin.hi, 2 * PHYSICS_POSITION_MAX));
	}
	ack->hashes.count = 0;
	for (uint32_t i = 0; step->hashes && i < step->window && !in->bad; i++)
		vec_push(&ack->hashes, unpack_u64(in));
	return TROUPE_OK;
}

/* What a model swept in between cannot be checked, but its last state is one of those that it was in. A box whose sides
 * are exchanged holds nothing. */
troupe_status wire_check_sweeps(
	const struct shared *shared, const struct step *step, const struct ack *ack, struct troupe_error *error)
{
	for (uint32_t i = 0; i < ack->changed.count; i++) {
		const uint32_t model = ack->changed.at[i];
		const struct scene_model *m = &shared->scene->models[model];
		if (!m->body_count)
			continue;
		const struct touch_sweep *sweep = &shared->sweeps[model];
		const struct aabb box = state_model_box(shared->state, model, true);
		if (!aabb_within(&box, &sweep->box))
			return fail(
				error, TROUPE_EPROTOCOL, "the box that model '%.100s' swept does not hold it", m->name);
		const struct vec3 at = state_model_pose(shared->state, model, true).p;
		if (step->origins == STEP_ORIGINS_ALL && !aabb_within(&(struct aabb){at, at}, &sweep->origin))
			return fail(error, TROUPE_EPROTOCOL, "the box of the origin of model '%.100s' does not hold it",
				m->name);
	}
	return TROUPE_OK;
}
