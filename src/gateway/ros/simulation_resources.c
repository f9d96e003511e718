/* Lists of files: models that spawn_entity takes, and worlds. The server reads the folders. */
#include "gateway/ros/simulation_job.h"

#include "topic/message.h"

#include <stdlib.h>

/* NULL: it is answered. */
static const Troupe__Msgs__Resources *sim_resources_of(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (!sent->status && sent->reply && sent->reply->descriptor == &troupe__msgs__resources__descriptor)
		return (const void *)sent->reply;
	job_answer(job, JOB_FAILED, "%s", sent->text);
	return NULL;
}

static void sim_resources_ask(struct job *job, const char *field, bool worlds, bool skip_wrong, job_fn *next)
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
static struct json_out *sim_resources_begin_list(struct job *job, bool cut, const char *key)
{
	struct json_out *out = job_respond(job, cut ? JOB_FAILED : JOB_OK,
		cut ? "there are more files than can be listed: sources are looked at first" : "");
	json_out_array(out, key);
	return out;
}

static void sim_resources_end_list(struct job *job)
{
	json_out_end(&job->out);
	job_send(job);
}

static void sim_resources_add(struct json_out *out, const char *name, const char *uri)
{
	json_out_object(out, name);
	json_out_string(out, "uri", uri);
	json_out_string(out, "resource_string", "");
	json_out_end(out);
}

static void sim_resources_add_spawnable(struct json_out *out, const Troupe__Msgs__Resources__Resource *resource)
{
	json_out_object(out, NULL);
	sim_resources_add(out, "entity_resource", resource->uri);
	json_out_string(out, "description", *resource->description ? resource->description : resource->name);
	json_out_object(out, "spawn_bounds");
	json_out_int(out, "type", JOB_BOUNDS_EMPTY);
	json_out_strings(out, "points", NULL, 0);
	json_out_end(out);
	json_out_end(out);
}

/* A file says its bounds only when it is read whole. */
static void sim_resources_finish_spawnables(struct job *job)
{
	const Troupe__Msgs__Resources *found = sim_resources_of(job);
	if (!found)
		return;
	struct json_out *out = sim_resources_begin_list(job, found->cut, "spawnables");
	for (size_t i = 0; i < found->n_resource; i++)
		sim_resources_add_spawnable(out, found->resource[i]);
	sim_resources_end_list(job);
}

static void sim_resources_get_spawnables(struct job *job)
{
	sim_resources_ask(job, "sources", false, false, sim_resources_finish_spawnables);
}

static void sim_resources_finish_worlds(struct job *job)
{
	const Troupe__Msgs__Resources *found = sim_resources_of(job);
	struct job_tags tags;
	if (!found || !job_read_tags(job, "filter", job_arg(job, "filter"), &tags))
		return;
	struct json_out *out = sim_resources_begin_list(job, found->cut, "worlds");
	for (size_t i = 0; i < found->n_resource; i++) {
		if (!job_has_tags(&tags, NULL, 0))
			continue;
		json_out_object(out, NULL);
		json_out_string(out, "name", found->resource[i]->name);
		sim_resources_add(out, "world_resource", found->resource[i]->uri);
		json_out_string(out, "description", "");
		json_out_strings(out, "tags", NULL, 0);
		json_out_end(out);
	}
	sim_resources_end_list(job);
}

/* Nothing is fetched from other machines, whatever offline_only says. */
static void sim_resources_get_worlds(struct job *job)
{
	sim_resources_ask(job, "additional_sources", true, json_is_true(job_arg(job, "continue_on_error")),
		sim_resources_finish_worlds);
}

#define SIM_RESOURCES_STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_resource_rows[] = {
	{"get_spawnables", SIM_RESOURCES_STANDARD("GetSpawnables"), 14, JOB_ALONE, sim_resources_get_spawnables},
	{"get_available_worlds", SIM_RESOURCES_STANDARD("GetAvailableWorlds"), 45, JOB_ALONE, sim_resources_get_worlds},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
