/* Each setting of <surface> is compared with its definition, once on a plane by ODE and once on triangles. */
#include "config.h"
#include "harness.h"

#ifdef HAVE_MESHES

TestSuite(surfaces, .fini = stop, .timeout = 60);

#define FLAT "<mesh><uri>" SOURCE_DIR "/worlds/models/shapes/tiles.obj</uri></mesh>"
#define PLANE "<plane><normal>0 0 1</normal></plane>"

static const char *const floors[][2] = {{"plane", PLANE}, {"triangles", FLAT}};

static const char *floor_of(size_t which, const char *surface)
{
	static char text[2000];
	snprintf(text, sizeof text,
		"<model name='floor'><static>true</static><link name='l'><collision "
		"name='c'><geometry>%s</geometry><surface>%s</surface></collision></link></model>",
		floors[which][1], surface);
	return text;
}

static void add_model(struct text *out, const char *name, const char *pose, const char *geometry, const char *surface)
{
	text_add(out,
		"<model name='%s'><pose>%s</pose><link "
		"name='l'><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></"
		"inertial><collision name='c'><geometry>%s</geometry><surface>%s</surface></collision></link></model>",
		name, pose, geometry, surface);
}

#define BOX "<box><size>0.6 0.6 0.2</size></box>"
#define BALL "<sphere><radius>0.2</radius></sphere>"

static void begin(size_t which, const char *gravity, const char *on_floor, struct text *models)
{
	start(gravity, "%s%s", floor_of(which, on_floor), models->at);
	text_fini(models);
}

static const char *label(const char *what, size_t which)
{
	static char text[100];
	snprintf(text, sizeof text, "%s, on %s", what, floors[which][0]);
	return text;
}

/* Two surfaces touch if their bits have one in common. */
Test(surfaces, collide_bitmask)
{
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "meets", "0 0 0.11 0 0 0", BOX,
			"<contact><collide_bitmask>0x06</collide_bitmask></contact>");
		add_model(&models, "misses", "2 0 0.11 0 0 0", BOX,
			"<contact><collide_bitmask>0x05</collide_bitmask></contact>");
		begin(f, "0 0 -9.8", "<contact><collide_bitmask>2</collide_bitmask></contact>", &models);
		run_until(1);
		expect(label("bitmasks 6 and 2: rests at, m", f), pose_of("meets").z, 0.1, 1.1e-3);
		expect(label("bitmasks 5 and 2: falls to, m", f), pose_of("misses").z, 0.11 - G * 1.001 / 2, 1e-9);
	}
}

/* Two surfaces touch if the category of one has a bit of the other's mask, in both directions; a category that is not
 * given equals the mask. */
Test(surfaces, category_bitmask)
{
	static const struct {
		const char *name, *x, *surface;
		bool meets;
	} boxes[] = {
		{"category_for_floor", "0 0 0.11 0 0 0",
			"<category_bitmask>2</category_bitmask><collide_bitmask>8</collide_bitmask>", true},
		{"mask_for_floor", "2 0 0.11 0 0 0",
			"<category_bitmask>8</category_bitmask><collide_bitmask>4</collide_bitmask>", true},
		{"neither", "0 2 0.11 0 0 0",
			"<category_bitmask>4</category_bitmask><collide_bitmask>2</collide_bitmask>", false},
		{"mask_alone", "2 2 0.11 0 0 0", "<collide_bitmask>2</collide_bitmask>", true},
	};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		for (size_t i = 0; i < ARRAY_LEN(boxes); i++) {
			struct text surface = {0};
			text_add(&surface, "<contact>%s</contact>", boxes[i].surface);
			add_model(&models, boxes[i].name, boxes[i].x, BOX, surface.at);
			text_fini(&surface);
		}
		begin(f, "0 0 -9.8",
			"<contact><category_bitmask>4</category_bitmask><collide_bitmask>2</collide_bitmask></contact>",
			&models);
		run_until(1);
		for (size_t i = 0; i < ARRAY_LEN(boxes); i++)
			expect(label(boxes[i].name, f), pose_of(boxes[i].name).z,
				boxes[i].meets ? 0.1 : 0.11 - G * 1.001 / 2, 1.1e-3);
	}
}

