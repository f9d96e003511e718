/* A robot of Open-RMF that drives along the paths that its fleet adapter gives it: rmf_fleet_msgs/PathRequest,
 * ModeRequest and PauseRequest on /robot_path_requests, /robot_mode_requests and /robot_pause_requests, RobotState on
 * /robot_state twice a second. Its name is that of its model.
 *
 * It turns on the spot towards the next place, drives there, forwards or backwards, and stays until the place's time
 * has come; at the last place it turns as the place says. It does not start from further than 1 m off the first place
 * of a path, and stops while another model that moves is near the point ahead of it. Its speed is set, whatever its
 * wheels do. Of its battery:
 *
 *     power = m a v + inertia alpha w + friction m g v + nominal_power,  charge -= power dt / (voltage capacity 3600)
 *
 * and at rest within 0.3 m of a charger (<rmf_charger_waypoints> of the world) it gains charging_current dt / (capacity
 * 3600). Its level is that of the last place on its path, before that of the nearest charger. On /charge_state a
 * gz.msgs.Selection named _enable_drain, _enable_charge or _enable_instant_charge switches that on or off, as the panel
 * toggle_charging does.
 *
 * With ackermann steering it does not turn on the spot, stay at places or drive backwards: it steers towards the point
 * of its path that is <lookahead_distance> away, on an arc with the curvature 2 sin(angle) / distance, as tight as
 * <min_turning_radius> at most, slower the larger the angle, and stops within 1 m of the last place. */
#include "builtin/rmf_slotcar_config.h"

#include <stdio.h>
#include <string.h>

enum rmf_slotcar_pause { RMF_SLOTCAR_PAUSE_NOW, RMF_SLOTCAR_PAUSE_AT, RMF_SLOTCAR_RESUME };
enum rmf_slotcar_mode { /* as in rmf_fleet_msgs/RobotMode */
	RMF_SLOTCAR_IDLE,
	RMF_SLOTCAR_CHARGING,
	RMF_SLOTCAR_MOVING,
	RMF_SLOTCAR_PAUSED,
	RMF_SLOTCAR_WAITING,
	RMF_SLOTCAR_DOCKING = 7,
	RMF_SLOTCAR_ERROR = 8,
};

static const double rmf_slotcar_error_m = 1, rmf_slotcar_there_m = 0.02, rmf_slotcar_still_there_m = 0.04,
		    rmf_slotcar_turned_rad = 0.087266462599716474, rmf_slotcar_charger_m = 0.3,
		    rmf_slotcar_at_rest = 0.01, rmf_slotcar_g = 9.81, rmf_slotcar_end_m = 1, rmf_slotcar_slower = 0.8,
		    rmf_slotcar_half_turn_rad = 3.1415926535897931;

struct rmf_slotcar_place {
	double x, y, yaw, limit; /* limit: m/s; below 0: none */
	uint64_t hold_ns, index, level;
};

struct rmf_slotcar_words {
	uint64_t task[RMF_SLOTCAR_TASK_WORDS], levels[RMF_SLOTCAR_LEVELS_MAX][RMF_SLOTCAR_NAME_WORDS];
	uint64_t has_path, is_new, count, next, level_count, level; /* level: + 1; 0: none yet */
	uint64_t docks, mode_request, pause, checkpoint;
	uint64_t drains, charges, charges_at_once;
	uint64_t failed, is_stopped, is_backwards, waits, mode, told, sequence;
	double charge, speed, rate;    /* speed, rate: as commanded */
	double old_x, old_y, old_rate; /* velocity in the last step */
	struct rmf_slotcar_place places[RMF_SLOTCAR_PLACES_MAX];
};

