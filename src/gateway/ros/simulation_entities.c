/* Entities: models and actors of the world, by their names. What a request is about is looked up in all models at one
 * step, so the answer is of one state; a command names the model by its id, too, so it cannot meet another one that has
 * taken the name in between. Poses are in the frame of the world, and of the model's frame. */
#include "gateway/ros/simulation_job.h"

#include "geom/geom.h"
#include "topic/convert.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static const char sim_entities_world_frame[] = "world";

typedef Troupe__Msgs__Models__Model model_t;

/* NULL: there is no such model, which is answered. */
static const model_t *sim_entities_find_model(struct job *job, const char *name, bool answers)
{
	for (size_t i = 0; i < job->models->n_model; i++)
		if (!strcmp(job->models->model[i]->state->name, name))
			return job->models->model[i];
	if (answers)
		job_answer(job, JOB_NOT_FOUND, "entity '%.100s': there is none of this name", name);
	return NULL;
}

static struct pose sim_entities_pose_of(const model_t *model)
{
	struct pose pose = {{0, 0, 0}, QUAT_IDENTITY};
	if (model->state->pose)
		(void)message_pose(model->state->pose, &pose, NULL);
	return pose;
}

/* --- what is said of an entity ------------------------------------------------------------------------------------ */

static void sim_entities_add_vector(struct json_out *out, const char *name, struct vec3 v)
{
	json_out_object(out, name);
	json_out_double(out, "x", v.x);
	json_out_double(out, "y", v.y);
	json_out_double(out, "z", v.z);
	json_out_end(out);
}

static void sim_entities_add_pose(struct json_out *out, const char *name, struct pose pose)
{
	json_out_object(out, name);
	sim_entities_add_vector(out, "position", pose.p);
	json_out_object(out, "orientation");
	json_out_double(out, "x", pose.q.x);
	json_out_double(out, "y", pose.q.y);
	json_out_double(out, "z", pose.q.z);
	json_out_double(out, "w", pose.q.w);
	json_out_end(out);
	json_out_end(out);
}

static void sim_entities_add_twist(struct json_out *out, const char *name, struct vec3 linear, struct vec3 angular)
{
	json_out_object(out, name);
	sim_entities_add_vector(out, "linear", linear);
	sim_entities_add_vector(out, "angular", angular);
	json_out_end(out);
}

/* The server tells no accelerations. */
static void sim_entities_add_state(struct json_out *out, const char *key, const struct job *job, const model_t *model)
{
	const struct vec3 none = {0, 0, 0};
	json_out_object(out, key);
	json_out_object(out, "header");
	json_out_object(out, "stamp");
	json_out_int(out, "sec", job->time_ns / 1000000000);
	json_out_int(out, "nanosec", job->time_ns % 1000000000);
	json_out_end(out);
	json_out_string(out, "frame_id", sim_entities_world_frame);
	json_out_end(out);
	sim_entities_add_pose(out, "pose", sim_entities_pose_of(model));
	sim_entities_add_twist(out, "twist", message_vec3(model->state->linear), message_vec3(model->state->angular));
	sim_entities_add_twist(out, "acceleration", none, none);
	json_out_end(out);
}

static void sim_entities_get_state(struct job *job)
{
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	sim_entities_add_state(job_respond(job, JOB_OK, ""), "state", job, model);
	job_send(job);
}

enum category { SIM_ENTITIES_OBJECT = 0, ROBOT = 1, HUMAN = 2, DYNAMIC_OBJECT = 4, STATIC_OBJECT = 5, CATEGORIES = 6 };

static enum category sim_entities_category_of(const model_t *model)
{
	if (model->info)
		return model->info->category;
	if (model->state->actor)
		return HUMAN;
	if (model->state->is_static)
		return STATIC_OBJECT;
	return model->state->performer || model->jointed ? ROBOT : DYNAMIC_OBJECT;
}

