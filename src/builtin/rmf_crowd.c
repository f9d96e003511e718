/* Open-RMF's crowd: libcrowd_simulation.so of the world. People walk over a navigation mesh from goal to goal, around
 * each other, around robots (<external_agent>) and away from walls. sdf/menge.c has put into the <plugin> what the
 * files of Menge say, and the models of the people into the world:
 *
 *     <profile>    r neighbor_dist max_neighbors pref_speed max_speed max_accel max_angle_vel tau tauObst
 *     <agent>      name profile state, external (true: a robot), group and entry: where its person hears of it
 *     <behavior>   the <BFSM>; <nav_mesh name>: the lines of the file; <obstacles>: the name of the mesh of walls
 *
 * Each <update_time_step> the system decides on the velocities of all people, from where they are in state k (orca.h,
 * crowd_plan.h, crowd_mesh.h), and publishes them: on /crowd/GROUP three numbers for each entry, velocity along x and y
 * of the world and about z. RmfPerson, in the model of a person, moves it so. Its words are, for each agent, state and
 * goal, when it entered the state, and when it last got on; of a robot, where it was seen last.
 *
 * Where the time of the run is set back, times that lie ahead of it become the present time: a person's time in its
 * state begins anew. Where it is set forward, all that time has passed. A reset of all begins with the first decision.
 */
#include "builtin/crowd_plan.h"
#include "builtin/rmf_parts.h"

#include <string.h>

enum {
	RMF_CROWD_AGENTS_MAX = 1000, /* their words are those of one system; as in sdf/menge.c */
	RMF_CROWD_GROUPS_MAX = 24,
	RMF_CROWD_MESHES_MAX = 16,
	RMF_CROWD_PROFILES_MAX = 1000,
	RMF_CROWD_PATIENCE_NS = 1000000000,
	RMF_CROWD_SIDES = 1 << 30, /* sequences of random numbers, from the first on that crowd_plan.c does not use */
};
#define RMF_CROWD_NOT_YET UINT64_MAX /* later than all times, so it becomes the present one */
#define RMF_CROWD_STILL 1e-3         /* m/s: somebody who is slower does not turn */

struct rmf_crowd_profile {
	double radius, reach, speed, speed_max, acceleration_max, turn_max, horizon, wall_horizon;
	uint32_t neighbours_max;
};

struct rmf_crowd_agent {
	const char *name;
	const struct rmf_crowd_profile *profile;
	uint32_t state, group, entry;
	bool external;
};

struct rmf_crowd_config {
	struct rmf_crowd_profile *profiles;
	struct rmf_crowd_agent *agents;
	uint32_t profile_count, agent_count, mesh_count;
	struct crowd_named_mesh meshes[RMF_CROWD_MESHES_MAX];
	const struct crowd_mesh *walls; /* NULL: none */
	struct crowd_plan plan;
	double step_s;
	uint32_t outputs[RMF_CROWD_GROUPS_MAX], entries[RMF_CROWD_GROUPS_MAX];
	uint32_t *who[RMF_CROWD_GROUPS_MAX]; /* for each entry: the agent + 1; 0: none */
	const struct troupe_field *numbers;
};

struct rmf_crowd_words {
	uint64_t next_ns; /* of the next decision */
	struct rmf_crowd_memory {
		uint64_t doing;      /* state, and from bit 32 on the goal + 1; of a robot: the bits of its x */
		uint64_t entered_ns; /* of a robot: the bits of its y; RMF_CROWD_NOT_YET until the first decision */
		uint64_t got_on_ns;  /* when it last was fast enough, or had nowhere to go; of a robot: 0 */
	} agents[];
};

/* An agent in a decision. */
struct rmf_crowd_seen {
	struct orca_vec place, velocity, next; /* next: the velocity that was decided on */
	double yaw, turn;                      /* rad, rad/s */
	bool there;
};

struct rmf_crowd_decision {
	const struct troupe_system *self;
	const struct troupe_step *step;
	uint64_t now_ns;
	double dt;
	struct rmf_crowd_seen *seen; /* of each agent */
	uint32_t *used;              /* of each goal: for how many people it is the goal */
};

