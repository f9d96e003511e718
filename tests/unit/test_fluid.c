/* The systems for air and water, in whole runs, against the formulas of their documentation. Without these tests a
 * wrong sign, frame or point of a force would only look odd. */
#include "library.h"

TestSuite(fluid, .fini = lib_end, .timeout = 120);

#define G 9.8
#define GRAVITY "<gravity>0 0 -9.8</gravity>"
#define NO_GRAVITY "<gravity>0 0 0</gravity>"
#define WORLD(content) "<sdf version='1.11'><world name='w'>" LIB_HEAD content "</world></sdf>"
#define PLUGIN(name, parameters) "<plugin name='gz::sim::systems::" name "' filename='x'>" parameters "</plugin>"
/* A link of 2 kg without air, water or ground. */
#define LINK(shape)                                                                                                    \
	"<link "                                                                                                       \
	"name='l'><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></"                   \
	"inertial><collision name='c'><geometry>" shape "</geometry></collision></link>"
#define BALL "<sphere><radius>0.1</radius></sphere>"
#define MASS 2.0

static void near(const char *what, double is, double expected, double tolerance)
{
	cr_assert(fabs(is - expected) <= tolerance, "%s is %.12g: expected %.12g within %g", what, is, expected,
		tolerance);
}
#define NEAR(is, expected, tolerance) near(#is, (is), (expected), (tolerance))

/* Runs the world for this time. */
static struct troupe_server *after(const char *world, double time_s)
{
	struct troupe_server *server = lib_server(world, 0);
	lib_step(server, (uint64_t)llround(time_s / LIB_DT_S));
	return server;
}

static struct troupe_twist twist_of(const struct troupe_server *server, const char *model)
{
	return lib_link_at(server, lib_link(server, model, "l")).twist;
}

static void goes_wrong(const char *world, const char *part)
{
	struct troupe_server_def def = lib_def(world, 0);
	struct troupe_server *server = NULL;
	refused(TROUPE_EWORLD, troupe_server_create(&def, &server, &lib_error));
	cr_assert(strstr(lib_error.text, part), "'%s': expected '%s'", lib_error.text, part);
}

/* --- lift and drag ------------------------------------------------------------------------------------------------ */

#define RHO 1.2041
#define AREA 0.5
#define CLA 2.0
#define CDA 0.3
#define STALL 0.2
#define CLA_STALL -1.5
#define CDA_STALL 0.7
#define WING(more)                                                                                                     \
	PLUGIN("LiftDrag", "<link_name>l</link_name><area>0.5</area><cla>2</cla><cda>0.3</cda><alpha_stall>0.2</"      \
			   "alpha_stall><cla_stall>-1.5</cla_stall><cda_stall>0.7</cda_stall>" more)

/* The force on a wing that flies at this angle of attack, from the change of its velocity in one step. */
static void fly(double alpha, const char *more, double side, double *ret_lift, double *ret_drag)
{
	const double speed = 10;
	char *world = NULL;
	char text[4096];
	(void)snprintf(text, sizeof text,
		WORLD(NO_GRAVITY "<model name='m'><pose>0 0 5 0 %.17g 0</pose>" LINK(BALL) "%s</model>"), -alpha, more);
	world = text;
	struct troupe_server *server = lib_server(world, 0);
	char command[200];
	(void)snprintf(command, sizeof command, "name: 'm' linear {x: %.17g y: %.17g}", speed, side);
	lib_text(server, 0, "/world/w/set_velocity", command);
	lib_step(server, 1);
	struct troupe_twist twist = twist_of(server, "m");
	*ret_lift = MASS * twist.linear.z / LIB_DT_S;
	*ret_drag = MASS * (speed - twist.linear.x) / LIB_DT_S;
	lib_destroy(server);
}

Test(fluid, lift_and_drag_follow_the_angle_of_attack_and_stall)
{
	const double pressure = 0.5 * RHO * 100 * AREA;
	for (int i = -4; i <= 4; i++) {
		double alpha = 0.1 * i, lift, drag, past = fabs(alpha) - STALL;
		double cl = CLA * alpha, cd = CDA * fabs(alpha);
		if (past > 1e-12) {
			cl = copysign(fmax(0, CLA * STALL + CLA_STALL * past), alpha);
			cd = CDA * STALL + CDA_STALL * past;
		}
		fly(alpha, WING(""), 0, &lift, &drag);
		NEAR(lift, cl * pressure, 1e-6 * pressure);
		NEAR(drag, cd * pressure, 1e-6 * pressure);
	}
}

/* Flow along the wing bears nothing and lessens the rest by the square of the cosine of the sweep. */
Test(fluid, a_swept_wing_bears_less)
{
	const double alpha = 0.1, side = 5, pressure = 0.5 * RHO * 100 * AREA;
	double lift, drag, sweep = 100 / (100 + side * side);
	fly(alpha, WING(""), side, &lift, &drag);
	NEAR(lift, CLA * alpha * sweep * pressure, 1e-6 * pressure);
	NEAR(drag, CDA * alpha * sweep * pressure, 1e-6 * pressure);
}

/* A body that falls almost flat, its nose a little down, has drag only: cda_stall over the rest of a right angle. At
 * the end weight = drag. Exactly flat there is no flow from ahead, and nothing. */
Test(fluid, a_falling_plate_reaches_its_terminal_speed)
{
	const double cd = CDA * STALL + CDA_STALL * (M_PI_2 - 0.05 - STALL);
	const double speed = sqrt(2 * MASS * G / (RHO * AREA * cd));
	struct troupe_server *server = after(
		WORLD(GRAVITY "<model name='m'><pose>0 0 500 0 0.05 0</pose>" LINK(BALL) WING("") "</model>"), 15);
	struct troupe_twist twist = twist_of(server, "m");
	NEAR(twist.linear.z, -speed, 1e-3 * speed);
	NEAR(twist.linear.x, 0, 1e-6);
}

Test(fluid, flow_from_behind_bears_nothing)
{
	for (int i = -1; i <= 1; i += 2) {
		double lift, drag;
		fly(0.1 + i * M_PI, WING(""), 0, &lift, &drag);
		NEAR(lift, 0, 1e-9);
		NEAR(drag, 0, 1e-9);
	}
}

/* The torque about -y of a wing at this angle of attack, in still air at 10 m/s. */
static double pitch_of(double alpha, const char *more)
{
	char text[4096];
	(void)snprintf(text, sizeof text,
		WORLD(NO_GRAVITY "<wind><linear_velocity>%.17g 0 %.17g</linear_velocity></wind><model name='m'>" LINK(
			BALL) "<link "
			      "name='flap'><inertial><mass>1e-6</mass><inertia><ixx>1e-6</ixx><iyy>1e-6</"
			      "iyy><izz>1e-6</izz></inertia></inertial></link><joint name='j' "
			      "type='revolute'><parent>l</parent><child>flap</child><axis><xyz>0 0 "
			      "1</xyz></axis></joint>%s</model>"),
		-10 * cos(alpha), 10 * sin(alpha), more);
	struct troupe_server *server = lib_server(text, 0);
	lib_text(server, 0, "/world/w/set_joint", "name: 'm' joint: 'j' position: 0.25");
	lib_step(server, 1);
	double torque = -twist_of(server, "m").angular.y / LIB_DT_S;
	lib_destroy(server);
	return torque;
}

