/* Drives joints at a velocity: directly or, with <use_force_commands>, by the force of a PID controller. It is active
 * from the first step, with the target <initial_velocity> or 0, as in Gazebo. */
#include "system/builtin.h"

#include "scene/axis.h"

struct config {
	struct builtin_joints joints;
	struct builtin_input input;
	struct builtin_pid pid;
	double initial_velocity;
	bool by_force;
};

struct velocity_words {
	double target;
	struct builtin_pid_words pid;
};

enum { VELOCITY_WORDS = 3 };
_Static_assert(sizeof(struct velocity_words) == VELOCITY_WORDS * 8, "words without padding");

static troupe_status read_parameters(
	const struct sdf_element *plugin, struct config *config, struct troupe_error *error)
{
	troupe_status status = sdf_child_double(
		plugin, "initial_velocity", -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX, &config->initial_velocity, error);
	if (!status)
		status = sdf_child_bool(plugin, "use_force_commands", &config->by_force, error);
	return status ? status : builtin_read_pid(plugin, &config->pid, error);
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct config *config = system->config = arena_new(arena, struct config);
	config->pid = (struct builtin_pid){1, 0, 0, 1, -1, 1000, -1000, 0};
	system->words = VELOCITY_WORDS;
	troupe_status status = builtin_find_joints(system, plugin, "joint_name", arena, &config->joints, error);
	if (!status)
		status = read_parameters(plugin, config, error);
	if (!status)
		status = builtin_read_input(plugin, "velocity", &config->input, error);
	if (!status)
		status = builtin_add_joint_topic(
			system, plugin, config->joints.first_name, "cmd_vel", &config->input, arena, error);
	return status;
}

static void init(const struct system *system, uint64_t *words)
{
	const struct config *config = system->config;
	((struct velocity_words *)(void *)words)->target = config->initial_velocity;
}

static troupe_status check(
	const struct system *system, uint32_t tag, const ProtobufCMessage *message, struct troupe_error *error)
{
	const struct config *config = system->config;
	(void)tag;
	return builtin_check_input(&config->input, config->joints.first_name, message, error);
}

static void command(const struct system *system, uint32_t tag, const ProtobufCMessage *message, uint64_t *words)
{
	const struct config *config = system->config;
	struct velocity_words *w = (void *)words;
	(void)tag;
	w->target = builtin_input_of(&config->input, message, w->target);
}

static void pre_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	const struct config *config = system->config;
	struct velocity_words *w = (void *)words;
	if (!config->by_force) {
		builtin_drive(&config->joints, w->target, step->control);
		return;
	}
	double error = scene_axis_rate(step->state, config->joints.at[0], 0, false) - w->target;
	builtin_push(&config->joints, builtin_pid_update(&config->pid, &w->pid, error, step->dt), step->control);
}

const struct system_ops joint_controller_ops = {
	.names = BUILTIN_NAMES("JointController"),
	.configure = configure,
	.init = init,
	.check = check,
	.command = command,
	.pre_update = pre_update,
};
