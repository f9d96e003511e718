/* Each topic is one function from a capture to the bytes of a message. Rates are those of Gazebo, but in simulated
 * time, so that a slow run publishes as many messages as a fast one. */
#include "server/publish.h"

#include "run/services.h"
#include "server/run_control.h"
#include "server/describe.h"
#include "server/encode.h"
#include "server/encode_fast.h"
#include "server/model_info.h"
#include "server/models.h"
#include "server/named_poses.h"
#include "server/next_request.h"
#include "server/resources.h"
#include "server/scene_info.h"
#include "server/viewer.h"
#include "server/viewer_look.h"
#include "topic/message.h"
#include "topic/troupe.pb-c.h"
#include "topic/world.pb-c.h"

#include <stdlib.h>
#include <string.h>

#define STATS_HZ 5.0
#define TOUCHING_HZ 20.0
#define POSE_HZ 60.0

static bool publish_encode_clock(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	(void)row;
	encode_fast_clock(out, capture->time_ns, capture->real_ns, capture->system_ns);
	return true;
}

static bool publish_encode_stats(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	Gz__Msgs__WorldStatistics stats = GZ__MSGS__WORLD_STATISTICS__INIT;
	(void)row;
	stats.header = encode_header(&arena, capture->time_ns);
	stats.sim_time = encode_time(&arena, capture->time_ns);
	stats.real_time = encode_time(&arena, capture->real_ns);
	stats.step_size = encode_time(&arena, (int64_t)(capture->step_s * 1e9 + 0.5));
	stats.paused = capture->snapshot.paused;
	stats.iterations = capture->snapshot.step;
	stats.model_count = (int32_t)capture->snapshot.scene->model_count;
	stats.real_time_factor = capture->rtf;
	return encode_end(&stats.base, &arena, out);
}

/* --- poses -------------------------------------------------------------------------------------------------------- */

/* Poses as Gazebo gives them: of models in the world, of links in their model. */
static void publish_add_model_poses(const struct troupe_snapshot *snapshot, uint32_t model, struct text *out)
{
	const struct troupe_scene *scene = snapshot->scene;
	const struct troupe_scene_model *m = &scene->models[model];
	const struct troupe_pose *pose = encode_model_pose(snapshot, model);
	encode_fast_pose(out, pose, m->name, (uint32_t)m->id);
	for (uint32_t l = m->link_first; l < m->link_first + m->link_count; l++) {
		struct troupe_pose in_model = encode_link_pose(snapshot, l);
		encode_fast_pose(out, &in_model, scene->links[l].name, encode_link_id(&scene->links[l]));
	}
}

static bool publish_encode_poses(const struct capture *capture, uint32_t models, struct text *out)
{
	encode_fast_poses(out, capture->time_ns);
	for (uint32_t i = 0; i < models; i++)
		publish_add_model_poses(&capture->snapshot, i, out);
	return true;
}

static bool publish_encode_pose_info(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	(void)row;
	return publish_encode_poses(capture, capture->snapshot.scene->model_count, out);
}

static bool publish_encode_dynamic_pose_info(
	const struct capture *capture, const struct topic_row *row, struct text *out)
{
	(void)row;
	return publish_encode_poses(capture, capture->snapshot.scene->mobile_count, out);
}

/* --- the scene ---------------------------------------------------------------------------------------------------- */

static bool publish_encode_scene_info(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	(void)row;
	encode_scene(capture->snapshot.scene, capture->time_ns, out);
	return true;
}

static bool publish_has_id(const struct troupe_scene *scene, uint64_t id)
{
	for (uint32_t i = 0; i < scene->model_count; i++)
		if (scene->models[i].id == id)
			return true;
	return false;
}

