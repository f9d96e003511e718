/* Compiles the world: the top-level models in file order. For each model, fixed joints weld its links into bodies
 * (weld.c), its collisions become geoms, body by body, and its joints between different bodies follow. Then come the
 * levels (levels.c). */
#include "scene/bend.h"
#include "scene/compile.h"
#include "scene/light.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void scene_warn(struct compile *c, const char *kind, const char *format, ...)
{
	if (kind && !map_add(&c->warned, kind, 0))
		return;
	va_list args;
	char text[512];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	vec_push(&c->warnings, arena_strdup(c->arena, text));
}

/* Whether no part of a top-level model can move: it is static, or holds static models alone. */
static bool scene_is_fixed(const struct compile *c, uint32_t top)
{
	const struct sdf_model *model = &c->sdf->models.at[top];
	bool fixed = model->is_static || model->link_count;
	for (uint32_t i = model->link_first; i < model->link_first + model->link_count && fixed; i++)
		fixed = c->sdf->models.at[c->sdf->links.at[i].model].is_static;
	return fixed;
}

static void scene_find_measured_joints(struct compile *c)
{
	for (uint32_t i = 0; i < c->sdf->sensors.count; i++) {
		const struct sdf_sensor *sensor = &c->sdf->sensors.at[i];
		if (sensor->kind == SDF_FORCE_TORQUE && sensor->joint != SDF_NONE)
			c->joint_measured[sensor->joint] = true;
	}
}

/* --- geoms ------------------------------------------------------------------------------------------------------ */

/* Whether a link never moves by itself: its shapes may then be surfaces, which have no inside. */
static bool scene_stands(const struct compile *c, uint32_t body)
{
	return body == SCENE_NONE || (c->bodies.at[body].kinematic && !c->bodies.at[body].commanded);
}

static void scene_add_link_geoms(struct compile *c, uint32_t model, uint32_t sdf_link, uint32_t body)
{
	const struct sdf_link *link = &c->sdf->links.at[sdf_link];
	for (uint32_t i = link->collision_first; i < link->collision_first + link->collision_count; i++) {
		const struct sdf_collision *from = &c->sdf->collisions.at[i];
		struct scene_geom geom = {
			.name = from->name,
			.model = model,
			.link = c->link_index[sdf_link],
			.body = body,
			.surface = from->surface,
			.friction_link = from->surface->fdir1_link == SDF_NONE
						 ? SCENE_NONE
						 : c->link_index[from->surface->fdir1_link],
			.max_contacts = from->max_contacts,
		};
		geom.in_body = body == SCENE_NONE ? sdf_collision_in_world(c->sdf, i)
						  : pose_mul(c->links.at[geom.link].in_body, *from->in_link);
		c->of_collision.count = 0;
		scene_add_shape(c, from, scene_stands(c, body), geom, &c->of_collision);
		for (uint32_t k = 0; k < c->of_collision.count; k++)
			vec_push(&c->geoms, c->of_collision.at[k]);
	}
}

/* Body by body, so that a body's geoms are contiguous. */
static void scene_add_geoms(
	struct compile *c, uint32_t model, bool is_static, uint32_t first, uint32_t count, uint32_t body_first)
{
	if (is_static) {
		for (uint32_t i = first; i < first + count; i++)
			scene_add_link_geoms(c, model, i, SCENE_NONE);
		return;
	}
	for (uint32_t b = body_first; b < c->bodies.count; b++) {
		c->bodies.at[b].geom_first = c->geoms.count;
		for (uint32_t i = first; i < first + count; i++)
			if (c->links.at[c->link_index[i]].body == b)
				scene_add_link_geoms(c, model, i, b);
		c->bodies.at[b].geom_count = c->geoms.count - c->bodies.at[b].geom_first;
	}
}

static troupe_status scene_check_positions(
	const struct compile *c, const struct scene_model *model, const char *file, struct troupe_error *error)
{
	for (uint32_t b = model->body_first; b < c->bodies.count; b++) {
		struct vec3 p = c->bodies.at[b].reference.p;
		if (!vec3_within(p, SCENE_POSITION_MAX))
			return fail(error, TROUPE_EWORLD,
				"%s:%u: model '%s' can move and is at %g %g %g: expected coordinates within %g m", file,
				model->line, model->name, p.x, p.y, p.z, SCENE_POSITION_MAX);
	}
	return TROUPE_OK;
}

