/* The plug-ins of Open-RMF's buildings: libdoor.so and liblift.so in a model, or libregister_component.so there with
 * <component name="Door"> or "Lift", and then the others in the world: these have nothing to do here, as each door and
 * lift takes its own requests. */
#include "builtin/rmf_parts.h"

#include <string.h>

static const struct troupe_parameter rmf_component_door_parameters[] = {
	BUILTIN_PARTS("door", "its joints: left_joint_name and right_joint_name"),
	RMF_MOTION("door"),
	BUILTIN_END,
};

static const struct troupe_parameter rmf_component_lift_parameters[] = {
	BUILTIN_TEXT("lift_name", "default: the model's name"),
	BUILTIN_TEXT("cabin_joint_name", "its position is the elevation"),
	BUILTIN_TEXT("initial_floor", "to which it goes at the beginning"),
	BUILTIN_TEXT("reference_floor", "has no effect"),
	BUILTIN_PARTS("floor", "name, elevation, and in it <door_pair cabin_door=... shaft_door=...>"),
	RMF_MOTION("cabin"),
	BUILTIN_END,
};

static const struct troupe_parameter rmf_component_parameters[] = {
	BUILTIN_PARTS("component", "of libregister_component.so: Door, Lift or Chargers"),
	BUILTIN_END,
};

static bool rmf_component_is_of_world(const struct troupe_system *self)
{
	return self->model == TROUPE_NOTHING;
}

static bool rmf_component_configure_door(struct troupe_system *self, const struct troupe_element *plugin)
{
	return rmf_component_is_of_world(self) ||
	       (self->host->must_move(self) && rmf_door_configure(self, plugin, true));
}

static bool rmf_component_configure_lift(struct troupe_system *self, const struct troupe_element *plugin)
{
	return rmf_component_is_of_world(self) || (self->host->must_move(self) && rmf_lift_configure(self, plugin));
}

static bool rmf_component_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *at = NULL;
	if (rmf_component_is_of_world(self)) /* chargers: slotcars read <rmf_charger_waypoints> */
		return true;
	while ((at = host->child(plugin, "component", at))) {
		const char *name = host->attribute(at, "name");
		if (name && !strcmp(name, "Door"))
			return host->must_move(self) &&
			       rmf_door_configure(self, at, host->boolean(self, at, "ros_interface", false));
		if (name && !strcmp(name, "Lift"))
			return rmf_component_configure_lift(self, at);
	}
	return host->leave_out(self, plugin, "expected <component name=\"Door\"> or <component name=\"Lift\">");
}

static bool rmf_component_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct rmf_part *part = self->config;
	return !part || part->check(self, input, message, why);
}

static void rmf_component_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rmf_part *part = self->config;
	if (part)
		part->command(self, input, message, words);
}

static void rmf_component_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_part *part = self->config;
	if (part)
		part->update(self, step, words);
}

static void rmf_component_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_part *part = self->config;
	if (part)
		part->pre_update(self, step, words);
}

#define RMF_COMPONENT_KIND                                                                                             \
	.size = sizeof(struct troupe_kind),                                                                            \
	.flags = TROUPE_IN_MODEL | TROUPE_IN_WORLD | TROUPE_LENIENT | TROUPE_RESTS, .check = rmf_component_check,      \
	.command = rmf_component_command, .update = rmf_component_update, .pre_update = rmf_component_pre_update

const struct troupe_kind builtin_rmf_door = {
	RMF_COMPONENT_KIND,
	.names = (const char *const[]){"troupe::RmfDoor", "libdoor.so", NULL},
	.parameters = rmf_component_door_parameters,
	.configure = rmf_component_configure_door,
};

const struct troupe_kind builtin_rmf_lift = {
	RMF_COMPONENT_KIND,
	.names = (const char *const[]){"troupe::RmfLift", "liblift.so", NULL},
	.parameters = rmf_component_lift_parameters,
	.configure = rmf_component_configure_lift,
};

const struct troupe_kind builtin_rmf_component = {
	RMF_COMPONENT_KIND,
	.names = (const char *const[]){"troupe::RmfComponent", "libregister_component.so", NULL},
	.parameters = rmf_component_parameters,
	.configure = rmf_component_configure,
};
