/* One large reading of the only robot of a world is measured by all threads of the process, with the same digest. */
#include "server/internal.h"
#include "sensor/rays.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#define ROBOT(sensor)                                                                                                  \
	"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.01</max_step_size></physics>"         \
	"<light name='sun' type='directional'><cast_shadows>true</cast_shadows><direction>0.3 0.1 -1</direction>"      \
	"</light><model name='room'><static>1</static><link name='l'><collision name='c'><geometry><plane/>"           \
	"</geometry></collision><visual name='f'><geometry><plane><size>50 50</size></plane></geometry></visual>"      \
	"<visual name='b'><pose>3 1 0.5 0 0 0</pose><geometry><box><size>1 1 1</size></box></geometry></visual>"       \
	"<visual name='s'><pose>2 -1 1 0 0 0</pose><geometry><sphere><radius>1</radius></sphere></geometry></visual>"  \
	"</link></model><model name='robot'><pose>0 0 0.3 0 0 0</pose><link name='l'><collision name='c'><geometry>"   \
	"<sphere><radius>0.3</radius></sphere></geometry></collision>" sensor "</link></model></world></sdf>"
#define LIDAR(columns, rows)                                                                                           \
	"<sensor name='s' type='gpu_lidar'><pose>0 0 0.7 0 0 0</pose><update_rate>100</update_rate><lidar><scan>"      \
	"<horizontal><samples>" columns "</samples><min_angle>-3.14</min_angle><max_angle>3.14</max_angle>"            \
	"</horizontal><vertical><samples>" rows "</samples><min_angle>-0.4</min_angle><max_angle>0.4</max_angle>"      \
	"</vertical></scan><range><min>0.1</min><max>50</max></range></lidar></sensor>"
#define CAMERA                                                                                                         \
	"<sensor name='s' type='camera'><pose>0 0 0.7 0 0 0</pose><update_rate>100</update_rate><camera><image>"       \
	"<width>1280</width><height>720</height></image></camera></sensor>"

enum { STEPS_MAX = 40, STEPS = 3, SLICES = 64 };

struct outcome {
	struct secondary_slices slices;
	uint64_t readings, digest;
};

/* As many steps as given; or, if others are to help, until they have. */
static struct outcome measured(const char *world, int secondaries, uint64_t steps, bool until_helped)
{
	struct troupe_server_def def = troupe_server_def_default();
	struct troupe_error error = {0};
	struct troupe_server *server;
	struct outcome outcome = {{0, 0}, 0, 0};
	def.world_path = "w.sdf";
	def.world_text = world;
	def.secondaries = secondaries;
	def.pace = TROUPE_PACE_FACTOR;
	def.sense_all = true;
	troupe_status status = troupe_server_create(&def, &server, &error);
	cr_assert_eq(status, TROUPE_OK, "%s", error.text);
	for (uint64_t step = 1; step <= steps; step++) {
		status = troupe_server_step(server, 1, &error);
		cr_assert_eq(status, TROUPE_OK, "%s", error.text);
		outcome.slices = runners_slices(server->runners, 0, 0);
		if (until_helped && outcome.slices.by_others)
			break;
	}
	struct primary_counts counts = primary_counts(server->worlds[0].primary);
	outcome.readings = counts.readings;
	outcome.digest = counts.readings_digest;
	troupe_server_destroy(server);
	return outcome;
}

static void is_divided(const char *world, const char *what)
{
	if (!rays_available())
		cr_skip("there is no Embree");
	struct outcome alone = measured(world, 0, STEPS, false), shared = measured(world, -1, STEPS, false);
	cr_assert_eq(alone.slices.all, 0, "%s: one thread was asked for", what);
	cr_assert_eq(shared.readings, alone.readings);
	cr_assert_eq(shared.digest, alone.digest, "%s: other bits", what);
	if (eventcount_cores() == 1)
		cr_skip("one core");
	cr_assert_eq(shared.slices.all, SLICES * shared.readings, "%s: %" PRIu64 " slices", what, shared.slices.all);
	struct outcome helped = measured(world, -1, STEPS_MAX, true);
	cr_assert_gt(helped.slices.by_others, 0, "%s: no other thread took one of %" PRIu64 " slices", what,
		helped.slices.all);
}

Test(divided, a_scan_of_128_by_2048_rays, .timeout = 60)
{
	is_divided(ROBOT(LIDAR("2048", "128")), "lidar");
}

Test(divided, a_picture_of_1280_by_720_pixels, .timeout = 60)
{
	is_divided(ROBOT(CAMERA), "camera");
}

/* It is not worth waking a thread. */
Test(divided, a_small_scan_is_not, .timeout = 60)
{
	if (!rays_available())
		cr_skip("there is no Embree");
	cr_assert_eq(measured(ROBOT(LIDAR("360", "1")), -1, STEPS, false).slices.all, 0);
}
