/* The world as it is, for saved states: what differs from the file, and the words of all models. Input is not trusted:
 * a saved state may come from a stranger, or be forged. */
#include "run/edit_internal.h"

#include "geom/pack.h"
#include "physics/physics.h"
#include "scene/light.h"
#include "sensor/sensor.h"

#include <stdlib.h>
#include <string.h>

#define ID_MAX (UINT64_MAX / 2)
#define IMPULSE_MAX 1e30f          /* N s, and m: an impulse of a pile is begun with as it is saved */
#define POSITION_MAX_OF_JOINT 1e15 /* rad or m: limit for a saved position; turns are counted */

enum { HOLES_MAX = 1 << 18 }; /* free places below the created models that a small file may have */

enum { USED = 1, CREATED = 2, EDIT_SAVE_ABSENT = 4, PERFORMER = 8 };

void edit_pack_pose(struct text *out, const struct pose *pose)
{
	pack_vec3(out, pose->p);
	pack_double(out, pose->q.w);
	pack_double(out, pose->q.x);
	pack_double(out, pose->q.y);
	pack_double(out, pose->q.z);
}

struct pose edit_unpack_pose(struct unpack *in)
{
	struct pose pose = {.p = unpack_vec3(in)};
	pose.q.w = unpack_double(in);
	pose.q.x = unpack_double(in);
	pose.q.y = unpack_double(in);
	pose.q.z = unpack_double(in);
	double norm = pose.q.w * pose.q.w + pose.q.x * pose.q.x + pose.q.y * pose.q.y + pose.q.z * pose.q.z;
	if (!(norm > 0.5 && norm < 2))
		in->bad = true;
	return pose;
}

static void edit_save_pack_source(struct text *out, const struct edit_source *source)
{
	pack_string(out, source->text);
	pack_string(out, source->path);
	pack_string(out, source->name);
	pack_u64(out, source->placed);
	edit_pack_pose(out, &source->pose);
	plugin_marks_pack(&source->plugins, out);
	files_pack(&source->files, out);
}

struct edit_source *edit_unpack_source(struct unpack *in)
{
	struct edit_source *source = mem_alloc(sizeof *source);
	source->text = unpack_string(in);
	source->path = unpack_string(in);
	source->name = unpack_string(in);
	source->placed = unpack_count(in, 1);
	source->pose = edit_unpack_pose(in);
	plugin_marks_unpack(&source->plugins, in);
	files_unpack(&source->files, in);
	return source;
}

void edit_pack_created(const struct edit *edit, uint32_t index, struct text *out)
{
	const struct scene_model *m = &edit->shared->scene->models[index];
	pack_u64(out, m->body_first);
	pack_u64(out, m->geom_first);
	pack_u64(out, m->joint_first);
	pack_u64(out, m->link_first);
	edit_save_pack_source(out, edit->sources[index]);
}

/* The collisions that are off, counted from the model's first. */
static void edit_save_pack_switches(const struct scene *scene, const struct scene_model *m, struct text *out)
{
	uint32_t count = 0;
	for (uint32_t g = 0; g < m->geom_count; g++)
		count += scene->geoms[m->geom_first + g].off;
	pack_u64(out, count);
	for (uint32_t g = 0; g < m->geom_count; g++)
		if (scene->geoms[m->geom_first + g].off)
			pack_u64(out, g);
}

static void edit_save_pack_model(const struct edit *edit, uint32_t index, struct text *out)
{
	const struct scene_model *m = &edit->shared->scene->models[index];
	const struct state *state = edit->shared->state;
	pack_u64(out, m->id ? USED | (m->created ? CREATED : 0u) | (m->absent ? EDIT_SAVE_ABSENT : 0u) |
				      (m->performer ? PERFORMER : 0u)
			    : 0u);
	if (!m->id)
		return;
	pack_u64(out, m->id);
	pack_vec3(out, m->volume);
	if (m->created)
		edit_pack_created(edit, index, out);
	if (!m->body_count)
		edit_pack_pose(out, &m->in_body);
	edit_save_pack_switches(edit->shared->scene, m, out);
	uint32_t words = m->absent ? 0 : state_count_all(state, index);
	pack_u64(out, words);
	for (uint32_t i = 0; i < words; i++)
		pack_u64(out, state_word_of_all(state, index, i));
}

