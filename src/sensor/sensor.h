/* The sensors of a world, compiled from its file, and when each of them measures.
 *
 * A reading is a function of the state of the world at one simulated time, of the seed, and of the sensor: a sensor has
 * no memory. The time of a sample follows from the sensor's rate, its noise is a function of that time (noise.h), and
 * what a sensor measures is in state k and k+1. So nothing of a sensor has to be moved, saved, reset or sent, and its
 * bits depend neither on the runner that measures nor on whether other sensors measure. No state depends on readings.
 *
 * A sensor of rate r measures once in each period: its samples are due at n / r s of simulated time for n = 0, 1, ...,
 * computed without rounding, and are taken in the first state at or after that time. Rate 0: in each state. There are
 * three groups:
 *   SENSOR_OF_SELF   measures the motion of its own model, and the forces on it, at the end of step k: its time is that
 *                    of state k+1. So it has no sample at the time at which the world begins.
 *   SENSOR_OF_WORLD  measures all models, in state k, at the beginning of step k.
 *   SENSOR_OF_FORCES measures what a joint exerts, at the end of step k. The primary measures, because it keeps the
 *                    forces on sleeping models (run/observed.h).
 * A camera that waits for a trigger measures in the step to which the message is bound, whatever its rate.
 * In a paused step no sensor measures. Only a sensor that is wanted measures: its topic has a subscriber, or all
 * sensors are wanted.
 *
 * Thread: the owner of a struct sensors (the primary; the thread of a replica) calls the functions between steps;
 * others read it during steps. */
#ifndef SENSOR_SENSOR_H
#define SENSOR_SENSOR_H

#include "base/arena.h"
#include "base/indices.h"
#include "scene/state.h"
#include "scene/trail.h"
#include "sensor/lights.h"
#include "sensor/noise.h"
#include "sensor/rays.h"
#include "sensor/scan.h"
#include "sensor/sight.h"

enum { SENSORS_MAX = 1 << 20 }; /* of a world; the others do not measure */

enum sensor_group {
	SENSOR_SILENT, /* of a type that is not simulated */
	SENSOR_OF_SELF,
	SENSOR_OF_WORLD,
	SENSOR_OF_FORCES,
};

struct sensor_last { /* the last sample of a sensor, for programs */
	bool given;
	uint64_t step;                           /* the state that it measured */
	int64_t time_ns;                         /* of this state */
	double numbers[SENSOR_KIND_COLUMNS_MAX]; /* of a summary (summary.h) */
};

struct sensor {
	const struct sdf_sensor *sdf;
	const struct sdf_surroundings *surroundings; /* of the world */
	const struct sdf_earth *earth;               /* where the world is, as the scene has it now */
	const char *name;                            /* "robot::arm::imu" */
	const char *topic; /* the beginning of its topics' names: <topic>, or ".../sensor/NAME" without a last part */
	bool topic_given;  /* by the file */
	enum sensor_group group;
	uint32_t model, index; /* index: among its model's sensors, in file order */
	uint32_t link, joint;  /* in the scene; one of them is SCENE_NONE */
	uint32_t rate;         /* in sensors.rates */
	struct pose first;     /* its pose in the world at the beginning, as the file or the command has it */
	struct quat reference; /* of an IMU: the rotation in the world of the frame of its orientation */
	/* For the bias of each number that it measures, if some bias walks; else NULL. Of the thread that measures. */
	struct noise_cache *caches;
	uint32_t scan;  /* of a lidar: in sensors.scans; of a camera: in sensors.lenses */
	uint32_t trail; /* the first word of its trail in the words of its model's systems; SCENE_NONE: it has none */
	bool wanted;
	bool used;   /* a system reads it */
	bool waits;  /* a camera that takes a picture only in a step in which it is triggered: when it is fired */
	bool fired;  /* in this step */
	bool sliced; /* in this step its reading is taken in slices. Writer: the secondary that has the model. */
	struct sensor_last *last; /* NULL: no program holds the sensor. Writer: the primary, between steps. */
	uint64_t read_in;         /* for a primary that decodes acks: the last one that had a reading of it */
};

