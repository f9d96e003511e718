/* The state of a primary as bytes: packed for a file, unpacked into a primary that has not begun, or taken up by one
 * that runs.
 *
 * A running world cannot be checked against bytes before they are unpacked: whether they fit follows from unpacking
 * them. So the present state is packed first. If the bytes turn out to be damaged, the present state is unpacked again,
 * and law 3 says that no bit of it is lost by that. The runners have no part in this: before the turn in which the
 * state is taken up they have released all models (primary_decide()), and after it they take over what there is. */
#include "run/primary_internal.h"

#include "geom/pack.h"
#include "run/surfaced.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX (UINT64_C(1) << 53) /* limit for a saved state */
#define TIME_MAX_S 1e18

enum { PRIMARY_SAVE_PAUSED = 1, EMPTIED = 2, DECIDED = 4 };

void primary_collect(struct primary *primary, struct files *files)
{
	schedule_collect(&primary->schedule, files);
}

/* Packs which models are asleep. Still counts do not say it: of several models that were still for equally long, some
 * may have had to stay awake. */
static void primary_save_pack_rest(const struct primary *primary, struct text *out)
{
	uint32_t models = primary->shared->scene->model_count, count = 0;
	for (uint32_t m = 0; m < models; m++)
		count += primary_sleeps(primary, m);
	pack_u64(out, count);
	for (uint32_t m = 0; m < models; m++)
		if (primary_sleeps(primary, m))
			pack_u64(out, m);
}

static void primary_save_unpack_rest(struct primary *primary, struct unpack *in)
{
	struct state *state = primary->shared->state;
	uint32_t models = primary->shared->scene->model_count;
	for (uint32_t m = 0; m < models; m++)
		state->models[m].changed_at = primary->moving_steps;
	uint32_t count = unpack_count(in, models);
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		uint32_t model = unpack_count(in, models - 1);
		if (!in->bad && primary->moving_steps)
			state->models[model].changed_at = primary->moving_steps - 1;
	}
}

static void primary_save_pack_triggered(const struct primary *primary, struct text *out)
{
	pack_u64(out, primary->triggered.count);
	for (uint32_t i = 0; i < primary->triggered.count; i++) {
		pack_u64(out, primary->triggered.at[i].id);
		pack_u64(out, primary->triggered.at[i].camera.model);
		pack_u64(out, primary->triggered.at[i].camera.index);
	}
}

static void primary_save_unpack_triggered(struct primary *primary, struct unpack *in)
{
	uint32_t count = unpack_count(in, SENSORS_MAX), models = primary->shared->scene->model_count;
	primary->triggered.count = 0;
	for (uint32_t i = 0; i < count && !in->bad; i++) {
		struct triggered triggered = {.id = unpack_u64(in)};
		triggered.camera.model = unpack_count(in, models);
		triggered.camera.index = unpack_count(in, SENSORS_MAX);
		in->bad |= triggered.camera.model == models;
		if (!in->bad)
			vec_push(&primary->triggered, triggered);
	}
}

static bool primary_save_is_used(const struct sensors *sensors, const struct reading *reading)
{
	const struct sensor *sensor = sensors_find(sensors, reading->model, reading->index);
	return sensor && sensor->used;
}

static uint32_t primary_save_words_of(uint32_t bytes)
{
	return (bytes + 7) / 8;
}

static void primary_save_pack_reading(const struct readings *readings, const struct reading *reading, struct text *out)
{
	pack_u64(out, reading->id);
	pack_u64(out, reading->model);
	pack_u64(out, reading->index);
	pack_u64(out, reading->kind);
	pack_u64(out, (uint64_t)reading->time_ns);
	pack_u64(out, reading->count);
	for (uint32_t i = 0; i < primary_save_words_of(reading->count); i++) { /* bits: a range may be infinite */
		uint64_t word;
		memcpy(&word, &readings->numbers.at[reading->first + i], sizeof word);
		pack_u64(out, word);
	}
}

