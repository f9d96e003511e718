/* Built-in systems use Gazebo's plug-in parameters, topics and defaults, so that worlds made for Gazebo work here.
 * What these systems have in common is here once: finding joints and links by name, topics, numbers of a message,
 * and PID control. Errors give file:line and the expected value. Velocities and forces of joints are bounded here
 * before they reach the physics engine. */
#include "system/builtin.h"

#include "topic/convert.h"
#include "topic/table.h"

#include <math.h>
#include <string.h>

enum { TOPIC_BYTES_MAX = 255, NAMES_LISTED_MAX = 8 };

const struct system_ops *const system_builtin[] = {
	&diff_drive_ops,
	&velocity_control_ops,
	&joint_position_controller_ops,
	&joint_controller_ops,
	&apply_joint_force_ops,
	&joint_state_publisher_ops,
	&pose_publisher_ops,
	NULL,
};

const struct sdf_model *builtin_owner(const struct system *system, const struct sdf_element *plugin)
{
	const struct sdf_world *world = system->scene->models[system->model].from;
	const struct sdf_model *top = &world->models.at[system->scene->models[system->model].sdf];
	for (uint32_t i = top->plugin_first; i < top->plugin_first + top->plugin_count; i++)
		if (world->plugins.at[i].element == plugin && world->plugins.at[i].model != SDF_NONE)
			return &world->models.at[world->plugins.at[i].model];
	return top;
}

/* --- joints and links -------------------------------------------------------------------------------------------- */

troupe_status builtin_require_moving(
	const struct system *system, const struct sdf_element *plugin, struct troupe_error *error)
{
	const struct scene_model *model = &system->scene->models[system->model];
	if (!model->is_static)
		return TROUPE_OK;
	return fail(error, TROUPE_EINVAL, "%s:%u: model '%s' is static: expected a model that this plugin can move",
		plugin->file, plugin->line, model->name);
}

static const struct sdf_joint *find_in_file(const struct system *system, const char *scoped)
{
	const struct sdf_world *world = system->scene->models[system->model].from;
	const struct sdf_model *top = &world->models.at[system->scene->models[system->model].sdf];
	for (uint32_t i = top->joint_first; i < top->joint_first + top->joint_count; i++)
		if (!strcmp(world->joints.at[i].scoped, scoped))
			return &world->joints.at[i];
	return NULL;
}

/* The error for a joint that cannot be driven: it does not exist, or has no axis in the scene (fixed, ball, or a kind
 * that is left out). */
static troupe_status refuse_joint(
	const struct system *system, const struct sdf_element *name, const char *scoped, struct troupe_error *error)
{
	const struct scene_model *model = &system->scene->models[system->model];
	const struct sdf_joint *joint = find_in_file(system, scoped);
	if (joint)
		return fail(error, TROUPE_EINVAL,
			"%s:%u: <%s>: joint '%s' is of type %s: expected one that can be driven", name->file,
			name->line, name->name, name->text, sdf_joint_kind_text(joint->kind));
	struct text list = {0};
	for (uint32_t i = 0; i < MIN(model->joint_count, (uint32_t)NAMES_LISTED_MAX); i++)
		text_add(&list, "%s%s", i ? ", " : "", system->scene->joints[model->joint_first + i].name);
	troupe_status status = fail(error, TROUPE_EINVAL,
		"%s:%u: <%s>: there is no joint '%s' in model '%s': expected %s%s", name->file, name->line, name->name,
		name->text, model->name, list.count ? "one of " : "it to have joints", list.count ? list.at : "");
	text_fini(&list);
	return status;
}

static troupe_status find_joint(const struct system *system, const struct sdf_element *plugin,
	const struct sdf_element *name, struct arena *arena, uint32_t *ret_joint, struct troupe_error *error)
{
	const char *scoped = arena_printf(arena, "%s::%s", builtin_owner(system, plugin)->scoped, name->text);
	*ret_joint = scene_find_joint(system->scene, system->model, scoped);
	if (*ret_joint == SCENE_NONE || !system->scene->joints[*ret_joint].axis_count)
		return refuse_joint(system, name, scoped, error);
	return TROUPE_OK;
}

troupe_status builtin_find_joints(const struct system *system, const struct sdf_element *plugin, const char *child,
	struct arena *arena, struct builtin_joints *ret_joints, struct troupe_error *error)
{
	const struct sdf_element *name;
	uint32_t count = 0;
	troupe_status status = builtin_require_moving(system, plugin, error);
	if (status)
		return status;
	for (name = sdf_child(plugin, child, NULL); name; name = sdf_child(plugin, child, name))
		count++;
	if (!count)
		return fail(error, TROUPE_EINVAL, "%s:%u: the plugin has no <%s>: expected the name of a joint",
			plugin->file, plugin->line, child);
	uint32_t *joints = arena_array(arena, uint32_t, count);
	*ret_joints = (struct builtin_joints){joints, sdf_child_text(plugin, child), count};
	name = NULL;
	for (uint32_t i = 0; i < count && !status; i++) {
		name = sdf_child(plugin, child, name);
		status = find_joint(system, plugin, name, arena, &joints[i], error);
	}
	return status;
}

