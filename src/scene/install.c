/* Places in the scene's arrays: compiled parts get a place and move into the arrays; parts of removed models leave
 * their places to others. Indices in compiled parts count from the first part of their compilation, so each index is
 * translated to a place. */
#include "scene/compile.h"

#include <stdlib.h>
#include <string.h>

/* --- room ------------------------------------------------------------------------------------------------------- */

static uint32_t install_grown(uint32_t room, uint32_t need)
{
	return need <= room ? room : MAX(need, room + room / 2);
}

#define FIT(array, room, need)                                                                                         \
	do {                                                                                                           \
		uint32_t more = install_grown(room, need);                                                             \
		(array) = mem_grow(array, (room) * sizeof *(array), more * sizeof *(array));                           \
		(room) = more;                                                                                         \
	} while (0)

static void install_fit(struct scene *scene)
{
	scene->model_count = scene->model_ranges.end;
	scene->body_count = scene->body_ranges.end;
	scene->geom_count = scene->geom_ranges.end;
	scene->joint_count = scene->joint_ranges.end;
	scene->link_count = scene->link_ranges.end;
	FIT(scene->models, scene->room.models, scene->model_count);
	FIT(scene->bodies, scene->room.bodies, scene->body_count);
	FIT(scene->geoms, scene->room.geoms, scene->geom_count);
	FIT(scene->joints, scene->room.joints, scene->joint_count);
	FIT(scene->links, scene->link_room, scene->link_count);
}

/* --- moving in ---------------------------------------------------------------------------------------------------- */

struct install_places { /* [compile.models] the places of each model and its parts */
	struct scene_model *at;
	uint32_t *slot;
};

static void install_take_places(struct compile *c, struct install_places *places)
{
	struct scene *scene = c->scene;
	for (uint32_t i = 0; i < c->models.count; i++) {
		struct scene_model *m = &places->at[i];
		*m = c->models.at[i];
		places->slot[i] = ranges_take(&scene->model_ranges, 1);
		m->body_first = ranges_take(&scene->body_ranges, m->body_count);
		m->geom_first = ranges_take(&scene->geom_ranges, m->geom_count);
		m->joint_first = ranges_take(&scene->joint_ranges, m->joint_count);
		m->link_first = ranges_take(&scene->link_ranges, m->link_count);
		m->id = ++scene->last_id;
		m->home_level = SCENE_NONE;
	}
}

static bool install_claim_places(struct compile *c, struct install_places *places, const struct scene_places *at)
{
	struct scene *scene = c->scene;
	struct scene_model *m = &places->at[0];
	struct {
		struct ranges *ranges;
		uint32_t first, count;
	} claims[] = {{&scene->model_ranges, at->model, 1},
		{&scene->body_ranges, at->body_first, c->models.at[0].body_count},
		{&scene->geom_ranges, at->geom_first, c->models.at[0].geom_count},
		{&scene->joint_ranges, at->joint_first, c->models.at[0].joint_count},
		{&scene->link_ranges, at->link_first, c->models.at[0].link_count}};
	for (size_t i = 0; i < ARRAY_LEN(claims); i++) {
		if (ranges_claim(claims[i].ranges, claims[i].first, claims[i].count))
			continue;
		while (i--)
			ranges_give(claims[i].ranges, claims[i].first, claims[i].count);
		return false;
	}
	*m = c->models.at[0];
	places->slot[0] = at->model;
	m->body_first = at->body_first;
	m->geom_first = at->geom_first;
	m->joint_first = at->joint_first;
	m->link_first = at->link_first;
	m->id = at->id;
	m->home_level = SCENE_NONE;
	return true;
}

static uint32_t install_shifted(uint32_t index, uint32_t from, uint32_t to)
{
	return index == SCENE_NONE ? SCENE_NONE : index - from + to;
}

static uint32_t install_place_of_body(const struct compile *c, const struct install_places *places, uint32_t body)
{
	if (body == SCENE_NONE)
		return SCENE_NONE;
	uint32_t model = c->bodies.at[body].model;
	return body - c->models.at[model].body_first + places->at[model].body_first;
}

/* The place of a joint of a model. Joints of the world itself neither follow others nor are followed. */
static uint32_t install_place_of_joint(const struct compile *c, const struct install_places *places, uint32_t joint)
{
	if (joint == SCENE_NONE)
		return SCENE_NONE;
	uint32_t model = c->joints.at[joint].model;
	return joint - c->models.at[model].joint_first + places->at[model].joint_first;
}

