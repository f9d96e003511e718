/* Pictures are copied from the reading as they are; clouds, boxes and coloured segments are computed from it. */
#include "server/encode_sensor.h"

#include "base/hash.h"
#include "sensor/lens.h"
#include "server/sensor_topics.h"
#include "server/scene_info.h"

Gz__Msgs__PointCloudPacked__Field *encode_sensor_field(const struct sensor_source *source, const char *name,
	uint32_t offset, Gz__Msgs__PointCloudPacked__Field__DataType type)
{
	Gz__Msgs__PointCloudPacked__Field *out =
		ENCODE_NEW(source->arena, Gz__Msgs__PointCloudPacked__Field, gz__msgs__point_cloud_packed__field__init);
	out->name = encode_text(name);
	out->offset = offset;
	out->datatype = type;
	out->count = 1;
	return out;
}

static const struct reading_picture *encode_camera_picture_of(const struct sensor_source *source)
{
	return (const struct reading_picture *)(const void *)source->numbers;
}

static size_t encode_camera_pixels_of(const struct reading_picture *picture)
{
	return (size_t)picture->width * (size_t)picture->height;
}

static void *encode_camera_part_of(const struct sensor_source *source, uint32_t part)
{
	const struct reading_picture *picture = encode_camera_picture_of(source);
	return (char *)(uintptr_t)picture + readings_part_at(source->reading->kind, (uint32_t)picture->parts,
						    encode_camera_pixels_of(picture), part);
}

static const float *encode_camera_depth_of(const struct sensor_source *source)
{
	return encode_camera_part_of(source, SENSOR_DEPTH);
}

static unsigned char *encode_camera_colour_of(const struct sensor_source *source)
{
	return encode_camera_part_of(source, SENSOR_COLOUR);
}

static bool encode_camera_image(const struct sensor_source *source, Gz__Msgs__PixelFormatType format,
	uint32_t pixel_bytes, uint8_t *data, struct text *out)
{
	const struct reading_picture *picture = encode_camera_picture_of(source);
	Gz__Msgs__Image message = GZ__MSGS__IMAGE__INIT;
	if (sensor_topics_packing(source->row).quality)
		return encode_packed(source, format, data, out);
	message.header = encode_sensor_header(source);
	if (format == GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT)
		encode_header_add(source->arena, message.header, "encoding", "32FC2");
	message.width = (uint32_t)picture->width;
	message.height = (uint32_t)picture->height;
	message.step = pixel_bytes * message.width;
	message.pixel_format_type = format;
	message.data = (ProtobufCBinaryData){encode_camera_pixels_of(picture) * pixel_bytes, data};
	return encode_end(&message.base, source->arena, out);
}

/* In units of 1/1000 of a byte: the weights of red, green and blue in ITU-R BT.601. */
static uint32_t encode_camera_grey_of(const unsigned char *rgb)
{
	return 299u * rgb[0] + 587u * rgb[1] + 114u * rgb[2];
}

static void encode_camera_convert(const struct sensor_source *source, enum sdf_pixels pixels, uint8_t *to)
{
	/* the colour, of red, green and blue, of each pixel in a square of 2 x 2 */
	static const uint8_t patterns[][4] = {[SDF_PIXELS_RGGB] = {0, 1, 1, 2},
		[SDF_PIXELS_BGGR] = {2, 1, 1, 0},
		[SDF_PIXELS_GBRG] = {1, 2, 0, 1},
		[SDF_PIXELS_GRBG] = {1, 0, 2, 1}};
	const unsigned char *rgb = encode_camera_colour_of(source);
	uint32_t width = (uint32_t)encode_camera_picture_of(source)->width;
	for (size_t i = 0; i < encode_camera_pixels_of(encode_camera_picture_of(source)); i++, rgb += 3) {
		if (pixels == SDF_PIXELS_BGR) {
			for (uint32_t c = 0; c < 3; c++)
				*to++ = rgb[2 - c];
		} else if (pixels == SDF_PIXELS_GREY8) {
			*to++ = (uint8_t)((encode_camera_grey_of(rgb) + 500) / 1000);
		} else if (pixels == SDF_PIXELS_GREY16) { /* little-endian; white is 65535 */
			uint32_t grey = (encode_camera_grey_of(rgb) * 257 + 500) / 1000;
			*to++ = (uint8_t)grey, *to++ = (uint8_t)(grey >> 8);
		} else {
			*to++ = rgb[patterns[pixels][2 * (i / width % 2) + i % width % 2]];
		}
	}
}