void edit_pack(const struct edit *edit, struct text *out)
{
	const struct scene *scene = edit->shared->scene;
	pack_double(out, edit->step_s);
	pack_vec3(out, scene->gravity);
	edit_pack_earth(scene, out);
	edit_visuals_pack(edit->options.visuals, out);
	pack_u64(out, scene->last_id);
	pack_u64(out, edit->created);
	pack_u64(out, edit->removed);
	pack_u64(out, scene->model_count);
	for (uint32_t m = 0; m < scene->model_count; m++)
		edit_save_pack_model(edit, m, out);
	pack_u64(out, edit->edited.count);
	for (uint32_t i = 0; i < edit->edited.count; i++)
		pack_u64(out, edit->edited.at[i]);
	pack_u64(out, scene->light_count);
	for (uint32_t i = 0; i < scene->light_count; i++)
		edit_pack_light(scene, i, out);
	edit_pack_attachments(scene, out);
}

static troupe_status edit_save_refuse(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EWORLD, "damaged: %s", what);
}

void edit_unpack_places(struct unpack *in, struct scene_places *places)
{
	places->body_first = unpack_count(in, UINT32_MAX);
	places->geom_first = unpack_count(in, UINT32_MAX);
	places->joint_first = unpack_count(in, UINT32_MAX);
	places->link_first = unpack_count(in, UINT32_MAX);
}

static bool edit_save_sane_places(const struct scene_places *at, uint32_t max)
{
	return at->body_first <= max && at->geom_first <= max && at->joint_first <= max && at->link_first <= max;
}

troupe_status edit_create_at(struct edit *edit, const struct scene_places *at, uint32_t places_max,
	struct edit_source *source, struct troupe_error *error)
{
	char note[EDIT_NOTE_BYTES];
	uint32_t model;
	for (uint32_t i = 0; edit->options.plugins && i < source->plugins.count; i++)
		plugins_expect(edit->options.plugins, source->plugins.at[i].filename, source->plugins.at[i].hash,
			"the run that has the model");
	troupe_status status = edit_save_sane_places(at, places_max)
				       ? edit_source_load(&edit->options, source, &source->files, error)
				       : edit_save_refuse(error, "the places of a created model");
	const char *name = status ? NULL : edit_source_entity(source);
	if (!status && !name)
		status = edit_save_refuse(error, "a created model has no model");
	if (!status)
		status = scene_find_model(edit->shared->scene, name) == SCENE_NONE
				 ? edit_add(edit, source, at, &model, note, error)
				 : edit_save_refuse(error, "two models of one name");
	if (status)
		edit_source_destroy(source);
	return status;
}

static troupe_status edit_save_unpack_created(
	struct edit *edit, uint32_t index, uint64_t id, struct unpack *in, struct troupe_error *error)
{
	struct scene_places at = {.id = id, .model = index};
	edit_unpack_places(in, &at);
	struct edit_source *source = edit_unpack_source(in);
	if (!in->bad)
		return edit_create_at(edit, &at, edit->places_max, source, error);
	edit_source_destroy(source);
	return edit_save_refuse(error, "a created model");
}

/* Checks positions of joints and anchors. Systems check their own words. */
static bool edit_save_sane_numbers(const struct state *state, uint32_t model, bool next)
{
	const struct state_model *m = &state->models[model];
	const uint64_t *words = state_words(state, model, next);
	for (uint32_t i = 0; i + 1 < m->system_first; i++) {
		double value;
		memcpy(&value, &words[i], sizeof value);
		if (!(fabs(value) <= POSITION_MAX_OF_JOINT))
			return false;
	}
	return true;
}

