/* The primary's part of systems: primary_systems_update(), and what report() may read.
 *
 * Systems are called in a fixed order, those of the world first, then those of models in the order of their places; all
 * see the same state k. What they ask for is done after the last of them was called. So the order matters only between
 * systems of one model.
 *
 * What a system asks for is asked for in the name of the robot client that owns its model (run/owners.h): it reaches
 * what the client itself may reach, and nothing else. */
#include "run/primary_commands.h"
#include "run/primary_internal.h"

#include "run/services.h"
#include "run/surfaced.h"
#include "sensor/reading.h"

#include <stdlib.h>
#include <string.h>

/* Messages and requests in one step: of one system, and of all. */
enum { PRIMARY_SYSTEMS_ASKED_MAX = 1 << 14, DECIDED_MAX = 1 << 16, PUBLISHED_BYTES_MAX = 64 << 20 };

_Static_assert(PRIMARY_SYSTEMS_ASKED_MAX < DECIDED_MAX, "one system alone leaves room for others");

static bool primary_systems_is_there(void *ctx, uint32_t model)
{
	const struct primary *primary = ctx;
	const struct loading *loading = &primary->plan.loading;
	const struct scene_model *m = &primary->shared->scene->models[model];
	return m->id && !m->absent && (m->is_static ? loading->statics[model] : loading->active[model]);
}

/* --- acting ------------------------------------------------------------------------------------------------------- */

static void primary_systems_refuse(struct primary *primary, const char *topic, troupe_status status, const char *text)
{
	if (primary->options.on_reply)
		primary->options.on_reply(primary->options.ctx, primary->lockstep.number, topic, status, text, false);
	primary->refused++;
}

/* One reply for all that a system has asked for in vain, or else it would be told as often as it asks. */
static void primary_systems_end_asking(struct primary *primary)
{
	const struct asking *asking = &primary->asking;
	if (asking->dropped) {
		const struct troupe_system *self = &asking->system->self;
		bool of_model = self->model != SCENE_NONE;
		struct troupe_error why;
		(void)fail(&why, TROUPE_ELIMIT,
			"%s%.100s%s: %u messages and requests in one step: expected at most %d, of all systems %d: the "
			"last %u are dropped",
			of_model ? "model '" : "the world",
			of_model ? primary->shared->scene->models[self->model].name : "", of_model ? "'" : "",
			asking->count + asking->dropped, PRIMARY_SYSTEMS_ASKED_MAX, DECIDED_MAX, asking->dropped);
		primary_systems_refuse(primary, self->kind->names[0], TROUPE_ELIMIT, why.text);
	}
	primary->asking = (struct asking){0};
}

/* Whether the system may publish or request one thing more in this step. */
static bool primary_systems_may_ask(struct primary *primary, const struct system *system)
{
	struct asking *asking = &primary->asking;
	if (asking->system != system)
		primary_systems_end_asking(primary);
	asking->system = system;
	if (asking->count >= PRIMARY_SYSTEMS_ASKED_MAX || primary->decided.count >= DECIDED_MAX) {
		asking->dropped++;
		return false;
	}
	asking->count++;
	return true;
}

static void primary_systems_decide(struct primary *primary, struct command *command)
{
	if (primary->decided.count < DECIDED_MAX) {
		vec_push(&primary->decided, *command);
		return;
	}
	primary_systems_refuse(
		primary, command->topic, TROUPE_ELIMIT, "systems ask for more than 65536 things in one step");
	command_fini(command);
}

/* The robot client that owns the system's model; 0: none does. */
static uint32_t primary_systems_owner_of(const struct primary *primary, const struct system *system)
{
	uint32_t model = system->self.model;
	return model == SCENE_NONE ? 0 : primary->shared->scene->models[model].owner;
}

static void primary_systems_publish(
	void *ctx, const struct system *system, uint32_t output, const ProtobufCMessage *message)
{
	struct primary *primary = ctx;
	const char *topic = system->outputs.at[output].def.name;
	if (!primary_systems_may_ask(primary, system))
		return;
	if (primary->published_bytes.count < PUBLISHED_BYTES_MAX) {
		size_t first = primary->published_bytes.count;
		message_add_bytes(&primary->published_bytes, message);
		vec_push(&primary->published, (struct published){system->self.model, system->index, output, first,
						      primary->published_bytes.count - first});
	}
	uint32_t owner = primary_systems_owner_of(primary, system);
	if (!primary_reaches(primary, owner, topic))
		return;
	struct command command = {.step = primary->lockstep.number,
		.owner = owner,
		.topic = mem_strdup(topic),
		.message = message_copy(message),
		.told = true};
	primary_systems_decide(primary, &command);
}

