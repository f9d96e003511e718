/* A recorded state costs as much as a state hash: a model is written only if its hash has changed. Recording changes
 * nothing that a step depends on, so a recorded run has the same bits as a run that is not recorded. */
#include "server/record.h"

#include "base/hash.h"
#include "base/outfile.h"
#include "run/services.h"
#include "server/costs.h"

#include <troupe/record.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	STATE_SHARE = 4,               /* bytes of other chunks for each byte of a RECORD_STATE */
	RECORD_BUFFER_BYTES = 1 << 20, /* written out before the next hash when larger than this */
};

struct record_seen { /* a model as it was last written */
	uint64_t id, hash;
};

struct seen_world {
	VEC(struct record_seen) models; /* by place */
};

struct recorder {
	struct outfile file;
	struct troupe_error why; /* the error that ended the recording */
	bool begun, ended;
	uint64_t every;
	uint64_t step;  /* step of the last hash */
	uint64_t since; /* bytes written since the last state */
	uint64_t state_bytes;
	struct record_writer to;
	struct seen_world *worlds;
	uint32_t world_count;
};

const char record_magic[RECORD_MAGIC_BYTES] = "troupe record\n";

uint64_t record_checksum(uint64_t kind, uint64_t index, const char *bytes, size_t count)
{
	return hash_bytes(hash_mix(kind, index), bytes, count);
}

/* --- the form ----------------------------------------------------------------------------------------------------- */

/* Writes writer->body as a chunk. */
static void record_put_chunk(struct record_writer *writer, enum record_kind kind)
{
	const struct text *body = &writer->body;
	pack_u64(&writer->out, kind);
	pack_u64(&writer->out, body->count);
	pack_u64(&writer->out, record_checksum(kind, writer->chunks++, body->at, body->count));
	text_add_bytes(&writer->out, body->at, body->count);
}

/* Writes the resource paths: the names of files depend on them. */
static void record_pack_paths(const struct troupe_server *server, struct text *out)
{
	const char *const *given = server->def.resource_paths;
	uint64_t count = 0;
	struct text paths = {0};
	for (; given && given[count]; count++)
		pack_string(&paths, given[count]);
	char *folders = sdf_environment_folders();
	pack_string(&paths, folders);
	count++;
	free(folders);
	pack_u64(out, count);
	text_add_bytes(out, paths.at, paths.count);
	text_fini(&paths);
}

void record_put_start(struct record_writer *writer, struct troupe_server *server, bool apart)
{
	writer->chunks = 0;
	files_fini(&writer->files);
	writer->files = (struct files){0};
	text_add_bytes(&writer->out, record_magic, RECORD_MAGIC_BYTES);
	pack_u64(&writer->out, RECORD_VERSION);
	writer->body.count = 0;
	record_pack_paths(server, &writer->body);
	if (apart)
		server_pack_apart(server, &writer->body);
	else
		(void)server_pack(server, &writer->body, NULL); /* no file was left: see server_load_sdf() */
	record_put_chunk(writer, RECORD_START);
}

static void record_put_fresh(struct record_writer *writer, const struct troupe_server *server, const struct files *used)
{
	struct files fresh = {0}; /* borrowed from `used` */
	for (uint32_t i = 0; i < used->all.count; i++)
		if (!files_holds(&writer->files, &used->all.at[i]) && !files_holds(&server->files, &used->all.at[i]))
			vec_push(&fresh.all, used->all.at[i]);
	if (fresh.all.count) {
		writer->body.count = 0;
		files_pack(&fresh, &writer->body);
		files_replace_all(&writer->files, &fresh);
		record_put_chunk(writer, RECORD_FILES);
	}
	vec_free(&fresh.all);
}

void record_put_files(struct record_writer *writer, struct server_world *world, const struct command *command)
{
	struct files used = {0};
	prepared_collect(command->prepared, &used);
	record_put_fresh(writer, world->server, &used);
	files_fini(&used);
}

bool record_has_failed(const struct command *command, troupe_status status)
{
	return status && !(command->service && command->service->partial);
}

