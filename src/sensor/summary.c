/* A scan is a thousand numbers, and a table has room for one: the least range is the number that decides whether a
 * robot stops. Contacts are summarized by their number, and by whether one of them is too deep. */
#include "sensor/summary.h"

#include <math.h>
#include <string.h>

static double summary_least_range(const double *numbers)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, numbers);
	const double *ranges = (const double *)(const void *)(scan + 1);
	size_t count = (size_t)scan->columns * (size_t)scan->rows;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		if (isfinite(ranges[i]) && ranges[i] < least)
			least = ranges[i];
	return isfinite(least) ? least : (double)NAN;
}

static void summary_sum_up_contacts(const double *numbers, size_t bytes, double summary[2])
{
	const struct reading_contact *contacts = READINGS_AS(reading_contact, numbers);
	size_t count = bytes / sizeof *contacts;
	summary[0] = (double)count;
	for (size_t i = 0; i < count; i++)
		summary[1] = fmax(summary[1], contacts[i].depth);
}

/* The columns are the first numbers of the reading; of an IMU those from its orientation on. */
static void summary_copy(enum sdf_sensor_kind kind, const double *numbers, double summary[SENSOR_KIND_COLUMNS_MAX])
{
	const struct troupe_imu_reading *imu = kind == SDF_IMU ? READINGS_AS(troupe_imu_reading, numbers) : NULL;
	memcpy(summary, imu ? &imu->orientation.w : numbers, sensor_kind_column_count(kind) * sizeof *summary);
	if (imu && imu->oriented == 0)
		quat_store((struct quat){NAN, NAN, NAN, NAN}, summary);
}

void summary_make(
	const struct readings *readings, const struct reading *reading, double numbers[SENSOR_KIND_COLUMNS_MAX])
{
	const double *from = readings_numbers(readings, reading);
	for (int i = 0; i < SENSOR_KIND_COLUMNS_MAX; i++)
		numbers[i] = NAN;
	if (sensor_kind_is_lidar(reading->kind))
		numbers[0] = summary_least_range(from);
	else if (reading->kind == SDF_CONTACT)
		summary_sum_up_contacts(from, reading->count, numbers);
	else
		summary_copy(reading->kind, from, numbers);
}
