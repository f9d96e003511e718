/* Triangles of visuals are not in memory: a world is loaded without the meshes that nothing but a viewer needs. So a
 * mesh is read when a viewer asks for it, on the viewer's thread, from the files with which the world was loaded or
 * from the disk. A request names the geometry, and only a geometry of the scene is answered: a viewer cannot have other
 * files read. */
#include "server/viewer.h"

#include "mesh/importer.h"
#include "server/encode.h"
#include "server/encode_fast.h"
#include "server/sensor_topics.h"
#include "server/viewer_look.h"
#include "server/scene_info.h"
#include "topic/message.h"
#include "topic/scene.pb-c.h"
#include "topic/troupe.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME_SIZE 1e-9

static bool viewer_encode_view(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	(void)row;
	const struct encode_moment moment = {
		capture->time_ns, capture->snapshot.step, capture->rtf, (double)capture->real_ns * 1e-9};
	encode_fast_view(out, &moment, capture->snapshot.scene, &capture->picture);
	return true;
}

const struct publish_ops publish_view = {
	.when = PUBLISH_FIGURES, .parts = CAPTURE_PICTURE, .encode = viewer_encode_view};

/* --- work --------------------------------------------------------------------------------------------------------- */

static bool viewer_encode_secondaries(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	Troupe__Msgs__Secondaries message = TROUPE__MSGS__SECONDARIES__INIT;
	bool threads = capture->server->worlds[row->world].threads;
	message.header = encode_header(&arena, capture->time_ns);
	message.step = capture->snapshot.step;
	message.real_time_s = (double)capture->real_ns * 1e-9;
	message.pace = capture->pace;
	message.secondary = arena_array(&arena, Troupe__Msgs__Secondaries__Secondary *, capture->work.count);
	for (uint32_t i = 0; i < capture->work.count; i++) {
		const struct capture_work *work = &capture->work.at[i];
		Troupe__Msgs__Secondaries__Secondary *out_one = ENCODE_NEW(
			&arena, Troupe__Msgs__Secondaries__Secondary, troupe__msgs__secondaries__secondary__init);
		out_one->number = threads ? i + 1 : 0;
		out_one->busy_s = (double)work->busy_ns * 1e-9;
		out_one->waiting_s = (double)work->waited_ns * 1e-9;
		out_one->steps = work->steps;
		out_one->models = work->models;
		message.secondary[message.n_secondary++] = out_one;
	}
	return encode_end(&message.base, &arena, out);
}

const struct publish_ops publish_secondaries = {
	.when = PUBLISH_FIGURES, .parts = CAPTURE_WORK, .encode = viewer_encode_secondaries};

/* --- what touches ------------------------------------------------------------------------------------------------- */

static void viewer_encode_contacts(
	const struct troupe_snapshot *snapshot, struct arena *arena, Troupe__Msgs__Touching *out)
{
	uint32_t count = MIN(snapshot->contact_count, (uint32_t)VIEWER_CONTACTS_MAX);
	out->contact_count = snapshot->contact_count;
	out->contact = arena_array(arena, float, VIEWER_CONTACT_NUMBERS *(size_t)count);
	for (uint32_t i = 0; i < count; i++) {
		const struct troupe_contact *from = &snapshot->contacts[i];
		const double numbers[VIEWER_CONTACT_NUMBERS] = {from->position.x, from->position.y, from->position.z,
			from->normal.x, from->normal.y, from->normal.z, from->depth};
		for (uint32_t n = 0; n < VIEWER_CONTACT_NUMBERS; n++)
			out->contact[out->n_contact++] = (float)numbers[n];
	}
}

static bool viewer_encode_touching(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	Troupe__Msgs__Touching message = TROUPE__MSGS__TOUCHING__INIT;
	(void)row;
	message.header = encode_header(&arena, capture->time_ns);
	message.step = capture->snapshot.step;
	viewer_encode_contacts(&capture->snapshot, &arena, &message);
	message.model = arena_array(&arena, uint32_t, capture->members.count);
	message.component = arena_array(&arena, uint32_t, capture->members.count);
	for (uint32_t i = 0; i < capture->members.count; i++) {
		const struct capture_member *member = &capture->members.at[i];
		message.model[message.n_model++] = (uint32_t)capture->snapshot.scene->models[member->model].id;
		message.component[message.n_component++] = member->component;
	}
	return encode_end(&message.base, &arena, out);
}

