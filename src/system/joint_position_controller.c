/* Holds joints at a position: by the force of a PID controller or, with <use_velocity_commands>, by the velocity that
 * reaches the position in this step, limited by <cmd_max> if that is given. The position of the first joint is
 * controlled; all joints are driven alike. It is active from the first step, with the target <initial_position> or 0,
 * as in Gazebo. */
#include "system/builtin.h"

#include <math.h>

struct config {
	struct builtin_joints joints;
	struct builtin_input input;
	struct builtin_pid pid;
	double initial_position;
	bool by_velocity;
	double velocity_max; /* limit of the velocity; infinite without <cmd_max> */
};

struct position_words {
	double target;
	struct builtin_pid_words pid;
};

enum { POSITION_WORDS = 3 };
_Static_assert(sizeof(struct position_words) == POSITION_WORDS * 8, "words without padding");

static troupe_status read_parameters(
	const struct sdf_element *plugin, struct config *config, struct troupe_error *error)
{
	double index = 0; /* only axis 0 has a motor */
	const struct builtin_number numbers[] = {
		{"initial_position", &config->initial_position, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX},
		{"joint_index", &index, 0, 0},
	};
	troupe_status status = builtin_read_numbers(plugin, numbers, ARRAY_LEN(numbers), error);
	if (!status)
		status = builtin_read_pid(plugin, &config->pid, error);
	if (!status)
		status = sdf_child_bool(plugin, "use_velocity_commands", &config->by_velocity, error);
	config->velocity_max = sdf_child(plugin, "cmd_max", NULL) ? config->pid.cmd_max : HUGE_VAL;
	if (!status && config->by_velocity && config->velocity_max < 0)
		return fail(error, TROUPE_EWORLD, "%s:%u: <cmd_max> is %g: expected at least 0 with velocity commands",
			plugin->file, plugin->line, config->pid.cmd_max);
	return status;
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct config *config = system->config = arena_new(arena, struct config);
	config->pid = (struct builtin_pid){1, 0.1, 0.01, 1, -1, 1000, -1000, 0};
	system->words = POSITION_WORDS;
	troupe_status status = builtin_find_joints(system, plugin, "joint_name", arena, &config->joints, error);
	if (!status)
		status = read_parameters(plugin, config, error);
	if (!status)
		status = builtin_read_input(plugin, "position", &config->input, error);
	if (!status)
		status = builtin_add_joint_topic(
			system, plugin, config->joints.first_name, "0/cmd_pos", &config->input, arena, error);
	return status;
}

static void init(const struct system *system, uint64_t *words)
{
	const struct config *config = system->config;
	((struct position_words *)(void *)words)->target = config->initial_position;
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
	struct position_words *w = (void *)words;
	(void)tag;
	w->target = builtin_input_of(&config->input, message, w->target);
}

static void pre_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	const struct config *config = system->config;
	struct position_words *w = (void *)words;
	double error = builtin_joint_position(step, config->joints.at[0]) - w->target;
	if (config->by_velocity)
		builtin_drive(&config->joints,
			builtin_clamp(-error / step->dt, -config->velocity_max, config->velocity_max), step->control);
	else
		builtin_push(
			&config->joints, builtin_pid_update(&config->pid, &w->pid, error, step->dt), step->control);
}

const struct system_ops joint_position_controller_ops = {
	.names = BUILTIN_NAMES("JointPositionController"),
	.configure = configure,
	.init = init,
	.check = check,
	.command = command,
	.pre_update = pre_update,
};
