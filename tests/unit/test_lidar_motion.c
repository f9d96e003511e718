/* Scans of lidars that move, or that see things move: each point is where its ray was when it was fired. A wrong sign
 * or time bends every wall, and programs that undo the motion would bend it twice. */
#include "sdf_help.h"
#include "sensor/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

TestSuite(lidar_motion, .timeout = 60, .fini = sdf_help_end);

#define WALL(name, place, size)                                                                                        \
	"<model name='" name "'><static>1</static><pose>" place " 0 0 0</pose><link name='l'><visual name='v'>"        \
	"<geometry><box><size>" size "</size></box></geometry></visual></link></model>"
#define BODY(name, place, looks)                                                                                       \
	"<model name='" name "'><pose>" place " 0 0 0</pose><link name='l'><inertial><mass>1</mass></inertial>" looks  \
	"</link></model>"
#define LOOK(name, place, shape)                                                                                       \
	"<visual name='" name "'><pose>" place " 0 0 0</pose><geometry>" shape "</geometry></visual>"

/* A room of 20 m by 20 m, whose walls are 4 m high. Model 0 is the robot. */
static const char room[] = "<sdf version='1.9'><world name='w'>" BODY("robot", "0 0 0",
	LOOK("mast", "0.4 0 0", "<box><size>0.02 0.5 4</size></box>")
		LOOK("dish", "-0.5 0 0", "<sphere><radius>0.2</radius></sphere>"))
	WALL("east", "10.1 0 0", "0.2 20.4 4") WALL("west", "-10.1 0 0", "0.2 20.4 4")
		WALL("north", "0 10.1 0", "20.4 0.2 4") WALL("south", "0 -10.1 0", "20.4 0.2 4") "</world></sdf>";

struct yard {
	struct scene *scene;
	struct state *state;
	struct rays *rays;
};

/* set: see rays_create(). */
static struct yard yard_with(const char *text, const char *set)
{
	struct yard yard;
	struct troupe_error error;
	struct sdf *sdf = sdf_help_keep(sdf_help_good(text, NULL));
	cr_assert(!scene_create(&sdf->worlds.at[0], NULL, &yard.scene, &error), "%s", error.text);
	yard.state = state_create(yard.scene, NULL);
	cr_assert(!rays_create(yard.scene, set, &yard.rays, &error), "%s", error.text);
	return yard;
}

static struct yard yard_of(const char *text)
{
	return yard_with(text, NULL);
}

static void yard_end(struct yard *yard)
{
	rays_destroy(yard->rays);
	state_destroy(yard->state);
	scene_destroy(yard->scene);
}

enum { COLUMNS = 720, ROWS = 2, COUNT = COLUMNS * ROWS };
#define SCAN_S 0.1

static struct troupe_scan_firing columns[COLUMNS], rows[ROWS];
static const struct sdf_pattern pattern = {COLUMNS, ROWS, 1, SCAN_S, columns, rows};
static struct vec3 directions[COUNT];

static void make_pattern(void)
{
	for (uint32_t c = 0; c < COLUMNS; c++)
		columns[c] = (struct troupe_scan_firing){M_PI - 2 * M_PI * c / COLUMNS, 0, SCAN_S * c / COLUMNS, 0};
	rows[1] = (struct troupe_scan_firing){0, 0.1, 2e-6, 1};
	scan_pattern_directions(&pattern, directions);
}

static double time_of(uint32_t ray)
{
	return columns[ray % COLUMNS].time_s + rows[ray / COLUMNS].time_s;
}

/* A robot that drives with these constant velocities (in its own axes) and turns about z, at the end of a scan. The
 * sensor has a pose in it. Steps of 1 ms. */
struct drive {
	double v, w, start_s;
	struct pose in_body;
	struct trail trail;
};

