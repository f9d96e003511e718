/* Reads scripts and shapes of actors, and computes their poses from the script. The loader keeps an actor as it
 * stands in the file. So the links of an actor are read here, but only their collisions. */
#include "scene/actor.h"

#include "base/math.h"
#include "base/parse.h"
#include "scene/compile.h"

#include <stdlib.h>
#include <string.h>

/* --- where it is ------------------------------------------------------------------------------------------------ */

/* The last waypoint of the trajectory whose time is not after time_s. */
static uint32_t actor_segment_at(
	const struct scene_actor *actor, const struct actor_trajectory *trajectory, double time_s)
{
	uint32_t low = trajectory->first, high = trajectory->first + trajectory->count - 1;
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		if (actor->waypoints[middle].time_s <= time_s)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

static struct vec3 actor_spline(const struct actor_waypoint *a, const struct actor_waypoint *b, double t)
{
	double t2 = t * t, t3 = t2 * t;
	struct vec3 p = vec3_add(vec3_scale(a->pose.p, 2 * t3 - 3 * t2 + 1), vec3_scale(b->pose.p, 3 * t2 - 2 * t3));
	return vec3_add(p, vec3_add(vec3_scale(a->tangent, t3 - 2 * t2 + t), vec3_scale(b->tangent, t3 - t2)));
}

static struct quat actor_slerp(struct quat a, struct quat b, double t)
{
	double dot = a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z, sign = dot < 0 ? -1 : 1;
	double angle = math_acos(fmin(dot * sign, 1)), wa = 1 - t, wb = t;
	if (angle > 1e-6) {
		wa = math_sin((1 - t) * angle) / math_sin(angle);
		wb = math_sin(t * angle) / math_sin(angle);
	}
	wb *= sign;
	return quat_unit(
		(struct quat){wa * a.w + wb * b.w, wa * a.x + wb * b.x, wa * a.y + wb * b.y, wa * a.z + wb * b.z});
}

static double actor_script_time(const struct scene_actor *actor, double time_s)
{
	double t = time_s - actor->delay_s;
	if (!(t > 0))
		return 0;
	if (t <= actor->length_s)
		return t;
	if (!actor->loop || !(actor->length_s > 0))
		return actor->length_s;
	t = fmod(t, actor->length_s);
	return t > 0 ? t : actor->length_s;
}

/* The pose of the actor in the world, at a simulated time. */
static struct pose actor_pose(const struct scene_actor *actor, double time_s)
{
	if (!actor->auto_start || !actor->trajectory_count)
		return actor->rest;
	double t = actor_script_time(actor, time_s);
	uint32_t low = 0, high = actor->trajectory_count - 1; /* search the first trajectory that has not ended
							       * before t */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (actor->trajectories[middle].end_s >= t)
			high = middle;
		else
			low = middle + 1;
	}
	const struct actor_trajectory *trajectory = &actor->trajectories[low];
	double local_s = fmax(t - trajectory->begin_s, 0);
	uint32_t i = actor_segment_at(actor, trajectory, local_s);
	const struct actor_waypoint *a = &actor->waypoints[i];
	if (i + 1 == trajectory->first + trajectory->count || local_s <= a->time_s)
		return a->pose;
	double part = (local_s - a->time_s) / (a[1].time_s - a->time_s);
	return (struct pose){actor_spline(a, a + 1, part), actor_slerp(a->pose.q, a[1].pose.q, part)};
}

/* The angular velocity that turns `from` into `to` in dt. */
static struct vec3 actor_spin_between(struct quat from, struct quat to, double dt)
{
	struct quat turn = quat_mul(to, quat_conj(from));
	double sign = turn.w < 0 ? -1 : 1;
	struct vec3 v = {turn.x * sign, turn.y * sign, turn.z * sign};
	double length = vec3_length(v);
	return length > 0 ? vec3_scale(v, 2 * math_atan2(length, turn.w * sign) / (length * dt)) : v;
}

