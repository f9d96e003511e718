/* All that a goal is stands in words, so a goal goes on in a run that is resumed, and a replay ends it in the same
 * step. Ids are those of the sender; they fit in a double, in which systems read numbers. */
#include "builtin/joint_trajectory_goal.h"

#include <stdio.h>
#include <string.h>

enum { TOLERANCE_NUMBERS = 2, LISTS = 3 };
#define ID_MAX 9007199254740992.0 /* 2^53 */

struct joint_trajectory_goal_fields {
	const struct troupe_field *id, *cancel, *trajectory, *start_s, *start_ns, *path, *goal, *time_s, *time_ns;
	const struct troupe_field *tolerance_name, *tolerance_position, *tolerance_velocity;
	const struct troupe_field *joints, *points, *lists[LISTS], *after_s, *after_ns;
	const struct troupe_field *state_goal, *state_before, *state_joints, *parts[3];
	const struct troupe_field *result_id, *result_status, *result_code, *result_text;
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

static bool joint_trajectory_goal_find_fields(struct troupe_system *self, struct joint_trajectory_goal_fields *f)
{
	static const char goal[] = "troupe.msgs.TrajectoryGoal", tolerance[] = "troupe.msgs.JointTolerance",
			  state[] = "troupe.msgs.TrajectoryState", result[] = "troupe.msgs.TrajectoryResult",
			  trajectory[] = "gz.msgs.JointTrajectory", point[] = "gz.msgs.JointTrajectoryPoint";
	const struct builtin_field wanted[] = {
		{&f->id, goal, "id"},
		{&f->cancel, goal, "cancel"},
		{&f->trajectory, goal, "trajectory"},
		{&f->start_s, goal, "trajectory.header.stamp.sec"},
		{&f->start_ns, goal, "trajectory.header.stamp.nsec"},
		{&f->path, goal, "path_tolerance"},
		{&f->goal, goal, "goal_tolerance"},
		{&f->time_s, goal, "goal_time_tolerance.sec"},
		{&f->time_ns, goal, "goal_time_tolerance.nsec"},
		{&f->tolerance_name, tolerance, "name"},
		{&f->tolerance_position, tolerance, "position"},
		{&f->tolerance_velocity, tolerance, "velocity"},
		{&f->state_goal, state, "goal"},
		{&f->state_before, state, "before"},
		{&f->state_joints, state, "joint_names"},
		{&f->parts[0], state, "desired"},
		{&f->parts[1], state, "actual"},
		{&f->parts[2], state, "error"},
		{&f->result_id, result, "id"},
		{&f->result_status, result, "status"},
		{&f->result_code, result, "error_code"},
		{&f->result_text, result, "error_string"},
		{&f->joints, trajectory, "joint_names"},
		{&f->points, trajectory, "points"},
		{&f->lists[0], point, "positions"},
		{&f->lists[1], point, "velocities"},
		{&f->lists[2], point, "effort"},
		{&f->after_s, point, "time_from_start.sec"},
		{&f->after_ns, point, "time_from_start.nsec"},
	};
	return builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted);
}

/* The number of the child of that name with this index; of a list that is shorter, 0. */
static double joint_trajectory_goal_number(
	struct troupe_system *self, const struct troupe_element *plugin, const char *name, uint32_t index)
{
	const struct troupe_element *at = NULL;
	for (uint32_t i = 0; i <= index; i++)
		if (!(at = self->host->child(plugin, name, at)))
			return 0;
	return builtin_number_of(self->host->text_of(at));
}

/* The bytes of the namespace of a manager's topic, with its "/", in which the other topic stands, too; 0: it does not.
 */
static size_t joint_trajectory_goal_namespace(const char *manager, const char *topic)
{
	manager += *manager == '/', topic += *topic == '/';
	const char *slash = strrchr(manager, '/');
	size_t bytes = slash ? (size_t)(slash + 1 - manager) : 0;
	return strncmp(manager, topic, bytes) ? 0 : bytes;
}

/* A manager that lists the controller switches it. Robots that are nested in one model have a manager each: that counts
 * whose namespace is the controller's, or the nearest around it; of several the first. */
