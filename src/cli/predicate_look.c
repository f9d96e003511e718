/* The value of a condition in the present state. Names are looked up once for each scene; then a state costs as much as
 * the condition has parts. */
#include "cli/predicate_names.h"

#include "base/math.h"

#include <math.h>
#include <string.h>

#define PREDICATE_UNKNOWN ((double)NAN)

struct predicate_moment {
	struct predicate *predicate;
	struct troupe_server *server;
	uint32_t world;
	const struct troupe_snapshot *snapshot;
	double *values;
	troupe_status status;
	struct troupe_error *error;
};

/* --- quantities --------------------------------------------------------------------------------------------------- */

static double predicate_look_of_pose(const struct troupe_pose *pose, const struct troupe_twist *twist, uint32_t word)
{
	const double values[13] = {pose->x, pose->y, pose->z, pose->qw, pose->qx, pose->qy, pose->qz, twist->linear.x,
		twist->linear.y, twist->linear.z, twist->angular.x, twist->angular.y, twist->angular.z};
	double w = pose->qw, x = pose->qx, y = pose->qy, z = pose->qz, sine = 2 * (w * y - z * x);
	switch (word) {
	case PREDICATE_ROLL:
		return math_atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y));
	case PREDICATE_PITCH:
		return math_asin(sine > 1 ? 1 : sine < -1 ? -1 : sine);
	case PREDICATE_YAW:
		return math_atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z));
	case PREDICATE_TILT:
		return 2 * math_atan2(sqrt(x * x + y * y), sqrt(w * w + z * z));
	case PREDICATE_SPEED:
		return troupe_vec3_length(twist->linear);
	case PREDICATE_TURN:
		return troupe_vec3_length(twist->angular);
	default:
		return word < ARRAY_LEN(values) ? values[word] : PREDICATE_UNKNOWN;
	}
}

/* Where a model or a link is; what is static stands in the scene only. */
static void predicate_look_pose_of(const struct troupe_snapshot *snapshot, const struct predicate_target *target,
	struct troupe_pose *ret_pose, struct troupe_twist *ret_twist)
{
	const struct troupe_scene *scene = snapshot->scene;
	*ret_twist = (struct troupe_twist){{0, 0, 0}, {0, 0, 0}};
	if (target->kind == PREDICATE_MODEL && target->index < snapshot->model_count) {
		*ret_pose = snapshot->models[target->index].pose;
		*ret_twist = snapshot->models[target->index].twist;
	} else if (target->kind == PREDICATE_MODEL) {
		*ret_pose = scene->models[target->index].pose;
	} else if (target->index < snapshot->link_count) {
		*ret_pose = snapshot->links[target->index].pose;
		*ret_twist = snapshot->links[target->index].twist;
	} else {
		const struct troupe_scene_link *link = &scene->links[target->index];
		*ret_pose = troupe_pose_mul(scene->models[link->model].pose, link->in_model);
	}
}

static double predicate_look_of_model(const struct troupe_snapshot *snapshot, const struct predicate_target *target)
{
	bool moves = target->index < snapshot->model_count;
	switch (target->word) {
	case PREDICATE_LOADED:
		return !moves || snapshot->models[target->index].loaded;
	case PREDICATE_ASLEEP:
		return moves && snapshot->models[target->index].asleep;
	case PREDICATE_DRIFT:
	case PREDICATE_DRIFT_YAW:
		if (!moves || !snapshot->odometry[target->index].given)
			return PREDICATE_UNKNOWN;
		return target->word == PREDICATE_DRIFT ? snapshot->odometry[target->index].drift_m
						       : snapshot->odometry[target->index].drift_rad;
	default: {
		struct troupe_pose pose;
		struct troupe_twist twist;
		predicate_look_pose_of(snapshot, target, &pose, &twist);
		return predicate_look_of_pose(&pose, &twist, target->word);
	}
	}
}

