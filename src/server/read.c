/* Handles are checked at each use. A handle is an index in the scene and the id of a model. The index may be free by
 * now, or may belong to another model; then the id differs. */
#include "server/read.h"

#include "scene/axis.h"
#include "server/clients.h"
#include "server/scene_info.h"

/* The velocity of a frame at `at` that is fixed to the body. */
static struct troupe_twist server_read_twist_at(const struct body_state *body, struct vec3 at)
{
	struct vec3 linear = vec3_add(body->v, vec3_cross(body->w, vec3_sub(at, body->p)));
	return (struct troupe_twist){linear, body->w};
}

struct troupe_odometry read_odometry(const struct server_world *world, uint32_t model)
{
	struct troupe_reckoning r;
	struct system_drift drift;
	if (!systems_count(world->systems, model) ||
		!systems_reckon(world->systems, world->shared.state, model, &r, &drift))
		return (struct troupe_odometry){0};
	return (struct troupe_odometry){.given = true,
		.x = r.x,
		.y = r.y,
		.yaw = remainder(r.yaw, 2 * M_PI),
		.linear = r.linear,
		.angular = r.angular,
		.drift_m = drift.position_m,
		.drift_rad = drift.yaw_rad,
		.tilt_rad = drift.tilt_rad,
		.height_m = drift.height_m};
}

void read_model(
	const struct server_world *world, uint32_t model, const char *name, struct troupe_model_state *ret_state)
{
	const struct scene_model *m = &world->scene->models[model];
	struct pose pose = state_model_pose(world->shared.state, model, false);
	*ret_state = (struct troupe_model_state){.name = name,
		.pose = pose_flat(pose),
		.secondary = world_number(world, primary_plan(world->primary)->placement.ownership.now.model[model]),
		.loaded = primary_plan(world->primary)->loading.active[model],
		.asleep = primary_sleeps(world->primary, model)};
	if (m->body_count)
		ret_state->twist = server_read_twist_at(
			state_body(world->shared.state, m->body_first + m->frame_body, false), pose.p);
}

void read_link(const struct server_world *world, uint32_t link, struct troupe_link_state *ret_state)
{
	uint32_t body = world->scene->links[link].body;
	struct pose pose = state_link_pose(world->shared.state, link, false);
	*ret_state = (struct troupe_link_state){.pose = pose_flat(pose)};
	if (body != SCENE_NONE)
		ret_state->twist = server_read_twist_at(state_body(world->shared.state, body, false), pose.p);
}

void read_joint(const struct server_world *world, uint32_t joint, struct troupe_joint_state *ret_state)
{
	const struct joint_state *state = state_joint(world->shared.state, joint, false);
	*ret_state = (struct troupe_joint_state){.position = {state->position[0], state->position[1]}};
	for (uint32_t a = 0; a < world->scene->joints[joint].axis_count; a++)
		ret_state->velocity[a] = scene_axis_rate(world->shared.state, joint, a, false);
	const struct observed *observed = primary_observed(world->primary);
	if (observed->efforts && joint < observed->room.joints)
		memcpy(ret_state->effort, observed->efforts[joint], sizeof ret_state->effort);
}

_Static_assert((int)SENSOR_KIND_COLUMNS_MAX == TROUPE_READING_NUMBERS, "as many numbers inside as outside");

static struct troupe_reading server_read_reading_of(const struct sensor *sensor)
{
	struct troupe_reading reading = {.given = false};
	const struct sensor_last *last = sensor ? sensor->last : NULL;
	for (uint32_t i = 0; i < TROUPE_READING_NUMBERS; i++)
		reading.numbers[i] = NAN;
	if (!last || !last->given)
		return reading;
	reading.given = true;
	reading.step = last->step;
	reading.time_s = (double)last->time_ns * 1e-9;
	memcpy(reading.numbers, last->numbers, sizeof reading.numbers);
	return reading;
}

struct troupe_reading read_sensor(const struct server_world *world, troupe_sensor sensor)
{
	return server_read_reading_of(sensors_find(world->shared.sensors, sensor.at - 1, sensor.index));
}

_Static_assert(
	(int)OBSERVE_CONTACTS == (int)TROUPE_OBSERVE_CONTACTS && (int)OBSERVE_EFFORTS == (int)TROUPE_OBSERVE_EFFORTS,
	"the same bits inside and outside");

uint32_t read_contacts(
	const struct server_world *world, const struct troupe_scene *view, struct troupe_contact *ret_contacts)
{
	const contact_notes *notes = &primary_observed(world->primary)->contacts;
	for (uint32_t i = 0; i < notes->count; i++) {
		const struct contact_note *note = &notes->at[i];
		ret_contacts[i] = (struct troupe_contact){{scene_info_shape_of_geom(view, note->geoms[0]),
								  scene_info_shape_of_geom(view, note->geoms[1])},
			note->position, note->normal, note->depth};
	}
	return notes->count;
}