void actor_place(
	const struct state *state, const struct control *control, uint32_t model, struct pose target, double dt)
{
	const struct scene_model *m = &state->scene->models[model];
	const struct body_state *now = state_bodies(state, model, false);
	struct body_control *body = control_body(control, state->scene, m->body_first);
	body->place = true;
	body->target = target;
	body->v = vec3_scale(vec3_sub(body->target.p, now->p), 1 / dt);
	body->w = actor_spin_between(now->q, body->target.q, dt);
	if (vec3_length(body->v) <= ACTOR_SPEED_MAX && vec3_length(body->w) <= ACTOR_SPIN_MAX)
		return;
	body->v = body->w = (struct vec3){0, 0, 0};
}

void actor_drive(const struct state *state, const struct control *control, uint32_t model, double time_s, double dt)
{
	actor_place(state, control, model, actor_pose(state->scene->models[model].actor, time_s + dt), dt);
}

/* --- reading the script ----------------------------------------------------------------------------------------- */

struct actor_reading {
	struct scene_actor actor;
	VEC(struct actor_trajectory) trajectories;
	VEC(struct actor_waypoint) waypoints;
};

static uint32_t actor_count_children(const struct sdf_element *element, const char *name)
{
	uint32_t count = 0;
	for (const struct sdf_element *at = sdf_child(element, name, NULL); at; at = sdf_child(element, name, at))
		count++;
	return count;
}

static troupe_status actor_read_waypoint(struct actor_reading *r, const struct actor_trajectory *trajectory,
	const struct sdf_element *element, struct troupe_error *error)
{
	struct actor_waypoint point = {.pose = POSE_IDENTITY};
	troupe_status status = sdf_child_double(element, "time", 0, ACTOR_TIME_MAX, &point.time_s, error);
	if (!status)
		status = sdf_child_pose(element, &point.pose, error);
	if (status)
		return status;
	point.pose = pose_mul(r->actor.rest, point.pose);
	struct vec3 p = point.pose.p;
	if (!vec3_within(p, ACTOR_POSITION_MAX))
		return fail(error, TROUPE_EWORLD,
			"%s:%u: <waypoint> is at %g %g %g in the world: expected coordinates within %g m",
			element->file, element->line, p.x, p.y, p.z, ACTOR_POSITION_MAX);
	uint32_t count = r->waypoints.count;
	if (count > trajectory->first && point.time_s <= r->waypoints.at[count - 1].time_s)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: <waypoint> at %g s comes after one at %g s: expected ascending times", element->file,
			element->line, point.time_s, r->waypoints.at[count - 1].time_s);
	vec_push(&r->waypoints, point);
	return TROUPE_OK;
}

static bool actor_same_point(struct vec3 a, struct vec3 b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z;
}

static void actor_set_tangents(struct actor_waypoint *at, uint32_t count, double tension)
{
	if (count < 2)
		return;
	bool closed = actor_same_point(at[0].pose.p, at[count - 1].pose.p);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t before = i ? i - 1 : closed ? count - 2 : 0;
		uint32_t after = i + 1 < count ? i + 1 : closed ? 1 : i;
		at[i].tangent = vec3_scale(vec3_sub(at[after].pose.p, at[before].pose.p), 0.5 * (1 - tension));
	}
}

static troupe_status actor_attribute_number(const struct sdf_element *element, const char *name, double low,
	double high, double *value, struct troupe_error *error)
{
	const char *text = sdf_attribute(element, name);
	double read;
	if (!text || !*text)
		return TROUPE_OK;
	if (!parse_double(text, &read) || !(read >= low && read <= high))
		return fail(error, TROUPE_EWORLD, "%s:%u: %s of <%s> is \"%.40s\": expected a number from %g to %g",
			element->file, element->line, name, element->name, text, low, high);
	*value = read;
	return TROUPE_OK;
}