static struct pose drive_at(const struct drive *drive, double time_s)
{
	double yaw = 0.4 + drive->w * time_s, r = drive->w != 0 ? drive->v / drive->w : 0;
	struct vec3 p = {r * (sin(yaw) - sin(0.4)), -r * (cos(yaw) - cos(0.4)), 0};
	if (!(drive->w != 0))
		p = (struct vec3){drive->v * time_s * cos(0.4), drive->v * time_s * sin(0.4), 0};
	return (struct pose){p, quat_from_rpy(0, 0, yaw)};
}

static void drive_to(struct drive *drive, const struct yard *yard, double end_s)
{
	struct body_state *body = state_body(yard->state, 0, false);
	for (int i = 0; drive->start_s + i * 1e-3 < end_s - 1e-6; i++) {
		double t = drive->start_s + i * 1e-3;
		trail_add(&drive->trail, SCAN_S, t, drive_at(drive, t), t + 1e-3, drive_at(drive, t + 1e-3));
	}
	struct pose now = drive_at(drive, end_s);
	body->p = now.p, body->q = now.q;
	body->v = quat_rotate(now.q, (struct vec3){drive->v, 0, 0});
	body->w = (struct vec3){0, 0, drive->w};
	rays_set_sweep(yard->rays, SCAN_S);
	rays_follow(yard->rays, yard->state);
}

static void drive_measure(const struct drive *drive, const struct yard *yard, double end_s, uint32_t first,
	uint32_t count, double *ranges)
{
	const struct sdf_signal range = {.min = 0, .max = 40};
	const struct scan_job job = {
		yard->rays, directions + first, first, count, &range, UINT32_MAX, 0, &pattern, columns, true};
	struct pose body = body_pose(state_body(yard->state, 0, false));
	struct scan_path path =
		scan_path_of(&drive->trail, SCAN_S, end_s, body, drive->in_body, pose_mul(body, drive->in_body));
	scan_measure_moving(&job, &path, ranges, NULL);
}

/* How far a point lies from the wall that is nearest. */
static double off_wall(struct vec3 p)
{
	return fabs(fmax(fabs(p.x), fabs(p.y)) - 10);
}

/* What programs do: the rate of the IMU and the speed undo the motion, back from the end of the scan. */
static double straightened(const struct drive *drive, struct pose end, uint32_t ray, double range, double rate)
{
	double ago = SCAN_S - time_of(ray), yaw = -rate * ago;
	double s = rate != 0 ? sin(rate * ago / 2) / (rate / 2) : ago;
	struct pose then = {{-drive->v * s * cos(yaw / 2), -drive->v * s * sin(yaw / 2), 0}, quat_from_rpy(0, 0, yaw)};
	if (!(rate != 0))
		then.p = (struct vec3){0, 0, 0};
	struct vec3 point = pose_point(drive->in_body, vec3_scale(directions[ray], range));
	return off_wall(pose_point(end, pose_point(then, point)));
}

/* At 1 rad/s and 2 m/s walls 10 m away are straight to 1 cm after the usual correction, and bent by some 30 cm before.
 */
static void check_room(const struct pose in_body)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	make_pattern();
	struct yard yard = yard_of(room);
	static struct drive drive;
	static double ranges[COUNT], parts[COUNT];
	drive = (struct drive){.v = 2, .w = 1, .start_s = 0, .in_body = in_body};
	drive_to(&drive, &yard, 0.5);
	drive_measure(&drive, &yard, 0.5, 0, COUNT, ranges);
	struct pose end = drive_at(&drive, 0.5);
	double straight = 0, bent = 0;
	uint32_t walls = 0;
	for (uint32_t i = 0; i < COUNT; i++) {
		if (ranges[i] < 2)
			continue; /* the robot's own parts */
		walls++;
		straight = fmax(straight, straightened(&drive, end, i, ranges[i], 1));
		bent = fmax(bent, straightened(&drive, end, i, ranges[i], 0));
	}
	cr_assert(walls > COUNT / 2, "%u points on walls", walls);
	cr_assert(straight < 0.01, "walls are %g m off after the correction", straight);
	cr_assert(bent > 0.2, "walls are %g m off before it", bent);
	for (uint32_t i = 0; i < COUNT; i += 48) /* in parts: the same bits */
		drive_measure(&drive, &yard, 0.5, i, 48, parts + i);
	cr_assert(!memcmp(parts, ranges, sizeof ranges));
	yard_end(&yard);
}