void record_put_command(struct record_writer *writer, struct server_world *world, uint64_t step,
	const struct command *command, bool failed)
{
	bool heard = !command->service;
	writer->body.count = 0;
	pack_u64(&writer->body, step);
	pack_u64(&writer->body, world->index);
	pack_u64(&writer->body, (heard ? RECORD_COMMAND_HEARD : 0u) | (failed ? RECORD_COMMAND_FAILED : 0u));
	command_pack(command, &writer->body);
	record_put_chunk(writer, RECORD_COMMAND);
}

static void record_pack_world_head(struct text *out, const struct server_world *world)
{
	const struct state *state = world->shared.state;
	pack_u64(out, primary_steps(world->primary));
	pack_u64(out, plan_hash(primary_plan(world->primary)));
	pack_u64(out, primary_changes_hash(world->primary));
	pack_u64(out, state->world.count);
	for (uint32_t i = 0; i < state->world.count; i++)
		pack_u64(out, state->world.words[i]);
}

void record_put_commit(struct record_writer *writer, struct troupe_server *server, uint64_t step)
{
	struct text waiting = {0};
	struct files named = {0};
	for (uint32_t i = 0; i < server->world_count; i++)
		primary_collect(server->worlds[i].primary, &named);
	record_put_fresh(writer, server, &named);
	files_fini(&named);
	writer->body.count = 0;
	for (uint32_t i = 0; i < server->world_count; i++) {
		waiting.count = 0;
		schedule_pack(primary_schedule(server->worlds[i].primary), &waiting);
		pack_bytes(&writer->body, waiting.at, waiting.count);
	}
	text_fini(&waiting);
	record_put_chunk(writer, RECORD_WAITING);
	writer->body.count = 0;
	pack_u64(&writer->body, step);
	pack_u64(&writer->body, troupe_server_hash(server));
	for (uint32_t i = 0; i < server->world_count; i++) {
		record_pack_world_head(&writer->body, &server->worlds[i]);
		pack_u64(&writer->body, 0);
	}
	record_put_chunk(writer, RECORD_HASH);
}

void record_writer_fini(struct record_writer *writer)
{
	files_fini(&writer->files);
	text_fini(&writer->out);
	text_fini(&writer->body);
	*writer = (struct record_writer){0};
}

/* --- the file ----------------------------------------------------------------------------------------------------- */

static bool record_open_to_write(const struct recorder *recorder)
{
	return recorder && !recorder->ended;
}

static void record_give_up(struct troupe_server *server, const char *why)
{
	struct recorder *recorder = server->recorder;
	struct troupe_error text;
	(void)fail(&recorder->why, TROUPE_EIO, "%s: the recording ends at step %" PRIu64, why, recorder->step);
	(void)fail(&text, TROUPE_EIO, "%s, the run goes on", recorder->why.text);
	(void)outfile_close(&recorder->file);
	recorder->ended = true;
	server_warn(server, text.text);
}

static void record_give_up_writing(struct troupe_server *server, int code)
{
	struct troupe_error text;
	(void)fail(&text, TROUPE_EIO, "%s: cannot write: %s", server->def.record_path, outfile_why(code));
	record_give_up(server, text.text);
}

static void record_flush(struct troupe_server *server)
{
	struct recorder *recorder = server->recorder;
	int code = outfile_write(&recorder->file, recorder->to.out.at, recorder->to.out.count);
	recorder->to.out.count = 0;
	if (code)
		record_give_up_writing(server, code);
}

/* Call it when a chunk was put. */
static void record_count_bytes(struct troupe_server *server, size_t bytes)
{
	struct recorder *recorder = server->recorder;
	recorder->since += bytes;
	if (recorder->to.out.count > RECORD_BUFFER_BYTES)
		record_flush(server);
}

static void record_add_chunk(struct troupe_server *server, enum record_kind kind)
{
	struct recorder *recorder = server->recorder;
	record_put_chunk(&recorder->to, kind);
	record_count_bytes(server, RECORD_CHUNK_BYTES + recorder->to.body.count);
}

/* --- states ------------------------------------------------------------------------------------------------------- */

