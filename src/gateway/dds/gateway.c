/* A thread takes the messages of one source, converts each once for each type, and writes it to all ends of DDS that
 * give it; what comes from DDS becomes messages to the server. An end exists for each name, so that nodes see all that
 * there is, but a topic is subscribed to only while an end of it has readers: so a topic without readers costs nothing.
 *
 * A turn comes once a millisecond at most: a program that floods a topic is heard at that rate, with the last ten
 * messages of each topic, and many steps of a fast run are sent together. */
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/eventcount.h"
#include "base/map.h"
#include "base/parse.h"
#include "gateway/dds/graph.h"
#include "gateway/dds/module.h"
#include "gateway/dds/services.h"
#include "gateway/hub/kinds.h"
#include "gateway/hub/settings.h"
#include "gateway/ros/give.h"
#include "gateway/ros/names.h"
#include "gateway/ros/simulation.h"
#include "gateway/ros/type_hash.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	QUEUE_DEPTH = 256, /* step boundaries that wait: a turn of a fast run has many */
	ENDS_MAX = 16384,
	DDS_TURN_NS = 1000000,
	DDS_LOOK_NS = 100000000, /* topics come and go without a message: then nothing rings the bell */
	DOMAIN_MAX = 232,
	FILES_OF_DDS = 24, /* it opens 7, and more for each interface */
};

static const char dds_node_name[] = "troupe"; /* in the namespace of the robot client, if it is one */

struct dds_channel { /* an end, and what makes it */
	char *key;   /* its kind, name and type */
	char *name;
	troupe_topic_kind kind;
	struct glue_end *end;
	uint32_t peers, came; /* as known so far */
	bool is_new;          /* a reader has come since the last turn */
	uint64_t round;       /* of the table in which it was seen last */
	/* of a reader, from the last table */
	const struct ros_type *ros; /* NULL: commands to joints */
	const char *topic, *robot;
	bool refused_told, failed_told;
};

struct dds {
	const struct glue *glue;
	struct glue_node *node;
	struct glue_end *graph;
	struct hub *hub;
	struct services *services;
	struct ros_names names;        /* of the table now; channels point into it */
	struct dds_channel **of_offer; /* [names.offers]; NULL: it is left out */
	VEC(struct dds_channel *) channels;
	struct map channel_of;        /* by key; -> index */
	struct names_conversion made; /* of the message that is being sent */
	char *robot;                  /* whose topics have second names; NULL: not known yet */
	bool humble, full_told;
	uint64_t round;
	uint32_t domain;
	char address[INET_ADDRSTRLEN]; /* "": this machine only */
	struct eventcount bell;
	_Atomic bool stop;
	pthread_t thread;
	bool started;
	_Atomic uint32_t topics;
};

static void dds_wake(void *ctx)
{
	struct dds *gateway = ctx;
	eventcount_advance(&gateway->bell);
}

static void dds_warn(void *ctx, const char *text)
{
	const struct dds *gateway = ctx;
	hub_say(gateway->hub, "ROS 2: the DDS library warns, and further warnings are not shown: %s", text);
}

static void dds_say(void *ctx, const char *text)
{
	const struct dds *gateway = ctx;
	hub_say(gateway->hub, "ROS 2: %s", text);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* NULL: there is no room for another writer or reader; a warning was given. */
static struct dds_channel *dds_make_channel(struct dds *gateway, const struct ros_offer *offer, char *key)
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
			hub_say(gateway->hub, "ROS 2: topic '%s' and perhaps others are left out: %s", offer->name,
				why);
		gateway->full_told = true;
		free(key);
		return NULL;
	}
	struct dds_channel *channel = mem_alloc(sizeof *channel);
	*channel = (struct dds_channel){.key = key, .name = mem_strdup(offer->name), .kind = offer->kind, .end = end};
	map_add(&gateway->channel_of, key, gateway->channels.count);
	vec_push(&gateway->channels, channel);
	return channel;
}

