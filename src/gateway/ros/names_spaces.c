/* Namespaces come first, those of models that have their plain names before those of their twins, and each after the
 * one that it is in. */
#include "gateway/ros/names_internal.h"

#include "base/hash.h"
#include "topic/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *names_spaces_kind_key(struct arena *arena, const struct ros_names_parts *parts)
{
	return arena_printf(arena, "%s|%s", parts->space, parts->rest);
}

static bool names_spaces_ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), of_end = strlen(end);
	return length >= of_end && !strcmp(text + length - of_end, end);
}

/* --- namespaces --------------------------------------------------------------------------------------------------- */

/* keep_numbers: parts of digits only do not fall away. */
static char *names_spaces_clean(struct arena *arena, const char *name, bool keep_numbers)
{
	struct text out = {0};
	for (const char *at = name + strspn(name, "/"); *at; at += strspn(at, "/")) {
		size_t length = strcspn(at, "/");
		bool is_index = !keep_numbers && strspn(at, "0123456789") == length;
		for (size_t i = 0; i < length && !is_index; i++) {
			char c = at[i];
			bool digit = c >= '0' && c <= '9';
			bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
			text_add(&out, "%s%s%c", i ? "" : "/", !i && digit ? "n" : "", digit || letter ? c : '_');
		}
		at += length;
	}
	char *result = out.count && out.count <= NAMES_BYTES_MAX ? arena_strdup(arena, out.at) : NULL;
	text_fini(&out);
	return result;
}

char *names_clean(struct arena *arena, const char *name)
{
	return names_spaces_clean(arena, name, false);
}

char *names_spaces_hashed(struct arena *arena, const char *plain, const char *of, uint64_t salt)
{
	char *name = arena_printf(arena, "%s_%08" PRIx32, plain, (uint32_t)hash_bytes(salt, of, strlen(of)));
	return strlen(name) <= NAMES_BYTES_MAX ? name : NULL;
}

static void names_spaces_note(struct ros_names_making *making, const char *of, bool is_twin)
{
	const char *slash = strrchr(of, '/');
	uint32_t at = making->spaces.count;
	if (slash) /* each has the one that it is in */
		names_spaces_note(making, arena_printf(&making->names->arena, "%.*s", (int)(slash - of), of), false);
	if (map_add(&making->space_at, of, at))
		vec_push(&making->spaces, (struct names_space){.of = of});
	else
		(void)map_find(&making->space_at, of, &at);
	making->spaces.at[at].is_twin |= is_twin;
}

static void names_spaces_name(struct ros_names_making *making, struct names_space *space)
{
	struct arena *arena = &making->names->arena;
	const char *slash = strrchr(space->of, '/'), *part = slash ? slash + 1 : space->of;
	const char *outer = "", *plain = names_spaces_clean(arena, part, true);
	uint32_t at;
	if (space->name)
		return;
	if (slash &&
		map_find(&making->space_at, arena_printf(arena, "%.*s", (int)(slash - space->of), space->of), &at)) {
		names_spaces_name(making, &making->spaces.at[at]);
		space->hashed = making->spaces.at[at].hashed;
		outer = making->spaces.at[at].name;
	}
	space->name = plain = arena_printf(arena, "%s%s", outer, plain ? plain + !*outer : "");
	bool is_free = (!space->is_twin || space->hashed) && map_add(&making->space_used, plain, 0);
	for (uint64_t salt = 0; salt < NAMES_HASHES && !is_free; salt++) {
		const char *hashed = names_spaces_hashed(arena, plain, space->of, salt);
		is_free = hashed && map_add(&making->space_used, hashed, 0);
		space->name = is_free ? hashed : plain;
		space->hashed |= is_free;
	}
	if (!strcmp(space->name, plain))
		return;
	vec_push(&making->names->hashed, (struct names_hashed){arena_printf(arena, "model '%s'", space->of),
						 arena_printf(arena, "/%s", space->name)});
}

