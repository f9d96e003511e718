/* Every kind of shape on every kind of ground, and on every other shape: heights at rest, slides and rolls are
 * compared with values computed by hand. */
#include "config.h"
#include "../random.h"
#include "harness.h"

#include "geom/geom.h"

#include <unistd.h>

#ifdef HAVE_MESHES

TestSuite(shapes, .fini = stop, .timeout = 120);

#define FILES SOURCE_DIR "/worlds/models/shapes/"

static const struct shape {
	const char *name, *geometry, *rpy;
	double height; /* height of its centre above the lower shape */
} shapes[] = {
	{"box", "<box><size>0.6 0.5 0.4</size></box>", "0 0 0.4", 0.2},
	{"sphere", "<sphere><radius>0.3</radius></sphere>", "0 0 0", 0.3},
	{"cylinder", "<cylinder><radius>0.3</radius><length>0.5</length></cylinder>", "0 0 0.2", 0.25},
	{"cylinder, lying", "<cylinder><radius>0.25</radius><length>0.5</length></cylinder>",
		"1.5707963267948966 0 0.3", 0.25},
	{"capsule, lying", "<capsule><radius>0.2</radius><length>0.5</length></capsule>", "1.5707963267948966 0 0.3",
		0.2},
	{"ellipsoid", "<ellipsoid><radii>0.3 0.25 0.15</radii></ellipsoid>", "0 0 0.5", 0.15},
	{"ball as ellipsoid", "<ellipsoid><radii>0.2 0.2 0.2</radii></ellipsoid>", "0 0 0.5", 0.2},
	{"cone", "<cone><radius>0.3</radius><length>0.4</length></cone>", "0 0 0.1", 0.2},
	{"hull of a block", "<mesh><uri>" FILES "block.obj</uri><scale>0.5 0.5 0.6</scale></mesh>", "0 0 0.7", 0.3},
	{"hulls of a stool", "<mesh><uri>" FILES "stool.obj</uri></mesh>", "0 0 0.7", 0},
	{"polyline",
		"<polyline><point>-0.3 -0.2</point><point>0.3 -0.2</point><point>0.3 0.2</point><point>0 "
		"0</point><point>-0.3 0.2</point><height>0.3</height></polyline>",
		"0 0 0.2", 0},
};

static const struct ground {
	const char *name, *geometry;
	double top;
	bool compound; /* the stool's legs would stand beside it */
} grounds[] = {
	{"plane", "<plane><normal>0 0 1</normal></plane>", 0, false},
	{"box", "<box><size>4 4 1</size></box>", 0.5, false},
	{"cylinder", "<cylinder><radius>2</radius><length>1</length></cylinder>", 0.5, false},
	{"mesh", "<mesh><uri>" FILES "tiles.obj</uri><scale>0.4 0.4 1</scale></mesh>", 0, false},
	{"heightmap", "<heightmap><uri>" FILES "flat.png</uri><size>4 4 0.7</size><pos>0 0 0.1</pos></heightmap>", 0.8,
		false},
	{"hull", "<mesh optimization='convex_hull'><uri>" FILES "block.obj</uri><scale>4 4 1</scale></mesh>", 0.5,
		false},
	{"polyline",
		"<polyline><point>-2 -2</point><point>2 -2</point><point>2 2</point><point>-2 "
		"2</point><height>0.6</height></polyline>",
		0.6, false},
};

static double tilt_of(struct troupe_pose p)
{
	return 2 * asin(fmin(1, sqrt(p.qx * p.qx + p.qy * p.qy)));
}

static void add(struct text *out, const char *name, bool is_static, double x, double z, const char *rpy, double mass,
	const char *geometry)
{
	text_add(out,
		"<model name='%s'><static>%d</static><pose>%g 0 %.17g %s</pose><link "
		"name='l'><inertial><mass>%g</mass><inertia><ixx>%g</ixx><iyy>%g</iyy><izz>%g</izz></inertia></"
		"inertial><collision name='c'><geometry>%s</geometry></collision></link></model>",
		name, is_static, x, z, rpy, mass, mass * 0.02, mass * 0.02, mass * 0.02, geometry);
}

/* After 3 s the shape is at its height, except for the depth that contacts permit (1 mm each), and its place and
 * orientation are the same. */
