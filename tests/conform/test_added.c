/* Bodies with added mass (<fluid_added_mass>) are compared with the motion of a rigid body in an ideal fluid: free,
 * on a joint, on the ground, welded to other links, and tumbling. If the added mass were only a force that is computed
 * before the step, bodies on joints and on the ground would have another acceleration; if gravity acted on it, they
 * would all fall at g. */
#include "inside.h"

#include "geom/spatial.h"

#define EXACT 1e-12
#define DT 0.001
#define M 2.0 /* kg */
#define I 0.5 /* kg m2 */

TestSuite(added, .init = be_sleepless, .fini = stop, .timeout = 60);

#define LINK(name, pose, added, rest)                                                                                  \
	"<link name='" name "'><pose>" pose                                                                            \
	"</pose><inertial><mass>2</mass><inertia><ixx>0.5</ixx><iyy>0.5</iyy><izz>0.5</izz></inertia>" added           \
	"</inertial>" rest "</link>"
#define MODEL(name, pose, rest) "<model name='" name "'><pose>" pose "</pose>" rest "</model>"
#define FLUID(inside) "<fluid_added_mass>" inside "</fluid_added_mass>"
#define SPHERE FLUID("<xx>3</xx><yy>3</yy><zz>3</zz><pp>0.25</pp><qq>0.25</qq><rr>0.25</rr>")
#define SHIP FLUID("<xx>1</xx><yy>4</yy><zz>6</zz><pp>0.1</pp><qq>0.5</qq><rr>0.3</rr>")
#define JOINT(name, type, at, parent, child, rest)                                                                     \
	"<joint name='" name "' type='" type "'><pose relative_to='__model__'>" at "</pose><parent>" parent            \
	"</parent><child>" child "</child>" rest "</joint>"
#define AXIS(xyz) "<axis><xyz expressed_in='__model__'>" xyz "</xyz></axis>"

/* A constant force gives a constant acceleration, that of the mass and the added mass together. */
Test(added, a_sphere_falls_slower)
{
	start("0 0 -9.8", "%s",
		MODEL("s", "0 0 9 0 0 0", LINK("l", "0 0 0 0 0 0", SPHERE, ""))
			MODEL("n", "9 0 9 0 0 0", LINK("l", "0 0 0 0 0 0", "", "")));
	cr_assert_str_empty(warning);
	steps(500);
	expect("v = m g t / (m + ma)", body("s", "l")->v.z, -M * G * 0.5 / (M + 3), EXACT);
	expect("a body without", body("n", "l")->v.z, -G * 0.5, EXACT);
}

Test(added, each_direction_has_its_mass_and_gravity_only_the_body_s)
{
	static const double mass[3] = {M + 1, M + 4, M + 6};
	start("1 -2 -9.8", "%s", MODEL("s", "0 0 9 0 0 0", LINK("l", "0 0 0 0 0 0", SHIP, "")));
	command("/world/w/wrench", "entity {name: 's::l' type: LINK} wrench {force {x: 5 y: 7 z: 9}}");
	steps(1);
	struct vec3 v = {DT * (M * 1 + 5) / mass[0], DT * (M * -2 + 7) / mass[1], DT * (M * -G + 9) / mass[2]};
	expect_vector("v after a step", body("s", "l")->v, v.x, v.y, v.z, 1e-8);
}

/* A torque about one axis alone, from rest: no other term acts. */
Test(added, each_axis_has_its_inertia)
{
	start("0 0 0", "%s", MODEL("s", "0 0 9 0.4 -0.3 0.2", LINK("l", "0 0 0 0 0 0", SHIP, "")));
	const struct quat q = body("s", "l")->q;
	struct vec3 axis = quat_rotate(q, (struct vec3){0, 1, 0});
	char text[300];
	snprintf(text, sizeof text, "entity {name: 's::l' type: LINK} wrench {torque {x: %.17g y: %.17g z: %.17g}}",
		axis.x, axis.y, axis.z);
	command("/world/w/wrench", text);
	steps(1);
	const struct vec3 w = vec3_scale(axis, DT / (I + 0.5));
	expect_vector("w = torque t / (I + qq)", body("s", "l")->w, w.x, w.y, w.z, EXACT);
}

