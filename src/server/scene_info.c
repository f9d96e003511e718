/* Threads that the simulation does not wait for read scene infos while models come and go. So a scene info has copies
 * of names and points, in one arena. What robots of one kind have in common is copied once: names, axes, forms, and the
 * points of a mesh that several shapes share. */
#include "server/scene_info_internal.h"

#include "sensor/summary.h"
#include "server/scene_info_look.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const struct scene_info *scene_info_of(const struct troupe_scene *shown)
{
	return (const struct scene_info *)(const void *)shown;
}

static uint32_t *scene_info_no_places(struct arena *arena, uint32_t count)
{
	uint32_t *places = arena_array(arena, uint32_t, count);
	memset(places, 0xff, count * sizeof *places);
	return places;
}

const char *scene_info_text(struct scene_info_making *m, const char *text)
{
	return share_text(&m->share, &m->info->arena, text);
}

/* --- models, links, joints ---------------------------------------------------------------------------------------- */

/* The name of a link or joint within its model; "nested::name" for one in a nested model. Joints of the world itself
 * are in no model. */
static const char *scene_info_name_in(struct scene_info_making *m, uint32_t model, const char *scoped)
{
	const char *name = m->scene->models[model].name;
	size_t length = strlen(name);
	bool inside = !strncmp(scoped, name, length) && !strncmp(scoped + length, "::", 2);
	return scene_info_text(m, inside ? scoped + length + 2 : scoped);
}

/* The first pose of a frame: `in_body` is its pose in the body, or in the world. */
static struct pose scene_info_first_pose(const struct scene *scene, uint32_t body, struct pose in_body)
{
	return body == SCENE_NONE ? in_body : pose_mul(scene->bodies[body].reference, in_body);
}

/* Poses of static models and of their links are the present ones: a static model can be placed elsewhere. */
static struct pose scene_info_model_pose(const struct scene *scene, uint32_t model)
{
	const struct scene_model *from = &scene->models[model];
	return scene_info_first_pose(
		scene, from->body_count ? from->body_first + from->frame_body : SCENE_NONE, from->in_body);
}

/* The place among the shown links of the model of the first one that has the body of link l. */
static uint32_t scene_info_first_of_body(const struct scene *scene, const struct scene_model *model, uint32_t l)
{
	uint32_t body = scene->links[l].body, at = model->link_first;
	if (body == SCENE_NONE)
		return l - model->link_first;
	while (scene->links[at].body != body)
		at++;
	return at - model->link_first;
}

static void scene_info_add_links(struct scene_info_making *m, uint32_t model, uint32_t shown_model)
{
	struct pose base = scene_info_model_pose(m->scene, model);
	const struct scene_model *from = &m->scene->models[model];
	struct troupe_scene *shown = &m->info->shown;
	struct troupe_scene_model *to = &m->models[shown_model];
	to->link_first = shown->link_count;
	for (uint32_t l = from->link_first; l < from->link_first + from->link_count; l++) {
		const struct scene_link *link = &m->scene->links[l];
		uint32_t at = shown->link_count++;
		m->info->links[at] = l;
		m->info->link_of[l] = at;
		m->links[at] = (struct troupe_scene_link){.handle = scene_info_link_handle(m->scene, m->world, l),
			.name = scene_info_name_in(m, model, link->scoped),
			.model = shown_model,
			.in_model = pose_flat(pose_mul(
				pose_inverse(base), scene_info_first_pose(m->scene, link->body, link->in_body))),
			.mass = link->body == SCENE_NONE ? 0 : m->scene->bodies[link->body].mass,
			.fixed_to = to->link_first + scene_info_first_of_body(m->scene, from, l)};
		m->info->link_frames[at] = (struct link_frames){.count = 0};
		if (from->actor)
			scene_info_shapes_add_actor(m, from, l, at);
		if (from->sdf == SDF_NONE)
			continue;
		uint32_t place = from->from->models.at[from->sdf].link_first + l - from->link_first;
		const struct sdf_link *sdf = &from->from->links.at[place];
		link_frames_look(&m->frames, from->from);
		m->info->link_frames[at] =
			link_frames_of(&m->frames, from, place, systems_of(m->systems, model), &m->info->arena);
		scene_info_shapes_add(m, from->from, sdf, at);
		scene_info_shapes_add_lights_of_link(m, model, sdf, at);
	}
	to->link_count = shown->link_count - to->link_first;
}