/* Two links of one model, with no joint between them: the upper one falls onto the lower one, or through it. */
Test(surfaces, self_collide)
{
	for (int self = 0; self < 2; self++) {
		start("0 0 -9.8",
			"%s<model name='pair'><self_collide>%d</self_collide><link name='low'><pose>0 0 0.1 0 0 "
			"0</pose><collision name='c'><geometry>" BOX
			"</geometry></collision></link><link name='high'><pose>0 0 0.35 0 0 0</pose><collision "
			"name='c'><geometry>" BOX "</geometry></collision></link></model><model name='probe'><pose>0 0 "
						  "3 0 0 0</pose><link name='l'><collision name='c'><geometry>" BALL
			"</geometry></collision></link></model>",
			floor_of(0, ""), self);
		run_until(3);
		expect(self ? "self_collide: two boxes and a ball, m" : "no self_collide: one box and a ball, m",
			pose_of("probe").z, self ? 0.6 : 0.4, 4e-3);
	}
}

/* mu acts along fdir1, mu2 across it; fdir1 turns with the shape. */
Test(surfaces, friction_direction)
{
	static const struct {
		const char *yaw;
		bool slides_along_x;
	} cases[] = {{"0", true}, {"1.5707963267948966", false}};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct text models = {0};
			char pose[80];
			snprintf(pose, sizeof pose, "0 0 0.0995 0 0 %s", cases[i].yaw);
			add_model(&models, "block", pose, BOX,
				"<friction><ode><mu>0.1</mu><mu2>0.9</mu2><fdir1>1 0 0</fdir1></ode></friction>");
			begin(f, "3 3 -9.8", "", &models);
			run_until(1);
			struct troupe_pose p = pose_of("block");
			double slid = (3 - 0.1 * G) / 2;
			expect(label("mu 0.1 along fdir1, 0.9 across: x, m", f), p.x,
				cases[i].slides_along_x ? slid : 0, 4e-3);
			expect(label("mu 0.1 along fdir1, 0.9 across: y, m", f), p.y,
				cases[i].slides_along_x ? 0 : slid, 4e-3);
		}
}

/* Directions that belong to a floor's surface turn with the floor. */
Test(surfaces, friction_direction_of_the_floor)
{
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (int turned = 0; turned < 2; turned++) {
			start("3 3 -9.8",
				"<model name='floor'><static>true</static><pose>0 0 0 0 0 %s</pose><link "
				"name='l'><collision "
				"name='c'><geometry>%s</geometry><surface><friction><ode><mu>0.1</mu><mu2>0.9</"
				"mu2><fdir1>1 0 0</fdir1></ode></friction></surface></collision></link></model><model "
				"name='block'><pose>0 0 0.0995 0 0 0</pose><link "
				"name='l'><inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></"
				"inertia></inertial><collision name='c'><geometry>" BOX
				"</geometry></collision></link></model>",
				turned ? "1.5707963267948966" : "0", floors[f][1]);
			run_until(1);
			struct troupe_pose p = pose_of("block");
			double slid = (3 - 0.1 * G) / 2;
			expect(label("mu 0.1 along the floor's fdir1: x, m", f), p.x, turned ? 0 : slid, 4e-3);
			expect(label("mu 0.1 along the floor's fdir1: y, m", f), p.y, turned ? slid : 0, 4e-3);
		}
}

/* A ball rolls down on planes that lean to each side and does not sink in. */
Test(surfaces, planes_that_lean)
{
	static const double leans[][2] = {{0.3, 0}, {-0.3, 0}, {0, 0.3}, {0, -0.3}, {0.2, 0.2}, {-0.2, -0.2}};
	for (size_t i = 0; i < ARRAY_LEN(leans); i++) {
		double x = leans[i][0], y = leans[i][1], length = sqrt(1 + x * x + y * y);
		start("0 0 -9.8",
			"<model name='floor'><static>true</static><link name='l'><collision "
			"name='c'><geometry><plane><normal>%g %g "
			"1</normal></plane></geometry></collision></link></model><model name='ball'><pose>0 0 0.5 0 0 "
			"0</pose><link name='l'><collision name='c'><geometry>" BALL
			"</geometry></collision></link></model>",
			x, y);
		run_until(2);
		struct troupe_pose p = pose_of("ball");
		expect("the ball rolls down on the plane, m above it", (p.x * x + p.y * y + p.z) / length, 0.2, 2e-3);
	}
}

