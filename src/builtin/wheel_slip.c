/* Wheels that slip: for each <wheel> the slip per force of its surface is, along the axis of its joint and across it,
 *
 *     slip1 = slip_compliance_lateral radius |spin| / normal force         m/s per N
 *     slip2 = slip_compliance_longitudinal radius |spin| / normal force
 *
 * So a wheel that pushes with the force F slips by slip_compliance_longitudinal F / normal force, as a share of the
 * speed of its rim, until friction is at its limit. Formula and parameters are those of Gazebo's WheelSlip. There
 * <fdir1> of the collision must be along the joint's axis; here the first direction of friction always is. */
#include "builtin/parts.h"

struct wheel {
	uint32_t link, joint;
	double lateral, longitudinal; /* slip times radius over normal force: m/s per N for each rad/s */
};

struct config {
	struct wheel *wheels;
	uint32_t count;
};

static const struct troupe_parameter parameters[] = {
	BUILTIN_PARTS("wheel", "link_name='LINK': slip_compliance_lateral, slip_compliance_longitudinal (default 0), "
			       "wheel_normal_force "
			       "in N and wheel_radius in m; may be given several times"),
	BUILTIN_END,
};

/* The only joint that moves the link; TROUPE_NOTHING: there is none, or several. */
static uint32_t find_spin(const struct troupe_system *self, uint32_t link)
{
	uint32_t count, first = self->host->joints(self, &count), found = TROUPE_NOTHING;
	for (uint32_t j = first; j < first + count; j++) {
		if (self->host->joint_child(self, j) != link || !self->host->joint_axes(self, j))
			continue;
		if (found != TROUPE_NOTHING)
			return TROUPE_NOTHING;
		found = j;
	}
	return found;
}

/* False: the wheel is left out. */
static bool read_wheel(struct troupe_system *self, const struct troupe_element *at, struct wheel *ret_wheel)
{
	const struct troupe_host *host = self->host;
	const char *name = host->attribute(at, "link_name");
	uint32_t link = name ? host->find_link(self, name) : TROUPE_NOTHING;
	uint32_t joint = link == TROUPE_NOTHING ? TROUPE_NOTHING : find_spin(self, link);
	double radius = host->number(self, at, "wheel_radius", 0);
	double force = host->number(self, at, "wheel_normal_force", 0);
	double lateral = host->number(self, at, "slip_compliance_lateral", 0);
	double longitudinal = host->number(self, at, "slip_compliance_longitudinal", 0);
	if (!name)
		host->warn(self, at, "a wheel has no link_name: it is left out");
	else if (link == TROUPE_NOTHING)
		host->warn(self, at, "the model has no link '%.100s': this wheel is left out", name);
	else if (joint == TROUPE_NOTHING)
		host->warn(self, at,
			"link '%.100s' is not moved by exactly one joint with an axis: this wheel is left out", name);
	else if (!(radius > 0) || !(force > 0))
		host->warn(self, at,
			"wheel '%.100s' has wheel_radius %g and wheel_normal_force %g: expected more than 0: it is "
			"left out",
			name, radius, force);
	else if (!(lateral >= 0) || !(longitudinal >= 0))
		host->warn(self, at,
			"a slip compliance of wheel '%.100s' is below 0: expected 0 or more: it is left out", name);
	else {
		*ret_wheel = (struct wheel){link, joint, lateral * radius / force, longitudinal * radius / force};
		return true;
	}
	return false;
}

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *at;
	uint32_t most = 0;
	if (!host->must_move(self))
		return false;
	for (at = NULL; (at = host->child(plugin, "wheel", at));)
		most++;
	config->wheels = host->alloc(self, (most + 1) * sizeof *config->wheels);
	for (at = NULL; (at = host->child(plugin, "wheel", at));)
		config->count += read_wheel(self, at, &config->wheels[config->count]);
	return config->count > 0 || host->leave_out(self, plugin, "it has no <wheel> that can slip");
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	(void)words;
	for (uint32_t i = 0; i < config->count; i++) {
		const struct wheel *wheel = &config->wheels[i];
		double spin = fabs(self->host->joint_velocity(step, wheel->joint, 0, TROUPE_NOW));
		self->host->link_slip(step, wheel->link,
			self->host->joint_axis(step, wheel->joint, 0, TROUPE_NOW).direction, wheel->lateral * spin,
			wheel->longitudinal * spin);
	}
}

const struct troupe_kind builtin_wheel_slip = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("WheelSlip"),
	.parameters = parameters,
	.configure = configure,
	.pre_update = pre_update,
};
