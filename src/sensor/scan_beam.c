/* Five rays of a beam are five scans of bent directions, so that rays of one call still run alike. */
#include "sensor/scan_beam.h"

#include "base/hash.h"
#include "sensor/scan_internal.h"

#include <stdlib.h>

enum { BEAM_RAYS = 5, BEAM_DEEP = 3, BEAM_ECHOES = BEAM_RAYS * BEAM_DEEP };
#define BEAM_BEHIND_M 1e-6 /* the search goes on so far behind a transparent surface */
#define BEAM_DROPOUT UINT64_C(0x64726f706f757421)

struct beam_echo {
	double distance, power, share;
};

struct beam_work {
	struct scan_batch batch;
	struct vec3 bent[SCAN_CHUNK];
	double left[SCAN_CHUNK]; /* of the light of a ray that still runs; 0: it does not */
	bool near[SCAN_CHUNK];
	uint32_t count[SCAN_CHUNK];
	struct beam_echo echoes[SCAN_CHUNK][BEAM_ECHOES];
};

/* part 0: the direction itself; 1 to 4: aside, by the tangent of half the angle. */
static struct vec3 scan_beam_bent(struct vec3 d, uint32_t part, double tan)
{
	struct vec3 axis = fabs(d.z) < 0.9 ? (struct vec3){0, 0, 1} : (struct vec3){1, 0, 0};
	struct vec3 across = vec3_unit(vec3_cross(axis, d));
	if (!part)
		return d;
	struct vec3 side = part > 2 ? vec3_cross(d, across) : across;
	return vec3_unit(vec3_add(d, vec3_scale(side, part % 2 ? tan : -tan)));
}

static double scan_beam_power(const struct scan_caster *caster, const struct scan_batch *batch, uint32_t i,
	const struct sdf_beam *beam, double share)
{
	const struct rays *rays = caster->job->rays;
	const struct ray_hit *hit = &batch->hits[i];
	double retro = rays_visual(rays, hit)->laser_retro, r = hit->distance;
	if (!beam->intensity)
		return retro * share;
	bool own = caster->moves && hit->model == caster->job->model;
	struct ray ray = own             ? batch->own[i]
			 : caster->swept ? rays_carried(rays, &batch->cast[i], hit, batch->ago_s[i])
					 : batch->cast[i];
	double rho = retro > 0 ? retro : beam->reflectivity;
	double cosine = fabs(vec3_dot(rays_normal(rays, &ray, hit), ray.direction));
	double near = r > beam->reference_m ? beam->reference_m / r * (beam->reference_m / r) : 1;
	double clear = beam->attenuation_per_m > 0 ? math_exp(-2 * beam->attenuation_per_m * r) : 1;
	return rho * cosine * near * clear * share;
}

/* Notes the hit of ray i, and lets what goes through run on. deep: the number of visuals before. */
static void scan_beam_note(struct beam_work *work, const struct scan_caster *caster, const struct sdf_beam *beam,
	uint32_t i, uint32_t deep)
{
	struct scan_batch *batch = &work->batch;
	const struct ray_hit *hit = &batch->hits[i];
	double light = work->left[i];
	work->left[i] = 0;
	batch->cast[i].max = batch->own[i].max = -1;
	if (!(light > 0) || hit->model == SCENE_NONE)
		return;
	double through = beam->returns > 1 ? rays_visual(caster->job->rays, hit)->transparency : 0;
	double share = light * (1 - through), power = scan_beam_power(caster, batch, i, beam, share);
	if (hit->distance < caster->job->range->min)
		return;
	if (share > 0)
		work->echoes[i][work->count[i]++] = (struct beam_echo){hit->distance, power, share};
	if (through > 0 && deep + 1 < BEAM_DEEP) {
		work->left[i] = light * through * through;
		batch->cast[i].min = batch->own[i].min = hit->distance + BEAM_BEHIND_M;
		batch->cast[i].max = batch->own[i].max = fmax(caster->job->range->max, 0);
	}
}

/* One of the rays of each beam, with what lies behind transparent surfaces. */
static void scan_beam_part(struct beam_work *work, struct scan_caster *caster, const struct sdf_beam *beam,
	uint32_t from, uint32_t some, uint32_t part)
{
	const struct vec3 *directions = caster->job->directions + from;
	double tan = math_tan(beam->divergence_rad / 2), share = beam->divergence_rad > 0 ? 1.0 / BEAM_RAYS : 1;
	for (uint32_t i = 0; i < some; i++) {
		work->bent[i] = scan_beam_bent(directions[i], part, tan);
		work->left[i] = share;
	}
	scan_caster_aim(caster, work->bent, from, some, &work->batch);
	bool runs = true;
	for (uint32_t deep = 0; deep < BEAM_DEEP && runs; deep++) {
		scan_caster_cast(caster, some, &work->batch);
		runs = false;
		for (uint32_t i = 0; i < some; i++) {
			if (!part && !deep)
				work->near[i] = work->batch.hits[i].distance < caster->job->range->min;
			scan_beam_note(work, caster, beam, i, deep);
			runs |= work->left[i] > 0;
		}
	}
}

/* --- returns ------------------------------------------------------------------------------------------------------ */

static void scan_beam_sort(struct beam_echo *echoes, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i; k && echoes[k].distance < echoes[k - 1].distance; k--) {
			struct beam_echo other = echoes[k];
			echoes[k] = echoes[k - 1];
			echoes[k - 1] = other;
		}
}

