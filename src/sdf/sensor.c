/* Reads sensors: their kind, place and rate, and the settings of each kind. Many kinds only have a few measured
 * numbers, each with noise and a range; the table of kinds (sensor_kind.h) says where in the file these are, so that
 * there is one reader for all. Nothing is measured here. */
#include "sdf/load.h"
#include "sdf/xml.h"

#include "base/map.h"

#include <string.h>

/* --- kinds -------------------------------------------------------------------------------------------------------- */

/* The element with the settings of the kind. Settings of other kinds have no effect: a warning. */
static const struct sdf_element *sdf_sensor_find_settings(
	struct load *load, const struct sdf_element *sensor, enum sdf_sensor_kind kind)
{
	const struct sensor_kind *own = sensor_kind_of(kind);
	const struct sdf_element *found = NULL;
	for (const struct sdf_element *child = sensor->child; child; child = child->next) {
		if (sensor_kind_has_settings(kind, child->name)) {
			found = found ? found : child;
			continue;
		}
		bool other = false;
		for (int i = 0; i < SENSOR_KINDS && own->settings[0]; i++)
			other |= sensor_kind_has_settings((enum sdf_sensor_kind)i, child->name);
		if (other)
			load_warn(load, child,
				"<%s> in a sensor of type %s has no effect: expected its settings in <%s>", child->name,
				own->names[0], own->settings[0]);
	}
	return found;
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

static const struct load_word sdf_sensor_noise_words[] = {
	{"none", SDF_NOISE_NONE}, {"gaussian", SDF_NOISE_GAUSSIAN}, {"gaussian_quantized", SDF_NOISE_QUANTIZED}};

void load_noise(
	struct load *load, const struct sdf_element *parent, enum sdf_noise_kind fallback, struct sdf_noise *noise)
{
	const struct sdf_element *element = sdf_child(parent, "noise", NULL);
	const char *type = sdf_attribute(element, "type");
	type = type && *type ? type : load_text(element, "type");
	*noise = (struct sdf_noise){0};
	if (!element)
		return;
	noise->kind = (enum sdf_noise_kind)load_word(load, element, "type of <noise>", type, sdf_sensor_noise_words,
		ARRAY_LEN(sdf_sensor_noise_words), (int)fallback);
	load_double(load, element, "mean", -SDF_NOISE_MAX, SDF_NOISE_MAX, &noise->mean);
	load_double(load, element, "stddev", 0, SDF_NOISE_MAX, &noise->stddev);
	load_double(load, element, "bias_mean", -SDF_NOISE_MAX, SDF_NOISE_MAX, &noise->bias_mean);
	load_double(load, element, "bias_stddev", 0, SDF_NOISE_MAX, &noise->bias_stddev);
	load_double(load, element, "dynamic_bias_stddev", 0, SDF_NOISE_MAX, &noise->walk_stddev);
	load_double(load, element, "dynamic_bias_correlation_time", 0, SDF_NOISE_MAX, &noise->walk_time_s);
	load_double(load, element, "precision", 0, SDF_NOISE_MAX, &noise->precision);
}

static void sdf_sensor_load_range(
	struct load *load, const struct sdf_element *parent, double lo, struct sdf_signal *signal)
{
	const struct sdf_element *range = sdf_child(parent, "range", NULL);
	uint32_t errors = load->sdf->error_count;
	if (!range)
		return;
	load_double(load, range, "min", lo, INFINITY, &signal->min);
	load_double(load, range, "max", lo, INFINITY, &signal->max);
	load_double(load, range, "resolution", 0, SDF_NOISE_MAX, &signal->resolution);
	if (load->sdf->error_count == errors && !(signal->max > signal->min))
		load_error(
			load, range, "<range> is from %g to %g: expected <max> above <min>", signal->min, signal->max);
}

static void sdf_sensor_load_signals(
	struct load *load, enum sdf_sensor_kind kind, const struct sdf_element *element, struct sdf_settings *settings)
{
	uint32_t count = sensor_kind_signal_count(kind);
	if (!count)
		return;
	struct sdf_signal *signals = arena_array(&load->sdf->arena, struct sdf_signal, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct sensor_kind_signal *place = &sensor_kind_of(kind)->signals[i];
		const struct sdf_element *at = sdf_child(element, place->group, NULL);
		if (*place->part)
			at = sdf_child(at, place->part, NULL);
		signals[i] = (struct sdf_signal){.min = (double)-INFINITY, .max = (double)INFINITY};
		load_noise(load, at, SDF_NOISE_NONE, &signals[i].noise);
		sdf_sensor_load_range(load, at, (double)-INFINITY, &signals[i]);
	}
	settings->signals = signals;
	settings->signal_count = count;
}

/* --- settings by kind --------------------------------------------------------------------------------------------- */

#define SDF_SENSOR_NEW(load, type, ...)                                                                                \
	({                                                                                                             \
		struct type *new_ = arena_new(&(load)->sdf->arena, struct type);                                       \
		*new_ = (struct type){__VA_ARGS__};                                                                    \
		new_;                                                                                                  \
	})
#define SDF_SENSOR_WORD_OF(load, parent, name, words, fallback)                                                        \
	load_word_of(load, parent, name, words, ARRAY_LEN(words), (int)(fallback))

#define SDF_SENSOR_TURN 6.2832 /* rad: files round 2 pi up */

static void sdf_sensor_load_scan(
	struct load *load, const struct sdf_element *scan, const char *which, struct sdf_scan *to)
{
	const struct sdf_element *element = sdf_child(scan, which, NULL);
	uint32_t errors = load->sdf->error_count;
	load_count(load, element, "samples", 1, SDF_RAYS_MAX, &to->samples);
	load_double(load, element, "resolution", 1e-6, 1e6, &to->resolution);
	load_double(load, element, "min_angle", -SDF_SENSOR_TURN, SDF_SENSOR_TURN, &to->min_rad);
	load_double(load, element, "max_angle", -SDF_SENSOR_TURN, SDF_SENSOR_TURN, &to->max_rad);
	if (load->sdf->error_count == errors && to->min_rad > to->max_rad)
		load_error(load, element,
			"<min_angle> of <%s> is %g and <max_angle> %g: expected <max_angle> >= <min_angle>", which,
			to->min_rad, to->max_rad);
}

static void sdf_sensor_load_lidar(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	struct sdf_settings *settings)
{
	const struct sdf_element *scan = sdf_child(element, "scan", NULL);
	struct sdf_lidar *lidar = SDF_SENSOR_NEW(
		load, sdf_lidar, .horizontal = {640, 1, 0, 0}, .vertical = {1, 1, 0, 0}, .visibility_mask = UINT32_MAX);
	struct sdf_signal *range = SDF_SENSOR_NEW(load, sdf_signal, .min = 0);
	settings->lidar = lidar;
	settings->signals = range;
	settings->signal_count = 1;
	sdf_sensor_load_scan(load, scan, "horizontal", &lidar->horizontal);
	sdf_sensor_load_scan(load, scan, "vertical", &lidar->vertical);
	double rays = (double)lidar->horizontal.samples * lidar->vertical.samples;
	double numbers = rays * lidar->horizontal.resolution * lidar->vertical.resolution;
	if (fmax(rays, numbers) > SDF_RAYS_MAX)
		load_error(load, scan, "<scan> has %.0f rays: expected at most %d", fmax(rays, numbers), SDF_RAYS_MAX);
	load_noise(load, element, SDF_NOISE_GAUSSIAN, &range->noise);
	sdf_sensor_load_range(load, element, 0, range);
	load_mask(load, element, "visibility_mask", &lidar->visibility_mask);
	load_lidar(load, sensor, element, lidar, range);
	if (element && !sdf_child(element, "range", NULL) && range->max <= 0)
		load_warn(load, element, "sensor \"%.80s\" has no <range>: nothing is in its range", sensor->name);
}

static struct sdf_imu *sdf_sensor_load_imu(struct load *load, const struct sdf_element *element)
{
	static const struct load_word frames[] = {{"CUSTOM", SDF_IMU_CUSTOM}, {"NED", SDF_IMU_NED},
		{"ENU", SDF_IMU_ENU}, {"NWU", SDF_IMU_NWU}, {"GRAV_UP", SDF_IMU_GRAVITY_UP},
		{"GRAV_DOWN", SDF_IMU_GRAVITY_DOWN}};
	const struct sdf_element *frame = sdf_child(element, "orientation_reference_frame", NULL);
	const char *rpy = sdf_attribute(sdf_child(frame, "custom_rpy", NULL), "parent_frame");
	const char *x = sdf_attribute(sdf_child(frame, "grav_dir_x", NULL), "parent_frame");
	struct sdf_imu *imu = SDF_SENSOR_NEW(load, sdf_imu, .orientation = true, .reference_given = frame != NULL,
		.rpy_frame = rpy ? rpy : "", .x_axis = {1, 0, 0}, .x_axis_frame = x ? x : "");
	load_bool(load, element, "enable_orientation", &imu->orientation);
	imu->frame = (enum sdf_imu_frame)SDF_SENSOR_WORD_OF(load, frame, "localization", frames, SDF_IMU_CUSTOM);
	load_vec3(load, frame, "custom_rpy", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &imu->rpy);
	load_vec3(load, frame, "grav_dir_x", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &imu->x_axis);
	if (!(vec3_length(imu->x_axis) > 1e-100))
		load_error(load, sdf_child(frame, "grav_dir_x", NULL), "<grav_dir_x> is 0 0 0: expected a direction");
	return imu;
}

static struct sdf_force_torque *sdf_sensor_load_force_torque(struct load *load, const struct sdf_element *element)
{
	static const struct load_word frames[] = {
		{"child", SDF_WRENCH_CHILD}, {"parent", SDF_WRENCH_PARENT}, {"sensor", SDF_WRENCH_SENSOR}};
	static const struct load_word directions[] = {{"child_to_parent", 0}, {"parent_to_child", 1}};
	struct sdf_force_torque *to = SDF_SENSOR_NEW(load, sdf_force_torque, .frame = SDF_WRENCH_CHILD);
	to->frame = (enum sdf_wrench_frame)SDF_SENSOR_WORD_OF(load, element, "frame", frames, SDF_WRENCH_CHILD);
	to->parent_to_child = SDF_SENSOR_WORD_OF(load, element, "measure_direction", directions, 0);
	return to;
}

static struct sdf_contact *sdf_sensor_load_touch(struct load *load, const struct sdf_element *element)
{
	struct sdf_contact *contact = SDF_SENSOR_NEW(load, sdf_contact, .topic = load_text(element, "topic"));
	uint32_t count = 0;
	for (const struct sdf_element *at = sdf_child(element, "collision", NULL); at;
		at = sdf_child(element, "collision", at))
		count++;
	if (count > SDF_TOUCHES_MAX) {
		load_error(load, element, "<contact> names %u collisions: expected at most %d", count, SDF_TOUCHES_MAX);
		return contact;
	}
	const char **names = arena_array(&load->sdf->arena, const char *, count);
	for (const struct sdf_element *at = sdf_child(element, "collision", NULL); at;
		at = sdf_child(element, "collision", at))
		if (*at->text && strcmp(at->text, "__default__"))
			names[contact->collision_count++] = at->text;
	contact->collisions = names;
	return contact;
}

static struct sdf_logical_camera *sdf_sensor_load_logical(struct load *load, const struct sdf_element *element)
{
	struct sdf_logical_camera *to =
		SDF_SENSOR_NEW(load, sdf_logical_camera, .near_m = 0, .far_m = 1, .aspect_ratio = 1, .fov_rad = 1);
	load_double(load, element, "near", 0, SDF_LENGTH_MAX, &to->near_m);
	load_double(load, element, "far", 0, SDF_LENGTH_MAX, &to->far_m);
	load_double(load, element, "aspect_ratio", 1e-6, 1e6, &to->aspect_ratio);
	load_double(load, element, "horizontal_fov", 1e-6, SDF_SENSOR_TURN / 2, &to->fov_rad);
	if (!(to->far_m > to->near_m))
		load_error(load, element, "<far> of <logical_camera> is %g and <near> %g: expected <far> above <near>",
			to->far_m, to->near_m);
	return to;
}

static struct sdf_sonar *sdf_sensor_load_sonar(struct load *load, const struct sdf_element *element)
{
	static const struct load_word shapes[] = {{"cone", 0}, {"sphere", 1}};
	struct sdf_sonar *to = SDF_SENSOR_NEW(load, sdf_sonar, .max_m = 1, .radius_m = 0.5);
	to->sphere = SDF_SENSOR_WORD_OF(load, element, "geometry", shapes, 0);
	load_double(load, element, "min", 0, SDF_LENGTH_MAX, &to->min_m);
	load_double(load, element, "max", 0, SDF_LENGTH_MAX, &to->max_m);
	load_double(load, element, "radius", SDF_LENGTH_MIN, SDF_LENGTH_MAX, &to->radius_m);
	if (!(to->max_m > to->min_m))
		load_error(load, element, "<sonar> is from <min> %g to <max> %g: expected <max> above <min>", to->min_m,
			to->max_m);
	return to;
}

static struct sdf_radio *sdf_sensor_load_radio(struct load *load, const struct sdf_element *element)
{
	struct sdf_radio *to = SDF_SENSOR_NEW(load, sdf_radio, .frequency = 2442, .min_frequency = 2412,
		.max_frequency = 2484, .gain_db = 2.5, .power_dbm = 14.5, .sensitivity_dbm = -90);
	const char *essid = load_text(element, "essid");
	to->essid = essid ? essid : "wireless";
	load_double(load, element, "frequency", 0, 1e9, &to->frequency);
	load_double(load, element, "min_frequency", 0, 1e9, &to->min_frequency);
	load_double(load, element, "max_frequency", 0, 1e9, &to->max_frequency);
	load_double(load, element, "gain", -1e6, 1e6, &to->gain_db);
	load_double(load, element, "power", -1e6, 1e6, &to->power_dbm);
	load_double(load, element, "sensitivity", -1e6, 1e6, &to->sensitivity_dbm);
	if (!(to->max_frequency >= to->min_frequency))
		load_error(load, element,
			"<transceiver> is from <min_frequency> %g to <max_frequency> %g: expected no less than "
			"<min_frequency>",
			to->min_frequency, to->max_frequency);
	return to;
}

static double *sdf_sensor_load_altitude(struct load *load, const struct sdf_element *element)
{
	double *altitude_m = arena_new(&load->sdf->arena, double);
	load_double(load, element, "reference_altitude", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, altitude_m);
	return altitude_m;
}

static void sdf_sensor_load_kind(struct load *load, const struct sdf_sensor *sensor, const struct sdf_element *element,
	struct sdf_settings *settings)
{
	sdf_sensor_load_signals(load, sensor->kind, element, settings);
	switch (sensor->kind) {
	case SDF_LIDAR:
	case SDF_GPU_LIDAR:
		sdf_sensor_load_lidar(load, sensor, element, settings);
		break;
	case SDF_IMU:
		settings->imu = sdf_sensor_load_imu(load, element);
		break;
	case SDF_FORCE_TORQUE:
		settings->force_torque = sdf_sensor_load_force_torque(load, element);
		break;
	case SDF_CONTACT:
		settings->contact = sdf_sensor_load_touch(load, element);
		break;
	case SDF_LOGICAL_CAMERA:
		settings->logical_camera = sdf_sensor_load_logical(load, element);
		break;
	case SDF_SONAR:
		settings->sonar = sdf_sensor_load_sonar(load, element);
		break;
	case SDF_WIRELESS_RECEIVER:
	case SDF_WIRELESS_TRANSMITTER:
		settings->radio = sdf_sensor_load_radio(load, element);
		break;
	case SDF_AIR_PRESSURE:
		settings->reference_altitude_m = sdf_sensor_load_altitude(load, element);
		break;
	default:
		break;
	}
}

uint32_t sdf_scan_count(const struct sdf_scan *scan)
{
	double numbers = floor(scan->samples * scan->resolution);
	return numbers < 1 ? 1 : (uint32_t)MIN(numbers, (double)SDF_RAYS_MAX);
}

double sdf_scan_step(const struct sdf_scan *scan)
{
	uint32_t count = sdf_scan_count(scan);
	return count > 1 ? (scan->max_rad - scan->min_rad) / (count - 1) : 0.0;
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

/* Whether the sensor takes pictures and so has cameras. */
static bool sdf_sensor_is_camera(enum sdf_sensor_kind kind)
{
	return sensor_kind_of(kind)->cameras > 0;
}

bool sdf_sees(enum sdf_sensor_kind kind)
{
	return sdf_sensor_is_camera(kind) || sensor_kind_is_lidar(kind);
}

bool sdf_world_sees(const struct sdf_world *world)
{
	bool sees = false;
	for (uint32_t i = 0; i < world->sensors.count && !sees; i++)
		sees = sdf_sees(world->sensors.at[i].kind);
	return sees;
}

static void sdf_sensor_load_settings(
	struct load *load, const struct sdf_element *element, struct sdf_sensor *sensor, uint32_t scope)
{
	struct sdf_settings *settings = arena_new(&load->sdf->arena, struct sdf_settings);
	sensor->settings = settings;
	load_bool(load, element, "always_on", &settings->always_on);
	load_bool(load, element, "visualize", &settings->visualize);
	load_bool(load, element, "enable_metrics", &settings->enable_metrics);
	settings->topic = load_text(element, "topic");
	static const char *const frame_words[] = {"frame_id", "gz_frame_id", "ignition_frame_id"};
	for (size_t i = 0; i < ARRAY_LEN(frame_words) && !settings->frame_id; i++)
		settings->frame_id = load_text(element, frame_words[i]);
	if (sensor->kind == SDF_SENSOR_UNKNOWN)
		return;
	const struct sdf_element *found = sdf_sensor_find_settings(load, element, sensor->kind);
	if (sdf_sensor_is_camera(sensor->kind)) {
		load_cameras(load, element, sensor->kind, scope, settings);
		if (!settings->topic && sensor->kind != SDF_MULTICAMERA)
			settings->topic = settings->cameras->topic;
	} else
		sdf_sensor_load_kind(load, sensor, found, settings);
}

/* A sensor measures states, so at most once in each step. */
static void sdf_sensor_check_rate(struct load *load, const struct sdf_sensor *sensor)
{
	double step_s = load->world->physics.max_step_size;
	if (!load->sdf->bare_model && sensor->update_rate * step_s > 1 + 1e-9)
		load_warn(load, sdf_child(sensor->element, "update_rate", NULL),
			"<update_rate> of sensor \"%.80s\" is %g Hz, and the world has %g steps per second: expected "
			"no more",
			sensor->name, sensor->update_rate, 1 / step_s);
}

static bool sdf_sensor_is_named(const struct sdf_camera *camera)
{
	return camera->name && *camera->name && strcmp(camera->name, "__default__") != 0;
}

/* A camera without a name is camera_ and its place. */
static const char *sdf_sensor_usual_name(struct load *load, const struct sdf_sensor *sensor, uint32_t part)
{
	const struct sdf_camera *camera = &sensor->settings->cameras[part];
	return sdf_sensor_is_named(camera) ? camera->name : arena_printf(&load->sdf->arena, "camera_%u", part);
}

/* The name of a camera among those of its sensor. */
static const char *sdf_sensor_camera_name(struct load *load, const struct sdf_sensor *sensor, uint32_t part)
{
	const struct sdf_camera *camera = &sensor->settings->cameras[part];
	const char *name = sdf_sensor_usual_name(load, sensor, part);
	if (strstr(name, "::"))
		load_error(load, camera->element,
			"the name \"%.80s\" of <camera> contains \"::\": expected a name without it", name);
	for (uint32_t i = 0; i < part; i++)
		if (!strcmp(sdf_sensor_usual_name(load, sensor, i), name)) {
			bool given = sdf_sensor_is_named(camera) && sdf_sensor_is_named(&sensor->settings->cameras[i]);
			load_error(load, camera->element,
				"two <camera> of sensor \"%.80s\" have the name \"%.80s\"%s: expected different names",
				sensor->name, name, given ? "" : ", which one without a name has by its place");
		}
	return name;
}

/* Adds a sensor for each camera of a multicamera. `all` has been placed for the first one. */
static void sdf_sensor_divide(struct load *load, const struct sdf_sensor *all, uint32_t scope, const char *relative_to)
{
	struct arena *arena = &load->sdf->arena;
	for (uint32_t part = 0; part < all->settings->camera_count; part++) {
		struct sdf_sensor sensor = *all;
		struct sdf_settings *settings = arena_new(arena, struct sdf_settings);
		const char *name = sdf_sensor_camera_name(load, all, part);
		*settings = *all->settings;
		settings->cameras += part;
		settings->camera_count = 1;
		if (settings->topic)
			settings->topic = arena_printf(arena, "%s/%s/image", settings->topic, name);
		if (settings->cameras->topic)
			settings->topic = settings->cameras->topic;
		sensor.kind = SDF_CAMERA;
		sensor.type = sensor_kind_of(SDF_CAMERA)->names[0];
		sensor.name = arena_printf(arena, "%s::%s", all->name, name);
		sensor.settings = settings;
		sensor.part = part;
		if (part && !load_room(load, all->element, load->world->sensors.count))
			return;
		if (part)
			load_defer(load, (struct load_placing){LOAD_SENSOR, load->world->sensors.count, scope,
						 relative_to, all->element, NULL});
		vec_push(&load->world->sensors, sensor);
	}
}

void load_sensor(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t joint, uint32_t scope)
{
	const char *relative_to, *type = sdf_attribute(element, "type");
	struct sdf_sensor sensor = {.name = load_name(load, element),
		.link = link,
		.joint = joint,
		.line = element->line,
		.element = element};
	if (!load_room(load, element, load->world->sensors.count))
		return;
	if (!type || !*type)
		load_error(load, element, "sensor \"%.80s\" has no type: expected a type attribute", sensor.name);
	const char *written = type ? type : "";
	sensor.kind = sensor_kind_find(written);
	sensor.type = sensor.kind == SDF_SENSOR_UNKNOWN ? written : sensor_kind_of(sensor.kind)->names[0];
	sensor.in_parent = load_pose(load, element, &relative_to);
	load_double(load, element, "update_rate", 0, SDF_RATE_MAX, &sensor.update_rate);
	sdf_sensor_check_rate(load, &sensor);
	load_defer(load,
		(struct load_placing){LOAD_SENSOR, load->world->sensors.count, scope, relative_to, element, NULL});
	sdf_sensor_load_settings(load, element, &sensor, scope);
	if (sensor.kind == SDF_MULTICAMERA)
		sdf_sensor_divide(load, &sensor, scope, relative_to);
	else
		vec_push(&load->world->sensors, sensor);
}

bool sdf_names_collision(const char *given, const char *link, const char *collision)
{
	const char *last = given, *before = NULL; /* the last part of the name, and the part before it */
	for (const char *at; (at = strstr(last, "::")) != NULL; last = at + 2)
		before = last;
	size_t length = strlen(link);
	if (before && ((size_t)(last - before) != length + 2 || strncmp(before, link, length) != 0))
		return false;
	return !strcmp(last, collision);
}

static bool sdf_sensor_has_collision(const struct sdf_world *world, const struct sdf_link *link, const char *name)
{
	for (uint32_t i = link->collision_first; i < link->collision_first + link->collision_count; i++)
		if (sdf_names_collision(name, link->name, world->collisions.at[i].name))
			return true;
	return false;
}

void load_check_contact(struct load *load, const struct sdf_sensor *sensor)
{
	const struct sdf_world *world = load->world;
	if (sensor->kind != SDF_CONTACT || sensor->link == SDF_NONE)
		return;
	const struct sdf_contact *contact = sensor->settings->contact;
	if (sdf_child(sensor->element, "contact", NULL) && !contact->collision_count)
		load_warn(load, sdf_child(sensor->element, "contact", NULL),
			"<contact> of sensor \"%.80s\" names no collision: expected a <collision>", sensor->name);
	for (uint32_t i = 0; i < contact->collision_count; i++) {
		const char *name = contact->collisions[i];
		if (!sdf_sensor_has_collision(world, &world->links.at[sensor->link], name))
			load_warn(load, sdf_child(sensor->element, "contact", NULL),
				"<contact> of sensor \"%.80s\" names \"%.80s\": expected a collision of link \"%.80s\"",
				sensor->name, name, world->links.at[sensor->link].scoped);
	}
}

/* A contact sensor may have its topic in <contact>. */
const char *sdf_sensor_topic(const struct sdf_sensor *sensor)
{
	const char *topic = sensor->settings->topic;
	if ((!topic || !*topic) && sensor->kind == SDF_CONTACT)
		topic = sensor->settings->contact->topic;
	return topic && *topic ? topic : NULL;
}

static const char *sdf_sensor_scoped_name(struct load *load, const struct sdf_sensor *sensor)
{
	const struct sdf_world *world = load->world;
	const char *owner = sensor->link != SDF_NONE ? world->links.at[sensor->link].scoped
						     : world->joints.at[sensor->joint].scoped;
	return arena_printf(&load->sdf->arena, "%s::%s", owner, sensor->name);
}

static void sdf_sensor_warn_of_topic(struct load *load, const char *topic, uint32_t first, uint32_t second)
{
	const struct sdf_sensor *a = &load->world->sensors.at[first], *b = &load->world->sensors.at[second];
	const char *kind = arena_printf(&load->sdf->arena, "topic %s", topic);
	load_warn_once(load, kind, b->element,
		"sensors \"%.100s\" (%s) and \"%.100s\" (%s) publish on the same <topic> \"%.100s\": a subscriber gets "
		"the messages of both",
		sdf_sensor_scoped_name(load, a), a->type, sdf_sensor_scoped_name(load, b), b->type, topic);
}

void load_check_topics(struct load *load)
{
	struct map seen = {0};
	for (uint32_t i = 0; i < load->world->sensors.count; i++) {
		const char *topic = sdf_sensor_topic(&load->world->sensors.at[i]);
		uint32_t first;
		if (!topic)
			continue;
		topic += *topic == '/';
		if (map_find(&seen, topic, &first))
			sdf_sensor_warn_of_topic(load, topic, first, i);
		else
			map_add(&seen, topic, i);
	}
	map_fini(&seen);
}
