#include "run/edit.h"

#include "base/hash.h"
#include "physics/physics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERFORMER_SIZE 2.0 /* m: what Gazebo gives a performer that is made one at run time */
#define GRAVITY_MAX 1e6    /* m/s^2 */
#define ID_MAX (UINT64_MAX / 2)
#define POSITION_MAX_OF_JOINT 1e15 /* rad or m: what a saved one may be; turns are counted */

enum { HOLES_MAX = 1 << 18 }; /* places below those of created models that a small file may leave free */

/* What a created model was made from: enough to make it again. */
struct edit_source {
	char *text, *path, *name; /* path: for messages and relative names. name: "" for the text's own */
	bool placed;
	struct pose pose; /* when placed */
	struct files files;
};

static void source_free(struct edit_source *source)
{
	if (!source)
		return;
	free(source->text);
	free(source->path);
	free(source->name);
	files_fini(&source->files);
	free(source);
}

void edit_init(struct edit *edit, struct shared *shared, struct plan *plan, const struct edit_options *options)
{
	*edit = (struct edit){.shared = shared, .plan = plan, .options = *options, .step_s = shared->scene->step_s};
}

void edit_fini(struct edit *edit)
{
	for (uint32_t m = 0; m < edit->room; m++)
		source_free(edit->sources[m]);
	free(edit->sources);
	vec_free(&edit->leaving);
	vec_free(&edit->edited);
}

static void say(char note[EDIT_NOTE_BYTES], const char *format, ...) TROUPE_PRINTF(2, 3);
static void say(char note[EDIT_NOTE_BYTES], const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(note, EDIT_NOTE_BYTES, format, args);
	va_end(args);
}

static troupe_status find(const struct edit *edit, const char *name, uint32_t *ret_model, struct troupe_error *error)
{
	*ret_model = scene_find_model(edit->shared->scene, name);
	if (*ret_model != SCENE_NONE)
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "the world has no model '%.100s'", name);
}

/* --- leaving ------------------------------------------------------------------------------------------------------ */

static void give_up(struct edit *edit, uint32_t model)
{
	struct shared *shared = edit->shared;
	systems_remove(shared->systems, model);
	state_remove(shared->state, model);
	scene_free(shared->scene, model);
	indices_remove(&edit->edited, model);
	source_free(edit->sources[model]);
	edit->sources[model] = NULL;
}

void edit_begin(struct edit *edit)
{
	edit->world_changed = false;
	for (uint32_t i = 0; i < edit->leaving.count; i++)
		give_up(edit, edit->leaving.at[i]);
	edit->leaving.count = 0;
}

/* A model of the file keeps its place: a reset brings it back. */
static void leave(struct edit *edit, uint32_t model)
{
	struct scene *scene = edit->shared->scene;
	scene_set_absent(scene, model, true);
	systems_silence(edit->shared->systems, model);
	plan_remove(edit->plan, model);
	if (scene->models[model].created)
		vec_push(&edit->leaving, model);
	else
		indices_add(&edit->edited, model);
	edit->removed++;
}

troupe_status edit_remove(
	struct edit *edit, const struct message *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const char *name = message_string(entity, MESSAGE_ENTITY_NAME);
	double type = entity->value[MESSAGE_ENTITY_TYPE];
	uint32_t model;
	if (type != MESSAGE_ENTITY_TYPE_NONE && type != MESSAGE_ENTITY_TYPE_MODEL && type != MESSAGE_ENTITY_TYPE_ACTOR)
		return fail(error, TROUPE_ECOMMAND, "type %g: only models can be removed: expected MODEL", type);
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "no name: expected that of a model");
	troupe_status status = find(edit, name, &model, error);
	if (status)
		return status;
	say(note, "model '%.100s' removed", name); /* before its name goes */
	leave(edit, model);
	return TROUPE_OK;
}

/* --- coming ------------------------------------------------------------------------------------------------------- */

/* A file is found as an <include> finds it. */
static void include_file(struct text *out, const char *name)
{
	text_add(out, "<sdf version='1.12'><world name='w'><include><uri>");
	for (; *name; name++)
		if (*name == '&')
			text_add(out, "&amp;");
		else if (*name == '<')
			text_add(out, "&lt;");
		else
			text_add(out, "%c", *name);
	text_add(out, "</uri></include></world></sdf>");
}

