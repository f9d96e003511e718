/* Gazebo's create service accepts nearly any text with one entity in it: <sdf> around a model, a model alone, a world
 * around a model. The entity is found, and edited as an <include> edits it. So a spawned model means the same as the
 * model included with that name and pose. */
#include "sdf/bare.h"

#include "sdf/include.h"
#include "sdf/xml.h"

#include <string.h>

bool bare_wanted(const struct load *load)
{
	return load->options->bare || load->options->bare_name || load->options->bare_pose;
}

bool bare_is_entity(const struct sdf_element *element)
{
	return xml_is(element, "model") || xml_is(element, "light") || xml_is(element, "actor");
}

const struct sdf_element *bare_wrap(struct load *load, const struct sdf_element *root)
{
	if (!bare_is_entity(root))
		return NULL;
	struct load_builder builder = load_build(load, root);
	builder.element->name = "sdf";
	builder.element->text = "";
	builder.element->attributes = NULL;
	builder.element->attribute_count = 0;
	load_build_attribute(load, &builder, "version", "1.12");
	load_build_add(load, &builder, root);
	load_warn(load, root, "<%s> without <sdf> around it is read as SDF 1.12", root->name);
	return builder.element;
}

/* Counts the entities directly in element; *ret_first is the first of them. */
static uint32_t bare_count_entities(
	const struct sdf_element *element, bool models_only, const struct sdf_element **ret_first)
{
	uint32_t count = 0;
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (models_only ? xml_is(child, "model") : bare_is_entity(child))
			if (!count++)
				*ret_first = child;
	return count;
}

/* The only model of a world. The other elements of the world are ignored: the running world has its own. */
static const struct sdf_element *bare_from_world(struct load *load, const struct sdf_element *world)
{
	const struct sdf_element *found = NULL;
	if (sdf_child(load->sdf->root, "world", world)) {
		load_error(load, world, "several worlds: expected one model, light or actor");
		return NULL;
	}
	world = include_expand(load, world);
	uint32_t count = bare_count_entities(world, true, &found);
	if (count != 1) {
		load_error(load, world, "a <world> with %u models: expected exactly one", count);
		return NULL;
	}
	load_warn(load, world, "of <world> only the model \"%.80s\" is used",
		sdf_attribute(found, "name") ? sdf_attribute(found, "name") : "");
	return found;
}

static bool bare_good_name(struct load *load, const struct sdf_element *element, const char *name)
{
	if (*name && !strstr(name, "::") && strcmp(name, "world") && strncmp(name, "__", 2))
		return true;
	load_error(load, element,
		"the name \"%.80s\" for <%s>: expected one that is not empty, not \"world\", and has neither \"::\" "
		"nor "
		"\"__\" in front",
		name, element->name);
	return false;
}

static const struct sdf_element *bare_edited(struct load *load, const struct sdf_element *element)
{
	const char *name = load->options->bare_name;
	const struct pose *pose = load->options->bare_pose;
	struct load_builder builder = load_build(load, element);
	if (name && !bare_good_name(load, element, name))
		return NULL;
	if (name)
		load_build_attribute(load, &builder, "name", arena_strdup(&load->sdf->arena, name));
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (!(pose && xml_is(child, "pose")))
			load_build_add(load, &builder, child);
	if (pose)
		load_build_add(load, &builder, load_build_pose(load, element, *pose));
	return builder.element;
}

const struct sdf_element *bare_choose(struct load *load, const struct sdf_element *root)
{
	const struct sdf_element *found = NULL, *world = sdf_child(root, "world", NULL);
	uint32_t count = bare_count_entities(root, false, &found);
	if (count > 1) {
		load_error(load, root, "<sdf> holds %u models, lights and actors: expected exactly one", count);
		return NULL;
	}
	if (!count && world)
		found = bare_from_world(load, world);
	else if (!count)
		load_error(load, root, "<sdf> holds no model, light or actor: expected exactly one");
	return found ? bare_edited(load, found) : NULL;
}