/* --- handles ------------------------------------------------------------------------------------------------------ */

static struct server_world *server_read_world_at(const struct troupe_server *server, uint32_t world)
{
	return world < server->world_count ? &server->worlds[world] : NULL;
}

static bool server_read_is_born(const struct scene *scene, uint32_t model, uint32_t born)
{
	const struct scene_model *m = &scene->models[model];
	return m->id && (uint32_t)m->id == born && !m->absent;
}

/* The index in the scene of the entity that the handle means. SCENE_NONE: the handle is stale, or of another kind of
 * entity; *ret_world is NULL then. */
static uint32_t server_read_find_model(
	const struct troupe_server *server, troupe_model model, struct server_world **ret_world)
{
	struct server_world *world = *ret_world = server_read_world_at(server, model.world);
	if (world && model.at && model.at <= world->scene->model_count &&
		server_read_is_born(world->scene, model.at - 1, model.born))
		return model.at - 1;
	*ret_world = NULL;
	return SCENE_NONE;
}

static uint32_t server_read_find_link(
	const struct troupe_server *server, troupe_link link, struct server_world **ret_world)
{
	struct server_world *world = *ret_world = server_read_world_at(server, link.world);
	if (world && link.at && link.at <= world->scene->link_count &&
		world->scene->links[link.at - 1].model < world->scene->model_count &&
		server_read_is_born(world->scene, world->scene->links[link.at - 1].model, link.born))
		return link.at - 1;
	*ret_world = NULL;
	return SCENE_NONE;
}

static uint32_t server_read_find_joint(
	const struct troupe_server *server, troupe_joint joint, struct server_world **ret_world)
{
	struct server_world *world = *ret_world = server_read_world_at(server, joint.world);
	if (world && joint.at && joint.at <= world->scene->joint_count &&
		world->scene->joints[joint.at - 1].model < world->scene->model_count &&
		server_read_is_born(world->scene, world->scene->joints[joint.at - 1].model, joint.born))
		return joint.at - 1;
	*ret_world = NULL;
	return SCENE_NONE;
}

/* A model may have been created since the sensors followed the scene last. */
static struct sensor *server_read_find_sensor(
	const struct troupe_server *server, troupe_sensor sensor, struct server_world **ret_world)
{
	uint32_t model =
		server_read_find_model(server, (troupe_model){sensor.at, sensor.born, sensor.world}, ret_world);
	struct sensor *found =
		*ret_world ? sensors_find(primary_sensors((*ret_world)->primary), model, sensor.index) : NULL;
	if (!found)
		*ret_world = NULL;
	return found;
}

troupe_model troupe_find_model(const struct troupe_server *server, uint32_t world, const char *name)
{
	const struct server_world *w = server_read_world_at(server, world);
	uint32_t model = w ? scene_find_model(w->scene, name) : SCENE_NONE;
	return model == SCENE_NONE ? (troupe_model){0} : scene_info_model_handle(w->scene, world, model);
}

troupe_link troupe_find_link(const struct troupe_server *server, troupe_model model, const char *name)
{
	struct server_world *world;
	uint32_t place = server_read_find_model(server, model, &world);
	uint32_t link = world ? scene_find_link(world->scene, place, name) : SCENE_NONE;
	return link == SCENE_NONE ? (troupe_link){0} : scene_info_link_handle(world->scene, model.world, link);
}

troupe_joint troupe_find_joint(const struct troupe_server *server, troupe_model model, const char *name)
{
	struct server_world *world;
	uint32_t place = server_read_find_model(server, model, &world);
	uint32_t joint = world ? scene_find_joint(world->scene, place, name) : SCENE_NONE;
	return joint == SCENE_NONE ? (troupe_joint){0} : scene_info_joint_handle(world->scene, model.world, joint);
}

troupe_joint troupe_find_world_joint(const struct troupe_server *server, uint32_t world, const char *name)
{
	const struct server_world *w = server_read_world_at(server, world);
	for (uint32_t i = 0; w && i < w->scene->world_joints.count; i++) {
		uint32_t joint = w->scene->world_joints.at[i];
		if (!strcmp(w->scene->joints[joint].name, name) &&
			!w->scene->models[w->scene->joints[joint].model].absent)
			return scene_info_joint_handle(w->scene, world, joint);
	}
	return (troupe_joint){0};
}

