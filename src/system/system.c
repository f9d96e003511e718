/* Systems of a world: plug-ins are matched by name to kinds of systems, configured, and connected to topics. A
 * plug-in that does not fit its model is left out with a warning, as Gazebo does; a bad parameter is an error. All
 * state of a system is in the words of its model's state, and its configuration never changes: so a model can move
 * to another runner, be reset or be resumed without further work here.
 *
 * Models are added and removed between steps. The table of topics has a lock, because other threads ask it for the
 * types of topics. */
#include "base/near.h"
#include "base/text.h"
#include "program/program.h"
#include "scene/actor.h"
#include "scene/trail.h"
#include "system/camera_trigger.h"
#include "system/guard.h"
#include "system/sensor_trail.h"
#include "system/setup.h"
#include "system/system_kind.h"
#include "topic/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- topics ------------------------------------------------------------------------------------------------------- */

static struct system_topic *system_topic_of(const struct systems *systems, const struct system_listener *listener)
{
	return &systems_of(systems, listener->model)->at[listener->system].topics.at[listener->topic];
}

static uint32_t system_open_topic(struct systems *systems, const char *name, message_type type)
{
	struct system_listeners entry = {.name = mem_strdup(name), .type = type, .any = true};
	uint32_t index = systems->topics.count;
	if (systems->free_topics.count) {
		index = systems->free_topics.at[--systems->free_topics.count];
		systems->topics.at[index] = entry;
	} else {
		vec_push(&systems->topics, entry);
	}
	(void)map_add(&systems->topic_by_name, entry.name, index);
	return index;
}

static void system_listen(struct systems *systems, struct system_listener listener)
{
	const struct system_topic *topic = system_topic_of(systems, &listener);
	uint32_t index;
	if (!map_find(&systems->topic_by_name, topic->name, &index))
		index = system_open_topic(systems, topic->name, topic->type);
	struct system_listeners *entry = &systems->topics.at[index];
	if (!topic->any) {
		entry->type = topic->type;
		entry->any = false;
	}
	vec_push(&entry->listeners, listener);
}

static void system_unlisten(struct systems *systems, struct system_listener listener)
{
	uint32_t index, kept = 0;
	if (!map_find(&systems->topic_by_name, system_topic_of(systems, &listener)->name, &index))
		return;
	struct system_listeners *entry = &systems->topics.at[index];
	for (uint32_t i = 0; i < entry->listeners.count; i++)
		if (memcmp(&entry->listeners.at[i], &listener, sizeof listener) != 0)
			entry->listeners.at[kept++] = entry->listeners.at[i];
	entry->listeners.count = kept;
	entry->any = true;
	for (uint32_t i = 0; i < kept; i++)
		entry->any &= system_topic_of(systems, &entry->listeners.at[i])->any;
	if (kept)
		return;
	(void)map_remove(&systems->topic_by_name, entry->name);
	free(entry->name);
	entry->name = NULL;
	vec_free(&entry->listeners);
	vec_push(&systems->free_topics, index);
}

static void system_for_each_topic(
	struct systems *systems, uint32_t model, void (*fn)(struct systems *systems, struct system_listener listener))
{
	const struct system_set *set = systems_of(systems, model);
	pthread_mutex_lock(&systems->lock);
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t t = 0; t < set->at[i].topics.count; t++)
			fn(systems, (struct system_listener){model, i, t});
	pthread_mutex_unlock(&systems->lock);
}

void systems_unsubscribe(struct systems *systems, uint32_t model)
{
	system_for_each_topic(systems, model, system_unlisten);
}

void systems_subscribe(struct systems *systems, uint32_t model)
{
	system_for_each_topic(systems, model, system_listen);
}

/* --- configuring -------------------------------------------------------------------------------------------------- */

struct configuring {
	struct systems *systems;
	uint32_t model; /* SCENE_NONE: the world */
	struct arena *arena;
	struct share *share;
	VEC(struct system) found;
	VEC(const char *) filenames; /* of plug-ins of which a library was looked for */
	uint32_t words;
	VEC(const char *) warnings;
	void (*on_error)(void *ctx, const char *text); /* NULL: stop at the first error */
	void *ctx;
	struct troupe_error first; /* the first error that on_error was called for */
};

/* The message type of a topic, if it has a listener now, or will have one from the systems found so far; NULL: no
 * listener, or none that takes only one type. */
