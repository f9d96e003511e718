/* Frames come from a pool, because a frame of many models is large, and the thread that takes a step should not get
 * fresh pages from the kernel for each frame. Any thread gives a frame back: it puts the frame on a list from which the
 * pool takes all at once. */
#include "server/frame.h"

#include "base/clock.h"
#include "server/network.h"
#include "server/read.h"
#include "server/view.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define RTF_NS 200000000

struct frame_pool {
	_Atomic(struct frame *) given_back; /* writers: any thread adds, the pool's thread takes all */
	struct frame *unused;
	_Atomic uint64_t bytes_out; /* of the frames in use */
	/* the time of the last computation of the real-time factor, and its result */
	int64_t rtf_time_ns, rtf_real_ns;
	double rtf;
	const struct troupe_scene *before; /* of the last frame with FRAME_BEFORE */
};

struct frame_pool *frame_pool_create(void)
{
	return mem_alloc(sizeof(struct frame_pool));
}

static void server_frame_forget_changes(struct frame *frame)
{
	for (uint32_t i = 0; i < frame->changes.count; i++)
		free((char *)(uintptr_t)frame->changes.at[i].who);
	frame->changes.count = 0;
}

static void server_frame_free(struct frame *frame)
{
	free(frame->arrays.models);
	free(frame->arrays.odometry);
	free(frame->arrays.links);
	free(frame->arrays.joints);
	free(frame->arrays.contacts);
	free(frame->levels);
	free(frame->picture.status);
	free(frame->picture.poses);
	vec_free(&frame->ghosts);
	vec_free(&frame->moves);
	vec_free(&frame->places);
	server_frame_forget_changes(frame);
	vec_free(&frame->changes);
	vec_free(&frame->work);
	vec_free(&frame->members);
	vec_free(&frame->reports);
	text_fini(&frame->report_bytes);
	readings_fini(&frame->readings);
	free(frame);
}

static void server_frame_take_back(struct frame_pool *pool)
{
	/* acquire: pairs with the release in frame_release() */
	struct frame *frame = atomic_exchange_explicit(&pool->given_back, NULL, memory_order_acquire);
	while (frame) {
		struct frame *next = frame->unused;
		frame->unused = pool->unused;
		pool->unused = frame;
		frame = next;
	}
}

void frame_pool_destroy(struct frame_pool *pool)
{
	if (!pool)
		return;
	server_frame_take_back(pool);
	troupe_scene_release(pool->before);
	while (pool->unused) {
		struct frame *next = pool->unused->unused;
		server_frame_free(pool->unused);
		pool->unused = next;
	}
	free(pool);
}

struct frame *frame_hold(struct frame *frame)
{
	atomic_fetch_add_explicit(&frame->refs, 1, memory_order_relaxed);
	return frame;
}

void frame_release(struct frame *frame)
{
	/* acq_rel: reads of other holders happen before the frame is filled in again */
	if (atomic_fetch_sub_explicit(&frame->refs, 1, memory_order_acq_rel) != 1)
		return;
	struct frame_pool *pool = frame->pool;
	size_t added = frame->added.count;
	troupe_scene_release(frame->snapshot.scene);
	troupe_scene_release(frame->before);
	frame->snapshot.scene = frame->before = NULL;
	free(frame->service);
	frame->service = NULL;
	text_fini(&frame->added); /* rarely asked for, and large */
	vec_free(&frame->link_lights);
	atomic_fetch_sub_explicit(&pool->bytes_out, frame->bytes, memory_order_relaxed);
	frame->bytes -= added;
	frame->unused = atomic_load_explicit(&pool->given_back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(
		&pool->given_back, &frame->unused, frame, memory_order_release, memory_order_relaxed))
		;
}

/* --- filling in --------------------------------------------------------------------------------------------------- */

static struct frame *server_frame_take_unused(struct frame_pool *pool)
{
	if (!pool->unused)
		server_frame_take_back(pool);
	struct frame *frame = pool->unused;
	if (!frame) {
		frame = mem_alloc(sizeof *frame);
		frame->pool = pool;
		return frame;
	}
	pool->unused = frame->unused;
	return frame;
}

static void *server_frame_fit(struct frame *frame, void *array, uint32_t *room, uint32_t count, size_t bytes)
{
	if (count <= *room)
		return array;
	uint32_t more = count + count / 4;
	frame->bytes += (more - *room) * bytes;
	*room = more;
	free(array);
	return mem_alloc(more * bytes);
}

/* The mean over the last fifth of a second or more. It begins anew after a reset of time. */
static double server_frame_measured_rtf(struct frame_pool *pool, int64_t time_ns, int64_t real_ns)
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