static bool publish_encode_deletion(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	const struct troupe_scene *before = capture->before;
	struct arena arena = {0};
	Gz__Msgs__UInt32V gone = GZ__MSGS__UINT32__V__INIT;
	(void)row;
	if (!before)
		return false;
	gone.data = arena_array(&arena, uint32_t, before->model_count);
	for (uint32_t i = 0; i < before->model_count; i++)
		if (!publish_has_id(capture->snapshot.scene, before->models[i].id))
			gone.data[gone.n_data++] = (uint32_t)before->models[i].id;
	gone.header = encode_header(&arena, capture->time_ns);
	if (gone.n_data)
		return encode_end(&gone.base, &arena, out);
	arena_fini(&arena);
	return false;
}

/* --- levels ------------------------------------------------------------------------------------------------------- */

static Troupe__Msgs__Levels__Level *publish_encode_level(struct arena *arena, const struct capture_level *level)
{
	Troupe__Msgs__Levels__Level *out = arena_new(arena, Troupe__Msgs__Levels__Level);
	troupe__msgs__levels__level__init(out);
	out->name = encode_text(level->name);
	out->loaded = level->loaded;
	out->secondary = level->secondary;
	return out;
}

static void publish_add_places(
	struct arena *arena, const struct capture *capture, uint32_t model, Troupe__Msgs__Levels__Performer *performer)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < capture->places.count; i++)
		count += capture->places.at[i].model == model;
	performer->level = arena_array(arena, char *, count);
	performer->near = arena_array(arena, char *, count);
	for (uint32_t i = 0; i < capture->places.count; i++) {
		const struct capture_place *place = &capture->places.at[i];
		char *name = encode_text(capture->levels[place->level].name);
		if (place->model == model && place->in)
			performer->level[performer->n_level++] = name;
		else if (place->model == model)
			performer->near[performer->n_near++] = name;
	}
}

/* The model's move to another secondary in this step; NULL: it did not move. */
static const struct capture_move *publish_move_of(const struct capture *capture, uint32_t model)
{
	for (uint32_t i = 0; i < capture->moves.count; i++)
		if (capture->moves.at[i].model == model)
			return &capture->moves.at[i];
	return NULL;
}

static Troupe__Msgs__Levels__Performer *publish_encode_performer(
	struct arena *arena, const struct capture *capture, uint32_t model)
{
	Troupe__Msgs__Levels__Performer *out = arena_new(arena, Troupe__Msgs__Levels__Performer);
	const struct capture_move *move = publish_move_of(capture, model);
	troupe__msgs__levels__performer__init(out);
	out->name = encode_text(capture->snapshot.models[model].name);
	out->secondary = capture->snapshot.models[model].secondary;
	publish_add_places(arena, capture, model, out);
	out->ghost = arena_array(arena, uint32_t, capture->ghosts.count);
	for (uint32_t i = 0; i < capture->ghosts.count; i++)
		if (capture->ghosts.at[i].model == model)
			out->ghost[out->n_ghost++] = capture->ghosts.at[i].secondary;
	out->moved_from = move ? move->from : 0;
	return out;
}

static void publish_add_box(struct arena *arena, const struct scene_level *level, Troupe__Msgs__Levels__Level *out)
{
	struct vec3 size = vec3_sub(level->box.hi, level->box.lo);
	out->centre = encode_vec3(arena, vec3_scale(vec3_add(level->box.lo, level->box.hi), 0.5));
	out->size = encode_vec3(arena, size);
	out->buffer = level->outer.hi.x - level->box.hi.x;
}

static void publish_encode_changes(struct arena *arena, const struct capture *capture, Troupe__Msgs__Levels *levels)
{
	levels->change = arena_array(arena, Troupe__Msgs__Levels__Change *, capture->changes.count);
	for (uint32_t i = 0; i < capture->changes.count; i++) {
		const struct troupe_report_member *from = &capture->changes.at[i];
		Troupe__Msgs__Levels__Change *to = arena_array(arena, Troupe__Msgs__Levels__Change, 1);
		troupe__msgs__levels__change__init(to);
		to->what = encode_text(troupe_member_change_name(from->change));
		to->who = encode_text(from->who);
		to->step = from->step;
		to->repeated_steps = from->repeated_steps;
		to->stood_still_s = from->stood_still_s;
		levels->change[levels->n_change++] = to;
	}
}

