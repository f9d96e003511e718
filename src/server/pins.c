/* Pins of the definition. A pin replaces <secondary> in the world file. */
#include "server/internal.h"

#include <stdlib.h>
#include <string.h>

static troupe_status pins_parse(const char *pin, char **ret_name, uint32_t *ret_secondary, struct troupe_error *error)
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

struct pinned { /* a level, or else a model */
	struct scene *scene;
	bool level;
	uint32_t index;
};

struct pins_candidates {
	struct pinned first;
	uint32_t count;
	const char *names[2]; /* names of the first two, for messages */
	const char *kinds[2];
};

static void pins_add(struct pins_candidates *found, struct pinned pinned, const char *kind, const char *name)
{
	if (!found->count)
		found->first = pinned;
	if (found->count < ARRAY_LEN(found->names)) {
		found->kinds[found->count] = kind;
		found->names[found->count] = name;
	}
	found->count++;
}

/* A model is found by its own name or by the name of its performer. */
static void pins_find(struct scene *scene, const char *name, struct pins_candidates *found)
{
	for (uint32_t m = 0; m < scene->model_count; m++) {
		const struct scene_model *model = &scene->models[m];
		bool pinnable = model->performer || model->body_count;
		bool named = !strcmp(model->name, name);
		bool performs = model->performer_name && !strcmp(model->performer_name, name);
		if (pinnable && (named || performs))
			pins_add(found, (struct pinned){scene, false, m}, named ? "model" : "performer of model",
				model->name);
	}
	for (uint32_t l = 0; l < scene->level_count; l++)
		if (!strcmp(scene->levels[l].name, name))
			pins_add(found, (struct pinned){scene, true, l}, "level", scene->levels[l].name);
}

/* Each world may have one thing of that name, but not more. */
static troupe_status pins_find_one(struct troupe_server *server, uint32_t world, const char *pin, const char *name,
	struct pinned *ret_pinned, bool *ret_found, struct troupe_error *error)
{
	struct pins_candidates found = {0};
	pins_find(server->worlds[world].scene, name, &found);
	*ret_found = found.count > 0;
	*ret_pinned = found.first;
	if (found.count < 2)
		return TROUPE_OK;
	return fail(error, TROUPE_EWORLD,
		"pin '%s': '%s' is the %s '%s' and the %s '%s': expected a name with one meaning", pin, name,
		found.kinds[0], found.names[0], found.kinds[1], found.names[1]);
}

/* An earlier pin of the same thing; NULL: none. */
static const char *pins_same_before(
	struct troupe_server *server, const char *const *pin, uint32_t world, const struct pinned *pinned)
{
	for (const char *const *other = server->def.pins; other < pin; other++) {
		struct pins_candidates found = {0};
		char *name = NULL;
		uint32_t secondary;
		if (pins_parse(*other, &name, &secondary, NULL))
			continue;
		pins_find(server->worlds[world].scene, name, &found);
		free(name);
		if (found.count && found.first.level == pinned->level && found.first.index == pinned->index)
			return *other;
	}
	return NULL;
}

static troupe_status pins_pin_in(struct troupe_server *server, uint32_t world, const char *const *pin, const char *name,
	uint32_t secondary, bool *ret_found, struct troupe_error *error)
{
	struct pinned pinned;
	troupe_status status = pins_find_one(server, world, *pin, name, &pinned, ret_found, error);
	if (status || !*ret_found)
		return status;
	const char *before = pins_same_before(server, pin, world, &pinned);
	if (before)
		return fail(error, TROUPE_EWORLD,
			"pin '%s': '%s' is pinned twice: expected once; the other pin is '%s'", *pin, name, before);
	if (pinned.level)
		pinned.scene->levels[pinned.index].pin = secondary;
	else
		pinned.scene->models[pinned.index].pin = pinned.scene->models[pinned.index].home_pin = secondary;
	return TROUPE_OK;
}

static troupe_status pins_pin_one(struct troupe_server *server, const char *const *pin, struct troupe_error *error)
{
	char *name = NULL;
	uint32_t secondary = 0;
	bool found = false;
	troupe_status status = pins_parse(*pin, &name, &secondary, error);
	for (uint32_t i = 0; !status && i < server->world_count; i++) {
		bool here = false;
		status = pins_pin_in(server, i, pin, name, secondary, &here, error);
		found |= here;
	}
	if (!status && !found)
		status = fail(error, TROUPE_EWORLD,
			"pin '%s': %s has no '%s' that can be pinned: expected a performer, a model that can move, or "
			"a level",
			*pin, server->sdf->path, name);
	free(name);
	return status;
}

troupe_status server_pin(struct troupe_server *server, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (const char *const *pin = server->def.pins; pin && *pin && !status; pin++)
		status = pins_pin_one(server, pin, error);
	return status;
}
