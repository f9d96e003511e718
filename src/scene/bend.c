/* The bodies of the model are joined by all joints but the one that is bent; the part is the set that has the joint's
 * child. If that set also has the world, or the joint's parent, other joints bridge the joint, and it cannot be bent
 * without breaking them. */
#include "scene/bend.h"

#include "base/math.h"
#include "scene/axis.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* --- what hangs on a joint ---------------------------------------------------------------------------------------- */

static uint32_t bend_find_root(uint32_t *set, uint32_t i)
{
	for (; set[i] != i; i = set[i])
		set[i] = set[set[i]];
	return i;
}

static bool bend_is_of_model(const struct scene *scene, uint32_t model, uint32_t body)
{
	return body != SCENE_NONE && scene->bodies[body].model == model;
}

/* Index in part.set. Bodies of other models stay, like the world. */
static uint32_t bend_node_of(const struct scene *scene, const struct bend_part *part, uint32_t body)
{
	const struct scene_model *m = &scene->models[part->model];
	return bend_is_of_model(scene, part->model, body) ? body - m->body_first : m->body_count;
}

static void bend_tie(const struct scene *scene, struct bend_part *part, uint32_t a, uint32_t b)
{
	uint32_t i = bend_find_root(part->set, bend_node_of(scene, part, a)),
		 k = bend_find_root(part->set, bend_node_of(scene, part, b));
	part->set[i] = k;
}

bool bend_moves(const struct scene *scene, const struct bend_part *part, uint32_t body)
{
	return bend_find_root(part->set, bend_node_of(scene, part, body)) ==
	       bend_find_root(part->set, bend_node_of(scene, part, part->root));
}

static bool bend_is_there(const struct scene *scene, uint32_t body)
{
	return body == SCENE_NONE || !scene->models[scene->bodies[body].model].absent;
}

/* The next joint of the model, then of the joints of the world that one of its bodies has; SCENE_NONE after the
 * last. */
uint32_t bend_next_joint(const struct scene *scene, uint32_t model, uint32_t *i)
{
	const struct scene_model *m = &scene->models[model];
	while (*i < m->joint_count + scene->world_joints.count) {
		uint32_t at = (*i)++;
		if (at < m->joint_count)
			return m->joint_first + at;
		uint32_t index = scene->world_joints.at[at - m->joint_count];
		const struct scene_joint *joint = &scene->joints[index];
		bool ours =
			bend_is_of_model(scene, model, joint->parent) || bend_is_of_model(scene, model, joint->child);
		if (ours && bend_is_there(scene, joint->parent) && bend_is_there(scene, joint->child))
			return index;
	}
	return SCENE_NONE;
}

troupe_status bend_check_body(const struct scene *scene, uint32_t body, struct troupe_error *error)
{
	const struct scene_body *b = &scene->bodies[body];
	if (b->fixed_by)
		return fail(error, TROUPE_ECOMMAND, "joint '%.100s' holds link '%.100s' to the world", b->fixed_by,
			b->name);
	if (b->kinematic)
		return fail(
			error, TROUPE_ECOMMAND, "link '%.100s' is kinematic: expected one that forces move", b->name);
	return TROUPE_OK;
}

static troupe_status bend_check_gearboxes(const struct scene *scene, const struct bend_part *part,
	const struct scene_joint *joint, struct troupe_error *error)
{
	uint32_t i = 0, index;
	while ((index = bend_next_joint(scene, part->model, &i)) != SCENE_NONE) {
		const struct scene_joint *g = &scene->joints[index];
		if (g->kind != SDF_GEARBOX || joint->kind == SDF_PRISMATIC)
			continue;
		bool parent = bend_moves(scene, part, g->parent), child = bend_moves(scene, part, g->child);
		if (parent != child || child != bend_moves(scene, part, g->reference))
			return fail(error, TROUPE_ECOMMAND,
				"gearbox '%.100s' couples joint '%.100s' with another: expected a joint that turns "
				"freely",
				g->name, joint->name);
	}
	return TROUPE_OK;
}

