/* A lift of Open-RMF: a cabin on a joint, whose position is its elevation, and doors of the cabin and of the shaft at
 * each floor. It takes rmf_lift_msgs/LiftRequest on /lift_requests and gives its LiftState on /lift_states, once a
 * second and when it changes. Its name is <lift_name>, or that of its model.
 *
 * A request is obeyed to its end: the doors of the floor close, the cabin goes to the floor, its doors open or close as
 * wanted. Requests that come meanwhile are dropped, as in Open-RMF's plug-in: clients repeat theirs. At the beginning
 * it goes to <initial_floor>. What stands in the cabin is carried by its floor. */
#include "builtin/rmf_parts.h"

#include <stdio.h>
#include <string.h>

enum {
	RMF_LIFT_FLOORS_MAX = 64,
	RMF_LIFT_DOORS_MAX = 128,
	RMF_LIFT_SESSION_WORDS = 8,
	RMF_LIFT_REQUEST = 0, /* inputs */
	RMF_LIFT_DOOR = 1,
	RMF_LIFT_END_SESSION = 0,
	RMF_LIFT_REQUESTS = 3, /* types of requests */
	RMF_LIFT_MODE_AGV = 2,
};

enum rmf_lift_motion { RMF_LIFT_STOPPED, RMF_LIFT_UP, RMF_LIFT_DOWN };

struct rmf_lift_door {
	const char *name;
	uint32_t floor;
	uint32_t shared; /* the first door with this name: a cabin has the same doors at each floor */
};

struct rmf_lift_config {
	struct rmf_part part;
	const char *name;
	uint32_t joint, floor_count, door_count, initial, output, door_output;
	struct {
		const char *name;
		double elevation;
	} floors[RMF_LIFT_FLOORS_MAX];
	struct rmf_lift_door doors[RMF_LIFT_DOORS_MAX];
	struct rmf_motion motion;
	const struct troupe_field *asked_lift, *asked_floor, *asked_session, *asked_type, *asked_door, *door_name,
		*door_mode, *want_lift, *want_door, *want_mode, *name_field, *floors_field, *floor, *destination,
		*door_state, *motion_state, *modes, *mode, *session;
};

struct rmf_lift_words {
	uint64_t begun, is_busy, destination, door_wanted; /* door_wanted: enum rmf_mode */
	uint64_t session[RMF_LIFT_SESSION_WORDS];
	uint64_t moves, told, second;
	uint64_t modes[RMF_LIFT_DOORS_MAX], asked[RMF_LIFT_DOORS_MAX]; /* of doors: + 1; 0: none yet */
};

/* --- setup -------------------------------------------------------------------------------------------------------- */

static bool rmf_lift_add_door(
	struct troupe_system *self, const struct troupe_element *pair, const char *attribute, uint32_t floor)
{
	struct rmf_lift_config *config = self->config;
	const char *name = self->host->attribute(pair, attribute);
	if (!name || !*name)
		return self->host->refuse(self, pair, "expected an attribute %s", attribute);
	if (config->door_count == RMF_LIFT_DOORS_MAX)
		return self->host->refuse(self, pair, "more than %d doors", RMF_LIFT_DOORS_MAX);
	struct rmf_lift_door door = {self->host->print(self, "%s", name), floor, config->door_count};
	for (uint32_t i = config->door_count; i-- > 0;)
		if (!strcmp(config->doors[i].name, name))
			door.shared = config->doors[i].shared;
	config->doors[config->door_count++] = door;
	return true;
}

static bool rmf_lift_add_floor(struct troupe_system *self, const struct troupe_element *floor)
{
	const struct troupe_host *host = self->host;
	struct rmf_lift_config *config = self->config;
	const struct troupe_element *pair = NULL;
	uint32_t index = config->floor_count;
	const char *name = host->attribute(floor, "name"), *elevation = host->attribute(floor, "elevation");
	double height = elevation ? builtin_number_of(elevation) : (double)NAN;
	if (index == RMF_LIFT_FLOORS_MAX)
		return host->refuse(self, floor, "more than %d floors", RMF_LIFT_FLOORS_MAX);
	if (!name || !*name || !(fabs(height) < BUILTIN_NUMBER_MAX))
		return host->refuse(self, floor, "expected a floor with name and elevation");
	config->floors[index].name = host->print(self, "%s", name);
	config->floors[index].elevation = height;
	config->floor_count++;
	while ((pair = host->child(floor, "door_pair", pair)))
		if (!rmf_lift_add_door(self, pair, "cabin_door", index) ||
			!rmf_lift_add_door(self, pair, "shaft_door", index))
			return false;
	return true;
}

