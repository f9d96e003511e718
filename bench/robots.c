#include "robots.h"

#include "base/hash.h"
#include "base/text.h"

#include <troupe/command.h>

#include <math.h>
#include <ode/ode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINEAR 0.6  /* m/s */
#define ANGULAR 0.1 /* rad/s */
#define SEPARATION 0.5
#define RADIUS 0.15
#define STEP 0.001
#define KP 5e11 /* N/m: two surfaces of SDF's default 1e12 in series */
#define KD 2.0  /* N s/m: and their damping of 1 each */

enum { LEVEL_SIDE = 8 }; /* robots */

static int side(int count)
{
	return (int)ceil(sqrt(count));
}

/* --- SDF -------------------------------------------------------------------------------------------------------- */

static void add_wheel(struct text *out, const char *name, double y)
{
	text_add(out,
		"<link name='%s'><pose>-0.15 %g 0.15 -1.5707963267948966 0 0</pose><inertial><mass>2</mass><inertia>"
		"<ixx>0.01166667</ixx><iyy>0.01166667</iyy><izz>0.0225</izz></inertia></inertial>"
		"<collision "
		"name='c'><geometry><cylinder><radius>0.15</radius><length>0.05</length></cylinder></geometry>"
		"</collision></link><joint name='%s_joint' "
		"type='revolute'><parent>chassis</parent><child>%s</child><axis>"
		"<xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>",
		name, y, name, name);
}

double robots_wheel_rate(bool right)
{
	return (LINEAR + (right ? 1 : -1) * ANGULAR * SEPARATION / 2) / RADIUS;
}

static void add_robot(struct text *out, int index, double x, double y)
{
	text_add(out,
		"<model name='robot_%d'><pose>%g %g 0 0 0 0</pose><link name='chassis'><pose>0 0 0.25 0 0 "
		"0</pose><inertial>"
		"<mass>10</mass><inertia><ixx>0.16666667</ixx><iyy>0.33333333</iyy><izz>0.43333333</izz></inertia></"
		"inertial>"
		"<collision name='c'><geometry><box><size>0.6 0.4 0.2</size></box></geometry></collision></link>"
		"<link name='caster'><pose>0.22 0 0.1 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>0.004</ixx>"
		"<iyy>0.004</iyy><izz>0.004</izz></inertia></inertial><collision "
		"name='c'><geometry><sphere><radius>0.1</radius>"
		"</sphere></geometry></collision></link>"
		"<joint name='caster_joint' type='ball'><parent>chassis</parent><child>caster</child></joint>",
		index, x, y);
	add_wheel(out, "left", 0.25);
	add_wheel(out, "right", -0.25);
	for (int i = 0; i < 2; i++)
		text_add(out,
			"<plugin filename='gz-sim-joint-controller-system' name='gz::sim::systems::JointController'>"
			"<joint_name>%s_joint</joint_name><initial_velocity>%.17g</initial_velocity></plugin>",
			i ? "right" : "left", robots_wheel_rate(i));
	text_add(out, "</model>");
}

const char *robots_mjcf(void)
{
	return "<mujoco><option timestep='0.001' gravity='0 0 -9.8'/><default><geom contype='2'/></default><worldbody>"
	       "<geom type='plane' size='500 500 1' contype='1' conaffinity='2'/><body name='chassis' pos='0 0 0.25'>"
	       "<freejoint/><inertial pos='0 0 0' mass='10' diaginertia='0.16666667 0.33333333 0.43333333'/>"
	       "<geom type='box' size='0.3 0.2 0.1'/><body pos='0.22 0 -0.15'><joint type='ball'/>"
	       "<inertial pos='0 0 0' mass='1' diaginertia='0.004 0.004 0.004'/><geom type='sphere' size='0.1'/></body>"
	       "<body pos='-0.15 0.25 -0.1' quat='0.70710678 -0.70710678 0 0'><joint name='left' axis='0 0 1'/>"
	       "<inertial pos='0 0 0' mass='2' diaginertia='0.01166667 0.01166667 0.0225'/>"
	       "<geom type='cylinder' size='0.15 0.025'/></body>"
	       "<body pos='-0.15 -0.25 -0.1' quat='0.70710678 -0.70710678 0 0'><joint name='right' axis='0 0 1'/>"
	       "<inertial pos='0 0 0' mass='2' diaginertia='0.01166667 0.01166667 0.0225'/>"
	       "<geom type='cylinder' size='0.15 0.025'/></body></body></worldbody><actuator>"
	       "<velocity name='left' joint='left' kv='10'/><velocity name='right' joint='right' kv='10'/>"
	       "</actuator></mujoco>";
}

