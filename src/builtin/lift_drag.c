/* Lift and drag of a wing, a fin or a blade, at its centre of pressure <cp>.
 *
 * The velocity of that point relative to the air, without its part across the lift-drag plane (which `forward` and
 * `upward` span), has speed v and the angle of attack alpha. With q = air_density v^2 / 2:
 *
 *     lift = (cla alpha + control_joint_rad_to_cl joint) q area, at a right angle to the velocity
 *     drag = |cda alpha| q area, against the velocity
 *
 * Beyond alpha_stall the curves go on with cla_stall and cda_stall; lift does not change its sign. Both are multiplied
 * by 1 - sin^2 of the sweep, the angle between the velocity and the plane. Formulas, parameters and defaults are those
 * of Gazebo's LiftDrag, after J. D. Anderson, Fundamentals of Aerodynamics. Its pitching moment is always 0, as there;
 * so is the force below 0.01 m/s. */
#include "builtin/parts.h"

struct slope { /* a coefficient over the angle of attack */
	double per_rad, beyond;
};

struct config {
	uint32_t link, joint; /* joint: of the control surface; TROUPE_NOTHING: none */
	struct slope lift, drag;
	double a0, stall, area, density, joint_to_lift;
	bool radial;
	struct troupe_vec3 cp, forward, upward, wind;
};

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("link_name", "the link on which the forces act"),
	BUILTIN_TEXT("control_joint_name", "its position adds lift"),
	BUILTIN_NUMBER("control_joint_rad_to_cl", "coefficient of lift per rad of that joint, default 4"),
	BUILTIN_NUMBER("a0", "rad, angle of attack at zero pitch, default 0"),
	BUILTIN_NUMBER("cla", "coefficient of lift per rad, default 1"),
	BUILTIN_NUMBER("cda", "coefficient of drag per rad, default 0.01"),
	BUILTIN_NUMBER("cma", "has no effect, as in Gazebo"),
	BUILTIN_BETWEEN("alpha_stall", 0, BUILTIN_NUMBER_MAX, "rad, default pi/2"),
	BUILTIN_NUMBER("cla_stall", "cla beyond alpha_stall, default 0"),
	BUILTIN_NUMBER("cda_stall", "cda beyond alpha_stall, default 1"),
	BUILTIN_NUMBER("cma_stall", "the same"),
	BUILTIN_VECTOR("cp", "m, the centre of pressure in the link's frame, default 0 0 0"),
	BUILTIN_BOOL("radial_symmetry", "upward follows the flow; default false"),
	BUILTIN_VECTOR("forward", "in the link's frame, default 1 0 0"),
	BUILTIN_VECTOR("upward", "in the link's frame, default 0 0 1"),
	BUILTIN_BETWEEN("area", 0, BUILTIN_NUMBER_MAX, "m2, default 1"),
	BUILTIN_BETWEEN("air_density", 0, BUILTIN_NUMBER_MAX, "kg/m3, default 1.2041"),
	BUILTIN_END,
};

static void read_numbers(struct troupe_system *self, const struct troupe_element *plugin, struct config *config)
{
	const struct {
		const char *name;
		double *value, usual;
	} numbers[] = {
		{"control_joint_rad_to_cl", &config->joint_to_lift, 4},
		{"a0", &config->a0, 0},
		{"cla", &config->lift.per_rad, 1},
		{"cla_stall", &config->lift.beyond, 0},
		{"cda", &config->drag.per_rad, 0.01},
		{"cda_stall", &config->drag.beyond, 1},
		{"alpha_stall", &config->stall, M_PI_2},
		{"area", &config->area, 1},
		{"air_density", &config->density, 1.2041},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = self->host->number(self, plugin, numbers[i].name, numbers[i].usual);
}

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *joint = host->child(plugin, "control_joint_name", NULL);
	config->joint = TROUPE_NOTHING;
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link))
		return false;
	if (joint && (config->joint = host->joint(self, joint, host->text_of(joint))) == TROUPE_NOTHING)
		return false;
	read_numbers(self, plugin, config);
	config->radial = host->boolean(self, plugin, "radial_symmetry", false);
	config->cp = host->vector(self, plugin, "cp", troupe_vec3_make(0, 0, 0));
	config->forward = troupe_vec3_unit(host->vector(self, plugin, "forward", troupe_vec3_make(1, 0, 0)));
	config->upward = troupe_vec3_unit(host->vector(self, plugin, "upward", troupe_vec3_make(0, 0, 1)));
	config->wind = host->wind(self);
	return true;
}