/* Messages name the command, and relative names begin in the world's folder. */
static char *path_beside(const char *world)
{
	const char *slash = strrchr(world, '/');
	return mem_printf("%.*s(command)", slash ? (int)(slash + 1 - world) : 0, world);
}

static struct edit_source *source_of(
	const struct edit *edit, const struct message *factory, const char *name, const struct pose *pose)
{
	struct edit_source *source = mem_alloc(sizeof *source);
	struct text include = {0};
	const char *text = message_string(factory, MESSAGE_FACTORY_SDF);
	if (!*text) {
		include_file(&include, message_string(factory, MESSAGE_FACTORY_SDF_FILENAME));
		text = include.at;
	}
	source->text = mem_strdup(text);
	source->path = path_beside(edit->options.path);
	source->name = mem_strdup(name);
	source->placed = pose != NULL;
	source->pose = pose ? *pose : POSE_IDENTITY;
	source->files.before = edit->options.files;
	text_fini(&include);
	return source;
}

static troupe_status load(
	const struct edit *edit, struct edit_source *source, struct sdf **ret_sdf, struct troupe_error *error)
{
	struct sdf_options options = {.resource_paths = edit->options.resource_paths,
		.use_environment = !source->files.closed,
		.files = &source->files,
		.bare = true,
		.bare_name = *source->name ? source->name : NULL,
		.bare_pose = source->placed ? &source->pose : NULL};
	troupe_status status =
		sdf_load_text(source->text, strlen(source->text), source->path, &options, ret_sdf, error);
	if (!status)
		return TROUPE_OK;
	sdf_free(*ret_sdf);
	*ret_sdf = NULL;
	return status;
}

static const char *entity_name(const struct sdf *sdf)
{
	const struct sdf_world *world = &sdf->worlds.at[0];
	return world->models.count ? world->models.at[0].name : world->actors.count ? world->actors.at[0].name : NULL;
}

/* Gazebo's way out: the first of name_0, name_1, ... that is free. */
static char *free_name(const struct scene *scene, const char *name)
{
	for (uint64_t i = 0;; i++) {
		char *other = mem_printf("%s_%" PRIu64, name, i);
		if (scene_find_model(scene, other) == SCENE_NONE)
			return other;
		free(other);
	}
}

static troupe_status check_factory(const struct message *factory, struct troupe_error *error)
{
	bool text = *message_string(factory, MESSAGE_FACTORY_SDF);
	bool file = *message_string(factory, MESSAGE_FACTORY_SDF_FILENAME);
	if (*message_string(factory, MESSAGE_FACTORY_CLONE_NAME))
		return fail(
			error, TROUPE_ECOMMAND, "clone_name: models cannot be cloned: expected sdf or sdf_filename");
	if (text == file)
		return fail(error, TROUPE_ECOMMAND, "%s: expected either sdf or sdf_filename",
			text ? "sdf and sdf_filename" : "neither sdf nor sdf_filename");
	return TROUPE_OK;
}

/* *ret_given: whether the message says where. */
static troupe_status pose_of(const struct edit *edit, const struct message *factory, struct pose *ret_pose,
	bool *ret_given, struct troupe_error *error)
{
	const char *relative_to = message_string(factory, MESSAGE_FACTORY_RELATIVE_TO);
	*ret_given = *relative_to;
	for (uint32_t i = 0; i < MESSAGE_POSE_SLOTS; i++)
		*ret_given |= message_given(factory, MESSAGE_FACTORY_POSE + i);
	troupe_status status = message_pose_of(factory, MESSAGE_FACTORY_POSE, ret_pose, error);
	if (status || !*relative_to || !strcmp(relative_to, "world"))
		return status;
	uint32_t model;
	status = find(edit, relative_to, &model, error);
	if (!status)
		*ret_pose = pose_mul(state_model_pose(edit->shared->state, model, false), *ret_pose);
	return status;
}

