/* Inertia from shapes (auto="true"): random shapes at random poses, against the same mass in points. Eight equal points
 * at the corners of a box have the moments of any body with three planes of symmetry, if the box is of the right size;
 * and points are easily added up. */
#include "config.h"
#include "../random.h"
#include "sdf/sdf.h"

#include "geom/geom.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <stdlib.h>

TestSuite(inertia, .timeout = 30);

static uint64_t dice = 3;

/* Sums over points. */
struct sums {
	double mass, first[3], second[3][3];
};

static void add_point(struct sums *sums, double mass, struct vec3 p)
{
	const double at[3] = {p.x, p.y, p.z};
	sums->mass += mass;
	for (int i = 0; i < 3; i++) {
		sums->first[i] += mass * at[i];
		for (int k = 0; k < 3; k++)
			sums->second[i][k] += mass * at[i] * at[k];
	}
}

/* second: the second moments of the shape about its centre, divided by its mass. */
static void add_body(struct sums *sums, struct pose pose, double mass, struct vec3 second, struct vec3 centre)
{
	struct vec3 half = {sqrt(second.x), sqrt(second.y), sqrt(second.z)};
	for (int i = 0; i < 8; i++) {
		struct vec3 corner = {i & 1 ? half.x : -half.x, i & 2 ? half.y : -half.y, i & 4 ? half.z : -half.z};
		add_point(sums, mass / 8, pose_point(pose, vec3_add(corner, centre)));
	}
}

static struct vec3 round_second(double r, double along)
{
	return (struct vec3){r * r / 4, r * r / 4, along};
}

static void add_shape(struct text *out, struct sums *sums, double density, struct pose pose)
{
	struct vec3 s = {random_between(&dice, 0.1, 1), random_between(&dice, 0.1, 1), random_between(&dice, 0.1, 1)},
		    none = {0, 0, 0};
	double r = s.x, l = s.z;
	switch ((int)random_between(&dice, 0, 8)) {
	case 0:
		text_add(out, "<box><size>%.17g %.17g %.17g</size></box>", s.x, s.y, s.z);
		add_body(sums, pose, density * s.x * s.y * s.z,
			(struct vec3){s.x * s.x / 12, s.y * s.y / 12, s.z * s.z / 12}, none);
		break;
	case 1:
		text_add(out, "<sphere><radius>%.17g</radius></sphere>", r);
		add_body(sums, pose, density * 4 / 3 * M_PI * r * r * r, (struct vec3){r * r / 5, r * r / 5, r * r / 5},
			none);
		break;
	case 2:
		text_add(out, "<ellipsoid><radii>%.17g %.17g %.17g</radii></ellipsoid>", s.x, s.y, s.z);
		add_body(sums, pose, density * 4 / 3 * M_PI * s.x * s.y * s.z,
			(struct vec3){s.x * s.x / 5, s.y * s.y / 5, s.z * s.z / 5}, none);
		break;
	case 3:
		text_add(out, "<cylinder><radius>%.17g</radius><length>%.17g</length></cylinder>", r, l);
		add_body(sums, pose, density * M_PI * r * r * l, round_second(r, l * l / 12), none);
		break;
	case 4:
		text_add(out, "<cone><radius>%.17g</radius><length>%.17g</length></cone>", r, l);
		add_body(sums, pose, density * M_PI * r * r * l / 3,
			(struct vec3){3 * r * r / 20, 3 * r * r / 20, 3 * l * l / 80}, (struct vec3){0, 0, -l / 4});
		break;
	case 5: /* a cylinder and two half-balls; the centre of a half-ball is 3/8 r from its flat side */
		text_add(out, "<capsule><radius>%.17g</radius><length>%.17g</length></capsule>", r, l);
		add_body(sums, pose, density * M_PI * r * r * l, round_second(r, l * l / 12), none);
		for (int side = -1; side <= 1; side += 2)
			add_body(sums, pose, density * 2 / 3 * M_PI * r * r * r,
				(struct vec3){r * r / 5, r * r / 5, r * r / 5 - 9 * r * r / 64},
				(struct vec3){0, 0, side * (l / 2 + 3 * r / 8)});
		break;
	case 6: /* a plate that begins at its corner */
		text_add(out,
			"<polyline><height>%.17g</height><point>0 0</point><point>%.17g 0</point><point>%.17g "
			"%.17g</point><point>0 %.17g</point></polyline>",
			s.z, s.x, s.x, s.y, s.y);
		add_body(sums, pose, density * s.x * s.y * s.z,
			(struct vec3){s.x * s.x / 12, s.y * s.y / 12, s.z * s.z / 12}, vec3_scale(s, 0.5));
		break;
	default: /* a cube; mirrored, its triangles face inwards */
		text_add(out, "<mesh><scale>%.17g %.17g %.17g</scale><uri>models/shapes/block.obj</uri></mesh>",
			random_between(&dice, 0, 1) < 0.5 ? s.x : -s.x, s.y, s.z);
		add_body(sums, pose, density * s.x * s.y * s.z,
			(struct vec3){s.x * s.x / 12, s.y * s.y / 12, s.z * s.z / 12}, none);
	}
}

