/* Archimedes: a fluid pushes a body up by the weight of the fluid that the body
 * displaces, at the centre of the displaced volume. The volumes are those of
 * the collisions.
 *
 * <uniform_fluid_density>: the whole world is filled with one fluid.
 * <graded_buoyancy>: layers, each up to the height in z at which the next one
 * begins; a volume that reaches into several layers is cut at their surfaces.
 * Spheres and ellipsoids are cut exactly (volume and centre of a spherical
 * cap); the other shapes as polyhedra, with cylinders, cones and capsules as
 * prisms of many sides that have the exact volume. The volume of a polyhedron
 * below a plane is the sum of the signed tetrahedra from a point of the plane
 * to the parts of the triangles below it: the cut face adds nothing. Parameters
 * are those of Gazebo's Buoyancy. */
#include "builtin/parts.h"

#include <string.h>

enum { BUOYANCY_SIDES = 32, BUOYANCY_ROWS = 8 };

struct corners {
	struct troupe_vec3 *at;
	uint32_t count; /* three for each triangle, counter-clockwise seen from outside */
};

struct volume { /* of one collision, in the link's frame */
	double all;
	struct troupe_vec3 centre;
	double reach;         /* no point of it is farther from the centre */
	struct corners faces; /* none: an ellipsoid */
	double scale;         /* exact volume over that of the polyhedron */
	struct troupe_pose in_link;
	struct troupe_vec3 radii;
};

struct body {
	uint32_t link, count;
	struct volume *volumes;
};

struct layer {
	double above, density; /* m, kg/m3 */
};

struct buoyancy_config {
	double density;
	struct layer *layers; /* from below */
	uint32_t layer_count, body_count;
	struct body *bodies;
};

struct displaced {
	double volume;
	struct troupe_vec3 moment; /* volume times its centre */
};

static const struct troupe_parameter buoyancy_parameters[] = {
	BUILTIN_BETWEEN("uniform_fluid_density", 0, BUILTIN_NUMBER_MAX, "kg/m3, default 1000"),
	BUILTIN_PARTS("graded_buoyancy", "<default_density> and <density_change> "
					 "of <above_depth> and <density>"),
	BUILTIN_TEXT("enable", "a model or link (scoped name) that floats; default: all do"),
	BUILTIN_END,
};

/* --- shapes as polyhedra ---------------------------------------------------------------------------------------- */

static void buoyancy_add(struct corners *faces, struct troupe_vec3 a, struct troupe_vec3 b, struct troupe_vec3 c)
{
	faces->at[faces->count] = a;
	faces->at[faces->count + 1] = b;
	faces->at[faces->count + 2] = c;
	faces->count += 3;
}