Test(fluid, a_wing_pitches_by_its_coefficients)
{
	const double pressure = 0.5 * RHO * 100 * AREA;
	NEAR(pitch_of(0.1, WING("<cma>-0.4</cma>")), -0.04 * pressure, 1e-2);
	NEAR(pitch_of(0.4, WING("<cma>-0.4</cma>")), 0, 1e-6); /* as in Gazebo: no sign but that of the angle */
#define PITCH "<cma>0.4</cma><cma_stall>-0.1</cma_stall>"
	NEAR(pitch_of(0.4, WING(PITCH)), 0.08 * pressure - 0.02 * pressure, 1e-2);
	NEAR(pitch_of(-0.4, WING(PITCH)), -0.08 * pressure + 0.02 * pressure, 1e-2);
	NEAR(pitch_of(0.1, WING("<control_joint_name>j</control_joint_name><cm_delta>0.2</cm_delta>")),
		0.2 * 0.25 * pressure, 1e-2);
}

/* The force acts at the centre of pressure: its torque is cp x force. */
Test(fluid, lift_turns_a_wing_about_its_centre)
{
	const double alpha = 0.1, pressure = 0.5 * RHO * 100 * AREA;
	struct troupe_server *server = lib_server(WORLD(NO_GRAVITY "<model name='m'><pose>0 0 5 0 -0.1 0</pose>" LINK(
							  BALL) WING("<cp>0 2 0</cp>") "</model>"),
		0);
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 10}");
	lib_step(server, 1);
	struct troupe_twist twist = twist_of(server, "m");
	NEAR(twist.angular.x, 2 * CLA * alpha * pressure * LIB_DT_S, 1e-5);
	NEAR(twist.angular.z, 2 * CDA * alpha * pressure * LIB_DT_S, 1e-5);
}

Test(fluid, wind_is_flow_and_a_control_surface_adds_lift)
{
	const double pressure = 0.5 * RHO * 64 * AREA, deflection = 0.25;
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY "<wind><linear_velocity>-8 0 0</linear_velocity></wind><model name='m'>" LINK(
			BALL) "<link "
			      "name='flap'><inertial><mass>1e-6</mass><inertia><ixx>1e-6</ixx><iyy>1e-6</"
			      "iyy><izz>1e-6</izz></inertia></inertial></link><joint name='j' "
			      "type='revolute'><parent>l</parent><child>flap</child><axis><xyz>0 1 "
			      "0</xyz></axis></joint>" WING("<control_joint_name>j</"
							    "control_joint_name><control_joint_rad_to_cl>3</"
							    "control_joint_rad_to_cl>") "</model>"),
		0);
	lib_text(server, 0, "/world/w/set_joint", "name: 'm' joint: 'j' position: 0.25");
	lib_step(server, 1);
	NEAR(twist_of(server, "m").linear.z * MASS / LIB_DT_S, 3 * deflection * pressure, 1e-3);
}

Test(fluid, a_wing_with_bad_numbers_is_refused)
{
	goes_wrong(WORLD("<model name='m'>" LINK(BALL) "\n" WING("<air_density>-1</air_density>") "</model>"),
		"library.sdf:2: <air_density> is \"-1\"");
	goes_wrong(WORLD("<model name='m'>" LINK(BALL) "\n" PLUGIN("LiftDrag", "<cp>1 2</cp>") "</model>"),
		"library.sdf:2: ");
}

/* --- lift and drag from coefficients ------------------------------------------------------------------------------ */

#define PLANE(more)                                                                                                    \
	PLUGIN("AdvancedLiftDrag", "<link_name>l</link_name><area>0.5</area><AR>6</AR><eff>0.9</eff><CL0>0.15</"       \
				   "CL0><CD0>0.03</CD0><Cem0>0.07</Cem0><CLa>5</CLa><Cema>-0.4</"                      \
				   "Cema><Cema_stall>-0.2</Cema_stall><alpha_stall>0.3</alpha_stall>" more)
#define PLANE_AR 6.0
#define PLANE_STALL 0.3

static void plane_at(double alpha, double *ret_cl, double *ret_cd, double *ret_cm)
{
	const double m = exp(-15 * (alpha - PLANE_STALL)), n = exp(15 * (alpha + PLANE_STALL));
	const double stalled = (1 + m + n) / ((1 + m) * (1 + n)), past = fmax(0, fabs(alpha) - PLANE_STALL);
	double sine = sin(alpha), sign = (alpha > 0) - (alpha < 0);
	*ret_cl = (1 - stalled) * (0.15 + 5 * alpha) + stalled * 2 * sign * sine * sine * cos(alpha);
	*ret_cd = (1 - stalled) * (0.03 + *ret_cl * *ret_cl / (M_PI * PLANE_AR * 0.9)) +
		  stalled * 2 / (1 + exp(-0.224 - 0.115 * PLANE_AR)) * fabs(0.5 - 0.5 * cos(2 * alpha));
	*ret_cm = 0.07 - 0.4 * (alpha - sign * past) - 0.2 * sign * past;
}

Test(fluid, coefficients_of_a_plane_follow_the_angle_of_attack)
{
	const double pressure = 0.5 * RHO * 100 * AREA;
	for (int i = -5; i <= 5; i++) {
		double lift, drag, cl, cd, cm, alpha = 0.25 * i;
		plane_at(alpha, &cl, &cd, &cm);
		fly(alpha, PLANE(""), 0, &lift, &drag);
		NEAR(lift, cl * pressure, 1e-6 * pressure);
		NEAR(drag, cd * pressure, 1e-6 * pressure);
		/* Pitching up is a turn about -y. */
		char text[4096];
		(void)snprintf(text, sizeof text,
			WORLD(NO_GRAVITY
				"<wind><linear_velocity>%.17g 0 %.17g</linear_velocity></wind><model name='m'>" LINK(
					BALL) PLANE("<mac>0.4</mac>") "</model>"),
			-10 * cos(alpha), 10 * sin(alpha));
		struct troupe_server *server = after(text, LIB_DT_S);
		NEAR(twist_of(server, "m").angular.y, -cm * pressure * 0.4 * LIB_DT_S, 1e-6);
		lib_destroy(server);
	}
}

