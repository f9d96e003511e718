/* Measures a step of one body that lies or stands on the ground, for each shape and each kind of ground. The baseline
 * is a bare ODE loop with ODE's own colliders and the same contact parameters, and then troupe with --solver ode. ODE
 * has no cones and no ellipsoids. Its colliders find other numbers of contacts, so the solver's work differs, too.
 * Then a step of 3 000 bodies that stand apart, awake, on a plane. */
#include "config.h"

#include "bench.h"
#include "robots.h"

#include "base/hash.h"
#include "base/text.h"

#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STEP 0.001
#define KP 5e11      /* N/m: two surfaces of SDF's default 1e12 in series */
#define KD 2.0       /* N s/m */
#define HALF 2.0     /* m: half of the ground's edge */
#define TURN 0.4     /* rad about z: edges across the triangles */
#define MESH_TOP 0.0 /* m */
#define MAP_TOP 0.8  /* m: of flat.png in its place here */

enum { CELLS = 8, CONTACTS_MAX = 16 };

enum shape_kind { BOX, SPHERE, CYLINDER, LYING, CAPSULE, CONE, ELLIPSOID, HULL, SHAPES };
enum ground_kind { PLANE, FLOOR_BOX, MESH, HEIGHTMAP, GROUNDS };

struct shape {
	const char *name, *geometry; /* NULL: a mesh, block.obj */
	double height;               /* of its centre at rest */
	bool lying, is_mesh;
};

static const struct shape shapes[SHAPES] = {
	[BOX] = {"box", "<box><size>0.6 0.5 0.4</size></box>", 0.2, false, false},
	[SPHERE] = {"sphere", "<sphere><radius>0.3</radius></sphere>", 0.3, false, false},
	[CYLINDER] = {"cylinder", "<cylinder><radius>0.3</radius><length>0.5</length></cylinder>", 0.25, false, false},
	[LYING] = {"cylinder, lying", "<cylinder><radius>0.25</radius><length>0.5</length></cylinder>", 0.25, true,
		false},
	[CAPSULE] = {"capsule, lying", "<capsule><radius>0.2</radius><length>0.5</length></capsule>", 0.2, true, false},
	[CONE] = {"cone", "<cone><radius>0.3</radius><length>0.4</length></cone>", 0.2, false, false},
	[ELLIPSOID] = {"ellipsoid", "<ellipsoid><radii>0.3 0.25 0.15</radii></ellipsoid>", 0.15, false, false},
	[HULL] = {"hull of 8 corners", NULL, 0.2, false, true},
};

static const char *const ground_names[GROUNDS] = {"plane", "box", "mesh", "heightmap"};
static const double ground_tops[GROUNDS] = {0, 0.5, MESH_TOP, MAP_TOP};

/* --- SDF -------------------------------------------------------------------------------------------------------- */

static void add_ground(struct text *out, enum ground_kind kind, const char *folder)
{
	text_add(out, "<model name='ground'><static>1</static><link name='l'><collision name='c'><geometry>");
	if (kind == PLANE)
		text_add(out, "<plane/>");
	else if (kind == FLOOR_BOX)
		text_add(out, "<box><size>%g %g 1</size></box>", 2 * HALF, 2 * HALF);
	else if (kind == MESH)
		text_add(out, "<mesh><uri>%s/floor.obj</uri></mesh>", folder);
	else
		text_add(out, "<heightmap><uri>%s/flat.png</uri><size>%g %g 0.7</size><pos>0 0 0.1</pos></heightmap>",
			folder, 2 * HALF, 2 * HALF);
	text_add(out, "</geometry></collision></link></model>");
}

