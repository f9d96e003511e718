/* Gazebo's default names say what a topic is about; so a name is taken apart, and put together again in the way of
 * ROS 2. A name that does not have such a form was given by the world, and stays. Within a namespace, names are given
 * in the order of the topics. */
#include "gateway/ros/names_internal.h"

#include "base/hash.h"
#include "topic/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Advances *at behind the word and its slash if it is the next part. */
static bool ros_names_skip_word(const char **at, const char *word)
{
	size_t length = strlen(word);
	if (strncmp(*at, word, length) != 0 || (*at)[length] != '/')
		return false;
	*at += length + 1;
	return true;
}

/* The next part, behind which *at is then. */
static char *ros_names_take_part(struct arena *arena, const char **at)
{
	size_t length = strcspn(*at, "/");
	char *part = arena_printf(arena, "%.*s", (int)length, *at);
	*at += length + ((*at)[length] == '/');
	return part;
}

static bool ros_names_skip_world(const char **at)
{
	if (!ros_names_skip_word(at, "world"))
		return false;
	*at += strcspn(*at, "/");
	*at += **at == '/';
	return true;
}

const char *names_inner(const struct ros_names_making *making, const char *topic)
{
	const char *at = topic + (*topic == '/');
	(void)ros_names_skip_word(&at, making->names->client);
	return at;
}

bool names_take_apart(const struct ros_names_making *making, const char *topic, struct ros_names_parts *ret_parts)
{
	struct arena *arena = &making->names->arena;
	const char *at = names_inner(making, topic);
	struct ros_names_parts parts = {
		arena_strdup(arena, ""), arena_strdup(arena, ""), arena_strdup(arena, ""), NULL};
	bool of_world = ros_names_skip_world(&at);
	while (ros_names_skip_word(&at, "model")) {
		char *model = ros_names_take_part(arena, &at);
		parts.space = *parts.space ? arena_printf(arena, "%s/%s", parts.space, model) : model;
	}
	if (!*parts.space)
		return false;
	if (of_world && (ros_names_skip_word(&at, "link") || ros_names_skip_word(&at, "joint"))) {
		parts.link = ros_names_take_part(arena, &at);
		if (ros_names_skip_word(&at, "sensor"))
			parts.sensor = ros_names_take_part(arena, &at);
	}
	parts.rest = arena_strdup(arena, at);
	*ret_parts = parts;
	return *at;
}

char *names_sensor_key(struct arena *arena, const struct ros_names_parts *parts)
{
	return arena_printf(arena, "%s|%s|%s", parts->space, parts->link, parts->sensor);
}

