/* Flies a multicopter at the velocity and the rate of yaw of a Twist in its own frame.
 *
 *     a = multicopter_limited(velocityGain (v - wanted) / mass) + gravity
 *     thrust = -mass a . up
 *     angular acceleration = -attitudeGain / I e_R - angularRateGain / I e_omega
 *
 * e_R and e_omega are the errors of attitude and rate of T. Lee, M. Leok and N. H. McClamroch, Control of Complex
 * Maneuvers for a Quadrotor UAV using Geometric Methods on SE(3) (2010): the wanted attitude has its z axis against a
 * and keeps the heading. The squares of the rotors' speeds are the shortest ones that have this thrust and torque; each
 * is at least 0. Parameters, defaults and formulas are those of Gazebo's MulticopterVelocityControl.
 *
 * The speeds are published as Actuators in each step, on /model/NAME/command/motor_speed. Each MulticopterMotorModel of
 * that model takes them from there, beside its own topic, so they need not agree on a name. */
#include "builtin/parts.h"

#include <string.h>

enum { ROTORS_MAX = 64, MULTICOPTER_ROWS = 4 };

struct rotor {
	uint32_t joint;
	double x, y; /* of the joint, in the frame of the link of the centre of mass */
	double force, moment, sign;
};

struct multicopter_config {
	uint32_t link, rotor_count, output;
	double mass;
	double inertia[3][3];
	struct rotor rotors[ROTORS_MAX];
	struct troupe_vec3 velocity_gain, attitude_gain, rate_gain; /* the last two: divided by the inertia */
	struct troupe_vec3 acceleration_max, velocity_max, rate_max;
	struct troupe_vec3 linear_mean, linear_deviation, angular_mean, angular_deviation;
	const struct troupe_field *twist[6], *enable, *speeds;
};

struct multicopter_words {
	uint64_t disabled, commanded, turning;
	double linear[3], yaw_rate;
};

static const struct troupe_words multicopter_words_of[] = {{"disabled", TROUPE_WORD_INTEGER},
	{"commanded", TROUPE_WORD_INTEGER}, {"turning", TROUPE_WORD_INTEGER}, {"linear x", TROUPE_WORD_DOUBLE},
	{"linear y", TROUPE_WORD_DOUBLE}, {"linear z", TROUPE_WORD_DOUBLE}, {"yaw rate", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_DOUBLE}};

enum multicopter_input { INPUT_TWIST, MULTICOPTER_INPUT_ENABLE };

static const struct troupe_parameter multicopter_parameters[] = {
	BUILTIN_TEXT("robotNamespace", "in the names of the topics; it must be given"),
	BUILTIN_TEXT("commandSubTopic", "of the Twist: /NAMESPACE/TOPIC; default cmd_vel"),
	BUILTIN_TEXT("enableSubTopic", "of a Boolean; false stops the rotors; default enable"),
	BUILTIN_TEXT("comLinkName", "the link that carries the centre of mass"),
	BUILTIN_VECTOR("velocityGain", "N s/m; it must be given"),
	BUILTIN_VECTOR("attitudeGain", "roll, pitch, yaw, N m/rad; it must be given"),
	BUILTIN_VECTOR("angularRateGain", "roll, pitch, yaw, N m s/rad; it must be given"),
	BUILTIN_VECTOR("maximumLinearAcceleration", "m/s2, default: no limit"),
	BUILTIN_VECTOR("maximumLinearVelocity", "of a command, m/s, default: no limit"),
	BUILTIN_VECTOR("maximumAngularVelocity", "of a command, rad/s, default: no limit"),
	BUILTIN_VECTOR("linearVelocityNoiseMean", "m/s, of the noise of the measured velocity, default 0 0 0"),
	BUILTIN_VECTOR("linearVelocityNoiseStdDev", "m/s, default 0 0 0: no noise"),
	BUILTIN_VECTOR("angularVelocityNoiseMean", "rad/s, default 0 0 0"),
	BUILTIN_VECTOR("angularVelocityNoiseStdDev", "rad/s, default 0 0 0: no noise"),
	BUILTIN_PARTS("rotorConfiguration", "a <rotor> with jointName, forceConstant (N s2/rad2), momentConstant (m), "
					    "direction (1: counter-clockwise, -1) for each rotor"),
	BUILTIN_END,
};

