/* The sensors of a model are made when its serial appears in a place of the scene, and dropped when another one is
 * there. Serials are never used again, so that a comparison of serials finds every change. */
#include "sensor/sensor.h"

#include "scene/sensor_name.h"
#include "sensor/lens.h"
#include "sensor/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum sensor_group sensor_group_of(const struct sdf_sensor *sensor)
{
	enum sensor_kind_sense senses = sensor_kind_of(sensor->kind)->senses;
	bool of_joint = sensor->link == SDF_NONE;
	if (of_joint != (senses == SENSOR_KIND_WRENCH))
		return SENSOR_SILENT;
	switch (senses) {
	case SENSOR_KIND_MOTION:
		return SENSOR_OF_SELF;
	case SENSOR_KIND_WRENCH:
	case SENSOR_KIND_CONTACTS:
		return SENSOR_OF_FORCES;
	case SENSOR_KIND_RANGES:
		return rays_available() ? SENSOR_OF_WORLD : SENSOR_SILENT;
	case SENSOR_KIND_PICTURES:
		return sensor->settings->camera_count == 1 && rays_available() ? SENSOR_OF_WORLD : SENSOR_SILENT;
	case SENSOR_KIND_MODELS:
		return SENSOR_OF_WORLD;
	case SENSOR_KIND_SILENT:
		break;
	}
	return SENSOR_SILENT;
}

uint32_t sensor_parts(const struct sdf_sensor *sensor)
{
	uint32_t parts = sensor_kind_of(sensor->kind)->picture;
	return parts && sensor->settings->camera_count ? parts | sensor->settings->cameras->truth : parts;
}

/* --- compiling ---------------------------------------------------------------------------------------------------- */

static uint32_t sensor_rate_of(struct sensors *sensors, double hz)
{
	uint64_t micro_hz = hz > 0 ? MAX((uint64_t)llround(hz * 1e6), UINT64_C(1)) : 0;
	for (uint32_t i = 0; i < sensors->rates.count; i++)
		if (sensors->rates.at[i].micro_hz == micro_hz)
			return i;
	vec_push(&sensors->rates, (struct sensor_rate){.micro_hz = micro_hz});
	return sensors->rates.count - 1;
}

static bool sensor_same_axis(const struct sdf_scan *a, const struct sdf_scan *b)
{
	return a->samples == b->samples && a->resolution == b->resolution && a->min_rad == b->min_rad &&
	       a->max_rad == b->max_rad;
}

static bool sensor_same_pattern(const struct sdf_pattern *a, const struct sdf_pattern *b)
{
	return a->columns == b->columns && a->rows == b->rows && a->scans == b->scans && a->scan_s == b->scan_s &&
	       !memcmp(a->by_column, b->by_column, (size_t)a->scans * a->columns * sizeof *a->by_column) &&
	       !memcmp(a->by_row, b->by_row, a->rows * sizeof *a->by_row);
}

static double sensor_spread(const struct sdf_lidar *lidar)
{
	return lidar->beam ? lidar->beam->divergence_rad : 0;
}

static bool sensor_same_scan(const struct sdf_lidar *lidar, const struct sensor_scan *scan)
{
	if (sensor_spread(lidar) != scan->spread_rad)
		return false;
	if (lidar->pattern || scan->lidar.pattern)
		return lidar->pattern && scan->lidar.pattern && sensor_same_pattern(lidar->pattern, &scan->pattern);
	return sensor_same_axis(&lidar->horizontal, &scan->lidar.horizontal) &&
	       sensor_same_axis(&lidar->vertical, &scan->lidar.vertical);
}

static uint32_t sensor_scan_of(struct sensors *sensors, const struct sdf_lidar *lidar)
{
	for (uint32_t i = 0; i < sensors->scans.count; i++)
		if (sensor_same_scan(lidar, &sensors->scans.at[i]))
			return i;
	struct sensor_scan scan = {.lidar = *lidar, .layout = scan_layout(lidar), .spread_rad = sensor_spread(lidar)};
	scan.lidar.beam = NULL; /* it may end with its model */
	if (lidar->pattern) {
		scan.pattern = *lidar->pattern;
		size_t columns = (size_t)scan.pattern.scans * scan.pattern.columns * sizeof *scan.pattern.by_column,
		       rows = scan.pattern.rows * sizeof *scan.pattern.by_row;
		scan.pattern.by_column = memcpy(mem_alloc(columns), lidar->pattern->by_column, columns);
		scan.pattern.by_row = memcpy(mem_alloc(rows), lidar->pattern->by_row, rows);
	}
	vec_push(&sensors->scans, scan);
	return sensors->scans.count - 1;
}

