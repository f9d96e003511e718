/* The air's forces and torques on an aircraft, from the coefficients that programs like AVL give. In axes x ahead, y
 * to the right, z down: V is the speed of <cp> relative to the air without the part along y, alpha and beta the angles
 * of attack and sideslip, q = air_density V^2 / 2, b = sqrt(area AR), c = mac (or area / b); p, q', r the rates about
 * the axes. Each coefficient has the form
 *
 *     C = C(alpha) + Cb beta + sum of C_ctrl direction joint (degrees) + Cp p b/2V + Cq q' c/2V + Cr r b/2V
 *     CL(alpha) = (1 - s) (CL0 + CLa alpha) + s 2 sign(alpha) sin^2 alpha cos alpha
 *     CD(alpha) = (1 - s) (CD0 + CL^2 / (pi AR eff)) + s CDfp sin^2 alpha,  CDfp = 2 / (1 + e^(-0.224 - 0.115 ar))
 *     s = (1 + m + n) / ((1 + m) (1 + n)),  m = e^(-15 (alpha - alpha_stall)),  n = e^(15 (alpha + alpha_stall))
 *
 * (ar: the greater of AR and 1/AR; CL in CD: without the rates.) The pitching moment goes on with Cema_stall beyond
 * alpha_stall. Lift and drag are across and along the flow, the side force along y, times q area; torques about x, y, z
 * are Cell q area b, Cem q area c, Cen q area b. Formulas, parameters and defaults are those of Gazebo's
 * AdvancedLiftDrag; at alpha = 0, where its formula divides by 0, the lift is CL0. */
#include "builtin/parts.h"

enum { SURFACES_MAX = 32 };
enum coefficient { DRAG, SIDE, LIFT, ROLL, PITCH, ADVANCED_LIFT_DRAG_YAW, COEFFICIENTS };
enum rate { OF_ROLL, OF_PITCH, OF_YAW, RATES };

#define BLEND 15.0 /* how fast the curves of stall take over, 1/rad */

struct advanced_lift_drag_surface {
	uint32_t joint;
	double direction, per_degree[COEFFICIENTS];
};

struct advanced_lift_drag_config {
	uint32_t link, surface_count;
	struct advanced_lift_drag_surface surfaces[SURFACES_MAX];
	double cl0, cd0, cem0, stall, pitch_stall;
	double per_alpha[COEFFICIENTS], per_beta[COEFFICIENTS], per_rate[RATES][COEFFICIENTS];
	double area, ratio, chord, span, efficiency, density;
	struct troupe_vec3 cp, forward, right, down, wind;
};