/* --- linear equations --------------------------------------------------------------------------------------------- */

/* Solves m x = b for x, which takes the place of b. False: the matrix is singular. */
static bool multicopter_solve(double m[MULTICOPTER_ROWS][MULTICOPTER_ROWS], double b[MULTICOPTER_ROWS], int n)
{
	for (int c = 0; c < n; c++) {
		int best = c;
		for (int r = c + 1; r < n; r++)
			if (fabs(m[r][c]) > fabs(m[best][c]))
				best = r;
		if (!(fabs(m[best][c]) > 1e-12))
			return false;
		for (int k = 0; k < n; k++) {
			double swap = m[c][k];
			m[c][k] = m[best][k];
			m[best][k] = swap;
		}
		double swap = b[c];
		b[c] = b[best];
		b[best] = swap;
		for (int r = 0; r < n; r++) {
			double part = r == c ? 0 : m[r][c] / m[c][c];
			for (int k = c; k < n; k++)
				m[r][k] -= part * m[c][k];
			b[r] -= part * b[c];
		}
	}
	for (int r = 0; r < n; r++)
		b[r] /= m[r][r];
	return true;
}

/* The effect of a rotor, to be multiplied by the square of its speed: torque about x, y, z, and thrust. tilt: the z
 * component of its axis. */
static void multicopter_effect_of(const struct rotor *rotor, double tilt, double ret_effect[MULTICOPTER_ROWS])
{
	double force = rotor->force * tilt;
	ret_effect[0] = rotor->y * force;
	ret_effect[1] = -rotor->x * force;
	ret_effect[2] = -rotor->sign * rotor->moment * force;
	ret_effect[3] = force;
}

/* The shortest list of squares of speeds with that torque and thrust. False: the rotors cannot have any torque and
 * thrust. The rows of the equations are scaled to length 1, so that their units do not matter. */
static bool multicopter_squares_of(const struct multicopter_config *config, const double tilts[ROTORS_MAX],
	const double wanted[MULTICOPTER_ROWS], double ret_squares[ROTORS_MAX])
{
	double effects[ROTORS_MAX][MULTICOPTER_ROWS],
		length[MULTICOPTER_ROWS] = {0}, m[MULTICOPTER_ROWS][MULTICOPTER_ROWS] = {{0}}, b[MULTICOPTER_ROWS];
	for (uint32_t i = 0; i < config->rotor_count; i++) {
		multicopter_effect_of(&config->rotors[i], tilts[i], effects[i]);
		for (int r = 0; r < MULTICOPTER_ROWS; r++)
			length[r] += effects[i][r] * effects[i][r];
	}
	for (int r = 0; r < MULTICOPTER_ROWS; r++) {
		length[r] = sqrt(length[r]);
		if (!(length[r] > 0))
			return false;
		b[r] = wanted[r] / length[r];
	}
	for (uint32_t i = 0; i < config->rotor_count; i++)
		for (int r = 0; r < MULTICOPTER_ROWS; r++)
			for (int c = 0; c < MULTICOPTER_ROWS; c++)
				m[r][c] += effects[i][r] / length[r] * (effects[i][c] / length[c]);
	if (!multicopter_solve(m, b, MULTICOPTER_ROWS))
		return false;
	for (uint32_t i = 0; i < config->rotor_count; i++) {
		ret_squares[i] = 0;
		for (int r = 0; r < MULTICOPTER_ROWS; r++)
			ret_squares[i] += effects[i][r] / length[r] * b[r];
	}
	return true;
}

/* --- setup -------------------------------------------------------------------------------------------------------- */

