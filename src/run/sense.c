/* A sleeping model has no state k+1 of its own in `next`: its state k holds on. */
#include "run/sense.h"

#include "base/clock.h"
#include "sensor/sampler.h"

static struct sampler begin(const struct shared *shared, const struct step *step, enum sensor_group group)
{
	const struct sensor_times *times = &step->times;
	return (struct sampler){.scene = shared->scene,
		.state = shared->state,
		.sensors = shared->sensors,
		.seed = shared->physics.seed,
		.dt = step->dt,
		.time_ns = group == SENSOR_OF_WORLD ? times->now_ns : times->next_ns};
}

static void measure_model(
	const struct sampler *sampler, uint32_t model, enum sensor_group group, struct readings *ret_readings)
{
	const struct sensor_set *set = &sampler->sensors->sets[model];
	for (uint32_t i = 0; i < set->count; i++)
		if (sensor_is_due(sampler->sensors, &set->at[i], group))
			sampler_read(sampler, &set->at[i], ret_readings);
}

uint64_t sense_models(struct shared *shared, const struct step *step, enum sensor_group group,
	const struct physics *physics, const indices *models, struct readings *ret_readings)
{
	struct sampler sampler = begin(shared, step, group);
	uint64_t all_ns = 0;
	for (uint32_t i = 0; i < models->count; i++) {
		uint32_t model = models->at[i];
		sampler.moved = group == SENSOR_OF_SELF &&
				(!physics_sleeps(physics, model) || physics_fell_asleep(physics, model));
		uint32_t before = ret_readings->list.count;
		uint64_t begin_ns = group == SENSOR_OF_WORLD ? clock_now_ns() : 0;
		measure_model(&sampler, model, group, ret_readings);
		if (group != SENSOR_OF_WORLD || ret_readings->list.count == before)
			continue;
		uint64_t took_ns = clock_now_ns() - begin_ns;
		cost_learn_sensing(&shared->costs, model, step->number, took_ns);
		all_ns += took_ns;
	}
	return all_ns;
}

void sense_statics(const struct shared *shared, const struct step *step, enum sensor_group group, uint32_t number,
	struct readings *ret_readings)
{
	struct sampler sampler = begin(shared, step, group);
	const struct sensors *sensors = shared->sensors;
	for (uint32_t i = 0; i < sensors->statics.count; i++) {
		uint32_t model = sensors->statics.at[i];
		if (sense_statics_by(model, step->secondaries) == number && !shared->scene->models[model].absent)
			measure_model(&sampler, model, group, ret_readings);
	}
}

static bool is_due(const struct sensors *sensors, uint32_t model)
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
		if (is_due(sensors, models->at[i]))
			vec_push(ret_models, models->at[i]);
	for (uint32_t i = 0; i < sensors->statics.count; i++) {
		uint32_t model = sensors->statics.at[i];
		if (sense_statics_by(model, step->secondaries) == number && !shared->scene->models[model].absent &&
			is_due(sensors, model))
			vec_push(ret_models, model);
	}
}

void sense_forces(const struct shared *shared, const struct step *step, const struct reaction *reactions,
	const contact_notes *contacts, const uint32_t *owner, struct readings *ret_readings)
{
	struct sampler sampler = begin(shared, step, SENSOR_OF_FORCES);
	const struct sensors *sensors = shared->sensors;
	sampler.reactions = reactions;
	sampler.contacts = contacts;
	if (!sensors->forces || !sensors->due_self)
		return;
	for (uint32_t m = 0; m < sensors->room; m++)
		if (sensors->sets[m].count && (owner[m] || !shared->scene->models[m].body_count) &&
			!shared->scene->models[m].absent)
			measure_model(&sampler, m, SENSOR_OF_FORCES, ret_readings);
}