static bool rmf_lift_read_floors(struct troupe_system *self, const struct troupe_element *at)
{
	const struct troupe_host *host = self->host;
	struct rmf_lift_config *config = self->config;
	const struct troupe_element *floor = NULL;
	const char *initial = host->text(at, "initial_floor", "");
	while ((floor = host->child(at, "floor", floor)))
		if (!rmf_lift_add_floor(self, floor))
			return false;
	if (!config->floor_count)
		return host->leave_out(self, at, "expected <floor name=... elevation=...>");
	while (config->initial < config->floor_count && strcmp(config->floors[config->initial].name, initial) != 0)
		config->initial++;
	if (config->initial == config->floor_count) {
		config->initial = 0;
		host->warn(self, at, "<initial_floor> is '%.60s': expected one of the floors; it is '%.60s' now",
			initial, config->floors[0].name);
	}
	return true;
}

static bool rmf_lift_find_fields(struct troupe_system *self, struct rmf_lift_config *config)
{
	const struct builtin_field wanted[] = {
		{&config->asked_lift, "troupe.msgs.LiftRequest", "lift_name"},
		{&config->asked_floor, "troupe.msgs.LiftRequest", "destination_floor"},
		{&config->asked_session, "troupe.msgs.LiftRequest", "session_id"},
		{&config->asked_type, "troupe.msgs.LiftRequest", "request_type"},
		{&config->asked_door, "troupe.msgs.LiftRequest", "door_state"},
		{&config->door_name, "troupe.msgs.DoorState", "door_name"},
		{&config->door_mode, "troupe.msgs.DoorState", "current_mode"},
		{&config->want_lift, "troupe.msgs.DoorRequest", "requester_id"},
		{&config->want_door, "troupe.msgs.DoorRequest", "door_name"},
		{&config->want_mode, "troupe.msgs.DoorRequest", "requested_mode"},
		{&config->name_field, "troupe.msgs.LiftState", "lift_name"},
		{&config->floors_field, "troupe.msgs.LiftState", "available_floors"},
		{&config->floor, "troupe.msgs.LiftState", "current_floor"},
		{&config->destination, "troupe.msgs.LiftState", "destination_floor"},
		{&config->door_state, "troupe.msgs.LiftState", "door_state"},
		{&config->motion_state, "troupe.msgs.LiftState", "motion_state"},
		{&config->modes, "troupe.msgs.LiftState", "available_modes"},
		{&config->mode, "troupe.msgs.LiftState", "current_mode"},
		{&config->session, "troupe.msgs.LiftState", "session_id"},
	};
	return builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted);
}

static bool rmf_lift_open_topics(struct troupe_system *self, const struct troupe_element *at)
{
	const struct troupe_host *host = self->host;
	struct rmf_lift_config *config = self->config;
	const struct troupe_output state = {
		.name = "/lift_states", .type = "troupe.msgs.LiftState", .gives = TROUPE_GIVES_PUBLISHED};
	const struct troupe_output doors = {
		.name = RMF_LIFT_DOOR_REQUESTS, .type = "troupe.msgs.DoorRequest", .gives = TROUPE_GIVES_PUBLISHED};
	return host->take(self, at, "/lift_requests", "troupe.msgs.LiftRequest", RMF_LIFT_REQUEST, TROUPE_NOTHING) &&
	       host->take(self, at, RMF_LIFT_DOOR_STATES, "troupe.msgs.DoorState", RMF_LIFT_DOOR, TROUPE_NOTHING) &&
	       host->give(self, at, &state, &config->output) && host->give(self, at, &doors, &config->door_output);
}