/* Adds a link's inertia, about a point of the model, in the model's axes. */
static void multicopter_add_inertia(
	double sum[3][3], struct troupe_inertia part, struct troupe_quat turn, struct troupe_vec3 arm)
{
	const double local[3][3] = {{part.diagonal.x, part.off.x, part.off.y},
		{part.off.x, part.diagonal.y, part.off.z}, {part.off.y, part.off.z, part.diagonal.z}};
	struct troupe_vec3 x = troupe_quat_rotate(turn, troupe_vec3_make(1, 0, 0));
	struct troupe_vec3 y = troupe_quat_rotate(turn, troupe_vec3_make(0, 1, 0));
	struct troupe_vec3 z = troupe_quat_rotate(turn, troupe_vec3_make(0, 0, 1));
	const double r[3][3] = {{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}, d[3] = {arm.x, arm.y, arm.z};
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			for (int k = 0; k < 3; k++)
				for (int l = 0; l < 3; l++)
					sum[i][j] += r[i][k] * local[k][l] * r[j][l];
			sum[i][j] += part.mass * ((i == j ? troupe_vec3_dot(arm, arm) : 0) - d[i] * d[j]);
		}
}

/* Mass and inertia of all links, the latter about the common centre of mass. */
static void multicopter_weigh(struct troupe_system *self, struct multicopter_config *config)
{
	const struct troupe_host *host = self->host;
	uint32_t count, first = host->links(self, &count);
	struct troupe_vec3 moment = {0, 0, 0};
	for (uint32_t i = first; i < first + count; i++) {
		struct troupe_inertia part = host->link_own_inertia(self, i);
		struct troupe_vec3 at = troupe_pose_point(host->link_in_model(self, i), part.centre);
		config->mass += part.mass;
		moment = troupe_vec3_add(moment, troupe_vec3_scale(at, part.mass));
	}
	for (uint32_t i = first; i < first + count; i++) {
		struct troupe_inertia part = host->link_own_inertia(self, i);
		struct troupe_pose pose = host->link_in_model(self, i);
		multicopter_add_inertia(config->inertia, part, troupe_pose_turn(pose),
			troupe_vec3_sub(
				troupe_pose_point(pose, part.centre), troupe_vec3_scale(moment, 1 / config->mass)));
	}
}

/* The gain, divided by the inertia, as in Gazebo. */
static bool multicopter_divide(const struct multicopter_config *config, struct troupe_vec3 *gain)
{
	double m[MULTICOPTER_ROWS][MULTICOPTER_ROWS] = {{0}}, b[MULTICOPTER_ROWS] = {gain->x, gain->y, gain->z, 0},
	       most = 0;
	for (int i = 0; i < 3; i++)
		most = fmax(most, config->inertia[i][i]);
	for (int i = 0; i < 3; i++) {
		b[i] /= most;
		for (int j = 0; j < 3; j++)
			m[i][j] = config->inertia[i][j] / most;
	}
	if (!(most > 0) || !multicopter_solve(m, b, 3))
		return false;
	*gain = troupe_vec3_make(b[0], b[1], b[2]);
	return true;
}

static bool multicopter_read_rotor(struct troupe_system *self, const struct troupe_element *element)
{
	const struct troupe_host *host = self->host;
	struct multicopter_config *config = self->config;
	static const char *const names[] = {"jointName", "forceConstant", "momentConstant", "direction"};
	if (config->rotor_count == ROTORS_MAX)
		return host->refuse(self, element, "more than %d <rotor>", ROTORS_MAX);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!host->child(element, names[i], NULL))
			return host->leave_out(self, element, "expected <%s> in the <rotor>", names[i]);
	struct rotor *rotor = &config->rotors[config->rotor_count++];
	rotor->joint = host->joint(self, element, host->text(element, "jointName", ""));
	rotor->force = host->number(self, element, "forceConstant", 0);
	rotor->moment = host->number(self, element, "momentConstant", 0);
	rotor->sign = host->number(self, element, "direction", 0);
	if (rotor->joint == TROUPE_NOTHING)
		return false;
	if (fabs(rotor->sign) != 1)
		return host->refuse(self, element, "<direction> is %g: expected 1 or -1", rotor->sign);
	struct troupe_vec3 at = troupe_pose_point(
		troupe_pose_inverse(host->link_in_model(self, config->link)), host->joint_in_model(self, rotor->joint));
	rotor->x = at.x;
	rotor->y = at.y;
	return true;
}