static void check_rest(const char *on, const struct shape *shape, const char *name, double x, double z, double layers)
{
	char what[100];
	struct troupe_pose p = pose_of(name);
	snprintf(what, sizeof what, "%s on %s: height, m", shape->name, on);
	expect(what, p.z, z, 0.0011 * layers);
	cr_assert(
		fabs(p.x - x) < 2e-3 && fabs(p.y) < 2e-3, "%s on %s has moved by %g %g", shape->name, on, p.x - x, p.y);
}

Test(shapes, rest_on_every_ground)
{
	for (size_t g = 0; g < ARRAY_LEN(grounds); g++) {
		struct text text = {0};
		char name[20];
		for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
			snprintf(name, sizeof name, "ground%zu", s);
			if (g > 0 || s == 0)
				add(&text, name, true, 10 * (double)s, 0, "0 0 0", 1, grounds[g].geometry);
			snprintf(name, sizeof name, "shape%zu", s);
			add(&text, name, false, 10 * (double)s, grounds[g].top + shapes[s].height + 0.01, shapes[s].rpy,
				2, shapes[s].geometry);
		}
		start("0 0 -9.8", "%s", text.at);
		text_fini(&text);
		run_until(3);
		for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
			snprintf(name, sizeof name, "shape%zu", s);
			check_rest(grounds[g].name, &shapes[s], name, 10 * (double)s, grounds[g].top + shapes[s].height,
				1);
		}
	}
}

/* Lower shapes with a flat top; each of them carries each shape. */
Test(shapes, rest_on_each_other)
{
	static const struct shape lower[] = {
		{"box", "<box><size>1 1 0.5</size></box>", "0 0 0.3", 0.25},
		{"cylinder", "<cylinder><radius>0.6</radius><length>0.5</length></cylinder>", "0 0 0.3", 0.25},
		{"hull", "<mesh><uri>" FILES "block.obj</uri><scale>1 1 0.5</scale></mesh>", "0 0 0.3", 0.25},
		{"polyline",
			"<polyline><point>-0.5 -0.5</point><point>0.5 -0.5</point><point>0.5 0.5</point><point>-0.5 "
			"0.5</point><height>0.5</height></polyline>",
			"0 0 0.3", 0},
	};
	for (size_t l = 0; l < ARRAY_LEN(lower); l++) {
		struct text text = {0};
		char name[20];
		add(&text, "ground", true, 0, 0, "0 0 0", 1, grounds[0].geometry);
		for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
			snprintf(name, sizeof name, "lower%zu", s);
			add(&text, name, false, 3 * (double)s, lower[l].height, lower[l].rpy, 10, lower[l].geometry);
			snprintf(name, sizeof name, "shape%zu", s);
			add(&text, name, false, 3 * (double)s, 0.5 + shapes[s].height + 0.005, shapes[s].rpy, 2,
				shapes[s].geometry);
		}
		start("0 0 -9.8", "%s", text.at);
		text_fini(&text);
		run_until(3);
		for (size_t s = 0; s < ARRAY_LEN(shapes); s++) {
			snprintf(name, sizeof name, "shape%zu", s);
			char on[40];
			snprintf(on, sizeof on, "a loose %s", lower[l].name);
			check_rest(on, &shapes[s], name, 3 * (double)s, 0.5 + shapes[s].height, 2);
		}
	}
}

/* --- seams ------------------------------------------------------------------------------------------------------ */

#define SURFACE(mu) "<surface><friction><ode><mu>" mu "</mu><mu2>" mu "</mu2></ode></friction></surface>"
#define STATIC(geometry, mu)                                                                                           \
	"<model name='floor'><static>true</static><link name='l'><collision name='c'><geometry>" geometry              \
	"</geometry>" SURFACE(mu) "</collision></link></model>"
#define LOOSE(name, pose, inertia, geometry, mu)                                                                       \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><inertial><mass>2</mass><inertia><ixx>" inertia    \
	"</ixx><iyy>" inertia "</iyy><izz>" inertia                                                                    \
	"</izz></inertia></inertial><collision name='c'><geometry>" geometry                                           \
	"</geometry>" SURFACE(mu) "</collision></link></model>"
