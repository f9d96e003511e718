/* A request is made whole before a service sees it: converted to CDR by the definition of its type and back, it has
 * every field, each of the right type. So services check only what the type does not say, and a protocol that has CDR
 * and not JSON needs nothing more than the same conversion. */
#include "gateway/ros/simulation_internal.h"

#include "base/map.h"
#include "gateway/ros/json.h"
#include "gateway/ros/names.h"
#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

static const struct job_row *const simulation_tables[] = {
	job_run_rows, job_world_rows, job_entity_rows, job_place_rows, job_resource_rows};

char *simulation_why(const struct text *values)
{
	json_t *json = json_loadb(values->at, values->count, 0, NULL);
	char *why = mem_strdup(job_text(json, "error_string"));
	json_decref(json);
	return why;
}

/* --- jobs --------------------------------------------------------------------------------------------------------- */

static void simulation_free_job(struct job *job)
{
	job_end_watch(job);
	struct job **link = &job->simulation->jobs;
	while (*link != job)
		link = &(*link)->after;
	*link = job->after;
	job->simulation->job_count--;
	if (job->world && job->world->stepper == job)
		job->world->stepper = NULL;
	job_drop_models(job);
	job_forget_sent(job);
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		free(job->spawns.at[i].message);
		free(job->spawns.at[i].name);
	}
	vec_free(&job->sent);
	vec_free(&job->items);
	vec_free(&job->spawns);
	json_decref(job->args);
	free(job);
}

static void simulation_go_on(struct job *job)
{
	while (!job->waiting && !job->is_answered && job->next) {
		if (job->wants_models) {
			const struct job_sent *refused = job_refused(job);
			job_answer(job, JOB_FAILED, "%s", refused ? refused->text : "the world does not answer");
		} else {
			job->next(job);
		}
	}
	if (job->is_answered)
		simulation_free_job(job);
}

static void simulation_begin(struct job *job)
{
	job_forget_sent(job);
	if (job->row->need == JOB_MODELS && job->models->no_world)
		job_answer(job, JOB_INCORRECT_STATE, "no world is loaded: expected load_world first");
	else
		job->row->begin(job);
}

struct simulation_request { /* in one of both forms; neither: no fields are given */
	const json_t *json;
	const void *cdr;
	size_t count;
};

/* The request with all fields. */
static troupe_status simulation_read_args(
	struct job *job, const struct simulation_request *request, struct troupe_error *error)
{
	struct text json = {0};
	json_t *empty = json_object();
	char *type = mem_printf("%s_%s", job->row->type, job_is_action(job->row) ? "Goal" : "Request");
	troupe_status status = request->cdr ? ros_json_of_cdr(type, request->cdr, request->count, &json, error)
					    : job_complete(type, request->json ? request->json : empty, &json, error);
	if (!status) {
		job->args = json_loadb(json.at, json.count, 0, NULL);
		if (!job->args)
			status = fail(error, TROUPE_ECOMMAND, "a number is too large, or a text is not UTF-8");
	}
	json_decref(empty);
	text_fini(&json);
	free(type);
	return status;
}

static const struct job_part *simulation_find_part(const struct simulation *simulation, const char *name, bool action)
{
	for (uint32_t i = 0; i < simulation->parts.count; i++) {
		const struct job_part *part = simulation->parts.at[i];
		if (job_is_action(&part->row->row) == action && !strcmp(part->name, name))
			return part;
	}
	return NULL;
}

static const struct job_row *simulation_find_row(
	const struct simulation *simulation, const char *name, bool action, struct job_world **ret_world)
{
	for (uint32_t w = 0; w < simulation->worlds.count; w++) {
		struct job_world *world = simulation->worlds.at[w];
		size_t count = simulation->worlds.count == 1 ? 0 : strlen(world->name) + 1;
		if (*name != '/' || (count && (strncmp(name + 1, world->name, count - 1) || name[count] != '/')))
			continue;
		for (size_t t = 0; t < ARRAY_LEN(simulation_tables); t++)
			for (const struct job_row *row = simulation_tables[t]; row->name; row++)
				if (job_is_action(row) == action && !strcmp(row->name, name + count + 1)) {
					*ret_world = world;
					return row;
				}
	}
	return NULL;
}