double builtin_joint_position(const struct system_step *step, uint32_t joint)
{
	return state_joint(step->state, joint, false)->position[0];
}

void builtin_drive(const struct builtin_joints *joints, double velocity, const struct control *control)
{
	velocity = builtin_clamp(velocity, -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX);
	for (uint32_t i = 0; i < joints->count; i++) {
		control->joints[joints->at[i]].drive = true;
		control->joints[joints->at[i]].velocity = velocity;
	}
}

void builtin_push(const struct builtin_joints *joints, double force, const struct control *control)
{
	force = builtin_clamp(force, -BUILTIN_NUMBER_MAX, BUILTIN_NUMBER_MAX);
	for (uint32_t i = 0; i < joints->count; i++)
		control->joints[joints->at[i]].force += force;
}

troupe_status builtin_find_link(const struct system *system, const struct sdf_element *plugin,
	const struct sdf_element *name, struct arena *arena, uint32_t *ret_link, struct troupe_error *error)
{
	const struct sdf_model *owner = builtin_owner(system, plugin);
	const char *scoped = arena_printf(arena, "%s::%s", owner->scoped, name->text);
	*ret_link = scene_find_link(system->scene, system->model, scoped);
	if (*ret_link == SCENE_NONE)
		return fail(error, TROUPE_EINVAL, "%s:%u: <%s>: there is no link '%s' in model '%s'", name->file,
			name->line, name->name, name->text, owner->name);
	return TROUPE_OK;
}

/* --- topics --------------------------------------------------------------------------------------------------------
 */

/* Cleans the name, and checks its length. from: the element that error messages name. */
static troupe_status check_topic(char *name, const struct sdf_element *from, struct troupe_error *error)
{
	topic_name_clean(name);
	if (!name[1] || strlen(name) > TOPIC_BYTES_MAX)
		return fail(error, TROUPE_EWORLD, "%s:%u: topic '%.40s' has %zu bytes: expected 2 to %d", from->file,
			from->line, name, strlen(name), TOPIC_BYTES_MAX);
	return TROUPE_OK;
}

static troupe_status add_topic(struct system *system, const struct sdf_element *plugin, const struct sdf_element *from,
	char *name, message_type type, uint32_t tag, struct troupe_error *error)
{
	troupe_status status = check_topic(name, from, error);
	if (status)
		return status;
	if (system->topics.count == SYSTEM_TOPICS_MAX)
		return fail(error, TROUPE_ELIMIT, "%s:%u: the plugin has more than %d topics", plugin->file,
			plugin->line, SYSTEM_TOPICS_MAX);
	vec_push(&system->topics, (struct system_topic){.name = name, .type = type, .tag = tag});
	return TROUPE_OK;
}

/* The child, if it exists and has a text; else NULL. */
static const struct sdf_element *said(const struct sdf_element *plugin, const char *child)
{
	const struct sdf_element *given = child ? sdf_child(plugin, child, NULL) : NULL;
	return given && *given->text ? given : NULL;
}

troupe_status builtin_add_topic(struct system *system, const struct sdf_element *plugin, const char *child,
	const char *usual, message_type type, uint32_t tag, struct arena *arena, struct troupe_error *error)
{
	const struct sdf_element *given = said(plugin, child);
	char *name = given ? arena_printf(arena, "/%s", given->text)
			   : arena_printf(arena, "/model/%s/%s", builtin_owner(system, plugin)->name, usual);
	return add_topic(system, plugin, given ? given : plugin, name, type, tag, error);
}

troupe_status builtin_add_output(struct system *system, const struct sdf_element *plugin, const char *child,
	const char *usual, const struct system_output *output, struct arena *arena, struct troupe_error *error)
{
	const struct sdf_element *given = said(plugin, child);
	char *name = arena_printf(arena, "/%s", given ? given->text : usual);
	troupe_status status = check_topic(name, given ? given : plugin, error);
	if (!status && system->outputs.count == SYSTEM_TOPICS_MAX)
		status = fail(error, TROUPE_ELIMIT, "%s:%u: the plugin publishes more than %d topics", plugin->file,
			plugin->line, SYSTEM_TOPICS_MAX);
	if (status)
		return status;
	vec_push(&system->outputs, *output);
	system->outputs.at[system->outputs.count - 1].name = name;
	return TROUPE_OK;
}