/* A ball that begins deep in the floor rises at the lower of two limits: the world's and the surface's. */
Test(surfaces, correcting_velocity)
{
	static const struct {
		const char *world, *surface;
		double speed;
	} cases[] = {{"0.05", "10", 0.05}, {"10", "0.02", 0.02}};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (size_t i = 0; i < 2; i++) {
			struct text models = {0}, world = {0}, surface = {0};
			text_add(&world,
				"<ode><constraints><contact_max_correcting_vel>%s</contact_max_correcting_vel></"
				"constraints></ode>",
				cases[i].world);
			text_add(&surface, "<contact><ode><max_vel>%s</max_vel></ode></contact>", cases[i].surface);
			add_model(&models, "deep", "0 0 0.15 0 0 0", BALL, surface.at);
			want.solver = world.at;
			begin(f, "0 0 -9.8", surface.at, &models);
			run_until(0.2);
			double first = pose_of("deep").z;
			run_until(0.4);
			expect(label("comes out, m/s", f), (pose_of("deep").z - first) / 0.2, cases[i].speed,
				0.1 * cases[i].speed);
			want.solver = NULL;
			text_fini(&world);
			text_fini(&surface);
		}
}

/* A plate and a block on it slide down together; the block moves slowly on the plate, at 45 degrees to this slide.
 * Friction acts against its motion on the plate, however much both gain from gravity in the step: so its path on the
 * plate is straight. */
Test(surfaces, friction_between_two_that_slide)
{
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		text_add(&models, "<model name='plate'><pose>0 0 0.1 0 0 0</pose><link "
				  "name='l'><inertial><mass>1000</mass><inertia><ixx>1e3</ixx><iyy>1e3</iyy><izz>1e3</"
				  "izz></inertia></inertial><collision name='c'><geometry><box><size>4 4 "
				  "0.2</size></box></geometry></collision></link></model>");
		add_model(&models, "block", "0 0 0.3 0 0 0", BOX,
			"<friction><ode><mu>0.1</mu><mu2>0.1</mu2></ode></friction>");
		begin(f, "0 -5 -9.8", "<friction><ode><mu>0</mu><mu2>0</mu2></ode></friction>", &models);
		run_until(0.1);
		struct troupe_pose from = pose_of("block"), plate_from = pose_of("plate");
		command("/world/w/set_velocity",
			"name: 'block' linear {x: 0.05 y: -0.45}"); /* the plate's velocity is -0.5 */
		run_until(0.3);
		struct troupe_pose to = pose_of("block"), plate_to = pose_of("plate");
		double x = to.x - from.x - (plate_to.x - plate_from.x), y = to.y - from.y - (plate_to.y - plate_from.y);
		expect(label("slides on the plate along x, m", f), x, 0.05 * 0.05 * sqrt(2) / (2 * 0.1 * G), 1e-4);
		expect(label("... and as far along y, m", f), y, x, 1e-6);
	}
}

#define ROLLING "<friction><bullet><rolling_friction>%s</rolling_friction></bullet></friction>"

/* A ball that a force pulls along the floor: the torque of the contact against rolling is rolling_friction, of both
 * surfaces together, times the force between them; it holds the ball, or slows it down. */
Test(surfaces, rolling_friction)
{
	static const struct {
		const char *ball, *floor;
		double arm_m;
	} cases[] = {{"0", "0", 0}, {"0.004", "0.006", 0.01}, {"0.01", "0", 0.01}, {"0.03", "0", 0.03}};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct text models = {0}, ball = {0}, floor = {0};
			text_add(&ball, ROLLING, cases[i].ball);
			text_add(&floor, ROLLING, cases[i].floor);
			add_model(&models, "ball", "0 0 0.2 0 0 0", BALL, ball.at);
			begin(f, "1 0 -9.8", floor.at, &models);
			run_until(1);
			/* I / (m r^2) is 1.25 */
			double gains = fmax(0, (1 - cases[i].arm_m * 9.8 / 0.2) / 2.25);
			expect(label("rolling friction: rolls to, m", f), pose_of("ball").x, gains / 2, 4e-3);
			text_fini(&ball);
			text_fini(&floor);
		}
}

