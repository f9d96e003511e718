/* Lift and drag of a wing, a fin or a blade, at its centre of pressure <cp>.
 *
 * The velocity of that point relative to the air, without its part across the lift-drag plane (which `forward` and
 * `upward` span), has speed v and the angle of attack alpha. With q = air_density v^2 / 2:
 *
 *     lift = (cla alpha + control_joint_rad_to_cl joint) q area, at a right angle to the velocity
 *     drag = |cda alpha| q area, against the velocity
 *
 *     moment = (cma alpha + cm_delta joint) q area, about forward x upward
 *
 * Beyond alpha_stall the curves go on with cla_stall, cda_stall and cma_stall; neither lift nor moment changes its sign
 * there. All but the parts of the joint are multiplied by 1 - sin^2 of the sweep, the angle between the velocity and
 * the plane. Formulas, parameters and defaults are those of Gazebo's LiftDrag, after J. D. Anderson, Fundamentals of
 * Aerodynamics. As there, nothing acts below 0.01 m/s, or when the flow comes from behind. */
#include "builtin/parts.h"

struct slope { /* a coefficient over the angle of attack */
	double per_rad, beyond;
};

struct lift_drag_config {
	uint32_t link, joint; /* joint: of the control surface; TROUPE_NOTHING: none */
	struct slope lift, drag, moment;
	double a0, stall, area, density, joint_to_lift, joint_to_moment;
	bool radial;
	struct troupe_vec3 cp, forward, upward, wind;
};

static const struct troupe_parameter lift_drag_parameters[] = {
	BUILTIN_TEXT("link_name", "the link on which the forces act"),
	BUILTIN_TEXT("control_joint_name", "its position adds lift"),
	BUILTIN_NUMBER("control_joint_rad_to_cl", "coefficient of lift per rad of that joint, default 4"),
	BUILTIN_NUMBER("a0", "rad, angle of attack at zero pitch, default 0"),
	BUILTIN_NUMBER("cla", "coefficient of lift per rad, default 1"),
	BUILTIN_NUMBER("cda", "coefficient of drag per rad, default 0.01"),
	BUILTIN_NUMBER("cma", "m, coefficient of moment per rad, default 0"),
	BUILTIN_NUMBER("cm_delta", "m, coefficient of moment per rad of the control joint, default 0"),
	BUILTIN_BETWEEN("alpha_stall", 0, BUILTIN_NUMBER_MAX, "rad, default pi/2"),
	BUILTIN_NUMBER("cla_stall", "cla beyond alpha_stall, default 0"),
	BUILTIN_NUMBER("cda_stall", "cda beyond alpha_stall, default 1"),
	BUILTIN_NUMBER("cma_stall", "cma beyond alpha_stall, default 0"),
	BUILTIN_VECTOR("cp", "m, the centre of pressure in the link's frame, default 0 0 0"),
	BUILTIN_BOOL("radial_symmetry", "upward follows the flow; default false"),
	BUILTIN_VECTOR("forward", "in the link's frame, default 1 0 0"),
	BUILTIN_VECTOR("upward", "in the link's frame, default 0 0 1"),
	BUILTIN_BETWEEN("area", 0, BUILTIN_NUMBER_MAX, "m2, default 1"),
	BUILTIN_BETWEEN("air_density", 0, BUILTIN_NUMBER_MAX, "kg/m3, default 1.2041"),
	BUILTIN_END,
};

static void lift_drag_read_numbers(
	struct troupe_system *self, const struct troupe_element *plugin, struct lift_drag_config *config)
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
		{"cma", &config->moment.per_rad, 0},
		{"cma_stall", &config->moment.beyond, 0},
		{"cm_delta", &config->joint_to_moment, 0},
		{"alpha_stall", &config->stall, M_PI_2},
		{"area", &config->area, 1},
		{"air_density", &config->density, 1.2041},
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		*numbers[i].value = self->host->number(self, plugin, numbers[i].name, numbers[i].usual);
}

static bool lift_drag_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct lift_drag_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *joint = host->child(plugin, "control_joint_name", NULL);
	config->joint = TROUPE_NOTHING;
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link))
		return false;
	if (joint && (config->joint = host->joint(self, joint, host->text_of(joint))) == TROUPE_NOTHING)
		return false;
	lift_drag_read_numbers(self, plugin, config);
	config->radial = host->boolean(self, plugin, "radial_symmetry", false);
	config->cp = host->vector(self, plugin, "cp", troupe_vec3_make(0, 0, 0));
	config->forward = troupe_vec3_unit(host->vector(self, plugin, "forward", troupe_vec3_make(1, 0, 0)));
	config->upward = troupe_vec3_unit(host->vector(self, plugin, "upward", troupe_vec3_make(0, 0, 1)));
	config->wind = host->wind(self);
	return true;
}

