/* Lights of the world and of links: changed, added and removed while it runs. No motion depends on them, but they are
 * part of the world as viewers and cameras see it, so they are kept like all other changes: in saved states, in
 * replicas, and in the hash of changes.
 *
 * A light of the file keeps its place, so that a reset restores it. A light that a command added has a place behind
 * those of the file; when it is removed, the next light that is added takes the place. A light of a link that a command
 * changed has such a place as well, until a reset or the removal of its model: of a thousand robots with lights on
 * their links few lights are ever changed. */
#include "run/edit_internal.h"

#include "base/hash.h"
#include "geom/pack.h"
#include "scene/light.h"
#include "topic/light.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { EDIT_LIGHT_ABSENT = 1, CHANGED = 2, ADDED = 4, EDIT_LIGHT_OF_LINK = 8 };

#define ANGLE_MAX 6.2832f /* rad: that of <spot> in SDF */

static void edit_light_note(struct edit *edit, uint32_t light)
{
	edit_note(edit, EDIT_LIGHT, light);
}

/* --- which -------------------------------------------------------------------------------------------------------- */

bool edit_means_light(const struct edit *edit, const Gz__Msgs__Entity *entity)
{
	const struct scene *scene = edit->shared->scene;
	if (entity->type != GZ__MSGS__ENTITY__TYPE__NONE)
		return entity->type == GZ__MSGS__ENTITY__TYPE__LIGHT;
	return !entity->id && scene_find_model(scene, entity->name) == SCENE_NONE &&
	       scene_find_light(scene, entity->name) != SCENE_NONE;
}

static troupe_status edit_light_find_by_id(
	const struct scene *scene, uint64_t id, const char *name, uint32_t *ret_light, struct troupe_error *error)
{
	uint32_t place = (uint32_t)id & ~SCENE_LIGHT_ID;
	if (id != (SCENE_LIGHT_ID | place) || place >= scene->light_count || scene->lights[place].absent ||
		scene->lights[place].model != SCENE_NONE)
		return fail(error, TROUPE_ECOMMAND, "the world has no light with the id %" PRIu64, id);
	if (*name && strcmp(name, scene->lights[place].name) != 0)
		return fail(error, TROUPE_ECOMMAND,
			"the light with the id %" PRIu64
			" is '%.100s', not '%.100s': expected name and id of one light",
			id, scene->lights[place].name, name);
	*ret_light = place;
	return TROUPE_OK;
}

/* A light that a message names. */
struct named {
	uint32_t place;        /* SCENE_NONE: it has none yet */
	uint32_t model, light; /* of a light of a link: see struct scene_light; model is SCENE_NONE for the world's */
};

static bool edit_light_is_scoped_name(const char *name, const char *link, const char *light)
{
	size_t length = strlen(link);
	return !strncmp(name, link, length) && !strncmp(name + length, "::", 2) && !strcmp(name + length + 2, light);
}

/* As in Gazebo: by its own name, which must be the only one, or be that of a light of the link parent_id; or by the
 * scoped name, MODEL::LINK::LIGHT. Returns how many there are; *ret: the first. */
static uint32_t edit_light_find_of_links(
	const struct scene *scene, const Troupe__Msgs__SetLight *message, struct named *ret)
{
	uint32_t count = 0;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		const struct scene_model *model = &scene->models[m];
		if (!model->id || model->absent || model->sdf == SDF_NONE)
			continue;
		for (uint32_t i = 0; i < model->from->lights.count; i++) {
			const char *light = model->from->lights.at[i].name;
			uint32_t link = scene_link_with_light(scene, m, i);
			if (link == SCENE_NONE ||
				(message->parent_id && message->parent_id != (SCENE_LINK_ID | (link + 1))) ||
				(strcmp(message->name, light) != 0 &&
					!edit_light_is_scoped_name(message->name, scene->links[link].scoped, light)))
				continue;
			if (!count++)
				*ret = (struct named){scene_link_light(scene, m, i), m, i};
		}
	}
	return count;
}