/* What is asked for: of a world, or of a part of it. */
static void simulation_find(const struct simulation *simulation, const char *name, struct job *ret_job)
{
	for (int action = 0; action < 2 && !ret_job->row; action++) {
		ret_job->row = simulation_find_row(simulation, name, action, &ret_job->world);
		if (!ret_job->row && (ret_job->part = simulation_find_part(simulation, name, action)))
			ret_job->row = &ret_job->part->row->row;
	}
	assert(ret_job->row);
}

static void simulation_answer(struct simulation *simulation, const char *name, const struct simulation_request *request,
	const struct simulation_asker *asker)
{
	struct troupe_error error;
	struct job *job = mem_alloc(sizeof *job);
	*job = (struct job){
		.simulation = simulation, .after = simulation->jobs, .asker = *asker, .next = simulation_begin};
	simulation_find(simulation, name, job);
	simulation->jobs = job;
	if (!job->part)
		job_accept(job);
	if (simulation->job_count++ >= SIMULATION_CALLS_MAX)
		job_answer(job, JOB_FAILED, "%d requests wait: expected no more", (int)SIMULATION_CALLS_MAX);
	else if (simulation_read_args(job, request, &error))
		job_answer(job, JOB_FAILED, "%s", error.text);
	else if (job->row->need != JOB_ALONE)
		job_ask_models(job, false);
	simulation_go_on(job);
}

void simulation_call(
	struct simulation *simulation, const char *name, const json_t *args, const struct simulation_asker *asker)
{
	simulation_answer(simulation, name, &(struct simulation_request){.json = args}, asker);
}

void simulation_call_cdr(struct simulation *simulation, const char *name, const void *cdr, size_t count,
	const struct simulation_asker *asker)
{
	simulation_answer(simulation, name, &(struct simulation_request){.cdr = cdr, .count = count}, asker);
}

void simulation_cancel(struct simulation *simulation, const void *asker_ctx)
{
	for (struct job *job = simulation->jobs; job; job = job->after)
		if (job->asker.ctx == asker_ctx && job_is_action(job->row) && !job->is_cancelled) {
			job->is_cancelled = true;
			if (job->part)
				job->part->row->cancel(job);
		}
}

void simulation_take(struct simulation *simulation, const struct troupe_message *reply)
{
	simulation->last_step = MAX(simulation->last_step, reply->step);
	for (struct job *job = simulation->jobs; job; job = job->after)
		for (uint32_t i = 0; i < job->sent.count; i++) {
			struct job_sent *sent = &job->sent.at[i];
			struct troupe_error error;
			if (sent->tag != reply->tag || sent->done)
				continue;
			sent->done = true;
			job->waiting--;
			troupe_status status = reply->status;
			if (!status && type_find(reply->type))
				status = message_of_bytes(type_find(reply->type), reply->bytes, reply->count,
					&message_limits_none, &sent->reply, &error);
			if (status)
				job_refuse(sent, status, reply->status ? reply->text : error.text);
			else
				sent->text = mem_strdup(reply->text ? reply->text : "");
			job_keep_reply(job, sent);
			simulation_go_on(job);
			return;
		}
}

void simulation_hear(struct simulation *simulation, const struct troupe_message *message)
{
	struct job *after;
	for (struct job *job = simulation->watches ? simulation->jobs : NULL; job; job = after) {
		after = job->after;
		if (!job->watched || message->step < job->from_step || strcmp(job->watched, message->topic) != 0)
			continue;
		job->hear(job, message);
		simulation_go_on(job);
	}
}