static bool multicopter_read_rotors(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct multicopter_config *config = self->config;
	const struct troupe_element *list = host->child(plugin, "rotorConfiguration", NULL), *rotor = NULL;
	double tilts[ROTORS_MAX], squares[ROTORS_MAX];
	const double nothing[MULTICOPTER_ROWS] = {0};
	while (list && (rotor = host->child(list, "rotor", rotor)))
		if (!multicopter_read_rotor(self, rotor))
			return false;
	for (uint32_t i = 0; i < ROTORS_MAX; i++)
		tilts[i] = 1;
	return multicopter_squares_of(config, tilts, nothing, squares) ||
	       host->leave_out(self, list ? list : plugin,
		       "the rotors cannot turn the model about each axis: expected four or more around the centre");
}

static bool multicopter_read_gains(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct multicopter_config *config = self->config;
	const double most = BUILTIN_NUMBER_MAX;
	const struct {
		const char *name;
		struct troupe_vec3 *value;
		double usual; /* NaN: it must be given */
	} vectors[] = {
		{"velocityGain", &config->velocity_gain, NAN},
		{"attitudeGain", &config->attitude_gain, NAN},
		{"angularRateGain", &config->rate_gain, NAN},
		{"maximumLinearAcceleration", &config->acceleration_max, most},
		{"maximumLinearVelocity", &config->velocity_max, most},
		{"maximumAngularVelocity", &config->rate_max, most},
		{"linearVelocityNoiseMean", &config->linear_mean, 0},
		{"linearVelocityNoiseStdDev", &config->linear_deviation, 0},
		{"angularVelocityNoiseMean", &config->angular_mean, 0},
		{"angularVelocityNoiseStdDev", &config->angular_deviation, 0},
	};
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		double usual = vectors[i].usual;
		if (isnan(usual) && !host->child(plugin, vectors[i].name, NULL))
			return host->leave_out(self, plugin, "expected <%s>", vectors[i].name);
		*vectors[i].value = host->vector(self, plugin, vectors[i].name, troupe_vec3_make(usual, usual, usual));
	}
	return true;
}

static bool multicopter_open_topics(struct troupe_system *self, const struct troupe_element *plugin)
{
	static const char *const paths[] = {"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"};
	const struct troupe_host *host = self->host;
	struct multicopter_config *config = self->config;
	const char *space = host->text(plugin, "robotNamespace", "");
	if (!*space)
		return host->leave_out(self, plugin, "expected <robotNamespace>");
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!(config->twist[i] = host->field(self, "gz.msgs.Twist", paths[i])))
			return false;
	config->enable = host->field(self, "gz.msgs.Boolean", "data");
	config->speeds = host->field(self, "gz.msgs.Actuators", "velocity");
	const struct troupe_output speeds = {
		.name = builtin_motor_topic(self), .type = "gz.msgs.Actuators", .gives = TROUPE_GIVES_PUBLISHED};
	return host->take(self, plugin,
		       host->print(self, "%s/%s", space, host->text(plugin, "commandSubTopic", "cmd_vel")),
		       "gz.msgs.Twist", INPUT_TWIST, TROUPE_NOTHING) &&
	       host->take(self, plugin,
		       host->print(self, "%s/%s", space, host->text(plugin, "enableSubTopic", "enable")),
		       "gz.msgs.Boolean", MULTICOPTER_INPUT_ENABLE, TROUPE_NOTHING) &&
	       host->give(self, plugin, &speeds, &config->output);
}

static bool multicopter_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	struct multicopter_config *config = self->config = self->host->alloc(self, sizeof *config);
	if (!self->host->must_move(self) || !builtin_find_link(self, plugin, "comLinkName", &config->link) ||
		!multicopter_read_gains(self, plugin) || !multicopter_read_rotors(self, plugin))
		return false;
	multicopter_weigh(self, config);
	if (!multicopter_divide(config, &config->attitude_gain) || !multicopter_divide(config, &config->rate_gain))
		return self->host->leave_out(self, plugin, "the model has no inertia about each axis");
	return multicopter_open_topics(self, plugin);
}