static const struct troupe_words rmf_crowd_word_names[] = {
	{"next decision, ns", TROUPE_WORD_INTEGER},
	{NULL, TROUPE_WORD_INTEGER},
};

static const struct troupe_parameter rmf_crowd_parameters[] = {
	BUILTIN_TEXT("behavior_file", "of Menge"),
	BUILTIN_TEXT("scene_file", "of Menge"),
	BUILTIN_TEXT("resource_path", "where these files are"),
	BUILTIN_BETWEEN("update_time_step", 0, 1e3, "s between decisions, default 0.1"),
	BUILTIN_PARTS("model_type", "a kind of people"),
	BUILTIN_TEXT("external_agent", "a robot that people see"),
	BUILTIN_PARTS("profile", "what people of a profile can do"),
	BUILTIN_PARTS("agent", "a person or a robot"),
	BUILTIN_TEXT("obstacles", "the navigation mesh whose walls count"),
	BUILTIN_PARTS("behavior", "states, transitions and goals"),
	BUILTIN_PARTS("nav_mesh", "lines of a navigation mesh"),
	BUILTIN_END,
};

/* --- reading ------------------------------------------------------------------------------------------------------ */

static uint32_t rmf_crowd_count(struct troupe_system *self, const struct troupe_element *plugin, const char *name)
{
	const struct troupe_element *at = NULL;
	uint32_t count = 0;
	while ((at = self->host->child(plugin, name, at)))
		count++;
	return count;
}

/* A number in a range, also of elements that a person wrote. */
static bool rmf_crowd_number(struct troupe_system *self, const struct troupe_element *at, const char *name, double low,
	double high, double otherwise, double *ret_value)
{
	*ret_value = self->host->number(self, at, name, otherwise);
	if (*ret_value >= low && *ret_value <= high)
		return true;
	return self->host->refuse(self, at, "<%s> is %g: expected a number from %g to %g", name, *ret_value, low, high);
}

static bool rmf_crowd_read_profile(
	struct troupe_system *self, const struct troupe_element *at, struct rmf_crowd_profile *profile)
{
	double neighbours, turn_deg;
	bool good = rmf_crowd_number(self, at, "r", 1e-3, 100, 0.19, &profile->radius) &&
		    rmf_crowd_number(self, at, "neighbor_dist", 0, 1e3, 5, &profile->reach) &&
		    rmf_crowd_number(self, at, "max_neighbors", 0, 1e6, 10, &neighbours) &&
		    rmf_crowd_number(self, at, "pref_speed", 0, 100, 1.04, &profile->speed) &&
		    rmf_crowd_number(self, at, "max_speed", 0, 100, 2, &profile->speed_max) &&
		    rmf_crowd_number(self, at, "max_accel", 0, 1e6, 5, &profile->acceleration_max) &&
		    rmf_crowd_number(self, at, "max_angle_vel", 0, 1e6, 360, &turn_deg) &&
		    rmf_crowd_number(self, at, "tau", 1e-3, 1e6, 2.5, &profile->horizon) &&
		    rmf_crowd_number(self, at, "tauObst", 1e-3, 1e6, 0.15, &profile->wall_horizon);
	profile->neighbours_max = good ? (uint32_t)builtin_clamp(neighbours, 0, ORCA_DISCS_MAX) : 0;
	profile->turn_max = good ? turn_deg * M_PI / 180 : 0;
	return good;
}

static bool rmf_crowd_read_profiles(struct troupe_system *self, const struct troupe_element *plugin)
{
	struct rmf_crowd_config *config = self->config;
	const struct troupe_element *at = NULL;
	config->profile_count = rmf_crowd_count(self, plugin, "profile");
	if (config->profile_count > RMF_CROWD_PROFILES_MAX)
		return self->host->refuse(self, plugin, "%u profiles: expected at most %d", config->profile_count,
			RMF_CROWD_PROFILES_MAX);
	config->profiles = self->host->alloc(self, (config->profile_count + 1) * sizeof *config->profiles);
	for (uint32_t i = 0; i < config->profile_count; i++) {
		at = self->host->child(plugin, "profile", at);
		if (!rmf_crowd_read_profile(self, at, &config->profiles[i]))
			return false;
	}
	return true;
}

