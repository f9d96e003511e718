/* A model's rows are made when its serial appears in a place of the scene, and removed when the serial is gone from it:
 * serials are never used again, so that a comparison of serials finds every change, also a reset that brings a model
 * back, and a saved state that was taken up. */
#include "server/model_topics.h"

#include "base/math.h"
#include "server/encode.h"
#include "server/encode_fast.h"
#include "server/pose_parts.h"
#include "server/sensor_topics.h"
#include "server/scene_info.h"
#include "topic/motion.pb-c.h"
#include "topic/scene.pb-c.h"

#include <stdlib.h>
#include <string.h>

struct model_topics_place {
	uint64_t serial; /* of the model whose rows are here; 0: none */
	VEC(uint32_t) rows;
};

struct model_topics {
	struct server_world *world;
	struct topic_table *table;
	struct model_topics_place *places; /* [room] */
	uint32_t room;
	struct model_topics_place of_world; /* the rows of the systems of the world itself */
	uint64_t epoch;        /* of the changes that are in the rows, plus one; 0: none */
};

/* --- messages ----------------------------------------------------------------------------------------------------- */

static uint64_t model_topics_object_of(const struct scene *scene, uint32_t model)
{
	return (uint64_t)scene_info_born(scene, model) << 32 | (model + 1);
}

/* The model in the capture's scene; TROUPE_NONE: it is gone. */
static uint32_t model_topics_of(const struct capture *capture, const struct topic_row *row)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	uint32_t model = scene_info_model_of(scene, (uint32_t)row->object - 1);
	bool same = model != TROUPE_NONE && scene->models[model].handle.born == (uint32_t)(row->object >> 32);
	return same ? model : TROUPE_NONE;
}

/* NULL: the model is gone, or has no odometry. */
static const struct troupe_odometry *model_topics_odometry_of(
	const struct capture *capture, const struct topic_row *row, struct troupe_pose *ret_pose)
{
	uint32_t model = model_topics_of(capture, row);
	bool moves = model != TROUPE_NONE && model < capture->snapshot.scene->mobile_count;
	const struct troupe_odometry *o = moves ? &capture->snapshot.odometry[model] : NULL;
	if (!o || !o->given)
		return NULL;
	*ret_pose = (struct troupe_pose){.x = o->x, .y = o->y, .qw = math_cos(o->yaw / 2), .qz = math_sin(o->yaw / 2)};
	return o;
}

static bool model_topics_encode_odometry(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct troupe_pose pose;
	const struct troupe_odometry *o = model_topics_odometry_of(capture, row, &pose);
	if (o)
		encode_fast_odometry(out, capture->time_ns, row->frame, row->child_frame, &pose, o->linear, o->angular);
	return o;
}

static bool model_topics_encode_tf(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct troupe_pose pose;
	bool some = model_topics_odometry_of(capture, row, &pose);
	if (some)
		encode_fast_tf(out, capture->time_ns, row->frame, row->child_frame, &pose);
	return some;
}

static bool model_topics_encode_poses(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	uint32_t model = model_topics_of(capture, row);
	struct arena arena = {0};
	Gz__Msgs__PoseV message = GZ__MSGS__POSE__V__INIT;
	if (model == TROUPE_NONE)
		return false;
	uint32_t count = pose_parts_count(capture->snapshot.scene, model);
	message.header = encode_header(&arena, capture->time_ns);
	message.pose = arena_array(&arena, Gz__Msgs__Pose *, count);
	for (uint32_t part = 0; part < count; part++) {
		Gz__Msgs__Pose *pose = pose_parts_encode(&arena, capture, model, part, row->part);
		if (pose)
			message.pose[message.n_pose++] = pose;
	}
	return encode_end(&message.base, &arena, out);
}

/* row->part of a pose that is published alone: the bits of troupe_output.of, then the part. */
enum {
	OF_BITS = 8,
	MODEL_TOPICS_PARTS_MAX = 1 << 24,
	OF_OTHERS = TROUPE_OF_COLLISIONS | TROUPE_OF_VISUALS | TROUPE_OF_SENSORS
};
_Static_assert(TROUPE_OF_FIXED < 1 << OF_BITS, "all bits of `of` fit");

