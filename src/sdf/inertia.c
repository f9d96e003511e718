/* Mass properties: those in the file or, for a link that asks for it (auto="true", SDF 1.11), computed from its
 * collisions. */
#include "base/math.h"
#include "base/parse.h"
#include "mesh/hull.h"
#include "sdf/load.h"

#include <string.h>

/* --- inertias that cannot be simulated -----------------------------------------------------------------------------
 */

/* Libsdformat accepts each mass from 0 and each inertia without a negative principal moment whose largest moment is not
 * above the sum of the other two; files of robots have links of mass 0 (helpers between two joints) and inertias of 0
 * that nobody filled in. The step divides by both, so values that are 0, or next to it, are replaced. */
#define INERTIA_LEAST_KG_M2 1e-24 /* an inertia whose inverse is too large to use is as bad as 0 */
#define INERTIA_MASS_KG 1e-6      /* in place of a mass below SDF_MASS_MIN */
#define INERTIA_THIN 1e-3         /* a moment of 0 beside other moments: this part of the largest */
#define INERTIA_WATER_KG_M3 1000.0

static double inertia_at(struct vec3 v, int i)
{
	return i == 0 ? v.x : i == 1 ? v.y : v.z;
}

static struct vec3 inertia_principal(const struct sdf_inertial *in, struct mat3 *ret_axes)
{
	struct vec3 moments;
	struct mat3 matrix = {{{in->ixx, in->ixy, in->ixz}, {in->ixy, in->iyy, in->iyz}, {in->ixz, in->iyz, in->izz}}};
	mat3_principal(matrix, &moments, ret_axes);
	return moments;
}

/* Whether a body, or the limit of bodies, can have these principal moments. */
static bool inertia_is_physical(struct vec3 p)
{
	double sum = p.x + p.y + p.z, slack = 1e-6 * sum, most = MAX(p.x, MAX(p.y, p.z));
	double least = MIN(p.x, MIN(p.y, p.z));
	return sum >= 0 && least >= -1e-12 * sum && most <= sum - most + slack;
}

static bool inertia_is_usable(struct vec3 p)
{
	double most = MAX(p.x, MAX(p.y, p.z)), least = MIN(p.x, MIN(p.y, p.z));
	return least > INERTIA_LEAST_KG_M2 && least > 1e-15 * most;
}

/* The moment of a ball of water. */
static double inertia_of_ball(double mass)
{
	double r = math_exp(math_log(3 * mass / (4 * M_PI * INERTIA_WATER_KG_M3)) / 3);
	return 0.4 * mass * r * r;
}

static void inertia_replace_moments(struct sdf_inertial *in, struct vec3 p, const struct mat3 *axes)
{
	double most = MAX(p.x, MAX(p.y, p.z)), ball = inertia_of_ball(in->mass), sum[3][3] = {{0}};
	double least = most > INERTIA_LEAST_KG_M2 ? MAX(INERTIA_THIN * most, 2 * INERTIA_LEAST_KG_M2) : ball;
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			for (int k = 0; k < 3; k++)
				sum[i][j] += axes->m[i][k] * MAX(inertia_at(p, k), least) * axes->m[j][k];
	in->ixx = sum[0][0], in->iyy = sum[1][1], in->izz = sum[2][2];
	in->ixy = sum[0][1], in->ixz = sum[0][2], in->iyz = sum[1][2];
}

/* Replaces what cannot be simulated, with a warning that names the new value. False: no body has such values. */
static bool inertia_mend(struct load *load, const struct sdf_element *link, struct sdf_inertial *in)
{
	const struct sdf_element *element = sdf_child(link, "inertial", NULL);
	const struct sdf_element *mass = sdf_child(element, "mass", NULL),
				 *matrix = sdf_child(element, "inertia", NULL);
	const char *name = sdf_attribute(link, "name");
	struct mat3 axes;
	struct vec3 p = inertia_principal(in, &axes);
	if (!(in->mass >= 0) || !inertia_is_physical(p))
		return false;
	if (in->mass < SDF_MASS_MIN) {
		load_warn(load, mass ? mass : element,
			"<mass> of link \"%.80s\" is %g kg, too little for a simulation: %g kg is used: expected %g kg "
			"or "
			"more",
			name ? name : "", in->mass, INERTIA_MASS_KG, SDF_MASS_MIN);
		in->mass = INERTIA_MASS_KG;
		in->replaced = true;
	}
	if (!inertia_is_usable(p)) {
		inertia_replace_moments(in, p, &axes);
		load_warn(load, matrix ? matrix : element,
			"<inertia> of link \"%.80s\" has the principal moments %g %g %g, too little for a simulation: "
			"ixx %g, iyy %g, izz %g kg m2 are used: expected moments above 0",
			name ? name : "", p.x, p.y, p.z, in->ixx, in->iyy, in->izz);
		in->replaced = true;
	}
	return true;
}

