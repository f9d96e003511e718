/* Pins of the definition: they stand in for <secondary> in the file. */
#include "server/internal.h"

#include <stdlib.h>
#include <string.h>

static troupe_status parse(const char *pin, char **ret_name, uint32_t *ret_secondary, struct troupe_error *error)
{
	const char *equals = strrchr(pin, '=');
	char *end;
	unsigned long secondary = equals ? strtoul(equals + 1, &end, 10) : 0;
	if (!equals || equals == pin || equals[1] < '0' || equals[1] > '9' || *end || secondary < 1 ||
		secondary > TROUPE_SECONDARIES_MAX)
		return fail(error, TROUPE_EWORLD, "pin '%s': expected PERFORMER=I with a secondary I from 1 to %d", pin,
			TROUPE_SECONDARIES_MAX);
	*ret_name = mem_printf("%.*s", (int)(equals - pin), pin);
	*ret_secondary = (uint32_t)secondary;
	return TROUPE_OK;
}

/* Whether one before it is of the same name. */
static bool is_repeated(const char *const *pins, const char *const *pin, size_t length)
{
	for (; pins < pin; pins++)
		if (!strncmp(*pins, *pin, length) && (*pins)[length] == '=' && !strchr(*pins + length + 1, '='))
			return true;
	return false;
}

static bool pin_in(struct scene *scene, const char *name, uint32_t secondary)
{
	uint32_t model = scene_find_model(scene, name);
	if (model != SCENE_NONE && (scene->models[model].performer || scene->models[model].body_count)) {
		scene->models[model].pin = secondary;
		return true;
	}
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (!strcmp(scene->levels[l].name, name)) {
			scene->levels[l].pin = secondary;
			return true;
		}
	return false;
}

troupe_status server_pin(struct troupe_server *server, struct troupe_error *error)
{
	for (const char *const *pin = server->def.pins; pin && *pin; pin++) {
		char *name = NULL;
		uint32_t secondary = 0;
		bool found = false;
		troupe_status status = parse(*pin, &name, &secondary, error);
		if (!status && is_repeated(server->def.pins, pin, strlen(name)))
			status =
				fail(error, TROUPE_EWORLD, "pin '%s': '%s' is pinned twice: expected once", *pin, name);
		for (uint32_t i = 0; !status && i < server->world_count; i++)
			found |= pin_in(server->worlds[i].scene, name, secondary);
		if (!status && !found)
			status = fail(error, TROUPE_EWORLD,
				"pin '%s': %s has no '%s' that can be pinned: expected a performer, a model that can "
				"move, or a level",
				*pin, server->sdf->path, name);
		free(name);
		if (status)
			return status;
	}
	return TROUPE_OK;
}
