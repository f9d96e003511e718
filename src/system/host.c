/* The host during a run: reading states, control, publishing, mathematics. Plug-ins are not trusted to keep to bounds:
 * velocities and forces are bounded here before they reach the physics engine, and NaN becomes 0. */
#include "system/setup.h"

#include "base/hash.h"
#include "base/math.h"
#include "scene/actor.h"
#include "scene/axis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FORCE_MAX 1e9    /* N or N m */
#define VELOCITY_MAX 1e4 /* m/s or rad/s; far below the limit at which a model has diverged */
#define SLIP_MAX 1e6     /* m/s per N: nothing holds there */
#define PLACE_MAX 1e9    /* m */

enum { LOG_BYTES_MAX = 200 };

static const struct system_step *inner(const struct troupe_step *step)
{
	return (const struct system_step *)(const void *)step;
}

/* Handles come from plug-ins, which may have any number in them. A query about a handle that is not valid gives 0. */
static bool has_model(const struct scene *scene, uint32_t model)
{
	return model < scene->model_count && scene->models[model].id && !scene->models[model].absent;
}

static bool has_link(const struct scene *scene, uint32_t link)
{
	if (link >= scene->link_count || !has_model(scene, scene->links[link].model))
		return false;
	const struct scene_model *m = &scene->models[scene->links[link].model];
	return link >= m->link_first && link - m->link_first < m->link_count;
}

static bool has_joint(const struct scene *scene, uint32_t joint)
{
	if (joint >= scene->joint_count || !has_model(scene, scene->joints[joint].model))
		return false;
	const struct scene_model *m = &scene->models[scene->joints[joint].model];
	return joint >= m->joint_first && joint - m->joint_first < m->joint_count;
}

static const struct scene *scene_of(const struct troupe_step *step)
{
	return inner(step)->state->scene;
}

/* A runner knows the state of the models that it simulates, and has older states of others: which models these are
 * depends on how the work is divided. */
static bool on_runner(const struct troupe_step *step)
{
	return inner(step)->model != SCENE_NONE && !inner(step)->acts;
}

static bool may_read(const struct troupe_step *step, uint32_t model)
{
	return has_model(scene_of(step), model) && (!on_runner(step) || model == inner(step)->model);
}

static bool may_read_link(const struct troupe_step *step, uint32_t link)
{
	return has_link(scene_of(step), link) && may_read(step, scene_of(step)->links[link].model);
}

static bool may_read_joint(const struct troupe_step *step, uint32_t joint)
{
	return has_joint(scene_of(step), joint) && may_read(step, scene_of(step)->joints[joint].model);
}

/* Before the physics the place of the next state has an older state in it. */
static bool is_next(const struct troupe_step *step, enum troupe_time when)
{
	return when == TROUPE_NEXT && inner(step)->has_next;
}

/* Only the own model may be controlled, and only in pre_update(). */
static bool owns_link(const struct troupe_step *step, uint32_t link)
{
	return has_link(scene_of(step), link) && scene_of(step)->links[link].model == inner(step)->model;
}

static bool owns_joint(const struct troupe_step *step, uint32_t joint)
{
	return has_joint(scene_of(step), joint) && scene_of(step)->joints[joint].model == inner(step)->model;
}

/* NaN, which a damaged state may contain, becomes 0 before it is cut: so NaN is never passed on. */
static double cut(double value, double most)
{
	if (isnan(value))
		value = 0;
	return value < -most ? -most : value > most ? most : value;
}

static struct vec3 cut_vec3(struct vec3 v, double most)
{
	return (struct vec3){cut(v.x, most), cut(v.y, most), cut(v.z, most)};
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static struct troupe_pose model_pose(const struct troupe_step *step, uint32_t model, enum troupe_time when)
{
	if (!may_read(step, model))
		return pose_flat(POSE_IDENTITY);
	return pose_flat(state_model_pose(inner(step)->state, model, is_next(step, when)));
}

static struct troupe_pose link_pose(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!may_read_link(step, link))
		return pose_flat(POSE_IDENTITY);
	return pose_flat(state_link_pose(inner(step)->state, link, is_next(step, when)));
}

static struct troupe_twist link_twist(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!may_read_link(step, link))
		return (struct troupe_twist){{0, 0, 0}, {0, 0, 0}};
	const struct state *state = inner(step)->state;
	const struct scene_link *l = &state->scene->links[link];
	if (l->body == SCENE_NONE)
		return (struct troupe_twist){{0, 0, 0}, {0, 0, 0}};
	const struct body_state *body = state_body(state, l->body, is_next(step, when));
	struct vec3 arm = quat_rotate(body->q, l->in_body.p);
	return (struct troupe_twist){vec3_add(body->v, vec3_cross(body->w, arm)), body->w};
}

