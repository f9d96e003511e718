/* Created models: finds their SDF, loads it, and adds the model to everything that is indexed by model. */
#include "run/edit_internal.h"

#include "system/ignored.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- sources ------------------------------------------------------------------------------------------------------ */

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

/* Messages name the command, and relative file names start in the world's folder. */
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

static void unload(struct edit_source *source)
{
	sdf_free(source->sdf);
	source->sdf = NULL;
}

void edit_source_destroy(struct edit_source *source)
{
	if (!source)
		return;
	unload(source);
	free(source->text);
	free(source->path);
	free(source->name);
	files_fini(&source->files);
	free(source);
}

troupe_status edit_source_load(
	const struct edit *edit, struct edit_source *source, struct files *files, struct troupe_error *error)
{
	struct sdf_options options = {.resource_paths = edit->options.resource_paths,
		.use_environment = !files->closed,
		.files = files,
		.importer = edit->options.importer,
		.bare = true,
		.bare_name = *source->name ? source->name : NULL,
		.bare_pose = source->placed ? &source->pose : NULL};
	unload(source);
	return sdf_load_text(source->text, strlen(source->text), source->path, &options, &source->sdf, error);
}

const char *edit_source_entity(const struct edit_source *source)
{
	const struct sdf_world *world = &source->sdf->worlds.at[0];
	return world->models.count ? world->models.at[0].name : world->actors.count ? world->actors.at[0].name : NULL;
}

void edit_collect(const struct edit *edit, const struct message *factory, struct files *files)
{
	struct edit_source *source = source_of(edit, factory, "", NULL);
	/* creating the model reports errors */
	(void)edit_source_load(edit, source, files, NULL);
	edit_source_destroy(source);
}

/* --- creating ----------------------------------------------------------------------------------------------------- */

/* As in Gazebo: the first of name_0, name_1, ... that is free. */
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

/* *ret_given: whether the message has a pose. */
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
	status = edit_find(edit, relative_to, &model, error);
	if (!status)
		*ret_pose = pose_mul(state_model_pose(edit->shared->state, model, false), *ret_pose);
	return status;
}

/* Loads the model under a name that is free. */
static troupe_status load_named(
	const struct edit *edit, struct edit_source *source, bool may_rename, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	troupe_status status = edit_source_load(edit, source, &source->files, error);
	if (status)
		return status;
	const char *name = edit_source_entity(source);
	if (!name)
		return fail(error, TROUPE_ECOMMAND, "neither a model nor an actor: only these can be created");
	if (scene_find_model(scene, name) == SCENE_NONE)
		return TROUPE_OK;
	if (!may_rename)
		return fail(error, TROUPE_ECOMMAND,
			"a model '%.100s' exists already: expected another name, or allow_renaming", name);
	char *other = free_name(scene, name);
	free(source->name);
	source->name = other;
	return edit_source_load(edit, source, &source->files, error);
}

static void fit_control(struct shared *shared, const struct scene_room *before)
{
	const struct scene_room *now = &shared->scene->room;
	struct control *control = &shared->control;
	control->joints = mem_grow_lines(
		control->joints, before->joints * sizeof *control->joints, now->joints * sizeof *control->joints);
	control->bodies = mem_grow_lines(
		control->bodies, before->bodies * sizeof *control->bodies, now->bodies * sizeof *control->bodies);
	control->models = mem_grow_lines(
		control->models, before->models * sizeof *control->models, now->models * sizeof *control->models);
	shared->boxes = mem_grow_lines(
		shared->boxes, before->models * sizeof *shared->boxes, now->models * sizeof *shared->boxes);
}

/* The previous model in this place may have left values behind. */
static void clear_control(struct shared *shared, uint32_t model)
{
	const struct scene_model *m = &shared->scene->models[model];
	memset(shared->control.joints + m->joint_first, 0, m->joint_count * sizeof *shared->control.joints);
	memset(shared->control.bodies + m->body_first, 0, m->body_count * sizeof *shared->control.bodies);
	shared->control.models[model].bodies = false;
}

static void keep_source(struct edit *edit, uint32_t model, struct edit_source *source)
{
	uint32_t room = edit->shared->scene->room.models;
	edit->sources = mem_grow(edit->sources, edit->room * sizeof *edit->sources, room * sizeof *edit->sources);
	edit->room = room;
	edit->sources[model] = source;
}

/* warning: "", or the first warning. After it the note lists what is ignored of the model's SDF. */
static void say_created(
	const struct scene_model *model, const struct sdf *sdf, const char *warning, char note[EDIT_NOTE_BYTES])
{
	struct ignored_list list = {0};
	struct text text = {0};
	bool first = true;
	ignored_find(sdf, &list);
	text_add(&text, "model '%.100s' created, id %" PRIu64, model->name, model->id);
	if (*warning)
		text_add(&text, "; %.120s", warning);
	for (uint32_t i = 0; i < list.all.count; i++) {
		if (list.all.at[i].aside)
			continue;
		text_add(&text, "%s%s", first ? "; ignored: " : ", ", list.all.at[i].what);
		first = false;
	}
	edit_say(note, "%s", text.at);
	text_fini(&text);
	ignored_fini(&list);
}

troupe_status edit_add(struct edit *edit, struct edit_source *source, const struct scene_places *at,
	uint32_t *ret_model, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const struct sdf *sdf = source->sdf;
	struct shared *shared = edit->shared;
	struct scene_room before = shared->scene->room;
	const char *warning = "", *left_out = NULL;
	uint32_t model = SCENE_NONE;
	troupe_status status = scene_add(shared->scene, source->sdf, at, &model, &warning, error);
	if (status)
		return status;
	source->sdf = NULL; /* the scene owns it now */
	fit_control(shared, &before);
	edit->world_changed = true;
	status = systems_add(shared->systems, model, &left_out, error);
	if (status) {
		scene_set_absent(shared->scene, model, true);
		scene_free(shared->scene, model);
		return status;
	}
	clear_control(shared, model);
	state_add(shared->state, model, shared->systems->sets[model].words);
	systems_init_model(shared->systems, shared->state, model);
	state_set_initial_of(shared->state, model);
	keep_source(edit, model, source);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	if (!shared->scene->models[model].body_count)
		indices_add(&edit->edited, model);
	edit->created++;
	edit_note(edit, EDIT_CREATE, model);
	say_created(&shared->scene->models[model], sdf, !*warning && left_out ? left_out : warning, note);
	*ret_model = model;
	return TROUPE_OK;
}

troupe_status edit_create(
	struct edit *edit, const struct message *factory, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct pose pose;
	bool given;
	troupe_status status = check_factory(factory, error);
	if (!status && edit->shared->scene->model_count >= SDF_MODELS_MAX)
		status = fail(error, TROUPE_ELIMIT, "the world has %d models: expected no more", SDF_MODELS_MAX);
	if (!status)
		status = pose_of(edit, factory, &pose, &given, error);
	if (status)
		return status;
	struct edit_source *source =
		source_of(edit, factory, message_string(factory, MESSAGE_FACTORY_NAME), given ? &pose : NULL);
	status = load_named(edit, source, factory->value[MESSAGE_FACTORY_ALLOW_RENAMING] != 0, error);
	uint32_t model = SCENE_NONE;
	if (!status)
		status = edit_add(edit, source, NULL, &model, note, error);
	if (status)
		edit_source_destroy(source);
	else
		plan_add(edit->plan, model);
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
	edit_say(note, "%u models created", count);
	return TROUPE_OK;
}
