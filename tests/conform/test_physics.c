/* The physics is compared with values computed by hand. Each check prints the analytic value beside the measured
 * value. */
#include "harness.h"

#define DT 0.001

TestSuite(physics, .fini = stop, .timeout = 120);

#define BOX(name, pose, size, mass, i, surface)                                                                        \
	"<model name='" name "'><pose>" pose "</pose><link name='l'><inertial><mass>" mass "</mass><inertia><ixx>" i   \
	"</ixx><iyy>" i "</iyy><izz>" i "</izz></inertia></inertial><collision name='c'><geometry><box><size>" size    \
	"</size></box></geometry>" surface "</collision></link></model>"

/* --- free fall -------------------------------------------------------------------------------------------------- */

Test(physics, free_fall)
{
	start("0 0 -9.8", BOX("b", "0 0 100 0 0 0", "1 1 1", "3", "0.5", ""));
	run_until(2);
	double n = 2 / DT; /* semi-implicit Euler falls by g dt^2 n (n + 1) / 2 */
	expect("free fall, 2 s: height, m", pose_of("b").z, 100 - G * DT * DT * n * (n + 1) / 2, 1e-9);
	expect("  against g t^2 / 2, m", pose_of("b").z, 100 - G * 2, G * 2 * DT);
}

/* --- friction --------------------------------------------------------------------------------------------------- */

static double slide(double slope, double heading, double mu)
{
	double n[3] = {sin(slope), 0, cos(slope)};
	start("0 0 -9.8",
		"<model name='ground'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane><normal>%.17g %.17g %.17g</normal><size>100 "
		"100</size></plane></geometry><surface><friction><ode><mu>%g</mu><mu2>%g</mu2></ode></friction></"
		"surface></collision></link></model><model name='block'><pose>%.17g 0 %.17g 0 %.17g 0</pose><link "
		"name='l'><pose>0 0 0 0 0 "
		"%.17g</pose><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></"
		"inertial><collision name='c'><geometry><box><size>0.6 0.6 "
		"0.2</size></box></geometry><surface><friction><ode><mu>%g</mu><mu2>%g</mu2></ode></friction></"
		"surface></collision></link></model>",
		n[0], n[1], n[2], mu, mu, n[0] * 0.1, n[2] * 0.1, slope, heading, mu, mu);
	run_until(2);
	struct troupe_pose p = pose_of("block");
	double x = p.x - n[0] * 0.1, z = p.z - n[2] * 0.1;
	return x * cos(slope) - z * sin(slope); /* along the slope, downwards */
}

Test(physics, block_on_a_slope)
{
	const double mu = 0.5, limit = atan(mu), headings[] = {0, M_PI / 12, M_PI / 6, M_PI / 4, M_PI / 3};
	for (size_t i = 0; i < ARRAY_LEN(headings); i++) {
		char what[80];
		snprintf(what, sizeof what, "slope 1 deg under friction angle, heading %.0f, m",
			headings[i] * 180 / M_PI);
		expect(what, slide(limit - M_PI / 180, headings[i], mu), 0, 2e-3);
		double over = limit + M_PI / 180, a = G * (sin(over) - mu * cos(over));
		snprintf(what, sizeof what, "slope 1 deg over friction angle, heading %.0f, m",
			headings[i] * 180 / M_PI);
		expect(what, slide(over, headings[i], mu), a * 2 * 2 / 2, 0.03 * a * 2);
	}
}

/* --- pendulum --------------------------------------------------------------------------------------------------- */

Test(physics, pendulum_period)
{
	const double length = 1, radius = 0.05, inertia = 0.4 * radius * radius, angle = 0.1;
	start("0 0 -9.8",
		"<model name='p'><pose>%.17g 0 %.17g 0 0 0</pose><link "
		"name='l'><inertial><mass>1</mass><inertia><ixx>%g</ixx><iyy>%g</iyy><izz>%g</izz></inertia></"
		"inertial></link><joint name='j' type='revolute'><parent>world</parent><child>l</child><pose>%.17g 0 "
		"%.17g 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint></model>",
		length * sin(angle), 5 - length * cos(angle), inertia, inertia, inertia, -length * sin(angle),
		length * cos(angle));
	double first = 0, last = 0, before = length * sin(angle);
	int crossings = 0;
	for (int k = 1; k <= 21000; k++) {
		run_until(k * DT);
		double now = pose_of("p").x;
		if (before > 0 && now <= 0) {
			last = (k - 1 + before / (before - now)) * DT;
			if (!crossings++)
				first = last;
		}
		before = now;
	}
	double small = 2 * M_PI * sqrt((inertia + length * length) / (G * length));
	double exact = small * (1 + angle * angle / 16 + 11 * pow(angle, 4) / 3072);
	expect("pendulum of 1 m at 0.1 rad: period, s", (last - first) / (crossings - 1), exact, 2e-3);
}