/* Parts of the light that come together are one echo. */
static uint32_t scan_beam_merge(struct beam_echo *echoes, uint32_t count, double separation_m)
{
	uint32_t merged = 0;
	for (uint32_t i = 0, end; i < count; i = end) {
		struct beam_echo sum = {0, 0, 0};
		double by_power = 0, by_share = 0;
		for (end = i; end < count && echoes[end].distance <= echoes[i].distance + separation_m; end++) {
			sum.power += echoes[end].power;
			sum.share += echoes[end].share;
			by_power += echoes[end].power * (echoes[end].distance - echoes[i].distance);
			by_share += echoes[end].share * (echoes[end].distance - echoes[i].distance);
		}
		sum.distance = echoes[i].distance + (sum.power > 0 ? by_power / sum.power : by_share / sum.share);
		echoes[merged++] = sum;
	}
	return merged;
}

/* Leaves the strongest ones, in their order. */
static uint32_t scan_beam_choose(struct beam_echo *echoes, uint32_t count, uint32_t wanted)
{
	while (count > wanted) {
		uint32_t weakest = 0;
		for (uint32_t i = 1; i < count; i++)
			if (echoes[i].power < echoes[weakest].power ||
				(echoes[i].power <= echoes[weakest].power && echoes[i].share < echoes[weakest].share))
				weakest = i;
		count--;
		for (uint32_t i = weakest; i < count; i++)
			echoes[i] = echoes[i + 1];
	}
	return count;
}

static void scan_beam_store(
	struct beam_work *work, const struct sdf_beam *beam, uint32_t i, uint32_t at, const struct scan_returns *to)
{
	struct beam_echo *echoes = work->echoes[i];
	scan_beam_sort(echoes, work->count[i]);
	uint32_t count = scan_beam_merge(echoes, work->count[i], beam->separation_m);
	count = work->near[i] ? 0 : scan_beam_choose(echoes, count, beam->returns);
	for (uint32_t r = 0; r < beam->returns; r++) {
		to->ranges[r][at] = r < count ? echoes[r].distance : (double)INFINITY;
		to->intensities[r][at] = r < count ? echoes[r].power : 0;
	}
	if (work->near[i])
		to->ranges[0][at] = (double)-INFINITY;
}

void scan_measure_beams(const struct scan_job *job, const struct scan_path *path, const struct sdf_beam *beam,
	const struct scan_returns *to)
{
	struct beam_work *work = mem_alloc(sizeof *work);
	struct scan_caster caster = scan_caster_of(job, path);
	for (uint32_t first = 0; first < job->count; first += SCAN_CHUNK) {
		uint32_t some = MIN(job->count - first, (uint32_t)SCAN_CHUNK);
		for (uint32_t i = 0; i < some; i++)
			work->count[i] = 0;
		for (uint32_t part = 0; part < (beam->divergence_rad > 0 ? BEAM_RAYS : 1); part++)
			scan_beam_part(work, &caster, beam, first, some, part);
		for (uint32_t i = 0; i < some; i++)
			scan_beam_store(work, beam, i, first + i, to);
	}
	free(work);
}

/* --- what a sensor makes of it ------------------------------------------------------------------------------------ */

double scan_reported(const struct sdf_beam *beam, double intensity)
{
	const double *table = beam->table;
	uint32_t i = 1;
	if (!table || beam->table_count < 2)
		return intensity;
	while (i + 1 < beam->table_count && table[2 * i] < intensity)
		i++;
	const double *a = &table[2 * (i - 1)], *b = &table[2 * i];
	double f = (intensity - a[0]) / (b[0] - a[0]);
	f = f < 0 ? 0 : f > 1 ? 1 : f;
	return a[1] + f * (b[1] - a[1]);
}

static bool scan_beam_is_lost(const struct sdf_beam *beam, uint64_t stream, uint64_t number, double power)
{
	if (!(beam->dropout_intensity > 0))
		return false;
	double chance = (double)(hash_mix(stream, number) >> 11) * 0x1p-53;
	return chance < math_exp(-power / beam->dropout_intensity);
}

/* The white noise of the signal by intensity: its bias and its mean stay. */
static struct sdf_signal scan_beam_signal(const struct sdf_beam *beam, const struct sdf_signal *range, double power)
{
	struct sdf_signal signal = *range;
	double factor = power > 0 ? sqrt(beam->noise_intensity / power) : 10;
	if (beam->noise_intensity > 0)
		signal.noise.stddev *= factor < 0.1 ? 0.1 : factor > 10 ? 10 : factor;
	return signal;
}

void scan_finish_beams(const struct sdf_beam *beam, const struct sdf_signal *range, uint64_t key,
	const struct noise_sample *sample, struct noise_cache *cache, uint32_t first, uint32_t count, uint32_t all,
	const struct scan_returns *to)
{
	uint64_t stream = hash_mix(hash_mix(key, BEAM_DROPOUT), sample->time_ns);
	const bool plain = !(beam->noise_intensity > 0);
	for (uint32_t r = 0; r < beam->returns; r++) {
		uint64_t number = (uint64_t)r * all + first;
		for (uint32_t i = 0; i < count; i++) {
			double *value = &to->ranges[r][i], *power = &to->intensities[r][i];
			if (isfinite(*value) && scan_beam_is_lost(beam, stream, number + i, *power))
				*value = (double)INFINITY;
			if (!isfinite(*value)) {
				*power = 0;
				continue;
			}
			struct sdf_signal signal = scan_beam_signal(beam, range, *power);
			if (!plain && noise_matters(&signal))
				noise_apply_many(&signal, key, sample, cache, number + i, value, 1);
			*power = scan_reported(beam, *power);
		}
		if (plain && noise_matters(range))
			noise_apply_many(range, key, sample, cache, number, to->ranges[r], count);
	}
}
