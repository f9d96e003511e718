/* What a job asks, and what it answers. A response has every field of its type, as a request has (simulation.c). */
#include "gateway/ros/simulation_internal.h"

#include "gateway/ros/json.h"
#include "topic/message.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- asking the server -------------------------------------------------------------------------------------------- */

void job_refuse(struct job_sent *sent, troupe_status status, const char *why)
{
	sent->done = true;
	sent->status = status;
	sent->text = mem_strdup(why && *why ? why : troupe_status_text(status));
}

uint32_t job_ask(struct job *job, const char *service, const ProtobufCMessage *message)
{
	struct simulation *simulation = job->simulation;
	struct job_sent sent = {.tag = SIMULATION_TAG | ++simulation->tags};
	struct text bytes = {0};
	struct troupe_error error;
	char *name = *service == '/' ? mem_strdup(service) : mem_printf("/world/%s/%s", job->world->name, service);
	text_add(&bytes, "%s", "");
	message_add_bytes(&bytes, message);
	troupe_status status = simulation->def.call(
		simulation->def.ctx, name, message->descriptor->name, bytes.at, bytes.count, sent.tag, &error);
	if (status)
		job_refuse(&sent, status, error.text);
	else
		job->waiting++;
	vec_push(&job->sent, sent);
	text_fini(&bytes);
	free(name);
	return job->sent.count - 1;
}

void job_ask_models(struct job *job, bool boxes)
{
	Gz__Msgs__Boolean message = GZ__MSGS__BOOLEAN__INIT;
	message.data = boxes;
	job->wants_models = true;
	job->has_boxes = boxes;
	(void)job_ask(job, "models", &message.base);
}

void job_forget_sent(struct job *job)
{
	for (uint32_t i = 0; i < job->sent.count; i++) {
		free(job->sent.at[i].text);
		message_free(job->sent.at[i].reply);
	}
	job->sent.count = 0;
}

const struct job_sent *job_refused(const struct job *job)
{
	for (uint32_t i = 0; i < job->sent.count; i++)
		if (job->sent.at[i].status)
			return &job->sent.at[i];
	return NULL;
}

void job_drop_models(struct job *job)
{
	if (job->models)
		message_free(&job->models->base);
	job->models = NULL;
}

void job_keep_reply(struct job *job, struct job_sent *sent)
{
	if (!sent->reply || sent->reply->descriptor != &troupe__msgs__models__descriptor)
		return;
	job_drop_models(job);
	job->models = (Troupe__Msgs__Models *)sent->reply;
	sent->reply = NULL;
	const Gz__Msgs__Time *time = job->models->header ? job->models->header->stamp : NULL;
	job->time_ns = time ? time->sec * 1000000000 + time->nsec : 0;
	job->wants_models = false;
}

/* --- answering ---------------------------------------------------------------------------------------------------- */

void job_add_result(struct json_out *out, unsigned result, const char *message)
{
	json_out_object(out, "result");
	json_out_uint(out, "result", result);
	json_out_string(out, "error_message", message);
	json_out_end(out);
}

static enum simulation_end simulation_job_end_of(const struct job *job, unsigned result)
{
	if (result == JOB_OK)
		return SIMULATION_SUCCEEDED;
	return job->is_cancelled ? SIMULATION_CANCELED : SIMULATION_ABORTED;
}

static void simulation_job_send_answer(struct job *job, enum simulation_end end, const struct text *response)
{
	assert(!job->is_answered);
	job->is_answered = true;
	if (!job->is_accepted && end != SIMULATION_SUCCEEDED)
		end = SIMULATION_REFUSED;
	if (job->asker.answer)
		job->asker.answer(job->asker.ctx, end, response);
}

troupe_status job_complete(const char *type, const json_t *json, struct text *out, struct troupe_error *error)
{
	struct text cdr = {0};
	troupe_status status = ros_json_to_cdr(type, json, &cdr, error);
	if (!status)
		status = ros_json_of_cdr(type, cdr.at, cdr.count, out, error);
	text_fini(&cdr);
	return status;
}

bool job_is_action(const struct job_row *row)
{
	return strstr(row->type, "/action/");
}