Test(lidar_motion, room_of_a_spinning_robot)
{
	check_room(POSE_IDENTITY);
}

Test(lidar_motion, room_of_a_turned_sensor)
{
	check_room((struct pose){{0.1, -0.05, 0.3}, quat_from_rpy(0, 0, 2.1)});
}

/* The robot's own mast and dish stay where they are in its cloud, however it turns. */
Test(lidar_motion, own_parts_ride_along)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	make_pattern();
	struct yard yard = yard_of(room);
	static struct drive drive;
	static double still[COUNT], moving[COUNT];
	const struct sdf_signal range = {.min = 0, .max = 40};
	drive = (struct drive){.v = 3, .w = 4, .in_body = POSE_IDENTITY};
	drive_to(&drive, &yard, 0.3);
	drive_measure(&drive, &yard, 0.3, 0, COUNT, moving);
	scan_measure(yard.rays, directions, COUNT, drive_at(&drive, 0.3), &range, UINT32_MAX, still, NULL);
	uint32_t own = 0;
	for (uint32_t i = 0; i < COUNT; i++) {
		cr_assert_eq(still[i] < 2, moving[i] < 2, "ray %u: %g and %g", i, still[i], moving[i]);
		if (still[i] < 2)
			cr_assert(still[i] == moving[i], "ray %u: %.17g and %.17g", i, still[i], moving[i]);
		own += still[i] < 2;
	}
	cr_assert(own > 100, "%u points", own);
	yard_end(&yard);
}

/* A sensor at rest gives the scan that one without motion gives, bit for bit: one that never moved, and one that has
 * stood since before the scan. */
Test(lidar_motion, at_rest)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	make_pattern();
	for (int moved = 0; moved < 2; moved++) {
		struct yard yard = yard_of(room);
		static struct drive drive;
		static double still[COUNT], moving[COUNT];
		const struct sdf_signal range = {.min = 0, .max = 40};
		drive = (struct drive){.v = moved, .w = moved, .in_body = {{0.1, 0, 0}, quat_from_rpy(0.1, 0, 1)}};
		drive_to(&drive, &yard, 0.3);
		struct body_state *body = state_body(yard.state, 0, false);
		body->v = body->w = (struct vec3){0, 0, 0};
		rays_follow(yard.rays, yard.state);
		drive_measure(&drive, &yard, 0.45, 0, COUNT, moving);
		scan_measure(yard.rays, directions, COUNT, pose_mul(body_pose(body), drive.in_body), &range, UINT32_MAX,
			still, NULL);
		cr_assert(!memcmp(still, moving, sizeof still));
		yard_end(&yard);
	}
}