static const struct troupe_parameter advanced_lift_drag_parameters[] = {
	BUILTIN_TEXT("link_name", "the link on which the forces act"),
	BUILTIN_NUMBER("CL0", "lift at alpha = 0; this and all other coefficients: default 0"),
	BUILTIN_NUMBER("CD0", "drag at alpha = 0"),
	BUILTIN_NUMBER("Cem0", "pitching moment at alpha = 0"),
	BUILTIN_NUMBER("CLa", "lift per rad of alpha"),
	BUILTIN_NUMBER("CYa", "side force per rad of alpha"),
	BUILTIN_NUMBER("Cella", "rolling moment per rad of alpha"),
	BUILTIN_NUMBER("Cema", "pitching moment per rad of alpha"),
	BUILTIN_NUMBER("Cena", "yawing moment per rad of alpha"),
	BUILTIN_NUMBER("CLb", "lift per rad of sideslip"),
	BUILTIN_NUMBER("CYb", "side force per rad of sideslip"),
	BUILTIN_NUMBER("Cellb", "rolling moment per rad of sideslip"),
	BUILTIN_NUMBER("Cemb", "pitching moment per rad of sideslip"),
	BUILTIN_NUMBER("Cenb", "yawing moment per rad of sideslip"),
	BUILTIN_NUMBER("CDp", "drag per rate of roll, p b/2V"),
	BUILTIN_NUMBER("CYp", "side force per rate of roll"),
	BUILTIN_NUMBER("CLp", "lift per rate of roll"),
	BUILTIN_NUMBER("Cellp", "rolling moment per rate of roll"),
	BUILTIN_NUMBER("Cemp", "pitching moment per rate of roll"),
	BUILTIN_NUMBER("Cenp", "yawing moment per rate of roll"),
	BUILTIN_NUMBER("CDq", "drag per rate of pitch, q' c/2V"),
	BUILTIN_NUMBER("CYq", "side force per rate of pitch"),
	BUILTIN_NUMBER("CLq", "lift per rate of pitch"),
	BUILTIN_NUMBER("Cellq", "rolling moment per rate of pitch"),
	BUILTIN_NUMBER("Cemq", "pitching moment per rate of pitch"),
	BUILTIN_NUMBER("Cenq", "yawing moment per rate of pitch"),
	BUILTIN_NUMBER("CDr", "drag per rate of yaw, r b/2V"),
	BUILTIN_NUMBER("CYr", "side force per rate of yaw"),
	BUILTIN_NUMBER("CLr", "lift per rate of yaw"),
	BUILTIN_NUMBER("Cellr", "rolling moment per rate of yaw"),
	BUILTIN_NUMBER("Cemr", "pitching moment per rate of yaw"),
	BUILTIN_NUMBER("Cenr", "yawing moment per rate of yaw"),
	BUILTIN_BETWEEN("alpha_stall", 0, M_PI, "rad, default pi/2"),
	BUILTIN_NUMBER("Cema_stall", "Cema beyond alpha_stall"),
	BUILTIN_VECTOR("cp", "m, where the forces act, in the link's frame, default 0 0 0"),
	BUILTIN_BETWEEN("num_ctrl_surfaces", 0, SURFACES_MAX, "so many of the control surfaces have effect, default 0"),
	BUILTIN_PARTS("control_surface", "name of a joint, direction, CD_ctrl CY_ctrl CL_ctrl Cell_ctrl Cem_ctrl "
					 "Cen_ctrl per degree of it"),
	BUILTIN_BETWEEN("AR", 1e-3, 1e3, "aspect ratio; it must be given"),
	BUILTIN_BETWEEN("mac", 0, BUILTIN_NUMBER_MAX, "m, mean chord, default: area / b"),
	BUILTIN_BETWEEN("eff", 0, BUILTIN_NUMBER_MAX, "Oswald's efficiency, default 0: no induced drag"),
	BUILTIN_BETWEEN("air_density", 0, BUILTIN_NUMBER_MAX, "kg/m3, default 1.2041"),
	BUILTIN_BETWEEN("area", 1e-6, BUILTIN_NUMBER_MAX, "m2, default 1"),
	BUILTIN_VECTOR("forward", "in the link's frame, default 1 0 0"),
	BUILTIN_VECTOR("upward", "in the link's frame, default 0 0 1"),
	BUILTIN_BOOL("radial_symmetry", "has no effect"),
	BUILTIN_NUMBER("control_joint_rad_to_cl", "has no effect"),
	BUILTIN_NUMBER("a0", "has no effect"),
	BUILTIN_NUMBER("CLa_stall", "has no effect"),
	BUILTIN_NUMBER("CDa_stall", "has no effect"),
	BUILTIN_END,
};

static void advanced_lift_drag_read_coefficients(
	struct troupe_system *self, const struct troupe_element *at, const char *after, double ret[COEFFICIENTS])
{
	static const char *const names[COEFFICIENTS] = {"CD", "CY", "CL", "Cell", "Cem", "Cen"};
	for (int i = 0; i < COEFFICIENTS; i++)
		ret[i] = self->host->number(self, at, self->host->print(self, "%s%s", names[i], after), 0);
}

static bool advanced_lift_drag_read_surfaces(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct advanced_lift_drag_config *config = self->config;
	double count = host->number(self, plugin, "num_ctrl_surfaces", 0);
	const struct troupe_element *element = NULL;
	while (config->surface_count < count && (element = host->child(plugin, "control_surface", element))) {
		struct advanced_lift_drag_surface *surface = &config->surfaces[config->surface_count++];
		surface->joint = host->joint(self, element, host->text(element, "name", ""));
		if (surface->joint == TROUPE_NOTHING)
			return false;
		surface->direction = host->number(self, element, "direction", 1);
		advanced_lift_drag_read_coefficients(self, element, "_ctrl", surface->per_degree);
	}
	return true;
}