/* A response of GetSimulatorFeatures has no result. */
void job_answer(struct job *job, unsigned result, const char *format, ...)
{
	struct troupe_error line;
	struct text given = {0}, response = {0};
	struct json_out out = {.text = &given};
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	char *type = mem_printf("%s_%s", job->row->type, job_is_action(job->row) ? "Result" : "Response");
	json_out_object(&out, NULL);
	if (job->part)
		job->part->row->refuse(&out, line.text);
	else
		job_add_result(&out, result, result == JOB_OK ? "" : line.text);
	json_out_end(&out);
	json_t *json = json_loadb(given.at, given.count, 0, NULL);
	if (job_complete(type, json, &response, NULL)) {
		json_object_clear(json);
		(void)job_complete(type, json, &response, NULL);
	}
	text_fini(&given);
	simulation_job_send_answer(job, simulation_job_end_of(job, result), &response);
	json_decref(json);
	text_fini(&response);
	free(type);
}

struct json_out *job_open(struct job *job)
{
	job->result = JOB_OK;
	job->out = (struct json_out){.text = &job->response};
	json_out_object(&job->out, NULL);
	return &job->out;
}

struct json_out *job_respond(struct job *job, unsigned result, const char *message)
{
	struct json_out *out = job_open(job);
	job->result = result;
	job_add_result(out, result, message);
	return out;
}

/* The services of the world give all fields; of others, those that are left out have their defaults. */
static void simulation_job_fill(struct job *job)
{
	struct text whole = {0};
	char *type = mem_printf("%s_%s", job->row->type, job_is_action(job->row) ? "Result" : "Response");
	json_t *json = json_loadb(job->response.at, job->response.count, 0, NULL);
	if (!job_complete(type, json, &whole, NULL)) {
		text_fini(&job->response);
		job->response = whole;
	}
	json_decref(json);
	free(type);
}

void job_send_end(struct job *job, enum simulation_end end)
{
	json_out_end(&job->out);
	if (job->part)
		simulation_job_fill(job);
	simulation_job_send_answer(job, end, &job->response);
	text_fini(&job->response);
}

void job_send(struct job *job)
{
	job_send_end(job, simulation_job_end_of(job, job->result));
}

void job_accept(struct job *job)
{
	if (!job->is_accepted && job->asker.accepted)
		job->asker.accepted(job->asker.ctx);
	job->is_accepted = true;
}

void job_finish(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	if (refused)
		job_answer(job, JOB_FAILED, "%s", refused->text);
	else
		job_answer(job, JOB_OK, "%s", "");
}

bool job_read_tags(struct job *job, const char *name, const json_t *filter, struct job_tags *ret_tags)
{
	const json_t *tags = json_object_get(filter, "tags"), *tag;
	int64_t mode = job_whole(filter, "filter_mode");
	size_t i;
	*ret_tags = (struct job_tags){.all = mode == 1};
	if (json_array_size(tags) > SIMULATION_TAGS_MAX || mode > 1) {
		job_answer(job, JOB_FAILED,
			"%s: %zu tags, mode %d: expected at most %d tags, and mode 0 (any) or 1 (all)", name,
			json_array_size(tags), (int)mode, (int)SIMULATION_TAGS_MAX);
		return false;
	}
	json_array_foreach(tags, i, tag) ret_tags->wanted[ret_tags->count++] = json_string_value(tag);
	return true;
}

static bool simulation_job_has_tag(const char *tag, char *const *has, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(has[i], tag))
			return true;
	return false;
}

bool job_has_tags(const struct job_tags *tags, char *const *has, size_t count)
{
	for (uint32_t i = 0; i < tags->count; i++)
		if (simulation_job_has_tag(tags->wanted[i], has, count) != tags->all)
			return !tags->all;
	return !tags->count || tags->all;
}

/* --- topics ------------------------------------------------------------------------------------------------------- */

void job_watch(struct job *job, const char *topic, double rate_hz,
	void (*hear)(struct job *job, const struct troupe_message *message))
{
	struct simulation *simulation = job->simulation;
	simulation->watches += !job->watched;
	free(job->watched);
	job->watched = mem_strdup(topic);
	job->hear = hear;
	job->from_step = simulation->last_step;
	simulation->def.subscribe(simulation->def.ctx, topic, rate_hz);
}

/* Other jobs may watch the same topic. */
void job_end_watch(struct job *job)
{
	struct simulation *simulation = job->simulation;
	char *topic = job->watched;
	if (!topic)
		return;
	job->watched = NULL;
	simulation->watches--;
	bool wanted = false;
	for (const struct job *other = simulation->jobs; other && simulation->watches; other = other->after)
		wanted |= other->watched && !strcmp(other->watched, topic);
	if (!wanted)
		simulation->def.unsubscribe(simulation->def.ctx, topic);
	free(topic);
}
