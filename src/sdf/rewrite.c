/* Both rewrites move elements from one scope to another. So both rename the references to the scope: the attributes
 * that name frames, and the texts of a joint's ends. Inside a nested model names have another scope; only the model's
 * own pose is renamed. */
#include "sdf/rewrite.h"
#include "sdf/xml.h"

#include <string.h>

struct rename {
	const char *prefix; /* removed, with the "::" after it; NULL: none */
	const char *self;   /* replaces "__model__"; NULL: no change */
};

/* The text after "prefix::"; NULL: text does not begin with it. */
static const char *rewrite_behind(const char *text, const char *prefix)
{
	size_t length = strlen(prefix);
	return !strncmp(text, prefix, length) && !strncmp(text + length, "::", 2) ? text + length + 2 : NULL;
}

static const char *rewrite_renamed(const struct rename *rename, const char *text)
{
	const char *rest = rename->prefix ? rewrite_behind(text, rename->prefix) : NULL;
	if (rest)
		return rest;
	return rename->self && !strcmp(text, "__model__") ? rename->self : text;
}

static const char *const rewrite_references[] = {
	"relative_to", "attached_to", "expressed_in", "gz:expressed_in", "ignition:expressed_in"};

static void rewrite_rename_attributes(struct load *load, const struct rename *rename, struct load_builder *builder)
{
	for (size_t i = 0; i < ARRAY_LEN(rewrite_references); i++) {
		const char *text = sdf_attribute(builder->element, rewrite_references[i]);
		const char *other = text ? rewrite_renamed(rename, text) : NULL;
		if (other != text)
			load_build_attribute(load, builder, rewrite_references[i], other);
	}
}

static bool rewrite_is_end(const struct sdf_element *element)
{
	return xml_is(element, "parent") || xml_is(element, "child");
}

/* Whether names in a child of the element have another scope. */
static bool rewrite_is_foreign(const struct sdf_element *element, const struct sdf_element *child)
{
	return xml_is(child, "plugin") || (xml_is(element, "model") && !xml_is(child, "pose"));
}

/* Whether the element or one inside it is renamed. */
static bool rewrite_renames(const struct rename *rename, const struct sdf_element *element)
{
	bool renames = rewrite_is_end(element) && rewrite_renamed(rename, element->text) != element->text;
	for (size_t i = 0; i < ARRAY_LEN(rewrite_references) && !renames; i++) {
		const char *text = sdf_attribute(element, rewrite_references[i]);
		renames = text && rewrite_renamed(rename, text) != text;
	}
	for (const struct sdf_element *child = element->child; child && !renames; child = child->next)
		renames = !rewrite_is_foreign(element, child) && rewrite_renames(rename, child);
	return renames;
}

/* What stays as it is is shared with the element, so that a thousand robots of one file do not take a thousand copies
 * of it. So no element is to be added to the result. */
static struct load_builder rewrite_copy_renamed(
	struct load *load, const struct rename *rename, const struct sdf_element *element)
{
	struct load_builder builder = load_build(load, element);
	if (!rewrite_renames(rename, element)) {
		builder.element->child = element->child;
		return builder;
	}
	rewrite_rename_attributes(load, rename, &builder);
	if (rewrite_is_end(element))
		builder.element->text = rewrite_renamed(rename, element->text);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		bool keep = rewrite_is_foreign(element, child) || !rewrite_renames(rename, child);
		load_build_add(load, &builder, keep ? child : rewrite_copy_renamed(load, rename, child).element);
	}
	return builder;
}

/* The name before "::__model__" if the frame stands for a model that was flattened directly into this one, or NULL. */
static const char *rewrite_flattened_name(struct load *load, const struct sdf_element *element)
{
	const char *name = xml_is(element, "frame") ? sdf_attribute(element, "name") : NULL;
	const char *colons = name ? strstr(name, "::") : NULL;
	if (!colons || strcmp(colons, "::__model__"))
		return NULL;
	return arena_printf(&load->sdf->arena, "%.*s", (int)(colons - name), name);
}