/* --- bounce ----------------------------------------------------------------------------------------------------- */

Test(physics, bounce)
{
	const double e = 0.8, drop = 2;
#define BOUNCY                                                                                                         \
	"<surface><bounce><restitution_coefficient>0.8</restitution_coefficient><threshold>0.05</threshold></"         \
	"bounce></surface>"
	start("0 0 -9.8",
		"<model name='ground'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry>" BOUNCY
		"</collision></link></model><model name='ball'><pose>0 0 2.2 0 0 0</pose><link "
		"name='l'><inertial><mass>1</mass><inertia><ixx>0.016</ixx><iyy>0.016</iyy><izz>0.016</izz></inertia></"
		"inertial><collision name='c'><geometry><sphere><radius>0.2</radius></sphere></geometry>" BOUNCY
		"</collision></link></model>");
	double t_fall = sqrt(2 * drop / G), top = 0;
	double t_up = e * t_fall; /* from the ground to the top */
	for (double t = t_fall + 0.5 * t_up; t < t_fall + 1.5 * t_up; t += DT) {
		run_until(t);
		top = fmax(top, pose_of("ball").z - 0.2);
	}
	expect("bounce, e = 0.8 from 2 m: height, m", top, e * e * drop, 0.02);
}

/* --- stack ------------------------------------------------------------------------------------------------------ */

Test(physics, stack_stays_for_a_minute)
{
	start("0 0 -9.8", "<model name='ground'><static>true</static><link name='l'><collision "
			  "name='c'><geometry><plane><normal>0 0 1</normal><size>9 "
			  "9</size></plane></geometry></collision></link></model>" BOX("b0", "0 0 0.25 0 0 0",
				  "0.5 0.5 0.5", "5", "0.2", "") BOX("b1", "0.02 0 0.75 0 0 0.3", "0.5 0.5 0.5", "5",
				  "0.2", "") BOX("b2", "0 0.03 1.25 0 0 0", "0.5 0.5 0.5", "5", "0.2", "")
				  BOX("b3", "-0.02 0 1.75 0 0 0.1", "0.5 0.5 0.5", "5", "0.2", "")
					  BOX("b4", "0 0 2.25 0 0 0", "0.5 0.5 0.5", "5", "0.2", ""));
	run_until(60);
	static const double x[] = {0, 0.02, 0, -0.02, 0}, y[] = {0, 0, 0.03, 0, 0};
	for (int i = 0; i < 5; i++) {
		char name[8], what[60];
		snprintf(name, sizeof name, "b%d", i);
		struct troupe_pose p = pose_of(name);
		snprintf(what, sizeof what, "stack after 60 s: box %d moved, m", i);
		expect(what, hypot(p.x - x[i], p.y - y[i]), 0, 0.01);
		snprintf(what, sizeof what, "stack after 60 s: box %d height, m", i);
		expect(what, p.z, 0.25 + 0.5 * i, 0.01);
	}
}

/* --- hinge at its limit ----------------------------------------------------------------------------------------- */

Test(physics, hinge_at_its_limit)
{
	const double upper = 0.6;
	start("0 0 -9.8",
		"<model name='arm'><link name='l'><pose>0.5 0 2 0 0 "
		"0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.02</izz></inertia></"
		"inertial></link><joint name='j' type='revolute'><parent>world</parent><child>l</child><pose "
		"relative_to='__model__'>0 0 2 0 0 0</pose><axis><xyz expressed_in='__model__'>0 1 "
		"0</xyz><limit><lower>-0.2</lower><upper>%g</upper></limit><dynamics><damping>0.5</damping></"
		"dynamics></axis></joint></model>",
		upper);
	run_until(10); /* falls by a positive angle about y, down to the stop */
	struct troupe_pose p = pose_of("arm");
	expect("hinge falls to its stop: angle, rad", 2 * atan2(p.qy, p.qw), upper, 2e-3);
}