bool encode_sensor_colour(const struct sensor_source *source, struct text *out)
{
	static const struct {
		Gz__Msgs__PixelFormatType type;
		uint32_t bytes;
	} formats[] = {[SDF_PIXELS_RGB] = {GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8, 3},
		[SDF_PIXELS_BGR] = {GZ__MSGS__PIXEL_FORMAT_TYPE__BGR_INT8, 3},
		[SDF_PIXELS_GREY8] = {GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8, 1},
		[SDF_PIXELS_GREY16] = {GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16, 2},
		[SDF_PIXELS_RGGB] = {GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_RGGB8, 1},
		[SDF_PIXELS_BGGR] = {GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_BGGR8, 1},
		[SDF_PIXELS_GBRG] = {GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GBRG8, 1},
		[SDF_PIXELS_GRBG] = {GZ__MSGS__PIXEL_FORMAT_TYPE__BAYER_GRBG8, 1}};
	enum sdf_pixels pixels = sensor_topics_pixels(source->row);
	uint8_t *data = encode_camera_colour_of(source);
	if (pixels != SDF_PIXELS_RGB) {
		data = arena_alloc(source->arena,
			formats[pixels].bytes * encode_camera_pixels_of(encode_camera_picture_of(source)));
		encode_camera_convert(source, pixels, data);
	}
	return encode_camera_image(source, formats[pixels].type, formats[pixels].bytes, data, out);
}

bool encode_sensor_depth(const struct sensor_source *source, struct text *out)
{
	return encode_camera_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__R_FLOAT32, 4,
		(uint8_t *)(uintptr_t)encode_camera_depth_of(source), out);
}

/* 16 bits, little-endian, or 8. */
bool encode_sensor_heat(const struct sensor_source *source, struct text *out)
{
	size_t pixels = encode_camera_pixels_of(encode_camera_picture_of(source));
	const uint16_t *heat = encode_camera_part_of(source, SENSOR_HEAT);
	bool bytes = sensor_topics_pixels(source->row) == SDF_PIXELS_GREY8;
	uint8_t *data = arena_alloc(source->arena, (bytes ? 1 : 2) * pixels);
	for (size_t i = 0; i < pixels; i++)
		if (bytes)
			data[i] = (uint8_t)heat[i];
		else
			data[2 * i] = (uint8_t)heat[i], data[2 * i + 1] = (uint8_t)(heat[i] >> 8);
	return encode_camera_image(source,
		bytes ? GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT8 : GZ__MSGS__PIXEL_FORMAT_TYPE__L_INT16, bytes ? 1 : 2, data,
		out);
}

/* Pixels of a picture of segments, as Gazebo's: of a map of labels, the number of the model among those of its label
 * (low byte, high byte) and then the label, or the label three times; of a coloured map, a colour of its own for each.
 */
static bool encode_camera_segments(
	const struct sensor_source *source, uint32_t part, bool by_instance, bool coloured, struct text *out)
{
	const uint32_t *labels = encode_camera_part_of(source, part);
	size_t pixels = encode_camera_pixels_of(encode_camera_picture_of(source));
	const uint32_t *instances = labels + pixels;
	uint8_t *data = arena_alloc(source->arena, 3 * pixels);
	for (size_t i = 0; i < pixels; i++) {
		uint32_t label = labels[i], instance = by_instance ? instances[i] : 0;
		uint64_t hue = label ? hash_mix(label, instance) : 0;
		uint8_t *to = data + 3 * i;
		for (uint32_t c = 0; c < 3; c++)
			to[c] = (uint8_t)(coloured ? hue >> 8 * c : label);
		if (!coloured && by_instance)
			to[0] = (uint8_t)instance, to[1] = (uint8_t)(instance >> 8);
	}
	return encode_camera_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_INT8, 3, data, out);
}

bool encode_sensor_labels(const struct sensor_source *source, struct text *out)
{
	return encode_camera_segments(
		source, SENSOR_LABELS, encode_camera_picture_of(source)->by_instance != 0, false, out);
}

bool encode_sensor_coloured(const struct sensor_source *source, struct text *out)
{
	return encode_camera_segments(
		source, SENSOR_LABELS, encode_camera_picture_of(source)->by_instance != 0, true, out);
}

bool encode_sensor_segments(const struct sensor_source *source, struct text *out)
{
	return encode_camera_segments(source, SENSOR_SEGMENTS, true, false, out);
}

bool encode_sensor_normals(const struct sensor_source *source, struct text *out)
{
	return encode_camera_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__RGB_FLOAT32, 12,
		encode_camera_part_of(source, SENSOR_NORMALS), out);
}

