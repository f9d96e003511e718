/* The first difference of two recordings. The recorded hashes and commands of both, which are read without simulating,
 * tell up to which state the runs are the same: a state is a function of the world, the seed and the commands. From
 * there both are simulated side by side, one step at a time, until their hashes differ. A second repetition of the
 * steps around the difference gives its history. */
#include "server/replay.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct diff_state { /* a RECORD_HASH */
	uint64_t step, hash;
	uint64_t inputs; /* of all that was given before it */
};

struct diff_start { /* a RECORD_STATE */
	uint64_t step;
	struct recording_mark mark;
};

struct diff_side {
	const struct troupe_server_def *def;
	uint64_t begun;  /* hash of the RECORD_START */
	uint64_t inputs; /* of all commands and files so far */
	VEC(struct diff_state) states;
	VEC(struct diff_start) starts;
	struct replay replay;
	bool open;
};

struct diff {
	struct diff_side sides[2];
	struct troupe_difference *result;
	struct record_word word; /* that differs */
	bool has_word;
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static void server_diff_note(void *ctx, uint64_t kind, struct unpack *in, struct recording_mark mark)
{
	struct diff_side *side = ctx;
	size_t count = (size_t)(in->end - in->at);
	if (kind == RECORD_START)
		side->begun = hash_bytes(kind, in->at, count);
	else if (kind == RECORD_COMMAND || kind == RECORD_FILES)
		side->inputs = hash_bytes(hash_mix(side->inputs, kind), in->at, count);
	if (kind == RECORD_MEMBER) {
		recording_tell_member(in, side->def);
		return;
	}
	uint64_t step = unpack_u64(in);
	if (kind == RECORD_HASH && !in->bad) {
		struct diff_state state = {step, unpack_u64(in), side->inputs};
		vec_push(&side->states, state);
	} else if (kind == RECORD_STATE && !in->bad) {
		vec_push(&side->starts, ((struct diff_start){step, mark}));
	}
}

static troupe_status server_diff_read(struct diff_side *side, struct troupe_error *error)
{
	bool damaged;
	troupe_status status = recording_read_all(side->def->resume_path, server_diff_note, side, &damaged, error);
	if (!status && !side->states.count)
		status = fail(error, TROUPE_EWORLD, "%s: %s before its first state: expected a state to compare",
			side->def->resume_path, damaged ? "damaged" : "cut off");
	return status;
}

static uint64_t server_diff_begin_of(const struct diff *diff)
{
	return MAX(diff->sides[0].states.at[0].step, diff->sides[1].states.at[0].step);
}

static uint64_t server_diff_end_of(const struct diff *diff)
{
	const struct diff_side *a = &diff->sides[0], *b = &diff->sides[1];
	return MIN(a->states.at[a->states.count - 1].step, b->states.at[b->states.count - 1].step);
}

/* The last state up to which the recordings alone say that both are the same. With other starts that is their first
 * state; *ret_equal: nothing at all differs. */
static uint64_t server_diff_same_of(const struct diff *diff, bool *ret_equal)
{
	const struct diff_side *a = &diff->sides[0], *b = &diff->sides[1];
	uint64_t same = server_diff_begin_of(diff);
	uint32_t k = 0;
	*ret_equal = false;
	if (a->begun != b->begun)
		return same;
	for (uint32_t i = 0; i < a->states.count; i++) {
		const struct diff_state *one = &a->states.at[i];
		while (k < b->states.count && b->states.at[k].step < one->step)
			k++;
		if (k == b->states.count || b->states.at[k].step != one->step)
			continue;
		if (one->hash != b->states.at[k].hash || one->inputs != b->states.at[k].inputs)
			return same;
		same = one->step;
	}
	*ret_equal = same == server_diff_end_of(diff);
	return same;
}

/* --- simulating --------------------------------------------------------------------------------------------------- */

static troupe_status server_diff_open(struct diff_side *side, uint64_t step, bool heard, struct troupe_error *error)
{
	struct troupe_server_def def = *side->def;
	const struct diff_start *from = NULL;
	for (uint32_t i = 0; i < side->starts.count && side->starts.at[i].step <= step; i++)
		from = &side->starts.at[i];
	if (!heard)
		def.on_taken = NULL;
	if (side->open)
		replay_fini(&side->replay);
	side->open = true;
	troupe_status status = replay_begin(&side->replay, &def, from ? &from->mark : NULL, error);
	if (!status && !side->replay.server)
		status = fail(error, TROUPE_EIO, "%s: it has changed while it was read", def.resume_path);
	if (!status)
		side->replay.server->shown = true; /* stays before a step that failed */
	return status;
}

static troupe_status server_diff_go(struct diff_side *side, uint64_t step, struct troupe_error *error)
{
	struct replay *replay = &side->replay;
	troupe_status status = TROUPE_OK;
	while (!status && !replay->done && replay_step(replay) < step) {
		status = replay_read(replay, error);
		if (!status && !replay->done)
			status = replay_reach(replay, MIN(step, replay->next.step), error);
	}
	if (!status && replay->done && replay->result.end == TROUPE_REPLAY_DIFFERS)
		return fail(error, TROUPE_EWORLD, "%s: the state of step %" PRIu64 " is not the recorded one here: %s",
			side->def->resume_path, replay->result.step, replay->result.difference);
	return status;
}

static troupe_status server_diff_go_both(struct diff *diff, uint64_t step, struct troupe_error *error)
{
	troupe_status status = server_diff_go(&diff->sides[0], step, error);
	return status ? status : server_diff_go(&diff->sides[1], step, error);
}

/* --- the difference ----------------------------------------------------------------------------------------------- */

static void server_diff_name(struct diff *diff)
{
	const struct troupe_server *a = diff->sides[0].replay.server, *b = diff->sides[1].replay.server;
	struct text text = {0};
	bool named = false;
	if (a->world_count != b->world_count)
		text_add(&text, "%u and %u worlds", a->world_count, b->world_count);
	for (uint32_t i = 0; i < MIN(a->world_count, b->world_count) && !named; i++) {
		size_t before = text.count;
		text_add(&text, "world '%s': ", a->worlds[i].scene->name);
		named = record_find_word(&a->worlds[i], &b->worlds[i], &diff->word, &text);
		diff->has_word = named && diff->word.model != SCENE_NONE;
		diff->word.world = i;
		text.count = named ? text.count : before;
	}
	if (!text.count)
		text_add(&text, "which levels are loaded, or what was removed, placed or disabled");
	struct troupe_error line;
	(void)fail(&line, TROUPE_EINTERNAL, "%s", text.at);
	memcpy(diff->result->what, line.text, sizeof line.text);
	text_fini(&text);
	diff->result->has_words = diff->has_word;
	diff->result->is_real = diff->word.is_real;
	memcpy(diff->result->words, diff->word.words, sizeof diff->word.words);
}

static troupe_status server_diff_find(struct diff *diff, uint64_t same, struct troupe_error *error)
{
	struct troupe_difference *result = diff->result;
	uint64_t end = server_diff_end_of(diff);
	troupe_status status = server_diff_open(&diff->sides[0], same, true, error);
	if (!status)
		status = server_diff_open(&diff->sides[1], same, true, error);
	for (uint64_t step = same; !status && step <= end; step++) {
		status = server_diff_go_both(diff, step, error);
		if (status)
			break;
		result->step = step;
		for (int i = 0; i < 2; i++)
			result->hashes[i] = troupe_server_hash(diff->sides[i].replay.server);
		result->differs = result->hashes[0] != result->hashes[1];
		if (result->differs)
			break;
		result->same = step;
	}
	if (!status && result->differs)
		server_diff_name(diff);
	return status;
}

/* --- its history -------------------------------------------------------------------------------------------------- */

static bool server_diff_read_word(const struct diff *diff, int i, uint64_t *ret_word)
{
	const struct troupe_server *server = diff->sides[i].replay.server;
	const struct record_word *word = &diff->word;
	if (word->world >= server->world_count)
		return false;
	const struct server_world *world = &server->worlds[word->world];
	const struct scene *scene = world->scene;
	if (word->model >= scene->model_count || scene->models[word->model].absent ||
		scene->models[word->model].id != word->id ||
		word->word >= state_count_all(world->shared.state, word->model))
		return false;
	*ret_word = state_word_of_all(world->shared.state, word->model, word->word);
	return true;
}

static troupe_status server_diff_sample(
	struct diff *diff, const struct troupe_diff_def *def, struct troupe_error *error)
{
	const struct troupe_difference *result = diff->result;
	uint64_t begin = server_diff_begin_of(diff), end = server_diff_end_of(diff);
	uint64_t from = result->step - MIN(result->step - begin, def->before);
	uint64_t to = result->step + MIN(end - result->step, def->after);
	troupe_status status = server_diff_open(&diff->sides[0], from, false, error);
	if (!status)
		status = server_diff_open(&diff->sides[1], from, false, error);
	for (uint64_t step = from; !status && step <= to; step++) {
		uint64_t words[2] = {0, 0};
		bool there[2];
		status = server_diff_go_both(diff, step, error);
		if (status)
			break;
		for (int i = 0; i < 2; i++)
			there[i] = server_diff_read_word(diff, i, &words[i]);
		def->on_sample(def->ctx, step, words, there);
	}
	return status;
}

static troupe_status server_diff_all(struct diff *diff, const struct troupe_diff_def *def, struct troupe_error *error)
{
	struct troupe_difference *result = diff->result;
	bool equal;
	for (int i = 0; i < 2; i++) {
		diff->sides[i].def = def->sides[i];
		troupe_status status = server_diff_read(&diff->sides[i], error);
		if (status)
			return status;
		result->ends[i] = diff->sides[i].states.at[diff->sides[i].states.count - 1].step;
	}
	if (server_diff_begin_of(diff) > server_diff_end_of(diff))
		return fail(error, TROUPE_EWORLD,
			"%s and %s have no step in common: expected two recordings of one time",
			def->sides[0]->resume_path, def->sides[1]->resume_path);
	result->same_start = diff->sides[0].begun == diff->sides[1].begun;
	result->begin = server_diff_begin_of(diff);
	result->same = result->step = server_diff_same_of(diff, &equal);
	if (equal)
		return TROUPE_OK;
	troupe_status status = server_diff_find(diff, result->same, error);
	if (!status && diff->has_word && def->on_sample)
		status = server_diff_sample(diff, def, error);
	return status;
}

troupe_status troupe_diff(
	const struct troupe_diff_def *def, struct troupe_difference *ret_difference, struct troupe_error *error)
{
	if (!def || !def->sides[0] || !def->sides[1] || !def->sides[0]->resume_path || !def->sides[1]->resume_path)
		return fail(error, TROUPE_EINVAL, "no recording: expected two paths in resume_path");
	struct diff diff = {.result = ret_difference};
	*ret_difference = (struct troupe_difference){0};
	troupe_status status = server_diff_all(&diff, def, error);
	for (int i = 0; i < 2; i++) {
		if (diff.sides[i].open)
			replay_fini(&diff.sides[i].replay);
		vec_free(&diff.sides[i].states);
		vec_free(&diff.sides[i].starts);
	}
	return status;
}
