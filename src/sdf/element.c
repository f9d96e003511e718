/* Reads values from elements. Systems use this part of sdf.h to read the elements that the loader keeps for them. A
 * missing or empty child leaves the value unchanged, so that the caller's default stays. */
#include "base/parse.h"
#include "sdf/sdf.h"

#include <string.h>

const struct sdf_element *sdf_child(const struct sdf_element *parent, const char *name, const struct sdf_element *after)
{
	const struct sdf_element *child = after ? after->next : parent ? parent->child : NULL;
	while (child && strcmp(child->name, name))
		child = child->next;
	return child;
}

const char *sdf_attribute(const struct sdf_element *element, const char *name)
{
	for (uint32_t i = 0; element && i < element->attribute_count; i++)
		if (!strcmp(element->attributes[i].name, name))
			return element->attributes[i].value;
	return NULL;
}

const char *sdf_child_text(const struct sdf_element *parent, const char *name)
{
	const struct sdf_element *child = sdf_child(parent, name, NULL);
	return child ? child->text : NULL;
}

static troupe_status element_refuse(const struct sdf_element *element, struct troupe_error *error, const char *expected)
{
	return fail(error, TROUPE_EWORLD, "%s:%u: <%s> is \"%.80s\": expected %s", element->file, element->line,
		element->name, element->text, expected);
}

static troupe_status element_refuse_range(
	const struct sdf_element *element, double lo, double hi, struct troupe_error *error)
{
	if (isinf(lo) && isinf(hi))
		return element_refuse(element, error, "numbers");
	struct text expected = {0};
	text_add(&expected, "from %g to %g", lo, hi);
	troupe_status status = element_refuse(element, error, expected.at);
	text_fini(&expected);
	return status;
}

/* The child, if it exists and is not empty: an empty element stands for its default. */
static const struct sdf_element *element_said(const struct sdf_element *parent, const char *name)
{
	const struct sdf_element *child = sdf_child(parent, name, NULL);
	return child && *child->text ? child : NULL;
}

static bool element_within(double value, double lo, double hi)
{
	return value >= lo && value <= hi; /* false for nan */
}

troupe_status sdf_child_double(const struct sdf_element *parent, const char *name, double lo, double hi, double *value,
	struct troupe_error *error)
{
	const struct sdf_element *child = element_said(parent, name);
	double read;
	if (!child)
		return TROUPE_OK;
	if (!parse_double(child->text, &read))
		return element_refuse(child, error, "one number");
	if (!element_within(read, lo, hi))
		return element_refuse_range(child, lo, hi, error);
	*value = read;
	return TROUPE_OK;
}

troupe_status sdf_child_bool(
	const struct sdf_element *parent, const char *name, bool *value, struct troupe_error *error)
{
	const struct sdf_element *child = element_said(parent, name);
	if (child && !parse_bool(child->text, value))
		return element_refuse(child, error, "true or false");
	return TROUPE_OK;
}

troupe_status sdf_child_vec3(const struct sdf_element *parent, const char *name, double lo, double hi,
	struct vec3 *value, struct troupe_error *error)
{
	const struct sdf_element *child = element_said(parent, name);
	double read[8];
	if (!child)
		return TROUPE_OK;
	/* Gazebo ignores numbers after the third */
	if (parse_doubles(child->text, read, ARRAY_LEN(read)) < 3)
		return element_refuse(child, error, "three numbers");
	for (int i = 0; i < 3; i++)
		if (!element_within(read[i], lo, hi))
			return element_refuse_range(child, lo, hi, error);
	*value = vec3_from(read);
	return TROUPE_OK;
}

static bool element_attribute_bool(const struct sdf_element *element, const char *name)
{
	const char *text = sdf_attribute(element, name);
	bool value = false;
	return text && parse_bool(text, &value) && value;
}

static troupe_status element_pose_of(const struct sdf_element *element, struct pose *value, struct troupe_error *error)
{
	const char *format = sdf_attribute(element, "rotation_format");
	bool quaternion = format && !strcmp(format, "quat_xyzw");
	bool degrees = element_attribute_bool(element, "degrees");
	int want = quaternion ? 7 : 6;
	double read[7];
	if (format && *format && !quaternion && strcmp(format, "euler_rpy"))
		return fail(error, TROUPE_EWORLD,
			"%s:%u: rotation_format is \"%.40s\": expected euler_rpy or quat_xyzw", element->file,
			element->line, format);
	if (quaternion && degrees)
		return fail(error, TROUPE_EWORLD,
			"%s:%u: a quaternion in degrees: expected degrees=\"false\" with quat_xyzw", element->file,
			element->line);
	if (parse_doubles(element->text, read, 7) != want)
		return element_refuse(element, error,
			quaternion ? "seven numbers: x y z and a quaternion x y z w"
				   : "six numbers: x y z roll pitch yaw");
	for (int i = 0; i < want; i++)
		if (!element_within(read[i], -SDF_LENGTH_MAX, SDF_LENGTH_MAX))
			return element_refuse_range(element, -SDF_LENGTH_MAX, SDF_LENGTH_MAX, error);
	value->p = vec3_from(read);
	if (quaternion) {
		struct quat q = {read[6], read[3], read[4], read[5]};
		double square = q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z;
		if (!(square > 1e-12))
			return element_refuse(element, error, "a quaternion that is not zero");
		/* products of rotations are not exactly unit either; a printed quaternion must keep its bits */
		value->q = fabs(square - 1) < 1e-12 ? q : quat_unit(q);
		return TROUPE_OK;
	}
	double unit = degrees ? M_PI / 180 : 1;
	value->q = quat_from_rpy(read[3] * unit, read[4] * unit, read[5] * unit);
	return TROUPE_OK;
}

troupe_status sdf_child_pose(const struct sdf_element *parent, struct pose *value, struct troupe_error *error)
{
	const struct sdf_element *child = element_said(parent, "pose");
	return child ? element_pose_of(child, value, error) : TROUPE_OK;
}