/* Gazebo has no name for two floats. */
bool encode_sensor_flow(const struct sensor_source *source, struct text *out)
{
	return encode_camera_image(source, GZ__MSGS__PIXEL_FORMAT_TYPE__UNKNOWN_PIXEL_FORMAT, 8,
		encode_camera_part_of(source, SENSOR_FLOW), out);
}

static Gz__Msgs__Vector2d *encode_camera_corner(const struct sensor_source *source, double x, double y)
{
	Gz__Msgs__Vector2d *out = ENCODE_NEW(source->arena, Gz__Msgs__Vector2d, gz__msgs__vector2d__init);
	out->x = x;
	out->y = y;
	return out;
}

/* A reading may come from another process. */
static uint32_t encode_camera_label_of(const struct reading_box *box)
{
	return box->label >= 0 && box->label <= UINT32_MAX ? (uint32_t)box->label : 0;
}

static void encode_camera_add_numbers(const struct sensor_source *source, Gz__Msgs__Header *header, const char *key,
	const double *numbers, size_t count)
{
	struct text text = {0};
	for (size_t i = 0; i < count; i++) {
		text_add(&text, i ? " " : "");
		text_add_double(&text, numbers[i]);
	}
	encode_header_add(source->arena, header, key, arena_strdup(source->arena, text.at));
	text_fini(&text);
}

/* What Gazebo's messages have no field for, as data of the header of a box: "instance" (the number of the model among
 * those of its label), "visible" and "truncated" (struct reading_box), and "box", the corners around its visible part.
 */
static Gz__Msgs__Header *encode_camera_box_header(const struct sensor_source *source, const struct reading_box *box)
{
	Gz__Msgs__Header *out = ENCODE_NEW(source->arena, Gz__Msgs__Header, gz__msgs__header__init);
	encode_camera_add_numbers(source, out, "instance", &box->instance, 1);
	encode_camera_add_numbers(source, out, "visible", &box->visible, 1);
	encode_camera_add_numbers(source, out, "truncated", &box->truncated, 1);
	encode_camera_add_numbers(source, out, "box", &box->left, 4);
	return out;
}

bool encode_sensor_flat_boxes(const struct sensor_source *source, struct text *out)
{
	uint32_t count;
	const struct reading_box *boxes = readings_boxes(source->reading, source->numbers, &count);
	Gz__Msgs__AnnotatedAxisAligned2DBoxV message = GZ__MSGS__ANNOTATED_AXIS_ALIGNED2_DBOX__V__INIT;
	message.header = encode_sensor_header(source);
	message.annotated_box = arena_array(source->arena, Gz__Msgs__AnnotatedAxisAligned2DBox *, count);
	for (size_t i = 0; i < count; i++) {
		Gz__Msgs__AnnotatedAxisAligned2DBox *to = ENCODE_NEW(source->arena, Gz__Msgs__AnnotatedAxisAligned2DBox,
			gz__msgs__annotated_axis_aligned2_dbox__init);
		to->header = encode_camera_box_header(source, &boxes[i]);
		to->label = encode_camera_label_of(&boxes[i]);
		to->box = ENCODE_NEW(source->arena, Gz__Msgs__AxisAligned2DBox, gz__msgs__axis_aligned2_dbox__init);
		to->box->min_corner = encode_camera_corner(source, boxes[i].left, boxes[i].top);
		to->box->max_corner = encode_camera_corner(source, boxes[i].right, boxes[i].bottom);
		message.annotated_box[message.n_annotated_box++] = to;
	}
	return encode_end(&message.base, source->arena, out);
}

/* Gazebo gives boxes in the frame of its renderer: x right, y up, z behind the camera. */
static const struct pose encode_camera_in_renderer = {{0, 0, 0}, {0.5, -0.5, 0.5, 0.5}};

bool encode_sensor_solid_boxes(const struct sensor_source *source, struct text *out)
{
	uint32_t count;
	const struct reading_box *boxes = readings_boxes(source->reading, source->numbers, &count);
	Gz__Msgs__AnnotatedOriented3DBoxV message = GZ__MSGS__ANNOTATED_ORIENTED3_DBOX__V__INIT;
	message.header = encode_sensor_header(source);
	message.annotated_box = arena_array(source->arena, Gz__Msgs__AnnotatedOriented3DBox *, count);
	for (size_t i = 0; i < count; i++) {
		const struct troupe_pose pose = pose_flat(pose_mul(encode_camera_in_renderer, boxes[i].pose));
		Gz__Msgs__AnnotatedOriented3DBox *to = ENCODE_NEW(
			source->arena, Gz__Msgs__AnnotatedOriented3DBox, gz__msgs__annotated_oriented3_dbox__init);
		const Gz__Msgs__Pose *at = encode_pose(source->arena, &pose, NULL, 0);
		to->header = encode_camera_box_header(source, &boxes[i]);
		to->label = encode_camera_label_of(&boxes[i]);
		to->box = ENCODE_NEW(source->arena, Gz__Msgs__Oriented3DBox, gz__msgs__oriented3_dbox__init);
		to->box->center = at->position;
		to->box->orientation = at->orientation;
		to->box->boxsize = encode_vec3(source->arena, boxes[i].size);
		message.annotated_box[message.n_annotated_box++] = to;
	}
	return encode_end(&message.base, source->arena, out);
}