static void install_place_joint(
	const struct compile *c, const struct install_places *places, uint32_t from, uint32_t to)
{
	struct scene_joint *joint = &c->scene->joints[to];
	*joint = c->joints.at[from];
	joint->model = places->slot[joint->model];
	joint->parent = install_place_of_body(c, places, joint->parent);
	joint->child = install_place_of_body(c, places, joint->child);
	joint->reference = install_place_of_body(c, places, joint->reference);
	if (joint->mimic == scene_no_mimic)
		return;
	struct scene_mimic *mimic = arena_array(c->arena, struct scene_mimic, 2);
	for (uint32_t a = 0; a < 2; a++) {
		mimic[a] = joint->mimic[a];
		mimic[a].joint = install_place_of_joint(c, places, mimic[a].joint);
	}
	joint->mimic = mimic;
}

/* Surfaces are compared with their padding. So equal surfaces may look different; the only cost is one more entry. */
static uint32_t install_kind_of_surface(struct scene *scene, const struct sdf_surface *surface)
{
	uint32_t count = scene->surfaces.count;
	for (uint32_t i = 0; i < count; i++)
		if (!memcmp(&scene->surfaces.at[i], surface, sizeof *surface))
			return i;
	if (count == SCENE_SURFACES_MAX)
		return SCENE_NONE;
	vec_push(&scene->surfaces, *surface);
	return count;
}

static void install_move_in(struct compile *c, const struct install_places *places, uint32_t index)
{
	struct scene *scene = c->scene;
	const struct scene_model *from = &c->models.at[index], *to = &places->at[index];
	uint32_t slot = places->slot[index];
	for (uint32_t b = 0; b < from->body_count; b++) {
		struct scene_body body = c->bodies.at[from->body_first + b];
		body.model = slot;
		body.geom_first = install_shifted(body.geom_first, from->geom_first, to->geom_first);
		scene->bodies[to->body_first + b] = body;
	}
	for (uint32_t l = 0; l < from->link_count; l++) {
		struct scene_link link = c->links.at[from->link_first + l];
		link.model = slot;
		link.body = install_shifted(link.body, from->body_first, to->body_first);
		scene->links[to->link_first + l] = link;
	}
	for (uint32_t g = 0; g < from->geom_count; g++) {
		struct scene_geom geom = c->geoms.at[from->geom_first + g];
		geom.model = slot;
		geom.link = install_shifted(geom.link, from->link_first, to->link_first);
		geom.friction_link = install_shifted(geom.friction_link, from->link_first, to->link_first);
		geom.body = install_shifted(geom.body, from->body_first, to->body_first);
		geom.kind_of_surface = install_kind_of_surface(scene, geom.surface);
		scene->geoms[to->geom_first + g] = geom;
	}
	for (uint32_t j = 0; j < from->joint_count; j++)
		install_place_joint(c, places, from->joint_first + j, to->joint_first + j);
	scene->models[slot] = *to;
	scene->models[slot].serial = ++scene->last_serial;
	map_add(&scene->model_by_name, to->name, slot);
}

/* Adds all static geoms to their tree in one call. */
static void install_plant(struct compile *c, const struct install_places *places)
{
	struct scene *scene = c->scene;
	struct bvh_item *items = mem_alloc(c->geoms.count * sizeof *items);
	uint32_t count = 0;
	for (uint32_t i = 0; i < c->models.count; i++)
		for (uint32_t g = places->at[i].geom_first; g < places->at[i].geom_first + places->at[i].geom_count;
			g++)
			if (scene->geoms[g].body == SCENE_NONE)
				items[count++] =
					(struct bvh_item){scene_static_box(&scene->geoms[g]), g, &scene->geoms[g].leaf};
	bvh_build(&scene->static_tree, items, count);
	free(items);
}