static void server_frame_fill_time(struct frame *frame, const struct server_world *world)
{
	const struct primary *primary = &world->primary;
	uint64_t now = clock_now_ns();
	frame->time_ns = llround(primary_time_s(primary) * 1e9);
	frame->real_ns = primary->begin_ns ? (int64_t)(now - primary->begin_ns) : 0;
	frame->system_ns = (int64_t)clock_of_day_ns();
	frame->rtf = server_frame_measured_rtf(frame->pool, frame->time_ns, frame->real_ns);
	frame->pace = primary_pace(primary);
	frame->step_s = primary->edit.step_s;
	frame->stepping = primary->multi_steps > 0;
	frame->snapshot = (struct troupe_snapshot){.world = world->scene->name,
		.step = primary->lockstep.number,
		.time_s = primary_time_s(primary),
		.paused = primary->paused,
		.secondaries = world->secondaries};
}

static void server_frame_fill_mobile(struct frame *frame, const struct server_world *world)
{
	const struct troupe_scene *view = frame->snapshot.scene;
	struct snapshots_arrays *a = &frame->arrays;
	if (frame->parts & FRAME_MODELS) {
		a->models =
			server_frame_fit(frame, a->models, &frame->model_room, view->mobile_count, sizeof *a->models);
		for (uint32_t i = 0; i < view->mobile_count; i++)
			read_model(world, view_model_at(view, i), view->models[i].name, &a->models[i]);
		frame->snapshot.models = a->models;
		frame->snapshot.model_count = view->mobile_count;
	}
	if (frame->parts & FRAME_ODOMETRY) {
		a->odometry = server_frame_fit(
			frame, a->odometry, &frame->odometry_room, view->mobile_count, sizeof *a->odometry);
		for (uint32_t i = 0; i < view->mobile_count; i++)
			a->odometry[i] = read_odometry(world, view_model_at(view, i));
		frame->snapshot.odometry = a->odometry;
	}
}

static void server_frame_fill_links(struct frame *frame, const struct server_world *world)
{
	const struct troupe_scene *view = frame->snapshot.scene;
	struct snapshots_arrays *a = &frame->arrays;
	a->links = server_frame_fit(frame, a->links, &frame->link_room, view->moving_links, sizeof *a->links);
	for (uint32_t i = 0; i < view->moving_links; i++)
		read_link(world, view_link_at(view, i), &a->links[i]);
	frame->snapshot.links = a->links;
	frame->snapshot.link_count = view->moving_links;
}

static void server_frame_put_pose(struct pose pose, float *ret_numbers)
{
	const double numbers[ENCODE_POSE_NUMBERS] = {
		pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w};
	for (uint32_t n = 0; n < ENCODE_POSE_NUMBERS; n++)
		ret_numbers[n] = (float)numbers[n];
}

/* Other cores have just written most states: reading one takes longer than all the rest of a picture's model. */
static void server_frame_fetch_ahead(const struct troupe_scene *view, const struct state *state, uint32_t i)
{
	enum { AHEAD = 16 };
	if (i + AHEAD < view->mobile_count)
		__builtin_prefetch(state_words(state, view_model_at(view, i + AHEAD), false));
}

/* All secondaries wait while a frame is filled in, many times a second for a viewer. So a picture has 32 bytes of a
 * model of one link, where FRAME_MODELS and FRAME_LINKS have 240, with velocities; and the state of a model is read
 * once. */
static void server_frame_fill_picture(struct frame *frame, const struct server_world *world)
{
	const struct troupe_scene *view = frame->snapshot.scene;
	const struct primary *primary = &world->primary;
	const uint32_t *secondaries = primary->plan.placement.ownership.now.model;
	struct encode_picture *picture = &frame->picture;
	picture->status = server_frame_fit(
		frame, picture->status, &frame->status_room, view->mobile_count, sizeof *picture->status);
	picture->poses =
		server_frame_fit(frame, picture->poses, &frame->pose_room, view->moving_links, sizeof *picture->poses);
	picture->model_count = view->mobile_count;
	picture->link_count = 0;
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		uint32_t model = view_model_at(view, i), count = view->models[i].link_count;
		server_frame_fetch_ahead(view, world->shared.state, i);
		picture->status[i] = encode_status(world_number(world, secondaries[model]),
			primary_sleeps(primary, model), primary->plan.loading.active[model]);
		for (uint32_t n = 0; n < count; n++, picture->link_count++) {
			uint32_t link = view_link_at(view, picture->link_count);
			struct pose pose = state_link_pose(world->shared.state, link, false);
			server_frame_put_pose(pose, picture->poses[picture->link_count]);
		}
	}
	assert(picture->link_count == view->moving_links);
}

