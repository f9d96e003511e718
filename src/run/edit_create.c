/* Created models. Most of the work needs no world: to parse the SDF, to read its files, to make bodies and hulls. A
 * command brings the result of that work (edit_prepare()), because it takes milliseconds, and in the turn of a step all
 * runners would wait for it. Left for the turn is what depends on the world at that step: whether the name is free, the
 * places, the id, the topics.
 *
 * Two things that are known only in the turn change the SDF itself: a new name for a model whose name is taken (names
 * of links begin with it), and a pose relative to another model. The model is then read and compiled again, from the
 * elements in memory and with the hulls that were made (sdf_edit(), scene_compile()). That gives the bits that a model
 * has that was loaded so, which moving the compiled parts would not.
 *
 * A copy (clone_name) is a model as it was made, not as it is: the SDF of a model of the file, or the source of a
 * created one, with another name and pose. A model of the file is found when the command is prepared, because the file
 * does not change. Which created model has the name is known only in the turn: its source is then loaded there, from
 * memory. */
#include "run/edit_internal.h"

#include "run/schedule.h"
#include "scene/light.h"
#include "system/ignored.h"
#include "topic/light.pb-c.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- sources ------------------------------------------------------------------------------------------------------ */

/* A file is found as an <include> finds it. */
static void edit_create_include_file(struct text *out, const char *name)
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
static char *edit_create_path_beside(const char *world)
{
	const char *slash = strrchr(world, '/');
	return mem_printf("%.*s(command)", slash ? (int)(slash + 1 - world) : 0, world);
}

/* The program that names a file may have it read: the file, or the model in the folder, is in its own place then. */
static void edit_create_allow_named(const struct edit_options *options, struct edit_source *source, const char *uri)
{
	const char *scheme = strstr(uri, "://"), *name = scheme ? scheme + 3 : uri;
	const char *slash = strrchr(source->path, '/');
	int length = *name != '/' && slash ? (int)(slash + 1 - source->path) : 0;
	char *path = mem_printf("%.*s%s", length, source->path, name), *within = mem_printf("%s/.", path);
	files_allow_all(&source->places, options->places);
	files_allow_around(&source->places, path);
	files_allow_around(&source->places, within); /* if it is a folder */
	source->files.places = &source->places;
	free(path);
	free(within);
}

static struct edit_source *edit_create_source_of(const struct edit_options *options, enum edit_reading reading,
	const Gz__Msgs__EntityFactory *factory, const struct pose *pose)
{
	struct edit_source *source = mem_alloc(sizeof *source);
	struct text include = {0};
	const char *text = factory->sdf;
	if (factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_CLONE_NAME) {
		(void)sdf_print_model(options->sdf, options->world, factory->clone_name, &include);
		text = include.at;
	}
	if (factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_SDF_FILENAME) {
		edit_create_include_file(&include, factory->sdf_filename);
		text = include.at;
	}
	source->text = mem_strdup(text);
	source->path = edit_create_path_beside(options->path);
	source->name = mem_strdup(factory->name);
	source->placed = pose != NULL;
	source->pose = pose ? *pose : POSE_IDENTITY;
	source->files.before = options->files;
	source->files.closed = reading == EDIT_READS_KEPT;
	source->files.places = options->places;
	if (reading == EDIT_READS_NAMED && options->places &&
		factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_SDF_FILENAME)
		edit_create_allow_named(options, source, factory->sdf_filename);
	text_fini(&include);
	return source;
}

static void edit_create_unload(struct edit_source *source)
{
	scene_parts_destroy(source->parts);
	sdf_free(source->sdf);
	source->parts = NULL;
	source->sdf = NULL;
}

void edit_source_destroy(struct edit_source *source)
{
	if (!source || source->users--)
		return;
	edit_create_unload(source);
	free(source->text);
	free(source->path);
	free(source->name);
	free(source->ignored);
	plugin_marks_fini(&source->plugins);
	files_fini(&source->files);
	files_places_fini(&source->places);
	free(source);
}

