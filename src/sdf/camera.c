/* Reads cameras. All kinds of camera sensors share one element; a multicamera has several. A value that one kind does
 * not use is checked all the same, because a file may change the kind in one word. */
#include "base/parse.h"
#include "sdf/load.h"

#include <string.h>

#define CAMERA_WORD_OF(load, parent, name, words, fallback)                                                            \
	load_word_of(load, parent, name, words, ARRAY_LEN(words), (int)(fallback))

/* The names of the specification, and those of gz::sdformat's list. */
static const char *const camera_formats[] = {"L8", "L16", "R_FLOAT16", "R_FLOAT32", "R8G8B8", "B8G8R8", "BAYER_RGGB8",
	"BAYER_BGGR8", "BAYER_GBRG8", "BAYER_GRBG8", "L_INT8", "L_INT16", "RGB_INT8", "RGBA_INT8", "BGRA_INT8",
	"RGB_INT16", "RGB_INT32", "BGR_INT8", "BGR_INT16", "BGR_INT32", "RGB_FLOAT16", "RGB_FLOAT32"};

static void camera_load_image(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	const struct sdf_element *image = sdf_child(element, "image", NULL);
	const char *format = load_text(image, "format");
	load_count(load, image, "width", 1, SDF_WIDTH_MAX, &camera->width);
	load_count(load, image, "height", 1, SDF_WIDTH_MAX, &camera->height);
	load_count(load, image, "anti_aliasing", 0, 64, &camera->anti_aliasing);
	camera->smooth = sdf_child(image, "anti_aliasing", NULL) && camera->anti_aliasing >= 2;
	if ((uint64_t)camera->width * camera->height > SDF_PIXELS_MAX)
		load_error(load, image, "<image> is %u x %u: expected at most %d pixels", camera->width, camera->height,
			SDF_PIXELS_MAX);
	for (size_t i = 0; format && i < ARRAY_LEN(camera_formats); i++)
		if (!strcmp(camera_formats[i], format))
			camera->format = camera_formats[i];
	if (format && strcmp(camera->format, format))
		load_warn(load, sdf_child(image, "format", NULL),
			"<format> is \"%.40s\": expected a pixel format of SDF, such as R8G8B8, which is used", format);
}

/* Only a camera whose whole output is its picture has a choice, as in Gazebo. */
static void camera_load_pixels_of(
	struct load *load, const struct sdf_element *element, enum sdf_sensor_kind kind, struct sdf_camera *camera)
{
	static const struct load_word all[] = {{"R8G8B8", SDF_PIXELS_RGB}, {"RGB_INT8", SDF_PIXELS_RGB},
		{"B8G8R8", SDF_PIXELS_BGR}, {"BGR_INT8", SDF_PIXELS_BGR}, {"L8", SDF_PIXELS_GREY8},
		{"L_INT8", SDF_PIXELS_GREY8}, {"L16", SDF_PIXELS_GREY16}, {"L_INT16", SDF_PIXELS_GREY16},
		{"BAYER_RGGB8", SDF_PIXELS_RGGB}, {"BAYER_BGGR8", SDF_PIXELS_BGGR}, {"BAYER_GBRG8", SDF_PIXELS_GBRG},
		{"BAYER_GRBG8", SDF_PIXELS_GRBG}};
	bool chooses = kind == SDF_CAMERA, known = false;
	if (!chooses && kind != SDF_WIDE_ANGLE_CAMERA && kind != SDF_RGBD_CAMERA)
		return;
	for (size_t i = 0; i < (chooses ? ARRAY_LEN(all) : 2); i++)
		if (!strcmp(all[i].text, camera->format)) {
			camera->pixels = (enum sdf_pixels)all[i].value;
			known = true;
		}
	if (!known)
		load_warn(load, sdf_child(sdf_child(element, "image", NULL), "format", NULL),
			"<format> is \"%.40s\": expected %s; R8G8B8 is used", camera->format,
			chooses ? "R8G8B8, B8G8R8, L8, L16 or a BAYER format" : "R8G8B8 for this type of sensor");
}