static const struct troupe_parameter rmf_slotcar_parameters[] = {
	BUILTIN_TEXT("steering", "diff_drive or ackermann, default diff_drive"),
	BUILTIN_BETWEEN("nominal_drive_speed", 0, BUILTIN_NUMBER_MAX, "m/s, default 0.5"),
	BUILTIN_BETWEEN("nominal_drive_acceleration", 0, BUILTIN_NUMBER_MAX, "m/s2, default 0.05"),
	BUILTIN_BETWEEN("max_drive_acceleration", 0, BUILTIN_NUMBER_MAX, "m/s2, default 0.1"),
	BUILTIN_BETWEEN("nominal_turn_speed", 0, BUILTIN_NUMBER_MAX, "rad/s, default pi/8"),
	BUILTIN_BETWEEN("nominal_turn_acceleration", 0, BUILTIN_NUMBER_MAX, "rad/s2, default pi/10"),
	BUILTIN_BETWEEN("max_turn_acceleration", 0, BUILTIN_NUMBER_MAX, "rad/s2, default pi"),
	BUILTIN_BETWEEN("stop_distance", 0, BUILTIN_NUMBER_MAX, "m ahead, default 1"),
	BUILTIN_BETWEEN("stop_radius", 0, BUILTIN_NUMBER_MAX, "m, default 1"),
	BUILTIN_BOOL("reversible", "it may drive backwards; default true"),
	BUILTIN_BETWEEN("nominal_voltage", 1e-6, BUILTIN_NUMBER_MAX, "V, default 12"),
	BUILTIN_BETWEEN("nominal_capacity", 1e-6, BUILTIN_NUMBER_MAX, "Ah, default 24"),
	BUILTIN_BETWEEN("charging_current", 0, BUILTIN_NUMBER_MAX, "A, default 2"),
	BUILTIN_BETWEEN("mass", 0, BUILTIN_NUMBER_MAX, "of the battery's drain, kg, default 20"),
	BUILTIN_BETWEEN("inertia", 0, BUILTIN_NUMBER_MAX, "of the battery's drain, kg m2, default 10"),
	BUILTIN_BETWEEN("friction_coefficient", 0, BUILTIN_NUMBER_MAX, "default 0.3"),
	BUILTIN_BETWEEN("nominal_power", 0, BUILTIN_NUMBER_MAX, "W, default 10"),
	BUILTIN_NUMBER("tire_radius", "has no effect"),
	BUILTIN_NUMBER("base_width", "has no effect"),
	BUILTIN_NUMBER("min_turning_radius", "of ackermann, m; default 0: none"),
	BUILTIN_NUMBER("turning_right_angle_mul_offset", "has no effect"),
	BUILTIN_BETWEEN("lookahead_distance", 1e-3, BUILTIN_NUMBER_MAX, "of ackermann, m, default 8"),
	BUILTIN_BOOL("display_markers", "has no effect"),
	BUILTIN_END,
};

static void rmf_slotcar_init(const struct troupe_system *self, void *words)
{
	struct rmf_slotcar_words *w = words;
	(void)self;
	w->charge = 1;
	w->drains = w->charges = 1;
	w->pause = RMF_SLOTCAR_RESUME;
	w->mode = RMF_SLOTCAR_MOVING;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool rmf_slotcar_is_for(const struct troupe_system *self, uint32_t input, const struct troupe_message *message)
{
	const struct rmf_slotcar_config *config = self->config;
	return !strcmp(self->host->get_text(message, config->field.robot[input], 0), config->name);
}

/* The level's number among those of the path, which is added if it is new; RMF_SLOTCAR_LEVELS_MAX: there are too many.
 */
static uint64_t rmf_slotcar_level(struct rmf_slotcar_words *w, const char *name)
{
	uint64_t level = 0;
	while (level < w->level_count && strcmp((const char *)w->levels[level], name) != 0)
		level++;
	if (level == w->level_count && level < RMF_SLOTCAR_LEVELS_MAX) {
		memset(w->levels[level], 0, sizeof w->levels[level]);
		memcpy(w->levels[level], name, strlen(name));
		w->level_count++;
	}
	return level;
}

/* The reason why such a path cannot be kept; NULL: it can. */
static const char *rmf_slotcar_objection(const struct troupe_system *self, const struct troupe_message *message)
{
	const struct rmf_slotcar_fields *field = &((const struct rmf_slotcar_config *)self->config)->field;
	const struct troupe_host *host = self->host;
	struct rmf_slotcar_words levels = {.level_count = 0};
	uint32_t count = host->count(message, field->path);
	if (count > RMF_SLOTCAR_PLACES_MAX)
		return "the path has more than 128 places";
	if (strlen(host->get_text(message, field->task, 0)) >= sizeof levels.task)
		return "the task_id has more than 63 bytes";
	for (uint32_t i = 0; i < count; i++) {
		const struct troupe_message *place = host->get_part(message, field->path, i);
		const char *level = host->get_text(place, field->level, 0);
		if (strlen(level) >= sizeof *levels.levels)
			return "a level_name has more than 31 bytes";
		if (rmf_slotcar_level(&levels, level) == RMF_SLOTCAR_LEVELS_MAX)
			return "the path has more than 4 levels";
		if (!(fabs(host->get(place, field->x, 0)) < BUILTIN_NUMBER_MAX) ||
			!(fabs(host->get(place, field->y, 0)) < BUILTIN_NUMBER_MAX) ||
			!(fabs(host->get(place, field->yaw, 0)) < BUILTIN_NUMBER_MAX))
			return "a place of the path is out of range";
	}
	return NULL;
}

static bool rmf_slotcar_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const char *objection = input == RMF_SLOTCAR_PATH && rmf_slotcar_is_for(self, input, message)
					? rmf_slotcar_objection(self, message)
					: NULL;
	if (objection)
		(void)snprintf(why, TROUPE_WHY_BYTES, "%s", objection);
	return !objection;
}

