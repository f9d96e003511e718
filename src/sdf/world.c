/* Reads worlds: the elements that belong to the world itself, and the order of the passes. */
#include "base/parse.h"
#include "sdf/foreign.h"
#include "sdf/include.h"
#include "sdf/load.h"
#include "sdf/menge.h"
#include "sdf/xml.h"

#include <string.h>

static struct sdf_plugin sdf_world_plugin_of(const struct sdf_element *element, uint32_t model, uint32_t link)
{
	const char *name = sdf_attribute(element, "name"), *filename = sdf_attribute(element, "filename");
	return (struct sdf_plugin){.name = name ? name : "",
		.filename = filename ? filename : "",
		.model = model,
		.link = link,
		.element = element};
}

static void sdf_world_load_actor_plugins(struct load *load, struct sdf_actor *actor)
{
	actor->plugin_first = load->world->actor_plugins.count;
	for (const struct sdf_element *at = sdf_child(actor->element, "plugin", NULL); at;
		at = sdf_child(actor->element, "plugin", at)) {
		if (!load_room(load, at, load->world->actor_plugins.count))
			return;
		vec_push(&load->world->actor_plugins, sdf_world_plugin_of(at, SDF_NONE, SDF_NONE));
		load->world->actor_plugins.at[actor->plugin_first + actor->plugin_count++].in_actor = true;
	}
}

static void sdf_world_load_actor(struct load *load, const struct sdf_element *element)
{
	const char *relative_to;
	struct sdf_actor actor = {.name = load_name(load, element), .line = element->line, .element = element};
	if (!load_room(load, element, load->world->actors.count))
		return;
	actor.in_world = load_pose(load, element, &relative_to);
	load_defer(load,
		(struct load_placing){LOAD_ACTOR, load->world->actors.count, FRAMES_WORLD, relative_to, element, NULL});
	sdf_world_load_actor_plugins(load, &actor);
	vec_push(&load->world->actors, actor);
}

/* Systems tell the plug-ins of a model apart by their elements; those of nested models may be one, if they are equal.
 */
static const struct sdf_element *sdf_world_own_element(
	struct load *load, const struct sdf_element *element, uint32_t model)
{
	if (model == SDF_NONE || load->world->models.at[model].parent == SDF_NONE)
		return element;
	struct sdf_element *own = arena_new(&load->sdf->arena, struct sdf_element);
	*own = *element;
	return own;
}

void load_plugin(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t link)
{
	element = sdf_world_own_element(load, element, model);
	load_check_label(load, element);
	load_check_temperature(load, element);
	if (load_room(load, element, load->world->plugins.count))
		vec_push(&load->world->plugins, sdf_world_plugin_of(element, model, link));
}

static void sdf_world_load_solver(struct load *load, const struct sdf_element *ode, struct sdf_physics *physics)
{
	const struct sdf_element *solver = sdf_child(ode, "solver", NULL);
	const struct sdf_element *constraints = sdf_child(ode, "constraints", NULL);
	physics->solver = sdf_child_text(solver, "type");
	load_count(load, solver, "iters", 0, SDF_ITERATIONS_MAX, &physics->iterations);
	load_double(load, solver, "sor", 0, 1e6, &physics->sor);
	load_double(load, constraints, "cfm", 0, 1e6, &physics->cfm);
	load_double(load, constraints, "erp", 0, 1, &physics->erp);
	load_double(load, constraints, "contact_max_correcting_vel", 0, INFINITY, &physics->contact_max_correcting_vel);
	load_double(load, constraints, "contact_surface_layer", 0, SDF_LENGTH_MAX, &physics->contact_surface_layer);
}

/* The profile marked as default, else the first. */
static const struct sdf_element *sdf_world_chosen_physics(const struct sdf_element *world)
{
	const struct sdf_element *first = sdf_child(world, "physics", NULL);
	for (const struct sdf_element *at = first; at; at = sdf_child(world, "physics", at)) {
		const char *text = sdf_attribute(at, "default");
		bool chosen = false;
		if (text && parse_bool(text, &chosen) && chosen)
			return at;
	}
	return first;
}