static bool rmf_crowd_read_meshes(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_crowd_config *config = self->config;
	const struct troupe_element *at = NULL;
	const char *walls = host->text(plugin, "obstacles", NULL);
	while ((at = host->child(plugin, "nav_mesh", at))) {
		const char *name = host->attribute(at, "name");
		if (!name || config->mesh_count == RMF_CROWD_MESHES_MAX)
			return host->refuse(
				self, at, "expected a name, and at most %d navigation meshes", RMF_CROWD_MESHES_MAX);
		struct crowd_named_mesh *mesh = &config->meshes[config->mesh_count++];
		*mesh = (struct crowd_named_mesh){name, crowd_mesh_read(self, at)};
		if (!mesh->mesh)
			return false;
		if (walls && !strcmp(walls, name))
			config->walls = mesh->mesh;
	}
	return !walls || config->walls ||
	       host->refuse(self, host->child(plugin, "obstacles", NULL),
		       "\"%.80s\": expected the name of a <nav_mesh>", walls);
}

static bool rmf_crowd_read_agent(
	struct troupe_system *self, const struct troupe_element *at, struct rmf_crowd_agent *agent)
{
	const struct troupe_host *host = self->host;
	struct rmf_crowd_config *config = self->config;
	const char *state = host->text(at, "state", "");
	double profile, group, entry;
	agent->name = host->text(at, "name", NULL);
	agent->external = host->boolean(self, at, "external", false);
	if (!agent->name || !config->profile_count)
		return host->refuse(self, at, "<agent> has no <name> or no <profile>: expected both");
	if (!rmf_crowd_number(self, at, "profile", 0, config->profile_count - 1, 0, &profile) ||
		!rmf_crowd_number(self, at, "group", 0, RMF_CROWD_GROUPS_MAX - 1, 0, &group) ||
		!rmf_crowd_number(self, at, "entry", 0, RMF_CROWD_AGENTS_MAX, 0, &entry))
		return false;
	agent->profile = &config->profiles[(uint32_t)profile];
	agent->group = (uint32_t)group;
	agent->entry = (uint32_t)entry;
	agent->state = crowd_plan_state(&config->plan, state);
	if (agent->external)
		return true;
	config->entries[agent->group] =
		agent->entry + 1 > config->entries[agent->group] ? agent->entry + 1 : config->entries[agent->group];
	return agent->state != CROWD_PLAN_NONE ||
	       host->refuse(self, at, "state \"%.80s\": expected the name of a <State> of the behavior", state);
}

static bool rmf_crowd_read_agents(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_crowd_config *config = self->config;
	const struct troupe_element *at = NULL;
	config->agent_count = rmf_crowd_count(self, plugin, "agent");
	if (config->agent_count > RMF_CROWD_AGENTS_MAX)
		return host->refuse(self, plugin, "%u people and robots: expected at most %d", config->agent_count,
			RMF_CROWD_AGENTS_MAX);
	config->agents = host->alloc(self, (config->agent_count + 1) * sizeof *config->agents);
	for (uint32_t i = 0; i < config->agent_count; i++) {
		at = host->child(plugin, "agent", at);
		if (!rmf_crowd_read_agent(self, at, &config->agents[i]))
			return false;
	}
	host->add_words(self, "doing, entered, got on", TROUPE_WORD_INTEGER, 3 * config->agent_count);
	return true;
}

