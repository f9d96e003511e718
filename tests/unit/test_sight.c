/* What a sensor may see: with all other models hidden, it measures the same bits. In random worlds, because a wrong
 * bound shows only where something stands at the border of a picture, or throws its shadow into it. */
#include "sdf_help.h"
#include "../amount.h"
#include "../random.h"

#include "sensor/sampler.h"

#include <inttypes.h>
#include <string.h>

TestSuite(sight, .timeout = 120, .fini = sdf_help_end);

enum { MODELS = 30, EYES = 10, WORLDS_QUICK = 12, WORLDS = 60 };

static uint64_t dice;

static double between(double low, double high)
{
	return random_between(&dice, low, high);
}

static void add_pose(struct text *out, double wide, double high)
{
	text_add(out, "<pose>%.3f %.3f %.3f %.3f %.3f %.3f</pose>", between(-wide, wide), between(-wide, wide),
		between(0, high), between(-3, 3), between(-1.5, 1.5), between(-3, 3));
}

static void add_thing(struct text *out, uint32_t number)
{
	text_add(out, "<model name='m%" PRIu32 "'>", number);
	add_pose(out, 12, 4);
	if (random_below(&dice, 2))
		text_add(out, "<plugin name='gz::sim::systems::Label' filename='x'><label>%u</label></plugin>",
			1 + random_below(&dice, 2));
	text_add(out, "<link name='l'><visual name='v'><geometry>");
	if (random_below(&dice, 2))
		text_add(out, "<sphere><radius>%.3f</radius></sphere>", between(0.1, 0.8));
	else
		text_add(out, "<box><size>%.3f %.3f %.3f</size></box>", between(0.05, 2), between(0.05, 2),
			between(0.05, 2));
	text_add(out, "</geometry><material><diffuse>%.2f 0.5 0.7 1</diffuse></material>", between(0, 1));
	if (!random_below(&dice, 4))
		text_add(out, "<transparency>0.6</transparency>");
	text_add(out, "</visual>");
	if (!random_below(&dice, 12))
		text_add(out, "<light name='lamp' type='spot'><pose>0 0 1 0 1 0</pose><cast_shadows>true</cast_shadows>"
			      "<attenuation><range>6</range></attenuation><spot><inner_angle>0.5</inner_angle>"
			      "<outer_angle>1.4</outer_angle><falloff>1</falloff></spot></light>");
	text_add(out, "</link></model>");
}

static void add_camera(struct text *out, const char *kind, const char *name, double widest)
{
	text_add(out, "<sensor name='%s' type='%s'>", name, kind);
	add_pose(out, 0.3, 0.3);
	text_add(out,
		"<camera><horizontal_fov>%.3f</horizontal_fov><image><width>%u</width><height>%u</height>"
		"<anti_aliasing>%u</anti_aliasing></image><clip><near>0.05</near><far>%.3f</far></clip>",
		between(0.2, widest), 8 + random_below(&dice, 24), 6 + random_below(&dice, 20),
		4 * random_below(&dice, 2), between(2, 25));
	if (!random_below(&dice, 3) && !strcmp(kind, "camera"))
		text_add(out,
			"<distortion><k1>-0.2</k1><k2>0.03</k2><p1>0.01</p1><center>0.5 0.4</center></distortion>");
	if (!strcmp(kind, "segmentation_camera"))
		text_add(out, "<segmentation_type>instance</segmentation_type>");
	text_add(out, "</camera></sensor>");
}

struct last {
	double column_rad, row_rad, range_m;
};

static void add_lidar(
	struct text *out, const char *name, double from, double low, const struct last *last, const char *beam)
{
	text_add(out,
		"<sensor name='%s' type='gpu_lidar'><lidar><scan><horizontal><samples>60</samples><min_angle>%.3f"
		"</min_angle><max_angle>%.3f</max_angle></horizontal><vertical><samples>5</samples><min_angle>%.3f"
		"</min_angle><max_angle>%.3f</max_angle></vertical></scan><range><min>0.1</min><max>%.3f</max></range>"
		"%s</lidar></sensor>",
		name, from, last->column_rad, low, last->row_rad, last->range_m, beam);
}

