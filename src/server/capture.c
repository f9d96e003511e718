/* Frames come from a pool, because a capture of many models is large, and the thread that takes a step should not get
 * fresh pages from the kernel for each capture. Any thread gives a capture back: it puts the capture on a list from
 * which the pool takes all at once. */
#include "server/capture.h"

#include "base/clock.h"
#include "server/network.h"
#include "server/read.h"
#include "server/scene_info.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define RTF_NS 200000000

struct capture_pool {
	_Atomic(struct capture *) given_back; /* writers: any thread adds, the pool's thread takes all */
	struct capture *unused;
	_Atomic uint64_t bytes_out; /* of the captures in use */
	/* the time of the last computation of the real-time factor, and its result */
	int64_t rtf_time_ns, rtf_real_ns;
	double rtf;
	const struct troupe_scene *before; /* of the last capture with CAPTURE_BEFORE */
};

struct capture_pool *capture_pool_create(void)
{
	return mem_alloc(sizeof(struct capture_pool));
}

static void capture_forget_changes(struct capture *capture)
{
	for (uint32_t i = 0; i < capture->changes.count; i++)
		free((char *)(uintptr_t)capture->changes.at[i].who);
	capture->changes.count = 0;
}

static void capture_free(struct capture *capture)
{
	free(capture->arrays.models);
	free(capture->arrays.odometry);
	free(capture->arrays.links);
	free(capture->arrays.joints);
	free(capture->arrays.contacts);
	free(capture->levels);
	free(capture->picture.status);
	free(capture->picture.poses);
	vec_free(&capture->ghosts);
	vec_free(&capture->moves);
	vec_free(&capture->places);
	capture_forget_changes(capture);
	vec_free(&capture->changes);
	vec_free(&capture->work);
	vec_free(&capture->members);
	vec_free(&capture->reports);
	text_fini(&capture->report_bytes);
	readings_fini(&capture->readings);
	free(capture);
}

static void capture_take_back(struct capture_pool *pool)
{
	/* acquire: pairs with the release in capture_release() */
	struct capture *capture = atomic_exchange_explicit(&pool->given_back, NULL, memory_order_acquire);
	while (capture) {
		struct capture *next = capture->unused;
		capture->unused = pool->unused;
		pool->unused = capture;
		capture = next;
	}
}

void capture_pool_destroy(struct capture_pool *pool)
{
	if (!pool)
		return;
	capture_take_back(pool);
	troupe_scene_release(pool->before);
	while (pool->unused) {
		struct capture *next = pool->unused->unused;
		capture_free(pool->unused);
		pool->unused = next;
	}
	free(pool);
}

struct capture *capture_hold(struct capture *capture)
{
	atomic_fetch_add_explicit(&capture->refs, 1, memory_order_relaxed);
	return capture;
}

void capture_release(struct capture *capture)
{
	/* acq_rel: reads of other holders happen before the capture is filled in again */
	if (atomic_fetch_sub_explicit(&capture->refs, 1, memory_order_acq_rel) != 1)
		return;
	struct capture_pool *pool = capture->pool;
	size_t added = capture->added.count;
	troupe_scene_release(capture->snapshot.scene);
	troupe_scene_release(capture->before);
	capture->snapshot.scene = capture->before = NULL;
	free(capture->service);
	capture->service = NULL;
	text_fini(&capture->added); /* rarely asked for, and large */
	vec_free(&capture->link_lights);
	atomic_fetch_sub_explicit(&pool->bytes_out, capture->bytes, memory_order_relaxed);
	capture->bytes -= added;
	capture->unused = atomic_load_explicit(&pool->given_back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&pool->given_back, &capture->unused, capture, memory_order_release, memory_order_relaxed))
		;
}

/* --- filling in --------------------------------------------------------------------------------------------------- */

static struct capture *capture_take_unused(struct capture_pool *pool)
{
	if (!pool->unused)
		capture_take_back(pool);
	struct capture *capture = pool->unused;
	if (!capture) {
		capture = mem_alloc(sizeof *capture);
		capture->pool = pool;
		return capture;
	}
	pool->unused = capture->unused;
	return capture;
}

