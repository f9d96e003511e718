/* Piles, which are stepped by physics/soft.c, stand, fall asleep, slide, bounce, ride on belts and keep their momentum
 * as formulas say, whatever the length of a step. Each test makes sure that its pile is one. */
#include "../random.h"
#include "server/internal.h"

#include "bodies.h"
#include "harness.h"

TestSuite(piles, .fini = stop, .timeout = 120);

#define FLOOR                                                                                                          \
	"<model name='floor'><static>true</static><link name='l'><collision "                                          \
	"name='c'><geometry><plane/></geometry>%s</collision></link></model>"

static void add_box(struct text *out, const char *name, struct vec3 at, struct vec3 turn, struct vec3 size, double mass,
	const char *surface)
{
	struct vec3 square = {size.x * size.x, size.y * size.y, size.z * size.z};
	text_add(out,
		"<model name='%s'><pose>%.9g %.9g %.9g %.9g %.9g %.9g</pose><link "
		"name='l'><inertial><mass>%.9g</mass><inertia><ixx>%.9g</ixx><iyy>%.9g</iyy><izz>%.9g</izz></inertia></"
		"inertial><collision name='c'><geometry><box><size>%.9g %.9g "
		"%.9g</size></box></geometry><surface>%s</surface></collision></link></model>",
		name, at.x, at.y, at.z, turn.x, turn.y, turn.z, mass, mass * (square.y + square.z) / 12,
		mass * (square.x + square.z) / 12, mass * (square.x + square.y) / 12, size.x, size.y, size.z, surface);
}

static const char *numbered(const char *what, int i)
{
	static char name[20];
	snprintf(name, sizeof name, "%s%d", what, i);
	return name;
}

static const struct vec3 no_turn = {0, 0, 0};

static void begin(const char *gravity, struct text *models)
{
	start(gravity, "%s", models->at);
	text_fini(models);
}

/* How many islands were stepped as piles, and by ODE, until now. */
static void expect_piles(const char *what)
{
	struct troupe_report *report = troupe_server_report(server);
	const struct troupe_report_secondary *of = report->worlds[0].secondaries;
	cr_assert_gt(of->soft, 0, "%s: no island was a pile", what);
	cr_assert_eq(of->by_ode_asked + of->by_ode_large + of->by_ode_unsolved, 0, "%s: left to ODE", what);
	troupe_report_free(report);
}

static struct body_state *body_of(const char *name)
{
	const struct scene *scene = server->worlds[0].scene;
	uint32_t model = 0;
	while (strcmp(scene->models[model].name, name) != 0)
		model++;
	return state_body(server->worlds[0].shared.state, scene->models[model].body_first, false);
}

/* --- rest --------------------------------------------------------------------------------------------------------- */

static double speed_of(const struct troupe_model_state *model)
{
	struct troupe_vec3 v = model->twist.linear;
	return sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

struct motion {
	struct troupe_pose *before; /* [count] */
	uint32_t count, asleep;
	double fastest, aside, sunk; /* m/s, m */
};

static void look(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct motion *motion = ctx;
	uint32_t count = snapshot->scene->mobile_count;
	if (!motion->before) {
		motion->before = mem_alloc(count * sizeof *motion->before);
		for (uint32_t i = 0; i < count; i++)
			motion->before[i] = snapshot->models[i].pose;
	}
	motion->count = count;
	motion->asleep = 0;
	motion->fastest = motion->aside = motion->sunk = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct troupe_model_state *now = &snapshot->models[i];
		const struct troupe_pose *then = &motion->before[i];
		motion->asleep += now->asleep;
		motion->fastest = fmax(motion->fastest, speed_of(now));
		motion->aside = fmax(motion->aside, hypot(now->pose.x - then->x, now->pose.y - then->y));
		motion->sunk = fmax(motion->sunk, then->z - now->pose.z);
	}
}

