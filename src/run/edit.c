/* Obeys the commands that change the world between two steps. Creation, joints and motion have their own files.
 *
 * Each command is checked completely before it changes anything: a refused command leaves the world as it was. A
 * model is removed in two stages. It becomes absent at once; the place of a created model is given up after the
 * step, because runners release the model during the step. A model of the file keeps its place, so that a
 * reset can restore it. */
#include "run/edit_internal.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PERFORMER_SIZE 2.0 /* m: Gazebo's volume for a model that becomes a performer at run time */

void edit_init(struct edit *edit, struct shared *shared, const struct edit_options *options)
{
	*edit = (struct edit){.shared = shared, .options = *options, .step_s = shared->scene->step_s};
}

void edit_fini(struct edit *edit)
{
	for (uint32_t m = 0; m < edit->room; m++)
		edit_source_destroy(edit->sources[m]);
	free(edit->sources);
	owners_fini(&edit->owners);
	vec_free(&edit->leaving);
	vec_free(&edit->edited);
	vec_free(&edit->log);
	vec_free(&edit->effects);
	text_fini(&edit->renewed);
}

void edit_say(char note[EDIT_NOTE_BYTES], const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(note, EDIT_NOTE_BYTES, format, args);
	va_end(args);
}

troupe_status edit_find(const struct edit *edit, const char *name, uint32_t *ret_model, struct troupe_error *error)
{
	*ret_model = scene_find_model(edit->shared->scene, name);
	if (*ret_model != SCENE_NONE)
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "the world has no model '%.100s'", name);
}

/* --- leaving ------------------------------------------------------------------------------------------------------ */

void edit_give_up(struct edit *edit, uint32_t model)
{
	struct shared *shared = edit->shared;
	control_clear(
		&shared->control, shared->scene, model); /* a surface of its place would belong to the next model */
	systems_remove(shared->systems, model);
	state_remove(shared->state, model);
	scene_free(shared->scene, model);
	indices_remove(&edit->edited, model);
	edit_source_destroy(edit->sources[model]);
	edit->sources[model] = NULL;
}

void edit_begin(struct edit *edit)
{
	edit->world_changed = false;
	if (edit->renewed.at && !edit_is_renewed(edit))
		text_fini(&edit->renewed);
}

void edit_give_up_places(struct edit *edit)
{
	for (uint32_t i = 0; i < edit->leaving.count; i++) {
		edit_give_up(edit, edit->leaving.at[i]);
		edit_note(edit, EDIT_GIVE_UP, edit->leaving.at[i]);
	}
	edit->leaving.count = 0;
}

void edit_settle(struct edit *edit, uint32_t model)
{
	if (scene_settle(edit->shared->scene, model))
		edit->shared->boxes[model].box = state_model_box(edit->shared->state, model, false);
}

/* A model of the file keeps its place: a reset brings it back. */
static void edit_leave(struct edit *edit, uint32_t model)
{
	struct scene *scene = edit->shared->scene;
	edit_settle(edit, model);
	edit_detach_model(edit, model);
	scene_set_absent(scene, model, true);
	systems_unsubscribe(edit->shared->systems, model);
	edit_note(edit, EDIT_LEAVE, model);
	edit_effect(edit, EDIT_REMOVED, model);
	if (scene->models[model].created)
		vec_push(&edit->leaving, model);
	else
		indices_add(&edit->edited, model);
	edit_reset_lights_of(edit, model);
	edit->removed++;
}

troupe_status edit_find_by_id(
	const struct edit *edit, uint64_t id, const char *name, uint32_t *ret_model, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	if (!id && !*name)
		return fail(error, TROUPE_ECOMMAND, "neither a name nor an id: expected the name or the id of a model");
	if (!id)
		return edit_find(edit, name, ret_model, error);
	uint32_t model = scene_find_id(scene, id);
	if (model == SCENE_NONE)
		return fail(error, TROUPE_ECOMMAND, "the world has no model with the id %" PRIu64, id);
	if (*name && strcmp(scene->models[model].name, name) != 0)
		return fail(error, TROUPE_ECOMMAND,
			"the model with the id %" PRIu64
			" is '%.100s', not '%.100s': expected name and id of one model",
			id, scene->models[model].name, name);
	*ret_model = model;
	return TROUPE_OK;
}