/* Loads it under a name that nobody has. On failure *ret_sdf and *ret_source are NULL. */
static troupe_status load_named(struct edit *edit, const struct message *factory, struct sdf **ret_sdf,
	struct edit_source **ret_source, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	struct pose pose;
	bool given;
	troupe_status status = pose_of(edit, factory, &pose, &given, error);
	if (status)
		return status;
	*ret_source = source_of(edit, factory, message_string(factory, MESSAGE_FACTORY_NAME), given ? &pose : NULL);
	status = load(edit, *ret_source, ret_sdf, error);
	const char *name = status ? NULL : entity_name(*ret_sdf);
	if (!status && !name)
		status = fail(error, TROUPE_ECOMMAND, "neither a model nor an actor: only these can be created");
	if (!status && scene_find_model(scene, name) == SCENE_NONE)
		return TROUPE_OK;
	if (!status && !factory->value[MESSAGE_FACTORY_ALLOW_RENAMING])
		status = fail(error, TROUPE_ECOMMAND,
			"a model '%.100s' exists already: expected another name, or allow_renaming", name);
	if (!status) {
		char *other = free_name(scene, name);
		free((*ret_source)->name);
		(*ret_source)->name = other;
		sdf_free(*ret_sdf);
		return load(edit, *ret_source, ret_sdf, error);
	}
	sdf_free(*ret_sdf);
	source_free(*ret_source);
	*ret_sdf = NULL;
	*ret_source = NULL;
	return status;
}

static void fit_control(struct shared *shared, const struct scene_room *before)
{
	const struct scene_room *now = &shared->scene->room;
	struct control *control = &shared->control;
	control->joints = mem_grow_lines(
		control->joints, before->joints * sizeof *control->joints, now->joints * sizeof *control->joints);
	control->bodies = mem_grow_lines(
		control->bodies, before->bodies * sizeof *control->bodies, now->bodies * sizeof *control->bodies);
	shared->boxes = mem_grow_lines(
		shared->boxes, before->models * sizeof *shared->boxes, now->models * sizeof *shared->boxes);
}

/* Whoever had the place before may have left something behind. */
static void clear_control(struct shared *shared, uint32_t model)
{
	const struct scene_model *m = &shared->scene->models[model];
	memset(shared->control.joints + m->joint_first, 0, m->joint_count * sizeof *shared->control.joints);
	memset(shared->control.bodies + m->body_first, 0, m->body_count * sizeof *shared->control.bodies);
}

static void keep_source(struct edit *edit, uint32_t model, struct edit_source *source)
{
	uint32_t room = edit->shared->scene->room.models;
	edit->sources = mem_grow(edit->sources, edit->room * sizeof *edit->sources, room * sizeof *edit->sources);
	edit->room = room;
	edit->sources[model] = source;
}

/* On failure source stays the caller's, and *sdf, unless it is NULL by then. at: NULL for any places. */
static troupe_status add(struct edit *edit, struct sdf **sdf, struct edit_source *source, const struct scene_places *at,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct shared *shared = edit->shared;
	struct scene_room before = shared->scene->room;
	const char *warning = "", *left_out = NULL;
	uint32_t model = SCENE_NONE;
	troupe_status status = scene_add(shared->scene, *sdf, at, &model, &warning, error);
	if (status)
		return status;
	fit_control(shared, &before);
	edit->world_changed = true;
	status = systems_add(shared->systems, model, &left_out, error);
	if (status) {
		scene_set_absent(shared->scene, model, true);
		scene_free(shared->scene, model);
		*sdf = NULL; /* it was the model's */
		return status;
	}
	clear_control(shared, model);
	state_add(shared->state, model, shared->systems->sets[model].words);
	systems_init_model(shared->systems, shared->state, model);
	keep_source(edit, model, source);
	plan_add(edit->plan, model);
	if (!shared->scene->models[model].body_count)
		indices_add(&edit->edited, model);
	edit->created++;
	if (left_out && !*warning)
		warning = left_out;
	say(note, "model '%.100s' created%s%.120s", shared->scene->models[model].name, *warning ? "; " : "", warning);
	return TROUPE_OK;
}

troupe_status edit_create(
	struct edit *edit, const struct message *factory, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct sdf *sdf = NULL;
	struct edit_source *source = NULL;
	troupe_status status = check_factory(factory, error);
	if (!status && edit->shared->scene->model_count >= SDF_MODELS_MAX)
		status = fail(error, TROUPE_ELIMIT, "the world has %d models: expected no more", SDF_MODELS_MAX);
	if (!status)
		status = load_named(edit, factory, &sdf, &source, error);
	if (!status)
		status = add(edit, &sdf, source, NULL, note, error);
	if (status) { /* else they are kept */
		sdf_free(sdf);
		source_free(source);
	}
	return status;
}