static struct sdf_options edit_create_options_of(
	const struct edit_options *options, const struct edit_source *source, struct files *files)
{
	return (struct sdf_options){.resource_paths = options->resource_paths,
		.use_environment = !files->closed,
		.files = files,
		.importer = options->importer,
		.visuals = SDF_VISUALS_READ, /* a model that sees may be created later */
		.bare = true,
		.bare_name = *source->name ? source->name : NULL,
		.bare_pose = source->placed ? &source->pose : NULL};
}

/* Lists what is ignored of the model's SDF. */
static void edit_create_list_ignored(const struct edit_options *options, struct edit_source *source)
{
	struct ignored_list list = {0};
	struct text text = {0};
	ignored_find(source->sdf, sensor_is_simulated, options->plugins, &list);
	for (uint32_t i = 0; i < list.all.count; i++)
		if (!list.all.at[i].aside)
			text_add(&text, "%s%s", text.count ? ", " : "; ignored: ", list.all.at[i].what);
	free(source->ignored);
	source->ignored = text.at ? text.at : mem_strdup("");
	ignored_fini(&list);
}

static void edit_create_compile(const struct edit_options *options, struct edit_source *source)
{
	struct scene_parts *before = source->parts;
	source->error = (struct troupe_error){0};
	source->parts = NULL;
	(void)scene_compile(source->sdf, before, &source->parts, &source->error);
	edit_create_list_ignored(options, source);
}

troupe_status edit_source_load(
	const struct edit_options *options, struct edit_source *source, struct files *files, struct troupe_error *error)
{
	struct sdf_options sdf = edit_create_options_of(options, source, files);
	edit_create_unload(source);
	troupe_status status =
		sdf_load_text(source->text, strlen(source->text), source->path, &sdf, &source->sdf, &source->error);
	if (!status)
		edit_create_compile(options, source);
	else if (error)
		*error = source->error;
	return status;
}

/* Loads and compiles again after a change of name or pose, without looking at files. */
static troupe_status edit_create_load_again(const struct edit_options *options, struct edit_source *source)
{
	struct sdf_options sdf = edit_create_options_of(options, source, &source->files);
	bool closed = source->files.closed;
	source->files.closed = true;
	troupe_status status = sdf_edit(source->sdf, &sdf, &source->error);
	source->files.closed = closed;
	if (!status)
		edit_create_compile(options, source);
	return status;
}

static bool edit_create_is_loaded(const struct edit_source *source)
{
	return source->sdf && source->sdf->worlds.count;
}

const char *edit_source_entity(const struct edit_source *source)
{
	const struct sdf_world *world = &source->sdf->worlds.at[0];
	return world->models.count ? world->models.at[0].name : world->actors.count ? world->actors.at[0].name : NULL;
}

/* --- before the step ---------------------------------------------------------------------------------------------- */

static troupe_status edit_create_check_factory(const Gz__Msgs__EntityFactory *factory, struct troupe_error *error)
{
	const Gz__Msgs__SphericalCoordinates *place = factory->spherical_coordinates;
	if (place && *factory->relative_to)
		return fail(error, TROUPE_ECOMMAND, "both relative_to and spherical_coordinates: expected one of them");
	if (place && factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_LIGHT)
		return fail(error, TROUPE_ECOMMAND, "spherical_coordinates of a light: expected pose");
	if (place && edit_check_globe(place, error))
		return TROUPE_ECOMMAND;
	switch (factory->from_case) {
	case GZ__MSGS__ENTITY_FACTORY__FROM_SDF:
		if (*factory->sdf)
			return TROUPE_OK;
		break;
	case GZ__MSGS__ENTITY_FACTORY__FROM_SDF_FILENAME:
		if (*factory->sdf_filename)
			return TROUPE_OK;
		break;
	case GZ__MSGS__ENTITY_FACTORY__FROM_CLONE_NAME:
		if (*factory->clone_name)
			return TROUPE_OK;
		return fail(error, TROUPE_ECOMMAND, "clone_name is empty: expected the name of a model");
	case GZ__MSGS__ENTITY_FACTORY__FROM_MODEL:
		return fail(error, TROUPE_ECOMMAND, "model: only SDF can be created: expected sdf or sdf_filename");
	case GZ__MSGS__ENTITY_FACTORY__FROM_LIGHT:
		return TROUPE_OK;
	default:
		break;
	}
	return fail(error, TROUPE_ECOMMAND, "none of sdf, sdf_filename and clone_name: expected one of them");
}