static struct dds_channel *dds_find_channel(struct dds *gateway, const struct ros_offer *offer)
{
	char *key = mem_printf("%d%s|%s", (int)offer->kind, offer->name, offer->type);
	uint32_t at;
	if (!map_find(&gateway->channel_of, key, &at))
		return dds_make_channel(gateway, offer, key);
	free(key);
	return gateway->channels.at[at];
}

static void dds_drop_channel(struct dds *gateway, uint32_t at)
{
	struct dds_channel *channel = gateway->channels.at[at];
	struct dds_channel *last = gateway->channels.at[--gateway->channels.count];
	gateway->glue->close_end(channel->end);
	map_remove(&gateway->channel_of, channel->key);
	free(channel->key);
	free(channel->name);
	free(channel);
	if (channel == last)
		return;
	map_remove(&gateway->channel_of, last->key);
	map_add(&gateway->channel_of, last->key, at);
	gateway->channels.at[at] = last;
}

static void dds_drop_gone_channels(struct dds *gateway)
{
	for (uint32_t i = gateway->channels.count; i-- > 0;)
		if (gateway->channels.at[i]->round != gateway->round)
			dds_drop_channel(gateway, i);
}

static void dds_tell_graph(struct dds *gateway)
{
	unsigned char participant[GLUE_GUID_BYTES];
	uint32_t count = services_ends(gateway->services, NULL);
	struct graph_end *ends = mem_alloc((count + gateway->channels.count) * sizeof *ends + 1);
	struct text out = {0};
	char *space = mem_printf("/%s", gateway->hub->client ? gateway->hub->client : "");
	(void)services_ends(gateway->services, ends);
	for (uint32_t i = 0; i < gateway->channels.count; i++, count++) {
		ends[count].kind = gateway->channels.at[i]->kind;
		gateway->glue->end_guid(gateway->channels.at[i]->end, ends[count].guid);
	}
	gateway->glue->node_guid(gateway->node, participant);
	graph_add(&out, participant, space, dds_node_name, ends, count, gateway->humble);
	(void)gateway->glue->write(gateway->graph, out.at, out.count);
	text_fini(&out);
	free(space);
	free(ends);
}

static bool dds_is_offered(const void *ctx, const char *topic)
{
	const struct dds *gateway = ctx;
	return names_first_of_topic(&gateway->names, topic) != UINT32_MAX;
}

/* Finds the channel of each offer anew. Subscriptions to topics that stay are kept; subscriptions to topics that are
 * gone end. */
static void dds_rebuild(struct dds *gateway)
{
	const struct ros_names *names = &gateway->names;
	free(gateway->of_offer);
	gateway->of_offer = mem_alloc((names->offers.count + 1) * sizeof(struct dds_channel *));
	gateway->round++;
	for (uint32_t i = 0; i < names->offers.count; i++) {
		const struct ros_offer *offer = &names->offers.at[i];
		struct dds_channel *channel = gateway->of_offer[i] = dds_find_channel(gateway, offer);
		if (!channel)
			continue;
		channel->round = gateway->round;
		channel->ros = offer->ros;
		channel->topic = offer->topic;
		channel->robot = offer->robot;
	}
	dds_drop_gone_channels(gateway);
	hub_prune(gateway->hub, dds_is_offered, gateway);
}

static void dds_change_topics(void *ctx, const struct troupe_topics *topics)
{
	struct dds *gateway = ctx;
	struct ros_names before = gateway->names;
	names_update(&before, topics, gateway->hub->client, &gateway->robot, dds_say, gateway, &gateway->names);
	dds_rebuild(gateway);
	names_fini(&before);
	atomic_store_explicit(&gateway->topics, gateway->channels.count, memory_order_relaxed);
	services_look(gateway->services);
	dds_tell_graph(gateway);
}

/* --- readers come and go ------------------------------------------------------------------------------------------ */