static void buoyancy_add_box(struct corners *faces, struct troupe_vec3 h)
{
	const struct troupe_vec3 p[8] = {{-h.x, -h.y, -h.z}, {h.x, -h.y, -h.z}, {h.x, h.y, -h.z}, {-h.x, h.y, -h.z},
		{-h.x, -h.y, h.z}, {h.x, -h.y, h.z}, {h.x, h.y, h.z}, {-h.x, h.y, h.z}};
	static const int quads[6][4] = {
		{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {1, 2, 6, 5}, {2, 3, 7, 6}, {3, 0, 4, 7}};
	for (int i = 0; i < 6; i++) {
		const int *q = quads[i];
		buoyancy_add(faces, p[q[0]], p[q[1]], p[q[2]]);
		buoyancy_add(faces, p[q[0]], p[q[2]], p[q[3]]);
	}
}

/* One row of a body of revolution, from the ring of radius r0 at z0 up to that
 * of radius r1 at z1. */
static void buoyancy_add_row(
	const struct troupe_host *host, struct corners *faces, double r0, double z0, double r1, double z1)
{
	for (int i = 0; i < BUOYANCY_SIDES; i++) {
		double s0, c0, s1, c1;
		host->sincos(2 * M_PI / BUOYANCY_SIDES * i, &s0, &c0);
		host->sincos(2 * M_PI / BUOYANCY_SIDES * (i + 1), &s1, &c1);
		struct troupe_vec3 a = {r0 * c0, r0 * s0, z0}, b = {r0 * c1, r0 * s1, z0};
		struct troupe_vec3 c = {r1 * c1, r1 * s1, z1}, d = {r1 * c0, r1 * s0, z1};
		buoyancy_add(faces, a, b, c);
		buoyancy_add(faces, a, c, d);
	}
}

static void buoyancy_add_capsule(const struct troupe_host *host, struct corners *faces, double radius, double half)
{
	for (int i = -BUOYANCY_ROWS; i < BUOYANCY_ROWS; i++) {
		double s0, c0, s1, c1;
		host->sincos(M_PI_2 / BUOYANCY_ROWS * i, &s0, &c0);
		host->sincos(M_PI_2 / BUOYANCY_ROWS * (i + 1), &s1, &c1);
		buoyancy_add_row(host, faces, radius * c0, radius * s0 + (i < 0 ? -half : half), radius * c1,
			radius * s1 + (i < 0 ? -half : half));
	}
	buoyancy_add_row(host, faces, radius, -half, radius, half);
}

static void buoyancy_add_round(const struct troupe_host *host, struct corners *faces, const struct troupe_solid *solid)
{
	double radius = solid->size.x, half = solid->size.z;
	if (solid->kind == TROUPE_SOLID_CAPSULE) {
		buoyancy_add_capsule(host, faces, radius, half);
		return;
	}
	double top = solid->kind == TROUPE_SOLID_CONE ? 0 : radius;
	buoyancy_add_row(host, faces, 0, -half, radius, -half);
	buoyancy_add_row(host, faces, radius, -half, top, half);
	buoyancy_add_row(host, faces, top, half, 0, half);
}

static void buoyancy_make_faces(struct troupe_system *self, const struct troupe_solid *solid, struct corners *faces)
{
	const struct troupe_host *host = self->host;
	uint32_t rows = solid->kind == TROUPE_SOLID_CAPSULE ? 2 * BUOYANCY_ROWS + 1 : 3;
	faces->at = host->alloc(
		self, (solid->kind == TROUPE_SOLID_BOX ? 36 : rows * BUOYANCY_SIDES * 6) * sizeof *faces->at);
	if (solid->kind == TROUPE_SOLID_BOX)
		buoyancy_add_box(faces, solid->size);
	else
		buoyancy_add_round(host, faces, solid);
	for (uint32_t i = 0; i < faces->count; i++)
		faces->at[i] = troupe_pose_point(solid->in_link, faces->at[i]);
}

/* --- the volume below a plane: points p with normal . p <= offset
 * ------------------------------------------------- */

struct plane {
	struct troupe_vec3 normal; /* unit, in the link's frame */
	double offset;
};

static double buoyancy_above(const struct plane *plane, struct troupe_vec3 p)
{
	return troupe_vec3_dot(plane->normal, p) - plane->offset;
}

/* Adds the tetrahedron from the point o of the plane. */
static void buoyancy_add_part(
	struct displaced *sum, struct troupe_vec3 o, struct troupe_vec3 a, struct troupe_vec3 b, struct troupe_vec3 c)
{
	struct troupe_vec3 ab = troupe_vec3_cross(troupe_vec3_sub(b, o), troupe_vec3_sub(c, o));
	double volume = troupe_vec3_dot(troupe_vec3_sub(a, o), ab) / 6;
	struct troupe_vec3 centre =
		troupe_vec3_scale(troupe_vec3_add(troupe_vec3_add(o, a), troupe_vec3_add(b, c)), 0.25);
	sum->volume += volume;
	sum->moment = troupe_vec3_add(sum->moment, troupe_vec3_scale(centre, volume));
}

/* Adds the contribution of one triangle to the volume below the plane. */
static void buoyancy_add_triangle(
	struct displaced *sum, const struct plane *plane, struct troupe_vec3 o, const struct troupe_vec3 t[3])
{
	struct troupe_vec3 kept[4];
	int count = 0;
	for (int i = 0; i < 3; i++) {
		struct troupe_vec3 p = t[i], q = t[(i + 1) % 3];
		double from = buoyancy_above(plane, p), to = buoyancy_above(plane, q);
		if (from <= 0)
			kept[count++] = p;
		if ((from <= 0) != (to <= 0))
			kept[count++] =
				troupe_vec3_add(p, troupe_vec3_scale(troupe_vec3_sub(q, p), from / (from - to)));
	}
	for (int i = 2; i < count; i++)
		buoyancy_add_part(sum, o, kept[0], kept[i - 1], kept[i]);
}

static struct displaced buoyancy_of_faces(const struct volume *volume, const struct plane *plane)
{
	struct displaced sum = {0, {0, 0, 0}};
	struct troupe_vec3 o = troupe_vec3_scale(plane->normal, plane->offset);
	for (uint32_t i = 0; i + 2 < volume->faces.count; i += 3)
		buoyancy_add_triangle(&sum, plane, o, volume->faces.at + i);
	return (struct displaced){sum.volume * volume->scale, troupe_vec3_scale(sum.moment, volume->scale)};
}

/* Scaled to the unit sphere, the part is a cap of height h: volume pi h^2 (3 -
 * h) / 3, centre 3 (2 - h)^2 / (4 (3 - h)) from the sphere's. */
static struct displaced buoyancy_of_ellipsoid(const struct volume *volume, const struct plane *plane)
{
	struct troupe_vec3 r = volume->radii;
	struct troupe_quat q = troupe_pose_turn(volume->in_link);
	struct troupe_vec3 n = troupe_quat_rotate(troupe_quat_inverse(q), plane->normal);
	struct troupe_vec3 m = troupe_vec3_make(n.x * r.x, n.y * r.y, n.z * r.z);
	double h = builtin_clamp(1 - buoyancy_above(plane, volume->centre) / troupe_vec3_length(m), 0, 2);
	double part = M_PI * h * h * (3 - h) / 3 * r.x * r.y * r.z;
	struct troupe_vec3 at = troupe_vec3_scale(troupe_vec3_unit(m), -0.75 * (2 - h) * (2 - h) / (3 - h));
	struct troupe_vec3 centre =
		troupe_pose_point(volume->in_link, troupe_vec3_make(at.x * r.x, at.y * r.y, at.z * r.z));
	return (struct displaced){part, troupe_vec3_scale(centre, part)};
}

static struct displaced buoyancy_whole(const struct volume *volume)
{
	return (struct displaced){volume->all, troupe_vec3_scale(volume->centre, volume->all)};
}

static struct displaced buoyancy_below(const struct volume *volume, const struct plane *plane)
{
	double height = buoyancy_above(plane, volume->centre);
	if (height >= volume->reach)
		return (struct displaced){0, {0, 0, 0}};
	if (height <= -volume->reach)
		return buoyancy_whole(volume);
	return volume->faces.count ? buoyancy_of_faces(volume, plane) : buoyancy_of_ellipsoid(volume, plane);
}

/* --- setup ------------------------------------------------------------------------------------------------------ */

static double buoyancy_reach_of(const struct volume *volume)
{
	double reach = fmax(volume->radii.x, fmax(volume->radii.y, volume->radii.z));
	for (uint32_t i = 0; i < volume->faces.count; i++)
		reach = fmax(reach, troupe_vec3_length(troupe_vec3_sub(volume->faces.at[i], volume->centre)));
	return reach;
}

static double buoyancy_enclosed(const struct corners *faces)
{
	struct displaced sum = {0, {0, 0, 0}};
	for (uint32_t i = 0; i + 2 < faces->count; i += 3)
		buoyancy_add_part(&sum, faces->at[0], faces->at[i], faces->at[i + 1], faces->at[i + 2]);
	return sum.volume;
}

static void buoyancy_measure(struct troupe_system *self, uint32_t link, uint32_t index, struct volume *ret_volume)
{
	struct troupe_solid solid = self->host->link_solid(self, link, index);
	struct volume volume = {.all = solid.volume, .centre = solid.centre, .in_link = solid.in_link, .scale = 1};
	bool is_sphere = solid.kind == TROUPE_SOLID_SPHERE;
	if (is_sphere || solid.kind == TROUPE_SOLID_ELLIPSOID)
		volume.radii = is_sphere ? troupe_vec3_make(solid.size.x, solid.size.x, solid.size.x) : solid.size;
	else if (solid.kind == TROUPE_SOLID_CONVEX || solid.kind == TROUPE_SOLID_MESH)
		volume.faces.at = self->host->link_triangles(self, link, index, &volume.faces.count);
	else
		buoyancy_make_faces(self, &solid, &volume.faces);
	volume.reach = buoyancy_reach_of(&volume);
	if (volume.faces.count)
		volume.scale = solid.volume / buoyancy_enclosed(&volume.faces);
	*ret_volume = volume;
}

/* The collisions of a link that have a volume. */
static bool buoyancy_measure_link(struct troupe_system *self, uint32_t link, struct body *ret_body)
{
	const struct troupe_host *host = self->host;
	uint32_t count = host->link_solids(self, link), n = 0;
	struct volume *volumes = host->alloc(self, (count + 1) * sizeof *volumes);
	for (uint32_t i = 0; i < count; i++)
		if (host->link_solid(self, link, i).volume > 0)
			buoyancy_measure(self, link, i, &volumes[n++]);
	*ret_body = (struct body){link, n, volumes};
	return n;
}

/* Whether the name is that of the link or of a model that it is in. */
static bool buoyancy_names(const char *name, const char *link)
{
	size_t length = strlen(name);
	return length && !strncmp(name, link, length) && (!link[length] || !strncmp(link + length, "::", 2));
}

static bool buoyancy_is_enabled(struct troupe_system *self, const struct troupe_element *plugin, uint32_t link)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e = host->child(plugin, "enable", NULL);
	const char *full = host->print(self, "%s::%s", host->owner_name(self), host->link_name(self, link));
	bool enabled = !e;
	for (; e && !enabled; e = host->child(plugin, "enable", e))
		enabled = buoyancy_names(host->text_of(e), full);
	return enabled;
}

