/* The dispensers and ingestors of Open-RMF that teleport: libteleport_dispenser.so and libteleport_ingestor.so.
 *
 * A dispenser has an item: the model nearest to its origin that can move, at most 5 cm off along each axis of the
 * world when the run begins. On an rmf_dispenser_msgs/DispenserRequest with its name it puts the item on the nearest
 * robot of the fleet that the request names, and has an item again when that model is back in its place. An ingestor
 * takes, from the nearest robot of the fleet, the model that is nearest to the robot's origin and at most 1 m off, puts
 * it at its own origin, and sends it back to where it was at first 5 s later (service reset_model).
 *
 * Requests come on /dispenser_requests, results (acknowledged, a step later success or failed) go to
 * /dispenser_results, and its state to /dispenser_states every 2 s and with each request; those of ingestors alike.
 * Which robots a fleet has is known from rmf_fleet_msgs/FleetState on /fleet_states. A request that comes again is
 * answered as before, without effect. Of requests that come in one step the last one counts. */
#include "builtin/rmf_parts.h"

#include <stdio.h>
#include <string.h>

enum {
	RMF_WORKCELL_GUID_WORDS = 8,
	RMF_WORKCELL_PAST_MAX = 64,
	RMF_WORKCELL_ROBOTS_MAX = 256,
	RMF_WORKCELL_MODEL = 2, /* gz.msgs.Entity.Type */
};

enum rmf_workcell_input { RMF_WORKCELL_REQUEST, RMF_WORKCELL_FLEET };
enum rmf_workcell_ask { RMF_WORKCELL_NOTHING, RMF_WORKCELL_NEW, RMF_WORKCELL_TAKEN };
enum rmf_workcell_status { RMF_WORKCELL_ACKNOWLEDGED, RMF_WORKCELL_SUCCESS, RMF_WORKCELL_FAILED };

static const double rmf_workcell_place_m = 0.05, rmf_workcell_payload_m = 1, rmf_workcell_state_s = 2;
static const uint64_t rmf_workcell_return_ns = 5000000000u;

struct rmf_workcell_config {
	const char *name, *state_type, *result_type;
	bool ingests;
	uint32_t state, result;
	struct rmf_workcell_fields {
		const struct troupe_field *request, *target, *fleet, *fleet_name, *robots, *robot_name, *guid, *mode,
			*queue, *result_request, *source, *status, *pose[7], *pose_name, *entity_name, *entity_type;
	} field;
};

/* Names are hashes: a name may be longer than words that are worth to be kept. 0: none. */
struct rmf_workcell_words {
	uint64_t has_looked, is_full, item, told, ingested_ns;
	uint64_t ask, fleet,
		answer; /* ask: enum rmf_workcell_ask; answer: status + 1, to a request that has come before; 0: none */
	uint64_t request[RMF_WORKCELL_GUID_WORDS];
	uint64_t past_count, past[RMF_WORKCELL_PAST_MAX]; /* requests; the lowest bit: success */
	uint64_t robot_count;
	struct rmf_workcell_robot {
		uint64_t fleet, robot;
	} robots[RMF_WORKCELL_ROBOTS_MAX];
};

static const struct troupe_parameter rmf_workcell_parameters[] = {
	BUILTIN_END,
};

/* FNV-1a, 64 bits; the lowest bit is 0, and the result never 0. */
static uint64_t rmf_workcell_hash(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3u;
	hash &= ~(uint64_t)1;
	return hash ? hash : 2;
}

/* --- setup -------------------------------------------------------------------------------------------------------- */

static bool rmf_workcell_find_fields(struct troupe_system *self, struct rmf_workcell_config *config)
{
	static const char *const pose[] = {"position.x", "position.y", "position.z", "orientation.w", "orientation.x",
		"orientation.y", "orientation.z"};
	const struct troupe_host *host = self->host;
	struct rmf_workcell_fields *f = &config->field;
	const char *request = config->ingests ? "troupe.msgs.IngestorRequest" : "troupe.msgs.DispenserRequest";
	const struct builtin_field wanted[] = {
		{&f->request, request, "request_guid"},
		{&f->target, request, "target_guid"},
		{&f->fleet, request, "transporter_type"},
		{&f->fleet_name, "troupe.msgs.FleetState", "name"},
		{&f->robots, "troupe.msgs.FleetState", "robots"},
		{&f->robot_name, "troupe.msgs.RobotState", "name"},
		{&f->guid, config->state_type, "guid"},
		{&f->mode, config->state_type, "mode"},
		{&f->queue, config->state_type, "request_guid_queue"},
		{&f->result_request, config->result_type, "request_guid"},
		{&f->source, config->result_type, "source_guid"},
		{&f->status, config->result_type, "status"},
		{&f->pose_name, "gz.msgs.Pose", "name"},
		{&f->entity_name, "gz.msgs.Entity", "name"},
		{&f->entity_type, "gz.msgs.Entity", "type"},
	};
	if (!builtin_find_fields(self, wanted, sizeof wanted / sizeof *wanted))
		return false;
	for (size_t i = 0; i < sizeof pose / sizeof *pose; i++)
		if (!(f->pose[i] = host->field(self, "gz.msgs.Pose", pose[i])))
			return false;
	return true;
}

