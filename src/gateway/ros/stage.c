/* Poses are sent as frames and not as new shapes, because a frame is 100 bytes and a shape several times as much. An id
 * of Gazebo's scene and of its poses is the same, so a pose finds its frame by its id; names of links are not unique.
 */
#include "gateway/ros/stage.h"

#include "base/json_out.h"
#include "base/map.h"
#include "gateway/ros/parts.h"
#include "gateway/ros/sensor_frames.h"
#include "gateway/ros/stage_shells.h"
#include "topic/convert.h"
#include "topic/scene.pb-c.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stage_place { /* of a frame */
	uint32_t id;
	char *frame, *parent; /* parent NULL: the world */
};

struct order {
	uint32_t id, place; /* index in places */
};

struct fixture { /* a frame that does not move in its parent; NULL: the world */
	char *frame, *parent;
	struct pose pose;
	bool named; /* by the world */
};

struct stage {
	struct stage_shells *shells;
	uint32_t triangles;             /* in the scene so far */
	VEC(struct stage_place) places; /* as in the scene */
	VEC(struct order) order;        /* of the places, by id */
	VEC(struct fixture) fixtures;
	char *world; /* name of its frame */
};

const char stage_schema_name[] = "foxglove.SceneUpdate";

#define NUMBER "{\"type\":\"number\"}"
#define STAGE_OBJECT(properties) "{\"type\":\"object\",\"properties\":{" properties "}}"
#define ARRAY(items) "{\"type\":\"array\",\"items\":" items "}"
#define STAGE_TIME STAGE_OBJECT("\"sec\":{\"type\":\"integer\"},\"nsec\":{\"type\":\"integer\"}")
#define VECTOR STAGE_OBJECT("\"x\":" NUMBER ",\"y\":" NUMBER ",\"z\":" NUMBER)
#define STAGE_TURN STAGE_OBJECT("\"x\":" NUMBER ",\"y\":" NUMBER ",\"z\":" NUMBER ",\"w\":" NUMBER)
#define POSE STAGE_OBJECT("\"position\":" VECTOR ",\"orientation\":" STAGE_TURN)
#define COLOUR STAGE_OBJECT("\"r\":" NUMBER ",\"g\":" NUMBER ",\"b\":" NUMBER ",\"a\":" NUMBER)
#define SOLID "\"pose\":" POSE ",\"size\":" VECTOR ",\"color\":" COLOUR
#define TEXT "{\"type\":\"string\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define STAGE_WHOLE "{\"type\":\"integer\"}"
#define SCALES ",\"bottom_scale\":" NUMBER ",\"top_scale\":" NUMBER
#define STAGE_NONE ARRAY(STAGE_OBJECT(""))
#define ENTITY_HEAD                                                                                                    \
	"\"timestamp\":" STAGE_TIME ",\"frame_id\":" TEXT ",\"id\":" TEXT ",\"lifetime\":" STAGE_TIME                  \
	",\"frame_locked\":" FLAG
#define ENTITY_SOLIDS                                                                                                  \
	"\"cubes\":" ARRAY(STAGE_OBJECT(SOLID)) ",\"spheres\":" ARRAY(STAGE_OBJECT(SOLID)) ",\"cylinders\":" ARRAY(    \
		STAGE_OBJECT(SOLID SCALES))
#define TRIANGLE_LIST                                                                                                  \
	STAGE_OBJECT("\"pose\":" POSE ",\"points\":" ARRAY(VECTOR) ",\"color\":" COLOUR ",\"colors\":" ARRAY(          \
		COLOUR) ",\"indices\":" ARRAY(STAGE_WHOLE))
#define ENTITY_REST                                                                                                    \
	"\"metadata\":" STAGE_NONE ",\"arrows\":" STAGE_NONE ",\"lines\":" STAGE_NONE                                  \
	",\"triangles\":" ARRAY(TRIANGLE_LIST) ",\"texts\":" STAGE_NONE ",\"models\":" STAGE_NONE
