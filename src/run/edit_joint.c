/* Sets the position and the velocity of an axis of a joint.
 *
 * The part of the model that hangs on the joint's child (on its parent, when the child is the world) moves as one
 * rigid piece: it turns about the axis, or slides along it, and its other joints keep their positions. Its velocities
 * are computed anew: the rigid motion of the body that stays, plus the rates of the joint's axes, plus the motion of
 * the part's bodies relative to the body at the joint. So all joints hold exactly as well as before, and the other
 * joints keep their rates.
 *
 * If other joints bridge the joint, no such part exists, and the command is refused. Axes that mimic this axis follow
 * it. An axis that mimics another axis, or that a gearbox couples, is refused, because its position does not depend
 * on its joint alone.
 *
 * All checks come before the first write, except for the bounds of the result. For these the words from before are
 * kept, so that they can be restored. */
#include "run/edit_internal.h"

#include "scene/axis.h"
#include "scene/bend.h"

#include <stdlib.h>
#include <string.h>

#define POSITION_MAX 1e9 /* rad or m */

struct edit_joint_goal {
	uint32_t joint, axis;
	bool places, drives;
	double position, velocity;
};

struct work {
	const struct scene *scene;
	struct state *state;
	VEC(struct edit_joint_goal) goals; /* leaders before their followers */
	struct bend_part part;             /* of the goal in work */
};

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static bool edit_joint_is_named(const struct scene_joint *joint, const char *name)
{
	return !strcmp(joint->name, name) || !strcmp(joint->scoped, name);
}

static troupe_status edit_joint_refuse(
	const struct scene_model *model, const char *name, const char *kind, struct troupe_error *error)
{
	if (!kind)
		return fail(error, TROUPE_ECOMMAND, "model '%.100s' has no joint '%.100s'", model->name, name);
	return fail(error, TROUPE_ECOMMAND, "joint '%.100s' is of type %s: expected one that has an axis", name, kind);
}

/* Finds a joint whose state the model has: its own joint, or a joint of the world whose child is the model. */
static troupe_status edit_joint_find(
	const struct scene *scene, uint32_t model, const char *name, uint32_t *ret_joint, struct troupe_error *error)
{
	const struct scene_model *m = &scene->models[model];
	const struct sdf_joint *from = NULL;
	uint32_t found = scene_find_joint(scene, model, name), i = 0, index;
	const struct sdf_model *top = &m->from->models.at[m->sdf];
	size_t skip = strlen(top->scoped) + 2;
	while (found == SCENE_NONE && (index = bend_next_joint(scene, model, &i)) != SCENE_NONE)
		if (scene->joints[index].model == model && edit_joint_is_named(&scene->joints[index], name))
			found = index;
	if (found != SCENE_NONE && scene->joints[found].axis_count) {
		*ret_joint = found;
		return TROUPE_OK;
	}
	/* a joint that fixes links together, or to the world, is not a joint of the scene */
	for (i = top->joint_first; i < top->joint_first + top->joint_count && !from; i++)
		if (!strcmp(m->from->joints.at[i].scoped, name) || !strcmp(m->from->joints.at[i].scoped + skip, name))
			from = &m->from->joints.at[i];
	if (found != SCENE_NONE)
		from = scene->joints[found].sdf;
	return edit_joint_refuse(m, name, from ? sdf_joint_kind_text(from->kind) : NULL, error);
}

static troupe_status edit_joint_read_goal(
	struct work *work, const Troupe__Msgs__SetJoint *message, uint32_t model, struct troupe_error *error)
{
	struct edit_joint_goal goal = {.axis = message->axis,
		.places = message->position_given_case,
		.drives = message->velocity_given_case,
		.position = message->position,
		.velocity = message->velocity};
	const char *name = message->joint;
	if (!*name)
		return fail(error, TROUPE_ECOMMAND, "no joint: expected the name of a joint of the model");
	if (!goal.places && !goal.drives)
		return fail(error, TROUPE_ECOMMAND, "neither position nor velocity: expected one of them or both");
	troupe_status status = edit_joint_find(work->scene, model, name, &goal.joint, error);
	if (status)
		return status;
	const struct scene_joint *joint = &work->scene->joints[goal.joint];
	if (goal.axis >= joint->axis_count)
		return fail(error, TROUPE_ECOMMAND, "axis %u of joint '%.100s': expected %s", goal.axis, name,
			joint->axis_count == 1 ? "0, the only one" : "0 or 1");
	const struct scene_mimic *mimic = &joint->mimic[goal.axis];
	if (mimic->joint != SCENE_NONE)
		return fail(error, TROUPE_ECOMMAND, "joint '%.100s' mimics joint '%.100s': expected the one that leads",
			name, work->scene->joints[mimic->joint].name);
	vec_push(&work->goals, goal);
	return TROUPE_OK;
}

