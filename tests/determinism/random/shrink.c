/* Delta debugging over the tree of parts, from the top down: of all parts of one depth, halves are left out, then
 * quarters, and so on to single ones, and what does not take the failure away stays out. Then the next depth. A part
 * that another one needs (the link of a joint) goes in a later round, after the other one. Rounds end when one
 * changes nothing.
 *
 * Before that, the simplest placements that still show the failure are looked for, and steps after it are cut off:
 * both make every later try cheaper. */
#include "shrink.h"

#include "base/clock.h"

#include <string.h>

struct shrinking {
	struct troupe *troupe;
	struct scenario *scenario;
	const char *folder;
	struct way *way;
	struct failure *failure; /* of the smallest failing scenario so far */
	uint64_t end_ns;
	uint32_t tries;
};

static bool time_is_up(const struct shrinking *s)
{
	return clock_now_ns() >= s->end_ns;
}

/* Whether the scenario, as it is now, fails as before in this way. */
static bool still_fails(struct shrinking *s, const struct way *way)
{
	struct account reference;
	struct failure failure;
	s->tries++;
	scenario_write(s->scenario, s->troupe->source_dir, s->folder);
	bool good = ways_reference(s->troupe, s->scenario, s->folder, &reference, &failure);
	if (good && way->kind != WAY_ALONE)
		good = ways_try(s->troupe, s->scenario, s->folder, &reference, way, &failure);
	else if (!good && way->kind != WAY_ALONE)
		good = true; /* it fails, but not in this way */
	account_fini(&reference);
	if (good || strcmp(failure.what, s->failure->what) != 0)
		return false;
	*s->failure = failure;
	return true;
}

/* --- the way ------------------------------------------------------------------------------------------------------ */

static bool take_way(struct shrinking *s, struct way way)
{
	if (time_is_up(s) || !memcmp(&way, s->way, sizeof way) || !still_fails(s, &way))
		return false;
	*s->way = way;
	return true;
}

static void simplify_placement(struct shrinking *s, struct placement *placement, bool may_be_single)
{
	static const struct placement simple[] = {{.secondaries = 0}, {.secondaries = 1}, {.secondaries = 2},
		{.secondaries = 1, .chaos = true, .chaos_seed = 4, .chaos_moves = 1},
		{.secondaries = 2, .chaos = true, .chaos_seed = 4, .chaos_moves = 1}, {.secondaries = 1, .tcp = true},
		{.secondaries = 2, .tcp = true}};
	struct placement before = *placement;
	for (size_t i = may_be_single ? 0 : 1; i < ARRAY_LEN(simple); i++) {
		struct way way = *s->way;
		*(struct placement *)((char *)&way + ((char *)placement - (char *)s->way)) = simple[i];
		if (take_way(s, way))
			return;
	}
	*placement = before;
}

