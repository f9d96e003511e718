/* Holds joints at a position: by the force of a PID controller or, with <use_velocity_commands>, by the velocity that
 * reaches the position in this step, or by <velocity_gain> times the error, as the simulated hardware of ros2_control
 * does; the velocity is limited by <cmd_max> if that is given. The position of the first joint is controlled; all
 * joints are driven alike. It is active from the first step, with the target <initial_position> or 0, as in Gazebo. */
#include "builtin/parts.h"

struct joint_position_config {
	struct builtin_control control;
	bool by_velocity;
	double velocity_max; /* limit of the velocity; infinite without <cmd_max> */
	double gain;         /* 1/s; 0: the velocity that reaches the position in this step */
};

static const struct troupe_parameter joint_position_parameters[] = {
	BUILTIN_TEXT("joint_name", "the joints; the position of the first one is controlled"),
	BUILTIN_NUMBER("initial_position", "rad or m; default 0"),
	BUILTIN_BETWEEN("joint_index", 0, 0, "only axis 0 has a motor"),
	BUILTIN_PID,
	BUILTIN_BOOL("use_velocity_commands", "by a velocity; default false"),
	BUILTIN_VELOCITY_GAIN,
	BUILTIN_ACTUATORS,
	BUILTIN_TEXT("topic", "of the position; default: /model/NAME/joint/JOINT/0/cmd_pos"),
	BUILTIN_TEXT("sub_topic", "the same, after /model/NAME/"),
	BUILTIN_END,
};

static bool joint_position_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct joint_position_config *config = self->config = host->alloc(self, sizeof *config);
	config->control.pid = (struct builtin_pid){1, 0.1, 0.01, 1, -1, 1000, -1000, 0};
	if (!builtin_read_control(self, plugin, "initial_position", &config->control))
		return false;
	config->by_velocity = host->boolean(self, plugin, "use_velocity_commands", false);
	config->gain = host->number(self, plugin, "velocity_gain", 0);
	config->velocity_max = host->child(plugin, "cmd_max", NULL) ? config->control.pid.cmd_max : HUGE_VAL;
	if (config->by_velocity && config->velocity_max < 0)
		return host->refuse(self, plugin, "<cmd_max> is %g: expected at least 0 with velocity commands",
			config->control.pid.cmd_max);
	return builtin_take_control(self, plugin, "position", "0/cmd_pos", &config->control);
}

static void joint_position_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct joint_position_config *config = self->config;
	struct builtin_control_words *w = words;
	double error = self->host->joint_position(step, config->control.joints.at[0], 0, TROUPE_NOW) - w->target;
	double velocity = builtin_velocity_to(-error, config->gain, step->dt);
	if (config->by_velocity)
		builtin_drive(self, step, &config->control.joints,
			builtin_clamp(velocity, -config->velocity_max, config->velocity_max));
	else
		builtin_push(self, step, &config->control.joints,
			builtin_pid_update(&config->control.pid, &w->pid, error, step->dt));
}

const struct troupe_kind builtin_joint_position_controller = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("JointPositionController"),
	.parameters = joint_position_parameters,
	.words = builtin_control_words,
	.configure = joint_position_configure,
	.init = builtin_control_init,
	.check = builtin_control_check,
	.command = builtin_control_command,
	.pre_update = joint_position_pre_update,
};