static char *make_world(const struct shape *shape, enum ground_kind ground, const char *folder)
{
	struct text out = {0};
	text_add(&out, "<sdf version='1.11'><world name='shapes'>");
	add_ground(&out, ground, folder);
	text_add(&out, "<model name='it'><pose>0 0 %.17g %g 0 %g</pose><link name='l'><inertial auto='true'/>",
		ground_tops[ground] + shape->height, shape->lying ? M_PI / 2 : 0, TURN);
	text_add(&out, "<collision name='c'><geometry>");
	if (shape->is_mesh)
		text_add(&out, "<mesh><uri>%s/block.obj</uri><scale>0.6 0.5 0.4</scale></mesh>", folder);
	else
		text_add(&out, "%s", shape->geometry);
	text_add(&out, "</geometry></collision></link></model></world></sdf>");
	return out.at;
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static FILE *create(const char *folder, const char *name)
{
	char path[300];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	if (!file) {
		fprintf(stderr, "%s: cannot be made\n", path);
		exit(1);
	}
	return file;
}

static void make_floor(const char *folder)
{
	FILE *out = create(folder, "floor.obj");
	for (int y = 0; y <= CELLS; y++)
		for (int x = 0; x <= CELLS; x++)
			fprintf(out, "v %g %g 0\n", HALF * (2.0 * x / CELLS - 1), HALF * (2.0 * y / CELLS - 1));
	for (int y = 0; y < CELLS; y++)
		for (int x = 1; x <= CELLS; x++) {
			int a = y * (CELLS + 1) + x, b = a + CELLS + 1;
			fprintf(out, "f %d %d %d\nf %d %d %d\n", a, a + 1, b + 1, a, b + 1, b);
		}
	fclose(out);
}

/* The files of the worlds are found through the folder that the bench makes. */
static void make_folder(char *folder)
{
	static const char *const names[] = {"flat.png", "block.obj"};
	const char *source = getenv("SOURCE_DIR");
	if (!mkdtemp(folder)) {
		fprintf(stderr, "%s: cannot be made\n", folder);
		exit(1);
	}
	make_floor(folder);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char from[600], bytes[1024];
		snprintf(from, sizeof from, "%s/worlds/models/shapes/%s", source ? source : ".", names[i]);
		FILE *in = fopen(from, "r"), *out = create(folder, names[i]);
		if (!in) {
			fprintf(stderr, "%s: cannot be read; SOURCE_DIR says where troupe's source is\n", from);
			exit(1);
		}
		for (size_t count; (count = fread(bytes, 1, sizeof bytes, in)) > 0;)
			fwrite(bytes, 1, count, out);
		fclose(in);
		fclose(out);
	}
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"flat.png", "block.obj", "floor.obj"};
	char path[300];
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

/* --- bare ODE ---------------------------------------------------------------------------------------------------- */

struct bare {
	dWorldID world;
	dThreadingImplementationID threading;
	dJointGroupID contacts;
	dBodyID body;
	dGeomID geom, ground;
	dTriMeshDataID mesh;
	dHeightfieldDataID field;
};

static dGeomID make_geom(enum shape_kind kind)
{
	static double planes[] = {
		1, 0, 0, 0.3, -1, 0, 0, 0.3, 0, 1, 0, 0.25, 0, -1, 0, 0.25, 0, 0, 1, 0.2, 0, 0, -1, 0.2};
	static double points[] = {-0.3, -0.25, -0.2, 0.3, -0.25, -0.2, 0.3, 0.25, -0.2, -0.3, 0.25, -0.2, -0.3, -0.25,
		0.2, 0.3, -0.25, 0.2, 0.3, 0.25, 0.2, -0.3, 0.25, 0.2};
	static unsigned polygons[] = {
		4, 1, 2, 6, 5, 4, 0, 4, 7, 3, 4, 2, 3, 7, 6, 4, 0, 1, 5, 4, 4, 4, 5, 6, 7, 4, 0, 3, 2, 1};
	switch (kind) {
	case BOX:
		return dCreateBox(0, 0.6, 0.5, 0.4);
	case SPHERE:
		return dCreateSphere(0, 0.3);
	case CYLINDER:
		return dCreateCylinder(0, 0.3, 0.5);
	case LYING:
		return dCreateCylinder(0, 0.25, 0.5);
	case CAPSULE:
		return dCreateCapsule(0, 0.2, 0.5);
	case HULL:
		return dCreateConvex(0, planes, 6, points, 8, polygons);
	default:
		return 0;
	}
}

static dGeomID make_mesh(struct bare *bare)
{
	static double points[(CELLS + 1) * (CELLS + 1)][3];
	static dTriIndex corners[2 * CELLS * CELLS][3];
	int count = 0;
	for (int i = 0; i < (CELLS + 1) * (CELLS + 1); i++) {
		points[i][0] = HALF * (2.0 * (i % (CELLS + 1)) / CELLS - 1);
		points[i][1] = HALF * (2.0 * (i / (CELLS + 1)) / CELLS - 1);
	}
	for (int y = 0; y < CELLS; y++)
		for (int x = 0; x < CELLS; x++) {
			dTriIndex a = (dTriIndex)(y * (CELLS + 1) + x), b = a + CELLS + 1;
			const dTriIndex two[2][3] = {{a, a + 1, b + 1}, {a, b + 1, b}};
			for (int t = 0; t < 2; t++, count++)
				for (int k = 0; k < 3; k++)
					corners[count][k] = two[t][k];
		}
	bare->mesh = dGeomTriMeshDataCreate();
	dGeomTriMeshDataBuildDouble(
		bare->mesh, points, sizeof points[0], (CELLS + 1) * (CELLS + 1), corners, 3 * count, sizeof corners[0]);
	return dCreateTriMesh(0, bare->mesh, NULL, NULL, NULL);
}

