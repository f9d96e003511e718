/* Reads links and their parts: collisions and visuals. */
#include "sdf/load.h"
#include "sdf/xml.h"

#include <string.h>

static void sdf_link_load_collision(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t scope)
{
	const char *relative_to;
	struct sdf_collision collision = {.name = load_name(load, element),
		.link = link,
		.line = element->line,
		.max_contacts = 10,
		.element = element};
	if (!load_room(load, element, load->world->collisions.count))
		return;
	const struct pose in_link = load_pose(load, element, &relative_to);
	collision.in_link = load_share(load, &in_link, sizeof in_link);
	struct sdf_shape shape = load_shape(load, sdf_child(element, "geometry", NULL));
	load_solid(load, true, &shape);
	collision.shape = load_share(load, &shape, sizeof shape);
	collision.surface = load_surface(load, element, &collision.max_contacts);
	load_double(load, element, "laser_retro", -INFINITY, INFINITY, &collision.laser_retro);
	load_defer(load, (struct load_placing){
				 LOAD_COLLISION, load->world->collisions.count, scope, relative_to, element, NULL});
	vec_push(&load->world->collisions, collision);
}

static void sdf_link_load_visual(struct load *load, const struct sdf_element *element, uint32_t link, uint32_t scope)
{
	const char *relative_to;
	struct sdf_visual visual = {
		.name = load_name(load, element), .link = link, .line = element->line, .element = element};
	if (!load_room(load, element, load->world->visuals.count))
		return;
	visual.in_link = load_pose(load, element, &relative_to);
	visual.shape = load_shape(load, sdf_child(element, "geometry", NULL));
	load_looks(load, &visual);
	load_defer(load,
		(struct load_placing){LOAD_VISUAL, load->world->visuals.count, scope, relative_to, element, NULL});
	vec_push(&load->world->visuals, visual);
}

/* Reports two collisions, or two visuals, of one link with the same name: systems could not distinguish them. */
static void sdf_link_check_unique(struct load *load, const struct sdf_element *link, const char *kind)
{
	struct map names = {0};
	for (const struct sdf_element *at = sdf_child(link, kind, NULL); at; at = sdf_child(link, kind, at)) {
		const char *name = sdf_attribute(at, "name");
		if (name && *name && !map_add(&names, name, 0))
			load_error(load, at, "a second <%s> \"%.80s\" in the same link: expected different names", kind,
				name);
	}
	map_fini(&names);
}

/* Most links have only one element of a kind; a map would be a waste for them. */
static bool sdf_link_has_several(const struct sdf_element *link, const char *kind)
{
	const struct sdf_element *first = sdf_child(link, kind, NULL);
	return first && sdf_child(link, kind, first);
}

static void sdf_link_load_children(
	struct load *load, const struct sdf_element *element, uint32_t index, uint32_t model, uint32_t scope)
{
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "collision"))
			sdf_link_load_collision(load, child, index, scope);
		else if (xml_is(child, "visual"))
			sdf_link_load_visual(load, child, index, scope);
		else if (xml_is(child, "sensor"))
			load_sensor(load, child, index, SDF_NONE, scope);
		else if (xml_is(child, "light"))
			load_light(load, child, index, scope);
		else if (xml_is(child, "plugin"))
			load_plugin(load, child, model, index);
	}
	static const char *const kinds[] = {"collision", "visual", "sensor"};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (sdf_link_has_several(element, kinds[i]))
			sdf_link_check_unique(load, element, kinds[i]);
}

void load_link(struct load *load, const struct sdf_element *element, uint32_t model, uint32_t scope)
{
	struct sdf_world *world = load->world;
	const struct sdf_model *owner = &world->models.at[model];
	const struct sdf_element *decay = sdf_child(element, "velocity_decay", NULL);
	uint32_t index = world->links.count;
	const char *relative_to;
	if (!load_room(load, element, index))
		return;
	struct sdf_link link = {.name = load_name(load, element),
		.model = model,
		.line = element->line,
		.gravity = true,
		.self_collide = owner->self_collide,
		.wind = owner->wind,
		.collision_first = world->collisions.count,
		.visual_first = world->visuals.count,
		.light_first = world->lights.count,
		.element = element};
	link.scoped = arena_printf(&load->sdf->arena, "%s::%s", owner->scoped, link.name);
	struct pose raw = load_pose(load, element, &relative_to);
	link.inertial = load_inertial(load, element, owner->is_static);
	load_bool(load, element, "gravity", &link.gravity);
	load_bool(load, element, "self_collide", &link.self_collide);
	load_bool(load, element, "kinematic", &link.kinematic);
	load_bool(load, element, "enable_wind", &link.wind);
	load_double(load, decay, "linear", 0, 1e9, &link.linear_damping);
	load_double(load, decay, "angular", 0, 1e9, &link.angular_damping);
	vec_push(&load->link_frames, load_declare(load, (struct frames_frame){.kind = FRAMES_LINK,
								.name = link.name,
								.element = element,
								.scope = scope,
								.link = index,
								.relative_to = relative_to,
								.raw = raw}));
	vec_push(&world->links, link);
	load->owner = owner->scoped;
	sdf_link_load_children(load, element, index, model, scope);
	load->owner = NULL;
	world->links.at[index].collision_count = world->collisions.count - link.collision_first;
	world->links.at[index].visual_count = world->visuals.count - link.visual_first;
	world->links.at[index].light_count = world->lights.count - link.light_first;
}
