/* The world of a run: another one can be loaded, the same one begun anew with another seed, or none. Each of these is
 * another run in the place of this one (the server's service next_run), which begins stopped: the answer comes when the
 * new world is ready and before this run ends. */
#include "base/parse.h"
#include "gateway/ros/simulation_job.h"

#include "topic/message.h"

#include <inttypes.h>
#include <string.h>

enum {
	NO_WORLD_LOADED = 101,
	SIMULATION_WORLD_UNSUPPORTED_FORMAT = 101, /* these of LoadWorld */
	SIMULATION_WORLD_NO_RESOURCE = 102,
	SIMULATION_WORLD_RESOURCE_PARSE_ERROR = 103,
	SIMULATION_WORLD_MISSING_ASSETS = 104,
	UNSUPPORTED_ELEMENTS = 106,
};

static const char simulation_world_one_world[] =
	"this run keeps the world that it was started with: expected another run for another";

/* --- the present world -------------------------------------------------------------------------------------------- */

static void simulation_world_answer(struct job *job, const char *name, const char *uri, const char *sdf)
{
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_object(out, "world");
	json_out_string(out, "name", name);
	json_out_object(out, "world_resource");
	json_out_string(out, "uri", uri);
	json_out_string(out, "resource_string", sdf);
	json_out_end(out);
	json_out_string(out, "description", "");
	json_out_strings(out, "tags", NULL, 0);
	json_out_end(out);
	job_send(job);
}

static const char *simulation_world_text_of(const struct job_sent *sent)
{
	bool is_text = !sent->status && sent->reply && sent->reply->descriptor == &gz__msgs__string_msg__descriptor;
	return is_text ? ((const Gz__Msgs__StringMsg *)(const void *)sent->reply)->data : NULL;
}

static void simulation_world_finish(struct job *job)
{
	const char *sdf = simulation_world_text_of(&job->sent.at[0]);
	if (sdf)
		simulation_world_answer(job, job->world->name, "", sdf);
	else
		job_answer(job, JOB_FAILED, "%s", job->sent.at[0].text);
}

static void simulation_world_get(struct job *job)
{
	Gz__Msgs__SdfGeneratorConfig config = GZ__MSGS__SDF_GENERATOR_CONFIG__INIT;
	if (job->models->no_world) {
		job_answer(job, NO_WORLD_LOADED, "no world is loaded");
		return;
	}
	job->next = simulation_world_finish;
	(void)job_ask(job, "generate_world_sdf", &config.base);
}

/* --- another run -------------------------------------------------------------------------------------------------- */

bool job_ask_loading(struct job *job)
{
	Troupe__Msgs__NextRun asked = TROUPE__MSGS__NEXT_RUN__INIT;
	asked.asks = true;
	if (job->world->has_next)
		(void)job_ask(job, "next_run", &asked.base);
	return job->world->has_next;
}

/* What has failed is said by the texts where the status does not tell. */
static unsigned simulation_world_result_of(const struct job_sent *sent, bool loads)
{
	if (sent->status == TROUPE_ECOMMAND)
		return JOB_UNSUPPORTED;
	if (sent->status == TROUPE_EINVAL)
		return JOB_INCORRECT_STATE;
	if (!loads)
		return JOB_FAILED;
	if (strstr(sent->text, "fail_on_unsupported_element"))
		return UNSUPPORTED_ELEMENTS;
	if (sent->status == TROUPE_EIO || strstr(sent->text, " is not found"))
		return SIMULATION_WORLD_MISSING_ASSETS;
	return sent->status == TROUPE_EWORLD ? SIMULATION_WORLD_RESOURCE_PARSE_ERROR : (unsigned)JOB_FAILED;
}

static void simulation_world_finish_load(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	const char *name = simulation_world_text_of(sent);
	const json_t *resource = job_arg(job, "world_resource");
	const char *uri = job_text(resource, "uri");
	if (name)
		simulation_world_answer(job, name, uri, *uri ? "" : job_text(resource, "resource_string"));
	else
		job_answer(job, simulation_world_result_of(sent, true), "%s", sent->text);
}

