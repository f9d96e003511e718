/* Applies a force or torque to a joint. It stays the same until the next command. */
#include "builtin/parts.h"

struct config {
	struct builtin_joints joints;
	struct builtin_input input;
};

struct words {
	double force;
};

static const struct troupe_parameter parameters[] = {
	BUILTIN_TEXT("joint_name", "the joint"),
	BUILTIN_TEXT("topic", "of the force; default: /model/NAME/joint/JOINT/cmd_force"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};
static const struct troupe_words words_of[] = {{"force", TROUPE_WORD_DOUBLE}, {NULL, TROUPE_WORD_DOUBLE}};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	struct config *config = self->config = self->host->alloc(self, sizeof *config);
	return builtin_find_joints(self, plugin, "joint_name", &config->joints) &&
	       builtin_read_input(self, plugin, NULL, &config->input) &&
	       builtin_take_joint(self, plugin, &config->joints, "cmd_force", &config->input);
}

static void command(const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct config *config = self->config;
	(void)input;
	((struct words *)words)->force = builtin_input_of(self, &config->input, message, 0);
}

static void pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct config *config = self->config;
	builtin_push(self, step, &config->joints, ((const struct words *)words)->force);
}

const struct troupe_kind builtin_apply_joint_force = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("ApplyJointForce"),
	.parameters = parameters,
	.words = words_of,
	.configure = configure,
	.command = command,
	.pre_update = pre_update,
};