static void *capture_fit(struct capture *capture, void *array, uint32_t *room, uint32_t count, size_t bytes)
{
	if (count <= *room)
		return array;
	uint32_t more = count + count / 4;
	capture->bytes += (more - *room) * bytes;
	*room = more;
	free(array);
	return mem_alloc(more * bytes);
}

/* The mean over the last fifth of a second or more. It begins anew after a reset of time. */
static double capture_measured_rtf(struct capture_pool *pool, int64_t time_ns, int64_t real_ns)
{
	int64_t passed_ns = real_ns - pool->rtf_real_ns;
	if (passed_ns >= RTF_NS && time_ns >= pool->rtf_time_ns)
		pool->rtf = (double)(time_ns - pool->rtf_time_ns) / (double)passed_ns;
	if (passed_ns >= RTF_NS || time_ns < pool->rtf_time_ns) {
		pool->rtf_time_ns = time_ns;
		pool->rtf_real_ns = real_ns;
	}
	return pool->rtf;
}

static void capture_fill_time(struct capture *capture, const struct server_world *world)
{
	const struct primary *primary = world->primary;
	uint64_t now = clock_now_ns();
	capture->time_ns = llround(primary_time_s(primary) * 1e9);
	capture->real_ns = (int64_t)primary_real_ns(primary, now);
	capture->system_ns = (int64_t)clock_of_day_ns();
	capture->rtf = capture_measured_rtf(capture->pool, capture->time_ns, capture->real_ns);
	capture->pace = primary_pace(primary);
	capture->step_s = primary_step_s(primary);
	capture->stepping = primary_is_stepping(primary);
	capture->snapshot = (struct troupe_snapshot){.world = world->scene->name,
		.step = primary_steps(primary),
		.time_s = primary_time_s(primary),
		.paused = primary_is_paused(primary),
		.secondaries = world->secondaries};
}

static void capture_fill_mobile(struct capture *capture, const struct server_world *world)
{
	const struct troupe_scene *view = capture->snapshot.scene;
	struct snapshots_arrays *a = &capture->arrays;
	if (capture->parts & CAPTURE_MODELS) {
		a->models =
			capture_fit(capture, a->models, &capture->model_room, view->mobile_count, sizeof *a->models);
		for (uint32_t i = 0; i < view->mobile_count; i++)
			read_model(world, scene_info_model_at(view, i), view->models[i].name, &a->models[i]);
		capture->snapshot.models = a->models;
		capture->snapshot.model_count = view->mobile_count;
	}
	if (capture->parts & CAPTURE_ODOMETRY) {
		a->odometry = capture_fit(
			capture, a->odometry, &capture->odometry_room, view->mobile_count, sizeof *a->odometry);
		for (uint32_t i = 0; i < view->mobile_count; i++)
			a->odometry[i] = read_odometry(world, scene_info_model_at(view, i));
		capture->snapshot.odometry = a->odometry;
	}
}

static void capture_fill_links(struct capture *capture, const struct server_world *world)
{
	const struct troupe_scene *view = capture->snapshot.scene;
	struct snapshots_arrays *a = &capture->arrays;
	a->links = capture_fit(capture, a->links, &capture->link_room, view->moving_links, sizeof *a->links);
	for (uint32_t i = 0; i < view->moving_links; i++)
		read_link(world, scene_info_link_at(view, i), &a->links[i]);
	capture->snapshot.links = a->links;
	capture->snapshot.link_count = view->moving_links;
}

static void capture_put_pose(struct pose pose, float *ret_numbers)
{
	const double numbers[ENCODE_POSE_NUMBERS] = {
		pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w};
	for (uint32_t n = 0; n < ENCODE_POSE_NUMBERS; n++)
		ret_numbers[n] = (float)numbers[n];
}

