/* Some plug-ins of Gazebo are no systems here, because troupe itself does their work or serves their sensors. */
#include "system/system_kind.h"

#include "base/text.h"
#include "builtin/builtin.h"
#include "program/program.h"

#include <stdio.h>
#include <string.h>

#define SYSTEM_NAMES(stem) ((const char *const[]){"gz::sim::systems::" stem, "ignition::gazebo::systems::" stem, NULL})

/* Plug-ins of Gazebo that need no system here. troupe does their work itself (Physics, UserCommands), its clients ask
 * for the scene (SceneBroadcaster), or the plug-in only serves sensors of the world. Sensors are warned of by their
 * types (ignored.h). */
static const char *const *const system_kind_inherent[] = {SYSTEM_NAMES("Physics"), SYSTEM_NAMES("UserCommands"),
	SYSTEM_NAMES("SceneBroadcaster"), SYSTEM_NAMES("Sensors"), SYSTEM_NAMES("Label"), SYSTEM_NAMES("Thermal"),
	SYSTEM_NAMES("AirPressure"), SYSTEM_NAMES("AirSpeed"), SYSTEM_NAMES("Altimeter"), SYSTEM_NAMES("Contact"),
	SYSTEM_NAMES("CpuLidar"), SYSTEM_NAMES("DopplerVelocityLogSystem"), SYSTEM_NAMES("ForceTorque"),
	SYSTEM_NAMES("Imu"), SYSTEM_NAMES("LogicalCamera"), SYSTEM_NAMES("Magnetometer"), SYSTEM_NAMES("NavSat")};

static bool system_kind_is_inherent(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(system_kind_inherent); i++)
		for (const char *const *alias = system_kind_inherent[i]; *alias; alias++)
			if (!strcmp(*alias, name))
				return true;
	return false;
}

/* troupe itself knows the name: no library is searched for. */
static bool system_kind_is_own(const struct sdf_plugin *plugin)
{
	return system_kind_is_inherent(plugin->name) || program_is(plugin) ||
	       (plugin->model == SDF_NONE && !plugin->in_actor && scene_knows_plugin(plugin->name));
}

static bool system_kind_may_stand(const struct troupe_kind *kind, const struct sdf_plugin *plugin)
{
	if (plugin->in_actor)
		return kind->flags & TROUPE_IN_ACTOR;
	uint32_t of_world = TROUPE_IN_WORLD | TROUPE_FOR_EACH_MODEL;
	return kind->flags & (plugin->model == SDF_NONE ? of_world : (uint32_t)TROUPE_IN_MODEL);
}

static const char *system_kind_place_of(const struct sdf_plugin *plugin)
{
	return plugin->in_actor ? "an <actor>" : plugin->model == SDF_NONE ? "a <world>" : "a <model>";
}

static const char *system_kind_expected_place(const struct troupe_kind *kind)
{
	return kind->flags & TROUPE_IN_MODEL ? "a <model>" : kind->flags & TROUPE_IN_ACTOR ? "an <actor>" : "a <world>";
}

static troupe_status system_kind_find_in_library(const struct plugin_library *library, const struct sdf_plugin *plugin,
	const struct troupe_kind **ret_kind, struct troupe_error *error)
{
	const struct sdf_element *at = plugin->element;
	const struct troupe_kind *kind = plugin_kind(library->kinds, plugin->name);
	if (!kind) {
		struct text names = {0};
		plugin_list_kinds(library->kinds, &names);
		(void)fail(error, TROUPE_EWORLD, "%s:%u: plugin '%.100s' has no kind '%.100s': expected one of %.400s",
			at->file, at->line, plugin->filename, plugin->name, names.at);
		text_fini(&names);
		return TROUPE_EWORLD;
	}
	if (!system_kind_may_stand(kind, plugin))
		return fail(error, TROUPE_EWORLD, "%s:%u: plugin '%.100s' is in %s: expected it in %s", at->file,
			at->line, kind->names[0], system_kind_place_of(plugin), system_kind_expected_place(kind));
	*ret_kind = kind;
	return TROUPE_OK;
}

/* troupe's own kind that stands for a library of that name, "libdoor.so", "door" or "/opt/libdoor.so": the <plugin>s of
 * some simulators have any name. */
static const struct troupe_kind *system_kind_kind_of_file(const char *filename)
{
	const char *slash = strrchr(filename, '/'), *stem = slash ? slash + 1 : filename;
	char name[128];
	stem += !strncmp(stem, "lib", 3) ? 3 : 0;
	size_t length = strlen(stem);
	length -= length > 3 && !strcmp(stem + length - 3, ".so") ? 3 : 0;
	if (length >= sizeof name - 6)
		return NULL;
	(void)snprintf(name, sizeof name, "lib%.*s.so", (int)length, stem);
	return plugin_kind(builtin_plugin.kinds, name);
}

troupe_status system_kind_of(struct plugins *plugins, const struct sdf_plugin *plugin,
	const struct troupe_kind **ret_kind, const struct plugin_library **ret_library, struct troupe_error *error)
{
	const struct troupe_kind *own = plugin_kind(builtin_plugin.kinds, plugin->name);
	*ret_kind = own && system_kind_may_stand(own, plugin) ? own : NULL;
	*ret_library = NULL;
	if (own || system_kind_is_own(plugin))
		return TROUPE_OK;
	troupe_status status = plugins_find(plugins, plugin, ret_library, error);
	if (status)
		return status;
	if (*ret_library)
		return system_kind_find_in_library(*ret_library, plugin, ret_kind, error);
	own = system_kind_kind_of_file(plugin->filename);
	*ret_kind = own && system_kind_may_stand(own, plugin) ? own : NULL;
	return TROUPE_OK;
}

bool systems_ignore(struct plugins *plugins, const struct sdf_plugin *plugin)
{
	const struct troupe_kind *kind;
	const struct plugin_library *library;
	if (system_kind_is_own(plugin))
		return plugin->in_actor && program_is(plugin);
	return !system_kind_of(plugins, plugin, &kind, &library, NULL) && !kind;
}
