/* The step's side. What clients want changes rarely and is looked at in every step: so groups of due subscriptions are
 * made anew when something has changed, and a step compares two counters and one time.
 *
 * The lock is held by client threads while they change their wants, and by the step's thread only while it makes the
 * groups anew. */
#include "server/clients.h"

#include "base/clock.h"
#include "server/client.h"
#include "server/subscribers.h"
#include "server/model_topics.h"
#include "server/queries.h"
#include "server/sensor_topics.h"
#include "server/scene_info.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct clients {
	struct troupe_server *server;
	struct topic_table *table;
	pthread_mutex_t lock;
	VEC(struct troupe_client *) all;         /* under the lock */
	_Atomic uint64_t wanted;                 /* grows when wants change; written under the lock */
	struct queries *queries;
	_Atomic bool told[SDF_WORLDS_MAX];       /* some group has the world's replies. Writer: the step's thread. */
	struct capture_pool *pools[SDF_WORLDS_MAX];
	struct model_topics *of_models[SDF_WORLDS_MAX];
	struct subscribers *subscribers[SDF_WORLDS_MAX];
	/* step's thread */
	VEC(struct client_group *) groups;
	uint64_t seen_wanted, seen_epoch;  /* for which the groups were made */
	int64_t next_ns[SDF_WORLDS_MAX];   /* the earliest time at which a group of the world is due */
	int64_t last_ns[SDF_WORLDS_MAX];   /* of the last boundary that was looked at */
	bool paused[SDF_WORLDS_MAX];       /* at that boundary */
	uint64_t requests[SDF_WORLDS_MAX]; /* of the primary, at that boundary */
	/* Clients that were delivered something and not told of it yet; one reference each. */
	VEC(struct troupe_client *) needs_wakeup;
	bool in_steps[SDF_WORLDS_MAX]; /* some group is due in every step, or on changes */
	bool reads[SDF_WORLDS_MAX];    /* some group is due when a sensor has measured */
};

bool clients_are_any(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
	bool any = clients->all.count > 0;
	pthread_mutex_unlock(&clients->lock);
	return any;
}

struct clients *clients_create(struct troupe_server *server)
{
	struct clients *clients = mem_alloc(sizeof *clients);
	clients->server = server;
	clients->table = topic_table_create();
	clients->queries = queries_create(server, clients->pools);
	pthread_mutex_init(&clients->lock, NULL);
	for (uint32_t i = 0; i < server->world_count; i++) {
		clients->pools[i] = capture_pool_create();
		clients->of_models[i] = model_topics_create(&server->worlds[i], clients->table);
		clients->subscribers[i] = subscribers_create(&server->worlds[i], clients->table, clients->of_models[i]);
		clients->next_ns[i] = INT64_MAX;
	}
	return clients;
}

static void clients_drop_groups(struct clients *clients)
{
	for (uint32_t i = 0; i < clients->groups.count; i++)
		group_release(clients->groups.at[i]);
	clients->groups.count = 0;
}

void clients_destroy(struct clients *clients)
{
	if (!clients)
		return;
	assert(!clients->all.count);
	clients_drop_groups(clients);
	for (uint32_t i = 0; i < clients->needs_wakeup.count; i++)
		client_release(clients->needs_wakeup.at[i]);
	queries_destroy(clients->queries);
	for (uint32_t i = 0; i < SDF_WORLDS_MAX; i++) {
		capture_pool_destroy(clients->pools[i]);
		subscribers_destroy(clients->subscribers[i]);
		model_topics_destroy(clients->of_models[i]);
	}
	topic_table_destroy(clients->table);
	vec_free(&clients->all);
	vec_free(&clients->groups);
	vec_free(&clients->needs_wakeup);
	pthread_mutex_destroy(&clients->lock);
	free(clients);
}

/* row->ops is of another type in each kind of row. */
static bool clients_is_whole(const struct topic_row *row)
{
	const struct publish_ops *published = row->ops;
	const struct query_ops *asked = row->ops;
	if (row->kind == TOPIC_PUBLISHED)
		return published && published->encode;
	return row->kind != TOPIC_SERVICE || !asked || !asked->answer != !asked->act;
}

