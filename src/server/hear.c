/* The list of rows that are heard is made anew when models or topics came or went. It is sorted: ids of rows depend on
 * the history of the run, and the order of messages must not. */
#include "server/hear.h"

#include "server/sensor_topics.h"
#include "topic/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAR_METRICS "gz.msgs.PerformanceSensorMetrics"

struct hearing {
	struct server_world *world;
	struct topic_table *table;
	struct model_topics *topics;
	struct frame_pool *pool;
	VEC(struct topic_row) rows;
	VEC(const struct topic_row *) due; /* in the step */
	uint32_t notes;                    /* that the messages of all rows are made of */
	uint64_t seen_scene, seen_table;   /* the epochs for which the list was made */
	bool warned;
};

struct hearing *hearing_create(struct server_world *world, struct topic_table *table, struct model_topics *topics)
{
	struct hearing *hearing = mem_alloc(sizeof *hearing);
	*hearing = (struct hearing){.world = world, .table = table, .topics = topics, .pool = frame_pool_create()};
	return hearing;
}

static void hear_forget_rows(struct hearing *hearing)
{
	for (uint32_t i = 0; i < hearing->rows.count; i++)
		topic_row_fini(&hearing->rows.at[i]);
	hearing->rows.count = 0;
}

void hearing_destroy(struct hearing *hearing)
{
	if (!hearing)
		return;
	hear_forget_rows(hearing);
	vec_free(&hearing->rows);
	vec_free(&hearing->due);
	frame_pool_destroy(hearing->pool);
	free(hearing);
}

/* --- which rows --------------------------------------------------------------------------------------------------- */

/* Whether what is published follows from the state. */
static bool hear_follows(const struct topic_row *row)
{
	const uint32_t of_state = FRAME_MODELS | FRAME_LINKS | FRAME_JOINTS | FRAME_ODOMETRY | FRAME_REPORTS;
	const struct publish_ops *ops = row->ops;
	if (ops->when == PUBLISH_READING)
		return strcmp(row->type, HEAR_METRICS) != 0;
	return ops->when == PUBLISH_IN_TIME && ops->parts && !(ops->parts & ~of_state);
}

/* Systems that publish have told their listeners already. */
static bool hear_is_told(const struct topic_row *row)
{
	return ((const struct publish_ops *)row->ops)->when == PUBLISH_DECIDED;
}

static void hear_warn(const struct hearing *hearing, const struct system_listeners *topic, const char *why)
{
	struct troupe_error line;
	const struct system_listener *to = &topic->listeners.at[0];
	const struct system *system = &systems_of(hearing->world->systems, to->model)->at[to->system];
	if (hearing->warned || !system->plugin)
		return;
	(void)fail(&line, TROUPE_EWORLD, "%.200s:%u: plugin '%.80s' gets no messages of topic '%.100s': %s",
		system->plugin->element->file, system->plugin->element->line, system->self.kind->names[0], topic->name,
		why);
	server_warn(hearing->world->server, line.text);
}

static void hear_want_sensor(const struct hearing *hearing, const struct topic_row *row)
{
	struct sensors *sensors = hearing->world->shared.sensors;
	const struct publish_ops *ops = row->ops;
	struct sensor *sensor = NULL;
	if (ops->when == PUBLISH_READING)
		sensor = sensors_find(sensors, (uint32_t)row->key - 1, sensor_topics_index(row));
	if (sensor)
		sensors_use(sensors, sensor);
}

static void hear_add_rows(struct hearing *hearing, const struct system_listeners *topic)
{
	bool some = false, told = false, published = false;
	const char *type = NULL;
	for (uint32_t id = topic_find(hearing->table, TOPIC_PUBLISHED, topic->name); id != TOPIC_NONE;
		id = topic_next(hearing->table, id)) {
		const struct topic_row *row = topic_row(hearing->table, id);
		if (row->world != hearing->world->index)
			continue;
		published = true;
		told |= hear_is_told(row);
		if (!hear_follows(row))
			continue;
		type = row->type;
		if (!topic->any && strcmp(row->type, topic->type->name) != 0)
			continue;
		some = true;
		hear_want_sensor(hearing, row);
		topic_row_copy(row, vec_append(&hearing->rows, 1));
	}
	if (type && !some) {
		struct troupe_error why;
		(void)fail(&why, TROUPE_EWORLD, "they are %s: expected %s", type, topic->type->name);
		hear_warn(hearing, topic, why.text);
	} else if (published && !some && !told)
		hear_warn(hearing, topic, "they depend on more than the state of the world: expected another topic");
}