/* A slide along a direction that is not a principal one: the joint's force has to act on the whole mass. */
Test(added, on_a_prismatic_joint)
{
	start("3 0 0", "%s",
		MODEL("s", "0 0 9 0 0 0",
			LINK("base", "0 0 0 0 0 0", "", "") LINK("l", "1 0 0 0 0 0", SHIP, "")
				JOINT("tie", "fixed", "0 0 0 0 0 0", "world", "base", "")
					JOINT("j", "prismatic", "0 0 0 0 0 0", "base", "l", AXIS("0.6 0.8 0"))));
	steps(1000);
	double along = M + 0.36 * 1 + 0.64 * 4;
	/* the joint holds the body against Munk's moment, which a free body would follow within the step */
	expect("x", body("s", "l")->v.x, 0.6 * 0.6 * M * 3 / along, DT);
	expect("y", body("s", "l")->v.y, 0.8 * 0.6 * M * 3 / along, DT);
}

/* A pendulum turns its body and moves it. */
Test(added, on_a_hinge)
{
	start("0 0 -9.8", "%s",
		MODEL("s", "0 0 9 0 0 0",
			LINK("base", "0 0 0 0 0 0", "", "") LINK("l", "2 0 0 0 0 0", SHIP, "")
				JOINT("tie", "fixed", "0 0 0 0 0 0", "world", "base", "")
					JOINT("j", "revolute", "0 0 0 0 0 0", "base", "l", AXIS("0 1 0"))));
	steps(1);
	expect("w = m g r t / (I + qq + (m + zz) r^2)", body("s", "l")->w.y, M * G * 2 * DT / (I + 0.5 + (M + 6) * 4),
		1e-9);
	/* from the height: energy */
	steps(599);
	double drop = 9 - body("s", "l")->p.z, w = body("s", "l")->w.y;
	expect("energy", 0.5 * (I + 0.5 + (M + 6) * 4) * w * w, M * G * drop, 0.01 * M * G * drop);
}

/* The force of the ground slows the body as the whole mass: friction stops it after v^2 (m + xx) / (2 mu m g). */
Test(added, on_the_ground)
{
	start("0 0 -9.8",
		"<model name='g'><static>true</static><link name='l'><collision name='c'><geometry><plane><normal>0 0 "
		"1</normal></plane></geometry><surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction></"
		"surface></collision></link></model>%s",
		MODEL("s", "0 0 0.5 0 0 0",
			LINK("l", "0 0 0 0 0 0", FLUID("<xx>3</xx><yy>8</yy><zz>6</zz><pp>9</pp><qq>9</qq><rr>9</rr>"),
				"<collision name='c'><geometry><box><size>4 4 1</size></box></geometry></collision>")));
	steps(200);
	double x = body("s", "l")->p.x;
	command("/world/w/set_velocity", "name: 's' linear {x: 2}");
	steps(1500);
	expect("distance", body("s", "l")->p.x - x, 2 * 2 * (M + 3) / (2 * 0.5 * M * G), 5e-3);
	expect("it stands", vec3_length(body("s", "l")->v), 0, 1e-6);
	expect("on the ground", body("s", "l")->p.z, 0.5, 2e-3);
}

/* Each link brings its added mass to its own place: two links at the ends of a rod, one of them with added mass. */
Test(added, welded_links)
{
	start("0 0 0", "%s",
		MODEL("s", "0 0 9 0 0 0",
			LINK("a", "1 0 0 0 0 0", SPHERE, "") LINK("b", "-1 0 0 0 0 0", "", "")
				JOINT("tie", "fixed", "0 0 0 0 0 0", "a", "b", "")));
	cr_assert_str_empty(warning);
	command("/world/w/wrench", "entity {name: 's::a' type: LINK} wrench {force {z: 5}}");
	steps(1);
	/* with v of the common centre of mass and w about y: linear 2 M v + 3 (v - w) = 5 dt, as the added mass is at
	 * x = 1; angular about the centre (2 M + 2 I + 0.25) w - 3 (v - w) = 0 */
	double a = 2 * M + 3, b = -3, d = 2 * M + 2 * I + 0.25 + 3, det = a * d - b * b;
	expect("v", body("s", "a")->v.z, DT * 5 * d / det, 1e-8);
	expect("w", body("s", "a")->w.y, DT * 5 * -b / det, 1e-8);
}