static message_type system_carried(const struct configuring *c, const char *topic)
{
	const struct system_listeners *entry = systems_find_listeners(c->systems, topic);
	if (entry && !entry->any)
		return entry->type;
	for (uint32_t i = 0; i < c->found.count; i++)
		for (uint32_t t = 0; t < c->found.at[i].topics.count; t++)
			if (!c->found.at[i].topics.at[t].any && !strcmp(c->found.at[i].topics.at[t].name, topic))
				return c->found.at[i].topics.at[t].type;
	return NULL;
}

/* The type with which the system has taken the topic of that place before; NULL: it has not. */
static message_type system_taken_before(const struct system *system, uint32_t place)
{
	for (uint32_t t = 0; t < place; t++)
		if (!system->topics.at[t].any && !strcmp(system->topics.at[t].name, system->topics.at[place].name))
			return system->topics.at[t].type;
	return NULL;
}

/* Several systems may listen to one topic, for example robots with the same <topic>. They must take the same type of
 * messages. */
static troupe_status system_check_topics(const struct configuring *c, const struct system *system,
	const struct sdf_element *plugin, struct troupe_error *error)
{
	for (uint32_t t = 0; t < system->topics.count; t++) {
		const struct system_topic *own = &system->topics.at[t];
		message_type type = system_carried(c, own->name), before = system_taken_before(system, t);
		if (own->any)
			continue;
		if (before && before != own->type)
			return fail(error, TROUPE_EWORLD,
				"%s:%u: the plugin takes topic '%s' as %s and as %s: expected one type", plugin->file,
				plugin->line, own->name, before->name, own->type->name);
		if (type && type != own->type)
			return fail(error, TROUPE_EWORLD,
				"%s:%u: topic '%s' carries %s for another plugin: expected %s", plugin->file,
				plugin->line, own->name, type->name, own->type->name);
	}
	return TROUPE_OK;
}

static void system_free_lists(struct system *system)
{
	vec_free(&system->outputs);
	vec_free(&system->topics);
	vec_free(&system->names);
}

/* The model that the <plugin> stands in: the model of the system, or one nested in it. NULL: the world. */
static const struct sdf_model *system_owner_of(const struct configuring *c, const struct sdf_plugin *plugin)
{
	if (c->model == SCENE_NONE || plugin->model == SDF_NONE)
		return NULL;
	return &c->systems->scene->models[c->model].from->models.at[plugin->model];
}

static void system_add_kind_words(struct system *system)
{
	for (const struct troupe_words *word = system->self.kind->words; word && word->name; word++)
		setup_add_words(&system->self, word->name, word->kind, 1);
}

/* Calls system_configure(). *ret_setup: what came of it. */
static void system_set_up(struct system *system, struct setup *setup)
{
	const struct sdf_element *plugin = system->plugin->element;
	const struct troupe_system given = system->self;
	system->setup = setup;
	setup->status = setup_check(system, plugin, &setup->why);
	if (!setup->status) {
		system_add_kind_words(system);
		guard_enter(system, "configure()");
		bool done = system->self.kind->configure(
			&system->self, (const struct troupe_element *)(const void *)plugin);
		guard_leave();
		/* a plug-in may write to all of it, but only the config is its own */
		system->self.host = given.host;
		system->self.kind = given.kind;
		system->self.model = given.model;
		if (!done && !setup->status && !setup->passed)
			setup_refuse(&system->self, NULL, "plugin '%s' gave up without a reason",
				system->self.kind->names[0]);
	}
	system->setup = NULL;
}

static troupe_status system_configure(struct configuring *c, const struct sdf_plugin *plugin,
	const struct troupe_kind *kind, const struct plugin_library *library, struct troupe_error *error)
{
	struct setup setup = {.arena = c->arena, .share = c->share, .owner = system_owner_of(c, plugin)};
	struct system system = {.self = {&system_host, kind, NULL, c->model},
		.all = c->systems,
		.scene = c->systems->scene,
		.library = library,
		.plugin = plugin,
		.index = c->found.count,
		.word_first = c->words};
	system_set_up(&system, &setup);
	for (uint32_t i = 0; i < setup.warnings.count; i++)
		vec_push(&c->warnings, setup.warnings.at[i]);
	vec_free(&setup.warnings);
	arena_fini(&setup.scratch);
	if (!setup.status && !setup.passed)
		setup.status = system_check_topics(c, &system, plugin->element, &setup.why);
	if (!setup.status && !setup.passed) {
		c->words += system.words;
		vec_trim(&system.names);
		vec_trim(&system.topics);
		vec_trim(&system.outputs);
		vec_push(&c->found, system);
		return TROUPE_OK;
	}
	system_free_lists(&system);
	if (setup.status == TROUPE_EINVAL) /* it does not fit this model: a warning, as in Gazebo */
		vec_push(&c->warnings,
			arena_printf(c->arena, "%s; plugin '%s' is left out", setup.why.text, plugin->name));
	if (setup.passed || setup.status == TROUPE_EINVAL)
		return TROUPE_OK;
	if (error)
		*error = setup.why;
	return setup.status;
}