static void server_frame_fill_joints(struct frame *frame, const struct server_world *world)
{
	const struct troupe_scene *view = frame->snapshot.scene;
	struct snapshots_arrays *a = &frame->arrays;
	a->joints = server_frame_fit(frame, a->joints, &frame->joint_room, view->joint_count, sizeof *a->joints);
	for (uint32_t i = 0; i < view->joint_count; i++)
		read_joint(world, view_joint_at(view, i), &a->joints[i]);
	frame->snapshot.joints = a->joints;
	frame->snapshot.joint_count = view->joint_count;
}

static void server_frame_fill_contacts(struct frame *frame, const struct server_world *world)
{
	struct snapshots_arrays *a = &frame->arrays;
	uint32_t count = world->primary.observed.contacts.count;
	a->contacts = server_frame_fit(frame, a->contacts, &frame->contact_room, count, sizeof *a->contacts);
	frame->snapshot.contact_count = read_contacts(world, frame->snapshot.scene, a->contacts);
	frame->snapshot.contacts = a->contacts;
}

static void server_frame_fill_places(struct frame *frame, const struct server_world *world)
{
	const struct tracker *tracker = &world->shared.tracker;
	for (uint32_t i = 0; i < tracker->performers.count; i++) {
		const struct tracked *performer = &tracker->performers.at[i];
		uint32_t model = view_model_of(frame->snapshot.scene, performer->model);
		for (uint32_t n = 0; n < performer->near.count && model != TROUPE_NONE; n++) {
			bool in = false;
			for (uint32_t k = 0; k < performer->in.count; k++)
				in |= performer->in.at[k] == performer->near.at[n];
			vec_push(&frame->places, (struct frame_place){model, performer->near.at[n], in});
		}
	}
}

enum { FRAME_CHANGES_MAX = 32 };

static void server_frame_fill_changes(struct frame *frame, const struct network *network)
{
	uint32_t count;
	const struct troupe_report_member *all = network_changes_so_far(network, &count);
	for (uint32_t i = count - MIN(count, (uint32_t)FRAME_CHANGES_MAX); i < count; i++) {
		struct troupe_report_member change = all[i];
		change.who = mem_strdup(all[i].who);
		vec_push(&frame->changes, change);
	}
}

static void server_frame_fill_levels(struct frame *frame, const struct server_world *world)
{
	const struct plan *plan = &world->primary.plan;
	uint32_t count = world->scene->level_count;
	frame->levels = server_frame_fit(frame, frame->levels, &frame->level_room, count, sizeof *frame->levels);
	for (uint32_t i = 0; i < count; i++)
		frame->levels[i] = (struct frame_level){.name = world->scene->levels[i].name,
			.secondary = plan->loading.loaded[i]
					     ? world_number(world, plan->placement.ownership.now.level[i])
					     : 0,
			.loaded = plan->loading.loaded[i]};
	frame->level_count = count;
	for (uint32_t i = 0; i < plan->placement.ghosts.now.count; i++) {
		uint32_t model = view_model_of(frame->snapshot.scene, plan->placement.ghosts.now.at[i].model);
		if (model != TROUPE_NONE)
			vec_push(&frame->ghosts,
				(struct frame_ghost){
					model, world_number(world, plan->placement.ghosts.now.at[i].secondary)});
	}
	frame->shares = plan->placement.shares;
	for (uint32_t i = 0; i < plan->placement.events.count; i++) {
		const struct placement_event *event = &plan->placement.events.at[i];
		uint32_t model =
			event->kind == PLACEMENT_MOVE ? view_model_of(frame->snapshot.scene, event->id) : TROUPE_NONE;
		if (model != TROUPE_NONE)
			vec_push(&frame->moves, (struct frame_move){model, world_number(world, event->from),
							world_number(world, event->to)});
	}
	server_frame_fill_places(frame, world);
	if (world->server->network)
		server_frame_fill_changes(frame, world->server->network);
}