/* NULL as clip: nothing is given. */
static void camera_load_clip(struct load *load, const struct sdf_element *clip, double *near_m, double *far_m)
{
	uint32_t errors = load->sdf->error_count;
	load_double(load, clip, "near", 0, SDF_LENGTH_MAX, near_m);
	load_double(load, clip, "far", SDF_LENGTH_MIN, INFINITY, far_m);
	if (load->sdf->error_count == errors && !(*far_m > *near_m))
		load_error(load, clip, "<clip> is from <near> %g to <far> %g: expected <far> above <near>", *near_m,
			*far_m);
}

static void camera_load_clips(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	const struct sdf_element *depth = sdf_child(element, "depth_camera", NULL);
	const struct sdf_element *clip = sdf_child(depth, "clip", NULL);
	const char *output = load_text(depth, "output");
	camera_load_clip(load, sdf_child(element, "clip", NULL), &camera->near_m, &camera->far_m);
	camera->depth_near_m = camera->near_m;
	camera->depth_far_m = camera->far_m;
	camera->depth_output = output ? output : "depths";
	if (clip)
		camera_load_clip(load, clip, &camera->depth_near_m, &camera->depth_far_m);
}

static void camera_load_distortion(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	const struct sdf_element *at = sdf_child(element, "distortion", NULL), *centre = sdf_child(at, "center", NULL);
	double read[2];
	load_double(load, at, "k1", -1e9, 1e9, &camera->k1);
	load_double(load, at, "k2", -1e9, 1e9, &camera->k2);
	load_double(load, at, "k3", -1e9, 1e9, &camera->k3);
	load_double(load, at, "p1", -1e9, 1e9, &camera->p1);
	load_double(load, at, "p2", -1e9, 1e9, &camera->p2);
	if (!centre || !*centre->text)
		return;
	if (parse_doubles(centre->text, read, 2) == 2 && fabs(read[0]) <= 1e6 && fabs(read[1]) <= 1e6) {
		camera->centre_x = read[0];
		camera->centre_y = read[1];
	} else {
		load_error(load, centre, "<center> is \"%.80s\": expected two numbers within 1e6", centre->text);
	}
}

static void camera_load_pixels(struct load *load, const struct sdf_element *parent, const char *name, double *value)
{
	load_double(load, parent, name, -1e9, 1e9, value);
}

static void camera_load_focal(struct load *load, const struct sdf_element *parent, const char *name, double *value)
{
	load_double(load, parent, name, 1e-6, 1e9, value);
}

static void camera_load_lens(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	static const struct load_word types[] = {{"gnomonical", SDF_LENS_GNOMONICAL},
		{"stereographic", SDF_LENS_STEREOGRAPHIC}, {"equidistant", SDF_LENS_EQUIDISTANT},
		{"equisolid_angle", SDF_LENS_EQUISOLID}, {"orthographic", SDF_LENS_ORTHOGRAPHIC},
		{"custom", SDF_LENS_CUSTOM}};
	static const struct load_word functions[] = {{"tan", SDF_LENS_TAN}, {"sin", SDF_LENS_SIN}, {"id", SDF_LENS_ID}};
	const struct sdf_element *lens = sdf_child(element, "lens", NULL);
	const struct sdf_element *custom = sdf_child(lens, "custom_function", NULL);
	const struct sdf_element *in = sdf_child(lens, "intrinsics", NULL), *out = sdf_child(lens, "projection", NULL);
	camera->lens = (enum sdf_lens)CAMERA_WORD_OF(load, lens, "type", types, SDF_LENS_STEREOGRAPHIC);
	load_bool(load, lens, "scale_to_hfov", &camera->lens_to_fov);
	load_double(load, custom, "c1", -1e9, 1e9, &camera->c1);
	load_double(load, custom, "c2", -1e9, 1e9, &camera->c2);
	load_double(load, custom, "c3", -1e9, 1e9, &camera->c3);
	load_double(load, custom, "f", -1e9, 1e9, &camera->f);
	if (camera->c2 == 0)
		load_error(load, sdf_child(custom, "c2", NULL), "<c2> is 0: expected another number");
	camera->function = (enum sdf_lens_function)CAMERA_WORD_OF(load, custom, "fun", functions, SDF_LENS_TAN);
	load_double(load, lens, "cutoff_angle", 0, 3.1416, &camera->cutoff_rad);
	load_count(load, lens, "env_texture_size", 4, 2048, &camera->environment_size);
	camera->intrinsics_given = in != NULL;
	camera_load_focal(load, in, "fx", &camera->fx);
	camera_load_focal(load, in, "fy", &camera->fy);
	camera_load_pixels(load, in, "cx", &camera->cx);
	camera_load_pixels(load, in, "cy", &camera->cy);
	camera_load_pixels(load, in, "s", &camera->skew);
	camera->projection_given = out != NULL;
	camera_load_focal(load, out, "p_fx", &camera->p_fx);
	camera_load_focal(load, out, "p_fy", &camera->p_fy);
	camera_load_pixels(load, out, "p_cx", &camera->p_cx);
	camera_load_pixels(load, out, "p_cy", &camera->p_cy);
	camera_load_pixels(load, out, "tx", &camera->p_tx);
	camera_load_pixels(load, out, "ty", &camera->p_ty);
}

