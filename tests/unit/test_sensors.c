/* The sensors, materials, lights and surroundings of a file reach its description: each type with its defaults, each
 * parameter with another value, and each wrong value as an error with file:line. A reader that mixed up two parameters,
 * or read one from the wrong place, fails here. No other test would notice, because nothing is measured yet. */
#include "base/infile.h"
#include "sdf_help.h"
#include "sdf/sdf.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(sensors, .fini = sdf_help_end, .timeout = 60);

#define IN_WORLD(version, inside) "<sdf version='" version "'><world name='w'>" inside "</world></sdf>"
#define IN_LINK(inside) IN_WORLD("1.9", "<model name='m'><link name='a'>\n" inside "</link></model>")
#define SENSOR(type, inside) IN_LINK("<sensor name='s' type='" type "'>\n" inside "</sensor>")
#define LIGHT(type, inside) IN_WORLD("1.9", "<light name='l' type='" type "'>\n" inside "</light>")
#define VISUAL(inside) IN_LINK("<visual name='v'>" inside "</visual>")

static struct sdf *load(const char *text, troupe_status *ret_status)
{
	struct sdf *sdf = NULL;
	struct troupe_error error;
	*ret_status = sdf_help_load(text, NULL, &sdf, &error);
	return sdf_help_keep(sdf);
}

static struct sdf *good(const char *text)
{
	troupe_status status;
	struct sdf *sdf = load(text, &status);
	cr_assert(!status && sdf->error_count + sdf->warning_count == 0, "%s\nin %s",
		sdf->messages.count ? sdf->messages.at[0].text : "", text);
	return sdf;
}

static const struct sdf_sensor *sensor_of(const struct sdf *sdf)
{
	cr_assert_eq(sdf->worlds.at[0].sensors.count, 1);
	return &sdf->worlds.at[0].sensors.at[0];
}

#define near(a, b) cr_assert(fabs((a) - (b)) < 1e-9, "%s is %.12g, not %.12g", #a, (double)(a), (double)(b))

static void near3(struct vec3 v, double x, double y, double z)
{
	cr_assert(fabs(v.x - x) < 1e-9 && fabs(v.y - y) < 1e-9 && fabs(v.z - z) < 1e-9,
		"%.12g %.12g %.12g is not %g %g %g", v.x, v.y, v.z, x, y, z);
}

static void near_colour(struct sdf_colour c, double r, double g, double b, double a)
{
	cr_assert(fabs(c.r - r) < 1e-9 && fabs(c.g - g) < 1e-9 && fabs(c.b - b) < 1e-9 && fabs(c.a - a) < 1e-9,
		"%g %g %g %g is not %g %g %g %g", c.r, c.g, c.b, c.a, r, g, b, a);
}

/* --- documents ---------------------------------------------------------------------------------------------------- */

static char *page_of(const char *path)
{
	struct troupe_error error = {0};
	char *page;
	size_t bytes;
	cr_assert_eq(infile_read(path, 1 << 20, &page, &bytes, &error), TROUPE_OK, "%s", error.text);
	return page;
}

/* The part of the page between two texts, without the texts; as the caller's to free. */
static char *part_of(const char *page, const char *begin, const char *end)
{
	const char *at = strstr(page, begin);
	const char *stop = at ? strstr(at += strlen(begin), end) : NULL;
	cr_assert(at && stop, "no '%s' with '%s' behind it", begin, end);
	return mem_printf("%.*s", (int)(stop - at), at);
}

/* How often the word stands in the text. */
static int count_word(const char *text, const char *word)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
	int count = 0;
	for (const char *at = text; *at; at += MAX(strspn(at, letters), (size_t)1))
		count += strspn(at, letters) == strlen(word) && !strncmp(at, word, strlen(word));
	return count;
}

/* The rows of src/doc/reference/gazebo.md's table, each "KIND LAST TYPE", with one blank between. */
static char *make_rows(enum sdf_sensor_kind kind)
{
	struct text rows = {0};
	for (uint32_t i = 0; i < sensor_kind_topic_count(kind); i++) {
		const struct sensor_kind_topic *topic = &sensor_kind_of(kind)->topics[i];
		text_add(&rows, "\n%s %s %s", sensor_kind_of(kind)->names[0], topic->last, topic->type);
	}
	return rows.at ? rows.at : mem_printf("%s", "");
}

/* The first three words of each line, with one blank between. */
static char *squeeze(char *table)
{
	struct text rows = {0};
	char *save = NULL;
	for (char *line = strtok_r(table, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char kind[64], last[64], type[64];
		cr_assert_eq(sscanf(line, "%63s %63s %63s", kind, last, type), 3, "%s", line);
		text_add(&rows, "\n%s %s %s", kind, last, type);
	}
	return rows.at;
}

/* What people read is what the table of kinds has: neither a kind nor a topic more, and none less. */
Test(sensors, documents_have_the_kinds_and_the_topics_of_the_table)
{
	char *gazebo = page_of(SOURCE_DIR "/src/doc/reference/gazebo.md");
	char *manual = page_of(SOURCE_DIR "/src/doc/man/troupe-sdf.5");
	char *table = part_of(gazebo, "topic                       message\n", "\n```\n");
	char *silent = part_of(gazebo, "Not simulated are ", "sensors.\n");
	char *measuring = part_of(manual, ".SH SENSORS\n", "measure.\n");
	char *rows = squeeze(table);
	size_t expected = 0;
	for (int i = SDF_SENSOR_UNKNOWN + 1; i < SENSOR_KINDS; i++) {
		enum sdf_sensor_kind kind = (enum sdf_sensor_kind)i;
		const char *name = sensor_kind_of(kind)->names[0];
		if (kind == SDF_MULTICAMERA) { /* it is several sensors of another kind */
			cr_assert(!count_word(silent, name) && count_word(measuring, name) == 1);
			continue;
		}
		char *own = make_rows(kind);
		cr_assert_not_null(strstr(rows, own), "src/doc/reference/gazebo.md has not:%s", own);
		cr_assert_eq(count_word(silent, name), !*own, "src/doc/reference/gazebo.md, not simulated: %s", name);
		cr_assert_eq(count_word(measuring, name), !!*own, "troupe-sdf(5), sensors: %s", name);
		cr_assert_eq(sensor_kind_of(kind)->senses == SENSOR_KIND_SILENT, !*own, "%s", name);
		expected += strlen(own);
		free(own);
	}
	cr_assert_eq(strlen(rows), expected, "src/doc/reference/gazebo.md has a row too many:%s", rows);
	free(rows), free(table), free(silent), free(measuring), free(gazebo), free(manual);
}

/* --- types -------------------------------------------------------------------------------------------------------- */

Test(sensors, every_type_by_each_of_its_names)
{
	static const struct {
		const char *written, *type;
		enum sdf_sensor_kind kind;
		uint32_t signals, cameras;
	} cases[] = {
		{"air_pressure", "air_pressure", SDF_AIR_PRESSURE, 1, 0},
		{"air_speed", "air_speed", SDF_AIR_SPEED, 1, 0},
		{"altimeter", "altimeter", SDF_ALTIMETER, 2, 0},
		{"boundingbox", "boundingbox_camera", SDF_BOUNDINGBOX_CAMERA, 0, 1},
		{"boundingbox_camera", "boundingbox_camera", SDF_BOUNDINGBOX_CAMERA, 0, 1},
		{"camera", "camera", SDF_CAMERA, 0, 1},
		{"contact", "contact", SDF_CONTACT, 0, 0},
		{"custom", "custom", SDF_CUSTOM, 0, 0},
		{"depth", "depth_camera", SDF_DEPTH_CAMERA, 0, 1},
		{"depth_camera", "depth_camera", SDF_DEPTH_CAMERA, 0, 1},
		{"force_torque", "force_torque", SDF_FORCE_TORQUE, 6, 0},
		{"gps", "navsat", SDF_NAVSAT, 4, 0},
		{"gpu_lidar", "gpu_lidar", SDF_GPU_LIDAR, 1, 0},
		{"gpu_ray", "gpu_lidar", SDF_GPU_LIDAR, 1, 0},
		{"imu", "imu", SDF_IMU, 9, 0},
		{"lidar", "lidar", SDF_LIDAR, 1, 0},
		{"logical_camera", "logical_camera", SDF_LOGICAL_CAMERA, 0, 0},
		{"magnetometer", "magnetometer", SDF_MAGNETOMETER, 3, 0},
		{"multicamera", "camera", SDF_CAMERA, 0, 1},
		{"navsat", "navsat", SDF_NAVSAT, 4, 0},
		{"ray", "lidar", SDF_LIDAR, 1, 0},
		{"rfid", "rfid", SDF_RFID, 0, 0},
		{"rfidtag", "rfidtag", SDF_RFIDTAG, 0, 0},
		{"rgbd", "rgbd_camera", SDF_RGBD_CAMERA, 0, 1},
		{"rgbd_camera", "rgbd_camera", SDF_RGBD_CAMERA, 0, 1},
		{"segmentation", "segmentation_camera", SDF_SEGMENTATION_CAMERA, 0, 1},
		{"segmentation_camera", "segmentation_camera", SDF_SEGMENTATION_CAMERA, 0, 1},
		{"sonar", "sonar", SDF_SONAR, 0, 0},
		{"thermal", "thermal_camera", SDF_THERMAL_CAMERA, 0, 1},
		{"thermal_camera", "thermal_camera", SDF_THERMAL_CAMERA, 0, 1},
		{"wideanglecamera", "wide_angle_camera", SDF_WIDE_ANGLE_CAMERA, 0, 1},
		{"wide_angle_camera", "wide_angle_camera", SDF_WIDE_ANGLE_CAMERA, 0, 1},
		{"wireless_receiver", "wireless_receiver", SDF_WIRELESS_RECEIVER, 0, 0},
		{"wireless_transmitter", "wireless_transmitter", SDF_WIRELESS_TRANSMITTER, 0, 0},
		{"dvl", "dvl", SDF_SENSOR_UNKNOWN, 0, 0},
	};
	static const char *const versions[] = {"1.6", "1.7", "1.8", "1.9", "1.10", "1.11", "1.12"};
	for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(versions); i++) {
		size_t at = i / ARRAY_LEN(versions);
		struct text text = {0};
		text_add(&text,
			"<sdf version='%s'><model name='m'><link name='a'><sensor name='s' "
			"type='%s'/></link></model></sdf>",
			versions[i % ARRAY_LEN(versions)], cases[at].written);
		struct sdf *sdf = good(text.at);
		const struct sdf_sensor *sensor = sensor_of(sdf);
		cr_assert_str_eq(sensor->type, cases[at].type);
		cr_assert(sensor->kind == cases[at].kind && sensor->settings->signal_count == cases[at].signals &&
				  sensor->settings->camera_count == cases[at].cameras,
			"%s", cases[at].written);
		text_fini(&text);
	}
}