/* Among the links of the model. */
static uint32_t scene_info_canonical_of(const struct scene_model *model)
{
	const struct sdf_model *sdf = model->sdf == SDF_NONE ? NULL : &model->from->models.at[model->sdf];
	return sdf && sdf->canonical_link != SDF_NONE ? sdf->canonical_link - sdf->link_first : 0;
}

static void scene_info_add_model(struct scene_info_making *m, uint32_t model)
{
	const struct scene_model *from = &m->scene->models[model];
	uint32_t at = m->info->shown.model_count++;
	m->info->models[at] = model;
	m->info->sdf_models[at] = from->created ? SDF_NONE : from->sdf;
	m->info->created[at] = from->created;
	m->info->model_of[model] = at;
	m->models[at] = (struct troupe_scene_model){.handle = scene_info_model_handle(m->scene, m->world, model),
		.name = scene_info_text(m, from->name),
		.id = from->id,
		.is_static = from->is_static,
		.performer = from->performer,
		.pose = pose_flat(scene_info_model_pose(m->scene, model)),
		.actor = from->actor != NULL};
	scene_info_add_links(m, model, at);
	m->info->canonical[at] = m->models[at].link_first + scene_info_canonical_of(from);
	scene_info_shapes_find_geoms(m, model);
}

static uint32_t scene_info_shown_link(const struct scene_info_making *m, uint32_t body, uint32_t sdf_link)
{
	if (body == SCENE_NONE || sdf_link == SDF_NONE)
		return TROUPE_NONE;
	const struct scene_model *model = &m->scene->models[m->scene->bodies[body].model];
	return model->sdf == SDF_NONE
		       ? TROUPE_NONE
		       : m->info->link_of[model->link_first + sdf_link - model->from->models.at[model->sdf].link_first];
}

static troupe_joint_kind scene_info_kind_of(enum sdf_joint_kind kind)
{
	switch (kind) {
	case SDF_PRISMATIC:
		return TROUPE_JOINT_PRISMATIC;
	case SDF_SCREW:
		return TROUPE_JOINT_SCREW;
	case SDF_UNIVERSAL:
		return TROUPE_JOINT_UNIVERSAL;
	case SDF_REVOLUTE2:
		return TROUPE_JOINT_REVOLUTE2;
	case SDF_BALL:
		return TROUPE_JOINT_BALL;
	case SDF_GEARBOX:
		return TROUPE_JOINT_GEARBOX;
	case SDF_FIXED:
		return TROUPE_JOINT_FIXED;
	default:
		return TROUPE_JOINT_REVOLUTE;
	}
}

static void scene_info_add_joint(struct scene_info_making *m, uint32_t joint)
{
	const struct scene_joint *from = &m->scene->joints[joint];
	uint32_t at = m->info->shown.joint_count++;
	struct troupe_scene_joint *to = &m->joints[at];
	m->info->joints[at] = joint;
	m->info->joint_of[joint] = at;
	*to = (struct troupe_scene_joint){.handle = scene_info_joint_handle(m->scene, m->world, joint),
		.name = scene_info_name_in(m, from->model, from->scoped),
		.kind = scene_info_kind_of(from->kind),
		.model = m->info->model_of[from->model],
		.parent = scene_info_shown_link(m, from->parent, from->sdf->parent),
		.child = scene_info_shown_link(m, from->child, from->sdf->child),
		.axis_count = from->axis_count};
	struct troupe_scene_axis axis[2];
	for (uint32_t a = 0; a < from->axis_count; a++)
		axis[a] = (struct troupe_scene_axis){from->axis[a].xyz_world, from->axis[a].lower, from->axis[a].upper,
			from->axis[a].velocity, from->axis[a].effort};
	to->axis = share_keep(&m->share, &m->info->arena, axis, from->axis_count * sizeof *axis);
}

