/* A replica is made from the primary's bytes, and is asked; replica_follow.c has what a step changes in it. */
#include "run/replica_internal.h"

#include "geom/pack.h"
#include "mesh/importer.h"
#include "run/primary_internal.h"
#include "run/sense.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- messages ----------------------------------------------------------------------------------------------------- */

void replica_step_clear(struct replica_step *step)
{
	edit_changes_clear(&step->edits);
	step->dt = 0;
	step->pairs_changed = false;
	step->changes.count = step->written.count = step->statics.count = step->pairs_gone.count = 0;
	step->pairs_come.count = step->ghosts.count = step->commands.count = step->wrenches.count = 0;
	step->surfaces.count = step->near.count = 0;
	step->window = 1;
	step->origins = STEP_ORIGINS_NONE;
	step->hashes = step->again = false;
	step->sense.fired.count = step->sense.wanted.count = step->sense.seen.count = step->sense.secondaries = 0;
	step->sense.sees = false;
	step->sense.changed = step->sense.all = false;
}

void replica_step_fini(struct replica_step *step)
{
	replica_step_clear(step);
	vec_free(&step->edits);
	vec_free(&step->changes);
	vec_free(&step->written);
	vec_free(&step->statics);
	vec_free(&step->pairs_gone);
	vec_free(&step->pairs_come);
	vec_free(&step->ghosts);
	vec_free(&step->commands);
	vec_free(&step->wrenches);
	vec_free(&step->surfaces);
	vec_free(&step->near);
	vec_free(&step->sense.wanted);
	vec_free(&step->sense.fired);
	vec_free(&step->sense.seen);
}

/* --- at the primary ----------------------------------------------------------------------------------------------- */

void replica_pack(struct primary *primary, struct text *out)
{
	edit_give_up_places(&primary->edit); /* there are some if the step was given up */
	pack_string(out, primary->shared->scene->name);
	pack_u64(out, primary->lockstep.number);
	edit_pack(&primary->edit, out);
}

static uint64_t replica_hash_of_edit(struct state *state, const struct edit *edit)
{
	return state_hash_models(state) + edit_hash(edit);
}

uint64_t replica_hash_of(const struct primary *primary)
{
	return replica_hash_of_edit(primary->shared->state, &primary->edit);
}

/* --- loading ------------------------------------------------------------------------------------------------------ */

void replica_fit(struct replica *replica)
{
	uint32_t before = replica->room, now = replica->scene->room.models;
	if (now <= before)
		return;
	MEM_FIT(replica->statics, before, now);
	MEM_FIT(replica->own, before, now);
	MEM_FIT(replica->ghosts, before, now);
	MEM_FIT(replica->met, before, now);
	MEM_FIT(replica->hidden, before, now);
	cost_fit(&replica->shared.costs, now);
	replica->room = now;
}

static troupe_status replica_load_sdf(struct replica *replica, const char *name, struct troupe_error *error)
{
	struct origin *origin = &replica->origin;
	struct sdf_options options = {.resource_paths = (const char *const *)origin->folders.at,
		.files = &origin->files,
		.importer = replica->importer,
		.visuals = SDF_VISUALS_IF_SEEN,
		.leave_far = !origin->load_all && !origin->ignore_levels};
	struct scene_options how = {
		.ignore_levels = origin->ignore_levels, .unread = {replica->importer, &origin->files}};
	troupe_status status = sdf_load_file(origin->path, &options, &replica->sdf, error);
	if (status)
		return status;
	if (replica->sdf->worlds.count != 1 || strcmp(replica->sdf->worlds.at[0].name, name) != 0)
		return fail(error, TROUPE_EWORLD, "damaged: other worlds than '%.100s'", name);
	status = scene_create(&replica->sdf->worlds.at[0], &how, &replica->scene, error);
	return status ? status : systems_create(replica->scene, replica->plugins, &replica->systems, error);
}