static bool rmf_lift_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct rmf_lift_config *config = self->config;
	const struct troupe_host *host = self->host;
	if (input != RMF_LIFT_REQUEST)
		return true;
	double type = host->get(message, config->asked_type, 0), door = host->get(message, config->asked_door, 0);
	const char *session = host->get_text(message, config->asked_session, 0);
	if (type >= RMF_LIFT_REQUESTS || (door != RMF_CLOSED && door != RMF_OPEN))
		(void)snprintf(why, TROUPE_WHY_BYTES,
			"request_type is %.0f and door_state %.0f: expected 0 to 2, and %d or %d", type, door,
			RMF_CLOSED, RMF_OPEN);
	else if (strlen(session) >= sizeof((struct rmf_lift_words *)NULL)->session)
		(void)snprintf(why, TROUPE_WHY_BYTES, "the session_id has more than 63 bytes");
	else
		return true;
	return false;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static void rmf_lift_take_request(
	const struct troupe_system *self, const struct troupe_message *message, struct rmf_lift_words *w)
{
	const struct rmf_lift_config *config = self->config;
	const struct troupe_host *host = self->host;
	const char *floor = host->get_text(message, config->asked_floor, 0);
	const char *session = host->get_text(message, config->asked_session, 0);
	uint32_t index = 0;
	while (index < config->floor_count && strcmp(config->floors[index].name, floor) != 0)
		index++;
	if (w->is_busy || index == config->floor_count)
		return;
	w->is_busy = 1;
	w->destination = index;
	w->door_wanted = (uint64_t)host->get(message, config->asked_door, 0);
	memset(w->session, 0, sizeof w->session);
	if (host->get(message, config->asked_type, 0) != RMF_LIFT_END_SESSION)
		memcpy(w->session, session, strlen(session));
}

static void rmf_lift_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	const struct rmf_lift_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct rmf_lift_words *w = words;
	if (input == RMF_LIFT_REQUEST) {
		if (!strcmp(host->get_text(message, config->asked_lift, 0), config->name))
			rmf_lift_take_request(self, message, w);
		return;
	}
	const char *name = host->get_text(message, config->door_name, 0);
	for (uint32_t i = 0; i < config->door_count; i++)
		if (!strcmp(config->doors[i].name, name))
			w->modes[i] =
				(uint64_t)builtin_clamp(host->get(message, config->door_mode, 0), 0, RMF_OPEN) + 1;
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

struct rmf_lift_view {
	uint32_t floor; /* the nearest */
	enum rmf_lift_motion motion;
	enum rmf_mode doors; /* of that floor */
	double off;          /* from the destination, m */
};

static enum rmf_mode rmf_lift_doors_at(
	const struct rmf_lift_config *config, const struct rmf_lift_words *w, uint32_t floor)
{
	bool is_open = true, is_closed = true;
	for (uint32_t i = 0; i < config->door_count; i++) {
		if (config->doors[i].floor != floor)
			continue;
		is_open &= w->modes[i] == RMF_OPEN + 1;
		is_closed &= w->modes[i] == RMF_CLOSED + 1;
	}
	return is_closed ? RMF_CLOSED : is_open ? RMF_OPEN : RMF_MOVING;
}

static struct rmf_lift_view rmf_lift_look(
	const struct troupe_system *self, const struct troupe_step *step, const struct rmf_lift_words *w)
{
	static const double still = 0.01; /* m/s */
	const struct rmf_lift_config *config = self->config;
	double height = self->host->joint_position(step, config->joint, 0, TROUPE_NOW);
	double speed = self->host->joint_velocity(step, config->joint, 0, TROUPE_NOW), least = (double)INFINITY;
	struct rmf_lift_view view = {.motion = fabs(speed) < still ? RMF_LIFT_STOPPED
					       : speed > 0         ? RMF_LIFT_UP
								   : RMF_LIFT_DOWN};
	for (uint32_t i = 0; i < config->floor_count; i++) {
		double off = fabs(height - config->floors[i].elevation);
		view.floor = off < least ? i : view.floor;
		least = fmin(least, off);
	}
	view.doors = rmf_lift_doors_at(config, w, view.floor);
	view.off = config->floors[w->destination % config->floor_count].elevation - height;
	return view;
}

static void rmf_lift_ask_doors(const struct troupe_system *self, const struct troupe_step *step,
	struct rmf_lift_words *w, uint32_t floor, enum rmf_mode mode)
{
	const struct rmf_lift_config *config = self->config;
	const struct troupe_host *host = self->host;
	for (uint32_t i = 0; i < config->door_count; i++) {
		uint64_t *asked = &w->asked[config->doors[i].shared];
		if (config->doors[i].floor != floor || *asked == (uint64_t)mode + 1)
			continue;
		*asked = (uint64_t)mode + 1;
		struct troupe_message *message = host->message(step, "troupe.msgs.DoorRequest");
		host->put_text(message, config->want_lift, config->name);
		host->put_text(message, config->want_door, config->doors[i].name);
		host->put(message, config->want_mode, mode);
		host->publish(self, step, config->door_output, message);
	}
}