troupe_status edit_create_multiple(
	struct edit *edit, const struct message *factories, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t count = message_item_count(factories), failed = 0;
	struct troupe_error first = {0};
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_error why;
		if (!edit_create(edit, message_item(factories, i), note, &why))
			continue;
		if (!failed++)
			(void)fail(&first, why.status, "item %u: %s", i + 1, why.text);
	}
	if (failed)
		return fail(error, first.status, "%u of %u created: %s", count - failed, count, first.text);
	say(note, "%u models created", count);
	return TROUPE_OK;
}

/* --- elsewhere ---------------------------------------------------------------------------------------------------- */

/* Whether the joint ties the model to the world, or to another model, that is there. */
static bool ties(const struct scene *scene, const struct scene_joint *joint, uint32_t model)
{
	uint32_t parent = joint->parent == SCENE_NONE ? SCENE_NONE : scene->bodies[joint->parent].model;
	uint32_t child = joint->child == SCENE_NONE ? SCENE_NONE : scene->bodies[joint->child].model;
	if (parent != model && child != model)
		return false;
	uint32_t other = parent == model ? child : parent;
	return other == SCENE_NONE || !scene->models[other].absent;
}

/* A joint that ties the model to something that would not move with it; NULL: none. */
static const struct scene_joint *tie_of(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		if (scene->joints[j].parent == SCENE_NONE || scene->joints[j].child == SCENE_NONE)
			return &scene->joints[j];
	for (uint32_t i = 0; i < scene->world_joints.count; i++)
		if (ties(scene, &scene->joints[scene->world_joints.at[i]], model))
			return &scene->joints[scene->world_joints.at[i]];
	return NULL;
}

static troupe_status check_pose(const struct edit *edit, const struct message *message, uint32_t *ret_model,
	struct pose *ret_pose, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	const char *name = message_string(message, MESSAGE_POSE_NAME);
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "no name: expected that of a model");
	troupe_status status = find(edit, name, ret_model, error);
	if (!status)
		status = message_pose_of(message, MESSAGE_POSE_POSE, ret_pose, error);
	if (status)
		return status;
	if (!vec3_within(ret_pose->p, SCENE_POSITION_MAX))
		return fail(error, TROUPE_ECOMMAND, "position %g %g %g: expected coordinates within %g m",
			ret_pose->p.x, ret_pose->p.y, ret_pose->p.z, SCENE_POSITION_MAX);
	if (scene->models[*ret_model].actor)
		return fail(error, TROUPE_ECOMMAND, "actor '%.100s' is moved by its script", name);
	const struct scene_joint *tie = tie_of(scene, *ret_model);
	if (tie)
		return fail(
			error, TROUPE_ECOMMAND, "joint '%.100s' ties model '%.100s' to where it is", tie->name, name);
	return TROUPE_OK;
}

static void place_bodies(struct state *state, uint32_t model, struct pose pose)
{
	struct pose by = pose_mul(pose, pose_inverse(state_model_pose(state, model, false)));
	struct body_state *bodies = state_bodies(state, model, false);
	for (uint32_t b = 0; b < state->scene->models[model].body_count; b++) {
		struct pose to = pose_mul(by, body_pose(&bodies[b]));
		bodies[b].p = to.p;
		bodies[b].q = quat_unit(to.q);
	}
	state_touched(state, model);
}

static void place(struct edit *edit, uint32_t model, struct pose pose)
{
	struct scene *scene = edit->shared->scene;
	if (scene->models[model].body_count) {
		place_bodies(edit->shared->state, model, pose);
	} else {
		scene_place_static(scene, model, pose);
		indices_add(&edit->edited, model);
	}
	plan_placed(edit->plan, model);
}

troupe_status edit_set_pose(
	struct edit *edit, const struct message *message, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t model;
	struct pose pose;
	troupe_status status = check_pose(edit, message, &model, &pose, error);
	if (status)
		return status;
	place(edit, model, pose);
	say(note, "model '%.100s' placed", edit->shared->scene->models[model].name);
	return TROUPE_OK;
}

troupe_status edit_set_poses(
	struct edit *edit, const struct message *message, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t count = message_item_count(message), model;
	struct pose pose;
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_error why;
		if (check_pose(edit, message_item(message, i), &model, &pose, &why))
			return fail(error, why.status, "item %u: %s", i + 1, why.text);
	}
	for (uint32_t i = 0; i < count; i++) {
		(void)check_pose(edit, message_item(message, i), &model, &pose, NULL);
		place(edit, model, pose);
	}
	say(note, "%u models placed", count);
	return TROUPE_OK;
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