/* --- added mass --------------------------------------------------------------------------------------------------- */

static const char *const inertia_added_names[] = {"xx", "xy", "xz", "xp", "xq", "xr", "yy", "yz", "yp", "yq", "yr",
	"zz", "zp", "zq", "zr", "pp", "pq", "pr", "qq", "qr", "rr"};

static const struct mat6 *inertia_load_added(struct load *load, const struct sdf_element *inertial)
{
	const struct sdf_element *element = sdf_child(inertial, "fluid_added_mass", NULL);
	if (!element)
		return NULL;
	struct mat6 *added = arena_new(&load->sdf->arena, struct mat6);
	for (int i = 0, at = 0; i < 6; i++)
		for (int k = i; k < 6; k++) {
			double most = k < 3 ? SDF_MASS_MAX : 1e48;
			load_double(load, element, inertia_added_names[at++], -most, most, &added->m[i][k]);
			added->m[k][i] = added->m[i][k];
		}
	return added;
}

/* The mass and inertia of the link alone, without the fluid, as a matrix at its centre of mass, in its axes. */
static struct mat6 inertia_own_matrix(const struct sdf_inertial *in)
{
	struct mat6 own = {{{in->mass}, {0, in->mass}, {0, 0, in->mass}, {0, 0, 0, in->ixx, in->ixy, in->ixz},
		{0, 0, 0, in->ixy, in->iyy, in->iyz}, {0, 0, 0, in->ixz, in->iyz, in->izz}}};
	return mat6_moved(&own, (struct pose){{0, 0, 0}, quat_unit(in->in_link.q)});
}

/* A link with another matrix would run away from a force. */
static void inertia_check_added(struct load *load, const struct sdf_element *inertial, const struct sdf_inertial *in)
{
	if (!in->added)
		return;
	struct mat6 whole = inertia_own_matrix(in), inverse;
	mat6_add(&whole, in->added, 1);
	if (!mat6_invert(&whole, &inverse))
		load_error(load, sdf_child(inertial, "fluid_added_mass", NULL),
			"<fluid_added_mass> with the mass and inertia of its link is not positive definite: expected "
			"the added mass of a body in a fluid");
}

static bool inertia_is_automatic(const struct sdf_element *inertial)
{
	const char *text = sdf_attribute(inertial, "auto");
	bool value = false;
	return text && parse_bool(text, &value) && value;
}

static void inertia_load(struct load *load, const struct sdf_element *link, bool is_static, struct sdf_inertial *out)
{
	const struct sdf_element *element = sdf_child(link, "inertial", NULL);
	const struct sdf_element *matrix = sdf_child(element, "inertia", NULL);
	if (!element)
		return;
	out->automatic = inertia_is_automatic(element);
	out->in_link = load_pose(load, element, NULL);
	load_double(load, element, "mass", -SDF_MASS_MAX, SDF_MASS_MAX, &out->mass);
	load_double(load, matrix, "ixx", -1e48, 1e48, &out->ixx);
	load_double(load, matrix, "iyy", -1e48, 1e48, &out->iyy);
	load_double(load, matrix, "izz", -1e48, 1e48, &out->izz);
	load_double(load, matrix, "ixy", -1e48, 1e48, &out->ixy);
	load_double(load, matrix, "ixz", -1e48, 1e48, &out->ixz);
	load_double(load, matrix, "iyz", -1e48, 1e48, &out->iyz);
	out->added = inertia_load_added(load, element);
	if (is_static || out->automatic)
		return; /* not used, or computed */
	if (!(out->mass >= 0))
		load_error(load, sdf_child(element, "mass", NULL), "<mass> is %g: expected 0 kg or more", out->mass);
	else if (!inertia_mend(load, link, out))
		load_error(load, matrix ? matrix : element,
			"<inertia> is not that of a body: expected principal moments of 0 or more, none larger than "
			"the "
			"other two together");
	else
		inertia_check_added(load, element, out);
}

const struct sdf_inertial *load_inertial(struct load *load, const struct sdf_element *link, bool is_static)
{
	struct sdf_inertial out;
	memset(&out, 0, sizeof out); /* also its gaps: equal bytes are stored once */
	out.mass = out.ixx = out.iyy = out.izz = 1;
	out.in_link = POSE_IDENTITY;
	inertia_load(load, link, is_static, &out);
	return load_share(load, &out, sizeof out);
}

