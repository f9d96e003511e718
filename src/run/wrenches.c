/* A wrench for one step is no state: it goes to the secondary that has the model, and ends with the step. A lasting
 * wrench is state of the world: it is in the hash and in saved states. It goes to the secondary that has the model with
 * each step or window; the secondary finds its torque in each step, because that of a force beside the centre of mass
 * depends on the orientation of the link. So secondaries keep nothing of wrenches, wherever the model goes. */
#include "run/wrenches.h"

#include "base/hash.h"
#include "geom/pack.h"

#include <string.h>

void wrenches_fini(struct wrenches *wrenches)
{
	vec_free(&wrenches->once);
	vec_free(&wrenches->lasting);
	vec_free(&wrenches->all);
	vec_free(&wrenches->dealt);
}

troupe_status wrenches_add_lasting(
	struct wrenches *wrenches, const struct lasting_wrench *wrench, struct troupe_error *error)
{
	if (wrenches->lasting.count >= WRENCHES_LASTING_MAX)
		return fail(error, TROUPE_ELIMIT, "%d wrenches last already: expected no more", WRENCHES_LASTING_MAX);
	vec_push(&wrenches->lasting, *wrench);
	return TROUPE_OK;
}

static struct due_wrench wrenches_due_of(const struct scene *scene, const struct lasting_wrench *wrench)
{
	return (struct due_wrench){.body = scene->links[wrench->link].body,
		.force = wrench->force,
		.torque = wrench->torque,
		.lasts = true,
		.link = wrench->link,
		.offset = wrench->offset};
}

bool wrenches_lasting_sane(const struct scene *scene, const struct lasting_wrench *wrench)
{
	if (wrench->link >= scene->link_count)
		return false;
	const struct scene_link *link = &scene->links[wrench->link];
	const struct due_wrench due = wrenches_due_of(scene, wrench);
	return link->body != SCENE_NONE && due_wrench_sane(scene, &due);
}

/* --- gone --------------------------------------------------------------------------------------------------------- */

static uint32_t wrenches_model_of(const struct scene *scene, const struct due_wrench *wrench)
{
	return scene->bodies[wrench->body].model;
}

uint32_t wrenches_clear(struct wrenches *wrenches, const struct scene *scene, uint32_t model, uint32_t link)
{
	uint32_t kept = 0, count = wrenches->lasting.count;
	for (uint32_t i = 0; i < count; i++) {
		const struct lasting_wrench *wrench = &wrenches->lasting.at[i];
		bool clear = scene->links[wrench->link].model == model && (link == SCENE_NONE || link == wrench->link);
		if (!clear)
			wrenches->lasting.at[kept++] = *wrench;
	}
	wrenches->lasting.count = kept;
	return count - kept;
}

void wrenches_forget(struct wrenches *wrenches, const struct scene *scene, uint32_t model)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < wrenches->once.count; i++)
		if (wrenches_model_of(scene, &wrenches->once.at[i]) != model)
			wrenches->once.at[kept++] = wrenches->once.at[i];
	wrenches->once.count = kept;
	(void)wrenches_clear(wrenches, scene, model, SCENE_NONE);
}

void wrenches_reset(struct wrenches *wrenches)
{
	wrenches->once.count = wrenches->lasting.count = 0;
}

static void wrenches_drop_absent(struct wrenches *wrenches, const struct scene *scene)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < wrenches->once.count; i++)
		if (!scene->models[wrenches_model_of(scene, &wrenches->once.at[i])].absent)
			wrenches->once.at[kept++] = wrenches->once.at[i];
	wrenches->once.count = kept;
	kept = 0;
	for (uint32_t i = 0; i < wrenches->lasting.count; i++)
		if (!scene->models[scene->links[wrenches->lasting.at[i].link].model].absent)
			wrenches->lasting.at[kept++] = wrenches->lasting.at[i];
	wrenches->lasting.count = kept;
}

/* --- in a step ---------------------------------------------------------------------------------------------------- */

