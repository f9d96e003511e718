/* Tells when a link loses more kinetic energy than a threshold within one step, as by a blow:
 * m v^2 / 2 + w I w / 2, about the centre of mass. As in Gazebo, energy that it gains is not told. Links that fixed
 * joints connect are one body, and have its energy. */
#include "builtin/parts.h"

struct kinetic_energy_words {
	double energy_j;
};

struct kinetic_energy_config {
	uint32_t link, output;
	double threshold_j;
	struct troupe_inertia inertia;
	const struct troupe_field *data;
};

static const struct troupe_parameter kinetic_energy_parameters[] = {
	BUILTIN_TEXT("link_name", "the link; <base_link_name> is the same; one of them is needed"),
	BUILTIN_TEXT("base_link_name", "the link"),
	BUILTIN_BETWEEN("kinetic_energy_threshold", 0, BUILTIN_NUMBER_MAX, "J; default 7"),
	BUILTIN_TEXT("topic", "of the loss in J; default: /model/NAME/kinetic_energy"),
	BUILTIN_END,
};

static const struct troupe_words kinetic_energy_word_names[] = {
	{"kinetic energy", TROUPE_WORD_DOUBLE},
	{NULL, TROUPE_WORD_INTEGER},
};

static bool kinetic_energy_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct kinetic_energy_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *name = host->child(plugin, "link_name", NULL);
	const struct troupe_output output = {.type = "gz.msgs.Double", .gives = TROUPE_GIVES_PUBLISHED};
	if (!name)
		name = host->child(plugin, "base_link_name", NULL);
	if (!name)
		return host->leave_out(self, plugin, "the plugin has no <link_name>: expected the name of a link");
	if (!host->must_move(self))
		return false;
	config->link = host->link(self, name, host->text_of(name));
	if (config->link == TROUPE_NOTHING)
		return false;
	config->inertia = host->link_inertia(self, config->link);
	config->threshold_j = host->number(self, plugin, "kinetic_energy_threshold", 7);
	config->data = host->field(self, "gz.msgs.Double", "data");
	return config->data &&
	       builtin_give(self, plugin, "topic", host->print(self, "model/%s/kinetic_energy", host->owner_name(self)),
		       &output, &config->output);
}

static double kinetic_energy_of(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct kinetic_energy_config *config = self->config;
	const struct troupe_inertia *inertia = &config->inertia;
	struct troupe_vec3 v = self->host->centre_velocity(step, config->link, TROUPE_NOW);
	struct troupe_quat turn = troupe_pose_turn(self->host->link_pose(step, config->link, TROUPE_NOW));
	struct troupe_vec3 w = troupe_quat_rotate(
		troupe_quat_inverse(turn), self->host->link_twist(step, config->link, TROUPE_NOW).angular);
	double turning = inertia->diagonal.x * w.x * w.x + inertia->diagonal.y * w.y * w.y +
			 inertia->diagonal.z * w.z * w.z +
			 2 * (inertia->off.x * w.x * w.y + inertia->off.y * w.x * w.z + inertia->off.z * w.y * w.z);
	return (inertia->mass * troupe_vec3_dot(v, v) + turning) / 2;
}

static void kinetic_energy_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct kinetic_energy_config *config = self->config;
	struct kinetic_energy_words *w = words;
	double energy = kinetic_energy_of(self, step), lost = w->energy_j - energy;
	w->energy_j = energy;
	if (!(lost > config->threshold_j))
		return;
	struct troupe_message *message = host->message(step, "gz.msgs.Double");
	host->put(message, config->data, lost);
	host->publish(self, step, config->output, message);
}

const struct troupe_kind builtin_kinetic_energy_monitor = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("KineticEnergyMonitor"),
	.parameters = kinetic_energy_parameters,
	.words = kinetic_energy_word_names,
	.configure = kinetic_energy_configure,
	.update = kinetic_energy_update,
};
