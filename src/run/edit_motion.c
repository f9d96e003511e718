/* Sets from outside how models move: the velocity of a model as one rigid body, and forces during one step.
 *
 * A velocity is state, so the primary writes it into state k, where the runner that has the model reads it. A force
 * is not state: it goes to that runner with the step, and is forgotten after it.
 *
 * Commands without effect on physics are refused: for bodies that forces do not move, and for models that no runner
 * simulates in this step. */
#include "run/edit_internal.h"

#include "scene/bend.h"

#include <stdlib.h>
#include <string.h>

/* --- who ---------------------------------------------------------------------------------------------------------- */

troupe_status edit_check_moves(const struct edit *edit, uint32_t model, const char *done, struct troupe_error *error)
{
	const struct scene_model *m = &edit->shared->scene->models[model];
	if (m->actor)
		return fail(error, TROUPE_ECOMMAND, "actor '%.100s' is moved by its script", m->name);
	if (!m->body_count)
		return fail(
			error, TROUPE_ECOMMAND, "model '%.100s' is static: expected one that can be %s", m->name, done);
	return TROUPE_OK;
}

/* --- velocities --------------------------------------------------------------------------------------------------- */

struct edit_motion_twist {
	struct vec3 linear, angular; /* linear: of a point; angular: of the whole body */
};

/* The twist of the model's frame, from the present motion of its body. */
static struct edit_motion_twist edit_motion_twist_of(const struct body_state *body, struct vec3 frame)
{
	return (struct edit_motion_twist){vec3_add(body->v, vec3_cross(body->w, vec3_sub(frame, body->p))), body->w};
}

static struct vec3 edit_motion_velocity_at(const struct edit_motion_twist *twist, struct vec3 frame, struct vec3 point)
{
	return vec3_add(twist->linear, vec3_cross(twist->angular, vec3_sub(point, frame)));
}

static troupe_status edit_motion_check_velocities(const struct scene *scene, uint32_t model,
	const struct body_state *bodies, const struct edit_motion_twist *twist, struct vec3 frame,
	struct troupe_error *error)
{
	const struct scene_model *m = &scene->models[model];
	double spin = vec3_length(twist->angular);
	if (!(spin <= EDIT_SPEED_MAX))
		return fail(error, TROUPE_ECOMMAND, "angular velocity of %g rad/s: expected at most %g", spin,
			EDIT_SPEED_MAX);
	for (uint32_t i = 0; i < m->body_count; i++) {
		double speed = vec3_length(edit_motion_velocity_at(twist, frame, bodies[i].p));
		bool commanded = scene->bodies[m->body_first + i].commanded;
		troupe_status status = commanded ? TROUPE_OK : bend_check_body(scene, m->body_first + i, error);
		if (!status && !(speed <= EDIT_SPEED_MAX))
			status = fail(error, TROUPE_ECOMMAND, "link '%.100s' would move at %g m/s: expected at most %g",
				scene->bodies[m->body_first + i].name, speed, EDIT_SPEED_MAX);
		if (status)
			return status;
	}
	return TROUPE_OK;
}

/* The pose of the message, for its model. */
static troupe_status edit_motion_check_pose_of(const struct edit *edit, const Troupe__Msgs__SetVelocity *message,
	struct pose *ret_pose, struct troupe_error *error)
{
	Gz__Msgs__Pose pose = *message->pose;
	struct troupe_error why;
	uint32_t model;
	pose.id = message->id;
	pose.name = message->name;
	troupe_status status = edit_check_pose(edit, &pose, &model, ret_pose, &why);
	return status ? fail(error, status, "pose: %s", why.text) : TROUPE_OK;
}