static uint32_t sensor_lens_of(struct sensors *sensors, const struct sdf_camera *camera, bool wide)
{
	struct sensor_lens lens = {.wide = wide};
	lens.camera = *camera;
	lens.camera.name = lens.camera.format = lens.camera.depth_output = lens.camera.save_path = NULL;
	lens.camera.trigger_topic = lens.camera.info_topic = lens.camera.optical_frame = lens.camera.topic = NULL;
	lens.camera.in_sensor = POSE_IDENTITY;
	lens.camera.element = NULL;
	lens.camera.heat_min_K = lens.camera.heat_max_K = lens.camera.heat_step_K = 0;
	lens.camera.truth = 0;
	lens.camera.packed_png = false, lens.camera.packed_quality = 0, lens.camera.packed_hz = 0;
	lens.camera.readout_s = lens.camera.exposure_s = lens.camera.gain = 0, lens.camera.exposure_samples = 0;
	lens.camera.baseline_m = 0;
	for (uint32_t i = 0; i < sensors->lenses.count; i++)
		if (sensors->lenses.at[i].wide == wide &&
			!memcmp(&sensors->lenses.at[i].camera, &lens.camera, sizeof lens.camera))
			return i;
	vec_push(&sensors->lenses, lens);
	return sensors->lenses.count - 1;
}

/* The scene's joint for a joint of the file; SCENE_NONE: it connects links of one body. */
static uint32_t sensor_find_joint(const struct scene *scene, uint32_t model, const struct sdf_joint *sdf)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		if (scene->joints[j].sdf == sdf)
			return j;
	return SCENE_NONE;
}

static bool sensor_walks(const struct sdf_settings *settings)
{
	bool found = false;
	for (uint32_t i = 0; i < settings->signal_count; i++)
		found |= settings->signals[i].noise.walk_stddev > 0 && settings->signals[i].noise.walk_time_s > 0;
	return found;
}

static struct pose sensor_first_pose(const struct scene *scene, uint32_t link)
{
	const struct scene_link *l = &scene->links[link];
	struct pose first = scene_link_first(scene, link);
	return l->body == SCENE_NONE ? first : pose_mul(scene->bodies[l->body].reference, first);
}

/* The rotation of the frame that an IMU names, at the beginning: of the world, of the sensor, or of a link. */
static struct quat sensor_named_frame(const struct scene *scene, const struct sensor *sensor, const char *name)
{
	uint32_t link = *name ? scene_find_link(scene, sensor->model, name) : SCENE_NONE;
	if (!strcmp(name, "world"))
		return QUAT_IDENTITY;
	return link == SCENE_NONE ? sensor->first.q : sensor_first_pose(scene, link).q;
}

/* An IMU's reference is that of the file's gravity and place on the globe, and not of those that commands gave: in a
 * resumed run, and on other machines, the sensor is made after these commands. */
static void sensor_place_one(const struct scene *scene, struct sensor *sensor)
{
	const struct sdf_imu *imu = sensor->sdf->settings->imu;
	sensor->first = pose_mul(sensor_first_pose(scene, sensor->link), sensor->sdf->in_parent);
	if (sensor->sdf->kind != SDF_IMU)
		return;
	struct earth earth = earth_of(&sensor->surroundings->earth);
	sensor->reference = measure_imu_reference(imu, &earth, scene->sdf->gravity, sensor->first.q,
		sensor_named_frame(scene, sensor, imu->rpy_frame),
		sensor_named_frame(scene, sensor, imu->x_axis_frame));
}

static bool sensor_waits(const struct sdf_sensor *sdf)
{
	return sdf->settings->camera_count == 1 && sdf->settings->cameras->triggered;
}

