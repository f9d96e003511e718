/* A sleeping model has no state k+1 of its own in `next`: its state k holds on. */
#include "run/sense.h"

#include "base/clock.h"
#include "sensor/sampler.h"

static struct sampler sense_begin(const struct shared *shared, const struct step *step, enum sensor_group group)
{
	const struct sensor_times *times = &step->times;
	return (struct sampler){.scene = shared->scene,
		.state = shared->state,
		.sensors = shared->sensors,
		.seed = shared->physics.seed,
		.dt = step->dt,
		.time_ns = group == SENSOR_OF_WORLD ? times->now_ns : times->next_ns};
}

static void sense_measure_model(
	const struct sampler *sampler, uint32_t model, enum sensor_group group, struct readings *ret_readings)
{
	const struct sensor_set *set = &sampler->sensors->sets[model];
	for (uint32_t i = 0; i < set->count; i++)
		if (sensor_is_due(sampler->sensors, &set->at[i], group) && !set->at[i].sliced)
			sampler_read(sampler, &set->at[i], ret_readings);
}

static bool sense_is_sliced(const struct sensors *sensors, uint32_t model)
{
	const struct sensor_set *set = &sensors->sets[model];
	bool sliced = false;
	for (uint32_t i = 0; i < set->count; i++)
		sliced |= set->at[i].sliced;
	return sliced;
}

uint64_t sense_models(struct shared *shared, const struct step *step, enum sensor_group group,
	const struct physics *physics, const indices *models, struct readings *ret_readings)
{
	struct sampler sampler = sense_begin(shared, step, group);
	uint64_t all_ns = 0;
	for (uint32_t i = 0; i < models->count; i++) {
		uint32_t model = models->at[i];
		sampler.moved = group == SENSOR_OF_SELF &&
				(!physics_sleeps(physics, model) || physics_fell_asleep(physics, model));
		uint32_t before = ret_readings->list.count;
		uint64_t begin_ns = group == SENSOR_OF_WORLD ? clock_now_ns() : 0;
		sense_measure_model(&sampler, model, group, ret_readings);
		if (group != SENSOR_OF_WORLD || ret_readings->list.count == before)
			continue;
		uint64_t took_ns = clock_now_ns() - begin_ns;
		if (!sense_is_sliced(shared->sensors, model))
			cost_learn_sensing(&shared->costs, model, step->number, took_ns);
		all_ns += took_ns;
	}
	return all_ns;
}

void sense_statics(const struct shared *shared, const struct step *step, enum sensor_group group, uint32_t number,
	struct readings *ret_readings)
{
	struct sampler sampler = sense_begin(shared, step, group);
	const struct sensors *sensors = shared->sensors;
	for (uint32_t i = 0; i < sensors->statics.count; i++) {
		uint32_t model = sensors->statics.at[i];
		if (sense_statics_by(model, step->secondaries) == number && !shared->scene->models[model].absent)
			sense_measure_model(&sampler, model, group, ret_readings);
	}
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

static void sense_divide_scan(const struct sampler *sampler, struct sensor *sensor, uint32_t place,
	struct readings *ret_readings, sense_slices *ret_slices)
{
	uint32_t slices = sensor_slices(sampler->sensors, sensor);
	if (slices == 1 || ret_slices->count + slices > SENSE_SLICES_MAX)
		return;
	sensor->sliced = true;
	for (uint32_t s = 0; s < slices; s++)
		vec_push(ret_slices, (struct sense_slice){.sensor = sensor,
					     .model = sensor->model,
					     .place = place,
					     .reading = ret_readings->list.count,
					     .number = s,
					     .of = slices});
	sampler_begin(sampler, sensor, ret_readings);
}

void sense_divide(const struct shared *shared, const struct step *step, const indices *models,
	struct readings *ret_readings, sense_slices *ret_slices)
{
	struct sampler sampler = sense_begin(shared, step, SENSOR_OF_WORLD);
	for (uint32_t i = 0; i < models->count; i++) {
		const struct sensor_set *set = &sampler.sensors->sets[models->at[i]];
		for (uint32_t k = 0; k < set->count; k++)
			if (sensor_is_due(sampler.sensors, &set->at[k], SENSOR_OF_WORLD))
				sense_divide_scan(&sampler, &set->at[k], i, ret_readings, ret_slices);
	}
}

void sense_slice(
	const struct shared *shared, const struct step *step, struct readings *readings, struct sense_slice *slice)
{
	struct sampler sampler = sense_begin(shared, step, SENSOR_OF_WORLD);
	uint64_t begin_ns = clock_now_ns();
	sampler_fill(&sampler, slice->sensor, slice->number, slice->of,
		readings->numbers.at + readings->list.at[slice->reading].first);
	slice->took_ns = clock_now_ns() - begin_ns;
}

void sense_join(struct shared *shared, const struct step *step, const uint64_t *other_ns, sense_slices *slices)
{
	uint64_t took_ns = 0;
	for (uint32_t i = 0; i < slices->count; i++) {
		struct sense_slice *slice = &slices->at[i];
		slice->sensor->sliced = false;
		took_ns += slice->took_ns;
		if (i + 1 < slices->count && slices->at[i + 1].model == slice->model)
			continue;
		cost_learn_sensing(&shared->costs, slice->model, step->number, took_ns + other_ns[slice->place]);
		took_ns = 0;
	}
	slices->count = 0;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static bool sense_is_due(const struct sensors *sensors, uint32_t model)
{
	const struct sensor_set *set = &sensors->sets[model];
	bool due = false;
	for (uint32_t i = 0; i < set->count; i++)
		due |= sensor_is_due(sensors, &set->at[i], SENSOR_OF_WORLD);
	return due;
}

void sense_list(const struct shared *shared, const struct step *step, uint32_t number, const indices *models,
	indices *ret_models)
{
	const struct sensors *sensors = shared->sensors;
	for (uint32_t i = 0; i < models->count; i++)
		if (sense_is_due(sensors, models->at[i]))
			vec_push(ret_models, models->at[i]);
	for (uint32_t i = 0; i < sensors->statics.count; i++) {
		uint32_t model = sensors->statics.at[i];
		if (sense_statics_by(model, step->secondaries) == number && !shared->scene->models[model].absent &&
			sense_is_due(sensors, model))
			vec_push(ret_models, model);
	}
}

void sense_forces(const struct shared *shared, const struct step *step, const struct reaction *reactions,
	const contact_notes *contacts, const uint32_t *owner, struct readings *ret_readings)
{
	struct sampler sampler = sense_begin(shared, step, SENSOR_OF_FORCES);
	const struct sensors *sensors = shared->sensors;
	sampler.reactions = reactions;
	sampler.contacts = contacts;
	if (!sensors->forces || !sensors->due_self)
		return;
	for (uint32_t m = 0; m < sensors->room; m++)
		if (sensors->sets[m].count && (owner[m] || !shared->scene->models[m].body_count) &&
			!shared->scene->models[m].absent)
			sense_measure_model(&sampler, m, SENSOR_OF_FORCES, ret_readings);
}