static bool advanced_lift_drag_read_shape(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct advanced_lift_drag_config *config = self->config;
	struct troupe_vec3 up = host->vector(self, plugin, "upward", troupe_vec3_make(0, 0, 1));
	struct troupe_vec3 forward = host->vector(self, plugin, "forward", troupe_vec3_make(1, 0, 0));
	if (!host->child(plugin, "AR", NULL))
		return host->leave_out(self, plugin, "expected <AR>");
	if (!(troupe_vec3_length(troupe_vec3_cross(up, forward)) > 0))
		return host->refuse(self, plugin, "<forward> and <upward> are parallel or 0: expected a right angle");
	config->forward = troupe_vec3_unit(forward);
	config->down = troupe_vec3_scale(troupe_vec3_unit(up), -1);
	config->right = troupe_vec3_cross(config->down, config->forward);
	config->cp = host->vector(self, plugin, "cp", troupe_vec3_make(0, 0, 0));
	config->ratio = host->number(self, plugin, "AR", 1);
	config->area = host->number(self, plugin, "area", 1);
	config->span = sqrt(config->area * config->ratio);
	config->chord = host->number(self, plugin, "mac", 0);
	if (config->chord < 1e-9)
		config->chord = config->area / config->span;
	config->efficiency = host->number(self, plugin, "eff", 0);
	config->density = host->number(self, plugin, "air_density", 1.2041);
	return true;
}

static bool advanced_lift_drag_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct advanced_lift_drag_config *config = self->config = host->alloc(self, sizeof *config);
	if (!host->must_move(self) || !builtin_find_link(self, plugin, "link_name", &config->link) ||
		!advanced_lift_drag_read_shape(self, plugin) || !advanced_lift_drag_read_surfaces(self, plugin))
		return false;
	advanced_lift_drag_read_coefficients(self, plugin, "a", config->per_alpha);
	advanced_lift_drag_read_coefficients(self, plugin, "b", config->per_beta);
	advanced_lift_drag_read_coefficients(self, plugin, "p", config->per_rate[OF_ROLL]);
	advanced_lift_drag_read_coefficients(self, plugin, "q", config->per_rate[OF_PITCH]);
	advanced_lift_drag_read_coefficients(self, plugin, "r", config->per_rate[OF_YAW]);
	config->cl0 = host->number(self, plugin, "CL0", 0);
	config->cd0 = host->number(self, plugin, "CD0", 0);
	config->cem0 = host->number(self, plugin, "Cem0", 0);
	config->stall = host->number(self, plugin, "alpha_stall", M_PI_2);
	config->pitch_stall = host->number(self, plugin, "Cema_stall", 0);
	config->wind = host->wind(self);
	return true;
}

/* The part of the curves beyond stall, 0 .. 1. */
static double advanced_lift_drag_blend(
	const struct troupe_host *host, const struct advanced_lift_drag_config *config, double alpha)
{
	double m = host->exp(-BLEND * (alpha - config->stall)), n = host->exp(BLEND * (alpha + config->stall));
	return (1 + m + n) / ((1 + m) * (1 + n));
}

static double advanced_lift_drag_pitch_of(const struct advanced_lift_drag_config *config, double alpha)
{
	double within = builtin_clamp(alpha, -config->stall, config->stall);
	return config->cem0 + config->per_alpha[PITCH] * within + config->pitch_stall * (alpha - within);
}

/* All coefficients but the part of the rates. deflected: the part of the control surfaces. */
static void advanced_lift_drag_still(const struct troupe_host *host, const struct advanced_lift_drag_config *config,
	double alpha, double beta, const double deflected[COEFFICIENTS], double ret[COEFFICIENTS])
{
	double sigma = advanced_lift_drag_blend(host, config, alpha), sine = host->sin(alpha);
	double flat = 2 * copysign(sine * sine, alpha) * host->cos(alpha);
	double slender = fmax(config->ratio, 1 / config->ratio), induced = config->ratio * config->efficiency * M_PI;
	for (int i = 0; i < COEFFICIENTS; i++)
		ret[i] = config->per_alpha[i] * alpha + config->per_beta[i] * beta + deflected[i];
	ret[LIFT] = (1 - sigma) * (config->cl0 + config->per_alpha[LIFT] * alpha) + sigma * flat +
		    config->per_beta[LIFT] * beta + deflected[LIFT];
	ret[PITCH] = advanced_lift_drag_pitch_of(config, alpha) + config->per_beta[PITCH] * beta + deflected[PITCH];
	ret[DRAG] = (1 - sigma) * (config->cd0 + (induced > 0 ? ret[LIFT] * ret[LIFT] / induced : 0)) +
		    sigma * 2 / (1 + host->exp(-0.224 - 0.115 * slender)) * sine * sine + deflected[DRAG];
}