/* The coefficient at this angle of attack. */
static double at_angle(const struct slope *slope, double alpha, double stall)
{
	if (alpha > stall)
		return slope->per_rad * stall + slope->beyond * (alpha - stall);
	if (alpha < -stall)
		return -slope->per_rad * stall + slope->beyond * (alpha + stall);
	return slope->per_rad * alpha;
}

static double lift_at(const struct config *config, double alpha)
{
	double lift = at_angle(&config->lift, alpha, config->stall);
	if (alpha > config->stall)
		return fmax(lift, 0);
	return alpha < -config->stall ? fmin(lift, 0) : lift;
}

/* The angle from the forward direction to the flow, positive when the flow comes from below, within +-90 degrees. */
static double angle_of_attack(const struct troupe_host *host, const struct config *config, struct troupe_vec3 up,
	struct troupe_vec3 forward, struct troupe_vec3 lift)
{
	double angle = host->acos(builtin_clamp(troupe_vec3_dot(lift, up), -1, 1));
	double alpha = config->a0 + (troupe_vec3_dot(lift, forward) >= 0 ? angle : -angle);
	alpha -= M_PI * floor(alpha / M_PI + 0.5);
	return alpha;
}

/* Forces and torques that a velocity causes, all in the world's axes. */
static struct troupe_vec3 force_of(const struct troupe_system *self, const struct troupe_step *step,
	struct troupe_quat turn, struct troupe_vec3 velocity)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	struct troupe_vec3 along = troupe_vec3_unit(velocity), forward = troupe_quat_rotate(turn, config->forward);
	struct troupe_vec3 up = troupe_quat_rotate(turn, config->upward);
	if (config->radial)
		up = troupe_vec3_unit(troupe_vec3_cross(forward, troupe_vec3_cross(forward, along)));
	struct troupe_vec3 across = troupe_vec3_unit(troupe_vec3_cross(forward, up));
	double sine = builtin_clamp(troupe_vec3_dot(across, along), -1, 1), sweep = 1 - sine * sine;
	struct troupe_vec3 flow =
		troupe_vec3_sub(velocity, troupe_vec3_scale(across, troupe_vec3_dot(velocity, across)));
	struct troupe_vec3 lift = troupe_vec3_unit(troupe_vec3_cross(across, flow));
	double alpha = angle_of_attack(host, config, up, forward, lift);
	double pressure = 0.5 * config->density * troupe_vec3_dot(flow, flow) * config->area;
	double cl = lift_at(config, alpha) * sweep, cd = fabs(at_angle(&config->drag, alpha, config->stall) * sweep);
	if (config->joint != TROUPE_NOTHING)
		cl += config->joint_to_lift * host->joint_position(step, config->joint, 0, TROUPE_NOW);
	return troupe_vec3_sub(
		troupe_vec3_scale(lift, cl * pressure), troupe_vec3_scale(troupe_vec3_unit(flow), cd * pressure));
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct config *config = self->config;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_vec3 arm = troupe_quat_rotate(turn, config->cp);
	struct troupe_vec3 velocity = troupe_vec3_add(twist.linear, troupe_vec3_cross(twist.angular, arm));
	(void)words;
	velocity = troupe_vec3_sub(velocity, config->wind);
	if (!(troupe_vec3_length(velocity) > 0.01))
		return;
	struct troupe_wrench wrench = {force_of(self, step, turn, velocity), {0, 0, 0}};
	host->link_force(step, config->link, config->cp, wrench);
}

const struct troupe_kind builtin_lift_drag = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("LiftDrag"),
	.parameters = parameters,
	.configure = configure,
	.pre_update = pre_update,
};