/* --- parts of the world ------------------------------------------------------------------------------------------- */

/* Names of topics begin with the client's name in its process, and with "model" of models: "/arm/controller". NULL: it
 * has no name in ROS 2. */
static char *simulation_part_name(const struct simulation *simulation, const char *topic, const char *last)
{
	static const char model[] = "model/";
	const char *client = simulation->client ? simulation->client : "", *at = topic + 1;
	struct arena arena = {0};
	size_t count = strlen(client);
	bool own = count && !strncmp(at, client, count) && at[count] == '/';
	at += own ? count + 1 : 0;
	at += !strncmp(at, model, sizeof model - 1) ? sizeof model - 1 : 0;
	char *plain = mem_printf("%s%s/%s%s%s", own ? "/" : "", own ? client : "", at, *last ? "/" : "", last);
	const char *clean = names_clean(&arena, plain);
	char *name = clean ? mem_strdup(clean) : NULL;
	free(plain);
	arena_fini(&arena);
	return name;
}

/* Two models whose names become the same: the first one has it. */
static void simulation_add_part(
	struct simulation *simulation, const char *topic, const struct job_part_row *row, const char *last)
{
	char *name = simulation_part_name(simulation, topic, last);
	for (uint32_t i = 0; i < simulation->parts.count && name; i++) {
		struct job_part *part = simulation->parts.at[i];
		if (strcmp(part->name, name) != 0)
			continue;
		part->seen |= !strcmp(part->topic, topic);
		free(name);
		return;
	}
	if (!name)
		return;
	struct job_part *part = mem_alloc(sizeof *part);
	*part = (struct job_part){.name = name, .row = row, .topic = mem_strdup(topic), .seen = true};
	vec_push(&simulation->parts, part);
}

static void simulation_drop_part(struct simulation *simulation, uint32_t at)
{
	struct job_part *part = simulation->parts.at[at];
	struct job *after;
	for (struct job *job = simulation->jobs; job; job = after) {
		after = job->after;
		if (job->part != part)
			continue;
		job_answer(job, JOB_FAILED, "the controller is there no more");
		simulation_free_job(job);
	}
	simulation->parts.at[at] = simulation->parts.at[--simulation->parts.count];
	free(part->name);
	free(part->topic);
	free(part);
}