void primary_hear(struct primary *primary, uint32_t owner, const char *topic, ProtobufCMessage *message)
{
	struct command command = {.step = primary->lockstep.number,
		.owner = owner,
		.topic = mem_strdup(topic),
		.message = message,
		.told = true};
	if (primary_reaches(primary, owner, topic))
		primary_systems_decide(primary, &command);
	else
		command_fini(&command);
}

static void primary_systems_request(
	void *ctx, const struct system *system, const char *name, const ProtobufCMessage *message)
{
	struct primary *primary = ctx;
	if (!primary_systems_may_ask(primary, system))
		return;
	const struct command_service *service = services_find(name);
	struct troupe_error why;
	char *topic = mem_printf("/world/%s/%s", primary->shared->scene->name, name);
	troupe_status status = TROUPE_OK;
	if (!service || service->replaces)
		status = fail(&why, TROUPE_ECOMMAND, "%.100s asks for this service: expected one of the world's",
			system->self.kind->names[0]);
	else if (message->descriptor != service->type)
		status = fail(&why, TROUPE_ECOMMAND, "%.100s sends %s: expected %s", system->self.kind->names[0],
			message->descriptor->name, service->type->name);
	if (status) {
		primary_systems_refuse(primary, topic, status, why.text);
		free(topic);
		return;
	}
	struct command command = {.step = primary->lockstep.number,
		.owner = primary_systems_owner_of(primary, system),
		.service = service,
		.topic = topic,
		.message = message_copy(message),
		.told = true};
	schedule_prepare(&primary->schedule, &command);
	primary_systems_decide(primary, &command);
}

static void primary_systems_attach(void *ctx, const struct system *system, uint32_t link, uint32_t other)
{
	struct primary *primary = ctx;
	if (primary->attachments.count < DECIDED_MAX)
		vec_push(&primary->attachments,
			(struct attachment_asked){system->self.model, system->index, link, other});
}

/* Systems try again in each step: the refusal of a model's attachments is told once. */
static bool primary_systems_may_attach(void *ctx, const struct system *system, uint32_t other)
{
	struct primary *primary = ctx;
	const struct scene *scene = primary->shared->scene;
	const struct scene_model *self = &scene->models[system->self.model],
				 *to = &scene->models[scene->links[other].model];
	if (owners_may_act(&primary->edit.owners, self->owner, to->owner))
		return true;
	if (!indices_has(&primary->attachments_refused, system->self.model)) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_ECOMMAND,
			"model '%.100s' of client '%.80s': model '%.100s' was not created by this client: expected a "
			"model on which the client may act",
			self->name, owners_name(&primary->edit.owners, self->owner), to->name);
		primary_systems_refuse(primary, "attach", why.status, why.text);
		indices_add(&primary->attachments_refused, system->self.model);
	}
	return false;
}

static void primary_systems_detach(void *ctx, const struct system *system)
{
	primary_systems_attach(ctx, system, SCENE_NONE, SCENE_NONE);
}

