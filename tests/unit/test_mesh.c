/* Reads, cuts and measures meshes, hulls, outlines and images. */
#include "../random.h"
#include "mesh/bounds.h"
#include "mesh/decompose.h"
#include "mesh/hull.h"
#include "mesh/importer.h"
#include "mesh/trimesh.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hash.h"
#include "config.h"

TestSuite(mesh, .timeout = 60);

#define FILES SOURCE_DIR "/worlds/models/shapes/"
#define DATA SOURCE_DIR "/tests/data/mesh/"

#ifdef HAVE_MESHES

static struct mesh read_mesh(const char *path)
{
	struct mesh mesh = {0};
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct troupe_error error;
	cr_assert_eq(
		importer_mesh(importer, &losses, &files, path, &mesh, &error), TROUPE_OK, "%s: %s", path, error.text);
	importer_destroy(importer);
	files_fini(&files);
	return mesh;
}

static void near(double measured, double expected, const char *what)
{
	cr_assert(fabs(measured - expected) <= 1e-6 * (1 + fabs(expected)), "%s is %.12g, expected %.12g", what,
		measured, expected);
}

/* Units, transforms and volumes of each format. */
Test(mesh, files)
{
	static const struct {
		const char *name;
		uint32_t points, triangles, parts;
		double volume;
	} cases[] = {
		{"block.obj", 8, 12, 1, 1},
		{"stool.obj", 40, 60, 5, 0.6 * 0.6 * 0.06 + 4 * 0.06 * 0.06 * 0.4},
		{"gem.stl", 10, 16, 1, 8 * 0.5 * 0.2 * 0.2 * 0.70710678118654752 * 0.4 / 3},
		{"ramp.dae", 6, 8, 1, 2},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[1000];
		snprintf(path, sizeof path, FILES "%s", cases[i].name);
		struct mesh mesh = read_mesh(path);
		cr_assert_eq(mesh.corners.count, 3 * cases[i].triangles, "%s: %u", path, mesh.corners.count / 3);
		cr_assert_eq(mesh.points.count, cases[i].points, "%s: %u", path, mesh.points.count);
		cr_assert_eq(mesh.parts.count, cases[i].parts, "%s: %u", path, mesh.parts.count);
		cr_assert(mesh_is_closed(&mesh), "%s", path);
		near(mesh_measure(&mesh).volume, cases[i].volume, path);
		mesh_fini(&mesh);
	}
}

/* The box of a file that is found without reading it as a mesh holds the mesh, and is hardly larger. */
Test(mesh, bounds)
{
	static const struct {
		const char *path;
		bool known;
	} cases[] = {{FILES "block.obj", true}, {FILES "stool.obj", true}, {FILES "tiles.obj", true},
		{FILES "gem.stl", false}, {FILES "ramp.dae", false}, {DATA "sound.obj", true},
		{DATA "sound_binary.stl", true}, {DATA "sound_text.stl", false}, {DATA "painted.obj", true},
		{DATA "named.obj", true}, {DATA "sound.glb", false}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *path = cases[i].path, *bytes;
		size_t count;
		struct files files = {0};
		struct mesh_bounds bounds;
		cr_assert_eq(files_read(&files, path, 1 << 20, &bytes, &count, NULL), TROUPE_OK, "%s", path);
		cr_assert_eq(bounds_find(path, bytes, count, &bounds), cases[i].known, "%s", path);
		files_fini(&files);
		if (!cases[i].known)
			continue;
		struct mesh mesh = read_mesh(path);
		struct aabb box = AABB_NONE;
		for (uint32_t p = 0; p < mesh.points.count; p++)
			box = aabb_join(box, (struct aabb){mesh.points.at[p], mesh.points.at[p]});
		cr_assert(aabb_within(&box, &bounds.box), "%s: the mesh is not within", path);
		box = aabb_grow(box, 1e-3);
		cr_assert(aabb_within(&bounds.box, &box), "%s: too large", path);
		mesh_fini(&mesh);
	}
}

/* Texts of OBJ files of which a box is known, and texts of which it is not certain what a reader makes of them. */
Test(mesh, bounds_of_texts)
{
	static const struct {
		const char *text;
		double x; /* the greatest; 0: no box is known */
	} cases[] = {
		{"v 1 2 3\nf 1 1 1\n", 1},
		{"v 1 2 3\r\nv 4.5e0 -2 3\r\nf 1 1 1", 4.5},
		{"  v\t1 2 3 \nvn 9 9 9\nvt 9 9\nf 1 1 1\n", 1},
		{"v .5 2. +3 1 1 1\nf 1 1 1\n", 0.5},
		{"# v 9 9 9\nv 1e1 2 3e-2\ng v 9 9 9\nf 1 1 1\n", 10},
		{"v 1 2 3\n", 0},              /* no face */
		{"v 1 2\nf 1 1 1\n", 0},       /* too few numbers */
		{"v 1 2 3 0.5\nf 1 1 1\n", 0}, /* a weight */
		{"v 1 2 3x\nf 1 1 1\n", 0},
		{"v nan 2 3\nf 1 1 1\n", 0},
		{"v 1 2 3e99\nf 1 1 1\n", 0},
		{"v 1 2 1e12\nf 1 1 1\n", 0},            /* out of reach */
		{"v 1 2 \\\n3\nf 1 1 1\n", 0},           /* a continued line */
		{"# a\rv 9 9 9\nv 1 2 3\nf 1 1 1\n", 0}, /* another end of a line */
		{"v 1 2 3\nf 1 1 1\nmtllib \n", 0},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct mesh_bounds bounds;
		bool known = bounds_find("a.OBJ", cases[i].text, strlen(cases[i].text), &bounds);
		cr_assert_eq(known, cases[i].x > 0, "%zu: %s", i, cases[i].text);
		if (known)
			near(bounds.box.hi.x, cases[i].x + 1e-5 * fmax(3, cases[i].x), cases[i].text);
	}
	static const char named[] = "mtllib a b.mtl\nv 1 2 3\nf 1 1 1\n";
	struct mesh_bounds bounds;
	cr_assert(bounds_find("a.obj", named, sizeof named - 1, &bounds));
	cr_assert(bounds.name_count == 1 && bounds.names[0].count == 7 && !memcmp(bounds.names[0].at, "a b.mtl", 7));
}

