/* Applies a force or torque to a joint. It stays the same until the next command. */
#include "builtin/parts.h"

struct apply_joint_force_config {
	struct builtin_joints joints;
	struct builtin_input input;
};

struct apply_joint_force_words {
	double force;
};

static const struct troupe_parameter apply_joint_force_parameters[] = {
	BUILTIN_TEXT("joint_name", "the joint"),
	BUILTIN_TEXT("topic", "of the force; default: /model/NAME/joint/JOINT/cmd_force"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};
static const struct troupe_words apply_joint_force_words_of[] = {
	{"force", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static bool apply_joint_force_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	struct apply_joint_force_config *config = self->config = self->host->alloc(self, sizeof *config);
	return builtin_find_joints(self, plugin, "joint_name", &config->joints) &&
	       builtin_read_input(self, plugin, NULL, &config->input) &&
	       builtin_take_joint(self, plugin, &config->joints, "cmd_force", &config->input);
}

static void apply_joint_force_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct apply_joint_force_config *config = self->config;
	(void)input;
	((struct apply_joint_force_words *)words)->force = builtin_input_of(self, &config->input, message, 0);
}

static void apply_joint_force_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct apply_joint_force_config *config = self->config;
	builtin_push(self, step, &config->joints, ((const struct apply_joint_force_words *)words)->force);
}

const struct troupe_kind builtin_apply_joint_force = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("ApplyJointForce"),
	.parameters = apply_joint_force_parameters,
	.words = apply_joint_force_words_of,
	.configure = apply_joint_force_configure,
	.command = apply_joint_force_command,
	.pre_update = apply_joint_force_pre_update,
};