/* The model that the pose is relative to; NULL: none. */
static const char *edit_create_base_of(const Gz__Msgs__EntityFactory *factory)
{
	const char *relative_to = factory->relative_to;
	return *relative_to && strcmp(relative_to, "world") ? relative_to : NULL;
}

static bool edit_create_has_pose(const Gz__Msgs__EntityFactory *factory)
{
	const Gz__Msgs__Pose *pose = factory->pose;
	return *factory->relative_to || factory->spherical_coordinates ||
	       (pose && (pose->position || pose->orientation));
}

/* Whether the pose is known only in the turn: the other model moves, and the place of the world on the globe is in the
 * world. */
static bool edit_create_is_placed_late(const Gz__Msgs__EntityFactory *factory)
{
	return edit_create_base_of(factory) || factory->spherical_coordinates;
}

static bool edit_create_is_copy(const Gz__Msgs__EntityFactory *factory)
{
	return factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_CLONE_NAME;
}

/* Whether the file has a model of the name; in the turn another model may have it. */
static bool edit_create_copies_of_file(const struct edit_options *options, const Gz__Msgs__EntityFactory *factory)
{
	for (uint32_t i = 0; options->world && i < options->world->models.count; i++)
		if (options->world->models.at[i].parent == SDF_NONE &&
			!strcmp(options->world->models.at[i].name, factory->clone_name))
			return true;
	return false;
}

struct edit_source *edit_prepare(
	const struct edit_options *options, enum edit_reading reading, const Gz__Msgs__EntityFactory *factory)
{
	struct pose pose;
	if (edit_create_check_factory(factory, NULL) || factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_LIGHT ||
		message_pose(factory->pose, &pose, NULL) ||
		(edit_create_is_copy(factory) && !edit_create_copies_of_file(options, factory)))
		return NULL;
	if (edit_create_is_placed_late(factory))
		pose = POSE_IDENTITY;
	struct edit_source *source =
		edit_create_source_of(options, reading, factory, edit_create_has_pose(factory) ? &pose : NULL);
	(void)edit_source_load(options, source, &source->files, NULL);
	if (edit_create_is_loaded(source) && options->visuals && !source->files.closed &&
		sdf_world_sees(&source->sdf->worlds.at[0])) {
		edit_visuals_prepare(options);
		source->visuals = options->visuals;
	}
	return source;
}

void edit_unprepare(struct edit_source *source)
{
	edit_source_destroy(source);
}

void edit_prepared_files(const struct edit_source *source, struct files *files)
{
	files_add_all(files, &source->files);
	edit_visuals_add_files(source->visuals, files);
}

/* An element has some ten times the bytes of its text. */
size_t edit_prepared_bytes(const struct edit_source *source)
{
	size_t bytes = sizeof *source + 10 * strlen(source->text);
	for (uint32_t i = 0; i < source->files.all.count; i++)
		bytes += source->files.all.at[i].count;
	for (uint32_t i = 0; i < source->sdf->meshes.count; i++) {
		const struct mesh *mesh = source->sdf->meshes.at[i];
		bytes += mesh->points.count * sizeof *mesh->points.at + mesh->corners.count * sizeof *mesh->corners.at;
	}
	for (uint32_t i = 0; i < source->sdf->images.count; i++)
		bytes += (size_t)source->sdf->images.at[i]->columns * source->sdf->images.at[i]->rows *
			 sizeof *source->sdf->images.at[i]->values;
	for (uint32_t i = 0; i < source->sdf->textures.count; i++)
		bytes += texture_bytes(source->sdf->textures.at[i]);
	return bytes;
}

/* --- creating ----------------------------------------------------------------------------------------------------- */

/* As in Gazebo: the first of name_0, name_1, ... that is free. */
static char *edit_create_free_name(const struct scene *scene, const char *name)
{
	for (uint64_t i = 0;; i++) {
		char *other = mem_printf("%s_%" PRIu64, name, i);
		if (scene_find_model(scene, other) == SCENE_NONE)
			return other;
		free(other);
	}
}