static void system_forget(struct system *systems, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		system_free_lists(&systems[i]);
	free(systems);
}

static troupe_status system_configure_triggers(struct configuring *c, struct troupe_error *error)
{
	const struct scene_model *m = &c->systems->scene->models[c->model];
	struct system system = {.self = {&system_host, &camera_trigger_kind, NULL, c->model},
		.all = c->systems,
		.scene = c->systems->scene,
		.index = c->found.count,
		.word_first = c->words};
	struct troupe_error why;
	troupe_status status = TROUPE_OK;
	camera_trigger_configure(&system, c->arena);
	if (system.topics.count)
		status = system_check_topics(c, &system, m->from->sensors.at[system.topics.at[0].tag].element, &why);
	if (system.topics.count && !status) {
		vec_push(&c->found, system);
		return TROUPE_OK;
	}
	system_free_lists(&system);
	if (status && error)
		*error = why;
	return status;
}

/* Their words come first among those of the model. */
static void system_configure_trails(struct configuring *c)
{
	const struct scene *scene = c->systems->scene;
	const struct sdf_world *world = scene->models[c->model].from;
	for (uint32_t i = 0; i < world->sensors.count; i++) {
		if (!trail_is_of(scene, c->model, &world->sensors.at[i]))
			continue;
		struct system system = {.self = {&system_host, &sensor_trail_kind, NULL, c->model},
			.all = c->systems,
			.scene = scene,
			.index = c->found.count,
			.word_first = c->words};
		sensor_trail_configure(&system, &world->sensors.at[i], c->arena);
		c->words += system.words;
		vec_push(&c->found, system);
	}
}

static troupe_status system_configure_one(
	struct configuring *c, const struct sdf_plugin *plugin, bool in_world, struct troupe_error *error)
{
	const struct troupe_kind *kind;
	const struct plugin_library *library;
	struct troupe_error why;
	bool for_model = in_world && c->model != SCENE_NONE;
	troupe_status status = system_kind_of(c->systems->plugins, plugin, &kind, &library, &why);
	if (!status && (!kind || library)) /* it was looked for */
		vec_push(&c->filenames, plugin->filename);
	if (status && for_model) /* the error was told when the systems of the world were made */
		return TROUPE_OK;
	bool each = kind && in_world && kind->flags & TROUPE_FOR_EACH_MODEL;
	if (!status && (!kind || each != for_model))
		return TROUPE_OK;
	if (!status)
		status = system_configure(c, plugin, kind, library, &why);
	if (status && error)
		*error = why;
	if (!status || !c->on_error)
		return status;
	c->on_error(c->ctx, why.text);
	c->first = c->first.status ? c->first : why;
	return TROUPE_OK;
}

/* The plug-ins of the world: those of the world itself, or those that are made for each model. */
static troupe_status system_configure_world(struct configuring *c, struct troupe_error *error)
{
	const struct sdf_world *world = c->systems->scene->sdf;
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < c->systems->of_world.count && !status; i++)
		status = system_configure_one(c, &world->plugins.at[c->systems->of_world.at[i]], true, error);
	return status;
}

static troupe_status system_configure_actor(
	struct configuring *c, const struct scene_model *m, struct troupe_error *error)
{
	const struct sdf_actor *from = &m->from->actors.at[m->actor->sdf];
	troupe_status status = TROUPE_OK;
	for (uint32_t p = from->plugin_first; p < from->plugin_first + from->plugin_count && !status; p++)
		status = system_configure_one(c, &m->from->actor_plugins.at[p], false, error);
	return status;
}