static void scene_info_add_joints(struct scene_info_making *m)
{
	for (uint32_t i = 0; i < m->info->shown.mobile_count; i++) {
		const struct scene_model *from = &m->scene->models[m->info->models[i]];
		m->models[i].joint_first = m->info->shown.joint_count;
		for (uint32_t j = from->joint_first; j < from->joint_first + from->joint_count; j++)
			scene_info_add_joint(m, j);
		m->models[i].joint_count = from->joint_count;
	}
	for (uint32_t i = 0; i < m->scene->world_joints.count; i++) {
		uint32_t joint = m->scene->world_joints.at[i];
		if (m->info->model_of[m->scene->joints[joint].model] != TROUPE_NONE)
			scene_info_add_joint(m, joint);
	}
}

/* --- sensors ------------------------------------------------------------------------------------------------------ */

/* A camera may be turned in its sensor. */
static struct pose scene_info_sensor_in_link(const struct sdf_sensor *sensor)
{
	bool camera = sensor->settings->camera_count == 1;
	return camera ? pose_mul(sensor->in_parent, sensor->settings->cameras->in_sensor) : sensor->in_parent;
}

struct scene_info_sensor_frames scene_info_frames_of(const struct sdf_sensor *sensor)
{
	const struct sdf_settings *settings = sensor->settings;
	const char *picture = settings->camera_count ? settings->cameras->optical_frame : NULL;
	return (struct scene_info_sensor_frames){settings->frame_id, picture ? picture : settings->frame_id};
}

/* Whether the frame is the model's or one of its links', as PosePublisher names them. */
static bool scene_info_is_of_model(const char *model, const char *frame)
{
	size_t count = strlen(model);
	const char *rest = frame + count;
	return !strncmp(frame, model, count) && (!*rest || *rest == '/' || !strncmp(rest, "::", 2));
}

/* A frame has one parent: whether a system of the model publishes where the frame is. */
static bool scene_info_is_told(const struct scene_info_making *m, uint32_t model, const char *frame)
{
	const struct system_set *set = systems_of(m->systems, model);
	bool told = false;
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t o = 0; o < set->at[i].outputs.count; o++) {
			const struct troupe_output *output = &set->at[i].outputs.at[o].def;
			bool poses = output->gives == TROUPE_GIVES_POSES || output->gives == TROUPE_GIVES_POSE;
			bool one = output->child_frame &&
				   (output->gives == TROUPE_GIVES_TF || output->gives == TROUPE_GIVES_REPORT);
			told |= (one && !strcmp(output->child_frame, frame)) ||
				(poses && scene_info_is_of_model(m->scene->models[model].name, frame));
		}
	return told;
}

static const char *scene_info_copy_untold(struct scene_info_making *m, uint32_t model, const char *frame)
{
	return frame && !scene_info_is_told(m, model, frame) ? scene_info_text(m, frame) : NULL;
}

static void scene_info_add_sensor(struct scene_info_making *m, const struct sensor *from)
{
	const struct scene_info_sensor_frames named = scene_info_frames_of(from->sdf);
	m->info->frames[m->info->shown.sensor_count] =
		(struct scene_info_sensor_frames){scene_info_copy_untold(m, from->model, named.frame),
			scene_info_copy_untold(m, from->model, named.picture)};
	struct troupe_scene_sensor *to = &m->sensors[m->info->shown.sensor_count++];
	*to = (struct troupe_scene_sensor){.handle = scene_info_sensor_handle(m->scene, m->world, from),
		.name = scene_info_name_in(m, from->model, from->name),
		.type = scene_info_text(m, from->sdf->type),
		.model = m->info->model_of[from->model],
		.link = from->link == SCENE_NONE ? TROUPE_NONE : m->info->link_of[from->link],
		.joint = from->joint == SCENE_NONE ? TROUPE_NONE : m->info->joint_of[from->joint],
		.rate_hz = from->sdf->update_rate,
		.in_link = pose_flat(scene_info_sensor_in_link(from->sdf))};
	if (from->group != SENSOR_SILENT) {
		to->number_count = sensor_kind_column_count(from->sdf->kind);
		to->numbers = sensor_kind_of(from->sdf->kind)->columns;
	}
}