/* Other cores have just written most states: reading one takes longer than all the rest of a picture's model. */
static void capture_fetch_ahead(const struct troupe_scene *view, const struct state *state, uint32_t i)
{
	enum { AHEAD = 16 };
	if (i + AHEAD < view->mobile_count)
		__builtin_prefetch(state_words(state, scene_info_model_at(view, i + AHEAD), false));
}

/* All secondaries wait while a capture is filled in, many times a second for a viewer. So a picture has 32 bytes of a
 * model of one link, where CAPTURE_MODELS and CAPTURE_LINKS have 240, with velocities; and the state of a model is read
 * once. */
static void capture_fill_picture(struct capture *capture, const struct server_world *world)
{
	const struct troupe_scene *view = capture->snapshot.scene;
	const struct primary *primary = world->primary;
	const uint32_t *secondaries = primary_plan(primary)->placement.ownership.now.model;
	struct encode_picture *picture = &capture->picture;
	picture->status = capture_fit(
		capture, picture->status, &capture->status_room, view->mobile_count, sizeof *picture->status);
	picture->poses =
		capture_fit(capture, picture->poses, &capture->pose_room, view->moving_links, sizeof *picture->poses);
	picture->model_count = view->mobile_count;
	picture->link_count = 0;
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		uint32_t model = scene_info_model_at(view, i), count = view->models[i].link_count;
		capture_fetch_ahead(view, world->shared.state, i);
		picture->status[i] = encode_status(world_number(world, secondaries[model]),
			primary_sleeps(primary, model), primary_plan(primary)->loading.active[model]);
		for (uint32_t n = 0; n < count; n++, picture->link_count++) {
			uint32_t link = scene_info_link_at(view, picture->link_count);
			struct pose pose = state_link_pose(world->shared.state, link, false);
			capture_put_pose(pose, picture->poses[picture->link_count]);
		}
	}
	assert(picture->link_count == view->moving_links);
}

static void capture_fill_joints(struct capture *capture, const struct server_world *world)
{
	const struct troupe_scene *view = capture->snapshot.scene;
	struct snapshots_arrays *a = &capture->arrays;
	a->joints = capture_fit(capture, a->joints, &capture->joint_room, view->joint_count, sizeof *a->joints);
	for (uint32_t i = 0; i < view->joint_count; i++)
		read_joint(world, scene_info_joint_at(view, i), &a->joints[i]);
	capture->snapshot.joints = a->joints;
	capture->snapshot.joint_count = view->joint_count;
}

static void capture_fill_contacts(struct capture *capture, const struct server_world *world)
{
	struct snapshots_arrays *a = &capture->arrays;
	uint32_t count = primary_observed(world->primary)->contacts.count;
	a->contacts = capture_fit(capture, a->contacts, &capture->contact_room, count, sizeof *a->contacts);
	capture->snapshot.contact_count = read_contacts(world, capture->snapshot.scene, a->contacts);
	capture->snapshot.contacts = a->contacts;
}

static void capture_fill_places(struct capture *capture, const struct server_world *world)
{
	const struct tracker *tracker = &world->shared.tracker;
	for (uint32_t i = 0; i < tracker->performers.count; i++) {
		const struct tracked *performer = &tracker->performers.at[i];
		uint32_t model = scene_info_model_of(capture->snapshot.scene, performer->model);
		for (uint32_t n = 0; n < performer->near.count && model != TROUPE_NONE; n++) {
			bool in = false;
			for (uint32_t k = 0; k < performer->in.count; k++)
				in |= performer->in.at[k] == performer->near.at[n];
			vec_push(&capture->places, (struct capture_place){model, performer->near.at[n], in});
		}
	}
}

enum { CAPTURE_CHANGES_MAX = 32 };

static void capture_fill_changes(struct capture *capture, const struct network *network)
{
	uint32_t count;
	const struct troupe_report_member *all = network_changes_so_far(network, &count);
	for (uint32_t i = count - MIN(count, (uint32_t)CAPTURE_CHANGES_MAX); i < count; i++) {
		struct troupe_report_member change = all[i];
		change.who = mem_strdup(all[i].who);
		vec_push(&capture->changes, change);
	}
}