#define BOXES                                                                                                          \
	LOOSE("box", "-3.5 0.13 0.199 0 0 0.2", "0.05", "<box><size>0.6 0.5 0.4</size></box>", "0.2")                  \
	LOOSE("hull", "-3.5 2.1 0.199 0 0 0.2", "0.05",                                                                \
		"<mesh><uri>" FILES "block.obj</uri><scale>0.6 0.5 0.4</scale></mesh>", "0.2")                         \
	LOOSE("ball", "-3.5 -2.2 0.299 0 0 0", "0.072", "<sphere><radius>0.3</radius></sphere>", "1")                  \
	LOOSE("roller", "-3.5 -3.5 0.249 1.5707963267948966 0 0", "0.0625",                                            \
		"<cylinder><radius>0.25</radius><length>0.4</length></cylinder>", "1")

static const char *const seamed[][2] = {
	{"mesh", STATIC("<mesh><uri>" FILES "tiles.obj</uri></mesh>", "1")},
	{"heightmap", STATIC("<heightmap><uri>" FILES "flat.png</uri><size>10 10 1</size><pos>0 0 -1</pos></heightmap>",
			      "1")},
};

/* A negative height exchanges bright and dark: the dark ground of the bowl becomes the top of a hill. */
Test(shapes, heightmaps_turned_over)
{
	double rests[2];
	for (int turned = 0; turned < 2; turned++) {
		start("0 0 -9.8",
			"<model name='ground'><static>true</static><link name='l'><collision "
			"name='c'><geometry><heightmap><uri>" FILES
			"bowl.png</uri><size>6 6 %s</size></heightmap></geometry></collision></link></model><model "
			"name='ball'><pose>0 0 2 0 0 0</pose><link name='l'><collision "
			"name='c'><geometry><sphere><radius>0.3</radius></sphere></geometry></collision></link></"
			"model>",
			turned ? "-1.5" : "1.5");
		run_until(1);
		rests[turned] = pose_of("ball").z;
	}
	/* the bowl's ground is dark: its height is 0; turned over it is the top */
	expect("in a bowl: the ball lies at, m", rests[0], 0.3, 0.05);
	expect("on a bowl turned over: the ball lies at, m", rests[1], 1.8, 0.05);
}

/* On a flat floor cut into triangles all results are those on a plane. */
Test(shapes, slide_and_roll_over_seams)
{
	static const char *const names[] = {"box", "hull", "ball", "roller"};
	struct troupe_pose plane[ARRAY_LEN(names)];
	start("2.5 0 -9.8", STATIC("<plane><normal>0 0 1</normal></plane>", "1") BOXES);
	run_until(2);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		plane[i] = pose_of(names[i]);
	expect("box on plane, slides, m", plane[0].x + 3.5, (2.5 - 0.2 * G) * 2 * 2 / 2, 5e-3);
	expect("ball on plane, rolls, m", plane[2].x + 3.5, 2.5 * 5 / 7 * 2 * 2 / 2, 5e-3);
	for (size_t g = 0; g < ARRAY_LEN(seamed); g++) {
		double highest[ARRAY_LEN(names)] = {0};
		start("2.5 0 -9.8", "%s" BOXES, seamed[g][1]);
		for (int step = 1; step <= 200; step++) {
			run_until(step * 0.01);
			for (size_t i = 0; i < ARRAY_LEN(names); i++)
				highest[i] = fmax(highest[i], pose_of(names[i]).z);
		}
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			char what[80];
			struct troupe_pose p = pose_of(names[i]);
			snprintf(what, sizeof what, "%s over %s as on plane: x, m", names[i], seamed[g][0]);
			expect(what, p.x, plane[i].x, 2e-3);
			snprintf(what, sizeof what, "%s over %s as on plane: y, m", names[i], seamed[g][0]);
			expect(what, p.y, plane[i].y, 2e-3);
			snprintf(what, sizeof what, "%s over %s does not hop: highest, m", names[i], seamed[g][0]);
			expect(what, highest[i], plane[i].z, 5e-4);
			snprintf(what, sizeof what, "%s over %s stays level: tilt, rad", names[i], seamed[g][0]);
			if (i < 2)
				expect(what, tilt_of(p), tilt_of(plane[i]), 1e-3);
		}
	}
}