static bool joint_trajectory_goal_find_manager(
	struct troupe_system *self, struct joint_trajectory_goals *goals, const char *goal_topic)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *plugin = NULL, *found = NULL;
	const char *topic = NULL;
	size_t nearest = 0;
	while (*goals->controller && (plugin = host->sibling(self, plugin))) {
		if (!builtin_is_named(host, plugin, "::ControllerManager") ||
			!controllers_lists(host, plugin, goals->controller))
			continue;
		const char *manager = builtin_topic(self, plugin, "topic", "controller_manager", NULL);
		const size_t near = joint_trajectory_goal_namespace(manager, goal_topic);
		if (!found || near > nearest)
			found = plugin, nearest = near, topic = manager;
	}
	if (!found)
		return true;
	struct controllers *controllers = host->alloc(self, sizeof *controllers);
	goals->controllers = controllers;
	return controllers_read(self, found, controllers) &&
	       host->take(self, found, host->print(self, "%s/switch_controller", topic), "troupe.msgs.ControllerSwitch",
		       JOINT_TRAJECTORY_INPUT_SWITCH, TROUPE_NOTHING);
}

bool joint_trajectory_goal_configure(struct troupe_system *self, const struct troupe_element *plugin,
	struct joint_trajectory_goals *goals, const char *topic)
{
	const struct troupe_host *host = self->host;
	const char *slash = strrchr(topic, '/');
	const char *name =
		host->print(self, "%.*sfollow_joint_trajectory", slash ? (int)(slash + 1 - topic) : 0, topic);
	const struct troupe_output state = {.name = host->print(self, "%s/state", name),
		.type = "troupe.msgs.TrajectoryState",
		.gives = TROUPE_GIVES_REPORT};
	goals->offered = host->boolean(self, plugin, "follow_joint_trajectory", false);
	if (!goals->offered)
		return true;
	goals->fields = host->alloc(self, sizeof *goals->fields);
	goals->controller = host->text(plugin, "controller_name", "");
	goals->partial = host->boolean(self, plugin, "allow_partial_joints_goal", false);
	goals->goal_time = host->number(self, plugin, "goal_time_tolerance", 0);
	for (uint32_t i = 0; i < goals->count; i++) {
		goals->path[i].position = joint_trajectory_goal_number(self, plugin, "path_tolerance", i);
		goals->goal[i].position = joint_trajectory_goal_number(self, plugin, "goal_tolerance", i);
		goals->goal[i].velocity = host->number(self, plugin, "stopped_velocity_tolerance", 0.01);
	}
	return joint_trajectory_goal_find_fields(self, goals->fields) &&
	       host->serve(self, plugin, name, "troupe.msgs.TrajectoryGoal", "gz.msgs.Empty",
		       JOINT_TRAJECTORY_INPUT_GOAL) &&
	       joint_trajectory_goal_find_manager(self, goals, name) &&
	       host->give(self, plugin, &state, &goals->output);
}

