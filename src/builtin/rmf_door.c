/* A door of Open-RMF: one or two joints that open and close. It takes rmf_door_msgs/DoorRequest on /door_requests and
 * gives its rmf_door_msgs/DoorState on /door_states, once a second and when it changes (here:
 * troupe.msgs.DoorRequest and DoorState). Its name is that of the model in which the <plugin> stands.
 *
 * Lifts ask for doors, and hear of them, on /rmf/lift_door_requests and /rmf/lift_door_states.
 *
 * The right joint is closed at its lower stop and open at its upper one, the left joint the other way round; a joint
 * without stops has -1.57 and 0 rad. Newer worlds have the same as <component name="Door"> of libregister_component.so
 * in the model, with <ros_interface>, and libdoor.so in the world. */
#include "builtin/rmf_parts.h"

#include <stdio.h>
#include <string.h>

enum { RMF_DOOR_JOINTS = 2 };

struct rmf_door_config {
	struct rmf_part part;
	const char *name;
	bool is_public; /* clients may ask for it, and hear its state; else lifts only */
	uint32_t joint_count, output, lift_output;
	struct {
		uint32_t joint;
		bool is_left;
	} joints[RMF_DOOR_JOINTS];
	struct rmf_motion motion;
	const struct troupe_field *asked_name, *asked_mode, *name_field, *mode_field;
};

struct rmf_door_words {
	uint64_t opens;        /* it is wanted open */
	uint64_t told, second; /* mode + 1, and the second in which it was told */
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

static bool rmf_door_add_joint(
	struct troupe_system *self, const struct troupe_element *door, const char *attribute, bool is_left)
{
	const struct troupe_host *host = self->host;
	struct rmf_door_config *config = self->config;
	const char *name = host->attribute(door, attribute);
	if (!name || !*name || !strcmp(name, "empty_joint"))
		return true;
	uint32_t joint = rmf_joint(self, name);
	if (joint == TROUPE_NOTHING)
		return host->leave_out(self, door, "there is no joint '%.100s' that can be driven", name);
	config->joints[config->joint_count].joint = joint;
	config->joints[config->joint_count++].is_left = is_left;
	return true;
}

static bool rmf_door_find_fields(struct troupe_system *self, struct rmf_door_config *config)
{
	const struct troupe_host *host = self->host;
	config->asked_name = host->field(self, "troupe.msgs.DoorRequest", "door_name");
	config->asked_mode = host->field(self, "troupe.msgs.DoorRequest", "requested_mode");
	config->name_field = host->field(self, "troupe.msgs.DoorState", "door_name");
	config->mode_field = host->field(self, "troupe.msgs.DoorState", "current_mode");
	return config->asked_name && config->asked_mode && config->name_field && config->mode_field;
}

static bool rmf_door_open_topics(
	struct troupe_system *self, const struct troupe_element *at, struct rmf_door_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_output state = {
		.name = RMF_DOOR_STATES, .type = "troupe.msgs.DoorState", .gives = TROUPE_GIVES_PUBLISHED};
	const struct troupe_output to_lifts = {
		.name = RMF_LIFT_DOOR_STATES, .type = "troupe.msgs.DoorState", .gives = TROUPE_GIVES_PUBLISHED};
	if (config->is_public &&
		(!host->take(self, at, RMF_DOOR_REQUESTS, "troupe.msgs.DoorRequest", 0, TROUPE_NOTHING) ||
			!host->give(self, at, &state, &config->output)))
		return false;
	return host->take(self, at, RMF_LIFT_DOOR_REQUESTS, "troupe.msgs.DoorRequest", 0, TROUPE_NOTHING) &&
	       host->give(self, at, &to_lifts, &config->lift_output);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static bool rmf_door_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct rmf_door_config *config = self->config;
	double mode = self->host->get(message, config->asked_mode, 0);
	(void)input;
	if (mode == RMF_CLOSED || mode == RMF_OPEN)
		return true;
	(void)snprintf(why, TROUPE_WHY_BYTES, "requested_mode is %.0f: expected %d (closed) or %d (open)", mode,
		RMF_CLOSED, RMF_OPEN);
	return false;
}

static void rmf_door_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rmf_door_config *config = self->config;
	struct rmf_door_words *w = words;
	(void)input;
	if (!strcmp(self->host->get_text(message, config->asked_name, 0), config->name))
		w->opens = self->host->get(message, config->asked_mode, 0) == RMF_OPEN;
}

