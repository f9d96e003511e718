/* A thread takes the messages of one source, converts each once for each type, and writes it to all ends of DDS that
 * give it; what comes from DDS becomes messages to the server. An end exists for each name, so that nodes see all that
 * there is, but a topic is subscribed to only while an end of it has readers: so a topic without readers costs nothing.
 *
 * A turn comes once a millisecond at most: a program that floods a topic is heard at that rate, with the last ten
 * messages of each topic, and many steps of a fast run are sent together. */
#include "base/clock.h"
#include "base/eventcount.h"
#include "base/map.h"
#include "gateway/dds/graph.h"
#include "gateway/dds/module.h"
#include "gateway/dds/services.h"
#include "gateway/ending.h"
#include "gateway/ros/names.h"
#include "gateway/ros/type_hash.h"
#include "gateway/source.h"
#include "topic/message.h"
#include "topic/plain.pb-c.h"

#include <troupe/gateway.h>
#include <troupe/ros2.h>

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUEUE_DEPTH = 256, /* step boundaries that wait: a turn of a fast run has many */
	BATCH = 1024,
	ENDS_MAX = 16384,
	TURN_NS = 1000000,
	LAST_TAKES = 16,
};

static const char node_name[] = "troupe"; /* in the namespace of the robot client, if it is one */

struct channel {   /* an end, and what makes it */
	char *key; /* its kind, name and type */
	char *name;
	troupe_topic_kind kind;
	struct glue_end *end;
	uint32_t peers, came; /* as known so far */
	uint64_t round;       /* of the table in which it was seen last */
	/* of a reader, from the last table */
	const struct ros_type *ros; /* NULL: commands to joints */
	const char *topic, *robot;
	bool refused_told;
};

struct output { /* of a feed */
	const struct ros_offer *offer;
	uint32_t channel;
};

struct feed { /* a topic of the server */
	const char *topic;
	VEC(struct output) outputs;
	bool on; /* subscribed to */
	bool failed_told;
};

struct troupe_ros2 {
	const struct glue *glue;
	struct glue_node *node;
	struct glue_end *graph;
	struct source *source;
	struct simulation *simulation;
	struct services *services;
	struct ros_names names; /* of the table now; feeds and channels point into it */
	VEC(struct channel) channels;
	struct map channel_of; /* by key */
	VEC(struct feed) feeds;
	struct map feed_of; /* by topic */
	struct text cdr;    /* of the message that is being sent */
	char *client;       /* the robot client whose process this is; NULL: none */
	char *robot;        /* see troupe_ros2_def; NULL: not known yet */
	bool humble, looked, full_told;
	uint64_t epoch, round;
	uint32_t domain;
	char address[INET_ADDRSTRLEN]; /* "": this machine only */
	void (*say)(void *ctx, const char *text);
	void *say_ctx;
	struct eventcount bell;
	const struct troupe_error *failure; /* of the run; NULL: none. Set before `stop` */
	_Atomic bool stop;
	pthread_t thread;
	bool started;
	_Atomic uint32_t topics;
	_Atomic uint64_t published, taken, refused;
};

static void wake(void *ctx)
{
	struct troupe_ros2 *gateway = ctx;
	eventcount_advance(&gateway->bell);
}

static void say(struct troupe_ros2 *gateway, const char *format, ...) TROUPE_PRINTF(2, 3);
static void say(struct troupe_ros2 *gateway, const char *format, ...)
{
	struct troupe_error line;
	va_list args;
	va_start(args, format);
	(void)fail_v(&line, TROUPE_OK, format, args);
	va_end(args);
	if (gateway->say)
		gateway->say(gateway->say_ctx, line.text);
}

