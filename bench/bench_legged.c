/* Measures a step of an arm, of a quadruped that stands and that walks on the spot, and of a humanoid that stands, for
 * each robot: one alone, and sixteen side by side. The same robots with --solver ode are the baseline of the second
 * rows, and those that MuJoCo steps, of the third. Position controllers hold the joints; a robot that has fallen ends
 * the bench. */
#include "bench.h"
#include "mujoco.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPACING_M 3.0

enum { ROBOTS_MAX = 16, SETTLE_STEPS = 1000, BEAT_STEPS = 100 /* between changes of the joints' targets */ };

/* --- robots ------------------------------------------------------------------------------------------------------- */

/* A link, and the joint by which it hangs on its parent. Lengths in m, in the frame of the model. */
struct part {
	const char *name, *parent; /* parent NULL: the base, "world": fixed to the world */
	double at[3];              /* the joint */
	double centre[3], size[3]; /* the box, from the joint; mass is spread evenly over it */
	double mass;               /* kg */
	char axis;                 /* 'x', 'y', 'z' */
	bool touches;              /* the box collides */
	double stiff;              /* N m/rad, of the controller */
};

static void add_box(struct text *out, const struct part *part)
{
	const double *s = part->size, m = part->mass / 12;
	char pose[80];
	snprintf(pose, sizeof pose, "%.9g %.9g %.9g 0 0 0", part->centre[0], part->centre[1], part->centre[2]);
	text_add(out,
		"<inertial><pose>%s</pose><mass>%.9g</mass><inertia><ixx>%.9g</ixx><iyy>%.9g</iyy><izz>%.9g</izz></"
		"inertia>"
		"</inertial>",
		pose, part->mass, m * (s[1] * s[1] + s[2] * s[2]), m * (s[0] * s[0] + s[2] * s[2]),
		m * (s[0] * s[0] + s[1] * s[1]));
	if (part->touches)
		text_add(out,
			"<collision name='c'><pose>%s</pose><geometry><box><size>%.9g %.9g %.9g</size></box>"
			"</geometry></collision>",
			pose, s[0], s[1], s[2]);
}

/* How the part is driven: by a controller, or as it hangs, or by another joint that it follows. */
struct drive {
	bool hangs;
	const char *follows;
};

/* The parts of a robot, for MJCF; their names are copies. */
struct noted {
	struct part part;
	struct drive drive;
};

static VEC(struct noted) noted_parts;

static void note(const struct part *part, const struct drive *drive)
{
	struct noted noted = {*part, *drive};
	noted.part.name = mem_strdup(part->name);
	noted.part.parent = part->parent ? mem_strdup(part->parent) : NULL;
	vec_push(&noted_parts, noted);
}

static void forget_noted(void)
{
	for (uint32_t i = 0; i < noted_parts.count; i++) {
		free((void *)(uintptr_t)noted_parts.at[i].part.name);
		free((void *)(uintptr_t)noted_parts.at[i].part.parent);
	}
	vec_free(&noted_parts);
}

static void add_driven(struct text *out, const struct part *part, const struct drive *drive)
{
	note(part, drive);
	text_add(out, "<link name='%s'><pose>%.9g %.9g %.9g 0 0 0</pose>", part->name, part->at[0], part->at[1],
		part->at[2]);
	add_box(out, part);
	text_add(out, "</link>\n");
	if (!part->parent)
		return;
	if (part->axis == 0) {
		text_add(out, "<joint name='%s_joint' type='fixed'><parent>%s</parent><child>%s</child></joint>\n",
			part->name, part->parent, part->name);
		return;
	}
	text_add(out,
		"<joint name='%s_joint' type='revolute'><parent>%s</parent><child>%s</child><axis><xyz>%d %d "
		"%d</xyz><limit><lower>-2.5</lower><upper>2.5</upper><effort>400</effort><velocity>20</velocity></"
		"limit>"
		"<dynamics><damping>%.9g</damping></dynamics>",
		part->name, part->parent, part->name, part->axis == 'x', part->axis == 'y', part->axis == 'z',
		part->stiff / 100);
	if (drive->follows)
		text_add(out,
			"<mimic joint='%s_joint'><multiplier>1</multiplier><offset>0</offset><reference>0"
			"</reference></mimic>",
			drive->follows);
	text_add(out, "</axis></joint>\n");
	if (!drive->hangs && !drive->follows)
		text_add(out,
			"<plugin name='gz::sim::systems::JointPositionController' filename='x'><joint_name>%s_joint"
			"</joint_name><p_gain>%.9g</p_gain><d_gain>0.1</d_gain></plugin>\n",
			part->name, part->stiff);
}