/* done: a participle for the message. */
static troupe_status edit_entity_of(const struct edit *edit, const Gz__Msgs__Entity *entity, const char *done,
	uint32_t *ret_model, struct troupe_error *error)
{
	if (entity->type != GZ__MSGS__ENTITY__TYPE__NONE && entity->type != GZ__MSGS__ENTITY__TYPE__MODEL &&
		entity->type != GZ__MSGS__ENTITY__TYPE__ACTOR)
		return fail(error, TROUPE_ECOMMAND, "type %d: only models can be %s: expected MODEL", (int)entity->type,
			done);
	return edit_find_by_id(edit, entity->id, entity->name, ret_model, error);
}

troupe_status edit_remove(
	struct edit *edit, const Gz__Msgs__Entity *entity, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t model;
	if (edit_means_light(edit, entity))
		return edit_remove_light(edit, entity, note, error);
	troupe_status status = edit_entity_of(edit, entity, "removed", &model, error);
	if (status)
		return status;
	edit_say(note, "model '%.100s' removed", edit->shared->scene->models[model].name); /* before its name goes */
	edit_leave(edit, model);
	return TROUPE_OK;
}

/* --- elsewhere ---------------------------------------------------------------------------------------------------- */

/* The other model that the joint ties this model to. SCENE_NONE: the world. The model itself: the joint ties it to
 * nothing else. */
static uint32_t edit_other_end(const struct scene *scene, const struct scene_joint *joint, uint32_t model)
{
	uint32_t parent = joint->parent == SCENE_NONE ? SCENE_NONE : scene->bodies[joint->parent].model;
	uint32_t child = joint->child == SCENE_NONE ? SCENE_NONE : scene->bodies[joint->child].model;
	return parent == model ? child : child == model ? parent : model;
}

/* Whether the joint ties the model to the world, or to another model that is present. */
static bool edit_ties(const struct scene *scene, const struct scene_joint *joint, uint32_t model)
{
	uint32_t other = edit_other_end(scene, joint, model);
	return other != model && (other == SCENE_NONE || !scene->models[other].absent);
}

/* The name of a joint that ties the model to something that would not move with it; NULL: none. A fixed joint to the
 * world is not a joint of the scene: it holds a body. */
static const char *edit_fixed_by(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		if (scene->bodies[b].fixed_by)
			return scene->bodies[b].fixed_by;
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		if (scene->joints[j].parent == SCENE_NONE) /* the child is one of its links */
			return scene->joints[j].name;
	for (uint32_t i = 0; i < scene->world_joints.count; i++)
		if (edit_ties(scene, &scene->joints[scene->world_joints.at[i]], model))
			return scene->joints[scene->world_joints.at[i]].name;
	return NULL;
}

troupe_status edit_check_pose(const struct edit *edit, const Gz__Msgs__Pose *message, uint32_t *ret_model,
	struct pose *ret_pose, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	troupe_status status = edit_find_by_id(edit, message->id, message->name, ret_model, error);
	if (!status)
		status = message_pose(message, ret_pose, error);
	if (status)
		return status;
	if (!vec3_within(ret_pose->p, SCENE_POSITION_MAX))
		return fail(error, TROUPE_ECOMMAND, "position %g %g %g: expected coordinates within %g m",
			ret_pose->p.x, ret_pose->p.y, ret_pose->p.z, SCENE_POSITION_MAX);
	const char *name = scene->models[*ret_model].name;
	if (scene->models[*ret_model].actor)
		return fail(error, TROUPE_ECOMMAND, "actor '%.100s' is moved by its script", name);
	const char *fixed_by = edit_fixed_by(scene, *ret_model), *attached_to = edit_attached_to(scene, *ret_model);
	if (attached_to)
		return fail(error, TROUPE_ECOMMAND,
			"model '%.100s' is attached to '%.100s': expected it to be detached first", name, attached_to);
	if (fixed_by)
		return fail(error, TROUPE_ECOMMAND, "joint '%.100s' holds model '%.100s' in its place", fixed_by, name);
	return TROUPE_OK;
}

void edit_move_bodies(const struct scene_model *m, struct body_state *bodies, struct pose pose)
{
	struct pose by = pose_mul(pose, pose_inverse(state_frame_of(m, bodies)));
	for (uint32_t b = 0; b < m->body_count; b++) {
		struct pose to = pose_mul(by, body_pose(&bodies[b]));
		bodies[b].p = to.p;
		bodies[b].q = quat_unit(to.q);
	}
}