/* A ramp of 1 in 2 from a COLLADA file in centimetres. */
Test(shapes, slide_down_a_ramp)
{
	double angle = atan(0.5), a = G * (sin(angle) - 0.2 * cos(angle)), x0 = 1.6, t = 0.8;
	start("0 0 -9.8",
		STATIC("<mesh><uri>" FILES "ramp.dae</uri></mesh>", "1")
			LOOSE("box", "%.17g 0 %.17g 0 %.17g 0", "0.05", "<box><size>0.3 0.3 0.2</size></box>", "0.2"),
		x0 - sin(angle) * 0.1, x0 / 2 + cos(angle) * 0.1, -angle);
	run_until(t);
	struct troupe_pose p = pose_of("box");
	double travelled = (x0 - sin(angle) * 0.1 - p.x) / cos(angle);
	expect("box down a ramp of 26.6 deg, m", travelled, a * t * t / 2, 8e-3);
	expect("  tilt, rad", tilt_of(p), angle, 2e-3);
}

/* Across a ridge between two slopes of a roof: a plank lies on it, level. */
Test(shapes, rest_on_a_ridge)
{
	start("0 0 -9.8", "<model name='roof'><static>true</static><pose>0 0 0 1.5707963267948966 0 0</pose><link "
			  "name='l'><collision name='c'><pose>0 0 -2 0 0 0</pose><geometry><polyline><point>-1 "
			  "0</point><point>1 0</point><point>0 "
			  "0.5</point><height>4</height></polyline></geometry></collision></link></model>" LOOSE(
				  "plank", "0 0 0.552 0 0 0", "0.2", "<box><size>1 0.4 0.1</size></box>", "1"));
	run_until(0.5);
	struct troupe_pose p = pose_of("plank");
	expect("plank on a ridge: height, m", p.z, 0.55, 1.1e-3);
	expect("plank on a ridge: tilt, rad", tilt_of(p), 0, 2e-2);
}

/* Shapes are dropped at odd angles on a hilly heightmap and on each other: none falls through, none flies off. */
Test(shapes, heap_on_hills)
{
	struct text text = {0};
	text_add(&text, "<model name='hills'><static>true</static><link name='l'><collision "
			"name='c'><geometry><heightmap><uri>" FILES
			"hills.png</uri><size>6 6 1</size></heightmap></geometry></collision></link></model>");
	for (size_t i = 0; i < 33; i++) {
		char name[20], rpy[60];
		snprintf(name, sizeof name, "m%zu", i);
		snprintf(rpy, sizeof rpy, "%g %g %g", 0.7 * (double)i, 0.4 * (double)i, 0.3 * (double)i);
		add(&text, name, false, -0.6 + 0.12 * (double)(i % 11), 1.6 + 0.5 * (double)(i / 2), rpy, 2,
			shapes[i % ARRAY_LEN(shapes)].geometry);
	}
	start("0 0 -9.8", "%s", text.at);
	text_fini(&text);
	run_until(6);
	for (size_t i = 0; i < 33; i++) {
		char name[20];
		snprintf(name, sizeof name, "m%zu", i);
		struct troupe_pose p = pose_of(name);
		bool inside = fabs(p.x) < 3 && fabs(p.y) < 3;
		cr_assert(p.z < 4 && (!inside || p.z > -0.1), "%s (%s) is at %g %g %g", name,
			shapes[i % ARRAY_LEN(shapes)].name, p.x, p.y, p.z);
	}
}

/* --- what stands -------------------------------------------------------------------------------------------------- */

/* An open room: 4 m by 4 m inside, a floor that is 0.2 m thick, walls of 1 m. */
static void write_room(const char *path)
{
	static const double half[] = {2.2, 2.2, 2, 2}, z[] = {0, 1, 0.2, 1};
	FILE *file = fopen(path, "w");
	cr_assert(file);
	for (int ring = 0; ring < 4; ring++) /* outside below and above, inside below and above */
		for (int i = 0; i < 4; i++)
			fprintf(file, "v %g %g %g\n", i == 1 || i == 2 ? half[ring] : -half[ring],
				i > 1 ? half[ring] : -half[ring], z[ring]);
	for (int i = 0; i < 4; i++) {
		int k = (i + 1) % 4;
		fprintf(file, "f %d %d %d %d\nf %d %d %d %d\nf %d %d %d %d\n", 1 + i, 1 + k, 5 + k, 5 + i, 9 + k, 9 + i,
			13 + i, 13 + k, 5 + i, 5 + k, 13 + k, 13 + i);
	}
	fprintf(file, "f 4 3 2 1\nf 9 10 11 12\n");
	cr_assert_eq(fclose(file), 0);
}

