/* What a topic is called may depend on the other topics, so all names are made anew when the table of the server
 * changes; a channel of the file stays for its name and type.
 *
 * rosbag2 has the quality of service as YAML. Up to version 8 of a bag's metadata its policies are numbers, later they
 * are words; a file without metadata is taken for one of the reader's own version. So the file has metadata that say
 * version 8, which all releases of ROS 2 from Humble on read. */
#include "gateway/mcap/bag.h"

#include "base/map.h"
#include "gateway/ros/names.h"
#include "gateway/ros/type_hash.h"

#include <stdlib.h>
#include <string.h>

struct bag_output { /* of an offer */
	bool is_chosen;
	double rate_hz;
	int32_t channel; /* -1: not in the file yet */
};

struct bag {
	struct bag_def def;
	char *robot; /* whose topics have second names; NULL: none yet */
	struct ros_names names;
	VEC(struct bag_output) outputs; /* [names.offers] */
	struct map channels;            /* "NAME|TYPE" -> channel */
	struct map schemas;             /* type -> its number in the file */
	VEC(char *) keys;               /* of channels */
	struct names_conversion made;
};

static const char bag_metadata[] = "version: 8\n"
				   "storage_identifier: mcap\n"
				   "duration:\n  nanoseconds: 0\n"
				   "starting_time:\n  nanoseconds_since_epoch: 0\n"
				   "message_count: 0\n"
				   "topics_with_message_count: []\n"
				   "compression_format: \"\"\n"
				   "compression_mode: \"\"\n"
				   "relative_file_paths: []\n"
				   "files: []\n"
				   "custom_data: ~\n"
				   "ros_distro: \"\"\n";

#define BAG_WITHOUT_END "\n    sec: 9223372036\n    nsec: 854775807\n"

/* History: 1 keeps the last. Reliability: 1 is reliable. Durability: 1 is transient local, 2 volatile. Liveliness: 1 is
 * automatic. As the writers of --ros2 are. */
static void bag_add_qos(enum names_keep keep, struct text *out)
{
	bool is_static = keep == NAMES_STATIC;
	text_add(out,
		"- history: 1\n  depth: %d\n  reliability: 1\n  durability: %d\n  deadline:" BAG_WITHOUT_END
		"  lifespan:" BAG_WITHOUT_END "  liveliness: 1\n  liveliness_lease_duration:" BAG_WITHOUT_END
		"  avoid_ros_namespace_conventions: false",
		is_static ? 1 : NAMES_DEPTH, is_static ? 1 : 2);
}

/* --- channels ----------------------------------------------------------------------------------------------------- */

/* -1: the file has too many. */
static int32_t bag_schema(struct bag *bag, const struct ros_type *type)
{
	struct text text = {0};
	uint32_t number;
	if (map_find(&bag->schemas, type->name, &number))
		return (int32_t)number;
	ros_add_schema(type, &text);
	int32_t added = mcap_file_add_schema(bag->def.file, type->name, "ros2msg", text.at, text.count);
	text_fini(&text);
	if (added > 0)
		(void)map_add(&bag->schemas, type->name, (uint32_t)added);
	return added;
}

static int32_t bag_add_channel(struct bag *bag, const struct ros_offer *offer)
{
	struct text qos = {0}, hash = {0};
	int32_t schema = bag_schema(bag, offer->ros);
	bag_add_qos(offer->keep, &qos);
	type_hash_add(offer->type, &hash);
	const char *const pairs[] = {"offered_qos_profiles", qos.at, "topic_type_hash", hash.at};
	int32_t channel =
		schema < 0 ? -1
			   : mcap_file_add_channel(bag->def.file, schema, offer->name, "cdr", pairs, ARRAY_LEN(pairs));
	text_fini(&qos);
	text_fini(&hash);
	return channel;
}

/* -1: the file has too many channels. */
static int32_t bag_channel(struct bag *bag, const struct ros_offer *offer)
{
	char *key = mem_printf("%s|%s", offer->name, offer->type);
	uint32_t number;
	if (map_find(&bag->channels, key, &number)) {
		free(key);
		return (int32_t)number;
	}
	int32_t channel = bag_add_channel(bag, offer);
	if (channel < 0) {
		free(key);
		return -1;
	}
	vec_push(&bag->keys, key);
	(void)map_add(&bag->channels, key, (uint32_t)channel);
	return channel;
}

