/* Drives a vehicle on tracks, each with a TrackController, by a Twist: linear.x is forward, angular.z to the left.
 *
 *     right = linear + angular tracks_separation / (2 steering_efficiency)          m/s
 *     left  = linear - angular tracks_separation / (2 steering_efficiency)
 *
 * because tracks slide sideways in a turn, so that a vehicle turns slower than one on wheels. The tracks get their
 * velocities and the centre of the turn on their topics: the point beside <body_link> around which the vehicle turns,
 * or infinity when it goes straight. Parameters, topics and formula are those of Gazebo's TrackedVehicle, except for
 * signs (track_controller.c), odometry (its turn is that of the command, and not larger by 1 / steering_efficiency) and
 * slow commands: in Gazebo a vehicle goes straight below 0.1 rad/s, and turns about itself below 0.1 m/s. */
#include "builtin/parts.h"

#include <stdio.h>

#define RADIUS_MAX 1e8 /* m: farther away, the turn cannot be distinguished from a straight way */

enum tracked_vehicle_input { TRACKED_VEHICLE_INPUT_VELOCITY, INPUT_EFFICIENCY };
enum tracked_vehicle_side { LEFT, RIGHT, TRACKED_VEHICLE_SIDES };

struct track {
	enum tracked_vehicle_side side;
	uint32_t velocity, centre; /* outputs */
};

struct tracked_vehicle_config {
	struct track *tracks;
	uint32_t count;
	uint32_t body; /* link */
	double separation, efficiency;
	struct builtin_limits linear, angular;
	struct troupe_pose frame; /* of the body in the model */
	const struct troupe_field *ahead, *turn, *data, *place[3];
};

struct tracked_vehicle_words {
	struct builtin_speeds speeds;
	double efficiency;
	uint64_t fresh; /* a command has come since the last step */
	struct builtin_reckoned reckoned;
};

