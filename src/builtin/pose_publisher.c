/* Publishes the poses of a model and of its links. A nested model's links count as the model's. Poses of visuals,
 * collisions and sensors are not published: they are fixed to their links. */
#include "builtin/parts.h"

static const struct troupe_parameter parameters[] = {
	BUILTIN_BOOL("publish_link_pose", "default true"),
	BUILTIN_BOOL("publish_model_pose", "default false"),
	BUILTIN_BOOL("publish_nested_model_pose", "default false"),
	BUILTIN_BOOL("use_pose_vector_msg", "one message with all poses; default false"),
	BUILTIN_NUMBER("update_frequency", "Hz; default: in each step"),
	BUILTIN_TEXT("topic", "default: /model/NAME/pose"),
	BUILTIN_UNUSED("publish_visual_pose", "visuals are fixed to their links"),
	BUILTIN_UNUSED("publish_collision_pose", "collisions are fixed to their links"),
	BUILTIN_UNUSED("publish_sensor_pose", "sensors are fixed to their links"),
	BUILTIN_UNUSED("static_publisher", "all poses are on one topic"),
	BUILTIN_UNUSED("static_update_frequency", "all poses are on one topic"),
	BUILTIN_END,
};

static bool configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	bool model = host->boolean(self, plugin, "publish_model_pose", false);
	bool nested = host->boolean(self, plugin, "publish_nested_model_pose", false);
	double rate_hz = host->number(self, plugin, "update_frequency", -1);
	struct troupe_output output = {
		.gives = host->boolean(self, plugin, "use_pose_vector_msg", false) ? TROUPE_GIVES_POSES
										   : TROUPE_GIVES_POSE,
		.rate_hz = rate_hz > 0 ? rate_hz : 0,
	};
	output.of = (model || nested ? (uint32_t)TROUPE_OF_MODEL : 0u) |
		    (host->boolean(self, plugin, "publish_link_pose", true) ? (uint32_t)TROUPE_OF_LINKS : 0u);
	return !output.of || builtin_give(self, plugin, "topic",
				     host->print(self, "model/%s/pose", host->owner_name(self)), &output, NULL);
}

const struct troupe_kind builtin_pose_publisher = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("PosePublisher"),
	.parameters = parameters,
	.configure = configure,
};