/* The coefficient at this angle of attack. */
static double lift_drag_at_angle(const struct slope *slope, double alpha, double stall)
{
	if (alpha > stall)
		return slope->per_rad * stall + slope->beyond * (alpha - stall);
	if (alpha < -stall)
		return -slope->per_rad * stall + slope->beyond * (alpha + stall);
	return slope->per_rad * alpha;
}

/* The same, where the sign stays that of the angle beyond the stall. */
static double lift_drag_signed_at_angle(const struct slope *slope, double alpha, double stall)
{
	double value = lift_drag_at_angle(slope, alpha, stall);
	if (alpha > stall)
		return fmax(value, 0);
	return alpha < -stall ? fmin(value, 0) : value;
}

/* The angle from the forward direction to the flow, positive when the flow comes from below, within +-90 degrees. */
static double lift_drag_angle_of_attack(const struct troupe_host *host, const struct lift_drag_config *config,
	struct troupe_vec3 up, struct troupe_vec3 forward, struct troupe_vec3 lift)
{
	double angle = host->acos(builtin_clamp(troupe_vec3_dot(lift, up), -1, 1));
	double alpha = config->a0 + (troupe_vec3_dot(lift, forward) >= 0 ? angle : -angle);
	alpha -= M_PI * floor(alpha / M_PI + 0.5);
	return alpha;
}

/* Force and torque that a velocity causes, in the world's axes. */
static struct troupe_wrench lift_drag_wrench_of(const struct troupe_system *self, const struct troupe_step *step,
	struct troupe_vec3 forward, struct troupe_vec3 up, struct troupe_vec3 velocity)
{
	const struct troupe_host *host = self->host;
	const struct lift_drag_config *config = self->config;
	struct troupe_vec3 along = troupe_vec3_unit(velocity);
	struct troupe_vec3 across = troupe_vec3_unit(troupe_vec3_cross(forward, up));
	double sine = builtin_clamp(troupe_vec3_dot(across, along), -1, 1), sweep = 1 - sine * sine;
	struct troupe_vec3 flow =
		troupe_vec3_sub(velocity, troupe_vec3_scale(across, troupe_vec3_dot(velocity, across)));
	struct troupe_vec3 lift = troupe_vec3_unit(troupe_vec3_cross(across, flow));
	double alpha = lift_drag_angle_of_attack(host, config, up, forward, lift);
	double pressure = 0.5 * config->density * troupe_vec3_dot(flow, flow) * config->area;
	double cl = lift_drag_signed_at_angle(&config->lift, alpha, config->stall) * sweep;
	double cm = lift_drag_signed_at_angle(&config->moment, alpha, config->stall) * sweep;
	double cd = fabs(lift_drag_at_angle(&config->drag, alpha, config->stall) * sweep);
	if (config->joint != TROUPE_NOTHING) {
		double joint = host->joint_position(step, config->joint, 0, TROUPE_NOW);
		cl += config->joint_to_lift * joint;
		cm += config->joint_to_moment * joint;
	}
	struct troupe_vec3 drag = troupe_vec3_scale(troupe_vec3_unit(flow), cd * pressure);
	return (struct troupe_wrench){troupe_vec3_sub(troupe_vec3_scale(lift, cl * pressure), drag),
		troupe_vec3_scale(across, cm * pressure)};
}

static void lift_drag_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct lift_drag_config *config = self->config;
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_vec3 arm = troupe_quat_rotate(turn, config->cp);
	struct troupe_vec3 velocity = troupe_vec3_add(twist.linear, troupe_vec3_cross(twist.angular, arm));
	struct troupe_vec3 forward = troupe_quat_rotate(turn, config->forward);
	struct troupe_vec3 up = troupe_quat_rotate(turn, config->upward);
	(void)words;
	velocity = troupe_vec3_sub(velocity, config->wind);
	if (!(troupe_vec3_length(velocity) > 0.01) || !(troupe_vec3_dot(forward, velocity) > 0))
		return;
	if (config->radial)
		up = troupe_vec3_unit(
			troupe_vec3_cross(forward, troupe_vec3_cross(forward, troupe_vec3_unit(velocity))));
	host->link_force(step, config->link, config->cp, lift_drag_wrench_of(self, step, forward, up, velocity));
}

const struct troupe_kind builtin_lift_drag = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("LiftDrag"),
	.parameters = lift_drag_parameters,
	.configure = lift_drag_configure,
	.pre_update = lift_drag_pre_update,
};