static troupe_status edit_create_pose_of(const struct edit *edit, const Gz__Msgs__EntityFactory *factory,
	struct pose *ret_pose, struct troupe_error *error)
{
	uint32_t model;
	const char *base = edit_create_base_of(factory);
	troupe_status status = message_pose(factory->pose, ret_pose, error);
	if (!status && base)
		status = edit_find(edit, base, &model, error);
	if (!status && base)
		*ret_pose = pose_mul(state_model_pose(edit->shared->state, model, false), *ret_pose);
	if (!status && factory->spherical_coordinates)
		*ret_pose = edit_pose_on_globe(edit->shared->scene, factory->spherical_coordinates, *ret_pose);
	return status;
}

static troupe_status edit_create_say_why(const struct edit_source *source, struct troupe_error *error)
{
	return fail(error, source->error.status, "%s", source->error.text);
}

/* Gives the model its name and pose at this step. pose: NULL if it was known before. */
static troupe_status edit_create_settle(const struct edit *edit, struct edit_source *source, const struct pose *pose,
	bool may_rename, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	if (pose)
		source->pose = *pose;
	if (!edit_create_is_loaded(source) || (pose && edit_create_load_again(&edit->options, source)))
		return edit_create_say_why(source, error);
	const char *name = edit_source_entity(source);
	if (!name)
		return fail(
			error, TROUPE_ECOMMAND, "neither a model nor an actor nor a light: only these can be created");
	if (scene_find_model(scene, name) == SCENE_NONE)
		return TROUPE_OK;
	if (!may_rename)
		return fail(error, TROUPE_ECOMMAND,
			"a model '%.100s' exists already: expected another name, or allow_renaming", name);
	char *other = edit_create_free_name(scene, name);
	free(source->name);
	source->name = other;
	return edit_create_load_again(&edit->options, source) ? edit_create_say_why(source, error) : TROUPE_OK;
}

static void edit_create_fit_control(struct shared *shared, const struct scene_room *before)
{
	const struct scene_room *now = &shared->scene->room;
	struct control *control = &shared->control;
	control->joints = mem_grow_lines(
		control->joints, before->joints * sizeof *control->joints, now->joints * sizeof *control->joints);
	control->bodies = mem_grow_lines(
		control->bodies, before->bodies * sizeof *control->bodies, now->bodies * sizeof *control->bodies);
	control->models = mem_grow_lines(
		control->models, before->models * sizeof *control->models, now->models * sizeof *control->models);
	control->surfaces = mem_grow_lines(
		control->surfaces, before->geoms * sizeof *control->surfaces, now->geoms * sizeof *control->surfaces);
	shared->boxes = mem_grow_lines(
		shared->boxes, before->models * sizeof *shared->boxes, now->models * sizeof *shared->boxes);
	shared->sweeps = mem_grow_lines(
		shared->sweeps, before->models * sizeof *shared->sweeps, now->models * sizeof *shared->sweeps);
}

/* The previous model in this place may have left values behind. */
static void edit_create_clear_control(struct shared *shared, uint32_t model)
{
	const struct scene_model *m = &shared->scene->models[model];
	memset(shared->control.joints + m->joint_first, 0, m->joint_count * sizeof *shared->control.joints);
	memset(shared->control.bodies + m->body_first, 0, m->body_count * sizeof *shared->control.bodies);
	memset(shared->control.surfaces + m->geom_first, 0, m->geom_count * sizeof *shared->control.surfaces);
	shared->control.models[model] = (struct model_control){0};
}

/* The libraries of the model's plug-ins. */
static void edit_create_keep_marks(const struct edit *edit, uint32_t model, struct edit_source *source)
{
	const struct sdf_world *from = edit->shared->scene->models[model].from;
	plugin_marks_fini(&source->plugins);
	for (uint32_t i = 0; i < from->plugins.count; i++) {
		struct plugin_mark mark = {0};
		if (!plugins_mark(edit->options.plugins, from->plugins.at[i].filename, &mark.hash))
			continue;
		mark.filename = mem_strdup(from->plugins.at[i].filename);
		vec_push(&source->plugins, mark);
	}
}