/* --- flight ------------------------------------------------------------------------------------------------------- */

static void multicopter_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct troupe_host *host = self->host;
	const struct multicopter_config *config = self->config;
	const double most[] = {config->velocity_max.x, config->velocity_max.y, config->velocity_max.z};
	struct multicopter_words *w = words;
	if (input == MULTICOPTER_INPUT_ENABLE) {
		w->disabled = host->get(message, config->enable, 0) == 0;
		if (w->disabled)
			w->commanded = 0;
		return;
	}
	for (int i = 0; i < 3; i++)
		w->linear[i] = builtin_clamp(host->get(message, config->twist[i], 0), -fabs(most[i]), fabs(most[i]));
	w->yaw_rate = builtin_clamp(
		host->get(message, config->twist[5], 0), -fabs(config->rate_max.z), fabs(config->rate_max.z));
	w->commanded = 1;
}

/* The value with the noise of a sensor; each axis has its own sequence of noise. */
static struct troupe_vec3 multicopter_measured(const struct troupe_system *self, const struct troupe_step *step,
	struct troupe_vec3 value, struct troupe_vec3 mean, struct troupe_vec3 deviation, uint32_t sequence)
{
	const struct troupe_host *host = self->host;
	double *axes[] = {&value.x, &value.y, &value.z};
	const double means[] = {mean.x, mean.y, mean.z}, deviations[] = {deviation.x, deviation.y, deviation.z};
	uint64_t index = troupe_random_index(step);
	for (uint32_t i = 0; i < 3; i++)
		if (deviations[i] > 0)
			*axes[i] += means[i] + deviations[i] * host->random_normal(self, sequence + i, index);
	return value;
}

static double multicopter_limited(double value, double most)
{
	return builtin_clamp(value, -fabs(most), fabs(most));
}

/* The acceleration that the rotors must have, with its sign changed: gravity is a part of it. */
static struct troupe_vec3 multicopter_acceleration_of(const struct troupe_system *self, struct troupe_quat turn,
	struct troupe_vec3 velocity, const struct multicopter_words *w)
{
	const struct multicopter_config *config = self->config;
	struct troupe_vec3 wanted =
		troupe_quat_rotate(turn, troupe_vec3_make(w->linear[0], w->linear[1], w->linear[2]));
	struct troupe_vec3 error = troupe_vec3_sub(velocity, wanted), gain = config->velocity_gain;
	struct troupe_vec3 most = config->acceleration_max;
	return troupe_vec3_add(troupe_vec3_make(multicopter_limited(error.x * gain.x / config->mass, most.x),
				       multicopter_limited(error.y * gain.y / config->mass, most.y),
				       multicopter_limited(error.z * gain.z / config->mass, most.z)),
		self->host->gravity(self));
}

/* The wanted rotation times a vector is: along x, y, z times its parts. */
struct multicopter_frame {
	struct troupe_vec3 x, y, z;
};

static struct multicopter_frame multicopter_axes_of(struct troupe_quat turn)
{
	return (struct multicopter_frame){troupe_quat_rotate(turn, troupe_vec3_make(1, 0, 0)),
		troupe_quat_rotate(turn, troupe_vec3_make(0, 1, 0)),
		troupe_quat_rotate(turn, troupe_vec3_make(0, 0, 1))};
}

/* The z axis against the acceleration, the x axis as near as can be to the present one. */
static struct multicopter_frame multicopter_wanted_frame(
	const struct multicopter_frame *now, struct troupe_vec3 acceleration)
{
	const struct troupe_vec3 heads[] = {now->x, now->y, now->z};
	struct multicopter_frame wanted = {.z = troupe_vec3_unit(troupe_vec3_scale(acceleration, -1))};
	struct troupe_vec3 side = {0, 0, 0};
	for (int i = 0; i < 3 && troupe_vec3_dot(side, side) < 1e-3; i++)
		side = troupe_vec3_cross(wanted.z, heads[i]);
	wanted.y = troupe_vec3_unit(side);
	wanted.x = troupe_vec3_cross(wanted.y, wanted.z);
	return wanted;
}