/* A round patch of contact resists spinning by 3 pi / 16 of its radius, times the friction there and the force. */
Test(surfaces, torsional_friction)
{
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (int patch = 0; patch < 2; patch++) {
			struct text models = {0};
			add_model(&models, "ball", "0 0 0.2 0 0 0", BALL,
				patch ? "<friction><torsional><coefficient>0.5</coefficient><patch_radius>0.05</"
					"patch_radius></torsional></friction>"
				      : "");
			begin(f, "0 0 -9.8", "", &models);
			run_until(0.1);
			command("/world/w/set_velocity", "name: 'ball' angular {z: 3}");
			run_until(0.6);
			double slowed = patch ? 3 * M_PI / 16 * 0.5 * 0.05 * 2 * 9.8 / 0.1 : 0;
			struct troupe_pose pose = pose_of("ball");
			double turned = 2 * atan2(pose.qz, pose.qw);
			expect(label("torsional friction: turns by, rad", f), turned, 3 * 0.5 - slowed * 0.25 / 2,
				2e-2);
		}
}

static double highest_after(const char *name, double from_s, double to_s)
{
	double highest = -1;
	for (double t = from_s; t <= to_s; t += 0.002) {
		run_until(t);
		highest = fmax(highest, pose_of(name).z);
	}
	return highest;
}

/* A ball that is dropped from 1 m rises to e^2 m; below the threshold it does not bounce. */
Test(surfaces, bounce)
{
	static const char *const bouncy =
		"<bounce><restitution_coefficient>0.7</restitution_coefficient><threshold>0.5</threshold></bounce>";
	static const char *const dull =
		"<bounce><restitution_coefficient>0.7</restitution_coefficient><threshold>10</threshold></bounce>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		double hit = sqrt(2 / G);
		add_model(&models, "bouncy", "0 0 1.2 0 0 0", BALL, bouncy);
		begin(f, "0 0 -9.8", bouncy, &models);
		run_until(hit + 0.05);
		expect(label("bounces to, m", f), highest_after("bouncy", hit + 0.06, hit + 0.8), 0.2 + 0.49, 1.5e-2);
		add_model(&models, "dull", "0 0 1.2 0 0 0", BALL, dull);
		begin(f, "0 0 -9.8", bouncy, &models);
		run_until(hit + 0.05);
		cr_assert(highest_after("dull", hit + 0.06, hit + 0.8) > 0.6, "the smaller threshold counts");
		add_model(&models, "dull", "0 0 1.2 0 0 0", BALL, dull);
		begin(f, "0 0 -9.8", dull, &models);
		run_until(hit + 0.05);
		expect(label("under the threshold stays at, m", f), highest_after("dull", hit + 0.06, hit + 0.8), 0.2,
			2e-3);
	}
}

/* The only contact of a ball is a spring: its depth is m g / kp, with the two surfaces' kp in series. The ball creeps,
 * as in Gazebo, unless max_vel lets the spring push it out as fast as the load pushes it in. */
Test(surfaces, stiffness)
{
	static const char *const soft = "<contact><ode><kp>2e4</kp><kd>200</kd><max_vel>100</max_vel></ode></contact>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "ball", "0.2 0.1 0.2 0 0 0", BALL, soft);
		begin(f, "0 0 -9.8", soft, &models);
		run_until(3);
		expect(label("kp: sinks by, m", f), 0.2 - pose_of("ball").z, 2 * G / 1e4, 1e-5);
	}
}

/* soft_cfm replaces kp and kd: a contact gives way by cfm m/s for each newton, and erp corrects a part of the depth in
 * each step. */
Test(surfaces, softness)
{
	static const char *const soft = "<contact><ode><soft_cfm>0.001</soft_cfm><soft_erp>0.2</soft_erp><max_vel>100</"
					"max_vel></ode></contact>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "ball", "0.2 0.1 0.2 0 0 0", BALL, soft);
		begin(f, "0 0 -9.8", soft, &models);
		run_until(3);
		/* at rest erp / dt depth = cfm * force */
		expect(label("soft_cfm: sinks by, m", f), 0.2 - pose_of("ball").z, 0.001 * 2 * G * 0.001 / 0.2, 1e-6);
	}
}

