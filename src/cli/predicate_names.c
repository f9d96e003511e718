/* A pattern means all things that match it; a name that is no pattern must be there. */
#include "cli/predicate_names.h"

#include "base/match.h"
#include "base/near.h"

#include <stdlib.h>
#include <string.h>

/* By enum predicate_word. */
static const char *const predicate_names_words[PREDICATE_MODEL_WORDS] = {"x", "y", "z", "qw", "qx", "qy", "qz", "vx",
	"vy", "vz", "wx", "wy", "wz", "roll", "pitch", "yaw", "tilt", "speed", "turn", "contacts", "drift", "drift_yaw",
	"loaded", "asleep"};

/* The same of a joint: three of each axis. */
static const char *const predicate_names_joint_words[] = {
	"position", "velocity", "effort", "position2", "velocity2", "effort2"};

void predicate_renew(struct predicate *predicate)
{
	for (uint32_t i = 0; predicate->places && i < predicate->names.count; i++) {
		vec_free(&predicate->places[i].targets);
		free(predicate->places[i].shapes);
	}
	free(predicate->places);
	predicate->places = NULL;
	predicate->epoch = 0;
	predicate->observed = false;
}

static bool predicate_names_is_called(const char *wanted, const char *name)
{
	return strpbrk(wanted, "*?") ? match_glob(wanted, name) : !strcmp(wanted, name);
}

static uint32_t predicate_names_find_word(const char *const *words, uint32_t count, const char *word)
{
	for (uint32_t i = 0; i < count; i++)
		if (!strcmp(words[i], word))
			return i;
	return TROUPE_NONE;
}

/* word NULL: the place of the thing is wanted, and no quantity of it. */
static void predicate_names_add_target(struct predicate_place *place, enum predicate_kind kind, uint32_t index,
	const char *const *words, uint32_t count, const char *word)
{
	uint32_t at = word ? predicate_names_find_word(words, count, word) : 0;
	if (at != TROUPE_NONE)
		vec_push(&place->targets, (struct predicate_target){kind, index, at});
}

static void predicate_names_find_parts(struct predicate_place *place, struct troupe_server *server,
	const struct troupe_scene *scene, uint32_t m, const char *part, const char *word)
{
	const struct troupe_scene_model *model = &scene->models[m];
	for (uint32_t i = model->link_first; i < model->link_first + model->link_count; i++)
		if (predicate_names_is_called(part, scene->links[i].name))
			predicate_names_add_target(
				place, PREDICATE_LINK, i, predicate_names_words, PREDICATE_LINK_WORDS, word);
	for (uint32_t i = model->joint_first; word && i < model->joint_first + model->joint_count; i++)
		if (predicate_names_is_called(part, scene->joints[i].name))
			predicate_names_add_target(place, PREDICATE_JOINT, i, predicate_names_joint_words,
				3 * scene->joints[i].axis_count, word);
	for (uint32_t i = 0; word && i < scene->sensor_count; i++) {
		const struct troupe_scene_sensor *sensor = &scene->sensors[i];
		if (sensor->model == m && predicate_names_is_called(part, sensor->name) &&
			troupe_hold_sensor(server, sensor->handle, true))
			predicate_names_add_target(
				place, PREDICATE_SENSOR, i, sensor->numbers, sensor->number_count, word);
	}
}

/* Marks the collisions of the models, links or LINK::COLLISION of this name. */
static bool predicate_names_find_shapes(
	struct predicate_place *place, const struct troupe_scene *scene, uint32_t m, const char *part)
{
	bool any = false;
	struct text full = {0};
	for (uint32_t i = 0; i < scene->shape_count; i++) {
		const struct troupe_form *shape = scene->shapes[i].form;
		const struct troupe_scene_link *link = &scene->links[scene->shapes[i].link];
		if (!shape->collision || link->model != m)
			continue;
		full.count = 0;
		text_add(&full, "%s::%s", link->name, shape->name);
		if (part && !predicate_names_is_called(part, link->name) && !predicate_names_is_called(part, full.at))
			continue;
		place->shapes[i] = any = true;
	}
	text_fini(&full);
	return any;
}

static bool predicate_names_wants_shapes(const struct predicate_node *node)
{
	return node->op == PREDICATE_CONTACT || node->op == PREDICATE_DEPTH ||
	       (node->op == PREDICATE_QUANTITY && !strcmp(node->word, "contacts"));
}

/* Offers the parts of a model, and the quantities of the part that is named; part NULL: of the model. Returns whether
 * there is such a part. */