/* A reader that has just come gets a message at once: subscribing again asks for one. */
static void dds_follow_readers(struct dds *gateway)
{
	const struct ros_names *names = &gateway->names;
	for (uint32_t i = 0; i < gateway->channels.count; i++) {
		struct dds_channel *channel = gateway->channels.at[i];
		uint32_t came, before = channel->peers;
		channel->peers = gateway->glue->peers(channel->end, &came);
		channel->is_new = channel->peers && (came != channel->came || !before);
		channel->came = came;
	}
	for (uint32_t i = 0; i < names->of_topic.room; i++) {
		const char *topic = names->of_topic.slots[i].name;
		bool wanted = false, again = false;
		if (!topic)
			continue;
		for (uint32_t at = names->of_topic.slots[i].value; at != UINT32_MAX;
			at = names->offers.at[at].same_topic) {
			const struct dds_channel *channel = gateway->of_offer[at];
			wanted |= channel && channel->peers;
			again |= channel && channel->is_new;
		}
		if (wanted && (again || !hub_is_subscribed(gateway->hub, topic)))
			(void)hub_subscribe(gateway->hub, topic, NULL, NULL);
		else if (!wanted)
			hub_unsubscribe(gateway->hub, topic);
	}
}

/* --- from the server ---------------------------------------------------------------------------------------------- */

static void dds_write_offer(struct dds *gateway, uint32_t at)
{
	struct names_conversion *made = &gateway->made;
	struct dds_channel *channel = gateway->of_offer[at];
	if (!channel || !channel->peers)
		return;
	if (names_conversion_for(made, &gateway->names.offers.at[at]) && made->status && !channel->failed_told) {
		hub_say(gateway->hub, "ROS 2: %s: a message is left out: %s", channel->name, made->error.text);
		channel->failed_told = true;
	}
	if (made->cdr.count && gateway->glue->write(channel->end, made->cdr.at, made->cdr.count))
		hub_count(&gateway->hub->published);
}

static void dds_pass_on(void *ctx, const struct troupe_message *message)
{
	struct dds *gateway = ctx;
	const struct ros_names *names = &gateway->names;
	gateway->made.message = message;
	gateway->made.offer = NULL;
	for (uint32_t at = names_first_of_topic(names, message->topic); at != UINT32_MAX;
		at = names->offers.at[at].same_topic)
		dds_write_offer(gateway, at);
}

/* --- to the server ------------------------------------------------------------------------------------------------ */

struct dds_giving {
	struct dds *gateway;
	struct dds_channel *channel;
};

static troupe_status dds_publish(
	void *ctx, const char *topic, const void *bytes, size_t count, struct troupe_error *error)
{
	struct dds *gateway = ctx;
	return hub_publish(gateway->hub, topic, NULL, bytes, count, error);
}

static void dds_give(void *ctx, uint64_t writer, const void *cdr, size_t count)
{
	(void)writer;
	struct dds_giving *giving = ctx;
	struct dds *gateway = giving->gateway;
	struct dds_channel *channel = giving->channel;
	struct troupe_error error;
	const struct ros_offer offer = {.ros = channel->ros, .topic = channel->topic, .robot = channel->robot};
	troupe_status status = ros_give(&gateway->names, &offer, cdr, count, dds_publish, gateway, &error);
	hub_count(status ? &gateway->hub->refused : &gateway->hub->taken);
	if (status && !channel->refused_told) {
		channel->refused_told = true;
		hub_say(gateway->hub, "ROS 2: %s: a message is refused: %s", channel->name, error.text);
	}
}

