/* The host during a run: reading states, control, publishing, mathematics. Plug-ins are not trusted to keep to bounds:
 * velocities and forces are bounded here before they reach the physics engine, and NaN becomes 0. */
#include "system/setup.h"

#include "base/math.h"
#include "scene/actor.h"
#include "scene/axis.h"

#include <math.h>
#include <string.h>

#define FORCE_MAX 1e9    /* N or N m */
#define VELOCITY_MAX 1e4 /* m/s or rad/s; far below the limit at which a model has diverged */
#define SLIP_MAX 1e6     /* m/s per N: nothing holds there */
#define PLACE_MAX 1e9    /* m */

static const struct system_step *system_host_inner(const struct troupe_step *step)
{
	return (const struct system_step *)(const void *)step;
}

/* Handles come from plug-ins, which may have any number in them. A query about a handle that is not valid gives 0. */
static bool system_host_has_model(const struct scene *scene, uint32_t model)
{
	return model < scene->model_count && scene->models[model].id && !scene->models[model].absent;
}

static bool system_host_has_link(const struct scene *scene, uint32_t link)
{
	if (link >= scene->link_count || !system_host_has_model(scene, scene->links[link].model))
		return false;
	const struct scene_model *m = &scene->models[scene->links[link].model];
	return link >= m->link_first && link - m->link_first < m->link_count;
}

static bool system_host_has_joint(const struct scene *scene, uint32_t joint)
{
	if (joint >= scene->joint_count || !system_host_has_model(scene, scene->joints[joint].model))
		return false;
	const struct scene_model *m = &scene->models[scene->joints[joint].model];
	return joint >= m->joint_first && joint - m->joint_first < m->joint_count;
}

static const struct scene *system_host_scene_of(const struct troupe_step *step)
{
	return system_host_inner(step)->state->scene;
}

/* A runner knows the state of the models that it simulates, and has older states of others: which models these are
 * depends on how the work is divided. */
static bool system_host_on_runner(const struct troupe_step *step)
{
	return system_host_inner(step)->model != SCENE_NONE && !system_host_inner(step)->acts;
}

static bool system_host_may_read(const struct troupe_step *step, uint32_t model)
{
	return system_host_has_model(system_host_scene_of(step), model) &&
	       (!system_host_on_runner(step) || model == system_host_inner(step)->model);
}

static bool system_host_may_read_link(const struct troupe_step *step, uint32_t link)
{
	return system_host_has_link(system_host_scene_of(step), link) &&
	       system_host_may_read(step, system_host_scene_of(step)->links[link].model);
}

static bool system_host_may_read_joint(const struct troupe_step *step, uint32_t joint)
{
	return system_host_has_joint(system_host_scene_of(step), joint) &&
	       system_host_may_read(step, system_host_scene_of(step)->joints[joint].model);
}

/* Before the physics the place of the next state has an older state in it. */
static bool system_host_is_next(const struct troupe_step *step, enum troupe_time when)
{
	return when == TROUPE_NEXT && system_host_inner(step)->has_next;
}

/* Only the own model may be controlled, and only in pre_update(). */
static bool system_host_owns_link(const struct troupe_step *step, uint32_t link)
{
	return system_host_has_link(system_host_scene_of(step), link) &&
	       system_host_scene_of(step)->links[link].model == system_host_inner(step)->model;
}

static bool system_host_owns_joint(const struct troupe_step *step, uint32_t joint)
{
	return system_host_has_joint(system_host_scene_of(step), joint) &&
	       system_host_scene_of(step)->joints[joint].model == system_host_inner(step)->model;
}

/* NaN, which a damaged state may contain, becomes 0 before it is cut: so NaN is never passed on. */
static double system_host_cut(double value, double most)
{
	if (isnan(value))
		value = 0;
	return value < -most ? -most : value > most ? most : value;
}

static struct vec3 system_host_cut_vec3(struct vec3 v, double most)
{
	return (struct vec3){system_host_cut(v.x, most), system_host_cut(v.y, most), system_host_cut(v.z, most)};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static struct troupe_pose system_host_model_pose(const struct troupe_step *step, uint32_t model, enum troupe_time when)
{
	if (!system_host_may_read(step, model))
		return pose_flat(POSE_IDENTITY);
	return pose_flat(state_model_pose(system_host_inner(step)->state, model, system_host_is_next(step, when)));
}

static struct troupe_box system_host_model_box(const struct troupe_step *step, uint32_t model, enum troupe_time when)
{
	struct aabb box = {{0, 0, 0}, {0, 0, 0}};
	if (system_host_may_read(step, model))
		box = state_model_box(system_host_inner(step)->state, model, system_host_is_next(step, when));
	return (struct troupe_box){box.lo, box.hi};
}

static struct troupe_pose system_host_link_pose(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!system_host_may_read_link(step, link))
		return pose_flat(POSE_IDENTITY);
	return pose_flat(state_link_pose(system_host_inner(step)->state, link, system_host_is_next(step, when)));
}