struct moments { /* about the origin of their frame */
	double mass;
	struct vec3 first; /* mass times centre */
	struct mat3 second;
};

/* The volume of a shape, its centre, and its second moments of volume about that centre (integral of x x^T). */
static bool inertia_shape_moments(
	const struct sdf_shape *shape, double *ret_volume, struct vec3 *ret_second, struct vec3 *ret_centre)
{
	double r = shape->radius, l = shape->length, v;
	struct vec3 s = shape->size, d;
	*ret_centre = (struct vec3){0, 0, 0};
	switch (shape->kind) {
	case SDF_BOX:
		v = s.x * s.y * s.z;
		d = (struct vec3){v * s.x * s.x / 12, v * s.y * s.y / 12, v * s.z * s.z / 12};
		break;
	case SDF_SPHERE:
		v = 4.0 / 3 * M_PI * r * r * r;
		d = (struct vec3){v * r * r / 5, v * r * r / 5, v * r * r / 5};
		break;
	case SDF_ELLIPSOID:
		v = 4.0 / 3 * M_PI * s.x * s.y * s.z;
		d = (struct vec3){v * s.x * s.x / 5, v * s.y * s.y / 5, v * s.z * s.z / 5};
		break;
	case SDF_CYLINDER:
		v = M_PI * r * r * l;
		d = (struct vec3){v * r * r / 4, v * r * r / 4, v * l * l / 12};
		break;
	case SDF_CONE: /* the origin is half-way up; the centre a quarter of the height above the base */
		v = M_PI * r * r * l / 3;
		d = (struct vec3){v * 3 * r * r / 20, v * 3 * r * r / 20, v * 3 * l * l / 80};
		ret_centre->z = -l / 4;
		break;
	case SDF_CAPSULE: {
		double cylinder = M_PI * r * r * l, caps = 4.0 / 3 * M_PI * r * r * r;
		v = cylinder + caps;
		d.x = d.y = cylinder * r * r / 4 + caps * r * r / 5;
		/* half-spheres: second moment r^2/5 about the flat side; their centre, 3r/8 from it, is moved out by
		 * l/2 */
		d.z = cylinder * l * l / 12 + caps * (r * r / 5 + l * l / 4 + 3 * r * l / 8);
		break;
	}
	default:
		return false;
	}
	*ret_volume = v;
	*ret_second = d;
	return true;
}

/* m += density * (q diag(d) q^T + v c c^T) */
static void inertia_add_shape(struct moments *sum, const struct sdf_collision *collision, double density, double volume,
	struct vec3 second, struct vec3 centre)
{
	struct mat3 r = quat_matrix(collision->in_link->q);
	struct vec3 at = pose_point(*collision->in_link, centre);
	double c[3] = {at.x, at.y, at.z}, d[3] = {second.x, second.y, second.z};
	double mass = density * volume;
	sum->mass += mass;
	sum->first = vec3_add(sum->first, vec3_scale(at, mass));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			for (int k = 0; k < 3; k++)
				sum->second.m[i][j] += density * r.m[i][k] * d[k] * r.m[j][k];
			sum->second.m[i][j] += mass * c[i] * c[j];
		}
}

/* For a shape that is no primitive: m += density * (moments moved by the collision's pose). */
static void inertia_add_solid(
	struct moments *sum, const struct sdf_collision *collision, double density, const struct mesh_moments *of)
{
	struct mat3 r = quat_matrix(collision->in_link->q);
	struct vec3 turned = quat_rotate(collision->in_link->q, of->centre), at = collision->in_link->p;
	const double c[3] = {turned.x, turned.y, turned.z}, t[3] = {at.x, at.y, at.z};
	double mass = density * of->volume;
	sum->mass += mass;
	sum->first = vec3_add(sum->first, vec3_scale(vec3_add(turned, at), mass));
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++) {
			for (int k = 0; k < 3; k++)
				for (int l = 0; l < 3; l++)
					sum->second.m[i][j] += density * r.m[i][k] * of->second.m[k][l] * r.m[j][l];
			sum->second.m[i][j] += mass * (c[i] * t[j] + t[i] * c[j] + t[i] * t[j]);
		}
}