/* A box off the origin: volume, centre, and the integral of x x^T = V (d d / 12 + c c). */
Test(mesh, moments_of_a_box)
{
	struct mesh block = read_mesh(FILES "block.obj"), box = {0};
	cr_assert(mesh_cut(&block, NULL, false, (struct vec3){2, 3, -4}, &box));
	for (uint32_t i = 0; i < box.points.count; i++)
		box.points.at[i] = vec3_add(box.points.at[i], (struct vec3){5, 6, 7});
	cr_assert(mesh_is_closed(&box));
	struct mesh_moments m = mesh_measure(&box);
	near(m.volume, 24, "volume of a mirrored box");
	near(m.centre.x, 5, "x"), near(m.centre.y, 6, "y"), near(m.centre.z, 7, "z");
	near(m.second.m[0][0], 24 * (4 / 12.0 + 25), "xx");
	near(m.second.m[1][1], 24 * (9 / 12.0 + 36), "yy");
	near(m.second.m[2][2], 24 * (16 / 12.0 + 49), "zz");
	near(m.second.m[0][1], 24 * 30, "xy");
	near(m.second.m[1][2], 24 * 42, "yz");
	mesh_fini(&block);
	mesh_fini(&box);
}

Test(mesh, parts)
{
	struct mesh stool = read_mesh(FILES "stool.obj"), seat = {0}, none = {0};
	cr_assert(mesh_cut(&stool, "seat", false, (struct vec3){1, 1, 1}, &seat));
	near(mesh_measure(&seat).centre.z, 0.43, "the seat is in its place");
	mesh_fini(&seat);
	cr_assert(mesh_cut(&stool, "seat", true, (struct vec3){1, 1, 2}, &seat));
	near(mesh_measure(&seat).centre.z, 0, "centred");
	near(mesh_measure(&seat).volume, 0.6 * 0.6 * 0.12, "scaled");
	cr_assert_not(mesh_cut(&stool, "back", true, (struct vec3){1, 1, 2}, &none));
	mesh_fini(&seat);
	mesh_fini(&stool);
}

/* A part goes by the name of its node or of its mesh, as modelling programs show them; several parts that a format
 * makes of one mesh are it together. */
Test(mesh, names_of_parts)
{
	static const struct {
		const char *file, *name;
		uint32_t triangles;
	} cases[] = {{"named.dae", "Wing", 4}, {"named.dae", "Body", 4}, {"named.dae", "wing_node", 4},
		{"named.dae", "id-wing-mesh", 0}, {"named.obj", "Wing", 4}, {"named.obj", "Left", 4},
		{"named.obj", "Body", 0}, {"named.gltf", "Wing", 4}, {"named.gltf", "BodyNode", 8},
		{"named.gltf", "Body", 8}};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[1000];
		snprintf(path, sizeof path, DATA "%s", cases[i].file);
		struct mesh mesh = read_mesh(path), part = {0};
		bool found = mesh_cut(&mesh, cases[i].name, false, (struct vec3){1, 1, 1}, &part);
		cr_assert_eq(found, cases[i].triangles > 0, "%s of %s", cases[i].name, cases[i].file);
		cr_assert_eq(part.corners.count / 3, cases[i].triangles, "%s of %s: %u", cases[i].name, cases[i].file,
			part.corners.count / 3);
		for (uint32_t k = 0; k < mesh.parts.count && found != (cases[i].triangles > 0); k++)
			fprintf(stderr, "has %s, %s\n", mesh.parts.at[k].name, mesh.parts.at[k].other_name);
		mesh_fini(&part);
		mesh_fini(&mesh);
	}
}

/* An open surface is not closed. */
Test(mesh, open)
{
	struct mesh tiles = read_mesh(FILES "tiles.obj");
	cr_assert_not(mesh_is_closed(&tiles));
	struct trimesh trimesh;
	struct trimesh_triangle t;
	trimesh_of_mesh(&tiles, &trimesh);
	uint32_t rims = 0;
	for (uint32_t i = 0; i < trimesh.triangle_count; i++) {
		trimesh_get(&trimesh, i, &t);
		trimesh_look_around(&trimesh, i, &t);
		near(t.normal.z, 1, "normal");
		bool rim = t.rim[0] || t.rim[1] || t.rim[2];
		rims += (uint32_t)(t.rim[0] + t.rim[1] + t.rim[2]);
		cr_assert(!rim || t.ridged);
	}
	cr_assert_eq(rims, 40);
	trimesh_fini(&trimesh);
	mesh_fini(&tiles);
}

/* --- the process that reads ------------------------------------------------------------------------------------- */

