/* Reads models and their frames; the last pass computes the world poses of all entities. */
#include "sdf/foreign.h"
#include "sdf/include.h"
#include "sdf/load.h"
#include "sdf/xml.h"
#include "sdf/rewrite.h"

#include <string.h>

void load_frame(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope)
{
	const char *relative_to;
	struct sdf_frame frame = {.name = load_name(load, element), .model = model, .element = element};
	if (!load_room(load, element, load->world->frames.count))
		return;
	struct pose raw = load_pose(load, element, &relative_to);
	uint32_t index = load_declare(load, (struct frames_frame){.kind = FRAMES_FRAME,
						    .name = frame.name,
						    .element = element,
						    .scope = scope,
						    .relative_to = relative_to,
						    .attached_to = load_reference(load, element, "attached_to"),
						    .raw = raw});
	vec_push(&load->world->frames, frame);
	vec_push(&load->frame_frames, index);
}

static void model_load_children(struct load *load, const struct sdf_element *element, uint32_t index, uint32_t scope)
{
	bool is_static = load->world->models.at[index].is_static;
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "link"))
			load_link(load, child, index, scope);
		else if (xml_is(child, "joint"))
			load_joint(load, child, index, scope);
		else if (xml_is(child, "frame"))
			load_frame(load, child, index, scope);
		else if (xml_is(child, "plugin"))
			load_plugin(load, child, index, SDF_NONE);
		else if (xml_is(child, "include"))
			load_declare(load, (struct frames_frame){.kind = FRAMES_MISSING,
						   .name = include_name(load, child),
						   .element = child,
						   .scope = scope,
						   .raw = POSE_IDENTITY});
	}
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (xml_is(child, "model"))
			load_model(load, child, index, scope, is_static);
}

static const char *model_scoped_name(struct load *load, uint32_t parent, const char *name)
{
	if (parent == SDF_NONE)
		return name;
	return arena_printf(&load->sdf->arena, "%s::%s", load->world->models.at[parent].scoped, name);
}

/* Adds the model itself, and its name in the scope around it. */
static uint32_t model_declare(
	struct load *load, const struct sdf_element *element, uint32_t parent, uint32_t scope, bool is_static)
{
	struct sdf_model model = {.name = load_name(load, element),
		.parent = parent,
		.line = element->line,
		.file = element->file,
		.allow_auto_disable = true,
		.canonical_link = SDF_NONE,
		.wind = parent != SDF_NONE && load->world->models.at[parent].wind,
		.element = element};
	const char *relative_to;
	struct pose raw = load_pose(load, element, &relative_to);
	load_bool(load, element, "static", &model.is_static);
	load_bool(load, element, "self_collide", &model.self_collide);
	load_bool(load, element, "allow_auto_disable", &model.allow_auto_disable);
	load_bool(load, element, "enable_wind", &model.wind);
	model.is_static = model.is_static || is_static;
	model.scoped = model_scoped_name(load, parent, model.name);
	model.link_first = load->world->links.count;
	model.joint_first = load->world->joints.count;
	model.plugin_first = load->world->plugins.count;
	uint32_t frame = load_declare(load, (struct frames_frame){.kind = FRAMES_MODEL,
						    .name = model.name,
						    .element = element,
						    .scope = scope,
						    .relative_to = relative_to,
						    .placement = load_reference(load, element, "placement_frame"),
						    .raw = raw});
	vec_push(&load->world->models, model);
	vec_push(&load->model_frames, frame);
	frames_open(&load->frames, scope, frame, element);
	return load->world->models.count - 1;
}

static void model_read(
	struct load *load, const struct sdf_element *element, uint32_t parent, uint32_t scope, bool is_static)
{
	element = include_expand(load, rewrite_unflatten(load, element));
	if (!load->poses_only)
		element = foreign_model(load, element);
	uint32_t index = model_declare(load, element, parent, scope, is_static);
	if (parent == SDF_NONE)
		load->far = load_is_far(
			load, element, load->world->models.at[index].name, load->world->models.at[index].is_static);
	model_load_children(load, element, index, load_scope_of(index));
	struct sdf_world *world = load->world;
	struct sdf_model *model = &world->models.at[index];
	model->model_count = world->models.count - index;
	model->link_count = world->links.count - model->link_first;
	model->joint_count = world->joints.count - model->joint_first;
	model->plugin_count = world->plugins.count - model->plugin_first;
	if (!model->link_count && !model->is_static && !load->frames.scopes.at[load_scope_of(index)].missing)
		load_error(load, element,
			"model \"%.80s\" has no link: expected at least one, or <static>true</static>", model->name);
}

