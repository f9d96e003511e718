/* What a sensor measured, by type of sensor. All members are doubles, so that a reading is an array of numbers, too: as
 * such a plug-in gets it (reading() in plugin.h), and reads it through a pointer to the struct of its sensor's type.
 *
 *   const struct troupe_imu_reading *imu = (const void *)host->reading(step, model, sensor, &count, &time_s);
 *
 * Vectors are in the axes of the sensor, unless it says otherwise. */
#ifndef TROUPE_READING_H
#define TROUPE_READING_H

#include <troupe/geometry.h>

#ifdef __cplusplus
extern "C" {
#endif

struct troupe_imu_reading {
	double oriented;                /* 1: it has an orientation; 0: it has none, and the next is 0 */
	struct troupe_quat orientation; /* in its frame of reference */
	struct troupe_vec3 angular_velocity, acceleration; /* rad/s, m/s2 */
};

struct troupe_magnetometer_reading {
	struct troupe_vec3 field; /* T */
};

struct troupe_altimeter_reading {
	double height_m, climb_m_s; /* above the first place */
	double first_m;             /* z of that place */
};

struct troupe_air_pressure_reading {
	double pressure_Pa, variance; /* variance: of its noise */
};

struct troupe_air_speed_reading {
	double pressure_Pa, temperature_K; /* pressure: the difference between both ends of the tube */
};

struct troupe_navsat_reading {
	double latitude_deg, longitude_deg, altitude_m;
	struct troupe_vec3 velocity_m_s; /* to the east, to the north, up */
};

struct troupe_force_torque_reading {
	struct troupe_wrench wrench; /* in the axes that <frame> names */
};

/* Of a lidar. Behind the struct follow the range of each ray in m (-INFINITY: closer than min_m, INFINITY: nothing is
 * in range), and then the laser_retro of what each ray hit: columns * rows numbers each, from the lowest row up, in a
 * row from the least angle. */
struct troupe_scan_reading {
	double columns, rows;
	double min_rad, step_rad, row_min_rad, row_step_rad; /* the least angle, and the angle between two rays */
	double min_m, max_m;
	struct troupe_pose sensor; /* in the world */
};

/* Of a lidar with a <troupe:pattern> or another element of that kind, follow behind these numbers: a struct
 * troupe_scan_firings, then a struct troupe_scan_firing for each column, and one for each row. The ray of a column and
 * a row has the sum of both. Its direction is cos(azimuth) cos(elevation), sin(azimuth) cos(elevation), sin(elevation)
 * in the axes of the sensor. Rows and columns are in the order of the pattern; min_rad and row_min_rad above are the
 * angles of the first ones, and step_rad and row_step_rad the mean differences. */
struct troupe_scan_firing {
	double azimuth_rad, elevation_rad;
	double time_s; /* since the beginning of the scan */
	double ring;   /* the number of the laser */
};
struct troupe_scan_firings {
	double scan_s;   /* duration of a scan; it ends at the time of the reading */
	double scan;     /* of a pattern that differs from scan to scan: which one, from 0 */
	double returns;  /* of each ray, 1 to 3. The ranges and intensities of the second and third follow behind all
			  * else,  in arrays like those of the first. */
	double at_start; /* 1: messages have the time at which the scan begins; 0: at which it ends */
};

#ifdef __cplusplus
}
#endif
#endif