static void joint_trajectory_goal_add_outcome(struct troupe_system *self, const char *of)
{
	static const char *const names[] = {"id", "end", "joint", "by its velocity"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		self->host->add_words(self, self->host->print(self, "%s: %s", of, names[i]), TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, self->host->print(self, "%s: error", of), TROUPE_WORD_DOUBLE, 1);
	self->host->add_words(self, self->host->print(self, "%s: limit", of), TROUPE_WORD_DOUBLE, 1);
}

void joint_trajectory_goal_add_words(struct troupe_system *self, const struct joint_trajectory_goals *goals)
{
	static const char *const tolerances[] = {"path position", "path velocity", "goal position", "goal velocity"};
	self->host->add_words(self, "state", TROUPE_WORD_INTEGER, 1);
	self->host->add_words(self, "holds", TROUPE_WORD_INTEGER, 1);
	joint_trajectory_goal_add_outcome(self, "goal");
	joint_trajectory_goal_add_outcome(self, "goal before");
	self->host->add_words(self, "goal time", TROUPE_WORD_DOUBLE, 1);
	for (uint32_t j = 0; j < goals->count; j++)
		for (size_t i = 0; i < sizeof tolerances / sizeof *tolerances; i++)
			self->host->add_words(self,
				self->host->print(self, "%s: tolerance, %s", goals->names[j], tolerances[i]),
				TROUPE_WORD_DOUBLE, 1);
}
_Static_assert(sizeof(struct joint_trajectory_goal_words) == 15 * 8 && sizeof(struct joint_goal_tolerances) == 4 * 8,
	"each word has a name");

/* --- checks ------------------------------------------------------------------------------------------------------- */

static uint32_t joint_trajectory_goal_find(const struct joint_trajectory_goals *goals, const char *name)
{
	uint32_t i = 0;
	while (i < goals->count && strcmp(goals->names[i], name))
		i++;
	return i;
}

static double joint_trajectory_goal_time(const struct troupe_host *host, const struct troupe_message *message,
	const struct troupe_field *seconds, const struct troupe_field *ns)
{
	return host->get(message, seconds, 0) + host->get(message, ns, 0) * 1e-9;
}

static bool joint_trajectory_goal_check_joints(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *trajectory, char why[TROUPE_WHY_BYTES])
{
	const struct troupe_host *host = self->host;
	bool named[JOINT_TRAJECTORY_JOINTS_MAX] = {false};
	uint32_t count = host->count(trajectory, goals->fields->joints);
	for (uint32_t i = 0; i < count; i++) {
		const char *name = host->get_text(trajectory, goals->fields->joints, i);
		uint32_t joint = joint_trajectory_goal_find(goals, name);
		if (joint == goals->count || named[joint]) {
			(void)snprintf(why, TROUPE_WHY_BYTES,
				joint == goals->count ? "joint '%.80s' is not this controller's: expected its joints"
						      : "joint '%.80s' is named twice: expected each joint once",
				name);
			return false;
		}
		named[joint] = true;
	}
	for (uint32_t i = 0; i < goals->count && !goals->partial; i++)
		if (!named[i]) {
			(void)snprintf(why, TROUPE_WHY_BYTES,
				"joint '%.80s' is not named: expected all joints of the controller", goals->names[i]);
			return false;
		}
	if (!count)
		(void)snprintf(why, TROUPE_WHY_BYTES, "the trajectory has no joint_names: expected one or more");
	return count;
}

static bool joint_trajectory_goal_check_point(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *point, uint32_t joints,
	char why[TROUPE_WHY_BYTES])
{
	static const char *const lists[LISTS] = {"positions", "velocities", "effort"};
	for (int i = 0; i < LISTS; i++) {
		uint32_t count = self->host->count(point, goals->fields->lists[i]);
		if (count == joints || (!count && i))
			continue;
		(void)snprintf(why, TROUPE_WHY_BYTES, "%u %s for %u joints: expected one for each%s", count, lists[i],
			joints, i ? ", or none" : "");
		return false;
	}
	for (int i = 0; i < LISTS; i++)
		for (uint32_t j = 0; j < self->host->count(point, goals->fields->lists[i]); j++)
			if (!isfinite(self->host->get(point, goals->fields->lists[i], j))) {
				(void)snprintf(why, TROUPE_WHY_BYTES, "%s: not a finite number", lists[i]);
				return false;
			}
	return true;
}

static bool joint_trajectory_goal_check_points(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *trajectory, char why[TROUPE_WHY_BYTES])
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	const struct troupe_host *host = self->host;
	uint32_t count = host->count(trajectory, f->points), joints = host->count(trajectory, f->joints);
	double before = -1;
	if (!count || count > goals->points_max) {
		(void)snprintf(why, TROUPE_WHY_BYTES, "the trajectory has %u points: expected 1 to %u", count,
			goals->points_max);
		return false;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct troupe_message *point = host->get_part(trajectory, f->points, i);
		double at = joint_trajectory_goal_time(host, point, f->after_s, f->after_ns);
		char reason[TROUPE_WHY_BYTES];
		if (!joint_trajectory_goal_check_point(self, goals, point, joints, reason)) {
			(void)snprintf(why, TROUPE_WHY_BYTES, "point %u: %.200s", i, reason);
			return false;
		}
		if (!(at > before) || at < 0) {
			(void)snprintf(why, TROUPE_WHY_BYTES,
				"point %u: time_from_start %g s: expected more than that of the point before it", i,
				at);
			return false;
		}
		before = at;
	}
	return true;
}

