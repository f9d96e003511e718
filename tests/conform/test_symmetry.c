/* Compares symmetric cases. Each world is run in several ways that must have the same outcome: with a joint's axis and
 * its limits reversed, with parent and child exchanged, with the whole world turned. So an error in one of two similar
 * cases (the upper stop, a negative rate, y for x) makes a difference, and no number is recorded here. Then bodies are
 * compared with formulas: each axis of an inertia, each of its products, each kind of damping. */
#include "harness.h"

#include "geom/geom.h"

TestSuite(symmetry, .init = be_sleepless, .fini = stop, .timeout = 120);

enum { SAMPLES = 8, BODY_BYTES = 4000 };

/* --- joints: one arm in five ways ------------------------------------------------------------------------------- */

struct axis {
	const char *what;
	double lower, upper; /* equal: no stops */
	double stiffness;    /* of the stops; 0: hard */
	double velocity, effort, damping, friction, spring, reference;
	const char *system; /* a system that takes the command; NULL: none */
	double command;
};

/* Gravity of 9.8 m/s2 on 1 kg at 0.5 m turns or pushes the arm in the positive direction. */
static const struct axis cases[] = {
	{.what = "falls freely"},
	{.what = "hard stops", .lower = -0.4, .upper = 0.3, .damping = 0.1},
	{.what = "begins at its lower stop", .lower = 0, .upper = 0.2},
	{.what = "begins at its upper stop", .lower = -1, .upper = 0},
	{.what = "begins beyond its upper stop", .lower = -1, .upper = -0.2},
	{.what = "begins beyond its lower stop", .lower = 0.05, .upper = 0.1},
	{.what = "soft stops", .lower = -0.4, .upper = 0.1, .stiffness = 300, .damping = 0.1},
	{.what = "no faster than", .velocity = 0.3},
	{.what = "driven no faster than", .velocity = 0.3, .system = "JointController", .command = 5},
	{.what = "driven back no faster than", .velocity = 0.3, .system = "JointController", .command = -5},
	{.what = "driven", .system = "JointController", .command = -0.7},
	{.what = "driven weakly", .effort = 3, .system = "JointController", .command = -0.7},
	{.what = "driven to its lower stop", .lower = -0.1, .upper = 2, .system = "JointController", .command = -1},
	{.what = "driven to its upper stop", .lower = -2, .upper = 0.1, .system = "JointController", .command = 1},
	{.what = "driven weakly to its upper stop",
		.lower = -2,
		.upper = 0.1,
		.effort = 3,
		.system = "JointController",
		.command = 1},
	{.what = "driven from its upper stop, strongly enough",
		.lower = -2,
		.upper = 0,
		.effort = 30,
		.system = "JointController",
		.command = -1},
	{.what = "pushed", .system = "ApplyJointForce", .command = -7},
	{.what = "pushed no harder than", .effort = 6, .damping = 0.1, .system = "ApplyJointForce", .command = -20},
	{.what = "pushed against its stop", .lower = -0.1, .upper = 2, .system = "ApplyJointForce", .command = -20},
	{.what = "friction", .friction = 2},
	{.what = "friction and stops", .friction = 2, .lower = -2, .upper = 0.1},
	{.what = "a spring", .spring = 20, .reference = -0.3, .damping = 0.2},
	{.what = "a stiff spring", .spring = 1e6, .reference = 0.1, .damping = 5},
	{.what = "a spring and friction", .spring = 20, .reference = -0.3, .friction = 1},
	{.what = "a spring and stops", .spring = 8, .reference = 0.7, .lower = -1, .upper = 0.2},
	{.what = "a spring that is driven",
		.spring = 20,
		.damping = 1,
		.effort = 9,
		.system = "JointController",
		.command = 1},
};

struct way {
	const char *kind;
	bool second;        /* the second of two axes has the properties */
	bool negated;       /* the axis is reversed, and so is the measured position */
	bool exchanged;     /* parent and child */
	bool to_world;      /* the joint ties the arm to the world, not to the rock */
	struct vec3 turned; /* roll, pitch, yaw */
};