static void add_part(struct text *out, const struct part *part)
{
	add_driven(out, part, &(struct drive){0});
}

static void add_arm(struct text *out)
{
	static const char *const names[] = {"base", "a1", "a2", "a3", "a4", "a5", "a6", "a7"};
	double z = 0;
	for (int i = 0; i < 8; i++) {
		double length = i == 0 ? 0.1 : i < 5 ? 0.2 : 0.08, width = 0.12 - 0.01 * i;
		add_part(out, &(struct part){names[i], i ? names[i - 1] : "world", {0, 0, z}, {0, 0, length / 2},
				      {width, width, length}, 4 - 0.5 * i,
				      i == 0  ? 0
				      : i % 2 ? 'z'
					      : 'y',
				      false, 400});
		z += length;
	}
}

/* An arm with six fingers: the first has a controller, the other five follow it (mimic) or hang. */
static void add_gripper(struct text *out, bool mimic)
{
	static const char *const names[] = {"f1", "f2", "f3", "f4", "f5", "f6"};
	add_arm(out);
	for (int i = 0; i < 6; i++) {
		const struct part finger = {names[i], "a7", {0.02 * (i - 2.5), 0, 1.2}, {0, 0, 0.03},
			{0.01, 0.02, 0.06}, 0.1, 'y', false, 20};
		add_driven(out, &finger, &(struct drive){.hangs = i > 0, .follows = mimic && i ? names[0] : NULL});
	}
}

static void add_mimics(struct text *out)
{
	add_gripper(out, true);
}

static void add_fingers(struct text *out)
{
	add_gripper(out, false);
}

#define THIGH_M 0.25 /* and shank; legs are bent by 0.6 rad in the pose in which all angles are 0 */
#define HIP_M (2 * THIGH_M * 0.82533561 + 0.02)

static void add_leg(struct text *out, double x, double y, const char *name)
{
	char hip[20], thigh[20], shank[20];
	const double forward = THIGH_M * 0.56464247, down = THIGH_M * 0.82533561, out_m = y > 0 ? 0.08 : -0.08;
	snprintf(hip, sizeof hip, "%s_hip", name);
	snprintf(thigh, sizeof thigh, "%s_thigh", name);
	snprintf(shank, sizeof shank, "%s_shank", name);
	add_part(out, &(struct part){hip, "trunk", {x, y, HIP_M}, {0, 0, 0}, {0.08, 0.08, 0.08}, 0.8, 'x', false, 600});
	add_part(out, &(struct part){thigh, hip, {x, y + out_m, HIP_M}, {-forward / 2, 0, -down / 2},
			      {0.04, 0.03, THIGH_M}, 1, 'y', false, 600});
	add_part(out, &(struct part){shank, thigh, {x - forward, y + out_m, HIP_M - down}, {forward, 0, -down - 0.01},
			      {0.05, 0.04, 0.02}, 0.3, 'y', true, 600});
}

static void add_quadruped(struct text *out)
{
	add_part(out, &(struct part){"trunk", NULL, {0, 0, HIP_M}, {0, 0, 0}, {0.5, 0.2, 0.1}, 8, 0, true, 0});
	for (int i = 0; i < 4; i++) {
		static const char *const names[] = {"fl", "fr", "hl", "hr"};
		add_leg(out, i < 2 ? 0.22 : -0.22, i % 2 ? -0.07 : 0.07, names[i]);
	}
}