/* At rest within 3 s and asleep within 5, less than 0.1 mm aside, less than 0.4 mm lower. */
static void expect_to_stand(const char *what, struct text *models)
{
	static const char *const steps[] = {"0.0005", "0.001", "0.002", "0.004"};
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct motion motion = {0};
		want.step = steps[i];
		start("0 0 -9.8", "%s", models->at);
		troupe_server_snapshot(server, look, &motion);
		run_until(3);
		troupe_server_snapshot(server, look, &motion);
		cr_assert_lt(motion.fastest, 1e-3, "%s, %s s: moves at %g m/s", what, steps[i], motion.fastest);
		run_until(5);
		troupe_server_snapshot(server, look, &motion);
		printf("%-20s step %-6s  aside %.4f mm, sunk %.4f mm, %u of %u asleep\n", what, steps[i],
			motion.aside * 1e3, motion.sunk * 1e3, motion.asleep, motion.count);
		cr_assert_eq(motion.asleep, motion.count, "%s, %s s: %u of %u asleep", what, steps[i], motion.asleep,
			motion.count);
		cr_assert_lt(motion.aside, 1e-4, "%s, %s s: %g m aside", what, steps[i], motion.aside);
		cr_assert_lt(motion.sunk, 4e-4, "%s, %s s: sinks by %g m", what, steps[i], motion.sunk);
		expect_piles(what);
		free(motion.before);
	}
	want.step = NULL;
	text_fini(models);
}

Test(piles, a_tower_of_light_and_heavy_boxes_stands)
{
	struct text models = {0};
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 12; i++)
		add_box(&models, numbered("b", i), (struct vec3){0, 0, 0.5 * i + 0.25}, no_turn,
			(struct vec3){0.5, 0.5, 0.5}, i % 2 ? 50 : 1, "");
	expect_to_stand("1 and 50 kg", &models);
}

Test(piles, a_tower_with_a_load_stands)
{
	struct text models = {0};
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 9; i++)
		add_box(&models, numbered("b", i), (struct vec3){0, 0, 0.5 * i + 0.25}, no_turn,
			(struct vec3){0.5, 0.5, 0.5}, i < 8 ? 1 : 100, "");
	expect_to_stand("eight under 100 kg", &models);
}

Test(piles, a_wall_stands)
{
	struct text models = {0};
	text_add(&models, FLOOR, "");
	for (int row = 0, i = 0; row < 10; row++)
		for (int k = 0; k < 10 - row; k++, i++)
			add_box(&models, numbered("b", i), (struct vec3){0.55 * k + 0.275 * row, 0, 0.5 * row + 0.25},
				no_turn, (struct vec3){0.5, 0.5, 0.5}, 1, "");
	expect_to_stand("a wall of 55", &models);
}

Test(piles, columns_stand)
{
	struct text models = {0};
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 216; i++)
		add_box(&models, numbered("b", i),
			(struct vec3){0.22 * (i % 6), 0.22 * (i / 6 % 6), 0.2 * (i / 36) + 0.1}, no_turn,
			(struct vec3){0.2, 0.2, 0.2}, 1, "");
	expect_to_stand("columns of six", &models);
}

/* Boxes of random sizes fall on each other. Where they end is chance; that they end is not. */
Test(piles, a_random_pile_comes_to_rest)
{
	struct text models = {0};
	struct motion motion = {0};
	uint64_t dice = 5;
	double random[6];
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 100; i++) {
		for (size_t k = 0; k < ARRAY_LEN(random); k++)
			random[k] = random_unit(&dice);
		double size = 0.16 + 0.08 * random[0];
		add_box(&models, numbered("b", i),
			(struct vec3){0.3 * (i % 4) + 0.05 * random[1], 0.3 * (i / 4 % 5) + 0.05 * random[2],
				0.2 + 0.3 * (i / 20)},
			(struct vec3){random[3] - 0.5, random[4] - 0.5, 6 * random[5]}, (struct vec3){size, size, size},
			1 + random[0], "");
	}
	begin("0 0 -9.8", &models);
	troupe_server_snapshot(server, look, &motion);
	run_until(5);
	troupe_server_snapshot(server, look, &motion);
	cr_assert_lt(motion.fastest, 0.05, "after 5 s something moves at %g m/s", motion.fastest);
	run_until(12);
	troupe_server_snapshot(server, look, &motion);
	cr_assert_eq(motion.asleep, motion.count, "after 12 s %u of %u sleep, and something moves at %g m/s",
		motion.asleep, motion.count, motion.fastest);
	expect_piles("random boxes");
	free(motion.before);
}