static bool joint_trajectory_goal_check_tolerances(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *message,
	const struct troupe_field *list, const char *shown, char why[TROUPE_WHY_BYTES])
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	for (uint32_t i = 0; i < self->host->count(message, list); i++) {
		const struct troupe_message *row = self->host->get_part(message, list, i);
		const char *name = self->host->get_text(row, f->tolerance_name, 0);
		bool known = joint_trajectory_goal_find(goals, name) < goals->count;
		if (known && isfinite(self->host->get(row, f->tolerance_position, 0)) &&
			isfinite(self->host->get(row, f->tolerance_velocity, 0)))
			continue;
		(void)snprintf(why, TROUPE_WHY_BYTES,
			known ? "%s of joint '%.80s': expected finite numbers"
			      : "%s: joint '%.80s' is not this controller's: expected its joints",
			shown, name);
		return false;
	}
	return true;
}

static bool joint_trajectory_goal_check_goal(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	const struct troupe_message *trajectory = self->host->get_part(message, f->trajectory, 0);
	double id = self->host->get(message, f->id, 0);
	if (!(id >= 1 && id <= ID_MAX)) {
		(void)snprintf(why, TROUPE_WHY_BYTES, "id: expected 1 to 2^53");
		return false;
	}
	if (self->host->get(message, f->cancel, 0) != 0)
		return true;
	if (!trajectory) {
		(void)snprintf(why, TROUPE_WHY_BYTES, "expected a trajectory");
		return false;
	}
	return joint_trajectory_goal_check_joints(self, goals, trajectory, why) &&
	       joint_trajectory_goal_check_points(self, goals, trajectory, why) &&
	       joint_trajectory_goal_check_tolerances(self, goals, message, f->path, "path_tolerance", why) &&
	       joint_trajectory_goal_check_tolerances(self, goals, message, f->goal, "goal_tolerance", why);
}

bool joint_trajectory_goal_check(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	uint32_t input, const struct troupe_message *message, char why[TROUPE_WHY_BYTES])
{
	return input == JOINT_TRAJECTORY_INPUT_GOAL
		       ? joint_trajectory_goal_check_goal(self, goals, message, why)
		       : !goals->controllers || controllers_check(self, goals->controllers, message, why);
}

/* --- commands ----------------------------------------------------------------------------------------------------- */

static void joint_trajectory_goal_end(struct joint_trajectory_goal_words *w, enum joint_trajectory_end end)
{
	if (w->now.end != JOINT_TRAJECTORY_EXECUTING)
		return;
	w->now.end = (uint64_t)end;
	w->holds = end == JOINT_TRAJECTORY_CANCELLED;
}

static struct joint_goal_tolerances *joint_trajectory_goal_tolerances(struct joint_trajectory_goal_words *w)
{
	return (struct joint_goal_tolerances *)(w + 1);
}

static double joint_trajectory_goal_limit(double given, double usual)
{
	return given > 0 ? given : given < 0 ? 0 : usual;
}

static void joint_trajectory_goal_set_tolerances(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct troupe_message *message, bool of_path,
	struct joint_trajectory_goal_words *w)
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	const struct troupe_field *list = of_path ? f->path : f->goal;
	for (uint32_t i = 0; i < self->host->count(message, list); i++) {
		const struct troupe_message *row = self->host->get_part(message, list, i);
		uint32_t joint = joint_trajectory_goal_find(goals, self->host->get_text(row, f->tolerance_name, 0));
		if (joint == goals->count)
			continue;
		struct joint_goal_tolerances *of = &joint_trajectory_goal_tolerances(w)[joint];
		struct joint_tolerance *to = of_path ? &of->path : &of->goal;
		to->position =
			joint_trajectory_goal_limit(self->host->get(row, f->tolerance_position, 0), to->position);
		to->velocity =
			joint_trajectory_goal_limit(self->host->get(row, f->tolerance_velocity, 0), to->velocity);
	}
}

static void joint_trajectory_goal_begin(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const struct troupe_message *message, struct joint_trajectory_goal_words *w)
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	double limit_s = joint_trajectory_goal_time(self->host, message, f->time_s, f->time_ns);
	for (uint32_t i = 0; i < goals->count; i++)
		joint_trajectory_goal_tolerances(w)[i] = (struct joint_goal_tolerances){goals->path[i], goals->goal[i]};
	joint_trajectory_goal_set_tolerances(self, goals, message, true, w);
	joint_trajectory_goal_set_tolerances(self, goals, message, false, w);
	w->goal_time = joint_trajectory_goal_limit(limit_s, goals->goal_time);
	w->now.end = JOINT_TRAJECTORY_EXECUTING;
	w->holds = 0;
}