/* Neither place nor model: a light that is to be added. */
static troupe_status edit_light_find(
	const struct scene *scene, const Troupe__Msgs__SetLight *message, struct named *ret, struct troupe_error *error)
{
	const char *name = message->name;
	bool of_link = (message->id & SCENE_LIGHT_ID) && (message->id & SCENE_LINK_ID);
	*ret = (struct named){SCENE_NONE, SCENE_NONE, 0};
	if (message->id && !of_link)
		return edit_light_find_by_id(scene, message->id, name, &ret->place, error);
	if (!*name && of_link)
		return fail(error, TROUPE_ECOMMAND,
			"the id %" PRIu32
			" of a light of a link: expected its name, too: the id changes with the scene",
			message->id);
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "neither a name nor an id: expected the name or the id of a light");
	if (!of_link && !message->parent_id)
		ret->place = scene_find_light(scene, name);
	if (ret->place != SCENE_NONE)
		return TROUPE_OK;
	uint32_t count = edit_light_find_of_links(scene, message, ret);
	if (count == 1)
		return TROUPE_OK;
	if (count)
		return fail(error, TROUPE_ECOMMAND,
			"light '%.80s': %u links carry one of this name: expected MODEL::LINK::LIGHT", name, count);
	if (of_link || message->parent_id)
		return fail(error, TROUPE_ECOMMAND, "no link%s carries a light '%.100s'",
			message->parent_id ? " of this parent_id" : "", name);
	if (strlen(name) > SCENE_LIGHT_NAME_BYTES_MAX || strstr(name, "::"))
		return fail(error, TROUPE_ECOMMAND,
			"light '%.80s': expected a name of at most %d bytes without '::', to add a light", name,
			SCENE_LIGHT_NAME_BYTES_MAX);
	return TROUPE_OK;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

static troupe_status edit_light_outside(const char *what, double value, double hi, struct troupe_error *error)
{
	return fail(error, TROUPE_ECOMMAND, "%s %g: expected 0 to %g", what, value, hi);
}

static troupe_status edit_light_set_colour(
	const char *name, const Gz__Msgs__Color *given, struct sdf_colour *colour, struct troupe_error *error)
{
	if (!given)
		return TROUPE_OK;
	const float values[4] = {given->r, given->g, given->b, given->a};
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		if (!(values[i] >= 0 && values[i] <= 1))
			return edit_light_outside(name, (double)values[i], 1, error);
	*colour = (struct sdf_colour){(double)given->r, (double)given->g, (double)given->b, (double)given->a};
	return TROUPE_OK;
}

static troupe_status edit_light_set_numbers(
	const Troupe__Msgs__SetLight *message, struct sdf_shine *shine, struct troupe_error *error)
{
	const struct {
		const char *name;
		bool given;
		float value, hi;
		double *to;
	} numbers[] = {
		{"attenuation_constant", message->attenuation_constant_given_case, message->attenuation_constant, 1,
			&shine->constant},
		{"attenuation_linear", message->attenuation_linear_given_case, message->attenuation_linear, 1,
			&shine->linear},
		{"attenuation_quadratic", message->attenuation_quadratic_given_case, message->attenuation_quadratic,
			1e12f, &shine->quadratic},
		{"range", message->range_given_case, message->range, 1e9f, &shine->range_m},
		{"spot_inner_angle", message->spot_inner_angle_given_case, message->spot_inner_angle, ANGLE_MAX,
			&shine->inner_rad},
		{"spot_outer_angle", message->spot_outer_angle_given_case, message->spot_outer_angle, ANGLE_MAX,
			&shine->outer_rad},
		{"spot_falloff", message->spot_falloff_given_case, message->spot_falloff, 1e9f, &shine->falloff},
		{"intensity", message->intensity_given_case, message->intensity, 1e12f, &shine->intensity},
	};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (!numbers[i].given)
			continue;
		if (!(numbers[i].value >= 0 && numbers[i].value <= numbers[i].hi))
			return edit_light_outside(
				numbers[i].name, (double)numbers[i].value, (double)numbers[i].hi, error);
		*numbers[i].to = (double)numbers[i].value;
	}
	return TROUPE_OK;
}

static troupe_status edit_light_set_shine(
	const Troupe__Msgs__SetLight *message, struct sdf_shine *shine, struct troupe_error *error)
{
	static const enum sdf_light_kind kinds[] = {[GZ__MSGS__LIGHT__LIGHT_TYPE__POINT] = SDF_POINT_LIGHT,
		[GZ__MSGS__LIGHT__LIGHT_TYPE__SPOT] = SDF_SPOT_LIGHT,
		[GZ__MSGS__LIGHT__LIGHT_TYPE__DIRECTIONAL] = SDF_DIRECTIONAL_LIGHT};
	if (message->type_given_case && (uint32_t)message->type >= ARRAY_LEN(kinds))
		return fail(error, TROUPE_ECOMMAND, "type %d: expected POINT, SPOT or DIRECTIONAL", (int)message->type);
	if (message->type_given_case)
		shine->kind = kinds[message->type];
	if (message->cast_shadows_given_case)
		shine->cast_shadows = message->cast_shadows;
	if (message->is_light_off_given_case)
		shine->on = !message->is_light_off;
	if (message->visualize_visual_given_case)
		shine->visualize = message->visualize_visual;
	if (message->direction)
		shine->direction = message_vec3(message->direction);
	if (shine->kind != SDF_POINT_LIGHT && !(vec3_length(shine->direction) > 0))
		return fail(error, TROUPE_ECOMMAND, "direction 0 0 0: expected a direction");
	troupe_status status = edit_light_set_colour("diffuse", message->diffuse, &shine->diffuse, error);
	if (!status)
		status = edit_light_set_colour("specular", message->specular, &shine->specular, error);
	return status ? status : edit_light_set_numbers(message, shine, error);
}