/* A chain of joints at one place, along which it is bent in turn about the axes. The last link has the box. */
static const char *add_chain(struct text *out, const char *side, const char *name, const char *parent, const char *axes,
	const double *at, double length, double mass, double stiff)
{
	static char names[64][24];
	static int next;
	size_t count = strlen(axes);
	for (size_t i = 0; i < count; i++) {
		char *own = names[next++ % 64];
		bool last = i + 1 == count;
		double long_m = last ? length : 0.04, thick = last ? 0.09 : 0.05;
		snprintf(own, sizeof names[0], "%s%s%zu", side, name, i);
		add_part(out, &(struct part){own, parent, {at[0], at[1], at[2]}, {0, 0, -long_m / 2},
				      {thick, thick, fabs(long_m)}, last ? mass : 0.6, axes[i], false, stiff});
		parent = own;
	}
	return parent;
}

/* 44 joints: 6 for a leg, 7 for an arm, 6 for a hand, 3 for waist and neck each. */
static void add_humanoid(struct text *out)
{
	static const char *const sides[] = {"left_", "right_"};
	add_part(out, &(struct part){"pelvis", NULL, {0, 0, 0.9}, {0, 0, 0.03}, {0.16, 0.24, 0.12}, 8, 0, true, 0});
	const char *torso = add_chain(out, "", "waist", "pelvis", "zxy", (double[3]){0, 0, 1.0}, -0.4, 16, 4000);
	(void)add_chain(out, "", "neck", torso, "zxy", (double[3]){0, 0, 1.42}, -0.2, 3, 300);
	for (int i = 0; i < 2; i++) {
		double y = i ? -1 : 1;
		const char *at =
			add_chain(out, sides[i], "hip", "pelvis", "zxy", (double[3]){0, 0.1 * y, 0.88}, 0.4, 4, 4000);
		at = add_chain(out, sides[i], "knee", at, "y", (double[3]){0, 0.1 * y, 0.48}, 0.38, 3, 4000);
		at = add_chain(out, sides[i], "ankle", at, "x", (double[3]){0, 0.1 * y, 0.08}, 0.03, 0.5, 4000);
		char foot[24];
		snprintf(foot, sizeof foot, "%sfoot", sides[i]);
		add_part(out, &(struct part){foot, at, {0, 0.1 * y, 0.08}, {0.03, 0, -0.065}, {0.22, 0.1, 0.03}, 1, 'y',
				      true, 4000});
		at = add_chain(out, sides[i], "shoulder", torso, "yxz", (double[3]){0, 0.22 * y, 1.38}, 0.3, 2, 400);
		at = add_chain(out, sides[i], "elbow", at, "y", (double[3]){0, 0.22 * y, 1.08}, 0.25, 1.2, 400);
		const char *hand =
			add_chain(out, sides[i], "wrist", at, "zxy", (double[3]){0, 0.22 * y, 0.83}, 0.08, 0.4, 200);
		for (int f = 0; f < 3; f++) {
			char name[12];
			snprintf(name, sizeof name, "finger%d_", f);
			double place[3] = {0.03 * (f - 1), 0.22 * y, 0.75};
			at = add_chain(out, sides[i], name, hand, "y", place, 0.03, 0.05, 10);
			snprintf(name, sizeof name, "tip%d_", f);
			place[2] -= 0.03;
			(void)add_chain(out, sides[i], name, at, "y", place, 0.03, 0.04, 10);
		}
	}
}

/* --- machines ----------------------------------------------------------------------------------------------------- */

struct machine {
	const char *name, *base; /* base: the link by which one sees whether it stands */
	void (*add)(struct text *out);
	double least_m;       /* the base has fallen below it */
	double at_most_us;    /* wanted, for each robot and step */
	const char *beats[4]; /* the joints that are bent in each beat, up to a space; NULL: none moves */
	double bend_rad;
	/* What the second row compares with: NULL: itself with --solver ode; else the same without what costs more, and
	 * the most that it may cost. */
	void (*add_without)(struct text *out);
	const char *without;
	double at_most;
};