/* What the request needs next. */
static void rmf_lift_obey(const struct troupe_system *self, const struct troupe_step *step, struct rmf_lift_words *w,
	const struct rmf_lift_view *view)
{
	const struct rmf_lift_config *config = self->config;
	bool is_there = fabs(view->off) < config->motion.near && view->motion == RMF_LIFT_STOPPED;
	if (is_there && view->doors == (enum rmf_mode)w->door_wanted)
		w->is_busy = 0;
	else if (is_there)
		rmf_lift_ask_doors(self, step, w, view->floor, (enum rmf_mode)w->door_wanted);
	else if (view->doors != RMF_CLOSED && view->motion == RMF_LIFT_STOPPED)
		rmf_lift_ask_doors(self, step, w, view->floor, RMF_CLOSED);
	else
		w->moves = 1;
}

static void rmf_lift_tell(const struct troupe_system *self, const struct troupe_step *step,
	const struct rmf_lift_words *w, const struct rmf_lift_view *view)
{
	const struct rmf_lift_config *config = self->config;
	const struct troupe_host *host = self->host;
	struct troupe_message *message = host->message(step, "troupe.msgs.LiftState");
	host->put_text(message, config->name_field, config->name);
	for (uint32_t i = 0; i < config->floor_count; i++)
		host->put_text(message, config->floors_field, config->floors[i].name);
	host->put_text(message, config->floor, config->floors[view->floor].name);
	host->put_text(message, config->destination, config->floors[w->destination % config->floor_count].name);
	host->put(message, config->door_state, view->doors);
	host->put(message, config->motion_state, view->motion);
	host->put(message, config->modes, RMF_LIFT_MODE_AGV);
	host->put(message, config->mode, RMF_LIFT_MODE_AGV);
	host->put_text(message, config->session, (const char *)w->session);
	host->publish(self, step, config->output, message);
}

static void rmf_lift_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_lift_config *config = self->config;
	struct rmf_lift_words *w = words;
	if (!w->begun) { /* to the floor where it begins */
		w->begun = w->is_busy = 1;
		w->destination = config->initial;
		w->door_wanted = RMF_CLOSED;
	}
	struct rmf_lift_view view = rmf_lift_look(self, step, w);
	uint64_t second = (uint64_t)(step->time_s + 1e-9);
	w->moves = 0;
	if (w->is_busy)
		rmf_lift_obey(self, step, w, &view);
	uint64_t told = 1 + view.floor + ((uint64_t)view.motion << 8) + ((uint64_t)view.doors << 12) +
			(w->destination << 16) + (w->is_busy << 24);
	if (told == w->told && second == w->second)
		return;
	w->told = told;
	w->second = second;
	rmf_lift_tell(self, step, w, &view);
}

static void rmf_lift_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_lift_config *config = self->config;
	const struct rmf_lift_words *w = words;
	double off = config->floors[w->destination % config->floor_count].elevation -
		     self->host->joint_position(step, config->joint, 0, TROUPE_NOW);
	double speed = self->host->joint_velocity(step, config->joint, 0, TROUPE_NOW);
	self->host->joint_drive(
		step, config->joint, w->moves ? rmf_speed(&config->motion, off, speed, 0, step->dt) : 0);
}

bool rmf_lift_configure(struct troupe_system *self, const struct troupe_element *at)
{
	const struct troupe_host *host = self->host;
	struct rmf_lift_config *config = self->config = host->alloc(self, sizeof *config);
	const char *joint = host->text(at, "cabin_joint_name", "");
	config->part = (struct rmf_part){rmf_lift_check, rmf_lift_command, rmf_lift_update, rmf_lift_pre_update};
	config->name = host->print(self, "%s", host->text(at, "lift_name", host->owner_name(self)));
	config->motion = rmf_read_motion(self, at, "cabin");
	config->joint = rmf_joint(self, joint);
	if (config->joint == TROUPE_NOTHING)
		return host->leave_out(
			self, at, "<cabin_joint_name> is '%.100s': expected a joint that can be driven", joint);
	if (!rmf_lift_read_floors(self, at))
		return false;
	host->add_words(self, "has begun, is busy, destination, doors wanted", TROUPE_WORD_INTEGER, 4);
	host->add_words(self, "session", TROUPE_WORD_INTEGER, RMF_LIFT_SESSION_WORDS);
	host->add_words(self, "moves, told, second", TROUPE_WORD_INTEGER, 3);
	host->add_words(self, "modes of doors, and what was asked", TROUPE_WORD_INTEGER, 2 * RMF_LIFT_DOORS_MAX);
	return rmf_lift_find_fields(self, config) && rmf_lift_open_topics(self, at);
}
