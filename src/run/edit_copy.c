/* A copy of the world in another process follows what was done to the original. It does not obey the commands again,
 * because they would ask for states that the copy does not have; it applies their results. Input is not trusted. */
#include "run/edit_internal.h"

#include "geom/pack.h"

void edit_pack_log(const struct edit *edit, struct text *out)
{
	const struct scene *scene = edit->shared->scene;
	pack_u64(out, edit->log.count);
	for (uint32_t i = 0; i < edit->log.count; i++) {
		const struct edit_op *op = &edit->log.at[i];
		pack_u64(out, op->kind);
		pack_u64(out, op->model);
		if (op->kind == EDIT_CREATE) {
			pack_u64(out, scene->models[op->model].id);
			edit_pack_created(edit, op->model, out);
		} else if (op->kind == EDIT_PLACE) {
			edit_pack_pose(out, &scene->models[op->model].in_body);
		} else if (op->kind == EDIT_LIGHT) {
			pack_u64(out, scene->lights[op->model].absent);
		} else if (op->kind == EDIT_GRAVITY) {
			pack_vec3(out, scene->gravity);
		}
	}
}

static troupe_status bad(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "an invalid change of the world: %s", what);
}

static troupe_status create(struct edit *edit, uint32_t model, struct unpack *in, struct troupe_error *error)
{
	struct troupe_error why = {0};
	uint64_t id = unpack_u64(in);
	edit->places_max = edit_places_max(edit->shared->scene, (size_t)(in->end - in->at));
	if (model < edit->shared->scene->model_count && edit->shared->scene->models[model].id)
		return bad(error, "a model is created where another one is");
	if (!edit_unpack_created(edit, model, id, in, &why))
		return TROUPE_OK;
	return fail(error, TROUPE_EPROTOCOL, "an invalid change of the world: a model cannot be created: %s", why.text);
}

static troupe_status place(struct edit *edit, uint32_t model, struct unpack *in, struct troupe_error *error)
{
	struct pose pose = edit_unpack_pose(in);
	if (in->bad || !vec3_within(pose.p, 2 * SDF_LENGTH_MAX))
		return bad(error, "the pose of a model");
	scene_place_static(edit->shared->scene, model, pose);
	edit->shared->boxes[model].box = state_model_box(edit->shared->state, model, false);
	return TROUPE_OK;
}

static troupe_status set_gravity(struct edit *edit, struct unpack *in, struct troupe_error *error)
{
	struct vec3 g = unpack_vec3(in);
	if (in->bad || !(vec3_length(g) <= EDIT_GRAVITY_MAX))
		return bad(error, "the gravity");
	edit->shared->scene->gravity = g;
	return TROUPE_OK;
}

static troupe_status set_light(struct edit *edit, uint32_t light, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	bool absent = unpack_count(in, 1);
	if (in->bad || light >= scene->light_count)
		return bad(error, "there is no such light");
	scene->lights[light].absent = absent;
	return TROUPE_OK;
}

static troupe_status follow(
	struct edit *edit, enum edit_op_kind kind, uint32_t model, struct unpack *in, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	if (kind == EDIT_CREATE)
		return create(edit, model, in, error);
	if (kind == EDIT_GRAVITY)
		return set_gravity(edit, in, error);
	if (kind == EDIT_LIGHT)
		return set_light(edit, model, in, error);
	if (model >= scene->model_count || !scene->models[model].id)
		return bad(error, "there is no such model");
	const struct scene_model *m = &scene->models[model];
	bool fits = kind == EDIT_GIVE_UP  ? m->created && m->absent
		    : kind == EDIT_LEAVE  ? !m->absent
		    : kind == EDIT_RETURN ? m->absent && scene_find_model(scene, m->name) == SCENE_NONE
					  : !m->body_count;
	if (!fits)
		return bad(error, "it does not fit the model");
	if (kind == EDIT_PLACE)
		return place(edit, model, in, error);
	if (kind == EDIT_GIVE_UP) {
		edit_give_up(edit, model);
		return TROUPE_OK;
	}
	scene_set_absent(scene, model, kind == EDIT_LEAVE);
	if (kind == EDIT_LEAVE)
		systems_silence(edit->shared->systems, model);
	else
		systems_hear(edit->shared->systems, model);
	return TROUPE_OK;
}

troupe_status edit_follow(struct edit *edit, struct unpack *in, struct troupe_error *error)
{
	uint64_t count = unpack_u64(in);
	troupe_status status = TROUPE_OK;
	for (uint64_t i = 0; i < count && !status; i++) {
		uint32_t kind = unpack_count(in, EDIT_OPS - 1);
		uint32_t model = unpack_count(in, SDF_MODELS_MAX);
		status =
			in->bad ? bad(error, "it is cut off") : follow(edit, (enum edit_op_kind)kind, model, in, error);
	}
	edit->log.count = 0;
	return status;
}
