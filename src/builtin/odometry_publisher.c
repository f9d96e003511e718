/* Publishes where a model is, as perfect odometry: its pose in the world (after <xyz_offset> and <rpy_offset>), and its
 * velocity in its own axes. As in Gazebo, the velocity is that from one step to the next: the linear one is the mean of
 * the last ten steps, the angular one that of the last step. With two dimensions only x, y and the turn about z are
 * given. <gaussian_noise> is added to velocities when they are published, and its square is the variance in the message
 * with covariance; the same step has the same noise in each message. */
#include "builtin/parts.h"

enum { WINDOW = 10 };
enum odometry_output { ODOMETRY, WITH_COVARIANCE, TRANSFORM, OUTPUTS };
enum fields { POSE_X, POSE_Y, POSE_Z, TURN_X, TURN_Y, TURN_Z, TURN_W, POSE_FIELDS };
enum odometry_twist { LINEAR_X, LINEAR_Y, LINEAR_Z, ANGULAR_X, ANGULAR_Y, ANGULAR_Z, TWIST_FIELDS };

struct odometry_config {
	struct troupe_pose offset;
	bool flat; /* two dimensions */
	double noise;
	const char *frame, *child_frame;
	uint32_t output[OUTPUTS];
	const struct troupe_field *pose[OUTPUTS][POSE_FIELDS], *twist[OUTPUTS][TWIST_FIELDS];
	const struct troupe_field *pose_variance, *twist_variance;
	const struct troupe_field *poses, *frames[OUTPUTS], *key, *value; /* frames: in the header */
	const struct troupe_field *stamp_s, *stamp_ns;                    /* of a pose */
};

struct odometry_words {
	double linear[WINDOW][3]; /* of the last steps, in turn; 0 before the first ones */
	double angular[3];
	uint64_t steps; /* that were measured */
};

static const struct troupe_parameter odometry_parameters[] = {
	BUILTIN_TEXT("odom_frame", "default: NAME/odom"),
	BUILTIN_TEXT("robot_base_frame", "default: NAME/base_footprint"),
	BUILTIN_BETWEEN("odom_publish_frequency", 0, BUILTIN_NUMBER_MAX, "Hz, default 50; 0: in each step"),
	BUILTIN_TEXT("odom_topic", "default: /model/NAME/odometry"),
	BUILTIN_TEXT("odom_covariance_topic", "default: /model/NAME/odometry_with_covariance"),
	BUILTIN_TEXT("tf_topic", "default: /model/NAME/pose"),
	BUILTIN_BETWEEN("dimensions", 2, 3, "2 or 3, default 2"),
	BUILTIN_VECTOR("xyz_offset", "m, in the model's frame; default 0 0 0"),
	BUILTIN_VECTOR("rpy_offset", "rad, in the model's frame; default 0 0 0"),
	BUILTIN_BETWEEN("gaussian_noise", 0, BUILTIN_NUMBER_MAX, "m/s and rad/s, standard deviation; default 0"),
	BUILTIN_PUBLISHED,
	BUILTIN_END,
};

/* Roll about x, then pitch about y, then yaw about z, as in SDF. */
static struct troupe_quat odometry_turn_of(const struct troupe_host *host, struct troupe_vec3 rpy)
{
	struct troupe_quat x = {host->cos(rpy.x / 2), host->sin(rpy.x / 2), 0, 0};
	struct troupe_quat y = {host->cos(rpy.y / 2), 0, host->sin(rpy.y / 2), 0};
	struct troupe_quat z = {host->cos(rpy.z / 2), 0, 0, host->sin(rpy.z / 2)};
	return troupe_quat_mul(z, troupe_quat_mul(y, x));
}

static bool odometry_find(struct troupe_system *self, const char *type, const char *before, const char *const *names,
	uint32_t count, const struct troupe_field **ret_fields)
{
	for (uint32_t i = 0; i < count; i++)
		if (!(ret_fields[i] = self->host->field(self, type, self->host->print(self, "%s%s", before, names[i]))))
			return false;
	return true;
}

static bool odometry_find_fields(struct troupe_system *self, struct odometry_config *config)
{
	static const char *const pose[] = {"position.x", "position.y", "position.z", "orientation.x", "orientation.y",
		"orientation.z", "orientation.w"};
	static const char *const twist[] = {"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"};
	static const char *const type[] = {"gz.msgs.Odometry", "gz.msgs.OdometryWithCovariance"};
	const struct troupe_host *host = self->host;
	config->pose_variance = host->field(self, type[1], "pose_with_covariance.covariance.data");
	config->twist_variance = host->field(self, type[1], "twist_with_covariance.covariance.data");
	config->poses = host->field(self, "gz.msgs.Pose_V", "pose");
	config->frames[ODOMETRY] = host->field(self, type[0], "header.data");
	config->frames[WITH_COVARIANCE] = host->field(self, type[1], "header.data");
	config->frames[TRANSFORM] = host->field(self, "gz.msgs.Pose", "header.data");
	config->key = host->field(self, "gz.msgs.Header.Map", "key");
	config->value = host->field(self, "gz.msgs.Header.Map", "value");
	config->stamp_s = host->field(self, "gz.msgs.Pose", "header.stamp.sec");
	config->stamp_ns = host->field(self, "gz.msgs.Pose", "header.stamp.nsec");
	return config->key && odometry_find(self, type[0], "pose.", pose, POSE_FIELDS, config->pose[ODOMETRY]) &&
	       odometry_find(self, type[0], "twist.", twist, TWIST_FIELDS, config->twist[ODOMETRY]) &&
	       odometry_find(
		       self, type[1], "pose_with_covariance.pose.", pose, POSE_FIELDS, config->pose[WITH_COVARIANCE]) &&
	       odometry_find(self, type[1], "twist_with_covariance.twist.", twist, TWIST_FIELDS,
		       config->twist[WITH_COVARIANCE]) &&
	       odometry_find(self, "gz.msgs.Pose", "", pose, POSE_FIELDS, config->pose[TRANSFORM]);
}