uint32_t clients_add_row(struct topic_table *table, const struct topic_row *row)
{
	assert(clients_is_whole(row));
	return topic_add(table, row);
}

struct topic_table *clients_table(struct clients *clients)
{
	return clients->table;
}

/* --- for clients -------------------------------------------------------------------------------------------------- */

void clients_lock(struct clients *clients)
{
	pthread_mutex_lock(&clients->lock);
}

void clients_unlock(struct clients *clients)
{
	/* release: pairs with the acquire in clients_serve() */
	atomic_fetch_add_explicit(&clients->wanted, 1, memory_order_release);
	pthread_mutex_unlock(&clients->lock);
}

void clients_enter(struct clients *clients, struct troupe_client *client)
{
	clients_lock(clients);
	vec_push(&clients->all, client);
	clients_unlock(clients);
}

void clients_leave(struct clients *clients, struct troupe_client *client)
{
	clients_lock(clients);
	for (uint32_t i = 0; i < clients->all.count; i++)
		if (clients->all.at[i] == client)
			clients->all.at[i--] = clients->all.at[--clients->all.count];
	clients_unlock(clients);
}

void clients_ask(struct clients *clients, struct troupe_client *client, struct client_reply *reply)
{
	queries_ask(clients->queries, client, reply);
}

/* A refusal is told to the program, too. */
void clients_answered(struct clients *clients, const struct client_reply *reply)
{
	if (reply->status || atomic_load_explicit(&clients->told[reply->row.world], memory_order_relaxed))
		queries_note(clients->queries, reply);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* A sensor's own rate is not asked for again: its readings come at it. */
static double clients_rate_of(const struct topic_row *row, const struct client_subscription *subscription)
{
	const struct publish_ops *ops = row->ops;
	if (ops->when == PUBLISH_READING)
		return subscription->rate_hz > 0 && (row->rate_hz <= 0 || subscription->rate_hz < row->rate_hz)
			       ? subscription->rate_hz
			       : 0;
	if (ops->when != PUBLISH_IN_TIME && ops->when != PUBLISH_FIGURES)
		return 0;
	if (row->rate_hz <= 0 || subscription->rate_hz <= 0)
		return MAX(row->rate_hz, subscription->rate_hz);
	return MIN(row->rate_hz, subscription->rate_hz);
}

struct remake {
	struct clients *clients;
	struct client_group **old;
	uint32_t old_count;
	struct map old_by_topic; /* of the client that is being looked at: index in `old` */
	uint32_t first;          /* its first new group */
};

static bool clients_is_of(const struct client_group *group, const struct troupe_client *client, uint32_t world,
	enum publish_when when, double rate_hz, bool fresh)
{
	/* sensors of different rates are due at different times: those that are slowed down have a group each */
	bool alone = when == PUBLISH_READING && rate_hz > 0;
	return !alone && group->client == client && group->world == world && group->when == when &&
	       group->rate_hz == rate_hz && (group->next_ns == INT64_MIN) == fresh;
}

/* The group in which the client had the topic; NULL: it did not have it, so that its first message comes at once. */
static const struct client_group *clients_find_old(const struct remake *remake, const char *topic)
{
	uint32_t at;
	return map_find(&remake->old_by_topic, topic, &at) ? remake->old[at] : NULL;
}

static void clients_remake_row(struct remake *remake, struct troupe_client *client,
	const struct client_subscription *subscription, const struct topic_row *row)
{
	struct clients *clients = remake->clients;
	const struct publish_ops *ops = row->ops;
	double rate_hz = clients_rate_of(row, subscription);
	const struct client_group *old = clients_find_old(remake, row->name);
	int64_t next_ns = old && old->rate_hz == rate_hz && !subscription->again ? old->next_ns : INT64_MIN;
	struct client_group *group = NULL;
	for (uint32_t i = remake->first; i < clients->groups.count && !group; i++)
		if (clients_is_of(clients->groups.at[i], client, row->world, ops->when, rate_hz, next_ns == INT64_MIN))
			group = clients->groups.at[i];
	if (!group) {
		group = mem_alloc(sizeof *group);
		*group = (struct client_group){.client = client_hold(client),
			.world = row->world,
			.when = ops->when,
			.rate_hz = rate_hz,
			.next_ns = next_ns,
			.seen = old ? old->seen : 0};
		atomic_store(&group->refs, 1);
		vec_push(&clients->groups, group);
	}
	group->parts |= ops->parts;
	group->next_ns = MIN(group->next_ns, next_ns);
	topic_row_copy(row, vec_append(&group->rows, 1));
}

static void clients_look_at(struct remake *remake, struct troupe_client *client)
{
	const struct topic_table *table = remake->clients->table;
	remake->first = remake->clients->groups.count;
	for (uint32_t i = 0; i < remake->old_count; i++)
		for (uint32_t r = 0; remake->old[i]->client == client && r < remake->old[i]->rows.count; r++)
			map_add(&remake->old_by_topic, remake->old[i]->rows.at[r].name, i);
	for (uint32_t i = 0; i < client->subscriptions.count; i++) {
		const struct client_subscription *subscription = &client->subscriptions.at[i];
		bool some = false;
		for (uint32_t id = topic_find(table, TOPIC_PUBLISHED, subscription->topic); id != TOPIC_NONE;
			id = topic_next(table, id)) {
			if (!topic_row_is_for(topic_row(table, id), client->as))
				continue;
			clients_remake_row(remake, client, subscription, topic_row(table, id));
			some = true;
		}
		client->subscriptions.at[i].again &= !some;
	}
	map_fini(&remake->old_by_topic);
}

/* When the earliest group of each world is due. */
static void clients_find_next(struct clients *clients)
{
	for (uint32_t i = 0; i < clients->server->world_count; i++) {
		clients->next_ns[i] = INT64_MAX;
		clients->in_steps[i] = clients->reads[i] = false;
	}
	bool told[SDF_WORLDS_MAX] = {false};
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		const struct client_group *group = clients->groups.at[i];
		clients->next_ns[group->world] = MIN(clients->next_ns[group->world], group->next_ns);
		if (group->when == PUBLISH_REPLIES)
			told[group->world] = true;
		else if (group->when == PUBLISH_READING)
			clients->reads[group->world] = true;
		else if (group->when != PUBLISH_IN_TIME && group->when != PUBLISH_FIGURES)
			clients->in_steps[group->world] = true;
		else
			clients->in_steps[group->world] |= group->rate_hz <= 0;
	}
	for (uint32_t i = 0; i < clients->server->world_count; i++)
		atomic_store_explicit(&clients->told[i], told[i], memory_order_relaxed);
}