static int names_spaces_compare(const void *a, const void *b)
{
	const struct names_space *left = a, *right = b;
	return left->is_twin != right->is_twin ? (int)left->is_twin - (int)right->is_twin : strcmp(left->of, right->of);
}

void names_spaces_make(struct ros_names_making *making)
{
	for (uint32_t i = 0; i < making->topics->count; i++) {
		const struct troupe_topic *topic = &making->topics->at[i];
		struct ros_names_parts parts;
		if (topic->kind == TROUPE_TOPIC_SERVICE)
			continue;
		if (names_take_apart(making, topic->name, &parts)) {
			names_spaces_note(making, parts.space, topic->is_twin);
		} else if (topic->model) {
			char *name = arena_strdup(&making->names->arena, topic->model);
			topic_name_clean(name);
			if (*name)
				names_spaces_note(making, name, false);
		}
	}
	if (making->spaces.count)
		qsort(making->spaces.at, making->spaces.count, sizeof *making->spaces.at, names_spaces_compare);
	map_fini(&making->space_at);
	making->space_at = (struct map){0};
	for (uint32_t i = 0; i < making->spaces.count; i++)
		(void)map_add(&making->space_at, making->spaces.at[i].of, i);
	for (uint32_t i = 0; i < making->spaces.count; i++)
		names_spaces_name(making, &making->spaces.at[i]);
}

const char *names_spaces_of(const struct ros_names_making *making, const char *of)
{
	uint32_t at;
	return map_find(&making->space_at, of, &at) ? making->spaces.at[at].name : of;
}

const char *names_spaces_find_robot(const struct ros_names_making *making, const char *robot)
{
	struct arena *arena = &making->names->arena;
	if (!robot || names_has(&making->space_used, robot))
		return robot ? arena_strdup(arena, robot) : NULL;
	const char *name = names_spaces_clean(arena, names_spaces_of(making, robot), true);
	return name ? name + 1 : NULL; /* without its slash */
}

/* --- what there is ------------------------------------------------------------------------------------------------ */

static void names_spaces_count_kind(struct ros_names_making *making, const struct ros_names_parts *parts)
{
	char *key = names_spaces_kind_key(&making->names->arena, parts);
	uint32_t count = 0;
	if (map_find(&making->kinds, key, &count))
		map_remove(&making->kinds, key);
	map_add(&making->kinds, key, count + 1);
}

static void names_spaces_note_sharing(struct ros_names_making *making, const struct ros_names_parts *parts)
{
	struct arena *arena = &making->names->arena;
	uint32_t count = 0;
	map_find(&making->kinds, names_spaces_kind_key(arena, parts), &count);
	if (count > 1)
		map_add(&making->shared, names_sensor_key(arena, parts), 0);
}

const char *names_spaces_robot_of(const struct ros_names_making *making, const struct troupe_topic *topic)
{
	struct ros_names_parts parts;
	if (names_take_apart(making, topic->name, &parts))
		return parts.space;
	if (!topic->model)
		return NULL;
	char *name = arena_strdup(&making->names->arena, topic->model);
	topic_name_clean(name);
	return *name ? name : NULL;
}

static bool names_spaces_has_another_model(const struct troupe_topic *topic, const struct troupe_topic *other)
{
	return other->kind == topic->kind && other->model && (!topic->model || strcmp(other->model, topic->model) != 0);
}

/* A topic of several models, as "/tf" of a world with many equal robots: its messages are of all of them. */
static bool names_spaces_is_shared(const struct ros_names_making *making, uint32_t at)
{
	const struct troupe_topic *topics = making->topics->at, *topic = &topics[at];
	for (uint32_t i = at; i-- > 0 && !strcmp(topics[i].name, topic->name);)
		if (names_spaces_has_another_model(topic, &topics[i]))
			return true;
	for (uint32_t i = at + 1; i < making->topics->count && !strcmp(topics[i].name, topic->name); i++)
		if (names_spaces_has_another_model(topic, &topics[i]))
			return true;
	return false;
}