Test(sensors, settings_of_every_sensor)
{
	struct sdf *sdf = good(SENSOR("altimeter",
		"<always_on>1</always_on><update_rate>30</update_rate><visualize>true</visualize><topic>/"
		"t</topic><enable_metrics>true</enable_metrics><frame_id>f</frame_id>"));
	const struct sdf_sensor *sensor = sensor_of(sdf);
	cr_assert(sensor->settings->always_on && sensor->settings->visualize && sensor->settings->enable_metrics);
	cr_assert_str_eq(sensor->settings->topic, "/t");
	cr_assert_str_eq(sensor->settings->frame_id, "f");
	near(sensor->update_rate, 30);
	sdf = good(SENSOR("altimeter", "<topic>__default__</topic>"));
	sensor = sensor_of(sdf);
	cr_assert(!sensor->settings->always_on && !sensor->settings->visualize && !sensor->settings->enable_metrics);
	cr_assert(!sensor->settings->topic && !sensor->settings->frame_id);
}

/* --- signals and noise -------------------------------------------------------------------------------------------- */

#define NOISE(mean)                                                                                                    \
	"<noise type='gaussian_quantized'><mean>" mean                                                                 \
	"</mean><stddev>0.5</stddev><bias_mean>2</bias_mean><bias_stddev>3</bias_stddev><dynamic_bias_stddev>4</"      \
	"dynamic_bias_stddev><dynamic_bias_correlation_time>5</dynamic_bias_correlation_time><precision>6</"           \
	"precision></noise>"
#define XYZ(a, b, c) "<x>" NOISE(a) "</x><y>" NOISE(b) "</y><z>" NOISE(c) "</z>"

static void assert_means(const char *text, const double *means, uint32_t count)
{
	struct sdf *sdf = good(text);
	const struct sdf_settings *settings = sensor_of(sdf)->settings;
	cr_assert_eq(settings->signal_count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct sdf_noise *noise = &settings->signals[i].noise;
		cr_assert_eq(noise->kind, SDF_NOISE_QUANTIZED);
		near(noise->mean, means[i]);
		near(noise->stddev, 0.5);
		near(noise->bias_mean, 2);
		near(noise->bias_stddev, 3);
		near(noise->walk_stddev, 4);
		near(noise->walk_time_s, 5);
		near(noise->precision, 6);
	}
}