/* In ODE heights are along y. */
static dGeomID make_field(struct bare *bare)
{
	static double heights[(CELLS + 1) * (CELLS + 1)];
	bare->field = dGeomHeightfieldDataCreate();
	dGeomHeightfieldDataBuildDouble(
		bare->field, heights, 1, 2 * HALF, 2 * HALF, CELLS + 1, CELLS + 1, 1, MAP_TOP, 1, 0);
	dGeomID geom = dCreateHeightfield(0, bare->field, 1);
	dMatrix3 turn;
	dRFromAxisAndAngle(turn, 1, 0, 0, M_PI / 2);
	dGeomSetRotation(geom, turn);
	return geom;
}

static dGeomID make_ground(struct bare *bare, enum ground_kind kind)
{
	switch (kind) {
	case PLANE:
		return dCreatePlane(0, 0, 0, 1, 0);
	case FLOOR_BOX:
		return dCreateBox(0, 2 * HALF, 2 * HALF, 1);
	case MESH:
		return make_mesh(bare);
	default:
		return make_field(bare);
	}
}

/* False if ODE has no such shape, or aborts: it has no collider for a convex hull on triangles. */
static bool bare_begin(struct bare *bare, enum shape_kind kind, enum ground_kind ground)
{
	const struct shape *shape = &shapes[kind];
	dMass mass;
	dMatrix3 turn, lie, both;
	if (kind == CONE || kind == ELLIPSOID || (kind == HULL && (ground == MESH || ground == HEIGHTMAP)))
		return false;
	*bare = (struct bare){.geom = make_geom(kind)};
	bare->world = dWorldCreate();
	bare->threading = dThreadingAllocateSelfThreadedImplementation();
	bare->contacts = dJointGroupCreate(0);
	dWorldSetStepThreadingImplementation(
		bare->world, dThreadingImplementationGetFunctions(bare->threading), bare->threading);
	dWorldSetGravity(bare->world, 0, 0, -9.8);
	dWorldSetContactMaxCorrectingVel(bare->world, 0.01);
	dWorldSetContactSurfaceLayer(bare->world, 0.001);
	bare->ground = make_ground(bare, ground);
	bare->body = dBodyCreate(bare->world);
	dMassSetBoxTotal(&mass, 100, 0.6, 0.5, 0.4);
	dBodySetMass(bare->body, &mass);
	dBodySetPosition(bare->body, 0, 0, ground_tops[ground] + shape->height);
	dRFromAxisAndAngle(turn, 0, 0, 1, TURN);
	dRFromAxisAndAngle(lie, 1, 0, 0, shape->lying ? M_PI / 2 : 0);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 3; j++)
			both[4 * i + j] =
				turn[4 * i] * lie[j] + turn[4 * i + 1] * lie[4 + j] + turn[4 * i + 2] * lie[8 + j];
	both[3] = both[7] = both[11] = 0;
	dBodySetRotation(bare->body, both);
	dGeomSetBody(bare->geom, bare->body);
	return true;
}

static int bare_steps(struct bare *bare, int steps)
{
	int contacts = 0;
	for (int s = 0; s < steps; s++) {
		dContactGeom found[CONTACTS_MAX];
		contacts = dCollide(bare->geom, bare->ground, CONTACTS_MAX, found, sizeof found[0]);
		for (int c = 0; c < contacts; c++) {
			dContact contact = {.geom = found[c],
				.surface = {.mode = dContactApprox1 | dContactSoftCFM | dContactSoftERP,
					.mu = 1,
					.soft_cfm = 1 / (STEP * KP + KD),
					.soft_erp = STEP * KP / (STEP * KP + KD)}};
			dJointAttach(dJointCreateContact(bare->world, bare->contacts, &contact), bare->body, 0);
		}
		dWorldStep(bare->world, STEP);
		dJointGroupEmpty(bare->contacts);
	}
	return contacts;
}

static void bare_end(struct bare *bare)
{
	dGeomDestroy(bare->geom);
	dGeomDestroy(bare->ground);
	if (bare->mesh)
		dGeomTriMeshDataDestroy(bare->mesh);
	if (bare->field)
		dGeomHeightfieldDataDestroy(bare->field);
	dJointGroupDestroy(bare->contacts);
	dWorldDestroy(bare->world);
	dThreadingFreeImplementation(bare->threading);
}

/* --- measuring --------------------------------------------------------------------------------------------------- */

static double time_bare(struct bare *bare, int steps)
{
	uint64_t begin = bench_now_ns();
	bare_steps(bare, steps);
	return (double)(bench_now_ns() - begin);
}

static struct troupe_server *create_awake(const char *world, bool by_ode)
{
	struct troupe_server_def def = bench_def(world, 1);
	def.sleepless = true;
	def.by_ode = by_ode;
	return bench_create(&def);
}