void wrenches_deal(struct wrenches *wrenches, const struct scene *scene, bool paused, const uint32_t *owner,
	struct step_part *parts, uint32_t secondaries)
{
	for (uint32_t s = 0; s < secondaries; s++)
		parts[s].wrench_count = 0;
	if (!wrenches->once.count && !wrenches->lasting.count)
		return;
	wrenches_drop_absent(wrenches, scene);
	wrenches->all.count = wrenches->dealt.count = 0;
	if (paused)
		return;
	for (uint32_t i = 0; i < wrenches->lasting.count; i++)
		vec_push(&wrenches->all, wrenches_due_of(scene, &wrenches->lasting.at[i]));
	for (uint32_t i = 0; i < wrenches->once.count; i++)
		vec_push(&wrenches->all, wrenches->once.at[i]);
	for (uint32_t i = 0; i < wrenches->all.count; i++) {
		uint32_t secondary = owner[wrenches_model_of(scene, &wrenches->all.at[i])];
		if (secondary >= 1 && secondary <= secondaries)
			parts[secondary - 1].wrench_count++;
	}
	if (!wrenches->all.count)
		return;
	struct due_wrench *at = vec_append(&wrenches->dealt, wrenches->all.count);
	for (uint32_t s = 0; s < secondaries; s++) {
		parts[s].wrenches = at;
		at += parts[s].wrench_count;
		parts[s].wrench_count = 0;
	}
	for (uint32_t i = 0; i < wrenches->all.count; i++) {
		uint32_t secondary = owner[wrenches_model_of(scene, &wrenches->all.at[i])];
		if (secondary < 1 || secondary > secondaries)
			continue;
		struct step_part *part = &parts[secondary - 1];
		wrenches->dealt.at[part->wrenches - wrenches->dealt.at + part->wrench_count++] = wrenches->all.at[i];
	}
}

/* --- kept --------------------------------------------------------------------------------------------------------- */

static uint64_t wrenches_hash_vector(uint64_t hash, struct vec3 v)
{
	uint64_t bits[3];
	memcpy(bits, &v, sizeof bits);
	return hash_words(hash, bits, ARRAY_LEN(bits));
}

/* Their order counts: forces on one body are added in this order. */
uint64_t wrenches_hash(const struct wrenches *wrenches, const struct scene *scene)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < wrenches->lasting.count; i++) {
		const struct lasting_wrench *wrench = &wrenches->lasting.at[i];
		const struct scene_model *model = &scene->models[scene->links[wrench->link].model];
		uint64_t hash = hash_mix(UINT64_C(0x6c617374), i + 1); /* "last" */
		hash = hash_mix(hash_mix(hash, model->id), wrench->link - model->link_first);
		sum += wrenches_hash_vector(
			wrenches_hash_vector(wrenches_hash_vector(hash, wrench->force), wrench->torque),
			wrench->offset);
	}
	return sum;
}

void wrenches_pack(const struct wrenches *wrenches, struct text *out)
{
	pack_u64(out, wrenches->once.count);
	for (uint32_t i = 0; i < wrenches->once.count; i++) {
		pack_u64(out, wrenches->once.at[i].body);
		pack_vec3(out, wrenches->once.at[i].force);
		pack_vec3(out, wrenches->once.at[i].torque);
	}
	pack_u64(out, wrenches->lasting.count);
	for (uint32_t i = 0; i < wrenches->lasting.count; i++) {
		pack_u64(out, wrenches->lasting.at[i].link);
		pack_vec3(out, wrenches->lasting.at[i].force);
		pack_vec3(out, wrenches->lasting.at[i].torque);
		pack_vec3(out, wrenches->lasting.at[i].offset);
	}
}

void wrenches_unpack(struct wrenches *wrenches, const struct scene *scene, struct unpack *in)
{
	uint64_t count = unpack_u64(in);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct due_wrench wrench = {.body = unpack_count(in, UINT32_MAX)};
		wrench.force = unpack_vec3(in);
		wrench.torque = unpack_vec3(in);
		in->bad = in->bad || !due_wrench_sane(scene, &wrench);
		if (!in->bad)
			vec_push(&wrenches->once, wrench);
	}
	count = unpack_count(in, WRENCHES_LASTING_MAX);
	for (uint64_t i = 0; i < count && !in->bad; i++) {
		struct lasting_wrench wrench = {.link = unpack_count(in, UINT32_MAX)};
		wrench.force = unpack_vec3(in);
		wrench.torque = unpack_vec3(in);
		wrench.offset = unpack_vec3(in);
		in->bad = in->bad || !wrenches_lasting_sane(scene, &wrench);
		if (!in->bad)
			vec_push(&wrenches->lasting, wrench);
	}
}
