/* Moves a model as one rigid body at the velocity of a Twist in the model's frame, and single links in the same way
 * in their own frames. While a command is active, the velocity is set again before every step, as in Gazebo: gravity
 * and contacts act within a step, but their effects do not add up. Before the first command, nothing is moved. */
#include "builtin/parts.h"

enum { TARGETS_MAX = 32 };

struct velocity_control_words { /* of the model, then of each link */
	uint64_t in_force;
	struct troupe_twist twist;
};

struct velocity_control_config {
	struct velocity_control_words initial;
	const struct troupe_field *field[6]; /* linear x y z, angular x y z */
	uint32_t link_count;
	uint32_t links[TARGETS_MAX]; /* in the order of the topics */
};

static const struct troupe_parameter velocity_control_parameters[] = {
	BUILTIN_TEXT("topic", "of the model's velocity; default: /model/NAME/cmd_vel"),
	BUILTIN_TEXT("link_name", "a link that is moved on its own; its topic: /model/NAME/link/LINK/cmd_vel"),
	{"initial_linear", TROUPE_VECTOR, -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX, "m/s, from the beginning"},
	{"initial_angular", TROUPE_VECTOR, -BUILTIN_VELOCITY_MAX, BUILTIN_VELOCITY_MAX, "rad/s, from the beginning"},
	BUILTIN_END,
};

static void velocity_control_add_words(struct troupe_system *self, const char *of)
{
	static const char *const names[] = {"linear x", "linear y", "linear z", "angular x", "angular y", "angular z"};
	const struct troupe_host *host = self->host;
	host->add_words(self, host->print(self, "%s in force", of), TROUPE_WORD_INTEGER, 1);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		host->add_words(self, host->print(self, "%s %s", of, names[i]), TROUPE_WORD_DOUBLE, 1);
}

/* Input 0 and the first target belong to the model, the others to the links. */
static bool velocity_control_add_links(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct velocity_control_config *config = self->config;
	const struct troupe_element *e = NULL;
	while ((e = host->child(plugin, "link_name", e))) {
		const char *name = host->text_of(e);
		if (!builtin_take(self, plugin, NULL, host->print(self, "link/%s/cmd_vel", name), "gz.msgs.Twist",
			    config->link_count + 1))
			return false;
		uint32_t link = host->link(self, e, name);
		if (link == TROUPE_NOTHING)
			return false;
		velocity_control_add_words(self, name);
		config->links[config->link_count++] = link;
	}
	return true;
}

static bool velocity_control_find_fields(struct troupe_system *self)
{
	static const char *const paths[] = {"linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z"};
	struct velocity_control_config *config = self->config;
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (!(config->field[i] = self->host->field(self, "gz.msgs.Twist", paths[i])))
			return false;
	return true;
}

static bool velocity_control_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct velocity_control_config *config = self->config = host->alloc(self, sizeof *config);
	struct troupe_vec3 zero = troupe_vec3_make(0, 0, 0);
	if (!host->must_move(self) || !velocity_control_find_fields(self))
		return false;
	config->initial.in_force =
		host->child(plugin, "initial_linear", NULL) || host->child(plugin, "initial_angular", NULL);
	config->initial.twist.linear = host->vector(self, plugin, "initial_linear", zero);
	config->initial.twist.angular = host->vector(self, plugin, "initial_angular", zero);
	velocity_control_add_words(self, "the model");
	return builtin_take(self, plugin, "topic", "cmd_vel", "gz.msgs.Twist", 0) &&
	       velocity_control_add_links(self, plugin);
}

static void velocity_control_init(const struct troupe_system *self, void *words)
{
	*(struct velocity_control_words *)words = ((const struct velocity_control_config *)self->config)->initial;
}

static struct troupe_vec3 velocity_control_bounded(struct troupe_vec3 v)
{
	const double most = BUILTIN_VELOCITY_MAX;
	return troupe_vec3_make(
		builtin_clamp(v.x, -most, most), builtin_clamp(v.y, -most, most), builtin_clamp(v.z, -most, most));
}

static void velocity_control_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct velocity_control_config *config = self->config;
	double v[6];
	for (int i = 0; i < 6; i++)
		v[i] = self->host->get(message, config->field[i], 0);
	struct velocity_control_words *target = (struct velocity_control_words *)words + input;
	target->in_force = 1;
	target->twist.linear = velocity_control_bounded(troupe_vec3_make(v[0], v[1], v[2]));
	target->twist.angular = velocity_control_bounded(troupe_vec3_make(v[3], v[4], v[5]));
}

/* The twist in the world's axes; already bounded, except in a damaged state. */
static struct troupe_twist velocity_control_turned(
	const struct velocity_control_words *target, struct troupe_pose frame)
{
	struct troupe_quat q = troupe_pose_turn(frame);
	return (struct troupe_twist){troupe_quat_rotate(q, velocity_control_bounded(target->twist.linear)),
		troupe_quat_rotate(q, velocity_control_bounded(target->twist.angular))};
}

static void velocity_control_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct velocity_control_config *config = self->config;
	const struct velocity_control_words *targets = words;
	if (targets[0].in_force)
		host->model_drive(step, self->model,
			velocity_control_turned(&targets[0], host->model_pose(step, self->model, TROUPE_NOW)));
	for (uint32_t i = 0; i < config->link_count; i++)
		if (targets[1 + i].in_force)
			host->link_drive(step, config->links[i],
				velocity_control_turned(
					&targets[1 + i], host->link_pose(step, config->links[i], TROUPE_NOW)));
}

const struct troupe_kind builtin_velocity_control = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_MODEL | TROUPE_LENIENT | TROUPE_RESTS,
	.names = BUILTIN_NAMES("VelocityControl"),
	.parameters = velocity_control_parameters,
	.configure = velocity_control_configure,
	.init = velocity_control_init,
	.command = velocity_control_command,
	.pre_update = velocity_control_pre_update,
};