static void simulation_world_finish_change(struct job *job)
{
	const struct job_sent *sent = &job->sent.at[0];
	if (simulation_world_text_of(sent))
		job_answer(job, JOB_OK, "%s", "");
	else
		job_answer(job, simulation_world_result_of(sent, false), "%s", sent->text);
}

static void simulation_world_ask_next(struct job *job, const Troupe__Msgs__NextRun *asked, job_fn *next)
{
	job->next = next;
	if (!job->world->has_next)
		job_answer(job, JOB_UNSUPPORTED, "%s", simulation_world_one_world);
	else if (job->world->stepper)
		job_answer(job, JOB_INCORRECT_STATE, "the simulation takes steps: expected one that does not");
	else
		(void)job_ask(job, "next_run", &asked->base);
}

static void simulation_world_load(struct job *job)
{
	Troupe__Msgs__NextRun asked = TROUPE__MSGS__NEXT_RUN__INIT;
	const json_t *resource = job_arg(job, "world_resource");
	const char *uri = job_text(resource, "uri"), *text = job_text(resource, "resource_string");
	asked.file = message_string(uri);
	asked.text = message_string(*uri ? "" : text);
	asked.strict = json_is_true(job_arg(job, "fail_on_unsupported_element"));
	asked.all_assets = !json_is_true(job_arg(job, "ignore_missing_or_unsupported_assets"));
	if (!job->world->has_next)
		job_answer(job, JOB_UNSUPPORTED, "%s", simulation_world_one_world);
	else if (!*uri && !*text)
		job_answer(job, SIMULATION_WORLD_NO_RESOURCE, "neither uri nor resource_string: expected one of them");
	else if (*uri && job_has_other_format(uri))
		job_answer(job, SIMULATION_WORLD_UNSUPPORTED_FORMAT, "uri '%.80s': expected a file in SDF", uri);
	else if (!*uri && text[strspn(text, " \t\r\n")] != '<')
		job_answer(job, SIMULATION_WORLD_UNSUPPORTED_FORMAT,
			"resource_string: expected SDF, which begins with '<'");
	else
		simulation_world_ask_next(job, &asked, simulation_world_finish_load);
}

static void simulation_world_unload(struct job *job)
{
	Troupe__Msgs__NextRun asked = TROUPE__MSGS__NEXT_RUN__INIT;
	asked.unload = true;
	if (job->models->no_world)
		job_answer(job, NO_WORLD_LOADED, "no world is loaded");
	else
		simulation_world_ask_next(job, &asked, simulation_world_finish_change);
}

static void simulation_world_set_seed(struct job *job)
{
	Troupe__Msgs__NextRun asked = TROUPE__MSGS__NEXT_RUN__INIT;
	const char *seed = job_text(job->args, "seed");
	asked.seed_given = true;
	if (!*seed || seed[strspn(seed, "0123456789")] || !parse_uint64(seed, &asked.seed) || asked.seed > INT64_MAX)
		job_answer(
			job, JOB_FAILED, "seed '%.40s': expected a whole number from 0 to %" PRId64, seed, INT64_MAX);
	else
		simulation_world_ask_next(job, &asked, simulation_world_finish_change);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define SIMULATION_WORLD_STANDARD(type) "simulation_interfaces/srv/" type

/* get_simulator_features tells of the features of the first two where another world can be loaded. */
const struct job_row job_world_rows[] = {
	{"load_world", SIMULATION_WORLD_STANDARD("LoadWorld"), JOB_NO_FEATURE, JOB_ANY, simulation_world_load},
	{"unload_world", SIMULATION_WORLD_STANDARD("UnloadWorld"), JOB_NO_FEATURE, JOB_ANY, simulation_world_unload},
	{"get_current_world", SIMULATION_WORLD_STANDARD("GetCurrentWorld"), 44, JOB_ANY, simulation_world_get},
	{"troupe/set_seed", "troupe_interfaces/srv/SetSeed", JOB_NO_FEATURE, JOB_MODELS, simulation_world_set_seed},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
