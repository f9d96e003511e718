/* Entities: models and actors of the world, by their names. What a request is about is looked up in all models at one
 * step, so the answer is of one state; a command names the model by its id, too, so it cannot meet another one that has
 * taken the name in between. Poses are in the frame of the world, and of the model's frame. */
#include "gateway/ros/simulation_entity.h"

#include "topic/convert.h"

#include <stdlib.h>
#include <string.h>

static const char sim_entities_world_frame[] = "world";

const model_t *entity_find(struct job *job, const char *name, bool answers)
{
	for (size_t i = 0; i < job->models->n_model; i++)
		if (!strcmp(job->models->model[i]->state->name, name))
			return job->models->model[i];
	if (answers)
		job_answer(job, JOB_NOT_FOUND, "entity '%.100s': there is none of this name", name);
	return NULL;
}

struct pose entity_pose(const model_t *model)
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
	sim_entities_add_pose(out, "pose", entity_pose(model));
	sim_entities_add_twist(out, "twist", message_vec3(model->state->linear), message_vec3(model->state->angular));
	sim_entities_add_twist(out, "acceleration", none, none);
	json_out_end(out);
}

static void sim_entities_get_state(struct job *job)
{
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	sim_entities_add_state(job_respond(job, JOB_OK, ""), "state", job, model);
	job_send(job);
}

enum entity_category entity_category(const model_t *model)
{
	if (model->info)
		return model->info->category;
	if (model->state->actor)
		return ENTITY_HUMAN;
	if (model->state->is_static)
		return ENTITY_STATIC_OBJECT;
	return model->state->performer || model->jointed ? ENTITY_ROBOT : ENTITY_DYNAMIC_OBJECT;
}

static void sim_entities_get_info(struct job *job)
{
	static const char *const names[ENTITY_CATEGORIES] = {[ENTITY_ROBOT] = "a performer, or a model with joints",
		[ENTITY_HUMAN] = "an actor",
		[ENTITY_DYNAMIC_OBJECT] = "a model without joints",
		[ENTITY_STATIC_OBJECT] = "a static model"};
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	const Troupe__Msgs__EntityInfo *info = model->info;
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_object(out, "info");
	json_out_object(out, "category");
	json_out_int(out, "category", entity_category(model));
	json_out_end(out);
	json_out_string(out, "description", info ? info->description : names[entity_category(model)]);
	json_out_strings(out, "tags", info ? (const char *const *)info->tag : NULL, info ? info->n_tag : 0);
	json_out_end(out);
	job_send(job);
}

/* The server has the limits. */
static void sim_entities_set_info(struct job *job)
{
	Troupe__Msgs__EntityInfo message = TROUPE__MSGS__ENTITY_INFO__INIT;
	const json_t *info = job_arg(job, "info"), *tags = json_object_get(info, "tags"), *tag;
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
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
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	sim_entities_add_bounds(job_respond(job, JOB_OK, ""), model);
	job_send(job);
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static void sim_entities_list(struct job *job, bool states)
{
	struct entity_filter filter;
	struct text states_text = {0};
	struct json_out states_out = {.text = &states_text};
	if (!entity_filter_read(job, &filter))
		return;
	if (filter.bounds != JOB_BOUNDS_EMPTY && !sim_entities_has_boxes(job, job->row->begin)) {
		entity_filter_fini(&filter);
		return;
	}
	struct json_out *out = job_respond(job, JOB_OK, "");
	json_out_array(out, "entities");
	json_out_array(&states_out, NULL);
	for (size_t i = 0; i < job->models->n_model; i++) {
		const model_t *model = job->models->model[i];
		if (!entity_filter_passes(&filter, model))
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
	entity_filter_fini(&filter);
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

const char *entity_read_pose(const json_t *pose, struct pose *ret_pose)
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

bool entity_is_world_frame(const struct job *job, const char *frame)
{
	return !*frame || !strcmp(frame, sim_entities_world_frame) || !strcmp(frame, job->world->name);
}

void entity_fill_pose(struct pose pose, struct entity_pose_parts *parts, Gz__Msgs__Pose *message)
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
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
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

bool entity_read_vector(const json_t *vector, struct vec3 *ret_vector)
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
	struct entity_pose_parts parts;
	message.name = model->state->name;
	message.id = model->state->id;
	message.linear = &vectors[0];
	message.angular = &vectors[1];
	if (pose) {
		entity_fill_pose(*pose, &parts, &to);
		message.pose = &to;
	}
	(void)job_ask(job, "set_velocity", &message.base);
}

static void sim_entities_ask_pose(struct job *job, const model_t *model, struct pose pose)
{
	Gz__Msgs__Pose message = GZ__MSGS__POSE__INIT;
	struct entity_pose_parts parts;
	entity_fill_pose(pose, &parts, &message);
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
	bool sound = entity_read_vector(json_object_get(twist, "linear"), ret_linear) &&
		     entity_read_vector(json_object_get(twist, "angular"), ret_angular);
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
	const model_t *model = entity_find(job, job_text(job->args, "entity"), true);
	if (!model)
		return;
	const char *wrong = sim_entities_wrong_of_set(job, model, &linear, &angular);
	const char *wrong_pose = set_pose ? entity_read_pose(json_object_get(state, "pose"), &pose) : NULL;
	if (json_is_true(job_arg(job, "set_acceleration")))
		job_answer(job, JOB_UNSUPPORTED, "set_acceleration: accelerations follow from forces: expected false");
	else if (!entity_is_world_frame(job, frame))
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

/* --- the table ---------------------------------------------------------------------------------------------------- */

#define SIM_ENTITIES_STANDARD(type) "simulation_interfaces/srv/" type

const struct job_row job_entity_rows[] = {
	{"spawn_entity", SIM_ENTITIES_STANDARD("SpawnEntity"), 0, JOB_MODELS, entity_spawn},
	{"spawn_entities", SIM_ENTITIES_STANDARD("SpawnEntities"), 50, JOB_MODELS, entity_spawn},
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