/* A plane cannot hold a picture of half a turn. The focal lengths of <intrinsics> take the place of the angle. */
static void camera_check_angle(struct load *load, const struct sdf_element *element, enum sdf_sensor_kind kind,
	const struct sdf_camera *camera)
{
	if (camera->fov_rad >= M_PI && kind != SDF_WIDE_ANGLE_CAMERA && !camera->intrinsics_given)
		load_error(load, sdf_child(element, "horizontal_fov", NULL),
			"<horizontal_fov> is %g: expected less than pi in a sensor that is no wide_angle_camera",
			camera->fov_rad);
}

static void camera_load_words(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	static const struct load_word segmentations[] = {{"semantic", SDF_SEGMENTATION_SEMANTIC},
		{"instance", SDF_SEGMENTATION_INSTANCE}, {"panoptic", SDF_SEGMENTATION_INSTANCE}};
	static const struct load_word boxes[] = {{"2d", SDF_BOX_VISIBLE_2D}, {"visible_2d", SDF_BOX_VISIBLE_2D},
		{"visible_box_2d", SDF_BOX_VISIBLE_2D}, {"full_2d", SDF_BOX_FULL_2D}, {"full_box_2d", SDF_BOX_FULL_2D},
		{"3d", SDF_BOX_3D}};
	camera->segmentation = (enum sdf_segmentation)CAMERA_WORD_OF(
		load, element, "segmentation_type", segmentations, SDF_SEGMENTATION_SEMANTIC);
	camera->boxes = (enum sdf_box_kind)CAMERA_WORD_OF(load, element, "box_type", boxes, SDF_BOX_VISIBLE_2D);
	camera->trigger_topic = load_text(element, "trigger_topic");
	camera->info_topic = load_text(element, "camera_info_topic");
	camera->optical_frame = load_text(element, "optical_frame_id");
	load_bool(load, element, "triggered", &camera->triggered);
}

static void camera_load_save(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	const struct sdf_element *save = sdf_child(element, "save", NULL);
	const char *text = sdf_attribute(save, "enabled"), *path = load_text(save, "path");
	bool enabled = false;
	if (!text || !*text)
		return;
	if (!parse_bool(text, &enabled))
		load_warn(load, save, "enabled of <save> is \"%.40s\": expected true or false; false is used", text);
	else if (enabled && !path)
		load_error(load, save, "<save> has no <path>: expected the name of a folder");
	else if (enabled)
		load_warn(load, save,
			"<save> has no effect, because a world may not choose where files are written: "
			"expected --camera-out of troupe run");
	camera->save_path = enabled ? path : NULL;
}

/* What image_transport's parameters say in ROS 2. */
static void camera_load_packed(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	static const struct load_word formats[] = {{"jpeg", false}, {"png", true}};
	const struct sdf_element *packed = sdf_child(element, "troupe:compressed", NULL);
	camera->packed_png = CAMERA_WORD_OF(load, packed, "format", formats, false);
	load_count(load, packed, "quality", 1, 100, &camera->packed_quality);
	load_double(load, packed, "rate", 0, 1e6, &camera->packed_hz);
}

/* Elements that SDF does not have. A name that is not known is an error, so that a misspelt one is found. */
static const char *const camera_own_words[] = {
	"compressed", "truth", "readout_time", "exposure_time", "exposure_samples", "gain", "baseline", "topic"};