static void add_lamp(struct text *out, int level, double x, double y)
{
	text_add(out,
		"<model name='lamp_%d'><static>true</static><pose>%g %g 3 0 0 0</pose><link name='l'><collision "
		"name='c'><geometry><box><size>0.4 0.4 0.1</size></box></geometry></collision></link></model>",
		level, x, y);
}

static void add_level(struct text *out, int level, double x, double y, double size)
{
	text_add(out,
		"<level name='level_%d'><ref>lamp_%d</ref><pose>%g %g 1 0 0 0</pose><geometry><box><size>%g %g "
		"6</size></box></geometry><buffer>1</buffer></level>",
		level, level, x, y, size, size);
}

static void add_performers(struct text *out, int count)
{
	for (int i = 0; i < count; i++)
		text_add(out,
			"<performer name='p%d'><ref>robot_%d</ref><geometry><box><size>1 1 1</size></box></geometry>"
			"</performer>",
			i, i);
}

static void add_levels(struct text *out, int count, double spacing)
{
	double size = LEVEL_SIDE * spacing;
	int row = (side(count) + LEVEL_SIDE - 1) / LEVEL_SIDE;
	for (int i = 0; i < row * row; i++)
		add_lamp(out, i, i % row * size + (size - spacing) / 2, i / row * size + (size - spacing) / 2);
	text_add(out, "<plugin filename='troupe' name='troupe'>");
	add_performers(out, count);
	for (int i = 0; i < row * row; i++)
		add_level(out, i, i % row * size + (size - spacing) / 2, i / row * size + (size - spacing) / 2, size);
	text_add(out, "</plugin>");
}

static struct text begin_world(int count, double spacing)
{
	struct text out = {0};
	text_add(&out,
		"<sdf version='1.9'><world name='robots'><gravity>0 0 -9.8</gravity><physics name='p' type='ode'>"
		"<max_step_size>0.001</max_step_size><real_time_factor>0</real_time_factor></physics>");
	if (count)
		text_add(&out,
			"<model name='ground'><static>true</static><link name='l'><collision name='c'><geometry><plane>"
			"<normal>0 0 1</normal><size>100 100</size></plane></geometry></collision></link></model>");
	for (int i = 0; i < count; i++)
		add_robot(&out, i, (i % side(count)) * spacing, (i / side(count)) * spacing);
	return out;
}

char *robots_world(int count, double spacing)
{
	struct text out = begin_world(count, spacing);
	text_add(&out, "</world></sdf>");
	return out.at;
}

char *robots_world_in_levels(int count, double spacing)
{
	struct text out = begin_world(count, spacing);
	add_levels(&out, count, spacing);
	text_add(&out, "</world></sdf>");
	return out.at;
}

char *robots_world_half_in_a_level(int count, double spacing)
{
	struct text out = begin_world(count, spacing);
	double width = side(count) * spacing, depth = width / 2;
	add_lamp(&out, 0, (width - spacing) / 2, (depth - spacing) / 2);
	text_add(&out, "<plugin filename='troupe' name='troupe'>");
	add_performers(&out, count);
	text_add(&out,
		"<level name='hall'><ref>lamp_0</ref><pose>%g %g 1 0 0 0</pose><geometry><box><size>%g %g "
		"6</size></box>"
		"</geometry><buffer>1</buffer></level></plugin></world></sdf>",
		(width - spacing) / 2, (depth - spacing) / 2, width, depth);
	return out.at;
}

/* --- carts that take commands ------------------------------------------------------------------------------------- */

static const char cart[] =
	"<link name='base'><pose>0 0 0.2 0 0 "
	"0</pose><inertial><mass>10</mass><inertia><ixx>0.2</ixx><iyy>0.35</iyy><izz>0.45"
	"</izz></inertia></inertial><collision name='c'><geometry><box><size>0.6 0.4 "
	"0.2</size></box></geometry></collision>"
	"<collision name='caster'><pose>-0.2 0 -0.12 0 0 "
	"0</pose><geometry><sphere><radius>0.08</radius></sphere></geometry>"
	"<surface><friction><ode><mu>0</mu><mu2>0</mu2></ode></friction></surface></collision></link>";