/* A sensor measures when some group has a topic of it. */
void clients_want_sensors(struct clients *clients)
{
	for (uint32_t w = 0; w < clients->server->world_count; w++)
		if (!clients->server->worlds[w].shared.sensors->all)
			sensors_want_none(clients->server->worlds[w].shared.sensors);
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		const struct client_group *group = clients->groups.at[i];
		struct sensors *sensors = clients->server->worlds[group->world].shared.sensors;
		for (uint32_t r = 0; r < group->rows.count && group->when == PUBLISH_READING; r++) {
			const struct topic_row *row = &group->rows.at[r];
			struct sensor *sensor =
				sensors_find(sensors, (uint32_t)row->object - 1, sensor_topics_index(row));
			if (sensor)
				sensors_want(sensors, sensor);
		}
	}
}

/* Contacts and efforts are noted while some group has messages with them. */
static void clients_want_notes(struct clients *clients)
{
	uint32_t notes[SDF_WORLDS_MAX] = {0};
	for (uint32_t i = 0; i < clients->groups.count; i++)
		notes[clients->groups.at[i]->world] |= capture_notes(clients->groups.at[i]->parts);
	for (uint32_t w = 0; w < clients->server->world_count; w++)
		primary_watch(clients->server->worlds[w].primary, notes[w]);
}

