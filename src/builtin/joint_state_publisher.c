/* Publishes the state of joints: of those that <joint_name> lists, or of all that the model has. */
#include "builtin/parts.h"

static const struct troupe_parameter joint_state_parameters[] = {
	BUILTIN_TEXT("joint_name", "the joints; default: all"),
	BUILTIN_TEXT("topic", "default: /world/WORLD/model/NAME/joint_state"),
	BUILTIN_BETWEEN("update_rate", 0, BUILTIN_NUMBER_MAX, "Hz, default 0: in each step (not Gazebo's)"),
	BUILTIN_END,
};

/* Names as the scene shows them: in the top-level model, "nested::joint" for one in a nested model. */
static bool joint_state_find(struct troupe_system *self, const struct troupe_element *plugin, const char **ret_only)
{
	const struct troupe_host *host = self->host;
	for (const struct troupe_element *e = host->child(plugin, "joint_name", NULL); e;
		e = host->child(plugin, "joint_name", e)) {
		uint32_t joint = host->find_joint(self, host->text_of(e), true);
		if (joint == TROUPE_NOTHING)
			return host->leave_out(self, e, "<joint_name>: there is no joint '%s' in model '%s'",
				host->text_of(e), host->owner_name(self));
		*ret_only = host->print(self, "%s%s\n", *ret_only ? *ret_only : "\n", host->joint_name(self, joint));
	}
	return true;
}

static bool joint_state_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct troupe_output output = {
		.gives = TROUPE_GIVES_JOINTS, .rate_hz = host->number(self, plugin, "update_rate", 0)};
	if (!joint_state_find(self, plugin, &output.only))
		return false;
	return builtin_give(self, plugin, "topic",
		host->print(self, "world/%s/model/%s/joint_state", host->world_name(self), host->owner_name(self)),
		&output, NULL);
}

const struct troupe_kind builtin_joint_state_publisher = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("JointStatePublisher"),
	.parameters = joint_state_parameters,
	.configure = joint_state_configure,
};