static bool rmf_crowd_give(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_crowd_config *config = self->config;
	for (uint32_t i = 0; i < RMF_CROWD_GROUPS_MAX; i++) {
		const struct troupe_output output = {.name = host->print(self, "/crowd/%u", i),
			.type = "gz.msgs.Double_V",
			.gives = TROUPE_GIVES_PUBLISHED};
		if (config->entries[i] && !host->give(self, plugin, &output, &config->outputs[i]))
			return false;
		config->who[i] = host->alloc(self, (config->entries[i] + 1) * sizeof **config->who);
	}
	for (uint32_t i = 0; i < config->agent_count; i++)
		if (!config->agents[i].external)
			config->who[config->agents[i].group][config->agents[i].entry] = i + 1;
	return (config->numbers = host->field(self, "gz.msgs.Double_V", "data"));
}

static bool rmf_crowd_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_crowd_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *behavior = host->child(plugin, "behavior", NULL);
	const struct troupe_element *root = behavior ? host->child(behavior, "BFSM", NULL) : NULL;
	if (!behavior)
		return host->leave_out(self, plugin,
			"there are no people: <scene_file> \"%.80s\" and <behavior_file> \"%.80s\" are not found "
			"beside the "
			"world, in MENGE_RESOURCE_PATH or in the resource paths",
			host->text(plugin, "scene_file", ""), host->text(plugin, "behavior_file", ""));
	if (!root)
		return host->refuse(self, behavior, "expected a <BFSM>");
	config->step_s = host->number(self, plugin, "update_time_step", 0.1);
	return rmf_crowd_read_profiles(self, plugin) && rmf_crowd_read_meshes(self, plugin) &&
	       crowd_plan_read(self, root, config->meshes, config->mesh_count, &config->plan) &&
	       rmf_crowd_read_agents(self, plugin) && rmf_crowd_give(self, plugin);
}

static void rmf_crowd_init(const struct troupe_system *self, void *words)
{
	const struct rmf_crowd_config *config = self->config;
	struct rmf_crowd_words *w = words;
	for (uint32_t i = 0; i < config->agent_count; i++)
		if (!config->agents[i].external)
			w->agents[i] = (struct rmf_crowd_memory){
				config->agents[i].state, RMF_CROWD_NOT_YET, RMF_CROWD_NOT_YET};
}

/* --- what is seen ------------------------------------------------------------------------------------------------- */

static double rmf_crowd_of_bits(uint64_t bits)
{
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static uint64_t rmf_crowd_bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* A robot's velocity is what it has done since the last decision; 0 if it was not seen then, or was put elsewhere. */
static void rmf_crowd_see_robot(
	const struct rmf_crowd_decision *d, struct rmf_crowd_memory *memory, struct rmf_crowd_seen *seen)
{
	struct orca_vec before = {rmf_crowd_of_bits(memory->doing), rmf_crowd_of_bits(memory->entered_ns)};
	bool known = memory->doing || memory->entered_ns;
	struct orca_vec velocity = orca_scale(orca_sub(seen->place, before), 1 / d->dt);
	if (known && orca_length(velocity) < 10)
		seen->velocity = velocity;
	memory->doing = rmf_crowd_bits_of(seen->place.x);
	memory->entered_ns = rmf_crowd_bits_of(seen->place.y);
}

static void rmf_crowd_see(const struct rmf_crowd_decision *d, uint32_t agent, struct rmf_crowd_memory *memory)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct troupe_host *host = d->self->host;
	struct rmf_crowd_seen *seen = &d->seen[agent];
	uint32_t model = host->find_model(d->step, config->agents[agent].name), link;
	bool external = config->agents[agent].external;
	*seen = (struct rmf_crowd_seen){.there = model != TROUPE_NOTHING};
	if (!seen->there) {
		memory->doing = external ? 0 : (uint32_t)memory->doing; /* no goal: it is free for others */
		memory->entered_ns = external ? 0 : memory->entered_ns;
		memory->got_on_ns = external ? 0 : RMF_CROWD_NOT_YET;
		return;
	}
	struct troupe_pose at = host->model_pose(d->step, model, TROUPE_NOW);
	seen->place = (struct orca_vec){at.x, at.y};
	seen->yaw = host->atan2(2 * (at.qw * at.qz + at.qx * at.qy), 1 - 2 * (at.qy * at.qy + at.qz * at.qz));
	if (external) {
		rmf_crowd_see_robot(d, memory, seen);
	} else if ((link = host->find_link_of(d->step, model, "body")) != TROUPE_NOTHING) {
		struct troupe_vec3 v = host->link_twist(d->step, link, TROUPE_NOW).linear;
		seen->velocity = (struct orca_vec){v.x, v.y};
	}
}

