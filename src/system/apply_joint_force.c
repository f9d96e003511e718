/* Applies a force or torque to a joint. It stays the same until the next command. */
#include "system/builtin.h"

#include "topic/convert.h"

struct force_words {
	double force;
};

enum { FORCE_WORDS = 1 };
_Static_assert(sizeof(struct force_words) == FORCE_WORDS * 8, "words without padding");

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct builtin_joints *joints = system->config = arena_new(arena, struct builtin_joints);
	system->words = FORCE_WORDS;
	troupe_status status = builtin_find_joints(system, plugin, "joint_name", arena, joints, error);
	if (!status)
		status = builtin_add_joint_topic(
			system, plugin, joints->first_name, "cmd_force", &(struct builtin_input){0}, arena, error);
	return status;
}

static void command(const struct system *system, uint32_t tag, const ProtobufCMessage *message, uint64_t *words)
{
	(void)system, (void)tag;
	((struct force_words *)(void *)words)->force = ((const Gz__Msgs__Double *)message)->data;
}

static void pre_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	builtin_push(system->config, ((const struct force_words *)(const void *)words)->force, step->control);
}

const struct system_ops apply_joint_force_ops = {
	.names = BUILTIN_NAMES("ApplyJointForce"),
	.configure = configure,
	.command = command,
	.pre_update = pre_update,
};