struct sensor_place {
	uint32_t model, index;
};

struct sensor_set { /* of one model */
	struct sensor *at;
	uint32_t count;
	uint32_t trails; /* how many of them have a trail (scene/trail.h) */
	uint64_t serial; /* of the model; 0: the place is free */
	struct arena arena;
};

struct sensor_rate {
	uint64_t micro_hz;       /* 0: in each state */
	uint32_t wanted;         /* sensors of this rate that are wanted */
	uint32_t wanted_world;   /* slices of the readings of those that measure the world (sensor_slices()) */
	uint64_t wanted_samples; /* rays and pixels of these readings (sensor_samples()) */
	bool due_self, due_world;
};

struct sensor_times {    /* simulated, in ns */
	int64_t seen_ns; /* of the last state that SENSOR_OF_WORLD measured; one ns before the first state: of none */
	int64_t now_ns;  /* of state k */
	int64_t next_ns; /* of state k+1 */
};

/* A simulated time for struct sensor_times: from 0 to 4e18 ns (126 years), so that differences fit. After that, only
 * sensors of rate 0 measure. */
int64_t sensor_time_ns(double time_s);

struct sensor_scan {                /* the rays of all lidars that are alike */
	struct sdf_lidar lidar;     /* without its beam */
	struct sdf_pattern pattern; /* a copy of lidar.pattern, which may end with its model */
	double spread_rad;          /* the divergence of their beams */
	struct scan_layout layout;
	bool needed;
	/* [scan_count()], or of a pattern with several scans so many times that; in the sensor's frame; NULL before the
	 * first scan, and where the secondaries are elsewhere */
	struct vec3 *directions;
	bool aimed; /* the first scan has come */
	struct sight_cone cone;
};

struct sensor_lens {              /* the rays of all cameras that are alike */
	struct sdf_camera camera; /* without names and place */
	bool wide, needed;
	struct vec3 *directions; /* [pixels] in the camera's frame; NULL as of a scan */
	bool aimed;
	struct sight_cone cone;
};

struct sensors {
	const struct scene *scene;
	struct sensor_set *sets; /* [room] by model */
	uint32_t room, count;
	uint32_t forces;                /* the number of SENSOR_OF_FORCES */
	uint32_t contacts;              /* the number of these sensors that measure contacts */
	indices statics;                /* static models that have sensors */
	uint32_t wanted;                /* the number of sensors that are wanted */
	uint32_t held;                  /* the number of sensors that programs hold */
	bool all;                       /* all sensors are wanted */
	VEC(struct sensor_place) fired; /* in this step */
	uint64_t epoch;                 /* grows when another set of sensors is wanted */
	VEC(struct sensor_rate) rates;
	VEC(struct sensor_scan) scans;
	VEC(struct sensor_lens) lenses;
	double sweep_s; /* the longest reading of a sensor that measures while things move, of those wanted so far */
	struct lights *lights; /* in state k, when some camera shows colours; NULL: not needed yet */
	struct rays *rays;  /* in state k when a step begins in which SENSOR_OF_WORLD measures; NULL: not needed yet */
	const bool *hidden; /* as of sensors_look() */
	bool elsewhere;     /* all of them are measured in other processes: only sight_of() is asked for here */
	struct sensor_times times; /* of the step */
	bool due_self, due_world;  /* in this step some sensor measures */
	uint32_t slices_due;  /* slices of the readings of SENSOR_OF_WORLD in this step: how much can be shared out */
	uint64_t samples_due; /* rays and pixels of these readings */
};

struct sensors *sensors_create(const struct scene *scene);
void sensors_destroy(struct sensors *sensors); /* NULL is fine */

/* Follows the scene when models were added or removed. Which sensors are wanted stays, for models that stay. */
void sensors_update(struct sensors *sensors);

/* A sensor of a model that is part of the world; NULL: there is none. */
struct sensor *sensors_find(const struct sensors *sensors, uint32_t model, uint32_t index);

/* Sets which sensors are wanted: first only the sensors that are held, or all sensors; then single sensors are
 * added. */