/* --- what is decided ---------------------------------------------------------------------------------------------- */

static void rmf_crowd_set_goal(
	const struct rmf_crowd_decision *d, struct crowd_person *person, const struct crowd_plan *plan, bool leaves)
{
	if (leaves && person->goal < plan->goal_count && d->used[person->goal])
		d->used[person->goal]--;
	if (leaves)
		person->goal = CROWD_PLAN_NONE;
	if (person->goal == CROWD_PLAN_NONE && plan->states[person->state].chooses)
		person->goal = crowd_plan_choose_goal(plan, person, d->used);
	else
		return;
	if (person->goal != CROWD_PLAN_NONE)
		d->used[person->goal]++;
}

/* The state, and the goal if one is free. */
static struct crowd_person rmf_crowd_decide(
	const struct rmf_crowd_decision *d, uint32_t agent, struct rmf_crowd_memory *memory)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct crowd_plan *plan = &config->plan;
	struct crowd_person person = {.self = d->self,
		.number = agent,
		.place = d->seen[agent].place,
		.state = (uint32_t)memory->doing < plan->state_count ? (uint32_t)memory->doing
								     : config->agents[agent].state,
		.goal = (uint32_t)(memory->doing >> 32) - 1,
		.entered_ns = memory->entered_ns < d->now_ns ? memory->entered_ns : d->now_ns,
		.now_ns = d->now_ns};
	if (person.goal >= plan->goal_count) /* none, or a damaged state */
		person.goal = CROWD_PLAN_NONE;
	rmf_crowd_set_goal(d, &person, plan, false);
	uint32_t next = crowd_plan_next(plan, &person);
	if (next != CROWD_PLAN_NONE) {
		person.state = next;
		person.entered_ns = d->now_ns;
		rmf_crowd_set_goal(d, &person, plan, true);
	}
	memory->doing = person.state | (uint64_t)(person.goal + 1) << 32;
	memory->entered_ns = person.entered_ns;
	return person;
}

/* Two who each wait for the other to give way would wait for ever. */
static bool rmf_crowd_is_stuck(const struct rmf_crowd_decision *d, uint32_t agent, uint64_t *got_on_ns)
{
	const struct rmf_crowd_config *config = d->self->config;
	bool gets_on = orca_length(d->seen[agent].velocity) >= 0.25 * config->agents[agent].profile->speed;
	if (gets_on || *got_on_ns > d->now_ns)
		*got_on_ns = d->now_ns;
	return d->now_ns - *got_on_ns >= RMF_CROWD_PATIENCE_NS;
}

/* To the left or to the right, which is drawn anew after a while. */
static struct orca_vec rmf_crowd_aside(const struct crowd_person *person, struct orca_vec wanted)
{
	double drawn = person->self->host->random(
		person->self, RMF_CROWD_SIDES + person->number, person->now_ns / RMF_CROWD_PATIENCE_NS);
	return drawn < 0.5 ? (struct orca_vec){wanted.y, -wanted.x} : (struct orca_vec){-wanted.y, wanted.x};
}