static const struct troupe_words tracked_vehicle_words_of[] = {
	BUILTIN_SPEEDS_WORDS,
	{"steering efficiency", TROUPE_WORD_DOUBLE},
	{"fresh", TROUPE_WORD_INTEGER},
	BUILTIN_RECKONED_WORDS,
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct tracked_vehicle_words) ==
		       (sizeof tracked_vehicle_words_of / sizeof *tracked_vehicle_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter tracked_vehicle_parameters[] = {
	BUILTIN_PARTS("left_track", "link, velocity_topic, center_of_rotation_topic; may be given several times"),
	BUILTIN_PARTS("right_track", "the same"),
	BUILTIN_TEXT("body_link", "turns go around its origin; default: the model's first link"),
	BUILTIN_BETWEEN("tracks_separation", 1e-6, 1e6, "m, default 1"),
	BUILTIN_BETWEEN("steering_efficiency", 1e-6, 1e6, "default 0.5"),
	BUILTIN_PARTS("linear_velocity", "min_velocity, max_velocity, min_acceleration, ... of the vehicle"),
	BUILTIN_PARTS("angular_velocity", "the same"),
	BUILTIN_TEXT("topic", "of the Twist; default: /model/NAME/cmd_vel"),
	BUILTIN_TEXT("steering_efficiency_topic", "of a Double; default: /model/NAME/steering_efficiency"),
	BUILTIN_ODOMETRY,
	BUILTIN_NUMBER("track_height", "has no effect"),
	BUILTIN_NUMBER("tracks_height", "has no effect"),
	BUILTIN_BOOL("debug", "has no effect"),
	BUILTIN_END,
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

static const struct troupe_element *tracked_vehicle_next_track(const struct troupe_host *host,
	const struct troupe_element *plugin, enum tracked_vehicle_side side, const struct troupe_element *after)
{
	return host->child(plugin, side == LEFT ? "left_track" : "right_track", after);
}

static bool tracked_vehicle_give(struct troupe_system *self, const struct troupe_element *at, const char *child,
	const char *usual, const char *type, uint32_t *ret_output)
{
	const struct troupe_host *host = self->host;
	const char *link = host->text(at, "link", "");
	const char *name = host->print(self, "/model/%s/link/%s/%s", host->owner_name(self), link, usual);
	const struct troupe_output output = {.type = type, .gives = TROUPE_GIVES_PUBLISHED};
	return builtin_give(self, at, child, name, &output, ret_output);
}

static bool tracked_vehicle_read_track(struct troupe_system *self, const struct troupe_element *at,
	enum tracked_vehicle_side side, struct track *ret_track)
{
	uint32_t link;
	ret_track->side = side;
	return builtin_find_link(self, at, "link", &link) &&
	       tracked_vehicle_give(
		       self, at, "velocity_topic", "track_cmd_vel", "gz.msgs.Double", &ret_track->velocity) &&
	       tracked_vehicle_give(self, at, "center_of_rotation_topic", "track_cmd_center_of_rotation",
		       "gz.msgs.Vector3d", &ret_track->centre);
}

static bool tracked_vehicle_read_tracks(
	struct troupe_system *self, const struct troupe_element *plugin, struct tracked_vehicle_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *at;
	uint32_t counts[TRACKED_VEHICLE_SIDES] = {0, 0};
	for (enum tracked_vehicle_side side = LEFT; side < TRACKED_VEHICLE_SIDES; side++)
		for (at = NULL; (at = tracked_vehicle_next_track(host, plugin, side, at));)
			counts[side]++;
	if (!counts[LEFT] || !counts[RIGHT])
		return host->leave_out(self, plugin, "it has no <%s>", counts[LEFT] ? "right_track" : "left_track");
	config->tracks = host->alloc(self, (counts[LEFT] + counts[RIGHT]) * sizeof *config->tracks);
	for (enum tracked_vehicle_side side = LEFT; side < TRACKED_VEHICLE_SIDES; side++)
		for (at = NULL; (at = tracked_vehicle_next_track(host, plugin, side, at));)
			if (!tracked_vehicle_read_track(self, at, side, &config->tracks[config->count++]))
				return false;
	return true;
}

static bool tracked_vehicle_read_limits(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, struct builtin_limits *ret)
{
	const struct troupe_element *at = self->host->child(plugin, name, NULL);
	*ret = builtin_unlimited();
	return !at || builtin_read_limits(self, at, "", ret);
}

static bool tracked_vehicle_find_body(
	struct troupe_system *self, const struct troupe_element *plugin, struct tracked_vehicle_config *config)
{
	config->body = self->host->frame_link(self);
	if (*self->host->text(plugin, "body_link", "") && !builtin_find_link(self, plugin, "body_link", &config->body))
		return false;
	config->frame = self->host->link_in_model(self, config->body);
	return true;
}

static bool tracked_vehicle_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const of_place[] = {"x", "y", "z"};
	const struct troupe_host *host = self->host;
	struct tracked_vehicle_config *config = self->config = host->alloc(self, sizeof *config);
	config->ahead = host->field(self, "gz.msgs.Twist", "linear.x");
	config->turn = host->field(self, "gz.msgs.Twist", "angular.z");
	config->data = host->field(self, "gz.msgs.Double", "data");
	for (int i = 0; i < 3; i++)
		config->place[i] = host->field(self, "gz.msgs.Vector3d", of_place[i]);
	config->separation = host->number(self, plugin, "tracks_separation", 1);
	config->efficiency = host->number(self, plugin, "steering_efficiency", 0.5);
	return host->must_move(self) && tracked_vehicle_read_tracks(self, plugin, config) &&
	       tracked_vehicle_find_body(self, plugin, config) &&
	       tracked_vehicle_read_limits(self, plugin, "linear_velocity", &config->linear) &&
	       tracked_vehicle_read_limits(self, plugin, "angular_velocity", &config->angular) &&
	       builtin_take(self, plugin, "topic", "cmd_vel", "gz.msgs.Twist", TRACKED_VEHICLE_INPUT_VELOCITY) &&
	       builtin_take(self, plugin, "steering_efficiency_topic", "steering_efficiency", "gz.msgs.Double",
		       INPUT_EFFICIENCY) &&
	       builtin_give_odometry(self, plugin);
}

static void tracked_vehicle_init(const struct troupe_system *self, void *words)
{
	((struct tracked_vehicle_words *)words)->efficiency =
		((const struct tracked_vehicle_config *)self->config)->efficiency;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static bool tracked_vehicle_check(const struct troupe_system *self, uint32_t input,
	const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct tracked_vehicle_config *config = self->config;
	double efficiency = input == INPUT_EFFICIENCY ? self->host->get(message, config->data, 0) : 1;
	if (efficiency >= 1e-6 && efficiency <= 1e6)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "a steering efficiency of %g: expected 1e-06 to 1e+06", efficiency);
	return false;
}

static void tracked_vehicle_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct tracked_vehicle_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct tracked_vehicle_words *w = words;
	char why[TROUPE_WHY_BYTES];
	if (!tracked_vehicle_check(self, input, message, why))
		return;
	w->fresh = 1;
	if (input == INPUT_EFFICIENCY)
		w->efficiency = host->get(message, config->data, 0);
	else
		w->speeds.target = (struct builtin_speed){builtin_clamp(host->get(message, config->ahead, 0),
								  -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX),
			builtin_clamp(
				host->get(message, config->turn, 0), -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX)};
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* The point of the world around which the vehicle turns; infinite: it goes straight. */
static struct troupe_vec3 tracked_vehicle_centre_of(
	const struct troupe_system *self, const struct troupe_step *step, const struct builtin_speed *speed)
{
	const struct tracked_vehicle_config *config = self->config;
	struct troupe_pose body = self->host->link_pose(step, config->body, TROUPE_NOW);
	double radius = speed->angular != 0 ? speed->linear / speed->angular : HUGE_VAL;
	if (!(fabs(radius) <= RADIUS_MAX))
		return troupe_vec3_make(HUGE_VAL, HUGE_VAL, HUGE_VAL);
	return troupe_pose_point(body, troupe_vec3_make(0, radius, 0));
}

static void tracked_vehicle_tell(
	const struct troupe_system *self, const struct troupe_step *step, const struct tracked_vehicle_words *w)
{
	const struct tracked_vehicle_config *config = self->config;
	const struct troupe_host *host = self->host;
	double ahead = w->speeds.last.linear;
	double turn = w->speeds.last.angular * config->separation / (2 * w->efficiency);
	struct troupe_vec3 centre = tracked_vehicle_centre_of(self, step, &w->speeds.last);
	double place[3] = {centre.x, centre.y, centre.z};
	for (uint32_t i = 0; i < config->count; i++) {
		const struct track *track = &config->tracks[i];
		struct troupe_message *velocity = host->message(step, "gz.msgs.Double");
		struct troupe_message *around = host->message(step, "gz.msgs.Vector3d");
		host->put(velocity, config->data, track->side == RIGHT ? ahead + turn : ahead - turn);
		for (int c = 0; c < 3; c++)
			host->put(around, config->place[c], place[c]);
		host->publish(self, step, track->velocity, velocity);
		host->publish(self, step, track->centre, around);
	}
}

/* Nothing is told while nothing changes; in a turn the centre may move. */
static void tracked_vehicle_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct tracked_vehicle_config *config = self->config;
	struct tracked_vehicle_words *w = words;
	struct builtin_speed last = w->speeds.last;
	struct builtin_speed now = builtin_limit_speeds(&w->speeds, &config->linear, &config->angular, step->dt);
	bool changes = w->fresh || now.linear != last.linear || now.angular != last.angular;
	w->fresh = 0;
	if (changes || now.angular != 0)
		tracked_vehicle_tell(self, step, w);
}

static void tracked_vehicle_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	struct tracked_vehicle_words *w = words;
	double ahead = w->speeds.last.linear * step->dt, turn = w->speeds.last.angular * step->dt;
	builtin_reckon(self->host, &w->reckoned, ahead, turn);
}

static void tracked_vehicle_reckon(
	const struct troupe_system *self, const void *words, struct troupe_reckoning *ret_reckoning)
{
	const struct tracked_vehicle_words *w = words;
	*ret_reckoning = (struct troupe_reckoning){((const struct tracked_vehicle_config *)self->config)->frame,
		w->reckoned.x, w->reckoned.y, w->reckoned.yaw, w->speeds.last.linear, w->speeds.last.angular};
}

const struct troupe_kind builtin_tracked_vehicle = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("TrackedVehicle"),
	.parameters = tracked_vehicle_parameters,
	.words = tracked_vehicle_words_of,
	.configure = tracked_vehicle_configure,
	.init = tracked_vehicle_init,
	.check = tracked_vehicle_check,
	.command = tracked_vehicle_command,
	.update = tracked_vehicle_update,
	.post_update = tracked_vehicle_post_update,
	.reckon = tracked_vehicle_reckon,
};
