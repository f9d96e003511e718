/* A replica in another process follows what was done to the original. It does not obey the commands again, because they
 * would ask for states that the replica does not have; it applies their results. Input is not trusted. */
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
			edit_pack_light(scene, op->model, out);
		} else if (op->kind == EDIT_COLLISION) {
			pack_u64(out, scene->geoms[op->model].off);
		} else if (op->kind == EDIT_ATTACHMENTS) {
			edit_pack_attachments(scene, out);
		} else if (op->kind == EDIT_GRAVITY) {
			pack_vec3(out, scene->gravity);
		} else if (op->kind == EDIT_EARTH) {
			edit_pack_earth(scene, out);
		} else if (op->kind == EDIT_RENEW) {
			pack_bytes(out, edit->renewed.at, edit->renewed.count);
		}
	}
}

static troupe_status edit_follow_bad(struct troupe_error *error, const char *what)
{
	return fail(error, TROUPE_EPROTOCOL, "an invalid change of the world: %s", what);
}

/* --- unpacking ---------------------------------------------------------------------------------------------------- */

static void edit_follow_unpack_created(struct unpack *in, struct edit_change *change)
{
	const char *begin = in->at;
	change->at = (struct scene_places){.model = change->model, .id = unpack_u64(in)};
	edit_unpack_places(in, &change->at);
	change->source = edit_unpack_source(in);
	change->bytes = (size_t)(in->at - begin);
}

static struct unpack edit_follow_unpack_renewed(struct unpack *in)
{
	size_t count = 0;
	const char *bytes = unpack_bytes(in, &count);
	return (struct unpack){bytes, bytes ? bytes + count : NULL, false};
}

troupe_status edit_unpack_log(struct unpack *in, edit_changes *changes, struct troupe_error *error)
{
	uint64_t count = unpack_u64(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct edit_change change = {.kind = (enum edit_op_kind)unpack_count(in, EDIT_OPS - 1)};
		change.model = unpack_count(in, change.kind == EDIT_COLLISION ? UINT32_MAX : SDF_MODELS_MAX);
		if (in->bad)
			break;
		if (change.kind == EDIT_CREATE)
			edit_follow_unpack_created(in, &change);
		else if (change.kind == EDIT_PLACE)
			change.pose = edit_unpack_pose(in);
		else if (change.kind == EDIT_LIGHT)
			change.light = edit_unpack_light(in);
		else if (change.kind == EDIT_COLLISION)
			change.off = unpack_count(in, 1);
		else if (change.kind == EDIT_ATTACHMENTS)
			change.attachments = edit_unpack_attachments(in);
		else if (change.kind == EDIT_GRAVITY)
			change.gravity = unpack_vec3(in);
		else if (change.kind == EDIT_EARTH)
			change.earth = edit_unpack_earth(in);
		else if (change.kind == EDIT_RENEW)
			change.renewed = edit_follow_unpack_renewed(in);
		vec_push(changes, change);
	}
	return in->bad ? edit_follow_bad(error, "it is cut off, or a number is out of range") : TROUPE_OK;
}

void edit_changes_clear(edit_changes *changes)
{
	for (uint32_t i = 0; i < changes->count; i++) {
		edit_source_destroy(changes->at[i].source);
		edit_light_destroy(changes->at[i].light);
		edit_attachments_destroy(changes->at[i].attachments);
	}
	changes->count = 0;
}

/* --- following ---------------------------------------------------------------------------------------------------- */

static troupe_status edit_follow_create(struct edit *edit, struct edit_change *change, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	struct troupe_error why = {0};
	struct edit_source *source = change->source;
	if (change->model < scene->model_count && scene->models[change->model].id)
		return edit_follow_bad(error, "a model is created where another one is");
	change->source = NULL; /* taken */
	if (!edit_create_at(edit, &change->at, edit_places_max(scene, change->bytes), source, &why))
		return TROUPE_OK;
	return fail(error, TROUPE_EPROTOCOL, "an invalid change of the world: a model cannot be created: %s", why.text);
}

static troupe_status edit_follow_place(struct edit *edit, const struct edit_change *change, struct troupe_error *error)
{
	if (!vec3_within(change->pose.p, 2 * SDF_LENGTH_MAX))
		return edit_follow_bad(error, "the pose of a model");
	scene_place_static(edit->shared->scene, change->model, change->pose);
	edit->shared->boxes[change->model].box = state_model_box(edit->shared->state, change->model, false);
	return TROUPE_OK;
}