static void edit_place_static(struct edit *edit, uint32_t model, struct pose pose)
{
	scene_place_static(edit->shared->scene, model, pose);
	edit_note(edit, EDIT_PLACE, model);
}

static void edit_place(struct edit *edit, uint32_t model, struct pose pose)
{
	struct scene *scene = edit->shared->scene;
	if (scene->models[model].body_count) {
		edit_move_bodies(&scene->models[model], state_bodies(edit->shared->state, model, false), pose);
		state_wrote(edit->shared->state, model);
	} else {
		edit_settle(edit, model);
		edit_place_static(edit, model, pose);
		indices_add(&edit->edited, model);
	}
	edit_effect(edit, EDIT_PLACED, model);
}

troupe_status edit_set_pose(
	struct edit *edit, const Gz__Msgs__Pose *message, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	uint32_t model;
	struct pose pose;
	troupe_status status = edit_check_pose(edit, message, &model, &pose, error);
	if (status)
		return status;
	edit_place(edit, model, pose);
	edit_say(note, "model '%.100s' placed", edit->shared->scene->models[model].name);
	return TROUPE_OK;
}

troupe_status edit_set_poses(
	struct edit *edit, const Gz__Msgs__PoseV *message, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	size_t count = message->n_pose;
	uint32_t model;
	struct pose pose;
	for (size_t i = 0; i < count; i++) {
		struct troupe_error why;
		if (edit_check_pose(edit, message->pose[i], &model, &pose, &why))
			return fail(error, why.status, "item %zu: %s", i + 1, why.text);
	}
	for (size_t i = 0; i < count; i++) {
		(void)edit_check_pose(edit, message->pose[i], &model, &pose, NULL);
		edit_place(edit, model, pose);
	}
	edit_say(note, "%zu models placed", count);
	return TROUPE_OK;
}

/* --- the rest ----------------------------------------------------------------------------------------------------- */

troupe_status edit_set_physics(
	struct edit *edit, const Gz__Msgs__Physics *physics, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	double step_s = physics->max_step_size_given_case ? physics->max_step_size : edit->step_s;
	double factor = physics->real_time_factor_given_case ? physics->real_time_factor : 0;
	struct vec3 g = scene->gravity;
	if (physics->gravity && physics->gravity->x_given_case)
		g.x = physics->gravity->x;
	if (physics->gravity && physics->gravity->y_given_case)
		g.y = physics->gravity->y;
	if (physics->gravity && physics->gravity->z_given_case)
		g.z = physics->gravity->z;
	if (!(step_s >= SDF_STEP_MIN && step_s <= 1e6))
		return fail(error, TROUPE_ECOMMAND, "max_step_size %g s: expected %g to 1e6", step_s, SDF_STEP_MIN);
	if (!(factor >= 0 && factor <= 1e6))
		return fail(error, TROUPE_ECOMMAND, "real_time_factor %g: expected 0 to 1e6", factor);
	if (!(vec3_length(g) <= EDIT_GRAVITY_MAX))
		return fail(error, TROUPE_ECOMMAND, "gravity %g %g %g: expected at most %g m/s^2", g.x, g.y, g.z,
			EDIT_GRAVITY_MAX);
	if (memcmp(&g, &scene->gravity, sizeof g) != 0) {
		scene->gravity = g;
		edit->world_changed = true;
		edit_note(edit, EDIT_GRAVITY, 0);
		edit_effect(edit, EDIT_WOKE_ALL, 0);
	}
	if (step_s != edit->step_s) /* how long a model has been still is counted in steps */
		edit_effect(edit, EDIT_WOKE_ALL, 0);
	edit->step_s = step_s;
	edit_say(note, "steps of %g s, gravity %g %g %g", step_s, g.x, g.y, g.z);
	return TROUPE_OK;
}

static troupe_status edit_check_edge(bool given, double edge_m, struct troupe_error *error)
{
	if (!given || (edge_m >= 0 && edge_m <= SDF_LENGTH_MAX))
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND, "size %g: expected 0 to %g m", edge_m, SDF_LENGTH_MAX);
}

static const Troupe__Msgs__SetPerformer__Size edit_no_size = TROUPE__MSGS__SET_PERFORMER__SIZE__INIT;

static const Troupe__Msgs__SetPerformer__Size *edit_size_of(const Troupe__Msgs__SetPerformer *message)
{
	return message->size ? message->size : &edit_no_size;
}

