/* Lists of files: models that spawn_entity takes, and worlds. The server reads the folders. */
#include "gateway/ros/simulation_job.h"

#include "topic/message.h"

#include <stdlib.h>

/* NULL: it is answered. */
static const Troupe__Msgs__Resources *resources_of(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (!sent->status && sent->reply && sent->reply->descriptor == &troupe__msgs__resources__descriptor)
		return (const void *)sent->reply;
	job_answer(job, JOB_FAILED, "%s", sent->text);
	return NULL;
}

static void ask_resources(struct job *job, const char *field, bool worlds, bool skip_wrong, job_fn *next)
{
	Troupe__Msgs__FindResources message = TROUPE__MSGS__FIND_RESOURCES__INIT;
	const json_t *sources = job_arg(job, field), *source;
	size_t i;
	message.worlds = worlds;
	message.skip_wrong = skip_wrong;
	message.source = mem_alloc(json_array_size(sources) * sizeof *message.source);
	json_array_foreach(sources, i, source) message.source[message.n_source++] =
		message_string(json_string_value(source));
	job->next = next;
	(void)job_ask(job, "find_resources", &message.base);
	free(message.source);
}

/* A list that was cut is answered as a failure, with the entries that were found. */
static void answer_list(struct job *job, bool cut, struct text *members)
{
	text_add(members, "]");
	job_answer_with(job, cut ? JOB_FAILED : JOB_OK,
		cut ? "there are more files than can be listed: sources are looked at first" : "", members);
}

static void add_resource(struct text *out, const char *name, const char *uri)
{
	text_add(out, "\"%s\":{\"uri\":", name);
	text_add_json(out, uri);
	text_add(out, ",\"resource_string\":\"\"}");
}

/* A file says its bounds only when it is read whole. */
static void finish_spawnables(struct job *job)
{
	const Troupe__Msgs__Resources *found = resources_of(job);
	struct text members = {0};
	if (!found)
		return;
	text_add(&members, ",\"spawnables\":[");
	for (size_t i = 0; i < found->n_resource; i++) {
		const Troupe__Msgs__Resources__Resource *resource = found->resource[i];
		text_add(&members, "%s{", i ? "," : "");
		add_resource(&members, "entity_resource", resource->uri);
		text_add(&members, ",\"description\":");
		text_add_json(&members, *resource->description ? resource->description : resource->name);
		text_add(&members, ",\"spawn_bounds\":{\"type\":%d,\"points\":[]}}", JOB_BOUNDS_EMPTY);
	}
	answer_list(job, found->cut, &members);
}

static void get_spawnables(struct job *job)
{
	ask_resources(job, "sources", false, false, finish_spawnables);
}

static void finish_worlds(struct job *job)
{
	const Troupe__Msgs__Resources *found = resources_of(job);
	struct text members = {0};
	struct job_tags tags;
	const char *between = "";
	if (!found || !job_read_tags(job, "filter", job_arg(job, "filter"), &tags))
		return;
	text_add(&members, ",\"worlds\":[");
	for (size_t i = 0; i < found->n_resource; i++) {
		if (!job_has_tags(&tags, NULL, 0))
			continue;
		text_add(&members, "%s{\"name\":", between);
		text_add_json(&members, found->resource[i]->name);
		text_add(&members, ",");
		add_resource(&members, "world_resource", found->resource[i]->uri);
		text_add(&members, ",\"description\":\"\",\"tags\":[]}");
		between = ",";
	}
	answer_list(job, found->cut, &members);
}

/* Nothing is fetched from other machines, whatever offline_only says. */
static void get_worlds(struct job *job)
{
	ask_resources(job, "additional_sources", true, json_is_true(job_arg(job, "continue_on_error")), finish_worlds);
}

#define STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_resource_rows[] = {
	{"get_spawnables", STANDARD("GetSpawnables"), 14, JOB_ALONE, get_spawnables},
	{"get_available_worlds", STANDARD("GetAvailableWorlds"), 45, JOB_ALONE, get_worlds},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