static bool rmf_workcell_open_topics(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct rmf_workcell_config *config = self->config;
	const struct troupe_output state = {.name = config->ingests ? "/ingestor_states" : "/dispenser_states",
		.type = config->state_type,
		.gives = TROUPE_GIVES_PUBLISHED};
	const struct troupe_output result = {.name = config->ingests ? "/ingestor_results" : "/dispenser_results",
		.type = config->result_type,
		.gives = TROUPE_GIVES_PUBLISHED};
	return host->take(self, plugin, config->ingests ? "/ingestor_requests" : "/dispenser_requests",
		       config->ingests ? "troupe.msgs.IngestorRequest" : "troupe.msgs.DispenserRequest",
		       RMF_WORKCELL_REQUEST, TROUPE_NOTHING) &&
	       host->take(
		       self, plugin, "/fleet_states", "troupe.msgs.FleetState", RMF_WORKCELL_FLEET, TROUPE_NOTHING) &&
	       host->give(self, plugin, &state, &config->state) && host->give(self, plugin, &result, &config->result);
}

static bool rmf_workcell_configure(struct troupe_system *self, const struct troupe_element *plugin, bool ingests)
{
	const struct troupe_host *host = self->host;
	struct rmf_workcell_config *config = self->config = host->alloc(self, sizeof *config);
	config->name = host->owner_name(self);
	config->ingests = ingests;
	config->state_type = ingests ? "troupe.msgs.IngestorState" : "troupe.msgs.DispenserState";
	config->result_type = ingests ? "troupe.msgs.IngestorResult" : "troupe.msgs.DispenserResult";
	host->add_words(self, "has looked, is full, item, told, ingested", TROUPE_WORD_INTEGER, 5);
	host->add_words(self, "ask, fleet, answer", TROUPE_WORD_INTEGER, 3);
	host->add_words(self, "request", TROUPE_WORD_INTEGER, RMF_WORKCELL_GUID_WORDS);
	host->add_words(self, "requests before", TROUPE_WORD_INTEGER, 1 + RMF_WORKCELL_PAST_MAX);
	host->add_words(self, "robots of fleets", TROUPE_WORD_INTEGER, 1 + 2 * RMF_WORKCELL_ROBOTS_MAX);
	return rmf_workcell_find_fields(self, config) && rmf_workcell_open_topics(self, plugin);
}

static bool rmf_workcell_configure_dispenser(struct troupe_system *self, const struct troupe_element *plugin)
{
	return rmf_workcell_configure(self, plugin, false);
}