/* Reads files of every accepted kind, one after the other in one process; and the files that these name. */
Test(mesh, kinds)
{
	static const struct {
		const char *name;
		uint32_t triangles, parts;
	} cases[] = {{"sound.obj", 4, 2}, {"sound_text.stl", 4, 1}, {"sound_binary.stl", 4, 1}, {"sound.dae", 8, 4},
		{"sound.glb", 8, 2}, {"sound.gltf", 8, 2}, {"sound_aside.gltf", 8, 2}};
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	for (size_t i = 0; i < 3 * ARRAY_LEN(cases); i++) {
		const char *name = cases[i % ARRAY_LEN(cases)].name;
		struct mesh mesh = {0};
		struct troupe_error error = {0};
		siginfo_t ended = {0};
		char path[1000];
		snprintf(path, sizeof path, DATA "%s", name);
		cr_assert_eq(importer_mesh(importer, &losses, &files, path, &mesh, &error), TROUPE_OK, "%s: %s", path,
			error.text);
		cr_assert_eq(mesh.corners.count / 3, cases[i % ARRAY_LEN(cases)].triangles, "%s: %u triangles", name,
			mesh.corners.count / 3);
		cr_assert_eq(
			mesh.parts.count, cases[i % ARRAY_LEN(cases)].parts, "%s: %u parts", name, mesh.parts.count);
		mesh_fini(&mesh);
		cr_assert_eq(
			waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT), 0, "there is no importer's process");
		cr_assert_eq(ended.si_pid, 0, "a process ended, though all went well");
	}
	cr_assert_eq(files_look(&(struct files){.before = &files, .closed = true}, DATA "side.bin"), FILES_FILE,
		"a file that another file names is kept, too");
	cr_assert_eq(files_look(&(struct files){.before = &files, .closed = true}, DATA "side.mtl"), FILES_FILE);
	importer_destroy(importer);
	cr_assert_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_assert_eq(errno, ECHILD, "the importer's process still exists");
	files_fini(&files);
}

/* Nodes in nodes: the transform of the outer node is applied last. */
Test(mesh, nested_nodes)
{
	/* a tetrahedron with corners at the origin and at 1 m along each axis */
	static const char text[] =
		"{\"asset\": {\"version\": \"2.0\"}, \"scene\": 0, \"scenes\": [{\"nodes\": [0]}], \"nodes\": "
		"[{\"scale\": [2, 1, 1], \"children\": [1]}, {\"translation\": [1, 0, 0], \"children\": [2]}, "
		"{\"scale\": [3, 1, 1], \"mesh\": 0}], \"meshes\": [{\"primitives\": [{\"attributes\": {\"POSITION\": "
		"0}, \"indices\": 1}]}], \"accessors\": [{\"bufferView\": 0, \"componentType\": 5126, \"count\": 4, "
		"\"type\": \"VEC3\", \"min\": [0, 0, 0], \"max\": [1, 1, 1]}, {\"bufferView\": 1, \"componentType\": "
		"5123, \"count\": 12, \"type\": \"SCALAR\"}], \"bufferViews\": [{\"buffer\": 0, \"byteLength\": 48}, "
		"{\"buffer\": 0, \"byteOffset\": 48, \"byteLength\": 24}], \"buffers\": [{\"byteLength\": 72, \"uri\": "
		"\"data:application/"
		"octet-stream;base64,AAAAAAAAAAAAAAAAAACAPwAAAAAAAAAAAAAAAAAAgD8AAAAAAAAAAAAAAAAAAIA/"
		"AAACAAEAAAABAAMAAAADAAIAAQACAAMA\"}]}";
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct mesh mesh = {0};
	struct troupe_error error = {0};
	files_add(&files, "nested.gltf", text, sizeof text - 1);
	files.closed = true;
	cr_assert_eq(
		importer_mesh(importer, &losses, &files, "nested.gltf", &mesh, &error), TROUPE_OK, "%s", error.text);
	double least = 1e9, most = -1e9;
	for (uint32_t i = 0; i < mesh.points.count; i++) {
		least = fmin(least, mesh.points.at[i].x);
		most = fmax(most, mesh.points.at[i].x);
	}
	near(least, 2 * (1 + 3 * 0), "the least x");
	near(most, 2 * (1 + 3 * 1), "the greatest x");
	mesh_fini(&mesh);
	importer_destroy(importer);
	files_fini(&files);
}

/* Two files of the same shape, of which one leaves out digits before decimal points, in all signs and after tabs. */
Test(mesh, bare_points)
{
	static const char *const texts[] = {
		"# an .obj\nv .5 -.25 +.75\nv\t.125\t-0.5 1.5\nv 3. -.5 .0625\nv 0 0 -.5e1\nvt .5 .25\nvn 0 -.6 .8\n"
		"f 1/1/1 2/1/1 3/1/1\nf 1 3 4\nf 1 4 2\nf 2 4 3\n",
		"# an .obj\nv 0.5 -0.25 +0.75\nv\t0.125\t-0.5 1.5\nv 3.0 -0.5 0.0625\nv 0 0 -5\nvt 0.5 0.25\nvn 0 -0.6 "
		"0.8\n"
		"f 1/1/1 2/1/1 3/1/1\nf 1 3 4\nf 1 4 2\nf 2 4 3\n"};
	struct files files = {.closed = true};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct mesh meshes[2] = {0};
	for (int i = 0; i < 2; i++) {
		const char *name = i == 0 ? "bare.OBJ" : "full.obj";
		struct troupe_error error = {0};
		files_add(&files, name, texts[i], strlen(texts[i]));
		cr_assert_eq(importer_mesh(importer, &losses, &files, name, &meshes[i], &error), TROUPE_OK, "%s: %s",
			name, error.text);
	}
	cr_assert_eq(meshes[0].corners.count, 12);
	cr_assert_eq(meshes[0].points.count, meshes[1].points.count);
	for (uint32_t i = 0; i < meshes[0].points.count; i++)
		cr_assert(
			!memcmp(&meshes[0].points.at[i], &meshes[1].points.at[i], sizeof(struct vec3)), "point %u", i);
	mesh_fini(&meshes[0]);
	mesh_fini(&meshes[1]);
	importer_destroy(importer);
	files_fini(&files);
}

