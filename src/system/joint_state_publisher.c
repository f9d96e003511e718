/* Publishes the state of joints: of those that <joint_name> lists, or of all that the model has. */
#include "system/builtin.h"

#include <string.h>

/* Names as the scene shows them: in the top-level model, "nested::joint" for one in a nested model. */
static troupe_status find_joints(const struct system *system, const struct sdf_element *plugin, struct arena *arena,
	const char **ret_only, struct troupe_error *error)
{
	const struct sdf_model *owner = builtin_owner(system, plugin);
	const char *name = system->scene->models[system->model].name;
	for (const struct sdf_element *e = sdf_child(plugin, "joint_name", NULL); e;
		e = sdf_child(plugin, "joint_name", e)) {
		const char *scoped = arena_printf(arena, "%s::%s", owner->scoped, e->text);
		if (scene_find_joint(system->scene, system->model, scoped) == SCENE_NONE)
			return fail(error, TROUPE_EINVAL, "%s:%u: <joint_name>: there is no joint '%s' in model '%s'",
				e->file, e->line, e->text, owner->name);
		*ret_only = arena_printf(
			arena, "%s%s\n", *ret_only ? *ret_only : "\n", scoped + strlen(name) + strlen("::"));
	}
	return TROUPE_OK;
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct system_output output = {.kind = SYSTEM_OUTPUT_JOINTS};
	troupe_status status = find_joints(system, plugin, arena, &output.only, error);
	if (status)
		return status;
	return builtin_add_output(system, plugin, "topic",
		arena_printf(arena, "world/%s/model/%s/joint_state", system->scene->name,
			builtin_owner(system, plugin)->name),
		&output, arena, error);
}

const struct system_ops joint_state_publisher_ops = {
	.names = BUILTIN_NAMES("JointStatePublisher"),
	.configure = configure,
};