static struct troupe_vec3 centre_velocity(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!may_read_link(step, link))
		return troupe_vec3_make(0, 0, 0);
	const struct state *state = inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body == SCENE_NONE)
		return troupe_vec3_make(0, 0, 0);
	return state_body(state, body, is_next(step, when))->v;
}

static struct troupe_vec3 centre(const struct troupe_step *step, uint32_t link, enum troupe_time when)
{
	if (!may_read_link(step, link))
		return troupe_vec3_make(0, 0, 0);
	const struct state *state = inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body == SCENE_NONE)
		return state->scene->links[link].in_body.p;
	return state_body(state, body, is_next(step, when))->p;
}

static double joint_position(const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!may_read_joint(step, joint))
		return 0;
	return state_joint(inner(step)->state, joint, is_next(step, when))->position[axis & 1];
}

static double joint_velocity(const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!may_read_joint(step, joint))
		return 0;
	const struct state *state = inner(step)->state;
	if (axis >= state->scene->joints[joint].axis_count)
		return 0;
	return scene_axis_rate(state, joint, axis, is_next(step, when));
}

static struct troupe_axis joint_axis(
	const struct troupe_step *step, uint32_t joint, uint32_t axis, enum troupe_time when)
{
	if (!may_read_joint(step, joint))
		return (struct troupe_axis){{0, 0, 0}, -HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
	const struct state *state = inner(step)->state;
	const struct scene_joint *j = &state->scene->joints[joint];
	if (axis >= j->axis_count)
		return (struct troupe_axis){{0, 0, 0}, -HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL};
	const struct sdf_axis *a = &j->axis[axis];
	return (struct troupe_axis){
		scene_axis_direction(state, j, axis, is_next(step, when)), a->lower, a->upper, a->velocity, a->effort};
}

/* --- control ------------------------------------------------------------------------------------------------------ */

static void joint_force(const struct troupe_step *step, uint32_t joint, double force)
{
	if (!owns_joint(step, joint))
		return;
	struct joint_control *control = &inner(step)->control->joints[joint];
	if (!control->off)
		control->force += cut(force, FORCE_MAX);
}

static void joint_drive(const struct troupe_step *step, uint32_t joint, double velocity)
{
	if (!owns_joint(step, joint))
		return;
	struct joint_control *control = &inner(step)->control->joints[joint];
	if (control->off)
		return;
	control->drive = true;
	control->velocity = cut(velocity, VELOCITY_MAX);
}

static bool joint_asked(const struct troupe_step *step, uint32_t joint)
{
	if (!owns_joint(step, joint))
		return false;
	const struct joint_control *control = &inner(step)->control->joints[joint];
	return control->force != 0 || (control->drive && control->velocity != 0);
}

static void joint_release(const struct troupe_step *step, uint32_t joint)
{
	if (owns_joint(step, joint))
		inner(step)->control->joints[joint] = (struct joint_control){.off = true};
}

static bool joint_released(const struct troupe_step *step, uint32_t joint)
{
	return owns_joint(step, joint) && inner(step)->control->joints[joint].off;
}

static void link_force(
	const struct troupe_step *step, uint32_t link, struct troupe_vec3 point, struct troupe_wrench wrench)
{
	if (!owns_link(step, link))
		return;
	const struct state *state = inner(step)->state;
	const struct scene_link *l = &state->scene->links[link];
	if (l->body == SCENE_NONE)
		return;
	struct body_control *control = control_body(inner(step)->control, state->scene, l->body);
	struct vec3 force = cut_vec3(wrench.force, FORCE_MAX);
	struct vec3 torque = cut_vec3(wrench.torque, FORCE_MAX);
	struct vec3 at = pose_point(state_link_pose(state, link, false), point);
	struct vec3 arm = vec3_sub(at, state_body(state, l->body, false)->p);
	control->force = vec3_add(control->force, force);
	control->torque = cut_vec3(vec3_add(control->torque, vec3_add(torque, vec3_cross(arm, force))), FORCE_MAX);
	control->force = cut_vec3(control->force, FORCE_MAX);
}

/* Sets the velocity of a body that belongs to a rigid whole with its frame at `frame`. */
static void move_body(
	const struct system_step *step, uint32_t body, const struct troupe_twist *twist, struct vec3 origin)
{
	const struct scene *scene = step->state->scene;
	uint32_t model = scene->bodies[body].model;
	struct vec3 com = state_bodies(step->state, model, false)[body - scene->models[model].body_first].p;
	struct body_control *control = control_body(step->control, scene, body);
	control->drive = true;
	/* each coordinate of a turned vector may be larger than each one before */
	control->w = cut_vec3(twist->angular, 2 * VELOCITY_MAX);
	control->v = vec3_add(cut_vec3(twist->linear, 2 * VELOCITY_MAX), vec3_cross(control->w, vec3_sub(com, origin)));
}

static void link_drive(const struct troupe_step *step, uint32_t link, struct troupe_twist twist)
{
	if (!owns_link(step, link))
		return;
	const struct state *state = inner(step)->state;
	uint32_t body = state->scene->links[link].body;
	if (body != SCENE_NONE)
		move_body(inner(step), body, &twist, state_link_pose(state, link, false).p);
}

static void model_drive(const struct troupe_step *step, uint32_t model, struct troupe_twist twist)
{
	if (model != inner(step)->model || !has_model(scene_of(step), model))
		return;
	const struct state *state = inner(step)->state;
	const struct scene_model *m = &state->scene->models[model];
	struct vec3 origin = state_model_pose(state, model, false).p;
	for (uint32_t b = m->body_first; b < m->body_first + m->body_count; b++)
		move_body(inner(step), b, &twist, origin);
}

static void put_actor(const struct troupe_step *step, uint32_t model, struct troupe_pose pose)
{
	const struct scene *scene = scene_of(step);
	struct pose target = pose_of_flat(pose);
	double length = sqrt(pose.qw * pose.qw + pose.qx * pose.qx + pose.qy * pose.qy + pose.qz * pose.qz);
	if (model != inner(step)->model || !has_model(scene, model) || !scene->models[model].actor)
		return;
	if (!pose_finite(target) || !(length > 0.5 && length < 2))
		return;
	target.p = cut_vec3(target.p, ACTOR_POSITION_MAX);
	target.q = quat_unit(target.q);
	actor_place(inner(step)->state, inner(step)->control, model, target, inner(step)->step.dt);
}

/* Runners control the models that they simulate, and the primary the static ones, which none simulates. */
static bool owns_surface(const struct troupe_step *step, uint32_t link)
{
	bool is_static = has_link(scene_of(step), link) && scene_of(step)->links[link].body == SCENE_NONE;
	return owns_link(step, link) && is_static == (inner(step)->acts != NULL);
}

/* Calls set() for the surface of each collision of the link. */
static void set_surfaces(const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis,
	const struct surface_control *asked,
	void (*set)(struct surface_control *to, const struct surface_control *asked))
{
	struct surface_control with = *asked;
	double length = vec3_length(cut_vec3(axis, PLACE_MAX));
	if (!owns_surface(step, link) || length <= 0)
		return;
	const struct scene *scene = scene_of(step);
	const struct scene_model *m = &scene->models[scene->links[link].model];
	with.axis = vec3_scale(cut_vec3(axis, PLACE_MAX), 1 / length);
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++)
		if (scene->geoms[g].link == link)
			set(control_surface(inner(step)->control, scene, g), &with);
}