/* No file outside a closed set is looked for, even if a file of the set names it. */
Test(mesh, closed_set)
{
	struct files open = {0}, closed = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct mesh mesh = {0};
	struct troupe_error error = {0};
	const char *bytes;
	size_t count;
	cr_assert_eq(files_read(&open, DATA "sound_aside.gltf", 1 << 20, &bytes, &count, &error), TROUPE_OK);
	files_add(&closed, DATA "sound_aside.gltf", bytes, count);
	closed.closed = true;
	cr_assert_eq(importer_mesh(importer, &losses, &closed, DATA "sound_aside.gltf", &mesh, &error), TROUPE_EWORLD);
	cr_assert(strstr(error.text, "side.bin"), "%s", error.text);
	cr_assert_eq(importer_mesh(importer, &losses, &closed, DATA "sound.obj", &mesh, &error), TROUPE_EIO);
	importer_destroy(importer);
	files_fini(&open);
	files_fini(&closed);
}

/* The process of an importer, which is a child of another thread; 0 when the kernel does not say. */
static int child_of_this(void)
{
	int child = 0;
	glob_t found = {0};
	(void)glob("/proc/self/task/*/children", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc && !child; i++) {
		FILE *file = fopen(found.gl_pathv[i], "r");
		if (file && fscanf(file, "%d", &child) != 1)
			child = 0;
		if (file)
			fclose(file);
	}
	globfree(&found);
	return child;
}

/* If the process dies between two files, or because of an earlier file, the next file is read all the same. */
Test(mesh, another_process)
{
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct mesh mesh = {0};
	struct troupe_error error = {0};
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(importer_mesh(importer, &losses, &files, DATA "sound.obj", &mesh, &error), TROUPE_OK, "%s",
			error.text);
		mesh_fini(&mesh);
		int child = child_of_this();
		if (child)
			cr_assert_eq(kill(child, SIGKILL), 0);
	}
	importer_destroy(importer);
	files_fini(&files);
}

struct asker {
	struct importer *importer;
	uint32_t read;
};

static void *ask_often(void *ctx)
{
	struct asker *asker = ctx;
	struct importer_losses losses = {0};
	for (int i = 0; i < 5; i++) {
		struct files files = {0};
		struct mesh mesh = {0};
		struct troupe_error error;
		asker->read += !importer_mesh(asker->importer, &losses, &files, DATA "sound.obj", &mesh, &error) &&
			       mesh.corners.count;
		mesh_fini(&mesh);
		files_fini(&files);
	}
	return NULL;
}

/* Threads read at the same time, and then end. The child belongs to none of them, and stays. */
Test(mesh, several_threads)
{
	struct importer *importer = importer_create();
	int child = 0;
	for (int round = 0; round < 2; round++) {
		pthread_t threads[4];
		struct asker askers[4];
		for (int i = 0; i < 4; i++) {
			askers[i] = (struct asker){importer, 0};
			cr_assert_eq(pthread_create(&threads[i], NULL, ask_often, &askers[i]), 0);
		}
		for (int i = 0; i < 4; i++) {
			(void)pthread_join(threads[i], NULL);
			cr_assert_eq(askers[i].read, 5);
		}
		int now = child_of_this();
		cr_assert(!round || now == child, "the child of the first round was %d, now it is %d", child, now);
		child = now;
	}
	importer_destroy(importer);
	cr_assert_eq(child_of_this(), 0);
}

/* Files that kill the process that reads them: each is an error, and other files are still read, until it happens too
 * often. */
Test(mesh, deaths)
{
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct mesh mesh = {0};
	struct troupe_error error = {0};
	uint32_t deaths = 0;
	for (int i = 0; i < 60; i++) {
		troupe_status status = importer_mesh(importer, &losses, &files, DATA "broken_3.gltf", &mesh, &error);
		deaths += status == TROUPE_EINTERNAL;
		cr_assert_eq(mesh.points.at, NULL);
		mesh_fini(&mesh);
		if (i >= 3)
			continue;
		cr_assert_eq(importer_mesh(importer, &losses, &files, DATA "sound.obj", &mesh, &error), TROUPE_OK, "%s",
			error.text);
		mesh_fini(&mesh);
	}
	if (deaths == 60)
		cr_assert_str_eq(error.text, "not read, because reading other files took too long or failed too often");
	else
		cr_log_info("this version of assimp reads, or refuses, the broken file: %u deaths", deaths);
	losses = (struct importer_losses){0};
	cr_assert_eq(importer_mesh(importer, &losses, &files, DATA "sound.obj", &mesh, &error), TROUPE_OK,
		"another world: %s", error.text);
	mesh_fini(&mesh);
	importer_destroy(importer);
	files_fini(&files);
}

/* --- hulls ------------------------------------------------------------------------------------------------------ */

Test(mesh, hull_of_a_cube)
{
	struct vec3 points[27 + 100];
	struct hull hull = {0};
	uint32_t count = 0;
	uint64_t seed = 1;
	for (int x = -1; x <= 1; x++)
		for (int y = -1; y <= 1; y++)
			for (int z = -1; z <= 1; z++)
				points[count++] = (struct vec3){x, y, z};
	for (int i = 0; i < 100; i++)
		points[count++] = (struct vec3){
			random_between(&seed, -1, 1), random_between(&seed, -1, 1), random_between(&seed, -1, 1)};
	cr_assert_eq(hull_make(points, count, &hull, NULL), TROUPE_OK);
	cr_assert_eq(hull.points.count, 8);
	cr_assert_eq(hull.faces.count, 6, "coplanar facets are one: %u", hull.faces.count);
	for (uint32_t f = 0; f < hull.faces.count; f++) {
		cr_assert_eq(hull.faces.at[f].count, 4);
		near(hull.faces.at[f].offset, 1, "offset");
	}
	hull_fini(&hull);
}