static struct troupe_twist system_host_link_twist(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!system_host_may_read_link(step, link))
		return (struct troupe_twist){{0, 0, 0}, {0, 0, 0}};
	const struct state *state = system_host_inner(step)->state;
	const struct scene_link *l = &state->scene->links[link];
	if (l->body == SCENE_NONE)
		return (struct troupe_twist){{0, 0, 0}, {0, 0, 0}};
	const struct body_state *body = state_body(state, l->body, system_host_is_next(step, when));
	struct vec3 arm = quat_rotate(body->q, l->in_body.p);
	return (struct troupe_twist){vec3_add(body->v, vec3_cross(body->w, arm)), body->w};
}

static struct troupe_vec3 system_host_centre_velocity(
	const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!system_host_may_read_link(step, link))
		return troupe_vec3_make(0, 0, 0);
	const struct state *state = system_host_inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body == SCENE_NONE)
		return troupe_vec3_make(0, 0, 0);
	return state_body(state, body, system_host_is_next(step, when))->v;
}

static struct troupe_vec3 system_host_centre(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!system_host_may_read_link(step, link))
		return troupe_vec3_make(0, 0, 0);
	const struct state *state = system_host_inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body == SCENE_NONE)
		return state->scene->links[link].in_body.p;
	return state_body(state, body, system_host_is_next(step, when))->p;
}

static double system_host_joint_position(
	const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!system_host_may_read_joint(step, joint))
		return 0;
	return state_joint(system_host_inner(step)->state, joint, system_host_is_next(step, when))->position[axis & 1];
}

static double system_host_joint_velocity(
	const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!system_host_may_read_joint(step, joint))
		return 0;
	const struct state *state = system_host_inner(step)->state;
	if (axis >= state->scene->joints[joint].axis_count)
		return 0;
	return scene_axis_rate(state, joint, axis, system_host_is_next(step, when));
}

static struct troupe_axis system_host_joint_axis(
	const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!system_host_may_read_joint(step, joint))
		return (struct troupe_axis){{0, 0, 0}, -HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
	const struct state *state = system_host_inner(step)->state;
	const struct scene_joint *j = &state->scene->joints[joint];
	if (axis >= j->axis_count)
		return (struct troupe_axis){{0, 0, 0}, -HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
	const struct sdf_axis *a = &j->axis[axis];
	return (struct troupe_axis){scene_axis_direction(state, j, axis, system_host_is_next(step, when)), a->lower,
		a->upper, a->velocity, a->effort};
}

/* --- control ------------------------------------------------------------------------------------------------------ */

static void system_host_joint_force(const struct troupe_step *step, uint32_t joint, double force)
{
	if (!system_host_owns_joint(step, joint))
		return;
	struct joint_control *control = &system_host_inner(step)->control->joints[joint];
	if (!control->off)
		control->force += system_host_cut(force, FORCE_MAX);
}

static void system_host_joint_drive(const struct troupe_step *step, uint32_t joint, double velocity)
{
	if (!system_host_owns_joint(step, joint))
		return;
	struct joint_control *control = &system_host_inner(step)->control->joints[joint];
	if (control->off)
		return;
	control->drive = true;
	control->velocity = system_host_cut(velocity, VELOCITY_MAX);
}

static bool system_host_joint_asked(const struct troupe_step *step, uint32_t joint)
{
	if (!system_host_owns_joint(step, joint))
		return false;
	const struct joint_control *control = &system_host_inner(step)->control->joints[joint];
	return control->force != 0 || (control->drive && control->velocity != 0);
}

static void system_host_joint_release(const struct troupe_step *step, uint32_t joint)
{
	if (system_host_owns_joint(step, joint))
		system_host_inner(step)->control->joints[joint] = (struct joint_control){.off = true};
}

static bool system_host_joint_released(const struct troupe_step *step, uint32_t joint)
{
	return system_host_owns_joint(step, joint) && system_host_inner(step)->control->joints[joint].off;
}

static void system_host_link_force(
	const struct troupe_step *step, uint32_t link, struct troupe_vec3 point, struct troupe_wrench wrench)
{
	if (!system_host_owns_link(step, link))
		return;
	const struct state *state = system_host_inner(step)->state;
	const struct scene_link *l = &state->scene->links[link];
	if (l->body == SCENE_NONE)
		return;
	struct body_control *control = control_body(system_host_inner(step)->control, state->scene, l->body);
	struct vec3 force = system_host_cut_vec3(wrench.force, FORCE_MAX);
	struct vec3 torque = system_host_cut_vec3(wrench.torque, FORCE_MAX);
	struct vec3 at = pose_point(state_link_pose(state, link, false), point);
	struct vec3 arm = vec3_sub(at, state_body(state, l->body, false)->p);
	control->force = vec3_add(control->force, force);
	control->torque =
		system_host_cut_vec3(vec3_add(control->torque, vec3_add(torque, vec3_cross(arm, force))), FORCE_MAX);
	control->force = system_host_cut_vec3(control->force, FORCE_MAX);
}

/* Sets the velocity of a body that belongs to a rigid whole with its frame at `frame`. */
static void system_host_move_body(
	const struct system_step *step, uint32_t body, const struct troupe_twist *twist, struct vec3 origin)
{
	const struct scene *scene = step->state->scene;
	uint32_t model = scene->bodies[body].model;
	struct vec3 com = state_bodies(step->state, model, false)[body - scene->models[model].body_first].p;
	struct body_control *control = control_body(step->control, scene, body);
	control->drive = true;
	/* each coordinate of a turned vector may be larger than each one before */
	control->w = system_host_cut_vec3(twist->angular, 2 * VELOCITY_MAX);
	control->v = vec3_add(
		system_host_cut_vec3(twist->linear, 2 * VELOCITY_MAX), vec3_cross(control->w, vec3_sub(com, origin)));
}

static void system_host_link_drive(const struct troupe_step *step, uint32_t link, struct troupe_twist twist)
{
	if (!system_host_owns_link(step, link))
		return;
	const struct state *state = system_host_inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body != SCENE_NONE)
		system_host_move_body(system_host_inner(step), body, &twist, state_link_pose(state, link, false).p);
}