#define ENTITY STAGE_OBJECT(ENTITY_HEAD "," ENTITY_SOLIDS "," ENTITY_REST)
#define DELETION STAGE_OBJECT("\"timestamp\":" STAGE_TIME ",\"type\":" STAGE_WHOLE ",\"id\":" TEXT)
const char stage_schema[] = "{\"title\":\"foxglove.SceneUpdate\",\"type\":\"object\",\"properties\":{"
			    "\"deletions\":" ARRAY(DELETION) ",\"entities\":" ARRAY(ENTITY) "}}";

/* --- frames ------------------------------------------------------------------------------------------------------- */

static void stage_drop_places(struct stage *stage)
{
	for (uint32_t i = 0; i < stage->places.count; i++) {
		free(stage->places.at[i].frame);
		free(stage->places.at[i].parent);
	}
	stage->places.count = stage->order.count = 0;
	for (uint32_t i = 0; i < stage->fixtures.count; i++) {
		free(stage->fixtures.at[i].frame);
		free(stage->fixtures.at[i].parent);
	}
	stage->fixtures.count = 0;
}

struct stage *stage_create(const char *world, stage_mesh_fn *fn, void *ctx)
{
	struct stage *stage = mem_alloc(sizeof *stage);
	*stage = (struct stage){.world = mem_strdup(world), .shells = stage_shells_create(fn, ctx)};
	return stage;
}

void stage_destroy(struct stage *stage)
{
	if (!stage)
		return;
	stage_drop_places(stage);
	stage_shells_destroy(stage->shells);
	vec_free(&stage->places);
	vec_free(&stage->order);
	vec_free(&stage->fixtures);
	free(stage->world);
	free(stage);
}