/* Every point is inside, every face is counter-clockwise from outside, every edge has two faces. */
Test(mesh, hulls_of_clouds)
{
	uint64_t seed = 3;
	for (int trial = 0; trial < 30; trial++) {
		struct vec3 points[200];
		struct hull hull = {0};
		uint32_t edges = 0;
		for (size_t i = 0; i < ARRAY_LEN(points); i++)
			points[i] = (struct vec3){random_between(&seed, -1, 1), random_between(&seed, -1, 1),
				random_between(&seed, -1, 1) * 0.1};
		cr_assert_eq(hull_make(points, ARRAY_LEN(points), &hull, NULL), TROUPE_OK);
		for (uint32_t f = 0; f < hull.faces.count; f++) {
			const struct hull_face *face = &hull.faces.at[f];
			edges += face->count;
			for (size_t i = 0; i < ARRAY_LEN(points); i++)
				cr_assert(vec3_dot(face->normal, points[i]) <= face->offset + 1e-9);
			for (uint32_t i = 0; i < face->count; i++) {
				struct vec3 a = hull.points.at[hull.corners.at[face->first + i]],
					    b = hull.points.at[hull.corners.at[face->first + (i + 1) % face->count]];
				struct vec3 in = vec3_cross(face->normal, vec3_sub(b, a));
				for (uint32_t k = 0; k < face->count; k++) {
					struct vec3 c = hull.points.at[hull.corners.at[face->first + k]];
					cr_assert(vec3_dot(in, vec3_sub(c, a)) > -1e-9, "a face is seen from inside");
				}
			}
		}
		cr_assert_eq(hull.points.count + hull.faces.count, edges / 2 + 2, "Euler");
		hull_fini(&hull);
	}
}

/* The points of the two ends of a can, rounded to six digits: the hull has many faces there, and its sides are the ends
 * and the mantle. A side touches the hull, and no corner of its faces is farther inside than the slack. */
Test(mesh, sides_of_rounded_hulls)
{
	enum { CORNERS = 40 };
	for (double size = 1e-3; size < 1000; size *= 10) {
		struct vec3 points[2 * CORNERS];
		struct hull hull = {0};
		struct quat turn = quat_from_rpy(0.7, 0.4, 0.9);
		uint32_t ends = 0;
		for (int i = 0; i < 2 * CORNERS; i++) {
			double at = 2 * M_PI * i / CORNERS;
			struct vec3 p = {size * cos(at), size * sin(at), i < CORNERS ? size : -size};
			char text[100];
			p = quat_rotate(turn, p);
			snprintf(text, sizeof text, "%.6g %.6g %.6g", p.x, p.y, p.z);
			cr_assert_eq(sscanf(text, "%lf %lf %lf", &points[i].x, &points[i].y, &points[i].z), 3);
		}
		cr_assert_eq(hull_make(points, ARRAY_LEN(points), &hull, NULL), TROUPE_OK);
		cr_assert(hull.slack > 0 && hull.slack < 1e-5 * 4 * size + 2e-6 && hull.faces.count > hull.sides.count);
		cr_assert_eq(hull.sides.count, CORNERS + 2, "%g m: %u", size, hull.sides.count);
		for (uint32_t i = 0; i < hull.sides.count; i++) {
			const struct hull_face *side = &hull.sides.at[i];
			struct vec3 n = side->normal;
			double farthest = -INFINITY;
			ends += side->count >= CORNERS - 2;
			for (uint32_t k = 0; k < hull.points.count; k++)
				farthest = fmax(farthest, vec3_dot(n, hull.points.at[k]));
			cr_assert_float_eq(farthest, side->offset, 1e-12 * size);
			for (uint32_t k = 0; k < side->count; k++) {
				struct vec3 a = hull.side_points.at[side->first + k],
					    b = hull.side_points.at[side->first + (k + 1) % side->count];
				struct vec3 in = vec3_cross(n, vec3_sub(b, a));
				cr_assert_float_eq(vec3_dot(n, a), side->offset, 2 * hull.slack);
				for (uint32_t l = 0; l < side->count; l++)
					cr_assert(vec3_dot(in, vec3_sub(hull.side_points.at[side->first + l], a)) >
						  -hull.slack * size);
			}
		}
		cr_assert_eq(ends, 2, "%g m: %u ends", size, ends);
		hull_fini(&hull);
	}
}

/* A ball keeps its faces, but for those that happen to be almost in one plane, and a thin plate has both of its sides.
 */
Test(mesh, sides_of_other_hulls)
{
	struct vec3 points[400];
	struct hull hull = {0};
	for (int i = 0; i < 400; i++) {
		double z = 1 - (2 * i + 1.0) / 400, r = sqrt(1 - z * z), turn = 2.4 * i;
		points[i] = (struct vec3){r * cos(turn), r * sin(turn), z};
	}
	cr_assert_eq(hull_make(points, 400, &hull, NULL), TROUPE_OK);
	cr_assert(hull.sides.count >= 0.95 * hull.faces.count, "%u of %u", hull.sides.count, hull.faces.count);
	hull_fini(&hull);
	for (int i = 0; i < 8; i++)
		points[i] = (struct vec3){i & 1 ? 1 : -1, i & 2 ? 1 : -1, i & 4 ? 2e-6 : -2e-6};
	cr_assert_eq(hull_make(points, 8, &hull, NULL), TROUPE_OK);
	cr_assert_eq(hull.sides.count, 6, "%u", hull.sides.count);
	hull_fini(&hull);
}

Test(mesh, hull_of_nothing)
{
	struct vec3 flat[5] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}, {0.5, 0.5, 0}}, same[6] = {{0, 0, 0}};
	struct hull hull = {0};
	struct troupe_error error;
	cr_assert_eq(hull_make(flat, 5, &hull, &error), TROUPE_EWORLD);
	cr_assert_eq(hull_make(same, 6, &hull, &error), TROUPE_EWORLD);
	cr_assert_eq(hull_make(flat, 2, &hull, &error), TROUPE_EWORLD);
	cr_assert_eq(hull.points.count, 0);
}

/* --- convex pieces ------------------------------------------------------------------------------------------------ */