/* A box on four contacts, each with the default max_vel of 0.01 m/s, which is much less than what its spring would part
 * two bodies at. The spring holds the load at the depth at which a spring does, for any stiffness, given on either side
 * or on both, as kp or as soft_cfm and soft_erp; and the surface layer of rigid contacts is not added. */
Test(surfaces, springs_hold_their_load)
{
	static const struct {
		const char *box, *floor;
		double stiffness;
	} cases[] = {
		{"<kp>1e6</kp><kd>100</kd>", "", 1e6},
		{"<kp>1e5</kp><kd>100</kd>", "", 1e5},
		{"<kp>3e4</kp><kd>1000</kd>", "", 3e4},
		{"<kp>1e8</kp><kd>1</kd>", "", 1e8},
		{"", "<kp>1e5</kp><kd>100</kd>", 1e5},
		{"<kp>1e5</kp><kd>50</kd>", "<kp>3e5</kp><kd>50</kd>", 7.5e4},
		{"<soft_cfm>0.01</soft_cfm><soft_erp>0.2</soft_erp>", "", 0.2 / (0.01 * 0.001)},
		{"<kp>1e6</kp><kd>100</kd><max_vel>0</max_vel>", "", 1e6},
	};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct text models = {0}, box = {0}, floor = {0};
			text_add(&box, "<contact><ode>%s</ode></contact>", cases[i].box);
			text_add(&floor, "<contact><ode>%s</ode></contact>", cases[i].floor);
			add_model(&models, "box", "0.2 0.1 0.1 0 0 0", BOX, box.at);
			want.sleepless = true;
			begin(f, "0 0 -9.8", floor.at, &models);
			run_until(4);
			double after = pose_of("box").z, depth = 2 * G / (4 * cases[i].stiffness);
			bool held_still = strstr(cases[i].box, "max_vel"); /* it stops as deep as it got at first */
			expect(label("a box on springs: sinks by, m", f), 0.1 - after, depth,
				held_still ? 3 * depth : 0.02 * depth + 1e-9);
			run_until(8);
			expect(label("and no farther, m", f), pose_of("box").z - after, 0, 0.02 * depth + 1e-9);
			want.sleepless = false;
			text_fini(&box);
			text_fini(&floor);
		}
}

/* A stiff spring that begins deep inside does not throw its load into the air. */
Test(surfaces, springs_part_at_the_correcting_velocity)
{
	static const char *const stiff =
		"<contact><ode><kp>1e6</kp><kd>100</kd><max_vel>0.05</max_vel></ode></contact>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "deep", "0.2 0.1 0.09 0 0 0", BOX, stiff);
		begin(f, "0 0 -9.8", stiff, &models);
		double highest = 0, before = 0.09;
		for (int i = 1; i <= 500; i++) {
			run_until(i * 0.001);
			highest = fmax(highest, (pose_of("deep").z - before) / 0.001);
			before = pose_of("deep").z;
		}
		expect(label("comes out of 10 mm at, m/s", f), highest, 0.05, 0.002);
		expect(label("then rests at, m", f), before, 0.1, 1e-4);
	}
}

/* A shape that begins deep inside rises at max_vel; a shape that is less deep than min_depth stays. */
Test(surfaces, depth)
{
	static const char *const slow =
		"<contact><ode><max_vel>0.05</max_vel><min_depth>0.01</min_depth></ode></contact>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "deep", "0.2 0.1 0.1 0 0 0", BALL, slow);
		begin(f, "0 0 -9.8", slow, &models);
		run_until(1);
		expect(label("max_vel 0.05 m/s: rises in a second by, m", f), pose_of("deep").z - 0.1, 0.05, 3e-3);
		run_until(6);
		expect(label("min_depth 0.01 m: rests, m", f), pose_of("deep").z, 0.19, 1.5e-3);
	}
}

/* A contact gives way by slip m/s for each newton: the four contacts under a box share the force. The slips of both
 * surfaces add up, because the same force acts on both; one of them may be 0. */