static void expect_near(const char *what, double found, double expected, double scale)
{
	cr_assert(fabs(found - expected) <= 1e-6 * scale, "%s: %.12g, expected %.12g", what, found, expected);
}

static void check_inertial(const struct sdf_inertial *in, const struct sums *sums)
{
	double c[3], s[3][3], scale = 0;
	for (int i = 0; i < 3; i++)
		c[i] = sums->first[i] / sums->mass;
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			s[i][k] = sums->second[i][k] - sums->mass * c[i] * c[k];
	scale = s[0][0] + s[1][1] + s[2][2];
	expect_near("mass", in->mass, sums->mass, sums->mass);
	expect_near("centre x", in->in_link.p.x, c[0], 1);
	expect_near("centre y", in->in_link.p.y, c[1], 1);
	expect_near("centre z", in->in_link.p.z, c[2], 1);
	expect_near("ixx", in->ixx, s[1][1] + s[2][2], scale);
	expect_near("iyy", in->iyy, s[0][0] + s[2][2], scale);
	expect_near("izz", in->izz, s[0][0] + s[1][1], scale);
	expect_near("ixy", in->ixy, -s[0][1], scale);
	expect_near("ixz", in->ixz, -s[0][2], scale);
	expect_near("iyz", in->iyz, -s[1][2], scale);
}

#ifdef HAVE_MESHES
/* Loads a world as if its file were beside the models of worlds/. The text is freed. */
static struct sdf *load(struct text *text)
{
	struct sdf *sdf = NULL;
	struct troupe_error error = {0};
	static const char *const folders[] = {"/tmp", NULL}; /* of the files that tests write */
	const struct sdf_options options = {.resource_paths = folders};
	cr_assert_eq(sdf_load_text(text->at, text->count, SOURCE_DIR "/worlds/inertia.sdf", &options, &sdf, &error),
		TROUPE_OK, "%s", error.text);
	text_fini(text);
	return sdf;
}

Test(inertia, of_random_shapes)
{
	for (int round = 0; round < 60; round++) {
		struct text out = {0};
		struct sums sums = {0};
		int count = 1 + (int)random_between(&dice, 0, 4);
		text_add(&out, "<sdf version='1.11'><world name='w'><model name='m'><link name='l'><inertial "
			       "auto='true'><density>700</density></inertial>");
		for (int i = 0; i < count; i++) {
			double at[6], density = i % 2 ? 700 : random_between(&dice, 100, 2000);
			for (int k = 0; k < 6; k++)
				at[k] = random_between(&dice, -1.5, 1.5);
			struct pose pose = {{at[0], at[1], at[2]}, quat_from_rpy(at[3], at[4], at[5])};
			text_add(&out, "<collision name='c%d'><pose>%.17g %.17g %.17g %.17g %.17g %.17g</pose>", i,
				at[0], at[1], at[2], at[3], at[4], at[5]);
			if (i % 2 == 0)
				text_add(&out, "<density>%.17g</density>", density);
			text_add(&out, "<geometry>");
			add_shape(&out, &sums, density, pose);
			text_add(&out, "</geometry></collision>");
		}
		text_add(&out, "</link></model></world></sdf>");
		struct sdf *sdf = load(&out);
		check_inertial(sdf->worlds.at[0].links.at[0].inertial, &sums);
		sdf_free(sdf);
	}
}