/* A box that flies by at 20 m/s, and a wheel with one spoke, are seen where they were when each ray was fired. */
Test(lidar_motion, things_that_move)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	make_pattern();
	struct yard yard = yard_of("<sdf version='1.9'><world name='w'>" BODY("robot", "0 0 0", "")
			BODY("flies", "8 1 0", LOOK("v", "0 0 0", "<box><size>1 3 3</size></box>")) BODY("turns",
				"-8 0 0", LOOK("v", "0 0 0", "<box><size>9 0.2 3</size></box>")) "</world></sdf>");
	static struct drive drive;
	static double ranges[COUNT];
	drive = (struct drive){.v = 0, .w = 0, .in_body = POSE_IDENTITY};
	state_body(yard.state, 1, false)->v = (struct vec3){3, 20, 0};
	state_body(yard.state, 2, false)->w = (struct vec3){0, 0, 15};
	drive_to(&drive, &yard, 0.2);
	drive_measure(&drive, &yard, 0.2, 0, COUNT, ranges);
	uint32_t flown = 0, turned = 0;
	for (uint32_t i = 0; i < COLUMNS; i++) {
		struct vec3 at = vec3_scale(quat_rotate(drive_at(&drive, 0.2).q, directions[i]), ranges[i]);
		double ago = SCAN_S - time_of(i);
		if (!isfinite(ranges[i]))
			continue;
		if (at.x > 0) {
			double x = at.x - (8 - 3 * ago), y = at.y - (1 - 20 * ago);
			double off = fmax(fabs(x) - 0.5, fabs(y) - 1.5);
			cr_assert(fabs(off) < 1e-9, "ray %u: %g m off the box", i, off);
			flown++;
		} else {
			struct vec3 p = quat_rotate(quat_from_rpy(0, 0, 15 * ago), (struct vec3){at.x + 8, at.y, 0});
			double off = fmax(fabs(p.x) - 4.5, fabs(p.y) - 0.1);
			cr_assert(fabs(off) < 1e-9, "ray %u: %g m off the spoke", i, off);
			turned++;
		}
	}
	cr_assert(flown > 10 && turned > 10, "%u and %u rays", flown, turned);
	yard_end(&yard);
}

/* The same bits with vectors of each width. */
Test(lidar_motion, widths_of_vectors)
{
	if (!rays_available())
		cr_skip_test("built without Embree");
	make_pattern();
	static double ranges[2][COUNT];
	for (int narrow = 0; narrow < 2; narrow++) {
		struct yard yard = yard_with(room, narrow ? "sse2" : NULL);
		static struct drive drive;
		drive = (struct drive){.v = 2, .w = -3, .in_body = {{0.1, 0, 0.2}, quat_from_rpy(0.1, -0.1, 1)}};
		drive_to(&drive, &yard, 0.3);
		drive_measure(&drive, &yard, 0.3, 0, COUNT, ranges[narrow]);
		yard_end(&yard);
	}
	cr_assert(!memcmp(ranges[0], ranges[1], sizeof ranges[0]));
}

/* --- trails ------------------------------------------------------------------------------------------------------- */

static struct pose at_x(double x)
{
	return (struct pose){{x, 0, 0}, QUAT_IDENTITY};
}

/* A trail reaches back a scan with steps of any length; a body that stands adds nothing and is where it stood. */
Test(lidar_motion, trails)
{
	static const double steps_s[] = {1e-5, 1e-4, 1e-3, 1.7e-3, 5e-3, 0.03};
	for (size_t s = 0; s < ARRAY_LEN(steps_s); s++) {
		static struct trail trail;
		double dt = steps_s[s], end = 0;
		memset(&trail, 0, sizeof trail);
		for (int i = 0; i < 30000 && end < 0.5; i++, end = i * dt)
			trail_add(&trail, SCAN_S, end, at_x(end), end + dt, at_x(end + dt));
		struct scan_path path = scan_path_of(&trail, SCAN_S, end, at_x(end), POSE_IDENTITY, at_x(end));
		for (double ago = 0; ago <= fmin(SCAN_S, end); ago += 1e-4)
			cr_assert_float_eq(scan_path_at(&path, -ago).p.x, end - ago, 1e-9, "steps of %g s", dt);
		uint64_t count = trail.count;
		trail_add(&trail, SCAN_S, end, at_x(end), end + dt, at_x(end));
		cr_assert_eq(trail.count, count);
		trail_add(&trail, SCAN_S, end + 0.05, at_x(end), end + 0.05 + dt, at_x(end + 1));
		path = scan_path_of(&trail, SCAN_S, end + 0.05 + dt, at_x(end + 1), POSE_IDENTITY, at_x(end + 1));
		cr_assert_float_eq(scan_path_at(&path, -dt - 0.04).p.x, end, 1e-9);
		cr_assert_float_eq(scan_path_at(&path, -dt / 2).p.x, end + 0.5, 1e-6);
	}
}