static void buoyancy_insert(struct buoyancy_config *config, struct layer layer)
{
	uint32_t i = config->layer_count++;
	for (; i && config->layers[i - 1].above > layer.above; i--)
		config->layers[i] = config->layers[i - 1];
	config->layers[i] = layer;
}

static bool buoyancy_check_density(struct troupe_system *self, const struct troupe_element *at, double density)
{
	return (density >= 0 && density <= BUILTIN_NUMBER_MAX) ||
	       self->host->refuse(self, at, "the density is %g: expected 0 to %g kg/m3", density, BUILTIN_NUMBER_MAX);
}

static bool buoyancy_read_layers(
	struct troupe_system *self, const struct troupe_element *graded, struct buoyancy_config *config)
{
	const struct troupe_host *host = self->host;
	const struct troupe_element *e = NULL;
	uint32_t count = 0;
	while ((e = host->child(graded, "density_change", e)))
		count++;
	config->layers = host->alloc(self, (count + 1) * sizeof *config->layers);
	config->density = host->number(self, graded, "default_density", 1000);
	if (!buoyancy_check_density(self, graded, config->density))
		return false;
	while ((e = host->child(graded, "density_change", e))) {
		struct layer layer = {host->number(self, e, "above_depth", 0), host->number(self, e, "density", 0)};
		if (!host->child(e, "above_depth", NULL) || !host->child(e, "density", NULL))
			return host->refuse(self, e, "<density_change> expects <above_depth> and <density>");
		if (!buoyancy_check_density(self, e, layer.density))
			return false;
		buoyancy_insert(config, layer);
	}
	return true;
}