void load_model(struct load *load, const struct sdf_element *element, uint32_t parent, uint32_t scope, bool is_static)
{
	if (!load_room(load, element, load->world->models.count))
		return;
	if (load->depth == SDF_DEPTH_MAX) {
		load_limit(load, element, "models are nested too deeply: expected at most %d levels", SDF_DEPTH_MAX);
		return;
	}
	uint32_t file, version = load->version;
	bool known = map_find(&load->file_names, element->file, &file);
	bool was_open = known && load->files.at[file].open;
	if (known) {
		load->files.at[file].open = true;
		load->version = load->files.at[file].version;
	}
	load->depth++;
	model_read(load, element, parent, scope, is_static);
	load->depth--;
	load->version = version;
	if (known)
		load->files.at[file].open = was_open;
}

/* The link that __model__ is attached to: the named link, else the first link of the model itself, else that of a
 * nested model. */
static uint32_t model_canonical_link(struct load *load, uint32_t index)
{
	const struct sdf_world *world = load->world;
	const struct sdf_model *model = &world->models.at[index];
	const char *name = load_reference(load, model->element, "canonical_link");
	uint32_t scope = load_scope_of(index), frame;
	if (name) {
		frame = frames_find(&load->frames, scope, name);
		if (frame != SDF_NONE && load->frames.frames.at[frame].kind == FRAMES_LINK)
			return load->frames.frames.at[frame].link;
		if (frame == SDF_NONE || load->frames.frames.at[frame].kind != FRAMES_MISSING)
			load_error(load, model->element,
				"canonical_link of model \"%.80s\" is \"%.80s\": expected the name of a link",
				model->name, name);
	}
	if (model->link_count && world->links.at[model->link_first].model == index)
		return model->link_first;
	for (uint32_t at = index + 1; at < index + model->model_count; at += world->models.at[at].model_count)
		if (world->models.at[at].canonical_link != SDF_NONE)
			return world->models.at[at].canonical_link;
	return SDF_NONE;
}

static void model_report_frame(void *ctx, const struct sdf_element *element, const char *text)
{
	load_error(ctx, element, "%s", text);
}

struct pose load_world_pose(const struct load *load, uint32_t frame)
{
	uint32_t scope = load->frames.frames.at[frame].scope;
	struct pose in_scope = load->frames.frames.at[frame].in_scope;
	return scope == FRAMES_WORLD ? in_scope : pose_mul(load->world->models.at[scope - 1].in_world, in_scope);
}

/* Each pose alone is within the bounds, but poses in long chains add up. Printed poses must be within the bounds too.
 */
static void model_check_place(struct load *load, const struct sdf_element *element, struct pose pose)
{
	struct vec3 p = pose.p;
	if (vec3_within(p, SDF_LENGTH_MAX))
		return;
	load_error(load, element, "<%s> is at %g %g %g, far away: expected from %g to %g m", element->name, p.x, p.y,
		p.z, -SDF_LENGTH_MAX, SDF_LENGTH_MAX);
}

static void model_place_and_links(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = 0; i < world->models.count; i++) {
		struct sdf_model *model = &world->models.at[i];
		model->in_parent = load->frames.frames.at[load->model_frames.at[i]].in_scope;
		model->in_world = model->parent == SDF_NONE
					  ? model->in_parent
					  : pose_mul(world->models.at[model->parent].in_world, model->in_parent);
		model_check_place(load, model->element, model->in_world);
		model_check_place(load, model->element, model->in_parent);
	}
	for (uint32_t i = 0; i < world->links.count; i++) {
		struct sdf_link *link = &world->links.at[i];
		const struct pose *in_model = &load->frames.frames.at[load->link_frames.at[i]].in_scope;
		link->in_model = load_share(load, in_model, sizeof *in_model);
		model_check_place(load, link->element, sdf_link_in_world(world, i));
		model_check_place(load, link->element, *in_model);
	}
	for (uint32_t i = 0; i < world->frames.count; i++) {
		world->frames.at[i].in_model = load->frames.frames.at[load->frame_frames.at[i]].in_scope;
		world->frames.at[i].in_world = load_world_pose(load, load->frame_frames.at[i]);
		if (!frames_link(&load->frames, load->frame_frames.at[i], &world->frames.at[i].link, &(bool){false}))
			world->frames.at[i].link = SDF_NONE;
		model_check_place(load, world->frames.at[i].element, world->frames.at[i].in_world);
		model_check_place(load, world->frames.at[i].element, world->frames.at[i].in_model);
	}
}

