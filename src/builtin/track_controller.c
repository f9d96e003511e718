/* A track or a conveyor: the surface of a link runs around it, by the velocity of a Double on
 * /model/M/link/L/track_cmd_vel. With a positive velocity a track moves its vehicle along +x of the link, turned by
 * <track_orientation>, and a conveyor carries along +x what lies on it. Contacts bring the other side to this velocity,
 * up to friction, whose first direction is that of the track (M. Pecka, K. Zimmermann, T. Svoboda, "Fast simulation of
 * vehicles with non-deformable tracks", IROS 2017). While a Vector3d on .../track_cmd_center_of_rotation names a point
 * of the world (of finite coordinates), friction acts along the circles around it.
 *
 * Velocities are limited in jerk, acceleration and velocity, as in Gazebo; a command that is older than
 * <max_command_age> counts as 0. With <odometry_topic> or <odometry_publish_frequency> the way of the track, which is
 * the sum of its limited velocities, is published; Gazebo does so always. In Gazebo's vehicles with tracks a positive
 * velocity is backwards; here tracks and conveyors run the same way. */
#include "builtin/parts.h"

enum track_controller_input { TRACK_CONTROLLER_INPUT_VELOCITY, INPUT_CENTRE };

struct track_controller_config {
	uint32_t link;
	bool is_static;
	struct troupe_vec3 axis; /* in the link */
	struct builtin_limits limits;
	double age_max_s;
	const struct troupe_field *velocity, *centre[3];
	bool gives_odometry;
	const struct troupe_field *way, *speed;
};

struct track_controller_words {
	double target, last, before; /* m/s */
	uint64_t fresh;              /* a command has come since the last step */
	double since_s;              /* when the last command came */
	uint64_t turns;
	double centre[3];
	double way_m[]; /* [1], with odometry */
};

static const struct troupe_words track_controller_words_of[] = {
	{"target velocity", TROUPE_WORD_DOUBLE},
	{"last velocity", TROUPE_WORD_DOUBLE},
	{"velocity before", TROUPE_WORD_DOUBLE},
	{"fresh", TROUPE_WORD_INTEGER},
	{"command since", TROUPE_WORD_DOUBLE},
	{"turns", TROUPE_WORD_INTEGER},
	{"centre x", TROUPE_WORD_DOUBLE},
	{"centre y", TROUPE_WORD_DOUBLE},
	{"centre z", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE},
};
_Static_assert(sizeof(struct track_controller_words) ==
		       (sizeof track_controller_words_of / sizeof *track_controller_words_of - 1) * 8,
	"each word has a name");

static const struct troupe_parameter track_controller_parameters[] = {
	BUILTIN_TEXT("link", "the track; needed"),
	BUILTIN_VECTOR("track_orientation", "roll, pitch and yaw in rad, of the track in the link; default 0 0 0"),
	BUILTIN_TEXT("velocity_topic", "of the Double; default: /model/NAME/link/LINK/track_cmd_vel"),
	BUILTIN_TEXT("center_of_rotation_topic",
		"of the Vector3d; default: /model/NAME/link/LINK/track_cmd_center_of_rotation"),
	BUILTIN_BETWEEN("max_command_age", 0, BUILTIN_NUMBER_MAX, "s; default: a command holds for ever"),
	BUILTIN_LIMITS("", "m"),
	BUILTIN_TEXT("odometry_topic", "default: /model/NAME/link/LINK/odometry"),
	BUILTIN_BETWEEN("odometry_publish_frequency", 0, BUILTIN_NUMBER_MAX, "Hz; default 50"),
	BUILTIN_BOOL("debug", "has no effect"),
	BUILTIN_END,
};

/* The y axis of the track, in the link: it is that of the rollers. */
static struct troupe_vec3 track_controller_axis_of(const struct troupe_host *host, struct troupe_vec3 rpy)
{
	double sr, cr, sp, cp, sy, cy;
	host->sincos(rpy.x, &sr, &cr);
	host->sincos(rpy.y, &sp, &cp);
	host->sincos(rpy.z, &sy, &cy);
	return troupe_vec3_make(cy * sp * sr - sy * cr, sy * sp * sr + cy * cr, cp * sr);
}