static void edit_create_keep_source(struct edit *edit, uint32_t model, struct edit_source *source)
{
	uint32_t room = edit->shared->scene->room.models;
	edit->sources = mem_grow(edit->sources, edit->room * sizeof *edit->sources, room * sizeof *edit->sources);
	edit->room = room;
	edit->sources[model] = source;
}

troupe_status edit_add(struct edit *edit, struct edit_source *source, const struct scene_places *at,
	uint32_t *ret_model, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct shared *shared = edit->shared;
	struct scene_room before = shared->scene->room;
	const char *warning = "", *left_out = NULL;
	uint32_t model = SCENE_NONE;
	if (!source->parts)
		return edit_create_say_why(source, error);
	troupe_status status = scene_add(shared->scene, source->parts, source->sdf, at, &model, &warning, error);
	if (status)
		return status;
	sdf_settle(source->sdf);
	source->parts = NULL; /* the scene owns both now */
	source->sdf = NULL;
	edit_create_fit_control(shared, &before);
	edit->world_changed = true;
	status = systems_add(shared->systems, model, &left_out, error);
	if (status) {
		scene_set_absent(shared->scene, model, true);
		scene_free(shared->scene, model);
		return status;
	}
	edit_create_clear_control(shared, model);
	state_add(shared->state, model, shared->systems->sets[model].words);
	systems_init_model(shared->systems, shared->state, model);
	state_set_initial_of(shared->state, model);
	edit_create_keep_marks(edit, model, source);
	edit_create_keep_source(edit, model, source);
	shared->boxes[model].box = state_model_box(shared->state, model, false);
	owners_take(&edit->owners, &shared->scene->models[model], edit->creates_for);
	if (!shared->scene->models[model].body_count)
		indices_add(&edit->edited, model);
	if (sdf_world_sees(shared->scene->models[model].from))
		edit_visuals_put(&edit->options, &source->files);
	edit->created++;
	edit_note(edit, EDIT_CREATE, model);
	if (!*warning && left_out)
		warning = left_out;
	edit_say(note, "model '%.100s' created, id %" PRIu64 "%s%.120s%s", shared->scene->models[model].name,
		shared->scene->models[model].id, *warning ? "; " : "", warning, source->ignored);
	*ret_model = model;
	return TROUPE_OK;
}

/* A light as a message of its own. */
static troupe_status edit_create_light(struct edit *edit, const Gz__Msgs__EntityFactory *factory,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct text bytes = {0};
	ProtobufCMessage *made = NULL;
	message_add_bytes(&bytes, &factory->light->base);
	troupe_status status = message_of_bytes(&troupe__msgs__set_light__descriptor, bytes.at ? bytes.at : "",
		bytes.count, &message_limits_usual, &made, error);
	text_fini(&bytes);
	if (status)
		return status;
	Troupe__Msgs__SetLight light = *(Troupe__Msgs__SetLight *)made;
	if (*factory->name)
		light.name = factory->name;
	light.pose = edit_create_has_pose(factory) ? factory->pose : light.pose;
	light.id = light.parent_id = 0;
	command_mean_light(&light);
	status = edit_add_light_of_message(edit, &light, factory->allow_renaming, note, error);
	message_free(made);
	return status;
}

/* The source of a created model again, with the name and pose of the message where it has these. */
static struct edit_source *edit_create_copy_source(const struct edit *edit, const struct edit_source *from,
	const Gz__Msgs__EntityFactory *factory, struct pose pose)
{
	struct edit_source *source = mem_alloc(sizeof *source);
	source->text = mem_strdup(from->text);
	source->path = mem_strdup(from->path);
	source->name = mem_strdup(*factory->name ? factory->name : from->name);
	source->placed = edit_create_has_pose(factory) || from->placed;
	source->pose = edit_create_has_pose(factory) ? pose : from->pose;
	struct files *files = &source->files;
	files_add_all(files, &from->files);
	files->closed = true;
	(void)edit_source_load(&edit->options, source, files, NULL);
	return source;
}

