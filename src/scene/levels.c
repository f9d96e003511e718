/* Performers and levels, from the world plug-in that declares them (reference: gz-sim's LevelManager and its tutorial
 * "levels"). The plug-in is found by its name; its file name has no meaning. It is read as tolerantly as Gazebo reads
 * it: what is ignored gives a warning. */
#include "scene/compile.h"

#include <string.h>

#define VOLUME_MAX SDF_LENGTH_MAX

bool scene_knows_plugin(const char *name)
{
	return sdf_declares_levels(name);
}

static const char *levels_name_of(const struct sdf_element *element)
{
	const char *name = sdf_attribute(element, "name");
	return name ? name : "";
}

/* Reads <geometry><box><size>. *ret_found is false, with a warning: another shape. */
static troupe_status levels_read_box(struct compile *c, const struct sdf_element *owner, struct vec3 *ret_size,
	bool *ret_found, struct troupe_error *error)
{
	const struct sdf_element *geometry = sdf_child(owner, "geometry", NULL);
	const struct sdf_element *box = geometry ? sdf_child(geometry, "box", NULL) : NULL;
	*ret_found = box != NULL && sdf_child(box, "size", NULL) != NULL;
	if (!*ret_found) {
		scene_warn(c, NULL, "%s:%u: <%s name='%s'> has no <geometry><box><size>; it is ignored", owner->file,
			owner->line, owner->name, levels_name_of(owner));
		return TROUPE_OK;
	}
	return sdf_child_vec3(box, "size", 0, VOLUME_MAX, ret_size, error);
}

static troupe_status levels_read_pin(const struct sdf_element *owner, uint32_t *pin, struct troupe_error *error)
{
	double value = 0;
	troupe_status status = sdf_child_double(owner, "secondary", 1, TROUPE_SECONDARIES_MAX, &value, error);
	if (!status && value != floor(value))
		return fail(error, TROUPE_EWORLD, "%s:%u: <secondary> %g: expected a whole number from 1", owner->file,
			owner->line, value);
	if (!status && value >= 1)
		*pin = (uint32_t)value;
	return status;
}

static troupe_status levels_add_performer(
	struct compile *c, const struct sdf_element *element, struct troupe_error *error)
{
	const char *ref = sdf_child_text(element, "ref");
	if (!ref || !*ref)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: <performer name='%s'> has no <ref>: expected the name of a model", element->file,
			element->line, levels_name_of(element));
	uint32_t index;
	if (!map_find(&c->scene->model_by_name, ref, &index)) {
		scene_warn(c, NULL, "%s:%u: <performer name='%s'>: the world has no model '%s'; it is ignored",
			element->file, element->line, levels_name_of(element), ref);
		return TROUPE_OK;
	}
	struct scene_model *model = &c->scene->models[index];
	struct vec3 size = {0, 0, 0};
	bool found = false;
	troupe_status status = levels_read_box(c, element, &size, &found, error);
	if (status || !found)
		return status;
	if (model->performer) {
		scene_warn(c, NULL, "%s:%u: <performer name='%s'>: model '%s' is a performer already; it is ignored",
			element->file, element->line, levels_name_of(element), ref);
		return TROUPE_OK;
	}
	model->performer = model->file_performer = true;
	model->volume = model->file_volume = size;
	model->performer_name = levels_name_of(element);
	troupe_status pinned = levels_read_pin(element, &model->pin, error);
	model->home_pin = model->pin;
	return pinned;
}

/* The names by which the levels of a world are read: each is looked up once for each level or <ref>. */
struct levels_names {
	struct map levels; /* those read so far */
	struct map others; /* lights, actors, and joints of the world */
};

static void levels_list_others(const struct compile *c, struct map *others)
{
	for (uint32_t i = 0; i < c->sdf->lights.count; i++)
		(void)map_add(others, c->sdf->lights.at[i].name, i);
	for (uint32_t i = 0; i < c->sdf->actors.count; i++)
		(void)map_add(others, c->sdf->actors.at[i].name, i);
	for (uint32_t i = 0; i < c->sdf->joints.count; i++)
		if (c->sdf->joints.at[i].model == SDF_NONE)
			(void)map_add(others, c->sdf->joints.at[i].name, i);
}

static void levels_read_refs(struct compile *c, const struct levels_names *names, const struct sdf_element *element,
	struct scene_level *level)
{
	uint32_t count = 0;
	for (const struct sdf_element *ref = sdf_child(element, "ref", NULL); ref; ref = sdf_child(element, "ref", ref))
		count++;
	uint32_t *models = arena_array(c->arena, uint32_t, count);
	for (const struct sdf_element *ref = sdf_child(element, "ref", NULL); ref;
		ref = sdf_child(element, "ref", ref)) {
		uint32_t index;
		if (map_find(&c->scene->model_by_name, ref->text, &index))
			models[level->model_count++] = index;
		else if (!map_find(&names->others, ref->text, &index))
			scene_warn(c, NULL, "%s:%u: <level name='%s'>: the world has no entity '%s'", ref->file,
				ref->line, level->name, ref->text);
	}
	level->models = models;
}