static void camera_check_names(struct load *load, const struct sdf_element *element)
{
	static const char own[] = "troupe:";
	for (const struct sdf_element *at = element ? element->child : NULL; at; at = at->next) {
		bool known = strncmp(at->name, own, strlen(own)) != 0;
		for (size_t i = 0; i < ARRAY_LEN(camera_own_words) && !known; i++)
			known = !strcmp(at->name + strlen(own), camera_own_words[i]);
		if (!known)
			load_error(load, at,
				"<%.80s> is no element of a camera: expected <troupe:compressed>, <troupe:truth>, "
				"<troupe:readout_time>, <troupe:exposure_time>, <troupe:exposure_samples>, "
				"<troupe:gain>, <troupe:baseline> or <troupe:topic>",
				at->name);
	}
}

static void camera_load_shutter(
	struct load *load, const struct sdf_element *element, enum sdf_sensor_kind kind, struct sdf_camera *camera)
{
	load_double(load, element, "troupe:readout_time", 0, SDF_SHUTTER_MAX, &camera->readout_s);
	load_double(load, element, "troupe:exposure_time", 0, SDF_SHUTTER_MAX, &camera->exposure_s);
	load_count(load, element, "troupe:exposure_samples", 1, SDF_EXPOSURES_MAX, &camera->exposure_samples);
	load_double(load, element, "troupe:gain", 0, 1e6, &camera->gain);
	load_double(load, element, "troupe:baseline", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &camera->baseline_m);
	camera->topic = load_text(element, "troupe:topic");
	if (kind == SDF_BOUNDINGBOX_CAMERA && camera->readout_s + camera->exposure_s > 0) {
		load_warn(load, element,
			"<troupe:readout_time> and <troupe:exposure_time> of a boundingbox_camera have no effect: "
			"expected another type of camera");
		camera->readout_s = camera->exposure_s = 0;
	}
}

double sdf_sensor_span_s(enum sdf_sensor_kind kind, const struct sdf_settings *settings)
{
	if (sensor_kind_is_lidar(kind))
		return settings->lidar->motion ? settings->lidar->pattern->scan_s : 0;
	return settings->camera_count == 1 ? settings->cameras->readout_s + settings->cameras->exposure_s : 0;
}

/* A word of <troupe:truth>; false: it is none. */
static bool camera_read_truth(const char *word, size_t bytes, uint32_t *truth)
{
	for (int i = 0; i < SENSOR_TRUTHS; i++)
		if (strlen(sensor_kind_truths[i].word) == bytes && !memcmp(sensor_kind_truths[i].word, word, bytes)) {
			*truth |= sensor_kind_truths[i].part;
			return true;
		}
	return false;
}

static void camera_load_truth(struct load *load, const struct sdf_element *element, struct sdf_camera *camera)
{
	static const char blanks[] = " \t\r\n";
	const struct sdf_element *at = sdf_child(element, "troupe:truth", NULL);
	for (const char *word = at ? at->text : ""; *(word += strspn(word, blanks)); word += strcspn(word, blanks)) {
		size_t bytes = strcspn(word, blanks);
		if (!camera_read_truth(word, bytes, &camera->truth))
			load_error(load, at, "<troupe:truth> has the word \"%.*s\": expected normals, flow or segments",
				(int)MIN(bytes, (size_t)40), word);
	}
	if (camera->truth & SENSOR_FLOW && camera->triggered) {
		load_warn(load, at,
			"<troupe:truth> asks for flow, which has no effect: expected a camera without "
			"<triggered>, whose pictures have a period");
		camera->truth &= ~(uint32_t)SENSOR_FLOW;
	}
}

/* 0.01 K, or of 8 bits 3 K, from 0 K to what the pixels can hold. */
static void camera_load_heat(struct load *load, const struct sdf_element *sensor, struct sdf_camera *camera)
{
	bool bytes = !strcmp(camera->format, "L8") || !strcmp(camera->format, "L_INT8");
	const struct sdf_element *plugin = NULL;
	uint32_t errors = load->sdf->error_count;
	camera->pixels = bytes ? SDF_PIXELS_GREY8 : SDF_PIXELS_GREY16;
	camera->heat_step_K = bytes ? 3 : 0.01;
	while ((plugin = sdf_child(sensor, "plugin", plugin))) {
		const char *file = sdf_attribute(plugin, "filename"), *name = sdf_attribute(plugin, "name");
		if (!(file && strstr(file, "thermal-sensor-system")) &&
			!(name && strstr(name, "systems::ThermalSensor")))
			continue;
		load_double(load, plugin, "resolution", 1e-6, 1e6, &camera->heat_step_K);
		camera->heat_max_K = (bytes ? UINT8_MAX : UINT16_MAX) * camera->heat_step_K;
		load_double(load, plugin, "min_temp", 0, 1e9, &camera->heat_min_K);
		load_double(load, plugin, "max_temp", 0, 1e9, &camera->heat_max_K);
	}
	if (camera->heat_max_K <= 0)
		camera->heat_max_K = (bytes ? UINT8_MAX : UINT16_MAX) * camera->heat_step_K;
	if (load->sdf->error_count == errors && !(camera->heat_max_K > camera->heat_min_K))
		load_error(load, sensor,
			"temperatures from <min_temp> %g to <max_temp> %g: expected <max_temp> above <min_temp>",
			camera->heat_min_K, camera->heat_max_K);
}