/* Adds the goals of the axes that mimic the leader. */
static void edit_joint_add_followers(struct work *work, struct edit_joint_goal leader)
{
	const struct scene_model *m = &work->scene->models[work->part.model];
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++)
		for (uint32_t a = 0; a < work->scene->joints[j].axis_count; a++) {
			const struct scene_mimic *mimic = &work->scene->joints[j].mimic[a];
			struct edit_joint_goal goal = leader;
			if (mimic->joint != leader.joint || mimic->axis != leader.axis)
				continue;
			goal.joint = j;
			goal.axis = a;
			goal.position = mimic->multiplier * (leader.position - mimic->reference) + mimic->offset;
			goal.velocity = mimic->multiplier * leader.velocity;
			vec_push(&work->goals, goal);
		}
}

static troupe_status edit_joint_check_goal(
	struct work *work, const struct edit_joint_goal *goal, struct troupe_error *error)
{
	const struct scene_joint *joint = &work->scene->joints[goal->joint];
	const struct sdf_axis *axis = &joint->axis[goal->axis];
	bool stops = axis->lower <= axis->upper;
	if (goal->places && stops && !(goal->position >= axis->lower && goal->position <= axis->upper))
		return fail(error, TROUPE_ECOMMAND,
			"position %g of joint '%.100s': expected %g to %g, between its stops", goal->position,
			joint->name, axis->lower, axis->upper);
	if (goal->places && !(fabs(goal->position) <= POSITION_MAX)) /* can fail for a follower */
		return fail(error, TROUPE_ECOMMAND, "position %g of joint '%.100s': expected at most %g",
			goal->position, joint->name, POSITION_MAX);
	if (goal->drives && !(fabs(goal->velocity) <= EDIT_SPEED_MAX))
		return fail(error, TROUPE_ECOMMAND, "velocity %g of joint '%.100s': expected at most %g",
			goal->velocity, joint->name, EDIT_SPEED_MAX);
	return bend_find(work->scene, goal->joint, &work->part, error);
}

/* --- moving ------------------------------------------------------------------------------------------------------- */

struct edit_joint_motion { /* motion of a rigid body whose point p moves with v */
	struct vec3 p, v, w;
};

static struct edit_joint_motion edit_joint_motion_of(const struct state *state, uint32_t body)
{
	if (body == SCENE_NONE)
		return (struct edit_joint_motion){0};
	const struct body_state *b = state_body(state, body, false);
	return (struct edit_joint_motion){b->p, b->v, b->w};
}

static struct vec3 edit_joint_velocity_at(const struct edit_joint_motion *motion, struct vec3 point)
{
	return vec3_add(motion->v, vec3_cross(motion->w, vec3_sub(point, motion->p)));
}

/* The motion of the root, at its present pose, when the joint's axes have these rates. */
static struct edit_joint_motion edit_joint_motion_by(
	const struct work *work, uint32_t index, const double *rates, struct vec3 anchor)
{
	const struct scene_joint *joint = &work->scene->joints[index];
	struct edit_joint_motion base = edit_joint_motion_of(work->state, work->part.base),
				 root = edit_joint_motion_of(work->state, work->part.root);
	struct vec3 along = {0, 0, 0}, at = bend_turns(joint) ? anchor : root.p;
	root.w = base.w;
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		struct vec3 axis = scene_axis_direction(work->state, joint, a, false);
		double rate = work->part.sign * rates[a];
		if (bend_turns(joint))
			root.w = vec3_add(root.w, vec3_scale(axis, rate));
		along = vec3_add(along, vec3_scale(axis, rate * bend_slide(joint)));
	}
	root.v = vec3_add(vec3_add(edit_joint_velocity_at(&base, at), along), vec3_cross(root.w, vec3_sub(root.p, at)));
	return root;
}

/* The part's bodies keep their motion relative to the root; it is turned with the part. was: the bodies before. */
static void edit_joint_drive_part(
	const struct work *work, const struct body_state *was, struct edit_joint_motion root, struct quat turn)
{
	const struct scene_model *m = &work->scene->models[work->part.model];
	const struct body_state *first = &was[work->part.root - m->body_first];
	const struct edit_joint_motion before = {first->p, first->v, first->w};
	for (uint32_t i = 0; i < m->body_count; i++) {
		struct body_state *body = state_body(work->state, m->body_first + i, false);
		if (!bend_moves(work->scene, &work->part, m->body_first + i))
			continue;
		struct vec3 v = quat_rotate(turn, vec3_sub(was[i].v, edit_joint_velocity_at(&before, was[i].p)));
		struct vec3 w = quat_rotate(turn, vec3_sub(was[i].w, before.w));
		bool is_root = m->body_first + i == work->part.root;
		body->v = is_root ? root.v : vec3_add(edit_joint_velocity_at(&root, body->p), v);
		body->w = is_root ? root.w : vec3_add(root.w, w);
	}
}