/* Without odometry there is no word for it, so that the state is what it was. */
static bool track_controller_give_odometry(
	struct troupe_system *self, const struct troupe_element *plugin, const char *link)
{
	const struct troupe_host *host = self->host;
	struct track_controller_config *config = self->config;
	const struct troupe_output output = {
		.type = "gz.msgs.Odometry",
		.gives = TROUPE_GIVES_REPORT,
		.rate_hz = host->number(self, plugin, "odometry_publish_frequency", 50),
	};
	config->gives_odometry = host->child(plugin, "odometry_topic", NULL) ||
				 host->child(plugin, "odometry_publish_frequency", NULL);
	if (!config->gives_odometry)
		return true;
	host->add_words(self, "way", TROUPE_WORD_DOUBLE, 1);
	config->way = host->field(self, "gz.msgs.Odometry", "pose.position.x");
	config->speed = host->field(self, "gz.msgs.Odometry", "twist.linear.x");
	const char *usual = host->print(self, "model/%s/link/%s/odometry", host->owner_name(self), link);
	return builtin_give(self, plugin, "odometry_topic", usual, &output, NULL);
}

static bool track_controller_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const of_centre[] = {"x", "y", "z"};
	const struct troupe_host *host = self->host;
	struct track_controller_config *config = self->config = host->alloc(self, sizeof *config);
	if (!builtin_find_link(self, plugin, "link", &config->link))
		return false;
	const char *link = host->text(plugin, "link", "");
	config->is_static = host->is_static(self);
	config->axis = track_controller_axis_of(
		host, host->vector(self, plugin, "track_orientation", troupe_vec3_make(0, 0, 0)));
	config->age_max_s = host->number(self, plugin, "max_command_age", HUGE_VAL);
	config->limits = builtin_unlimited();
	config->velocity = host->field(self, "gz.msgs.Double", "data");
	for (int i = 0; i < 3; i++)
		config->centre[i] = host->field(self, "gz.msgs.Vector3d", of_centre[i]);
	return builtin_read_limits(self, plugin, "", &config->limits) &&
	       builtin_take(self, plugin, "velocity_topic", host->print(self, "link/%s/track_cmd_vel", link),
		       "gz.msgs.Double", TRACK_CONTROLLER_INPUT_VELOCITY) &&
	       builtin_take(self, plugin, "center_of_rotation_topic",
		       host->print(self, "link/%s/track_cmd_center_of_rotation", link), "gz.msgs.Vector3d",
		       INPUT_CENTRE) &&
	       track_controller_give_odometry(self, plugin, link);
}

static void track_controller_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct track_controller_config *config = self->config;
	struct track_controller_words *w = words;
	w->fresh = 1;
	if (input == TRACK_CONTROLLER_INPUT_VELOCITY) {
		w->target = builtin_clamp(
			self->host->get(message, config->velocity, 0), -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
		return;
	}
	w->turns = 1;
	for (int i = 0; i < 3; i++) {
		double value = self->host->get(message, config->centre[i], 0);
		w->turns &= isfinite(value);
		w->centre[i] = builtin_clamp(value, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	}
}

static void track_controller_run(
	const struct troupe_system *self, const struct troupe_step *step, struct track_controller_words *w)
{
	const struct track_controller_config *config = self->config;
	const struct troupe_host *host = self->host;
	if (w->fresh)
		w->since_s = step->time_s;
	w->fresh = 0;
	double asked = step->time_s - w->since_s > config->age_max_s ? 0 : w->target;
	double now = builtin_limit(asked, &config->limits, w->last, w->before, step->dt);
	w->before = w->last;
	w->last = now;
	if (config->gives_odometry)
		w->way_m[0] = builtin_clamp(w->way_m[0] + now * step->dt, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	struct troupe_vec3 centre = {w->centre[0], w->centre[1], w->centre[2]};
	struct troupe_pose pose = host->link_pose(step, config->link, TROUPE_NOW);
	host->link_belt(step, config->link, troupe_quat_rotate(troupe_pose_turn(pose), config->axis), now,
		w->turns ? &centre : NULL);
}

static void track_controller_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	track_controller_run(self, step, words);
}

/* No runner has a static model. */
static void track_controller_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	if (((const struct track_controller_config *)self->config)->is_static)
		track_controller_run(self, step, words);
}

static bool track_controller_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct track_controller_config *config = self->config;
	const struct track_controller_words *w = words;
	(void)step;
	(void)output;
	self->host->put(message, config->way, w->way_m[0]);
	self->host->put(message, config->speed, w->last);
	return true;
}

const struct troupe_kind builtin_track_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("TrackController"),
	.parameters = track_controller_parameters,
	.words = track_controller_words_of,
	.configure = track_controller_configure,
	.command = track_controller_command,
	.pre_update = track_controller_pre_update,
	.update = track_controller_update,
	.report = track_controller_report,
};
