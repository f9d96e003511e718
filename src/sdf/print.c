/* Prints SDF again. Elements are printed as they stood in the file, except for data that the loader resolves (poses,
 * joints' ends and axes, includes): these are printed as resolved. Elements and the loader's arrays are walked in the
 * order in which the loader walked them, so one cursor per array finds the entry that belongs to an element. */
#include "sdf/xml.h"

#include <string.h>

struct print {
	struct text *out;
	const struct sdf *sdf;
	const struct sdf_world *world;
	uint32_t model, link, joint, collision, visual, sensor, light, actor, frame; /* cursors: the next entries */
	const char *uri; /* replaces an <uri> in elements printed unchanged; NULL: no change */
	int depth;
};

static void indent(struct print *print)
{
	text_add(print->out, "%*s", 2 * print->depth, "");
}

static void add_attribute(struct print *print, const char *name, const char *value)
{
	text_add(print->out, " %s=\"", name);
	xml_add_escaped(print->out, value);
	text_add(print->out, "\"");
}

/* Begins a tag: "<name attributes" without the attribute `skip`. */
static void begin(struct print *print, const struct sdf_element *element, const char *skip)
{
	indent(print);
	text_add(print->out, "<%s", element->name);
	for (uint32_t i = 0; i < element->attribute_count; i++)
		if (!skip || strcmp(element->attributes[i].name, skip))
			add_attribute(print, element->attributes[i].name, element->attributes[i].value);
}

static void open(struct print *print)
{
	text_add(print->out, ">\n");
	print->depth++;
}

static void close(struct print *print, const char *name)
{
	print->depth--;
	indent(print);
	text_add(print->out, "</%s>\n", name);
}

static void add_element(struct print *print, const struct sdf_element *element)
{
	const char *text = print->uri && xml_is(element, "uri") ? print->uri : element->text;
	begin(print, element, NULL);
	if (!element->child && !*text) {
		text_add(print->out, "/>\n");
		return;
	}
	text_add(print->out, ">");
	xml_add_escaped(print->out, text);
	if (element->child) {
		text_add(print->out, "\n");
		print->depth++;
		for (const struct sdf_element *child = element->child; child; child = child->next)
			add_element(print, child);
		print->depth--;
		indent(print);
	}
	text_add(print->out, "</%s>\n", element->name);
}

static void add_numbers(struct print *print, const double *values, int count)
{
	for (int i = 0; i < count; i++) {
		if (i)
			text_add(print->out, " ");
		text_add_double(print->out, values[i]);
	}
}

static void add_vec3(struct print *print, struct vec3 v)
{
	add_numbers(print, (double[]){v.x, v.y, v.z}, 3);
}

static bool is_identity(struct pose pose)
{
	return pose.p.x == 0 && pose.p.y == 0 && pose.p.z == 0 && pose.q.w == 1 && pose.q.x == 0 && pose.q.y == 0 &&
	       pose.q.z == 0;
}

/* relative_to NULL: the pose is relative to the default frame of the place. */
static void add_pose(struct print *print, struct pose pose, const char *relative_to)
{
	if (!relative_to && is_identity(pose))
		return;
	indent(print);
	text_add(print->out, "<pose");
	if (relative_to)
		add_attribute(print, "relative_to", relative_to);
	text_add(print->out, " rotation_format=\"quat_xyzw\">");
	add_numbers(print, (double[]){pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w}, 7);
	text_add(print->out, "</pose>\n");
}

/* A whole element, with its pose replaced. */
static void add_posed(struct print *print, const struct sdf_element *element, struct pose pose, const char *relative_to)
{
	begin(print, element, NULL);
	open(print);
	add_pose(print, pose, relative_to);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!xml_is(child, "pose"))
			add_element(print, child);
	close(print, element->name);
}

/* A file in another folder may have other relative names of meshes, so the <uri> is replaced. */
static void add_shaped(
	struct print *print, const struct sdf_element *element, struct pose pose, const struct sdf_shape *shape)
{
	bool elsewhere = shape->path && strcmp(element->file, print->sdf->path);
	print->uri = elsewhere ? shape->path : NULL;
	add_posed(print, element, pose, NULL);
	print->uri = NULL;
}