void simulation_look(struct simulation *simulation, const struct troupe_topics *topics)
{
	static const char behind[] = "/switch_controller";
	for (uint32_t i = 0; i < simulation->parts.count; i++)
		simulation->parts.at[i]->seen = false;
	for (uint32_t i = 0; i < topics->count && simulation->def.subscribe; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		size_t count = strlen(topic->name);
		if (topic->kind != TROUPE_TOPIC_SERVICE || *topic->name != '/')
			continue;
		if (!strcmp(topic->type, "troupe.msgs.TrajectoryGoal"))
			simulation_add_part(simulation, topic->name, &job_follow_row, "");
		if (strcmp(topic->type, "troupe.msgs.ControllerSwitch") != 0 || count < sizeof behind ||
			strcmp(topic->name + count - (sizeof behind - 1), behind) != 0)
			continue;
		char *manager = mem_printf("%.*s", (int)(count - (sizeof behind - 1)), topic->name);
		for (const struct job_part_row *row = job_manager_rows; row->row.name; row++)
			simulation_add_part(simulation, manager, row, row->row.name);
		free(manager);
	}
	for (uint32_t i = simulation->parts.count; i-- > 0;)
		if (!simulation->parts.at[i]->seen)
			simulation_drop_part(simulation, i);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static void simulation_each(const struct simulation *simulation, bool action,
	void (*fn)(void *ctx, const char *name, const char *type), void *ctx)
{
	for (uint32_t w = 0; w < simulation->worlds.count; w++)
		for (size_t t = 0; t < ARRAY_LEN(simulation_tables); t++)
			for (const struct job_row *row = simulation_tables[t]; row->name; row++) {
				const char *world = simulation->worlds.at[w]->name;
				char *name = simulation->worlds.count == 1 ? mem_printf("/%s", row->name)
									   : mem_printf("/%s/%s", world, row->name);
				if (job_is_action(row) == action)
					fn(ctx, name, row->type);
				free(name);
			}
	for (uint32_t i = 0; i < simulation->parts.count; i++)
		if (job_is_action(&simulation->parts.at[i]->row->row) == action)
			fn(ctx, simulation->parts.at[i]->name, simulation->parts.at[i]->row->row.type);
}

void simulation_each_service(
	const struct simulation *simulation, void (*fn)(void *ctx, const char *name, const char *type), void *ctx)
{
	simulation_each(simulation, false, fn, ctx);
}

void simulation_each_action(
	const struct simulation *simulation, void (*fn)(void *ctx, const char *name, const char *type), void *ctx)
{
	simulation_each(simulation, true, fn, ctx);
}

bool simulation_has_service(const struct simulation *simulation, const char *name)
{
	return simulation_find_row(simulation, name, false, &(struct job_world *){NULL}) ||
	       simulation_find_part(simulation, name, false);
}

bool simulation_has_action(const struct simulation *simulation, const char *name)
{
	return simulation_find_row(simulation, name, true, &(struct job_world *){NULL}) ||
	       simulation_find_part(simulation, name, true);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static bool simulation_has_next(const struct troupe_topics *topics, const char *world)
{
	char *name = mem_printf("/world/%s/next_run", world);
	bool has = false;
	for (uint32_t i = 0; i < topics->count && !has; i++)
		has = topics->at[i].kind == TROUPE_TOPIC_SERVICE && !strcmp(topics->at[i].name, name);
	free(name);
	return has;
}

/* A world is one that has a service for its models. */
struct simulation *simulation_create(const struct simulation_def *def, const struct troupe_topics *topics)
{
	static const char before[] = "/world/", behind[] = "/models";
	const size_t begin_count = sizeof before - 1, end_count = sizeof behind - 1;
	struct simulation *simulation = mem_alloc(sizeof *simulation);
	*simulation = (struct simulation){.def = *def, .client = def->client ? mem_strdup(def->client) : NULL};
	for (uint32_t i = 0; i < topics->count; i++) {
		const char *name = topics->at[i].name, *at = name + begin_count;
		size_t length = strlen(name);
		if (topics->at[i].kind != TROUPE_TOPIC_SERVICE || length <= begin_count + end_count ||
			strncmp(name, before, begin_count) != 0 || strcmp(name + length - end_count, behind) != 0)
			continue;
		size_t count = length - begin_count - end_count;
		if (memchr(at, '/', count))
			continue;
		struct job_world *world = mem_alloc(sizeof *world);
		*world = (struct job_world){.name = mem_printf("%.*s", (int)count, at), .was_stopped = true};
		world->has_next = simulation_has_next(topics, world->name);
		vec_push(&simulation->worlds, world);
	}
	simulation_look(simulation, topics);
	return simulation;
}

void simulation_end(struct simulation *simulation, const char *why)
{
	while (simulation->jobs) {
		struct job *job = simulation->jobs;
		job_answer(job, JOB_FAILED, "%s", why);
		simulation_free_job(job);
	}
}

void simulation_destroy(struct simulation *simulation)
{
	if (!simulation)
		return;
	while (simulation->jobs)
		simulation_free_job(simulation->jobs);
	for (uint32_t i = 0; i < simulation->worlds.count; i++) {
		free(simulation->worlds.at[i]->name);
		free(simulation->worlds.at[i]);
	}
	while (simulation->parts.count)
		simulation_drop_part(simulation, simulation->parts.count - 1);
	vec_free(&simulation->worlds);
	vec_free(&simulation->parts);
	free(simulation->client);
	free(simulation);
}
