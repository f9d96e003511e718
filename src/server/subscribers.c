/* The list of rows that are heard is made anew when models or topics came or went. It is sorted: ids of rows depend on
 * the history of the run, and the order of messages must not. */
#include "server/subscribers.h"

#include "server/sensor_topics.h"
#include "topic/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SUBSCRIBERS_METRICS "gz.msgs.PerformanceSensorMetrics"

struct subscribers {
	struct server_world *world;
	struct topic_table *table;
	struct model_topics *topics;
	struct capture_pool *pool;
	VEC(struct topic_row) rows;
	VEC(const struct topic_row *) due; /* in the step */
	uint32_t notes;                    /* that the messages of all rows are made of */
	uint64_t seen_scene, seen_table;   /* the epochs for which the list was made */
	bool warned;
};

struct subscribers *subscribers_create(
	struct server_world *world, struct topic_table *table, struct model_topics *topics)
{
	struct subscribers *subscribers = mem_alloc(sizeof *subscribers);
	*subscribers =
		(struct subscribers){.world = world, .table = table, .topics = topics, .pool = capture_pool_create()};
	return subscribers;
}

static void subscribers_forget_rows(struct subscribers *subscribers)
{
	for (uint32_t i = 0; i < subscribers->rows.count; i++)
		topic_row_fini(&subscribers->rows.at[i]);
	subscribers->rows.count = 0;
}

void subscribers_destroy(struct subscribers *subscribers)
{
	if (!subscribers)
		return;
	subscribers_forget_rows(subscribers);
	vec_free(&subscribers->rows);
	vec_free(&subscribers->due);
	capture_pool_destroy(subscribers->pool);
	free(subscribers);
}

/* --- which rows --------------------------------------------------------------------------------------------------- */

/* Whether what is published follows from the state. */
static bool subscribers_follows(const struct topic_row *row)
{
	const uint32_t of_state = CAPTURE_MODELS | CAPTURE_LINKS | CAPTURE_JOINTS | CAPTURE_ODOMETRY | CAPTURE_REPORTS;
	const struct publish_ops *ops = row->ops;
	if (ops->when == PUBLISH_READING)
		return strcmp(row->type, SUBSCRIBERS_METRICS) != 0;
	return ops->when == PUBLISH_IN_TIME && ops->parts && !(ops->parts & ~of_state);
}

/* Systems that publish have told their listeners already. */
static bool subscribers_is_told(const struct topic_row *row)
{
	return ((const struct publish_ops *)row->ops)->when == PUBLISH_DECIDED;
}

static void subscribers_warn(
	const struct subscribers *subscribers, const struct system_listeners *topic, const char *why)
{
	struct troupe_error line;
	const struct system_listener *to = &topic->listeners.at[0];
	const struct system *system = &systems_of(subscribers->world->systems, to->model)->at[to->system];
	if (subscribers->warned || !system->plugin)
		return;
	(void)fail(&line, TROUPE_EWORLD, "%.200s:%u: plugin '%.80s' gets no messages of topic '%.100s': %s",
		system->plugin->element->file, system->plugin->element->line, system->self.kind->names[0], topic->name,
		why);
	server_warn(subscribers->world->server, line.text);
}

static void subscribers_want_sensor(const struct subscribers *subscribers, const struct topic_row *row)
{
	struct sensors *sensors = subscribers->world->shared.sensors;
	const struct publish_ops *ops = row->ops;
	struct sensor *sensor = NULL;
	if (ops->when == PUBLISH_READING)
		sensor = sensors_find(sensors, (uint32_t)row->object - 1, sensor_topics_index(row));
	if (sensor)
		sensors_use(sensors, sensor);
}

static void subscribers_add_rows(struct subscribers *subscribers, const struct system_listeners *topic)
{
	bool some = false, told = false, published = false;
	const char *type = NULL;
	for (uint32_t id = topic_find(subscribers->table, TOPIC_PUBLISHED, topic->name); id != TOPIC_NONE;
		id = topic_next(subscribers->table, id)) {
		const struct topic_row *row = topic_row(subscribers->table, id);
		if (row->world != subscribers->world->index)
			continue;
		published = true;
		told |= subscribers_is_told(row);
		if (!subscribers_follows(row))
			continue;
		type = row->type;
		if (!topic->any && strcmp(row->type, topic->type->name) != 0)
			continue;
		some = true;
		subscribers_want_sensor(subscribers, row);
		topic_row_copy(row, vec_append(&subscribers->rows, 1));
	}
	if (type && !some) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_EWORLD, "they are %s: expected %s", type, topic->type->name);
		subscribers_warn(subscribers, topic, why.text);
	} else if (published && !some && !told)
		subscribers_warn(
			subscribers, topic, "they depend on more than the state of the world: expected another topic");
}