const struct publish_ops publish_touching = {.when = PUBLISH_FIGURES,
	.parts = CAPTURE_SCENE | CAPTURE_CONTACTS | CAPTURE_MEMBERS,
	.encode = viewer_encode_touching};

/* --- one model ---------------------------------------------------------------------------------------------------- */

static Troupe__Msgs__ModelState__Joint *viewer_encode_joint_state(
	struct arena *arena, const struct troupe_snapshot *snapshot, uint32_t joint)
{
	const struct troupe_scene_joint *from = &snapshot->scene->joints[joint];
	const struct troupe_joint_state *state = &snapshot->joints[joint];
	Troupe__Msgs__ModelState__Joint *out =
		ENCODE_NEW(arena, Troupe__Msgs__ModelState__Joint, troupe__msgs__model_state__joint__init);
	out->name = encode_text(from->name);
	out->position = arena_array(arena, double, from->axis_count);
	out->velocity = arena_array(arena, double, from->axis_count);
	for (uint32_t a = 0; a < from->axis_count; a++) {
		out->position[out->n_position++] = state->position[a];
		out->velocity[out->n_velocity++] = state->velocity[a];
	}
	return out;
}

void viewer_encode_model(
	const struct capture *capture, uint32_t model, Troupe__Msgs__ModelState *out, struct arena *arena)
{
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	const struct troupe_scene_model *from = &snapshot->scene->models[model];
	out->header = encode_header(arena, capture->time_ns);
	out->step = snapshot->step;
	out->name = encode_text(from->name);
	out->id = (uint32_t)from->id;
	out->is_static = from->is_static;
	out->performer = from->performer;
	out->actor = from->actor;
	out->created = scene_info_is_created(snapshot->scene, model);
	out->pose = encode_pose(arena, encode_model_pose(snapshot, model), NULL, 0);
	out->loaded = true;
	if (model >= snapshot->model_count)
		return;
	const struct troupe_model_state *state = &snapshot->models[model];
	out->secondary = state->secondary;
	out->loaded = state->loaded;
	out->asleep = state->asleep;
	out->linear = encode_vec3(arena, state->twist.linear);
	out->angular = encode_vec3(arena, state->twist.angular);
}

static void viewer_add_joints(
	const struct capture *capture, uint32_t model, Troupe__Msgs__ModelState *out, struct arena *arena)
{
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	const struct troupe_scene_model *from = &snapshot->scene->models[model];
	if (model >= snapshot->model_count)
		return;
	out->joint = arena_array(arena, Troupe__Msgs__ModelState__Joint *, from->joint_count);
	for (uint32_t j = from->joint_first; j < from->joint_first + from->joint_count; j++)
		out->joint[out->n_joint++] = viewer_encode_joint_state(arena, snapshot, j);
}