/* --- names -------------------------------------------------------------------------------------------------------- */

/* Topics that are recorded unless the user says otherwise. The map's names are those of the topics. */
static struct map bag_find_usual(const struct bag *bag, const struct troupe_topics *topics)
{
	struct map usual = {0};
	for (uint32_t i = 0; i < topics->count; i++)
		if (topics->at[i].kind == TROUPE_TOPIC_PUBLISHED && bag->def.is_usual(&topics->at[i]))
			(void)map_add(&usual, topics->at[i].name, i);
	return usual;
}

void bag_update(struct bag *bag, const struct troupe_topics *topics)
{
	struct map usual = bag_find_usual(bag, topics);
	struct ros_names before = bag->names;
	names_update(&before, topics, NULL, &bag->robot, bag->def.say, bag->def.ctx, &bag->names);
	names_fini(&before);
	bag->outputs.count = 0;
	for (uint32_t i = 0; i < bag->names.offers.count; i++) {
		const struct ros_offer *offer = &bag->names.offers.at[i];
		struct bag_output output = {.channel = -1};
		output.is_chosen = offer->kind == TROUPE_TOPIC_PUBLISHED &&
				   bag->def.choose(bag->def.ctx, offer->name,
					   map_find(&usual, offer->topic, &(uint32_t){0}), &output.rate_hz);
		vec_push(&bag->outputs, output);
	}
	map_fini(&usual);
}

bool bag_wants(const struct bag *bag, const char *topic, double *ret_rate_hz)
{
	bool wants = false;
	for (uint32_t at = names_first_of_topic(&bag->names, topic); at != UINT32_MAX;
		at = bag->names.offers.at[at].same_topic) {
		const struct bag_output *output = &bag->outputs.at[at];
		if (!output->is_chosen)
			continue;
		bool all = output->rate_hz <= 0 || (wants && *ret_rate_hz <= 0);
		*ret_rate_hz = all ? 0 : wants ? MAX(*ret_rate_hz, output->rate_hz) : output->rate_hz;
		wants = true;
	}
	return wants;
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

troupe_status bag_write(struct bag *bag, const struct troupe_message *message, struct troupe_error *error)
{
	struct names_conversion *made = &bag->made;
	const struct ros_offer *offer;
	made->message = message;
	made->offer = NULL;
	for (uint32_t at = names_first_of_topic(&bag->names, message->topic); at != UINT32_MAX;
		at = offer->same_topic) {
		struct bag_output *output = &bag->outputs.at[at];
		offer = &bag->names.offers.at[at];
		if (!output->is_chosen)
			continue;
		(void)names_conversion_for(made, offer);
		if (made->status)
			return fail(error, made->status, "%s", made->error.text);
		if (!made->cdr.count)
			continue;
		if (output->channel < 0)
			output->channel = bag_channel(bag, offer);
		if (output->channel < 0)
			return fail(
				error, TROUPE_ELIMIT, "%d topics are recorded: expected no more", MCAP_CHANNELS_MAX);
		mcap_file_message(bag->def.file, output->channel, message->time_ns, made->cdr.at, made->cdr.count);
	}
	return TROUPE_OK;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

struct bag *bag_create(const struct bag_def *def)
{
	struct bag *bag = mem_alloc(sizeof *bag);
	const char *const texts[] = {"serialized_metadata", bag_metadata};
	bag->def = *def;
	bag->robot = def->robot ? mem_strdup(def->robot) : NULL;
	mcap_file_metadata(def->file, "rosbag2", texts, ARRAY_LEN(texts));
	return bag;
}

void bag_destroy(struct bag *bag)
{
	if (!bag)
		return;
	names_fini(&bag->names);
	for (uint32_t i = 0; i < bag->keys.count; i++)
		free(bag->keys.at[i]);
	vec_free(&bag->keys);
	vec_free(&bag->outputs);
	map_fini(&bag->channels);
	map_fini(&bag->schemas);
	text_fini(&bag->made.cdr);
	free(bag->robot);
	free(bag);
}