bool encode_sensor_camera_info(const struct sensor_source *source, struct text *out)
{
	const struct reading_picture *p = encode_camera_picture_of(source);
	const struct lens_pinhole *h = &p->hole;
	double k[9] = {h->fx, h->skew, h->cx, 0, h->fy, h->cy, 0, 0, 1}, d[5] = {h->k1, h->k2, h->p1, h->p2, h->k3};
	double projection[12] = {p->p_fx, 0, p->p_cx, p->tx, 0, p->p_fy, p->p_cy, p->ty, 0, 0, 1, 0};
	double rectification[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
	Gz__Msgs__CameraInfo message = GZ__MSGS__CAMERA_INFO__INIT;
	Gz__Msgs__CameraInfo__Distortion distortion = GZ__MSGS__CAMERA_INFO__DISTORTION__INIT;
	Gz__Msgs__CameraInfo__Intrinsics intrinsics = GZ__MSGS__CAMERA_INFO__INTRINSICS__INIT;
	Gz__Msgs__CameraInfo__Projection projected = GZ__MSGS__CAMERA_INFO__PROJECTION__INIT;
	distortion.k = d, distortion.n_k = ARRAY_LEN(d);
	intrinsics.k = k, intrinsics.n_k = ARRAY_LEN(k);
	projected.p = projection, projected.n_p = ARRAY_LEN(projection);
	message.header = encode_sensor_header(source);
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

/* The colour of a point is set by the caller. */
static struct depth_point encode_camera_point_of(
	const struct lens_pinhole *hole, uint32_t column, uint32_t row, float depth)
{
	double x = 0, y = 0, ahead = (double)depth;
	(void)lens_slopes(hole, column + 0.5, row + 0.5, &x, &y);
	return (struct depth_point){depth, (float)(-x * ahead), (float)(-y * ahead), 0};
}

bool encode_sensor_depth_points(const struct sensor_source *source, struct text *out)
{
	const struct reading_picture *p = encode_camera_picture_of(source);
	const float *depth = encode_camera_depth_of(source);
	const unsigned char *colour = (uint32_t)p->parts & SENSOR_COLOUR ? encode_camera_colour_of(source) : NULL;
	uint32_t width = (uint32_t)p->width, height = (uint32_t)p->height;
	struct depth_point *points = arena_array(source->arena, struct depth_point, (size_t)width * height);
	Gz__Msgs__PointCloudPacked message = GZ__MSGS__POINT_CLOUD_PACKED__INIT;
	Gz__Msgs__PointCloudPacked__Field *fields[] = {encode_sensor_field(source, "x", offsetof(struct depth_point, x),
							       GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "y", offsetof(struct depth_point, y),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "z", offsetof(struct depth_point, z),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32),
		encode_sensor_field(source, "rgb", offsetof(struct depth_point, rgb),
			GZ__MSGS__POINT_CLOUD_PACKED__FIELD__DATA_TYPE__FLOAT32)};
	for (uint32_t row = 0; row < height; row++)
		for (uint32_t column = 0; column < width; column++) {
			size_t at = (size_t)row * width + column;
			points[at] = encode_camera_point_of(&p->hole, column, row, depth[at]);
			if (colour)
				points[at].rgb = (uint32_t)colour[3 * at] << 16 | (uint32_t)colour[3 * at + 1] << 8 |
						 colour[3 * at + 2];
		}
	message.header = encode_sensor_header(source);
	message.field = fields;
	message.n_field = ARRAY_LEN(fields);
	message.width = width;
	message.height = height;
	message.point_step = sizeof *points;
	message.row_step = (uint32_t)sizeof *points * width;
	message.data = (ProtobufCBinaryData){(size_t)width * height * sizeof *points, (uint8_t *)points};
	return encode_end(&message.base, source->arena, out);
}