/* The velocity if nobody were in the way. */
static struct orca_vec rmf_crowd_wanted(
	const struct rmf_crowd_decision *d, const struct crowd_person *person, uint64_t *got_on_ns)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct rmf_crowd_profile *profile = config->agents[person->number].profile;
	const struct crowd_plan *plan = &config->plan;
	const struct crowd_state *state = &plan->states[person->state];
	uint32_t of_set = person->goal - state->goal_first;
	if (person->goal == CROWD_PLAN_NONE || of_set >= state->goal_count || state->move == CROWD_STANDS) {
		*got_on_ns = d->now_ns;
		return (struct orca_vec){0, 0};
	}
	struct orca_vec to = crowd_goal_point(&plan->goals[person->goal], person->place);
	if (state->move == CROWD_ON_MESH)
		to = crowd_mesh_toward(state->mesh, state->ways[of_set], person->place, to, profile->radius);
	struct orca_vec way = orca_sub(to, person->place);
	double distance = orca_length(way), speed = fmin(profile->speed, distance / d->dt);
	struct orca_vec wanted = distance > 0 ? orca_scale(way, speed / distance) : way;
	if (!(distance > profile->radius))
		*got_on_ns = d->now_ns;
	return rmf_crowd_is_stuck(d, person->number, got_on_ns) ? rmf_crowd_aside(person, wanted) : wanted;
}

/* The nearest other agents within reach; equally near ones in their order. */
static uint32_t rmf_crowd_neighbours(const struct rmf_crowd_decision *d, uint32_t agent, struct orca_disc *discs)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct rmf_crowd_profile *profile = config->agents[agent].profile;
	double squares[ORCA_DISCS_MAX], reach = profile->reach * profile->reach;
	uint32_t count = 0;
	for (uint32_t i = 0; i < config->agent_count; i++) {
		struct orca_vec way = orca_sub(d->seen[i].place, d->seen[agent].place);
		double square = orca_dot(way, way);
		bool full = count == profile->neighbours_max;
		if (i == agent || !d->seen[i].there || !(square < reach) || !profile->neighbours_max ||
			(full && square >= squares[count - 1]))
			continue;
		uint32_t at = full ? count - 1 : count++;
		for (; at && squares[at - 1] > square; at--) {
			squares[at] = squares[at - 1];
			discs[at] = discs[at - 1];
		}
		squares[at] = square;
		discs[at] = (struct orca_disc){d->seen[i].place, d->seen[i].velocity, config->agents[i].profile->radius,
			config->agents[i].external ? 1 : 0.5, i};
	}
	return count;
}

static struct orca_vec rmf_crowd_avoid(const struct rmf_crowd_decision *d, uint32_t agent, struct orca_vec wanted)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct rmf_crowd_profile *profile = config->agents[agent].profile;
	const struct rmf_crowd_seen *seen = &d->seen[agent];
	struct orca_vec change = orca_sub(wanted, seen->velocity), walls[ORCA_WALLS_MAX];
	struct orca_disc discs[ORCA_DISCS_MAX];
	double most = profile->acceleration_max * d->dt, length = orca_length(change);
	if (length > most) /* of what it does by itself; it gives way as fast as it must */
		wanted = orca_add(seen->velocity, orca_scale(change, most / length));
	const struct orca_self self = {.place = seen->place,
		.velocity = seen->velocity,
		.wanted = wanted,
		.radius = profile->radius,
		.speed_max = profile->speed_max,
		.horizon = profile->horizon,
		.wall_horizon = fmax(profile->wall_horizon, d->dt),
		.id = agent};
	uint32_t disc_count = rmf_crowd_neighbours(d, agent, discs), wall_count = 0;
	if (config->walls)
		wall_count = crowd_mesh_walls(config->walls, seen->place,
			profile->radius + profile->speed_max * self.wall_horizon, walls, ORCA_WALLS_MAX);
	return orca_velocity(&self, discs, disc_count, walls, wall_count, d->dt);
}

static double rmf_crowd_turn(const struct rmf_crowd_decision *d, uint32_t agent)
{
	const struct rmf_crowd_profile *profile =
		((const struct rmf_crowd_config *)d->self->config)->agents[agent].profile;
	const struct rmf_crowd_seen *seen = &d->seen[agent];
	if (!(orca_length(seen->next) > RMF_CROWD_STILL))
		return 0;
	double angle = d->self->host->atan2(seen->next.y, seen->next.x) - seen->yaw;
	angle = angle > M_PI ? angle - 2 * M_PI : angle < -M_PI ? angle + 2 * M_PI : angle;
	return builtin_clamp(angle / d->dt, -profile->turn_max, profile->turn_max);
}