static void add_axis(
	struct text *out, const char *tag, const char *frame, struct vec3 xyz, bool negated, const struct axis *axis)
{
	text_add(out, "<%s><xyz expressed_in='%s'>%g %g %g</xyz><limit>", tag, frame, xyz.x, xyz.y, xyz.z);
	if (axis->lower < axis->upper)
		text_add(out, "<lower>%.17g</lower><upper>%.17g</upper>", negated ? -axis->upper : axis->lower,
			negated ? -axis->lower : axis->upper);
	if (axis->stiffness > 0)
		text_add(out, "<stiffness>%g</stiffness><dissipation>4</dissipation>", axis->stiffness);
	if (axis->velocity > 0)
		text_add(out, "<velocity>%g</velocity>", axis->velocity);
	if (axis->effort > 0)
		text_add(out, "<effort>%g</effort>", axis->effort);
	text_add(out,
		"</limit><dynamics><damping>%g</damping><friction>%g</friction><spring_stiffness>%g</"
		"spring_stiffness><spring_reference>%.17g</spring_reference></dynamics></%s>",
		axis->damping, axis->friction, axis->spring, negated ? -axis->reference : axis->reference, tag);
}

static bool has_two_axes(const struct way *way)
{
	return !strcmp(way->kind, "universal");
}

static void add_joint(struct text *out, const struct way *way, const struct axis *axis)
{
	static const struct axis none;
	bool linear = !strcmp(way->kind, "prismatic") || !strcmp(way->kind, "screw");
	bool second = has_two_axes(way) && way->second != way->exchanged; /* the first axis belongs to the parent */
	/* the child's turn against the parent is the opposite of the parent's turn against the child */
	double sign = way->negated != way->exchanged ? -1 : 1;
	struct vec3 along = linear ? (struct vec3){0, 0, -sign} : (struct vec3){0, sign, 0};
	const char *arm = way->to_world ? "m::l" : "l", *rock = way->to_world ? "rock::l" : "rock";
	const char *frame = way->to_world ? "rock" : "__model__";
	text_add(out,
		"<joint name='j' type='%s'><pose "
		"relative_to='rock'/><parent>%s</parent><child>%s</child><screw_thread_pitch>0.7</screw_thread_pitch>",
		way->kind, way->exchanged ? arm : rock, way->exchanged ? rock : arm);
	if (second)
		add_axis(out, "axis", frame, (struct vec3){1, 0, 0}, false, &none);
	add_axis(out, second ? "axis2" : "axis", frame, along, way->negated, axis);
	if (has_two_axes(way) && !second)
		add_axis(out, "axis2", frame, (struct vec3){1, 0, 0}, false, &none);
	text_add(out, "</joint>");
}

/* An arm that a joint at its end ties to a rock: a link that is fixed to the world, or a static model. */
static void write_arm(const struct way *way, const struct axis *axis, char body[BODY_BYTES])
{
	struct text out = {0}, turn = {0};
	text_add(&turn, "<pose>0.1 0.2 0.3 %.17g %.17g %.17g</pose>", way->turned.x, way->turned.y, way->turned.z);
	if (way->to_world)
		text_add(&out, "<model name='rock'><static>true</static>%s<link name='l'/></model>", turn.at);
	text_add(&out,
		"<model name='m' canonical_link='l'>%s<link name='l'><pose>0.5 0 0 0 0 "
		"0</pose><inertial><mass>1</mass><inertia><ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz></inertia></"
		"inertial></link>",
		turn.at);
	if (!way->to_world) {
		text_add(&out, "<link name='rock'/><joint name='hold' "
			       "type='fixed'><parent>world</parent><child>rock</child></joint>");
		add_joint(&out, way, axis);
	}
	if (axis->system)
		text_add(&out, "<plugin name='gz::sim::systems::%s' filename='x'><joint_name>j</joint_name></plugin>",
			axis->system);
	text_add(&out, "</model>");
	if (way->to_world)
		add_joint(&out, way, axis);
	cr_assert_lt(out.count, BODY_BYTES);
	memcpy(body, out.at, out.count + 1);
	text_fini(&turn);
	text_fini(&out);
}

static struct pose pose_in(const char *name)
{
	struct troupe_pose p = pose_of(name);
	return (struct pose){{p.x, p.y, p.z}, {p.qw, p.qx, p.qy, p.qz}};
}