static void edit_joint_reach(struct work *work, const struct edit_joint_goal *goal, struct body_state *was)
{
	const struct scene_joint *joint = &work->scene->joints[goal->joint];
	uint32_t bodies = work->scene->models[work->part.model].body_count;
	struct vec3 anchor = bend_anchor(work->state, joint, &work->part);
	struct quat turn = QUAT_IDENTITY;
	double rates[2] = {0, 0};
	for (uint32_t a = 0; a < joint->axis_count; a++)
		rates[a] = goal->drives && a == goal->axis ? goal->velocity
							   : scene_axis_rate(work->state, goal->joint, a, false);
	memcpy(was, state_bodies(work->state, work->part.model, false), bodies * sizeof *was);
	if (goal->places)
		turn = bend_place(work->state, &work->part, goal->joint, goal->axis, goal->position);
	edit_joint_drive_part(work, was, edit_joint_motion_by(work, goal->joint, rates, anchor), turn);
}

static troupe_status edit_joint_check_result(const struct work *work, struct troupe_error *error)
{
	const struct scene_model *m = &work->scene->models[work->part.model];
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++) {
		const struct body_state *body = state_body(work->state, b, false);
		if (!vec3_within(body->p, SCENE_POSITION_MAX))
			return fail(error, TROUPE_ECOMMAND, "link '%.100s' would be beyond %g m",
				work->scene->bodies[b].name, SCENE_POSITION_MAX);
		if (!(vec3_length(body->v) <= EDIT_SPEED_MAX && vec3_length(body->w) <= EDIT_SPEED_MAX))
			return fail(error, TROUPE_ECOMMAND,
				"link '%.100s' would move at %g m/s and turn at %g rad/s: expected at most %g",
				work->scene->bodies[b].name, vec3_length(body->v), vec3_length(body->w),
				EDIT_SPEED_MAX);
	}
	return TROUPE_OK;
}

/* Reaches all goals, or none. */
static troupe_status edit_joint_reach_all(struct work *work, struct troupe_error *error)
{
	uint32_t model = work->part.model, words = work->state->models[model].words;
	uint64_t *now = state_words(work->state, model, false), *kept = mem_alloc(words * sizeof *kept);
	struct body_state *was = mem_alloc(work->scene->models[model].body_count * sizeof *was);
	memcpy(kept, now, words * sizeof *kept);
	for (uint32_t i = 0; i < work->goals.count; i++) {
		(void)bend_find(work->scene, work->goals.at[i].joint, &work->part, NULL); /* checked before */
		edit_joint_reach(work, &work->goals.at[i], was);
	}
	troupe_status status = edit_joint_check_result(work, error);
	if (status)
		memcpy(now, kept, words * sizeof *kept);
	free(was);
	free(kept);
	return status;
}

static troupe_status edit_joint_set(
	struct work *work, const Troupe__Msgs__SetJoint *message, uint32_t model, struct troupe_error *error)
{
	work->part.model = model;
	work->part.set = mem_alloc((work->scene->models[model].body_count + 1) * sizeof *work->part.set);
	troupe_status status = edit_joint_read_goal(work, message, model, error);
	for (uint32_t i = 0; i < work->goals.count && !status; i++) {
		status = edit_joint_check_goal(work, &work->goals.at[i], error);
		edit_joint_add_followers(work, work->goals.at[i]);
	}
	if (!status)
		status = edit_joint_reach_all(work, error);
	free(work->part.set);
	return status;
}

troupe_status edit_set_joint(struct edit *edit, const Troupe__Msgs__SetJoint *message, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error)
{
	struct work work = {.scene = edit->shared->scene, .state = edit->shared->state};
	uint32_t model;
	troupe_status status = edit_find_by_id(edit, message->id, message->name, &model, error);
	if (!status)
		status = edit_check_moves(edit, model, "bent", error);
	if (!status)
		status = edit_joint_set(&work, message, model, error);
	if (!status) {
		state_wrote(work.state, model);
		if (work.goals.at[0].places)
			edit_effect(edit, EDIT_PLACED, model);
		else
			edit_effect(edit, EDIT_PUSHED, model);
		edit_say(note, "joint '%.100s' of model '%.100s' set", work.scene->joints[work.goals.at[0].joint].name,
			work.scene->models[model].name);
	}
	vec_free(&work.goals);
	return status;
}
