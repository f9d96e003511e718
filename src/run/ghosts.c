/* Keeps the list of ghosts up to date without looking at performers about which nothing changed.
 *
 * The list is sorted by (model, secondary). ghosts_find() merges the old list with the marked models: entries of
 * models that are not marked are copied, entries of marked models are computed again. The old list is kept in
 * `before`, so that the plan can compare the two lists. */
#include "run/ghosts.h"

#include <stdlib.h>

static uint32_t ghosts_words(uint32_t models)
{
	return models / 64 + 1;
}

void ghosts_fit(struct ghosts *ghosts, uint32_t models)
{
	uint32_t before = ghosts->marked ? ghosts_words(ghosts->room) : 0;
	ghosts->marked = mem_grow(
		ghosts->marked, before * sizeof *ghosts->marked, ghosts_words(models) * sizeof *ghosts->marked);
	ghosts->room = models;
}

void ghosts_fini(struct ghosts *ghosts)
{
	vec_free(&ghosts->now);
	vec_free(&ghosts->before);
	free(ghosts->marked);
}

void ghosts_mark(struct ghosts *ghosts, uint32_t model)
{
	ghosts->marked[model / 64] |= UINT64_C(1) << (model % 64);
	ghosts->dirty = true;
}

void ghosts_mark_around(struct ghosts *ghosts, const struct tracker *tracker, uint32_t level)
{
	for (uint32_t i = 0; i < tracker->around[level].count; i++)
		ghosts_mark(ghosts, tracker->around[level].at[i]);
}

void ghosts_mark_all(struct ghosts *ghosts)
{
	for (uint32_t i = 0; i < ghosts->now.count; i++)
		ghosts_mark(ghosts, ghosts->now.at[i].model);
}

/* Adds behind the ghosts of lower models. Secondaries are in order, each once. */
static void ghosts_add(struct ghosts *ghosts, uint32_t model, uint32_t secondary)
{
	uint32_t at = ghosts->now.count;
	for (; at > 0 && ghosts->now.at[at - 1].model == model && ghosts->now.at[at - 1].secondary >= secondary; at--)
		if (ghosts->now.at[at - 1].secondary == secondary)
			return;
	vec_push(&ghosts->now, (struct ghost){0});
	for (uint32_t i = ghosts->now.count - 1; i > at; i--)
		ghosts->now.at[i] = ghosts->now.at[i - 1];
	ghosts->now.at[at] = (struct ghost){model, secondary};
}

static void ghosts_add_all(
	struct ghosts *ghosts, const struct tracker *tracker, const struct assignment *assignment, uint32_t model)
{
	if (tracker->performer_of[model] == SCENE_NONE)
		return;
	const bvh_values *near = &tracker->performers.at[tracker->performer_of[model]].near;
	for (uint32_t i = 0; i < near->count; i++) {
		uint32_t secondary = assignment->level[near->at[i]];
		if (secondary && secondary != assignment->model[model])
			ghosts_add(ghosts, model, secondary);
	}
}

bool ghosts_find(struct ghosts *ghosts, const struct tracker *tracker, const struct assignment *assignment)
{
	if (!ghosts->dirty)
		return false;
	ghost_list old = ghosts->now;
	ghosts->now = ghosts->before;
	ghosts->before = old;
	ghosts->now.count = 0;
	uint32_t at = 0;
	for (uint32_t w = 0; w < ghosts_words(ghosts->room); w++) {
		for (uint64_t bits = ghosts->marked[w]; bits; bits &= bits - 1) {
			uint32_t model = w * 64 + (uint32_t)__builtin_ctzll(bits);
			for (; at < old.count && old.at[at].model < model; at++)
				vec_push(&ghosts->now, old.at[at]);
			while (at < old.count && old.at[at].model == model)
				at++;
			ghosts_add_all(ghosts, tracker, assignment, model);
		}
		ghosts->marked[w] = 0;
	}
	for (; at < old.count; at++)
		vec_push(&ghosts->now, old.at[at]);
	ghosts->dirty = false;
	return true;
}