static void warn(void *ctx, const char *text)
{
	say(ctx, "ROS 2: the DDS library warns, and further warnings are not shown: %s", text);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* NULL: there is no room for another writer or reader; a warning was given. */
static struct channel *make_channel(struct troupe_ros2 *gateway, const struct ros_offer *offer, char *key)
{
	char why[GLUE_WHY_BYTES] = "there are too many topics";
	char *topic = graph_topic(offer->name), *type = graph_type(offer->type);
	struct text user_data = {0};
	struct glue_end *end = NULL;
	text_add(&user_data, "typehash=");
	type_hash_add(offer->type, &user_data);
	text_add(&user_data, ";");
	if (gateway->channels.count >= ENDS_MAX)
		end = NULL;
	else if (offer->kind == TROUPE_TOPIC_PUBLISHED)
		(void)gateway->glue->write_end(gateway->node, topic, type,
			offer->keep == NAMES_STATIC ? GLUE_STATIC : GLUE_LATEST, user_data.at, &end, why);
	else
		(void)gateway->glue->read_end(gateway->node, topic, type, GLUE_LATEST, user_data.at, &end, why);
	text_fini(&user_data);
	free(topic);
	free(type);
	if (!end) {
		if (!gateway->full_told)
			say(gateway, "ROS 2: topic '%s' and perhaps others are left out: %s", offer->name, why);
		gateway->full_told = true;
		free(key);
		return NULL;
	}
	vec_push(&gateway->channels,
		(struct channel){.key = key, .name = mem_strdup(offer->name), .kind = offer->kind, .end = end});
	map_add(&gateway->channel_of, key, gateway->channels.count - 1);
	return &gateway->channels.at[gateway->channels.count - 1];
}

static struct channel *find_channel(struct troupe_ros2 *gateway, const struct ros_offer *offer)
{
	char *key = mem_printf("%d%s|%s", (int)offer->kind, offer->name, offer->type);
	uint32_t at;
	if (!map_find(&gateway->channel_of, key, &at))
		return make_channel(gateway, offer, key);
	free(key);
	return &gateway->channels.at[at];
}

static void add_output(struct troupe_ros2 *gateway, const struct ros_offer *offer, uint32_t channel)
{
	uint32_t at;
	if (!map_find(&gateway->feed_of, offer->topic, &at)) {
		at = gateway->feeds.count;
		vec_push(&gateway->feeds, (struct feed){.topic = offer->topic});
		map_add(&gateway->feed_of, offer->topic, at);
	}
	vec_push(&gateway->feeds.at[at].outputs, (struct output){offer, channel});
}

static void drop_feeds(struct troupe_ros2 *gateway)
{
	for (uint32_t i = 0; i < gateway->feeds.count; i++)
		vec_free(&gateway->feeds.at[i].outputs);
	gateway->feeds.count = 0;
	map_fini(&gateway->feed_of);
	gateway->feed_of = (struct map){0};
}

static void drop_channel(struct troupe_ros2 *gateway, uint32_t at)
{
	struct channel *channel = &gateway->channels.at[at];
	struct channel *last = &gateway->channels.at[gateway->channels.count - 1];
	gateway->glue->close_end(channel->end);
	map_remove(&gateway->channel_of, channel->key);
	free(channel->key);
	free(channel->name);
	if (channel != last) {
		map_remove(&gateway->channel_of, last->key);
		*channel = *last;
		map_add(&gateway->channel_of, channel->key, at);
	}
	gateway->channels.count--;
}

static void drop_gone_channels(struct troupe_ros2 *gateway)
{
	for (uint32_t i = gateway->channels.count; i-- > 0;)
		if (gateway->channels.at[i].round != gateway->round)
			drop_channel(gateway, i);
}

static void tell_graph(struct troupe_ros2 *gateway)
{
	unsigned char participant[GLUE_GUID_BYTES];
	uint32_t count = services_ends(gateway->services, NULL);
	struct graph_end *ends = mem_alloc((count + gateway->channels.count) * sizeof *ends + 1);
	struct text out = {0};
	char *space = mem_printf("/%s", gateway->client ? gateway->client : "");
	(void)services_ends(gateway->services, ends);
	for (uint32_t i = 0; i < gateway->channels.count; i++, count++) {
		ends[count].kind = gateway->channels.at[i].kind;
		gateway->glue->end_guid(gateway->channels.at[i].end, ends[count].guid);
	}
	gateway->glue->node_guid(gateway->node, participant);
	graph_add(&out, participant, space, node_name, ends, count, gateway->humble);
	(void)gateway->glue->write(gateway->graph, out.at, out.count);
	text_fini(&out);
	free(space);
	free(ends);
}

/* Makes all feeds anew. Subscriptions to topics that stay are kept; subscriptions to topics that are gone end. */
static void rebuild(struct troupe_ros2 *gateway, struct ros_names *names)
{
	struct map was_on = {0};
	for (uint32_t i = 0; i < gateway->feeds.count; i++)
		if (gateway->feeds.at[i].on)
			map_add(&was_on, gateway->feeds.at[i].topic, i);
	drop_feeds(gateway);
	gateway->round++;
	for (uint32_t i = 0; i < names->offers.count; i++) {
		const struct ros_offer *offer = &names->offers.at[i];
		struct channel *channel = find_channel(gateway, offer);
		if (!channel)
			continue;
		channel->round = gateway->round;
		channel->ros = offer->ros;
		channel->topic = offer->topic;
		channel->robot = offer->robot;
	}
	drop_gone_channels(gateway);
	for (uint32_t i = 0; i < names->offers.count; i++) {
		const struct ros_offer *offer = &names->offers.at[i];
		char *key = mem_printf("%d%s|%s", (int)offer->kind, offer->name, offer->type);
		uint32_t at;
		if (offer->kind == TROUPE_TOPIC_PUBLISHED && map_find(&gateway->channel_of, key, &at))
			add_output(gateway, offer, at);
		free(key);
	}
	for (uint32_t i = 0; i < was_on.room; i++) {
		uint32_t at;
		if (!was_on.slots[i].name)
			continue;
		if (map_find(&gateway->feed_of, was_on.slots[i].name, &at))
			gateway->feeds.at[at].on = true;
		else
			gateway->source->ops->unsubscribe(gateway->source, was_on.slots[i].name);
	}
	map_fini(&was_on);
}

static void look(struct troupe_ros2 *gateway)
{
	uint64_t epoch = gateway->source->ops->epoch(gateway->source);
	struct ros_names names, before = gateway->names;
	if (gateway->looked && epoch == gateway->epoch)
		return;
	const struct troupe_topics *topics = gateway->source->ops->topics(gateway->source);
	gateway->epoch = topics->epoch;
	gateway->looked = true;
	names_make(topics, gateway->client, gateway->robot, &names);
	gateway->source->ops->release(gateway->source, topics);
	if (!gateway->robot && names.robot)
		gateway->robot = mem_strdup(names.robot);
	rebuild(gateway, &names);
	gateway->names = names;
	names_fini(&before);
	atomic_store_explicit(&gateway->topics, gateway->channels.count, memory_order_relaxed);
	tell_graph(gateway);
}

/* --- readers come and go ------------------------------------------------------------------------------------------ */

/* A reader that has just come gets a message at once: subscribing again asks for one. */
static void follow_readers(struct troupe_ros2 *gateway)
{
	bool *fresh = mem_alloc(gateway->channels.count + 1);
	for (uint32_t i = 0; i < gateway->channels.count; i++) {
		struct channel *channel = &gateway->channels.at[i];
		uint32_t came;
		channel->peers = gateway->glue->peers(channel->end, &came);
		fresh[i] = channel->peers && came != channel->came;
		channel->came = came;
	}
	for (uint32_t i = 0; i < gateway->feeds.count; i++) {
		struct feed *feed = &gateway->feeds.at[i];
		bool wanted = false, again = false;
		for (uint32_t o = 0; o < feed->outputs.count; o++) {
			wanted |= gateway->channels.at[feed->outputs.at[o].channel].peers > 0;
			again |= fresh[feed->outputs.at[o].channel];
		}
		if (wanted && (!feed->on || again))
			(void)gateway->source->ops->subscribe(gateway->source, feed->topic, 0, NULL);
		else if (!wanted && feed->on)
			gateway->source->ops->unsubscribe(gateway->source, feed->topic);
		feed->on = wanted;
	}
	free(fresh);
}

/* --- from the server ---------------------------------------------------------------------------------------------- */

/* made: of which the present CDR is; NULL: there is none. */
static void write_output(struct troupe_ros2 *gateway, const struct output *output, const struct ros_offer **made,
	const struct troupe_message *message, struct feed *feed)
{
	struct channel *channel = &gateway->channels.at[output->channel];
	struct troupe_error error;
	if (!channel->peers)
		return;
	if (!*made || !names_are_alike(*made, output->offer)) {
		gateway->cdr.count = 0;
		*made = output->offer;
		if (names_convert(output->offer, message, &gateway->cdr, &error)) {
			gateway->cdr.count = 0;
			if (!feed->failed_told)
				say(gateway, "ROS 2: %s: a message is left out: %s", channel->name, error.text);
			feed->failed_told = true;
		}
	}
	if (gateway->cdr.count && gateway->glue->write(channel->end, gateway->cdr.at, gateway->cdr.count))
		atomic_fetch_add_explicit(&gateway->published, 1, memory_order_relaxed);
}

static void pass_on(struct troupe_ros2 *gateway, const struct troupe_message *message)
{
	const struct ros_offer *made = NULL;
	uint32_t at;
	if (!map_find(&gateway->feed_of, message->topic, &at))
		return;
	struct feed *feed = &gateway->feeds.at[at];
	for (uint32_t i = 0; i < feed->outputs.count; i++)
		write_output(gateway, &feed->outputs.at[i], &made, message, feed);
}

/* Whether there may be more. */
static bool take_some(struct troupe_ros2 *gateway)
{
	struct troupe_message message;
	for (int i = 0; i < BATCH; i++) {
		if (!gateway->source->ops->take(gateway->source, 0, &message))
			return false;
		if (message.is_reply)
			simulation_take(gateway->simulation, &message);
		else
			pass_on(gateway, &message);
	}
	return true;
}

/* --- to the server ------------------------------------------------------------------------------------------------ */

struct giving {
	struct troupe_ros2 *gateway;
	struct channel *channel;
	struct troupe_error error;
	troupe_status status;
};

static void give_joint(void *ctx, const char *joint, enum joint_quantity quantity, double value)
{
	struct giving *giving = ctx;
	struct troupe_ros2 *gateway = giving->gateway;
	Gz__Msgs__Double message = GZ__MSGS__DOUBLE__INIT;
	struct text bytes = {0};
	char *topic = names_joint_topic(&gateway->names, giving->channel->robot, joint, quantity);
	if (!topic) {
		static const char *const words[] = {"a position", "a velocity", "an effort"};
		if (!giving->status)
			giving->status = fail(&giving->error, TROUPE_ECOMMAND, "joint '%.80s' takes no command of %s",
				joint, words[quantity]);
		return;
	}
	text_add(&bytes, "%s", "");
	message.data = value;
	message_add_bytes(&bytes, &message.base);
	troupe_status status =
		gateway->source->ops->publish(gateway->source, topic, NULL, bytes.at, bytes.count, &giving->error);
	if (status)
		giving->status = status;
	text_fini(&bytes);
	free(topic);
}

static void give_message(struct giving *giving, const void *cdr, size_t count)
{
	const struct channel *channel = giving->channel;
	struct text bytes = {0};
	text_add(&bytes, "%s", "");
	giving->status = ros_to_bytes(channel->ros, cdr, count, &bytes, &giving->error);
	if (!giving->status)
		giving->status = giving->gateway->source->ops->publish(
			giving->gateway->source, channel->topic, NULL, bytes.at, bytes.count, &giving->error);
	text_fini(&bytes);
}

static void give(void *ctx, uint64_t writer, const void *cdr, size_t count)
{
	(void)writer;
	struct giving *giving = ctx;
	struct troupe_ros2 *gateway = giving->gateway;
	giving->status = TROUPE_OK;
	if (giving->channel->ros) {
		give_message(giving, cdr, count);
	} else {
		troupe_status status = joint_command_read(cdr, count, give_joint, giving, &giving->error);
		giving->status = giving->status ? giving->status : status;
	}
	atomic_fetch_add_explicit(giving->status ? &gateway->refused : &gateway->taken, 1, memory_order_relaxed);
	if (giving->status && !giving->channel->refused_told) {
		giving->channel->refused_told = true;
		say(gateway, "ROS 2: %s: a message is refused: %s", giving->channel->name, giving->error.text);
	}
}

static void take_commands(struct troupe_ros2 *gateway)
{
	for (uint32_t i = 0; i < gateway->channels.count; i++) {
		struct channel *channel = &gateway->channels.at[i];
		struct giving giving = {.gateway = gateway, .channel = channel};
		if (channel->kind == TROUPE_TOPIC_TAKEN && channel->peers)
			(void)gateway->glue->take(channel->end, give, &giving);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void *work(void *ctx)
{
	struct troupe_ros2 *gateway = ctx;
	uint32_t seen = eventcount_read(&gateway->bell);
	while (!atomic_load(&gateway->stop)) {
		uint64_t begin_ns = clock_now_ns();
		look(gateway);
		follow_readers(gateway);
		take_commands(gateway);
		services_turn(gateway->services);
		bool more = take_some(gateway);
		if (!more)
			clock_sleep_until_ns(begin_ns + TURN_NS);
		uint32_t now = eventcount_read(&gateway->bell);
		if (!more && now == seen)
			now = eventcount_await(&gateway->bell, seen, 0, 0);
		seen = now;
	}
	/* the client that has ended the run gets the answer that it ends, and others that wait get the reason */
	for (int i = 0; i < LAST_TAKES && take_some(gateway); i++)
		;
	simulation_end(gateway->simulation, ending_text(gateway->failure));
	return NULL;
}

static troupe_status open_node(
	struct troupe_ros2 *gateway, const struct troupe_ros2_def *def, struct troupe_error *error)
{
	char why[GLUE_WHY_BYTES];
	const struct glue_place place = {.domain = def->domain,
		.address = def->address,
		.user_data = "enclave=/;",
		.wake = wake,
		.say = warn,
		.ctx = gateway};
	if (!gateway->glue->open(&place, &gateway->node, why))
		return fail(error, TROUPE_EIO, "domain %u: %s", def->domain, why);
	if (!gateway->glue->write_end(gateway->node, "ros_discovery_info",
		    "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", GLUE_STATIC, NULL, &gateway->graph, why))
		return fail(error, TROUPE_EIO, "domain %u: %s", def->domain, why);
	return TROUPE_OK;
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static troupe_status call_server(void *ctx, const char *service, const char *type, const void *bytes, size_t count,
	uint64_t tag, struct troupe_error *error)
{
	struct troupe_ros2 *gateway = ctx;
	return gateway->source->ops->call(gateway->source, service, type, bytes, count, tag, error);
}

static void say_of_services(void *ctx, const char *text)
{
	say(ctx, "ROS 2: %s", text);
}

static void open_services(struct troupe_ros2 *gateway)
{
	const struct troupe_topics *topics = gateway->source->ops->topics(gateway->source);
	gateway->simulation = simulation_create(&(struct simulation_def){call_server, gateway}, topics);
	gateway->source->ops->release(gateway->source, topics);
	gateway->services = services_create(&(struct services_def){.glue = gateway->glue,
		.node = gateway->node,
		.simulation = gateway->simulation,
		.say = say_of_services,
		.ctx = gateway});
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

/* Threads of the library and the gateway's own take over the mask: signals are for the program. */
static troupe_status start(struct troupe_ros2 *gateway, const struct source_place *place,
	const struct troupe_ros2_def *def, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	troupe_status status = source_open(place, QUEUE_DEPTH, wake, gateway, &gateway->source, error);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!status)
		status = open_node(gateway, def, error);
	if (!status)
		open_services(gateway);
	int failed = status ? 0 : pthread_create(&gateway->thread, NULL, work, gateway);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "a thread cannot be started: %s", strerror(failed));
	gateway->started = !status;
	return status;
}

static troupe_status check(const struct troupe_ros2_def *def, struct troupe_error *error)
{
	struct in_addr address;
	if (def->domain > TROUPE_ROS2_DOMAIN_MAX)
		return fail(
			error, TROUPE_EINVAL, "domain %u: expected 0 .. %d", def->domain, (int)TROUPE_ROS2_DOMAIN_MAX);
	if (def->address && inet_pton(AF_INET, def->address, &address) != 1)
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected the IPv4 address of an interface of this machine", def->address);
	return TROUPE_OK;
}

bool troupe_ros2_available(void)
{
	return module_is_available();
}

static troupe_status make(const struct source_place *place, const struct troupe_ros2_def *def,
	struct troupe_ros2 **ret_ros2, struct troupe_error *error)
{
	const struct glue *glue;
	const char *client = place->run ? place->run->client : NULL;
	troupe_status status = check(def, error);
	if (!status)
		status = module_load(&glue, error);
	if (status)
		return status;
	struct troupe_ros2 *gateway = mem_alloc_lines(sizeof *gateway);
	gateway->glue = glue;
	gateway->domain = def->domain;
	gateway->humble = def->humble;
	gateway->client = client ? mem_strdup(client) : NULL;
	gateway->robot = def->robot ? mem_strdup(def->robot) : NULL;
	gateway->say = def->say;
	gateway->say_ctx = def->say_ctx;
	for (size_t i = 0; def->address && def->address[i] && i + 1 < sizeof gateway->address; i++)
		gateway->address[i] = def->address[i];
	status = start(gateway, place, def, error);
	if (status) {
		troupe_ros2_end(gateway, error);
		return status;
	}
	*ret_ros2 = gateway;
	return TROUPE_OK;
}

troupe_status troupe_ros2_start(struct troupe_server *server, const struct troupe_ros2_def *def,
	struct troupe_ros2 **ret_ros2, struct troupe_error *error)
{
	return make(&(struct source_place){.server = server}, def, ret_ros2, error);
}

troupe_status troupe_ros2_connect(const struct troupe_view_run *run, const struct troupe_ros2_def *def,
	struct troupe_ros2 **ret_ros2, struct troupe_error *error)
{
	return make(&(struct source_place){.run = run}, def, ret_ros2, error);
}

void troupe_ros2_end(struct troupe_ros2 *gateway, const struct troupe_error *why)
{
	if (!gateway)
		return;
	gateway->failure = why;
	atomic_store(&gateway->stop, true);
	wake(gateway);
	if (gateway->started)
		(void)pthread_join(gateway->thread, NULL);
	while (gateway->channels.count)
		drop_channel(gateway, gateway->channels.count - 1);
	simulation_destroy(gateway->simulation);
	services_destroy(gateway->services);
	if (gateway->graph)
		gateway->glue->close_end(gateway->graph);
	if (gateway->node)
		gateway->glue->close(gateway->node);
	source_destroy(gateway->source);
	drop_feeds(gateway);
	vec_free(&gateway->feeds);
	vec_free(&gateway->channels);
	map_fini(&gateway->channel_of);
	names_fini(&gateway->names);
	text_fini(&gateway->cdr);
	free(gateway->client);
	free(gateway->robot);
	free(gateway);
}

struct troupe_ros2_counts troupe_ros2_counts(const struct troupe_ros2 *gateway)
{
	uint64_t taken, refused;
	services_counts(gateway->services, &taken, &refused);
	return (struct troupe_ros2_counts){.topics = atomic_load_explicit(&gateway->topics, memory_order_relaxed),
		.published = atomic_load_explicit(&gateway->published, memory_order_relaxed),
		.boundaries_lost = gateway->source->ops->lost(gateway->source),
		.taken = taken + atomic_load_explicit(&gateway->taken, memory_order_relaxed),
		.refused = refused + atomic_load_explicit(&gateway->refused, memory_order_relaxed),
		.commands = gateway->source->ops->commands(gateway->source)};
}

void troupe_ros2_describe(const struct troupe_ros2 *gateway, char *ret_text, size_t bytes)
{
	struct text text = {0};
	text_add(&text, "domain %u, node %s%s/%s, %s%s", gateway->domain, gateway->client ? "/" : "",
		gateway->client ? gateway->client : "", node_name, *gateway->address ? "through " : "this machine only",
		gateway->address);
	snprintf(ret_text, bytes, "%s", text.at);
	text_fini(&text);
}
