/* A robot of Open-RMF that other software drives, and that only tells where it is: libreadonly.so. Its
 * rmf_fleet_msgs/RobotState is on /robot_state, <update_rate> times a second, under the name of its model, with the
 * task "demo", the mode "moving" and a battery of 98 %, as Open-RMF's plug-in has it. */
#include "builtin/rmf_parts.h"

enum { RMF_READONLY_MOVING = 2, RMF_READONLY_PLACE = 3 };

struct rmf_readonly_config {
	const char *name, *level;
	const struct troupe_field *robot, *task, *mode, *battery, *level_name, *t_s, *t_ns, *place[RMF_READONLY_PLACE];
};

static const struct troupe_parameter rmf_readonly_parameters[] = {
	BUILTIN_TEXT("level_name", "where it is, default L1"),
	BUILTIN_BETWEEN("update_rate", 1e-3, 1e3, "Hz, default 2"),
	BUILTIN_NUMBER("graph_index", "has no effect: no building map is read, so it tells no path"),
	BUILTIN_TEXT("spawn_waypoint", "the same"),
	BUILTIN_NUMBER("look_ahead", "the same"),
	BUILTIN_NUMBER("waypoint_threshold", "the same"),
	BUILTIN_BOOL("merge_lane", "the same"),
	BUILTIN_NUMBER("lane_threshold", "the same"),
	BUILTIN_END,
};

static bool rmf_readonly_find_fields(struct troupe_system *self, struct rmf_readonly_config *config)
{
	const struct builtin_field wanted[] = {
		{&config->robot, "troupe.msgs.RobotState", "name"},
		{&config->task, "troupe.msgs.RobotState", "task_id"},
		{&config->mode, "troupe.msgs.RobotState", "mode.mode"},
		{&config->battery, "troupe.msgs.RobotState", "battery_percent"},
		{&config->level_name, "troupe.msgs.RobotState", "location.level_name"},
		{&config->t_s, "troupe.msgs.RobotState", "location.t.sec"},
		{&config->t_ns, "troupe.msgs.RobotState", "location.t.nsec"},
		{&config->place[0], "troupe.msgs.RobotState", "location.x"},
		{&config->place[1], "troupe.msgs.RobotState", "location.y"},
		{&config->place[2], "troupe.msgs.RobotState", "location.yaw"},
	};
	return builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted);
}

static bool rmf_readonly_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_readonly_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_output state = {.name = "/robot_state",
		.type = "troupe.msgs.RobotState",
		.gives = TROUPE_GIVES_REPORT,
		.rate_hz = host->number(self, plugin, "update_rate", 2)};
	config->name = host->owner_name(self);
	config->level = host->text(plugin, "level_name", "L1");
	return rmf_readonly_find_fields(self, config) && host->give(self, plugin, &state, NULL);
}

static bool rmf_readonly_report(const struct troupe_system *self, const struct troupe_step *step, const void *words,
	uint32_t output, struct troupe_message *message)
{
	const struct rmf_readonly_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct troupe_pose pose = host->model_pose(step, self->model, TROUPE_NOW);
	struct troupe_vec3 ahead = troupe_quat_rotate(troupe_pose_turn(pose), troupe_vec3_make(1, 0, 0));
	const double place[] = {pose.x, pose.y, host->atan2(ahead.y, ahead.x)};
	uint64_t now_ns = troupe_random_index(step);
	(void)words, (void)output;
	host->put_text(message, config->robot, config->name);
	host->put_text(message, config->task, "demo");
	host->put(message, config->mode, RMF_READONLY_MOVING);
	host->put(message, config->battery, 98);
	host->put_text(message, config->level_name, config->level);
	host->put(message, config->t_s, (double)(now_ns / 1000000000u));
	host->put(message, config->t_ns, (double)(now_ns % 1000000000u));
	for (size_t i = 0; i < RMF_READONLY_PLACE; i++)
		host->put(message, config->place[i], place[i]);
	return true;
}

const struct troupe_kind builtin_rmf_readonly = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::RmfReadonly", "libreadonly.so", NULL},
	.parameters = rmf_readonly_parameters,
	.configure = rmf_readonly_configure,
	.report = rmf_readonly_report,
};
