/* The time of a reading is not sent: it follows from the step and the group of the sensor. */
#include "run/wire_sense.h"

#include "run/sense.h"
#include "sensor/sampler.h"

#include "base/hash.h"
#include "run/wire_words.h"

#include <string.h>

enum { CHANGE_NONE, CHANGE_LIST, CHANGE_ALL };

#define SPAN_MAX_NS (INT64_C(1) << 62)

static void wire_sense_put_wanted(struct text *out, const struct sensors *sensors)
{
	uint32_t last = 0;
	pack_var(out, sensors->wanted);
	for (uint32_t m = 0; m < sensors->room; m++)
		for (uint32_t i = 0; i < sensors->sets[m].count; i++) {
			if (!sensors->sets[m].at[i].wanted)
				continue;
			pack_var(out, m - last);
			pack_var(out, i);
			last = m;
		}
}

/* --- what it sees ------------------------------------------------------------------------------------------------- */

static bool wire_sense_measures(const struct wire_view *view, const struct step *step, uint32_t model)
{
	const struct scene_model *m = &view->shared->scene->models[model];
	return m->id && !m->absent &&
	       (m->body_count ? view->owner[model] : sense_statics_by(model, step->secondaries)) == view->secondary;
}

/* Where the model may have been in the scan of a lidar that measures while things move, by its velocities: see
 * rays_box(). */
static struct aabb wire_sense_swept(const struct wire_view *view, uint32_t model, struct aabb box)
{
	const struct body_state *bodies = state_bodies(view->shared->state, model, false);
	double sweep_s = view->shared->sensors->sweep_s, most = 0;
	if (!(sweep_s > 0))
		return box;
	double size = vec3_length(vec3_sub(box.hi, box.lo));
	for (uint32_t b = 0; b < view->shared->scene->models[model].body_count; b++)
		most = fmax(
			most, vec3_length(bodies[b].v) * sweep_s + fmin(vec3_length(bodies[b].w) * sweep_s, 2) * size);
	return aabb_grow(box, most);
}

static void wire_sense_find_eyes(const struct wire_view *view, const struct step *step)
{
	const struct sensors *sensors = view->shared->sensors;
	for (uint32_t m = 0; m < view->shared->scene->model_count; m++)
		for (uint32_t i = 0; i < sensors->sets[m].count && wire_sense_measures(view, step, m); i++) {
			const struct sensor *sensor = &sensors->sets[m].at[i];
			if (!sensor_is_due(sensors, sensor, SENSOR_OF_WORLD))
				continue;
			struct sight sight;
			sight_of(sensors, view->shared->state, sensor, &sight);
			vec_push(view->eyes, sight);
		}
}

static bool wire_sense_is_seen(const struct wire_view *view, uint32_t model)
{
	const struct scene_model *m = &view->shared->scene->models[model];
	struct aabb box;
	bool seen = false;
	if (!m->id || m->absent || !m->body_count || view->owner[model] == view->secondary)
		return false;
	if (!view->shared->sensors->rays || !rays_box(view->shared->sensors->rays, model, &box))
		box = wire_sense_swept(view, model, view->shared->boxes[model].box);
	/* a logical camera finds it by its place, which may be outside of all its shapes */
	struct vec3 at = state_model_pose(view->shared->state, model, false).p;
	box = aabb_join(box, (struct aabb){at, at});
	bool shines = lights_are_on(view->shared->scene, model);
	for (uint32_t i = 0; i < view->eyes->count && !seen; i++)
		seen = (shines && view->eyes->at[i].colours) || sight_may_meet(&view->eyes->at[i], &box);
	return seen;
}

static void wire_sense_put_sight(
	struct text *out, const struct wire_view *view, uint32_t model, wire_sights *ret_sights)
{
	const struct scene_model *m = &view->shared->scene->models[model];
	uint32_t words = m->body_count * (uint32_t)(sizeof(struct body_state) / 8);
	const uint64_t *now = state_words(view->shared->state, model, false);
	uint64_t hash = hash_words(1, now, words);
	bool known = view->seen[model] == hash && view->met[model] != view->call;
	pack_var(out, (uint64_t)model + 1);
	pack_var(out, known ? 0 : words);
	if (!known)
		wire_put_words(out, now, words);
	vec_push(ret_sights, (struct wire_sight){model, hash});
}

/* 0: no sensor of the secondary sees; otherwise 1, and the models that it sees, each as its place plus 1; 0 ends. */
static void wire_sense_put_sights(
	struct text *out, const struct wire_view *view, const struct step *step, wire_sights *ret_sights)
{
	view->eyes->count = 0;
	ret_sights->count = 0;
	if (view->shared->sensors->due_world && !step->paused)
		wire_sense_find_eyes(view, step);
	pack_var(out, view->eyes->count > 0);
	for (uint32_t m = 0; m < view->shared->scene->model_count && view->eyes->count; m++)
		if (wire_sense_is_seen(view, m))
			wire_sense_put_sight(out, view, m, ret_sights);
	if (view->eyes->count)
		pack_var(out, 0);
}

static void wire_sense_get_sights(struct unpack *in, struct replica_sense *ret)
{
	ret->sees = unpack_var_count(in, 1);
	while (ret->sees && !in->bad) {
		uint32_t code = unpack_var_count(in, UINT32_MAX);
		if (!code)
			break;
		struct replica_words seen = {
			.model = code - 1, .count = unpack_var_count(in, UINT32_MAX), .bytes = in->at};
		in->bad |= (size_t)(in->end - in->at) < (size_t)seen.count * 8;
		if (in->bad)
			break;
		in->at += (size_t)seen.count * 8;
		vec_push(&ret->seen, seen);
	}
}