/* Finds what a copy is made of. *ret_source: NULL when it is what was prepared; else the caller destroys it. */
static troupe_status edit_create_find_copied(const struct edit *edit, const Gz__Msgs__EntityFactory *factory,
	const struct edit_source *prepared, struct pose pose, struct edit_source **ret_source,
	struct troupe_error *error)
{
	uint32_t model;
	troupe_status status = edit_find(edit, factory->clone_name, &model, error);
	if (status)
		return status;
	const struct scene_model *m = &edit->shared->scene->models[model];
	if (m->actor)
		return fail(error, TROUPE_ECOMMAND, "'%.100s' is an actor: expected a model", factory->clone_name);
	if (m->created)
		*ret_source = edit_create_copy_source(edit, edit->sources[model], factory, pose);
	else if (!prepared)
		return fail(error, TROUPE_ECOMMAND,
			"'%.100s' cannot be copied: expected a model of the file, or one "
			"that was created",
			factory->clone_name);
	return TROUPE_OK;
}

static troupe_status edit_create_model(struct edit *edit, const Gz__Msgs__EntityFactory *factory,
	struct edit_source *source, struct pose pose, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t model = SCENE_NONE;
	troupe_status status = edit_create_settle(
		edit, source, edit_create_is_placed_late(factory) ? &pose : NULL, factory->allow_renaming, error);
	if (!status)
		status = edit_add(edit, source, NULL, &model, note, error);
	if (status)
		return status;
	source->users++;
	edit_effect(edit, EDIT_ADDED, model);
	return TROUPE_OK;
}

/* A light belongs to nobody: robot clients that act on their own models only cannot create any. */
static troupe_status edit_create_check_light(const struct edit *edit, struct troupe_error *error)
{
	if (owners_may_act(&edit->owners, edit->creates_for, 0))
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "a light, created for client '%.80s': expected a model",
		owners_name(&edit->owners, edit->creates_for));
}

troupe_status edit_create(struct edit *edit, const Gz__Msgs__EntityFactory *factory, struct edit_source *source,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct pose pose;
	troupe_status status = edit_create_check_factory(factory, error);
	if (!status && edit->shared->scene->model_count >= SDF_MODELS_MAX)
		status = fail(error, TROUPE_ELIMIT, "the world has %d models: expected no more", SDF_MODELS_MAX);
	if (!status)
		status = edit_create_pose_of(edit, factory, &pose, error);
	if (status)
		return status;
	bool is_light = factory->from_case == GZ__MSGS__ENTITY_FACTORY__FROM_LIGHT;
	bool is_file_light = !is_light && !edit_create_is_copy(factory) && edit_create_is_loaded(source) &&
			     source->sdf->worlds.at[0].lights.count && !edit_source_entity(source);
	if (is_light || is_file_light)
		status = edit_create_check_light(edit, error);
	if (status)
		return status;
	if (is_light)
		return edit_create_light(edit, factory, note, error);
	struct edit_source *own = NULL;
	if (edit_create_is_copy(factory))
		status = edit_create_find_copied(edit, factory, source, pose, &own, error);
	else if (is_file_light)
		return edit_add_light(edit, &source->sdf->worlds.at[0].lights.at[0],
			edit_create_is_placed_late(factory) ? &pose : NULL, factory->allow_renaming, note, error);
	if (!status)
		status = edit_create_model(edit, factory, own ? own : source, pose, note, error);
	edit_source_destroy(own);
	return status;
}

troupe_status edit_create_multiple(struct edit *edit, const Gz__Msgs__EntityFactoryV *factories,
	struct edit_source *const *sources, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t count = (uint32_t)factories->n_data, failed = 0;
	struct troupe_error first = {0};
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_error why;
		if (!edit_create(edit, factories->data[i], sources[i], note, &why))
			continue;
		if (!failed++)
			(void)fail(&first, why.status, "item %u: %s", i + 1, why.text);
	}
	if (failed)
		return fail(error, first.status, "%u of %u created: %s", count - failed, count, first.text);
	edit_say(note, "%u models created", count);
	return TROUPE_OK;
}