static void capture_fill_levels(struct capture *capture, const struct server_world *world)
{
	const struct plan *plan = primary_plan(world->primary);
	uint32_t count = world->scene->level_count;
	capture->levels = capture_fit(capture, capture->levels, &capture->level_room, count, sizeof *capture->levels);
	for (uint32_t i = 0; i < count; i++)
		capture->levels[i] = (struct capture_level){.name = world->scene->levels[i].name,
			.secondary = plan->loading.loaded[i]
					     ? world_number(world, plan->placement.ownership.now.level[i])
					     : 0,
			.loaded = plan->loading.loaded[i]};
	capture->level_count = count;
	for (uint32_t i = 0; i < plan->placement.ghosts.now.count; i++) {
		uint32_t model = scene_info_model_of(capture->snapshot.scene, plan->placement.ghosts.now.at[i].model);
		if (model != TROUPE_NONE)
			vec_push(&capture->ghosts,
				(struct capture_ghost){
					model, world_number(world, plan->placement.ghosts.now.at[i].secondary)});
	}
	capture->shares = plan->placement.shares;
	for (uint32_t i = 0; i < plan->placement.events.count; i++) {
		const struct placement_event *event = &plan->placement.events.at[i];
		uint32_t model = event->kind == PLACEMENT_MOVE ? scene_info_model_of(capture->snapshot.scene, event->id)
							       : TROUPE_NONE;
		if (model != TROUPE_NONE)
			vec_push(&capture->moves, (struct capture_move){model, world_number(world, event->from),
							  world_number(world, event->to)});
	}
	capture_fill_places(capture, world);
	if (world->server->network)
		capture_fill_changes(capture, world->server->network);
}

/* The lights of the models from this description that commands changed. model: one of them; SCENE_NONE: all. */
static void capture_list_link_lights(
	const struct scene *scene, const struct sdf_world *from, uint32_t model, sdf_lights_now *lights)
{
	lights->count = 0;
	for (uint32_t i = 0; i < scene->light_count; i++) {
		const struct scene_light *light = &scene->lights[i];
		if (light->model == SCENE_NONE || scene->models[light->model].from != from ||
			(model != SCENE_NONE && model != light->model))
			continue;
		vec_push(lights, (struct sdf_light_now){light->light, light->pose, light->shine});
	}
}

/* Created models may be gone, with their elements, when the capture is read. */
static void capture_fill_sdf(struct capture *capture, const struct server_world *world)
{
	const struct troupe_scene *view = capture->snapshot.scene;
	const struct scene *scene = world->scene;
	capture->gravity = scene->gravity;
	capture->added.count = 0;
	sdf_lights_now lights = {0};
	capture_list_link_lights(scene, scene->sdf, SCENE_NONE, &capture->link_lights);
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (!scene->lights[i].absent && scene->lights[i].model == SCENE_NONE)
			sdf_print_light(
				scene->lights[i].name, scene->lights[i].pose, &scene->lights[i].shine, &capture->added);
	for (uint32_t i = 0; i < view->model_count; i++) {
		struct troupe_model_state state = {.pose = view->models[i].pose};
		uint32_t model = scene_info_model_at(view, i);
		if (!scene->models[model].created)
			continue;
		if (i < view->mobile_count)
			read_model(world, model, view->models[i].name, &state);
		struct troupe_pose at = state.pose;
		capture_list_link_lights(scene, scene->models[model].from, model, &lights);
		sdf_print_bare(scene->models[model].from, pose_of_flat(at), &lights, &capture->added);
	}
	vec_free(&lights);
	capture->bytes += capture->added.count;
}

static void capture_fill_work(struct capture *capture, const struct server_world *world)
{
	const struct assignment *now = &primary_plan(world->primary)->placement.ownership.now;
	for (uint32_t i = 0; i < world->secondaries; i++) {
		const struct secondary_stats *stats = primary_stats(world->primary, i);
		vec_push(&capture->work, (struct capture_work){stats->busy_ns, stats->waited_ns, stats->steps, 0});
	}
	for (uint32_t i = 0; i < world->scene->model_count; i++)
		if (now->model[i] && now->model[i] <= world->secondaries &&
			primary_plan(world->primary)->loading.active[i])
			capture->work.at[now->model[i] - 1].models++;
}

