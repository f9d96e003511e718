/* Prints SDF again. Elements are printed as they stood in the file, except for data that the loader resolves (poses,
 * joints' ends and axes, includes): these are printed as resolved. Elements and the loader's arrays are walked in the
 * order in which the loader walked them, so one cursor per array finds the entry that belongs to an element. */
#include "sdf/print_parts.h"

#include "sdf/xml.h"

#include <stdlib.h>
#include <string.h>

/* A whole element, with its pose replaced. */
static void sdf_print_add_posed(
	struct print *print, const struct sdf_element *element, struct pose pose, const char *relative_to)
{
	if (xml_is(element, "light"))
		print_parts_begin_typed(print, element, "point");
	else
		print_parts_begin(print, element, NULL);
	print_parts_open(print);
	print_parts_pose(print, pose, relative_to);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (xml_is(child, "material") && xml_is(element, "visual"))
			print_parts_material(print, child);
		else if (!xml_is(child, "pose"))
			print_parts_element(print, child);
	print_parts_close(print, element->name);
}

/* A file in another folder may have other relative names of meshes, so the <uri> is replaced. A file that is not there
 * (a state may have brought it along) keeps its path. */
static void sdf_print_add_shaped(
	struct print *print, const struct sdf_element *element, struct pose pose, const struct sdf_shape *shape)
{
	bool elsewhere = shape->path && (print->away || strcmp(element->file, print->sdf->path));
	char *whole = elsewhere && print->away ? realpath(shape->path, NULL) : NULL;
	print->uri = elsewhere ? whole ? whole : shape->path : NULL;
	sdf_print_add_posed(print, element, pose, NULL);
	print->uri = NULL;
	free(whole);
}

/* link, joint: its owner; one of them is SDF_NONE. Equal sensors of several owners may be one element. */
static void sdf_print_add_sensor(struct print *print, const struct sdf_element *element, uint32_t link, uint32_t joint)
{
	const struct sdf_world *world = print->world;
	const struct sdf_sensor *next = print->sensor < world->sensors.count ? &world->sensors.at[print->sensor] : NULL;
	if (next && next->element == element && next->link == link && next->joint == joint)
		sdf_print_add_posed(print, element, world->sensors.at[print->sensor++].in_parent, NULL);
	while (print->sensor < world->sensors.count && world->sensors.at[print->sensor].part)
		print->sensor++;
}

/* NULL: the light is as in the file. */
static const struct sdf_light_now *sdf_print_light_now(const struct print *print, uint32_t light)
{
	const sdf_lights_now *all = print->now ? print->now->link_lights : NULL;
	for (uint32_t i = 0; all && i < all->count; i++)
		if (all->at[i].light == light)
			return &all->at[i];
	return NULL;
}

static void sdf_print_add_light(struct print *print, const struct sdf_element *element)
{
	const struct sdf_light_now *now = sdf_print_light_now(print, print->light);
	const struct sdf_light *light = &print->world->lights.at[print->light++];
	struct pose pose = light->in_world;
	if (print->now && light->link == SDF_NONE) /* it is among now->lights */
		return;
	if (now) {
		print_parts_light(print, light->name, now->in_link, &now->shine);
		return;
	}
	if (light->link != SDF_NONE)
		pose = pose_mul(pose_inverse(sdf_link_in_world(print->world, light->link)), pose);
	sdf_print_add_posed(print, element, pose, NULL);
}