static void sdf_world_load_physics(struct load *load, const struct sdf_element *element, struct sdf_physics *physics)
{
	*physics = (struct sdf_physics){.max_step_size = 0.001,
		.real_time_factor = 1,
		.real_time_update_rate = 1000,
		.max_contacts = 20,
		.iterations = 50,
		.sor = 1.3,
		.erp = 0.2,
		.contact_max_correcting_vel = 100,
		.contact_surface_layer = 0.001,
		.element = element};
	double step = physics->max_step_size;
	load_double(load, element, "max_step_size", 0, 1e6, &step);
	if (step >= SDF_STEP_MIN)
		physics->max_step_size = step;
	else
		load_error(load, sdf_child(element, "max_step_size", NULL),
			"<max_step_size> is %g: expected %g s or more", step, SDF_STEP_MIN);
	load_double(load, element, "real_time_factor", -1e9, 1e9, &physics->real_time_factor);
	physics->real_time_factor = MAX(physics->real_time_factor, 0);
	load_double(load, element, "real_time_update_rate", 0, 1e12, &physics->real_time_update_rate);
	load_uint(load, element, "max_contacts", &physics->max_contacts);
	sdf_world_load_solver(load, sdf_child(element, "ode", NULL), physics);
}

static void sdf_world_load_values(struct load *load, const struct sdf_element *element, struct sdf_world *world)
{
	world->gravity = (struct vec3){0, 0, -9.8};
	const struct sdf_element *physics = sdf_world_chosen_physics(element);
	sdf_world_load_physics(load, physics, &world->physics);
	/* before 1.6 gravity was a property of the physics */
	if (!sdf_child(element, "gravity", NULL) && load->version < 106)
		load_vec3(load, physics, "gravity", -1e6, 1e6, &world->gravity);
	load_vec3(load, element, "gravity", -1e6, 1e6, &world->gravity);
	load_vec3(load, sdf_child(element, "wind", NULL), "linear_velocity", -SDF_WIND_MAX, SDF_WIND_MAX, &world->wind);
	load_surroundings(load, element, physics, &world->surroundings);
}

static void sdf_world_load_children(struct load *load, const struct sdf_element *element)
{
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "model"))
			load_model(load, child, SDF_NONE, FRAMES_WORLD, false);
		else if (xml_is(child, "light"))
			load_light(load, child, SDF_NONE, FRAMES_WORLD);
		else if (xml_is(child, "actor"))
			sdf_world_load_actor(load, child);
		else if (xml_is(child, "frame"))
			load_frame(load, child, SDF_NONE, FRAMES_WORLD);
		else if (xml_is(child, "include")) /* left out: it may stand for any element */
			load_declare(load, (struct frames_frame){.kind = FRAMES_MISSING,
						   .name = include_name(load, child),
						   .element = child,
						   .scope = FRAMES_WORLD,
						   .raw = POSE_IDENTITY});
	}
	/* after those of the models, which must be contiguous */
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "joint"))
			load_joint(load, child, SDF_NONE, FRAMES_WORLD);
		else if (xml_is(child, "plugin"))
			load_plugin(load, child, SDF_NONE, SDF_NONE);
	}
}

void load_begin(struct load *load, struct sdf_world *world, const struct sdf_element *element)
{
	load->world = world;
	load->placings.count = 0;
	load->model_frames.count = load->link_frames.count = load->joint_frames.count = load->frame_frames.count = 0;
	load->joint_dropped.count = load->axes.count = 0;
	frames_fini(&load->frames);
	frames_open(&load->frames, SDF_NONE, SDF_NONE, element);
}

static void sdf_world_finish(struct load *load, struct sdf_world *world)
{
	load_place(load);
	load_visual_solids(load);
	vec_trim(&world->models);
	vec_trim(&world->links);
	vec_trim(&world->collisions);
	vec_trim(&world->visuals);
	vec_trim(&world->joints);
	vec_trim(&world->plugins);
	vec_push(&load->sdf->worlds, *world);
	load->world = NULL;
}

void load_world(struct load *load, const struct sdf_element *element)
{
	struct sdf_world world = {.name = load_name(load, element), .line = element->line};
	for (uint32_t i = 0; i < load->sdf->worlds.count; i++)
		if (!strcmp(load->sdf->worlds.at[i].name, world.name))
			load_error(load, element, "a second <world> \"%.80s\": expected different names", world.name);
	load_begin(load, &world, element);
	element = foreign_world(load, include_expand(load, menge_world(load, element)));
	world.element = element;
	sdf_world_load_values(load, element, &world);
	load_find_far(load, element);
	sdf_world_load_children(load, element);
	load->far = false;
	sdf_world_finish(load, &world);
}

void load_bare(struct load *load, const struct sdf_element *element)
{
	struct sdf_world world = {.name = "default", .line = element->line};
	load_begin(load, &world, element);
	sdf_world_load_values(load, NULL, &world);
	load->sdf->bare_model = true;
	if (xml_is(element, "model"))
		load_model(load, element, SDF_NONE, FRAMES_WORLD, false);
	else if (xml_is(element, "light"))
		load_light(load, element, SDF_NONE, FRAMES_WORLD);
	else
		sdf_world_load_actor(load, element);
	sdf_world_finish(load, &world);
}
