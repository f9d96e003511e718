/* Each entity has a result of its own. Their commands wait together; the server's replies say the id that each has got,
 * and its name, which may be another one than was asked for, is looked up in all models afterwards. */
#include "gateway/ros/simulation_entity.h"

#include "topic/message.h"

#include <stdlib.h>
#include <string.h>

enum {
	SPAWN_NAME_NOT_UNIQUE = 101,
	SPAWN_NAME_INVALID = 102,
	SPAWN_UNSUPPORTED_FORMAT = 103,
	SPAWN_NO_RESOURCE = 104,
	SPAWN_RESOURCE_PARSE_ERROR = 106,
	SPAWN_MISSING_ASSETS = 107,
	SPAWN_INVALID_POSE = 109,
	SPAWN_ENTITIES_FAILED = 150,
};

static void simulation_spawn_say(struct job_spawn *spawn, unsigned result, const char *format, ...) TROUPE_PRINTF(3, 4);
static void simulation_spawn_say(struct job_spawn *spawn, unsigned result, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	free(spawn->message);
	spawn->result = result;
	spawn->message = mem_strdup(line.text);
}

bool job_has_other_format(const char *uri)
{
	static const char *const others[] = {".usd", ".usda", ".usdc", ".usdz", ".mjcf", ".xacro", ".stl", ".obj",
		".dae", ".glb", ".gltf", ".fbx", ".ply"};
	const char *dot = strrchr(uri, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(others); i++)
		if (!strcmp(dot, others[i]))
			return true;
	return false;
}

/* A scheme other than those of files of this machine: http, https, fuel, omniverse. */
static bool simulation_spawn_is_elsewhere(const char *uri)
{
	static const char *const here[] = {"file", "model", "package"};
	const char *end = strstr(uri, "://");
	for (size_t i = 0; end && i < ARRAY_LEN(here); i++)
		if ((size_t)(end - uri) == strlen(here[i]) && !strncmp(uri, here[i], strlen(here[i])))
			return false;
	return end;
}

/* A uri counts before a text. False: it is said what is wrong. */
static bool simulation_spawn_read_resource(
	const json_t *resource, Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	static const char file[] = "file://";
	const char *uri = job_text(resource, "uri"), *text = job_text(resource, "resource_string");
	if (!*uri && !*text) {
		simulation_spawn_say(spawn, SPAWN_NO_RESOURCE, "neither uri nor resource_string: expected one of them");
	} else if (*uri) {
		factory->from_case = GZ__MSGS__ENTITY_FACTORY__FROM_SDF_FILENAME;
		factory->sdf_filename =
			message_string(uri + (strncmp(uri, file, sizeof file - 1) ? 0 : sizeof file - 1));
		if (job_has_other_format(uri))
			simulation_spawn_say(
				spawn, SPAWN_UNSUPPORTED_FORMAT, "uri '%.80s': expected a file in SDF or URDF", uri);
		else if (simulation_spawn_is_elsewhere(uri))
			simulation_spawn_say(spawn, SPAWN_MISSING_ASSETS,
				"uri '%.80s': nothing is fetched: expected a file of this machine", uri);
	} else {
		factory->from_case = GZ__MSGS__ENTITY_FACTORY__FROM_SDF;
		factory->sdf = message_string(text);
		if (text[strspn(text, " \t\r\n")] != '<')
			simulation_spawn_say(spawn, SPAWN_UNSUPPORTED_FORMAT,
				"resource_string: expected SDF or URDF, which begin with '<'");
	}
	return spawn->result == JOB_OK;
}

static bool simulation_spawn_is_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			return false;
	return strlen(name) <= SIMULATION_NAME_MAX && !strstr(name, "::");
}

/* Topics of a model are below its name, and below nothing else. */
static bool simulation_spawn_is_namespace_of(const char *space, const char *name)
{
	space += *space == '/';
	return !*space || !strcmp(space, name);
}

static bool simulation_spawn_read_spawn_name(
	struct job *job, const json_t *request, Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	const char *name = job_text(request, "name"), *space = job_text(request, "entity_namespace");
	factory->name = message_string(name);
	factory->allow_renaming = json_is_true(json_object_get(request, "allow_renaming"));
	if (!simulation_spawn_is_name(name))
		simulation_spawn_say(spawn, SPAWN_NAME_INVALID,
			"name '%.60s': expected at most %d bytes, without '::' and control characters", name,
			(int)SIMULATION_NAME_MAX);
	else if (*name && !factory->allow_renaming && entity_find(job, name, false))
		simulation_spawn_say(spawn, SPAWN_NAME_NOT_UNIQUE,
			"name '%.100s': there is such an entity: expected another name, or allow_renaming", name);
	else if (!simulation_spawn_is_namespace_of(space, name))
		simulation_spawn_say(spawn, JOB_UNSUPPORTED,
			"entity_namespace '%.80s': expected none, or the name, which is the namespace", space);
	return spawn->result == JOB_OK;
}