static troupe_status actor_read_trajectory(
	struct actor_reading *r, const struct sdf_element *element, struct troupe_error *error)
{
	struct actor_trajectory trajectory = {.first = r->waypoints.count, .order = r->trajectories.count};
	double tension = 0;
	troupe_status status = actor_attribute_number(element, "id", -1e9, 1e9, &trajectory.id, error);
	if (!status)
		status = actor_attribute_number(element, "tension", 0, 1, &tension, error);
	for (const struct sdf_element *at = sdf_child(element, "waypoint", NULL); at && !status;
		at = sdf_child(element, "waypoint", at))
		status = actor_read_waypoint(r, &trajectory, at, error);
	trajectory.count = r->waypoints.count - trajectory.first;
	if (status || !trajectory.count)
		return status;
	struct actor_waypoint *first = &r->waypoints.at[trajectory.first];
	double begin_s = first->time_s;
	for (uint32_t i = 0; i < trajectory.count; i++)
		first[i].time_s -= begin_s;
	actor_set_tangents(first, trajectory.count, tension);
	vec_push(&r->trajectories, trajectory);
	return TROUPE_OK;
}

static int actor_compare_trajectories(const void *a, const void *b)
{
	const struct actor_trajectory *x = a, *y = b;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static troupe_status actor_check_counts(const struct sdf_element *script, struct troupe_error *error)
{
	uint32_t trajectories = actor_count_children(script, "trajectory"), waypoints = 0;
	for (const struct sdf_element *at = sdf_child(script, "trajectory", NULL); at;
		at = sdf_child(script, "trajectory", at))
		waypoints += actor_count_children(at, "waypoint");
	if (trajectories > ACTOR_TRAJECTORIES_MAX || waypoints > ACTOR_WAYPOINTS_MAX)
		return fail(error, TROUPE_ELIMIT,
			"%s:%u: <script> has %u trajectories and %u waypoints: expected at most %d and %d",
			script->file, script->line, trajectories, waypoints, ACTOR_TRAJECTORIES_MAX,
			ACTOR_WAYPOINTS_MAX);
	return TROUPE_OK;
}

static troupe_status actor_read_script(
	struct actor_reading *r, const struct sdf_element *script, struct troupe_error *error)
{
	struct scene_actor *actor = &r->actor;
	actor->loop = actor->auto_start = true;
	troupe_status status = actor_check_counts(script, error);
	if (!status)
		status = sdf_child_bool(script, "loop", &actor->loop, error);
	if (!status)
		status = sdf_child_bool(script, "auto_start", &actor->auto_start, error);
	if (!status)
		status = sdf_child_double(script, "delay_start", 0, ACTOR_TIME_MAX, &actor->delay_s, error);
	for (const struct sdf_element *at = sdf_child(script, "trajectory", NULL); at && !status;
		at = sdf_child(script, "trajectory", at))
		status = actor_read_trajectory(r, at, error);
	if (status)
		return status;
	if (r->trajectories.count)
		qsort(r->trajectories.at, r->trajectories.count, sizeof *r->trajectories.at,
			actor_compare_trajectories);
	for (uint32_t i = 0; i < r->trajectories.count; i++) {
		struct actor_trajectory *trajectory = &r->trajectories.at[i];
		trajectory->begin_s = actor->length_s;
		actor->length_s += r->waypoints.at[trajectory->first + trajectory->count - 1].time_s;
		trajectory->end_s = actor->length_s;
	}
	return TROUPE_OK;
}

/* --- reading the shapes ----------------------------------------------------------------------------------------- */

static troupe_status actor_read_lengths(
	const struct sdf_element *shape, struct scene_geom *geom, struct troupe_error *error)
{
	double radius = 1, length = 1;
	troupe_status status = sdf_child_double(shape, "radius", SDF_LENGTH_MIN, SCENE_POSITION_MAX, &radius, error);
	if (!status)
		status = sdf_child_double(shape, "length", SDF_LENGTH_MIN, SCENE_POSITION_MAX, &length, error);
	geom->size = (struct vec3){radius, 0, geom->kind == SCENE_SPHERE ? 0 : length / 2};
	return status;
}

/* *ret_found is false, with a warning: an actor cannot have this shape. */
static troupe_status actor_read_shape(struct compile *c, const struct sdf_element *collision, struct scene_geom *geom,
	bool *ret_found, struct troupe_error *error)
{
	static const struct {
		const char *name;
		enum scene_shape_kind kind;
	} kinds[] = {
		{"box", SCENE_BOX}, {"sphere", SCENE_SPHERE}, {"cylinder", SCENE_CYLINDER}, {"capsule", SCENE_CAPSULE}};
	const struct sdf_element *geometry = sdf_child(collision, "geometry", NULL);
	*ret_found = true;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct sdf_element *shape = sdf_child(geometry, kinds[i].name, NULL);
		if (!shape)
			continue;
		geom->kind = kinds[i].kind;
		if (geom->kind != SCENE_BOX)
			return actor_read_lengths(shape, geom, error);
		struct vec3 size = {1, 1, 1};
		troupe_status status = sdf_child_vec3(shape, "size", SDF_LENGTH_MIN, SCENE_POSITION_MAX, &size, error);
		geom->size = vec3_scale(size, 0.5);
		return status;
	}
	*ret_found = false;
	scene_warn(c, "shape of an actor",
		"%s:%u: <collision> of an actor: expected a box, sphere, cylinder or capsule; others are left out",
		collision->file, collision->line);
	return TROUPE_OK;
}