static struct mesh only_part_of(const struct mesh *mesh, uint32_t index)
{
	struct mesh part = {0};
	const struct mesh_part *from = &mesh->parts.at[index];
	for (uint32_t i = 0; i < mesh->points.count; i++)
		mesh_add_point(&part, mesh->points.at[i]);
	for (uint32_t t = from->first; t < from->first + from->count; t++)
		mesh_add_triangle(
			&part, mesh->corners.at[3 * t], mesh->corners.at[3 * t + 1], mesh->corners.at[3 * t + 2]);
	vec_push(&part.parts, ((struct mesh_part){"", "", 0, from->count, MESH_NONE}));
	mesh_weld(&part);
	return part;
}

/* Whether the point lies inside of the part, by more than a little; the part is convex. */
static bool mesh_holds(const struct mesh *part, struct vec3 point, double by)
{
	for (uint32_t i = 0; i < part->corners.count; i += 3) {
		struct vec3 a = part->points.at[part->corners.at[i]];
		struct vec3 n = vec3_cross(vec3_sub(part->points.at[part->corners.at[i + 1]], a),
			vec3_sub(part->points.at[part->corners.at[i + 2]], a));
		if (vec3_dot(vec3_unit(n), vec3_sub(point, a)) > -by)
			return false;
	}
	return true;
}

static bool some_holds(const struct mesh *pieces, struct vec3 point, double by)
{
	bool found = false;
	for (uint32_t i = 0; i < pieces->parts.count; i++) {
		struct mesh part = only_part_of(pieces, i);
		found = found || mesh_holds(&part, point, by);
		mesh_fini(&part);
	}
	return found;
}

/* Cuts the mesh, twice with the same result, into pieces that are convex and closed. Returns the sum of their volumes.
 */
