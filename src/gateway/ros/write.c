/* Fields in the order of the definitions (definitions.c). A sequence whose length a message of Gazebo gives twice, as a
 * number and as its elements, has the elements that are there. */
#include "gateway/ros/write.h"

#include "base/parse.h"
#include "gateway/ros/parts.h"
#include "topic/scene.pb-c.h"
#include "topic/sensor.pb-c.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#define WRITE_MESSAGE(Type) const Gz__Msgs__##Type *m = (const Gz__Msgs__##Type *)(const void *)base

/* --- poses and motion --------------------------------------------------------------------------------------------- */

WRITE(clock)
{
	WRITE_MESSAGE(Clock);
	(void)error;
	part_time(out, m->sim);
	return TROUPE_OK;
}

WRITE(pose)
{
	WRITE_MESSAGE(Pose);
	(void)error;
	part_header(out, m->header, NULL);
	part_pose(out, m);
	return TROUPE_OK;
}

WRITE(poses)
{
	WRITE_MESSAGE(PoseV);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_count(out, m->n_pose);
	for (size_t i = 0; i < m->n_pose; i++)
		part_pose(out, m->pose[i]);
	return TROUPE_OK;
}

WRITE(tf)
{
	WRITE_MESSAGE(PoseV);
	(void)error;
	cdr_count(out, m->n_pose);
	for (size_t i = 0; i < m->n_pose; i++) {
		const Gz__Msgs__Pose *pose = m->pose[i];
		const Gz__Msgs__Header *stamped = pose->header && pose->header->stamp ? pose->header : m->header;
		const char *frame = part_header_value(pose->header, "frame_id");
		const char *child = part_header_value(pose->header, "child_frame_id");
		part_time(out, stamped ? stamped->stamp : NULL);
		part_frame(out, *frame ? frame : part_header_value(m->header, "frame_id"));
		part_frame(out, *child ? child : pose->name);
		part_pose(out, pose);
	}
	return TROUPE_OK;
}

WRITE(odometry)
{
	WRITE_MESSAGE(Odometry);
	(void)error;
	part_header(out, m->header, NULL);
	part_frame(out, part_header_value(m->header, "child_frame_id"));
	part_pose(out, m->pose);
	part_zeros(out, 36);
	part_twist(out, m->twist);
	part_zeros(out, 36);
	return TROUPE_OK;
}

WRITE(wrench)
{
	WRITE_MESSAGE(Wrench);
	(void)error;
	part_header(out, m->header, NULL);
	part_wrench(out, m);
	return TROUPE_OK;
}

static void write_put_entity(struct cdr_out *out, const Gz__Msgs__Entity *entity)
{
	cdr_u64(out, entity ? entity->id : 0);
	cdr_string(out, entity ? entity->name : "");
	cdr_u8(out, entity ? (uint8_t)entity->type : 0);
}

static void write_put_doubles(struct cdr_out *out, const double *values, size_t count)
{
	cdr_count(out, count);
	cdr_f64s(out, values, count);
}

static void write_put_axes(struct cdr_out *out, const Gz__Msgs__Model *model, uint32_t count, size_t offset)
{
	cdr_count(out, count);
	for (size_t i = 0; i < model->n_joint; i++) {
		const Gz__Msgs__Axis *axis = model->joint[i]->axis1;
		double value;
		if (!axis)
			continue;
		memcpy(&value, (const char *)axis + offset, sizeof value);
		cdr_f64(out, value);
	}
}

/* Joints without an axis have no state. */
WRITE(joint_state)
{
	WRITE_MESSAGE(Model);
	uint32_t count = 0;
	(void)error;
	for (size_t i = 0; i < m->n_joint; i++)
		count += m->joint[i]->axis1 != NULL;
	part_header(out, m->header, NULL);
	cdr_count(out, count);
	for (size_t i = 0; i < m->n_joint; i++)
		if (m->joint[i]->axis1)
			cdr_string(out, m->joint[i]->name);
	write_put_axes(out, m, count, offsetof(Gz__Msgs__Axis, position));
	write_put_axes(out, m, count, offsetof(Gz__Msgs__Axis, velocity));
	write_put_axes(out, m, count, offsetof(Gz__Msgs__Axis, force));
	return TROUPE_OK;
}

/* --- lidars ------------------------------------------------------------------------------------------------------- */