Test(sensors, noise_is_that_of_its_signal)
{
	static const double means[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	assert_means(
		SENSOR("imu", "<imu><linear_acceleration>" XYZ("4", "5", "6") "</linear_acceleration><orientation>" XYZ(
				      "7", "8", "9") "</orientation><angular_velocity>" XYZ("1", "2",
				      "3") "</angular_velocity></imu>"),
		means, 9);
	assert_means(SENSOR("force_torque", "<force_torque><torque>" XYZ("4", "5", "6") "</torque><force>" XYZ(
						    "1", "2", "3") "</force></force_torque>"),
		means, 6);
	assert_means(SENSOR("magnetometer", "<magnetometer>" XYZ("1", "2", "3") "</magnetometer>"), means, 3);
	assert_means(
		SENSOR("altimeter",
			"<altimeter><vertical_velocity>" NOISE("2") "</vertical_velocity><vertical_position>" NOISE(
				"1") "</vertical_position></altimeter>"),
		means, 2);
	assert_means(
		SENSOR("air_pressure", "<air_pressure><pressure>" NOISE("1") "</pressure></air_pressure>"), means, 1);
	assert_means(SENSOR("air_speed", "<air_speed><pressure>" NOISE("1") "</pressure></air_speed>"), means, 1);
	assert_means(
		SENSOR("navsat",
			"<navsat><velocity_sensing><horizontal>" NOISE("3") "</horizontal><vertical>" NOISE(
				"4") "</vertical></"
				     "velocity_sensing><position_sensing><"
				     "horizontal>" NOISE("1") "</"
							      "horizontal><"
							      "vertical"
							      ">" NOISE("2") "</vertical></position_sensing></navsat>"),
		means, 4);
	assert_means(SENSOR("lidar", "<lidar><range><max>9</max></range>" NOISE("1") "</lidar>"), means, 1);
}

Test(sensors, noise_by_default_is_none)
{
	struct sdf *sdf = good(SENSOR("imu", "<imu/>"));
	const struct sdf_settings *settings = sensor_of(sdf)->settings;
	for (uint32_t i = 0; i < settings->signal_count; i++) {
		cr_assert_eq(settings->signals[i].noise.kind, SDF_NOISE_NONE);
		cr_assert(
			settings->signals[i].min == (double)-INFINITY && settings->signals[i].max == (double)INFINITY);
	}
	/* the default noise of a lidar or camera is gaussian */
	sdf = good(SENSOR("gpu_ray", "<ray><range><max>1</max></range><noise><stddev>0.1</stddev></noise></ray>"));
	cr_assert_eq(sensor_of(sdf)->settings->signals[0].noise.kind, SDF_NOISE_GAUSSIAN);
}

Test(sensors, ranges_of_signals)
{
	struct sdf *sdf =
		good(SENSOR("altimeter", "<altimeter><vertical_position><range><min>-1</min><max>2</"
					 "max><resolution>0.5</resolution></range></vertical_position></altimeter>"));
	const struct sdf_signal *signals = sensor_of(sdf)->settings->signals;
	near(signals[SDF_ALTITUDE].min, -1);
	near(signals[SDF_ALTITUDE].max, 2);
	near(signals[SDF_ALTITUDE].resolution, 0.5);
	cr_assert_eq(signals[SDF_CLIMB].max, (double)INFINITY);
}

/* --- settings of each type ---------------------------------------------------------------------------------------- */

Test(sensors, lidar)
{
	struct sdf *sdf = good(SENSOR("lidar",
		"<ray><scan><horizontal><samples>900</samples><resolution>0.5</resolution><min_angle>-3.14</"
		"min_angle><max_angle>3.1416</max_angle></horizontal><vertical><samples>16</samples><resolution>2</"
		"resolution><min_angle>-0.25</min_angle><max_angle>0.26</max_angle></vertical></scan><range><min>0.1</"
		"min><max>30</max><resolution>0.01</resolution></range><visibility_mask>0x0f</visibility_mask></ray>"));
	const struct sdf_settings *settings = sensor_of(sdf)->settings;
	const struct sdf_lidar *lidar = settings->lidar;
	cr_assert(lidar->horizontal.samples == 900 && lidar->vertical.samples == 16 && lidar->visibility_mask == 15);
	near(lidar->horizontal.resolution, 0.5);
	near(lidar->horizontal.min_rad, -3.14);
	near(lidar->horizontal.max_rad, 3.1416);
	near(lidar->vertical.resolution, 2);
	near(lidar->vertical.min_rad, -0.25);
	near(lidar->vertical.max_rad, 0.26);
	near(settings->signals[0].min, 0.1);
	near(settings->signals[0].max, 30);
	near(settings->signals[0].resolution, 0.01);
	sdf = good(SENSOR("lidar", ""));
	lidar = sensor_of(sdf)->settings->lidar;
	cr_assert(lidar->horizontal.samples == 640 && lidar->vertical.samples == 1);
	near(lidar->horizontal.resolution, 1);
	near(lidar->horizontal.max_rad, 0);
	cr_assert_eq(lidar->visibility_mask, UINT32_MAX);
	near(sensor_of(sdf)->settings->signals[0].max, 0);
}

Test(sensors, imu)
{
	struct sdf *sdf = good(SENSOR("imu",
		"<imu><enable_orientation>0</enable_orientation><orientation_reference_frame><localization>GRAV_DOWN</"
		"localization><custom_rpy parent_frame='world'>1 2 3</custom_rpy><grav_dir_x parent_frame='f'>0 1 "
		"0</grav_dir_x></orientation_reference_frame></imu>"));
	const struct sdf_imu *imu = sensor_of(sdf)->settings->imu;
	cr_assert(!imu->orientation && imu->reference_given && imu->frame == SDF_IMU_GRAVITY_DOWN);
	near3(imu->rpy, 1, 2, 3);
	near3(imu->x_axis, 0, 1, 0);
	cr_assert_str_eq(imu->rpy_frame, "world");
	cr_assert_str_eq(imu->x_axis_frame, "f");
	sdf = good(SENSOR("imu", ""));
	imu = sensor_of(sdf)->settings->imu;
	cr_assert(imu->orientation && !imu->reference_given && imu->frame == SDF_IMU_CUSTOM && !*imu->rpy_frame &&
		  !*imu->x_axis_frame);
	near3(imu->rpy, 0, 0, 0);
	near3(imu->x_axis, 1, 0, 0);
}

Test(sensors, force_torque_in_a_joint)
{
	struct sdf *sdf = good(IN_WORLD("1.6",
		"<model name='m'><link name='a'/><link name='b'/><joint name='j' "
		"type='fixed'><parent>a</parent><child>b</child><sensor name='s' "
		"type='force_torque'><force_torque><frame>parent</frame><measure_direction>parent_to_child</"
		"measure_direction></force_torque></sensor></joint></model>"));
	const struct sdf_sensor *sensor = sensor_of(sdf);
	cr_assert(sensor->joint == 0 && sensor->link == SDF_NONE);
	cr_assert_eq(sensor->settings->force_torque->frame, SDF_WRENCH_PARENT);
	cr_assert(sensor->settings->force_torque->parent_to_child);
	sdf = good(SENSOR("force_torque", "<force_torque/>"));
	cr_assert_eq(sensor_of(sdf)->settings->force_torque->frame, SDF_WRENCH_CHILD);
	cr_assert(!sensor_of(sdf)->settings->force_torque->parent_to_child);
}

Test(sensors, the_other_types)
{
	struct sdf *sdf =
		good(IN_LINK("<sensor name='s' "
			     "type='contact'><contact><collision>c</collision><collision>m::a::d</collision><topic>/t</"
			     "topic></contact></sensor><collision name='c'/><collision name='d'/>"));
	const struct sdf_contact *contact = sensor_of(sdf)->settings->contact;
	cr_assert_eq(contact->collision_count, 2);
	cr_assert_str_eq(contact->collisions[0], "c");
	cr_assert_str_eq(contact->collisions[1], "m::a::d");
	cr_assert_str_eq(contact->topic, "/t");
	sdf = good(SENSOR("logical_camera", "<logical_camera><near>0.5</near><far>5</far><aspect_ratio>1.5</"
					    "aspect_ratio><horizontal_fov>1.2</horizontal_fov></logical_camera>"));
	const struct sdf_logical_camera *logical = sensor_of(sdf)->settings->logical_camera;
	near(logical->near_m, 0.5);
	near(logical->far_m, 5);
	near(logical->aspect_ratio, 1.5);
	near(logical->fov_rad, 1.2);
	sdf = good(SENSOR(
		"sonar", "<sonar><geometry>sphere</geometry><min>0.5</min><max>5</max><radius>2</radius></sonar>"));
	const struct sdf_sonar *sonar = sensor_of(sdf)->settings->sonar;
	cr_assert(sonar->sphere);
	near(sonar->min_m, 0.5);
	near(sonar->max_m, 5);
	near(sonar->radius_m, 2);
	sdf = good(SENSOR("wireless_receiver", "<transceiver><essid>e</essid><frequency>1</frequency><min_frequency>2</"
					       "min_frequency><max_frequency>3</max_frequency><gain>4</gain><power>5</"
					       "power><sensitivity>-6</sensitivity></transceiver>"));
	const struct sdf_radio *radio = sensor_of(sdf)->settings->radio;
	cr_assert_str_eq(radio->essid, "e");
	near(radio->frequency, 1);
	near(radio->min_frequency, 2);
	near(radio->max_frequency, 3);
	near(radio->gain_db, 4);
	near(radio->power_dbm, 5);
	near(radio->sensitivity_dbm, -6);
	sdf = good(SENSOR("air_pressure", "<air_pressure><reference_altitude>123</reference_altitude></air_pressure>"));
	near(*sensor_of(sdf)->settings->reference_altitude_m, 123);
}

/* --- cameras ------------------------------------------------------------------------------------------------------ */

Test(sensors, camera_by_default)
{
	struct sdf *sdf = good(SENSOR("camera", "<camera/>"));
	const struct sdf_camera *camera = &sensor_of(sdf)->settings->cameras[0];
	near(camera->fov_rad, 1.047);
	cr_assert(camera->width == 320 && camera->height == 240 && camera->anti_aliasing == 4 && !camera->smooth);
	cr_assert_str_eq(camera->format, "R8G8B8");
	near(camera->near_m, 0.1);
	near(camera->far_m, 100);
	near(camera->depth_near_m, 0.1);
	near(camera->depth_far_m, 100);
	cr_assert(!camera->save_path && !camera->triggered && !camera->trigger_topic && !camera->info_topic);
	cr_assert(camera->segmentation == SDF_SEGMENTATION_SEMANTIC && camera->boxes == SDF_BOX_VISIBLE_2D);
	cr_assert_eq(camera->noise.kind, SDF_NOISE_NONE);
	near(camera->centre_x, 0.5);
	cr_assert(camera->lens == SDF_LENS_STEREOGRAPHIC && camera->lens_to_fov && !camera->intrinsics_given &&
		  !camera->projection_given);
	near(camera->fx, 277);
	near(camera->cutoff_rad, 1.5707);
	cr_assert(camera->environment_size == 256 && camera->visibility_mask == UINT32_MAX);
	cr_assert(camera->readout_s == 0 && camera->exposure_s == 0 && camera->exposure_samples == 0);
	near(camera->gain, 1);
}

#define SHUTTER                                                                                                        \
	"<camera><troupe:readout_time>0.02</troupe:readout_time><troupe:exposure_time>0.01</troupe:exposure_time>"     \
	"<troupe:exposure_samples>7</troupe:exposure_samples><troupe:gain>2.5</troupe:gain></camera>"

Test(sensors, shutter_of_a_camera)
{
	struct sdf *sdf = good(SENSOR("camera", SHUTTER));
	const struct sdf_camera *camera = &sensor_of(sdf)->settings->cameras[0];
	troupe_status status;
	near(camera->readout_s, 0.02);
	near(camera->exposure_s, 0.01);
	cr_assert_eq(camera->exposure_samples, 7);
	near(camera->gain, 2.5);
	near(sdf_sensor_span_s(SDF_CAMERA, sensor_of(sdf)->settings), 0.03);
	sdf = load(SENSOR("boundingbox_camera", SHUTTER), &status);
	cr_assert(!status && sdf->warning_count == 1 && strstr(sdf->messages.at[0].text, "have no effect"));
	near(sdf_sensor_span_s(SDF_BOUNDINGBOX_CAMERA, sensor_of(sdf)->settings), 0);
}

/* Half a turn and more needs a lens that is no plane, or focal lengths instead of the angle. */
Test(sensors, cameras_that_see_half_a_turn)
{
	(void)good(SENSOR("wide_angle_camera", "<camera><horizontal_fov>6.28</horizontal_fov></camera>"));
	(void)good(SENSOR("camera", "<camera><horizontal_fov>6.28</horizontal_fov><lens><intrinsics><fx>100</fx></"
				    "intrinsics></lens></camera>"));
	(void)good(SENSOR("camera", "<camera><horizontal_fov>3.14</horizontal_fov></camera>"));
}

Test(sensors, camera_with_everything)
{
	struct sdf *sdf = good(SENSOR("rgbd_camera",
		"<pose>1 0 0 0 0 0</pose><camera name='c'><pose>0 0 2 0 0 "
		"0</pose><triggered>1</triggered><trigger_topic>/go</trigger_topic><camera_info_topic>/info</"
		"camera_info_topic><horizontal_fov>2</horizontal_fov><image><width>640</width><height>480</"
		"height><format>RGB_INT8</format><anti_aliasing>2</anti_aliasing></image><clip><near>0.2</"
		"near><far>50</far></clip><save "
		"enabled='false'><path>/p</path></save><depth_camera><output>points</output><clip><near>0.3</"
		"near><far>9</far></clip></depth_camera><segmentation_type>panoptic</"
		"segmentation_type><box_type>full_box_2d</box_type><noise><type>gaussian</type><stddev>0.007</stddev></"
		"noise><distortion><k1>1</k1><k2>2</k2><k3>3</k3><p1>4</p1><p2>5</p2><center>0.4 "
		"0.6</center></distortion><lens><type>custom</type><scale_to_hfov>false</"
		"scale_to_hfov><custom_function><c1>1.5</c1><c2>2.5</c2><c3>3.5</c3><f>4.5</f><fun>sin</fun></"
		"custom_function><cutoff_angle>1</cutoff_angle><env_texture_size>512</"
		"env_texture_size><intrinsics><fx>1</fx><fy>2</fy><cx>3</cx><cy>4</cy><s>5</s></"
		"intrinsics><projection><p_fx>6</p_fx><p_fy>7</p_fy><p_cx>8</p_cx><p_cy>9</p_cy><tx>10</tx><ty>11</"
		"ty></projection></lens><visibility_mask>3</visibility_mask><optical_frame_id>o</optical_frame_id></"
		"camera>"));
	const struct sdf_camera *camera = &sensor_of(sdf)->settings->cameras[0];
	cr_assert_str_eq(camera->name, "c");
	near3(camera->in_sensor.p, 0, 0, 2);
	cr_assert(camera->triggered && camera->width == 640 && camera->height == 480);
	cr_assert(camera->anti_aliasing == 2 && camera->smooth);
	cr_assert_str_eq(camera->trigger_topic, "/go");
	cr_assert_str_eq(camera->info_topic, "/info");
	cr_assert_str_eq(camera->optical_frame, "o");
	cr_assert_str_eq(camera->format, "RGB_INT8");
	cr_assert_null(camera->save_path);
	cr_assert_str_eq(camera->depth_output, "points");
	near(camera->fov_rad, 2);
	near(camera->near_m, 0.2);
	near(camera->far_m, 50);
	near(camera->depth_near_m, 0.3);
	near(camera->depth_far_m, 9);
	cr_assert(camera->segmentation == SDF_SEGMENTATION_INSTANCE && camera->boxes == SDF_BOX_FULL_2D);
	cr_assert_eq(camera->noise.kind, SDF_NOISE_GAUSSIAN);
	near(camera->noise.stddev, 0.007);
	near(camera->k1, 1);
	near(camera->k2, 2);
	near(camera->k3, 3);
	near(camera->p1, 4);
	near(camera->p2, 5);
	near(camera->centre_x, 0.4);
	near(camera->centre_y, 0.6);
	cr_assert(camera->lens == SDF_LENS_CUSTOM && !camera->lens_to_fov && camera->function == SDF_LENS_SIN);
	near(camera->c1, 1.5);
	near(camera->c2, 2.5);
	near(camera->c3, 3.5);
	near(camera->f, 4.5);
	near(camera->cutoff_rad, 1);
	cr_assert(camera->environment_size == 512 && camera->intrinsics_given && camera->projection_given);
	near(camera->fx, 1);
	near(camera->fy, 2);
	near(camera->cx, 3);
	near(camera->cy, 4);
	near(camera->skew, 5);
	near(camera->p_fx, 6);
	near(camera->p_fy, 7);
	near(camera->p_cx, 8);
	near(camera->p_cy, 9);
	near(camera->p_tx, 10);
	near(camera->p_ty, 11);
	cr_assert_eq(camera->visibility_mask, 3);
}

Test(sensors, poses_of_cameras_may_name_a_frame)
{
	struct sdf *sdf = good(
		IN_WORLD("1.9", "<model name='m'><frame name='f'><pose>0 0 5 0 0 0</pose></frame><link "
				"name='a'><pose>0 0 1 0 0 0</pose><sensor name='s' type='multicamera'><pose>0 1 0 0 0 "
				"0</pose><camera name='l'><pose relative_to='f'>1 0 0 0 0 0</pose></camera><camera "
				"name='r'><pose>2 0 0 0 0 0</pose></camera></sensor></link></model>"));
	const struct sdf_world *world = &sdf->worlds.at[0];
	cr_assert_eq(world->sensors.count, 2);
	near3(world->sensors.at[0].settings->cameras->in_sensor.p, 1, -1, 4);
	near3(world->sensors.at[1].settings->cameras->in_sensor.p, 2, 0, 0);
}

/* A multicamera is as many sensors as it has cameras. */
Test(sensors, cameras_of_a_multicamera)
{
	static const char *const topics[] = {"", "<topic>/eyes</topic>"};
	for (size_t i = 0; i < ARRAY_LEN(topics); i++) {
		struct text text = {0};
		text_add(&text,
			IN_LINK("<sensor name='s' type='multicamera'><pose>0 1 0 0 0 "
				"0</pose><update_rate>7</update_rate>%s"
				"<camera name='l'/><camera name='r'><image><width>9</width></image><troupe:baseline>0.2"
				"</troupe:baseline></camera><camera><troupe:topic>third</troupe:topic></camera></"
				"sensor>"
				"<sensor name='t' type='imu'><pose>0 0 3 0 0 0</pose></sensor>"),
			topics[i]);
		const struct sdf *sdf = good(text.at);
		const struct sdf_sensor *at = sdf->worlds.at[0].sensors.at;
		const char *const names[] = {"s::l", "s::r", "s::camera_2"}, *const given[2][3] = {{"", "", "third"},
										     {"/eyes/l/image", "/eyes/r/image",
											     "third"}};
		cr_assert_eq(sdf->worlds.at[0].sensors.count, 4);
		for (uint32_t k = 0; k < 3; k++) {
			const char *topic = sdf_sensor_topic(&at[k]);
			cr_assert_str_eq(at[k].name, names[k]);
			cr_assert_str_eq(topic ? topic : "", given[i][k]);
			cr_assert(at[k].kind == SDF_CAMERA && at[k].part == k && at[k].settings->camera_count == 1);
			near(at[k].update_rate, 7);
			near(at[k].settings->cameras->baseline_m, k == 1 ? 0.2 : 0);
			near3(at[k].in_world.p, 0, 1, 0);
		}
		cr_assert_eq(at[1].settings->cameras->width, 9);
		near3(at[3].in_world.p, 0, 0, 3);
		text.count = 0;
		sdf_print(sdf, &text);
		cr_assert(strstr(text.at, "<camera name=\"r\"") && !strstr(text.at, "s::r"), "%s", text.at);
		const char *last = strstr(text.at, "<sensor name=\"t\"");
		cr_assert(last && strstr(last, "0 0 3 0 0 0"), "%s", text.at);
		text_fini(&text);
	}
}

/* --- looks -------------------------------------------------------------------------------------------------------- */

Test(sensors, visuals)
{
	troupe_status status;
	struct sdf *sdf =
		load(VISUAL("<cast_shadows>false</cast_shadows><transparency>0.25</transparency><laser_retro>150</"
			    "laser_retro><visibility_flags>6</visibility_flags><meta><layer>-2</layer></"
			    "meta><material><ambient>0.1 0.2 0.3 0.4</ambient><diffuse>0.5 0.6 "
			    "0.7</diffuse><specular>1 0 0 1</specular><emissive>0 1 0 "
			    "1</emissive><shininess>8</shininess><render_order>2</render_order><lighting>0</"
			    "lighting><double_sided>1</double_sided><script><uri>u</uri><name>Gazebo/Gold</name></"
			    "script><shader "
			    "type='vertex'><normal_map>x</normal_map></shader><pbr><metal><albedo_map>a.png</"
			    "albedo_map><roughness>0.2</roughness><metalness>0.9</metalness></metal></pbr></material>"),
			&status);
	cr_assert(!status && sdf->warning_count == 0);
	const struct sdf_visual *visual = &sdf->worlds.at[0].visuals.at[0];
	const struct sdf_material *material = visual->material;
	cr_assert(!visual->cast_shadows && visual->visibility_flags == 6 && visual->layer == -2);
	near(visual->transparency, 0.25);
	near(visual->laser_retro, 150);
	near_colour(material->ambient, 0.1, 0.2, 0.3, 0.4);
	near_colour(material->diffuse, 0.5, 0.6, 0.7, 1);
	near_colour(material->specular, 1, 0, 0, 1);
	near_colour(material->emissive, 0, 1, 0, 1);
	near(material->shininess, 8);
	near(material->render_order, 2);
	cr_assert(!material->lighting && material->double_sided && material->ambient_given && material->diffuse_given);
	cr_assert_str_eq(material->script_uri, "u");
	cr_assert_str_eq(material->script_name, "Gazebo/Gold");
	cr_assert_str_eq(material->shader, "vertex");
	cr_assert_str_eq(material->normal_map, "x");
	cr_assert_str_eq(material->pbr->albedo_map, "a.png");
	near(material->pbr->roughness, 0.2);
	near(material->pbr->metalness, 0.9);
	sdf = good(VISUAL("<material/>"));
	visual = &sdf->worlds.at[0].visuals.at[0];
	cr_assert(visual->cast_shadows && visual->visibility_flags == UINT32_MAX && visual->material->lighting);
	near(visual->transparency, 0);
	near_colour(visual->material->diffuse, 0, 0, 0, 1);
	cr_assert(!visual->material->diffuse_given && !visual->material->pbr && !visual->material->shader);
	sdf = good(VISUAL(""));
	cr_assert_null(sdf->worlds.at[0].visuals.at[0].material);
}

Test(sensors, lights)
{
	struct sdf *sdf = good(LIGHT("spot",
		"<cast_shadows>1</cast_shadows><light_on>0</light_on><visualize>0</visualize><intensity>2.5</"
		"intensity><diffuse>0.1 0.2 0.3 1</diffuse><specular>0.4 0.5 0.6 "
		"1</specular><attenuation><range>20</range><constant>0.5</constant><linear>0.25</"
		"linear><quadratic>0.125</quadratic></attenuation><direction>1 2 "
		"3</direction><spot><inner_angle>0.1</inner_angle><outer_angle>0.5</outer_angle><falloff>0.8</"
		"falloff></spot>"));
	const struct sdf_shine *shine = &sdf->worlds.at[0].lights.at[0].shine;
	cr_assert(shine->kind == SDF_SPOT_LIGHT && shine->cast_shadows && !shine->on && !shine->visualize);
	near(shine->intensity, 2.5);
	near_colour(shine->diffuse, 0.1, 0.2, 0.3, 1);
	near_colour(shine->specular, 0.4, 0.5, 0.6, 1);
	near(shine->range_m, 20);
	near(shine->constant, 0.5);
	near(shine->linear, 0.25);
	near(shine->quadratic, 0.125);
	near3(shine->direction, 1, 2, 3);
	near(shine->inner_rad, 0.1);
	near(shine->outer_rad, 0.5);
	near(shine->falloff, 0.8);
	sdf = good(IN_LINK("<light name='l' type='point'/>"));
	shine = &sdf->worlds.at[0].lights.at[0].shine;
	cr_assert(shine->kind == SDF_POINT_LIGHT && !shine->cast_shadows && shine->on && shine->visualize);
	near(shine->intensity, 1);
	near_colour(shine->diffuse, 1, 1, 1, 1);
	near_colour(shine->specular, 0.1, 0.1, 0.1, 1);
	near(shine->range_m, 10);
	near(shine->constant, 1);
	near(shine->linear, 1);
	near(shine->quadratic, 0);
	near3(shine->direction, 0, 0, -1);
}

/* --- surroundings ------------------------------------------------------------------------------------------------- */

Test(sensors, surroundings_by_default)
{
	struct sdf *sdf = good(IN_WORLD("1.9", ""));
	const struct sdf_surroundings *around = &sdf->worlds.at[0].surroundings;
	near_colour(around->scene.ambient, 0.4, 0.4, 0.4, 1);
	near_colour(around->scene.background, 0.7, 0.7, 0.7, 1);
	cr_assert(around->scene.shadows && around->scene.grid && around->scene.origin_visual);
	cr_assert(!around->scene.sky && !around->scene.fog && !around->earth.given);
	near(around->earth.equatorial_m, 6378137);
	near3(around->magnetic_field, 5.5645e-6, 22.8758e-6, -42.3884e-6);
	near(around->air.temperature_K, 288.15);
	near(around->air.temperature_gradient, -0.0065);
	near(around->air.pressure_Pa, 101325);
	/* a model without a world has the defaults of a world */
	sdf = good("<sdf version='1.9'><model name='m'><link name='a'/></model></sdf>");
	near_colour(sdf->worlds.at[0].surroundings.scene.ambient, 0.4, 0.4, 0.4, 1);
}

Test(sensors, surroundings_with_everything)
{
	struct sdf *sdf = good(IN_WORLD("1.9",
		"<scene><ambient>0.1 0.2 0.3 1</ambient><background>0.4 0.5 0.6 "
		"1</background><shadows>0</shadows><grid>0</grid><origin_visual>0</origin_visual><sky><time>12</"
		"time><sunrise>5</sunrise><sunset>21</sunset><clouds><speed>1</speed><direction>0.5</"
		"direction><humidity>0.25</humidity><mean_size>0.75</mean_size><ambient>0 0 1 "
		"1</ambient></clouds><cubemap_uri>c</cubemap_uri></sky><fog><type>linear</type><color>0 1 0 "
		"1</color><start>2</start><end>30</end><density>0.5</density></fog></"
		"scene><spherical_coordinates><surface_model>CUSTOM_SURFACE</"
		"surface_model><world_frame_orientation>ENU</world_frame_orientation><latitude_deg>-22.9</"
		"latitude_deg><longitude_deg>-43.2</longitude_deg><elevation>7</elevation><heading_deg>90</"
		"heading_deg><surface_axis_equatorial>1000</surface_axis_equatorial><surface_axis_polar>900</"
		"surface_axis_polar></spherical_coordinates><magnetic_field>1 2 3</magnetic_field><atmosphere "
		"type='adiabatic'><temperature>300</temperature><temperature_gradient>-0.01</"
		"temperature_gradient><pressure>90000</pressure></atmosphere>"));
	const struct sdf_surroundings *around = &sdf->worlds.at[0].surroundings;
	const struct sdf_sky *sky = around->scene.sky;
	const struct sdf_fog *fog = around->scene.fog;
	near_colour(around->scene.ambient, 0.1, 0.2, 0.3, 1);
	near_colour(around->scene.background, 0.4, 0.5, 0.6, 1);
	cr_assert(!around->scene.shadows && !around->scene.grid && !around->scene.origin_visual);
	near3((struct vec3){sky->time_h, sky->sunrise_h, sky->sunset_h}, 12, 5, 21);
	near3((struct vec3){sky->cloud_speed, sky->cloud_direction_rad, sky->cloud_humidity}, 1, 0.5, 0.25);
	near(sky->cloud_size, 0.75);
	near_colour(sky->cloud_ambient, 0, 0, 1, 1);
	cr_assert_str_eq(sky->cubemap_uri, "c");
	cr_assert_eq(fog->kind, SDF_FOG_LINEAR);
	near_colour(fog->colour, 0, 1, 0, 1);
	near3((struct vec3){fog->start_m, fog->end_m, fog->density}, 2, 30, 0.5);
	cr_assert(around->earth.given && around->earth.model == SDF_CUSTOM_SURFACE);
	near3((struct vec3){around->earth.latitude_deg, around->earth.longitude_deg, around->earth.elevation_m}, -22.9,
		-43.2, 7);
	near3((struct vec3){around->earth.heading_deg, around->earth.equatorial_m, around->earth.polar_m}, 90, 1000,
		900);
	near3(around->magnetic_field, 1, 2, 3);
	near3((struct vec3){around->air.temperature_K, around->air.temperature_gradient, around->air.pressure_Pa}, 300,
		-0.01, 90000);
	/* before 1.6 the field was an element of the physics */
	sdf = good(IN_WORLD("1.5", "<physics><magnetic_field>4 5 6</magnetic_field></physics>"));
	near3(sdf->worlds.at[0].surroundings.magnetic_field, 4, 5, 6);
}

/* --- wrong values ------------------------------------------------------------------------------------------------- */

#define LIDAR(inside) SENSOR("lidar", "<lidar><range><max>9</max></range>\n" inside "</lidar>")
#define RANGE(inside) SENSOR("lidar", "<lidar>\n<range>" inside "</range></lidar>")
#define CAMERA(inside) SENSOR("camera", "<camera>\n" inside "</camera>")
#define BARO(inside)                                                                                                   \
	SENSOR("air_pressure",                                                                                         \
		"<air_pressure><pressure>\n<noise type='gaussian'>" inside "</noise></pressure></air_pressure>")

static const struct {
	const char *text, *message; /* the message begins with this text */
} wrong[] = {
	{RANGE("<max>0</max>"), "t.sdf:4: <range> is from 0 to 0: expected <max> above <min>"},
	{RANGE("<min>0</min>"), "t.sdf:4: <range> is from 0 to 0"},
	{RANGE("<min>5</min><max>5</max>"), "t.sdf:4: <range> is from 5 to 5"},
	{RANGE("<max>nan</max>"), "t.sdf:4: <max> is \"nan\": expected"},
	{RANGE("<min>-1</min><max>5</max>"), "t.sdf:4: <min> is \"-1\": expected from 0"},
	{RANGE("<max>5</max><resolution>-1</resolution>"), "t.sdf:4: <resolution> is \"-1\""},
	{LIDAR("<scan><horizontal><samples>1000000000</samples></horizontal></scan>"),
		"t.sdf:4: <samples> is \"1000000000\""},
	{LIDAR("<scan><horizontal><samples>0</samples></horizontal></scan>"),
		"t.sdf:4: <samples> is \"0\": expected from 1"},
	{LIDAR("<scan><horizontal><samples>-5</samples></horizontal></scan>"), "t.sdf:4: <samples> is \"-5\""},
	{LIDAR("<scan><horizontal><samples>40000</samples></horizontal><vertical><samples>25000</samples></vertical></"
	       "scan>"),
		"t.sdf:4: <scan> has 1000000000 rays: expected at most 16777216"},
	{LIDAR("<scan><horizontal><samples>10000</samples><resolution>100000</resolution></horizontal></scan>"),
		"t.sdf:4: <scan> has 1000000000 rays"},
	{LIDAR("<scan><horizontal><resolution>0</resolution></horizontal></scan>"), "t.sdf:4: <resolution> is \"0\""},
	{LIDAR("<scan><vertical><min_angle>1</min_angle><max_angle>-1</max_angle></vertical></scan>"),
		"t.sdf:4: <min_angle> of <vertical> is 1 and <max_angle> -1"},
	{LIDAR("<scan><horizontal><max_angle>99</max_angle></horizontal></scan>"), "t.sdf:4: <max_angle> is \"99\""},
	{LIDAR("<noise><stddev>-0.1</stddev></noise>"), "t.sdf:4: <stddev> is \"-0.1\": expected from 0"},
	{BARO("<stddev>-1</stddev>"), "t.sdf:4: <stddev> is \"-1\""},
	{BARO("<mean>inf</mean>"), "t.sdf:4: <mean> is \"inf\""},
	{BARO("<bias_stddev>-1</bias_stddev>"), "t.sdf:4: <bias_stddev> is \"-1\""},
	{BARO("<bias_mean>x</bias_mean>"), "t.sdf:4: <bias_mean> is \"x\": expected one number"},
	{BARO("<dynamic_bias_stddev>-1</dynamic_bias_stddev>"), "t.sdf:4: <dynamic_bias_stddev> is \"-1\""},
	{BARO("<dynamic_bias_correlation_time>nan</dynamic_bias_correlation_time>"),
		"t.sdf:4: <dynamic_bias_correlation_time> is \"nan\""},
	{BARO("<precision>-1</precision>"), "t.sdf:4: <precision> is \"-1\""},
	{SENSOR("imu", "<update_rate>1e10</update_rate>"),
		"t.sdf:3: <update_rate> is \"1e10\": expected from 0 to 1e+09"},
	{SENSOR("imu", "<update_rate>nan</update_rate>"), "t.sdf:3: <update_rate> is \"nan\""},
	{SENSOR("imu", "<imu><orientation_reference_frame>\n<grav_dir_x>0 0 "
		       "0</grav_dir_x></orientation_reference_frame></imu>"),
		"t.sdf:4: <grav_dir_x> is 0 0 0: expected a direction"},
	{CAMERA("<image><width>0</width></image>"), "t.sdf:4: <width> is \"0\": expected from 1 to 16384"},
	{CAMERA("<image><height>100000</height></image>"), "t.sdf:4: <height> is \"100000\""},
	{CAMERA("<image><width>16384</width><height>16384</height></image>"),
		"t.sdf:4: <image> is 16384 x 16384: expected at most 33554432 pixels"},
	{CAMERA("<image><height>240.5</height></image>"),
		"t.sdf:4: <height> is \"240.5\": expected a whole number from 1 to"},
	{CAMERA("<visibility_mask>1.5</visibility_mask>"),
		"t.sdf:4: <visibility_mask> is \"1.5\": expected a whole number from 0 to 4294967295"},
	{CAMERA("<horizontal_fov>3.1416</horizontal_fov>"),
		"t.sdf:4: <horizontal_fov> is 3.1416: expected less than pi in a sensor that is no wide_angle_camera"},
	{CAMERA("<troupe:readout>1</troupe:readout>"),
		"t.sdf:4: <troupe:readout> is no element of a camera: expected <troupe:compressed>, <troupe:truth>, "
		"<troupe:readout_time>"},
	{CAMERA("<troupe:exposure_time>11</troupe:exposure_time>"), "t.sdf:4: <troupe:exposure_time> is \"11\""},
	{CAMERA("<troupe:exposure_samples>0</troupe:exposure_samples>"), "t.sdf:4: <troupe:exposure_samples> is \"0\""},
	{CAMERA("<troupe:gain>-1</troupe:gain>"), "t.sdf:4: <troupe:gain> is \"-1\""},
	{CAMERA("<troupe:truth>flow\nnormal</troupe:truth>"),
		"t.sdf:4: <troupe:truth> has the word \"normal\": expected normals, flow or segments"},
	{SENSOR("multicamera", "<camera name='a'/>\n<camera name='a'/>"),
		"t.sdf:4: two <camera> of sensor \"s\" have the name \"a\": expected different names"},
	{SENSOR("multicamera", "<camera name='camera_1'/>\n<camera/>"),
		"t.sdf:4: two <camera> of sensor \"s\" have the name \"camera_1\", which one without a name has by its "
		"place: "
		"expected different names"},
	{SENSOR("multicamera", "<camera name='a::b'/>"), "t.sdf:3: the name \"a::b\" of <camera> contains"},
	{CAMERA("<horizontal_fov>0</horizontal_fov>"), "t.sdf:4: <horizontal_fov> is \"0\""},
	{CAMERA("<horizontal_fov>nan</horizontal_fov>"), "t.sdf:4: <horizontal_fov> is \"nan\""},
	{CAMERA("<clip><near>5</near><far>1</far></clip>"), "t.sdf:4: <clip> is from <near> 5 to <far> 1"},
	{CAMERA("<clip><near>-1</near></clip>"), "t.sdf:4: <near> is \"-1\""},
	{CAMERA("<depth_camera><clip><near>5</near><far>1</far></clip></depth_camera>"), "t.sdf:4: <clip> is from"},
	{CAMERA("<noise><type>gaussian</type><stddev>-1</stddev></noise>"), "t.sdf:4: <stddev> is \"-1\""},
	{CAMERA("<distortion><center>1</center></distortion>"), "t.sdf:4: <center> is \"1\": expected two numbers"},
	{CAMERA("<distortion><k1>inf</k1></distortion>"), "t.sdf:4: <k1> is \"inf\""},
	{CAMERA("<lens><intrinsics><fx>0</fx></intrinsics></lens>"), "t.sdf:4: <fx> is \"0\""},
	{CAMERA("<lens><custom_function><c2>0</c2></custom_function></lens>"), "t.sdf:4: <c2> is 0"},
	{CAMERA("<lens><cutoff_angle>9</cutoff_angle></lens>"), "t.sdf:4: <cutoff_angle> is \"9\""},
	{CAMERA("<lens><env_texture_size>1</env_texture_size></lens>"), "t.sdf:4: <env_texture_size> is \"1\""},
	{CAMERA("<save enabled='true'/>"), "t.sdf:4: <save> has no <path>"},
	{SENSOR("logical_camera", "<logical_camera><near>2</near></logical_camera>"),
		"t.sdf:3: <far> of <logical_camera> is 1 and <near> 2"},
	{SENSOR("logical_camera", "<logical_camera><aspect_ratio>0</aspect_ratio></logical_camera>"),
		"t.sdf:3: <aspect_ratio> is \"0\""},
	{SENSOR("sonar", "<sonar><min>3</min></sonar>"), "t.sdf:3: <sonar> is from <min> 3 to <max> 1"},
	{SENSOR("wireless_receiver", "<transceiver><min_frequency>3000</min_frequency></transceiver>"),
		"t.sdf:3: <transceiver> is from <min_frequency> 3000"},
	{SENSOR("magnetometer", "<magnetometer><x>\n<range><min>1</min><max>1</max></range></x></magnetometer>"),
		"t.sdf:4: <range> is from 1 to 1"},
	{VISUAL("<transparency>1.5</transparency>"), "t.sdf:2: <transparency> is \"1.5\": expected from 0 to 1"},
	{SENSOR("lidar", "<lidar><scan><vertical><samples>1.5</samples></vertical></scan><range><min>0</min><max>1</"
			 "max></range></lidar>"),
		"t.sdf:3: <samples> is \"1.5\": expected a whole number from 1 to"},
	{VISUAL("<laser_retro>nan</laser_retro>"), "t.sdf:2: <laser_retro> is \"nan\""},
	{VISUAL("<material><diffuse>1 0</diffuse></material>"), "t.sdf:2: <diffuse> is \"1 0\": expected a colour"},
	{VISUAL("<material><diffuse>1 0 0 1 0</diffuse></material>"), "t.sdf:2: <diffuse> is \"1 0 0 1 0\""},
	{VISUAL("<material><ambient>-1 0 0 1</ambient></material>"), "t.sdf:2: <ambient> is \"-1 0 0 1\""},
	{VISUAL("<material><emissive>nan 0 0 1</emissive></material>"), "t.sdf:2: <emissive> is \"nan"},
	{VISUAL("<material><specular>inf 0 0 1</specular></material>"), "t.sdf:2: <specular> is \"inf"},
	{VISUAL("<material><pbr><metal><roughness>2</roughness></metal></pbr></material>"),
		"t.sdf:2: <roughness> is \"2\""},
	{LIGHT("directional", "<direction>0 0 0</direction>"), "t.sdf:2: <direction> is 0 0 0"},
	{LIGHT("point", "<intensity>-1</intensity>"), "t.sdf:2: <intensity> is \"-1\""},
	{LIGHT("point", "<attenuation><range>-1</range></attenuation>"), "t.sdf:2: <range> is \"-1\""},
	{LIGHT("point", "<attenuation><linear>nan</linear></attenuation>"), "t.sdf:2: <linear> is \"nan\""},
	{LIGHT("spot", "<spot><outer_angle>7</outer_angle></spot>"), "t.sdf:2: <outer_angle> is \"7\""},
	{LIGHT("spot", "<spot><falloff>-1</falloff></spot>"), "t.sdf:2: <falloff> is \"-1\""},
	{IN_WORLD("1.9", "<scene><ambient>x</ambient></scene>"), "t.sdf:1: <ambient> is \"x\""},
	{IN_WORLD("1.9", "<scene><sky><time>25</time></sky></scene>"), "t.sdf:1: <time> is \"25\""},
	{IN_WORLD("1.9", "<scene><fog><density>-1</density></fog></scene>"), "t.sdf:1: <density> is \"-1\""},
	{IN_WORLD("1.9", "<spherical_coordinates><latitude_deg>91</latitude_deg></spherical_coordinates>"),
		"t.sdf:1: <latitude_deg> is \"91\": expected from -90 to 90"},
	{IN_WORLD(
		 "1.9", "<spherical_coordinates><surface_model>CUSTOM_SURFACE</surface_model></spherical_coordinates>"),
		"t.sdf:1: CUSTOM_SURFACE has the axes 0 and 0 m"},
	{IN_WORLD("1.9", "<magnetic_field>nan 0 0</magnetic_field>"), "t.sdf:1: <magnetic_field> is \"nan 0 0\""},
	{IN_WORLD("1.9", "<atmosphere type='adiabatic'><temperature>-5</temperature></atmosphere>"),
		"t.sdf:1: <temperature> is \"-5\""},
	{IN_WORLD("1.9", "<atmosphere type='adiabatic'><pressure>-1</pressure></atmosphere>"),
		"t.sdf:1: <pressure> is \"-1\""},
};

Test(sensors, wrong_values_are_errors_with_their_line)
{
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		troupe_status status;
		struct sdf *sdf = load(wrong[i].text, &status);
		const char *text = sdf->messages.count ? sdf->messages.at[0].text : "nothing";
		cr_assert(status == TROUPE_EWORLD && sdf->error_count == 1 &&
				  !strncmp(text, wrong[i].message, strlen(wrong[i].message)),
			"got %s\nfor %s", text, wrong[i].text);
	}
}