static void begin_leaning_boxes(void)
{
	struct text models = {0};
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 8; i++)
		add_box(&models, numbered("b", i), (struct vec3){0.1 * i, 0, 0.5 * i + 0.25}, no_turn,
			(struct vec3){0.5, 0.5, 0.5}, 1 + i, "");
	begin("0 0 -9.8", &models);
}

/* After a reset nothing is left of the pile that was: the boxes fall as in a new world, to the last bit. */
/* One contact has no moment about its normal. */
Test(piles, a_slow_spin_ends_and_a_fast_one_does_not)
{
	for (int fast = 0; fast < 2; fast++) {
		struct text models = {0};
		struct motion motion = {0};
		text_add(&models, FLOOR, "");
		for (int i = 0; i < 4; i++)
			add_box(&models, numbered("b", i), (struct vec3){0, 0, 0.2 * i + 0.1}, no_turn,
				(struct vec3){0.2, 0.2, 0.2}, 1, "");
		text_add(&models, "<model name='ball'><pose>0 0 0.9 0 0 0</pose><link "
				  "name='l'><inertial><mass>1</mass><inertia><ixx>0.004</ixx><iyy>0.004</"
				  "iyy><izz>0.004</izz></inertia></inertial><collision "
				  "name='c'><geometry><sphere><radius>0.1</radius></sphere></geometry></collision></"
				  "link></model>");
		begin("0 0 -9.8", &models);
		body_of("ball")->w.z = fast ? 0.12 : 0.08;
		run_until(4);
		troupe_server_snapshot(server, look, &motion);
		cr_assert_eq(motion.asleep, fast ? 0 : motion.count, "%u of %u asleep", motion.asleep, motion.count);
		cr_assert_float_eq(body_of("ball")->w.z, fast ? 0.12 : 0, 1e-6, "the ball spins at %g rad/s",
			body_of("ball")->w.z);
		expect_piles("a ball on a tower");
		free(motion.before);
	}
}

Test(piles, a_reset_forgets_impulses)
{
	struct troupe_pose first[8];
	begin_leaning_boxes();
	run_until(0.301);
	for (int i = 0; i < 8; i++)
		first[i] = pose_of(numbered("b", i));
	begin_leaning_boxes();
	run_until(0.3);
	command("/world/w/control", "reset: {all: true}");
	run_until(0.301); /* the time begins anew, too */
	for (int i = 0; i < 8; i++) {
		struct troupe_pose again = pose_of(numbered("b", i));
		cr_assert(!memcmp(&first[i], &again, sizeof again), "box %d is elsewhere after a reset", i);
	}
	struct troupe_report *report = troupe_server_report(server);
	cr_assert_gt(report->steps, 400, "there was no reset");
	troupe_report_free(report);
	expect_piles("leaning boxes");
}

/* --- surfaces ----------------------------------------------------------------------------------------------------- */

#define SLOPE 0.3 /* rad */

/* A plate with six boxes on it, on a slope about y. */
static void add_laden_plate(struct text *models, const char *surface)
{
	struct vec3 up = {sin(SLOPE), 0, cos(SLOPE)}, along = {cos(SLOPE), 0, -sin(SLOPE)};
	add_box(models, "plate", vec3_scale(up, 0.05), (struct vec3){0, SLOPE, 0}, (struct vec3){1, 1, 0.1}, 4,
		surface);
	for (int i = 0; i < 6; i++) {
		struct vec3 at = vec3_add(vec3_scale(up, 0.2), vec3_scale(along, 0.3 * (i % 3 - 1)));
		at.y = i / 3 ? 0.25 : -0.25;
		add_box(models, numbered("b", i), at, (struct vec3){0, SLOPE, 0}, (struct vec3){0.2, 0.2, 0.2}, 1,
			"<friction><ode><mu>1</mu><mu2>1</mu2></ode></friction>");
	}
}