static void add_eyes(struct text *out)
{
	double from = between(-3, 2), low = between(-1.2, 0.5);
	struct last last = {
		.column_rad = from + between(0.05, 1), .row_rad = low + between(0.05, 0.8), .range_m = between(2, 20)};
	text_add(out, "<model name='eyes'>");
	add_pose(out, 4, 3);
	text_add(out, "<link name='l'>");
	add_camera(out, "camera", "a", 2.6);
	add_camera(out, "rgbd_camera", "b", 1.5);
	add_camera(out, "depth_camera", "c", 1.5);
	add_camera(out, "wideanglecamera", "d", 3);
	add_camera(out, "thermal_camera", "e", 1.5);
	add_camera(out, "segmentation_camera", "h", 1.5);
	add_camera(out, "boundingbox_camera", "i", 1.5);
	add_lidar(out, "j", from, low, &last,
		"<troupe:divergence>0</troupe:divergence>"); /* the same rays, but narrower */
	add_lidar(out, "f", from, low, &last,
		"<troupe:divergence>0.1</troupe:divergence><troupe:returns>2</troupe:returns>");
	text_add(out,
		"<sensor name='g' type='logical_camera'><logical_camera><near>0.1</near><far>%.3f</far>"
		"<horizontal_fov>%.3f</horizontal_fov><aspect_ratio>1.3</aspect_ratio></logical_camera></sensor>",
		between(2, 20), between(0.3, 2.8));
	text_add(out, "</link></model>");
}

static void add_lights(struct text *out)
{
	static const char *const kinds[] = {"directional", "point", "spot"};
	for (uint32_t i = random_below(&dice, 4); i > 0; i--) {
		text_add(out, "<light name='light%u' type='%s'>", i, kinds[i - 1]);
		add_pose(out, 8, 9);
		text_add(out,
			"<cast_shadows>true</cast_shadows><direction>%.2f %.2f -1</direction><attenuation><range>%.2f"
			"</range></attenuation>%s</light>",
			between(-2, 2), between(-2, 2), between(3, 20),
			i == 3 ? "<spot><inner_angle>0.8</inner_angle><outer_angle>2</outer_angle><falloff>1</falloff>"
				 "</spot>"
			       : "");
	}
}

struct world {
	struct scene *scene;
	struct state *state;
	struct sensors *sensors;
};

static struct world make_world(void)
{
	struct text text = {0};
	struct world world;
	struct troupe_error error;
	text_add(&text, "<sdf version='1.9'><world name='w'><scene><shadows>true</shadows></scene><model name='floor'>"
			"<static>1</static><link name='l'><visual name='v'><geometry><plane><size>60 60</size></plane>"
			"</geometry></visual></link></model>");
	add_lights(&text);
	add_eyes(&text);
	for (uint32_t i = 0; i < MODELS; i++)
		add_thing(&text, i);
	text_add(&text, "</world></sdf>");
	struct sdf *sdf = sdf_help_keep(sdf_help_good(text.at, &(struct sdf_options){.visuals = SDF_VISUALS_READ}));
	cr_assert(!scene_create(&sdf->worlds.at[0], NULL, &world.scene, &error), "%s", error.text);
	world.state = state_create(world.scene, NULL);
	world.sensors = sensors_create(world.scene);
	sensors_want_all(world.sensors);
	text_fini(&text);
	return world;
}

static void drop_world(struct world *world)
{
	sensors_destroy(world->sensors);
	state_destroy(world->state);
	scene_destroy(world->scene);
}

/* hidden: they have never been seen. */
static uint64_t digest_of(const struct world *world, const struct sensor *as, const bool *hidden)
{
	struct sensors *sensors = sensors_create(world->scene);
	struct sensor *sensor = sensors_find(sensors, as->model, as->index);
	struct readings readings = {0};
	const struct sampler sampler = {
		.scene = world->scene, .state = world->state, .sensors = sensors, .seed = 7, .dt = 0.001};
	sensors_want(sensors, sensor);
	sensors_look(sensors, world->state, hidden);
	sampler_read(&sampler, sensor, &readings);
	uint64_t digest = readings_digest(&readings);
	readings_fini(&readings);
	sensors_destroy(sensors);
	return digest;
}