void sensors_want_none(struct sensors *sensors);
void sensors_want_all(struct sensors *sensors);
void sensors_want(struct sensors *sensors, struct sensor *sensor);
/* A program holds the sensor, or lets go of it: a sensor that is held is wanted, and keeps its last sample. */
void sensors_hold(struct sensors *sensors, struct sensor *sensor, bool on);

/* A system reads the sensor: it is held from now on. */
void sensors_use(struct sensors *sensors, struct sensor *sensor);

/* Before a step that is not paused: finds out which sensors measure in it. times: of the step. Quick while no sensor is
 * wanted. */
void sensors_begin(struct sensors *sensors, const struct sensor_times *times);
/* The first time after this one at which a wanted sensor is to measure, if it does not wait to be triggered; INT64_MAX:
 * none is. */
int64_t sensors_next_ns(const struct sensors *sensors, int64_t after_ns);
/* Then, for each camera that was triggered for this step; it measures if it is wanted. */
void sensors_fire(struct sensors *sensors, uint32_t model, uint32_t index);
/* Then, if sensors measure that see: puts what they see where it is in state `now`. hidden: as of rays_hide(), for
 * logical cameras, too; it must live until the next call. */
void sensors_look(struct sensors *sensors, const struct state *state, const bool *hidden);
static inline bool sensor_is_due(const struct sensors *sensors, const struct sensor *sensor, enum sensor_group group)
{
	const struct sensor_rate *rate = &sensors->rates.at[sensor->rate];
	if (sensor->waits)
		return sensor->fired && sensor->group == group;
	return sensor->wanted && sensor->group == group &&
	       (group == SENSOR_OF_WORLD ? rate->due_world : rate->due_self);
}

/* Whether a sample of a sensor of this rate is due after one time and not after another, in ns. A pure function. */
bool sensor_rate_is_due(uint64_t micro_hz, int64_t after_ns, int64_t until_ns);

/* The number of the sample that a sensor takes at a time, from 0: of its rate's samples, or, if it measures in each
 * state, of the world's steps. A pure function. */
uint64_t sensor_sample(const struct sensors *sensors, const struct sensor *sensor, int64_t time_ns);
/* Simulated time since the state of the sensor's sample before the one that it takes at a time; 0: it is the first. */
double sensor_since_s(const struct sensors *sensors, const struct sensor *sensor, int64_t time_ns);
/* Simulated time between two samples. */
double sensor_period_s(const struct sensors *sensors, const struct sensor *sensor);

/* The pose of a sensor of a link in state `now`, or `next`. */
struct pose sensor_pose(const struct scene *scene, const struct state *state, const struct sensor *sensor, bool next);
/* The trail of a sensor that has one, in state `now`. */
const struct trail *sensor_trail(const struct state *state, const struct sensor *sensor);
/* How far from its place in state `now` the sensor was during its scan, at most. */
double sensor_swept_m(const struct scene *scene, const struct state *state, const struct sensor *sensor);

/* In how many slices a reading of the sensor may be taken by several threads: 1, unless it has very many rays or
 * pixels. A slice is long compared with the cost of handing it to another thread. */
enum { SENSOR_SLICE = 2048, SENSOR_SLICES_MAX = 64 }; /* SENSOR_SLICE: the rays or pixels of a slice, or more */
uint32_t sensor_slices(const struct sensors *sensors, const struct sensor *sensor);
/* Whether the readings of this step are worth waking a thread for, which takes tens of us. */
static inline bool sensors_call_for_help(const struct sensors *sensors)
{
	return sensors->slices_due > 1 && sensors->samples_due >= 2 * SENSOR_SLICE;
}
/* The rays or pixels of a reading that can be divided; 0: it cannot. */
uint32_t sensor_samples(const struct sensors *sensors, const struct sensor *sensor);

/* What its pictures hold: bits SENSOR_DEPTH ...; 0: it takes none. */
uint32_t sensor_parts(const struct sdf_sensor *sensor);
/* The group of a sensor like this. */
enum sensor_group sensor_group_of(const struct sdf_sensor *sensor);
static inline bool sensor_is_simulated(const struct sdf_sensor *sensor)
{
	return sensor_group_of(sensor) != SENSOR_SILENT;
}

#endif