static bool model_topics_encode_one_pose(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	uint32_t model = model_topics_of(capture, row);
	struct arena arena = {0};
	if (model == TROUPE_NONE)
		return false;
	Gz__Msgs__Pose *pose =
		pose_parts_encode(&arena, capture, model, row->part >> OF_BITS, row->part & ((1 << OF_BITS) - 1));
	if (pose)
		return encode_end(&pose->base, &arena, out);
	arena_fini(&arena);
	return false;
}

static void model_topics_add_axis(
	struct arena *arena, const struct troupe_joint_state *state, uint32_t axis, Gz__Msgs__Axis **ret_axis)
{
	Gz__Msgs__Axis *out = *ret_axis = arena_new(arena, Gz__Msgs__Axis);
	gz__msgs__axis__init(out);
	out->position = state->position[axis];
	out->velocity = state->velocity[axis];
	out->force = state->effort[axis];
}

/* Whether a name is in a list in which each name is enclosed in line ends. */
static bool model_topics_is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = strstr(list, name); at; at = strstr(at + 1, name))
		if (at[-1] == '\n' && at[length] == '\n')
			return true;
	return false;
}

static bool model_topics_encode_joints(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	uint32_t model = model_topics_of(capture, row);
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	struct arena arena = {0};
	Gz__Msgs__Model message = GZ__MSGS__MODEL__INIT;
	if (model == TROUPE_NONE)
		return false;
	const struct troupe_scene_model *m = &snapshot->scene->models[model];
	message.header = encode_header(&arena, capture->time_ns);
	message.name = encode_text(m->name);
	message.id = (uint32_t)m->id;
	message.pose = encode_pose(&arena, encode_model_pose(snapshot, model), NULL, 0);
	message.joint = arena_array(&arena, Gz__Msgs__Joint *, m->joint_count);
	for (uint32_t j = m->joint_first; j < m->joint_first + m->joint_count; j++) {
		const struct troupe_scene_joint *from = &snapshot->scene->joints[j];
		if (row->only && !model_topics_is_listed(row->only, from->name))
			continue;
		Gz__Msgs__Joint *joint = encode_joint(&arena, snapshot->scene, j);
		if (from->axis_count > 0)
			model_topics_add_axis(&arena, &snapshot->joints[j], 0, &joint->axis1);
		if (from->axis_count > 1)
			model_topics_add_axis(&arena, &snapshot->joints[j], 1, &joint->axis2);
		message.joint[message.n_joint++] = joint;
	}
	return encode_end(&message.base, &arena, out);
}

/* --- messages that systems make ----------------------------------------------------------------------------------- */

/* row->part: the system's index, then its output. */
static uint32_t model_topics_place_in(uint32_t system, uint32_t output)
{
	return system << 16 | output;
}

/* The row's model in the scene; SCENE_NONE: the world. */
static uint32_t model_topics_at(const struct topic_row *row)
{
	return (uint32_t)row->object - 1;
}

static bool model_topics_is_before(const struct capture_report *report, const struct topic_row *row)
{
	return report->object != row->object ? report->object < row->object : report->part < row->part;
}