/* pose: NULL: it stays where it is. All is computed and checked before anything is written. */
static troupe_status edit_motion_set_in(struct edit *edit, uint32_t model, const Troupe__Msgs__SetVelocity *message,
	const struct pose *pose, struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	const struct scene_model *m = &scene->models[model];
	struct body_state *bodies = state_bodies(edit->shared->state, model, false);
	struct body_state *moved = mem_alloc(m->body_count * sizeof *moved);
	memcpy(moved, bodies, m->body_count * sizeof *moved);
	if (pose)
		edit_move_bodies(m, moved, *pose);
	struct vec3 frame = state_frame_of(m, moved).p;
	struct edit_motion_twist twist = edit_motion_twist_of(&moved[m->frame_body], frame);
	if (message->linear)
		twist.linear = message_vec3(message->linear);
	if (message->angular)
		twist.angular = message_vec3(message->angular);
	troupe_status status = edit_motion_check_velocities(scene, model, moved, &twist, frame, error);
	if (!status) {
		for (uint32_t i = 0; i < m->body_count; i++) {
			moved[i].v = edit_motion_velocity_at(&twist, frame, moved[i].p);
			moved[i].w = twist.angular;
		}
		memcpy(bodies, moved, m->body_count * sizeof *moved);
		state_wrote(edit->shared->state, model);
		if (pose)
			edit_effect(edit, EDIT_PLACED, model);
		edit_effect(edit, EDIT_PUSHED, model);
	}
	free(moved);
	return status;
}

troupe_status edit_set_velocity(struct edit *edit, const Troupe__Msgs__SetVelocity *message, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error)
{
	const struct scene *scene = edit->shared->scene;
	struct pose pose;
	uint32_t model;
	troupe_status status = edit_find_by_id(edit, message->id, message->name, &model, error);
	if (!status)
		status = edit_check_moves(edit, model, "given a velocity", error);
	if (!status && !message->linear && !message->angular)
		status = fail(error, TROUPE_ECOMMAND, "neither linear nor angular: expected one of them or both");
	if (!status && message->pose)
		status = edit_motion_check_pose_of(edit, message, &pose, error);
	if (status)
		return status;
	status = edit_motion_set_in(edit, model, message, message->pose ? &pose : NULL, error);
	if (status)
		return status;
	edit_say(note, "model '%.100s' %sset in motion", scene->models[model].name, message->pose ? "placed and " : "");
	return TROUPE_OK;
}

/* --- forces ------------------------------------------------------------------------------------------------------- */

static uint32_t edit_motion_canonical_link(const struct scene *scene, uint32_t model)
{
	const struct scene_model *m = &scene->models[model];
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	uint32_t link = from->canonical_link == SDF_NONE ? from->link_first : from->canonical_link;
	return scene_find_link(scene, model, m->from->links.at[link].scoped);
}

/* Finds "model::link" or "model::nested::link". The names of models have no colons. */
static troupe_status edit_motion_find_link(const struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model,
	uint32_t *ret_link, struct troupe_error *error)
{
	const char *scoped = entity->name, *rest = strstr(scoped, "::");
	uint32_t model;
	if (!rest || entity->id)
		return fail(error, TROUPE_ECOMMAND, "%s: expected the scoped name of a link, model::link",
			rest      ? "links have no ids"
			: *scoped ? scoped
				  : "no name");
	char *name = mem_printf("%.*s", (int)(rest - scoped), scoped);
	troupe_status status = edit_find(edit, name, &model, error);
	free(name);
	if (!status)
		status = edit_check_moves(edit, model, "pushed", error);
	if (status)
		return status;
	*ret_link = scene_find_link(edit->shared->scene, model, scoped);
	if (*ret_link == SCENE_NONE)
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' has no link '%.100s'",
			edit->shared->scene->models[model].name, rest + 2);
	*ret_model = model;
	return TROUPE_OK;
}