static void dds_take_commands(struct dds *gateway)
{
	for (uint32_t i = 0; i < gateway->channels.count; i++) {
		struct dds_channel *channel = gateway->channels.at[i];
		struct dds_giving giving = {.gateway = gateway, .channel = channel};
		if (channel->kind == TROUPE_TOPIC_TAKEN && channel->peers)
			(void)gateway->glue->take(channel->end, dds_give, &giving);
	}
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static void *dds_work(void *ctx)
{
	struct dds *gateway = ctx;
	uint32_t seen = eventcount_read(&gateway->bell);
	while (!atomic_load(&gateway->stop)) {
		uint64_t begin_ns = clock_now_ns();
		hub_look(gateway->hub);
		dds_follow_readers(gateway);
		dds_take_commands(gateway);
		services_turn(gateway->services);
		bool more = hub_turn(gateway->hub);
		if (!more)
			clock_sleep_until_ns(begin_ns + DDS_TURN_NS);
		uint32_t now = eventcount_read(&gateway->bell);
		if (!more && now == seen)
			now = eventcount_await(&gateway->bell, seen, 0, DDS_LOOK_NS);
		seen = now;
	}
	/* the client that has ended the run gets the answer that it ends, and others that wait get the reason */
	hub_finish(gateway->hub);
	return NULL;
}

static troupe_status dds_open_node(struct dds *gateway, struct troupe_error *error)
{
	char why[GLUE_WHY_BYTES];
	const struct glue_place place = {.domain = gateway->domain,
		.address = *gateway->address ? gateway->address : NULL,
		.user_data = "enclave=/;",
		.wake = dds_wake,
		.say = dds_warn,
		.ctx = gateway};
	struct troupe_error few;
	/* without room for its own files the library crashes, or never ends */
	if (descriptors_expect(FILES_OF_DDS, &few))
		return fail(error, TROUPE_EIO, "domain %u: %s", gateway->domain, few.text);
	if (!gateway->glue->open(&place, &gateway->node, why))
		return fail(error, TROUPE_EIO, "domain %u: %s", gateway->domain, why);
	if (!gateway->glue->write_end(gateway->node, "ros_discovery_info",
		    "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", GLUE_STATIC, NULL, &gateway->graph, why))
		return fail(error, TROUPE_EIO, "domain %u: %s", gateway->domain, why);
	return TROUPE_OK;
}

/* --- services ----------------------------------------------------------------------------------------------------- */

static void dds_open_services(struct dds *gateway)
{
	gateway->services = services_create(&(struct services_def){.glue = gateway->glue,
		.node = gateway->node,
		.simulation = gateway->hub->simulation,
		.humble = gateway->humble,
		.say = dds_say,
		.ctx = gateway});
}

/* --- start and end ------------------------------------------------------------------------------------------------ */

/* ROS_DOMAIN_ID is what all programs of ROS 2 read. */
static troupe_status dds_find_domain(const char *given, uint32_t *ret_domain, struct troupe_error *error)
{
	const char *said = given ? given : getenv("ROS_DOMAIN_ID");
	int64_t domain = 0;
	if (said && *said && (!parse_int64(said, &domain) || domain < 0 || domain > DOMAIN_MAX))
		return fail(error, TROUPE_EINVAL, "%s: '%.40s': expected 0 .. %d", given ? "domain" : "ROS_DOMAIN_ID",
			said, (int)DOMAIN_MAX);
	*ret_domain = (uint32_t)domain;
	return TROUPE_OK;
}

static troupe_status dds_read_settings(
	struct dds *gateway, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	const char *robot = settings_text(def, "robot"), *distro = settings_text(def, "distro");
	struct in_addr address;
	if (def->address && inet_pton(AF_INET, def->address, &address) != 1)
		return fail(error, TROUPE_EINVAL,
			"address '%.80s': expected the IPv4 address of an interface of this machine", def->address);
	if (distro && strcmp(distro, "humble") && strcmp(distro, "jazzy"))
		return fail(error, TROUPE_EINVAL, "distro '%.40s': expected humble or jazzy", distro);
	for (size_t i = 0; def->address && def->address[i] && i + 1 < sizeof gateway->address; i++)
		gateway->address[i] = def->address[i];
	gateway->robot = robot ? mem_strdup(robot) : NULL;
	gateway->humble = distro && !strcmp(distro, "humble");
	return dds_find_domain(settings_text(def, "domain"), &gateway->domain, error);
}

/* Threads of the library and the gateway's own take over the mask: signals are for the program. */
static troupe_status dds_start_thread(struct dds *gateway, struct troupe_error *error)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	troupe_status status = dds_open_node(gateway, error);
	if (!status)
		dds_open_services(gateway);
	int failed = status ? 0 : pthread_create(&gateway->thread, NULL, dds_work, gateway);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	mem_check_thread(failed);
	if (failed)
		return fail(error, TROUPE_ELIMIT, "a thread cannot be started: %s", strerror(failed));
	gateway->started = !status;
	return status;
}