/* In the order of models in the scene info. */
static void scene_info_add_sensors(struct scene_info_making *m)
{
	m->sensors = arena_array(&m->info->arena, struct troupe_scene_sensor, m->from_sensors->count);
	m->info->frames = arena_array(&m->info->arena, struct scene_info_sensor_frames, m->from_sensors->count);
	m->info->sensor_first = arena_array(&m->info->arena, uint32_t, m->scene->model_count);
	for (uint32_t i = 0; i < m->info->shown.model_count; i++) {
		uint32_t model = m->info->models[i];
		const struct sensor_set *set = &m->from_sensors->sets[model];
		m->info->sensor_first[model] = m->info->shown.sensor_count;
		for (uint32_t s = 0; s < set->count; s++)
			scene_info_add_sensor(m, &set->at[s]);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* Makes room for all entities, including those that are not shown. */
static void scene_info_make_room(struct scene_info_making *m)
{
	struct scene_info *info = m->info;
	const struct scene *scene = m->scene;
	uint32_t shapes = 0, lights = scene->light_count;
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct scene_model *model = &scene->models[i];
		shapes += model->actor ? model->geom_count : 0;
		if (model->absent || !model->id || model->sdf == SDF_NONE)
			continue;
		const struct sdf_model *sdf = &model->from->models.at[model->sdf];
		for (uint32_t l = sdf->link_first; l < sdf->link_first + sdf->link_count; l++) {
			const struct sdf_link *link = &model->from->links.at[l];
			shapes += link->collision_count + link->visual_count;
			lights += link->light_count;
		}
	}
	info->model_places = scene->model_count;
	info->link_places = scene->link_count;
	info->joint_places = scene->joint_count;
	info->geom_places = scene->geom_count;
	info->models = arena_array(&info->arena, uint32_t, scene->model_count);
	info->sdf_models = arena_array(&info->arena, uint32_t, scene->model_count);
	info->created = arena_array(&info->arena, bool, scene->model_count);
	info->canonical = arena_array(&info->arena, uint32_t, scene->model_count);
	info->links = arena_array(&info->arena, uint32_t, scene->link_count);
	info->link_frames = arena_array(&info->arena, struct link_frames, scene->link_count);
	info->joints = arena_array(&info->arena, uint32_t, scene->joint_count);
	info->model_of = scene_info_no_places(&info->arena, scene->model_count);
	info->link_of = scene_info_no_places(&info->arena, scene->link_count);
	info->joint_of = scene_info_no_places(&info->arena, scene->joint_count);
	info->shape_of = scene_info_no_places(&info->arena, scene->geom_count);
	m->models = arena_array(&info->arena, struct troupe_scene_model, scene->model_count);
	m->links = arena_array(&info->arena, struct troupe_scene_link, scene->link_count);
	m->joints = arena_array(&info->arena, struct troupe_scene_joint, scene->joint_count);
	m->shapes = arena_array(&info->arena, struct troupe_scene_shape, shapes);
	m->lights = arena_array(&info->arena, struct troupe_scene_light, lights);
}

const struct troupe_scene *scene_info_create(const struct scene *scene, const struct sensors *sensors,
	const struct systems *systems, uint32_t world, uint64_t epoch)
{
	struct scene_info *info = mem_alloc(sizeof *info);
	struct scene_info_making m = {
		.info = info, .scene = scene, .from_sensors = sensors, .systems = systems, .world = world};
	struct troupe_scene *shown = &info->shown;
	atomic_init(&info->holders, 1);
	scene_info_make_room(&m);
	shown->world = scene_info_text(&m, scene->name);
	shown->epoch = epoch;
	shown->surroundings = scene_info_surroundings(&m.share, &info->arena, &scene->sdf->surroundings.scene);
	scene_info_shapes_add_lights_of_world(&m);
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (scene->models[i].id && scene_info_moves(&scene->models[i]))
			scene_info_add_model(&m, i);
	shown->mobile_count = shown->model_count;
	shown->moving_links = shown->link_count;
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (scene->models[i].id && !scene->models[i].absent && !scene_info_moves(&scene->models[i]))
			scene_info_add_model(&m, i);
	scene_info_add_joints(&m);
	scene_info_add_sensors(&m);
	shown->sensors = m.sensors;
	shown->models = m.models;
	shown->links = m.links;
	shown->joints = m.joints;
	shown->shapes = m.shapes;
	shown->lights = m.lights;
	vec_free(&m.meshes);
	share_fini(&m.share);
	link_frames_fini(&m.frames);
	return shown;
}

struct scene_info_polyline scene_info_polyline(const struct troupe_scene *shown, uint32_t shape)
{
	return ((const struct scene_info_form *)(const void *)shown->shapes[shape].form)->polyline;
}

struct scene_info_sensor_frames scene_info_untold_frames(const struct troupe_scene *shown, uint32_t sensor)
{
	return scene_info_of(shown)->frames[sensor];
}

struct link_frames scene_info_link_frames(const struct troupe_scene *shown, uint32_t link)
{
	return scene_info_of(shown)->link_frames[link];
}

const struct troupe_scene *scene_info_hold(const struct troupe_scene *shown)
{
	struct scene_info *info = (struct scene_info *)(void *)(uintptr_t)shown;
	atomic_fetch_add_explicit(&info->holders, 1, memory_order_relaxed);
	return shown;
}

void troupe_scene_release(const struct troupe_scene *shown)
{
	struct scene_info *info = (struct scene_info *)(void *)(uintptr_t)shown;
	/* acq_rel: the thread that frees it sees all accesses of the other holders */
	if (!info || atomic_fetch_sub_explicit(&info->holders, 1, memory_order_acq_rel) != 1)
		return;
	arena_fini(&info->arena);
	free(info);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

uint32_t scene_info_model_at(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->models[model];
}

uint32_t scene_info_sdf_model(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->sdf_models[model];
}

bool scene_info_is_created(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->created[model];
}

uint32_t scene_info_canonical_link(const struct troupe_scene *shown, uint32_t model)
{
	return scene_info_of(shown)->canonical[model];
}

uint32_t scene_info_link_at(const struct troupe_scene *shown, uint32_t link)
{
	return scene_info_of(shown)->links[link];
}

uint32_t scene_info_joint_at(const struct troupe_scene *shown, uint32_t joint)
{
	return scene_info_of(shown)->joints[joint];
}

uint32_t scene_info_shape_of_geom(const struct troupe_scene *shown, uint32_t geom)
{
	return geom < scene_info_of(shown)->geom_places ? scene_info_of(shown)->shape_of[geom] : TROUPE_NONE;
}

uint32_t scene_info_model_of(const struct troupe_scene *shown, uint32_t model)
{
	return model < scene_info_of(shown)->model_places ? scene_info_of(shown)->model_of[model] : TROUPE_NONE;
}

const struct troupe_model_state *troupe_snapshot_model(const struct troupe_snapshot *snapshot, troupe_model model)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = model.at && model.at <= info->model_places ? info->model_of[model.at - 1] : TROUPE_NONE;
	return i < snapshot->model_count && !memcmp(&snapshot->scene->models[i].handle, &model, sizeof model)
		       ? &snapshot->models[i]
		       : NULL;
}

const struct troupe_link_state *troupe_snapshot_link(const struct troupe_snapshot *snapshot, troupe_link link)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = link.at && link.at <= info->link_places ? info->link_of[link.at - 1] : TROUPE_NONE;
	return i < snapshot->link_count && !memcmp(&snapshot->scene->links[i].handle, &link, sizeof link)
		       ? &snapshot->links[i]
		       : NULL;
}

const struct troupe_joint_state *troupe_snapshot_joint(const struct troupe_snapshot *snapshot, troupe_joint joint)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = joint.at && joint.at <= info->joint_places ? info->joint_of[joint.at - 1] : TROUPE_NONE;
	return i < snapshot->joint_count && !memcmp(&snapshot->scene->joints[i].handle, &joint, sizeof joint)
		       ? &snapshot->joints[i]
		       : NULL;
}

const struct troupe_reading *troupe_snapshot_sensor(const struct troupe_snapshot *snapshot, troupe_sensor sensor)
{
	const struct scene_info *info = scene_info_of(snapshot->scene);
	uint32_t i = sensor.at && sensor.at <= info->model_places && info->model_of[sensor.at - 1] != TROUPE_NONE
			     ? info->sensor_first[sensor.at - 1] + sensor.index
			     : TROUPE_NONE;
	return i < snapshot->sensor_count && !memcmp(&snapshot->scene->sensors[i].handle, &sensor, sizeof sensor)
		       ? &snapshot->readings[i]
		       : NULL;
}