static void add_cart_wheel(struct text *world, const char *side, double y)
{
	text_add(world,
		"<link name='%s'><pose>0.1 %g 0.15 -1.5707963 0 "
		"0</pose><inertial><mass>1</mass><inertia><ixx>0.006</ixx>"
		"<iyy>0.006</iyy><izz>0.011</izz></inertia></inertial><collision "
		"name='c'><geometry><sphere><radius>0.15"
		"</radius></sphere></geometry></collision></link><joint name='%s_joint' "
		"type='revolute'><parent>base</parent>"
		"<child>%s</child><axis><xyz expressed_in='__model__'>0 1 0</xyz></axis></joint>",
		side, y, side, side);
}

char *robots_driven_world(int carts)
{
	struct text world = {0};
	text_add(&world,
		"<sdf version='1.9'><world name='w'><model name='ground'><static>true</static><link "
		"name='l'><collision "
		"name='c'><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry></collision></link>"
		"</model>");
	for (int i = 0; i < carts; i++) {
		text_add(&world, "<model name='cart_%d'><pose>0 %d 0 0 0 0</pose>%s", i, 3 * i, cart);
		add_cart_wheel(&world, "left", 0.25);
		add_cart_wheel(&world, "right", -0.25);
		text_add(&world,
			"<plugin name='gz::sim::systems::DiffDrive' filename='x'><left_joint>left_joint</left_joint>"
			"<right_joint>right_joint</right_joint><wheel_separation>0.5</wheel_separation><wheel_radius>"
			"0.15</wheel_radius></plugin></model>");
	}
	text_add(&world, "</world></sdf>");
	return world.at;
}

void robots_drive(struct troupe_server *server, int carts)
{
	const struct troupe_twist ahead = {{0.5, 0, 0}, {0, 0, 0}};
	for (int i = 0; i < carts; i++) {
		char name[20];
		(void)snprintf(name, sizeof name, "cart_%d", i);
		if (troupe_command_twist(server, NULL, troupe_find_model(server, 0, name), &ahead, NULL, NULL))
			exit(1);
	}
}

/* --- bare ODE --------------------------------------------------------------------------------------------------- */

enum { BODIES = 4, CONTACTS_MAX = 10 };

struct bare_robot {
	dWorldID world;
	dThreadingImplementationID threading;
	dJointGroupID contacts;
	dBodyID body[BODIES];
	dGeomID geom[BODIES], plane;
};

struct bare {
	enum bare_kind kind;
	int count;
	struct bare_robot *robots;
};

static void add_body(struct bare_robot *r, int i, dGeomID geom, double mass, double ixx, double iyy, double izz,
	double x, double y, double z)
{
	dMass m;
	r->body[i] = dBodyCreate(r->world);
	dMassSetParameters(&m, mass, 0, 0, 0, ixx, iyy, izz, 0, 0, 0);
	dBodySetMass(r->body[i], &m);
	dBodySetPosition(r->body[i], x, y, z);
	r->geom[i] = geom;
	dGeomSetBody(geom, r->body[i]);
}

static void make_world(struct bare_robot *r)
{
	r->world = dWorldCreate();
	r->threading = dThreadingAllocateSelfThreadedImplementation();
	r->contacts = dJointGroupCreate(0);
	dWorldSetStepThreadingImplementation(
		r->world, dThreadingImplementationGetFunctions(r->threading), r->threading);
	dWorldSetGravity(r->world, 0, 0, -9.8);
	/* SDF's defaults for contacts, as nearly as ODE's own settings allow */
	dWorldSetContactMaxCorrectingVel(r->world, 0.01);
	dWorldSetContactSurfaceLayer(r->world, 0.001);
}