Test(physics, hinge_limit_beyond_half_a_turn)
{
	/* a constant torque drives it through more than one turn, to a stop at 7 rad */
	start("0 0 -9.8", "<model name='wheel'><link name='l'><pose>0 0 2 0 0 "
			  "0</pose><gravity>false</gravity><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.02</"
			  "iyy><izz>0.02</izz></inertia></inertial></link><joint name='j' "
			  "type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 "
			  "1</xyz><limit><lower>-1</lower><upper>7</upper></limit><dynamics><damping>0.1</"
			  "damping><spring_reference>20</spring_reference><spring_stiffness>0.01</spring_stiffness></"
			  "dynamics></axis></joint></model>");
	run_until(30);
	struct troupe_pose p = pose_of("wheel");
	double angle = 2 * atan2(p.qz, p.qw);
	expect("hinge turns to its stop at 7 rad: off it, rad", remainder(angle - 7, 2 * M_PI), 0, 3e-3);
}

/* --- driving straight ------------------------------------------------------------------------------------------- */

Test(physics, robot_drives_50_m_straight)
{
	start("0 0 -9.8", "<model name='ground'><static>true</static><link name='l'><collision "
			  "name='c'><geometry><plane><normal>0 0 1</normal><size>9 "
			  "9</size></plane></geometry></collision></link></model><include><uri>file://" SOURCE_DIR
			  "/worlds/models/cart</uri><name>cart</name></include>");
	command("/model/cart/cmd_vel", "linear: {x: 1}");
	run_until(50.25); /* a quarter of a second is lost while the cart accelerates at 2 m/s2 */
	struct troupe_pose p = pose_of("cart");
	expect("cart at 1 m/s for 50.25 s: way, m", p.x, 50, 0.05);
	expect("cart at 1 m/s for 50.25 s: sideways, m", p.y, 0, 1e-3);
	expect("cart at 1 m/s for 50.25 s: height, m", p.z, 0, 1e-3);
}

/* --- exact touch ------------------------------------------------------------------------------------------------ */

/* Boxes that touch without a gap are degenerate for the exact solver, which fails. */
Test(physics, stack_that_touches_exactly_stands)
{
	static const struct {
		const char *name;
		double x, y, z;
	} boxes[] = {{"a", 0, 0, 0.1}, {"b", 0.05, 0.03, 0.3}, {"c", 0.02, 0.05, 0.5}};
	char models[3][700];
	for (int i = 0; i < 3; i++)
		snprintf(models[i], sizeof models[i],
			"<model name='%s'><pose>%g %g %g 0 0 0</pose><link "
			"name='l'><inertial><mass>1</mass><inertia><ixx>0.0067</ixx><iyy>0.0067</iyy><izz>0.0067</"
			"izz></inertia></inertial><collision name='c'><geometry><box><size>0.2 0.2 "
			"0.2</size></box></geometry></collision></link></model>",
			boxes[i].name, boxes[i].x, boxes[i].y, boxes[i].z);
	start("0 0 -9.8",
		"<model name='g'><static>true</static><link name='l'><collision "
		"name='c'><geometry><plane/></geometry></collision></link></model>%s%s%s",
		models[0], models[1], models[2]);
	run_until(3);
	for (int i = 0; i < 3; i++) {
		struct troupe_pose p = pose_of(boxes[i].name);
		expect("box of a stack that touches exactly: height, m", p.z, boxes[i].z, 1e-3);
		expect("box of a stack that touches exactly: x, m", p.x, boxes[i].x, 1e-3);
	}
}

/* --- gravity that changes ----------------------------------------------------------------------------------------- */

/* Gravity changes along each axis by itself; the other components stay. All bodies follow, also when they are too many
 * for one ODE world, except bodies without gravity. */
