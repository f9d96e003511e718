/* Reads shapes and surfaces, with the defaults of the specification. */
#include "base/parse.h"
#include "sdf/include.h"
#include "sdf/load.h"

#include <string.h>

static const struct {
	const char *name;
	enum sdf_shape_kind kind;
} geometry_shapes[] = {
	{"empty", SDF_EMPTY},
	{"box", SDF_BOX},
	{"sphere", SDF_SPHERE},
	{"cylinder", SDF_CYLINDER},
	{"capsule", SDF_CAPSULE},
	{"ellipsoid", SDF_ELLIPSOID},
	{"cone", SDF_CONE},
	{"plane", SDF_PLANE},
	{"mesh", SDF_MESH},
	{"heightmap", SDF_HEIGHTMAP},
	{"polyline", SDF_POLYLINE},
	{"image", SDF_IMAGE},
};

const char *sdf_shape_kind_text(enum sdf_shape_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(geometry_shapes); i++)
		if (geometry_shapes[i].kind == kind)
			return geometry_shapes[i].name;
	return "unknown";
}

/* The element of the shape in <geometry>: the first one of a known kind. */
static const struct sdf_element *geometry_find_shape(
	struct load *load, const struct sdf_element *geometry, enum sdf_shape_kind *ret_kind)
{
	*ret_kind = SDF_EMPTY;
	for (const struct sdf_element *child = geometry ? geometry->child : NULL; child; child = child->next) {
		for (size_t i = 0; i < ARRAY_LEN(geometry_shapes); i++)
			if (!strcmp(geometry_shapes[i].name, child->name)) {
				*ret_kind = geometry_shapes[i].kind;
				return child;
			}
		if (!strchr(child->name, ':'))
			load_warn_once(load, child->name, child, "<%.40s> is no known shape: it is taken as empty",
				child->name);
	}
	return NULL;
}

static void geometry_load_positive(
	struct load *load, const struct sdf_element *element, const char *name, double *value)
{
	double read = *value;
	load_double(load, element, name, 0, SDF_LENGTH_MAX, &read);
	if (read >= SDF_LENGTH_MIN)
		*value = read;
	else
		load_error(load, sdf_child(element, name, NULL), "<%s> of <%s> is %g: expected %g m or more", name,
			element->name, read, SDF_LENGTH_MIN);
}

static void geometry_load_positive3(
	struct load *load, const struct sdf_element *element, const char *name, struct vec3 *value)
{
	struct vec3 read = *value;
	load_vec3(load, element, name, 0, SDF_LENGTH_MAX, &read);
	if (read.x >= SDF_LENGTH_MIN && read.y >= SDF_LENGTH_MIN && read.z >= SDF_LENGTH_MIN)
		*value = read;
	else
		load_error(load, sdf_child(element, name, NULL), "<%s> of <%s> is %g %g %g: expected %g m or more",
			name, element->name, read.x, read.y, read.z, SDF_LENGTH_MIN);
}

static void geometry_load_plane(struct load *load, const struct sdf_element *element, struct sdf_shape *shape)
{
	shape->normal_raw = (struct vec3){0, 0, 1};
	load_vec3(load, element, "normal", -1e100, 1e100, &shape->normal_raw);
	if (!(vec3_length(shape->normal_raw) > 1e-100)) {
		load_error(load, sdf_child(element, "normal", NULL), "<normal> is 0 0 0: expected a direction");
		shape->normal_raw = (struct vec3){0, 0, 1};
	}
	shape->normal = vec3_unit(shape->normal_raw);
	shape->size = (struct vec3){1, 1, 0};
	const struct sdf_element *given = sdf_child(element, "size", NULL);
	double size[2] = {1, 1};
	if (given && *given->text &&
		!(parse_doubles(given->text, size, 2) == 2 && size[0] >= 0 && size[0] <= SDF_LENGTH_MAX &&
			size[1] >= 0 && size[1] <= SDF_LENGTH_MAX))
		load_error(load, given, "<size> of <plane> is \"%.80s\": expected two numbers from 0 to %g",
			given->text, SDF_LENGTH_MAX);
	else
		shape->size = (struct vec3){size[0], size[1], 0};
}

static void geometry_load_file_shape(
	struct load *load, const struct sdf_element *element, const char *size_name, struct sdf_shape *shape)
{
	const char *uri = sdf_child_text(element, "uri");
	shape->uri = uri && *uri ? uri : NULL;
	if (!shape->uri)
		load_warn(load, element, "<%s> has no uri: nothing is shown or hit there", element->name);
	else
		shape->path = include_find_file(load, element, uri);
	shape->size = (struct vec3){1, 1, 1};
	load_vec3(load, element, size_name, -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &shape->size);
}