static double down_slope(const char *name)
{
	struct troupe_pose pose = pose_of(name);
	return pose.x * cos(SLOPE) - pose.z * sin(SLOPE);
}

Test(piles, friction_holds_or_slides)
{
	static const double mus[] = {0.5, 0.2};
	for (size_t i = 0; i < ARRAY_LEN(mus); i++) {
		struct text models = {0}, surface = {0};
		double mu = mus[i], pull = sin(SLOPE) - mu * cos(SLOPE), time_s = 1;
		text_add(&surface, "<friction><ode><mu>%g</mu><mu2>%g</mu2></ode></friction>", mu, mu);
		text_add(&models,
			"<model name='floor'><static>true</static><pose>0 0 0 0 %g 0</pose><link name='l'><collision "
			"name='c'><geometry><plane/></geometry></collision></link></model>",
			SLOPE);
		add_laden_plate(&models, surface.at);
		text_fini(&surface);
		begin("0 0 -9.8", &models);
		run_until(time_s);
		expect(pull > 0 ? "slides down a slope, m" : "holds on a slope, m", down_slope("plate"),
			pull > 0 ? G * pull * time_s * time_s / 2 : 0, pull > 0 ? 6e-3 : 1e-4);
		expect("the load goes with it, m", down_slope("b1") - down_slope("plate"), 0, 2e-3);
		expect_piles("a laden plate");
	}
}

/* Nine balls without friction, side by side. */
Test(piles, balls_bounce)
{
	struct text models = {0};
	double radius = 0.1, drop = 0.5, e = 0.5, top = 0;
	text_add(&models, FLOOR,
		"<surface><bounce><restitution_coefficient>1</restitution_coefficient><threshold>0.1</threshold></"
		"bounce></surface>");
	for (int i = 0; i < 9; i++)
		text_add(&models,
			"<model name='b%d'><pose>%.9g 0 %.9g 0 0 0</pose><link name='l'><collision "
			"name='c'><geometry><sphere><radius>%g</radius></sphere></"
			"geometry><surface><bounce><restitution_coefficient>%g</"
			"restitution_coefficient><threshold>0.1</threshold></bounce><friction><ode><mu>0</mu><mu2>0</"
			"mu2></ode></friction></surface></collision></link></model>",
			i, 0.1999 * i, radius + drop, radius, e);
	begin("0 0 -9.8", &models);
	double fall_s = sqrt(2 * drop / G);
	for (double time_s = fall_s; time_s < 2 * fall_s; time_s += 0.01) {
		run_until(time_s);
		top = fmax(top, pose_of("b4").z - radius);
	}
	expect("height after a bounce, m", top, e * e * drop, 8e-3);
	expect_piles("balls");
}

/* Contacts with a stiffness of their own carry the whole tower: four of them each share its weight. */
Test(piles, springs_carry_a_tower)
{
	struct text models = {0};
	double kp = 1e5, mass = 0;
	text_add(&models, FLOOR, "<surface><contact><ode><kp>1e5</kp><kd>500</kd></ode></contact></surface>");
	for (int i = 0; i < 6; i++) {
		add_box(&models, numbered("b", i), (struct vec3){0, 0, 0.5 * i + 0.25}, no_turn,
			(struct vec3){0.5, 0.5, 0.5}, 2, "");
		mass += 2;
	}
	begin("0 0 -9.8", &models);
	run_until(4);
	expect("depth in a soft floor, m", 0.25 - pose_of("b0").z, mass * G / (4 * kp), 2e-5);
	expect_piles("springs");
}