/* Each rate, sideslip and deflection has the coefficient of its own; the torques are about x, -y and -z. */
Test(fluid, coefficients_of_a_plane_follow_rates_sideslip_and_deflection)
{
	const double v = 10, pressure = 0.5 * RHO * v * v * AREA, span = sqrt(AREA * PLANE_AR), chord = 0.4;
	const double p = 0.3, q = 0.2, r = -0.1, beta = atan2(-1, v), degrees = 0.1 * 180 / M_PI;
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY "<model name='m'>" LINK(
			BALL) "<link "
			      "name='flap'><inertial><mass>1e-6</mass><inertia><ixx>1e-6</ixx><iyy>1e-6</"
			      "iyy><izz>1e-6</izz></inertia></inertial></link><joint name='j' "
			      "type='revolute'><parent>l</parent><child>flap</child><axis><xyz>0 1 "
			      "0</xyz></axis></joint>" PLUGIN("AdvancedLiftDrag",
				      "<link_name>l</link_name><area>0.5</area><AR>6</AR><mac>0.4</mac><alpha_stall>3</"
				      "alpha_stall><CYb>-0.25</CYb><Cellb>-0.04</Cellb><Cenb>0.1</Cenb><Cellp>-0.5</"
				      "Cellp><CLq>8</CLq><Cemq>-12</Cemq><Cenr>-0.09</Cenr><CYr>0.23</"
				      "CYr><num_ctrl_surfaces>1</num_ctrl_surfaces><control_surface><name>j</"
				      "name><direction>-1</direction><CL_ctrl>0.02</CL_ctrl><CD_ctrl>0.01</"
				      "CD_ctrl><CY_ctrl>0</CY_ctrl><Cell_ctrl>0</Cell_ctrl><Cem_ctrl>0.03</"
				      "Cem_ctrl><Cen_ctrl>0</Cen_ctrl></control_surface>") "</model>"),
		0);
	/* The rates of roll, pitch and yaw are those about x, -y and -z; to the left is a sideslip of less than 0. */
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 10 y: 1} angular {x: 0.3 y: -0.2 z: 0.1}");
	lib_text(server, 0, "/world/w/set_joint", "name: 'm' joint: 'j' position: 0.1");
	lib_step(server, 1);
	struct troupe_twist twist = twist_of(server, "m");
	const double per_v = 1 / (2 * v), lift = 8 * q * chord * per_v - 0.02 * degrees;
	const double side = -0.25 * beta + 0.23 * r * span * per_v;
	NEAR(MASS * twist.linear.z / LIB_DT_S, lift * pressure, 0.1);
	NEAR(MASS * (twist.linear.x - v) / LIB_DT_S, 0.01 * degrees * pressure, 0.1);
	NEAR(MASS * (twist.linear.y - 1) / LIB_DT_S, -side * pressure, 0.1);
	const double roll = (-0.04 * beta - 0.5 * p * span * per_v) * span;
	const double pitch = (-12 * q * chord * per_v - 0.03 * degrees) * chord;
	const double yaw = (0.1 * beta - 0.09 * r * span * per_v) * span;
	NEAR((twist.angular.x - p) / LIB_DT_S, roll * pressure, 0.01);
	NEAR((twist.angular.y + q) / LIB_DT_S, -pitch * pressure, 0.01);
	NEAR((twist.angular.z + r) / LIB_DT_S, -yaw * pressure, 0.01);
	lib_destroy(server);
	goes_wrong(WORLD("<model name='m'>" LINK(BALL) "\n" PLUGIN(
			   "AdvancedLiftDrag", "<link_name>l</link_name><AR>6</AR><upward>2 0 0</upward>") "</model>"),
		"<forward> and <upward>");
}

/* --- buoyancy --------------------------------------------------------------------------------------------------- */

#define WATER 1000.0
#define UNIFORM PLUGIN("Buoyancy", "<uniform_fluid_density>1000</uniform_fluid_density>")
#define GRADED                                                                                                         \
	PLUGIN("Buoyancy", "<graded_buoyancy><default_density>1000</default_density><density_change><above_depth>0</"  \
			   "above_depth><density>0</density></density_change></graded_buoyancy>")

/* The upward force and the torque on a shape at this pose, from its velocities
 * after one step. */
static struct troupe_wrench push_on(const char *water, const char *shape, const char *pose)
{
	char text[4096];
	(void)snprintf(text, sizeof text, WORLD(GRAVITY "%s<model name='m'><pose>%s</pose>" LINK("%s") "</model>"),
		water, pose, shape);
	struct troupe_server *server = lib_server(text, 0);
	lib_step(server, 1);
	struct troupe_twist twist = twist_of(server, "m");
	lib_destroy(server);
	return (struct troupe_wrench){{MASS * twist.linear.x / LIB_DT_S, MASS * twist.linear.y / LIB_DT_S,
					      MASS * (twist.linear.z / LIB_DT_S + G)},
		{twist.angular.x / LIB_DT_S, twist.angular.y / LIB_DT_S, twist.angular.z / LIB_DT_S}};
}

static const struct {
	const char *text;
	double volume;
} shapes[] = {
	{"<box><size>0.2 0.3 0.5</size></box>", 0.2 * 0.3 * 0.5},
	{"<sphere><radius>0.2</radius></sphere>", 4.0 / 3 * M_PI * 0.008},
	{"<cylinder><radius>0.2</radius><length>0.6</length></cylinder>", M_PI * 0.04 * 0.6},
	{"<capsule><radius>0.2</radius><length>0.3</length></capsule>", M_PI * 0.04 * (0.3 + 4.0 / 3 * 0.2)},
	{"<ellipsoid><radii>0.1 0.2 0.3</radii></ellipsoid>", 4.0 / 3 * M_PI * 0.006},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

Test(fluid, a_body_loses_the_weight_of_the_fluid_that_it_displaces)
{
	for (int i = 0; i < SHAPES; i++) {
		double weight = WATER * shapes[i].volume * G;
		struct troupe_wrench wrench = push_on(UNIFORM, shapes[i].text, "0 0 5 0.3 0.4 0.5");
		NEAR(wrench.force.z, weight, 1e-6 * weight);
		NEAR(wrench.torque.x, 0, 1e-6 * weight);
		NEAR(push_on(GRADED, shapes[i].text, "0 0 -5 1 2 3").force.z, weight, 1e-6 * weight);
		NEAR(push_on(GRADED, shapes[i].text, "0 0 5 1 2 3").force.z, 0, 1e-6 * weight);
		NEAR(push_on(GRADED, shapes[i].text, "0 0 0 0.4 0.7 0").force.z, weight / 2, 1e-3 * weight);
	}
}

/* The righting moment of a box at a small angle: weight of the water times GM,
 * with GM = BM - BG, BM = width^2 / (12 draught), and G above the centre of
 * buoyancy B. */
Test(fluid, a_raft_rights_itself_and_a_cube_capsizes)
{
	const double angle = 1e-3;
	for (int i = 0; i < 2; i++) {
		double width = 1, height = i ? 1 : 0.2, draught = height / 2, displaced = width * width * draught;
		double metacentre = width * width / (12 * draught) - height / 4;
		struct troupe_wrench wrench = push_on(GRADED,
			i ? "<box><size>1 1 1</size></box>" : "<box><size>1 1 0.2</size></box>", "0 0 0 0.001 0 0");
		double moment = -WATER * G * displaced * metacentre * angle;
		NEAR(wrench.torque.x, moment, 1e-3 * fabs(moment));
	}
}

/* Floats where the water that it displaces has its mass. */
static double float_height(const char *shape)
{
	char text[4096];
	(void)snprintf(text, sizeof text,
		WORLD(GRAVITY GRADED "<model name='m'><pose>0 0 0.05 0 0 0</pose>" LINK("%s")
				PLUGIN("Hydrodynamics", "<link_name>l</link_name><zW>-40</zW>") "</model>"),
		shape);
	struct troupe_server *server = after(text, 5);
	double z = lib_at(server, lib_model(server, "m")).pose.z;
	lib_destroy(server);
	return z;
}

static double cap(double radius, double height)
{
	return M_PI * height * height * (3 * radius - height) / 3;
}

Test(fluid, a_box_and_a_ball_float_at_their_draught)
{
	const double edge = 0.2, radius = 0.1;
	double low = 0, high = 2 * radius;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		*(WATER * cap(radius, middle) < MASS ? &low : &high) = middle;
	}
	NEAR(float_height("<box><size>0.2 0.2 0.2</size></box>"), edge / 2 - MASS / (WATER * edge * edge), 1e-5);
	NEAR(float_height(BALL), radius - low, 1e-5);
}