static troupe_status actor_read_surface(
	struct compile *c, const struct sdf_element *collision, struct scene_geom *geom, struct troupe_error *error)
{
	struct sdf_surface *surface = arena_new(c->arena, struct sdf_surface);
	*surface = sdf_surface_default();
	geom->surface = surface;
	geom->friction_link = SCENE_NONE;
	const struct sdf_element *friction = sdf_child(sdf_child(collision, "surface", NULL), "friction", NULL);
	const struct sdf_element *ode = sdf_child(friction, "ode", NULL);
	troupe_status status = sdf_child_double(ode, "mu", 0, 1e16, &surface->mu, error);
	return status ? status : sdf_child_double(ode, "mu2", 0, 1e16, &surface->mu2, error);
}

static troupe_status actor_add_collision(struct compile *c, const struct sdf_element *element, struct pose link_pose,
	const char *link_name, struct troupe_error *error)
{
	const char *name = sdf_attribute(element, "name");
	struct scene_geom geom = {.name = arena_printf(c->arena, "%s::%s", link_name, name ? name : ""),
		.model = c->models.count,
		.link = c->links.count - 1,
		.body = c->bodies.count - 1,
		.max_contacts = 10};
	struct pose pose = POSE_IDENTITY;
	bool found = false;
	troupe_status status = sdf_child_pose(element, &pose, error);
	if (!status)
		status = actor_read_shape(c, element, &geom, &found, error);
	if (!status)
		status = actor_read_surface(c, element, &geom, error);
	if (status || !found)
		return status;
	geom.in_body = pose_mul(link_pose, pose);
	vec_push(&c->geoms, geom);
	return TROUPE_OK;
}

static troupe_status actor_add_link(
	struct compile *c, const struct sdf_actor *from, const struct sdf_element *element, struct troupe_error *error)
{
	const char *name = sdf_attribute(element, "name");
	struct scene_link link = {.name = name ? name : "",
		.scoped = arena_printf(c->arena, "%s::%s", from->name, name ? name : ""),
		.model = c->models.count,
		.body = c->bodies.count - 1,
		.in_body = POSE_IDENTITY};
	troupe_status status = sdf_child_pose(element, &link.in_body, error);
	vec_push(&c->links, link);
	for (const struct sdf_element *at = sdf_child(element, "collision", NULL); at && !status;
		at = sdf_child(element, "collision", at))
		status = actor_add_collision(c, at, link.in_body, link.scoped, error);
	return status;
}