bool joint_trajectory_goal_take(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const struct troupe_message *message, void *words, const struct troupe_message **ret_trajectory,
	double *ret_start_s)
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	struct joint_trajectory_goal_words *w = words;
	uint64_t id = (uint64_t)builtin_clamp(self->host->get(message, f->id, 0), 0, ID_MAX);
	if (self->host->get(message, f->cancel, 0) != 0) {
		if (w->now.id == id)
			joint_trajectory_goal_end(w, JOINT_TRAJECTORY_CANCELLED);
		return false;
	}
	joint_trajectory_goal_end(w, JOINT_TRAJECTORY_REPLACED);
	w->before = w->now;
	w->now = (struct joint_trajectory_outcome){.id = id, .end = JOINT_TRAJECTORY_REFUSED};
	if (w->state != CONTROLLER_ACTIVE)
		return false;
	joint_trajectory_goal_begin(self, goals, message, w);
	*ret_trajectory = self->host->get_part(message, f->trajectory, 0);
	*ret_start_s = joint_trajectory_goal_time(self->host, message, f->start_s, f->start_ns);
	return true;
}

/* Deactivated and activated at once is a new start: it is active in the end. */
void joint_trajectory_goal_switch(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const struct troupe_message *message, void *words)
{
	struct joint_trajectory_goal_words *w = words;
	const struct controllers *all = goals->controllers;
	if (w->state == CONTROLLER_ACTIVE &&
		controllers_names(self, all, message, CONTROLLERS_DEACTIVATE, goals->controller)) {
		joint_trajectory_goal_end(w, JOINT_TRAJECTORY_DEACTIVATED);
		w->holds = 1;
	}
	w->state = controllers_next(self, all, message, goals->controller, w->state);
}