static void clients_remake_groups(struct clients *clients)
{
	struct remake remake = {.clients = clients, .old = clients->groups.at, .old_count = clients->groups.count};
	memset(&clients->groups, 0, sizeof clients->groups);
	pthread_mutex_lock(&clients->lock);
	clients->seen_wanted = atomic_load(&clients->wanted);
	clients->seen_epoch = topic_epoch(clients->table);
	for (uint32_t i = 0; i < clients->all.count; i++)
		clients_look_at(&remake, clients->all.at[i]);
	pthread_mutex_unlock(&clients->lock);
	clients_want_sensors(clients);
	clients_want_notes(clients);
	for (uint32_t i = 0; i < remake.old_count; i++)
		group_release(remake.old[i]);
	free(remake.old);
	clients_find_next(clients);
}

/* --- a step boundary ---------------------------------------------------------------------------------------------- */

/* The first multiple of the group's period after the time. */
static int64_t clients_due_after(const struct client_group *group, int64_t time_ns)
{
	double period_ns = 1e9 / group->rate_hz;
	double next = (floor((double)time_ns / period_ns) + 1) * period_ns;
	return next < 9e18 ? MAX((int64_t)ceil(next), time_ns + 1) : INT64_MAX;
}

/* Without an event a performer may be in another level, or have its first secondary. */
static bool clients_levels_changed(const struct client_group *group, const struct server_world *world)
{
	const struct placement *placement = &primary_plan(world->primary)->placement;
	return placement->events.count > 0 || placement->epoch != group->seen;
}

static uint64_t clients_epoch(const struct client_group *group, const struct server_world *world)
{
	return group->when == PUBLISH_LEVELS ? primary_plan(world->primary)->placement.epoch
					     : primary_scene_epoch(world->primary);
}

static bool clients_has_reading(const struct client_group *group, const struct server_world *world)
{
	bool found = false;
	for (uint32_t i = 0; i < group->rows.count && !found; i++)
		found = readings_find(primary_readings(world->primary), (uint32_t)group->rows.at[i].object - 1,
			sensor_topics_index(&group->rows.at[i]));
	return found;
}

static bool clients_has_published(const struct client_group *group, const struct server_world *world)
{
	bool found = false;
	for (uint32_t i = 0; i < group->rows.count && !found; i++)
		found = model_topics_has_published(world, &group->rows.at[i]);
	return found;
}

static bool clients_is_due(
	const struct client_group *group, const struct server_world *world, int64_t time_ns, bool stepped)
{
	if (group->when == PUBLISH_DECIDED)
		return stepped && primary_has_moved(world->primary) && clients_has_published(group, world);
	if (group->when == PUBLISH_READING)
		return stepped && primary_has_moved(world->primary) &&
		       (group->rate_hz <= 0 || time_ns >= group->next_ns) && clients_has_reading(group, world);
	if (group->next_ns == INT64_MIN)
		return true;
	switch (group->when) {
	case PUBLISH_SCENE:
		return group->seen != primary_scene_epoch(world->primary);
	case PUBLISH_LEVELS:
		return stepped && clients_levels_changed(group, world);
	case PUBLISH_REPLIES:
		return false;
	default:
		return group->rate_hz > 0 ? time_ns >= group->next_ns : stepped;
	}
}

/* A thread that sleeps is told at most so often: to wake it costs more than a small step. What is delivered meanwhile
 * waits for the next time; when no step comes, nothing waits. */
#define TELL_EVERY_NS 500000u

static void clients_note_wakeup(struct clients *clients, struct troupe_client *client)
{
	if (client->needs_wakeup)
		return;
	client->needs_wakeup = true;
	vec_push(&clients->needs_wakeup, client_hold(client));
}

/* capture: NULL: there was no memory for it, so the client loses what it has subscribed to. */
static void clients_deliver(struct clients *clients, struct client_group *group, struct capture *capture)
{
	if (!capture) {
		atomic_fetch_add_explicit(&group->client->dropped, 1, memory_order_relaxed);
		return;
	}
	client_deliver(group->client, group, capture_hold(capture));
	clients_note_wakeup(clients, group->client);
}