static bool buoyancy_configure(struct troupe_system *self, const struct troupe_element *plugin)
{
	const struct troupe_host *host = self->host;
	struct buoyancy_config *config = self->config = host->alloc(self, sizeof *config);
	const struct troupe_element *graded = host->child(plugin, "graded_buoyancy", NULL);
	uint32_t count, first = host->links(self, &count);
	config->density = host->number(self, plugin, "uniform_fluid_density", 1000);
	config->bodies = host->alloc(self, (count + 1) * sizeof *config->bodies);
	if (graded && !host->child(plugin, "uniform_fluid_density", NULL) &&
		!buoyancy_read_layers(self, graded, config))
		return false;
	for (uint32_t link = first; link < first + count; link++)
		if (buoyancy_is_enabled(self, plugin, link) &&
			buoyancy_measure_link(self, link, &config->bodies[config->body_count]))
			config->body_count++;
	return config->body_count || host->pass(self);
}

/* --- the step --------------------------------------------------------------------------------------------------- */

/* Adds density times what lies between two surfaces. */
static void buoyancy_add_layer(struct displaced *sum, double density, struct displaced upper, struct displaced lower)
{
	struct troupe_vec3 moment = troupe_vec3_sub(upper.moment, lower.moment);
	sum->volume += density * (upper.volume - lower.volume);
	sum->moment = troupe_vec3_add(sum->moment, troupe_vec3_scale(moment, density));
}

