/* A scan is a thousand numbers, and a table has room for one: the least range is the number that decides whether a
 * robot stops. Contacts are summarized by their number, and by whether one of them is too deep. */
#include "sensor/summary.h"

#include <math.h>
#include <string.h>

static const char *const imu[] = {"qw", "qx", "qy", "qz", "wx", "wy", "wz", "ax", "ay", "az"};
static const char *const magnetometer[] = {"bx", "by", "bz"};
static const char *const altimeter[] = {"z", "vz"};
static const char *const air_pressure[] = {"pressure"};
static const char *const air_speed[] = {"pressure", "temperature"};
static const char *const navsat[] = {"latitude", "longitude", "altitude", "vx", "vy", "vz"};
static const char *const force_torque[] = {"fx", "fy", "fz", "tx", "ty", "tz"};
static const char *const contact[] = {"contacts", "depth"};
static const char *const lidar[] = {"range"};

static const struct {
	enum sdf_sensor_kind kind;
	uint32_t count, first; /* first: of the reading's numbers, for kinds whose numbers are copied */
	const char *const *names;
} kinds[] = {
	{SDF_IMU, ARRAY_LEN(imu), 1, imu},
	{SDF_MAGNETOMETER, ARRAY_LEN(magnetometer), 0, magnetometer},
	{SDF_ALTIMETER, ARRAY_LEN(altimeter), 0, altimeter},
	{SDF_AIR_PRESSURE, ARRAY_LEN(air_pressure), 0, air_pressure},
	{SDF_AIR_SPEED, ARRAY_LEN(air_speed), 0, air_speed},
	{SDF_NAVSAT, ARRAY_LEN(navsat), 0, navsat},
	{SDF_FORCE_TORQUE, ARRAY_LEN(force_torque), 0, force_torque},
	{SDF_CONTACT, ARRAY_LEN(contact), 0, contact},
	{SDF_LIDAR, ARRAY_LEN(lidar), 0, lidar},
	{SDF_GPU_LIDAR, ARRAY_LEN(lidar), 0, lidar},
};
_Static_assert(ARRAY_LEN(imu) <= SUMMARY_MAX, "the longest list fits");

uint32_t summary_names(enum sdf_sensor_kind kind, const char *const **ret_names)
{
	for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].kind == kind) {
			*ret_names = kinds[i].names;
			return kinds[i].count;
		}
	return 0;
}

static double least_range(const double *numbers)
{
	const struct reading_scan *scan = (const struct reading_scan *)(const void *)numbers;
	const double *ranges = (const double *)(const void *)(scan + 1);
	size_t count = (size_t)scan->columns * (size_t)scan->rows;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		if (isfinite(ranges[i]) && ranges[i] < least)
			least = ranges[i];
	return isfinite(least) ? least : (double)NAN;
}

static void sum_up_contacts(const double *numbers, size_t bytes, double summary[2])
{
	const struct reading_contact *contacts = (const struct reading_contact *)(const void *)numbers;
	size_t count = bytes / sizeof *contacts;
	summary[0] = (double)count;
	for (size_t i = 0; i < count; i++)
		summary[1] = fmax(summary[1], contacts[i].depth);
}

static void copy(enum sdf_sensor_kind kind, const double *numbers, double summary[SUMMARY_MAX])
{
	for (uint32_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (kinds[i].kind == kind)
			memcpy(summary, numbers + kinds[i].first, kinds[i].count * sizeof *summary);
	for (int i = 0; i < 4 && kind == SDF_IMU && numbers[0] == 0; i++)
		summary[i] = NAN;
}

void summary_make(const struct readings *readings, const struct reading *reading, double numbers[SUMMARY_MAX])
{
	const double *from = readings_numbers(readings, reading);
	for (int i = 0; i < SUMMARY_MAX; i++)
		numbers[i] = NAN;
	if (reading->kind == SDF_LIDAR || reading->kind == SDF_GPU_LIDAR)
		numbers[0] = least_range(from);
	else if (reading->kind == SDF_CONTACT)
		sum_up_contacts(from, reading->count, numbers);
	else
		copy(reading->kind, from, numbers);
}