#define LINK_OF(name, geometry)                                                                                        \
	"<link name='" name "'><collision name='c'><geometry>" geometry "</geometry></collision></link>"
#define BALL_LINK                                                                                                      \
	"<link "                                                                                                       \
	"name='ball'><inertial><mass>1</mass><inertia><ixx>0.016</ixx><iyy>0.016</iyy><izz>0.016</izz></inertia></"    \
	"inertial><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry></collision></link>"
#define STATIC_OF(geometry) "<model name='hall'><static>true</static>" LINK_OF("l", geometry) "</model>"

/* How the same ground stands in the world: as a model by itself, in models that move, or by a fixed joint. The ball is
 * a model by itself, or a part of the model around the ground. */
static const struct {
	const char *name, *before, *after, *ball;
	bool is_model; /* the ground is a static model; else a link */
} standings[] = {
	{"a static model", "", "", "ball", true},
	{"in a model", "<model name='outer'>", "</model>", "ball", true},
	{"in a model of a model", "<model name='outer'><model name='inner'>", "</model></model>", "ball", true},
	{"in a model that moves, too", "<model name='outer'><link name='far'><pose>50 0 5 0 0 0</pose></link>",
		"</model>", "ball", true},
	{"beside the ball in a model", "<model name='outer'><link name='far'><pose>50 0 5 0 0 0</pose></link>",
		"<model name='ball'><pose>-1 0.5 0.5 0 0 0</pose>" BALL_LINK "</model></model>", NULL, true},
	{"welded to a link of a model", "<model name='outer'><link name='post'><pose>0 0 -5 0 0 0</pose></link>",
		"<joint name='weld' type='fixed'><parent>hall::l</parent><child>post</child></joint></model>", "ball",
		true},
	{"held by a fixed joint", "<model name='outer'>",
		"<joint name='bolt' type='fixed'><parent>world</parent><child>l</child></joint></model>", "ball",
		false},
};

static struct troupe_pose shapes_link_of(const char *model, const char *link)
{
	struct troupe_link_state state;
	cr_assert(troupe_get_link(server, troupe_find_link(server, troupe_find_model(server, 0, model), link), &state));
	return state.pose;
}

static struct troupe_pose ball_in(size_t standing, const char *geometry, const char *gravity)
{
	struct text hall = {0};
	text_add(&hall, standings[standing].is_model ? STATIC_OF("%s") : LINK_OF("l", "%s"), geometry);
	start(gravity, "%s%s%s%s", standings[standing].before, hall.at, standings[standing].after,
		standings[standing].ball ? "<model name='ball'><pose>-1 0.5 0.5 0 0 0</pose>" BALL_LINK "</model>"
					 : "");
	text_fini(&hall);
	run_until(4);
	struct troupe_pose p = standings[standing].ball ? pose_of("ball") : shapes_link_of("outer", "ball::ball");
	return p;
}

Test(shapes, static_models_are_the_same_inside_of_others)
{
	char folder[] = "/tmp/troupe-shapes-XXXXXX", path[100], room[300];
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/room.obj", folder);
	write_room(path);
	snprintf(room, sizeof room, "<mesh><uri>%s</uri></mesh>", path);
	const struct {
		const char *name, *geometry, *gravity;
		struct troupe_pose rest;
	} halls[] = {
		{"room", room, "1 0 -9.8", {.x = 1.8, .y = 0.5, .z = 0.4}},
		{"polyline",
			"<polyline><point>-2 -2</point><point>2 -2</point><point>2 2</point><point>-2 "
			"2</point><height>0.1</height></polyline>",
			"0 0 -9.8", {.x = -1, .y = 0.5, .z = 0.3}},
		{"heightmap",
			"<heightmap><uri>" FILES "flat.png</uri><size>10 10 0.1</size><pos>0 0 0.1</pos></heightmap>",
			"0 0 -9.8", {.x = -1, .y = 0.5, .z = 0.4}},
		{"plane", "<plane><normal>0 0 1</normal></plane>", "0 0 -9.8", {.x = -1, .y = 0.5, .z = 0.2}},
	};
	for (size_t h = 0; h < ARRAY_LEN(halls); h++)
		for (size_t s = 0; s < ARRAY_LEN(standings); s++) {
			char what[100];
			struct troupe_pose p = ball_in(s, halls[h].geometry, halls[h].gravity);
			snprintf(what, sizeof what, "%s %s: height of the ball, m", halls[h].name, standings[s].name);
			expect(what, p.z, halls[h].rest.z, 1.1e-3);
			cr_assert(fabs(p.x - halls[h].rest.x) < 2e-3 && fabs(p.y - halls[h].rest.y) < 2e-3,
				"%s: the ball is at %g %g", what, p.x, p.y);
		}
	(void)unlink(path);
	(void)rmdir(folder);
}