static void record_pack_model(
	struct text *out, const struct server_world *world, uint32_t place, struct record_seen now)
{
	const struct state *state = world->shared.state;
	uint32_t count = now.id ? state_count_all(state, place) : 0;
	pack_u64(out, (uint64_t)place + 1);
	pack_u64(out, now.id);
	pack_string(out, now.id ? world->scene->models[place].name : "");
	pack_u64(out, count);
	for (uint32_t i = 0; i < count; i++)
		pack_u64(out, state_word_of_all(state, place, i));
}

/* Writes what primary_hash() has just hashed. */
static void record_pack_world(struct text *out, const struct server_world *world, struct seen_world *seen)
{
	const struct scene *scene = world->scene;
	const struct state *state = world->shared.state;
	record_pack_world_head(out, world);
	uint32_t more = scene->model_count - MIN(seen->models.count, scene->model_count);
	(void)vec_append(&seen->models, more);
	for (uint32_t m = 0; m < seen->models.count; m++) {
		struct record_seen now = {0, 0}, *before = &seen->models.at[m];
		if (m < scene->model_count && !scene->models[m].absent && state->models[m].words)
			now = (struct record_seen){scene->models[m].id, state->models[m].hash};
		if (now.id == before->id && now.hash == before->hash)
			continue;
		record_pack_model(out, world, m, now);
		*before = now;
	}
	pack_u64(out, 0);
}

static void record_add_hash(struct troupe_server *server, uint64_t step, enum record_kind kind)
{
	struct recorder *recorder = server->recorder;
	recorder->to.body.count = 0;
	pack_u64(&recorder->to.body, step);
	pack_u64(&recorder->to.body, troupe_server_hash(server));
	for (uint32_t i = 0; kind == RECORD_FAILED && i < server->world_count; i++)
		pack_u64(&recorder->to.body, primary_has_begun(server->worlds[i].primary));
	for (uint32_t i = 0; i < server->world_count; i++)
		record_pack_world(&recorder->to.body, &server->worlds[i], &recorder->worlds[i]);
	record_add_chunk(server, kind);
	if (record_open_to_write(recorder))
		record_flush(server);
	if (record_open_to_write(recorder))
		recorder->step = step;
}

static void record_add_state(struct troupe_server *server, uint64_t step)
{
	struct recorder *recorder = server->recorder;
	recorder->to.body.count = 0;
	pack_u64(&recorder->to.body, step);
	(void)server_pack(server, &recorder->to.body, NULL);
	recorder->state_bytes = recorder->to.body.count;
	record_add_chunk(server, RECORD_STATE);
	recorder->since = 0;
}

static uint64_t record_steps_of(const struct troupe_server *server)
{
	uint64_t steps = 0;
	for (uint32_t i = 0; i < server->world_count; i++)
		steps = MAX(steps, primary_steps(server->worlds[i].primary));
	return steps;
}

static bool record_any_has_failed(const struct troupe_server *server)
{
	for (uint32_t i = 0; i < server->world_count; i++)
		if (primary_status(server->worlds[i].primary))
			return true;
	return false;
}

void record_begin(struct troupe_server *server)
{
	struct recorder *recorder = server->recorder;
	struct outfile_options options = server_options(server);
	struct troupe_error why;
	if (!record_open_to_write(recorder) || recorder->begun)
		return;
	recorder->begun = true;
	recorder->step = record_steps_of(server);
	if (outfile_open(&recorder->file, server->def.record_path, &options, &why)) {
		record_give_up(server, why.text);
		return;
	}
	record_put_start(&recorder->to, server, false);
	recorder->state_bytes = recorder->to.body.count;
	record_count_bytes(server, 0);
	recorder->since = 0;
	if (record_open_to_write(recorder))
		record_add_hash(server, recorder->step, RECORD_HASH);
}