struct seen {
	uint32_t hidden[EYES], mattered;
};

/* Then one more model is hidden, so that it is clear that what is seen matters. */
static void look_with(const struct world *world, struct sensor *sensor, struct seen *seen)
{
	const struct scene *scene = world->scene;
	bool *hidden = mem_alloc(scene->model_count * sizeof *hidden);
	uint64_t digest = digest_of(world, sensor, NULL);
	uint32_t some = SCENE_NONE;
	struct sight sight;
	sensors_look(world->sensors, world->state, NULL);
	sight_of(world->sensors, world->state, sensor, &sight);
	for (uint32_t m = 0; m < scene->model_count; m++) {
		struct aabb box;
		if (!scene->models[m].body_count || m == sensor->model)
			continue;
		struct vec3 at = state_model_pose(world->state, m, false).p;
		cr_assert(rays_box(world->sensors->rays, m, &box));
		box = aabb_join(box, (struct aabb){at, at});
		hidden[m] = !sight_may_meet(&sight, &box) && !(sight.colours && lights_are_on(scene, m));
		seen->hidden[sensor->index] += hidden[m];
		some = hidden[m] || random_below(&dice, 3) ? some : m;
	}
	cr_assert_eq(digest_of(world, sensor, hidden), digest, "sensor %s sees more than it may", sensor->name);
	if (some != SCENE_NONE) {
		hidden[some] = true;
		seen->mattered += digest_of(world, sensor, hidden) != digest;
	}
	free(hidden);
}

Test(sight, what_is_not_in_it_changes_no_bit)
{
	const uint32_t worlds = (uint32_t)amount(WORLDS_QUICK, WORLDS, 10 * WORLDS);
	struct seen seen = {{0}, 0};
	if (!rays_available())
		cr_skip("there is no Embree");
	for (uint32_t i = 0; i < worlds; i++) {
		dice = 1000 + i;
		struct world world = make_world();
		struct sensor_set *set = NULL;
		for (uint32_t m = 0; m < world.scene->model_count && !set; m++)
			if (world.sensors->sets[m].count)
				set = &world.sensors->sets[m];
		cr_assert_eq(set->count, EYES);
		for (uint32_t e = 0; e < EYES; e++)
			look_with(&world, &set->at[e], &seen);
		drop_world(&world);
	}
	for (uint32_t e = 0; e < EYES; e++)
		cr_assert_gt(seen.hidden[e], worlds * MODELS / 10, "sensor %u: only %u models were left out", e,
			seen.hidden[e]);
	cr_assert_gt(seen.mattered, worlds, "what is seen does not matter");
}

/* A ball of which only the shadow is in the picture: of a light high above, and of a lamp. */
Test(sight, shadows_come_from_outside)
{
	struct lights lights = {.count = 1, .at = {{.direction = {0, 0, -1}, .shine.kind = SDF_DIRECTIONAL_LIGHT}}};
	struct sight sight = {.reach = 10,
		.axis = {1, 0, 0},
		.cosine = 0.9,
		.sine = sqrt(1 - 0.81),
		.colours = true,
		.pieces = {{{5, 0, 0}, 5}},
		.piece_count = 1,
		.lights = &lights,
		.light_count = 1};
	const struct aabb above = {{4.5, -0.5, 49}, {5.5, 0.5, 50}}, below = {{4.5, -0.5, -50}, {5.5, 0.5, -49}};
	cr_assert(sight_may_meet(&sight, &above));
	cr_assert(!sight_may_meet(&sight, &below), "it throws its shadow away from the picture");
	lights.at[0] = (struct lights_one){.p = {5, 0, 60}, .shine = {.kind = SDF_POINT_LIGHT, .range_m = 100}};
	cr_assert(sight_may_meet(&sight, &above));
	cr_assert(!sight_may_meet(&sight, &below));
	lights.at[0].shine.range_m = 9;
	cr_assert(!sight_may_meet(&sight, &above), "its light does not come so far");
	sight.light_count = 0;
	cr_assert(!sight_may_meet(&sight, &above));
}