static void system_host_model_drive(const struct troupe_step *step, uint32_t model, struct troupe_twist twist)
{
	if (model != system_host_inner(step)->model || !system_host_has_model(system_host_scene_of(step), model))
		return;
	const struct state *state = system_host_inner(step)->state;
	const struct scene_model *m = &state->scene->models[model];
	struct vec3 origin = state_model_pose(state, model, false).p;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		system_host_move_body(system_host_inner(step), b, &twist, origin);
}

static void system_host_put_actor(const struct troupe_step *step, uint32_t model, struct troupe_pose pose)
{
	const struct scene *scene = system_host_scene_of(step);
	struct pose target = pose_of_flat(pose);
	double length = sqrt(pose.qw * pose.qw + pose.qx * pose.qx + pose.qy * pose.qy + pose.qz * pose.qz);
	if (model != system_host_inner(step)->model || !system_host_has_model(scene, model) ||
		!scene->models[model].actor)
		return;
	if (!pose_finite(target) || !(length > 0.5 && length < 2))
		return;
	target.p = system_host_cut_vec3(target.p, ACTOR_POSITION_MAX);
	target.q = quat_unit(target.q);
	actor_place(system_host_inner(step)->state, system_host_inner(step)->control, model, target,
		system_host_inner(step)->step.dt);
}

/* Runners control the models that they simulate, and the primary the static ones, which none simulates. */
static bool system_host_owns_surface(const struct troupe_step *step, uint32_t link)
{
	bool is_static = system_host_has_link(system_host_scene_of(step), link) &&
			 system_host_scene_of(step)->links[link].body == SCENE_NONE;
	return system_host_owns_link(step, link) && is_static == (system_host_inner(step)->acts != NULL);
}

/* Calls set() for the surface of each collision of the link. */
static void system_host_set_surfaces(const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis,
	const struct surface_control *asked,
	void (*set)(struct surface_control *to, const struct surface_control *asked))
{
	struct surface_control with = *asked;
	double length = vec3_length(system_host_cut_vec3(axis, PLACE_MAX));
	if (!system_host_owns_surface(step, link) || length <= 0)
		return;
	const struct scene *scene = system_host_scene_of(step);
	const struct scene_model *m = &scene->models[scene->links[link].model];
	with.axis = vec3_scale(system_host_cut_vec3(axis, PLACE_MAX), 1 / length);
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		if (scene->geoms[g].link == link)
			set(control_surface(system_host_inner(step)->control, scene, g), &with);
}

static void system_host_set_belt(struct surface_control *to, const struct surface_control *asked)
{
	to->runs = true;
	to->turns = asked->turns;
	to->speed = asked->speed;
	to->axis = asked->axis;
	to->centre = asked->centre;
}