/* --- which measure, and when -------------------------------------------------------------------------------------- */

bool wire_put_sense(struct text *out, const struct wire_view *view, const struct step *step, wire_sights *ret_sights)
{
	const struct sensors *sensors = view->shared->sensors;
	bool changed = view->known != sensors->epoch;
	ret_sights->count = 0;
	if (!sensors->wanted && !changed)
		return false;
	pack_var(out, step->secondaries);
	pack_var(out, (uint64_t)(step->times.now_ns - step->times.seen_ns));
	pack_var(out, (uint64_t)(step->times.next_ns - step->times.now_ns));
	pack_var(out, !changed ? CHANGE_NONE : sensors->all ? CHANGE_ALL : CHANGE_LIST);
	if (changed && sensors->all)
		pack_var(out, sensors->wanted);
	else if (changed)
		wire_sense_put_wanted(out, sensors);
	pack_var(out, step->paused ? 0 : sensors->fired.count);
	for (uint32_t i = 0; i < sensors->fired.count && !step->paused; i++) {
		pack_var(out, sensors->fired.at[i].model);
		pack_var(out, sensors->fired.at[i].index);
	}
	wire_sense_put_sights(out, view, step, ret_sights);
	return true;
}

static int64_t wire_sense_get_span(struct unpack *in)
{
	uint64_t span = unpack_var(in);
	in->bad |= span > (uint64_t)SPAN_MAX_NS;
	return in->bad ? 0 : (int64_t)span;
}

troupe_status wire_get_sense(struct unpack *in, struct replica_sense *ret, struct troupe_error *error)
{
	ret->secondaries = unpack_var_count(in, UINT32_MAX);
	ret->since_ns = wire_sense_get_span(in);
	ret->step_ns = wire_sense_get_span(in);
	uint32_t change = unpack_var_count(in, CHANGE_ALL);
	ret->changed = change != CHANGE_NONE;
	ret->all = change == CHANGE_ALL;
	if (!in->bad && !ret->secondaries)
		return fail(error, TROUPE_EPROTOCOL, "sensors of no secondary");
	uint64_t count = change == CHANGE_LIST ? unpack_var(in) : 0;
	ret->count = change == CHANGE_ALL ? unpack_var_count(in, UINT32_MAX) : (uint32_t)count;
	uint32_t model = 0;
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint64_t by = unpack_var(in);
		in->bad |= by > UINT32_MAX - model;
		model += in->bad ? 0 : (uint32_t)by;
		vec_push(&ret->wanted, (struct replica_sensor){model, unpack_var_count(in, UINT32_MAX)});
	}
	count = unpack_var(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint32_t fired = unpack_var_count(in, UINT32_MAX);
		vec_push(&ret->fired, (struct replica_sensor){fired, unpack_var_count(in, UINT32_MAX)});
	}
	wire_sense_get_sights(in, ret);
	return TROUPE_OK;
}

/* --- readings ----------------------------------------------------------------------------------------------------- */

void wire_put_readings(struct text *out, const struct readings *readings)
{
	pack_var(out, readings ? readings->list.count : 0);
	for (uint32_t i = 0; readings && i < readings->list.count; i++) {
		const struct reading *reading = &readings->list.at[i];
		pack_var(out, reading->model);
		pack_var(out, reading->index);
		pack_var(out, reading->count);
		text_add_bytes(out, (const char *)readings_numbers(readings, reading), reading->count);
	}
}

static bool wire_sense_is_measured_by(const struct wire_sensed *sensed, const struct sensor *sensor)
{
	const struct scene_model *model = &sensed->scene->models[sensor->model];
	if (model->absent || sensor->group == SENSOR_OF_FORCES) /* the primary measures these */
		return false;
	return model->body_count ? sensed->owner[sensor->model] == sensed->secondary
				 : sense_statics_by(sensor->model, sensed->step->secondaries) == sensed->secondary;
}

static troupe_status wire_sense_get_reading(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error)
{
	uint32_t model = unpack_var_count(in, UINT32_MAX), index = unpack_var_count(in, UINT32_MAX);
	uint32_t count = unpack_var_count(in, UINT32_MAX);
	struct sensor *sensor = in->bad ? NULL : sensors_find(sensed->sensors, model, index);
	if (in->bad)
		return TROUPE_OK;
	if (!sensor || !wire_sense_is_measured_by(sensed, sensor) ||
		!sensor_is_due(sensed->sensors, sensor, sensor->group))
		return fail(error, TROUPE_EPROTOCOL, "a reading of sensor %u of model %u, which is not due there",
			index, model);
	if (sensor->read_in == sensed->call)
		return fail(error, TROUPE_EPROTOCOL, "two readings of sensor '%.100s'", sensor->name);
	sensor->read_in = sensed->call;
	if (!sampler_may_have(sensor, count) || (size_t)(in->end - in->at) < count)
		return fail(error, TROUPE_EPROTOCOL, "a reading of %u bytes of sensor '%.100s'", count, sensor->name);
	const struct sensor_times *times = &sensed->step->times;
	double *to = readings_add(ret, sensor, sensed->scene->models[model].id,
		sensor->group == SENSOR_OF_SELF ? times->next_ns : times->now_ns, count);
	memcpy(to, in->at, count);
	in->at += count;
	if (!sampler_has_shape(sensor, to))
		return fail(error, TROUPE_EPROTOCOL, "a reading of sensor '%.100s' of another shape", sensor->name);
	return TROUPE_OK;
}

troupe_status wire_get_readings(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !in->bad && !status; i++)
		status = wire_sense_get_reading(in, sensed, ret, error);
	return status;
}