/* The row in the middle of a scan with several rows, cut to the values that are there. */
static void write_put_row(
	struct cdr_out *out, const Gz__Msgs__LaserScan *scan, const double *values, size_t value_count)
{
	size_t begin = (size_t)(scan->vertical_count / 2) * scan->count;
	size_t count = begin < value_count ? MIN((size_t)scan->count, value_count - begin) : 0;
	cdr_count(out, count);
	unsigned char *at = count ? cdr_room(out, 4, count) : NULL;
	for (size_t i = 0; i < count; i++)
		cdr_store_f32(at + 4 * i, (float)values[begin + i]);
}

/* 0: all rays are cast at one time. */
static float write_header_number(const Gz__Msgs__Header *header, const char *key)
{
	double value = 0;
	return parse_double(part_header_value(header, key), &value) ? (float)value : 0;
}

WRITE(scan)
{
	WRITE_MESSAGE(LaserScan);
	(void)error;
	part_header(out, m->header, m->frame);
	cdr_f32(out, (float)m->angle_min);
	cdr_f32(out, (float)m->angle_max);
	cdr_f32(out, (float)m->angle_step);
	cdr_f32(out, write_header_number(m->header, "time_increment"));
	cdr_f32(out, write_header_number(m->header, "scan_time"));
	cdr_f32(out, (float)m->range_min);
	cdr_f32(out, (float)m->range_max);
	write_put_row(out, m, m->ranges, m->n_ranges);
	write_put_row(out, m, m->intensities, m->n_intensities);
	return TROUPE_OK;
}

WRITE(points)
{
	WRITE_MESSAGE(PointCloudPacked);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_u32(out, m->height);
	cdr_u32(out, m->width);
	cdr_count(out, m->n_field);
	for (size_t i = 0; i < m->n_field; i++) {
		cdr_string(out, m->field[i]->name);
		cdr_u32(out, m->field[i]->offset);
		cdr_u8(out, (uint8_t)(m->field[i]->datatype + 1)); /* the same list, which ROS begins with 1 */
		cdr_u32(out, m->field[i]->count);
	}
	cdr_u8(out, m->is_bigendian != 0);
	cdr_u32(out, m->point_step);
	cdr_u32(out, m->row_step);
	cdr_bytes(out, m->data.data, m->data.len);
	cdr_u8(out, m->is_dense != 0);
	return TROUPE_OK;
}

/* --- cameras ------------------------------------------------------------------------------------------------------ */

/* NULL: ROS 2 has no name for the format. */
static const char *write_encoding_of(Gz__Msgs__PixelFormatType format)
{
	static const char *const names[] = {
		[GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8] = "mono8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16] = "mono16",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8] = "rgb8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__RGBA_INT8] = "rgba8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BGRA_INT8] = "bgra8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT16] = "rgb16",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8] = "bgr8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT16] = "bgr16",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32] = "32FC1",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_FLOAT32] = "32FC3",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_RGGB8] = "bayer_rggb8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_BGGR8] = "bayer_bggr8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GBRG8] = "bayer_gbrg8",
		[GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GRBG8] = "bayer_grbg8",
	};
	return (uint32_t)format < ARRAY_LEN(names) ? names[format] : NULL;
}

/* Of a format for which Gazebo has no name, a picture's header gives the encoding: that of two floats. */
static const char *write_encoding_named(const Gz__Msgs__Image *m)
{
	static const char flow[] = "32FC2";
	for (size_t i = 0; m->header && i < m->header->n_data; i++)
		if (!strcmp(m->header->data[i]->key, "encoding") && m->header->data[i]->n_value == 1 &&
			!strcmp(m->header->data[i]->value[0], flow))
			return flow;
	return NULL;
}

WRITE(image)
{
	WRITE_MESSAGE(Image);
	bool unnamed = m->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT;
	const char *encoding = unnamed ? write_encoding_named(m) : write_encoding_of(m->pixel_format_type);
	if (!encoding)
		return fail(error, TROUPE_EINVAL, "pixel_format_type %d: expected a format that ROS 2 has",
			(int)m->pixel_format_type);
	part_picture_header(out, m->header);
	cdr_u32(out, m->height);
	cdr_u32(out, m->width);
	cdr_string(out, encoding);
	cdr_u8(out, 0); /* not big-endian */
	cdr_u32(out, m->step);
	cdr_bytes(out, m->data.data, m->data.len);
	return TROUPE_OK;
}