Test(surfaces, slip)
{
	static const struct {
		const char *box, *floor;
		double sum;
	} cases[] = {{"0.2", "0.1", 0.3}, {"0.2", "0", 0.2}, {"0", "0.2", 0.2}, {"0", "0", 0}};
	for (size_t f = 0; f < ARRAY_LEN(floors); f++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
#define SLIPPERY "<friction><ode><mu>1</mu><mu2>1</mu2><slip1>%s</slip1><slip2>%s</slip2></ode></friction>"
			char *box = mem_printf(SLIPPERY, cases[i].box, cases[i].box);
			char *floor = mem_printf(SLIPPERY, cases[i].floor, cases[i].floor);
			struct text models = {0};
			add_model(&models, "box", "0 0 0.0995 0 0 0", BOX, box);
			begin(f, "1 0 -9.8", floor, &models);
			run_until(1);
			double before = pose_of("box").x;
			run_until(2);
			expect(label("slip, 2 N over 4 contacts: m/s", f), pose_of("box").x - before,
				cases[i].sum * 2 / 4, 5e-3);
			free(box);
			free(floor);
		}
}

/* slip1 gives way along fdir1, slip2 across it. */
Test(surfaces, slip_of_each_direction)
{
	static const char *const slippery = "<friction><ode><mu>1</mu><mu2>1</mu2><fdir1>1 0 "
					    "0</fdir1><slip1>0.3</slip1><slip2>0.1</slip2></ode></friction>";
	for (size_t f = 0; f < ARRAY_LEN(floors); f++) {
		struct text models = {0};
		add_model(&models, "box", "0 0 0.0995 0 0 0", BOX, slippery);
		begin(f, "1 1 -9.8", "<friction><ode><mu>1</mu><mu2>1</mu2></ode></friction>", &models);
		run_until(1);
		struct troupe_pose before = pose_of("box");
		run_until(2);
		expect(label("slip1 of 0.3, 2 N over 4: m/s", f), pose_of("box").x - before.x, 0.3 * 2 / 4, 5e-3);
		expect(label("slip2 of 0.1, 2 N over 4: m/s", f), pose_of("box").y - before.y, 0.1 * 2 / 4, 5e-3);
	}
}

/* The combination of two surfaces does not depend on their order. */
Test(surfaces, exchanged)
{
	static const char *const surfaces[] = {
		"<friction><ode><mu>0.2</mu><mu2>0.3</mu2></ode></friction>",
		"<friction><ode><mu>0.9</mu><mu2>0.05</mu2></ode></friction>",
		"<friction><ode><mu>1</mu><mu2>1</mu2><slip1>0.1</slip1><slip2>0.2</slip2></ode></friction>",
		"<friction><ode><mu>1</mu><mu2>1</mu2><slip1>0.3</slip1><slip2>0.05</slip2></ode></friction>",
		"<contact><ode><kp>1e4</kp><kd>100</kd><max_vel>100</max_vel></ode></contact>",
		"<contact><ode><kp>1e5</kp><kd>900</kd><max_vel>3</max_vel></ode></contact>",
		"<contact><ode><min_depth>0.02</min_depth><max_vel>0.03</max_vel></ode></contact>",
		"<contact><ode><soft_cfm>0.001</soft_cfm><soft_erp>0.2</soft_erp></ode></contact>",
		"<contact><ode><soft_cfm>0.0002</soft_cfm><soft_erp>0.6</soft_erp></ode></contact>",
		"<bounce><restitution_coefficient>0.7</restitution_coefficient><threshold>0.01</threshold></bounce>",
		"<bounce><restitution_coefficient>0.4</restitution_coefficient><threshold>0.8</threshold></bounce>",
		"<contact><category_bitmask>1</category_bitmask><collide_bitmask>2</collide_bitmask></contact>",
		"<contact><category_bitmask>4</category_bitmask><collide_bitmask>1</collide_bitmask></contact>",
	};
	for (size_t i = 0; i < ARRAY_LEN(surfaces); i++)
		for (size_t k = 0; k < i; k++) {
			struct troupe_pose ends[2];
			for (int way = 0; way < 2; way++) {
				struct text models = {0};
				add_model(&models, "m", "0 0 0.25 0 0 0", BALL, surfaces[way ? i : k]);
				begin(0, "1 0.5 -9.8", surfaces[way ? k : i], &models);
				run_until(0.4);
				ends[way] = pose_of("m");
			}
			cr_assert(fabs(ends[0].x - ends[1].x) < 1e-9 && fabs(ends[0].y - ends[1].y) < 1e-9 &&
					  fabs(ends[0].z - ends[1].z) < 1e-9,
				"%s and %s: %g %g %g exchanged: %g %g %g", surfaces[i], surfaces[k], ends[0].x,
				ends[0].y, ends[0].z, ends[1].x, ends[1].y, ends[1].z);
		}
}