/* --- hulls of rounded coordinates --------------------------------------------------------------------------------- */

/* A mesh in a file has rounded coordinates, so its flat sides are not flat: the hull of a can has many faces at each
 * end, each turned a little from the others. bend: the corners of the ends are also moved inwards, at random. */
static const struct rounded {
	const char *name;
	int decimals, digits;  /* of the numbers in the file; one of them is 0 */
	double scale, in_file; /* m; what the file has for 1 m */
	int corners;
	double bend; /* of the scale */
} rounded[] = {
	{"can of 1 m", 6, 0, 1, 1, 31, 0},
	{"can of 1 m, six digits", 0, 6, 1, 1, 64, 0},
	{"can of 1 mm", 6, 0, 1e-3, 1, 16, 0},
	{"can of 1 mm, in mm", 4, 0, 1e-3, 1000, 40, 0},
	{"can of 3 cm, in inches", 0, 6, 0.03, 1 / 0.0254, 24, 0},
	{"can of 100 m", 0, 6, 100, 1, 100, 0},
	{"can of 100 m, three decimals", 3, 0, 100, 1, 23, 0},
	{"bent can of 1 m", 6, 0, 1, 1, 20, 1e-4},
	{"more bent can of 1 m", 6, 0, 1, 1, 30, 2e-3},
	{"bent can of 10 m", 6, 0, 10, 1, 12, 5e-4},
};

/* The turn in the file, in which nothing lies along an axis, and the turn back. */
#define FILE_TURN quat_from_rpy(0.7, 0.4, 0.9)

static void shapes_turn_back(char text[100])
{
	struct mat3 m = quat_matrix(quat_conj(FILE_TURN));
	snprintf(text, 100, "%.17g %.17g %.17g", atan2(m.m[2][1], m.m[2][2]), -asin(m.m[2][0]),
		atan2(m.m[1][0], m.m[0][0]));
}

static void write_can(const char *path, const struct rounded *can)
{
	FILE *file = fopen(path, "w");
	cr_assert(file);
	double size = can->scale * can->in_file;
	uint64_t random = 1;
	for (int end = -1; end <= 1; end += 2)
		for (int i = 0; i <= can->corners; i++) { /* the last is in the middle */
			double r = i < can->corners ? 0.5 : 0, turn = 2 * M_PI * i / can->corners;
			double in = random_between(&random, 1, 1 - 2 * can->bend);
			struct vec3 p = {r * cos(turn), r * sin(turn), 0.3 * end * in};
			p = vec3_scale(quat_rotate(FILE_TURN, p), size);
			if (can->decimals)
				fprintf(file, "v %.*f %.*f %.*f\n", can->decimals, p.x, can->decimals, p.y,
					can->decimals, p.z);
			else
				fprintf(file, "v %.*g %.*g %.*g\n", can->digits, p.x, can->digits, p.y, can->digits,
					p.z);
		}
	int n = can->corners, up = n + 1;
	for (int i = 0; i < n; i++) {
		int k = (i + 1) % n;
		fprintf(file, "f %d %d %d\nf %d %d %d\nf %d %d %d\nf %d %d %d\n", n + 1, k + 1, i + 1, up + n + 1,
			up + i + 1, up + k + 1, i + 1, k + 1, up + k + 1, i + 1, up + k + 1, up + i + 1);
	}
	cr_assert_eq(fclose(file), 0);
}