/* --- models ----------------------------------------------------------------------------------------------------- */

static troupe_status scene_add_model(struct compile *c, uint32_t index, struct troupe_error *error)
{
	const struct sdf_model *from = &c->sdf->models.at[index];
	bool fixed = c->fixed[index];
	struct scene_model model = {
		.name = from->name,
		.line = from->line,
		.is_static = fixed,
		.may_sleep = from->allow_auto_disable,
		.level = SCENE_NONE,
		.body_first = c->bodies.count,
		.geom_first = c->geoms.count,
		.joint_first = c->joints.count,
		.link_first = c->links.count,
		.link_count = from->link_count,
		.in_body = from->in_world,
		.from = c->sdf,
		.sdf = index,
	};
	uint32_t self = c->models.count;
	if (!fixed)
		scene_add_bodies(c, self, from->link_first, from->link_count);
	scene_add_links(c, self, fixed, from->link_first, from->link_count);
	scene_add_geoms(c, self, fixed, from->link_first, from->link_count, model.body_first);
	if (!fixed)
		for (uint32_t i = from->joint_first; i < from->joint_first + from->joint_count; i++)
			scene_add_joint(c, i, from->file, self);
	model.body_count = c->bodies.count - model.body_first;
	model.geom_count = c->geoms.count - model.geom_first;
	model.joint_count = c->joints.count - model.joint_first;
	if (model.body_count) {
		uint32_t link = from->canonical_link == SDF_NONE ? from->link_first : from->canonical_link;
		uint32_t body = c->links.at[c->link_index[link]].body;
		model.frame_body = body - model.body_first;
		model.in_body = pose_mul(pose_inverse(c->bodies.at[body].reference), from->in_world);
		troupe_status status = scene_check_positions(c, &model, from->file, error);
		if (status)
			return status;
	} else {
		model.is_static = true; /* no part of it could move */
	}
	map_add(&c->names, model.name, self);
	vec_push(&c->models, model);
	return TROUPE_OK;
}

static void scene_find_top_models(struct compile *c)
{
	for (uint32_t i = 0; i < c->sdf->models.count; i++) {
		uint32_t parent = c->sdf->models.at[i].parent;
		c->top[i] = parent == SDF_NONE ? i : c->top[parent];
		c->fixed[i] = parent == SDF_NONE && scene_is_fixed(c, i);
	}
}

/* Handles an error of a model. With options->on_error, reports it and returns TROUPE_OK, so that the other models are
 * compiled too; else returns its status. */
static troupe_status scene_tell(
	struct compile *c, const struct scene_options *options, const struct troupe_error *error)
{
	if (!options->on_error)
		return error->status;
	options->on_error(options->ctx, error->text);
	if (!c->first.status)
		c->first = *error;
	return TROUPE_OK;
}

static troupe_status scene_add_models(
	struct compile *c, const struct scene_options *options, struct troupe_error *error)
{
	scene_find_top_models(c);
	scene_find_measured_joints(c);
	scene_weld_links(c);
	for (uint32_t i = 0; i < c->sdf->models.count; i += c->sdf->models.at[i].model_count) {
		troupe_status status = scene_add_model(c, i, error);
		if (status && scene_tell(c, options, error))
			return status;
	}
	troupe_status actors = scene_add_actors(c, error);
	if (actors && scene_tell(c, options, error))
		return actors;
	if (c->first.status) { /* the next parts need all models without errors */
		*error = c->first;
		return error->status;
	}
	c->world_joint_first = c->joints.count;
	for (uint32_t i = 0; i < c->sdf->joints.count; i++) {
		const struct sdf_joint *joint = &c->sdf->joints.at[i];
		if (joint->model != SDF_NONE || (scene_in_world(c, joint->parent) && scene_in_world(c, joint->child)))
			continue;
		uint32_t link = scene_in_world(c, joint->child) ? joint->parent : joint->child;
		uint32_t model = c->links.at[c->link_index[link]].model;
		scene_add_joint(c, i, c->sdf->models.at[c->sdf->links.at[link].model].file, model);
	}
	return scene_add_mimics(c, error);
}

/* --- the whole -------------------------------------------------------------------------------------------------- */

