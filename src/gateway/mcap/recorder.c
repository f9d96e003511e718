/* A client like others (troupe/client.h), whose messages are taken, converted, packed and written on a thread of its
 * own.
 *
 * Nothing may be lost, and the same run shall give the same file. So the step tells the thread every TELL_STEPS steps
 * how far it is; a thread that was told takes all that waits; and the step waits while the thread is
 * TROUPE_MCAP_BEHIND_MAX steps behind. The client's queue has room for many times as many boundaries. To tell the
 * thread in each step was ruled out, because to wake it costs more than a small step.
 *
 * Subscriptions are made in the step, because the step at which a topic is subscribed to decides its first message: the
 * thread leaves the client to the step at that moment (`lock`). A topic is subscribed to once, for a second
 * subscription would give a message more. */
#include "base/base.h"
#include "base/clock.h"
#include "base/eventcount.h"
#include "base/map.h"
#include "gateway/mcap/bag.h"
#include "gateway/mcap/chosen.h"
#include "gateway/ros/ros.h"
#include "gateway/ros/scenery.h"
#include "topic/table.h"

#include <troupe/client.h>
#include <troupe/gateway.h>
#include <troupe/server.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_STEPS = 16, RECORDER_DEPTH = TROUPE_CLIENT_DEPTH_MAX };
_Static_assert(
	(int)TROUPE_MCAP_BEHIND_MAX > (int)TELL_STEPS, "a step that waits must have told the thread of enough steps");

struct recorder_channel {           /* a channel of the file; its type decides the form of its messages */
	char *name;                 /* TOPIC, a tab, TYPE */
	const struct ros_type *ros; /* NULL: as protobuf */
	int32_t channel;            /* -1: not recorded, only for the scenery */
	enum role { NO_ROLE, SCENE, POSES } role;
	uint32_t scenery; /* if it has a role */
};

struct recorder_scenery { /* of a world */
	struct scenery of;
	bool has_shapes, has_frames; /* they are recorded */
	double frames_hz;
	int32_t shapes_channel, frames_channel; /* -1: not yet */
};

struct troupe_mcap {
	struct troupe_server *server;
	char *path;
	bool (*in_a_hurry)(void *ctx);
	void (*on_end)(void *ctx, const char *text);
	void (*say)(void *ctx, const char *text);
	void *ctx;
	struct chosen chosen;
	VEC(struct recorder_scenery) sceneries;
	/* the step's thread; the thread reads under the lock */
	struct map subscribed; /* values: 1: recorded; 0: only for the scenery */
	VEC(char *) names;     /* of `subscribed` */
	uint64_t epoch;        /* of the topics that were looked at */
	uint64_t steps, waited_ns;
	/* both */
	pthread_mutex_t lock; /* of the client */
	struct troupe_client *client;
	struct eventcount told, done;
	_Atomic uint64_t told_steps; /* writer: the step's thread, before it advances `told` */
	_Atomic uint64_t done_steps; /* writer: the thread, before it advances `done` */
	_Atomic bool ending, failed;
	/* the thread */
	pthread_t thread;
	struct mcap_file *file;
	struct map lanes_by_name;
	VEC(struct recorder_channel) channels;
	struct map schemas_by_name; /* values: their numbers */
	struct bag *bag;            /* with names of ROS 2, instead of lanes and sceneries; else NULL */
	struct text key, body;
	struct troupe_error why; /* before `failed` is set */
};

/* --- which topics ------------------------------------------------------------------------------------------------- */

static bool recorder_choose(void *ctx, const char *name, bool usual, double *ret_rate_hz)
{
	struct troupe_mcap *mcap = ctx;
	return chosen_has(&mcap->chosen, name, usual, ret_rate_hz);
}

static void recorder_say(void *ctx, const char *line)
{
	const struct troupe_mcap *mcap = ctx;
	char *text = mem_printf("%s: %s", mcap->path, line);
	if (mcap->say)
		mcap->say(mcap->ctx, text);
	free(text);
}