static void add_sensor(struct print *print, const struct sdf_element *element)
{
	const struct sdf_world *world = print->world;
	if (print->sensor < world->sensors.count && world->sensors.at[print->sensor].element == element)
		add_posed(print, element, world->sensors.at[print->sensor++].in_parent, NULL);
}

static void add_light(struct print *print, const struct sdf_element *element)
{
	const struct sdf_light *light = &print->world->lights.at[print->light++];
	struct pose pose = light->in_world;
	if (light->link != SDF_NONE)
		pose = pose_mul(pose_inverse(print->world->links.at[light->link].in_world), pose);
	add_posed(print, element, pose, NULL);
}

static void add_link(struct print *print, const struct sdf_element *element)
{
	const struct sdf_world *world = print->world;
	begin(print, element, NULL);
	open(print);
	add_pose(print, world->links.at[print->link++].in_model, NULL);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "pose"))
			continue;
		if (xml_is(child, "collision")) {
			const struct sdf_collision *collision = &world->collisions.at[print->collision++];
			add_shaped(print, child, collision->in_link, &collision->shape);
		} else if (xml_is(child, "visual")) {
			const struct sdf_visual *visual = &world->visuals.at[print->visual++];
			add_shaped(print, child, visual->in_link, &visual->shape);
		} else if (xml_is(child, "sensor")) {
			add_sensor(print, child);
		} else if (xml_is(child, "light")) {
			add_light(print, child);
		} else {
			add_element(print, child);
		}
	}
	close(print, element->name);
}

static void add_frame(struct print *print, const struct sdf_element *element)
{
	const struct sdf_frame *frame = &print->world->frames.at[print->frame++];
	add_posed(print, element, frame->in_model, frame->model == SDF_NONE ? "world" : "__model__");
}

static void add_xyz(struct print *print, const struct sdf_element *xyz, const struct sdf_axis *axis)
{
	indent(print);
	text_add(print->out, "<xyz");
	if (*axis->xyz_frame)
		add_attribute(print, "expressed_in", axis->xyz_frame);
	text_add(print->out, ">");
	xml_add_escaped(print->out, xyz->text);
	text_add(print->out, "</xyz>\n");
}

/* from_world and frame: of the model around it, where the direction is written when it cannot be as it stood. */
static void add_axis(struct print *print, const struct sdf_element *element, const struct sdf_axis *axis,
	struct quat from_world, const char *frame)
{
	const struct sdf_element *xyz = sdf_child(element, "xyz", NULL);
	begin(print, element, NULL);
	open(print);
	if (axis->xyz_frame && xyz && *xyz->text) {
		add_xyz(print, xyz, axis);
	} else {
		indent(print);
		text_add(print->out, "<xyz expressed_in=\"%s\">", frame);
		add_vec3(print, quat_rotate(from_world, axis->xyz_world));
		text_add(print->out, "</xyz>\n");
	}
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!xml_is(child, "xyz") && !xml_is(child, "use_parent_model_frame"))
			add_element(print, child);
	close(print, element->name);
}

static void add_end(struct print *print, const char *which, const char *name)
{
	indent(print);
	text_add(print->out, "<%s>", which);
	xml_add_escaped(print->out, name);
	text_add(print->out, "</%s>\n", which);
}

static void add_joint(struct print *print, const struct sdf_element *element)
{
	const struct sdf_world *world = print->world;
	if (print->joint >= world->joints.count || world->joints.at[print->joint].element != element)
		return; /* the joint was left out */
	const struct sdf_joint *joint = &world->joints.at[print->joint++];
	bool in_model = joint->model != SDF_NONE;
	struct pose from_world = in_model ? pose_inverse(world->models.at[joint->model].in_world) : POSE_IDENTITY;
	const char *frame = in_model ? "__model__" : "world";
	begin(print, element, NULL);
	open(print);
	struct pose raw = POSE_IDENTITY;
	if (joint->pose_frame && !sdf_child_pose(element, &raw, NULL))
		add_pose(print, raw, joint->pose_frame);
	else
		add_pose(print, pose_mul(from_world, joint->in_world), frame);
	add_end(print, "parent", joint->parent_name);
	add_end(print, "child", joint->child_name);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		if (xml_is(child, "pose") || xml_is(child, "parent") || xml_is(child, "child"))
			continue;
		if (xml_is(child, "axis"))
			add_axis(print, child, &joint->axis[0], from_world.q, frame);
		else if (xml_is(child, "axis2"))
			add_axis(print, child, &joint->axis[1], from_world.q, frame);
		else if (xml_is(child, "sensor"))
			add_sensor(print, child);
		else
			add_element(print, child);
	}
	close(print, element->name);
}