static void system_host_link_belt(const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double speed,
	const struct troupe_vec3 *centre)
{
	struct surface_control asked = {.turns = centre != NULL, .speed = system_host_cut(speed, VELOCITY_MAX)};
	if (centre)
		asked.centre = system_host_cut_vec3(*centre, PLACE_MAX);
	system_host_set_surfaces(step, link, axis, &asked, system_host_set_belt);
}

static void system_host_set_slip(struct surface_control *to, const struct surface_control *asked)
{
	to->slips = true;
	if (!to->runs)
		to->axis = asked->axis;
	to->slip1 = asked->slip1;
	to->slip2 = asked->slip2;
}

static void system_host_link_slip(
	const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double slip1, double slip2)
{
	const struct surface_control asked = {
		.slip1 = fmax(system_host_cut(slip1, SLIP_MAX), 0), .slip2 = fmax(system_host_cut(slip2, SLIP_MAX), 0)};
	system_host_set_surfaces(step, link, axis, &asked, system_host_set_slip);
}

/* --- the world ---------------------------------------------------------------------------------------------------- */

static const char *system_host_model_name(const struct troupe_step *step, uint32_t model)
{
	const struct scene *scene = system_host_inner(step)->state->scene;
	const struct system_acts *acts = system_host_inner(step)->acts;
	bool there = system_host_may_read(step, model) && (!acts || acts->is_there(acts->ctx, model));
	return there ? scene->models[model].name : NULL;
}

static uint32_t system_host_find_model(const struct troupe_step *step, const char *name)
{
	uint32_t model = scene_find_model(system_host_inner(step)->state->scene, name);
	return model != SCENE_NONE && system_host_model_name(step, model) ? model : TROUPE_NOTHING;
}

static uint32_t system_host_models(const struct troupe_step *step)
{
	return system_host_on_runner(step) ? 0 : system_host_scene_of(step)->model_count;
}

static bool system_host_model_moves(const struct troupe_step *step, uint32_t model)
{
	if (!system_host_may_read(step, model))
		return false;
	return !system_host_inner(step)->state->scene->models[model].is_static;
}

static uint32_t system_host_find_link_of(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!system_host_may_read(step, model))
		return TROUPE_NOTHING;
	return scene_find_link(system_host_inner(step)->state->scene, model, name);
}

static uint32_t system_host_find_joint_of(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!system_host_may_read(step, model))
		return TROUPE_NOTHING;
	return scene_find_joint(system_host_inner(step)->state->scene, model, name);
}

static bool system_host_touch(
	const struct troupe_step *step, uint32_t model, uint32_t i, struct troupe_touch *ret_touch)
{
	const struct system_acts *acts = system_host_inner(step)->acts;
	return acts && acts->touch(acts->ctx, model, i, ret_touch);
}

static uint32_t system_host_find_sensor(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!system_host_has_model(system_host_scene_of(step), model))
		return TROUPE_NOTHING;
	const struct system_acts *acts = system_host_inner(step)->acts;
	return acts ? acts->find_sensor(acts->ctx, model, name) : TROUPE_NOTHING;
}

static const double *system_host_reading(
	const struct troupe_step *step, uint32_t model, uint32_t sensor, uint32_t *ret_count, double *ret_time_s)
{
	const struct system_acts *acts = system_host_inner(step)->acts;
	*ret_count = 0;
	*ret_time_s = 0;
	return acts ? acts->reading(acts->ctx, model, sensor, ret_count, ret_time_s) : NULL;
}

static bool system_host_performer(const struct troupe_step *step, uint32_t i, struct troupe_performer *ret_performer)
{
	const struct scene *scene = system_host_scene_of(step);
	for (uint32_t m = 0; m < system_host_models(step); m++) {
		const struct scene_model *model = &scene->models[m];
		if (!model->performer || !system_host_model_name(step, m) || i--)
			continue;
		*ret_performer = (struct troupe_performer){m, model->id, model->volume};
		return true;
	}
	return false;
}

/* --- acting ------------------------------------------------------------------------------------------------------- */

static struct troupe_message *system_host_make_message(const struct troupe_step *step, const char *type)
{
	message_type found = type_find(type);
	if (!system_host_inner(step)->arena || !found)
		return NULL;
	return (struct troupe_message *)(void *)field_message(found, step->time_s);
}

static struct troupe_message *system_host_unpack(
	const struct troupe_step *step, const char *type, const void *bytes, size_t count)
{
	message_type found = type_find(type);
	struct troupe_error why;
	ProtobufCMessage *message, *copy;
	if (!system_host_inner(step)->arena || !found ||
		message_of_bytes(found, bytes, count, &message_limits_usual, &message, &why))
		return NULL;
	copy = message_copy_in(system_host_inner(step)->arena, message);
	message_free(message);
	return (struct troupe_message *)(void *)copy;
}