troupe_status builtin_add_joint_topic(struct system *system, const struct sdf_element *plugin, const char *joint,
	const char *usual, const struct builtin_input *input, struct arena *arena, struct troupe_error *error)
{
	message_type type = input->list ? &gz__msgs__actuators__descriptor : &gz__msgs__double__descriptor;
	const struct sdf_element *sub = said(plugin, "sub_topic");
	if (input->list && !sub && !said(plugin, "topic"))
		return add_topic(system, plugin, plugin, arena_printf(arena, "/actuators"), type, 0, error);
	const char *rest = sub ? sub->text : arena_printf(arena, "joint/%s/%s", joint, usual);
	troupe_status status = builtin_add_topic(system, plugin, "topic", rest, type, 0, arena, error);
	if (!status)
		system->topics.at[system->topics.count - 1].joint = arena_strdup(arena, joint);
	return status;
}

/* --- messages for one joint ----------------------------------------------------------------------------------------
 */

troupe_status builtin_read_input(
	const struct sdf_element *plugin, const char *list, struct builtin_input *ret_input, struct troupe_error *error)
{
	struct builtin_input input = {0};
	bool of_actuators = false;
	double number = 0;
	troupe_status status = sdf_child_bool(plugin, "use_actuator_msg", &of_actuators, error);
	if (!status && of_actuators && !said(plugin, "actuator_number"))
		return fail(error, TROUPE_EINVAL,
			"%s:%u: <use_actuator_msg> without <actuator_number>: expected the actuator's number, from 0",
			plugin->file, plugin->line);
	if (!status)
		status = sdf_child_double(
			plugin, "actuator_number", 0, message_limits_usual.items_max - 1, &number, error);
	if (!status && number != floor(number))
		return fail(error, TROUPE_EWORLD, "%s:%u: <actuator_number> is %g: expected a whole number",
			plugin->file, plugin->line, number);
	if (of_actuators)
		input.list = protobuf_c_message_descriptor_get_field_by_name(&gz__msgs__actuators__descriptor, list);
	input.number = (uint32_t)number;
	if (!status)
		*ret_input = input;
	return status;
}

troupe_status builtin_check_input(const struct builtin_input *input, const char *joint, const ProtobufCMessage *message,
	struct troupe_error *error)
{
	size_t count = input->list ? message_field_count(message, input->list) : SIZE_MAX;
	if (input->number < count)
		return TROUPE_OK;
	return fail(error, TROUPE_ECOMMAND,
		"joint '%.100s' is actuator %u, from 0, of %s: expected more than %zu numbers", joint, input->number,
		input->list->name, count);
}

double builtin_input_of(const struct builtin_input *input, const ProtobufCMessage *message, double otherwise)
{
	if (!input->list)
		return ((const Gz__Msgs__Double *)message)->data;
	if (input->number >= message_field_count(message, input->list))
		return otherwise;
	return *(const double *)message_field_at(message, input->list, input->number);
}

/* --- numbers -------------------------------------------------------------------------------------------------------
 */

troupe_status builtin_read_numbers(const struct sdf_element *plugin, const struct builtin_number *numbers, size_t count,
	struct troupe_error *error)
{
	troupe_status status = TROUPE_OK;
	for (size_t i = 0; i < count && !status; i++)
		status = sdf_child_double(
			plugin, numbers[i].name, numbers[i].low, numbers[i].high, numbers[i].value, error);
	return status;
}

troupe_status builtin_read_pid(const struct sdf_element *plugin, struct builtin_pid *pid, struct troupe_error *error)
{
	const double most = BUILTIN_NUMBER_MAX;
	const struct builtin_number numbers[] = {
		{"p_gain", &pid->p, -most, most},
		{"i_gain", &pid->i, -most, most},
		{"d_gain", &pid->d, -most, most},
		{"i_max", &pid->i_max, -most, most},
		{"i_min", &pid->i_min, -most, most},
		{"cmd_max", &pid->cmd_max, -most, most},
		{"cmd_min", &pid->cmd_min, -most, most},
		{"cmd_offset", &pid->cmd_offset, -most, most},
	};
	return builtin_read_numbers(plugin, numbers, ARRAY_LEN(numbers), error);
}

double builtin_pid_update(const struct builtin_pid *pid, struct builtin_pid_words *words, double error, double dt)
{
	const double most = BUILTIN_NUMBER_MAX;
	double rate = (error - words->last_error) / dt;
	words->last_error = error;
	/* the integral includes the gain, so its limits have the unit of the output; it is bounded even without
	 * limits */
	words->integral = builtin_clamp(words->integral + pid->i * error * dt, -most, most);
	if (pid->i_max >= pid->i_min)
		words->integral = builtin_clamp(words->integral, pid->i_min, pid->i_max);
	double out = pid->cmd_offset - pid->p * error - words->integral - pid->d * rate;
	if (pid->cmd_max >= pid->cmd_min)
		out = builtin_clamp(out, pid->cmd_min, pid->cmd_max);
	return builtin_clamp(out, -most, most);
}