/* The model of the scene with the id in a gz.msgs.UInt32. */
static troupe_status viewer_find_model(const struct troupe_scene *scene, const void *request, size_t count,
	uint32_t *ret_model, struct troupe_error *error)
{
	ProtobufCMessage *asked;
	troupe_status status =
		message_of_bytes(&gz__msgs__uint32__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	uint32_t id = ((const Gz__Msgs__UInt32 *)(const void *)asked)->data, model = 0;
	message_free(asked);
	while (model < scene->model_count && (uint32_t)scene->models[model].id != id)
		model++;
	if (model == scene->model_count)
		return fail(error, TROUPE_ECOMMAND, "no model has the id %u", id);
	*ret_model = model;
	return TROUPE_OK;
}

static troupe_status viewer_answer_model(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	uint32_t model;
	(void)row;
	troupe_status status = viewer_find_model(capture->snapshot.scene, request, count, &model, error);
	if (status)
		return status;
	struct arena arena = {0};
	Troupe__Msgs__ModelState state = TROUPE__MSGS__MODEL_STATE__INIT;
	viewer_encode_model(capture, model, &state, &arena);
	viewer_add_joints(capture, model, &state, &arena);
	(void)encode_end(&state.base, &arena, out);
	return TROUPE_OK;
}

const struct query_ops ask_model = {.parts = CAPTURE_MODELS | CAPTURE_JOINTS, .answer = viewer_answer_model};

/* --- its sensors -------------------------------------------------------------------------------------------------- */

struct sensor_row { /* a topic of a sensor of the model */
	uint32_t sensor, part;
	double rate_hz;
	Troupe__Msgs__ModelSensors__Topic *topic;
};

struct viewer_finding {
	struct arena *arena;
	uint32_t world;
	uint64_t object;
	VEC(struct sensor_row) rows;
};

static void viewer_find_row(void *ctx, uint32_t id, const struct topic_row *row)
{
	struct viewer_finding *finding = ctx;
	(void)id;
	if (row->kind != TOPIC_PUBLISHED || row->world != finding->world || row->object != finding->object ||
		((const struct publish_ops *)row->ops)->when != PUBLISH_READING)
		return;
	Troupe__Msgs__ModelSensors__Topic *topic =
		ENCODE_NEW(finding->arena, Troupe__Msgs__ModelSensors__Topic, troupe__msgs__model_sensors__topic__init);
	topic->name = arena_strdup(finding->arena, row->name);
	topic->type = arena_strdup(finding->arena, row->type);
	vec_push(&finding->rows, (struct sensor_row){sensor_topics_index(row), row->part, row->rate_hz, topic});
}

/* By sensor, and then in the order in which the sensor has its topics. */
static int viewer_compare_rows(const void *a, const void *b)
{
	const struct sensor_row *x = a, *y = b;
	if (x->sensor != y->sensor)
		return x->sensor < y->sensor ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

static Troupe__Msgs__ModelSensors__Sensor *viewer_encode_found_sensor(
	const struct troupe_scene *scene, const struct troupe_scene_sensor *from, const struct viewer_finding *finding)
{
	struct arena *arena = finding->arena;
	Troupe__Msgs__ModelSensors__Sensor *out =
		ENCODE_NEW(arena, Troupe__Msgs__ModelSensors__Sensor, troupe__msgs__model_sensors__sensor__init);
	out->name = encode_text(from->name);
	out->type = encode_text(from->type);
	out->rate_hz = from->rate_hz;
	out->link = from->link == TROUPE_NONE ? 0 : encode_link_id(&scene->links[from->link]);
	out->pose = encode_pose(arena, &from->in_link, NULL, 0);
	out->topic = arena_array(arena, Troupe__Msgs__ModelSensors__Topic *, finding->rows.count);
	for (uint32_t i = 0; i < finding->rows.count; i++) {
		const struct sensor_row *row = &finding->rows.at[i];
		if (row->sensor != from->handle.index)
			continue;
		out->topic[out->n_topic++] = row->topic;
		out->on_trigger |= from->rate_hz > 0 && row->rate_hz <= 0;
	}
	return out;
}

/* The scene has the sensors, the table has their topics: a model that has just gone from one of them has no topics.
 * only: index of the sensor in its model; TROUPE_NONE: all. */
static void viewer_encode_sensors(
	const struct capture *capture, uint32_t model, uint32_t only, uint32_t world, struct text *out)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	const struct troupe_scene_model *from = &scene->models[model];
	struct arena arena = {0};
	Troupe__Msgs__ModelSensors message = TROUPE__MSGS__MODEL_SENSORS__INIT;
	struct viewer_finding finding = {
		.arena = &arena, .world = world, .object = (uint64_t)from->handle.born << 32 | from->handle.at};
	topic_read(clients_table(capture->server->clients), viewer_find_row, &finding);
	if (finding.rows.count)
		qsort(finding.rows.at, finding.rows.count, sizeof *finding.rows.at, viewer_compare_rows);
	message.header = encode_header(&arena, capture->time_ns);
	message.step = capture->snapshot.step;
	message.name = encode_text(from->name);
	message.id = (uint32_t)from->id;
	message.sensor = arena_array(&arena, Troupe__Msgs__ModelSensors__Sensor *, scene->sensor_count);
	for (uint32_t i = 0; i < scene->sensor_count; i++)
		if (scene->sensors[i].model == model && (only == TROUPE_NONE || only == scene->sensors[i].handle.index))
			message.sensor[message.n_sensor++] =
				viewer_encode_found_sensor(scene, &scene->sensors[i], &finding);
	(void)encode_end(&message.base, &arena, out);
	vec_free(&finding.rows);
}

static troupe_status viewer_answer_model_sensors(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	uint32_t model;
	troupe_status status = viewer_find_model(capture->snapshot.scene, request, count, &model, error);
	if (!status)
		viewer_encode_sensors(capture, model, TROUPE_NONE, row->world, out);
	return status;
}

/* The model of the sensor that publishes the topic; TROUPE_NONE: there is none in this world, or it has gone. */
static uint32_t viewer_find_publisher(
	const struct capture *capture, const char *topic, uint32_t world, uint32_t *ret_index)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	struct topic_row row;
	uint32_t model = TROUPE_NONE;
	if (!topic_copy(clients_table(capture->server->clients), TOPIC_PUBLISHED, topic, NULL, &row))
		return TROUPE_NONE;
	if (row.world == world && ((const struct publish_ops *)row.ops)->when == PUBLISH_READING)
		model = scene_info_model_of(scene, (uint32_t)row.object - 1);
	if (model != TROUPE_NONE && scene->models[model].handle.born != (uint32_t)(row.object >> 32))
		model = TROUPE_NONE;
	*ret_index = sensor_topics_index(&row);
	topic_row_fini(&row);
	return model;
}