static void recorder_add_sceneries(struct troupe_mcap *mcap)
{
	for (uint32_t i = 0; i < troupe_server_world_count(mcap->server); i++) {
		const char *world = troupe_server_world_name(mcap->server, i);
		struct recorder_scenery *scenery = vec_append(&mcap->sceneries, 1);
		double rate_hz;
		char *folder = mem_printf("/world/%s", world);
		topic_name_clean(folder);
		const char *named = strchr(folder + 1, '/'); /* NULL: no topic can have the name */
		scenery->of = scenery_make(folder, named ? named + 1 : world, scenery_read_mesh, mcap->server);
		scenery->has_shapes = chosen_has(&mcap->chosen, scenery->of.shapes, true, &rate_hz);
		scenery->has_frames = chosen_has(&mcap->chosen, scenery->of.frames, true, &scenery->frames_hz);
		scenery->shapes_channel = scenery->frames_channel = -1;
		free(folder);
	}
}

/* The role of the topic in the scenery of a world, if the scenery is recorded. */
static enum role recorder_role_of(const struct troupe_mcap *mcap, const char *name, uint32_t *ret_scenery)
{
	for (uint32_t i = 0; i < mcap->sceneries.count; i++) {
		const struct recorder_scenery *scenery = &mcap->sceneries.at[i];
		*ret_scenery = i;
		if (!strcmp(name, scenery->of.scene) && (scenery->has_shapes || scenery->has_frames))
			return SCENE;
		if (!strcmp(name, scenery->of.poses) && scenery->has_frames)
			return POSES;
	}
	return NO_ROLE;
}

static void recorder_subscribe_to(struct troupe_mcap *mcap, const struct troupe_topic *topic)
{
	uint32_t scenery, at;
	double rate_hz;
	if (topic->kind != TROUPE_TOPIC_PUBLISHED || map_find(&mcap->subscribed, topic->name, &at))
		return;
	bool chosen = mcap->bag ? bag_wants(mcap->bag, topic->name, &rate_hz)
				: chosen_has(&mcap->chosen, topic->name, chosen_is_usual(topic), &rate_hz);
	enum role role = recorder_role_of(mcap, topic->name, &scenery);
	if (!chosen && role == NO_ROLE)
		return;
	if (!chosen && role == POSES)
		rate_hz = mcap->sceneries.at[scenery].frames_hz;
	vec_push(&mcap->names, mem_strdup(topic->name));
	(void)map_add(&mcap->subscribed, mcap->names.at[mcap->names.count - 1], chosen);
	(void)troupe_client_subscribe(mcap->client, topic->name, rate_hz, NULL);
}