/* A closed mesh whose triangles all face inwards has the mass of the mesh that faces outwards. */
Test(inertia, of_a_mesh_that_is_inside_out)
{
	/* a tetrahedron: corners at the origin and at 1, 2 and 3 m along the axes */
	static const char corners[] = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\n";
	static const char *const faces[] = {
		"f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n", "f 1 2 3\nf 1 4 2\nf 1 3 4\nf 2 4 3\n"};
	char folder[] = "/tmp/test_inertia.XXXXXX", name[64];
	cr_assert_not_null(mkdtemp(folder));
	(void)snprintf(name, sizeof name, "%s/m.obj", folder);
	for (int i = 0; i < 2; i++) {
		struct text out = {0};
		FILE *file = fopen(name, "w");
		cr_assert_not_null(file);
		(void)fprintf(file, "%s%s", corners, faces[i]);
		cr_assert_eq(fclose(file), 0);
		text_add(&out,
			"<sdf version='1.11'><world name='w'><model name='m'><link name='l'><inertial "
			"auto='true'><density>700</density></inertial><collision "
			"name='c'><geometry><mesh><uri>%s</uri></mesh></geometry></collision></link></model></world></"
			"sdf>",
			name);
		struct sdf *sdf = load(&out);
		const struct sdf_inertial *in = sdf->worlds.at[0].links.at[0].inertial;
		double mass = 700.0 * 1 * 2 * 3 /
			      6; /* of a tetrahedron: second moments 3/80 m (b2 + c2), centre at a quarter */
		expect_near("mass", in->mass, mass, mass);
		expect_near("centre x", in->in_link.p.x, 0.25, 1);
		expect_near("centre y", in->in_link.p.y, 0.5, 1);
		expect_near("centre z", in->in_link.p.z, 0.75, 1);
		expect_near("ixx", in->ixx, mass * 3 / 80 * (4 + 9), mass);
		expect_near("iyy", in->iyy, mass * 3 / 80 * (1 + 9), mass);
		expect_near("izz", in->izz, mass * 3 / 80 * (1 + 4), mass);
		expect_near("ixy", in->ixy, mass / 80 * 1 * 2, mass);
		expect_near("ixz", in->ixz, mass / 80 * 1 * 3, mass);
		expect_near("iyz", in->iyz, mass / 80 * 2 * 3, mass);
		sdf_free(sdf);
	}
	unlink(name);
	rmdir(folder);
}

/* A mass that is given with auto="true" scales all six moments. */
Test(inertia, of_a_given_mass)
{
	struct sdf_inertial found[2];
	for (int given = 0; given < 2; given++) {
		struct text out = {0};
		text_add(&out,
			"<sdf version='1.12'><world name='w'><model name='m'><link name='l'><inertial "
			"auto='true'>%s<density>700</density></inertial><collision name='c'><pose>0 0 0 0.3 0.5 "
			"0.7</pose><geometry><box><size>1 2 "
			"3</size></box></geometry></collision></link></model></world></sdf>",
			given ? "<mass>84</mass>" : "");
		struct sdf *sdf = load(&out);
		found[given] = *sdf->worlds.at[0].links.at[0].inertial;
		sdf_free(sdf);
	}
	double by = 84.0 / (700 * 6);
	expect_near("mass", found[1].mass, 84, 84);
	expect_near("ixx", found[1].ixx, found[0].ixx * by, 100);
	expect_near("iyy", found[1].iyy, found[0].iyy * by, 100);
	expect_near("izz", found[1].izz, found[0].izz * by, 100);
	expect_near("ixy", found[1].ixy, found[0].ixy * by, 100);
	expect_near("ixz", found[1].ixz, found[0].ixz * by, 100);
	expect_near("iyz", found[1].iyz, found[0].iyz * by, 100);
	cr_assert(fabs(found[1].ixy) > 1e-3 && fabs(found[1].ixz) > 1e-3 && fabs(found[1].iyz) > 1e-3);
}

/* One mesh in two sizes that differ along one axis alone. */
Test(inertia, of_one_mesh_in_several_sizes)
{
	static const char *const scales[] = {"1 1 1", "2 1 1", "1 2 1", "1 1 2", "1 1 3"};
	static const double volumes[] = {1, 2, 2, 2, 3};
	struct text out = {0};
	text_add(&out, "<sdf version='1.11'><world name='w'><model name='m'>");
	for (size_t i = 0; i < ARRAY_LEN(scales); i++)
		text_add(&out,
			"<link name='l%zu'><inertial auto='true'><density>700</density></inertial><collision "
			"name='c'><geometry><mesh><scale>%s</scale><uri>models/shapes/block.obj</uri></mesh></"
			"geometry></collision></link>",
			i, scales[i]);
	text_add(&out, "</model></world></sdf>");
	struct sdf *sdf = load(&out);
	for (size_t i = 0; i < ARRAY_LEN(scales); i++)
		expect_near(scales[i], sdf->worlds.at[0].links.at[i].inertial->mass,
			volumes[i] * sdf->worlds.at[0].links.at[0].inertial->mass, 1000);
	sdf_free(sdf);
}
#endif