static double decompose(const struct mesh *mesh, uint32_t hulls, uint32_t voxels, struct mesh *ret_pieces)
{
	struct mesh again = {0};
	struct troupe_error error;
	double volume = 0;
	*ret_pieces = (struct mesh){0};
	cr_assert_eq(decompose_mesh(mesh, hulls, voxels, ret_pieces, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(decompose_mesh(mesh, hulls, voxels, &again, &error), TROUPE_OK);
	cr_assert(again.points.count == ret_pieces->points.count && again.corners.count == ret_pieces->corners.count);
	cr_assert(!memcmp(again.points.at, ret_pieces->points.at, again.points.count * sizeof *again.points.at));
	cr_assert(!memcmp(again.corners.at, ret_pieces->corners.at, again.corners.count * sizeof *again.corners.at));
	cr_assert_leq(ret_pieces->parts.count, hulls);
	mesh_fini(&again);
	for (uint32_t i = 0; i < ret_pieces->parts.count; i++) {
		struct mesh part = only_part_of(ret_pieces, i);
		struct mesh_moments m = mesh_measure(&part);
		cr_assert(mesh_is_closed(&part));
		cr_assert(m.volume > 0 && mesh_holds(&part, m.centre, 0), "piece %u is not convex", i);
		for (uint32_t k = 0; k < part.points.count; k++)
			cr_assert(mesh_holds(&part, part.points.at[k], -1e-9));
		volume += m.volume;
		mesh_fini(&part);
	}
	return volume;
}

static struct mesh prism(const struct vec3 *outline, uint32_t count, struct quat turned)
{
	struct mesh mesh = {0};
	struct troupe_error error;
	cr_assert_eq(mesh_extrude(&(struct mesh_outline){outline, count}, 1, 1, false, &mesh, &error), TROUPE_OK);
	for (uint32_t i = 0; i < mesh.points.count; i++)
		mesh.points.at[i] = quat_rotate(turned, mesh.points.at[i]);
	return mesh;
}

/* A channel whose walls are 0.3 thick: three pieces, and its inside stays open. */
Test(mesh, a_channel_is_cut_at_its_walls)
{
	static const struct vec3 outline[] = {
		{0, 0, 0}, {3, 0, 0}, {3, 2, 0}, {2.7, 2, 0}, {2.7, 0.3, 0}, {0.3, 0.3, 0}, {0.3, 2, 0}, {0, 2, 0}};
	const struct quat turns[] = {QUAT_IDENTITY, quat_from_rpy(0.7, 0.3, 0.5)};
	for (size_t i = 0; i < ARRAY_LEN(turns); i++) {
		struct mesh channel = prism(outline, ARRAY_LEN(outline), turns[i]), pieces;
		double volume = decompose(&channel, 16, 200000, &pieces);
		cr_assert_float_eq(volume, 1.92, i ? 0.6 : 1e-9, "%g", volume);
		cr_assert(i || pieces.parts.count == 3, "%u pieces", pieces.parts.count);
		for (int k = 0; k < 10; k++) {
			struct vec3 inside = {0.8 + 0.15 * k, 0.8 + 0.1 * k, 0.5};
			cr_assert(!some_holds(&pieces, quat_rotate(turns[i], inside), 0), "the channel is filled");
			cr_assert(some_holds(
				&pieces, quat_rotate(turns[i], (struct vec3){0.3 * k + 0.1, 0.15, 0.5}), -1e-6));
			cr_assert(some_holds(&pieces, quat_rotate(turns[i], (struct vec3){0.15, 0.2 * k, 0.5}), -1e-6));
			cr_assert(some_holds(&pieces, quat_rotate(turns[i], (struct vec3){2.85, 0.2 * k, 0.5}), -1e-6));
		}
		mesh_fini(&pieces);
		volume = decompose(&channel, 2, 20000, &pieces);
		cr_assert_gt(volume, 1.9);
		mesh_fini(&pieces);
		mesh_fini(&channel);
	}
}

/* A ring: no cut with a plane makes it more convex, two do. */
Test(mesh, a_ring_keeps_its_hole)
{
	enum { AROUND = 60, ACROSS = 24 };
	struct mesh ring = {0}, pieces;
	for (int i = 0; i < AROUND; i++)
		for (int k = 0; k < ACROSS; k++) {
			double a = 2 * M_PI * i / AROUND, b = 2 * M_PI * k / ACROSS, r = 1 + 0.25 * cos(b);
			mesh_add_point(&ring, (struct vec3){r * cos(a), r * sin(a), 0.25 * sin(b)});
		}
	for (uint32_t i = 0; i < AROUND; i++)
		for (uint32_t k = 0; k < ACROSS; k++) {
			uint32_t next = (i + 1) % AROUND, beside = (k + 1) % ACROSS;
			mesh_add_triangle(&ring, i * ACROSS + k, next * ACROSS + k, i * ACROSS + beside);
			mesh_add_triangle(&ring, i * ACROSS + beside, next * ACROSS + k, next * ACROSS + beside);
		}
	vec_push(&ring.parts, ((struct mesh_part){"", "", 0, ring.corners.count / 3, MESH_NONE}));
	double volume = decompose(&ring, 16, 200000, &pieces), own = mesh_measure(&ring).volume;
	cr_assert(volume > own && volume < 1.2 * own, "%g of %g", volume, own);
	cr_assert(
		!some_holds(&pieces, (struct vec3){0, 0, 0}, 0) && !some_holds(&pieces, (struct vec3){0.5, 0.2, 0}, 0));
	mesh_fini(&pieces);
	mesh_fini(&ring);
}

/* What is convex stays one piece, however it is turned; so do parts of a file that are. */
Test(mesh, convex_meshes_stay_whole)
{
	static const struct vec3 hexagon[] = {
		{1, 0, 0}, {0.5, 0.9, 0}, {-0.5, 0.9, 0}, {-1, 0, 0}, {-0.5, -0.9, 0}, {0.5, -0.9, 0}};
	for (int i = 0; i < 4; i++) {
		struct mesh mesh = prism(hexagon, 6, quat_from_rpy(0.3 * i, 0.2 * i, 0.1 * i)), pieces;
		double own = mesh_measure(&mesh).volume, volume = decompose(&mesh, 16, 20000, &pieces);
		cr_assert_eq(pieces.parts.count, 1, "%u", pieces.parts.count);
		cr_assert_float_eq(volume, own, 1e-9);
		mesh_fini(&pieces);
		mesh_fini(&mesh);
	}
	struct mesh stool = read_mesh(FILES "stool.obj"), pieces;
	double volume = decompose(&stool, 16, 200000, &pieces);
	cr_assert_eq(pieces.parts.count, 5);
	cr_assert_float_eq(volume, 0.6 * 0.6 * 0.06 + 4 * 0.06 * 0.06 * 0.4, 1e-7, "%.12g", volume); /* floats */
	mesh_fini(&pieces);
	(void)decompose(&stool, 3, 200000, &pieces); /* fewer than it has parts */
	mesh_fini(&pieces);
	mesh_fini(&stool);
}

/* An open box of single triangles becomes walls of about a voxel; what has no extent has no pieces. */
Test(mesh, pieces_of_surfaces)
{
	static const struct vec3 corners[] = {
		{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}};
	static const uint32_t triangles[][3] = {{0, 2, 1}, {0, 3, 2}, {0, 1, 5}, {0, 5, 4}, {1, 2, 6}, {1, 6, 5},
		{2, 3, 7}, {2, 7, 6}, {3, 0, 4}, {3, 4, 7}};
	struct mesh box = {0}, nothing = {0}, pieces = {0};
	struct troupe_error error;
	for (size_t i = 0; i < ARRAY_LEN(corners); i++)
		mesh_add_point(&box, corners[i]);
	for (size_t i = 0; i < ARRAY_LEN(triangles); i++)
		mesh_add_triangle(&box, triangles[i][0], triangles[i][1], triangles[i][2]);
	vec_push(&box.parts, ((struct mesh_part){"", "", 0, ARRAY_LEN(triangles), MESH_NONE}));
	double volume = decompose(&box, 16, 200000, &pieces);
	cr_assert(volume > 0.03 && volume < 0.2, "%g", volume);
	cr_assert(!some_holds(&pieces, (struct vec3){0.5, 0.5, 0.5}, 0));
	mesh_fini(&pieces);
	mesh_fini(&box);
	cr_assert_eq(decompose_mesh(&nothing, 16, 200000, &pieces, &error), TROUPE_EWORLD);
	cr_assert_eq(pieces.points.count, 0);
}

/* --- images ----------------------------------------------------------------------------------------------------- */

Test(mesh, images)
{
	struct image image;
	struct files files = {0};
	struct importer *importer = importer_create();
	struct importer_losses losses = {0};
	struct troupe_error error;
	cr_assert_eq(importer_image(importer, &losses, &files, FILES "hills.png", &image, &error), TROUPE_OK, "%s",
		error.text);
	cr_assert_eq(image.columns, 33);
	cr_assert_eq(image.rows, 33);
	near((double)image.values[0], round(65535 * (0.5 + 0.25 * sin(1))) / 65535, "the first pixel");
	free(image.values);
	cr_assert_eq(importer_image(importer, &losses, &files, FILES "block.obj", &image, &error), TROUPE_EWORLD);
	cr_assert_eq(importer_image(importer, &losses, &files, FILES "none.png", &image, &error), TROUPE_EIO);
	importer_destroy(importer);
	files_fini(&files);
}

#endif

/* --- outlines --------------------------------------------------------------------------------------------------- */

static struct mesh_moments extrude(const struct mesh_outline *outlines, uint32_t count, uint32_t most_pieces)
{
	struct mesh solid = {0}, pieces = {0};
	struct troupe_error error;
	cr_assert_eq(mesh_extrude(outlines, count, 2, false, &solid, &error), TROUPE_OK, "%s", error.text);
	cr_assert_eq(mesh_extrude(outlines, count, 2, true, &pieces, &error), TROUPE_OK, "%s", error.text);
	cr_assert(mesh_is_closed(&solid));
	cr_assert_leq(pieces.parts.count, most_pieces, "%u pieces", pieces.parts.count);
	struct mesh_moments m = mesh_measure(&solid);
	cr_assert_float_eq(mesh_measure(&pieces).volume, m.volume, 1e-9);
	mesh_fini(&solid);
	mesh_fini(&pieces);
	return m;
}

Test(mesh, outlines)
{
	static const struct vec3 square[] = {{0, 0, 0}, {4, 0, 0}, {4, 4, 0}, {0, 4, 0}, {0, 0, 0}},
				 hole[] = {{1, 1, 0}, {2, 1, 0}, {2, 2, 0}, {1, 2, 0}},
				 other[] = {{3, 3, 0}, {3.5, 3, 0}, {3.5, 3.5, 0}},
				 island[] = {{1.2, 1.2, 0}, {1.2, 1.7, 0}, {1.7, 1.7, 0}, {1.7, 1.2, 0}},
				 ell[] = {{0, 0, 0}, {3, 0, 0}, {3, 1, 0}, {1, 1, 0}, {1, 3, 0}, {0, 3, 0}};
	const struct mesh_outline all[] = {{square, 5}, {hole, 4}, {other, 3}, {island, 4}}, corner = {ell, 6};
	cr_assert_float_eq(extrude(all, 1, 1).volume, 32, 1e-12);
	cr_assert_float_eq(extrude(all, 2, 8).volume, 30, 1e-12);
	cr_assert_float_eq(extrude(all, 4, 20).volume, 30 - 0.25 + 0.5, 1e-12);
	cr_assert_float_eq(extrude(&corner, 1, 2).volume, 10, 1e-12);
}

/* Rings in rings, in every order: each hole is cut out of the smallest ring around it. */
Test(mesh, outlines_in_outlines)
{
	enum { RINGS = 5 };
	struct vec3 rings[RINGS][4];
	double area = 0;
	uint32_t order[RINGS], rounds = 0;
	for (uint32_t i = 0; i < RINGS; i++) {
		double h = 5 - i;
		const struct vec3 square[] = {{-h, -h, 0}, {h, -h, 0}, {h, h, 0}, {-h, h, 0}};
		memcpy(rings[i], square, sizeof square);
		area += (i % 2 ? -4 : 4) * h * h;
	}
	for (uint32_t code = 0; code < 5 * 4 * 3 * 2; code++, rounds++) {
		uint32_t left[RINGS] = {0, 1, 2, 3, 4}, rest = code;
		struct mesh_outline outlines[RINGS];
		for (uint32_t i = 0; i < RINGS; i++) {
			uint32_t pick = rest % (RINGS - i);
			rest /= RINGS - i;
			order[i] = left[pick];
			left[pick] = left[RINGS - 1 - i];
			outlines[i] = (struct mesh_outline){rings[order[i]], 4};
		}
		cr_assert_float_eq(extrude(outlines, RINGS, 60).volume, 2 * area, 1e-9, "order %u", code);
	}
	cr_assert_eq(rounds, 120);
}

/* A star with many corners, and one with a zigzag: every volume agrees with the shoelace formula. */
Test(mesh, outlines_at_random)
{
	uint64_t seed = 5;
	for (int trial = 0; trial < 50; trial++) {
		struct vec3 points[60];
		double twice = 0;
		for (size_t i = 0; i < ARRAY_LEN(points); i++) {
			double r = random_between(&seed, 0.2, 1.2), a = 2 * M_PI * (double)i / ARRAY_LEN(points);
			points[i] = (struct vec3){r * cos(a), r * sin(a), 0};
		}
		for (size_t i = 0; i < ARRAY_LEN(points); i++) {
			struct vec3 a = points[i], b = points[(i + 1) % ARRAY_LEN(points)];
			twice += a.x * b.y - a.y * b.x;
		}
		struct mesh_outline outline = {points, ARRAY_LEN(points)};
		cr_assert_float_eq(extrude(&outline, 1, 58).volume, twice, 1e-9);
	}
}

Test(mesh, outlines_that_are_none)
{
	static const struct vec3 line[] = {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}},
				 far[] = {{0, 0, 0}, {NAN, 0, 0}, {1, 1, 0}},
				 bow[] = {{0, 0, 0}, {1, 1, 0}, {1, 0, 0}, {0, 1, 0}};
	const struct mesh_outline outlines[] = {{line, 3}, {line, 0}, {far, 3}, {bow, 4}};
	for (size_t i = 0; i < ARRAY_LEN(outlines); i++) {
		struct mesh mesh = {0};
		struct troupe_error error;
		cr_assert_neq(mesh_extrude(&outlines[i], 1, 1, false, &mesh, &error), TROUPE_OK, "outline %zu", i);
		mesh_fini(&mesh);
	}
}

/* The box of a grid holds its lowest and its highest point, wherever these are. */
Test(mesh, box_of_a_grid)
{
	for (uint32_t low = 0; low < 12; low++)
		for (uint32_t high = 0; high < 12; high++) {
			struct trimesh_grid grid = {
				.columns = 4, .rows = 3, .origin = {1, 2, 3}, .dx = 0.5, .dy = 0.25};
			struct trimesh trimesh = {0};
			grid.z = mem_alloc(12 * sizeof *grid.z);
			for (uint32_t i = 0; i < 12; i++)
				grid.z[i] = i == low ? -2 : i == high ? 5 : 1;
			trimesh_of_grid(grid, &trimesh);
			const struct aabb expected = {{1, 1.5, 1}, {2.5, 2, low == high ? 4 : 8}};
			cr_assert(!memcmp(&trimesh.box, &expected, sizeof expected));
			trimesh_fini(&trimesh);
		}
}