troupe_sensor troupe_find_sensor(const struct troupe_server *server, troupe_model model, const char *name)
{
	struct server_world *world;
	uint32_t place = server_read_find_model(server, model, &world);
	struct sensor *sensor;
	for (uint32_t i = 0; world && (sensor = sensors_find(primary_sensors(world->primary), place, i)); i++)
		if (!strcmp(sensor->name, name) ||
			!strcmp(sensor->name + strlen(world->scene->models[place].name) + 2, name))
			return scene_info_sensor_handle(world->scene, model.world, sensor);
	return (troupe_sensor){0};
}

uint64_t troupe_server_scene_epoch(const struct troupe_server *server, uint32_t world)
{
	return world < server->world_count ? primary_scene_epoch(server->worlds[world].primary) : 0;
}

bool troupe_hold_sensor(struct troupe_server *server, troupe_sensor handle, bool on)
{
	struct server_world *world;
	struct sensor *sensor = server_read_find_sensor(server, handle, &world);
	if (!sensor || sensor->group == SENSOR_SILENT)
		return false;
	sensors_hold(world->shared.sensors, sensor, on);
	if (!on)
		clients_want_sensors(server->clients);
	return true;
}

bool troupe_get_model(const struct troupe_server *server, troupe_model model, struct troupe_model_state *ret_state)
{
	struct server_world *world;
	uint32_t place = server_read_find_model(server, model, &world);
	if (world)
		read_model(world, place, world->scene->models[place].name, ret_state);
	return world != NULL;
}

bool troupe_get_odometry(const struct troupe_server *server, troupe_model model, struct troupe_odometry *ret_odometry)
{
	struct server_world *world;
	uint32_t place = server_read_find_model(server, model, &world);
	struct troupe_odometry odometry = {.given = false};
	if (world)
		odometry = read_odometry(world, place);
	if (odometry.given)
		*ret_odometry = odometry;
	return odometry.given;
}

bool troupe_get_link(const struct troupe_server *server, troupe_link link, struct troupe_link_state *ret_state)
{
	struct server_world *world;
	uint32_t place = server_read_find_link(server, link, &world);
	if (world)
		read_link(world, place, ret_state);
	return world != NULL;
}

bool troupe_get_joint(const struct troupe_server *server, troupe_joint joint, struct troupe_joint_state *ret_state)
{
	struct server_world *world;
	uint32_t place = server_read_find_joint(server, joint, &world);
	if (world)
		read_joint(world, place, ret_state);
	return world != NULL;
}

bool troupe_get_sensor(const struct troupe_server *server, troupe_sensor sensor, struct troupe_reading *ret_reading)
{
	struct server_world *world;
	struct troupe_reading reading = server_read_reading_of(server_read_find_sensor(server, sensor, &world));
	if (reading.given)
		*ret_reading = reading;
	return reading.given;
}

/* --- many at once ------------------------------------------------------------------------------------------------- */

static const struct troupe_pose server_read_no_pose = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};
static const struct troupe_twist server_read_no_twist = {{NAN, NAN, NAN}, {NAN, NAN, NAN}};

static void server_read_give(uint32_t i, const struct troupe_pose *pose, const struct troupe_twist *twist,
	struct troupe_pose *ret_poses, struct troupe_twist *ret_twists)
{
	if (ret_poses)
		ret_poses[i] = *pose;
	if (ret_twists)
		ret_twists[i] = *twist;
}

uint32_t troupe_get_models(const struct troupe_server *server, const troupe_model *models, uint32_t count,
	struct troupe_pose *ret_poses, struct troupe_twist *ret_twists)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_model_state state = {.pose = server_read_no_pose, .twist = server_read_no_twist};
		found += troupe_get_model(server, models[i], &state);
		server_read_give(i, &state.pose, &state.twist, ret_poses, ret_twists);
	}
	return found;
}

uint32_t troupe_get_links(const struct troupe_server *server, const troupe_link *links, uint32_t count,
	struct troupe_pose *ret_poses, struct troupe_twist *ret_twists)
{
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_link_state state = {.pose = server_read_no_pose, .twist = server_read_no_twist};
		found += troupe_get_link(server, links[i], &state);
		server_read_give(i, &state.pose, &state.twist, ret_poses, ret_twists);
	}
	return found;
}

uint32_t troupe_get_joints(const struct troupe_server *server, const troupe_joint *joints, uint32_t count,
	struct troupe_joint_state *ret_states)
{
	static const struct troupe_joint_state none = {{NAN, NAN}, {NAN, NAN}, {NAN, NAN}};
	uint32_t found = 0;
	for (uint32_t i = 0; i < count; i++) {
		ret_states[i] = none;
		found += troupe_get_joint(server, joints[i], &ret_states[i]);
	}
	return found;
}