static void sensor_make(struct sensors *sensors, uint32_t model, const struct sdf_sensor *sdf, struct sensor *out)
{
	const struct scene *scene = sensors->scene;
	const struct scene_model *m = &scene->models[model];
	struct sensor_set *set = &sensors->sets[model];
	const struct sdf_world *world = m->from;
	const char *topic = sensor_name_given(&set->arena, sdf);
	bool linked = sdf->link != SDF_NONE;
	*out = (struct sensor){.sdf = sdf,
		.surroundings = &scene->sdf->surroundings,
		.earth = &scene->earth,
		.topic_given = topic != NULL,
		.group = sensor_group_of(sdf),
		.model = model,
		.index = set->count,
		.link = linked ? m->link_first + (sdf->link - world->models.at[m->sdf].link_first) : SCENE_NONE,
		.joint = linked ? SCENE_NONE : sensor_find_joint(scene, model, &world->joints.at[sdf->joint]),
		.waits = sensor_waits(sdf),
		.rate = sensor_rate_of(sensors, sensor_waits(sdf) ? 0 : sdf->update_rate)};
	out->name = arena_printf(&set->arena, "%s::%s",
		linked ? world->links.at[sdf->link].scoped : world->joints.at[sdf->joint].scoped, sdf->name);
	out->topic = topic ? topic : sensor_name_path(&set->arena, scene, world, sdf);
	if (linked)
		sensor_place_one(scene, out);
	if (sensor_kind_is_lidar(sdf->kind))
		out->scan = sensor_scan_of(sensors, sdf->settings->lidar);
	else if (sensor_kind_of(sdf->kind)->picture && sdf->settings->camera_count)
		out->scan = sensor_lens_of(sensors, sdf->settings->cameras, sdf->kind == SDF_WIDE_ANGLE_CAMERA);
	out->trail = trail_is_of(scene, model, sdf) ? set->trails++ * TRAIL_WORDS : SCENE_NONE;
	out->caches = sensor_walks(sdf->settings) ? mem_alloc(SENSOR_KIND_SIGNALS_MAX * sizeof *out->caches) : NULL;
	if (sdf->kind == SDF_FORCE_TORQUE && out->joint == SCENE_NONE)
		out->group = SENSOR_SILENT; /* its joint moves nothing */
	sensors->forces += out->group == SENSOR_OF_FORCES;
	sensors->contacts += sdf->kind == SDF_CONTACT;
	if (sensors->all)
		sensors_want(sensors, out);
}

/* Whether the sensor belongs to the model, or to a model nested in it. */
static bool sensor_belongs(
	const struct sdf_world *world, const struct sdf_model *model, const struct sdf_sensor *sensor)
{
	return sensor->link != SDF_NONE ? sensor->link - model->link_first < model->link_count
					: sensor->joint - model->joint_first < model->joint_count &&
						  world->joints.at[sensor->joint].model != SDF_NONE;
}

static void sensor_add_set(struct sensors *sensors, uint32_t model)
{
	const struct scene_model *m = &sensors->scene->models[model];
	struct sensor_set *set = &sensors->sets[model];
	uint32_t count = 0;
	set->serial = m->serial;
	if (m->sdf == SDF_NONE)
		return;
	const struct sdf_world *world = m->from;
	for (uint32_t i = 0; i < world->sensors.count; i++)
		count += sensor_belongs(world, &world->models.at[m->sdf], &world->sensors.at[i]);
	count = MIN(count, SENSORS_MAX - sensors->count);
	set->at = count ? mem_alloc(count * sizeof *set->at) : NULL;
	for (uint32_t i = 0; set->count < count; i++)
		if (sensor_belongs(world, &world->models.at[m->sdf], &world->sensors.at[i])) {
			sensor_make(sensors, model, &world->sensors.at[i], &set->at[set->count]);
			set->count++;
		}
	sensors->count += count;
	if (count && !m->body_count)
		indices_add(&sensors->statics, model);
}