static bool rmf_workcell_configure_ingestor(struct troupe_system *self, const struct troupe_element *plugin)
{
	return rmf_workcell_configure(self, plugin, true);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static bool rmf_workcell_is_for(const struct troupe_system *self, const struct troupe_message *message)
{
	const struct rmf_workcell_config *config = self->config;
	return !strcmp(self->host->get_text(message, config->field.target, 0), config->name);
}

static bool rmf_workcell_check(const struct troupe_system *self, uint32_t input, const struct troupe_message *message,
	char why[TROUPE_WHY_BYTES])
{
	const struct rmf_workcell_config *config = self->config;
	const struct troupe_host *host = self->host;
	enum { GUID_BYTES = RMF_WORKCELL_GUID_WORDS * sizeof(uint64_t) };
	const char *objection = NULL;
	if (input == RMF_WORKCELL_FLEET && host->count(message, config->field.robots) > RMF_WORKCELL_ROBOTS_MAX)
		objection = "the fleet has more than 256 robots";
	if (input == RMF_WORKCELL_REQUEST && rmf_workcell_is_for(self, message)) {
		size_t bytes = strlen(host->get_text(message, config->field.request, 0));
		objection = !bytes                ? "request_guid is empty: expected a name of the request"
			    : bytes >= GUID_BYTES ? "request_guid has more than 63 bytes"
						  : NULL;
	}
	if (objection)
		(void)snprintf(why, TROUPE_WHY_BYTES, "%s", objection);
	return !objection;
}

/* The robots of this fleet are those that the message names; more than RMF_WORKCELL_ROBOTS_MAX in all are dropped. */
static void rmf_workcell_take_fleet(
	const struct troupe_system *self, const struct troupe_message *message, struct rmf_workcell_words *w)
{
	const struct rmf_workcell_fields *field = &((const struct rmf_workcell_config *)self->config)->field;
	const struct troupe_host *host = self->host;
	uint64_t fleet = rmf_workcell_hash(host->get_text(message, field->fleet_name, 0)), kept = 0;
	uint32_t count = host->count(message, field->robots);
	for (uint64_t i = 0; i < w->robot_count && i < RMF_WORKCELL_ROBOTS_MAX; i++)
		if (w->robots[i].fleet != fleet)
			w->robots[kept++] = w->robots[i];
	for (uint32_t i = 0; i < count && kept < RMF_WORKCELL_ROBOTS_MAX; i++) {
		const struct troupe_message *robot = host->get_part(message, field->robots, i);
		w->robots[kept++] = (struct rmf_workcell_robot){
			fleet, rmf_workcell_hash(host->get_text(robot, field->robot_name, 0))};
	}
	w->robot_count = kept;
	memset(w->robots + kept, 0, (RMF_WORKCELL_ROBOTS_MAX - kept) * sizeof *w->robots);
}

static void rmf_workcell_take_request(
	const struct troupe_system *self, const struct troupe_message *message, struct rmf_workcell_words *w)
{
	const struct rmf_workcell_config *config = self->config;
	const struct troupe_host *host = self->host;
	const char *guid = host->get_text(message, config->field.request, 0);
	uint64_t hash = rmf_workcell_hash(guid);
	if (config->ingests && w->is_full)
		return; /* as in Open-RMF's plug-in: clients repeat their requests */
	memset(w->request, 0, sizeof w->request);
	memcpy(w->request, guid, strlen(guid));
	w->fleet = rmf_workcell_hash(host->get_text(message, config->field.fleet, 0));
	w->answer = 0;
	for (uint64_t i = 0; i < RMF_WORKCELL_PAST_MAX; i++)
		if ((w->past[i] & ~(uint64_t)1) == hash)
			w->answer = 1 + (uint64_t)(w->past[i] & 1 ? RMF_WORKCELL_SUCCESS : RMF_WORKCELL_FAILED);
	w->ask = w->answer ? RMF_WORKCELL_NOTHING : RMF_WORKCELL_NEW;
}

static void rmf_workcell_command(
	const struct troupe_system *self, uint32_t input, const struct troupe_message *message, void *words)
{
	if (input == RMF_WORKCELL_FLEET)
		rmf_workcell_take_fleet(self, message, words);
	else if (rmf_workcell_is_for(self, message))
		rmf_workcell_take_request(self, message, words);
}

/* --- models ------------------------------------------------------------------------------------------------------- */

struct rmf_workcell_search {
	struct troupe_vec3 place;
	double within;   /* m */
	bool in_place;   /* within rmf_workcell_place_m along each axis, too */
	uint64_t fleet;  /* robots of this fleet alone; 0: any model */
	uint32_t except; /* this model is none */
};

static bool rmf_workcell_has_robot(const struct rmf_workcell_words *w, uint64_t fleet, uint64_t robot)
{
	for (uint64_t i = 0; i < w->robot_count && i < RMF_WORKCELL_ROBOTS_MAX; i++)
		if (w->robots[i].fleet == fleet && w->robots[i].robot == robot)
			return true;
	return false;
}

static bool rmf_workcell_is_in_place(struct troupe_vec3 off)
{
	return fabs(off.x) <= rmf_workcell_place_m && fabs(off.y) <= rmf_workcell_place_m &&
	       fabs(off.z) <= rmf_workcell_place_m;
}

/* The nearest model that can move and is not its own; TROUPE_NOTHING: none is near enough. */
static uint32_t rmf_workcell_nearest(const struct troupe_system *self, const struct troupe_step *step,
	const struct rmf_workcell_words *w, const struct rmf_workcell_search *search)
{
	const struct troupe_host *host = self->host;
	uint32_t count = host->models(step), found = TROUPE_NOTHING;
	double least = search->within;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = host->model_name(step, i);
		if (!name || i == self->model || i == search->except || !host->model_moves(step, i))
			continue;
		struct troupe_vec3 off =
			troupe_vec3_sub(troupe_pose_place(host->model_pose(step, i, TROUPE_NOW)), search->place);
		double distance = sqrt(troupe_vec3_dot(off, off));
		if (distance >= least || (search->in_place && !rmf_workcell_is_in_place(off)) ||
			(search->fleet && !rmf_workcell_has_robot(w, search->fleet, rmf_workcell_hash(name))))
			continue;
		least = distance;
		found = i;
	}
	return found;
}