/* The lights of the models from this description that commands changed. model: one of them; SCENE_NONE: all. */
static void server_frame_list_link_lights(
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

/* Created models may be gone, with their elements, when the frame is read. */
static void server_frame_fill_sdf(struct frame *frame, const struct server_world *world)
{
	const struct troupe_scene *view = frame->snapshot.scene;
	const struct scene *scene = world->scene;
	frame->gravity = scene->gravity;
	frame->added.count = 0;
	sdf_lights_now lights = {0};
	server_frame_list_link_lights(scene, scene->sdf, SCENE_NONE, &frame->link_lights);
	for (uint32_t i = 0; i < scene->light_count; i++)
		if (!scene->lights[i].absent && scene->lights[i].model == SCENE_NONE)
			sdf_print_light(
				scene->lights[i].name, scene->lights[i].pose, &scene->lights[i].shine, &frame->added);
	for (uint32_t i = 0; i < view->model_count; i++) {
		struct troupe_model_state state = {.pose = view->models[i].pose};
		uint32_t model = view_model_at(view, i);
		if (!scene->models[model].created)
			continue;
		if (i < view->mobile_count)
			read_model(world, model, view->models[i].name, &state);
		struct troupe_pose at = state.pose;
		server_frame_list_link_lights(scene, scene->models[model].from, model, &lights);
		sdf_print_bare(scene->models[model].from, pose_of_flat(at), &lights, &frame->added);
	}
	vec_free(&lights);
	frame->bytes += frame->added.count;
}

static void server_frame_fill_work(struct frame *frame, const struct server_world *world)
{
	const struct assignment *now = &world->primary.plan.placement.ownership.now;
	for (uint32_t i = 0; i < world->secondaries; i++) {
		const struct secondary_stats *stats = &world->primary.stats[i];
		vec_push(&frame->work, (struct frame_work){stats->busy_ns, stats->waited_ns, stats->steps, 0});
	}
	for (uint32_t i = 0; i < world->scene->model_count; i++)
		if (now->model[i] && now->model[i] <= world->secondaries && world->primary.plan.loading.active[i])
			frame->work.at[now->model[i] - 1].models++;
}

static void server_frame_fill_members(struct frame *frame, const struct server_world *world)
{
	const struct plan *plan = &world->primary.plan;
	const struct components *components = &plan->placement.ownership.components;
	const struct troupe_scene *view = frame->snapshot.scene;
	uint32_t levels = plan->placement.ownership.level_count, count = 0;
	uint32_t *numbers = mem_alloc((components->sets.count + 1) * sizeof *numbers);
	memset(numbers, 0xff, (components->sets.count + 1) * sizeof *numbers);
	for (uint32_t i = 0; i < view->mobile_count; i++) {
		uint32_t node = levels + view_model_at(view, i);
		uint32_t set = node < components->node_count ? components->of[node] : COMPONENTS_NONE;
		if (set >= components->sets.count || components->sets.at[set].nodes < 2 ||
			!plan->loading.active[view_model_at(view, i)])
			continue;
		if (numbers[set] == COMPONENTS_NONE)
			numbers[set] = count++;
		vec_push(&frame->members, (struct frame_member){i, numbers[set]});
	}
	free(numbers);
}

static size_t server_frame_readings_bytes(const struct readings *readings)
{
	return readings->list.room * sizeof *readings->list.at + readings->numbers.room * sizeof *readings->numbers.at;
}

static void server_frame_fill_readings(struct frame *frame, const struct server_world *world)
{
	size_t before = server_frame_readings_bytes(&frame->readings);
	readings_append(&frame->readings, &world->primary.readings);
	frame->bytes += server_frame_readings_bytes(&frame->readings) - before;
}

struct frame *frame_make(struct frame_pool *pool, struct server_world *world, uint32_t parts)
{
	if (atomic_load_explicit(&pool->bytes_out, memory_order_relaxed) > FRAME_BYTES_MAX)
		return NULL;
	struct frame *frame = server_frame_take_unused(pool);
	frame->parts = parts;
	frame->reports.count = 0;
	frame->report_bytes.count = 0;
	server_frame_forget_changes(frame);
	frame->level_count = frame->ghosts.count = frame->moves.count = frame->places.count = frame->work.count = 0;
	frame->members.count = 0;
	readings_clear(&frame->readings);
	frame->server = world->server;
	server_frame_fill_time(frame, world);
	if (parts & FRAME_HASH)
		frame->hash = troupe_server_hash(world->server);
	if (parts & ~(uint32_t)(FRAME_HASH | FRAME_READINGS | FRAME_WORK | FRAME_REPORTS))
		frame->snapshot.scene = view_hold(world_view(world));
	if (parts & (FRAME_MODELS | FRAME_ODOMETRY))
		server_frame_fill_mobile(frame, world);
	if (parts & FRAME_LINKS)
		server_frame_fill_links(frame, world);
	if (parts & FRAME_PICTURE)
		server_frame_fill_picture(frame, world);
	if (parts & FRAME_JOINTS)
		server_frame_fill_joints(frame, world);
	if (parts & FRAME_CONTACTS)
		server_frame_fill_contacts(frame, world);
	if (parts & FRAME_LEVELS)
		server_frame_fill_levels(frame, world);
	if (parts & FRAME_WORK)
		server_frame_fill_work(frame, world);
	if (parts & FRAME_MEMBERS)
		server_frame_fill_members(frame, world);
	if (parts & FRAME_SDF)
		server_frame_fill_sdf(frame, world);
	if (parts & FRAME_READINGS)
		server_frame_fill_readings(frame, world);
	if (parts & FRAME_BEFORE) {
		frame->before = pool->before;
		pool->before = view_hold(frame->snapshot.scene);
	}
	atomic_store_explicit(&frame->refs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&pool->bytes_out, frame->bytes, memory_order_relaxed);
	return frame;
}