static void simplify_way(struct shrinking *s)
{
	struct way way = *s->way;
	if (way.kind == WAY_RESUME && way.again) {
		way.again = 0;
		if (!take_way(s, way)) {
			way.at = way.again = s->way->again; /* perhaps the first resume does not matter */
			way.again = 0;
			(void)take_way(s, way);
		}
	}
	way = *s->way;
	way.late = false;
	(void)take_way(s, way);
	bool lost = s->way->kind == WAY_LOST, more = s->way->kind == WAY_UNDER || s->way->kind == WAY_FILES;
	if (!lost)
		simplify_placement(s, &s->way->first, s->way->kind != WAY_PLAIN);
	if (s->way->kind == WAY_RESUME || s->way->kind == WAY_REPLAY || s->way->kind == WAY_STOP || lost || more)
		simplify_placement(s, &s->way->second, true);
	if (s->way->again || more)
		simplify_placement(s, &s->way->third, true);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static bool try_steps(struct shrinking *s, uint64_t steps)
{
	uint64_t before = s->scenario->steps;
	if (time_is_up(s) || steps >= before || !steps || steps <= s->way->at || steps <= s->way->again ||
		steps <= s->way->from)
		return false;
	s->scenario->steps = steps;
	if (still_fails(s, s->way))
		return true;
	s->scenario->steps = before;
	return false;
}

static void cut_steps(struct shrinking *s)
{
	if (s->failure->step != UINT64_MAX && try_steps(s, s->failure->step))
		return;
	while (try_steps(s, s->scenario->steps / 2) || try_steps(s, s->scenario->steps * 9 / 10))
		;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

static void collect(struct part *part, uint32_t depth, uint32_t wanted, part_list *list)
{
	if (part->dropped)
		return;
	if (depth == wanted && part->kind != PART_NEEDED)
		vec_push(list, part);
	for (uint32_t i = 0; i < part->children.count && depth < wanted; i++)
		collect(part->children.at[i], depth + 1, wanted, list);
}

static uint32_t depth_of(const struct part *part)
{
	uint32_t deepest = 0;
	for (uint32_t i = 0; i < part->children.count; i++)
		deepest = MAX(deepest, 1 + depth_of(part->children.at[i]));
	return deepest;
}

static void drop(part_list *list, uint32_t first, uint32_t count, bool dropped)
{
	for (uint32_t i = first; i < first + count; i++)
		list->at[i]->dropped = dropped;
}

/* Leaves out parts of the list; true when one could be left out. */
static bool leave_out(struct shrinking *s, part_list *list)
{
	bool any = false;
	for (uint32_t size = MAX(list->count, 1u); list->count; size = (size + 1) / 2) {
		for (uint32_t first = 0; first < list->count && !time_is_up(s);) {
			uint32_t count = MIN(size, list->count - first);
			drop(list, first, count, true);
			if (!still_fails(s, s->way)) {
				drop(list, first, count, false);
				first += count;
				continue;
			}
			any = true;
			for (uint32_t i = first; i + count < list->count; i++)
				list->at[i] = list->at[i + count];
			list->count -= count;
		}
		if (size == 1 || time_is_up(s))
			break;
	}
	return any;
}

static bool shrink_tree(struct shrinking *s, struct part *root)
{
	bool any = false;
	for (uint32_t depth = 1, deepest = depth_of(root); depth <= deepest && !time_is_up(s); depth++) {
		part_list list = {0};
		collect(root, 0, depth, &list);
		any |= leave_out(s, &list);
		vec_free(&list);
	}
	return any;
}

static bool shrink_all(struct shrinking *s)
{
	bool any = shrink_tree(s, s->scenario->commands) | shrink_tree(s, s->scenario->world);
	for (uint32_t i = 0; i < s->scenario->files.count; i++)
		if (s->scenario->files.at[i].part)
			any |= shrink_tree(s, s->scenario->files.at[i].part);
	return any;
}

static void drop_options(struct shrinking *s)
{
	struct scenario *scenario = s->scenario;
	bool sleepless = scenario->sleepless, paused = scenario->paused, senses = scenario->senses;
	double initial_time_s = scenario->initial_time_s;
	scenario->sleepless = scenario->paused = scenario->senses = false;
	scenario->initial_time_s = 0;
	if (still_fails(s, s->way))
		return;
	scenario->sleepless = sleepless;
	scenario->paused = paused;
	scenario->senses = senses;
	scenario->initial_time_s = initial_time_s;
}

uint32_t shrink(struct troupe *troupe, struct scenario *scenario, const char *folder, double limit_s, struct way *way,
	struct failure *failure)
{
	struct shrinking s = {.troupe = troupe,
		.scenario = scenario,
		.folder = folder,
		.way = way,
		.failure = failure,
		.end_ns = clock_now_ns() + (uint64_t)(limit_s * 1e9)};
	struct failure as_found = *failure;
	if (!still_fails(&s, way)) { /* it does not fail each time: leave it as it is */
		*failure = as_found;
		return s.tries;
	}
	if (way->kind != WAY_ALONE)
		simplify_way(&s);
	cut_steps(&s);
	drop_options(&s);
	do
		cut_steps(&s);
	while (shrink_all(&s) && !time_is_up(&s));
	if (way->kind != WAY_ALONE)
		simplify_way(&s);
	cut_steps(&s);
	scenario_write(scenario, troupe->source_dir, folder);
	return s.tries;
}