/* How far the joint is from being open, or closed. */
static double rmf_door_distance(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t index, bool to_open)
{
	static const double usual_lower = -1.57;
	const struct rmf_door_config *config = self->config;
	uint32_t joint = config->joints[index].joint;
	struct troupe_axis axis = self->host->joint_axis(step, joint, 0, TROUPE_NOW);
	bool has_stops = isfinite(axis.lower) && isfinite(axis.upper);
	double lower = has_stops ? axis.lower : usual_lower, upper = has_stops ? axis.upper : 0;
	double target = config->joints[index].is_left == to_open ? lower : upper;
	return target - self->host->joint_position(step, joint, 0, TROUPE_NOW);
}

static void rmf_door_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_door_config *config = self->config;
	const struct rmf_door_words *w = words;
	for (uint32_t i = 0; i < config->joint_count; i++) {
		uint32_t joint = config->joints[i].joint;
		double speed = self->host->joint_velocity(step, joint, 0, TROUPE_NOW);
		double distance = rmf_door_distance(self, step, i, w->opens);
		self->host->joint_drive(step, joint, rmf_speed(&config->motion, distance, speed, 0, step->dt));
	}
}

static enum rmf_mode rmf_door_mode(const struct troupe_system *self, const struct troupe_step *step)
{
	const struct rmf_door_config *config = self->config;
	bool is_open = true, is_closed = true;
	for (uint32_t i = 0; i < config->joint_count; i++) {
		is_open &= fabs(rmf_door_distance(self, step, i, true)) <= config->motion.near;
		is_closed &= fabs(rmf_door_distance(self, step, i, false)) <= config->motion.near;
	}
	return is_open ? RMF_OPEN : is_closed ? RMF_CLOSED : RMF_MOVING;
}

static void rmf_door_tell(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t output, enum rmf_mode mode)
{
	const struct rmf_door_config *config = self->config;
	struct troupe_message *message = self->host->message(step, "troupe.msgs.DoorState");
	self->host->put_text(message, config->name_field, config->name);
	self->host->put(message, config->mode_field, mode);
	self->host->publish(self, step, output, message);
}

static void rmf_door_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_door_config *config = self->config;
	struct rmf_door_words *w = words;
	uint64_t second = (uint64_t)(step->time_s + 1e-9), told = (uint64_t)rmf_door_mode(self, step) + 1;
	if (w->told == told && w->second == second)
		return;
	w->told = told;
	w->second = second;
	if (config->is_public)
		rmf_door_tell(self, step, config->output, (enum rmf_mode)(told - 1));
	rmf_door_tell(self, step, config->lift_output, (enum rmf_mode)(told - 1));
}

bool rmf_door_configure(struct troupe_system *self, const struct troupe_element *at, bool is_public)
{
	const struct troupe_host *host = self->host;
	struct rmf_door_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *door = host->child(at, "door", NULL);
	config->part = (struct rmf_part){rmf_door_check, rmf_door_command, rmf_door_update, rmf_door_pre_update};
	config->name = host->owner_name(self);
	config->is_public = is_public;
	config->motion = rmf_read_motion(self, at, "door");
	if (!door)
		return host->leave_out(self, at, "expected <door>");
	if (!rmf_door_add_joint(self, door, "left_joint_name", true) ||
		!rmf_door_add_joint(self, door, "right_joint_name", false))
		return false;
	if (!config->joint_count)
		return host->leave_out(self, door, "expected left_joint_name or right_joint_name");
	host->add_words(
		self, "is wanted open, mode that was told, second in which it was told", TROUPE_WORD_INTEGER, 3);
	return rmf_door_find_fields(self, config) && rmf_door_open_topics(self, at, config);
}