static const struct {
	const char *text, *message;
} doubtful[] = {
	{SENSOR("imu", "<update_rate>5000</update_rate>"),
		"t.sdf:3: <update_rate> of sensor \"s\" is 5000 Hz, and the world has 1000 steps per second"},
	{SENSOR("lidar", "<lidar/>"), "t.sdf:3: sensor \"s\" has no <range>: nothing is in its range"},
	{SENSOR("imu", "<camera/>"),
		"t.sdf:3: <camera> in a sensor of type imu has no effect: expected its settings in <imu>"},
	{SENSOR("imu", "<imu><orientation>\n<x><noise type='pink'/></x></orientation></imu>"),
		"t.sdf:4: type of <noise> is \"pink\": expected none, gaussian or gaussian_quantized; none is used"},
	{SENSOR("camera", "<camera/><camera/>"), "t.sdf:3: a second <camera>"},
	{SENSOR("camera", "<camera><image><format>RGB</format></image></camera>"), "t.sdf:3: <format> is \"RGB\""},
	{SENSOR("contact", "<contact><collision>c</collision></contact>"),
		"t.sdf:3: <contact> of sensor \"s\" names \"c\": expected a collision of link \"m::a\""},
	{SENSOR("contact", "<contact/>"), "t.sdf:3: <contact> of sensor \"s\" names no collision"},
	{IN_LINK("<collision name='c'/><sensor name='s' "
		 "type='contact'><contact><collision>m::ab::c</collision></contact></sensor>"),
		"t.sdf:2: <contact> of sensor \"s\" names \"m::ab::c\": expected a collision of link \"m::a\""},
	{SENSOR("camera", "<camera><image><format>RGB_INT16</format></image></camera>"),
		"t.sdf:3: <format> is \"RGB_INT16\": expected R8G8B8, B8G8R8, L8, L16 or a BAYER format"},
	{SENSOR("rgbd", "<camera><image><format>L8</format></image></camera>"),
		"t.sdf:3: <format> is \"L8\": expected R8G8B8 for this type of sensor"},
	{SENSOR("camera", "<camera><save enabled='1'><path>/p</path></save></camera>"),
		"t.sdf:3: <save> has no effect, because a world may not choose where files are written"},
	{SENSOR("force_torque", "<force_torque><frame>tool</frame></force_torque>"), "t.sdf:3: <frame> is \"tool\""},
	{VISUAL("<material>\n<script><uri>u</uri><name>Mine/Moss</name></script></material>"),
		"t.sdf:3: visual \"v\": the material script \"Mine/Moss\" is unknown: expected a name of "
		"gazebo.material"},
	{VISUAL("<material>\n<pbr><metal><light_map>a.png</light_map></metal></pbr></material>"),
		"t.sdf:3: visual \"v\": the texture \"a.png\" is not shown"},
	{VISUAL("<material>\n<script><uri>u</uri><name>Gazebo/Wood</name></script></material>"),
		"t.sdf:3: visual \"v\": the texture \"wood.jpg\" is not shown"},
	{IN_LINK("<sensor name='s' type='imu'><topic>both</topic></sensor>\n<sensor name='t' "
		 "type='imu'><topic>/both</topic></sensor><sensor name='u' type='imu'><topic>both</topic></sensor>"),
		"t.sdf:3: sensors \"m::a::s\" (imu) and \"m::a::t\" (imu) publish on the same <topic> \"both\""},
	{IN_LINK("<sensor name='s' type='imu'><topic>x</topic></sensor></link><link name='b'>\n<sensor name='t' "
		 "type='contact'><contact><collision>c</collision><topic>x</topic></contact></sensor><collision "
		 "name='c'/>"),
		"t.sdf:3: sensors \"m::a::s\" (imu) and \"m::b::t\" (contact) publish on the same <topic> \"x\""},
	{VISUAL("<plugin name='gz::sim::systems::Label' filename='x'>\n<label>300</label></plugin>"),
		"t.sdf:3: <label> is \"300\": expected a whole number from 0 to 255; no label is given"},
	{IN_WORLD("1.9", "<model name='m'><link name='l'/><plugin name='l' filename='gz-sim-label-system'>\n"
			 "<label>1.5</label></plugin></model>"),
		"t.sdf:2: <label> is \"1.5\": expected"},
	{IN_WORLD("1.9",
		 "<model name='m'><link name='l'/>\n<plugin name='gz::sim::systems::Label' filename='x'/></model>"),
		"t.sdf:2: <label> is \"\": expected"},
	{LIGHT("area", ""), "t.sdf:1: type of <light> is \"area\": expected point, directional or spot; point is used"},
	{LIGHT("spot", "<spot><inner_angle>1</inner_angle></spot>"), "t.sdf:2: <inner_angle> of <spot> is 1"},
	{LIGHT("point", "<attenuation><constant>-1</constant></attenuation>"),
		"t.sdf:2: <constant> is -1: expected from 0 to 1; 0 is used"},
	{LIGHT("point", "<diffuse>2 0 0 1</diffuse>"),
		"t.sdf:2: <diffuse> is \"2 0 0 1\": expected numbers from 0 to 1"},
	{IN_WORLD("1.9", "<spherical_coordinates><world_frame_orientation>NED</world_frame_orientation></"
			 "spherical_coordinates>"),
		"t.sdf:1: <world_frame_orientation> is \"NED\": expected ENU"},
	{IN_WORLD("1.9", "<scene><fog><type>thick</type></fog></scene>"), "t.sdf:1: <type> is \"thick\""},
};