bool names_has(const struct map *map, const char *name)
{
	uint32_t ignored;
	return map_find(map, name, &ignored);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static const char *ros_names_last(const char *rest)
{
	if (!strcmp(rest, "odometry"))
		return "odom";
	return strcmp(rest, "joint_state") ? rest : "joint_states";
}

static char *ros_names_of(struct ros_names_making *making, const struct ros_names_parts *parts, int try)
{
	struct arena *arena = &making->names->arena;
	const char *rest = ros_names_last(parts->rest), *space = names_spaces_of(making, parts->space);
	if (!*parts->sensor)
		return names_clean(arena, arena_printf(arena, "%s/%s", space, rest));
	if (try)
		return names_clean(arena, arena_printf(arena, "%s/%s/%s/%s", space, parts->link, parts->sensor, rest));
	if (names_has(&making->shared, names_sensor_key(arena, parts)))
		return names_clean(arena, arena_printf(arena, "%s/%s/%s", space, parts->sensor, rest));
	return names_clean(arena, arena_printf(arena, "%s/%s", space, rest));
}

/* False: the name is in use for another topic. The name is used unchanged. */
static bool ros_names_offer_as(struct ros_names_making *making, const struct ros_offer *what, bool may_share)
{
	struct ros_names *names = making->names;
	char *key = arena_printf(&names->arena, "%d%s|%s", (int)what->kind, what->name, what->type);
	if (!map_add(&making->given, key, 0) && !may_share)
		return false;
	vec_push(&names->offers, *what);
	return true;
}

/* The same, behind the name of the robot client. */
static bool ros_names_offer(struct ros_names_making *making, const struct ros_offer *what)
{
	struct ros_offer all = *what;
	if (*making->names->client)
		all.name = arena_printf(&making->names->arena, "/%s%s", making->names->client, what->name);
	return ros_names_offer_as(making, &all, false);
}

/* The name without the namespace of the robot, too. */
static bool ros_names_offer_both(struct ros_names_making *making, const struct ros_offer *what)
{
	const char *robot = making->names->robot;
	struct ros_offer shorter = *what;
	size_t length = robot ? strlen(robot) : 0;
	if (!ros_names_offer(making, what))
		return false;
	if (length && !strncmp(what->name + 1, robot, length) && what->name[1 + length] == '/') {
		shorter.name = what->name + 1 + length;
		(void)ros_names_offer(making, &shorter);
	}
	return true;
}

/* A Twist is taken with a header, too. False: it is no such topic. */
static bool ros_names_stamp(const struct ros_offer *what, struct ros_offer *ret_stamped)
{
	if (what->kind != TROUPE_TOPIC_TAKEN || strcmp(what->type, "geometry_msgs/msg/Twist") != 0)
		return false;
	*ret_stamped = *what;
	ret_stamped->ros = ros_twist_stamped();
	ret_stamped->type = ret_stamped->ros->name;
	return true;
}

/* Offers it under what->name with a hash of its topic. False: that is too long. */
static bool ros_names_offer_hashed(struct ros_names_making *making, struct ros_offer *what)
{
	struct arena *arena = &making->names->arena;
	const char *plain = what->name, *inner = names_inner(making, what->topic);
	for (uint64_t salt = 0; salt < NAMES_HASHES; salt++) {
		what->name = names_spaces_hashed(arena, plain, inner, salt);
		if (!what->name || !ros_names_offer_both(making, what))
			continue;
		vec_push(&making->names->hashed,
			(struct names_hashed){arena_printf(arena, "topic '%s'", what->topic), what->name});
		return true;
	}
	return false;
}

static void ros_names_offer_with_kin(
	struct ros_names_making *making, struct ros_offer *what, const struct ros_names_parts *parts)
{
	struct arena *arena = &making->names->arena;
	bool offered = false;
	for (int try = 0; try < 2 && !offered; try++) {
		what->name = ros_names_of(making, parts, try);
		offered = what->name && ros_names_offer_both(making, what);
	}
	if (!what->name || (!offered && !ros_names_offer_hashed(making, what)))
		return;
	struct ros_offer kin;
	if (ros_names_stamp(what, &kin))
		(void)ros_names_offer_both(making, &kin);
	kin = *what;
	if (!strcmp(parts->rest, "joint_state") && names_has(&making->joints, parts->space)) {
		kin.name = names_clean(
			arena, arena_printf(arena, "%s/robot_joint_states", names_spaces_of(making, parts->space)));
		if (kin.name)
			(void)ros_names_offer_both(making, &kin);
	}
}

static bool ros_names_is_odometry_frames(
	const struct ros_names_making *making, const struct ros_offer *what, const struct ros_names_parts *parts)
{
	if (what->kind != TROUPE_TOPIC_PUBLISHED || strcmp(what->type, "tf2_msgs/msg/TFMessage") != 0)
		return false;
	bool poses = !strcmp(parts->rest, "pose") || !strcmp(parts->rest, "pose_static");
	return !strcmp(parts->rest, "tf") || (poses && !names_has(&making->frames, parts->space));
}

/* For the robot's own programs. Several topics may have transforms of one robot. */
static void ros_names_offer_tf(
	struct ros_names_making *making, const struct ros_offer *what, const char *name, const char *robot)
{
	struct arena *arena = &making->names->arena;
	struct ros_offer own = *what;
	own.name = names_clean(arena, name);
	own.frames_of = robot;
	if (own.name && *making->names->client)
		own.name = arena_printf(arena, "/%s%s", making->names->client, own.name);
	if (own.name)
		(void)ros_names_offer_as(making, &own, true);
}

static void ros_names_offer_robot_tf(struct ros_names_making *making, const struct ros_offer *what, const char *robot)
{
	ros_names_offer_tf(
		making, what, arena_printf(&making->names->arena, "%s/tf", names_spaces_of(making, robot)), robot);
}

static bool ros_names_has_tf(const struct ros_names_making *making, const char *robot)
{
	uint32_t at;
	return map_find(&making->robot_at, robot, &at) && making->robots.at[at].has_tf;
}

static void ros_names_offer_stamped(struct ros_names_making *making, const struct ros_offer *what)
{
	struct ros_offer stamped;
	if (ros_names_stamp(what, &stamped))
		(void)ros_names_offer(making, &stamped);
}

/* A topic that the world names. */
static void ros_names_add_given(struct ros_names_making *making, struct ros_offer *what, const char *inner, uint32_t at)
{
	const char *robot =
		names_spaces_is_tf(making, at) ? names_spaces_robot_of(making, &making->topics->at[at]) : NULL;
	what->name = names_clean(&making->names->arena, inner);
	if (!what->name)
		return;
	bool has_frames = what->kind == TROUPE_TOPIC_PUBLISHED && !strcmp(what->type, "tf2_msgs/msg/TFMessage");
	bool is_static = has_frames && !strcmp(what->name, "/tf_static");
	what->keep = is_static ? NAMES_STATIC : NAMES_LATEST;
	if (is_static || (has_frames && !strcmp(what->name, "/tf"))) /* with those of all others */
		(void)ros_names_offer_as(making, what, true);
	else if (robot)
		ros_names_offer_tf(making, what, inner, robot);
	else if (ros_names_offer(making, what) || ros_names_offer_hashed(making, what))
		ros_names_offer_stamped(making, what);
	if (robot) {
		char *usual = names_clean(&making->names->arena,
			arena_printf(&making->names->arena, "%s/tf", names_spaces_of(making, robot)));
		if (usual && strcmp(usual, what->name) != 0)
			ros_names_offer_robot_tf(making, what, robot);
	}
	if (*making->names->client && !strcmp(what->name, "/clock"))
		(void)ros_names_offer_as(making, what, false);
}

static void ros_names_add_topic(struct ros_names_making *making, uint32_t place)
{
	struct arena *arena = &making->names->arena;
	const struct troupe_topic *topic = &making->topics->at[place];
	const struct ros_type *ros = ros_type_find(topic->type, topic->name);
	const char *at = names_inner(making, topic->name);
	struct ros_names_parts parts;
	if (!ros || (topic->kind == TROUPE_TOPIC_TAKEN && !ros_is_taken(ros)))
		return;
	struct ros_offer what = {
		.type = ros->name, .kind = topic->kind, .ros = ros, .topic = arena_strdup(arena, topic->name)};
	if (names_take_apart(making, topic->name, &parts)) {
		if (ros_names_is_odometry_frames(making, &what, &parts)) {
			what.name = "/tf";
			(void)ros_names_offer_as(making, &what, true);
			if (!strcmp(parts.rest, "tf") || !ros_names_has_tf(making, parts.space))
				ros_names_offer_robot_tf(making, &what, parts.space);
		} else {
			ros_names_offer_with_kin(making, &what, &parts);
		}
	} else if (!ros_names_skip_world(&at)) {
		ros_names_add_given(making, &what, at, place);
	}
}

static void ros_names_add_fixed_frames(struct ros_names_making *making, const struct troupe_topic *topic)
{
	const char *at = names_inner(making, topic->name);
	if (topic->kind != TROUPE_TOPIC_PUBLISHED || strcmp(topic->type, "gz.msgs.Scene") != 0 ||
		!ros_names_skip_world(&at) || strcmp(at, "scene/info") != 0)
		return;
	const struct ros_offer what = {.name = "/tf_static",
		.type = ros_fixed_frames()->name,
		.kind = topic->kind,
		.keep = NAMES_STATIC,
		.ros = ros_fixed_frames(),
		.topic = arena_strdup(&making->names->arena, topic->name)};
	(void)ros_names_offer_as(making, &what, true);
	for (uint32_t i = 0; i < making->statics.count; i++)
		ros_names_offer_tf(making, &what, making->statics.at[i].name, making->statics.at[i].robot);
}

static void ros_names_add_joint_commands(struct ros_names_making *making)
{
	struct arena *arena = &making->names->arena;
	for (uint32_t i = 0; i < making->joints.room; i++) {
		const char *space = making->joints.slots[i].name;
		if (!space)
			continue;
		const struct ros_offer what = {
			.name = names_clean(
				arena, arena_printf(arena, "%s/robot_joint_command", names_spaces_of(making, space))),
			.type = "sensor_msgs/msg/JointState",
			.kind = TROUPE_TOPIC_TAKEN,
			.robot = space,
		};
		if (what.name)
			(void)ros_names_offer_both(making, &what);
	}
}

static void ros_names_link_topics(struct ros_names *names)
{
	for (uint32_t i = names->offers.count; i-- > 0;) {
		struct ros_offer *offer = &names->offers.at[i];
		if (offer->kind != TROUPE_TOPIC_PUBLISHED)
			continue;
		offer->same_topic = names_first_of_topic(names, offer->topic);
		if (offer->same_topic != UINT32_MAX)
			map_remove(&names->of_topic, offer->topic);
		map_add(&names->of_topic, offer->topic, i);
	}
}

void names_make(const struct troupe_topics *topics, const char *client, const char *robot, struct ros_names *ret_names)
{
	struct ros_names names = {0};
	names.client = arena_strdup(&names.arena, client ? client : "");
	struct ros_names_making making = {.names = &names, .topics = topics};
	names_spaces_make(&making);
	const char *only = names_spaces_look(&making);
	names_spaces_find_robots(&making);
	names.robot = names_spaces_find_robot(&making, robot ? robot : only);
	for (uint32_t i = 0; i < topics->count; i++) {
		const struct troupe_topic *topic = &topics->at[i];
		const struct troupe_topic *before = i ? topic - 1 : NULL;
		bool again = before && before->kind == topic->kind && !strcmp(before->name, topic->name);
		if (topic->kind == TROUPE_TOPIC_TAKEN)
			map_add(&names.taken, arena_strdup(&names.arena, topic->name), i);
		if (topic->kind == TROUPE_TOPIC_SERVICE || again)
			continue;
		ros_names_add_topic(&making, i);
		ros_names_add_fixed_frames(&making, topic);
	}
	ros_names_add_joint_commands(&making);
	ros_names_link_topics(&names);
	map_fini(&making.space_at);
	map_fini(&making.space_used);
	map_fini(&making.kinds);
	map_fini(&making.shared);
	map_fini(&making.frames);
	map_fini(&making.given);
	map_fini(&making.joints);
	map_fini(&making.robot_at);
	map_fini(&making.static_at);
	vec_free(&making.spaces);
	vec_free(&making.robots);
	vec_free(&making.statics);
	*ret_names = names;
}

troupe_status names_convert(const struct ros_offer *offer, const struct troupe_message *message, struct text *out,
	struct troupe_error *error)
{
	if (!offer->ros || strcmp(offer->ros->gz->name, message->type) != 0)
		return TROUPE_OK;
	return ros_of_bytes_for(
		offer->ros, offer->frames_of, message->bytes ? message->bytes : "", message->count, out, error);
}

/* Whether names_convert() gives the same bytes for both. */
static bool ros_names_are_alike(const struct ros_offer *a, const struct ros_offer *b)
{
	if (a->ros != b->ros || !a->frames_of != !b->frames_of)
		return false;
	return !a->frames_of || !strcmp(a->frames_of, b->frames_of);
}

bool names_conversion_for(struct names_conversion *conversion, const struct ros_offer *offer)
{
	if (conversion->offer && ros_names_are_alike(conversion->offer, offer))
		return false;
	conversion->offer = offer;
	conversion->cdr.count = 0;
	conversion->status = names_convert(offer, conversion->message, &conversion->cdr, &conversion->error);
	conversion->cdr.count = conversion->status ? 0 : conversion->cdr.count;
	return true;
}

static void ros_names_say_hashed(const struct ros_names *names, const struct ros_names *before,
	void (*say)(void *ctx, const char *line), void *ctx)
{
	struct map said = {0};
	struct text line = {0};
	uint32_t count = 0;
	for (uint32_t i = 0; i < before->hashed.count; i++)
		(void)map_add(&said, before->hashed.at[i].name, i);
	for (uint32_t i = 0; i < names->hashed.count; i++) {
		const struct names_hashed *hashed = &names->hashed.at[i];
		if (names_has(&said, hashed->name) || count++ >= NAMES_SAID_MAX)
			continue;
		line.count = 0;
		text_add(&line, "%.200s is %s: the name without the number behind it is another one's", hashed->of,
			hashed->name);
		say(ctx, line.at);
	}
	line.count = 0;
	text_add(&line, "%" PRIu32 " more models and topics have such names", count - MIN(count, NAMES_SAID_MAX));
	if (count > NAMES_SAID_MAX)
		say(ctx, line.at);
	text_fini(&line);
	map_fini(&said);
}

void names_update(const struct ros_names *before, const struct troupe_topics *topics, const char *client, char **robot,
	void (*say)(void *ctx, const char *line), void *ctx, struct ros_names *ret_names)
{
	names_make(topics, client, *robot, ret_names);
	if (!*robot && ret_names->robot)
		*robot = mem_strdup(ret_names->robot);
	ros_names_say_hashed(ret_names, before, say, ctx);
}

void names_fini(struct ros_names *names)
{
	arena_fini(&names->arena);
	vec_free(&names->offers);
	vec_free(&names->hashed);
	map_fini(&names->taken);
	map_fini(&names->of_topic);
	*names = (struct ros_names){0};
}

char *names_joint_topic(
	const struct ros_names *names, const char *robot, const char *joint, enum joint_quantity quantity)
{
	static const char *const ends[] = {
		[JOINT_POSITION] = "0/cmd_pos", [JOINT_VELOCITY] = "cmd_vel", [JOINT_EFFORT] = "cmd_force"};
	struct text topic = {0};
	if (*names->client)
		text_add(&topic, "/%s", names->client);
	for (const char *at = robot; *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");
		text_add(&topic, "/model/%.*s", (int)length, at);
		at += length;
	}
	text_add(&topic, "/joint/%s/%s", joint, ends[quantity]);
	if (names_has(&names->taken, topic.at))
		return topic.at;
	text_fini(&topic);
	return NULL;
}
