/* What a system may call at any time, on any thread: its random numbers, the log, and the earth at a place. Random
 * numbers are counted: a number depends on the seed, the model, the system, its sequence and its index alone. */
#include "system/setup.h"

#include "base/hash.h"
#include "base/math.h"
#include "scene/earth.h"
#include "scene/magnetic.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { LOG_BYTES_MAX = 200 };

double anywhere_pow(double x, double y)
{
	if (x > 0)
		return math_exp(y * math_log(x));
	return y == 0 ? 1 : x == 0 && y > 0 ? 0 : (double)NAN;
}

/* The key of a sequence does not depend on plug-ins that come later in the model. */
static uint64_t anywhere_key_of(const struct troupe_system *self, uint32_t sequence)
{
	const struct system *system = system_of(self);
	uint64_t id = self->model == TROUPE_NOTHING ? 0 : system->scene->models[self->model].id;
	return hash_mix(hash_mix(system->all->seed ^ 0x706c7567696e73u, id), (uint64_t)system->index << 32 | sequence);
}

static double anywhere_uniform(uint64_t key, uint64_t index)
{
	return (double)(hash_mix(key, index) >> 11) * 0x1p-53;
}

double anywhere_random_uniform(const struct troupe_system *self, uint32_t sequence, uint64_t index)
{
	return anywhere_uniform(anywhere_key_of(self, sequence), index);
}

/* Box and Muller's way: two uniform numbers make one normal number. */
double anywhere_random_normal(const struct troupe_system *self, uint32_t sequence, uint64_t index)
{
	uint64_t key = anywhere_key_of(self, sequence);
	double u = 1 - anywhere_uniform(hash_mix(key, 1), index), v = anywhere_uniform(hash_mix(key, 2), index);
	return sqrt(-2 * math_log(u)) * math_cos(2 * M_PI * v);
}

void anywhere_log_line(const struct troupe_system *self, const char *format, ...)
{
	const struct systems *all = system_of(self)->all;
	char text[LOG_BYTES_MAX];
	struct troupe_error line;
	va_list args;
	if (!all->on_log)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)fail(&line, TROUPE_OK, "%s of %s: %s", self->kind->names[0],
		self->model == TROUPE_NOTHING ? "the world" : system_of(self)->scene->models[self->model].name, text);
	all->on_log(all->ctx, line.text);
}

struct troupe_site anywhere_site(const struct troupe_system *self, struct troupe_vec3 point)
{
	const struct scene *scene = system_of(self)->scene;
	const struct sdf_surroundings *surroundings = &scene->sdf->surroundings;
	struct earth earth = earth_of(&scene->earth);
	struct earth_place place = earth_place(&earth, point);
	struct earth_air air = earth_air(&surroundings->air, place.altitude_m);
	return (struct troupe_site){place.latitude_deg, place.longitude_deg, place.altitude_m, earth_axes(&earth),
		surroundings->magnetic_field, air.temperature_K, air.pressure_Pa, air.density_kg_m3};
}

struct troupe_vec3 anywhere_earth_field(const struct troupe_system *self, struct troupe_vec3 point)
{
	struct earth earth = earth_of(&system_of(self)->scene->earth);
	return quat_rotate(earth_axes(&earth), magnetic_field(earth_place(&earth, point)));
}
