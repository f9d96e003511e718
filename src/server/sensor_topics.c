/* The sensor itself may be gone when a message is made, with its model: so a row has all names that the message needs,
 * and a reading has all numbers. */
#include "server/sensor_topics.h"

#include "base/hash.h"
#include "base/math.h"
#include "server/encode.h"
#include "server/view.h"
#include "topic/motion.pb-c.h"
#include "topic/sensor.pb-c.h"

#include <stdlib.h>
#include <string.h>

enum { ROLE_SHIFT = 20 }; /* row->of: the index of the sensor; above it the index of the topic in its kind's list */

uint32_t sensor_topics_index(const struct topic_row *row)
{
	return row->of & ((1u << ROLE_SHIFT) - 1);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

struct source {
	const struct reading *reading;
	const double *numbers;
	const struct topic_row *row;
	const struct frame *frame;
	struct arena *arena;
};

/* Gazebo's header: the time of the measurement, and the frame in which it is given. */
static Gz__Msgs__Header *header(const struct source *source)
{
	Gz__Msgs__Header *out = encode_header(source->arena, source->reading->time_ns);
	encode_header_add(source->arena, out, "frame_id", source->row->frame);
	return out;
}

static Gz__Msgs__Vector3d *vec3_at(const struct source *source, uint32_t at)
{
	const double *n = source->numbers + at;
	return encode_vec3(source->arena, (struct troupe_vec3){n[0], n[1], n[2]});
}

static bool encode_imu(const struct source *source, struct text *out)
{
	Gz__Msgs__IMU message = GZ__MSGS__IMU__INIT;
	Gz__Msgs__Quaternion q = GZ__MSGS__QUATERNION__INIT;
	const double *n = source->numbers;
	q.w = n[1], q.x = n[2], q.y = n[3], q.z = n[4];
	message.header = header(source);
	message.entity_name = encode_text(source->row->only);
	message.orientation = n[0] != 0 ? &q : NULL;
	message.angular_velocity = vec3_at(source, 5);
	message.linear_acceleration = vec3_at(source, 8);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_magnetometer(const struct source *source, struct text *out)
{
	Gz__Msgs__Magnetometer message = GZ__MSGS__MAGNETOMETER__INIT;
	message.header = header(source);
	message.field_tesla = vec3_at(source, 0);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_altimeter(const struct source *source, struct text *out)
{
	Gz__Msgs__Altimeter message = GZ__MSGS__ALTIMETER__INIT;
	message.header = header(source);
	message.vertical_position = source->numbers[0];
	message.vertical_velocity = source->numbers[1];
	message.vertical_reference = source->numbers[2];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_air_pressure(const struct source *source, struct text *out)
{
	Gz__Msgs__FluidPressure message = GZ__MSGS__FLUID_PRESSURE__INIT;
	message.header = header(source);
	message.pressure = source->numbers[0];
	message.variance = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_air_speed(const struct source *source, struct text *out)
{
	Gz__Msgs__AirSpeed message = GZ__MSGS__AIR_SPEED__INIT;
	message.header = header(source);
	message.diff_pressure = source->numbers[0];
	message.temperature = source->numbers[1];
	return encode_end(&message.base, source->arena, out);
}

static bool encode_navsat(const struct source *source, struct text *out)
{
	Gz__Msgs__NavSat message = GZ__MSGS__NAV_SAT__INIT;
	message.header = header(source);
	message.latitude_deg = source->numbers[0];
	message.longitude_deg = source->numbers[1];
	message.altitude = source->numbers[2];
	message.velocity_east = source->numbers[3];
	message.velocity_north = source->numbers[4];
	message.velocity_up = source->numbers[5];
	message.frame_id = encode_text(source->row->frame);
	return encode_end(&message.base, source->arena, out);
}

static bool encode_force_torque(const struct source *source, struct text *out)
{
	Gz__Msgs__Wrench message = GZ__MSGS__WRENCH__INIT;
	message.header = header(source);
	message.force = vec3_at(source, 0);
	message.torque = vec3_at(source, 3);
	return encode_end(&message.base, source->arena, out);
}

/* --- lidars ------------------------------------------------------------------------------------------------------- */

static bool encode_scan(const struct source *source, struct text *out)
{
	const struct reading_scan *scan = (const struct reading_scan *)(const void *)source->numbers;
	const struct troupe_pose pose = view_pose(scan->sensor);
	Gz__Msgs__LaserScan message = GZ__MSGS__LASER_SCAN__INIT;
	uint32_t count = (uint32_t)(scan->columns * scan->rows);
	double *numbers = arena_array(source->arena, double, 2 * (size_t)count);
	memcpy(numbers, scan + 1, 2 * (size_t)count * sizeof *numbers);
	message.header = header(source);
	message.frame = encode_text(source->row->frame);
	message.world_pose = encode_pose(source->arena, &pose, NULL, 0);
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

static Gz__Msgs__PointCloudPacked__Field *field(const struct source *source, const char *name, uint32_t offset,
	Gz__Msgs__PointCloudPacked__Field__DataType type)
{
	Gz__Msgs__PointCloudPacked__Field *out =
		ENCODE_NEW(source->arena, Gz__Msgs__PointCloudPacked__Field, gz__msgs__point_cloud_packed__field__init);
	out->name = encode_text(name);
	out->offset = offset;
	out->datatype = type;
	out->count = 1;
	return out;
}

struct cloud_point { /* as Gazebo packs it: x, y, z, and behind a gap intensity and the number of the row */
	float x, y, z, gap, intensity;
	uint16_t ring;
	uint16_t gaps[5];
};

static void fill_points(const struct reading_scan *scan, struct cloud_point *points)
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

static bool encode_points(const struct source *source, struct text *out)
{
	const struct reading_scan *scan = (const struct reading_scan *)(const void *)source->numbers;
	Gz__Msgs__PointCloudPacked message = GZ__MSGS__POINT_CLOUD_PACKED__INIT;
	uint32_t columns = (uint32_t)scan->columns, rows = (uint32_t)scan->rows;
	struct cloud_point *points = arena_array(source->arena, struct cloud_point, (size_t)columns * rows);
	Gz__Msgs__PointCloudPacked__Field *fields[] = {field(source, "x", offsetof(struct cloud_point, x),
							       GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "y", offsetof(struct cloud_point, y),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "z", offsetof(struct cloud_point, z),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "intensity", offsetof(struct cloud_point, intensity),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "ring", offsetof(struct cloud_point, ring),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__UINT16)};
	fill_points(scan, points);
	message.header = header(source);
	message.field = fields;
	message.n_field = ARRAY_LEN(fields);
	message.width = columns;
	message.height = rows;
	message.point_step = sizeof *points;
	message.row_step = (uint32_t)sizeof *points * columns;
	message.data = (ProtobufCBinaryData){(size_t)columns * rows * sizeof *points, (uint8_t *)points};
	return encode_end(&message.base, source->arena, out);
}

/* --- cameras ------------------------------------------------------------------------------------------------------ */

static const struct reading_picture *picture_of(const struct source *source)
{
	return (const struct reading_picture *)(const void *)source->numbers;
}

static size_t pixels_of(const struct reading_picture *picture)
{
	return (size_t)picture->width * (size_t)picture->height;
}

static const float *depth_of(const struct source *source)
{
	return (const float *)(const void *)(picture_of(source) + 1);
}

static unsigned char *colour_of(const struct source *source)
{
	const struct reading_picture *picture = picture_of(source);
	size_t depth = (uint32_t)picture->parts & SENSOR_DEPTH ? 4 * pixels_of(picture) : 0;
	return (unsigned char *)(uintptr_t)(picture + 1) + depth;
}

static bool encode_image(const struct source *source, Gz__Msgs__PixelFormatType format, uint32_t pixel_bytes,
	uint8_t *data, struct text *out)
{
	const struct reading_picture *picture = picture_of(source);
	Gz__Msgs__Image message = GZ__MSGS__IMAGE__INIT;
	message.header = header(source);
	message.width = (uint32_t)picture->width;
	message.height = (uint32_t)picture->height;
	message.step = pixel_bytes * message.width;
	message.pixel_format_type = format;
	message.data = (ProtobufCBinaryData){pixels_of(picture) * pixel_bytes, data};
	return encode_end(&message.base, source->arena, out);
}

static bool encode_colour(const struct source *source, struct text *out)
{
	return encode_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8, 3, colour_of(source), out);
}

static bool encode_depth(const struct source *source, struct text *out)
{
	return encode_image(
		source, GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32, 4, (uint8_t *)(uintptr_t)depth_of(source), out);
}

/* Pixels of a picture of segments, as Gazebo's: of a map of labels, the label and the number of the model among those
 * of its label, or the label three times; of a coloured map, a colour of its own for each. */
static bool encode_segments(const struct source *source, bool coloured, struct text *out)
{
	const struct reading_picture *picture = picture_of(source);
	const uint32_t *labels = (const uint32_t *)(const void *)(picture + 1);
	size_t pixels = pixels_of(picture);
	const uint32_t *instances = labels + pixels;
	bool by_instance = picture->by_instance != 0;
	uint8_t *data = arena_alloc(source->arena, 3 * pixels);
	for (size_t i = 0; i < pixels; i++) {
		uint32_t label = labels[i], instance = by_instance ? instances[i] : 0;
		uint64_t hue = label ? hash_mix(label, instance) : 0;
		uint8_t *to = data + 3 * i;
		for (uint32_t c = 0; c < 3; c++)
			to[c] = (uint8_t)(coloured ? hue >> 8 * c : label);
		if (!coloured && by_instance)
			to[1] = (uint8_t)(instance >> 8), to[2] = (uint8_t)instance;
	}
	return encode_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8, 3, data, out);
}

static bool encode_labels(const struct source *source, struct text *out)
{
	return encode_segments(source, false, out);
}

static bool encode_coloured(const struct source *source, struct text *out)
{
	return encode_segments(source, true, out);
}

static Gz__Msgs__Vector2d *corner(const struct source *source, double x, double y)
{
	Gz__Msgs__Vector2d *out = ENCODE_NEW(source->arena, Gz__Msgs__Vector2d, gz__msgs__vector2d__init);
	out->x = x;
	out->y = y;
	return out;
}

/* A reading may come from another process. */
static uint32_t label_of(const struct reading_box *box)
{
	return box->label >= 0 && box->label <= UINT32_MAX ? (uint32_t)box->label : 0;
}

static size_t boxes_of(const struct source *source, const struct reading_box **ret_boxes)
{
	*ret_boxes = (const struct reading_box *)(const void *)(picture_of(source) + 1);
	return (source->reading->count - sizeof(struct reading_picture)) / sizeof **ret_boxes;
}

static bool encode_flat_boxes(const struct source *source, struct text *out)
{
	const struct reading_box *boxes;
	size_t count = boxes_of(source, &boxes);
	Gz__Msgs__AnnotatedAxisAligned2DBoxV message = GZ__MSGS__ANNOTATED_AXIS_ALIGNED2_DBOX__V__INIT;
	message.header = header(source);
	message.annotated_box = arena_array(source->arena, Gz__Msgs__AnnotatedAxisAligned2DBox *, count);
	for (size_t i = 0; i < count; i++) {
		Gz__Msgs__AnnotatedAxisAligned2DBox *to = ENCODE_NEW(source->arena, Gz__Msgs__AnnotatedAxisAligned2DBox,
			gz__msgs__annotated_axis_aligned2_dbox__init);
		to->label = label_of(&boxes[i]);
		to->box = ENCODE_NEW(source->arena, Gz__Msgs__AxisAligned2DBox, gz__msgs__axis_aligned2_dbox__init);
		to->box->min_corner = corner(source, boxes[i].left, boxes[i].top);
		to->box->max_corner = corner(source, boxes[i].right, boxes[i].bottom);
		message.annotated_box[message.n_annotated_box++] = to;
	}
	return encode_end(&message.base, source->arena, out);
}

static bool encode_solid_boxes(const struct source *source, struct text *out)
{
	const struct reading_box *boxes;
	size_t count = boxes_of(source, &boxes);
	Gz__Msgs__AnnotatedOriented3DBoxV message = GZ__MSGS__ANNOTATED_ORIENTED3_DBOX__V__INIT;
	message.header = header(source);
	message.annotated_box = arena_array(source->arena, Gz__Msgs__AnnotatedOriented3DBox *, count);
	for (size_t i = 0; i < count; i++) {
		const struct troupe_pose pose = view_pose(boxes[i].pose);
		Gz__Msgs__AnnotatedOriented3DBox *to = ENCODE_NEW(
			source->arena, Gz__Msgs__AnnotatedOriented3DBox, gz__msgs__annotated_oriented3_dbox__init);
		const Gz__Msgs__Pose *at = encode_pose(source->arena, &pose, NULL, 0);
		to->label = label_of(&boxes[i]);
		to->box = ENCODE_NEW(source->arena, Gz__Msgs__Oriented3DBox, gz__msgs__oriented3_dbox__init);
		to->box->center = at->position;
		to->box->orientation = at->orientation;
		to->box->boxsize = encode_vec3(source->arena, view_vec3(boxes[i].size));
		message.annotated_box[message.n_annotated_box++] = to;
	}
	return encode_end(&message.base, source->arena, out);
}

static bool encode_camera_info(const struct source *source, struct text *out)
{
	const struct reading_picture *p = picture_of(source);
	double k[9] = {p->fx, p->skew, p->cx, 0, p->fy, p->cy, 0, 0, 1}, d[5] = {p->k1, p->k2, p->p1, p->p2, p->k3};
	double projection[12] = {p->fx, 0, p->cx, p->tx, 0, p->fy, p->cy, p->ty, 0, 0, 1, 0};
	double rectification[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	Gz__Msgs__CameraInfo message = GZ__MSGS__CAMERA_INFO__INIT;
	Gz__Msgs__CameraInfo__Distortion distortion = GZ__MSGS__CAMERA_INFO__DISTORTION__INIT;
	Gz__Msgs__CameraInfo__Intrinsics intrinsics = GZ__MSGS__CAMERA_INFO__INTRINSICS__INIT;
	Gz__Msgs__CameraInfo__Projection projected = GZ__MSGS__CAMERA_INFO__PROJECTION__INIT;
	distortion.k = d, distortion.n_k = ARRAY_LEN(d);
	intrinsics.k = k, intrinsics.n_k = ARRAY_LEN(k);
	projected.p = projection, projected.n_p = ARRAY_LEN(projection);
	message.header = header(source);
	message.width = (uint32_t)p->width;
	message.height = (uint32_t)p->height;
	message.distortion = &distortion;
	message.intrinsics = &intrinsics;
	message.projection = &projected;
	message.rectification_matrix = rectification;
	message.n_rectification_matrix = ARRAY_LEN(rectification);
	return encode_end(&message.base, source->arena, out);
}

struct depth_point { /* x ahead, y left, z up, and the colour as 0xRRGGBB in the bits of a float */
	float x, y, z;
	uint32_t rgb;
};

static bool encode_depth_points(const struct source *source, struct text *out)
{
	const struct reading_picture *p = picture_of(source);
	const float *depth = depth_of(source);
	const unsigned char *colour = (uint32_t)p->parts & SENSOR_COLOUR ? colour_of(source) : NULL;
	uint32_t width = (uint32_t)p->width, height = (uint32_t)p->height;
	struct depth_point *points = arena_array(source->arena, struct depth_point, (size_t)width * height);
	Gz__Msgs__PointCloudPacked message = GZ__MSGS__POINT_CLOUD_PACKED__INIT;
	Gz__Msgs__PointCloudPacked__Field *fields[] = {field(source, "x", offsetof(struct depth_point, x),
							       GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "y", offsetof(struct depth_point, y),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "z", offsetof(struct depth_point, z),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		field(source, "rgb", offsetof(struct depth_point, rgb),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32)};
	for (uint32_t row = 0; row < height; row++)
		for (uint32_t column = 0; column < width; column++) {
			size_t at = (size_t)row * width + column;
			double ahead = (double)depth[at];
			points[at] = (struct depth_point){depth[at], (float)(-(column + 0.5 - p->cx) / p->fx * ahead),
				(float)(-(row + 0.5 - p->cy) / p->fy * ahead), 0};
			if (colour)
				points[at].rgb = (uint32_t)colour[3 * at] << 16 | (uint32_t)colour[3 * at + 1] << 8 |
						 colour[3 * at + 2];
		}
	message.header = header(source);
	message.field = fields;
	message.n_field = ARRAY_LEN(fields);
	message.width = width;
	message.height = height;
	message.point_step = sizeof *points;
	message.row_step = (uint32_t)sizeof *points * width;
	message.data = (ProtobufCBinaryData){(size_t)width * height * sizeof *points, (uint8_t *)points};
	return encode_end(&message.base, source->arena, out);
}

static bool encode_logical_camera(const struct source *source, struct text *out)
{
	const struct troupe_scene *scene = source->frame->snapshot.scene;
	const struct pose *eye = (const struct pose *)(const void *)source->numbers;
	const struct reading_model *seen = (const struct reading_model *)(const void *)(eye + 1);
	size_t count = (source->reading->count - sizeof *eye) / sizeof *seen;
	const struct troupe_pose pose = view_pose(*eye);
	Gz__Msgs__LogicalCameraImage message = GZ__MSGS__LOGICAL_CAMERA_IMAGE__INIT;
	message.header = header(source);
	message.pose = encode_pose(source->arena, &pose, NULL, 0);
	message.model = arena_array(source->arena, Gz__Msgs__LogicalCameraImage__Model *, count);
	for (size_t i = 0; i < count; i++)
		for (uint32_t m = 0; m < scene->model_count; m++) {
			if ((double)scene->models[m].id != seen[i].id)
				continue;
			const struct troupe_pose in_camera = view_pose(seen[i].pose);
			Gz__Msgs__LogicalCameraImage__Model *to = ENCODE_NEW(source->arena,
				Gz__Msgs__LogicalCameraImage__Model, gz__msgs__logical_camera_image__model__init);
			to->name = encode_text(scene->models[m].name);
			to->pose = encode_pose(source->arena, &in_camera, NULL, 0);
			message.model[message.n_model++] = to;
		}
	return encode_end(&message.base, source->arena, out);
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

static Gz__Msgs__Entity *entity_of_geom(const struct source *source, double geom)
{
	const struct troupe_scene *scene = source->frame->snapshot.scene;
	Gz__Msgs__Entity *out = ENCODE_NEW(source->arena, Gz__Msgs__Entity, gz__msgs__entity__init);
	uint32_t shape = view_shape_of_geom(scene, (uint32_t)geom);
	out->type = GZ__MSGS__ENTITY__TYPE__COLLISION;
	if (shape == TROUPE_NONE)
		return out;
	const struct troupe_scene_link *link = &scene->links[scene->shapes[shape].link];
	out->id = ENCODE_SHAPE_ID | shape;
	out->name = encode_text(arena_printf(
		source->arena, "%s::%s::%s", scene->models[link->model].name, link->name, scene->shapes[shape].name));
	return out;
}

static Gz__Msgs__Wrench *wrench_of(const struct source *source, struct vec3 force, double sign)
{
	Gz__Msgs__Wrench *out = ENCODE_NEW(source->arena, Gz__Msgs__Wrench, gz__msgs__wrench__init);
	out->force = encode_vec3(source->arena, view_vec3(vec3_scale(force, sign)));
	out->torque = encode_vec3(source->arena, (struct troupe_vec3){0, 0, 0});
	return out;
}

/* Contacts of one pair of collisions: the list has them one after the other. */
static Gz__Msgs__Contact *encode_pair(const struct source *source, const struct reading_contact *of, size_t count)
{
	Gz__Msgs__Contact *out = ENCODE_NEW(source->arena, Gz__Msgs__Contact, gz__msgs__contact__init);
	out->header = header(source);
	out->collision1 = entity_of_geom(source, of->geoms[0]);
	out->collision2 = entity_of_geom(source, of->geoms[1]);
	out->n_position = out->n_normal = out->n_depth = out->n_wrench = count;
	out->position = arena_array(source->arena, Gz__Msgs__Vector3d *, count);
	out->normal = arena_array(source->arena, Gz__Msgs__Vector3d *, count);
	out->depth = arena_array(source->arena, double, count);
	out->wrench = arena_array(source->arena, Gz__Msgs__JointWrench *, count);
	for (size_t i = 0; i < count; i++) {
		Gz__Msgs__JointWrench *wrench =
			ENCODE_NEW(source->arena, Gz__Msgs__JointWrench, gz__msgs__joint_wrench__init);
		wrench->body_1_name = out->collision1->name;
		wrench->body_2_name = out->collision2->name;
		wrench->body_1_wrench = wrench_of(source, of[i].force, 1);
		wrench->body_2_wrench = wrench_of(source, of[i].force, -1);
		out->position[i] = encode_vec3(source->arena, view_vec3(of[i].position));
		out->normal[i] = encode_vec3(source->arena, view_vec3(of[i].normal));
		out->depth[i] = of[i].depth;
		out->wrench[i] = wrench;
	}
	return out;
}

static bool encode_contacts(const struct source *source, struct text *out)
{
	const struct reading_contact *all = (const struct reading_contact *)(const void *)source->numbers;
	size_t count = source->reading->count / sizeof *all, first = 0;
	Gz__Msgs__Contacts message = GZ__MSGS__CONTACTS__INIT;
	message.header = header(source);
	message.contact = arena_array(source->arena, Gz__Msgs__Contact *, count);
	for (size_t i = 1; i <= count; i++) {
		bool same =
			i < count && all[i].geoms[0] == all[first].geoms[0] && all[i].geoms[1] == all[first].geoms[1];
		if (same)
			continue;
		message.contact[message.n_contact++] = encode_pair(source, &all[first], i - first);
		first = i;
	}
	return encode_end(&message.base, source->arena, out);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

typedef bool encode_fn(const struct source *source, struct text *out);

#define IMAGE "gz.msgs.Image"
#define INFO NULL /* the topic of a camera's parameters: beside the one of its pictures, or <camera_info_topic> */

/* The topics of each kind. `last` is what Gazebo puts behind the sensor's path when the file names no topic, `suffix`
 * is put behind a topic that the file names. */
static const struct {
	enum sdf_sensor_kind kind;
	const char *last, *suffix, *type;
	encode_fn *encode;
} topics[] = {
	{SDF_IMU, "imu", "", "gz.msgs.IMU", encode_imu},
	{SDF_FORCE_TORQUE, "forcetorque", "", "gz.msgs.Wrench", encode_force_torque},
	{SDF_MAGNETOMETER, "magnetometer", "", "gz.msgs.Magnetometer", encode_magnetometer},
	{SDF_ALTIMETER, "altimeter", "", "gz.msgs.Altimeter", encode_altimeter},
	{SDF_AIR_PRESSURE, "air_pressure", "", "gz.msgs.FluidPressure", encode_air_pressure},
	{SDF_AIR_SPEED, "air_speed", "", "gz.msgs.AirSpeed", encode_air_speed},
	{SDF_NAVSAT, "navsat", "", "gz.msgs.NavSat", encode_navsat},
	{SDF_LIDAR, "scan", "", "gz.msgs.LaserScan", encode_scan},
	{SDF_LIDAR, "scan/points", "/points", "gz.msgs.PointCloudPacked", encode_points},
	{SDF_GPU_LIDAR, "scan", "", "gz.msgs.LaserScan", encode_scan},
	{SDF_GPU_LIDAR, "scan/points", "/points", "gz.msgs.PointCloudPacked", encode_points},
	{SDF_CAMERA, "image", "", IMAGE, encode_colour},
	{SDF_CAMERA, "camera_info", INFO, "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_WIDE_ANGLE_CAMERA, "image", "", IMAGE, encode_colour},
	{SDF_WIDE_ANGLE_CAMERA, "camera_info", INFO, "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_DEPTH_CAMERA, "depth_image", "", IMAGE, encode_depth},
	{SDF_DEPTH_CAMERA, "depth_image/points", "/points", "gz.msgs.PointCloudPacked", encode_depth_points},
	{SDF_DEPTH_CAMERA, "camera_info", INFO, "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_RGBD_CAMERA, "image", "/image", IMAGE, encode_colour},
	{SDF_RGBD_CAMERA, "depth_image", "/depth_image", IMAGE, encode_depth},
	{SDF_RGBD_CAMERA, "points", "/points", "gz.msgs.PointCloudPacked", encode_depth_points},
	{SDF_RGBD_CAMERA, "camera_info", "/camera_info", "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_SEGMENTATION_CAMERA, "segmentation/labels_map", "/labels_map", IMAGE, encode_labels},
	{SDF_SEGMENTATION_CAMERA, "segmentation/colored_map", "/colored_map", IMAGE, encode_coloured},
	{SDF_SEGMENTATION_CAMERA, "camera_info", INFO, "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_BOUNDINGBOX_CAMERA, "boundingbox", "", "gz.msgs.AnnotatedAxisAligned2DBox_V", encode_flat_boxes},
	{SDF_BOUNDINGBOX_CAMERA, "boundingbox", "", "gz.msgs.AnnotatedOriented3DBox_V", encode_solid_boxes},
	{SDF_BOUNDINGBOX_CAMERA, "camera_info", INFO, "gz.msgs.CameraInfo", encode_camera_info},
	{SDF_CONTACT, "contact", "", "gz.msgs.Contacts", encode_contacts},
	{SDF_LOGICAL_CAMERA, "logical_camera", "", "gz.msgs.LogicalCameraImage", encode_logical_camera},
};

static bool encode_reading(const struct frame *frame, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	uint32_t model = (uint32_t)row->key - 1, born = (uint32_t)(row->key >> 32);
	const struct reading *reading = readings_find(&frame->readings, model, sensor_topics_index(row));
	if (!reading || (uint32_t)reading->id != born)
		return false;
	struct source source = {reading, readings_numbers(&frame->readings, reading), row, frame, &arena};
	return topics[row->of >> ROLE_SHIFT].encode(&source, out);
}

static const struct publish_ops reading_ops = {PUBLISH_READING, FRAME_READINGS, encode_reading};
static const struct publish_ops names_ops = {PUBLISH_READING, FRAME_READINGS | FRAME_SCENE, encode_reading};

static char *name_of(const struct sensor *sensor, const char *last, const char *suffix)
{
	const char *info = sensor->sdf->settings->camera_count ? sensor->sdf->settings->cameras->info_topic : NULL;
	const char *slash = strrchr(sensor->topic, '/');
	if (suffix == INFO && info && *info)
		return mem_printf("%s%s", *info == '/' ? "" : "/", info);
	if (!sensor->topic_given)
		return mem_printf("%s/%s", sensor->topic, last);
	if (suffix == INFO)
		return mem_printf("%.*s/camera_info", (int)(slash - sensor->topic), sensor->topic);
	return mem_printf("%s%s", sensor->topic, suffix);
}

/* The boxes of a camera are either in the picture or in space. */
static bool is_other_box(const struct sensor *sensor, uint32_t row)
{
	bool solid = sensor->sdf->kind == SDF_BOUNDINGBOX_CAMERA && sensor->sdf->settings->cameras->boxes == SDF_BOX_3D;
	return topics[row].encode == (solid ? encode_flat_boxes : encode_solid_boxes);
}

void sensor_topics_each(const struct sensor *sensor, void (*fn)(void *ctx, const struct topic_row *row), void *ctx)
{
	const char *frame = sensor->sdf->settings->frame_id;
	for (uint32_t i = 0; i < ARRAY_LEN(topics); i++) {
		if (topics[i].kind != sensor->sdf->kind || sensor->group == SENSOR_SILENT || is_other_box(sensor, i))
			continue;
		char *name = name_of(sensor, topics[i].last, topics[i].suffix);
		topic_name_clean(name);
		fn(ctx, &(struct topic_row){.kind = TOPIC_PUBLISHED,
				.name = name,
				.type = topics[i].type,
				.rate_hz = sensor->sdf->update_rate,
				.ops = sensor->sdf->kind == SDF_LOGICAL_CAMERA || sensor->sdf->kind == SDF_CONTACT
					       ? &names_ops
					       : &reading_ops,
				.frame = frame && *frame ? frame : sensor->name,
				.only = sensor->name,
				.of = sensor->index | i << ROLE_SHIFT});
		free(name);
	}
}