static void rmf_crowd_publish(const struct rmf_crowd_decision *d)
{
	const struct rmf_crowd_config *config = d->self->config;
	const struct troupe_host *host = d->self->host;
	for (uint32_t group = 0; group < RMF_CROWD_GROUPS_MAX; group++) {
		if (!config->entries[group])
			continue;
		struct troupe_message *message = host->message(d->step, "gz.msgs.Double_V");
		for (uint32_t entry = 0; entry < config->entries[group]; entry++) {
			uint32_t who = config->who[group][entry];
			const struct rmf_crowd_seen nobody = {.there = false},
						    *seen = who ? &d->seen[who - 1] : &nobody;
			const double numbers[RMF_CROWD_NUMBERS] = {seen->next.x, seen->next.y, seen->turn};
			for (uint32_t i = 0; i < RMF_CROWD_NUMBERS; i++)
				host->put(message, config->numbers, numbers[i]);
		}
		host->publish(d->self, d->step, config->outputs[group], message);
	}
}

static void rmf_crowd_decide_all(const struct rmf_crowd_decision *d, struct rmf_crowd_words *w)
{
	const struct rmf_crowd_config *config = d->self->config;
	for (uint32_t i = 0; i < config->agent_count; i++) {
		rmf_crowd_see(d, i, &w->agents[i]);
		uint64_t goal = w->agents[i].doing >> 32;
		if (!config->agents[i].external && goal && goal <= config->plan.goal_count)
			d->used[goal - 1]++;
	}
	for (uint32_t i = 0; i < config->agent_count; i++) {
		if (config->agents[i].external || !d->seen[i].there)
			continue;
		struct crowd_person person = rmf_crowd_decide(d, i, &w->agents[i]);
		d->seen[i].next = rmf_crowd_avoid(d, i, rmf_crowd_wanted(d, &person, &w->agents[i].got_on_ns));
		d->seen[i].turn = rmf_crowd_turn(d, i);
	}
	rmf_crowd_publish(d);
}

static uint64_t rmf_crowd_between_ns(const struct rmf_crowd_config *config)
{
	return (uint64_t)(config->step_s * 1e9 + 0.5);
}

static bool rmf_crowd_is_due(
	const struct rmf_crowd_config *config, const struct rmf_crowd_words *words, uint64_t now_ns)
{
	return now_ns >= words->next_ns || words->next_ns - now_ns > rmf_crowd_between_ns(config);
}

static void rmf_crowd_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_crowd_config *config = self->config;
	struct rmf_crowd_words *w = words;
	struct rmf_crowd_decision d = {
		self, step, troupe_random_index(step), fmax(config->step_s, step->dt), NULL, NULL};
	if (!rmf_crowd_is_due(config, w, d.now_ns))
		return;
	w->next_ns = d.now_ns + rmf_crowd_between_ns(config);
	struct rmf_crowd_seen seen[RMF_CROWD_AGENTS_MAX];
	uint32_t used[CROWD_PLAN_MAX];
	memset(used, 0, config->plan.goal_count * sizeof *used);
	d.seen = seen;
	d.used = used;
	rmf_crowd_decide_all(&d, w);
}

/* Where time was set back, it decides at once. */
static uint64_t rmf_crowd_waits_until(const struct troupe_system *self, const void *words, uint64_t now_ns)
{
	const struct rmf_crowd_words *w = words;
	return rmf_crowd_is_due(self->config, w, now_ns) ? now_ns : w->next_ns;
}

const struct troupe_kind builtin_rmf_crowd = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_IN_WORLD | TROUPE_LENIENT,
	.names = (const char *const[]){"troupe::RmfCrowd", "libcrowd_simulation.so", "libcrowd_simulator.so",
		"libcrowd_simulator_ign.so", NULL},
	.parameters = rmf_crowd_parameters,
	.words = rmf_crowd_word_names,
	.configure = rmf_crowd_configure,
	.init = rmf_crowd_init,
	.update = rmf_crowd_update,
	.waits_until = rmf_crowd_waits_until,
};