static struct mesh_moments inertia_measure_hull(const struct mesh *mesh)
{
	struct hull hull = {0};
	struct mesh triangles = {0};
	struct mesh_moments out = {0};
	if (!hull_make(mesh->points.at, mesh->points.count, &hull, NULL)) {
		for (uint32_t i = 0; i < hull.points.count; i++)
			mesh_add_point(&triangles, hull.points.at[i]);
		for (uint32_t f = 0; f < hull.faces.count; f++)
			for (uint32_t i = 2; i < hull.faces.at[f].count; i++) {
				const uint32_t *corner = &hull.corners.at[hull.faces.at[f].first];
				mesh_add_triangle(&triangles, corner[0], corner[i - 1], corner[i]);
			}
		out = mesh_measure(&triangles);
	}
	mesh_fini(&triangles);
	hull_fini(&hull);
	return out;
}

/* False: no volume. If all triangles face inwards, the moments only have the other sign. */
static bool inertia_mesh_moments_of(
	struct load *load, const struct sdf_collision *collision, struct mesh_moments *ret_moments)
{
	const struct mesh *mesh = collision->shape->mesh;
	if (!mesh)
		return false;
	if (mesh_is_closed(mesh)) {
		*ret_moments = mesh_measure(mesh);
	} else {
		*ret_moments = inertia_measure_hull(mesh);
		load_warn(load, collision->element,
			"auto inertia: the mesh of collision \"%.80s\" is not closed: its convex hull is used",
			collision->name);
	}
	if (ret_moments->volume < 0) {
		ret_moments->volume = -ret_moments->volume;
		for (int i = 0; i < 9; i++)
			ret_moments->second.m[i / 3][i % 3] *= -1;
	}
	return ret_moments->volume > 0;
}

static double inertia_density_of(struct load *load, const struct sdf_collision *collision, double link_density)
{
	double density = link_density;
	load_double(load, collision->element, "density", 0, SDF_MASS_MAX, &density);
	return density;
}

static void inertia_set_from_moments(struct sdf_inertial *out, const struct moments *sum)
{
	struct vec3 com = vec3_scale(sum->first, 1 / sum->mass);
	double c[3] = {com.x, com.y, com.z}, s[3][3];
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			s[i][j] = sum->second.m[i][j] - sum->mass * c[i] * c[j];
	out->in_link = (struct pose){com, QUAT_IDENTITY};
	out->ixx = s[1][1] + s[2][2];
	out->iyy = s[0][0] + s[2][2];
	out->izz = s[0][0] + s[1][1];
	out->ixy = -s[0][1];
	out->ixz = -s[0][2];
	out->iyz = -s[1][2];
	out->mass = sum->mass;
}

void load_inertial_auto(struct load *load, struct sdf_link *link)
{
	const struct sdf_element *element = sdf_child(link->element, "inertial", NULL);
	struct moments sum = {0};
	struct sdf_inertial own = *link->inertial;
	double link_density = 1000, wanted = 0;
	load_double(load, element, "density", 0, SDF_MASS_MAX, &link_density);
	for (uint32_t i = 0; i < link->collision_count; i++) {
		const struct sdf_collision *collision = &load->world->collisions.at[link->collision_first + i];
		double volume, density = inertia_density_of(load, collision, link_density);
		struct vec3 second, centre;
		struct mesh_moments solid;
		if (inertia_shape_moments(collision->shape, &volume, &second, &centre))
			inertia_add_shape(&sum, collision, density, volume, second, centre);
		else if (inertia_mesh_moments_of(load, collision, &solid))
			inertia_add_solid(&sum, collision, density, &solid);
		else
			load_warn_once(load, sdf_shape_kind_text(collision->shape->kind), element,
				"auto inertia does not know the volume of a %s: it counts as 0",
				sdf_shape_kind_text(collision->shape->kind));
	}
	bool is_static = load->world->models.at[link->model].is_static;
	if (sum.mass > 0)
		inertia_set_from_moments(&own, &sum);
	else
		load_warn_once(load, "auto inertia", element,
			"auto inertia of link \"%.80s\" finds no volume: the written inertia is used", link->name);
	/* a <mass> beside auto="true" (1.12) keeps the shape and scales it */
	load_double(load, element, "mass", 0, SDF_MASS_MAX, &wanted);
	if (sum.mass > 0 && wanted > 0) {
		double by = wanted / sum.mass;
		own.mass = wanted;
		own.ixx *= by, own.iyy *= by, own.izz *= by, own.ixy *= by, own.ixz *= by, own.iyz *= by;
	}
	if (!is_static && (own.mass > SDF_MASS_MAX || !inertia_mend(load, link->element, &own)))
		load_error(load, element,
			"auto inertia of link \"%.80s\" is not that of a body: expected collisions with a volume and a "
			"density",
			link->name);
	else if (!is_static)
		inertia_check_added(load, element, &own);
	link->inertial = load_share(load, &own, sizeof own);
}