/* The pose of the arm against its first pose, in the frame of the model, at several times within 0.6 s. */
static void run_arm(const struct way *way, const struct axis *axis, struct pose ret[SAMPLES])
{
	char body[BODY_BYTES], gravity[100], data[40];
	struct quat turn = quat_from_rpy(way->turned.x, way->turned.y, way->turned.z);
	struct pose begin = {{0.1, 0.2, 0.3}, turn};
	struct vec3 g = quat_rotate(turn, (struct vec3){0, 0, -G});
	write_arm(way, axis, body);
	snprintf(gravity, sizeof gravity, "%.17g %.17g %.17g", g.x, g.y, g.z);
	start(gravity, "%s", body);
	snprintf(data, sizeof data, "data: %.17g", way->negated ? -axis->command : axis->command);
	if (axis->system)
		command(!strcmp(axis->system, "JointController") ? "/model/m/joint/j/cmd_vel"
								 : "/model/m/joint/j/cmd_force",
			data);
	for (int i = 0; i < SAMPLES; i++) {
		run_until(0.6 * (i + 1) / SAMPLES);
		ret[i] = pose_mul(pose_inverse(begin), pose_in("m"));
	}
}

static double difference(const struct pose a[SAMPLES], const struct pose b[SAMPLES])
{
	double most = 0;
	for (int i = 0; i < SAMPLES; i++) {
		struct quat turn = quat_mul(quat_conj(a[i].q), b[i].q);
		most = fmax(most, vec3_length(vec3_sub(a[i].p, b[i].p)));
		most = fmax(most, 2 * vec3_length((struct vec3){turn.x, turn.y, turn.z}));
	}
	return most;
}

static void compare(const char *what, const struct way *way, const struct axis *axis, const struct pose as[SAMPLES])
{
	struct pose path[SAMPLES];
	run_arm(way, axis, path);
	/* the thread of a screw is less exact than the rows of other joints */
	double by = difference(as, path), most = !strcmp(way->kind, "screw") ? 5e-4 : 2e-5;
	cr_assert(by <= most, "%s%s, %s: %s: %g apart", way->kind, way->second ? " (second axis)" : "", axis->what,
		what, by);
}

static void compare_all(const char *kind, bool second)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct axis *axis = &cases[i];
		struct way way = {.kind = kind, .second = second};
		struct pose as[SAMPLES];
		bool two = has_two_axes(&way);
		if (second && axis->system) /* the motor drives the first axis */
			continue;
		run_arm(&way, axis, as);
		way.negated = true;
		compare("axis turned round", &way, axis, as);
		way.exchanged = !(two && axis->system);
		compare("axis turned round, parent and child exchanged", &way, axis, as);
		way.negated = false;
		compare("parent and child exchanged", &way, axis, as);
		way.exchanged = false;
		way.turned = (struct vec3){0.4, -0.7, 2.1};
		compare("world turned", &way, axis, as);
		if (axis->system) /* the joint would not belong to its model */
			continue;
		way.to_world = true;
		compare("tied to the world", &way, axis, as);
		way.exchanged = true;
		compare("tied to the world, parent and child exchanged", &way, axis, as);
		way.negated = true;
		compare("tied to the world, both turned round", &way, axis, as);
	}
}

Test(symmetry, hinge)
{
	compare_all("revolute", false);
}

Test(symmetry, slide)
{
	compare_all("prismatic", false);
}

Test(symmetry, universal)
{
	compare_all("universal", false);
	compare_all("universal", true);
}

Test(symmetry, screw)
{
	compare_all("screw", false);
}

/* --- bodies by formula -------------------------------------------------------------------------------------------- */

struct inertia {
	const char *what, *links; /* of a model with a link l, which a hinge holds at its origin */
	double xx, yy, zz, xy, xz, yz;
};