static void rmf_slotcar_take_place(const struct troupe_system *self, const struct troupe_message *from,
	struct rmf_slotcar_words *w, struct rmf_slotcar_place *to)
{
	const struct rmf_slotcar_fields *field = &((const struct rmf_slotcar_config *)self->config)->field;
	const struct troupe_host *host = self->host;
	double limit = host->get(from, field->limit, 0), hold_s = host->get(from, field->t_s, 0);
	to->x = host->get(from, field->x, 0);
	to->y = host->get(from, field->y, 0);
	to->yaw = host->get(from, field->yaw, 0);
	to->limit = host->get(from, field->obeys, 0) != 0 && limit > 0 ? builtin_clamp(limit, 0, 1e4) : -1;
	to->hold_ns = (uint64_t)builtin_clamp(hold_s, 0, 1e9) * 1000000000u +
		      (uint64_t)builtin_clamp(host->get(from, field->t_ns, 0), 0, 999999999);
	to->index = (uint64_t)builtin_clamp(host->get(from, field->index, 0), 0, 9007199254740992.0);
	to->level = rmf_slotcar_level(w, host->get_text(from, field->level, 0));
}

static void rmf_slotcar_take_path(
	const struct troupe_system *self, const struct troupe_message *message, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_fields *field = &((const struct rmf_slotcar_config *)self->config)->field;
	const struct troupe_host *host = self->host;
	const char *task = host->get_text(message, field->task, 0);
	uint32_t count = host->count(message, field->path);
	if (!count || (w->has_path && !strcmp(task, (const char *)w->task)))
		return; /* a request that comes again */
	memset(w->task, 0, sizeof w->task);
	memcpy(w->task, task, strlen(task));
	w->level = w->level_count = 0;
	for (uint32_t i = 0; i < count; i++)
		rmf_slotcar_take_place(self, host->get_part(message, field->path, i), w, &w->places[i]);
	w->count = count;
	w->next = 1;
	w->level = w->places[0].level + 1;
	w->has_path = w->is_new = 1;
	w->failed = w->waits = 0;
}

static void rmf_slotcar_switch(
	const struct troupe_system *self, const struct troupe_message *message, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_fields *field = &((const struct rmf_slotcar_config *)self->config)->field;
	const char *name = self->host->get_text(message, field->switch_name, 0);
	uint64_t on = self->host->get(message, field->switch_on, 0) != 0;
	if (!strcmp(name, "_enable_drain"))
		w->drains = on;
	else if (!strcmp(name, "_enable_charge"))
		w->charges = on;
	else if (!strcmp(name, "_enable_instant_charge"))
		w->charges_at_once = on;
}

static void rmf_slotcar_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rmf_slotcar_config *config = self->config;
	const struct rmf_slotcar_fields *field = &config->field;
	const struct troupe_host *host = self->host;
	struct rmf_slotcar_words *w = words;
	if (input == RMF_SLOTCAR_CHARGE)
		rmf_slotcar_switch(self, message, w);
	if (input == RMF_SLOTCAR_CHARGE || !rmf_slotcar_is_for(self, input, message))
		return;
	if (input == RMF_SLOTCAR_PATH) {
		rmf_slotcar_take_path(self, message, w);
	} else if (input == RMF_SLOTCAR_MODE) {
		w->docks = host->get(message, field->mode, 0) == RMF_SLOTCAR_DOCKING;
		w->mode_request = (uint64_t)builtin_clamp(host->get(message, field->mode_request, 0), 0, 1e15);
	} else {
		w->pause = (uint64_t)builtin_clamp(host->get(message, field->pause, 0), 0, RMF_SLOTCAR_RESUME);
		w->checkpoint = (uint64_t)builtin_clamp(host->get(message, field->checkpoint, 0), 0, 1e15);
		w->mode_request = (uint64_t)builtin_clamp(host->get(message, field->pause_request, 0), 0, 1e15);
	}
}