static int subscribers_compare(const void *a, const void *b)
{
	const struct topic_row *x = a, *y = b;
	uint32_t object_x = (uint32_t)x->object, object_y = (uint32_t)y->object;
	if (object_x != object_y)
		return object_x < object_y ? -1 : 1;
	if (x->part != y->part)
		return x->part < y->part ? -1 : 1;
	if (strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	if (x->rate_hz != y->rate_hz)
		return x->rate_hz < y->rate_hz ? -1 : 1;
	return strcmp(x->frame ? x->frame : "", y->frame ? y->frame : "");
}

static void subscribers_list_rows(struct subscribers *subscribers)
{
	const struct systems *systems = subscribers->world->systems;
	model_topics_update(subscribers->topics);
	uint64_t scene = primary_scene_epoch(subscribers->world->primary), table = topic_epoch(subscribers->table);
	if (subscribers->seen_scene == scene && subscribers->seen_table == table)
		return;
	subscribers_forget_rows(subscribers);
	for (uint32_t i = 0; i < systems->topics.count; i++)
		if (systems->topics.at[i].name)
			subscribers_add_rows(subscribers, &systems->topics.at[i]);
	subscribers->notes = 0;
	for (uint32_t i = 0; i < subscribers->rows.count; i++)
		subscribers->notes |= capture_notes(((const struct publish_ops *)subscribers->rows.at[i].ops)->parts);
	if (subscribers->rows.count)
		qsort(subscribers->rows.at, subscribers->rows.count, sizeof *subscribers->rows.at, subscribers_compare);
	subscribers->seen_scene = scene;
	subscribers->seen_table = table;
	subscribers->warned = true;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

/* A row with a rate is due when a multiple of its period has been reached since the state before, or at time 0: so this
 * does not depend on when a client began to listen. */
static bool subscribers_is_due(const struct subscribers *subscribers, const struct topic_row *row)
{
	const struct primary *primary = subscribers->world->primary;
	const struct publish_ops *ops = row->ops;
	double time_s = primary_time_s(primary), before_s = time_s - primary_step_s(primary);
	if (ops->when == PUBLISH_READING)
		return readings_find(primary_readings(primary), (uint32_t)row->object - 1, sensor_topics_index(row));
	if (row->rate_hz <= 0)
		return true;
	double period_ns = 1e9 / row->rate_hz;
	return floor((double)llround(time_s * 1e9) / period_ns) > floor((double)llround(before_s * 1e9) / period_ns);
}

/* The robot client of the model that the row is about. */
static uint32_t subscribers_owner_of(const struct subscribers *subscribers, const struct topic_row *row)
{
	const struct scene *scene = subscribers->world->scene;
	uint64_t place = row->object & UINT32_MAX;
	return place && place <= scene->model_count ? scene->models[place - 1].owner : 0;
}

static void subscribers_hear(
	struct subscribers *subscribers, const struct capture *capture, const struct topic_row *row)
{
	const struct publish_ops *ops = row->ops;
	struct text bytes = {0};
	ProtobufCMessage *message;
	struct troupe_error why;
	if (ops->encode(capture, row, &bytes) &&
		!message_of_bytes(type_find(row->type), bytes.at, bytes.count, &message_limits_usual, &message, &why))
		primary_hear(subscribers->world->primary, subscribers_owner_of(subscribers, row), row->name, message);
	text_fini(&bytes);
}

uint32_t subscribers_notes(struct subscribers *subscribers)
{
	subscribers_list_rows(subscribers);
	return subscribers->notes;
}

bool subscribers_hears(const struct subscribers *subscribers)
{
	return subscribers->rows.count;
}

void subscribers_take(struct subscribers *subscribers)
{
	uint32_t parts = 0;
	subscribers_list_rows(subscribers);
	subscribers->due.count = 0;
	for (uint32_t i = 0; i < subscribers->rows.count; i++) {
		const struct topic_row *row = &subscribers->rows.at[i];
		if (!subscribers_is_due(subscribers, row))
			continue;
		parts |= ((const struct publish_ops *)row->ops)->parts;
		vec_push(&subscribers->due, row);
	}
	struct capture *capture = parts ? capture_make(subscribers->pool, subscribers->world, parts) : NULL;
	for (uint32_t i = 0; capture && i < subscribers->due.count; i++) {
		model_topics_report(subscribers->world, subscribers->due.at[i], capture);
		subscribers_hear(subscribers, capture, subscribers->due.at[i]);
	}
	if (capture)
		capture_release(capture);
}