static void sdf_print_add_link(struct print *print, const struct sdf_element *element)
{
	const struct sdf_world *world = print->world;
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	const uint32_t link = print->link++;
	print_parts_pose(print, *world->links.at[link].in_model, NULL);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "pose"))
			continue;
		if (xml_is(child, "collision")) {
			const struct sdf_collision *collision = &world->collisions.at[print->collision++];
			sdf_print_add_shaped(print, child, *collision->in_link, collision->shape);
		} else if (xml_is(child, "visual")) {
			const struct sdf_visual *visual = &world->visuals.at[print->visual++];
			sdf_print_add_shaped(print, child, visual->in_link, &visual->shape);
		} else if (xml_is(child, "sensor")) {
			sdf_print_add_sensor(print, child, link, SDF_NONE);
		} else if (xml_is(child, "light")) {
			sdf_print_add_light(print, child);
		} else {
			print_parts_element(print, child);
		}
	}
	print_parts_close(print, element->name);
}

/* Whether a scoped name begins with that of a model that is gone. */
static bool sdf_print_names_gone(const struct print *print, const char *scoped)
{
	const struct sdf_world *world = print->world;
	for (uint32_t m = 0; print->now && scoped && m < world->models.count; m += world->models.at[m].model_count) {
		const char *name = world->models.at[m].name;
		size_t length = strlen(name);
		if (print->now->gone[m] && !strncmp(scoped, name, length) &&
			(!scoped[length] || !strncmp(scoped + length, "::", 2)))
			return true;
	}
	return false;
}

static void sdf_print_add_frame(struct print *print, const struct sdf_element *element)
{
	const struct sdf_frame *frame = &print->world->frames.at[print->frame++];
	if (frame->model == SDF_NONE && sdf_print_names_gone(print, sdf_attribute(element, "attached_to")))
		return;
	sdf_print_add_posed(print, element, frame->in_model, frame->model == SDF_NONE ? "world" : "__model__");
}

static void sdf_print_add_xyz(struct print *print, const struct sdf_element *xyz, const struct sdf_axis *axis)
{
	print_parts_indent(print);
	text_add(print->out, "<xyz");
	if (*axis->xyz_frame)
		print_parts_attribute(print, "expressed_in", axis->xyz_frame);
	text_add(print->out, ">");
	xml_add_escaped(print->out, xyz->text);
	text_add(print->out, "</xyz>\n");
}

/* from_world and frame: of the model around it, where the direction is written when it cannot be as it stood. */
static void sdf_print_add_axis(struct print *print, const struct sdf_element *element, const struct sdf_axis *axis,
	struct quat from_world, const char *frame)
{
	const struct sdf_element *xyz = sdf_child(element, "xyz", NULL);
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	if (axis->xyz_frame && xyz && *xyz->text) {
		sdf_print_add_xyz(print, xyz, axis);
	} else {
		print_parts_indent(print);
		text_add(print->out, "<xyz expressed_in=\"%s\">", frame);
		print_parts_vec3(print, quat_rotate(from_world, axis->xyz_world));
		text_add(print->out, "</xyz>\n");
	}
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!xml_is(child, "xyz") && !xml_is(child, "use_parent_model_frame"))
			print_parts_element(print, child);
	print_parts_close(print, element->name);
}

static void sdf_print_add_end(struct print *print, const char *which, const char *name)
{
	print_parts_indent(print);
	text_add(print->out, "<%s>", which);
	xml_add_escaped(print->out, name);
	text_add(print->out, "</%s>\n", which);
}

/* The top-level model of a link; SDF_NONE for the world. */
static uint32_t sdf_print_top_of(const struct sdf_world *world, uint32_t link)
{
	uint32_t model = link == SDF_NONE ? SDF_NONE : world->links.at[link].model;
	while (model != SDF_NONE && world->models.at[model].parent != SDF_NONE)
		model = world->models.at[model].parent;
	return model;
}

/* A joint of the world moves with the child's model, else with the parent's. */
static struct pose sdf_print_joint_pose_now(const struct print *print, const struct sdf_joint *joint)
{
	const struct sdf_world *world = print->world;
	uint32_t model = sdf_print_top_of(world, joint->child != SDF_NONE ? joint->child : joint->parent);
	if (!print->now || joint->model != SDF_NONE || model == SDF_NONE)
		return sdf_joint_in_world(world, joint);
	struct pose in_model =
		pose_mul(pose_inverse(world->models.at[model].in_world), sdf_joint_in_world(world, joint));
	return pose_mul(print->now->poses[model], in_model);
}