uint32_t scene_install(struct compile *c, const struct scene_places *at)
{
	struct scene *scene = c->scene;
	struct install_places places = {arena_array(&c->scratch, struct scene_model, c->models.count),
		arena_array(&c->scratch, uint32_t, c->models.count)};
	if (!at)
		install_take_places(c, &places);
	else if (!install_claim_places(c, &places, at))
		return SCENE_NONE;
	uint32_t own = c->joints.count - c->world_joint_first;
	uint32_t first_own = ranges_take(&scene->joint_ranges, own);
	install_fit(scene);
	for (uint32_t i = 0; i < c->models.count; i++)
		install_move_in(c, &places, i);
	install_plant(c, &places);
	for (uint32_t j = 0; j < own; j++) {
		install_place_joint(c, &places, c->world_joint_first + j, first_own + j);
		vec_push(&scene->world_joints, first_own + j);
	}
	return c->models.count ? places.slot[0] : SCENE_NONE;
}

/* --- moving out --------------------------------------------------------------------------------------------------- */

void scene_set_absent(struct scene *scene, uint32_t model, bool absent)
{
	struct scene_model *m = &scene->models[model];
	if (m->absent == absent)
		return;
	m->absent = absent;
	if (absent)
		(void)map_remove(&scene->model_by_name, m->name);
	else
		(void)map_add(&scene->model_by_name, m->name, model);
}

void scene_free(struct scene *scene, uint32_t model)
{
	struct scene_model *m = &scene->models[model];
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		if (scene->geoms[g].body == SCENE_NONE && !scene->geoms[g].off)
			bvh_remove(&scene->static_tree, scene->geoms[g].leaf);
	ranges_give(&scene->body_ranges, m->body_first, m->body_count);
	ranges_give(&scene->geom_ranges, m->geom_first, m->geom_count);
	ranges_give(&scene->joint_ranges, m->joint_first, m->joint_count);
	ranges_give(&scene->link_ranges, m->link_first, m->link_count);
	ranges_give(&scene->model_ranges, model, 1);
	free(m->first);
	scene_free_owned(m->owned);
	*m = (struct scene_model){
		.name = "", .absent = true, .is_static = true, .level = SCENE_NONE, .home_level = SCENE_NONE};
	install_fit(scene);
}

/* Before the model is placed elsewhere for the first time. */
static struct scene_first_poses *install_keep_first(const struct scene *scene, const struct scene_model *m)
{
	struct scene_first_poses *first =
		mem_alloc(sizeof *first + (m->link_count + (size_t)m->geom_count) * sizeof(struct pose));
	first->model = m->in_body;
	first->links = (struct pose *)(void *)(first + 1);
	first->geoms = first->links + m->link_count;
	for (uint32_t l = 0; l < m->link_count; l++)
		first->links[l] = scene->links[m->link_first + l].in_body;
	for (uint32_t g = 0; g < m->geom_count; g++)
		first->geoms[g] = scene->geoms[m->geom_first + g].in_body;
	return first;
}

struct pose scene_link_first(const struct scene *scene, uint32_t link)
{
	const struct scene_link *l = &scene->links[link];
	const struct scene_model *m = &scene->models[l->model];
	return m->first ? m->first->links[link - m->link_first] : l->in_body;
}

void scene_place_static(struct scene *scene, uint32_t model, struct pose pose)
{
	struct scene_model *m = &scene->models[model];
	if (!m->first)
		m->first = install_keep_first(scene, m);
	struct pose back = pose_inverse(m->first->model);
	bool home = !memcmp(&pose, &m->first->model, sizeof pose); /* the same bits, not nearly the same pose */
	m->in_body = pose;
	for (uint32_t l = 0; l < m->link_count; l++) {
		struct pose first = m->first->links[l];
		scene->links[m->link_first + l].in_body = home ? first : pose_mul(pose, pose_mul(back, first));
	}
	for (uint32_t g = 0; g < m->geom_count; g++) {
		struct scene_geom *geom = &scene->geoms[m->geom_first + g];
		struct pose first = m->first->geoms[g];
		if (!geom->off)
			bvh_remove(&scene->static_tree, geom->leaf);
		geom->in_body = home ? first : pose_mul(pose, pose_mul(back, first));
		if (!geom->off)
			geom->leaf = bvh_insert(&scene->static_tree, scene_static_box(geom), m->geom_first + g);
	}
}

void scene_switch_geom(struct scene *scene, uint32_t index, bool on)
{
	struct scene_geom *geom = &scene->geoms[index];
	if (geom->off != on)
		return;
	geom->off = !on;
	if (geom->body != SCENE_NONE)
		return;
	if (on)
		geom->leaf = bvh_insert(&scene->static_tree, scene_static_box(geom), index);
	else
		bvh_remove(&scene->static_tree, geom->leaf);
}