static const struct machine machines[] = {
	{.name = "arm of 7 joints, moving",
		.base = "a7",
		.add = add_arm,
		.least_m = 0.5,
		.at_most_us = 5,
		.beats = {"a2 a4", "a6 a3", "a2 a6", "a1 a5"},
		.bend_rad = 0.3},
	{.name = "arm with five mimic joints",
		.base = "a7",
		.add = add_mimics,
		.least_m = 0.5,
		.beats = {"a2 a4", "a6 a3", "a2 f1", "a1 f1"},
		.bend_rad = 0.3,
		.add_without = add_fingers,
		.without = "joints that hang",
		.at_most = 1.2},
	{.name = "quadruped of 12, standing", .base = "trunk", .add = add_quadruped, .least_m = 0.35, .at_most_us = 25},
	{.name = "quadruped of 12, walking",
		.base = "trunk",
		.add = add_quadruped,
		.least_m = 0.3,
		.at_most_us = 25,
		.beats = {"fl_shank hr_shank", "fl_shank hr_shank", "fr_shank hl_shank", "fr_shank hl_shank"},
		.bend_rad = 0.3},
	{.name = "humanoid of 44, standing", .base = "pelvis", .add = add_humanoid, .least_m = 0.85, .at_most_us = 100},
};

/* --- the same in MJCF -----------------------------------------------------------------------------------------------
 */

static void add_mjcf_joint(struct text *out, const struct part *part)
{
	if (!part->parent)
		text_add(out, "<freejoint/>");
	else if (part->axis)
		text_add(out, "<joint name='%s' axis='%d %d %d' range='-2.5 2.5' damping='%.9g'/>", part->name,
			part->axis == 'x', part->axis == 'y', part->axis == 'z', part->stiff / 100);
}

static void add_mjcf_body(struct text *out, const struct noted *noted, const double *origin)
{
	const struct part *part = &noted->part;
	const double *s = part->size, *c = part->centre, *at = part->at, m = part->mass / 12;
	text_add(out, "<body name='%s' pos='%.9g %.9g %.9g'>", part->name, at[0] - origin[0], at[1] - origin[1],
		at[2] - origin[2]);
	add_mjcf_joint(out, part);
	text_add(out, "<inertial pos='%.9g %.9g %.9g' mass='%.9g' diaginertia='%.9g %.9g %.9g'/>", c[0], c[1], c[2],
		part->mass, m * (s[1] * s[1] + s[2] * s[2]), m * (s[0] * s[0] + s[2] * s[2]),
		m * (s[0] * s[0] + s[1] * s[1]));
	if (part->touches)
		text_add(out, "<geom type='box' pos='%.9g %.9g %.9g' size='%.9g %.9g %.9g' contype='2'/>", c[0], c[1],
			c[2], s[0] / 2, s[1] / 2, s[2] / 2);
	for (uint32_t i = 0; i < noted_parts.count; i++)
		if (noted_parts.at[i].part.parent && !strcmp(noted_parts.at[i].part.parent, part->name))
			add_mjcf_body(out, &noted_parts.at[i], at);
	text_add(out, "</body>");
}

static void add_mjcf_drives(struct text *out)
{
	text_add(out, "<actuator>");
	for (uint32_t i = 0; i < noted_parts.count; i++) {
		const struct noted *noted = &noted_parts.at[i];
		if (noted->part.axis && !noted->drive.hangs && !noted->drive.follows)
			text_add(out,
				"<position name='%s' joint='%s' kp='%.9g' forcelimited='true' forcerange='-400 400'/>",
				noted->part.name, noted->part.name, noted->part.stiff);
	}
	text_add(out, "</actuator><equality>");
	for (uint32_t i = 0; i < noted_parts.count; i++)
		if (noted_parts.at[i].drive.follows)
			text_add(out, "<joint joint1='%s' joint2='%s' polycoef='0 1 0 0 0'/>",
				noted_parts.at[i].part.name, noted_parts.at[i].drive.follows);
	text_add(out, "</equality>");
}

/* One robot, whose parts touch the ground alone, as in SDF. */
static char *make_mjcf(void (*add)(struct text *out))
{
	struct text out = {0}, unused = {0};
	forget_noted();
	add(&unused);
	text_fini(&unused);
	text_add(&out, "<mujoco><compiler angle='radian'/><option timestep='0.001' gravity='0 0 -9.8'/><default><joint "
		       "limited='true'/><geom contype='1' conaffinity='1'/></default><worldbody><geom type='plane' "
		       "size='50 50 1' "
		       "conaffinity='2'/>");
	for (uint32_t i = 0; i < noted_parts.count; i++)
		if (!noted_parts.at[i].part.parent || !strcmp(noted_parts.at[i].part.parent, "world"))
			add_mjcf_body(&out, &noted_parts.at[i], (const double[3]){0, 0, 0});
	text_add(&out, "</worldbody>");
	add_mjcf_drives(&out);
	text_add(&out, "</mujoco>");
	forget_noted();
	return out.at;
}

