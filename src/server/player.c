/* A player makes the state of any step of a recording by simulation: it begins at the nearest recorded state before the
 * step, or at the present state when that is nearer. So each state that it shows is the recorded one, which each hash
 * on the way proves, and a recording need not hold the poses of each step. A jump makes another server, because a
 * server cannot go back; the old one is there until the caller has left it. */
#include "base/clock.h"
#include "server/clients.h"
#include "server/replay.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Going on is preferred to a recorded state that is less than so many steps ahead: playing forward does not
	 * change the server. */
	STEPS_AHEAD = 2000,
	/* Between two looks at `stop` it simulates for about so long. */
	PLAYER_LOOK_NS = 20000000,
};

struct player_start { /* a RECORD_STATE */
	uint64_t step;
	struct recording_mark mark;
};

struct player_world {      /* only while the index is read */
	VEC(uint64_t) ids; /* of models, by place; 0: there was none */
};

struct troupe_player {
	struct troupe_server_def def;
	char *path;
	void (*on_server)(void *ctx, struct troupe_server *server);
	void *ctx;
	struct troupe_player_info info;
	VEC(struct player_start) starts; /* by step */
	VEC(struct player_world) worlds;
	bool creates;
	struct replay replay;
	uint64_t chunk; /* steps between two looks at `stop` */
	_Atomic bool stop;
	_Atomic uint64_t reached;
};

/* --- the index ---------------------------------------------------------------------------------------------------- */

/* A model of a place that none had, or with another id than the one before it had, was made during the run. */
static void player_note_model(struct troupe_player *player, uint32_t world, uint32_t place, uint64_t id)
{
	uint32_t more = world + 1 - MIN(player->worlds.count, world + 1);
	(void)vec_append(&player->worlds, more);
	struct player_world *noted = &player->worlds.at[world];
	more = place + 1 - MIN(noted->ids.count, place + 1);
	(void)vec_append(&noted->ids, more);
	player->creates |= player->info.hashes && id && id != noted->ids.at[place];
	if (id)
		noted->ids.at[place] = id;
}

/* The rest of a RECORD_HASH: `in` stands behind the hash of all worlds. */
static void player_note_models(struct troupe_player *player, struct unpack *in)
{
	for (uint32_t world = 0; in->at < in->end && !in->bad; world++) {
		for (int i = 0; i < 3; i++)
			(void)unpack_u64(in);
		in->at += 8 * (size_t)unpack_count(in, (uint64_t)(in->end - in->at) / 8);
		for (uint32_t place; (place = unpack_count(in, RECORD_PLACES_MAX));) {
			uint64_t id = unpack_u64(in);
			free(unpack_string(in));
			in->at += 8 * (size_t)unpack_count(in, (uint64_t)(in->end - in->at) / 8);
			player_note_model(player, world, place - 1, id);
		}
	}
}

static void player_note_command(struct troupe_player *player, struct unpack *in)
{
	struct troupe_taken taken = {.text = ""};
	taken.step = unpack_u64(in);
	taken.world = unpack_count(in, UINT32_MAX);
	taken.refused = unpack_count(in, RECORD_COMMAND_HEARD | RECORD_COMMAND_FAILED) & RECORD_COMMAND_FAILED;
	char *topic = unpack_string(in);
	taken.topic = topic;
	player->creates |= strstr(topic, "/create") || strstr(topic, "/resume");
	if (player->def.on_taken && !in->bad)
		player->def.on_taken(player->def.ctx, &taken);
	free(topic);
}

static void player_note_chunk(void *ctx, uint64_t kind, struct unpack *in, struct recording_mark mark)
{
	struct troupe_player *player = ctx;
	struct troupe_player_info *info = &player->info;
	bool hash = kind == RECORD_HASH || kind == RECORD_FAILED;
	uint64_t step = hash || kind == RECORD_STATE ? unpack_u64(in) : 0;
	if (kind == RECORD_STATE && !in->bad) {
		vec_push(&player->starts, ((struct player_start){step, mark}));
	} else if (hash && !in->bad) {
		(void)unpack_u64(in);
		if (kind == RECORD_HASH)
			player_note_models(player, in);
		info->begin = info->hashes++ ? info->begin : step;
		info->end = step;
	} else if (kind == RECORD_COMMAND) {
		player_note_command(player, in);
	} else if (kind == RECORD_MEMBER) {
		recording_tell_member(in, &player->def);
	} else if (kind == RECORD_END) {
		(void)unpack_u64(in);
		info->failed = unpack_count(in, 1);
		info->how = TROUPE_REPLAY_WHOLE;
	}
}

static troupe_status player_read_index(struct troupe_player *player, struct troupe_error *error)
{
	bool damaged;
	troupe_status status = recording_read_all(player->path, player_note_chunk, player, &damaged, error);
	if (damaged)
		player->info.how = TROUPE_REPLAY_DAMAGED;
	for (uint32_t i = 0; i < player->worlds.count; i++)
		vec_free(&player->worlds.at[i].ids);
	vec_free(&player->worlds);
	player->info.states = player->starts.count + 1;
	if (!status && !player->info.hashes)
		status = fail(error, TROUPE_EWORLD, "%s: %s before its first state: expected a state to show",
			player->path, player->info.how == TROUPE_REPLAY_DAMAGED ? "damaged" : "cut off");
	return status;
}

/* The last recorded state that is not after the step; NULL: the first state of the recording. */
static const struct player_start *player_state_before(const struct troupe_player *player, uint64_t step)
{
	const struct player_start *best = NULL;
	for (uint32_t i = 0; i < player->starts.count && player->starts.at[i].step <= step; i++)
		best = &player->starts.at[i];
	return best;
}