void record_merged(struct troupe_server *server, uint64_t steps)
{
	struct recorder *recorder = server->recorder;
	if (!record_open_to_write(recorder) || steps == recorder->step || steps % recorder->every != 0 ||
		record_any_has_failed(server))
		return;
	record_add_hash(server, steps, RECORD_HASH);
	if (record_open_to_write(recorder) && recorder->since / STATE_SHARE >= recorder->state_bytes)
		record_add_state(server, steps);
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static void record_add_files(struct server_world *world, const struct command *command)
{
	struct recorder *recorder = world->server->recorder;
	size_t before = recorder->to.out.count;
	record_put_files(&recorder->to, world, command);
	record_count_bytes(world->server, recorder->to.out.count - before);
}

void record_made(struct server_world *world, const struct command *command)
{
	if (record_open_to_write(world->server->recorder) && command->prepared)
		record_add_files(world, command);
}

void record_taken(struct server_world *world, uint64_t step, const struct command *command, troupe_status status)
{
	struct recorder *recorder = world->server->recorder;
	if (!record_open_to_write(recorder))
		return;
	bool failed = record_has_failed(command, status);
	if (!failed)
		record_made(world, command);
	if (!record_open_to_write(recorder))
		return;
	record_put_command(&recorder->to, world, step, command, failed);
	record_count_bytes(world->server, RECORD_CHUNK_BYTES + recorder->to.body.count);
}

/* It does not count for when a whole state is due, so that all other chunks are those of a run that nobody disturbs. */
void record_member(struct troupe_server *server, const struct troupe_report_member *change)
{
	struct recorder *recorder = server->recorder;
	if (!record_open_to_write(recorder) || !recorder->begun)
		return;
	recorder->to.body.count = 0;
	pack_u64(&recorder->to.body, change->step);
	pack_u64(&recorder->to.body, change->change);
	pack_u64(&recorder->to.body, change->repeated_steps);
	pack_string(&recorder->to.body, change->who);
	record_put_chunk(&recorder->to, RECORD_MEMBER);
	record_count_bytes(server, 0);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

troupe_status record_create(struct troupe_server *server, struct troupe_error *error)
{
	const struct troupe_server_def *def = &server->def;
	if (!def->record_path)
		return TROUPE_OK;
	troupe_status status = outfile_check_stream(def->record_path, error);
	if (status)
		return status;
	struct recorder *recorder = mem_alloc(sizeof *recorder);
	*recorder = (struct recorder){.every = def->record_every, .world_count = server->world_count};
	recorder->worlds = mem_alloc(server->world_count * sizeof *recorder->worlds);
	server->recorder = recorder;
	return TROUPE_OK;
}

static void record_end(struct troupe_server *server)
{
	struct recorder *recorder = server->recorder;
	uint64_t steps = record_steps_of(server);
	bool failed = record_any_has_failed(server);
	record_begin(server); /* also for a run without steps */
	if (record_open_to_write(recorder) && (failed || steps != recorder->step))
		record_add_hash(server, steps, failed ? RECORD_FAILED : RECORD_HASH);
	if (!record_open_to_write(recorder))
		return;
	recorder->to.body.count = 0;
	pack_u64(&recorder->to.body, steps);
	pack_u64(&recorder->to.body, failed);
	record_add_chunk(server, RECORD_END);
	if (record_open_to_write(recorder))
		record_flush(server);
	int code = outfile_close(&recorder->file);
	recorder->ended = true;
	if (code)
		(void)fail(&recorder->why, TROUPE_EIO, "%s: cannot write: %s: the recording ends at step %" PRIu64,
			server->def.record_path, outfile_why(code), recorder->step);
}

troupe_status troupe_server_end_recording(struct troupe_server *server, struct troupe_error *error)
{
	struct recorder *recorder = server->recorder;
	struct troupe_error why;
	if (record_open_to_write(recorder))
		record_end(server);
	troupe_status status = costs_end(server, &why);
	if (recorder && recorder->why.status)
		why = recorder->why;
	else if (!status)
		return TROUPE_OK;
	return fail(error, why.status, "%s", why.text);
}

void record_destroy(struct recorder *recorder)
{
	if (!recorder)
		return;
	(void)outfile_close(&recorder->file);
	for (uint32_t i = 0; i < recorder->world_count; i++)
		vec_free(&recorder->worlds[i].models);
	free(recorder->worlds);
	record_writer_fini(&recorder->to);
	free(recorder);
}
