/* Contacts of balls and wheels with a plane have the bits of those of ODE, for random poses near the plane. They are
 * only near these where ODE was compiled with fused products and sums, as Debian's is for arm64: on x86-64 it never is.
 */
#include "physics/internal.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

TestSuite(roll, .timeout = 60);

enum { TRIES = 200000, MOST = 4 };

static uint64_t seed = 31;

static double between(double low, double high)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return low + (high - low) * (double)(seed >> 11) / (double)(UINT64_C(1) << 53);
}

static struct vec3 any(double most)
{
	return (struct vec3){between(-most, most), between(-most, most), between(-most, most)};
}

static struct quat any_turn(void)
{
	return quat_unit((struct quat){between(-1, 1), between(-1, 1), between(-1, 1), between(-1, 1)});
}

static bool same_numbers(const dReal *a, const dReal *b, int count)
{
#ifdef __x86_64__
	return !memcmp(a, b, (size_t)count * sizeof *a);
#else
	while (count > 0 && fabs(a[count - 1] - b[count - 1]) < 1e-12)
		count--;
	return count == 0;
#endif
}

static bool same(const dContactGeom *a, const dContactGeom *b)
{
	return same_numbers(a->pos, b->pos, 3) && same_numbers(a->normal, b->normal, 3) &&
	       same_numbers(&a->depth, &b->depth, 1);
}

struct counts {
	int by_number[MOST + 1], parallel;
};

static void compare(enum scene_shape_kind kind, bool level, struct counts *counts)
{
	const struct vec3 size = {between(0.01, 0.3), 0, between(0.005, 0.2)}, normal = any(1);
	const double reach = 1.2 * (kind == SCENE_SPHERE ? size.x : size.x + size.z);
	dGeomID plane = level ? dCreatePlane(0, 0, 0, 1, 0) : dCreatePlane(0, normal.x, normal.y, normal.z, 0.3);
	dGeomID geom = kind == SCENE_SPHERE ? dCreateSphere(0, size.x) : dCreateCylinder(0, size.x, size.z * 2);
	const int most = between(0, 1) < 0.2 ? 1 : MOST;
	dVector4 p;
	dGeomPlaneGetParams(plane, p);
	struct pose at = {vec3_scale((struct vec3){p[0], p[1], p[2]}, p[3] + between(-reach, reach)), any_turn()};
	if (level && between(0, 1) < 0.7) /* most often a wheel stands; sometimes it lies */
		at.q = quat_mul((struct quat){sqrt(0.5), between(0, 1) < 0.7 ? -sqrt(0.5) : 0, 0, 0}, at.q);
	at.q = level && between(0, 1) < 0.1 ? QUAT_IDENTITY : quat_unit(at.q);
	dQuaternion q = {at.q.w, at.q.x, at.q.y, at.q.z};
	dGeomSetPosition(geom, at.p.x, at.p.y, at.p.z);
	dGeomSetQuaternion(geom, q);
	dContactGeom of_ode[MOST], found[MOST];
	int expected = dCollide(geom, plane, most, of_ode, sizeof *of_ode);
	int count = roll_on_plane(kind, at, size, p, most, found);
	if (count < 0) {
		counts->parallel++;
	} else {
		cr_assert_eq(count, expected);
		for (int i = 0; i < count; i++)
			cr_assert(same(&found[i], &of_ode[i]), "contact %d of %d", i, count);
		counts->by_number[count]++;
	}
	dGeomDestroy(geom);
	dGeomDestroy(plane);
}

Test(roll, contacts_have_the_bits_of_ode)
{
	struct troupe_error error = {0};
	cr_assert_eq(physics_init_process(&error), TROUPE_OK, "%s", error.text);
	struct counts balls = {0}, wheels = {0};
	for (int i = 0; i < TRIES; i++) {
		compare(SCENE_SPHERE, i % 2, &balls);
		compare(SCENE_CYLINDER, i % 2, &wheels);
	}
	cr_assert(balls.by_number[0] > 1000 && balls.by_number[1] > 1000);
	cr_assert(wheels.by_number[0] > 1000 && wheels.by_number[1] > 1000 && wheels.by_number[2] > 1000);
	cr_assert_gt(wheels.parallel, 1000);
	cr_assert_eq(balls.parallel, 0);
}