/* A mesh, in a collision that stands on the link's origin: the force acts at
 * the centre of its volume. */
Test(fluid, a_solid_of_triangles_has_a_volume_and_a_centre)
{
	const double weight = WATER * 0.2 * 0.4 * 0.6 * G;
	const char *prism = "<polyline><point>0 0</point><point>0.2 0</point><point>0.2 0.4</point><point>0 "
			    "0.4</point><height>0.6</height></polyline>";
	struct troupe_wrench wrench = push_on(UNIFORM, prism, "0 0 5 0 0 0");
	NEAR(wrench.force.z, weight, 1e-6 * weight);
	NEAR(wrench.torque.x, 0.2 * weight, 1e-4 * weight);
	NEAR(wrench.torque.y, -0.1 * weight, 1e-4 * weight);
	wrench = push_on(GRADED, prism, "0 0 -0.3 0 0 0");
	NEAR(wrench.force.z, weight / 2, 1e-6 * weight);
}

Test(fluid, only_enabled_links_float)
{
#define FLOATING(name) "<model name='" name "'><pose>0 0 5 0 0 0</pose>" LINK(BALL) "</model>"
	struct troupe_server *server = lib_server(
		WORLD(GRAVITY PLUGIN("Buoyancy", "<enable>a</enable><enable>b::l</enable><enable>c::k</enable>")
				FLOATING("a") "<model name='b'><pose>3 0 5 0 0 0</pose>" LINK(
					BALL) "</model><model name='c'><pose>6 0 5 0 0 0</pose>" LINK(BALL) "</model>"),
		0);
	lib_step(server, 1);
	double rises = (WATER * 4.0 / 3 * M_PI * 1e-3 / MASS - 1) * G * LIB_DT_S;
	NEAR(twist_of(server, "a").linear.z, rises, 1e-6);
	NEAR(twist_of(server, "b").linear.z, rises, 1e-6);
	NEAR(twist_of(server, "c").linear.z, -G * LIB_DT_S, 1e-6);
}

Test(fluid, bad_layers_are_refused)
{
	goes_wrong(WORLD("\n" PLUGIN("Buoyancy", "<uniform_fluid_density>-1</uniform_fluid_density>") FLOATING("a")),
		"library.sdf:2: ");
	goes_wrong(WORLD(PLUGIN("Buoyancy", "<graded_buoyancy>\n<density_change><above_depth>0</above_depth></"
					    "density_change></graded_buoyancy>") FLOATING("a")),
		"library.sdf:2: <density_change> expects");
	goes_wrong(
		WORLD(PLUGIN("Buoyancy", "<graded_buoyancy>\n<density_change><above_depth>0</above_depth><density>-3</"
					 "density></density_change></graded_buoyancy>") FLOATING("a")),
		"the density is -3");
}

/* --- thruster --------------------------------------------------------------------------------------------------- */

#define PROPELLER_MASS 0.1
#define BOAT(more) BOAT_FROM("-20", "300", more)
#define BOAT_FROM(least, most, more)                                                                                   \
	WORLD(NO_GRAVITY "<model name='m'>" LINK(                                                                      \
		BALL) "<link "                                                                                         \
		      "name='p'><inertial><mass>0.1</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></"    \
		      "inertia></inertial></link><joint name='j' "                                                     \
		      "type='revolute'><parent>l</parent><child>p</child><axis><xyz>1 0 "                              \
		      "0</xyz></axis></joint>" PLUGIN("Thruster",                                                      \
			      "<joint_name>j</joint_name><propeller_diameter>0.25</"                                   \
			      "propeller_diameter><fluid_density>950</fluid_density><max_thrust_cmd>" most             \
			      "</max_thrust_cmd><min_thrust_cmd>" least "</min_thrust_cmd>" more) "</model>")
#define AT_ONCE "<velocity_control>true</velocity_control>"
#define COEFFICIENT "<thrust_coefficient>0.005</thrust_coefficient>"
#define TOTAL (MASS + PROPELLER_MASS)

static const double propeller = 950 * 0.005 * 0.25 * 0.25 * 0.25 * 0.25; /* N s2 */

static struct troupe_server *boat(const char *world, const char *topic, double number, double time_s)
{
	struct troupe_server *server = lib_server(world, 0);
	char text[100];
	(void)snprintf(text, sizeof text, "data: %.17g", number);
	lib_text(server, 0, topic, text);
	lib_step(server, (uint64_t)llround(time_s / LIB_DT_S));
	return server;
}

Test(fluid, thrust_turns_a_propeller_by_its_square_and_pushes_the_boat)
{
	struct troupe_server *server = boat(BOAT(AT_ONCE COEFFICIENT), "/model/m/joint/j/cmd_thrust", 10, 1);
	NEAR(twist_of(server, "m").linear.x, 10 / TOTAL, 1e-2);
	NEAR(lib_joint_at(server, lib_joint(server, "m", "j")).velocity[0], sqrt(10 / propeller), 1e-3);
	lib_text(server, 0, "/model/m/joint/j/cmd_thrust", "data: -1000");
	double before = twist_of(server, "m").linear.x;
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.x - before, -20 / TOTAL, 2e-2);
}

/* As in Gazebo: 1000 N either way. */
Test(fluid, bounds_that_exclude_one_another_are_none)
{
	struct troupe_server *server =
		boat(BOAT_FROM("50", "-50", AT_ONCE COEFFICIENT), "/model/m/joint/j/cmd_thrust", -2000, 0.1);
	NEAR(twist_of(server, "m").linear.x, -100 / TOTAL, 1e-1);
}

Test(fluid, a_speed_of_the_propeller_has_a_thrust_and_a_deadband)
{
#define BY_SPEED AT_ONCE COEFFICIENT "<use_angvel_cmd>true</use_angvel_cmd><deadband>1</deadband>"
	struct troupe_server *server = boat(BOAT(BY_SPEED), "/model/m/joint/j/cmd_vel", 30, 1);
	NEAR(twist_of(server, "m").linear.x, propeller * 900 / TOTAL, 1e-2);
	lib_destroy(server);
	double below = 0.9 * sqrt(1 / propeller);
	server = boat(BOAT(BY_SPEED), "/model/m/joint/j/cmd_vel", below, 1);
	NEAR(twist_of(server, "m").linear.x, 0, 1e-9);
	lib_text(server, 0, "/model/m/joint/j/enable_deadband", "data: false");
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.x, propeller * below * below / TOTAL, 1e-2);
}