static void set_belt(struct surface_control *to, const struct surface_control *asked)
{
	to->runs = true;
	to->turns = asked->turns;
	to->speed = asked->speed;
	to->axis = asked->axis;
	to->centre = asked->centre;
}

static void link_belt(const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double speed,
	const struct troupe_vec3 *centre)
{
	struct surface_control asked = {.turns = centre != NULL, .speed = cut(speed, VELOCITY_MAX)};
	if (centre)
		asked.centre = cut_vec3(*centre, PLACE_MAX);
	set_surfaces(step, link, axis, &asked, set_belt);
}

static void set_slip(struct surface_control *to, const struct surface_control *asked)
{
	to->slips = true;
	if (!to->runs)
		to->axis = asked->axis;
	to->slip1 = asked->slip1;
	to->slip2 = asked->slip2;
}

static void link_slip(
	const struct troupe_step *step, uint32_t link, struct troupe_vec3 axis, double slip1, double slip2)
{
	const struct surface_control asked = {
		.slip1 = fmax(cut(slip1, SLIP_MAX), 0), .slip2 = fmax(cut(slip2, SLIP_MAX), 0)};
	set_surfaces(step, link, axis, &asked, set_slip);
}

/* --- the world ---------------------------------------------------------------------------------------------------- */

static const char *model_name(const struct troupe_step *step, uint32_t model)
{
	const struct scene *scene = inner(step)->state->scene;
	const struct system_acts *acts = inner(step)->acts;
	bool there = may_read(step, model) && (!acts || acts->is_there(acts->ctx, model));
	return there ? scene->models[model].name : NULL;
}