static void clients_wake(struct clients *clients, bool all)
{
	uint32_t kept = 0;
	uint64_t now = clients->needs_wakeup.count ? clock_now_ns() : 0;
	for (uint32_t i = 0; i < clients->needs_wakeup.count; i++) {
		struct troupe_client *client = clients->needs_wakeup.at[i];
		if (!all && now < client->tell_ns) {
			clients->needs_wakeup.at[kept++] = client;
			continue;
		}
		client->needs_wakeup = false;
		client->tell_ns = now + TELL_EVERY_NS;
		client_tell(client);
		client_release(client);
	}
	clients->needs_wakeup.count = kept;
}

void clients_flush(struct clients *clients)
{
	clients_wake(clients, true);
}

/* For all groups, before the capture is delivered to any: a client that has it reads it on its own thread at once. */
static void clients_add_reports(
	struct clients *clients, uint32_t index, int64_t time_ns, bool stepped, struct capture *capture)
{
	struct server_world *world = &clients->server->worlds[index];
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		struct client_group *group = clients->groups.at[i];
		if (group->world != index || !(group->parts & CAPTURE_REPORTS) ||
			!clients_is_due(group, world, time_ns, stepped))
			continue;
		for (uint32_t r = 0; r < group->rows.count; r++)
			model_topics_report(world, &group->rows.at[r], capture);
	}
}

static void clients_serve_groups(struct clients *clients, uint32_t index, int64_t time_ns, bool stepped)
{
	struct server_world *world = &clients->server->worlds[index];
	uint32_t parts = 0, due = 0;
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		struct client_group *group = clients->groups.at[i];
		if (group->world != index || !clients_is_due(group, world, time_ns, stepped))
			continue;
		parts |= group->parts;
		due++;
	}
	struct capture *capture = due ? capture_make(clients->pools[index], world, parts) : NULL;
	if (parts & CAPTURE_REPORTS && capture)
		clients_add_reports(clients, index, time_ns, stepped, capture);
	for (uint32_t i = 0; i < clients->groups.count && due; i++) {
		struct client_group *group = clients->groups.at[i];
		if (group->world != index || !clients_is_due(group, world, time_ns, stepped))
			continue;
		clients_deliver(clients, group, capture);
		group->next_ns = group->rate_hz > 0 ? clients_due_after(group, time_ns) : INT64_MAX;
		group->seen = clients_epoch(group, world);
	}
	if (capture)
		capture_release(capture);
	if (due)
		clients_find_next(clients);
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

/* A capture for each reply, so that each is a message of its own. NULL: too many wait. */
static struct capture *clients_capture_of_reply(struct clients *clients, uint32_t world, uint64_t step,
	const char *service, troupe_status status, const char *text)
{
	struct capture *capture = capture_make(clients->pools[world], &clients->server->worlds[world], 0);
	size_t service_bytes = strlen(service) + 1, text_bytes = strlen(text) + 1;
	if (!capture)
		return NULL;
	capture->service = mem_alloc(service_bytes + text_bytes);
	capture->reply_text = capture->service + service_bytes;
	memcpy(capture->service, service, service_bytes);
	memcpy(capture->reply_text, text, text_bytes);
	capture->reply_step = step;
	capture->reply_ok = status == TROUPE_OK;
	return capture;
}

void clients_publish_reply(struct clients *clients, uint32_t world, uint64_t step, const char *service,
	troupe_status status, const char *text)
{
	if (!atomic_load_explicit(&clients->told[world], memory_order_relaxed))
		return;
	struct capture *capture = clients_capture_of_reply(clients, world, step, service, status, text);
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		struct client_group *group = clients->groups.at[i];
		if (group->when != PUBLISH_REPLIES || group->world != world)
			continue;
		clients_deliver(clients, group, capture);
	}
	if (capture)
		capture_release(capture);
}

/* Simulated time was reset: everything is due at once. */
static void clients_restart(struct clients *clients, uint32_t world)
{
	for (uint32_t i = 0; i < clients->groups.count; i++)
		if (clients->groups.at[i]->world == world)
			clients->groups.at[i]->next_ns = INT64_MIN;
	clients_find_next(clients);
}