static void primary_systems_obey_ties(struct primary *primary)
{
	struct troupe_error why;
	for (uint32_t i = 0; i < primary->attachments.count; i++) {
		const struct attachment_asked *asked = &primary->attachments.at[i];
		if (asked->link == SCENE_NONE)
			(void)edit_detach(&primary->edit, asked->model, asked->system);
		else if (edit_attach(&primary->edit, asked->model, asked->system, asked->link, asked->other, &why))
			primary_systems_refuse(primary, "attach", why.status, why.text);
	}
	primary->attachments.count = 0;
	primary_plan_effects(primary);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* "model::link::collision", in room that the next call for the same side uses again. */
static const char *primary_systems_name_geom(struct primary *primary, const struct scene_geom *geom, uint32_t side)
{
	struct text *out = &primary->touch_names[side];
	out->count = 0;
	text_add(out, "%s::%s", primary->shared->scene->links[geom->link].scoped, geom->name);
	return out->at;
}

static bool primary_systems_touch(void *ctx, uint32_t model, uint32_t i, struct troupe_touch *ret_touch)
{
	struct primary *primary = ctx;
	const struct scene *scene = primary->shared->scene;
	const struct observed *observed = &primary->observed;
	if (!primary->shared->systems->reading)
		return false; /* what is noted for others is not for systems */
	for (uint32_t c = 0; c < observed->contacts.count; c++) {
		const struct contact_note *note = &observed->contacts.at[c];
		const struct scene_geom *a = &scene->geoms[note->geoms[0]], *b = &scene->geoms[note->geoms[1]];
		if ((a->model != model && b->model != model) || i--)
			continue;
		*ret_touch = (struct troupe_touch){{a->link, b->link}, {a->model, b->model}, note->position,
			note->normal, note->depth,
			{primary_systems_name_geom(primary, a, 0), primary_systems_name_geom(primary, b, 1)}};
		return true;
	}
	return false;
}

static bool primary_systems_is_named(const struct sensor *sensor, const char *name)
{
	size_t full = strlen(sensor->name), length = strlen(name);
	if (length > full || strcmp(sensor->name + full - length, name) != 0)
		return false;
	return length == full || (full - length >= 2 && !strncmp(sensor->name + full - length - 2, "::", 2));
}

static uint32_t primary_systems_find_sensor(void *ctx, uint32_t model, const char *name)
{
	struct primary *primary = ctx;
	struct sensors *sensors = primary_sensors(primary);
	struct sensor *sensor;
	for (uint32_t i = 0; (sensor = sensors_find(sensors, model, i)); i++)
		if (primary_systems_is_named(sensor, name)) {
			sensors_use(sensors, sensor);
			return i;
		}
	return TROUPE_NOTHING;
}

static const double *primary_systems_reading(
	void *ctx, uint32_t model, uint32_t sensor, uint32_t *ret_count, double *ret_time_s)
{
	const struct primary *primary = ctx;
	const struct reading *found = readings_find(&primary->readings, model, sensor);
	if (!found)
		return NULL;
	*ret_count = found->count / (uint32_t)sizeof(double);
	*ret_time_s = (double)found->time_ns * 1e-9;
	return primary->readings.numbers.at + found->first;
}

/* --- the turn ----------------------------------------------------------------------------------------------------- */

static struct system_acts primary_systems_acts_of(struct primary *primary)
{
	return (struct system_acts){.publish = primary_systems_publish,
		.request = primary_systems_request,
		.may_attach = primary_systems_may_attach,
		.attach = primary_systems_attach,
		.detach = primary_systems_detach,
		.touch = primary_systems_touch,
		.find_sensor = primary_systems_find_sensor,
		.reading = primary_systems_reading,
		.is_there = primary_systems_is_there,
		.ctx = primary};
}

struct system_step primary_view(struct primary *primary)
{
	return (struct system_step){.step = {primary->lockstep.number, primary_time_s(primary), primary->edit.step_s},
		.state = primary->shared->state,
		.control = &primary->shared->control,
		.fault = primary->shared->systems->fault,
		.model = SCENE_NONE};
}

/* --- surfaces of static models ------------------------------------------------------------------------------------ */

/* A belt that runs wakes the models that have fallen asleep on it, or are about to. */
static void primary_systems_wake_on(struct primary *primary, uint32_t model, double dt)
{
	const struct shared *shared = primary->shared;
	const struct scene_model *m = &shared->scene->models[model];
	for (uint32_t g = m->geom_first; g < m->geom_first + m->geom_count; g++) {
		const struct surface_control *surface = &shared->control.surfaces[g];
		const struct aabb box = scene_static_box(&shared->scene->geoms[g]);
		if (surface->runs && surface->speed != 0)
			pairs_wake_sleepers(&primary->plan.pairs, &box, physics_sleep_steps(dt));
	}
}

static void primary_systems_update(struct primary *primary, uint32_t model, const struct system_step *step)
{
	if (systems_update(primary->shared->systems, model, step) && model != SCENE_NONE)
		state_wrote(primary->shared->state, model);
	if (model == SCENE_NONE || !primary->shared->scene->models[model].is_static ||
		!primary->shared->control.models[model].surfaces)
		return;
	indices_add(&primary->surfaced, model);
	primary_systems_wake_on(primary, model, step->step.dt);
}

void primary_update_systems(struct primary *primary)
{
	const struct systems *systems = primary->shared->systems;
	primary->published.count = 0;
	primary->published_bytes.count = 0;
	primary->acted = false;
	surfaced_clear(primary->shared->scene, &primary->shared->control, &primary->surfaced);
	if (!systems->updating)
		return;
	struct arena arena = {0};
	struct system_acts acts = primary_systems_acts_of(primary);
	struct system_step step = primary_view(primary);
	step.acts = &acts;
	step.arena = &arena;
	primary_systems_update(primary, SCENE_NONE, &step);
	for (uint32_t m = 0; m < systems->scene->model_count; m++)
		if (systems->sets[m].updates && primary_systems_is_there(primary, m))
			primary_systems_update(primary, m, &step);
	primary->acted = primary->published.count || primary->decided.count || primary->attachments.count;
	primary_systems_end_asking(primary);
	primary_systems_obey_ties(primary);
	arena_fini(&arena);
}