/* A belt carries a stack on it, whether it is static or kinematic, and whichever of the two comes first in the file. */
Test(piles, a_belt_carries_a_stack)
{
	for (int variant = 0; variant < 8; variant++) {
		struct text models = {0};
		bool kinematic = variant & 1, last = variant & 2;
		int boxes = variant & 4 ? 5 : 1; /* a single one is no pile */
		for (int part = 0; part < 2; part++)
			if (part == (last ? 1 : 0))
				text_add(&models,
					"<model name='belt'><static>%d</static><pose>0 0 0.1 0 0 0</pose><link "
					"name='l'><kinematic>%d</kinematic><collision name='c'><geometry><box><size>20 "
					"1 0.2</size></box></geometry></collision></link><plugin filename='x' "
					"name='gz::sim::systems::TrackController'><link>l</link></plugin></model>",
					!kinematic, kinematic);
			else
				for (int i = 0; i < boxes; i++)
					add_box(&models, numbered("b", i), (struct vec3){0, 0, 0.3 + 0.2 * i}, no_turn,
						(struct vec3){0.2, 0.2, 0.2}, 1, "");
		begin("0 0 -9.8", &models);
		command("/model/belt/link/l/track_cmd_vel", "data: 0.3");
		run_until(2);
		expect(boxes > 1 ? "on a belt, a stack, m" : "on a belt, m", pose_of("b0").x, 0.6, 8e-3);
		if (boxes > 1)
			expect_piles("a belt");
	}
}

/* --- what is conserved -------------------------------------------------------------------------------------------- */

static struct vec3 momentum(struct vec3 *ret_angular)
{
	const struct scene *scene = server->worlds[0].scene;
	const struct state *state = server->worlds[0].shared.state;
	struct vec3 sum = {0, 0, 0};
	*ret_angular = sum;
	for (uint32_t b = 0; b < scene->body_count; b++) {
		const struct scene_body *body = &scene->bodies[b];
		const struct body_state *now = state_body(state, b, false);
		struct vec3 own = vec3_scale(now->v, body->mass);
		sum = vec3_add(sum, own);
		*ret_angular = vec3_add(*ret_angular, vec3_add(vec3_cross(now->p, own), bodies_spin(body, now)));
	}
	return sum;
}

/* Two blocks of nine boxes meet in empty space. */
Test(piles, momentum_stays)
{
	struct text models = {0};
	struct vec3 angular, before, spin;
	for (int i = 0; i < 18; i++)
		add_box(&models, numbered("b", i),
			(struct vec3){(i < 9 ? 0 : 1.5) + 0.2 * (i % 3), 0.199 * (i / 3 % 3), i < 9 ? 0 : 0.07},
			no_turn, (struct vec3){0.2, 0.2, 0.2}, i % 2 ? 1 : 3, "");
	begin("0 0 0", &models);
	for (int i = 9; i < 18; i++)
		body_of(numbered("b", i))->v.x = -2;
	before = momentum(&angular);
	for (double time_s = 0.1; time_s < 1.5; time_s += 0.1) {
		run_until(time_s);
		struct vec3 off = vec3_sub(momentum(&spin), before);
		cr_assert_lt(vec3_length(off), 1e-9, "after %g s the momentum is off by %g", time_s, vec3_length(off));
		off = vec3_sub(spin, angular);
		cr_assert_lt(vec3_length(off), 1e-9, "after %g s the moment is off by %g", time_s, vec3_length(off));
	}
	expect_piles("two blocks");
}