/* While a world is paused, no time passes that would make anything due: what is shown of its last state is due at once,
 * and again after each request, which may have changed it. */
static void clients_follow_pause(struct clients *clients, uint32_t world, int64_t time_ns)
{
	const struct primary *primary = clients->server->worlds[world].primary;
	bool paused = primary_is_paused(primary), acted = primary_requests(primary) != clients->requests[world];
	clients->requests[world] = primary_requests(primary);
	if (paused == clients->paused[world] && (!paused || (!acted && time_ns == clients->last_ns[world])))
		return;
	clients->paused[world] = paused;
	for (uint32_t i = 0; i < clients->groups.count; i++) {
		struct client_group *group = clients->groups.at[i];
		if (group->world == world && group->when == PUBLISH_FIGURES)
			group->next_ns = INT64_MIN;
	}
	clients_find_next(clients);
}

void clients_hear(struct clients *clients, uint32_t world)
{
	subscribers_take(clients->subscribers[world]);
}

uint32_t clients_hear_notes(struct clients *clients, uint32_t world)
{
	return subscribers_notes(clients->subscribers[world]);
}

/* Steps until the group is due. When a sensor measures, and when systems decide, the run knows in advance itself;
 * models come and go, and levels are loaded, at the beginning of a window only. */
static double clients_steps_to(
	const struct client_group *group, const struct server_world *world, double time_ns, double step_ns)
{
	const bool at_once = group->next_ns == INT64_MIN;
	switch (group->when) {
	case PUBLISH_IN_TIME:
	case PUBLISH_FIGURES:
		return group->rate_hz > 0 ? ceil(((double)group->next_ns - time_ns) / step_ns - 1e-6) : 1;
	case PUBLISH_SCENE:
	case PUBLISH_LEVELS:
		return at_once || group->seen != clients_epoch(group, world) ? 1 : (double)INFINITY;
	default:
		return (double)INFINITY;
	}
}

uint64_t clients_horizon(struct clients *clients, uint32_t index)
{
	const struct server_world *world = &clients->server->worlds[index];
	const double time_ns = primary_time_s(world->primary) * 1e9, step_ns = primary_step_s(world->primary) * 1e9;
	double least = INFINITY;
	if (subscribers_hears(clients->subscribers[index]))
		return 1;
	if (atomic_load_explicit(&clients->wanted, memory_order_acquire) == 0)
		return UINT64_MAX;
	for (uint32_t i = 0; i < clients->groups.count && least > 1; i++)
		if (clients->groups.at[i]->world == index)
			least = fmin(least, clients_steps_to(clients->groups.at[i], world, time_ns, step_ns));
	return least >= 1e9 ? UINT64_MAX : least >= 1 ? (uint64_t)least : 1;
}

void clients_serve(struct clients *clients, bool stepped)
{
	/* acquire: pairs with the release in clients_unlock() */
	uint64_t wanted = atomic_load_explicit(&clients->wanted, memory_order_acquire);
	if (wanted == 0)
		return;
	for (uint32_t i = 0; i < clients->server->world_count; i++)
		model_topics_update(clients->of_models[i]);
	if (wanted != clients->seen_wanted || topic_epoch(clients->table) != clients->seen_epoch)
		clients_remake_groups(clients);
	for (uint32_t i = 0; i < clients->server->world_count; i++) {
		bool in_steps = clients->in_steps[i] || clients->reads[i];
		if (!in_steps && clients->next_ns[i] == INT64_MAX)
			continue;
		int64_t time_ns = llround(primary_time_s(clients->server->worlds[i].primary) * 1e9);
		if (time_ns < clients->last_ns[i])
			clients_restart(clients, i);
		clients_follow_pause(clients, i, time_ns);
		clients->last_ns[i] = time_ns;
		if (in_steps || time_ns >= clients->next_ns[i])
			clients_serve_groups(clients, i, time_ns, stepped);
	}
	queries_serve(clients->queries);
	clients_wake(clients, !stepped);
}