/* The turn of a body about an axis n through its centre under a torque: the inertia is n I n. */
static void turns_by_formula(const struct inertia *in, struct vec3 n)
{
	double length = vec3_length(n), tau = 0.8, time_s = 0.25, steps = time_s / 0.001;
	n = vec3_scale(n, 1 / length);
	double about = n.x * n.x * in->xx + n.y * n.y * in->yy + n.z * n.z * in->zz +
		       2 * (n.x * n.y * in->xy + n.x * n.z * in->xz + n.y * n.z * in->yz);
	start("0 0 0",
		"<model name='m'>%s<joint name='j' type='revolute'><parent>world</parent><child>l</child><pose "
		"relative_to='__model__'/><axis><xyz expressed_in='__model__'>%.17g %.17g "
		"%.17g</xyz></axis></joint><plugin name='gz::sim::systems::ApplyJointForce' "
		"filename='x'><joint_name>j</joint_name></plugin></model>",
		in->links, n.x, n.y, n.z);
	command("/model/m/joint/j/cmd_force", "data: 0.8");
	run_until(time_s);
	struct pose p = pose_in("m");
	double angle = 2 * atan2(vec3_dot((struct vec3){p.q.x, p.q.y, p.q.z}, n), p.q.w);
	char what[100];
	snprintf(what, sizeof what, "%s about %.2f %.2f %.2f: rad", in->what, n.x, n.y, n.z);
	expect(what, angle, tau / about * 1e-6 * steps * (steps + 1) / 2, 2e-4);
}

#define TENSOR(xx, yy, zz, xy, xz, yz)                                                                                 \
	"<inertia><ixx>" xx "</ixx><iyy>" yy "</iyy><izz>" zz "</izz><ixy>" xy "</ixy><ixz>" xz "</ixz><iyz>" yz       \
	"</iyz></inertia>"
#define A_TENSOR TENSOR("0.35", "0.4", "0.45", "0.05", "-0.07", "0.09")
#define LINK(name, pose, mass, of_inertial, tensor)                                                                    \
	"<link name='" name "'><pose>" pose "</pose><inertial><pose>" of_inertial "</pose><mass>" mass                 \
	"</mass>" tensor "</inertial></link>"
#define SMALL TENSOR("0.01", "0.01", "0.01", "0", "0", "0")
#define WELD(name, child) "<joint name='" name "' type='fixed'><parent>l</parent><child>" child "</child></joint>"

/* Two balls of 1 kg at +c and -c, welded to a ball of hardly any mass at the centre: I = 2 m (c.c 1 - c c). */
static const double far[3] = {0.3, 0.4, -0.2};

Test(symmetry, inertia_about_each_axis)
{
	const double x = far[0], y = far[1], z = far[2], own = 0.03;
	const struct inertia bodies[] = {
		{"a tensor", LINK("l", "0 0 0 0 0 0", "1", "0 0 0 0 0 0", A_TENSOR), 0.35, 0.4, 0.45, 0.05, -0.07,
			0.09},
		/* a quarter of a turn about z: x is y, y is -x */
		{"a tensor in a turned frame", LINK("l", "0 0 0 0 0 0", "1", "0 0 0 0 0 1.5707963267948966", A_TENSOR),
			0.4, 0.35, 0.45, -0.05, -0.09, -0.07},
		/* ... about x: y is z, z is -y */
		{"a tensor in a turned link", LINK("l", "0 0 0 1.5707963267948966 0 0", "1", "0 0 0 0 0 0", A_TENSOR),
			0.35, 0.45, 0.4, 0.07, 0.05, -0.09},
		{"two welded balls",
			LINK("l", "0 0 0 0 0 0", "1", "0 0 0 0 0 0", SMALL) LINK("a", "0.3 0.4 -0.2 0.3 0.2 0.1", "1",
				"0 0 0 0 0 0", SMALL) LINK("b", "0 0 0 0 0 1", "1", "-0.16 0.4687 0.2 0 0 0", SMALL)
				WELD("w", "a") WELD("v", "b"),
			0, 0, 0, 0, 0, 0},
	};
	const struct vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {1, 0, 1}, {0, 1, 1}, {1, -1, 0},
		{1, 0, -1}, {0, 1, -1}, {1, 2, 3}};
	for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
		struct inertia body = bodies[i];
		if (!body.xx) {
			/* link b is turned by 1 rad: its centre is at -c only to a part in a thousand, so its exact
			 * place is used here */
			double bx = -0.16 * cos(1) - 0.4687 * sin(1), by = -0.16 * sin(1) + 0.4687 * cos(1), bz = 0.2;
			body.xx = own + y * y + z * z + by * by + bz * bz;
			body.yy = own + x * x + z * z + bx * bx + bz * bz;
			body.zz = own + x * x + y * y + bx * bx + by * by;
			body.xy = -x * y - bx * by;
			body.xz = -x * z - bx * bz;
			body.yz = -y * z - by * bz;
		}
		for (size_t k = 0; k < ARRAY_LEN(axes); k++)
			turns_by_formula(&body, axes[k]);
	}
}