/* --- driving ------------------------------------------------------------------------------------------------------ */

struct rmf_slotcar_view { /* of the robot, in a step */
	const struct troupe_system *self;
	const struct troupe_step *step;
	double x, y, heading_x, heading_y;
	double vx, vy, vz, rate;
};

static struct rmf_slotcar_view rmf_slotcar_look(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct rmf_slotcar_config *config = self->config;
	struct troupe_pose pose = self->host->model_pose(step, self->model, TROUPE_NOW);
	struct troupe_twist twist = self->host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_vec3 ahead = troupe_quat_rotate(troupe_pose_turn(pose), troupe_vec3_make(1, 0, 0));
	double length = sqrt(ahead.x * ahead.x + ahead.y * ahead.y);
	return (struct rmf_slotcar_view){self, step, pose.x, pose.y, length > 0 ? ahead.x / length : 1,
		length > 0 ? ahead.y / length : 0, twist.linear.x, twist.linear.y, twist.linear.z, twist.angular.z};
}

/* The angle from the heading, or from its opposite, to the direction. */
static double rmf_slotcar_angle(const struct rmf_slotcar_view *view, double x, double y, bool backwards)
{
	double sign = backwards ? -1 : 1, hx = sign * view->heading_x, hy = sign * view->heading_y;
	return x != 0 || y != 0 ? view->self->host->atan2(hx * y - hy * x, hx * x + hy * y) : 0;
}

static double rmf_slotcar_angle_to_yaw(const struct rmf_slotcar_view *view, double yaw)
{
	const struct troupe_host *host = view->self->host;
	return rmf_slotcar_angle(view, host->cos(yaw), host->sin(yaw), false);
}

struct rmf_slotcar_way { /* what is left */
	double distance, angle, limit;
};

/* To the place: turn first, then drive. Backwards if it shall stand there looking back to where it came from. */
static struct rmf_slotcar_way rmf_slotcar_way_to(
	const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w, const struct rmf_slotcar_place *place)
{
	const struct rmf_slotcar_config *config = view->self->config;
	const struct troupe_host *host = view->self->host;
	double dx = place->x - view->x, dy = place->y - view->y, distance = sqrt(dx * dx + dy * dy);
	bool back = config->reverses && host->cos(place->yaw) * dx + host->sin(place->yaw) * dy < 0;
	struct rmf_slotcar_way way = {.limit = place->limit};
	w->is_backwards = back;
	way.angle = distance < 1e-3 ? 0 : rmf_slotcar_angle(view, dx, dy, back);
	if (fabs(way.angle) < rmf_slotcar_turned_rad)
		way.distance = back ? -distance : distance;
	return way;
}

static bool rmf_slotcar_is_paused(const struct rmf_slotcar_words *w)
{
	return w->pause == RMF_SLOTCAR_PAUSE_NOW ||
	       (w->pause == RMF_SLOTCAR_PAUSE_AT && w->next < w->count && w->checkpoint <= w->places[w->next].index);
}

/* Where it is told to stay, it turns towards the place after that. */
static struct rmf_slotcar_way rmf_slotcar_stay(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	struct rmf_slotcar_way way = {.limit = -1};
	if (w->next + 1 < w->count)
		way.angle = rmf_slotcar_way_to(view, w, &w->places[w->next + 1]).angle;
	else
		way.angle = rmf_slotcar_angle_to_yaw(view, w->places[w->next].yaw);
	w->waits = 1;
	return way;
}

static struct rmf_slotcar_way rmf_slotcar_follow(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_place *place = &w->places[w->next];
	double dx = place->x - view->x, dy = place->y - view->y;
	double there = w->waits ? rmf_slotcar_still_there_m : rmf_slotcar_there_m;
	bool is_there = sqrt(dx * dx + dy * dy) < there;
	bool holds = view->step->time_s < (double)place->hold_ns * 1e-9;
	if (is_there && (holds || rmf_slotcar_is_paused(w)))
		return rmf_slotcar_stay(view, w);
	w->waits = 0;
	if (!is_there)
		return rmf_slotcar_way_to(view, w, place);
	w->level = place->level + 1;
	w->next++;
	if (w->next < w->count)
		return rmf_slotcar_way_to(view, w, &w->places[w->next]);
	return (struct rmf_slotcar_way){.limit = -1};
}