/* Boxes and robots that are stuck in each other, and turn together. */
Test(piles, momentum_of_robots_stays)
{
	struct text models = {0};
	struct vec3 angular, before, spin;
	for (int i = 0; i < 6; i++)
		add_box(&models, numbered("b", i), (struct vec3){0.15 * i, 0.1 * (i % 3), 0.2}, no_turn,
			(struct vec3){0.2, 0.2, 0.2}, i % 2 ? 1 : 3, "");
	for (int i = 0; i < 2; i++)
		text_add(&models,
			"<include><uri>models/cart</uri><name>r%d</name><pose>%g 0 0 0 0.2 %d</pose></include>", i,
			0.4 * i, i);
	begin("0 0 0", &models);
	const struct scene *scene = server->worlds[0].scene;
	for (uint32_t b = 0; b < scene->body_count; b++) {
		struct body_state *now = state_body(server->worlds[0].shared.state, b, false);
		now->w = (struct vec3){3, 1, 8};
		now->v = vec3_cross(now->w, now->p);
	}
	before = momentum(&angular);
	run_until(1.5);
	struct vec3 off = vec3_sub(momentum(&spin), before);
	cr_assert_lt(vec3_length(off), 1e-9, "the momentum is off by %g", vec3_length(off));
	expect("a spin of bodies that are stuck, N m s", vec3_length(spin), vec3_length(angular),
		3e-3 * vec3_length(angular));
	expect_piles("stuck bodies");
}

/* --- robots ------------------------------------------------------------------------------------------------------- */

struct extent {
	double fastest, farthest, lowest;
};

static void measure(void *ctx, const struct troupe_snapshot *snapshot)
{
	struct extent *extent = ctx;
	*extent = (struct extent){0};
	for (uint32_t i = 0; i < snapshot->scene->mobile_count; i++) {
		const struct troupe_model_state *now = &snapshot->models[i];
		extent->fastest = fmax(extent->fastest, speed_of(now));
		extent->farthest = fmax(extent->farthest, hypot(now->pose.x, now->pose.y));
		extent->lowest = fmin(extent->lowest, now->pose.z);
	}
}

/* Robots fall into boxes, some of them into each other. Nothing flies away, and their joints hold. */
Test(piles, robots_in_a_pile_stay_whole)
{
	struct text models = {0};
	struct extent extent;
	text_add(&models, FLOOR, "");
	for (int i = 0; i < 48; i++)
		add_box(&models, numbered("b", i),
			(struct vec3){0.25 * (i % 4), 0.25 * (i / 4 % 4), 0.15 + 0.25 * (i / 16)}, no_turn,
			(struct vec3){0.2, 0.2, 0.2}, 1, "");
	for (int i = 0; i < 8; i++)
		text_add(&models,
			"<include><uri>models/cart</uri><name>r%d</name><pose>%g %g %g 0 0.2 %d</pose></include>", i,
			0.4 * (i % 2), 0.4 * (i / 2 % 2), 1.4 + 0.4 * (i / 4), i);
	begin("0 0 -9.8", &models);
	for (double time_s = 0.1; time_s < 4; time_s += 0.1) {
		run_until(time_s);
		troupe_server_snapshot(server, measure, &extent);
		cr_assert_lt(extent.fastest, 8, "after %g s something moves at %g m/s", time_s, extent.fastest);
	}
	cr_assert_lt(extent.farthest, 6, "something is %g m away", extent.farthest);
	cr_assert_gt(extent.lowest, -0.05, "something is at a height of %g m", extent.lowest);
	const struct scene *scene = server->worlds[0].scene;
	const struct state *state = server->worlds[0].shared.state;
	double worst = 0;
	for (uint32_t j = 0; j < scene->joint_count; j++) {
		const struct scene_joint *joint = &scene->joints[j];
		const struct scene_body *ends[2] = {&scene->bodies[joint->child], &scene->bodies[joint->parent]};
		struct vec3 at[2];
		for (int i = 0; i < 2; i++) {
			const struct body_state *now = state_body(state, i ? joint->parent : joint->child, false);
			struct vec3 arm = quat_rotate(
				quat_conj(ends[i]->reference.q), vec3_sub(joint->anchor, ends[i]->reference.p));
			at[i] = vec3_add(now->p, quat_rotate(now->q, arm));
		}
		worst = fmax(worst, vec3_length(vec3_sub(at[0], at[1])));
	}
	expect("a wheel is off its axle by, m", worst, 0, 3e-3);
	struct troupe_report *report = troupe_server_report(server);
	cr_assert_gt(report->worlds[0].secondaries[0].soft, 0, "no island was a pile");
	troupe_report_free(report);
}