/* Each step adds to the velocity, moves the body, and then takes a part of the velocity away. */
static double damped(double per_step, double part, int steps)
{
	double v = 0, x = 0;
	for (int i = 0; i < steps; i++) {
		v += per_step;
		x += v * 0.001;
		v *= 1 - part;
	}
	return x;
}

Test(symmetry, damping_of_each_kind)
{
	static const struct {
		const char *decay;
		double linear, angular;
	} kinds[] = {{"<linear>0.01</linear>", 0.01, 0}, {"<angular>0.008</angular>", 0, 0.008},
		{"<linear>0.005</linear><angular>0.02</angular>", 0.005, 0.02}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		start("0 0 -9.8",
			"<model name='falls'><link name='l'><velocity_decay>%s</velocity_decay></link></model><model "
			"name='m'><pose>5 0 0 0 0 0</pose><link "
			"name='l'><velocity_decay>%s</velocity_decay></link><joint name='j' "
			"type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 "
			"1</xyz></axis></joint><plugin name='gz::sim::systems::ApplyJointForce' "
			"filename='x'><joint_name>j</joint_name></plugin></model>",
			kinds[i].decay, kinds[i].decay);
		command("/model/m/joint/j/cmd_force", "data: 3");
		run_until(0.5);
		struct troupe_pose p = pose_of("m");
		expect("linear damping of a fall: m", pose_of("falls").z, -damped(G * 0.001, kinds[i].linear, 500),
			1e-9);
		expect("angular damping of a turn: rad", 2 * atan2(p.qz, p.qw),
			damped(3 * 0.001, kinds[i].angular, 500), 1e-6);
	}
}

/* Slow motion is damped, however slow it is. */
Test(symmetry, damping_of_slow_motion)
{
	start("0 0 0", "<model name='m'><link "
		       "name='l'><velocity_decay><linear>0.01</linear><angular>0.02</angular></velocity_decay></link></"
		       "model>");
	command("/world/w/set_velocity", "name: 'm' linear {x: 1e-4} angular {z: 2e-4}");
	run_until(0.5);
	struct troupe_pose p = pose_of("m");
	expect("linear damping of a slow way: m", p.x, 1e-4 * 0.001 * (1 - pow(0.99, 500)) / 0.01, 1e-8);
	expect("angular damping of a slow turn: rad", 2 * atan2(p.qz, p.qw), 2e-4 * 0.001 * (1 - pow(0.98, 500)) / 0.02,
		1e-8);
}

/* Two welded links, only one of which has gravity, fall as one body, whichever link this is. */
Test(symmetry, gravity_of_welded_links)
{
	for (int which = 0; which < 2; which++) {
		start("0 0 -9.8",
			"<model name='m'><link name='a'><gravity>%d</gravity></link><link "
			"name='b'><gravity>%d</gravity></link><joint name='weld' "
			"type='fixed'><parent>a</parent><child>b</child></joint></model>",
			which, !which);
		run_until(0.5);
		expect("falls with its weightless half: m", pose_of("m").z, -G * 0.5 * 0.501 / 2, 1e-9);
	}
}

/* Welded links are one body, which has the greater damping of each kind, whichever link it is given for. */
Test(symmetry, damping_of_welded_links)
{
	static const char *const decays[] = {
		"<linear>0.004</linear><angular>0.012</angular>", "<linear>0.009</linear><angular>0.003</angular>"};
	for (int order = 0; order < 2; order++) {
		start("0 0 -9.8",
			"<model name='falls'><link name='a'><velocity_decay>%s</velocity_decay></link><link "
			"name='b'><velocity_decay>%s</velocity_decay></link><joint name='w' "
			"type='fixed'><parent>a</parent><child>b</child></joint></model><model name='m'><pose>5 0 0 0 "
			"0 0</pose><link name='l'><velocity_decay>%s</velocity_decay></link><link "
			"name='b'><velocity_decay>%s</velocity_decay></link><joint name='w' "
			"type='fixed'><parent>l</parent><child>b</child></joint><joint name='j' "
			"type='revolute'><parent>world</parent><child>l</child><axis><xyz>0 0 "
			"1</xyz></axis></joint><plugin name='gz::sim::systems::ApplyJointForce' "
			"filename='x'><joint_name>j</joint_name></plugin></model>",
			decays[order], decays[1 - order], decays[order], decays[1 - order]);
		command("/model/m/joint/j/cmd_force", "data: 6");
		run_until(0.5);
		struct troupe_pose p = pose_of("m");
		expect("linear damping of welded links: m", pose_of("falls").z, -damped(G * 0.001, 0.009, 500), 1e-9);
		expect("angular damping of welded links: rad", 2 * atan2(p.qz, p.qw), damped(3 * 0.001, 0.012, 500),
			1e-6);
	}
}