Test(sensors, doubtful_words_are_warnings_with_their_line)
{
	for (size_t i = 0; i < ARRAY_LEN(doubtful); i++) {
		troupe_status status;
		struct sdf *sdf = load(doubtful[i].text, &status);
		const char *text = sdf->messages.count ? sdf->messages.at[0].text : "nothing";
		cr_assert(!status && sdf->warning_count == 1 &&
				  !strncmp(text, doubtful[i].message, strlen(doubtful[i].message)),
			"got %s\nfor %s", text, doubtful[i].text);
	}
}

#define SCRIPT(name) "<script><uri>file://media/materials/scripts/gazebo.material</uri><name>" name "</name></script>"
#define PAINTED(inside) VISUAL("\n<material>" inside "</material>")

/* A script stands for the colours of gazebo.material; a colour in the file takes its place. */
Test(sensors, material_scripts)
{
	static const struct {
		const char *name;
		double ambient[3], diffuse[4], specular, emissive[3], shininess;
		bool lit;
	} rows[] = {
		{"Gazebo/Red", {1, 0, 0}, {1, 0, 0, 1}, 0.1, {0, 0, 0}, 1, true},
		{"Gazebo/Grey", {0.3, 0.3, 0.3}, {0.7, 0.7, 0.7, 1}, 0.01, {0, 0, 0}, 1.5, true},
		{"Gazebo/SkyBlue", {0.13, 0.44, 0.7}, {0, 0, 1, 1}, 0.1, {0, 0, 0}, 1, true},
		{"Gazebo/Orange", {1, 0.5088, 0.0468}, {1, 0.5088, 0.0468, 1}, 0.5, {0, 0, 0}, 128, true},
		{"Gazebo/Gold", {0.4, 0.24869, 0.020759}, {0.8, 0.64869, 0.120759, 1}, 0.4, {0, 0, 0}, 12.5, true},
		{"Gazebo/PurpleGlow", {1, 0, 1}, {1, 0, 1, 1}, 0.1, {1, 0, 1}, 1, true},
		{"Gazebo/GreenTransparent", {0, 1, 0}, {0, 1, 0, 0.5}, 0, {0, 0, 0}, 0, true},
		{"Gazebo/RedTransparent", {1, 0, 0}, {1, 0, 0, 0.5}, 0, {0, 0, 0}, 0, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char text[1000];
		snprintf(text, sizeof text, PAINTED(SCRIPT("%s")), rows[i].name);
		struct sdf *sdf = good(text);
		const struct sdf_material *m = sdf->worlds.at[0].visuals.at[0].material;
		const double *a = rows[i].ambient, *d = rows[i].diffuse, *e = rows[i].emissive, s = rows[i].specular;
		near_colour(m->ambient, a[0], a[1], a[2], 1);
		near_colour(m->diffuse, d[0], d[1], d[2], d[3]);
		near_colour(m->specular, s, s, s, 1);
		near_colour(m->emissive, e[0], e[1], e[2], 1);
		near(m->shininess, rows[i].shininess);
		cr_assert(m->lighting == rows[i].lit && m->ambient_given && m->diffuse_given, "%s", rows[i].name);
	}
	struct sdf *sdf = good(PAINTED(SCRIPT("Gazebo/Gold") "<diffuse>0 0.5 0 1</diffuse><shininess>3</shininess>"));
	const struct sdf_material *mixed = sdf->worlds.at[0].visuals.at[0].material;
	near_colour(mixed->ambient, 0.4, 0.24869, 0.020759, 1);
	near_colour(mixed->diffuse, 0, 0.5, 0, 1);
	near(mixed->shininess, 3);
}

/* A script that is unknown is grey, and not the black that SDF has for a colour that is not given; each is named once.
 */
Test(sensors, unknown_material_scripts_are_grey)
{
	troupe_status status;
	struct sdf *sdf = load(PAINTED(SCRIPT("Mine/Moss") "<ambient>0 0.2 0 1</ambient>"), &status);
	const struct sdf_material *m = sdf->worlds.at[0].visuals.at[0].material;
	near_colour(m->ambient, 0, 0.2, 0, 1);
	near_colour(m->diffuse, 0.7, 0.7, 0.7, 1);
	cr_assert(!status && sdf->warning_count == 1);
	sdf = load(IN_LINK("<visual name='v'><material>" SCRIPT(
			   "Mine/Moss") "</material></visual><visual "
					"name='w'><material>" SCRIPT("Mine/Moss") "</material></"
										  "visual><visual "
										  "name='x'><"
										  "material>" SCRIPT(
											  "Mine"
											  "/Rus"
											  "t") "</material></visual>"),
		&status);
	cr_assert(!status && sdf->warning_count == 2, "%u warnings", sdf->warning_count);
	cr_assert(strstr(sdf->messages.at[0].text, "\"v\"") && strstr(sdf->messages.at[1].text, "Mine/Rust"));
}

#define PBR(inside) "<pbr><metal>" inside "</metal></pbr>"

/* An albedo map without a colour is white, and not black; a colour that is given stays. */
Test(sensors, textures_without_colours_are_white)
{
	static const struct {
		const char *text;
		double ambient, diffuse;
		bool given;
	} rows[] = {
		{PAINTED(PBR("<albedo_map>a.png</albedo_map>")), 1, 1, true},
		{PAINTED("<diffuse>0.5 0.5 0.5 1</diffuse>" PBR("<albedo_map>a.png</albedo_map>")), 1, 0.5, true},
		{PAINTED("<ambient>0.25 0.25 0.25 1</ambient>" PBR("<albedo_map>a.png</albedo_map>")), 0.25, 1, true},
		{PAINTED(SCRIPT("Gazebo/DarkGrey") PBR("<albedo_map>a.png</albedo_map>")), 0.175, 0.175, true},
		{PAINTED(PBR("<normal_map>a.png</normal_map>")), 0, 0, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		troupe_status status;
		struct sdf *sdf = load(rows[i].text, &status);
		const struct sdf_material *m = sdf->worlds.at[0].visuals.at[0].material;
		double a = rows[i].ambient, d = rows[i].diffuse;
		cr_assert(!status && sdf->warning_count == 0);
		near_colour(m->ambient, a, a, a, 1);
		near_colour(m->diffuse, d, d, d, 1);
		cr_assert_eq(m->diffuse_given, rows[i].given);
	}
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

Test(sensors, printed_sensors_load_to_the_same)
{
	struct sdf *first = good(IN_WORLD("1.9",
		"<scene><ambient>0.1 0.2 0.3 1</ambient></scene><light name='l' type='spot'><pose>0 0 "
		"9 0 0 0</pose><intensity>3</intensity><attenuation><range>20</range><constant>0.5"
		"</constant><linear>0.25</linear><quadratic>0.125</quadratic></attenuation><spot><inner_angle>0.1"
		"</inner_angle><outer_angle>0.5</outer_angle><falloff>0.8</falloff></spot></light><model "
		"name='m'><pose>1 2 3 0 0 "
		"1</pose><frame name='f'><pose>0 0 5 0 0 0</pose></frame><link name='a'><sensor "
		"name='s' type='camera'><pose>0 1 0 0 0 0</pose><camera><pose relative_to='f'>1 0 0 0 "
		"0 0</pose><clip><far>7</far></clip></camera></sensor></link></model>"));
	struct text printed = {0};
	sdf_print(first, &printed);
	struct sdf *again = good(printed.at);
	near3(sensor_of(again)->settings->cameras[0].in_sensor.p, 1, -1, 5);
	near(sensor_of(again)->settings->cameras[0].far_m, 7);
	const struct sdf_shine *shine = &again->worlds.at[0].lights.at[0].shine;
	near(shine->intensity, 3);
	near3((struct vec3){shine->range_m, shine->constant, shine->linear}, 20, 0.5, 0.25);
	near(shine->quadratic, 0.125);
	near3((struct vec3){shine->inner_rad, shine->outer_rad, shine->falloff}, 0.1, 0.5, 0.8);
	near_colour(again->worlds.at[0].surroundings.scene.ambient, 0.1, 0.2, 0.3, 1);
	text_fini(&printed);
}

Test(sensors, misspelt_elements_are_found)
{
	uint32_t count;
	struct sdf *sdf = good(IN_WORLD("1.9",
		"<light name='l' type='point'><attenuation><rnage/></attenuation></light><model name='m'><link "
		"name='a'><visual name='v'><material><difuse/></material></visual><sensor name='s' "
		"type='lidar'><lidar><scan><horizontal><sample/></horizontal></scan><range><max>9</max></"
		"range></lidar></sensor><sensor name='t' "
		"type='imu'><alwaysOn/><imu><orientation><x><noise><sttdev/></noise></x></orientation></imu></"
		"sensor></link></model>"));
	struct sdf_ignored *all = sdf_list_ignored(sdf, &count);
	static const char *const names[] = {"rnage", "difuse", "sample", "alwaysOn"};
	cr_assert_eq(count, ARRAY_LEN(names), "%u", count);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		cr_assert(!strcmp(all[i].name, names[i]) && !all[i].known, "%s", all[i].name);
	free(all);
}