static void primary_save_unpack_reading(struct primary *primary, struct unpack *in)
{
	struct readings *readings = &primary->readings;
	struct reading reading = {.id = unpack_u64(in), .first = readings->numbers.count};
	reading.model = unpack_count(in, primary->shared->scene->model_count);
	reading.index = unpack_count(in, SENSORS_MAX);
	const struct sensor *sensor = sensors_find(primary_sensors(primary), reading.model, reading.index);
	reading.kind = (enum sdf_sensor_kind)unpack_u64(in);
	reading.time_ns = (int64_t)unpack_u64(in);
	reading.count = unpack_count(in, UINT32_MAX / 2);
	in->bad |= !sensor || sensor->sdf->kind != reading.kind;
	if (in->bad || primary_save_words_of(reading.count) > (size_t)(in->end - in->at) / 8) {
		in->bad = true;
		return;
	}
	for (uint32_t i = 0; i < primary_save_words_of(reading.count); i++) {
		uint64_t word = unpack_u64(in);
		double number;
		memcpy(&number, &word, sizeof number);
		vec_push(&readings->numbers, number);
	}
	vec_push(&readings->list, reading);
}

/* The words of the systems of the world itself, and what sensors measured in the last step that systems have not seen.
 */
static void primary_save_pack_systems(const struct primary *primary, struct text *out)
{
	const struct state *state = primary->shared->state;
	pack_u64(out, state->world.count);
	for (uint32_t i = 0; i < state->world.count; i++)
		pack_u64(out, state->world.words[i]);
	const struct readings *readings = &primary->readings;
	const struct sensors *sensors = primary->shared->sensors;
	uint32_t count = 0;
	for (uint32_t i = 0; i < readings->list.count; i++)
		count += primary_save_is_used(sensors, &readings->list.at[i]);
	pack_u64(out, count);
	for (uint32_t i = 0; i < readings->list.count; i++)
		if (primary_save_is_used(sensors, &readings->list.at[i]))
			primary_save_pack_reading(readings, &readings->list.at[i], out);
}