struct sdf_shape load_shape(struct load *load, const struct sdf_element *geometry)
{
	struct sdf_shape shape = {.element = geometry, .radius = 1, .length = 1, .size = {1, 1, 1}};
	const struct sdf_element *element = geometry_find_shape(load, geometry, &shape.kind);
	switch (shape.kind) {
	case SDF_BOX:
		geometry_load_positive3(load, element, "size", &shape.size);
		break;
	case SDF_ELLIPSOID:
		geometry_load_positive3(load, element, "radii", &shape.size);
		break;
	case SDF_SPHERE:
		geometry_load_positive(load, element, "radius", &shape.radius);
		break;
	case SDF_CAPSULE:
		shape.radius = 0.5; /* default of this kind only */
		geometry_load_positive(load, element, "radius", &shape.radius);
		geometry_load_positive(load, element, "length", &shape.length);
		break;
	case SDF_CYLINDER:
	case SDF_CONE:
		geometry_load_positive(load, element, "radius", &shape.radius);
		geometry_load_positive(load, element, "length", &shape.length);
		break;
	case SDF_PLANE:
		geometry_load_plane(load, element, &shape);
		break;
	case SDF_MESH:
		geometry_load_file_shape(load, element, "scale", &shape);
		break;
	case SDF_HEIGHTMAP:
		geometry_load_file_shape(load, element, "size", &shape);
		break;
	case SDF_IMAGE:
		geometry_load_file_shape(load, element, "", &shape);
		break;
	case SDF_EMPTY:
	case SDF_POLYLINE:
		break;
	}
	return shape;
}

static void geometry_load_friction(struct load *load, const struct sdf_element *friction, struct sdf_surface *surface)
{
	const struct sdf_element *ode = sdf_child(friction, "ode", NULL), *bullet = sdf_child(friction, "bullet", NULL);
	if (ode) {
		load_double(load, ode, "mu", 0, INFINITY, &surface->mu);
		load_double(load, ode, "mu2", 0, INFINITY, &surface->mu2);
		load_vec3(load, ode, "fdir1", -1e100, 1e100, &surface->fdir1);
		load_double(load, ode, "slip1", 0, 1e12, &surface->slip1);
		load_double(load, ode, "slip2", 0, 1e12, &surface->slip2);
	} else if (bullet) {
		load_double(load, bullet, "friction", 0, INFINITY, &surface->mu);
		load_double(load, bullet, "friction2", 0, INFINITY, &surface->mu2);
		load_vec3(load, bullet, "fdir1", -1e100, 1e100, &surface->fdir1);
	}
	const struct sdf_element *torsional = sdf_child(friction, "torsional", NULL);
	load_double(load, bullet, "rolling_friction", 0, SDF_LENGTH_MAX, &surface->rolling);
	load_double(load, torsional, "coefficient", 0, 1e12, &surface->torsion);
	load_double(load, torsional, "patch_radius", 0, SDF_LENGTH_MAX, &surface->patch);
}

static void geometry_load_contact(struct load *load, const struct sdf_element *contact, struct sdf_surface *surface)
{
	const struct sdf_element *ode = sdf_child(contact, "ode", NULL);
	load_double(load, ode, "kp", 0, 1e30, &surface->kp);
	load_double(load, ode, "kd", 0, 1e30, &surface->kd);
	load_double(load, ode, "max_vel", -INFINITY, INFINITY, &surface->max_vel);
	load_double(load, ode, "min_depth", -SDF_LENGTH_MAX, SDF_LENGTH_MAX, &surface->min_depth);
	load_double(load, ode, "soft_cfm", 0, 1e12, &surface->soft_cfm);
	load_double(load, ode, "soft_erp", 0, 1e12, &surface->soft_erp);
	surface->soft_given = sdf_child(ode, "soft_cfm", NULL) || sdf_child(ode, "soft_erp", NULL);
	load_mask(load, contact, "collide_bitmask", &surface->collide_bitmask);
	surface->category_bitmask = surface->collide_bitmask; /* SDF: category_bitmask defaults to collide_bitmask */
	load_mask(load, contact, "category_bitmask", &surface->category_bitmask);
	load_bool(load, contact, "collide_without_contact", &surface->collide_without_contact);
}

struct sdf_surface sdf_surface_default(void)
{
	return (struct sdf_surface){.mu = 1,
		.torsion = 1,
		.mu2 = 1,
		.fdir1_link = SDF_NONE,
		.bounce_threshold = 100000,
		.kp = SDF_SURFACE_KP,
		.kd = 1,
		.max_vel = SDF_SURFACE_MAX_VEL,
		.soft_erp = 0.2,
		.collide_bitmask = 0xffff,
		.category_bitmask = 0xffff};
}

const struct sdf_surface *load_surface(struct load *load, const struct sdf_element *collision, uint32_t *max_contacts)
{
	const struct sdf_element *element = sdf_child(collision, "surface", NULL);
	const struct sdf_element *bounce = sdf_child(element, "bounce", NULL);
	struct sdf_surface surface = sdf_surface_default();
	load_uint(load, collision, "max_contacts", max_contacts);
	if (!element)
		return load_share(load, &surface, sizeof surface);
	geometry_load_friction(load, sdf_child(element, "friction", NULL), &surface);
	load_double(load, bounce, "restitution_coefficient", 0, 1e6, &surface.restitution);
	load_double(load, bounce, "threshold", 0, INFINITY, &surface.bounce_threshold);
	geometry_load_contact(load, sdf_child(element, "contact", NULL), &surface);
	return load_share(load, &surface, sizeof surface);
}