static bool predicate_names_offer(
	const struct troupe_scene *scene, uint32_t m, const char *part, struct near *parts, struct near *words)
{
	const struct troupe_scene_model *model = &scene->models[m];
	bool there = !part;
	for (uint32_t k = 0; k < PREDICATE_MODEL_WORDS && !part; k++)
		near_offer(words, predicate_names_words[k]);
	for (uint32_t i = model->link_first; i < model->link_first + model->link_count; i++) {
		bool is = part && !strcmp(scene->links[i].name, part);
		near_offer(parts, scene->links[i].name);
		for (uint32_t k = 0; is && k < PREDICATE_LINK_WORDS; k++)
			near_offer(words, predicate_names_words[k]);
		there |= is;
	}
	for (uint32_t i = model->joint_first; i < model->joint_first + model->joint_count; i++) {
		bool is = part && !strcmp(scene->joints[i].name, part);
		near_offer(parts, scene->joints[i].name);
		for (uint32_t k = 0; is && k < 3 * scene->joints[i].axis_count; k++)
			near_offer(words, predicate_names_joint_words[k]);
		there |= is;
	}
	for (uint32_t i = 0; i < scene->sensor_count; i++) {
		const struct troupe_scene_sensor *sensor = &scene->sensors[i];
		bool is = sensor->model == m && part && !strcmp(sensor->name, part);
		if (sensor->model == m)
			near_offer(parts, sensor->name);
		for (uint32_t k = 0; is && k < sensor->number_count; k++)
			near_offer(words, sensor->numbers[k]);
		there |= is;
	}
	return there;
}

/* word NULL: a part is wanted, and no quantity of it. */
static troupe_status predicate_names_complain_of_part(const struct predicate *predicate,
	const struct predicate_name *name, const char *word, const struct troupe_scene *scene, uint32_t m,
	struct troupe_error *error)
{
	struct near parts = near_to(name->part ? name->part : ""), words = near_to(word ? word : "");
	if (predicate_names_offer(scene, m, name->part, &parts, &words))
		return fail(error, TROUPE_ECOMMAND,
			"%s, column %u: %s%s%s has no quantity '%s': expected one that it has%s", predicate->option,
			name->column, name->model, name->part ? "/" : "", name->part ? name->part : "",
			word ? word : "", near_such_as(&words));
	return fail(error, TROUPE_ECOMMAND,
		"%s, column %u: model '%s' has no link, joint or sensor '%s': expected one that it has%s",
		predicate->option, name->column, scene->models[m].name, name->part, near_such_as(&parts));
}

static troupe_status predicate_names_find(struct predicate *predicate, struct troupe_server *server,
	const struct troupe_scene *scene, const struct predicate_node *node, uint32_t n, struct troupe_error *error)
{
	struct predicate_name *name = &predicate->names.at[n];
	struct predicate_place *place = &predicate->places[n];
	bool shapes = predicate_names_wants_shapes(node);
	if (shapes) {
		place->shape_count = scene->shape_count;
		place->shapes = mem_alloc(scene->shape_count + 1);
	}
	for (uint32_t m = 0; m < scene->model_count; m++) {
		uint32_t before = place->targets.count;
		if (!predicate_names_is_called(name->model, scene->models[m].name))
			continue;
		bool found = shapes && predicate_names_find_shapes(place, scene, m, name->part);
		if (name->part && !(found && !node->word))
			predicate_names_find_parts(place, server, scene, m, name->part, node->word);
		else if (!name->part)
			predicate_names_add_target(
				place, PREDICATE_MODEL, m, predicate_names_words, PREDICATE_MODEL_WORDS, node->word);
		found |= place->targets.count > before;
		name->seen |= found;
		place->there |= found;
		if (!found && !name->pattern)
			return predicate_names_complain_of_part(predicate, name, node->word, scene, m, error);
	}
	return TROUPE_OK;
}

troupe_status predicate_find_names(struct predicate *predicate, struct troupe_server *server,
	const struct troupe_scene *scene, struct troupe_error *error)
{
	bool observed = predicate->observed;
	troupe_status status = TROUPE_OK;
	if (predicate->places && predicate->epoch == scene->epoch)
		return TROUPE_OK;
	predicate_renew(predicate);
	predicate->observed = observed;
	predicate->epoch = scene->epoch;
	predicate->places = mem_alloc((predicate->names.count + 1) * sizeof *predicate->places);
	for (uint32_t i = 0; i < predicate->nodes.count; i++)
		for (uint32_t k = 0; k < 2 && !status; k++)
			if (predicate->nodes.at[i].names[k] != TROUPE_NONE)
				status = predicate_names_find(predicate, server, scene, &predicate->nodes.at[i],
					predicate->nodes.at[i].names[k], error);
	return status;
}

const struct predicate_name *predicate_unseen(const struct predicate *predicate)
{
	for (uint32_t i = 0; i < predicate->names.count; i++)
		if (!predicate->names.at[i].seen)
			return &predicate->names.at[i];
	return NULL;
}

troupe_status predicate_complain(const struct predicate *predicate, const struct predicate_name *name,
	struct troupe_server *server, uint32_t world, struct troupe_error *error)
{
	const struct troupe_scene *scene = troupe_server_scene(server, world);
	struct near near = near_to(name->model);
	for (uint32_t m = 0; scene && m < scene->model_count; m++) {
		near_offer(&near, scene->models[m].name);
		if (!predicate_names_is_called(name->model, scene->models[m].name))
			continue;
		(void)predicate_names_complain_of_part(predicate, name, NULL, scene, m, error);
		troupe_scene_release(scene);
		return TROUPE_ECOMMAND;
	}
	(void)fail(error, TROUPE_ECOMMAND, "%s, column %u: no model %s '%s': expected a model of world '%s'%s",
		predicate->option, name->column, name->pattern ? "matches" : "is called", name->model,
		troupe_server_world_name(server, world), near_such_as(&near));
	troupe_scene_release(scene);
	return TROUPE_ECOMMAND;
}
