/* What others read of a primary, and tell it, between its steps; and what any thread may at any time. */
#include "run/primary_internal.h"

uint64_t primary_steps(const struct primary *primary)
{
	return primary->lockstep.number;
}

double primary_step_s(const struct primary *primary)
{
	return primary->edit.step_s;
}

bool primary_is_paused(const struct primary *primary)
{
	return primary->paused;
}

bool primary_is_stepping(const struct primary *primary)
{
	return primary->multi_steps > 0;
}

bool primary_has_moved(const struct primary *primary)
{
	return !primary->step.paused;
}

bool primary_has_begun(const struct primary *primary)
{
	return primary->begun_step > primary->lockstep.number;
}

uint64_t primary_requests(const struct primary *primary)
{
	return primary->requests;
}

uint64_t primary_scene_epoch(const struct primary *primary)
{
	return primary->edit.epoch + 1;
}

uint64_t primary_real_ns(const struct primary *primary, uint64_t now_ns)
{
	return primary->begin_ns ? now_ns - primary->begin_ns : 0;
}

uint32_t primary_open_steps(const struct primary *primary)
{
	return lockstep_complete(&primary->lockstep) ? 0 : primary->step.window;
}

const struct observed *primary_observed(const struct primary *primary)
{
	return &primary->observed;
}

const struct readings *primary_readings(const struct primary *primary)
{
	return &primary->readings;
}

const struct plan *primary_plan(const struct primary *primary)
{
	return &primary->plan;
}

bool primary_advanced(const struct primary *primary)
{
	return primary->advanced;
}

const uint64_t *primary_hashes(const struct primary *primary, uint32_t *ret_count)
{
	*ret_count = primary->hashes.count;
	return primary->hashes.at;
}

const struct published *primary_published(const struct primary *primary, uint32_t *ret_count)
{
	*ret_count = primary->published.count;
	return primary->published.at;
}

const char *primary_published_bytes(const struct primary *primary, const struct published *published)
{
	return primary->published_bytes.at + published->first;
}

const struct secondary_stats *primary_stats(const struct primary *primary, uint32_t secondary)
{
	return &primary->stats[secondary];
}

struct primary_counts primary_counts(const struct primary *primary)
{
	bool begun = primary->begin_ns;
	return (struct primary_counts){.begun_s = primary->options.initial_time_s,
		.first_step = begun ? primary->begin_step : primary->lockstep.number,
		.first_s = begun ? primary->begin_time_s : primary_time_s(primary),
		.wall_ns = begun ? primary->end_ns - primary->begin_ns : 0,
		.paused_ns = primary->paused_ns,
		.run_steps = primary->run_steps,
		.moves = primary->plan.placement.moves,
		.meetings = primary->plan.placement.meetings,
		.loads = primary->plan.loading.loads,
		.created = primary->edit.created,
		.removed = primary->edit.removed,
		.refused = primary->refused,
		.waiting = schedule_waiting(&primary->schedule),
		.windows = primary->window.counts.windows,
		.repeated_steps = primary->window.counts.repeated_steps,
		.longest_window = primary->window.counts.longest,
		.readings = primary->reading_count,
		.readings_digest = primary->reading_digest};
}

void primary_number_components(struct primary *primary, uint32_t *ret_models, uint32_t *ret_levels)
{
	ownership_number(
		&primary->plan.placement.ownership, primary->shared->scene->model_count, ret_models, ret_levels);
}

troupe_status primary_status(const struct primary *primary)
{
	return primary->status;
}

const struct troupe_error *primary_error(const struct primary *primary)
{
	return &primary->error;
}

void primary_go_on(struct primary *primary, uint64_t iterations, double until_s)
{
	primary->options.iterations = iterations;
	primary->options.until_s = until_s;
	primary->ended = false;
}

bool primary_go_to(struct primary *primary, uint64_t steps)
{
	primary->options.iterations = steps;
	primary->ended = steps <= primary->lockstep.number;
	return !primary->ended;
}

void primary_replay(struct primary *primary)
{
	primary->options.unpaced = primary->options.replays = true;
}

void primary_watch(struct primary *primary, uint32_t notes)
{
	primary->watched = notes;
}

struct schedule *primary_schedule(struct primary *primary)
{
	return &primary->schedule;
}

struct owners *primary_owners(struct primary *primary)
{
	return &primary->edit.owners;
}

void primary_learn_pins(struct primary *primary)
{
	plan_learn_pins(&primary->plan);
}

void primary_stop(struct primary *primary)
{
	atomic_store(&primary->stop, true);
}

void primary_clear_stop(struct primary *primary)
{
	atomic_store(&primary->stop, false);
}

bool primary_is_stopped(const struct primary *primary)
{
	return atomic_load(&primary->stop);
}

struct primary_progress primary_progress(const struct primary *primary)
{
	return (struct primary_progress){
		.steps = atomic_load_explicit(&primary->seen_steps, memory_order_relaxed),
		.moves = atomic_load_explicit(&primary->seen_moves, memory_order_relaxed),
		.levels = atomic_load_explicit(&primary->seen_levels, memory_order_relaxed),
		.time_s = atomic_load_explicit(&primary->seen_time_s, memory_order_relaxed),
		.paused = atomic_load_explicit(&primary->seen_paused, memory_order_relaxed),
	};
}