static troupe_status dds_start(struct hub *hub, const struct troupe_gateway_def *def, struct troupe_error *error)
{
	struct dds *gateway = hub->gateway = mem_alloc_lines(sizeof *gateway);
	gateway->hub = hub;
	troupe_status status = dds_read_settings(gateway, def, error);
	if (!status)
		status = module_load(&gateway->glue, error);
	if (!status)
		status = hub_open(hub, def,
			&(struct hub_options){
				.wake = dds_wake, .ctx = gateway, .depth = QUEUE_DEPTH, .ros_services = true},
			error);
	return status ? status : dds_start_thread(gateway, error);
}

static void dds_stop(void *ctx)
{
	struct dds *gateway = ctx;
	atomic_store(&gateway->stop, true);
	dds_wake(gateway);
	if (gateway->started)
		(void)pthread_join(gateway->thread, NULL);
}

static void dds_destroy(void *ctx)
{
	struct dds *gateway = ctx;
	while (gateway->channels.count)
		dds_drop_channel(gateway, gateway->channels.count - 1);
	simulation_destroy(gateway->hub->simulation);
	gateway->hub->simulation = NULL;
	services_destroy(gateway->services);
	if (gateway->graph)
		gateway->glue->close_end(gateway->graph);
	if (gateway->node)
		gateway->glue->close(gateway->node);
	vec_free(&gateway->channels);
	free(gateway->of_offer);
	map_fini(&gateway->channel_of);
	names_fini(&gateway->names);
	text_fini(&gateway->made.cdr);
	free(gateway->robot);
	free(gateway);
}

static void dds_reply(void *gateway, void *client, void *request, const struct hub_reply *reply)
{
	/* only the services of simulation_interfaces call the run */
	(void)gateway, (void)client, (void)request, (void)reply;
}

static void dds_count(const void *ctx, struct troupe_gateway_counts *counts)
{
	const struct dds *gateway = ctx;
	uint64_t taken, refused;
	services_counts(gateway->services, &taken, &refused);
	counts->topics = atomic_load_explicit(&gateway->topics, memory_order_relaxed);
	counts->taken += taken;
	counts->refused += refused;
}

static void dds_describe(const void *ctx, struct text *out)
{
	const struct dds *gateway = ctx;
	text_add(out, "domain %u, node %s%s/%s, %s%s", gateway->domain, gateway->hub->client ? "/" : "",
		gateway->hub->client ? gateway->hub->client : "", dds_node_name,
		*gateway->address ? "through " : "this machine only", gateway->address);
}

const struct hub_kind kind_ros2 = {
	.about = {.name = "ros2", .title = "ROS 2", .address_opens = true},
	.settings = (const char *const[]){"domain", "robot", "distro", NULL},
	.is_available = module_is_available,
	.start = dds_start,
	.topic_came = hub_ignore_row,
	.topic_gone = hub_ignore_row,
	.topics_changed = dds_change_topics,
	.message = dds_pass_on,
	.reply = dds_reply,
	.refused = hub_ignore_refused,
	.moved = hub_ignore_moved,
	.end = hub_ignore_end,
	.stop = dds_stop,
	.destroy = dds_destroy,
	.describe = dds_describe,
	.count = dds_count,
};