bool names_spaces_is_tf(const struct ros_names_making *making, uint32_t at)
{
	const struct troupe_topic *topic = &making->topics->at[at];
	return topic->kind == TROUPE_TOPIC_PUBLISHED && !strcmp(topic->type, "gz.msgs.Pose_V") && topic->model &&
	       names_spaces_ends_with(topic->name, "/tf") && !names_spaces_is_shared(making, at);
}

static void names_spaces_add_static(struct ros_names_making *making, const char *space, const char *robot)
{
	struct arena *arena = &making->names->arena;
	const char *name = names_clean(arena, arena_printf(arena, "%s/tf_static", names_spaces_of(making, space)));
	if (name && strcmp(name, "/tf_static") != 0 && map_add(&making->static_at, name, making->statics.count))
		vec_push(&making->statics, (struct names_static){name, robot});
}

void names_spaces_find_robots(struct ros_names_making *making)
{
	for (uint32_t i = 0; i < making->topics->count; i++) {
		const struct troupe_topic *topic = &making->topics->at[i];
		const char *robot = topic->kind == TROUPE_TOPIC_PUBLISHED ? names_spaces_robot_of(making, topic) : NULL;
		uint32_t at = making->robots.count;
		if (!robot || !ros_type_find(topic->type, topic->name))
			continue;
		if (map_add(&making->robot_at, robot, at)) {
			vec_push(&making->robots, (struct names_robot){robot, false});
			names_spaces_add_static(making, robot, robot);
		}
		map_find(&making->robot_at, robot, &at);
		making->robots.at[at].has_tf |= names_spaces_is_tf(making, i) || names_has(&making->frames, robot);
	}
	for (uint32_t i = 0; i < making->topics->count; i++) {
		const char *inner = names_inner(making, making->topics->at[i].name);
		struct ros_names_parts parts;
		if (!names_spaces_is_tf(making, i) || names_take_apart(making, making->topics->at[i].name, &parts))
			continue;
		names_spaces_add_static(making,
			arena_printf(&making->names->arena, "%.*s", (int)strlen(inner) - 2, inner),
			names_spaces_robot_of(making, &making->topics->at[i]));
	}
}

static bool names_spaces_is_joint_command(const char *rest)
{
	return !strncmp(rest, "joint/", 6) &&
	       (names_spaces_ends_with(rest, "/0/cmd_pos") || names_spaces_ends_with(rest, "/cmd_vel") ||
		       names_spaces_ends_with(rest, "/cmd_force"));
}

/* Looks at all topics of models, twice: a sensor's names depend on those of the others. */
const char *names_spaces_look(struct ros_names_making *making)
{
	struct arena *arena = &making->names->arena;
	const char *only = NULL;
	uint32_t spaces = 0;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < making->topics->count; i++) {
			const struct troupe_topic *topic = &making->topics->at[i];
			struct ros_names_parts parts;
			if (topic->kind == TROUPE_TOPIC_SERVICE || !names_take_apart(making, topic->name, &parts))
				continue;
			if (pass) {
				if (*parts.sensor)
					names_spaces_note_sharing(making, &parts);
				continue;
			}
			char *top = arena_printf(arena, "%.*s", (int)strcspn(parts.space, "/"), parts.space);
			spaces += !only || strcmp(only, top) != 0;
			only = top;
			if (*parts.sensor)
				names_spaces_count_kind(making, &parts);
			else if (!strcmp(parts.rest, "tf"))
				map_add(&making->frames, parts.space, 0);
			else if (topic->kind == TROUPE_TOPIC_TAKEN && names_spaces_is_joint_command(parts.rest))
				map_add(&making->joints, parts.space, 0);
		}
	return spaces == 1 ? only : NULL;
}