static troupe_status edit_check_performer(const struct edit *edit, const Troupe__Msgs__SetPerformer *message,
	uint32_t *ret_model, struct troupe_error *error)
{
	const Troupe__Msgs__SetPerformer__Size *size = edit_size_of(message);
	const char *name = message->data;
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "no data: expected the name of a model");
	troupe_status status = edit_find(edit, name, ret_model, error);
	if (!status)
		status = edit_check_edge(size->x_given_case, size->x, error);
	if (!status)
		status = edit_check_edge(size->y_given_case, size->y, error);
	if (!status)
		status = edit_check_edge(size->z_given_case, size->z, error);
	if (!status && message->secondary_given_case &&
		!(message->secondary >= 1 && message->secondary <= TROUPE_SECONDARIES_MAX))
		return fail(error, TROUPE_ECOMMAND, "secondary %u: expected 1 to %d", message->secondary,
			TROUPE_SECONDARIES_MAX);
	return status;
}

troupe_status edit_set_performer(struct edit *edit, const Troupe__Msgs__SetPerformer *message,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Troupe__Msgs__SetPerformer__Size *size = edit_size_of(message);
	uint32_t index = SCENE_NONE;
	troupe_status status = edit_check_performer(edit, message, &index, error);
	if (status)
		return status;
	struct scene_model *model = &edit->shared->scene->models[index];
	bool remove = message->remove;
	if (remove && !model->performer)
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' is no performer", model->name);
	const struct vec3 gazebo = {PERFORMER_SIZE, PERFORMER_SIZE, PERFORMER_SIZE};
	const struct vec3 before = model->performer ? model->volume : gazebo;
	edit_settle(edit, index);
	model->performer = !remove;
	model->level = remove ? model->home_level : SCENE_NONE;
	if (!remove)
		model->volume = (struct vec3){size->x_given_case ? size->x : before.x,
			size->y_given_case ? size->y : before.y, size->z_given_case ? size->z : before.z};
	if (message->secondary_given_case)
		model->pin = message->secondary;
	indices_add(&edit->edited, index);
	edit->epoch++;
	edit_effect(edit, EDIT_PERFORMER, index);
	edit_say(note, remove ? "model '%.100s' is no performer any more" : "model '%.100s' is a performer",
		model->name);
	return TROUPE_OK;
}

/* --- reset -------------------------------------------------------------------------------------------------------- */

void edit_restore_role(struct scene_model *model)
{
	model->performer = model->file_performer;
	model->volume = model->file_volume;
	model->pin = model->home_pin;
	model->level = model->performer ? SCENE_NONE : model->home_level;
}

static bool edit_has_role(const struct scene_model *model)
{
	return model->performer == model->file_performer && model->pin == model->home_pin &&
	       (!model->performer || !memcmp(&model->volume, &model->file_volume, sizeof model->volume));
}

static void edit_restore(struct edit *edit, uint32_t index)
{
	struct scene *scene = edit->shared->scene;
	struct scene_model *model = &scene->models[index];
	if (model->absent) {
		scene_set_absent(scene, index, false);
		systems_subscribe(edit->shared->systems, index);
		edit_note(edit, EDIT_RETURN, index);
	}
	if (!model->body_count)
		edit_place_static(edit, index, scene_first_pose(model));
	(void)edit_enable_all_collisions(edit, index);
	edit_restore_role(model);
	edit->epoch++;
	if (!model->performer && edit->shared->tracker.performer_of[index] != SCENE_NONE)
		tracker_remove(&edit->shared->tracker, index);
	edit_effect(edit, EDIT_RESTORED, index);
}

/* Whether a model of the file with this name was removed: no lookup finds it, but a reset of the world brings it
 * back. */
static bool edit_was_removed(const struct scene *scene, const char *name)
{
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].absent && scene->models[m].id && !scene->models[m].created &&
			!strcmp(scene->models[m].name, name))
			return true;
	return false;
}