static double slot_or(const struct message *message, uint32_t slot, double otherwise)
{
	return message_given(message, slot) ? message->value[slot] : otherwise;
}

troupe_status edit_set_physics(
	struct edit *edit, const struct message *physics, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	double step_s = slot_or(physics, MESSAGE_PHYSICS_MAX_STEP_SIZE, edit->step_s);
	double factor = slot_or(physics, MESSAGE_PHYSICS_REAL_TIME_FACTOR, 0);
	struct vec3 g = {slot_or(physics, MESSAGE_PHYSICS_GRAVITY_X, scene->gravity.x),
		slot_or(physics, MESSAGE_PHYSICS_GRAVITY_Y, scene->gravity.y),
		slot_or(physics, MESSAGE_PHYSICS_GRAVITY_Z, scene->gravity.z)};
	if (!(step_s >= SDF_STEP_MIN && step_s <= 1e6))
		return fail(error, TROUPE_ECOMMAND, "max_step_size %g s: expected %g to 1e6", step_s, SDF_STEP_MIN);
	if (!(factor >= 0 && factor <= 1e6))
		return fail(error, TROUPE_ECOMMAND, "real_time_factor %g: expected 0 to 1e6", factor);
	if (!(vec3_length(g) <= GRAVITY_MAX))
		return fail(error, TROUPE_ECOMMAND, "gravity %g %g %g: expected at most %g m/s^2", g.x, g.y, g.z,
			GRAVITY_MAX);
	if (memcmp(&g, &scene->gravity, sizeof g) != 0) {
		scene->gravity = g;
		edit->world_changed = true;
		plan_wake_all(edit->plan);
	}
	if (step_s != edit->step_s) /* how long somebody has been still is counted in steps */
		plan_wake_all(edit->plan);
	edit->step_s = step_s;
	say(note, "steps of %g s, gravity %g %g %g", step_s, g.x, g.y, g.z);
	return TROUPE_OK;
}

static troupe_status check_performer(
	const struct edit *edit, const struct message *message, uint32_t *ret_model, struct troupe_error *error)
{
	const char *name = message_string(message, MESSAGE_PERFORMER_DATA);
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "no data: expected the name of a model");
	troupe_status status = find(edit, name, ret_model, error);
	if (status)
		return status;
	if (edit->shared->scene->models[*ret_model].is_static)
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' is static: expected one that can move", name);
	for (uint32_t i = MESSAGE_PERFORMER_SIZE_X; i <= MESSAGE_PERFORMER_SIZE_Z; i++)
		if (message_given(message, i) && !(message->value[i] > 0 && message->value[i] <= SDF_LENGTH_MAX))
			return fail(error, TROUPE_ECOMMAND, "size %g: expected more than 0 and at most %g m",
				message->value[i], SDF_LENGTH_MAX);
	return TROUPE_OK;
}

troupe_status edit_set_performer(
	struct edit *edit, const struct message *message, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t index = SCENE_NONE;
	troupe_status status = check_performer(edit, message, &index, error);
	if (status)
		return status;
	struct scene_model *model = &edit->shared->scene->models[index];
	bool remove = message->value[MESSAGE_PERFORMER_REMOVE] != 0;
	if (remove && !model->performer)
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' is no performer", model->name);
	model->performer = !remove;
	model->level = remove ? model->home_level : SCENE_NONE;
	if (!remove)
		model->volume = (struct vec3){slot_or(message, MESSAGE_PERFORMER_SIZE_X, PERFORMER_SIZE),
			slot_or(message, MESSAGE_PERFORMER_SIZE_Y, PERFORMER_SIZE),
			slot_or(message, MESSAGE_PERFORMER_SIZE_Z, PERFORMER_SIZE)};
	indices_add(&edit->edited, index);
	plan_performer(edit->plan, index);
	say(note, remove ? "model '%.100s' is no performer any more" : "model '%.100s' is a performer", model->name);
	return TROUPE_OK;
}

/* --- reset -------------------------------------------------------------------------------------------------------- */

static void restore(struct edit *edit, uint32_t index)
{
	struct scene *scene = edit->shared->scene;
	struct scene_model *model = &scene->models[index];
	if (model->absent) {
		scene_set_absent(scene, index, false);
		systems_hear(edit->shared->systems, index);
	}
	if (!model->body_count)
		scene_place_static(scene, index, model->reference);
	model->performer = model->file_performer;
	model->volume = model->file_volume;
	model->level = model->performer ? SCENE_NONE : model->home_level;
	if (!model->performer && edit->shared->tracker.performer_of[index] != SCENE_NONE)
		tracker_remove(&edit->shared->tracker, index);
	plan_add(edit->plan, index);
	if (edit->plan->statics[index])
		plan_placed(edit->plan, index);
}