static struct troupe_vec3 multicopter_angular_acceleration(const struct multicopter_config *config,
	const struct multicopter_frame *now, const struct multicopter_frame *wanted, struct troupe_vec3 rate,
	double yaw)
{
	/* Half the part of wanted^T now that is antisymmetric, as a vector. */
	struct troupe_vec3 error =
		troupe_vec3_make(troupe_vec3_dot(wanted->z, now->y) - troupe_vec3_dot(wanted->y, now->z),
			troupe_vec3_dot(wanted->x, now->z) - troupe_vec3_dot(wanted->z, now->x),
			troupe_vec3_dot(wanted->y, now->x) - troupe_vec3_dot(wanted->x, now->y));
	struct troupe_vec3 off = troupe_vec3_sub(rate, troupe_vec3_scale(wanted->z, yaw));
	struct troupe_vec3 rate_error = troupe_vec3_make(
		troupe_vec3_dot(off, now->x), troupe_vec3_dot(off, now->y), troupe_vec3_dot(off, now->z));
	const struct troupe_vec3 *a = &config->attitude_gain, *r = &config->rate_gain;
	return troupe_vec3_make(-0.5 * error.x * a->x - rate_error.x * r->x,
		-0.5 * error.y * a->y - rate_error.y * r->y, -0.5 * error.z * a->z - rate_error.z * r->z);
}

/* The squares of the speeds for the command. */
static bool multicopter_control(const struct troupe_system *self, const struct troupe_step *step,
	const struct multicopter_words *w, double ret_squares[ROTORS_MAX])
{
	const struct troupe_host *host = self->host;
	const struct multicopter_config *config = self->config;
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct multicopter_frame now = multicopter_axes_of(turn);
	struct troupe_vec3 rate = troupe_quat_rotate(troupe_quat_inverse(turn), twist.angular);
	rate = multicopter_measured(self, step, rate, config->angular_mean, config->angular_deviation, 3);
	struct troupe_vec3 velocity =
		multicopter_measured(self, step, twist.linear, config->linear_mean, config->linear_deviation, 0);
	struct troupe_vec3 acceleration = multicopter_acceleration_of(self, turn, velocity, w);
	struct multicopter_frame wanted = multicopter_wanted_frame(&now, acceleration);
	struct troupe_vec3 angular =
		multicopter_angular_acceleration(config, &now, &wanted, troupe_quat_rotate(turn, rate), w->yaw_rate);
	const double parts[3] = {angular.x, angular.y, angular.z};
	double effort[MULTICOPTER_ROWS] = {0, 0, 0, -config->mass * troupe_vec3_dot(acceleration, now.z)},
	       tilts[ROTORS_MAX];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			effort[i] += config->inertia[i][j] * parts[j];
	for (uint32_t i = 0; i < config->rotor_count; i++)
		tilts[i] = troupe_vec3_dot(
			host->joint_axis(step, config->rotors[i].joint, 0, TROUPE_NOW).direction, now.z);
	return multicopter_squares_of(config, tilts, effort, ret_squares);
}

static void multicopter_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct multicopter_config *config = self->config;
	struct multicopter_words *w = words;
	double squares[ROTORS_MAX] = {0};
	bool flies = !w->disabled && w->commanded;
	if ((!flies && !(w->disabled && w->turning)) || (flies && !multicopter_control(self, step, w, squares)))
		return;
	struct troupe_message *message = host->message(step, "gz.msgs.Actuators");
	for (uint32_t i = 0; i < config->rotor_count; i++)
		host->put(message, config->speeds, sqrt(builtin_clamp(squares[i], 0, 1e18)));
	host->publish(self, step, config->output, message);
	w->turning = flies;
}

const struct troupe_kind builtin_multicopter_velocity_control = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("MulticopterVelocityControl"),
	.parameters = multicopter_parameters,
	.words = multicopter_words_of,
	.configure = multicopter_configure,
	.command = multicopter_command,
	.update = multicopter_update,
};