/* Refuses a model that a joint ties to another model: that model would have to go back, too. */
static troupe_status edit_check_fixed(const struct scene *scene, uint32_t model, struct troupe_error *error)
{
	for (uint32_t i = 0; i < scene->world_joints.count; i++) {
		const struct scene_joint *joint = &scene->joints[scene->world_joints.at[i]];
		uint32_t other = edit_other_end(scene, joint, model);
		if (other != SCENE_NONE && edit_ties(scene, joint, model))
			return fail(error, TROUPE_ECOMMAND,
				"joint '%.100s' ties model '%.100s' to model '%.100s': only a reset of the world puts "
				"both back",
				joint->name, scene->models[model].name, scene->models[other].name);
	}
	return TROUPE_OK;
}

static troupe_status edit_check_reset(
	const struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	const char *name = entity->name;
	troupe_status status = edit_entity_of(edit, entity, "reset", ret_model, error);
	if (status && edit_was_removed(scene, name))
		return fail(error, TROUPE_ECOMMAND,
			"model '%.100s' was removed: only a reset of the world brings it back", name);
	if (status)
		return status;
	if (scene->models[*ret_model].actor)
		return fail(error, TROUPE_ECOMMAND, "actor '%.100s' is moved by its script", name);
	return edit_check_fixed(scene, *ret_model, error);
}

troupe_status edit_reset_model(struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	uint32_t index;
	troupe_status status = edit_check_reset(edit, entity, &index, error);
	if (status)
		return status;
	struct scene_model *model = &scene->models[index];
	edit_detach_model(edit, index);
	state_reset_model(edit->shared->state, index);
	if (!model->body_count)
		edit_place_static(edit, index, scene_first_pose(model));
	edit_reset_lights_of(edit, index);
	if (edit_enable_all_collisions(edit, index))
		edit_effect(edit, EDIT_RESHAPED, index);
	bool same_role = edit_has_role(model);
	edit_restore_role(model);
	if (!same_role)
		edit_effect(edit, EDIT_PERFORMER, index);
	edit_effect(edit, EDIT_PLACED, index);
	if (model->body_count || !model->created)
		indices_remove(&edit->edited, index);
	edit_say(note, "model '%.100s' reset", model->name);
	*ret_model = index;
	return TROUPE_OK;
}

void edit_reset(struct edit *edit)
{
	struct scene *scene = edit->shared->scene;
	edit_detach_all(edit);
	for (uint32_t m = 0; m < scene->model_count; m++)
		if (scene->models[m].created && !scene->models[m].absent)
			edit_leave(edit, m);
	scene->last_id = scene->file_last_id; /* the same commands give the same ids again */
	for (uint32_t i = 0; i < edit->edited.count; i++)
		if (!scene->models[edit->edited.at[i]].created)
			edit_restore(edit, edit->edited.at[i]);
	edit->edited.count = 0;
	edit_reset_lights(edit);
}

/* --- hash --------------------------------------------------------------------------------------------------------- */

static uint64_t edit_hash_number(uint64_t hash, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return hash_mix(hash, bits);
}

static uint64_t edit_hash_model(const struct scene *scene, const struct scene_model *m)
{
	uint64_t hash = hash_mix(UINT64_C(0x656469746564), m->id); /* "edited" */
	hash = hash_mix(hash, (uint64_t)m->absent | (uint64_t)m->performer << 1);
	const double numbers[] = {m->volume.x, m->volume.y, m->volume.z, m->in_body.p.x, m->in_body.p.y, m->in_body.p.z,
		m->in_body.q.w, m->in_body.q.x, m->in_body.q.y, m->in_body.q.z};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		hash = edit_hash_number(hash, numbers[i]);
	for (uint32_t g = 0; g < m->geom_count; g++)
		if (scene->geoms[m->geom_first + g].off)
			hash = hash_mix(hash, g + 1);
	return hash;
}

uint64_t edit_hash(const struct edit *edit)
{
	const struct scene *scene = edit->shared->scene;
	const struct vec3 file = scene->sdf->gravity, now = scene->gravity;
	uint64_t sum = 0;
	for (uint32_t i = 0; i < edit->edited.count; i++)
		sum += edit_hash_model(scene, &scene->models[edit->edited.at[i]]);
	sum += edit_hash_lights(scene);
	sum += edit_hash_attachments(scene);
	sum += edit_hash_earth(scene);
	if (edit->step_s != scene->step_s)
		sum += edit_hash_number(UINT64_C(0x73746570), edit->step_s); /* "step" */
	if (memcmp(&file, &now, sizeof now) != 0)
		sum += edit_hash_number(edit_hash_number(edit_hash_number(UINT64_C(0x67), now.x), now.y), now.z);
	return sum;
}