static void sensor_unwant(struct sensors *sensors, struct sensor *sensor)
{
	sensors->epoch += sensor->wanted;
	sensors->wanted -= sensor->wanted;
	sensors->rates.at[sensor->rate].wanted -= sensor->wanted && !sensor->waits;
	if (sensor->wanted && !sensor->waits && sensor->group == SENSOR_OF_WORLD) {
		sensors->rates.at[sensor->rate].wanted_world -= sensor_slices(sensors, sensor);
		sensors->rates.at[sensor->rate].wanted_samples -= sensor_samples(sensors, sensor);
	}
	sensor->wanted = false;
}

/* A topic of a sensor that is let go may have a subscriber: server/clients.c finds that out. */
void sensors_hold(struct sensors *sensors, struct sensor *sensor, bool on)
{
	if (on && !sensor->last && sensor->group != SENSOR_SILENT) {
		sensor->last = mem_alloc(sizeof *sensor->last);
		sensors->held++;
		sensors_want(sensors, sensor);
	} else if (!on && sensor->last) {
		free(sensor->last);
		sensor->last = NULL;
		sensors->held--;
	}
}

void sensors_use(struct sensors *sensors, struct sensor *sensor)
{
	if (sensor->used)
		return;
	sensor->used = true;
	sensors_want(sensors, sensor);
}

static void sensor_drop_set(struct sensors *sensors, uint32_t model)
{
	struct sensor_set *set = &sensors->sets[model];
	for (uint32_t i = 0; i < set->count; i++) {
		sensor_unwant(sensors, &set->at[i]);
		sensors_hold(sensors, &set->at[i], false);
		sensors->forces -= set->at[i].group == SENSOR_OF_FORCES;
		sensors->contacts -= set->at[i].sdf->kind == SDF_CONTACT;
		free(set->at[i].caches);
	}
	sensors->count -= set->count;
	free(set->at);
	arena_fini(&set->arena);
	*set = (struct sensor_set){0};
	indices_remove(&sensors->statics, model);
}

void sensors_update(struct sensors *sensors)
{
	const struct scene *scene = sensors->scene;
	if (sensors->room < scene->room.models) {
		MEM_FIT(sensors->sets, sensors->room, scene->room.models);
		sensors->room = scene->room.models;
	}
	for (uint32_t m = 0; m < sensors->room; m++) {
		bool there = m < scene->model_count && !scene->models[m].absent;
		uint64_t serial = there ? scene->models[m].serial : 0;
		if (sensors->sets[m].serial == serial)
			continue;
		sensor_drop_set(sensors, m);
		if (serial)
			sensor_add_set(sensors, m);
	}
}

struct sensors *sensors_create(const struct scene *scene)
{
	struct sensors *sensors = mem_alloc(sizeof *sensors);
	sensors->scene = scene;
	sensors_update(sensors);
	return sensors;
}

void sensors_destroy(struct sensors *sensors)
{
	if (!sensors)
		return;
	for (uint32_t m = 0; m < sensors->room; m++)
		sensor_drop_set(sensors, m);
	free(sensors->sets);
	for (uint32_t i = 0; i < sensors->scans.count; i++) {
		free(sensors->scans.at[i].directions);
		free(sensors->scans.at[i].pattern.by_column);
		free(sensors->scans.at[i].pattern.by_row);
	}
	vec_free(&sensors->scans);
	for (uint32_t i = 0; i < sensors->lenses.count; i++)
		free(sensors->lenses.at[i].directions);
	vec_free(&sensors->lenses);
	free(sensors->lights);
	rays_destroy(sensors->rays);
	vec_free(&sensors->rates);
	vec_free(&sensors->statics);
	vec_free(&sensors->fired);
	free(sensors);
}

struct sensor *sensors_find(const struct sensors *sensors, uint32_t model, uint32_t index)
{
	if (model >= sensors->room || index >= sensors->sets[model].count)
		return NULL;
	return &sensors->sets[model].at[index];
}

struct pose sensor_pose(const struct scene *scene, const struct state *state, const struct sensor *sensor, bool next)
{
	const struct scene_link *link = &scene->links[sensor->link];
	struct pose in_world = link->body == SCENE_NONE ? link->in_body : state_link_pose(state, sensor->link, next);
	return pose_mul(in_world, sensor->sdf->in_parent);
}