void edit_reset(struct edit *edit)
{
	struct scene *scene = edit->shared->scene;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].created && !scene->models[m].absent)
			leave(edit, m);
	for (uint32_t i = 0; i < edit->edited.count; i++)
		if (!scene->models[edit->edited.at[i]].created)
			restore(edit, edit->edited.at[i]);
	edit->edited.count = 0;
}

/* --- hash --------------------------------------------------------------------------------------------------------- */

static uint64_t hash_number(uint64_t hash, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return hash_mix(hash, bits);
}

static uint64_t hash_model(const struct scene_model *m)
{
	uint64_t hash = hash_mix(UINT64_C(0x656469746564), m->id); /* "edited" */
	hash = hash_mix(hash, (uint64_t)m->absent | (uint64_t)m->performer << 1);
	const double numbers[] = {m->volume.x, m->volume.y, m->volume.z, m->in_body.p.x, m->in_body.p.y, m->in_body.p.z,
		m->in_body.q.w, m->in_body.q.x, m->in_body.q.y, m->in_body.q.z};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		hash = hash_number(hash, numbers[i]);
	return hash;
}

uint64_t edit_hash(const struct edit *edit)
{
	const struct scene *scene = edit->shared->scene;
	const struct vec3 file = scene->sdf->gravity, now = scene->gravity;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < edit->edited.count; i++)
		sum += hash_model(&scene->models[edit->edited.at[i]]);
	if (edit->step_s != scene->step_s)
		sum += hash_number(UINT64_C(0x73746570), edit->step_s); /* "step" */
	if (memcmp(&file, &now, sizeof now) != 0)
		sum += hash_number(hash_number(hash_number(UINT64_C(0x67), now.x), now.y), now.z);
	return sum;
}

/* --- saving ------------------------------------------------------------------------------------------------------- */

void edit_collect(const struct edit *edit, const struct message *factory, struct files *files)
{
	struct edit_source *source = source_of(edit, factory, "", NULL);
	struct sdf_options options = {
		.resource_paths = edit->options.resource_paths, .use_environment = true, .files = files, .bare = true};
	struct sdf *sdf = NULL;
	/* what is wrong with it is told when it is created */
	(void)sdf_load_text(source->text, strlen(source->text), source->path, &options, &sdf, NULL);
	sdf_free(sdf);
	source_free(source);
}

enum { USED = 1, CREATED = 2, ABSENT = 4, PERFORMER = 8 };

static void pack_vec3(struct text *out, struct vec3 v)
{
	pack_double(out, v.x);
	pack_double(out, v.y);
	pack_double(out, v.z);
}

static void pack_pose(struct text *out, const struct pose *pose)
{
	pack_vec3(out, pose->p);
	pack_double(out, pose->q.w);
	pack_double(out, pose->q.x);
	pack_double(out, pose->q.y);
	pack_double(out, pose->q.z);
}

static struct vec3 unpack_vec3(struct unpack *in)
{
	struct vec3 v;
	v.x = unpack_double(in);
	v.y = unpack_double(in);
	v.z = unpack_double(in);
	return v;
}

static struct pose unpack_pose(struct unpack *in)
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

static void pack_source(struct text *out, const struct edit_source *source)
{
	pack_string(out, source->text);
	pack_string(out, source->path);
	pack_string(out, source->name);
	pack_u64(out, source->placed);
	pack_pose(out, &source->pose);
	files_pack(&source->files, out);
}

static struct edit_source *unpack_source(struct unpack *in)
{
	struct edit_source *source = mem_alloc(sizeof *source);
	source->text = unpack_string(in);
	source->path = unpack_string(in);
	source->name = unpack_string(in);
	source->placed = unpack_count(in, 1);
	source->pose = unpack_pose(in);
	files_unpack(&source->files, in);
	return source;
}