/* Nor does the order of two bodies matter: one rests on the other, and slides over it, whatever their order in the
 * file. */
Test(surfaces, order_of_bodies)
{
	struct troupe_pose ends[2][2];
	for (int way = 0; way < 2; way++) {
		struct text models = {0};
		static const char *const names[] = {"low", "high"};
		static const char *const poses[] = {"0 0 0.15 0 0 0", "0.05 0 0.6 0 0 0"};
		static const char *const shapes[] = {"<box><size>0.6 0.6 0.3</size></box>", BALL};
		for (int i = 0; i < 2; i++) {
			int which = way ? 1 - i : i;
			add_model(&models, names[which], poses[which], shapes[which],
				"<bounce><restitution_coefficient>0.3</restitution_coefficient></bounce>");
		}
		begin(0, "0.3 0.2 -9.8", "", &models);
		run_until(0.7);
		for (int i = 0; i < 2; i++)
			ends[way][i] = pose_of(names[i]);
	}
	for (int i = 0; i < 2; i++) {
		expect("the same whichever body is first: x, m", ends[1][i].x, ends[0][i].x, 1e-6);
		expect("the same whichever body is first: y, m", ends[1][i].y, ends[0][i].y, 1e-6);
		expect("the same whichever body is first: z, m", ends[1][i].z, ends[0][i].z, 1e-6);
	}
}

/* A mirrored mesh is solid on the same side, whichever axes are mirrored; it is at rest or falls. */
Test(surfaces, mirrored_meshes)
{
#define MESH_BLOCK "<mesh><scale>%g %g %g</scale><uri>" SOURCE_DIR "/worlds/models/shapes/block.obj</uri></mesh>"
	for (int signs = 0; signs < 8; signs++) {
		double x = signs & 1 ? -1 : 1, y = signs & 2 ? -1 : 1, z = signs & 4 ? -1 : 1;
		start("0 0 -9.8",
			"<model name='floor'><static>true</static><link name='l'><collision "
			"name='c'><geometry>" MESH_BLOCK
			"</geometry></collision></link></model><model name='ball'><pose>0.5 0.4 0.45 0 0 0</pose><link "
			"name='l'><collision name='c'><geometry>" BALL
			"</geometry></collision></link></model><model name='block'><pose>-0.4 -0.8 0.45 0 0 "
			"0</pose><link name='l'><collision name='c'><geometry>" MESH_BLOCK
			"</geometry></collision></link></model>",
			2 * x, 3 * y, 0.5 * z, 0.4 * x, 0.4 * y, 0.4 * z);
		run_until(0.5);
		expect("a ball on a mirrored mesh: m", pose_of("ball").z, 0.45, 3e-3);
		expect("a mirrored mesh on it: m", pose_of("block").z, 0.45, 3e-3);
	}
}

/* A plane is left out of a model that moves: the model consists of its other shapes. */
Test(surfaces, plane_on_a_model_that_moves)
{
	start("0 0 -9.8",
		"%s<model name='m'><pose>0 0 0.3 0 0 0</pose><link name='l'><collision name='p'><geometry>" PLANE
		"</geometry></collision><collision name='b'><geometry>" BOX
		"</geometry></collision></link></model><model name='other'><pose>3 0 0.11 0 0 0</pose><link "
		"name='l'><collision name='b'><geometry>" BOX "</geometry></collision></link></model>",
		floor_of(0, ""));
	run_until(1);
	expect("a box with a plane on it rests at, m", pose_of("m").z, 0.1, 1.1e-3);
	expect("a box beside it at, m", pose_of("other").z, 0.1, 1.1e-3);
}

#endif
