/* A message has the ranges as they were measured; a cloud has a point for each of them, also for one that is infinite,
 * because its rows and columns are those of the scan. */
#include "server/encode_sensor.h"

#include "base/math.h"
#include "server/scene_info.h"

#include <math.h>
#include <string.h>

/* NULL: the lidar has no pattern. */
static const struct troupe_scan_firings *encode_lidar_firings(const struct sensor_source *source)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	size_t rays = 2 * (size_t)scan->columns * (size_t)scan->rows;
	bool more = source->reading->count > sizeof *scan + rays * sizeof(double);
	return more ? (const void *)((const double *)(const void *)(scan + 1) + rays) : NULL;
}

/* Whether the stamp of messages is the beginning of the scan, which no scan has that began before the world. */
static bool encode_lidar_begins(const struct sensor_source *source)
{
	const struct troupe_scan_firings *firings = encode_lidar_firings(source);
	return firings && firings->at_start != 0 && source->reading->time_ns >= llround(firings->scan_s * 1e9);
}

static Gz__Msgs__Header *encode_lidar_header(const struct sensor_source *source)
{
	const struct troupe_scan_firings *firings = encode_lidar_firings(source);
	struct reading reading = *source->reading;
	if (!encode_lidar_begins(source))
		return encode_sensor_header(source);
	struct sensor_source begin = *source;
	reading.time_ns -= llround(firings->scan_s * 1e9);
	begin.reading = &reading;
	return encode_sensor_header(&begin);
}

/* Gazebo's message has no place for these two numbers of ROS. */
static void encode_lidar_add_times(const struct sensor_source *source, Gz__Msgs__Header *header)
{
	const struct troupe_scan_firings *firings = encode_lidar_firings(source);
	const struct troupe_scan_firing *columns = (const void *)(firings + 1);
	if (!firings)
		return;
	double columns_count = READINGS_AS(troupe_scan_reading, source->numbers)->columns;
	double step_s = columns_count > 1 ? columns[1].time_s - columns[0].time_s : 0;
	encode_header_add(source->arena, header, "scan_time", arena_printf(source->arena, "%.9g", firings->scan_s));
	encode_header_add(source->arena, header, "time_increment", arena_printf(source->arena, "%.9g", step_s));
}

bool encode_sensor_scan(const struct sensor_source *source, struct text *out)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	Gz__Msgs__LaserScan message = GZ__MSGS__LASER_SCAN__INIT;
	uint32_t count = (uint32_t)(scan->columns * scan->rows);
	double *numbers = arena_array(source->arena, double, 2 * (size_t)count);
	memcpy(numbers, scan + 1, 2 * (size_t)count * sizeof *numbers);
	message.header = encode_lidar_header(source);
	encode_lidar_add_times(source, message.header);
	message.frame = encode_text(source->row->frame);
	message.world_pose = encode_pose(source->arena, &scan->sensor, NULL, 0);
	message.angle_min = scan->min_rad;
	message.angle_max = scan->min_rad + (scan->columns - 1) * scan->step_rad;
	message.angle_step = scan->step_rad;
	message.range_min = scan->min_m;
	message.range_max = scan->max_m;
	message.count = (uint32_t)scan->columns;
	message.vertical_angle_min = scan->row_min_rad;
	message.vertical_angle_max = scan->row_min_rad + (scan->rows - 1) * scan->row_step_rad;
	message.vertical_angle_step = scan->row_step_rad;
	message.vertical_count = (uint32_t)scan->rows;
	message.n_ranges = message.n_intensities = count;
	message.ranges = numbers;
	message.intensities = numbers + count;
	return encode_end(&message.base, source->arena, out);
}

struct cloud_point { /* as Gazebo packs it: x, y, z, and behind a gap intensity and the number of the row */
	float x, y, z, gap, intensity;
	uint16_t ring;
	uint8_t number; /* of the return, from 0; only of a lidar with several */
	uint8_t gaps[1];
	float time; /* only of a lidar that has a pattern */
	uint16_t more_gaps[2];
};
_Static_assert(sizeof(struct cloud_point) == 32, "as in Gazebo");

static void encode_lidar_fill_points(const struct troupe_scan_reading *scan, struct cloud_point *points)
{
	const double *ranges = (const double *)(const void *)(scan + 1);
	uint32_t columns = (uint32_t)scan->columns, rows = (uint32_t)scan->rows;
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < columns; c++) {
			size_t at = (size_t)r * columns + c;
			double a = scan->min_rad + c * scan->step_rad, up = scan->row_min_rad + r * scan->row_step_rad;
			double level = ranges[at] * math_cos(up);
			points[at].x = (float)(level * math_cos(a));
			points[at].y = (float)(level * math_sin(a));
			points[at].z = (float)(ranges[at] * math_sin(up));
			points[at].intensity = (float)ranges[(size_t)rows * columns + at];
			points[at].ring = (uint16_t)r;
		}
}