static bool sdf_print_joins_gone(const struct print *print, const struct sdf_joint *joint)
{
	uint32_t parent = sdf_print_top_of(print->world, joint->parent),
		 child = sdf_print_top_of(print->world, joint->child);
	return print->now &&
	       ((parent != SDF_NONE && print->now->gone[parent]) || (child != SDF_NONE && print->now->gone[child]));
}

/* model: around it; SDF_NONE: the world. Equal joints of several models may be one element. */
static void sdf_print_add_joint(struct print *print, const struct sdf_element *element, uint32_t model)
{
	const struct sdf_world *world = print->world;
	const uint32_t index = print->joint;
	const struct sdf_joint *joint = index < world->joints.count ? &world->joints.at[index] : NULL;
	bool in_model = model != SDF_NONE;
	if (!joint || joint->element != element || joint->model != model)
		return; /* the joint was left out */
	print->joint++;
	if (!in_model && sdf_print_joins_gone(print, joint))
		return;
	struct pose from_world = in_model ? pose_inverse(world->models.at[joint->model].in_world) : POSE_IDENTITY;
	const char *frame = in_model ? "__model__" : "world";
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	struct pose raw = POSE_IDENTITY;
	if (joint->pose_frame && !sdf_child_pose(element, &raw, NULL))
		print_parts_pose(print, raw, joint->pose_frame);
	else
		print_parts_pose(print, pose_mul(from_world, sdf_print_joint_pose_now(print, joint)), frame);
	sdf_print_add_end(print, "parent", joint->parent_name);
	sdf_print_add_end(print, "child", joint->child_name);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "pose") || xml_is(child, "parent") || xml_is(child, "child"))
			continue;
		if (xml_is(child, "axis"))
			sdf_print_add_axis(print, child, &joint->axis[0], from_world.q, frame);
		else if (xml_is(child, "axis2"))
			sdf_print_add_axis(print, child, &joint->axis[1], from_world.q, frame);
		else if (xml_is(child, "sensor"))
			sdf_print_add_sensor(print, child, SDF_NONE, index);
		else
			print_parts_element(print, child);
	}
	print_parts_close(print, element->name);
}

static void sdf_print_add_model(struct print *print)
{
	uint32_t index = print->model++;
	const struct sdf_model *model = &print->world->models.at[index];
	bool placed = print->now && model->parent == SDF_NONE;
	print_parts_begin(print, model->element, "placement_frame");
	print_parts_open(print);
	print_parts_pose(print, placed ? print->now->poses[index] : model->in_parent, NULL);
	for (const struct sdf_element *child = model->element->child; child; child = child->next) {
		if (xml_is(child, "pose") || xml_is(child, "model"))
			continue;
		if (xml_is(child, "link"))
			sdf_print_add_link(print, child);
		else if (xml_is(child, "joint"))
			sdf_print_add_joint(print, child, index);
		else if (xml_is(child, "frame"))
			sdf_print_add_frame(print, child);
		else
			print_parts_element(print, child);
	}
	for (const struct sdf_element *child = model->element->child; child; child = child->next)
		if (xml_is(child, "model"))
			sdf_print_add_model(print);
	print_parts_close(print, "model");
}

/* Cuts the text back to `count` bytes. A model that is gone is printed first, because the cursors must pass it. */
static void sdf_print_take_back(struct text *out, size_t count)
{
	out->count = count;
	out->at[count] = '\0';
}

static void sdf_print_add_top_model(struct print *print)
{
	uint32_t index = print->model;
	size_t before = print->out->count;
	sdf_print_add_model(print);
	if (print->now && print->now->gone[index])
		sdf_print_take_back(print->out, before);
}

