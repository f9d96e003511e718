/* Wheels that slip: for each <wheel> the slip per force of its surface is, along the axis of its joint and across it,
 *
 *     slip1 = slip_compliance_lateral radius |spin| / normal force         m/s per N
 *     slip2 = slip_compliance_longitudinal radius |spin| / normal force
 *
 * So a wheel that pushes with the force F slips by slip_compliance_longitudinal F / normal force, as a share of the
 * speed of its rim, until friction is at its limit. Formula and parameters are those of Gazebo's WheelSlip. There
 * <fdir1> of the collision must be along the joint's axis; here the first direction of friction always is.
 *
 * The service /world/W/wheel_slip hands its requests to each WheelSlip. One sets both compliances of one wheel or of
 * all wheels of the model. The entity is found by its name: "LINK", "MODEL::LINK" or "MODEL", also with the name of the
 * world before it.
 *
 * Words: of each wheel the compliances, lateral and longitudinal. */
#include "builtin/parts.h"

#include <stdio.h>
#include <string.h>

struct wheel_slip {
	uint32_t link, joint;
	double lateral, longitudinal; /* compliances at first */
	double per_spin;              /* radius over normal force: m/s per N for each rad/s and compliance */
};

struct wheel_slip_config {
	struct wheel_slip *wheels;
	uint32_t count;
	const char *world, *model; /* names */
	const struct troupe_field *name, *lateral, *longitudinal;
};

static const struct troupe_parameter wheel_slip_parameters[] = {
	BUILTIN_PARTS("wheel", "link_name='LINK': slip_compliance_lateral, slip_compliance_longitudinal (default 0), "
			       "wheel_normal_force "
			       "in N and wheel_radius in m; may be given several times"),
	BUILTIN_END,
};

/* The only joint that moves the link; TROUPE_NOTHING: there is none, or several. */
static uint32_t wheel_slip_find_spin(const struct troupe_system *self, uint32_t link)
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
static bool wheel_slip_read(struct troupe_system *self, const struct troupe_element *at, struct wheel_slip *ret_wheel)
{
	const struct troupe_host *host = self->host;
	const char *name = host->attribute(at, "link_name");
	uint32_t link = name ? host->find_link(self, name) : TROUPE_NOTHING;
	uint32_t joint = link == TROUPE_NOTHING ? TROUPE_NOTHING : wheel_slip_find_spin(self, link);
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
		*ret_wheel = (struct wheel_slip){link, joint, lateral, longitudinal, radius / force};
		return true;
	}
	return false;
}

static bool wheel_slip_listen_to(
	struct troupe_system *self, const struct troupe_element *plugin, struct wheel_slip_config *config)
{
	static const char type[] = "gz.msgs.WheelSlipParametersCmd";
	const struct troupe_host *host = self->host;
	config->world = host->world_name(self);
	config->model = host->owner_name(self);
	config->name = host->field(self, type, "entity.name");
	config->lateral = host->field(self, type, "slip_compliance_lateral");
	config->longitudinal = host->field(self, type, "slip_compliance_longitudinal");
	host->add_words(self, "slip compliance", TROUPE_WORD_DOUBLE, 2 * config->count);
	return host->take(
		self, plugin, host->print(self, "/world/%s/wheel_slip", config->world), type, 0, TROUPE_NOTHING);
}

static bool wheel_slip_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct wheel_slip_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *at;
	uint32_t most = 0;
	if (!host->must_move(self))
		return false;
	for (at = NULL; (at = host->child(plugin, "wheel", at));)
		most++;
	config->wheels = host->alloc(self, (most + 1) * sizeof *config->wheels);
	for (at = NULL; (at = host->child(plugin, "wheel", at));)
		config->count += wheel_slip_read(self, at, &config->wheels[config->count]);
	if (!config->count)
		return host->leave_out(self, plugin, "it has no <wheel> that can slip");
	return wheel_slip_listen_to(self, plugin, config);
}

static void wheel_slip_init(const struct troupe_system *self, void *words)
{
	const struct wheel_slip_config *config = self->config;
	double *compliance = words;
	for (uint32_t i = 0; i < config->count; i++) {
		compliance[2 * i] = config->wheels[i].lateral;
		compliance[2 * i + 1] = config->wheels[i].longitudinal;
	}
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

/* The part of the name behind "FIRST::"; the whole name if it does not begin with this. */
static const char *wheel_slip_behind(const char *name, const char *first)
{
	size_t length = strlen(first);
	return !strncmp(name, first, length) && !strncmp(name + length, "::", 2) ? name + length + 2 : name;
}

/* Whether the message is about the wheel. */
static bool wheel_slip_is_about(
	const struct troupe_system *self, const struct wheel_slip *wheel, const struct troupe_message *message)
{
	const struct wheel_slip_config *config = self->config;
	const char *name = wheel_slip_behind(self->host->get_text(message, config->name, 0), config->world);
	return !strcmp(name, config->model) ||
	       !strcmp(wheel_slip_behind(name, config->model), self->host->link_name(self, wheel->link));
}

static bool wheel_slip_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct wheel_slip_config *config = self->config;
	const struct troupe_host *host = self->host;
	double lateral = host->get(message, config->lateral, 0);
	double longitudinal = host->get(message, config->longitudinal, 0);
	const char *name = host->get_text(message, config->name, 0);
	(void)input;
	if (!(lateral >= 0 && lateral <= BUILTIN_NUMBER_MAX && longitudinal >= 0 && longitudinal <= BUILTIN_NUMBER_MAX))
		(void)snprintf(why, TROUPE_WHY_BYTES, "slip compliances %g and %g: expected numbers from 0 to %g",
			lateral, longitudinal, BUILTIN_NUMBER_MAX);
	else if (!*name)
		(void)snprintf(why, TROUPE_WHY_BYTES, "the entity has no name: expected that of a wheel or model");
	else {
		for (uint32_t i = 0; i < config->count; i++)
			if (wheel_slip_is_about(self, &config->wheels[i], message))
				return true;
		(void)snprintf(why, TROUPE_WHY_BYTES,
			"no wheel of a WheelSlip is called '%.80s': expected one as '%.50s::%.50s'", name,
			config->model, host->link_name(self, config->wheels[0].link));
	}
	return false;
}

static void wheel_slip_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct wheel_slip_config *config = self->config;
	double *compliance = words;
	char why[TROUPE_WHY_BYTES];
	if (!wheel_slip_check(self, input, message, why))
		return;
	for (uint32_t i = 0; i < config->count; i++) {
		if (!wheel_slip_is_about(self, &config->wheels[i], message))
			continue;
		compliance[2 * i] = self->host->get(message, config->lateral, 0);
		compliance[2 * i + 1] = self->host->get(message, config->longitudinal, 0);
	}
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static void wheel_slip_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct wheel_slip_config *config = self->config;
	const double *compliance = words;
	for (uint32_t i = 0; i < config->count; i++) {
		const struct wheel_slip *wheel = &config->wheels[i];
		double spin = fabs(self->host->joint_velocity(step, wheel->joint, 0, TROUPE_NOW)) * wheel->per_spin;
		self->host->link_slip(step, wheel->link,
			self->host->joint_axis(step, wheel->joint, 0, TROUPE_NOW).direction, compliance[2 * i] * spin,
			compliance[2 * i + 1] * spin);
	}
}

const struct troupe_kind builtin_wheel_slip = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("WheelSlip"),
	.parameters = wheel_slip_parameters,
	.configure = wheel_slip_configure,
	.init = wheel_slip_init,
	.check = wheel_slip_check,
	.command = wheel_slip_command,
	.pre_update = wheel_slip_pre_update,
};