Test(physics, gravity_changes_for_all)
{
	enum { BALLS = 70, STEPS = 200 };
	static const char *const commands[] = {"gravity {x: 3}", "gravity {y: -4}", "gravity {z: 5}"};
	struct text models = {0};
	for (int i = 0; i < BALLS; i++)
		text_add(&models, "<model name='m%d'><pose>%d 0 0 0 0 0</pose><link name='l'/></model>", i, i);
	text_add(&models, "<model name='hovers'><link name='l'><gravity>false</gravity></link></model>");
	start("0 0 0", "%s", models.at);
	double g[3] = {0, 0, 0}, v[3] = {0, 0, 0}, p[3] = {0, 0, 0};
	const double pulls[3] = {3, -4, 5};
	for (int i = 0; i < 3; i++) {
		command("/world/w/set_physics", commands[i]);
		g[i] = pulls[i];
		run_until((i + 1) * STEPS * DT);
		for (int axis = 0; axis < 3; axis++) {
			p[axis] += v[axis] * STEPS * DT + g[axis] * DT * DT * STEPS * (STEPS + 1) / 2;
			v[axis] += g[axis] * STEPS * DT;
		}
		for (int m = 0; m < BALLS; m++) {
			char name[8];
			snprintf(name, sizeof name, "m%d", m);
			struct troupe_pose at = pose_of(name);
			cr_assert(fabs(at.x - m - p[0]) < 1e-9 && fabs(at.y - p[1]) < 1e-9 && fabs(at.z - p[2]) < 1e-9,
				"after '%s' '%s' is at %g %g %g: expected %g %g %g", commands[i], name, at.x - m, at.y,
				at.z, p[0], p[1], p[2]);
		}
		struct troupe_pose at = pose_of("hovers");
		cr_assert(at.x == 0 && at.y == 0 && at.z == 0, "a body without gravity stays");
	}
	text_fini(&models);
}

/* --- steps that are begun anew ------------------------------------------------------------------------------------ */

/* Three boxes that touch exactly, so that the exact solver fails, are links of one model with a wheel and a slide that
 * are pushed: the second try, which the boxes cause, must apply the forces only once. */
Test(physics, forces_of_a_step_that_is_begun_anew)
{
#define STACKED(name, pose)                                                                                            \
	"<link name='" name "'><pose>" pose                                                                            \
	"</pose><inertial><mass>1</mass><inertia><ixx>0.0067</ixx><iyy>0.0067</iyy><izz>0.0067</izz></inertia></"      \
	"inertial><collision name='c'><geometry><box><size>0.2 0.2 0.2</size></box></geometry></collision></link>"
#define PUSHED(link, joint, kind, pose)                                                                                \
	"<link name='" link "'><pose>" pose "</pose><gravity>false</gravity></link><joint name='" joint                \
	"' type='" kind "'><parent>world</parent><child>" link                                                         \
	"</child><axis><xyz>0 0 1</xyz></axis></joint><plugin name='gz::sim::systems::ApplyJointForce' "               \
	"filename='x'><joint_name>" joint "</joint_name></plugin>"
	static const char *const seen[] = {"wheel", "slide"};
	for (int i = 0; i < 2; i++) {
		start("0 0 -9.8",
			"<model name='g'><static>true</static><link name='l'><collision "
			"name='c'><geometry><plane/></geometry></collision></link></model><model name='m' "
			"canonical_link='%s'><self_collide>true</self_collide>" STACKED("a", "0 0 0.1 0 0 0")
				STACKED("b", "0.05 0.03 0.3 0 0 0") STACKED("c", "0.02 0.05 0.5 0 0 0")
					PUSHED("wheel", "j", "revolute", "5 0 5 0 0 0")
						PUSHED("slide", "k", "prismatic", "7 0 5 0 0 0") "</model>",
			seen[i]);
		command("/model/m/joint/j/cmd_force", "data: 2");
		command("/model/m/joint/k/cmd_force", "data: 3");
		run_until(0.3);
		struct troupe_pose p = pose_of("m");
		double n = 0.3 / DT, per_unit = DT * DT * n * (n + 1) / 2;
		if (i)
			expect("3 N on 1 kg beside boxes that touch exactly: m", p.z, 3 * per_unit, 1e-6);
		else
			expect("2 N m on 1 kg m2 beside them: rad", 2 * atan2(p.qz, p.qw), 2 * per_unit, 1e-6);
	}
}