static troupe_status replica_load(
	struct replica *replica, struct unpack *in, enum physics_break rule, struct troupe_error *error)
{
	if (!origin_unpack(&replica->origin, in))
		return fail(error, TROUPE_EWORLD, "damaged: its beginning");
	origin_expect(&replica->origin, replica->plugins, "the primary");
	vec_push(&replica->origin.folders, NULL); /* as a list of names has it */
	char *name = unpack_string(in);
	replica->next = unpack_u64(in);
	troupe_status status =
		in->bad ? fail(error, TROUPE_EWORLD, "damaged: its name") : replica_load_sdf(replica, name, error);
	free(name);
	if (status)
		return status;
	replica->visuals = edit_visuals_create(replica->sdf, 0);
	struct edit_options options = {replica->origin.path, (const char *const *)replica->origin.folders.at,
		&replica->origin.files, replica->importer, replica->plugins, replica->visuals, NULL, NULL, NULL};
	replica->systems->seed = replica->origin.seed;
	shared_init(&replica->shared, replica->scene, replica->systems);
	replica->shared.physics.rule = rule;
	replica->shared.physics.seed = replica->origin.seed;
	replica->shared.physics.sleepless = replica->origin.sleepless;
	replica->shared.physics.ode = replica->origin.by_ode;
	if (replica->origin.sense_all)
		sensors_want_all(replica->shared.sensors);
	edit_init(&replica->edit, &replica->shared, &options);
	replica->ready = true;
	status = edit_unpack(&replica->edit, in, error);
	if (!status && in->at != in->end)
		status = fail(error, TROUPE_EWORLD, "damaged: bytes after its end");
	replica->levels = mem_alloc(replica->scene->level_count * sizeof *replica->levels);
	replica_fit(replica);
	sensors_update(replica->shared.sensors); /* of models that were created */
	return status;
}

troupe_status replica_create(const char *bytes, size_t count, uint32_t number, enum physics_break rule,
	const char *const *plugin_paths, struct replica **ret_replica, struct troupe_error *error)
{
	struct replica *replica = mem_alloc(sizeof *replica);
	struct unpack in = {bytes, bytes + count, false};
	struct troupe_error why;
	replica->number = number;
	replica->parts = mem_alloc(number * sizeof *replica->parts);
	replica->importer = importer_create();
	replica->plugins = plugins_create(plugin_paths);
	troupe_status status = replica_load(replica, &in, rule, &why);
	if (status) {
		replica_destroy(replica);
		return fail(error, status, "the primary's world: %s", why.text);
	}
	*ret_replica = replica;
	return TROUPE_OK;
}

void replica_free_commands(struct replica *replica)
{
	for (uint32_t i = 0; i < replica->commands.count; i++)
		message_free(replica->messages.at[i]);
	replica->commands.count = replica->messages.count = 0;
}

void replica_destroy(struct replica *replica)
{
	if (!replica)
		return;
	replica_free_commands(replica);
	if (replica->ready)
		edit_fini(&replica->edit);
	edit_visuals_destroy(replica->visuals);
	shared_fini(&replica->shared);
	systems_destroy(replica->systems);
	scene_destroy(replica->scene);
	sdf_free(replica->sdf);
	importer_destroy(replica->importer);
	plugins_destroy(replica->plugins);
	if (replica->origin.folders.count)
		replica->origin.folders.count--; /* the NULL */
	origin_fini(&replica->origin);
	free(replica->parts);
	free(replica->statics);
	free(replica->own);
	free(replica->ghosts);
	free(replica->met);
	free(replica->hidden);
	free(replica->levels);
	vec_free(&replica->changes);
	vec_free(&replica->pairs);
	vec_free(&replica->pairs_next);
	vec_free(&replica->near);
	vec_free(&replica->commands);
	vec_free(&replica->messages);
	vec_free(&replica->wrenches);
	vec_free(&replica->surfaced);
	vec_free(&replica->changed_before);
	free(replica);
}

void replica_fetch_from(struct replica *replica, const struct files_source *source)
{
	replica->origin.files.source = source;
}

struct shared *replica_shared(struct replica *replica)
{
	return &replica->shared;
}

uint32_t replica_number(const struct replica *replica)
{
	return replica->number;
}

uint64_t replica_hash(const struct replica *replica)
{
	return replica_hash_of_edit(replica->shared.state, &replica->edit);
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

void replica_stepped(struct replica *replica, const struct ack *ack, const struct physics_stats *stats)
{
	replica->ack = ack;
	replica->stats = *stats;
}

char *replica_take_warning(struct replica *replica)
{
	return replica->scene->unread ? unread_take_warning(replica->scene->unread) : NULL;
}

struct replica_report replica_report(const struct replica *replica)
{
	return (struct replica_report){.step = &replica->step,
		.ack = replica->ack,
		.stats = replica->stats,
		.stats_before = replica->stats_before,
		.changed_before = replica->changed_before.at,
		.changed_before_count = replica->changed_before.count};
}
