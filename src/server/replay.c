/* A run is repeated from its inputs: the state in which it began, and the commands that were taken, each at its step.
 * Commands that were still queued in that state are dropped, because those that were taken later are in the
 * recording.
 *
 * The type of a topic is compared with that of the command at its step, because it may change before that. A command
 * that was refused is left out: it changed nothing, and what it needed is not in the recording. */
#include "server/replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- beginning ---------------------------------------------------------------------------------------------------- */

/* A command for which the step before the state was an empty one was recorded before the state: it is kept. */
static void server_replay_drop_pending(struct server_world *world)
{
	struct command command, kept = {0};
	struct schedule *schedule = primary_schedule(world->primary);
	schedule_drop_timed(schedule);
	while (schedule_due(schedule, UINT64_MAX, &command))
		if (command.told)
			kept = command;
		else
			command_fini(&command);
	if (kept.topic)
		(void)schedule_post(
			schedule, &kept, SCHEDULE_LATE_NEXT, NULL, NULL); /* there is room: it waited before */
	atomic_store(&schedule->may_create, true);
}

static void server_replay_add_list(struct replay *replay, char *list)
{
	vec_push(&replay->lists, list);
	for (char *rest = NULL, *path = strtok_r(list, ":", &rest); path; path = strtok_r(NULL, ":", &rest))
		vec_push(&replay->paths, path);
}