static void pack_model(const struct edit *edit, uint32_t index, struct text *out)
{
	const struct scene_model *m = &edit->shared->scene->models[index];
	const struct state *state = edit->shared->state;
	pack_u64(out,
		m->id ? USED | (m->created ? CREATED : 0u) | (m->absent ? ABSENT : 0u) | (m->performer ? PERFORMER : 0u)
		      : 0u);
	if (!m->id)
		return;
	pack_u64(out, m->id);
	pack_vec3(out, m->volume);
	if (m->created) {
		pack_u64(out, m->body_first);
		pack_u64(out, m->geom_first);
		pack_u64(out, m->joint_first);
		pack_u64(out, m->link_first);
		pack_source(out, edit->sources[index]);
	}
	if (!m->body_count)
		pack_pose(out, &m->in_body);
	uint32_t words = m->absent ? 0 : state->models[index].words;
	pack_u64(out, words);
	for (uint32_t i = 0; i < words; i++)
		pack_u64(out, state_words(state, index, false)[i]);
}

void edit_pack(const struct edit *edit, struct text *out)
{
	const struct scene *scene = edit->shared->scene;
	pack_double(out, edit->step_s);
	pack_vec3(out, scene->gravity);
	pack_u64(out, scene->last_id);
	pack_u64(out, edit->created);
	pack_u64(out, edit->removed);
	pack_u64(out, scene->model_count);
	for (uint32_t m = 0; m < scene->model_count; m++)
		pack_model(edit, m, out);
	pack_u64(out, edit->edited.count);
	for (uint32_t i = 0; i < edit->edited.count; i++)
		pack_u64(out, edit->edited.at[i]);
}

static troupe_status bad_save(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EWORLD, "damaged: %s", what);
}

static troupe_status recreate(
	struct edit *edit, uint32_t index, uint64_t id, struct unpack *in, struct troupe_error *error)
{
	struct scene_places at = {.id = id, .model = index};
	at.body_first = unpack_count(in, edit->places_max);
	at.geom_first = unpack_count(in, edit->places_max);
	at.joint_first = unpack_count(in, edit->places_max);
	at.link_first = unpack_count(in, edit->places_max);
	struct edit_source *source = unpack_source(in);
	struct sdf *sdf = NULL;
	char note[EDIT_NOTE_BYTES];
	troupe_status status = in->bad ? bad_save(error, "a created model") : load(edit, source, &sdf, error);
	if (!status && !entity_name(sdf))
		status = bad_save(error, "a created model has no model");
	if (!status)
		status = scene_find_model(edit->shared->scene, entity_name(sdf)) == SCENE_NONE
				 ? add(edit, &sdf, source, &at, note, error)
				 : bad_save(error, "two models of one name");
	if (status) {
		sdf_free(sdf);
		source_free(source);
	}
	return status;
}

/* Positions of joints and anchors; what systems keep they look at themselves. */
static bool sane_numbers(const struct state *state, uint32_t model)
{
	const struct state_model *m = &state->models[model];
	const uint64_t *words = state_words(state, model, false);
	for (uint32_t i = 0; i + 1 < m->system_first; i++) {
		double value;
		memcpy(&value, &words[i], sizeof value);
		if (!(fabs(value) <= POSITION_MAX_OF_JOINT))
			return false;
	}
	return true;
}

static bool sane_bodies(const struct state *state, uint32_t model)
{
	const struct body_state *bodies = state_bodies(state, model, false);
	for (uint32_t b = 0; b < state->scene->models[model].body_count; b++) {
		const struct body_state *s = &bodies[b];
		double norm = s->q.w * s->q.w + s->q.x * s->q.x + s->q.y * s->q.y + s->q.z * s->q.z;
		if (!vec3_within(s->p, SCENE_POSITION_MAX) || !(norm > 0.5 && norm < 2) ||
			!vec3_within(s->v, PHYSICS_VELOCITY_MAX) || !vec3_within(s->w, PHYSICS_SPIN_MAX))
			return false;
	}
	return sane_numbers(state, model);
}

static troupe_status unpack_words(struct edit *edit, uint32_t index, struct unpack *in, struct troupe_error *error)
{
	struct state *state = edit->shared->state;
	uint32_t words = unpack_count(in, UINT32_MAX);
	if (in->bad || (words && words != state->models[index].words) ||
		(!words && state->models[index].words && !edit->shared->scene->models[index].absent))
		return bad_save(error, "the state of a model has another size");
	for (uint32_t i = 0; i < words; i++)
		state_words(state, index, false)[i] = unpack_u64(in);
	state_touched(state, index);
	return in->bad || (words && !sane_bodies(state, index)) ? bad_save(error, "the state of a model") : TROUPE_OK;
}