/* Of an impulse all but its key are floats. A key that means nothing is never asked for. */
static bool edit_save_sane_impulses(const struct state *state, uint32_t model, bool next)
{
	uint32_t count;
	const uint64_t *words = state_impulses(state, model, next, &count);
	for (uint32_t i = 0; i < count; i += STATE_IMPULSE_WORDS) {
		float numbers[6];
		memcpy(numbers, &words[i + 1], sizeof numbers);
		for (uint32_t k = 0; k < 6; k++)
			if (!(fabsf(numbers[k]) <= IMPULSE_MAX))
				return false;
	}
	return true;
}

bool edit_words_sane(const struct state *state, uint32_t model, bool next)
{
	const struct body_state *bodies = state_bodies(state, model, next);
	for (uint32_t b = 0; b < state->scene->models[model].body_count; b++) {
		const struct body_state *s = &bodies[b];
		double norm = s->q.w * s->q.w + s->q.x * s->q.x + s->q.y * s->q.y + s->q.z * s->q.z;
		if (!vec3_within(s->p, SCENE_POSITION_MAX) || !(norm > 0.5 && norm < 2) ||
			!vec3_within(s->v, PHYSICS_VELOCITY_MAX) || !vec3_within(s->w, PHYSICS_SPIN_MAX))
			return false;
	}
	return edit_save_sane_numbers(state, model, next) && edit_save_sane_impulses(state, model, next);
}

static troupe_status edit_save_unpack_words(
	struct edit *edit, uint32_t index, struct unpack *in, struct troupe_error *error)
{
	struct state *state = edit->shared->state;
	uint32_t words = unpack_count(in, UINT32_MAX);
	if (in->bad || (words && !state_resize_all(state, index, words)) ||
		(!words && state->models[index].words && !edit->shared->scene->models[index].absent))
		return edit_save_refuse(error, "the state of a model has another size");
	uint32_t fixed = MIN(words, state->models[index].words);
	for (uint32_t i = 0; i < fixed; i++)
		state_words(state, index, false)[i] = unpack_u64(in);
	uint64_t *impulses = state_resize_impulses(state, index, false, words - fixed);
	for (uint32_t i = fixed; i < words; i++)
		impulses[i - fixed] = unpack_u64(in);
	state_touched(state, index);
	return in->bad || (words && !edit_words_sane(state, index, false))
		       ? edit_save_refuse(error, "the state of a model")
		       : TROUPE_OK;
}

static bool edit_save_sane_volume(struct vec3 v)
{
	return v.x >= 0 && v.y >= 0 && v.z >= 0 && vec3_within(v, SDF_LENGTH_MAX);
}

static bool edit_save_unpack_place(struct scene *scene, uint32_t index, struct unpack *in)
{
	if (scene->models[index].body_count)
		return true;
	struct pose pose = edit_unpack_pose(in);
	if (in->bad || !vec3_within(pose.p, 2 * SDF_LENGTH_MAX))
		return false;
	scene_place_static(scene, index, pose);
	return true;
}

static bool edit_save_unpack_switches(struct scene *scene, uint32_t index, struct unpack *in)
{
	const struct scene_model *m = &scene->models[index];
	uint32_t count = unpack_count(in, m->geom_count);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		uint32_t g = unpack_count(in, m->geom_count - 1);
		if (!in->bad)
			scene_switch_geom(scene, m->geom_first + g, false);
	}
	return !in->bad;
}