static troupe_status system_configure_model(struct configuring *c, struct troupe_error *error)
{
	const struct scene_model *m = &c->systems->scene->models[c->model];
	troupe_status status = TROUPE_OK;
	if (m->actor)
		return system_configure_actor(c, m, error);
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	system_configure_trails(c);
	for (uint32_t p = from->plugin_first; p < from->plugin_first + from->plugin_count && !status; p++)
		status = system_configure_one(c, &m->from->plugins.at[p], false, error);
	if (!status && !m->is_static)
		status = system_configure_world(c, error);
	return status ? status : system_configure_triggers(c, error);
}

/* The systems that were found become the model's set, and listen to their topics. The libraries that were looked for
 * are a part of the run from now on, and not before: a model that was refused leaves nothing. */
static void system_adopt(struct configuring *c, struct arena *owned)
{
	for (uint32_t i = 0; i < c->filenames.count; i++)
		plugins_use(c->systems->plugins, c->filenames.at[i]);
	struct system_set *set = c->model == SCENE_NONE ? &c->systems->world : &c->systems->sets[c->model];
	*set = (struct system_set){c->found.at, c->found.count, c->words, false, owned};
	for (uint32_t i = 0; i < set->count; i++) {
		set->updates |= set->at[i].self.kind->update != NULL;
		c->systems->reading += (set->at[i].self.kind->flags & TROUPE_READS_CONTACTS) != 0;
	}
	c->systems->updating += set->updates;
	c->systems->count += set->count;
	systems_subscribe(c->systems, c->model);
}

static void system_fit(struct systems *systems)
{
	uint32_t room = systems->scene->room.models;
	systems->sets = mem_grow(systems->sets, systems->room * sizeof *systems->sets, room * sizeof *systems->sets);
	systems->room = room;
}

/* model: SCENE_NONE: the world. */
static troupe_status system_create_set(struct systems *systems, uint32_t model, struct share *share,
	void (*on_error)(void *ctx, const char *text), void *ctx, struct troupe_error *first,
	struct troupe_error *error)
{
	struct configuring c = {.systems = systems,
		.model = model,
		.arena = &systems->arena,
		.share = share,
		.on_error = on_error,
		.ctx = ctx};
	troupe_status status =
		model == SCENE_NONE ? system_configure_world(&c, error) : system_configure_model(&c, error);
	for (uint32_t i = 0; i < c.warnings.count; i++)
		vec_push(&systems->warnings, c.warnings.at[i]);
	vec_free(&c.warnings);
	if (status)
		system_forget(c.found.at, c.found.count);
	else
		system_adopt(&c, NULL);
	vec_free(&c.filenames);
	*first = first->status ? *first : c.first;
	return status;
}

static troupe_status system_create_all(
	struct systems *systems, void (*on_error)(void *ctx, const char *text), void *ctx, struct troupe_error *error)
{
	struct troupe_error first = {0};
	struct share share = {0};
	troupe_status status = system_create_set(systems, SCENE_NONE, &share, on_error, ctx, &first, error);
	for (uint32_t m = 0; m < systems->scene->model_count && !status; m++)
		status = system_create_set(systems, m, &share, on_error, ctx, &first, error);
	share_fini(&share);
	if (!first.status)
		return status;
	*error = first;
	return first.status;
}

troupe_status systems_create(
	struct scene *scene, struct plugins *plugins, struct systems **ret_systems, struct troupe_error *error)
{
	return systems_create_telling(scene, plugins, NULL, NULL, ret_systems, error);
}

/* Whether two worlds have the same topics, because topics begin with the cleaned name of their world. */
static bool system_same_topics(const struct sdf_world *a, const struct sdf_world *b)
{
	char *of_a = mem_printf("/world/%s", a->name), *of_b = mem_printf("/world/%s", b->name);
	topic_name_clean(of_a);
	topic_name_clean(of_b);
	bool same = !strcmp(of_a, of_b);
	free(of_a);
	free(of_b);
	return same;
}

troupe_status systems_check_worlds(const struct sdf *sdf, struct troupe_error *error)
{
	for (uint32_t i = 0; i < sdf->worlds.count; i++)
		for (uint32_t k = 0; k < i; k++) {
			const struct sdf_world *world = &sdf->worlds.at[i], *other = &sdf->worlds.at[k];
			if (!strcmp(world->name, other->name))
				return fail(error, TROUPE_EWORLD,
					"%s:%u: a second world '%s': expected worlds of different names", sdf->path,
					world->line, world->name);
			if (system_same_topics(world, other))
				return fail(error, TROUPE_EWORLD,
					"%s:%u: worlds '%.80s' and '%.80s' have the same topics, in which a blank is "
					"'_': expected names that differ more",
					sdf->path, world->line, other->name, world->name);
		}
	return TROUPE_OK;
}