/* Without a coefficient it falls with the advance of the boat. */
Test(fluid, the_thrust_coefficient_follows_the_advance)
{
	struct troupe_server *server =
		boat(BOAT(AT_ONCE "<alpha_1>0.9</alpha_1><alpha_2>0.01</alpha_2><wake_fraction>0.3</wake_fraction>"),
			"/model/m/joint/j/cmd_thrust", 200, 1);
	double speed = lib_joint_at(server, lib_joint(server, "m", "j")).velocity[0];
	double flow = twist_of(server, "m").linear.x;
	double coefficient = 0.9 + 0.01 * 0.7 * flow / (speed * 0.25);
	NEAR(950 * coefficient * pow(0.25, 4) * speed * speed, 200, 0.2);
	cr_assert(flow > 10, "%g", flow);
}

Test(fluid, a_pid_turns_the_propeller)
{
	struct troupe_server *server =
		boat(BOAT(COEFFICIENT "<p_gain>0.5</p_gain>"), "/model/m/joint/j/cmd_thrust", 10, 5);
	NEAR(lib_joint_at(server, lib_joint(server, "m", "j")).velocity[0], sqrt(10 / propeller), 0.11);
}

/* --- hydrodynamics ---------------------------------------------------------------------------------------------- */

#define SUBMARINE(more)                                                                                                \
	"<model name='m'>" LINK(BALL) PLUGIN("Hydrodynamics", "<link_name>l</link_name>" more) "</model>"
#define PUSH "entity {name: 'm'} wrench {force {x: 10}}"

static struct troupe_server *pushed(const char *world, double time_s)
{
	struct troupe_server *server = lib_server(world, 0);
	lib_text(server, 0, "/world/w/wrench/persistent", PUSH);
	lib_step(server, (uint64_t)llround(time_s / LIB_DT_S));
	return server;
}

Test(fluid, a_submarine_reaches_the_speed_at_which_drag_is_thrust)
{
	const double linear = 3, square = 2;
	struct troupe_server *server = pushed(WORLD(NO_GRAVITY SUBMARINE("<xU>-3</xU><xUabsU>-2</xUabsU>")), 20);
	NEAR(twist_of(server, "m").linear.x, (sqrt(linear * linear + 4 * square * 10) - linear) / (2 * square), 1e-6);
}

Test(fluid, added_mass_makes_a_body_slow)
{
	struct troupe_server *server = pushed(WORLD(NO_GRAVITY SUBMARINE("<xDotU>-1</xDotU>")), 2);
	NEAR(twist_of(server, "m").linear.x, 10 * 2 / (MASS + 1), 2e-2);
	lib_destroy(server);
	server = pushed(
		WORLD(NO_GRAVITY SUBMARINE("<xDotU>-1</xDotU><disable_added_mass>true</disable_added_mass>")), 2);
	NEAR(twist_of(server, "m").linear.x, 10 * 2 / MASS, 1e-6);
}

/* Munk's moment: a body that moves askew is turned by (Y - X) u v. */
Test(fluid, added_mass_turns_a_body_that_moves_askew)
{
	struct troupe_server *server =
		lib_server(WORLD(NO_GRAVITY SUBMARINE("<xDotU>-0.5</xDotU><yDotV>-1.5</yDotV>")), 0);
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 2 y: 3}");
	lib_step(server, 1);
	NEAR(twist_of(server, "m").angular.z, (-1.5 + 0.5) * 2 * 3 * LIB_DT_S, 1e-6);
	lib_destroy(server);
	server = lib_server(WORLD(NO_GRAVITY SUBMARINE(
				    "<xDotU>-0.5</xDotU><yDotV>-1.5</yDotV><disable_coriolis>true</disable_coriolis>")),
		0);
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 2 y: 3}");
	lib_step(server, 1);
	NEAR(twist_of(server, "m").angular.z, 0, 1e-6);
}

/* The same moment acts on a body that is at rest in a current: its motion against the water counts. */
Test(fluid, added_mass_turns_a_body_in_a_current)
{
	struct troupe_server *server =
		lib_server(WORLD(NO_GRAVITY SUBMARINE(
				   "<xDotU>-0.5</xDotU><yDotV>-1.5</yDotV><default_current>2 3 0</default_current>")),
			0);
	lib_step(server, 1);
	NEAR(twist_of(server, "m").angular.z, (-1.5 + 0.5) * 2 * 3 * LIB_DT_S, 1e-9);
}

/* A body sinks in water at (m + a) v' = m g - c v - d v^2, whether its added mass is below its mass or far above. The
 * first is that of a common underwater robot. */
Test(fluid, added_mass_may_exceed_the_mass)
{
	static const struct {
		double mass, added, linear, square;
	} cases[] = {{11.5, 14.57, 5.18, 36.99}, {11.5, 5, 5.18, 36.99}, {1, 400, 30, 0}, {0.5, 20, 0, 70}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double m = cases[i].mass, a = cases[i].added, c = cases[i].linear, d = cases[i].square;
		char world[1600];
		(void)snprintf(world, sizeof world,
			WORLD(GRAVITY
				"<model name='m'><link name='l'><inertial><mass>%g</mass></inertial></link>" PLUGIN(
					"Hydrodynamics", "<link_name>l</link_name><zDotW>%g</zDotW><zW>%g</"
							 "zW><zWabsW>%g</zWabsW>") "</model>"),
			m, -a, -c, -d);
		double v = 0, z = 0, h = LIB_DT_S / 10;
		for (int k = 0; k < 30000; k++) {
			double half = v + h / 2 * (m * G - c * v - d * v * v) / (m + a);
			v += h * (m * G - c * half - d * half * half) / (m + a);
			z -= h * half;
		}
		struct troupe_server *server = after(world, 3);
		NEAR(twist_of(server, "m").linear.z, -v, 1e-3 * v);
		NEAR(lib_link_at(server, lib_link(server, "m", "l")).pose.z, z, 2e-3 * fabs(z));
		lib_destroy(server);
	}
}

/* A turn about an axis with much added inertia, and a coupling of sway and yaw: the momentum is that of the torque. */
Test(fluid, added_inertia_may_exceed_the_inertia)
{
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY SUBMARINE("<nDotR>-50</nDotR><yDotV>-30</yDotV><yDotR>-3</yDotR><nDotV>-3</nDotV>")),
		0);
	lib_text(server, 0, "/world/w/wrench/persistent", "entity {name: 'm'} wrench {torque {z: 0.6}}");
	lib_step(server, 1000);
	struct troupe_twist twist = twist_of(server, "m");
	double determinant = (MASS + 30) * (1 + 50) - 3 * 3;
	NEAR(twist.angular.z, 0.6 * (MASS + 30) / determinant, 1e-5);
	NEAR(twist.linear.y, -0.6 * 3 / determinant, 1e-4);
}

/* Drag that would stop the body in less than a step does not throw it back. */
Test(fluid, strong_drag_stops_a_body)
{
	struct troupe_server *server =
		lib_server(WORLD(NO_GRAVITY SUBMARINE("<xU>-1e5</xU><yVabsV>-1e6</yVabsV><nR>-1e5</nR>")), 0);
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 2 y: 3} angular {z: 5}");
	lib_step(server, 200);
	struct troupe_twist twist = twist_of(server, "m");
	NEAR(twist.linear.x, 0, 1e-3);
	NEAR(twist.linear.y, 0, 0.1);
	NEAR(twist.angular.z, 0, 1e-3);
}