static void scene_compile_init(
	struct compile *c, const struct sdf_world *world, struct scene *scene, struct scene_owned *own)
{
	uint32_t links = world->links.count;
	*c = (struct compile){.scene = scene, .sdf = world, .own = own, .arena = &own->arena};
	c->top = arena_array(&c->scratch, uint32_t, world->models.count);
	c->fixed = arena_array(&c->scratch, bool, world->models.count);
	c->weld = arena_array(&c->scratch, uint32_t, links);
	c->body_of_root = arena_array(&c->scratch, uint32_t, links);
	c->link_index = arena_array(&c->scratch, uint32_t, links);
	c->link_static = arena_array(&c->scratch, bool, links);
	c->link_held = arena_array(&c->scratch, bool, links);
	c->joint_measured = arena_array(&c->scratch, bool, c->sdf->joints.count);
	c->link_fixed_by = arena_array(&c->scratch, const char *, links);
}

static void scene_compile_fini(struct compile *c)
{
	vec_free(&c->models);
	vec_free(&c->bodies);
	vec_free(&c->geoms);
	vec_free(&c->joints);
	vec_free(&c->links);
	vec_free(&c->levels);
	vec_free(&c->warnings);
	vec_free(&c->of_collision);
	vec_free(&c->solids);
	map_fini(&c->warned);
	map_fini(&c->names);
	arena_fini(&c->scratch);
}

/* Moves the arrays that grew during compilation to the scene, which owns them from now on. */
static void scene_hand_over(struct compile *c)
{
	struct scene *scene = c->scene;
	scene->levels = c->levels.at;
	scene->level_count = c->levels.count;
	c->levels.at = NULL;
	for (uint32_t i = 0; i < c->warnings.count; i++)
		vec_push(&scene->warnings, c->warnings.at[i]);
}

static void scene_keep_warning(void *ctx, const char *text)
{
	scene_warn(ctx, NULL, "%s", text);
}

static bool scene_has_far(const struct sdf_world *world)
{
	bool has = false;
	for (uint32_t i = 0; i < world->collisions.count && !has; i++)
		has = world->collisions.at[i].shape->far != NULL;
	return has;
}

troupe_status scene_create(const struct sdf_world *world, const struct scene_options *options, struct scene **ret_scene,
	struct troupe_error *error)
{
	struct scene *scene = mem_alloc(sizeof *scene);
	scene->sdf = world;
	scene->name = world->name;
	scene->gravity = world->gravity;
	scene->earth = world->surroundings.earth;
	scene->wind = world->wind;
	scene->step_s = world->physics.max_step_size;
	scene->real_time_factor = world->physics.real_time_factor;
	scene->secondaries = SCENE_NONE;
	scene_add_lights(scene, world);
	struct compile c;
	if (scene_has_far(world))
		scene->unread = unread_create(&options->unread);
	scene->own = mem_alloc(sizeof *scene->own);
	scene_compile_init(&c, world, scene, scene->own);
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	troupe_status status = scene_add_models(&c, options, error);
	if (!status) {
		scene_install(&c, NULL);
		scene->file_last_id = scene->last_id;
		for (uint32_t j = 0; j < scene->joint_count; j++)
			bend_find_begin(scene, j, scene_keep_warning, &c);
		status = scene_add_levels(&c, options, error);
	}
	scene_hand_over(&c);
	scene_compile_fini(&c);
	if (status) {
		scene_destroy(scene);
		return status;
	}
	*ret_scene = scene;
	return TROUPE_OK;
}

/* --- a model by itself -------------------------------------------------------------------------------------------- */

struct scene_parts {
	struct compile compiled;
};

void scene_parts_destroy(struct scene_parts *parts)
{
	if (!parts)
		return;
	scene_free_owned(parts->compiled.own);
	scene_compile_fini(&parts->compiled);
	free(parts);
}

/* Hulls and surfaces are made from meshes alone. A hull or surface about which there was a warning is made again,
 * because the warning names the model. */
static void scene_use_again(struct compile *c, struct scene_parts *before)
{
	struct compile *old = &before->compiled;
	if (!old->warnings.count) {
		c->own->hulls = old->own->hulls;
		c->own->trimeshes = old->own->trimeshes;
		c->solids = old->solids;
		memset(&old->own->hulls, 0, sizeof old->own->hulls);
		memset(&old->own->trimeshes, 0, sizeof old->own->trimeshes);
		memset(&old->solids, 0, sizeof old->solids);
	}
	scene_parts_destroy(before);
}