static void sim_entities_get_info(struct job *job)
{
	static const char *const names[CATEGORIES] = {[ROBOT] = "a performer, or a model with joints",
		[HUMAN] = "an actor",
		[DYNAMIC_OBJECT] = "a model without joints",
		[STATIC_OBJECT] = "a static model"};
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	const Troupe__Msgs__EntityInfo *info = model->info;
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_object(out, "info");
	json_out_object(out, "category");
	json_out_int(out, "category", sim_entities_category_of(model));
	json_out_end(out);
	json_out_string(out, "description", info ? info->description : names[sim_entities_category_of(model)]);
	json_out_strings(out, "tags", info ? (const char *const *)info->tag : NULL, info ? info->n_tag : 0);
	json_out_end(out);
	job_send(job);
}

/* The server has the limits. */
static void sim_entities_set_info(struct job *job)
{
	Troupe__Msgs__EntityInfo message = TROUPE__MSGS__ENTITY_INFO__INIT;
	const json_t *info = job_arg(job, "info"), *tags = json_object_get(info, "tags"), *tag;
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	size_t i;
	if (!model)
		return;
	message.id = model->state->id;
	message.category = (uint32_t)job_whole(json_object_get(info, "category"), "category");
	message.description = message_string(job_text(info, "description"));
	message.tag = mem_alloc(json_array_size(tags) * sizeof *message.tag);
	json_array_foreach(tags, i, tag) message.tag[message.n_tag++] = message_string(json_string_value(tag));
	job_forget_sent(job);
	job->next = job_finish;
	(void)job_ask(job, "set_entity_info", &message.base);
	free(message.tag);
}

/* --- bounds ------------------------------------------------------------------------------------------------------- */

static void sim_entities_add_bounds(struct json_out *out, const model_t *model)
{
	bool has_box = model->lower && model->upper;
	json_out_object(out, "bounds");
	json_out_int(out, "type", has_box ? JOB_BOUNDS_BOX : JOB_BOUNDS_EMPTY);
	json_out_array(out, "points");
	if (has_box) {
		sim_entities_add_vector(out, NULL, message_vec3(model->upper));
		sim_entities_add_vector(out, NULL, message_vec3(model->lower));
	}
	json_out_end(out);
	json_out_end(out);
}

/* Whether the models have their boxes; if not, they are asked for, and `next` comes when they are there. */
static bool sim_entities_has_boxes(struct job *job, job_fn *next)
{
	if (job->has_boxes)
		return true;
	job->next = next;
	job_forget_sent(job);
	job_ask_models(job, true);
	return false;
}

