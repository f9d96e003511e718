/* Systems of a world: plug-ins are matched by name to built-in systems, configured, and connected to topics. A
 * plug-in that does not fit its model is left out with a warning, as Gazebo does; a bad parameter is an error. All
 * state of a system is in the words of its model's state, and its configuration never changes: so a model can move
 * to another runner, be reset or be resumed without further work here.
 *
 * Models are added and removed between steps. The table of topics has a lock, because other threads ask it for the
 * types of topics. */
#include "system/builtin.h"

#include "base/math.h"
#include "program/program.h"
#include "system/camera_trigger.h"

#include <stdio.h>
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

/* Plug-ins of Gazebo that need no system here. troupe does their work itself (Physics, UserCommands), its clients ask
 * for the scene (SceneBroadcaster), or the plug-in only serves sensors of the world. Sensors are warned of by their
 * types (ignored.h). */
static const char *const *const inherent[] = {BUILTIN_NAMES("Physics"), BUILTIN_NAMES("UserCommands"),
	BUILTIN_NAMES("SceneBroadcaster"), BUILTIN_NAMES("Sensors"), BUILTIN_NAMES("Label"),
	BUILTIN_NAMES("AirPressure"), BUILTIN_NAMES("AirSpeed"), BUILTIN_NAMES("Altimeter"), BUILTIN_NAMES("Contact"),
	BUILTIN_NAMES("DopplerVelocityLogSystem"), BUILTIN_NAMES("ForceTorque"), BUILTIN_NAMES("Imu"),
	BUILTIN_NAMES("LogicalCamera"), BUILTIN_NAMES("Magnetometer"), BUILTIN_NAMES("NavSat")};

static bool is_inherent(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(inherent); i++)
		for (const char *const *alias = inherent[i]; *alias; alias++)
			if (!strcmp(*alias, name))
				return true;
	return false;
}