static uint32_t find_model(const struct troupe_step *step, const char *name)
{
	uint32_t model = scene_find_model(inner(step)->state->scene, name);
	return model != SCENE_NONE && model_name(step, model) ? model : TROUPE_NOTHING;
}

static uint32_t models(const struct troupe_step *step)
{
	return on_runner(step) ? 0 : scene_of(step)->model_count;
}

static bool model_moves(const struct troupe_step *step, uint32_t model)
{
	if (!may_read(step, model))
		return false;
	return !inner(step)->state->scene->models[model].is_static;
}

static uint32_t find_link_of(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!may_read(step, model))
		return TROUPE_NOTHING;
	return scene_find_link(inner(step)->state->scene, model, name);
}

static uint32_t find_joint_of(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!may_read(step, model))
		return TROUPE_NOTHING;
	return scene_find_joint(inner(step)->state->scene, model, name);
}

static bool touch(const struct troupe_step *step, uint32_t model, uint32_t i, struct troupe_touch *ret_touch)
{
	const struct system_acts *acts = inner(step)->acts;
	return acts && acts->touch(acts->ctx, model, i, ret_touch);
}

static uint32_t find_sensor(const struct troupe_step *step, uint32_t model, const char *name)
{
	if (!has_model(scene_of(step), model))
		return TROUPE_NOTHING;
	const struct system_acts *acts = inner(step)->acts;
	return acts ? acts->find_sensor(acts->ctx, model, name) : TROUPE_NOTHING;
}

static const double *reading(
	const struct troupe_step *step, uint32_t model, uint32_t sensor, uint32_t *ret_count, double *ret_time_s)
{
	const struct system_acts *acts = inner(step)->acts;
	*ret_count = 0;
	*ret_time_s = 0;
	return acts ? acts->reading(acts->ctx, model, sensor, ret_count, ret_time_s) : NULL;
}

static bool performer(const struct troupe_step *step, uint32_t i, struct troupe_performer *ret_performer)
{
	const struct scene *scene = scene_of(step);
	for (uint32_t m = 0; m < models(step); m++) {
		const struct scene_model *model = &scene->models[m];
		if (!model->performer || !model_name(step, m) || i--)
			continue;
		*ret_performer = (struct troupe_performer){m, model->id, model->volume};
		return true;
	}
	return false;
}

/* --- acting ------------------------------------------------------------------------------------------------------- */

static struct troupe_message *make_message(const struct troupe_step *step, const char *type)
{
	message_type found = type_find(type);
	if (!inner(step)->arena || !found)
		return NULL;
	return (struct troupe_message *)(void *)field_message(found, step->time_s);
}

static struct troupe_message *unpack(const struct troupe_step *step, const char *type, const void *bytes, size_t count)
{
	message_type found = type_find(type);
	struct troupe_error why;
	ProtobufCMessage *message, *copy;
	if (!inner(step)->arena || !found ||
		message_of_bytes(found, bytes, count, &message_limits_usual, &message, &why))
		return NULL;
	copy = message_copy_in(inner(step)->arena, message);
	message_free(message);
	return (struct troupe_message *)(void *)copy;
}

static size_t pack(const struct troupe_message *message, void *ret_bytes, size_t max)
{
	struct text out = {0};
	message_add_bytes(&out, (const ProtobufCMessage *)(const void *)message);
	size_t count = out.count;
	if (count && count <= max)
		memcpy(ret_bytes, out.at, count);
	text_fini(&out);
	return count;
}

static void publish(const struct troupe_system *self, const struct troupe_step *step, uint32_t output,
	const struct troupe_message *message)
{
	const struct system *system = system_of(self);
	const struct system_acts *acts = inner(step)->acts;
	const ProtobufCMessage *m = (const ProtobufCMessage *)(const void *)message;
	bool fits = m && inner(step)->arena && output < system->outputs.count &&
		    system->outputs.at[output].def.gives == TROUPE_GIVES_PUBLISHED &&
		    system->outputs.at[output].type == m->descriptor;
	if (fits && acts)
		acts->publish(acts->ctx, system, output, m);
}

static void request(const struct troupe_system *self, const struct troupe_step *step, const char *service,
	const struct troupe_message *message)
{
	const struct system_acts *acts = inner(step)->acts;
	if (acts && message && inner(step)->arena)
		acts->request(acts->ctx, system_of(self), service, (const ProtobufCMessage *)(const void *)message);
}