static bool odometry_give(
	struct troupe_system *self, const struct troupe_element *plugin, struct odometry_config *config)
{
	static const struct {
		const char *child, *usual, *type;
	} topics[OUTPUTS] = {
		[ODOMETRY] = {"odom_topic", "odometry", "gz.msgs.Odometry"},
		[WITH_COVARIANCE] = {"odom_covariance_topic", "odometry_with_covariance",
			"gz.msgs.OdometryWithCovariance"},
		[TRANSFORM] = {"tf_topic", "pose", "gz.msgs.Pose_V"},
	};
	const struct troupe_host *host = self->host;
	struct troupe_output output = {
		.gives = TROUPE_GIVES_REPORT, .rate_hz = host->number(self, plugin, "odom_publish_frequency", 50)};
	for (int i = 0; i < OUTPUTS; i++) {
		if (!host->boolean(self, plugin, i == TRANSFORM ? "publish_tf" : "publish_odometry", true)) {
			config->output[i] = TROUPE_NOTHING;
			continue;
		}
		output.type = topics[i].type;
		output.child_frame = i == TRANSFORM ? config->child_frame : NULL;
		const char *usual = host->print(self, "model/%s/%s", host->owner_name(self), topics[i].usual);
		if (!builtin_give(self, plugin, topics[i].child, usual, &output, &config->output[i]))
			return false;
	}
	return true;
}

static void odometry_add_words(struct troupe_system *self)
{
	self->host->add_words(self, "linear velocity of the last steps", TROUPE_WORD_DOUBLE, 3 * WINDOW);
	self->host->add_words(self, "angular velocity", TROUPE_WORD_DOUBLE, 3);
	self->host->add_words(self, "steps", TROUPE_WORD_INTEGER, 1);
}

static bool odometry_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct odometry_config *config = self->config = host->alloc(self, sizeof *config);
	struct troupe_vec3 zero = troupe_vec3_make(0, 0, 0);
	double dimensions = host->number(self, plugin, "dimensions", 2);
	const char *model = host->owner_name(self);
	if (!host->must_move(self))
		return false;
	if (dimensions != floor(dimensions))
		return host->refuse(self, plugin, "<dimensions> is %g: expected 2 or 3", dimensions);
	config->flat = dimensions == 2;
	config->noise = host->number(self, plugin, "gaussian_noise", 0);
	config->offset = troupe_pose_make(host->vector(self, plugin, "xyz_offset", zero),
		odometry_turn_of(host, host->vector(self, plugin, "rpy_offset", zero)));
	config->frame = host->print(self, "%s", host->text(plugin, "odom_frame", host->print(self, "%s/odom", model)));
	config->child_frame = host->print(
		self, "%s", host->text(plugin, "robot_base_frame", host->print(self, "%s/base_footprint", model)));
	odometry_add_words(self);
	return odometry_find_fields(self, config) && odometry_give(self, plugin, config);
}

static struct troupe_pose odometry_pose_of(
	const struct troupe_system *self, const struct troupe_step *step, enum troupe_time when)
{
	return troupe_pose_mul(self->host->model_pose(step, self->model, when),
		((const struct odometry_config *)self->config)->offset);
}

/* The turn about z of a rotation, as in SDF. */
static double odometry_yaw_of(const struct troupe_host *host, struct troupe_quat q)
{
	return host->atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y * q.y + q.z * q.z));
}

/* Roll, pitch and yaw of a small rotation between two steps. */
static struct troupe_vec3 odometry_rpy_of(const struct troupe_host *host, struct troupe_quat q)
{
	double sine = 2 * (q.w * q.y - q.z * q.x);
	return troupe_vec3_make(host->atan2(2 * (q.w * q.x + q.y * q.z), 1 - 2 * (q.x * q.x + q.y * q.y)),
		host->asin(builtin_clamp(sine, -1, 1)), odometry_yaw_of(host, q));
}

