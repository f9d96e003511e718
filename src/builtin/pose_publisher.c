/* Publishes the poses of a model and of its parts. A nested model's links count as the model's.
 *
 * Gazebo has no poses in single messages and in lists at once, and here neither. With <static_publisher> the parts that
 * never move in the model have a topic of their own. */
#include "builtin/parts.h"

static const struct troupe_parameter pose_publisher_parameters[] = {
	BUILTIN_BOOL("publish_link_pose", "default true"),
	BUILTIN_BOOL("publish_model_pose", "default: that of publish_nested_model_pose"),
	BUILTIN_BOOL("publish_nested_model_pose", "default false"),
	BUILTIN_BOOL("publish_collision_pose", "default false"),
	BUILTIN_BOOL("publish_visual_pose", "default false"),
	BUILTIN_BOOL("publish_sensor_pose", "default false"),
	BUILTIN_BOOL("use_pose_vector_msg", "one message with all poses; default false"),
	BUILTIN_NUMBER("update_frequency", "Hz; default: in each step"),
	BUILTIN_BOOL("static_publisher", "poses that do not change are on /model/NAME/pose_static; default false"),
	BUILTIN_NUMBER("static_update_frequency", "of that topic, Hz; default: that of update_frequency"),
	BUILTIN_TEXT("topic", "default: /model/NAME/pose"),
	BUILTIN_END,
};

static uint32_t pose_publisher_parts_of(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	bool nested = host->boolean(self, plugin, "publish_nested_model_pose", false);
	uint32_t of = 0;
	if (host->boolean(self, plugin, "publish_model_pose", nested))
		of |= TROUPE_OF_MODEL;
	if (host->boolean(self, plugin, "publish_link_pose", true))
		of |= TROUPE_OF_LINKS;
	if (host->boolean(self, plugin, "publish_collision_pose", false))
		of |= TROUPE_OF_COLLISIONS;
	if (host->boolean(self, plugin, "publish_visual_pose", false))
		of |= TROUPE_OF_VISUALS;
	if (host->boolean(self, plugin, "publish_sensor_pose", false))
		of |= TROUPE_OF_SENSORS;
	return of;
}

static bool pose_publisher_give(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, double rate_hz, uint32_t of)
{
	const struct troupe_host *host = self->host;
	bool all = host->boolean(self, plugin, "use_pose_vector_msg", false);
	const struct troupe_output output = {
		.name = name,
		.gives = all ? TROUPE_GIVES_POSES : TROUPE_GIVES_POSE,
		.rate_hz = rate_hz > 0 ? rate_hz : 0,
		.of = of,
	};
	return host->give(self, plugin, &output, NULL);
}

static bool pose_publisher_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	const char *name = builtin_topic(self, plugin, "topic", "pose", NULL);
	double rate_hz = host->number(self, plugin, "update_frequency", -1);
	uint32_t of = pose_publisher_parts_of(self, plugin);
	if (!of)
		return true;
	if (!host->boolean(self, plugin, "static_publisher", false))
		return pose_publisher_give(self, plugin, name, rate_hz, of);
	double static_hz = host->number(self, plugin, "static_update_frequency", rate_hz);
	return pose_publisher_give(self, plugin, name, rate_hz, of | TROUPE_OF_MOVING) &&
	       pose_publisher_give(self, plugin, host->print(self, "%s_static", name), static_hz, of | TROUPE_OF_FIXED);
}

const struct troupe_kind builtin_pose_publisher = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("PosePublisher"),
	.parameters = pose_publisher_parameters,
	.configure = pose_publisher_configure,
};