/* The text of `format` is that of image_transport's plug-ins: the encoding of the picture, the format, and the encoding
 * that OpenCV gives of what it decodes; Bayer patterns have none. */
WRITE(compressed_image)
{
	const Troupe__Msgs__CompressedImage *m = (const void *)base;
	const char *encoding = write_encoding_of(m->pixel_format_type);
	bool depth = m->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32;
	bool colour = m->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8 ||
		      m->pixel_format_type == GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8;
	struct text format = {0};
	if (!encoding)
		return fail(error, TROUPE_EINVAL, "pixel_format_type %d: expected a format that ROS 2 has",
			(int)m->pixel_format_type);
	text_add(&format, depth ? "%s; compressedDepth %s" : "%s; %s compressed %s", encoding, m->format,
		colour ? "bgr8" : "");
	part_picture_header(out, m->header);
	cdr_string(out, format.at);
	cdr_bytes(out, m->data.data, m->data.len);
	text_fini(&format);
	return TROUPE_OK;
}

/* An array of a fixed size. */
static void write_put_array(struct cdr_out *out, const double *values, size_t value_count, uint32_t count)
{
	uint32_t given = (uint32_t)MIN(value_count, (size_t)count);
	cdr_f64s(out, values, given);
	part_zeros(out, count - given);
}

WRITE(camera_info)
{
	static const char *const models[] = {
		[GZ__MSGS__CAMERA_INFO__DISTORTION__DISTORTION_MODEL_TYPE__PLUMB_BOB] = "plumb_bob",
		[GZ__MSGS__CAMERA_INFO__DISTORTION__DISTORTION_MODEL_TYPE__RATIONAL_POLYNOMIAL] = "rational_polynomial",
		[GZ__MSGS__CAMERA_INFO__DISTORTION__DISTORTION_MODEL_TYPE__EQUIDISTANT] = "equidistant",
	};
	WRITE_MESSAGE(CameraInfo);
	uint32_t model = m->distortion ? (uint32_t)m->distortion->model : 0;
	(void)error;
	part_picture_header(out, m->header);
	cdr_u32(out, m->height);
	cdr_u32(out, m->width);
	cdr_string(out, model < ARRAY_LEN(models) ? models[model] : "");
	write_put_doubles(out, m->distortion ? m->distortion->k : NULL, m->distortion ? m->distortion->n_k : 0);
	write_put_array(out, m->intrinsics ? m->intrinsics->k : NULL, m->intrinsics ? m->intrinsics->n_k : 0, 9);
	write_put_array(out, m->rectification_matrix, m->n_rectification_matrix, 9);
	write_put_array(out, m->projection ? m->projection->p : NULL, m->projection ? m->projection->n_p : 0, 12);
	for (int i = 0; i < 6; i++) /* no binning, and no region of interest */
		cdr_u32(out, 0);
	cdr_u8(out, 0);
	return TROUPE_OK;
}

/* One result: the label, as text. */
static void write_put_results(struct cdr_out *out, const Gz__Msgs__Header *header, uint32_t label)
{
	struct text text = {0};
	text_add(&text, "%u", label);
	part_header(out, header, NULL);
	cdr_count(out, 1);
	cdr_string(out, text.at);
	text_fini(&text);
	cdr_f64(out, 1);
	part_pose(out, NULL);
	part_zeros(out, 36);
}

WRITE(boxes)
{
	WRITE_MESSAGE(AnnotatedAxisAligned2DBoxV);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_count(out, m->n_annotated_box);
	for (size_t i = 0; i < m->n_annotated_box; i++) {
		const Gz__Msgs__AxisAligned2DBox *box = m->annotated_box[i]->box;
		const Gz__Msgs__Vector2d zero = GZ__MSGS__VECTOR2D__INIT;
		const Gz__Msgs__Vector2d *low = box && box->min_corner ? box->min_corner : &zero;
		const Gz__Msgs__Vector2d *high = box && box->max_corner ? box->max_corner : &zero;
		write_put_results(out, m->header, m->annotated_box[i]->label);
		cdr_f64(out, (low->x + high->x) / 2);
		cdr_f64(out, (low->y + high->y) / 2);
		cdr_f64(out, 0);
		cdr_f64(out, high->x - low->x);
		cdr_f64(out, high->y - low->y);
		cdr_string(out, "");
	}
	return TROUPE_OK;
}