/* Under the lock, or before the thread runs. */
static void recorder_subscribe(struct troupe_mcap *mcap)
{
	const struct troupe_topics *topics = troupe_topics_list(mcap->server);
	mcap->epoch = topics->epoch;
	if (mcap->bag)
		bag_update(mcap->bag, topics);
	for (uint32_t i = 0; i < topics->count; i++)
		recorder_subscribe_to(mcap, &topics->at[i]);
	troupe_topics_release(topics);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* The number of the schema; 0: it is not in the file yet. */
static int32_t recorder_find_schema(const struct troupe_mcap *mcap, const char *name)
{
	uint32_t number = 0;
	(void)map_find(&mcap->schemas_by_name, name, &number);
	return (int32_t)number;
}

/* -1: the file has too many. */
static int32_t recorder_add_schema(
	struct troupe_mcap *mcap, const char *name, const char *encoding, const struct text *schema)
{
	int32_t added = mcap_file_add_schema(mcap->file, name, encoding, schema->at, schema->count);
	if (added > 0)
		(void)map_add(&mcap->schemas_by_name, name, (uint32_t)added);
	return added;
}

/* The schema of a type; ros: NULL: as protobuf. Printing a schema costs as much as many messages, and many channels
 * share a schema, so each is printed once. */
static int32_t recorder_schema_of(struct troupe_mcap *mcap, const struct ros_type *ros, const char *type)
{
	const char *name = ros ? ros->name : type_find(type)->name;
	struct text text = {0};
	int32_t schema = recorder_find_schema(mcap, name);
	if (schema)
		return schema;
	if (ros)
		ros_add_schema(ros, &text);
	else
		type_add_file_set(type_find(type), &text);
	schema = recorder_add_schema(mcap, name, ros ? "ros2msg" : "protobuf", &text);
	text_fini(&text);
	return schema;
}

static int32_t recorder_add_channel(
	struct troupe_mcap *mcap, const char *topic, const struct ros_type *ros, const char *type)
{
	static const char *const pairs[] = {"offered_qos_profiles", ""};
	int32_t schema = recorder_schema_of(mcap, ros, type);
	return schema < 0 ? -1
			  : mcap_file_add_channel(mcap->file, schema, topic, ros ? "cdr" : "protobuf", pairs,
				    ros ? ARRAY_LEN(pairs) : 0);
}

/* NULL: the file has too many channels. */
static const struct recorder_channel *recorder_add_lane(struct troupe_mcap *mcap, const struct troupe_message *message)
{
	struct recorder_channel channel = {.ros = ros_type_find(message->type, message->topic), .channel = -1};
	uint32_t chosen = 0;
	channel.role = recorder_role_of(mcap, message->topic, &channel.scenery);
	(void)map_find(&mcap->subscribed, message->topic, &chosen);
	if (chosen)
		channel.channel = recorder_add_channel(mcap, message->topic, channel.ros, message->type);
	if (chosen && channel.channel < 0)
		return NULL;
	channel.name = mem_strdup(mcap->key.at);
	vec_push(&mcap->channels, channel);
	(void)map_add(&mcap->lanes_by_name, channel.name, mcap->channels.count - 1);
	return &mcap->channels.at[mcap->channels.count - 1];
}

static const struct recorder_channel *recorder_lane_of(struct troupe_mcap *mcap, const struct troupe_message *message)
{
	uint32_t at;
	mcap->key.count = 0;
	text_add_bytes(&mcap->key, message->topic, strlen(message->topic));
	text_add_bytes(&mcap->key, "\t", 1);
	text_add_bytes(&mcap->key, message->type, strlen(message->type));
	return map_find(&mcap->lanes_by_name, mcap->key.at, &at) ? &mcap->channels.at[at]
								 : recorder_add_lane(mcap, message);
}

/* False: the file has too many channels. */
static bool recorder_add_scenery_channel(struct troupe_mcap *mcap, struct recorder_scenery *scenery, bool shapes)
{
	int32_t *channel = shapes ? &scenery->shapes_channel : &scenery->frames_channel;
	struct text schema = {0};
	if (*channel >= 0)
		return true;
	if (shapes) {
		text_add(&schema, "%s", stage_schema);
		int32_t number = recorder_find_schema(mcap, stage_schema_name);
		if (!number)
			number = recorder_add_schema(mcap, stage_schema_name, "jsonschema", &schema);
		if (number >= 0)
			*channel = mcap_file_add_channel(mcap->file, number, scenery->of.shapes, "json", NULL, 0);
		text_fini(&schema);
	} else {
		*channel = recorder_add_channel(mcap, scenery->of.frames, ros_type_find("gz.msgs.Pose_V", "/tf"), NULL);
	}
	return *channel >= 0;
}

static troupe_status recorder_too_many(const struct troupe_mcap *mcap, struct troupe_error *error)
{
	return fail(
		error, TROUPE_ELIMIT, "%s: %d topics are recorded: expected no more", mcap->path, MCAP_CHANNELS_MAX);
}

static troupe_status recorder_not_converted(const struct troupe_mcap *mcap, const struct troupe_message *message,
	const struct troupe_error *why, struct troupe_error *error)
{
	return fail(error, TROUPE_EINTERNAL, "%s: %s: %s", mcap->path, message->topic, why->text);
}

/* The message as a part of its world's scenery. */
static troupe_status recorder_write_scenery(struct troupe_mcap *mcap, const struct recorder_channel *channel,
	const struct troupe_message *message, struct troupe_error *error)
{
	struct recorder_scenery *scenery = &mcap->sceneries.at[channel->scenery];
	struct troupe_error why;
	bool shapes = channel->role == SCENE;
	mcap->body.count = 0;
	if (scenery_take(&scenery->of, message, &mcap->body, &why))
		return recorder_not_converted(mcap, message, &why, error);
	if (!mcap->body.count || (shapes ? !scenery->has_shapes : !scenery->has_frames))
		return TROUPE_OK;
	if (!recorder_add_scenery_channel(mcap, scenery, shapes))
		return recorder_too_many(mcap, error);
	mcap_file_message(mcap->file, shapes ? scenery->shapes_channel : scenery->frames_channel, message->time_ns,
		mcap->body.at, mcap->body.count);
	return TROUPE_OK;
}

static troupe_status recorder_write_own(struct troupe_mcap *mcap, const struct recorder_channel *channel,
	const struct troupe_message *message, struct troupe_error *error)
{
	struct troupe_error why;
	if (!channel->ros) {
		mcap_file_message(mcap->file, channel->channel, message->time_ns, message->bytes, message->count);
		return TROUPE_OK;
	}
	mcap->body.count = 0;
	if (ros_of_bytes(channel->ros, message->bytes ? message->bytes : "", message->count, &mcap->body, &why))
		return recorder_not_converted(mcap, message, &why, error);
	mcap_file_message(mcap->file, channel->channel, message->time_ns, mcap->body.at, mcap->body.count);
	return TROUPE_OK;
}

static troupe_status recorder_write_in_bag(
	struct troupe_mcap *mcap, const struct troupe_message *message, struct troupe_error *error)
{
	struct troupe_error why;
	troupe_status status = bag_write(mcap->bag, message, &why);
	return status == TROUPE_ELIMIT ? recorder_too_many(mcap, error)
	       : status                ? recorder_not_converted(mcap, message, &why, error)
				       : TROUPE_OK;
}

static troupe_status recorder_write_in_lane(
	struct troupe_mcap *mcap, const struct troupe_message *message, struct troupe_error *error)
{
	const struct recorder_channel *channel = recorder_lane_of(mcap, message);
	if (!channel)
		return recorder_too_many(mcap, error);
	troupe_status status = channel->channel >= 0 ? recorder_write_own(mcap, channel, message, error) : TROUPE_OK;
	return !status && channel->role != NO_ROLE ? recorder_write_scenery(mcap, channel, message, error) : status;
}

static troupe_status recorder_write_message(
	struct troupe_mcap *mcap, const struct troupe_message *message, struct troupe_error *error)
{
	troupe_status status =
		mcap->bag ? recorder_write_in_bag(mcap, message, error) : recorder_write_in_lane(mcap, message, error);
	int code = mcap_file_failed(mcap->file);
	return code && !status ? fail(error, TROUPE_EIO, "%s: cannot write: %s: the file ends at %.3f s", mcap->path,
					 outfile_why(code), (double)message->time_ns * 1e-9)
			       : status;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* Takes all that waits; the client is left to the step between two messages. */
static troupe_status recorder_drain(struct troupe_mcap *mcap, struct troupe_error *error)
{
	struct troupe_message message;
	troupe_status status = TROUPE_OK;
	bool some = true;
	while (some && !status) {
		pthread_mutex_lock(&mcap->lock);
		some = troupe_client_take(mcap->client, 0, &message);
		if (some && !message.is_reply)
			status = recorder_write_message(mcap, &message, error);
		pthread_mutex_unlock(&mcap->lock);
	}
	if (!status && troupe_client_lost(mcap->client))
		status = fail(error, TROUPE_EINTERNAL, "%s: messages of %" PRIu64 " steps were lost", mcap->path,
			troupe_client_lost(mcap->client));
	return status;
}

static void recorder_give_up(struct troupe_mcap *mcap)
{
	atomic_store(&mcap->failed, true);
	eventcount_advance(&mcap->done);
	pthread_mutex_lock(&mcap->lock);
	troupe_client_destroy(mcap->client);
	mcap->client = NULL;
	pthread_mutex_unlock(&mcap->lock);
	if (mcap->on_end)
		mcap->on_end(mcap->ctx, mcap->why.text);
}

static void *recorder_work(void *ctx)
{
	struct troupe_mcap *mcap = ctx;
	for (;;) {
		uint32_t seen = eventcount_read(&mcap->told);
		bool ending = atomic_load(&mcap->ending);
		uint64_t steps = atomic_load(&mcap->told_steps);
		if (recorder_drain(mcap, &mcap->why)) {
			recorder_give_up(mcap);
			return NULL;
		}
		atomic_store(&mcap->done_steps, steps);
		eventcount_advance(&mcap->done);
		if (ending)
			return NULL;
		(void)eventcount_await(&mcap->told, seen, 0, 0);
	}
}

/* --- the step's side ---------------------------------------------------------------------------------------------- */

/* Until the thread is less than `behind` steps behind. */
static void recorder_await_thread(struct troupe_mcap *mcap, uint64_t behind)
{
	uint64_t begin_ns = 0;
	for (;;) {
		uint32_t seen = eventcount_read(&mcap->done);
		if (atomic_load(&mcap->failed) || mcap->steps - atomic_load(&mcap->done_steps) < behind)
			break;
		begin_ns = begin_ns ? begin_ns : clock_now_ns();
		(void)eventcount_await(&mcap->done, seen, 0, 0);
	}
	if (begin_ns)
		mcap->waited_ns += clock_now_ns() - begin_ns;
}

static void recorder_tell_thread(struct troupe_mcap *mcap)
{
	atomic_store(&mcap->told_steps, mcap->steps);
	eventcount_advance(&mcap->told);
}

void troupe_mcap_step(struct troupe_mcap *mcap)
{
	if (!mcap || atomic_load_explicit(&mcap->failed, memory_order_relaxed))
		return;
	mcap->steps++;
	if (troupe_topics_epoch(mcap->server) != mcap->epoch) {
		if (mcap->bag) { /* what waits has its name by the topics that there were */
			recorder_tell_thread(mcap);
			recorder_await_thread(mcap, 1);
		}
		pthread_mutex_lock(&mcap->lock);
		if (mcap->client)
			recorder_subscribe(mcap);
		pthread_mutex_unlock(&mcap->lock);
	}
	if (mcap->steps % TELL_STEPS)
		return;
	recorder_tell_thread(mcap);
	recorder_await_thread(mcap, TROUPE_MCAP_BEHIND_MAX);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static enum outfile_urgency recorder_urgency(void *ctx)
{
	const struct troupe_mcap *mcap = ctx;
	return mcap->in_a_hurry && mcap->in_a_hurry(mcap->ctx) ? OUTFILE_HURRIED : OUTFILE_PATIENT;
}

/* Facts about the run for a reader: only facts on which the messages depend, so that equal runs give equal files. */
static void recorder_add_metadata(struct troupe_mcap *mcap)
{
	struct text worlds = {0}, seed = {0};
	for (uint32_t i = 0; i < troupe_server_world_count(mcap->server); i++)
		text_add(&worlds, "%s%s", i ? "\n" : "", troupe_server_world_name(mcap->server, i));
	text_add(&seed, "%" PRIu64, troupe_server_seed(mcap->server));
	const char *const texts[] = {"version", troupe_version(), "world", worlds.at, "seed", seed.at, "names", "ros"};
	mcap_file_metadata(mcap->file, "troupe", texts, ARRAY_LEN(texts) - (mcap->bag ? 0 : 2));
	text_fini(&worlds);
	text_fini(&seed);
}

static void recorder_release(struct troupe_mcap *mcap)
{
	for (uint32_t i = 0; i < mcap->names.count; i++)
		free(mcap->names.at[i]);
	for (uint32_t i = 0; i < mcap->channels.count; i++)
		free(mcap->channels.at[i].name);
	for (uint32_t i = 0; i < mcap->sceneries.count; i++)
		scenery_fini(&mcap->sceneries.at[i].of);
	bag_destroy(mcap->bag);
	vec_free(&mcap->sceneries);
	chosen_fini(&mcap->chosen);
	vec_free(&mcap->names);
	vec_free(&mcap->channels);
	map_fini(&mcap->subscribed);
	map_fini(&mcap->lanes_by_name);
	map_fini(&mcap->schemas_by_name);
	text_fini(&mcap->key);
	text_fini(&mcap->body);
	pthread_mutex_destroy(&mcap->lock);
	free(mcap->path);
	free(mcap);
}

troupe_status troupe_mcap_start(struct troupe_server *server, const struct troupe_mcap_def *def,
	struct troupe_mcap **ret_mcap, struct troupe_error *error)
{
	struct troupe_mcap *mcap = mem_alloc_lines(sizeof *mcap);
	const struct troupe_client_def client = {.depth = RECORDER_DEPTH};
	struct text library = {0};
	text_add(&library, "troupe %s", troupe_version());
	mcap->server = server;
	mcap->path = mem_strdup(def->path);
	mcap->in_a_hurry = def->in_a_hurry;
	mcap->on_end = def->on_end;
	mcap->say = def->say;
	mcap->ctx = def->ctx;
	pthread_mutex_init(&mcap->lock, NULL);
	troupe_status status = chosen_init(&mcap->chosen, def, error);
	if (!status)
		status = mcap_file_open(def->path, "ros2", library.at,
			&(struct outfile_options){.urgency = recorder_urgency, .ctx = mcap}, &mcap->file, error);
	text_fini(&library);
	if (!status)
		status = troupe_client_create(server, &client, &mcap->client, error);
	if (status) {
		if (mcap->file)
			(void)mcap_file_close(mcap->file, NULL);
		recorder_release(mcap);
		return status;
	}
	if (def->names == TROUPE_MCAP_ROS)
		mcap->bag = bag_create(&(struct bag_def){.file = mcap->file,
			.robot = def->robot,
			.choose = recorder_choose,
			.is_usual = chosen_is_usual,
			.say = recorder_say,
			.ctx = mcap});
	else
		recorder_add_sceneries(mcap);
	recorder_add_metadata(mcap);
	recorder_subscribe(mcap);
	int code = pthread_create(&mcap->thread, NULL, recorder_work, mcap);
	if (code) {
		mem_check_thread(code);
		(void)mcap_file_close(mcap->file, NULL);
		troupe_client_destroy(mcap->client);
		recorder_release(mcap);
		return fail(error, TROUPE_EIO, "%s: cannot start a thread: %s", def->path, strerror(code));
	}
	*ret_mcap = mcap;
	return TROUPE_OK;
}

troupe_status troupe_mcap_end(
	struct troupe_mcap *mcap, struct troupe_mcap_counts *ret_counts, struct troupe_error *error)
{
	if (!mcap)
		return TROUPE_OK;
	atomic_store(&mcap->ending, true);
	eventcount_advance(&mcap->told);
	(void)pthread_join(mcap->thread, NULL);
	troupe_client_destroy(mcap->client);
	struct mcap_file_counts written;
	int code = mcap_file_close(mcap->file, &written);
	troupe_status status = atomic_load(&mcap->failed) ? mcap->why.status : TROUPE_OK;
	if (status && error)
		*error = mcap->why;
	else if (code && !status)
		status = fail(error, TROUPE_EIO, "%s: cannot write: %s", mcap->path, outfile_why(code));
	if (ret_counts)
		*ret_counts = (struct troupe_mcap_counts){written.messages, written.chunks, written.bytes,
			mcap->waited_ns, written.channels, chosen_unmatched(&mcap->chosen)};
	recorder_release(mcap);
	return status;
}