/* A coupling that a shift explains: the joint feels all of it. The hinge holds the body beside its centre of mass. */
Test(added, a_coupled_body_on_a_hinge)
{
	start("0 0 0", "%s",
		MODEL("s", "0 0 9 0 0 0",
			LINK("base", "0 0 0 0 0 0", "", "") LINK("l", "0 0 0 0 0 0",
				FLUID("<xx>1</xx><yy>4</yy><zz>6</zz><yr>1.5</yr><zq>-2</zq><qq>1</qq><rr>1</rr>"), "")
				JOINT("tie", "fixed", "0 0 0 0 0 0", "world", "base", "")
					JOINT("j", "revolute", "0.5 0 0 0 0 0", "base", "l", AXIS("0 0 1"))));
	cr_assert_str_empty(warning);
	command("/world/w/wrench", "entity {name: 's::l' type: LINK} wrench {torque {z: 3}}");
	steps(1);
	/* v = w x (com - anchor) = (0, -w / 2, 0) */
	double inertia = (I + 1) + (M + 4) * 0.25 - 2 * 1.5 * 0.5;
	expect("w", body("s", "l")->w.z, DT * 3 / inertia, 1e-8);
}

/* --- tumbling ----------------------------------------------------------------------------------------------------- */

/* Momentum of body and fluid, about the origin, and their energy. */
static struct vec6 momentum_of(double *ret_energy)
{
	const struct scene_added *added = state()->scene->bodies[body_of("s", "l")].added;
	const struct body_state *b = body("s", "l");
	struct quat back = quat_conj(b->q);
	struct vec6 v = {quat_rotate(back, b->v), quat_rotate(back, b->w)}, p = mat6_apply(&added->whole, v);
	*ret_energy = 0.5 * vec6_dot(v, p);
	p = (struct vec6){quat_rotate(b->q, p.linear), quat_rotate(b->q, p.angular)};
	p.angular = vec3_add(p.angular, vec3_cross(b->p, p.linear));
	return p;
}

static void tumble(const char *world, double tolerance)
{
	double energy, later;
	start("0 0 0", "%s", world);
	command("/world/w/set_velocity", "name: 's' linear {x: 1 y: 2 z: -0.5} angular {x: 1 y: -2 z: 0.5}");
	steps(1);
	struct vec6 before = momentum_of(&energy);
	steps(10000);
	struct vec6 after = momentum_of(&later);
	cr_assert_gt(vec3_length(before.linear), 1);
	expect_vector("momentum", after.linear, before.linear.x, before.linear.y, before.linear.z, tolerance);
	expect_vector(
		"angular momentum", after.angular, before.angular.x, before.angular.y, before.angular.z, tolerance);
	/* a step is too short by a part of the turn in it, as in all of ODE's steps: it loses, and never gains */
	expect("energy", later, energy, 0.05 * energy);
	cr_assert_leq(later, energy * (1 + 1e-9));
}