/* A path that does not begin where it is, is an error of its sender: it stays. */
static void rmf_slotcar_begin(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	double dx = w->places[0].x - view->x, dy = w->places[0].y - view->y;
	w->is_new = 0;
	w->failed = !config->steers && sqrt(dx * dx + dy * dy) > rmf_slotcar_error_m;
	if (w->failed)
		w->count = w->next = 0;
}

static void rmf_slotcar_turn_and_drive(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	struct rmf_slotcar_way way = {.limit = -1};
	struct rmf_motion drive = config->drive;
	if (w->next < w->count)
		way = rmf_slotcar_follow(view, w);
	else if (w->count > 1)
		way.angle = rmf_slotcar_angle_to_yaw(view, w->places[w->count - 1].yaw);
	if (w->is_stopped || w->pause == RMF_SLOTCAR_PAUSE_NOW)
		way.distance = 0;
	if (way.limit >= 0)
		drive.speed_max = way.limit;
	w->speed = rmf_speed(&drive, way.distance, w->speed, 0, view->step->dt);
	w->rate = rmf_speed(&config->turn, way.angle, w->rate, 0, view->step->dt);
}

/* Ackermann steering goes on to the next place when this one is near. */
static void rmf_slotcar_pass(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	const struct rmf_slotcar_place *place = &w->places[w->next];
	double dx = place->x - view->x, dy = place->y - view->y;
	double near = w->next + 1 == w->count ? rmf_slotcar_end_m : config->ahead;
	if (sqrt(dx * dx + dy * dy) >= near)
		return;
	w->level = place->level + 1;
	w->next++;
}

struct rmf_slotcar_arc {
	double distance, curvature, speed, speed_there; /* to the point at which it aims */
};

static struct rmf_slotcar_arc rmf_slotcar_arc(const struct rmf_slotcar_view *view, const struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	const struct rmf_slotcar_place *from = &w->places[w->next - 1], *to = &w->places[w->next];
	struct troupe_vec3 aim = troupe_vec3_make(to->x, to->y, 0), at = troupe_vec3_make(view->x, view->y, 0);
	struct troupe_vec3 left = troupe_vec3_sub(aim, at);
	bool ends = w->next + 1 == w->count && sqrt(troupe_vec3_dot(left, left)) < config->ahead;
	if (!ends)
		aim = rmf_pursued(troupe_vec3_make(from->x, from->y, 0), aim, at, config->ahead);
	left = troupe_vec3_sub(aim, at);
	struct rmf_slotcar_arc arc = {.distance = sqrt(troupe_vec3_dot(left, left)), .speed = config->drive.speed_max};
	double angle = rmf_slotcar_angle(view, left.x, left.y, false);
	bool behind = fabs(angle) > rmf_slotcar_half_turn_rad / 2; /* as tight as possible */
	if (to->limit >= 0)
		arc.speed = fmin(arc.speed, to->limit);
	arc.speed *= 1 - fmin(rmf_slotcar_slower, fabs(angle) / rmf_slotcar_half_turn_rad);
	arc.speed_there = ends ? 0 : arc.speed;
	arc.curvature = 2 * (behind ? copysign(1, angle) : view->self->host->sin(angle)) / fmax(arc.distance, 1e-3);
	if (config->radius > 0)
		arc.curvature = builtin_clamp(arc.curvature, -1 / config->radius, 1 / config->radius);
	return arc;
}

static void rmf_slotcar_steer(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	struct rmf_motion drive = config->drive;
	struct rmf_slotcar_arc arc = {0};
	double dt = view->step->dt, most = config->turn.acceleration_max * dt;
	if (w->next && w->next < w->count)
		rmf_slotcar_pass(view, w);
	if (w->next && w->next < w->count) {
		arc = rmf_slotcar_arc(view, w);
		drive.speed_max = arc.speed;
	}
	if (w->is_stopped || w->pause == RMF_SLOTCAR_PAUSE_NOW)
		arc.distance = 0;
	w->speed = rmf_speed(&drive, arc.distance, w->speed, arc.speed_there, dt);
	double rate = builtin_clamp(arc.curvature * w->speed, -config->turn.speed_max, config->turn.speed_max);
	w->rate += builtin_clamp(rate - w->rate, -most, most);
}