/* --- going to a step ---------------------------------------------------------------------------------------------- */

static troupe_status player_check(const struct replay *replay, const char *path, struct troupe_error *error)
{
	const struct troupe_replay *result = &replay->result;
	if (!replay->done || result->end != TROUPE_REPLAY_DIFFERS)
		return TROUPE_OK;
	return fail(error, TROUPE_EWORLD, "%s: the state of step %" PRIu64 " is not the recorded one: %s", path,
		result->step, result->difference);
}

/* As replay_reach(), but some steps at a time. */
static troupe_status player_reach(
	struct troupe_player *player, struct replay *replay, uint64_t step, struct troupe_error *error)
{
	uint64_t at = MIN(replay_step(replay), step);
	troupe_status status;
	do {
		uint64_t begin_ns = clock_now_ns(), count = MIN(step - at, player->chunk);
		at += count;
		status = replay_reach(replay, at, error);
		atomic_store(&player->reached, replay_step(replay));
		if (clock_now_ns() - begin_ns > PLAYER_LOOK_NS)
			player->chunk = MAX(count / 2, 1);
		else if (count == player->chunk)
			player->chunk *= 2;
	} while (!status && at < step && !troupe_server_was_stopped(replay->server) && !atomic_load(&player->stop));
	return status;
}

static troupe_status player_advance(
	struct troupe_player *player, struct replay *replay, uint64_t step, struct troupe_error *error)
{
	troupe_status status = player_check(replay, player->path, error);
	while (!status && !replay->done && !atomic_load(&player->stop)) {
		status = replay_read(replay, error);
		if (status || replay->done)
			break;
		status = player_reach(player, replay, MIN(step, replay->next.step), error);
		if (!status)
			status = player_check(replay, player->path, error);
		if (replay->next.waits)
			break; /* the step is reached, or the server was stopped */
	}
	return status;
}

/* Makes the state with another server, and leaves the old one. */
static troupe_status player_jump(
	struct troupe_player *player, const struct player_start *from, uint64_t step, struct troupe_error *error)
{
	struct replay fresh, old = player->replay;
	troupe_status status = replay_begin(&fresh, &player->def, from ? &from->mark : NULL, error);
	if (!status && !fresh.server)
		status = fail(error, TROUPE_EIO, "%s: it has changed while it was played", player->path);
	if (!status) {
		fresh.server->shown = true;
		status = player_advance(player, &fresh, step, error);
	}
	if (status) {
		replay_fini(&fresh);
		return status;
	}
	player->replay = fresh;
	if (player->on_server)
		player->on_server(player->ctx, fresh.server);
	replay_fini(&old);
	return TROUPE_OK;
}

troupe_status troupe_player_go(struct troupe_player *player, uint64_t step, struct troupe_error *error)
{
	uint64_t to = MIN(MAX(step, player->info.begin), player->info.end), now = troupe_player_step(player);
	const struct player_start *from = player_state_before(player, to);
	bool far = to < now || (from && from->step > now && from->step - now > STEPS_AHEAD);
	troupe_status status =
		far ? player_jump(player, from, to, error) : player_advance(player, &player->replay, to, error);
	atomic_store(&player->stop, false);
	return status;
}

void troupe_player_stop(struct troupe_player *player)
{
	atomic_store(&player->stop, true);
}

uint64_t troupe_player_reached(const struct troupe_player *player)
{
	return atomic_load(&player->reached);
}

void troupe_player_serve(struct troupe_player *player)
{
	clients_serve(player->replay.server->clients, false);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

troupe_status troupe_player_open(const struct troupe_server_def *def,
	void (*on_server)(void *ctx, struct troupe_server *server), void *ctx, struct troupe_player **ret_player,
	struct troupe_error *error)
{
	if (!def || !def->resume_path)
		return fail(error, TROUPE_EINVAL, "no recording: expected a path in resume_path");
	if (def->network) {
		server_refuse(def);
		return fail(error, TROUPE_EINVAL, "a player has its secondaries in this process: expected no network");
	}
	struct troupe_player *player = mem_alloc(sizeof *player);
	*player = (struct troupe_player){.def = *def,
		.path = mem_strdup(def->resume_path),
		.on_server = on_server,
		.ctx = ctx,
		.chunk = 1,
		.info.how = TROUPE_REPLAY_CUT};
	player->def.resume_path = player->path;
	troupe_status status = player_read_index(player, error);
	player->def.on_taken = NULL;
	if (!status)
		status = player_jump(player, NULL, player->info.begin, error);
	if (status) {
		troupe_player_close(player);
		return status;
	}
	*ret_player = player;
	return TROUPE_OK;
}

void troupe_player_close(struct troupe_player *player)
{
	if (!player)
		return;
	replay_fini(&player->replay);
	vec_free(&player->starts);
	free(player->path);
	free(player);
}

struct troupe_server *troupe_player_server(const struct troupe_player *player)
{
	return player->replay.server;
}

uint64_t troupe_player_step(const struct troupe_player *player)
{
	return replay_step(&player->replay);
}

bool troupe_player_creates(const struct troupe_player *player)
{
	return player->creates;
}

uint64_t troupe_player_start(const struct troupe_player *player, uint64_t step)
{
	const struct player_start *start = player_state_before(player, step);
	return start ? start->step : player->info.begin;
}

struct troupe_player_info troupe_player_info(const struct troupe_player *player)
{
	return player->info;
}