Test(added, a_tumbling_body_keeps_momentum_and_energy)
{
	tumble(MODEL("s", "0 0 0 0 0 0", LINK("l", "0 0 0 0 0 0", SPHERE, "")), 1e-8);
	tumble(MODEL("s", "0 0 0 0 0 0", LINK("l", "0 0 0 0 0 0", SHIP, "")), 1e-6);
	tumble(MODEL("s", "0 0 0 0.1 0.2 0.3",
		       LINK("l", "0 0 0 0 0 0",
			       FLUID("<xx>1</xx><xy>0.5</xy><xz>-0.3</xz><xp>0.1</xp><xq>0.2</xq><xr>-0.3</xr><yy>4</"
				     "yy><yz>0.7</yz><yp>0.2</yp><yq>-0.1</yq><yr>0.3</yr><zz>6</zz><zp>0.3</"
				     "zp><zq>0.2</zq><zr>0.1</zr><pp>0.4</pp><pq>0.1</pq><pr>0.05</pr><qq>0.5</"
				     "qq><qr>-0.1</qr><rr>0.3</rr>"),
			       "")),
		1e-6);
}

/* All 21 numbers: the acceleration from rest is that of the whole matrix. */
Test(added, a_full_matrix)
{
	static const char *const names[] = {"xx", "xy", "xz", "xp", "xq", "xr", "yy", "yz", "yp", "yq", "yr", "zz",
		"zp", "zq", "zr", "pp", "pq", "pr", "qq", "qr", "rr"};
	struct mat6 whole = {{{M}, {0, M}, {0, 0, M}, {0, 0, 0, I}, {0, 0, 0, 0, I}, {0, 0, 0, 0, 0, I}}}, inverse;
	struct text fluid = {0};
	for (int i = 0, at = 0; i < 6; i++)
		for (int k = i; k < 6; k++, at++) {
			double value = 0.03 * (at % 7) - 0.05 + (i == k ? 1 : 0);
			text_add(&fluid, "<%s>%.17g</%s>", names[at], value, names[at]);
			whole.m[i][k] += value;
			whole.m[k][i] = whole.m[i][k];
		}
	cr_assert(mat6_invert(&whole, &inverse));
	char world[4000];
	snprintf(world, sizeof world,
		MODEL("s", "0 0 0 0 0 0", LINK("l", "0 0 0 0 0 0", "<fluid_added_mass>%s</fluid_added_mass>", "")),
		fluid.at);
	start("0 0 0", "%s", world);
	cr_assert(strstr(warning, "/test.sdf:2: <fluid_added_mass> of link 's::l' couples translation and rotation"),
		"%s", warning);
	command("/world/w/wrench",
		"entity {name: 's::l' type: LINK} wrench {force {x: 1 y: 2 z: -3} torque {x: 4 y: -5 z: 6}}");
	steps(1);
	struct vec6 v = mat6_apply(&inverse, (struct vec6){{DT * 1, DT * 2, DT * -3}, {DT * 4, DT * -5, DT * 6}});
	expect_vector("v", body("s", "l")->v, v.linear.x, v.linear.y, v.linear.z, 1e-6);
	expect_vector("w", body("s", "l")->w, v.angular.x, v.angular.y, v.angular.z, 1e-4);
	text_fini(&fluid);
}

Test(added, no_body_is_refused)
{
#define WITH(inside) MODEL("s", "0 0 0 0 0 0", LINK("l", "0 0 0 0 0 0", FLUID(inside), ""))
	refuse("negative mass", WITH("<xx>-2</xx>"), "is not positive definite");
	refuse("too much coupling", WITH("<xq>1.01</xq>"), "is not positive definite");
	refuse("not a number", WITH("<rr>many</rr>"), "<rr>");
	refuse("infinite", WITH("<yy>inf</yy>"), "<yy>");
	start("0 0 0", "%s", WITH("<xx>-1.5</xx><xq>0.1</xq>")); /* less than the body's own */
}

/* Kinematic and static ones have no use for it. */
Test(added, what_forces_do_not_move)
{
	start("0 0 -9.8", "%s",
		MODEL("s", "0 0 9 0 0 0", LINK("l", "0 0 0 0 0 0", SHIP, "<kinematic>true</kinematic>")) MODEL("t",
			"9 0 9 0 0 0", "<static>true</static>" LINK("l", "0 0 0 0 0 0", FLUID("<xx>-9</xx>"), "")));
	steps(100);
	expect("it stays", body("s", "l")->p.z, 9, 0);
}