static bool rewrite_can_move(const struct sdf_element *element)
{
	return xml_is(element, "link") || xml_is(element, "joint") || xml_is(element, "frame") ||
	       xml_is(element, "model");
}

static bool rewrite_ends_in(const struct sdf_element *joint, const char *end, const char *model)
{
	const char *text = sdf_child_text(joint, end);
	return !text || !strcmp(text, "world") || rewrite_behind(text, model);
}

/* The name of an element inside the flattened model, or NULL: not part of it. A joint to an element outside stays
 * outside. */
static const char *rewrite_name_within(const struct sdf_element *element, const char *model)
{
	const char *own = rewrite_can_move(element) ? sdf_attribute(element, "name") : NULL;
	if (!own || (xml_is(element, "joint") &&
			    !(rewrite_ends_in(element, "parent", model) && rewrite_ends_in(element, "child", model))))
		return NULL;
	return rewrite_behind(own, model);
}

/* Restores the model that was flattened as `name`, from the elements whose names begin with "name::". */
static const struct sdf_element *rewrite_restore(
	struct load *load, const struct sdf_element *parent, const struct sdf_element *frame, const char *name)
{
	const struct rename rename = {.prefix = name};
	const struct sdf_element *pose = sdf_child(frame, "pose", NULL);
	const char *attached_to = sdf_attribute(frame, "attached_to");
	struct load_builder model = load_build(load, frame);
	model.element->name = "model";
	model.element->attributes = NULL;
	model.element->attribute_count = 0;
	load_build_attribute(load, &model, "name", name);
	if (attached_to && rewrite_behind(attached_to, name))
		load_build_attribute(load, &model, "canonical_link", rewrite_behind(attached_to, name));
	if (pose)
		load_build_add(load, &model, pose);
	for (const struct sdf_element *child = parent->child; child; child = child->next) {
		const char *rest = rewrite_name_within(child, name);
		if (!rest || !strcmp(rest, "__model__"))
			continue;
		struct load_builder moved = rewrite_copy_renamed(load, &rename, child);
		load_build_attribute(load, &moved, "name", rest);
		load_build_add(load, &model, moved.element);
	}
	return model.element;
}

const struct sdf_element *rewrite_unflatten(struct load *load, const struct sdf_element *element)
{
	VEC(const char *) names = {0};
	if (load_version_of(load, element) < 108)
		for (const struct sdf_element *at = sdf_child(element, "frame", NULL); at;
			at = sdf_child(element, "frame", at)) {
			const char *name = rewrite_flattened_name(load, at);
			if (name && names.count < SDF_DEPTH_MAX)
				vec_push(&names, name);
		}
	if (!names.count)
		return element;
	struct load_builder builder = load_build(load, element);
	for (const struct sdf_element *child = element->child; child; child = child->next) {
		uint32_t i = 0;
		while (i < names.count && !rewrite_name_within(child, names.at[i]))
			i++;
		if (i == names.count)
			load_build_add(load, &builder, child);
		else if (xml_is(child, "frame") && !strcmp(rewrite_name_within(child, names.at[i]), "__model__"))
			load_build_add(load, &builder, rewrite_restore(load, element, child, names.at[i]));
	}
	vec_free(&names);
	return builder.element;
}

/* A copy of the element with its pose relative to the frame that it names, or else to `to`. The children behind a pose
 * that stands first, as most do, are shared: no element is to be added to the result. */
static struct load_builder rewrite_with_pose_relative_to(
	struct load *load, const struct sdf_element *element, const char *to)
{
	const struct sdf_element none = {.name = "pose", .text = "", .file = element->file, .line = element->line};
	const struct sdf_element *pose = sdf_child(element, "pose", NULL);
	const char *given = sdf_attribute(pose, "relative_to");
	struct load_builder builder = load_build(load, element), new_pose = load_build(load, pose ? pose : &none);
	if (!given || !*given)
		load_build_attribute(load, &new_pose, "relative_to", to);
	if ((!pose || pose == element->child) && !sdf_child(element, "pose", pose)) {
		load_build_end(load, &builder, new_pose.element, pose ? pose->next : element->child);
		return builder;
	}
	load_build_add(load, &builder, new_pose.element);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!xml_is(child, "pose"))
			load_build_add(load, &builder, child);
	return builder;
}