troupe_status bend_find(const struct scene *scene, uint32_t index, struct bend_part *part, struct troupe_error *error)
{
	const struct scene_joint *joint = &scene->joints[index];
	bool turned = joint->child == SCENE_NONE;
	part->root = turned ? joint->parent : joint->child;
	part->base = turned ? SCENE_NONE : joint->parent;
	part->sign = turned ? -1 : 1;
	const struct scene_model *m = &scene->models[part->model];
	for (uint32_t b = 0; b <= m->body_count; b++)
		part->set[b] = b;
	bend_tie(scene, part, part->base, SCENE_NONE);
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		if (scene->bodies[b].kinematic)
			bend_tie(scene, part, b, SCENE_NONE);
	troupe_status status = bend_check_body(scene, part->root, error);
	uint32_t i = 0, other;
	while (!status && (other = bend_next_joint(scene, part->model, &i)) != SCENE_NONE) {
		if (other == index || scene->joints[other].kind == SDF_GEARBOX)
			continue;
		bend_tie(scene, part, scene->joints[other].parent, scene->joints[other].child);
		if (bend_moves(scene, part, SCENE_NONE))
			status = fail(error, TROUPE_ECOMMAND,
				"joint '%.100s' ties bodies that move with joint '%.100s' to bodies that do not",
				scene->joints[other].name, joint->name);
	}
	return status ? status : bend_check_gearboxes(scene, part, joint, error);
}

/* --- moving ------------------------------------------------------------------------------------------------------- */

struct vec3 bend_anchor(const struct state *state, const struct scene_joint *joint, const struct bend_part *part)
{
	if (part->base == SCENE_NONE)
		return joint->anchor;
	const struct body_state *b = state_body(state, part->base, false);
	const struct pose *reference = &state->scene->bodies[part->base].reference;
	struct quat turn = quat_mul(b->q, quat_conj(reference->q));
	return vec3_add(b->p, quat_rotate(turn, vec3_sub(joint->anchor, reference->p)));
}

double bend_slide(const struct scene_joint *joint)
{
	return joint->kind == SDF_PRISMATIC ? 1 : joint->kind == SDF_SCREW ? 1 / joint->sdf->thread_pitch : 0;
}

bool bend_turns(const struct scene_joint *joint)
{
	return joint->kind != SDF_PRISMATIC;
}

static struct quat bend_turn_about(struct vec3 axis, double angle)
{
	double along = math_sin(angle / 2);
	return (struct quat){math_cos(angle / 2), axis.x * along, axis.y * along, axis.z * along};
}

struct quat bend_place(
	const struct state *state, const struct bend_part *part, uint32_t index, uint32_t axis, double wanted)
{
	const struct scene_joint *joint = &state->scene->joints[index];
	const struct scene_model *m = &state->scene->models[part->model];
	double *position = &state_joint(state, index, false)->position[axis];
	double by = part->sign * (wanted - *position);
	struct vec3 direction = scene_axis_direction(state, joint, axis, false);
	struct vec3 slide = vec3_scale(direction, by * bend_slide(joint)), anchor = bend_anchor(state, joint, part);
	struct quat turn = bend_turns(joint) ? bend_turn_about(direction, by) : QUAT_IDENTITY;
	*position = wanted;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++) {
		struct body_state *body = state_body(state, b, false);
		if (!bend_moves(state->scene, part, b) || by == 0)
			continue;
		struct vec3 arm = quat_rotate(turn, vec3_sub(body->p, anchor));
		body->p = vec3_add(vec3_add(anchor, arm), slide);
		if (bend_turns(joint))
			body->q = quat_unit(quat_mul(turn, body->q));
	}
	return turn;
}

/* --- where joints begin ------------------------------------------------------------------------------------------- */

struct beginning {
	struct scene *scene;
	uint32_t joint, axis;
	void (*warn)(void *ctx, const char *text);
	void *ctx;
};