/* Without a type, colons in the name mean a link. */
troupe_status edit_find_pushed(const struct edit *edit, const Gz__Msgs__Entity *entity, uint32_t *ret_model,
	uint32_t *ret_link, struct troupe_error *error)
{
	Gz__Msgs__Entity__Type type = entity->type;
	if (type == GZ__MSGS__ENTITY__TYPE__LINK ||
		(type == GZ__MSGS__ENTITY__TYPE__NONE && strstr(entity->name, "::")))
		return edit_motion_find_link(edit, entity, ret_model, ret_link, error);
	if (type != GZ__MSGS__ENTITY__TYPE__NONE && type != GZ__MSGS__ENTITY__TYPE__MODEL)
		return fail(
			error, TROUPE_ECOMMAND, "type %d: a force acts on links: expected MODEL or LINK", (int)type);
	troupe_status status = edit_find_by_id(edit, entity->id, entity->name, ret_model, error);
	if (!status)
		status = edit_check_moves(edit, *ret_model, "pushed", error);
	*ret_link = SCENE_NONE;
	return status;
}

/* The link that a force is for: of a model its canonical link. */
static troupe_status edit_motion_find_target(
	const struct edit *edit, const Gz__Msgs__EntityWrench *message, uint32_t *ret_link, struct troupe_error *error)
{
	static const Gz__Msgs__Entity no_entity = GZ__MSGS__ENTITY__INIT;
	const struct scene *scene = edit->shared->scene;
	uint32_t model;
	troupe_status status =
		edit_find_pushed(edit, message->entity ? message->entity : &no_entity, &model, ret_link, error);
	if (status)
		return status;
	if (*ret_link == SCENE_NONE)
		*ret_link = edit_motion_canonical_link(scene, model);
	return bend_check_body(scene, scene->links[*ret_link].body, error);
}

static troupe_status edit_motion_too_large(double torque, struct troupe_error *error)
{
	return fail(error, TROUPE_ECOMMAND,
		"a torque of %g N m, with that of the force at its offset: expected at most %g", torque,
		DUE_WRENCH_MAX);
}

static const Gz__Msgs__Wrench edit_motion_no_wrench = GZ__MSGS__WRENCH__INIT;

troupe_status edit_lasting_wrench(const struct edit *edit, const Gz__Msgs__EntityWrench *message,
	struct lasting_wrench *ret_wrench, char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__Wrench *asked = message->wrench ? message->wrench : &edit_motion_no_wrench;
	const struct scene *scene = edit->shared->scene;
	struct lasting_wrench wrench = {.force = message_vec3(asked->force),
		.torque = message_vec3(asked->torque),
		.offset = message_vec3(asked->force_offset)};
	troupe_status status = edit_motion_find_target(edit, message, &wrench.link, error);
	if (status)
		return status;
	if (!wrenches_lasting_sane(scene, &wrench))
		return edit_motion_too_large(
			vec3_length(wrench.torque) + vec3_length(wrench.offset) * vec3_length(wrench.force), error);
	*ret_wrench = wrench;
	edit_say(note, "link '%.100s' pushed until cleared", scene->links[wrench.link].scoped);
	return TROUPE_OK;
}

troupe_status edit_wrench(const struct edit *edit, const Gz__Msgs__EntityWrench *message, struct due_wrench *ret_wrench,
	char note[EDIT_NOTE_BYTES], struct troupe_error *error)
{
	const Gz__Msgs__Wrench *asked = message->wrench ? message->wrench : &edit_motion_no_wrench;
	const struct scene *scene = edit->shared->scene;
	uint32_t link;
	troupe_status status = edit_motion_find_target(edit, message, &link, error);
	if (status)
		return status;
	struct due_wrench wrench = {.body = scene->links[link].body,
		.force = message_vec3(asked->force),
		.torque = message_vec3(asked->torque)};
	struct vec3 arm =
		quat_rotate(state_link_pose(edit->shared->state, link, false).q, message_vec3(asked->force_offset));
	wrench.torque = vec3_add(wrench.torque, vec3_cross(arm, wrench.force));
	if (!vec3_within(wrench.torque, DUE_WRENCH_MAX))
		return edit_motion_too_large(vec3_length(wrench.torque), error);
	*ret_wrench = wrench;
	edit_say(note, "link '%.100s' pushed", scene->links[link].scoped);
	return TROUPE_OK;
}