static uint32_t rmf_workcell_find_item(
	const struct troupe_system *self, const struct troupe_step *step, const struct rmf_workcell_words *w)
{
	const struct troupe_host *host = self->host;
	uint32_t count = w->item ? host->models(step) : 0;
	for (uint32_t i = 0; i < count; i++) {
		const char *name = host->model_name(step, i);
		if (name && rmf_workcell_hash(name) == w->item)
			return i;
	}
	return TROUPE_NOTHING;
}

static struct troupe_pose rmf_workcell_pose(const struct troupe_system *self, const struct troupe_step *step)
{
	return self->host->model_pose(step, self->model, TROUPE_NOW);
}

static void rmf_workcell_place(
	const struct troupe_system *self, const struct troupe_step *step, uint32_t model, struct troupe_pose pose)
{
	const struct rmf_workcell_fields *field = &((const struct rmf_workcell_config *)self->config)->field;
	const double numbers[] = {pose.x, pose.y, pose.z, pose.qw, pose.qx, pose.qy, pose.qz};
	struct troupe_message *message = self->host->message(step, "gz.msgs.Pose");
	self->host->put_text(message, field->pose_name, self->host->model_name(step, model));
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		self->host->put(message, field->pose[i], numbers[i]);
	self->host->request(self, step, "set_pose", message);
}

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static bool rmf_workcell_dispense(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w, uint32_t robot)
{
	uint32_t item = w->is_full ? rmf_workcell_find_item(self, step, w) : TROUPE_NOTHING;
	if (item == TROUPE_NOTHING)
		return false;
	struct troupe_pose pose = self->host->model_pose(step, robot, TROUPE_NOW);
	struct troupe_box box = self->host->model_box(step, item, TROUPE_NOW);
	double below = self->host->model_pose(step, item, TROUPE_NOW).z - box.low.z;
	pose.z = self->host->model_box(step, robot, TROUPE_NOW).high.z + below;
	if (!isfinite(pose.z)) /* one of them has no bounds: it is a plane */
		return false;
	rmf_workcell_place(self, step, item, pose);
	w->is_full = 0;
	return true;
}

static bool rmf_workcell_ingest(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w, uint32_t robot)
{
	const struct rmf_workcell_search search = {
		.place = troupe_pose_place(self->host->model_pose(step, robot, TROUPE_NOW)),
		.within = rmf_workcell_payload_m,
		.except = robot};
	uint32_t item = rmf_workcell_nearest(self, step, w, &search);
	if (item == TROUPE_NOTHING)
		return false;
	rmf_workcell_place(self, step, item, rmf_workcell_pose(self, step));
	w->item = rmf_workcell_hash(self->host->model_name(step, item));
	w->ingested_ns = troupe_random_index(step);
	w->is_full = 1;
	return true;
}

static bool rmf_workcell_act(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w)
{
	const struct rmf_workcell_config *config = self->config;
	const struct rmf_workcell_search search = {.place = troupe_pose_place(rmf_workcell_pose(self, step)),
		.within = 1e6,
		.fleet = w->fleet,
		.except = TROUPE_NOTHING};
	uint32_t robot = rmf_workcell_nearest(self, step, w, &search);
	if (robot == TROUPE_NOTHING)
		return false;
	return config->ingests ? rmf_workcell_ingest(self, step, w, robot)
			       : rmf_workcell_dispense(self, step, w, robot);
}

static void rmf_workcell_send_home(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w)
{
	const struct rmf_workcell_fields *field = &((const struct rmf_workcell_config *)self->config)->field;
	uint32_t item = rmf_workcell_find_item(self, step, w);
	w->is_full = 0;
	if (item == TROUPE_NOTHING)
		return;
	struct troupe_message *message = self->host->message(step, "gz.msgs.Entity");
	self->host->put_text(message, field->entity_name, self->host->model_name(step, item));
	self->host->put(message, field->entity_type, RMF_WORKCELL_MODEL);
	self->host->request(self, step, "reset_model", message);
}

/* --- a step ------------------------------------------------------------------------------------------------------- */

