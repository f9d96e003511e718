/* The time of a reading is not sent: it follows from the step and the group of the sensor. */
#include "run/wire_sense.h"

#include "run/sense.h"
#include "sensor/sampler.h"

#include <string.h>

enum { CHANGE_NONE, CHANGE_LIST, CHANGE_ALL };

#define SPAN_MAX_NS (INT64_C(1) << 62)

static void put_wanted(struct text *out, const struct sensors *sensors)
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

bool wire_put_sense(struct text *out, const struct sensors *sensors, const struct step *step, uint64_t known)
{
	bool changed = known != sensors->epoch;
	if (!sensors->wanted && !changed)
		return false;
	pack_var(out, step->secondaries);
	pack_var(out, (uint64_t)(step->times.now_ns - step->times.seen_ns));
	pack_var(out, (uint64_t)(step->times.next_ns - step->times.now_ns));
	pack_var(out, !changed ? CHANGE_NONE : sensors->all ? CHANGE_ALL : CHANGE_LIST);
	if (changed && !sensors->all)
		put_wanted(out, sensors);
	return true;
}

static int64_t get_span(struct unpack *in)
{
	uint64_t span = unpack_var(in);
	in->bad |= span > (uint64_t)SPAN_MAX_NS;
	return in->bad ? 0 : (int64_t)span;
}

troupe_status wire_get_sense(struct unpack *in, struct replica_sense *ret, struct troupe_error *error)
{
	ret->secondaries = unpack_var_count(in, UINT32_MAX);
	ret->since_ns = get_span(in);
	ret->step_ns = get_span(in);
	uint32_t change = unpack_var_count(in, CHANGE_ALL);
	ret->changed = change != CHANGE_NONE;
	ret->all = change == CHANGE_ALL;
	if (!in->bad && !ret->secondaries)
		return fail(error, TROUPE_EPROTOCOL, "sensors of no secondary");
	uint64_t count = change == CHANGE_LIST ? unpack_var(in) : 0;
	uint32_t model = 0;
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		uint64_t by = unpack_var(in);
		in->bad |= by > UINT32_MAX - model;
		model += in->bad ? 0 : (uint32_t)by;
		vec_push(&ret->wanted, (struct replica_sensor){model, unpack_var_count(in, UINT32_MAX)});
	}
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

static bool is_measured_by(const struct wire_sensed *sensed, const struct sensor *sensor)
{
	const struct scene_model *model = &sensed->scene->models[sensor->model];
	if (model->absent || sensor->group == SENSOR_OF_FORCES) /* the primary measures these */
		return false;
	return model->body_count ? sensed->owner[sensor->model] == sensed->secondary
				 : sense_statics_by(sensor->model, sensed->step->secondaries) == sensed->secondary;
}

static troupe_status get_reading(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error)
{
	uint32_t model = unpack_var_count(in, UINT32_MAX), index = unpack_var_count(in, UINT32_MAX);
	uint32_t count = unpack_var_count(in, UINT32_MAX);
	struct sensor *sensor = in->bad ? NULL : sensors_find(sensed->sensors, model, index);
	if (in->bad)
		return TROUPE_OK;
	if (!sensor || !is_measured_by(sensed, sensor) || !sensor_is_due(sensed->sensors, sensor, sensor->group))
		return fail(error, TROUPE_EPROTOCOL, "a reading of sensor %u of model %u, which is not due there",
			index, model);
	if (sensor->read_in == sensed->call)
		return fail(error, TROUPE_EPROTOCOL, "two readings of sensor '%.100s'", sensor->name);
	sensor->read_in = sensed->call;
	if (count > sampler_bytes_max(sensor) || count % sizeof(double) || (size_t)(in->end - in->at) < count)
		return fail(error, TROUPE_EPROTOCOL, "a reading of %u bytes of sensor '%.100s'", count, sensor->name);
	const struct sensor_times *times = &sensed->step->times;
	void *to = readings_add(ret, sensor, sensed->scene->models[model].id,
		sensor->group == SENSOR_OF_SELF ? times->next_ns : times->now_ns, count);
	if (count)
		memcpy(to, in->at, count);
	in->at += count;
	return TROUPE_OK;
}

troupe_status wire_get_readings(
	struct unpack *in, const struct wire_sensed *sensed, struct readings *ret, struct troupe_error *error)
{
	uint64_t count = unpack_var(in);
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !in->bad && !status; i++)
		status = get_reading(in, sensed, ret, error);
	return status;
}
