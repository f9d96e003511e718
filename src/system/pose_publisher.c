/* Publishes the poses of a model and of its links. A nested model's links count as the model's. Poses of visuals,
 * collisions and sensors are not published: they are fixed to their links. */
#include "system/builtin.h"

struct settings {
	bool links, model, nested, vector;
	double rate_hz; /* negative: in each step */
};

static troupe_status read_settings(
	const struct sdf_element *plugin, struct settings *settings, struct troupe_error *error)
{
	const struct {
		const char *name;
		bool *value;
	} switches[] = {{"publish_link_pose", &settings->links}, {"publish_model_pose", &settings->model},
		{"publish_nested_model_pose", &settings->nested}, {"use_pose_vector_msg", &settings->vector}};
	const struct builtin_number rates[] = {
		{"update_frequency", &settings->rate_hz, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX}};
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < ARRAY_LEN(switches) && !status; i++)
		status = sdf_child_bool(plugin, switches[i].name, switches[i].value, error);
	return status ? status : builtin_read_numbers(plugin, rates, ARRAY_LEN(rates), error);
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	const char *model = builtin_owner(system, plugin)->name;
	struct settings settings = {.links = true, .rate_hz = -1};
	struct system_output output = {.frame = NULL};
	troupe_status status = read_settings(plugin, &settings, error);
	if (status)
		return status;
	output.kind = settings.vector ? SYSTEM_OUTPUT_POSES : SYSTEM_OUTPUT_POSE;
	output.rate_hz = settings.rate_hz > 0 ? settings.rate_hz : 0;
	output.of = (settings.model || settings.nested ? SYSTEM_OUTPUT_OF_MODEL : 0u) |
		    (settings.links ? SYSTEM_OUTPUT_OF_LINKS : 0u);
	return output.of ? builtin_add_output(system, plugin, NULL, arena_printf(arena, "model/%s/pose", model),
				   &output, arena, error)
			 : TROUPE_OK;
}

const struct system_ops pose_publisher_ops = {
	.names = BUILTIN_NAMES("PosePublisher"),
	.configure = configure,
};