static void sim_entities_get_bounds(struct job *job)
{
	if (!sim_entities_has_boxes(job, sim_entities_get_bounds))
		return;
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	sim_entities_add_bounds(job_respond(job, JOB_OK, ""), model);
	job_send(job);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

struct filter {
	bool has_name, has_categories;
	regex_t name;
	bool categories[256];
	struct job_tags tags;
	int bounds; /* JOB_BOUNDS_... */
	struct aabb box;
	struct vec3 centre;
	double radius;
};

static bool sim_entities_has_reference(const char *pattern)
{
	const char *at = strchr(pattern, '\\');
	while (at && !isdigit((unsigned char)at[1]))
		at = at[1] ? strchr(at + 2, '\\') : NULL;
	return at;
}

/* The C library repeats what stands before a + in its tree. So "(((a+)+)+)" and "a+++" double it each time. */
static bool sim_entities_has_long_plus(const char *pattern)
{
	const char *at = strchr(pattern, '+');
	while (at && (at == pattern || !strchr(")*?+", at[-1])))
		at = strchr(at + 1, '+');
	return at;
}

/* Repetitions by numbers, of groups by +, and references to groups can take any time and memory. */
static bool sim_entities_read_name(struct job *job, const char *pattern, struct filter *filter)
{
	if (strlen(pattern) > SIMULATION_FILTER_MAX || strchr(pattern, '{') || sim_entities_has_reference(pattern) ||
		sim_entities_has_long_plus(pattern)) {
		job_answer(job, JOB_FAILED,
			"filters.filter '%.60s': expected at most %d bytes without {, references to groups, and + "
			"after one of )*?+",
			pattern, (int)SIMULATION_FILTER_MAX);
		return false;
	}
	if (!*pattern)
		return true;
	filter->has_name = !regcomp(&filter->name, pattern, REG_EXTENDED | REG_NOSUB);
	if (!filter->has_name)
		job_answer(job, JOB_FAILED, "filters.filter '%.60s': expected a regular expression of POSIX, extended",
			pattern);
	return filter->has_name;
}

static bool sim_entities_read_point(const json_t *points, size_t i, struct vec3 *ret_point)
{
	const json_t *point = json_array_get(points, i), *x = json_object_get(point, "x"),
		     *y = json_object_get(point, "y"), *z = json_object_get(point, "z");
	*ret_point = (struct vec3){json_number_value(x), json_number_value(y), json_number_value(z)};
	return json_is_number(x) && json_is_number(y) && json_is_number(z);
}

static bool sim_entities_read_bounds(struct job *job, const json_t *bounds, struct filter *filter)
{
	const json_t *points = json_object_get(bounds, "points");
	struct vec3 a, b;
	filter->bounds = (int)job_whole(bounds, "type");
	if (filter->bounds == JOB_BOUNDS_EMPTY)
		return true;
	if (filter->bounds == JOB_BOUNDS_CONVEX) {
		job_answer(job, JOB_UNSUPPORTED, "filters.bounds: a convex hull: expected a box (1) or a sphere (3)");
		return false;
	}
	if (filter->bounds > JOB_BOUNDS_SPHERE || json_array_size(points) != 2 ||
		!sim_entities_read_point(points, 0, &a) || !sim_entities_read_point(points, 1, &b) ||
		(filter->bounds == JOB_BOUNDS_SPHERE && !(b.x >= 0))) {
		job_answer(job, JOB_FAILED,
			"filters.bounds: expected type 1 with two corners, or type 3 with a centre and a radius from 0 "
			"on");
		return false;
	}
	filter->box = (struct aabb){vec3_min(a, b), vec3_max(a, b)};
	filter->centre = a;
	filter->radius = b.x;
	return true;
}

/* False: it is answered. On true the caller frees it. */
static bool sim_entities_read_filter(struct job *job, struct filter *filter)
{
	const json_t *filters = job_arg(job, "filters"), *item;
	size_t i;
	*filter = (struct filter){0};
	if (!job_read_tags(job, "filters.tags", json_object_get(filters, "tags"), &filter->tags))
		return false;
	if (!sim_entities_read_bounds(job, json_object_get(filters, "bounds"), filter) ||
		!sim_entities_read_name(job, job_text(filters, "filter"), filter))
		return false;
	json_array_foreach(json_object_get(filters, "categories"), i, item)
	{
		filter->has_categories = true;
		filter->categories[job_whole(item, "category") & 255] = true;
	}
	return true;
}

static void sim_entities_free_filter(struct filter *filter)
{
	if (filter->has_name)
		regfree(&filter->name);
}

/* The box in the world around the one in the frame of the model; a model without collisions is a point. */
static struct aabb sim_entities_box_in_world(const model_t *model)
{
	const struct pose pose = sim_entities_pose_of(model);
	const struct vec3 lo = message_vec3(model->lower), hi = message_vec3(model->upper);
	struct aabb box = AABB_NONE;
	if (model->endless)
		return AABB_ALL;
	for (int i = 0; i < 8; i++) {
		struct vec3 corner =
			pose_point(pose, (struct vec3){i & 1 ? hi.x : lo.x, i & 2 ? hi.y : lo.y, i & 4 ? hi.z : lo.z});
		box = aabb_join(box, (struct aabb){corner, corner});
	}
	return box;
}

static bool sim_entities_is_near(const struct filter *filter, const model_t *model)
{
	if (filter->bounds == JOB_BOUNDS_EMPTY)
		return true;
	const struct aabb box = sim_entities_box_in_world(model);
	if (filter->bounds == JOB_BOUNDS_BOX)
		return aabb_overlap(&box, &filter->box);
	const struct vec3 nearest = vec3_max(box.lo, vec3_min(box.hi, filter->centre));
	return vec3_length(vec3_sub(nearest, filter->centre)) <= filter->radius;
}

static bool sim_entities_passes(const struct filter *filter, const model_t *model)
{
	if (filter->has_name && regexec(&filter->name, model->state->name, 0, NULL, 0))
		return false;
	if (filter->has_categories && !filter->categories[sim_entities_category_of(model)] &&
		!(filter->categories[SIM_ENTITIES_OBJECT] && sim_entities_category_of(model) >= DYNAMIC_OBJECT))
		return false;
	const Troupe__Msgs__EntityInfo *info = model->info;
	if (!job_has_tags(&filter->tags, info ? info->tag : NULL, info ? info->n_tag : 0))
		return false;
	return sim_entities_is_near(filter, model);
}

static void sim_entities_list(struct job *job, bool states)
{
	struct filter filter;
	struct text states_text = {0};
	struct json_out states_out = {.text = &states_text};
	if (!sim_entities_read_filter(job, &filter))
		return;
	if (filter.bounds != JOB_BOUNDS_EMPTY && !sim_entities_has_boxes(job, job->row->begin)) {
		sim_entities_free_filter(&filter);
		return;
	}
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_array(out, "entities");
	json_out_array(&states_out, NULL);
	for (size_t i = 0; i < job->models->n_model; i++) {
		const model_t *model = job->models->model[i];
		if (!sim_entities_passes(&filter, model))
			continue;
		json_out_string(out, NULL, model->state->name);
		if (states)
			sim_entities_add_state(&states_out, NULL, job, model);
	}
	json_out_end(out);
	json_out_end(&states_out);
	if (states)
		text_add_bytes(json_out_value(out, "states"), states_text.at, states_text.count);
	text_fini(&states_text);
	sim_entities_free_filter(&filter);
	job_send(job);
}

static void sim_entities_get(struct job *job)
{
	sim_entities_list(job, false);
}

static void sim_entities_get_states(struct job *job)
{
	sim_entities_list(job, true);
}

/* --- poses of requests -------------------------------------------------------------------------------------------- */

/* NULL: it is sound. */
static const char *sim_entities_read_pose(const json_t *pose, struct pose *ret_pose)
{
	const json_t *q = json_object_get(pose, "orientation"), *p = json_object_get(pose, "position");
	static const char *const axes[] = {"x", "y", "z", "w"};
	double numbers[7], length = 0;
	for (int i = 0; i < 7; i++) {
		const json_t *number = json_object_get(i < 3 ? p : q, axes[i < 3 ? i : i - 3]);
		numbers[i] = json_number_value(number);
		if (!json_is_number(number))
			return "a number that is not finite";
		length += i < 3 ? 0 : numbers[i] * numbers[i];
	}
	if (!(fabs(length - 1) < 0.01))
		return "the orientation is no quaternion of length 1";
	*ret_pose = (struct pose){{numbers[0], numbers[1], numbers[2]},
		quat_unit((struct quat){numbers[6], numbers[3], numbers[4], numbers[5]})};
	return NULL;
}

static bool sim_entities_is_world_frame(const struct job *job, const char *frame)
{
	return !*frame || !strcmp(frame, sim_entities_world_frame) || !strcmp(frame, job->world->name);
}

struct pose_parts { /* what a message points to */
	Gz__Msgs__Vector3d position;
	Gz__Msgs__Quaternion orientation;
};

static void sim_entities_fill_pose(struct pose pose, struct pose_parts *parts, Gz__Msgs__Pose *message)
{
	gz__msgs__quaternion__init(&parts->orientation);
	parts->position = message_of_vec3(pose.p);
	parts->orientation.w = pose.q.w;
	parts->orientation.x = pose.q.x;
	parts->orientation.y = pose.q.y;
	parts->orientation.z = pose.q.z;
	message->position = &parts->position;
	message->orientation = &parts->orientation;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static void sim_entities_delete(struct job *job)
{
	Gz__Msgs__Entity entity = GZ__MSGS__ENTITY__INIT;
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	entity.id = model->state->id;
	entity.name = model->state->name;
	job->next = job_finish;
	(void)job_ask(job, "remove", &entity.base);
}

enum { SET_INVALID_POSE = 101 };

static void sim_entities_finish_pose(struct job *job)
{
	const struct job_sent *refused = job_refused(job);
	job_answer(job, refused ? (unsigned)SET_INVALID_POSE : JOB_OK, "%s", refused ? refused->text : "");
}

/* A velocity, perhaps with a pose: troupe.msgs.SetVelocity says how its errors begin. */
static void sim_entities_finish_velocity(struct job *job)
{
	static const char of_pose[] = "pose: ";
	const struct job_sent *refused = job_refused(job);
	bool is_pose = refused && !strncmp(refused->text, of_pose, sizeof of_pose - 1);
	job_answer(job,
		is_pose   ? (unsigned)SET_INVALID_POSE
		: refused ? JOB_FAILED
			  : JOB_OK,
		"%s", refused ? refused->text : "");
}

static bool sim_entities_read_vector(const json_t *vector, struct vec3 *ret_vector)
{
	const json_t *x = json_object_get(vector, "x"), *y = json_object_get(vector, "y"),
		     *z = json_object_get(vector, "z");
	*ret_vector = (struct vec3){json_number_value(x), json_number_value(y), json_number_value(z)};
	return json_is_number(x) && json_is_number(y) && json_is_number(z);
}

/* pose: NULL: it stays. */
static void sim_entities_ask_velocity(
	struct job *job, const model_t *model, const struct pose *pose, struct vec3 linear, struct vec3 angular)
{
	Troupe__Msgs__SetVelocity message = TROUPE__MSGS__SET_VELOCITY__INIT;
	Gz__Msgs__Vector3d vectors[] = {message_of_vec3(linear), message_of_vec3(angular)};
	Gz__Msgs__Pose to = GZ__MSGS__POSE__INIT;
	struct pose_parts parts;
	message.name = model->state->name;
	message.id = model->state->id;
	message.linear = &vectors[0];
	message.angular = &vectors[1];
	if (pose) {
		sim_entities_fill_pose(*pose, &parts, &to);
		message.pose = &to;
	}
	(void)job_ask(job, "set_velocity", &message.base);
}

static void sim_entities_ask_pose(struct job *job, const model_t *model, struct pose pose)
{
	Gz__Msgs__Pose message = GZ__MSGS__POSE__INIT;
	struct pose_parts parts;
	sim_entities_fill_pose(pose, &parts, &message);
	message.name = model->state->name;
	message.id = model->state->id;
	(void)job_ask(job, "set_pose", &message.base);
}

/* The error of the request, apart from its pose; NULL: there is none. */
static const char *sim_entities_wrong_of_set(
	const struct job *job, const model_t *model, struct vec3 *ret_linear, struct vec3 *ret_angular)
{
	const json_t *twist = json_object_get(job_arg(job, "state"), "twist");
	bool set_twist = json_is_true(job_arg(job, "set_twist"));
	bool sound = sim_entities_read_vector(json_object_get(twist, "linear"), ret_linear) &&
		     sim_entities_read_vector(json_object_get(twist, "angular"), ret_angular);
	if (!set_twist)
		return json_is_true(job_arg(job, "set_pose")) ? NULL
							      : "nothing is asked for: expected set_pose or set_twist";
	if (!sound)
		return "state.twist: a number that is not finite";
	if (model->state->is_static && (vec3_length(*ret_linear) > 0 || vec3_length(*ret_angular) > 0))
		return "state.twist: the entity is static: expected 0";
	return NULL;
}

static void sim_entities_set_state(struct job *job)
{
	const json_t *state = job_arg(job, "state");
	const char *frame = job_text(json_object_get(state, "header"), "frame_id");
	bool set_pose = json_is_true(job_arg(job, "set_pose")), set_twist = json_is_true(job_arg(job, "set_twist"));
	struct vec3 linear, angular;
	struct pose pose;
	const model_t *model = sim_entities_find_model(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	const char *wrong = sim_entities_wrong_of_set(job, model, &linear, &angular);
	const char *wrong_pose = set_pose ? sim_entities_read_pose(json_object_get(state, "pose"), &pose) : NULL;
	if (json_is_true(job_arg(job, "set_acceleration")))
		job_answer(job, JOB_UNSUPPORTED, "set_acceleration: accelerations follow from forces: expected false");
	else if (!sim_entities_is_world_frame(job, frame))
		job_answer(job, JOB_UNSUPPORTED, "state.header.frame_id '%.80s': expected 'world'", frame);
	else if (wrong)
		job_answer(job, JOB_FAILED, "%s", wrong);
	else if (wrong_pose)
		job_answer(job, SET_INVALID_POSE, "state.pose: %s", wrong_pose);
	if (job->is_answered)
		return;
	job_forget_sent(job);
	if (set_twist && !model->state->is_static) {
		job->next = sim_entities_finish_velocity;
		sim_entities_ask_velocity(job, model, set_pose ? &pose : NULL, linear, angular);
	} else if (set_pose) {
		job->next = sim_entities_finish_pose;
		sim_entities_ask_pose(job, model, pose);
	} else {
		job_answer(job, JOB_OK, "%s", "");
	}
}

/* --- spawning ----------------------------------------------------------------------------------------------------- */

enum {
	NAME_NOT_UNIQUE = 101,
	NAME_INVALID = 102,
	SIM_ENTITIES_UNSUPPORTED_FORMAT = 103,
	SIM_ENTITIES_NO_RESOURCE = 104,
	SIM_ENTITIES_RESOURCE_PARSE_ERROR = 106,
	SIM_ENTITIES_MISSING_ASSETS = 107,
	SPAWN_INVALID_POSE = 109,
	ENTITIES_SPAWN_FAILED = 150,
};

static void sim_entities_say(struct job_spawn *spawn, unsigned result, const char *format, ...) TROUPE_PRINTF(3, 4);
static void sim_entities_say(struct job_spawn *spawn, unsigned result, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	free(spawn->message);
	spawn->result = result;
	spawn->message = mem_strdup(line.text);
}

bool job_has_other_format(const char *uri)
{
	static const char *const others[] = {".usd", ".usda", ".usdc", ".usdz", ".mjcf", ".xacro", ".stl", ".obj",
		".dae", ".glb", ".gltf", ".fbx", ".ply"};
	const char *dot = strrchr(uri, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(others); i++)
		if (!strcmp(dot, others[i]))
			return true;
	return false;
}

/* A scheme other than those of files of this machine: http, https, fuel, omniverse. */
static bool sim_entities_is_elsewhere(const char *uri)
{
	static const char *const here[] = {"file", "model", "package"};
	const char *end = strstr(uri, "://");
	for (size_t i = 0; end && i < ARRAY_LEN(here); i++)
		if ((size_t)(end - uri) == strlen(here[i]) && !strncmp(uri, here[i], strlen(here[i])))
			return false;
	return end;
}

/* A uri counts before a text. False: it is said what is wrong. */
static bool sim_entities_read_resource(
	const json_t *resource, Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	static const char file[] = "file://";
	const char *uri = job_text(resource, "uri"), *text = job_text(resource, "resource_string");
	if (!*uri && !*text) {
		sim_entities_say(
			spawn, SIM_ENTITIES_NO_RESOURCE, "neither uri nor resource_string: expected one of them");
	} else if (*uri) {
		factory->from_case = GZ__MSGS__ENTITY_FACTORY__FROM_SDF_FILENAME;
		factory->sdf_filename =
			message_string(uri + (strncmp(uri, file, sizeof file - 1) ? 0 : sizeof file - 1));
		if (job_has_other_format(uri))
			sim_entities_say(spawn, SIM_ENTITIES_UNSUPPORTED_FORMAT,
				"uri '%.80s': expected a file in SDF or URDF", uri);
		else if (sim_entities_is_elsewhere(uri))
			sim_entities_say(spawn, SIM_ENTITIES_MISSING_ASSETS,
				"uri '%.80s': nothing is fetched: expected a file of this machine", uri);
	} else {
		factory->from_case = GZ__MSGS__ENTITY_FACTORY__FROM_SDF;
		factory->sdf = message_string(text);
		if (text[strspn(text, " \t\r\n")] != '<')
			sim_entities_say(spawn, SIM_ENTITIES_UNSUPPORTED_FORMAT,
				"resource_string: expected SDF or URDF, which begin with '<'");
	}
	return spawn->result == JOB_OK;
}

static bool sim_entities_is_name(const char *name)
{
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 127)
			return false;
	return strlen(name) <= SIMULATION_NAME_MAX && !strstr(name, "::");
}

/* Topics of a model are below its name, and below nothing else. */
static bool sim_entities_is_namespace_of(const char *space, const char *name)
{
	space += *space == '/';
	return !*space || !strcmp(space, name);
}

static bool sim_entities_read_spawn_name(
	struct job *job, const json_t *request, Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	const char *name = job_text(request, "name"), *space = job_text(request, "entity_namespace");
	factory->name = message_string(name);
	factory->allow_renaming = json_is_true(json_object_get(request, "allow_renaming"));
	if (!sim_entities_is_name(name))
		sim_entities_say(spawn, NAME_INVALID,
			"name '%.60s': expected at most %d bytes, without '::' and control characters", name,
			(int)SIMULATION_NAME_MAX);
	else if (*name && !factory->allow_renaming && sim_entities_find_model(job, name, false))
		sim_entities_say(spawn, NAME_NOT_UNIQUE,
			"name '%.100s': there is such an entity: expected another name, or allow_renaming", name);
	else if (!sim_entities_is_namespace_of(space, name))
		sim_entities_say(spawn, JOB_UNSUPPORTED,
			"entity_namespace '%.80s': expected none, or the name, which is the namespace", space);
	return spawn->result == JOB_OK;
}

static bool sim_entities_read_spawn_pose(struct job *job, const json_t *stamped, struct pose_parts *parts,
	Gz__Msgs__EntityFactory *factory, struct job_spawn *spawn)
{
	const char *frame = job_text(json_object_get(stamped, "header"), "frame_id");
	struct pose pose;
	const char *wrong = sim_entities_read_pose(json_object_get(stamped, "pose"), &pose);
	if (wrong) {
		sim_entities_say(spawn, SPAWN_INVALID_POSE, "initial_pose: %s", wrong);
		return false;
	}
	sim_entities_fill_pose(pose, parts, factory->pose);
	if (sim_entities_is_world_frame(job, frame))
		return true;
	factory->relative_to = message_string(frame);
	if (!sim_entities_find_model(job, frame, false))
		sim_entities_say(spawn, SPAWN_INVALID_POSE,
			"initial_pose.header.frame_id '%.80s': expected 'world', or an entity", frame);
	return spawn->result == JOB_OK;
}

static void sim_entities_ask_spawn(struct job *job, const json_t *request, struct job_spawn *spawn)
{
	Gz__Msgs__EntityFactory factory = GZ__MSGS__ENTITY_FACTORY__INIT;
	Gz__Msgs__Pose pose = GZ__MSGS__POSE__INIT;
	struct pose_parts parts;
	factory.pose = &pose;
	*spawn = (struct job_spawn){.result = JOB_OK, .sent = UINT32_MAX};
	if (sim_entities_read_resource(json_object_get(request, "entity_resource"), &factory, spawn) &&
		sim_entities_read_spawn_name(job, request, &factory, spawn) &&
		sim_entities_read_spawn_pose(job, json_object_get(request, "initial_pose"), &parts, &factory, spawn))
		spawn->sent = job_ask(job, "create", &factory.base);
}

/* The server says why in words only; its texts are the same for all clients. */
static unsigned sim_entities_result_of(const struct job_sent *sent)
{
	if (strstr(sent->text, "exists already"))
		return NAME_NOT_UNIQUE;
	if (sent->status == TROUPE_EIO || strstr(sent->text, " is not found"))
		return SIM_ENTITIES_MISSING_ASSETS;
	if (strstr(sent->text, "expected coordinates within") || strstr(sent->text, ": pose.position."))
		return SPAWN_INVALID_POSE;
	return sent->status == TROUPE_EWORLD ? SIM_ENTITIES_RESOURCE_PARSE_ERROR : (unsigned)JOB_FAILED;
}

static void sim_entities_answer_one(struct job *job)
{
	struct job_spawn *spawn = &job->spawns.at[0];
	struct json_out *out = job_respond(job, spawn->result, spawn->message ? spawn->message : "");
	json_out_string(out, "entity_name", spawn->name ? spawn->name : "");
	job_send(job);
}

static struct json_out *sim_entities_respond_to_all(struct job *job)
{
	uint32_t failed = 0;
	for (uint32_t i = 0; i < job->spawns.count; i++)
		failed += job->spawns.at[i].result != JOB_OK;
	if (!failed)
		return job_respond(job, JOB_OK, "");
	char *message = mem_printf("%u of %u entities were not spawned", failed, job->spawns.count);
	struct json_out *out = job_respond(job, ENTITIES_SPAWN_FAILED, message);
	free(message);
	return out;
}

static void sim_entities_answer_all(struct job *job)
{
	struct json_out *out = sim_entities_respond_to_all(job);
	json_out_array(out, "results");
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		const struct job_spawn *spawn = &job->spawns.at[i];
		json_out_object(out, NULL);
		job_add_result(out, spawn->result, spawn->message ? spawn->message : "");
		json_out_string(out, "entity_name", spawn->name ? spawn->name : "");
		json_out_end(out);
	}
	json_out_end(out);
	job_send(job);
}

/* An entity may have got another name than was asked for. */
static void sim_entities_name_spawned(struct job *job)
{
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		struct job_spawn *spawn = &job->spawns.at[i];
		for (size_t m = 0; m < job->models->n_model && spawn->result == JOB_OK && !spawn->name; m++)
			if (job->models->model[m]->state->id == spawn->id)
				spawn->name = mem_strdup(job->models->model[m]->state->name);
	}
	if (json_object_get(job->args, "spawn_requests"))
		sim_entities_answer_all(job);
	else
		sim_entities_answer_one(job);
}

