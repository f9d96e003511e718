/* The loader knows which elements have no effect, and the systems know which plug-ins have none. The caller
 * knows which sensors have an effect. Things of one kind are one entry with a count, so a world with a thousand cameras
 * gives one line; the line names the first few sensors, because their lines in the file may be far from what a user
 * looks at: a robot may come with an <include>. */
#include "system/ignored.h"

#include "base/map.h"
#include "base/near.h"
#include "builtin/builtin.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

struct ignored_counted { /* one kind of sensors or plug-ins */
	const char *name;
	const struct sdf_element *first;
	struct text names; /* of the first sensors, ", " between */
	uint32_t count;
};

enum { IGNORED_NAMES_MAX = 3 };

struct kinds {
	VEC(struct ignored_counted) all;
	struct map by_name;
};

static struct ignored_counted *ignored_count(struct kinds *kinds, const char *name, const struct sdf_element *element)
{
	uint32_t at = kinds->all.count;
	if (map_add(&kinds->by_name, name, at))
		vec_push(&kinds->all, (struct ignored_counted){.name = name, .first = element});
	else
		map_find(&kinds->by_name, name, &at);
	kinds->all.at[at].count++;
	return &kinds->all.at[at];
}

static void ignored_count_sensor(struct kinds *kinds, const struct sdf_world *world, const struct sdf_sensor *sensor)
{
	const char *owner = sensor->link != SDF_NONE ? world->links.at[sensor->link].scoped
						     : world->joints.at[sensor->joint].scoped;
	struct ignored_counted *kind = ignored_count(kinds, sensor->type, sensor->element);
	if (kind->count <= IGNORED_NAMES_MAX)
		text_add(&kind->names, "%s%.60s::%.40s", kind->count > 1 ? ", " : ": ", owner, sensor->name);
	else if (kind->count == IGNORED_NAMES_MAX + 1)
		text_add(&kind->names, ", ...");
}

/* Names come from files, and entries appear in messages: so control characters are replaced and long names are cut. */
static const char *ignored_clean(struct ignored_list *list, const struct troupe_error *line)
{
	return arena_strdup(&list->arena, line->text);
}

/* What a user may do instead. A world neither makes files nor chooses what is run in its place: it may come from a
 * stranger, and Gazebo's logs have another format. path: the element that names the file there. */
static const char *ignored_advice(struct ignored_list *list, const struct ignored_counted *plugin)
{
	static const struct {
		const char *name, *path, *text;
	} known[] = {
		{"systems::LogRecord", "record_path",
			"a world makes no files: record the run with --recordings, or with --record FILE"},
		{"systems::LogPlayback", "playback_path",
			"this world is run: play a recording of troupe with --recordings, or with troupe replay FILE"},
	};
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		const char *at = strstr(plugin->name, known[i].name);
		if (!at || at[strlen(known[i].name)])
			continue;
		const char *path = sdf_child_text(plugin->first, known[i].path);
		return path && *path ? arena_printf(&list->arena, " (<%s> is '%.100s'): %s", known[i].path, path,
					       known[i].text)
				     : arena_printf(&list->arena, ": %s", known[i].text);
	}
	return "";
}

/* The name without the namespaces before it: these are alike for all plug-ins of Gazebo. */
static const char *ignored_stem(const char *name)
{
	const char *colons = strrchr(name, ':');
	return colons ? colons + 1 : name;
}

/* Where the plug-in was searched for, and what has a name like its own. */
static const char *ignored_search(
	struct ignored_list *list, struct plugins *libraries, const struct ignored_counted *plugin)
{
	const char *filename = sdf_attribute(plugin->first, "filename");
	struct text why = {0};
	struct near near = near_to(ignored_stem(plugin->name));
	for (const struct troupe_kind *const *kind = builtin_plugin.kinds; *kind; kind++)
		near_offer(&near, ignored_stem((*kind)->names[0]));
	plugins_explain(libraries, filename ? filename : "", &why);
	if (near_best(&near))
		text_add(&why, "%sthere is the plugin \"%s\"", why.count ? "; " : "", near_best(&near));
	const char *note = why.count ? arena_printf(&list->arena, ": %s", why.at) : "";
	text_fini(&why);
	return note;
}