static troupe_status edit_follow_set_gravity(struct edit *edit, struct vec3 gravity, struct troupe_error *error)
{
	if (!(vec3_length(gravity) <= EDIT_GRAVITY_MAX))
		return edit_follow_bad(error, "the gravity");
	edit->shared->scene->gravity = gravity;
	return TROUPE_OK;
}

static troupe_status edit_follow_switch_collision(
	struct edit *edit, uint32_t geom, bool off, struct troupe_error *error)
{
	struct scene *scene = edit->shared->scene;
	if (!scene_has_geom(scene, geom))
		return edit_follow_bad(error, "there is no such collision");
	scene_switch_geom(scene, geom, !off);
	uint32_t model = scene->geoms[geom].model;
	if (!scene->models[model].body_count)
		edit->shared->boxes[model].box = state_model_box(edit->shared->state, model, false);
	return TROUPE_OK;
}

static void edit_follow_set_absent(struct edit *edit, uint32_t model, bool absent)
{
	scene_set_absent(edit->shared->scene, model, absent);
	if (absent)
		systems_unsubscribe(edit->shared->systems, model);
	else
		systems_subscribe(edit->shared->systems, model);
}

/* Models of both worlds may have the same places, so the boxes of static models are found anew as well. */
static troupe_status edit_follow_renew(struct edit *edit, struct edit_change *change, struct troupe_error *error)
{
	const struct shared *shared = edit->shared;
	struct unpack in = change->renewed;
	struct troupe_error why;
	edit_renew(edit);
	if (edit_unpack(edit, &in, &why))
		return fail(error, TROUPE_EPROTOCOL, "an invalid state of the world: %s", why.text);
	if (in.at != in.end)
		return edit_follow_bad(error, "bytes after a state");
	for (uint32_t m = 0; m < shared->scene->model_count; m++)
		if (shared->scene->models[m].id && !shared->scene->models[m].body_count)
			shared->boxes[m].box = state_model_box(shared->state, m, false);
	return TROUPE_OK;
}

static bool edit_follow_fits(const struct scene *scene, const struct edit_change *change)
{
	const struct scene_model *m = &scene->models[change->model];
	return change->kind == EDIT_GIVE_UP  ? m->created && m->absent
	       : change->kind == EDIT_LEAVE  ? !m->absent
	       : change->kind == EDIT_RETURN ? m->absent && scene_find_model(scene, m->name) == SCENE_NONE
					     : !m->body_count;
}

static troupe_status edit_follow_one(struct edit *edit, struct edit_change *change, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	if (change->kind == EDIT_CREATE)
		return edit_follow_create(edit, change, error);
	if (change->kind == EDIT_RENEW)
		return edit_follow_renew(edit, change, error);
	if (change->kind == EDIT_GRAVITY)
		return edit_follow_set_gravity(edit, change->gravity, error);
	if (change->kind == EDIT_EARTH) {
		edit_put_earth(edit->shared->scene, &change->earth);
		return TROUPE_OK;
	}
	if (change->kind == EDIT_LIGHT)
		return edit_put_light(edit->shared->scene, change->model, change->light)
			       ? TROUPE_OK
			       : edit_follow_bad(error, "it does not fit the light");
	if (change->kind == EDIT_ATTACHMENTS)
		return edit_put_attachments(edit, change->attachments)
			       ? TROUPE_OK
			       : edit_follow_bad(error, "links that cannot be attached");
	if (change->kind == EDIT_COLLISION)
		return edit_follow_switch_collision(edit, change->model, change->off, error);
	if (change->model >= scene->model_count || !scene->models[change->model].id)
		return edit_follow_bad(error, "there is no such model");
	if (!edit_follow_fits(scene, change))
		return edit_follow_bad(error, "it does not fit the model");
	if (change->kind == EDIT_PLACE)
		return edit_follow_place(edit, change, error);
	if (change->kind == EDIT_GIVE_UP)
		edit_give_up(edit, change->model);
	else
		edit_follow_set_absent(edit, change->model, change->kind == EDIT_LEAVE);
	return TROUPE_OK;
}

troupe_status edit_follow(struct edit *edit, edit_changes *changes, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < changes->count && !status; i++)
		status = edit_follow_one(edit, &changes->at[i], error);
	edit->log.count = 0;
	return status;
}
