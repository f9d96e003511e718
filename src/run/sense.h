/* The sensors of a secondary's models in one step. Which models it simulates changes no reading: a sensor reads state k
 * of any model, and state k+1 of its own. */
#ifndef RUN_SENSE_H
#define RUN_SENSE_H

#include "run/step.h"

/* Measures with the sensors of the group, of these models, that are due in the step. SENSOR_OF_WORLD: before the
 * physics of the step. SENSOR_OF_SELF: after it, and after the systems. Returns how long
 * the sensors of the world took, in ns, and adds to the costs of their models (sense_join() does so for a model that
 * has a reading in slices). Thread: the secondary's; for
 * SENSOR_OF_WORLD also another one, if no other thread measures for the same models. */
uint64_t sense_models(struct shared *shared, const struct step *step, enum sensor_group group,
	const struct physics *physics, const indices *models, struct readings *ret_readings);
/* The secondary, from 1, that measures for a static model, which no secondary simulates. */
static inline uint32_t sense_statics_by(uint32_t model, uint32_t secondaries)
{
	return model % secondaries + 1;
}

/* The same for the static models for which secondary `number` measures. */
void sense_statics(const struct shared *shared, const struct step *step, enum sensor_group group, uint32_t number,
	struct readings *ret_readings);

/* The models of both kinds that have sensors of the world that are due: of `models`, and the static ones. Several
 * threads may call sense_models() at the same time, each for some of them. */
void sense_list(const struct shared *shared, const struct step *step, uint32_t number, const indices *models,
	indices *ret_models);

/* A part of a large reading, such as a picture, which another thread may fill in. */
struct sense_slice {
	struct sensor *sensor;
	uint32_t model, place; /* place: in the list of models */
	uint32_t reading;      /* in the list of readings */
	uint32_t number, of;
	uint64_t took_ns; /* by the thread that filled it in */
	bool by_other;    /* than the thread of the secondary that has the model */
};
enum { SENSE_SLICES_MAX = 1024 };
typedef VEC(struct sense_slice) sense_slices;

/* Begins the large readings of these models, so that sense_models() leaves them out in this step, and appends their
 * slices in the order of the models. Each is then filled in by sense_slice(), on any thread. When all are done,
 * sense_join() lets sense_models() measure with these sensors again, and adds to the costs of their models;
 * other_ns: by place, what sense_models() returned for the model. It empties the list of slices. */
void sense_divide(const struct shared *shared, const struct step *step, const indices *models,
	struct readings *ret_readings, sense_slices *ret_slices);
void sense_slice(
	const struct shared *shared, const struct step *step, struct readings *readings, struct sense_slice *slice);
void sense_join(struct shared *shared, const struct step *step, const uint64_t *other_ns, sense_slices *slices);

/* Measures with the sensors of forces that are due in the step, after it was merged. reactions: by joint; owner: by
 * model, 0: no secondary simulates it, so its sensors do not measure. Thread: the primary's. */
void sense_forces(const struct shared *shared, const struct step *step, const struct reaction *reactions,
	const contact_notes *contacts, const uint32_t *owner, struct readings *ret_readings);

#endif