troupe_status scene_compile(
	const struct sdf *sdf, struct scene_parts *before, struct scene_parts **ret_parts, struct troupe_error *error)
{
	struct scene_options options = {0};
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	struct scene_parts *parts = mem_alloc(sizeof *parts);
	scene_compile_init(&parts->compiled, &sdf->worlds.at[0], NULL, mem_alloc(sizeof(struct scene_owned)));
	if (before)
		scene_use_again(&parts->compiled, before);
	troupe_status status = scene_add_models(&parts->compiled, &options, error);
	if (!status && parts->compiled.models.count != 1)
		status = fail(error, TROUPE_EWORLD,
			"%s: nothing that can be added: expected one model, or an actor with a script or plug-in",
			sdf->path);
	if (status)
		scene_parts_destroy(parts);
	else
		*ret_parts = parts;
	return status;
}

troupe_status scene_add(struct scene *scene, struct scene_parts *parts, struct sdf *sdf, const struct scene_places *at,
	uint32_t *ret_model, const char **ret_warning, struct troupe_error *error)
{
	struct compile *c = &parts->compiled;
	c->scene = scene;
	uint32_t model = scene_install(c, at);
	if (model == SCENE_NONE)
		return fail(error, TROUPE_EINVAL, "%s: its places are taken", sdf->path);
	const struct scene_model *m = &scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		bend_find_begin(scene, j, scene_keep_warning, c);
	*ret_warning = c->warnings.count ? c->warnings.at[0] : "";
	*ret_model = model;
	scene->models[model].created = true;
	scene->models[model].owned = c->own;
	c->own->sdf = sdf;
	c->own = NULL;
	scene_parts_destroy(parts);
	return TROUPE_OK;
}

void scene_destroy(struct scene *scene)
{
	if (!scene)
		return;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		free(scene->models[m].first);
		scene_free_owned(scene->models[m].owned);
	}
	free(scene->models);
	free(scene->bodies);
	free(scene->geoms);
	free(scene->joints);
	free(scene->links);
	free(scene->levels);
	for (uint32_t i = 0; i < scene->light_count; i++)
		free(scene->lights[i].name);
	free(scene->lights);
	ranges_fini(&scene->model_ranges);
	ranges_fini(&scene->body_ranges);
	ranges_fini(&scene->geom_ranges);
	ranges_fini(&scene->joint_ranges);
	ranges_fini(&scene->link_ranges);
	vec_free(&scene->surfaces);
	vec_free(&scene->world_joints);
	vec_free(&scene->attachments);
	bvh_fini(&scene->static_tree);
	map_fini(&scene->model_by_name);
	vec_free(&scene->warnings);
	unread_destroy(scene->unread);
	scene_free_owned(scene->own);
	free(scene);
}

uint32_t scene_find_model(const struct scene *scene, const char *name)
{
	uint32_t index = SCENE_NONE;
	map_find(&scene->model_by_name, name, &index);
	return index;
}

uint32_t scene_find_id(const struct scene *scene, uint64_t id)
{
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (id && scene->models[m].id == id && !scene->models[m].absent)
			return m;
	return SCENE_NONE;
}

/* "J", "nested::J" and "model::nested::J" all name joint J of `model`. */
static bool scene_names(const char *scoped, const char *model, const char *name)
{
	if (!strcmp(scoped, name))
		return true;
	size_t length = strlen(model);
	return !strncmp(scoped, model, length) && !strncmp(scoped + length, "::", 2) &&
	       !strcmp(scoped + length + 2, name);
}

uint32_t scene_find_link(const struct scene *scene, uint32_t model, const char *name)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t i = m->link_first; i < m->link_first + m->link_count; i++)
		if (scene_names(scene->links[i].scoped, m->name, name))
			return i;
	return SCENE_NONE;
}

uint32_t scene_find_joint(const struct scene *scene, uint32_t model, const char *name)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t i = m->joint_first; i < m->joint_first + m->joint_count; i++)
		if (scene_names(scene->joints[i].scoped, m->name, name))
			return i;
	return SCENE_NONE;
}