/* The recorded resource paths, followed by those of the caller. */
static void server_replay_take_paths(struct replay *replay, const char *const *more, struct unpack *in)
{
	uint32_t count = unpack_count(in, RECORD_PATHS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		server_replay_add_list(replay, unpack_string(in));
	for (; more && *more; more++)
		vec_push(&replay->paths, *more);
	vec_push(&replay->paths, NULL);
}

/* Makes the server from the state of which `in` is the rest. */
static troupe_status server_replay_begin(
	struct replay *replay, const struct troupe_server_def *from, struct unpack *in, struct troupe_error *error)
{
	struct troupe_server_def def = *from;
	def.resource_paths = replay->paths.at;
	size_t count = (size_t)(in->end - in->at);
	char *saved = mem_alloc(count + 1);
	memcpy(saved, in->at, count);
	def.world_path = def.world_text = def.record_path = NULL;
	def.logs_obeyed = true; /* a LogRecord in the world has nothing to record here */
	def.pace = replay->follows ? TROUPE_PACE_WORLD : TROUPE_PACE_FACTOR; /* kept for the state at the end */
	def.rtf = 0;
	def.paused = false;
	def.initial_time_s = 0;
	replay->has_network = true;
	troupe_status status = server_create_apart(&def, saved, count, replay->source, &replay->server, error);
	if (status)
		return status;
	replay->server->replaying = true;
	replay->worlds = mem_alloc(replay->server->world_count * sizeof *replay->worlds);
	replay->begun = mem_alloc(replay->server->world_count * sizeof *replay->begun);
	for (uint32_t i = 0; i < replay->server->world_count; i++) {
		preparer_close(primary_schedule(replay->server->worlds[i].primary)->preparer);
		server_replay_drop_pending(&replay->server->worlds[i]);
		primary_replay(replay->server->worlds[i].primary);
	}
	replay->result.begin = replay->result.step = replay->result.same = troupe_server_progress(replay->server).steps;
	return TROUPE_OK;
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static troupe_status server_replay_give(
	struct server_world *world, uint64_t step, uint32_t flags, struct unpack *in, struct troupe_error *error)
{
	struct command command;
	struct schedule *schedule = primary_schedule(world->primary);
	troupe_status status = command_unpack(in, world->scene->name, step, &schedule->may_create, &command, error);
	if (status || in->bad)
		return status;
	bool heard = !command.service;
	in->bad = heard != ((flags & RECORD_COMMAND_HEARD) != 0);
	if (!in->bad && !(flags & RECORD_COMMAND_FAILED))
		return schedule_post(schedule, &command, SCHEDULE_LATE_NEXT, NULL, error);
	command_fini(&command);
	return TROUPE_OK;
}

static troupe_status server_replay_take_command(struct replay *replay, struct unpack *in, struct troupe_error *error)
{
	uint64_t step = unpack_u64(in);
	uint32_t world = unpack_count(in, replay->server->world_count - 1);
	uint32_t flags = unpack_count(in, RECORD_COMMAND_HEARD | RECORD_COMMAND_FAILED);
	struct troupe_error why;
	if (in->bad)
		return TROUPE_OK;
	struct unpack again = *in;
	troupe_status status = server_replay_give(&replay->server->worlds[world], step, flags, in, &why);
	if (!status)
		return TROUPE_OK;
	char *topic = unpack_string(&again);
	(void)fail(error, status, "%s: command of step %" PRIu64 ", %s: %s", replay->recording.path, step, topic,
		why.text);
	free(topic);
	return status;
}

/* --- states ------------------------------------------------------------------------------------------------------- */

/* Whether the steps in the hash are valid. A world may not run beyond the step of the hash: otherwise a damaged
 * recording could run for ever, with any limit. */
static bool server_replay_fits(const struct replay *replay, uint64_t step)
{
	for (uint32_t i = 0; i < replay->server->world_count; i++)
		if (replay->worlds[i].steps < primary_steps(replay->server->worlds[i].primary) ||
			replay->worlds[i].steps > step)
			return false;
	return true;
}

static troupe_status server_replay_run_to(struct replay *replay, uint64_t step, struct troupe_error *error)
{
	uint64_t steps[SDF_WORLDS_MAX];
	for (uint32_t i = 0; i < replay->server->world_count; i++)
		steps[i] = MIN(replay->worlds[i].steps, step);
	return server_run_to(replay->server, steps, error);
}

static void server_replay_tell_difference(struct replay *replay)
{
	struct text text = {0};
	bool named = false;
	for (uint32_t i = 0; i < replay->server->world_count && !named; i++) {
		text.count = 0;
		named = record_compare(&replay->worlds[i], &replay->server->worlds[i], &text);
	}
	if (!named) {
		text.count = 0;
		text_add(&text, "only the hash of the whole, not one of its parts");
	}
	struct troupe_error line; /* names may contain any bytes */
	(void)fail(&line, TROUPE_EINTERNAL, "%s", text.at);
	memcpy(replay->result.difference, line.text, sizeof line.text);
	text_fini(&text);
}

static void server_replay_read_hash(struct replay *replay, bool failed, struct unpack *in)
{
	struct replay_hash *next = &replay->next;
	next->step = unpack_u64(in);
	next->hash = unpack_u64(in);
	next->failed = failed;
	for (uint32_t i = 0; failed && i < replay->server->world_count; i++)
		replay->begun[i] = unpack_count(in, 1);
	for (uint32_t i = 0; i < replay->server->world_count; i++)
		record_world_update(&replay->worlds[i], in);
	in->bad |= !server_replay_fits(replay, next->step);
	next->waits = !in->bad;
}

/* The state in which the run failed has the effects of the commands of the step that failed. */
static void server_replay_begin_last(struct replay *replay)
{
	for (uint32_t i = 0; i < replay->server->world_count; i++)
		if (replay->begun[i])
			primary_begin_alone(replay->server->worlds[i].primary);
}

/* A player shows the last state as it was before the step that failed. */
static void server_replay_compare(struct replay *replay)
{
	struct troupe_replay *result = &replay->result;
	const struct replay_hash *next = &replay->next;
	replay->next.waits = false;
	if (next->failed && replay->server->shown)
		return;
	if (next->failed)
		server_replay_begin_last(replay);
	uint64_t found = troupe_server_hash(replay->server);
	result->step = next->step;
	result->hashes++;
	if (replay->server->def.on_hash && !next->failed && !replay->follows)
		replay->server->def.on_hash(replay->server->def.ctx, next->step, found);
	if (found == next->hash) {
		result->same = next->step;
		return;
	}
	server_replay_tell_difference(replay);
	result->end = TROUPE_REPLAY_DIFFERS;
	replay->done = true;
}

uint64_t replay_step(const struct replay *replay)
{
	return troupe_server_progress(replay->server).steps;
}

troupe_status replay_reach(struct replay *replay, uint64_t step, struct troupe_error *error)
{
	troupe_status status = server_replay_run_to(replay, step, error);
	if (!status && replay->next.waits && step >= replay->next.step && !troupe_server_was_stopped(replay->server))
		server_replay_compare(replay);
	return status;
}

/* Commands that wait may be prepared at the same time, from the same files. A file that has changed since is not for
 * them: so they are prepared first. */
static void server_replay_take_files(struct replay *replay, struct unpack *in)
{
	struct files files = {0};
	files_unpack(&files, in);
	bool changed = files_differ(&replay->server->files, &files);
	for (uint32_t i = 0; i < replay->server->world_count; i++) {
		if (changed)
			preparer_finish(primary_schedule(replay->server->worlds[i].primary)->preparer);
		preparer_rest(primary_schedule(replay->server->worlds[i].primary)->preparer, true);
		if (replay->server->worlds[i].scene->unread)
			unread_rest(replay->server->worlds[i].scene->unread, true);
	}
	files_replace_all(&replay->server->files, &files);
	for (uint32_t i = 0; i < replay->server->world_count; i++) {
		preparer_rest(primary_schedule(replay->server->worlds[i].primary)->preparer, false);
		if (replay->server->worlds[i].scene->unread)
			unread_rest(replay->server->worlds[i].scene->unread, false);
	}
	files_fini(&files);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

static troupe_status server_replay_take_chunk(
	struct replay *replay, uint64_t kind, struct unpack *in, struct troupe_error *error)
{
	switch (kind) {
	case RECORD_FILES:
		server_replay_take_files(replay, in);
		return TROUPE_OK;
	case RECORD_COMMAND:
		return server_replay_take_command(replay, in, error);
	case RECORD_HASH:
	case RECORD_FAILED:
		server_replay_read_hash(replay, kind == RECORD_FAILED, in);
		return TROUPE_OK;
	case RECORD_STATE:
		return TROUPE_OK;
	case RECORD_MEMBER: /* changes no bit */
		recording_tell_member(in, NULL);
		return TROUPE_OK;
	case RECORD_WAITING:
		replay->waiting.count = 0;
		text_add_bytes(&replay->waiting, in->at, (size_t)(in->end - in->at));
		in->at = in->end;
		return TROUPE_OK;
	case RECORD_END:
		(void)unpack_u64(in);
		replay->result.failed = unpack_count(in, 1);
		replay->result.end = TROUPE_REPLAY_WHOLE;
		replay->done = true;
		return TROUPE_OK;
	default:
		in->bad = true;
		return TROUPE_OK;
	}
}

static troupe_status server_replay_stop_short(
	struct replay *replay, enum recording_read read, struct troupe_error *error)
{
	const struct recording *recording = &replay->recording;
	if (read == RECORDING_FAILED)
		return fail(error, TROUPE_EIO, "%s: cannot read: %s", recording->path, strerror(recording->code));
	replay->result.end = read == RECORDING_CUT ? TROUPE_REPLAY_CUT : TROUPE_REPLAY_DAMAGED;
	replay->done = true;
	return TROUPE_OK;
}

troupe_status replay_read(struct replay *replay, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	while (!status && !replay->done && !replay->next.waits) {
		uint64_t kind;
		struct unpack in;
		enum recording_read read = recording_next(&replay->recording, &kind, &in);
		if (read == RECORDING_CHUNK)
			status = server_replay_take_chunk(replay, kind, &in, error);
		if (!status && (read != RECORDING_CHUNK || in.bad))
			status = server_replay_stop_short(
				replay, read == RECORDING_CHUNK ? RECORDING_DAMAGED : read, error);
	}
	return status;
}

/* Reads the chunks before `end`, of which the server has the effects already: files that later commands may name, and
 * the models as they were recorded. */
static troupe_status server_replay_catch_up(
	struct replay *replay, const struct recording_mark *end, struct troupe_error *error)
{
	while (replay->recording.index < end->index) {
		uint64_t kind;
		struct unpack in;
		if (recording_next(&replay->recording, &kind, &in) != RECORDING_CHUNK)
			return fail(
				error, TROUPE_EIO, "%s: it has changed while it was played", replay->recording.path);
		if (kind == RECORD_FILES)
			server_replay_take_files(replay, &in);
		else if (kind == RECORD_HASH)
			server_replay_read_hash(replay, false, &in);
		replay->next.waits = false;
	}
	return TROUPE_OK;
}

/* The state after the chunk `state`; NULL: the one in which the recording begins, which is open. */
static troupe_status server_replay_begin_at(struct replay *replay, const struct troupe_server_def *def,
	const struct recording_mark *state, struct unpack *start, struct troupe_error *error)
{
	uint64_t kind;
	struct unpack in;
	server_replay_take_paths(replay, def->resource_paths, start);
	if (start->bad)
		return fail(error, TROUPE_EWORLD, "%s: damaged: its resource paths", def->resume_path);
	if (!state)
		return server_replay_begin(replay, def, start, error);
	struct recording_mark first = recording_mark(&replay->recording);
	if (recording_go(&replay->recording, state) ||
		recording_next(&replay->recording, &kind, &in) != RECORDING_CHUNK || kind != RECORD_STATE)
		return fail(error, TROUPE_EIO, "%s: it has changed while it was played", def->resume_path);
	(void)unpack_u64(&in);
	troupe_status status = server_replay_begin(replay, def, &in, error);
	if (!status && recording_go(&replay->recording, &first))
		status = fail(error, TROUPE_EIO, "%s: cannot read", def->resume_path);
	return status ? status : server_replay_catch_up(replay, state, error);
}

static troupe_status server_replay_open(struct replay *replay, const struct troupe_server_def *def,
	const struct recording_mark *state, struct troupe_error *error)
{
	uint64_t kind;
	struct unpack in;
	troupe_status status = def && def->resume_path
				       ? recording_open(&replay->recording, def->resume_path, error)
				       : fail(error, TROUPE_EINVAL, "no recording: expected a path in resume_path");
	enum recording_read read = status ? RECORDING_FAILED : recording_next(&replay->recording, &kind, &in);
	if (!status && (read != RECORDING_CHUNK || kind != RECORD_START))
		status = server_replay_stop_short(replay, read == RECORDING_CHUNK ? RECORDING_DAMAGED : read, error);
	else if (!status)
		status = server_replay_begin_at(replay, def, state, &in, error);
	if (!replay->has_network)
		server_refuse(def);
	return status;
}

troupe_status replay_begin(struct replay *replay, const struct troupe_server_def *def,
	const struct recording_mark *state, struct troupe_error *error)
{
	*replay = (struct replay){0};
	return server_replay_open(replay, def, state, error);
}

void replay_fini(struct replay *replay)
{
	text_fini(&replay->waiting);
	recording_close(&replay->recording);
	for (uint32_t i = 0; replay->worlds && i < replay->server->world_count; i++)
		record_world_fini(&replay->worlds[i]);
	free(replay->worlds);
	free(replay->begun);
	troupe_server_destroy(replay->server);
	for (uint32_t i = 0; i < replay->lists.count; i++)
		free(replay->lists.at[i]);
	vec_free(&replay->lists);
	vec_free(&replay->paths);
	*replay = (struct replay){0};
}

static troupe_status server_replay_all(struct replay *replay, uint64_t until, struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	while (!status && !replay->done) {
		status = replay_read(replay, error);
		if (status || replay->done)
			break;
		if (until && replay->next.step > until) {
			replay->result.end = TROUPE_REPLAY_LIMIT;
			break;
		}
		status = replay_reach(replay, replay->next.step, error);
	}
	for (uint32_t i = 0; !status && replay->server && i < replay->server->world_count; i++) {
		struct primary_counts counts = primary_counts(replay->server->worlds[i].primary);
		replay->result.readings += counts.readings;
		replay->result.readings_digest += counts.readings_digest;
	}
	return status;
}

/* --- for a standby ------------------------------------------------------------------------------------------------ */

static troupe_status server_replay_pack_waiting(struct replay *replay, struct text *out, struct troupe_error *error)
{
	struct troupe_server *server = replay->server;
	struct unpack in = {replay->waiting.at, replay->waiting.at + replay->waiting.count, false};
	struct schedule *waiting = mem_alloc(server->world_count * sizeof *waiting);
	broadcast_list broadcasts = {0};
	troupe_status status = TROUPE_OK;
	for (uint32_t i = 0; i < server->world_count && !status; i++) {
		size_t count;
		const char *bytes = unpack_bytes(&in, &count);
		struct unpack part = {bytes, bytes + count, in.bad};
		status = schedule_unpack(&waiting[i], server->worlds[i].scene->name, &broadcasts, &part, error);
	}
	if (!status)
		status = server_pack_with(server, waiting, out, error);
	vec_free(&broadcasts);
	for (uint32_t i = 0; i < server->world_count; i++)
		schedule_fini(&waiting[i]);
	free(waiting);
	return status;
}

static troupe_status server_replay_to_end(struct replay *replay, uint64_t *ret_step, struct troupe_error *error)
{
	troupe_status status = server_replay_all(replay, 0, error);
	const struct troupe_replay *result = &replay->result;
	if (status)
		return status;
	if (result->end == TROUPE_REPLAY_DIFFERS)
		return fail(error, TROUPE_EWORLD, "step %" PRIu64 " differs here from that of the primary: %s",
			result->step, result->difference);
	if (result->end != TROUPE_REPLAY_CUT || !result->hashes || !replay->waiting.count)
		return fail(error, TROUPE_EWORLD, "what the primary sent is damaged");
	*ret_step = result->same;
	return TROUPE_OK;
}

troupe_status replay_follow(const struct troupe_server_def *def, const struct files_source *source, struct text *out,
	uint64_t *ret_step, struct troupe_error *error)
{
	struct replay replay = {.follows = true, .source = source};
	troupe_status status = server_replay_open(&replay, def, NULL, error);
	if (!status)
		status = server_replay_to_end(&replay, ret_step, error);
	if (!status)
		status = server_replay_pack_waiting(&replay, out, error);
	replay_fini(&replay);
	return status;
}

troupe_status troupe_replay_run(const struct troupe_server_def *def, uint64_t until, struct troupe_replay *ret_replay,
	struct troupe_error *error)
{
	struct replay replay;
	troupe_status status = replay_begin(&replay, def, NULL, error);
	bool told = !status && replay.server && def->on_server;
	if (told)
		def->on_server(def->ctx, replay.server, true);
	if (!status)
		status = server_replay_all(&replay, until, error);
	if (told)
		def->on_server(def->ctx, replay.server, false);
	if (!status)
		*ret_replay = replay.result;
	replay_fini(&replay);
	return status;
}