static int hear_compare(const void *a, const void *b)
{
	const struct topic_row *x = a, *y = b;
	uint32_t of_x = (uint32_t)x->key, of_y = (uint32_t)y->key;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (strcmp(x->name, y->name) != 0)
		return strcmp(x->name, y->name);
	if (x->rate_hz != y->rate_hz)
		return x->rate_hz < y->rate_hz ? -1 : 1;
	return strcmp(x->frame ? x->frame : "", y->frame ? y->frame : "");
}

static void hear_list_rows(struct hearing *hearing)
{
	const struct systems *systems = hearing->world->systems;
	model_topics_update(hearing->topics);
	uint64_t scene = hearing->world->primary.edit.epoch + 1, table = topic_epoch(hearing->table);
	if (hearing->seen_scene == scene && hearing->seen_table == table)
		return;
	hear_forget_rows(hearing);
	for (uint32_t i = 0; i < systems->topics.count; i++)
		if (systems->topics.at[i].name)
			hear_add_rows(hearing, &systems->topics.at[i]);
	hearing->notes = 0;
	for (uint32_t i = 0; i < hearing->rows.count; i++)
		hearing->notes |= frame_notes(((const struct publish_ops *)hearing->rows.at[i].ops)->parts);
	if (hearing->rows.count)
		qsort(hearing->rows.at, hearing->rows.count, sizeof *hearing->rows.at, hear_compare);
	hearing->seen_scene = scene;
	hearing->seen_table = table;
	hearing->warned = true;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

/* A row with a rate is due when a multiple of its period has been reached since the state before, or at time 0: so this
 * does not depend on when a client began to listen. */
static bool hear_is_due(const struct hearing *hearing, const struct topic_row *row)
{
	const struct primary *primary = &hearing->world->primary;
	const struct publish_ops *ops = row->ops;
	double time_s = primary_time_s(primary), before_s = time_s - primary->edit.step_s;
	if (ops->when == PUBLISH_READING)
		return readings_find(&primary->readings, (uint32_t)row->key - 1, sensor_topics_index(row));
	if (row->rate_hz <= 0)
		return true;
	double period_ns = 1e9 / row->rate_hz;
	return floor((double)llround(time_s * 1e9) / period_ns) > floor((double)llround(before_s * 1e9) / period_ns);
}

/* The robot client of the model that the row is about. */
static uint32_t hear_owner_of(const struct hearing *hearing, const struct topic_row *row)
{
	const struct scene *scene = hearing->world->scene;
	uint64_t place = row->key & UINT32_MAX;
	return place && place <= scene->model_count ? scene->models[place - 1].owner : 0;
}

static void hear(struct hearing *hearing, const struct frame *frame, const struct topic_row *row)
{
	const struct publish_ops *ops = row->ops;
	struct text bytes = {0};
	ProtobufCMessage *message;
	struct troupe_error why;
	if (ops->encode(frame, row, &bytes) &&
		!message_of_bytes(type_find(row->type), bytes.at, bytes.count, &message_limits_usual, &message, &why))
		primary_hear(&hearing->world->primary, hear_owner_of(hearing, row), row->name, message);
	text_fini(&bytes);
}

uint32_t hearing_notes(struct hearing *hearing)
{
	hear_list_rows(hearing);
	return hearing->notes;
}

bool hearing_hears(const struct hearing *hearing)
{
	return hearing->rows.count;
}

void hearing_take(struct hearing *hearing)
{
	uint32_t parts = 0;
	hear_list_rows(hearing);
	hearing->due.count = 0;
	for (uint32_t i = 0; i < hearing->rows.count; i++) {
		const struct topic_row *row = &hearing->rows.at[i];
		if (!hear_is_due(hearing, row))
			continue;
		parts |= ((const struct publish_ops *)row->ops)->parts;
		vec_push(&hearing->due, row);
	}
	struct frame *frame = parts ? frame_make(hearing->pool, hearing->world, parts) : NULL;
	for (uint32_t i = 0; frame && i < hearing->due.count; i++) {
		model_topics_report(hearing->world, hearing->due.at[i], frame);
		hear(hearing, frame, hearing->due.at[i]);
	}
	if (frame)
		frame_release(frame);
}