static void rmf_slotcar_drive(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	if (config->steers)
		rmf_slotcar_steer(view, w);
	else
		rmf_slotcar_turn_and_drive(view, w);
	view->self->host->model_drive(view->step, view->self->model,
		(struct troupe_twist){
			.linear = troupe_vec3_make(view->heading_x * w->speed, view->heading_y * w->speed, view->vz),
			.angular = troupe_vec3_make(0, 0, w->rate)});
}

/* --- battery and mode --------------------------------------------------------------------------------------------- */

static const char *rmf_slotcar_level_name(const struct rmf_slotcar_config *config, const struct rmf_slotcar_words *w)
{
	return w->level && w->level <= RMF_SLOTCAR_LEVELS_MAX ? (const char *)w->levels[w->level - 1] : config->level;
}

static bool rmf_slotcar_is_at_charger(const struct rmf_slotcar_view *view, const struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	const char *level = rmf_slotcar_level_name(config, w);
	for (uint32_t i = 0; i < config->charger_count; i++) {
		double dx = config->chargers[i].x - view->x, dy = config->chargers[i].y - view->y;
		if (dx * dx + dy * dy < rmf_slotcar_charger_m * rmf_slotcar_charger_m &&
			!strcmp(config->chargers[i].level, level))
			return true;
	}
	return false;
}

static double rmf_slotcar_power(const struct rmf_slotcar_view *view, const struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	double dt = view->step->dt, ax = (view->vx - w->old_x) / dt, ay = (view->vy - w->old_y) / dt;
	double v = fmin(sqrt(view->vx * view->vx + view->vy * view->vy), config->drive.speed_max);
	double a = fmin(sqrt(ax * ax + ay * ay), config->drive.acceleration_max);
	double rate = fmin(fabs(view->rate), config->turn.speed_max);
	double alpha = fmin(fabs(view->rate - w->old_rate) / dt, config->turn.acceleration_max);
	return config->mass * a * v + config->inertia * alpha * rate +
	       config->friction * config->mass * rmf_slotcar_g * v + config->power_W;
}

static void rmf_slotcar_use_battery(const struct rmf_slotcar_view *view, struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = view->self->config;
	double as = config->capacity_Ah * 3600, dt = view->step->dt;
	bool at_rest = sqrt(view->vx * view->vx + view->vy * view->vy) < rmf_slotcar_at_rest &&
		       fabs(view->rate) < rmf_slotcar_at_rest;
	bool at_charger = rmf_slotcar_is_at_charger(view, w);
	bool charges = at_charger && at_rest && (w->charges || w->charges_at_once);
	if (charges)
		w->charge = w->charges_at_once ? 1 : fmin(1, w->charge + config->charging_A * dt / as);
	else if (!at_charger && w->drains)
		w->charge = fmax(0, w->charge - rmf_slotcar_power(view, w) * dt / (config->voltage * as));
	w->mode = charges    ? RMF_SLOTCAR_CHARGING
		  : w->docks ? RMF_SLOTCAR_DOCKING
		  : at_rest  ? RMF_SLOTCAR_IDLE
			     : RMF_SLOTCAR_MOVING;
	w->old_x = view->vx;
	w->old_y = view->vy;
	w->old_rate = view->rate;
}

static void rmf_slotcar_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct rmf_slotcar_words *w = words;
	struct rmf_slotcar_view view = rmf_slotcar_look(self, step);
	rmf_slotcar_use_battery(&view, w);
	if (w->count > RMF_SLOTCAR_PLACES_MAX) /* a damaged state */
		w->count = 0;
	if (w->is_new)
		rmf_slotcar_begin(&view, w);
	if (w->has_path)
		rmf_slotcar_drive(&view, w);
	if (w->waits || w->pause == RMF_SLOTCAR_PAUSE_NOW)
		w->mode = RMF_SLOTCAR_PAUSED;
	else if (w->is_stopped)
		w->mode = RMF_SLOTCAR_WAITING;
	if (w->failed)
		w->mode = RMF_SLOTCAR_ERROR;
}

/* --- what is ahead, and the state --------------------------------------------------------------------------------- */

/* Doors, lifts and what is dispensed are no obstacles, as in Open-RMF's plug-in, by their names. */
static bool rmf_slotcar_is_obstacle(const struct troupe_system *self, const struct troupe_step *step, uint32_t model)
{
	const char *name = self->host->model_name(step, model);
	return name && model != self->model && self->host->model_moves(step, model) && !strstr(name, "door") &&
	       !strstr(name, "lift") && !strstr(name, "dispensable");
}