/* Signs for which the whole is no mass: the added mass is left out, and damping stays. */
Test(fluid, added_mass_of_the_wrong_sign_is_left_out)
{
	struct troupe_server *server = pushed(WORLD(NO_GRAVITY SUBMARINE("<xDotU>5</xDotU><xU>-3</xU>")), 20);
	NEAR(twist_of(server, "m").linear.x, 10.0 / 3, 1e-6);
}

Test(fluid, a_current_carries_a_body_along)
{
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY SUBMARINE(
			"<default_current>0.5 0 0</default_current><xU>-4</xU><yV>-4</yV><zW>-4</zW>"
			"<namespace>sub</namespace>")),
		0);
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.x, 0.5 * (1 - exp(-4 / MASS)), 1e-3);
	lib_text(server, 0, "/model/sub/ocean_current", "y: -1 z: 0.7");
	lib_step(server, 10000);
	NEAR(twist_of(server, "m").linear.z, 0.7, 1e-6);
	NEAR(twist_of(server, "m").linear.y, -1, 1e-6);
	NEAR(twist_of(server, "m").linear.x, 0, 1e-6);
}

/* --- wind ------------------------------------------------------------------------------------------------------- */

#define BLOWN(name, pose)                                                                                              \
	"<model name='" name "'><pose>" pose "</pose><enable_wind>true</enable_wind>" LINK(BALL) "</model>"
#define WINDY(more) NO_GRAVITY "<wind><linear_velocity>6 8 0</linear_velocity></wind>" PLUGIN("WindEffects", more)

/* The wind rises as W (1 - exp(-t / 1 s)), and carries a body along with the
 * rate 1/s: v = W (1 - (1 + t) exp(-t)). */
Test(fluid, wind_rises_and_carries_bodies_along)
{
	struct troupe_server *server =
		after(WORLD(WINDY("") BLOWN("m", "0 0 0 0 0 0") "<model name='calm'><pose>3 0 0 0 0 0</pose>" LINK(
			      BALL) "</model>"),
			2);
	double part = 1 - 3 * exp(-2);
	NEAR(twist_of(server, "m").linear.x, 6 * part, 1e-2);
	NEAR(twist_of(server, "m").linear.y, 8 * part, 1e-2);
	NEAR(twist_of(server, "calm").linear.x, 0, 0);
	lib_text(server, 0, "/world/w/wind", "linear_velocity {x: 1 z: 2} enable_wind: true");
	lib_step(server, 20000);
	NEAR(twist_of(server, "m").linear.x, 1, 1e-3);
	NEAR(twist_of(server, "m").linear.z, 2, 1e-3);
	lib_text(server, 0, "/world/w/wind", "linear_velocity {x: 9}");
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.x, 1, 1e-3);
}

/* The factor is that of the first <when> that has the place; elsewhere there is
 * no wind. */
Test(fluid, wind_depends_on_the_place)
{
	struct troupe_server *server =
		lib_server(WORLD(WINDY("<horizontal><magnitude><time_for_rise>1e-6</time_for_rise></magnitude></"
				       "horizontal><force_approximation_scaling_factor><when zgt='0' "
				       "zlt='5'>0.2</when><when zge='5'><k>0.5</k><px>0 0.01 0 0</px><rz>0 0 0.01 "
				       "0.45</rz></when></force_approximation_scaling_factor>") BLOWN(
				   "low", "0 0 -1 0 0 0") BLOWN("middle", "0 0 2 0 0 0") BLOWN("high", "3 0 20 0 0 0")),
			0);
	lib_step(server, 1);
	NEAR(twist_of(server, "low").linear.x, 0, 0);
	NEAR(twist_of(server, "middle").linear.x, 6 * 0.2 * LIB_DT_S, 1e-9);
	NEAR(twist_of(server, "high").linear.x, 6 * 0.5 * (0.01 * 9 + 0.01 * 20 + 0.45) * LIB_DT_S, 1e-9);
}

/* The same seed has the same gusts; their mean is the wind. */
Test(fluid, gusts_have_noise_that_belongs_to_the_seed)
{
	double speed[2];
	for (int i = 0; i < 2; i++) {
		struct troupe_server *server = after(
			WORLD(WINDY("<horizontal><magnitude><noise "
				    "type='gaussian'><mean>0</mean><stddev>2</stddev></noise></magnitude></horizontal>")
					BLOWN("m", "0 0 0 0 0 0")),
			10);
		speed[i] = hypot(twist_of(server, "m").linear.x, twist_of(server, "m").linear.y);
		lib_destroy(server);
	}
	NEAR(speed[0], speed[1], 0);
	cr_assert(fabs(speed[0] - 10) < 0.5 && fabs(speed[0] - 10 * (1 - 11 * exp(-10))) > 1e-6, "%g", speed[0]);
}

Test(fluid, bad_wind_is_refused)
{
	goes_wrong(WORLD(WINDY("<horizontal>\n<magnitude><time_for_rise>0</time_for_rise></magnitude></horizontal>")
				   BLOWN("m", "0 0 0 0 0 0")),
		"library.sdf:2: <time_for_rise> is 0");
	goes_wrong(WORLD(WINDY("\n<force_approximation_scaling_factor>-1</force_approximation_scaling_factor>")
				   BLOWN("m", "0 0 0 0 0 0")),
		"library.sdf:2: ");
}

/* --- motors of a multicopter ------------------------------------------------------------------------------------ */

#define MOTOR_CONSTANT 8.54858e-06
#define MOMENT_CONSTANT 0.016
#define ROTOR_MASS 0.005
#define ROTOR(name, pose, turns, number) ROTOR_WITH(name, pose, turns, number, "")
#define ROTOR_WITH(name, pose, turns, number, more)                                                                    \
	"<link name='" name "'><pose>" pose "</pose><inertial><mass>0.005</mass><inertia><ixx>1e-5</ixx><iyy>1e-5</"   \
					    "iyy><izz>1e-5</izz></inertia></inertial></link><joint name='" name        \
	"_joint' type='revolute'><parent>l</parent><child>" name                                                       \
	"</child><axis><xyz>0 0 1</xyz></axis></joint>" PLUGIN("MulticopterMotorModel",                                \
		"<robotNamespace>copter</robotNamespace><jointName>" name "_joint</jointName><linkName>" name          \
		"</linkName><turningDirection>" turns "</turningDirection><motorNumber>" number                        \
		"</motorNumber><commandSubTopic>command/motor_speed</commandSubTopic><motorType>velocity</"            \
		"motorType>" more)

/* The speed comes to the wanted one like 1 - exp(-t / time constant); thrust is
 * its square. */