static bool attach(const struct troupe_system *self, const struct troupe_step *step, uint32_t link, uint32_t other)
{
	const struct system_acts *acts = inner(step)->acts;
	if (!acts || !inner(step)->arena || !owns_link(step, link) || !has_link(scene_of(step), other) ||
		!acts->is_there(acts->ctx, scene_of(step)->links[other].model) ||
		!acts->may_attach(acts->ctx, system_of(self), other))
		return false;
	acts->attach(acts->ctx, system_of(self), link, other);
	return true;
}

static void detach(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct system_acts *acts = inner(step)->acts;
	if (acts && inner(step)->arena)
		acts->detach(acts->ctx, system_of(self));
}

static bool attached(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct scene *scene = scene_of(step);
	bool found = false;
	for (uint32_t i = 0; i < scene->ties.count && !found; i++)
		found = scene->ties.at[i].owner == self->model && scene->ties.at[i].system == system_of(self)->index;
	return found;
}

/* --- anywhere ----------------------------------------------------------------------------------------------------- */

static double raise(double x, double y)
{
	if (x > 0)
		return math_exp(y * math_log(x));
	return y == 0 ? 1 : x == 0 && y > 0 ? 0 : (double)NAN;
}

/* The key of a sequence does not depend on plug-ins that come later in the model. */
static uint64_t key_of(const struct troupe_system *self, uint32_t sequence)
{
	const struct system *system = system_of(self);
	uint64_t id = self->model == TROUPE_NOTHING ? 0 : system->scene->models[self->model].id;
	return hash_mix(hash_mix(system->all->seed ^ 0x706c7567696e73u, id), (uint64_t)system->index << 32 | sequence);
}

static double uniform(uint64_t key, uint64_t index)
{
	return (double)(hash_mix(key, index) >> 11) * 0x1p-53;
}

static double random_uniform(const struct troupe_system *self, uint32_t sequence, uint64_t index)
{
	return uniform(key_of(self, sequence), index);
}

/* Box and Muller's way: two uniform numbers make one normal number. */
static double random_normal(const struct troupe_system *self, uint32_t sequence, uint64_t index)
{
	uint64_t key = key_of(self, sequence);
	double u = 1 - uniform(hash_mix(key, 1), index), v = uniform(hash_mix(key, 2), index);
	return sqrt(-2 * math_log(u)) * math_cos(2 * M_PI * v);
}

static void log_line(const struct troupe_system *self, const char *format, ...)
{
	const struct systems *all = system_of(self)->all;
	char text[LOG_BYTES_MAX];
	struct troupe_error line;
	va_list args;
	if (!all->on_log)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	(void)fail(&line, TROUPE_OK, "%s of %s: %s", self->kind->names[0],
		self->model == TROUPE_NOTHING ? "the world" : system_of(self)->scene->models[self->model].name, text);
	all->on_log(all->ctx, line.text);
}

const struct troupe_host system_host = {
	.size = sizeof(struct troupe_host),
	.abi = TROUPE_PLUGIN_ABI,
	SETUP_HOST,
	FIELD_HOST,
	.model_pose = model_pose,
	.link_pose = link_pose,
	.link_twist = link_twist,
	.centre_velocity = centre_velocity,
	.centre = centre,
	.joint_position = joint_position,
	.joint_velocity = joint_velocity,
	.joint_axis = joint_axis,
	.joint_force = joint_force,
	.joint_drive = joint_drive,
	.link_force = link_force,
	.link_drive = link_drive,
	.model_drive = model_drive,
	.actor_place = put_actor,
	.joint_asked = joint_asked,
	.joint_release = joint_release,
	.link_belt = link_belt,
	.link_slip = link_slip,
	.find_model = find_model,
	.models = models,
	.model_name = model_name,
	.model_moves = model_moves,
	.find_link_of = find_link_of,
	.find_joint_of = find_joint_of,
	.touch = touch,
	.find_sensor = find_sensor,
	.reading = reading,
	.performer = performer,
	.pack = pack,
	.message = make_message,
	.unpack = unpack,
	.publish = publish,
	.attach = attach,
	.detach = detach,
	.attached = attached,
	.request = request,
	.sin = math_sin,
	.cos = math_cos,
	.tan = math_tan,
	.asin = math_asin,
	.acos = math_acos,
	.atan2 = math_atan2,
	.exp = math_exp,
	.log = math_log,
	.pow = raise,
	.sincos = math_sincos,
	.random = random_uniform,
	.random_normal = random_normal,
	.log_line = log_line,
	.joint_released = joint_released,
};