/* --- running them ---------------------------------------------------------------------------------------------------
 */

static char *make_world(void (*add)(struct text *out), int robots)
{
	struct text out = {0};
	text_add(&out, "<sdf version='1.9'><world name='w'><physics name='p' type='ode'><max_step_size>0.001"
		       "</max_step_size></physics><model name='ground'><static>true</static><link name='l'><collision "
		       "name='c'><geometry><plane/></geometry></collision></link></model>\n");
	for (int i = 0; i < robots; i++) {
		text_add(&out, "<model name='r%d'><pose>%.9g %.9g 0 0 0 0</pose>", i, SPACING_M * (i % 4),
			SPACING_M * (double)(i / 4));
		add(&out);
		text_add(&out, "</model>");
	}
	text_add(&out, "</world></sdf>");
	forget_noted();
	return out.at;
}

static void give(struct troupe_server *server, int robot, const char *joint, size_t length, double position)
{
	char topic[120], text[40];
	snprintf(topic, sizeof topic, "/model/r%d/joint/%.*s_joint/0/cmd_pos", robot, (int)length, joint);
	snprintf(text, sizeof text, "data: %.9g", position);
	struct troupe_error error;
	if (troupe_server_command(server, 0, topic, text, &error)) {
		fprintf(stderr, "%s: %s\n", topic, error.text);
		exit(1);
	}
}

/* The joints of the beat before go back, then the joints of this beat are bent. */
static void move(struct troupe_server *server, const struct machine *machine, int robots, uint64_t beat)
{
	for (int back = 1; back >= 0; back--) {
		const char *joints = machine->beats[(beat - (uint64_t)back) % 4];
		while (joints && *joints) {
			size_t length = strcspn(joints, " ");
			for (int r = 0; r < robots; r++)
				give(server, r, joints, length, back ? 0 : machine->bend_rad);
			joints += length + (joints[length] == ' ');
		}
	}
}

/* Whole beats; returns us for each robot and step. */
static double run_beats(
	struct troupe_server *server, const struct machine *machine, int robots, int beats, uint64_t *beat)
{
	double ns = 0;
	for (int i = 0; i < beats; i++) {
		if (machine->beats[0])
			move(server, machine, robots, ++*beat);
		else
			++*beat;
		double begin = bench_processor_ns();
		(void)bench_run(server, *beat * BEAT_STEPS);
		ns += bench_processor_ns() - begin;
	}
	return ns / 1e3 / beats / BEAT_STEPS / robots;
}

/* As move(). */
static void move_mujoco(struct mujoco *mujoco, const struct machine *machine, uint64_t beat)
{
	for (int back = 1; back >= 0; back--) {
		const char *joints = machine->beats[(beat - (uint64_t)back) % 4];
		while (joints && *joints) {
			size_t length = strcspn(joints, " ");
			char name[40];
			snprintf(name, sizeof name, "%.*s", (int)length, joints);
			mujoco_set(mujoco, name, back ? 0 : machine->bend_rad);
			joints += length + (joints[length] == ' ');
		}
	}
}

/* As run_beats(). */
static double run_mujoco(struct mujoco *mujoco, const struct machine *machine, int robots, int beats, uint64_t *beat)
{
	double ns = 0;
	for (int i = 0; i < beats; i++) {
		++*beat;
		if (machine->beats[0])
			move_mujoco(mujoco, machine, *beat);
		double begin = bench_processor_ns();
		mujoco_run(mujoco, BEAT_STEPS);
		ns += bench_processor_ns() - begin;
	}
	return ns / 1e3 / beats / BEAT_STEPS / robots;
}

struct upright {
	const struct machine *machine;
	int fallen;
};

static void see(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct upright *upright = ctx;
	const struct troupe_scene *scene = snapshot->scene;
	for (uint32_t i = 0; i < snapshot->link_count; i++)
		if (!strcmp(scene->links[i].name, upright->machine->base))
			upright->fallen += !(snapshot->links[i].pose.z > upright->machine->least_m);
}

