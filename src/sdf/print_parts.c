/* An element without children and text is printed as one tag. */
#include "sdf/print_parts.h"

#include "sdf/xml.h"

#include <string.h>

void print_parts_indent(struct print *print)
{
	text_add(print->out, "%*s", 2 * print->depth, "");
}

void print_parts_attribute(struct print *print, const char *name, const char *value)
{
	text_add(print->out, " %s=\"", name);
	xml_add_attribute(print->out, value);
	text_add(print->out, "\"");
}

void print_parts_begin(struct print *print, const struct sdf_element *element, const char *skip)
{
	print_parts_indent(print);
	text_add(print->out, "<%s", element->name);
	for (uint32_t i = 0; i < element->attribute_count; i++)
		if (!skip || strcmp(element->attributes[i].name, skip))
			print_parts_attribute(print, element->attributes[i].name, element->attributes[i].value);
}

/* Libsdformat refuses an element without its type; here it has a default. */
void print_parts_begin_typed(struct print *print, const struct sdf_element *element, const char *type)
{
	print_parts_begin(print, element, NULL);
	if (!sdf_attribute(element, "type"))
		print_parts_attribute(print, "type", type);
}

void print_parts_open(struct print *print)
{
	text_add(print->out, ">\n");
	print->depth++;
}

void print_parts_close(struct print *print, const char *name)
{
	print->depth--;
	print_parts_indent(print);
	text_add(print->out, "</%s>\n", name);
}

void print_parts_element(struct print *print, const struct sdf_element *element)
{
	const char *text = print->uri && xml_is(element, "uri") ? print->uri : element->text;
	print_parts_begin(print, element, NULL);
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
			print_parts_element(print, child);
		print->depth--;
		print_parts_indent(print);
	}
	text_add(print->out, "</%s>\n", element->name);
}

/* Libsdformat refuses a <script> without its name or file. Here the name alone counts, and means Gazebo's materials. */
static void print_parts_script(struct print *print, const struct sdf_element *element)
{
	const char *name = sdf_child_text(element, "name"), *uri = sdf_child_text(element, "uri");
	if (!name || !*name)
		return;
	if (uri && *uri) {
		print_parts_element(print, element);
		return;
	}
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	print_parts_element(print, sdf_child(element, "name", NULL));
	print_parts_indent(print);
	text_add(print->out, "<uri>file://media/materials/scripts/gazebo.material</uri>\n");
	print_parts_close(print, element->name);
}

void print_parts_material(struct print *print, const struct sdf_element *element)
{
	print_parts_begin(print, element, NULL);
	print_parts_open(print);
	for (const struct sdf_element *child = element->child; child; child = child->next)
		if (xml_is(child, "script"))
			print_parts_script(print, child);
		else
			print_parts_element(print, child);
	print_parts_close(print, element->name);
}

static void print_parts_add_numbers(struct print *print, const double *values, int count)
{
	for (int i = 0; i < count; i++) {
		if (i)
			text_add(print->out, " ");
		text_add_double(print->out, values[i]);
	}
}

void print_parts_vec3(struct print *print, struct vec3 v)
{
	print_parts_add_numbers(print, (double[]){v.x, v.y, v.z}, 3);
}

static bool print_parts_is_identity(struct pose pose)
{
	return pose.p.x == 0 && pose.p.y == 0 && pose.p.z == 0 && pose.q.w == 1 && pose.q.x == 0 && pose.q.y == 0 &&
	       pose.q.z == 0;
}

void print_parts_pose(struct print *print, struct pose pose, const char *relative_to)
{
	if (!relative_to && print_parts_is_identity(pose))
		return;
	print_parts_indent(print);
	text_add(print->out, "<pose");
	if (relative_to)
		print_parts_attribute(print, "relative_to", relative_to);
	text_add(print->out, " rotation_format=\"quat_xyzw\">");
	print_parts_add_numbers(
		print, (double[]){pose.p.x, pose.p.y, pose.p.z, pose.q.x, pose.q.y, pose.q.z, pose.q.w}, 7);
	text_add(print->out, "</pose>\n");
}

void print_parts_number(struct print *print, const char *name, double value)
{
	print_parts_indent(print);
	text_add(print->out, "<%s>", name);
	text_add_double(print->out, value);
	text_add(print->out, "</%s>\n", name);
}

static void print_parts_add_colour(struct print *print, const char *name, const struct sdf_colour *colour)
{
	print_parts_indent(print);
	text_add(print->out, "<%s>", name);
	print_parts_add_numbers(print, (double[]){colour->r, colour->g, colour->b, colour->a}, 4);
	text_add(print->out, "</%s>\n", name);
}

static void print_parts_add_bool(struct print *print, const char *name, bool value)
{
	print_parts_indent(print);
	text_add(print->out, "<%s>%s</%s>\n", name, value ? "true" : "false", name);
}

static void print_parts_add_parts(
	struct print *print, const char *around, const char *const *names, const double *values, uint32_t count)
{
	print_parts_indent(print);
	text_add(print->out, "<%s>\n", around);
	print->depth++;
	for (uint32_t i = 0; i < count; i++)
		print_parts_number(print, names[i], values[i]);
	print_parts_close(print, around);
}

void print_parts_light(struct print *print, const char *name, struct pose pose, const struct sdf_shine *shine)
{
	static const char *const types[] = {
		[SDF_POINT_LIGHT] = "point", [SDF_DIRECTIONAL_LIGHT] = "directional", [SDF_SPOT_LIGHT] = "spot"};
	static const char *const fading[] = {"range", "constant", "linear", "quadratic"};
	static const char *const angles[] = {"inner_angle", "outer_angle", "falloff"};
	print_parts_indent(print);
	text_add(print->out, "<light");
	print_parts_attribute(print, "name", name);
	print_parts_attribute(print, "type", types[shine->kind]);
	print_parts_open(print);
	print_parts_pose(print, pose, NULL);
	print_parts_add_bool(print, "cast_shadows", shine->cast_shadows);
	print_parts_add_bool(print, "light_on", shine->on);
	print_parts_add_bool(print, "visualize", shine->visualize);
	print_parts_number(print, "intensity", shine->intensity);
	print_parts_add_colour(print, "diffuse", &shine->diffuse);
	print_parts_add_colour(print, "specular", &shine->specular);
	print_parts_add_parts(print, "attenuation", fading,
		(double[]){shine->range_m, shine->constant, shine->linear, shine->quadratic}, 4);
	print_parts_indent(print);
	text_add(print->out, "<direction>");
	print_parts_vec3(print, shine->direction);
	text_add(print->out, "</direction>\n");
	if (shine->kind == SDF_SPOT_LIGHT)
		print_parts_add_parts(
			print, "spot", angles, (double[]){shine->inner_rad, shine->outer_rad, shine->falloff}, 3);
	print_parts_close(print, "light");
}