/* The place of the row's report, or where it belongs: they are ordered by key, then by `of`. */
static uint32_t model_topics_report_place(const struct capture *capture, const struct topic_row *row)
{
	uint32_t low = 0, high = capture->reports.count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (model_topics_is_before(&capture->reports.at[middle], row))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool model_topics_is_of_row(const struct capture *capture, uint32_t place, const struct topic_row *row)
{
	return place < capture->reports.count && capture->reports.at[place].object == row->object &&
	       capture->reports.at[place].part == row->part;
}

static void model_topics_insert_report(struct capture *capture, uint32_t place, struct capture_report report)
{
	vec_push(&capture->reports, report);
	struct capture_report *at = capture->reports.at + place;
	memmove(at + 1, at, (capture->reports.count - 1 - place) * sizeof *at);
	*at = report;
}

static bool model_topics_encode_report(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	uint32_t place = model_topics_report_place(capture, row);
	if (!model_topics_is_of_row(capture, place, row))
		return false;
	const struct capture_report *report = &capture->reports.at[place];
	text_add_bytes(out, capture->report_bytes.at + report->first, report->count);
	return true;
}

/* Systems publish in the order of their models, those of the world, SCENE_NONE, first. */
static const struct published *model_topics_find_published(
	const struct server_world *world, const struct topic_row *row)
{
	uint32_t low = 0, high, model = model_topics_at(row);
	const struct published *all = primary_published(world->primary, &high);
	while (low < high) { /* behind the last message of the model */
		uint32_t middle = low + (high - low) / 2;
		if (all[middle].model + 1 <= model + 1)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && all[low - 1].model == model; low--) /* the newest */
		if (model_topics_place_in(all[low - 1].system, all[low - 1].output) == row->part)
			return &all[low - 1];
	return NULL;
}

static const struct publish_ops model_topics_report_ops = {
	.when = PUBLISH_IN_TIME, .parts = CAPTURE_REPORTS, .encode = model_topics_encode_report};
static const struct publish_ops model_topics_decided_ops = {
	.when = PUBLISH_DECIDED, .parts = CAPTURE_REPORTS, .encode = model_topics_encode_report};

bool model_topics_has_published(const struct server_world *world, const struct topic_row *row)
{
	return row->ops == &model_topics_decided_ops && model_topics_find_published(world, row);
}

/* The system of a row; NULL: its model is gone. */
static const struct system *model_topics_system_at(const struct server_world *world, const struct topic_row *row)
{
	uint32_t model = model_topics_at(row), index = row->part >> 16;
	const struct scene *scene = world->scene;
	if (model != SCENE_NONE && (model >= scene->model_count || scene->models[model].absent ||
					   scene_info_born(scene, model) != (uint32_t)(row->object >> 32)))
		return NULL;
	const struct system_set *set = systems_of(world->systems, model);
	return index < set->count && (row->part & 0xffff) < set->at[index].outputs.count ? &set->at[index] : NULL;
}

void model_topics_report(struct server_world *world, const struct topic_row *row, struct capture *capture)
{
	struct text *out = &capture->report_bytes;
	struct capture_report report = {row->object, row->part, out->count, 0};
	const struct system *system = model_topics_system_at(world, row);
	bool reports = row->ops == &model_topics_report_ops, given = false;
	uint32_t place = model_topics_report_place(capture, row);
	if (!system || (!reports && row->ops != &model_topics_decided_ops) ||
		model_topics_is_of_row(capture, place, row))
		return;
	const struct published *published = reports ? NULL : model_topics_find_published(world, row);
	struct system_step step = primary_view(world->primary);
	if (reports) {
		given = systems_report(system, row->part & 0xffff, &step, out);
	} else if (published) {
		text_add_bytes(out, primary_published_bytes(world->primary, published), published->count);
		given = true;
	}
	report.count = out->count - report.first;
	if (given)
		model_topics_insert_report(capture, place, report);
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *type;
	struct publish_ops ops;
} model_topics_kinds[] = {
	[TROUPE_GIVES_ODOMETRY] = {"gz.msgs.Odometry",
		{.when = PUBLISH_IN_TIME, .parts = CAPTURE_ODOMETRY, .encode = model_topics_encode_odometry}},
	[TROUPE_GIVES_TF] = {"gz.msgs.Pose_V",
		{.when = PUBLISH_IN_TIME, .parts = CAPTURE_ODOMETRY, .encode = model_topics_encode_tf}},
	[TROUPE_GIVES_JOINTS] = {"gz.msgs.Model", {.when = PUBLISH_IN_TIME,
							  .parts = CAPTURE_MODELS | CAPTURE_JOINTS,
							  .encode = model_topics_encode_joints}},
	[TROUPE_GIVES_POSES] = {"gz.msgs.Pose_V", {.when = PUBLISH_IN_TIME,
							  .parts = CAPTURE_MODELS | CAPTURE_LINKS,
							  .encode = model_topics_encode_poses}},
	[TROUPE_GIVES_POSE] = {"gz.msgs.Pose", {.when = PUBLISH_IN_TIME,
						       .parts = CAPTURE_MODELS | CAPTURE_LINKS,
						       .encode = model_topics_encode_one_pose}},
};

static void model_topics_add_row(
	struct model_topics *topics, struct model_topics_place *place, const struct topic_row *row)
{
	uint32_t id = clients_add_row(topics->table, row);
	if (id != TOPIC_NONE)
		vec_push(&place->rows, id);
}

/* How many parts a model has beside itself and its links, at most: shapes, some of which no view shows, and sensors. */
static uint32_t model_topics_count_others(const struct model_topics *topics, uint32_t model)
{
	const struct scene_model *m = &topics->world->scene->models[model];
	uint32_t count = topics->world->shared.sensors->sets[model].count;
	if (m->sdf == SDF_NONE)
		return count;
	const struct sdf_link *links = m->from->links.at + m->from->models.at[m->sdf].link_first;
	for (uint32_t l = 0; l < m->link_count; l++)
		count += links[l].collision_count + links[l].visual_count;
	return count;
}

/* One row for each part when poses are published one by one. */
static void model_topics_add_output(struct model_topics *topics, struct model_topics_place *place,
	const struct system_output *output, const struct topic_row *base, uint32_t model)
{
	struct topic_row row = *base;
	row.kind = TOPIC_PUBLISHED;
	row.name = output->def.name;
	row.rate_hz = output->def.rate_hz;
	row.frame = output->def.frame;
	row.child_frame = output->def.child_frame;
	row.only = output->def.only;
	if (output->type) {
		row.type = output->type->name;
		row.ops =
			output->def.gives == TROUPE_GIVES_REPORT ? &model_topics_report_ops : &model_topics_decided_ops;
		model_topics_add_row(topics, place, &row);
		return;
	}
	row.type = model_topics_kinds[output->def.gives].type;
	row.ops = &model_topics_kinds[output->def.gives].ops;
	row.part = output->def.of;
	if (output->def.gives != TROUPE_GIVES_POSE || model == SCENE_NONE) {
		model_topics_add_row(topics, place, &row);
		return;
	}
	uint32_t of = output->def.of & ((1 << OF_BITS) - 1), links = topics->world->scene->models[model].link_count;
	uint32_t others = of & OF_OTHERS ? model_topics_count_others(topics, model) : 0;
	for (uint32_t part = 0; part <= links + others && part < MODEL_TOPICS_PARTS_MAX; part++) {
		row.part = part << OF_BITS | of;
		if (part > links || of & (part ? (uint32_t)TROUPE_OF_LINKS : (uint32_t)TROUPE_OF_MODEL))
			model_topics_add_row(topics, place, &row);
	}
}

struct sensor_rows {
	struct model_topics *topics;
	struct model_topics_place *place;
	struct topic_row base;
};

static void model_topics_add_sensor_row(void *ctx, const struct topic_row *row)
{
	struct sensor_rows *rows = ctx;
	struct topic_row own = *row;
	own.world = rows->base.world;
	own.object = rows->base.object;
	own.owner = rows->base.owner;
	own.model = rows->base.model;
	own.client = rows->base.client;
	model_topics_add_row(rows->topics, rows->place, &own);
}

static void model_topics_add_sensors(struct model_topics *topics, uint32_t model, const struct topic_row *base)
{
	const struct sensors *sensors = topics->world->shared.sensors;
	struct sensor *sensor;
	for (uint32_t i = 0; (sensor = sensors_find(sensors, model, i)); i++) {
		char *owner = mem_printf("sensor '%s'", sensor->name);
		struct sensor_rows rows = {topics, &topics->places[model], *base};
		rows.base.owner = owner;
		sensor_topics_each(sensor, model_topics_add_sensor_row, &rows);
		free(owner);
	}
}

/* A topic has one type, also for systems that take each. */
static const char *model_topics_type_taken(const struct systems *systems, const struct system_topic *topic)
{
	const struct system_listeners *entry = topic->any ? systems_find_listeners(systems, topic->name) : NULL;
	return entry ? entry->type->name : topic->type->name;
}

/* The rows of a set of systems. base: with world and key. of: for people. */
static void model_topics_add_systems(struct model_topics *topics, const struct system_set *set,
	struct model_topics_place *place, const struct topic_row *base, const char *of, uint32_t model)
{
	struct topic_row row = *base;
	for (uint32_t i = 0; i < set->count; i++) {
		const struct system *system = &set->at[i];
		char *owner = mem_printf("%s of %s", system->self.kind->names[0], of);
		row.owner = owner;
		for (uint32_t t = 0; t < system->topics.count; t++) {
			struct topic_row taken = row;
			taken.kind = TOPIC_TAKEN;
			taken.client = system->self.kind->flags & TROUPE_FOR_CLIENTS ? NULL : row.client;
			taken.name = system->topics.at[t].name;
			taken.type = model_topics_type_taken(system->all, &system->topics.at[t]);
			model_topics_add_row(topics, place, &taken);
			if (!system->topics.at[t].reply)
				continue;
			taken.kind = TOPIC_SERVICE;
			taken.reply = system->topics.at[t].reply->name;
			model_topics_add_row(topics, place, &taken);
		}
		for (uint32_t o = 0; o < system->outputs.count; o++) {
			row.part = model_topics_place_in(i, o);
			model_topics_add_output(topics, place, &system->outputs.at[o], &row, model);
		}
		free(owner);
	}
}

static void model_topics_add(struct model_topics *topics, uint32_t model)
{
	const struct scene *scene = topics->world->scene;
	struct model_topics_place *place = &topics->places[model];
	struct topic_row row = {.model = scene->models[model].name,
		.world = topics->world->index,
		.object = model_topics_object_of(scene, model)};
	char *of = mem_printf("model '%s'", scene->models[model].name);
	const char *owner = owners_name(primary_owners(topics->world->primary), scene->models[model].owner);
	row.client = owner ? owner : "";
	place->serial = scene->models[model].serial;
	model_topics_add_systems(topics, &topics->world->systems->sets[model], place, &row, of, model);
	free(of);
	model_topics_add_sensors(topics, model, &row);
}

static void model_topics_remove(struct model_topics *topics, struct model_topics_place *place)
{
	for (uint32_t i = 0; i < place->rows.count; i++)
		topic_remove(topics->table, place->rows.at[i]);
	place->rows.count = 0;
	place->serial = 0;
}

void model_topics_update(struct model_topics *topics)
{
	const struct scene *scene = topics->world->scene;
	uint64_t epoch = primary_scene_epoch(topics->world->primary);
	if (topics->epoch == epoch)
		return;
	topics->epoch = epoch;
	sensors_update(topics->world->shared.sensors);
	if (topics->room < scene->room.models) {
		MEM_FIT(topics->places, topics->room, scene->room.models);
		topics->room = scene->room.models;
	}
	for (uint32_t m = 0; m < topics->room; m++) {
		bool there = m < scene->model_count && !scene->models[m].absent;
		uint64_t serial = there ? scene->models[m].serial : 0;
		if (topics->places[m].serial == serial)
			continue;
		model_topics_remove(topics, &topics->places[m]);
		if (serial)
			model_topics_add(topics, m);
	}
}

struct model_topics *model_topics_create(struct server_world *world, struct topic_table *table)
{
	struct model_topics *topics = mem_alloc(sizeof *topics);
	struct topic_row row = {.world = world->index, .client = ""};
	topics->world = world;
	topics->table = table;
	model_topics_add_systems(topics, &world->systems->world, &topics->of_world, &row, "the world", SCENE_NONE);
	model_topics_update(topics);
	return topics;
}

void model_topics_destroy(struct model_topics *topics)
{
	if (!topics)
		return;
	for (uint32_t m = 0; m < topics->room; m++)
		vec_free(&topics->places[m].rows);
	vec_free(&topics->of_world.rows);
	free(topics->places);
	free(topics);
}