static troupe_status edit_light_set_pose(
	const Troupe__Msgs__SetLight *message, struct pose *pose, struct troupe_error *error)
{
	if (!message->pose)
		return TROUPE_OK;
	troupe_status status = message_pose(message->pose, pose, error);
	if (!status && !vec3_within(pose->p, SCENE_POSITION_MAX))
		return fail(error, TROUPE_ECOMMAND, "position %g %g %g: expected coordinates within %g m", pose->p.x,
			pose->p.y, pose->p.z, SCENE_POSITION_MAX);
	return status;
}

troupe_status edit_light_config(struct edit *edit, const struct Troupe__Msgs__SetLight *message,
	char note_text[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	struct scene_light light = {.pose = POSE_IDENTITY, .shine = SDF_SHINE_DEFAULT};
	struct named named;
	troupe_status status = edit_light_find(scene, message, &named, error);
	if (status)
		return status;
	if (named.place != SCENE_NONE) {
		light = scene->lights[named.place];
	} else if (named.model != SCENE_NONE) {
		light.pose = scene_light_in_link(scene->models[named.model].from, named.light);
		light.shine = scene->models[named.model].from->lights.at[named.light].shine;
	}
	status = edit_light_set_pose(message, &light.pose, error);
	if (!status)
		status = edit_light_set_shine(message, &light.shine, error);
	if (status)
		return status;
	uint32_t place = named.place;
	if (place == SCENE_NONE)
		place = named.model == SCENE_NONE ? scene_add_light(scene, message->name)
						  : scene_add_link_light(scene, named.model, named.light);
	if (place == SCENE_NONE)
		return fail(error, TROUPE_ELIMIT,
			"%d lights were added, or changed on links, already: expected no more", SCENE_LIGHTS_ADDED_MAX);
	bool adds = named.place == SCENE_NONE && named.model == SCENE_NONE;
	scene->lights[place].pose = light.pose;
	scene->lights[place].shine = light.shine;
	scene->lights[place].changed = true;
	edit_light_note(edit, place);
	edit_say(note_text, "light '%.100s' %s", scene->lights[place].name, adds ? "added" : "changed");
	return TROUPE_OK;
}

/* As for models: the first of name_0, name_1, ... that is free. */
static char *edit_light_free_name(const struct scene *scene, const char *name)
{
	char *found = mem_strdup(name);
	for (uint32_t i = 0; scene_find_light(scene, found) != SCENE_NONE; i++) {
		free(found);
		found = mem_printf("%s_%" PRIu32, name, i);
	}
	return found;
}

/* light: what it is to be; its name is not read. */
static troupe_status edit_light_add(struct edit *edit, const char *wanted, bool may_rename,
	const struct scene_light *light, const char *done, char note_text[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	if (scene_find_light(scene, wanted) != SCENE_NONE && !may_rename)
		return fail(error, TROUPE_ECOMMAND,
			"a light '%.100s' exists already: expected another name, or allow_renaming", wanted);
	const uint32_t most = SCENE_LIGHT_NAME_BYTES_MAX - (may_rename ? 11 : 0); /* "_" and a number are added */
	if (!*wanted || strlen(wanted) > most || strstr(wanted, "::"))
		return fail(error, TROUPE_ECOMMAND, "light '%.80s': expected a name of 1 to %u bytes without '::'",
			wanted, most);
	char *name = edit_light_free_name(scene, wanted);
	uint32_t place = scene_add_light(scene, name);
	free(name);
	if (place == SCENE_NONE)
		return fail(
			error, TROUPE_ELIMIT, "%d lights were added already: expected no more", SCENE_LIGHTS_ADDED_MAX);
	scene->lights[place].pose = light->pose;
	scene->lights[place].shine = light->shine;
	scene->lights[place].changed = true;
	edit_light_note(edit, place);
	edit_say(note_text, "light '%.100s' %s", scene->lights[place].name, done);
	return TROUPE_OK;
}

troupe_status edit_add_light(struct edit *edit, const struct sdf_light *from, const struct pose *pose, bool may_rename,
	char note_text[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const struct scene_light light = {.pose = pose ? *pose : from->in_world, .shine = from->shine};
	return edit_light_add(edit, from->name, may_rename, &light, "created", note_text, error);
}

troupe_status edit_add_light_of_message(struct edit *edit, const struct Troupe__Msgs__SetLight *message,
	bool may_rename, char note_text[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene_light light = {.pose = POSE_IDENTITY, .shine = SDF_SHINE_DEFAULT};
	troupe_status status = edit_light_set_pose(message, &light.pose, error);
	if (!status)
		status = edit_light_set_shine(message, &light.shine, error);
	return status ? status : edit_light_add(edit, message->name, may_rename, &light, "added", note_text, error);
}

/* --- gone and back ------------------------------------------------------------------------------------------------ */

troupe_status edit_remove_light(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note_text[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	const char *name = entity->name;
	uint32_t light = scene_find_light(scene, name);
	if (!*name && !entity->id)
		return fail(error, TROUPE_ECOMMAND, "neither a name nor an id: expected the name or the id of a light");
	troupe_status status = TROUPE_OK;
	if (entity->id)
		status = edit_light_find_by_id(scene, entity->id, name, &light, error);
	else if (light == SCENE_NONE)
		status = fail(error, TROUPE_ECOMMAND, "the world has no light '%.100s'", name);
	if (status)
		return status;
	edit_say(note_text, "light '%.100s' removed", scene->lights[light].name);
	scene->lights[light].absent = true;
	edit_light_note(edit, light);
	return TROUPE_OK;
}

void edit_reset_lights(struct edit *edit)
{
	struct scene *scene = edit->shared->scene;
	for (uint32_t i = 0; i < scene->light_count; i++) {
		struct scene_light *light = &scene->lights[i];
		bool added = !light->from, same = added ? light->absent : !light->absent && !light->changed;
		if (same)
			continue;
		if (added) {
			scene_drop_light(scene, i);
		} else {
			light->absent = light->changed = false;
			light->pose = light->from->in_world;
			light->shine = light->from->shine;
		}
		edit_light_note(edit, i);
	}
}

void edit_reset_lights_of(struct edit *edit, uint32_t model)
{
	struct scene *scene = edit->shared->scene;
	for (uint32_t i = 0; i < scene->light_count; i++) {
		if (scene->lights[i].model != model)
			continue;
		scene_drop_light(scene, i);
		edit_light_note(edit, i);
	}
}

/* --- kept --------------------------------------------------------------------------------------------------------- */

enum { EDIT_LIGHT_NUMBERS = 26 }; /* of pose and shine */

static void edit_light_list_numbers(const struct scene_light *light, double numbers[EDIT_LIGHT_NUMBERS])
{
	const struct sdf_shine *s = &light->shine;
	const struct pose *pose = &light->pose;
	const double all[EDIT_LIGHT_NUMBERS] = {pose->p.x, pose->p.y, pose->p.z, pose->q.w, pose->q.x, pose->q.y,
		pose->q.z, s->diffuse.r, s->diffuse.g, s->diffuse.b, s->diffuse.a, s->specular.r, s->specular.g,
		s->specular.b, s->specular.a, s->intensity, s->range_m, s->constant, s->linear, s->quadratic,
		s->direction.x, s->direction.y, s->direction.z, s->inner_rad, s->outer_rad, s->falloff};
	memcpy(numbers, all, sizeof all);
}

static uint64_t edit_light_words_of(const struct sdf_shine *shine)
{
	return (uint64_t)shine->kind << 3 | (uint64_t)shine->cast_shadows << 2 | (uint64_t)shine->on << 1 |
	       (uint64_t)shine->visualize;
}

uint64_t edit_hash_lights(const struct scene *scene)
{
	uint64_t sum = 0, numbers[EDIT_LIGHT_NUMBERS];
	for (uint32_t i = 0; i < scene->light_count; i++) {
		const struct scene_light *light = &scene->lights[i];
		uint64_t hash = hash_mix(UINT64_C(0x6c69676874), i + 1); /* "light" */
		if (light->absent)
			sum += light->from ? hash : 0;
		if (light->absent || !light->changed)
			continue;
		edit_light_list_numbers(light, (double *)(void *)numbers);
		hash = hash_words(hash_mix(hash, edit_light_words_of(&light->shine)), numbers, EDIT_LIGHT_NUMBERS);
		sum += hash_bytes(hash, light->name, strlen(light->name));
	}
	return sum;
}

void edit_pack_light(const struct scene *scene, uint32_t place, struct text *out)
{
	const struct scene_light *light = &scene->lights[place];
	double numbers[EDIT_LIGHT_NUMBERS];
	bool of_link = light->model != SCENE_NONE;
	pack_u64(out, (light->absent ? EDIT_LIGHT_ABSENT : 0u) | (light->changed ? CHANGED : 0u) |
			      (light->from ? 0u : ADDED) | (of_link ? EDIT_LIGHT_OF_LINK : 0u));
	if (of_link) {
		pack_u64(out, light->model);
		pack_u64(out, light->light);
	} else if (!light->from) {
		pack_string(out, light->name);
	}
	if (!light->changed)
		return;
	edit_light_list_numbers(light, numbers);
	pack_u64(out, edit_light_words_of(&light->shine));
	for (size_t i = 0; i < EDIT_LIGHT_NUMBERS; i++)
		pack_double(out, numbers[i]);
}

static bool edit_light_sane_numbers(const double numbers[EDIT_LIGHT_NUMBERS])
{
	double norm =
		numbers[3] * numbers[3] + numbers[4] * numbers[4] + numbers[5] * numbers[5] + numbers[6] * numbers[6];
	bool sane = norm > 0.5 && norm < 2;
	for (size_t i = 0; i < EDIT_LIGHT_NUMBERS; i++)
		sane = sane && !isnan(numbers[i]);
	return sane;
}

static void edit_light_unpack_values(struct unpack *in, struct edit_light *light)
{
	double n[EDIT_LIGHT_NUMBERS];
	uint32_t words = unpack_count(in, (uint32_t)SDF_SPOT_LIGHT << 3 | 7);
	for (size_t i = 0; i < EDIT_LIGHT_NUMBERS; i++)
		n[i] = unpack_double(in);
	in->bad = in->bad || !edit_light_sane_numbers(n);
	if (in->bad)
		return;
	light->pose = (struct pose){.p = {n[0], n[1], n[2]}, .q = {n[3], n[4], n[5], n[6]}};
	light->shine = (struct sdf_shine){.kind = (enum sdf_light_kind)(words >> 3),
		.cast_shadows = (words & 4) != 0,
		.on = (words & 2) != 0,
		.visualize = (words & 1) != 0,
		.diffuse = {n[7], n[8], n[9], n[10]},
		.specular = {n[11], n[12], n[13], n[14]},
		.intensity = n[15],
		.range_m = n[16],
		.constant = n[17],
		.linear = n[18],
		.quadratic = n[19],
		.direction = {n[20], n[21], n[22]},
		.inner_rad = n[23],
		.outer_rad = n[24],
		.falloff = n[25]};
}

struct edit_light *edit_unpack_light(struct unpack *in)
{
	struct edit_light *light = mem_alloc(sizeof *light);
	uint32_t flags = unpack_count(in, EDIT_LIGHT_ABSENT | CHANGED | ADDED | EDIT_LIGHT_OF_LINK);
	light->absent = (flags & EDIT_LIGHT_ABSENT) != 0;
	light->changed = (flags & CHANGED) != 0;
	light->of_link = (flags & EDIT_LIGHT_OF_LINK) != 0;
	if (light->of_link) {
		light->model = unpack_count(in, SDF_MODELS_MAX);
		light->light = unpack_count(in, UINT32_MAX - 1);
		in->bad = in->bad || flags != (CHANGED | ADDED | EDIT_LIGHT_OF_LINK);
	} else if (flags & ADDED) {
		light->name = unpack_string(in);
	}
	in->bad = in->bad || (light->name && (!light->changed || strlen(light->name) > SCENE_LIGHT_NAME_BYTES_MAX));
	if (!in->bad && light->changed)
		edit_light_unpack_values(in, light);
	return light;
}

void edit_light_destroy(struct edit_light *light)
{
	if (light)
		free(light->name);
	free(light);
}

bool edit_put_light(struct scene *scene, uint32_t place, const struct edit_light *from)
{
	if (from->of_link    ? !scene_add_link_light_at(scene, place, from->model, from->light)
		: from->name ? !scene_add_light_at(scene, place, from->name)
			     : place >= scene->light_count || !scene->lights[place].from)
		return false;
	struct scene_light *light = &scene->lights[place];
	light->absent = from->absent;
	light->changed = from->changed;
	light->pose = from->changed ? from->pose : light->from->in_world;
	light->shine = from->changed ? from->shine : light->from->shine;
	return true;
}