/* The pose of the part's owner in its scope. A part's pose is relative to its owner by default. */
static struct pose model_owner_in_scope(const struct load *load, const struct load_placing *placing)
{
	const struct sdf_world *world = load->world;
	uint32_t link = SDF_NONE, joint = SDF_NONE;
	switch (placing->kind) {
	case LOAD_COLLISION:
		link = world->collisions.at[placing->index].link;
		break;
	case LOAD_VISUAL:
		link = world->visuals.at[placing->index].link;
		break;
	case LOAD_LIGHT:
		link = world->lights.at[placing->index].link;
		break;
	case LOAD_SENSOR:
		link = world->sensors.at[placing->index].link;
		joint = world->sensors.at[placing->index].joint;
		break;
	case LOAD_CAMERA: {
		const struct sdf_sensor *sensor = &world->sensors.at[placing->index];
		struct load_placing around = {LOAD_SENSOR, placing->index, placing->scope, NULL, NULL, NULL};
		return pose_mul(model_owner_in_scope(load, &around), sensor->in_parent);
	}
	case LOAD_ACTOR:
		break;
	}
	if (link != SDF_NONE)
		return load->frames.frames.at[load->link_frames.at[link]].in_scope;
	if (joint != SDF_NONE)
		return load->frames.frames.at[load->joint_frames.at[joint]].in_scope;
	return POSE_IDENTITY;
}

/* Of other parts than collisions, whose poses are shared. */
static struct pose *model_placed_pose(struct load *load, const struct load_placing *placing)
{
	struct sdf_world *world = load->world;
	switch (placing->kind) {
	case LOAD_VISUAL:
		return &world->visuals.at[placing->index].in_link;
	case LOAD_SENSOR:
		return &world->sensors.at[placing->index].in_parent;
	case LOAD_LIGHT:
		return &world->lights.at[placing->index].in_world;
	case LOAD_CAMERA:
		return placing->pose;
	default:
		return &world->actors.at[placing->index].in_world;
	}
}

/* Gazebo resolves the poses of parts only when it makes the parts, and makes them also where a pose cannot be resolved:
 * the numbers count, from the default frame. Models, links, joints and frames are resolved earlier, and must be right.
 */
static void model_warn_unplaced(struct load *load, const struct load_placing *placing)
{
	static const char *const frames[] = {[LOAD_COLLISION] = "its link",
		[LOAD_VISUAL] = "its link",
		[LOAD_SENSOR] = "its link or joint",
		[LOAD_LIGHT] = "its link, or the world",
		[LOAD_ACTOR] = "the world",
		[LOAD_CAMERA] = "its sensor"};
	struct near near;
	load_warn(load, placing->element,
		"pose of <%s> is relative_to \"%.80s\", which is not there: the pose counts from %s: expected the name "
		"of "
		"a link, joint, frame or model%s",
		placing->element->name, placing->relative_to, frames[placing->kind],
		frames_such_as(&load->frames, placing->scope, placing->relative_to, &near));
}

static void model_place_deferred(struct load *load)
{
	for (uint32_t i = 0; i < load->placings.count; i++) {
		const struct load_placing *placing = &load->placings.at[i];
		uint32_t target = frames_find(&load->frames, placing->scope, placing->relative_to);
		if (target == SDF_NONE) {
			model_warn_unplaced(load, placing);
			continue;
		}
		const struct pose **shared =
			placing->kind == LOAD_COLLISION ? &load->world->collisions.at[placing->index].in_link : NULL;
		struct pose *own = shared ? NULL : model_placed_pose(load, placing);
		struct pose in_scope =
			pose_mul(frames_pose(&load->frames, target, placing->scope), shared ? **shared : *own);
		struct pose pose = pose_mul(pose_inverse(model_owner_in_scope(load, placing)), in_scope);
		if (shared)
			*shared = load_share(load, &pose, sizeof pose);
		else
			*own = pose;
	}
}