/* --- compiling -------------------------------------------------------------------------------------------------- */

/* The script is read before the body is made, because the body begins at the script's first pose. */
static troupe_status actor_read(struct compile *c, const struct sdf_actor *from, const struct scene_actor **ret_actor,
	struct troupe_error *error)
{
	struct actor_reading r = {.actor = {.rest = from->in_world, .sdf = (uint32_t)(from - c->sdf->actors.at)}};
	troupe_status status = actor_read_script(&r, sdf_child(from->element, "script", NULL), error);
	if (!status) {
		struct arena *arena = c->arena;
		struct scene_actor *actor = arena_new(arena, struct scene_actor);
		struct actor_trajectory *trajectories =
			arena_array(arena, struct actor_trajectory, r.trajectories.count);
		struct actor_waypoint *waypoints = arena_array(arena, struct actor_waypoint, r.waypoints.count);
		for (uint32_t i = 0; i < r.trajectories.count; i++)
			trajectories[i] = r.trajectories.at[i];
		for (uint32_t i = 0; i < r.waypoints.count; i++)
			waypoints[i] = r.waypoints.at[i];
		*actor = r.actor;
		actor->trajectories = trajectories;
		actor->trajectory_count = r.trajectories.count;
		actor->waypoints = waypoints;
		*ret_actor = actor;
	}
	vec_free(&r.trajectories);
	vec_free(&r.waypoints);
	return status;
}

static troupe_status actor_add(struct compile *c, const struct sdf_actor *from, struct troupe_error *error)
{
	struct scene_model model = {.name = from->name,
		.line = from->line,
		.level = SCENE_NONE,
		.body_first = c->bodies.count,
		.body_count = 1,
		.geom_first = c->geoms.count,
		.joint_first = c->joints.count,
		.link_first = c->links.count,
		.in_body = POSE_IDENTITY,
		.from = c->sdf,
		.sdf = SDF_NONE};
	troupe_status status = actor_read(c, from, &model.actor, error);
	if (status)
		return status;
	struct scene_body body = {.name = from->name,
		.model = c->models.count,
		.geom_first = c->geoms.count,
		.mass = 1,
		.ixx = 1,
		.iyy = 1,
		.izz = 1,
		.reference = actor_pose(model.actor, 0),
		.kinematic = true};
	body.reference.q = quat_unit(body.reference.q);
	vec_push(&c->bodies, body);
	for (const struct sdf_element *at = sdf_child(from->element, "link", NULL); at && !status;
		at = sdf_child(from->element, "link", at))
		status = actor_add_link(c, from, at, error);
	if (status)
		return status;
	model.link_count = c->links.count - model.link_first;
	model.geom_count = c->geoms.count - model.geom_first;
	c->bodies.at[model.body_first].geom_count = model.geom_count;
	map_add(&c->names, model.name, c->models.count);
	vec_push(&c->models, model);
	return TROUPE_OK;
}

troupe_status scene_add_actors(struct compile *c, struct troupe_error *error)
{
	for (uint32_t i = 0; i < c->sdf->actors.count; i++) {
		const struct sdf_actor *from = &c->sdf->actors.at[i];
		uint32_t other;
		if (!sdf_child(from->element, "script", NULL) && !from->plugin_count)
			continue;
		if (map_find(&c->names, from->name, &other)) {
			scene_warn(c, NULL, "%s:%u: actor '%s' has the name of a model; it is left out",
				from->element->file, from->line, from->name);
			continue;
		}
		struct vec3 p = from->in_world.p;
		if (!vec3_within(p, ACTOR_POSITION_MAX))
			return fail(error, TROUPE_EWORLD,
				"%s:%u: actor '%s' is at %g %g %g: expected coordinates within %g m",
				from->element->file, from->line, from->name, p.x, p.y, p.z, ACTOR_POSITION_MAX);
		troupe_status status = actor_add(c, from, error);
		if (status)
			return status;
	}
	return TROUPE_OK;
}