/* Adds the frame that replaces __model__ of the merged model, attached to the same link. */
static void rewrite_add_proxy(
	struct load *load, const struct sdf_element *model, const char *name, struct load_builder *parent)
{
	const struct sdf_element *body = sdf_child(model, "link", NULL), *pose = sdf_child(model, "pose", NULL);
	const char *canonical = sdf_attribute(model, "canonical_link");
	struct load_builder frame = load_build(load, model);
	body = body ? body : sdf_child(model, "model", NULL);
	if (!canonical || !*canonical)
		canonical = body ? sdf_attribute(body, "name") : NULL;
	frame.element->name = "frame";
	frame.element->attributes = NULL;
	frame.element->attribute_count = 0;
	load_build_attribute(load, &frame, "name", name);
	if (canonical && *canonical)
		load_build_attribute(load, &frame, "attached_to", canonical);
	if (pose)
		load_build_add(load, &frame, pose);
	frame = rewrite_with_pose_relative_to(
		load, frame.element, xml_is(parent->element, "world") ? "world" : "__model__");
	load_build_add(load, parent, frame.element);
}

static void rewrite_add_merged(
	struct load *load, const struct sdf_element *child, const char *proxy, struct load_builder *parent)
{
	static const char *const dropped[] = {"pose", "static", "self_collide", "allow_auto_disable", "enable_wind"};
	const struct rename rename = {.self = proxy};
	struct load_builder copy;
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if (xml_is(child, dropped[i]))
			return;
	if (xml_is(parent->element, "world") && (xml_is(child, "link") || xml_is(child, "gripper"))) {
		load_error(load, child,
			"<%s> of a model that is merged into the world: expected only models, joints, frames "
			"and plug-ins there",
			child->name);
		return;
	}
	if (!rewrite_can_move(child)) {
		load_build_add(load, parent, child);
		return;
	}
	copy = rewrite_copy_renamed(load, &rename, child);
	if (xml_is(child, "link") || xml_is(child, "model"))
		copy = rewrite_with_pose_relative_to(load, copy.element, proxy);
	else if (xml_is(child, "frame") && !sdf_attribute(child, "attached_to"))
		load_build_attribute(load, &copy, "attached_to", proxy);
	load_build_add(load, parent, copy.element);
}

/* Replaces a pose that places another frame of the model by a pose that places the model: after the merge there is no
 * model around the other frame. */
static const struct sdf_element *rewrite_without_placement(struct load *load, const struct sdf_element *model)
{
	const char *frame = load_reference(load, model, "placement_frame"), *relative_to;
	struct pose inside;
	if (!frame)
		return model;
	struct load_builder copy = load_build(load, model);
	load_build_attribute(load, &copy, "placement_frame", "");
	for (const struct sdf_element *child = model->child; child; child = child->next)
		if (!xml_is(child, "pose"))
			load_build_add(load, &copy, child);
	struct pose pose = load_pose(load, model, &relative_to);
	if (load_pose_inside(load, copy.element, frame, &inside))
		pose = pose_mul(pose, pose_inverse(inside));
	else
		load_error(load, model,
			"placement_frame \"%.80s\" of the merged model: expected the name of a link, joint, frame or "
			"model "
			"in it",
			frame);
	struct load_builder placed = {.element = load_build_pose(load, model, pose)};
	if (relative_to)
		load_build_attribute(load, &placed, "relative_to", relative_to);
	load_build_add(load, &copy, placed.element);
	return copy.element;
}

void rewrite_merge(struct load *load, const struct sdf_element *model, struct load_builder *parent)
{
	const char *name = sdf_attribute(model, "name");
	const char *proxy = arena_printf(&load->sdf->arena, "_merged__%s__model__", name ? name : "");
	model = rewrite_without_placement(load, model);
	rewrite_add_proxy(load, model, proxy, parent);
	for (const struct sdf_element *child = model->child; child; child = child->next)
		rewrite_add_merged(load, child, proxy, parent);
}