static void sdf_print_add_actor(struct print *print, const struct sdf_element *element)
{
	uint32_t index = print->actor++;
	if (!print->now || !print->now->gone_actors[index])
		sdf_print_add_posed(print, element, print->world->actors.at[index].in_world, NULL);
}

/* False: the element has no pose that the loader resolves. */
static bool sdf_print_add_placed(struct print *print, const struct sdf_element *element)
{
	if (xml_is(element, "model"))
		sdf_print_add_top_model(print);
	else if (xml_is(element, "light"))
		sdf_print_add_light(print, element);
	else if (xml_is(element, "actor"))
		sdf_print_add_actor(print, element);
	else if (xml_is(element, "frame"))
		sdf_print_add_frame(print, element);
	else
		return false;
	return true;
}

/* The <physics> that counts, with the time step of now; other profiles are left out. */
static void sdf_print_add_physics(struct print *print)
{
	const struct sdf_element *element = print->world->physics.element;
	print_parts_indent(print);
	text_add(print->out, "<physics name=\"now\" type=\"ode\">\n");
	print->depth++;
	print_parts_number(print, "max_step_size", print->now->step_s);
	for (const struct sdf_element *child = element ? element->child : NULL; child; child = child->next)
		if (!xml_is(child, "max_step_size"))
			print_parts_element(print, child);
	print_parts_close(print, "physics");
}

static void sdf_print_physics(struct print *print, const struct sdf_element *element)
{
	print_parts_begin_typed(print, element, "ode");
	print_parts_open(print);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		print_parts_element(print, child);
	print_parts_close(print, element->name);
}

static void sdf_print_add_world(struct print *print)
{
	const struct sdf_element *element = print->world->element;
	bool stepped = print->now && print->now->step_s != print->world->physics.max_step_size;
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	print_parts_indent(print);
	text_add(print->out, "<gravity>");
	print_parts_vec3(print, print->now ? print->now->gravity : print->world->gravity);
	text_add(print->out, "</gravity>\n");
	if (stepped)
		sdf_print_add_physics(print);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (sdf_print_add_placed(print, child) || xml_is(child, "joint") || xml_is(child, "gravity"))
			continue;
		else if (!xml_is(child, "physics"))
			print_parts_element(print, child);
		else if (!stepped)
			sdf_print_physics(print, child);
	if (print->now)
		text_add(print->out, "%s", print->now->lights);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (xml_is(child, "joint"))
			sdf_print_add_joint(print, child, SDF_NONE);
	print_parts_close(print, element->name);
}

static const struct sdf_element *sdf_print_bare_element(const struct sdf_world *world)
{
	if (world->models.count)
		return world->models.at[0].element;
	return world->lights.count ? world->lights.at[0].element : world->actors.at[0].element;
}

/* Printed text needs version 1.9 at least. A file of a later version may have elements that need that version. But
 * names that only old versions allow need an old version; the loader then tolerates newer elements. */
static const char *sdf_print_version_to(const struct sdf *sdf)
{
	if (sdf->names_version <= 107)
		return sdf->names_version == 107 ? "1.7" : "1.6";
	static const char *const newer[] = {"1.10", "1.11", "1.12"};
	for (size_t i = 0; i < ARRAY_LEN(newer); i++)
		if (!strcmp(sdf->version, newer[i]))
			return newer[i];
	return "1.9";
}

static void sdf_print_begin_root(struct print *print)
{
	const struct sdf_element *root = print->sdf->root;
	text_add(print->out, "<?xml version=\"1.0\"?>\n<sdf version=\"%s\"", sdf_print_version_to(print->sdf));
	for (uint32_t i = 0; root && i < root->attribute_count; i++)
		if (strcmp(root->attributes[i].name, "version"))
			print_parts_attribute(print, root->attributes[i].name, root->attributes[i].value);
	print_parts_open(print);
}