static bool rmf_slotcar_is_blocked(
	const struct troupe_system *self, const struct troupe_step *step, const struct rmf_slotcar_words *w)
{
	const struct rmf_slotcar_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct troupe_pose pose = host->model_pose(step, self->model, TROUPE_NOW);
	double ahead = w->is_backwards ? -config->stop_distance : config->stop_distance;
	struct troupe_vec3 zone = troupe_pose_point(pose, troupe_vec3_make(ahead, 0, 0));
	uint32_t count = host->models(step);
	for (uint32_t i = 0; i < count; i++) {
		if (!rmf_slotcar_is_obstacle(self, step, i))
			continue;
		struct troupe_vec3 off =
			troupe_vec3_sub(troupe_pose_place(host->model_pose(step, i, TROUPE_NOW)), zone);
		if (troupe_vec3_dot(off, off) < config->stop_radius * config->stop_radius)
			return true;
	}
	return false;
}

static void rmf_slotcar_put_place(const struct troupe_system *self, struct troupe_message *to,
	const struct rmf_slotcar_place *place, const char *level)
{
	const struct rmf_slotcar_fields *field = &((const struct rmf_slotcar_config *)self->config)->field;
	const struct troupe_host *host = self->host;
	host->put(to, field->t_s, (double)(place->hold_ns / 1000000000u));
	host->put(to, field->t_ns, (double)(place->hold_ns % 1000000000u));
	host->put(to, field->x, place->x);
	host->put(to, field->y, place->y);
	host->put(to, field->yaw, place->yaw);
	host->put(to, field->obeys, place->limit >= 0);
	host->put(to, field->limit, place->limit >= 0 ? place->limit : 0);
	host->put_text(to, field->level, level);
	host->put(to, field->index, (double)place->index);
}

static void rmf_slotcar_put_state(const struct troupe_system *self, const struct troupe_step *step,
	const struct rmf_slotcar_words *w, struct troupe_message *message)
{
	const struct rmf_slotcar_config *config = self->config;
	const struct rmf_slotcar_fields *field = &config->field;
	const struct troupe_host *host = self->host;
	struct rmf_slotcar_view view = rmf_slotcar_look(self, step);
	struct rmf_slotcar_place here = {view.x, view.y, host->atan2(view.heading_y, view.heading_x), -1,
		(uint64_t)(step->time_s * 1e9 + 0.5), 0, 0};
	host->put_text(message, field->name, config->name);
	host->put_text(message, field->state_task, (const char *)w->task);
	host->put(message, field->sequence, (double)w->sequence);
	host->put(message, field->state_mode, (double)w->mode);
	host->put(message, field->state_request, (double)w->mode_request);
	host->put(message, field->battery, ceil(100 * w->charge));
	rmf_slotcar_put_place(self, host->put_part(message, field->location), &here, rmf_slotcar_level_name(config, w));
	for (uint64_t i = w->next; i < w->count && i < RMF_SLOTCAR_PLACES_MAX; i++)
		rmf_slotcar_put_place(self, host->put_part(message, field->left), &w->places[i],
			(const char *)w->levels[w->places[i].level % RMF_SLOTCAR_LEVELS_MAX]);
}

static void rmf_slotcar_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_slotcar_config *config = self->config;
	struct rmf_slotcar_words *w = words;
	uint64_t half_second = (uint64_t)(step->time_s * 2 + 1e-6) + 1;
	w->is_stopped = w->next < w->count && rmf_slotcar_is_blocked(self, step, w);
	if (w->told == half_second)
		return;
	w->told = half_second;
	w->sequence++;
	struct troupe_message *message = self->host->message(step, "troupe.msgs.RobotState");
	rmf_slotcar_put_state(self, step, w, message);
	self->host->publish(self, step, config->output, message);
}

const struct troupe_kind builtin_rmf_slotcar = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::RmfSlotcar", "libslotcar.so", NULL},
	.parameters = rmf_slotcar_parameters,
	.configure = rmf_slotcar_config_configure,
	.init = rmf_slotcar_init,
	.check = rmf_slotcar_check,
	.command = rmf_slotcar_command,
	.update = rmf_slotcar_update,
	.pre_update = rmf_slotcar_pre_update,
};