/* stamp_s: the stamp of the message, since the beginning of the scan. ranges, intensities: of return `number`. */
static void encode_lidar_fill_firings(const struct troupe_scan_reading *scan, const struct troupe_scan_firings *firings,
	double stamp_s, const double *ranges, uint8_t number, struct cloud_point *points)
{
	uint32_t columns = (uint32_t)scan->columns, rows = (uint32_t)scan->rows;
	const double *intensities = ranges + (size_t)rows * columns;
	const struct troupe_scan_firing *column = (const void *)(firings + 1), *row = column + columns;
	for (size_t at = 0; at < (size_t)rows * columns; at++) {
		const struct troupe_scan_firing *a = &column[at % columns], *b = &row[at / columns];
		double sin, cos, up_sin, up_cos;
		math_sincos(a->azimuth_rad + b->azimuth_rad, &sin, &cos);
		math_sincos(a->elevation_rad + b->elevation_rad, &up_sin, &up_cos);
		points[at].x = (float)(ranges[at] * up_cos * cos);
		points[at].y = (float)(ranges[at] * up_cos * sin);
		points[at].z = (float)(ranges[at] * up_sin);
		points[at].intensity = (float)intensities[at];
		points[at].ring = (uint16_t)(a->ring + b->ring);
		points[at].number = number;
		points[at].time = (float)(a->time_s + b->time_s - stamp_s);
	}
}

/* The rows of the first returns, then those of the second. */
static void encode_lidar_fill_returns(
	const struct sensor_source *source, const struct troupe_scan_firings *firings, struct cloud_point *points)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	size_t columns = (size_t)scan->columns, rows = (size_t)scan->rows, rays = columns * rows;
	const double *ranges = (const double *)(const void *)(scan + 1);
	const double *more =
		(const double *)((const struct troupe_scan_firing *)(const void *)(firings + 1) + columns + rows);
	double stamp_s = encode_lidar_begins(source) ? 0 : firings->scan_s;
	for (uint32_t r = 0; r < (uint32_t)firings->returns; r++)
		encode_lidar_fill_firings(
			scan, firings, stamp_s, r ? more + 2 * rays * (r - 1) : ranges, (uint8_t)r, points + r * rays);
}

/* Returns the number of fields. */
static size_t encode_lidar_fields(
	const struct sensor_source *source, bool timed, bool several, Gz__Msgs__PointCloudPacked__Field *fields[7])
{
	static const struct encode_lidar_field {
		const char *name;
		uint32_t offset;
		Gz__Msgs__PointCloudPacked__Field__DataType type;
	} table[] = {
		{"x", offsetof(struct cloud_point, x), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32},
		{"y", offsetof(struct cloud_point, y), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32},
		{"z", offsetof(struct cloud_point, z), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32},
		{"intensity", offsetof(struct cloud_point, intensity),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32},
		{"ring", offsetof(struct cloud_point, ring), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__UINT16},
		{"time", offsetof(struct cloud_point, time), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32},
		{"return", offsetof(struct cloud_point, number), GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__UINT8},
	};
	size_t count = ARRAY_LEN(table) - !timed - !several;
	for (size_t i = 0; i < count; i++)
		fields[i] = encode_sensor_field(source, table[i].name, table[i].offset, table[i].type);
	return count;
}

bool encode_sensor_points(const struct sensor_source *source, struct text *out)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	const struct troupe_scan_firings *firings = encode_lidar_firings(source);
	Gz__Msgs__PointCloudPacked message = GZ__MSGS__POINT_CLOUD_PACKED__INIT;
	bool several = firings && firings->returns > 1;
	uint32_t columns = (uint32_t)scan->columns,
		 rows = (uint32_t)scan->rows * (several ? (uint32_t)firings->returns : 1);
	struct cloud_point *points = arena_array(source->arena, struct cloud_point, (size_t)columns * rows);
	Gz__Msgs__PointCloudPacked__Field *fields[7];
	if (firings)
		encode_lidar_fill_returns(source, firings, points);
	else
		encode_lidar_fill_points(scan, points);
	message.header = encode_lidar_header(source);
	message.field = fields;
	message.n_field = encode_lidar_fields(source, firings != NULL, several, fields);
	message.width = columns;
	message.height = rows;
	message.point_step = sizeof *points;
	message.row_step = (uint32_t)sizeof *points * columns;
	message.data = (ProtobufCBinaryData){(size_t)columns * rows * sizeof *points, (uint8_t *)points};
	return encode_end(&message.base, source->arena, out);
}