static void make_robot(struct bare_robot *r, double x, double y)
{
	r->plane = dCreatePlane(0, 0, 0, 1, 0);
	add_body(r, 0, dCreateBox(0, 0.6, 0.4, 0.2), 10, 0.16666667, 0.33333333, 0.43333333, x, y, 0.25);
	add_body(r, 1, dCreateSphere(0, 0.1), 1, 0.004, 0.004, 0.004, x + 0.22, y, 0.1);
	dJointID ball = dJointCreateBall(r->world, 0);
	dJointAttach(ball, r->body[1], r->body[0]);
	dJointSetBallAnchor(ball, x + 0.22, y, 0.1);
	for (int w = 0; w < 2; w++) {
		double wy = y + (w ? -0.25 : 0.25);
		add_body(r, 2 + w, dCreateCylinder(0, RADIUS, 0.05), 2, 0.01166667, 0.01166667, 0.0225, x - 0.15, wy,
			0.15);
		dMatrix3 turn;
		dRFromAxisAndAngle(turn, 1, 0, 0, -M_PI / 2);
		dBodySetRotation(r->body[2 + w], turn);
		dJointID hinge = dJointCreateHinge(r->world, 0);
		dJointAttach(hinge, r->body[2 + w], r->body[0]);
		dJointSetHingeAnchor(hinge, x - 0.15, wy, 0.15);
		dJointSetHingeAxis(hinge, 0, 1, 0);
		dJointSetHingeParam(hinge, dParamVel, (LINEAR + (w ? 1 : -1) * ANGULAR * SEPARATION / 2) / RADIUS);
		dJointSetHingeParam(hinge, dParamFMax, dInfinity);
	}
}

struct bare *bare_create(enum bare_kind kind, int count, double spacing)
{
	struct bare *bare = mem_alloc(sizeof *bare);
	bare->kind = kind;
	bare->count = count;
	bare->robots = mem_alloc((size_t)count * sizeof *bare->robots);
	dInitODE2(0);
	bare_thread_begin();
	for (int i = 0; i < count; i++) {
		struct bare_robot *r = &bare->robots[i];
		if (i && kind == BARE_ONE_WORLD)
			*r = bare->robots[0];
		else
			make_world(r);
		if (i && kind == BARE_SHARED_MEMORY)
			dWorldUseSharedWorkingMemory(r->world, bare->robots[0].world);
		make_robot(r, (i % side(count)) * spacing, (i / side(count)) * spacing);
	}
	return bare;
}

const char *bare_kind_name(enum bare_kind kind)
{
	static const char *const names[] = {"a world each", "one memory", "one world"};
	return names[kind];
}

void bare_thread_begin(void)
{
	dAllocateODEDataForThread((unsigned)dAllocateMaskAll);
}

static void collide(const struct bare_robot *r)
{
	for (int g = 0; g < BODIES; g++) {
		dContactGeom found[CONTACTS_MAX];
		int count = dCollide(r->geom[g], r->plane, CONTACTS_MAX, found, sizeof found[0]);
		for (int c = 0; c < count; c++) {
			dContact contact = {.geom = found[c],
				.surface = {.mode = dContactApprox1 | dContactSoftCFM | dContactSoftERP,
					.mu = 1,
					.soft_cfm = 1 / (STEP * KP + KD),
					.soft_erp = STEP * KP / (STEP * KP + KD)}};
			dJointAttach(dJointCreateContact(r->world, r->contacts, &contact), r->body[g], 0);
		}
	}
}

void bare_step(struct bare *bare, int first, int last)
{
	for (int i = first; i < last; i++) {
		struct bare_robot *r = &bare->robots[i];
		collide(r);
		if (bare->kind == BARE_ONE_WORLD && i + 1 < last)
			continue;
		dWorldStep(r->world, STEP);
		dJointGroupEmpty(r->contacts);
	}
}

uint64_t bare_hash(const struct bare *bare)
{
	uint64_t sum = 0;
	for (int i = 0; i < bare->count; i++)
		for (int b = 0; b < BODIES; b++)
			sum += hash_bytes((uint64_t)i, dBodyGetPosition(bare->robots[i].body[b]), 24);
	return sum;
}

static void destroy_world(struct bare_robot *r)
{
	dJointGroupDestroy(r->contacts);
	dWorldDestroy(r->world);
	dThreadingFreeImplementation(r->threading);
}

void bare_destroy(struct bare *bare)
{
	for (int i = bare->count - 1; i >= 0; i--) { /* robot 0, whose memory the others share, is destroyed last */
		struct bare_robot *r = &bare->robots[i];
		for (int g = 0; g < BODIES; g++)
			dGeomDestroy(r->geom[g]);
		dGeomDestroy(r->plane);
		if (!i || bare->kind != BARE_ONE_WORLD)
			destroy_world(r);
	}
	free(bare->robots);
	free(bare);
}