static const struct {
	const char *name, *begin;
	double x, y, z; /* of the scale */
	const char *end;
	double top;
} under[] = {
	{"box", "<box><size>", 4, 4, 4, "</size></box>", 2},
	{"mesh", "<mesh><uri>" FILES "tiles.obj</uri><scale>", 0.4, 0.4, 1, "</scale></mesh>", 0},
	{"heightmap", "<heightmap><uri>" FILES "flat.png</uri><size>", 4, 4, 0.4, "</size></heightmap>", 0.4},
	{"hull", "<mesh optimization='convex_hull'><uri>" FILES "block.obj</uri><scale>", 4, 4, 0.4, "</scale></mesh>",
		0.2},
};

static void add_can(struct text *out, const char *name, double x, double z, const struct rounded *can, const char *path)
{
	char back[100];
	double s = can->scale, mesh = 1 / can->in_file;
	shapes_turn_back(back);
	text_add(out,
		"<model name='%s'><pose>%.9g 0 %.17g 0 0 0.3</pose><link "
		"name='l'><inertial><mass>200</mass><inertia><ixx>%.9g</ixx><iyy>%.9g</iyy><izz>%.9g</izz></inertia></"
		"inertial><collision name='c'><pose>0 0 0 %s</pose><geometry><mesh><uri>%s</uri><scale>%.17g %.17g "
		"%.17g</scale></mesh></geometry></collision></link></model>",
		name, x, z, 20 * s * s, 20 * s * s, 20 * s * s, back, path, mesh, mesh, mesh);
}

/* The cans stand on the plane, on each kind of ground, and on each other, at their height, and nothing creeps. */
static void stand(const struct rounded *can, const char *path)
{
	struct text text = {0};
	double s = can->scale, above = 5 * s, at[ARRAY_LEN(under) + 3];
	char name[20];
	size_t count = 0;
	write_can(path, can);
	text_add(&text, "%s", STATIC("<plane/>", "1"));
	for (size_t g = 0; g < ARRAY_LEN(under); g++) {
		text_add(&text,
			"<model name='ground%zu'><static>true</static><pose>%.9g 0 %.9g 0 0 0</pose><link "
			"name='l'><collision name='c'><geometry>",
			g, 8 * s * (double)(g + 1), above);
		text_add(&text, "%s%.9g %.9g %.9g%s", under[g].begin, under[g].x * s, under[g].y * s, under[g].z * s,
			under[g].end);
		text_add(&text, "</geometry></collision></link></model>");
		at[count++] = above + (under[g].top + 0.3) * s;
	}
	at[count++] = 0.3 * s;
	at[count++] = 0.9 * s; /* on the can before it */
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "can%zu", i);
		add_can(&text, name, i < ARRAY_LEN(under) ? 8 * s * (double)(i + 1) : 0, at[i] + 1e-3 * s, can, path);
	}
	start("0 0 -9.8", "%s", text.at);
	text_fini(&text);
	struct troupe_pose before[ARRAY_LEN(at)];
	run_until(3);
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof name, "can%zu", i);
		before[i] = pose_of(name);
	}
	run_until(4);
	for (size_t i = 0; i < count; i++) {
		char what[100];
		snprintf(name, sizeof name, "can%zu", i);
		struct troupe_pose p = pose_of(name);
		snprintf(what, sizeof what, "%s on %s: height, m", can->name,
			i < ARRAY_LEN(under)    ? under[i].name
			: i == ARRAY_LEN(under) ? "plane"
						: "a can");
		double layers = i > ARRAY_LEN(under) ? 2 : 1;
		expect(what, p.z, at[i], layers * (fmin(1.1e-3, 0.2 * s) + 2e-5 * s + can->bend * s));
		cr_assert(fabs(p.x - before[i].x) < 1e-4 * s && fabs(p.y - before[i].y) < 1e-4 * s &&
				  fabs(p.z - before[i].z) < 1e-4 * s,
			"%s: %g %g %g, before %g %g %g", what, p.x, p.y, p.z, before[i].x, before[i].y, before[i].z);
	}
}

Test(shapes, hulls_of_rounded_coordinates_stand)
{
	char folder[] = "/tmp/troupe-shapes-XXXXXX", path[100];
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/can.obj", folder);
	for (size_t i = 0; i < ARRAY_LEN(rounded); i++)
		stand(&rounded[i], path);
	(void)unlink(path);
	(void)rmdir(folder);
}

#endif