static troupe_status viewer_answer_sensor(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *asked;
	uint32_t index = 0;
	troupe_status status = message_of_bytes(
		&gz__msgs__string_msg__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	const char *topic = ((const Gz__Msgs__StringMsg *)(const void *)asked)->data;
	uint32_t model = viewer_find_publisher(capture, topic, row->world, &index);
	if (model == TROUPE_NONE)
		status = fail(error, TROUPE_ECOMMAND, "topic '%.200s': no sensor of this world publishes it", topic);
	else
		viewer_encode_sensors(capture, model, index, row->world, out);
	message_free(asked);
	return status;
}

const struct query_ops ask_model_sensors = {.parts = CAPTURE_SCENE, .answer = viewer_answer_model_sensors};
const struct query_ops ask_sensor = {.parts = CAPTURE_SCENE, .answer = viewer_answer_sensor};

/* --- meshes ------------------------------------------------------------------------------------------------------- */

static bool viewer_same_vec3(struct troupe_vec3 a, const Gz__Msgs__Vector3d *message)
{
	struct vec3 b = message_vec3(message);
	return fabs(a.x - b.x) <= SAME_SIZE && fabs(a.y - b.y) <= SAME_SIZE && fabs(a.z - b.z) <= SAME_SIZE;
}

static bool viewer_same_outline(const struct mesh_outline *a, double height, const Gz__Msgs__Polyline *b)
{
	bool same = a->count == b->n_point && fabs(height - b->height) <= SAME_SIZE;
	for (uint32_t i = 0; i < a->count && same; i++)
		same = fabs(a->points[i].x - b->point[i]->x) <= SAME_SIZE &&
		       fabs(a->points[i].y - b->point[i]->y) <= SAME_SIZE;
	return same;
}

static bool viewer_same_polyline(struct scene_info_polyline a, const Gz__Msgs__Geometry *b)
{
	bool same = a.count && a.count == b->n_polyline;
	for (uint32_t i = 0; i < a.count && same; i++)
		same = viewer_same_outline(&a.outlines[i], a.height, b->polyline[i]);
	return same;
}

static bool viewer_is_shape(const struct troupe_scene *scene, uint32_t index, const Gz__Msgs__Geometry *asked)
{
	const struct troupe_form *shape = scene->shapes[index].form;
	const char *name = shape->path ? shape->path : shape->uri ? shape->uri : "";
	if (shape->kind == TROUPE_SHAPE_MESH && asked->type == GZ__MSGS__GEOMETRY__TYPE__MESH && asked->mesh)
		return !strcmp(name, asked->mesh->filename) &&
		       !strcmp(shape->submesh ? shape->submesh : "", asked->mesh->submesh) &&
		       shape->submesh_centred == asked->mesh->center_submesh &&
		       viewer_same_vec3(shape->size, asked->mesh->scale);
	if (shape->kind == TROUPE_SHAPE_HEIGHTMAP && asked->type == GZ__MSGS__GEOMETRY__TYPE__HEIGHTMAP &&
		asked->heightmap)
		return !strcmp(name, asked->heightmap->filename) &&
		       viewer_same_vec3(shape->size, asked->heightmap->size) &&
		       viewer_same_vec3(shape->shift, asked->heightmap->origin);
	return shape->kind == TROUPE_SHAPE_POLYLINE && asked->type == GZ__MSGS__GEOMETRY__TYPE__POLYLINE &&
	       viewer_same_polyline(scene_info_polyline(scene, index), asked);
}

/* A shape whose triangles are known is preferred: no file has to be read. NULL: the scene has no such shape. */
static const struct troupe_form *viewer_find_shape(const struct troupe_scene *scene, const Gz__Msgs__Geometry *asked)
{
	const struct troupe_form *found = NULL;
	for (uint32_t i = 0; i < scene->shape_count; i++)
		if ((!found || (!found->points && scene->shapes[i].form->points)) && viewer_is_shape(scene, i, asked))
			found = scene->shapes[i].form;
	return found;
}

static troupe_status viewer_check_triangles(uint32_t count, struct troupe_error *error)
{
	if (count <= VIEWER_TRIANGLES_MAX)
		return TROUPE_OK;
	return fail(error, TROUPE_ELIMIT, "the mesh has %u triangles: expected at most %d to be shown", count,
		VIEWER_TRIANGLES_MAX);
}

static troupe_status viewer_add_mesh(struct importer *importer, struct files *files, const struct troupe_form *shape,
	bool look, struct text *out, struct troupe_error *error)
{
	struct importer_losses losses = {0};
	struct mesh whole = {0}, cut = {0};
	troupe_status status = importer_mesh(importer, &losses, files, shape->path, &whole, error);
	if (!status && !mesh_cut(&whole, shape->submesh, shape->submesh_centred, shape->size, &cut))
		status = fail(error, TROUPE_EWORLD, "'%.200s' has no sub-mesh '%.80s'", shape->path, shape->submesh);
	if (!status)
		status = viewer_check_triangles(cut.corners.count / 3, error);
	if (!status) {
		_Static_assert(sizeof(struct vec3) == 3 * sizeof(double), "an array of points is one of numbers");
		encode_fast_mesh(out, (const double *)(const void *)cut.points.at, cut.points.count, cut.corners.at,
			cut.corners.count / 3);
		if (look)
			viewer_look_add(&whole, &cut, shape->path, files, out);
	}
	mesh_fini(&whole);
	mesh_fini(&cut);
	return status;
}

/* Rows and columns of a large grid are left out evenly; the outermost stay. */
static uint32_t viewer_thinned(uint32_t index, uint32_t count, uint32_t of)
{
	return (uint32_t)((uint64_t)index * (of - 1) / (count - 1));
}

static void viewer_add_grid(const struct trimesh_grid *grid, struct text *out)
{
	uint32_t columns = MIN(grid->columns, (uint32_t)VIEWER_GRID_MAX);
	uint32_t rows = MIN(grid->rows, (uint32_t)VIEWER_GRID_MAX);
	struct mesh mesh = {0};
	for (uint32_t r = 0; r < rows; r++)
		for (uint32_t c = 0; c < columns; c++) {
			uint32_t row = viewer_thinned(r, rows, grid->rows),
				 column = viewer_thinned(c, columns, grid->columns);
			(void)mesh_add_point(&mesh,
				vec3_add(grid->origin, (struct vec3){column * grid->dx, -(row * grid->dy),
							       (double)grid->z[(size_t)row * grid->columns + column]}));
		}
	for (uint32_t r = 0; r + 1 < rows; r++)
		for (uint32_t c = 0; c + 1 < columns; c++) {
			uint32_t at = r * columns + c, below = at + columns;
			mesh_add_triangle(&mesh, at, below, at + 1);
			mesh_add_triangle(&mesh, at + 1, below, below + 1);
		}
	encode_fast_mesh(out, (const double *)(const void *)mesh.points.at, mesh.points.count, mesh.corners.at,
		mesh.corners.count / 3);
	mesh_fini(&mesh);
}

static troupe_status viewer_add_heightmap(struct importer *importer, struct files *files,
	const struct troupe_form *shape, struct text *out, struct troupe_error *error)
{
	struct importer_losses losses = {0};
	struct image image = {0};
	troupe_status status = importer_image(importer, &losses, files, shape->path, &image, error);
	if (!status && (image.columns < 2 || image.rows < 2))
		status = fail(error, TROUPE_EWORLD, "an image of %u by %u points: expected at least 2 by 2",
			image.columns, image.rows);
	if (!status) {
		struct sdf_shape from = {.image = &image, .size = shape->size, .shift = shape->shift};
		struct trimesh_grid grid = scene_heightmap(&from);
		viewer_add_grid(&grid, out);
		free(grid.z);
	}
	free(image.values);
	return status;
}

/* look: with materials and images. Errors name no file: a shape of which the file was not found has none. */
static troupe_status viewer_read_triangles(struct troupe_server *server, const struct troupe_form *shape, bool look,
	struct text *out, struct troupe_error *error)
{
	struct files files = {.before = &server->files, .places = &server->shown_places};
	struct troupe_error why;
	if (!shape->path)
		return fail(error, TROUPE_EWORLD, "'%.200s': the file was not found", shape->uri ? shape->uri : "");
	troupe_status status = shape->kind == TROUPE_SHAPE_MESH
				       ? viewer_add_mesh(server->importer, &files, shape, look, out, &why)
				       : viewer_add_heightmap(server->importer, &files, shape, out, &why);
	files_fini(&files);
	return status ? fail(error, status, "'%.200s': %s", shape->path, why.text) : TROUPE_OK;
}

/* Extruded here: a visual that no sensor sees has no triangles. */
static troupe_status viewer_add_polyline(
	const Gz__Msgs__Geometry *geometry, struct text *out, struct troupe_error *error)
{
	struct mesh_outline outlines[MESH_OUTLINES_MAX] = {0};
	struct mesh mesh = {0};
	uint32_t count = (uint32_t)MIN(geometry->n_polyline, (size_t)MESH_OUTLINES_MAX);
	for (uint32_t i = 0; i < count; i++) {
		const Gz__Msgs__Polyline *from = geometry->polyline[i];
		struct vec3 *points = mem_alloc((from->n_point + 1) * sizeof *points);
		for (size_t p = 0; p < from->n_point; p++)
			points[p] = (struct vec3){from->point[p]->x, from->point[p]->y, 0};
		outlines[i] = (struct mesh_outline){points, (uint32_t)from->n_point};
	}
	troupe_status status = mesh_extrude(outlines, count, geometry->polyline[0]->height, false, &mesh, error);
	if (!status)
		encode_fast_mesh(out, (const double *)(const void *)mesh.points.at, mesh.points.count, mesh.corners.at,
			mesh.corners.count / 3);
	for (uint32_t i = 0; i < count; i++)
		free((void *)(uintptr_t)outlines[i].points);
	mesh_fini(&mesh);
	return status;
}

static troupe_status viewer_triangles(
	struct troupe_server *server, const Gz__Msgs__Geometry *geometry, struct text *out, struct troupe_error *error)
{
	struct troupe_form shape = {0};
	if (geometry->type == GZ__MSGS__GEOMETRY__TYPE__MESH && geometry->mesh) {
		shape.kind = TROUPE_SHAPE_MESH;
		shape.path = geometry->mesh->filename;
		shape.size = message_vec3(geometry->mesh->scale);
		shape.submesh = *geometry->mesh->submesh ? geometry->mesh->submesh : NULL;
		shape.submesh_centred = geometry->mesh->center_submesh;
	} else if (geometry->type == GZ__MSGS__GEOMETRY__TYPE__HEIGHTMAP && geometry->heightmap) {
		shape.kind = TROUPE_SHAPE_HEIGHTMAP;
		shape.path = geometry->heightmap->filename;
		shape.size = message_vec3(geometry->heightmap->size);
		shape.shift = message_vec3(geometry->heightmap->origin);
	} else if (geometry->type == GZ__MSGS__GEOMETRY__TYPE__POLYLINE && geometry->n_polyline) {
		return viewer_add_polyline(geometry, out, error);
	} else {
		return fail(error, TROUPE_ECOMMAND, "neither a mesh, a heightmap nor a polyline");
	}
	return viewer_read_triangles(server, &shape, false, out, error);
}

troupe_status troupe_geometry_triangles(struct troupe_server *server, const void *geometry, size_t count,
	void (*take)(void *ctx, const void *mesh, size_t count), void *ctx, struct troupe_error *error)
{
	ProtobufCMessage *message;
	struct text mesh = {0};
	troupe_status status = message_of_bytes(
		&gz__msgs__geometry__descriptor, geometry, count, &message_limits_none, &message, error);
	if (status)
		return status;
	status = viewer_triangles(server, (const Gz__Msgs__Geometry *)message, &mesh, error);
	if (!status)
		take(ctx, mesh.at, mesh.count);
	text_fini(&mesh);
	message_free(message);
	return status;
}

static troupe_status viewer_add_known(const struct troupe_form *shape, struct text *out, struct troupe_error *error)
{
	troupe_status status = viewer_check_triangles(shape->triangle_count, error);
	if (!status)
		encode_fast_mesh(out, shape->points, shape->point_count, shape->triangles, shape->triangle_count);
	return status;
}

/* A mesh is read again although its triangles are known: its look is not. */
static troupe_status viewer_add_shape(
	struct troupe_server *server, const struct troupe_form *shape, struct text *out, struct troupe_error *error)
{
	if (shape->points && (shape->kind != TROUPE_SHAPE_MESH || !shape->path))
		return viewer_add_known(shape, out, error);
	size_t begin = out->count;
	troupe_status status = viewer_read_triangles(server, shape, true, out, error);
	if (!status || !shape->points)
		return status;
	out->count = begin;
	return viewer_add_known(shape, out, error);
}

static troupe_status viewer_answer_mesh(const struct capture *capture, const struct topic_row *row, const void *request,
	size_t count, struct text *out, struct troupe_error *error)
{
	ProtobufCMessage *asked;
	(void)row;
	troupe_status status =
		message_of_bytes(&gz__msgs__geometry__descriptor, request, count, &message_limits_usual, &asked, error);
	if (status)
		return status;
	const Gz__Msgs__Geometry *geometry = (const Gz__Msgs__Geometry *)(const void *)asked;
	const struct troupe_form *shape = viewer_find_shape(capture->snapshot.scene, geometry);
	if (!shape)
		status = fail(error, TROUPE_ECOMMAND, "no shape of the world has this mesh, heightmap or polyline");
	else if (!shape->points && shape->kind == TROUPE_SHAPE_POLYLINE)
		status = viewer_add_polyline(geometry, out, error);
	else
		status = viewer_add_shape(capture->server, shape, out, error);
	message_free(asked);
	return status;
}

const struct query_ops ask_mesh = {.parts = CAPTURE_SCENE, .answer = viewer_answer_mesh, .is_slow = true};