static void bend_tell(const struct beginning *b, const char *format, ...) TROUPE_PRINTF(2, 3);

static void bend_tell(const struct beginning *b, const char *format, ...)
{
	static const char *const axes[2] = {"axis", "axis2"};
	const struct scene_joint *joint = &b->scene->joints[b->joint];
	const struct sdf_element *axis = sdf_child(joint->sdf->element, axes[b->axis], NULL);
	const struct sdf_element *at = sdf_child(axis, "initial_position", NULL);
	char what[400], text[800];
	va_list args;
	at = at ? at : joint->sdf->element;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	snprintf(text, sizeof text, "%.200s:%u: <initial_position> of joint '%.80s': %s", at->file, at->line,
		joint->name, what);
	b->warn(b->ctx, text);
}

enum { LEADERS_MAX = 1000 }; /* in a row; an axis with more above it begins where the file has it */

/* The position that the leaders of an axis give it; false: none of them has an initial position. */
static bool bend_follow(const struct scene *scene, uint32_t index, uint32_t axis, double *ret_position)
{
	double factor = 1, offset = 0;
	for (uint32_t i = 0; i < LEADERS_MAX; i++) {
		const struct scene_joint *joint = &scene->joints[index];
		const struct scene_mimic *mimic = &joint->mimic[axis];
		if (mimic->joint == SCENE_NONE) {
			*ret_position = factor * joint->axis[axis].initial_position + offset;
			return joint->axis[axis].initial_position != 0;
		}
		offset += factor * (mimic->offset - mimic->multiplier * mimic->reference);
		factor *= mimic->multiplier;
		index = mimic->joint;
		axis = mimic->axis;
	}
	return false;
}

/* Where the axis is to begin, between its stops; 0: where the file has it. */
static double bend_wanted_begin(const struct beginning *b)
{
	const struct scene_joint *joint = &b->scene->joints[b->joint];
	const struct sdf_axis *axis = &joint->axis[b->axis];
	double position = axis->initial_position;
	if (joint->mimic[b->axis].joint != SCENE_NONE) {
		if (position != 0)
			bend_tell(b, "it mimics joint '%.80s': expected an initial position of that joint only",
				b->scene->joints[joint->mimic[b->axis].joint].name);
		if (!bend_follow(b->scene, b->joint, b->axis, &position))
			return 0;
	}
	if (position == 0)
		return 0;
	double within = axis->lower > axis->upper ? position : fmin(fmax(position, axis->lower), axis->upper);
	if (within != position)
		bend_tell(b, "%g is beyond a stop: the joint begins at the stop, at %g", position, within);
	return within;
}

void bend_find_begin(struct scene *scene, uint32_t index, void (*warn)(void *ctx, const char *text), void *ctx)
{
	struct scene_joint *joint = &scene->joints[index];
	struct bend_part part = {.model = joint->model};
	struct troupe_error error;
	for (uint32_t a = 0; a < joint->axis_count; a++) {
		struct beginning b = {scene, index, a, warn, ctx};
		double position = bend_wanted_begin(&b);
		joint->begin[a] = 0;
		if (position == 0)
			continue;
		part.set = mem_alloc((scene->models[part.model].body_count + 1) * sizeof *part.set);
		if (bend_find(scene, index, &part, &error))
			bend_tell(&b, "%.300s: the joint begins at 0", error.text);
		else
			joint->begin[a] = position;
		free(part.set);
	}
}

void bend_begin(const struct state *state, uint32_t index)
{
	const struct scene_joint *joint = &state->scene->joints[index];
	struct bend_part part = {.model = joint->model};
	if (joint->begin[0] == 0 && joint->begin[1] == 0)
		return;
	part.set = mem_alloc((state->scene->models[part.model].body_count + 1) * sizeof *part.set);
	if (!bend_find(state->scene, index, &part, NULL))
		for (uint32_t a = 0; a < joint->axis_count; a++)
			if (joint->begin[a] != 0)
				(void)bend_place(state, &part, index, a, joint->begin[a]);
	free(part.set);
}