static int stage_by_id(const void *a, const void *b)
{
	const struct order *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

static const struct stage_place *stage_place_of(const struct stage *stage, uint32_t id)
{
	const struct order key = {.id = id};
	const struct order *found =
		stage->order.count ? bsearch(&key, stage->order.at, stage->order.count, sizeof key, stage_by_id) : NULL;
	return found ? &stage->places.at[found->place] : NULL;
}

static void stage_add_fixture(struct stage *stage, const char *frame, const char *parent, struct pose pose, bool named)
{
	struct text name = {0};
	part_add_frame(&name, frame);
	vec_push(&stage->fixtures, (struct fixture){name.at, parent ? mem_strdup(parent) : NULL, pose, named});
}

static void stage_add_named(struct stage *stage, const Gz__Msgs__Sensor *sensor, const char *parent, struct pose at)
{
	struct sensor_frame frames[2];
	uint32_t count = sensor_frames_named(sensor, at, frames);
	for (uint32_t i = 0; i < count; i++)
		stage_add_fixture(stage, frames[i].name, parent, frames[i].in_link, true);
}

/* The frames of a sensor: x forward, and for pictures as above. */
static void stage_add_sensor(
	struct stage *stage, const Gz__Msgs__Model *model, const Gz__Msgs__Link *link, const Gz__Msgs__Sensor *sensor)
{
	struct pose in_world, in_model, in_link;
	struct text frame = {0}, picture = {0};
	char *of_link = mem_printf("%s::%s", model->name, link->name);
	char *name = mem_printf("%s::%s", of_link, sensor->name);
	part_add_frame(&frame, name);
	part_add_picture_frame(&picture, name);
	if (!message_pose(sensor->pose, &in_link, NULL) && !message_pose(link->pose, &in_model, NULL) &&
		!message_pose(model->pose, &in_world, NULL)) {
		struct pose at = model->is_static ? pose_mul(pose_mul(in_world, in_model), in_link) : in_link;
		stage_add_fixture(stage, frame.at, model->is_static ? NULL : of_link, at, false);
		if (sensor_frames_has_pictures(sensor))
			stage_add_fixture(stage, picture.at, frame.at, sensor_frames_optical, false);
		stage_add_named(stage, sensor, model->is_static ? NULL : of_link, at);
	}
	text_fini(&frame);
	text_fini(&picture);
	free(of_link);
	free(name);
}

/* A frame has one parent: of frames that the world names, those stay that have no other. */
static void stage_drop_known(struct stage *stage)
{
	struct map known = {0};
	uint32_t kept = 0;
	(void)map_add(&known, stage->world, 0);
	for (uint32_t i = 0; i < stage->places.count; i++)
		(void)map_add(&known, stage->places.at[i].frame, 0);
	for (uint32_t i = 0; i < stage->fixtures.count; i++)
		if (!stage->fixtures.at[i].named)
			(void)map_add(&known, stage->fixtures.at[i].frame, 0);
	for (uint32_t i = 0; i < stage->fixtures.count; i++) {
		struct fixture fixture = stage->fixtures.at[i];
		if (fixture.named && !map_add(&known, fixture.frame, 0)) {
			free(fixture.frame);
			free(fixture.parent);
			continue;
		}
		stage->fixtures.at[kept++] = fixture;
	}
	stage->fixtures.count = kept;
	map_fini(&known);
}

static void stage_add_sensors(struct stage *stage, const Gz__Msgs__Model *model)
{
	for (size_t l = 0; l < model->n_link; l++)
		for (size_t s = 0; s < model->link[l]->n_sensor; s++)
			stage_add_sensor(stage, model, model->link[l], model->link[l]->sensor[s]);
}

static void stage_take_places(struct stage *stage, const Gz__Msgs__Scene *scene)
{
	stage_drop_places(stage);
	for (size_t m = 0; m < scene->n_model; m++) {
		const Gz__Msgs__Model *model = scene->model[m];
		stage_add_sensors(stage, model);
		if (model->is_static)
			continue;
		vec_push(&stage->places, (struct stage_place){model->id, mem_strdup(model->name), NULL});
		for (size_t l = 0; l < model->n_link; l++)
			vec_push(&stage->places, (struct stage_place){model->link[l]->id,
							 mem_printf("%s::%s", model->name, model->link[l]->name),
							 mem_strdup(model->name)});
	}
	for (uint32_t i = 0; i < stage->places.count; i++)
		vec_push(&stage->order, (struct order){stage->places.at[i].id, i});
	if (stage->order.count)
		qsort(stage->order.at, stage->order.count, sizeof *stage->order.at, stage_by_id);
	stage_drop_known(stage);
}

/* --- shapes ------------------------------------------------------------------------------------------------------- */

enum { CUBES, SPHERES, CYLINDERS, TRIANGLES, STAGE_KINDS };

struct stage_pen {
	struct stage *stage;
	struct text texts[STAGE_KINDS];
	struct json_out lists[STAGE_KINDS]; /* arrays in the texts */
	struct pose at;                     /* of the link in its frame */
	double r, g, b, a;
};

static void stage_add_number(struct json_out *out, const char *key, double value)
{
	json_out_double(out, key, isfinite(value) ? value : 0);
}

static void stage_add_vec3(struct json_out *out, const char *key, struct vec3 v)
{
	json_out_object(out, key);
	stage_add_number(out, "x", v.x);
	stage_add_number(out, "y", v.y);
	stage_add_number(out, "z", v.z);
	json_out_end(out);
}

static void stage_add_pose(struct json_out *out, struct pose pose)
{
	json_out_object(out, "pose");
	stage_add_vec3(out, "position", pose.p);
	json_out_object(out, "orientation");
	stage_add_number(out, "x", pose.q.x);
	stage_add_number(out, "y", pose.q.y);
	stage_add_number(out, "z", pose.q.z);
	stage_add_number(out, "w", pose.q.w);
	json_out_end(out);
	json_out_end(out);
}

static void stage_add_colour(struct json_out *out, const struct stage_pen *pen)
{
	json_out_object(out, "color");
	stage_add_number(out, "r", pen->r);
	stage_add_number(out, "g", pen->g);
	stage_add_number(out, "b", pen->b);
	stage_add_number(out, "a", pen->a);
	json_out_end(out);
}

/* The caller may add members, and ends the object. */
static struct json_out *stage_begin_solid(
	struct stage_pen *pen, int kind, struct pose pose, double x, double y, double z)
{
	struct json_out *out = &pen->lists[kind];
	json_out_object(out, NULL);
	stage_add_pose(out, pose_mul(pen->at, pose));
	stage_add_vec3(out, "size", (struct vec3){x, y, z});
	stage_add_colour(out, pen);
	return out;
}

static void stage_add_solid(struct stage_pen *pen, int kind, struct pose pose, double x, double y, double z)
{
	json_out_end(stage_begin_solid(pen, kind, pose, x, y, z));
}

/* top_scale 0: a cone. */
static void stage_add_round(struct stage_pen *pen, struct pose pose, double radius, double length, int top_scale)
{
	struct json_out *out = stage_begin_solid(pen, CYLINDERS, pose, 2 * radius, 2 * radius, length);
	json_out_int(out, "bottom_scale", 1);
	json_out_int(out, "top_scale", top_scale);
	json_out_end(out);
}

static void stage_add_capsule(struct stage_pen *pen, struct pose pose, double radius, double length)
{
	struct pose end = POSE_IDENTITY;
	stage_add_round(pen, pose, radius, length, 1);
	for (int side = -1; side <= 1; side += 2) {
		end.p.z = side * length / 2;
		stage_add_solid(pen, SPHERES, pose_mul(pose, end), 2 * radius, 2 * radius, 2 * radius);
	}
}

/* A plane has no thickness, and its size is that of its visual. */
static void stage_add_plane(struct stage_pen *pen, struct pose pose, const Gz__Msgs__PlaneGeom *plane)
{
	const double thickness_m = 0.001;
	struct pose turn = POSE_IDENTITY;
	struct vec3 normal = message_vec3(plane->normal);
	double length = sqrt(vec3_dot(normal, normal)), x = plane->size ? plane->size->x : 0,
	       y = plane->size ? plane->size->y : 0;
	if (length > 0) { /* from z to the normal, by half of the angle between them */
		struct vec3 n = vec3_scale(normal, 1 / length);
		double w = sqrt((1 + n.z) / 2);
		turn.q = w > 1e-6 ? (struct quat){.w = w, .x = -n.y / (2 * w), .y = n.x / (2 * w)}
				  : (struct quat){.x = 1};
	}
	stage_add_solid(pen, CUBES, pose_mul(pose, turn), x > 0 ? x : 1, y > 0 ? y : 1, thickness_m);
}

/* --- meshes and heightmaps ---------------------------------------------------------------------------------------- */

static void stage_add_triangles(struct stage_pen *pen, struct pose pose, const Gz__Msgs__Geometry *geometry)
{
	struct json_out *out = &pen->lists[TRIANGLES];
	const struct stage_shell *shell = stage_shells_find(pen->stage->shells, geometry);
	if (!shell || !shell->triangles || shell->triangles > STAGE_TRIANGLES_MAX - pen->stage->triangles)
		return;
	pen->stage->triangles += shell->triangles;
	json_out_object(out, NULL);
	stage_add_pose(out, pose_mul(pen->at, pose));
	stage_add_colour(out, pen);
	text_add_bytes(out->text, shell->json.at, shell->json.count);
	json_out_end(out);
}

static void stage_add_geometry(struct stage_pen *pen, const Gz__Msgs__Pose *at, const Gz__Msgs__Geometry *geometry)
{
	struct pose pose;
	if (!geometry || message_pose(at, &pose, NULL))
		return;
	if (geometry->box) {
		struct vec3 size = message_vec3(geometry->box->size);
		stage_add_solid(pen, CUBES, pose, size.x, size.y, size.z);
	} else if (geometry->sphere) {
		double size = 2 * geometry->sphere->radius;
		stage_add_solid(pen, SPHERES, pose, size, size, size);
	} else if (geometry->ellipsoid) {
		struct vec3 radii = message_vec3(geometry->ellipsoid->radii);
		stage_add_solid(pen, SPHERES, pose, 2 * radii.x, 2 * radii.y, 2 * radii.z);
	} else if (geometry->cylinder) {
		stage_add_round(pen, pose, geometry->cylinder->radius, geometry->cylinder->length, 1);
	} else if (geometry->cone) {
		stage_add_round(pen, pose, geometry->cone->radius, geometry->cone->length, 0);
	} else if (geometry->capsule) {
		stage_add_capsule(pen, pose, geometry->capsule->radius, geometry->capsule->length);
	} else if (geometry->plane) {
		stage_add_plane(pen, pose, geometry->plane);
	} else if (geometry->mesh || geometry->heightmap || geometry->n_polyline) {
		stage_add_triangles(pen, pose, geometry);
	}
}

static void stage_take_colour(struct stage_pen *pen, const Gz__Msgs__Material *material, double transparency)
{
	const Gz__Msgs__Color *colour = material ? material->diffuse : NULL;
	pen->r = colour ? (double)colour->r : 0.7;
	pen->g = colour ? (double)colour->g : 0.7;
	pen->b = colour ? (double)colour->b : 0.7;
	pen->a = 1 - transparency;
}

static void stage_add_time(struct json_out *out, const char *key, const Gz__Msgs__Time *time)
{
	json_out_object(out, key);
	json_out_int(out, "sec", time ? time->sec : 0);
	json_out_int(out, "nsec", time ? time->nsec : 0);
	json_out_end(out);
}

static const Gz__Msgs__Time *stage_stamp_of(const Gz__Msgs__Scene *scene)
{
	return scene->header ? scene->header->stamp : NULL;
}

static void stage_add_list(struct json_out *out, const char *key, const struct stage_pen *pen, int kind)
{
	text_add_bytes(json_out_value(out, key), pen->texts[kind].at, pen->texts[kind].count);
}

static void stage_add_entity(struct json_out *out, const struct stage_pen *pen, const Gz__Msgs__Scene *scene,
	const char *frame, const char *name)
{
	json_out_object(out, NULL);
	stage_add_time(out, "timestamp", stage_stamp_of(scene));
	json_out_string(out, "frame_id", frame);
	json_out_string(out, "id", name);
	stage_add_time(out, "lifetime", NULL);
	json_out_bool(out, "frame_locked", true);
	json_out_strings(out, "metadata", NULL, 0);
	json_out_strings(out, "arrows", NULL, 0);
	stage_add_list(out, "cubes", pen, CUBES);
	stage_add_list(out, "spheres", pen, SPHERES);
	stage_add_list(out, "cylinders", pen, CYLINDERS);
	stage_add_list(out, "triangles", pen, TRIANGLES);
	json_out_strings(out, "lines", NULL, 0);
	json_out_strings(out, "texts", NULL, 0);
	json_out_strings(out, "models", NULL, 0);
	json_out_end(out);
}

static void stage_add_visuals(struct stage_pen *pen, const Gz__Msgs__Link *link)
{
	for (size_t i = 0; i < link->n_visual; i++) {
		stage_take_colour(pen, link->visual[i]->material, link->visual[i]->transparency);
		stage_add_geometry(pen, link->visual[i]->pose, link->visual[i]->geometry);
	}
	stage_take_colour(pen, NULL, 0);
	for (size_t i = 0; i < link->n_collision && !link->n_visual; i++)
		stage_add_geometry(pen, link->collision[i]->pose, link->collision[i]->geometry);
}

static void stage_add_link(struct stage *stage, const Gz__Msgs__Scene *scene, const Gz__Msgs__Model *model,
	const Gz__Msgs__Link *link, struct json_out *out)
{
	struct stage_pen pen = {.stage = stage, .at = POSE_IDENTITY};
	struct pose in_world, in_model;
	bool some = false;
	char *name = mem_printf("%s::%s", model->name, link->name);
	if (model->is_static && !message_pose(model->pose, &in_world, NULL) &&
		!message_pose(link->pose, &in_model, NULL))
		pen.at = pose_mul(in_world, in_model);
	for (int i = 0; i < STAGE_KINDS; i++) {
		pen.lists[i].text = &pen.texts[i];
		json_out_array(&pen.lists[i], NULL);
	}
	stage_add_visuals(&pen, link);
	for (int i = 0; i < STAGE_KINDS; i++) {
		some |= pen.lists[i].more;
		json_out_end(&pen.lists[i]);
	}
	if (some)
		stage_add_entity(out, &pen, scene, model->is_static ? stage->world : name, name);
	for (int i = 0; i < STAGE_KINDS; i++)
		text_fini(&pen.texts[i]);
	free(name);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static troupe_status stage_read_message(struct arena *arena, const ProtobufCMessageDescriptor *type, const void *bytes,
	size_t count, void *ret_message, struct troupe_error *error)
{
	return message_of_bytes_in(arena, type, bytes, count, &message_limits_none, ret_message, error);
}

troupe_status stage_take_scene(
	struct stage *stage, const void *bytes, size_t count, struct text *json, struct troupe_error *error)
{
	struct arena arena = {0};
	struct json_out out = {.text = json};
	Gz__Msgs__Scene *scene;
	troupe_status status = stage_read_message(&arena, &gz__msgs__scene__descriptor, bytes, count, &scene, error);
	if (status)
		return status;
	stage_take_places(stage, scene);
	stage->triangles = 0;
	json_out_object(&out, NULL);
	json_out_array(&out, "deletions");
	json_out_object(&out, NULL);
	stage_add_time(&out, "timestamp", stage_stamp_of(scene));
	json_out_int(&out, "type", 1);
	json_out_string(&out, "id", "");
	json_out_end(&out);
	json_out_end(&out);
	json_out_array(&out, "entities");
	for (size_t m = 0; m < scene->n_model; m++)
		for (size_t l = 0; l < scene->model[m]->n_link; l++)
			stage_add_link(stage, scene, scene->model[m], scene->model[m]->link[l], &out);
	json_out_end(&out);
	json_out_end(&out);
	arena_fini(&arena);
	return TROUPE_OK;
}

/* The stamp and the parent of a transform; its frame and its pose follow. */
static void stage_put_parent(struct cdr_out *out, const Gz__Msgs__Header *header, const char *parent)
{
	part_time(out, header ? header->stamp : NULL);
	cdr_string(out, parent);
}

static void stage_put_fixture(
	struct cdr_out *out, const struct stage *stage, const Gz__Msgs__Header *header, const struct fixture *fixture)
{
	stage_put_parent(out, header, fixture->parent ? fixture->parent : stage->world);
	cdr_string(out, fixture->frame);
	part_pose_of(out, fixture->pose);
}

/* Poses mostly come in the order of the scene. last: the place of the pose before; NULL: none yet. */
static const struct stage_place *stage_next_place(
	const struct stage *stage, const struct stage_place *last, uint32_t id)
{
	uint32_t next = last ? (uint32_t)(last - stage->places.at) + 1 : 0;
	bool follows = next < stage->places.count && stage->places.at[next].id == id;
	return follows ? &stage->places.at[next] : stage_place_of(stage, id);
}

static uint32_t stage_put_poses(struct cdr_out *out, const struct stage *stage, const Gz__Msgs__PoseV *poses)
{
	const struct stage_place *last = NULL;
	uint32_t known = 0;
	for (size_t i = 0; i < poses->n_pose; i++) {
		const struct stage_place *place = stage_next_place(stage, last, poses->pose[i]->id);
		if (!place)
			continue;
		last = place;
		known++;
		stage_put_parent(out, poses->header, place->parent ? place->parent : stage->world);
		cdr_string(out, place->frame);
		part_pose(out, poses->pose[i]);
	}
	return known;
}

troupe_status stage_take_poses(
	struct stage *stage, const void *bytes, size_t count, struct text *cdr, struct troupe_error *error)
{
	struct arena arena = {0};
	Gz__Msgs__PoseV *poses;
	troupe_status status = stage_read_message(&arena, &gz__msgs__pose__v__descriptor, bytes, count, &poses, error);
	size_t before = cdr->count;
	if (status)
		return status;
	struct cdr_out out = cdr_begin(cdr);
	size_t count_at = cdr->count;
	cdr_count(&out, 0); /* not known yet */
	uint32_t known = stage_put_poses(&out, stage, poses);
	for (uint32_t i = 0; i < stage->fixtures.count; i++)
		stage_put_fixture(&out, stage, poses->header, &stage->fixtures.at[i]);
	cdr_store((unsigned char *)cdr->at + count_at, known + stage->fixtures.count, 4);
	if (!known && !stage->fixtures.count)
		cdr->count = before;
	arena_fini(&arena);
	return TROUPE_OK;
}