static size_t system_host_pack(const struct troupe_message *message, void *ret_bytes, size_t max)
{
	struct text out = {0};
	message_add_bytes(&out, (const ProtobufCMessage *)(const void *)message);
	size_t count = out.count;
	if (count && count <= max)
		memcpy(ret_bytes, out.at, count);
	text_fini(&out);
	return count;
}

static void system_host_publish(const struct troupe_system *self, const struct troupe_step *step, uint32_t output,
	const struct troupe_message *message)
{
	const struct system *system = system_of(self);
	const struct system_acts *acts = system_host_inner(step)->acts;
	const ProtobufCMessage *m = (const ProtobufCMessage *)(const void *)message;
	bool fits = m && system_host_inner(step)->arena && output < system->outputs.count &&
		    system->outputs.at[output].def.gives == TROUPE_GIVES_PUBLISHED &&
		    system->outputs.at[output].type == m->descriptor;
	if (fits && acts)
		acts->publish(acts->ctx, system, output, m);
}

static void system_host_request(const struct troupe_system *self, const struct troupe_step *step, const char *service,
	const struct troupe_message *message)
{
	const struct system_acts *acts = system_host_inner(step)->acts;
	if (acts && message && system_host_inner(step)->arena)
		acts->request(acts->ctx, system_of(self), service, (const ProtobufCMessage *)(const void *)message);
}

static bool system_host_attach(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t link, uint32_t other)
{
	const struct system_acts *acts = system_host_inner(step)->acts;
	if (!acts || !system_host_inner(step)->arena || !system_host_owns_link(step, link) ||
		!system_host_has_link(system_host_scene_of(step), other) ||
		!acts->is_there(acts->ctx, system_host_scene_of(step)->links[other].model) ||
		!acts->may_attach(acts->ctx, system_of(self), other))
		return false;
	acts->attach(acts->ctx, system_of(self), link, other);
	return true;
}

static void system_host_detach(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct system_acts *acts = system_host_inner(step)->acts;
	if (acts && system_host_inner(step)->arena)
		acts->detach(acts->ctx, system_of(self));
}

static bool system_host_attached(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct scene *scene = system_host_scene_of(step);
	bool found = false;
	for (uint32_t i = 0; i < scene->attachments.count && !found; i++)
		found = scene->attachments.at[i].owner == self->model &&
			scene->attachments.at[i].system == system_of(self)->index;
	return found;
}

const struct troupe_host system_host = {
	.size = sizeof(struct troupe_host),
	.abi = TROUPE_PLUGIN_ABI,
	SETUP_HOST,
	FIELD_HOST,
	ANYWHERE_HOST,
	.model_pose = system_host_model_pose,
	.link_pose = system_host_link_pose,
	.link_twist = system_host_link_twist,
	.centre_velocity = system_host_centre_velocity,
	.centre = system_host_centre,
	.joint_position = system_host_joint_position,
	.joint_velocity = system_host_joint_velocity,
	.joint_axis = system_host_joint_axis,
	.joint_force = system_host_joint_force,
	.joint_drive = system_host_joint_drive,
	.link_force = system_host_link_force,
	.link_drive = system_host_link_drive,
	.model_drive = system_host_model_drive,
	.actor_place = system_host_put_actor,
	.joint_asked = system_host_joint_asked,
	.joint_release = system_host_joint_release,
	.link_belt = system_host_link_belt,
	.link_slip = system_host_link_slip,
	.find_model = system_host_find_model,
	.models = system_host_models,
	.model_name = system_host_model_name,
	.model_moves = system_host_model_moves,
	.find_link_of = system_host_find_link_of,
	.find_joint_of = system_host_find_joint_of,
	.touch = system_host_touch,
	.find_sensor = system_host_find_sensor,
	.reading = system_host_reading,
	.performer = system_host_performer,
	.pack = system_host_pack,
	.message = system_host_make_message,
	.unpack = system_host_unpack,
	.publish = system_host_publish,
	.attach = system_host_attach,
	.detach = system_host_detach,
	.attached = system_host_attached,
	.request = system_host_request,
	.sin = math_sin,
	.cos = math_cos,
	.tan = math_tan,
	.asin = math_asin,
	.acos = math_acos,
	.atan2 = math_atan2,
	.exp = math_exp,
	.log = math_log,
	.sincos = math_sincos,
	.joint_released = system_host_joint_released,
	.model_box = system_host_model_box,
};