static void rmf_workcell_tell_state(
	const struct troupe_system *self, const struct troupe_step *step, const struct rmf_workcell_words *w)
{
	const struct rmf_workcell_config *config = self->config;
	struct troupe_message *message = self->host->message(step, config->state_type);
	self->host->put_text(message, config->field.guid, config->name);
	self->host->put(message, config->field.mode, w->ask != RMF_WORKCELL_NOTHING);
	if (w->ask)
		self->host->put_text(message, config->field.queue, (const char *)w->request);
	self->host->publish(self, step, config->state, message);
}

static void rmf_workcell_tell_result(const struct troupe_system *self, const struct troupe_step *step,
	const struct rmf_workcell_words *w, enum rmf_workcell_status status)
{
	const struct rmf_workcell_config *config = self->config;
	struct troupe_message *message = self->host->message(step, config->result_type);
	self->host->put_text(message, config->field.result_request, (const char *)w->request);
	self->host->put_text(message, config->field.source, config->name);
	self->host->put(message, config->field.status, status);
	self->host->publish(self, step, config->result, message);
}

static void rmf_workcell_obey(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w)
{
	bool good = rmf_workcell_act(self, step, w);
	rmf_workcell_tell_result(self, step, w, good ? RMF_WORKCELL_SUCCESS : RMF_WORKCELL_FAILED);
	w->past[w->past_count++ % RMF_WORKCELL_PAST_MAX] =
		rmf_workcell_hash((const char *)w->request) | (uint64_t)(good ? 1 : 0);
	w->ask = RMF_WORKCELL_NOTHING;
}

/* A dispenser's item: which it is, and whether it is there again. */
static void rmf_workcell_look(
	const struct troupe_system *self, const struct troupe_step *step, struct rmf_workcell_words *w)
{
	struct troupe_vec3 place = troupe_pose_place(rmf_workcell_pose(self, step));
	const struct rmf_workcell_search search = {
		.place = place, .within = 1, .in_place = true, .except = TROUPE_NOTHING};
	uint32_t item =
		w->has_looked ? rmf_workcell_find_item(self, step, w) : rmf_workcell_nearest(self, step, w, &search);
	if (!w->has_looked && item == TROUPE_NOTHING)
		self->host->log_line(self, "there is no model within 5 cm: it has nothing to dispense");
	w->has_looked = 1;
	if (item == TROUPE_NOTHING)
		return;
	w->item = rmf_workcell_hash(self->host->model_name(step, item));
	w->is_full |= rmf_workcell_is_in_place(
		troupe_vec3_sub(troupe_pose_place(self->host->model_pose(step, item, TROUPE_NOW)), place));
}

static void rmf_workcell_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct rmf_workcell_config *config = self->config;
	struct rmf_workcell_words *w = words;
	uint64_t period = (uint64_t)(step->time_s / rmf_workcell_state_s + 1e-6) + 1;
	bool is_due = w->told != period;
	if (!config->ingests && is_due && !w->is_full)
		rmf_workcell_look(self, step, w);
	if (is_due || w->ask == RMF_WORKCELL_NEW)
		rmf_workcell_tell_state(self, step, w);
	w->told = period;
	if (w->answer)
		rmf_workcell_tell_result(self, step, w, (enum rmf_workcell_status)(w->answer - 1));
	w->answer = 0;
	if (w->ask == RMF_WORKCELL_TAKEN)
		rmf_workcell_obey(self, step, w);
	if (w->ask == RMF_WORKCELL_NEW) {
		rmf_workcell_tell_result(self, step, w, RMF_WORKCELL_ACKNOWLEDGED);
		w->ask = RMF_WORKCELL_TAKEN; /* of a topic, one message of a system in a step reaches clients */
	}
	if (config->ingests && w->is_full && troupe_random_index(step) >= w->ingested_ns + rmf_workcell_return_ns)
		rmf_workcell_send_home(self, step, w);
}

#define RMF_WORKCELL_KIND                                                                                              \
	.size = sizeof(struct troupe_kind), .flags = TROUPE_IN_MODEL | TROUPE_LENIENT,                                 \
	.parameters = rmf_workcell_parameters, .check = rmf_workcell_check, .command = rmf_workcell_command,           \
	.update = rmf_workcell_update

const struct troupe_kind builtin_rmf_dispenser = {
	RMF_WORKCELL_KIND,
	.names = (const char *const[]){"troupe::RmfDispenser", "libteleport_dispenser.so", NULL},
	.configure = rmf_workcell_configure_dispenser,
};

const struct troupe_kind builtin_rmf_ingestor = {
	RMF_WORKCELL_KIND,
	.names = (const char *const[]){"troupe::RmfIngestor", "libteleport_ingestor.so", NULL},
	.configure = rmf_workcell_configure_ingestor,
};