static void advanced_lift_drag_deflect(
	const struct troupe_system *self, const struct troupe_step *step, double ret[COEFFICIENTS])
{
	const struct advanced_lift_drag_config *config = self->config;
	for (uint32_t i = 0; i < config->surface_count; i++) {
		const struct advanced_lift_drag_surface *surface = &config->surfaces[i];
		double degrees = self->host->joint_position(step, surface->joint, 0, TROUPE_NOW) * (180 / M_PI);
		for (int k = 0; k < COEFFICIENTS; k++)
			ret[k] += surface->per_degree[k] * surface->direction * degrees;
	}
}

/* In the link's axes; velocity: of cp relative to the air. */
static struct troupe_wrench advanced_lift_drag_wrench_of(const struct troupe_system *self,
	const struct troupe_step *step, struct troupe_vec3 velocity, struct troupe_vec3 angular)
{
	const struct troupe_host *host = self->host;
	const struct advanced_lift_drag_config *config = self->config;
	double ahead = troupe_vec3_dot(velocity, config->forward), side = troupe_vec3_dot(velocity, config->right);
	struct troupe_vec3 flow = troupe_vec3_sub(velocity, troupe_vec3_scale(config->right, side));
	double speed = troupe_vec3_length(flow), c[COEFFICIENTS], deflected[COEFFICIENTS] = {0};
	struct troupe_wrench none = {{0, 0, 0}, {0, 0, 0}};
	if (!(speed > 1e-9))
		return none;
	advanced_lift_drag_deflect(self, step, deflected);
	advanced_lift_drag_still(host, config, host->atan2(troupe_vec3_dot(flow, config->down), ahead),
		host->atan2(side, ahead), deflected, c);
	const double rates[RATES] = {troupe_vec3_dot(angular, config->forward) * config->span / (2 * speed),
		troupe_vec3_dot(angular, config->right) * config->chord / (2 * speed),
		troupe_vec3_dot(angular, config->down) * config->span / (2 * speed)};
	double pressure = 0.5 * config->density * speed * speed * config->area;
	for (int i = 0; i < COEFFICIENTS; i++) {
		for (int k = 0; k < RATES; k++)
			c[i] += config->per_rate[k][i] * rates[k];
		c[i] *= pressure;
	}
	struct troupe_vec3 along = troupe_vec3_scale(flow, 1 / speed), lift = troupe_vec3_cross(config->right, along);
	return (struct troupe_wrench){
		troupe_vec3_add(troupe_vec3_scale(config->right, c[SIDE]),
			troupe_vec3_sub(troupe_vec3_scale(lift, c[LIFT]), troupe_vec3_scale(along, c[DRAG]))),
		troupe_vec3_add(troupe_vec3_scale(config->forward, c[ROLL] * config->span),
			troupe_vec3_add(troupe_vec3_scale(config->right, c[PITCH] * config->chord),
				troupe_vec3_scale(config->down, c[ADVANCED_LIFT_DRAG_YAW] * config->span)))};
}

static void advanced_lift_drag_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct advanced_lift_drag_config *config = self->config;
	struct troupe_quat turn = troupe_pose_turn(host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_quat back = troupe_quat_inverse(turn);
	struct troupe_twist twist = host->link_twist(step, config->link, TROUPE_NOW);
	struct troupe_vec3 angular = troupe_quat_rotate(back, twist.angular);
	struct troupe_vec3 velocity =
		troupe_vec3_add(troupe_quat_rotate(back, troupe_vec3_sub(twist.linear, config->wind)),
			troupe_vec3_cross(angular, config->cp));
	struct troupe_wrench wrench = advanced_lift_drag_wrench_of(self, step, velocity, angular);
	(void)words;
	wrench.force = troupe_quat_rotate(turn, wrench.force);
	wrench.torque = troupe_quat_rotate(turn, wrench.torque);
	host->link_force(step, config->link, config->cp, wrench);
}

const struct troupe_kind builtin_advanced_lift_drag = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("AdvancedLiftDrag"),
	.parameters = advanced_lift_drag_parameters,
	.configure = advanced_lift_drag_configure,
	.pre_update = advanced_lift_drag_pre_update,
};