WRITE(solid_boxes)
{
	WRITE_MESSAGE(AnnotatedOriented3DBoxV);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_count(out, m->n_annotated_box);
	for (size_t i = 0; i < m->n_annotated_box; i++) {
		const Gz__Msgs__Oriented3DBox *box = m->annotated_box[i]->box;
		write_put_results(out, m->header, m->annotated_box[i]->label);
		part_vec3(out, box ? box->center : NULL);
		part_orientation(out, box ? box->orientation : NULL);
		part_vec3(out, box ? box->boxsize : NULL);
		cdr_string(out, "");
	}
	return TROUPE_OK;
}

/* --- other sensors ------------------------------------------------------------------------------------------------ */

/* A covariance of zeros is unknown; one that begins with -1 says that there is no orientation. */
WRITE(imu)
{
	WRITE_MESSAGE(IMU);
	(void)error;
	part_header(out, m->header, NULL);
	part_orientation(out, m->orientation);
	cdr_f64(out, m->orientation ? 0 : -1);
	part_zeros(out, 8);
	part_vec3(out, m->angular_velocity);
	part_zeros(out, 9);
	part_vec3(out, m->linear_acceleration);
	part_zeros(out, 9);
	return TROUPE_OK;
}

WRITE(magnetic_field)
{
	WRITE_MESSAGE(Magnetometer);
	(void)error;
	part_header(out, m->header, NULL);
	part_vec3(out, m->field_tesla);
	part_zeros(out, 9);
	return TROUPE_OK;
}

WRITE(altimeter)
{
	WRITE_MESSAGE(Altimeter);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_f64(out, m->vertical_position);
	cdr_f64(out, m->vertical_velocity);
	cdr_f64(out, m->vertical_reference);
	return TROUPE_OK;
}

WRITE(pressure)
{
	WRITE_MESSAGE(FluidPressure);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_f64(out, m->pressure);
	cdr_f64(out, m->variance);
	return TROUPE_OK;
}

WRITE(navsat)
{
	WRITE_MESSAGE(NavSat);
	(void)error;
	part_header(out, m->header, m->frame_id);
	cdr_u8(out, 0);  /* STATUS_FIX */
	cdr_u16(out, 1); /* SERVICE_GPS */
	cdr_f64(out, m->latitude_deg);
	cdr_f64(out, m->longitude_deg);
	cdr_f64(out, m->altitude);
	part_zeros(out, 9);
	cdr_u8(out, 0); /* COVARIANCE_TYPE_UNKNOWN */
	return TROUPE_OK;
}

static void write_put_vectors(struct cdr_out *out, Gz__Msgs__Vector3d *const *vectors, size_t count)
{
	cdr_count(out, count);
	for (size_t i = 0; i < count; i++)
		part_vec3(out, vectors[i]);
}

static void write_put_contact(struct cdr_out *out, const Gz__Msgs__Contact *contact)
{
	write_put_entity(out, contact->collision1);
	write_put_entity(out, contact->collision2);
	write_put_vectors(out, contact->position, contact->n_position);
	write_put_vectors(out, contact->normal, contact->n_normal);
	write_put_doubles(out, contact->depth, contact->n_depth);
	cdr_count(out, contact->n_wrench);
	for (size_t i = 0; i < contact->n_wrench; i++) {
		const Gz__Msgs__JointWrench *wrench = contact->wrench[i];
		part_header(out, wrench->header, NULL);
		cdr_string(out, wrench->body_1_name);
		cdr_u32(out, wrench->body_1_id);
		cdr_string(out, wrench->body_2_name);
		cdr_u32(out, wrench->body_2_id);
		part_wrench(out, wrench->body_1_wrench);
		part_wrench(out, wrench->body_2_wrench);
	}
}

WRITE(contacts)
{
	WRITE_MESSAGE(Contacts);
	(void)error;
	part_header(out, m->header, NULL);
	cdr_count(out, m->n_contact);
	for (size_t i = 0; i < m->n_contact; i++)
		write_put_contact(out, m->contact[i]);
	return TROUPE_OK;
}