bool systems_ignore(const struct sdf_plugin *plugin)
{
	if (is_inherent(plugin->name) || program_is(plugin))
		return false;
	return plugin->model == SDF_NONE ? !scene_knows_plugin(plugin->name) : !find_ops(plugin->name);
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

static struct system_topic *topic_of(const struct systems *systems, const struct system_listener *listener)
{
	return &systems->sets[listener->model].at[listener->system].topics.at[listener->topic];
}

static uint32_t open_topic(struct systems *systems, const char *name, message_type type)
{
	struct system_listeners entry = {.name = mem_strdup(name), .type = type};
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

static void listen(struct systems *systems, struct system_listener listener)
{
	const struct system_topic *topic = topic_of(systems, &listener);
	uint32_t index;
	if (!map_find(&systems->topic_by_name, topic->name, &index))
		index = open_topic(systems, topic->name, topic->type);
	vec_push(&systems->topics.at[index].listeners, listener);
}

static void unlisten(struct systems *systems, struct system_listener listener)
{
	uint32_t index, kept = 0;
	if (!map_find(&systems->topic_by_name, topic_of(systems, &listener)->name, &index))
		return;
	struct system_listeners *entry = &systems->topics.at[index];
	for (uint32_t i = 0; i < entry->listeners.count; i++)
		if (memcmp(&entry->listeners.at[i], &listener, sizeof listener) != 0)
			entry->listeners.at[kept++] = entry->listeners.at[i];
	entry->listeners.count = kept;
	if (kept)
		return;
	(void)map_remove(&systems->topic_by_name, entry->name);
	free(entry->name);
	entry->name = NULL;
	vec_free(&entry->listeners);
	vec_push(&systems->free_topics, index);
}

static void for_each_topic(
	struct systems *systems, uint32_t model, void (*fn)(struct systems *systems, struct system_listener listener))
{
	const struct system_set *set = &systems->sets[model];
	pthread_mutex_lock(&systems->lock);
	for (uint32_t i = 0; i < set->count; i++)
		for (uint32_t t = 0; t < set->at[i].topics.count; t++)
			fn(systems, (struct system_listener){model, i, t});
	pthread_mutex_unlock(&systems->lock);
}

void systems_unsubscribe(struct systems *systems, uint32_t model)
{
	for_each_topic(systems, model, unlisten);
}

void systems_subscribe(struct systems *systems, uint32_t model)
{
	for_each_topic(systems, model, listen);
}

/* --- configuring -------------------------------------------------------------------------------------------------- */

struct configuring {
	struct systems *systems;
	uint32_t model;
	struct arena *arena;
	VEC(struct system) found;
	uint32_t words;
	VEC(const char *) warnings;
	void (*on_error)(void *ctx, const char *text); /* NULL: stop at the first error */
	void *ctx;
	struct troupe_error first; /* the first error that on_error was called for */
};

/* The message type of a topic, if it has a listener now, or will have one from the systems found so far; NULL: no
 * listener. */
static message_type carried(const struct configuring *c, const char *topic)
{
	const struct system_listeners *entry = systems_find_listeners(c->systems, topic);
	for (uint32_t i = 0; !entry && i < c->found.count; i++)
		for (uint32_t t = 0; t < c->found.at[i].topics.count; t++)
			if (!strcmp(c->found.at[i].topics.at[t].name, topic))
				return c->found.at[i].topics.at[t].type;
	return entry ? entry->type : NULL;
}

/* Several systems may listen to one topic, for example robots with the same <topic>. They must take the same type of
 * messages. */
static troupe_status check_topics(const struct configuring *c, const struct system *system,
	const struct sdf_element *plugin, struct troupe_error *error)
{
	for (uint32_t t = 0; t < system->topics.count; t++) {
		const struct system_topic *own = &system->topics.at[t];
		message_type type = carried(c, own->name);
		if (type && type != own->type)
			return fail(error, TROUPE_EWORLD,
				"%s:%u: topic '%s' carries %s for another plugin: expected %s", plugin->file,
				plugin->line, own->name, type->name, own->type->name);
	}
	return TROUPE_OK;
}

static void free_lists(struct system *system)
{
	vec_free(&system->outputs);
	vec_free(&system->topics);
}

static troupe_status configure(struct configuring *c, const struct sdf_plugin *plugin, const struct system_ops *ops,
	struct troupe_error *error)
{
	struct system system = {.ops = ops, .scene = c->systems->scene, .model = c->model, .word_first = c->words};
	struct troupe_error why = {0};
	troupe_status status = ops->configure(&system, plugin->element, c->arena, &why);
	if (!status)
		status = check_topics(c, &system, plugin->element, &why);
	if (!status && system.words > SYSTEM_WORDS_MAX)
		status = fail(&why, TROUPE_ELIMIT, "%s:%u: plugin '%s' needs %u words of state; the limit is %d",
			plugin->element->file, plugin->element->line, plugin->name, system.words, SYSTEM_WORDS_MAX);
	if (!status) {
		c->words += system.words;
		vec_push(&c->found, system);
		return TROUPE_OK;
	}
	free_lists(&system);
	if (status == TROUPE_EINVAL) { /* it does not fit this model: a warning, as in Gazebo */
		vec_push(&c->warnings, arena_printf(c->arena, "%s; plugin '%s' is left out", why.text, plugin->name));
		return TROUPE_OK;
	}
	if (error)
		*error = why;
	return status;
}

static void forget_systems(struct system *systems, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		free_lists(&systems[i]);
	free(systems);
}

static troupe_status configure_triggers(struct configuring *c, struct troupe_error *error)
{
	const struct scene_model *m = &c->systems->scene->models[c->model];
	struct system system = {.ops = &camera_trigger_ops, .scene = c->systems->scene, .model = c->model};
	struct troupe_error why;
	troupe_status status = TROUPE_OK;
	system.word_first = c->words;
	camera_trigger_configure(&system, c->arena);
	if (system.topics.count)
		status = check_topics(c, &system, m->from->sensors.at[system.topics.at[0].tag].element, &why);
	if (system.topics.count && !status) {
		vec_push(&c->found, system);
		return TROUPE_OK;
	}
	free_lists(&system);
	if (status && error)
		*error = why;
	return status;
}

static troupe_status configure_model(struct configuring *c, struct troupe_error *error)
{
	const struct scene_model *m = &c->systems->scene->models[c->model];
	if (m->actor) /* only its script moves it */
		return TROUPE_OK;
	const struct sdf_model *from = &m->from->models.at[m->sdf];
	troupe_status status = TROUPE_OK;
	for (uint32_t p = from->plugin_first; p < from->plugin_first + from->plugin_count && !status; p++) {
		const struct sdf_plugin *plugin = &m->from->plugins.at[p];
		const struct system_ops *ops = find_ops(plugin->name);
		if (ops)
			status = configure(c, plugin, ops, error);
		if (status && c->on_error) {
			c->on_error(c->ctx, error->text);
			c->first = c->first.status ? c->first : *error;
			status = TROUPE_OK;
		}
	}
	return status ? status : configure_triggers(c, error);
}

/* The systems that were found become the model's set, and listen to their topics. */
static void adopt(struct configuring *c, struct arena *owned)
{
	c->systems->sets[c->model] = (struct system_set){c->found.at, c->found.count, c->words, owned};
	c->systems->count += c->found.count;
	systems_subscribe(c->systems, c->model);
}

static void fit(struct systems *systems)
{
	uint32_t room = systems->scene->room.models;
	systems->sets = mem_grow(systems->sets, systems->room * sizeof *systems->sets, room * sizeof *systems->sets);
	systems->room = room;
}

static troupe_status create_all(
	struct systems *systems, void (*on_error)(void *ctx, const char *text), void *ctx, struct troupe_error *error)
{
	struct troupe_error first = {0};
	troupe_status status = TROUPE_OK;
	for (uint32_t m = 0; m < systems->scene->model_count && !status; m++) {
		struct configuring c = {
			.systems = systems, .model = m, .arena = &systems->arena, .on_error = on_error, .ctx = ctx};
		status = configure_model(&c, error);
		for (uint32_t i = 0; i < c.warnings.count; i++)
			vec_push(&systems->warnings, c.warnings.at[i]);
		vec_free(&c.warnings);
		if (status)
			forget_systems(c.found.at, c.found.count);
		else
			adopt(&c, NULL);
		first = first.status ? first : c.first;
	}
	if (!first.status)
		return status;
	*error = first;
	return first.status;
}

troupe_status systems_create(const struct scene *scene, struct systems **ret_systems, struct troupe_error *error)
{
	return systems_create_telling(scene, NULL, NULL, ret_systems, error);
}

troupe_status systems_create_telling(const struct scene *scene, void (*on_error)(void *ctx, const char *text),
	void *ctx, struct systems **ret_systems, struct troupe_error *error)
{
	struct troupe_error unwanted;
	error = error ? error : &unwanted;
	struct systems *systems = mem_alloc(sizeof *systems);
	systems->scene = scene;
	pthread_mutex_init(&systems->lock, NULL);
	fit(systems);
	troupe_status status = create_all(systems, on_error, ctx, error);
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
	struct configuring c = {.systems = systems, .model = model, .arena = arena};
	fit(systems);
	troupe_status status = configure_model(&c, error);
	if (status) {
		forget_systems(c.found.at, c.found.count);
		arena_fini(arena);
		free(arena);
	} else {
		*ret_warning = c.warnings.count ? c.warnings.at[0] : NULL;
		adopt(&c, arena);
	}
	vec_free(&c.warnings);
	return status;
}

static void drop_set(struct system_set *set)
{
	forget_systems(set->at, set->count);
	if (set->arena) {
		arena_fini(set->arena);
		free(set->arena);
	}
	*set = (struct system_set){0};
}

void systems_remove(struct systems *systems, uint32_t model)
{
	systems->count -= systems->sets[model].count;
	drop_set(&systems->sets[model]);
}

void systems_destroy(struct systems *systems)
{
	if (!systems)
		return;
	for (uint32_t m = 0; m < systems->room; m++)
		drop_set(&systems->sets[m]);
	for (uint32_t i = 0; i < systems->topics.count; i++) {
		free(systems->topics.at[i].name);
		vec_free(&systems->topics.at[i].listeners);
	}
	free(systems->sets);
	vec_free(&systems->topics);
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

void systems_list_topics(struct systems *systems, uint32_t count, char *ret_text, size_t bytes)
{
	uint32_t shown = 0;
	size_t used = 0;
	*ret_text = '\0';
	pthread_mutex_lock(&systems->lock);
	for (uint32_t i = 0; i < systems->topics.count && used < bytes; i++) {
		if (!systems->topics.at[i].name)
			continue;
		bool more = shown++ == count;
		used += (size_t)snprintf(ret_text + used, bytes - used, "%s%s", shown > 1 ? ", " : "",
			more ? "..." : systems->topics.at[i].name);
		if (more)
			break;
	}
	pthread_mutex_unlock(&systems->lock);
}

static uint64_t *words_of(const struct system *system, const struct state *state, bool next)
{
	return state_systems(state, system->model, next) + system->word_first;
}

void systems_init_model(const struct systems *systems, struct state *state, uint32_t model)
{
	for (uint32_t i = 0; i < systems->sets[model].count; i++) {
		const struct system *system = &systems->sets[model].at[i];
		if (system->ops->init)
			system->ops->init(system, words_of(system, state, false));
	}
}

struct state *systems_create_state(const struct systems *systems)
{
	uint32_t models = systems->scene->model_count;
	uint32_t *words = mem_alloc(models * sizeof *words);
	for (uint32_t m = 0; m < models; m++)
		words[m] = systems->sets[m].words;
	struct state *state = state_create(systems->scene, words);
	free(words);
	for (uint32_t m = 0; m < models; m++)
		systems_init_model(systems, state, m);
	state_set_initial(state);
	return state;
}

/* --- the step ----------------------------------------------------------------------------------------------------- */

troupe_status systems_check(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct troupe_error *error)
{
	const struct system *system = &systems->sets[listener->model].at[listener->system];
	uint32_t tag = system->topics.at[listener->topic].tag;
	return system->ops->check ? system->ops->check(system, tag, message, error) : TROUPE_OK;
}

void systems_command(const struct systems *systems, const struct system_listener *listener,
	const ProtobufCMessage *message, struct state *state)
{
	const struct system *system = &systems->sets[listener->model].at[listener->system];
	system->ops->command(system, system->topics.at[listener->topic].tag, message, words_of(system, state, false));
	state_touched(state, system->model);
}

void systems_pre_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	const struct system_set *set = &systems->sets[model];
	if (set->words)
		memcpy(state_systems(step->state, model, true), state_systems(step->state, model, false),
			set->words * 8);
	for (uint32_t i = 0; i < set->count; i++)
		if (set->at[i].ops->pre_update)
			set->at[i].ops->pre_update(&set->at[i], step, words_of(&set->at[i], step->state, true));
}

void systems_post_update(const struct systems *systems, uint32_t model, const struct system_step *step)
{
	const struct system_set *set = &systems->sets[model];
	for (uint32_t i = 0; i < set->count; i++)
		if (set->at[i].ops->post_update)
			set->at[i].ops->post_update(&set->at[i], step, words_of(&set->at[i], step->state, true));
}

/* The present pose of the frame, relative to its pose by dead reckoning. */
static struct system_drift drift_between(struct pose reckoned, struct pose is)
{
	struct pose off = pose_mul(pose_inverse(reckoned), is);
	return (struct system_drift){
		.position_m = sqrt(off.p.x * off.p.x + off.p.y * off.p.y),
		.yaw_rad = remainder(2 * math_atan2(off.q.z, off.q.w), 2 * M_PI),
		.tilt_rad = 2 * math_asin(fmin(sqrt(off.q.x * off.q.x + off.q.y * off.q.y), 1)),
	};
}

bool systems_reckon(const struct systems *systems, const struct state *state, uint32_t model,
	struct system_reckoning *ret_reckoning, struct system_drift *ret_drift)
{
	const struct system_set *set = &systems->sets[model];
	uint32_t i = 0;
	while (i < set->count && !set->at[i].ops->reckon)
		i++;
	if (i == set->count)
		return false;
	struct system_reckoning *r = ret_reckoning;
	set->at[i].ops->reckon(&set->at[i], words_of(&set->at[i], state, false), r);
	struct pose reckoned = {{r->x, r->y, 0}, quat_from_rpy(0, 0, r->yaw)};
	if (!pose_finite(reckoned) || !isfinite(r->linear) || !isfinite(r->angular))
		return false;
	struct pose began = pose_mul(state_model_home(state, model), r->frame);
	*ret_drift =
		drift_between(pose_mul(began, reckoned), pose_mul(state_model_pose(state, model, false), r->frame));
	return true;
}