static bool simulation_spawn_read_spawn_pose(struct job *job, const json_t *stamped, struct entity_pose_parts *parts,
	Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	const char *frame = job_text(json_object_get(stamped, "header"), "frame_id");
	struct pose pose;
	const char *wrong = entity_read_pose(json_object_get(stamped, "pose"), &pose);
	if (wrong) {
		simulation_spawn_say(spawn, SPAWN_INVALID_POSE, "initial_pose: %s", wrong);
		return false;
	}
	entity_fill_pose(pose, parts, factory->pose);
	if (entity_is_world_frame(job, frame))
		return true;
	factory->relative_to = message_string(frame);
	if (!entity_find(job, frame, false))
		simulation_spawn_say(spawn, SPAWN_INVALID_POSE,
			"initial_pose.header.frame_id '%.80s': expected 'world', or an entity", frame);
	return spawn->result == JOB_OK;
}

static void simulation_spawn_ask_spawn(struct job *job, const json_t *request, struct job_spawn *spawn)
{
	Gz__Msgs__EntityFactory factory = GZ__MSGS__ENTITY_FACTORY__INIT;
	Gz__Msgs__Pose pose = GZ__MSGS__POSE__INIT;
	struct entity_pose_parts parts;
	factory.pose = &pose;
	*spawn = (struct job_spawn){.result = JOB_OK, .sent = UINT32_MAX};
	if (simulation_spawn_read_resource(json_object_get(request, "entity_resource"), &factory, spawn) &&
		simulation_spawn_read_spawn_name(job, request, &factory, spawn) &&
		simulation_spawn_read_spawn_pose(
			job, json_object_get(request, "initial_pose"), &parts, &factory, spawn))
		spawn->sent = job_ask(job, "create", &factory.base);
}

/* The server says why in words only; its texts are the same for all clients. */
static unsigned simulation_spawn_result_of(const struct job_sent *sent)
{
	if (strstr(sent->text, "exists already"))
		return SPAWN_NAME_NOT_UNIQUE;
	if (sent->status == TROUPE_EIO || strstr(sent->text, " is not found"))
		return SPAWN_MISSING_ASSETS;
	if (strstr(sent->text, "expected coordinates within") || strstr(sent->text, ": pose.position."))
		return SPAWN_INVALID_POSE;
	return sent->status == TROUPE_EWORLD ? SPAWN_RESOURCE_PARSE_ERROR : (unsigned)JOB_FAILED;
}

static void simulation_spawn_answer_one(struct job *job)
{
	struct job_spawn *spawn = &job->spawns.at[0];
	struct json_out *out = job_respond(job, spawn->result, spawn->message ? spawn->message : "");
	json_out_string(out, "entity_name", spawn->name ? spawn->name : "");
	job_send(job);
}

static struct json_out *simulation_spawn_respond_to_all(struct job *job)
{
	uint32_t failed = 0;
	for (uint32_t i = 0; i < job->spawns.count; i++)
		failed += job->spawns.at[i].result != JOB_OK;
	if (!failed)
		return job_respond(job, JOB_OK, "");
	char *message = mem_printf("%u of %u entities were not spawned", failed, job->spawns.count);
	struct json_out *out = job_respond(job, SPAWN_ENTITIES_FAILED, message);
	free(message);
	return out;
}

static void simulation_spawn_answer_all(struct job *job)
{
	struct json_out *out = simulation_spawn_respond_to_all(job);
	json_out_array(out, "results");
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		const struct job_spawn *spawn = &job->spawns.at[i];
		json_out_object(out, NULL);
		job_add_result(out, spawn->result, spawn->message ? spawn->message : "");
		json_out_string(out, "entity_name", spawn->name ? spawn->name : "");
		json_out_end(out);
	}
	json_out_end(out);
	job_send(job);
}

/* An entity may have got another name than was asked for. */
static void simulation_spawn_name_spawned(struct job *job)
{
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		struct job_spawn *spawn = &job->spawns.at[i];
		for (size_t m = 0; m < job->models->n_model && spawn->result == JOB_OK && !spawn->name; m++)
			if (job->models->model[m]->state->id == spawn->id)
				spawn->name = mem_strdup(job->models->model[m]->state->name);
	}
	if (json_object_get(job->args, "spawn_requests"))
		simulation_spawn_answer_all(job);
	else
		simulation_spawn_answer_one(job);
}

static void simulation_spawn_finish_spawn(struct job *job)
{
	static const char id[] = "created, id ";
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		struct job_spawn *spawn = &job->spawns.at[i];
		if (spawn->sent == UINT32_MAX)
			continue;
		const struct job_sent *sent = &job->sent.at[spawn->sent];
		const char *at = strstr(sent->text, id);
		if (sent->status)
			simulation_spawn_say(spawn, simulation_spawn_result_of(sent), "%s", sent->text);
		else
			spawn->id = at ? strtoull(at + sizeof id - 1, NULL, 10) : 0;
	}
	job->next = simulation_spawn_name_spawned;
	job_forget_sent(job);
	job_ask_models(job, false);
}

void entity_spawn(struct job *job)
{
	const json_t *requests = job_arg(job, "spawn_requests");
	size_t count = requests ? json_array_size(requests) : 1;
	if (count > SIMULATION_SPAWNS_MAX) {
		job_answer(job, JOB_FAILED, "spawn_requests: %zu entities: expected at most %d", count,
			(int)SIMULATION_SPAWNS_MAX);
		return;
	}
	job_forget_sent(job);
	job->next = simulation_spawn_finish_spawn;
	for (size_t i = 0; i < count; i++) {
		struct job_spawn one;
		simulation_spawn_ask_spawn(job, requests ? json_array_get(requests, i) : job->args, &one);
		vec_push(&job->spawns, one);
	}
}