static void ignored_take_kinds(
	struct kinds *kinds, enum ignored_kind kind, struct plugins *libraries, struct ignored_list *list)
{
	for (uint32_t i = 0; i < kinds->all.count; i++) {
		struct ignored_counted *from = &kinds->all.at[i];
		struct troupe_error what, names;
		if (kind == IGNORED_SENSORS)
			(void)fail(&what, TROUPE_EWORLD, "sensors of type %.200s x%u", from->name, from->count);
		else
			(void)fail(&what, TROUPE_EWORLD, "plugin \"%.200s\" x%u", from->name, from->count);
		const char *note = kind == IGNORED_PLUGINS ? ignored_advice(list, from) : "";
		bool is_log = *note;
		if (kind == IGNORED_PLUGINS && !is_log)
			note = sdf_plugin_advice(from->first);
		if (kind == IGNORED_PLUGINS && !*note)
			note = ignored_search(list, libraries, from);
		(void)fail(&names, TROUPE_EWORLD, "%s", from->names.at ? from->names.at : note);
		vec_push(&list->all, (struct ignored){.kind = kind,
					     .what = ignored_clean(list, &what),
					     .note = ignored_clean(list, &names),
					     .first = from->first,
					     .count = from->count,
					     .is_log = is_log});
		text_fini(&from->names);
	}
	vec_free(&kinds->all);
	map_fini(&kinds->by_name);
}

static void ignored_find_elements(const struct sdf *sdf, struct ignored_list *list)
{
	uint32_t count;
	struct sdf_ignored *all = sdf_list_ignored(sdf, &count);
	for (uint32_t i = 0; i < count; i++) {
		struct troupe_error what;
		(void)fail(&what, TROUPE_EWORLD, "<%.100s> in <%.100s> x%u", all[i].name, all[i].parent, all[i].count);
		vec_push(&list->all, (struct ignored){.kind = IGNORED_ELEMENTS,
					     .what = ignored_clean(list, &what),
					     .note = all[i].known ? "" : ", which SDF does not know",
					     .first = all[i].first,
					     .count = all[i].count,
					     .aside = all[i].aside});
	}
	free(all);
}

void ignored_find(
	const struct sdf *sdf, ignored_sensor_fn *simulates, struct plugins *libraries, struct ignored_list *list)
{
	struct kinds sensors = {0}, plugins = {0};
	ignored_find_elements(sdf, list);
	for (uint32_t w = 0; w < sdf->worlds.count; w++) {
		const struct sdf_world *world = &sdf->worlds.at[w];
		for (uint32_t i = 0; i < world->sensors.count; i++)
			if (!simulates || !simulates(&world->sensors.at[i]))
				ignored_count_sensor(&sensors, world, &world->sensors.at[i]);
		for (uint32_t i = 0; i < world->plugins.count; i++)
			if (systems_ignore(libraries, &world->plugins.at[i]))
				(void)ignored_count(&plugins, world->plugins.at[i].name, world->plugins.at[i].element);
		for (uint32_t i = 0; i < world->actor_plugins.count; i++)
			if (systems_ignore(libraries, &world->actor_plugins.at[i]))
				(void)ignored_count(
					&plugins, world->actor_plugins.at[i].name, world->actor_plugins.at[i].element);
	}
	ignored_take_kinds(&sensors, IGNORED_SENSORS, libraries, list);
	ignored_take_kinds(&plugins, IGNORED_PLUGINS, libraries, list);
}

const char *ignored_warning(struct ignored_list *list, const struct ignored *ignored)
{
	struct troupe_error line;
	(void)fail(&line, TROUPE_EWORLD, "%.200s:%u: ignored: %s%s", ignored->first->file, ignored->first->line,
		ignored->what, ignored->note);
	return ignored_clean(list, &line);
}

void ignored_fini(struct ignored_list *list)
{
	vec_free(&list->all);
	arena_fini(&list->arena);
}