/* The mass of the fluid that the collision displaces, in kg and kg m. */
static void buoyancy_add_volume(const struct buoyancy_config *config, const struct volume *volume,
	struct troupe_pose link, struct displaced *sum)
{
	struct troupe_quat back = troupe_quat_inverse(troupe_pose_turn(link));
	struct plane plane = {troupe_quat_rotate(back, troupe_vec3_make(0, 0, 1)), 0};
	struct displaced lower = {0, {0, 0, 0}};
	double density = config->density;
	for (uint32_t i = 0; i < config->layer_count; i++) {
		plane.offset = config->layers[i].above - link.z;
		struct displaced upper = buoyancy_below(volume, &plane);
		buoyancy_add_layer(sum, density, upper, lower);
		lower = upper;
		density = config->layers[i].density;
	}
	buoyancy_add_layer(sum, density, buoyancy_whole(volume), lower);
}

static void buoyancy_pre_update(const struct troupe_system *self, const struct troupe_step *step, void *words)
{
	const struct troupe_host *host = self->host;
	const struct buoyancy_config *config = self->config;
	struct troupe_vec3 gravity = host->gravity(self);
	(void)words;
	for (uint32_t b = 0; b < config->body_count; b++) {
		const struct body *body = &config->bodies[b];
		struct troupe_pose pose = host->link_pose(step, body->link, TROUPE_NOW);
		struct displaced sum = {0, {0, 0, 0}};
		for (uint32_t v = 0; v < body->count; v++)
			buoyancy_add_volume(config, &body->volumes[v], pose, &sum);
		if (sum.volume > 0)
			host->link_force(step, body->link, troupe_vec3_scale(sum.moment, 1 / sum.volume),
				(struct troupe_wrench){troupe_vec3_scale(gravity, -sum.volume), {0, 0, 0}});
	}
}

const struct troupe_kind builtin_buoyancy = {
	.size = sizeof(struct troupe_kind),
	.flags = TROUPE_FOR_EACH_MODEL | TROUPE_LENIENT,
	.names = BUILTIN_NAMES("Buoyancy"),
	.parameters = buoyancy_parameters,
	.configure = buoyancy_configure,
	.pre_update = buoyancy_pre_update,
};