Test(fluid, a_rotor_has_thrust_and_a_torque)
{
	const double omega = 600, thrust = MOTOR_CONSTANT * omega * omega, mass = MASS + ROTOR_MASS;
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY "<model name='m'>" LINK(BALL) ROTOR("r", "0 0 0 0 0 0", "ccw", "1") "</model>"), 0);
	lib_text(server, 0, "/copter/command/motor_speed", "velocity: [9, 600]");
	lib_step(server, 1000);
	struct troupe_twist before = twist_of(server, "m");
	NEAR(lib_joint_at(server, lib_joint(server, "m", "r_joint")).velocity[0], omega / 10, 1e-3);
	lib_step(server, 1000);
	struct troupe_twist now = twist_of(server, "m");
	NEAR(now.linear.z - before.linear.z, thrust / mass, 1e-3 * thrust);
	NEAR(now.angular.z - before.angular.z, -MOMENT_CONSTANT * thrust, 1e-3);
	lib_text(server, 0, "/copter/command/motor_speed", "velocity: [9, 1e5]");
	lib_step(server, 1000);
	NEAR(lib_joint_at(server, lib_joint(server, "m", "r_joint")).velocity[0], 838 / 10.0, 1e-3);
}

Test(fluid, four_rotors_at_the_right_speed_hover)
{
	const double mass = MASS + 4 * ROTOR_MASS, omega = sqrt(mass * G / (4 * MOTOR_CONSTANT));
	struct troupe_server *server =
		lib_server(WORLD(GRAVITY "<model name='m'><pose>0 0 50 0 0 0</pose>" LINK(BALL) ROTOR(
				   "a", "0.2 0 0 0 0 0", "ccw", "0") ROTOR("b", "0 0.2 0 0 0 0", "cw", "1") ROTOR("c",
				   "-0.2 0 0 0 0 0", "ccw", "2") ROTOR("d", "0 -0.2 0 0 0 0", "cw", "3") "</model>"),
			0);
	char text[200];
	(void)snprintf(text, sizeof text, "velocity: [%.17g, %.17g, %.17g, %.17g]", omega, omega, omega, omega);
	lib_text(server, 0, "/copter/command/motor_speed", text);
	lib_step(server, 1000);
	double before = twist_of(server, "m").linear.z;
	lib_step(server, 1000);
	struct troupe_twist now = twist_of(server, "m");
	NEAR(now.linear.z - before, 0, 1e-3);
	NEAR(now.linear.x, 0, 1e-3);
	NEAR(now.angular.z, 0, 1e-3);
}

/* --- control of a multicopter --------------------------------------------------------------------------------------
 */

#define CONTROLLED(name, turns)                                                                                        \
	"<rotor><jointName>" name "_joint</jointName><forceConstant>8.54858e-06</"                                     \
				  "forceConstant><momentConstant>0.016</momentConstant><direction>" turns              \
	"</direction></rotor>"
#define FOUR CONTROLLED("a", "1") CONTROLLED("b", "-1") CONTROLLED("c", "1") CONTROLLED("d", "-1")
#define CONTROL(rotors, more)                                                                                          \
	PLUGIN("MulticopterVelocityControl",                                                                           \
		"<robotNamespace>copter</robotNamespace><comLinkName>l</comLinkName><velocityGain>4 4 "                \
		"4</velocityGain><attitudeGain>40 40 1</attitudeGain><angularRateGain>12 12 "                          \
		"4</angularRateGain><rotorConfiguration>" rotors "</rotorConfiguration>" more)
/* Its motors listen to a topic that the controller does not know, and have no drag across their axes. */
#define DRAGLESS "<rotorDragCoefficient>0</rotorDragCoefficient><rollingMomentCoefficient>0</rollingMomentCoefficient>"
#define QUAD(control)                                                                                                  \
	WORLD(GRAVITY "<model name='m'><pose>0 0 500 0 0 0</pose>" LINK(BALL) ROTOR_WITH(                              \
		"a", "0.2 0.1 0 0 0 0", "ccw", "0", DRAGLESS) ROTOR_WITH("b", "-0.1 0.2 0 0 0 0", "cw", "1", DRAGLESS) \
			ROTOR_WITH("c", "-0.2 -0.1 0 0 0 0", "ccw", "2", DRAGLESS)                                     \
				ROTOR_WITH("d", "0.1 -0.2 0 0 0 0", "cw", "3", DRAGLESS) control "</model>")
#define VELOCITY_GAIN 4.0
#define QUAD_MASS (MASS + 4 * ROTOR_MASS)

static struct troupe_server *flown(const char *world, const char *command, double time_s)
{
	struct troupe_server *server = lib_server(world, 0);
	lib_text(server, 0, "/copter/cmd_vel", command);
	lib_step(server, (uint64_t)llround(time_s / LIB_DT_S));
	return server;
}

/* Thrust is weight in the end: each motor has the speed of that. */
Test(fluid, a_controlled_copter_stops_and_hovers)
{
	const double omega = sqrt(QUAD_MASS * G / (4 * MOTOR_CONSTANT));
	struct troupe_server *server = lib_server(QUAD(CONTROL(FOUR, "")), 0);
	lib_text(server, 0, "/world/w/set_velocity", "name: 'm' linear {x: 1 y: -0.5} angular {x: 0.2 z: 0.3}");
	lib_text(server, 0, "/copter/cmd_vel", "");
	lib_step(server, 10000);
	struct troupe_twist twist = twist_of(server, "m");
	NEAR(twist.linear.x, 0, 1e-3);
	NEAR(twist.linear.y, 0, 1e-3);
	NEAR(twist.linear.z, 0, 1e-3);
	NEAR(twist.angular.z, 0, 1e-3);
	static const char *const joints[] = {"a_joint", "b_joint", "c_joint", "d_joint"};
	for (int i = 0; i < 4; i++)
		NEAR(fabs(lib_joint_at(server, lib_joint(server, "m", joints[i])).velocity[0]), omega / 10, 0.01);
}

/* Nothing brakes it, so the velocity is reached to the last mm/s, each axis and the rate of yaw on its own. */
Test(fluid, a_controlled_copter_reaches_its_velocity)
{
	struct troupe_server *server = flown(QUAD(CONTROL(FOUR, "")), "linear {x: 1.5 y: -0.5 z: 0.7}", 10);
	struct troupe_twist twist = twist_of(server, "m");
	NEAR(twist.linear.x, 1.5, 2e-3);
	NEAR(twist.linear.y, -0.5, 2e-3);
	NEAR(twist.linear.z, 0.7, 2e-3);
	lib_destroy(server);
	server = flown(QUAD(CONTROL(FOUR, "")), "angular {z: 0.4}", 10);
	twist = twist_of(server, "m");
	NEAR(twist.angular.z, 0.4, 1e-3);
	NEAR(twist.linear.z, 0, 1e-3);
}

/* m dv/dt = gain (wanted - v), so the error decays with m / gain; with a limit the climb begins with that. The motors
 * lag by 1/80 s, which is small beside it. */
Test(fluid, a_controlled_copter_climbs_as_its_gain_and_its_limit_say)
{
	const double start = 2, time = 0.5, wanted = 1, limit = 0.5;
	for (int i = 0; i < 2; i++) {
		struct troupe_server *server =
			i ? flown(QUAD(CONTROL(
					  FOUR, "<maximumLinearAcceleration>0.5 0.5 0.5</maximumLinearAcceleration>")),
				    "", start)
			  : flown(QUAD(CONTROL(FOUR, "")), "", start);
		double before = twist_of(server, "m").linear.z;
		lib_text(server, 0, "/copter/cmd_vel", i ? "linear {z: 10}" : "linear {z: 1}");
		lib_step(server, (uint64_t)llround(time / LIB_DT_S));
		double expected =
			i ? before + limit * time : wanted + (before - wanted) * exp(-VELOCITY_GAIN / QUAD_MASS * time);
		NEAR(twist_of(server, "m").linear.z, expected, 0.03);
		lib_destroy(server);
	}
}