static troupe_status levels_add(
	struct compile *c, struct levels_names *names, const struct sdf_element *element, struct troupe_error *error)
{
	struct scene_level level = {.name = levels_name_of(element), .line = element->line};
	struct pose pose = POSE_IDENTITY;
	struct vec3 size = {0, 0, 0};
	double buffer = 0;
	bool found = false;
	troupe_status status = sdf_child_pose(element, &pose, error);
	if (!status)
		status = levels_read_box(c, element, &size, &found, error);
	if (!status)
		status = sdf_child_double(element, "buffer", -VOLUME_MAX, VOLUME_MAX, &buffer, error);
	if (!status)
		status = levels_read_pin(element, &level.pin, error);
	if (status || !found)
		return status;
	if (buffer < 0) {
		scene_warn(c, NULL, "%s:%u: <level name='%s'>: a buffer of %g m is taken as 0", element->file,
			element->line, level.name, buffer);
		buffer = 0;
	}
	if (!map_add(&names->levels, level.name, c->levels.count))
		scene_warn(c, NULL, "%s:%u: a second <level name='%s'>: reports cannot tell them apart", element->file,
			element->line, level.name);
	level.box = aabb_around(pose.p, size);
	level.outer = aabb_grow(level.box, buffer);
	levels_read_refs(c, names, element, &level);
	vec_push(&c->levels, level);
	return TROUPE_OK;
}

/* A dynamic model that exactly one level names belongs to that level. Performers belong to no level. */
static void levels_give_models_to(struct compile *c)
{
	uint32_t *named = arena_array(&c->scratch, uint32_t, c->scene->model_count);
	for (uint32_t l = 0; l < c->levels.count; l++)
		for (uint32_t i = 0; i < c->levels.at[l].model_count; i++) {
			uint32_t m = c->levels.at[l].models[i];
			bool again = named[m] && c->scene->models[m].level == l; /* the same level lists the model
										  * twice */
			if (!again)
				named[m]++;
			c->scene->models[m].level = l;
		}
	for (uint32_t m = 0; m < c->scene->model_count; m++) {
		struct scene_model *model = &c->scene->models[m];
		model->home_level = named[m] == 1 && !model->is_static ? model->level : SCENE_NONE;
		model->level = model->performer ? SCENE_NONE : model->home_level;
	}
}

static troupe_status levels_read_plugin(struct compile *c, const struct sdf_element *plugin,
	const struct scene_options *options, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	double secondaries = -1;
	status = sdf_child_double(plugin, "secondaries", 0, TROUPE_SECONDARIES_MAX, &secondaries, error);
	if (!status && secondaries >= 0) {
		if (secondaries != floor(secondaries))
			return fail(error, TROUPE_EWORLD, "%s:%u: <secondaries> %g: expected a whole number",
				plugin->file, plugin->line, secondaries);
		c->scene->secondaries = (uint32_t)secondaries;
	}
	struct levels_names names = {0};
	levels_list_others(c, &names.others);
	for (const struct sdf_element *e = plugin->child; e && !status; e = e->next) {
		if (!strcmp(e->name, "performer"))
			status = levels_add_performer(c, e, error);
		else if (!strcmp(e->name, "level") && !options->ignore_levels)
			status = levels_add(c, &names, e, error);
		else if (strcmp(e->name, "level") && strcmp(e->name, "secondaries"))
			scene_warn(c, e->name, "%s:%u: <%s> in plugin 'gz::sim' is ignored", e->file, e->line, e->name);
	}
	map_fini(&names.levels);
	map_fini(&names.others);
	return status;
}

troupe_status scene_add_levels(struct compile *c, const struct scene_options *options, struct troupe_error *error)
{
	bool found = false;
	for (uint32_t i = 0; i < c->sdf->plugins.count; i++) {
		const struct sdf_plugin *plugin = &c->sdf->plugins.at[i];
		if (plugin->model != SDF_NONE || plugin->link != SDF_NONE || !scene_knows_plugin(plugin->name))
			continue;
		if (found) {
			scene_warn(c, NULL, "%s:%u: a second plugin with levels; only the first counts",
				plugin->element->file, plugin->element->line);
			break;
		}
		found = true;
		troupe_status status = levels_read_plugin(c, plugin->element, options, error);
		if (status)
			return status;
	}
	levels_give_models_to(c);
	return TROUPE_OK;
}