static void camera_load(struct load *load, const struct sdf_element *element, enum sdf_sensor_kind kind, uint32_t scope,
	struct sdf_camera *camera)
{
	const char *relative_to = NULL;
	*camera = (struct sdf_camera){.name = sdf_attribute(element, "name"),
		.in_sensor = POSE_IDENTITY,
		.fov_rad = 1.047,
		.width = 320,
		.height = 240,
		.format = "R8G8B8",
		.anti_aliasing = 4,
		.near_m = 0.1,
		.far_m = 100,
		.centre_x = 0.5,
		.centre_y = 0.5,
		.lens_to_fov = true,
		.c1 = 1,
		.c2 = 1,
		.f = 1,
		.cutoff_rad = 1.5707,
		.environment_size = 256,
		.fx = 277,
		.fy = 277,
		.cx = 160,
		.cy = 120,
		.p_fx = 277,
		.p_fy = 277,
		.p_cx = 160,
		.p_cy = 120,
		.visibility_mask = UINT32_MAX,
		.packed_quality = 80,
		.gain = 1,
		.element = element};
	if (element)
		camera->in_sensor = load_pose(load, element, &relative_to);
	/* the sensor that has it is the next in the world's array */
	load_defer(load, (struct load_placing){LOAD_CAMERA, load->world->sensors.count, scope, relative_to, element,
				 &camera->in_sensor});
	load_double(load, element, "horizontal_fov", 0.1, 6.283186, &camera->fov_rad);
	camera_load_image(load, element, camera);
	camera_load_clips(load, element, camera);
	camera_load_words(load, element, camera);
	camera_load_save(load, element, camera);
	load_noise(load, element, SDF_NOISE_GAUSSIAN, &camera->noise);
	camera_load_distortion(load, element, camera);
	camera_load_lens(load, element, camera);
	camera_load_packed(load, element, camera);
	camera_check_names(load, element);
	camera_load_shutter(load, element, kind, camera);
	camera_load_truth(load, element, camera);
	camera_check_angle(load, element, kind, camera);
	load_mask(load, element, "visibility_mask", &camera->visibility_mask);
}

void load_cameras(struct load *load, const struct sdf_element *sensor, enum sdf_sensor_kind kind, uint32_t scope,
	struct sdf_settings *settings)
{
	const struct sdf_element *first = sdf_child(sensor, "camera", NULL);
	uint32_t count = 0;
	for (const struct sdf_element *at = first; at; at = sdf_child(sensor, "camera", at))
		count++;
	uint32_t most = sensor_kind_of(kind)->cameras;
	if (count > 1 && most == 1)
		load_warn(load, sdf_child(sensor, "camera", first),
			"a second <camera> in a sensor that is no multicamera: expected one; the first is used");
	if (count > SDF_CAMERAS_MAX) {
		load_error(load, sensor, "a sensor with %u <camera>: expected at most %d", count, SDF_CAMERAS_MAX);
		count = 1;
	}
	count = MIN(MAX(count, 1u), most);
	struct sdf_camera *cameras = arena_array(&load->sdf->arena, struct sdf_camera, count);
	const struct sdf_element *at = first;
	for (uint32_t i = 0; i < count; i++, at = at ? sdf_child(sensor, "camera", at) : NULL) {
		camera_load(load, at, kind, scope, &cameras[i]);
		camera_load_pixels_of(load, at, kind, &cameras[i]);
		if (kind == SDF_THERMAL_CAMERA)
			camera_load_heat(load, sensor, &cameras[i]);
	}
	settings->cameras = cameras;
	settings->camera_count = count;
}