troupe_status systems_create_telling(struct scene *scene, struct plugins *plugins,
	void (*on_error)(void *ctx, const char *text), void *ctx, struct systems **ret_systems,
	struct troupe_error *error)
{
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	struct systems *systems = mem_alloc(sizeof *systems);
	systems->scene = scene;
	systems->plugins = plugins;
	systems->fault = mem_alloc(sizeof *systems->fault);
	pthread_mutex_init(&systems->lock, NULL);
	system_fit(systems);
	for (uint32_t p = 0; p < scene->sdf->plugins.count; p++)
		if (scene->sdf->plugins.at[p].model == SDF_NONE)
			vec_push(&systems->of_world, p);
	troupe_status status = system_create_all(systems, on_error, ctx, error);
	if (status) {
		systems_destroy(systems);
		return status;
	}
	*ret_systems = systems;
	return TROUPE_OK;
}

troupe_status systems_add(struct systems *systems, uint32_t model, const char **ret_warning, struct troupe_error *error)
{
	struct arena *arena = mem_alloc(sizeof *arena);
	struct share share = {0};
	struct configuring c = {.systems = systems, .model = model, .arena = arena, .share = &share};
	system_fit(systems);
	troupe_status status = system_configure_model(&c, error);
	if (status) {
		system_forget(c.found.at, c.found.count);
		arena_fini(arena);
		free(arena);
	} else {
		*ret_warning = c.warnings.count ? c.warnings.at[0] : NULL;
		system_adopt(&c, arena);
	}
	share_fini(&share);
	vec_free(&c.filenames);
	vec_free(&c.warnings);
	return status;
}

static void system_drop_set(struct systems *systems, struct system_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		systems->reading -= (set->at[i].self.kind->flags & TROUPE_READS_CONTACTS) != 0;
	systems->updating -= set->updates;
	systems->count -= set->count;
	system_forget(set->at, set->count);
	if (set->arena) {
		arena_fini(set->arena);
		free(set->arena);
	}
	*set = (struct system_set){0};
}

void systems_remove(struct systems *systems, uint32_t model)
{
	system_drop_set(systems, &systems->sets[model]);
}

void systems_destroy(struct systems *systems)
{
	if (!systems)
		return;
	for (uint32_t m = 0; m < systems->room; m++)
		system_drop_set(systems, &systems->sets[m]);
	system_drop_set(systems, &systems->world);
	for (uint32_t i = 0; i < systems->topics.count; i++) {
		free(systems->topics.at[i].name);
		vec_free(&systems->topics.at[i].listeners);
	}
	free(systems->fault);
	free(systems->sets);
	vec_free(&systems->topics);
	vec_free(&systems->of_world);
	vec_free(&systems->free_topics);
	vec_free(&systems->warnings);
	map_fini(&systems->topic_by_name);
	pthread_mutex_destroy(&systems->lock);
	arena_fini(&systems->arena);
	free(systems);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

const struct system_listeners *systems_find_listeners(const struct systems *systems, const char *topic)
{
	uint32_t index;
	return map_find(&systems->topic_by_name, topic, &index) ? &systems->topics.at[index] : NULL;
}

message_type systems_topic_type(struct systems *systems, const char *topic)
{
	pthread_mutex_lock(&systems->lock);
	const struct system_listeners *entry = systems_find_listeners(systems, topic);
	message_type type = entry ? entry->type : NULL;
	pthread_mutex_unlock(&systems->lock);
	return type;
}

void systems_near_topics(struct systems *systems, const char *like, char *ret_text, size_t bytes)
{
	struct near near = near_to(like);
	size_t used = 0;
	*ret_text = '\0';
	pthread_mutex_lock(&systems->lock);
	for (uint32_t i = 0; i < systems->topics.count; i++)
		if (systems->topics.at[i].name)
			near_offer(&near, systems->topics.at[i].name);
	for (uint32_t i = 0; i < near.count && used < bytes; i++)
		used += (size_t)snprintf(ret_text + used, bytes - used, "%s%s", i ? ", " : "", near.names[i]);
	if (near.offered > near.count && used < bytes)
		(void)snprintf(ret_text + used, bytes - used, ", ...");
	pthread_mutex_unlock(&systems->lock);
}
