/* Moves a model as one rigid body at the velocity of a Twist in the model's frame, and single links in the same way
 * in their own frames. While a command is active, the velocity is set again before every step, as in Gazebo: gravity
 * and contacts act within a step, but their effects do not add up. Before the first command, nothing is moved. */
#include "system/builtin.h"

#include "topic/convert.h"

struct target_words {
	uint64_t in_force;
	struct vec3 linear, angular;
};

enum { TARGET_WORDS = 7 };
_Static_assert(sizeof(struct target_words) == TARGET_WORDS * 8, "words without padding");

struct config {
	struct target_words initial;
	uint32_t link_count;
	uint32_t links[SYSTEM_TOPICS_MAX]; /* in the order of the topics */
};

/* Tag 0 and the first target belong to the model, the others to the links. */
static troupe_status add_links(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct config *config = system->config;
	const struct sdf_element *name = NULL;
	while ((name = sdf_child(plugin, "link_name", name))) {
		const char *topic = arena_printf(arena, "link/%s/cmd_vel", name->text);
		troupe_status status = builtin_add_topic(system, plugin, NULL, topic, &gz__msgs__twist__descriptor,
			config->link_count + 1, arena, error);
		if (!status)
			status = builtin_find_link(
				system, plugin, name, arena, &config->links[config->link_count], error);
		if (status)
			return status;
		config->link_count++;
	}
	return TROUPE_OK;
}

static troupe_status read_initial(
	const struct sdf_element *plugin, struct target_words *initial, struct troupe_error *error)
{
	const double most = BUILTIN_VELOCITY_MAX;
	initial->in_force = sdf_child(plugin, "initial_linear", NULL) || sdf_child(plugin, "initial_angular", NULL);
	troupe_status status = sdf_child_vec3(plugin, "initial_linear", -most, most, &initial->linear, error);
	return status ? status : sdf_child_vec3(plugin, "initial_angular", -most, most, &initial->angular, error);
}

static troupe_status configure(
	struct system *system, const struct sdf_element *plugin, struct arena *arena, struct troupe_error *error)
{
	struct config *config = system->config = arena_new(arena, struct config);
	troupe_status status = builtin_require_moving(system, plugin, error);
	if (!status)
		status = read_initial(plugin, &config->initial, error);
	if (!status)
		status = builtin_add_topic(
			system, plugin, "topic", "cmd_vel", &gz__msgs__twist__descriptor, 0, arena, error);
	if (!status)
		status = add_links(system, plugin, arena, error);
	system->words = TARGET_WORDS * (1 + config->link_count);
	return status;
}

static void init(const struct system *system, uint64_t *words)
{
	const struct config *config = system->config;
	*(struct target_words *)(void *)words = config->initial;
}

static struct vec3 bounded(struct vec3 v)
{
	const double most = BUILTIN_VELOCITY_MAX;
	return (struct vec3){
		builtin_clamp(v.x, -most, most), builtin_clamp(v.y, -most, most), builtin_clamp(v.z, -most, most)};
}

static void command(const struct system *system, uint32_t tag, const ProtobufCMessage *message, uint64_t *words)
{
	const Gz__Msgs__Twist *twist = (const void *)message;
	(void)system;
	((struct target_words *)(void *)words)[tag] =
		(struct target_words){1, bounded(message_vec3(twist->linear)), bounded(message_vec3(twist->angular))};
}

/* Sets the velocity of a body that belongs to a rigid whole with its frame at `frame`. */
static void move_body(
	const struct system_step *step, uint32_t body, const struct target_words *target, struct pose frame)
{
	const struct scene *scene = step->state->scene;
	uint32_t model = scene->bodies[body].model;
	struct vec3 com = state_bodies(step->state, model, false)[body - scene->models[model].body_first].p;
	struct body_control *control = control_body(step->control, scene, body);
	control->drive = true;
	/* already bounded, except in a damaged state */
	control->w = quat_rotate(frame.q, bounded(target->angular));
	control->v =
		vec3_add(quat_rotate(frame.q, bounded(target->linear)), vec3_cross(control->w, vec3_sub(com, frame.p)));
}

static void pre_update(const struct system *system, const struct system_step *step, uint64_t *words)
{
	const struct config *config = system->config;
	const struct scene_model *model = &system->scene->models[system->model];
	const struct target_words *targets = (const void *)words;
	if (targets[0].in_force) {
		struct pose frame = state_model_pose(step->state, system->model, false);
		for (uint32_t b = model->body_first; b < model->body_first + model->body_count; b++)
			move_body(step, b, &targets[0], frame);
	}
	for (uint32_t i = 0; i < config->link_count; i++)
		if (targets[1 + i].in_force)
			move_body(step, system->scene->links[config->links[i]].body, &targets[1 + i],
				state_link_pose(step->state, config->links[i], false));
}

const struct system_ops velocity_control_ops = {
	.names = BUILTIN_NAMES("VelocityControl"),
	.configure = configure,
	.init = init,
	.command = command,
	.pre_update = pre_update,
};