static void print(const struct bench_options *options, const char *subject, const struct bench_samples *own,
	const struct bench_samples *odes, uint64_t hash)
{
	bench_print(options,
		&(struct bench_row){
			.subject = subject, .unit = "us/step", .values = own, .baselines = odes, .hash = hash});
}

static void measure(
	const struct bench_options *options, enum shape_kind kind, enum ground_kind ground, const char *folder)
{
	struct bench_samples own = {0}, odes = {0}, by_ode = {0};
	int steps = options->smoke ? 20 : 4000;
	char *world = make_world(&shapes[kind], ground, folder), subject[64];
	struct troupe_server *server = create_awake(world, false), *other = create_awake(world, true);
	struct bare bare;
	bool has_ode = bare_begin(&bare, kind, ground);
	snprintf(subject, sizeof subject, "%s on %s", shapes[kind].name, ground_names[ground]);
	bench_run(server, (uint64_t)steps);
	bench_run(other, (uint64_t)steps);
	bool rests = has_ode && bare_steps(&bare, steps) &&
		     fabs(dBodyGetPosition(bare.body)[2] - ground_tops[ground] - shapes[kind].height) < 0.01;
	for (int r = 0; r < options->repeats; r++) {
		uint64_t until = (uint64_t)(steps * (r + 2));
		bench_progress(options, subject, r);
		bench_add(&own, bench_run(server, until) / steps / 1000);
		bench_add(&by_ode, bench_run(other, until) / steps / 1000);
		if (rests)
			bench_add(&odes, time_bare(&bare, steps) / steps / 1000);
	}
	print(options, subject, &own, rests ? &odes : NULL, troupe_server_hash(server));
	print(options, "  the same, to troupe with --solver ode", &own, &by_ode, 0);
	if (has_ode)
		bare_end(&bare);
	troupe_server_destroy(server);
	troupe_server_destroy(other);
	free(world);
}

/* As Gazebo's example of 3 000 shapes: boxes, cylinders and spheres in turn, each alone on a plane. */
static char *make_many(int count)
{
	struct text out = {0};
	text_add(&out, "<sdf version='1.11'><world name='shapes'>");
	add_ground(&out, PLANE, "");
	for (int i = 0; i < count; i++) {
		const struct shape *shape = &shapes[i % 3 == 0 ? BOX : i % 3 == 1 ? CYLINDER : SPHERE];
		text_add(&out,
			"<model name='it_%d'><pose>%d %d %.17g 0 0 0</pose><link name='l'><inertial auto='true'/>"
			"<collision name='c'><geometry>%s</geometry></collision></link></model>",
			i, 2 * (i % 60), 2 * (i / 60), shape->height + 0.01, shape->geometry);
	}
	text_add(&out, "</world></sdf>");
	return out.at;
}

static void measure_many(const struct bench_options *options)
{
	struct bench_samples own = {0}, by_ode = {0}, factor = {0};
	const int count = options->smoke ? 30 : 3000, steps = options->smoke ? 10 : 200;
	char *world = make_many(count), subject[64];
	struct troupe_server *servers[2] = {create_awake(world, false), create_awake(world, true)};
	snprintf(subject, sizeof subject, "%d bodies", count);
	for (int i = 0; i < 2; i++)
		bench_run(servers[i], (uint64_t)steps);
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, subject, r);
		for (int i = 0; i < 2; i++) {
			double us = bench_run(servers[i], (uint64_t)(steps * (r + 2))) / steps / 1000;
			bench_add(i ? &by_ode : &own, us);
			if (!i)
				bench_add(&factor, STEP * 1e6 / us);
		}
	}
	print(options, subject, &own, &by_ode, troupe_server_hash(servers[0]));
	bench_print(options, &(struct bench_row){.subject = "  the same",
				     .unit = "times real time",
				     .values = &factor,
				     .at_least = options->smoke ? 0 : 0.33});
	for (int i = 0; i < 2; i++)
		troupe_server_destroy(servers[i]);
	free(world);
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_shapes: a step of one body on something; baselines: bare ODE where the body rests with its "
		"colliders, and --solver ode");
	char folder[] = "/tmp/bench-shapes-XXXXXX";
	dInitODE2(0);
	bare_thread_begin();
	make_folder(folder);
	for (int ground = 0; ground < GROUNDS; ground++)
		for (int shape = 0; shape < SHAPES; shape++) {
#ifndef HAVE_MESHES
			if (shapes[shape].is_mesh || ground == MESH || ground == HEIGHTMAP)
				continue;
#endif
			measure(&options, (enum shape_kind)shape, (enum ground_kind)ground, folder);
		}
	remove_folder(folder);
	measure_many(&options);
	return 0;
}