/* All levels, all declared performers, and the other models that moved to another secondary in this step. */
static bool publish_encode_all_levels(
	const struct capture *capture, const struct topic_row *row, bool boxes, struct text *out)
{
	const struct troupe_snapshot *snapshot = &capture->snapshot;
	const struct scene_level *of_scene = capture->server->worlds[row->world].scene->levels;
	struct arena arena = {0};
	Troupe__Msgs__Levels levels = TROUPE__MSGS__LEVELS__INIT;
	levels.header = encode_header(&arena, capture->time_ns);
	levels.step = snapshot->step;
	levels.shares = capture->shares;
	levels.level = arena_array(&arena, Troupe__Msgs__Levels__Level *, capture->level_count);
	for (uint32_t i = 0; i < capture->level_count; i++)
		levels.level[levels.n_level++] = publish_encode_level(&arena, &capture->levels[i]);
	for (uint32_t i = 0; i < capture->level_count && boxes; i++)
		publish_add_box(&arena, &of_scene[i], levels.level[i]);
	levels.performer = arena_array(&arena, Troupe__Msgs__Levels__Performer *, snapshot->model_count);
	for (uint32_t i = 0; i < snapshot->model_count; i++)
		if (snapshot->scene->models[i].performer || publish_move_of(capture, i))
			levels.performer[levels.n_performer++] = publish_encode_performer(&arena, capture, i);
	publish_encode_changes(&arena, capture, &levels);
	return encode_end(&levels.base, &arena, out);
}

static bool publish_encode_levels(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	return publish_encode_all_levels(capture, row, false, out);
}