/* --- coming to rest ----------------------------------------------------------------------------------------------- */

/* A wheel and a slide of 1 kg (m2) that coast after a push of `steps` steps, without friction. */
#define COASTING(name, kind, more)                                                                                     \
	"<model name='" name "'><link name='l'/><joint name='j' type='" kind                                           \
	"'><parent>world</parent><child>l</child><axis><xyz>0 0 1</xyz></axis></joint><plugin "                        \
	"name='gz::sim::systems::ApplyJointForce' filename='x'><joint_name>j</joint_name></plugin>" more "</model>"

static void push(const char *model, double force)
{
	char topic[60], text[40];
	snprintf(topic, sizeof topic, "/model/%s/joint/j/cmd_force", model);
	snprintf(text, sizeof text, "data: %g", force);
	command(topic, text);
}

static double turned_by(const char *model)
{
	struct troupe_pose p = pose_of(model);
	return 2 * atan2(p.qz, p.qw);
}

/* A body that turns in place, or that slides without turning, is not at rest. A body slower than 1 mrad/s and 1 mm/s
 * is at rest, and its velocity is exactly 0 when it wakes. */
Test(symmetry, coasting)
{
	static const struct {
		double force; /* for one step of 1 ms */
		bool rests;
	} pushes[] = {{2, false}, {0.5, true}};
	want.sleepless = false;
	for (size_t i = 0; i < ARRAY_LEN(pushes); i++) {
		double speed = pushes[i].force * 0.001;
		start("0 0 0", COASTING("wheel", "revolute", "") COASTING("slide", "prismatic", ""));
		push("wheel", pushes[i].force);
		push("slide", -pushes[i].force);
		run_until(0.001);
		push("wheel", 0);
		push("slide", 0);
		run_until(3);
		double turn = turned_by("wheel"), way = pose_of("slide").z;
		expect("a wheel coasts: rad", turn, pushes[i].rests ? speed * 0.5 : speed * 3, speed * 0.01);
		expect("a slide coasts: m", way, -(pushes[i].rests ? speed * 0.5 : speed * 3), speed * 0.01);
		command("/world/w/set_physics", "gravity {x: 1}"); /* this wakes both */
		run_until(3.4);
		expect("and when it is woken: rad", turned_by("wheel") - turn, pushes[i].rests ? 0 : speed * 0.4, 1e-6);
		expect("and when it is woken: m", pose_of("slide").z - way, pushes[i].rests ? 0 : -speed * 0.4, 1e-6);
	}
}

/* A model that a joint ties to a static model may come to rest in the air, whichever end of the joint it is. */
Test(symmetry, held_at_either_end)
{
#define NESTED "<model name='n'><static>true</static><link name='k'/></model>"
#define HELD(name, parent, child)                                                                                      \
	"<model name='" name "'><link name='l'/>" NESTED "<joint name='j' type='revolute'><parent>" parent             \
	"</parent><child>" child                                                                                       \
	"</child><axis><xyz>0 0 1</xyz></axis></joint><plugin name='gz::sim::systems::ApplyJointForce' "               \
	"filename='x'><joint_name>j</joint_name></plugin></model>"
	want.sleepless = false;
	start("0 0 0", HELD("parent", "n::k", "l") HELD("child", "l", "n::k"));
	push("parent", 0.5);
	push("child", -0.5);
	run_until(0.001);
	push("parent", 0);
	push("child", 0);
	run_until(3);
	expect("the world as parent: rests after half a second: rad", turned_by("parent"), 0.00025, 5e-6);
	expect("the world as child: rad", turned_by("child"), 0.00025, 5e-6);
}