static void odometry_post_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct odometry_config *config = self->config;
	struct odometry_words *w = words;
	struct troupe_pose was = odometry_pose_of(self, step, TROUPE_NOW),
			   is = odometry_pose_of(self, step, TROUPE_NEXT);
	struct troupe_quat turn = troupe_pose_turn(is), back = troupe_quat_inverse(turn);
	struct troupe_vec3 way = troupe_vec3_sub(troupe_pose_place(is), troupe_pose_place(was));
	struct troupe_vec3 rate =
		odometry_rpy_of(host, troupe_quat_mul(turn, troupe_quat_inverse(troupe_pose_turn(was))));
	struct troupe_vec3 linear = troupe_quat_rotate(back, troupe_vec3_scale(way, 1 / step->dt));
	struct troupe_vec3 angular = troupe_quat_rotate(back, troupe_vec3_scale(rate, 1 / step->dt));
	if (config->flat) {
		double sine, cosine;
		host->sincos(odometry_yaw_of(host, turn), &sine, &cosine);
		linear = troupe_vec3_scale(
			troupe_vec3_make(cosine * way.x + sine * way.y, cosine * way.y - sine * way.x, 0),
			1 / step->dt);
	}
	double *place = w->linear[w->steps % WINDOW];
	place[0] = linear.x, place[1] = linear.y, place[2] = linear.z;
	w->angular[0] = angular.x, w->angular[1] = angular.y, w->angular[2] = angular.z;
	w->steps++;
}

/* The twist that is published: linear velocities are means over the window; noise is added, which depends on the
 * step. */
static void odometry_twist_of(const struct troupe_system *self, const struct troupe_step *step,
	const struct odometry_words *w, double ret[TWIST_FIELDS])
{
	const struct odometry_config *config = self->config;
	uint64_t count = w->steps < WINDOW ? w->steps : WINDOW;
	for (int i = 0; i < 3; i++) {
		double sum = 0;
		for (uint64_t k = 0; k < count; k++)
			sum += w->linear[k][i];
		ret[LINEAR_X + i] = count ? sum / (double)count : 0;
		ret[ANGULAR_X + i] = config->flat && i < 2 ? 0 : w->angular[i];
	}
	if (config->noise > 0)
		for (uint32_t i = 0; i < TWIST_FIELDS; i++)
			ret[i] += config->noise * self->host->random_normal(self, i, troupe_random_index(step));
}

static void odometry_put_pose(const struct troupe_system *self, struct troupe_message *message,
	const struct troupe_field *const *fields, struct troupe_pose pose)
{
	const struct odometry_config *config = self->config;
	const double values[POSE_FIELDS] = {
		pose.x, pose.y, config->flat ? 0 : pose.z, pose.qx, pose.qy, pose.qz, pose.qw};
	for (int i = 0; i < POSE_FIELDS; i++)
		self->host->put(message, fields[i], values[i]);
}

static void odometry_put_frames(
	const struct troupe_system *self, struct troupe_message *message, const struct troupe_field *data)
{
	const struct odometry_config *config = self->config;
	const struct {
		const char *key, *value;
	} rows[] = {{"frame_id", config->frame}, {"child_frame_id", config->child_frame}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct troupe_message *row = self->host->put_part(message, data);
		self->host->put_text(row, config->key, rows[i].key);
		self->host->put_text(row, config->value, rows[i].value);
	}
}

/* 6 by 6, with the variance on the diagonal. */
static void odometry_put_variance(
	const struct troupe_system *self, struct troupe_message *message, const struct troupe_field *field)
{
	double noise = ((const struct odometry_config *)self->config)->noise;
	for (int row = 0; row < TWIST_FIELDS; row++)
		for (int column = 0; column < TWIST_FIELDS; column++)
			self->host->put(message, field, row == column ? noise * noise : 0);
}

static void odometry_put_stamp(
	const struct troupe_system *self, const struct troupe_step *step, struct troupe_message *pose)
{
	const struct odometry_config *config = self->config;
	double ns = floor(step->time_s * 1e9 + 0.5), s = floor(ns / 1e9);
	self->host->put(pose, config->stamp_s, s);
	self->host->put(pose, config->stamp_ns, ns - s * 1e9);
}

static bool odometry_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct odometry_config *config = self->config;
	struct troupe_pose pose = odometry_pose_of(self, step, TROUPE_NOW);
	double twist[TWIST_FIELDS];
	int kind = output == config->output[ODOMETRY]          ? ODOMETRY
		   : output == config->output[WITH_COVARIANCE] ? WITH_COVARIANCE
							       : TRANSFORM;
	if (kind == TRANSFORM) {
		message = self->host->put_part(message, config->poses);
		odometry_put_stamp(self, step, message);
	}
	odometry_put_frames(self, message, config->frames[kind]);
	odometry_put_pose(self, message, config->pose[kind], pose);
	if (kind == TRANSFORM)
		return true;
	odometry_twist_of(self, step, words, twist);
	for (int i = 0; i < TWIST_FIELDS; i++)
		self->host->put(message, config->twist[kind][i], twist[i]);
	if (kind == WITH_COVARIANCE) {
		odometry_put_variance(self, message, config->pose_variance);
		odometry_put_variance(self, message, config->twist_variance);
	}
	return true;
}

const struct troupe_kind builtin_odometry_publisher = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("OdometryPublisher"),
	.parameters = odometry_parameters,
	.configure = odometry_configure,
	.post_update = odometry_post_update,
	.report = odometry_report,
};