static void expect_angle(const struct sight_cone *cone, double rad, const char *of)
{
	cr_expect_float_eq(cone->cosine, cos(rad), 1e-7, "%s: cosine %g", of, cone->cosine);
	cr_expect_float_eq(cone->sine, sin(rad), 1e-7, "%s: sine %g", of, cone->sine);
}

/* The angles add up: of the outermost rays, of the gap between two of them, and of their spread; at most half a turn.
 */
Test(sight, a_cone_is_as_wide_as_its_rays_their_gaps_and_their_spread)
{
	const struct vec3 rays[] = {{cos(0.3), -sin(0.3), 0}, {0, 0, 0}, {cos(0.3), sin(0.3), 0}},
			  two[] = {rays[0], rays[2]};
	struct sight_cone cone = sight_cone_of(rays, 3, 3, false, 0);
	expect_angle(&cone, 0.3, "rays");
	cr_expect_float_eq(cone.axis.x, 1, 1e-12);
	cr_expect_float_eq(cone.slant, cos(0.3), 1e-12);
	cone = sight_cone_of(rays, 3, 3, false, 0.2);
	expect_angle(&cone, 0.3 + 0.2, "spread");
	cone = sight_cone_of(rays, 3, 3, true, 0.2);
	expect_angle(&cone, 0.3 + 0.2, "nothing beside");
	for (uint32_t width = 1; width <= 2; width++) { /* side by side, and one above the other */
		cone = sight_cone_of(two, 2, width, true, 0.2);
		expect_angle(&cone, 0.3 + 0.6 + 0.2, "a gap");
		cr_expect_float_eq(cone.slant, (cos(0.3) - 2 * sin(0.3)) / (1 + 2 * sin(0.3)), 1e-9);
	}
	cone = sight_cone_of(two, 2, 2, false, 3);
	cr_assert(cone.cosine == -1 && cone.sine == 0, "more than half a turn");
}

/* Samples are counted from 0: those of the sensor's rate, or the steps of the world, of which a time may be off by its
 * rounding to ns. */
Test(sight, samples_are_counted)
{
	struct troupe_error error = {0};
	struct scene *scene;
	struct sdf *sdf = sdf_help_good(
		"<sdf version='1.9'><world name='w'><physics type='ode'><max_step_size>0.0003</max_step_size></physics>"
		"<model name='m'><link name='l'><sensor name='a' type='imu'><update_rate>30</update_rate></sensor>"
		"<sensor name='b' type='imu'/></link></model></world></sdf>",
		NULL);
	cr_assert(!scene_create(&sdf->worlds.at[0], NULL, &scene, &error), "%s", error.text);
	struct sensors *sensors = sensors_create(scene);
	const struct sensor *rated = sensors_find(sensors, 0, 0), *each = sensors_find(sensors, 0, 1);
	cr_assert(rated && each);
	static const struct {
		int64_t time_ns;
		uint64_t rated, each;
	} rows[] = {{-1, 0, 0}, {0, 0, 0}, {299999, 0, 1}, {300000, 0, 1}, {600001, 0, 2}, {33333333, 0, 111},
		{33333334, 1, 111}, {99999999, 2, 333}, {100000000, 3, 333}, {30000000000000, 900000, 100000000}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		cr_expect_eq(sensor_sample(sensors, rated, rows[i].time_ns), rows[i].rated, "row %zu", i);
		cr_expect_eq(sensor_sample(sensors, each, rows[i].time_ns), rows[i].each, "row %zu", i);
	}
	cr_expect_float_eq(sensor_period_s(sensors, rated), 1 / 30.0, 1e-12);
	cr_expect_float_eq(sensor_period_s(sensors, each), 0.0003, 1e-12);
	sensors_destroy(sensors);
	scene_destroy(scene);
	sdf_free(sdf);
}