static void sim_entities_finish_spawn(struct job *job)
{
	static const char id[] = "created, id ";
	for (uint32_t i = 0; i < job->spawns.count; i++) {
		struct job_spawn *spawn = &job->spawns.at[i];
		if (spawn->sent == UINT32_MAX)
			continue;
		const struct job_sent *sent = &job->sent.at[spawn->sent];
		const char *at = strstr(sent->text, id);
		if (sent->status)
			sim_entities_say(spawn, sim_entities_result_of(sent), "%s", sent->text);
		else
			spawn->id = at ? strtoull(at + sizeof id - 1, NULL, 10) : 0;
	}
	job->next = sim_entities_name_spawned;
	job_forget_sent(job);
	job_ask_models(job, false);
}

static void sim_entities_spawn(struct job *job)
{
	const json_t *requests = job_arg(job, "spawn_requests");
	size_t count = requests ? json_array_size(requests) : 1;
	if (count > SIMULATION_SPAWNS_MAX) {
		job_answer(job, JOB_FAILED, "spawn_requests: %zu entities: expected at most %d", count,
			(int)SIMULATION_SPAWNS_MAX);
		return;
	}
	job_forget_sent(job);
	job->next = sim_entities_finish_spawn;
	for (size_t i = 0; i < count; i++) {
		struct job_spawn one;
		sim_entities_ask_spawn(job, requests ? json_array_get(requests, i) : job->args, &one);
		vec_push(&job->spawns, one);
	}
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define SIM_ENTITIES_STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_entity_rows[] = {
	{"spawn_entity", SIM_ENTITIES_STANDARD("SpawnEntity"), 0, JOB_MODELS, sim_entities_spawn},
	{"spawn_entities", SIM_ENTITIES_STANDARD("SpawnEntities"), 50, JOB_MODELS, sim_entities_spawn},
	{"delete_entity", SIM_ENTITIES_STANDARD("DeleteEntity"), 1, JOB_MODELS, sim_entities_delete},
	{"get_entities", SIM_ENTITIES_STANDARD("GetEntities"), JOB_NO_FEATURE, JOB_MODELS, sim_entities_get},
	{"get_entity_state", SIM_ENTITIES_STANDARD("GetEntityState"), 10, JOB_MODELS, sim_entities_get_state},
	{"get_entities_states", SIM_ENTITIES_STANDARD("GetEntitiesStates"), JOB_NO_FEATURE, JOB_MODELS,
		sim_entities_get_states},
	{"set_entity_state", SIM_ENTITIES_STANDARD("SetEntityState"), 11, JOB_MODELS, sim_entities_set_state},
	{"get_entity_info", SIM_ENTITIES_STANDARD("GetEntityInfo"), 12, JOB_MODELS, sim_entities_get_info},
	{"set_entity_info", SIM_ENTITIES_STANDARD("SetEntityInfo"), 13, JOB_MODELS, sim_entities_set_info},
	{"get_entity_bounds", SIM_ENTITIES_STANDARD("GetEntityBounds"), 5, JOB_MODELS, sim_entities_get_bounds},
	{NULL, NULL, 0, JOB_ALONE, NULL},
};