void sdf_print_inside(const struct sdf_element *element, struct text *out)
{
	struct print print = {.out = out};
	for (const struct sdf_element *child = element->child; child; child = child->next)
		print_parts_element(&print, child);
}

/* A model outside of a world is in one here: the text must be that of a world. */
static void sdf_print_add_bare_world(struct print *print)
{
	print_parts_indent(print);
	text_add(print->out, "<world");
	print_parts_attribute(print, "name", print->world->name);
	print_parts_open(print);
	print_parts_indent(print);
	text_add(print->out, "<gravity>");
	print_parts_vec3(print, print->now->gravity);
	text_add(print->out, "</gravity>\n");
	if (print->now->step_s != print->world->physics.max_step_size)
		sdf_print_add_physics(print);
	(void)sdf_print_add_placed(print, sdf_print_bare_element(print->world));
	text_add(print->out, "%s", print->now->lights);
	print_parts_close(print, "world");
}

void sdf_print_now(const struct sdf *sdf, const struct sdf_world *world, const struct sdf_now *now, struct text *out)
{
	struct print print = {.out = out, .sdf = sdf, .world = world, .now = now, .away = true};
	sdf_print_begin_root(&print);
	if (sdf->bare_model)
		sdf_print_add_bare_world(&print);
	else
		sdf_print_add_world(&print);
	print_parts_close(&print, "sdf");
}

/* The entities before the model are printed, too, because the cursors must pass them, and taken back. */
static void sdf_print_add_only_model(struct print *print, uint32_t model)
{
	const struct sdf_element *child = print->sdf->bare_model ? NULL : print->world->element->child;
	for (; child && !(xml_is(child, "model") && print->model == model); child = child->next) {
		size_t before = print->out->count;
		(void)sdf_print_add_placed(print, child);
		sdf_print_take_back(print->out, before);
	}
	sdf_print_add_top_model(print);
}

bool sdf_print_model(const struct sdf *sdf, const struct sdf_world *world, const char *name, struct text *out)
{
	struct print print = {.out = out, .sdf = sdf, .world = world};
	uint32_t model = 0;
	while (model < world->models.count &&
		(world->models.at[model].parent != SDF_NONE || strcmp(world->models.at[model].name, name) != 0))
		model++;
	if (model == world->models.count)
		return false;
	sdf_print_begin_root(&print);
	sdf_print_add_only_model(&print, model);
	print_parts_close(&print, "sdf");
	return true;
}

void sdf_print_bare(const struct sdf_world *bare, struct pose pose, const sdf_lights_now *link_lights, struct text *out)
{
	const bool here = false;
	struct pose *poses = mem_alloc((bare->models.count + 1) * sizeof *poses);
	bool *gone = mem_alloc((bare->models.count + 1) * sizeof *gone);
	struct sdf_now now = {.poses = poses, .gone = gone, .gone_actors = &here, .link_lights = link_lights};
	struct print print = {.out = out, .world = bare, .now = &now, .away = true, .depth = 2};
	poses[0] = pose;
	(void)sdf_print_add_placed(&print, sdf_print_bare_element(bare));
	free(poses);
	free(gone);
}

void sdf_print_light(const char *name, struct pose pose, const struct sdf_shine *shine, struct text *out)
{
	struct print print = {.out = out, .depth = 2};
	print_parts_light(&print, name, pose, shine);
}

void sdf_print(const struct sdf *sdf, struct text *out)
{
	struct print print = {.out = out, .sdf = sdf};
	sdf_print_begin_root(&print);
	for (uint32_t i = 0; i < sdf->worlds.count; i++) {
		print = (struct print){.out = out, .sdf = sdf, .world = &sdf->worlds.at[i], .depth = 1};
		if (sdf->bare_model)
			sdf_print_add_placed(&print, sdf_print_bare_element(print.world));
		else
			sdf_print_add_world(&print);
	}
	print.depth = 1;
	print_parts_close(&print, "sdf");
}