static double predicate_look_of_joint(const struct troupe_joint_state *joint, uint32_t word)
{
	const double values[] = {joint->position[0], joint->velocity[0], joint->effort[0], joint->position[1],
		joint->velocity[1], joint->effort[1]};
	return values[word];
}

static double predicate_look_of_target(const struct troupe_snapshot *snapshot, const struct predicate_target *target)
{
	if (target->kind == PREDICATE_JOINT)
		return target->index < snapshot->joint_count
			       ? predicate_look_of_joint(&snapshot->joints[target->index], target->word)
			       : PREDICATE_UNKNOWN;
	if (target->kind == PREDICATE_SENSOR)
		return snapshot->readings[target->index].given ? snapshot->readings[target->index].numbers[target->word]
							       : PREDICATE_UNKNOWN;
	return predicate_look_of_model(snapshot, target);
}

static uint32_t predicate_look_owner(const struct troupe_scene *scene, const struct predicate_target *target)
{
	switch (target->kind) {
	case PREDICATE_LINK:
		return scene->links[target->index].model;
	case PREDICATE_JOINT:
		return scene->joints[target->index].model;
	case PREDICATE_SENSOR:
		return scene->sensors[target->index].model;
	default:
		return target->index;
	}
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

static bool predicate_look_has_shape(const struct predicate_place *place, uint32_t shape)
{
	return shape < place->shape_count && place->shapes[shape];
}

static uint32_t predicate_look_model_of(const struct troupe_scene *scene, uint32_t shape)
{
	return shape < scene->shape_count ? scene->links[scene->shapes[shape].link].model : TROUPE_NONE;
}

/* Contacts inside one model count only if both names name parts. b NULL: with whatever else. */
static bool predicate_look_touches(
	const struct predicate_moment *moment, const struct predicate_node *node, const struct troupe_contact *contact)
{
	const struct predicate *predicate = moment->predicate;
	const struct troupe_scene *scene = moment->snapshot->scene;
	const struct predicate_place *a = &predicate->places[node->names[0]];
	const struct predicate_place *b = node->names[1] == TROUPE_NONE ? NULL : &predicate->places[node->names[1]];
	uint32_t one = contact->shapes[0], two = contact->shapes[1];
	bool parts = b && predicate->names.at[node->names[0]].part && predicate->names.at[node->names[1]].part;
	if (!parts && predicate_look_model_of(scene, one) == predicate_look_model_of(scene, two))
		return false;
	return (predicate_look_has_shape(a, one) && (!b || predicate_look_has_shape(b, two))) ||
	       (predicate_look_has_shape(a, two) && (!b || predicate_look_has_shape(b, one)));
}

/* The number of contacts, or the depth of the deepest one: 0 if there is none. */
static double predicate_look_of_contacts(
	const struct predicate_moment *moment, const struct predicate_node *node, bool deepest)
{
	uint32_t *who = moment->predicate->places[node->names[0]].who;
	double depth = -1;
	uint32_t count = 0;
	who[0] = who[1] = TROUPE_NONE;
	if (!moment->predicate->observed)
		return PREDICATE_UNKNOWN;
	for (uint32_t i = 0; i < 2; i++)
		if (node->names[i] != TROUPE_NONE && !moment->predicate->places[node->names[i]].there)
			return PREDICATE_UNKNOWN;
	for (uint32_t i = 0; i < moment->snapshot->contact_count; i++) {
		const struct troupe_contact *contact = &moment->snapshot->contacts[i];
		if (!predicate_look_touches(moment, node, contact))
			continue;
		count++;
		if (contact->depth <= depth)
			continue;
		depth = contact->depth;
		who[0] = predicate_look_model_of(moment->snapshot->scene, contact->shapes[0]);
		who[1] = predicate_look_model_of(moment->snapshot->scene, contact->shapes[1]);
	}
	return !deepest ? count : count ? depth : 0;
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static double predicate_look_distance(const struct predicate_moment *moment, const struct predicate_node *node)
{
	struct predicate_place *a = &moment->predicate->places[node->names[0]];
	const struct predicate_place *b = &moment->predicate->places[node->names[1]];
	double least = PREDICATE_UNKNOWN;
	for (uint32_t i = 0; i < a->targets.count; i++)
		for (uint32_t k = 0; k < b->targets.count; k++) {
			const struct predicate_target *one = &a->targets.at[i], *two = &b->targets.at[k];
			struct troupe_pose from, to;
			struct troupe_twist twist;
			if (one->kind == two->kind && one->index == two->index)
				continue;
			predicate_look_pose_of(moment->snapshot, one, &from, &twist);
			predicate_look_pose_of(moment->snapshot, two, &to, &twist);
			double far =
				troupe_vec3_length(troupe_vec3_sub(troupe_pose_place(from), troupe_pose_place(to)));
			if (far >= least)
				continue;
			least = far; /* also the first one */
			a->who[0] = predicate_look_owner(moment->snapshot->scene, one);
			a->who[1] = predicate_look_owner(moment->snapshot->scene, two);
		}
	return least;
}

/* The least or largest one of all that the name of a quantity means, as far as they are known. */
static double predicate_look_of_quantity(
	const struct predicate_moment *moment, const struct predicate_node *node, bool most)
{
	struct predicate_place *place = &moment->predicate->places[node->names[0]];
	double best = PREDICATE_UNKNOWN;
	place->who[0] = place->who[1] = TROUPE_NONE;
	if (place->shapes && place->targets.count && place->targets.at[0].kind != PREDICATE_SENSOR)
		return predicate_look_of_contacts(moment, node, false);
	for (uint32_t i = 0; i < place->targets.count; i++) {
		double value = predicate_look_of_target(moment->snapshot, &place->targets.at[i]);
		if (isnan(value) || (!isnan(best) && (most ? value <= best : value >= best)))
			continue;
		best = value;
		place->who[0] = predicate_look_owner(moment->snapshot->scene, &place->targets.at[i]);
	}
	return best;
}

/* Of min() or max(), whose operands that are patterns have the least or largest value of their own. */
static double predicate_look_extreme(const struct predicate_moment *moment, const struct predicate_node *node)
{
	bool most = node->op == PREDICATE_MAX;
	double best = PREDICATE_UNKNOWN;
	for (uint32_t i = 0; i < node->count; i++) {
		uint32_t at = moment->predicate->operands.at[node->first + i];
		const struct predicate_node *operand = &moment->predicate->nodes.at[at];
		bool many = operand->op == PREDICATE_QUANTITY && moment->predicate->names.at[operand->names[0]].pattern;
		if (many)
			moment->values[at] = predicate_look_of_quantity(moment, operand, most);
		double value = moment->values[at];
		if (isnan(value) && !many)
			return PREDICATE_UNKNOWN;
		if (isnan(best) || (most ? value > best : value < best))
			best = value;
	}
	return best;
}

static double predicate_look_compare(enum predicate_op op, double a, double b)
{
	if (isnan(a) || isnan(b))
		return PREDICATE_UNKNOWN;
	switch (op) {
	case PREDICATE_LESS:
		return a < b;
	case PREDICATE_AT_MOST:
		return a <= b;
	case PREDICATE_MORE:
		return a > b;
	case PREDICATE_AT_LEAST:
		return a >= b;
	case PREDICATE_EQUAL:
		return a == b;
	default:
		return a != b;
	}
}

static double predicate_look_calculate(enum predicate_op op, double a, double b)
{
	switch (op) {
	case PREDICATE_MINUS:
		return -a;
	case PREDICATE_ADD:
		return a + b;
	case PREDICATE_SUBTRACT:
		return a - b;
	case PREDICATE_MULTIPLY:
		return a * b;
	case PREDICATE_DIVIDE:
		return a / b;
	case PREDICATE_ABS:
		return fabs(a);
	case PREDICATE_SQRT:
		return sqrt(a);
	case PREDICATE_NOT:
		return 1 - a;
	case PREDICATE_AND:
		return a == 0 || b == 0 ? 0 : a * b;
	case PREDICATE_OR:
		return a == 1 || b == 1 ? 1 : a + b;
	default:
		return predicate_look_compare(op, a, b);
	}
}

static double predicate_look_of_node(const struct predicate_moment *moment, const struct predicate_node *node)
{
	const uint32_t *operands = moment->predicate->operands.at + node->first;
	double a = node->count ? moment->values[operands[0]] : 0, b = node->count > 1 ? moment->values[operands[1]] : 0;
	switch (node->op) {
	case PREDICATE_NUMBER:
		return node->number;
	case PREDICATE_STEP:
		return (double)moment->snapshot->step;
	case PREDICATE_TIME:
		return moment->snapshot->time_s;
	case PREDICATE_QUANTITY:
	case PREDICATE_FLAG:
		return predicate_look_of_quantity(moment, node, false);
	case PREDICATE_MIN:
	case PREDICATE_MAX:
		return predicate_look_extreme(moment, node);
	case PREDICATE_DISTANCE:
		return predicate_look_distance(moment, node);
	case PREDICATE_DEPTH:
		return predicate_look_of_contacts(moment, node, true);
	case PREDICATE_CONTACT: {
		double count = predicate_look_of_contacts(moment, node, false);
		return isnan(count) ? PREDICATE_UNKNOWN : count > 0;
	}
	case PREDICATE_EXISTS:
		return moment->predicate->places[node->names[0]].there;
	default:
		return predicate_look_calculate(node->op, a, b);
	}
}

/* Operands stand before what is made of them. */
static void predicate_look_at(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct predicate_moment *moment = ctx;
	if (strcmp(snapshot->world, troupe_server_world_name(moment->server, moment->world)) != 0)
		return;
	moment->snapshot = snapshot;
	moment->predicate->time_s = snapshot->time_s;
	if (!moment->status)
		moment->status =
			predicate_find_names(moment->predicate, moment->server, snapshot->scene, moment->error);
	for (uint32_t i = 0; i < moment->predicate->nodes.count && !moment->status; i++)
		moment->values[i] = predicate_look_of_node(moment, &moment->predicate->nodes.at[i]);
}

troupe_status predicate_look(struct predicate *predicate, struct troupe_server *server, uint32_t world, double *values,
	double *ret_truth, struct troupe_error *error)
{
	struct predicate_moment moment = {predicate, server, world, NULL, values, TROUPE_OK, error};
	troupe_server_look(server, predicate_look_at, &moment);
	*ret_truth = values[predicate->root];
	return moment.status;
}

bool predicate_shown(const struct predicate *predicate, uint32_t node, struct text *out)
{
	const struct predicate_node *n = &predicate->nodes.at[node];
	if (n->names[0] == TROUPE_NONE && n->op != PREDICATE_MIN && n->op != PREDICATE_MAX && n->op != PREDICATE_STEP)
		return false;
	text_add_bytes(out, predicate->text + n->column - 1, n->bytes);
	return true;
}

bool predicate_whose(const struct predicate *predicate, uint32_t node, struct troupe_server *server, uint32_t world,
	struct text *out)
{
	const struct predicate_node *n = &predicate->nodes.at[node];
	bool many = false;
	for (int i = 0; i < 2; i++)
		many |= n->names[i] != TROUPE_NONE && predicate->names.at[n->names[i]].pattern;
	if (!many || n->op == PREDICATE_EXISTS || !predicate->places)
		return false;
	const struct predicate_place *place = &predicate->places[n->names[0]];
	const struct troupe_scene *scene = troupe_server_scene(server, world);
	for (int i = 0; i < 2 && scene && scene->epoch == predicate->epoch; i++)
		if (place->who[i] != TROUPE_NONE && place->who[i] < scene->model_count)
			text_add(out, "%s%s", i ? ", " : "", scene->models[place->who[i]].name);
	troupe_scene_release(scene);
	return true;
}
