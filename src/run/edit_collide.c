/* Switches collisions off and on while the world runs: of a model, of a link, or one collision.
 *
 * A collision that is off stays in the scene, but its box is empty (scene_switch_geom()). All that looks for what may
 * touch begins with boxes, so nothing finds the collision: no contact, no pair of models, no static neighbour. A model
 * of which no collision is on is treated as a model without collisions. Masses stay as they are.
 *
 * The switch is no word of the state, because it hardly ever changes: it is kept like the poses of static models, in
 * the scene, in saved states and in the hash of what was edited. */
#include "run/edit_internal.h"

#include <stdlib.h>
#include <string.h>

struct edit_collide_part { /* of the world: the collisions of a model, or of one of its links, or one collision */
	uint32_t model;
	uint32_t link;         /* SCENE_NONE: all */
	const char *collision; /* its name in the link; NULL: all. A mesh of several parts has a geom for each. */
};

static bool edit_collide_is_in(const struct scene *scene, const struct edit_collide_part *part, uint32_t geom)
{
	return (part->link == SCENE_NONE || scene->geoms[geom].link == part->link) &&
	       (!part->collision || !strcmp(scene->geoms[geom].name, part->collision));
}

static uint32_t edit_collide_count_geoms(const struct scene *scene, const struct edit_collide_part *part)
{
	const struct scene_model *m = &scene->models[part->model];
	uint32_t count = 0;
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		count += edit_collide_is_in(scene, part, g);
	return count;
}

/* Finds the collision "model::link::collision" or "model::nested::link::collision". */
static bool edit_collide_find_collision(const struct scene *scene, const char *scoped, struct edit_collide_part *part)
{
	const char *last = scoped;
	for (const char *next = scoped; (next = strstr(next, "::")); next += 2)
		last = next;
	char *link = mem_printf("%.*s", (int)(last - scoped), scoped);
	struct edit_collide_part found = {part->model, scene_find_link(scene, part->model, link), last + 2};
	free(link);
	if (found.link == SCENE_NONE || !edit_collide_count_geoms(scene, &found))
		return false;
	*part = found;
	return true;
}

/* Finds "model::link" or "model::link::collision", with the names of nested models after the first. */
static troupe_status edit_collide_find_scoped(const struct edit *edit, const Gz__Msgs__Entity *entity,
	struct edit_collide_part *part, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	const char *scoped = entity->name, *rest = strstr(scoped, "::");
	Gz__Msgs__Entity__Type type = entity->type;
	if (entity->id)
		return fail(error, TROUPE_ECOMMAND,
			"links and collisions have no ids: expected a scoped name, model::link or "
			"model::link::collision");
	if (!rest)
		return fail(error, TROUPE_ECOMMAND, "'%.100s': expected a scoped name, model::link or %s", scoped,
			"model::link::collision");
	char *name = mem_printf("%.*s", (int)(rest - scoped), scoped);
	troupe_status status = edit_find(edit, name, &part->model, error);
	free(name);
	if (status)
		return status;
	if (type != GZ__MSGS__ENTITY__TYPE__COLLISION)
		part->link = scene_find_link(scene, part->model, scoped);
	if (part->link != SCENE_NONE ||
		(type != GZ__MSGS__ENTITY__TYPE__LINK && edit_collide_find_collision(scene, scoped, part)))
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "model '%.100s' has no %s '%.100s'", scene->models[part->model].name,
		type == GZ__MSGS__ENTITY__TYPE__LINK        ? "link"
		: type == GZ__MSGS__ENTITY__TYPE__COLLISION ? "collision"
							    : "link or collision",
		rest + 2);
}

/* Without a type, colons in the name mean a link or a collision. */
static troupe_status edit_collide_find_part(const struct edit *edit, const Gz__Msgs__Entity *entity,
	struct edit_collide_part *part, struct troupe_error *error)
{
	*part = (struct edit_collide_part){SCENE_NONE, SCENE_NONE, NULL};
	switch (entity->type) {
	case GZ__MSGS__ENTITY__TYPE__NONE:
		if (strstr(entity->name, "::"))
			return edit_collide_find_scoped(edit, entity, part, error);
		return edit_find_by_id(edit, entity->id, entity->name, &part->model, error);
	case GZ__MSGS__ENTITY__TYPE__MODEL:
	case GZ__MSGS__ENTITY__TYPE__ACTOR:
		return edit_find_by_id(edit, entity->id, entity->name, &part->model, error);
	case GZ__MSGS__ENTITY__TYPE__LINK:
	case GZ__MSGS__ENTITY__TYPE__COLLISION:
		return edit_collide_find_scoped(edit, entity, part, error);
	default:
		return fail(error, TROUPE_ECOMMAND, "type %d: it has no collisions: expected MODEL, LINK or COLLISION",
			(int)entity->type);
	}
}

static bool edit_collide_switch_geom(struct edit *edit, uint32_t geom, bool on)
{
	if (edit->shared->scene->geoms[geom].off != on)
		return false;
	scene_switch_geom(edit->shared->scene, geom, on);
	edit_note(edit, EDIT_COLLISION, geom);
	return true;
}

static troupe_status edit_collide_switch_part(struct edit *edit, const Gz__Msgs__Entity *entity, bool on,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	bool changed = false;
	struct edit_collide_part part;
	troupe_status status = edit_collide_find_part(edit, entity, &part, error);
	if (status)
		return status;
	edit_settle(edit, part.model);
	const struct scene_model *m = &scene->models[part.model];
	const char *name = part.link == SCENE_NONE ? m->name : scene->links[part.link].scoped;
	if (!edit_collide_count_geoms(scene, &part))
		return fail(error, TROUPE_ECOMMAND, "'%.100s' has no collisions", name);
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		changed |= edit_collide_is_in(scene, &part, g) && edit_collide_switch_geom(edit, g, on);
	if (changed) {
		indices_add(&edit->edited, part.model);
		edit_effect(edit, EDIT_RESHAPED, part.model);
	}
	if (part.collision)
		edit_say(note, "collision '%.100s' of '%.100s' %s", part.collision, name, on ? "enabled" : "disabled");
	else
		edit_say(note, "collisions of '%.100s' %s", name, on ? "enabled" : "disabled");
	return TROUPE_OK;
}

troupe_status edit_enable_collision(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	return edit_collide_switch_part(edit, entity, true, note, error);
}

troupe_status edit_disable_collision(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	return edit_collide_switch_part(edit, entity, false, note, error);
}

bool edit_enable_all_collisions(struct edit *edit, uint32_t model)
{
	const struct scene_model *m = &edit->shared->scene->models[model];
	bool changed = false;
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		changed |= edit_collide_switch_geom(edit, g, true);
	return changed;
}