static void model_place_parts(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		const struct sdf_collision *collision = &world->collisions.at[i];
		model_check_place(load, collision->element, sdf_collision_in_world(world, i));
		model_check_place(load, collision->element, *collision->in_link);
	}
	for (uint32_t i = 0; i < world->visuals.count; i++) {
		const struct sdf_visual *visual = &world->visuals.at[i];
		model_check_place(load, visual->element, sdf_visual_in_world(world, i));
		model_check_place(load, visual->element, visual->in_link);
	}
	for (uint32_t i = 0; i < world->lights.count; i++) {
		struct sdf_light *light = &world->lights.at[i];
		model_check_place(load, light->element, light->in_world); /* still relative to the link */
		if (light->link != SDF_NONE)
			light->in_world = pose_mul(sdf_link_in_world(world, light->link), light->in_world);
		model_check_place(load, light->element, light->in_world);
	}
	for (uint32_t i = 0; i < world->actors.count; i++)
		model_check_place(load, world->actors.at[i].element, world->actors.at[i].in_world);
	for (uint32_t i = 0; i < world->links.count; i++)
		if (world->links.at[i].inertial->automatic)
			load_inertial_auto(load, &world->links.at[i]);
}

static void model_place_sensors(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		struct sdf_sensor *sensor = &world->sensors.at[i];
		struct pose parent = sensor->link != SDF_NONE
					     ? sdf_link_in_world(world, sensor->link)
					     : sdf_joint_in_world(world, &world->joints.at[sensor->joint]);
		sensor->in_world = pose_mul(parent, sensor->in_parent);
		model_check_place(load, sensor->element, sensor->in_world);
		model_check_place(load, sensor->element, sensor->in_parent);
		load_check_contact(load, sensor);
	}
	load_check_topics(load);
}

/* Resolves the frame of fdir1, which may be that of another link than the collision's: wheels with rollers need this.
 */
static void model_place_friction(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = 0; i < world->collisions.count; i++) {
		struct sdf_collision *collision = &world->collisions.at[i];
		const struct sdf_element *ode = sdf_child(
			sdf_child(sdf_child(collision->element, "surface", NULL), "friction", NULL), "ode", NULL);
		const struct sdf_element *fdir1 = sdf_child(ode, "fdir1", NULL);
		const char *name = sdf_attribute(fdir1, "gz:expressed_in");
		name = name ? name : sdf_attribute(fdir1, "ignition:expressed_in");
		if (!name || !*name)
			continue;
		uint32_t scope = load_scope_of(world->links.at[collision->link].model), link;
		uint32_t frame = frames_find(&load->frames, scope, name);
		bool missing;
		if (frame == SDF_NONE || !frames_link(&load->frames, frame, &link, &missing)) {
			load_warn(load, fdir1,
				"<fdir1> is expressed in \"%.80s\", which is no frame of this model: the collision's "
				"is used",
				name);
			continue;
		}
		struct quat in_world = load_world_pose(load, frame).q;
		struct sdf_surface *surface = arena_new(&load->sdf->arena, struct sdf_surface);
		*surface = *collision->surface;
		surface->fdir1 =
			quat_rotate(quat_mul(quat_conj(sdf_link_in_world(world, link).q), in_world), surface->fdir1);
		surface->fdir1_link = link;
		collision->surface = surface;
	}
}

static void model_check_joints(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = 0; i < world->joints.count; i++) {
		const struct sdf_joint *joint = &world->joints.at[i];
		const struct pose in_world = sdf_joint_in_world(world, joint);
		model_check_place(load, joint->element, in_world);
		if (joint->model != SDF_NONE)
			model_check_place(load, joint->element,
				pose_mul(pose_inverse(world->models.at[joint->model].in_world), in_world));
	}
}

void load_place(struct load *load)
{
	struct sdf_world *world = load->world;
	for (uint32_t i = world->models.count; i-- > 0;) {
		world->models.at[i].canonical_link = model_canonical_link(load, i);
		load->frames.scopes.at[load_scope_of(i)].canonical = world->models.at[i].canonical_link;
	}
	frames_resolve(&load->frames, model_report_frame, load);
	model_place_and_links(load);
	model_place_deferred(load);
	model_place_parts(load);
	load_place_joints(load);
	model_check_joints(load);
	model_place_sensors(load);
	model_place_friction(load);
}
