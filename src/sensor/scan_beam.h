/* What becomes of the light of a lidar's rays: intensity, several returns, drop-out, and noise by intensity.
 *
 * A ray is a beam of an angle (divergence); it is measured by its middle and, if the angle is above 0, by four rays
 * half of the angle aside, each with a fifth of the light. A visual of transparency t sends 1 - t of the light back,
 * and lets t through, on both ways, if more than one return is wanted; up to three visuals one behind the other are
 * measured. The part of the light with which a visual at distance r answers has the intensity
 *
 *   P = rho |cos(angle of incidence)| min(1, (r0 / r)^2) exp(-2 alpha r) share
 *
 * rho: laser_retro, or the reflectivity of the lidar where that is 0; r0: the reference range; alpha: the attenuation.
 * Without sdf_beam.intensity P is laser_retro times the share. Parts that lie within the separation of the first of
 * them are one return: the sum of P, at the mean distance by P (by share, where P is 0). Of these the strongest ones
 * are given, in the order of their distances.
 *
 * A return of intensity P is lost with the probability exp(-P / dropout); its noise is sqrt(noise_intensity / P) times
 * that of <noise>, a tenth to ten times. What is reported as its intensity is P, or by the table, whose numbers are
 * interpolated and whose ends hold beyond it.
 *
 * Pure. Thread: any. */
#ifndef SENSOR_SCAN_BEAM_H
#define SENSOR_SCAN_BEAM_H

#include "sensor/noise.h"
#include "sensor/scan.h"

struct scan_returns { /* arrays of [count], of each return; a return that is not there is INFINITY m away */
	double *ranges[SDF_RETURNS_MAX], *intensities[SDF_RETURNS_MAX];
};

/* The returns of each ray of the job, in m and P. A ray whose middle first meets something nearer than the least range
 * has -INFINITY as its first return, and no others. */
void scan_measure_beams(const struct scan_job *job, const struct scan_path *path, const struct sdf_beam *beam,
	const struct scan_returns *to);

/* Then: drop-out, noise, resolution and limits, and what is reported as intensity. key: of the noise; first: the number
 * of the first ray, all: how many rays the scan has. */
void scan_finish_beams(const struct sdf_beam *beam, const struct sdf_signal *range, uint64_t key,
	const struct noise_sample *sample, struct noise_cache *cache, uint32_t first, uint32_t count, uint32_t all,
	const struct scan_returns *to);

/* What is reported for the intensity. */
double scan_reported(const struct sdf_beam *beam, double intensity);

#endif
