/* A message has the ranges as they were measured; a cloud has a point for each of them, also for one that is infinite,
 * because its rows and columns are those of the scan. */
#include "server/encode_sensor.h"

#include "base/math.h"
#include "server/view.h"

#include <string.h>

bool encode_sensor_scan(const struct sensor_source *source, struct text *out)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	Gz__Msgs__LaserScan message = GZ__MSGS__LASER_SCAN__INIT;
	uint32_t count = (uint32_t)(scan->columns * scan->rows);
	double *numbers = arena_array(source->arena, double, 2 * (size_t)count);
	memcpy(numbers, scan + 1, 2 * (size_t)count * sizeof *numbers);
	message.header = encode_sensor_header(source);
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
	uint16_t gaps[5];
};

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

bool encode_sensor_points(const struct sensor_source *source, struct text *out)
{
	const struct troupe_scan_reading *scan = READINGS_AS(troupe_scan_reading, source->numbers);
	Gz__Msgs__PointCloudPacked message = GZ__MSGS__POINT_CLOUD_PACKED__INIT;
	uint32_t columns = (uint32_t)scan->columns, rows = (uint32_t)scan->rows;
	struct cloud_point *points = arena_array(source->arena, struct cloud_point, (size_t)columns * rows);
	Gz__Msgs__PointCloudPacked__Field *fields[] = {encode_sensor_field(source, "x", offsetof(struct cloud_point, x),
							       GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "y", offsetof(struct cloud_point, y),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "z", offsetof(struct cloud_point, z),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "intensity", offsetof(struct cloud_point, intensity),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "ring", offsetof(struct cloud_point, ring),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__UINT16)};
	encode_lidar_fill_points(scan, points);
	message.header = encode_sensor_header(source);
	message.field = fields;
	message.n_field = ARRAY_LEN(fields);
	message.width = columns;
	message.height = rows;
	message.point_step = sizeof *points;
	message.row_step = (uint32_t)sizeof *points * columns;
	message.data = (ProtobufCBinaryData){(size_t)columns * rows * sizeof *points, (uint8_t *)points};
	return encode_end(&message.base, source->arena, out);
}