static bool sane_volume(struct vec3 v)
{
	return v.x >= 0 && v.y >= 0 && v.z >= 0 && vec3_within(v, SDF_LENGTH_MAX);
}

static bool unpack_place(struct scene *scene, uint32_t index, struct unpack *in)
{
	if (scene->models[index].body_count)
		return true;
	struct pose pose = unpack_pose(in);
	if (in->bad || !vec3_within(pose.p, 2 * SDF_LENGTH_MAX))
		return false;
	scene_place_static(scene, index, pose);
	return true;
}

static troupe_status unpack_model(struct edit *edit, uint32_t index, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	uint32_t flags = unpack_count(in, 15);
	bool in_file = index < scene->model_count && scene->models[index].id && !scene->models[index].created;
	if (in->bad || in_file != ((flags & USED) && !(flags & CREATED)) || (flags && !(flags & USED)) ||
		((flags & CREATED) && (flags & ABSENT)))
		return bad_save(error, "other models than its world");
	if (!flags)
		return TROUPE_OK;
	uint64_t id = unpack_u64(in);
	struct vec3 volume = unpack_vec3(in);
	troupe_status status = TROUPE_OK;
	if (flags & CREATED)
		status = recreate(edit, index, id, in, error);
	if (status)
		return status;
	struct scene_model *m = &scene->models[index];
	if (id != m->id)
		return bad_save(error, "an id");
	if (in->bad || !sane_volume(volume) || !unpack_place(scene, index, in))
		return bad_save(error, "where a model is, or its volume");
	if (flags & ABSENT) {
		scene_set_absent(scene, index, true);
		systems_silence(edit->shared->systems, index);
	}
	m->performer = (flags & PERFORMER) != 0;
	m->volume = volume;
	m->level = m->performer ? SCENE_NONE : m->home_level;
	return unpack_words(edit, index, in, error);
}

static int compare_id(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Whatever is ordered or keyed by ids counts on there being one of each. */
static bool sane_ids(const struct scene *scene, uint64_t last_id)
{
	uint64_t *ids = mem_alloc(scene->model_count * sizeof *ids);
	uint32_t count = 0;
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].id)
			ids[count++] = scene->models[m].id;
	qsort(ids, count, sizeof *ids, compare_id);
	bool sane = last_id <= ID_MAX && (!count || ids[count - 1] <= last_id);
	for (uint32_t i = 1; i < count; i++)
		sane = sane && ids[i - 1] != ids[i];
	free(ids);
	return sane;
}

static uint32_t count_of_places(const struct scene *scene)
{
	return MAX(MAX(scene->body_count, scene->geom_count), MAX(scene->joint_count, scene->link_count));
}

troupe_status edit_unpack(struct edit *edit, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	edit->step_s = unpack_double(in);
	scene->gravity = unpack_vec3(in);
	edit->last_id = unpack_u64(in);
	uint64_t created = unpack_u64(in), removed = unpack_u64(in);
	uint32_t count = unpack_count(in, SDF_MODELS_MAX);
	/* holes are what was removed, of which nothing is in the file: they are bounded by what is */
	edit->places_max = (uint32_t)MIN(
		(uint64_t)count_of_places(scene) + HOLES_MAX + (uint64_t)(in->end - in->at) * 4, UINT32_MAX / 2);
	if (in->bad || count < scene->model_count || !(edit->step_s >= SDF_STEP_MIN && edit->step_s <= 1e6) ||
		!(vec3_length(scene->gravity) <= GRAVITY_MAX))
		return bad_save(error, "time step, gravity or number of models");
	troupe_status status = TROUPE_OK;
	for (uint32_t m = 0; m < count && !status; m++)
		status = unpack_model(edit, m, in, error);
	if (status)
		return status;
	if (count != scene->model_count || !sane_ids(scene, edit->last_id)) /* the last place is somebody's */
		return bad_save(error, "the number of models, or their ids");
	edit->edited.count = 0;
	uint32_t edited = unpack_count(in, count);
	for (uint32_t i = 0; i < edited && !in->bad; i++) {
		uint32_t model = unpack_count(in, count - 1);
		if (scene->models[model].id)
			indices_add(&edit->edited, model);
	}
	scene->last_id = edit->last_id;
	edit->created = created;
	edit->removed = removed;
	return in->bad ? bad_save(error, "the list of changes") : TROUPE_OK;
}