static void primary_save_unpack_systems(struct primary *primary, struct unpack *in)
{
	struct state *state = primary->shared->state;
	in->bad |= unpack_u64(in) != state->world.count;
	for (uint32_t i = 0; i < state->world.count && !in->bad; i++)
		state->world.words[i] = unpack_u64(in);
	readings_clear(&primary->readings);
	uint32_t count = unpack_count(in, SENSORS_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		primary_save_unpack_reading(primary, in);
}

/* --- a step that was given up ------------------------------------------------------------------------------------- */

static bool primary_save_has_systems(const struct shared *shared)
{
	bool any = systems_of(shared->systems, SCENE_NONE)->count;
	for (uint32_t m = 0; m < shared->scene->model_count && !any; m++)
		any = systems_of(shared->systems, m)->count;
	return any;
}

/* Whether systems have decided for the coming step: a step that was given up has left what they decided. Most of it is
 * in the words of the state, and in messages that were obeyed. Without systems nothing is decided: the state is as if
 * the step had not begun. */
static bool primary_save_is_decided(const struct primary *primary)
{
	return primary->decided_step > primary->lockstep.number && primary_save_has_systems(primary->shared);
}

static void primary_save_pack_decisions(const struct primary *primary, struct text *out)
{
	const struct shared *shared = primary->shared;
	if (!primary_save_is_decided(primary))
		return;
	surfaced_pack(shared->scene, &shared->control, &primary->surfaced, out);
	pack_u64(out, primary->published.count);
	for (uint32_t i = 0; i < primary->published.count; i++) {
		const struct published *published = &primary->published.at[i];
		pack_u64(out, published->model);
		pack_u64(out, published->system);
		pack_u64(out, published->output);
		pack_bytes(out, primary->published_bytes.at + published->first, published->count);
	}
}

static void primary_save_unpack_published(struct primary *primary, struct unpack *in)
{
	const struct systems *systems = primary->shared->systems;
	struct published published = {.model = unpack_count(in, SCENE_NONE)};
	published.system = unpack_count(in, UINT32_MAX);
	published.output = unpack_count(in, UINT32_MAX);
	const char *bytes = unpack_bytes(in, &published.count);
	bool there = published.model == SCENE_NONE || published.model < primary->shared->scene->model_count;
	const struct system_set *set = there ? systems_of(systems, published.model) : NULL;
	in->bad |=
		!set || published.system >= set->count || published.output >= set->at[published.system].outputs.count;
	if (in->bad)
		return;
	const struct system_output *output = &set->at[published.system].outputs.at[published.output];
	ProtobufCMessage *message;
	struct troupe_error why;
	if (output->def.gives != TROUPE_GIVES_PUBLISHED ||
		message_of_bytes(output->type, bytes, published.count, &message_limits_none, &message, &why)) {
		in->bad = true;
		return;
	}
	message_free(message);
	published.first = primary->published_bytes.count;
	text_add_bytes(&primary->published_bytes, bytes, published.count);
	vec_push(&primary->published, published);
}

static void primary_save_unpack_decisions(struct primary *primary, struct unpack *in)
{
	struct shared *shared = primary->shared;
	surfaced_clear(shared->scene, &shared->control, &primary->surfaced);
	primary->published.count = 0;
	primary->published_bytes.count = 0;
	if (!primary->decided_step)
		return;
	for (struct surfaced_geom geom; surfaced_unpack(in, &geom);)
		in->bad |= !surfaced_set(shared->scene, &shared->control, &geom, &primary->surfaced);
	uint32_t count = unpack_count(in, UINT32_MAX);
	for (uint32_t i = 0; i < count && !in->bad; i++)
		primary_save_unpack_published(primary, in);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static uint32_t primary_save_flags_of(const struct primary *primary)
{
	return (primary->paused ? PRIMARY_SAVE_PAUSED : 0u) | (primary->emptied ? EMPTIED : 0u) |
	       (primary_save_is_decided(primary) ? DECIDED : 0u);
}

void primary_pack_with(struct primary *primary, struct schedule *waiting, struct text *out)
{
	edit_give_up_places(&primary->edit); /* there are some if the step was given up */
	pack_u64(out, primary->lockstep.number);
	pack_u64(out, primary_hash(primary));
	pack_u64(out, primary->moving_steps);
	pack_u64(out, primary->even_steps);
	pack_double(out, primary->even_since_s);
	pack_u64(out, (uint64_t)primary->seen_ns);
	pack_u64(out, primary->reading_count);
	pack_u64(out, primary->reading_digest);
	pack_u64(out, primary_save_flags_of(primary));
	pack_u64(out, primary->multi_steps);
	pack_double(out, primary->run_to_s);
	pack_double(out, primary->options.rtf);
	pack_double(out, primary->options.rate_hz);
	pack_double(out, primary->options.initial_time_s);
	pack_u64(out, primary->refused);
	edit_pack(&primary->edit, out);
	plan_pack(&primary->plan, out);
	schedule_pack(waiting, out);
	primary_save_pack_rest(primary, out);
	wrenches_pack(&primary->wrenches, out);
	primary_save_pack_triggered(primary, out);
	primary_save_pack_systems(primary, out);
	primary_save_pack_decisions(primary, out);
	plan_pack_pins(&primary->plan, out);
	owners_pack(&primary->edit.owners, primary->shared->scene, out);
	if (primary->step.observe)
		observed_pack(&primary->observed, primary->step.observe, out);
}

void primary_pack(struct primary *primary, struct text *out)
{
	primary_pack_with(primary, &primary->schedule, out);
}

static bool primary_save_within(double value, double max)
{
	return value >= 0 && value <= max;
}

static troupe_status primary_save_unpack_time(
	struct primary *primary, uint64_t number, struct unpack *in, struct troupe_error *error)
{
	primary->moving_steps = unpack_u64(in);
	primary->even_steps = unpack_u64(in);
	primary->even_since_s = unpack_double(in);
	primary->seen_ns = (int64_t)unpack_u64(in);
	primary->reading_count = unpack_u64(in);
	primary->reading_digest = unpack_u64(in);
	uint32_t flags = unpack_count(in, PRIMARY_SAVE_PAUSED | EMPTIED | DECIDED);
	primary->paused = flags & PRIMARY_SAVE_PAUSED;
	primary->emptied = flags & EMPTIED;
	primary->decided_step = flags & DECIDED ? number + 1 : 0;
	primary->multi_steps = unpack_u64(in);
	primary->run_to_s = unpack_double(in);
	double rtf = unpack_double(in), rate_hz = unpack_double(in);
	primary->options.initial_time_s = unpack_double(in);
	primary->refused = unpack_u64(in);
	bool sane = primary->moving_steps <= STEPS_MAX && primary->even_steps <= STEPS_MAX &&
		    primary_save_within(primary->even_since_s, TIME_MAX_S) &&
		    primary_save_within(primary->run_to_s, TIME_MAX_S) &&
		    primary_save_within(primary->options.initial_time_s, TIME_MAX_S) && primary->seen_ns >= 0;
	if (in->bad || !sane || !primary_save_within(rtf, 1e6) || !primary_save_within(rate_hz, 1e12))
		return fail(error, TROUPE_EWORLD, "damaged: the time");
	if (primary->options.resume_pace) {
		primary->options.rtf = rtf;
		primary->options.rate_hz = rate_hz;
	}
	return TROUPE_OK;
}

struct packed { /* what was found in the bytes of a state */
	uint64_t number, hash;
	const char *world; /* the bytes of edit_pack() */
	size_t world_bytes;
};

/* Unpacks into a world that is as its file has it, without models in the plan. waiting: takes the commands. */
static troupe_status primary_save_unpack_all(struct primary *primary, struct unpack *in, struct schedule *waiting,
	broadcast_list *broadcasts, struct packed *ret, struct troupe_error *error)
{
	*ret = (struct packed){.number = unpack_u64(in)};
	ret->hash = unpack_u64(in);
	troupe_status status = primary_save_unpack_time(primary, ret->number, in, error);
	if (!status && ret->number > STEPS_MAX)
		status = fail(error, TROUPE_EWORLD, "damaged: the number of the step");
	ret->world = in->at;
	if (!status)
		status = edit_unpack(&primary->edit, in, error);
	ret->world_bytes = (size_t)(in->at - ret->world);
	if (!status)
		touch_rejoin(&primary->shared->touch);
	if (!status && !plan_unpack(&primary->plan, in))
		status = fail(error, TROUPE_EWORLD, "damaged: the levels");
	if (!status)
		status = schedule_unpack(waiting, primary->shared->scene->name, broadcasts, in, error);
	if (status)
		return status;
	primary_save_unpack_rest(primary, in);
	if (in->bad)
		return fail(error, TROUPE_EWORLD, "damaged: the list of sleeping models");
	wrenches_unpack(&primary->wrenches, primary->shared->scene, in);
	primary_save_unpack_triggered(primary, in);
	if (in->bad)
		return fail(error, TROUPE_EWORLD, "damaged: the forces of the coming steps");
	primary_save_unpack_systems(primary, in);
	if (!in->bad)
		primary_save_unpack_decisions(primary, in);
	if (in->bad)
		return fail(error, TROUPE_EWORLD, "damaged: the state of the world's plugins");
	if (!plan_unpack_pins(&primary->plan, in))
		return fail(error, TROUPE_EWORLD, "damaged: the pins");
	if (!owners_unpack(&primary->edit.owners, primary->shared->scene, in))
		return fail(error, TROUPE_EWORLD, "damaged: the owners of models");
	plan_learn_pins(&primary->plan);
	/* a run in which nothing was observed saved no notes */
	primary->step.observe = primary->observed.needed = 0;
	if (in->at < in->end &&
		!observed_unpack(&primary->observed, primary->shared->scene, &primary->step.observe, in))
		return fail(error, TROUPE_EWORLD, "damaged: contacts and efforts");
	if (primary_hash(primary) != ret->hash)
		return fail(error, TROUPE_EWORLD,
			"the state of step %" PRIu64 " does not come out as it was saved: expected hash %016" PRIx64
			", found %016" PRIx64 " (another build, or damaged)",
			ret->number, ret->hash, primary_hash(primary));
	return TROUPE_OK;
}

troupe_status primary_unpack(
	struct primary *primary, struct unpack *in, broadcast_list *broadcasts, struct troupe_error *error)
{
	struct packed packed;
	troupe_status status = primary_save_unpack_all(primary, in, &primary->schedule, broadcasts, &packed, error);
	if (status)
		return status;
	primary->lockstep.number = packed.number;
	struct command *next = primary->emptied ? schedule_next(&primary->schedule, packed.number) : NULL;
	if (next)
		next->told = true;
	schedule_open(&primary->schedule, packed.number);
	atomic_store(&primary->seen_steps, packed.number);
	atomic_store(&primary->seen_time_s, primary_time_s(primary));
	return TROUPE_OK;
}

/* --- while it runs ------------------------------------------------------------------------------------------------ */

/* Replaces the world by that of the bytes. After a failure it must be called again, with other bytes. */
static troupe_status primary_save_replace(struct primary *primary, const char *bytes, size_t count,
	struct schedule *waiting, struct packed *ret, struct troupe_error *error)
{
	struct unpack in = {bytes, bytes + count, false};
	broadcast_list broadcasts = {0};
	plan_clear(&primary->plan);
	edit_renew(&primary->edit);
	wrenches_reset(&primary->wrenches);
	observed_clear(&primary->observed);
	troupe_status status = primary_save_unpack_all(primary, &in, waiting, &broadcasts, ret, error);
	if (!status && in.at != in.end)
		status = fail(error, TROUPE_EWORLD, "damaged: bytes after its end");
	vec_free(&broadcasts);
	primary->edit.effects.count = 0;
	primary->edit.world_changed = primary->step.state_changed = true;
	return status;
}

/* Commands of the state that wait are already in a recording, each at the step at which it was taken. */
static troupe_status primary_save_adopt(
	struct primary *primary, struct schedule *waiting, const struct packed *from, struct troupe_error *error)
{
	if (primary->options.replays)
		return TROUPE_OK;
	return schedule_adopt(&primary->schedule, waiting, from->number, primary->lockstep.number, error);
}

static void primary_save_go_on_from(struct primary *primary, const struct packed *packed, uint64_t refused)
{
	primary->refused = refused;
	primary->emptied = true; /* a further command may take up another state in this turn */
	if (primary->decided_step)
		primary->decided_step = primary->lockstep.number + 1;
	primary->due.count = 0; /* earlier commands of this step are undone, too */
	primary->pace_ns = 0;
	edit_renewed(&primary->edit, packed->world, packed->world_bytes);
	primary_answer_waiting(primary, primary->lockstep.number, TROUPE_OK, "a saved state was taken up");
}

/* The scene, and with it the log for copies, are then as if nothing had been tried. */
static void primary_save_go_back(struct primary *primary, const struct text *before, uint32_t logged)
{
	struct troupe_error why;
	struct schedule none = {0};
	struct packed packed;
	if (primary_save_replace(primary, before->at, before->count, &none, &packed, &why))
		(void)primary_fail(primary, &why);
	schedule_fini(&none);
	primary->edit.log.count = logged;
}

troupe_status primary_adopt_state(struct primary *primary, const char *bytes, size_t count, char note[EDIT_NOTE_BYTES],
	struct troupe_error *error)
{
	struct schedule none = {0}, waiting = {0};
	struct text before = {0};
	struct packed packed;
	uint64_t refused = primary->refused;
	primary_pack_with(primary, &none, &before);
	uint32_t logged = primary->edit.log.count;
	primary_sum_time(primary);
	troupe_status status = primary_save_replace(primary, bytes, count, &waiting, &packed, error);
	if (!status)
		status = primary_save_adopt(primary, &waiting, &packed, error);
	if (!status)
		primary_save_go_on_from(primary, &packed, refused);
	else
		primary_save_go_back(primary, &before, logged);
	primary->passed_from_s = primary_time_s(primary);
	schedule_fini(&waiting);
	text_fini(&before);
	if (!status)
		(void)snprintf(note, EDIT_NOTE_BYTES, "step %" PRIu64 " begins from the state of step %" PRIu64,
			primary->lockstep.number, packed.number);
	return status;
}