static troupe_status publish_answer_levels(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	(void)request, (void)count, (void)error;
	(void)publish_encode_all_levels(capture, row, true, out);
	return TROUPE_OK;
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

static bool publish_encode_reply(const struct capture *capture, const struct topic_row *row, struct text *out)
{
	struct arena arena = {0};
	Troupe__Msgs__Reply reply = TROUPE__MSGS__REPLY__INIT;
	(void)row;
	if (!capture->service)
		return false;
	reply.header = encode_header(&arena, capture->time_ns);
	reply.service = capture->service;
	reply.step = capture->reply_step;
	reply.ok = capture->reply_ok;
	reply.text = capture->reply_text;
	return encode_end(&reply.base, &arena, out);
}

/* --- services that only ask --------------------------------------------------------------------------------------- */

static troupe_status publish_answer_scene(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	(void)row, (void)request, (void)count, (void)error;
	encode_scene(capture->snapshot.scene, capture->time_ns, out);
	return TROUPE_OK;
}

static troupe_status publish_say(const char *text, struct text *out)
{
	struct arena arena = {0};
	Gz__Msgs__StringMsg message = GZ__MSGS__STRING_MSG__INIT;
	message.data = encode_text(text);
	encode_end(&message.base, &arena, out);
	return TROUPE_OK;
}

/* A graph in DOT: the world, its models, their links, as Gazebo's scene graph. Names are strings of DOT. */
static void publish_add_node(struct text *dot, uint32_t id, const char *name, uint32_t parent)
{
	text_add(dot, "  %u [label=", id);
	text_add_json(dot, name);
	text_add(dot, "];\n");
	if (id != parent)
		text_add(dot, "  %u -> %u;\n", parent, id);
}

static troupe_status publish_answer_graph(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	const struct troupe_scene *scene = capture->snapshot.scene;
	struct text dot = {0};
	(void)row, (void)request, (void)count, (void)error;
	text_add(&dot, "digraph {\n");
	publish_add_node(&dot, 0, scene->world, 0);
	for (uint32_t i = 0; i < scene->model_count; i++) {
		const struct troupe_scene_model *m = &scene->models[i];
		publish_add_node(&dot, (uint32_t)m->id, m->name, 0);
		for (uint32_t l = m->link_first; l < m->link_first + m->link_count; l++)
			publish_add_node(&dot, encode_link_id(&scene->links[l]), scene->links[l].name, (uint32_t)m->id);
	}
	text_add(&dot, "}\n");
	troupe_status status = publish_say(dot.at, out);
	text_fini(&dot);
	return status;
}

static troupe_status publish_answer_hash(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	struct arena arena = {0};
	Troupe__Msgs__StateHash hash = TROUPE__MSGS__STATE_HASH__INIT;
	(void)row, (void)request, (void)count, (void)error;
	hash.header = encode_header(&arena, capture->time_ns);
	hash.step = capture->snapshot.step;
	hash.hash = capture->hash;
	hash.seed = capture->server->def.seed;
	encode_end(&hash.base, &arena, out);
	return TROUPE_OK;
}

static troupe_status publish_answer_worlds(const struct capture *capture, const struct topic_row *row,
	const void *request, size_t count, struct text *out, struct troupe_error *error)
{
	const struct troupe_server *server = capture->server;
	struct arena arena = {0};
	Gz__Msgs__StringMsgV names = GZ__MSGS__STRING_MSG__V__INIT;
	(void)row, (void)request, (void)count, (void)error;
	names.data = arena_array(&arena, char *, server->world_count);
	for (uint32_t i = 0; i < server->world_count; i++)
		names.data[names.n_data++] = encode_text(server->worlds[i].scene->name);
	encode_end(&names.base, &arena, out);
	return TROUPE_OK;
}

/* --- rows --------------------------------------------------------------------------------------------------------- */

static const struct publish_ops publish_clock_ops = {.when = PUBLISH_IN_TIME, .encode = publish_encode_clock};
static const struct publish_ops publish_stats_ops = {
	.when = PUBLISH_FIGURES, .parts = CAPTURE_SCENE, .encode = publish_encode_stats};
static const struct publish_ops publish_pose_ops = {
	.when = PUBLISH_IN_TIME, .parts = CAPTURE_MODELS | CAPTURE_LINKS, .encode = publish_encode_pose_info};
static const struct publish_ops publish_dynamic_ops = {
	.when = PUBLISH_IN_TIME, .parts = CAPTURE_MODELS | CAPTURE_LINKS, .encode = publish_encode_dynamic_pose_info};
static const struct publish_ops publish_scene_ops = {
	.when = PUBLISH_SCENE, .parts = CAPTURE_SCENE, .encode = publish_encode_scene_info};
static const struct publish_ops publish_deletion_ops = {
	.when = PUBLISH_SCENE, .parts = CAPTURE_SCENE | CAPTURE_BEFORE, .encode = publish_encode_deletion};
static const struct publish_ops publish_levels_ops = {
	.when = PUBLISH_LEVELS, .parts = CAPTURE_MODELS | CAPTURE_LEVELS, .encode = publish_encode_levels};

static const struct publish_ops publish_reply_ops = {.when = PUBLISH_REPLIES, .encode = publish_encode_reply};

static const struct query_ops publish_ask_scene = {.parts = CAPTURE_SCENE, .answer = publish_answer_scene};
static const struct query_ops publish_ask_graph = {.parts = CAPTURE_SCENE, .answer = publish_answer_graph};
static const struct query_ops publish_ask_hash = {.parts = CAPTURE_HASH, .answer = publish_answer_hash};
static const struct query_ops publish_ask_levels = {
	.parts = CAPTURE_MODELS | CAPTURE_LEVELS, .answer = publish_answer_levels};
static const struct query_ops publish_ask_worlds = {.answer = publish_answer_worlds};

/* A name that begins with "/world/" is a name under the world's; "/..." elsewhere is for the whole run. */
#define PUBLISH_PUBLISHED(name_, type_, rate_hz_, ops_)                                                                \
	{                                                                                                              \
		.kind = TOPIC_PUBLISHED, .name = (name_), .type = (type_), .owner = "server", .rate_hz = (rate_hz_),   \
		.ops = (ops_)                                                                                          \
	}
#define ASKED(name_, type_, reply_, ops_)                                                                              \
	{                                                                                                              \
		.kind = TOPIC_SERVICE, .name = (name_), .type = (type_), .reply = (reply_), .owner = "server",         \
		.ops = (ops_)                                                                                          \
	}
static const struct topic_row publish_rows[] = {
	PUBLISH_PUBLISHED("/world/*/clock", "gz.msgs.Clock", 0, &publish_clock_ops),
	PUBLISH_PUBLISHED("/world/*/stats", "gz.msgs.WorldStatistics", STATS_HZ, &publish_stats_ops),
	PUBLISH_PUBLISHED("/world/*/pose/info", "gz.msgs.Pose_V", POSE_HZ, &publish_pose_ops),
	PUBLISH_PUBLISHED("/world/*/dynamic_pose/info", "gz.msgs.Pose_V", POSE_HZ, &publish_dynamic_ops),
	PUBLISH_PUBLISHED("/world/*/scene/info", "gz.msgs.Scene", 0, &publish_scene_ops),
	PUBLISH_PUBLISHED("/world/*/scene/deletion", "gz.msgs.UInt32_V", 0, &publish_deletion_ops),
	PUBLISH_PUBLISHED("/world/*/levels", "troupe.msgs.Levels", 0, &publish_levels_ops),
	PUBLISH_PUBLISHED("/world/*/replies", "troupe.msgs.Reply", 0, &publish_reply_ops),
	PUBLISH_PUBLISHED("/world/*/view", "troupe.msgs.View", 0, &publish_view),
	PUBLISH_PUBLISHED("/world/*/secondaries", "troupe.msgs.Secondaries", STATS_HZ, &publish_secondaries),
	PUBLISH_PUBLISHED("/world/*/touching", "troupe.msgs.Touching", TOUCHING_HZ, &publish_touching),
	ASKED("/world/*/scene/info", "gz.msgs.Empty", "gz.msgs.Scene", &publish_ask_scene),
	ASKED("/world/*/scene/graph", "gz.msgs.Empty", "gz.msgs.StringMsg", &publish_ask_graph),
	ASKED("/world/*/hash", "gz.msgs.Empty", "troupe.msgs.StateHash", &publish_ask_hash),
	ASKED("/world/*/generate_world_sdf", "gz.msgs.SdfGeneratorConfig", "gz.msgs.StringMsg", &ask_sdf),
	ASKED("/world/*/levels", "gz.msgs.Empty", "troupe.msgs.Levels", &publish_ask_levels),
	ASKED("/world/*/model", "gz.msgs.UInt32", "troupe.msgs.ModelState", &ask_model),
	ASKED("/world/*/models", "gz.msgs.Boolean", "troupe.msgs.Models", &ask_models),
	ASKED("/world/*/find_resources", "troupe.msgs.FindResources", "troupe.msgs.Resources", &ask_resources),
	ASKED("/world/*/next_run", "troupe.msgs.NextRun", "gz.msgs.StringMsg", &next_request_ops),
	ASKED("/world/*/set_entity_info", "troupe.msgs.EntityInfo", "gz.msgs.Boolean", &act_set_entity_info),
	ASKED("/world/*/named_poses", "gz.msgs.Empty", "troupe.msgs.NamedPoses", &ask_named_poses),
	ASKED("/world/*/model/sensors", "gz.msgs.UInt32", "troupe.msgs.ModelSensors", &ask_model_sensors),
	ASKED("/world/*/sensor", "gz.msgs.StringMsg", "troupe.msgs.ModelSensors", &ask_sensor),
	ASKED("/world/*/scene/mesh", "gz.msgs.Geometry", "troupe.msgs.Mesh", &ask_mesh),
	ASKED("/world/*/scene/image", "gz.msgs.StringMsg", "troupe.msgs.ImageFile", &ask_image),
	ASKED("/world/*/gui/info", "gz.msgs.Empty", "gz.msgs.GUI", &ask_gui),
	ASKED("/world/*/save", "gz.msgs.StringMsg", "gz.msgs.Boolean", &run_control_save_ops),
	PUBLISH_PUBLISHED("/clock", "gz.msgs.Clock", 0, &publish_clock_ops),
	PUBLISH_PUBLISHED("/stats", "gz.msgs.WorldStatistics", STATS_HZ, &publish_stats_ops),
	ASKED("/gazebo/worlds", "gz.msgs.Empty", "gz.msgs.StringMsg_V", &publish_ask_worlds),
	ASKED("/server_control", "gz.msgs.ServerControl", "gz.msgs.Boolean", &run_control_stop_ops),
};

/* Robot clients act only on their own models. */
static const char publish_not_for_clients[] = "";

/* A world whose name cannot be in a topic, even cleaned, has no rows. False: the row is left out. */
static bool publish_add_row(struct troupe_server *server, const struct topic_row *row, uint32_t world)
{
	static const char of_world[] = "/world/*/";
	const char *world_name = server->worlds[world].scene->name;
	struct topic_row own = *row;
	const struct query_ops *ops = row->ops;
	if (row->kind == TOPIC_SERVICE && ops && (ops->act || ops->ends_run))
		own.client = publish_not_for_clients;
	if (ops == &next_request_ops && !server->def.on_next)
		return true;
	bool named = !strncmp(row->name, of_world, sizeof of_world - 1);
	if (!named && world)
		return true;
	char *name =
		named ? mem_printf("/world/%s/%s", world_name, row->name + sizeof of_world - 1) : mem_strdup(row->name);
	topic_name_clean(name);
	own.name = name;
	own.world = world;
	bool added = (!named || topic_in_world(name, world_name)) &&
		     clients_add_row(clients_table(server->clients), &own) != TOPIC_NONE;
	free(name);
	return added;
}

/* Adds a service under its name and under NAME/blocking; returns the number of rows that are left out. Its reply comes
 * when it is done, whichever name is called: Gazebo's clients call some services by one name, some by the other. */
static uint32_t publish_add_service(struct troupe_server *server, const struct topic_row *row, uint32_t world)
{
	struct topic_row blocking = *row;
	char *name = mem_printf("%s/blocking", row->name);
	blocking.name = name;
	uint32_t left_out = !publish_add_row(server, row, world) + !publish_add_row(server, &blocking, world);
	free(name);
	return left_out;
}

/* Requests that are commands, some also as messages on a topic. Returns the number of rows that are left out. */
static uint32_t publish_add_services(struct troupe_server *server, uint32_t world)
{
	uint32_t count, left_out = 0;
	const struct command_service *services = services_list(&count);
	for (uint32_t i = 0; i < count; i++) {
		char *name = mem_printf("/world/*/%s", services[i].name);
		struct topic_row row = ASKED(name, service_sent_type(&services[i])->name, "gz.msgs.Boolean", NULL);
		row.client = services[i].admit ? NULL : publish_not_for_clients;
		left_out += publish_add_service(server, &row, world);
		row.client = publish_not_for_clients;
		row.kind = TOPIC_TAKEN;
		row.reply = NULL;
		if (services[i].is_topic)
			left_out += !publish_add_row(server, &row, world);
		free(name);
	}
	return left_out;
}

static void publish_warn_of_name(struct troupe_server *server, uint32_t world, uint32_t left_out)
{
	struct troupe_error line;
	(void)fail(&line, TROUPE_EWORLD,
		"world '%.80s': its name cannot be part of a topic: %u topics and services are left out: expected a "
		"name of letters, and names of topics of at most %d bytes",
		server->worlds[world].scene->name, left_out, TOPIC_NAME_BYTES_MAX - 1);
	server_warn(server, line.text);
}

void publish_add_rows(struct troupe_server *server)
{
	for (uint32_t w = 0; w < server->world_count; w++) {
		uint32_t left_out = publish_add_services(server, w);
		for (size_t i = 0; i < ARRAY_LEN(publish_rows); i++)
			left_out += publish_rows[i].kind == TOPIC_SERVICE
					    ? publish_add_service(server, &publish_rows[i], w)
					    : !publish_add_row(server, &publish_rows[i], w);
		if (left_out)
			publish_warn_of_name(server, w, left_out);
	}
}
