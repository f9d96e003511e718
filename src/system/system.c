#include "system/system.h"

#include <stdlib.h>
#include <string.h>

static const struct system_ops *find_ops(const char *name)
{
	for (const struct system_ops *const *ops = system_builtin; *ops; ops++)
		for (const char *const *alias = (*ops)->names; *alias; alias++)
			if (!strcmp(*alias, name))
				return *ops;
	return NULL;
}

/* Several systems may listen to one topic, as robots that share a <topic> do, if they take the same messages. */
static troupe_status listen(struct systems *systems, uint32_t first, uint32_t index, const struct sdf_element *plugin,
	struct troupe_error *error)
{
	struct system_address *last = &systems->topics.at[first];
	const struct system_topic *theirs = &systems->all.at[last->system].topics.at[last->topic];
	const struct system_address *mine = &systems->topics.at[index];
	const struct system_topic *own = &systems->all.at[mine->system].topics.at[mine->topic];
	if (theirs->schema != own->schema)
		return fail(error, TROUPE_EWORLD, "%s:%u: topic '%s' carries %s for another plugin: expected %s",
			plugin->file, plugin->line, own->name, theirs->schema->type, own->schema->type);
	while (last->next1)
		last = &systems->topics.at[last->next1 - 1];
	last->next1 = index + 1;
	return TROUPE_OK;
}

static troupe_status add_topics(
	struct systems *systems, uint32_t index, const struct sdf_element *plugin, struct troupe_error *error)
{
	const struct system *system = &systems->all.at[index];
	troupe_status status = TROUPE_OK;
	for (uint32_t t = 0; t < system->topics.count && !status; t++) {
		uint32_t first = 0, mine = systems->topics.count;
		vec_push(&systems->topics, (struct system_address){index, t, 0});
		if (map_find(&systems->topic_by_name, system->topics.at[t].name, &first))
			status = listen(systems, first, mine, plugin, error);
		else
			(void)map_add(&systems->topic_by_name, system->topics.at[t].name, mine);
	}
	return status;
}

static troupe_status add_system(struct systems *systems, const struct scene *scene, uint32_t model,
	const struct sdf_plugin *plugin, const struct system_ops *ops, struct troupe_error *error)
{
	struct system system = {.ops = ops, .scene = scene, .model = model, .word_first = systems->words[model]};
	struct troupe_error why = {0};
	troupe_status status = ops->configure(&system, plugin->element, &systems->arena, &why);
	if (status == TROUPE_EINVAL) { /* it does not fit this model: Gazebo says so and goes on */
		vec_free(&system.topics);
		vec_push(&systems->warnings,
			arena_printf(&systems->arena, "%s; plugin '%s' is left out", why.text, plugin->name));
		return TROUPE_OK;
	}
	vec_push(&systems->all, system);
	if (status) {
		if (error)
			*error = why;
		return status;
	}
	if (system.words > SYSTEM_WORDS_MAX)
		return fail(error, TROUPE_ELIMIT, "%s:%u: plugin '%s' needs %u words of state; the limit is %d",
			plugin->element->file, plugin->element->line, plugin->name, system.words, SYSTEM_WORDS_MAX);
	systems->words[model] += system.words;
	systems->count[model]++;
	return add_topics(systems, systems->all.count - 1, plugin->element, error);
}

static void warn_unknown(struct systems *systems, struct map *warned, const struct sdf_plugin *plugin)
{
	if (map_add(warned, plugin->name, 0))
		vec_push(&systems->warnings,
			arena_printf(&systems->arena, "%s:%u: plugin '%s' is not known; it is ignored",
				plugin->element->file, plugin->element->line, plugin->name));
}

bool systems_know(const char *plugin_name)
{
	return find_ops(plugin_name) != NULL;
}

troupe_status systems_create(const struct scene *scene, struct systems **ret_systems, struct troupe_error *error)
{
	return systems_create_telling(scene, NULL, NULL, ret_systems, error);
}

troupe_status systems_create_telling(const struct scene *scene, void (*on_error)(void *ctx, const char *text),
	void *ctx, struct systems **ret_systems, struct troupe_error *error)
{
	struct troupe_error first = {0}, unwanted;
	error = error ? error : &unwanted;
	struct systems *systems = mem_alloc(sizeof *systems);
	systems->first = mem_alloc(scene->model_count * sizeof *systems->first);
	systems->count = mem_alloc(scene->model_count * sizeof *systems->count);
	systems->words = mem_alloc(scene->model_count * sizeof *systems->words);
	struct map warned = {0};
	troupe_status status = TROUPE_OK;
	for (uint32_t m = 0; m < scene->model_count && !status; m++) {
		const struct sdf_model *from = &scene->sdf->models.at[scene->models[m].sdf];
		systems->first[m] = systems->all.count;
		for (uint32_t p = from->plugin_first; p < from->plugin_first + from->plugin_count && !status; p++) {
			const struct sdf_plugin *plugin = &scene->sdf->plugins.at[p];
			const struct system_ops *ops = find_ops(plugin->name);
			if (ops)
				status = add_system(systems, scene, m, plugin, ops, error);
			else
				warn_unknown(systems, &warned, plugin);
			if (status && on_error) {
				on_error(ctx, error->text);
				first = first.status ? first : *error;
				status = TROUPE_OK;
			}
		}
	}
	map_fini(&warned);
	if (first.status) {
		*error = first;
		status = first.status;
	}
	if (status) {
		systems_destroy(systems);
		return status;
	}
	*ret_systems = systems;
	return TROUPE_OK;
}

void systems_destroy(struct systems *systems)
{
	if (!systems)
		return;
	for (uint32_t i = 0; i < systems->all.count; i++)
		vec_free(&systems->all.at[i].topics);
	vec_free(&systems->all);
	vec_free(&systems->topics);
	vec_free(&systems->warnings);
	map_fini(&systems->topic_by_name);
	free(systems->first);
	free(systems->count);
	free(systems->words);
	arena_fini(&systems->arena);
	free(systems);
}

static uint64_t *words_of(const struct system *system, const struct state *state, bool next)
{
	return state_systems(state, system->model, next) + system->word_first;
}

void systems_init_state(const struct systems *systems, struct state *state)
{
	for (uint32_t i = 0; i < systems->all.count; i++) {
		const struct system *system = &systems->all.at[i];
		if (system->ops->init)
			system->ops->init(system, words_of(system, state, false));
	}
}

const struct system_address *systems_find_topic(const struct systems *systems, const char *topic)
{
	uint32_t index;
	return map_find(&systems->topic_by_name, topic, &index) ? &systems->topics.at[index] : NULL;
}

void systems_command(const struct systems *systems, const struct system_address *address, const struct message *message,
	struct state *state)
{
	const struct system *system = &systems->all.at[address->system];
	system->ops->command(system, system->topics.at[address->topic].tag, message, words_of(system, state, false));
	state_touched(state, system->model);
}

void systems_pre_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	uint32_t words = systems->words[model];
	if (words)
		memcpy(state_systems(step->state, model, true), state_systems(step->state, model, false), words * 8);
	for (uint32_t i = systems->first[model]; i < systems->first[model] + systems->count[model]; i++) {
		const struct system *system = &systems->all.at[i];
		if (system->ops->pre_update)
			system->ops->pre_update(system, step, words_of(system, step->state, true));
	}
}

void systems_post_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	for (uint32_t i = systems->first[model]; i < systems->first[model] + systems->count[model]; i++) {
		const struct system *system = &systems->all.at[i];
		if (system->ops->post_update)
			system->ops->post_update(system, step, words_of(system, step->state, true));
	}
}