bool joint_trajectory_goal_override(void *words)
{
	struct joint_trajectory_goal_words *w = words;
	if (w->state != CONTROLLER_ACTIVE)
		return false;
	joint_trajectory_goal_end(w, JOINT_TRAJECTORY_OVERRIDDEN);
	w->holds = 0;
	return true;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

bool joint_trajectory_goal_holds(void *words)
{
	struct joint_trajectory_goal_words *w = words;
	bool holds = w->holds;
	w->holds = 0;
	return holds;
}

/* Whether the error is beyond the limit; then it is noted. */
static bool joint_trajectory_goal_leaves(
	struct joint_trajectory_outcome *outcome, uint32_t joint, bool velocity, double error, double limit)
{
	if (!(limit > 0) || fabs(error) <= limit)
		return false;
	outcome->joint = joint;
	outcome->velocity = velocity;
	outcome->error = error;
	outcome->limit = limit;
	return true;
}

/* Whether a joint has left its tolerances; the first one is noted. */
static bool joint_trajectory_goal_is_outside(const struct joint_trajectory_goals *goals,
	struct joint_trajectory_goal_words *w, const struct joint_trajectory_course_now *now, bool of_path)
{
	for (uint32_t i = 0; i < goals->count; i++) {
		const struct joint_goal_tolerances *of = &joint_trajectory_goal_tolerances(w)[i];
		const struct joint_tolerance *tolerance = of_path ? &of->path : &of->goal;
		if (joint_trajectory_goal_leaves(
			    &w->now, i, false, now->position[i] - now->at[i], tolerance->position) ||
			joint_trajectory_goal_leaves(
				&w->now, i, true, now->velocity[i] - now->moves[i], tolerance->velocity))
			return true;
	}
	w->now.joint = w->now.velocity = 0;
	w->now.error = w->now.limit = 0;
	return false;
}

bool joint_trajectory_goal_watch(const struct joint_trajectory_goals *goals, void *words,
	const struct joint_trajectory_course_now *now, double left_s)
{
	struct joint_trajectory_goal_words *w = words;
	if (w->now.end != JOINT_TRAJECTORY_EXECUTING)
		return false;
	bool outside = joint_trajectory_goal_is_outside(goals, w, now, left_s > 0);
	if (left_s > 0) {
		if (outside)
			w->now.end = JOINT_TRAJECTORY_LEFT_PATH;
	} else if (!outside) {
		w->now.end = JOINT_TRAJECTORY_SUCCEEDED;
	} else if (w->goal_time > 0 && -left_s > w->goal_time) {
		w->now.end = JOINT_TRAJECTORY_LEFT_GOAL;
	}
	return w->now.end == JOINT_TRAJECTORY_LEFT_PATH || w->now.end == JOINT_TRAJECTORY_LEFT_GOAL;
}

/* --- reports ------------------------------------------------------------------------------------------------------ */

/* Numbers of action_msgs/GoalStatus and of FollowJointTrajectory. */
static const struct {
	uint8_t status;
	int8_t code;
	const char *text;
} joint_trajectory_goal_ends[JOINT_TRAJECTORY_ENDS] = {
	[JOINT_TRAJECTORY_NO_GOAL] = {0, 0, ""},
	[JOINT_TRAJECTORY_EXECUTING] = {2, 0, ""},
	[JOINT_TRAJECTORY_SUCCEEDED] = {4, 0, ""},
	[JOINT_TRAJECTORY_LEFT_PATH] = {6, -4, "path tolerance"},
	[JOINT_TRAJECTORY_LEFT_GOAL] = {6, -5, "goal tolerance"},
	[JOINT_TRAJECTORY_CANCELLED] = {5, 0, "the goal was cancelled"},
	[JOINT_TRAJECTORY_REPLACED] = {5, 0, "another goal has come"},
	[JOINT_TRAJECTORY_OVERRIDDEN] = {5, 0, "a trajectory has come on the controller's topic"},
	[JOINT_TRAJECTORY_DEACTIVATED] = {5, 0, "the controller was deactivated"},
	[JOINT_TRAJECTORY_REFUSED] = {0, -1, "the controller is not active: expected switch_controller first"},
};

static void joint_trajectory_goal_put_result(const struct troupe_system *self,
	const struct joint_trajectory_goals *goals, const struct joint_trajectory_outcome *outcome,
	const struct troupe_field *field, struct troupe_message *message)
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	const struct troupe_host *host = self->host;
	struct troupe_message *result = host->put_part(message, field);
	uint64_t end = outcome->end < JOINT_TRAJECTORY_ENDS ? outcome->end : JOINT_TRAJECTORY_NO_GOAL;
	const char *text = joint_trajectory_goal_ends[end].text;
	char line[TROUPE_WHY_BYTES];
	if ((end == JOINT_TRAJECTORY_LEFT_PATH || end == JOINT_TRAJECTORY_LEFT_GOAL) && outcome->joint < goals->count) {
		(void)snprintf(line, sizeof line,
			"%s: joint '%.80s' has an error of %.4g in its %s: expected at most %.4g", text,
			goals->names[outcome->joint], outcome->error, outcome->velocity ? "velocity" : "position",
			outcome->limit);
		text = line;
	}
	host->put(result, f->result_id, (double)outcome->id);
	host->put(result, f->result_status, joint_trajectory_goal_ends[end].status);
	host->put(result, f->result_code, joint_trajectory_goal_ends[end].code);
	host->put_text(result, f->result_text, text);
}

void joint_trajectory_goal_report(const struct troupe_system *self, const struct joint_trajectory_goals *goals,
	const void *words, const struct joint_trajectory_course_now *now, struct troupe_message *message)
{
	const struct joint_trajectory_goal_fields *f = goals->fields;
	const struct joint_trajectory_goal_words *w = words;
	const struct troupe_host *host = self->host;
	struct troupe_message *parts[3];
	joint_trajectory_goal_put_result(self, goals, &w->now, f->state_goal, message);
	joint_trajectory_goal_put_result(self, goals, &w->before, f->state_before, message);
	for (int i = 0; i < 3; i++)
		parts[i] = host->put_part(message, f->parts[i]);
	for (uint32_t j = 0; j < goals->count; j++) {
		const double rows[3][TOLERANCE_NUMBERS] = {{now->position[j], now->velocity[j]},
			{now->at[j], now->moves[j]}, {now->position[j] - now->at[j], now->velocity[j] - now->moves[j]}};
		host->put_text(message, f->state_joints, goals->names[j]);
		for (int i = 0; i < 3; i++) {
			host->put(parts[i], f->lists[0], rows[i][0]);
			host->put(parts[i], f->lists[1], rows[i][1]);
		}
	}
}