static troupe_status edit_save_unpack_model(
	struct edit *edit, uint32_t index, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	uint32_t flags = unpack_count(in, 15);
	bool in_file = index < scene->model_count && scene->models[index].id && !scene->models[index].created;
	if (in->bad || in_file != ((flags & USED) && !(flags & CREATED)) || (flags && !(flags & USED)) ||
		((flags & CREATED) && (flags & EDIT_SAVE_ABSENT)))
		return edit_save_refuse(error, "other models than its world");
	if (!flags)
		return TROUPE_OK;
	uint64_t id = unpack_u64(in);
	struct vec3 volume = unpack_vec3(in);
	troupe_status status = TROUPE_OK;
	if (flags & CREATED)
		status = edit_save_unpack_created(edit, index, id, in, error);
	if (status)
		return status;
	struct scene_model *m = &scene->models[index];
	if (id != m->id)
		return edit_save_refuse(error, "an id");
	if (in->bad || !edit_save_sane_volume(volume) || !edit_save_unpack_place(scene, index, in))
		return edit_save_refuse(error, "where a model is, or its volume");
	if (!edit_save_unpack_switches(scene, index, in))
		return edit_save_refuse(error, "which collisions of a model are off");
	if (flags & EDIT_SAVE_ABSENT) {
		scene_set_absent(scene, index, true);
		systems_unsubscribe(edit->shared->systems, index);
	}
	m->performer = (flags & PERFORMER) != 0;
	m->volume = volume;
	m->level = m->performer ? SCENE_NONE : m->home_level;
	return edit_save_unpack_words(edit, index, in, error);
}

static int edit_save_compare_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Ids must be unique: everything that is ordered or keyed by ids relies on it. */
static bool edit_save_sane_ids(const struct scene *scene, uint64_t last_id)
{
	uint64_t *ids = mem_alloc(scene->model_count * sizeof *ids);
	uint32_t count = 0;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id)
			ids[count++] = scene->models[m].id;
	qsort(ids, count, sizeof *ids, edit_save_compare_id);
	bool sane = last_id <= ID_MAX && (!count || ids[count - 1] <= last_id);
	for (uint32_t i = 1; i < count; i++)
		sane = sane && ids[i - 1] != ids[i];
	free(ids);
	return sane;
}

static uint32_t edit_save_count_of_places(const struct scene *scene)
{
	return MAX(MAX(scene->body_count, scene->geom_count), MAX(scene->joint_count, scene->link_count));
}

/* Holes are places of removed models, which are not in the file. Their number is bounded by the size of what is
 * there. */
uint32_t edit_places_max(const struct scene *scene, size_t bytes)
{
	return (uint32_t)MIN(
		(uint64_t)edit_save_count_of_places(scene) + HOLES_MAX + (uint64_t)bytes * 4, UINT32_MAX / 2);
}

static bool edit_save_unpack_attachments(struct edit *edit, struct unpack *in)
{
	struct edit_attachments *attachments = edit_unpack_attachments(in);
	bool good = !in->bad && edit_put_attachments(edit, attachments);
	edit_attachments_destroy(attachments);
	return good;
}

static bool edit_save_unpack_lights(struct scene *scene, struct unpack *in)
{
	uint32_t of_file = scene->light_count, count = unpack_count(in, of_file + SCENE_LIGHTS_ADDED_MAX);
	bool good = !in->bad && count >= of_file;
	for (uint32_t i = 0; i < count && good; i++) {
		struct edit_light *light = edit_unpack_light(in);
		good = !in->bad && edit_put_light(scene, i, light);
		edit_light_destroy(light);
	}
	return good;
}