const struct trail *sensor_trail(const struct state *state, const struct sensor *sensor)
{
	return (const struct trail *)(const void *)(state_systems(state, sensor->model, false) + sensor->trail);
}

/* Of a point of the body, the way of the body's centre and at most twice the arm. */
double sensor_swept_m(const struct scene *scene, const struct state *state, const struct sensor *sensor)
{
	double most = 0;
	if (sensor->trail == SCENE_NONE)
		return 0;
	const struct trail *trail = sensor_trail(state, sensor);
	const struct scene_link *link = &scene->links[sensor->link];
	struct vec3 now = state_body(state, link->body, false)->p;
	for (uint32_t i = 0; i < trail_count(trail); i++)
		most = fmax(most, vec3_length(vec3_sub(trail_at(trail, i)->p, now)));
	return most + 2 * vec3_length(pose_mul(link->in_body, sensor->sdf->in_parent).p);
}

/* The boxes of a bounding box camera need all of its pixels at once. */
uint32_t sensor_samples(const struct sensors *sensors, const struct sensor *sensor)
{
	enum sdf_sensor_kind kind = sensor->sdf->kind;
	if (sensor->group == SENSOR_SILENT)
		return 0;
	if (sensor_kind_is_lidar(kind))
		return scan_count(&sensors->scans.at[sensor->scan].layout);
	if (kind == SDF_BOUNDINGBOX_CAMERA || !sensor_kind_of(kind)->picture)
		return 0;
	return sensor->sdf->settings->cameras->width * sensor->sdf->settings->cameras->height;
}

uint32_t sensor_slices(const struct sensors *sensors, const struct sensor *sensor)
{
	uint32_t slices = sensor_samples(sensors, sensor) / SENSOR_SLICE;
	return MIN(MAX(slices, 1u), (uint32_t)SENSOR_SLICES_MAX);
}

/* --- wanting ------------------------------------------------------------------------------------------------------ */

void sensors_want(struct sensors *sensors, struct sensor *sensor)
{
	if (sensor->wanted || sensor->group == SENSOR_SILENT)
		return;
	sensor->wanted = true;
	sensors->epoch++;
	sensors->wanted++;
	if (sensor_kind_is_lidar(sensor->sdf->kind))
		sensors->scans.at[sensor->scan].needed = true;
	else if (sensor_kind_of(sensor->sdf->kind)->picture)
		sensors->lenses.at[sensor->scan].needed = true;
	if (sdf_sees(sensor->sdf->kind))
		sensors->sweep_s = fmax(sensors->sweep_s, sdf_sensor_span_s(sensor->sdf->kind, sensor->sdf->settings));
	sensors->rates.at[sensor->rate].wanted += !sensor->waits;
	if (!sensor->waits && sensor->group == SENSOR_OF_WORLD) {
		sensors->rates.at[sensor->rate].wanted_world += sensor_slices(sensors, sensor);
		sensors->rates.at[sensor->rate].wanted_samples += sensor_samples(sensors, sensor);
	}
}

void sensors_want_none(struct sensors *sensors)
{
	sensors->all = false;
	for (uint32_t m = 0; m < sensors->room && sensors->wanted; m++)
		for (uint32_t i = 0; i < sensors->sets[m].count; i++)
			if (!sensors->sets[m].at[i].last && !sensors->sets[m].at[i].used)
				sensor_unwant(sensors, &sensors->sets[m].at[i]);
}

void sensors_want_all(struct sensors *sensors)
{
	sensors->epoch++;
	sensors->all = true;
	for (uint32_t m = 0; m < sensors->room; m++)
		for (uint32_t i = 0; i < sensors->sets[m].count; i++)
			sensors_want(sensors, &sensors->sets[m].at[i]);
}

/* elsewhere: only the cone is needed. */
static void sensor_aim_scan(struct sensor_scan *scan, bool elsewhere)
{
	size_t count = (scan->lidar.pattern ? scan->pattern.scans : 1) * (size_t)scan_count(&scan->layout);
	if (scan->aimed)
		return;
	scan->aimed = true;
	scan->directions = mem_alloc(count * sizeof *scan->directions);
	if (scan->lidar.pattern)
		scan_pattern_directions(&scan->pattern, scan->directions);
	else
		scan_directions(&scan->layout, scan->directions);
	scan->cone = sight_cone_of(scan->directions, count, scan->layout.columns.count, false, scan->spread_rad);
	if (elsewhere)
		free(scan->directions), scan->directions = NULL;
}