static void expect_upright(struct troupe_server *server, const struct machine *machine)
{
	struct upright upright = {machine, 0};
	troupe_server_snapshot(server, see, &upright);
	if (upright.fallen) {
		fprintf(stderr, "%s: %d of them lie on the ground\n", machine->name, upright.fallen);
		exit(1);
	}
}

static struct mujoco *create_mujoco(const struct machine *machine, int robots)
{
	if (!mujoco_name())
		return NULL;
	char *mjcf = make_mjcf(machine->add);
	struct mujoco *mujoco = mujoco_create(mjcf, robots);
	free(mjcf);
	return mujoco;
}

static void print_mujoco(const struct bench_options *options, const struct machine *machine, struct mujoco *mujoco,
	const struct bench_samples *samples, const struct bench_samples *theirs)
{
	char name[80];
	bool fallen = !(mujoco_height(mujoco, machine->base) > machine->least_m);
	snprintf(name, sizeof name, "  the same, to %s%s", mujoco_name(), fallen ? ", fallen" : "");
	bench_print(options,
		&(struct bench_row){.subject = name, .unit = "us/robot-step", .values = samples, .baselines = theirs});
	mujoco_destroy(mujoco);
}

static void measure(const struct bench_options *options, const struct machine *machine, int robots)
{
	void (*other)(struct text *) = machine->add_without ? machine->add_without : machine->add;
	char *worlds[2] = {make_world(machine->add, robots), make_world(other, robots)}, name[80];
	struct bench_samples samples[2] = {0}, theirs = {0};
	struct troupe_server *servers[2];
	uint64_t beats[2] = {0}, their_beat = 0;
	struct mujoco *mujoco = create_mujoco(machine, robots);
	for (int i = 0; i < 2; i++) {
		struct troupe_server_def def = bench_def(worlds[i], 0);
		def.by_ode = i == 1 && !machine->add_without;
		def.sleepless = true;
		servers[i] = bench_create(&def);
		(void)run_beats(servers[i], machine, robots, options->smoke ? 1 : SETTLE_STEPS / BEAT_STEPS, &beats[i]);
	}
	if (mujoco)
		(void)run_mujoco(mujoco, machine, robots, options->smoke ? 1 : SETTLE_STEPS / BEAT_STEPS, &their_beat);
	int turn = options->smoke ? 1 : robots == 1 ? 20 : 4;
	for (int r = 0; r < options->repeats; r++) {
		bench_progress(options, machine->name, r);
		for (int i = 0; i < 2; i++)
			bench_add(&samples[i], run_beats(servers[i], machine, robots, turn, &beats[i]));
		if (mujoco)
			bench_add(&theirs, run_mujoco(mujoco, machine, robots, turn, &their_beat));
	}
	expect_upright(servers[0], machine);
	snprintf(name, sizeof name, "%s, %s", machine->name, robots == 1 ? "alone" : "of 16");
	bench_print(options, &(struct bench_row){.subject = name,
				     .unit = "us/robot-step",
				     .values = &samples[0],
				     .at_most = machine->at_most_us,
				     .hash = troupe_server_hash(servers[0])});
	snprintf(name, sizeof name, "  the same, to %s", machine->without ? machine->without : "--solver ode");
	bench_print(options, &(struct bench_row){.subject = name,
				     .unit = "us/robot-step",
				     .values = &samples[0],
				     .baselines = &samples[1],
				     .at_most = machine->at_most});
	if (mujoco)
		print_mujoco(options, machine, mujoco, &samples[0], &theirs);
	for (int i = 0; i < 2; i++) {
		troupe_server_destroy(servers[i]);
		free(worlds[i]);
	}
}

int main(int argc, char **argv)
{
	struct bench_options options = bench_parse(argc, argv,
		"bench_legged: arms, quadrupeds, humanoids, for each robot; beside --solver ode and MuJoCo");
	if (!mujoco_name())
		fprintf(stderr, "bench_legged: built without MuJoCo (on Debian: libmujoco-dev): no rows beside it\n");
	for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
		for (int robots = 1; robots <= ROBOTS_MAX; robots *= ROBOTS_MAX)
			measure(&options, &machines[i], robots);
	return 0;
}