Test(fluid, a_copter_that_is_disabled_falls_until_it_gets_a_command_again)
{
	struct troupe_server *server = flown(
		QUAD(CONTROL(FOUR, "<maximumLinearVelocity>9 9 0.5</maximumLinearVelocity>")), "linear {z: 3}", 8);
	NEAR(twist_of(server, "m").linear.z, 0.5, 2e-3);
	lib_text(server, 0, "/copter/enable", "data: false");
	lib_step(server, 1000);
	double before = twist_of(server, "m").linear.z;
	lib_text(server, 0, "/copter/enable", "data: true");
	lib_step(server, 500);
	NEAR(twist_of(server, "m").linear.z - before, -G * 0.5, 0.01);
	lib_text(server, 0, "/copter/cmd_vel", "");
	lib_step(server, 10000);
	NEAR(twist_of(server, "m").linear.z, 0, 1e-3);
}

/* Noise without a mean shakes it; the mean is an error of the velocity that the copter flies at. */
Test(fluid, noise_shakes_a_controlled_copter)
{
	struct troupe_server *server = flown(
		QUAD(CONTROL(FOUR,
			"<linearVelocityNoiseStdDev>0.01 0 0.05</linearVelocityNoiseStdDev><linearVelocityNoiseMean>0 "
			"0 0.2</linearVelocityNoiseMean>")),
		"", 10);
	struct troupe_twist twist = twist_of(server, "m");
	cr_assert(fabs(twist.linear.x) > 1e-6 && fabs(twist.linear.x) < 0.05);
	NEAR(twist.linear.y, 0, 0.05);
	NEAR(twist.linear.z, -0.2, 0.05);
	lib_destroy(server);
	server = flown(
		QUAD(CONTROL(FOUR, "<linearVelocityNoiseStdDev>0.01 0.01 0.05</linearVelocityNoiseStdDev>")), "", 10);
	twist = twist_of(server, "m");
	cr_assert(fabs(twist.linear.x) > 1e-6 && fabs(twist.linear.y) > 1e-6);
	NEAR(twist.linear.x, 0, 0.2);
	NEAR(twist.linear.y, 0, 0.2);
	NEAR(twist.linear.z, 0, 0.2);
}

Test(fluid, a_bad_controller_is_refused_or_left_out)
{
	goes_wrong(QUAD(CONTROL(FOUR CONTROLLED("a", "2"), "")), "<direction> is 2");
	goes_wrong(QUAD(CONTROL("<rotor><jointName>a_joint</jointName><forceConstant>x</"
				"forceConstant><momentConstant>1</momentConstant><direction>1</direction></rotor>",
			   "")),
		"x");
	/* Three rotors cannot hold a copter: without a controller there is no such topic. */
	struct troupe_server *server =
		lib_server(QUAD(CONTROL(CONTROLLED("a", "1") CONTROLLED("b", "-1") CONTROLLED("c", "1"), "")), 0);
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.z, -G, 0.01);
}

/* --- wrenches and a bladder ------------------------------------------------------------------------------------- */

Test(fluid, wrenches_of_the_file_act_until_they_are_cleared)
{
	struct troupe_server *server = lib_server(
		WORLD(NO_GRAVITY PLUGIN("ApplyLinkWrench",
			"<persistent><entity_name>a</entity_name><entity_type>model</entity_type><force>6 0 "
			"0</force><torque>0.25 -0.75 "
			"0.5</torque></persistent><persistent><entity_name>b::l</entity_name><entity_type>link</"
			"entity_type><force>0 -4 0</force></persistent>")
				FLOATING("a") "<model name='b'><pose>5 0 5 0 0 0</pose>" LINK(BALL) "</model>"),
		0);
	lib_step(server, 1000);
	NEAR(twist_of(server, "a").linear.x, 6 / MASS, 1e-9);
	NEAR(twist_of(server, "a").angular.x, 0.25, 1e-9);
	NEAR(twist_of(server, "a").angular.y, -0.75, 1e-9);
	NEAR(twist_of(server, "a").angular.z, 0.5, 1e-9);
	NEAR(twist_of(server, "b").linear.y, -4 / MASS, 1e-9);
	lib_text(server, 0, "/world/w/wrench/clear", "name: 'a' type: MODEL");
	lib_step(server, 1000);
	NEAR(twist_of(server, "a").linear.x, 6 / MASS, 1e-9);
	NEAR(twist_of(server, "b").linear.y, -8 / MASS, 1e-9);
	lib_destroy(server);
	goes_wrong(WORLD(PLUGIN("ApplyLinkWrench", "\n<persistent><force>1 0 0</force></persistent>")),
		"library.sdf:2: <persistent> has no <entity_name>");
}

/* While the bladder fills at a constant rate, v = density g rate t^2 / (2
 * mass); then it rises evenly faster. */
Test(fluid, a_bladder_lifts_by_what_it_displaces)
{
	const double rate = 3e-4, fills_s = 2, force = WATER * G * rate * fills_s;
	struct troupe_server *server = lib_server(
		WORLD("<gravity>0 0 -9.8</gravity><model name='m'><pose>0 0 -50 0 0 0</pose>" LINK(BALL) PLUGIN(
			"BuoyancyEngine", "<link_name>l</link_name><namespace>m</namespace><min_volume>0.001</"
					  "min_volume><neutral_volume>0.002</neutral_volume><default_volume>0.002</"
					  "default_volume><max_volume>0.0026</max_volume><max_inflation_rate>0.0003</"
					  "max_inflation_rate><surface>0</surface>") "</model>"),
		0);
	lib_text(server, 0, "/model/m/buoyancy_engine", "data: 0.9");
	lib_step(server, 2000);
	double falls = -G * fills_s;
	NEAR(twist_of(server, "m").linear.z, falls + force * fills_s / (2 * MASS), 1e-2);
	lib_step(server, 1000);
	NEAR(twist_of(server, "m").linear.z, falls - G + force * fills_s / (2 * MASS) + force / MASS, 1e-2);
}

/* Above the surface it displaces nothing, as in Gazebo: the weight of its fluid is left. */
Test(fluid, a_bladder_above_the_surface_is_a_weight)
{
	struct troupe_server *server =
		after(WORLD("<gravity>0 0 -9.8</gravity><model name='m'><pose>0 0 50 0 0 0</pose>" LINK(BALL) PLUGIN(
			      "BuoyancyEngine",
			      "<link_name>l</link_name><neutral_volume>0.002</neutral_volume><default_volume>0.009</"
			      "default_volume><surface>0</surface>") "</model>"),
			0.5);
	NEAR(twist_of(server, "m").linear.z, -(G + 0.002 * WATER * G / MASS) * 0.5, 1e-6);
}