static void sensor_aim_lens(struct sensor_lens *lens, bool elsewhere)
{
	size_t pixels = (size_t)lens->camera.width * lens->camera.height;
	if (lens->aimed)
		return;
	lens->aimed = true;
	lens->directions = mem_alloc(pixels * sizeof *lens->directions);
	lens_directions(&lens->camera, lens->wide, lens->directions);
	lens->cone = sight_cone_of(lens->directions, pixels, lens->camera.width, true, 0);
	if (elsewhere)
		free(lens->directions), lens->directions = NULL;
}

/* The rays are made when a sensor that casts them first measures: most runs have no subscriber for one. Not for a
 * logical camera alone: visuals are not read for it, and rays that were made before they are read never see meshes. */
void sensors_look(struct sensors *sensors, const struct state *state, const bool *hidden)
{
	struct troupe_error error;
	bool casts = sensors->rays != NULL;
	sensors->hidden = hidden;
	for (uint32_t i = 0; i < sensors->scans.count; i++) {
		struct sensor_scan *scan = &sensors->scans.at[i];
		casts |= scan->needed;
		if (scan->needed)
			sensor_aim_scan(scan, sensors->elsewhere);
	}
	for (uint32_t i = 0; i < sensors->lenses.count; i++) {
		struct sensor_lens *lens = &sensors->lenses.at[i];
		casts |= lens->needed;
		if (lens->needed)
			sensor_aim_lens(lens, sensors->elsewhere);
	}
	if (!casts || !rays_available())
		return;
	if (!sensors->lights)
		sensors->lights = mem_alloc(sizeof *sensors->lights);
	lights_find(state, sensors->lights);
	if (!sensors->rays && rays_create(sensors->scene, NULL, &sensors->rays, &error))
		abort(); /* rays_available(), or no such sensor would be wanted */
	if (sensors->elsewhere)
		rays_make_boxes_only(sensors->rays);
	rays_hide(sensors->rays, hidden);
	rays_set_sweep(sensors->rays, sensors->sweep_s);
	rays_follow(sensors->rays, state);
}

void sensors_begin(struct sensors *sensors, const struct sensor_times *times)
{
	sensors->due_self = sensors->due_world = false;
	sensors->slices_due = 0;
	sensors->samples_due = 0;
	for (uint32_t i = 0; i < sensors->fired.count; i++) {
		struct sensor *sensor = sensors_find(sensors, sensors->fired.at[i].model, sensors->fired.at[i].index);
		if (sensor)
			sensor->fired = false;
	}
	sensors->fired.count = 0;
	if (!sensors->wanted)
		return;
	sensors->times = *times;
	for (uint32_t i = 0; i < sensors->rates.count; i++) {
		struct sensor_rate *rate = &sensors->rates.at[i];
		rate->due_self = rate->wanted && sensor_rate_is_due(rate->micro_hz, times->now_ns, times->next_ns);
		rate->due_world = rate->wanted && sensor_rate_is_due(rate->micro_hz, times->seen_ns, times->now_ns);
		sensors->due_self |= rate->due_self;
		sensors->due_world |= rate->due_world && rate->wanted_world;
		sensors->slices_due += rate->due_world ? rate->wanted_world : 0;
		sensors->samples_due += rate->due_world ? rate->wanted_samples : 0;
	}
}

void sensors_fire(struct sensors *sensors, uint32_t model, uint32_t index)
{
	struct sensor *sensor = sensors_find(sensors, model, index);
	if (!sensor || !sensor->waits || !sensor->wanted || sensor->fired)
		return;
	sensor->fired = sensors->due_world = true;
	sensors->slices_due += sensor_slices(sensors, sensor);
	sensors->samples_due += sensor_samples(sensors, sensor);
	vec_push(&sensors->fired, (struct sensor_place){model, index});
}