static void capture_fill_members(struct capture *capture, const struct server_world *world)
{
	const struct plan *plan = primary_plan(world->primary);
	const struct components *components = &plan->placement.ownership.components;
	const struct troupe_scene *view = capture->snapshot.scene;
	uint32_t levels = plan->placement.ownership.level_count, count = 0;
	uint32_t *numbers = mem_alloc((components->sets.count + 1) * sizeof *numbers);
	memset(numbers, 0xff, (components->sets.count + 1) * sizeof *numbers);
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		uint32_t node = levels + scene_info_model_at(view, i);
		uint32_t set = node < components->node_count ? components->of[node] : COMPONENTS_NONE;
		if (set >= components->sets.count || components->sets.at[set].nodes < 2 ||
			!plan->loading.active[scene_info_model_at(view, i)])
			continue;
		if (numbers[set] == COMPONENTS_NONE)
			numbers[set] = count++;
		vec_push(&capture->members, (struct capture_member){i, numbers[set]});
	}
	free(numbers);
}

static size_t capture_readings_bytes(const struct readings *readings)
{
	return readings->list.room * sizeof *readings->list.at + readings->numbers.room * sizeof *readings->numbers.at;
}

static void capture_fill_readings(struct capture *capture, const struct server_world *world)
{
	size_t before = capture_readings_bytes(&capture->readings);
	readings_append(&capture->readings, primary_readings(world->primary));
	capture->bytes += capture_readings_bytes(&capture->readings) - before;
}

struct capture *capture_make(struct capture_pool *pool, struct server_world *world, uint32_t parts)
{
	if (atomic_load_explicit(&pool->bytes_out, memory_order_relaxed) > CAPTURE_BYTES_MAX)
		return NULL;
	struct capture *capture = capture_take_unused(pool);
	capture->parts = parts;
	capture->reports.count = 0;
	capture->report_bytes.count = 0;
	capture_forget_changes(capture);
	capture->level_count = capture->ghosts.count = capture->moves.count = capture->places.count =
		capture->work.count = 0;
	capture->members.count = 0;
	readings_clear(&capture->readings);
	capture->server = world->server;
	capture_fill_time(capture, world);
	if (parts & CAPTURE_HASH)
		capture->hash = troupe_server_hash(world->server);
	if (parts & ~(uint32_t)(CAPTURE_HASH | CAPTURE_READINGS | CAPTURE_WORK | CAPTURE_REPORTS))
		capture->snapshot.scene = scene_info_hold(world_view(world));
	if (parts & (CAPTURE_MODELS | CAPTURE_ODOMETRY))
		capture_fill_mobile(capture, world);
	if (parts & CAPTURE_LINKS)
		capture_fill_links(capture, world);
	if (parts & CAPTURE_PICTURE)
		capture_fill_picture(capture, world);
	if (parts & CAPTURE_JOINTS)
		capture_fill_joints(capture, world);
	if (parts & CAPTURE_CONTACTS)
		capture_fill_contacts(capture, world);
	if (parts & CAPTURE_LEVELS)
		capture_fill_levels(capture, world);
	if (parts & CAPTURE_WORK)
		capture_fill_work(capture, world);
	if (parts & CAPTURE_MEMBERS)
		capture_fill_members(capture, world);
	if (parts & CAPTURE_SDF)
		capture_fill_sdf(capture, world);
	if (parts & CAPTURE_READINGS)
		capture_fill_readings(capture, world);
	if (parts & CAPTURE_BEFORE) {
		capture->before = pool->before;
		pool->before = scene_info_hold(capture->snapshot.scene);
	}
	atomic_store_explicit(&capture->refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pool->bytes_out, capture->bytes, memory_order_relaxed);
	return capture;
}