troupe_status edit_unpack(struct edit *edit, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	edit->step_s = unpack_double(in);
	scene->gravity = unpack_vec3(in);
	struct edit_earth earth = edit_unpack_earth(in);
	edit_put_earth(scene, &earth);
	if (!edit_visuals_unpack(&edit->options, in))
		return edit_save_refuse(error, "the files of visuals");
	edit->last_id = unpack_u64(in);
	uint64_t created = unpack_u64(in), removed = unpack_u64(in);
	uint32_t count = unpack_count(in, SDF_MODELS_MAX);
	edit->places_max = edit_places_max(scene, (size_t)(in->end - in->at));
	if (in->bad || count < scene->model_count || !(edit->step_s >= SDF_STEP_MIN && edit->step_s <= 1e6) ||
		!(vec3_length(scene->gravity) <= EDIT_GRAVITY_MAX))
		return edit_save_refuse(error, "time step, gravity, place on the globe or number of models");
	troupe_status status = TROUPE_OK;
	for (uint32_t m = 0; m < count && !status; m++)
		status = edit_save_unpack_model(edit, m, in, error);
	if (status)
		return status;
	if (count != scene->model_count ||
		!edit_save_sane_ids(scene, edit->last_id)) /* the last place must be in use */
		return edit_save_refuse(error, "the number of models, or their ids");
	edit->edited.count = 0;
	uint32_t edited = unpack_count(in, count);
	for (uint32_t i = 0; i < edited && !in->bad; i++) {
		uint32_t model = unpack_count(in, count - 1);
		if (scene->models[model].id)
			indices_add(&edit->edited, model);
	}
	if (!in->bad && !edit_save_unpack_lights(scene, in))
		return edit_save_refuse(error, "other lights than its world");
	if (!in->bad && !edit_save_unpack_attachments(edit, in))
		return edit_save_refuse(error, "models that are attached to others");
	scene->last_id = edit->last_id;
	edit->created = created;
	edit->removed = removed;
	return in->bad ? edit_save_refuse(error, "the list of changes") : TROUPE_OK;
}

/* --- anew --------------------------------------------------------------------------------------------------------- */

/* A static model that is in its place stays in the tree as it is. */
static void edit_save_renew_model(struct edit *edit, uint32_t index)
{
	struct scene *scene = edit->shared->scene;
	struct scene_model *model = &scene->models[index];
	if (model->absent) {
		scene_set_absent(scene, index, false);
		systems_subscribe(edit->shared->systems, index);
	}
	struct pose home = scene_first_pose(model);
	if (!model->body_count && memcmp(&model->in_body, &home, sizeof home) != 0)
		scene_place_static(scene, index, home);
	for (uint32_t g = model->geom_first; g < model->geom_first + model->geom_count; g++)
		scene_switch_geom(scene, g, true);
	edit_restore_role(model);
}

/* Sensors refer to the SDF of their model, so they go before it. */
static void edit_save_drop_created(struct edit *edit)
{
	struct scene *scene = edit->shared->scene;
	for (uint32_t m = 0; m < scene->model_count; m++) {
		if (!scene->models[m].created)
			continue;
		if (!scene->models[m].absent)
			systems_unsubscribe(edit->shared->systems, m);
		scene_set_absent(scene, m, true);
	}
	if (edit->shared->sensors)
		sensors_update(edit->shared->sensors);
	for (uint32_t m = scene->model_count; m-- > 0;)
		if (scene->models[m].created)
			edit_give_up(edit, m);
}

void edit_renew(struct edit *edit)
{
	struct scene *scene = edit->shared->scene;
	edit_save_drop_created(edit);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id)
			edit_save_renew_model(edit, m);
	edit_reset_lights(edit);
	scene_drop_added_lights(scene);
	scene->attachments.count = 0;
	scene->attachments_epoch++;
	scene->gravity = scene->sdf->gravity;
	edit_put_earth(scene, &(struct edit_earth){0});
	edit->step_s = scene->step_s;
	edit->leaving.count = edit->edited.count = edit->effects.count = 0;
	edit->world_changed = true;
	edit->epoch++;
}

void edit_renewed(struct edit *edit, const char *packed, size_t count)
{
	edit->log.count = edit->shared->state->written.count = 0;
	edit->renewed.count = 0;
	text_add_bytes(&edit->renewed, packed, count);
	edit_note(edit, EDIT_RENEW, 0);
}