static void add_model(struct print *print)
{
	const struct sdf_model *model = &print->world->models.at[print->model++];
	begin(print, model->element, "placement_frame");
	open(print);
	add_pose(print, model->in_parent, NULL);
	for (const struct sdf_element *child = model->element->child; child; child = child->next) {
		if (xml_is(child, "pose") || xml_is(child, "model"))
			continue;
		if (xml_is(child, "link"))
			add_link(print, child);
		else if (xml_is(child, "joint"))
			add_joint(print, child);
		else if (xml_is(child, "frame"))
			add_frame(print, child);
		else
			add_element(print, child);
	}
	for (const struct sdf_element *child = model->element->child; child; child = child->next)
		if (xml_is(child, "model"))
			add_model(print);
	close(print, "model");
}

/* False: the element has no pose that the loader resolves. */
static bool add_placed(struct print *print, const struct sdf_element *element)
{
	if (xml_is(element, "model"))
		add_model(print);
	else if (xml_is(element, "light"))
		add_light(print, element);
	else if (xml_is(element, "actor"))
		add_posed(print, element, print->world->actors.at[print->actor++].in_world, NULL);
	else if (xml_is(element, "frame"))
		add_frame(print, element);
	else
		return false;
	return true;
}

static void add_world(struct print *print)
{
	const struct sdf_element *element = print->world->element;
	begin(print, element, NULL);
	open(print);
	indent(print);
	text_add(print->out, "<gravity>");
	add_vec3(print, print->world->gravity);
	text_add(print->out, "</gravity>\n");
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!add_placed(print, child) && !xml_is(child, "joint") && !xml_is(child, "gravity"))
			add_element(print, child);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (xml_is(child, "joint"))
			add_joint(print, child);
	close(print, element->name);
}

static const struct sdf_element *bare_element(const struct sdf_world *world)
{
	if (world->models.count)
		return world->models.at[0].element;
	return world->lights.count ? world->lights.at[0].element : world->actors.at[0].element;
}

/* Printed text needs version 1.9 at least. A file of a later version may have elements that need that version. But
 * names that only old versions allow need an old version; the loader then tolerates newer elements. */
static const char *version_to_print(const struct sdf *sdf)
{
	if (sdf->names_version <= 107)
		return sdf->names_version == 107 ? "1.7" : "1.6";
	static const char *const newer[] = {"1.10", "1.11", "1.12"};
	for (size_t i = 0; i < ARRAY_LEN(newer); i++)
		if (!strcmp(sdf->version, newer[i]))
			return newer[i];
	return "1.9";
}

void sdf_print(const struct sdf *sdf, struct text *out)
{
	struct print print = {.out = out, .sdf = sdf};
	text_add(out, "<?xml version=\"1.0\"?>\n<sdf version=\"%s\"", version_to_print(sdf));
	for (uint32_t i = 0; sdf->root && i < sdf->root->attribute_count; i++)
		if (strcmp(sdf->root->attributes[i].name, "version"))
			add_attribute(&print, sdf->root->attributes[i].name, sdf->root->attributes[i].value);
	open(&print);
	for (uint32_t i = 0; i < sdf->worlds.count; i++) {
		print = (struct print){.out = out, .sdf = sdf, .world = &sdf->worlds.at[i], .depth = 1};
		if (sdf->bare_model)
			add_placed(&print, bare_element(print.world));
		else
			add_world(&print);
	}
	print.depth = 1;
	close(&print, "sdf");
}
